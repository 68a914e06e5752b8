// SPDX-License-Identifier: Apache-2.0
// winograd.h: 3 x 3 windows in fewer multiplications.
//
// Four outputs next to each other (2 x 2) see 16 pixels. Sums and differences of these 16, times
// sums and differences of the nine weights, are 16 products instead of 36 (Winograd's F(2x2, 3x3),
// all factors are 1, -1 and 1/2, so that little is lost in rounding: a few times the error of the
// plain sum). Tiles of four outputs are the rows of 16 matrix products with the kernel of gemm.h. In
// volumes the same goes for windows that are 3 x 3 in their last two dims.
//
// A pixel that is infinite or NaN would spoil outputs that do not see it: such tiles are summed up
// the plain way.

#ifndef FY_DEVICES_CPU_WINOGRAD_H
#define FY_DEVICES_CPU_WINOGRAD_H

#include "devices/cpu/gemm.h"

// ---------------------------------------------------------------- tiles
typedef struct fy_tile {
  int64_t image, z, y, x;  // of its first output
} fy_tile;

static inline int64_t fy_tiles_along(const fy_window *w) {
  return (w->out + 1) / 2;
}
static inline int64_t fy_tiles(const fy_conv *c) {
  return c->batch * c->w[0].out * fy_tiles_along(&c->w[1]) * fy_tiles_along(&c->w[2]);
}
static inline fy_tile fy_tile_at(const fy_conv *c, int64_t i) {
  const int64_t across = fy_tiles_along(&c->w[2]), down = fy_tiles_along(&c->w[1]);
  const int64_t plane = i / across / down;
  return (fy_tile){plane / c->w[0].out, plane % c->w[0].out, i / across % down * 2, i % across * 2};
}
// The pixel of |in| (|step| numbers each) |down| and |right| of the first one that the tile sees in the
// plane |behind|, or zeros.
static inline const float *fy_tile_pixel(const fy_conv *c, const fy_tile *t, const float *in,
                                         int64_t step, const float *zeros, int64_t behind, int down,
                                         int right) {
  const fy_window *d = &c->w[0], *h = &c->w[1], *w = &c->w[2];
  const int64_t z = fy_window_at(d, t->z, behind);
  const int64_t y = t->y - h->before + down, x = t->x - w->before + right;
  if (z < 0 || z >= d->in || y < 0 || y >= h->in || x < 0 || x >= w->in) return zeros;
  return in + (((t->image * d->in + z) * h->in + y) * w->in + x) * step;
}
// Number of output |n| of four, or -1: there is none.
static inline int64_t fy_tile_output(const fy_conv *c, const fy_tile *t, int n) {
  const fy_window *h = &c->w[1], *w = &c->w[2];
  const int64_t y = t->y + n / 2, x = t->x + n % 2, plane = t->image * c->w[0].out + t->z;
  return y < h->out && x < w->out ? (plane * h->out + y) * w->out + x : -1;
}

// ---------------------------------------------------------------- forward
// Is |c| such a window, and worth it?
bool fy_winograd_fits(const fy_conv *c);
// Scratch memory of a run, for fy_needs.
size_t fy_winograd_needs(const fy_kernel_ctx *ctx, const fy_conv *c);
// |job| as for fy_gemm_run, with packed weights.
FY_MUST_CHECK fy_code fy_winograd_run(fy_kernel_ctx *ctx, const fy_gemm_job *job, fy_error *err);

// ---------------------------------------------------------------- the gradient of the filter
bool fy_winograd_filter_fits(const fy_conv *c);
size_t fy_winograd_filter_needs(const fy_kernel_ctx *ctx, const fy_conv *c);
// out: [taps, in_depth, out_depth]. Not |*out_finite|: some numbers, or what became of them on the way, are
// infinite or NaN, and the result is of no use.
FY_MUST_CHECK fy_code fy_winograd_filter(fy_kernel_ctx *ctx, const fy_conv *c, const float *in,
                                         const float *grad, float *out, bool *out_finite,
                                         fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// kernel_conv_input.c: the gradient of a convolution's input the other way round: for every pixel of
// the output's gradient one row of a product says what it adds to each pixel that its window sees.
// kernel_conv.c gathers instead, with one row of the product per pixel of the input. That is wasteful
// where the window moves by more than one pixel (most of what is gathered is zeros), and where the
// input has few channels (which fill a part of a panel only): there this file is called.

#include <math.h>
#include <string.h>

#include "devices/cpu/gemm.h"
#include "devices/cpu/kernels.h"

typedef struct scatter_job {
  const fy_conv *c;
  fy_gemm_job product;  // of one image; a and c are set for each
  const float *grad;
  float *out;
  int64_t columns;    // taps * channels
  fy_kernel_ctx *in;  // threads inside of a product, or NULL
  fy_slices slices;
} scatter_job;

// Pixel |at| along one dim of the input that tap |tap| of window |w| sees at |from|; -1: none.
static int64_t seen(const fy_window *w, int64_t from, int64_t tap) {
  const int64_t at = fy_window_at(w, from, tap);
  return at >= 0 && at < w->in ? at : -1;
}

static void add_row(float *restrict to, const float *restrict from, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

// What the row of pixels [z, y] of the gradient adds to |image|.
static void scatter_line(const fy_conv *c, int64_t z, int64_t y, const float *rows, float *image) {
  const fy_window *wd = &c->w[0], *wh = &c->w[1], *ww = &c->w[2];
  const int64_t ch = c->filter_depth, columns = c->taps * ch;
  for (int64_t d = 0; d < wd->size; d++) {
    const int64_t iz = seen(wd, z, d);
    for (int64_t h = 0; iz >= 0 && h < wh->size; h++) {
      const int64_t iy = seen(wh, y, h);
      if (iy < 0) continue;
      float *line = image + (iz * wh->in + iy) * ww->in * ch;
      for (int64_t x = 0; x < ww->out; x++) {
        const float *from = rows + x * columns + (d * wh->size + h) * ww->size * ch;
        const int64_t at = x * ww->stride - ww->before;
        if (ww->dilation == 1 && at >= 0 && at + ww->size <= ww->in) {
          add_row(line + at * ch, from, ww->size * ch);
          continue;
        }
        for (int64_t k = 0; k < ww->size; k++) {
          const int64_t ix = seen(ww, x, k);
          if (ix >= 0) add_row(line + ix * ch, from + k * ch, ch);
        }
      }
    }
  }
}

static void scatter_images(void *arg, int64_t begin, int64_t end) {
  scatter_job *j = arg;
  const fy_conv *c = j->c;
  float *rows = fy_slice_take(&j->slices);
  for (int64_t b = begin; b < end; b++) {
    float *image = j->out + b * c->in_spatial * c->in_depth;
    fy_gemm_job product = j->product;
    product.a = j->grad + b * c->out_spatial * c->out_depth;
    product.c = rows;
    fy_gemm_run(j->in, &product);
    memset(image, 0, (size_t)(c->in_spatial * c->in_depth) * sizeof *image);
    for (int64_t z = 0; z < c->w[0].out; z++)
      for (int64_t y = 0; y < c->w[1].out; y++)
        scatter_line(c, z, y, rows + (z * c->w[1].out + y) * c->w[2].out * j->columns, image);
  }
  fy_slice_give(&j->slices, rows);
}

#define MOST_FLOATS ((int64_t)8 << 20)  // of the product of one image

bool fy_conv_scatters(const fy_conv *c) {
  const int64_t steps = c->w[0].stride * c->w[1].stride * c->w[2].stride;
  return c->groups == 1 && (steps > 1 || c->filter_depth <= 4) && c->taps > 1 && c->taps <= 1024 &&
         c->out_spatial > 0 && c->in_depth == c->filter_depth &&
         c->out_spatial <= MOST_FLOATS / (c->taps * c->filter_depth);
}

static bool scatter_sizes(const fy_conv *c, size_t *packed, size_t *rows) {
  const int64_t columns = c->taps * c->filter_depth;
  return fy_gemm_packed_bytes(FY_GEMM_F32, c->out_depth, columns, 1, packed) &&
         !__builtin_mul_overflow((size_t)c->out_spatial, (size_t)columns * sizeof(float), rows);
}

size_t fy_conv_scatter_needs(const fy_kernel_ctx *ctx, const fy_conv *c) {
  size_t packed, rows;
  if (!scatter_sizes(c, &packed, &rows)) return 0;
  return fy_scratch_line(packed) +
         fy_slices_needs(ctx, c->batch < ctx->threads ? 1 : c->batch, rows);
}

fy_code fy_conv_scatter(fy_kernel_ctx *ctx, const fy_conv *c, const float *filter,
                        const float *grad, float *out, fy_error *err) {
  const int64_t columns = c->taps * c->filter_depth;
  size_t bytes, rows;
  void *packed;
  if (!scatter_sizes(c, &bytes, &rows)) return fy_fail_oom(err, SIZE_MAX);
  scatter_job j = {.c = c,
                   .grad = grad,
                   .out = out,
                   .columns = columns,
                   .in = c->batch < ctx->threads ? ctx : NULL,
                   .product = {.type = FY_GEMM_F32,
                               .m = c->out_spatial,
                               .n = columns,
                               .depth = c->out_depth,
                               .taps = 1,
                               .row_step = c->out_depth,
                               .k_step = 1,
                               .ldc = columns,
                               .lo = -INFINITY,
                               .hi = INFINITY}};
  FY_TRY(fy_scratch(ctx, bytes, &packed, err));
  FY_TRY(fy_slices_make(ctx, j.in ? 1 : c->batch, rows, &j.slices, err));
  // [tap, ic, oc] -> [oc, tap and ic]
  fy_gemm_pack(ctx, FY_GEMM_F32, filter, c->out_depth, columns, 1, c->out_depth, NULL, packed);
  j.product.b = packed;
  if (j.in)
    scatter_images(&j, 0, c->batch);
  else
    fy_parallel(ctx, c->batch,
                0.05 * (double)c->out_spatial * (double)columns * (double)c->out_depth,
                scatter_images, &j);
  return FY_OK;
}

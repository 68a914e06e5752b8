// SPDX-License-Identifier: Apache-2.0
// pool.h: the geometry of pooling, shared by pool.c (forward) and pool_grad.c.
//
// A channel is pooled on its own, so [n, c, h, w] is pooled as [n * c, h, w, 1]: no format is
// copied.

#ifndef FY_OPS_POOL_H
#define FY_OPS_POOL_H

#include "ops/fused.h"
#include "ops/window.h"

typedef struct fy_pool_geometry {
  fy_window w[3];               // depth, height, width
  int64_t batch, depth;         // as pooled
  int64_t depth_window;         // > 1: the maximum is over channels instead
  int64_t in_image, out_image;  // elements of an image, as pooled
  int32_t rank;
  int64_t out_dims[5];
} fy_pool_geometry;

// prepare(): site->state is a fy_window_attrs. Ops that take ksize and strides as inputs leave them
// to fy_pool_resolve.
fy_code fy_pool_prepare_2d(fy_site *site, fy_error *err);
fy_code fy_pool_prepare_3d(fy_site *site, fy_error *err);

// Geometry of pooling a tensor of these dims. |sizes| is the index of the input that holds ksize
// (strides follow it), or 0 when attributes do.
FY_MUST_CHECK fy_code fy_pool_resolve(fy_kernel_ctx *ctx, int32_t rank, const int64_t *dims,
                                      int sizes, fy_pool_geometry *out, fy_error *err);

static inline int64_t fy_pool_start(const fy_window *w, int64_t at) {  // first input, >= 0
  const int64_t s = at * w->stride - w->before;
  return s < 0 ? 0 : s;
}
static inline int64_t fy_pool_end(const fy_window *w, int64_t at) {
  const int64_t e = at * w->stride - w->before + w->size;
  return e > w->in ? w->in : e;
}

// Rows [begin, end) (image, depth, height) of the result. pool_lanes.c
void fy_pool_lanes(const fy_pool_geometry *g, fy_pool_type type, fy_pool_kind kind, const void *in,
                   void *out, int64_t begin, int64_t end);

fy_code fy_pool2d_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_pool2d_v2_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_pool3d_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_pool_grad2d_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_pool_grad3d_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_pool_avg_grad_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_pool_grad_grad_shape(fy_shape_ctx *ctx, fy_error *err);

#endif

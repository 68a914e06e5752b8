// SPDX-License-Identifier: Apache-2.0
// resize.h: what the image resizers share: the checks, the scale, and pixels as floats.

#ifndef FY_OPS_RESIZE_H
#define FY_OPS_RESIZE_H

#include "ops/op.h"

typedef struct fy_resize {
  bool align_corners, half_pixel;
  int64_t batch, in_h, in_w, out_h, out_w, channels;
  float scale_h, scale_w;  // input pixels per output pixel
} fy_resize;

// Of a resizer: in[0] images [n, h, w, c], in[1] the new height and width.
FY_MUST_CHECK fy_code fy_resize_check(fy_kernel_ctx *ctx, fy_resize *r, fy_error *err);
// Of its gradient: in[0] gradients (float), in[1] the original images. |r| is that of the forward
// op.
FY_MUST_CHECK fy_code fy_resize_check_grad(fy_kernel_ctx *ctx, fy_resize *r, fy_error *err);

float fy_resize_scale(int64_t in, int64_t out, bool align_corners);
// Where output pixel |at| lies in the input.
static inline float fy_resize_at(const fy_resize *r, int64_t at, float scale) {
  return r->half_pixel ? ((float)at + 0.5f) * scale - 0.5f : (float)at * scale;
}

// The elements of |t| as floats: its own memory or a scratch copy.
FY_MUST_CHECK fy_code fy_image_floats(fy_kernel_ctx *ctx, const fy_tensor *t, const float **out,
                                      fy_error *err);

fy_code fy_resize_shape(fy_shape_ctx *ctx, fy_error *err);  // of images and of gradients by size
fy_code fy_resize_grad_shape(fy_shape_ctx *ctx, fy_error *err);  // like input 1

#endif

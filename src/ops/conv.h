// SPDX-License-Identifier: Apache-2.0
// conv.h: the geometry of a convolution, forward and backward, checked once and shared by conv.c
// and depthwise.c.

#ifndef FY_OPS_CONV_H
#define FY_OPS_CONV_H

#include "ops/window.h"

typedef struct fy_conv {
  fy_window w[3];  // depth, height, width
  int64_t batch, in_depth, out_depth;
  int64_t filter_depth;  // input channels of one group; depthwise: the multiplier is out / in
  int64_t groups;
  int64_t in_spatial, out_spatial, taps;  // products over the three windows
} fy_conv;

// prepare() of every convolution: site->state is a fy_window_attrs (release with fy_free).
fy_code fy_conv_prepare_2d(fy_site *site, fy_error *err);
fy_code fy_conv_prepare_3d(fy_site *site, fy_error *err);
fy_code fy_conv_prepare_any(fy_site *site, fy_error *err);  // Conv: the strides tell
fy_code fy_conv_prepare_depthwise(fy_site *site, fy_error *err);

// Geometry from the shapes of input and filter.
FY_MUST_CHECK fy_code fy_conv_forward(fy_kernel_ctx *ctx, const fy_tensor *input,
                                      const fy_tensor *filter, bool depthwise, fy_conv *out,
                                      fy_error *err);
// Geometry from all three shapes; |label| starts the texts of errors.
FY_MUST_CHECK fy_code fy_conv_backward(fy_kernel_ctx *ctx, const char *label, int32_t in_rank,
                                       const int64_t *in_dims, int32_t filter_rank,
                                       const int64_t *filter_dims, const fy_tensor *out_backprop,
                                       bool depthwise, fy_conv *out, fy_error *err);

// The convolution of |in|, whose first dim, the batch, is given out as |lead| dims.
FY_MUST_CHECK fy_code fy_conv_batch(fy_kernel_ctx *ctx, const fy_tensor *in,
                                    const fy_tensor *filter, int32_t lead, const int64_t *lead_dims,
                                    fy_error *err);

// FusedPadConv2D and FusedResizeAndPadConv2D: checks the inputs, the last of which is the filter, and
// makes the image that is convolved.
FY_MUST_CHECK fy_code fy_fused_pad_image(fy_kernel_ctx *ctx, fy_tensor **out, fy_error *err);

// Position of tap |t| in the window: [depth, height, width].
static inline void fy_conv_tap(const fy_conv *c, int64_t t, int64_t at[3]) {
  at[2] = t % c->w[2].size;
  at[1] = t / c->w[2].size % c->w[1].size;
  at[0] = t / c->w[2].size / c->w[1].size;
}

// With steps of one the gradient of the input is a convolution too, of that of the output with the filter
// turned around: this one. (filter_depth stays what it was.)
void fy_conv_turn(fy_conv *c);

// Shape functions.
fy_code fy_conv2d_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_conv3d_shape(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_conv_any_shape(fy_shape_ctx *ctx, fy_error *err);   // Conv
fy_code fy_conv_like_shape(fy_shape_ctx *ctx, fy_error *err);  // Conv3DBackprop* of version 1
fy_code fy_depthwise_shape(fy_shape_ctx *ctx, fy_error *err);
// Several filters per channel: |*in| becomes a copy, in scratch, in which each number stands as often as
// its channel has filters, and |c| has one filter per channel. |type| is float or double.
FY_MUST_CHECK fy_code fy_depthwise_repeat(fy_kernel_ctx *ctx, fy_dtype type, fy_conv *c,
                                          const void **in, fy_error *err);
fy_code fy_conv_input_shape(fy_shape_ctx *ctx, fy_error *err);   // input 0 is the result's shape
fy_code fy_conv_filter_shape(fy_shape_ctx *ctx, fy_error *err);  // input 1 is the result's shape
void fy_conv_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *cost);

#endif

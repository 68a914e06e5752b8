// SPDX-License-Identifier: Apache-2.0
// window.h: sliding windows over images and volumes, shared by convolution and pooling: paddings,
// data formats, the sizes that come out of them, and the shape functions.
//
// Everything has three spatial dims here (depth, height, width); an image is a volume of depth 1.
// Loops run over NHWC; other formats and 16-bit floats go through a plain copy (fy_plain_*).

#ifndef FY_OPS_WINDOW_H
#define FY_OPS_WINDOW_H

#include "ops/op.h"

typedef enum fy_padding { FY_PAD_SAME, FY_PAD_VALID, FY_PAD_EXPLICIT } fy_padding;

typedef struct fy_window {  // along one spatial dim
  int64_t in, size, stride, dilation;
  int64_t before, after;  // padding; given when it is explicit, computed otherwise
  int64_t out;            // computed
} fy_window;

// Sets out, before and after. "Computed output size would be negative: -1 [input_size: …]".
FY_MUST_CHECK fy_code fy_window_resolve(fy_window *w, fy_padding padding, fy_error *err);
// What strides leave over under SAME is skipped on both sides: padding that is negative. TensorFlow's
// Eigen kernels of three dims do so, against its documentation and its kernels by oneDNN.
void fy_window_skip_rest(fy_window *w);
// Where output |at| looks through |tap|; may lie outside of the input.
static inline int64_t fy_window_at(const fy_window *w, int64_t at, int64_t tap) {
  return at * w->stride - w->before + tap * w->dilation;
}
// Which outputs [*lo, *hi) of |w| touch the input when looking through tap |k| of the window.
void fy_window_range(const fy_window *w, int64_t k, int64_t *lo, int64_t *hi);

// Strides, dilations, paddings as attributes give them; filled by an op's prepare().
typedef struct fy_window_attrs {
  int spatial;  // 2 or 3
  bool channels_last;
  fy_padding padding;
  // [depth, height, width]; depth is 1 (no padding) for images
  int64_t ksize[3], strides[3], dilations[3], before[3], after[3];
  int64_t ksize_n, ksize_c, stride_n, stride_c, dilation_n, dilation_c;
  int num_explicit;
} fy_window_attrs;

bool fy_channels_last(const fy_attrs *attrs);  // data_format: NHWC and its kin, the default
// Reads data_format, strides, dilations, padding, explicit_paddings, ksize where |attrs| has them.
// A list of a wrong length gives "|what| must specify 4 dimensions"-like texts of the caller: here
// only its length is returned through |lengths| (ksize, strides, dilations; -1 = no such
// attribute).
void fy_window_read(const fy_attrs *attrs, int spatial, fy_window_attrs *out, int lengths[3]);
// TensorFlow's CheckValidPadding.
FY_MUST_CHECK fy_code fy_window_check_padding(const fy_attrs *attrs, const fy_window_attrs *a,
                                              fy_error *err);

// Index of the channel and of spatial dim |i| (0 = depth or, for images, height) in a shape.
static inline int32_t fy_channel_dim(const fy_window_attrs *a) {
  return a->channels_last ? a->spatial + 1 : 1;
}
static inline int32_t fy_spatial_dim(const fy_window_attrs *a, int i) {
  return a->channels_last ? i + 1 : i + 2;
}
// A shape of |a|'s format from its parts; |spatial| is [depth, height, width].
void fy_window_shape(const fy_window_attrs *a, int64_t n, const int64_t spatial[3], int64_t c,
                     int64_t dims[5]);

// One output dim from partly known sizes (-1 = unknown), as TensorFlow's shape functions do.
FY_MUST_CHECK fy_code fy_window_infer(int64_t in, int64_t size, int64_t stride, int64_t dilation,
                                      fy_padding padding, int64_t before, int64_t after,
                                      int64_t *out, fy_error *err);

// ---------------------------------------------------------------- plain copies
// |data| of |type| as [n, spatial, c] in the type of arithmetic: |data| itself when it is that
// already, else a copy in scratch memory. 16-bit floats become floats.
FY_MUST_CHECK fy_code fy_plain_load(fy_kernel_ctx *ctx, fy_dtype type, const void *data, int64_t n,
                                    int64_t spatial, int64_t c, bool channels_last,
                                    const void **out, fy_error *err);
// Where a loop may write [n, spatial, c] in the type of arithmetic, to be put into |data| by
// fy_plain_store: |data| itself or scratch memory.
FY_MUST_CHECK fy_code fy_plain_room(fy_kernel_ctx *ctx, fy_dtype type, void *data, int64_t count,
                                    bool channels_last, void **out, fy_error *err);
void fy_plain_store(fy_dtype type, const void *plain, void *data, int64_t n, int64_t spatial,
                    int64_t c, bool channels_last);
// float for the 16-bit floats, else |type|.
static inline fy_dtype fy_plain_type(fy_dtype type) {
  return type == FY_HALF || type == FY_BFLOAT16 ? FY_FLOAT : type;
}

#endif

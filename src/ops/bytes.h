// SPDX-License-Identifier: Apache-2.0
// bytes.h: products of 8-bit integers with zero points, summed in 32 bits that wrap: matrices, convolutions and
// depthwise convolutions of quantized numbers. An op describes a product and what becomes of finished
// sums; bytes.c does it plainly, the CPU (devices/cpu/bytes.c) by the instructions that it has for this.

#ifndef FY_OPS_BYTES_H
#define FY_OPS_BYTES_H

#include "ops/conv.h"

// sum(row, column) = sum over k of (a(row, k) - a_zero) * (b(k, column) - b_zero)
typedef struct fy_byte_product {
  int64_t m, n, k;  // of a group
  const void *a;
  bool a_signed, b_signed;
  int32_t a_zero, b_zero;
  int64_t row_step, k_step;  // elements of a from row to row, from k to k + 1
  // Not NULL: rows are the pixels of the output (images in NHWC), k the taps and channels of its group
  // that they see; outside of the image a is a_zero.
  const fy_conv *conv;
  bool depthwise;  // conv: every channel has its own filters; b is [taps, in_depth, multiplier]
  int64_t groups;  // of input channels and of columns; at least 1
  const void *b;   // the columns of all groups side by side …
  int64_t step_k, step_n;
  // … and input number |b_input| of the op, which may be kept in another form.
  int b_input;
  // Takes |n| sums of a row, from |column| on (counted over all groups).
  void (*finish)(const void *arg, int64_t row, int64_t column, int64_t n, const int32_t *sums);
  const void *finish_arg;
} fy_byte_product;

typedef fy_code (*fy_bytes_fn)(fy_kernel_ctx *ctx, const fy_byte_product *p, fy_error *err);
FY_MUST_CHECK fy_code fy_bytes_plain(fy_kernel_ctx *ctx, const fy_byte_product *p, fy_error *err);
FY_MUST_CHECK fy_code fy_bytes_depthwise(fy_kernel_ctx *ctx, const fy_byte_product *p,
                                         fy_error *err);

static inline int32_t fy_byte_at(const void *p, bool is_signed, int64_t i) {
  return is_signed ? ((const int8_t *)p)[i] : ((const uint8_t *)p)[i];
}

// What the quantized ops are made of: compute() with |product| for the product.
fy_code fy_q_matmul(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err);
fy_code fy_q_conv(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err);
fy_code fy_q_fused_matmul(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err);
fy_code fy_q_fused_conv(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err);
// What follows a product in quantized_fused.c: arg of fy_q_finish_sums().
typedef struct fy_q_finish {
  fy_dtype type;
  void *out;
  int64_t n;                  // columns of the whole output
  const float *scale, *bias;  // of sums: one per column
  const void *add;            // like out; NULL: none
  fy_dtype add_type;
  double add_scale;
  float by, lo, hi;  // the last factor, and what the output's type can hold
} fy_q_finish;
void fy_q_finish_sums(const void *arg, int64_t row, int64_t column, int64_t n, const int32_t *sums);
fy_code fy_q_fused_prepare(fy_site *site, fy_error *err);  // impl->aux: the steps
void fy_q_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *cost);
FY_MUST_CHECK fy_code fy_q_matmul_shape(fy_shape_ctx *ctx, fy_error *err);  // of output 0

#endif

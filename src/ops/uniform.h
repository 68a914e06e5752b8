// SPDX-License-Identifier: Apache-2.0
// uniform.h: what the ops of uniform quantization share: real = (q - zero_point) * scale, with one scale
// or one per index of an axis; a change of scale is a 31-bit fraction and a shift, rounded once.

#ifndef FY_OPS_UNIFORM_H
#define FY_OPS_UNIFORM_H

#include "ops/op.h"

typedef struct fy_scales {
  const float *scale;
  const int32_t *zero;
  int64_t n, inner;  // n = 1: the same for all
} fy_scales;
static inline int64_t fy_scales_channel(const fy_scales *s, int64_t i) {
  return s->n == 1 ? 0 : i / s->inner % s->n;
}
// Inputs |at| and |at| + 1 are the scales and zero points of |data|.
FY_MUST_CHECK fy_code fy_scales_read(const fy_kernel_ctx *ctx, const fy_tensor *data, int at,
                                     int64_t axis, fy_scales *out, fy_error *err);
FY_MUST_CHECK fy_code fy_scales_positive(const fy_tensor *t, const char *text, fy_error *err);
// Inputs |at| and the next: scalars, or one for each of |n|.
FY_MUST_CHECK fy_code fy_scales_shape(const fy_shape_ctx *ctx, int at, int64_t n, fy_error *err);

// A positive real number as fraction * 2^(shift - 31).
typedef struct fy_multiplier {
  int64_t fraction;
  int shift;
} fy_multiplier;
FY_MUST_CHECK fy_code fy_multiplier_of(double v, fy_multiplier *out, fy_error *err);
static inline int32_t fy_multiplied(int32_t x, fy_multiplier m) {
  const int total = 31 - m.shift;
  const int64_t v = (x * m.fraction + (1LL << (total - 1))) >> total;
  return (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}
static inline int32_t fy_wrap_add(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t fy_wrap_neg(int32_t a) {
  return (int32_t)(0u - (uint32_t)a);
}

typedef struct fy_limits {
  int32_t min, max;
} fy_limits;
static inline int32_t fy_limited(int32_t v, fy_limits l) {
  v = v > l.min ? v : l.min;  // (of limits that contradict, the upper one holds)
  return v < l.max ? v : l.max;
}
static inline fy_limits fy_limits_of(const fy_site *site, const char *min, const char *max) {
  return (fy_limits){(int32_t)fy_site_int(site, min), (int32_t)fy_site_int(site, max)};
}

// --- convolutions ---
#define FY_MAX_SPATIAL (FY_MAX_RANK - 2)

// Which dim is which. In a kernel, "batch" is the dim of output features.
typedef struct fy_conv_layout {
  int64_t batch, feature, spatial[FY_MAX_SPATIAL];
  int n;  // spatial dims that were named
} fy_conv_layout;

typedef struct fy_uniform_geometry {
  int32_t rank, spatial;
  fy_conv_layout in, kernel, out;
  int64_t feature_groups, batch_groups;
  int64_t stride[FY_MAX_SPATIAL], in_dilation[FY_MAX_SPATIAL], kernel_dilation[FY_MAX_SPATIAL];
  int64_t before[FY_MAX_SPATIAL], after[FY_MAX_SPATIAL];
  int64_t out_dims[FY_MAX_RANK];
} fy_uniform_geometry;

// Padding and explicit_padding fit together.
FY_MUST_CHECK fy_code fy_uniform_padding(const fy_attrs *attrs, fy_error *err);
// Reads dimension_numbers into the layouts of |g|; false if it is no such message.
bool fy_uniform_numbers(const fy_attrs *attrs, fy_uniform_geometry *g);
FY_MUST_CHECK fy_code fy_uniform_geometry_of(const fy_attrs *attrs, int32_t rank, const int64_t *in,
                                             const int64_t *kernel, fy_uniform_geometry *g,
                                             fy_error *err);

// Quantizes |n| floats to int8 by their own extremes.
void fy_quantize_row(const float *in, int64_t n, int8_t *out, float *scale, int32_t *zero);

#endif

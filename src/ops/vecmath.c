// SPDX-License-Identifier: Apache-2.0
// vecmath.c: see vecmath.h.

#include "ops/vecmath.h"

#include "ops/fused.h"

#define VEC(name, op)                                                                 \
  void fy_vec_##name##_f32(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                      \
    fy_lanes_best()->unary_f32[op](in, out, n);                                       \
  }
VEC(exp, FY_EW_EXP)
VEC(log, FY_EW_LOG)
VEC(log1p, FY_EW_LOG1P)
VEC(expm1, FY_EW_EXPM1)
VEC(tanh, FY_EW_TANH)
VEC(sigmoid, FY_EW_SIGMOID)
VEC(erf, FY_EW_ERF)
VEC(erfc, FY_EW_ERFC)
VEC(elu, FY_EW_ELU)
VEC(selu, FY_EW_SELU)
VEC(softplus, FY_EW_SOFTPLUS)

void fy_halves_to_floats(const uint16_t *in, float *out, int64_t n) {
  const fy_lanes *lanes = fy_lanes_best();
  if (lanes->halves_to_floats) {
    lanes->halves_to_floats(in, out, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = fy_ld_half(in[i]);
}

void fy_floats_to_halves(const float *in, uint16_t *out, int64_t n) {
  const fy_lanes *lanes = fy_lanes_best();
  if (lanes->floats_to_halves) {
    lanes->floats_to_halves(in, out, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = fy_st_half(in[i]);
}

// 16-bit floats by the float function: its error is far below their last place.
#define VEC_16(name)                                                                   \
  void fy_vec_##name##_f16(const void *pi, void *po, int64_t n, const void *param) {   \
    const uint16_t *in = pi;                                                           \
    uint16_t *out = po;                                                                \
    float x[FY_CHUNK];                                                                 \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                     \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                         \
      fy_halves_to_floats(in + at, x, m);                                              \
      fy_vec_##name##_f32(x, x, m, param);                                             \
      fy_floats_to_halves(x, out + at, m);                                             \
    }                                                                                  \
  }                                                                                    \
  void fy_vec_##name##_bf16(const void *pi, void *po, int64_t n, const void *param) {  \
    const uint16_t *in = pi;                                                           \
    uint16_t *out = po;                                                                \
    float x[FY_CHUNK];                                                                 \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                     \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                         \
      for (int64_t i = 0; i < m; i++) x[i] = fy_bfloat16_to_float(in[at + i]);         \
      fy_vec_##name##_f32(x, x, m, param);                                             \
      for (int64_t i = 0; i < m; i++) out[at + i] = fy_float_to_bfloat16(x[i]);        \
    }                                                                                  \
  }
FY_VEC_16_FUNCTIONS(VEC_16)

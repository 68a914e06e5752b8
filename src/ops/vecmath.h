// SPDX-License-Identifier: Apache-2.0
// vecmath.h: functions of float arrays on the machine's best lanes (lanes_math.inc), as loops for
// the tables of unary ops. The fused kernel uses the same functions: fusing changes no bit.
// Errors are at most 2.5 ulp (measured by tests/unit/test_ops_vecmath.c).

#ifndef FY_OPS_VECMATH_H
#define FY_OPS_VECMATH_H

#include "ops/typed.h"

void fy_vec_exp_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_log_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_log1p_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_expm1_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_tanh_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_sigmoid_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_erf_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_erfc_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_elu_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_selu_f32(const void *in, void *out, int64_t n, const void *param);
void fy_vec_softplus_f32(const void *in, void *out, int64_t n, const void *param);

// The same of halves and bfloat16s, for functions that TensorFlow evaluates in float at once.
#define FY_VEC_16_FUNCTIONS(X) X(exp) X(log) X(log1p) X(expm1) X(tanh) X(erf) X(erfc)
#define FY_VEC_16_DECLARE(name)                                                        \
  void fy_vec_##name##_f16(const void *in, void *out, int64_t n, const void *param);   \
  void fy_vec_##name##_bf16(const void *in, void *out, int64_t n, const void *param);
FY_VEC_16_FUNCTIONS(FY_VEC_16_DECLARE)

// The real types without float, for ops whose float loop is one of these.
#define FY_REAL_TYPES_BUT_F32(X, ...) \
  X(FY_HALF, f16, __VA_ARGS__) X(FY_BFLOAT16, bf16, __VA_ARGS__) X(FY_DOUBLE, f64, __VA_ARGS__)

#endif

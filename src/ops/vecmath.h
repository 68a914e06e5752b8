// SPDX-License-Identifier: Apache-2.0
// vecmath.h: functions of float arrays on the machine's best lanes (lanes_math.inc), as loops for
// the tables of unary ops. The fused kernel uses the same functions: fusing changes no bit.
// The error of each function has its limit in tests/unit/test_ops_vecmath.c, from half an ulp (sqrt) to ten (erfc where it vanishes).

#ifndef FY_OPS_VECMATH_H
#define FY_OPS_VECMATH_H

#include "ops/fused.h"
#include "ops/typed.h"

// X(name, its number in the table of lanes)
#define FY_VEC_LONG(X)        \
  X(exp, FY_EW_EXP)           \
  X(log, FY_EW_LOG)           \
  X(log1p, FY_EW_LOG1P)       \
  X(expm1, FY_EW_EXPM1)       \
  X(tanh, FY_EW_TANH)         \
  X(sigmoid, FY_EW_SIGMOID)   \
  X(elu, FY_EW_ELU)           \
  X(selu, FY_EW_SELU)         \
  X(softplus, FY_EW_SOFTPLUS) \
  X(rsqrt, FY_EW_RSQRT) X(sqrt, FY_EW_SQRT) X(erf, FY_EW_ERF) X(erfc, FY_EW_ERFC)
#define FY_VEC_FUNCTIONS_f32(X) \
  FY_VEC_LONG(X)                \
  X(sin, FY_EW_SIN)             \
  X(cos, FY_EW_COS)             \
  X(tan, FY_FN_TAN)             \
  X(asin, FY_FN_ASIN)           \
  X(acos, FY_FN_ACOS)           \
  X(atan, FY_FN_ATAN)           \
  X(sinh, FY_FN_SINH)           \
  X(cosh, FY_FN_COSH)           \
  X(asinh, FY_FN_ASINH) X(acosh, FY_FN_ACOSH) X(atanh, FY_FN_ATANH)
#define FY_VEC_FUNCTIONS_f64(X) FY_VEC_LONG(X)
#define FY_VEC_DECLARE_f32(name, op) \
  void fy_vec_##name##_f32(const void *in, void *out, int64_t n, const void *param);
#define FY_VEC_DECLARE_f64(name, op) \
  void fy_vec_##name##_f64(const void *in, void *out, int64_t n, const void *param);
FY_VEC_FUNCTIONS_f32(FY_VEC_DECLARE_f32)
    FY_VEC_FUNCTIONS_f64(FY_VEC_DECLARE_f64) void fy_vec_atan2_f32(const void *a, int64_t step_a,
                                                                   const void *b, int64_t step_b,
                                                                   void *out, int64_t n, int *bad);
// Of doubles and complex numbers (vecmath_complex.c).
void fy_vec_atan2_f64(const void *a, int64_t step_a, const void *b, int64_t step_b, void *out,
                      int64_t n, int *bad);
void fy_vec_atan_f64(const void *in, void *out, int64_t n, const void *param);
void fy_vec_atanh_f64(const void *in, void *out, int64_t n, const void *param);
#define FY_VEC_COMPLEX(X) X(log) X(log1p) X(sqrt) X(rsqrt) X(reciprocal) X(sign)
#define FY_VEC_COMPLEX64(X) \
  FY_VEC_COMPLEX(X) X(exp) X(expm1) X(sigmoid) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh)
#define FY_VEC_DECLARE_c64(name) \
  void fy_vec_##name##_c64(const void *in, void *out, int64_t n, const void *param);
#define FY_VEC_DECLARE_c128(name) \
  void fy_vec_##name##_c128(const void *in, void *out, int64_t n, const void *param);
FY_VEC_COMPLEX64(FY_VEC_DECLARE_c64)
FY_VEC_COMPLEX(FY_VEC_DECLARE_c128)
// The loops of Xlogy and Xlog1py.
#define FY_VEC_X_TIMES(E, S, _)                                                                    \
  void fy_vec_xlogy_##S(const void *a, int64_t step_a, const void *b, int64_t step_b, void *out,   \
                        int64_t n, int *bad);                                                      \
  void fy_vec_xlog1py_##S(const void *a, int64_t step_a, const void *b, int64_t step_b, void *out, \
                          int64_t n, int *bad);
FY_REAL_TYPES(FY_VEC_X_TIMES, _)
FY_COMPLEX_TYPES(FY_VEC_X_TIMES, _)

// The same of halves and bfloat16s, for functions that TensorFlow evaluates in float at once.
// clang-format off
#define FY_VEC_16_FUNCTIONS(X)                                                               \
  X(exp) X(log) X(log1p) X(expm1) X(tanh) X(erf) X(erfc) X(sin) X(cos) X(tan) X(asin) X(acos) \
  X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)
// clang-format on
#define FY_VEC_16_DECLARE(name)                                                      \
  void fy_vec_##name##_f16(const void *in, void *out, int64_t n, const void *param); \
  void fy_vec_##name##_bf16(const void *in, void *out, int64_t n, const void *param);
FY_VEC_16_FUNCTIONS(FY_VEC_16_DECLARE)

// Loops of 16-bit floats that stay in registers (lanes_16.inc).
#define FY_VEC_BINARY_16(name, op)                                                                 \
  static void name##_f16(const void *a, int64_t sa, const void *b, int64_t sb, void *o, int64_t n, \
                         int *bad) {                                                               \
    fy_lanes_best()->floats_16[FY_LANES_HALF].binary[op](a, sa, b, sb, o, n, bad);                 \
  }                                                                                                \
  static void name##_bf16(const void *a, int64_t sa, const void *b, int64_t sb, void *o,           \
                          int64_t n, int *bad) {                                                   \
    fy_lanes_best()->floats_16[FY_LANES_BFLOAT16].binary[op](a, sa, b, sb, o, n, bad);             \
  }
#define FY_VEC_UNARY_16(name, op)                                                    \
  static void name##_f16(const void *in, void *out, int64_t n, const void *param) {  \
    fy_lanes_best()->floats_16[FY_LANES_HALF].unary[op](in, out, n, param);          \
  }                                                                                  \
  static void name##_bf16(const void *in, void *out, int64_t n, const void *param) { \
    fy_lanes_best()->floats_16[FY_LANES_BFLOAT16].unary[op](in, out, n, param);      \
  }

// One operation of the fused kernel over arrays: what the compiler makes of comparisons in C need not
// be what the lanes do with denormal numbers. Steps are 0 or 1; |b| of unary ones is NULL.
void fy_vec_apply(int type, fy_ew op, const void *a, int64_t step_a, const void *b, int64_t step_b,
                  void *out, int64_t n);
#define FY_VEC_BINARY_OF(S, type, name, op)                                                        \
  static void name##_##S(const void *a, int64_t sa, const void *b, int64_t sb, void *o, int64_t n, \
                         int *bad) {                                                               \
    (void)bad;                                                                                     \
    fy_vec_apply(type, op, a, sa, b, sb, o, n);                                                    \
  }
#define FY_VEC_UNARY_OF(S, type, name, op)                                          \
  static void name##_##S(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                    \
    fy_vec_apply(type, op, in, 1, NULL, 0, out, n);                                 \
  }
#define FY_VEC_BINARY(name, op)                 \
  FY_VEC_BINARY_OF(f32, FY_LANES_F32, name, op) \
  FY_VEC_BINARY_OF(f64, FY_LANES_F64, name, op)
#define FY_VEC_UNARY(name, op)                 \
  FY_VEC_UNARY_OF(f32, FY_LANES_F32, name, op) \
  FY_VEC_UNARY_OF(f64, FY_LANES_F64, name, op)

#define FY_VEC_UNARY_INT(name, op)             \
  FY_VEC_UNARY_OF(i32, FY_LANES_I32, name, op) \
  FY_VEC_UNARY_OF(i64, FY_LANES_I64, name, op)

// The real types without float, for ops whose float loop is one of these.
#define FY_REAL_TYPES_BUT_F32(X, ...) \
  X(FY_HALF, f16, __VA_ARGS__) X(FY_BFLOAT16, bf16, __VA_ARGS__) X(FY_DOUBLE, f64, __VA_ARGS__)

#endif

// SPDX-License-Identifier: Apache-2.0
// unary_math.c: functions of one number: Neg … Erf, rounding, tests for NaN, Invert.

#include <float.h>

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/special.h"
#include "ops/vecmath.h"

// ---------------------------------------------------------------- arithmetic
#define NEG(S, x)     (-(x))
#define NEG_INT(S, x) (0 - (fy_u_##S)(x))
#define ABS(S, x)     FY_MATH_##S(fabs)(x)
// Without a branch: signs cannot be foretold.
#define SIGNS(S, x)       ((fy_u_##S)((x) >> (8 * sizeof(fy_t_##S) - 1)))
#define ABS_INT(S, x)     ((fy_u_##S)(((fy_u_##S)(x) ^ SIGNS(S, x)) - SIGNS(S, x)))
#define SIGN_INT(S, x)    (((x) > 0) - ((x) < 0))
#define SQUARE(S, x)      ((x) * (x))
#define SQUARE_INT(S, x)  ((fy_u_##S)(x) * (fy_u_##S)(x))
#define SQUARE_CPLX(S, x) fy_cmul_##S(x, x)
#define SQRT(S, x)        FY_MATH_##S(sqrt)(x)
#define RSQRT(S, x)       (1 / FY_RD_##S(FY_MATH_##S(sqrt)(x)))
#define RECIPROCAL(S, x)  (1 / (x))
#define INVERT(S, x)      (~(x))
FY_FULL_REAL_TYPES(FY_UNARY_LOOP, neg, NEG)
FY_VEC_UNARY_16(neg, FY_16_NEG)
FY_COMPLEX_TYPES(FY_UNARY_LOOP, neg, NEG)
FY_SIGNED_TYPES(FY_UNARY_LOOP, neg, NEG_INT)
FY_FULL_REAL_TYPES(FY_UNARY_LOOP, abs, ABS)
#define ABS_BITS(S, x) ((x)&0x7FFF)
FY_UNARY_LOOP(FY_UINT16, u16, abs, ABS_BITS)  // of 16-bit floats
FY_SIGNED_TYPES(FY_UNARY_LOOP, abs, ABS_INT)
FY_VEC_UNARY(sign, FY_EW_SIGN)
FY_VEC_UNARY_16(sign, FY_16_SIGN)
FY_SIGNED_TYPES(FY_UNARY_LOOP, sign, SIGN_INT)
FY_FULL_REAL_TYPES(FY_UNARY_LOOP, square, SQUARE)
FY_VEC_UNARY_16(square, FY_16_SQUARE)
FY_INT_TYPES(FY_UNARY_LOOP, square, SQUARE_INT)
FY_COMPLEX_TYPES(FY_UNARY_LOOP, square, SQUARE_CPLX)
FY_VEC_UNARY_16(rsqrt, FY_16_RSQRT)
FY_FULL_REAL_TYPES(FY_UNARY_LOOP, reciprocal, RECIPROCAL)
FY_VEC_UNARY_16(reciprocal, FY_16_RECIP)
FY_SIGNED_TYPES(FY_UNARY_LOOP, invert, INVERT)

// ---------------------------------------------------------------- functions of libm
#define CALL_exp(S, x)       FY_MATH_##S(exp)(x)
#define CALL_sin(S, x)       FY_MATH_##S(sin)(x)
#define CALL_cos(S, x)       FY_MATH_##S(cos)(x)
#define CALL_tan(S, x)       FY_MATH_##S(tan)(x)
#define CALL_asin(S, x)      FY_MATH_##S(asin)(x)
#define CALL_acos(S, x)      FY_MATH_##S(acos)(x)
#define CALL_atan(S, x)      FY_MATH_##S(atan)(x)
#define CALL_sinh(S, x)      FY_MATH_##S(sinh)(x)
#define CALL_cosh(S, x)      FY_MATH_##S(cosh)(x)
#define CALL_asinh(S, x)     FY_MATH_##S(asinh)(x)
#define CALL_acosh(S, x)     FY_MATH_##S(acosh)(x)
#define CALL_atanh(S, x)     FY_MATH_##S(atanh)(x)
#define CALL_tanh(S, x)      FY_MATH_##S(tanh)(x)
#define COMPLEX_FN(fn)       FY_COMPLEX_TYPES(FY_UNARY_LOOP, m_##fn, CALL_##fn)
#define LARGE_COMPLEX_FN(fn) FY_UNARY_LOOP(FY_COMPLEX128, c128, m_##fn, CALL_##fn)
#define DOUBLE_FN(fn)        FY_UNARY_LOOP(FY_DOUBLE, f64, m_##fn, CALL_##fn)
FY_VEC_UNARY_16(m_sqrt, FY_16_SQRT)
DOUBLE_FN(sin)
DOUBLE_FN(cos)
DOUBLE_FN(tan)
DOUBLE_FN(asin)
DOUBLE_FN(acos)
DOUBLE_FN(sinh)
DOUBLE_FN(cosh)
DOUBLE_FN(asinh)
DOUBLE_FN(acosh)
COMPLEX_FN(asin)
COMPLEX_FN(acos)
COMPLEX_FN(atan)
COMPLEX_FN(asinh)
COMPLEX_FN(acosh)
COMPLEX_FN(atanh)
LARGE_COMPLEX_FN(sin)
LARGE_COMPLEX_FN(cos)
LARGE_COMPLEX_FN(tan)
LARGE_COMPLEX_FN(sinh)
LARGE_COMPLEX_FN(cosh)
LARGE_COMPLEX_FN(tanh)
LARGE_COMPLEX_FN(exp)
FY_VEC_UNARY(floor, FY_EW_FLOOR)
FY_VEC_UNARY_16(floor, FY_16_FLOOR)
FY_VEC_UNARY(ceil, FY_EW_CEIL)
FY_VEC_UNARY_16(ceil, FY_16_CEIL)
FY_VEC_UNARY(rint, FY_EW_RINT)
FY_VEC_UNARY_16(rint, FY_16_RINT)

// exp(z) - 1 that keeps the digits of small z.
static inline double _Complex expm1_c128(double _Complex z) {
  const double im = cimag(z), half = sin(im / 2), e = expm1(creal(z));
  return __builtin_complex(e * cos(im) - 2 * half * half, (e + 1) * sin(im));
}
#define EXPM1_CPLX(S, z) expm1_##S(z)
FY_UNARY_LOOP(FY_COMPLEX128, c128, m_expm1, EXPM1_CPLX)

#define SIGMOID(S, x) (1 / FY_RD_##S(1 + FY_RD_##S(FY_MATH_##S(exp)(-(x)))))
// 16-bit floats: e / (1 + e) with e = exp(x), which keeps small results; a chunk at a time, each step rounded.
static void round_f16(float *x, int64_t n) {
  uint16_t h[FY_CHUNK];
  fy_floats_to_halves(x, h, n);
  fy_halves_to_floats(h, x, n);
}
static void widen_bf16(const uint16_t *in, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_bfloat16_to_float(in[i]);
}
static void narrow_bf16(const float *in, uint16_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_float_to_bfloat16(in[i]);
}
static void round_bf16(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = FY_RD_bf16(x[i]);
}
#define STEPS_16(S, WIDEN, NARROW)                                                  \
  static void sigmoid_##S(const void *pi, void *po, int64_t n, const void *param) { \
    float x[FY_CHUNK], more[FY_CHUNK];                                              \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                  \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                      \
      WIDEN((const uint16_t *)pi + at, x, m);                                       \
      fy_vec_exp_f32(x, x, m, param);                                               \
      round_##S(x, m);                                                              \
      for (int64_t i = 0; i < m; i++) more[i] = x[i] + 1;                           \
      round_##S(more, m);                                                           \
      for (int64_t i = 0; i < m; i++) x[i] = x[i] > FLT_MAX ? 1 : x[i] / more[i];   \
      NARROW(x, (uint16_t *)po + at, m);                                            \
    }                                                                               \
  }
STEPS_16(f16, fy_halves_to_floats, fy_floats_to_halves)
STEPS_16(bf16, widen_bf16, narrow_bf16)
FY_UNARY_LOOP(FY_COMPLEX128, c128, sigmoid, SIGMOID)

// Poles of the gamma function are +Inf for Lgamma and NaN for Digamma. glibc's lgamma writes the
// global signgam; the _r forms do not.
static inline double lgamma_f64(double x) {
  int sign;
  return isinf(x) ? INFINITY : lgamma_r(x, &sign);
}
static inline float lgamma_f32(float x) {
  int sign;
  return isinf(x) ? INFINITY : lgammaf_r(x, &sign);
}
#define lgamma_f16  lgamma_f32
#define lgamma_bf16 lgamma_f32
double fy_digamma(double x) {
  if (isinf(x)) return x > 0 ? x : NAN;
  double shift = 0;
  if (x <= 0) {
    if (x == floor(x)) return NAN;
    // Reflection; tan sees how far the nearest pole is, exactly.
    const double r = x - rint(x);
    shift = fabs(r) == 0.5 ? 0 : -M_PI / tan(M_PI * r);
    x = 1 - x;
  }
  double result = 0;
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return result + log(x) - 0.5 / x - series + shift;
}
#define LGAMMA(S, x)  lgamma_##S(x)
#define DIGAMMA(S, x) (fy_a_##S) fy_digamma((double)(x))
FY_REAL_TYPES(FY_UNARY_LOOP, lgam, LGAMMA)
FY_REAL_TYPES(FY_UNARY_LOOP, digam, DIGAMMA)

#define SAME(S, x)      (x)
#define IS_NAN(S, x)    ((x) != (x))
#define IS_INF(S, x)    (FY_MATH_##S(fabs)(x) == (fy_a_##S)INFINITY)
#define IS_FINITE(S, x) ((x) - (x) == 0)
FY_INDEX_TYPES(FY_UNARY_LOOP, same, SAME)
// Of 16-bit floats by their bits: an infinity is all of the exponent, and nothing else.
#define TESTS(name, EXPR, COMPARED)               \
  FY_UNARY_CLONED(f32, name, EXPR, bool, FY_ST_b) \
  FY_UNARY_CLONED(f64, name, EXPR, bool, FY_ST_b) \
  TEST_BITS(name##_f16, COMPARED 0x7C00)          \
  TEST_BITS(name##_bf16, COMPARED 0x7F80)
#define TEST_BITS(name, COMPARED)                                                        \
  static void name(const void *pi, void *po, int64_t n, const void *param) {             \
    const uint16_t *in = pi;                                                             \
    uint8_t *o = po;                                                                     \
    (void)param;                                                                         \
    FY_VECTOR for (int64_t i = 0; i < n; i++) o[i] = (int16_t)(in[i] & 0x7FFF) COMPARED; \
  }
TESTS(is_nan, IS_NAN, >)
TESTS(is_inf, IS_INF, ==)
TESTS(is_finite, IS_FINITE, <)

// ---------------------------------------------------------------- tables
#define TABLE(name, ns_, ...) static const fy_unary_loops name##_table = {{__VA_ARGS__}, ns_}
#define REALS(name)           FY_REAL_TYPES(FY_LOOP_ENTRY, name)
#define VECS_16(double_loop, fn)                                                            \
  [FY_DOUBLE] = double_loop, [FY_FLOAT] = fy_vec_##fn##_f32, [FY_HALF] = fy_vec_##fn##_f16, \
  [FY_BFLOAT16] = fy_vec_##fn##_bf16,
#define VECS_ALL(name)                                                                         \
  [FY_DOUBLE] = fy_vec_##name##_f64, [FY_FLOAT] = fy_vec_##name##_f32, [FY_HALF] = name##_f16, \
  [FY_BFLOAT16] = name##_bf16,
#define VEC_C64(name)       [FY_COMPLEX64] = fy_vec_##name##_c64, [FY_COMPLEX128] = m_##name##_c128,
#define VEC_COMPLEXES(name) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, fy_vec_##name)
#define COMPLEXES(name)     FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name)
#define SIGNEDS(name)       FY_SIGNED_TYPES(FY_LOOP_ENTRY, name)
TABLE(neg, 0.3, REALS(neg) COMPLEXES(neg) SIGNEDS(neg));
TABLE(abs, 0.3, FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, abs) SIGNEDS(abs)[FY_HALF] = abs_u16,
      [FY_BFLOAT16] = abs_u16);
TABLE(sign, 0.5, REALS(sign) VEC_COMPLEXES(sign) SIGNEDS(sign));
TABLE(square, 0.3, FY_NUMERIC_TYPES(FY_LOOP_ENTRY, square));
TABLE(rsqrt, 0.5, VECS_ALL(rsqrt) VEC_COMPLEXES(rsqrt));
TABLE(reciprocal, 0.6, REALS(reciprocal) VEC_COMPLEXES(reciprocal));
TABLE(invert, 0.3, SIGNEDS(invert) FY_UNSIGNED_AS_SIGNED(invert));
TABLE(sqrt, 1, [FY_DOUBLE] = fy_vec_sqrt_f64, [FY_FLOAT] = fy_vec_sqrt_f32, [FY_HALF] = m_sqrt_f16,
      [FY_BFLOAT16] = m_sqrt_bf16, VEC_COMPLEXES(sqrt));
TABLE(exp, 1, VECS_16(fy_vec_exp_f64, exp) VEC_C64(exp));
TABLE(expm1, 1, VECS_16(fy_vec_expm1_f64, expm1)[FY_COMPLEX64] = fy_vec_expm1_c64,
      [FY_COMPLEX128] = m_expm1_c128);
TABLE(log, 1, VECS_16(fy_vec_log_f64, log) VEC_COMPLEXES(log));
TABLE(log1p, 2, VECS_16(fy_vec_log1p_f64, log1p) VEC_COMPLEXES(log1p));
TABLE(sin, 2, VECS_16(m_sin_f64, sin) VEC_C64(sin));
TABLE(cos, 2, VECS_16(m_cos_f64, cos) VEC_C64(cos));
TABLE(tan, 2, VECS_16(m_tan_f64, tan) VEC_C64(tan));
TABLE(asin, 1, VECS_16(m_asin_f64, asin) COMPLEXES(m_asin));
TABLE(acos, 1, VECS_16(m_acos_f64, acos) COMPLEXES(m_acos));
TABLE(atan, 1, VECS_16(fy_vec_atan_f64, atan) COMPLEXES(m_atan));
TABLE(sinh, 1.5, VECS_16(m_sinh_f64, sinh) VEC_C64(sinh));
TABLE(cosh, 1.5, VECS_16(m_cosh_f64, cosh) VEC_C64(cosh));
TABLE(asinh, 3, VECS_16(m_asinh_f64, asinh) COMPLEXES(m_asinh));
TABLE(acosh, 3, VECS_16(m_acosh_f64, acosh) COMPLEXES(m_acosh));
TABLE(atanh, 2, VECS_16(fy_vec_atanh_f64, atanh) COMPLEXES(m_atanh));
TABLE(tanh, 1, VECS_16(fy_vec_tanh_f64, tanh) VEC_C64(tanh));
TABLE(sigmoid, 1,
      VECS_ALL(sigmoid)[FY_COMPLEX64] = fy_vec_sigmoid_c64, [FY_COMPLEX128] = sigmoid_c128);
TABLE(erf, 1.5, VECS_16(fy_vec_erf_f64, erf));
TABLE(erfc, 1.5, VECS_16(fy_vec_erfc_f64, erfc));
TABLE(lgam, 25, REALS(lgam));
TABLE(digam, 40, REALS(digam));
TABLE(floor, 0.5, REALS(floor));
TABLE(ceil, 0.5, REALS(ceil));
TABLE(rint, 0.5, REALS(rint));
TABLE(round, 0.5, REALS(rint) FY_INDEX_TYPES(FY_LOOP_ENTRY, same));
TABLE(is_nan, 0.3, REALS(is_nan));
TABLE(is_inf, 0.3, REALS(is_inf));
TABLE(is_finite, 0.3, REALS(is_finite));

static const fy_sample signed_samples[] = {
    {"f32[8]=special", NULL, FY_OK, NULL},
    {"i32[3]=-2147483648,0,7", NULL, FY_OK, NULL},
    {"f16[2,3]=normal", NULL, FY_OK, NULL},
};
static const fy_sample real_samples[] = {
    {"f32[8]=special", NULL, FY_OK, NULL},  {"f32[33]=uniform", NULL, FY_OK, NULL},
    {"f64[3,5]=normal", NULL, FY_OK, NULL}, {"bf16[4]=uniform", NULL, FY_OK, NULL},
    {"f32[0]=", NULL, FY_OK, ""},
};
static const fy_sample float_samples[] = {
    {"f32[8]=special", NULL, FY_OK, NULL},
    {"f64[3,5]=normal", NULL, FY_OK, NULL},
};
static const fy_sample int_samples[] = {{"u8[3]=0,1,255", NULL, FY_OK, "255,254,0"}};

#define UNARY_OP(Name, name, array, ew)                                                       \
  FY_OP(Name, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &name##_table, \
        .flags = FY_OP_INPLACE, .elementwise = ew, FY_SAMPLES(array))
#define TEST_OP(Name, name)                                                                   \
  FY_OP(Name, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &name##_table, \
        FY_SAMPLES(real_samples))

UNARY_OP(Neg, neg, signed_samples, FY_EW_NEG);
UNARY_OP(Abs, abs, signed_samples, FY_EW_ABS);
UNARY_OP(Sign, sign, signed_samples, FY_EW_SIGN);
UNARY_OP(Square, square, signed_samples, FY_EW_SQUARE);
UNARY_OP(Sqrt, sqrt, real_samples, FY_EW_SQRT);
UNARY_OP(Rsqrt, rsqrt, real_samples, FY_EW_RSQRT);
UNARY_OP(Reciprocal, reciprocal, real_samples, FY_EW_RECIPROCAL);
UNARY_OP(Inv, reciprocal, real_samples, FY_EW_RECIPROCAL);
UNARY_OP(Invert, invert, int_samples, FY_EW_NONE);
UNARY_OP(Exp, exp, real_samples, FY_EW_EXP);
UNARY_OP(Expm1, expm1, real_samples, FY_EW_EXPM1);
UNARY_OP(Log, log, real_samples, FY_EW_LOG);
UNARY_OP(Log1p, log1p, real_samples, FY_EW_LOG1P);
UNARY_OP(Sin, sin, real_samples, FY_EW_SIN);
UNARY_OP(Cos, cos, real_samples, FY_EW_COS);
UNARY_OP(Tan, tan, real_samples, FY_EW_NONE);
UNARY_OP(Asin, asin, real_samples, FY_EW_NONE);
UNARY_OP(Acos, acos, real_samples, FY_EW_NONE);
UNARY_OP(Atan, atan, real_samples, FY_EW_NONE);
UNARY_OP(Sinh, sinh, real_samples, FY_EW_NONE);
UNARY_OP(Cosh, cosh, real_samples, FY_EW_NONE);
UNARY_OP(Asinh, asinh, real_samples, FY_EW_NONE);
UNARY_OP(Acosh, acosh, real_samples, FY_EW_NONE);
UNARY_OP(Atanh, atanh, real_samples, FY_EW_NONE);
UNARY_OP(Tanh, tanh, real_samples, FY_EW_TANH);
UNARY_OP(Sigmoid, sigmoid, real_samples, FY_EW_SIGMOID);
UNARY_OP(Erf, erf, real_samples, FY_EW_ERF);
UNARY_OP(Erfc, erfc, real_samples, FY_EW_ERFC);
UNARY_OP(Lgamma, lgam, float_samples, FY_EW_NONE);
UNARY_OP(Digamma, digam, float_samples, FY_EW_NONE);
UNARY_OP(Floor, floor, real_samples, FY_EW_FLOOR);
UNARY_OP(Ceil, ceil, real_samples, FY_EW_CEIL);
UNARY_OP(Rint, rint, float_samples, FY_EW_RINT);
UNARY_OP(Round, round, real_samples, FY_EW_RINT);
TEST_OP(IsNan, is_nan);
TEST_OP(IsInf, is_inf);
TEST_OP(IsFinite, is_finite);

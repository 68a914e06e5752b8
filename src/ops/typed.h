// SPDX-License-Identifier: Apache-2.0
// typed.h: one loop body, every dtype. The only mechanism by which ops expand over element types.
//
// A dtype has a suffix (f32, i8, c64 …). For suffix S there are
//   fy_t_S  the type in memory             fy_a_S  the type arithmetic is done in
//   FY_LD_S(v), FY_ST_S(v)  memory -> arithmetic and back (half and bfloat16 round here)
//   FY_RD_S(v)  rounds an intermediate result as TensorFlow does for 16-bit floats; else the value
//   fy_u_S  (integers) the unsigned type in which +, - and * wrap without undefined behaviour
//   FY_MATH_S(fn)  sinf, sin, csinf or csin
// A list macro calls X(enum, suffix, …) for each of its dtypes, so that an op is written once:
//   #define ADD(S, x, y) ((x) + (y))
//   FY_REAL_TYPES(FY_BINARY_LOOP, add, ADD)                 // add_f16, add_bf16, add_f32, add_f64
//   static const fy_binary_loops add_loops = {{FY_REAL_TYPES(FY_LOOP_ENTRY, add)}};
// Loops that may run in place carry FY_VECTOR: it tells the compiler that element i depends on
// element i only, which stays true when an output is the memory of an input (restrict would lie).

#ifndef FY_OPS_TYPED_H
#define FY_OPS_TYPED_H

#include <float.h>
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tensor/dtype.h"

#if defined(__clang__)
// A loop that calls libm cannot be vectorised; that is no reason to warn.
#pragma clang diagnostic ignored "-Wpass-failed"
#define FY_VECTOR _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define FY_VECTOR _Pragma("GCC ivdep")
#else
#define FY_VECTOR
#endif

// A loop of a few vectors that is unrolled, so that their array lives in registers.
#if defined(__clang__)
#define FY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define FY_UNROLL _Pragma("GCC unroll 8")
#endif

// A loop compiled twice, for any machine and for AVX2; the loader picks one. Library size counts:
// only for loops that a baseline x86-64 does much worse. Sanitizers cannot run the picking, and with
// the undefined one (for which GCC has no macro: FY_NO_CLONES) the linker of Debian 12 fails.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&    \
    !defined(__SANITIZE_THREAD__) && !defined(FY_NO_CLONES) && !defined(__clang__) && \
    defined(__OPTIMIZE__)
#define FY_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define FY_CLONES
#endif

// ---------------------------------------------------------------- 16-bit floats, vectorisable
// Arrays of halves to floats and back, by the machine's instructions where it has them.
void fy_halves_to_floats(const uint16_t *in, float *out, int64_t n);
void fy_floats_to_halves(const float *in, uint16_t *out, int64_t n);
static inline uint32_t fy_float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static inline float fy_bits_float(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline float fy_ld_half(uint16_t h) {
  const uint32_t w = (uint32_t)h << 16, sign = w & 0x80000000u, two_w = w + w;
  const float normal = fy_bits_float((two_w >> 4) + 0x70000000u) * 0x1p-112f;
  const float denormal = fy_bits_float((two_w >> 17) | 0x3F000000u) - 0.5f;
  const uint32_t bits = two_w < 0x08000000u ? fy_float_bits(denormal) : fy_float_bits(normal);
  return fy_bits_float(sign | bits);
}
static inline uint16_t fy_st_half(float f) {
  const uint32_t w = fy_float_bits(f), shl1 = w + w, sign = w & 0x80000000u;
  const float base = (fy_bits_float(w & 0x7FFFFFFFu) * 0x1p112f) * 0x1p-110f;
  uint32_t bias = shl1 & 0xFF000000u;
  bias = bias < 0x71000000u ? 0x71000000u : bias;
  const uint32_t bits = fy_float_bits(fy_bits_float((bias >> 1) + 0x07800000u) + base);
  const uint32_t number = ((bits >> 13) & 0x7C00u) + (bits & 0x0FFFu);
  return (uint16_t)((sign >> 16) | (shl1 > 0xFF000000u ? 0x7E00u : number));
}

// ---------------------------------------------------------------- types by suffix
typedef uint16_t fy_t_f16, fy_t_bf16;
typedef float fy_t_f32, fy_a_f32, fy_a_f16, fy_a_bf16;
typedef double fy_t_f64, fy_a_f64;
typedef float _Complex fy_t_c64, fy_a_c64;
typedef double _Complex fy_t_c128, fy_a_c128;
typedef int8_t fy_t_i8, fy_a_i8;
typedef int16_t fy_t_i16, fy_a_i16;
typedef int32_t fy_t_i32, fy_a_i32;
typedef int64_t fy_t_i64, fy_a_i64;
typedef uint8_t fy_t_u8, fy_a_u8;
typedef uint16_t fy_t_u16, fy_a_u16;
typedef uint32_t fy_t_u32, fy_a_u32;
typedef uint64_t fy_t_u64, fy_a_u64;
typedef bool fy_t_b, fy_a_b;
typedef uint32_t fy_u_i8, fy_u_i16, fy_u_i32, fy_u_u8, fy_u_u16, fy_u_u32;
typedef uint64_t fy_u_i64, fy_u_u64;
typedef float fy_r_c64;  // the real type of a complex one
typedef double fy_r_c128;

#define FY_LD_f16(v)  fy_ld_half(v)
#define FY_LD_bf16(v) fy_bfloat16_to_float(v)
#define FY_LD_f32(v)  (v)
#define FY_LD_f64(v)  (v)
#define FY_LD_c64(v)  (v)
#define FY_LD_c128(v) (v)
#define FY_LD_i8(v)   (v)
#define FY_LD_i16(v)  (v)
#define FY_LD_i32(v)  (v)
#define FY_LD_i64(v)  (v)
#define FY_LD_u8(v)   (v)
#define FY_LD_u16(v)  (v)
#define FY_LD_u32(v)  (v)
#define FY_LD_u64(v)  (v)
#define FY_LD_b(v)    (v)

#define FY_ST_f16(v)  fy_st_half(v)
#define FY_ST_bf16(v) fy_float_to_bfloat16(v)
#define FY_ST_f32(v)  (v)
#define FY_ST_f64(v)  (v)
#define FY_ST_c64(v)  (v)
#define FY_ST_c128(v) (v)
#define FY_ST_i8(v)   ((int8_t)(v))
#define FY_ST_i16(v)  ((int16_t)(v))
#define FY_ST_i32(v)  ((int32_t)(v))
#define FY_ST_i64(v)  ((int64_t)(v))
#define FY_ST_u8(v)   ((uint8_t)(v))
#define FY_ST_u16(v)  ((uint16_t)(v))
#define FY_ST_u32(v)  ((uint32_t)(v))
#define FY_ST_u64(v)  ((uint64_t)(v))
#define FY_ST_b(v)    ((bool)(v))

#define FY_RD_f16(v)  fy_ld_half(fy_st_half(v))
#define FY_RD_bf16(v) fy_bfloat16_to_float(fy_float_to_bfloat16(v))
#define FY_RD_f32(v)  (v)
#define FY_RD_f64(v)  (v)
#define FY_RD_c64(v)  (v)
#define FY_RD_c128(v) (v)

#define FY_MATH_f16(fn)  fn##f
#define FY_MATH_bf16(fn) fn##f
#define FY_MATH_f32(fn)  fn##f
#define FY_MATH_f64(fn)  fn
#define FY_MATH_c64(fn)  c##fn##f
#define FY_MATH_c128(fn) c##fn

#define FY_MIN_i8  INT8_MIN
#define FY_MIN_i16 INT16_MIN
#define FY_MIN_i32 INT32_MIN
#define FY_MIN_i64 INT64_MIN
#define FY_MIN_u8  0
#define FY_MIN_u16 0
#define FY_MIN_u32 0
#define FY_MIN_u64 0
#define FY_MAX_i8  INT8_MAX
#define FY_MAX_i16 INT16_MAX
#define FY_MAX_i32 INT32_MAX
#define FY_MAX_i64 INT64_MAX
#define FY_MAX_u8  UINT8_MAX
#define FY_MAX_u16 UINT16_MAX
#define FY_MAX_u32 UINT32_MAX
#define FY_MAX_u64 UINT64_MAX

// The least finite value.
#define FY_LOWEST_f16  (-65504.0f)
#define FY_LOWEST_bf16 (-3.38953139e38f)
#define FY_LOWEST_f32  (-FLT_MAX)
#define FY_LOWEST_f64  (-DBL_MAX)
#define FY_LOWEST_i8   FY_MIN_i8
#define FY_LOWEST_i16  FY_MIN_i16
#define FY_LOWEST_i32  FY_MIN_i32
#define FY_LOWEST_i64  FY_MIN_i64
#define FY_LOWEST_u8   0
#define FY_LOWEST_u16  0
#define FY_LOWEST_u32  0
#define FY_LOWEST_u64  0

// ---------------------------------------------------------------- lists: X(enum, suffix, …)
#define FY_FULL_REAL_TYPES(X, ...)  X(FY_FLOAT, f32, __VA_ARGS__) X(FY_DOUBLE, f64, __VA_ARGS__)
#define FY_SHORT_REAL_TYPES(X, ...) X(FY_HALF, f16, __VA_ARGS__) X(FY_BFLOAT16, bf16, __VA_ARGS__)
#define FY_REAL_TYPES(X, ...)       FY_SHORT_REAL_TYPES(X, __VA_ARGS__) FY_FULL_REAL_TYPES(X, __VA_ARGS__)
#define FY_COMPLEX_TYPES(X, ...) \
  X(FY_COMPLEX64, c64, __VA_ARGS__) X(FY_COMPLEX128, c128, __VA_ARGS__)
#define FY_SIGNED_TYPES(X, ...) \
  X(FY_INT8, i8, __VA_ARGS__)   \
  X(FY_INT16, i16, __VA_ARGS__) X(FY_INT32, i32, __VA_ARGS__) X(FY_INT64, i64, __VA_ARGS__)
#define FY_UNSIGNED_TYPES(X, ...) \
  X(FY_UINT8, u8, __VA_ARGS__)    \
  X(FY_UINT16, u16, __VA_ARGS__) X(FY_UINT32, u32, __VA_ARGS__) X(FY_UINT64, u64, __VA_ARGS__)
#define FY_INT_TYPES(X, ...)     FY_SIGNED_TYPES(X, __VA_ARGS__) FY_UNSIGNED_TYPES(X, __VA_ARGS__)
#define FY_INDEX_TYPES(X, ...)   X(FY_INT32, i32, __VA_ARGS__) X(FY_INT64, i64, __VA_ARGS__)
#define FY_ORDERED_TYPES(X, ...) FY_REAL_TYPES(X, __VA_ARGS__) FY_INT_TYPES(X, __VA_ARGS__)
#define FY_NUMERIC_TYPES(X, ...) FY_ORDERED_TYPES(X, __VA_ARGS__) FY_COMPLEX_TYPES(X, __VA_ARGS__)
// What wraps, compares for equality or works on bits is the same for both kinds of integers.
#define FY_UNSIGNED_AS_SIGNED(name)                                           \
  [FY_UINT8] = name##_i8, [FY_UINT16] = name##_i16, [FY_UINT32] = name##_i32, \
  [FY_UINT64] = name##_i64,
// The quantized types are integers to everything that only compares or moves them.
#define FY_QUANTIZED_ENTRIES(name)                                           \
  [FY_QINT8] = name##_i8, [FY_QUINT8] = name##_u8, [FY_QINT16] = name##_i16, \
  [FY_QUINT16] = name##_u16, [FY_QINT32] = name##_i32,

#define FY_LOOP_ENTRY(E, S, name) [E] = name##_##S,

// ---------------------------------------------------------------- products and quotients of complex numbers
// The plain formula, as Eigen's packets: no recovery of infinities.
static inline float _Complex fy_cmul_c64(float _Complex a, float _Complex b) {
  const float ar = crealf(a), ai = cimagf(a), br = crealf(b), bi = cimagf(b);
  return __builtin_complex(ar * br - ai * bi, ar * bi + ai * br);
}
static inline double _Complex fy_cmul_c128(double _Complex a, double _Complex b) {
  const double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
  return __builtin_complex(ar * br - ai * bi, ar * bi + ai * br);
}

// Quotients without a call; what is not a number this way (infinities, zeros) is C's to decide.
static inline float _Complex fy_cdiv_c64(float _Complex a, float _Complex b) {
  const double ar = (double)crealf(a), ai = (double)cimagf(a);
  const double br = (double)crealf(b), bi = (double)cimagf(b), scale = 1 / (br * br + bi * bi);
  const double re = (ar * br + ai * bi) * scale, im = (ai * br - ar * bi) * scale;
  return re - re == 0 && im - im == 0 ? __builtin_complex((float)re, (float)im) : a / b;
}
static inline double _Complex fy_cdiv_c128(double _Complex a, double _Complex b) {
  const double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
  const bool wide = fabs(br) >= fabs(bi);
  const double big = wide ? br : bi, ratio = wide ? bi / br : br / bi;
  const double scale = 1 / (big + (wide ? bi : br) * ratio);
  const double re = (wide ? ar + ai * ratio : ar * ratio + ai) * scale;
  const double im = (wide ? ai - ar * ratio : ai * ratio - ar) * scale;
  return re - re == 0 && im - im == 0 ? __builtin_complex(re, im) : a / b;
}

// ---------------------------------------------------------------- loops over elements
// Row of a binary op: operand strides are 0 or 1. A loop that meets a value it cannot compute
// (division by zero) sets *bad and goes on with 0.
typedef void (*fy_binary_loop)(const void *a, int64_t stride_a, const void *b, int64_t stride_b,
                               void *out, int64_t n, int *bad);
typedef void (*fy_unary_loop)(const void *in, void *out, int64_t n, const void *param);

// Which suffixes get clones.
#define FY_CLONE_f16  FY_CLONES
#define FY_CLONE_bf16 FY_CLONES
#define FY_CLONE_f32  FY_CLONES
#define FY_CLONE_f64
#define FY_CLONE_c64
#define FY_CLONE_c128
#define FY_CLONE_i8
#define FY_CLONE_i16
#define FY_CLONE_i32
#define FY_CLONE_i64
#define FY_CLONE_u8
#define FY_CLONE_u16
#define FY_CLONE_u32
#define FY_CLONE_u64
#define FY_CLONE_b

// The three forms of a row: a[i] op b[i], a[i] op y, x op b[i].
#define FY_BINARY_ROWS(S, EXPR, LOAD, STORE)         \
  if (sa == sb) {                                    \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {      \
      const fy_a_##S x = LOAD(a[i]), y = LOAD(b[i]); \
      o[i] = STORE(EXPR(S, x, y));                   \
    }                                                \
  } else if (sa) {                                   \
    const fy_a_##S y = LOAD(b[0]);                   \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {      \
      const fy_a_##S x = LOAD(a[i]);                 \
      o[i] = STORE(EXPR(S, x, y));                   \
    }                                                \
  } else {                                           \
    const fy_a_##S x = LOAD(a[0]);                   \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {      \
      const fy_a_##S y = LOAD(b[i]);                 \
      o[i] = STORE(EXPR(S, x, y));                   \
    }                                                \
  }
#define FY_BINARY_PLAIN(S, name, EXPR, OUT, STORE) \
  FY_CLONE_##S FY_BINARY_BODY(S, name, EXPR, OUT, STORE)
#define FY_BINARY_CLONED(S, name, EXPR, OUT, STORE) \
  FY_CLONES FY_BINARY_BODY(S, name, EXPR, OUT, STORE)
#define FY_BINARY_BODY(S, name, EXPR, OUT, STORE)                                          \
  static void name##_##S(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po, \
                         int64_t n, int *bad) {                                            \
    const fy_t_##S *a = pa, *b = pb;                                                       \
    OUT *o = po;                                                                           \
    (void)bad;                                                                             \
    FY_BINARY_ROWS(S, EXPR, FY_LD_##S, STORE)                                              \
  }
// Halves are turned into floats a chunk at a time; TO is the type of a result before PUT.
#define FY_CHUNK 512
#define FY_BINARY_HALF(name, EXPR, OUT, TO, PUT)                                                 \
  FY_CLONES static void name##_chunk_f16(const float *a, int64_t sa, const float *b, int64_t sb, \
                                         TO *o, int64_t n, int *bad) {                           \
    (void)bad;                                                                                   \
    FY_BINARY_ROWS(f16, EXPR, FY_LD_f32, (TO))                                                   \
  }                                                                                              \
  static void name##_f16(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po,       \
                         int64_t n, int *bad) {                                                  \
    const uint16_t *a = pa, *b = pb;                                                             \
    OUT *o = po;                                                                                 \
    float x[FY_CHUNK], y[FY_CHUNK];                                                              \
    TO z[FY_CHUNK];                                                                              \
    if (!sa) x[0] = fy_ld_half(a[0]);                                                            \
    if (!sb) y[0] = fy_ld_half(b[0]);                                                            \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                               \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                                   \
      if (sa) fy_halves_to_floats(a + at, x, m);                                                 \
      if (sb) fy_halves_to_floats(b + at, y, m);                                                 \
      name##_chunk_f16(x, sa, y, sb, z, sa | sb ? m : 1, bad);                                   \
      PUT(z, o + at, m);                                                                         \
    }                                                                                            \
  }
static inline void fy_put_bools(const bool *in, bool *out, int64_t n) {
  memcpy(out, in, (size_t)n);
}

#define FY_BINARY_LOOP_f16(name, EXPR) \
  FY_BINARY_HALF(name, EXPR, uint16_t, float, fy_floats_to_halves)
#define FY_COMPARE_LOOP_f16(name, EXPR)   FY_BINARY_HALF(name, EXPR, bool, bool, fy_put_bools)
#define FY_BINARY_LOOP_bf16(name, EXPR)   FY_BINARY_PLAIN(bf16, name, EXPR, fy_t_bf16, FY_ST_bf16)
#define FY_BINARY_LOOP_f32(name, EXPR)    FY_BINARY_PLAIN(f32, name, EXPR, fy_t_f32, FY_ST_f32)
#define FY_BINARY_LOOP_f64(name, EXPR)    FY_BINARY_PLAIN(f64, name, EXPR, fy_t_f64, FY_ST_f64)
#define FY_BINARY_LOOP_c64(name, EXPR)    FY_BINARY_PLAIN(c64, name, EXPR, fy_t_c64, FY_ST_c64)
#define FY_BINARY_LOOP_c128(name, EXPR)   FY_BINARY_PLAIN(c128, name, EXPR, fy_t_c128, FY_ST_c128)
#define FY_BINARY_LOOP_i8(name, EXPR)     FY_BINARY_PLAIN(i8, name, EXPR, fy_t_i8, FY_ST_i8)
#define FY_BINARY_LOOP_i16(name, EXPR)    FY_BINARY_PLAIN(i16, name, EXPR, fy_t_i16, FY_ST_i16)
#define FY_BINARY_LOOP_i32(name, EXPR)    FY_BINARY_PLAIN(i32, name, EXPR, fy_t_i32, FY_ST_i32)
#define FY_BINARY_LOOP_i64(name, EXPR)    FY_BINARY_PLAIN(i64, name, EXPR, fy_t_i64, FY_ST_i64)
#define FY_BINARY_LOOP_u8(name, EXPR)     FY_BINARY_PLAIN(u8, name, EXPR, fy_t_u8, FY_ST_u8)
#define FY_BINARY_LOOP_u16(name, EXPR)    FY_BINARY_PLAIN(u16, name, EXPR, fy_t_u16, FY_ST_u16)
#define FY_BINARY_LOOP_u32(name, EXPR)    FY_BINARY_PLAIN(u32, name, EXPR, fy_t_u32, FY_ST_u32)
#define FY_BINARY_LOOP_u64(name, EXPR)    FY_BINARY_PLAIN(u64, name, EXPR, fy_t_u64, FY_ST_u64)
#define FY_BINARY_LOOP_b(name, EXPR)      FY_BINARY_PLAIN(b, name, EXPR, fy_t_b, FY_ST_b)
#define FY_COMPARE_LOOP_bf16(name, EXPR)  FY_BINARY_PLAIN(bf16, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_f32(name, EXPR)   FY_BINARY_PLAIN(f32, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_f64(name, EXPR)   FY_BINARY_PLAIN(f64, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_c64(name, EXPR)   FY_BINARY_PLAIN(c64, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_c128(name, EXPR)  FY_BINARY_PLAIN(c128, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_i8(name, EXPR)    FY_BINARY_PLAIN(i8, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_i16(name, EXPR)   FY_BINARY_PLAIN(i16, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_i32(name, EXPR)   FY_BINARY_PLAIN(i32, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_i64(name, EXPR)   FY_BINARY_PLAIN(i64, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_u8(name, EXPR)    FY_BINARY_PLAIN(u8, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_u16(name, EXPR)   FY_BINARY_PLAIN(u16, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_u32(name, EXPR)   FY_BINARY_PLAIN(u32, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_u64(name, EXPR)   FY_BINARY_PLAIN(u64, name, EXPR, bool, FY_ST_b)
#define FY_COMPARE_LOOP_b(name, EXPR)     FY_BINARY_PLAIN(b, name, EXPR, bool, FY_ST_b)
#define FY_BINARY_LOOP(E, S, name, EXPR)  FY_BINARY_LOOP_##S(name, EXPR)
#define FY_COMPARE_LOOP(E, S, name, EXPR) FY_COMPARE_LOOP_##S(name, EXPR)

#define FY_UNARY_PLAIN(S, name, EXPR, OUT, STORE) \
  FY_CLONE_##S FY_UNARY_BODY(S, name, EXPR, OUT, STORE)
#define FY_UNARY_CLONED(S, name, EXPR, OUT, STORE) \
  FY_CLONES FY_UNARY_BODY(S, name, EXPR, OUT, STORE)
#define FY_UNARY_BODY(S, name, EXPR, OUT, STORE)                                   \
  static void name##_##S(const void *pi, void *po, int64_t n, const void *param) { \
    const fy_t_##S *in = pi;                                                       \
    OUT *o = po;                                                                   \
    (void)param;                                                                   \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                    \
      const fy_a_##S x = FY_LD_##S(in[i]);                                         \
      o[i] = STORE(EXPR(S, x));                                                    \
    }                                                                              \
  }
#define FY_UNARY_HALF(name, EXPR, OUT, TO, PUT)                                                  \
  FY_CLONES static void name##_chunk_f16(const float *in, TO *o, int64_t n, const void *param) { \
    (void)param;                                                                                 \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                                  \
      const float x = in[i];                                                                     \
      o[i] = (TO)(EXPR(f16, x));                                                                 \
    }                                                                                            \
  }                                                                                              \
  static void name##_f16(const void *pi, void *po, int64_t n, const void *param) {               \
    const uint16_t *in = pi;                                                                     \
    OUT *o = po;                                                                                 \
    float x[FY_CHUNK];                                                                           \
    TO z[FY_CHUNK];                                                                              \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                               \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                                   \
      fy_halves_to_floats(in + at, x, m);                                                        \
      name##_chunk_f16(x, z, m, param);                                                          \
      PUT(z, o + at, m);                                                                         \
    }                                                                                            \
  }
#define FY_UNARY_LOOP_f16(name, EXPR) \
  FY_UNARY_HALF(name, EXPR, uint16_t, float, fy_floats_to_halves)
#define FY_TEST_LOOP_f16(name, EXPR)    FY_UNARY_HALF(name, EXPR, bool, bool, fy_put_bools)
#define FY_UNARY_LOOP_bf16(name, EXPR)  FY_UNARY_PLAIN(bf16, name, EXPR, fy_t_bf16, FY_ST_bf16)
#define FY_UNARY_LOOP_f32(name, EXPR)   FY_UNARY_PLAIN(f32, name, EXPR, fy_t_f32, FY_ST_f32)
#define FY_UNARY_LOOP_f64(name, EXPR)   FY_UNARY_PLAIN(f64, name, EXPR, fy_t_f64, FY_ST_f64)
#define FY_UNARY_LOOP_c64(name, EXPR)   FY_UNARY_PLAIN(c64, name, EXPR, fy_t_c64, FY_ST_c64)
#define FY_UNARY_LOOP_c128(name, EXPR)  FY_UNARY_PLAIN(c128, name, EXPR, fy_t_c128, FY_ST_c128)
#define FY_UNARY_LOOP_i8(name, EXPR)    FY_UNARY_PLAIN(i8, name, EXPR, fy_t_i8, FY_ST_i8)
#define FY_UNARY_LOOP_i16(name, EXPR)   FY_UNARY_PLAIN(i16, name, EXPR, fy_t_i16, FY_ST_i16)
#define FY_UNARY_LOOP_i32(name, EXPR)   FY_UNARY_PLAIN(i32, name, EXPR, fy_t_i32, FY_ST_i32)
#define FY_UNARY_LOOP_i64(name, EXPR)   FY_UNARY_PLAIN(i64, name, EXPR, fy_t_i64, FY_ST_i64)
#define FY_UNARY_LOOP_u8(name, EXPR)    FY_UNARY_PLAIN(u8, name, EXPR, fy_t_u8, FY_ST_u8)
#define FY_UNARY_LOOP_u16(name, EXPR)   FY_UNARY_PLAIN(u16, name, EXPR, fy_t_u16, FY_ST_u16)
#define FY_UNARY_LOOP_u32(name, EXPR)   FY_UNARY_PLAIN(u32, name, EXPR, fy_t_u32, FY_ST_u32)
#define FY_UNARY_LOOP_u64(name, EXPR)   FY_UNARY_PLAIN(u64, name, EXPR, fy_t_u64, FY_ST_u64)
#define FY_UNARY_LOOP_b(name, EXPR)     FY_UNARY_PLAIN(b, name, EXPR, fy_t_b, FY_ST_b)
#define FY_TEST_LOOP_bf16(name, EXPR)   FY_UNARY_PLAIN(bf16, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_f32(name, EXPR)    FY_UNARY_PLAIN(f32, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_f64(name, EXPR)    FY_UNARY_PLAIN(f64, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_c64(name, EXPR)    FY_UNARY_PLAIN(c64, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_c128(name, EXPR)   FY_UNARY_PLAIN(c128, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_i8(name, EXPR)     FY_UNARY_PLAIN(i8, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_i16(name, EXPR)    FY_UNARY_PLAIN(i16, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_i32(name, EXPR)    FY_UNARY_PLAIN(i32, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_i64(name, EXPR)    FY_UNARY_PLAIN(i64, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_u8(name, EXPR)     FY_UNARY_PLAIN(u8, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_u16(name, EXPR)    FY_UNARY_PLAIN(u16, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_u32(name, EXPR)    FY_UNARY_PLAIN(u32, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_u64(name, EXPR)    FY_UNARY_PLAIN(u64, name, EXPR, bool, FY_ST_b)
#define FY_TEST_LOOP_b(name, EXPR)      FY_UNARY_PLAIN(b, name, EXPR, bool, FY_ST_b)
#define FY_UNARY_LOOP(E, S, name, EXPR) FY_UNARY_LOOP_##S(name, EXPR)
#define FY_TEST_LOOP(E, S, name, EXPR)  FY_TEST_LOOP_##S(name, EXPR)
// Loops that write another type than they read.
#define FY_UNARY_LOOP_TO(E, S, name, EXPR, OUT, STORE) FY_UNARY_PLAIN(S, name, EXPR, OUT, STORE)

#endif

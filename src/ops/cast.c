// SPDX-License-Identifier: Apache-2.0
// cast.c: Cast between all numeric types and bool; Bitcast.
// A number that does not fit becomes what x86's conversion gives TensorFlow: the smallest integer
// (then cut to the width asked for), never undefined behaviour. To 8 and 16 bits TensorFlow's vectors
// do not cut but give the nearest number, and only what does not fill a vector is cut: so it is here
// (TensorFlow's threads may leave such rests in the middle, too). 16-bit floats go through float.
// Truncate clears the bits that rounding would look at. float8 and 4-bit integers, one to a byte, go
// through float and int8; TensorFlow casts them to and from some types only.

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "tensor/elements.h"

static inline int32_t real_to_i32(double x) {
  return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}
static inline int32_t float_to_i32(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
}
static inline int64_t real_to_i64(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}
// An unsigned number is made of the signed conversions of x and of x less half the range: the
// second counts when the first came out negative.
static inline uint32_t real_to_u32(double x) {
  const uint32_t low = (uint32_t)real_to_i32(x), high = (uint32_t)real_to_i32(x - 2147483648.0);
  return low | (low >> 31 ? high : 0);
}
static inline uint64_t real_to_u64(double x) {
  const uint64_t low = (uint64_t)real_to_i64(x);
  const uint64_t high = (uint64_t)real_to_i64(x - 9223372036854775808.0);
  return low | (low >> 63 ? high : 0);
}

// From a source's arithmetic value x: first the number (complex numbers give their real part) …
#define NUM_f16(x)  (x)
#define NUM_bf16(x) (x)
#define NUM_f32(x)  (x)
#define NUM_f64(x)  (x)
#define NUM_c64(x)  crealf(x)
#define NUM_c128(x) creal(x)
#define TO_I32(x)   _Generic((x), float : float_to_i32, default : real_to_i32)(x)
// … then the target. REAL: the source is a float of some kind; INT: an integer or bool.
#define REAL_TO_i8(x)   ((int8_t)TO_I32(x))
#define REAL_TO_i16(x)  ((int16_t)TO_I32(x))
#define REAL_TO_i32(x)  TO_I32(x)
#define REAL_TO_i64(x)  real_to_i64((double)(x))
#define REAL_TO_u8(x)   ((uint8_t)TO_I32(x))
#define REAL_TO_u16(x)  ((uint16_t)TO_I32(x))
#define REAL_TO_u32(x)  real_to_u32((double)(x))
#define REAL_TO_u64(x)  real_to_u64((double)(x))
#define REAL_TO_b(x)    ((x) != 0)
#define REAL_TO_f16(x)  fy_st_half((float)(x))
#define REAL_TO_bf16(x) fy_float_to_bfloat16((float)(x))
#define REAL_TO_f32(x)  ((float)(x))
#define REAL_TO_f64(x)  ((double)(x))
#define REAL_TO_c64(x)  __builtin_complex((float)(x), 0.0f)
#define REAL_TO_c128(x) __builtin_complex((double)(x), 0.0)
#define INT_TO_i8(x)    ((int8_t)(x))
#define INT_TO_i16(x)   ((int16_t)(x))
#define INT_TO_i32(x)   ((int32_t)(x))
#define INT_TO_i64(x)   ((int64_t)(x))
#define INT_TO_u8(x)    ((uint8_t)(x))
#define INT_TO_u16(x)   ((uint16_t)(x))
#define INT_TO_u32(x)   ((uint32_t)(x))
#define INT_TO_u64(x)   ((uint64_t)(x))
#define INT_TO_b(x)     ((x) != 0)
#define INT_TO_f16(x)   fy_st_half((float)(x))
#define INT_TO_bf16(x)  fy_float_to_bfloat16((float)(x))
#define INT_TO_f32(x)   ((float)(x))
#define INT_TO_f64(x)   ((double)(x))
#define INT_TO_c64(x)   __builtin_complex((float)(x), 0.0f)
#define INT_TO_c128(x)  __builtin_complex((double)(x), 0.0)

typedef void (*cast_fn)(const void *in, void *out, int64_t n);
typedef struct cast_row {
  cast_fn to[FY_DTYPE_COUNT];
} cast_row;

// Clones where they pay: from the small types and to and from float.
#define CAST_CLONE_f16
#define CAST_CLONE_bf16 FY_CLONES
#define CAST_CLONE_f32  FY_CLONES
#define CAST_CLONE_f64
#define CAST_CLONE_c64
#define CAST_CLONE_c128
#define CAST_CLONE_i8
#define CAST_CLONE_i16
#define CAST_CLONE_i32 FY_CLONES
#define CAST_CLONE_i64
#define CAST_CLONE_u8 FY_CLONES
#define CAST_CLONE_u16
#define CAST_CLONE_u32
#define CAST_CLONE_u64
#define CAST_CLONE_b FY_CLONES
#define CAST_LOOP(D, name, S, VALUE)                                     \
  CAST_CLONE_##S static void name(const void *pi, void *po, int64_t n) { \
    const fy_t_##S *restrict in = pi;                                    \
    fy_t_##D *restrict out = po;                                         \
    for (int64_t i = 0; i < n; i++) {                                    \
      const fy_a_##S x = FY_LD_##S(in[i]);                               \
      out[i] = VALUE;                                                    \
    }                                                                    \
  }
#define REAL_CAST(E, D, S)  CAST_LOOP(D, cast_##S##_##D, S, REAL_TO_##D(NUM_##S(x)))
#define INT_CAST(E, D, S)   CAST_LOOP(D, cast_##S##_##D, S, INT_TO_##D(x))
#define CAST_ENTRY(E, D, S) [E] = cast_##S##_##D,
// Written apart from FY_NUMERIC_TYPES because a macro cannot expand inside itself.
// clang-format off
#define REAL_TARGETS(X, S)                                                                     \
  X(FY_HALF, f16, S) X(FY_BFLOAT16, bf16, S) X(FY_FLOAT, f32, S) X(FY_DOUBLE, f64, S)          \
  X(FY_INT8, i8, S) X(FY_INT16, i16, S) X(FY_INT32, i32, S) X(FY_INT64, i64, S)                \
  X(FY_UINT8, u8, S) X(FY_UINT16, u16, S) X(FY_UINT32, u32, S) X(FY_UINT64, u64, S)            \
  X(FY_BOOL, b, S)
#define TARGETS(X, S) REAL_TARGETS(X, S) X(FY_COMPLEX64, c64, S) X(FY_COMPLEX128, c128, S)
// clang-format on
#define REAL_SOURCE(E, S, _)  TARGETS(REAL_CAST, S)
#define INT_SOURCE(E, S, _)   TARGETS(INT_CAST, S)
#define SOURCE_ENTRY(E, S, _) [E] = {{TARGETS(CAST_ENTRY, S)}},
FY_REAL_TYPES(REAL_SOURCE, _)
FY_INT_TYPES(INT_SOURCE, _)
INT_SOURCE(FY_BOOL, b, _)
// Complex to complex keeps both parts.
REAL_TARGETS(REAL_CAST, c64)
REAL_TARGETS(REAL_CAST, c128)
CAST_LOOP(c64, cast_c64_c64, c64, x)
CAST_LOOP(c128, cast_c64_c128, c64, x)
CAST_LOOP(c64, cast_c128_c64, c128, (fy_t_c64)x)
CAST_LOOP(c128, cast_c128_c128, c128, x)

static const cast_row casts[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(SOURCE_ENTRY, _)
                                                   SOURCE_ENTRY(FY_BOOL, b, _)};

static void half_to_float(const void *in, void *out, int64_t n) {
  fy_halves_to_floats(in, out, n);
}
static void float_to_half(const void *in, void *out, int64_t n) {
  fy_floats_to_halves(in, out, n);
}
// Integers below 2^51 are the low bits of a double between 2^52 and 2^53; it is exact, so that the
// float rounds once. False: some are larger.
FY_CLONES static bool near_to_floats(const int64_t *restrict in, float *restrict out, int64_t n) {
  uint64_t high = 0;
  for (int64_t i = 0; i < n; i++) high |= ((uint64_t)in[i] + ((uint64_t)1 << 51)) >> 52;
  if (high) return false;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t bits = (uint64_t)in[i] + 0x4338000000000000u;  // 1.5 * 2^52
    double d;
    memcpy(&d, &bits, sizeof d);
    out[i] = (float)(d - 0x1.8p52);
  }
  return true;
}
static void i64_to_float(const void *pi, void *po, int64_t n) {
  const int64_t *in = pi;
  float *out = po;
  for (int64_t at = 0; at < n; at += 256) {
    const int64_t end = n - at < 256 ? n : at + 256;
    if (near_to_floats(in + at, out + at, end - at)) continue;
    for (int64_t i = at; i < end; i++) {
      int64_t x = in[i];
      __asm__ volatile("" : "+r"(x));  // one at a time: vectors of them would be slower
      out[i] = (float)x;
    }
  }
}
// Below 2^31 by way of 32 bits, which vectors can do. False: some are larger, or NaN.
FY_CLONES static bool near_to_i64(const float *restrict in, int64_t *restrict out, int64_t n) {
  int32_t far = 0;
  for (int64_t i = 0; i < n; i++) far |= !(fabsf(in[i]) < 2147483648.0f);
  if (far) return false;
  for (int64_t i = 0; i < n; i++) out[i] = (int32_t)in[i];
  return true;
}
static void float_to_i64(const void *pi, void *po, int64_t n) {
  const float *in = pi;
  int64_t *out = po;
  for (int64_t at = 0; at < n; at += 256) {
    const int64_t end = n - at < 256 ? n : at + 256;
    if (!near_to_i64(in + at, out + at, end - at)) cast_f32_i64(in + at, out + at, end - at);
  }
}
// A float less half the range is exact where it counts: it is then at least half the range.
FY_CLONES static void float_to_u32(const void *pi, void *po, int64_t n) {
  const float *restrict in = pi;
  uint32_t *restrict out = po;
  for (int64_t i = 0; i < n; i++) {
    const int32_t low = float_to_i32(in[i]), high = float_to_i32(in[i] - 2147483648.0f);
    out[i] = (uint32_t)(low | (high & low >> 31));
  }
}
// Below 2^31 the number is that of 64 bits with a sign.
static void float_to_u64(const void *pi, void *po, int64_t n) {
  const float *in = pi;
  uint64_t *out = po;
  for (int64_t at = 0; at < n; at += 256) {
    const int64_t end = n - at < 256 ? n : at + 256;
    if (!near_to_i64(in + at, (int64_t *)(void *)(out + at), end - at))
      cast_f32_u64(in + at, out + at, end - at);
  }
}
FY_CLONES static void half_to_bool(const void *pi, void *po, int64_t n) {
  const uint16_t *restrict in = pi;
  uint8_t *restrict out = po;
  for (int64_t i = 0; i < n; i++) out[i] = (in[i] & 0x7FFF) != 0;
}
#define BOOL_TO(name, one)                                                  \
  FY_CLONES static void name(const void *pi, void *po, int64_t n) {         \
    const uint8_t *restrict in = pi;                                        \
    uint16_t *restrict out = po;                                            \
    for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)(in[i] ? (one) : 0); \
  }
BOOL_TO(bool_to_half, 0x3C00)
BOOL_TO(bool_to_bfloat16, 0x3F80)
// Bytes have no more digits than a bfloat16.
#define BYTE_TO_BFLOAT16(name, T)                                                           \
  FY_CLONES static void name(const void *pi, void *po, int64_t n) {                         \
    const T *restrict in = pi;                                                              \
    uint16_t *restrict out = po;                                                            \
    for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)(fy_float_bits((float)in[i]) >> 16); \
  }
BYTE_TO_BFLOAT16(i8_to_bfloat16, int8_t)
BYTE_TO_BFLOAT16(u8_to_bfloat16, uint8_t)
// Halves by way of floats, a chunk at a time: machines have instructions for those.
#define FROM_HALF(E, D, _)                                         \
  static void cast_half_##D(const void *pi, void *po, int64_t n) { \
    float x[FY_CHUNK];                                             \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                 \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;     \
      fy_halves_to_floats((const uint16_t *)pi + at, x, m);        \
      CAST_OF_FLOATS_##D(x, (fy_t_##D *)po + at, m);               \
    }                                                              \
  }
#define TO_16(S, name, PUT)                                    \
  static void name(const void *pi, void *po, int64_t n) {      \
    float x[FY_CHUNK];                                         \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {             \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK; \
      CAST_TO_FLOATS_##S((const fy_t_##S *)pi + at, x, m);     \
      PUT(x, (uint16_t *)po + at, m);                          \
    }                                                          \
  }
#define TO_HALF(E, S, _)     TO_16(S, cast_##S##_half, fy_floats_to_halves)
#define TO_BFLOAT16(E, S, _) TO_16(S, cast_##S##_brain, cast_f32_bf16)
#define CAST_OF_FLOATS_bf16  cast_f32_bf16
#define CAST_OF_FLOATS_f64   cast_f32_f64
#define CAST_OF_FLOATS_i8    cast_f32_i8
#define CAST_OF_FLOATS_i16   cast_f32_i16
#define CAST_OF_FLOATS_i32   cast_f32_i32
#define CAST_OF_FLOATS_i64   float_to_i64
#define CAST_OF_FLOATS_u8    cast_f32_u8
#define CAST_OF_FLOATS_u16   cast_f32_u16
#define CAST_OF_FLOATS_u32   float_to_u32
#define CAST_OF_FLOATS_u64   float_to_u64
#define CAST_TO_FLOATS_bf16  cast_bf16_f32
#define CAST_TO_FLOATS_f64   cast_f64_f32
#define CAST_TO_FLOATS_i8    cast_i8_f32
#define CAST_TO_FLOATS_i16   cast_i16_f32
#define CAST_TO_FLOATS_i32   cast_i32_f32
#define CAST_TO_FLOATS_i64   i64_to_float
#define CAST_TO_FLOATS_u8    cast_u8_f32
#define CAST_TO_FLOATS_u16   cast_u16_f32
#define CAST_TO_FLOATS_u32   cast_u32_f32
#define CAST_TO_FLOATS_u64   cast_u64_f32
#define HALF_PARTNERS(X)     X(FY_BFLOAT16, bf16, _) X(FY_DOUBLE, f64, _) FY_INT_TYPES(X, _)
HALF_PARTNERS(FROM_HALF)
HALF_PARTNERS(TO_HALF)
#define LONGER_INTS(X) \
  X(FY_INT16, i16, _)  \
  X(FY_INT32, i32, _)  \
  X(FY_INT64, i64, _) X(FY_UINT16, u16, _) X(FY_UINT32, u32, _) X(FY_UINT64, u64, _)
LONGER_INTS(TO_BFLOAT16)
#define FROM_HALF_ENTRY(E, D, _) [E] = cast_half_##D,
#define TO_HALF_ENTRY(E, S, _)   [E] = cast_##S##_half,
static const cast_fn from_half[FY_DTYPE_COUNT] = {HALF_PARTNERS(FROM_HALF_ENTRY)};
static const cast_fn to_half[FY_DTYPE_COUNT] = {HALF_PARTNERS(TO_HALF_ENTRY)};
#define TO_BFLOAT16_ENTRY(E, S, _) [E] = cast_##S##_brain,
static const cast_fn to_bfloat16[FY_DTYPE_COUNT] = {LONGER_INTS(TO_BFLOAT16_ENTRY)};

static cast_fn cast_between(fy_dtype from, fy_dtype to) {
  if (from == FY_HALF && to == FY_FLOAT) return half_to_float;
  if (from == FY_FLOAT && to == FY_HALF) return float_to_half;
  if (from == FY_INT64 && to == FY_FLOAT) return i64_to_float;
  if (from == FY_FLOAT && to == FY_INT64) return float_to_i64;
  if (from == FY_FLOAT && to == FY_UINT32) return float_to_u32;
  if (from == FY_FLOAT && to == FY_UINT64) return float_to_u64;
  if (from == FY_HALF && to == FY_BOOL) return half_to_bool;
  if (from == FY_BOOL && to == FY_HALF) return bool_to_half;
  if (from == FY_BOOL && to == FY_BFLOAT16) return bool_to_bfloat16;
  if (from == FY_INT8 && to == FY_BFLOAT16) return i8_to_bfloat16;
  if (from == FY_UINT8 && to == FY_BFLOAT16) return u8_to_bfloat16;
  if (from == FY_BOOL) from = FY_UINT8;  // bytes of 0 and 1, which the compiler vectorises
  if (from == FY_HALF && from_half[to]) return from_half[to];
  if (to == FY_HALF && to_half[from]) return to_half[from];
  if (to == FY_BFLOAT16 && to_bfloat16[from]) return to_bfloat16[from];
  return casts[from].to[to];
}

static int mantissa_bits(fy_dtype t) {
  switch (t) {
    case FY_DOUBLE: return 52;
    case FY_FLOAT: return 23;
    case FY_HALF: return 10;
    case FY_BFLOAT16: return 7;
    case FY_FLOAT8_E4M3FN: return 3;
    case FY_FLOAT8_E5M2: return 2;
    default: return 0;
  }
}

// ---------------------------------------------------------------- float8, int4
static bool is_float8(fy_dtype t) {
  return t >= FY_FLOAT8_E5M2 && t <= FY_FLOAT8_E5M2FNUZ;
}
static bool is_int4(fy_dtype t) {
  return t == FY_INT4 || t == FY_UINT4;
}

// The nearest e5m2 or e4m3fn number, ties to even; what is too large is infinite, or NaN in the
// format that has no infinity.
static uint8_t to_float8(fy_dtype t, double x) {
  const int bits = t == FY_FLOAT8_E5M2 ? 2 : 3, bias = t == FY_FLOAT8_E5M2 ? 15 : 7;
  const int limit = t == FY_FLOAT8_E5M2 ? 0x7C : 0x7F;
  const uint8_t sign = signbit(x) ? 0x80 : 0;
  if (isnan(x)) return (uint8_t)(sign | (t == FY_FLOAT8_E5M2 ? 0x7E : 0x7F));
  if (isinf(x)) return (uint8_t)(sign | limit);
  if (x == 0) return sign;
  int exponent;
  (void)frexp(fabs(x), &exponent);
  exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
  // In units of the last place; a carry into the exponent comes out right by itself.
  const double units = rint(ldexp(fabs(x), bits - exponent));
  const double code = units + ldexp((double)(exponent + bias - 1), bits);
  return (uint8_t)(sign | (code >= limit ? limit : (int)code));
}

// Whether TensorFlow casts between these two, one of which is small.
static bool small_cast_exists(fy_dtype from, fy_dtype to) {
  const bool narrow =
      (!is_float8(from) || from <= FY_FLOAT8_E4M3FN) && (!is_float8(to) || to <= FY_FLOAT8_E4M3FN);
  if (is_float8(from)) return narrow && (is_float8(to) || casts[FY_FLOAT].to[to]);
  if (is_float8(to)) return narrow && mantissa_bits(from);
  const bool int_from = is_int4(from) || fy_dtype_is_integer(from);
  return int_from && (is_int4(to) || fy_dtype_is_integer(to));
}

// The number in the lower half of a byte, as a byte.
static uint8_t four_bits(fy_dtype t, uint8_t code) {
  const uint8_t low = code & 15;
  return t == FY_INT4 && low > 7 ? (uint8_t)(low | 0xF0) : low;
}

#define SMALL_CHUNK 256
// Takes away what |to| has no digits for, in place: TensorFlow then rounds what is left.
static void clear_digits(uint8_t *numbers, size_t size, int64_t n, int digits) {
  for (int64_t i = 0; i < n; i++, numbers += size) {
    uint64_t bits = 0;
    memcpy(&bits, numbers, size);
    if (size == 1 && (bits & 0x7F) == 0x7F) continue;  // e4m3fn's NaN is all ones
    bits &= ~0ull << digits;
    memcpy(numbers, &bits, size);
  }
}

// |cut|: digits of |from| that go first.
static void small_cast(fy_dtype from, fy_dtype to, int cut, const char *in, char *out,
                       int64_t count) {
  const size_t size_in = fy_dtype_storage(from), size_out = fy_dtype_storage(to);
  for (int64_t at = 0; at < count; at += SMALL_CHUNK) {
    const int64_t n = count - at < SMALL_CHUNK ? count - at : SMALL_CHUNK;
    const uint8_t *codes = (const uint8_t *)in + (size_t)at * size_in;
    uint8_t *to_codes = (uint8_t *)out + (size_t)at * size_out;
    float values[SMALL_CHUNK];
    double wide[SMALL_CHUNK];
    uint8_t own[SMALL_CHUNK * sizeof(double)];
    if (cut || is_int4(from)) codes = memcpy(own, codes, (size_t)n * size_in);
    if (cut) clear_digits(own, size_in, n, cut);
    for (int64_t i = 0; is_int4(from) && i < n; i++) own[i] = four_bits(from, own[i]);
    if (is_int4(from) || is_int4(to)) {
      const fy_dtype a = from == FY_INT4 ? FY_INT8 : from == FY_UINT4 ? FY_UINT8 : from;
      const fy_dtype b = to == FY_INT4 ? FY_INT8 : to == FY_UINT4 ? FY_UINT8 : to;
      casts[a].to[b](codes, to_codes, n);
      for (int64_t i = 0; is_int4(to) && i < n; i++) to_codes[i] = four_bits(to, to_codes[i]);
      continue;
    }
    if (is_float8(from)) {
      for (int64_t i = 0; i < n; i++) values[i] = fy_float8_to_float(from, codes[i]);
      if (!is_float8(to)) {
        casts[FY_FLOAT].to[to](values, to_codes, n);
        continue;
      }
      casts[FY_FLOAT].to[FY_DOUBLE](values, wide, n);
    } else {
      casts[from].to[FY_DOUBLE](codes, wide, n);
    }
    for (int64_t i = 0; i < n; i++) to_codes[i] = to_float8(to, wide[i]);
  }
}

// ---------------------------------------------------------------- numbers that do not fit
static inline int32_t within(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}
#define NEAREST(name, T, VALUE)                                                        \
  FY_CLONES static void name(const int32_t *restrict in, T *restrict out, int64_t n) { \
    for (int64_t i = 0; i < n; i++) out[i] = (T)(VALUE);                               \
  }
NEAREST(nearest_i8, int8_t, within(in[i], INT8_MIN, INT8_MAX))
NEAREST(nearest_u8, uint8_t, within(in[i], 0, UINT8_MAX))
// From double and half on the way through unsigned 16 bits, which are then read as signed.
NEAREST(nearest_u8_of_wide, uint8_t, in[i] > INT16_MAX ? 0 : within(in[i], 0, UINT8_MAX))
NEAREST(nearest_i16, int16_t, within(in[i], INT16_MIN, INT16_MAX))
NEAREST(nearest_u16, uint16_t, within(in[i], 0, UINT16_MAX))
static void nearest(fy_dtype to, bool wide, const int32_t *in, void *out, int64_t n) {
  switch (to) {
    case FY_INT8: nearest_i8(in, out, n); break;
    case FY_INT16: nearest_i16(in, out, n); break;
    case FY_UINT16: nearest_u16(in, out, n); break;
    default: (wide ? nearest_u8_of_wide : nearest_u8)(in, out, n);
  }
}

// How many elements fill a vector of TensorFlow's, where that decides what a cast does. To uint32
// vectors do as real_to_u32 and the rest goes by way of int64. 0: there are no vectors; 1: all alike.
static int64_t vector_of(fy_dtype from, fy_dtype to) {
  const bool narrow = to == FY_INT8 || to == FY_UINT8 || to == FY_INT16 || to == FY_UINT16;
  if (to == FY_UINT32 && from == FY_COMPLEX128) return 0;
  if (to == FY_UINT32) return mantissa_bits(from) || from == FY_COMPLEX64 ? 8 : 1;
  if (!narrow) return 1;
  switch (from) {
    case FY_FLOAT: return 32;
    case FY_DOUBLE:
    case FY_HALF:
    case FY_COMPLEX128: return 16;
    case FY_BFLOAT16: return 8;
    default: return 1;
  }
}

// Floats, or bfloat16s, to 8 and 16 bits in one pass, by the instructions that TensorFlow's vectors are made of.
// Returns how many it did.
#ifdef __SSE2__
static inline __attribute__((always_inline)) int64_t pack(const void *in, bool brains, void *out,
                                                          int64_t n, fy_dtype to, bool wide) {
  const __m128i none = _mm_setzero_si128(), half = _mm_set1_epi32(INT16_MAX + 1);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i v[4];
    FY_UNROLL for (int k = 0; k < 2 && brains; k++) {
      const __m128i x = _mm_loadu_si128((const void *)((const uint16_t *)in + i + 8 * k));
      v[2 * k] = _mm_cvttps_epi32(_mm_castsi128_ps(_mm_unpacklo_epi16(none, x)));
      v[2 * k + 1] = _mm_cvttps_epi32(_mm_castsi128_ps(_mm_unpackhi_epi16(none, x)));
    }
    FY_UNROLL for (int k = 0; k < 4; k++) {
      if (!brains) v[k] = _mm_cvttps_epi32(_mm_loadu_ps((const float *)in + i + 4 * k));
      if (to == FY_UINT8 && wide) v[k] = _mm_and_si128(v[k], _mm_cmplt_epi32(v[k], half));
      if (to == FY_UINT16)
        v[k] = _mm_sub_epi32(_mm_andnot_si128(_mm_srai_epi32(v[k], 31), v[k]), half);
    }
    v[0] = _mm_packs_epi32(v[0], v[1]), v[2] = _mm_packs_epi32(v[2], v[3]);
    if (to == FY_INT8 || to == FY_UINT8) {
      v[0] = to == FY_INT8 ? _mm_packs_epi16(v[0], v[2]) : _mm_packus_epi16(v[0], v[2]);
      _mm_storeu_si128((__m128i *)(void *)((char *)out + i), v[0]);
      continue;
    }
    const __m128i flip = to == FY_UINT16 ? _mm_set1_epi16(INT16_MIN) : none;
    _mm_storeu_si128((__m128i *)(void *)((uint16_t *)out + i), _mm_xor_si128(v[0], flip));
    _mm_storeu_si128((__m128i *)(void *)((uint16_t *)out + i + 8), _mm_xor_si128(v[2], flip));
  }
  return i;
}
static int64_t packed(const void *in, bool brains, void *out, int64_t n, fy_dtype to, bool wide) {
#define PACK(type, wide) \
  return brains ? pack(in, true, out, n, type, false) : pack(in, false, out, n, type, wide)
  switch (to) {
    case FY_INT8: PACK(FY_INT8, false);
    case FY_INT16: PACK(FY_INT16, false);
    case FY_UINT16: PACK(FY_UINT16, false);
    default:
      if (wide) return pack(in, false, out, n, FY_UINT8, true);
      PACK(FY_UINT8, false);
  }
#undef PACK
}
#else
static int64_t packed(const void *in, bool brains, void *out, int64_t n, fy_dtype to, bool wide) {
  (void)in, (void)brains, (void)out, (void)n, (void)to, (void)wide;
  return 0;
}
#endif

#define CHUNK 256
static void cast_nearest(fy_dtype from, fy_dtype to, const char *in, char *out, int64_t n) {
  const size_t size_in = fy_dtype_storage(from), size_out = fy_dtype_storage(to);
  const bool brains = from == FY_BFLOAT16, wide = from != FY_FLOAT && !brains;
  int32_t whole[CHUNK];
  float floats[CHUNK];
  int64_t at = brains || from == FY_FLOAT ? packed(in, brains, out, n, to, false) : 0;
  for (; at < n; at += CHUNK) {
    const int64_t m = n - at < CHUNK ? n - at : CHUNK;
    const char *from_here = in + (size_t)at * size_in;
    char *to_here = out + (size_t)at * size_out;
    int64_t done = 0;
    if (from == FY_DOUBLE || from == FY_COMPLEX128) {
      casts[from].to[FY_INT32](from_here, whole, m);
    } else {
      if (from == FY_FLOAT)
        memcpy(floats, from_here, (size_t)m * sizeof *floats);
      else
        cast_between(from, FY_FLOAT)(from_here, floats, m);
      done = packed(floats, false, to_here, m, to, wide);
      cast_f32_i32(floats + done, whole, m - done);
    }
    nearest(to, wide, whole, to_here + (size_t)done * size_out, m - done);
  }
}

// ---------------------------------------------------------------- kernel
typedef struct cast_job {
  cast_fn fn;
  const char *in;
  char *out;
  size_t size_in, size_out;
  fy_dtype from, to;
  int64_t in_vectors;  // that fill TensorFlow's vectors; -1 if that makes no difference
  int clear_bits;      // of the mantissa of floats and doubles, also of complex ones'
} cast_job;

// The part [begin, end) of what stays within vectors, and of the rest.
static void cast_odd_range(const cast_job *j, int64_t begin, int64_t end) {
  const int64_t middle = end < j->in_vectors ? end : begin > j->in_vectors ? begin : j->in_vectors;
  const char *in = j->in + (size_t)begin * j->size_in, *rest = j->in + (size_t)middle * j->size_in;
  char *out = j->out + (size_t)begin * j->size_out,
       *rest_out = j->out + (size_t)middle * j->size_out;
  if (j->to != FY_UINT32) {
    cast_nearest(j->from, j->to, in, out, middle - begin);
    j->fn(rest, rest_out, end - middle);
    return;
  }
  j->fn(in, out, middle - begin);
  int64_t wide[8];
  for (int64_t i = middle; i < end; i += 8, rest += 8 * j->size_in, rest_out += 8 * j->size_out) {
    const int64_t n = end - i < 8 ? end - i : 8;
    casts[j->from].to[FY_INT64](rest, wide, n);
    casts[FY_INT64].to[FY_UINT32](wide, rest_out, n);
  }
}

static void cast_range(void *arg, int64_t begin, int64_t end) {
  const cast_job *j = arg;
  if (j->in_vectors >= 0) {
    cast_odd_range(j, begin, end);
    return;
  }
  const char *in = j->in + (size_t)begin * j->size_in;
  char *out = j->out + (size_t)begin * j->size_out;
  if (!j->clear_bits) {
    j->fn(in, out, end - begin);
    return;
  }
  uint64_t chunk[CHUNK];
  const bool pair = fy_dtype_is_complex(j->from), wide = j->size_in == (pair ? 16 : 8);
  const int64_t step = pair ? CHUNK / 2 : CHUNK;
  for (int64_t i = begin; i < end; i += step) {
    const int64_t n = end - i < step ? end - i : step, parts = pair ? 2 * n : n;
    memcpy(chunk, in, (size_t)n * j->size_in);
    uint32_t *narrow = (uint32_t *)(void *)chunk;
    for (int64_t k = 0; k < parts; k++) {
      if (wide)
        chunk[k] &= ~0ull << j->clear_bits;
      else
        narrow[k] &= ~0u << j->clear_bits;
    }
    j->fn(chunk, out, n);
    in += (size_t)n * j->size_in;
    out += (size_t)n * j->size_out;
  }
}

// Quantized types are cast as the integers they are stored in.
static fy_dtype plain_integer(fy_dtype t) {
  switch (t) {
    case FY_QINT8: return FY_INT8;
    case FY_QUINT8: return FY_UINT8;
    case FY_QINT16: return FY_INT16;
    case FY_QUINT16: return FY_UINT16;
    case FY_QINT32: return FY_INT32;
    default: return t;
  }
}

static fy_dtype part_of(fy_dtype t) {
  return t == FY_COMPLEX64 ? FY_FLOAT : t == FY_COMPLEX128 ? FY_DOUBLE : t;
}

// What Truncate takes from the mantissa of floats and doubles, also of the parts of complex numbers.
static int bits_to_clear(fy_dtype from, fy_dtype to) {
  const int have = mantissa_bits(part_of(from)), want = mantissa_bits(part_of(to));
  // TensorFlow takes a complex number for one without digits: the lowest bit of the exponent goes, too.
  if (from == FY_DOUBLE && to == FY_COMPLEX64) return have + 1;
  if (part_of(from) != FY_FLOAT && part_of(from) != FY_DOUBLE) return 0;
  if (from != FY_FLOAT && to == FY_BFLOAT16) return 0;
  return want && want < have ? have - want : 0;
}

static fy_code cast(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_dtype to = ctx->site->out_types[0];
  fy_tensor *out;
  const bool same = in->dtype == to;
  if (same) return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
  const cast_fn fn = cast_between(plain_integer(in->dtype), plain_integer(to));
  const bool small = is_float8(in->dtype) || is_float8(to) || is_int4(in->dtype) || is_int4(to);
  if (small && small_cast_exists(in->dtype, to)) {
    const int have = mantissa_bits(in->dtype), want = mantissa_bits(to);
    const bool cut = is_float8(to) && want < have && fy_site_bool(ctx->site, "Truncate");
    FY_TRY(fy_out_like(ctx, 0, in, &out, err));
    small_cast(in->dtype, to, cut ? have - want : 0, in->data, out->data, in->count);
    return FY_OK;
  }
  if (!fn) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Cast %s to %s is not supported",
                   fy_dtype_name(in->dtype), fy_dtype_name(to));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  cast_job job = {
      fn, in->data, out->data, fy_dtype_storage(in->dtype), fy_dtype_storage(to), in->dtype,
      to, -1,       0};
  const int64_t vector = vector_of(in->dtype, to);
  if (vector != 1) job.in_vectors = vector ? out->count - out->count % vector : 0;
  if (fy_site_bool(ctx->site, "Truncate")) job.clear_bits = bits_to_clear(in->dtype, to);
  if (out->count) fy_parallel(ctx, out->count, 0.6, cast_range, &job);
  return FY_OK;
}

// Integers that count or index stay known when they change their width.
static fy_code cast_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_dtype from = ctx->in_types[0], to = ctx->out_types[0];
  const bool index = (from == FY_INT32 || from == FY_INT64) && (to == FY_INT32 || to == FY_INT64);
  if (!index) return fy_shape_unchanged(ctx, err);
  return fy_shape_identity(ctx, err);
}

// ---------------------------------------------------------------- Bitcast
static fy_code bitcast_dims(int32_t rank, const int64_t *dims, fy_dtype from, fy_dtype to,
                            int32_t *out_rank, int64_t *out) {
  const size_t a = fy_dtype_size(from), b = fy_dtype_size(to);
  for (int32_t i = 0; i < rank; i++) out[i] = dims[i];
  *out_rank = rank;
  if (a == b) return FY_OK;
  if (a > b) {
    if (b == 0 || rank >= FY_MAX_RANK) return FY_INVALID_ARGUMENT;
    out[(*out_rank)++] = (int64_t)(a / b);
    return FY_OK;
  }
  const int64_t last = rank > 0 ? dims[rank - 1] : 0;
  if (a == 0 || rank == 0 || (last >= 0 && last != (int64_t)(b / a))) return FY_INVALID_ARGUMENT;
  (*out_rank)--;
  return FY_OK;
}

static fy_code bitcast(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_dtype to = ctx->site->out_types[0];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  if (bitcast_dims(in->rank, in->dims, in->dtype, to, &rank, dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot bitcast from %d to %d", (int)in->dtype,
                   (int)to);
  }
  return fy_out_alias(ctx, 0, 0, rank, dims, err);
}

static fy_code bitcast_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  if (in.rank < 0) return FY_OK;
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  if (in.rank <= FY_MAX_RANK &&
      bitcast_dims(in.rank, in.dims, ctx->in_types[0], ctx->out_types[0], &rank, dims) == FY_OK) {
    return fy_shape_set(ctx, 0, rank, dims, err);
  }
  return fy_fail(
      err, FY_INVALID_ARGUMENT,
      "Cannot bitcast from %d to %d due to shape. %lld does not match %lld", (int)ctx->in_types[0],
      (int)ctx->out_types[0], in.rank > 0 ? (long long)in.dims[in.rank - 1] : 0LL,
      (long long)(fy_dtype_size(ctx->out_types[0]) /
                  (fy_dtype_size(ctx->in_types[0]) ? fy_dtype_size(ctx->in_types[0]) : 1)));
}

static const fy_sample cast_samples[] = {
    {"f32[4]=1.9,-1.9,300,-129", "DstT=int8", FY_OK, "1,-1,44,127"},
    {"f32[8]=special", "DstT=int32", FY_OK, NULL},
    {"f64[8]=special", "DstT=uint64", FY_OK, NULL},
    {"f32[3]=1.99999,-1.99999,3.1415926", "DstT=bfloat16; Truncate=true", FY_OK,
     "1.9921875,-1.9921875,3.140625"},
    {"b[2]=true,false", "DstT=complex64", FY_OK, NULL},
    {"c64[2]=1.5,-2", "DstT=half", FY_OK, NULL},
    {"i64[2]=-1,4294967296", "DstT=uint32", FY_OK, "4294967295,0"},
};
static const fy_sample bitcast_samples[] = {
    {"f32[1]=1", "type=uint8", FY_OK, "0,0,128,63"},
    {"i32[2]=-1,1", "type=uint32", FY_OK, "4294967295,1"},
    {"u8[4]=0,0,128,63", "type=float", FY_OK, "1"},
    {"f32[3]=ones", "type=double", FY_INVALID_ARGUMENT, "Cannot bitcast from 1 to 2"},
};

FY_OP(Cast, .shape = cast_shape, .compute = cast, FY_SAMPLES(cast_samples));
FY_OP(Bitcast, .shape = bitcast_shape, .compute = bitcast, .flags = FY_OP_ALIAS | FY_OP_CHEAP,
      FY_SAMPLES(bitcast_samples));
FY_OP(_HostCast, .shape = cast_shape, .compute = cast, .flags = FY_OP_HOST,
      FY_SAMPLES(cast_samples));

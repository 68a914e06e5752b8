// SPDX-License-Identifier: Apache-2.0
// binary_math.c: arithmetic of two tensors with broadcasting: Add, Sub, Mul, Div …, Pow, bits.
// Integers wrap; an integer division by zero is an error; 16-bit floats round after every step that
// is an operation of its own in TensorFlow.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/turn.h"
#include "ops/vecmath.h"

#define PLUS(S, x, y)       ((x) + (y))
#define MINUS(S, x, y)      ((x) - (y))
#define TIMES(S, x, y)      ((x) * (y))
#define OVER(S, x, y)       ((x) / (y))
#define PLUS_INT(S, x, y)   ((fy_u_##S)(x) + (fy_u_##S)(y))
#define MINUS_INT(S, x, y)  ((fy_u_##S)(x) - (fy_u_##S)(y))
#define TIMES_INT(S, x, y)  ((fy_u_##S)(x) * (fy_u_##S)(y))
#define TIMES_CPLX(S, x, y) fy_cmul_##S(x, y)

FY_VEC_BINARY_16(add, FY_16_ADD)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, add, PLUS)
FY_COMPLEX_TYPES(FY_BINARY_LOOP, add, PLUS)
FY_SIGNED_TYPES(FY_BINARY_LOOP, add, PLUS_INT)
FY_VEC_BINARY_16(sub, FY_16_SUB)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, sub, MINUS)
FY_COMPLEX_TYPES(FY_BINARY_LOOP, sub, MINUS)
FY_SIGNED_TYPES(FY_BINARY_LOOP, sub, MINUS_INT)
FY_VEC_BINARY_16(mul, FY_16_MUL)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, mul, TIMES)
FY_COMPLEX_TYPES(FY_BINARY_LOOP, mul, TIMES_CPLX)
FY_SIGNED_TYPES(FY_BINARY_LOOP, mul, TIMES_INT)

// ---------------------------------------------------------------- division
#define DIV_SIGNED(S, x, y)                    \
  ((y) == 0    ? (*bad = 1, (fy_a_##S)0)       \
   : (y) == -1 ? (fy_a_##S)(0 - (fy_u_##S)(x)) \
               : (fy_a_##S)((x) / (y)))
#define DIV_UNSIGNED(S, x, y) ((y) == 0 ? (*bad = 1, (fy_a_##S)0) : (fy_a_##S)((x) / (y)))
#define FLOOR_DIV_SIGNED(S, x, y)              \
  ((y) == 0    ? (*bad = 1, (fy_a_##S)0)       \
   : (y) == -1 ? (fy_a_##S)(0 - (fy_u_##S)(x)) \
               : (fy_a_##S)((x) / (y) - ((x) % (y) != 0 && ((x) < 0) != ((y) < 0))))
#define MOD_SIGNED(S, x, y) \
  ((y) == 0 ? (*bad = 1, (fy_a_##S)0) : (y) == -1 ? (fy_a_##S)0 : (fy_a_##S)((x) % (y)))
#define MOD_UNSIGNED(S, x, y) ((y) == 0 ? (*bad = 1, (fy_a_##S)0) : (fy_a_##S)((x) % (y)))
#define FLOOR_MOD_SIGNED(S, x, y)        \
  ((y) == 0    ? (*bad = 1, (fy_a_##S)0) \
   : (y) == -1 ? (fy_a_##S)0             \
               : (fy_a_##S)((x) % (y) + (((x) % (y) != 0 && ((x) < 0) != ((y) < 0)) ? (y) : 0)))
#define TRUNC_DIV_REAL(S, x, y) FY_MATH_##S(trunc)(FY_RD_##S((x) / (y)))
#define MOD_REAL(S, x, y)       FY_MATH_##S(fmod)(x, y)
#define FLOOR_MOD_REAL(S, x, y) floor_mod_real_##S(x, y)
#define FLOOR_MOD_FN(E, S, name)                                      \
  static inline fy_a_##S floor_mod_real_##S(fy_a_##S x, fy_a_##S y) { \
    const fy_a_##S m = FY_MATH_##S(fmod)(x, y);                       \
    return m != 0 && (m < 0) != (y < 0) ? m + y : m;                  \
  }
FY_REAL_TYPES(FLOOR_MOD_FN, _)

// How quotients become whole, and whether it is the rest that is asked for.
typedef enum whole_kind { CUT, CUT_REST, FLOOR, FLOOR_REST } whole_kind;
#define IS_FLOOR(how) ((how) >= FLOOR)
#define IS_REST(how)  ((how) % 2 == 1)

// Of 32-bit integers in doubles, four at a time: a quotient that is no integer lies 1 / |y| from the next,
// and is wrong by less than a 2^22nd of that. What overflows wraps.
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef uint32_t uints4 __attribute__((vector_size(16)));
typedef int64_t longs4 __attribute__((vector_size(32)));
typedef uint64_t ulongs4 __attribute__((vector_size(32)));
typedef double doubles4 __attribute__((vector_size(32)));
static inline __attribute__((always_inline)) void whole_4(const ints4 *px, const ints4 *py,
                                                          ints4 *out, whole_kind how) {
  const ints4 x = *px, y = *py - (*py == 0);
  doubles4 q = __builtin_convertvector(x, doubles4) / __builtin_convertvector(y, doubles4);
  const doubles4 least = {-0x1p31, -0x1p31, -0x1p31, -0x1p31};
  const longs4 fits = q < -least;
  q = (doubles4)(((longs4)q & fits) | ((longs4)least & ~fits));
  ints4 cut = __builtin_convertvector(q, ints4);
  ints4 rest = (ints4)((uints4)x - (uints4)cut * (uints4)y);
  if (IS_FLOOR(how)) {
    const ints4 less = (rest != 0) & ((rest ^ y) < 0);
    cut += less;
    rest += y & less;
  }
  *out = IS_REST(how) ? rest : cut;
}
// An operand that does not move is read from four copies of it.
static inline __attribute__((always_inline)) void wholes_i32(const int32_t *a, int64_t sa,
                                                             const int32_t *b, int64_t sb,
                                                             int32_t *o, int64_t n, whole_kind how,
                                                             int *bad) {
  ints4 x = {a[0], a[0], a[0], a[0]}, y = {b[0], b[0], b[0], b[0]}, q, zero = {0};
  const ints4 copies[2] = {x, y};
  const char *from_x = sa ? (const char *)a : (const char *)&copies[0];
  const char *from_y = sb ? (const char *)b : (const char *)&copies[1];
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    memcpy(&x, from_x + i * sa * 4, sizeof x);
    memcpy(&y, from_y + i * sb * 4, sizeof y);
    zero |= y == 0;
    whole_4(&x, &y, &q, how);
    memcpy(o + i, &q, sizeof q);
  }
  if (i < n) {
    for (int64_t k = i; k < n; k++) x[k - i] = a[k * sa], y[k - i] = b[k * sb];
    zero |= y == 0;  // or seen before
    whole_4(&x, &y, &q, how);
    for (int64_t k = i; k < n; k++) o[k] = q[k - i];
  }
  if (zero[0] | zero[1] | zero[2] | zero[3]) *bad = 1;
}
#define LOOP_WHOLE(S, name, HOW, CLONES)                                                       \
  CLONES static void name##_##S(const void *a, int64_t sa, const void *b, int64_t sb, void *o, \
                                int64_t n, int *bad) {                                         \
    wholes_##S(a, sa, b, sb, o, n, HOW, bad);                                                  \
  }
#define LOOPS_UNSIGNED(S, CLONES) \
  LOOP_WHOLE(S, div, CUT, CLONES) \
  LOOP_WHOLE(S, mod, CUT_REST, CLONES)
#define LOOPS_SIGNED(S, CLONES)           \
  LOOPS_UNSIGNED(S, CLONES)               \
  LOOP_WHOLE(S, floor_div, FLOOR, CLONES) \
  LOOP_WHOLE(S, floor_mod, FLOOR_REST, CLONES)
LOOPS_SIGNED(i32, FY_CLONES)

// Of 8 and 16 bits in floats, likewise (wrong by less than a 2^7th), a chunk at a time.
FY_CLONES static int32_t wholes_short(int32_t *restrict x, const int32_t *restrict y, int64_t n,
                                      whole_kind how) {
  int32_t zero = 0;
#define EACH_SHORT(FLOOR, RESULT)                          \
  for (int64_t i = 0; i < n; i++) {                        \
    const int32_t none = y[i] == 0, by = y[i] + none;      \
    const float q = (float)x[i] / (float)by;               \
    const int32_t cut = (int32_t)q;                        \
    const int32_t whole = cut - (FLOOR && (float)cut > q); \
    zero |= none;                                          \
    x[i] = RESULT;                                         \
  }
  if (how == CUT)
    EACH_SHORT(false, whole)
  else if (how == FLOOR)
    EACH_SHORT(true, whole)
  else
    EACH_SHORT(how == FLOOR_REST, x[i] - whole * by)
#undef EACH_SHORT
  return zero;
}
#define SHORT_TYPE(S)                                                                          \
  FY_CLONES static void widen_##S(const fy_t_##S *in, int64_t step, int32_t *out, int64_t n) { \
    if (step)                                                                                  \
      for (int64_t i = 0; i < n; i++) out[i] = in[i];                                          \
    else                                                                                       \
      for (int64_t i = 0; i < n; i++) out[i] = in[0];                                          \
  }                                                                                            \
  static void wholes_##S(const fy_t_##S *a, int64_t sa, const fy_t_##S *b, int64_t sb,         \
                         fy_t_##S *o, int64_t n, whole_kind how, int *bad) {                   \
    int32_t x[FY_CHUNK], y[FY_CHUNK];                                                          \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                             \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                                 \
      widen_##S(a + at * sa, sa, x, m);                                                        \
      if (sb || at == 0) widen_##S(b + at * sb, sb, y, m);                                     \
      if (wholes_short(x, y, m, how)) *bad = 1;                                                \
      if (sizeof *o == 1)                                                                      \
        narrow_8(x, (uint8_t *)(o + at), m);                                                   \
      else                                                                                     \
        narrow_16(x, (uint16_t *)(o + at), m);                                                 \
    }                                                                                          \
  }
FY_CLONES static void narrow_8(const int32_t *restrict in, uint8_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)in[i];
}
FY_CLONES static void narrow_16(const int32_t *restrict in, uint16_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)in[i];
}
SHORT_TYPE(i8)
SHORT_TYPE(i16)
SHORT_TYPE(u8)
SHORT_TYPE(u16)
LOOPS_SIGNED(i8, )
LOOPS_SIGNED(i16, )
LOOPS_UNSIGNED(u8, )
LOOPS_UNSIGNED(u16, )

FY_VEC_BINARY_16(div, FY_16_DIV)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, div, OVER)
// Quotients of complex numbers: fy_cdiv's sums for a chunk of them, which vectors can do, into a buffer of their own;
// what is no number this way is found out afterwards, one by one.
typedef enum over_kind { OVER_PLAIN, OVER_NO_NAN, OVER_X } over_kind;
#define OVER_CHUNK 128
typedef double four __attribute__((vector_size(32)));
typedef int64_t four_bits __attribute__((vector_size(32)));
#define PICK_FOUR(m, a, b) (four)(((m) & (four_bits)(a)) | (~(m) & (four_bits)(b)))
// Real and imaginary parts of four, in the order that comes easiest.
static inline void part_four(const double *p, four *re, four *im) {
  four a, b;
  memcpy(&a, p, sizeof a), memcpy(&b, p + 4, sizeof b);
  *re = FY_MIX(a, b, 0, 4, 2, 6), *im = FY_MIX(a, b, 1, 5, 3, 7);
}
static inline void join_four(double *p, const four *re, const four *im) {
  const four low = FY_MIX(*re, *im, 0, 4, 2, 6), high = FY_MIX(*re, *im, 1, 5, 3, 7);
  memcpy(p, &low, sizeof low), memcpy(p + 4, &high, sizeof high);
}
#define OVER_SUMS_c64                         \
  const four scale = 1 / (br * br + bi * bi); \
  const four re = (ar * br + ai * bi) * scale, im = (ai * br - ar * bi) * scale
#define OVER_SUMS_c128                                                                            \
  const four_bits all = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};                             \
  const four_bits wide = (four)((four_bits)br & all) >= (four)((four_bits)bi & all);              \
  const four big = PICK_FOUR(wide, br, bi), small = PICK_FOUR(wide, bi, br), ratio = small / big; \
  const four scale = 1 / (big + small * ratio);                                                   \
  const four first = PICK_FOUR(wide, ar, ai), second = PICK_FOUR(wide, ai, ar);                   \
  const four re = (first + second * ratio) * scale;                                               \
  const four im = PICK_FOUR(wide, ai - ar * ratio, ai * ratio - ar) * scale
// All four of the last ones are there, of ones.
#define OVER_WIDE(S)                                                                            \
  FY_CLONES static bool over_wide_##S(const double *a, const double *b, double *o, int64_t n) { \
    four_bits odd = {0};                                                                        \
    for (int64_t i = 0; i < n; i += 4, a += 8, b += 8, o += 8) {                                \
      four ar, ai, br, bi;                                                                      \
      part_four(a, &ar, &ai), part_four(b, &br, &bi);                                           \
      OVER_SUMS_##S;                                                                            \
      odd |= (re - re != 0) | (im - im != 0);                                                   \
      join_four(o, &re, &im);                                                                   \
    }                                                                                           \
    return !(odd[0] | odd[1] | odd[2] | odd[3]);                                                \
  }
OVER_WIDE(c64)
OVER_WIDE(c128)
FY_CLONES static void widen_parts(const float *restrict in, double *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (double)in[i];
}
FY_CLONES static void narrow_parts(const double *restrict in, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (float)in[i];
}
static bool over_chunk_c64(const float *a, const float *b, float *o, int64_t n) {
  double x[2 * OVER_CHUNK], y[2 * OVER_CHUNK];
  widen_parts(a, x, 2 * n), widen_parts(b, y, 2 * n);
  for (int64_t i = 2 * n; i % 8; i++) x[i] = y[i] = 1;
  const bool ok = over_wide_c64(x, y, x, n);
  narrow_parts(x, o, 2 * n);
  return ok;
}
static bool over_chunk_c128(const double *a, const double *b, double *o, int64_t n) {
  const int64_t whole = n / 4 * 8, rest = 2 * n - whole;
  double x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, y[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  bool ok = over_wide_c128(a, b, o, whole / 2);
  if (!rest) return ok;
  memcpy(x, a + whole, (size_t)rest * sizeof *x), memcpy(y, b + whole, (size_t)rest * sizeof *y);
  ok &= over_wide_c128(x, y, x, 4);
  memcpy(o + whole, x, (size_t)rest * sizeof *x);
  return ok;
}
#define OVER_ROWS(S, R)                                                                        \
  static void over_##S(over_kind kind, const void *pa, int64_t sa, const void *pb, int64_t sb, \
                       void *po, int64_t n) {                                                  \
    fy_t_##S x[OVER_CHUNK], y[OVER_CHUNK];                                                     \
    R o[2 * OVER_CHUNK];                                                                       \
    const fy_t_##S *a = pa, *b = pb;                                                           \
    fy_t_##S *out = po;                                                                        \
    for (int64_t i = 0; i < OVER_CHUNK && i < n; i++) {                                        \
      if (!sa) x[i] = a[0];                                                                    \
      if (!sb) y[i] = b[0];                                                                    \
    }                                                                                          \
    for (int64_t at = 0; at < n; at += OVER_CHUNK) {                                           \
      const int64_t m = n - at < OVER_CHUNK ? n - at : OVER_CHUNK;                             \
      const fy_t_##S *u = sa ? a + at : x, *v = sb ? b + at : y;                               \
      if (over_chunk_##S((const void *)u, (const void *)v, o, m)) {                            \
        if (kind == OVER_X)                                                                    \
          for (int64_t i = 0; i < m; i++)                                                      \
            if (u[i] == 0) memcpy(o + 2 * i, u + i, sizeof *u);                                \
        memcpy(out + at, o, (size_t)m * sizeof *out);                                          \
        continue;                                                                              \
      }                                                                                        \
      for (int64_t i = 0; i < m; i++) {                                                        \
        const fy_t_##S c = u[i], d = v[i];                                                     \
        out[at + i] = kind == OVER_NO_NAN && d == 0 ? 0                                        \
                      : kind == OVER_X && c == 0    ? c                                        \
                                                    : fy_cdiv_##S(c, d);                          \
      }                                                                                        \
    }                                                                                          \
  }
OVER_ROWS(c64, float)
OVER_ROWS(c128, double)
#define OVER_LOOP(E, S, name, kind)                                                                \
  static void name##_##S(const void *a, int64_t sa, const void *b, int64_t sb, void *o, int64_t n, \
                         int *bad) {                                                               \
    (void)bad;                                                                                     \
    over_##S(kind, a, sa, b, sb, o, n);                                                            \
  }
FY_COMPLEX_TYPES(OVER_LOOP, div, OVER_PLAIN)
FY_VEC_BINARY_16(floor_div, FY_16_FLOOR_DIV)
// (No quotient is denormal where those count as 0.)
#define FLOOR_DIV_REAL(S, x, y) FY_MATH_##S(floor)((x) / (y))
FY_BINARY_CLONED(f32, floor_div, FLOOR_DIV_REAL, float, FY_ST_f32)
FY_BINARY_CLONED(f64, floor_div, FLOOR_DIV_REAL, double, FY_ST_f64)
FY_BINARY_LOOP_bf16(trunc_div, TRUNC_DIV_REAL)
    FY_BINARY_CLONED(f32, trunc_div, TRUNC_DIV_REAL, float, FY_ST_f32)
        FY_BINARY_CLONED(f64, trunc_div, TRUNC_DIV_REAL, double, FY_ST_f64) FY_CLONES
    static void cut_floats(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = truncf(x[i]);
}
static void trunc_div_f16(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po,
                          int64_t n, int *bad) {
  const uint16_t *a = pa, *b = pb;
  uint16_t *o = po;
  float x[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    div_f16(a + at * sa, sa, b + at * sb, sb, o + at, m, bad);
    fy_halves_to_floats(o + at, x, m);
    cut_floats(x, m);
    fy_floats_to_halves(x, o + at, m);
  }
}
FY_SHORT_REAL_TYPES(FY_BINARY_LOOP, mod, MOD_REAL)
FY_BINARY_LOOP(FY_DOUBLE, f64, mod, MOD_REAL)
FY_SHORT_REAL_TYPES(FY_BINARY_LOOP, floor_mod, FLOOR_MOD_REAL)
FY_BINARY_LOOP(FY_DOUBLE, f64, floor_mod, FLOOR_MOD_REAL)

// Rests of floats, in doubles, four at a time: a quotient below 2^28 that is no integer lies at least 2^-24 from the next, so
// it is cut to the right one, whose product with y is exact, and so is the rest. Numbers so small that
// a rest could be denormal, infinities and what is not a number go the long way.
#define SMALL (25u << 23)  // the bits of 2^-102
typedef float floats4 __attribute__((vector_size(16)));
// |far|: those that go the long way.
static inline __attribute__((always_inline)) void rest_4(const floats4 *px, const floats4 *py,
                                                         floats4 *out, ints4 *far, bool floor) {
  const floats4 x = *px, y = *py;
  const doubles4 wide_x = __builtin_convertvector(x, doubles4);
  const doubles4 wide_y = __builtin_convertvector(y, doubles4);
  const doubles4 q = wide_x / wide_y, most = {0x1p28, 0x1p28, 0x1p28, 0x1p28};
  const longs4 fits = (q < most) & (q > -most);
  const ints4 whole = __builtin_convertvector((doubles4)((longs4)q & fits), ints4);
  const doubles4 rest = wide_x - __builtin_convertvector(whole, doubles4) * wide_y;
  // The sign of x, also of a rest of 0.
  const uints4 digits = {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF};
  const uints4 ux = (uints4)x & digits, uy = (uints4)y & digits;
  const uints4 bits = (uints4) __builtin_convertvector(rest, floats4) & digits;
  const floats4 r = (floats4)(bits | ((uints4)x & ~digits));
  const ints4 near = (uy - SMALL < 0x7F800000 - SMALL) &
                     ((ux - SMALL < 0x7F800000 - SMALL) | (ux == 0)) &
                     __builtin_convertvector(fits, ints4);
  *far = ~near;
  *out = r;
  if (!floor) return;
  const ints4 other = (r != 0) & ((r < 0) ^ (y < 0));
  *out = (floats4)(((ints4)(r + y) & other) | ((ints4)r & ~other));
}
static __attribute__((noinline)) void far_rests(const floats4 *x, const floats4 *y, floats4 *out,
                                                const ints4 *far, bool floor) {
  for (int k = 0; k < 4; k++)
    if ((*far)[k])
      (*out)[k] = floor ? floor_mod_real_f32((*x)[k], (*y)[k]) : fmodf((*x)[k], (*y)[k]);
}
static inline __attribute__((always_inline)) void rests(const float *a, int64_t sa, const float *b,
                                                        int64_t sb, float *o, int64_t n,
                                                        bool floor) {
  floats4 x = {a[0], a[0], a[0], a[0]}, y = {b[0], b[0], b[0], b[0]}, r;
  ints4 far;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    if (sa) memcpy(&x, a + i, sizeof x);
    if (sb) memcpy(&y, b + i, sizeof y);
    rest_4(&x, &y, &r, &far, floor);
    if (far[0] | far[1] | far[2] | far[3]) far_rests(&x, &y, &r, &far, floor);
    memcpy(o + i, &r, sizeof r);
  }
  if (i == n) return;
  for (int64_t k = i; k < n; k++) x[k - i] = a[k * sa], y[k - i] = b[k * sb];
  rest_4(&x, &y, &r, &far, floor);
  far_rests(&x, &y, &r, &far, floor);
  for (int64_t k = i; k < n; k++) o[k] = r[k - i];
}
FY_CLONES static void mod_f32(const void *a, int64_t sa, const void *b, int64_t sb, void *o,
                              int64_t n, int *bad) {
  (void)bad;
  rests(a, sa, b, sb, o, n, false);
}
FY_CLONES static void floor_mod_f32(const void *a, int64_t sa, const void *b, int64_t sb, void *o,
                                    int64_t n, int *bad) {
  (void)bad;
  rests(a, sa, b, sb, o, n, true);
}

// The same of 64 bits, sixteen fours at a time, where all lie below 2^51 and no divisor is zero: the error is
// less than a quarter of 1 / |y|. Adding a large number makes a double of an integer and rounds a double.
#define LARGE      0x1.8p52
#define LARGE_BITS 0x4338000000000000
enum { FOURS = 16 };
static inline __attribute__((always_inline)) void whole_near(longs4 *px, const longs4 *py,
                                                             whole_kind how) {
  const longs4 x = *px, y = *py;
  const doubles4 q = ((doubles4)(x + LARGE_BITS) - LARGE) / ((doubles4)(y + LARGE_BITS) - LARGE);
  const doubles4 t = q + LARGE, nearest = t - LARGE;
  longs4 cut = (longs4)t - LARGE_BITS;
  if (IS_FLOOR(how))
    cut += nearest > q;
  else
    cut += ((nearest > q) & (q > 0)) - ((nearest < q) & (q < 0));
  *px = IS_REST(how) ? x - cut * y : cut;
}
static inline __attribute__((always_inline)) bool wholes_near(const char *px, int64_t sx,
                                                              const char *py, int64_t sy, void *po,
                                                              whole_kind how, bool sign) {
  const uint64_t most = (uint64_t)1 << 51;
  char *out = po;
  longs4 x, y, odd = {0};
  for (int64_t v = 0; v < FOURS; v++) {
    memcpy(&x, px + v * sx, sizeof x);
    memcpy(&y, py + v * sy, sizeof y);
    const ulongs4 ux = (ulongs4)x + (sign ? most : 0), uy = (ulongs4)y + (sign ? most : 0);
    odd |= (longs4)((ux | uy) & -(sign ? 2 * most : most)) | (y == 0);
  }
  if (odd[0] | odd[1] | odd[2] | odd[3]) return false;
  for (int64_t v = 0; v < FOURS; v++) {
    memcpy(&x, px + v * sx, sizeof x);
    memcpy(&y, py + v * sy, sizeof y);
    whole_near(&x, &y, how);
    memcpy(out + v * (int64_t)sizeof x, &x, sizeof x);
  }
  return true;
}
#define LOOP_64(S, name, HOW, ONE, SIGN)                                                        \
  FY_CLONES static void name##_##S(const void *pa, int64_t sa, const void *pb, int64_t sb,      \
                                   void *po, int64_t n, int *bad) {                             \
    const fy_t_##S *a = pa, *b = pb;                                                            \
    fy_t_##S *o = po;                                                                           \
    const fy_t_##S copies[2][4] = {{a[0], a[0], a[0], a[0]}, {b[0], b[0], b[0], b[0]}};         \
    for (int64_t i = 0; i < n; i += 4 * FOURS) {                                                \
      if (i + 4 * FOURS <= n &&                                                                 \
          wholes_near((const char *)(sa ? a + i : copies[0]), sa * 32,                          \
                      (const char *)(sb ? b + i : copies[1]), sb * 32, o + i, HOW, SIGN))       \
        continue;                                                                               \
      for (int64_t k = i; k < n && k < i + 4 * FOURS; k++) o[k] = ONE(S, a[k * sa], b[k * sb]); \
    }                                                                                           \
  }
LOOP_64(i64, div, CUT, DIV_SIGNED, true)
LOOP_64(i64, mod, CUT_REST, MOD_SIGNED, true)
LOOP_64(i64, floor_div, FLOOR, FLOOR_DIV_SIGNED, true)
LOOP_64(i64, floor_mod, FLOOR_REST, FLOOR_MOD_SIGNED, true)
LOOP_64(u64, div, CUT, DIV_UNSIGNED, false)
LOOP_64(u64, mod, CUT_REST, MOD_UNSIGNED, false)

// Unsigned words go the same way, all of them.
static inline __attribute__((always_inline)) void wholes_u32(const uint32_t *a, int64_t sa,
                                                             const uint32_t *b, int64_t sb,
                                                             uint32_t *o, int64_t n, whole_kind how,
                                                             int *bad) {
  uints4 x = {a[0], a[0], a[0], a[0]}, y = {b[0], b[0], b[0], b[0]};
  ints4 zero = {0};
  for (int64_t i = 0; i < n; i += 4) {
    const bool all = i + 4 <= n;
    if (all && sa) memcpy(&x, a + i, sizeof x);
    if (all && sb) memcpy(&y, b + i, sizeof y);
    for (int64_t k = i; !all && k < n; k++) x[k - i] = a[k * sa], y[k - i] = b[k * sb];
    const ints4 none = y == 0;
    zero |= none;
    longs4 q = __builtin_convertvector(x, longs4);
    const longs4 by = __builtin_convertvector(y - (uints4)none, longs4);
    whole_near(&q, &by, how);
    const uints4 r = __builtin_convertvector(q, uints4);
    if (all) memcpy(o + i, &r, sizeof r);
    for (int64_t k = i; !all && k < n; k++) o[k] = r[k - i];
  }
  if (zero[0] | zero[1] | zero[2] | zero[3]) *bad = 1;
}
LOOPS_UNSIGNED(u32, FY_CLONES)

// ---------------------------------------------------------------- order, difference, power
#define MAX_INT(S, x, y) ((x) < (y) ? (y) : (x))
#define MIN_INT(S, x, y) ((y) < (x) ? (y) : (x))
FY_VEC_BINARY_16(max, FY_16_MAX)
FY_VEC_BINARY(max, FY_EW_MAX)
FY_VEC_BINARY_16(min, FY_16_MIN)
FY_VEC_BINARY(min, FY_EW_MIN)
FY_INT_TYPES(FY_BINARY_LOOP, max, MAX_INT)
FY_INT_TYPES(FY_BINARY_LOOP, min, MIN_INT)

#define SQDIFF_REAL(S, x, y) (((x) - (y)) * ((x) - (y)))
#define SQDIFF_INT(S, x, y)  (((fy_u_##S)(x) - (fy_u_##S)(y)) * ((fy_u_##S)(x) - (fy_u_##S)(y)))
#define SQDIFF_CPLX(S, x, y) fy_cmul_##S((x) - (y), FY_MATH_##S(onj)((x) - (y)))
FY_VEC_BINARY_16(sqdiff, FY_16_SQDIFF)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, sqdiff, SQDIFF_REAL)
FY_INDEX_TYPES(FY_BINARY_LOOP, sqdiff, SQDIFF_INT)
FY_COMPLEX_TYPES(FY_BINARY_LOOP, sqdiff, SQDIFF_CPLX)

#define POW_REAL(S, x, y) FY_MATH_##S(pow)(x, y)
#define POW_CPLX(S, x, y) FY_MATH_##S(pow)(x, y)
// Some at a time, bit by bit of the largest exponent: no branch depends on an element.
#define POW_CHUNK 64
#define POW_CLONE_i8
#define POW_CLONE_i16
#define POW_CLONE_i32 FY_CLONES
#define POW_CLONE_i64 FY_CLONES
#define POW_INT(E, S, name)                                                                 \
  POW_CLONE_##S static void pow_##S(const void *pa, int64_t sa, const void *pb, int64_t sb, \
                                    void *po, int64_t n, int *bad) {                        \
    const fy_t_##S *a = pa, *b = pb;                                                        \
    fy_t_##S *o = po;                                                                       \
    for (int64_t at = 0; at < n; at += POW_CHUNK) {                                         \
      const int64_t m = n - at < POW_CHUNK ? n - at : POW_CHUNK;                            \
      fy_u_##S result[POW_CHUNK], factor[POW_CHUNK], e[POW_CHUNK], bits = 0;                \
      int low = 0;                                                                          \
      for (int64_t i = 0; i < m; i++) {                                                     \
        const fy_t_##S exponent = b[(at + i) * sb];                                         \
        low |= exponent < 0;                                                                \
        e[i] = exponent < 0 ? 0 : (fy_u_##S)exponent;                                       \
        bits |= e[i];                                                                       \
        factor[i] = (fy_u_##S)a[(at + i) * sa];                                             \
        result[i] = 1;                                                                      \
      }                                                                                     \
      if (low) *bad = 1;                                                                    \
      for (; bits; bits >>= 1) {                                                            \
        for (int64_t i = 0; i < m; i++) {                                                   \
          result[i] *= e[i] & 1 ? factor[i] : 1;                                            \
          factor[i] *= factor[i];                                                           \
          e[i] >>= 1;                                                                       \
        }                                                                                   \
      }                                                                                     \
      for (int64_t i = 0; i < m; i++) o[at + i] = (fy_t_##S)result[i];                      \
    }                                                                                       \
  }
FY_SIGNED_TYPES(POW_INT, _)
FY_REAL_TYPES(FY_BINARY_LOOP, pow, POW_REAL)
FY_COMPLEX_TYPES(FY_BINARY_LOOP, pow, POW_CPLX)

// ---------------------------------------------------------------- zero wins over NaN
#define DIV_NO_NAN(S, x, y)      ((y) == 0 ? 0 : (x) / (y))
#define MUL_NO_NAN(S, x, y)      ((y) == 0 ? 0 : (x) * (y))
#define MUL_NO_NAN_CPLX(S, x, y) ((y) == 0 ? 0 : fy_cmul_##S(x, y))
#define XDIVY(S, x, y)           ((x) == 0 ? (x) : (x) / (y))
#define ATAN2(S, x, y)           FY_MATH_##S(atan2)(x, y)
FY_VEC_BINARY_16(div_no_nan, FY_16_DIV_NO_NAN)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, div_no_nan, DIV_NO_NAN)
FY_COMPLEX_TYPES(OVER_LOOP, div_no_nan, OVER_NO_NAN)
FY_VEC_BINARY_16(mul_no_nan, FY_16_MUL_NO_NAN)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, mul_no_nan, MUL_NO_NAN)
FY_COMPLEX_TYPES(FY_BINARY_LOOP, mul_no_nan, MUL_NO_NAN_CPLX)
FY_VEC_BINARY_16(xdivy, FY_16_XDIVY)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, xdivy, XDIVY)
FY_COMPLEX_TYPES(OVER_LOOP, xdivy, OVER_X)
FY_SHORT_REAL_TYPES(FY_BINARY_LOOP, atan2, ATAN2)

// ---------------------------------------------------------------- bits; shifts clamp their count
#define AND(S, x, y)         ((x) & (y))
#define OR(S, x, y)          ((x) | (y))
#define XOR(S, x, y)         ((x) ^ (y))
#define BITS(S)              ((fy_a_##S)(8 * sizeof(fy_a_##S) - 1))
#define SHIFT(S, y)          ((y) < 1 ? 0 : (y) > BITS(S) ? BITS(S) : (y))
#define LEFT_SHIFT(S, x, y)  ((fy_u_##S)(x) << SHIFT(S, y))
#define RIGHT_SHIFT(S, x, y) ((x) >> SHIFT(S, y))
FY_SIGNED_TYPES(FY_BINARY_LOOP, bit_and, AND)
FY_SIGNED_TYPES(FY_BINARY_LOOP, bit_or, OR)
FY_SIGNED_TYPES(FY_BINARY_LOOP, bit_xor, XOR)
// Only newer machines shift each lane by its own count, and none those of 8 bits: short ones go by 1, 2, 4 and 8.
// One loop for all forms of a row: an operand that is repeated stands in a chunk.
#define SHIFT_ROWS(S, name, EXPR, CLONES)                                                        \
  CLONES static void name##_chunk_##S(const fy_t_##S *a, const fy_t_##S *b, fy_t_##S *o,         \
                                      int64_t n) {                                               \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                                  \
      const fy_a_##S x = a[i], y = b[i];                                                         \
      o[i] = (fy_t_##S)(EXPR(S, x, y));                                                          \
    }                                                                                            \
  }                                                                                              \
  static void name##_##S(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po,       \
                         int64_t n, int *bad) {                                                  \
    const fy_t_##S *a = pa, *b = pb;                                                             \
    fy_t_##S *o = po, x[FY_CHUNK], y[FY_CHUNK];                                                  \
    const int64_t step = sa && sb ? n : FY_CHUNK;                                                \
    (void)bad;                                                                                   \
    for (int64_t i = 0; !sa && i < n && i < step; i++) x[i] = a[0];                              \
    for (int64_t i = 0; !sb && i < n && i < step; i++) y[i] = b[0];                              \
    for (int64_t at = 0; at < n; at += step)                                                     \
      name##_chunk_##S(sa ? a + at : x, sb ? b + at : y, o + at, n - at < step ? n - at : step); \
  }
#define SHORT_SHIFTS(E, S, _)                                       \
  static inline fy_t_##S left_steps_##S(fy_t_##S x, fy_t_##S s) {   \
    x = s & 1 ? (fy_t_##S)((fy_u_##S)x << 1) : x;                   \
    x = s & 2 ? (fy_t_##S)((fy_u_##S)x << 2) : x;                   \
    x = s & 4 ? (fy_t_##S)((fy_u_##S)x << 4) : x;                   \
    if (sizeof x > 1) x = s & 8 ? (fy_t_##S)((fy_u_##S)x << 8) : x; \
    return x;                                                       \
  }                                                                 \
  static inline fy_t_##S right_steps_##S(fy_t_##S x, fy_t_##S s) {  \
    x = s & 1 ? (fy_t_##S)(x >> 1) : x;                             \
    x = s & 2 ? (fy_t_##S)(x >> 2) : x;                             \
    x = s & 4 ? (fy_t_##S)(x >> 4) : x;                             \
    if (sizeof x > 1) x = s & 8 ? (fy_t_##S)(x >> 8) : x;           \
    return x;                                                       \
  }                                                                 \
  SHIFT_ROWS(S, left_shift, LEFT_STEPS, FY_CLONES)                  \
  SHIFT_ROWS(S, right_shift, RIGHT_STEPS, FY_CLONES)
#define LEFT_STEPS(S, x, y)  left_steps_##S((fy_t_##S)(x), (fy_t_##S)SHIFT(S, y))
#define RIGHT_STEPS(S, x, y) right_steps_##S((fy_t_##S)(x), (fy_t_##S)SHIFT(S, y))
SHORT_SHIFTS(FY_INT8, i8, _)
SHORT_SHIFTS(FY_UINT8, u8, _)
SHORT_SHIFTS(FY_INT16, i16, _)
SHORT_SHIFTS(FY_UINT16, u16, _)
#define LONG_SHIFTS(S, CLONES)                  \
  SHIFT_ROWS(S, left_shift, LEFT_SHIFT, CLONES) \
  SHIFT_ROWS(S, right_shift, RIGHT_SHIFT, CLONES)
LONG_SHIFTS(i32, FY_CLONES)
LONG_SHIFTS(u32, FY_CLONES)
LONG_SHIFTS(i64, FY_CLONES)
LONG_SHIFTS(u64, FY_CLONES)

// ---------------------------------------------------------------- tables
#define ZERO_DIV "Integer division by zero"
#define SAME_BITS(name)                                                       \
  {                                                                           \
    {FY_REAL_TYPES(FY_LOOP_ENTRY, name) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name) \
         FY_SIGNED_TYPES(FY_LOOP_ENTRY, name) FY_UNSIGNED_AS_SIGNED(name)},   \
        NULL, 0.3                                                             \
  }
const fy_binary_loops fy_add_loops = SAME_BITS(add);
const fy_binary_loops fy_sub_loops = SAME_BITS(sub);
static const fy_binary_loops mul_loops = SAME_BITS(mul);
static const fy_binary_loops div_loops = {{FY_NUMERIC_TYPES(FY_LOOP_ENTRY, div)}, ZERO_DIV, 1};
static const fy_binary_loops real_div_loops = {
    {FY_REAL_TYPES(FY_LOOP_ENTRY, div) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, div)}, NULL, 0.6};
static const fy_binary_loops floor_div_loops = {
    {FY_REAL_TYPES(FY_LOOP_ENTRY, floor_div) FY_SIGNED_TYPES(FY_LOOP_ENTRY, floor_div)
         FY_UNSIGNED_TYPES(FY_LOOP_ENTRY, div)},
    ZERO_DIV,
    3};
static const fy_binary_loops trunc_div_loops = {
    {FY_REAL_TYPES(FY_LOOP_ENTRY, trunc_div) FY_INT_TYPES(FY_LOOP_ENTRY, div)}, ZERO_DIV, 2};
static const fy_binary_loops mod_loops = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, mod)}, ZERO_DIV, 6};
static const fy_binary_loops floor_mod_loops = {
    {FY_REAL_TYPES(FY_LOOP_ENTRY, floor_mod) FY_SIGNED_TYPES(FY_LOOP_ENTRY, floor_mod)
         FY_UNSIGNED_TYPES(FY_LOOP_ENTRY, mod)},
    ZERO_DIV,
    6};
static const fy_binary_loops max_loops = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, max)}, NULL, 0.4};
static const fy_binary_loops min_loops = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, min)}, NULL, 0.4};
static const fy_binary_loops sqdiff_loops = {
    {FY_REAL_TYPES(FY_LOOP_ENTRY, sqdiff) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, sqdiff)
         FY_INDEX_TYPES(FY_LOOP_ENTRY, sqdiff)},
    NULL,
    0.4};
static const fy_binary_loops pow_loops = {
    {FY_REAL_TYPES(FY_LOOP_ENTRY, pow) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, pow)
         FY_SIGNED_TYPES(FY_LOOP_ENTRY, pow)},
    "Integers to negative integer powers are not allowed",
    20};
#define REAL_OR_COMPLEX(name, ns_)              \
  static const fy_binary_loops name##_loops = { \
      {FY_REAL_TYPES(FY_LOOP_ENTRY, name) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name)}, NULL, ns_}
REAL_OR_COMPLEX(div_no_nan, 0.7);
REAL_OR_COMPLEX(mul_no_nan, 0.5);
REAL_OR_COMPLEX(xdivy, 0.7);
#define X_TIMES(name)                                       \
  static const fy_binary_loops name##_loops = {             \
      {FY_REAL_TYPES(FY_LOOP_ENTRY, fy_vec_##name)          \
           FY_COMPLEX_TYPES(FY_LOOP_ENTRY, fy_vec_##name)}, \
      NULL,                                                 \
      2}
X_TIMES(xlogy);
X_TIMES(xlog1py);
static const fy_binary_loops atan2_loops = {
    {FY_SHORT_REAL_TYPES(FY_LOOP_ENTRY, atan2)[FY_FLOAT] = fy_vec_atan2_f32, [FY_DOUBLE] =
                                                                                 fy_vec_atan2_f64},
    NULL,
    2};
static const fy_binary_loops and_loops = {
    {FY_SIGNED_TYPES(FY_LOOP_ENTRY, bit_and) FY_UNSIGNED_AS_SIGNED(bit_and)}, NULL, 0.3};
static const fy_binary_loops or_loops = {
    {FY_SIGNED_TYPES(FY_LOOP_ENTRY, bit_or) FY_UNSIGNED_AS_SIGNED(bit_or)}, NULL, 0.3};
static const fy_binary_loops xor_loops = {
    {FY_SIGNED_TYPES(FY_LOOP_ENTRY, bit_xor) FY_UNSIGNED_AS_SIGNED(bit_xor)}, NULL, 0.3};
static const fy_binary_loops left_loops = {{FY_INT_TYPES(FY_LOOP_ENTRY, left_shift)}, NULL, 1};
static const fy_binary_loops right_loops = {{FY_INT_TYPES(FY_LOOP_ENTRY, right_shift)}, NULL, 1};

// ---------------------------------------------------------------- what the tables cannot say
// Strings are joined; *bad means that memory was short.
static void add_strings(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po, int64_t n,
                        int *bad) {
  const fy_tensor a = {.dtype = FY_STRING, .data = (void *)(uintptr_t)pa};
  const fy_tensor b = {.dtype = FY_STRING, .data = (void *)(uintptr_t)pb};
  fy_tensor o = {.dtype = FY_STRING, .data = po};
  fy_str joined;
  fy_str_init(&joined);
  for (int64_t i = 0; i < n; i++) {
    const fy_view x = fy_tensor_string(&a, i * sa), y = fy_tensor_string(&b, i * sb);
    joined.len = 0;
    fy_str_addn(&joined, x.p, x.n);
    fy_str_addn(&joined, y.p, y.n);
    if (joined.failed || !fy_tensor_set_string(&o, i, fy_str_text(&joined), joined.len)) *bad = 1;
  }
  fy_str_free(&joined);
}

static fy_code add_compute(fy_kernel_ctx *ctx, fy_error *err) {
  if (ctx->in[0]->dtype != FY_STRING) return fy_binary_compute(ctx, err);
  fy_code code = fy_binary_run(ctx, add_strings, 50, "out of memory joining strings", err);
  if (code == FY_INVALID_ARGUMENT && ctx->out[0]) {
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "out of memory joining strings");
  }
  return code;
}

// TruncateDiv and TruncateMod report a zero divisor as INTERNAL, in these words.
static fy_code truncate_compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_code code = fy_binary_compute(ctx, err);
  if (code == FY_INVALID_ARGUMENT && err && !strcmp(fy_error_text(err), ZERO_DIV)) {
    return fy_fail(err, FY_INTERNAL,
                   "Unexpected error in binary operator (only integer div and "
                   "mod should have errors)");
  }
  return code;
}

static const fy_sample add_samples[] = {
    {"f32[2,3]=1,2,3,4,5,6; f32[3]=10,20,30", NULL, FY_OK, "11,22,33,14,25,36"},
    {"f32[2,1]=1,2; f32[1,3]=10,20,30", NULL, FY_OK, "11,21,31,12,22,32"},
    {"i8[2]=127,-128; i8[]=1", NULL, FY_OK, "-128,-127"},
    {"f32[0,3]=; f32[]=1", NULL, FY_OK, ""},
    {"f16[5]=special; f16[5]=ones", NULL, FY_OK, NULL},
    {"f32[2,3]=ones; f32[4]=ones", NULL, FY_INVALID_ARGUMENT, "Incompatible shapes: [2,3] vs. [4]"},
};
static const fy_sample div_samples[] = {
    {"i32[4]=7,-7,7,-7; i32[4]=2,2,-2,-2", NULL, FY_OK, NULL},
    {"i32[2]=-2147483648,1; i32[]=-1", NULL, FY_OK, "-2147483648,-1"},
    {"i64[1]=1; i64[1]=0", NULL, FY_INVALID_ARGUMENT, "Integer division by zero"},
    {"f32[8]=special; f32[8]=normal", NULL, FY_OK, NULL},
};
#define EXTREMES                                                                 \
  "i32[9]=7,-7,7,-7,-2147483648,2147483647,2147483647,-2147483648,-2147483647; " \
  "i32[9]=2,2,-2,-2,-1,-2147483648,2147483646,3,2147483647"
static const fy_sample floor_div_samples[] = {
    {EXTREMES, NULL, FY_OK, "3,-4,-4,3,-2147483648,-1,1,-715827883,-1"},
    {"i32[3]=-7,0,7; i32[]=2", NULL, FY_OK, "-4,0,3"},
    {"i32[]=-2147483648; i32[5]=-1,1,-2147483648,2147483647,5", NULL, FY_OK,
     "-2147483648,-2147483648,1,-2,-429496730"},
    {"i32[6]=1,1,1,1,1,1; i32[6]=1,1,1,1,1,0", NULL, FY_INVALID_ARGUMENT,
     "Integer division by zero"},
    {"i64[1]=1; i64[1]=0", NULL, FY_INVALID_ARGUMENT, "Integer division by zero"},
    {"f32[8]=special; f32[8]=normal", NULL, FY_OK, NULL},
};
static const fy_sample floor_mod_samples[] = {
    {EXTREMES, NULL, FY_OK, "1,1,-1,-1,0,-1,1,1,0"},
    {"i32[]=-2147483648; i32[5]=-1,1,-2147483648,2147483647,5", NULL, FY_OK, "0,0,0,2147483646,2"},
    {"i32[6]=1,1,1,1,1,1; i32[6]=1,1,1,1,1,0", NULL, FY_INVALID_ARGUMENT,
     "Integer division by zero"},
    {"f32[4]=7,-7,7,-7; f32[4]=3,3,-3,-3", NULL, FY_OK, NULL},
};
static const fy_sample trunc_samples[] = {
    {"i32[4]=7,-7,7,-7; i32[4]=2,2,-2,-2", NULL, FY_OK, "3,-3,-3,3"},
    {"i64[1]=1; i64[1]=0", NULL, FY_INTERNAL, "Unexpected error in binary operator"},
    {"f32[8]=special; f32[8]=normal", NULL, FY_OK, NULL},
};
static const fy_sample real_samples[] = {
    {"f32[3,5]=normal; f32[5]=normal", NULL, FY_OK, NULL},
    {"f64[7]=special; f64[7]=normal", NULL, FY_OK, NULL},
    {"bf16[4]=normal; bf16[]=2", NULL, FY_OK, NULL},
};
static const fy_sample mod_samples[] = {
    {"i32[4]=7,-7,7,-7; i32[4]=3,3,-3,-3", NULL, FY_OK, NULL},
    {"f32[4]=7,-7,7,-7; f32[4]=3,3,-3,-3", NULL, FY_OK, NULL},
};
static const fy_sample pow_samples[] = {
    {"i32[3]=2,0,3; i32[3]=10,0,3", NULL, FY_OK, "1024,1,27"},
    {"i32[1]=2; i32[1]=-1", NULL, FY_INVALID_ARGUMENT,
     "Integers to negative integer powers are not allowed"},
    {"f32[3]=2,4,9; f32[]=0.5", NULL, FY_OK, NULL},
};
static const fy_sample bit_samples[] = {
    {"u8[3]=1,6,255; u8[]=3", NULL, FY_OK, NULL},
    {"i64[2]=-1,5; i64[2]=1,2", NULL, FY_OK, NULL},
};

#define BINARY_OP(Name, table, sample_array, ...)                                         \
  FY_OP(Name, .shape = fy_shape_broadcast, .compute = fy_binary_compute, .aux = &(table), \
        .flags = FY_OP_INPLACE, FY_SAMPLES(sample_array), __VA_ARGS__)

FY_OP(Add, .shape = fy_shape_broadcast, .compute = add_compute, .aux = &fy_add_loops,
      .flags = FY_OP_INPLACE, .elementwise = FY_EW_ADD, FY_SAMPLES(add_samples));
BINARY_OP(AddV2, fy_add_loops, add_samples, .elementwise = FY_EW_ADD);
BINARY_OP(Sub, fy_sub_loops, real_samples, .elementwise = FY_EW_SUB);
BINARY_OP(Mul, mul_loops, real_samples, .elementwise = FY_EW_MUL);
BINARY_OP(Div, div_loops, div_samples, .elementwise = FY_EW_NONE);
BINARY_OP(RealDiv, real_div_loops, real_samples, .elementwise = FY_EW_DIV);
BINARY_OP(FloorDiv, floor_div_loops, floor_div_samples, .elementwise = FY_EW_NONE);
FY_OP(TruncateDiv, .shape = fy_shape_broadcast, .compute = truncate_compute,
      .aux = &trunc_div_loops, .flags = FY_OP_INPLACE, FY_SAMPLES(trunc_samples));
BINARY_OP(Mod, mod_loops, mod_samples, .elementwise = FY_EW_NONE);
FY_OP(TruncateMod, .shape = fy_shape_broadcast, .compute = truncate_compute, .aux = &mod_loops,
      .flags = FY_OP_INPLACE, FY_SAMPLES(mod_samples));
BINARY_OP(FloorMod, floor_mod_loops, floor_mod_samples, .elementwise = FY_EW_NONE);
BINARY_OP(Maximum, max_loops, real_samples, .elementwise = FY_EW_MAX);
BINARY_OP(Minimum, min_loops, real_samples, .elementwise = FY_EW_MIN);
BINARY_OP(SquaredDifference, sqdiff_loops, real_samples, .elementwise = FY_EW_SQDIFF);
BINARY_OP(Pow, pow_loops, pow_samples, .elementwise = FY_EW_POW);
BINARY_OP(DivNoNan, div_no_nan_loops, real_samples, .elementwise = FY_EW_NONE);
BINARY_OP(MulNoNan, mul_no_nan_loops, real_samples, .elementwise = FY_EW_NONE);
BINARY_OP(Xdivy, xdivy_loops, real_samples, .elementwise = FY_EW_NONE);
BINARY_OP(Xlogy, xlogy_loops, real_samples, .elementwise = FY_EW_NONE);
BINARY_OP(Xlog1py, xlog1py_loops, real_samples, .elementwise = FY_EW_NONE);
BINARY_OP(Atan2, atan2_loops, real_samples, .elementwise = FY_EW_NONE);
BINARY_OP(BitwiseAnd, and_loops, bit_samples, .elementwise = FY_EW_NONE);
BINARY_OP(BitwiseOr, or_loops, bit_samples, .elementwise = FY_EW_NONE);
BINARY_OP(BitwiseXor, xor_loops, bit_samples, .elementwise = FY_EW_NONE);
BINARY_OP(LeftShift, left_loops, bit_samples, .elementwise = FY_EW_NONE);
BINARY_OP(RightShift, right_loops, bit_samples, .elementwise = FY_EW_NONE);

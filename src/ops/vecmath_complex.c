// SPDX-License-Identifier: Apache-2.0
// vecmath_complex.c: functions of doubles and complex numbers as loops over arrays that compilers turn
// into vectors, where libm's, one at a time, are much slower. Complex numbers are computed in doubles,
// part by part; whatever does not come out finite (infinities, zeros, what is not a number, squares
// beyond the range of a double) is asked of libm again.

#include <math.h>

#include "ops/vecmath.h"

// Where the squares of both parts are ordinary numbers.
#define LARGE 0x1p500
#define SMALL 0x1p-500

// ---------------------------------------------------------------- angles
// Cephes' rational function; |x| is not negative.
static inline double atan_positive(double x) {
  const bool big = x > 2.41421356237309504880, mid = x > 0.66;
  const double top = big ? -1 : mid ? x - 1 : x, below = big ? x : mid ? x + 1 : 1;
  const double t = top / below, z = t * t;
  const double p = (((-8.750608600031904122785e-1 * z - 1.615753718733365076637e1) * z -
                     7.500855792314704667340e1) *
                        z -
                    1.228866684490136173410e2) *
                       z -
                   6.485021904942025371773e1;
  const double q = ((((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z +
                     4.328810604912902668951e2) *
                        z +
                    4.853903996359136964868e2) *
                       z +
                   1.945506571482613964425e2;
  // A quarter or an eighth of the circle, in two parts.
  const double turn = big   ? M_PI_2
                      : mid ? M_PI_4
                            : 0,
               rest = big   ? 6.123233995736765886e-17
                      : mid ? 3.061616997868382943e-17
                            : 0;
  return turn + ((t * (z * p / q) + t) + rest);
}

FY_CLONES static void atans(const double *in, double *out, int64_t n) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = copysign(atan_positive(fabs(in[i])), in[i]);
}
void fy_vec_atan_f64(const void *in, void *out, int64_t n, const void *param) {
  (void)param;
  atans(in, out, n);
}

// NaN where 0 is divided by 0 or an infinity by another.
FY_CLONES static void angles(const double *y, const double *x, double *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double t = atan_positive(fabs(y[i]) / fabs(x[i]));
    out[i] = copysign(x[i] < 0 ? M_PI - (t - 0x1.1a62633145c07p-53) : t, y[i]);
  }
}

void fy_vec_atan2_f64(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po, int64_t n,
                      int *bad) {
  const double *a = pa, *b = pb;
  double *out = po, y[FY_CHUNK], x[FY_CHUNK], r[FY_CHUNK];
  (void)bad;
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    for (int64_t i = 0; i < m; i++) y[i] = a[(at + i) * sa], x[i] = b[(at + i) * sb];
    angles(y, x, r, m);
    for (int64_t i = 0; i < m; i++) out[at + i] = r[i] == r[i] ? r[i] : atan2(y[i], x[i]);
  }
}

void fy_vec_atanh_f64(const void *pi, void *po, int64_t n, const void *param) {
  const double *in = pi;
  double *out = po, x[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    for (int64_t i = 0; i < m; i++) x[i] = 2 * fabs(in[at + i]) / (1 - fabs(in[at + i]));
    fy_vec_log1p_f64(x, x, m, param);
    for (int64_t i = 0; i < m; i++) out[at + i] = copysign(0.5 * x[i], in[at + i]);
  }
}

// ---------------------------------------------------------------- parts of complex numbers, in place
// NaN unless the squares of both are ordinary.
static inline double ordinary(double re, double im) {
  const double a = fabs(re), b = fabs(im), most = a > b ? a : b;
  return most > SMALL && most < LARGE ? 0 : NAN;
}

FY_CLONES static void sqrt_parts(double *restrict re, double *restrict im, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double x = re[i], y = im[i], size = sqrt(x * x + y * y) + ordinary(x, y);
    const double big = sqrt((fabs(x) + size) * 0.5), other = fabs(y) / (2 * big);
    re[i] = x < 0 ? other : big;
    im[i] = copysign(x < 0 ? big : other, y);
  }
}

FY_CLONES static void reciprocal_parts(double *restrict re, double *restrict im, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double scale = 1 / (re[i] * re[i] + im[i] * im[i]) + ordinary(re[i], im[i]);
    re[i] *= scale;
    im[i] *= -scale;
  }
}

static void rsqrt_parts(double *restrict re, double *restrict im, int64_t n) {
  sqrt_parts(re, im, n);
  reciprocal_parts(re, im, n);
}

static void log_parts(double *restrict re, double *restrict im, int64_t n) {
  double angle[FY_CHUNK];
  angles(im, re, angle, n);
  for (int64_t i = 0; i < n; i++) {
    const double square = re[i] * re[i] + im[i] * im[i] + ordinary(re[i], im[i]);
    re[i] = fabs(square - 1) > 0x1p-20 ? square : NAN;  // near 1 there are too few digits
  }
  fy_vec_log_f64(re, re, n, NULL);
  for (int64_t i = 0; i < n; i++) re[i] *= 0.5, im[i] = angle[i];
}

// Floats are enough for the parts of complex64: their errors do not grow.
static void exp_parts(double *restrict re, double *restrict im, int64_t n) {
  float e[FY_CHUNK] = {0}, c[FY_CHUNK], s[FY_CHUNK];
  for (int64_t i = 0; i < n; i++) e[i] = (float)re[i], s[i] = (float)im[i];
  fy_vec_exp_f32(e, e, n, NULL);
  fy_vec_cos_f32(s, c, n, NULL);
  fy_vec_sin_f32(s, s, n, NULL);
  for (int64_t i = 0; i < n; i++) re[i] = (double)(e[i] * c[i]), im[i] = (double)(e[i] * s[i]);
}

// |parts| of arrays; |again| of one number, where that is not finite.
#define THROUGH(E, S, _)                                                              \
  static void through_##S(const fy_t_##S *in, fy_t_##S *out, int64_t n,               \
                          void (*parts)(double *restrict, double *restrict, int64_t), \
                          fy_t_##S (*again)(fy_t_##S)) {                              \
    double re[FY_CHUNK], im[FY_CHUNK];                                                \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                    \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                        \
      for (int64_t i = 0; i < m; i++) {                                               \
        re[i] = ((const fy_r_##S *)(in + at))[2 * i];                                 \
        im[i] = ((const fy_r_##S *)(in + at))[2 * i + 1];                             \
      }                                                                               \
      parts(re, im, m);                                                               \
      for (int64_t i = 0; i < m; i++) {                                               \
        out[at + i] = re[i] - re[i] == 0 && im[i] - im[i] == 0                        \
                          ? __builtin_complex((fy_r_##S)re[i], (fy_r_##S)im[i])       \
                          : again(in[at + i]);                                        \
      }                                                                               \
    }                                                                                 \
  }                                                                                   \
  static fy_t_##S reciprocal_##S(fy_t_##S x) {                                        \
    return fy_cdiv_##S(1, x);                                                         \
  }                                                                                   \
  static fy_t_##S rsqrt_##S(fy_t_##S x) {                                             \
    return fy_cdiv_##S(1, FY_MATH_##S(sqrt)(x));                                      \
  }
FY_COMPLEX_TYPES(THROUGH, _)
#define LOOP(S, name, AGAIN)                                                          \
  void fy_vec_##name##_##S(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                      \
    through_##S(in, out, n, name##_parts, AGAIN);                                     \
  }
LOOP(c64, exp, cexpf)
LOOP(c64, log, clogf)
LOOP(c128, log, clog)
LOOP(c64, sqrt, csqrtf)
LOOP(c128, sqrt, csqrt)
LOOP(c64, rsqrt, rsqrt_c64)
LOOP(c128, rsqrt, rsqrt_c128)
LOOP(c64, reciprocal, reciprocal_c64)
LOOP(c128, reciprocal, reciprocal_c128)

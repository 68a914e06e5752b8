// SPDX-License-Identifier: Apache-2.0
// vecmath_complex.c: functions of doubles and complex numbers as loops over arrays that compilers turn
// into vectors, where libm's, one at a time, are much slower. Complex numbers are computed in doubles,
// part by part; whatever does not come out finite (infinities, zeros, what is not a number, squares
// beyond the range of a double) is asked of libm again.

#include <float.h>
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

FY_CLONES static void sign_parts(double *restrict re, double *restrict im, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const double scale = 1 / sqrt(re[i] * re[i] + im[i] * im[i]) + ordinary(re[i], im[i]);
    re[i] *= scale;
    im[i] *= scale;
  }
}

// log(1 + z), with the digits of small z.
static void log1p_parts(double *restrict re, double *restrict im, int64_t n) {
  double more[FY_CHUNK] = {0}, angle[FY_CHUNK];
  for (int64_t i = 0; i < n; i++) more[i] = 1 + re[i];
  angles(im, more, angle, n);
  for (int64_t i = 0; i < n; i++) re[i] = re[i] * (2 + re[i]) + im[i] * im[i];
  fy_vec_log1p_f64(re, re, n, NULL);
  for (int64_t i = 0; i < n; i++) re[i] *= 0.5, im[i] = angle[i];
}

// ---------------------------------------------------------------- parts of complex64, in floats
// Floats are enough where errors do not grow: the parts are products, or sums of what has one sign.
typedef struct factors {
  float s[FY_CHUNK], c[FY_CHUNK], sh[FY_CHUNK], ch[FY_CHUNK];
} factors;
static void factor(factors *f, const float *angle, const float *size, int64_t n) {
  fy_vec_sin_f32(angle, f->s, n, NULL);
  fy_vec_cos_f32(angle, f->c, n, NULL);
  fy_vec_sinh_f32(size, f->sh, n, NULL);
  fy_vec_cosh_f32(size, f->ch, n, NULL);
}
#define FACTORED(name, ANGLE, SIZE, RE, IM)                                     \
  static void name##_parts(float *restrict re, float *restrict im, int64_t n) { \
    factors f;                                                                  \
    factor(&f, ANGLE, SIZE, n);                                                 \
    for (int64_t i = 0; i < n; i++) {                                           \
      const float s = f.s[i], c = f.c[i], sh = f.sh[i], ch = f.ch[i];           \
      re[i] = RE, im[i] = IM;                                                   \
    }                                                                           \
  }
FACTORED(sin, re, im, s *ch, c *sh)
FACTORED(cos, re, im, c *ch, -s *sh)
FACTORED(tan, re, im, s *c / (c * c + sh * sh), sh *ch / (c * c + sh * sh))
FACTORED(sinh, im, re, sh *c, ch *s)
FACTORED(cosh, im, re, ch *c, sh *s)
FACTORED(tanh, im, re, sh *ch / (sh * sh + c * c), s *c / (sh * sh + c * c))

static void exp_parts(float *restrict re, float *restrict im, int64_t n) {
  float c[FY_CHUNK];
  fy_vec_exp_f32(re, re, n, NULL);
  fy_vec_cos_f32(im, c, n, NULL);
  fy_vec_sin_f32(im, im, n, NULL);
  for (int64_t i = 0; i < n; i++) im[i] = re[i] * im[i], re[i] = re[i] * c[i];
}

static void expm1_parts(float *restrict re, float *restrict im, int64_t n) {
  float half[FY_CHUNK] = {0};
  for (int64_t i = 0; i < n; i++) half[i] = im[i] / 2;
  fy_vec_sin_f32(half, half, n, NULL);
  fy_vec_sin_f32(im, im, n, NULL);
  fy_vec_expm1_f32(re, re, n, NULL);
  for (int64_t i = 0; i < n; i++) {
    const float e = re[i];
    re[i] = e - 2 * (e + 1) * half[i] * half[i];
    im[i] = (e + 1) * im[i];
  }
}

// 1 / (1 + exp(-z)).
static void sigmoid_parts(float *restrict re, float *restrict im, int64_t n) {
  for (int64_t i = 0; i < n; i++) re[i] = -re[i], im[i] = -im[i];
  exp_parts(re, im, n);
  for (int64_t i = 0; i < n; i++) {
    const double x = 1 + (double)re[i], y = (double)im[i], scale = 1 / (x * x + y * y);
    re[i] = (float)(x * scale), im[i] = (float)(-y * scale);
  }
}

// ---------------------------------------------------------------- arrays of them
// |parts| of arrays; |again| of one number, where that is not finite.
#define THROUGH(name, S, WORK)                                                                \
  FY_CLONES static void take_##name(const fy_r_##S *in, WORK *restrict re, WORK *restrict im, \
                                    int64_t n) {                                              \
    for (int64_t i = 0; i < n; i++) re[i] = (WORK)in[2 * i], im[i] = (WORK)in[2 * i + 1];     \
  }                                                                                           \
  FY_CLONES static void put_##name(const WORK *restrict re, const WORK *restrict im,          \
                                   fy_r_##S *restrict out, int64_t n) {                       \
    for (int64_t i = 0; i < n; i++)                                                           \
      out[2 * i] = (fy_r_##S)re[i], out[2 * i + 1] = (fy_r_##S)im[i];                         \
  }                                                                                           \
  static void through_##name(const fy_t_##S *in, fy_t_##S *out, int64_t n,                    \
                             void (*parts)(WORK *restrict, WORK *restrict, int64_t),          \
                             fy_t_##S (*again)(fy_t_##S)) {                                   \
    WORK re[FY_CHUNK], im[FY_CHUNK];                                                          \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                            \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                                \
      int64_t odd = 0;                                                                        \
      take_##name((const fy_r_##S *)(in + at), re, im, m);                                    \
      parts(re, im, m);                                                                       \
      for (int64_t i = 0; i < m; i++) odd += (re[i] - re[i]) + (im[i] - im[i]) != 0;          \
      if (!odd) put_##name(re, im, (fy_r_##S *)(out + at), m);                                \
      for (int64_t i = 0; odd && i < m; i++) {                                                \
        out[at + i] = re[i] - re[i] == 0 && im[i] - im[i] == 0                                \
                          ? __builtin_complex((fy_r_##S)re[i], (fy_r_##S)im[i])               \
                          : again(in[at + i]);                                                \
      }                                                                                       \
    }                                                                                         \
  }
THROUGH(c64, c64, double)
THROUGH(c128, c128, double)
THROUGH(floats, c64, float)
#define AGAIN(E, S, _)                                                     \
  static fy_t_##S reciprocal_##S(fy_t_##S x) {                             \
    return fy_cdiv_##S(1, x);                                              \
  }                                                                        \
  static fy_t_##S rsqrt_##S(fy_t_##S x) {                                  \
    return fy_cdiv_##S(1, FY_MATH_##S(sqrt)(x));                           \
  }                                                                        \
  static fy_t_##S sign_##S(fy_t_##S x) {                                   \
    return x == 0 ? 0 : x / FY_MATH_##S(abs)(x);                           \
  }                                                                        \
  static fy_t_##S log1p_##S(fy_t_##S z) {                                  \
    const double re = (double)creal(z), im = (double)cimag(z);             \
    const double square = re * (2 + re) + im * im;                         \
    if (square > DBL_MAX) return FY_MATH_##S(log)(1 + z);                  \
    const double norm = 0.5 * log1p(square);                               \
    return __builtin_complex((fy_r_##S)norm, (fy_r_##S)atan2(im, 1 + re)); \
  }
FY_COMPLEX_TYPES(AGAIN, _)
static float _Complex sigmoid_c64(float _Complex z) {
  return 1 / (1 + cexpf(-z));
}
static float _Complex expm1_c64(float _Complex z) {
  const double re = (double)crealf(z), im = (double)cimagf(z), half = sin(im / 2), e = expm1(re);
  return __builtin_complex((float)(e * cos(im) - 2 * half * half), (float)((e + 1) * sin(im)));
}

#define LOOP(S, name, through, AGAIN)                                                 \
  void fy_vec_##name##_##S(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                      \
    through(in, out, n, name##_parts, AGAIN);                                         \
  }
#define BOTH(name)                         \
  LOOP(c64, name, through_c64, name##_c64) \
  LOOP(c128, name, through_c128, name##_c128)
BOTH(rsqrt)
BOTH(reciprocal)
BOTH(sign)
BOTH(log1p)
LOOP(c64, log, through_c64, clogf)
LOOP(c128, log, through_c128, clog)
LOOP(c64, sqrt, through_c64, csqrtf)
LOOP(c128, sqrt, through_c128, csqrt)
LOOP(c64, exp, through_floats, cexpf)
LOOP(c64, expm1, through_floats, expm1_c64)
LOOP(c64, sigmoid, through_floats, sigmoid_c64)
LOOP(c64, sin, through_floats, csinf)
LOOP(c64, cos, through_floats, ccosf)
LOOP(c64, tan, through_floats, ctanf)
LOOP(c64, sinh, through_floats, csinhf)
LOOP(c64, cosh, through_floats, ccoshf)
LOOP(c64, tanh, through_floats, ctanhf)

// SPDX-License-Identifier: Apache-2.0
// special_functions.c: Ndtri, Erfinv, Expint, Dawsn, FresnelCos, FresnelSin, Spence, PopulationCount.
// Each is computed in double, from a series where that converges well and else from a continued
// fraction or an asymptotic series; where those are slow, their values make a curve (special.h).

#include <float.h>

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/special.h"

#define EULER 0.57721566490153286061

// The quantile for p <= 1/2: a start good to three digits, then Newton's steps of third order.
static double lower_quantile(double p) {
  const double t = sqrt(-2 * log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 4; i++) {
    const double density = exp(-x * x / 2) / sqrt(2 * M_PI);
    if (density == 0) break;
    const double u = (0.5 * erfc(-x * M_SQRT1_2) - p) / density;
    x -= u / (1 + x * u / 2);
    if (fabs(u) < 1e-6) break;  // the next would be of the order of its cube
  }
  return x;
}

// erfinv of 0 <= x < 1/2: Newton on erf itself keeps the digits of a small x.
static double small_erfinv(double x) {
  double y = x * 0.8862269254527580;
  for (int i = 0; i < 6; i++) {
    const double u = (erf(y) - x) / (M_2_SQRTPI * exp(-y * y));
    y -= u / (1 + y * u);
    if (fabs(u) < 1e-6 * x) break;
  }
  return y;
}
static fy_curve quantile_curve = {lower_quantile, -54, -2, NULL};
static fy_curve erfinv_curve = {small_erfinv, -12, -1, NULL};

static inline double erfinv(double x, bool rough) {
  const double size = fabs(x);
  if (size == 1) return x * INFINITY;
  if (!(size < 1)) return NAN;
  return copysign(size < 0.5 ? fy_curve_at(&erfinv_curve, size, rough)
                             : -fy_curve_at(&quantile_curve, (1 - size) / 2, rough) * M_SQRT1_2,
                  x);
}

static inline double ndtri(double p, bool rough) {
  if (p == 0) return -INFINITY;
  if (p == 1) return INFINITY;
  if (!(p > 0 && p < 1)) return NAN;
  if (p < 0.25) return fy_curve_at(&quantile_curve, p, rough);
  if (p > 0.75) return -fy_curve_at(&quantile_curve, 1 - p, rough);
  return M_SQRT2 * erfinv(2 * p - 1, rough);
}

// |most|: beyond it TensorFlow's exponential is infinite, in the type that it computes in.
static double expint(double x, double most) {
  if (x != x || x < 0) return NAN;
  if (x == 0) return -INFINITY;
  if (isinf(x)) return NAN;  // as TensorFlow
  if (x < 40) {
    double term = 1, sum = 0;
    for (int k = 1; k < 400; k++) {
      term *= x / k;
      sum += term / k;
      if (term < sum * 1e-18) break;
    }
    return EULER + log(x) + sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 100; k++) {
    const double next = term * k / x;
    if (next >= term || next < 1e-18) break;
    term = next;
    sum += term;
  }
  const double power = exp(x);
  return power > most ? INFINITY : power / x * sum;
}

// Rybicki's sum over a grid; a power series near 0, an asymptotic one far out.
static double slow_dawson(double x) {
  const double size = fabs(x);
  if (size < 0.5) {
    double term = x, sum = x;
    for (int k = 1; k < 40; k++) {
      term *= -2 * x * x / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (size > 25) {
    const double q = 1 / (2 * x * x);
    return (1 + q * (1 + q * (3 + q * (15 + q * (105 + q * 945))))) / (2 * x);
  }
  const double h = 0.2;
  const int center = 2 * (int)lround(size / (2 * h));
  double sum = 0;
  for (int n = center - 41; n <= center + 41; n += 2) {
    const double gap = size - n * h;
    sum += exp(-gap * gap) / n;
  }
  return copysign(sum / sqrt(M_PI), x);
}

static fy_curve dawson_curve = {slow_dawson, -12, 5, NULL};
static inline double dawson(double x, bool rough) {
  return x != x ? x : copysign(fy_curve_at(&dawson_curve, fabs(x), rough), x);
}

// S(x) / x^3 and C(x) / x for a small x.
static void small_fresnel(double x, double *s, double *c) {
  const double t = M_PI / 2 * x * x;
  double term = 1, cosine = 1, sine = M_PI / 6;
  for (int k = 1; k < 60; k++) {
    term *= t / k;
    const double part = k % 2 ? term / (2 * k + 1) / (x * x) : term / (2 * k + 1);
    if (part < 1e-20) break;
    if (k > 1) *(k % 2 ? &sine : &cosine) += k % 4 < 2 ? part : -part;
  }
  *s = sine;
  *c = cosine;
}
// erfc of a complex number by Lentz's continued fraction, without its phase.
static double complex large_fresnel(double x) {
  const double t = M_PI * x * x;
  double complex b = 1 - I * t, cc = 1e300, d = 1 / b, h = d;
  for (int k = 2, n = -1; k < 1000; k++) {
    n += 2;
    const double a = -(double)n * (n + 1);
    b += 4;
    d = 1 / (a * d + b);
    cc = b + a / cc;
    const double complex step = cc * d;
    h *= step;
    if (fabs(creal(step) - 1) + fabs(cimag(step)) < 1e-16) break;
  }
  return h * (x - I * x);
}
static double small_sine(double x) {
  double s, c;
  small_fresnel(x, &s, &c);
  return s;
}
static double small_cosine(double x) {
  double s, c;
  small_fresnel(x, &s, &c);
  return c;
}
static double large_real(double x) {
  return creal(large_fresnel(x));
}
static double large_imaginary(double x) {
  return cimag(large_fresnel(x));
}
static fy_curve small_curves[] = {{small_cosine, -8, 1, NULL}, {small_sine, -8, 1, NULL}};
static fy_curve large_curves[] = {{large_real, 0, 24, NULL}, {large_imaginary, 0, 24, NULL}};

static inline double fresnel(double x, bool sine, bool rough) {
  const double size = fabs(x);
  if (x != x) return x;
  if (size > 1e7) return copysign(0.5, x);
  if (size < 1.6) return x * fy_curve_at(&small_curves[sine], size, rough) * (sine ? x * x : 1);
  // The phase from a square that is reduced before it is multiplied by pi.
  const double square = size * size, rest = fma(size, size, -square);
  const double phase = M_PI / 2 * (square - 4 * floor(square / 4) + rest);
  const double re = fy_curve_at(&large_curves[0], size, rough);
  const double im = fy_curve_at(&large_curves[1], size, rough);
  const double a = 1 - (cos(phase) * re - sin(phase) * im),
               b = -(cos(phase) * im + sin(phase) * re);
  return copysign(0.5 * (sine ? a + b : a - b), x);
}

// The dilogarithm of 1 - x.
static double slow_spence(double x) {
  const bool inverted = x > 1.5, mirrored = x < 0.5;
  const double y = inverted ? 1 / x : x;
  const bool near_zero = y < 0.5;
  const double w = near_zero ? y : 1 - y;
  double power = w, sum = 0;
  for (int k = 1; k < 80 && fabs(power) > 1e-19; k++) {
    sum += power / ((double)k * k);
    power *= w;
  }
  if (near_zero || mirrored) sum = M_PI * M_PI / 6 - log(y) * log1p(-y) - sum;
  if (!inverted) return sum;
  const double l = log(x);
  return -0.5 * l * l - sum;
}

static double spence_slope(double x) {
  return slow_spence(x) / (1 - x);
}
static fy_curve spence_curve = {spence_slope, -24, 24, NULL};
static inline double spence(double x, bool rough) {
  if (!(x >= 0)) return NAN;
  if (x == 0) return M_PI * M_PI / 6;
  if (isinf(x)) return NAN;  // as TensorFlow
  return x == 1 ? 0 : fy_curve_at(&spence_curve, x, rough) * (1 - x);
}

#define ROUGH(S)     (sizeof(fy_a_##S) == 4)
#define NDTRI(S, x)  (fy_a_##S) ndtri((double)(x), ROUGH(S))
#define ERFINV(S, x) (fy_a_##S) erfinv((double)(x), ROUGH(S))
#define EXPINT(S, x) \
  (fy_a_##S) expint((double)(x), sizeof(fy_a_##S) == 4 ? (double)FLT_MAX : DBL_MAX)
#define DAWSN(S, x)       (fy_a_##S) dawson((double)(x), ROUGH(S))
#define FRESNEL_COS(S, x) (fy_a_##S) fresnel((double)(x), false, ROUGH(S))
#define FRESNEL_SIN(S, x) (fy_a_##S) fresnel((double)(x), true, ROUGH(S))
#define SPENCE(S, x)      (fy_a_##S) spence((double)(x), ROUGH(S))

static const fy_sample samples[] = {
    {"f32[8]=special", NULL, FY_OK, NULL},
    {"f64[3,5]=uniform", NULL, FY_OK, NULL},
    {"f32[0]=", NULL, FY_OK, ""},
};
#define SPECIAL_OP(Name, name, EXPR)                                                          \
  FY_FULL_REAL_TYPES(FY_UNARY_LOOP, name, EXPR)                                               \
  static const fy_unary_loops name##_table = {{FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, name)}, 80}; \
  FY_OP(Name, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &name##_table, \
        .flags = FY_OP_INPLACE, FY_SAMPLES(samples))
SPECIAL_OP(Ndtri, ndtri_loop, NDTRI);
SPECIAL_OP(Erfinv, erfinv_loop, ERFINV);
SPECIAL_OP(Expint, expint_loop, EXPINT);
SPECIAL_OP(Dawsn, dawsn_loop, DAWSN);
SPECIAL_OP(FresnelCos, fresnel_cos_loop, FRESNEL_COS);
SPECIAL_OP(FresnelSin, fresnel_sin_loop, FRESNEL_SIN);
SPECIAL_OP(Spence, spence_loop, SPENCE);

// Without an instruction for it: pairs, fours, bytes, and the sum of the bytes.
static inline int count_bits(uint64_t v) {
  v -= v >> 1 & 0x5555555555555555u;
  v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
  v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return (int)(v * 0x0101010101010101u >> 56);
}
#define BITS(S, x)            count_bits((uint64_t)(x) & (UINT64_MAX >> (64 - 8 * sizeof(fy_t_##S))))
#define BITS_LOOP(E, S, name) FY_UNARY_LOOP_TO(E, S, name, BITS, uint8_t, FY_ST_u8)
FY_INT_TYPES(BITS_LOOP, bits)
static const fy_unary_loops bits_table = {{FY_INT_TYPES(FY_LOOP_ENTRY, bits)}, 1};
static const fy_sample bits_samples[] = {{"i8[3]=-1,0,5", NULL, FY_OK, "8,0,2"}};
FY_OP(PopulationCount, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &bits_table,
      FY_SAMPLES(bits_samples));

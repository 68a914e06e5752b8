// SPDX-License-Identifier: Apache-2.0
// special_bessel.c: Bessel functions of order 0 and 1. I and K: power series for small arguments, the
// asymptotic series for large ones, Steed's continued fraction (K) between; from 2^-20 to 64 they are
// curves. J and Y: libm's.

#include <float.h>

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/special.h"

#define EULER 0.57721566490153286061

// Hankel's series for large x: I_n(x) e^-x sqrt(2 pi x), or of K_n(x) e^x sqrt(2 x / pi) (|sign| = 1).
static double large_series(int n, double x, double sign) {
  double term = 1, sum = 1;
  for (int k = 1; k < 100; k++) {
    const double odd = 2 * k - 1, next = sign * term * (4 * n - odd * odd) / (8 * k) / x;
    if (fabs(next) >= fabs(term) || fabs(next) < 1e-17) break;
    term = next;
    sum += term;
  }
  return sum;
}

// I_n(x) e^-|x| for n = 0 or 1 and x >= 0.
static double scaled_i(int n, double x) {
  if (isinf(x)) return 0;
  if (x < 30) {
    const double q = x * x / 4;
    double term = n ? x / 2 : 1, sum = term;
    for (int k = 1; k < 500 && term > sum * 1e-17; k++) {
      term *= q / ((double)k * (k + n));
      sum += term;
    }
    return sum * exp(-x);
  }
  return large_series(n, x, -1) / sqrt(2 * M_PI) / sqrt(x);
}

// K_n(x) e^x for x > 0.
static double scaled_k(int n, double x) {
  if (isinf(x)) return 0;
  if (x <= 2) {
    const double q = x * x / 4, l = log(x / 2);
    double term = 1, i0 = 1, i1 = 0.5, harmonic = 0, k0 = 0, k1;
    double pair = 1, other = pair * (-2 * EULER + 1);  // sum of (psi(k + 1) + psi(k + 2)) terms
    for (int k = 1; k < 40; k++) {
      harmonic += 1.0 / k;
      term *= q / ((double)k * k);
      pair *= q / ((double)k * (k + 1));
      i0 += term;
      i1 += pair / 2;
      k0 += term * harmonic;
      other += pair * (2 * (harmonic - EULER) + 1.0 / (k + 1));
    }
    k0 -= (l + EULER) * i0;
    k1 = 1 / x + l * (x * i1) - x / 4 * other;
    return (n ? k1 : k0) * exp(x);
  }
  if (x >= 30) return large_series(n, x, 1) * sqrt(M_PI / 2) / sqrt(x);
  double b = 2 * (1 + x), d = 1 / b, h = d, step = d, q1 = 0, q2 = 1, q = 0.25, c = 0.25, a = -0.25;
  double s = 1 + q * step;
  for (int i = 2; i < 10000; i++) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    const double next = (q1 - b * q2) / a;
    q1 = q2, q2 = next;
    q += c * next;
    b += 2;
    d = 1 / (b + a * d);
    step *= b * d - 1;
    h += step;
    s += q * step;
    if (fabs(q * step / s) < 1e-17) break;
  }
  const double k0 = sqrt(M_PI / (2 * x)) / s;
  return n ? k0 * (x + 0.5 - h / 4) / x : k0;
}

static double scaled_i0(double x) {
  return scaled_i(0, x);
}
static double scaled_i1(double x) {
  return scaled_i(1, x);
}
static double scaled_k0(double x) {
  return scaled_k(0, x);
}
static double scaled_k1(double x) {
  return scaled_k(1, x);
}
static fy_curve curves_i[] = {{scaled_i0, -20, 6, NULL}, {scaled_i1, -20, 6, NULL}};
static fy_curve curves_k[] = {{scaled_k0, -20, 6, NULL}, {scaled_k1, -20, 6, NULL}};

// |most|: beyond it TensorFlow's factor is infinite, in the type that it computes in.
static inline double bessel_i(int n, bool scaled, double x, double most) {
  if (x != x) return x;
  const double size = fabs(x), y = fy_curve_at(&curves_i[n], size, most == FLT_MAX);
  double value = y;
  if (!scaled) {
    const double factor = exp(size);
    // 0 times Inf beyond all: NaN, as TensorFlow
    value = y * (factor > most ? INFINITY : factor);
  }
  return n && x < 0 ? -value : value;
}
static inline double bessel_k(int n, bool scaled, double x, double most) {
  if (x != x) return x;
  if (x <= 0) return INFINITY;
  return fy_curve_at(&curves_k[n], x, most == FLT_MAX) * (scaled ? 1 : exp(-x));
}

static double bessel_y(int n, double x) {
  if (x != x || x == INFINITY) return NAN;
  if (x <= 0) return -INFINITY;
  return n ? y1(x) : y0(x);
}

#define MOST(S)   (sizeof(fy_a_##S) == 4 ? (double)FLT_MAX : DBL_MAX)
#define I0(S, x)  (fy_a_##S) bessel_i(0, false, (double)(x), MOST(S))
#define I0E(S, x) (fy_a_##S) bessel_i(0, true, (double)(x), MOST(S))
#define I1(S, x)  (fy_a_##S) bessel_i(1, false, (double)(x), MOST(S))
#define I1E(S, x) (fy_a_##S) bessel_i(1, true, (double)(x), MOST(S))
#define K0(S, x)  (fy_a_##S) bessel_k(0, false, (double)(x), MOST(S))
#define K0E(S, x) (fy_a_##S) bessel_k(0, true, (double)(x), MOST(S))
#define K1(S, x)  (fy_a_##S) bessel_k(1, false, (double)(x), MOST(S))
#define K1E(S, x) (fy_a_##S) bessel_k(1, true, (double)(x), MOST(S))
#define J0(S, x)  (fy_a_##S)(isinf(x) ? NAN : j0((double)(x)))
#define J1(S, x)  (fy_a_##S)(isinf(x) ? NAN : j1((double)(x)))
#define Y0(S, x)  (fy_a_##S) bessel_y(0, (double)(x))
// TensorFlow's Y1 of 0 is -Inf in double only.
#define Y1(S, x) (fy_a_##S)(sizeof(fy_t_##S) < 8 && (x) == 0 ? NAN : bessel_y(1, (double)(x)))

static const fy_sample samples[] = {
    {"f32[8]=special", NULL, FY_OK, NULL},
    {"f64[3,5]=uniform", NULL, FY_OK, NULL},
    {"f16[4]=uniform", NULL, FY_OK, NULL},
    {"f32[0]=", NULL, FY_OK, ""},
};
#define BESSEL_OP(Name, name, EXPR)                                                           \
  FY_REAL_TYPES(FY_UNARY_LOOP, name, EXPR)                                                    \
  static const fy_unary_loops name##_table = {{FY_REAL_TYPES(FY_LOOP_ENTRY, name)}, 60};      \
  FY_OP(Name, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &name##_table, \
        .flags = FY_OP_INPLACE, FY_SAMPLES(samples))
BESSEL_OP(BesselI0, i0, I0);
BESSEL_OP(BesselI0e, i0e, I0E);
BESSEL_OP(BesselI1, i1, I1);
BESSEL_OP(BesselI1e, i1e, I1E);
BESSEL_OP(BesselJ0, bj0, J0);
BESSEL_OP(BesselJ1, bj1, J1);
BESSEL_OP(BesselK0, k0, K0);
BESSEL_OP(BesselK0e, k0e, K0E);
BESSEL_OP(BesselK1, k1, K1);
BESSEL_OP(BesselK1e, k1e, K1E);
BESSEL_OP(BesselY0, by0, Y0);
BESSEL_OP(BesselY1, by1, Y1);

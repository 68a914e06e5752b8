// SPDX-License-Identifier: Apache-2.0
// special_gamma.c: Igamma, Igammac, IgammaGradA, RandomGammaGrad, Zeta, Polygamma, Betainc.

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/special.h"
#include "ops/values.h"

#define LIMIT 200000  // steps of a series or fraction

static double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// ---------------------------------------------------------------- incomplete gamma
// Both ways give a factor and, for the gradient, its derivative by a:
// lower = x^a e^-x / gamma(a + 1) * series, upper = x^a e^-x / gamma(a) * fraction.
static void lower_series(double a, double x, double *value, double *slope) {
  double term = 1, sum = 1, d_term = 0, d_sum = 0;
  for (int64_t n = 1; n < LIMIT; n++) {
    const double r = a + (double)n;
    d_term = d_term * x / r - term * x / (r * r);
    term *= x / r;
    sum += term;
    d_sum += d_term;
    if (term <= sum * 1e-17 && fabs(d_term) <= fabs(d_sum) * 1e-17) break;
  }
  *value = sum;
  *slope = d_sum;
}

static void upper_fraction(double a, double x, double *value, double *slope) {
  double y = 1 - a, z = x + y + 1, p2 = 1, q2 = x, p1 = x + 1, q1 = z * x;
  double dp2 = 0, dq2 = 0, dp1 = 0, dq1 = -x;
  double answer = p1 / q1, d_answer = (dp1 - answer * dq1) / q1;
  for (int64_t n = 1; n < LIMIT; n++) {
    const double c = (double)n;
    y += 1;
    z += 2;
    const double yc = y * c, p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
    const double dp = dp1 * z - p1 - dp2 * yc + p2 * c, dq = dq1 * z - q1 - dq2 * yc + q2 * c;
    p2 = p1, p1 = p, q2 = q1, q1 = q;
    dp2 = dp1, dp1 = dp, dq2 = dq1, dq1 = dq;
    if (q != 0) {
      const double r = p / q, d_r = (dp - r * dq) / q;
      const bool done =
          fabs(answer - r) <= fabs(r) * 1e-16 && fabs(d_answer - d_r) <= fabs(d_r) * 1e-15;
      answer = r, d_answer = d_r;
      if (done) break;
    }
    if (fabs(p) > 0x1p52) {
      p2 *= 0x1p-52, p1 *= 0x1p-52, q2 *= 0x1p-52, q1 *= 0x1p-52;
      dp2 *= 0x1p-52, dp1 *= 0x1p-52, dq2 *= 0x1p-52, dq1 *= 0x1p-52;
    }
  }
  *value = answer;
  *slope = d_answer;
}

static bool by_fraction(double a, double x) {
  return x > 1 && x > a;
}

static double upper_gamma(double a, double x);
static double lower_gamma(double a, double x) {
  double value, slope;
  if (x == 0) return 0;  // for every a
  if (!(x >= 0) || !(a > 0)) return NAN;
  if (isinf(a)) return 0;
  if (isinf(x)) return 1;
  if (by_fraction(a, x)) return 1 - upper_gamma(a, x);
  lower_series(a, x, &value, &slope);
  return value * exp(a * log(x) - x - log_gamma(a + 1));
}
static double upper_gamma(double a, double x) {
  double value, slope;
  if (!(x >= 0) || !(a > 0)) return NAN;
  if (x == 0) return 1;
  if (isinf(a)) return isinf(x) ? 0 : 1;
  if (isinf(x)) return 0;
  if (x < 1 || x < a) return 1 - lower_gamma(a, x);
  const double factor = exp(a * log(x) - x - log_gamma(a));
  if (factor == 0) return 0;  // and the fraction of an x that large overflows
  upper_fraction(a, x, &value, &slope);
  return value * factor;
}

// The derivative of the lower function by a, or that over the density at x with the other sign. 0 where the
// density is none that the type can tell from it, in both, as in TensorFlow.
static double gamma_slope(double a, double x, bool over_density, bool single) {
  double value, slope;
  if (x == 0 || (isinf(a) && a > 0 && x > 0)) return 0;  // for every a
  if (!(x >= 0) || !(a > 0)) return NAN;
  if (isinf(x)) return -0.0;
  if (a * log(x) - x - log_gamma(a) < -log(single ? (double)FLT_MAX : DBL_MAX)) return 0;
  if (by_fraction(a, x)) {
    upper_fraction(a, x, &value, &slope);
    const double d = -(slope + value * (log(x) - fy_digamma(a)));
    return over_density ? -d * x : d * exp(a * log(x) - x - log_gamma(a));
  }
  lower_series(a, x, &value, &slope);
  const double d = slope + value * (log(x) - fy_digamma(a + 1));
  return over_density ? -d * x / a : d * exp(a * log(x) - x - log_gamma(a + 1));
}

// ---------------------------------------------------------------- zeta and polygamma
// Ten terms, then Euler and Maclaurin's rest with (2k)! over Bernoulli's numbers. A q far below zero
// needs more terms; floats do without, as in TensorFlow, and what would take for ever stays inexact.
static double zeta_of(double x, double q, bool single) {
  static const double rest[] = {12.0,
                                -720.0,
                                30240.0,
                                -1209600.0,
                                47900160.0,
                                -1.8924375803183791606e9,
                                7.47242496e10,
                                -2.950130727918164224e12,
                                1.1646782814350067249e14,
                                -4.5979787224074726105e15,
                                1.8152105401943546773e17,
                                -7.1661652561756670113e18};
  if (x == 1) return INFINITY;  // even of NaN
  if (x != x || q != q || x < 1) return NAN;
  if (isinf(x) || q == INFINITY) return q > 1 ? 0 : q == 1 ? 1 : INFINITY;
  if (q <= 0) {
    if (q == floor(q)) return x == floor(x) && fmod(x, 2) == 0 ? INFINITY : NAN;
    if (x != floor(x)) return NAN;
  }
  double sum = pow(q, -x), a = q, term = 0;
  for (int i = 0; i < 9 || (!single && a <= 9 && i < 10000000);) {
    i++;
    a += 1;
    term = pow(a, -x);
    sum += term;
    if (fabs(term / sum) <= 0x1p-53) return sum;  // not of two zeros, which may come first
  }
  if (term == 0) return sum;
  sum += term * a / (x - 1) - term / 2;
  double factor = 1, k = 0;
  for (int i = 0; i < 12; i++) {
    factor *= x + k;
    term /= a;
    const double t = factor * term / rest[i];
    sum += t;
    if (fabs(t) < fabs(sum) * 0x1p-53) break;
    k += 1;
    factor *= x + k;
    term /= a;
    k += 1;
  }
  return sum;
}

static double polygamma(double n, double x, bool single) {
  if (n != floor(n) || n < 0) return NAN;
  if (n == 0) return fy_digamma(x);
  const double size = exp(log_gamma(n + 1)) * zeta_of(n + 1, x, single);
  return fmod(n + 1, 2) == 1 ? -size : size;  // infinity is even
}

// ---------------------------------------------------------------- incomplete beta
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (fabs(d) < tiny) d = tiny;
  d = 1 / d;
  double h = d;
  for (int64_t i = 1; i < LIMIT; i++) {
    const double m = (double)i;
    double f = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + f * d;
    c = 1 + f / c;
    if (fabs(d) < tiny) d = tiny;
    if (fabs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    f = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + f * d;
    c = 1 + f / c;
    if (fabs(d) < tiny) d = tiny;
    if (fabs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (fabs(d * c - 1) < 1e-16) break;
  }
  return h;
}
static double beta(double a, double b, double x) {
  if (a <= 0 || b <= 0 || !(x >= 0) || !(x <= 1)) return NAN;
  if (x == 0 || x == 1) return x == 1;  // whatever the others are
  if (!isfinite(a) || !isfinite(b)) return NAN;
  const double front =
      exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static fy_code betainc(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *shape = NULL;
  fy_tensor *out;
  char text[3][128];
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->rank > 0 && !shape) shape = ctx->in[i];
  }
  if (!shape) shape = ctx->in[0];
  for (int i = 0; i < 3; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->rank == 0 || fy_shape_equal(t->rank, t->dims, shape->rank, shape->dims)) continue;
    int first = 0;
    while (ctx->in[first]->rank == 0) first++;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shapes of %c and %c are inconsistent: %s vs. %s",
                   "abx"[first], "abx"[i], fy_tensor_shape_text(shape, text[0]),
                   fy_tensor_shape_text(t, text[1]));
  }
  FY_TRY(fy_out_like(ctx, 0, shape, &out, err));
  for (int64_t i = 0; i < out->count; i++) {
    double v[3];
    for (int k = 0; k < 3; k++) v[k] = fy_tensor_double(ctx->in[k], ctx->in[k]->rank ? i : 0);
    const double y = beta(v[0], v[1], v[2]);
    if (out->dtype == FY_FLOAT) {
      ((float *)out->data)[i] = (float)y;
    } else {
      ((double *)out->data)[i] = y;
    }
  }
  return FY_OK;
}

static fy_code betainc_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s = FY_UNKNOWN_SHAPE;
  int scalars = 0, unknown = 0;
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i].rank < 0) {
      unknown++;
    } else if (ctx->in[i].rank == 0) {
      scalars++;
    } else {
      FY_TRY(fy_shape_merge(ctx, s, ctx->in[i], &s, err));
    }
  }
  if (scalars == 3) return fy_shape_set(ctx, 0, 0, NULL, err);
  if (s.rank < 0 || (unknown && s.rank < 0)) return FY_OK;
  return fy_shape_set(ctx, 0, s.rank, s.dims, err);
}

// ---------------------------------------------------------------- ops
#define LOWER(S, x, y) (fy_a_##S) lower_gamma((double)(x), (double)(y))
#define UPPER(S, x, y) (fy_a_##S) upper_gamma((double)(x), (double)(y))
#define SLOPE(S, x, y) \
  (fy_a_##S) gamma_slope((double)(x), (double)(y), false, sizeof(fy_a_##S) == 4)
#define SAMPLE(S, x, y) \
  (fy_a_##S) gamma_slope((double)(x), (double)(y), true, sizeof(fy_a_##S) == 4)
#define ZETA(S, x, y) (fy_a_##S) zeta_of((double)(x), (double)(y), sizeof(fy_a_##S) == 4)
#define POLY(S, x, y) (fy_a_##S) polygamma((double)(x), (double)(y), sizeof(fy_a_##S) == 4)

static const fy_sample samples[] = {
    {"f32[3]=1,2,3; f32[3]=0,0.5,9", NULL, FY_OK, NULL},
    {"f64[2,1]=uniform; f64[3]=uniform", NULL, FY_OK, NULL},
    {"f32[2]=1,2; f32[3]=1,2,3", NULL, FY_INVALID_ARGUMENT, "Incompatible shapes: [2] vs. [3]"},
};
static const fy_sample beta_samples[] = {
    {"f32[]=1; f32[]=1; f32[3]=0,0.25,1", NULL, FY_OK, "0,0.25,1"},
    {"f64[2]=1,1; f64[]=1; f64[3]=0,0.25,1", NULL, FY_INVALID_ARGUMENT, "inconsistent"},
};
#define GAMMA_OP(Name, name, EXPR)                                                                \
  FY_FULL_REAL_TYPES(FY_BINARY_LOOP, name, EXPR)                                                  \
  static const fy_binary_loops name##_table = {.loop = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, name)}, \
                                               .ns = 200};                                        \
  FY_OP(Name, .shape = fy_shape_broadcast, .compute = fy_binary_compute, .aux = &name##_table,    \
        FY_SAMPLES(samples))
GAMMA_OP(Igamma, lower_loop, LOWER);
GAMMA_OP(Igammac, upper_loop, UPPER);
GAMMA_OP(IgammaGradA, slope_loop, SLOPE);
GAMMA_OP(RandomGammaGrad, sample_loop, SAMPLE);
GAMMA_OP(Zeta, zeta_loop, ZETA);
GAMMA_OP(Polygamma, polygamma_loop, POLY);
FY_OP(Betainc, .shape = betainc_shape, .compute = betainc, FY_SAMPLES(beta_samples));

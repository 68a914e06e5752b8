// SPDX-License-Identifier: Apache-2.0
// vecmath_trig.c: Sin, Cos, Asin, Acos, Atan, Atanh and Atan2 of float arrays (vecmath.h) in loops
// without branches. Polynomials as in Moshier's Cephes; errors are below 3 ulp.

#include "ops/trig.h"
#include "ops/vecmath.h"

#define CHUNK 256

FY_CLONES static void near_chunk(const float *in, float *out, int64_t n, int64_t quarter) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_trig_near(in[i], quarter);
}
FY_CLONES static int far_in(const float *in, int64_t n) {
  int any = 0;
  for (int64_t i = 0; i < n; i++) any |= fy_trig_far(in[i]);
  return any;
}
static void trig(const float *in, float *out, int64_t n, int64_t quarter) {
  float x[CHUNK];  // the output may be the input
  for (int64_t at = 0; at < n; at += CHUNK) {
    const int64_t m = n - at < CHUNK ? n - at : CHUNK;
    memcpy(x, in + at, (size_t)m * sizeof *x);
    near_chunk(x, out + at, m, quarter);
    if (!far_in(x, m)) continue;
    for (int64_t i = 0; i < m; i++)
      if (fy_trig_far(x[i])) out[at + i] = quarter ? cosf(x[i]) : sinf(x[i]);
  }
}
void fy_vec_sin_f32(const void *in, void *out, int64_t n, const void *param) {
  (void)param;
  trig(in, out, n, 0);
}
void fy_vec_cos_f32(const void *in, void *out, int64_t n, const void *param) {
  (void)param;
  trig(in, out, n, 1);
}

// ---------------------------------------------------------------- inverse functions
static inline float pick(bool c, float a, float b) {
  return c ? a : b;
}
// x in 0..0.5, z = x^2
static inline float asin_small(float x, float z) {
  const float p =
      (((4.2163199048e-2f * z + 2.4181311049e-2f) * z + 4.5470025998e-2f) * z + 7.4953002686e-2f) *
          z +
      1.6666752422e-1f;
  return p * z * x + x;
}
static inline float asin_one(float v) {
  const float a = fabsf(v), half = 0.5f * (1 - a);
  const bool big = a > 0.5f;
  const float z = pick(big, half, a * a), x = pick(big, sqrtf(half), a);
  const float p = asin_small(x, z);
  return copysignf(pick(big, 1.57079632679489661923f - (p + p), p), v);
}
static inline float acos_one(float v) {
  const float a = fabsf(v), half = 0.5f * (1 - a);
  const bool big = a > 0.5f;
  const float z = pick(big, half, a * a), x = pick(big, sqrtf(half), a);
  const float p = asin_small(x, z);
  // pi - 2p and 2p for big ones of either sign, pi/2 -+ p for the others; pi in two parts.
  const float outer = pick(v < 0, 3.14159274101257324f - (2 * p + 8.74227766e-8f), 2 * p);
  const float inner = 1.57079637050628662f - (copysignf(p, v) + 4.37113883e-8f);
  return pick(big, outer, inner);
}
static inline float atan_one(float v) {
  const float a = fabsf(v);
  const bool far = a > 2.414213562373095f, mid = a > 0.4142135623730950f;
  const float x = pick(far, -1 / a, pick(mid, (a - 1) / (a + 1), a));
  const float y = pick(far, 1.57079632679489661923f, pick(mid, 0.78539816339744830962f, 0));
  const float z = x * x;
  const float p =
      ((8.05374449538e-2f * z - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f;
  return copysignf(y + (p * z * x + x), v);
}

#define LOOP(name)                                                                             \
  FY_CLONES void fy_vec_##name##_f32(const void *pi, void *po, int64_t n, const void *param) { \
    const float *in = pi;                                                                      \
    float *out = po;                                                                           \
    (void)param;                                                                               \
    FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = name##_one(in[i]);                      \
  }
LOOP(asin)
LOOP(acos)
LOOP(atan)

FY_CLONES static void atanh_near(const float *in, float *big, float *small, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const float a = fabsf(in[i]), z = a * a;
    const float p = (((1.81740078349e-1f * z + 8.24370301058e-2f) * z + 1.46691431730e-1f) * z +
                     1.99782164500e-1f) *
                        z +
                    3.33337300303e-1f;
    small[i] = p * z * a + a;
    big[i] = 2 * a / (1 - a);
  }
}
void fy_vec_atanh_f32(const void *pi, void *po, int64_t n, const void *param) {
  const float *in = pi;
  float *out = po, big[CHUNK], small[CHUNK];
  for (int64_t at = 0; at < n; at += CHUNK) {
    const int64_t m = n - at < CHUNK ? n - at : CHUNK;
    atanh_near(in + at, big, small, m);
    fy_vec_log1p_f32(big, big, m, param);
    for (int64_t i = 0; i < m; i++) {
      const float x = in[at + i];
      const float y = pick(fabsf(x) < 0.5f, small[i], 0.5f * big[i]);
      out[at + i] = pick(fabsf(x) > 1, NAN, copysignf(y, x));
    }
  }
}

// The loop of Atan2 (typed.h): a is y, b is x.
static inline float atan2_one(float y, float x) {
  const float ax = fabsf(x), ay = fabsf(y);
  const float low = pick(ax < ay, ax, ay), high = pick(ax < ay, ay, ax);
  float q = low / high;
  q = pick(high == 0, 0, pick(low == INFINITY, 1, q));
  float r = atan_one(q);
  r = pick(ay > ax, 1.57079632679489661923f - r, r);
  r = pick(signbit(x) != 0, 3.14159265358979323846f - r, r);
  return pick(x != x || y != y, x + y, copysignf(r, y));
}
FY_CLONES void fy_vec_atan2_f32(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po,
                                int64_t n, int *bad) {
  const float *a = pa, *b = pb;
  float *o = po;
  (void)bad;
#define EXPR(S, x, y) atan2_one(x, y)
  FY_BINARY_ROWS(f32, EXPR, FY_LD_f32, FY_ST_f32)
#undef EXPR
}

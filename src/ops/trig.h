// SPDX-License-Identifier: Apache-2.0
// trig.h: sin and cos of a float, by arithmetic that a compiler turns into vectors: the argument less
// a multiple of pi/2 and a polynomial, both in double, so that the result is the nearest float but
// for one in some thousands. For lanes without fused multiply-add (lanes_trig.inc).

#ifndef FY_OPS_TRIG_H
#define FY_OPS_TRIG_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Beyond it (and up to infinity) the multiple of pi/2 needs more digits: libm.
#define FY_TRIG_LIMIT 131072.0f

static inline bool fy_trig_far(float x) {
  return fabsf(x) >= FY_TRIG_LIMIT;
}

// sin for quarter 0, cos for quarter 1.
static inline float fy_trig_near(float v, int64_t quarter) {
  const double x = (double)v, t = x * 0.63661977236758134308 + 0x1.8p52, k = t - 0x1.8p52;
  const double r = (x - k * 1.57079632673412561417e+00) - k * 6.07710050650619224932e-11;
  const double z = r * r;
  const double s =
      r + r * z *
              (-1.0 / 6 +
               z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 - z * (1.0 / 39916800)))));
  const double c =
      1 + z * (-0.5 + z * (1.0 / 24 +
                           z * (-1.0 / 720 +
                                z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600))))));
  uint64_t n, a, b;
  memcpy(&n, &t, sizeof n);
  n += (uint64_t)quarter;
  memcpy(&a, &c, sizeof a);
  memcpy(&b, &s, sizeof b);
  const uint64_t odd = 0 - (n & 1);
  uint64_t bits = ((a & odd) | (b & ~odd)) ^ ((n & 2) << 62);
  double y;
  memcpy(&y, &bits, sizeof y);
  return (float)y;
}
static inline float fy_trig_sin(float x) {
  return fy_trig_far(x) ? sinf(x) : x == 0 ? x : fy_trig_near(x, 0);  // -0 stays
}
static inline float fy_trig_cos(float x) {
  return fy_trig_far(x) ? cosf(x) : fy_trig_near(x, 1);
}

#endif

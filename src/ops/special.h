// SPDX-License-Identifier: Apache-2.0
// special.h: special functions that more than one file of ops needs, and curves: smooth functions of
// a positive number as polynomials of an eighth of an octave each, made from the exact function when
// they are first used and kept for the process.

#ifndef FY_OPS_SPECIAL_H
#define FY_OPS_SPECIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

double fy_digamma(double x);  // NaN at its poles

#define FY_CURVE_TERMS  12  // enough for a double if nothing is singular but at 0
#define FY_CURVE_ROUGH  8   // for a float
#define FY_CURVE_PIECES 8   // of an octave
typedef struct fy_curve {
  double (*fn)(double);  // the exact function: slow
  int low, high;         // from 2^low to 2^high; elsewhere the function itself is called
  const double *_Atomic pieces;
} fy_curve;
// Makes the pieces; NULL if there is no memory for them.
const double *fy_curve_make(fy_curve *c);

// The function at |x|, not negative. |rough|: to the precision of a float.
static inline double fy_curve_at(fy_curve *c, double x, bool rough) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t piece = (bits >> 49) - ((uint64_t)(c->low + 1023) << 3);
  if (piece >= (uint64_t)(c->high - c->low) * FY_CURVE_PIECES) return c->fn(x);
  const double *p = atomic_load_explicit(&c->pieces, memory_order_acquire);
  if (!p && !(p = fy_curve_make(c))) return c->fn(x);
  p += piece * FY_CURVE_TERMS;
  bits = (bits << 3 & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  memcpy(&x, &bits, sizeof x);
  const double t = 2 * x - 3;
  double sum = p[FY_CURVE_ROUGH - 1];
  if (!rough) {
    sum = p[FY_CURVE_TERMS - 1];
    for (int k = FY_CURVE_TERMS - 2; k >= FY_CURVE_ROUGH - 1; k--) sum = sum * t + p[k];
  }
  for (int k = FY_CURVE_ROUGH - 2; k >= 0; k--) sum = sum * t + p[k];
  return sum;
}

#endif

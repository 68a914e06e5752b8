// SPDX-License-Identifier: Apache-2.0
// special.h: special functions that more than one file of ops needs, and curves: smooth functions of
// a positive number as polynomials of an eighth of an octave each, made from the exact function when
// they are first used and kept for the process.

#ifndef FY_OPS_SPECIAL_H
#define FY_OPS_SPECIAL_H

#include <stdatomic.h>
#include <stdbool.h>

double fy_digamma(double x);  // NaN at its poles

typedef struct fy_curve {
  double (*fn)(double);  // the exact function: slow
  int low, high;         // from 2^low to 2^high; elsewhere the function itself is called
  const double *_Atomic pieces;
} fy_curve;
// The function at |x|, not negative. |rough|: to the precision of a float.
double fy_curve_at(fy_curve *c, double x, bool rough);

#endif

// SPDX-License-Identifier: Apache-2.0
// fft_plan.c: factors, roots of unity, and the transform of fft_plan.inc for float and double.

#include "ops/fft_plan.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define LARGEST_PRIME 31  // a larger one is better done by a convolution

// cos and -sin of 2 pi k / n, from an angle of at most pi / 4.
static void unit_root(int64_t k, int64_t n, double *re, double *im) {
  int64_t x = k % n * 8;  // in eighths of a turn: x / n
  const int64_t eighth = x / n;
  double c, s;
  x -= eighth * n;
  const double angle = (eighth & 1 ? (double)(n - x) : (double)x) * (M_PI / 4) / (double)n;
  c = cos(angle);
  s = sin(angle);
  if (eighth & 1) {
    const double kept = c;
    c = s, s = kept;
  }
  switch (eighth / 2) {
    case 0: *re = c, *im = -s; break;
    case 1: *re = -s, *im = -c; break;
    case 2: *re = -c, *im = s; break;
    default: *re = s, *im = c; break;
  }
}

// False if a prime factor is too large.
static bool factorise(fy_fft_plan *plan, int64_t n) {
  plan->factors = 0;
  while (n % 4 == 0) plan->factor[plan->factors++] = 4, n /= 4;
  for (int64_t p = 2; p <= LARGEST_PRIME && n > 1; p++) {
    while (n % p == 0) plan->factor[plan->factors++] = p, n /= p;
  }
  return n == 1;
}

#define FFT_PART "ops/fft_plan.inc"
#include "ops/fft_types.inc"

void fy_fft_plan_free(fy_fft_plan *plan) {
  fy_aligned_free(plan->roots);
  fy_aligned_free(plan->split);
  fy_aligned_free(plan->chirp);
  fy_aligned_free(plan->filter);
  memset(plan, 0, sizeof *plan);
}

// SPDX-License-Identifier: Apache-2.0
// fft_plan.c: factors, roots of unity, and the transform of fft_plan.inc for float and double.

#include "ops/fft_plan.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/typed.h"

#define LARGEST_PRIME 181  // a larger one is better done by a convolution

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

// The least length of at least |n| that is a power of two times 1, 3, 5, 9, 15 or 27.
static int64_t smooth_length(int64_t n) {
  static const int64_t odd[] = {1, 3, 5, 9, 15, 27};
  int64_t best = INT64_MAX;
  for (int i = 0; i < 6; i++) {
    int64_t length = odd[i];
    while (length < n) length *= 2;
    if (length < best) best = length;
  }
  return best;
}

bool fy_fft_shape(int64_t n, int64_t lanes, int64_t *rows, int64_t *cols) {
  const int64_t middle = (int64_t)sqrt((double)n);
  double least = INFINITY;
  for (int64_t d = middle; d >= 4 && d * 16 > middle; d--) {
    if (n % d) continue;
    const int64_t e = n / d;  // lanes that have nothing to do are paid for, too
    const double steps = (double)((d + lanes - 1) / lanes) * (double)((e + lanes - 1) / lanes);
    if (steps < least) least = steps, *rows = e, *cols = d;
  }
  return least < INFINITY;
}

// The passes are compiled twice, for AVX2 and, with fewer of them (size), for any machine.
#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__OPTIMIZE__)
#define WIDE __attribute__((target("avx2")))
#endif
#define FFT_PART "ops/fft_plan.inc"
#include "ops/fft_types.inc"

void fy_fft_plan_free(fy_fft_plan *plan) {
  fy_aligned_free(plan->roots);
  fy_aligned_free(plan->chirp);
  fy_aligned_free(plan->filter);
  memset(plan, 0, sizeof *plan);
}

void fy_fft_matrix_free(fy_fft_matrix *m) {
  fy_fft_plan_free(&m->columns);
  fy_fft_plan_free(&m->lines);
  fy_aligned_free(m->near);
  fy_aligned_free(m->far);
  fy_aligned_free(m->beside);
  memset(m, 0, sizeof *m);
}

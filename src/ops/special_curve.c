// SPDX-License-Identifier: Apache-2.0
// special_curve.c: the pieces of a curve: at the nodes of Chebyshev, then as powers.

#include <math.h>
#include <pthread.h>

#include "base/alloc.h"
#include "ops/special.h"

#define N FY_CURVE_TERMS

// What the value at node |i| adds to the coefficient of t^j, for t in [-1, 1]. The sums cancel:
// more digits than a double has.
static void fill_weights(long double weight[N][N]) {
  long double term[N], before[N] = {0}, last[N] = {0};
  memset(weight, 0, sizeof(long double[N][N]));
  for (int k = 0; k < N; k++) {  // T_k = 2 t T_k-1 - T_k-2, as powers
    for (int j = 0; j < N; j++) {
      term[j] = k == 0 ? j == 0 : k == 1 ? j == 1 : (j ? 2 * last[j - 1] : 0) - before[j];
    }
    for (int i = 0; i < N; i++) {
      const long double part = cosl(M_PIl * k * (i + 0.5L) / N) * (k ? 2 : 1) / N;
      for (int j = 0; j < N; j++) weight[j][i] += part * term[j];
    }
    memcpy(before, last, sizeof last);
    memcpy(last, term, sizeof term);
  }
}

static void make_piece(const fy_curve *c, long double weight[N][N], double from, double width,
                       double *out) {
  long double sum[N] = {0};
  for (int i = 0; i < N; i++) {
    const double y = c->fn(from + width * (cos(M_PI * (i + 0.5) / N) + 1) / 2);
    for (int j = 0; j < N; j++) sum[j] += weight[j][i] * y;
  }
  for (int j = 0; j < N; j++) out[j] = (double)sum[j];
}

const double *fy_curve_make(fy_curve *c) {
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mu);
  const double *made = atomic_load_explicit(&c->pieces, memory_order_relaxed);
  const int count = FY_CURVE_PIECES * (c->high - c->low);
  double *pieces = made ? NULL : fy_malloc((size_t)count * N * sizeof *pieces);
  long double weight[N][N];
  if (pieces) fill_weights(weight);
  for (int i = 0; pieces && i < count; i++) {
    const double octave = ldexp(1, c->low + i / FY_CURVE_PIECES), width = octave / FY_CURVE_PIECES;
    make_piece(c, weight, octave + width * (i % FY_CURVE_PIECES), width, pieces + (size_t)i * N);
  }
  if (pieces) atomic_store_explicit(&c->pieces, made = pieces, memory_order_release);
  pthread_mutex_unlock(&mu);
  return made;
}

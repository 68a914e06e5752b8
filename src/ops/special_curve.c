// SPDX-License-Identifier: Apache-2.0
// special_curve.c: the pieces of a curve: at the nodes of Chebyshev, then as powers.

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/special.h"
#include "ops/typed.h"

#define N      12  // terms: enough for a double if nothing is singular but at 0
#define ROUGH  8   // for a float
#define PIECES 8   // of an octave

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

// NULL if there is no memory.
static const double *make(fy_curve *c) {
  static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mu);
  const double *made = atomic_load_explicit(&c->pieces, memory_order_relaxed);
  const int count = PIECES * (c->high - c->low);
  double *pieces = made ? NULL : fy_malloc((size_t)count * N * sizeof *pieces);
  long double weight[N][N];
  if (pieces) fill_weights(weight);
  for (int i = 0; pieces && i < count; i++) {
    const double octave = ldexp(1, c->low + i / PIECES), width = octave / PIECES;
    make_piece(c, weight, octave + width * (i % PIECES), width, pieces + (size_t)i * N);
  }
  if (pieces) atomic_store_explicit(&c->pieces, made = pieces, memory_order_release);
  pthread_mutex_unlock(&mu);
  return made;
}

double fy_curve_at(fy_curve *c, double x, bool rough) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t piece = (bits >> 49) - ((uint64_t)(c->low + 1023) << 3);
  if (piece >= (uint64_t)(c->high - c->low) * PIECES) return c->fn(x);
  const double *p = atomic_load_explicit(&c->pieces, memory_order_acquire);
  if (!p && !(p = make(c))) return c->fn(x);
  p += piece * N;
  bits = (bits << 3 & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  memcpy(&x, &bits, sizeof x);
  const double t = 2 * x - 3;
  double sum = p[ROUGH - 1];
  if (!rough) {
    sum = p[N - 1];
    for (int k = N - 2; k >= ROUGH - 1; k--) sum = sum * t + p[k];
  }
  FY_UNROLL for (int k = ROUGH - 2; k >= 0; k--) sum = sum * t + p[k];
  return sum;
}

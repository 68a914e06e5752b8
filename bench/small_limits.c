// small_limits.c: what small.c calls the limit of an op: the loop alone, compiled for this machine's vectors.
#include "small.h"

#include <math.h>
#include <string.h>

enum { N = 1000, ROWS = 10, COLS = 100 };

#define EACH(name, expression)                                                               \
  void small_##name(const float *restrict x, const float *restrict y, float *restrict out) { \
    (void)y;                                                                                 \
    for (int i = 0; i < N; i++) out[i] = (expression);                                       \
  }
EACH(neg, -x[i])
EACH(relu, x[i] > 0 ? x[i] : 0)
EACH(add, x[i] + y[i])
EACH(select, y[i] > 1 ? x[i] : y[i])
EACH(sqrt, sqrtf(x[i]))
EACH(exp, expf(x[i]))
EACH(log, logf(x[i]))
EACH(tanh, tanhf(x[i]))
EACH(sigmoid, 1 / (1 + expf(-x[i])))
EACH(erf, erff(x[i]))

void small_copy(const float *x, const float *y, float *out) {
  (void)y;
  memcpy(out, x, N * sizeof *x);
}

void small_less(const float *restrict x, const float *restrict y, float *restrict out) {
  bool *b = (bool *)out;
  for (int i = 0; i < N; i++) b[i] = x[i] < y[i];
}

static float sum(const float *x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}

static float most(const float *x, int n) {
  float m = x[0];
  for (int i = 1; i < n; i++) m = x[i] > m ? x[i] : m;
  return m;
}

void small_sum(const float *x, const float *y, float *out) {
  (void)y;
  *out = sum(x, N);
}

void small_sum_rows(const float *x, const float *y, float *out) {
  (void)y;
  for (int r = 0; r < ROWS; r++) out[r] = sum(x + r * COLS, COLS);
}

void small_max_rows(const float *x, const float *y, float *out) {
  (void)y;
  for (int r = 0; r < ROWS; r++) out[r] = most(x + r * COLS, COLS);
}

void small_sum_columns(const float *restrict x, const float *restrict y, float *restrict out) {
  (void)y;
  memcpy(out, x, COLS * sizeof *x);
  for (int r = 1; r < ROWS; r++)
    for (int c = 0; c < COLS; c++) out[c] += x[r * COLS + c];
}

void small_transpose(const float *restrict x, const float *restrict y, float *restrict out) {
  (void)y;
  for (int c = 0; c < COLS; c++)
    for (int r = 0; r < ROWS; r++) out[c * ROWS + r] = x[r * COLS + c];
}

void small_gather(const float *restrict x, const float *restrict y, float *restrict out) {
  static int at[N];
  (void)y;
  if (!at[1])
    for (int i = 0; i < N; i++) at[i] = i * 7 % N;
  for (int i = 0; i < N; i++) out[i] = x[at[i]];
}

void small_softmax(const float *restrict x, const float *restrict y, float *restrict out) {
  (void)y;
  const float m = most(x, N);
  float s = 0;
  for (int i = 0; i < N; i++) s += out[i] = expf(x[i] - m);
  for (int i = 0; i < N; i++) out[i] /= s;
}

void small_norm(const float *restrict x, const float *restrict y, float *restrict out) {
  const float m = sum(x, N) / N;
  float v = 0;
  for (int i = 0; i < N; i++) v += (x[i] - m) * (x[i] - m);
  const float s = 1 / sqrtf(v / N + 1e-3f);
  for (int i = 0; i < N; i++) out[i] = (x[i] - m) * s * y[i] + y[i];
}

void small_cumsum(const float *x, const float *y, float *out) {
  (void)y;
  float s = 0;
  for (int i = 0; i < N; i++) out[i] = s += x[i];
}

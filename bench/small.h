// small.h: the bare loops that small.c compares with: 1,000 floats (or 10 rows of 100) from x (and y) to out.
#ifndef FERRY_BENCH_SMALL_H_
#define FERRY_BENCH_SMALL_H_

#include <stdbool.h>
#include <stddef.h>

typedef void (*small_loop)(const float *x, const float *y, float *out);

// clang-format off
#define SMALL_LOOPS(LOOP)                                                                          \
  LOOP(copy) LOOP(neg) LOOP(relu) LOOP(add) LOOP(less) LOOP(select) LOOP(sqrt) LOOP(exp) LOOP(log) \
  LOOP(tanh) LOOP(sigmoid) LOOP(erf) LOOP(sum) LOOP(sum_rows) LOOP(sum_columns) LOOP(max_rows)     \
  LOOP(transpose) LOOP(gather) LOOP(softmax) LOOP(norm) LOOP(cumsum)
// clang-format on
#define SMALL_DECLARE(name) void small_##name(const float *x, const float *y, float *out);
SMALL_LOOPS(SMALL_DECLARE)

static inline float small_value(size_t i) {
  return (float)((i * 7919) % 1000) * 0.002f + 0.1f;
}

#endif

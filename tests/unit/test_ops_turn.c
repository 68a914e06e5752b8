// SPDX-License-Identifier: Apache-2.0
// Rows that become columns (ops/turn.h): every size of element, planes around squares and blocks, results
// that begin anywhere, in the cache and past it. Nothing beside the result is written.

#include "support_graph.h"

#include <stdlib.h>

#include "ops/turn.h"

#define EDGE 64  // bytes before and behind the result
#define MARK 0xA5

static void try_turn(size_t size, int64_t rows, int64_t cols, int64_t gap, size_t off, bool past) {
  const int64_t out_step = cols + gap, in_step = rows + 3;
  const size_t in_bytes = (size_t)(cols * in_step) * size;
  const size_t out_bytes = (size_t)(rows * out_step) * size + 2 * EDGE + off;
  unsigned char *in = malloc(in_bytes), *out = aligned_alloc(64, (out_bytes + 63) / 64 * 64);
  assert_non_null(in);
  assert_non_null(out);
  for (size_t i = 0; i < in_bytes; i++) in[i] = (unsigned char)(i * 2654435761u >> 13);
  memset(out, MARK, out_bytes);
  fy_turn_plane(&(fy_turn){.out = (char *)out + EDGE + off,
                           .in = (const char *)in,
                           .out_step = out_step,
                           .in_step = in_step,
                           .rows = rows,
                           .cols = cols,
                           .size = size,
                           .past_cache = past});
  const unsigned char *at = out;
  for (size_t i = 0; i < EDGE + off; i++) assert_int_equal(*at++, MARK);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < cols; c++, at += size)
      if (memcmp(at, in + (size_t)(c * in_step + r) * size, size) != 0)
        fail_msg("size %zu, %lld x %lld, at %lld, %lld", size, (long long)rows, (long long)cols,
                 (long long)r, (long long)c);
    for (size_t i = 0; i < (size_t)gap * size; i++) assert_int_equal(*at++, MARK);
  }
  while (at < out + out_bytes) assert_int_equal(*at++, MARK);
  free(in);
  free(out);
}

static void planes(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 4, 8, 16};
  static const int64_t dims[] = {8, 9, 15, 16, 23, 64, 65, 127, 131, 150, 300};
  enum { N = sizeof dims / sizeof *dims };
  for (int s = 0; s < 5; s++)
    for (int r = 0; r < N; r++)
      for (int c = 0; c < N; c++)
        for (int form = 0; form < 6; form++)
          try_turn(sizes[s], dims[r], dims[c],
                   form % 3 == 0   ? 0
                   : form % 3 == 1 ? 5
                                   : 64,
                   form % 3 == 2 ? 0 : sizes[s] * (size_t)(r % 5), form >= 3);
}

static void words_of_less_than_a_square(void **state) {
  (void)state;
  for (int64_t n = 1; n < 8; n++) {  // 32 rows of n: they overlap, and end in eight words more
    uint32_t in[32 * 8 + 8], turned[8 * 32], back[32 * 8 + 8];
    for (uint32_t i = 0; i < sizeof in / sizeof *in; i++) in[i] = i * 7 + 1;
    fy_turn_words(turned, 32, in, n, n, 32);
    for (int64_t r = 0; r < 32; r++)
      for (int64_t c = 0; c < n; c++) assert_int_equal(turned[c * 32 + r], in[r * n + c]);
    fy_turn_words(back, n, turned, 32, 32, n);
    assert_memory_equal(back, in, (size_t)(32 * n) * sizeof *in);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planes),
      cmocka_unit_test(words_of_less_than_a_square),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Spans of bytes that grow and shrink: the most of all, and every single one, are those of a plain array.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "execute/spans.h"

static void as_an_array(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (uint32_t n = 0; n < 70; n++) {
    uint64_t plain[70] = {0}, read[70];
    fy_spans s;
    for (uint32_t i = 0; i < n; i++) plain[i] = (seed = seed * 1664525u + 1013904223u) >> 20;
    assert_true(fy_spans_make(&s, plain, n));
    for (int round = 0; n && round < 50; round++) {
      seed = seed * 1664525u + 1013904223u;
      const uint32_t first = (seed >> 8) % n, last = first + (seed >> 20) % (n - first);
      const int64_t bytes = (int64_t)(seed % 1000) - 300;
      int64_t most = INT64_MIN;
      fy_spans_add(&s, first, last, bytes);
      for (uint32_t i = first; i <= last; i++) plain[i] += (uint64_t)bytes;
      for (uint32_t i = 0; i < n; i++)
        if ((int64_t)plain[i] > most) most = (int64_t)plain[i];
      assert_int_equal(fy_spans_most(&s), most);
    }
    fy_spans_read(&s, read);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(read[i], plain[i]);
    fy_spans_free(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_an_array)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

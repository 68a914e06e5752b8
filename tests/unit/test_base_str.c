// SPDX-License-Identifier: Apache-2.0
// test_base_str.c: growing strings, human sizes, nearest names, and the clock.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/thread.h"

static void add(void **state) {
  (void)state;
  fy_str s;
  fy_str_init(&s);
  assert_string_equal(fy_str_text(&s), "");
  fy_str_add(&s, "ab");
  fy_str_addc(&s, 'c');
  fy_str_addn(&s, "defg", 2);
  fy_str_printf(&s, "-%d-%50s|", 12, "x");
  assert_int_equal(s.len, 5 + 4 + 51);
  assert_int_equal(strlen(s.p), s.len);
  char *taken = fy_str_take(&s);
  assert_int_equal(strncmp(taken, "abcde-12-   ", 12), 0);
  fy_free(taken);
  taken = fy_str_take(&s);
  assert_string_equal(taken, "");
  fy_free(taken);
}

static void json(void **state) {
  (void)state;
  static const char text[] = "a\"\\\n\x01\0é\xff\xed\xa0\x80";
  fy_str s;
  fy_str_init(&s);
  fy_str_json(&s, text, sizeof text - 1);
  assert_string_equal(s.p, "\"a\\\"\\\\\\n\\u0001\\u0000é\\ufffd\\ufffd\\ufffd\\ufffd\"");
  fy_str_free(&s);
}

static void failure_is_remembered(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    fy_str s;
    fy_str_init(&s);
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    for (int i = 0; i < 100; i++) fy_str_printf(&s, "%d,", i);
    bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    assert_int_equal(s.failed, reached);
    char *taken = fy_str_take(&s);
    assert_int_equal(taken == NULL, reached);
    fy_free(taken);
    if (!reached) break;
  }
}

static void human(void **state) {
  (void)state;
  static const struct {
    double bytes;
    const char *text;
  } rows[] = {
      {0, "0B"},          {512, "512B"},        {1023, "1023B"},    {1024, "1.0KiB"},
      {2048, "2.0KiB"},   {1048576, "1.00MiB"}, {1.5e9, "1.40GiB"}, {1610612736, "1.50GiB"},
      {-2048, "-2.0KiB"}, {-1, "-1B"},          {1e30, "16.00EiB"}, {1048575, "1024.0KiB"},
  };
  char out[32];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fy_human_bytes(rows[i].bytes, out);
    assert_string_equal(out, rows[i].text);
  }
}

static void parse(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bytes;
  } good[] = {
      {"0", 0},
      {"2GiB", 2ull << 30},
      {"512MB", 512000000},
      {"1e6", 1000000},
      {"4k", 4000},
      {"4Ki", 4096},
      {"1.5 KiB", 1536},
      {"10B", 10},
      {"2E", 2000000000000000000ull},
      {"18446744073709551615", UINT64_MAX},
      {"1e-3k", 1},
      {"1E3", 1000},
      {".5k", 500},
      {"1.1k", 1100},
  };
  static const char *const bad[] = {"",      "k",    ".",     "-1",  "1x",
                                    "1KiBs", "1e30", "20EiB", "1 2", "0x10"};
  uint64_t out;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(fy_parse_bytes(good[i].text, strlen(good[i].text), &out));
    assert_true(out == good[i].bytes);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(fy_parse_bytes(bad[i], strlen(bad[i]), &out));
  }
  assert_true(fy_parse_bytes("12GiB", 2, &out));  // |n| bounds the text
  assert_int_equal(out, 12);
}

static void nearest(void **state) {
  (void)state;
  static const char *const names[] = {"MatMul", "Add", "AddV2", "Conv2D", "Relu"};
  assert_string_equal(fy_nearest("Matmul", names, 5), "MatMul");
  assert_string_equal(fy_nearest("Conv2", names, 5), "Conv2D");
  assert_string_equal(fy_nearest("AddV3", names, 5), "AddV2");
  assert_null(fy_nearest("Softmax", names, 5));
  assert_null(fy_nearest("", names, 5));
  assert_null(fy_nearest("Add", names, 0));
}

static void clock_and_wait(void **state) {
  (void)state;
  int64_t start = fy_now_ns();
  fy_sleep_ns(1000000);
  assert_true(fy_now_ns() - start >= 1000000);
  assert_true(fy_wall_micros() > 1600000000000000);
  assert_true(fy_cpu_count() >= 1);
  fy_mutex m = FY_MUTEX_INIT;
  fy_cond fixed = FY_COND_INIT, made;
  fy_cond_init(&made);
  fy_lock(&m);
  start = fy_now_ns();
  while (fy_cond_wait_until(&made, &m, start + 2000000)) {
  }
  while (fy_cond_wait_until(&fixed, &m, start + 4000000)) {
  }
  assert_true(fy_now_ns() - start >= 4000000);
  assert_false(fy_cond_wait_until(&made, &m, -1));
  fy_unlock(&m);
  fy_cond_destroy(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(add),
      cmocka_unit_test(json),
      cmocka_unit_test(failure_is_remembered),
      cmocka_unit_test(human),
      cmocka_unit_test(parse),
      cmocka_unit_test(nearest),
      cmocka_unit_test(clock_and_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

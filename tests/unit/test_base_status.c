// SPDX-License-Identifier: Apache-2.0
// test_base_status.c: error values.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

static void text_and_code(void **state) {
  (void)state;
  fy_error e;
  fy_error_init(&e);
  assert_string_equal(fy_error_text(&e), "");
  assert_int_equal(fy_fail(&e, FY_NOT_FOUND, "no %s", "file"), FY_NOT_FOUND);
  assert_string_equal(fy_error_text(&e), "no file");
  assert_int_equal(e.len, 7);
  fy_error_append(&e, " in %d", 3);
  fy_error_prepend(&e, "open: ");
  assert_string_equal(fy_error_text(&e), "open: no file in 3");
  assert_int_equal(e.code, FY_NOT_FOUND);
  fy_error_clear(&e);
  assert_int_equal(e.code, FY_OK);
  fy_error_append(&e, "ignored");
  assert_string_equal(fy_error_text(&e), "");
  assert_int_equal(fy_fail(NULL, FY_INTERNAL, "%s", "x"), FY_INTERNAL);
  assert_int_equal(fy_fail_oom(&e, 12), FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&e), "12 bytes"));
  fy_error_clear(&e);
}

static void code_names(void **state) {
  (void)state;
  assert_string_equal(fy_code_name(FY_OK), "OK");
  assert_string_equal(fy_code_name(FY_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  assert_string_equal(fy_code_name(FY_UNAUTHENTICATED), "UNAUTHENTICATED");
  assert_non_null(fy_code_name((fy_code)99));
}

// Around the inline size, and with arguments that point into the error itself.
static void long_and_own_text(void **state) {
  (void)state;
  char big[1200];
  for (size_t n = FY_ERROR_INLINE - 2; n <= FY_ERROR_INLINE + 2; n++) {
    memset(big, 'a', n);
    big[n] = '\0';
    fy_error e;
    fy_error_init(&e);
    fy_fail(&e, FY_INTERNAL, "%s", big);
    assert_string_equal(fy_error_text(&e), big);
    assert_int_equal(e.heap != NULL, n >= FY_ERROR_INLINE);
    for (int i = 0; i < 3; i++) fy_fail(&e, e.code, "x: %s", fy_error_text(&e));
    assert_int_equal(e.len, n + 9);
    assert_int_equal(strncmp(fy_error_text(&e), "x: x: x: aaa", 12), 0);
    fy_fail(&e, FY_ABORTED, "short, of %.3s", fy_error_text(&e));
    assert_string_equal(fy_error_text(&e), "short, of x: ");
    assert_null(e.heap);
    fy_error_clear(&e);
  }
}

static void cut_when_memory_is_short(void **state) {
  (void)state;
  char big[1000];
  memset(big, 'b', sizeof big - 1);
  big[sizeof big - 1] = '\0';
  fy_error e;
  fy_error_init(&e);
  fy_fault_arm(FY_FAULT_ALLOC, 1, true);
  fy_fail(&e, FY_DATA_LOSS, "%s", big);
  fy_error_append(&e, "%s", big);
  fy_fault_disarm(FY_FAULT_ALLOC);
  assert_int_equal(e.len, FY_ERROR_INLINE - 1);
  assert_int_equal(strlen(fy_error_text(&e)), e.len);
  assert_string_equal(fy_error_text(&e) + e.len - 4, "b...");
  fy_error_clear(&e);
}

static void move(void **state) {
  (void)state;
  char big[1000];
  memset(big, 'c', sizeof big - 1);
  big[sizeof big - 1] = '\0';
  fy_error a, b;
  fy_error_init(&a);
  fy_error_init(&b);
  fy_fail(&a, FY_ABORTED, "%s", big);
  fy_fail(&b, FY_INTERNAL, "%s", big);
  fy_error_move(&b, &a);
  assert_string_equal(fy_error_text(&b), big);
  assert_int_equal(a.code, FY_OK);
  fy_fail(&a, FY_UNKNOWN, "small");
  fy_error_move(&b, &a);
  assert_string_equal(fy_error_text(&b), "small");
  fy_error_move(&b, &b);
  assert_int_equal(b.code, FY_UNKNOWN);
  fy_error_move(&b, &a);
  assert_int_equal(b.code, FY_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_and_code),
      cmocka_unit_test(code_names),
      cmocka_unit_test(long_and_own_text),
      cmocka_unit_test(cut_when_memory_is_short),
      cmocka_unit_test(move),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

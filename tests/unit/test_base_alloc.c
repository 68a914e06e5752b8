// SPDX-License-Identifier: Apache-2.0
// test_base_alloc.c: allocation, fault injection and arenas.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

static void nth_fails(void **state) {
  (void)state;
  fy_fault_arm(FY_FAULT_ALLOC, 2, false);
  void *a = fy_malloc(1), *b = fy_malloc(1), *c = fy_calloc(1, 1);
  assert_non_null(a);
  assert_null(b);
  assert_non_null(c);
  assert_int_equal(fy_fault_hits(FY_FAULT_ALLOC), 3);
  assert_false(fy_fault_due(FY_FAULT_COPY));
  fy_fault_arm(FY_FAULT_ALLOC, 1, true);
  assert_null(fy_realloc(a, 10));
  assert_null(fy_strdup("x"));
  assert_null(fy_aligned_alloc(3));
  fy_fault_disarm(FY_FAULT_ALLOC);
  fy_fault_arm(FY_FAULT_LAUNCH, 1, false);
  assert_true(fy_fault_due(FY_FAULT_LAUNCH));
  assert_false(fy_fault_due(FY_FAULT_LAUNCH));
  fy_fault_disarm(FY_FAULT_LAUNCH);
  assert_int_equal(fy_fault_armed, 0);
  fy_free(a);
  fy_free(c);
}

static void aligned(void **state) {
  (void)state;
  for (size_t n = 0; n < 300; n += 7) {
    char *p = fy_aligned_alloc(n);
    assert_int_equal((uintptr_t)p & 63, 0);
    memset(p, 1, n);
    fy_aligned_free(p);
  }
  fy_aligned_free(NULL);
  assert_null(fy_aligned_alloc(SIZE_MAX - 3));
}

static void sizes(void **state) {
  (void)state;
  void *empty = fy_malloc(0);
  assert_non_null(empty);
  fy_free(empty);
  assert_null(fy_calloc(SIZE_MAX / 2, 3));
  char *s = fy_strndup("hello", 2);
  assert_string_equal(s, "he");
  fy_free(s);
  size_t out;
  assert_false(fy_mul_size(SIZE_MAX, 2, &out));
  assert_false(fy_add_size(SIZE_MAX, 1, &out));
}

static void grow(void **state) {
  (void)state;
  int *data = NULL;
  size_t cap = 0;
  for (size_t n = 1; n <= 1000; n++) {
    assert_true(fy_grow(&data, &cap, n, sizeof *data));
    data[n - 1] = (int)n;
  }
  assert_int_equal(data[999], 1000);
  size_t before = cap;
  assert_false(fy_grow(&data, &cap, SIZE_MAX / 2, sizeof *data));
  fy_fault_arm(FY_FAULT_ALLOC, 1, false);
  assert_false(fy_grow(&data, &cap, cap + 1, sizeof *data));
  fy_fault_disarm(FY_FAULT_ALLOC);
  assert_int_equal(cap, before);
  fy_free(data);
}

static int order[3], calls;
static void note(void *p) {
  order[calls++] = *(int *)p;
}

static void arena(void **state) {
  (void)state;
  fy_arena a;
  fy_arena_init(&a);
  calls = 0;
  for (int i = 0; i < 3; i++) {
    int *p = fy_arena_alloc(&a, sizeof *p);
    *p = i;
    assert_int_equal(fy_arena_defer(&a, note, p), 0);
  }
  for (size_t n = 0; n < 5000; n += 13) {
    char *p = fy_arena_zalloc(&a, n);
    assert_int_equal((uintptr_t)p & 15, 0);
    for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
    memset(p, 0xAA, n);
  }
  char *big = fy_arena_alloc(&a, 3u << 20);
  memset(big, 1, 3u << 20);
  assert_true(a.used_bytes > 3u << 20);
  assert_null(fy_arena_array(&a, SIZE_MAX / 2, 4));
  assert_null(fy_arena_alloc(&a, SIZE_MAX - 3));
  assert_string_equal(fy_arena_strndup(&a, "abcdef", 3), "abc");
  assert_string_equal(fy_arena_strdup(&a, "xyz"), "xyz");
  assert_memory_equal(fy_arena_memdup(&a, "12", 2), "12", 2);
  assert_string_equal(fy_arena_printf(&a, "%d-%s", 5, "k"), "5-k");
  assert_int_equal(strlen(fy_arena_printf(&a, "%1000d", 1)), 1000);
  fy_arena_free(&a);
  assert_int_equal(calls, 3);
  assert_true(order[0] == 2 && order[1] == 1 && order[2] == 0);
  assert_non_null(fy_arena_alloc(&a, 1));  // reusable
  fy_arena_free(&a);
}

static void arena_out_of_memory(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    fy_arena a;
    fy_arena_init(&a);
    int failed = 0;
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    for (int i = 0; i < 100; i++) failed += !fy_arena_printf(&a, "%0*d", i * 10, i);
    bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    fy_arena_free(&a);
    assert_int_equal(failed, reached);
    if (!reached) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nth_fails), cmocka_unit_test(aligned), cmocka_unit_test(sizes),
      cmocka_unit_test(grow),      cmocka_unit_test(arena),   cmocka_unit_test(arena_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// test_base_map.c: the hash tables against plain arrays.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

#define KEYS 2000

static char keys[KEYS][24];
static int values[KEYS];

static int make_keys(void **state) {
  (void)state;
  for (int i = 0; i < KEYS; i++) snprintf(keys[i], sizeof keys[i], "node_%d", i);
  return 0;
}

static void put_get_remove(void **state) {
  (void)state;
  fy_map m;
  fy_map_init(&m);
  assert_null(fy_map_gets(&m, "x"));
  assert_null(fy_map_remove(&m, "x", 1));
  for (int i = 0; i < KEYS; i++) assert_true(fy_map_puts(&m, keys[i], &values[i]));
  for (int i = 0; i < KEYS; i += 3) {
    assert_ptr_equal(fy_map_remove(&m, keys[i], strlen(keys[i])), &values[i]);
    assert_null(fy_map_remove(&m, keys[i], strlen(keys[i])));
  }
  for (int i = 0; i < KEYS; i++) {
    void *expected = i % 3 == 0 ? NULL : &values[i];
    assert_ptr_equal(fy_map_gets(&m, keys[i]), expected);
  }
  assert_int_equal(m.live, KEYS - (KEYS + 2) / 3);
  assert_true(fy_map_puts(&m, keys[1], &values[0]));  // replaces in its place
  assert_ptr_equal(fy_map_gets(&m, keys[1]), &values[0]);
  assert_true(fy_map_puts(&m, keys[0], &values[0]));  // comes back at the end
  int last = 0;
  for (uint32_t i = 0; i < m.n; i++) {
    if (!m.items[i].value || i == m.n - 1) continue;
    int key;
    assert_int_equal(sscanf(m.items[i].key, "node_%d", &key), 1);
    assert_true(key > last);
    last = key;
  }
  assert_string_equal(m.items[m.n - 1].key, keys[0]);
  fy_map_free(&m);
}

// A table that is filled and emptied for ever must not grow, nor read the keys of removed items.
static void churn(void **state) {
  (void)state;
  fy_map m;
  fy_map_init(&m);
  for (int i = 0; i < 10000; i++) {
    char *key = fy_strdup(keys[i % KEYS]);
    assert_true(fy_map_puts(&m, key, key));
    assert_ptr_equal(fy_map_remove(&m, key, strlen(key)), key);
    memset(key, 0, strlen(key));
    fy_free(key);
  }
  assert_true(m.cap <= 16);
  assert_true(fy_map_put(&m, NULL, 0, &values[0]));  // the empty key
  assert_ptr_equal(fy_map_get(&m, "", 0), &values[0]);
  assert_false(fy_map_puts(&m, "null", NULL));
  fy_map_free(&m);
}

static void out_of_memory(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    fy_map m;
    fy_imap im;
    fy_map_init(&m);
    fy_imap_init(&im);
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    for (int i = 0; i < 100; i++) {
      if (!fy_map_puts(&m, keys[i], &values[i])) assert_true(fy_map_puts(&m, keys[i], &values[i]));
      if (!fy_imap_put(&im, (uint64_t)i, 1)) assert_true(fy_imap_put(&im, (uint64_t)i, 1));
    }
    bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    for (int i = 0; i < 100; i++) assert_ptr_equal(fy_map_gets(&m, keys[i]), &values[i]);
    assert_int_equal(im.n, 100);
    fy_map_free(&m);
    fy_imap_free(&im);
    if (!reached) break;
  }
}

static void imap(void **state) {
  (void)state;
  fy_imap m;
  uint64_t out;
  fy_imap_init(&m);
  assert_false(fy_imap_get(&m, 0, &out));
  for (uint64_t i = 0; i < 5000; i++) assert_true(fy_imap_put(&m, i << 40, i));
  for (uint64_t i = 0; i < 5000; i += 2) assert_true(fy_imap_put(&m, i << 40, i + 1));
  for (uint64_t i = 0; i < 5000; i++) {
    assert_true(fy_imap_get(&m, i << 40, &out));
    assert_int_equal(out, i | (i % 2 == 0));
    assert_false(fy_imap_get(&m, (i << 40) + 1, &out));
  }
  assert_int_equal(m.n, 5000);
  fy_imap_free(&m);
}

static void hashes_differ(void **state) {
  (void)state;
  unsigned char bytes[70] = {0};
  uint64_t seen[71];
  for (size_t n = 0; n <= 70; n++) {  // zeros of every length
    seen[n] = fy_hash64(bytes, n, 7);
    for (size_t i = 0; i < n; i++) assert_true(seen[i] != seen[n]);
    for (size_t i = 0; i < n; i++) {  // every byte counts
      bytes[i] = 1;
      assert_true(fy_hash64(bytes, n, 7) != seen[n]);
      bytes[i] = 0;
    }
  }
  assert_true(fy_hash64("a", 1, 1) != fy_hash64("a", 1, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(put_get_remove), cmocka_unit_test(churn),
      cmocka_unit_test(out_of_memory),  cmocka_unit_test(imap),
      cmocka_unit_test(hashes_differ),
  };
  return cmocka_run_group_tests(tests, make_keys, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// wire_support.h: what the wire tests share: sample files, and an arena and an error per test.

#ifndef FY_TESTS_WIRE_SUPPORT_H
#define FY_TESTS_WIRE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

static fy_arena arena;
static fy_error err;

static inline int wire_setup(void **state) {
  (void)state;
  fy_arena_init(&arena);
  fy_error_init(&err);
  return 0;
}
static inline int wire_teardown(void **state) {
  (void)state;
  fy_arena_free(&arena);
  fy_error_clear(&err);
  return 0;
}

static inline char *sample_path(const char *name) {
  static char path[1024];
  const char *root = getenv("FERRY_SOURCE");
  snprintf(path, sizeof path, "%s%stests/data/%s", root ? root : "", root ? "/" : "", name);
  return path;
}

// The file's bytes, NUL-ended; the test frees them with free().
static inline uint8_t *sample_read(const char *name, size_t *n) {
  FILE *f = fopen(sample_path(name), "rb");
  if (!f) fail_msg("cannot open %s", sample_path(name));
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  uint8_t *bytes = malloc(*n + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *n, f), *n);
  bytes[*n] = 0;
  fclose(f);
  return bytes;
}

#define assert_ok(expr)                                                    \
  do {                                                                     \
    fy_code ok_code_ = (expr);                                             \
    if (ok_code_ != FY_OK) fail_msg("%s: %s", #expr, fy_error_text(&err)); \
  } while (0)

#define assert_refused(expr, want_code, part)                        \
  do {                                                               \
    fy_error_clear(&err);                                            \
    assert_int_equal((expr), (want_code));                           \
    if (!strstr(fy_error_text(&err), (part)))                        \
      fail_msg("\"%s\" is not in: %s", (part), fy_error_text(&err)); \
    fy_error_clear(&err);                                            \
  } while (0)

#endif

// SPDX-License-Identifier: Apache-2.0
// support_files.h: whole files in and out, for tests that damage them.

#ifndef TESTS_SUPPORT_FILES_H
#define TESTS_SUPPORT_FILES_H

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void write_file(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

// Up to a megabyte; the test frees it with free().
static inline void *read_whole(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is missing", path);
  void *bytes = malloc(1 << 20);
  *n = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  return bytes;
}

#endif

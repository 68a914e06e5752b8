// SPDX-License-Identifier: Apache-2.0
// op_calls.h: for tests that call ops one after the other: what stays between the calls of a test.

#ifndef FY_TESTS_OP_CALLS_H
#define FY_TESTS_OP_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "local_runner.h"

static local_run run;
static fy_arena arena;
static fy_error err;

static inline int calls_setup(void **state) {
  (void)state;
  memset(&run, 0, sizeof run);
  run.resources = fy_resources_new();
  fy_arena_init(&arena);
  fy_error_init(&err);
  return run.resources ? 0 : -1;
}
static inline int calls_teardown(void **state) {
  (void)state;
  fy_resources_release(run.resources);
  fy_error_clear(&err);
  fy_arena_free(&arena);
  return 0;
}

static inline fy_tensor *tensor(const char *text) {
  fy_sample_inputs inputs;
  assert_int_equal(fy_sample_parse_inputs(text, &inputs, &err), FY_OK);
  return inputs.in[0];
}

#endif

// SPDX-License-Identifier: Apache-2.0
// fuzz_config.c: session options in either form.

#include <stdlib.h>

#include "wire/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  fy_arena arena;
  fy_arena_init(&arena);
  fy_error err;
  fy_error_init(&err);
  Tensorflow__ConfigProto *config;
  fy_code code = fy_wire_config_parse(data, n, &arena, &config, &err);
  if ((code == FY_OK) != (config != NULL)) abort();
  if (code != FY_OK && fy_error_text(&err)[0] == 0) abort();
  fy_error_clear(&err);
  fy_arena_free(&arena);
  return 0;
}

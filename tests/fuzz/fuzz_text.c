// SPDX-License-Identifier: Apache-2.0
// fuzz_text.c: text -> message -> text -> message -> the same text.

#include <stdlib.h>
#include <string.h>

#include "graph.pb-c.h"
#include "wire/text_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const ProtobufCMessageDescriptor *desc = &tensorflow__graph_def__descriptor;
  fy_arena arena;
  fy_arena_init(&arena);
  fy_error err;
  fy_error_init(&err);
  fy_str first, second;
  fy_str_init(&first);
  fy_str_init(&second);
  ProtobufCMessage *msg;
  if (fy_wire_text_parse(desc, (const char *)data, n, &arena, &msg, &err) == FY_OK) {
    fy_wire_text_print(&first, msg);
    if (fy_wire_text_parse(desc, fy_str_text(&first), first.len, &arena, &msg, &err) != FY_OK) {
      abort();
    }
    fy_wire_text_print(&second, msg);
    if (strcmp(fy_str_text(&first), fy_str_text(&second)) != 0) abort();
  }
  fy_str_free(&first);
  fy_str_free(&second);
  fy_error_clear(&err);
  fy_arena_free(&arena);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// fuzz_graphdef.c: bytes -> GraphDef -> attributes -> GraphDef -> bytes -> the same text.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph.pb-c.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use_node(Tensorflow__NodeDef *node, fy_arena *arena, fy_error *err) {
  int64_t budget = 1 << 16;
  fy_wire_tensor_options options = {.max_splat_bytes = 1 << 12, .splat_budget_bytes = &budget};
  fy_attrs attrs, again;
  fy_wire_attr_entry **entries;
  size_t count;
  if (fy_wire_attrs_read(node->n_attr, node->attr, arena, &options, &attrs, err) != FY_OK) return;
  if (fy_wire_attrs_write(&attrs, &tensorflow__node_def__attr_entry__descriptor, arena, &count,
                          &entries, err) != FY_OK) {
    return;
  }
  if (fy_wire_attrs_read(count, entries, arena, NULL, &again, err) != FY_OK) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const ProtobufCMessageDescriptor *desc = &tensorflow__graph_def__descriptor;
  fy_arena arena;
  fy_arena_init(&arena);
  fy_error err;
  fy_error_init(&err);
  ProtobufCMessage *msg, *again;
  uint8_t *out = NULL;
  size_t out_n;
  fy_str first, second;
  fy_str_init(&first);
  fy_str_init(&second);
  if (fy_wire_unpack(desc, data, n, NULL, &arena, &msg, &err) == FY_OK) {
    Tensorflow__GraphDef *graph = (Tensorflow__GraphDef *)msg;
    for (size_t i = 0; i < graph->n_node; i++) use_node(graph->node[i], &arena, &err);
    if (fy_wire_pack(msg, &out, &out_n, &err) != FY_OK) abort();
    if (fy_wire_unpack(desc, out, out_n, NULL, &arena, &again, &err) != FY_OK) abort();
    fy_wire_text_print(&first, msg);
    fy_wire_text_print(&second, again);
    if (strcmp(fy_str_text(&first), fy_str_text(&second)) != 0) abort();
  }
  fy_str_free(&first);
  fy_str_free(&second);
  fy_free(out);
  fy_error_clear(&err);
  fy_arena_free(&arena);
  return 0;
}

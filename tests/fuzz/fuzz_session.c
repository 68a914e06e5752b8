// SPDX-License-Identifier: Apache-2.0
// fuzz_session.c: bytes -> GraphDef -> graph -> optimised, placed, compiled -> run, on a CPU and a
// simulated GPU. Anything may be refused; nothing may crash, leak, hang or grow without bound.

#include <stdlib.h>

#include "devices/devices.h"
#include "execute/session.h"
#include "graph.pb-c.h"
#include "graph/import.h"
#include "wire/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static fy_options options;
static fy_device_set *devices;

static void set_up(void) {
  fy_error err;
  fy_error_init(&err);
  fy_options_default(&options);
  if (fy_options_text(
          &options, "sim=gpu:1,memory=16MiB; memory_limit.CPU=64MiB; soft_placement=true", &err) ||
      fy_devices_open(&options, &devices, &err))
    abort();
}

static void run_all(fy_graph *g) {
  fy_session *s;
  if (fy_session_new(g, devices, &options, NULL, &s, NULL)) return;
  size_t tried = 0;
  for (size_t i = g->num_nodes; i-- > 0 && tried < 3;) {
    fy_node *node = g->nodes[i];
    if (!node || !node->num_outputs) continue;
    tried++;
    fy_output fetch = {node, 0};
    fy_run_args a = {.fetches = &fetch, .num_fetches = 1, .timeout_ms = 200};
    fy_error err;
    fy_error_init(&err);
    fy_tensor *out = NULL;
    if (fy_session_run(s, &a, &out, &err) == FY_OK) fy_tensor_release(out);
    fy_error_clear(&err);
  }
  fy_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (!devices) set_up();
  fy_arena arena;
  fy_arena_init(&arena);
  fy_error err;
  fy_error_init(&err);
  ProtobufCMessage *msg;
  bool text;
  if (fy_wire_parse_either(&tensorflow__graph_def__descriptor, data, n, &arena, &msg, &text,
                           &err) == FY_OK) {
    fy_graph *g = fy_graph_new();
    fy_import_options o = {0};
    if (g && fy_graph_import(g, (Tensorflow__GraphDef *)msg, &o, &arena, NULL, &err) == FY_OK)
      run_all(g);
    fy_graph_free(g);
  }
  fy_error_clear(&err);
  fy_arena_free(&arena);
  return 0;
}

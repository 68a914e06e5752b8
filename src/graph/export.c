// SPDX-License-Identifier: Apache-2.0
// export.c: a graph as a GraphDef. Attributes come out as they are held: defaults filled in.

#include "graph/export.h"

#include <stdlib.h>
#include <string.h>

#include "graph/function.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

static char *borrow(const char *s) {
  return (char *)(uintptr_t)s;
}

fy_code fy_node_export_bare(const fy_node *node, fy_arena *arena, Tensorflow__NodeDef **out,
                            fy_error *err) {
  Tensorflow__NodeDef *def = fy_wire_new(&tensorflow__node_def__descriptor, arena);
  *out = NULL;
  if (!def) return fy_fail_oom(err, sizeof *def);
  def->name = borrow(node->name);
  def->op = borrow(node->op_name);
  def->device = borrow(node->device ? node->device : "");
  FY_TRY(fy_wire_attrs_write(&node->attrs, &tensorflow__node_def__attr_entry__descriptor, arena,
                             &def->n_attr, &def->attr, err));
  if (node->debug_info) {
    ProtobufCMessage *m;
    FY_TRY(fy_wire_unpack(&tensorflow__node_def__experimental_debug_info__descriptor,
                          node->debug_info, node->debug_info_bytes, NULL, arena, &m, err));
    def->experimental_debug_info = (Tensorflow__NodeDef__ExperimentalDebugInfo *)m;
  }
  if (node->experimental_type) {
    ProtobufCMessage *m;
    FY_TRY(fy_wire_unpack(&tensorflow__full_type_def__descriptor, node->experimental_type,
                          node->experimental_type_bytes, NULL, arena, &m, err));
    def->experimental_type = (Tensorflow__FullTypeDef *)m;
  } else {
    FY_TRY(fy_node_export_type(node, arena, &def->experimental_type, err));
  }
  *out = def;
  return FY_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(fy_node *const *)a)->name, (*(fy_node *const *)b)->name);
}

fy_code fy_node_export(const fy_node *node, bool sort_controls, fy_arena *arena,
                       Tensorflow__NodeDef **out, fy_error *err) {
  FY_TRY(fy_node_export_bare(node, arena, out, err));
  Tensorflow__NodeDef *def = *out;
  size_t n = (size_t)node->num_inputs + node->num_controls;
  def->input = fy_arena_array(arena, n, sizeof *def->input);
  if (!def->input) return fy_fail_oom(err, n * sizeof *def->input);
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_output in = node->inputs[i];
    bool number = in.index > 0 || (!sort_controls && i < 64 && (node->explicit_zero >> i & 1));
    def->input[i] =
        number ? fy_arena_printf(arena, "%s:%d", in.node->name, in.index) : borrow(in.node->name);
    if (!def->input[i]) return fy_fail_oom(err, n);
  }
  fy_node **controls = node->controls;
  if (sort_controls && node->num_controls > 1) {
    controls = fy_arena_memdup(arena, controls, node->num_controls * sizeof *controls);
    if (!controls) return fy_fail_oom(err, n);
    qsort(controls, node->num_controls, sizeof *controls, by_name);
  }
  for (uint32_t i = 0; i < node->num_controls; i++) {
    def->input[node->num_inputs + i] = fy_arena_printf(arena, "^%s", controls[i]->name);
    if (!def->input[node->num_inputs + i]) return fy_fail_oom(err, n);
  }
  def->n_input = n;
  return FY_OK;
}

fy_code fy_graph_export_versions(const fy_graph *g, fy_arena *arena, Tensorflow__VersionDef **out,
                                 fy_error *err) {
  *out = fy_wire_new(&tensorflow__version_def__descriptor, arena);
  if (!*out) return fy_fail_oom(err, sizeof **out);
  (*out)->producer = g->producer;
  (*out)->min_consumer = g->min_consumer;
  (*out)->bad_consumers = g->bad_consumers;
  (*out)->n_bad_consumers = g->num_bad_consumers;
  return FY_OK;
}

fy_code fy_graph_export(fy_graph *g, fy_arena *arena, Tensorflow__GraphDef **out, fy_error *err) {
  Tensorflow__GraphDef *def = fy_wire_new(&tensorflow__graph_def__descriptor, arena);
  *out = NULL;
  if (!def) return fy_fail_oom(err, sizeof *def);
  def->node = fy_arena_array(arena, g->num_nodes, sizeof *def->node);
  if (!def->node) return fy_fail_oom(err, g->num_nodes * sizeof *def->node);
  for (size_t i = 0; i < g->num_nodes; i++) {
    if (!g->nodes[i]) continue;
    FY_TRY(fy_node_export(g->nodes[i], true, arena, &def->node[def->n_node], err));
    def->n_node++;
  }
  FY_TRY(fy_graph_export_versions(g, arena, &def->versions, err));
  FY_TRY(fy_funclib_export(g->functions, arena, &def->library, err));
  *out = def;
  return FY_OK;
}

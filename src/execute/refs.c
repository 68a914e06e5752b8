// SPDX-License-Identifier: Apache-2.0
// refs.c: reference edges (VariableV2, Assign, RefSwitch …), made ready for everything that follows.
//
// A reference output carries, at run time, a handle of the variable it refers to: the same scalar
// resource tensor that a VarHandleOp makes. The graph keeps the reference dtype, so shape functions
// see the variable's shape; build.c gives such a value the storage of a handle, placement keeps it on
// the host and its two ends on one device, and no pass touches a node that has one.
//
// A consumer that wants a value reads the variable when it runs, under TensorFlow's order: data and
// control edges, nothing else. This step says so in the graph: each such input gets a _FerryRefRead of
// its own that waits for all the consumer waits for (its control inputs and its other producers).
// What is read is a snapshot: writers never change a value that a reader holds (ops/variables.c). So
// Identity of a reference is the value at its time; TensorFlow shares the buffer instead, and later
// writes may show through.
//
// Before a node with reference inputs runs, the variables must have values, unless the op's signature
// allows otherwise (fy_exec_check_refs): "Attempting to use uninitialized value v".

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/state.h"
#include "ops/resource.h"

static fy_dtype type_of(fy_output o) {
  return o.node->outputs[o.index].dtype;
}

static bool is_merge(const fy_node *node) {
  return strcmp(node->op_name, "Merge") == 0 || strcmp(node->op_name, "RefMerge") == 0;
}

// Everything that |node| waits for besides input |but|. A merge waits for none of its inputs.
static fy_code waits_of(fy_graph *g, const fy_node *node, uint32_t but, fy_node ***out, uint32_t *n,
                        fy_error *err) {
  fy_node **list =
      fy_arena_array(&g->arena, node->num_inputs + node->num_controls + 1, sizeof *list);
  if (!list) return fy_fail_oom(err, sizeof *list);
  *n = 0;
  *out = list;
  if (is_merge(node)) return FY_OK;
  for (uint32_t i = 0; i < node->num_controls; i++) list[(*n)++] = node->controls[i];
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    const fy_node *same = node->inputs[but].node;
    fy_node *from = node->inputs[i].node;
    if (strcmp(from->op_name, FY_REF_READ) == 0)
      from = from->inputs[0].node;  // of the same consumer
    if (from == same || strcmp(from->op_name, "_Arg") == 0 || from->const_value) continue;
    bool seen = false;
    for (uint32_t k = 0; k < *n && !seen; k++) seen = list[k] == from;
    if (!seen) list[(*n)++] = from;
  }
  return FY_OK;
}

static fy_code add_read(fy_graph *g, fy_output ref, const char *reader, fy_node *const *controls,
                        uint32_t n, fy_node **out, fy_error *err) {
  const fy_dtype type = fy_dtype_base(type_of(ref));
  fy_attrs attrs = {0};
  fy_attr t = fy_attr_type(type);
  FY_TRY(fy_attrs_set(&attrs, &g->arena, "T", &t, err));
  char *base = fy_arena_printf(&g->arena, "%s/_read_%s", reader, ref.node->name);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  if (!name) return fy_fail_oom(err, 64);
  FY_TRY(
      fy_graph_add_raw(g, FY_REF_READ, name, "", &attrs, &ref, 1, controls, n, &type, 1, out, err));
  (*out)->input_types[0] = type_of(ref);
  (*out)->error_head = "";
  (*out)->error_tail = fy_arena_printf(&g->arena, "\n\t [[{{node %s}}]]", reader);
  const char **origin = fy_arena_alloc(&g->arena, sizeof *origin);
  if (!origin || !(*out)->error_tail) return fy_fail_oom(err, 64);
  origin[0] = ref.node->name;
  (*out)->origins = origin;
  (*out)->num_origins = 1;
  return FY_OK;
}

static fy_code lower_input(fy_graph *g, fy_node *node, uint32_t i, fy_error *err) {
  const fy_output from = node->inputs[i];
  const fy_dtype have = type_of(from), want = node->input_types[i];
  if (fy_dtype_is_ref(want) && !fy_dtype_is_ref(have))  // a fed variable
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input %u of node %s was passed %s from %s:%d incompatible with expected %s.", i,
                   node->name, fy_dtype_name(have), from.node->name, from.index,
                   fy_dtype_name(want));
  if (fy_dtype_is_ref(want) || !fy_dtype_is_ref(have)) return FY_OK;
  fy_node **controls = NULL, *read;
  uint32_t n = 0;
  FY_TRY(waits_of(g, node, i, &controls, &n, err));
  FY_TRY(add_read(g, from, node->name, controls, n, &read, err));
  if (node->error_tail) {
    read->error_head = node->error_head;
    read->error_tail = node->error_tail;
  }
  const fy_output value = {read, 0};
  for (uint32_t k = node->num_inputs; k-- > i;) {
    const fy_output in = node->inputs[k];
    if (in.node == from.node && in.index == from.index && !fy_dtype_is_ref(node->input_types[k]))
      FY_TRY(fy_graph_set_input(g, node, k, value, err));
  }
  return FY_OK;
}

// The control inputs of |node|: its own and those of its constants, where Python puts them if it can.
static uint32_t controls_of(const fy_node *node, fy_node **out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i <= node->num_inputs; i++) {
    const fy_node *at = i ? node->inputs[i - 1].node : node;
    if (at != node && !at->const_value) continue;
    for (uint32_t k = 0; k < at->num_controls; k++, n++)
      if (out) out[n] = at->controls[k];
  }
  return n;
}

// What |node| gets through an Identity of a variable ("v/read", which Python makes with the variable, far from
// any control edge) is read anew if |node| has control inputs: who writes "after the update, v + 0" means the
// new value, and TensorFlow, whose Identity shares the buffer, gives it.
static fy_code read_late(fy_graph *g, fy_node *node, uint32_t i, fy_error *err) {
  fy_node *identity = node->inputs[i].node, *read;
  if (strcmp(identity->op_name, "Identity") != 0 || is_merge(node) ||
      strcmp(identity->inputs[0].node->op_name, FY_REF_READ) != 0)
    return FY_OK;
  uint32_t n = controls_of(node, NULL);
  if (!n) return FY_OK;
  fy_node **controls = fy_arena_array(&g->arena, n + 1, sizeof(fy_node *));
  if (!controls) return fy_fail_oom(err, sizeof(fy_node *));
  controls_of(node, controls);
  controls[n++] = identity;  // whose error comes first if there is no value yet
  FY_TRY(add_read(g, identity->inputs[0].node->inputs[0], node->name, controls, n, &read, err));
  for (uint32_t k = i; k < node->num_inputs; k++)
    if (node->inputs[k].node == identity)
      FY_TRY(fy_graph_set_input(g, node, k, (fy_output){read, 0}, err));
  return FY_OK;
}

static bool has_refs(const fy_graph *g) {
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (!n) continue;
    for (uint32_t k = 0; k < n->num_outputs; k++)
      if (fy_dtype_is_ref(n->outputs[k].dtype)) return true;
    for (uint32_t k = 0; k < n->num_inputs; k++)
      if (fy_dtype_is_ref(n->input_types[k])) return true;
  }
  return false;
}

fy_code fy_refs_lower(fy_compile_args *a, fy_error *err) {
  fy_graph *g = a->graph;
  if (!has_refs(g)) return FY_OK;
  const size_t n = g->num_nodes;  // the readings themselves need nothing
  for (size_t i = 0; i < n; i++) {
    fy_node *node = g->nodes[i];
    for (uint32_t k = 0; node && k < node->num_inputs; k++) FY_TRY(lower_input(g, node, k, err));
  }
  for (size_t i = 0; i < n; i++) {
    fy_node *node = g->nodes[i];
    for (uint32_t k = 0; node && k < node->num_inputs; k++) FY_TRY(read_late(g, node, k, err));
  }
  for (int i = 0; i < a->num_fetches && !a->keep_refs; i++) {
    const fy_output f = a->fetches[i];
    if (!fy_dtype_is_ref(type_of(f))) continue;
    char *reader = fy_arena_printf(&g->arena, "_retval_%s_%d_%d", f.node->name, f.index, i);
    if (!reader) return fy_fail_oom(err, 64);
    fy_node *read;
    FY_TRY(add_read(g, f, reader, NULL, 0, &read, err));
    a->fetches[i] = (fy_output){read, 0};
  }
  return FY_OK;
}

bool fy_refs_checked(const fy_node *node) {
  if (!node->spec || (node->spec->flags & FY_SPEC_UNINITIALIZED_OK)) return false;
  for (uint32_t i = 0; i < node->num_inputs; i++)
    if (fy_dtype_is_ref(node->input_types[i])) return true;
  return false;
}

fy_code fy_exec_check_refs(const fy_node *node, fy_tensor *const *in, fy_error *err) {
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    if (!fy_dtype_is_ref(node->input_types[i])) continue;
    fy_variable *v;
    // Handles of queues and tables are references to strings in old graphs: those are made at once.
    if (fy_ref_variable(in[i], &v, NULL) != FY_OK) continue;
    fy_lock(&v->lock);
    const bool ready = v->value != NULL;
    fy_unlock(&v->lock);
    if (ready) continue;
    const fy_output from = node->inputs[i];
    fy_fail(err, FY_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
            from.node->name);
    if (from.index) fy_error_append(err, ":%d", from.index);
    return FY_FAILED_PRECONDITION;
  }
  return FY_OK;
}

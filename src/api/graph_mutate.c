// SPDX-License-Identifier: Apache-2.0
// graph_mutate.c: changing finished operations, for TensorFlow's Python front end.
// fy_graph.edits grows with every change that makes compiled programs stale.

#include <string.h>

#include "api/api.h"
#include "attr_value.pb-c.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

static void edited(fy_graph *g) {
  g->version++;
  g->edits++;
}

// ---------------------------------------------------------------- edges
static fy_code update_edge(fy_graph *g, fy_output src, fy_use dst, fy_error *err) {
  if (!fy_api_in_graph(g, src.node) || !fy_api_in_graph(g, dst.node))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot update edge between nodes of another graph.");
  if (src.index < 0 || (uint32_t)src.index >= src.node->num_outputs)
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Cannot update edge. Output index [%d] is greater than the number of total "
                   "outputs [%u].",
                   src.index, src.node->num_outputs);
  if (dst.index < 0 || (uint32_t)dst.index >= dst.node->num_inputs)
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Cannot update edge. Input index [%d] is greater than the number of total "
                   "inputs [%u].",
                   dst.index, dst.node->num_inputs);
  fy_output old = dst.node->inputs[dst.index];
  const fy_pshape *now = &src.node->outputs[src.index].shape;
  fy_pshape merged = old.node->outputs[old.index].shape;
  fy_code code = fy_graph_merge_shape(g, &merged, *now, NULL);
  if (code == FY_INVALID_ARGUMENT) {
    char a[128], b[128];
    return fy_fail(err, code, "Cannot update edge, incompatible shapes: %s and %s.",
                   fy_shape_text(now->rank, now->dims, a),
                   fy_shape_text(merged.rank, merged.dims, b));
  }
  if (code) return fy_fail_oom(err, sizeof merged);
  FY_TRY(fy_graph_set_input(g, dst.node, (uint32_t)dst.index, src, err));
  if (src.index == 0 && dst.index < 64) dst.node->explicit_zero |= 1ull << dst.index;
  edited(g);
  return FY_OK;
}

void TF_UpdateEdge(TF_Graph *graph, TF_Output new_src, TF_Input dst, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  fy_code code =
      update_edge(g, fy_api_output(new_src), (fy_use){fy_api_node(dst.oper), dst.index}, err);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

void TF_AddOperationControlInput(TF_Graph *graph, TF_Operation *op, TF_Operation *input) {
  fy_graph *g = fy_api_graph(graph);
  fy_node *to = fy_api_node(op), *from = fy_api_node(input);
  fy_lock(&g->lock);
  if (fy_api_in_graph(g, to) && fy_api_in_graph(g, from) &&
      fy_graph_add_control(g, from, to, NULL) == FY_OK)
    edited(g);
  fy_unlock(&g->lock);
}

void TF_RemoveAllControlInputs(TF_Graph *graph, TF_Operation *op) {
  fy_graph *g = fy_api_graph(graph);
  fy_node *node = fy_api_node(op);
  fy_lock(&g->lock);
  while (node->num_controls)
    fy_graph_remove_control(g, node->controls[node->num_controls - 1], node);
  edited(g);
  fy_unlock(&g->lock);
}

static fy_code not_a_while(const fy_node *node, fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  fy_node_print(&text, node);
  fy_code code = fy_fail(err, FY_INTERNAL,
                         "dst argument to AddWhileEdgeHack should be a While op, got: {name:'%s' "
                         "id:%u op device:{requested: '%s', assigned: ''} def:{%s}}",
                         node->name, node->id + 2, node->device, fy_str_text(&text));
  fy_str_free(&text);
  return code;
}

// The While's attribute T already counts the new input: outputs grow with it.
static fy_code add_while_input(fy_graph *g, fy_output src, fy_node *dst, fy_error *err) {
  fy_arena *a = &g->arena;
  if (!fy_api_in_graph(g, src.node) || !fy_api_in_graph(g, dst) || src.index < 0 ||
      (uint32_t)src.index >= src.node->num_outputs)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot add an input that is not in the graph");
  if (strcmp(dst->op_name, "While") != 0 && strcmp(dst->op_name, "StatelessWhile") != 0)
    return not_a_while(dst, err);
  fy_dtype *in_types, *out_types;
  int num_in, num_out;
  FY_TRY(fy_spec_arg_types(dst->spec, false, &dst->attrs, a, &in_types, &num_in, err));
  FY_TRY(fy_spec_arg_types(dst->spec, true, &dst->attrs, a, &out_types, &num_out, err));
  uint32_t n = dst->num_inputs;
  if ((uint32_t)num_in != n + 1)
    return fy_fail(err, FY_INTERNAL, "AddWhileEdgeHack: dst has %d inputs after the update, not %u",
                   num_in, n + 1);
  fy_output *inputs = fy_arena_array(a, (size_t)n + 1, sizeof *inputs);
  fy_node_out *outputs = fy_arena_array(a, (size_t)num_out, sizeof *outputs);
  if (!inputs || !outputs) return fy_fail_oom(err, n * sizeof *inputs);
  if (n) memcpy(inputs, dst->inputs, n * sizeof *inputs);
  fy_output *old = dst->inputs;
  dst->inputs = inputs;
  dst->num_inputs = n + 1;
  fy_code code = fy_graph_set_input(g, dst, n, src, err);
  if (code) {
    dst->inputs = old;
    dst->num_inputs = n;
    return code;
  }
  for (int i = 0; i < num_out; i++) {
    if ((uint32_t)i < dst->num_outputs) {
      outputs[i] = dst->outputs[i];
      continue;
    }
    outputs[i].dtype = out_types[i];
    outputs[i].shape.rank = outputs[i].handle.shape.rank = -1;
  }
  dst->input_types = in_types;
  dst->outputs = outputs;
  dst->num_outputs = (uint32_t)num_out;
  if (src.index == 0 && n < 64) dst->explicit_zero |= 1ull << n;
  edited(g);
  return FY_OK;
}

void TF_AddWhileInputHack(TF_Graph *graph, TF_Output new_src, TF_Operation *dst,
                          TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  fy_code code = add_while_input(g, fy_api_output(new_src), fy_api_node(dst), err);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- attributes
// Readers may be looking at the old list: a new one is made and swapped in.
static fy_code replace_attr(fy_graph *g, fy_node *node, const char *name, const fy_attr *value,
                            fy_error *err) {
  fy_attrs fresh = {.n = node->attrs.n, .cap = node->attrs.n + 1};
  fresh.items = fy_arena_alloc(&g->arena, fresh.cap * sizeof *fresh.items);
  if (!fresh.items) return fy_fail_oom(err, fresh.cap * sizeof *fresh.items);
  if (fresh.n) memcpy(fresh.items, node->attrs.items, fresh.n * sizeof *fresh.items);
  if (value)
    FY_TRY(fy_attrs_set(&fresh, &g->arena, name, value, err));
  else
    fy_attrs_remove(&fresh, name);
  node->attrs = fresh;
  if (strcmp(name, "value") == 0 && strcmp(node->op_name, "Const") == 0) {
    bool sound = value && value->kind == FY_ATTR_TENSOR && !value->is_list &&
                 value->v.tensor->dtype == node->outputs[0].dtype;
    node->const_value = sound ? value->v.tensor : NULL;
  }
  edited(g);
  return FY_OK;
}

void TF_SetAttr(TF_Graph *graph, TF_Operation *op, const char *attr_name,
                TF_Buffer *attr_value_proto, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  ProtobufCMessage *m;
  fy_attr value;
  fy_arena_init(&tmp);
  fy_code code = fy_wire_unpack(&tensorflow__attr_value__descriptor, attr_value_proto->data,
                                attr_value_proto->length, NULL, &tmp, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Invalid AttrValue proto");
  fy_lock(&g->lock);
  if (!code) code = fy_wire_attr_read((Tensorflow__AttrValue *)m, &g->arena, NULL, &value, err);
  if (!code) code = replace_attr(g, fy_api_node(op), attr_name, &value, err);
  fy_unlock(&g->lock);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

void TF_ClearAttr(TF_Graph *graph, TF_Operation *op, const char *attr_name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  fy_code code = replace_attr(g, fy_api_node(op), attr_name, NULL, err);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

void TF_SetFullType(TF_Graph *graph, TF_Operation *op, const TF_Buffer *full_type_proto) {
  fy_graph *g = fy_api_graph(graph);
  fy_node *node = fy_api_node(op);
  if (fy_wire_check(full_type_proto->data, full_type_proto->length,
                    &tensorflow__full_type_def__descriptor, NULL, NULL) != FY_OK)
    return;
  fy_lock(&g->lock);
  void *copy = fy_arena_memdup(&g->arena, full_type_proto->data, full_type_proto->length);
  if (copy) {
    node->experimental_type = copy;
    node->experimental_type_bytes = full_type_proto->length;
    edited(g);
  }
  fy_unlock(&g->lock);
}

void TF_SetRequestedDevice(TF_Graph *graph, TF_Operation *op, const char *device) {
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  const char *copy = *device ? fy_arena_strdup(&g->arena, device) : "";
  if (copy) {
    fy_api_node(op)->device = copy;
    edited(g);
  }
  fy_unlock(&g->lock);
}

// Every op of TensorFlow has a shape function; ours that lack one infer nothing.
void TF_SetRequireShapeInferenceFns(TF_Graph *graph, bool require) {
  (void)graph;
  (void)require;
}

// SPDX-License-Identifier: Apache-2.0
// graph_query.c: reading operations and graphs.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "graph/function.h"
#include "graph/node.h"

// ---------------------------------------------------------------- one operation
const char *TF_OperationName(TF_Operation *oper) {
  return fy_api_node(oper)->name;
}

const char *TF_OperationOpType(TF_Operation *oper) {
  return fy_api_node(oper)->op_name;
}

const char *TF_OperationDevice(TF_Operation *oper) {
  return fy_api_node(oper)->device;
}

int TF_OperationNumOutputs(TF_Operation *oper) {
  return (int)fy_api_node(oper)->num_outputs;
}

TF_DataType TF_OperationOutputType(TF_Output oper_out) {
  const fy_node *n = fy_api_node(oper_out.oper);
  bool exists = oper_out.index >= 0 && (uint32_t)oper_out.index < n->num_outputs;
  return exists ? (TF_DataType)n->outputs[oper_out.index].dtype : (TF_DataType)0;
}

static int list_length(TF_Operation *oper, const char *arg_name, bool outputs, TF_Status *status) {
  const fy_node *n = fy_api_node(oper);
  const fy_arg_spec *args = outputs ? n->spec->outputs : n->spec->inputs;
  int count = outputs ? n->spec->num_outputs : n->spec->num_inputs;
  fy_error *err = fy_api_begin(status);
  for (int i = 0; i < count; i++) {
    int begin, end;
    if (strcmp(args[i].name, arg_name) != 0) continue;
    fy_code code = fy_spec_arg_range(n->spec, outputs, i, &n->attrs, &begin, &end, err);
    fy_api_end(status, code);
    return code ? -1 : end - begin;
  }
  fy_fail(err, FY_INVALID_ARGUMENT, "%s arg '%s' not found", outputs ? "Output" : "Input",
          arg_name);
  return -1;
}

int TF_OperationOutputListLength(TF_Operation *oper, const char *arg_name, TF_Status *status) {
  return list_length(oper, arg_name, true, status);
}

int TF_OperationNumInputs(TF_Operation *oper) {
  return (int)fy_api_node(oper)->num_inputs;
}

TF_DataType TF_OperationInputType(TF_Input oper_in) {
  const fy_node *n = fy_api_node(oper_in.oper);
  bool exists = oper_in.index >= 0 && (uint32_t)oper_in.index < n->num_inputs;
  return exists ? (TF_DataType)n->input_types[oper_in.index] : (TF_DataType)0;
}

int TF_OperationInputListLength(TF_Operation *oper, const char *arg_name, TF_Status *status) {
  return list_length(oper, arg_name, false, status);
}

TF_Output TF_OperationInput(TF_Input oper_in) {
  const fy_node *n = fy_api_node(oper_in.oper);
  if (oper_in.index < 0 || (uint32_t)oper_in.index >= n->num_inputs) return (TF_Output){NULL, -1};
  return fy_api_tf_output(n->inputs[oper_in.index]);
}

void TF_OperationAllInputs(TF_Operation *oper, TF_Output *inputs, int max_inputs) {
  const fy_node *n = fy_api_node(oper);
  for (uint32_t i = 0; i < n->num_inputs && (int)i < max_inputs; i++)
    inputs[i] = fy_api_tf_output(n->inputs[i]);
}

static const fy_node_out *output_of(TF_Output o) {
  const fy_node *n = fy_api_node(o.oper);
  return o.index >= 0 && (uint32_t)o.index < n->num_outputs ? &n->outputs[o.index] : NULL;
}

int TF_OperationOutputNumConsumers(TF_Output oper_out) {
  fy_graph *g = fy_api_node(oper_out.oper)->graph;
  const fy_node_out *o = output_of(oper_out);
  if (!o) return 0;
  fy_lock(&g->lock);
  int n = (int)o->num_uses;
  fy_unlock(&g->lock);
  return n;
}

// As TensorFlow: how many there are, not how many fit.
int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input *consumers, int max_consumers) {
  fy_graph *g = fy_api_node(oper_out.oper)->graph;
  const fy_node_out *o = output_of(oper_out);
  if (!o) return 0;
  fy_lock(&g->lock);
  int n = (int)o->num_uses;
  for (int i = 0; i < n && i < max_consumers; i++)
    consumers[i] = (TF_Input){fy_api_oper(o->uses[i].node), o->uses[i].index};
  fy_unlock(&g->lock);
  return n;
}

static int get_controls(fy_graph *g, fy_node *const *const *list, const uint32_t *count,
                        TF_Operation **out, int max) {
  fy_lock(&g->lock);
  int n = (int)*count;
  for (int i = 0; i < n && i < max; i++) out[i] = fy_api_oper((*list)[i]);
  fy_unlock(&g->lock);
  return n;
}

int TF_OperationNumControlInputs(TF_Operation *oper) {
  return TF_OperationGetControlInputs(oper, NULL, 0);
}

int TF_OperationGetControlInputs(TF_Operation *oper, TF_Operation **control_inputs,
                                 int max_control_inputs) {
  fy_node *n = fy_api_node(oper);
  return get_controls(n->graph, (fy_node *const *const *)&n->controls, &n->num_controls,
                      control_inputs, max_control_inputs);
}

int TF_OperationNumControlOutputs(TF_Operation *oper) {
  return TF_OperationGetControlOutputs(oper, NULL, 0);
}

int TF_OperationGetControlOutputs(TF_Operation *oper, TF_Operation **control_outputs,
                                  int max_control_outputs) {
  fy_node *n = fy_api_node(oper);
  return get_controls(n->graph, (fy_node *const *const *)&n->control_outs, &n->num_control_outs,
                      control_outputs, max_control_outputs);
}

void TF_OperationToNodeDef(TF_Operation *oper, TF_Buffer *output_node_def, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_node *n = fy_api_node(oper);
  fy_arena tmp;
  fy_arena_init(&tmp);
  Tensorflow__NodeDef *def;
  fy_lock(&n->graph->lock);
  fy_code code = fy_node_export(n, false, &tmp, &def, err);
  if (!code) code = fy_api_message_to_buffer(&def->base, output_node_def, err);
  fy_unlock(&n->graph->lock);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- the graph
TF_Operation *TF_GraphOperationByName(TF_Graph *graph, const char *oper_name) {
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  fy_node *n = fy_graph_find(g, oper_name);
  fy_unlock(&g->lock);
  return fy_api_oper(n);
}

// |*pos| is the number of the operation returned last, counted from 2 as in TensorFlow, where a
// graph's first two nodes are hidden; 0 before the first.
TF_Operation *TF_GraphNextOperation(TF_Graph *graph, size_t *pos) {
  fy_graph *g = fy_api_graph(graph);
  fy_node *n = NULL;
  fy_lock(&g->lock);
  *pos += *pos ? 1 : 2;
  while (*pos - 2 < g->num_nodes && !(n = g->nodes[*pos - 2])) ++*pos;
  fy_unlock(&g->lock);
  return fy_api_oper(n);
}

void TF_GraphToGraphDef(TF_Graph *graph, TF_Buffer *output_graph_def, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  fy_arena_init(&tmp);
  Tensorflow__GraphDef *def;
  fy_lock(&g->lock);
  fy_code code = fy_graph_export(g, &tmp, &def, err);
  if (!code) code = fy_api_message_to_buffer(&def->base, output_graph_def, err);
  fy_unlock(&g->lock);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

static fy_code get_op_def(fy_graph *g, const char *name, fy_arena *tmp, TF_Buffer *out,
                          fy_error *err) {
  const fy_function *f = fy_funclib_find(g->functions, name, strlen(name));
  if (f) {
    const Tensorflow__FunctionDef *def = f->def;
    if (def->signature) return fy_api_message_to_buffer(&def->signature->base, out, err);
  }
  const fy_op *op = fy_op_find(name, strlen(name));
  if (!op) return fy_op_not_registered(name, err);
  Tensorflow__OpDef *def;
  FY_TRY(fy_spec_to_opdef(op->spec, tmp, &def, err));
  return fy_api_message_to_buffer(&def->base, out, err);
}

void TF_GraphGetOpDef(TF_Graph *graph, const char *op_name, TF_Buffer *output_op_def,
                      TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  fy_arena_init(&tmp);
  fy_lock(&g->lock);
  fy_code code = get_op_def(g, op_name, &tmp, output_op_def, err);
  fy_unlock(&g->lock);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

void TF_GraphVersions(TF_Graph *graph, TF_Buffer *output_version_def, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  fy_arena_init(&tmp);
  Tensorflow__VersionDef *def;
  fy_lock(&g->lock);
  fy_code code = fy_graph_export_versions(g, &tmp, &def, err);
  fy_unlock(&g->lock);
  if (!code) code = fy_api_message_to_buffer(&def->base, output_version_def, err);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- shapes
static fy_code find_output(fy_graph *g, TF_Output output, fy_node_out **out, fy_error *err) {
  fy_node *n = fy_api_node(output.oper);
  *out = NULL;
  if (!fy_api_in_graph(g, n))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Node %s was not found in the graph",
                   n ? n->name : "");
  if (output.index < 0 || (uint32_t)output.index >= n->num_outputs)
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Node '%s' (type: '%s', num of outputs: %u) does not have output %d", n->name,
                   n->op_name, n->num_outputs, output.index);
  *out = &n->outputs[output.index];
  return FY_OK;
}

static fy_code set_shape(fy_graph *g, TF_Output output, const int64_t *dims, int num_dims,
                         fy_error *err) {
  fy_node_out *o;
  int64_t known[FY_MAX_RANK];
  const fy_node *n = fy_api_node(output.oper);
  if (fy_api_in_graph(g, n) && (output.index < 0 || (uint32_t)output.index >= n->num_outputs))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "output_port '%d' is out of range, node '%s' has %u outputs", output.index,
                   n->name, n->num_outputs);
  FY_TRY(find_output(g, output, &o, err));
  if (num_dims < 0) return FY_OK;
  if (num_dims > FY_MAX_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor: %d", num_dims);
  for (int i = 0; i < num_dims; i++) known[i] = dims[i] < 0 ? -1 : dims[i];
  FY_TRY(fy_graph_merge_shape(g, &o->shape, (fy_pshape){num_dims, known}, err));
  g->version++;
  return FY_OK;
}

void TF_GraphSetTensorShape(TF_Graph *graph, TF_Output output, const int64_t *dims,
                            const int num_dims, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  fy_code code = set_shape(g, output, dims, num_dims, err);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

int TF_GraphGetTensorNumDims(TF_Graph *graph, TF_Output output, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_node_out *o;
  fy_lock(&g->lock);
  fy_code code = find_output(g, output, &o, err);
  int rank = code ? -1 : o->shape.rank;
  fy_unlock(&g->lock);
  fy_api_end(status, code);
  return rank;
}

void TF_GraphGetTensorShape(TF_Graph *graph, TF_Output output, int64_t *dims, int num_dims,
                            TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_node_out *o;
  fy_lock(&g->lock);
  fy_code code = find_output(g, output, &o, err);
  int rank = code ? -1 : o->shape.rank;
  if (!code && rank >= 0 && rank != num_dims)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Expected rank is %d but actual rank is %d", num_dims,
                   rank);
  if (!code && rank > 0) memcpy(dims, o->shape.dims, (size_t)rank * sizeof *dims);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

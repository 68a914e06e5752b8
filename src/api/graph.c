// SPDX-License-Identifier: Apache-2.0
// graph.c: graphs and the building of operations.
// A description works on the graph's arena, so each step takes the graph's lock, unless the caller
// of TF_NewOperationLocked holds it all the time.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "execute/constant.h"
#include "graph/version.h"

const char *TF_Version(void) {
  return FY_TF_VERSION;
}

TF_Graph *TF_NewGraph(void) {
  fy_graph_set_evaluator(fy_constant_for_shapes);
  return (TF_Graph *)fy_graph_new();
}

fy_graph *fy_api_graph_ref(fy_graph *g) {
  fy_lock(&g->lock);
  g->refs++;
  fy_unlock(&g->lock);
  return g;
}

void fy_api_graph_unref(fy_graph *g) {
  fy_lock(&g->lock);
  bool last = --g->refs == 0;
  fy_unlock(&g->lock);
  if (last) fy_graph_free(g);
}

void TF_DeleteGraph(TF_Graph *graph) {
  if (graph) fy_api_graph_unref(fy_api_graph(graph));
}

static TF_OperationDescription *new_operation(fy_graph *g, const char *op_type,
                                              const char *oper_name, bool locked) {
  TF_OperationDescription *d = fy_malloc(sizeof *d);
  if (!d) return NULL;
  d->locked = locked;
  if (!locked) fy_lock(&g->lock);
  if (fy_node_begin(g, op_type, oper_name, &d->builder, NULL) != FY_OK) {
    fy_node_abandon(&d->builder);
    fy_free(d);
    d = NULL;
  }
  if (!locked) fy_unlock(&g->lock);
  return d;
}

TF_OperationDescription *TF_NewOperationLocked(TF_Graph *graph, const char *op_type,
                                               const char *oper_name) {
  return new_operation(fy_api_graph(graph), op_type, oper_name, true);
}

TF_OperationDescription *TF_NewOperation(TF_Graph *graph, const char *op_type,
                                         const char *oper_name) {
  return new_operation(fy_api_graph(graph), op_type, oper_name, false);
}

static void lock(TF_OperationDescription *d) {
  if (!d->locked) fy_lock(&d->builder.graph->lock);
}

static void unlock(TF_OperationDescription *d) {
  if (!d->locked) fy_unlock(&d->builder.graph->lock);
}

void TF_SetDevice(TF_OperationDescription *desc, const char *device) {
  if (!desc) return;
  lock(desc);
  fy_node_set_device(&desc->builder, device);
  unlock(desc);
}

void TF_AddInput(TF_OperationDescription *desc, TF_Output input) {
  if (!desc) return;
  lock(desc);
  fy_node_add_input(&desc->builder, fy_api_output(input));
  unlock(desc);
}

void TF_AddInputList(TF_OperationDescription *desc, const TF_Output *inputs, int num_inputs) {
  if (!desc) return;
  lock(desc);
  fy_node_add_input_list(&desc->builder, (const fy_output *)inputs, num_inputs);
  unlock(desc);
}

void TF_AddControlInput(TF_OperationDescription *desc, TF_Operation *input) {
  if (!desc || !input) return;
  lock(desc);
  fy_node_add_control(&desc->builder, fy_api_node(input));
  unlock(desc);
}

void TF_ColocateWith(TF_OperationDescription *desc, TF_Operation *op) {
  if (!desc || !op) return;
  lock(desc);
  fy_node_colocate(&desc->builder, fy_api_node(op));
  unlock(desc);
}

static TF_Operation *finish(TF_OperationDescription *desc, bool locked, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  if (!desc) {
    fy_fail_oom(err, sizeof *desc);
    return NULL;
  }
  fy_graph *g = desc->builder.graph;
  fy_node *node;
  if (!locked) fy_lock(&g->lock);
  fy_code code = fy_node_finish(&desc->builder, &node, err);
  if (!locked) fy_unlock(&g->lock);
  fy_free(desc);
  fy_api_end(status, code);
  return fy_api_oper(node);
}

TF_Operation *TF_FinishOperationLocked(TF_OperationDescription *desc, TF_Status *status) {
  return finish(desc, true, status);
}

TF_Operation *TF_FinishOperation(TF_OperationDescription *desc, TF_Status *status) {
  return finish(desc, desc && desc->locked, status);
}

// SPDX-License-Identifier: Apache-2.0
// ferry_model_tools.c: freeze, inspect, convert and compare models.

#include <stdio.h>
#include <string.h>

#include "api/ferry_model.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "graph/import.h"
#include "model/freeze.h"
#include "model/inspect.h"

// ------------------------------------------------------------------ freeze
// A handle's value is read by a node that is added for it, once.
static fy_code reader_of(fy_graph *g, fy_node *variable, fy_output *out, fy_error *err) {
  fy_node_builder b;
  char name[1100];
  *out = (fy_output){variable, 0};
  if (strcmp(variable->op_name, "VarHandleOp") != 0) return FY_OK;
  snprintf(name, sizeof name, "ferry_freeze/%.1000s", variable->name);
  out->node = fy_map_gets(&g->by_name, name);
  if (out->node) return FY_OK;
  const fy_attr *dtype = fy_attrs_get(&variable->attrs, "dtype");
  FY_TRY(fy_node_begin(g, "ReadVariableOp", name, &b, err));
  fy_node_add_input(&b, (fy_output){variable, 0});
  if (dtype) fy_node_set_attr(&b, "dtype", dtype);
  return fy_node_finish(&b, &out->node, err);
}

static fy_code variable_value(void *arg, const char *node, fy_tensor **out, fy_error *err) {
  ferry_model *m = arg;
  fy_output o = {0};
  fy_lock(&m->graph->lock);
  fy_node *variable = fy_map_gets(&m->graph->by_name, node);
  fy_code code = variable ? reader_of(m->graph, variable, &o, err)
                          : fy_fail(err, FY_NOT_FOUND, "the graph has no node '%s'", node);
  fy_unlock(&m->graph->lock);
  if (code) return code;
  fy_run_args args = {.fetches = &o, .num_fetches = 1};
  return fy_session_run(m->session->session, &args, out, err);
}

static const char **tensors_of(fy_arena *a, const ferry_model_value *v, int n, int *count) {
  const char **names = fy_arena_array(a, (size_t)n + 1, sizeof *names);
  *count = 0;
  for (int i = 0; names && i < n; i++)
    if (v[i].tensor) names[(*count)++] = v[i].tensor;
  return names;
}

static fy_code freeze(ferry_model *m, const ferry_signature *s, fy_graph *out, fy_str *notes,
                      fy_error *err) {
  fy_arena a;
  Tensorflow__GraphDef *whole = NULL, *frozen = NULL;
  fy_arena_init(&a);
  fy_freeze_args args = {.init_nodes = m->init_nodes,
                         .num_init_nodes = m->num_init_nodes,
                         .assets = m->assets,
                         .num_assets = m->num_assets,
                         .value = variable_value,
                         .arg = m};
  args.inputs = tensors_of(&a, s->inputs, s->num_inputs, &args.num_inputs);
  args.outputs = tensors_of(&a, s->outputs, s->num_outputs, &args.num_outputs);
  fy_code code = args.inputs && args.outputs ? FY_OK : fy_fail_oom(err, 64);
  fy_lock(&m->graph->lock);
  if (!code) code = fy_graph_export(m->graph, &a, &whole, err);
  fy_unlock(&m->graph->lock);
  args.graph = whole;
  if (!code) code = fy_model_freeze(&args, &a, &frozen, notes, err);
  if (!code) {
    fy_lock(&out->lock);
    code = fy_graph_import(out, frozen, NULL, &a, NULL, err);
    fy_unlock(&out->lock);
  }
  fy_arena_free(&a);
  return code;
}

int ferry_model_freeze(ferry_model *m, const char *signature, ferry_graph **out, char **notes,
                       ferry_error *err) {
  fy_error e;
  const ferry_signature *s;
  fy_str text;
  *out = NULL;
  if (notes) *notes = NULL;
  int bad = ferry_model_signature(m, signature, &s, err);
  if (bad) return bad;
  fy_error_init(&e);
  fy_str_init(&text);
  fy_graph *g = fy_graph_new();
  fy_code code = g ? freeze(m, s, g, &text, &e) : fy_fail_oom(&e, sizeof *g);
  if (!code && notes)
    code = fy_ferry_text(&text, notes, &e);
  else
    fy_str_free(&text);
  if (code)
    ferry_graph_free((ferry_graph *)g);
  else
    *out = (ferry_graph *)g;
  return fy_ferry_end(code, &e, err);
}

// ------------------------------------------------------------------ looking
int ferry_inspect(ferry_runtime *rt, const char *path, const char *tags, ferry_format format,
                  char **out, ferry_error *err) {
  fy_error e;
  fy_model_file f;
  fy_str s;
  fy_error_init(&e);
  fy_str_init(&s);
  *out = NULL;
  fy_code code = fy_model_file_open(path, tags, &f, &e);
  if (!code) code = fy_model_inspect(&f, rt->devices, format == FERRY_JSON, &s, &e);
  if (!code)
    code = fy_ferry_text(&s, out, &e);
  else
    fy_str_free(&s);
  fy_model_file_close(&f);
  return fy_ferry_end(code, &e, err);
}

int ferry_convert(const char *from, const char *to, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  return fy_ferry_end(fy_model_convert(from, to, &e), &e, err);
}

int ferry_diff(const char *a, const char *b, double tolerance, ferry_format format, bool *same,
               char **out, ferry_error *err) {
  fy_error e;
  fy_model_file x, y;
  fy_str s;
  fy_error_init(&e);
  fy_str_init(&s);
  *out = NULL;
  *same = false;
  fy_code code = fy_model_file_open(a, NULL, &x, &e);
  if (!code) {
    code = fy_model_file_open(b, NULL, &y, &e);
    if (!code) code = fy_model_diff(&x, &y, tolerance, format == FERRY_JSON, same, &s, &e);
    fy_model_file_close(&y);
  }
  fy_model_file_close(&x);
  if (!code)
    code = fy_ferry_text(&s, out, &e);
  else
    fy_str_free(&s);
  return fy_ferry_end(code, &e, err);
}

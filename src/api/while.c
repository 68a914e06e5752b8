// SPDX-License-Identifier: Apache-2.0
// while.c: TF_NewWhile: a loop whose condition and body the client builds in graphs of their own, which
// TF_FinishWhile copies between Enter, Merge, Switch, NextIteration and Exit nodes.

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "graph/function.h"
#include "graph/import.h"

// Lives in the arena of a loop's graphs, which point to it.
typedef struct fy_graph_loop {
  fy_graph *parent;
  fy_output *inputs;  // initial values, in |parent|
  int n;
} loop;

// ------------------------------------------------------------------ beginning
static fy_code new_graph(fy_graph *parent, const TF_Output *inputs, int n, const char *name,
                         fy_graph **out, TF_Output **args, fy_error *err) {
  fy_graph *g = *out = (fy_graph *)TF_NewGraph();
  *args = fy_calloc((size_t)n, sizeof **args);
  if (!g || !*args) return fy_fail_oom(err, sizeof *g);
  loop *l = fy_arena_zalloc(&g->arena, sizeof *l);
  if (!l) return fy_fail_oom(err, sizeof *l);
  l->parent = parent;
  l->n = n;
  l->inputs = fy_arena_memdup(&g->arena, inputs, (size_t)n * sizeof *inputs);
  if (!l->inputs) return fy_fail_oom(err, (size_t)n * sizeof *inputs);
  g->loop = l;
  for (int i = 0; i < n; i++) {
    fy_node_builder b;
    fy_node *node;
    char text[32];
    snprintf(text, sizeof text, "%s%d", name, i);
    FY_TRY(fy_node_begin(g, "Placeholder", text, &b, err));
    fy_attr type =
        fy_attr_type(fy_dtype_base(l->inputs[i].node->outputs[l->inputs[i].index].dtype));
    fy_node_set_attr(&b, "dtype", &type);
    FY_TRY(fy_node_finish(&b, &node, err));
    (*args)[i] = fy_api_tf_output((fy_output){node, 0});
  }
  return FY_OK;
}

static void free_parts(TF_Graph *cond, TF_Graph *body, const TF_Output *cond_inputs,
                       const TF_Output *body_inputs, TF_Output *body_outputs) {
  TF_DeleteGraph(cond);
  TF_DeleteGraph(body);
  fy_free((void *)(uintptr_t)cond_inputs);
  fy_free((void *)(uintptr_t)body_inputs);
  fy_free(body_outputs);
}

TF_WhileParams TF_NewWhile(TF_Graph *graph, TF_Output *inputs, int ninputs, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph), *cond = NULL, *body = NULL;
  TF_Output *cond_inputs = NULL, *body_inputs = NULL, *body_outputs = NULL;
  fy_code code = FY_OK;
  if (ninputs <= 0)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "TF_NewWhile() must be passed at least one input");
  if (!code) code = new_graph(g, inputs, ninputs, "cond_input", &cond, &cond_inputs, err);
  if (!code) code = new_graph(g, inputs, ninputs, "body_input", &body, &body_inputs, err);
  if (!code && !(body_outputs = fy_calloc((size_t)ninputs, sizeof *body_outputs)))
    code = fy_fail_oom(err, (size_t)ninputs * sizeof *body_outputs);
  for (int i = 0; !code && i < ninputs; i++) body_outputs[i].index = -1;
  fy_api_end(status, code);
  if (code) {
    free_parts((TF_Graph *)cond, (TF_Graph *)body, cond_inputs, body_inputs, body_outputs);
    return (TF_WhileParams){0, NULL, NULL, {NULL, 0}, NULL, NULL, NULL, NULL};
  }
  return (TF_WhileParams){ninputs,          (TF_Graph *)cond, cond_inputs,  {NULL, -1},
                          (TF_Graph *)body, body_inputs,      body_outputs, NULL};
}

void TF_AbortWhile(const TF_WhileParams *p) {
  free_parts(p->cond_graph, p->body_graph, p->cond_inputs, p->body_inputs, p->body_outputs);
}

// ------------------------------------------------------------------ finishing
typedef struct builder {
  const TF_WhileParams *p;
  const loop *l;
  fy_graph *g;
  fy_arena *arena;
  fy_node **enter, **merge, **switches, **next, **exit;
  fy_output *values;  // [n] scratch
} builder;

static fy_code add(builder *b, const char *op, int i, const fy_output *inputs, int num_inputs,
                   bool as_list, fy_node **out, fy_error *err) {
  fy_node_builder nb;
  char *name = i ? fy_arena_printf(b->arena, "%s/%s_%d", b->p->name, op, i)
                 : fy_arena_printf(b->arena, "%s/%s", b->p->name, op);
  if (!name) return fy_fail_oom(err, 64);
  FY_TRY(fy_node_begin(b->g, op, name, &nb, err));
  if (as_list)
    fy_node_add_input_list(&nb, inputs, num_inputs);
  else
    for (int k = 0; k < num_inputs; k++) fy_node_add_input(&nb, inputs[k]);
  if (strcmp(op, "Enter") == 0) {
    fy_attr frame = fy_attr_string(fy_view_of(b->p->name));
    fy_node_set_attr(&nb, "frame_name", &frame);
  }
  return fy_node_finish(&nb, out, err);
}

static bool is_input(const fy_node *node, const TF_Output *inputs, int n, int *at) {
  for (int i = 0; i < n; i++)
    if (fy_api_node(inputs[i].oper) == node) {
      *at = i;
      return true;
    }
  return false;
}

// The GraphDef without the placeholders that stand for the loop's variables.
static void drop_inputs(Tensorflow__GraphDef *def, const TF_Output *inputs, int n) {
  size_t kept = 0;
  for (size_t i = 0; i < def->n_node; i++) {
    bool drop = false;
    for (int k = 0; k < n && !drop; k++)
      drop = strcmp(def->node[i]->name, fy_api_node(inputs[k].oper)->name) == 0;
    if (!drop) def->node[kept++] = def->node[i];
  }
  def->n_node = kept;
}

// Copies |from| into the loop under |prefix|, its inputs replaced by |values|; |results[i]| becomes
// where |outputs[i]| is now. What has no other input waits for the first value.
static fy_code copy(builder *b, fy_graph *from, const char *prefix, const TF_Output *inputs,
                    const fy_output *values, const TF_Output *outputs, int num_outputs,
                    fy_output *results, fy_error *err) {
  const int n = b->l->n;
  Tensorflow__GraphDef *def;
  fy_import_map *maps = fy_arena_array(b->arena, 2 * (size_t)n, sizeof *maps);
  fy_import_results none;
  char *full = fy_arena_printf(b->arena, "%s/%s", b->p->name, prefix);
  if (!maps || !full) return fy_fail_oom(err, (size_t)n * sizeof *maps);
  fy_lock(&from->lock);
  fy_code code = fy_graph_export(from, b->arena, &def, err);
  fy_unlock(&from->lock);
  if (code) return code;
  drop_inputs(def, inputs, n);
  for (int i = 0; i < n; i++) {
    const char *name = fy_api_node(inputs[i].oper)->name;
    maps[2 * i] = (fy_import_map){name, 0, values[i]};
    maps[2 * i + 1] = (fy_import_map){name, -1, {values[i].node, -1}};
  }
  fy_import_options o = {.prefix = full,
                         .maps = maps,
                         .num_maps = 2 * (size_t)n,
                         .controls = &values[0].node,
                         .num_controls = 1};
  FY_TRY(fy_graph_import(b->g, def, &o, b->arena, &none, err));
  for (int i = 0; i < num_outputs; i++) {
    const fy_node *node = fy_api_node(outputs[i].oper);
    int at;
    if (is_input(node, inputs, n, &at)) {
      results[i] = values[at];
      continue;
    }
    char *name = fy_arena_printf(b->arena, "%s/%s", full, node->name);
    fy_node *now = name ? fy_graph_find(b->g, name) : NULL;
    if (!now || outputs[i].index < 0 || outputs[i].index >= (int)now->num_outputs)
      return fy_fail(err, FY_INVALID_ARGUMENT, "'%s:%d' is no output of the loop's %s graph",
                     node->name, outputs[i].index, prefix);
    results[i] = (fy_output){now, outputs[i].index};
  }
  return FY_OK;
}

static fy_code add_head(builder *b, fy_error *err) {
  for (int i = 0; i < b->l->n; i++)
    FY_TRY(add(b, "Enter", i, &b->l->inputs[i], 1, false, &b->enter[i], err));
  for (int i = 0; i < b->l->n; i++) {
    // The second input is replaced by the back edge, which does not exist yet.
    const fy_output both[2] = {{b->enter[i], 0}, {b->enter[i], 0}};
    FY_TRY(add(b, "Merge", i, both, 2, true, &b->merge[i], err));
    b->values[i] = (fy_output){b->merge[i], 0};
  }
  return FY_OK;
}

static fy_code add_loop(builder *b, fy_output *outputs, fy_error *err) {
  const TF_WhileParams *p = b->p;
  const int n = b->l->n;
  fy_output cond;
  fy_node *loop_cond;
  FY_TRY(add_head(b, err));
  FY_TRY(copy(b, fy_api_graph(p->cond_graph), "cond", p->cond_inputs, b->values, &p->cond_output, 1,
              &cond, err));
  fy_dtype type = fy_dtype_base(cond.node->outputs[cond.index].dtype);
  if (type != FY_BOOL)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "BuildWhileLoop: 'cond' argument must return a boolean output, got %s",
                   fy_dtype_name(type));
  FY_TRY(add(b, "LoopCond", 0, &cond, 1, false, &loop_cond, err));
  for (int i = 0; i < n; i++) {
    const fy_output in[2] = {{b->merge[i], 0}, {loop_cond, 0}};
    FY_TRY(add(b, "Switch", i, in, 2, false, &b->switches[i], err));
    b->values[i] = (fy_output){b->switches[i], 1};
  }
  fy_output *results = fy_arena_array(b->arena, (size_t)n, sizeof *results);
  if (!results) return fy_fail_oom(err, (size_t)n * sizeof *results);
  FY_TRY(copy(b, fy_api_graph(p->body_graph), "body", p->body_inputs, b->values, p->body_outputs, n,
              results, err));
  for (int i = 0; i < n; i++) {
    FY_TRY(add(b, "NextIteration", i, &results[i], 1, false, &b->next[i], err));
    fy_dtype got = b->next[i]->outputs[0].dtype, want = b->merge[i]->outputs[0].dtype;
    if (got != want)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %d of node {{node %s}} was passed %s from %s:0 incompatible with "
                     "expected %s.",
                     1, b->merge[i]->name, fy_dtype_name(got), b->next[i]->name,
                     fy_dtype_name(want));
    FY_TRY(fy_graph_set_input(b->g, b->merge[i], 1, (fy_output){b->next[i], 0}, err));
  }
  for (int i = 0; i < n; i++) {
    const fy_output in = {b->switches[i], 0};
    FY_TRY(add(b, "Exit", i, &in, 1, false, &b->exit[i], err));
    outputs[i] = (fy_output){b->exit[i], 0};
  }
  return FY_OK;
}

// On failure what was added is taken out again.
static fy_code finish(const TF_WhileParams *p, fy_output *outputs, fy_error *err) {
  fy_arena arena;
  const loop *l = fy_api_graph(p->cond_graph)->loop;
  fy_arena_init(&arena);
  builder b = {.p = p, .l = l, .g = l->parent, .arena = &arena};
  const size_t n = (size_t)l->n;
  fy_node **nodes = fy_arena_array(&arena, 5 * n, sizeof *nodes);
  b.values = fy_arena_array(&arena, n, sizeof *b.values);
  if (!nodes || !b.values) {
    fy_arena_free(&arena);
    return fy_fail_oom(err, n * sizeof *nodes);
  }
  b.enter = nodes;
  b.merge = nodes + n;
  b.switches = nodes + 2 * n;
  b.next = nodes + 3 * n;
  b.exit = nodes + 4 * n;
  fy_lock(&b.g->lock);
  const size_t before = b.g->num_nodes;
  fy_funclib_mark mark = fy_funclib_begin(b.g->functions);
  fy_code code = add_loop(&b, outputs, err);
  if (code) {
    while (b.g->num_nodes > before) fy_graph_unlink_last(b.g, NULL);
    fy_funclib_rollback(b.g->functions, mark);
  }
  fy_unlock(&b.g->lock);
  fy_arena_free(&arena);
  return code;
}

static fy_code check(const TF_WhileParams *p, fy_error *err) {
  if (!p->cond_output.oper)
    return fy_fail(err, FY_INVALID_ARGUMENT, "TF_WhileParams `cond_output` field isn't set");
  for (int i = 0; i < p->ninputs; i++)
    if (!p->body_outputs[i].oper)
      return fy_fail(err, FY_INVALID_ARGUMENT, "TF_WhileParams `body_outputs[%d]` field isn't set",
                     i);
  if (!p->name) return fy_fail(err, FY_INVALID_ARGUMENT, "TF_WhileParams `name` field is null");
  return FY_OK;
}

void TF_FinishWhile(const TF_WhileParams *p, TF_Status *status, TF_Output *outputs) {
  fy_error *err = fy_api_begin(status);
  const fy_graph *cond = fy_api_graph(p->cond_graph), *body = fy_api_graph(p->body_graph);
  // What the client made by hand is not ours to free.
  if (p->ninputs <= 0 || !cond || !body || !cond->loop || !body->loop ||
      cond->loop->parent != body->loop->parent || cond->loop->n != p->ninputs) {
    fy_api_end(status, fy_fail(err, FY_INVALID_ARGUMENT,
                               "TF_WhileParams must be created by successful TF_NewWhile() call"));
    return;
  }
  fy_code code = check(p, err);
  if (!code) code = finish(p, (fy_output *)outputs, err);
  fy_api_end(status, code);
  TF_AbortWhile(p);
}

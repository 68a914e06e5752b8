// SPDX-License-Identifier: Apache-2.0
// prune.c: the part of a graph that a run needs, as a graph of its own that passes may rewrite.
// Fed outputs become "_Arg" nodes; everything behind them is left out.

#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"
#include "graph/graph.h"
#include "graph/node.h"

typedef struct pruner {
  fy_graph *from, *to;
  const fy_output *feeds;
  int num_feeds;
  fy_node **arg_of;   // [num_feeds] the _Arg node in |to|
  fy_node **copy_of;  // [from->num_nodes]
  uint8_t *need;      // [from->num_nodes] 1 = needed, 2 = has fed outputs
  bool open_inputs;   // some input of a copy waits for a node that comes later
} pruner;

static int feed_index(const pruner *p, fy_output o) {
  if (!(p->need[o.node->id] & 2)) return -1;
  for (int i = 0; i < p->num_feeds; i++)
    if (p->feeds[i].node == o.node && p->feeds[i].index == o.index) return i;
  return -1;
}

// Who waits for a placeholder that is fed waits for nothing. (Any other fed node runs for its control
// outputs' sake, as in TensorFlow.)
static bool is_fed_placeholder(const pruner *p, const fy_node *node) {
  return (p->need[node->id] & 2) && strncmp(node->op_name, "Placeholder", 11) == 0 &&
         strcmp(node->op_name, "PlaceholderWithDefault") != 0;
}

static fy_code mark_needed(pruner *p, const fy_output *fetches, int num_fetches,
                           fy_node *const *targets, int num_targets, fy_error *err) {
  size_t cap = p->from->num_nodes + 1, top = 0;
  fy_node **stack = fy_malloc(cap * sizeof *stack);
  if (!stack) return fy_fail_oom(err, cap * sizeof *stack);
  for (int i = 0; i < p->num_feeds; i++) p->need[p->feeds[i].node->id] |= 2;
#define NEED(node_)               \
  do {                            \
    fy_node *n_ = (node_);        \
    if (!(p->need[n_->id] & 1)) { \
      p->need[n_->id] |= 1;       \
      stack[top++] = n_;          \
    }                             \
  } while (0)
  for (int i = 0; i < num_fetches; i++)
    if (feed_index(p, fetches[i]) < 0) NEED(fetches[i].node);
  for (int i = 0; i < num_targets; i++) NEED(targets[i]);
  while (top) {
    fy_node *node = stack[--top];
    for (uint32_t i = 0; i < node->num_inputs; i++)
      if (feed_index(p, node->inputs[i]) < 0) NEED(node->inputs[i].node);
    for (uint32_t i = 0; i < node->num_controls; i++)
      if (!is_fed_placeholder(p, node->controls[i])) NEED(node->controls[i]);
  }
#undef NEED
  fy_free(stack);
  return FY_OK;
}

static fy_code add_args(pruner *p, fy_error *err) {
  for (int i = 0; i < p->num_feeds; i++) {
    const fy_node_out *o = &p->feeds[i].node->outputs[p->feeds[i].index];
    // An argument that is a reference stays one; any other output is fed by value.
    fy_dtype dtype =
        strcmp(p->feeds[i].node->op_name, "_Arg") == 0 ? o->dtype : fy_dtype_base(o->dtype);
    fy_attrs attrs = {0};
    fy_attr t = fy_attr_type(dtype), index = fy_attr_int(i);
    FY_TRY(fy_attrs_set(&attrs, &p->to->arena, "T", &t, err));
    FY_TRY(fy_attrs_set(&attrs, &p->to->arena, "index", &index, err));
    char *name = fy_arena_printf(&p->to->arena, "_arg_%s_%d_%d", p->feeds[i].node->name,
                                 p->feeds[i].index, i);
    if (!name) return fy_fail_oom(err, 32);
    FY_TRY(fy_graph_add_raw(p->to, "_Arg", name, "", &attrs, NULL, 0, NULL, 0, &dtype, 1,
                            &p->arg_of[i], err));
    const char **origin = fy_arena_alloc(&p->to->arena, sizeof *origin);
    if (!origin) return fy_fail_oom(err, sizeof *origin);
    origin[0] = p->feeds[i].node->name;
    p->arg_of[i]->origins = origin;
    p->arg_of[i]->num_origins = 1;
    p->arg_of[i]->outputs[0].handle = o->handle;
  }
  return FY_OK;
}

// Shares name, op and attributes with the original (the copy keeps the original graph alive while it
// lives, or is dropped before it: see the compiler in execute/).
static fy_code copy_node(pruner *p, const fy_node *node, fy_error *err) {
  fy_arena *a = &p->to->arena;
  // A function that was removed from the graph is gone for the calls that are left, too.
  if (node->function && !fy_funclib_find(p->from->functions, node->op_name, strlen(node->op_name)))
    return fy_op_not_registered(node->op_name, err);
  fy_node *n = fy_arena_alloc(a, sizeof *n);
  if (!n) return fy_fail_oom(err, sizeof *n);
  *n = *node;
  n->graph = p->to;
  n->num_control_outs = n->cap_control_outs = 0;
  n->control_outs = NULL;
  n->mark = 0;
  n->user_flags = 0;
  n->inputs = fy_arena_alloc(a, node->num_inputs * sizeof *n->inputs);
  n->outputs = fy_arena_alloc(a, node->num_outputs * sizeof *n->outputs);
  n->controls = fy_arena_alloc(a, node->num_controls * sizeof *n->controls);
  if (!n->inputs || !n->outputs || !n->controls) return fy_fail_oom(err, sizeof *n);
  n->cap_controls = node->num_controls;
  n->num_controls = 0;
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    // Shapes are inferred anew from what is really fed: a feed may differ from its placeholder.
    n->outputs[i] = (fy_node_out){
        .dtype = node->outputs[i].dtype, .shape = {-1, NULL}, .handle = {FY_INVALID, {-1, NULL}}};
  }
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    int feed = feed_index(p, node->inputs[i]);
    if (feed >= 0) {
      n->inputs[i] = (fy_output){p->arg_of[feed], 0};
    } else {  // NULL: the back edge of a loop, closed when all nodes are there
      fy_node *from = p->copy_of[node->inputs[i].node->id];
      n->inputs[i] = (fy_output){from, node->inputs[i].index};
      p->open_inputs |= !from;
    }
  }
  for (uint32_t i = 0; i < node->num_controls; i++)
    if (!is_fed_placeholder(p, node->controls[i]))
      n->controls[n->num_controls++] = p->copy_of[node->controls[i]->id];
  p->copy_of[node->id] = n;
  return fy_graph_link(p->to, n, err);
}

static fy_code close_loops(pruner *p, fy_error *err) {
  for (size_t i = 0; i < p->from->num_nodes; i++) {
    const fy_node *old = p->from->nodes[i];
    fy_node *n = old ? p->copy_of[old->id] : NULL;
    for (uint32_t k = 0; n && k < n->num_inputs; k++) {
      if (n->inputs[k].node) continue;
      const fy_output from = {p->copy_of[old->inputs[k].node->id], old->inputs[k].index};
      FY_TRY(fy_graph_set_input(p->to, n, k, from, err));
    }
  }
  return FY_OK;
}

static fy_code copy_nodes(pruner *p, fy_error *err) {
  fy_arena scratch;
  fy_node **order;
  size_t n;
  fy_arena_init(&scratch);
  fy_code code = fy_graph_order(p->from, &scratch, &order, &n, err);
  for (size_t i = 0; code == FY_OK && i < n; i++)
    if (p->need[order[i]->id] & 1) code = copy_node(p, order[i], err);
  if (!code && p->open_inputs) code = close_loops(p, err);
  fy_arena_free(&scratch);
  return code;
}

fy_code fy_graph_prune_copy(fy_graph *g, const fy_output *feeds, int num_feeds,
                            const fy_output *fetches, int num_fetches, fy_node *const *targets,
                            int num_targets, fy_graph **out, fy_node ***map_out, fy_error *err) {
  *out = NULL;
  pruner p = {.from = g, .feeds = feeds, .num_feeds = num_feeds};
  fy_code code = FY_OK;
  p.to = fy_calloc(1, sizeof *p.to);
  if (!p.to) return fy_fail_oom(err, sizeof *p.to);
  p.to->functions = fy_funclib_ref(g->functions);
  fy_mutex_init(&p.to->lock);
  fy_arena_init(&p.to->arena);
  fy_map_init(&p.to->by_name);
  fy_map_init(&p.to->name_counts);
  p.to->refs = 1;
  p.to->producer = g->producer;
  p.to->body_of = g->body_of;
  p.to->flat_errors = g->flat_errors;
  p.to->min_consumer = g->min_consumer;
  p.copy_of = fy_arena_array(&p.to->arena, g->num_nodes + 1, sizeof *p.copy_of);
  p.arg_of = fy_arena_array(&p.to->arena, (size_t)num_feeds + 1, sizeof *p.arg_of);
  p.need = fy_arena_array(&p.to->arena, g->num_nodes + 1, 1);
  if (!p.copy_of || !p.arg_of || !p.need) code = fy_fail_oom(err, g->num_nodes * sizeof *p.copy_of);
  if (!code) code = mark_needed(&p, fetches, num_fetches, targets, num_targets, err);
  if (!code) code = add_args(&p, err);
  if (!code) code = copy_nodes(&p, err);
  if (code) {
    fy_graph_free(p.to);
    return code;
  }
  if (map_out) *map_out = p.copy_of;
  *out = p.to;
  return FY_OK;
}

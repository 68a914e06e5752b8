// SPDX-License-Identifier: Apache-2.0
// function_infer.c: the shapes that a call of a function gives, inferred through its body.

#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"
#include "graph/node.h"
#include "ops/spec_bound.h"

// A function may call itself, or many others many times: both are cut off, and shapes stay unknown.
enum { MAX_DEPTH = 16, MAX_BODIES = 256, MAX_EAGER_NODES = 128 };
static _Thread_local int depth, bodies;
static _Thread_local bool strict;  // what is wrong with a body is the caller's error

static void pass_arguments(const fy_node *node, fy_graph *body_graph) {
  for (size_t i = 0; i < body_graph->num_nodes; i++) {
    fy_node *n = body_graph->nodes[i];
    if (strcmp(n->op_name, "_Arg") != 0) continue;
    const fy_attr *index = fy_attrs_get(&n->attrs, "index");
    if (!index || index->v.i < 0 || index->v.i >= node->num_inputs) continue;
    const fy_output in = node->inputs[index->v.i];
    const fy_node_out *o = &in.node->outputs[in.index];
    n->outputs[0].shape = o->shape;  // what is passed counts, not what was once expected
    n->outputs[0].handle = o->handle;
  }
}

// What the import inferred from the shapes that arguments once had is forgotten.
static void forget_shapes(fy_graph *body_graph) {
  for (size_t i = 0; i < body_graph->num_nodes; i++) {
    fy_node *n = body_graph->nodes[i];
    if (strcmp(n->op_name, "_Arg") == 0) continue;
    for (uint32_t k = 0; k < n->num_outputs; k++) {
      n->outputs[k].shape = (fy_pshape){-1, NULL};
      n->outputs[k].as_shape = NULL;
      n->outputs[k].handle.dtype = FY_INVALID;
      n->outputs[k].handle.shape = (fy_pshape){-1, NULL};
    }
  }
}

typedef struct visit {
  fy_node *node;
  bool leave;
} visit;

static bool is_used(const fy_node *n) {
  for (uint32_t i = 0; i < n->num_outputs; i++)
    if (n->outputs[i].num_uses) return true;
  return n->num_control_outs != 0;
}

// In TensorFlow's order (depth first from the results, the last one first), and the first error counts, where
// fy_graph_infer_all would go on.
static fy_code infer_strictly(fy_graph *g, fy_error *err) {
  fy_arena tmp;
  size_t room = g->num_nodes, depth_now = 0;
  for (size_t i = 0; i < g->num_nodes; i++)
    room += 1 + g->nodes[i]->num_inputs + g->nodes[i]->num_controls;
  fy_arena_init(&tmp);
  visit *stack = fy_arena_array(&tmp, room, sizeof *stack);
  bool *seen = fy_arena_array(&tmp, g->num_nodes, sizeof *seen);
  fy_code code = stack && seen ? FY_OK : fy_fail_oom(err, room * sizeof *stack);
  for (size_t i = 0; !code && i < g->num_nodes; i++)
    if (!is_used(g->nodes[i])) stack[depth_now++] = (visit){g->nodes[i], false};
  while (!code && depth_now) {
    visit v = stack[--depth_now];
    if (v.leave) {
      code = fy_node_infer(g, v.node, true, err);
      continue;
    }
    if (seen[v.node->id]) continue;
    seen[v.node->id] = true;
    stack[depth_now++] = (visit){v.node, true};
    for (uint32_t i = 0; i < v.node->num_inputs; i++) {
      fy_node *from = v.node->inputs[i].node;
      if (from && !seen[from->id]) stack[depth_now++] = (visit){from, false};
    }
    for (uint32_t i = 0; i < v.node->num_controls; i++)
      if (!seen[v.node->controls[i]->id]) stack[depth_now++] = (visit){v.node->controls[i], false};
  }
  fy_arena_free(&tmp);
  return code;
}

static fy_code infer_body(fy_graph *g, fy_node *node, fy_graph *body_graph, fy_error *err) {
  if (strict) forget_shapes(body_graph);
  pass_arguments(node, body_graph);
  FY_TRY(strict ? infer_strictly(body_graph, err) : fy_graph_infer_all(body_graph, err));
  for (size_t i = 0; i < body_graph->num_nodes; i++) {
    const fy_node *n = body_graph->nodes[i];
    if (strcmp(n->op_name, "_Retval") != 0) continue;
    const fy_attr *index = fy_attrs_get(&n->attrs, "index");
    if (!index || index->v.i < 0 || index->v.i >= node->num_outputs) continue;
    const fy_node_out *from = &n->inputs[0].node->outputs[n->inputs[0].index];
    fy_node_out *to = &node->outputs[index->v.i];
    FY_TRY(fy_graph_merge_shape(g, &to->shape, from->shape, err));
    if (from->handle.dtype == FY_INVALID || to->handle.dtype != FY_INVALID) continue;
    to->handle.dtype = from->handle.dtype;
    FY_TRY(fy_graph_merge_shape(g, &to->handle.shape, from->handle.shape, err));
  }
  return FY_OK;
}

// The function that |node| calls: by its own name, or by its attribute. NULL = none that is small enough to
// be looked into before it runs.
static const fy_function *callee(fy_graph *g, const fy_node *node, const fy_attrs **attrs) {
  *attrs = &node->attrs;
  if (node->function) return node->function;
  const fy_attr *f = fy_attrs_get(&node->attrs, "f");
  if (!f || f->kind != FY_ATTR_FUNC || f->is_list || !f->v.func) return NULL;
  *attrs = &f->v.func->attrs;
  const fy_function *found = fy_funclib_find(g->functions, f->v.func->name.p, f->v.func->name.n);
  if (!found) return NULL;
  const Tensorflow__FunctionDef *def = found->def;
  return def->n_node_def <= MAX_EAGER_NODES ? found : NULL;
}

bool fy_function_is_call(const fy_node *node) {
  return node->function || strcmp(node->op_name, "PartitionedCall") == 0 ||
         strcmp(node->op_name, "StatefulPartitionedCall") == 0;
}

fy_code fy_function_infer(fy_graph *g, fy_node *node, bool check, fy_error *err) {
  fy_graph *graph = NULL;
  const fy_attrs *attrs;
  FY_TRY(fy_spec_check_bound(node->spec, &node->attrs, err));
  const fy_function *f = callee(g, node, &attrs);
  if (!f || depth >= MAX_DEPTH) return FY_OK;
  if (depth == 0) {
    bodies = 0;
    strict = check;
  }
  if (bodies++ >= MAX_BODIES) return FY_OK;
  depth++;
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_function_instantiate(g->functions, f, attrs, &graph, &why);
  if (!code) code = infer_body(g, node, graph, &why);
  fy_graph_free(graph);
  depth--;
  // Where the call is built its errors count; in a body that is about to run, its kernels tell.
  if (code && code != FY_RESOURCE_EXHAUSTED && !strict) code = FY_OK;
  if (code && err) fy_error_move(err, &why);
  fy_error_clear(&why);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
// inline.c: calls of functions (PartitionedCall, StatefulPartitionedCall, nodes whose op is a
// function) become copies of the bodies. What held for the call holds for the body: it starts after
// the call's control inputs, what waited for the call waits for everything the body must do, and
// stateful nodes of the body run whenever the call would have run. Functions marked _noinline stay.
// Calls inside bodies are taken in further rounds, within limits.

#include <string.h>

#include "base/alloc.h"
#include "graph/flow.h"
#include "graph/function.h"
#include "optimize/rewrite.h"

#define MAX_DEPTH 8
#define MAX_NODES 200000

typedef struct inliner {
  fy_rewriter *r;
  fy_node *call;
  fy_graph *body;
  fy_output **value;  // [body ids] what stands for each output of a body node here
  fy_node **copy;     // [body ids]
  bool *waits;        // [num copies, by body id] surely runs after the call's control inputs
  fy_node *begin;     // NoOp after the call's control inputs, or NULL
  fy_node **must_run;
  uint32_t num_must_run;
} inliner;

static const fy_function *called(const fy_graph *g, const fy_node *node, const fy_attrs **attrs) {
  if (node->function) {
    *attrs = &node->attrs;
    return node->function;
  }
  if (!fy_node_is(node, "PartitionedCall") && !fy_node_is(node, "StatefulPartitionedCall"))
    return NULL;
  const fy_attr *f = fy_attrs_get(&node->attrs, "f");
  if (!f || f->kind != FY_ATTR_FUNC || f->is_list) return NULL;
  *attrs = &f->v.func->attrs;
  return fy_funclib_find(g->functions, f->v.func->name.p, f->v.func->name.n);
}

static bool is_marked(const fy_attrs *attrs) {
  const fy_attr *a = fy_attrs_get(attrs, "_noinline");
  return a && a->kind == FY_ATTR_BOOL && a->v.b;
}

static fy_code new_name(const inliner *in, const char *part, const char **out, fy_error *err) {
  fy_graph *g = in->r->graph;
  char *base = fy_arena_printf(&g->arena, "%s/%s", in->call->name, part);
  *out = base ? fy_graph_unique_name(g, base) : NULL;
  return *out ? FY_OK : fy_fail_oom(err, 64);
}

// What is made besides the body stands for the call. The body's nodes stand for themselves: users know them
// by their names in the function.
static fy_code set_origins(const inliner *in, fy_node *node, fy_error *err) {
  const fy_node *call = in->call;
  if (call->origins) {
    node->origins = call->origins;
    node->num_origins = call->num_origins;
    return FY_OK;
  }
  const char **list = fy_arena_alloc(&in->r->graph->arena, sizeof *list);
  if (!list) return fy_fail_oom(err, sizeof *list);
  list[0] = call->name;
  node->origins = list;
  node->num_origins = 1;
  return FY_OK;
}

static fy_code add_no_op(const inliner *in, const char *part, fy_node *const *controls, uint32_t n,
                         fy_node **out, fy_error *err) {
  const char *name;
  FY_TRY(new_name(in, part, &name, err));
  FY_TRY(fy_graph_add_raw(in->r->graph, "NoOp", name, "", NULL, NULL, 0, controls, n, NULL, 0, out,
                          err));
  return set_origins(in, *out, err);
}

// Errors still speak of the function and of the node in it, as TensorFlow's do.
static fy_code set_errors(const inliner *in, const fy_node *from, fy_node *made, fy_error *err) {
  fy_arena *a = &in->r->graph->arena;
  const fy_node *call = in->call;
  const fy_view f = call->function ? (fy_view){call->op_name, strlen(call->op_name)}
                                   : fy_attrs_get(&call->attrs, "f")->v.func->name;
  if (call->function || (in->r->graph->flat_errors && in->body->flat_errors)) {
    made->error_head = "";
    made->error_tail =
        fy_arena_printf(a, "\n\t [[{{function_node %.*s}}{{node %s}}]]", (int)f.n, f.p, from->name);
  } else {
    made->error_head = fy_arena_printf(a, "{{function_node %.*s}} {{function_node %.*s}} ",
                                       (int)f.n, f.p, (int)f.n, f.p);
    made->error_tail =
        fy_arena_printf(a, "\n\t [[{{node %s}}]]\n\t [[%s]]", from->name, call->name);
  }
  return made->error_head && made->error_tail ? FY_OK : fy_fail_oom(err, 64);
}

static fy_code copy_node(inliner *in, const fy_node *node, fy_error *err) {
  fy_graph *g = in->r->graph;
  fy_arena *a = &in->r->scratch;
  fy_output *inputs = fy_arena_alloc(a, (node->num_inputs + 1) * sizeof *inputs);
  fy_node **controls = fy_arena_alloc(a, (node->num_controls + 1) * sizeof *controls);
  fy_dtype *types = fy_arena_alloc(a, (node->num_outputs + 1) * sizeof *types);
  fy_output *values = fy_arena_alloc(a, (node->num_outputs + 1) * sizeof *values);
  if (!inputs || !controls || !types || !values) return fy_fail_oom(err, sizeof *inputs);
  bool waits = false;
  uint32_t num_controls = 0;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    inputs[i] = in->value[node->inputs[i].node->id][node->inputs[i].index];
    waits |= in->waits[node->inputs[i].node->id];
  }
  for (uint32_t i = 0; i < node->num_controls; i++) {
    // An argument is there when the body starts.
    if (!in->copy[node->controls[i]->id]) continue;
    controls[num_controls++] = in->copy[node->controls[i]->id];
    waits |= in->waits[node->controls[i]->id];
  }
  if (in->begin && !waits && !node->const_value) {
    controls[num_controls++] = in->begin;
    waits = true;
  }
  for (uint32_t i = 0; i < node->num_outputs; i++) types[i] = node->outputs[i].dtype;
  const char *name;
  fy_node *made;
  FY_TRY(new_name(in, node->name, &name, err));
  FY_TRY(fy_graph_add_raw(g, node->op_name, name, node->device[0] ? node->device : in->call->device,
                          &node->attrs, inputs, node->num_inputs, controls, num_controls, types,
                          node->num_outputs, &made, err));
  if (node->const_value) {
    const fy_attr *value = fy_attrs_get(&made->attrs, "value");
    if (value && value->kind == FY_ATTR_TENSOR) made->const_value = value->v.tensor;
  }
  memcpy(made->input_types, node->input_types, node->num_inputs * sizeof *made->input_types);
  FY_TRY(set_errors(in, node, made, err));
  for (uint32_t i = 0; i < node->num_outputs; i++) values[i] = (fy_output){made, (int32_t)i};
  in->value[node->id] = values;
  in->copy[node->id] = made;
  in->waits[node->id] = waits;
  if (node->user_flags & FY_NODE_MUST_RUN) in->must_run[in->num_must_run++] = made;
  return FY_OK;
}

static fy_code take_argument(inliner *in, const fy_node *node, fy_error *err) {
  int64_t index = fy_node_index(node);
  if (index < 0 || index >= in->call->num_inputs)
    return fy_fail(err, FY_INTERNAL, "argument '%s' of a function has no valid index", node->name);
  fy_output *value = fy_arena_alloc(&in->r->scratch, sizeof *value);
  if (!value) return fy_fail_oom(err, sizeof *value);
  *value = fy_rewrite_input(in->r, in->call, (uint32_t)index);
  in->value[node->id] = value;
  return FY_OK;
}

// A result that must not be had before the body has done what it must: through an Identity that
// waits for |end|.
static fy_code guard(const inliner *in, fy_node *end, fy_output *value, fy_error *err) {
  if (!end) return FY_OK;
  fy_dtype t = fy_dtype_base(fy_output_type(*value));
  fy_attrs attrs = {0};
  fy_attr type = fy_attr_type(t);
  const char *name;
  fy_node *made;
  FY_TRY(fy_attrs_set(&attrs, &in->r->scratch, "T", &type, err));
  FY_TRY(new_name(in, "result", &name, err));
  FY_TRY(fy_graph_add_raw(in->r->graph, "Identity", name, "", &attrs, value, 1, &end, 1, &t, 1,
                          &made, err));
  FY_TRY(set_origins(in, made, err));
  *value = (fy_output){made, 0};
  return FY_OK;
}

static fy_code hand_over(inliner *in, fy_node **order, size_t n, fy_error *err) {
  fy_rewriter *r = in->r;
  fy_node *call = in->call, *end = NULL, *guard_end = NULL;
  fy_node **waiters = fy_arena_alloc(&r->scratch, (in->num_must_run + n + 2) * sizeof *waiters);
  fy_output *results = fy_arena_array(&r->scratch, call->num_outputs + 1, sizeof *results);
  if (!waiters || !results) return fy_fail_oom(err, n * sizeof *waiters);
  uint32_t num_waiters = 0;
  for (uint32_t i = 0; i < in->num_must_run; i++) waiters[num_waiters++] = in->must_run[i];
  if (in->num_must_run) {
    FY_TRY(add_no_op(in, "done", waiters, num_waiters, &guard_end, err));
    waiters[0] = guard_end;
    num_waiters = 1;
  }
  for (size_t i = 0; i < n; i++) {
    if (!fy_node_is(order[i], "_Retval")) continue;
    int64_t index = fy_node_index(order[i]);
    if (index < 0 || index >= call->num_outputs) continue;
    const fy_output from = order[i]->inputs[0];
    results[index] = in->value[from.node->id][from.index];
    // A result that merely passes through must still wait for the call's control inputs.
    fy_node *after = guard_end ? guard_end : in->waits[from.node->id] ? NULL : in->begin;
    FY_TRY(guard(in, after, &results[index], err));
    waiters[num_waiters++] = results[index].node;
  }
  if (in->begin) waiters[num_waiters++] = in->begin;
  for (uint32_t i = 0; i < call->num_outputs; i++)
    if (!results[i].node)
      return fy_fail(err, FY_INTERNAL, "function called by '%s' has no result %u", call->name, i);
  if (call->num_control_outs || fy_rewrite_is_target(r, call)) {
    FY_TRY(add_no_op(in, "end", waiters, num_waiters, &end, err));
    r->instead[call->id] = end;
  }
  for (uint32_t i = 0; i < call->num_outputs; i++)
    FY_TRY(fy_rewrite_forward(r, (fy_output){call, (int32_t)i}, results[i], err));
  fy_rewrite_touch(r);
  fy_rewrite_log(r, "inline: %s (%s): %zu nodes", call->name, call->op_name, n);
  return FY_OK;
}

static fy_code copy_body(inliner *in, fy_error *err) {
  fy_arena *a = &in->r->scratch;
  size_t ids = in->body->num_nodes + 1, n;
  fy_node **order;
  in->value = fy_arena_array(a, ids, sizeof *in->value);
  in->copy = fy_arena_array(a, ids, sizeof *in->copy);
  in->waits = fy_arena_array(a, ids, sizeof *in->waits);
  in->must_run = fy_arena_array(a, ids, sizeof *in->must_run);
  if (!in->value || !in->copy || !in->waits || !in->must_run) return fy_fail_oom(err, ids);
  if (in->call->num_controls)
    FY_TRY(add_no_op(in, "begin", in->call->controls, in->call->num_controls, &in->begin, err));
  FY_TRY(fy_graph_order(in->body, a, &order, &n, err));
  for (size_t i = 0; i < n; i++) {
    if (fy_node_is(order[i], "_Arg"))
      FY_TRY(take_argument(in, order[i], err));
    else if (!fy_node_is(order[i], "_Retval"))
      FY_TRY(copy_node(in, order[i], err));
  }
  return hand_over(in, order, n, err);
}

// Does the call give what the body takes, and take what it gives? If not, the call will say so.
static bool fits(const fy_node *call, const fy_graph *body) {
  uint32_t args = 0, results = 0;
  for (size_t i = 0; i < body->num_nodes; i++) {
    const fy_node *n = body->nodes[i];
    if (!n) continue;
    for (uint32_t k = 0; k < n->num_outputs; k++)  // readings are made per program (execute/refs.c)
      if (fy_dtype_is_ref(n->outputs[k].dtype)) return false;
    if (fy_node_is(n, "_Arg")) args++;
    if (!fy_node_is(n, "_Retval")) continue;
    int64_t at = fy_node_index(n);
    results++;
    if (at < 0 || at >= call->num_outputs ||
        fy_dtype_base(fy_output_type(n->inputs[0])) != fy_dtype_base(call->outputs[at].dtype))
      return false;
  }
  return args == call->num_inputs && results == call->num_outputs;
}

// A body that cannot be made is left to fail when the call runs.
static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  const fy_attrs *attrs;
  const fy_function *f = called(r->graph, node, &attrs);
  if (!f || is_marked(&f->attrs) || is_marked(&node->attrs) || r->graph->num_nodes > MAX_NODES)
    return FY_OK;
  inliner in = {.r = r, .call = node};
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_function_instantiate(r->graph->functions, f, attrs, &in.body, &why);
  fy_error_clear(&why);
  if (code) return FY_OK;
  // Frames of TensorFlow 1's loops are told apart by name: two copies would run into one another.
  if (fits(node, in.body) && !fy_flow_any(in.body)) code = copy_body(&in, err);
  fy_graph_free(in.body);
  return code;
}

static fy_code run_once(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}

fy_code fy_pass_inline(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  bool more = true;
  for (int depth = 0; more && depth < MAX_DEPTH; depth++) {
    bool pruned = false;
    more = false;
    FY_TRY(run_once(ctx, &more, err));
    *changed |= more;
    if (more) FY_TRY(fy_pass_prune(ctx, &pruned, err));  // the calls themselves must not run
  }
  if (!*changed) return FY_OK;
  // What the bodies tell about shapes; contradictions show when the nodes run.
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_graph_infer_all(ctx->graph, &why);
  if (code == FY_RESOURCE_EXHAUSTED && err) fy_error_move(err, &why);
  fy_error_clear(&why);
  return code == FY_RESOURCE_EXHAUSTED ? code : FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// loops.c: a While that counts to a limit known beforehand becomes a _FerryLoop: its condition is not
// asked any more, what no step changes is not handed from step to step, counters are one number, and
// constants are constants inside the body too (so that it is optimised and packed with them). Then
// loops_hoist.c moves work out of the body.
// Exact because: the condition is a conjunction of comparisons of counters (start and step constant)
// with constants, so the number of steps is their arithmetic; only loops of at least one step without
// effects are taken, so what is done before the loop would have been done in its first step.

#include "optimize/loops.h"

#include <string.h>

#include "graph/flow.h"
#include "graph/function.h"

#define MAX_CONJUNCTS 8

fy_output fy_loop_strip(fy_output o) {
  while (fy_node_is(o.node, "Identity") && o.node->num_inputs == 1) o = o.node->inputs[0];
  return o;
}

bool fy_loop_int(const fy_tensor *t, int64_t *out) {
  if (!t || t->device || t->dtype != FY_INT32 || t->rank != 0) return false;
  *out = fy_tensor_int(t, 0);
  return true;
}

// ---------------------------------------------------------------- adding
static fy_code add(fy_loop *l, fy_graph *g, const char *op, const fy_attrs *attrs,
                   const fy_output *inputs, uint32_t n, fy_node *const *controls, uint32_t nc,
                   fy_dtype type, fy_output *out, fy_error *err) {
  char *base = fy_arena_printf(&g->arena, "%s/%s", l->node->name, op);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  fy_node *made;
  if (!name) return fy_fail_oom(err, 64);
  FY_TRY(fy_graph_add_raw(g, op, name, l->node->device, attrs, inputs, n, controls, nc, &type, 1,
                          &made, err));
  FY_TRY(fy_node_clear_origins(g, made, err));
  *out = (fy_output){made, 0};
  return fy_graph_infer_node(g, made, err);
}

fy_code fy_loop_add_outer(fy_loop *l, const char *op, const fy_attrs *attrs,
                          const fy_output *inputs, uint32_t n, fy_dtype type, fy_output *out,
                          fy_error *err) {
  return add(l, l->r->graph, op, attrs, inputs, n, l->node->controls, l->node->num_controls, type,
             out, err);
}

fy_code fy_loop_add_inner(fy_loop *l, const char *op, const fy_attrs *attrs,
                          const fy_output *inputs, uint32_t n, fy_dtype type, fy_output *out,
                          fy_error *err) {
  return add(l, l->body, op, attrs, inputs, n, NULL, 0, type, out, err);
}

static fy_code set_index(fy_graph *g, fy_node *node, int64_t index, fy_error *err) {
  const fy_attr at = fy_attr_int(index);
  fy_attrs attrs = {0};
  FY_TRY(fy_attrs_copy(&attrs, &node->attrs, &g->arena, err));
  FY_TRY(fy_attrs_set(&attrs, &g->arena, "index", &at, err));
  node->attrs = attrs;
  return FY_OK;
}

static fy_code add_arg(fy_loop *l, fy_dtype type, fy_pshape shape, fy_node **out, fy_error *err) {
  fy_attrs attrs = {0};
  const fy_attr t = fy_attr_type(type), index = fy_attr_int(0);
  fy_output made;
  FY_TRY(fy_attrs_set(&attrs, &l->body->arena, "T", &t, err));
  FY_TRY(fy_attrs_set(&attrs, &l->body->arena, "index", &index, err));
  FY_TRY(fy_loop_add_inner(l, "_Arg", &attrs, NULL, 0, type, &made, err));
  made.node->outputs[0].shape = shape;  // dims of the outer graph, which owns the body
  *out = made.node;
  return FY_OK;
}

fy_code fy_loop_add_argument(fy_loop *l, fy_output outer, fy_output *inner, fy_error *err) {
  if (l->num_more == l->cap_more) {
    const uint32_t cap = l->cap_more ? 2 * l->cap_more : 8;
    fy_loop_value *grown = fy_arena_array(&l->r->scratch, cap, sizeof *grown);
    if (!grown) return fy_fail_oom(err, cap * sizeof *grown);
    if (l->num_more) memcpy(grown, l->more, l->num_more * sizeof *grown);
    l->more = grown;
    l->cap_more = cap;
  }
  fy_loop_value *v = &l->more[l->num_more];
  *v = (fy_loop_value){.kind = FY_LOOP_SAME, .outer = outer};
  FY_TRY(add_arg(l, fy_dtype_base(fy_output_type(outer)), fy_output_shape(outer), &v->arg, err));
  l->num_more++;
  *inner = (fy_output){v->arg, 0};
  return FY_OK;
}

// ---------------------------------------------------------------- finding
static bool is_while(const fy_node *n) {
  return fy_node_is(n, "While") || fy_node_is(n, "StatelessWhile");
}

static fy_code instantiate(const fy_loop *l, const char *attr, fy_graph **out, const char **name,
                           fy_error *err) {
  const fy_attr *a = fy_attrs_get(&l->node->attrs, attr);
  *out = NULL;
  if (!a || a->kind != FY_ATTR_FUNC || a->is_list) return FY_OK;
  const fy_view v = a->v.func->name;
  const fy_function *f = fy_funclib_find(l->r->graph->functions, v.p, v.n);
  if (!f) return FY_OK;
  *name = f->name;
  fy_error why;
  fy_error_init(&why);
  const fy_code code =
      fy_function_instantiate(l->r->graph->functions, f, &a->v.func->attrs, out, &why);
  if (code == FY_RESOURCE_EXHAUSTED && err) fy_error_move(err, &why);
  fy_error_clear(&why);
  return code == FY_RESOURCE_EXHAUSTED ? code : FY_OK;  // any other mistake shows when it runs
}

// Arguments and results by number; false: they are not those of the While.
static bool find_ends(const fy_loop *l, const fy_graph *g, fy_node **args, fy_node **rets,
                      uint32_t num_rets) {
  uint32_t num_args = 0, found = 0;
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *n = g->nodes[i];
    if (!n) continue;
    for (uint32_t k = 0; k < n->num_outputs; k++)
      if (fy_dtype_is_ref(n->outputs[k].dtype)) return false;
    const bool arg = fy_node_is(n, "_Arg"), ret = fy_node_is(n, "_Retval");
    if (!arg && !ret) continue;
    const int64_t at = fy_node_index(n);
    fy_node **slot = at < 0                          ? NULL
                     : arg && at < (int64_t)l->n     ? &args[at]
                     : ret && at < (int64_t)num_rets ? &rets[at]
                                                     : NULL;
    if (!slot || *slot) return false;
    *slot = n;
    num_args += arg;
    found += ret;
  }
  return num_args == l->n && found == num_rets;
}

// May |n| be left out, or done another number of times, without anybody noticing?
static bool is_quiet(const fy_node *n) {
  if (fy_node_is(n, "_Arg") || fy_node_is(n, "_Retval")) return true;
  return n->op && n->op->impl && !n->function && !(n->op->spec->flags & FY_SPEC_STATEFUL) &&
         !n->op->user_kernels && !fy_node_colocated(n) &&
         !(n->op->impl->flags & (FY_OP_ASYNC | FY_OP_CALLS_FUNCTIONS));
}

static bool is_variable_read(const fy_node *n) {
  return fy_node_is(n, "ReadVariableOp") && !fy_node_colocated(n) &&
         fy_node_is(fy_loop_strip(n->inputs[0]).node, "_Arg");
}

static bool all_quiet(const fy_graph *g, bool reads) {
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (n && !is_quiet(n) && !(reads && is_variable_read(n))) return false;
  }
  return !fy_flow_any(g);
}

// A constant, in the body or given to it by the While and handed on unchanged.
static const fy_tensor *constant(const fy_loop *l, fy_output o) {
  o = fy_loop_strip(o);
  for (uint32_t i = 0; i < l->n; i++)
    if (l->values[i].arg == o.node)
      return fy_loop_strip(l->values[i].ret->inputs[0]).node == o.node
                 ? fy_rewrite_const(l->r, l->node, i)
                 : NULL;
  return o.node->const_value;
}

static void classify(fy_loop *l, uint32_t i) {
  fy_loop_value *v = &l->values[i];
  const fy_output back = fy_loop_strip(v->ret->inputs[0]);
  int64_t step;
  v->kind = FY_LOOP_CARRIED;
  if (back.node == v->arg) {
    v->kind = FY_LOOP_SAME;
  } else if (fy_node_is_sum(back.node) && fy_output_type(back) == FY_INT32 &&
             fy_loop_int(fy_rewrite_const(l->r, l->node, i), &v->start)) {
    const fy_output a = fy_loop_strip(back.node->inputs[0]),
                    b = fy_loop_strip(back.node->inputs[1]);
    const fy_output by = a.node == v->arg ? b : a, from = a.node == v->arg ? a : b;
    if (from.node == v->arg && fy_loop_int(constant(l, by), &step) && step == 1)
      v->kind = FY_LOOP_COUNTS;
  }
}

// The number of steps after which |o| of the condition becomes false; -1: nobody knows.
static int64_t steps_of(const fy_loop *l, fy_node *const *args, fy_output o) {
  static const struct {
    const char *op;
    bool swapped, equal;
  } kinds[] = {{"Less", false, false},
               {"LessEqual", false, true},
               {"Greater", true, false},
               {"GreaterEqual", true, true}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (!fy_node_is(o.node, kinds[k].op)) continue;
    const fy_output low = fy_loop_strip(o.node->inputs[kinds[k].swapped]),
                    high = fy_loop_strip(o.node->inputs[!kinds[k].swapped]);
    const fy_loop_value *counter = NULL;
    const fy_tensor *limit = high.node->const_value;
    for (uint32_t i = 0; i < l->n; i++) {
      if (args[i] == low.node && l->values[i].kind == FY_LOOP_COUNTS) counter = &l->values[i];
      if (args[i] == high.node && l->values[i].kind == FY_LOOP_SAME)
        limit = fy_rewrite_const(l->r, l->node, i);
    }
    int64_t to;
    if (!counter || !fy_loop_int(limit, &to)) return -1;
    to += kinds[k].equal;
    if (to > INT32_MAX) return -1;
    return to > counter->start ? to - counter->start : 0;
  }
  return -1;
}

static int64_t count_steps(const fy_loop *l, fy_node *const *args, fy_output result) {
  fy_output todo[MAX_CONJUNCTS] = {fy_loop_strip(result)};
  int num = 1;
  int64_t least = INT64_MAX;
  while (num) {
    const fy_output o = todo[--num];
    if (fy_node_is(o.node, "LogicalAnd")) {
      if (num + 2 > MAX_CONJUNCTS) return -1;
      todo[num++] = fy_loop_strip(o.node->inputs[0]);
      todo[num++] = fy_loop_strip(o.node->inputs[1]);
      continue;
    }
    const int64_t steps = steps_of(l, args, o);
    if (steps < 0) return -1;
    if (steps < least) least = steps;
  }
  return least;
}

// Is the loop one that counts? Fills |l| but for the counter.
static fy_code recognise(fy_loop *l, bool *yes, fy_error *err) {
  const fy_node *w = l->node;
  const char *name = NULL;
  fy_graph *cond;
  l->n = w->num_inputs;
  fy_node **args = fy_arena_array(&l->r->scratch, 3 * (size_t)l->n + 1, sizeof *args);
  l->values = fy_arena_array(&l->r->scratch, l->n + 1, sizeof *l->values);
  if (!args || !l->values) return fy_fail_oom(err, l->n * sizeof *l->values);
  fy_node **body_args = args + l->n, **rets = args + 2 * (size_t)l->n, *answer = NULL;
  *yes = false;
  FY_TRY(instantiate(l, "body", &l->body, &name, err));
  if (!l->body || w->num_outputs != l->n || !find_ends(l, l->body, body_args, rets, l->n) ||
      !all_quiet(l->body, true))
    return FY_OK;
  for (uint32_t i = 0; i < l->n; i++) {
    fy_loop_value *v = &l->values[i];
    v->arg = body_args[i];
    v->ret = rets[i];
    v->outer = fy_rewrite_input(l->r, w, i);
  }
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    classify(l, i);
    const fy_dtype type = fy_output_type(v->outer);
    if (fy_dtype_is_ref(type) || fy_output_type(v->ret->inputs[0]) != type ||
        fy_output_type((fy_output){v->arg, 0}) != type)
      return FY_OK;
    // Whoever reads a handle after the loop waits for the loop's own readings.
    if (type == FY_RESOURCE &&
        (v->kind != FY_LOOP_SAME || w->outputs[i].num_uses || fy_rewrite_is_fetched(l->r, w, i)))
      return FY_OK;
  }
  l->body->body_of = fy_arena_strdup(&l->body->arena, name);
  if (!l->body->body_of) return fy_fail_oom(err, strlen(name));
  FY_TRY(instantiate(l, "cond", &cond, &name, err));
  if (cond && find_ends(l, cond, args, &answer, 1) && all_quiet(cond, false) &&
      fy_output_type(answer->inputs[0]) == FY_BOOL)
    l->trips = count_steps(l, args, answer->inputs[0]);
  fy_graph_free(cond);
  *yes = l->trips > 0;
  return FY_OK;
}

// ---------------------------------------------------------------- the new body
static fy_code make_counter(fy_loop *l, fy_error *err) {
  FY_TRY(add_arg(l, FY_INT32, (fy_pshape){0, NULL}, &l->counter, err));
  for (uint32_t i = 0; i < l->n; i++) {
    fy_loop_value *v = &l->values[i];
    if (v->kind != FY_LOOP_COUNTS) continue;
    fy_output now = {l->counter, 0};
    if (v->start) {
      const int32_t start = (int32_t)v->start;
      const fy_attr t = fy_attr_type(FY_INT32);
      fy_attrs attrs = {0};
      fy_tensor *value;
      fy_node *from;
      FY_TRY(fy_tensor_from(FY_INT32, 0, NULL, &start, &value, err));
      FY_TRY(fy_graph_add_const(l->body, l->counter, i, value, &from, err));
      FY_TRY(fy_attrs_set(&attrs, &l->body->arena, "T", &t, err));
      const fy_output both[] = {now, {from, 0}};
      FY_TRY(fy_loop_add_inner(l, "AddV2", &attrs, both, 2, FY_INT32, &now, err));
    }
    FY_TRY(fy_graph_replace_uses(l->body, (fy_output){v->arg, 0}, now, err));
  }
  return FY_OK;
}

static fy_code take_constants(fy_loop *l, fy_error *err) {
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    const fy_tensor *t = fy_rewrite_const(l->r, l->node, i);
    if (v->kind != FY_LOOP_SAME || !t || t->device) continue;
    fy_tensor *shared = (fy_tensor *)(uintptr_t)t;
    fy_tensor_retain(shared);
    FY_TRY(fy_node_become_const(l->body, v->arg, shared, err));
  }
  return FY_OK;
}

// Takes out what nothing reads any more, and the results that are none now.
static fy_code sweep(fy_loop *l, fy_error *err) {
  fy_graph *g = l->body;
  bool more = true;
  for (uint32_t i = 0; i < l->n; i++)
    if (l->values[i].kind != FY_LOOP_CARRIED) FY_TRY(fy_graph_remove(g, l->values[i].ret, err));
  while (more) {
    more = false;
    for (size_t i = g->num_nodes; i-- > 0;) {
      fy_node *n = g->nodes[i];
      if (!n || fy_node_is(n, "_Retval") || fy_node_is(n, "_Arg") || n->num_control_outs ||
          (n->user_flags & FY_NODE_MUST_RUN))
        continue;
      bool read = false;
      for (uint32_t k = 0; k < n->num_outputs; k++) read |= n->outputs[k].num_uses > 0;
      if (read) continue;
      FY_TRY(fy_graph_remove(g, n, err));
      more = true;
    }
  }
  return FY_OK;
}

// The arguments in their new order: counter, what is carried, what stays; the last only if read.
static fy_code number(fy_loop *l, fy_output *inputs, uint32_t *num_carried, uint32_t *num_inputs,
                      fy_error *err) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    if (v->kind != FY_LOOP_CARRIED) continue;
    FY_TRY(set_index(l->body, v->ret, at, err));
    inputs[at++] = v->outer;
    FY_TRY(set_index(l->body, v->arg, at, err));
  }
  *num_carried = at;
  for (uint32_t i = 0; i < l->n + l->num_more; i++) {
    const fy_loop_value *v = i < l->n ? &l->values[i] : &l->more[i - l->n];
    if (v->kind == FY_LOOP_CARRIED || !fy_node_is(v->arg, "_Arg")) continue;
    if (!v->arg->outputs[0].num_uses) {
      FY_TRY(fy_graph_remove(l->body, v->arg, err));
      continue;
    }
    inputs[at++] = v->outer;
    FY_TRY(set_index(l->body, v->arg, at, err));
  }
  *num_inputs = at;
  return FY_OK;
}

// ---------------------------------------------------------------- the new node
static fy_code forward_rest(fy_loop *l, fy_error *err) {
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    fy_output now = v->outer;
    if (v->kind == FY_LOOP_CARRIED) continue;
    if (v->kind == FY_LOOP_COUNTS) {
      const int32_t end = (int32_t)(v->start + l->trips);
      fy_tensor *value;
      fy_node *made;
      FY_TRY(fy_tensor_from(FY_INT32, 0, NULL, &end, &value, err));
      FY_TRY(fy_graph_add_const(l->r->graph, l->node, i, value, &made, err));
      now = (fy_output){made, 0};
    }
    FY_TRY(fy_rewrite_forward(l->r, (fy_output){l->node, (int32_t)i}, now, err));
  }
  return FY_OK;
}

static fy_code replace(fy_loop *l, const fy_output *inputs, uint32_t num_carried,
                       uint32_t num_inputs, size_t body, fy_error *err) {
  fy_graph *g = l->r->graph;
  fy_node *w = l->node, *made;
  fy_attrs attrs = {0};
  fy_attr tin, tout;
  const fy_attr number_ = fy_attr_int((int64_t)body), trips = fy_attr_int(l->trips);
  fy_dtype *types = fy_arena_array(&l->r->scratch, num_carried + 1, sizeof *types);
  char *base = fy_arena_printf(&g->arena, "%s/steps", w->name);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  if (!types || !name) return fy_fail_oom(err, 64);
  for (uint32_t i = 0; i < num_carried; i++) types[i] = fy_output_type(inputs[i]);
  FY_TRY(fy_graph_type_list(&g->arena, inputs, num_inputs, &tin, err));
  FY_TRY(fy_graph_type_list(&g->arena, inputs, num_carried, &tout, err));
  FY_TRY(fy_attrs_set(&attrs, &g->arena, "Tin", &tin, err));
  FY_TRY(fy_attrs_set(&attrs, &g->arena, "Tout", &tout, err));
  FY_TRY(fy_attrs_set(&attrs, &g->arena, "body", &number_, err));
  FY_TRY(fy_attrs_set(&attrs, &g->arena, "trips", &trips, err));
  FY_TRY(fy_graph_add_raw(g, "_FerryLoop", name, w->device, &attrs, inputs, num_inputs, w->controls,
                          w->num_controls, types, num_carried, &made, err));
  FY_TRY(fy_node_clear_origins(g, made, err));
  uint32_t at = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    if (l->values[i].kind != FY_LOOP_CARRIED) continue;
    made->outputs[at].shape = w->outputs[i].shape;
    made->outputs[at].handle = w->outputs[i].handle;
    FY_TRY(
        fy_rewrite_forward(l->r, (fy_output){w, (int32_t)i}, (fy_output){made, (int32_t)at}, err));
    at++;
  }
  FY_TRY(forward_rest(l, err));
  fy_rewrite_instead(l->r, w, made);
  fy_rewrite_log(l->r, "loops: %s = %s, %lld steps", made->name, w->name, (long long)l->trips);
  return FY_OK;
}

static fy_code convert(fy_loop *l, fy_error *err) {
  uint32_t num_carried = 0, num_inputs = 0;
  size_t body;
  FY_TRY(make_counter(l, err));
  FY_TRY(take_constants(l, err));
  FY_TRY(fy_loop_hoist(l, err));
  FY_TRY(fy_loop_tell_shapes(l, err));
  FY_TRY(sweep(l, err));
  fy_output *inputs = fy_arena_array(&l->r->scratch, l->n + l->num_more + 1, sizeof *inputs);
  if (!inputs) return fy_fail_oom(err, l->n * sizeof *inputs);
  FY_TRY(number(l, inputs, &num_carried, &num_inputs, err));
  fy_graph *made = l->body;
  l->body = NULL;
  FY_TRY(fy_graph_adopt(l->r->graph, made, &body, err));
  return replace(l, inputs, num_carried, num_inputs, body, err);
}

static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_loop l = {.r = r, .node = node};
  bool yes = false;
  if (!is_while(node) || fy_node_colocated(node)) return FY_OK;
  fy_code code = recognise(&l, &yes, err);
  if (!code && yes) code = convert(&l, err);
  fy_graph_free(l.body);
  return code;
}

fy_code fy_pass_loops(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}

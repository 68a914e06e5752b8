// SPDX-License-Identifier: Apache-2.0
// shape.c: run shape functions over nodes. What is known only grows: a result is merged with what the
// node's outputs already had (set by the user or by an earlier pass); a contradiction is an error.

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"
#include "ops/shape_fns.h"
#include "ops/spec_bound.h"

static const fy_pshape unknown_shape = {-1, NULL};

// Merges |b| into |*a|; false when they contradict. New dims come from |arena| (NULL result = no memory).
static fy_code merge(fy_pshape *a, fy_pshape b, fy_arena *arena, fy_error *err) {
  if (b.rank < 0) return FY_OK;
  if (a->rank < 0) {
    const int64_t *dims = fy_arena_memdup(arena, b.dims, (size_t)b.rank * sizeof *dims);
    if (!dims) return fy_fail_oom(err, (size_t)b.rank * sizeof *dims);
    *a = (fy_pshape){b.rank, dims};
    return FY_OK;
  }
  if (a->rank != b.rank)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shapes must be equal rank, but are %d and %d",
                   a->rank, b.rank);
  bool more = false;
  for (int32_t i = 0; i < b.rank; i++) {
    if (a->dims[i] >= 0 && b.dims[i] >= 0 && a->dims[i] != b.dims[i]) {
      char sa[128], sb[128];
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Dimension %d in both shapes must be equal, but are %lld and %lld. Shapes are %s and %s.",
          i, (long long)a->dims[i], (long long)b.dims[i], fy_shape_text(a->rank, a->dims, sa),
          fy_shape_text(b.rank, b.dims, sb));
    }
    if (a->dims[i] < 0 && b.dims[i] >= 0) more = true;
  }
  if (!more) return FY_OK;
  int64_t *dims = fy_arena_alloc(arena, (size_t)b.rank * sizeof *dims);
  if (!dims) return fy_fail_oom(err, (size_t)b.rank * sizeof *dims);
  for (int32_t i = 0; i < b.rank; i++) dims[i] = a->dims[i] >= 0 ? a->dims[i] : b.dims[i];
  a->dims = dims;
  return FY_OK;
}

fy_code fy_graph_merge_shape(fy_graph *g, fy_pshape *a, fy_pshape b, fy_error *err) {
  return merge(a, b, &g->arena, err);
}

// Input |i| as a shape: from its value |v| or from what its producer knows of it.
static fy_pshape input_as_shape(const fy_node *node, int i, const fy_tensor *v, fy_arena *arena) {
  fy_output in = node->inputs[i];
  if (v && v->rank == 1 && v->count <= FY_MAX_RANK && !v->device &&
      (v->dtype == FY_INT32 || v->dtype == FY_INT64)) {
    int64_t *dims = fy_arena_alloc(arena, (size_t)v->count * sizeof *dims);
    if (!dims) return unknown_shape;
    for (int64_t k = 0; k < v->count; k++) {
      int64_t d = fy_tensor_int(v, k);
      dims[k] = d < 0 ? -1 : d;
    }
    return (fy_pshape){(int32_t)v->count, dims};
  }
  const fy_node_out *o = &in.node->outputs[in.index];
  return o->as_shape ? *o->as_shape : unknown_shape;
}

// ---- values computed from constants, when a shape function asks for them
static _Atomic(fy_tensor *(*)(fy_output)) evaluator;

void fy_graph_set_evaluator(fy_tensor *(*evaluate)(fy_output output)) {
  atomic_store(&evaluator, evaluate);
}

static void release(void *t) {
  fy_tensor_release(t);
}

static const fy_tensor *evaluate_input(fy_shape_ctx *ctx, int i) {
  fy_tensor *(*evaluate)(fy_output) = atomic_load(&evaluator);
  const fy_node *node = ctx->node;
  fy_tensor *t = evaluate ? evaluate(node->inputs[i]) : NULL;
  if (!t) return NULL;
  if (fy_arena_defer(ctx->arena, release, t) != 0) {
    fy_tensor_release(t);
    return NULL;
  }
  ((const fy_tensor **)(uintptr_t)ctx->in_value)[i] = t;
  ((fy_pshape *)(uintptr_t)ctx->in_as_shape)[i] = input_as_shape(node, i, t, ctx->arena);
  return t;
}

static fy_code publish(fy_graph *g, fy_node *node, const fy_shape_ctx *ctx, fy_error *err) {
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    fy_node_out *o = &node->outputs[i];
    FY_TRY(merge(&o->shape, ctx->out[i], &g->arena, err));
    if (ctx->out_handle[i].dtype != FY_INVALID && o->handle.dtype == FY_INVALID) {
      o->handle.dtype = ctx->out_handle[i].dtype;
      o->handle.shape = unknown_shape;
      FY_TRY(merge(&o->handle.shape, ctx->out_handle[i].shape, &g->arena, err));
    }
    fy_pshape known = o->as_shape ? *o->as_shape : unknown_shape;
    const int64_t *before = known.dims;
    FY_TRY(merge(&known, ctx->out_as_shape[i], &g->arena, err));
    if (known.rank >= 0 && (!o->as_shape || known.dims != before)) {
      fy_pshape *s = fy_arena_alloc(&g->arena, sizeof *s);
      if (!s) return fy_fail_oom(err, sizeof *s);
      *s = known;
      o->as_shape = s;
    }
  }
  return FY_OK;
}

// A value that the caller gave for an input that is no constant (TFE_InferShapes).
static bool given(const fy_node *node, int i) {
  const fy_node *from = node->inputs[i].node;
  return from->const_value && strcmp(from->op_name, "Const") != 0;
}

// These arise while a value is read, before there is a shape function to name.
static bool arises_early(const char *text) {
  static const char *const early[] = {
      "Invalid value in tensor used for shape", "Received a shape scalar with unknown static value",
      "Received an invalid shape scalar", "Input tensor must be int32 or int64, but was"};
  for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
    if (strncmp(text, early[i], strlen(early[i])) == 0) return true;
  }
  return false;
}

// TensorFlow's wrapping: "<text> for '{{node n}} = Op[…](a, b)' with input shapes: [2], [3] and with
// computed input tensors: input[1] = <…>."
static void explain(const fy_node *node, fy_shape_ctx *ctx, fy_error *err) {
  if (!err || arises_early(fy_error_text(err))) return;
  fy_str s;
  fy_str_init(&s);
  fy_str_add(&s, " for '");
  fy_node_print(&s, node);
  fy_str_add(&s, "' with input shapes: ");
  for (int i = 0; i < ctx->num_inputs; i++) {
    if (i) fy_str_add(&s, ", ");
    if (ctx->in[i].rank < 0)
      fy_str_add(&s, "?");
    else
      fy_shape_print(&s, ctx->in[i].rank, ctx->in[i].dims);
  }
  bool first = true;
  for (int i = 0; i < ctx->num_inputs && i < 64; i++) {
    const fy_tensor *v = ctx->in_value[i];
    uint64_t asked = ctx->asked_values | (given(node, i) ? ctx->asked_shapes : 0);
    // Known so far as a shape only: TensorFlow has computed it.
    if (!v && (ctx->asked_values >> i & 1)) v = fy_shape_tensor(ctx, i);
    if (!v || !(asked >> i & 1)) continue;
    fy_str_add(&s, first ? " and with computed input tensors: " : ", ");
    first = false;
    fy_str_printf(&s, "input[%d] = <", i);
    fy_tensor_print(&s, v, 256);
    fy_str_add(&s, ">");
  }
  first = true;
  for (int i = 0; i < ctx->num_inputs && i < 64; i++) {
    fy_pshape p = ctx->in_as_shape[i];
    if (p.rank < 0 || !(ctx->asked_shapes >> i & 1) || given(node, i)) continue;
    fy_str_add(&s, first ? " and with input tensors computed as partial shapes: " : ", ");
    first = false;
    fy_str_printf(&s, "input[%d] = ", i);
    fy_shape_print(&s, p.rank, p.dims);
  }
  fy_str_add(&s, ".");
  fy_error_append(err, "%s", fy_str_text(&s));
  fy_str_free(&s);
}

// TensorFlow runs a shape function without values first and again with those that it asked for; the
// text shows what the run that failed was given. Finds that run, its error and its values.
static void find_failing_run(const fy_node *node, fy_shape_ctx *ctx, fy_error *err) {
  size_t n = (size_t)ctx->num_inputs;
  const fy_tensor **values = fy_arena_array(ctx->arena, n + 1, sizeof *values);
  fy_pshape *shapes = fy_arena_array(ctx->arena, n + 1, sizeof *shapes);
  fy_shape_ctx c = *ctx;
  uint64_t given_values = 0, given_shapes = 0;
  if (!values || !shapes || !err || n > 64) return;
  c.in_value = values;
  c.in_as_shape = shapes;
  c.evaluate = NULL;
  for (int round = 0; round < 64; round++) {
    for (size_t i = 0; i < n; i++) {
      bool known = (given_values | given_shapes) >> i & 1;
      values[i] = known ? ctx->in_value[i] : NULL;
      shapes[i] = known ? ctx->in_as_shape[i] : unknown_shape;
    }
    c.asked_values = c.asked_shapes = 0;
    fy_error e;
    fy_error_init(&e);
    fy_code code = node->op->impl->shape(&c, &e);
    if (code) fy_fail(err, code, "%s", fy_error_text(&e));
    fy_error_clear(&e);
    if (code) {
      ctx->asked_values = c.asked_values & given_values;
      ctx->asked_shapes = c.asked_shapes & given_shapes;
      return;
    }
    if (!(c.asked_values & ~given_values) && !(c.asked_shapes & ~given_shapes)) return;
    given_values |= c.asked_values;
    given_shapes |= c.asked_shapes;
  }
}

// Up to version 21 a scalar Placeholder also stood for one whose shape was not said.
static bool scalar_says_nothing(const fy_graph *g, const fy_node *node) {
  if (g->producer > 21 || strcmp(node->op_name, "Placeholder") != 0) return false;
  const fy_attr *shape = fy_attrs_get(&node->attrs, "shape");
  return shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank == 0;
}

// TensorFlow fails as soon as a shape function reads an attribute that is not bound yet. Which ones it reads
// is known only by kind: sizes and shapes always, once there is a rank to apply them to; numbers, names and
// types never, so that any value will do for them.
static fy_code infer_open(const fy_attr_spec *open, fy_shape_ctx ctx, const fy_op *op,
                          fy_error *err) {
  bool ranked = ctx.num_inputs == 0;
  for (int i = 0; i < ctx.num_inputs; i++) ranked |= ctx.in[i].rank >= 0;
  bool is_size = open->is_list || open->kind == FY_ATTR_INT || open->kind == FY_ATTR_BOOL;
  if (open->kind == FY_ATTR_SHAPE || open->kind == FY_ATTR_TENSOR || (is_size && ranked))
    return fy_spec_check_bound(ctx.spec, ctx.attrs, err);
  if (is_size) return FY_OK;
  fy_attrs bound;
  FY_TRY(fy_attrs_copy(&bound, ctx.attrs, ctx.arena, err));
  for (; open; open = fy_spec_open_attr(ctx.spec, &bound)) {
    fy_attr any = {.kind = open->kind, .is_list = open->is_list};
    FY_TRY(fy_attrs_set(&bound, ctx.arena, open->name,
                        open->has_default ? &open->default_value : &any, err));
  }
  ctx.attrs = &bound;
  return op->impl->shape(&ctx, err);
}

fy_code fy_graph_infer_node(fy_graph *g, fy_node *node, fy_error *err) {
  const fy_op *op = node->op;
  const fy_attr_spec *open = fy_spec_open_attr(node->spec, &node->attrs);
  if (open && open->kind == FY_ATTR_FUNC) return fy_spec_check_bound(node->spec, &node->attrs, err);
  bool user = op && op->user_shape_fn;
  if (op && !user && !op->impl && (op->spec->flags & FY_SPEC_CUSTOM))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "No shape inference function exists for op '%s', did you forget to define it?",
                   op->spec->name);
  if (!op || (!user && (!op->impl || !op->impl->shape))) return FY_OK;
  fy_arena tmp;
  fy_arena_init(&tmp);
  uint32_t ni = node->num_inputs, no = node->num_outputs;
  fy_pshape *in = fy_arena_alloc(&tmp, ni * sizeof *in);
  fy_pshape *in_as = fy_arena_alloc(&tmp, ni * sizeof *in_as);
  const fy_tensor **value = fy_arena_alloc(&tmp, ni * sizeof *value);
  fy_handle_shape *in_h = fy_arena_alloc(&tmp, ni * sizeof *in_h);
  fy_dtype *out_types = fy_arena_alloc(&tmp, no * sizeof *out_types);
  fy_pshape *out = fy_arena_alloc(&tmp, no * sizeof *out);
  fy_pshape *out_as = fy_arena_alloc(&tmp, no * sizeof *out_as);
  fy_handle_shape *out_h = fy_arena_alloc(&tmp, no * sizeof *out_h);
  fy_code code = FY_OK;
  if (!in || !in_as || !value || !in_h || !out_types || !out || !out_as || !out_h) {
    code = fy_fail_oom(err, ni * sizeof *in);
    goto done;
  }
  for (uint32_t i = 0; i < ni; i++) {
    const fy_output src = node->inputs[i];
    const fy_node_out *o = &src.node->outputs[src.index];
    in[i] = o->shape;
    in_h[i] = o->handle;
    value[i] = src.index == 0 ? src.node->const_value : NULL;
    in_as[i] = input_as_shape(node, (int)i, value[i], &tmp);
  }
  for (uint32_t i = 0; i < no; i++) {
    out_types[i] = node->outputs[i].dtype;
    out[i] = out_as[i] = unknown_shape;
    out_h[i] = (fy_handle_shape){FY_INVALID, unknown_shape};
  }
  fy_shape_ctx ctx = {.spec = node->spec,
                      .attrs = &node->attrs,
                      .node_name = node->name,
                      .num_inputs = (int)ni,
                      .num_outputs = (int)no,
                      .in_types = node->input_types,
                      .out_types = out_types,
                      .in = in,
                      .in_value = value,
                      .in_as_shape = in_as,
                      .in_handle = in_h,
                      .out = out,
                      .out_handle = out_h,
                      .out_as_shape = out_as,
                      .evaluate = evaluate_input,
                      .node = node,
                      .functions = g->functions,
                      .arena = &tmp};
  for (uint32_t i = 0; i < ni && i < 64; i++) {
    if (strcmp(node->inputs[i].node->op_name, "Pack") == 0) ctx.packed |= 1ull << i;
  }
  code = fy_spec_check_shapes(node->spec, &node->attrs, err);
  if (!code && user)
    code = fy_user_shape_infer(op, &ctx, err);
  else if (!code)
    code = open ? infer_open(open, ctx, op, err) : op->impl->shape(&ctx, err);
  if (!code && scalar_says_nothing(g, node)) out[0] = unknown_shape;
  if (code && code != FY_RESOURCE_EXHAUSTED && !user && !open) find_failing_run(node, &ctx, err);
  if (code)
    explain(node, &ctx, err);
  else
    code = publish(g, node, &ctx, err);
done:
  fy_arena_free(&tmp);
  return code;
}

fy_code fy_graph_infer_all(fy_graph *g, fy_error *err) {
  fy_arena tmp;
  fy_node **order;
  size_t n;
  fy_arena_init(&tmp);
  fy_code code = fy_graph_order(g, &tmp, &order, &n, err);
  for (size_t i = 0; code == FY_OK && i < n; i++) {
    fy_error ignored;
    fy_error_init(&ignored);
    fy_code node = fy_graph_infer_node(g, order[i], &ignored);
    if (node == FY_RESOURCE_EXHAUSTED) code = fy_fail(err, node, "%s", fy_error_text(&ignored));
    fy_error_clear(&ignored);
  }
  fy_arena_free(&tmp);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
// arithmetic.c: drops operations that change nothing and merges what follows its like. Every rule
// keeps the bits: x + 0 only for integers (it turns -0 into 0) but x - 0, x * 1 and x / 1 for
// floats too; a division becomes a multiplication only by a power of two; sums of constants are
// merged for integers only, because floats do not associate. Only the sign of a NaN may change, and a
// denormal number stays what it is where the operation would have made 0 of it.

#include <math.h>
#include <string.h>

#include "optimize/rewrite.h"

static bool may_replace(const fy_rewriter *r, const fy_node *node) {
  return !node->num_controls && !fy_node_colocated(node) && !fy_rewrite_is_target(r, node) &&
         fy_node_is_pure(node);
}

static fy_code bypass(fy_rewriter *r, fy_node *node, fy_output to, const char *why, fy_error *err) {
  if (!fy_node_same_request(node, to.node)) return FY_OK;
  FY_TRY(fy_rewrite_forward(r, (fy_output){node, 0}, to, err));
  fy_rewrite_instead(r, node, to.node);
  fy_rewrite_log(r, "arithmetic: %s (%s) dropped: %s", node->name, node->op_name, why);
  return FY_OK;
}

static fy_code set_input(fy_rewriter *r, fy_node *node, uint32_t i, fy_output to, const char *why) {
  node->inputs[i] = to;
  fy_rewrite_touch(r);
  fy_rewrite_log(r, "arithmetic: %s (%s) reads %s: %s", node->name, node->op_name, to.node->name,
                 why);
  return FY_OK;
}

// ------------------------------------------------------------------ neutral operands
static bool all_are(const fy_tensor *t, double want) {
  if (!t || t->device || t->count < 1 || t->count > 4096 ||
      !(fy_dtype_is_floating(t->dtype) || fy_dtype_is_integer(t->dtype)) ||
      fy_dtype_storage(t->dtype) > 8)
    return false;
  for (int64_t i = 0; i < t->count; i++) {
    double x = fy_tensor_double(t, i);
    if (x != want || signbit(x) != signbit(want)) return false;
  }
  return true;
}

// Does operand |i| do nothing to the other one?
static bool is_neutral(const fy_rewriter *r, const fy_node *node, uint32_t i) {
  const fy_tensor *t = fy_rewrite_const(r, node, i);
  if (!t) return false;
  bool ints = fy_dtype_is_integer(t->dtype);
  switch (node->op->impl ? node->op->impl->elementwise : FY_EW_NONE) {
    case FY_EW_ADD: return ints && all_are(t, 0);
    case FY_EW_SUB: return i == 1 && all_are(t, 0);
    case FY_EW_MUL: return all_are(t, 1);
    case FY_EW_DIV: return i == 1 && all_are(t, 1);
    default:
      return i == 1 && ints && all_are(t, 1) &&
             (fy_node_is(node, "FloorDiv") || fy_node_is(node, "TruncateDiv") ||
              fy_node_is(node, "Div"));
  }
}

static fy_code drop_neutral(fy_rewriter *r, fy_node *node, bool *done, fy_error *err) {
  for (uint32_t i = 0; i < 2; i++) {
    fy_output other = fy_rewrite_input(r, node, 1 - i);
    if (!is_neutral(r, node, i) || fy_output_type(other) != node->outputs[0].dtype ||
        !fy_shape_same(fy_output_shape(other), node->outputs[0].shape))
      continue;
    *done = true;
    return bypass(r, node, other, "neutral operand", err);
  }
  return FY_OK;
}

// Integers times zero are zero; the constant serves if it has the right shape.
static fy_code times_zero(fy_rewriter *r, fy_node *node, bool *done, fy_error *err) {
  for (uint32_t i = 0; i < 2; i++) {
    const fy_tensor *t = fy_rewrite_const(r, node, i);
    fy_output zero = fy_rewrite_input(r, node, i);
    if (!t || !fy_dtype_is_integer(t->dtype) || !all_are(t, 0) ||
        !fy_shape_same(fy_output_shape(zero), node->outputs[0].shape))
      continue;
    *done = true;
    return bypass(r, node, zero, "times zero", err);
  }
  return FY_OK;
}

// ------------------------------------------------------------------ constants in a row
static fy_code scalar_like(fy_rewriter *r, const fy_node *node, const fy_tensor *like,
                           const void *bits, fy_output *out, fy_error *err) {
  fy_tensor *value;
  fy_node *made;
  FY_TRY(fy_tensor_from(like->dtype, like->rank, like->dims, bits, &value, err));
  FY_TRY(fy_graph_add_const(r->graph, node, 0, value, &made, err));
  *out = (fy_output){made, 0};
  return FY_OK;
}

static int const_operand(const fy_rewriter *r, const fy_node *node) {
  for (int i = 0; i < 2; i++) {
    const fy_tensor *t = fy_rewrite_const(r, node, (uint32_t)i);
    if (t && t->rank == 0 && !t->device && (t->dtype == FY_INT32 || t->dtype == FY_INT64)) return i;
  }
  return -1;
}

// (x op c) op d = x op (c op d) for + and * of wrapping integers.
static fy_code merge_constants(fy_rewriter *r, fy_node *node, bool *done, fy_error *err) {
  int d = const_operand(r, node);
  if (d < 0) return FY_OK;
  fy_node *inner = fy_rewrite_input(r, node, (uint32_t)(1 - d)).node;
  if (inner->op != node->op || inner->num_controls || !fy_node_is_pure(inner) ||
      strcmp(inner->device, node->device) != 0)
    return FY_OK;
  int c = const_operand(r, inner);
  if (c < 0) return FY_OK;
  const fy_tensor *tc = fy_rewrite_const(r, inner, (uint32_t)c);
  const fy_tensor *td = fy_rewrite_const(r, node, (uint32_t)d);
  if (tc->dtype != td->dtype) return FY_OK;
  uint64_t x = (uint64_t)fy_tensor_int(tc, 0), y = (uint64_t)fy_tensor_int(td, 0);
  bool sum = node->op->impl->elementwise == FY_EW_ADD;
  const uint64_t wide = sum ? x + y : x * y;
  const uint32_t narrow = (uint32_t)wide;
  fy_output merged;
  FY_TRY(scalar_like(r, node, td, td->dtype == FY_INT64 ? (const void *)&wide : &narrow, &merged,
                     err));
  fy_output x_in = fy_rewrite_input(r, inner, (uint32_t)(1 - c));
  node->inputs[1 - d] = x_in;
  *done = true;
  return set_input(r, node, (uint32_t)d, merged, "constants merged");
}

static bool is_power_of_two(double x) {
  int e;
  return isfinite(x) && x != 0 && fabs(frexp(x, &e)) == 0.5;
}

// x / 2^k is x * 2^-k, bit for bit, as long as 2^-k is a normal number.
static fy_code divide_by_power(fy_rewriter *r, fy_node *node, fy_error *err) {
  const fy_tensor *t = fy_rewrite_const(r, node, 1);
  const fy_op *mul = fy_op_find("Mul", 3);
  if (!t || t->count != 1 || t->device || !mul || !mul->impl || mul->user_kernels) return FY_OK;
  double c = fy_tensor_double(t, 0);
  if (!is_power_of_two(c)) return FY_OK;
  const double wide = 1 / c;
  const float narrow = (float)wide;
  const void *bits = NULL;
  if (t->dtype == FY_DOUBLE && isnormal(wide) && isnormal(c)) bits = &wide;
  if (t->dtype == FY_FLOAT && isnormal(narrow) && isnormal((float)c)) bits = &narrow;
  if (!bits) return FY_OK;
  fy_output inverse;
  FY_TRY(scalar_like(r, node, t, bits, &inverse, err));
  node->op = mul;
  node->spec = mul->spec;
  node->op_name = mul->spec->name;
  return set_input(r, node, 1, inverse, "division by a power of two");
}

static fy_code visit_binary(fy_rewriter *r, fy_node *node, fy_error *err) {
  bool done = false;
  fy_ew e = node->op->impl ? node->op->impl->elementwise : FY_EW_NONE;
  FY_TRY(drop_neutral(r, node, &done, err));
  if (!done && e == FY_EW_MUL) FY_TRY(times_zero(r, node, &done, err));
  if (!done && (e == FY_EW_ADD || e == FY_EW_MUL)) FY_TRY(merge_constants(r, node, &done, err));
  if (!done && e == FY_EW_DIV) FY_TRY(divide_by_power(r, node, err));
  return FY_OK;
}

// ------------------------------------------------------------------ one operation after its like
static bool follows(const fy_rewriter *r, const fy_node *node, const char *op, fy_node **inner) {
  fy_output in = fy_rewrite_input(r, node, 0);
  *inner = in.node;
  return in.index == 0 && fy_node_is(in.node, op) && !in.node->num_controls &&
         fy_node_is_pure(in.node) && strcmp(in.node->device, node->device) == 0;
}

static bool is_idempotent(fy_ew e) {
  return e == FY_EW_ABS || e == FY_EW_RELU || e == FY_EW_RELU6 || e == FY_EW_FLOOR ||
         e == FY_EW_CEIL || e == FY_EW_RINT || e == FY_EW_SIGN;
}

// Of floats: neither negative nor -0. (Integers overflow.)
static bool never_negative(const fy_node *node) {
  const fy_ew e = node->op->impl ? node->op->impl->elementwise : FY_EW_NONE;
  return (e == FY_EW_SQUARE || e == FY_EW_ABS || e == FY_EW_EXP || e == FY_EW_SIGMOID) &&
         fy_dtype_is_floating(node->outputs[0].dtype);
}

static fy_code visit_unary(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_node *inner = fy_rewrite_input(r, node, 0).node;
  fy_ew e = node->op->impl ? node->op->impl->elementwise : FY_EW_NONE;
  if (!follows(r, node, inner->op_name, &inner)) return FY_OK;
  if ((e == FY_EW_ABS || e == FY_EW_RELU) && never_negative(inner))
    return bypass(r, node, (fy_output){inner, 0}, "never negative", err);
  if (!fy_node_is(inner, node->op_name)) return FY_OK;
  if (e == FY_EW_NEG || fy_node_is(node, "Invert") || fy_node_is(node, "LogicalNot"))
    return bypass(r, node, fy_rewrite_input(r, inner, 0), "undoes itself", err);
  if (is_idempotent(e)) return bypass(r, node, (fy_output){inner, 0}, "done already", err);
  return FY_OK;
}

static fy_code visit_reshape(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_node *inner;
  int64_t n;
  (void)err;
  if (!follows(r, node, "Reshape", &inner) || !fy_shape_static(inner->outputs[0].shape, &n) ||
      !fy_shape_static(fy_output_shape(fy_rewrite_input(r, inner, 0)), &n))
    return FY_OK;
  return set_input(r, node, 0, fy_rewrite_input(r, inner, 0), "reshaped twice");
}

// ------------------------------------------------------------------ casts
static int int_bits(fy_dtype t, bool *is_signed) {
  *is_signed = t == FY_INT8 || t == FY_INT16 || t == FY_INT32 || t == FY_INT64;
  return fy_dtype_is_integer(t) && t <= FY_UINT64 ? (int)fy_dtype_storage(t) * 8 : 0;
}

// Does every value of |from| have its own value in |to|, with the same meaning?
static bool widens(fy_dtype from, fy_dtype to) {
  bool sf, st;
  int bf = int_bits(from, &sf), bt = int_bits(to, &st);
  if (from == FY_BOOL) return bt || to == FY_FLOAT || to == FY_DOUBLE;
  if (bf && bt) return sf == st ? bt >= bf : !sf && bt > bf;
  if (bf) return (to == FY_FLOAT && bf <= 16) || (to == FY_DOUBLE && bf <= 32);
  if (from == FY_HALF || from == FY_BFLOAT16) return to == FY_FLOAT || to == FY_DOUBLE;
  return from == FY_FLOAT && to == FY_DOUBLE;
}

static bool truncates(const fy_node *node) {
  const fy_attr *a = fy_attrs_get(&node->attrs, "Truncate");
  return a && a->kind == FY_ATTR_BOOL && a->v.b;
}

static fy_code visit_cast(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_node *inner;
  if (!follows(r, node, "Cast", &inner) || truncates(node) || truncates(inner)) return FY_OK;
  fy_output x = fy_rewrite_input(r, inner, 0);
  fy_dtype from = fy_output_type(x), to = node->outputs[0].dtype;
  if (!widens(from, inner->outputs[0].dtype)) return FY_OK;
  if (from == to) return bypass(r, node, x, "cast there and back", err);
  fy_attrs attrs = {0};
  fy_attr source = fy_attr_type(from);
  fy_dtype *types = fy_arena_alloc(&r->graph->arena, sizeof *types);
  if (!types) return fy_fail_oom(err, sizeof *types);
  types[0] = from;
  FY_TRY(fy_attrs_copy(&attrs, &node->attrs, &r->graph->arena, err));
  FY_TRY(fy_attrs_set(&attrs, &r->graph->arena, "SrcT", &source, err));
  node->attrs = attrs;
  node->input_types = types;
  return set_input(r, node, 0, x, "cast twice");
}

// ------------------------------------------------------------------ lists
static int64_t attr_int(const fy_node *node, const char *name) {
  const fy_attr *a = fy_attrs_get(&node->attrs, name);
  return a && a->kind == FY_ATTR_INT ? a->v.i : INT64_MIN;
}

// Unpack(Pack(a, b, …)) along the same axis gives a, b, … back.
static fy_code visit_unpack(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_node *pack;
  if (!follows(r, node, "Pack", &pack) || pack->num_inputs != node->num_outputs ||
      attr_int(pack, "axis") != attr_int(node, "axis") || node->num_control_outs)
    return FY_OK;
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    fy_output in = fy_rewrite_input(r, pack, i);
    // The shapes are alike only if Pack ran: all must be known to be.
    if (!fy_node_same_request(node, in.node) ||
        !fy_shape_same(fy_output_shape(in), fy_output_shape(fy_rewrite_input(r, pack, 0))))
      return FY_OK;
  }
  for (uint32_t i = 0; i < node->num_outputs; i++)
    FY_TRY(fy_rewrite_forward(r, (fy_output){node, (int32_t)i}, fy_rewrite_input(r, pack, i), err));
  fy_rewrite_instead(r, node, pack);
  fy_rewrite_log(r, "arithmetic: %s (Unpack) dropped: undoes %s", node->name, pack->name);
  return FY_OK;
}

static fy_code visit_pack(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_output first = fy_rewrite_input(r, node, 0);
  const fy_node *unpack = first.node;
  if (!fy_node_is(unpack, "Unpack") || unpack->num_outputs != node->num_inputs ||
      unpack->num_controls || attr_int(unpack, "axis") != attr_int(node, "axis"))
    return FY_OK;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_output in = fy_rewrite_input(r, node, i);
    if (in.node != unpack || in.index != (int32_t)i) return FY_OK;
  }
  fy_output x = fy_rewrite_input(r, unpack, 0);
  if (!fy_shape_same(fy_output_shape(x), node->outputs[0].shape)) return FY_OK;
  return bypass(r, node, x, "undoes Unpack", err);
}

// ------------------------------------------------------------------ the walk
static bool keeps(const fy_rewriter *r, const fy_node *node, uint32_t i) {
  return fy_shape_same(fy_output_shape(fy_rewrite_input(r, node, i)), node->outputs[0].shape);
}

static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  if (!node->num_inputs || !node->num_outputs || node->const_value || !may_replace(r, node))
    return FY_OK;
  if (fy_node_is(node, "Unpack")) return visit_unpack(r, node, err);
  if (fy_node_is(node, "Pack")) return visit_pack(r, node, err);
  if (node->num_outputs != 1) return FY_OK;
  if (fy_node_is(node, "Reshape")) return visit_reshape(r, node, err);
  if (fy_node_is(node, "Cast")) return visit_cast(r, node, err);
  if ((fy_node_is(node, "AddN") || fy_node_is(node, "AccumulateNV2")) && node->num_inputs == 1 &&
      keeps(r, node, 0))
    return bypass(r, node, fy_rewrite_input(r, node, 0), "sum of one", err);
  if (fy_node_is(node, "ConcatV2") && node->num_inputs == 2 && fy_rewrite_const(r, node, 1) &&
      keeps(r, node, 0))
    return bypass(r, node, fy_rewrite_input(r, node, 0), "concatenation of one", err);
  if (node->num_inputs == 2 && !fy_node_is(node, "BiasAdd")) return visit_binary(r, node, err);
  if (node->num_inputs == 1) return visit_unary(r, node, err);
  return FY_OK;
}

fy_code fy_pass_arithmetic(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}

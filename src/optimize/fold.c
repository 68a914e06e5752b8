// SPDX-License-Identifier: Apache-2.0
// fold.c: computes at compile time what depends on constants alone, and answers questions about
// shapes that are known. A node becomes its value in place; a node of several outputs becomes one
// constant each. An evaluation that fails leaves the node as it is, so that the error comes when,
// and only if, the node runs. Values that grow out of little (Fill, Tile) are left to run time.

#include <string.h>

#include "base/alloc.h"
#include "optimize/rewrite.h"

#define MAY_GROW_BYTES 10240
#define MAX_OUTPUTS    16

static bool may_fold(const fy_rewriter *r, const fy_node *node) {
  if (!node->num_inputs || !node->num_outputs || node->num_outputs > MAX_OUTPUTS ||
      node->num_controls || node->const_value || !fy_node_is_pure(node))
    return false;
  const fy_op_impl *impl = node->op->impl;
  return impl && impl->compute && !(impl->flags & FY_OP_NO_FOLD) && !fy_rewrite_is_target(r, node);
}

static bool all_const(const fy_rewriter *r, const fy_node *node, int64_t *bytes) {
  *bytes = 0;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    const fy_tensor *t = fy_rewrite_const(r, node, i);
    if (!t || t->device) return false;
    *bytes += (int64_t)fy_tensor_bytes(t);
  }
  return true;
}

static bool small_enough(const fy_rewriter *r, int64_t made, int64_t given) {
  return made <= r->ctx->fold_limit_bytes && made <= given + MAY_GROW_BYTES;
}

// What the inferred shapes promise about the result's size; unknown shapes promise nothing.
static bool promises_too_much(const fy_rewriter *r, const fy_node *node, int64_t given) {
  int64_t total = 0, count;
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    const fy_node_out *o = &node->outputs[i];
    if (!fy_shape_static(o->shape, &count)) continue;
    if (count > r->ctx->fold_limit_bytes) return true;
    total += count * (int64_t)fy_dtype_storage(o->dtype);
  }
  return !small_enough(r, total, given);
}

// Hands the values over as constants. Takes over the references.
static fy_code publish(fy_rewriter *r, fy_node *node, fy_tensor **values, fy_error *err) {
  fy_code code = FY_OK;
  if (node->num_outputs == 1) {
    code = fy_node_become_const(r->graph, node, values[0], err);
    fy_rewrite_touch(r);
    return code;
  }
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    fy_node *made;
    if (code) {
      fy_tensor_release(values[i]);
      continue;
    }
    code = fy_graph_add_const(r->graph, node, i, values[i], &made, err);
    if (!code)
      code = fy_rewrite_forward(r, (fy_output){node, (int32_t)i}, (fy_output){made, 0}, err);
    if (!code && i == 0) fy_rewrite_instead(r, node, made);
  }
  return code;
}

static fy_code fold(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_tensor *values[MAX_OUTPUTS] = {0};
  fy_error failure;
  int64_t given, made = 0;
  if (!r->ctx->evaluate || !all_const(r, node, &given) || promises_too_much(r, node, given))
    return FY_OK;
  for (uint32_t i = 0; i < node->num_inputs; i++) node->inputs[i] = fy_rewrite_input(r, node, i);
  fy_error_init(&failure);
  fy_code code = r->ctx->evaluate(r->ctx->evaluate_arg, node, values, &failure);
  fy_error_clear(&failure);
  if (code) return FY_OK;
  bool good = true;
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    good &= values[i] && !values[i]->device && values[i]->dtype == node->outputs[i].dtype;
    if (values[i]) made += (int64_t)fy_tensor_bytes(values[i]);
  }
  if (!good || !small_enough(r, made, given)) {
    for (uint32_t i = 0; i < node->num_outputs; i++) fy_tensor_release(values[i]);
    return FY_OK;
  }
  fy_rewrite_log(r, "fold: %s (%s)", node->name, node->op_name);
  return publish(r, node, values, err);
}

// What Shape (ShapeN), Size or Rank says of |in|. False: only the run can tell, or refuses.
static bool answer_of(const fy_node *node, fy_pshape s, fy_dtype t, int64_t *values, int64_t *n) {
  const bool size = fy_node_is(node, "Size"), rank = fy_node_is(node, "Rank");
  int64_t count = 0;
  if ((t != FY_INT32 && t != FY_INT64) || s.rank < 0 || s.rank > FY_MAX_RANK) return false;
  if (!rank && !fy_shape_static(s, &count)) return false;
  *n = size || rank ? 1 : s.rank;
  if (size || rank)
    values[0] = size ? count : s.rank;
  else
    memcpy(values, s.dims, (size_t)*n * sizeof *values);
  for (int64_t i = 0; i < *n && t == FY_INT32; i++)
    if (values[i] > INT32_MAX) return false;  // the kernel says so at run time
  return true;
}

// Shape, ShapeN, Size and Rank of what is known; no input needs to be constant.
static fy_code answer(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_tensor *made[MAX_OUTPUTS] = {0};
  const fy_dtype t = node->outputs[0].dtype;
  const bool list = !fy_node_is(node, "Size") && !fy_node_is(node, "Rank");
  int64_t values[FY_MAX_RANK], n;
  for (uint32_t k = 0; k < node->num_outputs; k++)
    if (!answer_of(node, fy_output_shape(fy_rewrite_input(r, node, k)), t, values, &n))
      return FY_OK;
  for (uint32_t k = 0; k < node->num_outputs; k++) {
    answer_of(node, fy_output_shape(fy_rewrite_input(r, node, k)), t, values, &n);
    const fy_code code = fy_tensor_new(t, list ? 1 : 0, &n, &made[k], err);
    for (uint32_t i = 0; code && i < k; i++) fy_tensor_release(made[i]);
    if (code) return code;
    for (int64_t i = 0; i < n; i++) {
      if (t == FY_INT32)
        ((int32_t *)made[k]->data)[i] = (int32_t)values[i];
      else
        ((int64_t *)made[k]->data)[i] = values[i];
    }
  }
  fy_rewrite_log(r, "fold: %s (%s of a known shape)", node->name, node->op_name);
  return publish(r, node, made, err);
}

static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  if (!may_fold(r, node)) return FY_OK;
  const bool asks = fy_node_is(node, "Shape") || fy_node_is(node, "ShapeN") ||
                    fy_node_is(node, "Size") || fy_node_is(node, "Rank");
  if (asks && node->num_outputs == node->num_inputs && !node->num_control_outs)
    return answer(r, node, err);
  return fold(r, node, err);
}

fy_code fy_pass_fold(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}

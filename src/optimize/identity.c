// SPDX-License-Identifier: Apache-2.0
// identity.c: bypasses nodes whose output is their input: Identity and its kin, a Reshape to the
// same shape, a Cast to the same type, a Squeeze that undoes an ExpandDims, a Transpose that moves
// nothing. A node with control inputs stays (readers must wait for them); what waits for a bypassed
// node waits for its producer instead. CheckNumerics stays: it can fail.

#include <string.h>

#include "optimize/rewrite.h"

static bool is_pass_through(const fy_node *node) {
  static const char *const names[] = {"Identity", "IdentityN", "StopGradient", "PreventGradient",
                                      "Snapshot"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (fy_node_is(node, names[i])) return true;
  return false;
}

static bool keeps_shape(const fy_rewriter *r, const fy_node *node) {
  return fy_shape_same(node->outputs[0].shape, fy_output_shape(fy_rewrite_input(r, node, 0)));
}

static bool is_identity_permutation(const fy_tensor *perm) {
  for (int64_t i = 0; i < perm->count; i++)
    if (fy_tensor_int(perm, i) != i) return false;
  return true;
}

// A shape that is computed has to be checked when it is known.
static bool is_checked(const fy_node *node) {
  return (!fy_node_is(node, "Reshape") && !fy_node_is(node, "BroadcastTo")) ||
         node->inputs[1].node->const_value;
}

// The ops that can leave their input as it is, and do.
static bool is_no_op(const fy_rewriter *r, const fy_node *node) {
  switch (node->op_name[0]) {
    case 'R': return fy_node_is(node, "Reshape") && is_checked(node) && keeps_shape(r, node);
    case 'S': return fy_node_is(node, "Squeeze") && keeps_shape(r, node);
    case 'B': return fy_node_is(node, "BroadcastTo") && is_checked(node) && keeps_shape(r, node);
    case 'C':
      return fy_node_is(node, "Cast") &&
             node->outputs[0].dtype == fy_output_type(fy_rewrite_input(r, node, 0)) &&
             !fy_dtype_is_ref(node->outputs[0].dtype);
    case 'T': {
      if (!fy_node_is(node, "Transpose")) return false;
      const fy_tensor *perm = fy_rewrite_const(r, node, 1);
      return perm && is_identity_permutation(perm);
    }
    default: return false;
  }
}

// Squeeze(ExpandDims(x)), ExpandDims(Squeeze(x)), Reshape(…(x)) back to x's shape: the value two
// nodes up, if nothing but names lies between.
static bool undoes(const fy_rewriter *r, const fy_node *node, fy_output *out) {
  static const char *const names[] = {"Squeeze", "ExpandDims", "Reshape"};
  bool mine = false, before = false;
  for (size_t i = 0; i < 3; i++) mine |= fy_node_is(node, names[i]);
  if (!mine) return false;
  const fy_node *above = fy_rewrite_input(r, node, 0).node;
  for (size_t i = 0; i < 3; i++) before |= fy_node_is(above, names[i]);
  if (!before || !is_checked(above) || !is_checked(node) || above->num_controls ||
      !fy_node_is_pure(above) || !fy_node_same_request(above, node) ||
      !fy_node_same_request(node, above))
    return false;
  fy_output x = fy_rewrite_input(r, above, 0);
  if (!fy_shape_same(node->outputs[0].shape, fy_output_shape(x))) return false;
  *out = x;
  return true;
}

static bool may_bypass(const fy_rewriter *r, const fy_node *node) {
  if (node->num_controls || !node->num_inputs || fy_node_colocated(node)) return false;
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    fy_output in = fy_rewrite_input(r, node, i);
    if (fy_dtype_is_ref(fy_output_type(in)) || fy_dtype_is_ref(node->outputs[i].dtype) ||
        !fy_node_same_request(node, in.node))
      return false;
  }
  return true;
}

static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  fy_output skip;
  bool pass = is_pass_through(node);
  if (!pass && (!fy_node_is_pure(node) || node->num_outputs != 1)) return FY_OK;
  if (node->num_outputs > node->num_inputs || !may_bypass(r, node)) return FY_OK;
  if (pass || is_no_op(r, node)) {
    // Waiting for a node of several inputs is waiting for all of them.
    if (node->num_inputs > 1 && node->num_control_outs && pass) return FY_OK;
    for (uint32_t i = 0; i < node->num_outputs; i++)
      FY_TRY(
          fy_rewrite_forward(r, (fy_output){node, (int32_t)i}, fy_rewrite_input(r, node, i), err));
    fy_rewrite_instead(r, node, fy_rewrite_input(r, node, 0).node);
  } else if (undoes(r, node, &skip) && fy_node_same_request(node, skip.node)) {
    FY_TRY(fy_rewrite_forward(r, (fy_output){node, 0}, skip, err));
    fy_rewrite_instead(r, node, skip.node);
  } else {
    return FY_OK;
  }
  fy_rewrite_log(r, "identity: bypassed %s (%s)", node->name, node->op_name);
  return FY_OK;
}

fy_code fy_pass_identity(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}

// SPDX-License-Identifier: Apache-2.0
// transpose.c: a transpose of a transpose is one transpose, or none. Element-wise operations
// between two transposes that undo each other work on the untransposed data just as well.

#include <string.h>

#include "optimize/rewrite.h"

#define MAX_BETWEEN 32  // element-wise operations to look through

// The permutation of a Transpose with constant, valid axes; false otherwise.
static bool permutation(const fy_rewriter *r, const fy_node *node, int64_t *perm, int32_t *n) {
  const fy_tensor *t = fy_rewrite_const(r, node, 1);
  bool seen[FY_MAX_RANK] = {false};
  if (!t || t->device || t->rank != 1 || t->count > FY_MAX_RANK) return false;
  *n = (int32_t)t->count;
  for (int32_t i = 0; i < *n; i++) {
    perm[i] = fy_tensor_int(t, i);
    if (perm[i] < 0 || perm[i] >= *n || seen[perm[i]]) return false;
    seen[perm[i]] = true;
  }
  return true;
}

static bool is_transpose(const fy_node *node) {
  return fy_node_is(node, "Transpose") && fy_node_is_pure(node) && !node->num_controls;
}

// What |outer| after |inner| does: composed[i] = inner[outer[i]].
static bool compose(const fy_rewriter *r, const fy_node *outer, const fy_node *inner,
                    int64_t *composed, int32_t *n, bool *identity) {
  int64_t a[FY_MAX_RANK], b[FY_MAX_RANK];
  int32_t na, nb;
  if (!permutation(r, outer, a, &na) || !permutation(r, inner, b, &nb) || na != nb) return false;
  *identity = true;
  *n = na;
  for (int32_t i = 0; i < na; i++) {
    composed[i] = b[a[i]];
    *identity &= composed[i] == i;
  }
  return true;
}

static fy_code set_permutation(fy_rewriter *r, fy_node *node, const int64_t *perm, int32_t n,
                               fy_error *err) {
  const fy_tensor *old = fy_rewrite_const(r, node, 1);
  const int64_t dims[1] = {n};
  fy_tensor *value;
  fy_node *made;
  FY_TRY(fy_tensor_new(old->dtype, 1, dims, &value, err));
  for (int32_t i = 0; i < n; i++) {
    if (old->dtype == FY_INT32)
      ((int32_t *)value->data)[i] = (int32_t)perm[i];
    else
      ((int64_t *)value->data)[i] = perm[i];
  }
  FY_TRY(fy_graph_add_const(r->graph, node, 1, value, &made, err));
  node->inputs[1] = (fy_output){made, 0};
  return FY_OK;
}

// May |node| be computed on permuted data: one value in, one out, read by the next only?
static bool looks_through(const fy_rewriter *r, const fy_node *node, uint32_t *data) {
  if (!node->op || !node->op->impl || node->op->impl->elementwise == FY_EW_NONE ||
      !fy_node_is_pure(node) || node->num_controls || node->num_control_outs ||
      node->num_outputs != 1 || node->outputs[0].num_uses != 1 ||
      fy_rewrite_is_fetched(r, node, 0) || fy_rewrite_is_target(r, node))
    return false;
  if (node->num_inputs == 1) {
    *data = 0;
    return true;
  }
  if (node->num_inputs != 2) return false;
  for (uint32_t i = 0; i < 2; i++) {  // the other operand is one element
    const fy_pshape s = fy_output_shape(fy_rewrite_input(r, node, 1 - i));
    if (s.rank != 0) continue;
    *data = i;
    return true;
  }
  return false;
}

// Transpose(f(g(Transpose(x)))): f and g read x directly.
static fy_code push_through(fy_rewriter *r, fy_node *outer, fy_error *err) {
  fy_node *between[MAX_BETWEEN];
  uint32_t data[MAX_BETWEEN];
  int n = 0;
  fy_node *at = fy_rewrite_input(r, outer, 0).node;
  while (n < MAX_BETWEEN && looks_through(r, at, &data[n])) {
    if (strcmp(at->device, outer->device) != 0) return FY_OK;
    between[n] = at;
    at = fy_rewrite_input(r, at, data[n]).node;
    n++;
  }
  int64_t composed[FY_MAX_RANK];
  int32_t rank;
  bool identity;
  if (!n || !is_transpose(at) || !compose(r, outer, at, composed, &rank, &identity) || !identity ||
      strcmp(at->device, outer->device) != 0)
    return FY_OK;
  fy_output x = fy_rewrite_input(r, at, 0);
  for (int i = 0; i < n; i++) {
    between[i]->outputs[0].shape = outer->outputs[0].shape;
    between[i]->outputs[0].as_shape = NULL;
  }
  between[n - 1]->inputs[data[n - 1]] = x;
  FY_TRY(fy_rewrite_forward(r, (fy_output){outer, 0}, (fy_output){between[0], 0}, err));
  fy_rewrite_instead(r, outer, between[0]);
  fy_rewrite_log(r, "transpose: %s undoes %s around %d operations", outer->name, at->name, n);
  return FY_OK;
}

static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  int64_t composed[FY_MAX_RANK];
  int32_t n;
  bool identity;
  if (!is_transpose(node) || fy_rewrite_is_target(r, node) || fy_node_colocated(node)) return FY_OK;
  fy_node *inner = fy_rewrite_input(r, node, 0).node;
  if (!is_transpose(inner)) return push_through(r, node, err);
  if (strcmp(inner->device, node->device) != 0 || !compose(r, node, inner, composed, &n, &identity))
    return FY_OK;
  fy_output x = fy_rewrite_input(r, inner, 0);
  if (identity && fy_node_same_request(node, x.node)) {
    FY_TRY(fy_rewrite_forward(r, (fy_output){node, 0}, x, err));
    fy_rewrite_instead(r, node, x.node);
    fy_rewrite_log(r, "transpose: %s undoes %s", node->name, inner->name);
    return FY_OK;
  }
  FY_TRY(set_permutation(r, node, composed, n, err));
  node->inputs[0] = x;
  fy_rewrite_touch(r);
  fy_rewrite_log(r, "transpose: %s takes in %s", node->name, inner->name);
  return FY_OK;
}

fy_code fy_pass_transpose(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}

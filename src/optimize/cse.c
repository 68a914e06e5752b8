// SPDX-License-Identifier: Apache-2.0
// cse.c: common subexpressions: of nodes with the same op, attributes, inputs and requested device
// the first one serves all. Only pure nodes; operands of commutative ops are compared in either
// order; nodes with control inputs are left alone.

#include <string.h>

#include "base/alloc.h"
#include "optimize/rewrite.h"

// x + y and y + x are the same bits; max and min are not (signed zeros).
static bool commutes(const fy_node *node) {
  if (node->num_inputs != 2 || !node->op->impl) return false;
  fy_ew e = node->op->impl->elementwise;
  return (e == FY_EW_ADD || e == FY_EW_MUL || e == FY_EW_SQDIFF) &&
         node->outputs[0].dtype != FY_STRING && !fy_node_is(node, "BiasAdd") &&
         fy_output_type(node->inputs[0]) == fy_output_type(node->inputs[1]);
}

static bool may_merge(const fy_node *node) {
  return fy_node_is_pure(node) && node->num_outputs && !node->num_controls &&
         !fy_node_colocated(node) && (node->num_inputs || node->const_value);
}

static bool before(fy_output a, fy_output b) {
  return a.node->id != b.node->id ? a.node->id < b.node->id : a.index < b.index;
}

static void operands(const fy_rewriter *r, const fy_node *node, fy_output out[2]) {
  out[0] = fy_rewrite_input(r, node, 0);
  out[1] = fy_rewrite_input(r, node, 1);
  if (before(out[1], out[0])) {
    fy_output t = out[0];
    out[0] = out[1];
    out[1] = t;
  }
}

static uint64_t mix_input(uint64_t h, fy_output o) {
  return fy_hash_mix(fy_hash_mix(h, o.node->id), (uint64_t)o.index);
}

// A constant is known by its type, size and first bytes; equality looks at all of them.
static uint64_t hash_const(const fy_tensor *t) {
  uint64_t h = fy_hash_mix((uint64_t)t->dtype, (uint64_t)t->count);
  size_t bytes = fy_dtype_is_plain(t->dtype) ? fy_tensor_bytes(t) : 0;
  return t->data && bytes ? fy_hash64(t->data, bytes < 256 ? bytes : 256, h) : h;
}

static uint64_t hash_node(const fy_rewriter *r, const fy_node *node) {
  uint64_t h = fy_hash_mix((uint64_t)(uintptr_t)node->op, node->num_inputs);
  if (node->device[0]) h = fy_hash64(node->device, strlen(node->device), h);
  if (node->const_value) return fy_hash_mix(h, hash_const(node->const_value));
  h = fy_attrs_hash(&node->attrs, h);
  if (commutes(node)) {
    fy_output in[2];
    operands(r, node, in);
    return mix_input(mix_input(h, in[0]), in[1]);
  }
  for (uint32_t i = 0; i < node->num_inputs; i++) h = mix_input(h, fy_rewrite_input(r, node, i));
  return h;
}

static bool same_output(fy_output a, fy_output b) {
  return a.node == b.node && a.index == b.index;
}

static bool same_const(const fy_tensor *a, const fy_tensor *b) {
  return a == b || (a->dtype == b->dtype && !a->device && !b->device && fy_tensor_equal(a, b));
}

static bool same_node(const fy_rewriter *r, const fy_node *a, const fy_node *b) {
  if (a->op != b->op || a->num_inputs != b->num_inputs || a->num_outputs != b->num_outputs ||
      strcmp(a->device, b->device) != 0)
    return false;
  if (a->const_value || b->const_value)
    return a->const_value && b->const_value && same_const(a->const_value, b->const_value);
  if (!fy_attrs_equal(&a->attrs, &b->attrs)) return false;
  if (commutes(a)) {
    fy_output x[2], y[2];
    operands(r, a, x);
    operands(r, b, y);
    return same_output(x[0], y[0]) && same_output(x[1], y[1]);
  }
  for (uint32_t i = 0; i < a->num_inputs; i++)
    if (!same_output(fy_rewrite_input(r, a, i), fy_rewrite_input(r, b, i))) return false;
  return true;
}

fy_code fy_pass_cse(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  size_t slots = 16;
  while (slots < r.n * 2) slots *= 2;
  fy_node **table = fy_arena_array(&r.scratch, slots, sizeof *table);
  uint32_t *hashes = fy_arena_alloc(&r.scratch, slots * sizeof *hashes);
  fy_code code = table && hashes ? FY_OK : fy_fail_oom(err, slots * sizeof *table);
  for (size_t i = 0; i < r.n && !code; i++) {
    fy_node *node = r.order[i];
    if (!may_merge(node)) continue;
    uint64_t h = hash_node(&r, node);
    size_t at = (size_t)h & (slots - 1);
    while (table[at] && (hashes[at] != (uint32_t)(h >> 32) || !same_node(&r, table[at], node)))
      at = (at + 1) & (slots - 1);
    if (!table[at]) {
      table[at] = node;
      hashes[at] = (uint32_t)(h >> 32);
      continue;
    }
    for (uint32_t k = 0; k < node->num_outputs && !code; k++)
      code = fy_rewrite_forward(&r, (fy_output){node, (int32_t)k},
                                (fy_output){table[at], (int32_t)k}, err);
    fy_rewrite_instead(&r, node, table[at]);
    fy_rewrite_log(&r, "cse: %s is %s", node->name, table[at]->name);
  }
  return fy_rewrite_end(&r, code, changed, err);
}

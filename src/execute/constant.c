// SPDX-License-Identifier: Apache-2.0
// constant.c: see constant.h. Depth first over what the output depends on, then node by node.

#include "execute/constant.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/kernel_call.h"

enum { MAX_INPUTS = 256, MAX_NODES = 4096, MAX_BYTES = 10 << 20 };

typedef struct evaluator {
  fy_arena tmp;
  fy_imap index;        // node address -> position + 1 in |nodes|
  fy_node **nodes;      // inputs before users
  fy_tensor ***values;  // [num_nodes][num_outputs], owned
  size_t num_nodes;
  bool constant;
} evaluator;

static bool can_evaluate(const fy_node *n) {
  if (n->const_value) return true;
  if (!n->op || !n->op->impl || !n->op->impl->compute) return false;
  if (n->num_inputs == 0 || n->num_inputs > MAX_INPUTS) return false;
  if ((n->spec->flags & FY_SPEC_STATEFUL) || (n->op->impl->flags & FY_OP_NO_FOLD)) return false;
  for (uint32_t i = 0; i < n->num_outputs; i++) {
    int64_t count = 1;
    fy_pshape s = n->outputs[i].shape;
    for (int32_t d = 0; d < s.rank && count >= 0; d++)
      if (s.dims[d] >= 0 && __builtin_mul_overflow(count, s.dims[d], &count)) count = -1;
    if (count < 0 || count > MAX_BYTES) return false;
  }
  return true;
}

// Shape, Size or Rank of something that is not constant itself, but whose shape is known.
static bool is_known_shape(const fy_node *n) {
  bool rank = strcmp(n->op_name, "Rank") == 0;
  if (!rank && strcmp(n->op_name, "Shape") != 0 && strcmp(n->op_name, "Size") != 0) return false;
  fy_pshape in = n->inputs[0].node->outputs[n->inputs[0].index].shape;
  if (rank) return in.rank >= 0;
  for (int32_t i = 0; i < in.rank; i++)
    if (in.dims[i] < 0) return false;
  return in.rank >= 0;
}

static fy_code make_shape(const fy_node *n, fy_tensor **out, fy_error *err) {
  fy_pshape in = n->inputs[0].node->outputs[n->inputs[0].index].shape;
  bool shape = strcmp(n->op_name, "Shape") == 0;
  int64_t rank = in.rank, one = in.rank;
  if (strcmp(n->op_name, "Size") == 0 && !fy_shape_count(in.rank, in.dims, &one))
    return fy_fail(err, FY_INVALID_ARGUMENT, "the size of '%s' overflows", n->name);
  const int64_t *values = shape ? in.dims : &one;
  int64_t count = shape ? in.rank : 1;
  bool wide = n->outputs[0].dtype == FY_INT64;
  for (int64_t i = 0; !wide && i < count; i++)
    if (values[i] > INT32_MAX)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Value is out of int32 range: %lld",
                     (long long)values[i]);
  FY_TRY(fy_tensor_new(n->outputs[0].dtype, shape ? 1 : 0, shape ? &rank : NULL, out, err));
  for (int64_t i = 0; i < count; i++) {
    if (wide)
      ((int64_t *)(*out)->data)[i] = values[i];
    else
      ((int32_t *)(*out)->data)[i] = (int32_t)values[i];
  }
  return FY_OK;
}

// Depth first without recursion. Clears |constant| when something is not.
static fy_code collect(evaluator *e, fy_node *root, fy_error *err) {
  struct frame {
    fy_node *node;
    uint32_t next;
  } *stack = fy_arena_array(&e->tmp, MAX_NODES, sizeof *stack);
  e->nodes = fy_arena_array(&e->tmp, MAX_NODES, sizeof *e->nodes);
  if (!stack || !e->nodes) return fy_fail_oom(err, MAX_NODES * sizeof *stack);
  size_t depth = 0, seen = 1;
  stack[depth++] = (struct frame){root, 0};
  if (!fy_imap_put(&e->index, (uintptr_t)root, 0)) return fy_fail_oom(err, 1);
  while (depth && e->constant) {
    struct frame *f = &stack[depth - 1];
    if (!can_evaluate(f->node)) {
      e->constant = false;
    } else if (f->node->const_value || is_known_shape(f->node) || f->next == f->node->num_inputs) {
      e->nodes[e->num_nodes++] = f->node;
      if (!fy_imap_put(&e->index, (uintptr_t)f->node, e->num_nodes)) return fy_fail_oom(err, 1);
      depth--;
    } else {
      fy_node *from = f->node->inputs[f->next++].node;
      uint64_t at;
      if (fy_imap_get(&e->index, (uintptr_t)from, &at)) {
        if (at == 0) e->constant = false;  // a cycle
      } else if (seen == MAX_NODES) {
        e->constant = false;
      } else {
        seen++;
        if (!fy_imap_put(&e->index, (uintptr_t)from, 0)) return fy_fail_oom(err, 1);
        stack[depth++] = (struct frame){from, 0};
      }
    }
  }
  return FY_OK;
}

static fy_code evaluate_node(evaluator *e, size_t i, fy_error *err) {
  fy_node *n = e->nodes[i];
  fy_tensor *in[MAX_INPUTS];
  e->values[i] = fy_arena_array(&e->tmp, (size_t)n->num_outputs + 1, sizeof **e->values);
  if (!e->values[i]) return fy_fail_oom(err, n->num_outputs);
  if (n->const_value) {
    e->values[i][0] = (fy_tensor *)(uintptr_t)n->const_value;
    fy_tensor_retain(e->values[i][0]);
    return FY_OK;
  }
  if (is_known_shape(n)) return make_shape(n, &e->values[i][0], err);
  for (uint32_t k = 0; k < n->num_inputs; k++) {
    uint64_t at = 0;
    fy_imap_get(&e->index, (uintptr_t)n->inputs[k].node, &at);
    if (at == 0) return fy_fail(err, FY_INTERNAL, "lost an input of '%s'", n->name);
    in[k] = e->values[at - 1][n->inputs[k].index];
  }
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_kernel_call_node(n, in, e->values[i], &why);
  if (code == FY_RESOURCE_EXHAUSTED && err)
    fy_error_move(err, &why);
  else if (code)
    e->constant = false;  // a kernel that fails: nothing is known, and the run will tell
  fy_error_clear(&why);
  return code == FY_RESOURCE_EXHAUSTED ? code : FY_OK;
}

static fy_code run(evaluator *e, fy_output output, fy_tensor **out, fy_error *err) {
  FY_TRY(collect(e, output.node, err));
  if (!e->constant) return FY_OK;
  e->values = fy_arena_array(&e->tmp, e->num_nodes, sizeof *e->values);
  if (!e->values) return fy_fail_oom(err, e->num_nodes);
  fy_code code = FY_OK;
  for (size_t i = 0; !code && e->constant && i < e->num_nodes; i++) code = evaluate_node(e, i, err);
  if (!code && e->constant) {
    fy_tensor *t = e->values[e->num_nodes - 1][output.index];
    if (t && fy_tensor_bytes(t) <= MAX_BYTES) code = fy_tensor_clone(t, out, err);
  }
  for (size_t i = 0; i < e->num_nodes; i++)
    for (uint32_t k = 0; e->values[i] && k < e->nodes[i]->num_outputs; k++)
      fy_tensor_release(e->values[i][k]);
  return code;
}

// Most that are not constant show it at once: no need to set anything up.
static bool looks_constant(const fy_node *n) {
  if (!can_evaluate(n)) return false;
  if (n->const_value || is_known_shape(n)) return true;
  for (uint32_t i = 0; i < n->num_inputs; i++)
    if (!can_evaluate(n->inputs[i].node)) return false;
  return true;
}

fy_code fy_constant_evaluate(fy_output output, fy_tensor **out, fy_error *err) {
  *out = NULL;
  if (!looks_constant(output.node)) return FY_OK;
  evaluator e = {.constant = true};
  fy_arena_init(&e.tmp);
  fy_imap_init(&e.index);
  fy_code code = run(&e, output, out, err);
  fy_imap_free(&e.index);
  fy_arena_free(&e.tmp);
  return code;
}

fy_tensor *fy_constant_for_shapes(fy_output output) {
  fy_tensor *t;
  return fy_constant_evaluate(output, &t, NULL) ? NULL : t;
}

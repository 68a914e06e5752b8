// SPDX-License-Identifier: Apache-2.0
// cells.c: the eleven small ops that follow the products of an LSTM (Split into gates, sigmoids,
// tanhs, products, a sum) become one _FerryLSTMGates, which reads the gates where they lie. A step of
// a recurrent model is so short that the number of ops is what it costs.

#include <string.h>

#include "optimize/rewrite.h"

typedef struct cell {
  fy_node *split, *act[4];  // activations of i, f, g, o
  fy_node *keep, *add_in, *state, *tanh, *h;
  fy_output c;
  char order[5];
} cell;

static bool may_join(const fy_rewriter *r, const fy_node *head, const fy_node *n) {
  return fy_rewrite_may_join(r, head, n) && !fy_rewrite_is_target(r, n);
}

// Which gate of |split| the Sigmoid |n| is of, or -1; it goes to |reader| alone.
static int gate(const fy_rewriter *r, const fy_node *split, const fy_node *n,
                const fy_node *reader) {
  if (!fy_node_is(n, "Sigmoid") || fy_rewrite_only_reader(r, n, 0) != reader ||
      !may_join(r, split, n))
    return -1;
  const fy_output in = fy_rewrite_input(r, n, 0);
  return in.node == split && fy_rewrite_only_reader(r, split, (uint32_t)in.index) == n
             ? (int)in.index
             : -1;
}

static bool is(const fy_node *n, const char *op) {
  return n && fy_node_is(n, op);
}

static bool starts(const fy_rewriter *r, const fy_node *n) {
  if (!fy_node_is(n, "Split") || n->num_outputs != 4 || n->outputs[0].dtype != FY_FLOAT ||
      r->flags[n->id] || !fy_node_is_pure(n) || fy_node_colocated(n) ||
      !fy_node_runs_anywhere(r, n) || fy_rewrite_is_target(r, n))
    return false;
  const fy_tensor *axis = fy_rewrite_const(r, n, 0);
  if (!axis || axis->device || axis->count != 1 || fy_output_shape(n->inputs[1]).rank != 2)
    return false;
  const int64_t a = fy_tensor_int(axis, 0);
  return a == 1 || a == -1;
}

// From the gate that goes through a Tanh all the others are found.
static bool match(const fy_rewriter *r, fy_node *split, cell *c) {
  int at[4] = {-1, -1, -1, -1};
  *c = (cell){.split = split};
  for (uint32_t i = 0; i < 4 && !c->act[2]; i++) {
    fy_node *n = fy_rewrite_only_reader(r, split, i);
    if (!is(n, "Tanh")) continue;
    c->act[2] = n;
    at[2] = (int)i;
  }
  if (!c->act[2] || !(c->add_in = fy_rewrite_only_reader(r, c->act[2], 0)) || !is(c->add_in, "Mul"))
    return false;
  c->act[0] = fy_rewrite_other_operand(r, c->add_in, c->act[2]).node;
  at[0] = gate(r, split, c->act[0], c->add_in);
  c->state = fy_rewrite_only_reader(r, c->add_in, 0);
  if (at[0] < 0 || !c->state || !fy_node_is_sum(c->state)) return false;
  c->keep = fy_rewrite_other_operand(r, c->state, c->add_in).node;
  if (!is(c->keep, "Mul") || c->keep == c->add_in ||
      fy_rewrite_only_reader(r, c->keep, 0) != c->state)
    return false;
  for (uint32_t i = 0; i < 2 && at[1] < 0; i++) {
    c->act[1] = fy_rewrite_input(r, c->keep, i).node;
    at[1] = gate(r, split, c->act[1], c->keep);
    c->c = fy_rewrite_input(r, c->keep, 1 - i);
  }
  if (at[1] < 0) return false;
  for (uint32_t i = 0; i < c->state->outputs[0].num_uses && at[3] < 0; i++) {
    c->tanh = c->state->outputs[0].uses[i].node;
    if (!is(c->tanh, "Tanh") || !(c->h = fy_rewrite_only_reader(r, c->tanh, 0)) || !is(c->h, "Mul"))
      continue;
    c->act[3] = fy_rewrite_other_operand(r, c->h, c->tanh).node;
    at[3] = gate(r, split, c->act[3], c->h);
  }
  if (at[3] < 0) return false;
  int seen = 0;
  for (int i = 0; i < 4; i++) {
    seen |= 1 << at[i];
    c->order[i] = (char)('0' + at[i]);
  }
  fy_node *const rest[] = {c->act[2], c->add_in, c->keep, c->state, c->tanh, c->h};
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
    if (!may_join(r, split, rest[i])) return false;
  // Rows are compared when they are there; columns must be known not to be broadcast.
  const fy_pshape a = fy_output_shape(c->c), b = split->outputs[0].shape;
  return seen == 15 && !c->state->num_control_outs && a.rank == 2 && b.rank == 2 && a.dims[1] > 0 &&
         a.dims[1] == b.dims[1];
}

static fy_code set_attrs(fy_graph *g, const cell *c, fy_attrs *out, fy_error *err) {
  const char *order = fy_arena_strdup(&g->arena, c->order);
  if (!order) return fy_fail_oom(err, sizeof c->order);
  const fy_attr t = fy_attr_type(FY_FLOAT), o = fy_attr_string(fy_view_of(order));
  FY_TRY(fy_attrs_set(out, &g->arena, "T", &t, err));
  return fy_attrs_set(out, &g->arena, "order", &o, err);
}

static fy_code replace(fy_rewriter *r, const cell *c, const fy_attrs *attrs, fy_error *err) {
  fy_graph *g = r->graph;
  const fy_output inputs[] = {fy_rewrite_input(r, c->split, 1), c->c};
  const fy_dtype types[] = {FY_FLOAT, FY_FLOAT};
  char *base = fy_arena_printf(&g->arena, "%s/gates", c->h->name);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  if (!name) return fy_fail_oom(err, 64);
  fy_node *made;
  FY_TRY(fy_graph_add_raw(g, "_FerryLSTMGates", name, c->split->device, attrs, inputs, 2,
                          c->split->controls, c->split->num_controls, types, 2, &made, err));
  made->outputs[0].shape = made->outputs[1].shape = c->state->outputs[0].shape;
  FY_TRY(fy_node_clear_origins(g, made, err));
  FY_TRY(fy_rewrite_forward(r, (fy_output){c->h, 0}, (fy_output){made, 0}, err));
  FY_TRY(fy_rewrite_forward(r, (fy_output){c->state, 0}, (fy_output){made, 1}, err));
  fy_node *const gone[] = {c->split,  c->act[0], c->act[1], c->act[2], c->act[3],
                           c->add_in, c->keep,   c->state,  c->tanh,   c->h};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    r->flags[gone[i]->id] = 1;
    fy_rewrite_instead(r, gone[i], made);
  }
  fy_rewrite_log(r, "cells: %s = %s to %s", made->name, c->split->name, c->h->name);
  return FY_OK;
}

static fy_code run(fy_rewriter *r, fy_error *err) {
  const fy_op *op = fy_op_find("_FerryLSTMGates", strlen("_FerryLSTMGates"));
  for (size_t i = 0; op && i < r->n; i++) {
    cell c;
    fy_attrs attrs = {0};
    if (!starts(r, r->order[i]) || !match(r, r->order[i], &c)) continue;
    FY_TRY(set_attrs(r->graph, &c, &attrs, err));
    const fy_node probe = {.op = op, .op_name = "_FerryLSTMGates", .attrs = attrs};
    if (fy_node_runs_anywhere(r, &probe)) FY_TRY(replace(r, &c, &attrs, err));
  }
  return FY_OK;
}

fy_code fy_pass_cells(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  return fy_rewrite_end(&r, run(&r, err), changed, err);
}

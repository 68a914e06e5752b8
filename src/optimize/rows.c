// SPDX-License-Identifier: Apache-2.0
// rows.c: reductions of rows (Mean, Sum, Max, Min over the last dims, which stay as ones) and the
// element-wise operations around them become one _FerryRows (ops/rows.h), which reads every row once:
// layer normalisation in any of the forms that models write it, moments, l2_normalize, a softmax
// written out.
//
// A region is found from its last node backwards: whatever is computed for that node alone and is
// rows, or one element per row. Nothing in it is read from outside but the last node, so that no path
// leaves it and comes back.

#include <string.h>

#include "ops/rows.h"
#include "optimize/rewrite.h"

#define MOST_MEMBERS 48
#define LEAST_ROW    64  // shorter rows are better off column by column, but for norms that have loops

typedef struct region {
  fy_rewriter *r;
  uint32_t *number;  // [num_ids] of the region that a node is in
  uint32_t *at;      // [num_ids] in the order
  uint32_t current;
  fy_dtype dtype;
  fy_pshape wide;  // of the rows; the last |tail| dims are one row
  int32_t tail;
  int64_t row;
  fy_node *members[MOST_MEMBERS];
  uint32_t num_members, reductions, wides;
} region;

static int reduction_of(const fy_node *n) {
  static const char *const names[FY_ROW_REDUCTIONS] = {"Sum", "Mean", "Max", "Min"};
  for (int i = 0; i < FY_ROW_REDUCTIONS; i++)
    if (fy_node_is(n, names[i])) return i;
  return -1;
}

static fy_ew ew_of(const fy_node *n) {
  return n->op && n->op->impl ? n->op->impl->elementwise : FY_EW_NONE;
}

// How many of the last dims the reduction |n| takes, if it takes those and keeps them as ones; else 0.
static int32_t reduced_tail(const fy_rewriter *r, const fy_node *n) {
  const fy_attr *keep = fy_attrs_get(&n->attrs, "keep_dims");
  const fy_tensor *axes = n->num_inputs == 2 ? fy_rewrite_const(r, n, 1) : NULL;
  const fy_pshape in = n->num_inputs == 2 ? fy_output_shape(n->inputs[0]) : (fy_pshape){-1, NULL};
  if (!keep || keep->kind != FY_ATTR_BOOL || !keep->v.b || !axes || axes->device || in.rank < 1 ||
      axes->count < 1 || axes->count > in.rank || in.rank > 60)
    return 0;
  uint64_t seen = 0;
  for (int64_t i = 0; i < axes->count; i++) {
    int64_t axis = fy_tensor_int(axes, i);
    if (axis < 0) axis += in.rank;
    if (axis < in.rank - axes->count || axis >= in.rank || seen >> axis & 1) return 0;
    seen |= 1ull << axis;
  }
  return (int32_t)axes->count;
}

static bool is_column(const region *g, fy_pshape s) {
  if (s.rank != g->wide.rank) return false;
  for (int32_t d = 0; d < s.rank; d++)
    if (s.dims[d] != (d < g->wide.rank - g->tail ? g->wide.dims[d] : 1)) return false;
  return true;
}

// What |s| is to the rows of |g|; false: nothing that a row can be computed with.
static bool kind_of(const region *g, fy_pshape s, fy_rows_kind *out) {
  int64_t count;
  if (!fy_shape_static(s, &count) || count == 0) return false;
  if (fy_shape_same(s, g->wide)) {
    *out = FY_ROWS_WIDE;
    return true;
  }
  if (count == 1) {
    *out = FY_ROWS_SCALAR;
    return true;
  }
  const bool column = is_column(g, s);
  bool row = s.rank <= g->wide.rank;
  for (int32_t k = 1; row && k <= s.rank; k++)  // from the right
    row = s.dims[s.rank - k] == (k <= g->tail ? g->wide.dims[g->wide.rank - k] : 1);
  *out = column ? FY_ROWS_COLUMN : FY_ROWS_ROW;
  return column || (row && count == g->row);
}

static bool fits(const region *g, const fy_node *n) {
  fy_rows_kind k;
  if (n->num_outputs != 1 || n->const_value || n->outputs[0].dtype != g->dtype) return false;
  if (reduction_of(n) >= 0)
    return reduced_tail(g->r, n) == g->tail &&
           fy_shape_same(fy_output_shape(n->inputs[0]), g->wide) &&
           is_column(g, n->outputs[0].shape);
  const fy_ew e = ew_of(n);
  if (e == FY_EW_NONE || !fy_fused_knows(e, g->dtype)) return false;
  const bool wide = fy_shape_same(n->outputs[0].shape, g->wide);
  if (!wide && !is_column(g, n->outputs[0].shape)) return false;
  if (n->num_inputs != (fy_ew_is_binary(e) && e != FY_EW_LEAKY_RELU ? 2u : 1u)) return false;
  bool any = false;  // one number for all is nobody's row
  for (uint32_t i = 0; i < n->num_inputs; i++) {
    const fy_pshape s = fy_output_shape(n->inputs[i]);
    if (fy_output_type(n->inputs[i]) != g->dtype) return false;
    if (is_column(g, s)) {
      any = true;
      continue;
    }
    if (!kind_of(g, s, &k) || (!wide && k != FY_ROWS_SCALAR)) return false;
    any |= k == FY_ROWS_WIDE;
  }
  return any;
}

static bool may_join(const region *g, const fy_node *last, const fy_node *n) {
  const fy_rewriter *r = g->r;
  if (n->id >= r->num_ids || !fits(g, n) || !fy_rewrite_may_join_late(r, last, n) ||
      fy_rewrite_is_target(r, n))
    return false;
  if (n == last) return true;
  if (n->num_control_outs || fy_rewrite_is_fetched(r, n, 0) || !n->outputs[0].num_uses)
    return false;
  for (uint32_t i = 0; i < n->outputs[0].num_uses; i++) {
    const uint32_t id = n->outputs[0].uses[i].node->id;
    if (id >= r->num_ids || g->number[id] != g->current) return false;
  }
  return true;
}

static void add(region *g, fy_node *n) {
  g->number[n->id] = g->current;
  g->members[g->num_members++] = n;
  if (reduction_of(n) >= 0)
    g->reductions++;
  else
    g->wides += fy_shape_same(n->outputs[0].shape, g->wide);
}

// The shape of the rows, from the first reduction on the way back from |last|.
static bool find_rows(region *g, const fy_node *last) {
  const fy_node *way[MOST_MEMBERS];
  uint32_t n = 0;
  way[n++] = last;
  for (uint32_t i = 0; i < n; i++) {
    const int32_t tail = reduction_of(way[i]) >= 0 ? reduced_tail(g->r, way[i]) : 0;
    if (tail > 0) {
      int64_t count;
      g->wide = fy_output_shape(way[i]->inputs[0]);
      g->tail = tail;
      g->dtype = way[i]->outputs[0].dtype;
      if ((g->dtype != FY_FLOAT && g->dtype != FY_DOUBLE) || !fy_shape_static(g->wide, &count) ||
          count == 0)
        return false;
      g->row = 1;
      for (int32_t d = g->wide.rank - tail; d < g->wide.rank; d++) g->row *= g->wide.dims[d];
      return g->row <= FY_REDUCE_LONG;
    }
    if (ew_of(way[i]) == FY_EW_NONE) continue;
    for (uint32_t k = 0; k < way[i]->num_inputs && n < MOST_MEMBERS; k++) {
      const fy_node *from = way[i]->inputs[k].node;
      const bool worth = ew_of(from) != FY_EW_NONE || reduction_of(from) >= 0;
      bool known = !worth;
      for (uint32_t x = 0; x < n && !known; x++) known = way[x] == from;
      if (!known) way[n++] = from;
    }
  }
  return false;
}

static bool grow(region *g, fy_node *last) {
  g->num_members = g->reductions = g->wides = 0;
  g->current++;
  if (!may_join(g, last, last)) return false;
  add(g, last);
  for (bool more = true; more;) {
    more = false;
    for (uint32_t i = 0; i < g->num_members; i++) {
      for (uint32_t k = 0; k < g->members[i]->num_inputs; k++) {
        const fy_output in = g->members[i]->inputs[k];
        if (in.node->id >= g->r->num_ids || g->number[in.node->id] == g->current ||
            g->num_members == MOST_MEMBERS || !may_join(g, last, in.node))
          continue;
        add(g, in.node);
        more = true;
      }
    }
  }
  return g->reductions > 0 && g->wides > 0;
}

// ------------------------------------------------------------------ building the node
static void sort_members(region *g) {
  for (uint32_t i = 1; i < g->num_members; i++) {
    fy_node *n = g->members[i];
    uint32_t k = i;
    for (; k > 0 && g->at[g->members[k - 1]->id] > g->at[n->id]; k--)
      g->members[k] = g->members[k - 1];
    g->members[k] = n;
  }
}

typedef struct maker {
  region *g;
  fy_rows_program p;
  fy_output inputs[FY_ROWS_MOST];
  bool full;  // there is no room for more
} maker;

// Until all inputs and constants are known: constants from MOST on, operations from 2 * MOST on.
#define CONST_AT FY_ROWS_MOST
#define OP_AT    (2 * FY_ROWS_MOST)

static uint32_t add_const(maker *m, uint64_t bits) {
  for (uint32_t i = 0; i < m->p.num_consts; i++)
    if (m->p.consts[i] == bits) return CONST_AT + i;
  if (m->p.num_inputs + m->p.num_consts + m->g->num_members >= FY_ROWS_MOST) {
    m->full = true;
    return CONST_AT;
  }
  m->p.consts[m->p.num_consts] = bits;
  return CONST_AT + m->p.num_consts++;
}

static uint32_t operand(maker *m, const fy_node *n, uint32_t i) {
  const region *g = m->g;
  const fy_output in = n->inputs[i];
  if (in.node->id < g->r->num_ids && g->number[in.node->id] == g->current)
    for (uint32_t k = 0; k < g->num_members; k++)
      if (g->members[k] == in.node) return OP_AT + k;
  const fy_tensor *t = in.index == 0 && !in.node->num_controls ? in.node->const_value : NULL;
  if (t && t->count == 1 && !t->device) {
    uint64_t bits = 0;
    memcpy(&bits, t->data, fy_dtype_storage(g->dtype));
    return add_const(m, bits);
  }
  for (uint32_t k = 0; k < m->p.num_inputs; k++)
    if (m->inputs[k].node == in.node && m->inputs[k].index == in.index) return k;
  fy_rows_kind kind = FY_ROWS_COLUMN;
  if (m->p.num_inputs + m->p.num_consts + g->num_members >= FY_ROWS_MOST ||
      !kind_of(g, fy_output_shape(in), &kind)) {
    m->full = true;
    return 0;
  }
  m->p.kinds[m->p.num_inputs] = kind;
  m->inputs[m->p.num_inputs] = in;
  return m->p.num_inputs++;
}

static void number(const fy_rows_program *p, uint32_t *v) {
  if (*v == FY_FUSED_NONE || *v < CONST_AT) return;
  *v = *v < OP_AT ? *v - CONST_AT + p->num_inputs : *v - OP_AT + p->num_inputs + p->num_consts;
}

static bool write_program(maker *m) {
  region *g = m->g;
  fy_rows_program *p = &m->p;
  for (uint32_t i = 0; i < g->num_members; i++) {
    const fy_node *n = g->members[i];
    fy_rows_op *op = &p->ops[p->num_ops++];
    const int reduction = reduction_of(n);
    op->a = operand(m, n, 0);
    op->b = FY_FUSED_NONE;
    op->op = FY_ROWS_REDUCE + (uint32_t)(reduction < 0 ? 0 : reduction);
    if (reduction >= 0) continue;
    const fy_ew e = ew_of(n);
    op->op = (uint32_t)e;
    op->wide = fy_shape_same(n->outputs[0].shape, g->wide);
    if (e == FY_EW_LEAKY_RELU)
      op->b = add_const(m, fy_node_alpha_bits(n));
    else if (fy_ew_is_binary(e))
      op->b = operand(m, n, 1);
  }
  for (uint32_t i = 0; i < p->num_ops; i++) {
    number(p, &p->ops[i].a);
    number(p, &p->ops[i].b);
  }
  return !m->full && p->num_inputs > 0;
}

static fy_code set_attrs(const maker *m, fy_pshape shape, fy_attrs *out, fy_error *err) {
  fy_arena *a = &m->g->r->graph->arena;
  fy_view bytes;
  FY_TRY(fy_rows_encode(&m->p, a, &bytes, err));
  const fy_attr t = fy_attr_type(m->g->dtype), n = fy_attr_int(m->p.num_inputs);
  const fy_attr row = fy_attr_int(m->g->row), program = fy_attr_string(bytes);
  const fy_attr s = {.kind = FY_ATTR_SHAPE, .v.shape = shape};
  FY_TRY(fy_attrs_set(out, a, "N", &n, err));
  FY_TRY(fy_attrs_set(out, a, "T", &t, err));
  FY_TRY(fy_attrs_set(out, a, "program", &program, err));
  FY_TRY(fy_attrs_set(out, a, "row", &row, err));
  return fy_attrs_set(out, a, "shape", &s, err);
}

static fy_code replace(region *g, fy_node *last, const fy_op *op, maker *m, fy_error *err) {
  fy_rewriter *r = g->r;
  fy_attrs attrs = {0};
  *m = (maker){.g = g};
  fy_norm norm;
  if (!write_program(m)) return FY_OK;
  if (g->row < LEAST_ROW &&
      (g->dtype != FY_FLOAT || !fy_norm_match(&m->p, &norm) || !fy_norm_fits(&norm, g->row)))
    return FY_OK;
  FY_TRY(set_attrs(m, last->outputs[0].shape, &attrs, err));
  const fy_node probe = {.op = op, .op_name = "_FerryRows", .attrs = attrs};
  if (!fy_node_runs_anywhere(r, &probe)) return FY_OK;
  char *base = fy_arena_printf(&r->graph->arena, "%s/rows", last->name);
  const char *name = base ? fy_graph_unique_name(r->graph, base) : NULL;
  if (!name) return fy_fail_oom(err, 64);
  fy_node *made, **controls;
  uint32_t num_controls;
  // None of what they wait for can wait for the region: only its last node is seen from outside.
  FY_TRY(fy_rewrite_controls(r, g->members, g->num_members, &controls, &num_controls, err));
  FY_TRY(fy_graph_add_raw(r->graph, "_FerryRows", name, last->device, &attrs, m->inputs,
                          m->p.num_inputs, controls, num_controls, &g->dtype, 1, &made, err));
  made->outputs[0].shape = last->outputs[0].shape;
  FY_TRY(fy_node_clear_origins(r->graph, made, err));
  FY_TRY(fy_rewrite_forward(r, (fy_output){last, 0}, (fy_output){made, 0}, err));
  for (uint32_t i = 0; i < g->num_members; i++) {
    r->flags[g->members[i]->id] = 1;
    fy_rewrite_instead(r, g->members[i], made);
  }
  fy_rewrite_log(r, "rows: %s = %s to %s (%u operations)", made->name, g->members[0]->name,
                 last->name, g->num_members);
  return FY_OK;
}

static fy_code run(fy_rewriter *r, fy_error *err) {
  const fy_op *op = fy_op_find("_FerryRows", strlen("_FerryRows"));
  bool any = false;
  for (size_t i = 0; i < r->n && !any; i++) any = reduction_of(r->order[i]) >= 0;
  if (!op || !any) return FY_OK;
  region *g = fy_arena_array(&r->scratch, 1, sizeof *g);
  maker *m = fy_arena_array(&r->scratch, 1, sizeof *m);
  if (!g || !m) return fy_fail_oom(err, sizeof *m);
  g->r = r;
  g->number = fy_arena_array(&r->scratch, r->num_ids + 1, sizeof *g->number);
  g->at = fy_arena_array(&r->scratch, r->num_ids + 1, sizeof *g->at);
  if (!g->number || !g->at) return fy_fail_oom(err, r->num_ids * sizeof *g->at);
  for (size_t i = 0; i < r->n; i++) g->at[r->order[i]->id] = (uint32_t)i;
  for (size_t i = r->n; i-- > 0;) {
    fy_node *last = r->order[i];
    if (r->flags[last->id] || (ew_of(last) == FY_EW_NONE && reduction_of(last) < 0)) continue;
    if (!find_rows(g, last) || !grow(g, last)) continue;
    sort_members(g);
    FY_TRY(replace(g, last, op, m, err));
  }
  return FY_OK;
}

fy_code fy_pass_rows(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  return fy_rewrite_end(&r, run(&r, err), changed, err);
}

// SPDX-License-Identifier: Apache-2.0
// loops_hoist.c: what every step of a counted loop does alike is done once before it (loops.h):
// - reads of variables (nothing in the loop writes, and whoever waits for the loop waits for them);
// - whatever depends on nothing that changes;
// - items of a list made from a tensor, read at the counter: they are rows of that tensor;
// - the product of such an item with a matrix: one product of all rows (the input projection of a
//   recurrent layer), with its bias. A bias that is added after the state's product is added before:
//   the sums are the same but for their rounding.

#include <string.h>

#include "graph/function.h"
#include "optimize/loops.h"

#define MAX_DEPTH   8
#define MAX_PRODUCT ((int64_t)8 << 20)  // bytes of all steps' products: larger steps are fast alone

// ---------------------------------------------------------------- what stays the same
static const fy_loop_value *argument(const fy_loop *l, const fy_node *arg) {
  for (uint32_t i = 0; i < l->n; i++)
    if (l->values[i].arg == arg && l->values[i].kind == FY_LOOP_SAME) return &l->values[i];
  for (uint32_t i = 0; i < l->num_more; i++)
    if (l->more[i].arg == arg) return &l->more[i];
  return NULL;
}

// Does |o| depend only on what no step changes? |*fed| is set if not on constants alone.
static bool stays(const fy_loop *l, fy_output o, int depth, bool *fed) {
  o = fy_loop_strip(o);
  if (o.node->const_value) return true;
  if (argument(l, o.node)) {
    *fed = true;
    return fy_dtype_is_plain(fy_output_type(o));
  }
  if (depth == MAX_DEPTH || !fy_node_is_pure(o.node) || !o.node->num_inputs ||
      o.node->num_controls || fy_node_colocated(o.node))
    return false;
  for (uint32_t i = 0; i < o.node->num_inputs; i++)
    if (!stays(l, o.node->inputs[i], depth + 1, fed)) return false;
  return true;
}

// The same value outside of the loop; |o| must stay the same.
static fy_code outside(fy_loop *l, fy_output o, fy_output *out, fy_error *err) {
  fy_graph *g = l->r->graph;
  o = fy_loop_strip(o);
  const fy_node *n = o.node;
  const fy_loop_value *v = argument(l, n);
  if (v) {
    *out = v->outer;
    return FY_OK;
  }
  if (n->const_value) {
    fy_node *made;
    fy_tensor *shared = (fy_tensor *)(uintptr_t)n->const_value;
    fy_tensor_retain(shared);
    FY_TRY(fy_graph_add_const(g, l->node, n->id, shared, &made, err));
    *out = (fy_output){made, 0};
    return FY_OK;
  }
  fy_output *inputs = fy_arena_array(&l->r->scratch, n->num_inputs + 1, sizeof *inputs);
  fy_dtype *types = fy_arena_array(&l->r->scratch, n->num_outputs + 1, sizeof *types);
  char *base = fy_arena_printf(&g->arena, "%s/%s", l->node->name, n->name);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  fy_attrs attrs = {0};
  fy_node *made;
  if (!inputs || !types || !name) return fy_fail_oom(err, 64);
  for (uint32_t i = 0; i < n->num_inputs; i++) FY_TRY(outside(l, n->inputs[i], &inputs[i], err));
  for (uint32_t i = 0; i < n->num_outputs; i++) types[i] = n->outputs[i].dtype;
  FY_TRY(fy_attrs_copy(&attrs, &n->attrs, &g->arena, err));
  FY_TRY(fy_graph_add_raw(g, n->op_name, name, n->device[0] ? n->device : l->node->device, &attrs,
                          inputs, n->num_inputs, l->node->controls, l->node->num_controls, types,
                          n->num_outputs, &made, err));
  FY_TRY(fy_node_clear_origins(g, made, err));
  *out = (fy_output){made, o.index};
  return fy_graph_infer_node(g, made, err);
}

static fy_code read_variables(fy_loop *l, fy_error *err) {
  for (size_t i = 0; i < l->body->num_nodes; i++) {
    fy_node *n = l->body->nodes[i];
    if (!n || !fy_node_is(n, "ReadVariableOp")) continue;
    const fy_loop_value *v = argument(l, fy_loop_strip(n->inputs[0]).node);
    if (!v) return fy_fail(err, FY_INTERNAL, "the variable of '%s' is none of the loop's", n->name);
    fy_attrs attrs = {0};
    fy_output outer, inner;
    FY_TRY(fy_attrs_copy(&attrs, &n->attrs, &l->r->graph->arena, err));
    FY_TRY(fy_loop_add_outer(l, "ReadVariableOp", &attrs, &v->outer, 1, n->outputs[0].dtype, &outer,
                             err));
    FY_TRY(fy_loop_add_argument(l, outer, &inner, err));
    FY_TRY(fy_graph_replace_uses(l->body, (fy_output){n, 0}, inner, err));
    FY_TRY(fy_graph_remove(l->body, n, err));
  }
  return FY_OK;
}

// Is |o| read by something that changes from step to step?
static bool ends_here(const fy_loop *l, fy_output o) {
  const fy_node_out *out = &o.node->outputs[o.index];
  for (uint32_t k = 0; k < out->num_uses; k++) {
    bool ignored = false;
    if (!stays(l, (fy_output){out->uses[k].node, 0}, 0, &ignored)) return true;
  }
  return false;
}

// Values that stay the same, computed from what the loop is given: the whole expression goes.
static fy_code move_out(fy_loop *l, fy_error *err) {
  for (size_t i = 0; i < l->body->num_nodes; i++) {
    fy_node *n = l->body->nodes[i];
    bool fed = false;
    if (!n || fy_node_is(n, "_Arg") || fy_node_is(n, "_Retval") || fy_node_is(n, "Identity") ||
        !stays(l, (fy_output){n, 0}, 0, &fed) || !fed)
      continue;
    for (uint32_t k = 0; k < n->num_outputs; k++) {
      const fy_output now = {n, (int32_t)k};
      fy_output outer, inner;
      if (!ends_here(l, now)) continue;
      FY_TRY(outside(l, now, &outer, err));
      FY_TRY(fy_loop_add_argument(l, outer, &inner, err));
      FY_TRY(fy_graph_replace_uses(l->body, now, inner, err));
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- rows instead of items
static fy_code row_of(fy_loop *l, fy_output tensor, fy_output *out, fy_error *err) {
  static const int32_t zero = 0;
  fy_arena *a = &l->body->arena;
  const fy_attr params = fy_attr_type(fy_output_type(tensor)), i32 = fy_attr_type(FY_INT32),
                none = fy_attr_int(0);
  fy_attrs attrs = {0};
  fy_tensor *value;
  fy_node *axis;
  FY_TRY(fy_tensor_from(FY_INT32, 0, NULL, &zero, &value, err));
  FY_TRY(fy_graph_add_const(l->body, l->counter, 0, value, &axis, err));
  FY_TRY(fy_attrs_set(&attrs, a, "Tparams", &params, err));
  FY_TRY(fy_attrs_set(&attrs, a, "Tindices", &i32, err));
  FY_TRY(fy_attrs_set(&attrs, a, "Taxis", &i32, err));
  FY_TRY(fy_attrs_set(&attrs, a, "batch_dims", &none, err));
  const fy_output inputs[] = {tensor, {l->counter, 0}, {axis, 0}};
  return fy_loop_add_inner(l, "GatherV2", &attrs, inputs, 3, fy_output_type(tensor), out, err);
}

// Is |t| the shape of an element of |s|'s rows, as far as it says?
static bool is_shape_of(const fy_tensor *t, fy_pshape s) {
  if (!t || t->device || (t->dtype != FY_INT32 && t->dtype != FY_INT64)) return false;
  if (t->rank == 0) return fy_tensor_int(t, 0) == -1;
  if (t->rank != 1 || t->count != s.rank - 1) return false;
  for (int64_t i = 0; i < t->count; i++) {
    const int64_t d = fy_tensor_int(t, i);
    if (d != -1 && d != s.dims[i + 1]) return false;
  }
  return true;
}

static fy_dtype element_type(const fy_node *n) {
  const fy_attr *a = fy_attrs_get(&n->attrs, "element_dtype");
  return a && a->kind == FY_ATTR_TYPE ? a->v.type : FY_INVALID;
}

// A list that is the rows of a tensor, which are at least as many as steps.
static bool is_rows(const fy_loop *l, const fy_loop_value *v, fy_output *tensor) {
  const fy_node *n = v->outer.node;
  int64_t count;
  if (v->kind != FY_LOOP_SAME || !fy_node_is(n, "TensorListFromTensor") || n->num_controls)
    return false;
  *tensor = fy_rewrite_input(l->r, n, 0);
  const fy_pshape s = fy_output_shape(*tensor);
  return fy_dtype_is_plain(fy_output_type(*tensor)) && fy_shape_static(s, &count) && s.rank >= 1 &&
         s.dims[0] >= l->trips && element_type(n) == fy_output_type(*tensor) &&
         is_shape_of(fy_rewrite_const(l->r, n, 1), s);
}

static fy_code read_rows(fy_loop *l, const fy_loop_value *v, fy_error *err) {
  fy_output tensor, row = {NULL, 0};
  if (!is_rows(l, v, &tensor)) return FY_OK;
  for (size_t i = 0; i < l->body->num_nodes; i++) {
    fy_node *n = l->body->nodes[i];
    if (!n || !fy_node_is(n, "TensorListGetItem") || fy_loop_strip(n->inputs[0]).node != v->arg ||
        fy_loop_strip(n->inputs[1]).node != l->counter ||
        element_type(n) != fy_output_type(tensor) ||
        !is_shape_of(fy_loop_strip(n->inputs[2]).node->const_value, fy_output_shape(tensor)))
      continue;
    if (!row.node) {
      fy_output inner;
      FY_TRY(fy_loop_add_argument(l, tensor, &inner, err));
      FY_TRY(row_of(l, inner, &row, err));
    }
    FY_TRY(fy_graph_replace_uses(l->body, (fy_output){n, 0}, row, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- products of rows
typedef struct product {
  fy_node *matmul;                // of a row
  fy_node *last;                  // whose value the new row is
  fy_output rows, weights, bias;  // bias.node NULL: none
  int64_t n, batch, depth, width;
} product;

static bool has_flag(const fy_node *n, const char *name) {
  const fy_attr *a = fy_attrs_get(&n->attrs, name);
  return a && a->kind == FY_ATTR_BOOL && a->v.b;
}

static bool finds_product(fy_loop *l, fy_node *row, fy_node *n, product *p) {
  bool fed = false;
  const fy_dtype type = row->outputs[0].dtype;
  if (!fy_node_is(n, "MatMul") || n->inputs[0].node != row || n->num_controls ||
      (type != FY_FLOAT && type != FY_DOUBLE) || has_flag(n, "transpose_a") ||
      !fy_node_runs_anywhere(l->r, n) || !stays(l, n->inputs[1], 0, &fed))
    return false;
  const fy_loop_value *v = argument(l, row->inputs[0].node);
  const fy_pshape s = v ? fy_output_shape(v->outer) : (fy_pshape){-1, NULL};
  if (s.rank != 3 || s.dims[0] > 2 * l->trips) return false;
  *p = (product){.matmul = n, .last = n, .rows = v->outer};
  p->n = s.dims[0];
  p->batch = s.dims[1];
  p->depth = s.dims[2];
  return true;
}

// The vector that |sum| adds to |to|, if it stays the same and has a number for each column.
static bool adds_vector(fy_loop *l, const fy_node *sum, const fy_node *to, fy_output *vector) {
  bool fed = false;
  const bool bias = fy_node_is(sum, "BiasAdd") && sum->inputs[0].node == to;
  if (!bias && !fy_node_is_sum(sum)) return false;
  *vector = sum->inputs[bias || sum->inputs[0].node == to];
  if (vector->node == to || sum->num_controls || !stays(l, *vector, 0, &fed)) return false;
  const fy_attr *format = bias ? fy_attrs_get(&sum->attrs, "data_format") : NULL;
  return !format || fy_view_is(format->v.s, "NHWC");
}

static fy_node *only_use(const fy_node *n) {
  return n->outputs[0].num_uses == 1 && !n->num_control_outs ? n->outputs[0].uses[0].node : NULL;
}

// A bias right after the product, or after the sum with another one.
static fy_code find_bias(fy_loop *l, product *p, fy_error *err) {
  fy_node *sum = only_use(p->matmul), *after = sum ? only_use(sum) : NULL;
  fy_output vector, outer;
  const bool direct = sum && adds_vector(l, sum, p->matmul, &vector);
  if (!direct && !(sum && after && fy_node_is_sum(sum) && !sum->num_controls &&
                   adds_vector(l, after, sum, &vector)))
    return FY_OK;
  FY_TRY(outside(l, vector, &outer, err));
  const fy_pshape s = fy_output_shape(outer);
  if (s.rank != 1 || s.dims[0] != p->width) return FY_OK;
  p->bias = outer;
  if (direct)
    p->last = sum;
  else
    FY_TRY(fy_graph_replace_uses(l->body, (fy_output){after, 0}, (fy_output){sum, 0}, err));
  return FY_OK;
}

static fy_code reshape(fy_loop *l, fy_output from, const int64_t *dims, int64_t rank,
                       fy_output *out, fy_error *err) {
  fy_arena *a = &l->r->graph->arena;
  const fy_attr t = fy_attr_type(fy_output_type(from)), shape = fy_attr_type(FY_INT64);
  fy_attrs attrs = {0};
  fy_tensor *value;
  fy_node *to;
  FY_TRY(fy_tensor_from(FY_INT64, 1, &rank, dims, &value, err));
  FY_TRY(fy_graph_add_const(l->r->graph, l->node, (uint32_t)rank, value, &to, err));
  FY_TRY(fy_attrs_set(&attrs, a, "T", &t, err));
  FY_TRY(fy_attrs_set(&attrs, a, "Tshape", &shape, err));
  const fy_output inputs[] = {from, {to, 0}};
  return fy_loop_add_outer(l, "Reshape", &attrs, inputs, 2, fy_output_type(from), out, err);
}

static fy_code add_bias(fy_loop *l, fy_output bias, fy_output *value, fy_error *err) {
  fy_arena *a = &l->r->graph->arena;
  const fy_dtype type = fy_output_type(*value);
  const fy_attr t = fy_attr_type(type), format = fy_attr_string(fy_view_of("NHWC"));
  fy_attrs attrs = {0};
  FY_TRY(fy_attrs_set(&attrs, a, "T", &t, err));
  FY_TRY(fy_attrs_set(&attrs, a, "data_format", &format, err));
  const fy_output inputs[] = {*value, bias};
  return fy_loop_add_outer(l, "BiasAdd", &attrs, inputs, 2, type, value, err);
}

// rows [n, batch, depth] -> [n * batch, depth] x weights + bias -> [n, batch, width]
static fy_code multiply_all(fy_loop *l, const product *p, fy_output *out, fy_error *err) {
  const fy_dtype type = fy_output_type(p->rows);
  const int64_t flat[] = {p->n * p->batch, p->depth}, back[] = {p->n, p->batch, p->width};
  fy_attrs attrs = {0};
  fy_output inputs[] = {p->rows, p->weights};
  FY_TRY(reshape(l, p->rows, flat, 2, &inputs[0], err));
  FY_TRY(fy_attrs_copy(&attrs, &p->matmul->attrs, &l->r->graph->arena, err));
  FY_TRY(fy_loop_add_outer(l, "MatMul", &attrs, inputs, 2, type, out, err));
  if (p->bias.node) FY_TRY(add_bias(l, p->bias, out, err));
  return reshape(l, *out, back, 3, out, err);
}

static fy_code move_product(fy_loop *l, product *p, bool *moved, fy_error *err) {
  fy_output all, inner, row;
  FY_TRY(outside(l, p->matmul->inputs[1], &p->weights, err));
  const fy_pshape w = fy_output_shape(p->weights);
  const bool flipped = has_flag(p->matmul, "transpose_b");
  int64_t count;
  if (w.rank != 2 || !fy_shape_static(w, &count) || w.dims[flipped] != p->depth) return FY_OK;
  p->width = w.dims[!flipped];
  const double bytes = (double)p->n * (double)p->batch * (double)p->width *
                       (double)fy_dtype_size(fy_output_type(p->rows));
  if (bytes > (double)MAX_PRODUCT) return FY_OK;
  FY_TRY(find_bias(l, p, err));
  fy_rewrite_log(l->r, "loops: %s once for all steps of %s", p->matmul->name, l->node->name);
  FY_TRY(multiply_all(l, p, &all, err));
  FY_TRY(fy_loop_add_argument(l, all, &inner, err));
  FY_TRY(row_of(l, inner, &row, err));
  FY_TRY(fy_graph_replace_uses(l->body, (fy_output){p->last, 0}, row, err));
  if (p->last != p->matmul) FY_TRY(fy_graph_remove(l->body, p->last, err));
  FY_TRY(fy_graph_remove(l->body, p->matmul, err));
  *moved = true;
  return FY_OK;
}

static fy_code move_products(fy_loop *l, fy_error *err) {
  const size_t known = l->body->num_nodes;  // rows of products are no candidates
  for (size_t i = 0; i < known; i++) {
    fy_node *row = l->body->nodes[i];
    if (!row || !fy_node_is(row, "GatherV2") || row->inputs[1].node != l->counter) continue;
    bool moved = true;
    while (moved) {
      product p;
      moved = false;
      for (uint32_t k = 0; k < row->outputs[0].num_uses && !moved; k++) {
        fy_node *n = row->outputs[0].uses[k].node;
        if (finds_product(l, row, n, &p)) FY_TRY(move_product(l, &p, &moved, err));
      }
    }
  }
  return FY_OK;
}

fy_code fy_loop_hoist(fy_loop *l, fy_error *err) {
  FY_TRY(read_variables(l, err));
  for (uint32_t i = 0; i < l->n; i++) FY_TRY(read_rows(l, &l->values[i], err));
  FY_TRY(move_products(l, err));
  return move_out(l, err);
}

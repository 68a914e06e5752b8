// SPDX-License-Identifier: Apache-2.0
// rewrite.c: see rewrite.h.

#include "optimize/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static fy_code find_order(fy_rewriter *r, fy_error *err) {
  fy_opt_order *o = r->ctx->order;
  if (!o) return fy_graph_order(r->graph, &r->scratch, &r->order, &r->n, err);
  if (!o->nodes || o->version != r->graph->version) {
    fy_arena_free(&o->arena);
    o->nodes = NULL;
    FY_TRY(fy_graph_order(r->graph, &o->arena, &o->nodes, &o->n, err));
    o->version = r->graph->version;
  }
  r->order = o->nodes;
  r->n = o->n;
  return FY_OK;
}

fy_code fy_rewrite_begin(fy_rewriter *r, fy_opt_ctx *ctx, fy_error *err) {
  memset(r, 0, sizeof *r);
  r->ctx = ctx;
  r->graph = ctx->graph;
  r->num_ids = ctx->graph->num_nodes;
  fy_arena_init(&r->scratch);
  size_t n = r->num_ids + 1;
  r->forward = fy_arena_array(&r->scratch, n, sizeof *r->forward);
  r->instead = fy_arena_array(&r->scratch, n, sizeof *r->instead);
  r->flags = fy_arena_array(&r->scratch, n, 1);
  r->fetched = fy_arena_array(&r->scratch, n, sizeof *r->fetched);
  fy_code code = FY_OK;
  if (!r->forward || !r->instead || !r->flags || !r->fetched)
    code = fy_fail_oom(err, n * sizeof *r->forward);
  if (!code) code = find_order(r, err);
  if (code) {
    fy_arena_free(&r->scratch);
    return code;
  }
  for (int i = 0; i < ctx->num_fetches; i++) {
    fy_output f = ctx->fetches[i];
    r->fetched[f.node->id] |= 1ull << (f.index < 63 ? f.index : 63);
  }
  return FY_OK;
}

fy_output fy_rewrite_value(const fy_rewriter *r, fy_output o) {
  while (o.node->id < r->num_ids && r->forward[o.node->id]) {
    fy_output to = r->forward[o.node->id][o.index];
    if (!to.node) break;
    o = to;
  }
  return o;
}

fy_output fy_rewrite_input(const fy_rewriter *r, const fy_node *node, uint32_t i) {
  return fy_rewrite_value(r, node->inputs[i]);
}

fy_code fy_rewrite_forward(fy_rewriter *r, fy_output from, fy_output to, fy_error *err) {
  fy_output **slot = &r->forward[from.node->id];
  if (!*slot) *slot = fy_arena_array(&r->scratch, from.node->num_outputs, sizeof **slot);
  if (!*slot) return fy_fail_oom(err, from.node->num_outputs * sizeof **slot);
  (*slot)[from.index] = fy_rewrite_value(r, to);
  r->rewrites++;
  return FY_OK;
}

void fy_rewrite_instead(fy_rewriter *r, fy_node *gone, fy_node *heir) {
  if (gone->id < r->num_ids && gone != heir) r->instead[gone->id] = heir;
  r->rewrites++;
}

void fy_rewrite_touch(fy_rewriter *r) {
  r->rewrites++;
}

bool fy_rewrite_is_fetched(const fy_rewriter *r, const fy_node *node, uint32_t output) {
  return node->id < r->num_ids && (r->fetched[node->id] >> (output < 63 ? output : 63) & 1);
}

bool fy_rewrite_is_target(const fy_rewriter *r, const fy_node *node) {
  for (int i = 0; i < r->ctx->num_targets; i++)
    if (r->ctx->targets[i] == node) return true;
  return false;
}

void fy_rewrite_log(const fy_rewriter *r, const char *format, ...) {
  if (!r->ctx->log) return;
  va_list args;
  va_start(args, format);
  fy_str_vprintf(r->ctx->log, format, args);
  va_end(args);
  fy_str_addc(r->ctx->log, '\n');
}

// ------------------------------------------------------------------ applying
static fy_node *heir_of(const fy_rewriter *r, fy_node *node) {
  while (node->id < r->num_ids && r->instead[node->id]) node = r->instead[node->id];
  return node;
}

// Control inputs of replaced nodes become those of their heirs, each once, never of the node itself
// and never of a replaced node.
static void apply_controls(const fy_rewriter *r, fy_node *node, uint32_t stamp) {
  uint32_t kept = 0;
  node->mark = stamp;
  for (uint32_t i = 0; i < node->num_controls; i++) {
    fy_node *from = heir_of(r, node->controls[i]);
    if (from->mark == stamp) continue;
    from->mark = stamp;
    node->controls[kept++] = from;
  }
  node->num_controls = kept;
}

static void apply_edges(const fy_rewriter *r) {
  fy_graph *g = r->graph;
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i]) g->nodes[i]->mark = 0;
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *node = g->nodes[i];
    if (!node) continue;
    for (uint32_t k = 0; k < node->num_inputs; k++) {
      fy_output to = fy_rewrite_value(r, node->inputs[k]);
      // What replaces a value may read it (a Reshape in place of a Reshape of a Reshape).
      if (to.node != node) node->inputs[k] = to;
    }
    if (node->num_controls) apply_controls(r, node, (uint32_t)i + 1);
  }
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i]) g->nodes[i]->mark = 0;
}

// Origins of replaced nodes join those of their heirs. Counts first, so that one list is made.
static fy_code apply_origins(const fy_rewriter *r, fy_error *err) {
  fy_graph *g = r->graph;
  uint32_t *extra = fy_calloc(g->num_nodes + 1, sizeof *extra);
  if (!extra) return fy_fail_oom(err, g->num_nodes * sizeof *extra);
  for (size_t i = 0; i < r->n; i++) {
    const fy_node *gone = r->order[i];
    if (!r->instead[gone->id]) continue;
    extra[heir_of(r, r->instead[gone->id])->id] += gone->origins ? gone->num_origins : 1;
  }
  fy_code code = FY_OK;
  for (size_t i = 0; i < g->num_nodes && !code; i++) {
    fy_node *heir = g->nodes[i];
    if (!extra[i] || !heir) continue;
    uint32_t own = heir->origins ? heir->num_origins : 1;
    const char **list = fy_arena_alloc(&g->arena, (own + extra[i]) * sizeof *list);
    if (!list) {
      code = fy_fail_oom(err, (own + extra[i]) * sizeof *list);
      break;
    }
    if (heir->origins)
      memcpy(list, heir->origins, own * sizeof *list);
    else
      list[0] = heir->name;
    heir->origins = list;
    heir->num_origins = own;
  }
  for (size_t i = 0; i < r->n && !code; i++) {
    const fy_node *gone = r->order[i];
    if (!r->instead[gone->id]) continue;
    fy_node *heir = heir_of(r, r->instead[gone->id]);
    const char **list = (const char **)(uintptr_t)heir->origins;
    if (!heir->num_origins && gone->error_tail && !heir->error_tail) {  // made by a pass
      heir->error_head = gone->error_head;
      heir->error_tail = gone->error_tail;
    }
    if (!gone->origins) {
      list[heir->num_origins++] = gone->name;
    } else if (gone->num_origins) {
      memcpy(&list[heir->num_origins], gone->origins, gone->num_origins * sizeof *list);
      heir->num_origins += gone->num_origins;
    }
  }
  fy_free(extra);
  return code;
}

static bool room(fy_arena *a, void *list, uint32_t *cap, uint32_t need, size_t elem) {
  if (need <= *cap) return true;
  void *fresh = fy_arena_alloc(a, need * elem);
  if (!fresh) return false;
  memcpy(list, &fresh, sizeof fresh);
  *cap = need;
  return true;
}

// The lists that look forward, made anew from those that look back. Two walks: count, then fill.
static fy_code rebuild_uses(fy_graph *g, fy_error *err) {
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *n = g->nodes[i];
    if (!n) continue;
    n->num_control_outs = 0;
    for (uint32_t k = 0; k < n->num_outputs; k++) n->outputs[k].num_uses = 0;
  }
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (!n) continue;
    for (uint32_t k = 0; k < n->num_inputs; k++)
      n->inputs[k].node->outputs[n->inputs[k].index].num_uses++;
    for (uint32_t k = 0; k < n->num_controls; k++) n->controls[k]->num_control_outs++;
  }
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *n = g->nodes[i];
    if (!n) continue;
    bool ok = room(&g->arena, &n->control_outs, &n->cap_control_outs, n->num_control_outs,
                   sizeof *n->control_outs);
    for (uint32_t k = 0; k < n->num_outputs && ok; k++) {
      fy_node_out *o = &n->outputs[k];
      ok = room(&g->arena, &o->uses, &o->cap_uses, o->num_uses, sizeof *o->uses);
      o->num_uses = 0;
    }
    n->num_control_outs = 0;
    if (!ok) return fy_fail_oom(err, sizeof *n);
  }
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *n = g->nodes[i];
    if (!n) continue;
    for (uint32_t k = 0; k < n->num_inputs; k++) {
      fy_node_out *o = &n->inputs[k].node->outputs[n->inputs[k].index];
      o->uses[o->num_uses++] = (fy_use){n, (int32_t)k};
    }
    for (uint32_t k = 0; k < n->num_controls; k++) {
      fy_node *from = n->controls[k];
      from->control_outs[from->num_control_outs++] = n;
    }
  }
  return FY_OK;
}

// Replaced nodes go at once: whether or not prune runs, nothing refers to them any more.
static void drop_replaced(const fy_rewriter *r) {
  fy_graph *g = r->graph;
  for (size_t i = 0; i < r->num_ids; i++) {
    if (!r->instead[i]) continue;
    fy_map_remove(&g->by_name, g->nodes[i]->name, strlen(g->nodes[i]->name));
    g->nodes[i] = NULL;
  }
}

fy_code fy_rewrite_end(fy_rewriter *r, fy_code code, bool *changed, fy_error *err) {
  if (!code && r->rewrites) {
    fy_opt_ctx *ctx = r->ctx;
    code = apply_origins(r, err);
    if (!code) {
      apply_edges(r);
      for (int i = 0; i < ctx->num_fetches; i++)
        ctx->fetches[i] = fy_rewrite_value(r, ctx->fetches[i]);
      for (int i = 0; i < ctx->num_targets; i++) ctx->targets[i] = heir_of(r, ctx->targets[i]);
      drop_replaced(r);
      code = rebuild_uses(r->graph, err);
      r->graph->version++;
      *changed = true;
    }
  }
  fy_arena_free(&r->scratch);
  return code;
}

// ------------------------------------------------------------------ facts
static bool is_handle(fy_dtype t) {
  return fy_dtype_is_ref(t) || t == FY_RESOURCE || t == FY_VARIANT;
}

bool fy_node_is_pure(const fy_node *node) {
  const fy_op *op = node->op;
  if (!op || node->function || (op->spec->flags & FY_SPEC_STATEFUL) || op->user_kernels)
    return false;
  if (op->impl && (op->impl->flags & (FY_OP_ASYNC | FY_OP_CALLS_FUNCTIONS))) return false;
  for (uint32_t i = 0; i < node->num_outputs; i++)
    if (is_handle(node->outputs[i].dtype)) return false;
  for (uint32_t i = 0; i < node->num_inputs; i++)
    if (is_handle(fy_output_type(node->inputs[i]))) return false;
  return true;
}

bool fy_node_same_request(const fy_node *node, const fy_node *other) {
  return !node->device[0] || strcmp(node->device, other->device) == 0;
}

bool fy_node_colocated(const fy_node *node) {
  return fy_attrs_get(&node->attrs, "_class") != NULL;
}

const fy_tensor *fy_rewrite_const(const fy_rewriter *r, const fy_node *node, uint32_t i) {
  fy_output in = fy_rewrite_input(r, node, i);
  return in.index == 0 && !in.node->num_controls ? in.node->const_value : NULL;
}

fy_pshape fy_output_shape(fy_output o) {
  return o.node->outputs[o.index].shape;
}
fy_dtype fy_output_type(fy_output o) {
  return o.node->outputs[o.index].dtype;
}

bool fy_shape_static(fy_pshape s, int64_t *count) {
  return s.rank >= 0 && fy_shape_count(s.rank, s.dims, count);
}

bool fy_shape_same(fy_pshape a, fy_pshape b) {
  int64_t n;
  return a.rank >= 0 && b.rank >= 0 && fy_shape_equal(a.rank, a.dims, b.rank, b.dims) &&
         fy_shape_static(a, &n);
}

// ------------------------------------------------------------------ making nodes
static fy_code const_attrs(fy_graph *g, fy_tensor *value, fy_attrs *out, fy_error *err) {
  fy_attr t = fy_attr_tensor(&g->arena, value), dtype = fy_attr_type(value->dtype);
  fy_tensor_release(value);  // the arena holds it now
  *out = (fy_attrs){0};
  if (t.kind == FY_ATTR_NONE) return fy_fail_oom(err, sizeof t);
  FY_TRY(fy_attrs_set(out, &g->arena, "dtype", &dtype, err));
  return fy_attrs_set(out, &g->arena, "value", &t, err);
}

static fy_code set_value(fy_graph *g, fy_node *node, const fy_tensor *value, fy_error *err) {
  const int64_t *dims = fy_arena_memdup(&g->arena, value->dims, (size_t)value->rank * sizeof *dims);
  if (!dims) return fy_fail_oom(err, (size_t)value->rank * sizeof *dims);
  node->outputs[0].shape = (fy_pshape){value->rank, dims};
  node->const_value = value;
  return FY_OK;
}

fy_code fy_node_become_const(fy_graph *g, fy_node *node, fy_tensor *value, fy_error *err) {
  const fy_op *op = fy_op_find("Const", 5);
  fy_attrs attrs;
  FY_TRY(const_attrs(g, value, &attrs, err));
  if (!op) return fy_fail(err, FY_INTERNAL, "there is no op Const");
  FY_TRY(set_value(g, node, value, err));
  node->op = op;
  node->spec = op->spec;
  node->op_name = op->spec->name;
  node->attrs = attrs;
  node->num_inputs = 0;
  return FY_OK;
}

fy_code fy_graph_add_const(fy_graph *g, const fy_node *like, uint32_t index, fy_tensor *value,
                           fy_node **out, fy_error *err) {
  fy_attrs attrs;
  fy_dtype dtype = value->dtype;
  FY_TRY(const_attrs(g, value, &attrs, err));
  char *base = fy_arena_printf(&g->arena, "%s/const_%u", like->name, index);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  if (!name) return fy_fail_oom(err, 32);
  FY_TRY(fy_graph_add_raw(g, "Const", name, like->device, &attrs, NULL, 0, NULL, 0, &dtype, 1, out,
                          err));
  FY_TRY(set_value(g, *out, value, err));
  return fy_node_clear_origins(g, *out, err);
}

fy_code fy_node_clear_origins(fy_graph *g, fy_node *node, fy_error *err) {
  node->origins = fy_arena_alloc(&g->arena, sizeof *node->origins);
  node->num_origins = 0;
  return node->origins ? FY_OK : fy_fail_oom(err, sizeof *node->origins);
}

bool fy_rewrite_may_join_late(const fy_rewriter *r, const fy_node *head, const fy_node *n) {
  return !r->flags[n->id] && fy_node_runs_anywhere(r, n) && fy_node_is_pure(n) &&
         !fy_node_colocated(n) && fy_node_same_request(n, head) && fy_node_same_request(head, n);
}

bool fy_rewrite_may_join(const fy_rewriter *r, const fy_node *head, const fy_node *n) {
  return !n->num_controls && fy_rewrite_may_join_late(r, head, n);
}

fy_code fy_rewrite_controls(fy_rewriter *r, fy_node *const *members, uint32_t num_members,
                            fy_node ***out, uint32_t *n, fy_error *err) {
  uint32_t most = 0;
  *n = 0;
  for (uint32_t i = 0; i < num_members; i++) most += members[i]->num_controls;
  *out = fy_arena_array(&r->scratch, most + 1, sizeof **out);
  if (!*out) return fy_fail_oom(err, most * sizeof **out);
  for (uint32_t i = 0; i < num_members; i++)
    for (uint32_t k = 0; k < members[i]->num_controls; k++)
      (*out)[(*n)++] = members[i]->controls[k];
  return FY_OK;
}

fy_node *fy_rewrite_only_reader(const fy_rewriter *r, const fy_node *n, uint32_t i) {
  if (n->outputs[i].num_uses != 1 || n->num_control_outs || fy_rewrite_is_fetched(r, n, i) ||
      fy_rewrite_is_target(r, n))
    return NULL;
  return n->outputs[i].uses[0].node;
}

fy_output fy_rewrite_other_operand(const fy_rewriter *r, const fy_node *n, const fy_node *one) {
  const fy_output a = fy_rewrite_input(r, n, 0), b = fy_rewrite_input(r, n, 1);
  return a.node == one ? b : a;
}

uint64_t fy_node_alpha_bits(const fy_node *n) {
  const fy_attr *alpha = fy_attrs_get(&n->attrs, "alpha");
  const float a = alpha && alpha->kind == FY_ATTR_FLOAT ? alpha->v.f : 0.2f;
  const double wide = (double)a;
  uint64_t bits = 0;
  if (n->outputs[0].dtype == FY_DOUBLE)
    memcpy(&bits, &wide, sizeof wide);
  else
    memcpy(&bits, &a, sizeof a);
  return bits;
}

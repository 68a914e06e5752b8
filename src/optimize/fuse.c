// SPDX-License-Identifier: Apache-2.0
// fuse.c: element-wise neighbours become one _FerryFused node (ops/fused.h).
//
// Members of a group have one class: type, static shape, requested device. No group may wait for
// itself through a node outside. Stages see to that: along an edge between nodes of one class the
// stage may stay, along every other edge (data or control) it grows by one; so a path that leaves a
// group never comes back to its stage. First every node gets its earliest stage, then each is moved
// as late as its readers allow, which brings it next to them. Connected nodes of one class and
// stage are a group; a group that grew too large is cut along the order of its nodes.

#include <string.h>

#include "base/alloc.h"
#include "ops/fused.h"
#include "optimize/rewrite.h"

#define NO_CLASS 0u
#define MAX_OPS  16384
#define MAX_ARGS 256  // inputs of a group; also its outputs

typedef struct fuser {
  fy_rewriter r;
  uint32_t *class_of;  // [num_ids] NO_CLASS: not fusable
  uint32_t *stage;     // [num_ids]
  uint32_t *leader;    // [num_ids] union-find
  uint32_t *next;      // [num_ids] next member of the group in order, or UINT32_MAX
  uint32_t *last;      // [num_ids] last member of the leader's group so far
  uint32_t *group;     // [num_ids] 1 + number of the group being built, for membership
  uint32_t *seen;      // [num_ids] last group that counted this node as an input
  uint32_t *value;     // [num_ids] value number of a member's result
  uint32_t num_classes;
  fy_map by_key;
} fuser;

// ------------------------------------------------------------------ who may be fused
static fy_ew ew_of(const fy_node *node) {
  if (fy_node_is(node, "BiasAdd")) return FY_EW_ADD;
  return node->op && node->op->impl ? node->op->impl->elementwise : FY_EW_NONE;
}

// Is |in| broadcast to |out| only by repetition: one element, or the tail of the output's shape?
static bool fits(fy_pshape in, fy_pshape out, fy_fused_kind *kind) {
  int64_t have, want;
  if (!fy_shape_static(in, &have) || !fy_shape_static(out, &want)) return false;
  if (have == 1) {
    *kind = want == 1 ? FY_FUSED_FULL : FY_FUSED_SCALAR;
    return true;
  }
  // Leading ones say nothing; then the dims must be the last dims of the output.
  int32_t lead = 0;
  while (lead < in.rank && in.dims[lead] == 1) lead++;
  int32_t tail = in.rank - lead;
  if (tail > out.rank ||
      memcmp(in.dims + lead, out.dims + (out.rank - tail), (size_t)tail * sizeof *in.dims) != 0)
    return false;
  *kind = have == want ? FY_FUSED_FULL : FY_FUSED_ROW;
  return have != 0;
}

static bool is_fusable(const fy_rewriter *r, const fy_node *node) {
  fy_ew e = ew_of(node);
  fy_fused_kind kind;
  if (e == FY_EW_NONE || node->num_outputs != 1 || !fy_node_is_pure(node) ||
      !fy_fused_knows(e, node->outputs[0].dtype) || fy_node_colocated(node) || node->const_value)
    return false;
  uint32_t want = fy_ew_is_binary(e) && e != FY_EW_LEAKY_RELU ? 2 : 1;
  if (node->num_inputs != want || fy_rewrite_is_target(r, node)) return false;
  if (fy_node_is(node, "BiasAdd")) {
    const fy_attr *format = fy_attrs_get(&node->attrs, "data_format");
    if (!format || format->kind != FY_ATTR_STRING || !fy_view_is(format->v.s, "NHWC")) return false;
  }
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    if (fy_output_type(node->inputs[i]) != node->outputs[0].dtype ||
        !fits(fy_output_shape(node->inputs[i]), node->outputs[0].shape, &kind))
      return false;
  }
  int64_t count;
  return fy_shape_static(node->outputs[0].shape, &count) && count > 0 &&
         fy_node_runs_anywhere(r, node);
}

static fy_code find_class(fuser *f, const fy_node *node, uint32_t *out, fy_error *err) {
  fy_pshape s = node->outputs[0].shape;
  size_t device = strlen(node->device), dims = (size_t)s.rank * sizeof *s.dims;
  size_t bytes = sizeof(int32_t) + dims + device;
  char small[256], *key = bytes <= sizeof small ? small : fy_arena_alloc(&f->r.scratch, bytes);
  if (!key) return fy_fail_oom(err, bytes);
  const int32_t head = (int32_t)node->outputs[0].dtype;
  memcpy(key, &head, sizeof head);
  if (dims) memcpy(key + sizeof head, s.dims, dims);
  memcpy(key + sizeof head + dims, node->device, device);
  uintptr_t known = (uintptr_t)fy_map_get(&f->by_key, key, bytes);
  if (!known) {
    known = ++f->num_classes;
    char *copy = fy_arena_memdup(&f->r.scratch, key, bytes);
    if (!copy || !fy_map_put(&f->by_key, copy, bytes, (void *)known))
      return fy_fail_oom(err, bytes);
  }
  *out = (uint32_t)known;
  return FY_OK;
}

// ------------------------------------------------------------------ stages and groups
static bool joins(const fuser *f, const fy_node *from, const fy_node *to) {
  uint32_t c = f->class_of[to->id];
  return c != NO_CLASS && f->class_of[from->id] == c;
}

static void set_stages(fuser *f) {
  const fy_rewriter *r = &f->r;
  uint32_t *stage = f->stage, latest = 0;
  for (size_t i = 0; i < r->n; i++) {
    const fy_node *n = r->order[i];
    uint32_t s = 0;
    for (uint32_t k = 0; k < n->num_inputs; k++) {
      const fy_node *from = n->inputs[k].node;
      uint32_t t = stage[from->id] + !joins(f, from, n);
      if (t > s) s = t;
    }
    for (uint32_t k = 0; k < n->num_controls; k++)
      if (stage[n->controls[k]->id] + 1 > s) s = stage[n->controls[k]->id] + 1;
    stage[n->id] = s;
    if (s > latest) latest = s;
  }
  for (size_t i = r->n; i-- > 0;) {
    const fy_node *n = r->order[i];
    uint32_t s = UINT32_MAX;
    if (f->class_of[n->id] == NO_CLASS) continue;
    for (uint32_t k = 0; k < n->outputs[0].num_uses; k++) {
      const fy_node *to = n->outputs[0].uses[k].node;
      uint32_t t = stage[to->id] - !joins(f, n, to);
      if (t < s) s = t;
    }
    for (uint32_t k = 0; k < n->num_control_outs; k++)
      if (stage[n->control_outs[k]->id] - 1 < s) s = stage[n->control_outs[k]->id] - 1;
    if (s != UINT32_MAX) stage[n->id] = s;
  }
}

static uint32_t find(uint32_t *leader, uint32_t i) {
  while (leader[i] != i) {
    leader[i] = leader[leader[i]];
    i = leader[i];
  }
  return i;
}

// Joins neighbours, then lists every group's members in order.
static void form_groups(fuser *f) {
  const fy_rewriter *r = &f->r;
  for (size_t i = 0; i < r->num_ids; i++) {
    f->leader[i] = (uint32_t)i;
    f->next[i] = f->last[i] = UINT32_MAX;
  }
  for (size_t i = 0; i < r->n; i++) {
    const fy_node *n = r->order[i];
    if (f->class_of[n->id] == NO_CLASS) continue;
    for (uint32_t k = 0; k < n->num_inputs; k++) {
      const fy_node *from = n->inputs[k].node;
      if (!joins(f, from, n) || f->stage[from->id] != f->stage[n->id]) continue;
      f->leader[find(f->leader, from->id)] = find(f->leader, n->id);
    }
  }
}

// ------------------------------------------------------------------ building one node
typedef struct builder {
  fuser *f;
  fy_node **members;  // [num_members] in order
  uint32_t num_members;
  uint32_t number;    // of the group
  fy_output *inputs;  // [cap] distinct
  uint32_t *kinds;
  uint64_t *consts;
  fy_output *const_from;
  fy_fused_op *ops;
  uint32_t *outputs;  // member numbers whose results leave
  uint32_t num_inputs, num_consts, num_outputs;
} builder;

static bool same_output(fy_output a, fy_output b) {
  return a.node == b.node && a.index == b.index;
}

static bool is_inlined(fy_output o, const fy_node *member) {
  const fy_tensor *t = o.index == 0 ? o.node->const_value : NULL;
  return t && t->count == 1 && !t->device && !o.node->num_controls &&
         t->dtype == member->outputs[0].dtype;
}

// Values are numbered inputs, constants, members; inputs and constants are not all known yet, so
// that operands are first written with a tag that number_values replaces.
#define TAG_INPUT  0u
#define TAG_CONST  (1u << 29)
#define TAG_MEMBER (2u << 29)
#define TAG_MASK   (3u << 29)

static uint32_t add_const(builder *b, uint64_t bits) {
  // The last few: enough for what graphs repeat; CSE has merged the rest.
  for (uint32_t i = b->num_consts; i-- > 0 && i + 8 > b->num_consts;)
    if (b->consts[i] == bits) return TAG_CONST | i;
  b->consts[b->num_consts] = bits;
  return TAG_CONST | b->num_consts++;
}

static uint32_t operand(builder *b, const fy_node *member, uint32_t i) {
  fy_output in = member->inputs[i];
  fuser *f = b->f;
  if (in.node->id < f->r.num_ids && f->group[in.node->id] == b->number)
    return TAG_MEMBER | f->value[in.node->id];
  if (is_inlined(in, member)) {
    uint64_t bits = 0;
    memcpy(&bits, in.node->const_value->data, fy_dtype_storage(member->outputs[0].dtype));
    return add_const(b, bits);
  }
  for (uint32_t k = 0; k < b->num_inputs; k++)
    if (same_output(b->inputs[k], in)) return TAG_INPUT | k;
  fy_fused_kind kind = FY_FUSED_FULL;
  fits(fy_output_shape(in), member->outputs[0].shape, &kind);
  b->inputs[b->num_inputs] = in;
  b->kinds[b->num_inputs] = kind;
  return TAG_INPUT | b->num_inputs++;
}

static void add_member(builder *b, uint32_t i) {
  fy_node *m = b->members[i];
  fy_ew e = ew_of(m);
  fy_fused_op *op = &b->ops[i];
  op->op = (uint32_t)e;
  op->a = operand(b, m, 0);
  op->b = FY_FUSED_NONE;
  if (e == FY_EW_LEAKY_RELU) {
    op->b = add_const(b, fy_node_alpha_bits(m));
  } else if (fy_ew_is_binary(e)) {
    op->b = operand(b, m, 1);
  }
  b->f->value[m->id] = i;
}

static void number_value(const builder *b, uint32_t *v) {
  if (*v == FY_FUSED_NONE) return;
  uint32_t tag = *v & TAG_MASK, i = *v & ~TAG_MASK;
  *v = tag == TAG_INPUT   ? i
       : tag == TAG_CONST ? b->num_inputs + i
                          : b->num_inputs + b->num_consts + i;
}

static bool leaves(const builder *b, const fy_node *m) {
  const fy_node_out *o = &m->outputs[0];
  if (fy_rewrite_is_fetched(&b->f->r, m, 0)) return true;
  for (uint32_t k = 0; k < o->num_uses; k++)
    if (o->uses[k].node->id >= b->f->r.num_ids || b->f->group[o->uses[k].node->id] != b->number)
      return true;
  return false;
}

static fy_code node_attrs(const builder *b, fy_attrs *attrs, fy_error *err) {
  fy_graph *g = b->f->r.graph;
  fy_arena *a = &g->arena;
  const fy_node_out *like = &b->members[0]->outputs[0];
  const fy_fused_program p = {b->num_inputs, b->num_consts, b->num_members, b->num_outputs,
                              b->kinds,      b->consts,     b->ops,         b->outputs};
  fy_view bytes;
  FY_TRY(fy_fused_encode(&p, a, &bytes, err));
  fy_attr t = fy_attr_type(like->dtype), n = fy_attr_int(b->num_inputs);
  fy_attr m = fy_attr_int(b->num_outputs), program = fy_attr_string(bytes);
  fy_attr shape = {.kind = FY_ATTR_SHAPE, .v.shape = like->shape};
  FY_TRY(fy_attrs_set(attrs, a, "M", &m, err));
  FY_TRY(fy_attrs_set(attrs, a, "N", &n, err));
  FY_TRY(fy_attrs_set(attrs, a, "T", &t, err));
  FY_TRY(fy_attrs_set(attrs, a, "program", &program, err));
  return fy_attrs_set(attrs, a, "shape", &shape, err);
}

static fy_code add_node(const builder *b, fy_node **out, fy_error *err) {
  fy_graph *g = b->f->r.graph;
  const fy_node *last = b->members[b->num_members - 1];
  fy_attrs attrs = {0};
  fy_node **controls;
  uint32_t num_controls;
  FY_TRY(node_attrs(b, &attrs, err));
  FY_TRY(fy_rewrite_controls(&b->f->r, b->members, b->num_members, &controls, &num_controls, err));
  char *base = fy_arena_printf(&g->arena, "%s/fused", last->name);
  const char *name = base ? fy_graph_unique_name(g, base) : NULL;
  fy_dtype *types = fy_arena_alloc(&b->f->r.scratch, b->num_outputs * sizeof *types);
  if (!name || !types) return fy_fail_oom(err, b->num_outputs * sizeof *types);
  for (uint32_t i = 0; i < b->num_outputs; i++) types[i] = last->outputs[0].dtype;
  FY_TRY(fy_graph_add_raw(g, "_FerryFused", name, last->device, &attrs, b->inputs, b->num_inputs,
                          controls, num_controls, types, b->num_outputs, out, err));
  for (uint32_t i = 0; i < b->num_outputs; i++) (*out)->outputs[i].shape = last->outputs[0].shape;
  return fy_node_clear_origins(g, *out, err);
}

static fy_code replace(builder *b, fy_error *err) {
  fy_rewriter *r = &b->f->r;
  const uint32_t first = b->num_inputs + b->num_consts;
  fy_node *made;
  for (uint32_t i = 0; i < b->num_members; i++) {
    number_value(b, &b->ops[i].a);
    number_value(b, &b->ops[i].b);
    if (leaves(b, b->members[i])) b->outputs[b->num_outputs++] = first + i;
  }
  if (!b->num_outputs) return FY_OK;  // dead: prune takes it
  FY_TRY(add_node(b, &made, err));
  for (uint32_t k = 0; k < b->num_outputs; k++)
    FY_TRY(fy_rewrite_forward(r, (fy_output){b->members[b->outputs[k] - first], 0},
                              (fy_output){made, (int32_t)k}, err));
  for (uint32_t i = 0; i < b->num_members; i++) fy_rewrite_instead(r, b->members[i], made);
  if (r->ctx->log) {
    fy_str_printf(r->ctx->log, "fuse: %s =", made->name);
    for (uint32_t i = 0; i < b->num_members && i < 16; i++)
      fy_str_printf(r->ctx->log, " %s", b->members[i]->name);
    fy_str_printf(r->ctx->log, "%s (%u operations)\n", b->num_members > 16 ? " …" : "",
                  b->num_members);
  }
  return FY_OK;
}

// Fuses members[0..n) into one node. Operands name original nodes: what earlier groups replaced is
// forwarded when the rewrite ends.
static fy_code build(fuser *f, fy_node **members, uint32_t n, uint32_t number, fy_error *err) {
  fy_arena *a = &f->r.scratch;
  if (n < 2) return FY_OK;
  builder b = {.f = f, .members = members, .num_members = n, .number = number};
  b.inputs = fy_arena_alloc(a, (MAX_ARGS + 2) * sizeof *b.inputs);
  b.kinds = fy_arena_alloc(a, (MAX_ARGS + 2) * sizeof *b.kinds);
  b.consts = fy_arena_alloc(a, 2 * (size_t)n * sizeof *b.consts);
  b.ops = fy_arena_alloc(a, n * sizeof *b.ops);
  b.outputs = fy_arena_alloc(a, n * sizeof *b.outputs);
  if (!b.inputs || !b.kinds || !b.consts || !b.ops || !b.outputs)
    return fy_fail_oom(err, n * sizeof *b.ops);
  for (uint32_t i = 0; i < n; i++) add_member(&b, i);
  return replace(&b, err);
}

// How many inputs the group of this |number| gets by |m|: producers it has not seen yet.
static uint32_t new_inputs(fuser *f, const fy_node *m, uint32_t number) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->num_inputs; i++) {
    fy_output in = m->inputs[i];
    uint32_t id = in.node->id;
    if (f->group[id] == number || is_inlined(in, m)) continue;
    if (in.index == 0 && f->seen[id] == number) continue;
    if (in.index == 0) f->seen[id] = number;
    n++;
  }
  return n;
}

// Cuts one group's list of members where it grows too large.
static fy_code build_group(fuser *f, uint32_t first, uint32_t *number, fy_node **members,
                           fy_error *err) {
  uint32_t n = 0, args = 0;
  ++*number;
  for (uint32_t id = first; id != UINT32_MAX; id = f->next[id]) {
    fy_node *m = f->r.graph->nodes[id];
    if (n == MAX_OPS || args + m->num_inputs > MAX_ARGS) {
      FY_TRY(build(f, members, n, *number, err));
      n = args = 0;
      ++*number;
    }
    args += new_inputs(f, m, *number);
    f->group[id] = *number;
    members[n++] = m;
  }
  return build(f, members, n, *number, err);
}

static fy_code build_groups(fuser *f, fy_error *err) {
  const fy_rewriter *r = &f->r;
  uint32_t number = 0;
  fy_node **members = fy_arena_alloc(&f->r.scratch, (MAX_OPS + 1) * sizeof *members);
  uint32_t *first = fy_arena_alloc(&f->r.scratch, (r->num_ids + 1) * sizeof *first);
  if (!members || !first) return fy_fail_oom(err, MAX_OPS * sizeof *members);
  for (size_t i = 0; i < r->n; i++) {
    uint32_t id = r->order[i]->id;
    if (f->class_of[id] == NO_CLASS) continue;
    uint32_t l = find(f->leader, id);
    if (f->last[l] == UINT32_MAX)
      first[l] = id;
    else
      f->next[f->last[l]] = id;
    f->last[l] = id;
  }
  for (size_t i = 0; i < r->n; i++) {
    uint32_t id = r->order[i]->id;
    if (f->class_of[id] == NO_CLASS || find(f->leader, id) != id) continue;
    FY_TRY(build_group(f, first[id], &number, members, err));
  }
  return FY_OK;
}

static fy_code run(fuser *f, fy_error *err) {
  fy_rewriter *r = &f->r;
  fy_arena *a = &r->scratch;
  size_t n = r->num_ids + 1;
  f->class_of = fy_arena_array(a, n, sizeof *f->class_of);
  f->stage = fy_arena_array(a, n, sizeof *f->stage);
  f->leader = fy_arena_array(a, n, sizeof *f->leader);
  f->next = fy_arena_array(a, n, sizeof *f->next);
  f->last = fy_arena_array(a, n, sizeof *f->last);
  f->group = fy_arena_array(a, n, sizeof *f->group);
  f->value = fy_arena_array(a, n, sizeof *f->value);
  f->seen = fy_arena_array(a, n, sizeof *f->seen);
  if (!f->class_of || !f->stage || !f->leader || !f->next || !f->last || !f->group || !f->value ||
      !f->seen)
    return fy_fail_oom(err, n * sizeof *f->stage);
  for (size_t i = 0; i < r->n; i++)
    if (is_fusable(r, r->order[i]))
      FY_TRY(find_class(f, r->order[i], &f->class_of[r->order[i]->id], err));
  if (!f->num_classes) return FY_OK;
  set_stages(f);
  form_groups(f);
  return build_groups(f, err);
}

fy_code fy_pass_fuse(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fuser f;
  memset(&f, 0, sizeof f);
  FY_TRY(fy_rewrite_begin(&f.r, ctx, err));
  fy_map_init(&f.by_key);
  fy_code code = run(&f, err);
  fy_map_free(&f.by_key);
  return fy_rewrite_end(&f.r, code, changed, err);
}

// SPDX-License-Identifier: Apache-2.0
// flow.c: frames, conditions and regions of a graph with TensorFlow 1's control flow (flow.h).

#include "graph/flow.h"

#include <string.h>

#include "base/alloc.h"

#define NO_PRED UINT32_MAX

typedef struct literal {
  uint32_t node;  // whose output decides; for a Merge or Exit that leaves its state open: that node
  int32_t output;
  uint32_t branch, branches;  // branches 0: "the node got something"
  uint32_t frame;             // of the predicate
} literal;

typedef struct cond {  // a sorted set of literals
  uint32_t *lits;
  uint32_t n;
} cond;

typedef struct analyser {
  const fy_graph *g;
  fy_flow_info *f;
  literal *literals;
  cond *conds;
  size_t num_literals, cap_literals, num_conds, cap_conds, cap_frames;
  fy_map cond_of;       // bytes of the set -> number
  fy_map literal_of;    // bytes of the literal -> number + 1
  uint32_t **out_cond;  // [node id] per output where they differ (Switch), else NULL
} analyser;

fy_flow_kind fy_flow_kind_of(const fy_node *node) {
  const char *op = node->op_name;
  if (node->function) return FY_FLOW_NONE;
  if (strncmp(op, "Ref", 3) == 0) op += 3;
  switch (op[0]) {
    case 'S': return strcmp(op, "Switch") == 0 ? FY_FLOW_SWITCH : FY_FLOW_NONE;
    case '_': return strcmp(op, "_SwitchN") == 0 ? FY_FLOW_SWITCH : FY_FLOW_NONE;
    case 'M': return strcmp(op, "Merge") == 0 ? FY_FLOW_MERGE : FY_FLOW_NONE;
    case 'E':
      return strcmp(op, "Enter") == 0  ? FY_FLOW_ENTER
             : strcmp(op, "Exit") == 0 ? FY_FLOW_EXIT
                                       : FY_FLOW_NONE;
    case 'N': return strcmp(op, "NextIteration") == 0 ? FY_FLOW_NEXT : FY_FLOW_NONE;
    case 'L': return strcmp(op, "LoopCond") == 0 ? FY_FLOW_LOOP_COND : FY_FLOW_NONE;
    case 'C': return strcmp(op, "ControlTrigger") == 0 ? FY_FLOW_TRIGGER : FY_FLOW_NONE;
    default: return FY_FLOW_NONE;
  }
}

bool fy_flow_any(const fy_graph *g) {
  for (size_t i = 0; i < g->num_nodes; i++) {
    if (!g->nodes[i]) continue;
    fy_flow_kind k = fy_flow_kind_of(g->nodes[i]);
    // A trigger by itself changes nothing.
    if (k != FY_FLOW_NONE && k != FY_FLOW_TRIGGER) return true;
  }
  return false;
}

void fy_flow_info_free(fy_flow_info *f) {
  fy_free(f->frames);
  fy_arena_free(&f->arena);
}

// ------------------------------------------------------------------ frames
static fy_code frame_of_enter(analyser *a, const fy_node *node, uint32_t parent, uint32_t *out,
                              fy_error *err) {
  fy_flow_info *f = a->f;
  const fy_attr *name = fy_attrs_get(&node->attrs, "frame_name");
  const fy_attr *parallel = fy_attrs_get(&node->attrs, "parallel_iterations");
  if (!name || name->kind != FY_ATTR_STRING || name->is_list)
    return fy_fail(err, FY_INVALID_ARGUMENT, "{{node %s}} has no attribute frame_name", node->name);
  uint32_t k = 1;
  while (k < f->num_frames &&
         (f->frames[k].parent != parent || !fy_view_is(name->v.s, f->frames[k].name)))
    k++;
  if (k == f->num_frames) {
    if (!fy_grow(&f->frames, &a->cap_frames, f->num_frames + 1, sizeof *f->frames))
      return fy_fail_oom(err, sizeof *f->frames);
    f->frames[k] = (fy_flow_frame){.name = fy_arena_strndup(&f->arena, name->v.s.p, name->v.s.n),
                                   .parent = parent};
    if (!f->frames[k].name) return fy_fail_oom(err, name->v.s.n);
    f->num_frames++;
  }
  f->frames[k].num_enters++;
  // TensorFlow takes the number from the Enter that comes first.
  if (!f->frames[k].parallel)
    f->frames[k].parallel = parallel && parallel->kind == FY_ATTR_INT ? parallel->v.i : 10;
  *out = k;
  return FY_OK;
}

static fy_node *edge_from(const fy_node *node, uint32_t i, int *output) {
  *output = i < node->num_inputs ? node->inputs[i].index : -1;
  return i < node->num_inputs ? node->inputs[i].node : node->controls[i - node->num_inputs];
}

// The frame of what |from| gives to |to|, as far as the walk below has come.
static uint32_t leads_to(const analyser *a, const fy_node *from, const uint32_t *frame) {
  const fy_flow_kind kind = a->f->nodes[from->id].kind;
  if (kind == FY_FLOW_EXIT) return a->f->frames[frame[from->id]].parent;
  return kind == FY_FLOW_ENTER ? a->f->nodes[from->id].out_frame : frame[from->id];
}

// Frames do not fit. TensorFlow walks the graph breadth first and names the first contradiction it
// meets: the input that it came by, and the one that it had reached the node by before.
static fy_code explain_mixed(const analyser *a, fy_error *err) {
  const fy_graph *g = a->g;
  fy_arena *ar = &a->f->arena;
  const fy_node **queue = fy_arena_array(ar, g->num_nodes + 1, sizeof *queue);
  const fy_node **by = fy_arena_array(ar, g->num_nodes + 1, sizeof *by);
  uint32_t *frame = fy_arena_array(ar, g->num_nodes + 1, sizeof *frame);
  uint8_t *seen = fy_arena_array(ar, g->num_nodes + 1, 1);
  size_t head = 0, tail = 0;
  if (!queue || !by || !frame || !seen) return fy_fail_oom(err, g->num_nodes * sizeof *queue);
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (!n || n->num_inputs + n->num_controls) continue;
    seen[n->id] = 1;
    queue[tail++] = n;
  }
  while (head < tail) {
    const fy_node *from = queue[head++];
    const uint32_t now = leads_to(a, from, frame);
    for (uint32_t o = 0; o <= from->num_outputs; o++) {
      const bool controls = o == from->num_outputs;
      for (uint32_t k = 0; k < (controls ? from->num_control_outs : from->outputs[o].num_uses);
           k++) {
        const fy_node *to = controls ? from->control_outs[k] : from->outputs[o].uses[k].node;
        if (!seen[to->id]) {
          seen[to->id] = 1;
          frame[to->id] = now;
          by[to->id] = from;
          queue[tail++] = to;
        } else if (frame[to->id] != now) {
          return fy_fail(
              err, FY_INVALID_ARGUMENT,
              "{{node %s}} has inputs from different frames. The input {{node %s}} is in "
              "frame '%s'. The input {{node %s}} is in frame '%s'.",
              to->name, from->name, a->f->frames[now].name,
              by[to->id] ? by[to->id]->name : to->name, a->f->frames[frame[to->id]].name);
        }
      }
    }
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "a node has inputs from different frames");
}

static fy_code set_frame(analyser *a, const fy_node *node, bool *mixed, fy_error *err) {
  fy_flow_node *n = &a->f->nodes[node->id];
  const fy_node *first = NULL;
  for (uint32_t i = 0; i < node->num_inputs + node->num_controls; i++) {
    int output;
    const fy_node *from = edge_from(node, i, &output);
    if (fy_graph_is_back_edge(from, node)) continue;
    if (!first) first = from;
    *mixed |= a->f->nodes[from->id].out_frame != a->f->nodes[first->id].out_frame;
  }
  n->frame = n->out_frame = first ? a->f->nodes[first->id].out_frame : 0;
  if (n->kind == FY_FLOW_ENTER) return frame_of_enter(a, node, n->frame, &n->out_frame, err);
  if (n->kind == FY_FLOW_EXIT) n->out_frame = a->f->frames[n->frame].parent;
  if (n->kind == FY_FLOW_EXIT && n->frame == 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "{{node %s}} leaves a frame that was not entered",
                   node->name);
  return FY_OK;
}

// Back edges stay in their frame.
static bool back_edges_fit(const analyser *a) {
  for (size_t i = 0; i < a->f->n; i++) {
    const fy_node *node = a->f->order[i];
    for (uint32_t k = 0; k < node->num_inputs; k++) {
      const fy_node *from = node->inputs[k].node;
      if (fy_graph_is_back_edge(from, node) &&
          a->f->nodes[from->id].out_frame != a->f->nodes[node->id].frame)
        return false;
    }
  }
  return true;
}

// ------------------------------------------------------------------ conditions
static fy_code intern(analyser *a, const uint32_t *lits, uint32_t n, uint32_t *out, fy_error *err) {
  if (!n) {
    *out = 0;
    return FY_OK;
  }
  void *known = fy_map_get(&a->cond_of, (const char *)lits, n * sizeof *lits);
  if (known) {
    *out = (uint32_t)(uintptr_t)known;
    return FY_OK;
  }
  uint32_t *kept = fy_arena_memdup(&a->f->arena, lits, n * sizeof *lits);
  if (!kept || !fy_grow(&a->conds, &a->cap_conds, a->num_conds + 1, sizeof *a->conds) ||
      !fy_map_put(&a->cond_of, (const char *)kept, n * sizeof *kept, (void *)a->num_conds))
    return fy_fail_oom(err, n * sizeof *lits);
  a->conds[a->num_conds] = (cond){kept, n};
  *out = (uint32_t)a->num_conds++;
  return FY_OK;
}

static fy_code literal_number(analyser *a, const literal *l, uint32_t *out, fy_error *err) {
  void *known = fy_map_get(&a->literal_of, (const char *)l, sizeof *l);
  if (known) {
    *out = (uint32_t)(uintptr_t)known - 1;
    return FY_OK;
  }
  literal *kept = fy_arena_memdup(&a->f->arena, l, sizeof *l);
  if (!kept || !fy_grow(&a->literals, &a->cap_literals, a->num_literals + 1, sizeof *a->literals) ||
      !fy_map_put(&a->literal_of, (const char *)kept, sizeof *kept, (void *)(a->num_literals + 1)))
    return fy_fail_oom(err, sizeof *l);
  a->literals[a->num_literals] = *l;
  *out = (uint32_t)a->num_literals++;
  return FY_OK;
}

static fy_code unite(analyser *a, uint32_t x, uint32_t y, uint32_t *out, fy_error *err) {
  if (x == y || !y || !x) {
    *out = x ? x : y;
    return FY_OK;
  }
  const cond *p = &a->conds[x], *q = &a->conds[y];
  uint32_t *all = fy_malloc((p->n + q->n) * sizeof *all), n = 0, i = 0, k = 0;
  if (!all) return fy_fail_oom(err, (p->n + q->n) * sizeof *all);
  while (i < p->n || k < q->n) {
    if (k == q->n || (i < p->n && p->lits[i] < q->lits[k])) {
      all[n++] = p->lits[i++];
    } else {
      if (i < p->n && p->lits[i] == q->lits[k]) i++;
      all[n++] = q->lits[k++];
    }
  }
  fy_code code = intern(a, all, n, out, err);
  fy_free(all);
  return code;
}

static fy_code with_literal(analyser *a, uint32_t base, const literal *l, uint32_t *out,
                            fy_error *err) {
  uint32_t lit, single;
  FY_TRY(literal_number(a, l, &lit, err));
  FY_TRY(intern(a, &lit, 1, &single, err));
  return unite(a, base, single, out, err);
}

static uint32_t value_cond(const analyser *a, fy_output o) {
  const uint32_t *outs = a->out_cond[o.node->id];
  return outs ? outs[o.index] : a->f->nodes[o.node->id].cond;
}

static fy_code inputs_cond(analyser *a, const fy_node *node, uint32_t *out, fy_error *err) {
  *out = 0;
  for (uint32_t i = 0; i < node->num_inputs; i++)
    FY_TRY(unite(a, *out, value_cond(a, node->inputs[i]), out, err));
  for (uint32_t i = 0; i < node->num_controls; i++)
    FY_TRY(unite(a, *out, a->f->nodes[node->controls[i]->id].cond, out, err));
  return FY_OK;
}

static fy_code switch_cond(analyser *a, const fy_node *node, fy_error *err) {
  fy_flow_node *n = &a->f->nodes[node->id];
  uint32_t *outs = fy_arena_array(&a->f->arena, node->num_outputs + 1, sizeof *outs);
  if (!outs) return fy_fail_oom(err, node->num_outputs * sizeof *outs);
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    literal l;
    memset(&l, 0, sizeof l);
    l.node = node->inputs[1].node->id;
    l.output = node->inputs[1].index;
    l.branch = i;
    l.branches = node->num_outputs;
    l.frame = n->frame;
    FY_TRY(with_literal(a, n->cond, &l, &outs[i], err));
  }
  a->out_cond[node->id] = outs;
  return FY_OK;
}

// Nothing can be said about when this node has something.
static fy_code open_cond(analyser *a, const fy_node *node, uint32_t frame, uint32_t *out,
                         fy_error *err) {
  literal l;
  memset(&l, 0, sizeof l);
  l.node = node->id;
  l.frame = frame;
  return with_literal(a, 0, &l, out, err);
}

static bool has_literal(const cond *c, uint32_t lit) {
  for (uint32_t i = 0; i < c->n; i++)
    if (c->lits[i] == lit) return true;
  return false;
}

// If the inputs of a Merge are the branches of one predicate under one common condition, that
// condition; else false. |base| has room for the literals of the first input.
static bool closes(const analyser *a, const fy_node *node, uint32_t *base, uint32_t *n) {
  const cond *first = &a->conds[value_cond(a, node->inputs[0])];
  *n = 0;
  for (uint32_t i = 0; i < first->n; i++) {
    bool everywhere = true;
    for (uint32_t k = 1; k < node->num_inputs && everywhere; k++)
      everywhere = has_literal(&a->conds[value_cond(a, node->inputs[k])], first->lits[i]);
    if (everywhere) base[(*n)++] = first->lits[i];
  }
  uint64_t seen = 0;
  const literal *l0 = NULL;
  for (uint32_t k = 0; k < node->num_inputs; k++) {
    const cond *c = &a->conds[value_cond(a, node->inputs[k])];
    if (c->n == *n) return true;  // this input is there whenever the common condition holds
    if (c->n != *n + 1) return false;
    uint32_t own = 0;
    while (own < *n && c->lits[own] == base[own]) own++;
    const literal *l = &a->literals[c->lits[own]];
    if (!l0) l0 = l;
    if (!l->branches || l->branches != node->num_inputs || l->branches > 64 ||
        l->node != l0->node || l->output != l0->output || (seen >> l->branch & 1))
      return false;
    seen |= 1ull << l->branch;
  }
  return true;
}

static fy_code merge_cond(analyser *a, const fy_node *node, uint32_t *out, fy_error *err) {
  uint32_t forward = 0, last = 0;
  bool back = false;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    if (fy_graph_is_back_edge(node->inputs[i].node, node)) {
      back = true;
    } else {
      forward++;
      last = i;
    }
  }
  // A loop's head: what comes round is never dead, so it is there when the loop was entered.
  if (back && forward == 1) {
    *out = value_cond(a, node->inputs[last]);
    return FY_OK;
  }
  if (back) return open_cond(a, node, a->f->nodes[node->id].frame, out, err);
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    if (value_cond(a, node->inputs[i])) continue;
    *out = 0;
    return FY_OK;
  }
  uint32_t n, *base = fy_malloc((a->conds[value_cond(a, node->inputs[0])].n + 1) * sizeof *base);
  if (!base) return fy_fail_oom(err, sizeof *base);
  fy_code code = closes(a, node, base, &n)
                     ? intern(a, base, n, out, err)
                     : open_cond(a, node, a->f->nodes[node->id].frame, out, err);
  fy_free(base);
  return code;
}

// What leaves a loop by the false side of its LoopCond is there when the loop was entered.
static fy_code exit_cond(analyser *a, const fy_node *node, uint32_t in, uint32_t *out,
                         fy_error *err) {
  const uint32_t frame = a->f->nodes[node->id].frame;
  const cond *c = &a->conds[in];
  uint32_t n = 0, *kept = fy_malloc((c->n + 1) * sizeof *kept);
  if (!kept) return fy_fail_oom(err, sizeof *kept);
  bool open = false, by_loop_cond = false;
  for (uint32_t i = 0; i < c->n; i++) {
    const literal *l = &a->literals[c->lits[i]];
    if (l->frame != frame)
      kept[n++] = c->lits[i];
    else if (l->branches == 2 && l->branch == 0 && a->f->nodes[l->node].kind == FY_FLOW_LOOP_COND &&
             !by_loop_cond)
      by_loop_cond = true;
    else
      open = true;
  }
  fy_code code = open || !by_loop_cond
                     ? open_cond(a, node, a->f->nodes[node->id].out_frame, out, err)
                     : intern(a, kept, n, out, err);
  fy_free(kept);
  return code;
}

static fy_code set_cond(analyser *a, const fy_node *node, fy_error *err) {
  fy_flow_node *n = &a->f->nodes[node->id];
  for (uint32_t i = 0; i < node->num_inputs + node->num_controls; i++) {
    const fy_node *from =
        i < node->num_inputs ? node->inputs[i].node : node->controls[i - node->num_inputs];
    if (fy_graph_is_back_edge(from, node)) continue;
    const fy_flow_node *f = &a->f->nodes[from->id];
    uint32_t depth = f->depth + (f->kind != FY_FLOW_NONE);
    if (depth > n->depth) n->depth = depth;
  }
  if (n->kind == FY_FLOW_MERGE) return merge_cond(a, node, &n->cond, err);
  if (n->kind == FY_FLOW_TRIGGER) return FY_OK;  // always
  FY_TRY(inputs_cond(a, node, &n->cond, err));
  if (n->kind == FY_FLOW_SWITCH) return switch_cond(a, node, err);
  if (n->kind == FY_FLOW_EXIT) return exit_cond(a, node, n->cond, &n->cond, err);
  return FY_OK;
}

// ------------------------------------------------------------------ regions
typedef struct component {
  uint32_t index, low;
  bool on_stack;
} component;

static uint32_t root_of(uint32_t *parent, uint32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

static bool belongs(const fy_flow_node *n) {
  return (n->kind != FY_FLOW_NONE && n->kind != FY_FLOW_TRIGGER) || n->cond || n->frame;
}

// Is the value or the control signal of |from| anything that only the interpreter can handle?
static bool carries_flow(const analyser *a, const fy_node *from, int output) {
  const fy_flow_node *n = &a->f->nodes[from->id];
  if (n->out_frame) return true;
  return output >= 0 ? value_cond(a, (fy_output){(fy_node *)(uintptr_t)from, output}) != 0
                     : n->cond != 0 || n->frame != 0;
}

// Tarjan's strongly connected components over the groups that |parent| describes, iteratively. Nodes of
// a group are linked through |next|.
typedef struct walk {
  uint32_t group, node, edge;
} walk;

static fy_code join_cycles(analyser *a, uint32_t *parent, fy_error *err) {
  const fy_graph *g = a->g;
  fy_arena *ar = &a->f->arena;
  size_t n = g->num_nodes;
  component *c = fy_arena_array(ar, n + 1, sizeof *c);
  uint32_t *next = fy_arena_alloc(ar, (n + 1) * sizeof *next);
  uint32_t *head = fy_arena_alloc(ar, (n + 1) * sizeof *head);
  uint32_t *stack = fy_arena_alloc(ar, (n + 1) * sizeof *stack);
  uint32_t *of = fy_arena_alloc(ar, (n + 1) * sizeof *of);
  walk *w = fy_arena_alloc(ar, (n + 1) * sizeof *w);
  if (!c || !next || !head || !stack || !of || !w) return fy_fail_oom(err, n * sizeof *w);
  for (size_t i = 0; i < n; i++) head[i] = NO_PRED;
  for (size_t i = 0; i < n; i++) {
    if (!g->nodes[i]) continue;
    of[i] = root_of(parent, (uint32_t)i);
    next[i] = head[of[i]];
    head[of[i]] = (uint32_t)i;
  }
  uint32_t counter = 0;
  size_t top = 0;
  for (size_t i = 0; i < n; i++) {
    if (!g->nodes[i] || c[of[i]].index) continue;
    size_t depth = 0;
    w[depth++] = (walk){of[i], head[of[i]], 0};
    counter++;
    c[of[i]] = (component){counter, counter, true};
    stack[top++] = of[i];
    while (depth) {
      walk *t = &w[depth - 1];
      component *me = &c[t->group];
      if (t->node == NO_PRED) {
        if (me->low == me->index) {
          uint32_t v;
          do {
            v = stack[--top];
            c[v].on_stack = false;
            parent[root_of(parent, v)] = root_of(parent, t->group);
          } while (v != t->group);
        }
        depth--;
        if (depth && me->low < c[w[depth - 1].group].low) c[w[depth - 1].group].low = me->low;
        continue;
      }
      const fy_node *node = g->nodes[t->node];
      if (t->edge == node->num_inputs + node->num_controls) {
        t->node = next[t->node];
        t->edge = 0;
        continue;
      }
      int output;
      uint32_t to = of[edge_from(node, t->edge++, &output)->id];
      if (!c[to].index) {
        counter++;
        c[to] = (component){counter, counter, true};
        stack[top++] = to;
        w[depth++] = (walk){to, head[to], 0};
      } else if (c[to].on_stack && c[to].index < me->low) {
        me->low = c[to].index;
      }
    }
  }
  return FY_OK;
}

static fy_code make_regions(analyser *a, fy_error *err) {
  const fy_graph *g = a->g;
  fy_flow_info *f = a->f;
  uint32_t *parent = fy_arena_alloc(&f->arena, (g->num_nodes + 1) * sizeof *parent);
  uint32_t *number = fy_arena_array(&f->arena, g->num_nodes + 1, sizeof *number);
  if (!parent || !number) return fy_fail_oom(err, g->num_nodes * sizeof *parent);
  uint32_t *enter = fy_arena_array(&f->arena, f->num_frames, sizeof *enter);  // node id + 1
  if (!enter) return fy_fail_oom(err, f->num_frames * sizeof *enter);
  for (size_t i = 0; i < g->num_nodes; i++) parent[i] = (uint32_t)i;
  for (size_t i = 0; i < f->n; i++) {
    const fy_node *node = f->order[i];
    if (f->nodes[node->id].kind == FY_FLOW_ENTER) {  // a frame waits for all its Enter nodes
      uint32_t *first = &enter[f->nodes[node->id].out_frame];
      if (*first) parent[root_of(parent, node->id)] = root_of(parent, *first - 1);
      *first = node->id + 1;
    }
    for (uint32_t k = 0; k < node->num_inputs + node->num_controls; k++) {
      int output;
      const fy_node *from = edge_from(node, k, &output);
      if (carries_flow(a, from, output))
        parent[root_of(parent, node->id)] = root_of(parent, from->id);
    }
  }
  FY_TRY(join_cycles(a, parent, err));
  for (size_t i = 0; i < f->n; i++)
    if (belongs(&f->nodes[f->order[i]->id])) number[root_of(parent, f->order[i]->id)] = 1;
  for (size_t i = 0; i < f->n; i++) {
    uint32_t root = root_of(parent, f->order[i]->id);
    if (number[root] == 1) number[root] = ++f->num_regions + 1;
    if (number[root]) f->nodes[f->order[i]->id].region = number[root] - 1;
  }
  return FY_OK;
}

fy_code fy_flow_analyse(const fy_graph *g, fy_flow_info *out, fy_error *err) {
  *out = (fy_flow_info){0};
  fy_arena_init(&out->arena);
  analyser a = {.g = g, .f = out};
  fy_map_init(&a.cond_of);
  fy_map_init(&a.literal_of);
  out->nodes = fy_arena_array(&out->arena, g->num_nodes + 1, sizeof *out->nodes);
  a.out_cond = fy_arena_array(&out->arena, g->num_nodes + 1, sizeof *a.out_cond);
  fy_code code = FY_OK;
  if (!out->nodes || !a.out_cond || !fy_grow(&out->frames, &a.cap_frames, 1, sizeof *out->frames) ||
      !fy_grow(&a.conds, &a.cap_conds, 1, sizeof *a.conds))
    code = fy_fail_oom(err, g->num_nodes * sizeof *out->nodes);
  if (!code) {
    out->frames[out->num_frames++] = (fy_flow_frame){.name = "", .parallel = 1};
    a.conds[a.num_conds++] = (cond){NULL, 0};
    code = fy_graph_order(g, &out->arena, &out->order, &out->n, err);
  }
  bool mixed = false;
  for (size_t i = 0; !code && i < out->n; i++) {
    out->nodes[out->order[i]->id].kind = fy_flow_kind_of(out->order[i]);
    code = set_frame(&a, out->order[i], &mixed, err);
  }
  if (!code && (mixed || !back_edges_fit(&a))) code = explain_mixed(&a, err);
  for (size_t i = 0; !code && i < out->n; i++) code = set_cond(&a, out->order[i], err);
  if (!code) code = make_regions(&a, err);
  fy_map_free(&a.cond_of);
  fy_map_free(&a.literal_of);
  fy_free(a.literals);
  fy_free(a.conds);
  return code;
}

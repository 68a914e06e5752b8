// SPDX-License-Identifier: Apache-2.0
// frames_build.c: cuts regions with TensorFlow 1's control flow out of a program's graph and makes plans
// for the interpreter of them (frames.h).

#include <string.h>

#include "base/alloc.h"
#include "execute/frames.h"
#include "graph/function.h"

#define MAX_PARALLEL 1024  // iterations under way at once: more changes nothing but memory

typedef struct list {  // of 32-bit numbers
  uint32_t *at;
  size_t n, cap;
} list;

typedef struct outputs {
  fy_output *at;
  size_t n, cap;
} outputs;

typedef struct wire {  // an edge between items, before they are sorted by where they begin
  uint32_t from, output;
  fy_edge edge;
} wire;

typedef struct body {  // of an item that is a callable
  list nodes;          // ids, inputs first
  outputs args, results;
} body;

typedef struct builder {
  fy_compile_args *a;
  fy_graph *g;
  const fy_flow_info *info;
  size_t known;  // ids below this have entries in |info|
  uint32_t region;
  const int *ranks;  // [fetches] places in the order of names
  fy_frames *f;
  fy_arena *scratch;
  uint32_t *item_of;  // [known]
  fy_node **copy_of;  // [known] in f->graph
  body *bodies;       // [items]
  size_t cap_items, cap_bodies;
  wire *wires;
  size_t num_wires, cap_wires;
  struct {
    uint32_t from, to;
  } * controls;
  size_t num_controls, cap_controls;
  fy_map clusters, control_seen;
  outputs args, results;  // of the region
  list arg_wires;         // triples: arg, item, slot
  fy_node **members;
  size_t num_members, cap_members;
  fy_node **waits;  // plain nodes that the region waits for
  size_t num_waits, cap_waits;
} builder;

static bool add_number(list *l, uint32_t v) {
  if (!fy_grow(&l->at, &l->cap, l->n + 1, sizeof *l->at)) return false;
  l->at[l->n++] = v;
  return true;
}

// The place of |o| in the list, which grows if need be.
static fy_code place_of(outputs *l, fy_output o, uint32_t *out, bool *fresh, fy_error *err) {
  for (size_t i = 0; i < l->n; i++)
    if (l->at[i].node == o.node && l->at[i].index == o.index) {
      *out = (uint32_t)i;
      *fresh = false;
      return FY_OK;
    }
  if (!fy_grow(&l->at, &l->cap, l->n + 1, sizeof *l->at)) return fy_fail_oom(err, sizeof *l->at);
  l->at[l->n] = o;
  *out = (uint32_t)l->n++;
  *fresh = true;
  return FY_OK;
}

static bool is_member(const builder *b, const fy_node *n) {
  return n->id < b->known && b->info->nodes[n->id].region == b->region;
}

static bool is_callable(const builder *b, uint32_t item) {
  return b->f->items[item].kind == FY_FLOW_NONE;
}

// A constant from outside is copied into every body that reads it: kernels can be prepared for it.
static bool is_free_constant(const builder *b, const fy_node *n) {
  return !is_member(b, n) && n->const_value && n->num_controls == 0;
}

// The constant that |src| is for all iterations of all loops around, or NULL.
static const fy_node *constant_behind(const builder *b, fy_output src) {
  const fy_node *n = src.node;
  for (;;) {
    if (is_free_constant(b, n)) return n;
    if (!is_member(b, n) || b->info->nodes[n->id].kind != FY_FLOW_ENTER || n->num_controls ||
        !b->f->items[b->item_of[n->id]].is_constant)
      return NULL;
    n = n->inputs[0].node;
  }
}

// ------------------------------------------------------------------ items
static fy_code new_item(builder *b, fy_node *node, uint32_t *out, fy_error *err) {
  fy_frames *f = b->f;
  const fy_flow_node *n = &b->info->nodes[node->id];
  if (!fy_grow(&f->items, &b->cap_items, f->num_items + 1, sizeof *f->items) ||
      !fy_grow(&b->bodies, &b->cap_bodies, f->num_items + 1, sizeof *b->bodies))
    return fy_fail_oom(err, sizeof *f->items);
  fy_item *item = &f->items[f->num_items];
  *item = (fy_item){.kind = n->kind, .frame = n->frame, .out_frame = n->out_frame, .node = node};
  b->bodies[f->num_items] = (body){0};
  if (n->kind != FY_FLOW_NONE) {
    item->num_in = node->num_inputs;
    item->num_out = node->num_outputs;
  }
  if (n->kind == FY_FLOW_ENTER) {
    const fy_attr *c = fy_attrs_get(&node->attrs, "is_constant");
    item->is_constant = c && c->kind == FY_ATTR_BOOL && c->v.b;
  }
  *out = f->num_items++;
  return FY_OK;
}

static fy_code item_for(builder *b, fy_node *node, fy_error *err) {
  const fy_flow_node *n = &b->info->nodes[node->id];
  uint32_t item;
  if (n->kind != FY_FLOW_NONE) {
    FY_TRY(new_item(b, node, &item, err));
  } else {
    const uint32_t key[3] = {n->frame, n->cond, n->depth};
    void *known = fy_map_get(&b->clusters, (const char *)key, sizeof key);
    if (known) {
      item = (uint32_t)(uintptr_t)known - 1;
    } else {
      FY_TRY(new_item(b, node, &item, err));
      const char *kept = fy_arena_memdup(b->scratch, key, sizeof key);
      if (!kept || !fy_map_put(&b->clusters, kept, sizeof key, (void *)((uintptr_t)item + 1)))
        return fy_fail_oom(err, sizeof key);
    }
    if (!add_number(&b->bodies[item].nodes, node->id)) return fy_fail_oom(err, sizeof item);
  }
  b->item_of[node->id] = item;
  if (!fy_grow(&b->members, &b->cap_members, b->num_members + 1, sizeof *b->members))
    return fy_fail_oom(err, sizeof *b->members);
  b->members[b->num_members++] = node;
  return FY_OK;
}

// ------------------------------------------------------------------ edges
static fy_code connect(builder *b, uint32_t from, uint32_t output, fy_edge edge, fy_error *err) {
  if (!fy_grow(&b->wires, &b->cap_wires, b->num_wires + 1, sizeof *b->wires))
    return fy_fail_oom(err, sizeof *b->wires);
  b->wires[b->num_wires++] = (wire){from, output, edge};
  return FY_OK;
}

// The number of |src| among the outputs of its item.
static fy_code output_number(builder *b, fy_output src, uint32_t *out, fy_error *err) {
  uint32_t item = b->item_of[src.node->id];
  bool fresh;
  *out = (uint32_t)src.index;
  return is_callable(b, item) ? place_of(&b->bodies[item].results, src, out, &fresh, err) : FY_OK;
}

static fy_code wire_control(builder *b, const fy_node *node, fy_node *from, fy_error *err) {
  if (!is_member(b, from)) {
    for (size_t i = 0; i < b->num_waits; i++)
      if (b->waits[i] == from) return FY_OK;
    if (!fy_grow(&b->waits, &b->cap_waits, b->num_waits + 1, sizeof *b->waits))
      return fy_fail_oom(err, sizeof *b->waits);
    b->waits[b->num_waits++] = from;
    return FY_OK;
  }
  uint32_t pair[2] = {b->item_of[from->id], b->item_of[node->id]};
  if (pair[0] == pair[1] || fy_map_get(&b->control_seen, (const char *)pair, sizeof pair))
    return FY_OK;
  const char *kept = fy_arena_memdup(b->scratch, pair, sizeof pair);
  if (!kept || !fy_map_put(&b->control_seen, kept, sizeof pair, (void *)1) ||
      !fy_grow(&b->controls, &b->cap_controls, b->num_controls + 1, sizeof *b->controls))
    return fy_fail_oom(err, sizeof pair);
  b->controls[b->num_controls].from = pair[0];
  b->controls[b->num_controls++].to = pair[1];
  b->f->items[pair[1]].num_controls++;
  return FY_OK;
}

static fy_code wire_input(builder *b, const fy_node *node, uint32_t k, fy_error *err) {
  uint32_t item = b->item_of[node->id], slot = k, output;
  const fy_output src = node->inputs[k];
  const bool inside = is_member(b, src.node), calls = is_callable(b, item);
  bool fresh = true;
  if (inside && calls && b->item_of[src.node->id] == item) return FY_OK;
  const fy_node *constant = calls ? constant_behind(b, src) : NULL;
  // What enters a loop still says when an iteration begins.
  if (constant) return constant == src.node ? FY_OK : wire_control(b, node, src.node, err);
  if (calls) FY_TRY(place_of(&b->bodies[item].args, src, &slot, &fresh, err));
  if (!fresh) return FY_OK;
  if (inside) {
    FY_TRY(output_number(b, src, &output, err));
    return connect(b, b->item_of[src.node->id], output, (fy_edge){item, slot}, err);
  }
  uint32_t arg;
  FY_TRY(place_of(&b->args, src, &arg, &fresh, err));
  if (!add_number(&b->arg_wires, arg) || !add_number(&b->arg_wires, item) ||
      !add_number(&b->arg_wires, slot))
    return fy_fail_oom(err, sizeof arg);
  return FY_OK;
}

static int fetch_index(const builder *b, fy_output o) {
  for (int i = 0; i < b->a->num_fetches; i++)
    if (b->a->fetches[i].node == o.node && b->a->fetches[i].index == o.index) return i;
  return -1;
}

// TensorFlow counts fetches in the order of their names.
static int fetch_number(const int *ranks, int fetch) {
  return fetch < 0 ? -1 : ranks[fetch];
}

static fy_code wire_results(builder *b, fy_node *node, fy_error *err) {
  for (uint32_t o = 0; o < node->num_outputs; o++) {
    const fy_output out = {node, (int32_t)o};
    bool wanted = fetch_index(b, out) >= 0, fresh;
    for (uint32_t i = 0; !wanted && i < node->outputs[o].num_uses; i++)
      wanted = !is_member(b, node->outputs[o].uses[i].node);
    uint32_t result, output;
    if (!wanted) continue;
    FY_TRY(place_of(&b->results, out, &result, &fresh, err));
    FY_TRY(output_number(b, out, &output, err));
    FY_TRY(connect(b, b->item_of[node->id], output, (fy_edge){FY_ITEM_RESULT, result}, err));
  }
  return FY_OK;
}

static fy_code wire_all(builder *b, fy_error *err) {
  for (size_t i = 0; i < b->num_members; i++) {
    fy_node *node = b->members[i];
    for (uint32_t k = 0; k < node->num_inputs; k++) FY_TRY(wire_input(b, node, k, err));
    for (uint32_t k = 0; k < node->num_controls; k++)
      FY_TRY(wire_control(b, node, node->controls[k], err));
    FY_TRY(wire_results(b, node, err));
  }
  return FY_OK;
}

// ------------------------------------------------------------------ bodies
static fy_code add_arg(builder *b, uint32_t item, uint32_t k, fy_output src, fy_node **out,
                       fy_error *err) {
  fy_graph *to = b->f->graph;
  fy_attrs attrs = {0};
  const fy_node_out *o = &src.node->outputs[src.index];
  fy_dtype dtype = o->dtype;
  fy_attr t = fy_attr_type(fy_dtype_base(dtype)), index = fy_attr_int(k);
  FY_TRY(fy_attrs_set(&attrs, &to->arena, "T", &t, err));
  FY_TRY(fy_attrs_set(&attrs, &to->arena, "index", &index, err));
  char *name = fy_arena_printf(&to->arena, "_flow_%u_arg_%u", item, k);
  if (!name) return fy_fail_oom(err, 32);
  FY_TRY(fy_graph_add_raw(to, "_Arg", name, "", &attrs, NULL, 0, NULL, 0, &dtype, 1, out, err));
  (*out)->outputs[0].handle = o->handle;
  const char **origin = fy_arena_alloc(&to->arena, sizeof *origin);
  if (!origin) return fy_fail_oom(err, sizeof *origin);
  origin[0] = src.node->name;
  (*out)->origins = origin;
  (*out)->num_origins = 1;
  return FY_OK;
}

// A node of a body shares name and attributes with the one that it is a copy of: the program's graph
// keeps those alive.
static fy_code copy_node(builder *b, const fy_node *node, fy_node **out, fy_error *err) {
  fy_arena *ar = &b->f->graph->arena;
  fy_node *n = fy_arena_alloc(ar, sizeof *n);
  if (!n) return fy_fail_oom(err, sizeof *n);
  *n = *node;
  n->graph = b->f->graph;
  n->num_control_outs = n->cap_control_outs = 0;
  n->control_outs = NULL;
  n->mark = 0;
  n->inputs = fy_arena_array(ar, node->num_inputs + 1, sizeof *n->inputs);
  n->outputs = fy_arena_array(ar, node->num_outputs + 1, sizeof *n->outputs);
  n->controls = fy_arena_array(ar, node->num_controls + 1, sizeof *n->controls);
  if (!n->inputs || !n->outputs || !n->controls) return fy_fail_oom(err, sizeof *n);
  n->num_controls = 0;
  n->cap_controls = node->num_controls;
  for (uint32_t i = 0; i < node->num_outputs; i++)
    n->outputs[i] = (fy_node_out){
        .dtype = node->outputs[i].dtype, .shape = {-1, NULL}, .handle = {FY_INVALID, {-1, NULL}}};
  *out = n;
  return FY_OK;
}

static fy_code body_input(builder *b, uint32_t item, fy_output src, fy_node *const *args,
                          fy_output *out, fy_error *err) {
  const body *y = &b->bodies[item];
  if (is_member(b, src.node) && b->item_of[src.node->id] == item) {
    *out = (fy_output){b->copy_of[src.node->id], src.index};
    return FY_OK;
  }
  const fy_node *constant = constant_behind(b, src);
  if (constant) {
    fy_node *c;
    FY_TRY(copy_node(b, constant, &c, err));
    FY_TRY(fy_graph_link(b->f->graph, c, err));
    *out = (fy_output){c, 0};
    return FY_OK;
  }
  for (size_t i = 0; i < y->args.n; i++)
    if (y->args.at[i].node == src.node && y->args.at[i].index == src.index)
      *out = (fy_output){args[i], 0};
  return FY_OK;
}

static fy_code copy_body(builder *b, uint32_t item, fy_output *feeds, fy_error *err) {
  const body *y = &b->bodies[item];
  fy_node **args = fy_arena_array(b->scratch, y->args.n + 1, sizeof *args);
  if (!args) return fy_fail_oom(err, y->args.n * sizeof *args);
  for (size_t i = 0; i < y->args.n; i++) {
    FY_TRY(add_arg(b, item, (uint32_t)i, y->args.at[i], &args[i], err));
    feeds[i] = (fy_output){args[i], 0};
  }
  for (size_t i = 0; i < y->nodes.n; i++) {
    const fy_node *node = b->g->nodes[y->nodes.at[i]];
    fy_node *n;
    FY_TRY(copy_node(b, node, &n, err));
    for (uint32_t k = 0; k < node->num_inputs; k++)
      FY_TRY(body_input(b, item, node->inputs[k], args, &n->inputs[k], err));
    for (uint32_t k = 0; k < node->num_controls; k++) {
      const fy_node *from = node->controls[k];
      if (is_member(b, from) && b->item_of[from->id] == item)
        n->controls[n->num_controls++] = b->copy_of[from->id];
    }
    FY_TRY(fy_graph_link(b->f->graph, n, err));
    b->copy_of[node->id] = n;
  }
  return FY_OK;
}

// Nodes that nothing else in the body stands for must be asked for by name.
static bool is_last(const fy_node *n) {
  for (uint32_t o = 0; o < n->num_outputs; o++)
    if (n->outputs[o].num_uses) return false;
  return n->num_control_outs == 0;
}

static fy_code make_callable(builder *b, uint32_t item, fy_error *err) {
  body *y = &b->bodies[item];
  fy_item *it = &b->f->items[item];
  fy_output *feeds = fy_arena_array(b->scratch, y->args.n + 1, sizeof *feeds);
  fy_output *fetches = fy_arena_array(b->scratch, y->results.n + 1, sizeof *fetches);
  fy_node **targets = fy_arena_array(b->scratch, y->nodes.n + 1, sizeof *targets);
  int num_targets = 0;
  if (!feeds || !fetches || !targets) return fy_fail_oom(err, y->nodes.n * sizeof *targets);
  FY_TRY(copy_body(b, item, feeds, err));
  for (size_t i = 0; i < y->results.n; i++)
    fetches[i] = (fy_output){b->copy_of[y->results.at[i].node->id], y->results.at[i].index};
  for (size_t i = 0; i < y->nodes.n; i++)
    if (is_last(b->copy_of[y->nodes.at[i]])) targets[num_targets++] = b->copy_of[y->nodes.at[i]];
  it->num_in = (uint32_t)y->args.n;
  it->num_out = (uint32_t)y->results.n;
  FY_TRY(fy_callable_new(b->f->graph, feeds, (int)y->args.n, fetches, (int)y->results.n, targets,
                         num_targets, b->a->devices, b->a->default_device, b->a->options,
                         b->a->callables, true, &it->call, err));
  fy_callable_keep_refs(it->call);
  return FY_OK;
}

// ------------------------------------------------------------------ the plan
static fy_code plan_frames(builder *b, fy_error *err) {
  fy_frames *f = b->f;
  f->num_frames = b->info->num_frames;
  f->frames = fy_arena_array(&f->arena, f->num_frames, sizeof *f->frames);
  if (!f->frames) return fy_fail_oom(err, f->num_frames * sizeof *f->frames);
  for (uint32_t i = 0; i < f->num_items; i++) {
    fy_item *item = &f->items[i];
    fy_frame_plan *p = &f->frames[item->frame];
    item->local = p->num_items++;
    item->in = p->num_inputs;
    p->num_inputs += item->num_in;
    if (item->num_in > f->max_io) f->max_io = item->num_in;
    if (item->num_out > f->max_io) f->max_io = item->num_out;
  }
  for (uint32_t i = 0; i < f->num_frames; i++) {
    const fy_flow_frame *from = &b->info->frames[i];
    fy_frame_plan *p = &f->frames[i];
    p->parent = from->parent;
    p->num_enters = i ? from->num_enters : 0;
    p->parallel = from->parallel < 1              ? 1
                  : from->parallel > MAX_PARALLEL ? MAX_PARALLEL
                                                  : from->parallel;
    p->items = fy_arena_array(&f->arena, p->num_items + 1, sizeof *p->items);
    if (!p->items) return fy_fail_oom(err, p->num_items * sizeof *p->items);
  }
  for (uint32_t i = 0; i < f->num_items; i++)
    f->frames[f->items[i].frame].items[f->items[i].local] = i;
  return FY_OK;
}

static fy_code plan_edges(builder *b, fy_error *err) {
  fy_frames *f = b->f;
  f->edges = fy_arena_array(&f->arena, b->num_wires + 1, sizeof *f->edges);
  f->control_edges = fy_arena_array(&f->arena, b->num_controls + 1, sizeof *f->control_edges);
  if (!f->edges || !f->control_edges) return fy_fail_oom(err, b->num_wires * sizeof *f->edges);
  for (uint32_t i = 0; i < f->num_items; i++) {
    f->items[i].edge_at = fy_arena_array(&f->arena, f->items[i].num_out + 2, sizeof(uint32_t));
    if (!f->items[i].edge_at) return fy_fail_oom(err, sizeof(uint32_t));
  }
  // Counting sort; edge_at[o + 1] first counts, then is where the next edge of output o goes.
  for (size_t i = 0; i < b->num_wires; i++)
    f->items[b->wires[i].from].edge_at[b->wires[i].output + 1]++;
  uint32_t at = 0;
  for (uint32_t i = 0; i < f->num_items; i++) {
    uint32_t *edge_at = f->items[i].edge_at;
    for (uint32_t o = 0; o < f->items[i].num_out; o++) {
      uint32_t n = edge_at[o + 1];
      edge_at[o + 1] = at;
      at += n;
    }
    edge_at[0] = f->items[i].num_out ? edge_at[1] : at;
  }
  for (size_t i = 0; i < b->num_wires; i++)
    f->edges[f->items[b->wires[i].from].edge_at[b->wires[i].output + 1]++] = b->wires[i].edge;
  for (size_t i = 0; i < b->num_controls; i++) f->items[b->controls[i].from].num_control_outs++;
  at = 0;
  for (uint32_t i = 0; i < f->num_items; i++) {
    f->items[i].controls_at = at;
    at += f->items[i].num_control_outs;
    f->items[i].num_control_outs = 0;
  }
  for (size_t i = 0; i < b->num_controls; i++) {
    fy_item *from = &f->items[b->controls[i].from];
    f->control_edges[from->controls_at + from->num_control_outs++] = b->controls[i].to;
  }
  return FY_OK;
}

static fy_code plan_ends(builder *b, fy_error *err) {
  fy_frames *f = b->f;
  size_t n = b->arg_wires.n / 3;
  f->num_args = (uint32_t)b->args.n;
  f->num_results = (uint32_t)b->results.n;
  f->arg_at = fy_arena_array(&f->arena, f->num_args + 2, sizeof *f->arg_at);
  f->arg_edges = fy_arena_array(&f->arena, n + 1, sizeof *f->arg_edges);
  f->fetch_of = fy_arena_array(&f->arena, f->num_results + 1, sizeof *f->fetch_of);
  f->result_of = fy_arena_array(&f->arena, f->num_results + 1, sizeof *f->result_of);
  if (!f->arg_at || !f->arg_edges || !f->fetch_of || !f->result_of)
    return fy_fail_oom(err, n * sizeof *f->arg_edges);
  const uint32_t *w = b->arg_wires.at;
  uint32_t at = 0;
  for (uint32_t arg = 0; arg < f->num_args; arg++) {
    f->arg_at[arg] = at;
    for (size_t i = 0; i < n; i++)
      if (w[3 * i] == arg) f->arg_edges[at++] = (fy_edge){w[3 * i + 1], w[3 * i + 2]};
  }
  f->arg_at[f->num_args] = at;
  for (uint32_t i = 0; i < f->num_results; i++) {
    f->fetch_of[i] = fetch_number(b->ranks, fetch_index(b, b->results.at[i]));
    f->result_of[i] = b->results.at[i].node;
  }
  return FY_OK;
}

// ------------------------------------------------------------------ surgery
static fy_code add_flow_node(builder *b, size_t number, fy_node **out, fy_error *err) {
  fy_arena *ar = &b->g->arena;
  fy_attrs attrs = {0};
  fy_attr tin, tout, flow = fy_attr_int((int64_t)number);
  FY_TRY(fy_graph_type_list(ar, b->args.at, b->args.n, &tin, err));
  FY_TRY(fy_graph_type_list(ar, b->results.at, b->results.n, &tout, err));
  FY_TRY(fy_attrs_set(&attrs, ar, "Tin", &tin, err));
  FY_TRY(fy_attrs_set(&attrs, ar, "Tout", &tout, err));
  FY_TRY(fy_attrs_set(&attrs, ar, "flow", &flow, err));
  fy_dtype *types = fy_arena_array(ar, b->results.n + 1, sizeof *types);
  const char **origins = fy_arena_array(ar, b->num_members + 1, sizeof *origins);
  char *base = fy_arena_printf(ar, "%s/flow", b->members[0]->name);
  const char *name = base ? fy_graph_unique_name(b->g, base) : NULL;
  if (!types || !origins || !name) return fy_fail_oom(err, b->num_members * sizeof *origins);
  for (size_t i = 0; i < b->results.n; i++)
    types[i] = b->results.at[i].node->outputs[b->results.at[i].index].dtype;
  for (size_t i = 0; i < b->num_members; i++) origins[i] = b->members[i]->name;
  FY_TRY(fy_graph_add_raw(b->g, "_FerryFlow", name, "", &attrs, b->args.at, (uint32_t)b->args.n,
                          b->waits, (uint32_t)b->num_waits, types, (uint32_t)b->results.n, out,
                          err));
  for (size_t i = 0; i < b->args.n; i++)  // references stay what they are
    (*out)->input_types[i] = b->args.at[i].node->outputs[b->args.at[i].index].dtype;
  (*out)->origins = origins;
  (*out)->num_origins = (uint32_t)b->num_members;
  (*out)->error_head = (*out)->error_tail = "";  // what fails inside has named itself
  for (size_t i = 0; i < b->results.n; i++) {
    const fy_node_out *o = &b->results.at[i].node->outputs[b->results.at[i].index];
    (*out)->outputs[i].shape = o->shape;
    (*out)->outputs[i].handle = o->handle;
  }
  return FY_OK;
}

static fy_code replace(builder *b, fy_node *flow, fy_error *err) {
  for (size_t i = 0; i < b->results.n; i++) {
    const fy_output old = b->results.at[i], now = {flow, (int32_t)i};
    fy_node_out *o = &old.node->outputs[old.index];
    for (uint32_t k = 0; k < o->num_uses;) {
      fy_use u = o->uses[k];
      if (is_member(b, u.node)) {
        k++;
        continue;
      }
      FY_TRY(
          fy_graph_set_input(b->g, u.node, (uint32_t)u.index, now, err));  // takes it out of uses
    }
    for (int k = 0; k < b->a->num_fetches; k++)
      if (b->a->fetches[k].node == old.node && b->a->fetches[k].index == old.index)
        b->a->fetches[k] = now;
  }
  for (size_t i = 0; i < b->num_members; i++) {
    fy_node *node = b->members[i];
    for (uint32_t k = 0; k < node->num_control_outs; k++)
      if (!is_member(b, node->control_outs[k]))
        FY_TRY(fy_graph_add_control(b->g, flow, node->control_outs[k], err));
    for (int k = 0; k < b->a->num_targets; k++)
      if (b->a->targets[k] == node) b->a->targets[k] = flow;
  }
  fy_graph_take_out(b->g, b->members, b->num_members);
  return FY_OK;
}

static void free_builder(builder *b) {
  for (uint32_t i = 0; b->f && i < b->f->num_items; i++) {
    fy_free(b->bodies[i].nodes.at);
    fy_free(b->bodies[i].args.at);
    fy_free(b->bodies[i].results.at);
  }
  fy_free(b->bodies);
  fy_free(b->wires);
  fy_free(b->controls);
  fy_free(b->args.at);
  fy_free(b->results.at);
  fy_free(b->arg_wires.at);
  fy_free(b->members);
  fy_free(b->waits);
  fy_map_free(&b->clusters);
  fy_map_free(&b->control_seen);
}

static fy_code new_frames(builder *b, fy_error *err) {
  fy_frames *f = b->f = fy_calloc(1, sizeof *f);
  if (!f) return fy_fail_oom(err, sizeof *f);
  fy_arena_init(&f->arena);
  f->graph = fy_graph_new();
  if (!f->graph) return fy_fail_oom(err, sizeof *f->graph);
  fy_funclib_unref(f->graph->functions);
  f->graph->functions = fy_funclib_ref(b->g->functions);
  f->graph->producer = b->g->producer;
  f->graph->body_of = b->g->body_of;
  f->graph->flat_errors = b->g->flat_errors;
  f->graph->min_consumer = b->g->min_consumer;
  return FY_OK;
}

static fy_code build_region(builder *b, fy_error *err) {
  FY_TRY(new_frames(b, err));
  for (size_t i = 0; i < b->info->n; i++)
    if (b->info->nodes[b->info->order[i]->id].region == b->region)
      FY_TRY(item_for(b, b->info->order[i], err));
  FY_TRY(wire_all(b, err));
  for (uint32_t i = 0; i < b->f->num_items; i++)
    if (is_callable(b, i)) FY_TRY(make_callable(b, i, err));
  FY_TRY(fy_adopt_colocations(b->g, b->f->graph, b->a->options->soft_placement, err));
  FY_TRY(plan_frames(b, err));
  FY_TRY(plan_edges(b, err));
  return plan_ends(b, err);
}

static fy_code cut_region(fy_compile_args *a, fy_program *p, const fy_flow_info *info, size_t known,
                          uint32_t region, const int *ranks, fy_error *err) {
  fy_arena scratch;
  fy_arena_init(&scratch);
  builder b = {.a = a,
               .g = a->graph,
               .info = info,
               .known = known,
               .region = region,
               .ranks = ranks,
               .scratch = &scratch};
  fy_map_init(&b.clusters);
  fy_map_init(&b.control_seen);
  b.item_of = fy_arena_array(&scratch, known + 1, sizeof *b.item_of);
  b.copy_of = fy_arena_array(&scratch, known + 1, sizeof *b.copy_of);
  fy_code code = b.item_of && b.copy_of ? FY_OK : fy_fail_oom(err, known * sizeof *b.item_of);
  if (!code && !fy_grow(&p->flows, &p->cap_flows, p->num_flows + 1, sizeof *p->flows))
    code = fy_fail_oom(err, sizeof *p->flows);
  if (!code) code = build_region(&b, err);
  fy_frames *made = b.f;
  fy_node *flow;
  if (!code) code = add_flow_node(&b, p->num_flows, &flow, err);
  if (!code) code = replace(&b, flow, err);
  free_builder(&b);
  fy_arena_free(&scratch);
  if (code) {
    fy_frames_free(made);
    return code;
  }
  FY_TRY(fy_callable_new_frames(made, &p->flows[p->num_flows], err));
  p->num_flows++;
  return FY_OK;
}

static const char *fetch_name(const fy_output *f) {
  return f->node->num_origins == 1 ? f->node->origins[0] : f->node->name;
}

static void rank_fetches(const fy_compile_args *a, int *ranks) {
  for (int i = 0; i < a->num_fetches; i++) {
    ranks[i] = 0;
    for (int k = 0; k < a->num_fetches; k++) {
      int c = strcmp(fetch_name(&a->fetches[k]), fetch_name(&a->fetches[i]));
      ranks[i] += c < 0 || (c == 0 && a->fetches[k].index < a->fetches[i].index);
    }
  }
}

fy_code fy_frames_extract(fy_compile_args *a, fy_program *p, fy_error *err) {
  if (!fy_flow_any(a->graph)) return FY_OK;
  fy_flow_info info;
  const size_t known = a->graph->num_nodes;
  int *ranks = fy_malloc(((size_t)a->num_fetches + 1) * sizeof *ranks);
  if (!ranks) return fy_fail_oom(err, sizeof *ranks);
  rank_fetches(a, ranks);
  fy_code code = fy_flow_analyse(a->graph, &info, err);
  for (uint32_t i = 1; !code && i <= info.num_regions; i++)
    code = cut_region(a, p, &info, known, i, ranks, err);
  fy_flow_info_free(&info);
  fy_free(ranks);
  return code;
}

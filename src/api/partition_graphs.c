// SPDX-License-Identifier: Apache-2.0
#include "api/partition_graphs.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/export.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

const fy_device *fy_cuts_device(const fy_cuts *c, const fy_node *node) {
  const fy_device *d = c->program->placement->nodes[node->id].device;
  return d ? d : c->program->devices->client;
}

static uint64_t key_of(fy_output v, const fy_device *to) {
  return (uint64_t)v.node->id << 32 | (uint64_t)(uint16_t)(v.index + 1) << 16 |
         (uint64_t)(uint16_t)to->ordinal;
}

static const fy_cut *find(const fy_cuts *c, fy_output v, const fy_device *to) {
  uint64_t at;
  return fy_imap_get(&c->by_key, key_of(v, to), &at) ? &c->items[at - 1] : NULL;
}

// Names are numbered in the order in which the pieces are needed, as TensorFlow's partitioner does.
static fy_code add(fy_cuts *c, fy_output v, const fy_device *to, const char *dst, int *names,
                   int *edges, fy_error *err) {
  const fy_device *from = fy_cuts_device(c, v.node);
  const char *name = v.node->name;
  int edge = (*edges)++;
  if (from == to || find(c, v, to)) return FY_OK;
  if (!fy_grow(&c->items, &c->cap, c->n + 1, sizeof *c->items) ||
      !fy_imap_put(&c->by_key, key_of(v, to), c->n + 1))
    return fy_fail_oom(err, sizeof *c->items);
  fy_cut cut = {.node = v.node, .index = v.index, .from = from, .to = to, .dst = dst};
  if (v.index < 0) cut.constant = fy_arena_printf(c->arena, "%s/ctrl/_%d", name, (*names)++);
  cut.send = fy_arena_printf(c->arena, "%s/_%d", name, (*names)++);
  cut.recv = fy_arena_printf(c->arena, "%s/_%d", name, (*names)++);
  if (v.index < 0) cut.arrived = fy_arena_printf(c->arena, "%s/_%d", name, (*names)++);
  cut.edge = fy_arena_printf(c->arena, "edge_%d_%s", edge, name);
  if (!cut.send || !cut.recv || !cut.edge || (v.index < 0 && (!cut.constant || !cut.arrived)))
    return fy_fail_oom(err, 64);
  c->items[c->n++] = cut;
  return FY_OK;
}

fy_output fy_cuts_fetch(const fy_cuts *c, int fetch) {
  const fy_value *v = &c->program->values[c->program->fetch_value[fetch]];
  return (fy_output){v->node, v->output};
}

const char *fy_cuts_retval(const fy_cuts *c, int fetch) {
  fy_output o = fy_cuts_fetch(c, fetch);
  return fy_arena_printf(c->arena, "_retval_%s_%d_%d", o.node->name, o.index, fetch);
}

fy_code fy_cuts_make(const fy_program *p, fy_arena *arena, fy_cuts *out, fy_error *err) {
  int names = 0, edges = 0;
  *out = (fy_cuts){.program = p, .arena = arena};
  fy_imap_init(&out->by_key);
  for (size_t id = 0; id < p->graph->num_nodes; id++) {
    const fy_node *n = p->graph->nodes[id];
    if (!n) continue;
    const fy_device *here = fy_cuts_device(out, n);
    for (uint32_t i = 0; i < n->num_inputs; i++)
      FY_TRY(add(out, n->inputs[i], here, n->name, &names, &edges, err));
    for (uint32_t i = 0; i < n->num_controls; i++)
      FY_TRY(add(out, (fy_output){n->controls[i], -1}, here, n->name, &names, &edges, err));
  }
  for (int i = 0; i < p->num_fetches; i++) {
    const char *name = fy_cuts_retval(out, i);
    if (!name) return fy_fail_oom(err, 64);
    FY_TRY(add(out, fy_cuts_fetch(out, i), p->devices->client, name, &names, &edges, err));
  }
  return FY_OK;
}

void fy_cuts_free(fy_cuts *c) {
  fy_free(c->items);
  fy_imap_free(&c->by_key);
}

const char *fy_cuts_name(const fy_cuts *c, fy_output value, const fy_device *device) {
  const fy_cut *cut = fy_cuts_device(c, value.node) == device ? NULL : find(c, value, device);
  if (value.index < 0)
    return fy_arena_printf(c->arena, "^%s", cut ? cut->arrived : value.node->name);
  if (cut) return cut->recv;
  return value.index ? fy_arena_printf(c->arena, "%s:%d", value.node->name, value.index)
                     : value.node->name;
}

// ------------------------------------------------------------------ nodes
typedef struct graphs {
  const fy_cuts *cuts;
  Tensorflow__GraphDef **defs;  // by device ordinal; NULL: nothing there
  size_t *caps;
} graphs;

static char *borrow(const char *s) {
  return (char *)(uintptr_t)s;
}

static fy_code add_def(graphs *g, const fy_device *device, Tensorflow__NodeDef *def,
                       fy_error *err) {
  fy_arena *a = g->cuts->arena;
  int at = device->ordinal;
  if (!g->defs[at]) {
    g->defs[at] = fy_wire_new(&tensorflow__graph_def__descriptor, a);
    if (!g->defs[at]) return fy_fail_oom(err, sizeof **g->defs);
    g->defs[at]->library = fy_wire_new(&tensorflow__function_def_library__descriptor, a);
    if (!g->defs[at]->library) return fy_fail_oom(err, sizeof **g->defs);
    FY_TRY(fy_graph_export_versions(g->cuts->program->graph, a, &g->defs[at]->versions, err));
  }
  Tensorflow__GraphDef *to = g->defs[at];
  if (to->n_node == g->caps[at]) {
    size_t cap = g->caps[at] ? g->caps[at] * 2 : 8;
    Tensorflow__NodeDef **grown = fy_arena_array(a, cap, sizeof *grown);
    if (!grown) return fy_fail_oom(err, cap * sizeof *grown);
    if (to->n_node) memcpy(grown, to->node, to->n_node * sizeof *grown);
    to->node = grown;
    g->caps[at] = cap;
  }
  def->device = borrow(device->name);
  to->node[to->n_node++] = def;
  return FY_OK;
}

static fy_code new_def(const fy_cuts *c, const char *op, const char *name, const fy_attrs *attrs,
                       const char *input, Tensorflow__NodeDef **out, fy_error *err) {
  Tensorflow__NodeDef *def = fy_wire_new(&tensorflow__node_def__descriptor, c->arena);
  if (!def) return fy_fail_oom(err, sizeof *def);
  def->op = borrow(op);
  def->name = borrow(name);
  def->input = fy_arena_array(c->arena, 1, sizeof *def->input);
  if (!def->input || !name) return fy_fail_oom(err, sizeof *def);
  if (input) def->input[def->n_input++] = borrow(input);
  FY_TRY(fy_wire_attrs_write(attrs, &tensorflow__node_def__attr_entry__descriptor, c->arena,
                             &def->n_attr, &def->attr, err));
  *out = def;
  return FY_OK;
}

static fy_code add_simple(graphs *g, const fy_device *device, const char *op, const char *name,
                          const fy_attrs *attrs, const char *input, fy_error *err) {
  Tensorflow__NodeDef *def = NULL;
  if (!input) return fy_fail_oom(err, sizeof *def);
  FY_TRY(new_def(g->cuts, op, name, attrs, *input ? input : NULL, &def, err));
  return add_def(g, device, def, err);
}

static fy_code set(const fy_cuts *c, fy_attrs *attrs, const char *name, fy_attr value,
                   fy_error *err) {
  return fy_attrs_set(attrs, c->arena, name, &value, err);
}

static fy_code cut_attrs(const fy_cuts *c, const fy_cut *cut, fy_attrs *attrs, fy_error *err) {
  fy_attr edge = fy_attr_string(fy_view_of(cut->edge));
  fy_attr from = fy_attr_string(fy_view_of(cut->from->name));
  fy_attr to = fy_attr_string(fy_view_of(cut->to->name));
  FY_TRY(set(c, attrs, "tensor_name", edge, err));
  FY_TRY(set(c, attrs, "send_device", from, err));
  FY_TRY(
      set(c, attrs, "send_device_incarnation", fy_attr_int((int64_t)cut->from->incarnation), err));
  FY_TRY(set(c, attrs, "recv_device", to, err));
  FY_TRY(set(c, attrs, "client_terminated", fy_attr_bool(false), err));
  FY_TRY(set(c, attrs, "_src", fy_attr_string(fy_view_of(cut->node->name)), err));
  return set(c, attrs, "_dst", fy_attr_string(fy_view_of(cut->dst)), err);
}

// What stands for "it has happened": an empty constant behind the node.
static fy_code add_signal(graphs *g, const fy_cut *cut, fy_error *err) {
  fy_attrs attrs = {0};
  fy_tensor *nothing;
  int64_t zero = 0;
  FY_TRY(fy_tensor_new(FY_FLOAT, 1, &zero, &nothing, err));
  fy_attr value = fy_attr_tensor(g->cuts->arena, nothing);
  fy_code code = set(g->cuts, &attrs, "value", value, err);
  if (!code) code = set(g->cuts, &attrs, "dtype", fy_attr_type(FY_FLOAT), err);
  if (!code)
    code = add_simple(g, cut->from, "Const", cut->constant, &attrs,
                      fy_arena_printf(g->cuts->arena, "^%s", cut->node->name), err);
  fy_tensor_release(nothing);
  return code;
}

static fy_code add_cut(graphs *g, const fy_cut *cut, fy_error *err) {
  const fy_cuts *c = g->cuts;
  fy_output value = {(fy_node *)(uintptr_t)cut->node, cut->index};
  fy_attr type =
      fy_attr_type(cut->index < 0 ? FY_FLOAT : fy_dtype_base(cut->node->outputs[cut->index].dtype));
  fy_attrs send = {0}, recv = {0}, pass = {0};
  if (cut->index < 0) FY_TRY(add_signal(g, cut, err));
  FY_TRY(cut_attrs(c, cut, &send, err));
  FY_TRY(set(c, &send, "T", type, err));
  FY_TRY(add_simple(g, cut->from, "_Send", cut->send, &send,
                    cut->index < 0 ? cut->constant : fy_cuts_name(c, value, cut->from), err));
  FY_TRY(cut_attrs(c, cut, &recv, err));
  FY_TRY(set(c, &recv, "tensor_type", type, err));
  FY_TRY(add_simple(g, cut->to, "_Recv", cut->recv, &recv, "", err));
  if (cut->index >= 0) return FY_OK;
  FY_TRY(set(c, &pass, "T", type, err));
  return add_simple(g, cut->to, "Identity", cut->arrived, &pass, cut->recv, err);
}

static fy_code add_node(graphs *g, const fy_node *n, fy_error *err) {
  const fy_cuts *c = g->cuts;
  const fy_device *here = fy_cuts_device(c, n);
  Tensorflow__NodeDef *def;
  FY_TRY(fy_node_export_bare(n, c->arena, &def, err));
  def->input =
      fy_arena_array(c->arena, (size_t)n->num_inputs + n->num_controls + 1, sizeof *def->input);
  if (!def->input) return fy_fail_oom(err, sizeof *def->input);
  for (uint32_t i = 0; i < n->num_inputs + n->num_controls; i++) {
    fy_output from =
        i < n->num_inputs ? n->inputs[i] : (fy_output){n->controls[i - n->num_inputs], -1};
    const char *name = fy_cuts_name(c, from, here);
    if (!name) return fy_fail_oom(err, 64);
    def->input[def->n_input++] = borrow(name);
  }
  return add_def(g, here, def, err);
}

static fy_code add_retval(graphs *g, int fetch, fy_error *err) {
  const fy_cuts *c = g->cuts;
  const fy_device *client = c->program->devices->client;
  fy_output from = fy_cuts_fetch(c, fetch);
  fy_attrs attrs = {0};
  FY_TRY(
      set(c, &attrs, "T", fy_attr_type(fy_dtype_base(from.node->outputs[from.index].dtype)), err));
  FY_TRY(set(c, &attrs, "index", fy_attr_int(fetch), err));
  return add_simple(g, client, "_Retval", fy_cuts_retval(c, fetch), &attrs,
                    fy_cuts_name(c, from, client), err);
}

fy_code fy_cuts_graphs(const fy_cuts *c, size_t *out_n, Tensorflow__GraphDef ***out,
                       fy_error *err) {
  const fy_program *p = c->program;
  size_t devices = (size_t)p->devices->n;
  graphs g = {.cuts = c,
              .defs = fy_arena_array(c->arena, devices, sizeof *g.defs),
              .caps = fy_arena_array(c->arena, devices, sizeof *g.caps)};
  if (!g.defs || !g.caps) return fy_fail_oom(err, devices * sizeof *g.defs);
  for (size_t id = 0; id < p->graph->num_nodes; id++)
    if (p->graph->nodes[id]) FY_TRY(add_node(&g, p->graph->nodes[id], err));
  for (size_t i = 0; i < c->n; i++) FY_TRY(add_cut(&g, &c->items[i], err));
  for (int i = 0; i < p->num_fetches; i++) FY_TRY(add_retval(&g, i, err));
  *out_n = 0;
  for (size_t i = 0; i < devices; i++)
    if (g.defs[i]) g.defs[(*out_n)++] = g.defs[i];
  *out = g.defs;
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// graph.c: the containers: nodes by id and by name, edges kept at both ends, order, surgery for passes.
// Everything lives in the graph's arena; growing a list leaves the old array behind, which costs at
// most as much again and keeps every pointer simple.

#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/version.h"

// Grows an arena array to hold one more element; false when memory is short.
static bool grow(fy_arena *a, void *array_ptr, uint32_t *cap, uint32_t n, size_t elem) {
  if (n < *cap) return true;
  uint32_t want = *cap ? *cap * 2 : 2;
  void *fresh = fy_arena_alloc(a, (size_t)want * elem);
  if (!fresh) return false;
  void *old;
  memcpy(&old, array_ptr, sizeof old);
  if (n) memcpy(fresh, old, (size_t)n * elem);
  memcpy(array_ptr, &fresh, sizeof fresh);
  *cap = want;
  return true;
}

fy_graph *fy_graph_new(void) {
  fy_graph *g = fy_calloc(1, sizeof *g);
  if (!g) return NULL;
  g->functions = fy_funclib_new();
  if (!g->functions) {
    fy_free(g);
    return NULL;
  }
  fy_mutex_init(&g->lock);
  fy_arena_init(&g->arena);
  fy_map_init(&g->by_name);
  fy_map_init(&g->name_counts);
  g->refs = 1;
  g->producer = FY_GRAPH_DEF_VERSION;
  return g;
}

void fy_graph_free(fy_graph *g) {
  if (!g) return;
  fy_map_free(&g->by_name);
  fy_map_free(&g->name_counts);
  fy_free(g->nodes);
  fy_arena_free(&g->arena);
  fy_funclib_unref(g->functions);
  fy_mutex_destroy(&g->lock);
  for (size_t i = 0; i < g->num_bodies; i++) fy_graph_free(g->bodies[i]);
  fy_free(g->bodies);
  fy_free(g);
}

fy_code fy_graph_adopt(fy_graph *g, fy_graph *body, size_t *number, fy_error *err) {
  if (!fy_grow(&g->bodies, &g->cap_bodies, g->num_bodies + 1, sizeof *g->bodies)) {
    fy_graph_free(body);
    return fy_fail_oom(err, sizeof *g->bodies);
  }
  *number = g->num_bodies;
  g->bodies[g->num_bodies++] = body;
  return FY_OK;
}

fy_code fy_graph_type_list(fy_arena *arena, const fy_output *outputs, size_t n, fy_attr *out,
                           fy_error *err) {
  *out = (fy_attr){.kind = FY_ATTR_TYPE, .is_list = true, .n = (uint32_t)n};
  out->v.types = fy_arena_array(arena, n + 1, sizeof *out->v.types);
  if (!out->v.types) return fy_fail_oom(err, n * sizeof *out->v.types);
  for (size_t i = 0; i < n; i++)
    out->v.types[i] = fy_dtype_base(outputs[i].node->outputs[outputs[i].index].dtype);
  return FY_OK;
}

void fy_graph_empty(fy_graph *g) {
  fy_map_free(&g->by_name);
  fy_map_free(&g->name_counts);
  fy_map_init(&g->by_name);
  fy_map_init(&g->name_counts);
  __atomic_store_n(&g->num_nodes, 0, __ATOMIC_RELAXED);
  g->version++;
  g->edits++;
}

fy_node *fy_graph_find(const fy_graph *g, const char *name) {
  return fy_map_gets(&g->by_name, name);
}

const char *fy_graph_unique_name(fy_graph *g, const char *prefix) {
  if (!fy_map_gets(&g->by_name, prefix)) return fy_arena_strdup(&g->arena, prefix);
  char *key = fy_arena_strdup(&g->arena, prefix);
  if (!key) return NULL;
  uintptr_t n = (uintptr_t)fy_map_gets(&g->name_counts, prefix);
  for (;;) {
    n++;
    char *name = fy_arena_printf(&g->arena, "%s_%zu", prefix, (size_t)n);
    if (!name) return NULL;
    if (fy_map_gets(&g->by_name, name)) continue;
    if (!fy_map_puts(&g->name_counts, key, (void *)n)) return NULL;
    return name;
  }
}

static fy_code add_use(fy_graph *g, fy_output from, fy_node *user, uint32_t index, fy_error *err) {
  fy_node_out *o = &from.node->outputs[from.index];
  if (!grow(&g->arena, &o->uses, &o->cap_uses, o->num_uses, sizeof *o->uses))
    return fy_fail_oom(err, sizeof *o->uses);
  o->uses[o->num_uses++] = (fy_use){user, (int32_t)index};
  return FY_OK;
}

static void drop_use(fy_output from, const fy_node *user, uint32_t index) {
  fy_node_out *o = &from.node->outputs[from.index];
  for (uint32_t i = 0; i < o->num_uses; i++) {
    if (o->uses[i].node != user || o->uses[i].index != (int32_t)index) continue;
    memmove(&o->uses[i], &o->uses[i + 1], (o->num_uses - i - 1) * sizeof *o->uses);
    o->num_uses--;
    return;
  }
}

static bool has_control(const fy_node *from, const fy_node *to) {
  if (to->num_controls <= from->num_control_outs) {
    for (uint32_t i = 0; i < to->num_controls; i++)
      if (to->controls[i] == from) return true;
  } else {
    for (uint32_t i = 0; i < from->num_control_outs; i++)
      if (from->control_outs[i] == to) return true;
  }
  return false;
}

fy_code fy_graph_add_control(fy_graph *g, fy_node *from, fy_node *to, fy_error *err) {
  if (has_control(from, to)) return FY_OK;
  if (!grow(&g->arena, &to->controls, &to->cap_controls, to->num_controls, sizeof *to->controls) ||
      !grow(&g->arena, &from->control_outs, &from->cap_control_outs, from->num_control_outs,
            sizeof *from->control_outs))
    return fy_fail_oom(err, sizeof *to->controls);
  to->controls[to->num_controls++] = from;
  from->control_outs[from->num_control_outs++] = to;
  g->version++;
  return FY_OK;
}

static void drop_from(fy_node **list, uint32_t *n, const fy_node *node) {
  for (uint32_t i = 0; i < *n; i++) {
    if (list[i] != node) continue;
    memmove(&list[i], &list[i + 1], (*n - i - 1) * sizeof *list);
    (*n)--;
    return;
  }
}

void fy_graph_remove_control(fy_graph *g, fy_node *from, fy_node *to) {
  drop_from(to->controls, &to->num_controls, from);
  drop_from(from->control_outs, &from->num_control_outs, to);
  g->version++;
}

// |named| had the name before |node|, or nobody (NULL). Replacing an entry needs no memory.
static void give_name_back(fy_graph *g, const fy_node *node, fy_node *named) {
  if (!named || !fy_map_puts(&g->by_name, node->name, named))
    fy_map_remove(&g->by_name, node->name, strlen(node->name));
}

// Puts a complete node into the tables and links its edges. On failure the graph is as before.
static fy_code link_node(fy_graph *g, fy_node *node, fy_error *err) {
  uint32_t done = 0;
  fy_node *named = fy_graph_find(g, node->name);  // an import may bring a name again; the last wins
  if (!fy_grow(&g->nodes, &g->cap_nodes, g->num_nodes + 1, sizeof *g->nodes))
    return fy_fail_oom(err, sizeof *g->nodes);
  if (!fy_map_puts(&g->by_name, node->name, node)) return fy_fail_oom(err, sizeof *node);
  for (; done < node->num_inputs; done++) {  // the back edge of a loop may still be open
    if (node->inputs[done].node && add_use(g, node->inputs[done], node, done, err)) goto undo;
  }
  for (uint32_t i = 0; i < node->num_controls; i++) {
    fy_node *from = node->controls[i];
    if (grow(&g->arena, &from->control_outs, &from->cap_control_outs, from->num_control_outs,
             sizeof *from->control_outs)) {
      from->control_outs[from->num_control_outs++] = node;
      continue;
    }
    fy_fail_oom(err, sizeof *from->control_outs);
    while (i-- > 0)
      drop_from(node->controls[i]->control_outs, &node->controls[i]->num_control_outs, node);
    goto undo;
  }
  node->id = (uint32_t)g->num_nodes;
  g->nodes[g->num_nodes] = node;
  // Sessions look at the number without the lock to see whether anything is new.
  __atomic_store_n(&g->num_nodes, g->num_nodes + 1, __ATOMIC_RELAXED);
  g->version++;
  return FY_OK;
undo:
  while (done-- > 0)
    if (node->inputs[done].node) drop_use(node->inputs[done], node, done);
  give_name_back(g, node, named);
  return FY_RESOURCE_EXHAUSTED;
}

void fy_graph_unlink_last(fy_graph *g, fy_node *named) {
  fy_node *node = g->nodes[g->num_nodes - 1];
  __atomic_store_n(&g->num_nodes, g->num_nodes - 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < node->num_controls; i++)
    drop_from(node->controls[i]->control_outs, &node->controls[i]->num_control_outs, node);
  for (uint32_t i = node->num_inputs; i-- > 0;) drop_use(node->inputs[i], node, i);
  give_name_back(g, node, named);
  g->version++;
}

fy_code fy_graph_link(fy_graph *g, fy_node *node, fy_error *err) {
  return link_node(g, node, err);
}

fy_code fy_graph_add_raw(fy_graph *g, const char *op_name, const char *name, const char *device,
                         const fy_attrs *attrs, const fy_output *inputs, uint32_t num_inputs,
                         fy_node *const *controls, uint32_t num_controls, const fy_dtype *out_types,
                         uint32_t num_outputs, fy_node **out, fy_error *err) {
  fy_arena *a = &g->arena;
  *out = NULL;
  if (fy_graph_find(g, name))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Duplicate node name in graph: '%s'", name);
  fy_node *n = fy_arena_zalloc(a, sizeof *n);
  if (!n) return fy_fail_oom(err, sizeof *n);
  n->graph = g;
  n->name = fy_arena_strdup(a, name);
  n->op_name = fy_arena_strdup(a, op_name);
  n->device = device && *device ? fy_arena_strdup(a, device) : "";
  n->num_inputs = num_inputs;
  n->num_outputs = num_outputs;
  n->inputs = fy_arena_memdup(a, inputs, num_inputs * sizeof *inputs);
  n->input_types = fy_arena_array(a, num_inputs, sizeof *n->input_types);
  n->outputs = fy_arena_array(a, num_outputs, sizeof *n->outputs);
  n->controls = fy_arena_memdup(a, controls, num_controls * sizeof *controls);
  n->num_controls = n->cap_controls = num_controls;
  if (!n->name || !n->op_name || !n->device || !n->inputs || !n->input_types || !n->outputs ||
      !n->controls)
    return fy_fail_oom(err, sizeof *n);
  for (uint32_t i = 0; i < num_inputs; i++)
    n->input_types[i] = fy_dtype_base(inputs[i].node->outputs[inputs[i].index].dtype);
  for (uint32_t i = 0; i < num_outputs; i++) {
    n->outputs[i].dtype = out_types[i];
    n->outputs[i].shape.rank = -1;
    n->outputs[i].handle.shape.rank = -1;
  }
  if (attrs) FY_TRY(fy_attrs_copy(&n->attrs, attrs, a, err));
  n->op = fy_op_find(op_name, strlen(op_name));
  if (n->op) {
    n->spec = n->op->spec;
  } else {
    n->function = fy_funclib_find(g->functions, op_name, strlen(op_name));
    if (n->function) n->spec = n->function->spec;
  }
  FY_TRY(link_node(g, n, err));
  *out = n;
  return FY_OK;
}

fy_code fy_graph_set_input(fy_graph *g, fy_node *node, uint32_t index, fy_output to,
                           fy_error *err) {
  fy_output old = node->inputs[index];
  if (old.node == to.node && old.index == to.index) return FY_OK;
  FY_TRY(add_use(g, to, node, index, err));
  if (old.node) drop_use(old, node, index);
  node->inputs[index] = to;
  g->version++;
  return FY_OK;
}

fy_code fy_graph_replace_uses(fy_graph *g, fy_output from, fy_output to, fy_error *err) {
  fy_node_out *o = &from.node->outputs[from.index];
  fy_node_out *t = &to.node->outputs[to.index];
  uint32_t moved = 0;
  for (uint32_t i = 0; i < o->num_uses; i++) {
    fy_use u = o->uses[i];
    if (u.node == to.node) {  // the replacement itself reads the old value: keep that edge
      o->uses[moved++] = u;
      continue;
    }
    if (!grow(&g->arena, &t->uses, &t->cap_uses, t->num_uses, sizeof *t->uses)) {
      memmove(&o->uses[moved], &o->uses[i], (o->num_uses - i) * sizeof u);
      o->num_uses -= i - moved;
      return fy_fail_oom(err, sizeof *t->uses);
    }
    t->uses[t->num_uses++] = u;
    u.node->inputs[u.index] = to;
  }
  o->num_uses = moved;
  g->version++;
  return FY_OK;
}

fy_code fy_graph_remove(fy_graph *g, fy_node *node, fy_error *err) {
  for (uint32_t i = 0; i < node->num_outputs; i++)
    if (node->outputs[i].num_uses)
      return fy_fail(err, FY_INTERNAL, "cannot remove node '%s': its output %u is in use",
                     node->name, i);
  for (uint32_t o = 0; o < node->num_control_outs; o++) {
    for (uint32_t i = 0; i < node->num_controls; i++)
      if (node->controls[i] != node->control_outs[o])
        FY_TRY(fy_graph_add_control(g, node->controls[i], node->control_outs[o], err));
    // An input node must still have finished before what waited for this node.
    for (uint32_t i = 0; i < node->num_inputs; i++)
      FY_TRY(fy_graph_add_control(g, node->inputs[i].node, node->control_outs[o], err));
  }
  while (node->num_control_outs) fy_graph_remove_control(g, node, node->control_outs[0]);
  while (node->num_controls) fy_graph_remove_control(g, node->controls[0], node);
  for (uint32_t i = 0; i < node->num_inputs; i++) drop_use(node->inputs[i], node, i);
  node->num_inputs = 0;
  fy_map_remove(&g->by_name, node->name, strlen(node->name));
  g->nodes[node->id] = NULL;
  g->version++;
  return FY_OK;
}

void fy_graph_take_out(fy_graph *g, fy_node *const *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    fy_node *node = nodes[i];
    for (uint32_t k = 0; k < node->num_inputs; k++) drop_use(node->inputs[k], node, k);
    for (uint32_t k = 0; k < node->num_controls; k++)
      drop_from(node->controls[k]->control_outs, &node->controls[k]->num_control_outs, node);
    for (uint32_t k = 0; k < node->num_control_outs; k++)
      drop_from(node->control_outs[k]->controls, &node->control_outs[k]->num_controls, node);
    if (fy_graph_find(g, node->name) == node)
      fy_map_remove(&g->by_name, node->name, strlen(node->name));
    g->nodes[node->id] = NULL;
  }
  g->version++;
}

// The only edges that may close a cycle: they lead to the next iteration of a loop.
bool fy_graph_is_back_edge(const fy_node *from, const fy_node *to) {
  return (strcmp(from->op_name, "NextIteration") == 0 ||
          strcmp(from->op_name, "RefNextIteration") == 0) &&
         (strcmp(to->op_name, "Merge") == 0 || strcmp(to->op_name, "RefMerge") == 0);
}

// Depth-first from every node in creation order, inputs first: where edges leave a choice the order of
// creation is kept, which is also what keeps tensors' lives short. Iterative: a graph may be a chain
// of a million nodes.
typedef struct frame {
  fy_node *node;
  uint32_t next;  // input or control to look at next
} frame;

enum { UNSEEN, OPEN, DONE };

static fy_node *dependency(const fy_node *node, uint32_t i) {
  if (i >= node->num_inputs) return node->controls[i - node->num_inputs];
  fy_node *from = node->inputs[i].node;
  return fy_graph_is_back_edge(from, node) ? NULL : from;
}

fy_code fy_graph_order(const fy_graph *g, fy_arena *arena, fy_node ***out, size_t *n,
                       fy_error *err) {
  *out = NULL;
  *n = 0;
  uint8_t *state = fy_arena_array(arena, g->num_nodes + 1, 1);
  fy_node **order = fy_arena_alloc(arena, (g->num_nodes + 1) * sizeof *order);
  frame *stack = fy_malloc((g->num_nodes + 1) * sizeof *stack);
  if (!state || !order || !stack) {
    fy_free(stack);
    return fy_fail_oom(err, g->num_nodes * sizeof *stack);
  }
  size_t done = 0;
  for (size_t i = 0; i < g->num_nodes; i++) {
    if (!g->nodes[i] || state[i] != UNSEEN) continue;
    size_t depth = 0;
    stack[depth++] = (frame){g->nodes[i], 0};
    state[i] = OPEN;
    while (depth) {
      frame *f = &stack[depth - 1];
      if (f->next == f->node->num_inputs + f->node->num_controls) {
        state[f->node->id] = DONE;
        order[done++] = f->node;
        depth--;
        continue;
      }
      fy_node *from = dependency(f->node, f->next++);
      if (!from || state[from->id] == DONE) continue;
      if (state[from->id] == OPEN) {
        fy_fail(err, FY_INVALID_ARGUMENT,
                "Graph is invalid, contains a cycle with %zu nodes, including: %s, %s", depth,
                from->name, f->node->name);
        fy_free(stack);
        return FY_INVALID_ARGUMENT;
      }
      state[from->id] = OPEN;
      stack[depth++] = (frame){from, 0};
    }
  }
  fy_free(stack);
  *out = order;
  *n = done;
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// walk.c: reachability over messages, with a list of nodes still to visit: no recursion.

#include "model/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/spec.h"

static fy_code add_body(fy_walk *w, fy_walk_body *b, const Tensorflow__FunctionDef *f,
                        Tensorflow__NodeDef *const *nodes, size_t n, fy_error *err) {
  fy_map_init(&b->by_name);
  b->function = f;
  b->n = n;
  b->nodes = fy_arena_array(&w->arena, n + 1, sizeof *b->nodes);
  if (!b->nodes) return fy_fail_oom(err, n * sizeof *b->nodes);
  for (size_t i = 0; i < n; i++) {
    b->nodes[i] = (fy_walk_node){.def = nodes[i], .body = b};
    if (!fy_map_puts(&b->by_name, nodes[i]->name, &b->nodes[i])) return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

fy_code fy_walk_open(const Tensorflow__GraphDef *g, fy_walk *w, fy_error *err) {
  memset(w, 0, sizeof *w);
  fy_arena_init(&w->arena);
  fy_map_init(&w->functions);
  size_t n = g->library ? g->library->n_function : 0;
  w->bodies = fy_arena_array(&w->arena, n + 1, sizeof *w->bodies);
  if (!w->bodies) return fy_fail_oom(err, n * sizeof *w->bodies);
  w->num_bodies = 1;
  FY_TRY(add_body(w, &w->bodies[0], NULL, g->node, g->n_node, err));
  for (size_t i = 0; i < n; i++) {
    const Tensorflow__FunctionDef *f = g->library->function[i];
    if (!f->signature || !f->signature->name) continue;
    fy_walk_body *b = &w->bodies[w->num_bodies++];
    FY_TRY(add_body(w, b, f, f->node_def, f->n_node_def, err));
    if (!fy_map_puts(&w->functions, f->signature->name, b)) return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

void fy_walk_close(fy_walk *w) {
  for (size_t i = 0; i < w->num_bodies; i++) fy_map_free(&w->bodies[i].by_name);
  fy_map_free(&w->functions);
  fy_arena_free(&w->arena);
}

typedef struct todo {
  fy_walk_node **items;
  size_t n, cap;
  uint64_t bit;
  bool failed;
} todo;

static void visit(todo *t, fy_walk_body *b, const char *text) {
  if (!text) return;
  if (*text == '^') text++;
  fy_walk_node *n = fy_map_get(&b->by_name, text, strcspn(text, ":"));
  if (!n || n->roots & t->bit) return;
  n->roots |= t->bit;
  if (!fy_grow(&t->items, &t->cap, t->n + 1, sizeof *t->items)) {
    t->failed = true;
    return;
  }
  t->items[t->n++] = n;
}

// A function that is called: its results, and what acts even if nobody reads it.
static void enter(fy_walk *w, todo *t, const char *name) {
  fy_walk_body *b = name ? fy_map_gets(&w->functions, name) : NULL;
  if (!b || b->roots & t->bit) return;
  b->roots |= t->bit;
  const Tensorflow__FunctionDef *f = b->function;
  for (size_t i = 0; i < f->n_ret; i++) visit(t, b, f->ret[i]->value);
  for (size_t i = 0; i < f->n_control_ret; i++) visit(t, b, f->control_ret[i]->value);
  for (size_t i = 0; i < b->n; i++) {
    const char *op_name = b->nodes[i].def->op;
    const fy_op *op = op_name ? fy_op_find(op_name, strlen(op_name)) : NULL;
    if (!op || op->spec->flags & FY_SPEC_STATEFUL) visit(t, b, b->nodes[i].def->name);
  }
}

static void enter_all(fy_walk *w, todo *t, const Tensorflow__NodeDef *n) {
  enter(w, t, n->op);
  for (size_t i = 0; i < n->n_attr; i++) {
    const Tensorflow__AttrValue *v = n->attr[i]->value;
    if (!v) continue;
    if (v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_FUNC && v->func) enter(w, t, v->func->name);
    if (v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST && v->list)
      for (size_t k = 0; k < v->list->n_func; k++) enter(w, t, v->list->func[k]->name);
  }
}

fy_code fy_walk_from(fy_walk *w, const char *tensor, int root, fy_error *err) {
  todo t = {.bit = (uint64_t)1 << (root & 63)};
  w->bodies[0].roots |= t.bit;
  visit(&t, &w->bodies[0], tensor);
  while (t.n && !t.failed) {
    const fy_walk_node *n = t.items[--t.n];
    fy_walk_body *b = (fy_walk_body *)(uintptr_t)n->body;
    for (size_t i = 0; i < n->def->n_input; i++) visit(&t, b, n->def->input[i]);
    enter_all(w, &t, n->def);
  }
  fy_free((void *)t.items);
  return t.failed ? fy_fail_oom(err, t.cap * sizeof *t.items) : FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// cost_memory.c: placement that fits: while a device is over its limit, the group that costs least per byte
// saved moves out. What each would cost is remembered; a move changes that of its neighbours only. How much
// the device then holds takes a pass over the graph, so it is asked a few times, not after every move.

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "place/cost_impl.h"

// Bytes that |device| must hold: constants it reads and the largest sum of live outputs.
static double peak_bytes(const fy_cost_model *m, const fy_cost_plan *pl, int device,
                         fy_node **order, size_t n, double *freed) {
  int space = fy_space_of(m->set->items[device]);
  double live = 0, peak = 0, fixed = 0;
  memset(freed, 0, n * sizeof *freed);
  for (size_t i = 0; i < n; i++) order[i]->mark = (uint32_t)i;
  for (size_t i = 0; i < n; i++) {
    const fy_node *node = order[i];
    for (uint32_t o = 0; o < node->num_outputs; o++) {
      const fy_node_out *out = &node->outputs[o];
      bool needed = fy_cost_out_space(m, pl, node, o) == space;
      size_t last = i;
      for (uint32_t u = 0; u < out->num_uses; u++) {
        needed |= fy_cost_in_space(m, pl, &out->uses[u]) == space;
        if (out->uses[u].node->mark > last) last = out->uses[u].node->mark;
      }
      if (!needed) continue;
      const double bytes = m->outs[node->id][o].bytes;
      if (node->const_value) {
        fixed += bytes;
      } else {
        live += bytes;
        freed[last] += bytes;
      }
    }
    if (live > peak) peak = live;
    live -= freed[i];
  }
  return peak + fixed;
}

static double group_bytes(const fy_cost_model *m, uint32_t root) {
  double bytes = 0;
  for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id]) {
    const fy_node *n = m->g->nodes[id];
    for (uint32_t o = 0; o < n->num_outputs; o++) bytes += m->outs[id][o].bytes;
    for (uint32_t i = 0; i < n->num_inputs; i++)
      if (n->inputs[i].node->const_value)
        bytes += m->outs[n->inputs[i].node->id][n->inputs[i].index].bytes;
  }
  return bytes;
}

typedef struct offer {  // of a group to leave its device
  double score;         // time lost per byte saved; INFINITY: it cannot
  int to;
  bool known;
} offer;

static offer ask(const fy_cost_model *m, fy_cost_plan *pl, uint32_t root) {
  offer best = {.score = INFINITY, .known = true};
  const int from = pl->device[root];
  const double size = group_bytes(m, root);
  if (size <= 0) return best;
  const double before = fy_cost_group_ns(m, pl, root);
  for (int to = 0; to < m->set->n; to++) {
    if (to == from || !(m->open[root] >> to & 1) || !m->set->items[to]->is_host) continue;
    pl->device[root] = to;
    const double score = (fy_cost_group_ns(m, pl, root) - before) / size;
    if (score < best.score) best.score = score, best.to = to;
  }
  pl->device[root] = from;
  return best;
}

static void forget_readers(const fy_cost_model *m, const fy_node *n, offer *offers) {
  for (uint32_t o = 0; o < n->num_outputs; o++)
    for (uint32_t u = 0; u < n->outputs[o].num_uses; u++)
      offers[m->root[n->outputs[o].uses[u].node->id]].known = false;
}

// |root| has moved: what its readers, its producers and their other readers would cost is another.
static void forget_neighbours(const fy_cost_model *m, uint32_t root, offer *offers) {
  for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id]) {
    const fy_node *n = m->g->nodes[id];
    forget_readers(m, n, offers);
    for (uint32_t i = 0; i < n->num_inputs; i++) {
      if (n->inputs[i].node->const_value) continue;  // costs nothing, wherever it is read
      offers[m->root[n->inputs[i].node->id]].known = false;
      forget_readers(m, n->inputs[i].node, offers);
    }
  }
}

// The groups that leave device |d|, in their order.
typedef struct exodus {
  fy_cost_model *m;
  fy_cost_plan *pl;
  int d;
  fy_node **order;
  size_t num_order;
  double *freed;
  uint32_t *stay;  // [num_stay] groups that could leave
  size_t num_stay;
  uint32_t *gone;  // [num_gone]
  size_t num_gone;
  offer *offers;  // [root id]
} exodus;

static bool fits(const exodus *x) {
  return peak_bytes(x->m, x->pl, x->d, x->order, x->num_order, x->freed) <=
         (double)x->m->limit[x->d];
}

static bool one_leaves(exodus *x) {
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < x->num_stay; i++) {
    const uint32_t root = x->stay[i];
    if (x->pl->device[root] != x->d) continue;
    if (!x->offers[root].known) x->offers[root] = ask(x->m, x->pl, root);
    if (x->offers[root].score < (best == SIZE_MAX ? INFINITY : x->offers[x->stay[best]].score))
      best = i;
  }
  if (best == SIZE_MAX) return false;
  const uint32_t root = x->stay[best];
  x->pl->device[root] = x->offers[root].to;
  x->gone[x->num_gone++] = root;
  forget_neighbours(x->m, root, x->offers);
  return true;
}

// Only the first |n| of those that left have left.
static void only_first(const exodus *x, size_t n) {
  for (size_t i = 0; i < x->num_gone; i++)
    x->pl->device[x->gone[i]] = i < n ? x->offers[x->gone[i]].to : x->d;
}

// Who leaves next does not depend on whether it is enough, and nobody who leaves makes it worse: so they
// leave in ever larger groups, and then as many as can be come back.
static void leave_until_it_fits(exodus *x) {
  size_t enough = 0, few = 0;  // |few| are too few
  bool any = true;
  for (size_t step = 1; any && !fits(x); step *= 2) {
    few = x->num_gone + 1;
    for (size_t i = 0; i < step && any; i++) any = one_leaves(x);
  }
  if (few == 0) return;
  enough = x->num_gone;
  while (few < enough) {
    const size_t middle = few + (enough - few) / 2;
    only_first(x, middle);
    if (fits(x))
      enough = middle;
    else
      few = middle + 1;
  }
  only_first(x, enough);
  x->num_gone = enough;
}

fy_code fy_cost_fit_memory(fy_cost_model *m, fy_cost_plan *pl, int *moved, fy_error *err) {
  exodus x = {.m = m, .pl = pl};
  const size_t n = m->g->num_nodes;
  FY_TRY(fy_graph_order(m->g, &m->arena, &x.order, &x.num_order, err));
  x.freed = fy_arena_array(&m->arena, x.num_order + 1, sizeof *x.freed);
  x.offers = fy_arena_array(&m->arena, n + 1, sizeof *x.offers);
  x.stay = fy_arena_array(&m->arena, n + 1, sizeof *x.stay);
  x.gone = fy_arena_array(&m->arena, n + 1, sizeof *x.gone);
  if (!x.freed || !x.offers || !x.stay || !x.gone) return fy_fail_oom(err, n * sizeof *x.offers);
  for (x.d = 0; x.d < m->set->n; x.d++) {
    if (m->set->items[x.d]->is_host || !m->limit[x.d]) continue;
    memset(x.offers, 0, n * sizeof *x.offers);
    x.num_stay = x.num_gone = 0;
    for (uint32_t i = 0; i < n; i++)
      if (m->g->nodes[i] && m->root[i] == i && pl->device[i] == x.d && m->open[i])
        x.stay[x.num_stay++] = i;
    leave_until_it_fits(&x);
    for (size_t i = 0; i < x.num_gone; i++) moved[x.gone[i]] = x.d + 1;
  }
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// cost_memory.c: placement that fits: while a device is over its limit, the group that costs least per byte
// saved moves out. What each would cost is remembered; a move changes that of its neighbours only.

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
      offers[m->root[n->inputs[i].node->id]].known = false;
      forget_readers(m, n->inputs[i].node, offers);
    }
  }
}

fy_code fy_cost_fit_memory(fy_cost_model *m, fy_cost_plan *pl, int *moved, fy_error *err) {
  fy_node **order;
  size_t n;
  FY_TRY(fy_graph_order(m->g, &m->arena, &order, &n, err));
  double *freed = fy_arena_array(&m->arena, n + 1, sizeof *freed);
  offer *offers = fy_arena_array(&m->arena, m->g->num_nodes + 1, sizeof *offers);
  if (!freed || !offers) return fy_fail_oom(err, n * sizeof *offers);
  for (int d = 0; d < m->set->n; d++) {
    if (m->set->items[d]->is_host || !m->limit[d]) continue;
    memset(offers, 0, m->g->num_nodes * sizeof *offers);
    while (peak_bytes(m, pl, d, order, n, freed) > (double)m->limit[d]) {
      uint32_t best = UINT32_MAX;
      for (uint32_t i = 0; i < m->g->num_nodes; i++) {
        if (!m->g->nodes[i] || m->root[i] != i || pl->device[i] != d || !m->open[i]) continue;
        if (!offers[i].known) offers[i] = ask(m, pl, i);
        if (offers[i].score < (best == UINT32_MAX ? INFINITY : offers[best].score)) best = i;
      }
      if (best == UINT32_MAX) break;
      pl->device[best] = offers[best].to;
      moved[best] = d + 1;
      forget_neighbours(m, best, offers);
    }
  }
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// cost_memory.c: placement that fits: while a device is over its limit, the group that costs least per byte
// saved moves out. What each would cost is remembered, the least on top of a heap; a move changes that of its
// neighbours only. How much the device then holds takes a pass over the graph, so it is asked a few times, not
// after every move.

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "place/cost_impl.h"

typedef struct offer {  // of a group to leave its device
  double score;         // time lost per byte saved; INFINITY: it cannot
  int to;
  uint32_t number;  // how often it was asked; 0: never
  bool known;
} offer;

typedef struct entry {  // of the heap; what was asked again since is no longer true
  double score;
  uint32_t root, number;
} entry;

// The groups that leave device |d|, in their order.
typedef struct exodus {
  fy_cost_model *m;
  fy_cost_plan *pl;
  int d;
  fy_node **order;
  size_t num_order;
  double *freed;   // [num_order]
  uint32_t *last;  // [value] the place in |order| of its last reader
  uint32_t *most;  // [value] how often one group reads it, at most
  uint32_t *gone;  // [num_gone]
  size_t num_gone;
  offer *offers;      // [root id]
  uint32_t *unknown;  // [num_unknown] groups to be asked
  size_t num_unknown;
  entry *heap;
  size_t num_heap, cap_heap;
  bool failed;  // memory is short
} exodus;

// Bytes that the device must hold: constants it reads and the largest sum of live outputs.
static double peak_bytes(const exodus *x) {
  const fy_cost_model *m = x->m;
  const int space = m->space[x->d];
  double live = 0, peak = 0, fixed = 0;
  memset(x->freed, 0, x->num_order * sizeof *x->freed);
  for (size_t i = 0; i < x->num_order; i++) {
    const fy_node *node = x->order[i];
    for (uint32_t o = 0; o < node->num_outputs; o++) {
      const fy_cost_value *v = &m->outs[node->id][o];
      if (fy_cost_out_space(m, x->pl, node, o) != space && !*fy_cost_readers(m, x->pl, v, space))
        continue;
      if (node->const_value) {
        fixed += v->bytes;
      } else {
        live += v->bytes;
        x->freed[x->last[v->number]] += v->bytes;
      }
    }
    if (live > peak) peak = live;
    live -= x->freed[i];
  }
  return peak + fixed;
}

// Who reads each value last, and how often one group reads it.
static void look_at_readers(exodus *x) {
  fy_cost_model *m = x->m;
  for (size_t i = 0; i < x->num_order; i++) {
    const fy_node *n = x->order[i];
    for (uint32_t o = 0; o < n->num_outputs; o++) x->last[m->outs[n->id][o].number] = (uint32_t)i;
    for (uint32_t k = 0; k < n->num_inputs; k++)
      x->last[fy_cost_input(m, n, k)->number] = (uint32_t)i;
  }
  uint32_t *count = x->unknown;  // not in use yet, and as long
  for (uint32_t root = 0; root < m->g->num_nodes; root++) {
    m->round++;
    for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id])
      for (uint32_t k = 0; k < m->g->nodes[id]->num_inputs; k++) {
        const uint32_t v = fy_cost_input(m, m->g->nodes[id], k)->number;
        if (m->seen[v] != m->round) count[v] = 0;
        m->seen[v] = m->round;
        if (++count[v] > x->most[v]) x->most[v] = count[v];
      }
  }
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

static offer ask(fy_cost_model *m, fy_cost_plan *pl, uint32_t root) {
  offer best = {.score = INFINITY, .known = true};
  const int from = pl->device[root];
  const double size = group_bytes(m, root);
  if (size <= 0) return best;
  const double before = fy_cost_group_ns(m, pl, root);
  for (int to = 0; to < m->set->n; to++) {
    if (to == from || !(m->open[root] >> to & 1) || !m->set->items[to]->is_host) continue;
    fy_cost_move(m, pl, root, to);
    const double score = (fy_cost_group_ns(m, pl, root) - before) / size;
    if (score < best.score) best.score = score, best.to = to;
  }
  fy_cost_move(m, pl, root, from);
  return best;
}

// What it would cost |n| to leave is another now.
static void forget(exodus *x, const fy_node *n) {
  const uint32_t root = x->m->root[n->id];
  offer *o = &x->offers[root];
  if (!o->known || x->pl->device[root] != x->d) return;
  o->known = false;
  x->unknown[x->num_unknown++] = root;
}

static void forget_readers(exodus *x, const fy_node *n, uint32_t output) {
  const fy_node_out *o = &n->outputs[output];
  for (uint32_t u = 0; u < o->num_uses; u++) forget(x, o->uses[u].node);
}

// |root| has left: what its readers and its producers would cost is another; so is what other readers of its
// inputs would, where it was the first to read one from elsewhere, or where perhaps a single group is left.
static void forget_neighbours(exodus *x, uint32_t root) {
  const fy_cost_model *m = x->m;
  for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id]) {
    const fy_node *n = m->g->nodes[id];
    for (uint32_t o = 0; o < n->num_outputs; o++) forget_readers(x, n, o);
    for (uint32_t i = 0; i < n->num_inputs; i++) {
      const fy_node *src = n->inputs[i].node;
      if (src->const_value) continue;  // costs nothing, wherever it is read
      const fy_cost_value *v = fy_cost_input(m, n, i);
      const uint32_t most = x->most[v->number];
      forget(x, src);
      if (*fy_cost_readers(m, x->pl, v, 0) <= most ||
          *fy_cost_readers(m, x->pl, v, m->space[x->d]) <= most)
        forget_readers(x, src, (uint32_t)n->inputs[i].index);
    }
  }
}

static bool fits(const exodus *x) {
  return peak_bytes(x) <= (double)x->m->limit[x->d];
}

// --- the heap: the least score first, of equal ones the first group ---

static bool before(const entry *a, const entry *b) {
  return a->score != b->score ? a->score < b->score : a->root < b->root;
}

static void push(exodus *x, entry e) {
  if (!fy_grow(&x->heap, &x->cap_heap, x->num_heap + 1, sizeof *x->heap)) {
    x->failed = true;
    return;
  }
  size_t i = x->num_heap++;
  for (; i && before(&e, &x->heap[(i - 1) / 2]); i = (i - 1) / 2) x->heap[i] = x->heap[(i - 1) / 2];
  x->heap[i] = e;
}

static entry pop(exodus *x) {
  const entry top = x->heap[0], e = x->heap[--x->num_heap];
  size_t i = 0;
  for (size_t k; (k = 2 * i + 1) < x->num_heap; i = k) {
    if (k + 1 < x->num_heap && before(&x->heap[k + 1], &x->heap[k])) k++;
    if (!before(&x->heap[k], &e)) break;
    x->heap[i] = x->heap[k];
  }
  if (x->num_heap) x->heap[i] = e;
  return top;
}

static void ask_unknown(exodus *x) {
  while (x->num_unknown) {
    const uint32_t root = x->unknown[--x->num_unknown];
    const uint32_t number = x->offers[root].number + 1;
    if (x->pl->device[root] != x->d) continue;
    x->offers[root] = ask(x->m, x->pl, root);
    x->offers[root].number = number;
    if (x->offers[root].score < INFINITY) push(x, (entry){x->offers[root].score, root, number});
  }
}

static bool one_leaves(exodus *x) {
  ask_unknown(x);
  while (x->num_heap && !x->failed) {
    const entry e = pop(x);
    if (x->pl->device[e.root] != x->d || x->offers[e.root].number != e.number) continue;
    fy_cost_move(x->m, x->pl, e.root, x->offers[e.root].to);
    x->gone[x->num_gone++] = e.root;
    forget_neighbours(x, e.root);
    return true;
  }
  return false;
}

// Only the first |n| of those that left have left.
static void only_first(const exodus *x, size_t n) {
  for (size_t i = 0; i < x->num_gone; i++)
    fy_cost_move(x->m, x->pl, x->gone[i], i < n ? x->offers[x->gone[i]].to : x->d);
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

static fy_code make_room(exodus *x, fy_error *err) {
  fy_arena *a = &x->m->arena;
  const size_t n = x->m->g->num_nodes, values = x->m->num_values;
  x->freed = fy_arena_array(a, x->num_order + 1, sizeof *x->freed);
  x->last = fy_arena_array(a, values + 1, sizeof *x->last);
  x->most = fy_arena_array(a, values + 1, sizeof *x->most);
  x->offers = fy_arena_array(a, n + 1, sizeof *x->offers);
  x->unknown = fy_arena_array(a, (n > values ? n : values) + 1, sizeof *x->unknown);
  x->gone = fy_arena_array(a, n + 1, sizeof *x->gone);
  if (!x->freed || !x->last || !x->most || !x->offers || !x->unknown || !x->gone)
    return fy_fail_oom(err, n * sizeof *x->offers);
  return FY_OK;
}

fy_code fy_cost_fit_memory(fy_cost_model *m, fy_cost_plan *pl, int *moved, fy_error *err) {
  exodus x = {.m = m, .pl = pl};
  const size_t n = m->g->num_nodes;
  FY_TRY(fy_graph_order(m->g, &m->arena, &x.order, &x.num_order, err));
  FY_TRY(make_room(&x, err));
  m->p->asked_bytes = fy_arena_array(&m->p->arena, (size_t)m->set->n, sizeof(double));
  if (!m->p->asked_bytes) return fy_fail_oom(err, sizeof(double));
  look_at_readers(&x);
  for (x.d = 0; x.d < m->set->n; x.d++) {
    if (m->set->items[x.d]->is_host || !m->limit[x.d]) continue;
    memset(x.offers, 0, n * sizeof *x.offers);
    x.num_unknown = x.num_gone = x.num_heap = 0;
    for (uint32_t i = 0; i < n; i++)
      if (m->g->nodes[i] && m->root[i] == i && pl->device[i] == x.d && m->open[i])
        x.unknown[x.num_unknown++] = i;
    m->p->asked_bytes[x.d] = peak_bytes(&x);
    leave_until_it_fits(&x);
    for (size_t i = 0; i < x.num_gone; i++) moved[x.gone[i]] = x.d + 1;
  }
  fy_free(x.heap);
  return x.failed ? fy_fail_oom(err, x.cap_heap * sizeof *x.heap) : FY_OK;
}

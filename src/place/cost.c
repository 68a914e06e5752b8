// SPDX-License-Identifier: Apache-2.0
// cost.c: placement by cost.
// The model: a node costs its launch plus the larger of arithmetic and memory traffic on its device,
// divided by the share of the device that others leave; a value that is needed in another memory costs
// the link's latency plus its bytes over the link's bandwidth, once per destination.
// The search: start from everything-on-the-host and from TensorFlow's choice; improve each by moving
// single groups and whole connected regions while the total falls; keep the better one. Then fit the
// memory (cost_memory.c).

#include "place/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "place/cost_impl.h"

#define MAX_SWEEPS  6
#define MAX_REGIONS 64  // tried as a whole per sweep

static bool is_arg(const fy_node *n) {
  return strcmp(n->op_name, "_Arg") == 0;
}

static double bytes_of(const fy_node_out *o) {
  double n = (double)fy_dtype_storage(fy_dtype_base(o->dtype));
  for (int32_t i = 0; i < o->shape.rank; i++)
    n *= o->shape.dims[i] < 0 ? 1 : (double)o->shape.dims[i];
  return n;
}

// Moving |bytes| from one memory to another.
static double link_ns(const fy_cost_model *m, int from, int to, double bytes) {
  double ns = 0;
  for (int side = 0; side < 2; side++) {
    int s = side ? to : from;
    if (!s) continue;
    const fy_device_info *f = &m->set->items[s - 1]->facts;
    ns += f->link_latency_ns + (f->link_bytes_per_s > 0 ? bytes / f->link_bytes_per_s * 1e9 : 0);
  }
  return ns;
}

// Transfers of one output to all its readers, each destination counted once. A constant crosses once in a
// program's life: free here.
static double output_ns(const fy_cost_model *m, const fy_cost_plan *pl, const fy_node *n,
                        uint32_t out) {
  const int from = fy_cost_out_space(m, pl, n, out);
  const uint32_t *readers = fy_cost_readers(m, pl, &m->outs[n->id][out], 0);
  double ns = 0;
  if (n->const_value) return 0;
  for (int to = 0; to < (int)m->num_spaces; to++)
    if (to != from && readers[to]) ns += link_ns(m, from, to, m->outs[n->id][out].bytes);
  return ns;
}

void fy_cost_move(const fy_cost_model *m, fy_cost_plan *pl, uint32_t root, int device) {
  const int was = pl->device[root];
  pl->device[root] = device;
  if (was == device) return;
  for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id]) {
    const fy_node *n = m->g->nodes[id];
    for (uint32_t i = 0; i < n->num_inputs; i++) {
      const fy_cost_value *v = fy_cost_input(m, n, i);
      --*fy_cost_readers(m, pl, v, fy_cost_in_space(m, n, i, was));
      ++*fy_cost_readers(m, pl, v, fy_cost_in_space(m, n, i, device));
    }
  }
}

static void count_readers(const fy_cost_model *m, fy_cost_plan *pl) {
  for (size_t k = 0; k < m->g->num_nodes; k++) {
    const fy_node *n = m->g->nodes[k];
    if (!n) continue;
    const int d = fy_cost_device_of(m, pl, n);
    for (uint32_t i = 0; i < n->num_inputs; i++)
      ++*fy_cost_readers(m, pl, fy_cost_input(m, n, i), fy_cost_in_space(m, n, i, d));
  }
}

static double compute_ns(const fy_cost_model *m, const fy_node *n, int device) {
  return (double)m->node_ns[n->id * (uint32_t)m->set->n + (uint32_t)device] / m->free_share[device];
}

static double node_ns(const fy_cost_model *m, const fy_cost_plan *pl, const fy_node *n) {
  double ns = compute_ns(m, n, fy_cost_device_of(m, pl, n));
  for (uint32_t o = 0; o < n->num_outputs; o++) ns += output_ns(m, pl, n, o);
  return ns;
}

static double total_ns(const fy_cost_model *m, const fy_cost_plan *pl) {
  double ns = 0;
  for (size_t i = 0; i < m->g->num_nodes; i++)
    if (m->g->nodes[i]) ns += node_ns(m, pl, m->g->nodes[i]);
  return ns;
}

// What those who feed |n| send it, each value once a round. Those of group |but| send nothing.
static double inputs_ns(fy_cost_model *m, const fy_cost_plan *pl, const fy_node *n, uint32_t but) {
  double ns = 0;
  for (uint32_t i = 0; i < n->num_inputs; i++) {
    const fy_node *src = n->inputs[i].node;
    uint32_t *seen = &m->seen[fy_cost_input(m, n, i)->number];
    if (m->root[src->id] == but || *seen == m->round) continue;
    *seen = m->round;
    ns += output_ns(m, pl, src, (uint32_t)n->inputs[i].index);
  }
  return ns;
}

double fy_cost_group_ns(fy_cost_model *m, const fy_cost_plan *pl, uint32_t root) {
  double ns = 0;
  for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id]) {
    const fy_node *n = m->g->nodes[id];
    m->round++;
    ns += node_ns(m, pl, n) + inputs_ns(m, pl, n, root);
  }
  return ns;
}

static bool improve_groups(fy_cost_model *m, fy_cost_plan *pl) {
  bool any = false;
  for (size_t i = 0; i < m->g->num_nodes; i++) {
    if (!m->g->nodes[i] || m->root[i] != i || !m->open[i]) continue;
    const uint32_t root = (uint32_t)i;
    int best = pl->device[i], was = best;
    double best_ns = fy_cost_group_ns(m, pl, root);
    for (int d = 0; d < m->set->n; d++) {
      if (d == was || !(m->open[i] >> d & 1)) continue;
      fy_cost_move(m, pl, root, d);
      double ns = fy_cost_group_ns(m, pl, root);
      if (ns < best_ns * (1 - 1e-9)) {
        best_ns = ns;
        best = d;
      }
    }
    fy_cost_move(m, pl, root, best);
    any |= best != was;
  }
  return any;
}

// A region: groups on one device that are connected through edges. Moving it as a whole can pay where
// no single step does (a small island between two transfers).
typedef struct region {
  uint32_t *roots;  // [n]
  size_t n;
  fy_devmask can;  // where all of them may be
} region;

static void join_region(const fy_cost_model *m, const fy_cost_plan *pl, const fy_node *node,
                        int device, uint32_t *mark, region *r) {
  const uint32_t q = m->root[node->id];
  if (mark[q] || !m->open[q] || pl->device[q] != device) return;
  mark[q] = 1;
  r->roots[r->n++] = q;
}

static void find_region(const fy_cost_model *m, const fy_cost_plan *pl, uint32_t root,
                        uint32_t *mark, region *r) {
  const int here = pl->device[root];
  r->n = 0;
  r->can = m->open[root];
  join_region(m, pl, m->g->nodes[root], here, mark, r);
  for (size_t head = 0; head < r->n; head++) {
    r->can &= m->open[r->roots[head]];
    for (uint32_t id = m->head[r->roots[head]]; id != UINT32_MAX; id = m->next[id]) {
      const fy_node *node = m->g->nodes[id];
      for (uint32_t k = 0; k < node->num_inputs; k++)
        join_region(m, pl, node->inputs[k].node, here, mark, r);
      for (uint32_t o = 0; o < node->num_outputs; o++)
        for (uint32_t u = 0; u < node->outputs[o].num_uses; u++)
          join_region(m, pl, node->outputs[o].uses[u].node, here, mark, r);
    }
  }
}

// What changes when the region moves: its work, what it sends, and what it is sent from elsewhere.
static double region_ns(fy_cost_model *m, const fy_cost_plan *pl, const region *r) {
  double ns = 0;
  const uint32_t round = ++m->round;
  for (size_t k = 0; k < r->n; k++)
    for (uint32_t id = m->head[r->roots[k]]; id != UINT32_MAX; id = m->next[id]) {
      const fy_node *n = m->g->nodes[id];
      ns += node_ns(m, pl, n);
      for (uint32_t o = 0; o < n->num_outputs; o++) m->seen[m->outs[id][o].number] = round;
    }
  for (size_t k = 0; k < r->n; k++)
    for (uint32_t id = m->head[r->roots[k]]; id != UINT32_MAX; id = m->next[id])
      ns += inputs_ns(m, pl, m->g->nodes[id], UINT32_MAX);
  return ns;
}

static bool improve_regions(fy_cost_model *m, fy_cost_plan *pl, uint32_t *mark, uint32_t *stack) {
  bool any = false;
  memset(mark, 0, m->g->num_nodes * sizeof *mark);
  double now = total_ns(m, pl);
  int regions = 0;
  for (size_t i = 0; i < m->g->num_nodes && regions < MAX_REGIONS; i++) {
    if (!m->g->nodes[i]) continue;
    const uint32_t root = m->root[i];
    if (mark[root] || !m->open[root]) continue;
    const int was = pl->device[root];
    region r = {.roots = stack};
    regions++;
    find_region(m, pl, root, mark, &r);
    int best = was;
    const double rest = now - region_ns(m, pl, &r);
    for (int d = 0; d < m->set->n; d++) {
      if (d == was || !(r.can >> d & 1)) continue;
      for (size_t k = 0; k < r.n; k++) fy_cost_move(m, pl, r.roots[k], d);
      const double ns = rest + region_ns(m, pl, &r);
      if (ns < now * (1 - 1e-9)) {
        now = ns;
        best = d;
      }
    }
    for (size_t k = 0; k < r.n; k++) fy_cost_move(m, pl, r.roots[k], best);
    any |= best != was;
  }
  return any;
}

static void improve(fy_cost_model *m, fy_cost_plan *pl, uint32_t *mark, uint32_t *stack) {
  for (int i = 0; i < MAX_SWEEPS; i++) {
    bool moved = improve_groups(m, pl);
    moved |= improve_regions(m, pl, mark, stack);
    if (!moved) break;
  }
  pl->ns = total_ns(m, pl);
}

// ------------------------------------------------------------------ reasons
static const char *human_ns(double ns, char out[32]) {
  if (ns < 1e3)
    snprintf(out, 32, "%.0f ns", ns);
  else if (ns < 1e6)
    snprintf(out, 32, "%.1f us", ns / 1e3);
  else
    snprintf(out, 32, "%.2f ms", ns / 1e6);
  return out;
}

// "before others after", or nothing where nobody is known.
static const char *others_text(const fy_cost_model *m, int device, const char *before,
                               const char *after) {
  if (!m->load || !m->load[device].others || !m->load[device].others[0]) return "";
  const char *text = fy_arena_printf(&m->p->arena, "%s%s%s", before, m->load[device].others, after);
  return text ? text : "";
}

static fy_code explain_group(fy_cost_model *m, fy_cost_plan *pl, uint32_t root, int moved,
                             fy_error *err) {
  int here = pl->device[root], other = -1;
  double mine = fy_cost_group_ns(m, pl, root), best = INFINITY;
  for (int d = 0; d < m->set->n; d++) {
    if (d == here || !(m->open[root] >> d & 1)) continue;
    fy_cost_move(m, pl, root, d);
    double ns = fy_cost_group_ns(m, pl, root);
    if (ns < best) best = ns, other = d;
  }
  fy_cost_move(m, pl, root, here);
  if (other < 0) return FY_OK;
  for (uint32_t id = m->head[root]; id != UINT32_MAX; id = m->next[id]) {
    const fy_node *n = m->g->nodes[id];
    fy_placed *e = &m->p->nodes[id];
    char a[32], b[32], c[32];
    const fy_device *dh = m->set->items[here], *dother = m->set->items[other];
    if (is_arg(n)) continue;
    if (n->const_value) {
      e->why = FY_WHY_GENERATOR;
      e->text = "a constant: kept in host memory and copied once to each device that reads it";
      continue;
    }
    if (moved) {
      char limit[32];
      fy_human_bytes((double)m->limit[moved - 1], limit);
      e->why = FY_WHY_MEMORY;
      e->text = fy_arena_printf(
          &m->p->arena,
          "%s may hold %s%s and the rest of the graph fills it; moving this costs least",
          fy_groups_short_name(m->set->items[moved - 1]), limit,
          others_text(m, moved - 1, " (the rest: ", ")"));
    } else {
      bool busy = m->free_share[other] < 1 && !dother->is_host && dh->is_host &&
                  best * m->free_share[other] < mine;
      e->why = busy ? FY_WHY_BUSY : FY_WHY_CHEAPER;
      if (busy)
        e->text =
            fy_arena_printf(&m->p->arena, "%s is kept %.0f %% busy by others%s: %s there, %s on %s",
                            fy_groups_short_name(dother), 100 * (1 - m->free_share[other]),
                            others_text(m, other, " (", ")"), human_ns(best, a), human_ns(mine, b),
                            fy_groups_short_name(dh));
      else
        e->text = fy_arena_printf(
            &m->p->arena, "%s with transfers on %s against %s on %s (the work alone: %s)",
            human_ns(mine, a), fy_groups_short_name(dh), human_ns(best, b),
            fy_groups_short_name(dother), human_ns(compute_ns(m, n, here), c));
    }
    if (!e->text) return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

// ------------------------------------------------------------------ the whole
static fy_code describe_node(fy_cost_model *m, const fy_node *n, fy_error *err) {
  const size_t nd = (size_t)m->set->n;
  fy_cost_value *outs = fy_arena_array(&m->arena, n->num_outputs + 1u, sizeof *outs);
  fy_devmask *ins = fy_arena_array(&m->arena, n->num_inputs + 1u, sizeof *ins);
  if (!outs || !ins) return fy_fail_oom(err, sizeof *outs);
  m->outs[n->id] = outs;
  m->ins[n->id] = ins;
  const bool anywhere = is_arg(n) || n->const_value;  // in host memory, and no work
  for (size_t d = 0; d < nd; d++) {
    const fy_device *dev = m->set->items[d];
    const fy_devmask bit = (fy_devmask)1 << d;
    m->node_ns[n->id * nd + d] = anywhere ? 0 : (float)fy_place_cost_ns(n, dev);
    for (uint32_t o = 0; o < n->num_outputs; o++)
      if (anywhere || !fy_place_output_space(n, dev, o)) outs[o].on_host |= bit;
    for (uint32_t i = 0; i < n->num_inputs; i++)
      if (fy_place_input_on_host(n, dev, i)) ins[i] |= bit;
  }
  for (uint32_t o = 0; o < n->num_outputs; o++) {
    outs[o].bytes = bytes_of(&n->outputs[o]);
    outs[o].number = m->num_values++;
  }
  return FY_OK;
}

static fy_code make_model(fy_cost_model *m, fy_groups *gr, fy_placement *p, fy_error *err) {
  size_t n = m->g->num_nodes, nd = (size_t)m->set->n;
  fy_arena *a = &m->arena;
  m->open = fy_arena_array(a, n + 1, sizeof *m->open);
  m->node_ns = fy_arena_array(a, (n + 1) * nd, sizeof *m->node_ns);
  m->free_share = fy_arena_array(a, nd, sizeof *m->free_share);
  m->limit = fy_arena_array(a, nd, sizeof *m->limit);
  m->space = fy_arena_array(a, nd, sizeof *m->space);
  m->next = fy_arena_array(a, n + 1, sizeof *m->next);
  m->head = fy_arena_array(a, n + 1, sizeof *m->head);
  m->root = fy_arena_array(a, n + 1, sizeof *m->root);
  m->outs = fy_arena_array(a, n + 1, sizeof *m->outs);
  m->ins = fy_arena_array(a, n + 1, sizeof *m->ins);
  if (!m->open || !m->node_ns || !m->free_share || !m->limit || !m->space || !m->next || !m->head ||
      !m->root || !m->outs || !m->ins)
    return fy_fail_oom(err, n * nd * sizeof *m->node_ns);
  (void)p;
  for (size_t d = 0; d < nd; d++) {
    fy_device *dev = m->set->items[d];
    m->space[d] = fy_space_of(dev);
    double busy = dev->ops->busy ? dev->ops->busy(dev) : 0;
    if (m->load) busy = 1 - (1 - busy) * (1 - m->load[d].busy);
    m->free_share[d] = busy >= 0.99 ? 0.01 : 1 - busy;
    m->limit[d] = dev->is_host ? 0 : __atomic_load_n(&dev->facts.memory_limit, __ATOMIC_RELAXED);
    if (m->load && m->load[d].may_hold && !dev->is_host) m->limit[d] = m->load[d].may_hold;
  }
  for (size_t i = 0; i < n; i++) m->head[i] = UINT32_MAX;
  for (size_t i = n; i-- > 0;) {
    const fy_node *node = m->g->nodes[i];
    if (!node) continue;
    uint32_t root = fy_groups_root(gr, (uint32_t)i);
    m->root[i] = root;
    m->next[i] = m->head[root];
    m->head[root] = (uint32_t)i;
    FY_TRY(describe_node(m, node, err));
  }
  m->num_spaces = (uint32_t)nd + 1;
  m->seen = fy_arena_array(a, m->num_values + 1u, sizeof *m->seen);
  return m->seen ? FY_OK : fy_fail_oom(err, m->num_values * sizeof *m->seen);
}

static fy_code open_groups(fy_cost_model *m, fy_cost_plan *host, fy_cost_plan *tf,
                           const fy_place_options *o, fy_error *err) {
  for (size_t i = 0; i < m->g->num_nodes; i++) {
    if (!m->g->nodes[i] || m->root[i] != i) continue;
    fy_devmask c;
    bool soft;
    FY_TRY(fy_groups_candidates(m->gr, (uint32_t)i, &c, &soft, err));
    bool arg = is_arg(m->g->nodes[i]);
    // A request that leaves several devices ("/device:GPU:*") and the scope's own device are kept by type.
    fy_group *r = &m->gr->items[i];
    tf->device[i] = r->assigned ? r->assigned->ordinal : m->p->nodes[i].device->ordinal;
    host->device[i] = tf->device[i];
    if (arg || r->requested.has_type || (c & (c - 1)) == 0) continue;
    if (o->default_device && (c >> o->default_device->ordinal & 1)) continue;
    // Only CPU:0 and the accelerators are free choices: further CPU devices are for those who ask.
    fy_devmask open = 0;
    for (int d = 0; d < m->set->n; d++)
      if ((c >> d & 1) && (!m->set->items[d]->is_host || m->set->items[d] == m->set->client))
        open |= (fy_devmask)1 << d;
    if ((open & (open - 1)) == 0) continue;
    m->open[i] = open;
    if (open >> m->set->client->ordinal & 1) host->device[i] = m->set->client->ordinal;
  }
  return FY_OK;
}

fy_code fy_place_by_cost(fy_groups *gr, const fy_place_options *o, fy_placement *p, fy_error *err) {
  fy_cost_model m = {.gr = gr, .g = gr->g, .set = gr->set, .p = p, .load = o->load};
  size_t n = gr->g->num_nodes;
  fy_arena_init(&m.arena);
  fy_cost_plan host = {.device = fy_arena_array(&m.arena, n + 1, sizeof(int))};
  fy_cost_plan tf = {.device = fy_arena_array(&m.arena, n + 1, sizeof(int))};
  int *moved = fy_arena_array(&m.arena, n + 1, sizeof *moved);
  uint32_t *mark = fy_arena_array(&m.arena, n + 1, sizeof *mark);
  uint32_t *stack = fy_arena_array(&m.arena, n + 1, sizeof *stack);
  fy_code code = host.device && tf.device && moved && mark && stack
                     ? FY_OK
                     : fy_fail_oom(err, n * sizeof(int));
  if (!code) code = make_model(&m, gr, p, err);
  if (!code) code = open_groups(&m, &host, &tf, o, err);
  if (!code) {
    const size_t counts = (size_t)m.num_values * m.num_spaces + 1;
    host.readers = fy_arena_array(&m.arena, counts, sizeof *host.readers);
    tf.readers = fy_arena_array(&m.arena, counts, sizeof *tf.readers);
    if (!host.readers || !tf.readers) code = fy_fail_oom(err, counts * sizeof *tf.readers);
  }
  if (!code) {
    count_readers(&m, &host);
    count_readers(&m, &tf);
    improve(&m, &host, mark, stack);
    improve(&m, &tf, mark, stack);
    fy_cost_plan *best = host.ns <= tf.ns ? &host : &tf;
    code = fy_cost_fit_memory(&m, best, moved, err);
    for (size_t i = 0; !code && i < n; i++) {
      if (!gr->g->nodes[i]) continue;
      uint32_t root = fy_groups_root(gr, (uint32_t)i);
      if (!is_arg(gr->g->nodes[i])) p->nodes[i].device = gr->set->items[best->device[root]];
    }
    for (size_t i = 0; !code && i < n; i++)
      if (gr->g->nodes[i] && m.open[i]) code = explain_group(&m, best, (uint32_t)i, moved[i], err);
  }
  fy_arena_free(&m.arena);
  return code;
}

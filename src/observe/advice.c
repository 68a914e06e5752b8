// SPDX-License-Identifier: Apache-2.0
// advice.c: for every transfer, the one change that would remove it. It follows from the reason for
// which its reader (or, for a fetch, its producer) is where it is.

#include <string.h>

#include "observe/report.h"

static const fy_placed *placed(const fy_report *r, const fy_node *n) {
  return &r->program->placement->nodes[n->id];
}

// What would let |n| run on |where|, in the words of the reason that it does not.
static const char *move_node(fy_report *r, const fy_node *n, const fy_device *where) {
  const fy_placed *p = placed(r, n);
  const char *name = fy_report_label(n), *there = fy_report_device_name(where);
  fy_arena *a = &r->arena;
  switch (p->why) {
    case FY_WHY_REQUESTED:
      return fy_arena_printf(a, "ask for %s for '%s', which now asks for '%s'", there, name,
                             n->device);
    case FY_WHY_COLOCATED: return fy_arena_printf(a, "take '%s' out of its colocation group", name);
    case FY_WHY_RESOURCE: return fy_arena_printf(a, "make the variable of '%s' on %s", name, there);
    case FY_WHY_ONLY_KERNEL:
    case FY_WHY_DEVICE_REFUSES:
    case FY_WHY_SOFT:
      return fy_arena_printf(a, "use a dtype or op that %s has a kernel for in place of '%s' (%s)",
                             there, name, n->op_name);
    case FY_WHY_MEMORY:
      return fy_arena_printf(a, "a smaller batch or a higher memory limit, so that '%s' fits %s",
                             name, there);
    case FY_WHY_BUSY:
      return fy_arena_printf(a, "free %s of other work, or ask for '%s' there", there, name);
    default:
      return fy_arena_printf(
          a, "ask for '%s' on %s (device '/device:%s'); the cost model found that slower", name,
          there, there);
  }
}

#define MAX_ISLANDS 4096  // transfers: looking for islands takes the square of that

// A value's producer reads across from where the value goes: moving it there removes both
// transfers.
static const fy_node *island(const fy_report *r, const fy_transfer *t) {
  const fy_parts *parts = r->program->parts;
  const fy_node *v = t->value.node;
  if (strcmp(v->op_name, "_Arg") == 0 || v->const_value || parts->num_transfers > MAX_ISLANDS)
    return NULL;
  if (placed(r, v)->why == FY_WHY_CHEAPER) return NULL;  // it stays where it pays
  for (size_t i = 0; i < parts->num_transfers; i++) {
    const fy_transfer *in = &parts->transfers[i];
    if (in->cause == v && in->from_space == t->to_space && !in->value.node->const_value) return v;
  }
  return NULL;
}

fy_code fy_report_advise(fy_report *r, fy_report_transfer *e, fy_error *err) {
  const fy_transfer *t = e->transfer;
  const fy_node *v = t->value.node, *cause = t->cause;
  const fy_device_set *set = r->program->devices;
  const fy_device *from = t->from_space ? set->items[t->from_space - 1] : set->client;
  bool fed = strcmp(v->op_name, "_Arg") == 0;
  fy_arena *a = &r->arena;
  if (e->once)
    e->advice = fy_arena_printf(a, "nothing: it crosses once and stays on %s", e->to);
  else if (!cause)
    e->advice = fy_arena_printf(
        a, "do not fetch '%s' in every run%s, or run it on %s", fy_report_label(v),
        v->outputs[t->value.index].shape.rank > 1 ? " (or fetch something smaller)" : "",
        fy_report_device_name(set->client));
  else if (t->to_space == 0 && !placed(r, cause)->device->is_host)
    e->advice =
        fy_arena_printf(a, "make '%s' a constant: %s reads it from host memory on every device",
                        fy_report_label(v), cause->op_name);
  else if (fed && placed(r, cause)->why == FY_WHY_CHEAPER)
    e->advice =
        fy_arena_printf(a,
                        "run '%s' on %s; the cost model found that slower. A constant or variable "
                        "instead of the feed '%s' would cross only once",
                        fy_report_label(cause), e->from, fy_report_label(v));
  else if (island(r, t))
    e->advice = move_node(r, v, t->to);
  else
    e->advice = move_node(r, cause, from);
  return e->advice ? FY_OK : fy_fail_oom(err, 64);
}

// SPDX-License-Identifier: Apache-2.0
// place.c: the road of a placement: groups → fixed choices → (auto: cost) → reasons.
// `tensorflow` mode stops after the fixed choices: highest type first, generators with their consumers,
// metadata with its input (SEMANTICS §2.4). `auto` lets cost.c decide what is still open.

#include "place/place.h"

#include <string.h>

#include "base/alloc.h"
#include "place/cost.h"
#include "place/groups.h"

static const char *const why_names[FY_WHY_COUNT] = {[FY_WHY_ONLY_DEVICE] = "only device",
                                                    [FY_WHY_REQUESTED] = "requested",
                                                    [FY_WHY_COLOCATED] = "colocated",
                                                    [FY_WHY_RESOURCE] = "resource",
                                                    [FY_WHY_ONLY_KERNEL] = "only kernel",
                                                    [FY_WHY_DEVICE_REFUSES] = "device refuses",
                                                    [FY_WHY_PRIORITY] = "priority",
                                                    [FY_WHY_GENERATOR] = "generator",
                                                    [FY_WHY_METADATA] = "metadata",
                                                    [FY_WHY_HOST_DATA] = "host data",
                                                    [FY_WHY_CHEAPER] = "cheaper",
                                                    [FY_WHY_MEMORY] = "memory",
                                                    [FY_WHY_BUSY] = "busy",
                                                    [FY_WHY_SOFT] = "soft placement",
                                                    [FY_WHY_FEED] = "feed"};

const char *fy_why_name(fy_why why) {
  return (unsigned)why < FY_WHY_COUNT ? why_names[why] : "?";
}

void fy_placement_free(fy_placement *p) {
  if (!p) return;
  fy_arena_free(&p->arena);
  fy_free(p);
}

// ------------------------------------------------------------------ TensorFlow's passes
static bool is_generator(const fy_node *n) {
  return n->num_inputs == 0 && n->num_outputs == 1 && !fy_dtype_is_ref(n->outputs[0].dtype);
}

static bool is_metadata(const fy_node *n) {
  return strcmp(n->op_name, "Shape") == 0 || strcmp(n->op_name, "Size") == 0 ||
         strcmp(n->op_name, "Rank") == 0;
}

static uint32_t edge_count(const fy_node *n, bool out) {
  if (!out) return n->num_inputs + n->num_controls;
  uint32_t k = n->num_control_outs;
  for (uint32_t i = 0; i < n->num_outputs; i++) k += n->outputs[i].num_uses;
  return k;
}

static bool is_pass_through(const fy_node *n) {
  if (strcmp(n->op_name, "Identity") != 0 || *n->device || edge_count(n, false) != 1 ||
      edge_count(n, true) != 1 || n->num_inputs != 1 || n->outputs[0].num_uses != 1)
    return false;
  return strcmp(n->inputs[0].node->device, n->outputs[0].uses[0].node->device) == 0;
}

typedef struct placer {
  const fy_graph *g;
  const fy_device_set *set;
  const fy_place_options *o;
  fy_groups groups;
  fy_placement *p;
} placer;

static fy_device *single(fy_devmask m, const fy_device_set *set) {
  if (!m || (m & (m - 1))) return NULL;
  for (int i = 0; i < set->n; i++)
    if (m >> i & 1) return set->items[i];
  return NULL;
}

static void assign(placer *pl, const fy_node *n, fy_device *d, fy_why why) {
  fy_group *r = &pl->groups.items[fy_groups_root(&pl->groups, n->id)];
  fy_placed *e = &pl->p->nodes[n->id];
  e->device = d;
  e->why = why;
  if (!r->assigned) r->assigned = d;
}

static fy_device *default_choice(placer *pl, fy_devmask m) {
  const fy_device *d = pl->o->default_device;
  if (d && (m >> d->ordinal & 1)) return pl->set->items[d->ordinal];
  return fy_groups_first(&pl->groups, m);
}

static bool candidate(fy_devmask m, const fy_device *d) {
  return d && (m >> d->ordinal & 1);
}

static fy_code first_pass(placer *pl, fy_error *err) {
  for (size_t i = 0; i < pl->g->num_nodes; i++) {
    const fy_node *n = pl->g->nodes[i];
    if (!n) continue;
    fy_devmask m;
    bool soft;
    fy_group *r = &pl->groups.items[fy_groups_root(&pl->groups, n->id)];
    // What is wrong with a generator is told by those that it is tied to, if there are any.
    if (r->size > 1 && is_generator(n) &&
        fy_groups_candidates(&pl->groups, n->id, &m, &soft, NULL) != FY_OK)
      continue;
    FY_TRY(fy_groups_candidates(&pl->groups, n->id, &m, &soft, err));
    if (strcmp(n->op_name, "_Arg") == 0) {
      assign(pl, n, pl->set->client, FY_WHY_FEED);
      continue;
    }
    if (r->assigned) {
      assign(pl, n, r->assigned, FY_WHY_COLOCATED);
    } else if (is_generator(n) && !single(m, pl->set)) {
      continue;
    } else if (single(m, pl->set)) {
      assign(pl, n, single(m, pl->set), FY_WHY_PRIORITY);
    } else if ((is_metadata(n) || is_pass_through(n)) && n->num_inputs &&
               candidate(m, pl->p->nodes[n->inputs[0].node->id].device)) {
      assign(pl, n, pl->p->nodes[n->inputs[0].node->id].device, FY_WHY_METADATA);
    } else {
      assign(pl, n, default_choice(pl, m), FY_WHY_PRIORITY);
    }
  }
  return FY_OK;
}

// Where all consumers of |n| are, or NULL when they are in several places.
static fy_device *consumers_device(const placer *pl, const fy_node *n) {
  fy_device *d = NULL;
  for (uint32_t i = 0; i < n->outputs[0].num_uses; i++) {
    fy_device *u = pl->p->nodes[n->outputs[0].uses[i].node->id].device;
    if (!u || (d && u != d)) return NULL;
    d = u;
  }
  return d;
}

static fy_code second_pass(placer *pl, fy_error *err) {
  for (size_t i = 0; i < pl->g->num_nodes; i++) {
    const fy_node *n = pl->g->nodes[i];
    if (!n || pl->p->nodes[i].device) continue;
    fy_devmask m;
    bool soft;
    FY_TRY(fy_groups_candidates(&pl->groups, n->id, &m, &soft, err));
    fy_device *d = consumers_device(pl, n);
    if (candidate(m, d))
      assign(pl, n, d, FY_WHY_GENERATOR);
    else
      assign(pl, n, default_choice(pl, m), FY_WHY_PRIORITY);
  }
  return FY_OK;
}

// ------------------------------------------------------------------ reasons
// Why another device type was out of the question: the text its kernel lookup or device gave.
static const char *refusal(placer *pl, const fy_node *n, const fy_device *placed, fy_device **who) {
  for (int i = 0; i < pl->set->n; i++) {
    fy_device *d = pl->set->items[i];
    if (d == placed || strcmp(d->type, placed->type) == 0) continue;
    fy_error why;
    fy_error_init(&why);
    if (!fy_place_supported(n, d, &why)) {
      *who = d;
      const char *text = fy_arena_strdup(&pl->p->arena, fy_error_text(&why));
      fy_error_clear(&why);
      return text;
    }
    fy_error_clear(&why);
  }
  return NULL;
}

static const char *say(fy_placement *p, const fy_node *n, fy_device *d, fy_why why,
                       const char *detail) {
  fy_arena *a = &p->arena;
  switch (why) {
    case FY_WHY_ONLY_DEVICE: return "it is the only device";
    case FY_WHY_FEED: return "fed by the client, in host memory";
    case FY_WHY_GENERATOR:
      return fy_arena_printf(a, "it has no inputs and all its consumers are on %s",
                             fy_groups_short_name(d));
    case FY_WHY_METADATA:
      return fy_arena_printf(a, "it only looks at '%s', which is on %s", n->inputs[0].node->name,
                             fy_groups_short_name(d));
    case FY_WHY_PRIORITY:
      return fy_arena_printf(a, "%s comes first in TensorFlow's order of device types",
                             fy_groups_short_name(d));
    default: return detail ? detail : fy_why_name(why);
  }
}

// Decides the reason that a user would accept, from the strongest to the weakest.
static fy_code give_reason(placer *pl, const fy_node *n, fy_error *err) {
  fy_placed *e = &pl->p->nodes[n->id];
  fy_group *r = &pl->groups.items[fy_groups_root(&pl->groups, n->id)];
  fy_group *self = &pl->groups.items[n->id];
  fy_arena *a = &pl->p->arena;
  const char *text = NULL;
  fy_devmask m;
  bool soft = false;
  FY_TRY(fy_groups_candidates(&pl->groups, n->id, &m, &soft, err));
  fy_devname own = {0};
  bool asked = *n->device &&
               (fy_devname_parse(n->device, &own) || fy_devname_parse_local(n->device, &own)) &&
               (own.has_type || own.has_id);
  bool honoured = asked && (fy_groups_matching(&pl->groups, &own) >> e->device->ordinal & 1);
  fy_device *who = NULL;
  if (asked && !honoured) {
    e->wanted = n->device;
    pl->p->num_fallbacks++;
    fy_devmask match = fy_groups_matching(&pl->groups, &own);
    const char *detail = !match ? "no such device is open" : refusal(pl, n, e->device, &who);
    if (self->through_resource)
      text = fy_arena_printf(
          a, "asked for %s, but it must be with '%s', whose resource it uses, on %s", n->device,
          pl->g->nodes[self->bound_by]->name, fy_groups_short_name(e->device));
    else
      text = fy_arena_printf(a, "asked for %s, fell back to %s (soft placement): %s", n->device,
                             fy_groups_short_name(e->device),
                             detail ? detail : "its colocation group cannot run there");
    e->why = self->through_resource ? FY_WHY_RESOURCE : FY_WHY_SOFT;
  } else if (honoured) {
    e->why = FY_WHY_REQUESTED;
    text = fy_arena_printf(a, "requested by the node's device '%s'", n->device);
  } else if (strcmp(n->op_name, "_Arg") == 0) {
    e->why = FY_WHY_FEED;
    text = say(pl->p, n, e->device, e->why, NULL);
  } else if (pl->set->n == 1) {
    e->why = FY_WHY_ONLY_DEVICE;
    text = say(pl->p, n, e->device, e->why, NULL);
  } else if (self->through_resource) {
    e->why = FY_WHY_RESOURCE;
    text = fy_arena_printf(a, "it uses the resource of '%s', which lives on %s",
                           pl->g->nodes[self->bound_by]->name, fy_groups_short_name(e->device));
  } else if (r->size > 1 && r->by != n->id && (self->bound_by != n->id || r->requested.has_type)) {
    e->why = FY_WHY_COLOCATED;
    text = fy_arena_printf(a, "colocated with '%s' on %s",
                           pl->g->nodes[self->bound_by != n->id ? self->bound_by : r->by]->name,
                           fy_groups_short_name(e->device));
  } else if ((text = refusal(pl, n, e->device, &who)) != NULL) {
    bool kernel = fy_op_has_kernel(n->op, &n->attrs, who->type, NULL);
    e->why = kernel ? FY_WHY_DEVICE_REFUSES : FY_WHY_ONLY_KERNEL;
    text = fy_arena_printf(a, "%s cannot run it: %s", fy_groups_short_name(who), text);
  } else if (e->text) {
    return FY_OK;  // cost.c said it
  } else {
    text = say(pl->p, n, e->device, e->why, NULL);
  }
  if (!text) return fy_fail_oom(err, 64);
  e->text = text;
  return FY_OK;
}

// One device and nothing asked for: the usual case on a machine without accelerators.
static bool trivial(const fy_graph *g, const fy_device_set *set) {
  if (set->n != 1) return false;
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i] && (*g->nodes[i]->device || fy_attrs_get(&g->nodes[i]->attrs, "_class")))
      return false;
  return true;
}

fy_code fy_place_run(const fy_graph *g, const fy_device_set *set, const fy_place_options *o,
                     fy_placement **out, fy_error *err) {
  *out = NULL;
  if (set->n == 0) return fy_fail(err, FY_FAILED_PRECONDITION, "No devices are registered");
  placer pl = {.g = g, .set = set, .o = o};
  pl.p = fy_calloc(1, sizeof *pl.p);
  if (!pl.p) return fy_fail_oom(err, sizeof *pl.p);
  fy_arena_init(&pl.p->arena);
  pl.p->mode = o->mode;
  pl.p->n = g->num_nodes;
  pl.p->nodes = fy_arena_array(&pl.p->arena, g->num_nodes + 1, sizeof *pl.p->nodes);
  fy_code code = pl.p->nodes ? FY_OK : fy_fail_oom(err, g->num_nodes * sizeof *pl.p->nodes);
  if (!code) code = fy_groups_build(&pl.groups, g, set, o->soft, err);
  if (!code && trivial(g, set)) {
    for (size_t i = 0; i < g->num_nodes; i++)
      if (g->nodes[i]) {
        pl.p->nodes[i] = (fy_placed){.device = set->items[0], .why = FY_WHY_ONLY_DEVICE};
        pl.p->nodes[i].text = say(pl.p, g->nodes[i], set->items[0], FY_WHY_ONLY_DEVICE, NULL);
      }
  } else if (!code) {
    code = first_pass(&pl, err);
    if (!code) code = second_pass(&pl, err);
    if (!code && o->mode == FY_PLACE_AUTO && set->n > 1)
      code = fy_place_by_cost(&pl.groups, o, pl.p, err);
    for (size_t i = 0; !code && i < g->num_nodes; i++)
      if (g->nodes[i]) code = give_reason(&pl, g->nodes[i], err);
  }
  fy_groups_free(&pl.groups);
  if (code) {
    fy_placement_free(pl.p);
    return code;
  }
  *out = pl.p;
  return FY_OK;
}

void fy_placement_dump(fy_str *out, const fy_graph *g, const fy_placement *p) {
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (!n) continue;
    fy_str_printf(out, "%s: (%s): %s  [%s] %s\n", n->name, n->op_name, p->nodes[i].device->name,
                  fy_why_name(p->nodes[i].why), p->nodes[i].text);
  }
}

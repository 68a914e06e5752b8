// SPDX-License-Identifier: Apache-2.0
// groups.c: build the groups, in TensorFlow's order: own requests, resource edges, `_class`.

#include "place/groups.h"

#include <string.h>

#include "base/alloc.h"

uint32_t fy_groups_root(fy_groups *gr, uint32_t id) {
  fy_group *it = gr->items;
  while (it[id].parent != id) {
    it[id].parent = it[it[id].parent].parent;
    id = it[id].parent;
  }
  return id;
}

const char *fy_groups_short_name(const fy_device *d) {
  return fy_devname_short(d->name);
}

fy_devmask fy_groups_matching(const fy_groups *gr, const fy_devname *name) {
  fy_devmask m = 0;
  for (int i = 0; i < gr->set->n; i++) {
    fy_devname d;
    if (fy_devname_parse(gr->set->items[i]->name, &d) && fy_devname_is_specification(name, &d))
      m |= (fy_devmask)1 << i;
  }
  return m;
}

static bool is_empty(const fy_devname *d) {
  return !d->has_job && !d->has_replica && !d->has_task && !d->has_type && !d->has_id;
}

// Devices with a kernel for this op and these types. Cached: a graph has few distinct (op, types).
static fy_code supported_mask(fy_groups *gr, const fy_node *node, fy_devmask *out, fy_error *err) {
  uint64_t key = fy_hash_mix(7, (uint64_t)(uintptr_t)node->op), at;
  for (uint32_t i = 0; i < node->attrs.n; i++) {
    const fy_attr *a = &node->attrs.items[i].value;
    if (a->kind == FY_ATTR_TYPE || node->attrs.items[i].name[0] == '_') key = fy_attr_hash(a, key);
  }
  if (node->const_value) key ^= 1;
  if (node->op && fy_imap_get(&gr->kernels, key, &at)) {
    *out = gr->masks[at];
    return FY_OK;
  }
  fy_devmask m = 0;
  for (int i = 0; i < gr->set->n; i++)
    if (fy_place_supported(node, gr->set->items[i], NULL)) m |= (fy_devmask)1 << i;
  if (!fy_grow(&gr->masks, &gr->cap_masks, gr->num_masks + 1, sizeof *gr->masks) ||
      !fy_imap_put(&gr->kernels, key, gr->num_masks))
    return fy_fail_oom(err, sizeof *gr->masks);
  gr->masks[gr->num_masks++] = m;
  *out = m;
  return FY_OK;
}

static fy_code no_kernel(fy_groups *gr, const fy_node *node, fy_error *err) {
  fy_str s;
  fy_str_init(&s);
  fy_str_printf(
      &s, "No OpKernel was registered to support Op '%s' used by {{node %s}} with these attrs: [",
      node->op_name, node->name);
  fy_attrs_print(&s, &node->attrs);
  fy_str_add(&s, "]\nRegistered devices: [");
  for (int i = 0; i < gr->set->n; i++) {
    bool seen = false;
    for (int k = 0; k < i; k++)
      seen |= strcmp(gr->set->items[k]->type, gr->set->items[i]->type) == 0;
    if (!seen) fy_str_printf(&s, "%s%s", i ? ", " : "", gr->set->items[i]->type);
  }
  fy_str_add(&s, "]\nRegistered kernels:\n");
  size_t before = s.len;
  if (node->op) fy_op_print_kernels(&s, node->op);
  if (s.len == before) fy_str_add(&s, "  <no registered kernels>\n");
  fy_fail(err, FY_INVALID_ARGUMENT, "%s\n\t [[%s]]", fy_str_text(&s), node->name);
  fy_str_free(&s);
  return FY_INVALID_ARGUMENT;
}

// A node without inputs that makes a resource or a reference owns it: its request is the resource's.
static bool makes_resource(const fy_node *n) {
  if (n->num_inputs != 0 || n->num_outputs != 1) return false;
  fy_dtype t = n->outputs[0].dtype;
  return t == FY_RESOURCE || fy_dtype_is_ref(t);
}

static fy_code init_member(fy_groups *gr, const fy_node *node, fy_error *err) {
  fy_group *m = &gr->items[node->id];
  m->parent = m->by = m->bound_by = node->id;
  m->size = 1;
  FY_TRY(supported_mask(gr, node, &m->supported, err));
  if (!m->supported) return no_kernel(gr, node, err);
  if (!*node->device) return FY_OK;
  fy_devname d;
  if (!fy_devname_parse(node->device, &d)) {
    fy_str s;
    fy_str_init(&s);
    fy_node_print(&s, node);
    fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Malformed device specification '%s' in node: {name:'%s' id:%u op device:{requested: '%s', "
        "assigned: ''} def:{%s}}\n\t [[%s]]",
        node->device, node->name, node->id + 2, node->device, fy_str_text(&s), node->name);
    fy_str_free(&s);
    return FY_INVALID_ARGUMENT;
  }
  m->requested = d;
  if (makes_resource(node) && !is_empty(&d)) {
    m->resource = d;
    m->has_resource = true;
  }
  return FY_OK;
}

static int popcount(fy_devmask m) {
  return __builtin_popcountll((uint64_t)m) + __builtin_popcountll((uint64_t)(m >> 64));
}

// Joins two groups. |over|: on a conflict of requests the first one's wins silently (resource edges).
static fy_code join(fy_groups *gr, uint32_t a, uint32_t b, bool over, fy_error *err) {
  uint32_t ra = fy_groups_root(gr, a), rb = fy_groups_root(gr, b);
  if (ra == rb) return FY_OK;
  fy_group *ga = &gr->items[ra], *gb = &gr->items[rb];
  fy_devname requested = ga->requested, resource = ga->resource;
  bool has_resource = ga->has_resource || gb->has_resource;
  if (ga->has_resource && gb->has_resource) {
    fy_code code = fy_devname_merge(&resource, &gb->resource, false, err);
    if (code) {
      fy_error_prepend(
          err,
          "Cannot place the graph because a reference or resource edge connects colocation "
          "groups with incompatible resource devices: ");
      return code;
    }
  } else if (gb->has_resource) {
    resource = gb->resource;
  }
  if (over) {
    fy_devname merged = requested;
    if (fy_devname_merge(&merged, &gb->requested, false, NULL) == FY_OK) requested = merged;
  } else {
    FY_TRY(fy_devname_merge(&requested, &gb->requested, gr->soft, err));
  }
  fy_devmask both = ga->supported & gb->supported;
  if (!both)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "because no device type supports both of those nodes and the other nodes "
                   "colocated with them.");
  if (ga->size < gb->size) {
    uint32_t t = ra;
    ra = rb;
    rb = t;
  }
  fy_group *root = &gr->items[ra], *leaf = &gr->items[rb];
  bool narrowed = popcount(leaf->supported) < popcount(root->supported);
  uint32_t by = root->by;
  if (is_empty(&root->requested) && (!is_empty(&leaf->requested) || narrowed)) by = leaf->by;
  root->requested = requested;
  root->resource = resource;
  root->has_resource = has_resource;
  root->supported = both;
  root->size += leaf->size;
  root->by = by;
  leaf->parent = ra;
  return FY_OK;
}

// Ops that may hold resources of other devices without living there.
static bool exempt(const fy_node *n) {
  static const char *const names[] = {"PartitionedCall",
                                      "StatefulPartitionedCall",
                                      "IdentityN",
                                      "If",
                                      "StatelessIf",
                                      "Case",
                                      "StatelessCase",
                                      "While",
                                      "StatelessWhile",
                                      "MapDataset",
                                      "GeneratorDataset",
                                      "DeleteMultiDeviceIterator",
                                      "ReduceDataset",
                                      "_Retval",
                                      "_FerryFlow",
                                      "_FerryLoop",
                                      "_If",
                                      "_While",
                                      "For",
                                      "RemoteCall"};
  if (n->function) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(n->op_name, names[i]) == 0) return true;
  return false;
}

static fy_code join_resources(fy_groups *gr, const fy_node *node, fy_error *err) {
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_dtype t = node->input_types[i];
    if ((t != FY_RESOURCE && !fy_dtype_is_ref(t)) || exempt(node)) continue;
    const fy_node *src = node->inputs[i].node;
    if (strcmp(src->op_name, "_Arg") == 0) continue;  // the handle itself says where it lives
    fy_code code = join(gr, src->id, node->id, true, err);
    if (code) {
      fy_error_append(err, " The edge src node is %s , and the dst node is %s", src->name,
                      node->name);
      return code;
    }
    gr->items[node->id].bound_by = src->id;
    gr->items[node->id].through_resource = true;
  }
  return FY_OK;
}

static fy_code join_class(fy_groups *gr, const fy_node *node, fy_map *roots, fy_error *err) {
  const fy_attr *c = fy_attrs_get(&node->attrs, "_class");
  if (!c || !c->is_list || c->kind != FY_ATTR_STRING) return FY_OK;
  for (uint32_t i = 0; i < c->n; i++) {
    fy_view s = c->v.strings[i];
    if (s.n <= 5 || memcmp(s.p, "loc:@", 5) != 0) continue;
    const fy_node *with = fy_map_get(&gr->g->by_name, s.p + 5, s.n - 5);
    if (!with) {  // the named node was optimised away: the first user of the name stands for it
      with = fy_map_get(roots, s.p + 5, s.n - 5);
      if (!with && !fy_map_put(roots, s.p + 5, s.n - 5, (void *)(uintptr_t)node))
        return fy_fail_oom(err, s.n);
      if (!with) continue;
    }
    if (with == node) continue;
    fy_error why;
    fy_error_init(&why);
    fy_code code = join(gr, with->id, node->id, false, &why);
    if (!code) {
      gr->items[node->id].bound_by = with->id;
    } else if (!gr->soft) {
      const char *text = fy_error_text(&why);
      bool types = strncmp(text, "because", 7) == 0;
      fy_str debug;
      fy_str_init(&debug);
      if (types) {
        fy_groups_debug(gr, with->id, &debug);
        fy_groups_debug(gr, node->id, &debug);
      }
      fy_fail(err, FY_INVALID_ARGUMENT,
              "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}%s%s%s\n\t "
              "[[{{node %s}}]]",
              node->name, with->name, types ? " " : ": ", text, fy_str_text(&debug), node->name);
      fy_str_free(&debug);
      fy_error_clear(&why);
      return FY_INVALID_ARGUMENT;
    }
    fy_error_clear(&why);
  }
  return FY_OK;
}

fy_code fy_groups_build(fy_groups *gr, const fy_graph *g, const fy_device_set *set, bool soft,
                        fy_error *err) {
  *gr = (fy_groups){.g = g, .set = set, .soft = soft};
  fy_imap_init(&gr->kernels);
  fy_arena_init(&gr->arena);
  if (set->n > FY_PLACE_MAX_DEVICES)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%d devices are more than the %d that can be placed on", set->n,
                   FY_PLACE_MAX_DEVICES);
  gr->items = fy_arena_array(&gr->arena, g->num_nodes + 1, sizeof *gr->items);
  if (!gr->items) return fy_fail_oom(err, g->num_nodes * sizeof *gr->items);
  bool any_resource = false, any_class = false;
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (!n) continue;
    FY_TRY(init_member(gr, n, err));
    for (uint32_t k = 0; k < n->num_inputs; k++)
      any_resource |= n->input_types[k] == FY_RESOURCE || fy_dtype_is_ref(n->input_types[k]);
    any_class |= n->attrs.n && fy_attrs_get(&n->attrs, "_class");
  }
  for (size_t i = 0; any_resource && i < g->num_nodes; i++)
    if (g->nodes[i]) FY_TRY(join_resources(gr, g->nodes[i], err));
  if (!any_class) return FY_OK;
  fy_map roots;
  fy_map_init(&roots);
  fy_code code = FY_OK;
  for (size_t i = 0; !code && i < g->num_nodes; i++)
    if (g->nodes[i]) code = join_class(gr, g->nodes[i], &roots, err);
  fy_map_free(&roots);
  return code;
}

void fy_groups_free(fy_groups *gr) {
  fy_imap_free(&gr->kernels);
  fy_free(gr->masks);
  fy_arena_free(&gr->arena);
}

static void print_types(const fy_groups *gr, fy_devmask m, fy_str *out) {
  bool gpu = false, cpu = false;
  for (int i = 0; i < gr->set->n; i++) {
    if (!(m >> i & 1)) continue;
    gpu |= strcmp(gr->set->items[i]->type, "GPU") == 0;
    cpu |= strcmp(gr->set->items[i]->type, "CPU") == 0;
  }
  fy_str_add(out, gpu && cpu ? "GPU, CPU" : gpu ? "GPU" : cpu ? "CPU" : "");
}

void fy_groups_debug(fy_groups *gr, uint32_t id, fy_str *out) {
  uint32_t root = fy_groups_root(gr, id);
  const fy_group *r = &gr->items[root];
  fy_str_add(
      out,
      "\nColocation Debug Info:\nColocation group had the following types and supported devices: \n"
      "Root Member(assigned_device_name_index_=-1 requested_device_name_='");
  fy_devname_print(out, &r->requested);
  fy_str_add(out, "' assigned_device_name_='' resource_device_name_='");
  if (r->has_resource) fy_devname_print(out, &r->resource);
  fy_str_add(out, "' supported_device_types_=[");
  print_types(gr, r->supported, out);
  fy_str_add(out, "] possible_devices_=[]\n");
  for (size_t i = 0; i < gr->g->num_nodes; i++) {
    const fy_node *n = gr->g->nodes[i];
    if (!n || fy_groups_root(gr, n->id) != root) continue;
    fy_devmask m = 0;
    if (supported_mask(gr, n, &m, NULL)) continue;
    fy_str_printf(out, "%s: ", n->op_name);
    print_types(gr, m, out);
    fy_str_add(out, " \n");
  }
  fy_str_add(
      out,
      "\nColocation members, user-requested devices, and framework assigned devices, if any:\n");
  for (size_t i = 0; i < gr->g->num_nodes; i++) {
    const fy_node *n = gr->g->nodes[i];
    if (n && fy_groups_root(gr, n->id) == root)
      fy_str_printf(out, "  %s (%s) %s\n", n->name, n->op_name, n->device);
  }
}

fy_device *fy_groups_first(const fy_groups *gr, fy_devmask mask) {
  fy_device *best = NULL;
  for (int i = 0; i < gr->set->n; i++) {
    if (!(mask >> i & 1)) continue;
    fy_device *d = gr->set->items[i];
    if (!best) {
      best = d;
      continue;
    }
    bool gpu = strcmp(d->type, "GPU") == 0, best_gpu = strcmp(best->type, "GPU") == 0;
    if (gpu != best_gpu ? gpu : strcmp(d->name, best->name) < 0) best = d;
  }
  return best;
}

// ------------------------------------------------------------------ candidates and their errors
static void list_devices(const fy_groups *gr, fy_str *out, const char *sep) {
  for (int i = 0; i < gr->set->n; i++)
    fy_str_printf(out, "%s%s", i ? sep : "", gr->set->items[i]->name);
}

static bool any_gpu(const fy_groups *gr) {
  for (int i = 0; i < gr->set->n; i++)
    if (strcmp(gr->set->items[i]->type, "GPU") == 0) return true;
  return false;
}

static fy_code refuse(fy_groups *gr, uint32_t id, fy_error *err) {
  const fy_node *node = gr->g->nodes[id];
  const fy_group *r = &gr->items[fy_groups_root(gr, id)];
  bool by_group = false;
  fy_str s, names;
  fy_str_init(&s);
  fy_str_init(&names);
  fy_devname own = {0};
  if (*node->device && !fy_devname_parse(node->device, &own))
    fy_devname_parse_local(node->device, &own);
  list_devices(gr, &names, ", ");
  if (*node->device && !fy_groups_matching(gr, &own)) {
    fy_str_printf(
        &s,
        "{{node %s}} was explicitly assigned to %s but available devices are [ %s ]. Make sure the "
        "device specification refers to a valid device.",
        node->name, node->device, fy_str_text(&names));
    if (own.has_type && strcmp(own.type, "GPU") == 0 && !any_gpu(gr))
      fy_str_add(&s, " The requested device appears to be a GPU, but CUDA is not enabled.");
  } else if (r->size > 1 && (*node->device || !fy_groups_matching(gr, &r->requested))) {
    by_group = true;
    fy_str group;
    fy_str_init(&group);
    fy_devname_print(&group, &r->requested);
    fy_str_printf(
        &s,
        "Could not satisfy explicit device specification '%s' because the node "
        "{{colocation_node %s}} was colocated with a group of nodes that required incompatible "
        "device '%s'. All available devices [%s]. ",
        node->device, node->name, fy_str_text(&group), fy_str_text(&names));
    fy_str_free(&group);
    fy_groups_debug(gr, id, &s);
  } else {
    fy_str_printf(
        &s,
        "Could not satisfy explicit device specification '%s' because no supported kernel for %s "
        "devices is available.",
        node->device, own.has_type ? own.type : "any");
    fy_groups_debug(gr, id, &s);
    fy_str_printf(&s, "\nOp: %s\nNode attrs: ", node->op_name);
    fy_attrs_print(&s, &node->attrs);
    fy_str_add(&s, "\nRegistered kernels:\n");
    size_t before = s.len;
    if (node->op) fy_op_print_kernels(&s, node->op);
    if (s.len == before) fy_str_add(&s, "  <no registered kernels>\n");
    // What TensorFlow does not say: each matching device's own reason.
    for (int i = 0; i < gr->set->n; i++) {
      fy_error why;
      fy_error_init(&why);
      if ((fy_groups_matching(gr, &own) >> i & 1) &&
          !fy_place_supported(node, gr->set->items[i], &why))
        fy_str_printf(&s, "%s: %s\n", gr->set->items[i]->name, fy_error_text(&why));
      fy_error_clear(&why);
    }
  }
  fy_fail(err, FY_INVALID_ARGUMENT,
          by_group ? "Cannot assign a device for operation %s: %s\n\t [[{{node %s}}]]"
                   : "Cannot assign a device for operation %s: %s\n\t [[%s]]",
          node->name, fy_str_text(&s), node->name);
  fy_str_free(&s);
  fy_str_free(&names);
  return FY_INVALID_ARGUMENT;
}

// True, with the status, if what |id| asks for would be there but for a device that is lost.
static bool asks_for_lost(fy_groups *gr, uint32_t id, fy_error *err) {
  const fy_node *node = gr->g->nodes[id];
  const fy_devmask asked = fy_groups_matching(gr, &gr->items[fy_groups_root(gr, id)].requested);
  for (int i = 0; i < gr->set->n; i++) {
    const fy_device *d = gr->set->items[i];
    if (!(asked >> i & 1) || !__atomic_load_n(&d->lost, __ATOMIC_RELAXED)) continue;
    fy_fail(err, FY_UNAVAILABLE,
            "device %s is lost, and operation %s asks for it (soft_placement would let it run "
            "elsewhere)\n\t [[{{node %s}}]]",
            d->name, node->name, node->name);
    return true;
  }
  return false;
}

fy_code fy_groups_candidates(fy_groups *gr, uint32_t id, fy_devmask *out, bool *soft_fallback,
                             fy_error *err) {
  fy_group *r = &gr->items[fy_groups_root(gr, id)];
  *soft_fallback = false;
  *out = r->supported;
  if (is_empty(&r->requested)) return FY_OK;
  *out = fy_groups_matching(gr, &r->requested) & r->supported;
  if (*out) return FY_OK;
  if (gr->soft) {
    *soft_fallback = true;
    fy_devname d = r->requested;
    d.has_type = d.has_id = false;
    if (r->has_resource) fy_devname_ensure(&d, &r->resource);
    *out = fy_groups_matching(gr, &d) & r->supported;
    if (*out) return FY_OK;
    d.has_type = d.has_id = false;
    *out = fy_groups_matching(gr, &d) & r->supported;
    if (*out) return FY_OK;
  }
  return asks_for_lost(gr, id, err) ? FY_UNAVAILABLE : refuse(gr, id, err);
}

// SPDX-License-Identifier: Apache-2.0
// colocate.c: a node may be tied to others that this run does not reach. TensorFlow places whole graphs, so
// their device requests hold for it too.

#include <string.h>

#include "execute/callable.h"
#include "place/device_name.h"

typedef struct ties {
  const fy_graph *g;
  uint32_t *up;           // by node: another one of its group, or itself
  uint32_t *num;          // by root: how many are in the group
  uint32_t *next;         // by node with a request: the next one of its group, in order, or NONE
  uint32_t *head, *tail;  // by root: those with requests
} ties;

enum { NONE = UINT32_MAX };

static uint32_t root_of(const ties *t, uint32_t id) {
  while (t->up[id] != id) id = t->up[id] = t->up[t->up[id]];
  return id;
}

// The |k|-th node that |n| names as its colocation, or NULL; |*more| is false after the last name.
static const fy_node *named(const fy_graph *g, const fy_node *n, uint32_t k, bool *more) {
  const fy_attr *a = fy_attrs_get(&n->attrs, "_class");
  *more = a && a->kind == FY_ATTR_STRING && a->is_list && k < a->n;
  if (!*more) return NULL;
  const fy_view v = a->v.strings[k];
  if (v.n <= 5 || memcmp(v.p, "loc:@", 5) != 0) return NULL;
  return fy_map_get(&g->by_name, v.p + 5, v.n - 5);
}

static bool any_named(const fy_graph *g) {
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i] && g->nodes[i]->attrs.n && fy_attrs_get(&g->nodes[i]->attrs, "_class"))
      return true;
  return false;
}

static void tie_all(ties *t) {
  bool more = true;
  for (uint32_t i = 0; i < t->g->num_nodes; i++) t->up[i] = i;
  for (uint32_t i = 0; i < t->g->num_nodes; i++) {
    const fy_node *n = t->g->nodes[i];
    for (uint32_t k = 0; n && n->attrs.n; k++) {
      const fy_node *with = named(t->g, n, k, &more);
      if (!more) break;
      if (!with) continue;
      t->up[root_of(t, n->id)] = root_of(t, with->id);
    }
  }
}

static void list_requests(ties *t) {
  for (uint32_t i = 0; i < t->g->num_nodes; i++) t->head[i] = t->next[i] = NONE;
  for (uint32_t i = 0; i < t->g->num_nodes; i++) {
    const fy_node *n = t->g->nodes[i];
    if (!n) continue;
    uint32_t r = root_of(t, i);
    t->num[r]++;
    if (!*n->device) continue;
    if (t->head[r] == NONE)
      t->head[r] = i;
    else
      t->next[t->tail[r]] = i;
    t->tail[r] = i;
  }
}

static fy_code fail(const ties *t, const fy_node *to, const fy_node *from, const char *why,
                    fy_error *err) {
  bool more;
  const fy_node *with = named(t->g, to, 0, &more);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}: %s"
                 "\n\t [[{{node %s}}]]",
                 to->name, with ? with->name : from->name, why, to->name);
}

static fy_code adopt_request(const ties *t, const fy_node *from, fy_node *to, bool soft,
                             fy_arena *arena, fy_error *err) {
  fy_devname mine, theirs;
  fy_str merged;
  if (!fy_devname_parse(from->device, &theirs) || !fy_devname_parse(to->device, &mine))
    return FY_OK;  // a name that is none is told by the placer
  fy_error why;
  fy_error_init(&why);
  // TensorFlow merges into the larger group, and names its request first.
  bool larger = t->num[root_of(t, from->id)] > 2;
  fy_devname *target = larger ? &theirs : &mine;
  fy_code code = fy_devname_merge(target, larger ? &mine : &theirs, soft, &why);
  if (code && !soft) fail(t, to, from, fy_error_text(&why), err);
  fy_error_clear(&why);
  if (code) return soft ? FY_OK : FY_INVALID_ARGUMENT;
  fy_str_init(&merged);
  fy_devname_print(&merged, target);
  char *device = merged.failed ? NULL : fy_arena_strdup(arena, fy_str_text(&merged));
  fy_str_free(&merged);
  if (!device) return fy_fail_oom(err, 64);
  to->device = device;
  return FY_OK;
}

fy_code fy_adopt_colocations(const fy_graph *from, fy_graph *copy, bool soft, fy_error *err) {
  if (!any_named(from)) return FY_OK;
  fy_arena tmp;
  fy_arena_init(&tmp);
  ties t = {.g = from};
  uint32_t **arrays[] = {&t.up, &t.num, &t.next, &t.head, &t.tail};
  fy_code code = FY_OK;
  for (int i = 0; i < 5 && !code; i++)
    if (!(*arrays[i] = fy_arena_array(&tmp, from->num_nodes + 1, sizeof(uint32_t))))
      code = fy_fail_oom(err, from->num_nodes * sizeof(uint32_t));
  if (!code) tie_all(&t);
  if (!code) list_requests(&t);
  for (size_t i = 0; !code && i < copy->num_nodes; i++) {
    fy_node *n = copy->nodes[i];
    const fy_node *own = n ? fy_map_gets(&from->by_name, n->name) : NULL;
    if (!own || t.num[root_of(&t, own->id)] < 2) continue;
    for (uint32_t k = t.head[root_of(&t, own->id)]; k != NONE && !code; k = t.next[k])
      if (!fy_map_gets(&copy->by_name, from->nodes[k]->name))
        code = adopt_request(&t, from->nodes[k], n, soft, &copy->arena, err);
  }
  fy_arena_free(&tmp);
  return code;
}

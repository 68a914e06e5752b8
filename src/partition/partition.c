// SPDX-License-Identifier: Apache-2.0
// partition.c: walk every edge once; where the memories differ, one transfer per (value, destination).

#include "partition/partition.h"

#include <string.h>

#include "base/alloc.h"

static bool is_feed(const fy_node *n) {
  return strcmp(n->op_name, "_Arg") == 0;
}

typedef struct cutter {
  fy_parts *parts;
  const fy_graph *g;
  const fy_placement *p;
  const int *feed_spaces;
  fy_imap seen;  // value and destination -> transfer + 1
} cutter;

static int value_space(const cutter *c, fy_output v) {
  if (is_feed(v.node)) {
    const fy_attr *index = fy_attrs_get(&v.node->attrs, "index");
    return c->feed_spaces && index ? c->feed_spaces[index->v.i] : 0;
  }
  if (v.node->const_value) return 0;
  return fy_place_output_space(v.node, c->p->nodes[v.node->id].device, (uint32_t)v.index);
}

static int64_t value_bytes(fy_output v) {
  const fy_node_out *o = &v.node->outputs[v.index];
  int64_t count;
  if (o->shape.rank < 0 || !fy_shape_count(o->shape.rank, o->shape.dims, &count)) return -1;
  return count * (int64_t)fy_dtype_storage(fy_dtype_base(o->dtype));
}

static const char *explain(cutter *c, fy_output v, const fy_node *cause, uint32_t input,
                           const fy_device *from, const fy_device *to, int from_space,
                           int to_space) {
  fy_arena *a = &c->parts->arena;
  const char *origin = v.node->num_origins ? v.node->origins[0] : v.node->name;
  const char *what = is_feed(v.node)   ? "is fed by the client in host memory"
                     : from_space == 0 ? "is in host memory"
                                       : "is in the memory of its device";
  if (!cause)
    return fy_arena_printf(a, "'%s' %s (%s) and is fetched by the client", origin, what,
                           from->name);
  if (to_space == 0)
    return fy_arena_printf(a, "'%s' %s (%s); input %u of '%s' (%s on %s) reads host memory", origin,
                           what, from->name, input, cause->name, cause->op_name, to->name);
  return fy_arena_printf(a, "'%s' %s (%s); '%s' (%s) runs on %s and reads it as input %u", origin,
                         what, from->name, cause->name, cause->op_name, to->name, input);
}

static fy_code need(cutter *c, fy_output v, int to_space, fy_node *cause, uint32_t input,
                    fy_device *to, int32_t *out, fy_error *err) {
  fy_parts *parts = c->parts;
  int from_space = value_space(c, v);
  *out = -1;
  if (from_space == to_space) return FY_OK;
  uint64_t key = ((uint64_t)v.node->id << 24) ^ ((uint64_t)(uint32_t)v.index << 8) ^
                 (uint64_t)to_space,
           at;
  if (fy_imap_get(&c->seen, key, &at)) {
    *out = (int32_t)at;
    return FY_OK;
  }
  if (!fy_dtype_is_plain(fy_dtype_base(v.node->outputs[v.index].dtype)))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "output %d of node '%s' is %s and cannot be moved between memories", v.index,
                   v.node->name, fy_dtype_name(v.node->outputs[v.index].dtype));
  if (!fy_grow(&parts->transfers, &parts->cap_transfers, parts->num_transfers + 1,
               sizeof *parts->transfers))
    return fy_fail_oom(err, sizeof *parts->transfers);
  fy_device *from = c->p->nodes[v.node->id].device;
  fy_transfer t = {.value = v,
                   .from_space = from_space,
                   .to_space = to_space,
                   .from = from,
                   .to = to,
                   .cause = cause,
                   .bytes = value_bytes(v)};
  t.why = explain(c, v, cause, input, from, to, from_space, to_space);
  if (!t.why || !fy_imap_put(&c->seen, key, parts->num_transfers))
    return fy_fail_oom(err, sizeof t);
  *out = (int32_t)parts->num_transfers;
  parts->transfers[parts->num_transfers++] = t;
  return FY_OK;
}

static bool takes_anything(const fy_node *node) {
  return node->function ||
         (node->op && node->op->impl && (node->op->impl->flags & FY_OP_ANY_SPACE));
}

static bool asks_for_host(const fy_node *node, uint32_t input) {
  return node->op && node->op->impl && input < 64 && (node->op->impl->host_inputs >> input & 1) &&
         fy_dtype_is_plain(fy_dtype_base(node->input_types[input]));
}

static fy_code cut_node(cutter *c, fy_node *node, fy_error *err) {
  fy_device *d = c->p->nodes[node->id].device;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_output v = node->inputs[i];
    // A call takes its arguments wherever they are, but what it looks at itself must be on the host.
    if (takes_anything(node) && !asks_for_host(node, i)) continue;
    int want = takes_anything(node) || fy_place_input_on_host(node, d, i) ? 0 : fy_space_of(d);
    fy_device *src = c->p->nodes[v.node->id].device;
    if (src != d && src->is_host && d->is_host && !v.node->const_value) c->parts->handovers++;
    int32_t t;
    FY_TRY(need(c, v, want, node, i, d, &t, err));
    if (t < 0) continue;
    int32_t **row = &c->parts->input_transfer[node->id];
    if (!*row) {
      *row = fy_arena_alloc(&c->parts->arena, node->num_inputs * sizeof **row);
      if (!*row) return fy_fail_oom(err, node->num_inputs * sizeof **row);
      for (uint32_t k = 0; k < node->num_inputs; k++) (*row)[k] = -1;
    }
    (*row)[i] = t;
  }
  return FY_OK;
}

fy_code fy_partition_run(const fy_graph *g, const fy_placement *p, const fy_output *fetches,
                         int num_fetches, const int *fetch_spaces, const int *feed_spaces,
                         fy_device *client, fy_parts **out, fy_error *err) {
  fy_parts *parts = fy_calloc(1, sizeof *parts);
  *out = NULL;
  if (!parts) return fy_fail_oom(err, sizeof *parts);
  fy_arena_init(&parts->arena);
  parts->graph = g;
  parts->placement = p;
  parts->input_transfer =
      fy_arena_array(&parts->arena, g->num_nodes + 1, sizeof *parts->input_transfer);
  parts->fetch_transfer =
      fy_arena_array(&parts->arena, (size_t)num_fetches + 1, sizeof *parts->fetch_transfer);
  fy_code code = FY_OK;
  cutter c = {.parts = parts, .g = g, .p = p, .feed_spaces = feed_spaces};
  fy_imap_init(&c.seen);
  if (!parts->input_transfer || !parts->fetch_transfer) code = fy_fail_oom(err, sizeof *parts);
  for (size_t i = 0; !code && i < g->num_nodes; i++)
    if (g->nodes[i]) code = cut_node(&c, g->nodes[i], err);
  for (int i = 0; !code && i < num_fetches; i++) {
    parts->fetch_transfer[i] = -1;
    int space = fetch_spaces ? fetch_spaces[i] : 0;
    if (space >= 0)
      code = need(&c, fetches[i], space, NULL, 0, client, &parts->fetch_transfer[i], err);
  }
  fy_imap_free(&c.seen);
  if (code) {
    fy_parts_free(parts);
    return code;
  }
  *out = parts;
  return FY_OK;
}

void fy_parts_free(fy_parts *parts) {
  if (!parts) return;
  fy_free(parts->transfers);
  fy_arena_free(&parts->arena);
  fy_free(parts);
}

void fy_parts_dump(fy_str *out, const fy_parts *parts) {
  for (size_t i = 0; i < parts->num_transfers; i++) {
    const fy_transfer *t = &parts->transfers[i];
    fy_str_printf(out, "%s:%d  %s -> %s  ", t->value.node->name, t->value.index, t->from->name,
                  t->to->name);
    if (t->bytes >= 0)
      fy_str_printf(out, "%lld bytes", (long long)t->bytes);
    else
      fy_str_add(out, "? bytes");
    fy_str_printf(out, "  %s\n", t->why);
  }
}

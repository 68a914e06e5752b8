// SPDX-License-Identifier: Apache-2.0
// run_metadata.c: what happened in a run as a RunMetadata: one DeviceStepStats per device, a
// transfer under "<device>/memcpy", and the partition graphs. What ran is what is listed: constants
// and nodes that the optimiser made vanish are not. _SOURCE, arguments and results are there as
// TensorFlow has them, since tools expect them.

#include <string.h>

#include "api/partition_graphs.h"
#include "api/session.h"
#include "base/alloc.h"
#include "base/map.h"
#include "config.pb-c.h"
#include "execute/trace.h"
#include "memory/pool.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

typedef struct stats {
  const fy_trace *trace;
  const fy_cuts *cuts;
  fy_arena *arena;
  int64_t to_wall_ns;  // host clock to nanoseconds since 1970
  Tensorflow__StepStats *all;
  size_t cap_devices;
  size_t *caps;  // of node_stats, by position in |all|
} stats;

static char *borrow(const char *s) {
  return (char *)(uintptr_t)s;
}

static bool grow(fy_arena *a, void *array_ptr, size_t n, size_t *cap, size_t elem) {
  if (n < *cap) return true;
  size_t want = *cap ? *cap * 2 : 8;
  void *fresh = fy_arena_array(a, want, elem), *old;
  if (!fresh) return false;
  memcpy(&old, array_ptr, sizeof old);
  if (n) memcpy(fresh, old, n * elem);
  memcpy(array_ptr, &fresh, sizeof fresh);
  *cap = want;
  return true;
}

static Tensorflow__DeviceStepStats *device_stats(stats *s, const char *name, size_t *at) {
  for (*at = 0; *at < s->all->n_dev_stats; (*at)++)
    if (strcmp(s->all->dev_stats[*at]->device, name) == 0) return s->all->dev_stats[*at];
  size_t caps = s->cap_devices;
  if (!grow(s->arena, &s->caps, *at, &caps, sizeof *s->caps) ||
      !grow(s->arena, &s->all->dev_stats, *at, &s->cap_devices, sizeof *s->all->dev_stats))
    return NULL;
  Tensorflow__DeviceStepStats *d =
      fy_wire_new(&tensorflow__device_step_stats__descriptor, s->arena);
  if (!d) return NULL;
  d->device = borrow(name);
  s->all->dev_stats[s->all->n_dev_stats++] = d;
  s->caps[*at] = 0;
  return d;
}

static Tensorflow__NodeExecStats *add(stats *s, const char *device, const char *name,
                                      const char *label, int64_t start_ns, int64_t end_ns) {
  size_t at;
  Tensorflow__DeviceStepStats *d = device_stats(s, device, &at);
  Tensorflow__NodeExecStats *n = fy_wire_new(&tensorflow__node_exec_stats__descriptor, s->arena);
  if (!d || !n || !name || !label ||
      !grow(s->arena, &d->node_stats, d->n_node_stats, &s->caps[at], sizeof *d->node_stats))
    return NULL;
  int64_t start = start_ns + s->to_wall_ns, took = end_ns - start_ns;
  n->node_name = borrow(name);
  n->timeline_label = borrow(label);
  n->all_start_nanos = n->scheduled_nanos = start;
  n->all_start_micros = n->scheduled_micros = start / 1000;
  n->op_end_rel_nanos = n->all_end_rel_nanos = took;
  n->op_end_rel_micros = n->all_end_rel_micros = (took + 999) / 1000;
  d->node_stats[d->n_node_stats++] = n;
  return n;
}

// "sum = AddV2(b/_3, b2/_5)"
static const char *label_of(const stats *s, const char *name, const char *op, const fy_node *node) {
  fy_str text;
  fy_str_init(&text);
  fy_str_printf(&text, "%s = %s(", name, op);
  for (uint32_t i = 0; node && i < node->num_inputs; i++) {
    const char *in = fy_cuts_name(s->cuts, node->inputs[i], fy_cuts_device(s->cuts, node));
    fy_str_printf(&text, "%s%s", i ? ", " : "", in ? in : "");
  }
  fy_str_addc(&text, ')');
  const char *out = text.failed ? NULL : fy_arena_strdup(s->arena, text.p);
  fy_str_free(&text);
  return out;
}

static fy_code add_memory(stats *s, const fy_trace_event *e, Tensorflow__NodeExecStats *n,
                          fy_error *err) {
  if (!e->out_dtype || !e->device) return FY_OK;
  Tensorflow__NodeOutput *o = fy_wire_new(&tensorflow__node_output__descriptor, s->arena);
  Tensorflow__TensorDescription *t =
      fy_wire_new(&tensorflow__tensor_description__descriptor, s->arena);
  Tensorflow__AllocationDescription *a =
      fy_wire_new(&tensorflow__allocation_description__descriptor, s->arena);
  Tensorflow__AllocatorMemoryUsed *m =
      fy_wire_new(&tensorflow__allocator_memory_used__descriptor, s->arena);
  n->output = fy_arena_array(s->arena, 1, sizeof *n->output);
  n->memory = fy_arena_array(s->arena, 1, sizeof *n->memory);
  if (!o || !t || !a || !m || !n->output || !n->memory) return fy_fail_oom(err, sizeof *t);
  fy_pshape shape = {e->out_rank, e->out_dims};
  const char *allocator = e->device->memory ? fy_mempool_name(e->device->memory) : "cpu";
  t->dtype = (Tensorflow__DataType)e->out_dtype;
  FY_TRY(fy_wire_shape_write(&shape, s->arena, &t->shape, err));
  a->requested_bytes = a->allocated_bytes = e->out_bytes;
  a->allocator_name = borrow(allocator);
  t->allocation_description = a;
  o->tensor_description = t;
  n->output[n->n_output++] = o;
  m->allocator_name = borrow(allocator);
  m->total_bytes = m->peak_bytes = m->live_bytes = e->out_bytes;
  n->memory[n->n_memory++] = m;
  return FY_OK;
}

static fy_code add_event(stats *s, const fy_trace_event *e, fy_error *err) {
  const fy_program *p = s->trace->program;
  const char *device = e->device ? e->device->name : p->devices->client->name;
  const char *name = e->node, *label;
  if (strncmp(e->op, "Memcpy", 6) == 0) {
    device = fy_arena_printf(s->arena, "%s/memcpy", device);
    name = fy_arena_printf(s->arena, "%s:%s", e->node, e->op);
    label = fy_arena_printf(s->arena, "%s = %s(%s), %lld bytes%s%s", e->node, e->op, e->node,
                            (long long)e->bytes, e->why ? ": " : "", e->why ? e->why : "");
  } else {
    const fy_node *node = fy_graph_find(p->graph, e->node);
    if (node && strcmp(node->op_name, e->op) != 0) node = NULL;  // a function's own
    label = label_of(s, e->node, e->op, node);
  }
  if (!device) return fy_fail_oom(err, 64);
  Tensorflow__NodeExecStats *n = add(s, device, name, label, e->start_ns, e->end_ns);
  if (!n) return fy_fail_oom(err, sizeof *n);
  n->thread_id = e->thread;
  n->memory_stats = fy_wire_new(&tensorflow__memory_stats__descriptor, s->arena);
  if (!n->memory_stats) return fy_fail_oom(err, sizeof *n);
  return add_memory(s, e, n, err);
}

static fy_code add_ends(stats *s, fy_error *err) {
  const fy_program *p = s->trace->program;
  const char *client = p->devices->client->name;
  int64_t start = s->trace->start_ns, end = s->trace->end_ns;
  for (size_t id = 0; id < p->graph->num_nodes; id++) {
    const fy_node *n = p->graph->nodes[id];
    if (!n || strcmp(n->op_name, "_Arg") != 0) continue;
    if (!add(s, client, n->name, label_of(s, n->name, "_Arg", NULL), start, start))
      return fy_fail_oom(err, 64);
  }
  for (int i = 0; i < p->num_fetches; i++) {
    const char *name = fy_cuts_retval(s->cuts, i);
    const char *from = fy_cuts_name(s->cuts, fy_cuts_fetch(s->cuts, i), p->devices->client);
    if (!name || !from) return fy_fail_oom(err, 64);
    const char *label = fy_arena_printf(s->arena, "%s = _Retval(%s)", name, from);
    if (!add(s, client, name, label, end, end)) return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

static fy_code add_sources(stats *s, fy_error *err) {
  const fy_program *p = s->trace->program;
  for (int d = 0; d < p->devices->n; d++) {
    bool used = false;
    for (size_t id = 0; id < p->graph->num_nodes && !used; id++)
      used = p->graph->nodes[id] &&
             fy_cuts_device(s->cuts, p->graph->nodes[id]) == p->devices->items[d];
    if (used && !add(s, p->devices->items[d]->name, "_SOURCE", "_SOURCE = NoOp()",
                     s->trace->start_ns, s->trace->start_ns))
      return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

static fy_code fill(const fy_trace *trace, bool want_stats, bool partitions, fy_arena *arena,
                    const fy_cuts *cuts, Tensorflow__RunMetadata *m, fy_error *err) {
  if (want_stats) {
    stats s = {.trace = trace,
               .cuts = cuts,
               .arena = arena,
               .to_wall_ns = fy_wall_micros() * 1000 - fy_now_ns(),
               .all = fy_wire_new(&tensorflow__step_stats__descriptor, arena)};
    if (!s.all) return fy_fail_oom(err, sizeof *s.all);
    FY_TRY(add_sources(&s, err));
    for (size_t i = 0; i < trace->n; i++) FY_TRY(add_event(&s, &trace->events[i], err));
    FY_TRY(add_ends(&s, err));
    m->step_stats = s.all;
  }
  if (partitions) FY_TRY(fy_cuts_graphs(cuts, &m->n_partition_graphs, &m->partition_graphs, err));
  return FY_OK;
}

fy_code fy_api_run_metadata(const fy_trace *trace, bool want_stats, bool partitions,
                            TF_Buffer *buffer, fy_error *err) {
  fy_arena arena;
  fy_cuts cuts = {0};
  fy_arena_init(&arena);
  Tensorflow__RunMetadata *m = fy_wire_new(&tensorflow__run_metadata__descriptor, &arena);
  fy_code code = m ? FY_OK : fy_fail_oom(err, sizeof *m);
  if (!code && trace->program) {
    code = fy_cuts_make(trace->program, &arena, &cuts, err);
    if (!code) code = fill(trace, want_stats, partitions, &arena, &cuts, m, err);
    fy_cuts_free(&cuts);
  }
  if (!code) code = fy_api_message_to_buffer(&m->base, buffer, err);
  fy_arena_free(&arena);
  return code;
}

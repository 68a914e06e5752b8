// SPDX-License-Identifier: Apache-2.0
// report.c: gathers what a program knows of itself into one report: fates, transfers, memory, sums.

#include "observe/report.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "memory/pool.h"

const char *fy_report_device_name(const fy_device *d) {
  const char *p = d ? strstr(d->name, "/device:") : NULL;
  return p ? p + strlen("/device:") : d ? d->name : "-";
}

const char *fy_report_label(const fy_node *n) {
  return strcmp(n->op_name, "_Arg") == 0 && n->num_origins ? n->origins[0] : n->name;
}

const char *fy_report_bytes(double bytes, char out[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t u = 0;
  while (bytes >= 1024 && u + 1 < sizeof units / sizeof *units) bytes /= 1024, u++;
  snprintf(out, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
  return out;
}

const char *fy_report_ns(double ns, char out[32]) {
  if (ns < 1e3)
    snprintf(out, 32, "%.0f ns", ns);
  else if (ns < 1e6)
    snprintf(out, 32, "%.1f us", ns / 1e3);
  else if (ns < 1e9)
    snprintf(out, 32, "%.2f ms", ns / 1e6);
  else
    snprintf(out, 32, "%.2f s", ns / 1e9);
  return out;
}

void fy_report_shorten(fy_str *out, const char *text) {
  static const char local[] = "/job:localhost/replica:0/task:0/device:";
  for (const char *hit; (hit = strstr(text, local)) != NULL; text = hit + sizeof local - 1)
    fy_str_addn(out, text, (size_t)(hit - text));
  fy_str_add(out, text);
}

double fy_report_link_ns(const fy_device_set *set, int from, int to, double bytes) {
  double ns = 0;
  for (int side = 0; side < 2 && from != to; side++) {
    int space = side ? to : from;
    if (!space) continue;
    const fy_device_info *f = &set->items[space - 1]->facts;
    ns += f->link_latency_ns + (f->link_bytes_per_s > 0 ? bytes / f->link_bytes_per_s * 1e9 : 0);
  }
  return ns;
}

// ------------------------------------------------------------------ memory
static bool renames(const fy_node *n) {
  return n->op && n->op->impl && (n->op->impl->flags & FY_OP_ALIAS);
}

void fy_report_memory(const fy_program *p, int space, fy_space_memory *out) {
  const fy_device_set *set = p->devices;
  *out = (fy_space_memory){.device = space ? set->items[space - 1] : set->client, .peak_node = ""};
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->space != space) continue;
    bool known = val->rank >= 0;
    switch (val->storage) {
      case FY_STORE_CONST:
        if (!renames(val->node)) out->weights_bytes += val->bytes;
        break;
      case FY_STORE_FEED:
        out->feed_bytes += known ? val->bytes : 0;
        out->unknown_values += !known;
        break;
      case FY_STORE_FETCH:
        if (val->root == v) out->result_bytes += val->bytes;
        break;
      case FY_STORE_DYNAMIC:
        if (!renames(val->node)) out->dynamic_bytes += known ? val->bytes : 0;
        out->unknown_values += !known;
        break;
      default: break;
    }
  }
  if (space < p->plan.num_spaces) {
    out->planned_bytes = p->plan.arena_bytes[space];
    uint32_t step = p->plan.peak_step[space];
    if (out->planned_bytes && step < p->num_instrs)
      out->peak_node = fy_report_label(p->instrs[step].node);
  }
  out->peak_bytes = out->weights_bytes + out->planned_bytes + out->feed_bytes + out->result_bytes +
                    out->dynamic_bytes;
  fy_mempool_stats s;
  fy_mempool_stats_get(out->device->memory, &s);
  out->limit_bytes = s.limit_bytes ? s.limit_bytes : out->device->facts.memory_limit;
}

static fy_code collect_memory(fy_report *r, fy_error *err) {
  const fy_device_set *set = r->program->devices;
  r->memory = fy_arena_array(&r->arena, (size_t)set->n + 1, sizeof *r->memory);
  if (!r->memory) return fy_fail_oom(err, sizeof *r->memory);
  for (int space = 0; space <= set->n; space++) {
    if (space && set->items[space - 1]->is_host) continue;
    fy_report_memory(r->program, space, &r->memory[r->num_memory]);
    r->sizes_unknown |= r->memory[r->num_memory].unknown_values > 0;
    r->num_memory++;
  }
  return FY_OK;
}

// ------------------------------------------------------------------ transfers
static fy_code collect_transfers(fy_report *r, fy_error *err) {
  const fy_parts *parts = r->program->parts;
  r->transfers = fy_arena_array(&r->arena, parts->num_transfers + 1, sizeof *r->transfers);
  if (!r->transfers) return fy_fail_oom(err, sizeof *r->transfers);
  for (size_t i = 0; i < parts->num_transfers; i++) {
    const fy_transfer *t = &parts->transfers[i];
    fy_report_transfer *e = &r->transfers[r->num_transfers++];
    const fy_device_set *set = r->program->devices;
    const fy_device *from = t->from_space ? set->items[t->from_space - 1] : set->client;
    const fy_device *to = t->to_space      ? set->items[t->to_space - 1]
                          : t->to->is_host ? t->to
                                           : set->client;
    e->transfer = t;
    e->once = t->value.node->const_value != NULL;
    e->value = fy_arena_printf(&r->arena, "%s:%d", fy_report_label(t->value.node), t->value.index);
    e->from = fy_report_device_name(from);
    e->to = fy_report_device_name(to);
    e->cause = t->cause ? fy_report_label(t->cause) : NULL;
    e->cause_op = t->cause ? t->cause->op_name : NULL;
    e->ns = fy_report_link_ns(set, t->from_space, t->to_space, t->bytes < 0 ? 0 : (double)t->bytes);
    if (!e->value) return fy_fail_oom(err, 32);
    int64_t bytes = t->bytes < 0 ? 0 : t->bytes;
    r->sizes_unknown |= t->bytes < 0;
    if (e->once) {
      r->once_moves++;
      r->once_bytes += bytes;
    } else {
      r->moves++;
      r->transfer_ns += e->ns;
      *(t->from_space && t->to_space ? &r->bytes_between
        : t->to_space                ? &r->bytes_in
                                     : &r->bytes_out) += bytes;
    }
    FY_TRY(fy_report_advise(r, e, err));
  }
  return FY_OK;
}

// ------------------------------------------------------------------ sums
static fy_code collect_devices(fy_report *r, fy_error *err) {
  const fy_device_set *set = r->program->devices;
  r->num_devices = set->n;
  r->devices = fy_arena_array(&r->arena, (size_t)set->n + 1, sizeof *r->devices);
  if (!r->devices) return fy_fail_oom(err, sizeof *r->devices);
  for (int i = 0; i < set->n; i++) r->devices[i].device = set->items[i];
  for (size_t i = 0; i < r->num_nodes; i++) {
    const fy_report_node *n = &r->nodes[i];
    if (!n->leads || !n->device) continue;
    fy_report_device *d = &r->devices[n->device->ordinal];
    d->ns += n->ns;
    d->flops += n->flops;
    d->nodes++;
    r->compute_ns += n->ns;
    r->flops += n->flops;
  }
  return FY_OK;
}

static fy_code collect_names(fy_report *r, const fy_report_args *a, fy_error *err) {
  const fy_run_args *run = a->run;
  const char **fetches = fy_arena_array(&r->arena, (size_t)run->num_fetches + 1, sizeof *fetches);
  const char **feeds = fy_arena_array(&r->arena, (size_t)run->num_feeds + 1, sizeof *feeds);
  fy_pshape *shapes = fy_arena_array(&r->arena, (size_t)run->num_feeds + 1, sizeof *shapes);
  if (!fetches || !feeds || !shapes) return fy_fail_oom(err, sizeof *fetches);
  for (int i = 0; i < run->num_fetches; i++)
    if (!(fetches[i] = fy_arena_printf(&r->arena, "%s:%d", run->fetches[i].node->name,
                                       run->fetches[i].index)))
      return fy_fail_oom(err, 32);
  for (int i = 0; i < run->num_feeds; i++) {
    feeds[i] = fy_arena_printf(&r->arena, "%s:%d", run->feeds[i].node->name, run->feeds[i].index);
    shapes[i] = a->shapes ? a->shapes[i] : (fy_pshape){-1, NULL};
    if (!feeds[i]) return fy_fail_oom(err, 32);
    bool known = shapes[i].rank >= 0;
    for (int32_t d = 0; d < shapes[i].rank; d++) known &= shapes[i].dims[d] >= 0;
    r->sizes_unknown |= !known;
  }
  r->fetch_names = fetches;
  r->feed_names = feeds;
  r->feed_shapes = shapes;
  r->num_fetches = run->num_fetches;
  r->num_feeds = run->num_feeds;
  return FY_OK;
}

fy_code fy_report_make(const fy_report_args *a, fy_report *r, fy_error *err) {
  *r = (fy_report){.graph = a->graph, .program = a->program};
  fy_arena_init(&r->arena);
  fy_lock(&a->graph->lock);
  fy_code code = collect_names(r, a, err);
  if (!code) code = fy_report_fates(r, a, err);
  fy_unlock(&a->graph->lock);
  if (!code) code = collect_devices(r, err);
  if (!code) code = collect_memory(r, err);
  if (!code) code = collect_transfers(r, err);
  if (code) fy_report_free(r);
  return code;
}

void fy_report_free(fy_report *r) {
  fy_arena_free(&r->arena);
}

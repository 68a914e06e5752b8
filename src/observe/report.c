// SPDX-License-Identifier: Apache-2.0
// report.c: gathers what a program knows of itself into one report: fates, transfers, memory, sums.

#include "observe/report.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/call_memory.h"
#include "execute/build.h"
#include "execute/needs.h"
#include "execute/spill_variables.h"
#include "memory/pool.h"
#include "place/device_name.h"

const char *fy_report_device_name(const fy_device *d) {
  return d ? fy_devname_short(d->name) : "-";
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

double fy_report_spill_ns(const fy_program *p) {
  double ns = 0;
  for (uint32_t i = 0; p->spill.copies && i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (!ins->spill) continue;
    if (ins->kind == FY_INSTR_KERNEL) {  // a variable that comes or goes
      ns += ins->cost_ns;
      continue;
    }
    const fy_value *from = &p->values[p->args[ins->in]], *to = &p->values[p->args[ins->out]];
    ns += fy_report_link_ns(p->devices, from->space, to->space, (double)from->bytes);
  }
  return ns;
}

// ------------------------------------------------------------------ memory
static bool renames(const fy_node *n) {
  return n->op && n->op->impl && (n->op->impl->flags & FY_OP_ALIAS);
}

static bool makes_nothing(const fy_value *val) {  // publishes tensors that exist: variables, calls
  const fy_op *op = val->node->op;
  return val->of_feed || renames(val->node) || val->dtype == FY_RESOURCE ||
         (op && op->impl && (op->impl->flags & FY_OP_SETS_OUTPUT));
}

// The most that is live at once of what kernels make at run time. An alias keeps what it renames.
static uint64_t dynamic_peak(const fy_program *p, int space, const fy_device *d) {
  uint64_t live = 0, peak = 0;
  uint32_t *until = fy_calloc(p->num_values + 1, sizeof *until), *base = NULL;
  uint64_t *freed = fy_calloc(p->num_instrs + 1, sizeof *freed);
  uint64_t *twice = space ? fy_calloc(p->num_instrs + 1, sizeof *twice) : NULL;
  if (twice && fy_program_variable_copies(p, space, twice, NULL)) {
    fy_free(twice);
    twice = NULL;
  }
  base = fy_calloc(p->num_values + 1, sizeof *base);
  for (uint32_t v = 0; until && base && freed && v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    base[v] = v;
    until[v] = val->fetched ? p->num_instrs : val->last_use;
    if (val->storage != FY_STORE_DYNAMIC || !renames(val->node) || val->producer >= p->num_instrs)
      continue;
    const fy_instr *ins = &p->instrs[val->producer];
    base[v] = ins->num_in && p->args[ins->in] < v ? base[p->args[ins->in]] : v;
    if (until[base[v]] < until[v]) until[base[v]] = until[v];
  }
  for (uint32_t i = 0; until && base && freed && i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    for (uint32_t k = 0; k < ins->num_out; k++) {
      const uint32_t v = p->args[ins->out + k];
      const fy_value *val = &p->values[v];
      if (val->storage != FY_STORE_DYNAMIC || val->space != space || val->rank < 0 ||
          makes_nothing(val))
        continue;
      const uint64_t bytes = fy_memory_tensor_taken(d, val->bytes);
      live += bytes;
      freed[until[v]] += bytes;
    }
    const uint64_t now = live + (twice ? twice[i] : 0);
    if (now > peak) peak = now;
    live -= freed[i];
  }
  fy_free(twice);
  fy_free(until);
  fy_free(base);
  fy_free(freed);
  return peak;
}

// What called functions take, found out once per program; NULL: nothing is called.
static const fy_call_memory *calls_of(fy_program *p) {
  fy_call_memory *have = atomic_load(&p->calls), *none = NULL;
  if (have || !fy_program_has_calls(p)) return have;
  have = fy_calloc(1, sizeof *have);
  if (!have || !fy_program_call_memory(p, have)) {
    fy_free(have);
    return NULL;
  }
  if (atomic_compare_exchange_strong(&p->calls, &none, have)) return have;
  fy_free(have);
  return none;
}

void fy_report_memory(const fy_program *p, int space, fy_space_memory *out) {
  const fy_device_set *set = p->devices;
  fy_device *d = space ? set->items[space - 1] : set->client;
  uint64_t taken = 0;  // by the allocator
  *out = (fy_space_memory){.device = d, .peak_node = "", .exact = true};
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->space != space) continue;
    bool known = val->rank >= 0;
    switch (val->storage) {
      case FY_STORE_CONST:
        if (renames(val->node)) break;
        out->weights_bytes += val->bytes;
        if (space) taken += fy_memory_tensor_taken(d, val->bytes);
        break;
      case FY_STORE_FEED:
        out->feed_bytes += known ? val->bytes : 0;
        out->unknown_values += !known;
        out->unknown_data += !known;
        if (space && known) taken += fy_memory_tensor_taken(d, val->bytes);
        break;
      case FY_STORE_FETCH:
        if (val->root != v) break;
        out->result_bytes += val->bytes;
        taken += fy_memory_tensor_taken(d, val->bytes);
        break;
      case FY_STORE_DYNAMIC:
        if (val->dtype == FY_RESOURCE) break;
        out->unknown_values += !known;
        out->unknown_data += !known;
        break;
      default: break;
    }
  }
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (ins->kind != FY_INSTR_KERNEL) continue;
    const fy_op_impl *impl = ins->site->op->impl;
    if ((ins->device->is_host ? 0 : ins->device->ordinal + 1) != space) continue;
    out->packed_bytes += ins->kept_bytes;
    if (!impl || (impl->flags & (FY_OP_DYNAMIC | FY_OP_ASYNC)) || !fy_needs_told(p, ins))
      out->exact = false;
    if (ins->scratch_bytes > out->scratch_bytes) out->scratch_bytes = ins->scratch_bytes;
  }
  if (space < p->plan.num_spaces && p->plan.arena_bytes[space]) {
    out->planned_bytes = p->plan.arena_bytes[space];
    out->file_bytes = space ? 0 : p->spill.file_bytes;
    if (!out->file_bytes) taken += fy_mempool_taken(d->memory, out->planned_bytes);
    uint32_t step = p->plan.peak_step[space];
    if (step < p->num_instrs) out->peak_node = fy_report_label(p->instrs[step].node);
  }
  const fy_call_memory *calls = calls_of((fy_program *)(uintptr_t)p);
  if (calls && space < FY_CALL_SPACES) {  // the peak has the results in it
    uint64_t results = 0;
    for (uint32_t k = 0; k < p->num_fresh; k++) {
      const fy_value *val = &p->values[p->fresh[k]];
      if (val->root == p->fresh[k] && val->space == space)
        results += fy_memory_tensor_taken(d, val->bytes);
    }
    out->dynamic_bytes = calls->kept[space] + calls->peak[space] - results;
    out->exact &= calls->exact;
  } else {
    out->dynamic_bytes = dynamic_peak(p, space, d);
    out->exact &= !fy_program_has_calls(p);
  }
  if (p->num_tasks > 1 && out->dynamic_bytes) out->exact = false;  // who is first is not known
  out->dynamic_bytes += atomic_load(&((fy_program *)(uintptr_t)p)->unplanned[space > 0]);
  taken += out->dynamic_bytes + out->packed_bytes;
  out->run_bytes = taken;
  fy_variable_needs vars = {0};
  if (fy_program_variables(p, space, &vars, NULL)) out->exact = false;
  out->variables_bytes = vars.bytes;
  out->exact &= vars.exact;
  const uint64_t moved = space < 65 ? p->spill.held[space] : 0;
  const uint64_t held = moved ? moved : vars.taken;
  if (space) taken += held;
  out->allocator_bytes = taken;
  out->peak_bytes = taken + (space ? 0 : out->weights_bytes + out->feed_bytes + held);
  fy_mempool_stats s;
  fy_mempool_stats_get(d->memory, &s);
  out->exact &= out->unknown_values == 0;
  out->limit_set = s.limit_bytes != 0;
  out->limit_bytes = fy_memory_limit(d);
  if (space && calls && out->dynamic_bytes) out->loose_bytes = out->limit_bytes / 256;
}

static fy_code collect_memory(fy_report *r, fy_error *err) {
  const fy_device_set *set = r->program->devices;
  r->memory = fy_arena_array(&r->arena, (size_t)set->n + 1, sizeof *r->memory);
  if (!r->memory) return fy_fail_oom(err, sizeof *r->memory);
  for (int space = 0; space <= set->n; space++) {
    if (space && set->items[space - 1]->is_host) continue;
    fy_report_memory(r->program, space, &r->memory[r->num_memory]);
    r->sizes_unknown |= r->memory[r->num_memory].unknown_data > 0;
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
  r->feeds_known = !r->sizes_unknown;
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

// SPDX-License-Identifier: Apache-2.0
// predict.c: compile for a batch, look at the plan, double the batch until a memory is too small,
// then bisect. A memory is exhausted when its plan passes the limit, or when placement had to move
// work away from it, or refused because of it.

#include "observe/predict.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_BATCH ((int64_t)1 << 36)

typedef struct probe {
  const fy_predict_args *a;
  fy_pshape *shapes;
  int64_t **dims;
  fy_arena arena;
  fy_prediction *out;
} probe;

// Which memories of the prediction are exhausted by |p|, as bits.
static uint32_t exhausted_by(const probe *pr, const fy_program *p) {
  uint32_t mask = 0;
  for (int i = 0; i < pr->out->num_memory; i++) {
    const fy_device *d = pr->out->memory[i].device;
    const char *name = fy_report_device_name(d);
    fy_space_memory m;
    fy_report_memory(p, fy_space_of(d), &m);
    const uint64_t needs = m.limit_set ? m.allocator_bytes : m.peak_bytes;
    if (m.limit_bytes && needs > m.limit_bytes) mask |= 1u << i;
    if (p->spill.spaces >> fy_space_of(d) & 1) mask |= 1u << i;  // it fits by spilling only
    if (m.file_bytes) mask |= 1u << i;
    for (size_t n = 0; n < p->placement->n; n++) {
      const fy_placed *e = &p->placement->nodes[n];
      if (p->graph->nodes[n] && e->why == FY_WHY_MEMORY &&
          strncmp(e->text, name, strlen(name)) == 0)
        mask |= 1u << i;
    }
  }
  return mask;
}

// A refusal names the device that is too small.
static uint32_t exhausted_in(const probe *pr, const char *text) {
  uint32_t mask = 0;
  for (int i = 0; i < pr->out->num_memory; i++)
    if (strstr(text, pr->out->memory[i].device->name)) mask |= 1u << i;
  return mask;
}

// Plans for |batch|. |*mask|: exhausted memories. |keep|: the program, or NULL to drop it.
static fy_code plan(probe *pr, int64_t batch, uint32_t *mask, fy_program **keep, fy_error *err) {
  fy_program *p = NULL;
  const fy_run_args *run = pr->a->run;
  *mask = 0;
  if (keep) *keep = NULL;
  for (int i = 0; i < run->num_feeds; i++)
    if (batch > 0 && pr->a->batched[i] && pr->dims[i]) pr->dims[i][0] = batch;
  fy_code code = fy_session_program(pr->a->session, run, pr->shapes, NULL, NULL, &p, err);
  if (code == FY_RESOURCE_EXHAUSTED) {
    *mask = exhausted_in(pr, fy_error_text(err));
    if (*mask) {
      fy_error_clear(err);
      return FY_OK;
    }
  }
  if (code) return code;
  *mask = exhausted_by(pr, p);
  if (keep)
    *keep = p;
  else
    fy_program_release(p);
  return FY_OK;
}

static fy_code copy_shapes(probe *pr, fy_error *err) {
  int n = pr->a->run->num_feeds;
  pr->shapes = fy_arena_array(&pr->arena, (size_t)n + 1, sizeof *pr->shapes);
  pr->dims = fy_arena_array(&pr->arena, (size_t)n + 1, sizeof *pr->dims);
  if (!pr->shapes || !pr->dims) return fy_fail_oom(err, sizeof *pr->shapes);
  for (int i = 0; i < n; i++) {
    fy_pshape s = pr->a->shapes[i];
    pr->shapes[i] = s;
    if (s.rank < 1) continue;
    pr->dims[i] = fy_arena_memdup(&pr->arena, s.dims, (size_t)s.rank * sizeof *s.dims);
    if (!pr->dims[i]) return fy_fail_oom(err, sizeof *s.dims);
    pr->shapes[i].dims = pr->dims[i];
  }
  return FY_OK;
}

static void list_memories(probe *pr, const fy_device_set *set) {
  fy_prediction *out = pr->out;
  out->memory[out->num_memory++].device = set->client;
  for (int i = 0; i < set->n && out->num_memory < FY_PREDICT_DEVICES; i++)
    if (!set->items[i]->is_host) out->memory[out->num_memory++].device = set->items[i];
  for (int i = 0; i < FY_PREDICT_DEVICES; i++) out->largest_batch[i] = -1;
}

static void describe(probe *pr, const fy_program *p) {
  fy_prediction *out = pr->out;
  for (int i = 0; i < out->num_memory; i++) {
    fy_report_memory(p, fy_space_of(out->memory[i].device), &out->memory[i]);
    snprintf(out->peak_node[i], sizeof out->peak_node[i], "%s", out->memory[i].peak_node);
    out->memory[i].peak_node = out->peak_node[i];
  }
  for (uint32_t i = 0; i < p->num_instrs; i++)
    if (p->instrs[i].kind == FY_INSTR_KERNEL && !p->instrs[i].spill)
      out->compute_ns += p->instrs[i].cost_ns;
  out->spill_copies = p->spill.copies;
  out->spill_bytes = p->spill.bytes_in + p->spill.bytes_out;
  out->spill_ns = fy_report_spill_ns(p);
  out->spill_file_bytes = p->spill.file_bytes;
  for (size_t i = 0; i < p->parts->num_transfers; i++) {
    const fy_transfer *t = &p->parts->transfers[i];
    if (t->value.node->const_value) continue;
    double bytes = t->bytes < 0 ? 0 : (double)t->bytes;
    out->transfers++;
    out->transfer_bytes += t->bytes < 0 ? 0 : t->bytes;
    out->transfer_ns += fy_report_link_ns(p->devices, t->from_space, t->to_space, bytes);
  }
}

// Doubles from 1; then for each memory that gave out, bisects between the last batch that fitted
// and the first that did not.
static fy_code search(probe *pr, fy_error *err) {
  fy_prediction *out = pr->out;
  int64_t fits[FY_PREDICT_DEVICES] = {0}, fails[FY_PREDICT_DEVICES] = {0};
  uint32_t all = (1u << out->num_memory) - 1, done = 0, mask;
  for (int64_t batch = 1; batch <= MAX_BATCH && done != all; batch *= 2) {
    fy_error e;
    fy_error_init(&e);
    fy_code code = plan(pr, batch, &mask, NULL, &e);
    fy_error_clear(&e);
    if (code == FY_RESOURCE_EXHAUSTED) return fy_fail_oom(err, sizeof *pr);
    if (code) break;  // a size that the graph itself forbids
    for (int i = 0; i < out->num_memory; i++) {
      if (done >> i & 1) continue;
      if (!(mask >> i & 1))
        fits[i] = batch;
      else
        fails[i] = batch, done |= 1u << i;
    }
  }
  for (int i = 0; i < out->num_memory; i++) {
    if (!fails[i]) continue;
    while (fits[i] + 1 < fails[i]) {
      int64_t middle = fits[i] + (fails[i] - fits[i]) / 2;
      fy_error e;
      fy_error_init(&e);
      fy_code code = plan(pr, middle, &mask, NULL, &e);
      fy_error_clear(&e);
      if (code || (mask >> i & 1))
        fails[i] = middle;
      else
        fits[i] = middle;
    }
    out->largest_batch[i] = fits[i];
    if (out->first_exhausted < 0 || fits[i] < out->largest_batch[out->first_exhausted])
      out->first_exhausted = i;
  }
  return FY_OK;
}

fy_code fy_predict(const fy_predict_args *a, fy_prediction *out, fy_error *err) {
  probe pr = {.a = a, .out = out};
  fy_program *p;
  uint32_t mask;
  *out = (fy_prediction){.first_exhausted = -1};
  fy_arena_init(&pr.arena);
  list_memories(&pr, a->devices);
  fy_code code = copy_shapes(&pr, err);
  if (!code) code = plan(&pr, 0, &mask, &p, err);
  if (!code && p) describe(&pr, p);
  if (!code) {
    fy_program_release(p);
    bool any = false;
    for (int i = 0; i < a->run->num_feeds; i++) any |= a->batched[i] && pr.dims[i];
    if (any)
      code = search(&pr, err);
    else if (mask)
      out->first_exhausted = __builtin_ctz(mask);
  }
  fy_arena_free(&pr.arena);
  return code;
}

fy_code fy_predict_sweep(const fy_predict_args *a, fy_sweep *out, fy_error *err) {
  memset(out, 0, sizeof *out);
  FY_TRY(fy_predict(a, &out->at, err));
  bool any = false;
  fy_prediction seen = {.first_exhausted = -1};
  probe pr = {.a = a, .out = &seen};
  fy_arena_init(&pr.arena);
  list_memories(&pr, a->devices);
  fy_code code = copy_shapes(&pr, err);
  for (int i = 0; !code && i < a->run->num_feeds; i++) any |= a->batched[i] && pr.dims[i];
  if (!code && !any)
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "the graph has no batch dimension: no feed has a leading dimension that is open");
  int beyond = 0;
  for (int64_t batch = 1; !code && out->n < FY_SWEEP && beyond < 2; batch *= 2) {
    fy_program *p = NULL;
    uint32_t mask = 0;
    fy_error e;
    fy_error_init(&e);
    fy_code bad = plan(&pr, batch, &mask, &p, &e);
    fy_error_clear(&e);
    if (bad) break;  // a size that the graph itself forbids
    out->batch[out->n] = batch;
    out->over[out->n] = mask;
    beyond += mask != 0;
    for (int i = 0; p && i < seen.num_memory; i++) {
      fy_space_memory m;
      fy_report_memory(p, fy_space_of(seen.memory[i].device), &m);
      out->peak_bytes[i][out->n] = m.peak_bytes;
    }
    if (p) out->spill_bytes[out->n] = p->spill.bytes_in + p->spill.bytes_out;
    fy_program_release(p);
    out->n++;
  }
  fy_arena_free(&pr.arena);
  return code;
}

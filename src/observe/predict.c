// SPDX-License-Identifier: Apache-2.0
// predict.c: compile for a batch and look at the plan; the largest batch that fits a memory is found with few
// such looks, as most memories grow by the same for every further example: where the line through two looks
// meets the limit, and every other time in the middle of what is left. A memory is exhausted when its plan
// passes the limit, or when placement had to move work away from it, or refused because of it.

#include "observe/predict.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_BATCH ((int64_t)1 << 36)

#define MAX_LOOKS 256  // that are remembered
#define MAX_JUMP  64   // times the batch that is known to fit: far from it the line is a guess

typedef struct look {  // at the plan for a batch
  int64_t batch;
  uint32_t exhausted;                        // memories, as bits
  uint64_t peak_bytes[FY_PREDICT_DEVICES];   // 0: there is no plan
  uint64_t needs_bytes[FY_PREDICT_DEVICES];  // of what is limited; 0: a limit has changed the plan
  double
      asked_bytes[FY_PREDICT_DEVICES];  // by placement, which moves work away when it is too much
  int64_t spill_bytes;
} look;

typedef struct probe {
  const fy_predict_args *a;
  fy_pshape *shapes;
  int64_t **dims;
  bool batched;  // some feed has a batch
  fy_arena arena;
  fy_prediction *out;
  int num_looks;
  look looks[MAX_LOOKS];
} probe;

static bool placement_left(const fy_program *p, const fy_device *d) {
  const char *name = fy_report_device_name(d);
  for (size_t n = 0; n < p->placement->n; n++) {
    const fy_placed *e = &p->placement->nodes[n];
    if (p->graph->nodes[n] && e->why == FY_WHY_MEMORY && strncmp(e->text, name, strlen(name)) == 0)
      return true;
  }
  return false;
}

static void note_memories(const probe *pr, const fy_program *p, look *l) {
  for (int i = 0; i < pr->out->num_memory; i++) {
    const fy_device *d = pr->out->memory[i].device;
    fy_space_memory m;
    fy_report_memory(p, fy_space_of(d), &m);
    const uint64_t needs = (m.limit_set ? m.allocator_bytes : m.peak_bytes) + m.loose_bytes;
    const bool changed = (p->spill.spaces >> fy_space_of(d) & 1) || m.file_bytes ||
                         placement_left(p, d);  // it fits by spilling or not at all
    l->peak_bytes[i] = m.peak_bytes;
    l->needs_bytes[i] = changed ? 0 : needs;
    if (p->placement->asked_bytes) l->asked_bytes[i] = p->placement->asked_bytes[d->ordinal];
    if (changed || (m.limit_bytes && needs > m.limit_bytes)) l->exhausted |= 1u << i;
    if (!pr->out->memory[i].limit_bytes) pr->out->memory[i].limit_bytes = m.limit_bytes;
  }
  l->spill_bytes = p->spill.bytes_in + p->spill.bytes_out;
}

// A refusal names the device that is too small.
static uint32_t exhausted_in(const probe *pr, const char *text) {
  uint32_t mask = 0;
  for (int i = 0; i < pr->out->num_memory; i++)
    if (strstr(text, pr->out->memory[i].device->name)) mask |= 1u << i;
  return mask;
}

// Plans for |batch| (0: as asked). |keep|: the program, if there is one, or NULL to drop it.
static fy_code plan(probe *pr, int64_t batch, look *l, fy_program **keep, fy_error *err) {
  fy_program *p = NULL;
  const fy_run_args *run = pr->a->run;
  *l = (look){.batch = batch};
  if (keep) *keep = NULL;
  for (int i = 0; i < run->num_feeds; i++)
    if (batch > 0 && pr->a->batched[i] && pr->dims[i]) pr->dims[i][0] = batch;
  fy_code code = fy_session_program(pr->a->session, run, pr->shapes, NULL, NULL, &p, err);
  if (code == FY_RESOURCE_EXHAUSTED) {
    l->exhausted = exhausted_in(pr, fy_error_text(err));
    if (l->exhausted) {
      fy_error_clear(err);
      return FY_OK;
    }
  }
  if (code) return code;
  note_memories(pr, p, l);
  if (keep)
    *keep = p;
  else
    fy_program_release(p);
  return FY_OK;
}

// The plan for |batch|, made or remembered. NULL when there can be none: |*code| says why.
static const look *look_at(probe *pr, int64_t batch, fy_code *code) {
  *code = FY_OK;
  for (int i = 0; i < pr->num_looks; i++)
    if (pr->looks[i].batch == batch) return &pr->looks[i];
  look *l = &pr->looks[pr->num_looks < MAX_LOOKS - 1 ? pr->num_looks : MAX_LOOKS - 1];
  fy_error e;
  fy_error_init(&e);
  *code = plan(pr, batch, l, NULL, &e);
  fy_error_clear(&e);
  if (*code) return NULL;
  if (pr->num_looks < MAX_LOOKS - 1) pr->num_looks++;
  return l;
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
    pr->batched |= pr->a->batched[i];
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

// What a memory needs for a batch: by the plan, and by the estimate with which placement decides whether work
// has to leave. Both must be within the limit.
typedef struct point {
  double batch, bytes[2];  // 0: not known
} point;

typedef struct bracket {  // of the largest batch that fits a memory
  int64_t fits, fails;    // 0: not known
  point last, before;     // the two largest that fit
  point beyond;           // the least that fails
} bracket;

static void narrow(bracket *b, const look *l, int memory) {
  const point at = {(double)l->batch, {(double)l->needs_bytes[memory], l->asked_bytes[memory]}};
  if (l->exhausted >> memory & 1) {
    b->fails = l->batch;
    b->beyond = at;
  } else {
    b->fits = l->batch;
    b->before = b->last;
    b->last = at;
  }
}

// Where the line through two points meets the limit: through the last that fits and the first that does not,
// or the last two that fit.
static double crossing(const bracket *b, int by, double limit) {
  const point *from = &b->last, *to = &b->beyond;
  if (b->last.bytes[by] > limit) return MAX_BATCH;  // it fits all the same: nothing can leave
  if (to->bytes[by] <= from->bytes[by] || to->bytes[by] <= limit) from = &b->before, to = &b->last;
  if (from->bytes[by] <= 0) return MAX_BATCH;
  const double slope = (to->bytes[by] - from->bytes[by]) / (to->batch - from->batch);
  return slope > 0 ? to->batch + (limit - to->bytes[by]) / slope : (double)MAX_BATCH;
}

// The next batch to look at, between what fits and what fails; 0: there is none. Two lines, then the middle.
static int64_t next_batch(const bracket *b, double limit, int turn) {
  if (b->fails && b->fits + 1 >= b->fails) return 0;
  if (b->fits < 2) return b->fits + 1;
  const double low = (double)b->fits + 1,
               high = b->fails ? (double)b->fails - 1 : MAX_JUMP * (double)b->fits;
  double guess = MAX_BATCH;
  for (int by = 0; limit > 0 && by < 2; by++) {
    const double at = crossing(b, by, limit);
    if (at < guess) guess = at;
  }
  if (turn % 3 == 2) guess = low + (high - low) / 2;
  if (guess < low) guess = low;
  if (guess > high) guess = high;
  return guess > (double)MAX_BATCH ? 0 : (int64_t)guess;
}

static fy_code search(probe *pr, fy_error *err) {
  fy_prediction *out = pr->out;
  for (int i = 0; i < out->num_memory; i++) {
    bracket b = {0};
    int64_t batch;
    for (int turn = 0; (batch = next_batch(&b, (double)out->memory[i].limit_bytes, turn)); turn++) {
      fy_code code;
      const look *l = look_at(pr, batch, &code);
      if (code == FY_RESOURCE_EXHAUSTED) return fy_fail_oom(err, sizeof *pr);
      if (l)
        narrow(&b, l, i);
      else if (b.fails)
        b.fails = batch, b.beyond = (point){0};
      else
        break;  // a size that the graph itself forbids
    }
    if (!b.fails) continue;
    out->largest_batch[i] = b.fits;
    if (out->first_exhausted < 0 || b.fits < out->largest_batch[out->first_exhausted])
      out->first_exhausted = i;
  }
  return FY_OK;
}

static fy_code predict(probe *pr, fy_error *err) {
  fy_program *p = NULL;
  look asked;
  fy_code code = copy_shapes(pr, err);
  if (!code) code = plan(pr, 0, &asked, &p, err);
  if (!code && p) describe(pr, p);
  if (code) return code;
  fy_program_release(p);
  if (pr->batched) return search(pr, err);
  if (asked.exhausted) pr->out->first_exhausted = __builtin_ctz(asked.exhausted);
  return FY_OK;
}

static probe *probe_new(const fy_predict_args *a, fy_prediction *out) {
  probe *pr = fy_calloc(1, sizeof *pr);
  *out = (fy_prediction){.first_exhausted = -1};
  if (!pr) return NULL;
  pr->a = a;
  pr->out = out;
  fy_arena_init(&pr->arena);
  list_memories(pr, a->devices);
  return pr;
}

static void probe_free(probe *pr) {
  fy_arena_free(&pr->arena);
  fy_free(pr);
}

fy_code fy_predict(const fy_predict_args *a, fy_prediction *out, fy_error *err) {
  probe *pr = probe_new(a, out);
  if (!pr) return fy_fail_oom(err, sizeof *pr);
  fy_code code = predict(pr, err);
  probe_free(pr);
  return code;
}

fy_code fy_predict_sweep(const fy_predict_args *a, fy_sweep *out, fy_error *err) {
  memset(out, 0, sizeof *out);
  probe *pr = probe_new(a, &out->at);
  if (!pr) return fy_fail_oom(err, sizeof *pr);
  fy_code code = predict(pr, err);
  if (!code && !pr->batched)
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "the graph has no batch dimension: no feed has a leading dimension that is open");
  int beyond = 0;
  for (int64_t batch = 1; !code && out->n < FY_SWEEP && beyond < 2; batch *= 2) {
    fy_code bad;
    const look *l = look_at(pr, batch, &bad);
    if (!l) break;  // a size that the graph itself forbids
    out->batch[out->n] = batch;
    out->over[out->n] = l->exhausted;
    out->spill_bytes[out->n] = l->spill_bytes;
    beyond += l->exhausted != 0;
    for (int i = 0; i < out->at.num_memory; i++) out->peak_bytes[i][out->n] = l->peak_bytes[i];
    out->n++;
  }
  probe_free(pr);
  return code;
}

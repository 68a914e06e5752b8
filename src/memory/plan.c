// SPDX-License-Identifier: Apache-2.0
// plan.c: offsets from lifetimes.
//
// The problem (pack rectangles of given height at given times, as low as possible) is NP-hard; a
// few cheap heuristics that fail on different inputs are tried, and the lowest result is kept:
//   by time    replays the run through a best-fit allocator whose size is the lower bound, forwards
//              and backwards. A life goes to the end of its gap whose neighbour lives longer, so
//              that the space left over stays in one piece: optimal on chains (even steps low, odd
//              steps high) and on the nested lives of training. O(n x gaps).
//   from peak  packs the lives at the fullest step without a hole, then replays both sides of it.
//   by order   places one life after the other (large first, long first, …) into the tightest gap
//              among those already placed that overlap it in time. O(n x overlapping lives).
//   promoted   by order again, with the lives that stick out at the top moved to the front.
// It stops at the lower bound (real models mostly reach it) or near it, or when the work is used up. Work is counted, not timed, so that the same lives always get the same plan.
// Invariant: times are compressed to the T distinct start steps; two lives overlap before exactly
// if they overlap after, because an overlap always contains a start.

#include "memory/plan_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ALIGN        64
#define WORK_LIMIT   14000000  // pairs of lives looked at, over all attempts by order
#define MAX_ATTEMPTS 24
#define MANY_LIVES   4000

// --- choosing ---

typedef enum sort_key { BY_START, BY_END, BY_BYTES, BY_AREA, BY_LENGTH } sort_key;

typedef struct sort_entry {
  double a, b;  // compared in this order, larger first
  uint32_t item;
} sort_entry;

static int compare_entries(const void *x, const void *y) {
  const sort_entry *a = x, *b = y;
  if (a->a != b->a) return a->a > b->a ? -1 : 1;
  if (a->b != b->b) return a->b > b->b ? -1 : 1;
  return a->item < b->item ? -1 : a->item > b->item;
}

static bool sort_order(planner *p, sort_key key) {
  sort_entry *e = fy_malloc(p->n * sizeof *e);
  if (!e) return false;
  for (uint32_t i = 0; i < p->n; i++) {
    const item *it = &p->items[i];
    double bytes = (double)it->bytes, length = (double)(it->last - it->first) + 1;
    switch (key) {
      case BY_START: e[i] = (sort_entry){-(double)it->first, bytes, i}; break;
      case BY_END: e[i] = (sort_entry){(double)it->last, bytes, i}; break;
      case BY_BYTES: e[i] = (sort_entry){bytes, length, i}; break;
      case BY_AREA: e[i] = (sort_entry){bytes * length, bytes, i}; break;
      case BY_LENGTH: e[i] = (sort_entry){length, bytes, i}; break;
    }
  }
  qsort(e, p->n, sizeof *e, compare_entries);
  for (uint32_t i = 0; i < p->n; i++) p->order[i] = e[i].item;
  fy_free(e);
  return true;
}

static void keep_if_better(planner *p, size_t bytes) {
  if (bytes >= p->best_bytes) return;
  p->best_bytes = bytes;
  for (uint32_t i = 0; i < p->n; i++) p->best[i] = p->items[i].offset;
  memcpy(p->best_order, p->order, p->n * sizeof *p->order);
}

// Moves the items that reach |bytes| to the front of |order|, the others keep their sequence.
static void promote(planner *p, size_t bytes) {
  uint32_t front = 0, *rest = p->heads, num_rest = 0;  // heads is free between attempts
  for (uint32_t k = 0; k < p->n; k++) {
    uint32_t i = p->order[k];
    if (p->items[i].offset + p->items[i].bytes == bytes)
      p->order[front++] = i;
    else
      rest[num_rest++] = i;
  }
  memcpy(p->order + front, rest, num_rest * sizeof *rest);
}

// The lower bound, or so near that looking further is not worth the time.
// With many lives every attempt costs milliseconds: then 3.5 % is near.
static bool is_good(const planner *p) {
  size_t allowed = p->bound / (p->n > MANY_LIVES ? 28 : 256);
  return p->best_bytes != SIZE_MAX && p->best_bytes - p->bound <= allowed;
}

// From the peak outwards: nothing is wasted where nothing may be, and further away there is room
// for holes. |key| says which lives at the peak lie lowest.
static bool try_from_peak(planner *p, sort_key key) {
  if (!sort_order(p, key)) return false;
  p->num_peak = 0;
  for (uint32_t k = 0; k < p->n; k++) {
    const item *it = &p->items[p->order[k]];
    if (it->first <= p->peak && it->last >= p->peak) p->peak_order[p->num_peak++] = p->order[k];
  }
  if (!sort_order(p, BY_START)) return false;
  size_t after = fy_plan_beside_peak(p, false);
  if (after >= p->best_bytes) return true;
  if (!sort_order(p, BY_END)) return false;
  size_t before = fy_plan_beside_peak(p, true);
  keep_if_better(p, after > before ? after : before);
  return true;
}

static bool try_by_time(planner *p, bool backwards) {
  if (!sort_order(p, backwards ? BY_END : BY_START)) return false;
  keep_if_better(p, fy_plan_by_time(p, backwards));
  return true;
}

// Each sequence in turn; then what does not fit well is tried first, as long as that helps at times.
static bool try_by_order(planner *p) {
  static const sort_key keys[] = {BY_AREA, BY_BYTES, BY_LENGTH};
  if (!fy_plan_slots(p)) return false;
  uint64_t cost = 0;  // of one attempt, about
  for (uint32_t i = 0; i < p->n; i++) {
    uint32_t end = p->items[i].last / p->slot_steps;
    for (uint32_t k = p->items[i].first / p->slot_steps; k <= end; k++) {
      cost += (p->slot_begin[k + 1] - p->slot_begin[k]) / 2;
    }
  }
  p->work = 0;
  size_t tried = 0;
  for (; tried < 3 && !is_good(p) && p->work + cost <= WORK_LIMIT; tried++) {
    if (!sort_order(p, keys[tried])) return false;
    keep_if_better(p, fy_plan_by_order(p));
  }
  memcpy(p->order, p->best_order, p->n * sizeof *p->order);
  for (; tried < MAX_ATTEMPTS && !is_good(p) && p->work + cost <= WORK_LIMIT; tried++) {
    size_t bytes = fy_plan_by_order(p);
    keep_if_better(p, bytes);
    promote(p, bytes);
  }
  return true;
}

static bool search(planner *p) {
  static const sort_key stacks[] = {BY_START, BY_END, BY_LENGTH, BY_BYTES};
  bool ok = try_by_time(p, false) && (is_good(p) || try_by_time(p, true));
  for (size_t k = 0; ok && k < 4 && !is_good(p); k++) ok = try_from_peak(p, stacks[k]);
  return ok && (is_good(p) || try_by_order(p));
}

// --- setting up ---

static int compare_steps(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static uint32_t step_index(const uint32_t *starts, uint32_t n, uint32_t at) {  // last start <= at
  uint32_t lo = 0, hi = n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (starts[mid] <= at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo - 1;
}

// Compresses times; finds the bound and when it is reached.
static bool compress(planner *p, uint32_t *out_peak_step) {
  uint32_t *starts = fy_malloc(p->n * sizeof *starts), steps = 0;
  int64_t *change = fy_calloc((size_t)p->n + 1, sizeof *change);  // of live bytes, by step
  bool ok = starts && change;
  if (ok) {
    for (uint32_t i = 0; i < p->n; i++) starts[i] = p->items[i].first;
    qsort(starts, p->n, sizeof *starts, compare_steps);
    for (uint32_t i = 0; i < p->n; i++) {
      if (i == 0 || starts[i] != starts[i - 1]) starts[steps++] = starts[i];
    }
    for (uint32_t i = 0; i < p->n; i++) {
      item *it = &p->items[i];
      it->first = step_index(starts, steps, it->first);
      it->last = step_index(starts, steps, it->last);
      change[it->first] += (int64_t)it->bytes;
      change[it->last + 1] -= (int64_t)it->bytes;
    }
    p->steps = steps;
    int64_t bytes = 0;
    for (uint32_t s = 0; s < steps; s++) {
      bytes += change[s];
      if ((size_t)bytes <= p->bound) continue;
      p->bound = (size_t)bytes;
      p->peak = s;
      *out_peak_step = starts[s];
    }
  }
  fy_free(starts);
  fy_free(change);
  return ok;
}

static void planner_free(planner *p) {
  fy_free(p->items);
  fy_free(p->order);
  fy_free(p->heads);
  fy_free(p->peak_order);
  fy_free(p->filed);
  fy_free(p->found);
  fy_free(p->slot_begin);
  fy_free(p->slot_count);
  fy_free(p->pieces);
  fy_free(p->best);
  fy_free(p->best_order);
}

static bool planner_init(planner *p, size_t n) {
  memset(p, 0, sizeof *p);
  p->best_bytes = SIZE_MAX;
  p->items = fy_calloc(n, sizeof *p->items);
  p->order = fy_calloc(n, sizeof *p->order);
  p->heads = fy_calloc(n, sizeof *p->heads);
  p->peak_order = fy_calloc(n, sizeof *p->peak_order);
  p->found = fy_calloc(n, sizeof *p->found);
  p->slot_begin = fy_calloc(n + 1, sizeof *p->slot_begin);
  p->slot_count = fy_calloc(n + 1, sizeof *p->slot_count);
  p->pieces = fy_calloc(2 * n + 3, sizeof *p->pieces);
  p->best = fy_calloc(n, sizeof *p->best);
  p->best_order = fy_calloc(n, sizeof *p->best_order);
  return p->items && p->order && p->heads && p->peak_order && p->found && p->slot_begin &&
         p->slot_count && p->pieces && p->best && p->best_order;
}

static fy_code plan_space(planner *p, fy_life *lives, size_t n, int space, fy_memplan *out,
                          fy_error *err) {
  size_t total = 0;
  p->n = p->steps = 0;
  p->bound = 0;
  p->best_bytes = SIZE_MAX;
  for (size_t i = 0; i < n; i++) {
    const fy_life *l = &lives[i];
    if (l->space != space || l->bytes == 0) continue;
    size_t bytes = (l->bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (bytes < l->bytes || !fy_add_size(total, bytes, &total) || total > INT64_MAX) {
      return fy_fail(err, FY_RESOURCE_EXHAUSTED,
                     "memory plan: the tensors of node '%s' and others are larger than any memory",
                     l->owner ? l->owner : "?");
    }
    p->items[p->n++] = (item){.bytes = bytes,
                              .first = l->first,
                              .last = l->last < l->first ? l->first : l->last,
                              .life = (uint32_t)i};
  }
  if (p->n == 0) return FY_OK;
  if (!compress(p, &out->peak_step[space]) || !search(p)) {
    return fy_fail_oom(err, p->n * sizeof(sort_entry));
  }
  for (uint32_t i = 0; i < p->n; i++) lives[p->items[i].life].offset = p->best[i];
  out->arena_bytes[space] = p->best_bytes;
  out->peak_bytes[space] = p->bound;
  return FY_OK;
}

fy_code fy_memplan_make(fy_life *lives, size_t n, int num_spaces, fy_arena *arena, fy_memplan *out,
                        fy_error *err) {
  memset(out, 0, sizeof *out);
  size_t spaces = num_spaces > 0 ? (size_t)num_spaces : 0;
  for (size_t i = 0; i < n; i++) {
    lives[i].offset = 0;
    if (lives[i].space >= 0 && (size_t)lives[i].space < spaces) continue;
    return fy_fail(err, FY_INTERNAL, "memory plan: life %zu is in space %d of %zu", i,
                   lives[i].space, spaces);
  }
  if (n >= UINT32_MAX / 4) return fy_fail(err, FY_INTERNAL, "memory plan: %zu lives", n);
  out->arena_bytes = fy_arena_array(arena, spaces, sizeof *out->arena_bytes);
  out->peak_bytes = fy_arena_array(arena, spaces, sizeof *out->peak_bytes);
  out->peak_step = fy_arena_array(arena, spaces, sizeof *out->peak_step);
  if (!out->arena_bytes || !out->peak_bytes || !out->peak_step) {
    return fy_fail_oom(err, spaces * sizeof(size_t));
  }
  out->num_spaces = (int)spaces;
  if (n == 0) return FY_OK;
  planner p;
  fy_code code = planner_init(&p, n) ? FY_OK : fy_fail_oom(err, n * sizeof(item));
  for (int s = 0; !code && s < num_spaces; s++) code = plan_space(&p, lives, n, s, out, err);
  planner_free(&p);
  return code;
}

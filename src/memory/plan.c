// SPDX-License-Identifier: Apache-2.0
// plan.c: offsets from lifetimes.
//
// The problem (pack rectangles of given height at given times, as low as possible) is NP-hard; a
// few cheap heuristics that fail on different inputs are tried, and the lowest result is kept:
//   by time    replays the run through a best-fit allocator whose size is the lower bound, forwards
//              and backwards. A life goes to the end of its gap whose neighbour lives longer, so
//              that the space left over stays in one piece: optimal on chains (even steps low, odd
//              steps high) and on the nested lives of training. O(n x gaps).
//   alike      the same, but a life goes beside something that ends when it does: what ends together
//              leaves one gap. Random lives of very different lengths are packed better so.
//   retry      the same under a ceiling near the bound, going back some steps where that fails.
//   from peak  packs the lives at the fullest step without a hole, then replays both sides of it.
//   skyline    fills memory from the bottom up, always where the least is placed yet, with lives that
//              lie within that stretch of time; which of them goes first is a key: area, length, …, and
//              then the same keys with some noise. O(n log n) each.
// It stops at the lower bound (real models mostly reach it) or near it, or when the work is used up.
// Work is counted, not timed, so that the same lives always get the same plan.
// Invariant: times are compressed to the T distinct start steps; two lives overlap before exactly
// if they overlap after, because an overlap always contains a start.

#include "memory/plan_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ALIGN         64
#define WORK_LIMIT    3300000  // pieces and nodes looked at, over all attempts
#define ENOUGH_WORK   1800000  // the same once the plan is within 5 %
#define WORK_OF_MANY  0.6      // of that for many lives, which are harder to reach in memory
#define MAX_ATTEMPTS  64
#define MANY_LIVES    4000
#define FIRST_SKYLINE 18  // the attempts before cost little
#define RETRY_WORK    500000
#define FEW_AT_ONCE   100
#define FEW_OF_MANY   4

// --- choosing ---

typedef enum sort_key { BY_START, BY_END, BY_BYTES, BY_LENGTH } sort_key;

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

// Sorts the |n| items of |list|.
static bool sort_list(const planner *p, sort_key key, uint32_t *list, uint32_t n) {
  sort_entry *e = fy_malloc(((size_t)n + 1) * sizeof *e);
  if (!e) return false;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t i = list[k];
    const item *it = &p->items[i];
    double bytes = (double)it->bytes, length = (double)(it->last - it->first) + 1;
    switch (key) {
      case BY_START: e[k] = (sort_entry){-(double)it->first, bytes, i}; break;
      case BY_END: e[k] = (sort_entry){(double)it->last, bytes, i}; break;
      case BY_BYTES: e[k] = (sort_entry){bytes, length, i}; break;
      case BY_LENGTH: e[k] = (sort_entry){length, bytes, i}; break;
    }
  }
  qsort(e, n, sizeof *e, compare_entries);
  for (uint32_t k = 0; k < n; k++) list[k] = e[k].item;
  fy_free(e);
  return true;
}

// |order| by start, or backwards by end; each is sorted once.
static bool sort_order(planner *p, bool backwards) {
  const uint32_t side = backwards;
  p->order = p->orders[side];
  if (p->sorted[side]) return true;
  for (uint32_t i = 0; i < p->n; i++) p->order[i] = i;
  p->sorted[side] = sort_list(p, backwards ? BY_END : BY_START, p->order, p->n);
  return p->sorted[side];
}

static void keep_if_better(planner *p, size_t bytes) {
  if (bytes >= p->best_bytes) return;
  p->best_bytes = bytes;
  for (uint32_t i = 0; i < p->n; i++) p->best[i] = p->items[i].offset;
}

// The lower bound, or so near that looking further is not worth the time: the longer it took, the more
// is near, and with many lives sooner (every attempt of the skyline costs milliseconds).
static bool is_good(const planner *p, uint32_t attempt) {
  const bool late = attempt >= 24 || (attempt >= FIRST_SKYLINE && p->n > MANY_LIVES);
  const size_t part = late ? 25 : attempt >= 12 || (attempt >= 4 && p->n > MANY_LIVES) ? 50 : 256;
  return p->best_bytes != SIZE_MAX && p->best_bytes - p->bound <= p->bound / part;
}

// From the peak outwards: nothing is wasted where nothing may be, and further away there is room
// for holes. |key| says which lives at the peak lie lowest.
static bool try_from_peak(planner *p, sort_key key) {
  p->num_peak = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    const item *it = &p->items[i];
    if (it->first <= p->peak && it->last >= p->peak) p->peak_order[p->num_peak++] = i;
  }
  if (!sort_list(p, key, p->peak_order, p->num_peak) || !sort_order(p, false)) return false;
  size_t after = fy_plan_beside_peak(p, false);
  if (after >= p->best_bytes) return true;
  if (!sort_order(p, true)) return false;
  size_t before = fy_plan_beside_peak(p, true);
  keep_if_better(p, after > before ? after : before);
  return true;
}

static bool try_by_time(planner *p, bool backwards, bool alike) {
  if (!sort_order(p, backwards)) return false;
  p->alike = alike;
  keep_if_better(p, fy_plan_by_time(p, backwards));
  return true;
}

// Keys weigh bytes against length: b * l, l, l * sqrt b, b * sqrt l; later rounds add noise.
static void make_keys(planner *p, uint32_t attempt) {
  uint64_t noise = 0x9e3779b97f4a7c15u * (attempt + 1);
  const uint32_t kind = attempt % 4;
  for (uint32_t i = 0; i < p->n; i++) {
    const item *it = &p->items[i];
    double bytes = (double)it->bytes, length = (double)(it->last - it->first) + 1;
    double key = kind == 0   ? bytes * length
                 : kind == 1 ? length + bytes / ((double)p->bound + 1)
                 : kind == 2 ? length * sqrt(bytes)
                             : bytes * sqrt(length);
    if (attempt >= 4) {
      noise = noise * 6364136223846793005u + 1442695040888963407u;
      key *= 1 + (double)(noise >> 40) / (1 << 24);
    }
    p->keys[i] = key;
  }
}

// Under ceilings a little above the bound. Not with many lives at once: a step back is dear then.
static bool try_retry(planner *p, uint32_t level) {
  static const size_t parts[] = {SIZE_MAX, 64, 29};
  uint64_t length = 0;
  for (uint32_t i = 0; i < p->n; i++) length += p->items[i].last - p->items[i].first + 1;
  const size_t ceiling = p->bound + p->bound / parts[level] / ALIGN * ALIGN;
  const uint64_t few = p->n > MANY_LIVES ? FEW_OF_MANY : FEW_AT_ONCE;
  if (length / p->steps > few || ceiling >= p->best_bytes) return true;
  if (!sort_order(p, false)) return false;
  keep_if_better(p, fy_plan_retry(p, ceiling, RETRY_WORK));
  return !p->starved;
}

// One attempt after the other, from those that cost least and win most often, as long as there is work
// left for another like the longest so far.
static bool search(planner *p) {
  static const sort_key stacks[] = {BY_START, BY_END, BY_LENGTH, BY_BYTES};
  uint64_t longest = 0;
  bool ok = true;
  for (uint32_t attempt = 0; ok && attempt < MAX_ATTEMPTS && !is_good(p, attempt); attempt++) {
    const uint64_t before = p->work;
    const bool fair = p->best_bytes != SIZE_MAX && p->best_bytes - p->bound <= p->bound / 20;
    const double most = (fair ? ENOUGH_WORK : WORK_LIMIT) * (p->n > MANY_LIVES ? WORK_OF_MANY : 1);
    if ((double)(before + longest) > most) break;
    if (attempt < 4) {
      ok = try_by_time(p, attempt % 2, attempt / 2);
    } else if (attempt < 10) {
      p->alike = attempt % 2;
      ok = try_retry(p, (attempt - 4) / 2);
    } else if (attempt < FIRST_SKYLINE) {
      p->alike = attempt % 2;
      if (!p->alike || p->n <= MANY_LIVES) ok = try_from_peak(p, stacks[(attempt - 10) / 2]);
    } else {
      ok = p->sky || fy_plan_skyline_init(p);
      make_keys(p, attempt - FIRST_SKYLINE);
      if (ok) keep_if_better(p, fy_plan_skyline(p));
      if (p->work - before > longest) longest = p->work - before;
    }
  }
  fy_plan_skyline_free(p);
  return ok;
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
  fy_free(p->orders[0]);
  fy_free(p->orders[1]);
  fy_free(p->heads);
  fy_free(p->peak_order);
  fy_free(p->pieces);
  fy_free(p->best);
  fy_free(p->keys);
  fy_plan_skyline_free(p);
}

static bool planner_init(planner *p, size_t n) {
  memset(p, 0, sizeof *p);
  p->best_bytes = SIZE_MAX;
  p->items = fy_calloc(n, sizeof *p->items);
  p->orders[0] = fy_calloc(n, sizeof *p->orders[0]);
  p->orders[1] = fy_calloc(n, sizeof *p->orders[1]);
  p->heads = fy_calloc(n, sizeof *p->heads);
  p->peak_order = fy_calloc(n, sizeof *p->peak_order);
  p->pieces = fy_calloc(2 * n + 3, sizeof *p->pieces);
  p->best = fy_calloc(n, sizeof *p->best);
  p->keys = fy_calloc(n, sizeof *p->keys);
  return p->items && p->orders[0] && p->orders[1] && p->heads && p->peak_order && p->pieces &&
         p->best && p->keys;
}

static fy_code plan_space(planner *p, fy_life *lives, size_t n, int space, fy_memplan *out,
                          fy_error *err) {
  size_t total = 0;
  p->n = p->steps = 0;
  p->work = 0;
  p->starved = false;
  p->sorted[0] = p->sorted[1] = false;
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

// SPDX-License-Identifier: Apache-2.0
// plan.c: offsets from lifetimes.
//
// The problem (pack rectangles of given height at given times, as low as possible) is NP-hard; a
// few cheap heuristics that fail on different inputs are tried, and the lowest result is kept:
//   by time    replays the run through a best-fit allocator whose size is the lower bound, forwards
//              and backwards. A life goes to the end of its gap whose neighbour lives longer, so
//              that the space left over stays in one piece: optimal on chains (even steps low, odd
//              steps high) and on the nested lives of training. O(n x gaps).
//   by order   places one life after the other (large first, long first, …) into the tightest gap
//              among those already placed that overlap it in time. O(n^2): for small n only.
//   promoted   by order again, with the lives that stick out at the top moved to the front.
// It stops at the lower bound (real models mostly reach it) or within 0.4 % of it, or when the work
// is used up. Work is counted, not timed, so that the same lives always get the same plan.
// Invariant: times are compressed to the T distinct start steps; two lives overlap before exactly
// if they overlap after, because an overlap always contains a start.

#include "memory/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ALIGN        64
#define WORK_LIMIT   4000000  // pairs of lives looked at, over all attempts by order
#define MAX_ATTEMPTS 24
#define NONE         UINT32_MAX

typedef struct item {
  size_t bytes, offset;
  uint32_t first, last;  // compressed steps
  uint32_t life;         // position in the caller's array
  uint32_t next;         // by time: in the list of its end step
  uint32_t piece;        // by time: its memory
} item;

typedef struct placed {  // by order: sorted by begin
  size_t begin, end;
  uint32_t first, last;
} placed;

// By time: memory is a list of pieces in address order, each one item or free; free ones are in a
// list of their own too. Two free pieces never touch. Piece 0 and 1 are the walls.
typedef struct piece {
  size_t begin, bytes;
  uint32_t below, above;
  uint32_t free_before, free_after;
  uint32_t until;  // step after which it is free; NONE for walls
  bool is_free;
} piece;

typedef struct planner {
  item *items;
  uint32_t n, steps;
  uint32_t *order;                         // [n] sequence of placing
  uint32_t *heads;                         // [n] by time: items that end at a step
  placed *placed;                          // [n]
  piece *pieces;                           // [2n + 3]
  uint32_t num_pieces, spare, first_free;  // spare: pieces to reuse, linked by free_after
  size_t *best;                            // [n] offsets of the best plan so far
  uint32_t *best_order;
  size_t bound, best_bytes;
} planner;

// --- by time ---

static void free_link(planner *p, uint32_t i) {
  p->pieces[i].is_free = true;
  p->pieces[i].free_before = NONE;
  p->pieces[i].free_after = p->first_free;
  if (p->first_free != NONE) p->pieces[p->first_free].free_before = i;
  p->first_free = i;
}

static void free_unlink(planner *p, uint32_t i) {
  piece *x = &p->pieces[i];
  x->is_free = false;
  if (x->free_after != NONE) p->pieces[x->free_after].free_before = x->free_before;
  if (x->free_before != NONE)
    p->pieces[x->free_before].free_after = x->free_after;
  else
    p->first_free = x->free_after;
}

static uint32_t piece_insert_above(planner *p, uint32_t below, size_t begin, size_t bytes) {
  uint32_t i = p->spare;
  if (i != NONE)
    p->spare = p->pieces[i].free_after;
  else
    i = p->num_pieces++;
  uint32_t above = p->pieces[below].above;
  p->pieces[i] = (piece){.begin = begin, .bytes = bytes, .below = below, .above = above};
  p->pieces[below].above = i;
  p->pieces[above].below = i;
  return i;
}

static void piece_remove(planner *p, uint32_t i) {
  piece *x = &p->pieces[i];
  p->pieces[x->below].above = x->above;
  p->pieces[x->above].below = x->below;
  x->free_after = p->spare;
  p->spare = i;
}

// A free piece with at least |bytes|: the smallest, or one made by moving the ceiling up.
static uint32_t find_room(planner *p, size_t bytes) {
  uint32_t found = NONE;
  for (uint32_t i = p->first_free; i != NONE; i = p->pieces[i].free_after) {
    if (p->pieces[i].bytes < bytes) continue;
    if (found == NONE || p->pieces[i].bytes < p->pieces[found].bytes) found = i;
    if (p->pieces[i].bytes == bytes) break;
  }
  if (found != NONE) return found;
  piece *ceiling = &p->pieces[1];
  uint32_t last = ceiling->below;
  if (p->pieces[last].is_free) {
    ceiling->begin = p->pieces[last].begin + bytes;
    p->pieces[last].bytes = bytes;
    return last;
  }
  last = piece_insert_above(p, last, p->pieces[1].begin, bytes);
  p->pieces[1].begin += bytes;
  free_link(p, last);
  return last;
}

static void take_room(planner *p, item *it, uint32_t until) {
  uint32_t i = find_room(p, it->bytes);
  piece *x = &p->pieces[i];
  size_t left = x->bytes - it->bytes;
  bool high = p->pieces[x->above].until > p->pieces[x->below].until;
  it->piece = i;
  if (left == 0) {
    free_unlink(p, i);
  } else if (high) {
    x->bytes = left;
    it->piece = piece_insert_above(p, i, x->begin + left, it->bytes);
  } else {
    it->piece = piece_insert_above(p, x->below, x->begin, it->bytes);
    x->begin += it->bytes;
    x->bytes = left;
  }
  p->pieces[it->piece].until = until;
  it->offset = p->pieces[it->piece].begin;
}

static void give_back(planner *p, uint32_t i) {
  piece *x = &p->pieces[i];
  uint32_t below = x->below, above = x->above;
  if (p->pieces[below].is_free) {
    x->begin = p->pieces[below].begin;
    x->bytes += p->pieces[below].bytes;
    free_unlink(p, below);
    piece_remove(p, below);
  }
  if (p->pieces[above].is_free) {
    x->bytes += p->pieces[above].bytes;
    free_unlink(p, above);
    piece_remove(p, above);
  }
  free_link(p, i);
}

// Replays the run. |order| holds the items by start (larger first within a step); backwards, by
// end.
static size_t place_by_time(planner *p, bool backwards) {
  memset(p->heads, 0xff, p->steps * sizeof *p->heads);
  p->spare = p->first_free = NONE;
  p->num_pieces = 2;
  p->pieces[0] = (piece){.above = 1, .until = NONE};
  p->pieces[1] = (piece){.begin = p->bound, .until = NONE};
  free_link(p, piece_insert_above(p, 0, 0, p->bound));
  uint32_t at = 0;
  for (uint32_t s = 0; s < p->steps; s++) {
    for (; at < p->n; at++) {
      item *it = &p->items[p->order[at]];
      if ((backwards ? p->steps - 1 - it->last : it->first) != s) break;
      uint32_t end = backwards ? p->steps - 1 - it->first : it->last;
      take_room(p, it, end);
      it->next = p->heads[end];
      p->heads[end] = p->order[at];
    }
    for (uint32_t i = p->heads[s]; i != NONE; i = p->items[i].next) give_back(p, p->items[i].piece);
  }
  return p->pieces[1].begin;
}

// --- by order ---

static size_t place_by_order(planner *p) {
  size_t most = 0;
  for (uint32_t n = 0; n < p->n; n++) {
    item *it = &p->items[p->order[n]];
    size_t top = 0, least = SIZE_MAX, at = SIZE_MAX;
    for (uint32_t i = 0; i < n; i++) {
      const placed *x = &p->placed[i];
      if (x->first > it->last || x->last < it->first || x->end <= top) continue;
      if (x->begin > top && x->begin - top >= it->bytes && x->begin - top < least) {
        least = x->begin - top;
        at = top;
      }
      top = x->end;
    }
    it->offset = at != SIZE_MAX ? at : top;
    if (it->offset + it->bytes > most) most = it->offset + it->bytes;
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
      uint32_t mid = (lo + hi) / 2;
      if (p->placed[mid].begin < it->offset)
        lo = mid + 1;
      else
        hi = mid;
    }
    memmove(p->placed + lo + 1, p->placed + lo, (n - lo) * sizeof *p->placed);
    p->placed[lo] = (placed){it->offset, it->offset + it->bytes, it->first, it->last};
  }
  return most;
}

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
static bool is_good(const planner *p) {
  return p->best_bytes != SIZE_MAX && p->best_bytes - p->bound <= p->bound / 256;
}

static bool search(planner *p) {
  static const sort_key keys[] = {BY_START, BY_END, BY_BYTES, BY_AREA, BY_LENGTH};
  uint64_t cost = (uint64_t)p->n * p->n / 2, work = 0;
  int attempts = 0;
  for (size_t k = 0; k < 5 && !is_good(p); k++) {
    bool by_time = keys[k] == BY_START || keys[k] == BY_END;
    if (!by_time && (work += cost) > WORK_LIMIT) return true;
    if (!sort_order(p, keys[k])) return false;
    keep_if_better(p, by_time ? place_by_time(p, keys[k] == BY_END) : place_by_order(p));
    attempts++;
  }
  // What does not fit well is tried first next time; sequences that helped are kept.
  if (is_good(p)) return true;
  memcpy(p->order, p->best_order, p->n * sizeof *p->order);
  while (!is_good(p) && attempts++ < MAX_ATTEMPTS && (work += cost) <= WORK_LIMIT) {
    size_t bytes = place_by_order(p);
    keep_if_better(p, bytes);
    promote(p, bytes);
  }
  return true;
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
      if ((size_t)bytes > p->bound) p->bound = (size_t)bytes, *out_peak_step = starts[s];
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
  fy_free(p->placed);
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
  p->placed = fy_calloc(n, sizeof *p->placed);
  p->pieces = fy_calloc(2 * n + 3, sizeof *p->pieces);
  p->best = fy_calloc(n, sizeof *p->best);
  p->best_order = fy_calloc(n, sizeof *p->best_order);
  return p->items && p->order && p->heads && p->placed && p->pieces && p->best && p->best_order;
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

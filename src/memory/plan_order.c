// SPDX-License-Identifier: Apache-2.0
// plan_order.c: offsets for one life after the other, in the tightest gap among those placed before.
// The lives already placed are filed by time: steps are cut into slots about as long as a mean life,
// each slot lists the lives that touch it by address. A life then looks at its neighbours in time
// only, and all lists together hold at most 3n entries.

#include "memory/plan_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int compare_placed(const void *a, const void *b) {
  const placed *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// Cuts time into slots and gives each slot its room in |filed|.
bool fy_plan_slots(planner *p) {
  uint64_t length = 0;
  for (uint32_t i = 0; i < p->n; i++) length += p->items[i].last - p->items[i].first + 1;
  p->slot_steps = (uint32_t)(length / p->n);  // at least 1
  p->num_slots = (p->steps - 1) / p->slot_steps + 1;
  memset(p->slot_begin, 0, (p->num_slots + 1) * sizeof *p->slot_begin);
  for (uint32_t i = 0; i < p->n; i++) {
    uint32_t end = p->items[i].last / p->slot_steps;
    for (uint32_t k = p->items[i].first / p->slot_steps; k <= end; k++) p->slot_begin[k + 1]++;
  }
  for (uint32_t k = 0; k < p->num_slots; k++) p->slot_begin[k + 1] += p->slot_begin[k];
  fy_free(p->filed);
  p->filed = fy_malloc(p->slot_begin[p->num_slots] * sizeof *p->filed);
  return p->filed;
}

// The tightest gap below the top of what overlaps, being told of it from the lowest up.
typedef struct gap_search {
  size_t bytes, top, least, at;
} gap_search;

static void gap_see(gap_search *g, const placed *x) {
  if (x->end <= g->top) return;
  if (x->begin > g->top && x->begin - g->top >= g->bytes && x->begin - g->top < g->least) {
    g->least = x->begin - g->top;
    g->at = g->top;
  }
  g->top = x->end;
}

static bool overlaps(const placed *x, const item *it) {
  return x->first <= it->last && x->last >= it->first;
}

// Finds room for |it| among the lives filed in slots |from| to |to|.
static size_t find_gap(planner *p, const item *it, uint32_t from, uint32_t to) {
  gap_search g = {it->bytes, 0, SIZE_MAX, SIZE_MAX};
  const placed *a = p->filed + p->slot_begin[from], *b = p->filed + p->slot_begin[to];
  const placed *a_end = a + p->slot_count[from], *b_end = b + p->slot_count[to];
  if (to == from) b = b_end;
  if (to - from < 2) {  // nearly always: merge two lists
    p->work += (uint64_t)(a_end - a) + (uint64_t)(b_end - b);
    while (a < a_end || b < b_end) {
      const placed *x = b == b_end || (a < a_end && a->begin < b->begin) ? a++ : b++;
      if (overlaps(x, it)) gap_see(&g, x);
    }
  } else {
    uint32_t found = 0;
    for (uint32_t k = from; k <= to; k++) {
      const placed *x = p->filed + p->slot_begin[k], *end = x + p->slot_count[k];
      p->work += (uint64_t)(end - x);
      for (; x < end; x++) {  // where it touches two slots, it counts in the first
        bool first = k == from || x->first / p->slot_steps == k;
        if (first && overlaps(x, it)) p->found[found++] = *x;
      }
    }
    qsort(p->found, found, sizeof *p->found, compare_placed);
    p->work += 16 * (uint64_t)found;
    for (uint32_t i = 0; i < found; i++) gap_see(&g, &p->found[i]);
  }
  return g.at != SIZE_MAX ? g.at : g.top;
}

static void file_in_slot(planner *p, uint32_t slot, const placed *x) {
  placed *list = p->filed + p->slot_begin[slot];
  uint32_t lo = 0, hi = p->slot_count[slot]++;
  uint32_t count = hi;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (list[mid].begin < x->begin)
      lo = mid + 1;
    else
      hi = mid;
  }
  memmove(list + lo + 1, list + lo, (count - lo) * sizeof *list);
  list[lo] = *x;
}

size_t fy_plan_by_order(planner *p) {
  size_t most = 0;
  memset(p->slot_count, 0, p->num_slots * sizeof *p->slot_count);
  for (uint32_t n = 0; n < p->n; n++) {
    item *it = &p->items[p->order[n]];
    uint32_t from = it->first / p->slot_steps, to = it->last / p->slot_steps;
    it->offset = find_gap(p, it, from, to);
    placed x = {it->offset, it->offset + it->bytes, it->first, it->last};
    if (x.end > most) most = x.end;
    for (uint32_t k = from; k <= to; k++) file_in_slot(p, k, &x);
  }
  return most;
}

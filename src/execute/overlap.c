// SPDX-License-Identifier: Apache-2.0
#include "execute/overlap.h"

#include <string.h>

#include "base/alloc.h"

#define WORDS   8  // of bits for one block of tasks: who is ordered with them takes little memory
#define COLUMNS (64 * WORDS)

// The lowest bit that is not set, or COLUMNS; |up| is false: the highest, or COLUMNS.
static uint32_t free_column(const uint64_t *bits, bool up) {
  for (uint32_t k = 0; k < WORDS; k++) {
    const uint32_t w = up ? k : WORDS - 1 - k;
    if (~bits[w])
      return w * 64 + (uint32_t)(up ? __builtin_ctzll(~bits[w]) : 63 - __builtin_clzll(~bits[w]));
  }
  return COLUMNS;
}

// Of tasks |from| up to |from| + COLUMNS: which surely end before each later task starts. True when some
// task is ordered with all of them: then the next block has its answer.
static bool look_back(const fy_program *p, uint32_t from, uint64_t (*bits)[WORDS],
                      uint32_t *first) {
  const uint32_t n = p->num_tasks;
  bool more = false;
  memset(bits + from, 0, (n - from) * sizeof *bits);
  for (uint32_t t = from; t < n; t++) {
    if (t - from < COLUMNS) bits[t][(t - from) / 64] |= 1ull << (t - from) % 64;
    if (first[t] == from) {
      first[t] += free_column(bits[t], true);
      more |= first[t] == from + COLUMNS;
    }
    for (uint32_t i = 0; i < p->tasks[t].num_next; i++)
      for (uint32_t w = 0; w < WORDS; w++)
        bits[p->task_next[p->tasks[t].next_at + i]][w] |= bits[t][w];
  }
  return more && n - from > COLUMNS;
}

// The same of tasks |end| - COLUMNS up to |end|, which surely start after each earlier task has ended.
static bool look_ahead(const fy_program *p, uint32_t end, uint64_t (*bits)[WORDS], uint32_t *last) {
  bool more = false;
  memset(bits, 0, end * sizeof *bits);
  for (uint32_t t = end; t-- > 0;) {
    const uint32_t back = end - 1 - t;
    if (back < COLUMNS) bits[t][WORDS - 1 - back / 64] |= 1ull << (63 - back % 64);
    for (uint32_t i = 0; i < p->tasks[t].num_next; i++) {
      const uint32_t next = p->task_next[p->tasks[t].next_at + i];
      for (uint32_t w = 0; next < end && w < WORDS; w++) bits[t][w] |= bits[next][w];
    }
    if (last[t] != end - 1) continue;
    const uint32_t column = free_column(bits[t], false);
    const uint32_t ordered = column == COLUMNS ? COLUMNS : COLUMNS - 1 - column;
    last[t] = ordered < end ? end - 1 - ordered : 0;
    more |= ordered == COLUMNS;
  }
  return more && end > COLUMNS;
}

bool fy_overlap_find(const fy_program *p, fy_overlap *o) {
  const uint32_t n = p->num_tasks;
  uint64_t(*bits)[WORDS] = fy_calloc(n, sizeof *bits);
  o->first = fy_calloc(n, sizeof *o->first);
  o->last = fy_calloc(n, sizeof *o->last);
  const bool ok = bits && o->first && o->last;
  for (uint32_t t = 0; ok && t < n; t++) o->last[t] = n - 1;
  for (uint32_t from = 0; ok && look_back(p, from, bits, o->first);) from += COLUMNS;
  for (uint32_t end = n; ok && look_ahead(p, end, bits, o->last);) end -= COLUMNS;
  fy_free(bits);
  return ok;
}

void fy_overlap_drop(fy_overlap *o) {
  fy_free(o->first);
  fy_free(o->last);
}

void fy_overlap_widen(const fy_program *p, const fy_overlap *o, uint32_t *first, uint32_t *last) {
  const uint32_t before = o->first[p->instrs[*first].task], after = o->last[p->instrs[*last].task];
  if (before < p->num_tasks && p->tasks[before].begin < *first) *first = p->tasks[before].begin;
  if (p->tasks[after].end - 1 > *last) *last = p->tasks[after].end - 1;
}

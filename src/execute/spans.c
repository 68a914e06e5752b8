// SPDX-License-Identifier: Apache-2.0
// spans.c: a tree over the instructions. What was added to a whole subtree is written at its top only.

#include "execute/spans.h"

#include "base/alloc.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void fill(fy_spans *s, uint32_t at, uint32_t begin, uint32_t end, const uint64_t *values) {
  if (end - begin == 1) {
    s->most[at] = s->all[at] = (int64_t)values[begin];
    return;
  }
  const uint32_t middle = begin + (end - begin) / 2;
  fill(s, 2 * at, begin, middle, values);
  fill(s, 2 * at + 1, middle, end, values);
  s->most[at] = larger(s->most[2 * at], s->most[2 * at + 1]);
}

bool fy_spans_make(fy_spans *s, const uint64_t *values, uint32_t n) {
  *s = (fy_spans){.n = n};
  s->most = fy_calloc((size_t)n * 4 + 1, sizeof *s->most);
  s->all = fy_calloc((size_t)n * 4 + 1, sizeof *s->all);
  if (!s->most || !s->all) {
    fy_spans_free(s);
    return false;
  }
  if (n) fill(s, 1, 0, n, values);
  return true;
}

void fy_spans_free(fy_spans *s) {
  fy_free(s->most);
  fy_free(s->all);
  *s = (fy_spans){0};
}

typedef struct span {
  uint32_t begin, end;
  int64_t bytes;
} span;

static void add(fy_spans *s, uint32_t at, uint32_t begin, uint32_t end, const span *p) {
  if (p->end <= begin || end <= p->begin) return;
  if (p->begin <= begin && end <= p->end) {
    s->most[at] += p->bytes;
    s->all[at] += p->bytes;
    return;
  }
  const uint32_t middle = begin + (end - begin) / 2;
  add(s, 2 * at, begin, middle, p);
  add(s, 2 * at + 1, middle, end, p);
  s->most[at] = s->all[at] + larger(s->most[2 * at], s->most[2 * at + 1]);
}

void fy_spans_add(fy_spans *s, uint32_t first, uint32_t last, int64_t bytes) {
  const span p = {first, last + 1, bytes};
  if (s->n) add(s, 1, 0, s->n, &p);
}

static void read(const fy_spans *s, uint32_t at, uint32_t begin, uint32_t end, int64_t above,
                 uint64_t *values) {
  const int64_t here = above + s->all[at];
  if (end - begin == 1) {
    values[begin] = (uint64_t)here;
    return;
  }
  const uint32_t middle = begin + (end - begin) / 2;
  read(s, 2 * at, begin, middle, here, values);
  read(s, 2 * at + 1, middle, end, here, values);
}

void fy_spans_read(const fy_spans *s, uint64_t *values) {
  if (s->n) read(s, 1, 0, s->n, 0, values);
}

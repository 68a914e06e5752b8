// SPDX-License-Identifier: Apache-2.0
// spans.h: bytes by instruction, of which spans grow and shrink, and the most of all: each in the logarithm
// of their number. For whoever asks again and again what would fit.

#ifndef FY_EXECUTE_SPANS_H
#define FY_EXECUTE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fy_spans {
  uint32_t n;
  int64_t *most, *all;  // by place in the tree: the most below it, of which |all| have this much
} fy_spans;

bool fy_spans_make(fy_spans *s, const uint64_t *values, uint32_t n);  // false: memory is short
void fy_spans_free(fy_spans *s);
void fy_spans_add(fy_spans *s, uint32_t first, uint32_t last, int64_t bytes);
static inline int64_t fy_spans_most(const fy_spans *s) {
  return s->n ? s->most[1] : 0;
}
void fy_spans_read(const fy_spans *s, uint64_t *values);  // [n]

#endif

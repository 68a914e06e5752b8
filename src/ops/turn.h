// SPDX-License-Identifier: Apache-2.0
// turn.h: rows become columns: planes of elements of any size, and a square of 8 x 8 words in
// registers.

#ifndef FY_OPS_TURN_H
#define FY_OPS_TURN_H

#include <string.h>

#include "ops/typed.h"

// out[r][c] = in[c][r]; steps in elements. At least 8 rows and columns.
typedef struct fy_turn {
  char *out;
  const char *in;
  int64_t out_step, in_step, rows, cols;
  size_t size;      // of an element: 1, 2, 4, 8 or 16
  bool past_cache;  // the result leaves the cache anyway
} fy_turn;
void fy_turn_plane(const fy_turn *t);
// The same for words, in the cache. Less than 8 rows or columns are turned as if they were 8, the rows of
// the result in order: whoever calls has the room.
void fy_turn_words(void *out, int64_t out_step, const void *in, int64_t in_step, int64_t rows,
                   int64_t cols);

// Squares of 8 cover |n| >= 8 elements if the last begins where it ends with them.
static inline int64_t fy_next_square(int64_t at, int64_t n) {
  return at + 16 <= n || at + 8 >= n ? at + 8 : n - 8;
}

typedef uint32_t fy_words8 __attribute__((vector_size(32)));

// to[c][r] = from[r][c], steps in words: pairs, pairs of pairs, halves. Rows of |to| are written in
// order and may overlap those after them. In registers only if the loops are unrolled.
static inline __attribute__((always_inline)) void fy_turn_8(void *to, int64_t to_step,
                                                            const void *from, int64_t from_step) {
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
  fy_words8 a[8], b[8];
  const char *in = from;
  char *out = to;
  FY_UNROLL for (int k = 0; k < 8; k++, in += from_step * 4) memcpy(&a[k], in, sizeof a[k]);
  FY_UNROLL for (int k = 0; k < 8; k += 2) {
    b[k] = MIX(a[k], a[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[k + 1] = MIX(a[k], a[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  FY_UNROLL for (int k = 0; k < 8; k += 4) {
    a[k] = MIX(b[k], b[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[k + 1] = MIX(b[k], b[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    a[k + 2] = MIX(b[k + 1], b[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    a[k + 3] = MIX(b[k + 1], b[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  FY_UNROLL for (int k = 0; k < 4; k++) {
    b[k] = MIX(a[k], a[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[k + 4] = MIX(a[k], a[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  FY_UNROLL for (int k = 0; k < 8; k++, out += to_step * 4) memcpy(out, &b[k], sizeof b[k]);
#undef MIX
}

#endif

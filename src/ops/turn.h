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
// A copy that goes past the cache, in whole lines; what else there is at its ends does not. After the last one others may
// only be told once fy_stream_end() was called.
void fy_stream(char *to, const char *from, size_t n);
void fy_stream_end(void);
#define FY_LONG_FILL 2048  // bytes; to write less, a loop is as good
// |n| elements of |size| bytes (1, 2, 4, 8 or 16) like the one at |value|.
void fy_fill(void *to, const void *value, size_t size, int64_t n);

// Squares of 8 cover |n| >= 8 elements if the last begins where it ends with them.
static inline int64_t fy_next_square(int64_t at, int64_t n) {
  return at + 16 <= n || at + 8 >= n ? at + 8 : n - 8;
}

typedef uint32_t fy_words4 __attribute__((vector_size(16)));
typedef uint32_t fy_words8 __attribute__((vector_size(32)));

#define FY_MIX(a, b, ...)  __builtin_shufflevector(a, b, __VA_ARGS__)
#define FY_TURN_FN         static inline __attribute__((always_inline)) void
#define FY_LOW_PAIRS(a, b) FY_MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define FY_TOP_PAIRS(a, b) FY_MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define FY_LOW_FOURS(a, b) FY_MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define FY_TOP_FOURS(a, b) FY_MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)

// Squares of 4 x 4, two beside each other: pairs, then pairs of pairs.
FY_TURN_FN fy_turn_fours(fy_words8 *a) {
  const fy_words8 b0 = FY_LOW_PAIRS(a[0], a[1]), b1 = FY_TOP_PAIRS(a[0], a[1]);
  const fy_words8 b2 = FY_LOW_PAIRS(a[2], a[3]), b3 = FY_TOP_PAIRS(a[2], a[3]);
  a[0] = FY_LOW_FOURS(b0, b2), a[1] = FY_TOP_FOURS(b0, b2);
  a[2] = FY_LOW_FOURS(b1, b3), a[3] = FY_TOP_FOURS(b1, b3);
}

// to[c][r] = from[r][c], steps in words. Rows of |to| are written in order and may overlap those after
// them. In registers only if the loops are unrolled. 4 columns of 8 rows:
FY_TURN_FN fy_turn_8x4(void *to, int64_t to_step, const void *from, int64_t from_step) {
  fy_words8 a[4];
  const char *in = from;
  char *out = to;
  FY_UNROLL for (int k = 0; k < 4; k++) {
    fy_words4 low, top;
    memcpy(&low, in + k * from_step * 4, sizeof low);
    memcpy(&top, in + (k + 4) * from_step * 4, sizeof top);
    a[k] = FY_MIX(low, top, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  fy_turn_fours(a);
  FY_UNROLL for (int k = 0; k < 4; k++, out += to_step * 4) memcpy(out, &a[k], sizeof a[k]);
}
// 8 columns of 4 rows:
FY_TURN_FN fy_turn_4x8(void *to, int64_t to_step, const void *from, int64_t from_step) {
  fy_words8 a[4];
  const char *in = from;
  char *out = to;
  FY_UNROLL for (int k = 0; k < 4; k++, in += from_step * 4) memcpy(&a[k], in, sizeof a[k]);
  fy_turn_fours(a);
  FY_UNROLL for (int k = 0; k < 8; k++, out += to_step * 4)
      memcpy(out, (const char *)&a[k % 4] + k / 4 * 16, 16);
}
// 8 of 8, then also halves; all is read before any is written.
FY_TURN_FN fy_turn_8(void *to, int64_t to_step, const void *from, int64_t from_step) {
  fy_words8 a[8];
  const char *in = from;
  char *out = to;
  FY_UNROLL for (int k = 0; k < 8; k++, in += from_step * 4) memcpy(&a[k], in, sizeof a[k]);
  fy_turn_fours(a);
  fy_turn_fours(a + 4);
  FY_UNROLL for (int k = 0; k < 8; k++, out += to_step * 4) {
    const fy_words8 low = a[k % 4], top = a[k % 4 + 4];
    const fy_words8 row = k < 4 ? FY_MIX(low, top, 0, 1, 2, 3, 8, 9, 10, 11)
                                : FY_MIX(low, top, 4, 5, 6, 7, 12, 13, 14, 15);
    memcpy(out, &row, sizeof row);
  }
}

#endif

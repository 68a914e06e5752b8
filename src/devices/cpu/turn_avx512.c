// SPDX-License-Identifier: Apache-2.0
// turn_avx512.c: planes of bytes whose rows become columns (ops/turn.c), sixty-four rows at a time: a row of the
// result is written as a whole vector, and a vector of the input's holds sixteen bytes of four rows.

#include "devices/cpu/lanes.h"
#include "ops/turn.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes32 __attribute__((vector_size(32)));
typedef uint8_t bytes64 __attribute__((vector_size(64)));

#define PAIR(k) k, 64 + (k)
#define EIGHT(k) \
  PAIR(k), PAIR(k + 1), PAIR(k + 2), PAIR(k + 3), PAIR(k + 4), PAIR(k + 5), PAIR(k + 6), PAIR(k + 7)
#define LOW(a, b)  FY_MIX(a, b, EIGHT(0), EIGHT(16), EIGHT(32), EIGHT(48))
#define HIGH(a, b) FY_MIX(a, b, EIGHT(8), EIGHT(24), EIGHT(40), EIGHT(56))
#define UP_TO_32                                                                                \
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, \
      26, 27, 28, 29, 30, 31
#define FROM_32                                                                                   \
  32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, \
      56, 57, 58, 59, 60, 61, 62, 63
#define ALL _Pragma("GCC unroll 16") for (int k = 0; k < 16; k++)
#define ZIP(to, from)                                                                  \
  _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) {                                \
    to[2 * k] = LOW(from[k], from[k + 8]), to[2 * k + 1] = HIGH(from[k], from[k + 8]); \
  }

static inline bytes16 at(const uint8_t *p) {
  bytes16 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline bytes64 four_rows(const uint8_t *p, int64_t step) {
  const bytes32 low = FY_MIX(at(p), at(p + 16 * step), UP_TO_32);
  const bytes32 high = FY_MIX(at(p + 32 * step), at(p + 48 * step), UP_TO_32);
  return FY_MIX(low, high, UP_TO_32, FROM_32);
}
// 16 columns of 64 rows.
static inline __attribute__((always_inline)) void turn_some(uint8_t *to, int64_t to_step,
                                                            const uint8_t *from, int64_t step) {
  bytes64 a[16], b[16];
  ALL a[k] = four_rows(from + k * step, step);
  ZIP(b, a)
  ZIP(a, b)
  ZIP(b, a)
  ZIP(a, b)
  ALL memcpy(to + k * to_step, &a[k], sizeof a[k]);
}

void fy_turn_bytes_avx512(uint8_t *out, int64_t out_step, const uint8_t *in, int64_t in_step,
                          int64_t rows, int64_t cols, const uint8_t *next) {
  for (int64_t c0 = 0; c0 < cols; c0 += 64) {
    const int64_t c = c0 + 64 > cols ? cols - 64 : c0;
    for (int64_t k = c0; next && k < c + 64; k++)
      for (int64_t r = 0; r < rows; r += 64) __builtin_prefetch(next + k * in_step + r, 0, 2);
    for (int64_t r0 = 0; r0 < rows; r0 += 16) {
      const int64_t r = r0 + 16 > rows ? rows - 16 : r0;
      turn_some(out + r * out_step + c, out_step, in + c * in_step + r, in_step);
    }
  }
}

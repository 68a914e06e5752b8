// SPDX-License-Identifier: Apache-2.0
// gemm_bytes_avx2.c: see gemm_bytes.h. Words are multiplied in pairs: of bytes, whose instruction saturates, two
// products may not fit 16 bits. (Six rows would need a register more than there are.)

#include <immintrin.h>

#include "devices/cpu/gemm_bytes.h"

#define COLUMNS 8
#define UNROLL  _Pragma("GCC unroll 8")

static inline __m256i widen(const int8_t *b) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)b));
}

// acc: four columns a vector, two sums of each.
#define BLOCK(ROWS)                                                                       \
  static void block_##ROWS(const fy_byte_block *p) {                                      \
    __m256i acc[ROWS][2];                                                                 \
    UNROLL for (int i = 0; i < ROWS; i++) acc[i][0] = acc[i][1] = _mm256_setzero_si256(); \
    const int8_t *b = p->b;                                                               \
    const char *a = p->a;                                                                 \
    for (int64_t q = p->quads; q > 0; q--, b += 4 * COLUMNS, a += 8) {                    \
      const __m256i y0 = widen(b), y1 = widen(b + 16);                                    \
      UNROLL for (int i = 0; i < ROWS; i++) {                                             \
        int64_t four;                                                                     \
        memcpy(&four, a + i * p->row_bytes, sizeof four);                                 \
        const __m256i x = _mm256_set1_epi64x(four);                                       \
        acc[i][0] = _mm256_add_epi32(acc[i][0], _mm256_madd_epi16(x, y0));                \
        acc[i][1] = _mm256_add_epi32(acc[i][1], _mm256_madd_epi16(x, y1));                \
      }                                                                                   \
    }                                                                                     \
    UNROLL for (int i = 0; i < ROWS; i++) {                                               \
      const __m256i sums = _mm256_hadd_epi32(acc[i][0], acc[i][1]);                       \
      _mm256_storeu_si256((__m256i *)(void *)(p->sums + i * p->step),                     \
                          _mm256_permute4x64_epi64(sums, 0xd8));                          \
    }                                                                                     \
  }
BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(4)

static void block(const fy_byte_block *p, int rows) {
  static void (*const blocks[])(const fy_byte_block *) = {NULL, block_1, block_2, block_3, block_4};
  blocks[rows](p);
}

const fy_byte_kernels fy_bytes_avx2 = {4, COLUMNS, true, block};

// SPDX-License-Identifier: Apache-2.0
// gemm_bf16_avx512.c: see gemm_bf16.h. Where halves stand in for AVX-512 (cmake/avx512_halves.h) the same in plain
// C, so that everything around it is tested.

#include "devices/cpu/cpu.h"
#include "devices/cpu/gemm_bf16.h"

#ifdef __AVX512F__
#include <immintrin.h>

#define UNROLL _Pragma("GCC unroll 8")
#define BLOCK(ROWS)                                                                        \
  __attribute__((target("avx512bf16"))) static void block_##ROWS(const fy_bf16_block *p) { \
    __m512 acc[ROWS][2];                                                                   \
    UNROLL for (int i = 0; i < ROWS; i++) acc[i][0] = acc[i][1] = _mm512_setzero_ps();     \
    const fy_pair *b = p->b, *a = p->a;                                                    \
    const int64_t row = p->row_step, step = p->pair_step;                                  \
    for (int64_t k = p->pairs; k > 0; k--, b += FY_BF16_COLUMNS, a += step) {              \
      const __m512bh y0 = (__m512bh)_mm512_loadu_si512(b);                                 \
      const __m512bh y1 = (__m512bh)_mm512_loadu_si512(b + 16);                            \
      UNROLL for (int i = 0; i < ROWS; i++) {                                              \
        const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[i * row]);                   \
        acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, y0);                                    \
        acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, y1);                                    \
      }                                                                                    \
    }                                                                                      \
    UNROLL for (int i = 0; i < ROWS; i++) {                                                \
      float *c = p->sums + i * FY_BF16_COLUMNS;                                            \
      if (!p->first) {                                                                     \
        acc[i][0] = acc[i][0] + _mm512_loadu_ps(c);                                        \
        acc[i][1] = acc[i][1] + _mm512_loadu_ps(c + 16);                                   \
      }                                                                                    \
      _mm512_storeu_ps(c, acc[i][0]);                                                      \
      _mm512_storeu_ps(c + 16, acc[i][1]);                                                 \
    }                                                                                      \
  }
BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(4)
BLOCK(5)
BLOCK(6)

void fy_gemm_bf16_block(const fy_bf16_block *block, int rows) {
  static void (*const blocks[])(const fy_bf16_block *) = {NULL,    block_1, block_2, block_3,
                                                          block_4, block_5, block_6};
  blocks[rows](block);
}

bool fy_gemm_bf16_here(void) {
  return fy_cpu_level_get() >= FY_CPU_AVX512 && __builtin_cpu_supports("avx512bf16");
}
#else
void fy_gemm_bf16_block(const fy_bf16_block *p, int rows) {
  for (int i = 0; i < rows; i++) {
    float *c = p->sums + i * FY_BF16_COLUMNS;
    for (int j = 0; j < FY_BF16_COLUMNS; j++) {
      float sum = 0;
      for (int64_t k = 0; k < p->pairs; k++) {
        const uint32_t x = p->a[i * p->row_step + k * p->pair_step];
        const uint32_t y = p->b[k * FY_BF16_COLUMNS + j];
        sum +=
            fy_bfloat16_to_float((uint16_t)x) * fy_bfloat16_to_float((uint16_t)y) +
            fy_bfloat16_to_float((uint16_t)(x >> 16)) * fy_bfloat16_to_float((uint16_t)(y >> 16));
      }
      c[j] = p->first ? sum : c[j] + sum;
    }
  }
}

bool fy_gemm_bf16_here(void) {
  return fy_cpu_level_get() >= FY_CPU_AVX512;
}
#endif

// SPDX-License-Identifier: Apache-2.0
// gemm_bytes_avx512.c: see gemm_bytes.h. AVX512_VNNI: Cascade Lake, Zen 4 and later. Where halves stand in for AVX-512
// (cmake/avx512_halves.h) the same in plain C, so that everything around it is tested.

#include "devices/cpu/cpu.h"
#include "devices/cpu/gemm_bytes.h"

#define COLUMNS 32

#ifdef __AVX512F__
#include <immintrin.h>

#define UNROLL _Pragma("GCC unroll 8")
#define BLOCK(ROWS)                                                                        \
  __attribute__((target("avx512vnni"))) static void block_##ROWS(const fy_byte_block *p) { \
    __m512i acc[ROWS][2];                                                                  \
    UNROLL for (int i = 0; i < ROWS; i++) acc[i][0] = acc[i][1] = _mm512_setzero_si512();  \
    const int8_t *b = p->b;                                                                \
    const char *a = p->a;                                                                  \
    for (int64_t q = p->quads; q > 0; q--, b += 4 * COLUMNS, a += 4) {                     \
      const __m512i y0 = _mm512_loadu_si512(b), y1 = _mm512_loadu_si512(b + 64);           \
      UNROLL for (int i = 0; i < ROWS; i++) {                                              \
        int32_t four;                                                                      \
        memcpy(&four, a + i * p->row_bytes, sizeof four);                                  \
        const __m512i x = _mm512_set1_epi32(four);                                         \
        acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], x, y0);                                 \
        acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], x, y1);                                 \
      }                                                                                    \
    }                                                                                      \
    UNROLL for (int i = 0; i < ROWS; i++) {                                                \
      _mm512_storeu_si512(p->sums + i * p->step, acc[i][0]);                               \
      _mm512_storeu_si512(p->sums + i * p->step + 16, acc[i][1]);                          \
    }                                                                                      \
  }
BLOCK(1)
BLOCK(2)
BLOCK(4)
BLOCK(8)

static void block(const fy_byte_block *p, int rows) {
  static void (*const blocks[])(const fy_byte_block *) = {block_1, block_2, block_4, block_8};
  fy_byte_block at = *p;
  for (int log = 3; log >= 0; log--) {
    if (!(rows >> log & 1)) continue;
    blocks[log](&at);
    at.a += at.row_bytes << log;
    at.sums += at.step << log;
  }
}

bool fy_bytes_avx512_here(void) {
  return fy_cpu_level_get() >= FY_CPU_AVX512 && __builtin_cpu_supports("avx512vnni");
}
#else
static void block(const fy_byte_block *p, int rows) {
  for (int i = 0; i < rows; i++) {
    const uint8_t *a = (const uint8_t *)p->a + i * p->row_bytes;
    for (int j = 0; j < COLUMNS; j++) {
      int32_t sum = 0;
      for (int64_t k = 0; k < 4 * p->quads; k++)
        sum += a[k] * p->b[(k / 4 * COLUMNS + j) * 4 + k % 4];
      p->sums[i * p->step + j] = sum;
    }
  }
}

bool fy_bytes_avx512_here(void) {
  return fy_cpu_level_get() >= FY_CPU_AVX512;
}
#endif

const fy_byte_kernels fy_bytes_avx512 = {8, COLUMNS, false, block};

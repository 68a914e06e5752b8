// SPDX-License-Identifier: Apache-2.0
// gemm_avx512.c: the kernel of gemm.h for x86 machines with AVX-512, in two shapes.
//
// Where two products of 512 bits begin in a cycle: blocks of 12 x 32 floats in 24 of the 32 registers, or 6 x 16
// doubles. Two loads begin in a cycle, too: a term of twelve rows takes 12 cycles and 14 loads, one of six 6 and 8.
// Where one does (Zen 4): blocks of 6 x 16 floats or 6 x 8 doubles. Six sums are enough there, a short block
// lets the next one begin sooner, and panels are as wide as AVX2's, whose blocks take what does not fill a
// vector. The arithmetic is the same as with AVX2, but half of the instructions do it.

#include <immintrin.h>
#include <string.h>

#include "devices/cpu/gemm.h"

#define FIRST(n) ((1u << (n)) - 1u)  // of the lanes, as a mask

// What was read stays in a register; where halves stand in for it (cmake/avx512_halves.h) there is none.
#ifdef __AVX512F__
#define KEEP(x) __asm__("" : "+v"(x))
#else
#define KEEP(x) (void)0
#endif
// A block's numbers are read again where they are needed: kept from block to block, they push each other out
// of the sixteen registers for addresses into vectors, which short sums pay for.
#define AGAIN(p) __asm__("" : "+r"(p))

#define REAL                float
#define VEC                 __m512
#define LANES               16
#define LOAD(p)             _mm512_loadu_ps(p)
#define STORE(p, x)         _mm512_storeu_ps(p, x)
#define LOAD_PART(p, n)     _mm512_maskz_loadu_ps((__mmask16)FIRST(n), p)
#define STORE_PART(p, n, x) _mm512_mask_storeu_ps(p, (__mmask16)FIRST(n), x)
#define SPLAT(x)            _mm512_set1_ps(x)
#define FMA(a, b, c)        _mm512_fmadd_ps(a, b, c)
#define MAX(a, b)           _mm512_max_ps(a, b)
#define MIN(a, b)           _mm512_min_ps(a, b)
#define NAME(x)             x##_f32
#define WIDE
#define TALL
#define SINGLE
#include "devices/cpu/gemm_kernel.inc"
#undef WIDE
#undef TALL
#include "devices/cpu/gemm_depthwise.inc"
#include "devices/cpu/gemm_winograd.inc"
#undef REAL
#undef VEC
#undef LANES
#undef LOAD
#undef STORE
#undef LOAD_PART
#undef STORE_PART
#undef SPLAT
#undef FMA
#undef MAX
#undef MIN
#undef NAME
#undef UNROLL
#undef BLOCK

#define REAL                double
#define VEC                 __m512d
#define LANES               8
#define LOAD(p)             _mm512_loadu_pd(p)
#define STORE(p, x)         _mm512_storeu_pd(p, x)
#define LOAD_PART(p, n)     _mm512_maskz_loadu_pd((__mmask8)FIRST(n), p)
#define STORE_PART(p, n, x) _mm512_mask_storeu_pd(p, (__mmask8)FIRST(n), x)
#define SPLAT(x)            _mm512_set1_pd(x)
#define FMA(a, b, c)        _mm512_fmadd_pd(a, b, c)
#define MAX(a, b)           _mm512_max_pd(a, b)
#define MIN(a, b)           _mm512_min_pd(a, b)
#define NAME(x)             x##_f64
#include "devices/cpu/gemm_kernel.inc"

// Twelve rows of floats, each a run of |n|, become one, term by term. Sixteen terms at a time: fours of four rows
// are turned, and go where they belong.
static int64_t weave_12(const float *from, int64_t row_step, int64_t n, float *to) {
  typedef float many __attribute__((vector_size(64), aligned(4)));
  typedef float four __attribute__((vector_size(16), aligned(4)));
#define LOW(a, b) \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(a, b) \
  __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define FIRST2(a, b) \
  __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define LAST2(a, b) \
  __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define PUT(k, x, at)                                                                            \
  *(four *)(void *)(at + 12 * (k)) = __builtin_shufflevector(x, x, (k) / 4 * 4, (k) / 4 * 4 + 1, \
                                                             (k) / 4 * 4 + 2, (k) / 4 * 4 + 3)
  int64_t k = 0;
  for (; k + 16 <= n; k += 16, to += 12 * 16) {
    UNROLL for (int g = 0; g < 3; g++) {
      const float *row = from + 4 * g * row_step + k;
      UNROLL for (int i = 0; i < 4; i++) __builtin_prefetch(row + (12 + i) * row_step, 0, 3);
      const many a = *(const many *)(const void *)row;
      const many b = *(const many *)(const void *)(row + row_step);
      const many c = *(const many *)(const void *)(row + 2 * row_step);
      const many d = *(const many *)(const void *)(row + 3 * row_step);
      const many ab = LOW(a, b), AB = HIGH(a, b), cd = LOW(c, d), CD = HIGH(c, d);
      const many x = FIRST2(ab, cd), y = LAST2(ab, cd), z = FIRST2(AB, CD), w = LAST2(AB, CD);
      float *at = to + 4 * g;
      PUT(0, x, at);
      PUT(1, y, at);
      PUT(2, z, at);
      PUT(3, w, at);
      PUT(4, x, at);
      PUT(5, y, at);
      PUT(6, z, at);
      PUT(7, w, at);
      PUT(8, x, at);
      PUT(9, y, at);
      PUT(10, z, at);
      PUT(11, w, at);
      PUT(12, x, at);
      PUT(13, y, at);
      PUT(14, z, at);
      PUT(15, w, at);
    }
  }
  return k;
}

const fy_gemm_kernels fy_gemm_avx512_wide = {
    .name = "avx512wide",
    .columns = {32, 16},
    .rows = {12, 6},
    .few = 8,
    .cut = {16, 8},
    .lanes = 16,
    .piece = 256,
    .block = {{FY_GEMM_SHORT(full, f32), FY_GEMM_TALL(full, f32)}, {FY_GEMM_SHORT(full, f64)}},
    .half = {{FY_GEMM_SHORT(half, f32), FY_GEMM_TALL(half, f32)}, {FY_GEMM_SHORT(half, f64)}},
    .wide = {FY_GEMM_PANEL_AND_HALF, block_wide_5_f32, block_wide_6_f32, block_wide_7_f32,
             block_wide_8_f32},
    .packing = {block_packing_12_f32, block_packing_6_f64},
    .weave = weave_12,
    FY_GEMM_PARTS};

void fy_gemm_avx512(fy_gemm_kernels *to) {
  static const fy_gemm_fn single[FY_GEMM_TYPES][FY_GEMM_ROWS + 1] = {{FY_GEMM_SHORT(single, f32)},
                                                                     {FY_GEMM_SHORT(single, f64)}};
  to->name = "avx512";
  to->lanes = 16;
  memcpy(to->block, single, sizeof single);
  to->cut[FY_GEMM_F32] = 16;
  to->cut[FY_GEMM_F64] = 8;
  to->packing[FY_GEMM_F32] = block_packing_single_6_f32;
  to->packing[FY_GEMM_F64] = block_packing_single_6_f64;
  to->row[FY_GEMM_F32] = row_f32;
  to->row[FY_GEMM_F64] = row_f64;
  to->row_far[FY_GEMM_F32] = row_far_f32;
  to->row_far[FY_GEMM_F64] = row_far_f64;
  to->depthwise = fy_gemm_avx512_wide.depthwise;
  memcpy(to->line, fy_gemm_avx512_wide.line, sizeof to->line);
  to->winograd_in = winograd_in;
}

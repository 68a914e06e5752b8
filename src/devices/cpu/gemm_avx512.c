// SPDX-License-Identifier: Apache-2.0
// gemm_avx512.c: the kernel of gemm.h for x86 machines with AVX-512, in two shapes.
//
// Where two products of 512 bits begin in a cycle: blocks of 6 x 32 floats or 6 x 16 doubles in twelve of the
// 32 registers. Twelve sums keep two multipliers busy that take four cycles each.
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
#define SINGLE
#include "devices/cpu/gemm_kernel.inc"
#undef WIDE
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

const fy_gemm_kernels fy_gemm_avx512_wide = {
    .name = "avx512wide", .columns = {32, 16}, .lanes = 16, .piece = 384, FY_GEMM_PARTS};

void fy_gemm_avx512(fy_gemm_kernels *to) {
  static const fy_gemm_fn single[FY_GEMM_TYPES][FY_GEMM_ROWS + 1] = {FY_GEMM_TABLE(single, f32),
                                                                     FY_GEMM_TABLE(single, f64)};
  to->name = "avx512";
  to->lanes = 16;
  memcpy(to->block, single, sizeof single);
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

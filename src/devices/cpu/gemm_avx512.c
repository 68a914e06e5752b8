// SPDX-License-Identifier: Apache-2.0
// gemm_avx512.c: the kernel of gemm.h for x86 machines with AVX-512: blocks of 6 x 32 floats or 6 x 16
// doubles in twelve of the 32 registers. Twelve sums keep two multipliers busy that take four cycles
// each; more rows would read B less often, but what is read is not what such a block waits for.

#include <immintrin.h>

#include "devices/cpu/gemm.h"

#define FIRST(n) ((1u << (n)) - 1u)  // of the lanes, as a mask

// What was read stays in a register; where halves stand in for it (cmake/avx512_halves.h) there is none.
#ifdef __AVX512F__
#define KEEP(x) __asm__("" : "+v"(x))
#else
#define KEEP(x) (void)0
#endif

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

const fy_gemm_kernels fy_gemm_avx512 = {
    .name = "avx512", .columns = {32, 16}, .piece = 128, FY_GEMM_PARTS};

// SPDX-License-Identifier: Apache-2.0
// gemm_avx2.c: the kernel of gemm.h for x86 machines with AVX2 and FMA: blocks of 6 x 16 floats or
// 6 x 8 doubles in twelve of the sixteen registers.

#include <immintrin.h>

#include "devices/cpu/gemm.h"

// What was read stays in a register.
#define KEEP(x)  __asm__("" : "+x"(x))
#define AGAIN(p) (void)0

#define REAL         float
#define VEC          __m256
#define LANES        8
#define LOAD(p)      _mm256_loadu_ps(p)
#define STORE(p, x)  _mm256_storeu_ps(p, x)
#define SPLAT(x)     _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MAX(a, b)    _mm256_max_ps(a, b)
#define MIN(a, b)    _mm256_min_ps(a, b)
#define NAME(x)      x##_f32
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
#undef SPLAT
#undef FMA
#undef MAX
#undef MIN
#undef NAME
#undef UNROLL
#undef BLOCK

#define REAL         double
#define VEC          __m256d
#define LANES        4
#define LOAD(p)      _mm256_loadu_pd(p)
#define STORE(p, x)  _mm256_storeu_pd(p, x)
#define SPLAT(x)     _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define MAX(a, b)    _mm256_max_pd(a, b)
#define MIN(a, b)    _mm256_min_pd(a, b)
#define NAME(x)      x##_f64
#include "devices/cpu/gemm_kernel.inc"

const fy_gemm_kernels fy_gemm_avx2 = {
    .name = "avx2", .columns = {16, 8}, .lanes = 8, .piece = 384, FY_GEMM_SIX, FY_GEMM_PARTS};

// SPDX-License-Identifier: Apache-2.0
// lanes_avx512.c: the lanes of x86 machines with AVX-512, in 64-byte vectors: functions of floats and
// doubles, alone and fused, and softmax. Everything else is lanes_avx2.c's: integers, 16-bit floats and
// norms wait for memory. Ends of arrays are read and written under masks, so that a function gives the
// same bits wherever in an array a number stands. They are the bits of lanes_avx2.c but for Erf, which
// takes one of sixteen polynomials here (0.64 ulp instead of 3.2).

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "devices/cpu/lanes.h"
#include "ops/trig.h"
#include "ops/turn.h"

#define LANE_BYTES 64
#include "ops/lanes_types.inc"

static inline vec_f32 splat_f32(float x) {
  return (vec_f32)_mm512_set1_ps(x);
}
static inline vec_f64 splat_f64(double x) {
  return (vec_f64)_mm512_set1_pd(x);
}
static inline vec_i32 splat_i32(int32_t x) {
  return (vec_i32)_mm512_set1_epi32(x);
}
static inline vec_i64 splat_i64(int64_t x) {
  return (vec_i64)_mm512_set1_epi64(x);
}

// Comparisons give masks in registers of their own; compilers see through this form of a choice and
// do not make vectors of them.
static inline vec_f32 select_f32(vec_i32 m, vec_f32 a, vec_f32 b) {
  return (vec_f32)((m & (vec_i32)a) | (~m & (vec_i32)b));
}
static inline vec_f64 select_f64(vec_i64 m, vec_f64 a, vec_f64 b) {
  return (vec_f64)((m & (vec_i64)a) | (~m & (vec_i64)b));
}
// a where x has its sign bit set, else b.
static inline vec_f32 by_sign_f32(vec_f32 x, vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)x), (__m512)b, (__m512)a);
}
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c) {
  return (vec_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c) {
  return (vec_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
static inline bool any_i32(vec_i32 m) {
  return _mm512_test_epi32_mask((__m512i)m, (__m512i)m) != 0;
}
static inline vec_i32 more_i32(vec_i32 a, vec_i32 b) {
  return (vec_i32)_mm512_max_epi32((__m512i)a, (__m512i)b);
}
// a < b ? a : b and a > b ? a : b, with b where they do not compare.
static inline vec_f32 less_f32(vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm512_min_ps((__m512)a, (__m512)b);
}
static inline vec_f32 more_f32(vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm512_max_ps((__m512)a, (__m512)b);
}
static inline vec_f64 less_f64(vec_f64 a, vec_f64 b) {
  return (vec_f64)_mm512_min_pd((__m512d)a, (__m512d)b);
}
static inline vec_f64 more_f64(vec_f64 a, vec_f64 b) {
  return (vec_f64)_mm512_max_pd((__m512d)a, (__m512d)b);
}
static inline vec_f32 sqrt_f32(vec_f32 x) {
  return (vec_f32)_mm512_sqrt_ps((__m512)x);
}
static inline vec_f32 floor_f32(vec_f32 x) {
  return (vec_f32)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vec_f32 ceil_f32(vec_f32 x) {
  return (vec_f32)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vec_f32 rint_f32(vec_f32 x) {
  return (vec_f32)_mm512_roundscale_ps((__m512)x, _MM_FROUND_CUR_DIRECTION);
}
static inline vec_f64 sqrt_f64(vec_f64 x) {
  return (vec_f64)_mm512_sqrt_pd((__m512d)x);
}
static inline vec_f64 floor_f64(vec_f64 x) {
  return (vec_f64)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vec_f64 ceil_f64(vec_f64 x) {
  return (vec_f64)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vec_f64 rint_f64(vec_f64 x) {
  return (vec_f64)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_CUR_DIRECTION);
}
// One of four numbers for each lane, by the last two bits of |which|.
static inline vec_f32 four_f32(float a, float b, float c, float d) {
  return (vec_f32){a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d};
}
static inline vec_f32 pick_f32(vec_f32 four, vec_i32 which) {
  return (vec_f32)_mm512_permutevar_ps((__m512)four, (__m512i)which);
}
// The guess of lanes_avx2.c, in halves: AVX-512's own has two bits more and would end in other bits.
static inline vec_f32 guess_rsqrt(vec_f32 x) {
  const __m256 low = _mm512_castps512_ps256((__m512)x);
  const __m256 high = _mm512_extractf32x8_ps((__m512)x, 1);
  return (vec_f32)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_rsqrt_ps(low)),
                                     _mm256_rsqrt_ps(high), 1);
}
// Square roots are exact whatever the guess.
static inline vec_f32 guess_more(vec_f32 x) {
  return (vec_f32)_mm512_rsqrt14_ps((__m512)x);
}
#define GUESS_FOR_SQRT guess_more
// One of sixteen numbers for each lane, by the last four bits of |which|.
static inline vec_f32 of_sixteen(vec_f32 numbers, vec_i32 which) {
  return (vec_f32)_mm512_permutexvar_ps((__m512i)which, (__m512)numbers);
}
#define LANES_SIXTEEN
// What stands at |which| % 4.
static inline vec_i32 one_of_four(vec_i32 which, int32_t a, int32_t b, int32_t c, int32_t d) {
  const vec_i32 four = {a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d};
  return (vec_i32)_mm512_permutevar_ps((__m512)four, (__m512i)which);
}
static inline vec_f64 rsqrt_f64(vec_f64 x) {
  return 1.0 / sqrt_f64(x);
}

// Sixteen floats in memory, or the first |n| of them, with others behind.
static inline vec_f32 at16(const float *p) {
  return (vec_f32)_mm512_loadu_ps(p);
}
static inline void put16(float *p, vec_f32 v) {
  _mm512_storeu_ps(p, (__m512)v);
}
static inline __mmask16 first_mask(int64_t n) {
  return (__mmask16)((1u << n) - 1);
}
static inline vec_f32 some_or(const float *p, int64_t n, vec_f32 others) {
  return (vec_f32)_mm512_mask_loadu_ps((__m512)others, first_mask(n), p);
}
// The first |n| of a vector in memory (none, or all, if that is out of range), with ordinary numbers behind.
static inline __mmask16 mask_of(int64_t n) {
  return first_mask(n < 0 ? 0 : n > 16 ? 16 : n);
}
static inline vec_f32 load_some_f32(const float *p, int64_t n) {
  return (vec_f32)_mm512_mask_loadu_ps(_mm512_set1_ps(1.0f), mask_of(n), p);
}
static inline void store_some_f32(float *p, vec_f32 v, int64_t n) {
  _mm512_mask_storeu_ps(p, mask_of(n), (__m512)v);
}
static inline vec_f64 load_some_f64(const double *p, int64_t n) {
  return (vec_f64)_mm512_mask_loadu_pd(_mm512_set1_pd(1.0), (__mmask8)mask_of(n), p);
}
static inline void store_some_f64(double *p, vec_f64 v, int64_t n) {
  _mm512_mask_storeu_pd(p, (__mmask8)mask_of(n), (__m512d)v);
}
static inline vec_f32 times_exp2(vec_f32 x, vec_f32 k) {  // k rounded down
  return (vec_f32)_mm512_scalef_ps((__m512)x, (__m512)k);
}

static inline vec_f64 wide_f64(const float *p) {
  return (vec_f64)_mm512_cvtps_pd(_mm256_loadu_ps(p));
}
// Past the cache, to where a vector begins.
static inline void stream_f32(float *p, vec_f32 v) {
  _mm512_stream_ps(p, (__m512)v);
}

#define LANES_STREAM
#define LANES_EXACT_FMA  // a product and a sum round once
#define LANES_EXP2       // times_exp2
#define LANES_MASKS      // load_some_, store_some_
#include "ops/lanes_reals.inc"
#include "ops/lanes_channels.inc"
#include "ops/lanes_pool.inc"

// Norms are lanes_avx2.c's.
static void narrow_f32(const fy_narrow *f, const float *in, float *out, int64_t rows) {
  const bool here = f->form >= FY_NORM_SOFTMAX;
  (here ? shares_f32 : fy_lanes_avx2.narrow_f32)(f, in, out, rows);
}

static void (*const arrays_f32[FY_FN_COUNT])(const float *, float *, int64_t) = {
    ARRAY_OPS_f32(ARRAY_ENTRY_f32) RARE_OPS(ARRAY_ENTRY_f32)};
static void (*const arrays_f64[FY_FN_COUNT])(const double *, double *,
                                             int64_t) = {ARRAY_OPS_f64(ARRAY_ENTRY_f64)};

void fy_lanes_avx512(fy_lanes *to) {
  to->name = "avx512";
  to->bytes = LANE_BYTES;
  to->fused[FY_LANES_F32] = fused_f32_table;
  to->fused[FY_LANES_F64] = fused_f64_table;
  for (int i = 0; i < FY_FN_COUNT; i++) {
    if (arrays_f32[i]) to->unary_f32[i] = arrays_f32[i];
    if (arrays_f64[i]) to->unary_f64[i] = arrays_f64[i];
  }
  to->exp_sum_f32 = exp_sum;
  to->minus_exp_sum_f32 = minus_exp_sum;
  to->narrow_f32 = narrow_f32;
  to->channel_sums_f32 = channel_sums;
  to->column_sums_f32 = column_sums;
  to->affine_rows_f32 = affine_rows_f32;
  to->pool[FY_POOL_FLOAT][FY_POOL_AVERAGE] = pool_average_f32;
  to->pool[FY_POOL_FLOAT][FY_POOL_AVERAGE_LATE] = pool_average_f32;
  to->pool[FY_POOL_FLOAT][FY_POOL_MAX] = pool_max_f32;
  to->longest_softmax = SHARES_LONGEST;
  to->turn_bytes = fy_turn_bytes_avx512;
}

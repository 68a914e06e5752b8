// SPDX-License-Identifier: Apache-2.0
// lanes_avx2.c: the lanes of x86 machines with AVX2 and FMA, in 32-byte vectors.

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "devices/cpu/lanes.h"
#include "ops/trig.h"
#include "ops/turn.h"

#define LANE_BYTES 32
#include "ops/lanes_types.inc"

static inline vec_f32 splat_f32(float x) {
  return (vec_f32)_mm256_set1_ps(x);
}
static inline vec_f64 splat_f64(double x) {
  return (vec_f64)_mm256_set1_pd(x);
}
static inline vec_i32 splat_i32(int32_t x) {
  return (vec_i32)_mm256_set1_epi32(x);
}
static inline vec_i64 splat_i64(int64_t x) {
  return (vec_i64)_mm256_set1_epi64x(x);
}

static inline vec_f32 select_f32(vec_i32 m, vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}
static inline vec_f64 select_f64(vec_i64 m, vec_f64 a, vec_f64 b) {
  return (vec_f64)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m);
}
// a where x has its sign bit set, else b.
static inline vec_f32 by_sign_f32(vec_f32 x, vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)x);
}
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c) {
  return (vec_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c) {
  return (vec_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
static inline bool any_i32(vec_i32 m) {
  return _mm256_movemask_ps((__m256)m) != 0;
}
static inline uint32_t lane_bits(vec_i32 m) {
  return (uint32_t)_mm256_movemask_ps((__m256)m);
}
static inline vec_i32 more_i32(vec_i32 a, vec_i32 b) {
  return (vec_i32)_mm256_max_epi32((__m256i)a, (__m256i)b);
}
// a < b ? a : b and a > b ? a : b, with b where they do not compare.
static inline vec_f32 less_f32(vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm256_min_ps((__m256)a, (__m256)b);
}
static inline vec_f32 more_f32(vec_f32 a, vec_f32 b) {
  return (vec_f32)_mm256_max_ps((__m256)a, (__m256)b);
}
static inline vec_f64 less_f64(vec_f64 a, vec_f64 b) {
  return (vec_f64)_mm256_min_pd((__m256d)a, (__m256d)b);
}
static inline vec_f64 more_f64(vec_f64 a, vec_f64 b) {
  return (vec_f64)_mm256_max_pd((__m256d)a, (__m256d)b);
}
static inline vec_f32 sqrt_f32(vec_f32 x) {
  return (vec_f32)_mm256_sqrt_ps((__m256)x);
}
static inline vec_f32 floor_f32(vec_f32 x) {
  return (vec_f32)_mm256_floor_ps((__m256)x);
}
static inline vec_f32 ceil_f32(vec_f32 x) {
  return (vec_f32)_mm256_ceil_ps((__m256)x);
}
static inline vec_f32 rint_f32(vec_f32 x) {
  return (vec_f32)_mm256_round_ps((__m256)x, _MM_FROUND_CUR_DIRECTION);
}
static inline vec_f64 sqrt_f64(vec_f64 x) {
  return (vec_f64)_mm256_sqrt_pd((__m256d)x);
}
static inline vec_f64 floor_f64(vec_f64 x) {
  return (vec_f64)_mm256_floor_pd((__m256d)x);
}
static inline vec_f64 ceil_f64(vec_f64 x) {
  return (vec_f64)_mm256_ceil_pd((__m256d)x);
}
static inline vec_f64 rint_f64(vec_f64 x) {
  return (vec_f64)_mm256_round_pd((__m256d)x, _MM_FROUND_CUR_DIRECTION);
}
// One of four numbers for each lane, by the last two bits of |which|.
static inline vec_f32 four_f32(float a, float b, float c, float d) {
  return (vec_f32){a, b, c, d, a, b, c, d};
}
static inline vec_f32 pick_f32(vec_f32 four, vec_i32 which) {
  return (vec_f32)_mm256_permutevar_ps((__m256)four, (__m256i)which);
}
static inline vec_f32 guess_rsqrt(vec_f32 x) {
  return (vec_f32)_mm256_rsqrt_ps((__m256)x);
}
// What stands at |which| % 4.
static inline vec_i32 one_of_four(vec_i32 which, int32_t a, int32_t b, int32_t c, int32_t d) {
  const vec_i32 four = {a, b, c, d, a, b, c, d};
  return (vec_i32)_mm256_permutevar_ps((__m256)four, (__m256i)which);
}
static inline vec_f64 rsqrt_f64(vec_f64 x) {
  return 1.0 / sqrt_f64(x);
}
static inline vec_f64 wide_f64(const float *p) {
  return (vec_f64)_mm256_cvtps_pd(_mm_loadu_ps(p));
}
static inline vec_f32 load_f16(const uint16_t *p) {
  return (vec_f32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline void store_f16(uint16_t *p, vec_f32 v) {
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}
static inline vec_u32 load_u16(const uint16_t *p) {
  return (vec_u32)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline void store_u16(uint16_t *p, vec_u32 v) {
  const __m128i low = _mm256_castsi256_si128((__m256i)v);
  const __m128i high = _mm256_extracti128_si256((__m256i)v, 1);
  _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(low, high));
}
static inline void store_mask(uint8_t *p, vec_i32 m) {
  const __m128i low = _mm256_castsi256_si128((__m256i)m);
  const __m128i high = _mm256_extracti128_si256((__m256i)m, 1);
  const __m128i words = _mm_packs_epi32(low, high);
  _mm_storel_epi64((__m128i *)p, _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1)));
}

// The first |n| lanes of a vector, and what is in memory of them; the others are 0.
static inline vec_i32 first_lanes(int64_t n) {
  const vec_i32 lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return lane < splat_i32((int32_t)(n < 8 ? n : 8));
}
static inline vec_f32 load_lanes(const float *p, vec_i32 used) {
  return (vec_f32)_mm256_maskload_ps(p, (__m256i)used);
}
static inline void store_lanes(float *p, vec_f32 v, int64_t n) {
  if (n >= 8) {
    memcpy(p, &v, sizeof v);
    return;
  }
  for (int64_t i = 0; i < n; i++) p[i] = v[i];
}

static void halves_to_floats(const uint16_t *in, float *out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
  for (; i < n; i++) out[i] = _cvtsh_ss(in[i]);
}
static void floats_to_halves(const float *in, uint16_t *out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; i++) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

// Compilers widen the flags in more steps.
static void pick_words(const bool *flags, const void *yes, const void *no, void *out, int64_t n) {
  const char *y = yes, *x = no;
  char *o = out;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(flags + i));
    const __m256 m = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 31));
    const __m256 a = _mm256_loadu_ps((const float *)(const void *)(y + i * 4));
    const __m256 b = _mm256_loadu_ps((const float *)(const void *)(x + i * 4));
    _mm256_storeu_ps((float *)(void *)(o + i * 4), _mm256_blendv_ps(b, a, m));
  }
  for (; i < n; i++) memcpy(o + i * 4, (flags[i] ? y : x) + i * 4, 4);
}

// Past the cache, to where a vector begins.
static inline void stream_f32(float *p, vec_f32 v) {
  _mm256_stream_ps(p, (__m256)v);
}

#define LANES_STREAM
#define LANES_EXACT_FMA  // a product and a sum round once
#define LANES_TABLE fy_lanes_avx2
#define LANES_NAME  "avx2"
#define LANES_ROWS
#define LANES_MORE                                                                                \
  .halves_to_floats = halves_to_floats, .floats_to_halves = floats_to_halves,                     \
  .rows_f32 = {sum_rows, prod_rows, max_rows, min_rows},                                          \
  .columns_f32 = {sum_columns, prod_columns, max_columns, min_columns}, .narrow_f32 = narrow_f32, \
  .longest_softmax = FY_NARROW - 1, .sums_in_order = sums_in_order, .norm_stats_f32 = norm_stats, \
  .arg_rows = {arg_f32_rows, arg_i32_rows}, .arg_columns = {arg_f32_columns, arg_i32_columns},    \
  .pick_words = pick_words,
#include "ops/lanes_all.inc"

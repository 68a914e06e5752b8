// SPDX-License-Identifier: Apache-2.0
// random_avx2.c: random numbers of machines with AVX2, in 32-byte vectors.

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "devices/cpu/random_lanes.h"

#define LANE_BYTES 32
#define WAYS       3  // vectors at once: as many as there are registers for
typedef uint64_t lanes_u64 __attribute__((vector_size(LANE_BYTES)));
typedef double lanes_f64 __attribute__((vector_size(LANE_BYTES)));

static inline lanes_u64 times(lanes_u64 a, lanes_u64 b) {
  return (lanes_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
static inline lanes_f64 fma_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c) {
  return (lanes_f64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
static inline lanes_f64 more_f64(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64)_mm256_max_pd((__m256d)a, (__m256d)b);
}
#define few_sqrt _mm_sqrt_ps

// x0, y0, x1, y1, …
static inline void store_turns(lanes_u64 x, lanes_u64 y, uint32_t *out) {
  const __m256i even = _mm256_unpacklo_epi64((__m256i)x, (__m256i)y),
                odd = _mm256_unpackhi_epi64((__m256i)x, (__m256i)y);
  _mm256_storeu_si256((__m256i *)out, _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256((__m256i *)out + 1, _mm256_permute2x128_si256(even, odd, 0x31));
}
static inline void store_pairs(__m128 x, __m128 y, float *out) {
  _mm_storeu_ps(out, _mm_unpacklo_ps(x, y));
  _mm_storeu_ps(out + 4, _mm_unpackhi_ps(x, y));
}

static inline __m256d two_of(int64_t a, int64_t b) {
  const double *low = fy_random_logs[a], *high = fy_random_logs[b];
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}
static inline void look_up(lanes_u64 i, lanes_f64 *inverse, lanes_f64 *log) {
  const __m128i low = _mm256_castsi256_si128((__m256i)i),
                high = _mm256_extracti128_si256((__m256i)i, 1);
  const __m256d even = two_of(_mm_cvtsi128_si64(low), _mm_cvtsi128_si64(high)),
                odd = two_of(_mm_extract_epi64(low, 1), _mm_extract_epi64(high, 1));
  *inverse = (lanes_f64)_mm256_unpacklo_pd(even, odd);
  *log = (lanes_f64)_mm256_unpackhi_pd(even, odd);
}

#include "ops/lanes_random.inc"

const fy_random_lanes fy_random_lanes_avx2 = {BLOCKS, philox, units, normals, rests};

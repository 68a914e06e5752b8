// SPDX-License-Identifier: Apache-2.0
// random_avx512.c: random numbers of machines with AVX-512, in 64-byte vectors.

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "devices/cpu/random_lanes.h"

#define LANE_BYTES 64
#define WAYS       2  // vectors at once: as many as there are registers for
typedef uint64_t lanes_u64 __attribute__((vector_size(LANE_BYTES)));
typedef double lanes_f64 __attribute__((vector_size(LANE_BYTES)));

static inline lanes_u64 times(lanes_u64 a, lanes_u64 b) {
  return (lanes_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}
static inline lanes_f64 fma_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c) {
  return (lanes_f64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
static inline lanes_f64 more_f64(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64)_mm512_max_pd((__m512d)a, (__m512d)b);
}
#define few_sqrt _mm256_sqrt_ps

// x0, y0, x1, y1, …
static inline void store_turns(lanes_u64 x, lanes_u64 y, uint32_t *out) {
  const lanes_u64 low = {0, 8, 1, 9, 2, 10, 3, 11};
  const __m512i first = _mm512_permutex2var_epi64((__m512i)x, (__m512i)low, (__m512i)y);
  const __m512i second = _mm512_permutex2var_epi64((__m512i)x, (__m512i)(low + 4), (__m512i)y);
  memcpy(out, &first, sizeof first);
  memcpy(out + 16, &second, sizeof second);
}
static inline void store_pairs(__m256 x, __m256 y, float *out) {
  const __m256 even = _mm256_unpacklo_ps(x, y), odd = _mm256_unpackhi_ps(x, y);
  _mm256_storeu_ps(out, _mm256_permute2f128_ps(even, odd, 0x20));
  _mm256_storeu_ps(out + 8, _mm256_permute2f128_ps(even, odd, 0x31));
}

// Column |k| of rows [8 half, 8 half + 8) of the table.
static inline __m512d column(uint64_t k, int half) {
  const double *t = fy_random_logs[8 * half];
  const lanes_u64 at = {0, 2, 4, 6, 8, 10, 12, 14};
  return _mm512_permutex2var_pd(_mm512_loadu_pd(t), (__m512i)(at + k), _mm512_loadu_pd(t + 8));
}
static inline void look_up(lanes_u64 i, lanes_f64 *inverse, lanes_f64 *log) {
  *inverse = (lanes_f64)_mm512_permutex2var_pd(column(0, 0), (__m512i)i, column(0, 1));
  *log = (lanes_f64)_mm512_permutex2var_pd(column(1, 0), (__m512i)i, column(1, 1));
}

#include "ops/lanes_random.inc"

const fy_random_lanes fy_random_lanes_avx512 = {BLOCKS, philox, units, normals, rests};

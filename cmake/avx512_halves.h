// SPDX-License-Identifier: Apache-2.0
// avx512_halves.h: the AVX-512 instructions that the kernels name, each as two of AVX2 (option
// FERRY_AVX512_HALVES). It is included before the files *_avx512.c, so that everything around the
// instructions (panels, blocks, masks, what is left at the ends) can be tested where there is no AVX-512.
// What it cannot show is that the instructions do what their names say: tools/run_avx512.sh does.

#include <immintrin.h>

typedef union halves_ps {
  __m512 whole;
  __m256 half[2];
  float lane[16];
} halves_ps;
typedef union halves_pd {
  __m512d whole;
  __m256d half[2];
  double lane[8];
} halves_pd;
typedef union halves_si {
  __m512i whole;
  __m256i half[2];
} halves_si;

#define HALVES_OF___m512   halves_ps
#define HALVES_OF___m512d  halves_pd
#define HALVES_OF___m512i  halves_si
#define HALVES_PASTE(a, b) a##b
#define HALVES_TYPE(T)     HALVES_PASTE(HALVES_OF_, T)
#define HALVES(T, low, high, x, y, z)                     \
  __extension__({                                         \
    const HALVES_TYPE(T) a = {(x)}, b = {(y)}, c = {(z)}; \
    (void)a, (void)b, (void)c;                            \
    HALVES_TYPE(T) r;                                     \
    r.half[0] = low;                                      \
    r.half[1] = high;                                     \
    r.whole;                                              \
  })
#define HALVES_1(T, name, fn)                                      \
  static inline __attribute__((always_inline)) T name(T x) {       \
    return HALVES(T, fn(a.half[0]), fn(a.half[1]), (x), (x), (x)); \
  }
#define HALVES_2(T, name, fn)                                                            \
  static inline __attribute__((always_inline)) T name(T x, T y) {                        \
    return HALVES(T, fn(a.half[0], b.half[0]), fn(a.half[1], b.half[1]), (x), (y), (x)); \
  }
#define HALVES_3(T, name, fn)                                                                  \
  static inline __attribute__((always_inline)) T name(T x, T y, T z) {                         \
    return HALVES(T, fn(a.half[0], b.half[0], c.half[0]), fn(a.half[1], b.half[1], c.half[1]), \
                  (x), (y), (z));                                                              \
  }
HALVES_3(__m512, halves_fmadd_ps, _mm256_fmadd_ps)
HALVES_3(__m512d, halves_fmadd_pd, _mm256_fmadd_pd)
HALVES_2(__m512, halves_max_ps, _mm256_max_ps)
HALVES_2(__m512, halves_min_ps, _mm256_min_ps)
HALVES_2(__m512d, halves_max_pd, _mm256_max_pd)
HALVES_2(__m512d, halves_min_pd, _mm256_min_pd)
HALVES_2(__m512i, halves_max_epi32, _mm256_max_epi32)
HALVES_2(__m512i, halves_max_epu32, _mm256_max_epu32)
HALVES_2(__m512i, halves_mul_epu32, _mm256_mul_epu32)
static inline __attribute__((always_inline)) __m512 halves_permutevar_ps(__m512 x, __m512i which) {
  const halves_si w = {which};
  return HALVES(__m512, _mm256_permutevar_ps(a.half[0], w.half[0]),
                _mm256_permutevar_ps(a.half[1], w.half[1]), (x), (x), (x));
}
HALVES_1(__m512, halves_sqrt_ps, _mm256_sqrt_ps)
HALVES_1(__m512, halves_rsqrt_ps, _mm256_rsqrt_ps)
HALVES_1(__m512d, halves_sqrt_pd, _mm256_sqrt_pd)
#define _mm512_fmadd_ps      halves_fmadd_ps
#define _mm512_fmadd_pd      halves_fmadd_pd
#define _mm512_max_ps        halves_max_ps
#define _mm512_min_ps        halves_min_ps
#define _mm512_max_pd        halves_max_pd
#define _mm512_min_pd        halves_min_pd
#define _mm512_max_epi32     halves_max_epi32
#define _mm512_max_epu32     halves_max_epu32
#define _mm512_mul_epu32     halves_mul_epu32
#define _mm512_sqrt_ps       halves_sqrt_ps
#define _mm512_rsqrt14_ps    halves_rsqrt_ps
#define _mm512_permutevar_ps halves_permutevar_ps
#define _mm512_sqrt_pd       halves_sqrt_pd

#undef _mm512_roundscale_ps
#undef _mm512_roundscale_pd
#define _mm512_roundscale_ps(v, how) \
  HALVES(__m512, _mm256_round_ps(a.half[0], how), _mm256_round_ps(a.half[1], how), (v), (v), (v))
#define _mm512_roundscale_pd(v, how) \
  HALVES(__m512d, _mm256_round_pd(a.half[0], how), _mm256_round_pd(a.half[1], how), (v), (v), (v))

#define HALVES_SPLAT(T, name, E, set)                        \
  static inline __attribute__((always_inline)) T name(E x) { \
    HALVES_TYPE(T) r;                                        \
    r.half[0] = r.half[1] = set(x);                          \
    return r.whole;                                          \
  }
HALVES_SPLAT(__m512, halves_set1_ps, float, _mm256_set1_ps)
HALVES_SPLAT(__m512d, halves_set1_pd, double, _mm256_set1_pd)
HALVES_SPLAT(__m512i, halves_set1_epi32, int, _mm256_set1_epi32)
HALVES_SPLAT(__m512i, halves_set1_epi64, long long, _mm256_set1_epi64x)
#define _mm512_set1_ps    halves_set1_ps
#define _mm512_set1_pd    halves_set1_pd
#define _mm512_set1_epi32 halves_set1_epi32
#define _mm512_set1_epi64 halves_set1_epi64

// Memory; lanes that a mask leaves out are not touched.
#define HALVES_MEMORY(T, S, E, LANES, MASK)                                        \
  static inline __attribute__((always_inline)) T halves_loadu_##S(const E *p) {    \
    T r;                                                                           \
    __builtin_memcpy(&r, p, sizeof r);                                             \
    return r;                                                                      \
  }                                                                                \
  static inline __attribute__((always_inline)) void halves_storeu_##S(E *p, T x) { \
    __builtin_memcpy(p, &x, sizeof x);                                             \
  }                                                                                \
  static inline T halves_maskz_loadu_##S(MASK m, const E *p) {                     \
    HALVES_TYPE(T) r;                                                              \
    for (int i = 0; i < LANES; i++) r.lane[i] = m >> i & 1 ? p[i] : 0;             \
    return r.whole;                                                                \
  }                                                                                \
  static inline void halves_mask_storeu_##S(E *p, MASK m, T x) {                   \
    const HALVES_TYPE(T) r = {x};                                                  \
    for (int i = 0; i < LANES; i++)                                                \
      if (m >> i & 1) p[i] = r.lane[i];                                            \
  }
HALVES_MEMORY(__m512, ps, float, 16, __mmask16)
HALVES_MEMORY(__m512d, pd, double, 8, __mmask8)
#define _mm512_loadu_ps       halves_loadu_ps
#define _mm512_loadu_pd       halves_loadu_pd
#define _mm512_storeu_ps      halves_storeu_ps
#define _mm512_storeu_pd      halves_storeu_pd
#define _mm512_stream_ps      halves_storeu_ps
#define _mm512_maskz_loadu_ps halves_maskz_loadu_ps
#define _mm512_maskz_loadu_pd halves_maskz_loadu_pd
#define _mm512_mask_storeu_ps halves_mask_storeu_ps
#define _mm512_mask_storeu_pd halves_mask_storeu_pd

// Numbers that become twice as wide.
#define HALVES_WIDEN(T, name, x, fn, low, high)              \
  static inline __attribute__((always_inline)) T name(x v) { \
    HALVES_TYPE(T) r;                                        \
    r.half[0] = fn(low(v));                                  \
    r.half[1] = fn(high(v, 1));                              \
    return r.whole;                                          \
  }
HALVES_WIDEN(__m512d, halves_cvtps_pd, __m256, _mm256_cvtps_pd, _mm256_castps256_ps128,
             _mm256_extractf128_ps)
HALVES_WIDEN(__m512, halves_cvtph_ps, __m256i, _mm256_cvtph_ps, _mm256_castsi256_si128,
             _mm256_extracti128_si256)
#define _mm512_cvtps_pd halves_cvtps_pd
#define _mm512_cvtph_ps halves_cvtph_ps
#define _mm512_cvtps_ph(x, mode)                                                          \
  __extension__({                                                                         \
    const halves_ps a = {(x)};                                                            \
    _mm256_set_m128i(_mm256_cvtps_ph(a.half[1], mode), _mm256_cvtps_ph(a.half[0], mode)); \
  })

// Masks.
static inline __attribute__((always_inline)) __mmask16 halves_movepi32_mask(__m512i x) {
  const halves_si a = {x};
  const int low = _mm256_movemask_ps(_mm256_castsi256_ps(a.half[0]));
  const int high = _mm256_movemask_ps(_mm256_castsi256_ps(a.half[1]));
  return (__mmask16)(low | high << 8);
}
static inline __attribute__((always_inline)) __mmask16 halves_test_epi32_mask(__m512i x,
                                                                              __m512i y) {
  typedef int each __attribute__((vector_size(64)));
  return halves_movepi32_mask((__m512i)(((each)x & (each)y) != 0));
}
static inline __attribute__((always_inline)) __m512i halves_loadu_si512(const void *p) {
  halves_si r;
  __builtin_memcpy(&r, p, sizeof r);
  return r.whole;
}
#define _mm512_loadu_si512 halves_loadu_si512
static inline __attribute__((always_inline)) __m512 halves_cvtepi32_ps(__m512i x) {
  const halves_si a = {x};
  halves_ps r;
  for (int i = 0; i < 2; i++) r.half[i] = _mm256_cvtepi32_ps(a.half[i]);
  return r.whole;
}
#define _mm512_cvtepi32_ps halves_cvtepi32_ps
// (|how| is a constant.)
#define _mm512_cmp_ps_mask(x, y, how)                                                       \
  __extension__({                                                                           \
    const halves_ps cmp_x = {(x)}, cmp_y = {(y)};                                           \
    (__mmask16)(_mm256_movemask_ps(_mm256_cmp_ps(cmp_x.half[0], cmp_y.half[0], how)) |      \
                _mm256_movemask_ps(_mm256_cmp_ps(cmp_x.half[1], cmp_y.half[1], how)) << 8); \
  })
static inline __attribute__((always_inline)) __m512 halves_mask_blend_ps(__mmask16 m, __m512 x,
                                                                         __m512 y) {
  const halves_ps a = {x}, b = {y};
  halves_ps r;
  for (int i = 0; i < 16; i++) r.lane[i] = m >> i & 1 ? b.lane[i] : a.lane[i];
  return r.whole;
}
static inline __m512 halves_mask_loadu_ps(__m512 x, __mmask16 m, const float *p) {
  return halves_mask_blend_ps(m, x, halves_maskz_loadu_ps(m, p));
}
static inline __m512d halves_mask_loadu_pd(__m512d x, __mmask8 m, const double *p) {
  halves_pd a = {x};
  for (int i = 0; i < 8; i++) a.lane[i] = m >> i & 1 ? p[i] : a.lane[i];
  return a.whole;
}
static inline __m256 halves_mask_loadu_8(__m256 x, __mmask8 m, const float *p) {
  halves_ps a = {halves_maskz_loadu_ps(m, p)};
  for (int i = 0; i < 8; i++) a.lane[i] = m >> i & 1 ? a.lane[i] : x[i];
  return a.half[0];
}
#define _mm512_mask_loadu_ps           halves_mask_loadu_ps
#define _mm512_mask_loadu_pd           halves_mask_loadu_pd
#define _mm256_mask_loadu_ps           halves_mask_loadu_8
#define _mm512_maskz_mov_ps(m, x)      halves_mask_blend_ps(m, halves_set1_ps(0.0f), x)
#define _mm512_mask_mov_ps(x, m, y)    halves_mask_blend_ps(m, x, y)
#define _mm512_mask_max_ps(w, m, x, y) halves_mask_blend_ps(m, w, halves_max_ps(x, y))
#define _mm512_movepi32_mask           halves_movepi32_mask
#define _mm512_test_epi32_mask         halves_test_epi32_mask
#define _mm512_mask_blend_ps           halves_mask_blend_ps

// Lane by lane. (scalef: without a libm, for what is asked here, which is exponents between -200 and 200.)
static inline __m512 halves_permutexvar_ps(__m512i which, __m512 x) {
  typedef int each __attribute__((vector_size(64)));
  const halves_ps a = {x};
  halves_ps r;
  for (int i = 0; i < 16; i++) r.lane[i] = a.lane[((each)which)[i] & 15];
  return r.whole;
}
static inline __m512 halves_scalef_ps(__m512 x, __m512 k) {
  const halves_ps a = {x}, b = {k};
  halves_ps r;
  for (int i = 0; i < 16; i++) {
    const float down = __builtin_floorf(b.lane[i]);
    double by = 1;
    for (float e = down; e > 0; e--) by *= 2;
    for (float e = down; e < 0; e++) by /= 2;
    r.lane[i] = (float)((double)a.lane[i] * by);
  }
  return r.whole;
}
static inline __m512d halves_permutex2var_pd(__m512d x, __m512i which, __m512d y) {
  typedef long long each __attribute__((vector_size(64)));
  const halves_pd a = {x}, b = {y};
  halves_pd r;
  for (int i = 0; i < 8; i++) {
    const int at = (int)((each)which)[i] & 15;
    r.lane[i] = at < 8 ? a.lane[at] : b.lane[at - 8];
  }
  return r.whole;
}
#define _mm512_permutex2var_pd halves_permutex2var_pd
#define _mm512_permutex2var_epi64(x, which, y) \
  (__m512i) halves_permutex2var_pd((__m512d)(x), which, (__m512d)(y))
static inline __m512i halves_permutex2var_epi32(__m512i x, __m512i which, __m512i y) {
  typedef int each __attribute__((vector_size(64)));
  each r;
  for (int i = 0; i < 16; i++) {
    const int at = ((each)which)[i] & 31;
    r[i] = at < 16 ? ((each)x)[at] : ((each)y)[at - 16];
  }
  return (__m512i)r;
}
#define _mm512_permutex2var_epi32 halves_permutex2var_epi32
#undef _mm512_permute_ps
#define _mm512_permute_ps(x, how)                                                                \
  HALVES(__m512, _mm256_permute_ps(a.half[0], how), _mm256_permute_ps(a.half[1], how), (x), (x), \
         (x))
#define _mm512_permutexvar_ps halves_permutexvar_ps
#define _mm512_scalef_ps      halves_scalef_ps
// Of all ranges, the larger size is asked for only.
static inline __m512 halves_larger_size(__m512 x, __m512 y) {
  typedef unsigned each __attribute__((vector_size(64)));
  return halves_max_ps((__m512)((each)x & 0x7FFFFFFFu), (__m512)((each)y & 0x7FFFFFFFu));
}
#undef _mm512_range_ps
#define _mm512_range_ps(x, y, how) halves_larger_size(x, y)

// Halves themselves.
static inline __attribute__((always_inline)) __m256 halves_low(__m512 x) {
  return ((halves_ps){x}).half[0];
}
static inline __attribute__((always_inline)) __m512 halves_from_low(__m256 x) {
  halves_ps r;
  r.half[0] = r.half[1] = x;
  return r.whole;
}
#undef _mm512_extractf32x8_ps
#undef _mm512_insertf32x8
#define _mm512_castps512_ps256       halves_low
#define _mm512_castps256_ps512       halves_from_low
#define _mm512_extractf32x8_ps(x, i) (((halves_ps){x}).half[i])
static inline __attribute__((always_inline)) __m512 halves_insert(__m512 x, __m256 y, int i) {
  halves_ps r = {x};
  r.half[i] = y;
  return r.whole;
}
#define _mm512_insertf32x8 halves_insert

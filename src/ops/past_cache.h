// SPDX-License-Identifier: Apache-2.0
// past_cache.h: results that are too large for a cache, written past it: the memory that they replace
// is not read first, and what the cache holds stays there.

#ifndef FY_OPS_PAST_CACHE_H
#define FY_OPS_PAST_CACHE_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Copies from a near buffer. Whole lines go past the cache: to write a part of one that way takes ten
// times longer, so pieces should begin and end at lines of |to|.
static inline void fy_write_past(void *to, const void *from, size_t n) {
  char *out = to;
  const char *in = from;
  size_t i = 0;
#ifdef __SSE2__
  const size_t head = (size_t)(-(uintptr_t)out % 64);
  if (head <= n) {
    memcpy(out, in, head);
    for (i = head; i + 64 <= n; i += 64) {
      __m128i x[4];
      memcpy(x, in + i, sizeof x);
      for (int k = 0; k < 4; k++) _mm_stream_si128((__m128i *)(void *)(out + i) + k, x[k]);
    }
  }
#endif
  memcpy(out + i, in + i, n - i);
}
// After the last of them, before anybody else may read them.
static inline void fy_end_past(void) {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

#endif

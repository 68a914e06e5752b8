// SPDX-License-Identifier: Apache-2.0
// random_source.h: where random ops get their generator from: a site's own (attributes seed and
// seed2), or a seed tensor.

#ifndef FY_OPS_RANDOM_SOURCE_H
#define FY_OPS_RANDOM_SOURCE_H

#include "ops/op.h"
#include "ops/philox.h"

// prepare() and release() of a stateful op. Both seeds 0: seeded from the system's entropy.
fy_code fy_random_prepare(fy_site *site, fy_error *err);
void fy_random_release(void *state);
// The site's generator as it is now; it moves on by |blocks| of four 32-bit values.
fy_philox fy_random_reserve(const fy_kernel_ctx *ctx, uint64_t blocks);
// Of a seed tensor of shape [2].
FY_MUST_CHECK fy_code fy_random_of_seed(const fy_tensor *seed, fy_philox *out, fy_error *err);

// 32-bit values one by one, and numbers made of them.
typedef struct fy_random_stream {
  fy_philox generator;
  uint32_t block[4];
  int used;  // of |block|
} fy_random_stream;
static inline fy_random_stream fy_random_stream_of(fy_philox generator) {
  return (fy_random_stream){.generator = generator, .used = 4};
}
static inline uint32_t fy_random_bits(fy_random_stream *s) {
  if (s->used == 4) {
    fy_philox_next(&s->generator, s->block);
    s->used = 0;
  }
  return s->block[s->used++];
}
// Uniform in [0, n), without bias.
static inline uint32_t fy_random_below(fy_random_stream *s, uint32_t n) {
  if (n == 0) return fy_random_bits(s) * n;
  if ((n & (n - 1)) == 0) return fy_random_bits(s) & (n - 1);
  const uint32_t skip = UINT32_MAX % n + 1;
  uint32_t bits;
  do {
    bits = fy_random_bits(s);
  } while (bits < skip);
  return bits % n;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// random.h: what the files of random ops share: a site's own generator, generators from seeds and
// keys, and filling a tensor with the plain distributions.

#ifndef FY_OPS_RANDOM_H
#define FY_OPS_RANDOM_H

#include "base/thread.h"
#include "ops/op.h"
#include "ops/philox.h"

#define FY_RANDOM_RESERVED 256  // blocks that a value may use

// --- ops with attributes seed and seed2: prepare, release, and what a call takes ---
typedef struct fy_random_state {
  fy_object object;  // of the node: all its sites in a session share it
  fy_mutex lock;
  fy_philox generator;
} fy_random_state;
fy_code fy_random_prepare(fy_site *site, fy_error *err);
fy_philox fy_random_of_attrs(const fy_site *site);  // a generator at its start
// Shape inference: inputs |first| and the next, minval and maxval, are scalars.
FY_MUST_CHECK fy_code fy_random_infer_bounds(const fy_shape_ctx *ctx, int first, fy_error *err);
void fy_random_release(void *state);
fy_philox fy_random_reserve(const fy_kernel_ctx *ctx, int64_t values);
fy_philox fy_random_reserve_blocks(const fy_kernel_ctx *ctx, uint64_t blocks);
uint64_t fy_random_entropy(void);

// --- stateless ops ---
FY_MUST_CHECK fy_code fy_random_check_seed(const fy_tensor *seed, fy_error *err);
FY_MUST_CHECK fy_code fy_random_of_seed(const fy_tensor *seed, fy_philox *out, fy_error *err);
// Inputs |i|, |i| + 1, |i| + 2 are key, counter and algorithm.
FY_MUST_CHECK fy_code fy_random_check_key(const fy_kernel_ctx *ctx, int i, fy_error *err);
FY_MUST_CHECK fy_code fy_random_of_key(const fy_kernel_ctx *ctx, int i, fy_philox *out,
                                       fy_error *err);

// --- a generator that is a variable ---
// Input |input| is its handle, |algorithm| the algorithm's; it moves on by |values|.
FY_MUST_CHECK fy_code fy_random_of_resource(fy_kernel_ctx *ctx, int input, int algorithm,
                                            uint64_t values, fy_philox *out, fy_error *err);

// --- plain distributions ---
typedef struct fy_random_job {
  fy_philox generator;
  fy_dtype type;
  void *out;
  int64_t count;
  int64_t low;     // integers
  uint64_t range;  // 0: all 2^32 or 2^64
} fy_random_job;
typedef struct fy_random_kind {
  void (*fn)(void *arg, int64_t begin, int64_t end);
  double ns;  // per group
} fy_random_kind;
extern const fy_random_kind fy_random_uniform, fy_random_normal, fy_random_truncated,
    fy_random_integers;
void fy_random_fill(fy_kernel_ctx *ctx, const fy_random_kind *kind, fy_random_job *job,
                    const fy_tensor *out);

// --- many at once ---
// The bits are those of philox.h.
typedef struct fy_random_lanes {
  int blocks;  // at once; FY_RANDOM_CHUNK is a multiple
  // Of a generator with |key| and the upper half |high| of its counter: the blocks of |n| lower halves.
  void (*philox)(const uint32_t key[2], const uint32_t high[2], const uint64_t *low, int64_t n,
                 uint32_t *out);
  // What becomes of |n| words, a multiple of 16.
  void (*units)(const uint32_t *bits, float *out, int64_t n);
  void (*normals)(const uint32_t *bits, float *out, int64_t n);  // by pairs
  void (*rests)(const uint32_t *bits, uint32_t range, int32_t low, int32_t *out,
                int64_t n);  // range > 1
} fy_random_lanes;
const fy_random_lanes *fy_random_lanes_best(void);  // devices/cpu/lanes.c; NULL: none
#define FY_RANDOM_CHUNK 96
// The blocks of |g| from |skip[i]| on; |n| is at most FY_RANDOM_CHUNK, for which there is room. |skip| is lost.
void fy_random_blocks(const fy_philox *g, uint64_t *skip, int n, uint32_t *out);

// --- one 32-bit number after another ---
typedef struct fy_philox_singles {
  fy_philox generator;
  uint32_t block[4];
  int used;
} fy_philox_singles;
static inline uint32_t fy_philox_single(fy_philox_singles *s) {
  if (s->used == 0) fy_philox_next(&s->generator, s->block);
  const uint32_t v = s->block[s->used];
  s->used = (s->used + 1) & 3;
  return v;
}
// Uniform in [0, n), without bias.
static inline uint32_t fy_philox_below(fy_philox_singles *s, uint32_t n) {
  if (n == 0) return fy_philox_single(s) * n;
  if ((n & (n - 1)) == 0) return fy_philox_single(s) & (n - 1);
  const uint32_t skip = UINT32_MAX % n + 1;
  uint32_t bits;
  do {
    bits = fy_philox_single(s);
  } while (bits < skip);
  return bits % n;
}

#endif

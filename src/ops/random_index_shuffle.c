// SPDX-License-Identifier: Apache-2.0
// random_index_shuffle.c: RandomIndexShuffle: where an index goes in a permutation of
// [0, max_index] that a key of three numbers picks, without making the permutation.
//
// A few rounds of the Simon cipher permute the numbers of just enough bits; whatever falls beyond
// max_index is permuted again until it does not.

#include <math.h>

#include "ops/op.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define LEAST_BITS  16
#define MOST_ROUNDS 1024

typedef struct cipher {
  int width;  // bits of a word, half a block
  uint64_t mask;
  int rounds;
  uint64_t keys[MOST_ROUNDS];
} cipher;

static uint64_t rotate_left(const cipher *c, uint64_t x, int by) {
  return (x << by | x >> (c->width - by)) & c->mask;
}

static void make_keys(cipher *c, const uint32_t seed[3]) {
  uint64_t pattern = 0x7369f885192c0ef5ull & c->mask;
  for (int i = 0; i < c->rounds && i < 3; i++) c->keys[i] = seed[i] & c->mask;
  for (int i = 3; i < c->rounds; i++) {
    const uint64_t last = c->keys[i - 1];
    c->keys[i] = (0xfffffffcull & c->mask) ^ (pattern & 1) ^ c->keys[i - 3] ^
                 rotate_left(c, last, c->width - 3) ^ rotate_left(c, last, c->width - 4);
    pattern >>= 1;
  }
}

static uint64_t mix(const cipher *c, uint64_t x) {
  return (rotate_left(c, x, 1) & rotate_left(c, x, 8)) ^ rotate_left(c, x, 2);
}

static uint64_t permuted(const cipher *c, uint64_t index, uint64_t most) {
  do {
    uint64_t left = index >> c->width & c->mask, right = index & c->mask;
    for (int i = 0; i < c->rounds; i += 2) {
      left ^= mix(c, right) ^ c->keys[i];
      right ^= mix(c, left) ^ c->keys[i + 1];
    }
    index = left << c->width | right;
  } while (index > most);
  return index;
}

static fy_code index_shuffle(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *index = ctx->in[0], *seed = ctx->in[1], *most = ctx->in[2];
  const int64_t rounds = fy_site_int(ctx->site, "rounds");
  fy_tensor *out;
  char x[128];
  if (rounds < 4 || rounds % 2 || rounds > MOST_ROUNDS) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "rounds must be an even number of at least 4, not %lld", (long long)rounds);
  }
  const int64_t counts[3] = {index->rank ? index->dims[0] : 1, seed->rank > 1 ? seed->dims[0] : 1,
                             most->rank ? most->dims[0] : 1};
  const bool vectors[3] = {index->rank > 0, seed->rank > 1, most->rank > 0};
  int64_t n = 0;
  bool vector = false;
  for (int i = 0; i < 3; i++) {
    vector = vector || vectors[i];
    if (counts[i] > n) n = counts[i];
  }
  if (index->rank > 1 || (vectors[0] && counts[0] != n))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index bust be a scalar or vector.");
  if (seed->rank < 1 || seed->rank > 2 || seed->dims[seed->rank - 1] != 3 ||
      (vectors[1] && counts[1] != n)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Seed must be a vector of size [3] or a matrix of size [%lld, 3] but got %s.",
                   (long long)n, fy_tensor_shape_text(seed, x));
  }
  if (most->rank > 1 || (vectors[2] && counts[2] != n)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Maxval must be a scalar or a vector of the same size as index but got %s",
                   fy_tensor_shape_text(most, x));
  }
  FY_TRY(fy_out(ctx, 0, vector ? 1 : 0, &n, &out, err));
  for (int64_t i = 0; i < out->count; i++) {
    const uint64_t at = (uint64_t)fy_tensor_int(index, counts[0] == 1 ? 0 : i);
    const uint64_t limit = (uint64_t)fy_tensor_int(most, counts[2] == 1 ? 0 : i);
    uint32_t key[3];
    for (int k = 0; k < 3; k++) {
      key[k] = (uint32_t)fy_tensor_int(seed, (counts[1] == 1 ? 0 : i) * 3 + k);
    }
    if (at > limit) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "max_index must be >= index, but %llu < %llu",
                     (unsigned long long)limit, (unsigned long long)at);
    }
    uint64_t result = 0;
    if (limit) {
      cipher c = {.rounds = (int)rounds};
      int bits = (int)ceil(log2((double)limit));  // rounded as TensorFlow's is
      bits += bits % 2;
      if (bits < LEAST_BITS) bits = LEAST_BITS;
      c.width = bits / 2;
      c.mask = (c.width == 32 ? 0xffffffffull : (1ull << c.width) - 1);
      make_keys(&c, key);
      result = permuted(&c, at, limit);
    }
    if (fy_dtype_storage(out->dtype) == 8) {
      ((uint64_t *)out->data)[i] = result;
    } else {
      ((uint32_t *)out->data)[i] = (uint32_t)result;
    }
  }
  return FY_OK;
}

static fy_code index_shuffle_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape index = ctx->in[0], seed = ctx->in[1], most = ctx->in[2];
  int64_t n = -1;
  FY_TRY(fy_shape_rank_at_most(index, 1, err));
  FY_TRY(fy_shape_rank_at_least(seed, 1, err));
  FY_TRY(fy_shape_rank_at_most(seed, 2, err));
  FY_TRY(fy_shape_rank_at_most(most, 1, err));
  if (seed.rank >= 1 && seed.dims[seed.rank - 1] != 3) {  // unknown will not do
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "Seed must have shape [3] or [n, 3] but got %s.",
                   fy_shape_text(seed.rank, seed.dims, x));
  }
  if (index.rank == 0 && seed.rank == 1 && most.rank == 0)
    return fy_shape_set(ctx, 0, 0, NULL, err);
  if (index.rank == 1 && most.rank == 1 && index.dims[0] > 1 && most.dims[0] > 1 &&
      index.dims[0] != most.dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Max index has shape [%lld] but must have shape [%lld].",
                   (long long)most.dims[0], (long long)index.dims[0]);
  }
  const bool sure = (index.rank == 1 && index.dims[0] > 1) ||
                    (seed.rank == 2 && seed.dims[0] > 1) || (most.rank == 1 && most.dims[0] > 1);
  if ((index.rank < 0 || seed.rank < 0 || most.rank < 0) && !sure) return FY_OK;
  const int64_t dims[3] = {index.rank == 1 ? index.dims[0] : 1, seed.rank == 2 ? seed.dims[0] : 1,
                           most.rank == 1 ? most.dims[0] : 1};
  bool known = true;
  for (int i = 0; i < 3; i++) {
    if (dims[i] < 0) known = false;
    if (dims[i] != 1 && dims[i] >= 0) n = dims[i];
  }
  if (known && n < 0) n = 1;
  return fy_shape_set(ctx, 0, 1, &n, err);
}

static const fy_sample samples[] = {
    {"i32[]=0; i32[3]=1,2,3; i32[]=0", NULL, FY_OK, "0"},
    {"i64[4]=0,1,2,3; i32[3]=1,2,3; i64[]=9", NULL, FY_OK, NULL},
};
FY_OP(RandomIndexShuffle, .shape = index_shuffle_shape, .compute = index_shuffle,
      FY_SAMPLES(samples));

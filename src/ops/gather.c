// SPDX-License-Identifier: Apache-2.0
// gather.c: Gather, GatherV2 (axis, batch_dims), GatherNd. An index out of range is an error that
// names its place, never a read.

#include <stdio.h>

#include "ops/gather.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

static inline int64_t index_at(const fy_tensor *t, int64_t i) {
  switch (t->dtype) {
    case FY_INT32: return ((const int32_t *)t->data)[i];
    case FY_INT64: return ((const int64_t *)t->data)[i];
    default: return ((const int16_t *)t->data)[i];
  }
}

typedef struct gather_job {
  const fy_tensor *params, *indices;
  fy_tensor *out;
  size_t run_bytes;
  int64_t outer, limit, run, per_batch;  // outer dims between batch and axis; run = elements copied
  int64_t bad;                           // position of the first bad index seen, or -1
} gather_job;

// Whether all of them lie in [0, limit): seen without sign, the largest says so. In strands, so that a vector of
// them does not wait for the last one.
enum { STRAND_BYTES = 128 };
#define INSIDE_OF(I, U)                                                      \
  FY_CLONES static bool inside_##I(const I *at, int64_t n, int64_t limit) {  \
    enum { STRANDS = STRAND_BYTES / sizeof(I) };                             \
    U most[STRANDS], all = 0;                                                \
    int64_t i = 0;                                                           \
    if (n >= STRANDS) {                                                      \
      for (int k = 0; k < STRANDS; k++) most[k] = (U)at[k];                  \
      for (i = STRANDS; i + STRANDS <= n; i += STRANDS)                      \
        for (int k = 0; k < STRANDS; k++)                                    \
          most[k] = (U)at[i + k] > most[k] ? (U)at[i + k] : most[k];         \
      for (int k = 0; k < STRANDS; k++) all = most[k] > all ? most[k] : all; \
    }                                                                        \
    for (; i < n; i++) all = (U)at[i] > all ? (U)at[i] : all;                \
    return (int64_t)(I)all >= 0 && (int64_t)(I)all < limit;                  \
  }
INSIDE_OF(int32_t, uint32_t)
INSIDE_OF(int64_t, uint64_t)
INSIDE_OF(int16_t, uint16_t)

// Indices [0, n) of one batch and one outer position: |at| is the first index' place, for errors. Single
// elements are looked through before: then the loop that moves them decides nothing.
#define GATHER_RUN(COPY)                                      \
  for (int64_t i = 0; i < n; i++) {                           \
    const int64_t index = where[i];                           \
    if (FY_UNLIKELY((uint64_t)index >= (uint64_t)j->limit)) { \
      __atomic_store_n(&j->bad, at + i, __ATOMIC_RELAXED);    \
      continue;                                               \
    }                                                         \
    COPY;                                                     \
  }
// Eight are read before any is written: the compiler cannot know that they are not the same memory.
#define ALL_OF(I, T)                                                                 \
  static void all_##I##_##T(const I *where, const void *from, void *to, int64_t n) { \
    const T *in = from;                                                              \
    T *out = to, x[8];                                                               \
    int64_t i = 0;                                                                   \
    for (; i + 8 <= n; i += 8) {                                                     \
      FY_UNROLL for (int k = 0; k < 8; k++) x[k] = in[where[i + k]];                 \
      FY_UNROLL for (int k = 0; k < 8; k++) out[i + k] = x[k];                       \
    }                                                                                \
    for (; i < n; i++) out[i] = in[where[i]];                                        \
  }

// Words are written as vectors, and two 32-bit indices are read as one number: it is loads and stores that these
// loops wait for. As floats (nothing is computed) words go straight into vectors.
typedef struct two_places {
  uint64_t a, b;
} two_places;
static inline two_places two_int32_t(const int32_t *at) {
  uint64_t both;
  memcpy(&both, at, sizeof both);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return (two_places){(uint32_t)both, both >> 32};
#else
  return (two_places){both >> 32, (uint32_t)both};
#endif
}
static inline two_places two_int64_t(const int64_t *at) {
  return (two_places){(uint64_t)at[0], (uint64_t)at[1]};
}
static inline two_places two_int16_t(const int16_t *at) {
  return (two_places){(uint64_t)at[0], (uint64_t)at[1]};
}
typedef float word4 __attribute__((may_alias));
typedef double word8 __attribute__((may_alias));
typedef float words4 __attribute__((vector_size(16)));
typedef double words8 __attribute__((vector_size(16)));
#define WORDS_OF(I)                                                                \
  static void all_##I##_4(const I *where, const void *from, void *to, int64_t n) { \
    const word4 *in = from;                                                        \
    word4 *out = to;                                                               \
    int64_t i = 0;                                                                 \
    for (; i + 4 <= n; i += 4) {                                                   \
      const two_places p = two_##I(where + i), q = two_##I(where + i + 2);         \
      const words4 x = {in[p.a], in[p.b], in[q.a], in[q.b]};                       \
      memcpy(out + i, &x, sizeof x);                                               \
    }                                                                              \
    for (; i < n; i++) out[i] = in[where[i]];                                      \
  }                                                                                \
  static void all_##I##_8(const I *where, const void *from, void *to, int64_t n) { \
    const word8 *in = from;                                                        \
    word8 *out = to;                                                               \
    int64_t i = 0;                                                                 \
    for (; i + 2 <= n; i += 2) {                                                   \
      const two_places p = two_##I(where + i);                                     \
      const words8 x = {in[p.a], in[p.b]};                                         \
      memcpy(out + i, &x, sizeof x);                                               \
    }                                                                              \
    for (; i < n; i++) out[i] = in[where[i]];                                      \
  }
#define SOME memcpy(out + (size_t)i * bytes, in + (size_t)index * bytes, bytes)
#define GATHER_OF(I)                                                                        \
  ALL_OF(I, uint8_t)                                                                        \
  ALL_OF(I, uint16_t)                                                                       \
  WORDS_OF(I)                                                                               \
  static void gather_##I(gather_job *j, const char *in, char *out, int64_t at, int64_t n) { \
    const size_t bytes = j->run_bytes;                                                      \
    const I *where = (const I *)j->indices->data + at;                                      \
    const bool one = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;                  \
    if (one && inside_##I(where, n, j->limit)) {                                            \
      (bytes == 4   ? all_##I##_4                                                           \
       : bytes == 8 ? all_##I##_8                                                           \
       : bytes == 2 ? all_##I##_uint16_t                                                    \
                    : all_##I##_uint8_t)(where, in, out, n);                                \
    } else {                                                                                \
      GATHER_RUN(SOME)                                                                      \
    }                                                                                       \
  }
GATHER_OF(int32_t)
GATHER_OF(int64_t)
GATHER_OF(int16_t)

// Item = (batch, outer, index): out[b, o, i, :] = params[b, o, indices[b, i], :].
static void gather_items(void *arg, int64_t begin, int64_t end) {
  gather_job *j = arg;
  for (int64_t item = begin, n; item < end; item += n) {
    const int64_t rest = item < j->per_batch ? 0 : item / j->per_batch;  // few need a division
    const int64_t i = item - rest * j->per_batch;
    const int64_t at = rest < j->outer ? i : rest / j->outer * j->per_batch + i;
    const char *in = (const char *)j->params->data + (size_t)(rest * j->limit) * j->run_bytes;
    char *out = (char *)j->out->data + (size_t)item * j->run_bytes;
    n = j->per_batch - i < end - item ? j->per_batch - i : end - item;
    switch (j->indices->dtype) {
      case FY_INT32: gather_int32_t(j, in, out, at, n); break;
      case FY_INT64: gather_int64_t(j, in, out, at, n); break;
      default: gather_int16_t(j, in, out, at, n); break;
    }
  }
}

static fy_code gather_objects(gather_job *j, int64_t items, fy_error *err) {
  for (int64_t item = 0; item < items; item++) {
    const int64_t i = item % j->per_batch, rest = item / j->per_batch;
    const int64_t at = rest / j->outer * j->per_batch + i;
    const int64_t index = index_at(j->indices, at);
    if ((uint64_t)index >= (uint64_t)j->limit) {
      j->bad = at;
      return FY_OK;
    }
    FY_TRY(fy_copy_run(j->out->dtype, j->out->data, item * j->run, j->params->data,
                       (rest * j->limit + index) * j->run, j->run, err));
  }
  return FY_OK;
}

// "indices[1,0] = -1 is not in [0, 3)"; the first bad one, whichever thread met which.
static fy_code fail_index(const gather_job *j, fy_error *err) {
  const fy_tensor *t = j->indices;
  int64_t at = 0;
  while (at < t->count && (uint64_t)index_at(t, at) < (uint64_t)j->limit) at++;
  if (at == t->count) at = j->bad;
  char place[128] = "";
  size_t len = 0;
  int64_t step = t->count;
  int64_t rest = at;
  for (int32_t d = 0; d < t->rank && len < 100; d++) {
    step /= t->dims[d] ? t->dims[d] : 1;
    len += (size_t)snprintf(place + len, sizeof place - len, "%s%lld", d ? "," : "",
                            (long long)(rest / step));
    rest %= step;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "indices%s%s%s = %lld is not in [0, %lld)",
                 t->rank ? "[" : "", place, t->rank ? "]" : "", (long long)index_at(t, at),
                 (long long)j->limit);
}

fy_code fy_gather(fy_kernel_ctx *ctx, const fy_tensor *params, const fy_tensor *indices, int32_t a,
                  int32_t b, fy_error *err) {
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < a; d++) dims[rank++] = params->dims[d];
  for (int32_t d = b; d < indices->rank; d++) dims[rank++] = indices->dims[d];
  for (int32_t d = a + 1; d < params->rank; d++) dims[rank++] = params->dims[d];
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  gather_job j = {.params = params,
                  .indices = indices,
                  .out = out,
                  .outer = fy_product(params->dims + b, a - b),
                  .limit = params->dims[a],
                  .run = fy_product(params->dims + a + 1, params->rank - 1 - a),
                  .per_batch = fy_product(indices->dims + b, indices->rank - b),
                  .bad = -1};
  j.run_bytes = (size_t)j.run * fy_dtype_storage(params->dtype);
  const int64_t items = fy_product(params->dims, a) * j.per_batch;
  if (fy_dtype_is_plain(params->dtype)) {
    // Single elements of what the nearest caches hold are as quick as a loop can be.
    const bool quick = j.run_bytes <= 8 && fy_tensor_bytes(params) <= (size_t)256 << 10;
    fy_parallel(ctx, items, quick ? 0.6 : 5 + 0.1 * (double)j.run_bytes, gather_items, &j);
  } else {
    FY_TRY(gather_objects(&j, items, err));
  }
  return j.bad >= 0 ? fail_index(&j, err) : FY_OK;
}

static fy_code gather_at(fy_kernel_ctx *ctx, int64_t axis, int64_t batch_dims, fy_error *err) {
  const fy_tensor *params = ctx->in[0], *indices = ctx->in[1];
  if (params->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "params must be at least 1 dimensional");
  }
  if (axis == INT64_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "axis must be less than std::numeric_limits<int64_t>::max()");
  }
  const uint64_t need = axis < 0 ? 0 - (uint64_t)axis : (uint64_t)axis + 1;
  if (need > (uint64_t)params->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at least rank %llu but is rank %d",
                   (unsigned long long)need, params->rank);
  }
  if (axis < 0) axis += params->rank;
  if (batch_dims != 0) {
    if (batch_dims < -indices->rank || batch_dims > indices->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected batch_dims in the range [%d, %d], but got %lld", -indices->rank,
                     indices->rank, (long long)batch_dims);
    }
    if (batch_dims < 0) batch_dims += indices->rank;
    if (batch_dims >= params->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "batch_dims (%lld) must be less than rank(params) (%d).",
                     (long long)batch_dims, params->rank);
    }
    if (axis < batch_dims) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "batch_dims (%lld) must be less than or equal to axis (%lld).",
                     (long long)batch_dims, (long long)axis);
    }
    for (int32_t d = 0; d < batch_dims; d++) {
      if (params->dims[d] == indices->dims[d]) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld", d,
                     (long long)params->dims[d], d, (long long)indices->dims[d]);
    }
  }
  return fy_gather(ctx, params, indices, (int32_t)axis, (int32_t)batch_dims, err);
}

static fy_code gather_v1(fy_kernel_ctx *ctx, fy_error *err) {
  return gather_at(ctx, 0, 0, err);
}
static fy_code gather_v2_prepare(fy_site *site, fy_error *err) {
  (void)err;
  const fy_attr *batch = fy_site_attr(site, "batch_dims");  // kept by the arena of the attributes
  site->state = batch && batch->kind == FY_ATTR_INT ? (void *)(uintptr_t)batch : NULL;
  return FY_OK;
}
static fy_code gather_v2(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_attr *batch = ctx->site->state;
  if (ctx->in[2]->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "axis must be scalar");
  return gather_at(ctx, fy_tensor_int(ctx->in[2], 0), batch ? batch->v.i : 0, err);
}

static fy_code gather_v1_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape p = ctx->in[0], i = ctx->in[1];
  FY_TRY(fy_shape_rank_at_least(p, 1, err));
  if (p.rank < 0 || i.rank < 0) return FY_OK;
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < i.rank; d++) dims[rank++] = i.dims[d];
  for (int32_t d = 1; d < p.rank; d++) dims[rank++] = p.dims[d];
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static fy_code gather_v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape p = ctx->in[0], i = ctx->in[1];
  int64_t axis, batch = fy_shape_attr_int(ctx, "batch_dims", 0);
  FY_TRY(fy_shape_rank_at_least(p, 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  if (fy_shape_int_value(ctx, 2, &axis)) {
    const uint64_t least = axis < 0 ? 0 - (uint64_t)axis : (uint64_t)axis + 1;
    if (least > INT32_MAX) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Rank cannot exceed kint32max");
    }
    FY_TRY(fy_shape_rank_at_least(p, (int32_t)least, err));
  }
  if (batch >= 0 && batch < INT32_MAX && fy_shape_tensor(ctx, 2)) {
    FY_TRY(fy_shape_rank_at_least(i, (int32_t)batch, err));
    FY_TRY(fy_shape_rank_at_least(p, (int32_t)batch + 1, err));
  }
  if (p.rank < 0 || i.rank < 0) return FY_OK;
  if (batch < 0) batch += i.rank;
  if (!fy_shape_int_value(ctx, 2, &axis)) {
    const int64_t rank = p.rank + i.rank - 1 - batch;
    return rank < 0 || batch < 0 ? FY_OK : fy_shape_set(ctx, 0, (int32_t)rank, NULL, err);
  }
  if (batch < 0 || batch > i.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at least rank %lld but is rank %d",
                   (long long)batch, i.rank);
  }
  FY_TRY(fy_shape_rank_at_least(p, (int32_t)batch + 1, err));
  if (axis < 0) axis += p.rank;
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < axis; d++) dims[rank++] = p.dims[d];
  for (int32_t d = (int32_t)batch; d < i.rank; d++) dims[rank++] = i.dims[d];
  for (int32_t d = (int32_t)axis + 1; d < p.rank; d++) dims[rank++] = p.dims[d];
  FY_TRY(fy_shape_set(ctx, 0, rank, dims, err));
  // An element of a vector that is a shape.
  int64_t at;
  int32_t n;
  int64_t *values;
  bool *known;
  const bool small = ctx->in_as_shape[0].rank >= 0 || ctx->in_value[0];
  if (p.rank == 1 && i.rank == 0 && small && fy_shape_int_value(ctx, 1, &at) &&
      fy_shape_values(ctx, 0, &n, &values, &known) && at >= 0 && at < n) {
    return fy_shape_set_value(ctx, 0, 1, &values[at], err);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- GatherNd
static fy_code fail_nd(const fy_kernel_ctx *ctx, int64_t row, int64_t depth, fy_error *err) {
  const fy_tensor *params = ctx->in[0], *indices = ctx->in[1];
  char shape[128], list[200] = "", place[128] = "";
  size_t len = 0, at = 0;
  for (int64_t k = 0; k < depth && len < 160; k++) {
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%lld", k ? ", " : "",
                            (long long)index_at(indices, row * depth + k));
  }
  int64_t step = indices->count / (depth ? depth : 1), rest = row;
  for (int32_t d = 0; d + 1 < indices->rank && at < 100; d++) {
    step /= indices->dims[d];
    at += (size_t)snprintf(place + at, sizeof place - at, "%s%lld", d ? "," : "",
                           (long long)(rest / step));
    rest %= step;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "indices%s%s%s = [%s] does not index into param shape %s, node name: %s",
                 *place ? "[" : "", place, *place ? "]" : "", list,
                 fy_tensor_shape_text(params, shape), ctx->site->node_name);
}

typedef struct nd_job {
  const void *indices;
  const int64_t *dims;
  const char *in;
  char *out;
  size_t bytes;  // of what an index names
  int64_t depth;
  int64_t bad;  // the last row whose index is outside, as TensorFlow reports it; -1: none
} nd_job;

static void nd_bad(nd_job *j, int64_t row) {
  int64_t seen = __atomic_load_n(&j->bad, __ATOMIC_RELAXED);
  while (row > seen && !__atomic_compare_exchange_n(&j->bad, &seen, row, false, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED))
    continue;
}

// COPY puts what is |from| (a count of such things) at row |r|.
#define ND_ROWS(T, COPY)                                                                  \
  for (int64_t r = begin; r < end; r++, index += depth) {                                 \
    int64_t from = 0;                                                                     \
    bool inside = true;                                                                   \
    for (int64_t k = 0; k < depth; k++) {                                                 \
      inside &= (uint64_t)(int64_t)index[k] < (uint64_t)dims[k];                          \
      from = (int64_t)((uint64_t)from * (uint64_t)dims[k] + (uint64_t)(int64_t)index[k]); \
    }                                                                                     \
    if (!inside) {                                                                        \
      nd_bad(j, r);                                                                       \
      continue;                                                                           \
    }                                                                                     \
    COPY;                                                                                 \
  }
#define ND_RANGE(E, S, _)                                                                 \
  static void nd_##S(void *arg, int64_t begin, int64_t end) {                             \
    nd_job *j = arg;                                                                      \
    const int64_t depth = j->depth, *dims = j->dims;                                      \
    const fy_t_##S *index = (const fy_t_##S *)j->indices + begin * depth;                 \
    const size_t bytes = j->bytes;                                                        \
    const uint32_t *in4 = (const void *)j->in;                                            \
    uint32_t *out4 = (void *)j->out;                                                      \
    const int64_t rows = dims[0], columns = depth > 1 ? dims[1] : 1;                      \
    if (bytes == 4 && depth == 2) {                                                       \
      for (int64_t r = begin; r < end; r++, index += 2) {                                 \
        const int64_t y = index[0], x = index[1];                                         \
        if ((uint64_t)y >= (uint64_t)rows || (uint64_t)x >= (uint64_t)columns) {          \
          nd_bad(j, r);                                                                   \
          continue;                                                                       \
        }                                                                                 \
        out4[r] = in4[y * columns + x];                                                   \
      }                                                                                   \
    } else if (bytes == 4) {                                                              \
      ND_ROWS(S, out4[r] = in4[from])                                                     \
    } else {                                                                              \
      ND_ROWS(S, memcpy(j->out + (size_t)r * bytes, j->in + (size_t)from * bytes, bytes)) \
    }                                                                                     \
  }
FY_INDEX_TYPES(ND_RANGE, _)

fy_code fy_gather_nd_output(fy_kernel_ctx *ctx, const fy_tensor *params, const fy_tensor *indices,
                            fy_tensor **out, fy_error *err) {
  if (params->rank < 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "params must be at least a vector");
  if (indices->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be at least a vector");
  }
  const int64_t depth = indices->dims[indices->rank - 1];
  if (depth > params->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "index innermost dimension length must be <= params rank; saw: %lld vs. %d",
                   (long long)depth, params->rank);
  }
  if (params->count == 0 && fy_product(indices->dims, indices->rank - 1) > 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Requested more than 0 entries, but params is empty.  Params shape: %s",
                   fy_tensor_shape_text(params, x));
  }
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d + 1 < indices->rank; d++) dims[rank++] = indices->dims[d];
  for (int32_t d = (int32_t)depth; d < params->rank; d++) dims[rank++] = params->dims[d];
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  return fy_out(ctx, 0, rank, dims, out, err);
}

static fy_code gather_nd(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *params = ctx->in[0], *indices = ctx->in[1];
  fy_tensor *out;
  FY_TRY(fy_gather_nd_output(ctx, params, indices, &out, err));
  const int64_t depth = indices->dims[indices->rank - 1];
  const int64_t rows = fy_product(indices->dims, indices->rank - 1);
  const int64_t run = fy_product(params->dims + depth, params->rank - (int32_t)depth);
  const bool wide = indices->dtype == FY_INT64;
  if (fy_dtype_is_plain(out->dtype) && out->count > 0 && depth > 0 &&
      (wide || indices->dtype == FY_INT32)) {
    nd_job job = {.indices = indices->data,
                  .dims = params->dims,
                  .in = params->data,
                  .out = out->data,
                  .bytes = (size_t)run * fy_dtype_storage(out->dtype),
                  .depth = depth,
                  .bad = -1};
    fy_parallel(ctx, rows, 1 + 0.5 * (double)depth + 0.1 * (double)job.bytes,
                wide ? nd_i64 : nd_i32, &job);
    return job.bad < 0 ? FY_OK : fail_nd(ctx, job.bad, depth, err);
  }
  for (int64_t at = rows * depth; at-- > 0;)
    if ((uint64_t)index_at(indices, at) >= (uint64_t)params->dims[at % depth])
      return fail_nd(ctx, at / depth, depth, err);
  for (int64_t r = 0; r < rows; r++) {
    int64_t from = 0;
    for (int64_t k = 0; k < depth; k++)
      from = from * params->dims[k] + index_at(indices, r * depth + k);
    FY_TRY(fy_copy_run(out->dtype, out->data, r * run, params->data, from * run, run, err));
  }
  return FY_OK;
}

static fy_code gather_nd_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape p = ctx->in[0], i = ctx->in[1];
  FY_TRY(fy_shape_rank_at_least(i, 1, err));
  if (p.rank < 0 || i.rank < 0 || i.dims[i.rank - 1] < 0) return FY_OK;
  const int64_t depth = i.dims[i.rank - 1];
  if (depth > p.rank) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "indices.shape[-1] must be <= params.rank, but saw indices shape: %s and params "
                   "shape: %s",
                   fy_shape_text(i.rank, i.dims, x), fy_shape_text(p.rank, p.dims, y));
  }
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d + 1 < i.rank; d++) dims[rank++] = i.dims[d];
  for (int32_t d = (int32_t)depth; d < p.rank; d++) dims[rank++] = p.dims[d];
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static const fy_sample v1_samples[] = {
    {"f32[3,2]=iota; i32[2]=2,0", NULL, FY_OK, "4,5,0,1"},
};
static const fy_sample v2_samples[] = {
    {"f32[2,3]=iota; i32[2]=2,0; i32[]=1", NULL, FY_OK, "2,0,5,3"},
    {"f32[2,3]=iota; i32[2,1]=2,0; i32[]=1", "batch_dims=1", FY_OK, "2,3"},
    {"f32[3,2]=iota; i32[2,2]=0,1,-1,2; i32[]=0", NULL, FY_INVALID_ARGUMENT,
     "indices[1,0] = -1 is not in [0, 3)"},
};
static const fy_sample nd_samples[] = {
    {"f32[2,3]=iota; i32[2,2]=1,2,0,0", NULL, FY_OK, "5,0"},
    {"f32[2,3]=iota; i32[1,1]=1", NULL, FY_OK, "3,4,5"},
    {"f32[3,2]=iota; i32[1,2]=3,0", NULL, FY_INVALID_ARGUMENT,
     "indices[0] = [3, 0] does not index into param shape [3,2], node name: "},
};

FY_OP(Gather, .shape = gather_v1_shape, .compute = gather_v1, FY_SAMPLES(v1_samples));
FY_OP(GatherV2, .shape = gather_v2_shape, .prepare = gather_v2_prepare, .compute = gather_v2,
      .host_inputs = 1 << 2, FY_SAMPLES(v2_samples));
FY_OP(GatherNd, .shape = gather_nd_shape, .compute = gather_nd, FY_SAMPLES(nd_samples));

// SPDX-License-Identifier: Apache-2.0
// sparse_reduce.c: SparseReduceSum/Max (dense result), their …Sparse forms (sparse result), and
// SparseSoftmax. Values are grouped by the indices that stay; what has no value counts for nothing,
// not as zero.

#include <stdlib.h>

#include "base/alloc.h"
#include "ops/scatter.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/typed.h"
#include "ops/values.h"

// What qsort cannot be told: the dimensions to compare.
typedef struct group_key {
  int64_t *key;  // the kept dimensions of one value, or (n = 1) one number made of them
  int64_t n, at;
} group_key;

static int by_key(const void *pa, const void *pb) {
  const group_key *a = pa, *b = pb;
  for (int64_t d = 0; d < a->n; d++) {
    if (a->key[d] != b->key[d]) return a->key[d] < b->key[d] ? -1 : 1;
  }
  return a->at < b->at ? -1 : a->at > b->at;
}

// Which dimensions go.
static fy_code read_axes(const fy_tensor *axes, int64_t rank, bool *gone, fy_error *err) {
  for (int64_t d = 0; d < rank; d++) gone[d] = false;
  for (int64_t i = 0; i < axes->count; i++) {
    const int64_t axis = fy_tensor_int(axes, i), at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid reduction dimension %lld, for input with "
                     "%lld dimensions.",
                     (long long)axis, (long long)rank);
    }
    gone[at] = true;
  }
  return FY_OK;
}

// The groups of values: |keys| sorted, those of equal key belong together.
static fy_code make_groups(fy_kernel_ctx *ctx, const bool *gone, group_key **out, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *shape = ctx->in[2];
  const int64_t n = at->dims[0], rank = shape->count;
  void *memory;
  size_t bytes;
  const int64_t *index = at->data, *sizes = shape->data;
  int64_t kept = 0, places = 1;
  bool one = true;  // they fit into one number
  for (int64_t d = 0; d < rank; d++) {
    kept += !gone[d];
    if (!gone[d]) one = one && !__builtin_mul_overflow(places, sizes[d], &places);
  }
  if (one) kept = 1;
  if (!fy_mul_size((size_t)(n + 1), sizeof(group_key) + (size_t)kept * sizeof(int64_t), &bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  group_key *keys = memory;
  int64_t *dims = (int64_t *)(keys + n + 1);
  for (int64_t i = 0; i < n; i++) {
    keys[i] = (group_key){dims, kept, i};
    int64_t place = 0;
    for (int64_t d = 0; d < rank; d++) {
      const int64_t v = index[i * rank + d];
      if (v < 0 || v >= sizes[d]) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Invalid index %lld in dimension %lld of size %lld", (long long)v,
                       (long long)d, (long long)sizes[d]);
      }
      if (one && !gone[d])
        place = place * sizes[d] + v;
      else if (!gone[d])
        *dims++ = v;
    }
    if (one) *dims++ = place;
  }
  bool sorted = true;
  for (int64_t i = 1; i < n && sorted; i++) sorted = by_key(&keys[i - 1], &keys[i]) < 0;
  if (!sorted) qsort(keys, (size_t)n, sizeof *keys, by_key);
  *out = keys;
  return FY_OK;
}

static bool same_group(const group_key *a, const group_key *b) {
  for (int64_t d = 0; d < a->n; d++)
    if (a->key[d] != b->key[d]) return false;
  return true;
}

static fy_code reduce(fy_kernel_ctx *ctx, bool sparse, fy_error *err) {
  fy_tensor *const *in = ctx->in;
  const fy_scatter_kind kind = *(const fy_scatter_kind *)ctx->site->op->impl->aux;
  const fy_scatter_loop loop = fy_scatter_find(kind, in[1]->dtype);
  const bool keep = fy_site_bool(ctx->site, "keep_dims");
  bool gone[FY_MAX_RANK];
  int64_t dims[FY_MAX_RANK];
  int32_t rank = 0;
  group_key *keys;
  if (in[3]->rank > 1) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected reduction_axes to be a scalar or a vector; got shape: %s",
                   fy_tensor_shape_text(in[3], x));
  }
  FY_TRY(fy_sparse_check(in[0], in[1], in[2], err));
  if (in[2]->count > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  FY_TRY(read_axes(in[3], in[2]->count, gone, err));
  if (!loop) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in[1]->dtype));
  }
  for (int64_t d = 0; d < in[2]->count; d++) {
    const int64_t size = fy_tensor_int(in[2], d);
    if (size < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)size);
    }
    if (!gone[d] || keep) dims[rank++] = gone[d] ? 1 : size;
  }
  FY_TRY(make_groups(ctx, gone, &keys, err));
  const int64_t n = in[1]->count;
  int64_t groups = 0;
  for (int64_t i = 0; i < n; i++) groups += !i || !same_group(&keys[i], &keys[i - 1]);
  fy_tensor *values, *indices = NULL, *shape = NULL;
  if (sparse) {
    const int64_t out_rank = rank;
    FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){groups, out_rank}, &indices, err));
    FY_TRY(fy_out(ctx, 1, 1, &groups, &values, err));
    FY_TRY(fy_out(ctx, 2, 1, &out_rank, &shape, err));
    for (int32_t d = 0; d < rank; d++) ((int64_t *)shape->data)[d] = dims[d];
  } else {
    FY_TRY(fy_out(ctx, 0, rank, dims, &values, err));
    if (values->count) memset(values->data, 0, fy_tensor_bytes(values));
  }
  int64_t group = -1, to = 0;
  for (int64_t i = 0; i < n; i++) {
    const bool first = !i || !same_group(&keys[i], &keys[i - 1]);
    group += first;
    if (first) {
      const int64_t *index = (const int64_t *)in[0]->data + keys[i].at * in[2]->count;
      int64_t d_out = 0;
      to = 0;
      for (int64_t d = 0; d < in[2]->count; d++) {
        const int64_t v = gone[d] ? 0 : index[d];
        if (!gone[d]) to = to * fy_tensor_int(in[2], d) + v;
        if (indices && (!gone[d] || keep)) {
          ((int64_t *)indices->data)[group * rank + d_out++] = v;
        }
      }
      if (sparse) to = group;
      FY_TRY(fy_copy_run(values->dtype, values->data, to, in[1]->data, keys[i].at, 1, err));
    } else {
      FY_TRY(fy_scatter_apply(kind, loop, values, to, in[1], keys[i].at, 1, err));
    }
  }
  return FY_OK;
}
static fy_code reduce_dense(fy_kernel_ctx *ctx, fy_error *err) {
  return reduce(ctx, false, err);
}
static fy_code reduce_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  return reduce(ctx, true, err);
}

static fy_code dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_tensor *axes = fy_shape_tensor(ctx, 3);
  fy_pshape shape;
  int64_t dims[FY_MAX_RANK];
  int32_t rank = 0;
  bool gone[FY_MAX_RANK];
  FY_TRY(fy_shape_from_input(ctx, 2, &shape, err));
  if (!axes || shape.rank < 0) {
    const bool keep = fy_shape_attr_bool(ctx, "keep_dims");
    return keep && shape.rank >= 0 ? fy_shape_set(ctx, 0, shape.rank, NULL, err) : FY_OK;
  }
  FY_TRY(read_axes(axes, shape.rank, gone, err));
  for (int32_t d = 0; d < shape.rank; d++) {
    if (!gone[d] || fy_shape_attr_bool(ctx, "keep_dims"))
      dims[rank++] = gone[d] ? 1 : shape.dims[d];
  }
  return fy_shape_set(ctx, 0, rank, dims, err);
}
static fy_code sparse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(fy_shape_set(ctx, 0, 2, NULL, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &unknown, err);
}

// ---------------------------------------------------------------- SparseSoftmax
#define SOFTMAX(E, S, _)                                                                \
  static void softmax_##S(const void *pi, const group_key *keys, int64_t n, void *po) { \
    const fy_t_##S *in = pi;                                                            \
    fy_t_##S *out = po;                                                                 \
    fy_a_##S top = FY_LD_##S(in[keys[0].at]), sum = 0;                                  \
    for (int64_t i = 1; i < n; i++) {                                                   \
      const fy_a_##S x = FY_LD_##S(in[keys[i].at]);                                     \
      if (x > top) top = x;                                                             \
    }                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                   \
      const fy_a_##S x = FY_LD_##S(in[keys[i].at]);                                     \
      const fy_a_##S e = FY_RD_##S(FY_MATH_##S(exp)(FY_RD_##S(x - top)));               \
      out[keys[i].at] = FY_ST_##S(e);                                                   \
      sum = FY_RD_##S(sum + e);                                                         \
    }                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                   \
      const fy_a_##S e = FY_LD_##S(out[keys[i].at]);                                    \
      out[keys[i].at] = FY_ST_##S(e / sum);                                             \
    }                                                                                   \
  }
SOFTMAX(FY_HALF, f16, _)
FY_FULL_REAL_TYPES(SOFTMAX, _)
typedef void (*softmax_fn)(const void *in, const group_key *keys, int64_t n, void *out);
static const softmax_fn softmaxes[FY_DTYPE_COUNT] = {
    FY_LOOP_ENTRY(FY_HALF, f16, softmax) FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, softmax)};

static fy_code sparse_softmax(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *const *in = ctx->in;
  const softmax_fn run = softmaxes[in[1]->dtype];
  char x[128], y[128];
  bool gone[FY_MAX_RANK] = {false};
  group_key *keys;
  fy_tensor *out;
  if (in[0]->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input sp_indices should be a matrix but received shape: %s",
                   fy_tensor_shape_text(in[0], x));
  }
  if (in[1]->rank != 1 || in[2]->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inputs sp_values and sp_shape should be vectors but received shapes: %s and %s",
                   fy_tensor_shape_text(in[1], x), fy_tensor_shape_text(in[2], y));
  }
  const int64_t rank = in[2]->count;
  if (rank < 2 || rank > FY_MAX_RANK) {
    fy_str text;
    fy_str_init(&text);
    for (int64_t d = 0; d < rank && d < 3; d++) {
      fy_str_printf(&text, "%s%lld", d ? " " : "", (long long)fy_tensor_int(in[2], d));
    }
    fy_fail(err, FY_INVALID_ARGUMENT, "Input should have rank >= 2, but received shape: %s",
            fy_str_text(&text));
    fy_str_free(&text);
    return FY_INVALID_ARGUMENT;
  }
  FY_TRY(fy_sparse_check(in[0], in[1], in[2], err));
  if (!run) {
    return fy_fail(err, FY_UNIMPLEMENTED, "SparseSoftmax has no loop for %s",
                   fy_dtype_name(in[1]->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, in[1], &out, err));
  gone[rank - 1] = true;
  FY_TRY(make_groups(ctx, gone, &keys, err));
  for (int64_t begin = 0, end; begin < in[1]->count; begin = end) {
    for (end = begin + 1; end < in[1]->count && same_group(&keys[begin], &keys[end]);) end++;
    run(in[1]->data, keys + begin, end - begin, out->data);
  }
  return FY_OK;
}

static fy_code softmax_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  const int64_t n = fy_dim_of(ctx->in[1], 0);
  return fy_shape_set(ctx, 0, 1, &n, err);
}

static const fy_scatter_kind sum = FY_SCATTER_ADD, max = FY_SCATTER_MAX;
static const fy_sample samples[] = {
    {"i64[3,2]=0,0,0,1,1,0; f32[3]=1,1,7; i64[2]=2,2; i32[1]=0", NULL, FY_OK, NULL},
    {"i64[1,2]=0,0; f32[1]=1; i64[2]=2,2; i32[1]=2", NULL, FY_INVALID_ARGUMENT,
     "Invalid reduction dimension 2, for input with 2 dimensions."},
};
static const fy_sample softmax_samples[] = {
    {"i64[2,2]=0,0,1,1; f32[2]=1,5; i64[2]=2,2", NULL, FY_OK, "1,1"},
};
FY_OP(SparseReduceSum, .shape = dense_shape, .compute = reduce_dense, .aux = &sum,
      .host_inputs = 1 << 2 | 1 << 3, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(SparseReduceMax, .shape = dense_shape, .compute = reduce_dense, .aux = &max,
      .host_inputs = 1 << 2 | 1 << 3, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(SparseReduceSumSparse, .shape = sparse_shape, .compute = reduce_sparse, .aux = &sum,
      .host_inputs = 1 << 3, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(SparseReduceMaxSparse, .shape = sparse_shape, .compute = reduce_sparse, .aux = &max,
      .host_inputs = 1 << 3, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(SparseSoftmax, .shape = softmax_shape, .compute = sparse_softmax,
      FY_SAMPLES(softmax_samples));

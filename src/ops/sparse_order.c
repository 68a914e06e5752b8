// SPDX-License-Identifier: Apache-2.0
// sparse_order.c: what sorts sparse elements or takes a part of them: SparseReorder, SparseConcat,
// SparseSlice.

#include <stdlib.h>

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

typedef struct keyed {
  const int64_t *index;
  int64_t rank, at;
} keyed;

static int by_index(const void *pa, const void *pb) {
  const keyed *a = pa, *b = pb;
  for (int64_t d = 0; d < a->rank; d++) {
    if (a->index[d] != b->index[d]) return a->index[d] < b->index[d] ? -1 : 1;
  }
  return a->at < b->at ? -1 : a->at > b->at;
}

// Sorts |n| rows of indices and moves the values along.
static fy_code put_sorted(fy_kernel_ctx *ctx, const int64_t *indices,
                          const fy_tensor *const *values, int parts, int64_t n, int64_t rank,
                          fy_error *err) {
  void *memory;
  fy_tensor *out, *out_values;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(keyed), &memory, err));
  keyed *keys = memory;
  for (int64_t i = 0; i < n; i++) keys[i] = (keyed){indices + i * rank, rank, i};
  qsort(keys, (size_t)n, sizeof *keys, by_index);
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &out_values, err));
  for (int64_t i = 0; i < n; i++) {
    if (rank) {
      memcpy(fy_data64(out) + i * rank, keys[i].index, (size_t)rank * sizeof(int64_t));
    }
    int64_t at = keys[i].at;
    int part = 0;
    while (part + 1 < parts && at >= values[part]->count) at -= values[part++]->count;
    FY_TRY(fy_copy_run(out_values->dtype, out_values->data, i, values[part]->data, at, 1, err));
  }
  return FY_OK;
}

static fy_code sparse_reorder(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  FY_TRY(fy_sparse_validate(indices, values, shape, false, err));
  return put_sorted(ctx, indices->data, (const fy_tensor *const[]){values}, 1, values->count,
                    indices->dims[1], err);
}
static fy_code sparse_reorder_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  const int64_t dims[2] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[0], 1)};
  FY_TRY(fy_shape_set(ctx, 0, 2, dims, err));
  return fy_shape_set(ctx, 1, 1, (const int64_t[]){fy_dim_of(ctx->in[1], 0)}, err);
}

static fy_code concat_checks(const fy_kernel_ctx *ctx, int n, int64_t axis, fy_error *err) {
  const fy_tensor *first = ctx->in[2 * n];
  for (int i = 0; i < n; i++) {
    const fy_tensor *indices = ctx->in[i], *values = ctx->in[n + i], *shape = ctx->in[2 * n + i];
    char x[128];
    if (indices->rank != 2 || values->rank != 1 || shape->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %s should be a %s but received shape %s at position %d",
                     indices->rank != 2  ? "indices"
                     : values->rank != 1 ? "values"
                                         : "shapes",
                     indices->rank != 2 ? "matrix" : "vector",
                     fy_tensor_shape_text(indices->rank != 2  ? indices
                                          : values->rank != 1 ? values
                                                              : shape,
                                          x),
                     i);
    }
    if (indices->dims[0] != values->count) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "indices and values rows (indexing dimension) must match. (indices = %lld, "
                     "values = %lld)",
                     (long long)indices->dims[0], (long long)values->count);
    }
    if (shape->count != first->count || indices->dims[1] != shape->count) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Ranks of all input tensors must match: expected %lld but got %lld at position "
          "%d",
          (long long)first->count, (long long)shape->count, i);
    }
  }
  const int64_t rank = first->count;
  if (axis < -rank || axis >= rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Concat dimension must be in range [%lld, %lld), got %lld", (long long)-rank,
                   (long long)rank, (long long)axis);
  }
  if (axis < 0) axis += rank;
  for (int i = 1; i < n; i++) {
    for (int64_t d = 0; d < rank; d++) {
      const int64_t want = fy_at64(first, d), got = fy_at64(ctx->in[2 * n + i], d);
      if (d == axis || want == got) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input shapes must match: expected %lld for dimension %lld but got %lld at "
                     "position %d",
                     (long long)want, (long long)d, (long long)got, i);
    }
  }
  return FY_OK;
}

static fy_code sparse_concat(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs / 3;
  int64_t axis = fy_site_int(ctx->site, "concat_dim"), rows = 0, along = 0;
  FY_TRY(concat_checks(ctx, n, axis, err));
  const fy_tensor *first = ctx->in[2 * n];
  const int64_t rank = first->count;
  if (axis < 0) axis += rank;
  for (int i = 0; i < n; i++) rows += ctx->in[i]->dims[0];
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(rows * rank + 1) * sizeof(int64_t), &memory, err));
  int64_t *all = memory, *to = all;
  for (int i = 0; i < n; i++) {
    const fy_tensor *indices = ctx->in[i];
    for (int64_t k = 0; k < indices->count; k++) {
      const int64_t shift = k % rank == axis ? along : 0;
      *to++ = (int64_t)((uint64_t)fy_at64(indices, k) + (uint64_t)shift);
    }
    along = (int64_t)((uint64_t)along + (uint64_t)fy_at64(ctx->in[2 * n + i], axis));
  }
  fy_tensor *shape;
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  for (int64_t d = 0; d < rank; d++) fy_data64(shape)[d] = d == axis ? along : fy_at64(first, d);
  return put_sorted(ctx, all, (const fy_tensor *const *)ctx->in + n, n, rows, rank, err);
}

static fy_code sparse_concat_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int n = ctx->num_inputs / 3;
  int64_t rows = 0, rank = -1;
  for (int i = 0; i < n; i++) {
    int64_t each;
    FY_TRY(fy_shape_rank_is(ctx->in[i], 2, err));
    FY_TRY(fy_shape_rank_is(ctx->in[n + i], 1, err));
    FY_TRY(fy_shape_rank_is(ctx->in[2 * n + i], 1, err));
    FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[i], 0), fy_dim_of(ctx->in[n + i], 0), &each, err));
    rows = rows < 0 || each < 0 ? -1 : rows + each;
    FY_TRY(fy_dim_merge(rank, fy_dim_of(ctx->in[i], 1), &rank, err));
    FY_TRY(fy_dim_merge(rank, fy_dim_of(ctx->in[2 * n + i], 0), &rank, err));
  }
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){rows, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &rows, err));
  return fy_shape_set(ctx, 2, 1, &rank, err);
}

// ---------------------------------------------------------------- SparseSlice
static fy_code sparse_slice(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  char x[128];
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices should be a matrix but received shape %s",
                   fy_tensor_shape_text(indices, x));
  }
  for (int i = 1; i < 5; i++) {
    static const char *const names[] = {"", "values", "shape", "start", "size"};
    if (ctx->in[i]->rank == 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input %s should be a vector but received shape %s",
                   names[i], fy_tensor_shape_text(ctx->in[i], x));
  }
  const int64_t rank = shape->count;
  for (int i = 3; i < 5; i++) {
    if (ctx->in[i]->count == rank) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected %s to be a vector of length %lld but got length %lld",
                   i == 3 ? "start" : "size", (long long)rank, (long long)ctx->in[i]->count);
  }
  if (indices->dims[0] != values->count || indices->dims[1] != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices, values and shape do not belong together");
  }
  for (int64_t d = 0; d < rank; d++) {
    if (fy_at64(shape, d) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld",
                   (long long)fy_at64(shape, d));
  }
  for (int64_t d = 0; d < rank; d++) {
    if (fy_at64(ctx->in[4], d) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)fy_at64(ctx->in[4], d));
  }
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(values->count + 1) * sizeof(int64_t), &memory, err));
  int64_t *kept = memory, n = 0;
  for (int64_t i = 0; i < values->count; i++) {
    bool inside = true;
    for (int64_t d = 0; d < rank; d++) {
      const int64_t at = fy_at64(indices, i * rank + d), start = fy_at64(ctx->in[3], d);
      inside &= at >= start && (uint64_t)at - (uint64_t)start < (uint64_t)fy_at64(ctx->in[4], d) &&
                fy_at64(ctx->in[4], d) > 0;
    }
    if (inside) kept[n++] = i;
  }
  fy_tensor *out, *out_values, *out_shape;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &out_values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &out_shape, err));
  for (int64_t i = 0; i < n; i++) {
    for (int64_t d = 0; d < rank; d++) {
      fy_data64(out)[i * rank + d] = fy_at64(indices, kept[i] * rank + d) - fy_at64(ctx->in[3], d);
    }
    FY_TRY(fy_copy_run(values->dtype, out_values->data, i, values->data, kept[i], 1, err));
  }
  for (int64_t d = 0; d < rank; d++) {
    const int64_t size = fy_at64(ctx->in[4], d);
    const int64_t left = (int64_t)((uint64_t)fy_at64(shape, d) - (uint64_t)fy_at64(ctx->in[3], d));
    const int64_t most = size < left ? size : left;
    fy_data64(out_shape)[d] = most < 0 ? 0 : most;
  }
  return FY_OK;
}
static fy_code sparse_slice_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape shape = ctx->in[2];
  const int64_t unknown = -1;
  const int64_t rank = fy_shape_known(shape) ? fy_product(shape.dims, shape.rank) : -1;
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, shape.rank, shape.dims, err);
}

static const fy_sample reorder_samples[] = {
    {"i64[2,2]=1,0,0,1; f32[2]=7,8; i64[2]=2,2", NULL, FY_OK, "0,1,1,0"},
};
static const fy_sample concat_samples[] = {
    {"i64[1,1]=0; i64[1,1]=1; f32[1]=7; f32[1]=8; i64[1]=2; i64[1]=2", "N=2; T=float; concat_dim=0",
     FY_OK, "0,3"},
};
static const fy_sample slice_samples[] = {
    {"i64[2,1]=0,3; f32[2]=7,8; i64[1]=4; i64[1]=1; i64[1]=5", NULL, FY_OK, "2"},
};

FY_OP(SparseReorder, .shape = sparse_reorder_shape, .compute = sparse_reorder,
      FY_SAMPLES(reorder_samples));
FY_OP(SparseConcat, .shape = sparse_concat_shape, .compute = sparse_concat,
      FY_SAMPLES(concat_samples));
FY_OP(SparseSlice, .shape = sparse_slice_shape, .compute = sparse_slice, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(slice_samples));

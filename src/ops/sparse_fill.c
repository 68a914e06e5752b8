// SPDX-License-Identifier: Apache-2.0
// sparse_fill.c: SparseFillEmptyRows (its gradient: fill_empty_rows.c).

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

static fy_code fill_checks(const fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  char x[128];
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dense_shape must be a vector, saw: %s",
                   fy_tensor_shape_text(shape, x));
  }
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be a matrix, saw: %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "values must be a vector, saw: %s",
                   fy_tensor_shape_text(values, x));
  }
  if (indices->dims[0] != values->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The length of `values` (%lld) must match the first dimension of `indices` "
                   "(%lld).",
                   (long long)values->dims[0], (long long)indices->dims[0]);
  }
  if (indices->dims[1] != shape->dims[0]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The length of `dense_shape` (%lld) must match the second dimension of `indices` "
        "(%lld).",
        (long long)shape->dims[0], (long long)indices->dims[1]);
  }
  if (ctx->in[3]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "default_value must be a scalar, saw: %s",
                   fy_tensor_shape_text(ctx->in[3], x));
  }
  if (shape->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dense shape cannot be empty.");
  }
  if (fy_at64(shape, 0) < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld",
                   (long long)fy_at64(shape, 0));
  }
  return FY_OK;
}

// One value, without the questions of fy_copy_run if it is a plain word.
static inline fy_code copy_value(fy_tensor *out, int64_t to, const fy_tensor *in, int64_t from,
                                 bool word, fy_error *err) {
  if (!word) return fy_copy_run(out->dtype, out->data, to, in->data, from, 1, err);
  ((uint32_t *)out->data)[to] = ((const uint32_t *)in->data)[from];
  return FY_OK;
}

static fy_code fill_empty_rows(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  FY_TRY(fill_checks(ctx, err));
  const int64_t n = indices->dims[0], rank = indices->dims[1], rows = fy_at64(shape, 0);
  fy_tensor *out, *out_values, *empty, *map;
  if (rows == 0 && n != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %lld",
                   (long long)n);
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = fy_at64(indices, i * rank);
    if ((uint64_t)row < (uint64_t)rows) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices(%lld, 0) is invalid: %lld >= %lld",
                   (long long)i, (long long)row, (long long)rows);
  }
  FY_TRY(fy_out(ctx, 2, 1, &rows, &empty, err));
  FY_TRY(fy_out(ctx, 3, 1, &n, &map, err));
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(rows + 1) * sizeof(int64_t), &memory, err));
  int64_t *next = memory;
  memset(next, 0, (size_t)(rows + 1) * sizeof *next);
  for (int64_t i = 0; i < n; i++) next[fy_at64(indices, i * rank) + 1]++;
  // A row starts after the rows before it; an empty one takes one place.
  for (int64_t r = 0; r < rows; r++) {
    ((bool *)empty->data)[r] = next[r + 1] == 0;
    next[r + 1] = next[r] + (next[r + 1] ? next[r + 1] : 1);
  }
  const int64_t total = next[rows];
  const bool word = fy_dtype_is_plain(values->dtype) && fy_dtype_storage(values->dtype) == 4;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){total, rank}, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &total, &out_values, err));
  for (int64_t r = 0; r < rows; r++) {
    if (!((bool *)empty->data)[r]) continue;
    int64_t *at = fy_data64(out) + next[r] * rank;
    at[0] = r;
    for (int64_t d = 1; d < rank; d++) at[d] = 0;
    FY_TRY(copy_value(out_values, next[r], ctx->in[3], 0, word, err));
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t to = next[fy_at64(indices, i * rank)]++;
    int64_t *at = fy_data64(out) + to * rank;
    const int64_t *from = (const int64_t *)indices->data + i * rank;
    for (int64_t d = 0; d < rank; d++) at[d] = from[d];
    FY_TRY(copy_value(out_values, to, values, i, word, err));
    fy_data64(map)[i] = to;
  }
  return FY_OK;
}

static fy_code fill_empty_rows_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape indices = ctx->in[0];
  fy_pshape shape;
  int64_t n, rank;
  FY_TRY(fy_shape_rank_is(indices, 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  FY_TRY(fy_dim_merge(fy_dim_of(indices, 0), fy_dim_of(ctx->in[1], 0), &n, err));
  FY_TRY(fy_dim_merge(fy_dim_of(indices, 1), fy_dim_of(ctx->in[2], 0), &rank, err));
  FY_TRY(fy_shape_from_input(ctx, 2, &shape, err));
  if (shape.rank == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dense_shape must not be empty");
  }
  const int64_t unknown = -1, rows = shape.rank > 0 ? shape.dims[0] : -1;
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  FY_TRY(fy_shape_set(ctx, 2, 1, &rows, err));
  return fy_shape_set(ctx, 3, 1, &n, err);
}

static const fy_sample fill_samples[] = {
    {"i64[2,2]=0,1,2,0; f32[2]=7,8; i64[2]=4,3; f32[]=1", NULL, FY_OK, "0,1,1,0,2,0,3,0"},
    {"i64[1,2]=9,1; f32[1]=7; i64[2]=4,3; f32[]=1", NULL, FY_INVALID_ARGUMENT,
     "indices(0, 0) is invalid: 9 >= 4"},
};
FY_OP(SparseFillEmptyRows, .shape = fill_empty_rows_shape, .compute = fill_empty_rows,
      .host_inputs = 1 << 2, .flags = FY_OP_DYNAMIC, FY_SAMPLES(fill_samples));

// SPDX-License-Identifier: Apache-2.0
// sparse.c: sparse tensors as (indices [n, rank], values [n], shape [rank]): SparseToDense,
// SparseReshape, SparseFillEmptyRows, SparseReorder, SparseConcat, SparseSlice,
// SparseTensorDenseMatMul.

#include <stdio.h>
#include <stdlib.h>

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/typed.h"
#include "ops/values.h"

static int64_t at64(const fy_tensor *t, int64_t i) {
  return ((const int64_t *)t->data)[i];
}
static int64_t *data64(fy_tensor *t) {
  return t->data;
}

static const char *row_text(const fy_tensor *indices, int64_t row, int32_t rank, char buf[160]) {
  size_t len = 0;
  buf[0] = 0;
  for (int32_t d = 0; d < rank && len < 130; d++) {
    len += (size_t)snprintf(buf + len, 160 - len, "%s%lld", d ? "," : "",
                            (long long)fy_tensor_int(indices, row * rank + d));
  }
  return buf;
}

// ---------------------------------------------------------------- SparseToDense
static fy_code dense_checks(const fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *shape = ctx->in[1], *values = ctx->in[2];
  char x[128];
  if (indices->rank > 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "sparse_indices should be a scalar, vector, or matrix, got shape %s",
                   fy_tensor_shape_text(indices, x));
  }
  const int64_t n = indices->rank > 0 ? indices->dims[0] : 1;
  const int64_t rank = indices->rank > 1 ? indices->dims[1] : 1;
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output_shape must be rank 1, got shape %s",
                   fy_tensor_shape_text(shape, x));
  }
  if (shape->count != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "output_shape has incorrect number of elements: %lld should be: %lld",
                   (long long)shape->count, (long long)rank);
  }
  if (values->rank != 0 && !(values->rank == 1 && values->count == n)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "sparse_values has incorrect shape %s, should be [] or [%lld]",
                   fy_tensor_shape_text(values, x), (long long)n);
  }
  if (ctx->in[3]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "default_value should be a scalar.");
  }
  return FY_OK;
}

static fy_code sparse_to_dense(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[2], *otherwise = ctx->in[3];
  const bool strict = fy_site_bool(ctx->site, "validate_indices");
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  char text[160], x[128];
  fy_tensor *out;
  FY_TRY(dense_checks(ctx, err));
  FY_TRY(fy_value_shape(ctx->in[1], &rank, dims, err));
  const int64_t n = indices->rank > 0 ? indices->dims[0] : 1;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const bool plain = fy_dtype_is_plain(out->dtype);
  const size_t size = fy_dtype_storage(out->dtype);
  static const char zeros[16];
  if (plain && size <= sizeof zeros && memcmp(otherwise->data, zeros, size) == 0) {
    if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  } else if (plain && out->count) {  // doubling what is there
    const size_t bytes = fy_tensor_bytes(out);
    memcpy(out->data, otherwise->data, size);
    for (size_t have = size; have < bytes;) {
      const size_t step = have < bytes - have ? (have < 8192 ? have : 8192) : bytes - have;
      memcpy((char *)out->data + have, out->data, step);
      have += step;
    }
  }
  for (int64_t i = 0; i < out->count && !plain; i++) {
    FY_TRY(fy_copy_run(out->dtype, out->data, i, otherwise->data, 0, 1, err));
  }
  int64_t before = -1, i = 0;
  const bool narrow = indices->dtype == FY_INT32;
  // Vectors of four-byte elements, up to the first index that is not as it should be.
#define PUT_ALONG(T)                                                                               \
  for (const T *index = indices->data; i < n; i++) {                                               \
    if ((uint64_t)(int64_t)index[i] >= (uint64_t)dims[0] || (strict && index[i] <= before)) break; \
    before = index[i];                                                                             \
    to[before] = from[i * step];                                                                   \
  }
  if (plain && size == 4 && rank == 1) {
    uint32_t *to = out->data;
    const uint32_t *from = values->data;
    const int64_t step = values->rank ? 1 : 0;
    if (narrow)
      PUT_ALONG(int32_t)
    else
      PUT_ALONG(int64_t)
  }
  for (; i < n; i++) {
    int64_t at = 0;
    bool inside = true;
    for (int32_t d = 0; d < rank; d++) {
      const int64_t index = narrow ? ((const int32_t *)indices->data)[i * rank + d]
                                   : ((const int64_t *)indices->data)[i * rank + d];
      inside &= (uint64_t)index < (uint64_t)dims[d];
      if (inside) at = at * dims[d] + index;
    }
    if (!inside && !strict) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Indices are not valid (out of bounds).  Shape: %s",
                     fy_shape_text(rank, dims, x));
    }
    if (!inside) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "indices[%lld] = [%s] is out of bounds: need 0 <= index < %s", (long long)i,
                     row_text(indices, i, rank, text), fy_shape_text(rank, dims, x));
    }
    if (strict && at <= before) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "indices[%lld] = [%s] is %s", (long long)i,
                     row_text(indices, i, rank, text), at == before ? "repeated" : FY_OUT_OF_ORDER);
    }
    before = at;
    const int64_t from = values->rank ? i : 0;
    if (plain && size == 4)
      memcpy((char *)out->data + 4 * at, (const char *)values->data + 4 * from, 4);
    else
      FY_TRY(fy_copy_run(out->dtype, out->data, at, values->data, from, 1, err));
  }
  return FY_OK;
}

static fy_code sparse_to_dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape out;
  FY_TRY(fy_shape_from_input(ctx, 1, &out, err));
  return fy_shape_set(ctx, 0, out.rank, out.dims, err);
}

// ---------------------------------------------------------------- SparseReshape
static fy_code target_shape(const fy_tensor *from, const fy_tensor *to, int64_t *dims,
                            fy_error *err) {
  const int32_t rank = (int32_t)to->count;
  char x[128], y[128];
  int64_t total, known = 1;
  int32_t hole = -1;
  if (!fy_shape_count((int32_t)from->count, from->data, &total)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape %s is not a valid dense shape",
                   fy_shape_text((int32_t)from->count, from->data, x));
  }
  for (int32_t d = 0; d < rank; d++) {
    dims[d] = at64(to, d);
    if (dims[d] == -1) {
      if (hole >= 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "only one output dimension may be -1, not both %d and %d", hole, d);
      }
      hole = d;
      dims[d] = 1;
    } else if (dims[d] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "size %d must be non-negative, not %lld", d,
                     (long long)dims[d]);
    }
  }
  if (!fy_shape_count(rank, dims, &known)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Encountered overflow when multiplying shape dimensions");
  }
  const char *was = fy_shape_text((int32_t)from->count, from->data, x);
  if (hole >= 0) {
    if (known <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "reshape cannot infer the missing input size for an empty tensor unless all "
                     "specified input sizes are non-zero");
    }
    if (total % known) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input to reshape is a SparseTensor with %lld dense values, but the requested "
                     "shape requires a multiple of %lld. input_shape=%s output_shape=%s",
                     (long long)total, (long long)known, was, fy_shape_text(rank, dims, y));
    }
    dims[hole] = total / known;
    known = total;
  }
  if (known == total) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Input to reshape is a tensor with %lld dense values, but the requested shape has "
                 "%lld. input_shape=%s output_shape=%s",
                 (long long)total, (long long)known, was, fy_shape_text(rank, dims, y));
}

static fy_code sparse_reshape(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *from = ctx->in[1], *to = ctx->in[2];
  char x[128], y[128];
  int64_t dims[FY_MAX_RANK];
  if (indices->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be a matrix.");
  if (from->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape must be a vector.");
  }
  if (indices->dims[1] != from->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor rank must match input shape length.");
  }
  if (to->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Target shape should be a vector but received shape %s",
                   fy_tensor_shape_text(to, x));
  }
  if (to->count > FY_MAX_RANK || from->count > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  FY_TRY(target_shape(from, to, dims, err));
  const int64_t n = indices->dims[0], old = from->count, rank = to->count;
  fy_tensor *out, *shape;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &rank, &shape, err));
  for (int64_t d = 0; d < rank; d++) data64(shape)[d] = dims[d];
  if (fy_shape_equal((int32_t)old, from->data, (int32_t)rank, dims)) {  // not even looked at
    return fy_copy_run(FY_INT64, out->data, 0, indices->data, 0, indices->count, err);
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int64_t d = 0; d < old; d++) {
      // An index out of bounds is not looked for: it lands elsewhere.
      at = (int64_t)((uint64_t)at * (uint64_t)at64(from, d) + (uint64_t)at64(indices, i * old + d));
    }
    int64_t stride = 1;
    for (int64_t d = rank - 1; d > 0; d--) stride = (int64_t)((uint64_t)stride * (uint64_t)dims[d]);
    for (int64_t d = 0; d < rank; d++) {
      if (stride == 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Input tensor has %lld non zero elements but input shape (%s) or output "
                       "shape (%s) is empty",
                       (long long)n, fy_shape_text((int32_t)old, from->data, y),
                       fy_shape_text((int32_t)rank, dims, x));
      }
      data64(out)[i * rank + d] = stride == -1 ? (int64_t)(0 - (uint64_t)at) : at / stride;
      at = stride == -1 ? 0 : at % stride;
      if (d + 1 < rank) stride = dims[d + 1] ? stride / dims[d + 1] : 0;
    }
  }
  return FY_OK;
}

static fy_code sparse_reshape_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  const int64_t rank = fy_dim_of(ctx->in[2], 0);
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){fy_dim_of(ctx->in[0], 0), rank}, err));
  return fy_shape_set(ctx, 1, 1, &rank, err);
}

// ---------------------------------------------------------------- SparseFillEmptyRows
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
  if (at64(shape, 0) < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld",
                   (long long)at64(shape, 0));
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
  const int64_t n = indices->dims[0], rank = indices->dims[1], rows = at64(shape, 0);
  fy_tensor *out, *out_values, *empty, *map;
  if (rows == 0 && n != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %lld",
                   (long long)n);
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = at64(indices, i * rank);
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
  for (int64_t i = 0; i < n; i++) next[at64(indices, i * rank) + 1]++;
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
    int64_t *at = data64(out) + next[r] * rank;
    at[0] = r;
    for (int64_t d = 1; d < rank; d++) at[d] = 0;
    FY_TRY(copy_value(out_values, next[r], ctx->in[3], 0, word, err));
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t to = next[at64(indices, i * rank)]++;
    int64_t *at = data64(out) + to * rank;
    const int64_t *from = (const int64_t *)indices->data + i * rank;
    for (int64_t d = 0; d < rank; d++) at[d] = from[d];
    FY_TRY(copy_value(out_values, to, values, i, word, err));
    data64(map)[i] = to;
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

// ---------------------------------------------------------------- order
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
      memcpy(data64(out) + i * rank, keys[i].index, (size_t)rank * sizeof(int64_t));
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
      const int64_t want = at64(first, d), got = at64(ctx->in[2 * n + i], d);
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
      *to++ = (int64_t)((uint64_t)at64(indices, k) + (uint64_t)shift);
    }
    along = (int64_t)((uint64_t)along + (uint64_t)at64(ctx->in[2 * n + i], axis));
  }
  fy_tensor *shape;
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  for (int64_t d = 0; d < rank; d++) data64(shape)[d] = d == axis ? along : at64(first, d);
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
    if (at64(shape, d) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld",
                   (long long)at64(shape, d));
  }
  for (int64_t d = 0; d < rank; d++) {
    if (at64(ctx->in[4], d) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)at64(ctx->in[4], d));
  }
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(values->count + 1) * sizeof(int64_t), &memory, err));
  int64_t *kept = memory, n = 0;
  for (int64_t i = 0; i < values->count; i++) {
    bool inside = true;
    for (int64_t d = 0; d < rank; d++) {
      const int64_t at = at64(indices, i * rank + d), start = at64(ctx->in[3], d);
      inside &= at >= start && (uint64_t)at - (uint64_t)start < (uint64_t)at64(ctx->in[4], d) &&
                at64(ctx->in[4], d) > 0;
    }
    if (inside) kept[n++] = i;
  }
  fy_tensor *out, *out_values, *out_shape;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &out_values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &out_shape, err));
  for (int64_t i = 0; i < n; i++) {
    for (int64_t d = 0; d < rank; d++) {
      data64(out)[i * rank + d] = at64(indices, kept[i] * rank + d) - at64(ctx->in[3], d);
    }
    FY_TRY(fy_copy_run(values->dtype, out_values->data, i, values->data, kept[i], 1, err));
  }
  for (int64_t d = 0; d < rank; d++) {
    const int64_t size = at64(ctx->in[4], d);
    const int64_t left = (int64_t)((uint64_t)at64(shape, d) - (uint64_t)at64(ctx->in[3], d));
    const int64_t most = size < left ? size : left;
    data64(out_shape)[d] = most < 0 ? 0 : most;
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

// ---------------------------------------------------------------- SparseTensorDenseMatMul
typedef struct product {
  const fy_tensor *indices, *values, *b;
  void *sums;  // [m, n] in the arithmetic type
  int64_t m, k, n;
  bool adjoint_a, adjoint_b;
} product;

#define NO_CONJ(S, x)         (x)
#define CONJ(S, x)            FY_MATH_##S(onj)(x)
#define MADD_REAL(S, s, x, y) ((s) + (x) * (y))
#define MADD_INT(S, s, x, y)  (fy_a_##S)((fy_u_##S)(s) + (fy_u_##S)(x) * (fy_u_##S)(y))
#define MADD_CPLX(S, s, x, y) ((s) + fy_cmul_##S(x, y))
#define SPARSE_MATMUL(E, S, MADD, CJ)                                                         \
  static void sparse_matmul_##S(const product *p, fy_tensor *out) {                           \
    fy_a_##S *sums = p->sums;                                                                 \
    const fy_t_##S *values = p->values->data, *b = p->b->data;                                \
    for (int64_t i = 0; i < p->values->count; i++) {                                          \
      const int64_t r = fy_tensor_int(p->indices, 2 * i + (p->adjoint_a ? 1 : 0));            \
      const int64_t k = fy_tensor_int(p->indices, 2 * i + (p->adjoint_a ? 0 : 1));            \
      fy_a_##S a = FY_LD_##S(values[i]);                                                      \
      if (p->adjoint_a) a = CJ(S, a);                                                         \
      for (int64_t c = 0; c < p->n; c++) {                                                    \
        fy_a_##S y = FY_LD_##S(b[p->adjoint_b ? c * p->k + k : k * p->n + c]);                \
        if (p->adjoint_b) y = CJ(S, y);                                                       \
        const fy_a_##S s = sums[r * p->n + c];                                                \
        sums[r * p->n + c] = MADD(S, s, a, y);                                                \
      }                                                                                       \
    }                                                                                         \
    for (int64_t i = 0; i < out->count; i++) ((fy_t_##S *)out->data)[i] = FY_ST_##S(sums[i]); \
  }
FY_REAL_TYPES(SPARSE_MATMUL, MADD_REAL, NO_CONJ)
FY_COMPLEX_TYPES(SPARSE_MATMUL, MADD_CPLX, CONJ)
SPARSE_MATMUL(FY_INT32, i32, MADD_INT, NO_CONJ)
typedef void (*product_fn)(const product *p, fy_tensor *out);
static const product_fn products[FY_DTYPE_COUNT] = {
    FY_REAL_TYPES(FY_LOOP_ENTRY, sparse_matmul) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, sparse_matmul)
        FY_LOOP_ENTRY(FY_INT32, i32, sparse_matmul)};

static fy_code sparse_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2], *b = ctx->in[3];
  product p = {.indices = indices,
               .values = values,
               .b = b,
               .adjoint_a = fy_site_bool(ctx->site, "adjoint_a"),
               .adjoint_b = fy_site_bool(ctx->site, "adjoint_b")};
  char x[128];
  fy_tensor *out;
  if (b->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'b' is not a matrix");
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_shape' is not a vector");
  }
  if (shape->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_shape' must have 2 elements");
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_values' is not a vector");
  }
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_indices' is not a matrix");
  }
  if (indices->dims[0] != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of rows of a_indices does not match number of entries in a_values");
  }
  if (indices->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of columns of a_indices does not match number of entries in a_shape");
  }
  p.m = at64(shape, p.adjoint_a ? 1 : 0);
  p.k = at64(shape, p.adjoint_a ? 0 : 1);
  p.n = b->dims[p.adjoint_b ? 0 : 1];
  const int64_t inner = b->dims[p.adjoint_b ? 1 : 0];
  if (inner != p.k) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Cannot multiply A and B because inner dimension does not match: %lld vs. %lld.  "
        "Did you forget a transpose?  Dimensions of A: [%lld, %lld).  Dimensions of B: "
        "%s",
        (long long)p.k, (long long)inner, (long long)p.m, (long long)p.k,
        fy_tensor_shape_text(b, x));
  }
  if (p.m < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)p.m);
  }
  if (!products[b->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(b->dtype));
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){p.m, p.n}, &out, err));
  for (int64_t i = 0; i < values->count; i++) {
    const int64_t r = fy_tensor_int(indices, 2 * i + (p.adjoint_a ? 1 : 0));
    const int64_t k = fy_tensor_int(indices, 2 * i + (p.adjoint_a ? 0 : 1));
    if ((uint64_t)k >= (uint64_t)p.k) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "k (%lld) from index[%lld,%d] out of bounds (>=%lld)", (long long)k,
                     (long long)i, p.adjoint_a ? 0 : 1, (long long)p.k);
    }
    if ((uint64_t)r >= (uint64_t)p.m) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "m (%lld) from index[%lld,%d] out of bounds (>=%lld)", (long long)r,
                     (long long)i, p.adjoint_a ? 1 : 0, (long long)p.m);
    }
  }
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)out->count * 16, &p.sums, err));
  memset(p.sums, 0, (size_t)out->count * 16);
  products[b->dtype](&p, out);
  return FY_OK;
}

static fy_code sparse_matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool ta = fy_shape_attr_bool(ctx, "adjoint_a"), tb = fy_shape_attr_bool(ctx, "adjoint_b");
  fy_pshape a;
  int64_t inner;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_from_input(ctx, 2, &a, err));
  FY_TRY(fy_shape_rank_is(a, 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 2, err));
  FY_TRY(fy_dim_merge(fy_dim_of(a, ta ? 0 : 1), fy_dim_of(ctx->in[3], tb ? 1 : 0), &inner, err));
  const int64_t dims[2] = {fy_dim_of(a, ta ? 1 : 0), fy_dim_of(ctx->in[3], tb ? 0 : 1)};
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static const fy_sample dense_samples[] = {
    {"i32[2]=0,2; i32[1]=3; f32[2]=5,6; f32[]=-1", NULL, FY_OK, "5,-1,6"},
    {"i32[2]=2,2; i32[1]=3; f32[2]=5,6; f32[]=-1", NULL, FY_INVALID_ARGUMENT,
     "indices[1] = [2] is repeated"},
};
static const fy_sample reshape_samples[] = {
    {"i64[2,2]=0,1,1,2; i64[2]=2,3; i64[2]=3,-1", NULL, FY_OK, "0,1,2,1"},
    {"i64[1,2]=0,1; i64[2]=2,3; i64[1]=5", NULL, FY_INVALID_ARGUMENT, "requested shape has 5"},
};
static const fy_sample fill_samples[] = {
    {"i64[2,2]=0,1,2,0; f32[2]=7,8; i64[2]=4,3; f32[]=1", NULL, FY_OK, "0,1,1,0,2,0,3,0"},
    {"i64[1,2]=9,1; f32[1]=7; i64[2]=4,3; f32[]=1", NULL, FY_INVALID_ARGUMENT,
     "indices(0, 0) is invalid: 9 >= 4"},
};
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
static const fy_sample matmul_samples[] = {
    {"i64[2,2]=0,1,1,0; f32[2]=2,3; i64[2]=2,2; f32[2,1]=5,7", NULL, FY_OK, "14,15"},
    {"i64[1,2]=0,2; f32[1]=2; i64[2]=2,2; f32[2,1]=5,7", NULL, FY_INVALID_ARGUMENT,
     "k (2) from index[0,1] out of bounds (>=2)"},
};

FY_OP(SparseToDense, .shape = sparse_to_dense_shape, .compute = sparse_to_dense,
      .host_inputs = 1 << 1, FY_SAMPLES(dense_samples));
FY_OP(SparseReshape, .shape = sparse_reshape_shape, .compute = sparse_reshape, .host_inputs = 0x6,
      .host_outputs = 0x2, FY_SAMPLES(reshape_samples));
FY_OP(SparseFillEmptyRows, .shape = fill_empty_rows_shape, .compute = fill_empty_rows,
      .host_inputs = 1 << 2, .flags = FY_OP_DYNAMIC, FY_SAMPLES(fill_samples));
FY_OP(SparseReorder, .shape = sparse_reorder_shape, .compute = sparse_reorder,
      FY_SAMPLES(reorder_samples));
FY_OP(SparseConcat, .shape = sparse_concat_shape, .compute = sparse_concat,
      FY_SAMPLES(concat_samples));
FY_OP(SparseSlice, .shape = sparse_slice_shape, .compute = sparse_slice, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(slice_samples));
FY_OP(SparseTensorDenseMatMul, .shape = sparse_matmul_shape, .compute = sparse_matmul,
      .host_inputs = 1 << 2, FY_SAMPLES(matmul_samples));

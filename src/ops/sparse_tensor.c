// SPDX-License-Identifier: Apache-2.0
// sparse_tensor.c: the checks of sparse_tensor.h, and batches of sparse tensors taken apart and stacked.

#include "ops/sparse_tensor.h"

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// "1,2" (or "1, 2") of row |row|, and the shape as "[3,4]".
static void print_row(fy_str *out, const fy_tensor *t, int64_t row, int64_t rank,
                      const char *comma) {
  for (int64_t d = 0; d < rank; d++) {
    fy_str_printf(out, "%s%lld", d ? comma : "", (long long)fy_tensor_int(t, row * rank + d));
  }
}

fy_code fy_sparse_check(const fy_tensor *indices, const fy_tensor *values, const fy_tensor *shape,
                        fy_error *err) {
  char x[128];
  const int64_t rows = indices->rank ? indices->dims[0] : 1;
  const int64_t n = values->rank ? values->dims[0] : 1;
  if (rows != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "indices and values rows (indexing dimension) must match. (indices = %lld, "
                   "values = %lld)",
                   (long long)rows, (long long)n);
  }
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be a matrix, but got: %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "vals must be a vec, but got: %s",
                   fy_tensor_shape_text(values, x));
  }
  if (shape->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be a 1D tensor.");
  if (indices->dims[1] != shape->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Order length must be SparseTensor rank.");
  }
  return FY_OK;
}

static fy_code fail_row(const fy_tensor *indices, const fy_tensor *shape, int64_t row, bool outside,
                        bool repeated, fy_error *err) {
  fy_str at, dims;
  fy_str_init(&at);
  fy_str_init(&dims);
  print_row(&at, indices, row, shape->count, ",");
  print_row(&dims, shape, 0, shape->count, ",");
  if (outside) {
    fy_fail(err, FY_INVALID_ARGUMENT,
            "indices[%lld] = [%s] is out of bounds: need 0 <= index < [%s]", (long long)row,
            fy_str_text(&at), fy_str_text(&dims));
  } else {
    fy_fail(err, FY_INVALID_ARGUMENT, "indices[%lld] = [%s] is %s", (long long)row,
            fy_str_text(&at), repeated ? "repeated" : FY_OUT_OF_ORDER);
  }
  fy_str_free(&at);
  fy_str_free(&dims);
  return FY_INVALID_ARGUMENT;
}

fy_code fy_sparse_check_order(const fy_tensor *indices, const fy_tensor *shape, fy_error *err) {
  const int64_t rank = shape->count;
  for (int64_t i = 0; i < indices->dims[0]; i++) {
    int order = i ? 0 : 1;  // against the row before
    for (int64_t d = 0; d < rank; d++) {
      const int64_t v = fy_tensor_int(indices, i * rank + d);
      if (v < 0 || v >= fy_tensor_int(shape, d))
        return fail_row(indices, shape, i, true, false, err);
      if (order) continue;
      const int64_t before = fy_tensor_int(indices, (i - 1) * rank + d);
      order = v > before ? 1 : v < before ? -1 : 0;
    }
    if (order <= 0) return fail_row(indices, shape, i, false, order == 0, err);
  }
  return FY_OK;
}

// Where the first row begins that has such an index, or |n|.
FY_CLONES static int64_t row_outside(const int64_t *at, int64_t n, const int64_t *dims,
                                     int64_t width) {
  for (int64_t i = 0; i < n; i += width) {
    int64_t outside = 0;
    for (int64_t d = 0; d < width; d++)
      outside |= -(int64_t)((at[i + d] < 0) | (at[i + d] >= dims[d]));
    if (outside) return i;
  }
  return n;
}
int64_t fy_sparse_outside(const fy_tensor *indices, const fy_tensor *shape) {
  const int64_t *at = indices->data, *dims = shape->data;
  int64_t i = row_outside(at, indices->count, dims, shape->count);
  if (i == indices->count) return -1;
  for (int64_t d = 0; at[i] >= 0 && at[i] < dims[d]; d++) i++;
  return i;
}

fy_code fy_sparse_validate(const fy_tensor *indices, const fy_tensor *values,
                           const fy_tensor *shape, bool bounds, fy_error *err) {
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Sparse indices must be rank 2 but is rank %d",
                   indices->rank);
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Sparse values must be rank 1 but is rank %d",
                   values->rank);
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Sparse shape must be rank 1 but is rank %d",
                   shape->rank);
  }
  if (indices->dims[0] != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of elements in indices (%lld) and values (%lld) do not match",
                   (long long)indices->dims[0], (long long)values->count);
  }
  if (indices->dims[1] != shape->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index rank (%lld) and shape rank (%lld) do not match",
                   (long long)indices->dims[1], (long long)shape->count);
  }
  const int64_t outside = bounds ? fy_sparse_outside(indices, shape) : -1;
  if (outside < 0) return FY_OK;
  const int64_t row = outside / shape->count;
  fy_str text;
  fy_str_init(&text);
  print_row(&text, indices, row, shape->count, ", ");
  fy_fail(err, FY_INVALID_ARGUMENT, "Sparse index tuple indices[%lld, :] = [%s] is out of bounds",
          (long long)row, fy_str_text(&text));
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

fy_code fy_sparse_check_ranks(const fy_tensor *indices, const fy_tensor *values,
                              const fy_tensor *shape, fy_error *err) {
  char x[128];
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices should be a matrix but received shape %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input values should be a vector but received shape %s",
                   fy_tensor_shape_text(values, x));
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape should be a vector but received shape %s",
                   fy_tensor_shape_text(shape, x));
  }
  return FY_OK;
}

fy_code fy_sparse_validate_shapes(fy_shape_ctx *ctx, int first, fy_error *err) {
  const fy_pshape *in = ctx->in + first;
  FY_TRY(fy_shape_rank_is(in[0], 2, err));
  FY_TRY(fy_shape_rank_is(in[1], 1, err));
  FY_TRY(fy_shape_rank_is(in[2], 1, err));
  const int64_t rows = fy_dim_of(in[0], 0), n = fy_dim_of(in[1], 0);
  if (rows >= 0 && n >= 0 && rows != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of elements in index (%lld) and values (%lld) do not match.",
                   (long long)rows, (long long)n);
  }
  const int64_t width = fy_dim_of(in[0], 1), rank = fy_dim_of(in[2], 0);
  if (width >= 0 && rank >= 0 && width != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Index rank (%lld) and shape rank (%lld) do not match.", (long long)width,
                   (long long)rank);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- batches
void fy_sparse_free(fy_sparse *s) {
  fy_tensor_release(s->indices);
  fy_tensor_release(s->values);
  fy_tensor_release(s->shape);
  *s = (fy_sparse){NULL, NULL, NULL};
}

fy_code fy_sparse_take(const fy_tensor *indices, const fy_tensor *values, const fy_tensor *shape,
                       int64_t begin, int64_t end, fy_sparse *out, fy_error *err) {
  const int64_t rank = shape->count - 1, n = end - begin;
  *out = (fy_sparse){NULL, NULL, NULL};
  fy_code code = fy_tensor_new(FY_INT64, 2, (const int64_t[]){n, rank}, &out->indices, err);
  if (!code) code = fy_tensor_new(values->dtype, 1, &n, &out->values, err);
  if (!code) code = fy_tensor_new(FY_INT64, 1, &rank, &out->shape, err);
  if (!code) code = fy_copy_run(values->dtype, out->values->data, 0, values->data, begin, n, err);
  if (code) {
    fy_sparse_free(out);
    return code;
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t d = 0; d < rank; d++) {
      fy_index_put(out->indices, i * rank + d,
                   fy_tensor_int(indices, (begin + i) * (rank + 1) + d + 1));
    }
  }
  for (int64_t d = 0; d < rank; d++) fy_index_put(out->shape, d, fy_tensor_int(shape, d + 1));
  return FY_OK;
}

fy_code fy_sparse_check_part(const fy_sparse *s, int64_t i, fy_dtype dtype, fy_error *err) {
  const long long at = (long long)i;
  char x[128];
  if (s->indices->rank != 2 || s->indices->dtype != FY_INT64) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected serialized_sparse[%lld, 0] to represent an index matrix but received "
                   "shape %s",
                   at, fy_tensor_shape_text(s->indices, x));
  }
  if (s->values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected serialized_sparse[%lld, 1] to represent a values vector but received "
                   "shape %s",
                   at, fy_tensor_shape_text(s->values, x));
  }
  if (s->shape->rank != 1 || s->shape->dtype != FY_INT64) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected serialized_sparse[%lld, 1] to be a shape vector but its shape is %s",
                   at, fy_tensor_shape_text(s->shape, x));
  }
  if (dtype != s->values->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Requested SparseTensor of type %s but SparseTensor[%lld].values.dtype() == %s",
                   fy_dtype_name(dtype), at, fy_dtype_name(s->values->dtype));
  }
  if (s->shape->count != s->indices->dims[1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid index matrix: ranks of SparseTensor[%lld].indices and "
                   "SparseTensor[%lld].shape do not match: %lld vs. %lld",
                   at, at, (long long)s->indices->dims[1], (long long)s->shape->count);
  }
  if (s->values->count != s->indices->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "row counts of SparseTensor[%lld].indices and SparseTensor[%lld].values do not "
                   "match: %lld vs. %lld",
                   at, at, (long long)s->indices->dims[0], (long long)s->values->count);
  }
  return FY_OK;
}

fy_code fy_sparse_stack(fy_kernel_ctx *ctx, const fy_sparse *parts, int64_t n, int32_t lead_rank,
                        const int64_t *lead, fy_error *err) {
  const int64_t rank = parts[0].shape->count, all = rank + lead_rank;
  int64_t rows = 0, row = 0;
  fy_tensor *indices, *values, *shape;
  for (int64_t i = 0; i < n; i++) rows += parts[i].values->count;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){rows, all}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &rows, &values, err));
  FY_TRY(fy_out(ctx, 2, 1, &all, &shape, err));
  int64_t *at = indices->data, *dims = shape->data;
  for (int32_t d = 0; d < lead_rank; d++) dims[d] = lead[d];
  for (int64_t d = 0; d < rank; d++) dims[lead_rank + d] = 0;
  for (int64_t i = 0; i < n; i++) {
    const fy_sparse *s = &parts[i];
    for (int64_t d = 0; d < rank; d++) {
      const int64_t size = fy_tensor_int(s->shape, d);
      if (size > dims[lead_rank + d]) dims[lead_rank + d] = size;
    }
    const int64_t *from = s->indices->data;  // int64, as all indices of sparse tensors
    for (int64_t k = 0; k < s->values->count; k++, at += all, from += rank) {
      int64_t rest = i;
      for (int32_t d = lead_rank - 1; d >= 0; d--) {
        at[d] = rest % lead[d];
        rest /= lead[d];
      }
      for (int64_t d = 0; d < rank; d++) at[lead_rank + d] = from[d];
    }
    FY_TRY(
        fy_copy_run(values->dtype, values->data, row, s->values->data, 0, s->values->count, err));
    row += s->values->count;
  }
  return FY_OK;
}

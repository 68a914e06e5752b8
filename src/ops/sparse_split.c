// SPDX-License-Identifier: Apache-2.0
// sparse_split.c: SparseSplit (the first pieces take the remainder), SparseSliceGrad.

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

static fy_code sparse_split(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *axis_in = ctx->in[0], *at = ctx->in[1], *values = ctx->in[2],
                  *shape = ctx->in[3];
  const int n = (int)fy_site_int(ctx->site, "num_split");
  char x[128];
  if (axis_in->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input axis should be a scalar but received shape %s",
                   fy_tensor_shape_text(axis_in, x));
  }
  if (at->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices should be a matrix but received shape %s",
                   fy_tensor_shape_text(at, x));
  }
  if (values->rank != 1) {  // TensorFlow names the shape of the indices here
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input values should be a vector but received shape %s",
                   fy_tensor_shape_text(at, x));
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape should be a vector but received shape %s",
                   fy_tensor_shape_text(shape, x));
  }
  FY_TRY(fy_sparse_validate(at, values, shape, true, err));
  const int64_t rank = shape->count, given = fy_tensor_int(axis_in, 0);
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input axis should be in range [%lld, %lld), got %lld",
                   (long long)-rank, (long long)rank, (long long)given);
  }
  const int64_t whole = fy_tensor_int(shape, axis);
  if (n < 1 || n > whole) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input num_split should be between 1 and the splitting dimension size (%lld), got "
        "%d",
        (long long)whole, n);
  }
  const int64_t each = whole / n, larger = whole % n;
  for (int k = 0; k < n; k++) {
    const int64_t start = k * each + (k < larger ? k : larger), size = each + (k < larger);
    int64_t count = 0, to = 0;
    fy_tensor *indices, *out, *dims;
    for (int64_t i = 0; i < at->dims[0]; i++) {
      const int64_t v = fy_tensor_int(at, i * rank + axis);
      count += v >= start && v - start < size;
    }
    FY_TRY(fy_out(ctx, k, 2, (const int64_t[]){count, rank}, &indices, err));
    FY_TRY(fy_out(ctx, n + k, 1, &count, &out, err));
    FY_TRY(fy_out(ctx, 2 * n + k, 1, &rank, &dims, err));
    for (int64_t i = 0; i < at->dims[0]; i++) {
      const int64_t v = fy_tensor_int(at, i * rank + axis);
      if (v < start || v - start >= size) continue;
      for (int64_t d = 0; d < rank; d++) {
        ((int64_t *)indices->data)[to * rank + d] =
            fy_tensor_int(at, i * rank + d) - (d == axis ? start : 0);
      }
      FY_TRY(fy_copy_run(values->dtype, out->data, to++, values->data, i, 1, err));
    }
    for (int64_t d = 0; d < rank; d++) {
      ((int64_t *)dims->data)[d] = d == axis ? size : fy_tensor_int(shape, d);
    }
  }
  return FY_OK;
}

static fy_code split_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int n = ctx->num_outputs / 3;
  const fy_pshape shape = ctx->in[3];
  const int64_t rank = fy_shape_known(shape) ? fy_product(shape.dims, shape.rank) : -1;
  const int64_t unknown = -1;
  for (int k = 0; k < n; k++) {
    FY_TRY(fy_shape_set(ctx, k, 2, (const int64_t[]){-1, rank}, err));
    FY_TRY(fy_shape_set(ctx, n + k, 1, &unknown, err));
    FY_TRY(fy_shape_set(ctx, 2 * n + k, shape.rank, shape.dims, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- SparseSliceGrad
// Both lists of indices are sorted, and the slice's are those of the input minus its start.
static fy_code slice_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *in = ctx->in[1], *start = ctx->in[2], *sliced = ctx->in[3];
  char x[128], y[128];
  fy_tensor *out;
  if (in->rank != 2 || sliced->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input and output indices should be matrices but received shapes: %s and %s",
                   fy_tensor_shape_text(in, x), fy_tensor_shape_text(sliced, y));
  }
  if (grad->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input backprop_val_grad should be a vector but received shape: %s",
                   fy_tensor_shape_text(grad, x));
  }
  if (in->dims[1] != sliced->dims[1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The input and output should have the same ndims: got: %lld and %lld",
                   (long long)in->dims[1], (long long)sliced->dims[1]);
  }
  if (sliced->dims[0] > in->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "# rows of output_indices should be not greater than of input_indices, got %lld "
                   "and %lld",
                   (long long)sliced->dims[0], (long long)in->dims[0]);
  }
  if (grad->count != sliced->dims[0]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "# elements of backprop_val_grad and # rows of output_indices should match (#nnz "
        "of sum): got %lld and %lld",
        (long long)grad->count, (long long)sliced->dims[0]);
  }
  if (start->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The input_start should be a vector but received shape %s",
                   fy_tensor_shape_text(start, x));
  }
  const int64_t rank = in->dims[1];
  if (start->count != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected input_start to be a vector of length %lld but got length %lld",
                   (long long)rank, (long long)start->count);
  }
  FY_TRY(fy_out(ctx, 0, 1, &in->dims[0], &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  int64_t used = 0;
  for (int64_t i = 0; i < in->dims[0] && used < grad->count; i++) {
    bool same = true;
    for (int64_t d = 0; d < rank && same; d++) {
      const uint64_t moved =
          (uint64_t)fy_tensor_int(in, i * rank + d) - (uint64_t)fy_tensor_int(start, d);
      same = moved == (uint64_t)fy_tensor_int(sliced, used * rank + d);
    }
    if (same) FY_TRY(fy_copy_run(grad->dtype, out->data, i, grad->data, used++, 1, err));
  }
  if (used == grad->count) return FY_OK;
  return fy_fail(
      err, FY_INTERNAL,
      "Elements of backprop_val_grad aren't all propagated. Num elements:%lld, used: %lld",
      (long long)grad->count, (long long)used);
}

static fy_code slice_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  const int64_t n = fy_dim_of(ctx->in[1], 0);
  return fy_shape_set(ctx, 0, 1, &n, err);
}

static const fy_sample split_samples[] = {
    {"i64[]=0; i64[2,1]=0,2; f32[2]=5,6; i64[1]=3", "num_split=2", FY_OK, "0"},
    {"i64[]=0; i64[2,1]=0,2; f32[2]=5,6; i64[1]=3", "num_split=4", FY_INVALID_ARGUMENT,
     "Input num_split should be between 1 and the splitting dimension size (3), got 4"},
};
static const fy_sample grad_samples[] = {
    {"f32[1]=5; i64[2,1]=0,2; i64[1]=1; i64[1,1]=1", NULL, FY_OK, "0,5"},
};
FY_OP(SparseSplit, .shape = split_shape, .compute = sparse_split, .host_inputs = 1,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(split_samples));
FY_OP(SparseSliceGrad, .shape = slice_grad_shape, .compute = slice_grad, FY_SAMPLES(grad_samples));

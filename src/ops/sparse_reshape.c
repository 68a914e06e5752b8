// SPDX-License-Identifier: Apache-2.0
// sparse_reshape.c: SparseReshape: the same elements under the indices of another shape.

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

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
    dims[d] = fy_at64(to, d);
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
  for (int64_t d = 0; d < rank; d++) fy_data64(shape)[d] = dims[d];
  if (fy_shape_equal((int32_t)old, from->data, (int32_t)rank, dims)) {  // not even looked at
    return fy_copy_run(FY_INT64, out->data, 0, indices->data, 0, indices->count, err);
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int64_t d = 0; d < old; d++) {
      // An index out of bounds is not looked for: it lands elsewhere.
      at = (int64_t)((uint64_t)at * (uint64_t)fy_at64(from, d) +
                     (uint64_t)fy_at64(indices, i * old + d));
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
      fy_data64(out)[i * rank + d] = stride == -1 ? (int64_t)(0 - (uint64_t)at) : at / stride;
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

static const fy_sample reshape_samples[] = {
    {"i64[2,2]=0,1,1,2; i64[2]=2,3; i64[2]=3,-1", NULL, FY_OK, "0,1,2,1"},
    {"i64[1,2]=0,1; i64[2]=2,3; i64[1]=5", NULL, FY_INVALID_ARGUMENT, "requested shape has 5"},
};
FY_OP(SparseReshape, .shape = sparse_reshape_shape, .compute = sparse_reshape, .host_inputs = 0x6,
      .host_outputs = 0x2, FY_SAMPLES(reshape_samples));

// SPDX-License-Identifier: Apache-2.0
// sparse_to_dense.c: SparseToDense: indices [n, rank] (or a scalar, a vector) and values to a tensor that
// holds a default elsewhere.

#include <stdio.h>

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

static const char *row_text(const fy_tensor *indices, int64_t row, int32_t rank, char buf[160]) {
  size_t len = 0;
  buf[0] = 0;
  for (int32_t d = 0; d < rank && len < 130; d++) {
    len += (size_t)snprintf(buf + len, 160 - len, "%s%lld", d ? "," : "",
                            (long long)fy_tensor_int(indices, row * rank + d));
  }
  return buf;
}

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

static const fy_sample dense_samples[] = {
    {"i32[2]=0,2; i32[1]=3; f32[2]=5,6; f32[]=-1", NULL, FY_OK, "5,-1,6"},
    {"i32[2]=2,2; i32[1]=3; f32[2]=5,6; f32[]=-1", NULL, FY_INVALID_ARGUMENT,
     "indices[1] = [2] is repeated"},
};
FY_OP(SparseToDense, .shape = sparse_to_dense_shape, .compute = sparse_to_dense,
      .host_inputs = 1 << 1, FY_SAMPLES(dense_samples));

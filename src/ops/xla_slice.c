// SPDX-License-Identifier: Apache-2.0
// xla_slice.c: XlaDynamicSlice and XlaDynamicUpdateSlice. Text models write their caches with them, compiled by XLA
// or not. Unlike Slice, a start that does not fit is moved until it does.

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"

// Where a part of |size| begins that is asked for at |start|.
static int64_t clamp(int64_t start, int64_t size, int64_t have) {
  return start < 0 ? 0 : start > have - size ? have - size : start;
}

static fy_code check_type(const fy_kernel_ctx *ctx, fy_error *err) {
  const fy_dtype t = ctx->in[0]->dtype;
  if (fy_dtype_is_plain(t)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s takes numbers, not %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

static fy_code dynamic_slice(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *start = ctx->in[1], *size = ctx->in[2];
  int64_t dims[FY_MAX_RANK], strides[FY_MAX_RANK], offset = 0;
  FY_TRY(check_type(ctx, err));
  if (start->rank != 1 || size->rank != 1 || start->count != size->count)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "has mismatched number of slice sizes (%lld) and number of start indices (%lld)",
                   (long long)size->count, (long long)start->count);
  if (start->count != in->rank)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "has mismatched number of start indices (%lld) and the rank of operand (%d)",
                   (long long)start->count, in->rank);
  fy_dense_strides(in->rank, in->dims, strides);
  for (int32_t d = 0; d < in->rank; d++) {
    dims[d] = fy_tensor_int(size, d);
    if (dims[d] < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT, "has negative size index to dynamic slice: %lld",
                     (long long)dims[d]);
    if (dims[d] > in->dims[d])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "has slice size %lld greater than dimension size %lld in dimension %d of "
                     "operand",
                     (long long)dims[d], (long long)in->dims[d], d);
    offset += clamp(fy_tensor_int(start, d), dims[d], in->dims[d]) * strides[d];
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  return fy_strided_copy(ctx, out, in, in->rank, dims, strides, offset, err);
}

static fy_code check_update(const fy_tensor *in, const fy_tensor *part, const fy_tensor *at,
                            fy_error *err) {
  char x[128], y[128];
  if (in->rank != part->rank)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input and update must have the same rank, input shape is %s; update shape is "
                   "%s",
                   fy_tensor_shape_text(in, x), fy_tensor_shape_text(part, y));
  if (at->rank != 1 || at->count != in->rank)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "index must be a vector with length equal to the number of input dimensions");
  for (int32_t d = 0; d < in->rank; d++)
    if (part->dims[d] > in->dims[d])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Update dim size %lld greater than dynamic slice dimension: %lld.",
                     (long long)part->dims[d], (long long)in->dims[d]);
  return FY_OK;
}

static fy_code dynamic_update(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *part = ctx->in[1], *at = ctx->in[2];
  int64_t strides[FY_MAX_RANK], index[FY_MAX_RANK] = {0}, to = 0;
  fy_tensor *out;
  FY_TRY(check_type(ctx, err));
  FY_TRY(check_update(in, part, at, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (out->data != in->data)
    FY_TRY(fy_copy_run(in->dtype, out->data, 0, in->data, 0, in->count, err));
  if (!part->count) return FY_OK;
  fy_dense_strides(in->rank, in->dims, strides);
  for (int32_t d = 0; d < in->rank; d++)
    to += clamp(fy_tensor_int(at, d), part->dims[d], in->dims[d]) * strides[d];
  // From |rank| on, what the part has is one run in both.
  int32_t rank = in->rank;
  int64_t run = 1;
  while (rank > 0) {
    rank--;
    run *= part->dims[rank];
    if (part->dims[rank] != in->dims[rank]) break;
  }
  for (int64_t from = 0; from < part->count; from += run) {
    FY_TRY(fy_copy_run(in->dtype, out->data, to, part->data, from, run, err));
    for (int32_t d = rank - 1; d >= 0; d--) {
      to += strides[d];
      if (++index[d] < part->dims[d]) break;
      to -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return FY_OK;
}

static fy_code slice_shape(fy_shape_ctx *ctx, fy_error *err) {
  int32_t n;
  int64_t *size;
  bool *known;
  if (!fy_shape_values(ctx, 2, &n, &size, &known)) {
    if (ctx->in[0].rank < 0) return FY_OK;
    n = ctx->in[0].rank;
    known = NULL;
  }
  int64_t dims[FY_MAX_RANK];
  if (n > FY_MAX_RANK) return FY_OK;
  for (int32_t d = 0; d < n; d++) dims[d] = known && known[d] && size[d] >= 0 ? size[d] : -1;
  return fy_shape_set(ctx, 0, n, dims, err);
}

static const fy_sample slice_samples[] = {
    {"f32[3,4]=iota; i32[2]=1,3; i32[2]=2,2", NULL, FY_OK, "6,7,10,11"},
    {"f32[3,4]=iota; i64[2]=-5,9; i64[2]=2,2", NULL, FY_OK, "2,3,6,7"},
    {"f32[3]=iota; i32[1]=1; i32[1]=0", NULL, FY_OK, ""},
    {"f32[3,4]=iota; i32[2]=1,1; i32[2]=2,5", NULL, FY_INVALID_ARGUMENT,
     "has slice size 5 greater than dimension size 4 in dimension 1 of operand"},
    {"f32[3]=iota; i32[1]=1; i32[1]=-1", NULL, FY_INVALID_ARGUMENT,
     "has negative size index to dynamic slice: -1"},
    {"s[2]='a','b'; i32[1]=0; i32[1]=1", NULL, FY_INVALID_ARGUMENT,
     "XlaDynamicSlice takes numbers, not string"},
};
static const fy_sample update_samples[] = {
    {"f32[3,4]=iota; f32[1,2]=100,101; i32[2]=2,3", NULL, FY_OK, "0,1,2,3,4,5,6,7,8,9,100,101"},
    {"f32[3,2]=iota; f32[2,1]=7,8; i64[2]=-2,1", NULL, FY_OK, "0,7,2,8,4,5"},
    {"i32[4]=iota; i32[2]=7,8; i32[1]=1", NULL, FY_OK, "0,7,8,3"},
    {"i32[]=1; i32[]=7; i32[0]=", NULL, FY_OK, "7"},
    {"f32[2]=iota; f32[3]=iota; i32[1]=0", NULL, FY_INVALID_ARGUMENT,
     "Update dim size 3 greater than dynamic slice dimension: 2."},
    {"s[2]='a','b'; s[1]='c'; i32[1]=0", NULL, FY_INVALID_ARGUMENT,
     "XlaDynamicUpdateSlice takes numbers, not string"},
};
FY_OP(XlaDynamicSlice, .shape = slice_shape, .compute = dynamic_slice, .host_inputs = 6,
      FY_SAMPLES(slice_samples));
FY_OP(XlaDynamicUpdateSlice, .shape = fy_shape_unchanged, .compute = dynamic_update,
      .host_inputs = 4, FY_SAMPLES(update_samples));

// SPDX-License-Identifier: Apache-2.0
// gradient_args.c: the small integer ops that gradients are made of: BroadcastGradientArgs (which
// axes a broadcast operand's gradient is summed over) and ConcatOffset (where the pieces of a
// concatenation begin).

#include <stdio.h>
#include "ops/shape_fns.h"
#include "ops/values.h"

static void put(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32) {
    ((int32_t *)t->data)[i] = (int32_t)v;
  } else {
    ((int64_t *)t->data)[i] = v;
  }
}

static fy_code publish(fy_kernel_ctx *ctx, int i, const int64_t *axes, int64_t n, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, i, 1, &n, &out, err));
  for (int64_t k = 0; k < n; k++) put(out, k, axes[k]);
  return FY_OK;
}

// "[2,-1]": these are numbers like others, not sizes of which some are unknown.
static const char *sizes_text(int32_t n, const int64_t *sizes, char out[128]) {
  int at = snprintf(out, 128, "[");
  for (int32_t i = 0; i < n && at < 126; i++)
    at += snprintf(out + at, (size_t)(128 - at), "%s%lld", i ? "," : "", (long long)sizes[i]);
  if (at < 127) snprintf(out + at, (size_t)(128 - at), "]");
  return out;
}

static fy_code broadcast_args(fy_kernel_ctx *ctx, fy_error *err) {
  int64_t dims[2][FY_MAX_RANK], axes[2][FY_MAX_RANK], n[2] = {0, 0};
  char x[128], y[128];
  for (int i = 0; i < 2; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "In[%d] must be a vector.%s", i,
                     fy_tensor_shape_text(t, x));
    }
    if (t->count > FY_MAX_RANK) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
    }
    for (int64_t k = 0; k < t->count; k++) dims[i][k] = fy_tensor_int(t, k);
  }
  const int32_t rank_a = (int32_t)ctx->in[0]->count, rank_b = (int32_t)ctx->in[1]->count;
  const int32_t rank = rank_a > rank_b ? rank_a : rank_b;
  const bool same = fy_shape_equal(rank_a, dims[0], rank_b, dims[1]);
  for (int32_t d = 0; d < rank && !same; d++) {
    const int32_t ia = d - (rank - rank_a), ib = d - (rank - rank_b);
    const int64_t a = ia < 0 ? 1 : dims[0][ia], b = ib < 0 ? 1 : dims[1][ib];
    if (a != b && a != 1 && b != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                     sizes_text(rank_a, dims[0], x), sizes_text(rank_b, dims[1], y));
    }
    if (a == 1) axes[0][n[0]++] = d;
    if (b == 1) axes[1][n[1]++] = d;
  }
  for (int i = 0; i < 2; i++) FY_TRY(publish(ctx, i, axes[i], n[i], err));
  return FY_OK;
}

static fy_code broadcast_args_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < 2; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    FY_TRY(fy_shape_set(ctx, i, 1, NULL, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- ConcatOffset
static fy_code concat_offset(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *dim = ctx->in[0], *first = ctx->in[1];
  const int n = ctx->site->num_inputs - 1;
  char x[128];
  if (dim->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Concat dim tensor should be a scalar integer, but got shape %s",
                   fy_tensor_shape_text(dim, x));
  }
  for (int i = 0; i < n; i++) {
    if (ctx->in[1 + i]->rank == 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "input %d should be a vector, but got shape %s", i + 1,
                   fy_tensor_shape_text(ctx->in[1 + i], x));
  }
  const int64_t given = fy_tensor_int(dim, 0), rank = first->count;
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Concat dim is out of range: %lld vs. %lld",
                   (long long)given, (long long)rank);
  }
  int64_t offset = 0;
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = ctx->in[1 + i];
    fy_tensor *out;
    if (t->count != rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input %d should contain %lld elements, but got %lld", i, (long long)rank,
                     (long long)t->count);
    }
    FY_TRY(fy_out_like(ctx, i, t, &out, err));
    for (int64_t d = 0; d < rank; d++) {
      put(out, d, d == axis ? offset : 0);
      if (d == axis || fy_tensor_int(t, d) == fy_tensor_int(first, d)) continue;
      fy_code code = fy_fail(err, FY_INVALID_ARGUMENT,
                             "All dimensions except %lld must match. Input %d has shape [",
                             (long long)axis, i);
      for (int side = 0; side < 2 && err; side++) {
        const fy_tensor *s = side == 0 ? t : first;
        for (int64_t k = 0; k < rank; k++) {
          fy_error_append(err, "%s%lld", k ? " " : "", (long long)fy_tensor_int(s, k));
        }
        fy_error_append(err, "%s", side == 0 ? "] and doesn't match input 0 with shape [" : "].");
      }
      return code;
    }
    if (__builtin_add_overflow(offset, fy_tensor_int(t, axis), &offset)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "the concatenation is too large");
    }
  }
  return FY_OK;
}

static fy_code concat_offset_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 1; i < ctx->num_inputs; i++) {
    FY_TRY(fy_shape_set(ctx, i - 1, ctx->in[i].rank, ctx->in[i].dims, err));
  }
  return FY_OK;
}

static const fy_sample broadcast_samples[] = {
    {"i32[3]=2,1,3; i32[1]=3", NULL, FY_OK, "1"},
    {"i64[2]=2,1; i64[2]=2,1", NULL, FY_OK, ""},
    {"i32[2]=2,3; i32[1]=2", NULL, FY_INVALID_ARGUMENT, "Incompatible shapes: [2,3] vs. [2]"},
};
static const fy_sample offset_samples[] = {
    {"i32[]=1; i32[2]=2,3; i32[2]=2,4", NULL, FY_OK, "0,0"},
    {"i32[]=2; i32[2]=2,3; i32[2]=2,4", NULL, FY_INVALID_ARGUMENT,
     "Concat dim is out of range: 2 vs. 2"},
};
FY_OP(BroadcastGradientArgs, .shape = broadcast_args_shape, .compute = broadcast_args,
      .flags = FY_OP_CHEAP | FY_OP_DYNAMIC, .host_inputs = 3, .host_outputs = 3,
      FY_SAMPLES(broadcast_samples));
FY_OP(ConcatOffset, .shape = concat_offset_shape, .compute = concat_offset, .flags = FY_OP_CHEAP,
      .host_inputs = 3, .host_outputs = 1, FY_SAMPLES(offset_samples));

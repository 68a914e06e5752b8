// SPDX-License-Identifier: Apache-2.0
// in_top_k.c: InTopK, InTopKV2: is the target among the k best predictions? Ties are in; a row with
// a prediction that is not finite, or a target that is no class, is not.

#include <math.h>

#include "ops/shape_fns.h"
#include "ops/values.h"

static bool is_in(const float *row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !isfinite(row[target])) return false;
  int64_t better = 0;
  for (int64_t c = 0; c < classes; c++) {
    if (!isfinite(row[c])) return false;
    better += row[c] > row[target];
    if (better > k) break;
  }
  return better < k;
}

static fy_code in_top_k(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *predictions = ctx->in[0], *targets = ctx->in[1];
  char x[128];
  if (ctx->site->num_inputs > 2 && ctx->in[2]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "k must be 0-D, got shape %s",
                   fy_tensor_shape_text(ctx->in[2], x));
  }
  if (predictions->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "predictions must be 2-dimensional");
  }
  if (targets->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "targets must be 1-dimensional");
  }
  if (predictions->dims[0] != targets->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "First dimension of predictions %lld must match length of targets %lld",
                   (long long)predictions->dims[0], (long long)targets->dims[0]);
  }
  const int64_t k =
      ctx->site->num_inputs > 2 ? fy_tensor_int(ctx->in[2], 0) : fy_site_int(ctx->site, "k");
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, targets, &out, err));
  const int64_t classes = predictions->dims[1];
  for (int64_t r = 0; r < targets->count; r++) {
    ((bool *)out->data)[r] = is_in((const float *)predictions->data + r * classes, classes,
                                   fy_tensor_int(targets, r), k);
  }
  return FY_OK;
}

static fy_code in_top_k_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t rows;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 0), &rows, err));
  return fy_shape_set(ctx, 0, 1, &rows, err);
}

static const fy_sample samples[] = {
    {"f32[2,3]=1,2,3,3,2,1; i32[2]=1,1", "k=2", FY_OK, "true,true"},
    {"f32[2,3]=1,2,3,3,nan,1; i64[2]=0,0", "k=2", FY_OK, "false,false"},
    {"f32[2,3]=1,2,3,3,2,1; i32[1]=1", "k=2", FY_INVALID_ARGUMENT,
     "First dimension of predictions 2 must match length of targets 1"},
};
static const fy_sample v2_samples[] = {
    {"f32[2,3]=1,2,3,3,2,1; i32[2]=1,1; i32[]=2", NULL, FY_OK, "true,true"},
};
FY_OP(InTopK, .shape = in_top_k_shape, .compute = in_top_k, FY_SAMPLES(samples));
FY_OP(InTopKV2, .shape = in_top_k_shape, .compute = in_top_k, .host_inputs = 4,
      FY_SAMPLES(v2_samples));

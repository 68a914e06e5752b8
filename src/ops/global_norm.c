// SPDX-License-Identifier: Apache-2.0
// global_norm.c: BatchNormWithGlobalNormalization and its gradient (graphs older than version 9):
// normalisation of [n, h, w, c] by a given mean and variance per channel.

#include <math.h>

#include "ops/shape_fns.h"
#include "ops/values.h"

static double load(const fy_tensor *t, int64_t i) {
  return fy_tensor_double(t, i);
}
static void put(fy_tensor *t, int64_t i, double x) {
  switch (t->dtype) {
    case FY_FLOAT: ((float *)t->data)[i] = (float)x; break;
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_float_to_half((float)x); break;
    default: ((double *)t->data)[i] = x; break;
  }
}

// |names| of the inputs behind the first, which are vectors but for one called backprop.
static fy_code check(fy_kernel_ctx *ctx, const char *const *names, fy_error *err) {
  char x[128];
  for (int i = 0; i < 5; i++) {
    const fy_tensor *t = ctx->in[i];
    const bool image = i == 0 || names[i][0] == 'o';
    if (t->rank != (image ? 4 : 1)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be %d-dimensional%s", names[i],
                     image ? 4 : 1, fy_tensor_shape_text(t, x));
    }
    const int64_t c = ctx->in[0]->dims[3];
    if (!image && t->dims[0] != c) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must have %lld elements, not %lld", names[i],
                     (long long)c, (long long)t->dims[0]);
    }
    if (i > 0 && image && !fy_shape_equal(4, t->dims, 4, ctx->in[0]->dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must have the shape of the input", names[i]);
    }
  }
  return FY_OK;
}

static fy_code normalise(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"input", "mean", "var", "beta", "gamma"};
  const double epsilon = (double)fy_site_float(ctx->site, "variance_epsilon");
  const bool scale = fy_site_bool(ctx->site, "scale_after_normalization");
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(check(ctx, names, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const int64_t c = in->dims[3];
  for (int64_t i = 0; i < in->count; i++) {
    const int64_t k = i % c;
    double by = 1 / sqrt(load(ctx->in[2], k) + epsilon);
    if (scale) by *= load(ctx->in[4], k);
    put(out, i, (load(in, i) - load(ctx->in[1], k)) * by + load(ctx->in[3], k));
  }
  return FY_OK;
}

static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"input", "mean", "var", "gamma", "out_backprop"};
  const double epsilon = (double)fy_site_float(ctx->site, "variance_epsilon");
  const bool scale = fy_site_bool(ctx->site, "scale_after_normalization");
  const fy_tensor *in = ctx->in[0], *dy = ctx->in[4];
  fy_tensor *out[5];
  FY_TRY(check(ctx, names, err));
  const int64_t c = in->dims[3];
  FY_TRY(fy_out_like(ctx, 0, in, &out[0], err));
  for (int i = 1; i < 5; i++) FY_TRY(fy_out(ctx, i, 1, &c, &out[i], err));
  for (int64_t k = 0; k < c; k++) {
    const double m = load(ctx->in[1], k), by = 1 / sqrt(load(ctx->in[2], k) + epsilon);
    const double gamma = scale ? load(ctx->in[3], k) : 1;
    double sum = 0, cross = 0;
    for (int64_t i = k; i < in->count; i += c) {
      const double d = load(dy, i);
      sum += d;
      cross += d * (load(in, i) - m);
      put(out[0], i, d * by * gamma);
    }
    put(out[1], k, -sum * by * gamma);
    put(out[2], k, cross * -0.5 * by * by * by * gamma);
    put(out[3], k, sum);
    put(out[4], k, scale ? cross * by : 0);
  }
  return FY_OK;
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool back = ctx->num_outputs > 1;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  int64_t c = fy_dim_of(ctx->in[0], 3);
  for (int i = 1; i < (back ? 4 : 5); i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    FY_TRY(fy_dim_merge(c, fy_dim_of(ctx->in[i], 0), &c, err));
  }
  if (back) {
    FY_TRY(fy_shape_rank_is(ctx->in[4], 4, err));
    FY_TRY(fy_dim_merge(c, fy_dim_of(ctx->in[4], 3), &c, err));
  }
  int64_t dims[4] = {-1, -1, -1, c};
  for (int d = 0; d < 3; d++) dims[d] = fy_dim_of(ctx->in[0], d);
  FY_TRY(fy_shape_set(ctx, 0, 4, dims, err));
  for (int i = 1; back && i < 5; i++) FY_TRY(fy_shape_set(ctx, i, 1, &c, err));
  return FY_OK;
}

static const fy_sample samples[] = {
    {"f32[1,1,2,1]=1,3; f32[1]=1; f32[1]=3.5; f32[1]=1; f32[1]=2",
     "variance_epsilon=0.5; scale_after_normalization=true", FY_OK, "1,3"},
    {"f32[2,1]=1,3; f32[1]=1; f32[1]=3.5; f32[1]=1; f32[1]=2",
     "variance_epsilon=0.5; scale_after_normalization=true", FY_INVALID_ARGUMENT,
     "input must be 4-dimensional[2,1]"},
};
static const fy_sample grad_samples[] = {
    {"f32[1,1,2,1]=1,3; f32[1]=1; f32[1]=3.5; f32[1]=2; f32[1,1,2,1]=1,2",
     "variance_epsilon=0.5; scale_after_normalization=true", FY_OK, "1,2"},
};
FY_OP(BatchNormWithGlobalNormalization, .shape = shape, .compute = normalise, .flags = FY_OP_HOST,
      FY_SAMPLES(samples));
FY_OP(BatchNormWithGlobalNormalizationGrad, .shape = shape, .compute = gradient,
      .flags = FY_OP_HOST, FY_SAMPLES(grad_samples));

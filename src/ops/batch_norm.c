// SPDX-License-Identifier: Apache-2.0
// batch_norm.c: FusedBatchNorm, V2, V3 and their gradients, training and inference.
//
// Sums over a channel are taken in double, so that their order does not show (batch_norm_loops.c); the
// rest is in float, as TensorFlow's. Shapes of the reserved outputs are those of TensorFlow's plain
// CPU kernels.

#include "base/alloc.h"
#include "ops/batch_norm.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct norm_attrs {
  float epsilon, factor;
  bool training, channels_last;
} norm_attrs;

static fy_code prepare(fy_site *site, fy_error *err) {
  norm_attrs *a = fy_malloc(sizeof *a);
  if (!a) return fy_fail_oom(err, sizeof *a);
  const fy_view format = fy_site_string(site, "data_format");
  *a = (norm_attrs){.epsilon = fy_site_float(site, "epsilon"),
                    .factor = fy_site_attr(site, "exponential_avg_factor")
                                  ? fy_site_float(site, "exponential_avg_factor")
                                  : 1,
                    .training = fy_site_bool(site, "is_training"),
                    .channels_last = format.n < 2 || format.p[1] != 'C'};
  site->state = a;
  return FY_OK;
}

static fy_code check_vector(const fy_tensor *t, const char *name, int64_t channels,
                            const char *when, fy_error *err) {
  char x[128];
  if (channels < 0 && t->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 1-dimensional%s", name,
                   fy_tensor_shape_text(t, x));
  }
  if (channels >= 0 && t->count != channels) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s%s must have the same number of elements as the channels of x, got %lld and "
                   "%lld",
                   when, name, (long long)t->count, (long long)channels);
  }
  return FY_OK;
}

static void set_sizes(const norm_attrs *a, const fy_tensor *x, fy_norm_job *j) {
  j->type = x->dtype;
  j->channels_last = a->channels_last;
  j->channels = x->dims[a->channels_last ? x->rank - 1 : 1];
  j->inner = a->channels_last ? 1 : fy_product(x->dims + 2, x->rank - 2);
  j->outer = a->channels_last ? fy_product(x->dims, x->rank - 1) : x->dims[0];
  j->x = x->data;
  fy_norm_cut(j);
}

static fy_code layout(fy_kernel_ctx *ctx, const fy_tensor *x, const char *name, fy_norm_job *j,
                      fy_error *err) {
  const norm_attrs *a = ctx->site->state;
  char text[128];
  if (x->rank != 4 && x->rank != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 4 or 5-dimensional%s", name,
                   fy_tensor_shape_text(x, text));
  }
  if (x->dtype != FY_FLOAT && x->dtype != FY_HALF && x->dtype != FY_BFLOAT16) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(x->dtype));
  }
  set_sizes(a, x, j);
  return FY_OK;
}

static bool is_float(fy_kernel_ctx *ctx, int first, int last) {
  for (int i = first; i <= last; i++) {
    if (ctx->in[i]->dtype != FY_FLOAT) return false;
  }
  return true;
}

// A number of each channel. With any of its n numbers taken off all of them, the squares of what is left
// are at most n times those of the distances to the mean: sums in double lose nothing that a float shows.
static void first_of_channels(const fy_norm_job *j, float *out) {
  for (int64_t c = 0; c < j->channels; c++) {
    const int64_t at = c * j->inner;
    const float v = j->type == FY_FLOAT  ? ((const float *)j->x)[at]
                    : j->type == FY_HALF ? fy_ld_half(((const uint16_t *)j->x)[at])
                                         : FY_LD_bf16(((const uint16_t *)j->x)[at]);
    out[c] = isfinite(v) ? v : 0;
  }
}

static fy_code normalise(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"input", "scale", "offset", "estimated_mean",
                                      "estimated_variance"};
  static const char *const roles[] = {"x", "scale", "offset", "mean", "variance"};
  const norm_attrs *a = ctx->site->state;
  const fy_tensor *x = ctx->in[0];
  fy_norm_job j = {.grad = NULL};
  fy_tensor *out[6] = {NULL};
  char text[128];
  if (x->rank != 4 && x->rank != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4 or 5-dimensional%s",
                   fy_tensor_shape_text(x, text));
  }
  for (int i = 1; i < 5; i++) FY_TRY(check_vector(ctx->in[i], names[i], -1, "", err));
  FY_TRY(layout(ctx, x, "input", &j, err));
  for (int i = 1; i < 3; i++) FY_TRY(check_vector(ctx->in[i], roles[i], j.channels, "", err));
  const bool blend = a->training && a->factor != 1;
  for (int i = 3; i < 5 && (!a->training || blend); i++) {
    FY_TRY(check_vector(
        ctx->in[i], roles[i], j.channels,
        a->training ? "When exponential_avg_factor != 1, " : "When is_training=false, ", err));
  }
  if (!is_float(ctx, 1, 4)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for scales of %s",
                   ctx->site->op->impl->name, fy_dtype_name(ctx->in[1]->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, x, &out[0], err));
  for (int i = 1; i < 5; i++) FY_TRY(fy_out(ctx, i, 1, &j.channels, &out[i], err));
  if (ctx->site->num_outputs > 5) {
    FY_TRY(fy_out(ctx, 5, 0, NULL, &out[5], err));
    *(float *)out[5]->data = 0;
  }
  float *mean = out[1]->data, *variance = out[2]->data, *saved[] = {out[3]->data, out[4]->data};
  if (x->count == 0) {
    for (int64_t c = 0; c < j.channels; c++) {
      mean[c] = variance[c] = NAN;
      saved[0][c] = saved[1][c] = 0;
    }
    return FY_OK;
  }
  void *memory;
  FY_TRY(fy_scratch(ctx, fy_norm_work(&j), &memory, err));
  fy_norm_set_work(&j, memory);
  const float *factor = ctx->in[1]->data, *old[] = {ctx->in[3]->data, ctx->in[4]->data};
  const double n = (double)(j.outer * j.inner);
  for (int64_t c = 0; c < j.channels && !a->training; c++) {
    saved[0][c] = mean[c] = old[0][c];
    saved[1][c] = variance[c] = old[1][c];
  }
  if (a->training) {
    first_of_channels(&j, j.shift);
    fy_norm_repeat(&j, j.shift);
    fy_norm_sum(ctx, &j);
    const float more = (float)(n / (n > 1 ? n - 1 : 1));
    for (int64_t c = 0; c < j.channels; c++) {
      const double away = j.sums[c] / n, squares = j.sums[j.width + c] / n - away * away;
      saved[0][c] = (float)((double)j.shift[c] + away);
      saved[1][c] = squares < 0 ? 0 : (float)squares;
      const float unbiased = saved[1][c] * more;
      mean[c] = blend ? (1 - a->factor) * old[0][c] + a->factor * saved[0][c] : saved[0][c];
      variance[c] = blend ? (1 - a->factor) * old[1][c] + a->factor * unbiased : unbiased;
    }
  }
  for (int64_t c = 0; c < j.channels; c++) {
    j.shift[c] = saved[0][c];
    j.scale[c] = factor[c] / sqrtf(saved[1][c] + a->epsilon);
    j.offset[c] = ((const float *)ctx->in[2]->data)[c];
  }
  fy_norm_repeat(&j, j.shift);
  fy_norm_repeat(&j, j.scale);
  fy_norm_repeat(&j, j.offset);
  j.out = out[0]->data;
  fy_norm_apply(ctx, &j);
  return FY_OK;
}

// Inputs: y_backprop, x, scale, mean, variance [, unused].
static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"", "", "scale", "saved mean", "saved variance"};
  static const char *const roles[] = {"", "", "scale", "reserve_space_1", "reserve_space_2"};
  const norm_attrs *a = ctx->site->state;
  const fy_tensor *grad = ctx->in[0], *x = ctx->in[1];
  fy_norm_job j = {.grad = grad->data};
  fy_tensor *out[5];
  char s[128], t[128];
  if (grad->rank != 4 && grad->rank != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4 or 5-dimensional%s",
                   fy_tensor_shape_text(grad, s));
  }
  FY_TRY(layout(ctx, x, "input", &j, err));
  for (int i = 2; i < 5; i++) FY_TRY(check_vector(ctx->in[i], names[i], -1, "", err));
  if (!fy_shape_equal(x->rank, x->dims, grad->rank, grad->dims) || x->dtype != grad->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "x and y_backprop must have same shape, but x has shape %s and y_backprop has "
                   "shape %s",
                   fy_tensor_shape_text(x, s), fy_tensor_shape_text(grad, t));
  }
  for (int i = 2; i < 5; i++) FY_TRY(check_vector(ctx->in[i], roles[i], j.channels, "", err));
  if (!is_float(ctx, 2, 4)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for scales of %s",
                   ctx->site->op->impl->name, fy_dtype_name(ctx->in[2]->dtype));
  }
  const int64_t none = 0;
  FY_TRY(fy_out_like(ctx, 0, x, &out[0], err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_out(ctx, i, 1, &j.channels, &out[i], err));
  for (int i = 3; i < 5; i++) FY_TRY(fy_out(ctx, i, 1, &none, &out[i], err));
  float *scale_grad = out[1]->data, *offset_grad = out[2]->data;
  if (x->count == 0) {
    for (int64_t c = 0; c < j.channels; c++) scale_grad[c] = offset_grad[c] = 0;
    return FY_OK;
  }
  void *memory;
  FY_TRY(fy_scratch(ctx, fy_norm_work(&j), &memory, err));
  fy_norm_set_work(&j, memory);
  const float *factor = ctx->in[2]->data, *variance = ctx->in[4]->data;
  const double n = (double)(j.outer * j.inner);
  memcpy(j.shift, ctx->in[3]->data, (size_t)j.channels * sizeof *j.shift);
  fy_norm_repeat(&j, j.shift);
  fy_norm_sum(ctx, &j);
  for (int64_t c = 0; c < j.channels; c++) {
    const double inverse = 1 / sqrt((double)variance[c] + (double)a->epsilon);
    const double sum = j.sums[c], products = j.sums[j.width + c];
    scale_grad[c] = (float)(products * inverse);
    offset_grad[c] = (float)sum;
    j.scale[c] = (float)((double)factor[c] * inverse);
    j.slope[c] = a->training ? (float)(products / n * inverse * inverse) : 0;
    j.offset[c] = a->training ? (float)(sum / n) : 0;
  }
  fy_norm_repeat(&j, j.scale);
  fy_norm_repeat(&j, j.slope);
  fy_norm_repeat(&j, j.offset);
  j.out = out[0]->data;
  fy_norm_apply(ctx, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static bool is_channels_last(const fy_shape_ctx *ctx, int32_t *rank) {
  const fy_attr *format = fy_attrs_get(ctx->attrs, "data_format");
  const bool known = format && format->kind == FY_ATTR_STRING && format->v.s.n >= 2;
  *rank = known && format->v.s.n == 5 ? 5 : 4;
  return !known || format->v.s.p[1] != 'C';
}

// The channel dim that x (input |x|) and the vectors [first, last] agree on.
static fy_code channel(fy_shape_ctx *ctx, int x, int first, int last, int64_t *out, fy_error *err) {
  int32_t rank;
  const bool last_dim = is_channels_last(ctx, &rank);
  FY_TRY(fy_shape_rank_is(ctx->in[x], rank, err));
  *out = fy_dim_of(ctx->in[x], last_dim ? rank - 1 : 1);
  const fy_attr *factor = fy_attrs_get(ctx->attrs, "exponential_avg_factor");
  const bool all_new = fy_shape_attr_bool(ctx, "is_training") &&
                       (!factor || factor->kind != FY_ATTR_FLOAT || factor->v.f == 1);
  for (int i = first; i <= last; i++) {
    // Mean and variance may be anything when nothing of them is kept.
    if (i >= 3 && x == 0 && all_new) continue;
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    const int64_t n = fy_dim_of(ctx->in[i], 0);
    FY_TRY(fy_dim_merge(*out, n, out, err));
  }
  return FY_OK;
}

static fy_code set_image(fy_shape_ctx *ctx, int x, int64_t channels, fy_error *err) {
  int32_t rank;
  const bool last_dim = is_channels_last(ctx, &rank);
  int64_t dims[5];
  for (int32_t d = 0; d < rank; d++) dims[d] = fy_dim_of(ctx->in[x], d);
  dims[last_dim ? rank - 1 : 1] = channels;
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static fy_code normalise_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t channels;
  FY_TRY(channel(ctx, 0, 1, 4, &channels, err));
  FY_TRY(set_image(ctx, 0, channels, err));
  for (int i = 1; i < 5; i++) FY_TRY(fy_shape_set(ctx, i, 1, &channels, err));
  return FY_OK;
}

static fy_code gradient_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t channels, x_channels;
  const int64_t none = 0;
  FY_TRY(channel(ctx, 0, 2, 1, &channels, err));
  FY_TRY(channel(ctx, 1, 2, 1, &x_channels, err));
  FY_TRY(fy_dim_merge(channels, x_channels, &channels, err));
  for (int i = 2; i < 5; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    FY_TRY(fy_dim_merge(channels, fy_dim_of(ctx->in[i], 0), &channels, err));
  }
  FY_TRY(set_image(ctx, 0, channels, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 1, &channels, err));
  for (int i = 3; i < 5; i++) FY_TRY(fy_shape_set(ctx, i, 1, &none, err));
  return FY_OK;
}

static const fy_sample samples[] = {
    {"f32[1,1,2,2]=1,2,3,4; f32[2]=1,1; f32[2]=0,10; f32[2]=1,2; f32[2]=1,1",
     "is_training=false; epsilon=0.0", FY_OK, "0,10,2,12"},
    {"f32[2,3,3,4]=normal; f32[4]=normal; f32[4]=normal; f32[0]=; f32[0]=", NULL, FY_OK, NULL},
    {"f32[1,1,2,2]=zeros; f32[3]=ones; f32[2]=ones; f32[2]=ones; f32[2]=ones", NULL,
     FY_INVALID_ARGUMENT,
     "scale must have the same number of elements as the channels of x, got 3 and 2"},
};
static const fy_sample typed_samples[] = {
    {"f16[1,1,2,2]=1,2,3,4; f32[2]=1,1; f32[2]=0,10; f32[2]=1,2; f32[2]=1,1",
     "is_training=false; epsilon=0.0", FY_OK, "0,10,2,12"},
    {"bf16[2,4,3,3]=normal; f32[4]=normal; f32[4]=normal; f32[4]=ones; f32[4]=ones",
     "data_format=\"NCHW\"; exponential_avg_factor=0.25", FY_OK, NULL},
};
static const fy_sample grad_samples[] = {
    {"f32[2,3,3,4]=normal; f32[2,3,3,4]=normal; f32[4]=ones; f32[4]=zeros; f32[4]=ones", NULL,
     FY_OK, NULL},
    {"f32[1,1,2,1]=1,2; f32[1,1,2,1]=3,4; f32[1]=2; f32[1]=3; f32[1]=1",
     "is_training=false; epsilon=0.0", FY_OK, "2,4"},
};
static const fy_sample grad_v3_samples[] = {
    {"f16[1,1,2,1]=1,2; f16[1,1,2,1]=3,4; f32[1]=2; f32[1]=3; f32[1]=1; f32[1]=0",
     "is_training=false; epsilon=0.0", FY_OK, "2,4"},
};

// Working memory; a gradient's x is its second input.
static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *x = ctx->in[strstr(ctx->site->op->impl->name, "Grad") ? 1 : 0];
  fy_norm_job j = {.grad = NULL};
  if (x->count == 0 || x->rank < 4) return;
  set_sizes(ctx->site->state, x, &j);
  out->scratch += fy_scratch_line(fy_norm_work(&j));
}

#define NORM_OP(Name, shape_fn, run, array)                                          \
  FY_OP(Name, .shape = shape_fn, .prepare = prepare, .compute = run, .needs = needs, \
        .release = fy_free, FY_SAMPLES(array))
NORM_OP(FusedBatchNorm, normalise_shape, normalise, samples);
NORM_OP(FusedBatchNormV2, normalise_shape, normalise, typed_samples);
NORM_OP(FusedBatchNormV3, normalise_shape, normalise, typed_samples);
NORM_OP(FusedBatchNormGrad, gradient_shape, gradient, grad_samples);
NORM_OP(FusedBatchNormGradV2, gradient_shape, gradient, grad_samples);
NORM_OP(FusedBatchNormGradV3, gradient_shape, gradient, grad_v3_samples);

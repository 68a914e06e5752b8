// SPDX-License-Identifier: Apache-2.0
// batch_norm.c: FusedBatchNorm, V2, V3 and their gradients, training and inference.
//
// A tensor is [outer, channels, inner]: inner is 1 when channels come last. Sums over a channel are
// taken in double, so that their order does not show; the rest is in float, as TensorFlow's.
// Shapes of the reserved outputs are those of TensorFlow's plain CPU kernels.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct norm_attrs {
  float epsilon, factor;
  bool training, channels_last;
} norm_attrs;

typedef struct norm_job {
  fy_dtype type;
  int64_t outer, channels, inner;
  const void *x, *grad;
  void *out;
  const float *shift, *scale, *offset;  // out = (x - shift) * scale + offset
  const float *slope, *middle;  // gradient: out = scale * (grad - middle - (x - shift) * slope)
  double *sums;                 // [2 * channels]
} norm_job;

// 16-bit floats are worked on as floats, a chunk at a time.
static const float *floats_of(fy_dtype t, const void *p, int64_t at, int64_t n, float *memory) {
  if (!p || t == FY_FLOAT) return p ? (const float *)p + at : NULL;
  const uint16_t *in = (const uint16_t *)p + at;
  if (t == FY_HALF) {
    fy_halves_to_floats(in, memory, n);
  } else {
    for (int64_t i = 0; i < n; i++) memory[i] = FY_LD_bf16(in[i]);
  }
  return memory;
}
static void put_floats(fy_dtype t, void *p, int64_t at, int64_t n, const float *v) {
  uint16_t *out = (uint16_t *)p + at;
  if (t == FY_HALF) {
    fy_floats_to_halves(v, out, n);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = FY_ST_bf16(v[i]);
  }
}
static int64_t chunk_of(const norm_job *j, int64_t n) {
  return j->type == FY_FLOAT || n < FY_CHUNK ? n : FY_CHUNK;
}

// First pass: the sum of a channel, or (given its mean) of the squares of what is left, or (given a
// gradient) the gradient's sum and that of its product with what is left. Channels that come last
// are walked row by row.
static void sum_row(const float *x, const float *g, const float *shift, bool squares, int64_t n,
                    double *restrict a, double *restrict b) {
  if (g) {
    for (int64_t c = 0; c < n; c++) {
      a[c] += (double)g[c];
      b[c] += (double)g[c] * ((double)x[c] - (double)shift[c]);
    }
  } else if (squares) {
    for (int64_t c = 0; c < n; c++) {
      const double d = (double)x[c] - (double)shift[c];
      a[c] += d * d;
    }
  } else {
    for (int64_t c = 0; c < n; c++) a[c] += (double)x[c];
  }
}
static void sum_channels(norm_job *j, bool squares) {
  const int64_t n = j->channels, length = j->inner == 1 ? n : j->inner;
  const int64_t rows = j->inner == 1 ? j->outer : j->outer * n;
  float wide_x[FY_CHUNK], wide_g[FY_CHUNK];
  for (int64_t row = 0; row < rows; row++) {
    const int64_t channel = row % n;
    const double shift = j->inner != 1 && j->shift ? (double)j->shift[channel] : 0;
    double a = 0, b = 0;
    for (int64_t at = 0, m; at < length; at += m) {
      m = chunk_of(j, length - at);
      const float *x = floats_of(j->type, j->x, row * length + at, m, wide_x);
      const float *g = floats_of(j->type, j->grad, row * length + at, m, wide_g);
      if (j->inner == 1) {
        sum_row(x, g, j->shift ? j->shift + at : NULL, squares, m, j->sums + at, j->sums + n + at);
        continue;
      }
      for (int64_t i = 0; i < m; i++) {
        const double v = (double)x[i] - shift;
        a += g ? (double)g[i] : squares ? v * v : v;
        b += g ? (double)g[i] * v : 0;
      }
    }
    if (j->inner == 1) continue;
    j->sums[channel] += a;
    j->sums[n + channel] += b;
  }
}

// A run of numbers whose channels are |step| apart: 1, or 0 for one channel.
static void apply_run(const norm_job *j, const float *x, const float *g, float *out, int64_t c,
                      int64_t step, int64_t n) {
  const float *shift = j->shift + c, *scale = j->scale + c;
  const float *offset = g ? j->middle + c : j->offset + c, *slope = g ? j->slope + c : NULL;
  if (g && step) {
    FY_VECTOR for (int64_t i = 0; i < n; i++) {
      out[i] = scale[i] * (g[i] - offset[i] - (x[i] - shift[i]) * slope[i]);
    }
  } else if (g) {
    const float a = *shift, b = *scale, d = *offset, e = *slope;
    FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = b * (g[i] - d - (x[i] - a) * e);
  } else if (step) {
    FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = (x[i] - shift[i]) * scale[i] + offset[i];
  } else {
    const float a = *shift, b = *scale, d = *offset;
    FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = (x[i] - a) * b + d;
  }
}
static void apply(void *arg, int64_t begin, int64_t end) {
  const norm_job *j = arg;
  const int64_t n = j->channels, length = j->inner == 1 ? n : j->inner;
  const int64_t rows = j->inner == 1 ? 1 : n;
  float wide_x[FY_CHUNK], wide_g[FY_CHUNK], wide_out[FY_CHUNK];
  for (int64_t row = begin * rows; row < end * rows; row++) {
    for (int64_t at = 0, m; at < length; at += m) {
      const int64_t from = row * length + at;
      m = chunk_of(j, length - at);
      const float *x = floats_of(j->type, j->x, from, m, wide_x);
      const float *g = floats_of(j->type, j->grad, from, m, wide_g);
      float *out = j->type == FY_FLOAT ? (float *)j->out + from : wide_out;
      apply_run(j, x, g, out, j->inner == 1 ? at : row % n, j->inner == 1, m);
      if (j->type != FY_FLOAT) put_floats(j->type, j->out, from, m, out);
    }
  }
}

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

static fy_code layout(fy_kernel_ctx *ctx, const fy_tensor *x, const char *name, norm_job *j,
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
  j->type = x->dtype;
  j->channels = x->dims[a->channels_last ? x->rank - 1 : 1];
  j->inner = a->channels_last ? 1 : fy_product(x->dims + 2, x->rank - 2);
  j->outer = a->channels_last ? fy_product(x->dims, x->rank - 1) : x->dims[0];
  j->x = x->data;
  return FY_OK;
}

static bool is_float(fy_kernel_ctx *ctx, int first, int last) {
  for (int i = first; i <= last; i++) {
    if (ctx->in[i]->dtype != FY_FLOAT) return false;
  }
  return true;
}

static fy_code normalise(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"input", "scale", "offset", "estimated_mean",
                                      "estimated_variance"};
  static const char *const roles[] = {"x", "scale", "offset", "mean", "variance"};
  const norm_attrs *a = ctx->site->state;
  const fy_tensor *x = ctx->in[0];
  norm_job j = {.grad = NULL};
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
  FY_TRY(fy_scratch(ctx, (size_t)j.channels * (2 * sizeof(double) + sizeof(float)), &memory, err));
  j.sums = memory;
  float *scale = (float *)(void *)(j.sums + 2 * j.channels);
  const float *factor = ctx->in[1]->data, *old[] = {ctx->in[3]->data, ctx->in[4]->data};
  const double n = (double)(j.outer * j.inner);
  for (int64_t c = 0; c < j.channels && !a->training; c++) {
    saved[0][c] = mean[c] = old[0][c];
    saved[1][c] = variance[c] = old[1][c];
  }
  if (a->training) {
    memset(j.sums, 0, (size_t)j.channels * 2 * sizeof(double));
    sum_channels(&j, false);
    for (int64_t c = 0; c < j.channels; c++) saved[0][c] = (float)(j.sums[c] / n);
    memset(j.sums, 0, (size_t)j.channels * 2 * sizeof(double));
    j.shift = saved[0];
    sum_channels(&j, true);
    const float more = (float)(n / (n > 1 ? n - 1 : 1));
    for (int64_t c = 0; c < j.channels; c++) {
      saved[1][c] = (float)(j.sums[c] / n);
      const float unbiased = saved[1][c] * more;
      mean[c] = blend ? (1 - a->factor) * old[0][c] + a->factor * saved[0][c] : saved[0][c];
      variance[c] = blend ? (1 - a->factor) * old[1][c] + a->factor * unbiased : unbiased;
    }
  }
  for (int64_t c = 0; c < j.channels; c++) {
    scale[c] = factor[c] / sqrtf(saved[1][c] + a->epsilon);
  }
  j.shift = saved[0];
  j.scale = scale;
  j.offset = ctx->in[2]->data;
  j.out = out[0]->data;
  fy_parallel(ctx, j.outer, 0.5 * (double)(j.channels * j.inner), apply, &j);
  return FY_OK;
}

// Inputs: y_backprop, x, scale, mean, variance [, unused].
static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"", "", "scale", "saved mean", "saved variance"};
  static const char *const roles[] = {"", "", "scale", "reserve_space_1", "reserve_space_2"};
  const norm_attrs *a = ctx->site->state;
  const fy_tensor *grad = ctx->in[0], *x = ctx->in[1];
  norm_job j = {.grad = grad->data};
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
  FY_TRY(
      fy_scratch(ctx, (size_t)j.channels * 2 * (sizeof(double) + 2 * sizeof(float)), &memory, err));
  j.sums = memory;
  float *scale = (float *)(void *)(j.sums + 2 * j.channels), *slope = scale + j.channels;
  float *middle = slope + j.channels;
  const float *factor = ctx->in[2]->data, *variance = ctx->in[4]->data;
  const double n = (double)(j.outer * j.inner);
  j.shift = ctx->in[3]->data;
  memset(j.sums, 0, (size_t)j.channels * 2 * sizeof(double));
  sum_channels(&j, false);
  for (int64_t c = 0; c < j.channels; c++) {
    const double inverse = 1 / sqrt((double)variance[c] + (double)a->epsilon);
    scale_grad[c] = (float)(j.sums[j.channels + c] * inverse);
    offset_grad[c] = (float)j.sums[c];
    scale[c] = (float)((double)factor[c] * inverse);
    slope[c] = a->training ? (float)(j.sums[j.channels + c] / n * inverse * inverse) : 0;
    middle[c] = a->training ? (float)(j.sums[c] / n) : 0;
  }
  j.scale = scale;
  j.slope = slope;
  j.middle = middle;
  j.out = out[0]->data;
  fy_parallel(ctx, j.outer, 0.6 * (double)(j.channels * j.inner), apply, &j);
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

// Working memory per channel; the scales are input 1, or 2 of a gradient.
static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const bool grad = strstr(ctx->site->op->impl->name, "Grad") != NULL;
  const size_t each =
      grad ? 2 * (sizeof(double) + 2 * sizeof(float)) : 2 * sizeof(double) + sizeof(float);
  if (ctx->in[0]->count)
    out->scratch += fy_scratch_line((size_t)ctx->in[grad ? 2 : 1]->count * each);
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

// SPDX-License-Identifier: Apache-2.0
// fake_quant.c: FakeQuantWithMinMaxArgs, …Vars, …VarsPerChannel and their gradients. The range is
// nudged so that 0 is one of the levels; a gradient passes where the input was inside it.

#include <math.h>

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct levels {
  float low, high;  // quantized
} levels;

typedef struct nudged {
  float min, max, scale;
} nudged;

static nudged nudge(float min, float max, levels q) {
  nudged r = {.scale = (max - min) / (q.high - q.low)};
  const float at = q.low - min / r.scale;
  const float zero = at < q.low ? q.low : at > q.high ? q.high : roundf(at);
  r.min = (q.low - zero) * r.scale;
  r.max = (q.high - zero) * r.scale;
  return r;
}

static fy_code levels_of(const fy_site *site, levels *out, fy_error *err) {
  const int64_t bits = fy_site_int(site, "num_bits");
  if (bits < 2 || bits > 16) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_bits must be between 2 and 16, inclusive");
  }
  *out = (levels){fy_site_bool(site, "narrow_range") ? 1 : 0, (float)((1 << bits) - 1)};
  return FY_OK;
}

static fy_code args_prepare(fy_site *site, fy_error *err) {
  const float min = fy_site_float(site, "min"), max = fy_site_float(site, "max");
  levels q = {0, 1};
  if (!(min < max)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "min has to be smaller than max, was: %g >= %g",
                   (double)min, (double)max);
  }
  return levels_of(site, &q, err);
}
static fy_code vars_prepare(fy_site *site, fy_error *err) {
  levels q = {0, 1};
  return levels_of(site, &q, err);
}

// A number in steps: TensorFlow's Args and PerChannel multiply by the steps in a unit, its Vars divides
// by the step, and they round halves of one differently.
FY_CLONES static void quantize(const float *in, float *out, int64_t n, float min, float max,
                               levels q, bool divided) {
  if (min == 0 && max == 0) {
    memset(out, 0, (size_t)n * sizeof *out);
    return;
  }
  const nudged r = nudge(min, max, q);
  if (divided) {
    const float zero = floorf(-r.min / r.scale + 0.5f);
    FY_VECTOR for (int64_t i = 0; i < n; i++) {
      float x = in[i];
      x = x < r.max ? x : r.max;
      x = x > r.min ? x : r.min;
      out[i] = floorf((x - r.min) / r.scale - zero + 0.5f) * r.scale;
    }
    return;
  }
  const float inverse = (q.high - q.low) / (max - min);  // not 1 / scale, which may be just below
  const float zero = floorf(-r.min * inverse + 0.5f);
  FY_VECTOR for (int64_t i = 0; i < n; i++) {
    float x = in[i];
    x = x < r.max ? x : r.max;
    x = x > r.min ? x : r.min;
    out[i] = floorf((x - r.min) * inverse - zero + 0.5f) * r.scale;
  }
}

typedef struct quantize_job {
  const float *in;
  float *out;
  float min, max;
  levels q;
  bool divided;
} quantize_job;

static void quantize_range(void *arg, int64_t begin, int64_t end) {
  const quantize_job *j = arg;
  quantize(j->in + begin, j->out + begin, end - begin, j->min, j->max, j->q, j->divided);
}

static void quantize_all(fy_kernel_ctx *ctx, fy_tensor *out, float min, float max, levels q) {
  const bool vars = ctx->site->num_inputs > 1;
  quantize_job j = {ctx->in[0]->data, out->data, min, max, q, vars};
  fy_parallel(ctx, out->count, 0.4, quantize_range, &j);
}

typedef struct gradient_sums {
  float min, max;
} gradient_sums;

// What |grad| has where |in| is below |min|, and above |max|.
static gradient_sums sum_outside(const float *grad, const float *in, int64_t n, float min,
                                 float max) {
  float below[8] = {0}, above[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; k++) {
      const float x = in[i + k], g = grad[i + k];
      below[k] += x < min ? g : 0.0f;
      above[k] += x > max ? g : 0.0f;
    }
  }
  for (; i < n; i++) {
    below[0] += in[i] < min ? grad[i] : 0;
    above[0] += in[i] > max ? grad[i] : 0;
  }
  for (int k = 1; k < 8; k++) below[0] += below[k], above[0] += above[k];
  return (gradient_sums){below[0], above[0]};
}
FY_CLONES static void keep_inside(const float *grad, const float *in, float *out, int64_t n,
                                  float min, float max) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) {
    const float g = grad[i], inside = in[i] <= max ? g : 0;
    out[i] = in[i] >= min ? inside : 0;
  }
}

// The gradient of |n| elements, and of the range if |sums| is not NULL.
static void pass_back(const float *grad, const float *in, float *out, int64_t n, float min,
                      float max, levels q, gradient_sums *sums) {
  const nudged r = nudge(min, max, q);
  if (sums) *sums = (gradient_sums){0, 0};
  if (min == 0 && max == 0) {
    if (n) memmove(out, grad, (size_t)n * sizeof *out);
    return;
  }
  if (sums) *sums = sum_outside(grad, in, n, r.min, r.max);  // first: |out| may be |grad|
  keep_inside(grad, in, out, n, r.min, r.max);
}

static fy_code same_size(const fy_tensor *a, const fy_tensor *b, fy_error *err) {
  if (fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "gradient and input must be the same size");
}

static fy_code args(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  levels q = {0, 1};
  FY_TRY(levels_of(ctx->site, &q, err));
  FY_TRY(fy_out_like(ctx, 0, ctx->in[0], &out, err));
  quantize_all(ctx, out, fy_site_float(ctx->site, "min"), fy_site_float(ctx->site, "max"), q);
  return FY_OK;
}

static fy_code args_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *in = ctx->in[1];
  fy_tensor *out;
  levels q = {0, 1};
  char x[128], y[128];
  FY_TRY(levels_of(ctx->site, &q, err));
  if (!fy_shape_equal(grad->rank, grad->dims, in->rank, in->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inputs to operation %s of type %s must have the same size and shape.  Input 0: "
                   "%s != input 1: %s",
                   ctx->site->node_name, ctx->site->op->impl->name, fy_tensor_shape_text(grad, x),
                   fy_tensor_shape_text(in, y));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  pass_back(grad->data, in->data, out->data, in->count, fy_site_float(ctx->site, "min"),
            fy_site_float(ctx->site, "max"), q, NULL);
  return FY_OK;
}

static fy_code need_scalar(const fy_tensor *t, const char *name, fy_error *err) {
  if (t->rank == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "`%s` must be rank 0 but is rank %d", name, t->rank);
}

static fy_code vars(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  levels q = {0, 1};
  FY_TRY(levels_of(ctx->site, &q, err));
  FY_TRY(need_scalar(ctx->in[1], "min", err));
  FY_TRY(need_scalar(ctx->in[2], "max", err));
  FY_TRY(fy_out_like(ctx, 0, ctx->in[0], &out, err));
  quantize_all(ctx, out, *(const float *)ctx->in[1]->data, *(const float *)ctx->in[2]->data, q);
  return FY_OK;
}

static fy_code vars_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *in = ctx->in[1];
  fy_tensor *out, *min, *max;
  levels q = {0, 1};
  FY_TRY(levels_of(ctx->site, &q, err));
  FY_TRY(same_size(grad, in, err));
  FY_TRY(need_scalar(ctx->in[2], "min", err));
  FY_TRY(need_scalar(ctx->in[3], "max", err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  FY_TRY(fy_out(ctx, 1, 0, NULL, &min, err));
  FY_TRY(fy_out(ctx, 2, 0, NULL, &max, err));
  gradient_sums s;
  pass_back(grad->data, in->data, out->data, in->count, *(const float *)ctx->in[2]->data,
            *(const float *)ctx->in[3]->data, q, &s);
  *(float *)min->data = s.min;
  *(float *)max->data = s.max;
  return FY_OK;
}

static fy_code check_channels(const fy_kernel_ctx *ctx, const fy_tensor *in, int first,
                              fy_error *err) {
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be at least 1-D");
  }
  const int64_t depth = in->dims[in->rank - 1];
  for (int i = 0; i < 2; i++) {
    const fy_tensor *t = ctx->in[first + i];
    const char *name = i ? "max" : "min";
    if (t->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "`%s` must be rank 1 but is rank %d", name, t->rank);
    }
    if (t->count != depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s has incorrect size, expected %lld was %lld",
                     name, (long long)depth, (long long)t->count);
    }
  }
  return FY_OK;
}

// Numbers of channels that come last: a table of |period| of them, several times all channels.
#define CHANNEL_RUN 64
typedef struct channels_job {
  const float *in;
  float *out;
  int64_t count;
  const float *table;  // [5, period]: nudged min and max, inverse, zero, scale
  int64_t depth, period;
} channels_job;
FY_CLONES static void quantize_channels(const float *in, float *out, int64_t n, const float *table,
                                        int64_t period) {
  const float *min = table, *max = min + period, *inverse = max + period, *zero = inverse + period,
              *scale = zero + period;
  FY_VECTOR for (int64_t i = 0; i < n; i++) {
    float x = in[i];
    x = x < max[i] ? x : max[i];
    x = x > min[i] ? x : min[i];
    out[i] = floorf((x - min[i]) * inverse[i] - zero[i] + 0.5f) * scale[i];
  }
}
static void channels_range(void *arg, int64_t begin, int64_t end) {
  const channels_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t at = i * j->period, n = j->count - at < j->period ? j->count - at : j->period;
    quantize_channels(j->in + at, j->out + at, n, j->table, j->period);
  }
}

static fy_code channels(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  levels q = {0, 1};
  FY_TRY(levels_of(ctx->site, &q, err));
  FY_TRY(check_channels(ctx, in, 1, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (!in->count) return FY_OK;
  channels_job j = {in->data, out->data, in->count, NULL, in->dims[in->rank - 1], 0};
  const int64_t depth = j.depth;
  void *memory;
  j.period = depth * ((CHANNEL_RUN + depth - 1) / depth);
  FY_TRY(fy_scratch(ctx, (size_t)j.period * 5 * sizeof(float), &memory, err));
  j.table = memory;
  for (int64_t i = 0; i < j.period; i++) {
    const float min = ((const float *)ctx->in[1]->data)[i % depth];
    const float max = ((const float *)ctx->in[2]->data)[i % depth];
    const bool none = min == 0 && max == 0;
    const nudged r = nudge(min, max, q);
    const float inverse = (q.high - q.low) / (max - min);
    float *t = (float *)memory + i;
    t[0] = none ? 0 : r.min;
    t[j.period] = none ? 0 : r.max;
    t[2 * j.period] = none ? 0 : inverse;
    t[3 * j.period] = none ? 0 : floorf(-r.min * inverse + 0.5f);
    t[4 * j.period] = none ? 0 : r.scale;
  }
  fy_parallel(ctx, (in->count + j.period - 1) / j.period, (double)j.period * 0.6, channels_range,
              &j);
  return FY_OK;
}

// Arrays of a period, as above: ranges, what lies outside of them, and where everything is inside.
typedef struct channel_sums {
  float *min, *max, *below, *above;
  int32_t *all;
} channel_sums;
FY_CLONES static void pass_channels_back(const float *grad, const float *in, float *out, int64_t n,
                                         channel_sums s) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) {
    const float x = in[i], g = grad[i], inside = x <= s.max[i] ? g : 0,
                kept = x >= s.min[i] ? inside : 0;
    s.below[i] += x < s.min[i] ? g : 0;
    s.above[i] += x > s.max[i] ? g : 0;
    out[i] = s.all[i] ? g : kept;
  }
}

static fy_code channels_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *in = ctx->in[1];
  fy_tensor *out, *min, *max;
  levels q = {0, 1};
  FY_TRY(levels_of(ctx->site, &q, err));
  FY_TRY(same_size(grad, in, err));
  FY_TRY(check_channels(ctx, in, 2, err));
  const int64_t depth = in->dims[in->rank - 1];
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &depth, &min, err));
  FY_TRY(fy_out(ctx, 2, 1, &depth, &max, err));
  memset(min->data, 0, fy_tensor_bytes(min));
  memset(max->data, 0, fy_tensor_bytes(max));
  if (!in->count) return FY_OK;
  const int64_t period = depth * ((CHANNEL_RUN + depth - 1) / depth);
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)period * 5 * sizeof(float), &memory, err));
  float *part = memory;
  const channel_sums sums = {part, part + period, part + 2 * period, part + 3 * period,
                             (int32_t *)(void *)(part + 4 * period)};
  memset(sums.below, 0, 2 * (size_t)period * sizeof(float));
  for (int64_t i = 0; i < period; i++) {
    const float low = ((const float *)ctx->in[2]->data)[i % depth];
    const float high = ((const float *)ctx->in[3]->data)[i % depth];
    const nudged r = nudge(low, high, q);
    sums.all[i] = low == 0 && high == 0;
    sums.min[i] = sums.all[i] ? -INFINITY : r.min;
    sums.max[i] = sums.all[i] ? INFINITY : r.max;
  }
  for (int64_t at = 0; at < in->count; at += period) {
    pass_channels_back((const float *)grad->data + at, (const float *)in->data + at,
                       (float *)out->data + at, in->count - at < period ? in->count - at : period,
                       sums);
  }
  for (int64_t i = 0; i < period; i++) {
    ((float *)min->data)[i % depth] += sums.below[i];
    ((float *)max->data)[i % depth] += sums.above[i];
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code vars_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  return fy_shape_rank_is(ctx->in[2], 0, err);
}
static fy_code vars_gradient_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape both;
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &both, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  FY_TRY(fy_shape_set(ctx, 0, both.rank, both.dims, err));
  FY_TRY(fy_shape_set(ctx, 1, 0, NULL, err));
  return fy_shape_set(ctx, 2, 0, NULL, err);
}
static fy_code args_gradient_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err);
}
static fy_code channels_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t depth = -1;
  fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  if (in.rank > 0) depth = in.dims[in.rank - 1];
  FY_TRY(fy_dim_merge(depth, fy_dim_of(ctx->in[1], 0), &depth, err));
  FY_TRY(fy_dim_merge(depth, fy_dim_of(ctx->in[2], 0), &depth, err));
  if (in.rank < 0) return fy_shape_set(ctx, 0, -1, NULL, err);
  int64_t *dims = fy_shape_dims(ctx, in.rank);
  if (!dims) return fy_fail_oom(err, 0);
  memcpy(dims, in.dims, (size_t)in.rank * sizeof *dims);
  dims[in.rank - 1] = depth;
  return fy_shape_set(ctx, 0, in.rank, dims, err);
}
static fy_code channels_gradient_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t depth = -1;
  fy_pshape in;
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_at_most(ctx->in[0], 4, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &in, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 1, err));
  if (in.rank > 0) depth = in.dims[in.rank - 1];
  for (int i = 2; i < 4; i++) {
    fy_pshape range;
    FY_TRY(fy_shape_merge(ctx, ctx->in[i], (fy_pshape){1, &depth}, &range, err));
    depth = fy_dim_of(range, 0);
  }
  if (in.rank >= 0) {
    int64_t *dims = fy_shape_dims(ctx, in.rank);
    if (!dims) return fy_fail_oom(err, 0);
    memcpy(dims, in.dims, (size_t)in.rank * sizeof *dims);
    dims[in.rank - 1] = depth;
    FY_TRY(fy_shape_set(ctx, 0, in.rank, dims, err));
  }
  FY_TRY(fy_shape_set(ctx, 1, 1, &depth, err));
  return fy_shape_set(ctx, 2, 1, &depth, err);
}

static const fy_sample args_samples[] = {
    {"f32[3]=-7,0.01,7", "min=-6.0; max=6.0; num_bits=2", FY_OK, "-8,0,4"},
};
static const fy_sample args_grad_samples[] = {
    {"f32[3]=1,2,3; f32[3]=-9,0,9", NULL, FY_OK, "0,2,0"},
};
static const fy_sample vars_samples[] = {
    {"f32[3]=-1,0.3,1; f32[]=0; f32[]=3", "num_bits=2", FY_OK, "0,0,1"},
};
static const fy_sample vars_grad_samples[] = {
    {"f32[3]=1,2,3; f32[3]=-9,0,9; f32[]=-6; f32[]=6", NULL, FY_OK, "0,2,0"},
};
static const fy_sample channel_samples[] = {
    {"f32[2,2]=-1,0.3,1,9; f32[2]=0,0; f32[2]=3,3", "num_bits=2", FY_OK, "0,0,1,3"},
};
static const fy_sample channel_grad_samples[] = {
    {"f32[2,2]=1,2,3,4; f32[2,2]=-1,0.3,1,9; f32[2]=0,0; f32[2]=3,3", "num_bits=2", FY_OK,
     "0,2,3,0"},
};
FY_OP(FakeQuantWithMinMaxArgs, .shape = fy_shape_unchanged, .prepare = args_prepare,
      .compute = args, FY_SAMPLES(args_samples));
FY_OP(FakeQuantWithMinMaxArgsGradient, .shape = args_gradient_shape, .prepare = args_prepare,
      .compute = args_gradient, FY_SAMPLES(args_grad_samples));
FY_OP(FakeQuantWithMinMaxVars, .shape = vars_shape, .prepare = vars_prepare, .compute = vars,
      FY_SAMPLES(vars_samples));
FY_OP(FakeQuantWithMinMaxVarsGradient, .shape = vars_gradient_shape, .prepare = vars_prepare,
      .compute = vars_gradient, FY_SAMPLES(vars_grad_samples));
FY_OP(FakeQuantWithMinMaxVarsPerChannel, .shape = channels_shape, .prepare = vars_prepare,
      .compute = channels, FY_SAMPLES(channel_samples));
FY_OP(FakeQuantWithMinMaxVarsPerChannelGradient, .shape = channels_gradient_shape,
      .prepare = vars_prepare, .compute = channels_gradient, FY_SAMPLES(channel_grad_samples));

// SPDX-License-Identifier: Apache-2.0
// fused_contraction.c: _FusedMatMul, _FusedConv2D, _FusedDepthwiseConv2dNative and _FusedBatchNormEx,
// which TensorFlow's own optimizer leaves in graphs that were saved after it ran.
//
// The plain op's loop makes the product; what |fused_ops| names is then done to the result in place,
// in order. Each step that needs operands takes the next of the inputs after the second.

#include <math.h>

#include "base/alloc.h"
#include "ops/conv.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

extern const fy_op_impl fy_impl_MatMul, fy_impl_Conv2D, fy_impl_DepthwiseConv2dNative,
    fy_impl_FusedBatchNormV3;

// The result as [outer, channels, inner].
typedef struct result {
  fy_tensor *t;
  int64_t outer, channels, inner;
} result;

// ---------------------------------------------------------------- steps on one element
static double leaky(double x, double alpha) {
  return x > 0 ? x : x * alpha;
}
static double gelu_exact(double x, double unused) {
  (void)unused;
  return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}
static double gelu_approximate(double x, double unused) {
  (void)unused;
  return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
static double relu(double x, double unused) {
  (void)unused;
  return x > 0 || isnan(x) ? x : 0;
}
static double relu6(double x, double unused) {
  (void)unused;
  return x > 0 || isnan(x) ? (x < 6 || isnan(x) ? x : 6) : 0;
}
static double elu(double x, double unused) {
  (void)unused;
  return x < 0 ? expm1(x) : x;
}
static double hyperbolic(double x, double unused) {
  (void)unused;
  return tanh(x);
}
static double logistic(double x, double unused) {
  (void)unused;
  return 1 / (1 + exp(-x));
}
typedef struct step {
  const char *name;
  double (*fn)(double x, double alpha);
} step;
static const step steps[] = {
    {"Relu", relu},
    {"Relu6", relu6},
    {"Elu", elu},
    {"Tanh", hyperbolic},
    {"Sigmoid", logistic},
    {"LeakyRelu", leaky},
    {"GeluExact", gelu_exact},
    {"GeluApproximate", gelu_approximate},
};

static double get(const fy_tensor *t, int64_t i) {
  return fy_tensor_double(t, i);
}
static void put(fy_tensor *t, int64_t i, double v) {
  switch (t->dtype) {
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_st_half((float)v); break;
    case FY_BFLOAT16: ((uint16_t *)t->data)[i] = fy_float_to_bfloat16((float)v); break;
    case FY_FLOAT: ((float *)t->data)[i] = (float)v; break;
    default: ((double *)t->data)[i] = v;
  }
}

static fy_code need_vector(const fy_tensor *t, const result *r, fy_error *err) {
  char x[128];
  if (t->rank == 1 && t->count == r->channels) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Must provide as many biases as the last dimension of the result: %s vs. %lld",
                 fy_tensor_shape_text(t, x), (long long)r->channels);
}

static fy_code add_bias(const result *r, const fy_tensor *bias, fy_error *err) {
  FY_TRY(need_vector(bias, r, err));
  for (int64_t i = 0; i < r->t->count; i++) {
    put(r->t, i, get(r->t, i) + get(bias, i / r->inner % r->channels));
  }
  return FY_OK;
}

// |v| is scale, offset, mean, variance.
static fy_code normalise(const result *r, fy_tensor *const *v, double epsilon, fy_error *err) {
  for (int k = 0; k < 4; k++) FY_TRY(need_vector(v[k], r, err));
  for (int64_t i = 0; i < r->t->count; i++) {
    const int64_t c = i / r->inner % r->channels;
    const double scale = get(v[0], c) / sqrt(get(v[3], c) + epsilon);
    put(r->t, i, (get(r->t, i) - get(v[2], c)) * scale + get(v[1], c));
  }
  return FY_OK;
}

static fy_code add_tensor(const result *r, const fy_tensor *other, fy_error *err) {
  char x[128], y[128];
  if (!fy_shape_equal(r->t->rank, r->t->dims, other->rank, other->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "the tensor to add has shape %s, the result %s",
                   fy_tensor_shape_text(other, x), fy_tensor_shape_text(r->t, y));
  }
  for (int64_t i = 0; i < other->count; i++) put(r->t, i, get(r->t, i) + get(other, i));
  return FY_OK;
}

static const step *step_of(fy_view name) {
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (fy_view_is(name, steps[i].name)) return &steps[i];
  }
  return NULL;
}

// How many of the extra inputs step |name| takes; -1 = no such step.
static int operands_of(fy_view name) {
  if (fy_view_is(name, "BiasAdd") || fy_view_is(name, "Add")) return 1;
  if (fy_view_is(name, "FusedBatchNorm")) return 4;
  return step_of(name) ? 0 : -1;
}

static fy_code check_steps(const fy_site *site, fy_error *err) {
  const fy_attr *names = fy_site_attr(site, "fused_ops");
  const int64_t given = fy_site_int(site, "num_args");
  int64_t wanted = 0;
  if (!names || names->n == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must have at least one fused op.",
                   site->op->impl->name);
  }
  for (uint32_t i = 0; i < names->n; i++) {
    const fy_view name = names->v.strings[i];
    if (operands_of(name) < 0) {
      return fy_fail(err, FY_UNIMPLEMENTED, "Fusion is not implemented: %.*s", (int)name.n, name.p);
    }
    wanted += operands_of(name);
  }
  if (wanted == given) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "the fused ops take %lld extra arguments, got %lld",
                 (long long)wanted, (long long)given);
}

static fy_code do_steps(fy_kernel_ctx *ctx, const result *r, fy_error *err) {
  const fy_attr *names = fy_site_attr(ctx->site, "fused_ops");
  const double epsilon = (double)fy_site_float(ctx->site, "epsilon");
  const double alpha = (double)fy_site_float(ctx->site, "leakyrelu_alpha");
  int at = 2;
  for (uint32_t i = 0; i < names->n; i++) {
    const fy_view name = names->v.strings[i];
    const step *s = step_of(name);
    if (s) {
      for (int64_t k = 0; k < r->t->count; k++) put(r->t, k, s->fn(get(r->t, k), alpha));
    } else if (fy_view_is(name, "BiasAdd")) {
      FY_TRY(add_bias(r, ctx->in[at], err));
    } else if (fy_view_is(name, "Add")) {
      FY_TRY(add_tensor(r, ctx->in[at], err));
    } else {
      FY_TRY(normalise(r, ctx->in + at, epsilon, err));
    }
    at += operands_of(name);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- the ops
static result last_dim(fy_tensor *t) {
  const int64_t c = t->dims[t->rank - 1];
  return (result){t, c ? t->count / c : 0, c, 1};
}
static result channel_dim(fy_tensor *t, bool channels_last) {
  if (channels_last) return last_dim(t);
  return (result){t, t->dims[0], t->dims[1], fy_product(t->dims + 2, t->rank - 2)};
}

static fy_code fused_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  FY_TRY(fy_impl_MatMul.compute(ctx, err));
  const result r = last_dim(ctx->out[0]);
  return r.t->count ? do_steps(ctx, &r, err) : FY_OK;
}

static fy_code fused_conv(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_op_impl *plain = ctx->site->op->impl->aux;
  const fy_window_attrs *a = ctx->site->state;
  FY_TRY(plain->compute(ctx, err));
  const result r = channel_dim(ctx->out[0], a->channels_last);
  return r.t->count ? do_steps(ctx, &r, err) : FY_OK;
}

static fy_code fused_norm(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_view mode = fy_site_string(ctx->site, "activation_mode");
  FY_TRY(fy_impl_FusedBatchNormV3.compute(ctx, err));
  fy_tensor *out = ctx->out[0];
  const result r = {out, 1, 1, out->count};
  if (ctx->site->num_inputs > 5) FY_TRY(add_tensor(&r, ctx->in[5], err));
  for (int64_t i = 0; fy_view_is(mode, "Relu") && i < out->count; i++) {
    put(out, i, relu(get(out, i), 0));
  }
  return FY_OK;
}

static fy_code matmul_prepare(fy_site *site, fy_error *err) {
  return check_steps(site, err);
}
static fy_code conv_prepare(fy_site *site, fy_error *err) {
  FY_TRY(check_steps(site, err));
  const fy_op_impl *plain = site->op->impl->aux;
  return plain->prepare(site, err);
}
static fy_code norm_prepare(fy_site *site, fy_error *err) {
  const fy_view mode = fy_site_string(site, "activation_mode");
  if (!fy_view_is(mode, "Identity") && !fy_view_is(mode, "Relu")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported activation mode: %.*s", (int)mode.n,
                   mode.p);
  }
  if (fy_site_int(site, "num_side_inputs") > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "_FusedBatchNormEx accepts at most one side input.");
  }
  return fy_impl_FusedBatchNormV3.prepare(site, err);
}

static fy_code matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_impl_MatMul.shape(ctx, err);
}
static fy_code norm_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_impl_FusedBatchNormV3.shape(ctx, err);
}

#define CONV "strides=[1,1,1,1]; padding=\"VALID\"; "
static const fy_sample matmul_samples[] = {
    {"f32[1,2]=1,2; f32[2,2]=1,-1,1,-1; f32[2]=1,1",
     "num_args=1; fused_ops=[\"BiasAdd\",\"Relu\"]; T=float", FY_OK, "4,0"},
};
static const fy_sample conv_samples[] = {
    {"f32[1,1,2,1]=1,-2; f32[1,1,1,1]=3; f32[1]=1",
     CONV "num_args=1; fused_ops=[\"BiasAdd\",\"Relu\"]; T=float; TArgs=[float]; num_host_args=0",
     FY_OK, "4,0"},
};
static const fy_sample depthwise_samples[] = {
    {"f32[1,1,2,1]=1,-2; f32[1,1,1,1]=3; f32[1]=1",
     CONV "num_args=1; fused_ops=[\"BiasAdd\",\"Relu6\"]; T=float", FY_OK, "4,0"},
};
static const fy_sample norm_samples[] = {
    {"f32[1,1,2,1]=1,-2; f32[1]=1; f32[1]=0; f32[1]=0; f32[1]=1",
     "is_training=false; epsilon=0.0; num_side_inputs=0; activation_mode=\"Relu\"; T=float; "
     "U=float",
     FY_OK, "1,0"},
};
FY_OP(_FusedMatMul, .shape = matmul_shape, .prepare = matmul_prepare, .compute = fused_matmul,
      FY_SAMPLES(matmul_samples));
FY_OP(_FusedConv2D, .shape = fy_conv2d_shape, .prepare = conv_prepare, .compute = fused_conv,
      .release = fy_free, .aux = &fy_impl_Conv2D, FY_SAMPLES(conv_samples));
FY_OP(_FusedDepthwiseConv2dNative, .shape = fy_depthwise_shape, .prepare = conv_prepare,
      .compute = fused_conv, .release = fy_free, .aux = &fy_impl_DepthwiseConv2dNative,
      FY_SAMPLES(depthwise_samples));
FY_OP(_FusedBatchNormEx, .shape = norm_shape, .prepare = norm_prepare, .compute = fused_norm,
      .release = fy_free, FY_SAMPLES(norm_samples));

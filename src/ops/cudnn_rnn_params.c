// SPDX-License-Identifier: Apache-2.0
// cudnn_rnn_params.c: CudnnRNNParamsSize, CudnnRNNParamsToCanonical and CudnnRNNCanonicalToParams: the one
// buffer of parameters of a stack of recurrent layers, and its matrices and biases one by one. Where they
// are in the buffer: rnn_stack.h.

#include "ops/rnn_stack.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define MOST ((int64_t)1 << 40)  // elements: more than memory has

// a * b + c, or -1 if that or one of them is too large.
static int64_t times_plus(int64_t a, int64_t b, int64_t c) {
  if (a < 0 || b < 0 || c < 0 || (b && a > MOST / b)) return -1;
  return a * b + c > MOST ? -1 : a * b + c;
}

static int64_t part_weights(const fy_rnn_stack *s, bool first) {
  const int64_t inputs = !first ? s->dirs * s->outs : s->skip ? 0 : s->inputs;
  const int64_t rows = times_plus(s->gates, s->units, 0);
  return times_plus(rows, inputs + s->outs, s->projects ? times_plus(s->units, s->outs, 0) : 0);
}

int64_t fy_rnn_stack_weights(const fy_rnn_stack *s) {
  const int64_t first = times_plus(s->dirs, part_weights(s, true), 0);
  if (s->layers < 2) return first;
  return times_plus((s->layers - 1) * s->dirs, part_weights(s, false), first);
}
int64_t fy_rnn_stack_params(const fy_rnn_stack *s) {
  const int64_t biases = times_plus(2 * s->gates, s->units, 0);
  return times_plus(s->layers * s->dirs, biases, fy_rnn_stack_weights(s));
}

fy_rnn_part fy_rnn_stack_part(const fy_rnn_stack *s, int64_t part) {
  const bool first = part < s->dirs;
  const int64_t rows = s->gates * s->units;
  fy_rnn_part p = {.inputs = first ? s->inputs : s->dirs * s->outs};
  p.w = first ? part * part_weights(s, true)
              : s->dirs * part_weights(s, true) + (part - s->dirs) * part_weights(s, false);
  p.r = p.w + rows * (first && s->skip ? 0 : p.inputs);
  p.projection = p.r + rows * s->outs;
  p.w_bias = fy_rnn_stack_weights(s) + part * 2 * rows;
  p.r_bias = p.w_bias + rows;
  return p;
}

fy_code fy_rnn_stack_make(const fy_site *site, int64_t layers, int64_t inputs, int64_t units,
                          int64_t outs, fy_rnn_stack *s, fy_error *err) {
  const fy_view mode = fy_site_string(site, "rnn_mode"), in = fy_site_string(site, "input_mode");
  *s =
      (fy_rnn_stack){.mode = fy_view_is(mode, "lstm")       ? FY_RNN_LSTM
                             : fy_view_is(mode, "gru")      ? FY_RNN_GRU
                             : fy_view_is(mode, "rnn_relu") ? FY_RNN_RELU
                                                            : FY_RNN_TANH,
                     .dirs = fy_view_is(fy_site_string(site, "direction"), "bidirectional") ? 2 : 1,
                     .layers = layers,
                     .inputs = inputs,
                     .units = units,
                     .outs = outs,
                     .projects = fy_site_attr(site, "num_proj") && fy_site_int(site, "num_proj")};
  s->gates = s->mode == FY_RNN_LSTM ? 4 : s->mode == FY_RNN_GRU ? 3 : 1;
  s->skip = fy_view_is(in, "skip_input") || (fy_view_is(in, "auto_select") && inputs == units);
  if (s->projects && s->mode != FY_RNN_LSTM) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "num_proj is for rnn_mode 'lstm': only cells with a state of their own can give "
                   "on less than they keep");
  }
  if (s->skip && inputs != units) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input_mode 'skip_input' needs as many inputs as units, got %lld and %lld",
                   (long long)inputs, (long long)units);
  }
  if (layers < 1 || layers > MOST || inputs < 0 || inputs > MOST || units < 1 || units > MOST ||
      outs < 1 || outs > units || fy_rnn_stack_params(s) < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "There is no stack of %lld layers with %lld inputs, %lld units and %lld outputs",
                   (long long)layers, (long long)inputs, (long long)units, (long long)outs);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- ops
static const char *const sizes[] = {"num_layers", "num_units", "input_size"};

static fy_code make_stack(fy_kernel_ctx *ctx, fy_rnn_stack *s, fy_error *err) {
  int64_t v[3];
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->count != 1 || ctx->in[i]->rank) {
      char text[128];
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, got shape %s", sizes[i],
                     fy_tensor_shape_text(ctx->in[i], text));
    }
    v[i] = *(const int32_t *)ctx->in[i]->data;
  }
  const bool knows = fy_site_attr(ctx->site, "num_proj") != NULL;
  const int64_t projected = knows ? fy_site_int(ctx->site, "num_proj") : 0;
  return fy_rnn_stack_make(ctx->site, v[0], v[2], v[1], projected ? projected : v[1], s, err);
}

static fy_code params_size(fy_kernel_ctx *ctx, fy_error *err) {
  fy_rnn_stack s;
  fy_tensor *out;
  FY_TRY(make_stack(ctx, &s, err));
  const int64_t n = fy_rnn_stack_params(&s), one = 1;
  if (ctx->site->out_types[0] == FY_INT32 && n > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%lld parameters do not fit an int32: ask for S=int64",
                   (long long)n);
  }
  FY_TRY(fy_out(ctx, 0, 1, &one, &out, err));
  if (out->dtype == FY_INT32)
    *(int32_t *)out->data = (int32_t)n;
  else
    *(int64_t *)out->data = n;
  return FY_OK;
}

// Matrix |i| of all: [*rows, *columns] from element |*at| on. Each part has |per| of them.
static int64_t per_part(const fy_rnn_stack *s) {
  return 2 * s->gates + (s->projects ? 1 : 0);
}
static void matrix(const fy_rnn_stack *s, int64_t i, int64_t *at, int64_t *rows, int64_t *columns) {
  const int64_t part = i / per_part(s), k = i % per_part(s);
  const fy_rnn_part p = fy_rnn_stack_part(s, part);
  const int64_t inputs = part < s->dirs && s->skip ? 0 : p.inputs;
  *rows = k == 2 * s->gates ? s->outs : s->units;
  *columns = k < s->gates ? inputs : k == 2 * s->gates ? s->units : s->outs;
  *at = k < s->gates       ? p.w + k * s->units * inputs
        : k < 2 * s->gates ? p.r + (k - s->gates) * s->units * s->outs
                           : p.projection;
}

static int64_t num_biases(const fy_rnn_stack *s) {
  return s->layers * s->dirs * 2 * s->gates;
}

// How many tensors there are: attributes num_params, or num_params_weights and num_params_biases.
static fy_code count_tensors(const fy_kernel_ctx *ctx, const fy_rnn_stack *s, int64_t *weights,
                             int64_t *biases, fy_error *err) {
  const bool two = fy_site_attr(ctx->site, "num_params") == NULL;
  *weights = fy_site_int(ctx->site, two ? "num_params_weights" : "num_params");
  *biases = fy_site_int(ctx->site, two ? "num_params_biases" : "num_params");
  const int64_t want = s->layers * s->dirs * per_part(s);
  if (*weights == want && *biases == num_biases(s)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Number of params mismatch: a stack of %lld layers has %lld matrices and %lld "
                 "biases, got %lld and %lld",
                 (long long)s->layers, (long long)want, (long long)num_biases(s),
                 (long long)*weights, (long long)*biases);
}

static fy_code to_canonical(fy_kernel_ctx *ctx, fy_error *err) {
  fy_rnn_stack s;
  int64_t weights, biases, at, rows, columns;
  fy_tensor *out;
  FY_TRY(make_stack(ctx, &s, err));
  FY_TRY(count_tensors(ctx, &s, &weights, &biases, err));
  const fy_tensor *params = ctx->in[3];
  const size_t size = fy_dtype_size(params->dtype);
  if (params->count != fy_rnn_stack_params(&s)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "params must have %lld elements, got %lld",
                   (long long)fy_rnn_stack_params(&s), (long long)params->count);
  }
  for (int64_t i = 0; i < weights + biases; i++) {
    if (i < weights) {
      matrix(&s, i, &at, &rows, &columns);
      FY_TRY(fy_out(ctx, (int)i, 2, (int64_t[]){rows, columns}, &out, err));
    } else {
      at = fy_rnn_stack_weights(&s) + (i - weights) * s.units;
      FY_TRY(fy_out(ctx, (int)i, 1, &s.units, &out, err));
    }
    if (out->count)
      memcpy(out->data, (const char *)params->data + (size_t)at * size, (size_t)out->count * size);
  }
  return FY_OK;
}

static fy_code to_params(fy_kernel_ctx *ctx, fy_error *err) {
  fy_rnn_stack s;
  int64_t weights, biases, at, rows, columns;
  fy_tensor *out;
  FY_TRY(make_stack(ctx, &s, err));
  FY_TRY(count_tensors(ctx, &s, &weights, &biases, err));
  const int64_t n = fy_rnn_stack_params(&s);
  const size_t size = fy_dtype_size(ctx->site->out_types[0]);
  for (int64_t i = 0; i < weights + biases; i++) {
    const fy_tensor *t = ctx->in[3 + i];
    if (i < weights) matrix(&s, i, &at, &rows, &columns);
    const int64_t want = i < weights ? rows * columns : s.units;
    if (t->count != want) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s %lld must have %lld elements, got %lld",
                     i < weights ? "Matrix" : "Bias", (long long)(i < weights ? i : i - weights),
                     (long long)want, (long long)t->count);
    }
  }
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
  for (int64_t i = 0; i < weights + biases; i++) {
    const fy_tensor *t = ctx->in[3 + i];
    if (i < weights)
      matrix(&s, i, &at, &rows, &columns);
    else
      at = fy_rnn_stack_weights(&s) + (i - weights) * s.units;
    if (t->count) memcpy((char *)out->data + (size_t)at * size, t->data, (size_t)t->count * size);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code scalars(const fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < 3; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  return FY_OK;
}
static fy_code size_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t one = 1;
  FY_TRY(scalars(ctx, err));
  return fy_shape_set(ctx, 0, 1, &one, err);
}
static fy_code canonical_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[3], 1, err));
  int64_t weights = fy_shape_attr_int(ctx, "num_params", -1);
  if (weights < 0) weights = fy_shape_attr_int(ctx, "num_params_weights", 0);
  for (int i = 0; i < ctx->num_outputs; i++)
    FY_TRY(fy_shape_set(ctx, i, i < weights ? 2 : 1, NULL, err));
  return FY_OK;
}
static fy_code vector_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, 1, NULL, err);
}

#define REALS (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE) | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
static const fy_sample size_samples[] = {
    {"i32[]=1; i32[]=2; i32[]=3", "T=float; S=int32", FY_OK, NULL},
    {"i32[]=1; i32[]=2; i32[]=3", "T=float; S=int64; input_mode=\"skip_input\"",
     FY_INVALID_ARGUMENT, "input_mode 'skip_input' needs as many inputs as units, got 3 and 2"},
    {"i32[]=0; i32[]=2; i32[]=3", "T=float; S=int32", FY_INVALID_ARGUMENT,
     "There is no stack of 0 layers with 3 inputs, 2 units and 2 outputs"},
};
static const fy_sample to_canonical_samples[] = {
    {"i32[]=1; i32[]=1; i32[]=2; f32[5]=1,2,3,4,5", "num_params=2; rnn_mode=\"rnn_relu\"", FY_OK,
     NULL},
    {"i32[]=1; i32[]=1; i32[]=2; f32[4]=1,2,3,4", "num_params=2; rnn_mode=\"rnn_relu\"",
     FY_INVALID_ARGUMENT, "params must have 5 elements, got 4"},
};

FY_OP(CudnnRNNParamsSize, .shape = size_shape, .compute = params_size, .flags = FY_OP_HOST,
      .dtypes = REALS | FY_T(FY_INT32) | FY_T(FY_INT64), FY_SAMPLES(size_samples));
FY_OP(CudnnRNNParamsToCanonical, .shape = canonical_shape, .compute = to_canonical,
      .flags = FY_OP_HOST, .dtypes = REALS, FY_SAMPLES(to_canonical_samples));
FY_OP(CudnnRNNParamsToCanonicalV2, .shape = canonical_shape, .compute = to_canonical,
      .flags = FY_OP_HOST, .dtypes = REALS);
FY_OP(CudnnRNNCanonicalToParams, .shape = vector_shape, .compute = to_params, .flags = FY_OP_HOST,
      .dtypes = REALS);
FY_OP(CudnnRNNCanonicalToParamsV2, .shape = vector_shape, .compute = to_params, .flags = FY_OP_HOST,
      .dtypes = REALS);

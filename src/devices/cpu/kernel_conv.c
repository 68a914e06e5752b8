// SPDX-License-Identifier: Apache-2.0
// kernel_conv.c: convolutions of floats and doubles in NHWC, forward and towards the input, by the
// kernel of gemm.h. Filters are packed, once if they are steady.

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "devices/cpu/epilogue.h"
#include "devices/cpu/winograd.h"
#include "ops/turn.h"
#include "ops/values.h"

static bool is_point(const fy_conv *c) {
  for (int i = 0; i < 3; i++) {
    const fy_window *w = &c->w[i];
    if (w->size != 1 || w->stride != 1 || w->before || w->after) return false;
  }
  return true;
}

// Runs |j| once per group: |step_a|, |step_b|, |step_c| elements from one to the next.
static void run_groups(fy_kernel_ctx *ctx, fy_gemm_job *j, int64_t groups, int64_t step_a,
                       size_t packed_bytes, int64_t step_c, size_t size) {
  const char *b = j->b, *bias = j->bias, *add = j->add;
  char *c = j->c;
  for (int64_t g = 0; g < groups; g++) {
    j->first = g * step_a;
    j->b = b + (size_t)g * packed_bytes;
    j->c = c + (size_t)(g * step_c) * size;
    if (bias) j->bias = bias + (size_t)(g * j->bias_step) * size;
    if (add) j->add = add + (size_t)(g * step_c) * size;
    fy_gemm_run(ctx, j);
  }
}

// Columns of one group's bias, whole panels.
static int64_t padded_columns(const fy_conv *c, fy_gemm_type type) {
  const int64_t panel = fy_gemm_best()->columns[type], n = c->out_depth / c->groups;
  return (n + panel - 1) / panel * panel;
}

// The packed filter, input |at|, and after it the bias of each group, then the scales.
static fy_code weights(fy_kernel_ctx *ctx, int at, const fy_epilogue *e, const fy_conv *c,
                       fy_gemm_type type, size_t bytes, size_t group_bytes, fy_packed **out,
                       fy_error *err) {
  const size_t size = fy_gemm_size(type);
  const int64_t columns = c->out_depth / c->groups, k = c->taps * c->filter_depth;
  const int64_t padded = padded_columns(c, type);
  const size_t bias_bytes = (size_t)(padded * c->groups) * size;
  const size_t all_bytes = (size_t)c->out_depth * size;
  fy_pack_cache *cache = ctx->site->fast_state;
  bool fresh;
  FY_TRY(fy_pack_acquire(ctx, cache, at, fy_epilogue_weights(e), bytes + bias_bytes + 2 * all_bytes,
                         out, &fresh, err));
  if (!fresh) return FY_OK;
  char *packed = (*out)->data, *bias = packed + bytes;
  char *scale = bias + bias_bytes, *flat = scale + all_bytes;
  const fy_tensor *from = ctx->in[at];
  const void *filter;
  FY_TRY(fy_plain_load(ctx, from->dtype, from->data, 1, 1, from->count, true, &filter, err));
  const bool has_bias = fy_epilogue_fold(ctx, e, type, c->out_depth, c->out_depth, scale, flat);
  const bool scaled = e && e->scales;
  if (has_bias) {
    (*out)->bias = bias;
    memset(bias, 0, bias_bytes);
  }
  for (int64_t g = 0; g < c->groups; g++) {
    const size_t first = (size_t)(g * columns) * size;
    fy_gemm_pack(ctx, type, (const char *)filter + first, k, columns, c->out_depth, 1,
                 scaled ? scale + first : NULL, packed + (size_t)g * group_bytes);
    if (has_bias) memcpy(bias + (size_t)(g * padded) * size, flat + first, (size_t)columns * size);
  }
  return FY_OK;
}

static size_t weight_bytes(const fy_conv *c, fy_gemm_type type, size_t packed) {
  const size_t size = fy_gemm_size(type);
  return packed + (size_t)(padded_columns(c, type) * c->groups) * size +
         2 * (size_t)c->out_depth * size;
}

// As conv() goes about it.
static void conv_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_epilogue *e = fy_epilogue_of(ctx->site);
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  fy_conv c;
  size_t bytes;
  if (!attrs->channels_last || in->dtype != filter->dtype ||
      fy_conv_forward(ctx, in, filter, false, &c, NULL) || !in->count || !filter->count ||
      c.groups < 1 || c.out_depth % c.groups || c.out_spatial < 1)
    return;
  const fy_gemm_type type = in->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  const size_t size = fy_gemm_size(type);
  const int64_t columns = c.out_depth / c.groups, m = c.batch * c.out_spatial;
  const fy_gemm_job j = {.type = type,
                         .m = m,
                         .n = columns,
                         .depth = c.filter_depth,
                         .taps = c.taps,
                         .conv = &c,
                         .pixel = c.in_depth,
                         .ldc = c.out_depth};
  if (!fy_gemm_can(&j) ||
      !fy_gemm_packed_bytes(type, c.taps * c.filter_depth, columns, c.groups, &bytes) ||
      !fy_epilogue_fits(ctx, e, c.out_depth, m * c.out_depth))
    return;
  out->scratch += fy_scratch_line((size_t)c.filter_depth * size);
  if (fy_plain_type(in->dtype) != in->dtype)
    out->scratch += fy_scratch_line((size_t)in->count * size) +
                    fy_scratch_line((size_t)filter->count * size) +
                    fy_scratch_line((size_t)(m * c.out_depth) * size);
  if (type == FY_GEMM_F32 && fy_winograd_fits(&c)) out->scratch += fy_winograd_needs(ctx, &c);
  fy_pack_needs(ctx, 1, fy_epilogue_weights(e), weight_bytes(&c, type, bytes), out);
}

// ---------------------------------------------------------------- 16-bit floats
// They are widened, convolved as floats, and rounded once, as the reference does.
typedef struct convert_job {
  fy_dtype type;
  const uint16_t *in;
  float *wide;
  uint16_t *out;
} convert_job;

static void widen(void *arg, int64_t begin, int64_t end) {
  const convert_job *j = arg;
  if (j->type == FY_HALF)
    fy_halves_to_floats(j->in + begin, j->wide + begin, end - begin);
  else
    for (int64_t i = begin; i < end; i++) j->wide[i] = fy_bfloat16_to_float(j->in[i]);
}

static void narrow(void *arg, int64_t begin, int64_t end) {
  const convert_job *j = arg;
  fy_plain_store(j->type, j->wide + begin, j->out + begin, 1, 1, end - begin, true);
}

static fy_code widened(fy_kernel_ctx *ctx, const fy_tensor *t, const void **out, fy_error *err) {
  void *wide;
  *out = t->data;
  if (fy_plain_type(t->dtype) == t->dtype) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)t->count * sizeof(float), &wide, err));
  convert_job j = {t->dtype, t->data, wide, NULL};
  fy_parallel(ctx, t->count, 0.2, widen, &j);
  *out = wide;
  return FY_OK;
}

// Of |in| with the filter that is input |at|.
static fy_code convolve(fy_kernel_ctx *ctx, const fy_tensor *in, int at, fy_error *err) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_epilogue *e = fy_epilogue_of(ctx->site);
  const fy_tensor *filter = ctx->in[at];
  fy_conv c;
  if (!attrs->channels_last || in->dtype != filter->dtype) return fy_fast_reference(ctx, err);
  FY_TRY(fy_conv_forward(ctx, in, filter, false, &c, err));
  if (!in->count || !filter->count || c.groups < 1 || c.out_depth % c.groups || c.out_spatial < 1)
    return fy_fast_reference(ctx, err);
  const fy_gemm_type type = in->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  const size_t size = fy_gemm_size(type);
  const int64_t columns = c.out_depth / c.groups, k = c.taps * c.filter_depth;
  fy_gemm_job j = {.type = type,
                   .m = c.batch * c.out_spatial,
                   .n = columns,
                   .depth = c.filter_depth,
                   .taps = c.taps,
                   .conv = &c,
                   .pixel = c.in_depth,
                   .ldc = c.out_depth,
                   .lo = -INFINITY,
                   .hi = INFINITY};
  size_t bytes, group_bytes;
  if (!fy_gemm_can(&j) || !fy_gemm_packed_bytes(type, k, columns, c.groups, &bytes) ||
      !fy_gemm_packed_bytes(type, k, columns, 1, &group_bytes) ||
      !fy_epilogue_fits(ctx, e, c.out_depth, j.m * c.out_depth))
    return fy_fast_reference(ctx, err);
  if (is_point(&c) && c.groups == 1) {
    j.conv = NULL;
    j.row_step = c.in_depth;
    j.k_step = 1;
  }
  const int64_t spatial[3] = {c.w[0].out, c.w[1].out, c.w[2].out};
  int64_t dims[5];
  fy_tensor *out;
  void *zeros;
  fy_window_shape(attrs, c.batch, spatial, c.out_depth, dims);
  FY_TRY(fy_out(ctx, 0, attrs->spatial + 2, dims, &out, err));
  FY_TRY(fy_scratch(ctx, (size_t)c.filter_depth * size, &zeros, err));
  memset(zeros, 0, (size_t)c.filter_depth * size);
  j.zeros = zeros;
  FY_TRY(widened(ctx, in, &j.a, err));
  FY_TRY(fy_plain_room(ctx, in->dtype, out->data, out->count, true, &j.c, err));
  convert_job back = {in->dtype, NULL, j.c, out->data};  // groups move j.c
  if (e && e->add >= 0) j.add = ctx->in[e->add]->data;
  fy_epilogue_clamp(e, &j.lo, &j.hi);
  j.finish = fy_epilogue_finish(e);
  j.finish_arg = e;
  fy_packed *packed;
  FY_TRY(weights(ctx, at, e, &c, type, bytes, group_bytes, &packed, err));
  j.b = packed->data;
  j.bias = packed->bias;
  j.bias_step = padded_columns(&c, type);
  fy_code code = FY_OK;
  if (type == FY_GEMM_F32 && fy_winograd_fits(&c))
    code = fy_winograd_run(ctx, &j, err);
  else
    run_groups(ctx, &j, c.groups, c.filter_depth, group_bytes, columns, size);
  fy_pack_release(ctx->site->fast_state, packed, true);
  if (!code && (void *)back.wide != out->data) fy_parallel(ctx, out->count, 0.2, narrow, &back);
  return code;
}

static fy_code conv(fy_kernel_ctx *ctx, fy_error *err) {
  return convolve(ctx, ctx->in[0], 1, err);
}

// FusedPadConv2D and FusedResizeAndPadConv2D: the padded image is made first.
static fy_code pad_conv(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *padded;
  FY_TRY(fy_fused_pad_image(ctx, &padded, err));
  const fy_code code = convolve(ctx, padded, ctx->site->num_inputs - 1, err);
  fy_tensor_release(padded);
  return code;
}

// ---------------------------------------------------------------- the gradient of the input
// Zeros and the turned filter of one group.
static size_t input_room(fy_gemm_type type, int64_t deep, int64_t weights) {
  const size_t size = fy_gemm_size(type);
  return fy_scratch_line((size_t)deep * size) + fy_scratch_line((size_t)weights * size);
}

typedef struct turn_job {
  fy_gemm_type type;
  const void *from;
  void *to;
  int64_t taps, wide, deep, line;  // |line| numbers from one input channel to the next
  bool around;                     // the last tap first
} turn_job;

// [tap, ic, oc] -> [tap, oc, ic]
static void turn_taps(void *arg, int64_t begin, int64_t end) {
  const turn_job *j = arg;
  const int64_t wide = j->wide, deep = j->deep;
  for (int64_t t = begin; t < end; t++) {
    const int64_t from = t * wide * j->line, to = (j->around ? j->taps - 1 - t : t) * wide * deep;
    if (j->type == FY_GEMM_F32 && wide >= 8 && deep >= 8) {
      fy_turn_words((float *)j->to + to, wide, (const float *)j->from + from, j->line, deep, wide);
      continue;
    }
    const float *in = (const float *)j->from + from;
    const double *wide_in = (const double *)j->from + from;
    for (int64_t o = 0; j->type == FY_GEMM_F32 && o < deep; o++)
      for (int64_t i = 0; i < wide; i++) ((float *)j->to)[to + o * wide + i] = in[i * j->line + o];
    for (int64_t o = 0; j->type == FY_GEMM_F64 && o < deep; o++)
      for (int64_t i = 0; i < wide; i++)
        ((double *)j->to)[to + o * wide + i] = wide_in[i * j->line + o];
  }
}

// Is the gradient of the input of |c| a convolution for winograd.h? Then it is |*out|.
static bool turns_to_squares(const fy_conv *c, fy_gemm_type type, fy_conv *out) {
  *out = *c;
  fy_conv_turn(out);
  return type == FY_GEMM_F32 && c->groups == 1 && c->w[0].stride == 1 && fy_winograd_fits(out);
}

// The gradient of the input is the gradient of the output seen through the window backwards.
static fy_code conv_input(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_tensor *sizes = ctx->in[0], *filter = ctx->in[1], *grad = ctx->in[2];
  fy_conv c, turned;
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  if (!attrs->channels_last || grad->dtype != filter->dtype || !grad->count || !filter->count ||
      (filter->dtype != FY_FLOAT && filter->dtype != FY_DOUBLE) || sizes->rank != 1 ||
      sizes->count != attrs->spatial + 2)
    return fy_fast_reference(ctx, err);
  if (fy_value_shape(sizes, &rank, dims, err) ||
      fy_conv_backward(ctx, "", rank, dims, filter->rank, filter->dims, grad, false, &c, err)) {
    fy_error_clear(err);
    return fy_fast_reference(ctx, err);
  }
  const fy_gemm_type type = filter->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  const size_t size = fy_gemm_size(type);
  const int64_t deep = c.out_depth / c.groups, wide = c.filter_depth, k = c.taps * deep;
  fy_gemm_job j = {.type = type,
                   .m = c.batch * c.in_spatial,
                   .n = wide,
                   .depth = deep,
                   .taps = c.taps,
                   .conv = &c,
                   .backward = true,
                   .pixel = c.out_depth,
                   .a = grad->data,
                   .ldc = c.in_depth,
                   .lo = -INFINITY,
                   .hi = INFINITY};
  size_t bytes, group_bytes;
  if (!fy_gemm_can(&j) || j.m < 1 || !fy_gemm_packed_bytes(type, k, wide, c.groups, &bytes) ||
      !fy_gemm_packed_bytes(type, k, wide, 1, &group_bytes))
    return fy_fast_reference(ctx, err);
  fy_tensor *out;
  void *memory;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (!out->count) return FY_OK;
  if (type == FY_GEMM_F32 && fy_conv_scatters(&c))
    return fy_conv_scatter(ctx, &c, filter->data, grad->data, out->data, err);
  const bool squares = turns_to_squares(&c, type, &turned);
  const size_t zero_bytes = fy_scratch_line((size_t)deep * size);
  const size_t before = input_room(type, deep, k * wide);
  FY_TRY(fy_scratch(ctx, before + bytes, &memory, err));
  memset(memory, 0, zero_bytes);
  char *packed = (char *)memory + before;
  turn_job turn = {.type = type,
                   .to = (char *)memory + zero_bytes,
                   .taps = c.taps,
                   .wide = wide,
                   .deep = deep,
                   .line = c.out_depth,
                   .around = squares};
  for (int64_t g = 0; g < c.groups; g++) {
    turn.from = (const char *)filter->data + (size_t)(g * deep) * size;
    fy_parallel(ctx, c.taps, 0.5 * (double)(wide * deep), turn_taps, &turn);
    fy_gemm_pack(ctx, type, turn.to, k, wide, wide, 1, NULL, packed + (size_t)g * group_bytes);
  }
  j.zeros = memory;
  j.b = packed;
  j.c = out->data;
  if (squares) {
    j.conv = &turned;
    j.backward = false;
    return fy_winograd_run(ctx, &j, err);
  }
  run_groups(ctx, &j, c.groups, deep, group_bytes, wide, size);
  return FY_OK;
}

// The sizes of the input are data, but they are those of the output.
static void conv_input_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_tensor *filter = ctx->in[1], *grad = ctx->in[2], *in = ctx->out[0];
  fy_conv c, turned;
  fy_error e;
  if (!attrs || !attrs->channels_last || grad->dtype != filter->dtype || !in || !in->count ||
      !grad->count || !filter->count || (filter->dtype != FY_FLOAT && filter->dtype != FY_DOUBLE))
    return;
  fy_error_init(&e);
  const fy_code code = fy_conv_backward(ctx, "", in->rank, in->dims, filter->rank, filter->dims,
                                        grad, false, &c, &e);
  fy_error_clear(&e);
  const fy_gemm_type type = filter->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  if (code) return;
  if (type == FY_GEMM_F32 && fy_conv_scatters(&c)) {
    out->scratch += fy_conv_scatter_needs(ctx, &c);
    return;
  }
  const int64_t deep = c.out_depth / c.groups, k = c.taps * deep;
  size_t bytes;
  if (fy_gemm_packed_bytes(type, k, c.filter_depth, c.groups, &bytes))
    out->scratch += input_room(type, deep, k * c.filter_depth) + bytes;
  if (turns_to_squares(&c, type, &turned)) out->scratch += fy_winograd_needs(ctx, &turned);
}

#define REALS      (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE))
#define MORE_REALS (REALS | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
extern const fy_fast_kernel fy_fast_conv2d, fy_fast_conv3d, fy_fast_conv2d_input,
    fy_fast_conv3d_input, fy_fast_fused_conv2d, fy_fast_fused_pad_conv2d,
    fy_fast_fused_resize_pad_conv2d;
const fy_fast_kernel fy_fast_conv2d = {.op = "Conv2D",
                                       .name = "gemm",
                                       .dtypes = MORE_REALS,
                                       .prepare = fy_pack_cache_prepare,
                                       .compute = conv,
                                       .needs = conv_needs,
                                       .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_conv3d = {.op = "Conv3D",
                                       .name = "gemm",
                                       .dtypes = MORE_REALS,
                                       .prepare = fy_pack_cache_prepare,
                                       .compute = conv,
                                       .needs = conv_needs,
                                       .release = fy_pack_cache_free};
// Input 0 is a shape: its type says nothing.
const fy_fast_kernel fy_fast_conv2d_input = {.op = "Conv2DBackpropInput",
                                             .name = "gemm",
                                             .dtypes = FY_T(FY_INT32),
                                             .compute = conv_input,
                                             .needs = conv_input_needs};
const fy_fast_kernel fy_fast_conv3d_input = {.op = "Conv3DBackpropInputV2",
                                             .name = "gemm",
                                             .dtypes = FY_T(FY_INT32),
                                             .compute = conv_input,
                                             .needs = conv_input_needs};
const fy_fast_kernel fy_fast_fused_conv2d = {.op = "_FerryConv2D",
                                             .name = "gemm",
                                             .dtypes = REALS,
                                             .prepare = fy_pack_cache_prepare,
                                             .compute = conv,
                                             .needs = conv_needs,
                                             .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_fused_pad_conv2d = {.op = "FusedPadConv2D",
                                                 .name = "gemm",
                                                 .dtypes = REALS,
                                                 .prepare = fy_pack_cache_prepare,
                                                 .compute = pad_conv,
                                                 .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_fused_resize_pad_conv2d = {.op = "FusedResizeAndPadConv2D",
                                                        .name = "gemm",
                                                        .dtypes = REALS,
                                                        .prepare = fy_pack_cache_prepare,
                                                        .compute = pad_conv,
                                                        .release = fy_pack_cache_free};

// SPDX-License-Identifier: Apache-2.0
// depthwise.c: DepthwiseConv2dNative and its gradients: every input channel has |multiplier|
// filters of its own. Rows of channels are multiplied element by element; see conv.h for the
// geometry.

#include "base/alloc.h"
#include "ops/conv.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct depth_job {
  fy_conv c;
  const void *in, *filter, *grad;  // plain
  void *out;
  int64_t multiplier;
} depth_job;

// Item: (image, row) of the output. One filter per channel.
#define FORWARD(E, S, _)                                                                           \
  static void forward_##S(void *arg, int64_t begin, int64_t end) {                                 \
    const depth_job *j = arg;                                                                      \
    const fy_window *wh = &j->c.w[1], *ww = &j->c.w[2];                                            \
    const int64_t oc = j->c.out_depth;                                                             \
    for (int64_t row = begin; row < end; row++) {                                                  \
      const int64_t y = row % wh->out, image = row / wh->out;                                      \
      fy_a_##S *out = (fy_a_##S *)j->out + row * ww->out * oc;                                     \
      for (int64_t i = 0; i < ww->out * oc; i++) out[i] = 0;                                       \
      for (int64_t t = 0; t < j->c.taps; t++) {                                                    \
        int64_t at[3], lo, hi;                                                                     \
        fy_conv_tap(&j->c, t, at);                                                                 \
        const int64_t iy = fy_window_at(wh, y, at[1]);                                             \
        if (iy < 0 || iy >= wh->in) continue;                                                      \
        fy_window_range(ww, at[2], &lo, &hi);                                                      \
        const fy_a_##S *f = (const fy_a_##S *)j->filter + t * oc;                                  \
        for (int64_t x = lo; x < hi; x++) {                                                        \
          const fy_a_##S *in = (const fy_a_##S *)j->in +                                           \
                               ((image * wh->in + iy) * ww->in + fy_window_at(ww, x, at[2])) * oc; \
          fy_a_##S *restrict to = out + x * oc;                                                    \
          for (int64_t k = 0; k < oc; k++) to[k] += in[k] * f[k];                                  \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

// Item: (image, row) of the input.
#define TO_INPUT(E, S, _)                                                                          \
  static void to_input_##S(void *arg, int64_t begin, int64_t end) {                                \
    const depth_job *j = arg;                                                                      \
    const fy_window *wh = &j->c.w[1], *ww = &j->c.w[2];                                            \
    const int64_t ic = j->c.in_depth, oc = j->c.out_depth, mul = j->multiplier;                    \
    for (int64_t row = begin; row < end; row++) {                                                  \
      const int64_t iy = row % wh->in, image = row / wh->in;                                       \
      fy_a_##S *out = (fy_a_##S *)j->out + row * ww->in * ic;                                      \
      for (int64_t i = 0; i < ww->in * ic; i++) out[i] = 0;                                        \
      for (int64_t t = 0; t < j->c.taps; t++) {                                                    \
        int64_t at[3], lo, hi;                                                                     \
        fy_conv_tap(&j->c, t, at);                                                                 \
        const int64_t y = iy + wh->before - at[1] * wh->dilation;                                  \
        if (y < 0 || y % wh->stride || y / wh->stride >= wh->out) continue;                        \
        fy_window_range(ww, at[2], &lo, &hi);                                                      \
        const fy_a_##S *f = (const fy_a_##S *)j->filter + t * oc;                                  \
        for (int64_t x = lo; x < hi; x++) {                                                        \
          const fy_a_##S *grad =                                                                   \
              (const fy_a_##S *)j->grad + ((image * wh->out + y / wh->stride) * ww->out + x) * oc; \
          fy_a_##S *restrict to = out + fy_window_at(ww, x, at[2]) * ic;                           \
          if (mul == 1) {                                                                          \
            for (int64_t k = 0; k < ic; k++) to[k] += grad[k] * f[k];                              \
            continue;                                                                              \
          }                                                                                        \
          for (int64_t k = 0; k < ic; k++) {                                                       \
            for (int64_t q = 0; q < mul; q++) to[k] += grad[k * mul + q] * f[k * mul + q];         \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

// Item: a tap of the filter.
#define TO_FILTER(E, S, _)                                                                   \
  static void to_filter_##S(void *arg, int64_t begin, int64_t end) {                         \
    const depth_job *j = arg;                                                                \
    const fy_window *wh = &j->c.w[1], *ww = &j->c.w[2];                                      \
    const int64_t ic = j->c.in_depth, oc = j->c.out_depth, mul = j->multiplier;              \
    for (int64_t t = begin; t < end; t++) {                                                  \
      fy_a_##S *restrict out = (fy_a_##S *)j->out + t * oc;                                  \
      int64_t at[3], lo, hi;                                                                 \
      for (int64_t i = 0; i < oc; i++) out[i] = 0;                                           \
      fy_conv_tap(&j->c, t, at);                                                             \
      fy_window_range(ww, at[2], &lo, &hi);                                                  \
      for (int64_t row = 0; row < j->c.batch * wh->out; row++) {                             \
        const int64_t iy = fy_window_at(wh, row % wh->out, at[1]);                           \
        if (iy < 0 || iy >= wh->in) continue;                                                \
        for (int64_t x = lo; x < hi; x++) {                                                  \
          const fy_a_##S *in =                                                               \
              (const fy_a_##S *)j->in +                                                      \
              ((row / wh->out * wh->in + iy) * ww->in + fy_window_at(ww, x, at[2])) * ic;    \
          const fy_a_##S *grad = (const fy_a_##S *)j->grad + (row * ww->out + x) * oc;       \
          if (mul == 1) {                                                                    \
            for (int64_t k = 0; k < ic; k++) out[k] += in[k] * grad[k];                      \
            continue;                                                                        \
          }                                                                                  \
          for (int64_t k = 0; k < ic; k++) {                                                 \
            for (int64_t q = 0; q < mul; q++) out[k * mul + q] += in[k] * grad[k * mul + q]; \
          }                                                                                  \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }
FY_FULL_REAL_TYPES(FORWARD, _)
FY_FULL_REAL_TYPES(TO_INPUT, _)
FY_FULL_REAL_TYPES(TO_FILTER, _)

typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
static const items_fn forwards[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, forward)};
static const items_fn to_inputs[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, to_input)};
static const items_fn to_filters[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, to_filter)};

typedef struct repeat_job {
  const void *in;
  void *out;
  int64_t times;
} repeat_job;
#define REPEAT(E, S, _)                                                             \
  static void repeat_##S(void *arg, int64_t begin, int64_t end) {                   \
    const repeat_job *j = arg;                                                      \
    fy_a_##S *out = (fy_a_##S *)j->out + begin * j->times;                          \
    for (int64_t i = begin; i < end; i++)                                           \
      for (int64_t k = 0; k < j->times; k++) *out++ = ((const fy_a_##S *)j->in)[i]; \
  }
FY_FULL_REAL_TYPES(REPEAT, _)

fy_code fy_depthwise_repeat(fy_kernel_ctx *ctx, fy_dtype type, fy_conv *c, const void **in,
                            fy_error *err) {
  if (c->out_depth == c->in_depth) return FY_OK;
  const int64_t count = c->batch * c->in_spatial * c->in_depth;
  repeat_job j = {.in = *in, .times = c->out_depth / c->in_depth};
  size_t bytes;
  if (!fy_mul_size((size_t)(count * j.times), fy_dtype_storage(type), &bytes))
    return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(fy_scratch(ctx, bytes, &j.out, err));
  fy_parallel(ctx, count, 0.4 * (double)j.times, type == FY_DOUBLE ? repeat_f64 : repeat_f32, &j);
  *in = j.out;
  c->in_depth = c->out_depth;
  return FY_OK;
}

static fy_code fail_type(fy_kernel_ctx *ctx, fy_dtype t, fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

static double row_ns(const fy_conv *c, int64_t pixels) {
  return 0.4 * (double)c->taps * (double)c->out_depth * (double)pixels + 20;
}

static fy_code convolve(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  depth_job j = {.multiplier = 0};
  fy_tensor *out;
  int64_t dims[5];
  FY_TRY(fy_conv_forward(ctx, in, filter, true, &j.c, err));
  const fy_conv *c = &j.c;
  const int64_t spatial[3] = {1, c->w[1].out, c->w[2].out};
  fy_window_shape(a, c->batch, spatial, c->out_depth, dims);
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  const fy_dtype type = in->dtype, plain = fy_plain_type(type);
  if (!forwards[plain] || filter->dtype != type) return fail_type(ctx, type, err);
  if (out->count == 0) return FY_OK;
  if (in->count == 0 || filter->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  FY_TRY(fy_plain_load(ctx, type, in->data, c->batch, c->in_spatial, c->in_depth, a->channels_last,
                       &j.in, err));
  FY_TRY(fy_depthwise_repeat(ctx, plain, &j.c, &j.in, err));
  FY_TRY(fy_plain_load(ctx, type, filter->data, 1, 1, filter->count, true, &j.filter, err));
  FY_TRY(fy_plain_room(ctx, type, out->data, out->count, a->channels_last, &j.out, err));
  fy_parallel(ctx, c->batch * c->w[1].out, row_ns(c, c->w[2].out), forwards[plain], &j);
  fy_plain_store(type, j.out, out->data, c->batch, c->out_spatial, c->out_depth, a->channels_last);
  return FY_OK;
}

// The shape an integer vector gives, with this family's texts.
static fy_code sizes_of(const fy_tensor *sizes, const char *label, const char *what, int32_t *rank,
                        int64_t dims[FY_MAX_RANK], fy_error *err) {
  if (sizes->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: %s input must be 1-dim, not %d", label, what,
                   sizes->rank);
  }
  *rank = sizes->count > FY_MAX_RANK ? FY_MAX_RANK : (int32_t)sizes->count;
  for (int32_t i = 0; i < *rank; i++) {
    dims[i] = fy_tensor_int(sizes, i);
    if (dims[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %d of %s must be >= 0", i, what);
    }
  }
  int64_t count;
  if (!fy_shape_count(*rank, dims, &count)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Encountered overflow when multiplying shape dimensions");
  }
  return FY_OK;
}

static fy_code input_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const fy_tensor *filter = ctx->in[1], *grad = ctx->in[2];
  depth_job j = {.multiplier = 0};
  fy_tensor *out;
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  const char *label = "DepthwiseConv2DBackpropInput";
  FY_TRY(sizes_of(ctx->in[0], label, "input_sizes", &rank, dims, err));
  FY_TRY(
      fy_conv_backward(ctx, label, rank, dims, filter->rank, filter->dims, grad, true, &j.c, err));
  const fy_conv *c = &j.c;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const fy_dtype type = filter->dtype, plain = fy_plain_type(type);
  if (!to_inputs[plain] || grad->dtype != type) return fail_type(ctx, type, err);
  if (out->count == 0) return FY_OK;
  if (grad->count == 0 || filter->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  j.multiplier = filter->dims[3];
  FY_TRY(fy_plain_load(ctx, type, grad->data, c->batch, c->out_spatial, c->out_depth,
                       a->channels_last, &j.grad, err));
  FY_TRY(fy_plain_load(ctx, type, filter->data, 1, 1, filter->count, true, &j.filter, err));
  FY_TRY(fy_plain_room(ctx, type, out->data, out->count, a->channels_last, &j.out, err));
  fy_parallel(ctx, c->batch * c->w[1].in, row_ns(c, c->w[2].in), to_inputs[plain], &j);
  fy_plain_store(type, j.out, out->data, c->batch, c->in_spatial, c->in_depth, a->channels_last);
  return FY_OK;
}

static fy_code filter_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *grad = ctx->in[2];
  depth_job j = {.multiplier = 0};
  fy_tensor *out;
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  const char *label = "DepthwiseConv2DBackpropFilter";
  FY_TRY(sizes_of(ctx->in[1], label, "filter_sizes", &rank, dims, err));
  FY_TRY(fy_conv_backward(ctx, label, in->rank, in->dims, rank, dims, grad, true, &j.c, err));
  const fy_conv *c = &j.c;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const fy_dtype type = in->dtype, plain = fy_plain_type(type);
  if (!to_filters[plain] || grad->dtype != type) return fail_type(ctx, type, err);
  if (out->count == 0) return FY_OK;
  if (grad->count == 0 || in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  j.multiplier = dims[3];
  FY_TRY(fy_plain_load(ctx, type, in->data, c->batch, c->in_spatial, c->in_depth, a->channels_last,
                       &j.in, err));
  FY_TRY(fy_plain_load(ctx, type, grad->data, c->batch, c->out_spatial, c->out_depth,
                       a->channels_last, &j.grad, err));
  FY_TRY(fy_plain_room(ctx, type, out->data, out->count, true, &j.out, err));
  fy_parallel(ctx, c->taps, 0.4 * (double)grad->count, to_filters[plain], &j);
  fy_plain_store(type, j.out, out->data, 1, 1, out->count, true);
  return FY_OK;
}

#define VALID "strides=[1,1,1,1]; padding=\"VALID\""
static const fy_sample forward_samples[] = {
    {"f32[1,2,2,2]=iota; f32[1,1,2,2]=1,2,3,4", VALID, FY_OK,
     "0,0,3,4,2,4,9,12,4,8,15,20,6,12,21,28"},
    {"f16[1,5,5,3]=normal; f16[3,3,3,1]=normal", "strides=[1,2,2,1]; padding=\"SAME\"", FY_OK,
     NULL},
    {"f32[1,2,2,2]=zeros; f32[1,1,3,1]=zeros", VALID, FY_INVALID_ARGUMENT,
     "input and filter must have the same depth: 2 vs 3"},
};
static const fy_sample input_samples[] = {
    {"i32[4]=1,1,2,1; f32[1,2,1,1]=1,2; f32[1,1,1,1]=5", VALID, FY_OK, "5,10"},
};
static const fy_sample filter_samples[] = {
    {"f32[1,1,2,1]=1,2; i32[4]=1,2,1,1; f32[1,1,1,1]=5", VALID, FY_OK, "5,10"},
};

#define DEPTHWISE(Name, shape_fn, run, hosts, array)                                   \
  FY_OP(Name, .shape = shape_fn, .prepare = fy_conv_prepare_depthwise, .compute = run, \
        .release = fy_free, .cost = fy_conv_cost, .host_inputs = hosts, FY_SAMPLES(array))
DEPTHWISE(DepthwiseConv2dNative, fy_depthwise_shape, convolve, 0, forward_samples);
DEPTHWISE(DepthwiseConv2dNativeBackpropInput, fy_conv_input_shape, input_gradient, 1,
          input_samples);
DEPTHWISE(DepthwiseConv2dNativeBackpropFilter, fy_conv_filter_shape, filter_gradient, 2,
          filter_samples);

// SPDX-License-Identifier: Apache-2.0
// requantize.c: from 32-bit results back to 8 bits: QuantizeDownAndShrinkRange, Requantize,
// RequantizationRange, and the last two per channel.

#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- shared (quant.h)
fy_code fy_q_shape_like_first(fy_shape_ctx *ctx, int first, fy_error *err) {
  FY_TRY(fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err));
  for (int i = first; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  for (int i = 1; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}

fy_code fy_q_need_scalar(const fy_kernel_ctx *ctx, int i, const char *name, fy_error *err) {
  if (ctx->in[i]->rank == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "`%s` must be rank 0 but is rank %d", name,
                 ctx->in[i]->rank);
}

// To quint8 in fixed point with 16 fractional bits; to other types through floats.
void fy_q_requantize(const int32_t *in, int64_t n, float min_in, float max_in, float min_out,
                     float max_out, fy_dtype to, void *out) {
  if (to != FY_QUINT8) {
    const fy_dequantizer d = fy_dequantizer_of(fy_qtype_of(FY_QINT32), min_in, max_in);
    const fy_quantizer z = fy_quantizer_of(fy_qtype_of(to), min_out, max_out);
    for (int64_t i = 0; i < n; i++) fy_q_put(to, out, i, fy_quantize(z, fy_dequantize(d, in[i])));
    return;
  }
  const float range_in = max_in - min_in, range_out = max_out - min_out;
  const bool flat = range_out == 0;
  const float reciprocal = flat ? 0 : (float)(255.0 / (double)range_out);
  const float middle = (float)((double)(min_in + max_in) / 2.0);
  const int64_t scale = flat ? 0 : fy_q_int64(255.0 * 65536 * (double)range_in / (double)range_out);
  const int64_t offset_in = fy_q_int64((double)(middle * reciprocal * 65536));
  const int64_t offset_out =
      flat ? 0 : fy_q_int64(65536 * ((double)min_out * 255.0) / (double)range_out);
  const uint64_t shift = (uint64_t)offset_in - (uint64_t)offset_out + (1 << 15);
  for (int64_t i = 0; i < n; i++) {
    const int64_t x =
        (int64_t)(float)in[i];  // TensorFlow's qint32 becomes an int64 by way of float
    const int64_t product = (int64_t)((uint64_t)x * (uint64_t)scale) >> 32;
    const int64_t v = (int64_t)((uint64_t)product + shift) >> 16;
    ((uint8_t *)out)[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
  }
}

// ---------------------------------------------------------------- ranges in use
// The real numbers of the smallest and the largest value of |in|; the first not above 0.
static void used_range(const fy_tensor *in, float min, float max, float *low, float *high) {
  const fy_qtype q = fy_qtype_of(in->dtype);
  int64_t lo = q.high, hi = q.low;
  for (int64_t i = 0; i < in->count; i++) {
    const int64_t v = fy_q_get(in->dtype, in->data, i);
    lo = v < lo ? v : lo;
    hi = v > hi ? v : hi;
  }
  *low = fminf(0, fy_q_to_float(q, lo, min, max));
  *high = fy_q_to_float(q, hi, min, max);
}

static fy_code shrink(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  float low, high;
  FY_TRY(fy_q_need_scalar(ctx, 1, "input_min", err));
  FY_TRY(fy_q_need_scalar(ctx, 2, "input_max", err));
  const float min = fy_q_scalar(ctx, 1), max = fy_q_scalar(ctx, 2);
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  used_range(in, min, max, &low, &high);
  fy_q_requantize(in->data, in->count, min, max, low, high, out->dtype, out->data);
  FY_TRY(fy_q_out_float(ctx, 1, low, err));
  return fy_q_out_float(ctx, 2, high, err);
}

static fy_code range(fy_kernel_ctx *ctx, fy_error *err) {
  float low, high;
  for (int i = 1; i < 3; i++) {
    if (ctx->in[i]->count) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input %s must not be empty.", i == 1 ? "min" : "max");
  }
  used_range(ctx->in[0], fy_q_scalar(ctx, 1), fy_q_scalar(ctx, 2), &low, &high);
  FY_TRY(fy_q_out_float(ctx, 0, low, err));
  return fy_q_out_float(ctx, 1, high, err);
}

static fy_code requantize(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"", "input_min", "input_max", "requested_output_min",
                                      "requested_output_max"};
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  for (int i = 1; i < 5; i++) FY_TRY(fy_q_need_scalar(ctx, i, names[i], err));
  const float low = fy_q_scalar(ctx, 3), high = fy_q_scalar(ctx, 4);
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (!(low <= 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "requested_output_min must be <= 0, but got %g",
                   (double)low);
  }
  if (!(high >= low)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "requested_output_max must be >= requested_output_min, but got %g and %g",
                   (double)high, (double)low);
  }
  fy_q_requantize(in->data, in->count, fy_q_scalar(ctx, 1), fy_q_scalar(ctx, 2), low, high,
                  out->dtype, out->data);
  FY_TRY(fy_q_out_float(ctx, 1, low, err));
  return fy_q_out_float(ctx, 2, high, err);
}

// ---------------------------------------------------------------- per channel
static fy_code check_channels(const fy_kernel_ctx *ctx, int64_t *depth, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  *depth = in->rank ? in->dims[in->rank - 1] : 0;
  for (int i = 1; i < 3; i++) {
    if (in->rank > 0 && ctx->in[i]->count == *depth) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s has incorrect size, expected %lld was %lld",
                   i == 1 ? "input_min" : "input_max", (long long)*depth,
                   (long long)ctx->in[i]->count);
  }
  return FY_OK;
}

static float largest(float a, float b) {
  return fmaxf(fabsf(a), fabsf(b));
}

// The least range that holds every channel, at most |clip_value_max|.
static fy_code channel_range(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const float clip = fy_site_float(ctx->site, "clip_value_max");
  int64_t depth;
  FY_TRY(check_channels(ctx, &depth, err));
  if (in->rank != 4) return fy_fail(err, FY_INVALID_ARGUMENT, "input must be in NHWC format");
  const float *mins = ctx->in[1]->data, *maxs = ctx->in[2]->data;
  float low = 0, high = 0;
  const int32_t *v = in->data;
  for (int64_t c = 0; c < depth; c++) {
    int32_t lo = INT32_MAX, hi = INT32_MIN;
    for (int64_t i = c; i < in->count; i += depth) {
      lo = v[i] < lo ? v[i] : lo;
      hi = v[i] > hi ? v[i] : hi;
    }
    const float scale = largest(mins[c], maxs[c]) / 0x1p31f;
    low = fminf(low, (float)lo * scale);
    high = fmaxf(high, (float)hi * scale);
  }
  if (low > 0) low = 0;
  if (high > clip) high = clip;
  FY_TRY(fy_q_out_float(ctx, 0, low, err));
  return fy_q_out_float(ctx, 1, high, err);
}

static fy_code requantize_channels(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  int64_t depth;
  FY_TRY(check_channels(ctx, &depth, err));
  FY_TRY(fy_q_need_scalar(ctx, 3, "requested_output_min", err));
  FY_TRY(fy_q_need_scalar(ctx, 4, "requested_output_max", err));
  const float low = fy_q_scalar(ctx, 3), high = fy_q_scalar(ctx, 4);
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const fy_qtype q = fy_qtype_of(out->dtype);
  const float factor = out->dtype == FY_QINT8 ? 127.0f : 255.0f;
  const float *mins = ctx->in[1]->data, *maxs = ctx->in[2]->data;
  for (int64_t i = 0; i < in->count; i++) {
    const int64_t c = i % depth;
    const float scale = factor * (largest(mins[c], maxs[c]) / largest(low, high) / 0x1p31f);
    const int64_t v = fy_q_int32(rintf((float)((const int32_t *)in->data)[i] * scale));
    fy_q_put(out->dtype, out->data, i, v < q.low ? q.low : v > q.high ? q.high : v);
  }
  FY_TRY(fy_q_out_float(ctx, 1, low, err));
  return fy_q_out_float(ctx, 2, high, err);
}

// ---------------------------------------------------------------- shapes
static fy_code like_first(fy_shape_ctx *ctx, fy_error *err) {
  return fy_q_shape_like_first(ctx, 1, err);
}
static fy_code range_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code channel_range_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code channels_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  return fy_q_shape_like_first(ctx, 3, err);
}

static const fy_sample shrink_samples[] = {
    {"qint32[3]=0,65536,1048576; f32[]=-2147483648; f32[]=2147483648", "out_type=quint8", FY_OK,
     "0,16,255"},
};
static const fy_sample range_samples[] = {
    {"qint32[2]=-10,20; f32[]=-2147483648; f32[]=2147483648", NULL, FY_OK, NULL},
};
static const fy_sample requantize_samples[] = {
    {"qint32[3]=0,128,255; f32[]=-2147483648; f32[]=2147483648; f32[]=0; f32[]=255",
     "out_type=quint8", FY_OK, "0,128,255"},
    {"qint32[1]=0; f32[]=-1; f32[]=1; f32[]=1; f32[]=2", "out_type=quint8", FY_INVALID_ARGUMENT,
     "requested_output_min must be <= 0, but got 1"},
};
static const fy_sample channel_range_samples[] = {
    {"qint32[1,1,1,2]=1,2; f32[2]=-1,-1; f32[2]=1,1", "clip_value_max=1.0", FY_OK, NULL},
};
static const fy_sample channel_samples[] = {
    {"qint32[1,2]=1073741824,-1073741824; f32[2]=-1,-1; f32[2]=1,1; f32[]=-1; f32[]=1",
     "out_type=qint8", FY_OK, "64,-64"},
};
FY_OP(QuantizeDownAndShrinkRange, .shape = like_first, .compute = shrink,
      FY_SAMPLES(shrink_samples));
FY_OP(RequantizationRange, .shape = range_shape, .compute = range, FY_SAMPLES(range_samples));
FY_OP(Requantize, .shape = like_first, .compute = requantize, FY_SAMPLES(requantize_samples));
FY_OP(RequantizationRangePerChannel, .shape = channel_range_shape, .compute = channel_range,
      FY_SAMPLES(channel_range_samples));
FY_OP(RequantizePerChannel, .shape = channels_shape, .compute = requantize_channels,
      FY_SAMPLES(channel_samples));

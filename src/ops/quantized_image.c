// SPDX-License-Identifier: Apache-2.0
// quantized_image.c: QuantizedResizeBilinear, QuantizedInstanceNorm and
// QuantizedBatchNormWithGlobalNormalization, in TensorFlow's fixed point, so that results are equal to
// the last unit: a resize weighs quint8 by 128ths and qint32 by 2^-30ths, a batch normalisation works on
// numbers of -2^20 to 2^20.

#include "base/alloc.h"
#include "ops/quant.h"
#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- QuantizedResizeBilinear
typedef struct tap {
  int64_t low, high;
  float part;      // of the way from low to high
  int32_t weight;  // the same as a fixed-point number
} tap;

static void find_taps(const fy_resize *r, int64_t in, int64_t out, float scale, int bits,
                      tap *taps) {
  for (int64_t i = 0; i < out; i++) {
    const float at = fy_resize_at(r, i, scale), low = floorf(at);
    tap *t = &taps[i];
    t->high = (int64_t)ceilf(at) < in - 1 ? (int64_t)ceilf(at) : in - 1;
    t->low = low > 0 ? (int64_t)low : 0;
    if (t->low > t->high) t->low = t->high;
    t->part = at - low;
    t->weight = (int32_t)(t->part * (float)(1 << bits));
  }
}

typedef struct resize_job {
  fy_resize r;
  const fy_tensor *in;
  fy_tensor *out;
  const tap *rows, *cols;
  int bits;
} resize_job;

static int64_t fixed_lerp(int64_t tl, int64_t tr, int64_t bl, int64_t br, int32_t x, int32_t y,
                          int bits) {
  const int64_t one = (int64_t)1 << bits;
  const int64_t top = tl * one + (tr - tl) * x, bottom = bl * one + (br - bl) * x;
  return (top + (bottom - top) / one * y + one / 2) / one;
}

static void resize_rows(void *arg, int64_t begin, int64_t end) {
  const resize_job *j = arg;
  const fy_resize *r = &j->r;
  const int64_t c = r->channels, line = r->in_w * c;
  const fy_dtype type = j->in->dtype;
  for (int64_t row = begin; row < end; row++) {
    const tap ty = j->rows[row % r->out_h];
    const int64_t image = row / r->out_h * r->in_h;
    const int64_t top = (image + ty.low) * line, bottom = (image + ty.high) * line;
    int64_t to = row * r->out_w * c;
    for (int64_t x = 0; x < r->out_w; x++) {
      const tap tx = j->cols[x];
      for (int64_t k = 0; k < c; k++, to++) {
        const int64_t at[4] = {top + tx.low * c + k, top + tx.high * c + k, bottom + tx.low * c + k,
                               bottom + tx.high * c + k};
        if (type == FY_FLOAT) {
          const float *v = j->in->data;
          const float a = v[at[0]] + (v[at[1]] - v[at[0]]) * tx.part;
          const float b = v[at[2]] + (v[at[3]] - v[at[2]]) * tx.part;
          ((float *)j->out->data)[to] = a + (b - a) * ty.part;
        } else {
          int64_t v[4];
          for (int i = 0; i < 4; i++) v[i] = fy_q_get(type, j->in->data, at[i]);
          fy_q_put(type, j->out->data, to,
                   fixed_lerp(v[0], v[1], v[2], v[3], tx.weight, ty.weight, j->bits));
        }
      }
    }
  }
}

static fy_code resize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  resize_job j = {.in = in, .bits = in->dtype == FY_QUINT8 ? 7 : 30};
  void *memory;
  for (int i = 2; i < 4; i++) {
    if (ctx->in[i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar", i == 2 ? "min" : "max");
  }
  FY_TRY(fy_resize_check(ctx, &j.r, err));
  const int64_t dims[] = {j.r.batch, j.r.out_h, j.r.out_w, j.r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &j.out, err));
  FY_TRY(fy_q_out_float(ctx, 1, fy_q_scalar(ctx, 2), err));
  FY_TRY(fy_q_out_float(ctx, 2, fy_q_scalar(ctx, 3), err));
  if (j.out->count == 0) return FY_OK;
  if (j.r.out_h == j.r.in_h && j.r.out_w == j.r.in_w) {
    return fy_copy_run(in->dtype, j.out->data, 0, in->data, 0, in->count, err);
  }
  FY_TRY(fy_scratch(ctx, (size_t)(j.r.out_h + j.r.out_w) * sizeof(tap), &memory, err));
  tap *taps = memory;
  find_taps(&j.r, j.r.in_h, j.r.out_h, j.r.scale_h, j.bits, taps);
  find_taps(&j.r, j.r.in_w, j.r.out_w, j.r.scale_w, j.bits, taps + j.r.out_h);
  j.rows = taps;
  j.cols = taps + j.r.out_h;
  fy_parallel(ctx, j.r.batch * j.r.out_h, 10.0 * (double)(j.r.out_w * j.r.channels), resize_rows,
              &j);
  return FY_OK;
}

static fy_code resize_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_resize_shape(ctx, err));
  for (int i = 2; i < 4; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}

// ---------------------------------------------------------------- QuantizedInstanceNorm
// Every channel of every image gets mean 0 and variance 1.
// One image; of each channel the mean, the factor, and the least and the greatest result.
typedef struct channels {
  int64_t n;
  float *mean, *factor, *low, *high;
} channels;
static void normalize(const uint8_t *restrict v, float *restrict to, int64_t pixels, float epsilon,
                      channels ch) {
  const int64_t c = ch.n;
  float *restrict mean = ch.mean, *restrict factor = ch.factor;
  float *restrict low = ch.low, *restrict high = ch.high;
  memset(mean, 0, 2 * (size_t)c * sizeof *mean);
  for (int64_t p = 0; p < pixels; p++)
    for (int64_t k = 0; k < c; k++) mean[k] += (float)v[p * c + k];
  for (int64_t k = 0; k < c; k++) mean[k] /= (float)pixels;
  for (int64_t p = 0; p < pixels; p++) {
    for (int64_t k = 0; k < c; k++) {
      const float x = to[p * c + k] = (float)v[p * c + k] - mean[k];
      factor[k] += x * x;
    }
  }
  for (int64_t k = 0; k < c; k++) factor[k] = 1.0f / sqrtf(factor[k] / (float)pixels + epsilon);
  for (int64_t p = 0; p < pixels; p++) {
    for (int64_t k = 0; k < c; k++) {
      const float x = to[p * c + k] *= factor[k];
      low[k] = x < low[k] ? x : low[k];
      high[k] = x > high[k] ? x : high[k];
    }
  }
}
// As fy_quantize.
FY_CLONES static void put_bytes(fy_quantizer z, const float *restrict in, uint8_t *restrict out,
                                int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    // Truncation makes of it the nearest integer, of two the one farther from zero; from 2^23 on
    // every float is whole.
    const float v = in[i] * z.scale, near = truncf(v + copysignf(0x1.fffffep-2f, v));
    float w = (fabsf(v) < 0x1p23f ? near : v) - z.shift;
    w = w < z.low ? z.low : w;
    w = w > z.high ? z.high : w;
    out[i] = (uint8_t)(w == w ? (int32_t)w : INT32_MIN);
  }
}
static fy_code instance_norm(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool given = fy_site_bool(ctx->site, "output_range_given");
  char x[128];
  fy_tensor *out;
  void *memory;
  FY_TRY(fy_q_need_scalar(ctx, 1, "x_min", err));
  FY_TRY(fy_q_need_scalar(ctx, 2, "x_max", err));
  const float min = fy_q_scalar(ctx, 1), max = fy_q_scalar(ctx, 2), step = (max - min) / 255.0f;
  if (!(min < max)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_min must be less than input_max : %g >= %g",
                   (double)min, (double)max);
  }
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const int64_t n = in->dims[0], pixels = in->dims[1] * in->dims[2], c = in->dims[3];
  FY_TRY(fy_scratch(ctx, ((size_t)in->count + 4 * (size_t)c) * sizeof(float), &memory, err));
  float *normal = memory, *rest = normal + in->count;
  const channels ch = {c, rest, rest + c, rest + 2 * c, rest + 3 * c};
  const float epsilon = fy_site_float(ctx->site, "variance_epsilon") / (step * step);
  float low = INFINITY, high = -INFINITY;
  for (int64_t k = 0; k < c; k++) ch.low[k] = low, ch.high[k] = high;
  for (int64_t b = 0; b < n && in->count; b++) {
    const int64_t at = b * pixels * c;
    normalize((const uint8_t *)in->data + at, normal + at, pixels, epsilon, ch);
  }
  for (int64_t k = 0; k < c; k++) {
    low = ch.low[k] < low ? ch.low[k] : low;
    high = ch.high[k] > high ? ch.high[k] : high;
  }
  if (given) {
    low = fy_site_float(ctx->site, "given_y_min");
    high = fy_site_float(ctx->site, "given_y_max");
  } else {
    const float apart = fy_site_float(ctx->site, "min_separation");
    if (high - low < apart) high = low + apart;
  }
  const fy_quantizer z = fy_quantizer_of(fy_qtype_of(FY_QUINT8), low, high);
  put_bytes(z, normal, out->data, in->count);
  FY_TRY(fy_q_out_float(ctx, 1, low, err));
  return fy_q_out_float(ctx, 2, high, err);
}

static fy_code instance_prepare(fy_site *site, fy_error *err) {
  const float low = fy_site_float(site, "given_y_min"), high = fy_site_float(site, "given_y_max");
  if (!fy_site_bool(site, "output_range_given") || low < high) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "given_y_min must be less than given_y_max : %g >= %g",
                 (double)low, (double)high);
}

static fy_code instance_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  return fy_q_shape_like_first(ctx, 1, err);
}

// ---------------------------------------------------------------- QuantizedBatchNormWithGlobalNormalization
static fy_code check_batch_norm(const fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"input", "mean", "var", "beta", "gamma"};
  const fy_tensor *in = ctx->in[0], *mean = ctx->in[3];
  char x[128], y[128];
  for (int i = 0; i < 15; i++) {
    if (i % 3 == 0 || ctx->in[i]->count == 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_%s must have 1 element", names[i / 3],
                   i % 3 == 1 ? "min" : "max");
  }
  for (int i = 0; i < 5; i++) {
    if (ctx->in[3 * i]->rank == (i ? 1 : 4)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be %d-dimensional%s", names[i], i ? 1 : 4,
                   fy_tensor_shape_text(ctx->in[3 * i], x));
  }
  if (mean->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Must have at least a mean value%s",
                   fy_tensor_shape_text(mean, x));
  }
  if (mean->count != in->dims[3]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Must provide as many means as the last dimension of the input tensor: %s vs. %s",
        fy_tensor_shape_text(mean, x), fy_tensor_shape_text(in, y));
  }
  for (int i = 2; i < 5; i++) {
    if (ctx->in[3 * i]->count == mean->count) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Mean and %s tensors must have the same shape: %s vs. %s",
                   i == 2 ? "variance" : names[i], fy_tensor_shape_text(mean, x),
                   fy_tensor_shape_text(ctx->in[3 * i], y));
  }
  return FY_OK;
}

static float real_of(const fy_kernel_ctx *ctx, int i, int64_t at) {
  return fy_q_to_float(fy_qtype_of(ctx->in[i]->dtype),
                       fy_q_get(ctx->in[i]->dtype, ctx->in[i]->data, at), fy_q_scalar(ctx, i + 1),
                       fy_q_scalar(ctx, i + 2));
}

static fy_code batch_norm(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool scaled = fy_site_bool(ctx->site, "scale_after_normalization");
  const float epsilon = fy_site_float(ctx->site, "variance_epsilon"), top = 0x1p20f;
  const fy_qtype wide = fy_qtype_of(FY_QINT32);
  fy_tensor *out;
  void *memory;
  FY_TRY(check_batch_norm(ctx, err));
  const int64_t c = in->dims[3];
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  FY_TRY(fy_q_out_float(ctx, 1, -top, err));
  FY_TRY(fy_q_out_float(ctx, 2, top, err));
  FY_TRY(fy_scratch(ctx, (2 * (size_t)c + 256) * sizeof(int32_t), &memory, err));
  int32_t *scales = memory, *offsets = scales + c, *inputs = offsets + c;
  for (int64_t k = 0; k < c; k++) {
    double exact = 1.0 / sqrt((double)(real_of(ctx, 6, k) + epsilon));
    if (scaled) exact *= (double)real_of(ctx, 12, k);
    const float scale = (float)exact;
    const float offset = -real_of(ctx, 3, k) * scale + real_of(ctx, 9, k);
    scales[k] = (int32_t)fy_q_from_float(wide, scale, -top, top);
    offsets[k] = (int32_t)fy_q_from_float(wide, offset, -top, top);
  }
  const fy_qtype narrow = fy_qtype_of(FY_QUINT8);
  for (int i = 0; i < 256; i++) {
    const float v = fy_q_to_float(narrow, i, fy_q_scalar(ctx, 1), fy_q_scalar(ctx, 2));
    inputs[i] = (int32_t)fy_q_from_float(wide, v, -top, top);
  }
  const int32_t one = (int32_t)fy_q_from_float(wide, 1, -top, top);
  for (int64_t i = 0; i < in->count; i++) {
    const int64_t k = i % c;
    const uint32_t product = (uint32_t)inputs[((const uint8_t *)in->data)[i]] * (uint32_t)scales[k];
    ((uint32_t *)out->data)[i] =
        (uint32_t)((int32_t)product / one) + (uint32_t)offsets[k];  // wraps
  }
  return FY_OK;
}

static fy_code batch_norm_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t dims[4] = {fy_dim_of(in, 0), -1, -1, -1};
  FY_TRY(fy_shape_rank_is(in, 4, err));
  for (int32_t d = 0; d < 4; d++) dims[d] = fy_dim_of(in, d);
  for (int i = 3; i < 15; i += 3) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    FY_TRY(fy_dim_merge(dims[3], fy_dim_of(ctx->in[i], 0), &dims[3], err));
  }
  FY_TRY(fy_shape_set(ctx, 0, 4, dims, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}

static const fy_sample resize_samples[] = {
    {"quint8[1,1,2,1]=0,20; i32[2]=1,4; f32[]=0; f32[]=1", NULL, FY_OK, "0,10,20,20"},
    {"quint8[1,1,2,1]=0,20; i32[2]=1,4; f32[1]=0; f32[]=1", NULL, FY_INVALID_ARGUMENT,
     "min must be a scalar"},
};
static const fy_sample instance_samples[] = {
    {"quint8[1,2,1,1]=0,9; f32[]=0; f32[]=1", NULL, FY_OK, "0,255"},
    {"quint8[1,2,1,1]=0,9; f32[]=1; f32[]=1", NULL, FY_INVALID_ARGUMENT,
     "input_min must be less than input_max : 1 >= 1"},
};
#define VECTOR "; quint8[2]=0,0; f32[]=0; f32[]=1"
static const fy_sample batch_samples[] = {
    {"quint8[1,1,1,2]=0,255; f32[]=0; f32[]=1" VECTOR
     "; quint8[2]=255,255; f32[]=0; f32[]=1" VECTOR VECTOR,
     "variance_epsilon=0.0; scale_after_normalization=false; out_type=qint32", FY_OK, "0,2048"},
    {"quint8[1,1,1,2]=0,255; f32[2]=0,1; f32[]=1" VECTOR VECTOR VECTOR VECTOR,
     "variance_epsilon=0.0; scale_after_normalization=false; out_type=qint32", FY_INVALID_ARGUMENT,
     "input_min must have 1 element"},
};

FY_OP(QuantizedResizeBilinear, .shape = resize_shape, .compute = resize, .host_inputs = 0xE,
      FY_SAMPLES(resize_samples));
FY_OP(QuantizedInstanceNorm, .shape = instance_shape, .prepare = instance_prepare,
      .compute = instance_norm, FY_SAMPLES(instance_samples));
FY_OP(QuantizedBatchNormWithGlobalNormalization, .shape = batch_norm_shape, .compute = batch_norm,
      FY_SAMPLES(batch_samples));

// SPDX-License-Identifier: Apache-2.0
// glimpse.c: ExtractGlimpse and ExtractGlimpseV2: a window of fixed size around a place in each
// image; what lies outside the image is noise (or zero). V1 and V2 differ in how they read places.

#include <math.h>

#include "base/thread.h"
#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef enum noise { UNIFORM, GAUSSIAN, ZERO } noise;

static fy_code noise_of(const fy_site *site, noise *out, fy_error *err) {
  const bool uniform = fy_site_bool(site, "uniform_noise");
  const fy_view name = fy_site_string(site, "noise");
  if (uniform && name.n && !fy_view_is(name, "uniform")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The uniform_noise and noise could not be specified at the same time");
  }
  if (name.n == 0) {
    *out = uniform ? UNIFORM : GAUSSIAN;
  } else if (fy_view_is(name, "uniform")) {
    *out = UNIFORM;
  } else if (fy_view_is(name, "gaussian")) {
    *out = GAUSSIAN;
  } else if (fy_view_is(name, "zero")) {
    *out = ZERO;
  } else {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The noise could only be uniform, gaussian, or zero, got%.*s", (int)name.n,
                   name.p);
  }
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  noise n;
  return noise_of(site, &n, err);
}

// Noise with the spread of the image: within its extremes.
static void fill_noise(noise how, const float *image, int64_t n, float *out, int64_t count,
                       fy_philox_singles *s) {
  if (how == ZERO || n == 0) {
    memset(out, 0, (size_t)count * sizeof *out);
    return;
  }
  float low = image[0], high = image[0];
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    low = image[i] < low ? image[i] : low;
    high = image[i] > high ? image[i] : high;
    sum += (double)image[i];
  }
  const double mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++) squares += ((double)image[i] - mean) * ((double)image[i] - mean);
  const float sigma = (float)sqrt(squares / (double)n);
  for (int64_t i = 0; i < count; i++) {
    if (how == UNIFORM) {
      out[i] = fy_bits_to_unit_float(fy_philox_single(s)) * (high - low) + low;
      continue;
    }
    float a, b;
    fy_normal_float(fy_philox_single(s), fy_philox_single(s), &a, &b);
    const float v = a * sigma + (float)mean;
    out[i] = v < low ? low : v > high ? high : v;
  }
}

static int64_t to_pixel(float v) {
  return v > -0x1p62f && v < 0x1p62f ? (int64_t)v : v > 0 ? INT64_MAX / 4 : INT64_MIN / 4;
}

// First row (or column) of the window.
static int64_t start_of(float at, int64_t size, int64_t window, bool normalized, bool centered,
                        bool second) {
  const float whole = (float)size;
  if (!second) {
    if (normalized) at *= whole;
    if (centered) at = at / 2.0f + whole / 2.0f;
    at -= (float)window / 2.0f;
  } else if (normalized) {
    at *= whole;
    if (centered) at = at / 2.0f + whole / 2.0f - (float)window / 2.0f;
  } else if (centered) {
    at += whole / 2.0f;
  }
  return to_pixel(at);
}

static fy_code extract(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *size = ctx->in[1], *offsets = ctx->in[2];
  const bool second = ctx->site->op->impl->aux != NULL;
  const bool normalized = fy_site_bool(ctx->site, "normalized");
  const bool centered = fy_site_bool(ctx->site, "centered");
  noise how = ZERO;
  fy_tensor *out;
  char x[128];
  FY_TRY(noise_of(ctx->site, &how, err));
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input must be 4-dimensional (batch_size, height, width, depth)%s",
                   fy_tensor_shape_text(in, x));
  }
  if (size->rank != 1 || size->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be a vector of size 2 (height, width)%s",
                   fy_tensor_shape_text(size, x));
  }
  const int64_t n = in->dims[0], h = in->dims[1], w = in->dims[2], c = in->dims[3];
  const int64_t gh = fy_tensor_int(size, 0), gw = fy_tensor_int(size, 1);
  if (gh < 0 || gw < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)(gh < 0 ? gh : gw));
  }
  if (offsets->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be a matrix%s",
                   fy_tensor_shape_text(offsets, x));
  }
  if (offsets->dims[0] != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "first dimension should be batch%s",
                   fy_tensor_shape_text(offsets, x));
  }
  if (offsets->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "second dimension should be of size 2 (y,x)%s",
                   fy_tensor_shape_text(offsets, x));
  }
  FY_TRY(fy_out(ctx, 0, 4, (const int64_t[]){n, gh, gw, c}, &out, err));
  if (out->count == 0) return FY_OK;
  fy_philox_singles stream = {.generator = fy_philox_seed((uint64_t)fy_now_ns(), 1)};
  for (int64_t b = 0; b < n; b++) {
    const float *at = (const float *)offsets->data + 2 * b;
    const int64_t y0 = start_of(at[0], h, gh, normalized, centered, second);
    const int64_t x0 = start_of(at[1], w, gw, normalized, centered, second);
    const float *image = (const float *)in->data + b * h * w * c;
    float *to = (float *)out->data + b * gh * gw * c;
    if (y0 < 0 || x0 < 0 || y0 + gh > h || x0 + gw > w) {
      fill_noise(how, image, h * w * c, to, gh * gw * c, &stream);
    }
    const int64_t left = x0 < 0 ? -x0 : 0, right = x0 + gw > w ? w - x0 : gw;
    for (int64_t y = y0 < 0 ? -y0 : 0; y < gh && y0 + y < h && left < right; y++) {
      memcpy(to + (y * gw + left) * c, image + ((y0 + y) * w + x0 + left) * c,
             (size_t)((right - left) * c) * sizeof *to);
    }
  }
  return FY_OK;
}

static fy_code glimpse_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 2, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[2], 0), &dims[0], err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[2], 1), 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 0), 2, err));
  dims[3] = fy_dim_of(ctx->in[0], 3);
  const fy_tensor *size = fy_shape_tensor(ctx, 1);
  for (int i = 0; size && size->count == 2 && i < 2; i++) {
    dims[1 + i] = fy_tensor_int(size, i) < 0 ? -1 : fy_tensor_int(size, i);
  }
  const fy_attr *noise_attr = fy_attrs_get(ctx->attrs, "noise");
  if (noise_attr && noise_attr->v.s.n && !fy_view_is(noise_attr->v.s, "uniform") &&
      fy_shape_attr_bool(ctx, "uniform_noise")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The uniform_noise should not be True when noise is not uniform");
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,3,3,1]=iota; i32[2]=1,1; f32[1,2]=0,0", "uniform_noise=false; noise=\"zero\"", FY_OK,
     "4"},
};
static const char is_second;
FY_OP(ExtractGlimpse, .shape = glimpse_shape, .prepare = prepare, .compute = extract,
      .host_inputs = 2, FY_SAMPLES(samples));
FY_OP(ExtractGlimpseV2, .shape = glimpse_shape, .prepare = prepare, .compute = extract,
      .aux = &is_second, .host_inputs = 2, FY_SAMPLES(samples));

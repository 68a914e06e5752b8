// SPDX-License-Identifier: Apache-2.0
// scale_and_translate.c: ScaleAndTranslate and its gradient. Rows and columns are resampled one
// after the other; output pixel i is a weighted sum over a span of input pixels. The gradient uses
// the same weights the other way round.

#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#include <float.h>
#include <math.h>

// ---------------------------------------------------------------- kernels
typedef struct kernel {
  const char *name;
  float radius;
  float (*weight)(float x, float radius);  // x >= 0
} kernel;

static float lanczos(float x, float radius) {
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  const double pi = M_PI, d = (double)x, r = (double)radius;
  return (float)(r * sin(pi * d) * sin(pi * d / r) / (pi * pi * d * d));
}
static float gaussian(float x, float radius) {
  if (x >= radius) return 0;
  const double sigma = (double)(radius / 3.0f);
  return (float)exp(-(double)x * (double)x / (2.0 * sigma * sigma));
}
static float box(float x, float radius) {
  (void)radius;
  return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f;
}
static float triangle(float x, float radius) {
  (void)radius;
  return x < 1 ? 1 - x : 0;
}
static float keys_cubic(float x, float radius) {
  (void)radius;
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}
static float mitchell_cubic(float x, float radius) {
  (void)radius;
  if (x >= 2) return 0;
  if (x >= 1) {
    return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  }
  return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}
static const kernel kernels[] = {
    {"lanczos1", 1, lanczos},
    {"lanczos3", 3, lanczos},
    {"lanczos5", 5, lanczos},
    {"gaussian", 1.5f, gaussian},
    {"box", 1, box},
    {"triangle", 1, triangle},
    {"keyscubic", 2, keys_cubic},
    {"mitchellcubic", 2, mitchell_cubic},
};

static fy_code kernel_of(const fy_site *site, const kernel **out, fy_error *err) {
  const fy_view name = fy_site_string(site, "kernel_type");
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (!fy_view_is(name, kernels[i].name)) continue;
    *out = &kernels[i];
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "Unrecognized kernel type: %.*s", (int)name.n, name.p);
}

static fy_code prepare(fy_site *site, fy_error *err) {
  const kernel *k = NULL;
  return kernel_of(site, &k, err);
}

// ---------------------------------------------------------------- spans
typedef struct spans {
  int64_t size;  // of the longest
  int64_t *starts;
  float *weights;  // [outputs, size]
} spans;

static int64_t within(float v, int64_t size) {
  if (!(v > 0)) return 0;
  return v > (float)(size - 1) ? size - 1 : (int64_t)v;
}

static fy_code make_spans(fy_kernel_ctx *ctx, const kernel *k, int64_t out, int64_t in, float scale,
                          float translate, bool antialias, spans *s, fy_error *err) {
  const float inverse = 1.0f / scale, shift = -inverse * translate;
  const float stretch = antialias && inverse > 1 ? inverse : 1.0f;
  const float reach = k->radius * stretch;
  const double longest = 2 * ceil((double)reach) + 1;
  s->size = longest < (double)in ? (int64_t)longest : in;
  int64_t cells;
  void *memory;
  if (__builtin_mul_overflow(out, s->size, &cells) || cells > INT64_MAX / 16) {
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "the weights need too much memory");
  }
  FY_TRY(fy_scratch(ctx, (size_t)out * sizeof *s->starts, &memory, err));
  s->starts = memory;
  FY_TRY(fy_scratch(ctx, (size_t)cells * sizeof *s->weights, &memory, err));
  s->weights = memory;
  memset(s->weights, 0, (size_t)cells * sizeof *s->weights);
  for (int64_t x = 0; x < out; x++) {
    const float at = ((float)x + 0.5f) * inverse + shift;
    s->starts[x] = 0;
    if (!(at >= 0 && at <= (float)in)) continue;
    const int64_t from = within(ceilf(at - reach - 0.5f), in);
    const int64_t to = within(floorf(at + reach - 0.5f), in) + 1;
    if (to - from > s->size) {
      return fy_fail(err, FY_INTERNAL, "Span is too large: %lld vs %lld.", (long long)(to - from),
                     (long long)s->size);
    }
    float *w = s->weights + x * s->size, total = 0;
    for (int64_t i = from; i < to; i++) {
      const float v = k->weight(fabsf(((float)i + 0.5f - at) * (1.0f / stretch)), k->radius);
      total += v;
      w[i - from] = v;
    }
    const float norm = fabsf(total) >= 1000.0f * FLT_MIN ? 1.0f / total : 0;
    for (int64_t i = from; i < to; i++) w[i - from] *= norm;
    s->starts[x] = from;
  }
  return FY_OK;
}

// out[a, y, b] = sum over the span of y of in[a, i, b]; or, backward, the transpose of that.
static void resample(const spans *s, const float *in, float *out, int64_t outer, int64_t in_size,
                     int64_t out_size, int64_t inner, bool backward) {
  memset(out, 0, (size_t)(outer * (backward ? in_size : out_size) * inner) * sizeof *out);
  for (int64_t a = 0; a < outer; a++) {
    for (int64_t y = 0; y < out_size; y++) {
      for (int64_t i = 0; i < s->size && s->starts[y] + i < in_size; i++) {
        const float w = s->weights[y * s->size + i];
        if (w == 0) continue;
        const int64_t small = (a * out_size + y) * inner;
        const int64_t large = (a * in_size + s->starts[y] + i) * inner;
        const float *from = in + (backward ? small : large);
        float *to = out + (backward ? large : small);
        for (int64_t c = 0; c < inner; c++) to[c] += w * from[c];
      }
    }
  }
}

static fy_code two_floats(const fy_tensor *t, float out[2], fy_error *err) {
  char x[128];
  if (t->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "t must be 1-dimensional%s",
                   fy_tensor_shape_text(t, x));
  }
  if (t->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "t must have two elements%s",
                   fy_tensor_shape_text(t, x));
  }
  memcpy(out, t->data, 2 * sizeof *out);
  return FY_OK;
}

typedef struct pass {
  spans rows, cols;
  float *middle;  // [n, out_h, in_w, c]
} pass;

static fy_code plan(fy_kernel_ctx *ctx, int64_t n, int64_t in_h, int64_t in_w, int64_t out_h,
                    int64_t out_w, int64_t c, const float scale[2], const float shift[2], pass *p,
                    fy_error *err) {
  const kernel *k = NULL;
  const bool antialias = fy_site_bool(ctx->site, "antialias");
  void *memory;
  int64_t count;
  FY_TRY(kernel_of(ctx->site, &k, err));
  FY_TRY(make_spans(ctx, k, out_w, in_w, scale[1], shift[1], antialias, &p->cols, err));
  FY_TRY(make_spans(ctx, k, out_h, in_h, scale[0], shift[0], antialias, &p->rows, err));
  if (!fy_shape_count(4, (const int64_t[]){n, out_h, in_w, c}, &count) || count > INT64_MAX / 16) {
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "the intermediate image needs too much memory");
  }
  FY_TRY(fy_scratch(ctx, (size_t)count * sizeof(float), &memory, err));
  p->middle = memory;
  return FY_OK;
}

static fy_code forward(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *images = ctx->in[0], *size = ctx->in[1];
  fy_tensor *out;
  float scale[2], shift[2];
  const float *pixels;
  pass p;
  char x[128];
  if (images->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                   fy_tensor_shape_text(images, x));
  }
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output_shape_t must be 1-dimensional%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output_shape_t must have two elements%s",
                   fy_tensor_shape_text(size, x));
  }
  const int64_t out_h = fy_tensor_int(size, 0), out_w = fy_tensor_int(size, 1);
  const int64_t n = images->dims[0], h = images->dims[1], w = images->dims[2], c = images->dims[3];
  if (h >= INT32_MAX || w >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input sizes must be between 0 and max int32");
  }
  if (out_h <= 0 || out_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output dimensions must be positive");
  }
  if (c <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "image must have at least one channel");
  if (h <= 0 || w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input image must be of non-zero size");
  }
  FY_TRY(two_floats(ctx->in[2], scale, err));
  if (!(scale[0] > 0 && scale[1] > 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Scale must be greater than zero.");
  }
  FY_TRY(two_floats(ctx->in[3], shift, err));
  FY_TRY(fy_out(ctx, 0, 4, (const int64_t[]){n, out_h, out_w, c}, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_image_floats(ctx, images, &pixels, err));
  FY_TRY(plan(ctx, n, h, w, out_h, out_w, c, scale, shift, &p, err));
  resample(&p.rows, pixels, p.middle, n, h, out_h, w * c, false);
  resample(&p.cols, p.middle, out->data, n * out_h, w, out_w, c, false);
  return FY_OK;
}

static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *original = ctx->in[1];
  fy_tensor *out;
  float scale[2], shift[2];
  pass p;
  char x[128];
  if (grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_grad must be 4-dimensional%s",
                   fy_tensor_shape_text(grad, x));
  }
  if (grad->dtype != FY_FLOAT) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_grad must be of type float");
  }
  if (original->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "original_image must be 4-dimensional%s",
                   fy_tensor_shape_text(original, x));
  }
  const int64_t n = grad->dims[0], c = grad->dims[3], h = original->dims[1], w = original->dims[2];
  if (h >= INT32_MAX || w >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "original sizes must be between 0 and max int32");
  }
  FY_TRY(two_floats(ctx->in[2], scale, err));
  FY_TRY(two_floats(ctx->in[3], shift, err));
  FY_TRY(fy_out(ctx, 0, 4, (const int64_t[]){n, h, w, c}, &out, err));
  if (out->count == 0) return FY_OK;
  if (grad->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  if (!(scale[0] > 0 && scale[1] > 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Scale must be greater than zero.");
  }
  const int64_t out_h = grad->dims[1], out_w = grad->dims[2];
  FY_TRY(plan(ctx, n, h, w, out_h, out_w, c, scale, shift, &p, err));
  resample(&p.cols, grad->data, p.middle, n * out_h, w, out_w, c, true);
  resample(&p.rows, p.middle, out->data, n, h, out_h, w * c, true);
  return FY_OK;
}

static fy_code forward_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 0), 2, err));
  dims[0] = fy_dim_of(ctx->in[0], 0);
  dims[3] = fy_dim_of(ctx->in[0], 3);
  const fy_tensor *size = fy_shape_tensor(ctx, 1);
  for (int i = 0; size && size->count == 2 && i < 2; i++) {
    dims[1 + i] = fy_tensor_int(size, i) < 0 ? -1 : fy_tensor_int(size, i);
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=2,2; f32[2]=1,1; f32[2]=0,0", "kernel_type=\"triangle\"", FY_OK,
     "1,2,3,4"},
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=2,2; f32[2]=0,1; f32[2]=0,0", NULL, FY_INVALID_ARGUMENT,
     "Scale must be greater than zero."},
};
static const fy_sample grad_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,2,2,1]=zeros; f32[2]=1,1; f32[2]=0,0", "kernel_type=\"triangle\"",
     FY_OK, "1,2,3,4"},
};
static fy_code like_second(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[1].rank, ctx->in[1].dims, err);
}
FY_OP(ScaleAndTranslate, .shape = forward_shape, .prepare = prepare, .compute = forward,
      .host_inputs = 14, FY_SAMPLES(samples));
FY_OP(ScaleAndTranslateGrad, .shape = like_second, .prepare = prepare, .compute = gradient,
      .host_inputs = 12, FY_SAMPLES(grad_samples));

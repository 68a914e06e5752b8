// SPDX-License-Identifier: Apache-2.0
// uniform_conv.c: UniformQuantizedConvolution (int8 by int8) and its hybrid form (floats by int8, which
// are quantized image by image first): any number of spatial dims, in any layout, dilated on both sides,
// in groups. What is padded holds the zero point, so it adds nothing and is left out.

#include <stdio.h>
#include <string.h>

#include "ops/shape_fns.h"
#include "ops/uniform.h"
#include "ops/values.h"

// ---------------------------------------------------------------- the loop
typedef struct conv_job {
  const fy_uniform_geometry *g;
  const int8_t *in, *kernel;
  const int64_t *in_dims, *kernel_dims;
  int64_t in_step[FY_MAX_RANK], kernel_step[FY_MAX_RANK], out_step[FY_MAX_RANK];
  const int32_t *in_zero;  // one, or one per image
  bool zero_per_image;
  fy_scales kernel_scales;  // n: 1 or one per output feature
  // The sum of output (image, feature) at |at| of the output's memory.
  void (*put)(const struct conv_job *j, int64_t at, int64_t image, int64_t feature, int32_t sum);
  void *out;
  const fy_multiplier *by;  // to the output's scale; per feature if |per_feature|
  fy_scales out_scales;
  fy_limits limits;
  const float *in_scale;  // hybrid: per image
} conv_job;

static void steps_of(const int64_t *dims, int32_t rank, int64_t *out) {
  int64_t step = 1;
  for (int32_t d = rank - 1; d >= 0; d--) {
    out[d] = step;
    step *= dims[d];
  }
}

// The sum over a window, for the output element whose spatial indices are |at|.
static int32_t window_sum(const conv_job *j, int64_t image, int64_t feature, const int64_t *at) {
  const fy_uniform_geometry *g = j->g;
  const int64_t features = j->kernel_dims[g->kernel.feature], to = j->kernel_dims[g->kernel.batch];
  const int64_t first = feature / (to / g->feature_groups) * features;
  const uint32_t zero_in = (uint32_t)j->in_zero[j->zero_per_image ? image : 0];
  const uint32_t zero_kernel =
      (uint32_t)j->kernel_scales.zero[j->kernel_scales.n == 1 ? 0 : feature];
  const int64_t in_step = j->in_step[g->in.feature],
                kernel_step = j->kernel_step[g->kernel.feature];
  int64_t window = 1;
  uint32_t sum = 0;
  for (int i = 0; i < g->spatial; i++) window *= j->kernel_dims[g->kernel.spatial[i]];
  for (int64_t w = 0; w < window; w++) {
    int64_t a = image * j->in_step[g->in.batch] + first * in_step;
    int64_t k = feature * j->kernel_step[g->kernel.batch], rest = w;
    bool inside = true;
    for (int i = g->spatial - 1; i >= 0 && inside; i--) {
      const int64_t size = j->kernel_dims[g->kernel.spatial[i]], tap = rest % size;
      const int64_t p = at[i] * g->stride[i] + tap * g->kernel_dilation[i] - g->before[i];
      rest /= size;
      inside = p >= 0 && p % g->in_dilation[i] == 0 &&
               p / g->in_dilation[i] < j->in_dims[g->in.spatial[i]];
      a += p / g->in_dilation[i] * j->in_step[g->in.spatial[i]];
      k += tap * j->kernel_step[g->kernel.spatial[i]];
    }
    if (!inside) continue;
    for (int64_t c = 0; c < features; c++) {
      sum += ((uint32_t)(int32_t)j->in[a + c * in_step] - zero_in) *
             ((uint32_t)(int32_t)j->kernel[k + c * kernel_step] - zero_kernel);
    }
  }
  return (int32_t)sum;
}

static void conv_items(void *arg, int64_t begin,
                       int64_t end) {  // item: (image, feature) of the output
  const conv_job *j = arg;
  const fy_uniform_geometry *g = j->g;
  const int64_t to = g->out_dims[g->out.feature], images = g->out_dims[g->out.batch];
  int64_t space = 1, at[FY_MAX_SPATIAL];
  for (int i = 0; i < g->spatial; i++) space *= g->out_dims[g->out.spatial[i]];
  for (int64_t item = begin; item < end; item++) {
    const int64_t feature = item % to, b = item / to;
    // A group of output features sees its own group of images.
    const int64_t image = b + feature / (to / g->batch_groups) * images;
    for (int64_t s = 0; s < space; s++) {
      int64_t rest = s;
      int64_t o = b * j->out_step[g->out.batch] + feature * j->out_step[g->out.feature];
      for (int i = g->spatial - 1; i >= 0; i--) {
        at[i] = rest % g->out_dims[g->out.spatial[i]];
        rest /= g->out_dims[g->out.spatial[i]];
        o += at[i] * j->out_step[g->out.spatial[i]];
      }
      j->put(j, o, image, feature, window_sum(j, image, feature, at));
    }
  }
}

static void put_quantized(const conv_job *j, int64_t at, int64_t image, int64_t feature,
                          int32_t sum) {
  (void)image;
  const int64_t c = j->out_scales.n == 1 ? 0 : feature;
  const fy_multiplier by = j->by[j->kernel_scales.n == 1 ? 0 : feature];
  ((int32_t *)j->out)[at] =
      fy_limited(fy_wrap_add(fy_multiplied(sum, by), j->out_scales.zero[c]), j->limits);
}
static void put_float(const conv_job *j, int64_t at, int64_t image, int64_t feature, int32_t sum) {
  const float scale = j->kernel_scales.scale[j->kernel_scales.n == 1 ? 0 : feature];
  ((float *)j->out)[at] = (float)sum * j->in_scale[image] * scale;
}

static void run_job(fy_kernel_ctx *ctx, conv_job *j, const fy_tensor *in, const fy_tensor *kernel,
                    fy_tensor *out) {
  const fy_uniform_geometry *g = j->g;
  j->in_dims = in->dims;
  j->kernel = kernel->data;
  j->kernel_dims = kernel->dims;
  j->out = out->data;
  steps_of(in->dims, g->rank, j->in_step);
  steps_of(kernel->dims, g->rank, j->kernel_step);
  steps_of(out->dims, g->rank, j->out_step);
  const int64_t items = g->out_dims[g->out.batch] * g->out_dims[g->out.feature];
  const double window = (double)kernel->count / (double)g->out_dims[g->out.feature];
  fy_parallel(ctx, items, (double)out->count / (double)items * window, conv_items, j);
}

// ---------------------------------------------------------------- the ops
static fy_code begin(fy_kernel_ctx *ctx, fy_uniform_geometry *g, fy_tensor **out, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *kernel = ctx->in[1];
  char x[128], y[128];
  if (in->rank != kernel->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "lhs and rhs must have same dims. Given lhs and rhs of shapes: %s%s",
                   fy_tensor_shape_text(in, x), fy_tensor_shape_text(kernel, y));
  }
  FY_TRY(fy_uniform_geometry_of(ctx->site->attrs, in->rank, in->dims, kernel->dims, g, err));
  return fy_out(ctx, 0, g->rank, g->out_dims, out, err);
}

static fy_code read_multipliers(fy_kernel_ctx *ctx, const conv_job *j, float in_scale,
                                fy_multiplier **out, fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)j->kernel_scales.n * sizeof **out, &memory, err));
  *out = memory;
  for (int64_t c = 0; c < j->kernel_scales.n; c++) {
    const double to = (double)j->out_scales.scale[j->out_scales.n == 1 ? 0 : c];
    FY_TRY(
        fy_multiplier_of((double)in_scale * (double)j->kernel_scales.scale[c] / to, *out + c, err));
  }
  return FY_OK;
}

static fy_code quantized_conv(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *kernel = ctx->in[1];
  static const char *const positive[] = {"lhs scales elements must be all positive.",
                                         "rhs scales elements must be all positive.",
                                         "output scales elements must be all positive."};
  fy_uniform_geometry g;
  fy_tensor *out;
  fy_multiplier *by;
  char x[128], y[128];
  for (int i = 0; i < 3; i++) FY_TRY(fy_scales_positive(ctx->in[2 + 2 * i], positive[i], err));
  FY_TRY(begin(ctx, &g, &out, err));
  if (ctx->in[2]->rank || ctx->in[3]->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "lhs scales/zero_points must be all scalar tensors. Given: %s%s",
                   fy_tensor_shape_text(ctx->in[2], x), fy_tensor_shape_text(ctx->in[3], y));
  }
  conv_job j = {.g = &g,
                .in = in->data,
                .in_zero = ctx->in[3]->data,
                .put = put_quantized,
                .limits = fy_limits_of(ctx->site, "output_quantization_min_val",
                                       "output_quantization_max_val")};
  FY_TRY(fy_scales_read(ctx, kernel, 4, fy_site_int(ctx->site, "rhs_quantization_axis"),
                        &j.kernel_scales, err));
  FY_TRY(fy_scales_read(ctx, out, 6, fy_site_int(ctx->site, "output_quantization_axis"),
                        &j.out_scales, err));
  if (ctx->in[4]->rank == 0 && ctx->in[6]->rank != 0) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "If rhs is per-tensor quantized, output must be also per-tensor quantized. Given "
        "output scales/zero_points of rank %d",
        ctx->in[6]->rank);
  }
  FY_TRY(read_multipliers(ctx, &j, *(const float *)ctx->in[2]->data, &by, err));
  j.by = by;
  if (out->count) run_job(ctx, &j, in, kernel, out);
  return FY_OK;
}

// Every image gets a scale of its own; images need not be the outermost dim.
static fy_code quantize_images(fy_kernel_ctx *ctx, const fy_uniform_geometry *g, conv_job *j,
                               fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const int64_t images = in->dims[g->in.batch], each = in->count / images;
  const int64_t inner = fy_product(in->dims + g->in.batch + 1, g->rank - 1 - (int32_t)g->in.batch);
  void *bytes, *scale, *zero, *image, *quantized;
  FY_TRY(fy_scratch(ctx, (size_t)in->count, &bytes, err));
  FY_TRY(fy_scratch(ctx, (size_t)images * sizeof(float), &scale, err));
  FY_TRY(fy_scratch(ctx, (size_t)images * sizeof(int32_t), &zero, err));
  FY_TRY(fy_scratch(ctx, (size_t)each * sizeof(float), &image, err));
  FY_TRY(fy_scratch(ctx, (size_t)each, &quantized, err));
  for (int64_t b = 0; b < images; b++) {
    for (int64_t o = 0; o < each / inner; o++)
      memcpy((float *)image + o * inner, (const float *)in->data + (o * images + b) * inner,
             (size_t)inner * sizeof(float));
    fy_quantize_row(image, each, quantized, (float *)scale + b, (int32_t *)zero + b);
    for (int64_t o = 0; o < each / inner; o++)
      memcpy((int8_t *)bytes + (o * images + b) * inner, (int8_t *)quantized + o * inner,
             (size_t)inner);
  }
  j->in = bytes;
  j->in_scale = scale;
  j->in_zero = zero;
  j->zero_per_image = true;
  return FY_OK;
}

static fy_code hybrid_conv(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *kernel = ctx->in[1];
  fy_uniform_geometry g;
  fy_tensor *out;
  FY_TRY(fy_scales_positive(ctx->in[2], "rhs scales elements must be all positive.", err));
  FY_TRY(begin(ctx, &g, &out, err));
  conv_job j = {.g = &g, .put = put_float};
  FY_TRY(fy_scales_read(ctx, kernel, 2, fy_site_int(ctx->site, "rhs_quantization_axis"),
                        &j.kernel_scales, err));
  if (out->count == 0) return FY_OK;
  if (in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  FY_TRY(quantize_images(ctx, &g, &j, err));
  run_job(ctx, &j, in, kernel, out);
  return FY_OK;
}

// The axis may be none (-1) or that of the output's features.
static fy_code check_axis(const fy_site *site, const char *which, int64_t feature, const char *dim,
                          fy_error *err) {
  char name[48];
  snprintf(name, sizeof name, "%s_quantization_axis", which);
  const int64_t axis = fy_site_int(site, name);
  if (axis == -1 || axis == feature) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "%s Attr must be -1 (per-tensor) or dimension_numbers.%s (per-channel).", name,
                 dim);
}
static fy_code prepare(fy_site *site, fy_error *err) {
  fy_uniform_geometry g = {.kernel = {.batch = 0}, .out = {.feature = 1}};
  FY_TRY(fy_uniform_padding(site->attrs, err));
  if (!fy_uniform_numbers(site->attrs, &g)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Error parsing convolution dimension numbers.");
  }
  if (site->num_inputs == 8) {
    if (fy_site_int(site, "lhs_quantization_axis") != -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "lhs_quantization_axis Attr must be -1 (per-tensor).");
    }
    FY_TRY(check_axis(site, "output", g.out.feature, "output_feature_dimension", err));
  }
  return check_axis(site, "rhs", g.kernel.batch, "kernel_output_feature_dimension", err);
}

static fy_code conv_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], kernel = ctx->in[1];
  const bool hybrid = ctx->num_inputs == 4;
  fy_uniform_geometry g;
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  FY_TRY(fy_shape_rank_at_least(kernel, 2, err));
  for (int i = 2; i < ctx->num_inputs; i++)
    FY_TRY(fy_shape_rank_at_most(ctx->in[i], !hybrid && i < 4 ? 0 : 1, err));
  if (in.rank >= 0 && kernel.rank >= 0 && in.rank != kernel.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lhs and rhs must have same rank.");
  }
  for (int i = hybrid ? 2 : 4; i < ctx->num_inputs; i += 2)
    FY_TRY(fy_scales_shape(ctx, i, -1, err));
  if (!fy_shape_known(in) || !fy_shape_known(kernel)) {
    const int32_t rank = in.rank >= 0 ? in.rank : kernel.rank;
    return rank < 0 ? FY_OK : fy_shape_set(ctx, 0, rank, NULL, err);
  }
  FY_TRY(fy_uniform_padding(ctx->attrs, err));
  FY_TRY(fy_uniform_geometry_of(ctx->attrs, in.rank, in.dims, kernel.dims, &g, err));
  return fy_shape_set(ctx, 0, g.rank, g.out_dims, err);
}

#define RANGES                                                    \
  "lhs_quantization_min_val=-128; lhs_quantization_max_val=127; " \
  "rhs_quantization_min_val=-128; rhs_quantization_max_val=127; " \
  "output_quantization_min_val=-100000; output_quantization_max_val=100000"
#define SCALES "f32[]=1; i32[]=0; f32[]=1; i32[]=0; f32[]=1; i32[]=0"
static const fy_sample quantized_samples[] = {
    {"qint8[1,1,3]=1,2,3; qint8[1,1,2]=10,1; " SCALES, "Tout=qint32; padding=\"VALID\"; " RANGES,
     FY_OK, "12,23"},
    {"qint8[1,1,3]=1,2,3; qint8[1,2]=10,1; " SCALES, "Tout=qint32; padding=\"SAME\"; " RANGES,
     FY_INVALID_ARGUMENT, "lhs and rhs must have same dims."},
};
static const fy_sample hybrid_samples[] = {
    {"f32[1,1,2]=0,255; qint8[1,1,2]=3,4; f32[]=1; i32[]=0",
     "Tout=float; padding=\"VALID\"; rhs_quantization_min_val=-128; rhs_quantization_max_val=127",
     FY_OK, "1020"},
};
FY_OP(UniformQuantizedConvolution, .shape = conv_shape, .prepare = prepare,
      .compute = quantized_conv, FY_SAMPLES(quantized_samples));
FY_OP(UniformQuantizedConvolutionHybrid, .shape = conv_shape, .prepare = prepare,
      .compute = hybrid_conv, FY_SAMPLES(hybrid_samples));

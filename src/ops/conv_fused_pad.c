// SPDX-License-Identifier: Apache-2.0
// conv_fused_pad.c: FusedPadConv2D and FusedResizeAndPadConv2D, which TensorFlow's graph transforms made:
// an image is resized (bilinear, corners as in TensorFlow 1), padded by mirroring, and convolved.

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/conv.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct mirrored {
  int64_t h, w;  // after resizing
  int64_t before[2], after[2];
} mirrored;

static fy_code check_paddings(const fy_tensor *in, const fy_tensor *pads, const int64_t dims[4],
                              bool reflect, mirrored *m, fy_error *err) {
  char x[128], y[128];
  if (pads->rank != 2 || pads->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                   fy_tensor_shape_text(pads, x));
  }
  if (pads->dims[0] != in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The first dimension of paddings must be the rank of inputs: %d %s %s", in->rank,
                   fy_tensor_shape_text(pads, x), fy_tensor_shape_text(in, y));
  }
  for (int d = 0; d < 4; d++) {
    const long long b = fy_tensor_int(pads, 2 * d), a = fy_tensor_int(pads, 2 * d + 1);
    if (b < 0 || a < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "paddings must be non-negative: %lld %lld", b, a);
    }
    if (reflect ? b >= dims[d] || a >= dims[d] : b > dims[d] || a > dims[d]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     reflect ? "paddings must be less than the dimension size: %lld, %lld not less "
                               "than %lld"
                             : "paddings must be no greater than the dimension size: %lld, %lld "
                               "greater than %lld",
                     b, a, (long long)dims[d]);
    }
    if (d == 1 || d == 2) {
      m->before[d - 1] = b;
      m->after[d - 1] = a;
    }
  }
  for (int d = 0; d < 4; d += 3) {
    if (!fy_tensor_int(pads, 2 * d) && !fy_tensor_int(pads, 2 * d + 1)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Fused mirror padding only support spatial padding, not %s",
                   d == 0 ? "batches" : "channels");
  }
  return FY_OK;
}

static void put(fy_tensor *t, int64_t i, double x) {
  switch (t->dtype) {
    case FY_FLOAT: ((float *)t->data)[i] = (float)x; break;
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_float_to_half((float)x); break;
    case FY_BFLOAT16: ((uint16_t *)t->data)[i] = fy_float_to_bfloat16((float)x); break;
    default: ((double *)t->data)[i] = x; break;
  }
}

static double rounded(fy_dtype type, double x) {
  switch (type) {
    case FY_FLOAT: return (float)x;
    case FY_HALF: return fy_half_to_float(fy_float_to_half((float)x));
    case FY_BFLOAT16: return fy_bfloat16_to_float(fy_float_to_bfloat16((float)x));
    default: return x;
  }
}
// a + (b - a) * x, each step in the image's type.
static double between(fy_dtype t, double a, double b, float x) {
  return rounded(t, a + rounded(t, rounded(t, b - a) * rounded(t, (double)x)));
}

static int64_t mirror(int64_t at, int64_t before, int64_t n, bool reflect) {
  at -= before;
  if (at < 0) at = reflect ? -at : -at - 1;
  if (at >= n) at = reflect ? 2 * n - 2 - at : 2 * n - 1 - at;
  return at;
}

static float scale_of(int64_t in, int64_t out, bool corners) {
  return corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
}

typedef struct fill_job {
  const fy_tensor *in;
  fy_tensor *out;
  const mirrored *m;
  bool reflect;
  float sy, sx;
} fill_job;

// Rows of the padded image, whose pixels are some of the input's.
static void copy_rows(void *arg, int64_t begin, int64_t end) {
  const fill_job *j = arg;
  const mirrored *m = j->m;
  const int64_t rows = j->out->dims[1], columns = j->out->dims[2];
  const size_t pixel = (size_t)j->in->dims[3] * fy_dtype_size(j->in->dtype);
  char *to = (char *)j->out->data + (size_t)(begin * columns) * pixel;
  for (int64_t row = begin; row < end; row++) {
    const int64_t y = mirror(row % rows, m->before[0], m->h, j->reflect);
    const char *line = (const char *)j->in->data + (size_t)((row / rows * m->h + y) * m->w) * pixel;
    for (int64_t i = 0; i < m->before[1]; i++, to += pixel)
      memcpy(to, line + (size_t)mirror(i, m->before[1], m->w, j->reflect) * pixel, pixel);
    memcpy(to, line, (size_t)m->w * pixel);
    to += (size_t)m->w * pixel;
    for (int64_t i = m->before[1] + m->w; i < columns; i++, to += pixel)
      memcpy(to, line + (size_t)mirror(i, m->before[1], m->w, j->reflect) * pixel, pixel);
  }
}

// Where a pixel lies between two of the input.
typedef struct spot {
  int64_t low, high;
  float far;  // from the lower one
} spot;
static inline spot spot_of(int64_t at, int64_t before, int64_t size, int64_t n, float scale,
                           bool reflect) {
  const float f = (float)mirror(at, before, size, reflect) * scale;
  const int64_t low = (int64_t)floorf(f);
  return (spot){low, low + 1 < n ? low + 1 : n - 1, f - (float)low};
}

static inline float mix(float a, float b, float x) {
  return a + (b - a) * x;
}

// Rows of the padded image from the input, pixel by pixel.
static void fill_rows(void *arg, int64_t begin, int64_t end) {
  const fill_job *j = arg;
  const fy_tensor *in = j->in;
  const mirrored *m = j->m;
  const fy_dtype t = in->dtype;
  const int64_t h = in->dims[1], w = in->dims[2], c = in->dims[3];
  const int64_t rows = j->out->dims[1], columns = j->out->dims[2];
  int64_t to = begin * columns * c;
  for (int64_t row = begin; row < end; row++) {
    const int64_t first = row / rows * h * w;
    const spot y = spot_of(row % rows, m->before[0], m->h, h, j->sy, j->reflect);
    for (int64_t i = 0; i < columns; i++) {
      const spot x = spot_of(i, m->before[1], m->w, w, j->sx, j->reflect);
      const int64_t at[4] = {(first + y.low * w + x.low) * c, (first + y.low * w + x.high) * c,
                             (first + y.high * w + x.low) * c, (first + y.high * w + x.high) * c};
      if (t == FY_FLOAT) {
        const float *from = in->data;
        float *out = (float *)j->out->data + to;
        for (int64_t k = 0; k < c; k++)
          out[k] = mix(mix(from[at[0] + k], from[at[1] + k], x.far),
                       mix(from[at[2] + k], from[at[3] + k], x.far), y.far);
        to += c;
        continue;
      }
      for (int64_t k = 0; k < c; k++) {
#define AT(corner) fy_tensor_double(in, at[corner] + k)
        const double upper = between(t, AT(0), AT(1), x.far);
        const double lower = between(t, AT(2), AT(3), x.far);
        put(j->out, to++, between(t, upper, lower, y.far));
      }
    }
  }
}

fy_code fy_fused_pad_image(fy_kernel_ctx *ctx, fy_tensor **out, fy_error *err) {
  const bool resizes = ctx->site->num_inputs == 4;
  const bool reflect = fy_view_is(fy_site_string(ctx->site, "mode"), "REFLECT");
  const bool corners = resizes && fy_site_bool(ctx->site, "resize_align_corners");
  const fy_tensor *in = ctx->in[0], *pads = ctx->in[resizes ? 2 : 1],
                  *filter = ctx->in[resizes ? 3 : 2];
  char x[128];
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional, not %s",
                   fy_tensor_shape_text(in, x));
  }
  mirrored m = {.h = in->dims[1], .w = in->dims[2]};
  if (resizes) {
    const fy_tensor *size = ctx->in[1];
    if (size->rank != 1 || size->count != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must %s%s",
                     size->rank != 1 ? "be 1-dimensional" : "have two elements",
                     fy_tensor_shape_text(size, x));
    }
    m.h = fy_tensor_int(size, 0);
    m.w = fy_tensor_int(size, 1);
    if (m.h <= 0 || m.w <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "output dimensions must be positive");
    }
    if (in->dims[1] <= 0 || in->dims[2] <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "input image must be of non-zero size");
    }
  }
  const int64_t resized[4] = {in->dims[0], m.h, m.w, in->dims[3]};
  FY_TRY(check_paddings(in, pads, resized, reflect, &m, err));
  if (filter->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "filter must be 4-dimensional: %s",
                   fy_tensor_shape_text(filter, x));
  }
  if (filter->dims[2] != in->dims[3]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input and filter must have the same depth: %lld vs %lld",
                   (long long)in->dims[3], (long long)filter->dims[2]);
  }
  int64_t dims[4] = {resized[0], m.h, m.w, resized[3]};
  for (int d = 0; d < 2; d++) {
    if (__builtin_add_overflow(dims[1 + d], m.before[d] + m.after[d], &dims[1 + d])) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "the padded image is too large");
    }
  }
  const fy_window_attrs *a = ctx->site->state;
  for (int d = 0; d < 2; d++) {
    if (a->padding == FY_PAD_SAME || dims[1 + d] >= filter->dims[d]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Output tensor can't be empty");
  }
  fy_tensor *padded;
  FY_TRY(fy_tensor_new(in->dtype, 4, dims, &padded, err));
  fill_job fill = {in,
                   padded,
                   &m,
                   reflect,
                   scale_of(in->dims[1], m.h, corners),
                   scale_of(in->dims[2], m.w, corners)};
  if (padded->count)
    fy_parallel(ctx, dims[0] * dims[1], (resizes ? 3.0 : 0.3) * (double)(dims[2] * dims[3]),
                resizes ? fill_rows : copy_rows, &fill);
  *out = padded;
  return FY_OK;
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *padded;
  FY_TRY(fy_fused_pad_image(ctx, &padded, err));
  const fy_tensor *filter = ctx->in[ctx->site->num_inputs - 1];
  const fy_code code = fy_conv_batch(ctx, padded, filter, 1, padded->dims, err);
  fy_tensor_release(padded);
  return code;
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool resizes = ctx->num_inputs == 4;
  const int p = resizes ? 2 : 1, f = resizes ? 3 : 2;
  fy_window_attrs a;
  int lengths[3];
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  FY_TRY(fy_shape_rank_is(ctx->in[p], 2, err));
  const int64_t rows = fy_dim_of(ctx->in[p], 0);
  if (rows != 4) {  // not even when they are not known
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank %lld but is rank 4",
                   (long long)rows);
  }
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[p], 1), 2, err));
  if (resizes) {
    fy_pshape merged;
    FY_TRY(fy_shape_merge(ctx, ctx->in[1], (fy_pshape){1, (const int64_t[]){2}}, &merged, err));
  }
  FY_TRY(fy_shape_rank_is(ctx->in[f], 4, err));
  fy_window_read(ctx->attrs, 2, &a, lengths);
  if (lengths[1] != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Operation requires the stride attribute to contain 4 values, but got: %d",
                   lengths[1]);
  }
  int64_t size[2] = {fy_dim_of(ctx->in[0], 1), fy_dim_of(ctx->in[0], 2)}, out[3] = {1, -1, -1};
  const fy_tensor *to = resizes ? fy_shape_tensor(ctx, 1) : NULL, *pads = fy_shape_tensor(ctx, p);
  for (int64_t i = 0; pads && i < pads->count; i++) {
    if (fy_tensor_int(pads, i) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Paddings must be non-negative");
  }
  for (int d = 0; d < 2; d++) {
    if (resizes) size[d] = to && to->count == 2 ? fy_tensor_int(to, d) : -1;
    if (size[d] >= 0 && pads && pads->count == 8) {
      size[d] += fy_tensor_int(pads, 2 + 2 * d) + fy_tensor_int(pads, 3 + 2 * d);
    } else {
      size[d] = -1;
    }
    FY_TRY(fy_window_infer(size[d], fy_dim_of(ctx->in[f], d), a.strides[1 + d], 1, a.padding, 0, 0,
                           &out[1 + d], err));
  }
  int64_t ends[2] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[0], 3)};  // may be padded, too
  for (int d = 0; d < 2; d++) {
    if (ends[d] >= 0 && pads && pads->count == 8) {
      ends[d] += fy_tensor_int(pads, 6 * d) + fy_tensor_int(pads, 6 * d + 1);
    }
  }
  if (pads || ends[1] < 0) {
    FY_TRY(fy_dim_merge(ends[1], fy_dim_of(ctx->in[f], 2), &ends[1], err));
  }
  const int64_t dims[4] = {ends[0], out[1], out[2], fy_dim_of(ctx->in[f], 3)};
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static const fy_sample pad_samples[] = {
    {"f32[1,2,2,1]=0,1,2,3; i32[4,2]=0,0,1,1,1,1,0,0; f32[2,2,1,1]=ones",
     "mode=\"SYMMETRIC\"; strides=[1,1,1,1]; padding=\"VALID\"", FY_OK, "0,2,4,4,6,8,8,10,12"},
    {"f32[1,2,2,1]=0,inf,2,3; i32[4,2]=zeros; f32[1,1,1,1]=ones",  // not mixed with its neighbours
     "mode=\"REFLECT\"; strides=[1,1,1,1]; padding=\"VALID\"", FY_OK, "0,inf,2,3"},
    {"f32[1,2,2,1]=0,1,2,3; i32[4,2]=0,0,2,1,1,1,0,0; f32[2,2,1,1]=ones",
     "mode=\"REFLECT\"; strides=[1,1,1,1]; padding=\"VALID\"", FY_INVALID_ARGUMENT,
     "paddings must be less than the dimension size: 2, 1 not less than 2"},
};
static const fy_sample resize_samples[] = {
    {"f32[1,2,2,1]=0,1,2,3; i32[2]=4,2; i32[4,2]=zeros; f32[1,1,1,1]=ones",
     "mode=\"REFLECT\"; strides=[1,1,1,1]; padding=\"VALID\"", FY_OK, "0,1,1,2,2,3,2,3"},
};
FY_OP(FusedPadConv2D, .shape = shape, .prepare = fy_conv_prepare_2d, .compute = compute,
      .release = fy_free, .host_inputs = 2, .flags = FY_OP_HOST, FY_SAMPLES(pad_samples));
FY_OP(FusedResizeAndPadConv2D, .shape = shape, .prepare = fy_conv_prepare_2d, .compute = compute,
      .release = fy_free, .host_inputs = 6, .flags = FY_OP_HOST, FY_SAMPLES(resize_samples));

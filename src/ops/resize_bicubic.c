// SPDX-License-Identifier: Apache-2.0
// resize_bicubic.c: ResizeBicubic and its gradient. Weights are those of TensorFlow's table: the
// cubic at multiples of 1/1024, with a = -0.75, or -0.5 (Keys) and no weight outside the image when
// pixel centres are at half.

#include <float.h>

#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

#define STEPS 1024

typedef struct cubic {  // one output row or column
  int64_t index[4];
  float weight[4];
} cubic;

typedef struct cubic_job {
  const fy_resize *r;
  const cubic *y, *x;
  const float *in;
  void *out;
  fy_slices lines;  // of an input row each
} cubic_job;

// The two branches of the kernel at |step| / STEPS: near (|t| < 1) and far (1 <= |t| < 2).
static float near_weight(int64_t step, double a) {
  const double x = (double)step / STEPS;
  return (float)(((a + 2) * x - (a + 3)) * x * x + 1);
}
static float far_weight(int64_t step, double a) {
  const double x = (double)step / STEPS + 1;
  return (float)(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}

static void cubic_along(const fy_resize *r, int64_t out, float scale, int64_t limit, cubic *to) {
  const double a = r->half_pixel ? -0.5 : -0.75;
  for (int64_t i = 0; i < out; i++, to++) {
    const float p = fy_resize_at(r, i, scale);
    const int64_t at = (int64_t)floorf(p);
    const int64_t step = lrintf((p - (float)at) * STEPS);
    const float weights[] = {far_weight(step, a), near_weight(step, a),
                             near_weight(STEPS - step, a), far_weight(STEPS - step, a)};
    float sum = 0;
    for (int k = 0; k < 4; k++) {
      const int64_t want = at - 1 + k;
      to->index[k] = want < 0 ? 0 : want >= limit ? limit - 1 : want;
      to->weight[k] = r->half_pixel && to->index[k] != want ? 0 : weights[k];
      sum += to->weight[k];
    }
    if (!r->half_pixel || fabsf(sum) < 1000.0f * FLT_MIN) continue;
    const float inverse = 1.0f / sum;
    for (int k = 0; k < 4; k++) to->weight[k] *= inverse;
  }
}

static fy_code tables(fy_kernel_ctx *ctx, const fy_resize *r, cubic_job *j, fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(r->out_h + r->out_w) * sizeof(cubic), &memory, err));
  cubic *y = memory, *x = y + r->out_h;
  cubic_along(r, r->out_h, r->scale_h, r->in_h, y);
  cubic_along(r, r->out_w, r->scale_w, r->in_w, x);
  j->r = r;
  j->y = y;
  j->x = x;
  return FY_OK;
}

// |n| numbers of four rows, weighted.
FY_CLONES static void mix_rows(const float *const rows[4], const float *weight, float *restrict out,
                               int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    float v = 0;
    for (int p = 0; p < 4; p++) v += rows[p][i] * weight[p];
    out[i] = v;
  }
}

// Where most columns are used, the four rows of an output row are mixed first.
static void bicubic_lines(void *arg, int64_t begin, int64_t end) {
  cubic_job *j = arg;
  const fy_resize *r = j->r;
  const int64_t c = r->channels, wide = r->in_w * c;
  float *line = fy_slice_take(&j->lines);
  for (int64_t row = begin; row < end; row++) {
    const cubic *y = &j->y[row % r->out_h];
    const float *image = j->in + row / r->out_h * r->in_h * wide, *rows[4];
    for (int p = 0; p < 4; p++) rows[p] = image + y->index[p] * wide;
    mix_rows(rows, y->weight, line, wide);
    float *restrict to = (float *)j->out + row * r->out_w * c;
    for (int64_t x = 0; x < r->out_w; x++) {
      const cubic *col = &j->x[x];
      const float *v[4];
      for (int q = 0; q < 4; q++) v[q] = line + col->index[q] * c;
      for (int64_t k = 0; k < c; k++) {
        float sum = 0;
        for (int q = 0; q < 4; q++) sum += v[q][k] * col->weight[q];
        *to++ = sum;
      }
    }
  }
  fy_slice_give(&j->lines, line);
}

static void bicubic_rows(void *arg, int64_t begin, int64_t end) {
  const cubic_job *j = arg;
  const fy_resize *r = j->r;
  const int64_t c = r->channels;
  for (int64_t row = begin; row < end; row++) {
    const cubic *y = &j->y[row % r->out_h];
    const float *image = j->in + row / r->out_h * r->in_h * r->in_w * c;
    float *to = (float *)j->out + row * r->out_w * c;
    for (int64_t x = 0; x < r->out_w; x++) {
      const cubic *col = &j->x[x];
      for (int64_t k = 0; k < c; k++) {
        float v[4];
        for (int q = 0; q < 4; q++) {
          const float *from = image + col->index[q] * c + k;
          v[q] = 0;
          for (int p = 0; p < 4; p++) v[q] += from[y->index[p] * r->in_w * c] * y->weight[p];
        }
        float sum = 0;
        for (int q = 0; q < 4; q++) sum += v[q] * col->weight[q];
        to[x * c + k] = sum;
      }
    }
  }
}

static fy_code resize_bicubic(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resize r;
  cubic_job j = {.in = NULL};
  fy_tensor *out;
  FY_TRY(fy_resize_check(ctx, &r, err));
  const int64_t dims[] = {r.batch, r.out_h, r.out_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_image_floats(ctx, ctx->in[0], &j.in, err));
  FY_TRY(tables(ctx, &r, &j, err));
  j.out = out->data;
  const double wide = (double)r.out_w * (double)r.channels;
  if (r.in_w > 4 * r.out_w) {
    fy_parallel(ctx, r.batch * r.out_h, 15 * wide, bicubic_rows, &j);
    return FY_OK;
  }
  FY_TRY(fy_slices_make(ctx, r.batch * r.out_h, (size_t)(r.in_w * r.channels) * sizeof(float),
                        &j.lines, err));
  fy_parallel(ctx, r.batch * r.out_h, 4 * wide, bicubic_lines, &j);
  return FY_OK;
}

#define BICUBIC_GRAD(E, S, _)                                                                   \
  static void bicubic_grad_##S(void *arg, int64_t begin, int64_t end) {                         \
    const cubic_job *j = arg;                                                                   \
    const fy_resize *r = j->r;                                                                  \
    const int64_t c = r->channels;                                                              \
    for (int64_t image = begin; image < end; image++) {                                         \
      fy_t_##S *out = (fy_t_##S *)j->out + image * r->in_h * r->in_w * c;                       \
      const float *in = j->in + image * r->out_h * r->out_w * c;                                \
      memset(out, 0, (size_t)(r->in_h * r->in_w * c) * sizeof *out);                            \
      for (int64_t p = 0; p < r->out_h * r->out_w; p++, in += c) {                              \
        const cubic *y = &j->y[p / r->out_w], *x = &j->x[p % r->out_w];                         \
        for (int q = 0; q < 16; q++) {                                                          \
          fy_t_##S *to = out + (y->index[q / 4] * r->in_w + x->index[q % 4]) * c;               \
          for (int64_t k = 0; k < c; k++) {                                                     \
            to[k] += (fy_t_##S)in[k] * (fy_t_##S)y->weight[q / 4] * (fy_t_##S)x->weight[q % 4]; \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }
FY_FULL_REAL_TYPES(BICUBIC_GRAD, _)
typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
static const items_fn grads[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, bicubic_grad)};

static fy_code resize_bicubic_grad(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resize r;
  cubic_job j = {.in = ctx->in[0]->data};
  fy_tensor *out;
  FY_TRY(fy_resize_check_grad(ctx, &r, err));
  const int64_t dims[] = {r.batch, r.in_h, r.in_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (!grads[out->dtype] || ctx->in[0]->dtype != FY_FLOAT) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ResizeBicubicGrad has no loop for %s",
                   fy_dtype_name(out->dtype));
  }
  if (out->count == 0) return FY_OK;
  FY_TRY(tables(ctx, &r, &j, err));
  j.out = out->data;
  fy_parallel(ctx, r.batch, 20.0 * (double)(r.out_h * r.out_w * r.channels), grads[out->dtype], &j);
  return FY_OK;
}

static const fy_sample samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=2,2", NULL, FY_OK, "1,2,3,4"},
    {"u8[1,3,4,2]=iota; i32[2]=5,3", "half_pixel_centers=true", FY_OK, NULL},
    {"f32[2,2,1]=1,2,3,4; i32[2]=2,2", NULL, FY_INVALID_ARGUMENT,
     "input must be 4-dimensional[2,2,1]"},
};
static const fy_sample grad_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,2,2,1]=0,0,0,0", NULL, FY_OK, "1,2,3,4"},
};
FY_OP(ResizeBicubic, .shape = fy_resize_shape, .compute = resize_bicubic, .host_inputs = 2,
      FY_SAMPLES(samples));
FY_OP(ResizeBicubicGrad, .shape = fy_resize_grad_shape, .compute = resize_bicubic_grad,
      FY_SAMPLES(grad_samples));

// SPDX-License-Identifier: Apache-2.0
// lrn.c: LRN (local response normalisation over neighbouring channels) and its gradient.
// out = in * (bias + alpha * sum of squares over |depth_radius| channels to each side) ^ -beta.

#include <string.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"
#include "ops/vecmath.h"
#include "ops/window.h"

typedef struct lrn_attrs {
  int64_t radius;
  float bias, alpha, beta;
} lrn_attrs;

typedef struct lrn_job {
  const lrn_attrs *a;
  const void *in, *out_image, *grad;
  void *out;
  int64_t depth;
} lrn_job;

#define LRN_LOOPS(E, S, _)                                                                         \
  static float norm_##S(const lrn_job *j, const fy_t_##S *in, int64_t c, int64_t lo, int64_t hi) { \
    float sum = 0;                                                                                 \
    (void)c;                                                                                       \
    for (int64_t k = lo; k < hi; k++) sum += FY_LD_##S(in[k]) * FY_LD_##S(in[k]);                  \
    return sum * j->a->alpha + j->a->bias;                                                         \
  }                                                                                                \
  static void backward_##S(void *arg, int64_t begin, int64_t end) {                                \
    const lrn_job *j = arg;                                                                        \
    const int64_t r = j->a->radius;                                                                \
    for (int64_t row = begin; row < end; row++) {                                                  \
      const fy_t_##S *in = (const fy_t_##S *)j->in + row * j->depth;                               \
      const fy_t_##S *image = (const fy_t_##S *)j->out_image + row * j->depth;                     \
      const fy_t_##S *grad = (const fy_t_##S *)j->grad + row * j->depth;                           \
      fy_t_##S *out = (fy_t_##S *)j->out + row * j->depth;                                         \
      for (int64_t c = 0; c < j->depth; c++) out[c] = 0;                                           \
      for (int64_t c = 0; c < j->depth; c++) {                                                     \
        const int64_t lo = c > r ? c - r : 0, hi = j->depth - c > r ? c + r + 1 : j->depth;        \
        const float norm = norm_##S(j, in, c, lo, hi), power = powf(norm, -j->a->beta);            \
        for (int64_t k = lo; k < hi; k++) {                                                        \
          float d = -2 * j->a->alpha * j->a->beta * FY_LD_##S(in[k]) * FY_LD_##S(image[c]) / norm; \
          if (k == c) d += power;                                                                  \
          out[k] = FY_ST_##S(FY_LD_##S(out[k]) + d * FY_LD_##S(grad[c]));                          \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
#define LRN_TYPES(X, name) X(FY_HALF, f16, name) X(FY_BFLOAT16, bf16, name) X(FY_FLOAT, f32, name)
LRN_TYPES(LRN_LOOPS, _)
static void forward_f32(void *arg, int64_t begin, int64_t end) {
  const lrn_job *j = arg;
  const int64_t r = j->a->radius;
  for (int64_t row = begin; row < end; row++) {
    const float *in = (const float *)j->in + row * j->depth;
    float *out = (float *)j->out + row * j->depth;
    for (int64_t c = 0; c < j->depth; c++) {
      const int64_t lo = c > r ? c - r : 0, hi = j->depth - c > r ? c + r + 1 : j->depth;
      out[c] = in[c] * powf(norm_f32(j, in, c, lo, hi), -j->a->beta);
    }
  }
}
// Floats: a row's squares are summed in registers, powers are exp(-beta log(norm)) of the row.
#define WIDEST 2048  // a multiple of LANES
#define LANES  16
typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
// A row with zeros around it, so that the sums at its ends read as much as the others.
typedef struct padded {
  float all[3 * WIDEST + LANES];
  int64_t radius;
  float *row;
} padded;
static void pad(padded *p, int64_t n, int64_t radius) {
  p->radius = radius < n ? radius : n - 1;
  p->row = p->all + p->radius;
  memset(p->all, 0, (size_t)(n + 2 * p->radius + LANES) * sizeof *p->all);
}
// Writes whole LANES.
FY_CLONES static void window_sums(const padded *p, float *sums, int64_t n) {
  const int64_t r = p->radius;
  for (int64_t c = 0; c < n; c += LANES) {
    const float *x = p->row + c;
    lanes a = *(const lanes *)x, b = *(const lanes *)(x + 8);
    for (int64_t s = 1; s <= r; s++) {
      a += *(const lanes *)(x - s), b += *(const lanes *)(x + 8 - s);
      a += *(const lanes *)(x + s), b += *(const lanes *)(x + 8 + s);
    }
    *(lanes *)(sums + c) = a, *(lanes *)(sums + c + 8) = b;
  }
}
// norm and norm ^ -beta of a row
static void row_powers(const lrn_job *j, const float *in, padded *squares, float *norm,
                       float *power) {
  const int64_t n = j->depth;
  const lrn_attrs *a = j->a;
  for (int64_t c = 0; c < n; c++) squares->row[c] = in[c] * in[c];
  window_sums(squares, norm, n);
  for (int64_t c = 0; c < n; c++) norm[c] = norm[c] * a->alpha + a->bias;
  if (a->beta == 0.5f) {
    fy_vec_rsqrt_f32(norm, power, n, NULL);
    return;
  }
  if (a->beta == 1) {
    for (int64_t c = 0; c < n; c++) power[c] = 1 / norm[c];
    return;
  }
  fy_vec_log_f32(norm, power, n, NULL);
  for (int64_t c = 0; c < n; c++) power[c] *= -a->beta;
  fy_vec_exp_f32(power, power, n, NULL);
}
static void forward_rows_f32(void *arg, int64_t begin, int64_t end) {
  const lrn_job *j = arg;
  const int64_t n = j->depth;
  float norm[WIDEST], power[WIDEST];
  padded wide;
  if (n > WIDEST) {
    forward_f32(arg, begin, end);
    return;
  }
  pad(&wide, n, j->a->radius);
  for (int64_t row = begin; row < end; row++) {
    const float *in = (const float *)j->in + row * n;
    float *out = (float *)j->out + row * n;
    row_powers(j, in, &wide, norm, power);
    for (int64_t c = 0; c < n; c++) out[c] = in[c] * power[c];
  }
}
static void backward_rows_f32(void *arg, int64_t begin, int64_t end) {
  const lrn_job *j = arg;
  const int64_t n = j->depth;
  float norm[WIDEST], power[WIDEST], sums[WIDEST];
  padded wide;
  if (n > WIDEST) {
    backward_f32(arg, begin, end);
    return;
  }
  pad(&wide, n, j->a->radius);
  const float by = -2 * j->a->alpha * j->a->beta;
  for (int64_t row = begin; row < end; row++) {
    const float *in = (const float *)j->in + row * n;
    const float *image = (const float *)j->out_image + row * n;
    const float *grad = (const float *)j->grad + row * n;
    float *out = (float *)j->out + row * n;
    row_powers(j, in, &wide, norm, power);
    for (int64_t c = 0; c < n; c++) wide.row[c] = image[c] / norm[c] * grad[c];
    window_sums(&wide, sums, n);
    for (int64_t c = 0; c < n; c++) out[c] = power[c] * grad[c] + by * in[c] * sums[c];
  }
}

typedef void (*rows_fn)(void *arg, int64_t begin, int64_t end);
static const rows_fn forwards[FY_DTYPE_COUNT] = {
    [FY_HALF] = forward_rows_f32, [FY_BFLOAT16] = forward_rows_f32, [FY_FLOAT] = forward_rows_f32};
static const rows_fn backwards[FY_DTYPE_COUNT] = {
    [FY_HALF] = backward_f16, [FY_BFLOAT16] = backward_bf16, [FY_FLOAT] = backward_rows_f32};

static fy_code prepare(fy_site *site, fy_error *err) {
  const int64_t radius = fy_site_int(site, "depth_radius");
  if (radius < 0 || radius > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "depth_radius = %lld larger than int max",
                   (long long)radius);
  }
  lrn_attrs *a = fy_malloc(sizeof *a);
  if (!a) return fy_fail_oom(err, sizeof *a);
  *a = (lrn_attrs){radius, fy_site_float(site, "bias"), fy_site_float(site, "alpha"),
                   fy_site_float(site, "beta")};
  site->state = a;
  return FY_OK;
}

static fy_code run(fy_kernel_ctx *ctx, lrn_job *j, const fy_tensor *in, const rows_fn *table,
                   fy_error *err) {
  fy_tensor *out;
  if (!table[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (out->count == 0) return FY_OK;
  const fy_dtype plain = table == forwards ? fy_plain_type(in->dtype) : in->dtype;
  j->a = ctx->site->state;
  j->in = in->data;
  j->out = out->data;
  j->depth = in->dims[3];
  if (plain != in->dtype) {  // computed in floats, rounded once
    FY_TRY(fy_plain_load(ctx, in->dtype, in->data, 1, 1, in->count, true, &j->in, err));
    FY_TRY(fy_plain_room(ctx, in->dtype, out->data, out->count, true, &j->out, err));
  }
  const int64_t width = 2 * j->a->radius + 1 < j->depth ? 2 * j->a->radius + 1 : j->depth;
  fy_parallel(ctx, in->count / j->depth, (double)j->depth * (double)(20 + 2 * width), table[plain],
              j);
  if (plain != in->dtype) fy_plain_store(in->dtype, j->out, out->data, 1, 1, out->count, true);
  return FY_OK;
}

static fy_code lrn(fy_kernel_ctx *ctx, fy_error *err) {
  lrn_job j = {.grad = NULL};
  if (ctx->in[0]->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "in must be 4-dimensional");
  }
  return run(ctx, &j, ctx->in[0], forwards, err);
}

static fy_code lrn_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *in = ctx->in[1], *image = ctx->in[2];
  lrn_job j = {.grad = grad->data, .out_image = image->data};
  if (grad->rank != 4 || in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "inputs must be 4-dimensional");
  }
  if (!fy_shape_equal(grad->rank, grad->dims, in->rank, in->dims) ||
      !fy_shape_equal(grad->rank, grad->dims, image->rank, image->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input_grads, input_image, and out_image should have the same shape");
  }
  return run(ctx, &j, in, backwards, err);
}

static fy_code lrn_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape out = {4, NULL};
  for (int i = 0; i < ctx->num_inputs; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 4, err));
    if (ctx->in[i].rank < 0) continue;
    FY_TRY(fy_shape_merge(ctx, out.dims ? out : FY_UNKNOWN_SHAPE, ctx->in[i], &out, err));
  }
  return fy_shape_set(ctx, 0, 4, out.dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,1,2,3]=normal", "depth_radius=1", FY_OK, NULL},
    {"f32[1,1,1,2]=3,4", "bias=0.0; beta=0.5", FY_OK, NULL},
    {"f32[2,3]=normal", NULL, FY_INVALID_ARGUMENT, "in must be 4-dimensional"},
};
static const fy_sample grad_samples[] = {
    {"f32[1,1,2,3]=normal; f32[1,1,2,3]=normal; f32[1,1,2,3]=normal", "depth_radius=1", FY_OK,
     NULL},
    {"f32[1,1,2,3]=normal; f32[1,1,2,3]=normal; f32[1,1,1,3]=normal", NULL, FY_INVALID_ARGUMENT,
     "input_grads, input_image, and out_image should have the same shape"},
};
FY_OP(LRN, .shape = lrn_shape, .prepare = prepare, .compute = lrn, .release = fy_free,
      FY_SAMPLES(samples));
FY_OP(LRNGrad, .shape = lrn_shape, .prepare = prepare, .compute = lrn_grad, .release = fy_free,
      FY_SAMPLES(grad_samples));

// SPDX-License-Identifier: Apache-2.0
// quantized_window.c: QuantizedConv2D, QuantizedMaxPool and QuantizedAvgPool. Padding stands for the
// real number 0; an average is an integer division.

#include "base/alloc.h"
#include "ops/bytes.h"
#include "ops/pool.h"
#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- convolution
static fy_code conv_prepare(fy_site *site, fy_error *err) {
  // With a signed filter TensorFlow's kernel is oneDNN's.
  if (site->in_types[1] == FY_QINT8) return fy_q_fused_prepare(site, err);
  const fy_attr *strides = fy_site_attr(site, "strides"),
                *dilations = fy_site_attr(site, "dilations");
  if (strides->n != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window strides field must specify 4 dimensions");
  }
  if (strides->v.ints[1] != strides->v.ints[2]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Current implementation only supports equal length strides in the row and column "
        "dimensions.");
  }
  if (strides->v.ints[0] != 1 || strides->v.ints[3] != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Current implementation does not yet support strides in the batch and depth "
                   "dimensions.");
  }
  if (dilations->n != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilations field must specify 4 dimensions");
  }
  for (uint32_t i = 1; i < 3; i++) {
    if (dilations->v.ints[i] == 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Current implementation only supports dilated rate as 1 in the row and column "
                   "dimensions.");
  }
  if (dilations->v.ints[0] != 1 || dilations->v.ints[3] != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Current implementation does not yet support dilations in the batch and depth "
                   "dimensions.");
  }
  return FY_OK;
}

static void keep_sums(const void *arg, int64_t row, int64_t column, int64_t n,
                      const int32_t *sums) {
  const fy_tensor *out = arg;
  memcpy((int32_t *)out->data + row * out->dims[3] + column, sums, (size_t)n * sizeof *sums);
}

fy_code fy_q_conv(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err) {
  static const char *const names[] = {"min_input", "max_input", "min_filter", "max_filter"};
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  const bool same = fy_view_is(fy_site_string(ctx->site, "padding"), "SAME");
  fy_tensor *out;
  if (filter->dtype == FY_QINT8) return fy_q_fused_conv(ctx, product, err);
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be rank 4 but is rank %d", in->rank);
  }
  if (filter->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "filter must be rank 4 but is rank %d", filter->rank);
  }
  for (int i = 0; i < 4; i++) {
    if (ctx->in[2 + i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be rank 0 but is rank %d", names[i],
                   ctx->in[2 + i]->rank);
  }
  const float min_in = fy_q_scalar(ctx, 2), max_in = fy_q_scalar(ctx, 3);
  const float min_f = fy_q_scalar(ctx, 4), max_f = fy_q_scalar(ctx, 5);
  const int64_t depth = in->dims[3], stride = fy_site_attr(ctx->site, "strides")->v.ints[1];
  if (depth != filter->dims[2]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input and filter must have the same depth: %lld vs %lld", (long long)depth,
                   (long long)filter->dims[2]);
  }
  if (depth <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "input must have depth > 0");
  fy_conv c = {.batch = in->dims[0],
               .in_depth = depth,
               .filter_depth = depth,
               .out_depth = filter->dims[3],
               .groups = 1};
  for (int i = 0; i < 2; i++) {
    fy_window *w = &c.w[1 + i];
    *w = (fy_window){
        .in = in->dims[1 + i], .size = filter->dims[i], .stride = stride, .dilation = 1};
    FY_TRY(fy_window_resolve(w, same ? FY_PAD_SAME : FY_PAD_VALID, err));
    w->before = same ? ((w->out - 1) * stride + w->size - w->in) / 2 : 0;
  }
  c.in_spatial = c.w[1].in * c.w[2].in;
  c.out_spatial = c.w[1].out * c.w[2].out;
  c.taps = c.w[1].size * c.w[2].size;
  const int64_t dims[] = {c.batch, c.w[1].out, c.w[2].out, c.out_depth};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  const fy_qtype qi = fy_qtype_of(in->dtype), qf = fy_qtype_of(filter->dtype);
  const fy_byte_product p = {.m = c.batch * c.out_spatial,
                             .n = c.out_depth,
                             .k = c.taps * depth,
                             .a = in->data,
                             .a_zero = (int32_t)fy_q_from_float_wide(qi, 0, min_in, max_in),
                             .conv = &c,
                             .groups = 1,
                             .b = filter->data,
                             .b_zero = (int32_t)fy_q_from_float_wide(qf, 0, min_f, max_f),
                             .step_k = c.out_depth,
                             .step_n = 1,
                             .b_input = 1,
                             .finish = keep_sums,
                             .finish_arg = out};
  if (out->count) FY_TRY(product(ctx, &p, err));
  float min, max;
  fy_q_product_range(qi, qf, fy_qtype_of(out->dtype), min_in, max_in, min_f, max_f, &min, &max);
  FY_TRY(fy_q_out_float(ctx, 1, min, err));
  return fy_q_out_float(ctx, 2, max, err);
}

static fy_code conv(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_conv(ctx, fy_bytes_plain, err);
}

// ---------------------------------------------------------------- pooling
typedef struct pool_job {
  const fy_tensor *in;
  void *out;
  const fy_pool_geometry *g;
  bool average;
} pool_job;

// The larger of bytes, signed or not.
static void keep_larger(bool is_signed, uint8_t *restrict best, const uint8_t *restrict v,
                        int64_t n) {
  const uint8_t flip = is_signed ? 0x80 : 0;
  for (int64_t i = 0; i < n; i++) {
    const uint8_t a = best[i] ^ flip, b = v[i] ^ flip;
    best[i] = (a > b ? a : b) ^ flip;
  }
}

// Item: a pixel of the output.
static void pool_pixels(void *arg, int64_t begin, int64_t end) {
  const pool_job *j = arg;
  const fy_window *rows = &j->g->w[1], *cols = &j->g->w[2];
  const int64_t d = j->g->depth;
  const bool bytes = fy_qtype_of(j->in->dtype).bits == 8;
  for (int64_t p = begin; p < end; p++) {
    const int64_t x = p % cols->out, y = p / cols->out % rows->out, b = p / cols->out / rows->out;
    const int64_t y0 = fy_pool_start(rows, y), y1 = fy_pool_end(rows, y);
    const int64_t x0 = fy_pool_start(cols, x), x1 = fy_pool_end(cols, x);
    if (!j->average && bytes && y0 < y1 && x0 < x1) {
      uint8_t *best = (uint8_t *)j->out + p * d;
      const uint8_t *image = (const uint8_t *)j->in->data + b * rows->in * cols->in * d;
      memcpy(best, image + (y0 * cols->in + x0) * d, (size_t)d);
      for (int64_t i = y0; i < y1; i++) {
        for (int64_t k = x0; k < x1; k++)
          keep_larger(j->in->dtype == FY_QINT8, best, image + (i * cols->in + k) * d, d);
      }
      continue;
    }
    for (int64_t c = 0; c < d; c++) {
      int64_t sum = 0, best = INT64_MIN;
      for (int64_t i = y0; i < y1; i++) {
        for (int64_t k = x0; k < x1; k++) {
          const int64_t v =
              fy_q_get(j->in->dtype, j->in->data, ((b * rows->in + i) * cols->in + k) * d + c);
          sum += v;
          best = v > best ? v : best;
        }
      }
      const int64_t n = (y1 - y0) * (x1 - x0);
      fy_q_put(j->in->dtype, j->out, p * d + c, n <= 0 ? 0 : j->average ? sum / n : best);
    }
  }
}

static fy_code pool(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_pool_geometry g;
  fy_tensor *out;
  char x[128];
  for (int i = 1; i < 3; i++) {
    if (ctx->in[i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s_input shape must be rank 0 but is rank %d, received shape: %s",
                   i == 1 ? "min" : "max", ctx->in[i]->rank, fy_tensor_shape_text(ctx->in[i], x));
  }
  FY_TRY(fy_pool_resolve(ctx, in->rank, in->dims, 0, &g, err));
  if (g.depth_window > 1) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Non-spatial pooling is not yet supported.");
  }
  FY_TRY(fy_out(ctx, 0, g.rank, g.out_dims, &out, err));
  pool_job j = {in, out->data, &g, ctx->site->op->impl->aux != NULL};
  if (out->count) {
    fy_parallel(ctx, out->count / g.depth, (double)(g.w[1].size * g.w[2].size * g.depth) * 2,
                pool_pixels, &j);
  }
  FY_TRY(fy_q_out_float(ctx, 1, fy_q_scalar(ctx, 1), err));
  return fy_q_out_float(ctx, 2, fy_q_scalar(ctx, 2), err);
}

// ---------------------------------------------------------------- shapes
static fy_code scalars(fy_shape_ctx *ctx, int first, fy_error *err) {
  for (int i = first; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}
static fy_code conv_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_conv2d_shape(ctx, err));
  return scalars(ctx, 2, err);
}
static fy_code pool_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_pool2d_shape(ctx, err));
  return scalars(ctx, 1, err);
}

static const fy_sample conv_samples[] = {
    {"quint8[1,1,2,1]=1,2; quint8[1,1,1,1]=3; f32[]=0; f32[]=255; f32[]=0; f32[]=255",
     "out_type=qint32; strides=[1,1,1,1]; padding=\"SAME\"", FY_OK, "3,6"},
};
static const fy_sample pool_samples[] = {
    {"quint8[1,2,2,1]=1,2,3,5; f32[]=0; f32[]=1",
     "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=\"VALID\"", FY_OK, NULL},
};
static const char is_average;
static const uint32_t no_steps;  // for fy_q_fused_prepare()
FY_OP(QuantizedConv2D, .shape = conv_shape, .prepare = conv_prepare, .compute = conv,
      .release = fy_free, .cost = fy_q_cost, .aux = &no_steps, FY_SAMPLES(conv_samples));
FY_OP(QuantizedMaxPool, .shape = pool_shape, .prepare = fy_pool_prepare_2d, .compute = pool,
      .release = fy_free, FY_SAMPLES(pool_samples));
FY_OP(QuantizedAvgPool, .shape = pool_shape, .prepare = fy_pool_prepare_2d, .compute = pool,
      .release = fy_free, .aux = &is_average, FY_SAMPLES(pool_samples));

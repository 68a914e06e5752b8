// SPDX-License-Identifier: Apache-2.0
// bias.c: BiasAddGrad: the gradient summed over everything but the channels.
// Sums of floats are in double, of 16-bit floats in float (as TensorFlow's), of integers wrap.

#include <string.h>

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct bias_job {
  const void *in;
  void *out, *sums;
  int64_t outer, channels, inner;  // the gradient is [outer, channels, inner]
} bias_job;

typedef double sum_f32, sum_f64;
typedef float sum_f16, sum_bf16;
typedef float _Complex sum_c64;
typedef double _Complex sum_c128;
typedef int64_t sum_i8, sum_i16, sum_i32, sum_u8, sum_u16, sum_u32;
typedef uint64_t sum_i64, sum_u64;

// Item: a channel when |inner| > 1; otherwise a range of channels walked row by row.
#define BIAS_GRAD(E, S, _)                                                           \
  static void bias_grad_##S(void *arg, int64_t begin, int64_t end) {                 \
    const bias_job *j = arg;                                                         \
    const fy_t_##S *in = j->in;                                                      \
    sum_##S *sums = j->sums;                                                         \
    for (int64_t c = begin; c < end; c++) sums[c] = 0;                               \
    for (int64_t o = 0; o < j->outer; o++) {                                         \
      const fy_t_##S *row = in + o * j->channels * j->inner;                         \
      if (j->inner == 1) {                                                           \
        for (int64_t c = begin; c < end; c++) sums[c] += (sum_##S)FY_LD_##S(row[c]); \
        continue;                                                                    \
      }                                                                              \
      for (int64_t c = begin; c < end; c++) {                                        \
        sum_##S sum = 0;                                                             \
        for (int64_t i = 0; i < j->inner; i++) {                                     \
          sum += (sum_##S)FY_LD_##S(row[c * j->inner + i]);                          \
        }                                                                            \
        sums[c] += sum;                                                              \
      }                                                                              \
    }                                                                                \
    for (int64_t c = begin; c < end; c++) {                                          \
      ((fy_t_##S *)j->out)[c] = FY_ST_##S((fy_a_##S)sums[c]);                        \
    }                                                                                \
  }
FY_NUMERIC_TYPES(BIAS_GRAD, _)
typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
static const items_fn grads[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, bias_grad)};

// Floats with the channels last: each item sums some rows, then the items' sums are added.
#define ROWS 512
typedef struct rows_job {
  const float *in;
  double *sums;  // [items, channels]
  int64_t outer, channels;
} rows_job;
FY_CLONES static void sum_rows(const float *in, int64_t rows, int64_t n, double *sums) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, in += 4 * n) {
    for (int64_t c = 0; c < n; c++)
      sums[c] +=
          ((double)in[c] + (double)in[n + c]) + ((double)in[2 * n + c] + (double)in[3 * n + c]);
  }
  for (; r < rows; r++, in += n)
    for (int64_t c = 0; c < n; c++) sums[c] += (double)in[c];
}
static void rows_items(void *arg, int64_t begin, int64_t end) {
  const rows_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t left = j->outer - i * ROWS;
    double *sums = j->sums + i * j->channels;
    memset(sums, 0, (size_t)j->channels * sizeof *sums);
    sum_rows(j->in + i * ROWS * j->channels, left < ROWS ? left : ROWS, j->channels, sums);
  }
}
static fy_code rows_grad(fy_kernel_ctx *ctx, const bias_job *b, float *out, fy_error *err) {
  const int64_t items = (b->outer + ROWS - 1) / ROWS, n = b->channels;
  void *sums;
  FY_TRY(fy_scratch(ctx, (size_t)(items * n) * sizeof(double), &sums, err));
  rows_job j = {b->in, sums, b->outer, n};
  fy_parallel(ctx, items, 0.3 * (double)((b->outer < ROWS ? b->outer : ROWS) * n), rows_items, &j);
  for (int64_t i = 1; i < items; i++)
    for (int64_t c = 0; c < n; c++) j.sums[c] += j.sums[i * n + c];
  for (int64_t c = 0; c < n; c++) out[c] = (float)j.sums[c];
  return FY_OK;
}

static fy_code bias_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  char x[128];
  if (in->rank < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                   fy_tensor_shape_text(in, x));
  }
  if (!grads[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "BiasAddGrad has no loop for %s",
                   fy_dtype_name(in->dtype));
  }
  const bool nchw = fy_view_is(fy_site_string(ctx->site, "data_format"), "NCHW");
  const int32_t channel = nchw ? 1 : in->rank - 1;
  bias_job j = {.in = in->data,
                .outer = fy_product(in->dims, channel),
                .channels = in->dims[channel],
                .inner = fy_product(in->dims + channel + 1, in->rank - channel - 1)};
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 1, &j.channels, &out, err));
  if (out->count == 0) return FY_OK;
  if (in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  if (in->dtype == FY_FLOAT && j.inner == 1) return rows_grad(ctx, &j, out->data, err);
  FY_TRY(fy_scratch(ctx, (size_t)j.channels * sizeof(double _Complex), &j.sums, err));
  j.out = out->data;
  fy_parallel(ctx, j.channels, 0.5 * (double)j.outer * (double)j.inner, grads[in->dtype], &j);
  return FY_OK;
}

static fy_code bias_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *format = fy_attrs_get(ctx->attrs, "data_format");
  const bool nchw = format && format->kind == FY_ATTR_STRING && fy_view_is(format->v.s, "NCHW");
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(in, nchw ? 3 : 2, err));
  const int64_t n = in.rank < 0 ? -1 : in.dims[nchw ? 1 : in.rank - 1];
  return fy_shape_set(ctx, 0, 1, &n, err);
}

static const fy_sample grad_samples[] = {
    {"f32[2,3]=1,2,3,4,5,6", NULL, FY_OK, "5,7,9"},
    {"i8[1,2,2]=127,1,2,3", "data_format=\"NCHW\"", FY_OK, "-128,5"},
    {"f32[2]=1,2", NULL, FY_INVALID_ARGUMENT, "Input tensor must be at least 2D: [2]"},
};
static void grad_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *in = ctx->in[0];
  if (in->rank < 2 || !in->count) return;
  const bool nchw = fy_view_is(fy_site_string(ctx->site, "data_format"), "NCHW");
  const int32_t channel = nchw ? 1 : in->rank - 1;
  const int64_t n = in->dims[channel], items = (fy_product(in->dims, channel) + ROWS - 1) / ROWS;
  const bool rows = in->dtype == FY_FLOAT && fy_product(in->dims, channel) * n == in->count;
  out->scratch += fy_scratch_line(rows ? (size_t)(items * n) * sizeof(double)
                                       : (size_t)n * sizeof(double _Complex));
}

FY_OP(BiasAddGrad, .shape = bias_grad_shape, .compute = bias_grad, .needs = grad_needs,
      FY_SAMPLES(grad_samples));

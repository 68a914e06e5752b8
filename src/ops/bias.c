// SPDX-License-Identifier: Apache-2.0
// bias.c: BiasAddGrad: the gradient summed over everything but the channels.
// Sums of floats are in double, of 16-bit floats in float (as TensorFlow's), of integers wrap.

#include <string.h>

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct bias_job {
  const void *in;
  void *out;
  int64_t outer, channels, inner;  // the gradient is [outer, channels, inner]
} bias_job;

// Integers wrap, whatever their sign: what is lost of a sum is lost anyway.
typedef double sum_f32, sum_f64;
typedef float sum_f16, sum_bf16;
typedef float _Complex sum_c64;
typedef double _Complex sum_c128;
typedef uint32_t sum_u8, sum_u16, sum_u32;
typedef uint64_t sum_u64;
#define SUMMED_TYPES(X, ...) \
  FY_REAL_TYPES(X, __VA_ARGS__) FY_COMPLEX_TYPES(X, __VA_ARGS__) FY_UNSIGNED_TYPES(X, __VA_ARGS__)
#define SUMMED_ENTRIES(name)        \
  SUMMED_TYPES(FY_LOOP_ENTRY, name) \
  [FY_INT8] = name##_u8, [FY_INT16] = name##_u16, [FY_INT32] = name##_u32, [FY_INT64] = name##_u64,

// Item: a channel, where |inner| > 1.
#define BIAS_GRAD(E, S, _)                                                               \
  static void bias_grad_##S(void *arg, int64_t begin, int64_t end) {                     \
    const bias_job *j = arg;                                                             \
    for (int64_t c = begin; c < end; c++) {                                              \
      sum_##S all = 0;                                                                   \
      for (int64_t o = 0; o < j->outer; o++) {                                           \
        const fy_t_##S *in = (const fy_t_##S *)j->in + (o * j->channels + c) * j->inner; \
        sum_##S sum = 0;                                                                 \
        for (int64_t i = 0; i < j->inner; i++) sum += (sum_##S)FY_LD_##S(in[i]);         \
        all += sum;                                                                      \
      }                                                                                  \
      ((fy_t_##S *)j->out)[c] = FY_ST_##S((fy_a_##S)all);                                \
    }                                                                                    \
  }
SUMMED_TYPES(BIAS_GRAD, _)
typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
static const items_fn grads[FY_DTYPE_COUNT] = {SUMMED_ENTRIES(bias_grad)};

// ---------------------------------------------------------------- channels last
// Each item sums some rows, then the items' sums are added.
#define ROWS 512
typedef void (*rows_fn)(const void *in, int64_t rows, int64_t n, void *sums);
typedef void (*end_fn)(void *sums, int64_t items, int64_t n, void *out);
typedef struct rows_job {
  const char *in;
  char *sums;  // [items, channels]
  rows_fn rows;
  size_t size, sum_size;
  int64_t outer, channels;
} rows_job;
FY_CLONES static void floats_rows(const void *from, int64_t rows, int64_t n, void *to) {
  const float *in = from;
  double *sums = to;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, in += 4 * n) {
    for (int64_t c = 0; c < n; c++)
      sums[c] +=
          ((double)in[c] + (double)in[n + c]) + ((double)in[2 * n + c] + (double)in[3 * n + c]);
  }
  for (; r < rows; r++, in += n)
    for (int64_t c = 0; c < n; c++) sums[c] += (double)in[c];
}
static void rows_f32(const void *from, int64_t rows, int64_t n, void *to) {
  if (n >= 8 && fy_lanes_best()->column_sums_f32)
    fy_lanes_best()->column_sums_f32(from, rows, n, to);
  else
    floats_rows(from, rows, n, to);
}
#define SUM_ROWS(E, S, _)                                                               \
  FY_CLONES static void rows_##S(const void *from, int64_t rows, int64_t n, void *to) { \
    const fy_t_##S *in = from;                                                          \
    sum_##S *restrict sums = to;                                                        \
    for (int64_t r = 0; r < rows; r++, in += n)                                         \
      for (int64_t c = 0; c < n; c++) sums[c] += (sum_##S)FY_LD_##S(in[c]);             \
  }
SUM_ROWS(FY_DOUBLE, f64, _)
SUM_ROWS(FY_BFLOAT16, bf16, _)
FY_COMPLEX_TYPES(SUM_ROWS, _)
FY_UNSIGNED_TYPES(SUM_ROWS, _)
FY_CLONES static void add_floats(const float *in, int64_t rows, int64_t n, float *sums) {
  for (int64_t r = 0; r < rows; r++, in += n)
    for (int64_t c = 0; c < n; c++) sums[c] += in[c];
}
// As many rows at a time as a chunk holds, or parts of one.
static void rows_f16(const void *from, int64_t rows, int64_t n, void *sums) {
  const uint16_t *in = from;
  const int64_t some = n < FY_CHUNK ? FY_CHUNK / n : 1;
  float x[FY_CHUNK];
  for (int64_t r = 0; r < rows; r += some) {
    const int64_t now = rows - r < some ? rows - r : some;
    for (int64_t c = 0; c < n; c += FY_CHUNK) {
      const int64_t m = n - c < FY_CHUNK ? n - c : FY_CHUNK;
      fy_halves_to_floats(in + r * n + c, x, now * m);
      add_floats(x, now, m, (float *)sums + c);
    }
  }
}
#define END(E, S, _)                                                                     \
  static void end_##S(void *all, int64_t items, int64_t n, void *out) {                  \
    sum_##S *sums = all;                                                                 \
    for (int64_t i = 1; i < items; i++)                                                  \
      for (int64_t c = 0; c < n; c++) sums[c] += sums[i * n + c];                        \
    for (int64_t c = 0; c < n; c++) ((fy_t_##S *)out)[c] = FY_ST_##S((fy_a_##S)sums[c]); \
  }
SUMMED_TYPES(END, _)
static const rows_fn row_sums[FY_DTYPE_COUNT] = {SUMMED_ENTRIES(rows)};
static const end_fn ends[FY_DTYPE_COUNT] = {SUMMED_ENTRIES(end)};
#define SUM_SIZE(E, S, _) [E] = sizeof(sum_##S),
static const size_t sum_sizes[FY_DTYPE_COUNT] = {
    SUMMED_TYPES(SUM_SIZE, _)[FY_INT8] = sizeof(sum_u8), [FY_INT16] = sizeof(sum_u16),
    [FY_INT32] = sizeof(sum_u32), [FY_INT64] = sizeof(sum_u64)};

static void rows_items(void *arg, int64_t begin, int64_t end) {
  const rows_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t left = j->outer - i * ROWS;
    char *sums = j->sums + (size_t)(i * j->channels) * j->sum_size;
    memset(sums, 0, (size_t)j->channels * j->sum_size);
    j->rows(j->in + (size_t)(i * ROWS * j->channels) * j->size, left < ROWS ? left : ROWS,
            j->channels, sums);
  }
}
static fy_code rows_grad(fy_kernel_ctx *ctx, const bias_job *b, fy_dtype type, void *out,
                         fy_error *err) {
  const int64_t items = (b->outer + ROWS - 1) / ROWS, n = b->channels;
  void *sums;
  FY_TRY(fy_scratch(ctx, (size_t)(items * n) * sum_sizes[type], &sums, err));
  rows_job j = {b->in, sums, row_sums[type], fy_dtype_storage(type), sum_sizes[type], b->outer, n};
  fy_parallel(ctx, items, 0.3 * (double)((b->outer < ROWS ? b->outer : ROWS) * n), rows_items, &j);
  ends[type](sums, items, n, out);
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
  if (j.inner == 1) return rows_grad(ctx, &j, in->dtype, out->data, err);
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
  if (fy_product(in->dims, channel) * n == in->count)
    out->scratch += fy_scratch_line((size_t)(items * n) * sum_sizes[in->dtype]);
}

FY_OP(BiasAddGrad, .shape = bias_grad_shape, .compute = bias_grad, .needs = grad_needs,
      FY_SAMPLES(grad_samples));

// SPDX-License-Identifier: Apache-2.0
// softmax.c: Softmax and LogSoftmax over the last dimension.
// The row's maximum is subtracted first, so that exp cannot overflow; sums of 16-bit floats are in
// float.

#include <math.h>

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/vecmath.h"

typedef struct softmax_job {
  const void *in;
  void *out;
  int64_t cols;
  bool log;
} softmax_job;

#define SOFTMAX(E, S, _)                                             \
  static void softmax_##S(void *arg, int64_t begin, int64_t end) {   \
    const softmax_job *j = arg;                                      \
    for (int64_t r = begin; r < end; r++) {                          \
      const fy_t_##S *in = (const fy_t_##S *)j->in + r * j->cols;    \
      fy_t_##S *out = (fy_t_##S *)j->out + r * j->cols;              \
      fy_a_##S top = FY_LD_##S(in[0]), sum = 0;                      \
      for (int64_t c = 1; c < j->cols; c++) {                        \
        const fy_a_##S x = FY_LD_##S(in[c]);                         \
        top = x > top ? x : top;                                     \
      }                                                              \
      if (j->log) {                                                  \
        for (int64_t c = 0; c < j->cols; c++) {                      \
          sum += FY_MATH_##S(exp)(FY_LD_##S(in[c]) - top);           \
        }                                                            \
        const fy_a_##S shift = FY_MATH_##S(log)(sum);                \
        for (int64_t c = 0; c < j->cols; c++) {                      \
          out[c] = FY_ST_##S(FY_LD_##S(in[c]) - top - shift);        \
        }                                                            \
        continue;                                                    \
      }                                                              \
      for (int64_t c = 0; c < j->cols; c++) {                        \
        const fy_a_##S x = FY_MATH_##S(exp)(FY_LD_##S(in[c]) - top); \
        sum += x;                                                    \
        out[c] = FY_ST_##S(x);                                       \
      }                                                              \
      const fy_a_##S scale = 1 / sum;                                \
      for (int64_t c = 0; c < j->cols; c++) {                        \
        out[c] = FY_ST_##S(FY_LD_##S(out[c]) * scale);               \
      }                                                              \
    }                                                                \
  }
SOFTMAX(FY_DOUBLE, f64, _)

// The maximum and the sum of a row of floats in eight strands, which the compiler keeps in vectors.
// A NaN may be lost by the maximum, but not by the sum.
#define STRANDS 8
FY_CLONES static float highest(const float *x, int64_t n) {
  float top[STRANDS], best = x[0];
  int64_t i = 0;
  for (int k = 0; k < STRANDS; k++) top[k] = x[0];
  for (; i + STRANDS <= n; i += STRANDS)
    for (int k = 0; k < STRANDS; k++) top[k] = x[i + k] > top[k] ? x[i + k] : top[k];
  for (; i < n; i++) best = x[i] > best ? x[i] : best;
  for (int k = 0; k < STRANDS; k++) best = top[k] > best ? top[k] : best;
  return best;
}
FY_CLONES static float total(const float *x, int64_t n) {
  float part[STRANDS] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + STRANDS <= n; i += STRANDS)
    for (int k = 0; k < STRANDS; k++) part[k] += x[i + k];
  for (; i < n; i++) sum += x[i];
  for (int k = 0; k < STRANDS; k++) sum += part[k];
  return sum;
}

// out = exp(in - the row's maximum), |rows| rows at once; the maxima go to |tops|.
#define BLOCK 512  // elements of several short rows
static void exps(const float *in, float *out, float *tops, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r++) {
    const float top = tops[r] = highest(in + r * n, n);
    for (int64_t c = r * n; c < (r + 1) * n; c++) out[c] = in[c] - top;
  }
  fy_vec_exp_f32(out, out, rows * n, NULL);
}

static void softmax_f32(void *arg, int64_t begin, int64_t end) {
  const softmax_job *j = arg;
  const int64_t n = j->cols, most = n < BLOCK ? BLOCK / n : 1;
  float tops[BLOCK], e[BLOCK];
  for (int64_t r0 = begin; r0 < end; r0 += most) {
    const int64_t rows = end - r0 < most ? end - r0 : most;
    const float *in = (const float *)j->in + r0 * n;
    float *out = (float *)j->out + r0 * n;
    if (!j->log) {
      exps(in, out, tops, rows, n);
      for (int64_t r = 0; r < rows; r++) {
        const float scale = 1 / total(out + r * n, n);
        for (int64_t c = r * n; c < (r + 1) * n; c++) out[c] *= scale;
      }
      continue;
    }
    if (n < BLOCK) {
      exps(in, e, tops, rows, n);
      float sums[BLOCK];
      for (int64_t r = 0; r < rows; r++) sums[r] = total(e + r * n, n);
      fy_vec_log_f32(sums, sums, rows, NULL);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r * n; c < (r + 1) * n; c++) out[c] = in[c] - tops[r] - sums[r];
      continue;
    }
    const float top = highest(in, n);
    float sum = 0;
    for (int64_t c = 0; c < n; c += BLOCK) {
      const int64_t m = n - c < BLOCK ? n - c : BLOCK;
      for (int64_t k = 0; k < m; k++) e[k] = in[c + k] - top;
      fy_vec_exp_f32(e, e, m, NULL);
      sum += total(e, m);
    }
    const float shift = logf(sum);
    for (int64_t c = 0; c < n; c++) out[c] = in[c] - top - shift;
  }
}

// 16-bit floats, in blocks of floats. An exponential is rounded once before it is scaled.
#define SOFTMAX_16(S, WIDEN, NARROW)                                                       \
  static void softmax_##S(void *arg, int64_t begin, int64_t end) {                         \
    const softmax_job *j = arg;                                                            \
    const int64_t n = j->cols;                                                             \
    float x[BLOCK];                                                                        \
    for (int64_t r = begin; r < end; r++) {                                                \
      const uint16_t *in = (const uint16_t *)j->in + r * n;                                \
      uint16_t *out = (uint16_t *)j->out + r * n;                                          \
      float top = FY_LD_##S(in[0]), sum = 0;                                               \
      for (int64_t at = 0; at < n; at += BLOCK) {                                          \
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;                                 \
        WIDEN(in + at, x, m);                                                              \
        const float here = highest(x, m);                                                  \
        top = here > top ? here : top;                                                     \
      }                                                                                    \
      for (int64_t at = 0; at < n; at += BLOCK) {                                          \
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;                                 \
        WIDEN(in + at, x, m);                                                              \
        for (int64_t k = 0; k < m; k++) x[k] -= top;                                       \
        fy_vec_exp_f32(x, x, m, NULL);                                                     \
        sum += total(x, m);                                                                \
        if (!j->log) NARROW(x, out + at, m);                                               \
      }                                                                                    \
      const float scale = 1 / sum, shift = logf(sum);                                      \
      for (int64_t at = 0; at < n; at += BLOCK) {                                          \
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;                                 \
        WIDEN((j->log ? in : out) + at, x, m);                                             \
        for (int64_t k = 0; k < m; k++) x[k] = j->log ? x[k] - top - shift : x[k] * scale; \
        NARROW(x, out + at, m);                                                            \
      }                                                                                    \
    }                                                                                      \
  }
static void widen_bf16(const uint16_t *in, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_bfloat16_to_float(in[i]);
}
static void narrow_bf16(const float *in, uint16_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_float_to_bfloat16(in[i]);
}
SOFTMAX_16(f16, fy_halves_to_floats, fy_floats_to_halves)
SOFTMAX_16(bf16, widen_bf16, narrow_bf16)

typedef void (*rows_fn)(void *arg, int64_t begin, int64_t end);
static const rows_fn table[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, softmax)};

static fy_code run(fy_kernel_ctx *ctx, bool log, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "logits must have >= 1 dimension, got []");
  }
  if (!table[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (out->count == 0) return FY_OK;
  softmax_job job = {in->data, out->data, in->dims[in->rank - 1], log};
  fy_parallel(ctx, in->count / job.cols, 1.5 * (double)job.cols, table[in->dtype], &job);
  return FY_OK;
}

static fy_code softmax(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, false, err);
}
static fy_code log_softmax(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, true, err);
}

static const fy_sample samples[] = {
    {"f32[2,2]=0,0,1000,1000", NULL, FY_OK, NULL},
    {"f16[3,7]=normal", NULL, FY_OK, NULL},
    {"f64[1]=5", NULL, FY_OK, NULL},
    {"f32[]=1", NULL, FY_INVALID_ARGUMENT, "logits must have >= 1 dimension, got []"},
};

FY_OP(Softmax, .shape = fy_shape_at_least_1, .compute = softmax, .flags = FY_OP_INPLACE,
      FY_SAMPLES(samples));
FY_OP(LogSoftmax, .shape = fy_shape_at_least_1, .compute = log_softmax, .flags = FY_OP_INPLACE,
      FY_SAMPLES(samples));

// SPDX-License-Identifier: Apache-2.0
// softmax.c: Softmax and LogSoftmax over the last dimension.
// The row's maximum is subtracted first, so that exp cannot overflow; sums of 16-bit floats are in
// float.

#include <math.h>

#include "ops/elementwise.h"
#include "ops/fused.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/vecmath.h"

typedef struct softmax_job {
  const void *in;
  void *out;
  int64_t cols, rows;
  bool log;
} softmax_job;

// The maximum and the sum of a row in strands, which the compiler keeps in vectors. A NaN may be lost
// by the maximum, but not by the sum.
#define STRANDS 32
#define BLOCK   512   // elements of several short rows
#define PIECE   2048  // of a long one: sums are pairwise from here on, as reduce.c's
#define LOOPS_OF(S, T)                                                                    \
  FY_CLONES static T highest_##S(const T *x, int64_t n) {                                 \
    T top[STRANDS], best = x[0];                                                          \
    int64_t i = 0;                                                                        \
    if (n >= STRANDS) {                                                                   \
      for (int k = 0; k < STRANDS; k++) top[k] = x[k];                                    \
      for (i = STRANDS; i + STRANDS <= n; i += STRANDS)                                   \
        for (int k = 0; k < STRANDS; k++) top[k] = x[i + k] > top[k] ? x[i + k] : top[k]; \
      for (int k = 0; k < 16; k++) top[k] = top[k + 16] > top[k] ? top[k + 16] : top[k];  \
      for (int k = 0; k < 8; k++) top[k] = top[k + 8] > top[k] ? top[k + 8] : top[k];     \
      for (; i + 8 <= n; i += 8)                                                          \
        for (int k = 0; k < 8; k++) top[k] = x[i + k] > top[k] ? x[i + k] : top[k];       \
      for (int k = 0; k < 8; k++) best = top[k] > best ? top[k] : best;                   \
    }                                                                                     \
    for (; i < n; i++) best = x[i] > best ? x[i] : best;                                  \
    return best;                                                                          \
  }                                                                                       \
  FY_CLONES static T total_##S(const T *x, int64_t n) {                                   \
    T a = 0, b = 0, sum = 0;                                                              \
    int64_t i = 0;                                                                        \
    if (n >= STRANDS) {                                                                   \
      T part[STRANDS];                                                                    \
      for (int k = 0; k < STRANDS; k++) part[k] = x[k];                                   \
      for (i = STRANDS; i + STRANDS <= n; i += STRANDS)                                   \
        for (int k = 0; k < STRANDS; k++) part[k] += x[i + k];                            \
      for (int k = 0; k < 16; k++) part[k] += part[k + 16];                               \
      for (int k = 0; k < 8; k++) part[k] += part[k + 8];                                 \
      for (int k = 0; k < 8; k++) sum += part[k];                                         \
    }                                                                                     \
    for (; i + 2 <= n; i += 2) a += x[i], b += x[i + 1];                                  \
    return sum + (a + b) + (i < n ? x[i] : 0);                                            \
  }                                                                                       \
  FY_CLONES static void minus_##S(const T *in, T *out, int64_t n, T less) {               \
    FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = in[i] - less;                      \
  }                                                                                       \
  FY_CLONES static void times_##S(T *out, int64_t n, T by) {                              \
    for (int64_t i = 0; i < n; i++) out[i] *= by;                                         \
  }
LOOPS_OF(f32, float)
LOOPS_OF(f64, double)

// x = in - top; out = x if |log|, else exp(x); returns the sum of exp(x). The next row, |row| elements
// away, comes meanwhile.
static float piece_f32(const float *in, float *out, float top, int64_t n, int64_t row, bool log) {
  const fy_lanes *lanes = fy_lanes_best();
  return (log ? lanes->minus_exp_sum_f32 : lanes->exp_sum_f32)(in, top, out, n, in + row);
}
static double piece_f64(const double *in, double *out, double top, int64_t n, int64_t row,
                        bool log) {
  double sum = 0, e[BLOCK];
  for (int64_t c = 0; c < n; c += BLOCK) {
    const int64_t m = n - c < BLOCK ? n - c : BLOCK;
    fy_fetch_ahead(in + row + c, (size_t)m * sizeof *in);
    minus_f64(in + c, out + c, m, top);
    fy_vec_exp_f64(out + c, log ? e : out + c, m, NULL);
    sum += total_f64(log ? e : out + c, m);
  }
  return sum;
}

// The exponentials of a row or what is left of it; the sum is pairwise.
#define TREE_OF(S, T)                                                                    \
  static T tree_exps_##S(const T *in, T *out, T top, int64_t n, int64_t row, bool log) { \
    if (n <= PIECE) return piece_##S(in, out, top, n, row, log);                         \
    const int64_t left = (n / 2 + PIECE - 1) / PIECE * PIECE;                            \
    const T sum = tree_exps_##S(in, out, top, left, row, log);                           \
    return sum + tree_exps_##S(in + left, out + left, top, n - left, row, log);          \
  }
TREE_OF(f32, float)
TREE_OF(f64, double)

// Short rows are one kernel's of the lanes.
static void softmax_f32(void *arg, int64_t begin, int64_t end) {
  const softmax_job *j = arg;
  const int64_t n = j->cols;
  const float *in = (const float *)j->in + begin * n;
  float *out = (float *)j->out + begin * n;
  if (n <= FY_SHORT_ROW) {
    fy_lanes_best()->softmax_f32(in, out, end - begin, n, j->log);
    return;
  }
  for (int64_t r = begin; r < end; r++, in += n, out += n) {
    float sum = tree_exps_f32(in, out, highest_f32(in, n), n, n, j->log);
    if (j->log) {
      fy_vec_log_f32(&sum, &sum, 1, NULL);
      minus_f32(out, out, n, sum);
    } else {
      times_f32(out, n, 1 / sum);
    }
  }
}

// Blocks of rows that begin at lines, unless rows are long; whole lines are written.
static int64_t narrow_block(int64_t cols) {
  return cols < FY_NARROW ? 64 : cols <= 256 ? 16 : 1;
}
static void softmax_narrow(void *arg, int64_t begin, int64_t end) {
  const softmax_job *j = arg;
  const int64_t block = narrow_block(j->cols), first = begin * block;
  const int64_t last = end * block < j->rows ? end * block : j->rows;
  const bool past_cache = fy_past_cache(j->out, j->in, j->rows * j->cols);
  const fy_narrow f = {j->log ? FY_NORM_LOG : FY_NORM_SHARES, j->cols, .past_cache = past_cache};
  fy_lanes_best()->narrow_f32(&f, (const float *)j->in + first * j->cols,
                              (float *)j->out + first * j->cols, last - first);
}

// |rows| rows at once, step by step: what one row waits for is time for the next.
static void softmax_rows_f64(const double *in, double *out, int64_t rows, int64_t n, bool log) {
  double tops[BLOCK], sums[BLOCK], e[BLOCK], *to = log ? e : out;
  tops[0] = sums[0] = 0;  // there is always a row, which not every compiler sees
  for (int64_t r = 0; r < rows; r++) tops[r] = highest_f64(in + r * n, n);
  if (n < BLOCK) {
    for (int64_t r = 0; r < rows; r++) minus_f64(in + r * n, out + r * n, n, tops[r]);
    fy_vec_exp_f64(out, to, rows * n, NULL);
    for (int64_t r = 0; r < rows; r++) sums[r] = total_f64(to + r * n, n);
  } else {
    sums[0] = tree_exps_f64(in, out, tops[0], n, n, log);
  }
  if (log) fy_vec_log_f64(sums, sums, rows, NULL);
  for (int64_t r = 0; r < rows; r++) {
    if (log)
      minus_f64(out + r * n, out + r * n, n, sums[r]);
    else
      times_f64(out + r * n, n, 1 / sums[r]);
  }
}

static void softmax_f64(void *arg, int64_t begin, int64_t end) {
  const softmax_job *j = arg;
  const int64_t n = j->cols, most = n < BLOCK ? BLOCK / n : 1;
  for (int64_t r = begin; r < end; r += most)
    softmax_rows_f64((const double *)j->in + r * n, (double *)j->out + r * n,
                     end - r < most ? end - r : most, n, j->log);
}

float fy_softmax_exps(const float *in, float *out, int64_t n) {
  return tree_exps_f32(in, out, highest_f32(in, n), n, n, false);
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
        const float here = highest_f32(x, m);                                              \
        top = here > top ? here : top;                                                     \
      }                                                                                    \
      for (int64_t at = 0; at < n; at += BLOCK) {                                          \
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;                                 \
        WIDEN(in + at, x, m);                                                              \
        for (int64_t k = 0; k < m; k++) x[k] -= top;                                       \
        fy_vec_exp_f32(x, x, m, NULL);                                                     \
        sum += total_f32(x, m);                                                            \
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
  const int64_t cols = in->dims[in->rank - 1], rows = in->count / cols;
  softmax_job job = {in->data, out->data, cols, rows, log};
  if (in->dtype == FY_FLOAT && cols <= fy_lanes_best()->longest_softmax) {
    const int64_t block = narrow_block(cols);
    fy_parallel(ctx, (rows + block - 1) / block, (double)(block * cols), softmax_narrow, &job);
  } else {
    fy_parallel(ctx, rows, 1.5 * (double)cols, table[in->dtype], &job);
  }
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

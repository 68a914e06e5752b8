// SPDX-License-Identifier: Apache-2.0
// losses.c: SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits, L2Loss.
// Each row's maximum is subtracted first, so that exp cannot overflow. 16-bit floats are computed
// in float and rounded once.

#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/vecmath.h"
#include "ops/window.h"

typedef struct loss_job {
  const void *logits, *labels;
  void *loss, *grad;
  int64_t cols;
  int64_t logits_row, logits_col, labels_row, labels_col;  // strides; 0 repeats
  fy_dtype label_type;
} loss_job;

#define DENSE(E, S, _)                                                     \
  static void dense_##S(void *arg, int64_t begin, int64_t end) {           \
    const loss_job *j = arg;                                               \
    for (int64_t r = begin; r < end; r++) {                                \
      const fy_t_##S *x = (const fy_t_##S *)j->logits + r * j->logits_row; \
      const fy_t_##S *y = (const fy_t_##S *)j->labels + r * j->labels_row; \
      fy_t_##S *grad = (fy_t_##S *)j->grad + r * j->cols;                  \
      fy_a_##S top = FY_LD_##S(x[0]), sum = 0, loss = 0;                   \
      for (int64_t c = 1; c < j->cols; c++) {                              \
        const fy_a_##S v = FY_LD_##S(x[c * j->logits_col]);                \
        top = v > top ? v : top;                                           \
      }                                                                    \
      for (int64_t c = 0; c < j->cols; c++) {                              \
        sum += FY_MATH_##S(exp)(FY_LD_##S(x[c * j->logits_col]) - top);    \
      }                                                                    \
      const fy_a_##S log_sum = FY_MATH_##S(log)(sum);                      \
      for (int64_t c = 0; c < j->cols; c++) {                              \
        const fy_a_##S v = FY_LD_##S(x[c * j->logits_col]) - top;          \
        const fy_a_##S label = FY_LD_##S(y[c * j->labels_col]);            \
        loss += label * (log_sum - v);                                     \
        grad[c] = FY_ST_##S(FY_MATH_##S(exp)(v) / sum - label);            \
      }                                                                    \
      ((fy_t_##S *)j->loss)[r] = FY_ST_##S(loss);                          \
    }                                                                      \
  }
FY_FULL_REAL_TYPES(DENSE, _)

// Rows that lie side by side, by vector functions; exponentials are made once, in the gradient's place.
#define STRANDS 8
#define BLOCK   512  // elements of several short rows
static int64_t label_at(const loss_job *j, int64_t r) {
  return j->label_type == FY_INT32 ? ((const int32_t *)j->labels)[r]
                                   : ((const int64_t *)j->labels)[r];
}
#define ROW_LOOPS(E, S, _)                                                                       \
  FY_CLONES static void less_top_##S(const fy_t_##S *x, fy_t_##S *grad, int64_t n) {             \
    fy_t_##S strand[STRANDS], top = x[0];                                                        \
    int64_t i = 0;                                                                               \
    for (int k = 0; k < STRANDS; k++) strand[k] = x[0];                                          \
    for (; i + STRANDS <= n; i += STRANDS)                                                       \
      for (int k = 0; k < STRANDS; k++) strand[k] = x[i + k] > strand[k] ? x[i + k] : strand[k]; \
    for (; i < n; i++) top = x[i] > top ? x[i] : top;                                            \
    for (int k = 0; k < STRANDS; k++) top = strand[k] > top ? strand[k] : top;                   \
    for (i = 0; i < n; i++) grad[i] = x[i] - top;                                                \
  }                                                                                              \
  FY_CLONES static fy_t_##S sum_row_##S(const fy_t_##S *x, int64_t n) {                          \
    fy_t_##S strand[STRANDS] = {0}, sum = 0;                                                     \
    int64_t i = 0;                                                                               \
    for (; i + STRANDS <= n; i += STRANDS)                                                       \
      for (int k = 0; k < STRANDS; k++) strand[k] += x[i + k];                                   \
    for (; i < n; i++) sum += x[i];                                                              \
    for (int k = 0; k < STRANDS; k++) sum += strand[k];                                          \
    return sum;                                                                                  \
  }                                                                                              \
  FY_CLONES static fy_t_##S dot_row_##S(const fy_t_##S *x, const fy_t_##S *y, int64_t n) {       \
    fy_t_##S strand[STRANDS] = {0}, sum = 0;                                                     \
    int64_t i = 0;                                                                               \
    for (; i + STRANDS <= n; i += STRANDS)                                                       \
      for (int k = 0; k < STRANDS; k++) strand[k] += x[i + k] * y[i + k];                        \
    for (; i < n; i++) sum += x[i] * y[i];                                                       \
    for (int k = 0; k < STRANDS; k++) sum += strand[k];                                          \
    return sum;                                                                                  \
  }                                                                                              \
  static void dense_rows_##S(void *arg, int64_t begin, int64_t end) {                            \
    const loss_job *j = arg;                                                                     \
    if (j->logits_col != 1 || j->labels_col != 1) {                                              \
      dense_##S(arg, begin, end);                                                                \
      return;                                                                                    \
    }                                                                                            \
    const int64_t n = j->cols;                                                                   \
    for (int64_t r = begin; r < end; r++) {                                                      \
      const fy_t_##S *y = (const fy_t_##S *)j->labels + r * j->labels_row;                       \
      fy_t_##S *grad = (fy_t_##S *)j->grad + r * n;                                              \
      less_top_##S((const fy_t_##S *)j->logits + r * j->logits_row, grad, n);                    \
      const fy_t_##S dot = dot_row_##S(grad, y, n), labels = sum_row_##S(y, n);                  \
      fy_vec_exp_##S(grad, grad, n, NULL);                                                       \
      const fy_t_##S sum = sum_row_##S(grad, n), scale = 1 / sum;                                \
      for (int64_t c = 0; c < n; c++) grad[c] = grad[c] * scale - y[c];                          \
      ((fy_t_##S *)j->loss)[r] = labels * FY_MATH_##S(log)(sum) - dot;                           \
      /* Infinities that cancel here, but not term by term. */                                   \
      if (((fy_t_##S *)j->loss)[r] != ((fy_t_##S *)j->loss)[r]) dense_##S(arg, r, r + 1);        \
    }                                                                                            \
  }                                                                                              \
  static void sparse_rows_##S(void *arg, int64_t begin, int64_t end) {                           \
    const loss_job *j = arg;                                                                     \
    const int64_t n = j->cols, most = n < BLOCK ? BLOCK / n : 1;                                 \
    fy_t_##S *loss = j->loss;                                                                    \
    for (int64_t r0 = begin; r0 < end; r0 += most) {                                             \
      const int64_t r1 = r0 + most < end ? r0 + most : end;                                      \
      fy_t_##S *all = (fy_t_##S *)j->grad + r0 * n, sums[BLOCK];                                 \
      for (int64_t r = r0; r < r1; r++) {                                                        \
        fy_t_##S *grad = (fy_t_##S *)j->grad + r * n;                                            \
        less_top_##S((const fy_t_##S *)j->logits + r * n, grad, n);                              \
        loss[r] = -grad[label_at(j, r)];                                                         \
      }                                                                                          \
      fy_vec_exp_##S(all, all, (r1 - r0) * n, NULL);                                             \
      for (int64_t r = r0; r < r1; r++) {                                                        \
        fy_t_##S *grad = (fy_t_##S *)j->grad + r * n;                                            \
        const fy_t_##S sum = sums[r - r0] = sum_row_##S(grad, n), scale = 1 / sum;               \
        for (int64_t c = 0; c < n; c++) grad[c] *= scale;                                        \
        grad[label_at(j, r)] -= 1;                                                               \
      }                                                                                          \
      fy_vec_log_##S(sums, sums, r1 - r0, NULL);                                                 \
      for (int64_t r = r0; r < r1; r++) loss[r] += sums[r - r0];                                 \
    }                                                                                            \
  }
FY_FULL_REAL_TYPES(ROW_LOOPS, _)

typedef void (*rows_fn)(void *arg, int64_t begin, int64_t end);
static const rows_fn denses[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, dense_rows)};
static const rows_fn sparses[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, sparse_rows)};

// |table|'s loop over |j|; 16-bit floats are widened before and rounded after it.
static fy_code run_rows(fy_kernel_ctx *ctx, loss_job *j, const rows_fn *table, fy_tensor *loss,
                        fy_tensor *grad, fy_error *err) {
  const fy_tensor *logits = ctx->in[0], *labels = ctx->in[1];
  const fy_dtype t = logits->dtype;
  FY_TRY(fy_plain_load(ctx, t, logits->data, 1, 1, logits->count, true, &j->logits, err));
  j->labels = labels->data;
  if (labels->dtype == t)
    FY_TRY(fy_plain_load(ctx, t, labels->data, 1, 1, labels->count, true, &j->labels, err));
  FY_TRY(fy_plain_room(ctx, t, loss->data, loss->count, true, &j->loss, err));
  FY_TRY(fy_plain_room(ctx, t, grad->data, grad->count, true, &j->grad, err));
  fy_parallel(ctx, loss->count, 5 * (double)j->cols, table[fy_plain_type(t)], j);
  fy_plain_store(t, j->loss, loss->data, 1, 1, loss->count, true);
  fy_plain_store(t, j->grad, grad->data, 1, 1, grad->count, true);
  return FY_OK;
}

static fy_code fail_type(fy_kernel_ctx *ctx, fy_dtype t, fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

static fy_code dense_loss(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *logits = ctx->in[0], *labels = ctx->in[1];
  char x[128], y[128];
  fy_bcast b;
  if (fy_bcast_init(&b, 2, (const fy_tensor *const[]){logits, labels}, err)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "logits and labels must be broadcastable: logits_size=%s labels_size=%s",
                   fy_tensor_shape_text(logits, x), fy_tensor_shape_text(labels, y));
  }
  if (b.out_rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "logits and labels must be either 2-dimensional, or broadcasted to be "
                   "2-dimensional");
  }
  if (!denses[fy_plain_type(logits->dtype)] || labels->dtype != logits->dtype) {
    return fail_type(ctx, logits->dtype, err);
  }
  fy_tensor *loss, *grad;
  const int64_t rows = b.out_dims[0], cols = b.out_dims[1];
  FY_TRY(fy_out(ctx, 0, 1, b.out_dims, &loss, err));
  FY_TRY(fy_out(ctx, 1, 2, b.out_dims, &grad, err));
  if (rows == 0) return FY_OK;
  if (cols == 0) {
    memset(loss->data, 0, fy_tensor_bytes(loss));
    return FY_OK;
  }
  loss_job j = {.cols = cols};
  const fy_tensor *both[] = {logits, labels};
  int64_t *row[] = {&j.logits_row, &j.labels_row}, *col[] = {&j.logits_col, &j.labels_col};
  for (int i = 0; i < 2; i++) {
    const int64_t n = both[i]->rank > 0 ? both[i]->dims[both[i]->rank - 1] : 1;
    *col[i] = n == 1 ? 0 : 1;
    *row[i] = both[i]->rank == 2 && both[i]->dims[0] != 1 ? n : 0;
  }
  return run_rows(ctx, &j, denses, loss, grad, err);
}

// "Label values: 0 3" of the failing call, as many as fit.
static fy_code fail_label(const fy_tensor *labels, int64_t label, int64_t cols, fy_error *err) {
  fy_code code = fy_fail(err, FY_INVALID_ARGUMENT,
                         "Received a label value of %lld which is outside the valid range of [0, "
                         "%lld).  Label values:",
                         (long long)label, (long long)cols);
  for (int64_t i = 0; err && i < labels->count && i < 1000; i++) {
    fy_error_append(err, " %lld", (long long)fy_tensor_int(labels, i));
  }
  return code;
}

static fy_code sparse_loss(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *logits = ctx->in[0], *labels = ctx->in[1];
  char x[128], y[128];
  if (logits->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "logits must be 2-D, but got shape %s",
                   fy_tensor_shape_text(logits, x));
  }
  if (labels->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "labels must be 1-D, but got shape %s",
                   fy_tensor_shape_text(labels, x));
  }
  if (logits->dims[0] != labels->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "logits and labels must have the same first dimension, got logits shape %s and "
                   "labels shape %s",
                   fy_tensor_shape_text(logits, x), fy_tensor_shape_text(labels, y));
  }
  const int64_t cols = logits->dims[1];
  if (cols == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Must have at least one class, but got logits shape %s",
                   fy_tensor_shape_text(logits, x));
  }
  if (!sparses[fy_plain_type(logits->dtype)]) return fail_type(ctx, logits->dtype, err);
  int64_t least = 0, most = 0;
  for (int64_t i = 0; i < labels->count; i++) {
    const int64_t label = fy_tensor_int(labels, i);
    least = label < least ? label : least;
    most = label > most ? label : most;
  }
  if (least < 0 || most >= cols) return fail_label(labels, least < 0 ? least : most, cols, err);
  fy_tensor *loss, *grad;
  FY_TRY(fy_out_like(ctx, 0, labels, &loss, err));
  FY_TRY(fy_out_like(ctx, 1, logits, &grad, err));
  loss_job j = {.cols = cols, .label_type = labels->dtype};
  return run_rows(ctx, &j, sparses, loss, grad, err);
}

// ---------------------------------------------------------------- L2Loss
// Sums in double, in blocks, so that the order of so many terms does not show.
#define L2_BLOCK 65536
#define L2(E, S, _)                                                                  \
  FY_CLONE_##S static void l2_##S(void *arg, int64_t begin, int64_t end) {           \
    const l2_job *j = arg;                                                           \
    for (int64_t b = begin; b < end; b++) {                                          \
      const fy_t_##S *in = (const fy_t_##S *)j->in + b * L2_BLOCK;                   \
      const int64_t left = j->n - b * L2_BLOCK;                                      \
      const int64_t n = left < L2_BLOCK ? left : L2_BLOCK;                           \
      double strand[STRANDS] = {0}, sum = 0;                                         \
      int64_t i = 0;                                                                 \
      for (; i + STRANDS <= n; i += STRANDS) {                                       \
        for (int k = 0; k < STRANDS; k++) {                                          \
          const double x = (double)FY_LD_##S(in[i + k]);                             \
          strand[k] += x * x;                                                        \
        }                                                                            \
      }                                                                              \
      for (; i < n; i++) sum += (double)FY_LD_##S(in[i]) * (double)FY_LD_##S(in[i]); \
      for (int k = 0; k < STRANDS; k++) sum += strand[k];                            \
      j->sums[b] = sum;                                                              \
    }                                                                                \
  }
typedef struct l2_job {
  const void *in;
  int64_t n;
  double *sums;
} l2_job;
#define L2_PUT(E, S, _)                                \
  static void l2_put_##S(double sum, void *out) {      \
    *(fy_t_##S *)out = FY_ST_##S((fy_a_##S)(sum / 2)); \
  }
L2(FY_BFLOAT16, bf16, _)
FY_FULL_REAL_TYPES(L2, _)
FY_REAL_TYPES(L2_PUT, _)
// Halves are widened a block at a time.
static void l2_f16(void *arg, int64_t begin, int64_t end) {
  const l2_job *j = arg;
  float x[FY_CHUNK];
  for (int64_t b = begin; b < end; b++) {
    const int64_t from = b * L2_BLOCK, to = from + L2_BLOCK < j->n ? from + L2_BLOCK : j->n;
    double sum = 0, part;
    for (int64_t at = from; at < to; at += FY_CHUNK) {
      const int64_t n = to - at < FY_CHUNK ? to - at : FY_CHUNK;
      fy_halves_to_floats((const uint16_t *)j->in + at, x, n);
      l2_f32(&(l2_job){x, n, &part}, 0, 1);
      sum += part;
    }
    j->sums[b] = sum;
  }
}
typedef struct l2_loops {
  rows_fn sum;
  void (*put)(double sum, void *out);
} l2_loops;
#define L2_ENTRY(E, S, _) [E] = {l2_##S, l2_put_##S},
static const l2_loops l2s[FY_DTYPE_COUNT] = {FY_REAL_TYPES(L2_ENTRY, _)};

static fy_code l2_loss(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  if (!l2s[in->dtype].sum) return fail_type(ctx, in->dtype, err);
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  const int64_t blocks = (in->count + L2_BLOCK - 1) / L2_BLOCK;
  void *sums;
  FY_TRY(fy_scratch(ctx, (size_t)(blocks + 1) * sizeof(double), &sums, err));
  l2_job j = {in->data, in->count, sums};
  fy_parallel(ctx, blocks, 0.3 * (double)(in->count < L2_BLOCK ? in->count : L2_BLOCK),
              l2s[in->dtype].sum, &j);
  double total = 0;
  for (int64_t b = 0; b < blocks; b++) total += j.sums[b];
  l2s[in->dtype].put(total, out->data);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape out = {2, NULL};
  int64_t dims[2];
  const fy_pshape one = ctx->in[0].rank >= 0 ? ctx->in[0] : ctx->in[1];
  if ((ctx->in[0].rank < 0 || ctx->in[1].rank < 0) && one.rank == 2) {
    for (int d = 0; d < 2; d++) dims[d] = one.dims[d] != 1 ? one.dims[d] : -1;  // 1 may grow
    out.dims = dims;
  } else if ((ctx->in[0].rank < 0 || ctx->in[1].rank < 0) && one.rank >= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Shape must be broadcasted with rank 2, but is rank is unknown.");
  }
  if (ctx->in[0].rank >= 0 && ctx->in[1].rank >= 0) {
    FY_TRY(fy_shape_broadcast_two(ctx, ctx->in[0], ctx->in[1], &out, err));
    if (out.rank != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Shape must be broadcasted with rank 2, but is rank %d", out.rank);
    }
  }
  FY_TRY(fy_shape_set(ctx, 0, 1, out.dims, err));
  return fy_shape_set(ctx, 1, 2, out.dims, err);
}

static fy_code sparse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape logits = ctx->in[0], labels = ctx->in[1];
  FY_TRY(fy_shape_rank_is(logits, 2, err));
  FY_TRY(fy_shape_rank_is(labels, 1, err));
  int64_t dims[2];
  FY_TRY(fy_dim_merge(fy_dim_of(logits, 0), fy_dim_of(labels, 0), &dims[0], err));
  dims[1] = fy_dim_of(logits, 1);
  FY_TRY(fy_shape_set(ctx, 0, 1, dims, err));
  return fy_shape_set(ctx, 1, 2, dims, err);
}

static const fy_sample dense_samples[] = {
    {"f32[2,3]=1,2,3,1000,1000,-1000; f32[2,3]=0,0,1,0.5,0.5,0", NULL, FY_OK, NULL},
    {"f16[3,7]=normal; f16[1,7]=uniform", NULL, FY_OK, NULL},
    {"f32[2,3]=zeros; f32[2,2]=zeros", NULL, FY_INVALID_ARGUMENT,
     "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[2,2]"},
};
static const fy_sample sparse_samples[] = {
    {"f32[2,3]=1,2,3,1000,1000,-1000; i64[2]=2,0", NULL, FY_OK, NULL},
    {"f32[1,3]=1,2,3; i32[1]=3", NULL, FY_INVALID_ARGUMENT,
     "Received a label value of 3 which is outside the valid range of [0, 3).  Label values: 3"},
};
static const fy_sample l2_samples[] = {
    {"f32[2,2]=1,2,3,4", NULL, FY_OK, "15"},
    {"f64[0]=", NULL, FY_OK, "0"},
};

FY_OP(SoftmaxCrossEntropyWithLogits, .shape = dense_shape, .compute = dense_loss,
      FY_SAMPLES(dense_samples));
FY_OP(SparseSoftmaxCrossEntropyWithLogits, .shape = sparse_shape, .compute = sparse_loss,
      FY_SAMPLES(sparse_samples));
static void l2_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const int64_t blocks = (ctx->in[0]->count + L2_BLOCK - 1) / L2_BLOCK;
  out->scratch += fy_scratch_line((size_t)(blocks + 1) * sizeof(double));
}

FY_OP(L2Loss, .shape = fy_shape_scalar, .compute = l2_loss, .needs = l2_needs,
      FY_SAMPLES(l2_samples));

// SPDX-License-Identifier: Apache-2.0
// losses.c: SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits, L2Loss.
// Each row's maximum is subtracted first, so that exp cannot overflow. 16-bit floats are computed
// in float and rounded once.

#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct loss_job {
  const void *logits, *labels;
  void *loss, *grad;
  int64_t cols;
  int64_t logits_row, logits_col, labels_row, labels_col;  // strides; 0 repeats
  fy_dtype label_type;
} loss_job;

#define CROSS_ENTROPY(E, S, _)                                                              \
  static void dense_##S(void *arg, int64_t begin, int64_t end) {                            \
    const loss_job *j = arg;                                                                \
    for (int64_t r = begin; r < end; r++) {                                                 \
      const fy_t_##S *x = (const fy_t_##S *)j->logits + r * j->logits_row;                  \
      const fy_t_##S *y = (const fy_t_##S *)j->labels + r * j->labels_row;                  \
      fy_t_##S *grad = (fy_t_##S *)j->grad + r * j->cols;                                   \
      fy_a_##S top = FY_LD_##S(x[0]), sum = 0, loss = 0;                                    \
      for (int64_t c = 1; c < j->cols; c++) {                                               \
        const fy_a_##S v = FY_LD_##S(x[c * j->logits_col]);                                 \
        top = v > top ? v : top;                                                            \
      }                                                                                     \
      for (int64_t c = 0; c < j->cols; c++) {                                               \
        sum += FY_MATH_##S(exp)(FY_LD_##S(x[c * j->logits_col]) - top);                     \
      }                                                                                     \
      const fy_a_##S log_sum = FY_MATH_##S(log)(sum);                                       \
      for (int64_t c = 0; c < j->cols; c++) {                                               \
        const fy_a_##S v = FY_LD_##S(x[c * j->logits_col]) - top;                           \
        const fy_a_##S label = FY_LD_##S(y[c * j->labels_col]);                             \
        loss += label * (log_sum - v);                                                      \
        grad[c] = FY_ST_##S(FY_MATH_##S(exp)(v) / sum - label);                             \
      }                                                                                     \
      ((fy_t_##S *)j->loss)[r] = FY_ST_##S(loss);                                           \
    }                                                                                       \
  }                                                                                         \
  static void sparse_##S(void *arg, int64_t begin, int64_t end) {                           \
    const loss_job *j = arg;                                                                \
    for (int64_t r = begin; r < end; r++) {                                                 \
      const fy_t_##S *x = (const fy_t_##S *)j->logits + r * j->cols;                        \
      fy_t_##S *grad = (fy_t_##S *)j->grad + r * j->cols;                                   \
      const int64_t label = j->label_type == FY_INT32 ? ((const int32_t *)j->labels)[r]     \
                                                      : ((const int64_t *)j->labels)[r];    \
      const fy_a_##S wanted = FY_LD_##S(x[label]);                                          \
      fy_a_##S top = FY_LD_##S(x[0]), sum = 0;                                              \
      for (int64_t c = 1; c < j->cols; c++) {                                               \
        const fy_a_##S v = FY_LD_##S(x[c]);                                                 \
        top = v > top ? v : top;                                                            \
      }                                                                                     \
      for (int64_t c = 0; c < j->cols; c++) sum += FY_MATH_##S(exp)(FY_LD_##S(x[c]) - top); \
      for (int64_t c = 0; c < j->cols; c++) {                                               \
        const fy_a_##S p = FY_MATH_##S(exp)(FY_LD_##S(x[c]) - top) / sum;                   \
        grad[c] = FY_ST_##S(c == label ? p - 1 : p);                                        \
      }                                                                                     \
      ((fy_t_##S *)j->loss)[r] = FY_ST_##S(FY_MATH_##S(log)(sum) - (wanted - top));         \
    }                                                                                       \
  }
FY_REAL_TYPES(CROSS_ENTROPY, _)

typedef void (*rows_fn)(void *arg, int64_t begin, int64_t end);
static const rows_fn denses[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, dense)};
static const rows_fn sparses[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, sparse)};

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
  if (!denses[logits->dtype] || labels->dtype != logits->dtype) {
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
  loss_job j = {.logits = logits->data,
                .labels = labels->data,
                .loss = loss->data,
                .grad = grad->data,
                .cols = cols};
  const fy_tensor *both[] = {logits, labels};
  int64_t *row[] = {&j.logits_row, &j.labels_row}, *col[] = {&j.logits_col, &j.labels_col};
  for (int i = 0; i < 2; i++) {
    const int64_t n = both[i]->rank > 0 ? both[i]->dims[both[i]->rank - 1] : 1;
    *col[i] = n == 1 ? 0 : 1;
    *row[i] = both[i]->rank == 2 && both[i]->dims[0] != 1 ? n : 0;
  }
  fy_parallel(ctx, rows, 15 * (double)cols, denses[logits->dtype], &j);
  return FY_OK;
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
  if (!sparses[logits->dtype]) return fail_type(ctx, logits->dtype, err);
  for (int64_t i = 0; i < labels->count; i++) {
    const int64_t label = fy_tensor_int(labels, i);
    if (label < 0 || label >= cols) return fail_label(labels, label, cols, err);
  }
  fy_tensor *loss, *grad;
  FY_TRY(fy_out_like(ctx, 0, labels, &loss, err));
  FY_TRY(fy_out_like(ctx, 1, logits, &grad, err));
  loss_job j = {.logits = logits->data,
                .labels = labels->data,
                .loss = loss->data,
                .grad = grad->data,
                .cols = cols,
                .label_type = labels->dtype};
  fy_parallel(ctx, logits->dims[0], 15 * (double)cols, sparses[logits->dtype], &j);
  return FY_OK;
}

// ---------------------------------------------------------------- L2Loss
// Sums in double, in blocks, so that the order of so many terms does not show.
#define L2(E, S, _)                                                                     \
  static void l2_##S(const void *p, int64_t n, void *out) {                             \
    const fy_t_##S *in = p;                                                             \
    double sum = 0;                                                                     \
    for (int64_t i = 0; i < n;) {                                                       \
      const int64_t end = i + 1024 < n ? i + 1024 : n;                                  \
      double part = 0;                                                                  \
      for (; i < end; i++) part += (double)FY_LD_##S(in[i]) * (double)FY_LD_##S(in[i]); \
      sum += part;                                                                      \
    }                                                                                   \
    *(fy_t_##S *)out = FY_ST_##S((fy_a_##S)(sum / 2));                                  \
  }
FY_REAL_TYPES(L2, _)
typedef void (*l2_fn)(const void *in, int64_t n, void *out);
static const l2_fn l2s[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, l2)};

static fy_code l2_loss(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  if (!l2s[in->dtype]) return fail_type(ctx, in->dtype, err);
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  l2s[in->dtype](in->data, in->count, out->data);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape out = {2, NULL};
  int64_t dims[2];
  const fy_pshape one = ctx->in[0].rank >= 0 ? ctx->in[0] : ctx->in[1];
  if ((ctx->in[0].rank < 0 || ctx->in[1].rank < 0) && one.rank == 2) {
    for (int d = 0; d < 2; d++) dims[d] = one.dims[d] > 1 ? one.dims[d] : -1;  // 1 may grow
    out.dims = dims;
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
FY_OP(L2Loss, .shape = fy_shape_scalar, .compute = l2_loss, FY_SAMPLES(l2_samples));

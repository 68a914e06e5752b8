// SPDX-License-Identifier: Apache-2.0
// fill_empty_rows.c: RaggedFillEmptyRows, and the gradient it shares with SparseFillEmptyRows: rows
// without a value get the default one; backwards, the values' gradients go where the values came
// from and all others add up for the default.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

static fy_code fill_checks(const fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *ids = ctx->in[0], *values = ctx->in[1], *rows = ctx->in[2], *def = ctx->in[3];
  char x[128];
  if (rows->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "nrows must be a scalar, saw: %s",
                   fy_tensor_shape_text(rows, x));
  }
  if (ids->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "value_rowids must be a vector, saw: %s",
                   fy_tensor_shape_text(ids, x));
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "values must be a vector, saw: %s",
                   fy_tensor_shape_text(values, x));
  }
  if (ids->count != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The length of `values` (%lld) must match the first dimension of `value_rowids` "
                   "(%lld).",
                   (long long)values->count, (long long)ids->count);
  }
  if (def->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "default_value must be a scalar, saw: %s",
                   fy_tensor_shape_text(def, x));
  }
  const int64_t n = fy_tensor_int(rows, 0);
  if (n == 0 && ids->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %lld",
                   (long long)ids->count);
  }
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld", (long long)n);
  }
  for (int64_t i = 0; i < ids->count; i++) {
    const int64_t row = fy_tensor_int(ids, i);
    if ((uint64_t)row < (uint64_t)n) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices(%lld, 0) is invalid: %lld >= %lld",
                   (long long)i, (long long)row, (long long)n);
  }
  return FY_OK;
}

static fy_code ragged_fill(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *ids = ctx->in[0], *values = ctx->in[1];
  fy_tensor *out_ids, *out, *empty, *map;
  void *memory;
  size_t bytes;
  FY_TRY(fill_checks(ctx, err));
  const int64_t rows = fy_tensor_int(ctx->in[2], 0), n = ids->count;
  FY_TRY(fy_out(ctx, 2, 1, &rows, &empty, err));
  FY_TRY(fy_out(ctx, 3, 1, &n, &map, err));
  if (!fy_mul_size((size_t)rows + 1, sizeof(int64_t), &bytes)) return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  int64_t *next = memory;  // where the next value of a row goes
  memset(next, 0, bytes);
  for (int64_t i = 0; i < n; i++) next[fy_tensor_int(ids, i) + 1]++;
  for (int64_t r = 0; r < rows; r++) {
    ((bool *)empty->data)[r] = next[r + 1] == 0;
    next[r + 1] = next[r] + (next[r + 1] ? next[r + 1] : 1);
  }
  const int64_t total = next[rows];
  FY_TRY(fy_out(ctx, 0, 1, &total, &out_ids, err));
  FY_TRY(fy_out(ctx, 1, 1, &total, &out, err));
  for (int64_t r = 0; r < rows; r++) {
    if (!((bool *)empty->data)[r]) continue;
    ((int64_t *)out_ids->data)[next[r]] = r;
    FY_TRY(fy_copy_run(out->dtype, out->data, next[r], ctx->in[3]->data, 0, 1, err));
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = fy_tensor_int(ids, i), to = next[row]++;
    ((int64_t *)out_ids->data)[to] = row;
    ((int64_t *)map->data)[i] = to;
    FY_TRY(fy_copy_run(out->dtype, out->data, to, values->data, i, 1, err));
  }
  return FY_OK;
}

static fy_code ragged_fill_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n, rows, unknown = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 0), &n, err));
  if (!fy_shape_int_value(ctx, 2, &rows) || rows < 0) rows = -1;
  FY_TRY(fy_shape_set(ctx, 0, 1, &unknown, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  FY_TRY(fy_shape_set(ctx, 2, 1, &rows, err));
  return fy_shape_set(ctx, 3, 1, &n, err);
}

// ---------------------------------------------------------------- gradient
#define REST_REAL(S, s, x)  FY_RD_##S((s) + (x))
#define REST_PLAIN(S, s, x) ((s) + (x))
#define REST_INT(S, s, x)   (fy_a_##S)((fy_u_##S)(s) + (fy_u_##S)(x))
#define SUM_REST(E, S, ADD)                                                          \
  static void sum_rest_##S(const void *pi, const bool *used, int64_t n, void *out) { \
    const fy_t_##S *in = pi;                                                         \
    fy_a_##S sum = 0;                                                                \
    for (int64_t i = 0; i < n; i++) {                                                \
      const fy_a_##S x = FY_LD_##S(in[i]);                                           \
      if (!used[i]) sum = ADD(S, sum, x);                                            \
    }                                                                                \
    *(fy_t_##S *)out = FY_ST_##S(sum);                                               \
  }
FY_REAL_TYPES(SUM_REST, REST_REAL)
FY_COMPLEX_TYPES(SUM_REST, REST_PLAIN)
FY_INT_TYPES(SUM_REST, REST_INT)
typedef void (*sum_fn)(const void *in, const bool *used, int64_t n, void *out);
static const sum_fn sums[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, sum_rest)};

static fy_code fill_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *map = ctx->in[0], *grad = ctx->in[1];
  const sum_fn sum = sums[grad->dtype];
  fy_tensor *values, *rest;
  void *memory;
  char x[128];
  if (map->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "reverse_index_map must be a vector, saw: %s",
                   fy_tensor_shape_text(map, x));
  }
  if (grad->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "grad_values must be a vector, saw: %s",
                   fy_tensor_shape_text(grad, x));
  }
  if (!sum) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(grad->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, map, &values, err));
  FY_TRY(fy_out(ctx, 1, 0, NULL, &rest, err));
  FY_TRY(fy_scratch(ctx, (size_t)grad->count + 1, &memory, err));
  bool *used = memory;
  memset(used, 0, (size_t)grad->count);
  for (int64_t i = 0; i < map->count; i++) {
    const int64_t at = fy_tensor_int(map, i);
    if ((uint64_t)at >= (uint64_t)grad->count) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Elements in reverse index must be in [0, %lld) but got %lld",
                     (long long)grad->count, (long long)at);
    }
    FY_TRY(fy_copy_run(grad->dtype, values->data, i, grad->data, at, 1, err));
    used[at] = true;
  }
  sum(grad->data, used, grad->count, rest->data);
  return FY_OK;
}

static fy_code fill_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  const int64_t n = fy_dim_of(ctx->in[0], 0);
  FY_TRY(fy_shape_set(ctx, 0, 1, &n, err));
  return fy_shape_set(ctx, 1, 0, NULL, err);
}

static const fy_sample samples[] = {
    {"i64[2]=0,2; f32[2]=7,8; i64[]=4; f32[]=1", NULL, FY_OK, "0,1,2,3"},
    {"i64[1]=4; f32[1]=7; i64[]=4; f32[]=1", NULL, FY_INVALID_ARGUMENT,
     "indices(0, 0) is invalid: 4 >= 4"},
};
static const fy_sample grad_samples[] = {
    {"i64[2]=0,2; f32[4]=1,2,3,4", NULL, FY_OK, "1,3"},
    {"i64[1]=4; i32[4]=1,2,3,4", NULL, FY_INVALID_ARGUMENT,
     "Elements in reverse index must be in [0, 4) but got 4"},
};
FY_OP(RaggedFillEmptyRows, .shape = ragged_fill_shape, .compute = ragged_fill,
      .host_inputs = 1 << 2, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(RaggedFillEmptyRowsGrad, .shape = fill_grad_shape, .compute = fill_grad,
      FY_SAMPLES(grad_samples));
FY_OP(SparseFillEmptyRowsGrad, .shape = fill_grad_shape, .compute = fill_grad,
      FY_SAMPLES(grad_samples));

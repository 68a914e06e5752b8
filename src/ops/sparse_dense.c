// SPDX-License-Identifier: Apache-2.0
// sparse_dense.c: a sparse tensor with a dense one: SparseTensorDenseAdd (dense result) and
// SparseDenseCwiseAdd/Mul/Div (the values at the sparse places only; the dense side is spread).

#include "ops/scatter.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

static fy_code no_loop(const fy_kernel_ctx *ctx, fy_dtype t, fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

// ---------------------------------------------------------------- SparseTensorDenseAdd
static fy_code add_checks(const fy_tensor *at, const fy_tensor *values, const fy_tensor *shape,
                          const fy_tensor *b, fy_error *err) {
  char x[128];
  if (at->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input a_indices should be a matrix but received shape: %s",
                   fy_tensor_shape_text(at, x));
  }
  if (values->rank != 1 || shape->rank != 1) {
    char y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inputs a_values and a_shape should be vectors but received shapes: %s and %s",
                   fy_tensor_shape_text(values, x), fy_tensor_shape_text(shape, y));
  }
  if (at->dims[0] != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimensions %lld and %lld are not compatible",
                   (long long)at->dims[0], (long long)values->count);
  }
  if (at->dims[1] != shape->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimensions %lld and %lld are not compatible",
                   (long long)at->dims[1], (long long)shape->count);
  }
  if (shape->count != b->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Two operands have different ranks; received: %lld and %d",
                   (long long)shape->count, b->rank);
  }
  for (int32_t d = 0; d < b->rank; d++) {
    const int64_t want = fy_tensor_int(shape, d);
    if (want == b->dims[d]) continue;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Dimension %d does not equal (no broadcasting is supported): sparse side %lld vs "
        "dense side %lld",
        d, (long long)want, (long long)b->dims[d]);
  }
  return FY_OK;
}

static fy_code fail_index(const fy_tensor *b, int64_t row, int32_t d, int64_t index,
                          fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  for (int32_t k = 0; k < b->rank; k++) fy_str_printf(&text, " %lld", (long long)b->dims[k]);
  fy_fail(
      err, FY_INVALID_ARGUMENT,
      "Sparse tensor has an invalid index on dimension %d: a_indices(%lld,%d) = %lld, dense tensor "
      "shape:%s",
      d, (long long)row, d, (long long)index, fy_str_text(&text));
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

static fy_code dense_add(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *values = ctx->in[1], *b = ctx->in[3];
  const fy_scatter_loop add = fy_scatter_find(FY_SCATTER_ADD, b->dtype);
  fy_tensor *out;
  FY_TRY(add_checks(at, values, ctx->in[2], b, err));
  if (!add) return no_loop(ctx, b->dtype, err);
  if (b->rank < 1 || b->rank > 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: "
                   "%d",
                   b->rank);
  }
  FY_TRY(fy_out_like(ctx, 0, b, &out, err));
  if (out->data != b->data) FY_TRY(fy_copy_run(b->dtype, out->data, 0, b->data, 0, b->count, err));
  for (int64_t i = 0; i < at->dims[0]; i++) {
    int64_t to = 0;
    for (int32_t d = 0; d < b->rank; d++) {
      const int64_t index = fy_tensor_int(at, i * b->rank + d);
      if ((uint64_t)index >= (uint64_t)b->dims[d]) {
        return fail_index(b, i, d, index, err);
      }
      to = to * b->dims[d] + index;
    }
    FY_TRY(fy_scatter_apply(FY_SCATTER_ADD, add, out, to, values, i, 1, err));
  }
  return FY_OK;
}

static fy_code dense_add_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[3].rank, ctx->in[3].dims, err);
}

// ---------------------------------------------------------------- SparseDenseCwise…
static fy_code cwise_checks(const fy_tensor *at, const fy_tensor *values, const fy_tensor *shape,
                            const fy_tensor *dense, fy_error *err) {
  char x[128], y[128];
  if (at->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input sp_indices should be a matrix but received shape: %s",
                   fy_tensor_shape_text(at, x));
  }
  if (values->rank != 1 || shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inputs sp_values and sp_shape should be vectors but received shapes: %s and %s",
                   fy_tensor_shape_text(values, x), fy_tensor_shape_text(shape, y));
  }
  if (at->dims[0] != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The first dimension of values and indices should match. (%lld vs. %lld)",
                   (long long)values->count, (long long)at->dims[0]);
  }
  if (at->dims[1] != shape->count) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Number of dimensions must match second dimension of indices. Got %lld dimensions, "
        "indices shape: %s",
        (long long)shape->count, fy_tensor_shape_text(at, x));
  }
  if (!shape->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The shape argument requires at least one element.");
  }
  for (int64_t d = 0; d < shape->count; d++) {
    if (fy_tensor_int(shape, d) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld",
                   (long long)fy_tensor_int(shape, d));
  }
  // The dense side may be smaller, never larger.
  bool fits = dense->rank <= shape->count;
  for (int32_t d = 0; fits && d < dense->rank; d++) {
    const int64_t size = fy_tensor_int(shape, shape->count - dense->rank + d);
    fits = dense->dims[d] == size || (dense->dims[d] == 1 && size != 0);
  }
  if (fits) return FY_OK;
  fy_str text;
  fy_str_init(&text);
  for (int64_t d = 0; d < shape->count; d++) {
    fy_str_printf(&text, "%s%lld", d ? "," : "", (long long)fy_tensor_int(shape, d));
  }
  fy_fail(
      err, FY_INVALID_ARGUMENT,
      "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: [%s] "
      "vs. %s",
      fy_str_text(&text), fy_tensor_shape_text(dense, y));
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

static bool is_zero(const fy_tensor *t, int64_t i) {
  return fy_dtype_is_floating(t->dtype) ? fy_tensor_double(t, i) == 0 : fy_tensor_int(t, i) == 0;
}

static fy_code cwise(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2], *dense = ctx->in[3];
  const fy_scatter_kind kind = *(const fy_scatter_kind *)ctx->site->op->impl->aux;
  const fy_scatter_loop loop = fy_scatter_find(kind, values->dtype);
  fy_tensor *out;
  FY_TRY(cwise_checks(at, values, shape, dense, err));
  if (shape->count > 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: "
                   "%lld",
                   (long long)shape->count);
  }
  if (!loop) return no_loop(ctx, values->dtype, err);
  const int64_t rank = shape->count;
  for (int64_t i = 0; i < at->count; i++) {
    const int64_t index = fy_tensor_int(at, i);
    if (index >= 0 && index < fy_tensor_int(shape, i % rank)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape");
  }
  FY_TRY(fy_out_like(ctx, 0, values, &out, err));
  FY_TRY(fy_copy_run(values->dtype, out->data, 0, values->data, 0, values->count, err));
  for (int64_t i = 0; i < values->count; i++) {
    int64_t from = 0;
    for (int32_t d = 0; d < dense->rank; d++) {
      const int64_t index = fy_tensor_int(at, i * rank + rank - dense->rank + d);
      from = from * dense->dims[d] + (dense->dims[d] == 1 ? 0 : index);
    }
    if (kind == FY_SCATTER_DIV && is_zero(dense, from)) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "SparseDenseCwiseDiv cannot divide by zero,but input dense tensor contains zero");
    }
    FY_TRY(fy_scatter_apply(kind, loop, out, i, dense, from, 1, err));
  }
  return FY_OK;
}

static fy_code cwise_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  const int64_t n = fy_dim_of(ctx->in[0], 0);
  return fy_shape_set(ctx, 0, 1, &n, err);
}

static const fy_scatter_kind kinds[] = {FY_SCATTER_ADD, FY_SCATTER_MUL, FY_SCATTER_DIV};
static const fy_sample add_samples[] = {
    {"i64[2,1]=0,2; f32[2]=1,2; i64[1]=3; f32[3]=5,6,7", NULL, FY_OK, "6,6,9"},
    {"i64[1,1]=3; f32[1]=1; i64[1]=3; f32[3]=5,6,7", NULL, FY_INVALID_ARGUMENT,
     "Sparse tensor has an invalid index on dimension 0"},
};
static const fy_sample cwise_samples[] = {
    {"i64[2,1]=0,2; f32[2]=1,1; i64[1]=3; f32[3]=1,6,1", NULL, FY_OK, NULL},
    {"i64[1,1]=0; f32[1]=1; i64[1]=3; f32[4]=iota", NULL, FY_INVALID_ARGUMENT,
     "broadcasts dense to sparse only; got incompatible shapes: [3] vs. [4]"},
};
FY_OP(SparseTensorDenseAdd, .shape = dense_add_shape, .compute = dense_add,
      FY_SAMPLES(add_samples));
FY_OP(SparseDenseCwiseAdd, .shape = cwise_shape, .compute = cwise, .aux = &kinds[0],
      FY_SAMPLES(cwise_samples));
FY_OP(SparseDenseCwiseMul, .shape = cwise_shape, .compute = cwise, .aux = &kinds[1],
      FY_SAMPLES(cwise_samples));
FY_OP(SparseDenseCwiseDiv, .shape = cwise_shape, .compute = cwise, .aux = &kinds[2],
      FY_SAMPLES(cwise_samples));

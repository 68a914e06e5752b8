// SPDX-License-Identifier: Apache-2.0
// tensor_array_write.c: TensorArrayWriteV3, ScatterV3, SplitV3 and Unpack of version 1: elements of a
// TensorArray (tensor_array.h) are written, once each; those of a gradient are summed.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/tensor_array.h"
#include "ops/tensor_list_impl.h"
#include "ops/values.h"

static fy_code write_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_array_check_ranks(ctx, 0, -1, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code scatter_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n;
  FY_TRY(fy_array_check_ranks(ctx, 1, -1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[2], 1, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[2], 0), fy_dim_of(ctx->in[1], 0), &n, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code split_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_array_check_ranks(ctx, -1, 1, err));
  return fy_shape_scalar(ctx, err);
}

static bool fits(const fy_tensor_list *l, int32_t rank, const int64_t *dims) {
  if (l->rank < 0) return true;
  if (l->rank != rank) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (l->dims[i] >= 0 && l->dims[i] != dims[i]) return false;
  }
  return true;
}

// Element |at| of a gradient becomes its sum with |item|, which is let go.
static fy_code add_item(fy_tensor_array *a, int64_t at, fy_tensor *item, fy_error *err) {
  fy_tensor *old = a->list->items[at], *sum = NULL;
  const fy_binary_loop loop = fy_add_loops.loop[item->dtype];
  char x[128], y[128];
  int bad = 0;
  fy_code code = FY_OK;
  if (!fy_shape_equal(old->rank, old->dims, item->rank, item->dims) || !loop) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Could not aggregate to TensorArray index %lld because the existing shape is %s "
                   "but the new input shape is %s.",
                   (long long)at, fy_tensor_shape_text(old, x), fy_tensor_shape_text(item, y));
  }
  if (!code) code = fy_tensor_new(item->dtype, item->rank, item->dims, &sum, err);
  if (!code) {
    if (item->count) loop(old->data, 1, item->data, 1, sum->data, item->count, &bad);
    a->list->items[at] = sum;
    fy_tensor_release(old);
  }
  fy_tensor_release(item);
  return code;
}

static fy_code check_write_type(const fy_tensor_array *a, fy_dtype t, fy_error *err) {
  if (t == a->list->dtype) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "TensorArray dtype is %s but Op is trying to write dtype %s.",
                 fy_dtype_name(a->list->dtype), fy_dtype_name(t));
}

// Takes over one reference to |item|, also when it fails.
static fy_code write_item(fy_tensor_array *a, int64_t at, fy_tensor *item, fy_error *err) {
  fy_tensor_list *l = a->list;
  char x[128], y[128];
  fy_code code = check_write_type(a, item->dtype, err);
  if (code) {
    // of another type
  } else if (at < 0 || (at >= l->n && !a->dynamic)) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to write to index %lld but array %s size is: %lld", (long long)at,
                   a->dynamic ? "is resizeable and" : "is not resizeable and", (long long)l->n);
  } else if (at >= l->n && (code = fy_array_resize(a, at + 1, err)) != FY_OK) {
    // no memory
  } else if (!fits(l, item->rank, item->dims)) {
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "Could not write to TensorArray index %lld because the value shape is %s which "
                "is incompatible with the TensorArray's inferred element shape: %s (consider "
                "setting infer_shape=False).",
                (long long)at, fy_tensor_shape_text(item, x), fy_shape_text(l->rank, l->dims, y));
  }
  if (!code && a->identical) code = fy_array_refine(a, item->rank, item->dims, err);
  if (!code && a->seen[at]) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Could not write to TensorArray index %lld because it has already been read.",
                   (long long)at);
  } else if (!code && l->items[at] && a->adds) {
    return add_item(a, at, item, err);
  } else if (!code && l->items[at]) {
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "Could not write to TensorArray index %lld because it has already been written to.",
                (long long)at);
  }
  if (code) {
    fy_tensor_release(item);
    return code;
  }
  l->items[at] = item;
  return FY_OK;
}

static fy_code write(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_array *a = NULL;
  fy_tensor *item;
  char x[128];
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray index must be scalar, but had shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  const fy_tensor *v = ctx->in[2];
  FY_TRY(fy_array_put_flow(ctx, 0, err));
  FY_TRY(fy_list_keep(v, &item, err));
  fy_code code = fy_array_open(ctx, &a, err);
  if (code) {
    fy_tensor_release(item);
    return code;
  }
  code = write_item(a, fy_tensor_int(ctx->in[1], 0), item, err);
  fy_unlock(&a->lock);
  return code;
}

static fy_code scatter_locked(fy_kernel_ctx *ctx, fy_tensor_array *a, fy_error *err) {
  const fy_tensor *indices = ctx->in[1], *v = ctx->in[2];
  const int64_t each = v->dims[0] ? v->count / v->dims[0] : 0;
  FY_TRY(check_write_type(a, v->dtype, err));
  for (int64_t i = 0; i < indices->count; i++) {
    fy_tensor *item;
    FY_TRY(fy_list_piece(ctx, v, i * each, v->rank - 1, v->dims + 1, &item, err));
    FY_TRY(write_item(a, fy_tensor_int(indices, i), item, err));
  }
  return FY_OK;
}

static fy_code scatter(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[1], *v = ctx->in[2];
  fy_tensor_array *a = NULL;
  char x[128];
  if (indices->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected indices to be a vector, but received shape: %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (v->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input value for unpack must be at least a vector but received shape: %s",
                   fy_tensor_shape_text(v, x));
  }
  if (indices->count != v->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected len(indices) == values.shape[0], but saw: %lld vs. %lld",
                   (long long)indices->count, (long long)v->dims[0]);
  }
  FY_TRY(fy_array_put_flow(ctx, 0, err));
  FY_TRY(fy_array_open(ctx, &a, err));
  fy_code code = scatter_locked(ctx, a, err);
  fy_unlock(&a->lock);
  return code;
}

// Version 1: row i of the value becomes element i.
static fy_code unpack(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *v = ctx->in[1];
  fy_tensor_array *a = NULL;
  char x[128];
  if (v->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input value for unpack must be at least a vector but received shape: %s",
                   fy_tensor_shape_text(v, x));
  }
  FY_TRY(fy_array_put_flow(ctx, 0, err));
  FY_TRY(fy_array_open(ctx, &a, err));
  const int64_t each = v->dims[0] ? v->count / v->dims[0] : 0;
  fy_code code = FY_OK;
  if (v->dims[0] != a->list->n && !a->dynamic) {
    code = fy_fail(
        err, FY_INVALID_ARGUMENT,
        "TensorArray size must be equal to the size of the input value's first dimension, or the "
        "TensorArray must be dynamic: %lld vs. %lld",
        (long long)a->list->n, (long long)v->dims[0]);
  }
  for (int64_t i = 0; !code && i < v->dims[0]; i++) {
    fy_tensor *item;
    code = fy_list_piece(ctx, v, i * each, v->rank - 1, v->dims + 1, &item, err);
    if (!code) code = write_item(a, i, item, err);
  }
  fy_unlock(&a->lock);
  return code;
}

static fy_code split_locked(fy_kernel_ctx *ctx, fy_tensor_array *a, fy_error *err) {
  const fy_tensor *v = ctx->in[1], *lengths = ctx->in[2];
  const int64_t each = fy_product(v->dims + 1, v->rank - 1);
  int64_t dims[FY_MAX_RANK], at = 0;
  memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
  if (lengths->count < a->list->n || (lengths->count > a->list->n && !a->dynamic)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "TensorArray's size is not equal to the size of lengths (%lld vs. %lld), and the "
        "TensorArray is not marked as dynamically resizeable",
        (long long)a->list->n, (long long)lengths->count);
  }
  for (int64_t i = 0; i < lengths->count; i++) {
    fy_tensor *item;
    dims[0] = fy_tensor_int(lengths, i);
    FY_TRY(fy_list_piece(ctx, v, at * each, v->rank, dims, &item, err));
    FY_TRY(write_item(a, i, item, err));
    at += dims[0];
  }
  return FY_OK;
}

static fy_code split(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *v = ctx->in[1], *lengths = ctx->in[2];
  fy_tensor_array *a = NULL;
  char x[128];
  int64_t total = 0;
  if (lengths->rank != 1 || v->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   lengths->rank != 1
                       ? "Expected lengths to be a vector, received shape: %s"
                       : "Expected value to be at least a vector, but received shape: %s",
                   fy_tensor_shape_text(lengths->rank != 1 ? lengths : v, x));
  }
  for (int64_t i = 0; i < lengths->count; i++) {
    const int64_t n = fy_tensor_int(lengths, i);
    if (n < 0 || __builtin_add_overflow(total, n, &total)) total = -1;
    if (total < 0) break;
  }
  if (total != v->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                   "%lld and value's shape is: %s ",
                   (long long)total, fy_tensor_shape_text(v, x));
  }
  FY_TRY(fy_array_put_flow(ctx, 0, err));
  FY_TRY(fy_array_open(ctx, &a, err));
  fy_code code = split_locked(ctx, a, err);
  fy_unlock(&a->lock);
  return code;
}

FY_OP(TensorArrayWriteV3, .shape = write_shape, .compute = write, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayScatterV3, .shape = scatter_shape, .compute = scatter, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArraySplitV3, .shape = split_shape, .compute = split, .flags = FY_ARRAY_FLAGS);

// Version 1.
FY_OP(TensorArrayWrite, .shape = fy_shape_scalar, .compute = write, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayScatter, .shape = fy_shape_scalar, .compute = scatter, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArraySplit, .shape = fy_shape_scalar, .compute = split, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayUnpack, .shape = fy_shape_scalar, .compute = unpack, .flags = FY_ARRAY_FLAGS);

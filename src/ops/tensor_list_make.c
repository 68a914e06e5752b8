// SPDX-License-Identifier: Apache-2.0
// tensor_list_make.c: lists from nothing and from tensors: Reserve, FromTensor, Scatter, Split.

#include "base/alloc.h"
#include "ops/tensor_list_impl.h"

static fy_code empty(fy_kernel_ctx *ctx, fy_error *err) {
  fy_list_eshape e;
  int64_t max;
  fy_tensor_list *l;
  if (ctx->in[1]->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "max_num_elements expected to be a scalar but got shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  max = fy_tensor_int(ctx->in[1], 0);
  FY_TRY(fy_list_read_shape(ctx->in[0], &e, err));
  FY_TRY(fy_tensor_list_new(fy_site_type(ctx->site, "element_dtype"), e.rank, e.dims, 0, &l, err));
  l->max = max;
  return fy_list_put(ctx, 0, l, err);
}

static fy_code reserve(fy_kernel_ctx *ctx, fy_error *err) {
  fy_list_eshape e;
  int64_t n;
  fy_tensor_list *l;
  FY_TRY(fy_list_read_shape(ctx->in[0], &e, err));
  if (ctx->in[1]->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The num_elements to reserve must be a tensor size 1, but got %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  FY_TRY(fy_list_scalar_int(ctx->in[1], "num_elements", &n, err));
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The num_elements to reserve must be a non negative number, but got %lld",
                   (long long)n);
  }
  FY_TRY(fy_tensor_list_new(fy_site_type(ctx->site, "element_dtype"), e.rank, e.dims, n, &l, err));
  return fy_list_put(ctx, 0, l, err);
}

static fy_code from_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0];
  fy_list_eshape e;
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(fy_list_read_shape(ctx->in[1], &e, err));
  if (t->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: %s",
                   fy_tensor_shape_text(t, x));
  }
  if (!fy_list_compatible(e.rank, e.dims, t->rank - 1, t->dims + 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Specified a list with shape %s from a tensor with shape %s",
                   fy_shape_text(e.rank, e.dims, x), fy_shape_text(t->rank - 1, t->dims + 1, y));
  }
  FY_TRY(fy_tensor_list_new(t->dtype, e.rank, e.dims, t->dims[0], &l, err));
  const int64_t each = t->dims[0] ? t->count / t->dims[0] : 0;
  for (int64_t i = 0; i < l->n; i++) {
    fy_code code = fy_list_piece(ctx, t, i * each, t->rank - 1, t->dims + 1, &l->items[i], err);
    if (code) {
      fy_object_release(&l->object);
      return code;
    }
  }
  return fy_list_put(ctx, 0, l, err);
}

static fy_code scatter_into(fy_kernel_ctx *ctx, fy_tensor_list *l, const fy_tensor *t,
                            const fy_tensor *indices, fy_error *err) {
  const int64_t each = t->dims[0] ? t->count / t->dims[0] : 0;
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    fy_tensor *item;
    if (at < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Indices in TensorListScatter must all be non-negative.");
    }
    if (at >= l->n) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "TensorListScatter: Trying to scatter at index %lld in list with size %lld",
                     (long long)at, (long long)l->n);
    }
    FY_TRY(fy_list_piece(ctx, t, i * each, t->rank - 1, t->dims + 1, &item, err));
    fy_tensor_release(l->items[at]);
    l->items[at] = item;
  }
  return FY_OK;
}

static fy_code check_scatter(const fy_tensor *t, const fy_tensor *indices, fy_error *err) {
  char x[128];
  if (indices->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected indices to be a vector, but received shape: %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (t->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: %s",
                   fy_tensor_shape_text(t, x));
  }
  if (indices->count != t->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected len(indices) == tensor.shape[0], but saw: %lld vs. %lld",
                   (long long)indices->count, (long long)t->dims[0]);
  }
  return FY_OK;
}

static fy_code scatter(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0], *indices = ctx->in[1];
  fy_list_eshape e;
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(check_scatter(t, indices, err));
  FY_TRY(fy_list_read_shape(ctx->in[2], &e, err));
  if (!fy_list_compatible(e.rank, e.dims, t->rank - 1, t->dims + 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Specified a list with shape %s from a tensor with shape %s",
                   fy_shape_text(e.rank, e.dims, x), fy_shape_text(t->rank - 1, t->dims + 1, y));
  }
  int64_t n = 0;
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    if (at + 1 > n) n = at + 1;
  }
  if (ctx->site->num_inputs > 3) {
    int64_t given = 0;
    FY_TRY(fy_list_scalar_int(ctx->in[3], "num_elements", &given, err));
    if (given >= 0 && given < n) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "TensorListScatter: Trying to scatter at index %lld in list with size %lld",
                     (long long)(n - 1), (long long)given);
    }
    if (given < -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "TensorListScatter expects num_elements >= -1, found: %lld", (long long)given);
    }
    if (given > n) n = given;
  }
  FY_TRY(fy_tensor_list_new(t->dtype, e.rank, e.dims, n, &l, err));
  fy_code code = scatter_into(ctx, l, t, indices, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  return fy_list_put(ctx, 0, l, err);
}

static fy_code scatter_existing(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[1], *indices = ctx->in[2];
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(check_scatter(t, indices, err));
  FY_TRY(fy_list_take(ctx, 0, &l, err));
  fy_code code = fy_list_check_dtype(ctx, l, err);
  if (!code && !fy_list_compatible(l->rank, l->dims, t->rank - 1, t->dims + 1)) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensor with shape %s is incompatible with list element shape %s",
                   fy_shape_text(t->rank - 1, t->dims + 1, x), fy_shape_text(l->rank, l->dims, y));
  }
  int64_t n = l->n;
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    if (at + 1 > n) n = at + 1;
  }
  if (!code) code = fy_tensor_list_resize(l, n, err);
  if (!code) code = scatter_into(ctx, l, t, indices, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  return fy_list_put(ctx, 0, l, err);
}

static fy_code split(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0], *lengths = ctx->in[2];
  fy_list_eshape e;
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(fy_list_read_shape(ctx->in[1], &e, err));
  if (lengths->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected lengths to be a vector, received shape: %s",
                   fy_tensor_shape_text(lengths, x));
  }
  if (t->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: %s",
                   fy_tensor_shape_text(t, x));
  }
  if (e.rank == 0 ||
      (e.rank > 0 && !fy_list_compatible(e.rank - 1, e.dims + 1, t->rank - 1, t->dims + 1))) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "tensor shape %s is not compatible with element_shape %s",
                   fy_tensor_shape_text(t, x), fy_shape_text(e.rank, e.dims, y));
  }
  int64_t total = 0;
  for (int64_t i = 0; i < lengths->count; i++) {
    const int64_t n = fy_tensor_int(lengths, i);
    if (n < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid value in lengths: %lld", (long long)n);
    }
    if (__builtin_add_overflow(total, n, &total) || total > t->dims[0]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Attempting to slice [%lld, %lld] from tensor with length %lld",
                     (long long)(total - n), (long long)total, (long long)t->dims[0]);
    }
  }
  if (total != t->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Unused values in tensor. Length of tensor: %lld Values used: %lld",
                   (long long)t->dims[0], (long long)total);
  }
  FY_TRY(fy_tensor_list_new(t->dtype, e.rank, e.dims, lengths->count, &l, err));
  const int64_t each = fy_product(t->dims + 1, t->rank - 1);
  int64_t dims[FY_MAX_RANK], at = 0;
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  for (int64_t i = 0; i < l->n; i++) {
    dims[0] = fy_tensor_int(lengths, i);
    fy_code code = fy_list_piece(ctx, t, at * each, t->rank, dims, &l->items[i], err);
    if (code) {
      fy_object_release(&l->object);
      return code;
    }
    at += dims[0];
  }
  return fy_list_put(ctx, 0, l, err);
}

static const fy_sample empty_samples[] = {
    {"i32[1]=2; i32[]=-1", "element_dtype=float", FY_OK, NULL},
    {"i32[]=3; i32[]=-1", "element_dtype=float", FY_INVALID_ARGUMENT,
     "The only valid scalar shape"},
};
static const fy_sample reserve_samples[] = {
    {"i32[1]=2; i32[]=4", "element_dtype=float", FY_OK, NULL},
    {"i32[1]=2; i32[]=-4", "element_dtype=float", FY_INVALID_ARGUMENT, "must be a non negative"},
};
static const fy_sample from_samples[] = {
    {"f32[3,2]=iota; i32[1]=2", NULL, FY_OK, NULL},
    {"f32[3,2]=iota; i32[1]=3", NULL, FY_INVALID_ARGUMENT, "Specified a list with shape [3]"},
};
static const fy_sample scatter_samples[] = {
    {"f32[2,2]=iota; i32[2]=3,1; i32[1]=2", NULL, FY_OK, NULL}};
static const fy_sample scatter2_samples[] = {
    {"f32[2,2]=iota; i32[2]=3,1; i32[1]=2; i32[]=6", NULL, FY_OK, NULL}};
static const fy_sample split_samples[] = {
    {"f32[3,2]=iota; i32[2]=-1,2; i64[2]=1,2", NULL, FY_OK, NULL}};
FY_OP(EmptyTensorList, .shape = fy_list_shape_new, .compute = empty, .flags = FY_LIST_FLAGS,
      FY_SAMPLES(empty_samples));
FY_OP(TensorListReserve, .shape = fy_list_shape_new, .compute = reserve, .flags = FY_LIST_FLAGS,
      FY_SAMPLES(reserve_samples));
FY_OP(TensorListFromTensor, .shape = fy_list_shape_from_tensor, .compute = from_tensor,
      .flags = FY_LIST_FLAGS, FY_SAMPLES(from_samples));
FY_OP(TensorListScatter, .shape = fy_list_shape_scatter, .compute = scatter, .flags = FY_LIST_FLAGS,
      FY_SAMPLES(scatter_samples));
FY_OP(TensorListScatterV2, .shape = fy_list_shape_scatter, .compute = scatter,
      .flags = FY_LIST_FLAGS, FY_SAMPLES(scatter2_samples));
FY_OP(TensorListScatterIntoExistingList, .shape = fy_list_shape_scatter_existing,
      .compute = scatter_existing, .flags = FY_LIST_FLAGS);
FY_OP(TensorListSplit, .shape = fy_list_shape_split, .compute = split, .flags = FY_LIST_FLAGS,
      FY_SAMPLES(split_samples));

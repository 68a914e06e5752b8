// SPDX-License-Identifier: Apache-2.0
// tensor_array_read.c: TensorArrayReadV3, GatherV3, ConcatV3 and Pack of version 1: elements of a
// TensorArray (tensor_array.h) are read, alone or joined, and cleared if the array is to do so.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/tensor_array.h"
#include "ops/tensor_list_impl.h"
#include "ops/values.h"

static fy_code gather_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_array_check_ranks(ctx, 1, -1, err));
  const fy_attr *a = fy_attrs_get(ctx->attrs, "element_shape");
  int64_t dims[FY_MAX_RANK];
  if (!a || a->kind != FY_ATTR_SHAPE || a->v.shape.rank < 0 || a->v.shape.rank >= FY_MAX_RANK) {
    return FY_OK;
  }
  dims[0] = ctx->in[1].rank == 1 ? ctx->in[1].dims[0] : -1;
  for (int32_t i = 0; i < a->v.shape.rank; i++) dims[i + 1] = a->v.shape.dims[i];
  return fy_shape_set(ctx, 0, a->v.shape.rank + 1, dims, err);
}
static fy_code read_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_array_check_ranks(ctx, 0, -1, err);
}
static fy_code concat_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_array_check_ranks(ctx, -1, -1, err));
  return fy_shape_set(ctx, 1, 1, (const int64_t[]){-1}, err);
}

// A gradient made later still has to know the shape of what is cleared now.
static fy_code remember_shape(fy_tensor_array *a, int64_t at, fy_error *err) {
  if (a->num_like < a->list->n) {
    fy_tensor **more = fy_realloc(a->like, (size_t)a->list->n * sizeof *more);
    if (!more) return fy_fail_oom(err, (size_t)a->list->n * sizeof *more);
    for (int64_t i = a->num_like; i < a->list->n; i++) more[i] = NULL;
    a->like = more;
    a->num_like = a->list->n;
  }
  const fy_tensor *t = a->list->items[at];
  const int64_t rank = t->rank;
  fy_tensor_release(a->like[at]);
  a->like[at] = NULL;
  return fy_tensor_from(FY_INT64, 1, &rank, t->dims, &a->like[at], err);
}

static fy_code zeros(fy_dtype dtype, int32_t rank, const int64_t *dims, fy_tensor **out,
                     fy_error *err) {
  FY_TRY(fy_tensor_new(dtype, rank, dims, out, err));
  if ((*out)->count == 0) return FY_OK;
  if (fy_dtype_is_plain(dtype)) {
    memset((*out)->data, 0, fy_tensor_bytes(*out));
    return FY_OK;
  }
  fy_tensor_release(*out);
  *out = NULL;
  return fy_fail(err, FY_INVALID_ARGUMENT, "tensor_array::TensorSetZero type not supported: %s",
                 fy_dtype_name(dtype));
}

// |*out| is what element |at| holds, retained; NULL if it was never written (then zeros).
static fy_code read_item(fy_tensor_array *a, int64_t at, fy_tensor **out, fy_error *err) {
  fy_tensor_list *l = a->list;
  char x[128];
  *out = NULL;
  if (at < 0 || at >= l->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to read from index %lld but array size is: %lld", (long long)at,
                   (long long)l->n);
  }
  if (a->seen[at] & FY_ARRAY_CLEARED) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Could not read index %lld twice because it was cleared after a previous read "
                   "(perhaps try setting clear_after_read = false?)",
                   (long long)at);
  }
  const uint8_t seen = a->clear_after_read ? FY_ARRAY_READ | FY_ARRAY_CLEARED : FY_ARRAY_READ;
  if (!l->items[at] && a->like && at < a->num_like && a->like[at]) {
    const fy_tensor *like = a->like[at];
    FY_TRY(zeros(l->dtype, (int32_t)like->count, like->data, out, err));
    a->seen[at] |= seen;
    return FY_OK;
  }
  if (!l->items[at]) {
    bool known = l->rank >= 0;
    for (int32_t i = 0; i < l->rank; i++) known = known && l->dims[i] >= 0;
    if (!known) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Could not read from TensorArray index %lld.  Furthermore, the element shape is "
          "not fully defined: %s.  It is possible you are working with a resizeable "
          "TensorArray and stop_gradients is not allowing the gradients to be written.  "
          "If you set the full element_shape property on the forward TensorArray, the "
          "proper all-zeros tensor will be returned instead of incurring this error.",
          (long long)at, fy_shape_text(l->rank, l->dims, x));
    }
    FY_TRY(zeros(l->dtype, l->rank, l->dims, out, err));
    a->seen[at] |= seen;
    return FY_OK;
  }
  *out = l->items[at];
  fy_tensor_retain(*out);
  a->seen[at] |= seen;
  if (a->clear_after_read) {
    FY_TRY(remember_shape(a, at, err));
    fy_tensor_release(l->items[at]);
    l->items[at] = NULL;
  }
  return FY_OK;
}

static fy_code check_read_type(const fy_tensor_array *a, const fy_site *site, fy_error *err) {
  const fy_dtype want = fy_site_type(site, "dtype");
  if (want == a->list->dtype) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray dtype is %s but Op requested dtype %s.",
                 fy_dtype_name(a->list->dtype), fy_dtype_name(want));
}

static fy_code read(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_array *a = NULL;
  fy_tensor *item = NULL;
  char x[128];
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray index must be scalar, but had shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  FY_TRY(fy_array_open(ctx, &a, err));
  fy_code code = check_read_type(a, ctx->site, err);
  if (!code) code = read_item(a, fy_tensor_int(ctx->in[1], 0), &item, err);
  fy_unlock(&a->lock);
  if (!code) fy_out_set(ctx, 0, item);
  return code;
}

// The first element as the op's own attribute |said| it is; |stacked| as for join.
static fy_code check_first(const fy_tensor *t, const fy_attr *said, bool stacked, fy_error *err) {
  char x[128], y[128];
  const int32_t skip = stacked ? 0 : 1;
  if (!said || said->kind != FY_ATTR_SHAPE || said->v.shape.rank < 0 || t->rank < skip)
    return FY_OK;
  fy_list_eshape e = {.rank = -1};
  fy_list_merge(&e, said->v.shape.rank, said->v.shape.dims);
  if (fy_list_merge(&e, t->rank - skip, t->dims + skip)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 stacked
                     ? "TensorArray was passed element_shape %s which does not match the Tensor "
                       "at index 0: %s"
                     : "TensorArray was passed element_shape_except0 %s but index 0 has "
                       "(excepting dimension 0) shape: %s which does not match.",
                 fy_shape_text(said->v.shape.rank, said->v.shape.dims, x),
                 fy_shape_text(t->rank - skip, t->dims + skip, y));
}

// Whether all are of one shape, but for the first dimension if they are not |stacked|, and how many rows
// they make. A stack whose first element is empty is empty, whatever the others are, as in TensorFlow.
static fy_code check_items(fy_tensor *const *items, int64_t n, bool stacked, int64_t *rows,
                           fy_error *err) {
  char x[128], y[128];
  *rows = 0;
  for (int64_t i = 0; i < n; i++) {
    const fy_tensor *first = items[0], *t = items[i];
    const int32_t skip = stacked ? 0 : 1;
    if (t->rank < skip || t->rank >= FY_MAX_RANK) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Concat saw a scalar shape at index %lld but requires at least vectors.  Did you "
          "mean to call pack?",
          (long long)i);
    }
    const bool moot = stacked && !first->count;
    if (!moot &&
        (t->rank != first->rank ||
         !fy_shape_equal(t->rank - skip, t->dims + skip, first->rank - skip, first->dims + skip))) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index %lld has "
          "shape: %s",
          fy_tensor_shape_text(first, x), (long long)i, fy_tensor_shape_text(t, y));
    }
    *rows += stacked ? 1 : t->dims[0];
  }
  return FY_OK;
}

// The shape of a row: that of the elements or, without any, the declared one.
static fy_code row_shape(const fy_tensor_array *a, const fy_attr *said, const fy_tensor *first,
                         bool stacked, int32_t *rank, const int64_t **dims, fy_error *err) {
  const int32_t skip = stacked ? 0 : 1;
  char x[128];
  if (first) {
    *rank = first->rank - skip;
    *dims = first->dims + skip;
    return FY_OK;
  }
  *rank = said && said->kind == FY_ATTR_SHAPE ? said->v.shape.rank : -1;
  *dims = *rank > 0 ? said->v.shape.dims : NULL;
  if (*rank < 0 && a->list->rank >= skip) {
    *rank = a->list->rank - skip;
    *dims = a->list->dims + skip;
  }
  bool known = *rank >= 0 && *rank < FY_MAX_RANK;
  for (int32_t i = 0; known && i < *rank; i++) known = (*dims)[i] >= 0;
  if (known) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED,
                 "TensorArray has size zero, but element shape %s is not fully defined. Currently "
                 "only static shapes are supported when %s zero-size TensorArrays.",
                 fy_shape_text(*rank, *dims, x), stacked ? "packing" : "concatenating");
}

// Joins elements: stacked (gather) or end to end (concat; |lengths| is output 1).
static fy_code join(fy_kernel_ctx *ctx, fy_tensor_array *a, const fy_tensor *indices,
                    fy_tensor **items, int64_t n, bool stacked, fy_error *err) {
  int64_t dims[FY_MAX_RANK], rows, at = 0;
  const int64_t *from;
  int32_t rank;
  fy_tensor *out, *lengths = NULL;
  const fy_attr *shape =
      fy_site_attr(ctx->site, stacked ? "element_shape" : "element_shape_except0");
  FY_TRY(check_read_type(a, ctx->site, err));
  if (stacked && shape && shape->kind == FY_ATTR_SHAPE) {
    FY_TRY(fy_array_refine(a, shape->v.shape.rank, shape->v.shape.dims, err));
  }
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(read_item(a, indices ? fy_tensor_int(indices, i) : i, &items[i], err));
  }
  if (n) FY_TRY(check_first(items[0], shape, stacked, err));
  // All were read, whatever comes now.
  FY_TRY(check_items(items, n, stacked, &rows, err));
  FY_TRY(row_shape(a, shape, n ? items[0] : NULL, stacked, &rank, &from, err));
  dims[0] = rows;
  for (int32_t i = 0; i < rank; i++) dims[i + 1] = from[i];
  FY_TRY(fy_out(ctx, 0, rank + 1, dims, &out, err));
  if (!stacked) FY_TRY(fy_out(ctx, 1, 1, &n, &lengths, err));
  for (int64_t i = 0; i < n; i++) {
    if (out->count)
      FY_TRY(fy_copy_elements(ctx, out->dtype, out->data, at, items[i]->data, 0, items[i]->count,
                              err));
    at += items[i]->count;
    if (lengths) ((int64_t *)lengths->data)[i] = items[i]->dims[0];
  }
  return FY_OK;
}

static fy_code join_all(fy_kernel_ctx *ctx, const fy_tensor *indices, bool stacked, fy_error *err) {
  fy_tensor_array *a = NULL;
  FY_TRY(fy_array_open(ctx, &a, err));
  const int64_t n = indices ? indices->count : a->list->n;
  fy_tensor **items = fy_calloc((size_t)n + 1, sizeof *items);
  fy_code code = items ? join(ctx, a, indices, items, n, stacked, err)
                       : fy_fail_oom(err, (size_t)n * sizeof *items);
  fy_unlock(&a->lock);
  for (int64_t i = 0; items && i < n; i++) fy_tensor_release(items[i]);
  fy_free(items);
  return code;
}
static fy_code gather(fy_kernel_ctx *ctx, fy_error *err) {
  char x[128];
  if (ctx->in[1]->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected indices to be a vector, but received shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  return join_all(ctx, ctx->in[1], true, err);
}
static fy_code pack(fy_kernel_ctx *ctx, fy_error *err) {
  return join_all(ctx, NULL, true, err);
}
static fy_code concat(fy_kernel_ctx *ctx, fy_error *err) {
  return join_all(ctx, NULL, false, err);
}

FY_OP(TensorArrayReadV3, .shape = read_shape, .compute = read,
      .flags = FY_ARRAY_FLAGS | FY_OP_SETS_OUTPUT);
FY_OP(TensorArrayGatherV3, .shape = gather_shape, .compute = gather, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayConcatV3, .shape = concat_shape, .compute = concat, .flags = FY_ARRAY_FLAGS);

// Version 1.
FY_OP(TensorArrayRead, .shape = fy_shape_none, .compute = read,
      .flags = FY_ARRAY_FLAGS | FY_OP_SETS_OUTPUT);
FY_OP(TensorArrayGather, .shape = gather_shape, .compute = gather, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayConcat, .shape = concat_shape, .compute = concat, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayPack, .shape = fy_shape_none, .compute = pack, .flags = FY_ARRAY_FLAGS);

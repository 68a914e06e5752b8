// SPDX-License-Identifier: Apache-2.0
// tensor_list_change.c: lists from lists: PushBack, SetItem, Resize, ConcatLists, PushBackBatch.

#include "base/alloc.h"
#include "ops/tensor_list_impl.h"

static fy_code push(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l, *old;
  fy_tensor *item;
  FY_TRY(fy_list_of(ctx->in[0], &old, err));
  FY_TRY(fy_list_check_item(old, ctx->in[1], err));
  if (old->max != -1 && old->n >= old->max) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to push item into a full list list size: %lld max_num_elements: %lld",
                   (long long)old->n, (long long)old->max);
  }
  FY_TRY(fy_list_keep(ctx->in[1], &item, err));
  fy_code code = fy_list_take(ctx, 0, &l, err);
  if (!code) {
    code = fy_tensor_list_resize(l, l->n + 1, err);
    if (!code) {
      l->items[l->n - 1] = item;
      return fy_list_put(ctx, 0, l, err);
    }
    fy_object_release(&l->object);
  }
  fy_tensor_release(item);
  return code;
}

static fy_code set_item(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l, *old;
  fy_tensor *item;
  int64_t at = 0;
  char x[128], y[128];
  FY_TRY(fy_list_of(ctx->in[0], &old, err));
  FY_TRY(fy_list_check_dtype(ctx, old, err));
  FY_TRY(fy_list_scalar_int(ctx->in[1], "index", &at, err));
  const bool grow = fy_site_bool(ctx->site, "resize_if_index_out_of_bounds");
  if (at < 0 || (at >= old->n && !grow)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to modify element %lld in a list with %lld elements.", (long long)at,
                   (long long)old->n);
  }
  const fy_tensor *value = ctx->in[2];
  if (!fy_list_compatible(old->rank, old->dims, value->rank, value->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to set a tensor with incompatible shape at a list index. Item element "
                   "shape: %s list shape: %s",
                   fy_tensor_shape_text(value, x), fy_shape_text(old->rank, old->dims, y));
  }
  FY_TRY(fy_list_keep(value, &item, err));
  fy_code code = fy_list_take(ctx, 0, &l, err);
  if (!code) {
    code = at >= l->n ? fy_tensor_list_resize(l, at + 1, err) : FY_OK;
    if (!code) {
      fy_tensor_release(l->items[at]);
      l->items[at] = item;
      return fy_list_put(ctx, 0, l, err);
    }
    fy_object_release(&l->object);
  }
  fy_tensor_release(item);
  return code;
}

static fy_code resize(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  int64_t n;
  FY_TRY(fy_list_scalar_int(ctx->in[1], "size", &n, err));
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "TensorListSlice expects size to be non-negative. Got: %lld", (long long)n);
  }
  FY_TRY(fy_list_take(ctx, 0, &l, err));
  fy_code code = fy_tensor_list_resize(l, n, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  return fy_list_put(ctx, 0, l, err);
}

static fy_code concat_lists(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  char x[128], y[128];
  if (!fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Incompatible input TensorList tensor shapes: %s vs. %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  const fy_dtype want = fy_site_type(ctx->site, "element_dtype");
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, a, &out, err));
  for (int64_t i = 0; i < a->count; i++) {
    const fy_tensor_list *p = ((fy_tensor_list *const *)a->data)[i];
    const fy_tensor_list *q = ((fy_tensor_list *const *)b->data)[i];
    if (!p || !q || p->object.type != &fy_tensor_list_type ||
        q->object.type != &fy_tensor_list_type) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "input_%s is not a TensorList at index %lld",
                     !p || p->object.type != &fy_tensor_list_type ? "a" : "b", (long long)i);
    }
    if (p->dtype != want || q->dtype != want) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input_%s[%lld].dtype != element_dtype.  Saw: %s vs. %s",
                     p->dtype != want ? "a" : "b", (long long)i,
                     fy_dtype_name(p->dtype != want ? p->dtype : q->dtype), fy_dtype_name(want));
    }
    fy_list_eshape e = {.rank = -1};
    fy_list_merge(&e, p->rank, p->dims);
    if (!fy_list_merge(&e, q->rank, q->dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input_a and input_b TensorList element shapes are not identical at index "
                     "%lld.  Saw %s vs. %s",
                     (long long)i, fy_shape_text(p->rank, p->dims, x),
                     fy_shape_text(q->rank, q->dims, y));
    }
    fy_tensor_list *l;
    FY_TRY(fy_tensor_list_new(want, p->rank, p->dims, p->n + q->n, &l, err));
    l->max = p->max;
    for (int64_t k = 0; k < l->n; k++) {
      l->items[k] = k < p->n ? p->items[k] : q->items[k - p->n];
      if (l->items[k]) fy_tensor_retain(l->items[k]);
    }
    fy_object *old = ((fy_object **)out->data)[i];
    ((fy_object **)out->data)[i] = &l->object;
    fy_object_release(old);
  }
  return FY_OK;
}

static fy_code push_batch(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *handles = ctx->in[0], *t = ctx->in[1];
  char x[128], y[128];
  if (t->rank < 1 || t->rank < handles->rank ||
      !fy_shape_equal(handles->rank, handles->dims, handles->rank, t->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid input shapes; handles have shape %s but the batch has shape %s",
                   fy_tensor_shape_text(handles, x), fy_tensor_shape_text(t, y));
  }
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, handles, &out, err));
  const int32_t rank = t->rank - handles->rank;
  const int64_t *dims = t->dims + handles->rank;
  const int64_t each = fy_product(dims, rank);
  for (int64_t i = 0; i < handles->count; i++) {
    const fy_tensor_list *old = ((fy_tensor_list *const *)handles->data)[i];
    if (!old || old->object.type != &fy_tensor_list_type || old->dtype != t->dtype ||
        !fy_list_compatible(old->rank, old->dims, rank, dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Tried to append a tensor with incompatible shape or type to list %lld",
                     (long long)i);
    }
    fy_tensor_list *l;
    FY_TRY(fy_tensor_list_new(old->dtype, old->rank, old->dims, old->n + 1, &l, err));
    l->max = old->max;
    for (int64_t k = 0; k < old->n; k++) {
      l->items[k] = old->items[k];
      if (l->items[k]) fy_tensor_retain(l->items[k]);
    }
    fy_code code = fy_list_piece(ctx, t, i * each, rank, dims, &l->items[old->n], err);
    if (code) {
      fy_object_release(&l->object);
      return code;
    }
    fy_object *before = ((fy_object **)out->data)[i];
    ((fy_object **)out->data)[i] = &l->object;
    fy_object_release(before);
  }
  return FY_OK;
}

FY_OP(TensorListPushBack, .shape = fy_list_shape_same, .compute = push, .flags = FY_LIST_FLAGS);
FY_OP(TensorListSetItem, .shape = fy_list_shape_same, .compute = set_item, .flags = FY_LIST_FLAGS);
FY_OP(TensorListResize, .shape = fy_list_shape_resize, .compute = resize, .flags = FY_LIST_FLAGS);
FY_OP(TensorListConcatLists, .shape = fy_list_shape_merged, .compute = concat_lists,
      .flags = FY_LIST_FLAGS);
FY_OP(TensorListPushBackBatch, .shape = fy_list_shape_push_batch, .compute = push_batch,
      .flags = FY_LIST_FLAGS);

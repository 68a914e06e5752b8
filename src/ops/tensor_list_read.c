// SPDX-License-Identifier: Apache-2.0
// tensor_list_read.c: what is in a list: GetItem, PopBack, Stack, Gather, Concat, Length.

#include "base/alloc.h"
#include "ops/strided.h"
#include "ops/tensor_list_impl.h"

static fy_code put_zeros(fy_kernel_ctx *ctx, int i, const fy_list_eshape *e, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, i, e->rank, e->dims, &out, err));
  if (out->count && fy_dtype_is_plain(out->dtype)) memset(out->data, 0, fy_tensor_bytes(out));
  return FY_OK;
}

// Element |at| of |l| as output |i|; zeros if it was never set.
static fy_code put_item(fy_kernel_ctx *ctx, int i, const fy_tensor_list *l, int64_t at,
                        const fy_tensor *shape, fy_error *err) {
  fy_tensor *item = l->items[at];
  fy_list_eshape e;
  char x[128];
  if (item) {
    fy_tensor *copy;
    FY_TRY(fy_tensor_alias(item, item->dtype, item->rank, item->dims, &copy, err));
    fy_out_set(ctx, i, copy);
    return FY_OK;
  }
  FY_TRY(fy_list_element_shape(l, shape, true, &e, err));
  if (!fy_list_fully_known(&e)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Trying to read an uninitialized tensor but element_shape is not fully defined. %s",
        fy_shape_text(e.rank, e.dims, x));
  }
  return put_zeros(ctx, i, &e, err);
}

static fy_code get_item(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  int64_t at = 0;
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  FY_TRY(fy_list_check_dtype(ctx, l, err));
  FY_TRY(fy_list_scalar_int(ctx->in[1], "index", &at, err));
  if (at < 0 || at >= l->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to access element %lld in a list with %lld elements.", (long long)at,
                   (long long)l->n);
  }
  return put_item(ctx, 0, l, at, ctx->in[2], err);
}

static fy_code pop(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l, *old;
  FY_TRY(fy_list_of(ctx->in[0], &old, err));
  FY_TRY(fy_list_check_dtype(ctx, old, err));
  if (old->n == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Trying to pop from an empty list.");
  FY_TRY(put_item(ctx, 1, old, old->n - 1, ctx->in[1], err));
  FY_TRY(fy_list_take(ctx, 0, &l, err));
  fy_tensor_release(l->items[--l->n]);
  return fy_list_put(ctx, 0, l, err);
}

static fy_code list_length(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  fy_tensor *out;
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(int32_t *)out->data = (int32_t)l->n;
  return FY_OK;
}

static fy_code put_element_shape(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  fy_tensor *out;
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  const int64_t n = l->rank;
  FY_TRY(fy_out(ctx, 0, l->rank < 0 ? 0 : 1, &n, &out, err));
  for (int64_t i = 0; i < out->count; i++) {
    const int64_t v = l->rank < 0 ? -1 : l->dims[i];
    if (out->dtype == FY_INT32)
      ((int32_t *)out->data)[i] = (int32_t)v;
    else
      ((int64_t *)out->data)[i] = v;
  }
  return FY_OK;
}

// What the elements that |indices| names look like: only those have a say.
static fy_code gathered_shape(const fy_tensor_list *l, const fy_tensor *indices,
                              const fy_tensor *shape, bool declared, fy_list_eshape *e,
                              fy_error *err) {
  char x[128];
  FY_TRY(fy_list_element_shape(l, shape, false, e, err));
  for (int64_t k = 0; !declared && k < indices->count; k++) {
    const int64_t at = fy_tensor_int(indices, k);
    if (at < 0 || at >= l->n) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Trying to gather element %lld in a list with %lld elements.", (long long)at,
                     (long long)l->n);
    }
    const fy_tensor *t = l->items[at];
    if (t && !fy_list_merge(e, t->rank, t->dims)) {
      return fy_list_fail_merge(e->rank, e->dims, t->rank, t->dims, err);
    }
  }
  if (fy_list_fully_known(e)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Tried to gather %s from a list with non-fully-defined %sshape: %s",
                 indices->count ? "uninitialized tensors" : "0-elements",
                 indices->count ? "element_" : "", fy_shape_text(e->rank, e->dims, x));
}

// Stacks the elements that |indices| names (NULL: all) into output 0.
static fy_code stack_items(fy_kernel_ctx *ctx, const fy_tensor_list *l, const fy_tensor *indices,
                           const fy_tensor *shape, fy_error *err) {
  fy_list_eshape e;
  fy_tensor *out;
  char x[128];
  bool declared = l->rank >= 0;  // in full: then what makes no numbers is not looked at
  for (int32_t d = 0; d < l->rank; d++) declared = declared && l->dims[d] >= 0;
  FY_TRY(indices ? gathered_shape(l, indices, shape, declared, &e, err)
                 : fy_list_element_shape(l, shape, true, &e, err));
  const int64_t n = indices ? indices->count : l->n;
  if (!fy_list_fully_known(&e)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to stack %s list with non-fully-defined element_shape: %s",
                   n == 0 ? "an empty" : "a list which only contains uninitialized tensors from a",
                   fy_shape_text(e.rank, e.dims, x));
  }
  if (e.rank >= FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "too many dimensions");
  int64_t dims[FY_MAX_RANK];
  dims[0] = n;
  memcpy(dims + 1, e.dims, (size_t)e.rank * sizeof *dims);
  const int64_t each = fy_product(e.dims, e.rank);
  FY_TRY(fy_out(ctx, 0, e.rank + 1, dims, &out, err));
  if (out->count == 0 && declared) return FY_OK;
  for (int64_t k = 0; indices && k < n; k++) {
    const int64_t at = fy_tensor_int(indices, k);
    if (at >= 0 && at < l->n) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index %lld out o range; list only has %lld elements.",
                   (long long)at, (long long)l->n);
  }
  for (int64_t k = 0; out->count && k < n; k++) {
    const int64_t at = indices ? fy_tensor_int(indices, k) : k;
    const fy_tensor *item = l->items[at];
    if (!item) {
      const size_t size = fy_dtype_storage(l->dtype);
      if (fy_dtype_is_plain(l->dtype)) {
        memset((char *)out->data + (size_t)(k * each) * size, 0, (size_t)each * size);
      }
      continue;
    }
    if (item->count != each) {
      return fy_list_fail_merge(e.rank, e.dims, item->rank, item->dims, err);
    }
    FY_TRY(fy_copy_elements(ctx, l->dtype, out->data, k * each, item->data, 0, each, err));
  }
  return FY_OK;
}

static fy_code stack(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  FY_TRY(fy_list_check_dtype(ctx, l, err));
  const int64_t n = fy_site_int(ctx->site, "num_elements");
  if (n != -1 && n != l->n) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Operation expected a list with %lld elements but got a list with %lld elements.",
        (long long)n, (long long)l->n);
  }
  return stack_items(ctx, l, NULL, ctx->in[1], err);
}

static fy_code gather(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  FY_TRY(fy_list_check_dtype(ctx, l, err));
  return stack_items(ctx, l, ctx->in[1], ctx->in[2], err);
}

// ---------------------------------------------------------------- Concat, Split
// The first dim of elements that nobody set: |*first| if it is known, else that of the others, if they
// are all alike (-1 if not).
static fy_code common_first(const fy_tensor_list *l, int64_t *first, fy_error *err) {
  const int64_t expected = *first;
  bool alike = true;
  for (int64_t i = 0; i < l->n; i++) {
    const fy_tensor *t = l->items[i];
    if (!t || t->rank < 1) continue;
    if (expected >= 0 && t->dims[0] != expected) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "First entry of element_shape input does not match the first dim of list "
                     "element at index: %lld Expected: %lld Actual: %lld",
                     (long long)i, (long long)expected, (long long)t->dims[0]);
    }
    alike = alike && (*first < 0 || *first == t->dims[0]);
    *first = t->dims[0];
  }
  if (!alike) *first = -1;
  return FY_OK;
}

static fy_code concat(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  fy_list_eshape e = {.rank = -1};
  const bool v2 = ctx->site->num_inputs > 1;
  const fy_tensor *leading = v2 ? ctx->in[2] : NULL;
  char x[128], y[128];
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  FY_TRY(fy_list_check_dtype(ctx, l, err));
  if (v2) {
    FY_TRY(fy_list_element_shape(l, ctx->in[1], false, &e, err));
  } else {
    const fy_attr *a = fy_site_attr(ctx->site, "element_shape");
    if (a && a->kind == FY_ATTR_SHAPE) fy_list_merge(&e, a->v.shape.rank, a->v.shape.dims);
  }
  if (e.rank == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Concat requires elements to be at least vectors, found "
                   "scalars instead.");
  }
  // Everything but the first dim must agree.
  fy_list_eshape rest = {.rank = -1};
  if (e.rank > 0) fy_list_merge(&rest, e.rank - 1, e.dims + 1);
  if (l->rank > 0 && !fy_list_merge(&rest, l->rank - 1, l->dims + 1)) {
    return fy_list_fail_merge(rest.rank, rest.dims, l->rank - 1, l->dims + 1, err);
  }
  int64_t first = e.rank > 0 ? e.dims[0] : -1, total = 0;
  FY_TRY(common_first(l, &first, err));
  fy_tensor *out, *lengths;
  FY_TRY(fy_out(ctx, 1, 1, &l->n, &lengths, err));
  for (int64_t i = 0; i < l->n; i++) {
    const fy_tensor *t = l->items[i];
    int64_t n = leading && i < leading->count ? fy_tensor_int(leading, i) : first;
    if (t) {
      if (t->rank < 1) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Concat saw a scalar shape at index %lld but requires "
                       "at least vectors.",
                       (long long)i);
      }
      if (!fy_list_merge(&rest, t->rank - 1, t->dims + 1)) {
        return fy_fail(
            err, FY_INVALID_ARGUMENT, "Tried to concat tensors with unequal shapes: %s vs %s",
            fy_shape_text(rest.rank, rest.dims, x), fy_shape_text(t->rank - 1, t->dims + 1, y));
      }
      n = t->dims[0];
    } else if (n < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "List contains uninitialized tensor at index %lld but leading_dims has only "
                     "%lld elements.",
                     (long long)i, (long long)(leading ? leading->count : 0));
    }
    ((int64_t *)lengths->data)[i] = n;
    if (__builtin_add_overflow(total, n, &total)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "the concatenation is too large");
    }
  }
  if (!fy_list_fully_known(&rest)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "All except the first dimension must be fully defined when concating an empty "
                   "tensor list. element_shape: %s",
                   fy_shape_text(e.rank, e.dims, x));
  }
  int64_t dims[FY_MAX_RANK];
  if (rest.rank >= FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "too many dimensions");
  dims[0] = total;
  memcpy(dims + 1, rest.dims, (size_t)rest.rank * sizeof *dims);
  const int64_t each = fy_product(rest.dims, rest.rank);
  FY_TRY(fy_out(ctx, 0, rest.rank + 1, dims, &out, err));
  int64_t at = 0;
  for (int64_t i = 0; i < l->n && out->count; i++) {
    const int64_t n = ((int64_t *)lengths->data)[i] * each;
    if (l->items[i]) {
      FY_TRY(fy_copy_elements(ctx, l->dtype, out->data, at, l->items[i]->data, 0, n, err));
    } else if (fy_dtype_is_plain(l->dtype)) {
      const size_t size = fy_dtype_storage(l->dtype);
      memset((char *)out->data + (size_t)at * size, 0, (size_t)n * size);
    }
    at += n;
  }
  return FY_OK;
}

FY_OP(TensorListGetItem, .shape = fy_list_shape_get, .compute = get_item,
      .flags = FY_LIST_FLAGS | FY_OP_SETS_OUTPUT);
FY_OP(TensorListPopBack, .shape = fy_list_shape_pop, .compute = pop,
      .flags = FY_LIST_FLAGS | FY_OP_SETS_OUTPUT);
FY_OP(TensorListLength, .shape = fy_shape_scalar, .compute = list_length, .flags = FY_LIST_FLAGS);
FY_OP(TensorListElementShape, .shape = fy_shape_none, .compute = put_element_shape,
      .flags = FY_LIST_FLAGS);
FY_OP(TensorListStack, .shape = fy_list_shape_stack, .compute = stack, .flags = FY_LIST_FLAGS);
FY_OP(TensorListGather, .shape = fy_list_shape_gather, .compute = gather, .flags = FY_LIST_FLAGS);
FY_OP(TensorListConcat, .shape = fy_list_shape_concat, .compute = concat, .flags = FY_LIST_FLAGS);
FY_OP(TensorListConcatV2, .shape = fy_list_shape_concat, .compute = concat, .flags = FY_LIST_FLAGS);

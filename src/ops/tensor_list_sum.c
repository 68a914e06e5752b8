// SPDX-License-Identifier: Apache-2.0
// tensor_list_sum.c: lists as numbers: ZerosLike and AddN of a variant that holds a TensorList, as the
// gradients of loops need them. An element that was never set stays so, and adds nothing.

#include "ops/elementwise.h"
#include "ops/tensor_list_impl.h"
#include "ops/tensor_list_sum.h"

enum { MAX_NESTED = 16 };  // lists of lists

static fy_code zeros_of_list(const fy_tensor_list *l, int depth, fy_tensor_list **out,
                             fy_error *err);

static fy_code list_tensor(fy_tensor_list *l, fy_tensor **out, fy_error *err) {
  fy_code code = fy_tensor_new(FY_VARIANT, 0, NULL, out, err);
  if (code)
    fy_object_release(&l->object);
  else
    fy_resource_put(*out, &l->object);
  return code;
}

static fy_code zeros_of(const fy_tensor *t, int depth, fy_tensor **out, fy_error *err) {
  if (t->dtype == FY_VARIANT) {
    fy_tensor_list *l, *zeros;
    FY_TRY(fy_list_of(t, &l, err));
    FY_TRY(zeros_of_list(l, depth + 1, &zeros, err));
    return list_tensor(zeros, out, err);
  }
  FY_TRY(fy_tensor_new(t->dtype, t->rank, t->dims, out, err));  // strings start empty
  if (fy_dtype_is_plain(t->dtype) && t->count) memset((*out)->data, 0, fy_tensor_bytes(*out));
  return FY_OK;
}

static fy_code zeros_of_list(const fy_tensor_list *l, int depth, fy_tensor_list **out,
                             fy_error *err) {
  if (depth > MAX_NESTED)
    return fy_fail(err, FY_INVALID_ARGUMENT, "lists nested deeper than %d", MAX_NESTED);
  FY_TRY(fy_tensor_list_new(l->dtype, l->rank, l->dims, l->n, out, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; !code && i < l->n; i++)
    if (l->items[i]) code = zeros_of(l->items[i], depth, &(*out)->items[i], err);
  if (code) fy_object_release(&(*out)->object);
  return code;
}

fy_code fy_list_zeros_like(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l, *zeros;
  if (ctx->in[0]->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.");
  FY_TRY(fy_list_of(ctx->in[0], &l, err));
  FY_TRY(zeros_of_list(l, 0, &zeros, err));
  return fy_list_put(ctx, 0, zeros, err);
}

// ---------------------------------------------------------------- sums
static fy_code add_lists(fy_tensor_list *sum, const fy_tensor_list *l, int depth, fy_error *err);

// Adds |t| to |*sum|, which may be shared and is replaced.
static fy_code add_item(fy_tensor **sum, fy_tensor *t, int64_t at, int depth, fy_error *err) {
  fy_tensor *a = *sum, *out;
  if (!t) return FY_OK;
  if (!a) return fy_list_keep(t, sum, err);
  if (!fy_shape_equal(a->rank, a->dims, t->rank, t->dims)) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two tensors with incompatible element shapes. One is %s and the "
                   "other is %s in position %lld",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(t, y), (long long)at);
  }
  if (t->dtype == FY_VARIANT) {
    fy_tensor_list *l, *m, *both;
    FY_TRY(fy_list_of(a, &l, err));
    FY_TRY(fy_list_of(t, &m, err));
    FY_TRY(fy_list_copy(l, &both, err));
    fy_code code = add_lists(both, m, depth + 1, err);
    if (code) {
      fy_object_release(&both->object);
      return code;
    }
    FY_TRY(list_tensor(both, &out, err));
  } else {
    const fy_binary_loop loop = fy_add_loops.loop[t->dtype];
    int bad = 0;
    if (!loop)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Trying to add unsupported dtype %s",
                     fy_dtype_name(t->dtype));
    FY_TRY(fy_tensor_new(a->dtype, a->rank, a->dims, &out, err));
    if (a->count) loop(a->data, 1, t->data, 1, out->data, a->count, &bad);
  }
  fy_tensor_release(a);
  *sum = out;
  return FY_OK;
}

static fy_code add_lists(fy_tensor_list *sum, const fy_tensor_list *l, int depth, fy_error *err) {
  if (depth > MAX_NESTED)
    return fy_fail(err, FY_INVALID_ARGUMENT, "lists nested deeper than %d", MAX_NESTED);
  if (sum->dtype != l->dtype)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors of different dtypes. One is %s and the "
                   "other is %s",
                   fy_dtype_name(sum->dtype), fy_dtype_name(l->dtype));
  if (sum->n != l->n)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors with different lengths. One is %lld and the "
                   "other is %lld",
                   (long long)sum->n, (long long)l->n);
  if (!fy_list_compatible(sum->rank, sum->dims, l->rank, l->dims)) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors with incompatible element shapes. One is %s "
                   "and the other is %s",
                   fy_shape_text(sum->rank, sum->dims, x), fy_shape_text(l->rank, l->dims, y));
  }
  for (int64_t i = 0; i < l->n; i++) FY_TRY(add_item(&sum->items[i], l->items[i], i, depth, err));
  return FY_OK;
}

fy_code fy_list_add_n(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *sum;
  FY_TRY(fy_list_take(ctx, 0, &sum, err));
  fy_code code = FY_OK;
  for (int i = 1; !code && i < ctx->site->num_inputs; i++) {
    fy_tensor_list *l;
    code = fy_list_of(ctx->in[i], &l, err);
    if (!code) code = add_lists(sum, l, 0, err);
  }
  if (!code) return fy_list_put(ctx, 0, sum, err);
  fy_object_release(&sum->object);
  return code;
}

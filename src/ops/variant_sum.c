// SPDX-License-Identifier: Apache-2.0
// variant_sum.c: variants as numbers: ZerosLike and AddN of a TensorList, an Optional or a ragged tensor, as
// the gradients of loops and branches need them (a branch that was not taken gives an empty Optional).
// An element of a list that was never set stays so, and adds nothing.

#include "ops/variant_sum.h"

#include "ops/elementwise.h"
#include "ops/optional.h"
#include "ops/ragged.h"
#include "ops/tensor_list_impl.h"

enum { MAX_NESTED = 16 };  // variants in variants

static fy_code zeros_of(const fy_tensor *t, int depth, fy_tensor **out, fy_error *err);
static fy_code sum_of(fy_tensor *a, fy_tensor *b, int depth, fy_tensor **out, fy_error *err);

// An object in a scalar of its own; takes over the reference.
static fy_code in_tensor(fy_object *o, fy_tensor **out, fy_error *err) {
  fy_code code = fy_tensor_new(FY_VARIANT, 0, NULL, out, err);
  if (code)
    fy_object_release(o);
  else
    fy_resource_put(*out, o);
  return code;
}

static fy_object *object_of(const fy_tensor *t) {
  return t->rank == 0 ? *(fy_object *const *)t->data : NULL;
}

static const char *name_of(const fy_object *o) {
  return o ? o->type->name : "";
}

static fy_code too_deep(int depth, fy_error *err) {
  if (depth <= MAX_NESTED) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "variants nested deeper than %d", MAX_NESTED);
}

// ---------------------------------------------------------------- zeros
static fy_code zeros_of_list(const fy_tensor_list *l, int depth, fy_object **out, fy_error *err) {
  fy_tensor_list *zeros;
  FY_TRY(fy_tensor_list_new(l->dtype, l->rank, l->dims, l->n, &zeros, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; !code && i < l->n; i++)
    if (l->items[i]) code = zeros_of(l->items[i], depth, &zeros->items[i], err);
  *out = &zeros->object;
  if (code) fy_object_release(*out);
  return code;
}

// Room for as many items as |like| has; *out owns what has been put there, also on failure.
static fy_code empty_like(const fy_optional *like, fy_optional **out, fy_error *err) {
  FY_TRY(fy_optional_new(NULL, like->n, out, err));
  (*out)->has_value = like->has_value;
  return FY_OK;
}

static fy_code zeros_of_optional(const fy_optional *o, int depth, fy_object **out, fy_error *err) {
  fy_optional *zeros;
  FY_TRY(empty_like(o, &zeros, err));
  fy_code code = FY_OK;
  for (; !code && zeros->n < o->n; zeros->n += !code)
    code = zeros_of(o->items[zeros->n], depth, &zeros->items[zeros->n], err);
  *out = &zeros->object;
  if (code) fy_object_release(*out);
  return code;
}

// With the same splits as |like|.
static fy_code ragged_like(const fy_ragged *like, fy_ragged **out, fy_error *err) {
  FY_TRY(fy_ragged_new(like->ranks, out, err));
  for (int i = 0; i < like->ranks; i++) {
    (*out)->splits[i] = like->splits[i];
    fy_tensor_retain(like->splits[i]);
  }
  return FY_OK;
}

static fy_code zeros_of_ragged(const fy_ragged *r, int depth, fy_object **out, fy_error *err) {
  fy_ragged *zeros;
  FY_TRY(ragged_like(r, &zeros, err));
  fy_code code = zeros_of(r->values, depth, &zeros->values, err);
  *out = &zeros->object;
  if (code) fy_object_release(*out);
  return code;
}

static fy_code zeros_of_object(fy_object *o, int depth, fy_object **out, fy_error *err) {
  FY_TRY(too_deep(depth, err));
  if (o && o->type == &fy_tensor_list_type)
    return zeros_of_list((fy_tensor_list *)o, depth + 1, out, err);
  if (o && o->type == &fy_optional_type)
    return zeros_of_optional((fy_optional *)o, depth + 1, out, err);
  if (o && o->type == &fy_ragged_type) return zeros_of_ragged((fy_ragged *)o, depth + 1, out, err);
  return fy_fail(err, FY_INTERNAL,
                 "No unary variant unary_op function found for op ZEROS_LIKE Variant type_name: %s "
                 "for device type: CPU",
                 name_of(o));
}

static fy_code zeros_of(const fy_tensor *t, int depth, fy_tensor **out, fy_error *err) {
  if (t->dtype == FY_VARIANT) {
    fy_object *zeros = NULL;
    if (t->rank != 0)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.");
    FY_TRY(zeros_of_object(object_of(t), depth, &zeros, err));
    return in_tensor(zeros, out, err);
  }
  FY_TRY(fy_tensor_new(t->dtype, t->rank, t->dims, out, err));  // strings start empty
  if (fy_dtype_is_plain(t->dtype) && t->count) memset((*out)->data, 0, fy_tensor_bytes(*out));
  return FY_OK;
}

fy_code fy_variant_zeros_like(fy_kernel_ctx *ctx, fy_error *err) {
  fy_object *zeros = NULL;
  if (ctx->in[0]->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.");
  FY_TRY(zeros_of_object(object_of(ctx->in[0]), 0, &zeros, err));
  return fy_variant_put(ctx, 0, zeros, err);
}

// ---------------------------------------------------------------- sums
static fy_code add_item(fy_tensor **sum, fy_tensor *t, int64_t at, int depth, fy_error *err) {
  fy_tensor *a = *sum, *both;
  if (!t) return FY_OK;
  if (!a) return fy_list_keep(t, sum, err);
  if (!fy_shape_equal(a->rank, a->dims, t->rank, t->dims)) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two tensors with incompatible element shapes. One is %s and the "
                   "other is %s in position %lld",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(t, y), (long long)at);
  }
  FY_TRY(sum_of(a, t, depth, &both, err));
  fy_tensor_release(a);
  *sum = both;
  return FY_OK;
}

static fy_code add_lists(const fy_tensor_list *a, const fy_tensor_list *b, int depth,
                         fy_object **out, fy_error *err) {
  char x[128], y[128];
  FY_TRY(fy_tensor_list_check_sum(a, b, err));
  if (!fy_list_compatible(a->rank, a->dims, b->rank, b->dims))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors with incompatible element shapes. One is %s "
                   "and the other is %s",
                   fy_shape_text(a->rank, a->dims, x), fy_shape_text(b->rank, b->dims, y));
  fy_tensor_list *sum;
  FY_TRY(fy_list_copy(a, &sum, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; !code && i < b->n; i++)
    code = add_item(&sum->items[i], b->items[i], i, depth, err);
  *out = &sum->object;
  if (code) fy_object_release(*out);
  return code;
}

static fy_code add_optionals(const fy_optional *a, const fy_optional *b, int depth, fy_object **out,
                             fy_error *err) {
  fy_optional *sum;
  if (a->has_value != b->has_value)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot add optionals because one has a value and the other doesn't.");
  if (a->n != b->n)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot add optionals because they have different numbers of components (%d vs. "
                   "%d).",
                   a->n, b->n);
  FY_TRY(empty_like(a, &sum, err));
  fy_code code = FY_OK;
  for (; !code && sum->n < a->n; sum->n += !code)
    code = sum_of(a->items[sum->n], b->items[sum->n], depth, &sum->items[sum->n], err);
  *out = &sum->object;
  if (code) fy_object_release(*out);
  return code;
}

static bool same_splits(const fy_tensor *a, const fy_tensor *b) {
  bool same = a->dtype == b->dtype && a->count == b->count;
  for (int64_t i = 0; same && i < a->count; i++) same = fy_tensor_int(a, i) == fy_tensor_int(b, i);
  return same;
}

static fy_code add_ragged(const fy_ragged *a, const fy_ragged *b, int depth, fy_object **out,
                          fy_error *err) {
  fy_ragged *sum;
  if (a->values->dtype != b->values->dtype)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Can't add RaggedTensorVariants of different dtypes. One is %s and the other is "
                   "%s",
                   fy_dtype_name(a->values->dtype), fy_dtype_name(b->values->dtype));
  if (a->ranks != b->ranks)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Can't add RaggedTensorVariants of different ragged rank. One is %d and the "
                   "other is %d",
                   a->ranks, b->ranks);
  for (int i = 0; i < a->ranks; i++)
    if (!same_splits(a->splits[i], b->splits[i]))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Can't add RaggedTensorVariants with different row_splits.");
  FY_TRY(ragged_like(a, &sum, err));
  fy_code code = sum_of(a->values, b->values, depth, &sum->values, err);
  *out = &sum->object;
  if (code) fy_object_release(*out);
  return code;
}

static fy_code add_objects(fy_object *a, fy_object *b, int depth, fy_object **out, fy_error *err) {
  const fy_object_type *type = a ? a->type : NULL;
  FY_TRY(too_deep(depth, err));
  if (type != (b ? b->type : NULL))
    return fy_fail(err, FY_INTERNAL,
                   "BinaryOpVariants: Variants a and b have different type ids.  Type names: '%s' "
                   "vs. '%s'",
                   name_of(a), name_of(b));
  if (type == &fy_tensor_list_type)
    return add_lists((fy_tensor_list *)a, (fy_tensor_list *)b, depth + 1, out, err);
  if (type == &fy_optional_type)
    return add_optionals((fy_optional *)a, (fy_optional *)b, depth + 1, out, err);
  if (type == &fy_ragged_type)
    return add_ragged((fy_ragged *)a, (fy_ragged *)b, depth + 1, out, err);
  return fy_fail(err, FY_INTERNAL,
                 "No unary variant binary_op function found for op ADD Variant type_name: '%s' for "
                 "device type: CPU",
                 name_of(a));
}

// A new tensor.
static fy_code sum_of(fy_tensor *a, fy_tensor *b, int depth, fy_tensor **out, fy_error *err) {
  if (a->dtype != b->dtype || !fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "cannot add %s%s and %s%s", fy_dtype_name(a->dtype),
                   fy_tensor_shape_text(a, x), fy_dtype_name(b->dtype), fy_tensor_shape_text(b, y));
  }
  if (a->dtype == FY_VARIANT) {
    fy_object *both = NULL;
    FY_TRY(add_objects(object_of(a), object_of(b), depth, &both, err));
    return in_tensor(both, out, err);
  }
  const fy_binary_loop loop = fy_add_loops.loop[a->dtype];
  int bad = 0;
  if (!loop)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Trying to add unsupported dtype %s",
                   fy_dtype_name(a->dtype));
  FY_TRY(fy_tensor_new(a->dtype, a->rank, a->dims, out, err));
  if (a->count) loop(a->data, 1, b->data, 1, (*out)->data, a->count, &bad);
  return FY_OK;
}

fy_code fy_variant_add_n(fy_kernel_ctx *ctx, fy_error *err) {
  char shape[128];
  if (ctx->in[0]->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported; inputs[0 has "
                   "shape: %s.",
                   fy_tensor_shape_text(ctx->in[0], shape));
  fy_object *sum = object_of(ctx->in[0]);
  fy_object_retain(sum);
  for (int i = 1; i < ctx->site->num_inputs; i++) {
    fy_object *both = NULL;
    fy_code code = add_objects(sum, object_of(ctx->in[i]), 0, &both, err);
    fy_object_release(sum);
    if (code) return code;
    sum = both;
  }
  return fy_variant_put(ctx, 0, sum, err);
}

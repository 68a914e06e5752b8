// SPDX-License-Identifier: Apache-2.0
// tensor_list.c: lists of tensors as values (variants): the object, and what its ops share.
// A list is a refcounted object that is never changed once it is published: an op that changes a
// list copies its pointers, never its elements.
// Read on: tensor_list_make.c, tensor_list_change.c, tensor_list_read.c.

#include "base/alloc.h"
#include "ops/optional.h"
#include "ops/strided.h"
#include "ops/tensor_list_impl.h"

// ---------------------------------------------------------------- the object
static void destroy(fy_object *self) {
  fy_tensor_list *l = (fy_tensor_list *)self;
  for (int64_t i = 0; i < l->n; i++) fy_tensor_release(l->items[i]);
  fy_free(l->items);
  fy_free(l->dims);
  fy_free(l);
}

const fy_object_type fy_tensor_list_type = {"tensorflow::TensorList", destroy};

fy_code fy_tensor_list_new(fy_dtype dtype, int32_t rank, const int64_t *dims, int64_t n,
                           fy_tensor_list **out, fy_error *err) {
  *out = NULL;
  size_t bytes;
  if (n < 0 || !fy_mul_size((size_t)n + 1, sizeof(fy_tensor *), &bytes)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "a list of %lld tensors is too long", (long long)n);
  }
  fy_tensor_list *l = fy_calloc(1, sizeof *l);
  if (!l) return fy_fail_oom(err, sizeof *l);
  atomic_init(&l->object.refs, 1);
  l->object.type = &fy_tensor_list_type;
  l->dtype = dtype;
  l->rank = rank;
  l->max = -1;
  l->items = fy_calloc((size_t)n + 1, sizeof *l->items);
  l->dims = fy_calloc(rank > 0 ? (size_t)rank : 1, sizeof *l->dims);
  if (!l->items || !l->dims) {
    destroy(&l->object);
    return fy_fail_oom(err, bytes);
  }
  l->n = n;
  l->cap = (size_t)n + 1;
  if (rank > 0) memcpy(l->dims, dims, (size_t)rank * sizeof *dims);
  *out = l;
  return FY_OK;
}

fy_code fy_list_of(const fy_tensor *t, fy_tensor_list **out, fy_error *err) {
  *out = NULL;
  if (t->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input list must be a scalar saw: %s",
                   fy_tensor_shape_text(t, x));
  }
  fy_object *o = *(fy_object *const *)t->data;
  if (!o || o->type != &fy_tensor_list_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input handle is not a list. Saw: '%s'",
                   o ? o->type->name : "<empty>");
  }
  *out = (fy_tensor_list *)o;
  return FY_OK;
}

fy_code fy_list_copy(const fy_tensor_list *l, fy_tensor_list **out, fy_error *err) {
  fy_tensor_list *copy;
  FY_TRY(fy_tensor_list_new(l->dtype, l->rank, l->dims, l->n, &copy, err));
  copy->max = l->max;
  for (int64_t k = 0; k < l->n; k++) {
    copy->items[k] = l->items[k];
    if (l->items[k]) fy_tensor_retain(l->items[k]);
  }
  *out = copy;
  return FY_OK;
}

fy_code fy_list_take(fy_kernel_ctx *ctx, int i, fy_tensor_list **out, fy_error *err) {
  fy_tensor_list *l;
  FY_TRY(fy_list_of(ctx->in[i], &l, err));
  if (fy_object_is_exclusive(&l->object) && ctx->svc->may_change && ctx->svc->may_change(ctx, i)) {
    fy_object_retain(&l->object);
    *out = l;
    return FY_OK;
  }
  return fy_list_copy(l, out, err);
}

fy_code fy_list_put(fy_kernel_ctx *ctx, int i, fy_tensor_list *l, fy_error *err) {
  return fy_variant_put(ctx, i, &l->object, err);
}

fy_code fy_list_keep(const fy_tensor *t, fy_tensor **out, fy_error *err) {
  if (t->buffer && !t->device) return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
  return fy_tensor_clone(t, out, err);
}

fy_code fy_list_piece(fy_kernel_ctx *ctx, const fy_tensor *t, int64_t from, int32_t rank,
                      const int64_t *dims, fy_tensor **out, fy_error *err) {
  FY_TRY(fy_tensor_new(t->dtype, rank, dims, out, err));
  fy_code code =
      fy_copy_elements(ctx, t->dtype, (*out)->data, 0, t->data, from, (*out)->count, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

// ---------------------------------------------------------------- element shapes

fy_code fy_list_read_shape(const fy_tensor *t, fy_list_eshape *out, fy_error *err) {
  out->rank = -1;
  if (t->rank == 0) {
    const int64_t v = fy_tensor_int(t, 0);
    if (v == -1) return FY_OK;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (t->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at most rank 1 but is rank %d",
                   t->rank);
  }
  if (t->count > FY_MAX_RANK) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "shape must be a vector of {int32,int64}, got shape %s",
                   fy_tensor_shape_text(t, x));
  }
  out->rank = (int32_t)t->count;
  for (int32_t i = 0; i < out->rank; i++) {
    out->dims[i] = fy_tensor_int(t, i);
    if (out->dims[i] < -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= -1",
                     (long long)out->dims[i]);
    }
  }
  return FY_OK;
}

bool fy_list_compatible(int32_t rank, const int64_t *dims, int32_t rank_b, const int64_t *b) {
  if (rank < 0 || rank_b < 0) return true;
  if (rank != rank_b) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] >= 0 && b[i] >= 0 && dims[i] != b[i]) return false;
  }
  return true;
}

bool fy_list_merge(fy_list_eshape *a, int32_t rank, const int64_t *dims) {
  if (!fy_list_compatible(a->rank, a->dims, rank, dims)) return false;
  if (rank < 0) return true;
  if (a->rank < 0) {
    a->rank = rank;
    if (rank) memcpy(a->dims, dims, (size_t)rank * sizeof *dims);
    return true;
  }
  for (int32_t i = 0; i < rank; i++) {
    if (a->dims[i] < 0) a->dims[i] = dims[i];
  }
  return true;
}

bool fy_list_fully_known(const fy_list_eshape *e) {
  if (e->rank < 0) return false;
  for (int32_t i = 0; i < e->rank; i++)
    if (e->dims[i] < 0) return false;
  return true;
}

fy_code fy_list_check_dtype(fy_kernel_ctx *ctx, const fy_tensor_list *l, fy_error *err) {
  const fy_dtype want = fy_site_type(ctx->site, "element_dtype");
  if (want == l->dtype) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Invalid data types; op elements %s but list elements %s", fy_dtype_name(want),
                 fy_dtype_name(l->dtype));
}

fy_code fy_list_check_item(const fy_tensor_list *l, const fy_tensor *t, fy_error *err) {
  char x[128], y[128];
  if (l->dtype != t->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid data types; list elements %s but tried to append %s",
                   fy_dtype_name(l->dtype), fy_dtype_name(t->dtype));
  }
  if (fy_list_compatible(l->rank, l->dims, t->rank, t->dims)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Tried to append a tensor with incompatible shape to a list. Op element shape: %s "
                 "list shape: %s",
                 fy_tensor_shape_text(t, x), fy_shape_text(l->rank, l->dims, y));
}

fy_code fy_tensor_list_check_sum(const fy_tensor_list *a, const fy_tensor_list *b, fy_error *err) {
  if (a->dtype != b->dtype)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors of different dtypes. One is %s and the "
                   "other is %s",
                   fy_dtype_name(a->dtype), fy_dtype_name(b->dtype));
  if (a->n != b->n)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors with different lengths. One is %lld and the "
                   "other is %lld",
                   (long long)a->n, (long long)b->n);
  return FY_OK;
}

fy_code fy_list_fail_merge(int32_t rank, const int64_t *dims, int32_t rank_b, const int64_t *b,
                           fy_error *err) {
  char x[128], y[128];
  if (rank != rank_b) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "PartialTensorShape: Incompatible ranks during merge: %d vs. %d", rank, rank_b);
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "PartialTensorShape: Incompatible shapes during merge: %s vs. %s",
                 fy_shape_text(rank, dims, x), fy_shape_text(rank_b, b, y));
}

fy_code fy_list_element_shape(const fy_tensor_list *l, const fy_tensor *given, bool from_items,
                              fy_list_eshape *out, fy_error *err) {
  FY_TRY(fy_list_read_shape(given, out, err));
  if (!fy_list_merge(out, l->rank, l->dims)) {
    return fy_list_fail_merge(out->rank, out->dims, l->rank, l->dims, err);
  }
  for (int64_t i = 0; from_items && i < l->n; i++) {
    const fy_tensor *t = l->items[i];
    if (t && !fy_list_merge(out, t->rank, t->dims)) {
      return fy_list_fail_merge(out->rank, out->dims, t->rank, t->dims, err);
    }
  }
  return FY_OK;
}

fy_code fy_list_scalar_int(const fy_tensor *t, const char *name, int64_t *out, fy_error *err) {
  if (t->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, got shape: %s", name,
                   fy_tensor_shape_text(t, x));
  }
  *out = fy_tensor_int(t, 0);
  return FY_OK;
}

fy_code fy_tensor_list_resize(fy_tensor_list *l, int64_t n, fy_error *err) {
  for (int64_t i = n; i < l->n; i++) fy_tensor_release(l->items[i]);
  if (n > l->n) {
    if (!fy_grow(&l->items, &l->cap, (size_t)n, sizeof *l->items)) {
      return fy_fail_oom(err, (size_t)n * sizeof *l->items);
    }
    memset(l->items + l->n, 0, (size_t)(n - l->n) * sizeof *l->items);
  }
  l->n = n;
  return FY_OK;
}

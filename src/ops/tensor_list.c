// SPDX-License-Identifier: Apache-2.0
// tensor_list.c: lists of tensors as values (variants): TensorListReserve, SetItem, Stack…
// A list is a refcounted object that is never changed once it is published: an op that changes a
// list copies its pointers, never its elements.

#include "ops/tensor_list.h"
#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

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

static fy_code list_of(const fy_tensor *t, fy_tensor_list **out, fy_error *err) {
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

// A copy of input |i|'s list that the caller may change; its elements are shared.
static fy_code take_list(fy_kernel_ctx *ctx, int i, fy_tensor_list **out, fy_error *err) {
  fy_tensor *t = ctx->in[i];
  fy_tensor_list *l;
  FY_TRY(list_of(t, &l, err));
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

static fy_code put_list(fy_kernel_ctx *ctx, int i, fy_tensor_list *l, fy_error *err) {
  fy_tensor *out;
  fy_code code = fy_out(ctx, i, 0, NULL, &out, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  fy_resource_put(out, &l->object);
  return FY_OK;
}

// A tensor that may be kept: shares |t|'s memory when that outlives the step.
static fy_code keep(const fy_tensor *t, fy_tensor **out, fy_error *err) {
  if (t->buffer && !t->device) return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
  return fy_tensor_clone(t, out, err);
}

// |count| elements of |t| from |from| under a shape of their own.
static fy_code piece(const fy_tensor *t, int64_t from, int32_t rank, const int64_t *dims,
                     fy_tensor **out, fy_error *err) {
  FY_TRY(fy_tensor_new(t->dtype, rank, dims, out, err));
  fy_code code = fy_copy_run(t->dtype, (*out)->data, 0, t->data, from, (*out)->count, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

// ---------------------------------------------------------------- element shapes
typedef struct eshape {
  int32_t rank;  // -1: unknown
  int64_t dims[FY_MAX_RANK];
} eshape;

static fy_code read_shape(const fy_tensor *t, eshape *out, fy_error *err) {
  out->rank = -1;
  if (t->rank == 0) {
    const int64_t v = fy_tensor_int(t, 0);
    if (v == -1) return FY_OK;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (t->rank != 1 || t->count > FY_MAX_RANK) {
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

static bool compatible(int32_t rank, const int64_t *dims, int32_t rank_b, const int64_t *b) {
  if (rank < 0 || rank_b < 0) return true;
  if (rank != rank_b) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] >= 0 && b[i] >= 0 && dims[i] != b[i]) return false;
  }
  return true;
}

static bool merge(eshape *a, int32_t rank, const int64_t *dims) {
  if (!compatible(a->rank, a->dims, rank, dims)) return false;
  if (rank < 0) return true;
  if (a->rank < 0) {
    a->rank = rank;
    memcpy(a->dims, dims, (size_t)rank * sizeof *dims);
    return true;
  }
  for (int32_t i = 0; i < rank; i++) {
    if (a->dims[i] < 0) a->dims[i] = dims[i];
  }
  return true;
}

static bool fully_known(const eshape *e) {
  if (e->rank < 0) return false;
  for (int32_t i = 0; i < e->rank; i++)
    if (e->dims[i] < 0) return false;
  return true;
}

static fy_code check_dtype(fy_kernel_ctx *ctx, const fy_tensor_list *l, fy_error *err) {
  const fy_dtype want = fy_site_type(ctx->site, "element_dtype");
  if (want == l->dtype) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Invalid data types; op elements %s but list elements %s", fy_dtype_name(want),
                 fy_dtype_name(l->dtype));
}

static fy_code check_item(const fy_tensor_list *l, const fy_tensor *t, fy_error *err) {
  char x[128], y[128];
  if (l->dtype != t->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid data types; list elements %s but tried to append %s",
                   fy_dtype_name(l->dtype), fy_dtype_name(t->dtype));
  }
  if (compatible(l->rank, l->dims, t->rank, t->dims)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Tried to append a tensor with incompatible shape to a list. Op element shape: %s "
                 "list shape: %s",
                 fy_tensor_shape_text(t, x), fy_shape_text(l->rank, l->dims, y));
}

// The shape that elements have: the list's, the op's and what the elements themselves say.
static fy_code element_shape(const fy_tensor_list *l, const fy_tensor *given, bool from_items,
                             eshape *out, fy_error *err) {
  char x[128], y[128];
  FY_TRY(read_shape(given, out, err));
  if (!merge(out, l->rank, l->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                   fy_shape_text(out->rank, out->dims, x), fy_shape_text(l->rank, l->dims, y));
  }
  for (int64_t i = 0; from_items && i < l->n; i++) {
    const fy_tensor *t = l->items[i];
    if (t && !merge(out, t->rank, t->dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                     fy_shape_text(out->rank, out->dims, x), fy_tensor_shape_text(t, y));
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shape functions
static fy_code handle_from_attr(fy_shape_ctx *ctx, int shape_input, fy_error *err) {
  const fy_attr *type = fy_attrs_get(ctx->attrs, "element_dtype");
  if (type && type->kind == FY_ATTR_TYPE) ctx->out_handle[0].dtype = type->v.type;
  fy_pshape s = FY_UNKNOWN_SHAPE;
  const fy_tensor *v = ctx->in_value[shape_input];
  if (v && v->rank == 1) {
    int64_t *dims = fy_shape_dims(ctx, (int32_t)v->count);
    if (!dims) return fy_fail_oom(err, 8);
    for (int64_t i = 0; i < v->count; i++) dims[i] = fy_tensor_int(v, i);
    s = (fy_pshape){(int32_t)v->count, dims};
  }
  ctx->out_handle[0].shape = s;
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
static fy_code shape_new(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 0, err);
}
static fy_code shape_from_tensor(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 1, err);
}
static fy_code shape_scatter(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 2, err);
}
static fy_code shape_same_list(fy_shape_ctx *ctx, fy_error *err) {
  ctx->out_handle[0] = ctx->in_handle[0];
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
// What a constant shape input and the handle say about an element; unknown when they disagree.
static fy_pshape known_element(fy_shape_ctx *ctx, int shape_input) {
  fy_pshape s = FY_UNKNOWN_SHAPE, merged;
  const fy_tensor *v = ctx->in_value[shape_input];
  if (v && v->rank == 1 && v->count <= FY_MAX_RANK) {
    int64_t *dims = fy_shape_dims(ctx, (int32_t)v->count);
    if (!dims) return FY_UNKNOWN_SHAPE;
    for (int64_t i = 0; i < v->count; i++) {
      dims[i] = fy_tensor_int(v, i);
      if (dims[i] < -1) return FY_UNKNOWN_SHAPE;
    }
    s = (fy_pshape){(int32_t)v->count, dims};
  }
  if (fy_shape_merge(ctx, s, ctx->in_handle[0].shape, &merged, NULL)) return FY_UNKNOWN_SHAPE;
  return merged;
}
static fy_code set_with_leading(fy_shape_ctx *ctx, int i, int64_t leading, fy_pshape s,
                                fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  if (s.rank < 0 || s.rank >= FY_MAX_RANK) return FY_OK;
  dims[0] = leading;
  for (int32_t d = 0; d < s.rank; d++) dims[d + 1] = s.dims[d];
  return fy_shape_set(ctx, i, s.rank + 1, dims, err);
}
static fy_code shape_get(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape s = known_element(ctx, 2);
  return fy_shape_set(ctx, 0, s.rank, s.dims, err);
}
static fy_code shape_pop(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape s = known_element(ctx, 1);
  FY_TRY(shape_same_list(ctx, err));
  return fy_shape_set(ctx, 1, s.rank, s.dims, err);
}
static fy_code shape_stack(fy_shape_ctx *ctx, fy_error *err) {
  return set_with_leading(ctx, 0, fy_shape_attr_int(ctx, "num_elements", -1), known_element(ctx, 1),
                          err);
}
static fy_code shape_gather(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t n = ctx->in[1].rank == 1 ? ctx->in[1].dims[0] : -1;
  return set_with_leading(ctx, 0, n, known_element(ctx, 2), err);
}
static fy_code shape_concat(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 1, 1, (const int64_t[]){-1}, err);
}

// ---------------------------------------------------------------- making lists
static fy_code scalar_int(const fy_tensor *t, const char *name, int64_t *out, fy_error *err) {
  if (t->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, got shape: %s", name,
                   fy_tensor_shape_text(t, x));
  }
  *out = fy_tensor_int(t, 0);
  return FY_OK;
}

static fy_code empty(fy_kernel_ctx *ctx, fy_error *err) {
  eshape e;
  int64_t max;
  fy_tensor_list *l;
  if (ctx->in[1]->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "max_num_elements expected to be a scalar but got shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  max = fy_tensor_int(ctx->in[1], 0);
  FY_TRY(read_shape(ctx->in[0], &e, err));
  FY_TRY(fy_tensor_list_new(fy_site_type(ctx->site, "element_dtype"), e.rank, e.dims, 0, &l, err));
  l->max = max;
  return put_list(ctx, 0, l, err);
}

static fy_code reserve(fy_kernel_ctx *ctx, fy_error *err) {
  eshape e;
  int64_t n;
  fy_tensor_list *l;
  FY_TRY(read_shape(ctx->in[0], &e, err));
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The num_elements to reserve must be a tensor size 1, but got %lld",
                   (long long)ctx->in[1]->count);
  }
  FY_TRY(scalar_int(ctx->in[1], "num_elements", &n, err));
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The num_elements to reserve must be a non negative number, but got %lld",
                   (long long)n);
  }
  FY_TRY(fy_tensor_list_new(fy_site_type(ctx->site, "element_dtype"), e.rank, e.dims, n, &l, err));
  return put_list(ctx, 0, l, err);
}

static fy_code from_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0];
  eshape e;
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(read_shape(ctx->in[1], &e, err));
  if (t->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: %s",
                   fy_tensor_shape_text(t, x));
  }
  if (!compatible(e.rank, e.dims, t->rank - 1, t->dims + 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Specified a list with shape %s from a tensor with shape %s",
                   fy_shape_text(e.rank, e.dims, x), fy_shape_text(t->rank - 1, t->dims + 1, y));
  }
  FY_TRY(fy_tensor_list_new(t->dtype, e.rank, e.dims, t->dims[0], &l, err));
  const int64_t each = t->dims[0] ? t->count / t->dims[0] : 0;
  for (int64_t i = 0; i < l->n; i++) {
    fy_code code = piece(t, i * each, t->rank - 1, t->dims + 1, &l->items[i], err);
    if (code) {
      fy_object_release(&l->object);
      return code;
    }
  }
  return put_list(ctx, 0, l, err);
}

static fy_code scatter_into(fy_tensor_list *l, const fy_tensor *t, const fy_tensor *indices,
                            fy_error *err) {
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
    FY_TRY(piece(t, i * each, t->rank - 1, t->dims + 1, &item, err));
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
  eshape e;
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(check_scatter(t, indices, err));
  FY_TRY(read_shape(ctx->in[2], &e, err));
  if (!compatible(e.rank, e.dims, t->rank - 1, t->dims + 1)) {
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
    FY_TRY(scalar_int(ctx->in[3], "num_elements", &given, err));
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
  fy_code code = scatter_into(l, t, indices, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  return put_list(ctx, 0, l, err);
}

static fy_code scatter_existing(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[1], *indices = ctx->in[2];
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(check_scatter(t, indices, err));
  FY_TRY(take_list(ctx, 0, &l, err));
  fy_code code = check_dtype(ctx, l, err);
  if (!code && !compatible(l->rank, l->dims, t->rank - 1, t->dims + 1)) {
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
  if (!code) code = scatter_into(l, t, indices, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  return put_list(ctx, 0, l, err);
}

// ---------------------------------------------------------------- changing lists
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

static fy_code push(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l, *old;
  fy_tensor *item;
  FY_TRY(list_of(ctx->in[0], &old, err));
  FY_TRY(check_item(old, ctx->in[1], err));
  if (old->max != -1 && old->n >= old->max) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to push item into a full list list size: %lld max_num_elements: %lld",
                   (long long)old->n, (long long)old->max);
  }
  FY_TRY(keep(ctx->in[1], &item, err));
  fy_code code = take_list(ctx, 0, &l, err);
  if (!code) {
    code = fy_tensor_list_resize(l, l->n + 1, err);
    if (!code) {
      l->items[l->n - 1] = item;
      return put_list(ctx, 0, l, err);
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
  FY_TRY(list_of(ctx->in[0], &old, err));
  FY_TRY(check_dtype(ctx, old, err));
  FY_TRY(scalar_int(ctx->in[1], "index", &at, err));
  const bool grow = fy_site_bool(ctx->site, "resize_if_index_out_of_bounds");
  if (at < 0 || (at >= old->n && !grow)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to modify element %lld in a list with %lld elements.", (long long)at,
                   (long long)old->n);
  }
  const fy_tensor *value = ctx->in[2];
  if (!compatible(old->rank, old->dims, value->rank, value->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to set a tensor with incompatible shape at a list index. Item element "
                   "shape: %s list shape: %s",
                   fy_tensor_shape_text(value, x), fy_shape_text(old->rank, old->dims, y));
  }
  FY_TRY(keep(value, &item, err));
  fy_code code = take_list(ctx, 0, &l, err);
  if (!code) {
    code = at >= l->n ? fy_tensor_list_resize(l, at + 1, err) : FY_OK;
    if (!code) {
      fy_tensor_release(l->items[at]);
      l->items[at] = item;
      return put_list(ctx, 0, l, err);
    }
    fy_object_release(&l->object);
  }
  fy_tensor_release(item);
  return code;
}

static fy_code resize(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  int64_t n;
  FY_TRY(scalar_int(ctx->in[1], "size", &n, err));
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "TensorListSlice expects size to be non-negative. Got: %lld", (long long)n);
  }
  FY_TRY(take_list(ctx, 0, &l, err));
  fy_code code = fy_tensor_list_resize(l, n, err);
  if (code) {
    fy_object_release(&l->object);
    return code;
  }
  return put_list(ctx, 0, l, err);
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
    eshape e = {.rank = -1};
    merge(&e, p->rank, p->dims);
    if (!merge(&e, q->rank, q->dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input_a and input_b TensorList element shapes are not identical at index "
                     "%lld.  Saw %s vs. %s",
                     (long long)i, fy_shape_text(p->rank, p->dims, x),
                     fy_shape_text(q->rank, q->dims, y));
    }
    fy_tensor_list *l;
    FY_TRY(fy_tensor_list_new(want, p->rank, p->dims, p->n + q->n, &l, err));
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
        !compatible(old->rank, old->dims, rank, dims)) {
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
    fy_code code = piece(t, i * each, rank, dims, &l->items[old->n], err);
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

// ---------------------------------------------------------------- reading lists
static fy_code put_zeros(fy_kernel_ctx *ctx, int i, const eshape *e, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, i, e->rank, e->dims, &out, err));
  if (out->count && fy_dtype_is_plain(out->dtype)) memset(out->data, 0, fy_tensor_bytes(out));
  return FY_OK;
}

// Element |at| of |l| as output |i|; zeros if it was never set.
static fy_code put_item(fy_kernel_ctx *ctx, int i, const fy_tensor_list *l, int64_t at,
                        const fy_tensor *shape, fy_error *err) {
  fy_tensor *item = l->items[at];
  eshape e;
  char x[128];
  if (item) {
    fy_tensor *copy;
    FY_TRY(fy_tensor_alias(item, item->dtype, item->rank, item->dims, &copy, err));
    fy_out_set(ctx, i, copy);
    return FY_OK;
  }
  FY_TRY(element_shape(l, shape, true, &e, err));
  if (!fully_known(&e)) {
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
  FY_TRY(list_of(ctx->in[0], &l, err));
  FY_TRY(check_dtype(ctx, l, err));
  FY_TRY(scalar_int(ctx->in[1], "index", &at, err));
  if (at < 0 || at >= l->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to access element %lld in a list with %lld elements.", (long long)at,
                   (long long)l->n);
  }
  return put_item(ctx, 0, l, at, ctx->in[2], err);
}

static fy_code pop(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l, *old;
  FY_TRY(list_of(ctx->in[0], &old, err));
  FY_TRY(check_dtype(ctx, old, err));
  if (old->n == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Trying to pop from an empty list.");
  FY_TRY(put_item(ctx, 1, old, old->n - 1, ctx->in[1], err));
  FY_TRY(take_list(ctx, 0, &l, err));
  fy_tensor_release(l->items[--l->n]);
  return put_list(ctx, 0, l, err);
}

static fy_code list_length(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  fy_tensor *out;
  FY_TRY(list_of(ctx->in[0], &l, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(int32_t *)out->data = (int32_t)l->n;
  return FY_OK;
}

static fy_code put_element_shape(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  fy_tensor *out;
  FY_TRY(list_of(ctx->in[0], &l, err));
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

// Stacks the elements that |indices| names (NULL: all) into output 0.
static fy_code stack_items(fy_kernel_ctx *ctx, const fy_tensor_list *l, const fy_tensor *indices,
                           const fy_tensor *shape, fy_error *err) {
  eshape e;
  fy_tensor *out;
  char x[128], y[128];
  FY_TRY(element_shape(l, shape, true, &e, err));
  const int64_t n = indices ? indices->count : l->n;
  if (!fully_known(&e)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to %s %s list with non-fully-defined element_shape: %s",
                   indices ? "gather" : "stack",
                   n == 0 ? "an empty" : "a list which only contains uninitialized tensors from a",
                   fy_shape_text(e.rank, e.dims, x));
  }
  if (e.rank >= FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "too many dimensions");
  int64_t dims[FY_MAX_RANK];
  dims[0] = n;
  memcpy(dims + 1, e.dims, (size_t)e.rank * sizeof *dims);
  const int64_t each = fy_product(e.dims, e.rank);
  FY_TRY(fy_out(ctx, 0, e.rank + 1, dims, &out, err));
  if (out->count == 0) return FY_OK;
  for (int64_t k = 0; k < n; k++) {
    const int64_t at = indices ? fy_tensor_int(indices, k) : k;
    if (at < 0 || at >= l->n) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Trying to gather element %lld in a list with %lld elements.", (long long)at,
                     (long long)l->n);
    }
    const fy_tensor *item = l->items[at];
    if (!item) {
      const size_t size = fy_dtype_storage(l->dtype);
      if (fy_dtype_is_plain(l->dtype)) {
        memset((char *)out->data + (size_t)(k * each) * size, 0, (size_t)each * size);
      }
      continue;
    }
    if (item->count != each) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                     fy_shape_text(e.rank, e.dims, x), fy_tensor_shape_text(item, y));
    }
    FY_TRY(fy_copy_run(l->dtype, out->data, k * each, item->data, 0, each, err));
  }
  return FY_OK;
}

static fy_code stack(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  FY_TRY(list_of(ctx->in[0], &l, err));
  FY_TRY(check_dtype(ctx, l, err));
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
  FY_TRY(list_of(ctx->in[0], &l, err));
  FY_TRY(check_dtype(ctx, l, err));
  return stack_items(ctx, l, ctx->in[1], ctx->in[2], err);
}

// ---------------------------------------------------------------- Concat, Split
static fy_code concat(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_list *l;
  eshape e = {.rank = -1};
  const bool v2 = ctx->site->num_inputs > 1;
  const fy_tensor *leading = v2 ? ctx->in[2] : NULL;
  char x[128], y[128];
  FY_TRY(list_of(ctx->in[0], &l, err));
  FY_TRY(check_dtype(ctx, l, err));
  if (v2) {
    FY_TRY(read_shape(ctx->in[1], &e, err));
  } else {
    const fy_attr *a = fy_site_attr(ctx->site, "element_shape");
    if (a && a->kind == FY_ATTR_SHAPE) merge(&e, a->v.shape.rank, a->v.shape.dims);
  }
  if (e.rank == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Concat requires elements to be at least vectors, found "
                   "scalars instead.");
  }
  // Everything but the first dim must agree.
  eshape rest = {.rank = -1};
  if (e.rank > 0) merge(&rest, e.rank - 1, e.dims + 1);
  if (l->rank > 0 && !merge(&rest, l->rank - 1, l->dims + 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                   fy_shape_text(rest.rank, rest.dims, x),
                   fy_shape_text(l->rank - 1, l->dims + 1, y));
  }
  const int64_t first = e.rank > 0 ? e.dims[0] : -1;
  int64_t total = 0;
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
      if (!merge(&rest, t->rank - 1, t->dims + 1)) {
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
  if (!fully_known(&rest)) {
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
      FY_TRY(fy_copy_run(l->dtype, out->data, at, l->items[i]->data, 0, n, err));
    } else if (fy_dtype_is_plain(l->dtype)) {
      const size_t size = fy_dtype_storage(l->dtype);
      memset((char *)out->data + (size_t)at * size, 0, (size_t)n * size);
    }
    at += n;
  }
  return FY_OK;
}

static fy_code split(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0], *lengths = ctx->in[2];
  eshape e;
  fy_tensor_list *l;
  char x[128], y[128];
  FY_TRY(read_shape(ctx->in[1], &e, err));
  if (lengths->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected lengths to be a vector, received shape: %s",
                   fy_tensor_shape_text(lengths, x));
  }
  if (t->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: %s",
                   fy_tensor_shape_text(t, x));
  }
  if (e.rank == 0 ||
      (e.rank > 0 && !compatible(e.rank - 1, e.dims + 1, t->rank - 1, t->dims + 1))) {
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
    fy_code code = piece(t, at * each, t->rank, dims, &l->items[i], err);
    if (code) {
      fy_object_release(&l->object);
      return code;
    }
    at += dims[0];
  }
  return put_list(ctx, 0, l, err);
}

#define FLAGS FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD
#define READS FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT
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

FY_OP(EmptyTensorList, .shape = shape_new, .compute = empty, .flags = FLAGS,
      FY_SAMPLES(empty_samples));
FY_OP(TensorListReserve, .shape = shape_new, .compute = reserve, .flags = FLAGS,
      FY_SAMPLES(reserve_samples));
FY_OP(TensorListFromTensor, .shape = shape_from_tensor, .compute = from_tensor, .flags = FLAGS,
      FY_SAMPLES(from_samples));
FY_OP(TensorListScatter, .shape = shape_scatter, .compute = scatter, .flags = FLAGS,
      FY_SAMPLES(scatter_samples));
FY_OP(TensorListScatterV2, .shape = shape_scatter, .compute = scatter, .flags = FLAGS,
      FY_SAMPLES(scatter2_samples));
FY_OP(TensorListScatterIntoExistingList, .shape = shape_same_list, .compute = scatter_existing,
      .flags = FLAGS);
FY_OP(TensorListPushBack, .shape = shape_same_list, .compute = push, .flags = FLAGS);
FY_OP(TensorListSetItem, .shape = shape_same_list, .compute = set_item, .flags = FLAGS);
FY_OP(TensorListResize, .shape = shape_same_list, .compute = resize, .flags = FLAGS);
FY_OP(TensorListConcatLists, .shape = fy_shape_unchanged, .compute = concat_lists, .flags = FLAGS);
FY_OP(TensorListPushBackBatch, .shape = fy_shape_unchanged, .compute = push_batch, .flags = FLAGS);
FY_OP(TensorListGetItem, .shape = shape_get, .compute = get_item, .flags = READS);
FY_OP(TensorListPopBack, .shape = shape_pop, .compute = pop, .flags = READS);
FY_OP(TensorListLength, .shape = fy_shape_scalar, .compute = list_length, .flags = FLAGS);
FY_OP(TensorListElementShape, .shape = fy_shape_none, .compute = put_element_shape, .flags = FLAGS);
FY_OP(TensorListStack, .shape = shape_stack, .compute = stack, .flags = FLAGS);
FY_OP(TensorListGather, .shape = shape_gather, .compute = gather, .flags = FLAGS);
FY_OP(TensorListConcat, .shape = shape_concat, .compute = concat, .flags = FLAGS);
FY_OP(TensorListConcatV2, .shape = shape_concat, .compute = concat, .flags = FLAGS);
FY_OP(TensorListSplit, .shape = shape_from_tensor, .compute = split, .flags = FLAGS,
      FY_SAMPLES(split_samples));

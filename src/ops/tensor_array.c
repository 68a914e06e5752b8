// SPDX-License-Identifier: Apache-2.0
// tensor_array.c: TensorArrayV3 and its family: a resource that holds tensors by index. Every
// element is written once; reading may clear it. A "flow" scalar orders the ops in the graph. The
// gradient of an array is an array of the same size whose elements add up what is written to them.
// The handles of version 1 are references (execute/refs.c) to the same resource.
// Not here: version 2, whose handles are strings, and TensorArrayGrad of version 1, which takes one: a
// string cannot hold a reference, and nothing would tell when the array is no longer needed.

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/tensor_list.h"
#include "ops/tensor_list_impl.h"
#include "ops/values.h"

enum { READ = 1, CLEARED = 2 };  // an element that was read is written no more

typedef struct tensor_array {
  fy_object object;
  fy_mutex lock;
  fy_tensor_list *list;  // NULL once closed
  uint8_t *seen;         // [list->n] READ, CLEARED
  size_t cap;
  bool dynamic, clear_after_read, identical;
  bool adds;  // of a gradient: several writes are summed
  int64_t num_like;
  fy_tensor **like;  // [num_like] shapes of what was cleared; of a gradient: of its zeros; or NULL
  struct gradient {  // by source
    struct gradient *next;
    struct tensor_array *array;
    char source[];
  } * gradients;
} tensor_array;

static void destroy(fy_object *self) {
  tensor_array *a = (tensor_array *)self;
  if (a->like)
    for (int64_t i = 0; i < a->num_like; i++) fy_tensor_release(a->like[i]);
  fy_free(a->like);
  while (a->gradients) {
    struct gradient *g = a->gradients;
    a->gradients = g->next;
    fy_object_release(&g->array->object);
    fy_free(g);
  }
  if (a->list) fy_object_release(&a->list->object);
  fy_free(a->seen);
  fy_mutex_destroy(&a->lock);
  fy_free(a);
}

static const fy_object_type array_type = {"N10tensorflow11TensorArrayE", destroy};

static fy_code open_array(fy_kernel_ctx *ctx, tensor_array **out, fy_error *err) {
  fy_object *o = NULL;
  FY_TRY(fy_resource_object(ctx->in[0], &array_type, &o, err));
  tensor_array *a = (tensor_array *)o;
  fy_lock(&a->lock);
  if (!a->list) {
    fy_unlock(&a->lock);
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray has already been closed.");
  }
  *out = a;
  return FY_OK;
}

static fy_code resize(tensor_array *a, int64_t n, fy_error *err) {
  const int64_t before = a->list->n;
  if (!fy_grow(&a->seen, &a->cap, (size_t)n, sizeof *a->seen)) {
    return fy_fail_oom(err, (size_t)n);
  }
  FY_TRY(fy_tensor_list_resize(a->list, n, err));
  for (int64_t i = before; i < n; i++) a->seen[i] = 0;
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
// The handle of a resource is a scalar, but TensorFlow's shape functions call it a vector of two, as the
// strings were that it replaced; files carry that in _output_shapes.
static fy_code handle_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_set(ctx, 0, 1, (const int64_t[]){2}, err));
  return fy_shape_set(ctx, 1, 0, NULL, err);
}
static fy_code new_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return handle_shape(ctx, err);
}
// What really comes is a scalar: functions are compiled for the shapes of their arguments.
static fy_code check_handle(fy_shape_ctx *ctx, fy_error *err) {
  if (ctx->in[0].rank == 0) return FY_OK;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  return fy_dim_is(fy_dim_of(ctx->in[0], 0), 2, err);
}
// Input 0 is a handle, the last (of version 3) the flow; the rest has the ranks given, -1 for any.
static fy_code check_ranks(fy_shape_ctx *ctx, int32_t one, int32_t two, fy_error *err) {
  FY_TRY(check_handle(ctx, err));
  if (one >= 0) FY_TRY(fy_shape_rank_is(ctx->in[1], one, err));
  if (two >= 0) FY_TRY(fy_shape_rank_is(ctx->in[2], two, err));
  const int last = ctx->num_inputs - 1;
  return last > 0 ? fy_shape_rank_is(ctx->in[last], 0, err) : FY_OK;
}
static fy_code gather_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_ranks(ctx, 1, -1, err));
  const fy_attr *a = fy_attrs_get(ctx->attrs, "element_shape");
  int64_t dims[FY_MAX_RANK];
  if (!a || a->kind != FY_ATTR_SHAPE || a->v.shape.rank < 0 || a->v.shape.rank >= FY_MAX_RANK) {
    return FY_OK;
  }
  dims[0] = ctx->in[1].rank == 1 ? ctx->in[1].dims[0] : -1;
  for (int32_t i = 0; i < a->v.shape.rank; i++) dims[i + 1] = a->v.shape.dims[i];
  return fy_shape_set(ctx, 0, a->v.shape.rank + 1, dims, err);
}
static fy_code write_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_ranks(ctx, 0, -1, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code scatter_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_ranks(ctx, 1, -1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[2], 1, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code split_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_ranks(ctx, -1, 1, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code read_shape(fy_shape_ctx *ctx, fy_error *err) {
  return check_ranks(ctx, 0, -1, err);
}
static fy_code size_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_handle(ctx, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_handle(ctx, err));
  return handle_shape(ctx, err);
}
static fy_code ref_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return fy_shape_set(ctx, 0, 1, (const int64_t[]){2}, err);
}
static fy_code concat_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(check_ranks(ctx, -1, -1, err));
  return fy_shape_set(ctx, 1, 1, (const int64_t[]){-1}, err);
}

// ---------------------------------------------------------------- TensorArrayV3
static fy_code put_flow(fy_kernel_ctx *ctx, int i, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, i, 0, NULL, &out, err));
  *(float *)out->data = 0;
  return FY_OK;
}

static fy_code new_array(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_attr *shape = fy_site_attr(site, "element_shape");
  const bool has_shape = shape && shape->kind == FY_ATTR_SHAPE;
  char x[128];
  fy_tensor *out;
  if (ctx->in[0]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray size must be scalar, but had shape: %s",
                   fy_tensor_shape_text(ctx->in[0], x));
  }
  const int64_t n = fy_tensor_int(ctx->in[0], 0);
  if (n < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Size should be >= 0.");
  if (site->num_outputs > 1) FY_TRY(put_flow(ctx, 1, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  tensor_array *a = fy_calloc(1, sizeof *a);
  if (!a) return fy_fail_oom(err, sizeof *a);
  atomic_init(&a->object.refs, 1);
  a->object.type = &array_type;
  fy_mutex_init(&a->lock);
  a->dynamic = fy_site_bool(site, "dynamic_size");
  a->clear_after_read = fy_site_bool(site, "clear_after_read");
  a->identical = fy_site_attr(site, "identical_element_shapes") &&
                 fy_site_bool(site, "identical_element_shapes");
  fy_code code =
      fy_tensor_list_new(fy_site_type(site, "dtype"), has_shape ? shape->v.shape.rank : -1,
                         has_shape ? shape->v.shape.dims : NULL, 0, &a->list, err);
  if (!code) code = resize(a, n, err);
  if (code) {
    destroy(&a->object);
    return code;
  }
  fy_resource_put(out, &a->object);
  return FY_OK;
}

// ---------------------------------------------------------------- writing
static bool fits(const fy_tensor_list *l, int32_t rank, const int64_t *dims) {
  if (l->rank < 0) return true;
  if (l->rank != rank) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (l->dims[i] >= 0 && l->dims[i] != dims[i]) return false;
  }
  return true;
}

static bool agree(const fy_tensor_list *l, int32_t rank, const int64_t *dims) {
  bool same = l->rank == rank;
  for (int32_t i = 0; same && i < rank; i++) {
    same = dims[i] < 0 || l->dims[i] < 0 || dims[i] == l->dims[i];
  }
  return same;
}
// What all elements are, as a gather says.
static fy_code refine(tensor_array *a, int32_t rank, const int64_t *dims, fy_error *err) {
  fy_tensor_list *l = a->list;
  if (rank < 0) return FY_OK;
  if (l->rank < 0) {
    int64_t *own = fy_calloc((size_t)rank + 1, sizeof *own);
    if (!own) return fy_fail_oom(err, (size_t)rank * sizeof *own);
    for (int32_t i = 0; i < rank; i++) own[i] = dims[i];
    fy_free(l->dims);
    l->dims = own;
    l->rank = rank;
    return FY_OK;
  }
  if (!agree(l, rank, dims)) {
    return fy_list_fail_merge(l->rank, l->dims, rank, dims, err);
  }
  for (int32_t i = 0; i < rank; i++) l->dims[i] = l->dims[i] < 0 ? dims[i] : l->dims[i];
  return FY_OK;
}

// Element |at| of a gradient becomes its sum with |item|, which is let go.
static fy_code add_item(tensor_array *a, int64_t at, fy_tensor *item, fy_error *err) {
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

static fy_code check_write_type(const tensor_array *a, fy_dtype t, fy_error *err) {
  if (t == a->list->dtype) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "TensorArray dtype is %s but Op is trying to write dtype %s.",
                 fy_dtype_name(a->list->dtype), fy_dtype_name(t));
}

// Takes over one reference to |item|, also when it fails.
static fy_code write_item(tensor_array *a, int64_t at, fy_tensor *item, fy_error *err) {
  fy_tensor_list *l = a->list;
  char x[128], y[128];
  fy_code code = check_write_type(a, item->dtype, err);
  if (code) {
    // of another type
  } else if (at < 0 || (at >= l->n && !a->dynamic)) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to write to index %lld but array %s size is: %lld", (long long)at,
                   a->dynamic ? "is resizeable and" : "is not resizeable and", (long long)l->n);
  } else if (at >= l->n && (code = resize(a, at + 1, err)) != FY_OK) {
    // no memory
  } else if (!fits(l, item->rank, item->dims)) {
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "Could not write to TensorArray index %lld because the value shape is %s which "
                "is incompatible with the TensorArray's inferred element shape: %s (consider "
                "setting infer_shape=False).",
                (long long)at, fy_tensor_shape_text(item, x), fy_shape_text(l->rank, l->dims, y));
  }
  if (!code && a->identical) code = refine(a, item->rank, item->dims, err);
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
  tensor_array *a = NULL;
  fy_tensor *item;
  char x[128];
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray index must be scalar, but had shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  const fy_tensor *v = ctx->in[2];
  FY_TRY(put_flow(ctx, 0, err));
  FY_TRY(fy_list_keep(v, &item, err));
  fy_code code = open_array(ctx, &a, err);
  if (code) {
    fy_tensor_release(item);
    return code;
  }
  code = write_item(a, fy_tensor_int(ctx->in[1], 0), item, err);
  fy_unlock(&a->lock);
  return code;
}

static fy_code scatter_locked(fy_kernel_ctx *ctx, tensor_array *a, fy_error *err) {
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
  tensor_array *a = NULL;
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
  FY_TRY(put_flow(ctx, 0, err));
  FY_TRY(open_array(ctx, &a, err));
  fy_code code = scatter_locked(ctx, a, err);
  fy_unlock(&a->lock);
  return code;
}

// Version 1: row i of the value becomes element i.
static fy_code unpack(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *v = ctx->in[1];
  tensor_array *a = NULL;
  char x[128];
  if (v->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input value for unpack must be at least a vector but received shape: %s",
                   fy_tensor_shape_text(v, x));
  }
  FY_TRY(put_flow(ctx, 0, err));
  FY_TRY(open_array(ctx, &a, err));
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

static fy_code split_locked(fy_kernel_ctx *ctx, tensor_array *a, fy_error *err) {
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
  tensor_array *a = NULL;
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
  FY_TRY(put_flow(ctx, 0, err));
  FY_TRY(open_array(ctx, &a, err));
  fy_code code = split_locked(ctx, a, err);
  fy_unlock(&a->lock);
  return code;
}

// ---------------------------------------------------------------- reading
// A gradient made later still has to know the shape of what is cleared now.
static fy_code remember_shape(tensor_array *a, int64_t at, fy_error *err) {
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
static fy_code read_item(tensor_array *a, int64_t at, fy_tensor **out, fy_error *err) {
  fy_tensor_list *l = a->list;
  char x[128];
  *out = NULL;
  if (at < 0 || at >= l->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to read from index %lld but array size is: %lld", (long long)at,
                   (long long)l->n);
  }
  if (a->seen[at] & CLEARED) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Could not read index %lld twice because it was cleared after a previous read "
                   "(perhaps try setting clear_after_read = false?)",
                   (long long)at);
  }
  const uint8_t seen = a->clear_after_read ? READ | CLEARED : READ;
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

static fy_code check_read_type(const tensor_array *a, const fy_site *site, fy_error *err) {
  const fy_dtype want = fy_site_type(site, "dtype");
  if (want == a->list->dtype) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray dtype is %s but Op requested dtype %s.",
                 fy_dtype_name(a->list->dtype), fy_dtype_name(want));
}

static fy_code read(fy_kernel_ctx *ctx, fy_error *err) {
  tensor_array *a = NULL;
  fy_tensor *item = NULL;
  char x[128];
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray index must be scalar, but had shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  FY_TRY(open_array(ctx, &a, err));
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

// Joins elements: stacked (gather) or end to end (concat; |lengths| is output 1).
static fy_code join(fy_kernel_ctx *ctx, tensor_array *a, const fy_tensor *indices,
                    fy_tensor **items, int64_t n, bool stacked, fy_error *err) {
  char x[128], y[128];
  int64_t dims[FY_MAX_RANK], total = 0, at = 0;
  fy_tensor *out, *lengths = NULL;
  const fy_attr *shape =
      fy_site_attr(ctx->site, stacked ? "element_shape" : "element_shape_except0");
  FY_TRY(check_read_type(a, ctx->site, err));
  if (stacked && shape && shape->kind == FY_ATTR_SHAPE) {
    FY_TRY(refine(a, shape->v.shape.rank, shape->v.shape.dims, err));
  }
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(read_item(a, indices ? fy_tensor_int(indices, i) : i, &items[i], err));
  }
  if (n) FY_TRY(check_first(items[0], shape, stacked, err));
  for (int64_t i = 0; i < n; i++) {  // all were read, whatever comes now
    const fy_tensor *first = items[0], *t = items[i];
    const int32_t skip = stacked ? 0 : 1;
    if (t->rank < skip || t->rank >= FY_MAX_RANK) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Concat saw a scalar shape at index %lld but requires at least vectors.  Did you "
          "mean to call pack?",
          (long long)i);
    }
    if (t->rank != first->rank ||
        !fy_shape_equal(t->rank - skip, t->dims + skip, first->rank - skip, first->dims + skip)) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index %lld has "
          "shape: %s",
          fy_tensor_shape_text(first, x), (long long)i, fy_tensor_shape_text(t, y));
    }
    total += stacked ? 1 : t->dims[0];
  }
  int32_t rank = 0;
  const int64_t *from = NULL;
  if (n) {
    rank = items[0]->rank - (stacked ? 0 : 1);
    from = items[0]->dims + (stacked ? 0 : 1);
  } else {  // nothing to look at: the declared shape must tell
    const bool list_knows = a->list->rank >= (stacked ? 0 : 1);
    rank = shape && shape->kind == FY_ATTR_SHAPE ? shape->v.shape.rank : -1;
    from = rank > 0 ? shape->v.shape.dims : NULL;
    if (rank < 0 && list_knows) {
      rank = a->list->rank - (stacked ? 0 : 1);
      from = a->list->dims + (stacked ? 0 : 1);
    }
    bool known = rank >= 0 && rank < FY_MAX_RANK;
    for (int32_t i = 0; known && i < rank; i++) known = from[i] >= 0;
    if (!known) {
      return fy_fail(
          err, FY_UNIMPLEMENTED,
          "TensorArray has size zero, but element shape %s is not fully defined. Currently "
          "only static shapes are supported when %s zero-size TensorArrays.",
          fy_shape_text(rank, from, x), stacked ? "packing" : "concatenating");
    }
  }
  dims[0] = total;
  for (int32_t i = 0; i < rank; i++) dims[i + 1] = from[i];
  FY_TRY(fy_out(ctx, 0, rank + 1, dims, &out, err));
  if (!stacked) FY_TRY(fy_out(ctx, 1, 1, &n, &lengths, err));
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(
        fy_copy_elements(ctx, out->dtype, out->data, at, items[i]->data, 0, items[i]->count, err));
    at += items[i]->count;
    if (lengths) ((int64_t *)lengths->data)[i] = items[i]->dims[0];
  }
  return FY_OK;
}

static fy_code join_all(fy_kernel_ctx *ctx, const fy_tensor *indices, bool stacked, fy_error *err) {
  tensor_array *a = NULL;
  FY_TRY(open_array(ctx, &a, err));
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

static fy_code size(fy_kernel_ctx *ctx, fy_error *err) {
  tensor_array *a = NULL;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(open_array(ctx, &a, err));
  *(int32_t *)out->data = (int32_t)a->list->n;
  fy_unlock(&a->lock);
  return FY_OK;
}

static fy_code close_array(fy_kernel_ctx *ctx, fy_error *err) {
  fy_object *o = NULL;
  FY_TRY(fy_resource_object(ctx->in[0], &array_type, &o, err));
  tensor_array *a = (tensor_array *)o;
  fy_lock(&a->lock);
  fy_tensor_list *list = a->list;
  a->list = NULL;
  fy_unlock(&a->lock);
  if (list) fy_object_release(&list->object);
  return FY_OK;
}

// ---------------------------------------------------------------- gradients
// The shapes of all elements, also of those that were read and cleared.
static fy_code copy_shapes(tensor_array *g, const tensor_array *from, const fy_tensor *lead,
                           fy_error *err) {
  const int32_t extra = lead ? (int32_t)lead->count : 0;
  g->num_like = from->list->n;
  g->like = fy_calloc((size_t)g->num_like + 1, sizeof *g->like);
  if (!g->like) return fy_fail_oom(err, (size_t)g->num_like * sizeof *g->like);
  for (int64_t i = 0; i < g->num_like; i++) {
    const fy_tensor *t = from->list->items[i], *kept = NULL;
    int64_t dims[FY_MAX_RANK];
    if (!t && from->like && i < from->num_like) kept = from->like[i];
    const int64_t own = t ? t->rank : kept ? kept->count : FY_MAX_RANK, rank = own + extra;
    if ((!t && !kept) || rank > FY_MAX_RANK) continue;
    for (int32_t d = 0; d < extra; d++) dims[d] = fy_tensor_int(lead, d);
    for (int64_t d = 0; d < own; d++) dims[extra + d] = t ? t->dims[d] : fy_tensor_int(kept, d);
    FY_TRY(fy_tensor_from(FY_INT64, 1, &rank, dims, &g->like[i], err));
  }
  return FY_OK;
}

static fy_code make_gradient(tensor_array *a, const fy_tensor *lead, tensor_array **out,
                             fy_error *err) {
  tensor_array *g = fy_calloc(1, sizeof *g);
  int64_t dims[FY_MAX_RANK];
  int32_t rank = a->list->rank;
  if (!g) return fy_fail_oom(err, sizeof *g);
  atomic_init(&g->object.refs, 1);
  g->object.type = &array_type;
  fy_mutex_init(&g->lock);
  g->adds = true;
  if (lead && rank >= 0) {
    const int32_t extra = (int32_t)lead->count;
    if (rank + extra > FY_MAX_RANK) {
      destroy(&g->object);
      return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
    }
    for (int32_t d = 0; d < extra; d++) dims[d] = fy_tensor_int(lead, d);
    for (int32_t d = 0; d < rank; d++) dims[extra + d] = a->list->dims[d];
    rank += extra;
  } else if (rank >= 0) {
    for (int32_t d = 0; d < rank; d++) dims[d] = a->list->dims[d];
  }
  a->dynamic = false;  // it has its final size
  fy_code code = fy_tensor_list_new(a->list->dtype, rank, dims, 0, &g->list, err);
  if (!code) code = resize(g, a->list->n, err);
  if (!code) code = copy_shapes(g, a, lead, err);
  if (code)
    destroy(&g->object);
  else
    *out = g;
  return code;
}

static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_view source = fy_site_string(ctx->site, "source");
  const fy_tensor *lead = ctx->site->num_inputs > 2 ? ctx->in[2] : NULL;
  tensor_array *a = NULL, *g = NULL;
  fy_tensor *out;
  if (lead && lead->rank != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_to_prepend must be a vector");
  if (ctx->site->num_outputs > 1) FY_TRY(put_flow(ctx, 1, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(open_array(ctx, &a, err));
  fy_code code = FY_OK;
  for (struct gradient *e = a->gradients; e && !g; e = e->next)
    if (fy_view_is(source, e->source)) g = e->array;
  if (!g) {
    struct gradient *e = fy_malloc(sizeof *e + source.n + 1);
    code = e ? make_gradient(a, lead, &g, err) : fy_fail_oom(err, sizeof *e);
    if (code) {
      fy_free(e);
    } else {
      if (source.n) memcpy(e->source, source.p, source.n);
      e->source[source.n] = 0;
      e->array = g;
      e->next = a->gradients;
      a->gradients = e;
    }
  }
  if (!code) {
    fy_object_retain(&g->object);
    fy_resource_put(out, &g->object);
  }
  fy_unlock(&a->lock);
  return code;
}

#define FLAGS .flags = FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD
static const fy_sample new_samples[] = {
    {"i32[]=3", "dtype=float; element_shape=[2]", FY_OK, NULL},
    {"i32[1]=3", "dtype=float", FY_INVALID_ARGUMENT, "TensorArray size must be scalar"},
};

FY_OP(TensorArrayV3, .shape = new_shape, .compute = new_array, FLAGS, FY_SAMPLES(new_samples));
FY_OP(TensorArrayWriteV3, .shape = write_shape, .compute = write, FLAGS);
FY_OP(TensorArrayScatterV3, .shape = scatter_shape, .compute = scatter, FLAGS);
FY_OP(TensorArraySplitV3, .shape = split_shape, .compute = split, FLAGS);
FY_OP(TensorArrayReadV3, .shape = read_shape, .compute = read,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT);
FY_OP(TensorArrayGatherV3, .shape = gather_shape, .compute = gather, FLAGS);
FY_OP(TensorArrayConcatV3, .shape = concat_shape, .compute = concat, FLAGS);
FY_OP(TensorArraySizeV3, .shape = size_shape, .compute = size, FLAGS);
FY_OP(TensorArrayCloseV3, .shape = size_shape, .compute = close_array, FLAGS);
FY_OP(TensorArrayGradV3, .shape = grad_shape, .compute = gradient, FLAGS);
FY_OP(TensorArrayGradWithShape, .shape = grad_shape, .compute = gradient, FLAGS);

// Version 1.
FY_OP(TensorArray, .shape = ref_shape, .compute = new_array, FLAGS);
FY_OP(TensorArrayWrite, .shape = fy_shape_scalar, .compute = write, FLAGS);
FY_OP(TensorArrayScatter, .shape = fy_shape_scalar, .compute = scatter, FLAGS);
FY_OP(TensorArraySplit, .shape = fy_shape_scalar, .compute = split, FLAGS);
FY_OP(TensorArrayRead, .shape = fy_shape_none, .compute = read,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT);
FY_OP(TensorArrayGather, .shape = gather_shape, .compute = gather, FLAGS);
FY_OP(TensorArrayConcat, .shape = concat_shape, .compute = concat, FLAGS);
FY_OP(TensorArraySize, .shape = fy_shape_scalar, .compute = size, FLAGS);
FY_OP(TensorArrayClose, .shape = fy_shape_none, .compute = close_array, FLAGS);
FY_OP(TensorArrayUnpack, .shape = fy_shape_scalar, .compute = unpack, FLAGS);
FY_OP(TensorArrayPack, .shape = fy_shape_none, .compute = pack, FLAGS);

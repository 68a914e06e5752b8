// SPDX-License-Identifier: Apache-2.0
// tensor_array.c: TensorArrayV3 and its family: a resource that holds tensors by index. Every
// element is written once (tensor_array_write.c); reading may clear it (tensor_array_read.c). A "flow"
// scalar orders the ops in the graph. The gradient of an array is an array of the same size whose
// elements add up what is written to them. The handles of version 1 are references (execute/refs.c) to
// the same resource.
// Not here: version 2, whose handles are strings, and TensorArrayGrad of version 1, which takes one: a
// string cannot hold a reference, and nothing would tell when the array is no longer needed.

#include "ops/tensor_array.h"

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/tensor_list_impl.h"
#include "ops/values.h"

static void destroy(fy_object *self) {
  fy_tensor_array *a = (fy_tensor_array *)self;
  if (a->like)
    for (int64_t i = 0; i < a->num_like; i++) fy_tensor_release(a->like[i]);
  fy_free(a->like);
  while (a->gradients) {
    struct fy_array_gradient *g = a->gradients;
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

fy_code fy_array_open(fy_kernel_ctx *ctx, fy_tensor_array **out, fy_error *err) {
  fy_object *o = NULL;
  FY_TRY(fy_resource_object(ctx->in[0], &array_type, &o, err));
  fy_tensor_array *a = (fy_tensor_array *)o;
  fy_lock(&a->lock);
  if (!a->list) {
    fy_unlock(&a->lock);
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorArray has already been closed.");
  }
  *out = a;
  return FY_OK;
}

fy_code fy_array_resize(fy_tensor_array *a, int64_t n, fy_error *err) {
  const int64_t before = a->list->n;
  if (!fy_grow(&a->seen, &a->cap, (size_t)n, sizeof *a->seen)) {
    return fy_fail_oom(err, (size_t)n);
  }
  FY_TRY(fy_tensor_list_resize(a->list, n, err));
  for (int64_t i = before; i < n; i++) a->seen[i] = 0;
  return FY_OK;
}

static bool agree(const fy_tensor_list *l, int32_t rank, const int64_t *dims) {
  bool same = l->rank == rank;
  for (int32_t i = 0; same && i < rank; i++) {
    same = dims[i] < 0 || l->dims[i] < 0 || dims[i] == l->dims[i];
  }
  return same;
}
fy_code fy_array_refine(fy_tensor_array *a, int32_t rank, const int64_t *dims, fy_error *err) {
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
fy_code fy_array_check_ranks(fy_shape_ctx *ctx, int32_t one, int32_t two, fy_error *err) {
  FY_TRY(check_handle(ctx, err));
  if (one >= 0) FY_TRY(fy_shape_rank_is(ctx->in[1], one, err));
  if (two >= 0) FY_TRY(fy_shape_rank_is(ctx->in[2], two, err));
  const int last = ctx->num_inputs - 1;
  return last > 0 ? fy_shape_rank_is(ctx->in[last], 0, err) : FY_OK;
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
  return fy_shape_ref(ctx, err);
}

// ---------------------------------------------------------------- TensorArrayV3
fy_code fy_array_put_flow(fy_kernel_ctx *ctx, int i, fy_error *err) {
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
  if (site->num_outputs > 1) FY_TRY(fy_array_put_flow(ctx, 1, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_tensor_array *a = fy_calloc(1, sizeof *a);
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
  if (!code) code = fy_array_resize(a, n, err);
  if (code) {
    destroy(&a->object);
    return code;
  }
  fy_resource_put(out, &a->object);
  return FY_OK;
}

static fy_code size(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor_array *a = NULL;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(fy_array_open(ctx, &a, err));
  *(int32_t *)out->data = (int32_t)a->list->n;
  fy_unlock(&a->lock);
  return FY_OK;
}

static fy_code close_array(fy_kernel_ctx *ctx, fy_error *err) {
  fy_object *o = NULL;
  FY_TRY(fy_resource_object(ctx->in[0], &array_type, &o, err));
  fy_tensor_array *a = (fy_tensor_array *)o;
  fy_lock(&a->lock);
  fy_tensor_list *list = a->list;
  a->list = NULL;
  fy_unlock(&a->lock);
  if (list) fy_object_release(&list->object);
  return FY_OK;
}

// ---------------------------------------------------------------- gradients
// The shapes of all elements, also of those that were read and cleared.
static fy_code copy_shapes(fy_tensor_array *g, const fy_tensor_array *from, const fy_tensor *lead,
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

static fy_code make_gradient(fy_tensor_array *a, const fy_tensor *lead, fy_tensor_array **out,
                             fy_error *err) {
  fy_tensor_array *g = fy_calloc(1, sizeof *g);
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
  if (!code) code = fy_array_resize(g, a->list->n, err);
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
  fy_tensor_array *a = NULL, *g = NULL;
  fy_tensor *out;
  if (lead && lead->rank != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_to_prepend must be a vector");
  if (ctx->site->num_outputs > 1) FY_TRY(fy_array_put_flow(ctx, 1, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(fy_array_open(ctx, &a, err));
  fy_code code = FY_OK;
  for (struct fy_array_gradient *e = a->gradients; e && !g; e = e->next)
    if (fy_view_is(source, e->source)) g = e->array;
  if (!g) {
    struct fy_array_gradient *e = fy_malloc(sizeof *e + source.n + 1);
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

static const fy_sample new_samples[] = {
    {"i32[]=3", "dtype=float; element_shape=[2]", FY_OK, NULL},
    {"i32[1]=3", "dtype=float", FY_INVALID_ARGUMENT, "TensorArray size must be scalar"},
};

FY_OP(TensorArrayV3, .shape = new_shape, .compute = new_array, .flags = FY_ARRAY_FLAGS,
      FY_SAMPLES(new_samples));
FY_OP(TensorArraySizeV3, .shape = size_shape, .compute = size, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayCloseV3, .shape = size_shape, .compute = close_array, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayGradV3, .shape = grad_shape, .compute = gradient, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayGradWithShape, .shape = grad_shape, .compute = gradient, .flags = FY_ARRAY_FLAGS);

// Version 1.
FY_OP(TensorArray, .shape = ref_shape, .compute = new_array, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArraySize, .shape = fy_shape_scalar, .compute = size, .flags = FY_ARRAY_FLAGS);
FY_OP(TensorArrayClose, .shape = fy_shape_none, .compute = close_array, .flags = FY_ARRAY_FLAGS);

// SPDX-License-Identifier: Apache-2.0
// barrier.c: a barrier collects the components of tuples by key, each at its own time. Complete tuples
// leave in the order of the inserts that brought their keys; those of one insert, as they became
// complete.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/named.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct tuple {
  int64_t index, order;  // which insert brought the key; when it became ready
  char *key;
  size_t key_n;
  bool ready;
  fy_tensor **items;  // [width]
} tuple;

typedef struct barrier {
  fy_object object;
  fy_mutex lock;
  fy_cond changed;
  tuple *tuples;  // by index
  size_t n, cap;
  int width;
  fy_dtype *types;
  fy_pshape *shapes;  // or NULL
  fy_arena arena;
  int64_t next, ready_count;
  bool closed, cancelled;
  char name[128];
} barrier;

static void free_tuple(tuple *t, int width) {
  for (int i = 0; i < width; i++) fy_tensor_release(t->items[i]);
  fy_free(t->items);
  fy_free(t->key);
}

static void destroy(fy_object *self) {
  barrier *b = (barrier *)self;
  for (size_t i = 0; i < b->n; i++) free_tuple(&b->tuples[i], b->width);
  fy_free(b->tuples);
  fy_arena_free(&b->arena);
  fy_cond_destroy(&b->changed);
  fy_mutex_destroy(&b->lock);
  fy_free(b);
}

static const fy_object_type barrier_type = {"N10tensorflow7barrier7BarrierE", destroy};

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  const fy_site *site = arg;
  const fy_attr *types = fy_site_attr(site, "component_types"),
                *shapes = fy_site_attr(site, "shapes");
  (void)container;
  barrier *b = fy_calloc(1, sizeof *b);
  if (!b) return fy_fail_oom(err, sizeof *b);
  atomic_init(&b->object.refs, 1);
  b->object.type = &barrier_type;
  fy_mutex_init(&b->lock);
  fy_cond_init(&b->changed);
  fy_arena_init(&b->arena);
  b->next = INT64_MIN;
  b->width = types ? (int)types->n : 0;
  snprintf(b->name, sizeof b->name, "%.*s", (int)name.n, name.p);
  b->types = fy_arena_array(&b->arena, (size_t)b->width + 1, sizeof *b->types);
  fy_code code = b->types ? FY_OK : fy_fail_oom(err, sizeof *b->types);
  for (int i = 0; i < b->width && !code; i++) b->types[i] = types->v.types[i];
  if (!code && shapes && shapes->n) {
    b->shapes = fy_arena_array(&b->arena, (size_t)b->width + 1, sizeof *b->shapes);
    if (!b->shapes) code = fy_fail_oom(err, sizeof *b->shapes);
    if (!code && (int)shapes->n != b->width)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Different number of component types and shapes");
    for (int i = 0; i < b->width && !code; i++) {
      const fy_pshape s = shapes->v.shapes[i];
      const int64_t *dims =
          s.rank > 0 ? fy_arena_memdup(&b->arena, s.dims, (size_t)s.rank * sizeof *dims) : NULL;
      if (s.rank > 0 && !dims) code = fy_fail_oom(err, sizeof *dims);
      b->shapes[i] = (fy_pshape){s.rank, dims};
    }
  }
  if (code)
    destroy(&b->object);
  else
    *out = &b->object;
  return code;
}

static fy_code handle(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_named_handle(ctx, &barrier_type, make, err);
}

static fy_code open_barrier(fy_kernel_ctx *ctx, barrier **out, fy_error *err) {
  fy_object *o;
  *out = NULL;
  FY_TRY(fy_resource_object(ctx->in[0], &barrier_type, &o, err));
  *out = (barrier *)o;
  return FY_OK;
}

// ---------------------------------------------------------------- inserting
static tuple *find(barrier *b, fy_view key) {
  for (size_t i = 0; i < b->n; i++) {
    tuple *t = &b->tuples[i];
    if (!t->ready && t->key_n == key.n && !memcmp(t->key, key.p, key.n)) return t;
  }
  return NULL;
}

static fy_code add(barrier *b, fy_view key, tuple **out, fy_error *err) {
  fy_tensor **items = fy_calloc((size_t)b->width + 1, sizeof *items);
  char *copy = fy_strndup(key.n ? key.p : "", key.n);
  if (!items || !copy || !fy_grow(&b->tuples, &b->cap, b->n + 1, sizeof *b->tuples)) {
    fy_free(items);
    fy_free(copy);
    return fy_fail_oom(err, sizeof *b->tuples);
  }
  b->tuples[b->n] = (tuple){.index = b->next - 1, .key = copy, .key_n = key.n, .items = items};
  *out = &b->tuples[b->n++];
  return FY_OK;
}

static size_t count(const barrier *b, bool ready) {
  size_t n = 0;
  for (size_t i = 0; i < b->n; i++) n += b->tuples[i].ready == ready;
  return n;
}

static fy_code insert_one(barrier *b, fy_view key, int component, const fy_tensor *values,
                          int64_t row, fy_error *err) {
  tuple *t = find(b, key);
  fy_tensor *item;
  if (!t && b->closed)
    return fy_fail(err, FY_CANCELLED,
                   "Barrier %s is closed, but attempted to insert a brand new key: %.*s.  Pending "
                   "enqueues cancelled: %d.  Insertion index: %lld.  Number of incomplete keys: "
                   "%zu.",
                   b->name, (int)key.n, key.p, b->cancelled, (long long)row, count(b, false));
  if (!t) FY_TRY(add(b, key, &t, err));
  if (t->items[component])
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Key %.*s already has a value for component %d in barrier %s", (int)key.n, key.p,
                   component, b->name);
  FY_TRY(fy_tensor_new(values->dtype, values->rank - 1, values->dims + 1, &item, err));
  fy_code code =
      fy_copy_run(values->dtype, item->data, 0, values->data, row * item->count, item->count, err);
  if (code) {
    fy_tensor_release(item);
    return code;
  }
  t->items[component] = item;
  t->ready = true;
  for (int i = 0; i < b->width; i++) t->ready &= t->items[i] != NULL;
  if (t->ready) t->order = b->ready_count++;
  return FY_OK;
}

static fy_code check_insert(const barrier *b, int64_t component, const fy_tensor *keys,
                            const fy_tensor *values, fy_error *err) {
  char x[128], y[128];
  if (component < 0 || component >= b->width)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The component ID is out of range %lld > num_components (= %d)",
                   (long long)component, b->width);
  if (values->dtype != b->types[component])
    return fy_fail(err, FY_INVALID_ARGUMENT, "Type mismatch in component %lld. Expected %s, got %s",
                   (long long)component, fy_dtype_name(b->types[component]),
                   fy_dtype_name(values->dtype));
  if (keys->rank != 1 || values->rank < 1 || keys->count != values->dims[0])
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensors must have as many rows as there are keys: %s vs. %s",
                   fy_tensor_shape_text(values, x), fy_tensor_shape_text(keys, y));
  return FY_OK;
}

static fy_code insert_many(fy_kernel_ctx *ctx, fy_error *err) {
  barrier *b;
  const int64_t component = fy_site_int(ctx->site, "component_index");
  const fy_tensor *keys = ctx->in[1], *values = ctx->in[2];
  FY_TRY(open_barrier(ctx, &b, err));
  FY_TRY(check_insert(b, component, keys, values, err));
  fy_code code = FY_OK;
  fy_lock(&b->lock);
  if (b->cancelled)
    code =
        fy_fail(err, FY_CANCELLED, "Barrier %s is closed. Pending enqueues cancelled: 1", b->name);
  b->next++;
  for (int64_t i = 0; i < keys->count && !code; i++)
    code = insert_one(b, fy_tensor_string(keys, i), (int)component, values, i, err);
  fy_cond_broadcast(&b->changed);
  fy_unlock(&b->lock);
  return code;
}

// ---------------------------------------------------------------- taking
static fy_code put_component(fy_kernel_ctx *ctx, tuple **list, int64_t n, int c, const barrier *b,
                             fy_error *err) {
  const fy_tensor *first = n ? list[0]->items[c] : NULL;
  const fy_pshape want = b->shapes ? b->shapes[c] : FY_UNKNOWN_SHAPE;
  const int32_t rank = first ? first->rank : want.rank > 0 ? want.rank : 0;
  int64_t dims[FY_MAX_RANK + 1] = {n};
  fy_tensor *out;
  for (int32_t d = 0; d < rank; d++) dims[d + 1] = first ? first->dims[d] : want.dims[d];
  FY_TRY(fy_out(ctx, 2 + c, rank + 1, dims, &out, err));
  for (int64_t i = 0; i < n; i++) {
    const fy_tensor *t = list[i]->items[c];
    if (!fy_shape_equal(t->rank, t->dims, first->rank, first->dims))
      return fy_fail(err, FY_INVALID_ARGUMENT, "The values of component %d have several shapes", c);
    FY_TRY(fy_copy_run(t->dtype, out->data, i * t->count, t->data, 0, t->count, err));
  }
  return FY_OK;
}

static fy_code put_outputs(fy_kernel_ctx *ctx, barrier *b, tuple **list, int64_t n, fy_error *err) {
  fy_tensor *indices, *keys;
  FY_TRY(fy_out(ctx, 0, 1, &n, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &keys, err));
  for (int64_t i = 0; i < n; i++) {
    ((int64_t *)indices->data)[i] = list[i]->index;
    if (!fy_tensor_set_string(keys, i, list[i]->key, list[i]->key_n))
      return fy_fail_oom(err, list[i]->key_n);
  }
  for (int c = 0; c < b->width; c++) FY_TRY(put_component(ctx, list, n, c, b, err));
  return FY_OK;
}

static int by_order(const void *pa, const void *pb) {
  const tuple *a = *(tuple *const *)pa, *b = *(tuple *const *)pb;
  if (a->index != b->index) return a->index < b->index ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static fy_code take_locked(fy_kernel_ctx *ctx, barrier *b, int64_t want, fy_error *err) {
  const bool small = fy_site_bool(ctx->site, "allow_small_batch");
  int64_t ready;
  while ((ready = (int64_t)count(b, true)) < want) {
    const bool last = b->closed && (b->cancelled || !count(b, false));
    if (last && small && ready) break;
    if (last)
      return fy_fail(err, FY_OUT_OF_RANGE,
                     "Barrier '%s' is closed and has insufficient elements (requested %lld, total "
                     "size %lld)",
                     b->name, (long long)want, (long long)ready);
    FY_TRY(fy_named_wait(ctx, &b->changed, &b->lock, "Dequeue", err));
  }
  const int64_t n = ready < want ? ready : want;
  tuple **list = fy_calloc((size_t)ready + 1, sizeof *list);
  if (!list) return fy_fail_oom(err, (size_t)ready * sizeof *list);
  size_t found = 0;
  for (size_t i = 0; i < b->n; i++)
    if (b->tuples[i].ready) list[found++] = &b->tuples[i];
  if (found) qsort(list, found, sizeof *list, by_order);
  fy_code code = put_outputs(ctx, b, list, n, err);
  if (!code) {
    size_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
      free_tuple(list[i], b->width);
      list[i]->items = NULL;
    }
    for (size_t i = 0; i < b->n; i++) {
      if (b->tuples[i].items) {
        b->tuples[kept++] = b->tuples[i];
      }
    }
    b->n = kept;
  }
  fy_free(list);
  return code;
}

static fy_code take_many(fy_kernel_ctx *ctx, fy_error *err) {
  barrier *b;
  FY_TRY(open_barrier(ctx, &b, err));
  if (ctx->in[1]->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_elements must be a scalar.");
  const int64_t want = fy_tensor_int(ctx->in[1], 0);
  if (want < 0 || ctx->site->num_outputs != b->width + 2)
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_elements must be positive");
  fy_lock(&b->lock);
  fy_code code = take_locked(ctx, b, want, err);
  fy_cond_broadcast(&b->changed);
  fy_unlock(&b->lock);
  return code;
}

static fy_code close_barrier(fy_kernel_ctx *ctx, fy_error *err) {
  barrier *b;
  const bool cancel = fy_site_bool(ctx->site, "cancel_pending_enqueues");
  FY_TRY(open_barrier(ctx, &b, err));
  fy_lock(&b->lock);
  const bool again = b->closed && (b->cancelled || !cancel);
  b->closed = true;
  b->cancelled |= cancel;
  fy_cond_broadcast(&b->changed);
  fy_unlock(&b->lock);
  return again ? fy_fail(err, FY_CANCELLED, "Barrier '%s' is already closed.", b->name) : FY_OK;
}

static fy_code put_count(fy_kernel_ctx *ctx, bool ready, fy_error *err) {
  barrier *b;
  fy_tensor *out;
  FY_TRY(open_barrier(ctx, &b, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&b->lock);
  *(int32_t *)out->data = (int32_t)count(b, ready);
  fy_unlock(&b->lock);
  return FY_OK;
}
static fy_code ready_size(fy_kernel_ctx *ctx, fy_error *err) {
  return put_count(ctx, true, err);
}
static fy_code incomplete_size(fy_kernel_ctx *ctx, fy_error *err) {
  return put_count(ctx, false, err);
}

static fy_code insert_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n;
  FY_TRY(fy_shape_handle(ctx, 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[2], 1, err));
  return fy_dim_merge(fy_dim_of(ctx->in[1], 0), fy_dim_of(ctx->in[2], 0), &n, err);
}

#define HOST .flags = FY_OP_HOST | FY_OP_NO_FOLD
FY_OP(Barrier, .shape = fy_shape_ref, .compute = handle, HOST);
FY_OP(BarrierInsertMany, .shape = insert_shape, .compute = insert_many, HOST);
FY_OP(BarrierTakeMany, .shape = fy_shape_none, .compute = take_many,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_ASYNC | FY_OP_DYNAMIC);
FY_OP(BarrierClose, .shape = fy_shape_of_handles, .compute = close_barrier, HOST);
FY_OP(BarrierReadySize, .shape = fy_shape_of_handles, .compute = ready_size, HOST);
FY_OP(BarrierIncompleteSize, .shape = fy_shape_of_handles, .compute = incomplete_size, HOST);

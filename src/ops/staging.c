// SPDX-License-Identifier: Apache-2.0
// staging.c: staging areas: Stage and Unstage (first in, first out), MapStage and OrderedMapStage (by
// key, each value of a tuple at its own time). A full or empty area blocks its caller.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/named.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct tuple {
  int64_t key;
  bool complete;
  size_t bytes;
  fy_tensor **items;  // [width] NULL: not there
} tuple;

typedef struct area {
  fy_object object;
  fy_mutex lock;
  fy_cond changed;
  tuple *tuples;  // in order of arrival, or by key if the area is ordered
  size_t n, cap;
  int width;
  int64_t capacity, memory_limit;  // 0: none
  size_t bytes;
  bool keyed, ordered;
} area;

static void free_tuple(tuple *t, int width) {
  for (int i = 0; i < width; i++) fy_tensor_release(t->items[i]);
  fy_free(t->items);
}

static void clear_area(area *a) {
  for (size_t i = 0; i < a->n; i++) free_tuple(&a->tuples[i], a->width);
  a->n = a->bytes = 0;
}

static void destroy(fy_object *self) {
  area *a = (area *)self;
  clear_area(a);
  fy_free(a->tuples);
  fy_cond_destroy(&a->changed);
  fy_mutex_destroy(&a->lock);
  fy_free(a);
}

static const fy_object_type stage_type = {"N10tensorflow12_GLOBAL__N_16BufferE", destroy};
static const fy_object_type map_type = {"N10tensorflow12_GLOBAL__N_110StagingMapILb0EEE", destroy};
static const fy_object_type ordered_type = {"N10tensorflow12_GLOBAL__N_110StagingMapILb1EEE",
                                            destroy};

static bool is_keyed(const fy_site *site) {
  return strstr(site->op->spec->name, "Map") != NULL;
}

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  const fy_site *site = arg;
  const fy_attr *types = fy_site_attr(site, "dtypes");
  (void)container, (void)name;
  area *a = fy_calloc(1, sizeof *a);
  if (!a) return fy_fail_oom(err, sizeof *a);
  atomic_init(&a->object.refs, 1);
  a->keyed = is_keyed(site);
  a->ordered = site->op->spec->name[0] == 'O';
  a->object.type = a->ordered ? &ordered_type : a->keyed ? &map_type : &stage_type;
  fy_mutex_init(&a->lock);
  fy_cond_init(&a->changed);
  a->width = types ? (int)types->n : 0;
  a->capacity = fy_site_int(site, "capacity");
  a->memory_limit = fy_site_int(site, "memory_limit");
  *out = &a->object;
  return FY_OK;
}

// The area of this node, with a reference of the caller's own.
static fy_code open_area(fy_kernel_ctx *ctx, area **out, fy_error *err) {
  fy_object *o = NULL;
  const fy_site *site = ctx->site;
  const fy_object_type *type = site->op->spec->name[0] == 'O' ? &ordered_type
                               : is_keyed(site)               ? &map_type
                                                              : &stage_type;
  *out = NULL;
  FY_TRY(fy_named_get(ctx, type, make, &o, err));
  *out = (area *)o;
  return FY_OK;
}

static bool is_full(const area *a, size_t more) {
  size_t complete = 0;
  for (size_t i = 0; i < a->n; i++) complete += a->tuples[i].complete;
  return (a->capacity > 0 && (int64_t)complete >= a->capacity) ||
         (a->memory_limit > 0 && a->bytes + more > (size_t)a->memory_limit);
}

// Makes a place for |key| at the end, or where it belongs by order.
static fy_code add_tuple(area *a, int64_t key, tuple **out, fy_error *err) {
  fy_tensor **items = fy_calloc((size_t)a->width + 1, sizeof *items);
  if (!items || !fy_grow(&a->tuples, &a->cap, a->n + 1, sizeof *a->tuples)) {
    fy_free(items);
    return fy_fail_oom(err, sizeof *a->tuples);
  }
  size_t at = a->n;
  if (a->ordered)
    while (at > 0 && a->tuples[at - 1].key > key) at--;
  memmove(&a->tuples[at + 1], &a->tuples[at], (a->n - at) * sizeof *a->tuples);
  a->tuples[at] = (tuple){.key = key, .items = items};
  a->n++;
  *out = &a->tuples[at];
  return FY_OK;
}

static void remove_tuple(area *a, tuple *t) {
  a->bytes -= t->bytes;
  free_tuple(t, a->width);
  const size_t at = (size_t)(t - a->tuples);
  memmove(t, t + 1, (a->n - at - 1) * sizeof *t);
  a->n--;
}

static tuple *find_key(area *a, int64_t key) {
  for (size_t i = 0; i < a->n; i++)
    if (a->tuples[i].key == key) return &a->tuples[i];
  return NULL;
}

static size_t bytes_of(fy_kernel_ctx *ctx, int first) {
  size_t n = 0;
  for (int i = first; i < ctx->site->num_inputs; i++) n += fy_tensor_bytes(ctx->in[i]);
  return n;
}

static fy_code wait_for_room(fy_kernel_ctx *ctx, area *a, size_t bytes, fy_error *err) {
  if (a->memory_limit > 0 && bytes > (size_t)a->memory_limit)
    return fy_fail(
        err, FY_RESOURCE_EXHAUSTED,
        "Attempted to insert tensors with combined size of '%zu' bytes into Staging Area "
        "with a memory limit of '%lld'.",
        bytes, (long long)a->memory_limit);
  while (is_full(a, bytes)) FY_TRY(fy_named_wait(ctx, &a->changed, &a->lock, "Stage", err));
  return FY_OK;
}

// ---------------------------------------------------------------- Stage
static fy_code stage(fy_kernel_ctx *ctx, fy_error *err) {
  area *a;
  tuple *t = NULL;
  FY_TRY(open_area(ctx, &a, err));
  fy_lock(&a->lock);
  fy_code code =
      a->width == ctx->site->num_inputs
          ? wait_for_room(ctx, a, bytes_of(ctx, 0), err)
          : fy_fail(err, FY_INVALID_ARGUMENT, "The staging area holds tuples of %d", a->width);
  if (!code) code = add_tuple(a, 0, &t, err);
  for (int i = 0; i < ctx->site->num_inputs && !code; i++)
    code = fy_named_keep(ctx->in[i], &t->items[i], err);
  if (t && code) {
    remove_tuple(a, t);
  } else if (t) {
    t->complete = true;
    t->bytes = bytes_of(ctx, 0);
    a->bytes += t->bytes;
    fy_cond_broadcast(&a->changed);
  }
  fy_unlock(&a->lock);
  fy_object_release(&a->object);
  return code;
}

static void publish(fy_kernel_ctx *ctx, int i, fy_tensor *t) {
  fy_tensor_retain(t);
  fy_out_set(ctx, i, t);
}

static fy_code check_tuple(fy_kernel_ctx *ctx, const tuple *t, int width, fy_error *err) {
  if (ctx->site->num_outputs != width)
    return fy_fail(err, FY_INVALID_ARGUMENT, "The staging area holds tuples of %d, %d wanted",
                   width, ctx->site->num_outputs);
  for (int i = 0; i < width; i++)
    if (!t->items[i] || t->items[i]->dtype != ctx->site->out_types[i])
      return fy_fail(err, FY_INVALID_ARGUMENT, "Mismatched types at component %d", i);
  return FY_OK;
}

// Unstage takes the first; StagePeek(index) looks at one.
static fy_code unstage(fy_kernel_ctx *ctx, fy_error *err) {
  area *a;
  const bool peek = ctx->site->num_inputs > 0;
  if (peek && ctx->in[0]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "index must be scalar");
  }
  const int64_t at = peek ? fy_tensor_int(ctx->in[0], 0) : 0;
  if (at < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "index %lld is negative", (long long)at);
  FY_TRY(open_area(ctx, &a, err));
  fy_code code = FY_OK;
  fy_lock(&a->lock);
  while (!code && (int64_t)a->n <= at)
    code = fy_named_wait(ctx, &a->changed, &a->lock, "Unstage", err);
  if (!code) code = check_tuple(ctx, &a->tuples[at], a->width, err);
  if (!code) {
    for (int i = 0; i < a->width; i++) publish(ctx, i, a->tuples[at].items[i]);
    if (!peek) remove_tuple(a, &a->tuples[at]);
    fy_cond_broadcast(&a->changed);
  }
  fy_unlock(&a->lock);
  fy_object_release(&a->object);
  return code;
}

// ---------------------------------------------------------------- MapStage
static fy_code check_indices(const area *a, const fy_tensor *indices, int values, fy_error *err) {
  if (indices->rank != 1 || indices->count != values)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "indices and values sizes '%lld' and '%d' should match",
                   (long long)indices->count, values);
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    if (at < 0 || at >= a->width)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Index '%lld' for key is outside of the expected range [0, %d)", (long long)at,
                     a->width);
  }
  return FY_OK;
}

static fy_code need_key(const fy_kernel_ctx *ctx, fy_error *err) {
  if (ctx->in[0]->count > 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "key must not be empty");
}

static fy_code put_values(fy_kernel_ctx *ctx, area *a, fy_error *err) {
  FY_TRY(need_key(ctx, err));
  const int64_t key = fy_tensor_int(ctx->in[0], 0);
  const fy_tensor *indices = ctx->in[1];
  tuple *t = find_key(a, key);
  for (int64_t i = 0; t && i < indices->count; i++)
    if (t->items[fy_tensor_int(indices, i)])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The tensor for index '%lld' for key '%lld' was already initialized '%d'.",
                     (long long)fy_tensor_int(indices, i), (long long)key, a->width);
  const bool fresh = !t;
  if (fresh) FY_TRY(add_tuple(a, key, &t, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; i < indices->count && !code; i++) {
    fy_tensor **slot = &t->items[fy_tensor_int(indices, i)];
    if (*slot)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "An index is given twice");
    else
      code = fy_named_keep(ctx->in[2 + i], slot, err);
    if (!code) {
      t->bytes += fy_tensor_bytes(*slot);
      a->bytes += fy_tensor_bytes(*slot);
    }
  }
  if (code && fresh) {
    remove_tuple(a, t);
    return code;
  }
  t->complete = true;
  for (int i = 0; i < a->width; i++) t->complete &= t->items[i] != NULL;
  return code;
}

static fy_code map_stage(fy_kernel_ctx *ctx, fy_error *err) {
  area *a;
  if (ctx->in[0]->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "key must be an int64 scalar");
  FY_TRY(open_area(ctx, &a, err));
  fy_lock(&a->lock);
  fy_code code = check_indices(a, ctx->in[1], ctx->site->num_inputs - 2, err);
  if (!code) code = wait_for_room(ctx, a, bytes_of(ctx, 2), err);
  if (!code) code = put_values(ctx, a, err);
  fy_cond_broadcast(&a->changed);
  fy_unlock(&a->lock);
  fy_object_release(&a->object);
  return code;
}

// Publishes what |indices| name; with |take|, it leaves the area, and its tuple when it is empty.
static fy_code get_values(fy_kernel_ctx *ctx, area *a, tuple *t, const fy_tensor *indices,
                          int first, bool take, fy_error *err) {
  for (int64_t i = 0; i < indices->count; i++) {
    const fy_tensor *v = t->items[fy_tensor_int(indices, i)];
    if (!v)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Tensor at index '%lld' for key '%lld' has already been removed.",
                     (long long)fy_tensor_int(indices, i), (long long)t->key);
    if (v->dtype != ctx->site->out_types[first + i])
      return fy_fail(err, FY_INVALID_ARGUMENT, "Mismatched types at component %lld", (long long)i);
  }
  for (int64_t i = 0; i < indices->count; i++)
    publish(ctx, first + (int)i, t->items[fy_tensor_int(indices, i)]);
  if (!take) return FY_OK;
  bool left = false;
  for (int64_t i = 0; i < indices->count; i++) {
    fy_tensor **slot = &t->items[fy_tensor_int(indices, i)];
    if (!*slot) continue;
    const size_t bytes = fy_tensor_bytes(*slot);
    t->bytes -= bytes;
    a->bytes -= bytes;
    fy_tensor_release(*slot);
    *slot = NULL;
  }
  for (int i = 0; i < a->width; i++) left |= t->items[i] != NULL;
  if (!left) remove_tuple(a, t);
  return FY_OK;
}

static tuple *first_complete(area *a) {
  for (size_t i = 0; i < a->n; i++)
    if (a->tuples[i].complete) return &a->tuples[i];
  return NULL;
}

static fy_code map_take(fy_kernel_ctx *ctx, fy_error *err) {
  const char *name = ctx->site->op->spec->name;
  const bool any = ctx->site->num_inputs == 1, take = !strstr(name, "Peek");
  const fy_tensor *indices = ctx->in[any ? 0 : 1];
  area *a;
  tuple *t = NULL;
  if (!any) FY_TRY(need_key(ctx, err));
  FY_TRY(open_area(ctx, &a, err));
  fy_lock(&a->lock);
  fy_code code = check_indices(a, indices, ctx->site->num_outputs - any, err);
  while (!code) {
    t = any ? first_complete(a) : find_key(a, fy_tensor_int(ctx->in[0], 0));
    if (t && t->complete) break;
    code = fy_named_wait(ctx, &a->changed, &a->lock, take ? "Unstage" : "Peek", err);
  }
  if (!code && any) {
    fy_tensor *key;
    code = fy_out(ctx, 0, 0, NULL, &key, err);
    if (!code) *(int64_t *)key->data = t->key;
  }
  if (!code) code = get_values(ctx, a, t, indices, any, take, err);
  fy_cond_broadcast(&a->changed);
  fy_unlock(&a->lock);
  fy_object_release(&a->object);
  return code;
}

// ---------------------------------------------------------------- sizes
static fy_code count(fy_kernel_ctx *ctx, bool complete, fy_error *err) {
  area *a;
  fy_tensor *out;
  int32_t n = 0;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(open_area(ctx, &a, err));
  fy_lock(&a->lock);
  for (size_t i = 0; i < a->n; i++) n += a->tuples[i].complete == complete;
  fy_unlock(&a->lock);
  fy_object_release(&a->object);
  *(int32_t *)out->data = n;
  return FY_OK;
}
static fy_code size(fy_kernel_ctx *ctx, fy_error *err) {
  return count(ctx, true, err);
}
static fy_code incomplete_size(fy_kernel_ctx *ctx, fy_error *err) {
  return count(ctx, false, err);
}

static fy_code clear(fy_kernel_ctx *ctx, fy_error *err) {
  area *a;
  FY_TRY(open_area(ctx, &a, err));
  fy_lock(&a->lock);
  clear_area(a);
  fy_cond_broadcast(&a->changed);
  fy_unlock(&a->lock);
  fy_object_release(&a->object);
  return FY_OK;
}

#define HOST   .flags = FY_OP_HOST | FY_OP_NO_FOLD
#define BLOCKS .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_ASYNC | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC
FY_OP(Stage, .shape = fy_shape_none, .compute = stage, BLOCKS);
FY_OP(Unstage, .shape = fy_shape_none, .compute = unstage, BLOCKS);
FY_OP(StagePeek, .shape = fy_shape_none, .compute = unstage, BLOCKS);
FY_OP(StageSize, .shape = fy_shape_scalar, .compute = size, HOST);
FY_OP(StageClear, .shape = fy_shape_none, .compute = clear, HOST);
#define MAP_OPS(Map)                                                                      \
  FY_OP(Map##Stage, .shape = fy_shape_none, .compute = map_stage, BLOCKS);                \
  FY_OP(Map##Unstage, .shape = fy_shape_none, .compute = map_take, BLOCKS);               \
  FY_OP(Map##UnstageNoKey, .shape = fy_shape_none, .compute = map_take, BLOCKS);          \
  FY_OP(Map##Peek, .shape = fy_shape_none, .compute = map_take, BLOCKS);                  \
  FY_OP(Map##Size, .shape = fy_shape_scalar, .compute = size, HOST);                      \
  FY_OP(Map##IncompleteSize, .shape = fy_shape_scalar, .compute = incomplete_size, HOST); \
  FY_OP(Map##Clear, .shape = fy_shape_none, .compute = clear, HOST)
MAP_OPS(Map);
MAP_OPS(OrderedMap);

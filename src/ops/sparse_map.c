// SPDX-License-Identifier: Apache-2.0
// sparse_map.c: sparse tensors that wait in a shared map, named by a number each:
// AddSparseToTensorsMap, AddManySparseToTensorsMap, TakeManySparseFromTensorsMap (which empties it).

#include <stdio.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

typedef struct sparse_map {
  fy_object object;
  fy_mutex lock;
  fy_sparse *items;  // [n] by handle; taken ones are empty
  size_t n, cap;
  char name[128];
} sparse_map;

static void destroy(fy_object *self) {
  sparse_map *m = (sparse_map *)self;
  for (size_t i = 0; i < m->n; i++) fy_sparse_free(&m->items[i]);
  fy_free(m->items);
  fy_mutex_destroy(&m->lock);
  fy_free(m);
}
static const fy_object_type map_type = {"SparseTensorsMap", destroy};

static fy_code make_map(fy_view container, fy_view name, const void *arg, fy_object **out,
                        fy_error *err) {
  (void)container;
  (void)arg;
  sparse_map *m = fy_calloc(1, sizeof *m);
  *out = NULL;
  if (!m) return fy_fail_oom(err, sizeof *m);
  atomic_init(&m->object.refs, 1);
  m->object.type = &map_type;
  fy_mutex_init(&m->lock);
  snprintf(m->name, sizeof m->name, "%.*s", (int)name.n, name.p);
  *out = &m->object;
  return FY_OK;
}

// The site's map, with a reference of its own.
static fy_code map_of(fy_kernel_ctx *ctx, sparse_map **out, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view shared = fy_site_string(site, "shared_name");
  const fy_view name =
      shared.n ? shared : fy_view_of(site->node_name ? site->node_name : site->op->spec->name);
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  fy_object *object;
  *out = NULL;
  if (!r) return fy_fail(err, FY_FAILED_PRECONDITION, "there is no place to keep resources");
  FY_TRY(fy_resources_get(r, &map_type, fy_site_string(site, "container"), name, make_map, NULL,
                          &object, err));
  *out = (sparse_map *)object;
  return FY_OK;
}

// Takes over |s|'s references.
static fy_code add(sparse_map *m, fy_sparse *s, int64_t *handle, fy_error *err) {
  fy_lock(&m->lock);
  const bool room = fy_grow(&m->items, &m->cap, m->n + 1, sizeof *m->items);
  if (room) {
    *handle = (int64_t)m->n;
    m->items[m->n++] = *s;
  }
  fy_unlock(&m->lock);
  if (room) return FY_OK;
  fy_sparse_free(s);
  return fy_fail_oom(err, m->n * sizeof *s);
}

static fy_code add_one(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *const *in = ctx->in;
  sparse_map *m;
  fy_tensor *out;
  fy_sparse s = {NULL, NULL, NULL};
  FY_TRY(fy_sparse_check_ranks(in[0], in[1], in[2], err));
  FY_TRY(fy_sparse_check(in[0], in[1], in[2], err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_code code = fy_tensor_clone(in[0], &s.indices, err);
  if (!code) code = fy_tensor_clone(in[1], &s.values, err);
  if (!code) code = fy_tensor_clone(in[2], &s.shape, err);
  if (!code) code = map_of(ctx, &m, err);
  if (code) {
    fy_sparse_free(&s);
    return code;
  }
  code = add(m, &s, out->data, err);
  fy_object_release(&m->object);
  return code;
}

// Rows with values get their handles first, then those without, as TensorFlow hands them out.
static fy_code add_rows(fy_kernel_ctx *ctx, sparse_map *m, fy_tensor *out, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  for (int empty = 0; empty < 2; empty++) {
    for (int64_t r = 0, begin = 0, end = 0; r < out->count; r++, begin = end) {
      fy_sparse s;
      while (end < values->count && fy_tensor_int(at, end * shape->count) == r) end++;
      if (empty != (begin == end)) continue;
      FY_TRY(fy_sparse_take(at, values, shape, begin, end, &s, err));
      FY_TRY(add(m, &s, (int64_t *)out->data + r, err));
    }
  }
  return FY_OK;
}

static fy_code add_many(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  sparse_map *m;
  fy_tensor *out;
  char x[128];
  FY_TRY(fy_sparse_check_ranks(at, values, shape, err));
  if (values->count != at->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of values must match first dimension of indices. Got %lld values, "
                   "indices shape: %s",
                   (long long)values->count, fy_tensor_shape_text(at, x));
  }
  if (shape->count != at->dims[1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of dimensions must match second dimension of indices. Got %lld "
                   "dimensions, indices shape: %s",
                   (long long)shape->count, fy_tensor_shape_text(at, x));
  }
  if (shape->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Rank of input SparseTensor should be > 1, but saw rank: %lld",
                   (long long)shape->count);
  }
  FY_TRY(fy_sparse_check_order(at, shape, err));
  const int64_t n = fy_tensor_int(shape, 0);
  if (n < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)n);
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
  FY_TRY(map_of(ctx, &m, err));
  fy_code code = add_rows(ctx, m, out, err);
  fy_object_release(&m->object);
  return code;
}

// Moves what the handles name out of the map.
static fy_code take_all(sparse_map *m, const fy_tensor *handles, fy_sparse *parts, fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&m->lock);
  for (int64_t i = 0; i < handles->count && !code; i++) {
    const int64_t h = fy_tensor_int(handles, i);
    if (h < 0 || (uint64_t)h >= m->n || !m->items[h].values) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Unable to find SparseTensor: %lld in map: %s",
                     (long long)h, m->name);
    } else {
      parts[i] = m->items[h];
      m->items[h] = (fy_sparse){NULL, NULL, NULL};
    }
  }
  fy_unlock(&m->lock);
  return code;
}

static fy_code take_many(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *handles = ctx->in[0];
  const fy_dtype dtype = fy_site_type(ctx->site, "dtype");
  const int64_t n = handles->count;
  sparse_map *m;
  void *memory;
  char x[128];
  if (handles->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "sparse_handles should be a vector but received shape %s",
                   fy_tensor_shape_text(handles, x));
  }
  if (n == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
  }
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(fy_sparse), &memory, err));
  fy_sparse *parts = memory;
  memset(parts, 0, (size_t)n * sizeof *parts);
  FY_TRY(map_of(ctx, &m, err));
  fy_code code = take_all(m, handles, parts, err);
  for (int64_t i = 0; i < n && !code; i++) {
    code = fy_sparse_check_part(&parts[i], i, dtype, err);
    if (code || parts[i].shape->count == parts[0].shape->count) continue;
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inconsistent rank across SparseTensors: rank prior to SparseTensor[%lld] was: "
                   "%lld but rank of SparseTensor[%lld] is: %lld",
                   (long long)i, (long long)parts[0].shape->count + 1, (long long)i,
                   (long long)parts[i].shape->count + 1);
  }
  if (!code) code = fy_sparse_stack(ctx, parts, n, 1, &n, err);
  for (int64_t i = 0; i < n; i++) fy_sparse_free(&parts[i]);
  fy_object_release(&m->object);
  return code;
}

// ---------------------------------------------------------------- shapes
static fy_code add_one_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
static fy_code add_many_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(add_one_shape(ctx, err));
  return fy_shape_set(ctx, 0, 1, &unknown, err);
}
static fy_code take_many_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_set(ctx, 0, 2, NULL, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &unknown, err);
}

static const fy_sample samples[] = {
    {"i64[2]=0,1; f32[1]=5; i64[2]=2,2", NULL, FY_INVALID_ARGUMENT,
     "Input indices should be a matrix but received shape [2]"},
};
static const fy_sample take_samples[] = {
    {"i64[]=0", "dtype=float", FY_INVALID_ARGUMENT,
     "sparse_handles should be a vector but received shape []"},
};
FY_OP(AddSparseToTensorsMap, .shape = add_one_shape, .compute = add_one, .flags = FY_OP_HOST,
      FY_SAMPLES(samples));
FY_OP(AddManySparseToTensorsMap, .shape = add_many_shape, .compute = add_many,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(TakeManySparseFromTensorsMap, .shape = take_many_shape, .compute = take_many,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(take_samples));

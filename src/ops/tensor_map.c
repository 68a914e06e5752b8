// SPDX-License-Identifier: Apache-2.0
// tensor_map.c: maps from tensors to tensors as values (variants): EmptyTensorMap, TensorMapInsert ….
// Like a list (tensor_list.c), a map is never changed once it is published: changing copies its
// pointers. Keys are few, so they are searched one by one.

#include "base/alloc.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct map {
  fy_object object;
  int64_t n;
  fy_tensor **pairs;  // [2 * n] key, value
} map;

static void destroy(fy_object *self) {
  map *m = (map *)self;
  for (int64_t i = 0; i < 2 * m->n; i++) fy_tensor_release(m->pairs[i]);
  fy_free(m->pairs);
  fy_free(m);
}

static const fy_object_type map_type = {"tensorflow::TensorMap", destroy};

// A copy with room for one more.
static fy_code copy_map(const map *from, map **out, fy_error *err) {
  map *m = fy_calloc(1, sizeof *m);
  const int64_t n = from ? from->n : 0;
  *out = m;
  if (!m) return fy_fail_oom(err, sizeof *m);
  atomic_init(&m->object.refs, 1);
  m->object.type = &map_type;
  m->pairs = fy_calloc(2 * (size_t)n + 2, sizeof *m->pairs);
  if (!m->pairs) {
    destroy(&m->object);
    return fy_fail_oom(err, 2 * (size_t)n * sizeof *m->pairs);
  }
  m->n = n;
  for (int64_t i = 0; i < 2 * n; i++) {
    m->pairs[i] = from->pairs[i];
    fy_tensor_retain(m->pairs[i]);
  }
  return FY_OK;
}

static fy_code map_of(const fy_tensor *t, map **out, fy_error *err) {
  *out = NULL;
  char x[128];
  if (t->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input map must be a scalar. Saw: %s",
                   fy_tensor_shape_text(t, x));
  fy_object *o = *(fy_object *const *)t->data;
  if (!o || o->type != &map_type)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input handle is not a map. Saw: '%s'",
                   o ? o->type->name : "<empty>");
  *out = (map *)o;
  return FY_OK;
}

static int64_t find(const map *m, const fy_tensor *key) {
  for (int64_t i = 0; i < m->n; i++)
    if (fy_tensor_equal(m->pairs[2 * i], key)) return i;
  return -1;
}

static fy_code fail_missing(const char *what, const fy_tensor *key, fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  fy_tensor_print(&text, key, 3);
  fy_fail(err, FY_INVALID_ARGUMENT, "Trying to %s. Could not find key \"%s\".", what,
          fy_str_text(&text));
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

static fy_code put(fy_kernel_ctx *ctx, map *m, fy_error *err) {
  fy_tensor *out;
  fy_code code = fy_out(ctx, 0, 0, NULL, &out, err);
  if (code)
    fy_object_release(&m->object);
  else
    fy_resource_put(out, &m->object);
  return code;
}

static fy_code empty(fy_kernel_ctx *ctx, fy_error *err) {
  map *m = NULL;
  FY_TRY(copy_map(NULL, &m, err));
  return put(ctx, m, err);
}

static fy_code insert(fy_kernel_ctx *ctx, fy_error *err) {
  map *from = NULL, *m = NULL;
  fy_tensor *value, *key;
  FY_TRY(map_of(ctx->in[0], &from, err));
  FY_TRY(copy_map(from, &m, err));
  fy_code code = fy_tensor_clone(ctx->in[2], &value, err);
  if (!code) {
    const int64_t at = find(m, ctx->in[1]);
    if (at >= 0) {
      fy_tensor_release(m->pairs[2 * at + 1]);
      m->pairs[2 * at + 1] = value;
    } else if ((code = fy_tensor_clone(ctx->in[1], &key, err)) == FY_OK) {
      m->pairs[2 * m->n] = key;
      m->pairs[2 * m->n + 1] = value;
      m->n++;
    } else {
      fy_tensor_release(value);
    }
  }
  if (code) {
    fy_object_release(&m->object);
    return code;
  }
  return put(ctx, m, err);
}

static fy_code lookup(fy_kernel_ctx *ctx, fy_error *err) {
  map *m = NULL;
  FY_TRY(map_of(ctx->in[0], &m, err));
  const int64_t at = find(m, ctx->in[1]);
  if (at < 0) return fail_missing("lookup non-existent key", ctx->in[1], err);
  fy_tensor *value = m->pairs[2 * at + 1];
  if (value->dtype != ctx->site->out_types[0])
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid data types; value %s and expected %s",
                   fy_dtype_name(value->dtype), fy_dtype_name(ctx->site->out_types[0]));
  fy_tensor_retain(value);
  fy_out_set(ctx, 0, value);
  return FY_OK;
}

static fy_code erase(fy_kernel_ctx *ctx, fy_error *err) {
  map *from = NULL, *m = NULL;
  FY_TRY(map_of(ctx->in[0], &from, err));
  const int64_t at = find(from, ctx->in[1]);
  if (at < 0) return fail_missing("erase non-existent item", ctx->in[1], err);
  FY_TRY(copy_map(from, &m, err));
  fy_tensor_release(m->pairs[2 * at]);
  fy_tensor_release(m->pairs[2 * at + 1]);
  for (int64_t i = 2 * at; i + 2 < 2 * m->n; i++) m->pairs[i] = m->pairs[i + 2];
  m->n--;
  return put(ctx, m, err);
}

static fy_code has_key(fy_kernel_ctx *ctx, fy_error *err) {
  map *m = NULL;
  fy_tensor *out;
  FY_TRY(map_of(ctx->in[0], &m, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(bool *)out->data = find(m, ctx->in[1]) >= 0;
  return FY_OK;
}

static fy_code size(fy_kernel_ctx *ctx, fy_error *err) {
  map *m = NULL;
  fy_tensor *out;
  FY_TRY(map_of(ctx->in[0], &m, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(int32_t *)out->data = (int32_t)m->n;
  return FY_OK;
}

static fy_code stack_keys(fy_kernel_ctx *ctx, fy_error *err) {
  map *m = NULL;
  fy_tensor *out;
  FY_TRY(map_of(ctx->in[0], &m, err));
  if (!m->n)
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorMapStackKeys cannot be called on empty map.");
  const fy_tensor *first = m->pairs[0];
  int64_t dims[FY_MAX_RANK + 1] = {m->n};
  if (first->rank >= FY_MAX_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  for (int32_t d = 0; d < first->rank; d++) dims[d + 1] = first->dims[d];
  FY_TRY(fy_out(ctx, 0, first->rank + 1, dims, &out, err));
  for (int64_t i = 0; i < m->n; i++) {
    const fy_tensor *key = m->pairs[2 * i];
    if (key->dtype != out->dtype)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Key does not match requested dtype.");
    if (!fy_shape_equal(key->rank, key->dims, first->rank, first->dims))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Keys must all have the same shape.");
    FY_TRY(fy_copy_run(key->dtype, out->data, i * key->count, key->data, 0, key->count, err));
  }
  return FY_OK;
}

#define HOST .flags = FY_OP_HOST | FY_OP_NO_FOLD
FY_OP(EmptyTensorMap, .shape = fy_shape_scalar, .compute = empty, HOST);
FY_OP(TensorMapInsert, .shape = fy_shape_scalar, .compute = insert, HOST);
FY_OP(TensorMapLookup, .shape = fy_shape_none, .compute = lookup,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC);
FY_OP(TensorMapErase, .shape = fy_shape_scalar, .compute = erase, HOST);
FY_OP(TensorMapHasKey, .shape = fy_shape_scalar, .compute = has_key, HOST);
FY_OP(TensorMapSize, .shape = fy_shape_scalar, .compute = size, HOST);
FY_OP(TensorMapStackKeys, .shape = fy_shape_none, .compute = stack_keys,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_DYNAMIC);

// SPDX-License-Identifier: Apache-2.0
// lookup_make.c: makes lookup tables, which are resources: HashTableV2 (written once),
// MutableHashTableV2, MutableDenseHashTableV2, those of version 1 and without a name. One table for
// all: lookup_table.h.

#include "base/alloc.h"
#include "ops/lookup_table.h"
#include "ops/shape_fns.h"

// The shape of a value.
static fy_code read_value_shape(fy_table *t, const fy_attr *shape, fy_error *err) {
  if (!shape || shape->kind != FY_ATTR_SHAPE || shape->v.shape.rank <= 0) return FY_OK;
  if (shape->v.shape.rank > FY_INLINE_RANK - 1)
    return fy_fail(err, FY_UNIMPLEMENTED, "a table's values have at most %d dimensions",
                   FY_INLINE_RANK - 1);
  for (int32_t i = 0; i < shape->v.shape.rank; i++)
    t->value_dims[t->value_rank++] = shape->v.shape.dims[i];
  if (!fy_shape_count(t->value_rank, t->value_dims, &t->value_count))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Empty value must be a scalar or a vector");
  return FY_OK;
}

// What only a dense table has: attributes of its buckets, which Ferry needs not, and two keys.
static fy_code read_dense(fy_table *t, const fy_site *site, const fy_tensor *empty,
                          const fy_tensor *deleted, fy_error *err) {
  const fy_attr *load = fy_site_attr(site, "max_load_factor");
  const fy_attr *buckets = fy_site_attr(site, "initial_num_buckets");
  if (load && load->kind == FY_ATTR_FLOAT && !(load->v.f > 0 && load->v.f < 1))
    return fy_fail(err, FY_INVALID_ARGUMENT, "max_load_factor must be between 0 and 1, got: %g",
                   (double)load->v.f);
  if (buckets && buckets->kind == FY_ATTR_INT &&
      (buckets->v.i < 4 || (buckets->v.i & (buckets->v.i - 1))))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of buckets must be at least 4 and a power of 2, got: %lld",
                   (long long)buckets->v.i);
  if (empty->rank > FY_INLINE_RANK - 1 ||
      !fy_shape_equal(empty->rank, empty->dims, deleted->rank, deleted->dims))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Empty and deleted keys must have same shape");
  t->key_rank = empty->rank;
  t->key_count = empty->count;
  for (int32_t i = 0; i < t->key_rank; i++) t->key_dims[i] = empty->dims[i];
  FY_TRY(fy_tensor_clone(empty, &t->empty, err));
  FY_TRY(fy_tensor_clone(deleted, &t->deleted, err));
  if (fy_table_same_key(t, t->empty, 0, t->deleted, 0))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Empty and deleted keys cannot be equal");
  return FY_OK;
}

static fy_code set_up(fy_table *t, const fy_site *site, fy_tensor *const *in, fy_error *err) {
  const fy_attr *shape = fy_site_attr(site, "value_shape");
  char x[128];
  FY_TRY(read_value_shape(t, shape, err));
  if (t->kind == FY_TABLE_MUTABLE && shape && t->value_rank != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Default value must be a vector, got shape %s",
                   fy_shape_text(t->value_rank, t->value_dims, x));
  return t->kind == FY_TABLE_DENSE ? read_dense(t, site, in[0], in[1], err) : FY_OK;
}

static fy_code new_table(const fy_site *site, fy_table_kind kind, fy_tensor *const *in,
                         fy_table **out, fy_error *err) {
  fy_table *t = fy_calloc(1, sizeof *t);
  *out = NULL;
  if (!t) return fy_fail_oom(err, sizeof *t);
  atomic_init(&t->object.refs, 1);
  t->object.type = &fy_table_type;
  fy_mutex_init(&t->lock);
  t->kind = kind;
  t->key_type = fy_site_type(site, "key_dtype");
  t->value_type = fy_site_type(site, "value_dtype");
  t->key_count = t->value_count = 1;
  const fy_code code = set_up(t, site, in, err);
  if (code) {
    fy_object_release(&t->object);
    return code;
  }
  t->key_word = fy_table_word_bytes(t->key_type, t->key_count);
  t->value_word = fy_table_word_bytes(t->value_type, t->value_count);
  *out = t;
  return FY_OK;
}

typedef struct make_arg {
  const fy_site *site;
  fy_table_kind kind;
  fy_tensor *const *in;
} make_arg;

static fy_code make_table(fy_view container, fy_view name, const void *arg, fy_object **out,
                          fy_error *err) {
  (void)container, (void)name;
  const make_arg *a = arg;
  fy_table *t;
  FY_TRY(new_table(a->site, a->kind, a->in, &t, err));
  *out = &t->object;
  return FY_OK;
}

static fy_code handle(fy_kernel_ctx *ctx, fy_table_kind k, fy_error *err) {
  const fy_site *site = ctx->site;
  const make_arg arg = {site, k, ctx->in};
  const bool named = fy_site_attr(site, "shared_name") != NULL;
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  fy_view name = named ? fy_site_string(site, "shared_name") : (fy_view){"", 0};
  fy_object *object;
  fy_tensor *out;
  if (named && name.n == 0) name = fy_view_of(site->node_name ? site->node_name : "");
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  if (!r || !named) {
    FY_TRY(make_table((fy_view){"", 0}, name, &arg, &object, err));
  } else {
    FY_TRY(fy_resources_get(r, &fy_table_type, fy_site_string(site, "container"), name, make_table,
                            &arg, &object, err));
  }
  const fy_table *t = (const fy_table *)object;
  if (t->key_type != fy_site_type(site, "key_dtype") ||
      t->value_type != fy_site_type(site, "value_dtype")) {
    fy_code code = fy_fail(
        err, FY_INVALID_ARGUMENT, "Conflicting key/value dtypes %s->%s with %s-%s for table %.*s",
        fy_dtype_name(fy_site_type(site, "key_dtype")),
        fy_dtype_name(fy_site_type(site, "value_dtype")), fy_dtype_name(t->key_type),
        fy_dtype_name(t->value_type), (int)name.n, name.p);
    fy_object_release(object);
    return code;
  }
  fy_resource_put(out, object);
  return FY_OK;
}
static fy_code static_handle(fy_kernel_ctx *ctx, fy_error *err) {
  return handle(ctx, FY_TABLE_STATIC, err);
}
static fy_code mutable_handle(fy_kernel_ctx *ctx, fy_error *err) {
  return handle(ctx, FY_TABLE_MUTABLE, err);
}
static fy_code dense_handle(fy_kernel_ctx *ctx, fy_error *err) {
  return handle(ctx, FY_TABLE_DENSE, err);
}

static fy_code dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_most(ctx->in[0], 1, err));
  return fy_shape_scalar(ctx, err);
}
// The handles of version 1 are references to two strings, to shape functions at least.
#define FLAGS .flags = FY_OP_HOST | FY_OP_DYNAMIC
static const fy_sample table_samples[] = {
    {"", "key_dtype=string; value_dtype=int64; shared_name=\"t\"", FY_OK, NULL}};
static const fy_sample anonymous_samples[] = {
    {"", "key_dtype=string; value_dtype=int64", FY_OK, NULL}};
static const fy_sample vectors_samples[] = {
    {"", "key_dtype=string; value_dtype=int64; value_shape=[2]", FY_OK, NULL},
    {"", "key_dtype=string; value_dtype=int64", FY_INVALID_ARGUMENT,
     "Default value must be a vector, got shape []"},
};
static const fy_sample dense_samples[] = {
    {"i64[]=-1; i64[]=-2", "value_dtype=float; value_shape=[2]", FY_OK, NULL},
    {"i64[]=-1; i64[]=-1", "value_dtype=float", FY_INVALID_ARGUMENT, "cannot be equal"},
};

FY_OP(HashTableV2, .shape = fy_shape_scalar, .compute = static_handle, FLAGS,
      FY_SAMPLES(table_samples));
FY_OP(MutableHashTableV2, .shape = fy_shape_scalar, .compute = mutable_handle, FLAGS,
      FY_SAMPLES(table_samples));
FY_OP(MutableDenseHashTableV2, .shape = dense_shape, .compute = dense_handle, FLAGS,
      FY_SAMPLES(dense_samples));
FY_OP(AnonymousHashTable, .shape = fy_shape_scalar, .compute = static_handle, FLAGS,
      FY_SAMPLES(anonymous_samples));
FY_OP(AnonymousMutableHashTable, .shape = fy_shape_scalar, .compute = mutable_handle, FLAGS,
      FY_SAMPLES(anonymous_samples));
FY_OP(AnonymousMutableDenseHashTable, .shape = dense_shape, .compute = dense_handle, FLAGS,
      FY_SAMPLES(dense_samples));
FY_OP(MutableHashTableOfTensorsV2, .shape = fy_shape_scalar, .compute = mutable_handle, FLAGS,
      FY_SAMPLES(vectors_samples));
FY_OP(AnonymousMutableHashTableOfTensors, .shape = fy_shape_scalar, .compute = mutable_handle,
      FLAGS, FY_SAMPLES(vectors_samples));
FY_OP(HashTable, .shape = fy_shape_ref, .compute = static_handle, FLAGS);
FY_OP(MutableHashTable, .shape = fy_shape_ref, .compute = mutable_handle, FLAGS);
FY_OP(MutableHashTableOfTensors, .shape = fy_shape_ref, .compute = mutable_handle, FLAGS);

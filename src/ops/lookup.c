// SPDX-License-Identifier: Apache-2.0
// lookup.c: lookup tables as resources: HashTableV2 (written once), MutableHashTableV2 and
// MutableDenseHashTableV2. One table for all: keys and values are columns of two growing tensors, a
// hash index finds the row. Removing a row moves the last one into its place.
// Threads: one lock per table.

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/file.h"

typedef enum kind { STATIC, MUTABLE, DENSE } kind;

// Where a key is. The tag of a key that is a number is that number, else its hash.
typedef struct slot {
  uint64_t tag;
  int64_t row;  // + 1; 0: nobody
} slot;

typedef struct table {
  fy_object object;
  fy_mutex lock;
  kind kind;
  fy_dtype key_type, value_type;
  int32_t key_rank, value_rank;  // shape of one key and one value
  int64_t key_dims[FY_INLINE_RANK], value_dims[FY_INLINE_RANK];
  int64_t key_count, value_count;
  bool initialized;             // STATIC
  fy_tensor *empty, *deleted;   // DENSE: keys that nobody may use
  fy_tensor *keys, *values;     // [cap, …]
  size_t key_word, value_word;  // 4 or 8: the bytes of what is one number; else 0
  int64_t n, cap;
  struct slot *slots;
  int64_t mask;
  bool mixed;  // the tags of numbers
} table;

static void destroy(fy_object *self) {
  table *t = (table *)self;
  fy_tensor_release(t->empty);
  fy_tensor_release(t->deleted);
  fy_tensor_release(t->keys);
  fy_tensor_release(t->values);
  fy_aligned_free(t->slots);
  fy_mutex_destroy(&t->lock);
  fy_free(t);
}

static const fy_object_type table_type = {"tensorflow::lookup::LookupInterface", destroy};

// ---------------------------------------------------------------- rows
// A key or value of one plain element of four or eight bytes, as most are, is handled as a number.
static size_t word_bytes(fy_dtype type, int64_t count) {
  const size_t size = fy_dtype_storage(type);
  return count == 1 && fy_dtype_is_plain(type) && (size == 4 || size == 8) ? size : 0;
}
static uint64_t word_at(const fy_tensor *t, size_t size, int64_t i) {
  return size == 8 ? ((const uint64_t *)t->data)[i] : ((const uint32_t *)t->data)[i];
}

static uint64_t tag_of(const table *t, const fy_tensor *keys, int64_t row) {
  uint64_t h = 0;
  if (t->key_word) return word_at(keys, t->key_word, row);
  if (t->key_type == FY_STRING) {
    for (int64_t i = 0; i < t->key_count; i++) {
      const fy_view v = fy_tensor_string(keys, row * t->key_count + i);
      h = fy_hash64(v.p, v.n, h);
    }
    return h;
  }
  const size_t bytes = (size_t)t->key_count * fy_dtype_storage(t->key_type);
  return fy_hash64((const char *)keys->data + (size_t)row * bytes, bytes, 0);
}

// The slot to begin at. Numbers begin at themselves: those that follow each other, as numbers of words
// and rows do, are found one after the other. Where too many meet in one place they are mixed.
static int64_t home(const table *t, uint64_t tag) {
  if (t->mixed) tag = fy_hash_mix(0, tag);
  return (int64_t)(tag & (uint64_t)t->mask);
}

static bool same_key(const table *t, const fy_tensor *a, int64_t row_a, const fy_tensor *b,
                     int64_t row_b) {
  if (t->key_type == FY_STRING) {
    for (int64_t i = 0; i < t->key_count; i++) {
      if (!fy_view_eq(fy_tensor_string(a, row_a * t->key_count + i),
                      fy_tensor_string(b, row_b * t->key_count + i))) {
        return false;
      }
    }
    return true;
  }
  const size_t bytes = (size_t)t->key_count * fy_dtype_storage(t->key_type);
  return !memcmp((const char *)a->data + (size_t)row_a * bytes,
                 (const char *)b->data + (size_t)row_b * bytes, bytes);
}

// The slot that holds the key, or the empty one where it belongs. Needs an index.
static slot *find_tagged(const table *t, uint64_t tag, const fy_tensor *keys, int64_t row) {
  int64_t s = home(t, tag);
  for (; t->slots[s].row; s = (s + 1) & t->mask) {
    if (t->slots[s].tag != tag) continue;
    if (t->key_word || same_key(t, t->keys, t->slots[s].row - 1, keys, row)) break;
  }
  return &t->slots[s];
}
static slot *find_slot(const table *t, const fy_tensor *keys, int64_t row) {
  return find_tagged(t, tag_of(t, keys, row), keys, row);
}
// A key that is not there yet, and of which there is no other.
static void put_slot(table *t, slot what) {
  int64_t s = home(t, what.tag);
  while (t->slots[s].row) s = (s + 1) & t->mask;
  t->slots[s] = what;
}

static fy_code column(fy_dtype type, int64_t rows, int32_t rank, const int64_t *dims,
                      fy_tensor **out, fy_error *err) {
  int64_t all[FY_INLINE_RANK + 1] = {rows};
  for (int32_t i = 0; i < rank; i++) all[i + 1] = dims[i];
  return fy_tensor_new(type, rank + 1, all, out, err);
}

// The index anew, for |cap| rows.
static fy_code rebuild(table *t, int64_t cap, fy_error *err) {
  const size_t bytes = (size_t)cap * 2 * sizeof(slot);
  slot *slots = fy_aligned_alloc(bytes), *old = t->slots;
  if (!slots) return fy_fail_oom(err, bytes);
  const int64_t before = old ? t->mask + 1 : 0;
  memset(slots, 0, bytes);
  t->slots = slots;
  t->mask = cap * 2 - 1;
  for (int64_t i = 0; i < before; i++)
    if (old[i].row) put_slot(t, old[i]);
  fy_aligned_free(old);
  return FY_OK;
}

static fy_code grow(table *t, int64_t need, fy_error *err) {
  if (FY_LIKELY(need <= t->cap)) return FY_OK;
  int64_t cap = t->cap ? t->cap : 8;
  while (cap < need) {
    if (cap > INT64_MAX / 64) return fy_fail_oom(err, SIZE_MAX);
    cap *= 2;
  }
  fy_tensor *keys = NULL, *values = NULL;
  fy_code code = column(t->key_type, cap, t->key_rank, t->key_dims, &keys, err);
  if (!code) code = column(t->value_type, cap, t->value_rank, t->value_dims, &values, err);
  if (!code && t->n) {
    code = fy_copy_run(t->key_type, keys->data, 0, t->keys->data, 0, t->n * t->key_count, err);
    if (!code) {
      code = fy_copy_run(t->value_type, values->data, 0, t->values->data, 0, t->n * t->value_count,
                         err);
    }
  }
  if (!code) code = rebuild(t, cap, err);
  if (code) {
    fy_tensor_release(keys);
    fy_tensor_release(values);
    return code;
  }
  fy_tensor_release(t->keys);
  fy_tensor_release(t->values);
  t->keys = keys;
  t->values = values;
  t->cap = cap;
  return FY_OK;
}

// Numbers that crowd: the next |FAR| slots are taken.
#define FAR 64
static bool is_crowded(const table *t, uint64_t tag) {
  int64_t s = home(t, tag), n = 0;
  for (; n < FAR && t->slots[s].row && t->slots[s].tag != tag; n++) s = (s + 1) & t->mask;
  return n == FAR;
}
static fy_code mix(table *t, fy_error *err) {
  t->mixed = true;
  return rebuild(t, t->cap, err);
}

// What |n| keys will look at is asked of memory for all of them before the first is looked up.
#define AHEAD 32
static void look_ahead(const table *t, const fy_tensor *keys, int64_t first, int64_t n,
                       uint64_t tags[AHEAD]) {
  for (int64_t i = 0; i < n; i++) {
    tags[i] = tag_of(t, keys, first + i);
    if (t->slots) __builtin_prefetch(&t->slots[home(t, tags[i])]);
  }
  if (!t->slots) return;
  const size_t value = (size_t)t->value_count * fy_dtype_storage(t->value_type);
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = t->slots[home(t, tags[i])].row - 1;
    if (at >= 0) __builtin_prefetch((const char *)t->values->data + (size_t)at * value);
  }
}

static fy_code copy_value(const table *t, fy_tensor *to, int64_t to_row, const fy_tensor *from,
                          int64_t from_row, fy_error *err) {
  if (t->value_word == 8) {
    ((uint64_t *)to->data)[to_row] = ((const uint64_t *)from->data)[from_row];
    return FY_OK;
  }
  if (t->value_word == 4) {
    ((uint32_t *)to->data)[to_row] = ((const uint32_t *)from->data)[from_row];
    return FY_OK;
  }
  return fy_copy_run(t->value_type, to->data, to_row * t->value_count, from->data,
                     from_row * t->value_count, t->value_count, err);
}

static int64_t find_row(const table *t, const fy_tensor *keys, int64_t row) {  // -1: none
  return t->n ? find_slot(t, keys, row)->row - 1 : -1;
}

static fy_code put_tagged(table *t, uint64_t tag, const fy_tensor *keys, const fy_tensor *values,
                          int64_t row, fy_error *err) {
  FY_TRY(grow(t, t->n + 1, err));
  if (t->key_word && !t->mixed && FY_UNLIKELY(is_crowded(t, tag))) FY_TRY(mix(t, err));
  slot *s = find_tagged(t, tag, keys, row);
  const int64_t to = s->row ? s->row - 1 : t->n;
  FY_TRY(copy_value(t, t->values, to, values, row, err));
  if (s->row) return FY_OK;
  FY_TRY(fy_copy_run(t->key_type, t->keys->data, to * t->key_count, keys->data, row * t->key_count,
                     t->key_count, err));
  *s = (slot){tag, ++t->n};
  return FY_OK;
}
static fy_code put_row(table *t, const fy_tensor *keys, const fy_tensor *values, int64_t row,
                       fy_error *err) {
  return put_tagged(t, tag_of(t, keys, row), keys, values, row, err);
}

// Empties slot |s| and moves up what its gap would hide.
static void clear_slot(table *t, slot *s) {
  s->row = 0;
  for (int64_t k = (s - t->slots + 1) & t->mask; t->slots[k].row; k = (k + 1) & t->mask) {
    const slot moved = t->slots[k];
    t->slots[k].row = 0;
    put_slot(t, moved);
  }
}

static fy_code remove_row(table *t, const fy_tensor *keys, int64_t row, fy_error *err) {
  if (!t->n) return FY_OK;
  slot *s = find_slot(t, keys, row);
  const int64_t at = s->row - 1, last = t->n - 1;
  if (at < 0) return FY_OK;
  if (at != last) {
    // Copy first: nothing has changed yet if memory is short.
    slot *of_last = find_slot(t, t->keys, last);
    FY_TRY(copy_value(t, t->values, at, t->values, last, err));
    FY_TRY(fy_copy_run(t->key_type, t->keys->data, at * t->key_count, t->keys->data,
                       last * t->key_count, t->key_count, err));
    of_last->row = at + 1;
  }
  clear_slot(t, s);
  t->n--;
  return FY_OK;
}

// ---------------------------------------------------------------- making tables
static fy_code new_table(const fy_site *site, kind k, fy_tensor *const *in, table **out,
                         fy_error *err) {
  table *t = fy_calloc(1, sizeof *t);
  *out = NULL;
  if (!t) return fy_fail_oom(err, sizeof *t);
  atomic_init(&t->object.refs, 1);
  t->object.type = &table_type;
  fy_mutex_init(&t->lock);
  t->kind = k;
  t->key_type = fy_site_type(site, "key_dtype");
  t->value_type = fy_site_type(site, "value_dtype");
  t->key_count = t->value_count = 1;
  fy_code code = FY_OK;
  const fy_attr *shape = fy_site_attr(site, "value_shape");
  if (shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank > 0) {
    if (shape->v.shape.rank > FY_INLINE_RANK - 1) {
      code = fy_fail(err, FY_UNIMPLEMENTED, "a table's values have at most %d dimensions",
                     FY_INLINE_RANK - 1);
    }
    for (int32_t i = 0; !code && i < shape->v.shape.rank; i++) {
      t->value_dims[t->value_rank++] = shape->v.shape.dims[i];
    }
    if (!code && !fy_shape_count(t->value_rank, t->value_dims, &t->value_count)) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Empty value must be a scalar or a vector");
    }
  }
  if (!code && k == MUTABLE && shape && t->value_rank != 1) {
    char x[128];
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Default value must be a vector, got shape %s",
                   fy_shape_text(t->value_rank, t->value_dims, x));
  }
  const fy_attr *load = k == DENSE ? fy_site_attr(site, "max_load_factor") : NULL;
  if (!code && load && load->kind == FY_ATTR_FLOAT && !(load->v.f > 0 && load->v.f < 1)) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "max_load_factor must be between 0 and 1, got: %g",
                   (double)load->v.f);
  }
  const fy_attr *buckets = k == DENSE ? fy_site_attr(site, "initial_num_buckets") : NULL;
  if (!code && buckets && buckets->kind == FY_ATTR_INT &&
      (buckets->v.i < 4 || (buckets->v.i & (buckets->v.i - 1)))) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of buckets must be at least 4 and a power of 2, got: %lld",
                   (long long)buckets->v.i);
  }
  if (!code && k == DENSE) {
    if (in[0]->rank > FY_INLINE_RANK - 1 ||
        !fy_shape_equal(in[0]->rank, in[0]->dims, in[1]->rank, in[1]->dims)) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Empty and deleted keys must have same shape");
    } else {
      t->key_rank = in[0]->rank;
      t->key_count = in[0]->count;
      for (int32_t i = 0; i < t->key_rank; i++) t->key_dims[i] = in[0]->dims[i];
      code = fy_tensor_clone(in[0], &t->empty, err);
      if (!code) code = fy_tensor_clone(in[1], &t->deleted, err);
      if (!code && same_key(t, t->empty, 0, t->deleted, 0)) {
        code = fy_fail(err, FY_INVALID_ARGUMENT, "Empty and deleted keys cannot be equal");
      }
    }
  }
  if (code) {
    destroy(&t->object);
    return code;
  }
  t->key_word = word_bytes(t->key_type, t->key_count);
  t->value_word = word_bytes(t->value_type, t->value_count);
  *out = t;
  return FY_OK;
}

typedef struct make_arg {
  const fy_site *site;
  kind kind;
  fy_tensor *const *in;
} make_arg;

static fy_code make_table(fy_view container, fy_view name, const void *arg, fy_object **out,
                          fy_error *err) {
  (void)container, (void)name;
  const make_arg *a = arg;
  table *t;
  FY_TRY(new_table(a->site, a->kind, a->in, &t, err));
  *out = &t->object;
  return FY_OK;
}

static fy_code handle(fy_kernel_ctx *ctx, kind k, fy_error *err) {
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
    FY_TRY(fy_resources_get(r, &table_type, fy_site_string(site, "container"), name, make_table,
                            &arg, &object, err));
  }
  const table *t = (const table *)object;
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
  return handle(ctx, STATIC, err);
}
static fy_code mutable_handle(fy_kernel_ctx *ctx, fy_error *err) {
  return handle(ctx, MUTABLE, err);
}
static fy_code dense_handle(fy_kernel_ctx *ctx, fy_error *err) {
  return handle(ctx, DENSE, err);
}

// ---------------------------------------------------------------- checks
static fy_code table_of(fy_kernel_ctx *ctx, table **out, fy_error *err) {
  fy_object *o = NULL;
  fy_code code = fy_resource_object(ctx->in[0], &table_type, &o, err);
  *out = (table *)o;
  return code;
}

static fy_code check_key_type(const table *t, fy_dtype key, fy_error *err) {
  if (t->key_type == key) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Key must be type %s but got %s",
                 fy_dtype_name(t->key_type), fy_dtype_name(key));
}

// Keys are [rows…, key shape]; values [rows…, value shape].
static fy_code check_keys(const table *t, const fy_tensor *keys, int64_t *rows, fy_error *err) {
  const int32_t lead = keys->rank - t->key_rank;
  char x[128], y[128];
  FY_TRY(check_key_type(t, keys->dtype, err));
  if (lead < 0 || !fy_shape_equal(t->key_rank, t->key_dims, t->key_rank, keys->dims + lead)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input key shape %s must end with the table's key shape %s",
                   fy_tensor_shape_text(keys, x), fy_shape_text(t->key_rank, t->key_dims, y));
  }
  *rows = t->key_count ? keys->count / t->key_count : 0;
  return FY_OK;
}

static fy_code check_pairs(const table *t, const fy_tensor *keys, const fy_tensor *values,
                           int64_t *rows, fy_error *err) {
  char x[128], y[128];
  FY_TRY(check_keys(t, keys, rows, err));
  if (values->dtype != t->value_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Value must be type %s but got %s",
                   fy_dtype_name(t->value_type), fy_dtype_name(values->dtype));
  }
  const int32_t lead = keys->rank - t->key_rank;
  int64_t want[FY_MAX_RANK];
  if (lead + t->value_rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "too many dimensions");
  }
  for (int32_t i = 0; i < lead; i++) want[i] = keys->dims[i];
  for (int32_t i = 0; i < t->value_rank; i++) want[lead + i] = t->value_dims[i];
  if (!fy_shape_equal(lead + t->value_rank, want, values->rank, values->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected shape %s for value, got %s",
                   fy_shape_text(lead + t->value_rank, want, x), fy_tensor_shape_text(values, y));
  }
  return FY_OK;
}

// [rows, shape of one], where a scalar is written as a vector of one.
static bool is_column(const fy_tensor *t, int64_t rows, int32_t rank, const int64_t *dims) {
  if (rank == 0) return t->rank == 2 && t->dims[0] == rows && t->dims[1] == 1;
  return t->rank == 1 + rank && t->dims[0] == rows && fy_shape_equal(rank, dims, rank, t->dims + 1);
}

// What TensorFlow's dense tables export, and their checkpoints hold: all buckets, of vectors.
static bool are_buckets(const table *t, const fy_tensor *keys, const fy_tensor *values) {
  if (t->kind != DENSE || keys->rank < 1 || keys->dtype != t->key_type) return false;
  const int64_t rows = keys->dims[0];
  return values->dtype == t->value_type && is_column(keys, rows, t->key_rank, t->key_dims) &&
         is_column(values, rows, t->value_rank, t->value_dims);
}

static fy_code check_reserved(const table *t, const fy_tensor *keys, int64_t row, fy_error *err) {
  if (t->kind != DENSE) return FY_OK;
  if (same_key(t, t->empty, 0, keys, row)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Using the empty_key as a table key is not allowed");
  }
  if (same_key(t, t->deleted, 0, keys, row)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Using the deleted_key as a table key is not allowed");
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Find, Size, Export
typedef struct find_job {
  const table *t;
  const fy_tensor *keys, *otherwise;
  fy_tensor *out;
  bool each;  // a default for each key
} find_job;

static fy_code find_range(const find_job *j, int64_t begin, int64_t end, fy_error *err) {
  const table *t = j->t;
  uint64_t tags[AHEAD];
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = (i - begin) % AHEAD;
    if (k == 0) look_ahead(t, j->keys, i, end - i < AHEAD ? end - i : AHEAD, tags);
    FY_TRY(check_reserved(t, j->keys, i, err));
    const int64_t row = t->n ? find_tagged(t, tags[k], j->keys, i)->row - 1 : -1;
    if (row >= 0)
      FY_TRY(copy_value(t, j->out, i, t->values, row, err));
    else
      FY_TRY(copy_value(t, j->out, i, j->otherwise, j->each ? i : 0, err));
  }
  return FY_OK;
}
// Keys and values that are numbers.
static void find_words(void *arg, int64_t begin, int64_t end) {
  const find_job *j = arg;
  const table *t = j->t;
  uint64_t tags[AHEAD];
  int64_t at[AHEAD];
  for (int64_t n; begin < end; begin += n) {
    n = end - begin < AHEAD ? end - begin : AHEAD;
    for (int64_t i = 0; i < n; i++) {
      tags[i] = word_at(j->keys, t->key_word, begin + i);
      at[i] = home(t, tags[i]);
      __builtin_prefetch(&t->slots[at[i]]);
    }
    for (int64_t i = 0; i < n; i++) {
      int64_t s = at[i];
      while (t->slots[s].row && t->slots[s].tag != tags[i]) s = (s + 1) & t->mask;
      at[i] = t->slots[s].row - 1;
      if (at[i] >= 0)
        __builtin_prefetch((const char *)t->values->data + at[i] * (int64_t)t->value_word);
    }
    for (int64_t i = 0; i < n; i++) {
      const fy_tensor *from = at[i] >= 0 ? t->values : j->otherwise;
      const int64_t row = at[i] >= 0 ? at[i] : j->each ? begin + i : 0;
      if (t->value_word == 8)
        ((uint64_t *)j->out->data)[begin + i] = ((const uint64_t *)from->data)[row];
      else
        ((uint32_t *)j->out->data)[begin + i] = ((const uint32_t *)from->data)[row];
    }
  }
}
// Where nothing can go wrong.
static void find_plain(void *arg, int64_t begin, int64_t end) {
  const fy_code code = find_range(arg, begin, end, NULL);
  (void)code;
}

static fy_code find_locked(fy_kernel_ctx *ctx, table *t, const fy_tensor *keys,
                           const fy_tensor *otherwise, int64_t rows, fy_tensor *out,
                           fy_error *err) {
  // A table written once takes the first default for all.
  const bool each = t->kind != STATIC && otherwise->count == out->count && rows > 0 &&
                    otherwise->count > 0 && otherwise->count != t->value_count;
  if (t->kind == STATIC && !t->initialized) {
    return fy_fail(err, FY_FAILED_PRECONDITION, "Table not initialized.");
  }
  find_job j = {t, keys, otherwise, out, each};
  if (t->kind == DENSE || !fy_dtype_is_plain(t->value_type)) return find_range(&j, 0, rows, err);
  const bool words = t->key_word && t->value_word && t->n;
  fy_parallel(ctx, rows, words ? 4 : 60, words ? find_words : find_plain, &j);
  return FY_OK;
}

static fy_code find(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *keys = ctx->in[1], *otherwise = ctx->in[2];
  table *t;
  int64_t rows, dims[FY_MAX_RANK];
  fy_tensor *out;
  char x[128], y[128];
  FY_TRY(table_of(ctx, &t, err));
  if (keys->dtype != t->key_type || otherwise->dtype != t->value_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conflicting key/value dtypes %s->%s with %s-%s for table lookup",
                   fy_dtype_name(keys->dtype), fy_dtype_name(otherwise->dtype),
                   fy_dtype_name(t->key_type), fy_dtype_name(t->value_type));
  }
  FY_TRY(check_keys(t, keys, &rows, err));
  const int32_t lead = keys->rank - t->key_rank;
  if (lead + t->value_rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "too many dimensions");
  }
  for (int32_t i = 0; i < lead; i++) dims[i] = keys->dims[i];
  for (int32_t i = 0; i < t->value_rank; i++) dims[lead + i] = t->value_dims[i];
  const bool one = fy_shape_equal(otherwise->rank, otherwise->dims, t->value_rank, t->value_dims);
  const bool all = fy_shape_equal(otherwise->rank, otherwise->dims, lead + t->value_rank, dims);
  if (!one && !all) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected shape %s or %s for default value, got %s",
                   fy_shape_text(t->value_rank, t->value_dims, x),
                   fy_shape_text(lead + t->value_rank, dims, y),
                   fy_tensor_shape_text(otherwise, (char[128]){0}));
  }
  FY_TRY(fy_out(ctx, 0, lead + t->value_rank, dims, &out, err));
  fy_lock(&t->lock);
  fy_code code = find_locked(ctx, t, keys, otherwise, rows, out, err);
  fy_unlock(&t->lock);
  return code;
}

static fy_code size(fy_kernel_ctx *ctx, fy_error *err) {
  table *t;
  fy_tensor *out;
  FY_TRY(table_of(ctx, &t, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&t->lock);
  *(int64_t *)out->data = t->kind == STATIC && !t->initialized ? 0 : t->n;
  fy_unlock(&t->lock);
  return FY_OK;
}

static fy_code export_locked(fy_kernel_ctx *ctx, table *t, fy_error *err) {
  int64_t dims[FY_INLINE_RANK + 1] = {t->n};
  fy_tensor *keys, *values;
  if (t->kind == STATIC && !t->initialized) {
    return fy_fail(err, FY_ABORTED, "HashTable is not initialized.");
  }
  for (int32_t i = 0; i < t->key_rank; i++) dims[1 + i] = t->key_dims[i];
  FY_TRY(fy_out(ctx, 0, 1 + t->key_rank, dims, &keys, err));
  for (int32_t i = 0; i < t->value_rank; i++) dims[1 + i] = t->value_dims[i];
  FY_TRY(fy_out(ctx, 1, 1 + t->value_rank, dims, &values, err));
  if (t->n == 0) return FY_OK;
  FY_TRY(fy_copy_run(t->key_type, keys->data, 0, t->keys->data, 0, keys->count, err));
  return fy_copy_run(t->value_type, values->data, 0, t->values->data, 0, values->count, err);
}

static fy_code export(fy_kernel_ctx *ctx, fy_error *err) {
  table *t;
  FY_TRY(table_of(ctx, &t, err));
  fy_lock(&t->lock);
  const bool empty = t->kind == STATIC && !t->initialized;  // says so first
  fy_unlock(&t->lock);
  if (!empty &&
      (ctx->site->out_types[0] != t->key_type || ctx->site->out_types[1] != t->value_type)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Key must be type %s but got %s",
                   fy_dtype_name(t->key_type), fy_dtype_name(ctx->site->out_types[0]));
  }
  fy_lock(&t->lock);
  fy_code code = export_locked(ctx, t, err);
  fy_unlock(&t->lock);
  return code;
}

// ---------------------------------------------------------------- Insert, Remove, Import
static void put_word(fy_tensor *to, size_t size, int64_t i, uint64_t v) {
  if (size == 8)
    ((uint64_t *)to->data)[i] = v;
  else
    ((uint32_t *)to->data)[i] = (uint32_t)v;
}

// Keys and values that are numbers: what is there already, as in a table that is updated, needs no more
// than its slot and its value.
static fy_code insert_words(table *t, const fy_tensor *keys, const fy_tensor *values, int64_t rows,
                            fy_error *err) {
  for (int64_t i = 0; i < rows; i++) {
    const uint64_t tag = word_at(keys, t->key_word, i);
    FY_TRY(grow(t, t->n + 1, err));
    int64_t s = home(t, tag), steps = 0;
    while (t->slots[s].row && t->slots[s].tag != tag) s = (s + 1) & t->mask, steps++;
    if (FY_UNLIKELY(steps > FAR && !t->mixed)) {
      FY_TRY(mix(t, err));
      i--;  // once more
      continue;
    }
    if (!t->slots[s].row) {
      put_word(t->keys, t->key_word, t->n, tag);
      t->slots[s] = (slot){tag, ++t->n};
    }
    put_word(t->values, t->value_word, t->slots[s].row - 1, word_at(values, t->value_word, i));
  }
  return FY_OK;
}

// |skip|: reserved keys are passed over. TensorFlow's dense tables export every bucket, empty ones too.
static fy_code insert_rows(table *t, const fy_tensor *keys, const fy_tensor *values, int64_t rows,
                           bool skip, fy_error *err) {
  uint64_t tags[AHEAD];
  if (t->kind != DENSE && t->key_word && t->value_word)
    return insert_words(t, keys, values, rows, err);
  for (int64_t i = 0; i < rows; i++) {
    if (i % AHEAD == 0) look_ahead(t, keys, i, rows - i < AHEAD ? rows - i : AHEAD, tags);
    if (skip && check_reserved(t, keys, i, NULL)) continue;
    FY_TRY(check_reserved(t, keys, i, err));
    FY_TRY(put_tagged(t, tags[i % AHEAD], keys, values, i, err));
  }
  return FY_OK;
}

static fy_code initialize(fy_kernel_ctx *ctx, fy_error *err);

static fy_code change(fy_kernel_ctx *ctx, bool replace_all, fy_error *err) {
  table *t;
  int64_t rows;
  FY_TRY(table_of(ctx, &t, err));
  if (t->kind == STATIC && replace_all) return initialize(ctx, err);  // the first one counts
  if (replace_all && are_buckets(t, ctx->in[1], ctx->in[2]))
    rows = ctx->in[1]->dims[0];
  else
    FY_TRY(check_pairs(t, ctx->in[1], ctx->in[2], &rows, err));
  if (t->kind == STATIC) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Insert not supported by InitializableLookupTable implementations");
  }
  fy_lock(&t->lock);
  if (replace_all) {
    t->n = 0;
    if (t->slots) memset(t->slots, 0, (size_t)(t->mask + 1) * sizeof *t->slots);
  }
  fy_code code = insert_rows(t, ctx->in[1], ctx->in[2], rows, replace_all, err);
  fy_unlock(&t->lock);
  return code;
}
static fy_code insert(fy_kernel_ctx *ctx, fy_error *err) {
  return change(ctx, false, err);
}
static fy_code import(fy_kernel_ctx *ctx, fy_error *err) {
  return change(ctx, true, err);
}

static fy_code remove_keys(fy_kernel_ctx *ctx, fy_error *err) {
  table *t;
  int64_t rows;
  FY_TRY(table_of(ctx, &t, err));
  FY_TRY(check_keys(t, ctx->in[1], &rows, err));
  if (t->kind == STATIC) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Remove not supported by InitializableLookupTable implementations");
  }
  fy_lock(&t->lock);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < rows && !code; i++) {
    code = check_reserved(t, ctx->in[1], i, err);
    if (!code) code = remove_row(t, ctx->in[1], i, err);
  }
  fy_unlock(&t->lock);
  return code;
}

// ---------------------------------------------------------------- Initialize
static bool same_value(const table *t, int64_t row, const fy_tensor *values, int64_t i) {
  if (t->value_type == FY_STRING) {
    return fy_view_eq(fy_tensor_string(t->values, row), fy_tensor_string(values, i));
  }
  const size_t size_bytes = fy_dtype_storage(t->value_type);
  return !memcmp((const char *)t->values->data + (size_t)row * size_bytes,
                 (const char *)values->data + (size_t)i * size_bytes, size_bytes);
}

static void print_value(fy_str *out, const fy_tensor *t, int64_t i) {
  fy_str_init(out);
  if (t->dtype == FY_STRING) {
    const fy_view v = fy_tensor_string(t, i);
    fy_str_addn(out, v.p, v.n);
  } else if (fy_dtype_is_floating(t->dtype)) {
    fy_str_printf(out, "%g", fy_tensor_double(t, i));
  } else {
    fy_str_printf(out, "%lld", (long long)fy_tensor_int(t, i));
  }
}

// Rows of a table that is written once: a key may come twice only with the same value.
static fy_code initialize_rows(table *t, const fy_tensor *keys, const fy_tensor *values,
                               int64_t rows, fy_error *err) {
  for (int64_t i = 0; i < rows; i++) {
    const int64_t row = find_row(t, keys, i);
    if (row >= 0 && !same_value(t, row, values, i)) {
      fy_str s[3];
      print_value(&s[0], keys, i);
      print_value(&s[1], t->values, row);
      print_value(&s[2], values, i);
      fy_code code = fy_fail(err, FY_FAILED_PRECONDITION,
                             "HashTable has different value for same key. Key %s has %s and trying "
                             "to add value %s",
                             fy_str_text(&s[0]), fy_str_text(&s[1]), fy_str_text(&s[2]));
      for (int k = 0; k < 3; k++) fy_str_free(&s[k]);
      return code;
    }
    FY_TRY(put_row(t, keys, values, i, err));
  }
  t->initialized = true;
  return FY_OK;
}

static fy_code initialize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *keys = ctx->in[1], *values = ctx->in[2];
  table *t;
  char x[128];
  FY_TRY(table_of(ctx, &t, err));
  if (t->kind != STATIC) return change(ctx, true, err);
  if (keys->dtype != t->key_type || values->dtype != t->value_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conflicting key/value dtypes %s->%s with %s-%s for table",
                   fy_dtype_name(keys->dtype), fy_dtype_name(values->dtype),
                   fy_dtype_name(t->key_type), fy_dtype_name(t->value_type));
  }
  if (keys->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Keys must be a vector, but received shape %s",
                   fy_tensor_shape_text(keys, x));
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Values must be a vector, but received shape %s",
                   fy_tensor_shape_text(values, x));
  }
  if (keys->count != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Keys and values must have the same size %lld vs %lld",
                   (long long)keys->count, (long long)values->count);
  }
  if (keys->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "keys and values cannot be empty tensors.");
  }
  fy_lock(&t->lock);
  fy_code code = FY_OK;
  if (!t->initialized) {
    code = initialize_rows(t, keys, values, keys->count, err);
  } else if (keys->count != t->n) {  // TensorFlow, too, compares no more than that
    code =
        fy_fail(err, FY_FAILED_PRECONDITION, "Table was already initialized with different data.");
  }
  fy_unlock(&t->lock);
  return code;
}

// ---------------------------------------------------------------- text files
enum { WHOLE_LINE = -2, LINE_NUMBER = -1 };

static fy_view field(fy_view line, int64_t index, char delimiter, bool *found) {
  *found = true;
  if (index == WHOLE_LINE) return line;
  for (int64_t i = 0;; i++) {
    const char *end = line.n ? memchr(line.p, delimiter, line.n) : NULL;
    const size_t n = end ? (size_t)(end - line.p) : line.n;
    if (i == index) return (fy_view){line.p, n};
    if (!end) break;
    line = (fy_view){end + 1, line.n - n - 1};
  }
  *found = false;
  return (fy_view){"", 0};
}

static fy_code set_cell(fy_tensor *to, int64_t i, int64_t index, fy_view line, int64_t number,
                        char delimiter, fy_error *err) {
  if (index == LINE_NUMBER) {
    if (to->dtype != FY_INT64) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Key index for line number requires tensor dtype of int64, got %s",
                     fy_dtype_name(to->dtype));
    }
    ((int64_t *)to->data)[i] = number;
    return FY_OK;
  }
  bool found;
  const fy_view v = field(line, index, delimiter, &found);
  if (!found) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid number of columns in line %lld (%.*s): expected at least %lld",
                   (long long)number, (int)line.n, line.p, (long long)index + 1);
  }
  if (to->dtype == FY_STRING) return fy_text_put(to, i, v.p, v.n, err);
  if (!fy_text_to_number(v, to->dtype,
                         (char *)to->data + (size_t)i * fy_dtype_storage(to->dtype))) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Field %.*s in line %lld is not a valid %s.", (int)v.n,
                   v.p, (long long)number, fy_dtype_name(to->dtype));
  }
  return FY_OK;
}

static fy_code read_lines(fy_kernel_ctx *ctx, table *t, fy_view text, const char *path,
                          fy_error *err) {
  const fy_site *site = ctx->site;
  const int64_t key_index = fy_site_int(site, "key_index");
  const int64_t value_index = fy_site_int(site, "value_index");
  const int64_t offset = fy_site_int(site, "offset");
  int64_t vocab = fy_site_int(site, "vocab_size");
  const fy_view delimiter = fy_site_string(site, "delimiter");
  int64_t lines = 0, skipped = 0, n = 0;
  if (delimiter.n != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "delimiter should be only 1 char");
  for (size_t i = 0; i < text.n; i++) lines += text.p[i] == '\n';
  if (text.n && text.p[text.n - 1] != '\n') lines++;
  lines = lines > offset ? lines - offset : 0;
  if (vocab >= 0 && lines < vocab) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid vocab_size in %s: expected %lld but got %lld",
                   path, (long long)vocab, (long long)lines);
  }
  if (vocab < 0) vocab = lines;
  fy_tensor *keys = NULL, *values = NULL;
  fy_code code = fy_tensor_new(t->key_type, 1, &vocab, &keys, err);
  if (!code) code = fy_tensor_new(t->value_type, 1, &vocab, &values, err);
  while (!code && text.n && n < vocab) {
    const char *end = memchr(text.p, '\n', text.n);
    fy_view line = {text.p, end ? (size_t)(end - text.p) : text.n};
    const size_t used = line.n + (end != NULL);
    text = (fy_view){text.p + used, text.n - used};
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    if (skipped++ < offset) continue;
    code = set_cell(keys, n, key_index, line, n, delimiter.p[0], err);
    if (!code) code = set_cell(values, n, value_index, line, n, delimiter.p[0], err);
    n++;
  }
  if (!code) code = initialize_rows(t, keys, values, n, err);
  fy_tensor_release(keys);
  fy_tensor_release(values);
  return code;
}

static fy_code initialize_from_file(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *file = ctx->in[1];
  table *t;
  char x[128];
  uint8_t *bytes = NULL;
  size_t n = 0;
  FY_TRY(table_of(ctx, &t, err));
  if (file->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "filename should be a single string, but got %s",
                   fy_tensor_shape_text(file, x));
  }
  const fy_view name = fy_tensor_string(file, 0);
  if (name.n == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "filename cannot be empty.");
  char *path = fy_strndup(name.p, name.n);
  if (!path) return fy_fail_oom(err, name.n);
  fy_lock(&t->lock);
  fy_code code = FY_OK;
  if (!t->initialized) {
    code = fy_wire_file_load(path, (uint64_t)1 << 32, &bytes, &n, err);
    if (!code) code = read_lines(ctx, t, (fy_view){(const char *)bytes, n}, path, err);
  }
  fy_unlock(&t->lock);
  fy_free(bytes);
  fy_free(path);
  return code;
}

// ---------------------------------------------------------------- shapes
// The handles of version 1 are references to two strings, to shape functions at least.
static fy_code handle_rank(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_handle(ctx, 0, err);
}
static fy_code find_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_rank(ctx, err));
  return fy_dtype_is_ref(ctx->in_types[0]) ? fy_shape_rank_at_most(ctx->in[2], 1, err) : FY_OK;
}
static fy_code export_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_rank(ctx, err));
  return fy_dtype_is_ref(ctx->in_types[0]) ? fy_shape_set(ctx, 0, 1, NULL, err) : FY_OK;
}
static fy_code initialize_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  const fy_pshape keys = {1, (const int64_t[]){fy_dim_of(ctx->in[1], 0)}};
  FY_TRY(handle_rank(ctx, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  return fy_shape_merge(ctx, keys, ctx->in[2], &merged, err);
}
static fy_code from_file_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_rank(ctx, err));
  return fy_shape_rank_is(ctx->in[1], 0, err);
}
static fy_code import_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n;
  FY_TRY(handle_rank(ctx, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[2], 1, err));
  return fy_dim_merge(fy_dim_of(ctx->in[1], 0), fy_dim_of(ctx->in[2], 0), &n, err);
}
static fy_code remove_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_rank(ctx, err));
  return fy_shape_rank_at_least(ctx->in[1], 1, err);
}
static fy_code dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_most(ctx->in[0], 1, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code pairs_shape(fy_shape_ctx *ctx, fy_error *err) {
  return handle_rank(ctx, err);
}
static fy_code size_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_rank(ctx, err));
  return fy_shape_scalar(ctx, err);
}
static fy_code ref_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, 1, (const int64_t[]){2}, err);
}

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
FY_OP(LookupTableFindV2, .shape = find_shape, .compute = find, FLAGS);
FY_OP(LookupTableSizeV2, .shape = size_shape, .compute = size, FLAGS);
FY_OP(LookupTableExportV2, .shape = export_shape, .compute = export, FLAGS);
FY_OP(LookupTableInsertV2, .shape = pairs_shape, .compute = insert, FLAGS);
FY_OP(LookupTableImportV2, .shape = import_shape, .compute = import, FLAGS);
FY_OP(LookupTableRemoveV2, .shape = remove_shape, .compute = remove_keys, FLAGS);
FY_OP(InitializeTableV2, .shape = initialize_shape, .compute = initialize, FLAGS);
FY_OP(InitializeTableFromTextFileV2, .shape = from_file_shape, .compute = initialize_from_file,
      FLAGS);
FY_OP(MutableHashTableOfTensorsV2, .shape = fy_shape_scalar, .compute = mutable_handle, FLAGS,
      FY_SAMPLES(vectors_samples));
FY_OP(AnonymousMutableHashTableOfTensors, .shape = fy_shape_scalar, .compute = mutable_handle,
      FLAGS, FY_SAMPLES(vectors_samples));

// Version 1.
FY_OP(HashTable, .shape = ref_shape, .compute = static_handle, FLAGS);
FY_OP(MutableHashTable, .shape = ref_shape, .compute = mutable_handle, FLAGS);
FY_OP(MutableHashTableOfTensors, .shape = ref_shape, .compute = mutable_handle, FLAGS);
FY_OP(LookupTableFind, .shape = find_shape, .compute = find, FLAGS);
FY_OP(LookupTableSize, .shape = size_shape, .compute = size, FLAGS);
FY_OP(LookupTableExport, .shape = export_shape, .compute = export, FLAGS);
FY_OP(LookupTableInsert, .shape = pairs_shape, .compute = insert, FLAGS);
FY_OP(LookupTableImport, .shape = pairs_shape, .compute = import, FLAGS);
FY_OP(InitializeTable, .shape = initialize_shape, .compute = initialize, FLAGS);
FY_OP(InitializeTableFromTextFile, .shape = from_file_shape, .compute = initialize_from_file,
      FLAGS);

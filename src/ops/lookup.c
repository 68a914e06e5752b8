// SPDX-License-Identifier: Apache-2.0
// lookup.c: the ops on lookup tables (lookup_make.c makes them, lookup_table.h is what they are).
// Threads: one lock per table.

#include <stdlib.h>

#include "base/alloc.h"
#include "ops/lookup_table.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- checks

static fy_code check_key_type(const fy_table *t, fy_dtype key, fy_error *err) {
  if (t->key_type == key) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Key must be type %s but got %s",
                 fy_dtype_name(t->key_type), fy_dtype_name(key));
}

// Keys are [rows…, key shape]; values [rows…, value shape].
static fy_code check_keys(const fy_table *t, const fy_tensor *keys, int64_t *rows, fy_error *err) {
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

static fy_code check_pairs(const fy_table *t, const fy_tensor *keys, const fy_tensor *values,
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
static bool are_buckets(const fy_table *t, const fy_tensor *keys, const fy_tensor *values) {
  if (t->kind != FY_TABLE_DENSE || keys->rank < 1 || keys->dtype != t->key_type) return false;
  const int64_t rows = keys->dims[0];
  return values->dtype == t->value_type && is_column(keys, rows, t->key_rank, t->key_dims) &&
         is_column(values, rows, t->value_rank, t->value_dims);
}

static fy_code check_reserved(const fy_table *t, const fy_tensor *keys, int64_t row,
                              fy_error *err) {
  if (t->kind != FY_TABLE_DENSE) return FY_OK;
  if (fy_table_same_key(t, t->empty, 0, keys, row)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Using the empty_key as a table key is not allowed");
  }
  if (fy_table_same_key(t, t->deleted, 0, keys, row)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Using the deleted_key as a table key is not allowed");
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Find, Size, Export
typedef struct find_job {
  const fy_table *t;
  const fy_tensor *keys, *otherwise;
  fy_tensor *out;
  bool each;  // a default for each key
} find_job;

static fy_code find_range(const find_job *j, int64_t begin, int64_t end, fy_error *err) {
  const fy_table *t = j->t;
  uint64_t tags[FY_TABLE_AHEAD];
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = (i - begin) % FY_TABLE_AHEAD;
    if (k == 0)
      fy_table_look_ahead(t, j->keys, i, end - i < FY_TABLE_AHEAD ? end - i : FY_TABLE_AHEAD, tags);
    FY_TRY(check_reserved(t, j->keys, i, err));
    const int64_t row = t->n ? fy_table_find_tagged(t, tags[k], j->keys, i)->row - 1 : -1;
    if (row >= 0)
      FY_TRY(fy_table_copy_value(t, j->out, i, t->values, row, err));
    else
      FY_TRY(fy_table_copy_value(t, j->out, i, j->otherwise, j->each ? i : 0, err));
  }
  return FY_OK;
}
// Keys and values that are numbers.
static void find_words(void *arg, int64_t begin, int64_t end) {
  const find_job *j = arg;
  const fy_table *t = j->t;
  uint64_t tags[FY_TABLE_AHEAD];
  int64_t at[FY_TABLE_AHEAD];
  for (int64_t n; begin < end; begin += n) {
    n = end - begin < FY_TABLE_AHEAD ? end - begin : FY_TABLE_AHEAD;
    for (int64_t i = 0; i < n; i++) {
      tags[i] = fy_table_word_at(j->keys, t->key_word, begin + i);
      at[i] = fy_table_home(t, tags[i]);
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

static fy_code find_locked(fy_kernel_ctx *ctx, fy_table *t, const fy_tensor *keys,
                           const fy_tensor *otherwise, int64_t rows, fy_tensor *out,
                           fy_error *err) {
  // A table written once takes the first default for all.
  const bool each = t->kind != FY_TABLE_STATIC && otherwise->count == out->count && rows > 0 &&
                    otherwise->count > 0 && otherwise->count != t->value_count;
  if (t->kind == FY_TABLE_STATIC && !t->initialized) {
    return fy_fail(err, FY_FAILED_PRECONDITION, "Table not initialized.");
  }
  find_job j = {t, keys, otherwise, out, each};
  if (t->kind == FY_TABLE_DENSE || !fy_dtype_is_plain(t->value_type))
    return find_range(&j, 0, rows, err);
  const bool words = t->key_word && t->value_word && t->n;
  fy_parallel(ctx, rows, words ? 4 : 60, words ? find_words : find_plain, &j);
  return FY_OK;
}

static fy_code find(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *keys = ctx->in[1], *otherwise = ctx->in[2];
  fy_table *t;
  int64_t rows, dims[FY_MAX_RANK];
  fy_tensor *out;
  char x[128], y[128];
  FY_TRY(fy_table_of(ctx, &t, err));
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
  fy_table *t;
  fy_tensor *out;
  FY_TRY(fy_table_of(ctx, &t, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&t->lock);
  *(int64_t *)out->data = t->kind == FY_TABLE_STATIC && !t->initialized ? 0 : t->n;
  fy_unlock(&t->lock);
  return FY_OK;
}

static fy_code export_locked(fy_kernel_ctx *ctx, fy_table *t, fy_error *err) {
  int64_t dims[FY_INLINE_RANK + 1] = {t->n};
  fy_tensor *keys, *values;
  if (t->kind == FY_TABLE_STATIC && !t->initialized) {
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
  fy_table *t;
  FY_TRY(fy_table_of(ctx, &t, err));
  fy_lock(&t->lock);
  const bool empty = t->kind == FY_TABLE_STATIC && !t->initialized;  // says so first
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
static fy_code insert_words(fy_table *t, const fy_tensor *keys, const fy_tensor *values,
                            int64_t rows, fy_error *err) {
  for (int64_t i = 0; i < rows; i++) {
    const uint64_t tag = fy_table_word_at(keys, t->key_word, i);
    FY_TRY(fy_table_grow(t, t->n + 1, err));
    int64_t s = fy_table_home(t, tag), steps = 0;
    while (t->slots[s].row && t->slots[s].tag != tag) s = (s + 1) & t->mask, steps++;
    if (FY_UNLIKELY(steps > FY_TABLE_FAR && !t->mixed)) {
      FY_TRY(fy_table_mix(t, err));
      i--;  // once more
      continue;
    }
    if (!t->slots[s].row) {
      put_word(t->keys, t->key_word, t->n, tag);
      t->slots[s] = (fy_table_slot){tag, ++t->n};
    }
    put_word(t->values, t->value_word, t->slots[s].row - 1,
             fy_table_word_at(values, t->value_word, i));
  }
  return FY_OK;
}

// |skip|: reserved keys are passed over. TensorFlow's dense tables export every bucket, empty ones too.
static fy_code insert_rows(fy_table *t, const fy_tensor *keys, const fy_tensor *values,
                           int64_t rows, bool skip, fy_error *err) {
  uint64_t tags[FY_TABLE_AHEAD];
  if (t->kind != FY_TABLE_DENSE && t->key_word && t->value_word)
    return insert_words(t, keys, values, rows, err);
  for (int64_t i = 0; i < rows; i++) {
    if (i % FY_TABLE_AHEAD == 0)
      fy_table_look_ahead(t, keys, i, rows - i < FY_TABLE_AHEAD ? rows - i : FY_TABLE_AHEAD, tags);
    if (skip && check_reserved(t, keys, i, NULL)) continue;
    FY_TRY(check_reserved(t, keys, i, err));
    FY_TRY(fy_table_put_tagged(t, tags[i % FY_TABLE_AHEAD], keys, values, i, err));
  }
  return FY_OK;
}

static fy_code initialize(fy_kernel_ctx *ctx, fy_error *err);

static fy_code change(fy_kernel_ctx *ctx, bool replace_all, fy_error *err) {
  fy_table *t;
  int64_t rows;
  FY_TRY(fy_table_of(ctx, &t, err));
  if (t->kind == FY_TABLE_STATIC && replace_all)
    return initialize(ctx, err);  // the first one counts
  if (replace_all && are_buckets(t, ctx->in[1], ctx->in[2]))
    rows = ctx->in[1]->dims[0];
  else
    FY_TRY(check_pairs(t, ctx->in[1], ctx->in[2], &rows, err));
  if (t->kind == FY_TABLE_STATIC) {
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
  fy_table *t;
  int64_t rows;
  FY_TRY(fy_table_of(ctx, &t, err));
  FY_TRY(check_keys(t, ctx->in[1], &rows, err));
  if (t->kind == FY_TABLE_STATIC) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Remove not supported by InitializableLookupTable implementations");
  }
  fy_lock(&t->lock);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < rows && !code; i++) {
    code = check_reserved(t, ctx->in[1], i, err);
    if (!code) code = fy_table_remove(t, ctx->in[1], i, err);
  }
  fy_unlock(&t->lock);
  return code;
}

// ---------------------------------------------------------------- Initialize
static bool same_value(const fy_table *t, int64_t row, const fy_tensor *values, int64_t i) {
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
fy_code fy_table_initialize(fy_table *t, const fy_tensor *keys, const fy_tensor *values,
                            int64_t rows, fy_error *err) {
  for (int64_t i = 0; i < rows; i++) {
    const int64_t row = fy_table_find(t, keys, i);
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
    FY_TRY(fy_table_put(t, keys, values, i, err));
  }
  t->initialized = true;
  return FY_OK;
}

static fy_code initialize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *keys = ctx->in[1], *values = ctx->in[2];
  fy_table *t;
  char x[128];
  FY_TRY(fy_table_of(ctx, &t, err));
  if (t->kind != FY_TABLE_STATIC) return change(ctx, true, err);
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
    code = fy_table_initialize(t, keys, values, keys->count, err);
  } else if (keys->count != t->n) {  // TensorFlow, too, compares no more than that
    code =
        fy_fail(err, FY_FAILED_PRECONDITION, "Table was already initialized with different data.");
  }
  fy_unlock(&t->lock);
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
static fy_code pairs_shape(fy_shape_ctx *ctx, fy_error *err) {
  return handle_rank(ctx, err);
}
static fy_code size_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_rank(ctx, err));
  return fy_shape_scalar(ctx, err);
}

#define FLAGS .flags = FY_OP_HOST | FY_OP_DYNAMIC
FY_OP(LookupTableFindV2, .shape = find_shape, .compute = find, FLAGS);
FY_OP(LookupTableSizeV2, .shape = size_shape, .compute = size, FLAGS);
FY_OP(LookupTableExportV2, .shape = export_shape, .compute = export, FLAGS);
FY_OP(LookupTableInsertV2, .shape = pairs_shape, .compute = insert, FLAGS);
FY_OP(LookupTableImportV2, .shape = import_shape, .compute = import, FLAGS);
FY_OP(LookupTableRemoveV2, .shape = remove_shape, .compute = remove_keys, FLAGS);
FY_OP(InitializeTableV2, .shape = initialize_shape, .compute = initialize, FLAGS);
FY_OP(InitializeTableFromTextFileV2, .shape = from_file_shape, .compute = fy_table_from_file,
      FLAGS);

// Version 1.
FY_OP(LookupTableFind, .shape = find_shape, .compute = find, FLAGS);
FY_OP(LookupTableSize, .shape = size_shape, .compute = size, FLAGS);
FY_OP(LookupTableExport, .shape = export_shape, .compute = export, FLAGS);
FY_OP(LookupTableInsert, .shape = pairs_shape, .compute = insert, FLAGS);
FY_OP(LookupTableImport, .shape = pairs_shape, .compute = import, FLAGS);
FY_OP(InitializeTable, .shape = initialize_shape, .compute = initialize, FLAGS);
FY_OP(InitializeTableFromTextFile, .shape = from_file_shape, .compute = fy_table_from_file, FLAGS);

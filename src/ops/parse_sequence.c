// SPDX-License-Identifier: Apache-2.0
// parse_sequence.c: ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample:
// serialized tf.SequenceExample messages to tensors. A message has a context (features, as in an
// Example) and feature lists (for each name a list of features, the rows).
//
// All examples are walked once to find the wanted features; each feature is then counted over the
// batch and written. One serialized scalar gives outputs without a batch dimension.

#include <stdio.h>

#include "base/alloc.h"
#include "ops/parse_sequence.h"
#include "ops/values.h"

static fy_view name_of(const fy_seq_call *c, int64_t e) {
  return c->names && c->names->count > e ? fy_tensor_string(c->names, e) : FY_VIEW("<unknown>");
}

// ---------------------------------------------------------------- finding features
static bool walk_entries(fy_bytes b, const fy_seq_call *c, const fy_names *names, int base,
                         fy_seq_piece *row) {
  while (b.p < b.end) {
    fy_view key, value;
    uint32_t length;
    if (!fy_bytes_tag(&b, FY_TAG_BYTES(1)) || !fy_bytes_varint32(&b, &length)) return false;
    if (c->one && length > (size_t)(b.end - b.p)) return false;
    fy_bytes entry = fy_bytes_limit(&b, length);
    if (!fy_bytes_tag(&entry, FY_TAG_BYTES(1)) || !fy_bytes_string(&entry, &key) ||
        !fy_bytes_tag(&entry, FY_TAG_BYTES(2)) || !fy_bytes_string(&entry, &value) ||
        entry.p != entry.end) {
      return false;
    }
    const int k = fy_names_find(names, key);
    if (k < 0) continue;
    fy_seq_piece *p = &row[base + k];
    *p = (fy_seq_piece){.p = value.p, .n = (uint32_t)value.n, .present = true};
  }
  return true;
}

static bool find_features(const fy_seq_call *c, int64_t e) {
  fy_bytes b = fy_bytes_of(fy_tensor_string(c->serialized, e));
  fy_seq_piece *row = c->pieces + e * c->n;
  memset(row, 0, (size_t)c->n * sizeof *row);
  while (b.p < b.end) {
    uint32_t length;
    const bool context = fy_bytes_tag(&b, FY_TAG_BYTES(1));
    if (!context && !fy_bytes_tag(&b, FY_TAG_BYTES(2))) {
      if (!fy_bytes_skip_field(&b)) return false;
      continue;
    }
    if (!fy_bytes_varint32(&b, &length)) return false;
    if (c->one && length > (size_t)(b.end - b.p)) return false;  // a strict reader
    if (!walk_entries(fy_bytes_limit(&b, length), c, context ? &c->context : &c->lists,
                      context ? 0 : c->num_context, row)) {
      return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------- reading them
// One feature's values to |out| from |at| on (NULL: only counted); -1 if it is not of the type.
static int64_t read_values(const fy_seq_item *f, fy_view feature, fy_tensor *out, int64_t at) {
  fy_dtype type;
  fy_view list;
  size_t count;
  if (feature.n == 0) return 0;
  if (!fy_feature_kind(feature, &type, &list) || type != f->type) return -1;
  const size_t room = out ? (size_t)(out->count - at) : 0;
  return fy_list_read(type, list, out, at, room, &count) ? (int64_t)count : -1;
}

// All rows of a feature list; |counts| (may be NULL) gets how many values each has.
static int64_t read_rows(const fy_seq_item *f, fy_view feature, fy_tensor *out, int64_t at,
                         int64_t *counts, int64_t *rows) {
  fy_bytes b = fy_bytes_of(feature);
  int64_t total = 0;
  *rows = 0;
  while (b.p < b.end) {
    uint32_t length;
    if (!fy_bytes_tag(&b, FY_TAG_BYTES(1)) || !fy_bytes_varint32(&b, &length)) return -1;
    const fy_bytes row = fy_bytes_limit(&b, length);
    if (length == 1) return -1;
    const int64_t n =
        read_values(f, (fy_view){(const char *)row.p, (size_t)(row.end - row.p)}, out, at + total);
    if (n < 0) return -1;
    if (counts) counts[*rows] = n;
    ++*rows;
    total += n;
  }
  return total;
}

static int64_t read_piece(const fy_seq_item *f, const fy_seq_piece *p, fy_tensor *out, int64_t at,
                          int64_t *counts, int64_t *rows) {
  const fy_view v = {p->p, p->n};
  *rows = 0;
  return f->list ? read_rows(f, v, out, at, counts, rows) : read_values(f, v, out, at);
}

// ---------------------------------------------------------------- texts
static fy_code bad_feature(const fy_seq_call *c, int k, int64_t e, int64_t row, fy_error *err) {
  const fy_view name = name_of(c, e), key = c->keys[k];
  const fy_seq_item *f = &c->items[k];
  char index[40] = "";
  if (f->list) snprintf(index, sizeof index, ", Index: %lld", (long long)row);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Name: %.*s, %s: %.*s%s.  Data types don't match. Expected type: %s%s",
                 (int)name.n, name.p,
                 !f->list                             ? "Context feature"
                 : c->one && f->kind == FY_SEQ_SPARSE ? "Feature List"
                                                      : "Feature list",
                 (int)key.n, key.p, index, fy_dtype_name(f->type),
                 c->one ? "  Feature is: of another type" : "");
}

static fy_code missing_feature(const fy_seq_call *c, int k, int64_t e, fy_error *err) {
  const fy_view name = name_of(c, e), key = c->keys[k];
  const fy_seq_item *f = &c->items[k];
  if (c->one && !f->list) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Name: %.*s, Context feature '%.*s' is required but could not be found.",
                   (int)name.n, name.p, (int)key.n, key.p);
  }
  if (f->list) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Name: %.*s, Feature list '%.*s' is required but could not be found.  Did you "
                   "mean to include it in feature_list_dense_missing_assumed_empty or "
                   "feature_list_dense_defaults?",
                   (int)name.n, name.p, (int)key.n, key.p);
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Feature: %.*s (data type: %s) is required but could not be found.", (int)key.n,
                 key.p, fy_dtype_name(f->type));
}

static fy_code wrong_count(const fy_seq_call *c, int k, int64_t e, int64_t row, int64_t n,
                           fy_error *err) {
  const fy_view name = name_of(c, e), key = c->keys[k];
  const fy_seq_item *f = &c->items[k];
  char shape[128];
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Name: %.*s, Key: %.*s, Index: %lld.  Number of %svalues != expected.  values "
                 "size: %lld but output shape: %s",
                 (int)name.n, name.p, (int)key.n, key.p, (long long)row,
                 !c->one               ? ""
                 : f->type == FY_INT64 ? "int64 "
                 : f->type == FY_FLOAT ? "float "
                                       : "bytes ",
                 (long long)n, fy_shape_text(f->shape.rank, f->shape.dims, shape));
}

// ---------------------------------------------------------------- writing
// The longest example must fill the shape, in a batch.
static fy_code check_most(const fy_seq_call *c, int k, fy_error *err) {
  const fy_seq_item *f = &c->items[k];
  const fy_view key = c->keys[k];
  int64_t most = f->list ? 0 : f->preset->count;
  for (int64_t e = 0; e < c->examples; e++) {
    const int64_t n = c->pieces[e * c->n + k].count;
    most = n > most ? n : most;
  }
  if (!f->list && most != f->stride) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inconsistent max number of elements for feature %.*s: expected %lld, but found "
                   "%lld",
                   (int)key.n, key.p, (long long)f->stride, (long long)most);
  }
  if (f->list && (f->stride == 0 || most % f->stride)) {
    int64_t dims[FY_MAX_RANK];
    char text[128];
    const int32_t rank = f->shape.rank < FY_MAX_RANK ? f->shape.rank : FY_MAX_RANK - 1;
    dims[0] = -1;
    for (int32_t i = 0; i < rank; i++) dims[i + 1] = f->shape.dims[i];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Feature list '%.*s' has an unexpected number of values.  Total values size: "
                   "%lld is not consistent with output shape: %s",
                   (int)key.n, key.p, (long long)most, fy_shape_text(rank + 1, dims, text));
  }
  return FY_OK;
}

static fy_code write_dense(fy_kernel_ctx *ctx, const fy_seq_call *c, int k, fy_error *err) {
  const fy_seq_item *f = &c->items[k];
  int64_t dims[FY_MAX_RANK], most = 0;
  int32_t rank = 0;
  fy_tensor *out, *lengths = NULL;
  void *counts = NULL;
  if (!c->one) FY_TRY(check_most(c, k, err));
  for (int64_t e = 0; e < c->examples; e++) {
    const fy_seq_piece *p = &c->pieces[e * c->n + k];
    if (!p->present && !(f->list ? f->may_miss : f->preset->count > 0)) {
      return missing_feature(c, k, e, err);
    }
    if (!f->list && p->present && p->count != f->stride) {
      const fy_view name = name_of(c, e);
      if (c->one) return wrong_count(c, k, e, 0, p->count, err);
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unexpected number of elements in example %.*s",
                     (int)name.n, name.p);
    }
    most = p->rows > most ? p->rows : most;
  }
  if (f->shape.rank + 2 > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "A dense shape has too many dimensions");
  }
  if (c->batch) dims[rank++] = c->examples;
  if (f->list) dims[rank++] = most;
  for (int32_t i = 0; i < f->shape.rank; i++) dims[rank++] = f->shape.dims[i];
  FY_TRY(fy_out(ctx, f->out, rank, dims, &out, err));
  if (f->list && f->gap) {
    FY_TRY(fy_out(ctx, f->out + f->gap, c->batch ? 1 : 0, &c->examples, &lengths, err));
  }
  if (fy_dtype_is_plain(f->type) && out->count) memset(out->data, 0, fy_tensor_bytes(out));
  if (f->list) FY_TRY(fy_scratch(ctx, (size_t)most * sizeof(int64_t) + 1, &counts, err));
  for (int64_t e = 0; e < c->examples; e++) {
    const fy_seq_piece *p = &c->pieces[e * c->n + k];
    const int64_t at = e * f->stride * (f->list ? most : 1);
    int64_t rows;
    if (!p->present && !f->list) {
      FY_TRY(fy_copy_run(f->type, out->data, at, f->preset->data, 0, f->stride, err));
      continue;
    }
    if (f->list && p->count != p->rows * f->stride) {  // find the row that is wrong
      if (read_piece(f, p, NULL, 0, counts, &rows) < 0) return bad_feature(c, k, e, rows, err);
      for (int64_t r = 0; r < rows; r++) {
        const int64_t n = ((int64_t *)counts)[r];
        if (n != f->stride) return wrong_count(c, k, e, r, n, err);
      }
    }
    if (read_piece(f, p, out, at, counts, &rows) < 0) return fy_fail_oom(err, p->n);
    for (int64_t r = 0; r < rows; r++) {
      if (((int64_t *)counts)[r] != f->stride) {
        return wrong_count(c, k, e, r, ((int64_t *)counts)[r], err);
      }
    }
    if (lengths) ((int64_t *)lengths->data)[e] = rows;
  }
  return FY_OK;
}

static void put_split(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32)
    ((int32_t *)t->data)[i] = (int32_t)v;
  else
    ((int64_t *)t->data)[i] = v;
}

static fy_code write_values(fy_kernel_ctx *ctx, const fy_seq_call *c, int k, fy_error *err) {
  const fy_seq_item *f = &c->items[k];
  int64_t total = 0, all_rows = 0, most_rows = 0, widest = 0;
  for (int64_t e = 0; e < c->examples; e++) {
    const fy_seq_piece *p = &c->pieces[e * c->n + k];
    total += p->count;
    all_rows += p->rows;
    most_rows = p->rows > most_rows ? p->rows : most_rows;
    if (!f->list) widest = p->count > widest ? p->count : widest;
  }
  fy_tensor *values, *indices = NULL, *shape = NULL, *outer = NULL, *inner = NULL;
  void *memory;
  FY_TRY(fy_scratch(ctx, ((size_t)all_rows + 1) * sizeof(int64_t), &memory, err));
  int64_t *counts = memory;
  const int64_t width = (c->batch ? 1 : 0) + (f->list ? 2 : 1);
  const int values_at = f->kind == FY_SEQ_SPARSE ? f->out + f->gap : f->out;
  FY_TRY(fy_out(ctx, values_at, 1, &total, &values, err));
  if (f->kind == FY_SEQ_SPARSE) {
    FY_TRY(fy_out(ctx, f->out, 2, (int64_t[]){total, width}, &indices, err));
    FY_TRY(fy_out(ctx, f->out + 2 * f->gap, 1, &width, &shape, err));
  } else {
    // One example alone has no rows of its own to split: a scalar stands there.
    const int64_t n_outer = c->examples + 1, n_inner = all_rows + 1;
    FY_TRY(fy_out(ctx, f->out + f->gap, c->batch ? 1 : 0, &n_outer, &outer, err));
    if (f->list) FY_TRY(fy_out(ctx, f->out + 2 * f->gap, 1, &n_inner, &inner, err));
    put_split(outer, 0, 0);
    if (inner) put_split(inner, 0, 0);
  }
  int64_t at = 0, row_at = 0, *to = indices ? indices->data : NULL;
  for (int64_t e = 0; e < c->examples; e++) {
    const fy_seq_piece *p = &c->pieces[e * c->n + k];
    int64_t rows;
    if (read_piece(f, p, values, at, counts + row_at, &rows) < 0) return fy_fail_oom(err, p->n);
    const int64_t parts = f->list ? rows : 1;
    int64_t sum = at;
    for (int64_t r = 0; r < parts; r++) {
      const int64_t n = f->list ? counts[row_at + r] : p->count;
      if (f->list) widest = n > widest ? n : widest;
      for (int64_t i = 0; to && i < n; i++) {
        if (c->batch) *to++ = e;
        if (f->list) *to++ = r;
        *to++ = i;
      }
      sum += n;
      if (inner) put_split(inner, row_at + r + 1, sum);
    }
    at += p->count;
    row_at += rows;
    if (outer && c->batch) put_split(outer, e + 1, f->list ? row_at : at);
  }
  if (shape) {
    int64_t *d = shape->data;
    if (c->batch) *d++ = c->examples;
    if (f->list) *d++ = most_rows;
    *d = widest;
  }
  return FY_OK;
}

fy_code fy_sequence_parse(fy_kernel_ctx *ctx, fy_seq_call *c, fy_error *err) {
  void *memory;
  size_t cells, bytes;
  if (!fy_mul_size((size_t)c->n + 1, (size_t)c->examples + 1, &cells) ||
      !fy_mul_size(cells, sizeof(fy_seq_piece), &bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  const size_t lists = (size_t)(c->n - c->num_context);
  FY_TRY(fy_scratch(ctx, fy_names_bytes((size_t)c->num_context) + fy_names_bytes(lists), &memory,
                    err));
  uint32_t *slots = memory;
  if (!fy_names_build(&c->context, c->keys, (size_t)c->num_context, slots) ||
      !fy_names_build(&c->lists, c->keys + c->num_context, lists,
                      slots + fy_names_bytes((size_t)c->num_context) / sizeof *slots)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "A feature key is given more than once");
  }
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  c->pieces = memory;
  for (int64_t e = 0; e < c->examples; e++) {
    if (find_features(c, e)) continue;
    const fy_view name = name_of(c, e), v = fy_tensor_string(c->serialized, e);
    if (c->one) {
      const bool whole = !memchr(v.p, 0, v.n);
      return fy_fail(err, FY_INVALID_ARGUMENT, "Could not parse example input, value: '%.*s%s",
                     (int)v.n, v.p, whole ? "'" : "");
    }
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid protocol message input, example id: %.*s",
                   (int)name.n, name.p);
  }
  for (int k = 0; k < c->n; k++) {
    for (int64_t e = 0; e < c->examples; e++) {
      fy_seq_piece *p = &c->pieces[e * c->n + k];
      p->count = read_piece(&c->items[k], p, NULL, 0, NULL, &p->rows);
      if (p->count < 0) return bad_feature(c, k, e, p->rows, err);
    }
  }
  for (int k = 0; k < c->n; k++) {
    if (c->items[k].kind == FY_SEQ_DENSE)
      FY_TRY(write_dense(ctx, c, k, err));
    else
      FY_TRY(write_values(ctx, c, k, err));
  }
  return FY_OK;
}

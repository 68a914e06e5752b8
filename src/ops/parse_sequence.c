// SPDX-License-Identifier: Apache-2.0
// parse_sequence.c: ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample:
// serialized tf.SequenceExample messages to tensors. A message has a context (features, as in an
// Example) and feature lists (for each name a list of features, the rows).
//
// All examples are walked once to find the wanted features; each feature is then counted over the
// batch and written. One serialized scalar gives outputs without a batch dimension.

#include <stdio.h>

#include "base/alloc.h"
#include "ops/example_wire.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef enum kind { SPARSE, DENSE, RAGGED } kind;

typedef struct item {
  bool list;  // of the feature lists, not of the context
  kind kind;
  fy_dtype type, splits;
  fy_pshape shape;
  int64_t stride;           // values of a dense feature (or of one row)
  const fy_tensor *preset;  // of a dense context feature
  bool may_miss;            // a dense list that is empty when it is missing
  int out;                  // first output; sparse and ragged ones have more, |gap| apart
  int gap;
} item;

typedef struct piece {
  const char *p;
  uint32_t n;
  bool present;
  int64_t count, rows;
} piece;

typedef struct call {
  const fy_tensor *serialized, *names;
  item *items;
  fy_view *keys;
  int n, num_context;  // context items come first
  fy_names context, lists;
  piece *pieces;  // [examples, n]
  int64_t examples;
  bool batch, one;  // one: ParseSingleSequenceExample
} call;

static fy_view name_of(const call *c, int64_t e) {
  return c->names && c->names->count > e ? fy_tensor_string(c->names, e) : FY_VIEW("<unknown>");
}

// ---------------------------------------------------------------- finding features
static bool walk_entries(fy_bytes b, const call *c, const fy_names *names, int base, piece *row) {
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
    piece *p = &row[base + k];
    *p = (piece){.p = value.p, .n = (uint32_t)value.n, .present = true};
  }
  return true;
}

static bool find_features(const call *c, int64_t e) {
  fy_bytes b = fy_bytes_of(fy_tensor_string(c->serialized, e));
  piece *row = c->pieces + e * c->n;
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
static int64_t read_values(const item *f, fy_view feature, fy_tensor *out, int64_t at) {
  fy_dtype type;
  fy_view list;
  size_t count;
  if (feature.n == 0) return 0;
  if (!fy_feature_kind(feature, &type, &list) || type != f->type) return -1;
  const size_t room = out ? (size_t)(out->count - at) : 0;
  return fy_list_read(type, list, out, at, room, &count) ? (int64_t)count : -1;
}

// All rows of a feature list; |counts| (may be NULL) gets how many values each has.
static int64_t read_rows(const item *f, fy_view feature, fy_tensor *out, int64_t at,
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

static int64_t read_piece(const item *f, const piece *p, fy_tensor *out, int64_t at,
                          int64_t *counts, int64_t *rows) {
  const fy_view v = {p->p, p->n};
  *rows = 0;
  return f->list ? read_rows(f, v, out, at, counts, rows) : read_values(f, v, out, at);
}

// ---------------------------------------------------------------- texts
static fy_code bad_feature(const call *c, int k, int64_t e, int64_t row, fy_error *err) {
  const fy_view name = name_of(c, e), key = c->keys[k];
  const item *f = &c->items[k];
  char index[40] = "";
  if (f->list) snprintf(index, sizeof index, ", Index: %lld", (long long)row);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Name: %.*s, %s: %.*s%s.  Data types don't match. Expected type: %s%s",
                 (int)name.n, name.p,
                 !f->list                      ? "Context feature"
                 : c->one && f->kind == SPARSE ? "Feature List"
                                               : "Feature list",
                 (int)key.n, key.p, index, fy_dtype_name(f->type),
                 c->one ? "  Feature is: of another type" : "");
}

static fy_code missing_feature(const call *c, int k, int64_t e, fy_error *err) {
  const fy_view name = name_of(c, e), key = c->keys[k];
  const item *f = &c->items[k];
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

static fy_code wrong_count(const call *c, int k, int64_t e, int64_t row, int64_t n, fy_error *err) {
  const fy_view name = name_of(c, e), key = c->keys[k];
  const item *f = &c->items[k];
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
static fy_code check_most(const call *c, int k, fy_error *err) {
  const item *f = &c->items[k];
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

static fy_code write_dense(fy_kernel_ctx *ctx, const call *c, int k, fy_error *err) {
  const item *f = &c->items[k];
  int64_t dims[FY_MAX_RANK], most = 0;
  int32_t rank = 0;
  fy_tensor *out, *lengths = NULL;
  void *counts = NULL;
  if (!c->one) FY_TRY(check_most(c, k, err));
  for (int64_t e = 0; e < c->examples; e++) {
    const piece *p = &c->pieces[e * c->n + k];
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
    const piece *p = &c->pieces[e * c->n + k];
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

static fy_code write_values(fy_kernel_ctx *ctx, const call *c, int k, fy_error *err) {
  const item *f = &c->items[k];
  int64_t total = 0, all_rows = 0, most_rows = 0, widest = 0;
  for (int64_t e = 0; e < c->examples; e++) {
    const piece *p = &c->pieces[e * c->n + k];
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
  const int values_at = f->kind == SPARSE ? f->out + f->gap : f->out;
  FY_TRY(fy_out(ctx, values_at, 1, &total, &values, err));
  if (f->kind == SPARSE) {
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
    const piece *p = &c->pieces[e * c->n + k];
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

static fy_code parse_all(fy_kernel_ctx *ctx, call *c, fy_error *err) {
  void *memory;
  size_t cells, bytes;
  if (!fy_mul_size((size_t)c->n + 1, (size_t)c->examples + 1, &cells) ||
      !fy_mul_size(cells, sizeof(piece), &bytes)) {
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
      piece *p = &c->pieces[e * c->n + k];
      p->count = read_piece(&c->items[k], p, NULL, 0, NULL, &p->rows);
      if (p->count < 0) return bad_feature(c, k, e, p->rows, err);
    }
  }
  for (int k = 0; k < c->n; k++) {
    if (c->items[k].kind == DENSE)
      FY_TRY(write_dense(ctx, c, k, err));
    else
      FY_TRY(write_values(ctx, c, k, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- attributes and inputs
static int length_of(const fy_attrs *attrs, const char *name) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a ? (int)a->n : 0;
}
static const fy_dtype *types_of(const fy_attrs *attrs, const char *name) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a ? a->v.types : NULL;
}

typedef struct counts {
  int cs, cd, cr, fs, fd, fr;
  int64_t version;  // 1, 2; 0 = ParseSingleSequenceExample
} counts;

static counts count_all(const fy_attrs *attrs, const char *op) {
  return (counts){.cs = length_of(attrs, "context_sparse_types"),
                  .cd = length_of(attrs, "Tcontext_dense"),
                  .cr = length_of(attrs, "context_ragged_value_types"),
                  .fs = length_of(attrs, "feature_list_sparse_types"),
                  .fd = length_of(attrs, "feature_list_dense_types"),
                  .fr = length_of(attrs, "feature_list_ragged_value_types"),
                  .version = !strcmp(op, "ParseSequenceExampleV2")       ? 2
                             : !strcmp(op, "ParseSingleSequenceExample") ? 0
                                                                         : 1};
}

static fy_code check_counts(fy_site *site, fy_error *err) {
  const counts n = count_all(site->attrs, site->op->spec->name);
  static const struct {
    const char *attr, *types;
  } pairs[] = {{"Ncontext_sparse", "context_sparse_types"},
               {"Nfeature_list_sparse", "feature_list_sparse_types"},
               {"Nfeature_list_dense", "feature_list_dense_types"},
               {"Ncontext_dense", "Tcontext_dense"}};
  for (int i = 0; i < 4; i++) {
    if (i == 3 && n.version == 2) break;
    if (fy_site_int(site, pairs[i].attr) != length_of(site->attrs, pairs[i].types)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be len(%s)", pairs[i].attr, pairs[i].types);
    }
  }
  const int wanted[] = {n.cd, n.fd, n.cr, n.fr};
  static const char *const lists[] = {"context_dense_shapes", "feature_list_dense_shapes",
                                      "context_ragged_split_types",
                                      "feature_list_ragged_split_types"};
  for (int i = 0; i < (n.version == 2 ? 4 : 2); i++) {
    if (length_of(site->attrs, lists[i]) != wanted[i]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s) must be %d, not %d", lists[i], wanted[i],
                     length_of(site->attrs, lists[i]));
    }
  }
  for (int i = 0; i < 2; i++) {
    const fy_attr *a = fy_site_attr(site, lists[i]);
    for (uint32_t k = 0; a && k < a->n; k++) {
      const fy_pshape s = a->v.shapes[k];
      int64_t count;
      if (!fy_shape_known(s) || !fy_shape_count(s.rank, s.dims, &count)) {
        char text[128];
        return fy_fail(err, FY_INVALID_ARGUMENT, "%s[%u] is not fully defined: %s", lists[i], k,
                       fy_shape_text(s.rank, s.dims, text));
      }
    }
  }
  if (n.version == 1) {
    const int keys[] = {n.cs, n.cd, n.fs, n.fd};
    static const char *const names[] = {"context_sparse_keys", "context_dense_keys",
                                        "feature_list_sparse_keys", "feature_list_dense_keys"};
    for (int i = 0; i < 4; i++) {
      if (length_of(site->attrs, names[i]) != keys[i]) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s) must be %d, not %d", names[i], keys[i],
                       length_of(site->attrs, names[i]));
      }
    }
  }
  return FY_OK;
}

// Where the keys of a group come from: an attribute, one vector input, or scalar inputs.
static fy_code take_keys(fy_kernel_ctx *ctx, const counts *n, const char *attr, int input,
                         int count, const char *text, fy_view *keys, fy_error *err) {
  if (n->version == 1) {
    for (int i = 0; i < count; i++) keys[i] = fy_site_attr(ctx->site, attr)->v.strings[i];
    return FY_OK;
  }
  if (n->version == 2) {
    if (ctx->in[input]->count != count) return fy_fail(err, FY_INVALID_ARGUMENT, "%s", text);
    for (int i = 0; i < count; i++) keys[i] = fy_tensor_string(ctx->in[input], i);
    return FY_OK;
  }
  for (int i = 0; i < count; i++) {
    const fy_tensor *t = ctx->in[input + i];
    char shape[128];
    if (t->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %s[%d] to be a scalar, got shape: %s",
                     attr, i, fy_tensor_shape_text(t, shape));
    }
    keys[i] = fy_tensor_string(t, 0);
  }
  return FY_OK;
}

static bool among(const fy_kernel_ctx *ctx, const counts *n, int i, fy_view key) {
  if (n->version == 2) return ((const bool *)ctx->in[8]->data)[i];
  if (n->version == 0) {
    for (int64_t k = 0; k < ctx->in[1]->count; k++) {
      if (fy_view_eq(fy_tensor_string(ctx->in[1], k), key)) return true;
    }
    return false;
  }
  const fy_attr *a = fy_site_attr(ctx->site, "feature_list_dense_missing_assumed_empty");
  for (uint32_t k = 0; a && k < a->n; k++) {
    if (fy_view_eq(a->v.strings[k], key)) return true;
  }
  return false;
}

static fy_code check_presets(const call *c, int first, int n, int version, fy_error *err) {
  char a[128], b[128];
  for (int d = 0; d < n; d++) {
    const item *f = &c->items[first + d];
    if (f->preset->count == 0 ||
        fy_shape_equal(f->preset->rank, f->preset->dims, f->shape.rank, f->shape.dims)) {
      continue;
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s[%d].shape() == %s != context_dense_shapes%s[%d] == %s",
                   version ? "default_value" : "def_value", d, fy_tensor_shape_text(f->preset, a),
                   version ? "" : "_", d, fy_shape_text(f->shape.rank, f->shape.dims, b));
  }
  return FY_OK;
}

static fy_code gather(fy_kernel_ctx *ctx, call *c, const counts *n, fy_error *err) {
  const fy_attrs *attrs = ctx->site->attrs;
  const int cs = 0, cd = cs + n->cs, cr = cd + n->cd, fs = cr + n->cr, fd = fs + n->fs,
            fr = fd + n->fd;
  // Inputs: keys in the order context sparse, dense, (ragged), lists sparse, dense, (ragged).
  const bool two = n->version == 2;
  const int in_cs = 2, in_cd = two ? 3 : in_cs + n->cs, in_fs = two ? 5 : in_cd + n->cd,
            in_fd = two ? 6 : in_fs + n->fs;
  const int presets = n->version == 1 ? 2 : two ? 9 : in_fd + n->fd;
  FY_TRY(take_keys(ctx, n, "context_dense_keys", in_cd, n->cd,
                   "Expected len(context_dense_keys) to match len(Tcontext_dense)", c->keys + cd,
                   err));
  FY_TRY(take_keys(ctx, n, "context_sparse_keys", in_cs, n->cs,
                   "Expected len(context_sparse_keys) to match Ncontext_sparse", c->keys + cs,
                   err));
  if (two) {
    FY_TRY(take_keys(ctx, n, "", 4, n->cr,
                     "Expected len(context_ragged_keys) to match len(context_ragged_value_types)",
                     c->keys + cr, err));
  }
  FY_TRY(take_keys(ctx, n, "feature_list_dense_keys", in_fd, n->fd,
                   "Expected len(feature_list_dense_keys) to match Nfeature_list_dense",
                   c->keys + fd, err));
  if (two && ctx->in[8]->count != n->fd) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected len(feature_list_dense_missing_assumed_empty to match "
                   "Nfeature_list_dense");
  }
  FY_TRY(take_keys(ctx, n, "feature_list_sparse_keys", in_fs, n->fs,
                   "Expected len(feature_list_sparse_keys) to match Nfeature_list_sparse",
                   c->keys + fs, err));
  if (two) {
    FY_TRY(take_keys(ctx, n, "", 7, n->fr,
                     "Expected len(feature_list_ragged_keys) to match "
                     "len(feature_list_ragged_value_types)",
                     c->keys + fr, err));
  }
  int out = 0;
  for (int i = 0; i < n->cs; i++) {
    c->items[cs + i] = (item){.kind = SPARSE,
                              .type = types_of(attrs, "context_sparse_types")[i],
                              .out = out + i,
                              .gap = n->cs};
  }
  out += 3 * n->cs;
  for (int i = 0; i < n->cd; i++) {
    item *f = &c->items[cd + i];
    *f = (item){.kind = DENSE,
                .type = types_of(attrs, "Tcontext_dense")[i],
                .shape = fy_attrs_get(attrs, "context_dense_shapes")->v.shapes[i],
                .preset = ctx->in[presets + i],
                .out = out + i};
    f->stride = fy_product(f->shape.dims, f->shape.rank);
  }
  FY_TRY(check_presets(c, cd, n->cd, (int)n->version, err));
  out += n->cd;
  for (int i = 0; i < n->cr; i++) {
    c->items[cr + i] = (item){.kind = RAGGED,
                              .type = types_of(attrs, "context_ragged_value_types")[i],
                              .out = out + i,
                              .gap = n->cr};
  }
  out += 2 * n->cr;
  for (int i = 0; i < n->fs; i++) {
    c->items[fs + i] = (item){.list = true,
                              .kind = SPARSE,
                              .type = types_of(attrs, "feature_list_sparse_types")[i],
                              .out = out + i,
                              .gap = n->fs};
  }
  out += 3 * n->fs;
  for (int i = 0; i < n->fd; i++) {
    item *f = &c->items[fd + i];
    *f = (item){.list = true,
                .kind = DENSE,
                .type = types_of(attrs, "feature_list_dense_types")[i],
                .shape = fy_attrs_get(attrs, "feature_list_dense_shapes")->v.shapes[i],
                .may_miss = among(ctx, n, i, c->keys[fd + i]),
                .out = out + i,
                .gap = n->version ? n->fd : 0};
    f->stride = fy_product(f->shape.dims, f->shape.rank);
  }
  out += n->version ? 2 * n->fd : n->fd;
  for (int i = 0; i < n->fr; i++) {
    c->items[fr + i] = (item){.list = true,
                              .kind = RAGGED,
                              .type = types_of(attrs, "feature_list_ragged_value_types")[i],
                              .out = out + i,
                              .gap = n->fr};
  }
  c->num_context = fs;
  return FY_OK;
}

static fy_code parse(fy_kernel_ctx *ctx, fy_error *err) {
  const counts n = count_all(ctx->site->attrs, ctx->site->op->spec->name);
  call c = {.serialized = ctx->in[0], .one = n.version == 0};
  char a[128];
  void *memory;
  c.names = n.version ? ctx->in[1] : ctx->in[ctx->site->num_inputs - 1];
  if (c.serialized->rank > (c.one ? 0 : 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected serialized to be a scalar%s, got shape: %s",
                   c.one ? "" : " or vector", fy_tensor_shape_text(c.serialized, a));
  }
  if (c.one && ctx->in[1]->rank != 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: %s",
        fy_tensor_shape_text(ctx->in[1], a));
  }
  c.batch = c.serialized->rank == 1;
  c.examples = c.serialized->count;
  if (c.names->count && c.names->count != c.examples) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "example_names must be empty or have the correct number of elements");
  }
  c.n = n.cs + n.cd + n.cr + n.fs + n.fd + n.fr;
  FY_TRY(fy_scratch(ctx, ((size_t)c.n + 1) * (sizeof(item) + sizeof(fy_view)), &memory, err));
  c.items = memory;
  c.keys = (fy_view *)(c.items + c.n + 1);
  FY_TRY(gather(ctx, &c, &n, err));
  return parse_all(ctx, &c, err);
}

// ---------------------------------------------------------------- shapes
static fy_code set_group(fy_shape_ctx *ctx, int first, int n, int32_t rank, const int64_t *dims,
                         fy_error *err) {
  for (int i = 0; i < n; i++) FY_TRY(fy_shape_set(ctx, first + i, rank, dims, err));
  return FY_OK;
}

static fy_code set_dense(fy_shape_ctx *ctx, const char *attr, int first, int n, bool batch,
                         bool open, int64_t examples, bool rows, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, attr);
  for (int i = 0; a && i < n && i < (int)a->n; i++) {
    const fy_pshape s = a->v.shapes[i];
    int64_t dims[FY_MAX_RANK];
    int32_t rank = 0;
    if (s.rank < 0 || s.rank + 2 > FY_MAX_RANK || open) continue;
    if (batch) dims[rank++] = examples;
    if (rows) dims[rank++] = -1;
    for (int32_t d = 0; d < s.rank; d++) dims[rank++] = s.dims[d];
    FY_TRY(fy_shape_set(ctx, first + i, rank, dims, err));
  }
  return FY_OK;
}

static fy_code parse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const counts n = count_all(ctx->attrs, ctx->spec->name);
  const fy_pshape in = ctx->in[0];
  if (n.version == 0) FY_TRY(fy_shape_rank_is(in, 0, err));
  if (n.version == 1 && in.rank > 1) FY_TRY(fy_shape_rank_is(in, 1, err));
  if (n.version == 2) FY_TRY(fy_shape_rank_at_most(in, 1, err));
  // Version 1 is meant for batches; of version 2 nothing is known without a rank.
  const bool open = n.version == 2 && in.rank < 0, batch = n.version && in.rank != 0;
  const int64_t examples = in.rank == 1 ? in.dims[0] : -1;
  const int64_t splits = examples < 0 ? -1 : examples + 1;
  const int64_t w1 = open ? -1 : batch ? 2 : 1, w2 = open ? -1 : w1 + 1;
  int at = 0;
  FY_TRY(set_group(ctx, at, n.cs, 2, (int64_t[]){-1, w1}, err));
  FY_TRY(set_group(ctx, at + n.cs, n.cs, 1, NULL, err));
  FY_TRY(set_group(ctx, at + 2 * n.cs, n.cs, 1, &w1, err));
  at += 3 * n.cs;
  FY_TRY(set_dense(ctx, "context_dense_shapes", at, n.cd, batch, open, examples, false, err));
  at += n.cd;
  FY_TRY(set_group(ctx, at, n.cr, 1, NULL, err));
  FY_TRY(set_group(ctx, at + n.cr, n.cr, batch ? 1 : 0, &splits, err));
  at += 2 * n.cr;
  FY_TRY(set_group(ctx, at, n.fs, 2, (int64_t[]){-1, w2}, err));
  FY_TRY(set_group(ctx, at + n.fs, n.fs, 1, NULL, err));
  FY_TRY(set_group(ctx, at + 2 * n.fs, n.fs, 1, &w2, err));
  at += 3 * n.fs;
  FY_TRY(set_dense(ctx, "feature_list_dense_shapes", at, n.fd, batch, open, examples, true, err));
  at += n.fd;
  if (n.version) {
    if (!open) FY_TRY(set_group(ctx, at, n.fd, batch ? 1 : 0, &examples, err));
    at += n.fd;
  }
  FY_TRY(set_group(ctx, at, n.fr, 1, NULL, err));
  FY_TRY(set_group(ctx, at + n.fr, n.fr, batch ? 1 : 0, &splits, err));
  return set_group(ctx, at + 2 * n.fr, n.fr, 1, NULL, err);
}

static const fy_sample v1_samples[] = {
    {"s[2]='',''; s[0]=; i64[1]=5",
     "feature_list_dense_missing_assumed_empty=[]; context_sparse_keys=[]; "
     "context_dense_keys=[\"c\"]; "
     "feature_list_sparse_keys=[]; feature_list_dense_keys=[]; Ncontext_dense=1; "
     "context_dense_shapes=[[1]]; Tcontext_dense=[int64]",
     FY_OK, "5,5"}};
static const fy_sample v2_samples[] = {
    {"s[]=''; s[0]=; s[0]=; s[1]='c'; s[0]=; s[0]=; s[0]=; s[0]=; b[0]=; i64[1]=5",
     "context_dense_shapes=[[1]]; Tcontext_dense=[int64]", FY_OK, "5"}};
static const fy_sample single_samples[] = {
    {"s[]=''; s[0]=; s[]='c'; i64[0]=; s[]='me'",
     "Ncontext_dense=1; context_dense_shapes=[[1]]; Tcontext_dense=[int64]; Ncontext_sparse=0; "
     "Nfeature_list_sparse=0; Nfeature_list_dense=0",
     FY_INVALID_ARGUMENT, "Name: me, Context feature 'c' is required but could not be found."}};

#define SEQUENCE_OP(name, list)                                                \
  FY_OP(name, .shape = parse_shape, .prepare = check_counts, .compute = parse, \
        .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(list))
SEQUENCE_OP(ParseSequenceExample, v1_samples);
SEQUENCE_OP(ParseSequenceExampleV2, v2_samples);
SEQUENCE_OP(ParseSingleSequenceExample, single_samples);

// SPDX-License-Identifier: Apache-2.0
// cross.c: crossed features: SparseCross, SparseCrossV2, SparseCrossHashed, RaggedCross. Every row of
// the result holds all combinations of one feature from each column, the last column fastest, either
// joined as text or as a fingerprint that agrees with TensorFlow's bit for bit.

#include "ops/ragged.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

// One column: where the features of a row are among its values.
typedef struct column {
  const fy_tensor *values;
  const fy_tensor *splits;      // ragged
  const int64_t *start, *size;  // sparse [rows]
  int64_t width;                // dense
} column;

typedef enum cross_kind { CROSS_TEXT, CROSS_HASH, CROSS_SALTED } cross_kind;
typedef struct cross {
  column *columns;
  int n;
  int64_t rows;
  cross_kind kind;
  fy_view between;  // text
  int64_t buckets;  // hashes: 0 = as many as an int64 has
  uint64_t key;     // what a fingerprint starts with
  bool strong;      // salted: by SipHash
  uint64_t salt[2];
} cross;

static void row_of(const column *c, int64_t row, int64_t *start, int64_t *size) {
  if (c->splits) {
    *start = fy_tensor_int(c->splits, row);
    *size = fy_tensor_int(c->splits, row + 1) - *start;
  } else if (c->start) {
    *start = c->start[row];
    *size = c->size[row];
  } else {
    *start = row * c->width;
    *size = c->width;
  }
}

// ---------------------------------------------------------------- fingerprints
static uint64_t shift_mix(uint64_t v) {
  return v ^ (v >> 47);
}
static uint64_t fingerprint_cat(uint64_t a, uint64_t b) {
  const uint64_t mul = 0xc6a4a7935bd1e995ull;
  uint64_t r = a ^ mul;
  r ^= shift_mix(b * mul) * mul;
  r *= mul;
  r = shift_mix(r) * mul;
  return shift_mix(r);
}

static uint64_t feature_hash(const cross *x, const fy_tensor *values, int64_t i) {
  char low[4];
  fy_view s;
  if (values->dtype == FY_STRING) {
    s = fy_tensor_string(values, i);
  } else {
    const int64_t v = fy_tensor_int(values, i);
    if (x->kind != CROSS_SALTED || values->rank == 2) return (uint64_t)v;
    // Salted hashes read the low four bytes of a sparse column's number, as TensorFlow does.
    for (int k = 0; k < 4; k++) low[k] = (char)((uint64_t)v >> (8 * k));
    s = (fy_view){low, sizeof low};
  }
  return x->strong ? fy_siphash(x->salt[0], x->salt[1], s.p, s.n) : fy_fingerprint64(s.p, s.n);
}

static int64_t hash_of(const cross *x, const int64_t *at) {
  const bool keyed = x->kind != CROSS_SALTED;  // else the first feature is what it starts with
  uint64_t hash = keyed ? x->key : feature_hash(x, x->columns[0].values, at[0]);
  for (int c = keyed ? 0 : 1; c < x->n; c++) {
    hash = fingerprint_cat(hash, feature_hash(x, x->columns[c].values, at[c]));
  }
  return (int64_t)(hash % (x->buckets > 0 ? (uint64_t)x->buckets : (uint64_t)INT64_MAX));
}

static void join(const cross *x, const int64_t *at, fy_str *out) {
  for (int c = 0; c < x->n; c++) {
    const fy_tensor *values = x->columns[c].values;
    if (c) fy_str_addn(out, x->between.p, x->between.n);
    if (values->dtype == FY_STRING) {
      const fy_view s = fy_tensor_string(values, at[c]);
      fy_str_addn(out, s.p, s.n);
    } else {
      fy_str_printf(out, "%lld", (long long)fy_tensor_int(values, at[c]));
    }
  }
}

// ---------------------------------------------------------------- combinations
// How many combinations row |row| has.
static fy_code crosses_in(const cross *x, int64_t row, int64_t *out, fy_error *err) {
  int64_t n = 1;
  for (int c = 0; c < x->n; c++) {
    int64_t start, size;
    row_of(&x->columns[c], row, &start, &size);
    if (size == 0) {
      *out = 0;
      return FY_OK;
    }
    if (__builtin_mul_overflow(n, size, &n)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "a row has too many feature crosses");
    }
  }
  *out = x->n ? n : 0;
  return FY_OK;
}

// Writes the |n| combinations of a row to |out| from element |to| on. |at| is scratch [columns].
static fy_code put_row(const cross *x, int64_t row, int64_t n, int64_t *at, fy_tensor *out,
                       int64_t to, fy_str *text, fy_error *err) {
  for (int64_t k = 0; k < n; k++) {
    int64_t rest = k;
    for (int c = x->n - 1; c >= 0; c--) {
      int64_t start, size;
      row_of(&x->columns[c], row, &start, &size);
      at[c] = start + rest % size;
      rest /= size;
    }
    if (out->dtype == FY_STRING) {
      join(x, at, text);
      FY_TRY(fy_text_put_str(out, to + k, text, err));
    } else {
      ((int64_t *)out->data)[to + k] = hash_of(x, at);
    }
  }
  return FY_OK;
}

static fy_code put_all(fy_kernel_ctx *ctx, const cross *x, const int64_t *counts, fy_tensor *out,
                       fy_error *err) {
  void *at;
  fy_str text;
  fy_code code = FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)(x->n + 1) * sizeof(int64_t), &at, err));
  fy_str_init(&text);
  int64_t to = 0;
  for (int64_t r = 0; r < x->rows && !code; r++) {
    code = put_row(x, r, counts[r], at, out, to, &text, err);
    to += counts[r];
  }
  fy_str_free(&text);
  return code;
}

static fy_code count_rows(fy_kernel_ctx *ctx, const cross *x, int64_t **counts, int64_t *total,
                          int64_t *most, fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(x->rows + 1) * sizeof(int64_t), &memory, err));
  *counts = memory;
  *total = *most = 0;
  for (int64_t r = 0; r < x->rows; r++) {
    FY_TRY(crosses_in(x, r, &(*counts)[r], err));
    if ((*counts)[r] > *most) *most = (*counts)[r];
    if (__builtin_add_overflow(*total, (*counts)[r], total)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "there are too many feature crosses");
    }
  }
  return FY_OK;
}

// Where each row's values are, from the first column of sorted indices.
static fy_code sparse_rows(fy_kernel_ctx *ctx, const fy_tensor *indices, int64_t rows, column *c,
                           fy_error *err) {
  void *memory;
  const int64_t n = indices->dims[0], rank = indices->dims[1];
  FY_TRY(fy_scratch(ctx, (size_t)(rows + 1) * 2 * sizeof(int64_t), &memory, err));
  int64_t *start = memory, *size = start + rows + 1, at = 0;
  for (int64_t r = 0; r < rows; r++) {
    start[r] = at;
    while (at < n && fy_tensor_int(indices, at * rank) == r) at++;
    size[r] = at - start[r];
  }
  c->start = start;
  c->size = size;
  return FY_OK;
}

static fy_code new_columns(fy_kernel_ctx *ctx, cross *x, int n, fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(column), &memory, err));
  memset(memory, 0, (size_t)(n + 1) * sizeof(column));
  x->columns = memory;
  x->n = n;
  return FY_OK;
}

// ---------------------------------------------------------------- SparseCross…
static fy_code sparse_checks(const fy_kernel_ctx *ctx, int n, int dense_at, int dense,
                             int64_t *rows, fy_error *err) {
  char s[128];
  fy_tensor *const *indices = ctx->in, *const *values = ctx->in + n,
                   *const *shapes = ctx->in + 2 * n;
  for (int i = 0; i < n; i++) {
    if (indices[i]->rank != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input indices should be a matrix but received shape %s at position %d",
                     fy_tensor_shape_text(indices[i], s), i);
    }
    if (indices[i]->dims[1] != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected D2 of index to be 2 got %lld at position %d",
                     (long long)indices[i]->dims[1], i);
    }
  }
  for (int i = 0; i < n; i++) {
    if (values[i]->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input values should be a vector but received shape %s at position %d",
                     fy_tensor_shape_text(values[i], s), i);
    }
    if (indices[i]->dims[0] != values[i]->count) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected size of values to be %lld got %lld at position %d",
                     (long long)indices[i]->dims[0], (long long)values[i]->count, i);
    }
  }
  for (int i = 0; i < n; i++) {
    if (shapes[i]->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input shapes should be a vector but received shape %s at position %d",
                     fy_tensor_shape_text(shapes[i], s), i);
    }
    if (shapes[i]->count != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "shape should imply a 2D tensor, but got %s at position %d",
                     fy_tensor_shape_text(shapes[i], s), i);
    }
  }
  *rows = n ? fy_tensor_int(shapes[0], 0) : 0;
  if (n == 0 && dense) *rows = ctx->in[dense_at]->rank ? ctx->in[dense_at]->dims[0] : 0;
  for (int i = 0; i < n; i++) {
    if (fy_tensor_int(shapes[i], 0) == *rows) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected batch size %lld got %lld at position %d",
                   (long long)*rows, (long long)fy_tensor_int(shapes[i], 0), i);
  }
  for (int i = 0; i < dense; i++) {
    const fy_tensor *t = ctx->in[dense_at + i];
    if (t->rank != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Dense inputs should be a matrix but received shape %s at position %d",
                     fy_tensor_shape_text(t, s), i);
    }
    if (t->dims[0] != *rows) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected batch size %lld got %lld at dense tensor %d", (long long)*rows,
                     (long long)t->dims[0], i);
    }
  }
  if (*rows < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)*rows);
  }
  return FY_OK;
}

// |x| says how to cross; reads the columns and writes the three outputs.
static fy_code run_sparse(fy_kernel_ctx *ctx, cross *x, int extra, fy_error *err) {
  const int n = (int)fy_site_int(ctx->site, "N");
  const int dense = ctx->site->num_inputs - 3 * n - extra;
  int64_t total, most, *counts;
  fy_tensor *indices, *values, *shape;
  FY_TRY(sparse_checks(ctx, n, 3 * n, dense, &x->rows, err));
  FY_TRY(new_columns(ctx, x, n + dense, err));
  for (int i = 0; i < n; i++) {
    x->columns[i].values = ctx->in[n + i];
    FY_TRY(sparse_rows(ctx, ctx->in[i], x->rows, &x->columns[i], err));
  }
  for (int i = 0; i < dense; i++) {
    x->columns[n + i].values = ctx->in[3 * n + i];
    x->columns[n + i].width = ctx->in[3 * n + i]->dims[1];
  }
  FY_TRY(count_rows(ctx, x, &counts, &total, &most, err));
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){total, 2}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &total, &values, err));
  FY_TRY(fy_out(ctx, 2, 1, (const int64_t[]){2}, &shape, err));
  int64_t *at = indices->data;
  for (int64_t r = 0; r < x->rows; r++) {
    for (int64_t k = 0; k < counts[r]; k++) {
      *at++ = r;
      *at++ = k;
    }
  }
  ((int64_t *)shape->data)[0] = x->rows;
  ((int64_t *)shape->data)[1] = most;
  return put_all(ctx, x, counts, values, err);
}

static fy_code sparse_cross(fy_kernel_ctx *ctx, fy_error *err) {
  cross x = {.kind = fy_site_bool(ctx->site, "hashed_output") ? CROSS_HASH : CROSS_TEXT,
             .between = FY_VIEW("_X_"),
             .buckets = fy_site_int(ctx->site, "num_buckets"),
             .key = (uint64_t)fy_site_int(ctx->site, "hash_key")};
  const int n = (int)fy_site_int(ctx->site, "N");
  const fy_dtype inside = fy_site_type(ctx->site, "internal_type");
  for (int i = n; inside == FY_STRING && i < ctx->site->num_inputs; i++) {
    if ((i >= 2 * n && i < 3 * n) || ctx->in[i]->dtype == FY_STRING) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s should be of internal type %d but received %d",
                   i < 2 * n ? "Input values" : "Dense inputs", (int)inside,
                   (int)ctx->in[i]->dtype);
  }
  return run_sparse(ctx, &x, 0, err);
}

static fy_code sparse_cross_v2(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *between = ctx->in[ctx->site->num_inputs - 1];
  if (between->rank != 0) {
    char s[128];
    fy_str text;
    fy_str_init(&text);
    for (int64_t i = 0; i < between->count && i < 3; i++) {
      const fy_view v = fy_tensor_string(between, i);
      fy_str_addc(&text, ' ');
      fy_str_addn(&text, v.p, v.n);
    }
    if (between->count > 3) fy_str_add(&text, "...");
    fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input separator should be a scalar. Received: Tensor<type: string shape: %s values:%s>",
        fy_tensor_shape_text(between, s), fy_str_text(&text));
    fy_str_free(&text);
    return FY_INVALID_ARGUMENT;
  }
  cross x = {.kind = CROSS_TEXT, .between = fy_tensor_string(between, 0)};
  return run_sparse(ctx, &x, 1, err);
}

static fy_code sparse_cross_hashed(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *const *last = ctx->in + ctx->site->num_inputs - 3;
  if (last[0]->count < 1 || last[1]->count < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_buckets and strong_hash must be scalars");
  }
  if (last[2]->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input \"salt\" must have length 2 but has length %lld",
                   (long long)last[2]->count);
  }
  cross x = {.kind = CROSS_SALTED,
             .buckets = fy_tensor_int(last[0], 0),
             .strong = ((const bool *)last[1]->data)[0],
             .salt = {(uint64_t)fy_tensor_int(last[2], 0), (uint64_t)fy_tensor_int(last[2], 1)}};
  return run_sparse(ctx, &x, 3, err);
}

static fy_code cross_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1, two = 2;
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, 2}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &two, err);
}

// ---------------------------------------------------------------- RaggedCross
typedef struct ragged_inputs {
  int ragged, sparse, dense;
  fy_tensor *const *ragged_values,
      *const *splits, *const *indices, *const *values, *const *shapes, *const *dense_values;
} ragged_inputs;

static fy_code ragged_checks(const ragged_inputs *g, fy_error *err) {
  for (int i = 0; i < g->ragged; i++) {
    if (g->ragged_values[i]->rank != 1 || g->splits[i]->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "tf.ragged.cross only supports inputs with rank=2.");
    }
    FY_TRY(fy_ragged_check_splits(g->splits[i], g->ragged_values[i]->count, err));
  }
  for (int i = 0; i < g->sparse; i++) {
    const fy_tensor *at = g->indices[i], *values = g->values[i], *shape = g->shapes[i];
    if (at->rank != 2 || values->rank != 1 || shape->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid SparseTensor %d", i);
    }
    if (shape->count != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "tf.ragged.cross only supports inputs with rank=2.");
    }
    if (at->dims[0] > values->count || at->dims[1] != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid SparseTensor %d", i);
    }
  }
  for (int i = 0; i < g->dense; i++) {
    if (g->dense_values[i]->rank == 2) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "tf.ragged.cross only supports inputs with rank=2.");
  }
  return FY_OK;
}

static fy_code ragged_rows(const ragged_inputs *g, int64_t *rows, fy_error *err) {
  *rows = -1;
  for (int i = 0; i < g->ragged + g->sparse + g->dense; i++) {
    const int s = i - g->ragged, d = s - g->sparse;
    const int64_t n = s < 0   ? g->splits[i]->count - 1
                      : d < 0 ? fy_tensor_int(g->shapes[s], 0)
                              : g->dense_values[d]->dims[0];
    if (*rows >= 0 && n != *rows) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "inputs must all have the same batch dimension size.");
    }
    *rows = n;
  }
  if (*rows < 0) *rows = 0;
  return FY_OK;
}

static fy_code order_columns(fy_kernel_ctx *ctx, const ragged_inputs *g, cross *x, fy_error *err) {
  const fy_view order = fy_site_string(ctx->site, "input_order");
  int ragged = 0, sparse = 0, dense = 0;
  for (int i = 0; i < x->n; i++) {
    column *c = &x->columns[i];
    const char kind = order.p[i];
    const int next = kind == 'R' ? ragged : kind == 'S' ? sparse : dense;
    const int limit = kind == 'R' ? g->ragged : kind == 'S' ? g->sparse : g->dense;
    if (kind != 'R' && kind != 'S' && kind != 'D') {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unexpected input_order value.");
    }
    if (next >= limit) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "input_order \"%.*s\" specifies reading a %s tensor at index %d from a list of "
          "%d tensors.",
          (int)order.n, order.p,
          kind == 'R'   ? "ragged"
          : kind == 'S' ? "sparse"
                        : "dense",
          next, limit);
    }
    if (kind == 'R') {
      c->values = g->ragged_values[ragged];
      c->splits = g->splits[ragged++];
    } else if (kind == 'S') {
      c->values = g->values[sparse];
      FY_TRY(sparse_rows(ctx, g->indices[sparse++], x->rows, c, err));
    } else {
      c->values = g->dense_values[dense];
      c->width = g->dense_values[dense++]->dims[1];
    }
  }
  return FY_OK;
}

static fy_code ragged_cross(fy_kernel_ctx *ctx, fy_error *err) {
  ragged_inputs g = {.ragged = (int)fy_site_attr(ctx->site, "ragged_values_types")->n,
                     .sparse = (int)fy_site_int(ctx->site, "Nsparse"),
                     .dense = (int)fy_site_attr(ctx->site, "dense_types")->n};
  g.ragged_values = ctx->in;
  g.splits = g.ragged_values + g.ragged;
  g.indices = g.splits + g.ragged;
  g.values = g.indices + g.sparse;
  g.shapes = g.values + g.sparse;
  g.dense_values = g.shapes + g.sparse;
  const fy_view order = fy_site_string(ctx->site, "input_order");
  cross x = {.kind = fy_site_bool(ctx->site, "hashed_output") ? CROSS_HASH : CROSS_TEXT,
             .between = FY_VIEW("_X_"),
             .buckets = fy_site_int(ctx->site, "num_buckets"),
             .key = (uint64_t)fy_site_int(ctx->site, "hash_key")};
  int64_t total, most, *counts;
  fy_tensor *values, *splits;
  FY_TRY(ragged_checks(&g, err));
  if (order.n != (size_t)(g.ragged + g.sparse + g.dense)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid length for input_order");
  }
  FY_TRY(ragged_rows(&g, &x.rows, err));
  FY_TRY(new_columns(ctx, &x, (int)order.n, err));
  FY_TRY(order_columns(ctx, &g, &x, err));
  FY_TRY(count_rows(ctx, &x, &counts, &total, &most, err));
  FY_TRY(fy_out(ctx, 0, 1, &total, &values, err));
  FY_TRY(fy_out(ctx, 1, 1, (const int64_t[]){x.rows + 1}, &splits, err));
  if (splits->dtype == FY_INT32 && total > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "there are more feature crosses than int32 splits count");
  }
  fy_index_put(splits, 0, 0);
  for (int64_t r = 0; r < x.rows; r++) {
    fy_index_put(splits, r + 1, fy_tensor_int(splits, r) + counts[r]);
  }
  return put_all(ctx, &x, counts, values, err);
}

static fy_code ragged_cross_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *types = fy_attrs_get(ctx->attrs, "ragged_values_types");
  const fy_attr *dense_types = fy_attrs_get(ctx->attrs, "dense_types");
  const int ragged = types ? (int)types->n : 0, dense = dense_types ? (int)dense_types->n : 0;
  const int sparse = (int)fy_shape_attr_int(ctx, "Nsparse", 0);
  const fy_attr *splits = fy_attrs_get(ctx->attrs, "ragged_splits_types");
  const fy_attr *values = fy_attrs_get(ctx->attrs, "sparse_values_types");
  const int64_t unknown = -1;
  int64_t n = -1;  // one more than there are rows
  if (splits && (int)splits->n != ragged) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ragged values and splits must have the same length.");
  }
  if (values && (int)values->n != sparse) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "sparse indices and values must have the same length");
  }
  for (int i = 0; i < ragged; i++) {
    const fy_pshape s = ctx->in[ragged + i];
    if ((s.rank >= 0 && s.rank != 1) || fy_dim_merge(n, fy_dim_of(s, 0), &n, NULL)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "inputs must all have the same batch dimension size.");
    }
  }
  for (int i = 0; i < dense; i++) {
    const fy_pshape s = ctx->in[2 * ragged + 3 * sparse + i];
    if (s.rank >= 0 && s.rank != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "tf.ragged.cross only supports inputs with rank=2");
    }
    const int64_t rows = fy_dim_of(s, 0);
    if (rows >= 0 && fy_dim_merge(n, rows + 1, &n, NULL)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "inputs must all have the same batch dimension size.");
    }
  }
  FY_TRY(fy_shape_set(ctx, 0, 1, &unknown, err));
  return fy_shape_set(ctx, 1, 1, &n, err);
}

static const fy_sample sparse_samples[] = {
    {"i64[2,2]=0,0,1,0; s[2]='a','b'; i64[2]=2,1; s[2,1]='x','y'",
     "N=1; sparse_types=[string]; dense_types=[string]; hashed_output=false; num_buckets=0; "
     "hash_key=1; out_type=string; internal_type=string",
     FY_OK, "0,0,1,0"},
    {"i64[2,2]=0,0,1,0; s[1]='a'; i64[2]=2,1; s[2,1]='x','y'",
     "N=1; sparse_types=[string]; dense_types=[string]; hashed_output=false; num_buckets=0; "
     "hash_key=1; out_type=string; internal_type=string",
     FY_INVALID_ARGUMENT, "Expected size of values to be 2 got 1 at position 0"},
};
static const fy_sample v2_samples[] = {
    {"i64[1,2]=0,0; s[1]='a'; i64[2]=1,1; s[1,2]='x','y'; s[]='-'",
     "N=1; sparse_types=[string]; dense_types=[string]", FY_OK, "0,0,0,1"},
};
static const fy_sample hashed_samples[] = {
    {"i64[1,2]=0,0; s[1]='a'; i64[2]=1,1; i64[1,2]=5,6; i64[]=10; b[]=false; i64[2]=1,2",
     "N=1; sparse_types=[string]; dense_types=[int64]", FY_OK, "0,0,0,1"},
};
static const fy_sample ragged_samples[] = {
    {"s[2]='a','b'; i64[3]=0,1,2; s[2,1]='x','y'",
     "Nsparse=0; ragged_values_types=[string]; ragged_splits_types=[int64]; "
     "sparse_values_types=[]; "
     "dense_types=[string]; input_order=\"RD\"; hashed_output=false; num_buckets=0; hash_key=1; "
     "out_values_type=string; out_row_splits_type=int64",
     FY_OK, "'a_X_x','b_X_y'"},
};
FY_OP(SparseCross, .shape = cross_shape, .compute = sparse_cross,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(sparse_samples));
FY_OP(SparseCrossV2, .shape = cross_shape, .compute = sparse_cross_v2,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(v2_samples));
FY_OP(SparseCrossHashed, .shape = cross_shape, .compute = sparse_cross_hashed,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(hashed_samples));
FY_OP(RaggedCross, .shape = ragged_cross_shape, .compute = ragged_cross,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(ragged_samples));

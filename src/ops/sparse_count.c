// SPDX-License-Identifier: Apache-2.0
// sparse_count.c: how often each number occurs in each row: DenseCountSparseOutput,
// SparseCountSparseOutput, RaggedCountSparseOutput (results sparse) and SparseBincount,
// RaggedBincount (results dense). Rows come from splits, from the first index, or from a matrix.

#include <stdio.h>
#include <stdlib.h>

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct item {  // one value to count
  int64_t row, value, at;
} item;

// ---------------------------------------------------------------- adding up weights
// out[to] += weights[at], or 1 without weights, or := 1 for presence only.
typedef void (*tally_fn)(void *out, int64_t to, const void *weights, int64_t at, bool present);
#define TALLY_REAL(S, x, y) ((x) + (y))
#define TALLY_INT(S, x, y)  (fy_a_##S)((fy_u_##S)(x) + (fy_u_##S)(y))
#define TALLY(E, S, ADD)                                                                    \
  static void tally_##S(void *po, int64_t to, const void *pw, int64_t at, bool present) {   \
    fy_t_##S *out = (fy_t_##S *)po + to;                                                    \
    const fy_a_##S x = FY_LD_##S(*out), y = pw ? FY_LD_##S(((const fy_t_##S *)pw)[at]) : 1; \
    *out = present ? FY_ST_##S(1) : FY_ST_##S(ADD(S, x, y));                                \
  }
FY_FULL_REAL_TYPES(TALLY, TALLY_REAL)
FY_INDEX_TYPES(TALLY, TALLY_INT)
static const tally_fn tallies[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, tally)
                                                     FY_INDEX_TYPES(FY_LOOP_ENTRY, tally)};

static fy_code find_tally(const fy_kernel_ctx *ctx, fy_dtype t, tally_fn *out, fy_error *err) {
  *out = tallies[t];
  if (*out) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

// ---------------------------------------------------------------- sparse results
static int by_row_and_value(const void *pa, const void *pb) {
  const item *a = pa, *b = pb;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

// One stable pass of a sort by a key below |most|: the value or, if |rows|, the row.
static void counting_pass(const item *in, item *out, int64_t n, bool rows, int64_t *next,
                          int64_t most) {
  memset(next, 0, (size_t)(most + 1) * sizeof *next);
  for (int64_t i = 0; i < n; i++) next[(rows ? in[i].row : in[i].value) + 1]++;
  for (int64_t k = 0; k < most; k++) next[k + 1] += next[k];
  for (int64_t i = 0; i < n; i++) out[next[rows ? in[i].row : in[i].value]++] = in[i];
}

// By row, value and place; items come in the order of their places. By counting where values and
// rows are not many more than the items.
static fy_code sort_items(fy_kernel_ctx *ctx, item *items, int64_t n, int64_t largest, int64_t rows,
                          fy_error *err) {
  const int64_t limit = 4 * n + 1024;
  bool in_rows = true;
  for (int64_t i = 0; i < n; i++) in_rows &= items[i].row >= 0 && items[i].row < rows;
  if (largest >= limit || rows >= limit || !in_rows) {
    qsort(items, (size_t)n, sizeof *items, by_row_and_value);
    return FY_OK;
  }
  const int64_t most = largest >= rows ? largest + 1 : rows;
  void *other, *next;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(item), &other, err));
  FY_TRY(fy_scratch(ctx, (size_t)(most + 2) * sizeof(int64_t), &next, err));
  counting_pass(items, other, n, false, next, largest + 1);
  counting_pass(other, items, n, true, next, rows);
  return FY_OK;
}

// Room for an item for each of |n| values.
static fy_code new_items(fy_kernel_ctx *ctx, int64_t n, item **out, fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(item), &memory, err));
  *out = memory;
  return FY_OK;
}

// Counts |items| (row and value set; at is the weight's place) into the three outputs.
static fy_code put_counts(fy_kernel_ctx *ctx, item *items, int64_t n, int64_t rows, bool vector,
                          const fy_tensor *weights, fy_error *err) {
  const int64_t lowest = fy_site_int(ctx->site, "minlength");
  const int64_t highest = fy_site_int(ctx->site, "maxlength");
  const bool present = fy_site_bool(ctx->site, "binary_output");
  const void *w = weights->count ? weights->data : NULL;
  tally_fn tally;
  int64_t kept = 0, largest = 0, pairs = 0;
  fy_tensor *indices, *values, *shape;
  FY_TRY(find_tally(ctx, weights->dtype, &tally, err));
  for (int64_t i = 0; i < n; i++) {
    if (items[i].value < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Input values must all be non-negative");
    }
    if (highest >= 0 && items[i].value >= highest) continue;
    if (items[i].value > largest) largest = items[i].value;
    items[kept++] = items[i];
  }
  FY_TRY(sort_items(ctx, items, kept, largest, rows, err));
  for (int64_t i = 0; i < kept; i++) {
    pairs += !i || items[i].row != items[i - 1].row || items[i].value != items[i - 1].value;
  }
  const int64_t rank = vector ? 1 : 2;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){pairs, rank}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &pairs, &values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  if (pairs) memset(values->data, 0, fy_tensor_bytes(values));
  int64_t pair = -1, *at = indices->data, *dims = shape->data;
  for (int64_t i = 0; i < kept; i++) {
    if (!i || items[i].row != items[i - 1].row || items[i].value != items[i - 1].value) {
      pair++;
      if (!vector) *at++ = items[i].row;
      *at++ = items[i].value;
    }
    tally(values->data, pair, w, items[i].at, present);
  }
  if (!vector) *dims++ = rows;
  const int64_t seen = largest == INT64_MAX ? INT64_MAX : largest + 1;
  *dims = highest >= 0 ? highest : seen > lowest ? seen : lowest;
  return FY_OK;
}

static fy_code dense_count(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *weights = ctx->in[1];
  char x[128], y[128];
  item *items;
  if (data->rank != 1 && data->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be a 1 or 2-dimensional tensor. Got: %s",
                   fy_tensor_shape_text(data, x));
  }
  if (weights->count && !fy_shape_equal(weights->rank, weights->dims, data->rank, data->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Weights and data must have the same shape. Weight shape: %s; data shape: %s",
                   fy_tensor_shape_text(weights, x), fy_tensor_shape_text(data, y));
  }
  const int64_t width = data->dims[data->rank - 1];
  if (data->rank == 2 && data->dims[0] == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid input: Shapes dimension cannot be 0.");
  }
  FY_TRY(new_items(ctx, data->count, &items, err));
  for (int64_t i = 0; i < data->count; i++) {
    items[i] = (item){data->rank == 2 ? i / width : 0, fy_tensor_int(data, i), i};
  }
  return put_counts(ctx, items, data->count, data->dims[0], data->rank == 1, weights, err);
}

static fy_code sparse_count(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *data = ctx->in[1], *shape = ctx->in[2];
  const fy_tensor *weights = ctx->in[3];
  char x[128], y[128];
  item *items;
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices must be a 2-dimensional tensor. Got: %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (data->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input values must be a vector. Got: %s",
                   fy_tensor_shape_text(data, x));
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape must be a vector. Got: %s",
                   fy_tensor_shape_text(shape, x));
  }
  if (data->count != indices->dims[0]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Number of values must match first dimension of indices.Got %lld values, indices "
        "shape: %s",
        (long long)data->count, fy_tensor_shape_text(indices, x));
  }
  if (shape->count != indices->dims[1]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Number of dimensions must match second dimension of indices.Got %lld dimensions, "
        "indices shape: %s",
        (long long)shape->count, fy_tensor_shape_text(indices, x));
  }
  if (shape->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The shape argument requires at least one element.");
  }
  const int64_t outside = fy_sparse_outside(indices, shape);
  if (outside >= 0) {
    const int64_t d = outside % shape->count;
    fy_str text;
    fy_str_init(&text);
    for (int64_t k = 0; k < shape->count && k < 3; k++) {
      fy_str_printf(&text, " %lld", (long long)fy_tensor_int(shape, k));
    }
    if (shape->count > 3) fy_str_add(&text, "...");
    fy_fail(err, FY_INVALID_ARGUMENT,
            "Invalid index value at %lld: dimension %lld has value %lld which is not in [0, %lld) "
            "(as given by dense shape Tensor<type: int64 shape: %s values:%s>",
            (long long)(outside / shape->count), (long long)d,
            (long long)fy_tensor_int(indices, outside), (long long)fy_tensor_int(shape, d),
            fy_tensor_shape_text(shape, x), fy_str_text(&text));
    fy_str_free(&text);
    return FY_INVALID_ARGUMENT;
  }
  if (weights->count && !fy_shape_equal(weights->rank, weights->dims, data->rank, data->dims)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Weights and values must have the same shape. Weight shape: %s; values shape: %s",
        fy_tensor_shape_text(weights, x), fy_tensor_shape_text(data, y));
  }
  const bool vector = shape->count == 1;
  const int64_t rows = fy_tensor_int(shape, 0);
  if (!vector && rows <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot allocate %lld batches, is the dense shape too wide?", (long long)rows);
  }
  FY_TRY(new_items(ctx, data->count, &items, err));
  for (int64_t i = 0; i < data->count; i++) {
    const int64_t row = vector ? 0 : fy_tensor_int(indices, i * shape->count);
    items[i] = (item){row, fy_tensor_int(data, i), i};
  }
  return put_counts(ctx, items, data->count, rows, vector, weights, err);
}

static fy_code check_splits(const fy_tensor *splits, const fy_tensor *data, fy_error *err) {
  if (fy_tensor_int(splits, 0) != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Splits must start with 0, not with %lld",
                   (long long)fy_tensor_int(splits, 0));
  }
  const int64_t last = fy_tensor_int(splits, splits->count - 1);
  if (last == data->count) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Splits must end with the number of values, got %lld instead of %lld",
                 (long long)last, (long long)data->count);
}

static fy_code ragged_count(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *splits = ctx->in[0], *data = ctx->in[1], *weights = ctx->in[2];
  char x[128], y[128];
  item *items;
  if (weights->count && !fy_shape_equal(weights->rank, weights->dims, data->rank, data->dims)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Weights and values must have the same shape. Weight shape: %s; values shape: %s",
        fy_tensor_shape_text(weights, x), fy_tensor_shape_text(data, y));
  }
  if (splits->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Must provide at least 2 elements for the splits argument");
  }
  FY_TRY(check_splits(splits, data, err));
  FY_TRY(new_items(ctx, data->count, &items, err));
  int64_t row = 0;  // ends at the last split, which is the number of values
  for (int64_t i = 0; i < data->count; i++) {
    while (i >= fy_tensor_int(splits, row)) row++;
    items[i] = (item){row - 1, fy_tensor_int(data, i), i};
  }
  return put_counts(ctx, items, data->count, splits->count - 1, false, weights, err);
}

static fy_code count_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  int64_t rank;
  if (ctx->num_inputs == 2) {  // dense: the weights are like the values, or none
    fy_pshape s = ctx->in[0];
    bool none = false;
    for (int32_t d = 0; d < ctx->in[1].rank; d++) none |= ctx->in[1].dims[d] == 0;
    if (!none) FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->in[0], &s, err));
    rank = s.rank;
  } else if (ctx->num_inputs == 4) {  // sparse
    FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
    rank = fy_dim_of(ctx->in[0], 1);
  } else {  // ragged: one more than the values have
    rank = ctx->in[1].rank < 0 ? -1 : ctx->in[1].rank + 1;
  }
  if (rank > 2)
    rank = -1;  // TensorFlow infers the rank of the input; what comes has rank 2 at most
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &rank, err);
}

// ---------------------------------------------------------------- dense results
static fy_code read_size(const fy_tensor *t, int64_t *out, fy_error *err) {
  *out = 0;
  if (t->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d", t->rank);
  }
  *out = fy_tensor_int(t, 0);
  if (*out >= 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)*out);
}

static fy_code check_weights(const fy_tensor *weights, const fy_tensor *data, fy_error *err) {
  char x[128], y[128];
  if (weights->count == 0 || weights->count == data->count) return FY_OK;
  return fy_fail(
      err, FY_INVALID_ARGUMENT,
      "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
      "acts as all weights equal to 1. Received weights %s for values %s",
      fy_tensor_shape_text(weights, x), fy_tensor_shape_text(data, y));
}

static fy_code ragged_bincount(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *splits = ctx->in[0], *data = ctx->in[1], *weights = ctx->in[3];
  const bool present = fy_site_bool(ctx->site, "binary_output");
  int64_t size, row = 0;
  tally_fn tally;
  fy_tensor *out;
  FY_TRY(read_size(ctx->in[2], &size, err));
  if (splits->count == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Splits must be non-empty");
  FY_TRY(check_splits(splits, data, err));
  FY_TRY(check_weights(weights, data, err));
  FY_TRY(find_tally(ctx, weights->dtype, &tally, err));
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){splits->count - 1, size}, &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  for (int64_t i = 0; i < data->count; i++) {
    const int64_t value = fy_tensor_int(data, i);
    while (i >= fy_tensor_int(splits, row)) row++;
    if (value < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be non-negative");
    if (value >= size) continue;
    tally(out->data, (row - 1) * size + value, weights->count ? weights->data : NULL, i, present);
  }
  return FY_OK;
}

static fy_code sparse_bincount(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *data = ctx->in[1], *shape = ctx->in[2];
  const fy_tensor *weights = ctx->in[4];
  const bool present = fy_site_bool(ctx->site, "binary_output");
  int64_t size;
  tally_fn tally;
  fy_tensor *out;
  FY_TRY(read_size(ctx->in[3], &size, err));
  FY_TRY(fy_sparse_validate(indices, data, shape, true, err));
  if (shape->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The shape argument requires at least one element.");
  }
  FY_TRY(check_weights(weights, data, err));
  FY_TRY(find_tally(ctx, weights->dtype, &tally, err));
  const bool vector = shape->count == 1;
  const int64_t rows = fy_tensor_int(shape, 0);
  if (rows < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)rows);
  }
  FY_TRY(fy_out(ctx, 0, vector ? 1 : 2, vector ? &size : (const int64_t[]){rows, size}, &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  for (int64_t i = 0; i < data->count; i++) {
    const int64_t value = fy_tensor_int(data, i);
    const int64_t row = vector ? 0 : fy_tensor_int(indices, i * shape->count);
    if (value < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be non-negative");
    if (value >= size) continue;
    tally(out->data, row * size + value, weights->count ? weights->data : NULL, i, present);
  }
  return FY_OK;
}

static fy_code bincount_size(fy_shape_ctx *ctx, int input, int64_t *out, fy_error *err) {
  *out = -1;
  if (ctx->in[input].rank > 0 && fy_shape_tensor(ctx, input)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d",
                   ctx->in[input].rank);
  }
  if (fy_shape_int_value(ctx, input, out) && *out < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)*out);
  }
  return FY_OK;
}
static fy_code ragged_bincount_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t size, rows = fy_dim_of(ctx->in[0], 0);
  if (!fy_shape_int_value(ctx, 2, &size) || size < 0) size = -1;
  rows = ctx->in[0].rank == 1 && rows > 0 ? rows - 1 : -1;
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){rows, size}, err);
}
static fy_code sparse_bincount_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t size, rows = -1;
  fy_pshape shape;
  FY_TRY(bincount_size(ctx, 3, &size, err));
  const fy_tensor *dense = fy_shape_tensor(ctx, 2);
  const int64_t rank = dense ? dense->count : ctx->in[2].rank == 1 ? ctx->in[2].dims[0] : -1;
  if (dense && (rank < 1 || rank > 2) && size >= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be less than rank 2");
  }
  if (rank < 0) return FY_OK;
  if (rank == 1) return fy_shape_set(ctx, 0, 1, &size, err);
  if (!fy_shape_from_input(ctx, 2, &shape, NULL) && shape.rank > 0) rows = shape.dims[0];
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){rows, size}, err);
}

static const fy_sample dense_samples[] = {
    {"i32[4]=3,1,1,0; f32[0]=", "binary_output=false; output_type=float", FY_OK, "0,1,3"},
    {"i32[1]=-3; f32[0]=", "binary_output=false; output_type=float", FY_INVALID_ARGUMENT,
     "Input values must all be non-negative"},
};
static const fy_sample sparse_samples[] = {
    {"i64[2,2]=0,0,2,1; i32[2]=3,1; i64[2]=3,2; f32[0]=", "binary_output=false; output_type=float",
     FY_OK, "0,3,2,1"},
};
static const fy_sample ragged_samples[] = {
    {"i64[3]=0,1,3; i32[3]=3,1,1; i64[3]=5,6,7", "binary_output=false; output_type=int64", FY_OK,
     "0,3,1,1"},
};
static const fy_sample ragged_bin_samples[] = {
    {"i64[3]=0,1,3; i32[3]=1,0,0; i32[]=2; f32[0]=", NULL, FY_OK, "0,1,2,0"},
    {"i64[2]=0,1; i32[3]=1,0,0; i32[]=2; f32[0]=", NULL, FY_INVALID_ARGUMENT,
     "Splits must end with the number of values, got 1 instead of 3"},
};
static const fy_sample sparse_bin_samples[] = {
    {"i64[2,2]=0,0,1,1; i32[2]=1,0; i64[2]=2,2; i32[]=2; f64[0]=", NULL, FY_OK, "0,1,1,0"},
};
FY_OP(DenseCountSparseOutput, .shape = count_shape, .compute = dense_count, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(dense_samples));
FY_OP(SparseCountSparseOutput, .shape = count_shape, .compute = sparse_count,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(sparse_samples));
FY_OP(RaggedCountSparseOutput, .shape = count_shape, .compute = ragged_count,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(ragged_samples));
FY_OP(RaggedBincount, .shape = ragged_bincount_shape, .compute = ragged_bincount,
      .host_inputs = 1 << 2, FY_SAMPLES(ragged_bin_samples));
FY_OP(SparseBincount, .shape = sparse_bincount_shape, .compute = sparse_bincount,
      .host_inputs = 1 << 2 | 1 << 3, FY_SAMPLES(sparse_bin_samples));

// SPDX-License-Identifier: Apache-2.0
// ragged.c: ragged tensors as (row splits…, flat values): RaggedRange, RaggedGather,
// RaggedTensorToSparse. Splits come from anywhere, so each op checks all it follows.

#include "base/alloc.h"
#include "ops/ragged.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- RaggedRange
typedef struct range_row {
  int64_t n;
  bool zero_step, too_long;
} range_row;

// Numbers in a row, as TensorFlow counts them: integers round up exactly, reals by ceil.
#define COUNT_INT(E, S, _)                                                                        \
  static range_row range_count_##S(const fy_tensor *const *in, const int64_t *at) {               \
    const fy_t_##S start = ((const fy_t_##S *)in[0]->data)[at[0]];                                \
    const fy_t_##S limit = ((const fy_t_##S *)in[1]->data)[at[1]];                                \
    const fy_t_##S step = ((const fy_t_##S *)in[2]->data)[at[2]];                                 \
    if (step == 0) return (range_row){.zero_step = true};                                         \
    if (step > 0 ? limit < start : limit > start) return (range_row){0};                          \
    const uint64_t gap =                                                                          \
        step > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;         \
    const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;                           \
    const uint64_t n = gap / by + (gap % by != 0);                                                \
    return n > INT64_MAX ? (range_row){.too_long = true} : (range_row){.n = (int64_t)n};          \
  }                                                                                               \
  static void range_fill_##S(const fy_tensor *const *in, const int64_t *at, int64_t n, void *out, \
                             int64_t to) {                                                        \
    uint64_t v = (uint64_t)((const fy_t_##S *)in[0]->data)[at[0]];                                \
    const uint64_t step = (uint64_t)((const fy_t_##S *)in[2]->data)[at[2]];                       \
    for (int64_t i = 0; i < n; i++, v += step) ((fy_t_##S *)out)[to + i] = (fy_t_##S)v;           \
  }
#define COUNT_REAL(E, S, _)                                                                       \
  static range_row range_count_##S(const fy_tensor *const *in, const int64_t *at) {               \
    const fy_a_##S start = FY_LD_##S(((const fy_t_##S *)in[0]->data)[at[0]]);                     \
    const fy_a_##S limit = FY_LD_##S(((const fy_t_##S *)in[1]->data)[at[1]]);                     \
    const fy_a_##S step = FY_LD_##S(((const fy_t_##S *)in[2]->data)[at[2]]);                      \
    if (step == 0) return (range_row){.zero_step = true};                                         \
    if ((step > 0 && limit < start) || (step < 0 && limit > start)) return (range_row){0};        \
    const fy_a_##S n = FY_MATH_##S(ceil)(FY_MATH_##S(fabs)((limit - start) / step));              \
    if (!(n < 0x1p63f)) return (range_row){.too_long = true};                                     \
    return (range_row){.n = (int64_t)n};                                                          \
  }                                                                                               \
  static void range_fill_##S(const fy_tensor *const *in, const int64_t *at, int64_t n, void *out, \
                             int64_t to) {                                                        \
    fy_a_##S v = FY_LD_##S(((const fy_t_##S *)in[0]->data)[at[0]]);                               \
    const fy_a_##S step = FY_LD_##S(((const fy_t_##S *)in[2]->data)[at[2]]);                      \
    for (int64_t i = 0; i < n; i++, v = FY_RD_##S(v + step)) {                                    \
      ((fy_t_##S *)out)[to + i] = FY_ST_##S(v);                                                   \
    }                                                                                             \
  }
FY_INDEX_TYPES(COUNT_INT, _)
COUNT_REAL(FY_BFLOAT16, bf16, _)
FY_FULL_REAL_TYPES(COUNT_REAL, _)
#define RANGE_TYPES(X, ...)      \
  FY_INDEX_TYPES(X, __VA_ARGS__) \
  X(FY_BFLOAT16, bf16, __VA_ARGS__) FY_FULL_REAL_TYPES(X, __VA_ARGS__)
typedef struct range_loops {
  range_row (*count)(const fy_tensor *const *in, const int64_t *at);
  void (*fill)(const fy_tensor *const *in, const int64_t *at, int64_t n, void *out, int64_t to);
} range_loops;
#define RANGE_ENTRY(E, S, _) [E] = {range_count_##S, range_fill_##S},
static const range_loops ranges[FY_DTYPE_COUNT] = {RANGE_TYPES(RANGE_ENTRY, _)};

static fy_code ragged_range(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"starts", "limits", "deltas"};
  const fy_tensor *const *in = (const fy_tensor *const *)ctx->in;
  const range_loops *loops = &ranges[in[0]->dtype];
  int64_t rows = 1, total = 0;
  bool vector = false;
  fy_tensor *splits, *values;
  for (int i = 0; i < 3; i++) {
    if (in[i]->rank > 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar or vector", names[i]);
    }
  }
  for (int i = 0; i < 3; i++) {
    if (in[i]->rank == 0) continue;
    if (vector && in[i]->count != rows) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "starts, limits, and deltas must have the same shape");
    }
    vector = true;
    rows = in[i]->count;
  }
  if (!loops->count) {
    return fy_fail(err, FY_UNIMPLEMENTED, "RaggedRange has no loop for %s",
                   fy_dtype_name(in[0]->dtype));
  }
  const int64_t n = rows + 1;
  FY_TRY(fy_out(ctx, 0, 1, &n, &splits, err));
  fy_index_put(splits, 0, 0);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t at[3] = {in[0]->rank ? r : 0, in[1]->rank ? r : 0, in[2]->rank ? r : 0};
    const range_row row = loops->count(in, at);
    if (row.zero_step) return fy_fail(err, FY_INVALID_ARGUMENT, "Requires delta != 0");
    const int64_t most = splits->dtype == FY_INT32 ? INT32_MAX : INT64_MAX;
    if (row.too_long || row.n > most) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %lld",
                     (long long)most);
    }
    if (__builtin_add_overflow(total, row.n, &total) || total > most) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The total range size overflowed. Consider using int64 instead of int32 for "
                     "row_splits_dtype.");
    }
    fy_index_put(splits, r + 1, total);
  }
  FY_TRY(fy_out(ctx, 1, 1, &total, &values, err));
  for (int64_t r = 0; r < rows; r++) {
    const int64_t at[3] = {in[0]->rank ? r : 0, in[1]->rank ? r : 0, in[2]->rank ? r : 0};
    const int64_t from = fy_tensor_int(splits, r);
    loops->fill(in, at, fy_tensor_int(splits, r + 1) - from, values->data, from);
  }
  return FY_OK;
}

static fy_code range_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t rows = -1, n = -1, unknown = -1;
  bool known = true, scalars = true;
  for (int i = 0; i < 3; i++) FY_TRY(fy_shape_rank_at_most(ctx->in[i], 1, err));
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i].rank < 0) known = false;
    if (ctx->in[i].rank != 1) continue;
    scalars = false;
    FY_TRY(fy_dim_merge(ctx->in[i].dims[0], rows, &rows, err));
  }
  if (known && scalars) rows = 1;
  n = rows < 0 ? -1 : rows + 1;
  FY_TRY(fy_shape_set(ctx, 0, 1, &n, err));
  return fy_shape_set(ctx, 1, 1, &unknown, err);
}

// ---------------------------------------------------------------- RaggedGather
// The rows that the gather takes, level by level: at level d, piece k is params rows [from, to).
typedef struct pieces {
  int64_t *from, *to;
  int64_t n;
} pieces;

static fy_code gather_checks(const fy_kernel_ctx *ctx, int ranks, fy_error *err) {
  const fy_tensor *values = ctx->in[ranks], *indices = ctx->in[ranks + 1];
  char x[128];
  if (values->rank == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "params.rank must be nonzero");
  const int64_t rows = (ctx->in[0]->rank ? ctx->in[0]->dims[0] : 1) - 1;
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    if (at >= 0 && at < rows) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices%s = %lld is not in [0, %lld)",
                   fy_place_text(indices->rank, indices->dims, i, x), (long long)at,
                   (long long)rows);
  }
  // Every split of the params, not only of the rows taken.
  for (int d = 0; d < ranks; d++) {
    const fy_tensor *splits = ctx->in[d];
    const int64_t limit = d + 1 < ranks ? ctx->in[d + 1]->count - 1 : values->dims[0];
    if (splits->count == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Ragged splits may not be empty");
    }
    int64_t before = fy_tensor_int(splits, 0);
    if (before < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Ragged splits must be non-negative");
    }
    if (fy_tensor_int(splits, splits->count - 1) > limit) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Ragged splits must not point past values");
    }
    for (int64_t i = 1; i < splits->count; i++) {
      const int64_t v = fy_tensor_int(splits, i);
      if (v < before) return fy_fail(err, FY_INVALID_ARGUMENT, "Ragged splits must be sorted");
      before = v;
    }
    if (before > limit) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Ragged splits must not point past values");
    }
  }
  return FY_OK;
}

// Row splits that the shape of the indices makes: every row of dimension d has dims[d + 1] parts.
static fy_code index_splits(fy_kernel_ctx *ctx, const fy_tensor *indices, fy_error *err) {
  int64_t rows = 1;
  for (int32_t d = 0; d + 1 < indices->rank; d++) {
    fy_tensor *splits;
    rows *= indices->dims[d];
    const int64_t n = rows + 1;
    FY_TRY(fy_out(ctx, d, 1, &n, &splits, err));
    for (int64_t i = 0; i < n; i++) fy_index_put(splits, i, i * indices->dims[d + 1]);
  }
  return FY_OK;
}

static fy_code ragged_gather(fy_kernel_ctx *ctx, fy_error *err) {
  const int ranks = (int)fy_site_int(ctx->site, "PARAMS_RAGGED_RANK");
  const int outs = (int)fy_site_int(ctx->site, "OUTPUT_RAGGED_RANK");
  const fy_tensor *values = ctx->in[ranks], *indices = ctx->in[ranks + 1];
  void *memory;
  if (outs != indices->rank - 1 + ranks) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "OUTPUT_RAGGED_RANK is %d, but indices of rank %d into params of ragged rank %d "
                   "make %d",
                   outs, indices->rank, ranks, indices->rank - 1 + ranks);
  }
  FY_TRY(gather_checks(ctx, ranks, err));
  FY_TRY(index_splits(ctx, indices, err));
  // Pieces are contiguous at every level: a gathered row's parts lie side by side.
  const int64_t n = indices->count;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * 2 * sizeof(int64_t), &memory, err));
  pieces p = {memory, (int64_t *)memory + n + 1, n};
  for (int64_t i = 0; i < n; i++) {
    p.from[i] = fy_tensor_int(indices, i);
    p.to[i] = p.from[i] + 1;
  }
  for (int d = 0; d < ranks; d++) {
    const fy_tensor *splits = ctx->in[d];
    const int to_out = d + indices->rank - 1;
    int64_t rows = 0;
    fy_tensor *out = NULL;
    for (int64_t i = 0; i < n; i++) rows += p.to[i] - p.from[i];
    if (to_out >= 0) {
      const int64_t size = rows + 1;
      FY_TRY(fy_out(ctx, to_out, 1, &size, &out, err));
      fy_index_put(out, 0, 0);
    }
    int64_t at = 0, end = 0;
    for (int64_t i = 0; i < n; i++) {
      for (int64_t r = p.from[i]; out && r < p.to[i]; r++) {
        end += fy_tensor_int(splits, r + 1) - fy_tensor_int(splits, r);
        fy_index_put(out, ++at, end);
      }
      p.from[i] = fy_tensor_int(splits, p.from[i]);
      p.to[i] = fy_tensor_int(splits, p.to[i]);
    }
  }
  int64_t dims[FY_MAX_RANK], to = 0;
  fy_tensor *out;
  dims[0] = 0;
  for (int64_t i = 0; i < n; i++) dims[0] += p.to[i] - p.from[i];
  for (int32_t d = 1; d < values->rank; d++) dims[d] = values->dims[d];
  const int64_t run = fy_product(dims + 1, values->rank - 1);
  FY_TRY(fy_out(ctx, outs, values->rank, dims, &out, err));
  for (int64_t i = 0; i < n; i++) {
    const int64_t count = (p.to[i] - p.from[i]) * run;
    FY_TRY(fy_copy_run(out->dtype, out->data, to, values->data, p.from[i] * run, count, err));
    to += count;
  }
  return FY_OK;
}

static fy_code gather_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int ranks = (int)fy_shape_attr_int(ctx, "PARAMS_RAGGED_RANK", 1);
  const int outs = (int)fy_shape_attr_int(ctx, "OUTPUT_RAGGED_RANK", 0);
  const fy_pshape values = ctx->in[ranks], indices = ctx->in[ranks + 1];
  const int64_t unknown = -1;
  for (int d = 0; d < ranks; d++) FY_TRY(fy_shape_rank_is(ctx->in[d], 1, err));
  FY_TRY(fy_shape_rank_is(indices, outs + 1 - ranks, err));
  FY_TRY(fy_shape_rank_at_least(values, 1, err));
  for (int d = 0; d < outs; d++) FY_TRY(fy_shape_set(ctx, d, 1, &unknown, err));
  if (values.rank < 0) return FY_OK;
  int64_t *dims = fy_shape_dims(ctx, values.rank);
  if (!dims) return fy_fail_oom(err, (size_t)values.rank);
  for (int32_t d = 1; d < values.rank; d++) dims[d] = values.dims[d];
  return fy_shape_set(ctx, outs, values.rank, dims, err);
}

// ---------------------------------------------------------------- RaggedTensorToSparse
static fy_code to_sparse_checks(const fy_kernel_ctx *ctx, int ranks, fy_error *err) {
  const fy_tensor *values = ctx->in[ranks];
  for (int d = 0; d < ranks; d++) {
    const fy_tensor *splits = ctx->in[d];
    if (splits->count == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "ragged splits may not be empty.");
    }
    if (fy_tensor_int(splits, 0) != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "First value of ragged splits must be 0.");
    }
    for (int64_t i = 1; i < splits->count; i++) {
      const int64_t before = fy_tensor_int(splits, i - 1), v = fy_tensor_int(splits, i);
      if (v >= before) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Ragged splits should be non decreasing, but we got %lld followed by %lld",
                     (long long)before, (long long)v);
    }
    if (d > 0) {
      const fy_tensor *above = ctx->in[d - 1];
      if (fy_tensor_int(above, above->count - 1) != splits->count - 1) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Final value of ragged splits must match the length the corresponding "
                       "ragged values.");
      }
    }
  }
  const fy_tensor *last = ctx->in[ranks - 1];
  if (values->rank == 0 || fy_tensor_int(last, last->count - 1) != values->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Final value of ragged splits must match the length the corresponding ragged "
                   "values.");
  }
  return FY_OK;
}

static fy_code ragged_to_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  const int ranks = ctx->site->num_inputs - 1;
  const fy_tensor *values = ctx->in[ranks];
  FY_TRY(to_sparse_checks(ctx, ranks, err));
  const int64_t rank = ranks + values->rank, n = values->count;
  fy_tensor *indices, *out_values, *shape;
  void *memory;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &out_values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  FY_TRY(fy_scratch(ctx, (size_t)(ranks + 1) * sizeof(int64_t), &memory, err));
  int64_t *row = memory, *at = indices->data;  // the row of each level that holds the value
  memset(row, 0, (size_t)(ranks + 1) * sizeof *row);
  const int64_t run = fy_product(values->dims + 1, values->rank - 1);
  for (int64_t v = 0; v < values->dims[0]; v++) {
    int64_t inner = v;
    for (int d = ranks - 1; d >= 0; d--) {
      while (fy_tensor_int(ctx->in[d], row[d] + 1) <= inner) row[d]++;
      inner = row[d];
    }
    for (int64_t k = 0; k < run; k++) {
      int64_t rest = k;
      for (int32_t d = values->rank - 1; d > 0; d--) {
        at[ranks + d] = rest % values->dims[d];
        rest /= values->dims[d];
      }
      at[0] = row[0];
      for (int d = 1; d <= ranks; d++) {
        const int64_t below = d < ranks ? row[d] : v;
        at[d] = below - fy_tensor_int(ctx->in[d - 1], row[d - 1]);
      }
      at += rank;
    }
  }
  FY_TRY(fy_copy_run(values->dtype, out_values->data, 0, values->data, 0, n, err));
  int64_t *dims = shape->data;
  dims[0] = ctx->in[0]->count - 1;
  for (int d = 0; d < ranks; d++) {
    int64_t widest = 0;
    for (int64_t i = 1; i < ctx->in[d]->count; i++) {
      const int64_t w = fy_tensor_int(ctx->in[d], i) - fy_tensor_int(ctx->in[d], i - 1);
      if (w > widest) widest = w;
    }
    dims[d + 1] = widest;
  }
  for (int32_t d = 1; d < values->rank; d++) dims[ranks + d] = values->dims[d];
  return FY_OK;
}

static fy_code to_sparse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int ranks = ctx->num_inputs - 1;
  const fy_pshape values = ctx->in[ranks];
  for (int d = 0; d < ranks; d++) FY_TRY(fy_shape_rank_is(ctx->in[d], 1, err));
  FY_TRY(fy_shape_rank_at_least(values, 1, err));
  int64_t n = -1;
  if (fy_shape_known(values) && !fy_shape_count(values.rank, values.dims, &n)) n = -1;
  for (int32_t d = 0; d < values.rank; d++) {
    if (values.dims[d] == 0) n = 0;
  }
  const int64_t rank = values.rank < 0 ? -1 : values.rank + ranks;
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){n, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &n, err));
  return fy_shape_set(ctx, 2, 1, &rank, err);
}

static const fy_sample range_samples[] = {
    {"i32[3]=0,5,8; i32[3]=3,5,12; i32[3]=1,1,3", NULL, FY_OK, "0,3,3,5"},
    {"i32[]=0; i32[]=3; i32[]=0", NULL, FY_INVALID_ARGUMENT, "Requires delta != 0"},
};
static const fy_sample gather_samples[] = {
    {"i64[3]=0,2,5; f32[5]=iota; i32[2]=1,0", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1", FY_OK,
     "0,3,5"},
    {"i64[3]=0,2,5; f32[5]=iota; i32[1]=2", "PARAMS_RAGGED_RANK=1; OUTPUT_RAGGED_RANK=1",
     FY_INVALID_ARGUMENT, "indices[0] = 2 is not in [0, 2)"},
};
static const fy_sample to_sparse_samples[] = {
    {"i64[3]=0,2,3; f32[3]=iota", "RAGGED_RANK=1", FY_OK, "0,0,0,1,1,0"},
    {"i64[3]=0,2,4; f32[3]=iota", "RAGGED_RANK=1", FY_INVALID_ARGUMENT,
     "Final value of ragged splits must match the length the corresponding ragged values."},
};
FY_OP(RaggedRange, .shape = range_shape, .compute = ragged_range, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(range_samples));
FY_OP(RaggedGather, .shape = gather_shape, .compute = ragged_gather, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(gather_samples));
FY_OP(RaggedTensorToSparse, .shape = to_sparse_shape, .compute = ragged_to_sparse,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(to_sparse_samples));

// SPDX-License-Identifier: Apache-2.0
// segment.c: rows of data reduced by segment: SegmentSum/Mean/Prod/Min/Max over sorted ids,
// UnsortedSegment* over any, SparseSegmentSum/Mean/SqrtN over rows chosen by indices.
//
// Sums of one segment run in the arithmetic type and round once; a segment without rows is 0 (1 for
// products), and the identity for the unsorted ones.

#include <stdio.h>

#include "ops/scatter.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef enum finish_kind { FINISH_SUM, FINISH_MEAN, FINISH_SQRT_N } finish_kind;
typedef struct segment_op {
  fy_scatter_kind kind;
  finish_kind finish;
} segment_op;

// ---------------------------------------------------------------- sums
typedef struct sum_loops {
  void (*add)(void *acc, const void *row, int64_t n);
  void (*put)(void *out, const void *acc, int64_t n, finish_kind finish, int64_t count);
} sum_loops;

#define ADD_REAL(S, x, y) ((x) + (y))
#define ADD_INT(S, x, y)  (fy_a_##S)((fy_u_##S)(x) + (fy_u_##S)(y))
#define MEAN_REAL(S, x)   ((x) / (fy_a_##S)count)
#define MEAN_INT(S, x)    ((fy_a_##S)count == 0 ? 0 : (x) / (fy_a_##S)count)
// A count that wraps to -1 must not divide the smallest integer.
#define MEAN_SIGNED(S, x) \
  ((fy_a_##S)count == -1 ? (fy_a_##S)(0 - (fy_u_##S)(x)) : (fy_a_##S)MEAN_INT(S, x))
#define ROOT_REAL(S, x) ((x) / (fy_a_##S)sqrt((double)count))
#define SUM_LOOPS(E, S, ADD, MEAN)                                                     \
  FY_CLONE_##S static void add_##S(void *pa, const void *pr, int64_t n) {              \
    fy_a_##S *acc = pa;                                                                \
    const fy_t_##S *row = pr;                                                          \
    for (int64_t i = 0; i < n; i++) {                                                  \
      const fy_a_##S x = acc[i], y = FY_LD_##S(row[i]);                                \
      acc[i] = ADD(S, x, y);                                                           \
    }                                                                                  \
  }                                                                                    \
  FY_CLONE_##S static void put_##S(void *po, const void *pa, int64_t n, finish_kind f, \
                                   int64_t count) {                                    \
    fy_t_##S *out = po;                                                                \
    const fy_a_##S *acc = pa;                                                          \
    for (int64_t i = 0; i < n; i++) {                                                  \
      const fy_a_##S x = acc[i];                                                       \
      out[i] = f == FINISH_SUM    ? FY_ST_##S(x)                                       \
               : f == FINISH_MEAN ? FY_ST_##S(MEAN(S, x))                              \
                                  : FY_ST_##S(ROOT_REAL(S, x));                        \
    }                                                                                  \
  }
FY_REAL_TYPES(SUM_LOOPS, ADD_REAL, MEAN_REAL)
FY_COMPLEX_TYPES(SUM_LOOPS, ADD_REAL, MEAN_REAL)
FY_SIGNED_TYPES(SUM_LOOPS, ADD_INT, MEAN_SIGNED)
FY_UNSIGNED_TYPES(SUM_LOOPS, ADD_INT, MEAN_INT)
#define SUM_ENTRY(E, S, _) [E] = {add_##S, put_##S},
static const sum_loops sums[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(SUM_ENTRY, _)};

// ---------------------------------------------------------------- values a segment starts with
#define FILL(E, S, LOW, HIGH)                                       \
  static void fill_##S(void *po, int64_t n, fy_scatter_kind kind) { \
    fy_t_##S *out = po;                                             \
    const fy_t_##S v = kind == FY_SCATTER_MUL   ? FY_ST_##S(1)      \
                       : kind == FY_SCATTER_MIN ? HIGH              \
                       : kind == FY_SCATTER_MAX ? LOW               \
                                                : FY_ST_##S(0);     \
    for (int64_t i = 0; i < n; i++) out[i] = v;                     \
  }
#define FILL_INT(E, S, _) FILL(E, S, (fy_t_##S)FY_MIN_##S, (fy_t_##S)FY_MAX_##S)
FILL(FY_HALF, f16, 0xFBFF, 0x7BFF)
FILL(FY_BFLOAT16, bf16, 0xFF7F, 0x7F7F)
FILL(FY_FLOAT, f32, -0x1.fffffep127f, 0x1.fffffep127f)
FILL(FY_DOUBLE, f64, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023)
FILL(FY_COMPLEX64, c64, 0, 0)
FILL(FY_COMPLEX128, c128, 0, 0)
FY_INT_TYPES(FILL_INT, _)
typedef void (*fill_fn)(void *out, int64_t n, fy_scatter_kind kind);
static const fill_fn fills[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, fill)};

// Of a NaN and a number, TensorFlow keeps the later one where it goes number by number: everywhere
// in unsorted segments, in sorted ones in the columns behind the last whole vector. In vectors it
// passes over NaNs.
#define LAST(E, S, name, EXPR)                                                \
  static void name##_##S(void *pt, const void *pf, int64_t n, int64_t step) { \
    fy_t_##S *to = pt;                                                        \
    const fy_t_##S *from = pf;                                                \
    for (int64_t i = 0; i < n; i++) {                                         \
      const fy_a_##S x = FY_LD_##S(to[i]), y = FY_LD_##S(from[i * step]);     \
      to[i] = EXPR(x, y) ? to[i] : from[i * step];                            \
    }                                                                         \
  }
#define LESS(x, y) ((x) < (y))
#define MORE(x, y) ((x) > (y))
FY_SCATTER_PICK_16(last_min, false, true)
FY_SCATTER_PICK_16(last_max, true, true)
FY_FULL_REAL_TYPES(LAST, last_min, LESS)
FY_FULL_REAL_TYPES(LAST, last_max, MORE)
static const fy_scatter_loop last_min[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, last_min)},
                             last_max[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, last_max)};

static fy_scatter_loop last_find(fy_scatter_kind kind, fy_dtype t) {
  const fy_scatter_loop loop = kind == FY_SCATTER_MIN   ? last_min[t]
                               : kind == FY_SCATTER_MAX ? last_max[t]
                                                        : NULL;
  return loop ? loop : fy_scatter_find(kind, t);
}

// The first row of a segment in whole vectors: a NaN is less than all numbers, or more.
#define START(E, S, _)                                                                     \
  __attribute__((cold)) static void start_##S(void *po, int64_t n, fy_scatter_kind kind) { \
    fy_t_##S *out = po;                                                                    \
    const fy_a_##S v = kind == FY_SCATTER_MIN ? INFINITY : -INFINITY;                      \
    for (int64_t i = 0; i < n; i++)                                                        \
      if (isnan(FY_LD_##S(out[i]))) out[i] = FY_ST_##S(v);                                 \
  }
FY_REAL_TYPES(START, _)
static const fill_fn first_rows[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, start)};

static fy_code has_loops(const fy_kernel_ctx *ctx, fy_dtype t, fy_error *err) {
  if (sums[t].add && fills[t]) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

// ---------------------------------------------------------------- sorted segments
typedef struct rows {
  const fy_tensor *data, *indices, *ids;  // indices may be NULL: all rows in order
  fy_tensor *out;
  int64_t run, limit;
  void *acc;
} rows;

static fy_code row_at(const rows *r, int64_t i, int64_t *row, fy_error *err) {
  *row = r->indices ? fy_tensor_int(r->indices, i) : i;
  if ((uint64_t)*row < (uint64_t)r->limit) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Bad: indices[%lld] == %lld out of range [0, %lld)",
                 (long long)i, (long long)*row, (long long)r->limit);
}

// Segments of floats, some columns at a time so that they stay in registers. |at| NULL: the rows
// follow each other from |first|.
typedef float floats8 __attribute__((vector_size(32)));
typedef int32_t ints8 __attribute__((vector_size(32)));
#define FLOAT_SEGMENT(name, OP, FIRST, LATER)                                                   \
  FY_CLONES static void name##_floats(const float *restrict in, int64_t run, const int64_t *at, \
                                      int64_t first, int64_t n, float *restrict out) {          \
    int64_t c0 = 0;                                                                             \
    for (; c0 + 32 <= run; c0 += 32) {                                                          \
      const float *row = in + (at ? at[0] : first) * run + c0;                                  \
      floats8 a, b, c, d, y;                                                                    \
      memcpy(&a, row, sizeof a), memcpy(&b, row + 8, sizeof b);                                 \
      memcpy(&c, row + 16, sizeof c), memcpy(&d, row + 24, sizeof d);                           \
      a = FIRST(a), b = FIRST(b), c = FIRST(c), d = FIRST(d);                                   \
      for (int64_t i = 1; i < n; i++) {                                                         \
        row = at ? in + at[i] * run + c0 : row + run;                                           \
        memcpy(&y, row, sizeof y), a = OP(a, y);                                                \
        memcpy(&y, row + 8, sizeof y), b = OP(b, y);                                            \
        memcpy(&y, row + 16, sizeof y), c = OP(c, y);                                           \
        memcpy(&y, row + 24, sizeof y), d = OP(d, y);                                           \
      }                                                                                         \
      memcpy(out + c0, &a, sizeof a), memcpy(out + c0 + 8, &b, sizeof b);                       \
      memcpy(out + c0 + 16, &c, sizeof c), memcpy(out + c0 + 24, &d, sizeof d);                 \
    }                                                                                           \
    for (; c0 + 8 <= run; c0 += 8) {                                                            \
      const float *row = in + (at ? at[0] : first) * run + c0;                                  \
      floats8 a, y;                                                                             \
      memcpy(&a, row, sizeof a), a = FIRST(a);                                                  \
      for (int64_t i = 1; i < n; i++) {                                                         \
        row = at ? in + at[i] * run + c0 : row + run;                                           \
        memcpy(&y, row, sizeof y), a = OP(a, y);                                                \
      }                                                                                         \
      memcpy(out + c0, &a, sizeof a);                                                           \
    }                                                                                           \
    if (c0 == run) return;                                                                      \
    floats8 a = {0}, y = {0};                                                                   \
    const size_t rest = (size_t)(run - c0) * sizeof *in;                                        \
    memcpy(&a, in + (at ? at[0] : first) * run + c0, rest);                                     \
    for (int64_t i = 1; i < n; i++)                                                             \
      memcpy(&y, in + (at ? at[i] : first + i) * run + c0, rest), a = LATER(a, y);              \
    memcpy(out + c0, &a, rest);                                                                 \
  }
#define WHERE(m, x, y)   ((floats8)(((ints8)(x) & (m)) | ((ints8)(y) & ~(m))))
#define SUM_FLOAT(x, y)  ((x) + (y))
#define LOW_FLOAT(x, y)  WHERE((y) < (x), y, x)
#define HIGH_FLOAT(x, y) WHERE((x) < (y), y, x)
#define FIRST_FLOAT(x)   (x)
#define FIRST_LOW(x)     WHERE((x) == (x), x, ((floats8){0} + INFINITY))
#define FIRST_HIGH(x)    WHERE((x) == (x), x, ((floats8){0} - INFINITY))
#define LATER_LOW(x, y)  WHERE((x) < (y), x, y)
#define LATER_HIGH(x, y) WHERE((x) > (y), x, y)
FLOAT_SEGMENT(sum, SUM_FLOAT, FIRST_FLOAT, SUM_FLOAT)
FLOAT_SEGMENT(min, LOW_FLOAT, FIRST_LOW, LATER_LOW)
FLOAT_SEGMENT(max, HIGH_FLOAT, FIRST_HIGH, LATER_HIGH)

// Output row |to| from the rows [begin, end).
static fy_code one_segment(const rows *r, const segment_op *op, int64_t to, int64_t begin,
                           int64_t end, fy_error *err) {
  const fy_dtype t = r->data->dtype;
  const size_t size = fy_dtype_storage(t);
  char *out = (char *)r->out->data + (size_t)(to * r->run) * size;
  const char *in = r->data->data;
  int64_t row;
  int64_t at[64];
  if (op->kind == FY_SCATTER_ADD && t == FY_FLOAT && (!r->indices || end - begin <= 64) &&
      r->run >= 8) {
    for (int64_t i = begin; i < end && r->indices; i++) FY_TRY(row_at(r, i, &at[i - begin], err));
    float *sum = (float *)(void *)out;
    sum_floats(r->data->data, r->run, r->indices ? at : NULL, begin, end - begin, sum);
    if (op->finish != FINISH_SUM) sums[t].put(out, sum, r->run, op->finish, end - begin);
    return FY_OK;
  }
  if (op->kind == FY_SCATTER_ADD) {
    memset(r->acc, 0, (size_t)r->run * (size < 4 ? 4 : size));
    for (int64_t i = begin; i < end; i++) {
      FY_TRY(row_at(r, i, &row, err));
      sums[t].add(r->acc, in + (size_t)(row * r->run) * size, r->run);
    }
    sums[t].put(out, r->acc, r->run, op->finish, end - begin);
    return FY_OK;
  }
  if ((op->kind == FY_SCATTER_MIN || op->kind == FY_SCATTER_MAX) && t == FY_FLOAT && !r->indices &&
      end - begin > 1) {
    float *floats = (float *)(void *)out;
    if (op->kind == FY_SCATTER_MIN)
      min_floats(r->data->data, r->run, NULL, begin, end - begin, floats);
    else
      max_floats(r->data->data, r->run, NULL, begin, end - begin, floats);
    return FY_OK;
  }
  const fy_scatter_loop loop = fy_scatter_find(op->kind, t), later = last_find(op->kind, t);
  const int64_t whole = later == loop ? r->run : r->run & (t == FY_DOUBLE ? ~3 : ~7);
  if (!loop) return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(t));
  for (int64_t i = begin; i < end; i++) {
    FY_TRY(row_at(r, i, &row, err));
    const char *from = in + (size_t)(row * r->run) * size;
    if (i == begin) {
      if (r->run) memcpy(out, from, (size_t)r->run * size);
      if (later != loop && end - begin > 1) first_rows[t](out, whole, op->kind);
    } else {
      loop(out, from, whole, 1);
      later(out + (size_t)whole * size, from + (size_t)whole * size, r->run - whole, 1);
    }
  }
  return FY_OK;
}

static int64_t id_at(const fy_tensor *ids, int64_t i) {
  return ids->dtype == FY_INT32 ? ((const int32_t *)ids->data)[i] : ((const int64_t *)ids->data)[i];
}

#define MANY_CELLS (1 << 24)

typedef struct segments_job {
  const rows *r;
  const segment_op *op;
  const int64_t *starts;  // of each segment's rows, and where the last ends
  fy_slices accs;
  fy_code code;
} segments_job;

static void some_segments(void *arg, int64_t begin, int64_t end) {
  segments_job *j = arg;
  rows r = *j->r;
  r.acc = fy_slice_take(&j->accs);
  for (int64_t s = begin; s < end; s++) {
    const fy_code code =
        one_segment(&r, j->op, id_at(r.ids, j->starts[s]), j->starts[s], j->starts[s + 1], NULL);
    if (code) __atomic_store_n(&j->code, code, __ATOMIC_RELAXED);
  }
  fy_slice_give(&j->accs, r.acc);
}

// Everything is checked, in order, before the threads begin.
static fy_code all_segments(fy_kernel_ctx *ctx, rows *r, fy_error *err) {
  const segment_op *op = ctx->site->op->impl->aux;
  const int64_t n = r->ids->count, out_rows = r->out->dims[0];
  const fy_dtype t = r->data->dtype;
  const size_t row_bytes = (size_t)r->run * fy_dtype_storage(t);
  const fy_scatter_kind empty = op->kind == FY_SCATTER_MUL ? FY_SCATTER_MUL : FY_SCATTER_ADD;
  if (op->kind != FY_SCATTER_ADD && !fy_scatter_find(op->kind, t))
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(t));
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(int64_t), &memory, err));
  int64_t *starts = memory, segments = 0, before = -1;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    const int64_t id = id_at(r->ids, begin);
    for (end = begin + 1; end < n && id_at(r->ids, end) == id; end++) continue;
    if (end < n && id_at(r->ids, end) < id) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "segment ids are not increasing");
    }
    if ((uint64_t)id >= (uint64_t)out_rows || id <= before) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input "
                     "is not sorted.",
                     (long long)id, (long long)out_rows);
    }
    int64_t row;
    for (int64_t i = begin; r->indices && i < end; i++) FY_TRY(row_at(r, i, &row, err));
    if (id > before + 1)  // rows that no id names
      fills[t]((char *)r->out->data + (size_t)(before + 1) * row_bytes, (id - before - 1) * r->run,
               empty);
    starts[segments++] = begin;
    before = id;
  }
  starts[segments] = n;
  if (before + 1 < out_rows)
    fills[t]((char *)r->out->data + (size_t)(before + 1) * row_bytes,
             (out_rows - before - 1) * r->run, empty);
  if (!segments) return FY_OK;
  segments_job j = {.r = r, .op = op, .starts = starts};
  FY_TRY(fy_slices_make(ctx, segments, (size_t)(r->run + 1) * 16, &j.accs, err));
  fy_parallel(ctx, segments, 10 + 0.3 * (double)(n * r->run) / (double)segments, some_segments, &j);
  return j.code ? fy_fail(err, j.code, "a segment could not be reduced") : FY_OK;
}

static fy_code out_rows(fy_kernel_ctx *ctx, const fy_tensor *data, int64_t n, fy_tensor **out,
                        fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 1; d < data->rank; d++) dims[d] = data->dims[d];
  dims[0] = n;
  return fy_out(ctx, 0, data->rank, dims, out, err);
}

static fy_code segment(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *ids = ctx->in[1];
  FY_TRY(has_loops(ctx, data->dtype, err));
  if (data->rank < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "input must be at least rank 1");
  if (ids->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "segment_ids should be a vector.");
  if (ids->count != data->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "segment_ids should be the same size as dimension 0 of input.");
  }
  const int64_t last = ids->count ? fy_tensor_int(ids, ids->count - 1) : -1;
  if (ids->count && (last < 0 || last == INT64_MAX)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "segment ids must be >= 0");
  }
  rows r = {.data = data, .ids = ids, .limit = data->dims[0]};
  r.run = fy_product(data->dims + 1, data->rank - 1);
  FY_TRY(out_rows(ctx, data, last + 1, &r.out, err));
  return ids->count ? all_segments(ctx, &r, err) : FY_OK;
}

// A bad index is said before memory is asked for where the last id would make it ask for much.
static fy_code check_rows(const rows *r, int64_t out_rows, fy_error *err) {
  int64_t row, cells;
  if (!__builtin_mul_overflow(out_rows, r->run, &cells) && cells < MANY_CELLS) return FY_OK;
  for (int64_t i = 0; i < r->ids->count; i++) FY_TRY(row_at(r, i, &row, err));
  return FY_OK;
}

static fy_code sparse_segment(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *indices = ctx->in[1], *ids = ctx->in[2];
  const fy_tensor *number = ctx->site->num_inputs > 3 ? ctx->in[3] : NULL;
  char x[128];
  FY_TRY(has_loops(ctx, data->dtype, err));
  if (number && number->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_segments should be a scalar, not shape %s",
                   fy_tensor_shape_text(number, x));
  }
  int64_t n = number ? fy_tensor_int(number, 0) : -1;
  if (indices->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "indices should be a vector.");
  if (ids->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "segment_ids should be a vector.");
  if (data->rank < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at least rank 1");
  if (ids->count != indices->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "segment_ids and indices should have same size.");
  }
  const int64_t last = ids->count ? fy_tensor_int(ids, ids->count - 1) : -1;
  if ((ids->count && last < 0 && !number) || (number && n < 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "segment ids must be >= 0");
  }
  if (last >= INT32_MAX && !number) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Last segment id must be < kintmax, got %lld limit %d",
                   (long long)last, INT32_MAX);
  }
  if (number && n < last + 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "segment ids must be < num_segments");
  }
  if (!number) n = last + 1;
  rows r = {.data = data, .indices = indices, .ids = ids, .limit = data->dims[0]};
  r.run = fy_product(data->dims + 1, data->rank - 1);
  FY_TRY(check_rows(&r, n, err));
  FY_TRY(out_rows(ctx, data, n, &r.out, err));
  return all_segments(ctx, &r, err);
}

// ---------------------------------------------------------------- unsorted segments
static fy_code unsorted_segment(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *ids = ctx->in[1], *number = ctx->in[2];
  const segment_op *op = ctx->site->op->impl->aux;
  char x[128], y[128];
  FY_TRY(has_loops(ctx, data->dtype, err));
  if (number->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_segments should be a scalar, not shape %s",
                   fy_tensor_shape_text(number, x));
  }
  if (data->rank < ids->rank || !fy_shape_equal(ids->rank, ids->dims, ids->rank, data->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "data.shape = %s does not start with segment_ids.shape = %s",
                   fy_tensor_shape_text(data, x), fy_tensor_shape_text(ids, y));
  }
  const int64_t n = fy_tensor_int(number, 0);
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input num_segments == %lld must not be negative.",
                   (long long)n);
  }
  int64_t dims[FY_MAX_RANK + 1];
  int32_t rank = 1;
  dims[0] = n;
  for (int32_t d = ids->rank; d < data->rank; d++) dims[rank++] = data->dims[d];
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  const int64_t run = fy_product(dims + 1, rank - 1);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count) fills[out->dtype](out->data, out->count, op->kind);
  const fy_scatter_loop loop = last_find(op->kind, out->dtype);
  for (int64_t i = 0; i < ids->count && data->count > 0; i++) {
    const int64_t id = fy_tensor_int(ids, i);
    if (id < 0) continue;
    if (id >= n) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "segment_ids%s = %lld is out of range [0, %lld)",
                     fy_place_text(ids->rank, ids->dims, i, x), (long long)id, (long long)n);
    }
    FY_TRY(fy_scatter_apply(op->kind, loop, out, id * run, data, i * run, run, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code rows_shape(fy_shape_ctx *ctx, int64_t n, fy_error *err) {
  const fy_pshape data = ctx->in[0];
  if (data.rank < 1) return FY_OK;
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 1; d < data.rank; d++) dims[d] = data.dims[d];
  dims[0] = n;
  return fy_shape_set(ctx, 0, data.rank, dims, err);
}
static fy_code segment_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  return rows_shape(ctx, -1, err);
}
static fy_code sparse_segment_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  int64_t n = -1;
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->in[2], &merged, err));
  if (ctx->num_inputs > 3) {
    FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
    if (fy_shape_int_value(ctx, 3, &n) && n < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot specify a negative value for num_segments");
    }
  }
  return rows_shape(ctx, n, err);
}
static fy_code unsorted_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape data = ctx->in[0], ids = ctx->in[1];
  int64_t n = -1, merged;
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  if (data.rank >= 0 && ids.rank >= 0) {
    FY_TRY(fy_shape_rank_at_least(data, ids.rank, err));
    for (int32_t d = 0; d < ids.rank; d++) {
      FY_TRY(fy_dim_merge(data.dims[d], ids.dims[d], &merged, err));
    }
  }
  if (ids.rank < 0) return FY_OK;
  FY_TRY(fy_shape_dim_from_scalar(ctx, 2, &n, err));
  if (data.rank < 0) return FY_OK;
  int64_t dims[FY_MAX_RANK + 1];
  int32_t rank = 1;
  dims[0] = n;
  for (int32_t d = ids.rank; d < data.rank; d++) dims[rank++] = data.dims[d];
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static const fy_sample samples[] = {
    {"f32[3,2]=iota; i32[3]=0,0,2", NULL, FY_OK, NULL},
    {"i32[2]=4,5; i64[2]=0,1", NULL, FY_OK, "4,5"},
    {"f32[2]=4,5; i32[2]=1,0", NULL, FY_INVALID_ARGUMENT, "segment ids are not increasing"},
};
static const fy_sample unsorted_samples[] = {
    {"f32[3,2]=iota; i32[3]=2,-1,0; i32[]=3", NULL, FY_OK, NULL},
    {"i32[2]=4,5; i64[2]=1,0; i32[]=2", NULL, FY_OK, "5,4"},
    {"f32[1]=4; i32[1]=7; i32[]=2", NULL, FY_INVALID_ARGUMENT,
     "segment_ids[0] = 7 is out of range [0, 2)"},
};
static const fy_sample sparse_samples[] = {
    {"f32[3,1]=iota; i32[3]=2,1,0; i32[3]=0,1,3", NULL, FY_OK, "2,1,0,0"},
    {"f32[3,1]=iota; i32[1]=3; i32[1]=0", NULL, FY_INVALID_ARGUMENT,
     "Bad: indices[0] == 3 out of range [0, 3)"},
};
static const fy_sample number_samples[] = {
    {"f32[3,1]=iota; i32[2]=2,1; i32[2]=0,1; i32[]=3", NULL, FY_OK, "2,1,0"},
    {"f32[3,1]=iota; i32[1]=1; i32[1]=5; i32[]=3", NULL, FY_INVALID_ARGUMENT,
     "segment ids must be < num_segments"},
};

static const segment_op op_sum = {FY_SCATTER_ADD, FINISH_SUM},
                        op_mean = {FY_SCATTER_ADD, FINISH_MEAN},
                        op_sqrt_n = {FY_SCATTER_ADD, FINISH_SQRT_N},
                        op_prod = {FY_SCATTER_MUL, FINISH_SUM},
                        op_min = {FY_SCATTER_MIN, FINISH_SUM},
                        op_max = {FY_SCATTER_MAX, FINISH_SUM};
#define SEGMENT(Name, op)                                                                       \
  FY_OP(Name, .shape = segment_shape, .compute = segment, .aux = &(op), .flags = FY_OP_DYNAMIC, \
        FY_SAMPLES(samples))
#define UNSORTED(Name, op)                                                        \
  FY_OP(Name, .shape = unsorted_shape, .compute = unsorted_segment, .aux = &(op), \
        .host_inputs = 1 << 2, FY_SAMPLES(unsorted_samples))
#define SPARSE(Name, op, array, hosts)                                                \
  FY_OP(Name, .shape = sparse_segment_shape, .compute = sparse_segment, .aux = &(op), \
        .host_inputs = hosts, .flags = FY_OP_DYNAMIC, FY_SAMPLES(array))
SEGMENT(SegmentSum, op_sum);
SEGMENT(SegmentMean, op_mean);
SEGMENT(SegmentProd, op_prod);
SEGMENT(SegmentMin, op_min);
SEGMENT(SegmentMax, op_max);
UNSORTED(UnsortedSegmentSum, op_sum);
UNSORTED(UnsortedSegmentProd, op_prod);
UNSORTED(UnsortedSegmentMin, op_min);
UNSORTED(UnsortedSegmentMax, op_max);
SPARSE(SparseSegmentSum, op_sum, sparse_samples, 0);
SPARSE(SparseSegmentMean, op_mean, sparse_samples, 0);
SPARSE(SparseSegmentSqrtN, op_sqrt_n, sparse_samples, 0);
SPARSE(SparseSegmentSumWithNumSegments, op_sum, number_samples, 1 << 3);
SPARSE(SparseSegmentMeanWithNumSegments, op_mean, number_samples, 1 << 3);
SPARSE(SparseSegmentSqrtNWithNumSegments, op_sqrt_n, number_samples, 1 << 3);

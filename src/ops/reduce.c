// SPDX-License-Identifier: Apache-2.0
// reduce.c: Sum, Mean, Prod, Max, Min, All, Any over any set of axes.
//
// Adjacent dims that are both kept or both reduced are merged, so the input is [.., kept, reduced]
// or [.., reduced, kept]. In the first case each output element sums rows; in the second each
// output row is a sum of rows. Rows are summed in blocks and the blocks pairwise, so the error
// grows with the logarithm of the length and the result does not depend on the number of threads.
// 16-bit floats accumulate in float.

#include <float.h>

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/fused.h"
#include "ops/reduce.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define BLOCK   2048   // elements summed straight before going pairwise
#define LANES   32     // independent accumulators in a block
#define COLUMNS 1024   // output elements handled at once when short rows are added up
#define WIDTH   16384  // bytes of an output row handled at once when rows are added to rows
#define NEAR    8192   // floats that the nearest cache holds

typedef void (*row_fn)(const void *in, int64_t n, void *acc);  // acc = acc op reduce(in[0..n))
typedef void (*add_fn)(const void *in, int64_t n, void *acc);  // acc[i] = acc[i] op in[i]
typedef void (*start_fn)(void *acc, int64_t n);                // acc[i] = identity
typedef void (*finish_fn)(const void *acc, void *out, int64_t n, int64_t reduced);

typedef struct reduce_loops {
  row_fn row;
  add_fn add;
  start_fn start;
  finish_fn finish;
  size_t acc_size;
  int lanes;  // 1 + fy_lanes_kind: the lanes may have loops for short rows and columns; 0: they have not
} reduce_loops;

// Which types get clones: those that a baseline machine does worse than it reads them.
#define REDUCE_CLONE_f16  FY_CLONES
#define REDUCE_CLONE_bf16 FY_CLONES
#define REDUCE_CLONE_f32  FY_CLONES
#define REDUCE_CLONE_f64  FY_CLONES
#define REDUCE_CLONE_c64
#define REDUCE_CLONE_c128
#define REDUCE_CLONE_i8 FY_CLONES
#define REDUCE_CLONE_i16
#define REDUCE_CLONE_i32 FY_CLONES
#define REDUCE_CLONE_i64 FY_CLONES
#define REDUCE_CLONE_u8  FY_CLONES
#define REDUCE_CLONE_u16
#define REDUCE_CLONE_u32
#define REDUCE_CLONE_u64

// The upper |w| accumulators into the lower ones; of a known width, so that it is a few vectors.
#define FOLD(S, ACC, COMBINE, w)              \
  for (int k = 0; k < (w); k++) {             \
    const ACC x = lane[k], y = lane[k + (w)]; \
    lane[k] = (ACC)COMBINE(S, x, y);          \
  }

// One set of loops per (op, dtype). ACC is the accumulator's type, COMBINE(x, y) the operation.
#define REDUCE_LOOPS(E, S, name, ACC, COMBINE, IDENTITY, FINISH)                         \
  static void name##_start_##S(void *pa, int64_t n) {                                    \
    ACC *acc = pa;                                                                       \
    for (int64_t i = 0; i < n; i++) acc[i] = (ACC)(IDENTITY);                            \
  }                                                                                      \
  REDUCE_CLONE_##S static ACC name##_tree_##S(const fy_t_##S *in, int64_t n) {           \
    if (n > BLOCK) {                                                                     \
      const int64_t left = (n / 2 + BLOCK - 1) / BLOCK * BLOCK;                          \
      const ACC x = name##_tree_##S(in, left), y = name##_tree_##S(in + left, n - left); \
      return (ACC)COMBINE(S, x, y);                                                      \
    }                                                                                    \
    ACC lane[LANES];                                                                     \
    for (int k = 0; k < LANES; k++) lane[k] = (ACC)(IDENTITY);                           \
    int64_t i = 0;                                                                       \
    for (; i + LANES <= n; i += LANES) {                                                 \
      for (int k = 0; k < LANES; k++) {                                                  \
        const ACC x = lane[k], y = (ACC)FY_LD_##S(in[i + k]);                            \
        lane[k] = (ACC)COMBINE(S, x, y);                                                 \
      }                                                                                  \
    }                                                                                    \
    for (int k = 0; i < n; i++, k++) {                                                   \
      const ACC x = lane[k], y = (ACC)FY_LD_##S(in[i]);                                  \
      lane[k] = (ACC)COMBINE(S, x, y);                                                   \
    }                                                                                    \
    FOLD(S, ACC, COMBINE, 16)                                                            \
    FOLD(S, ACC, COMBINE, 8)                                                             \
    FOLD(S, ACC, COMBINE, 4)                                                             \
    FOLD(S, ACC, COMBINE, 2)                                                             \
    FOLD(S, ACC, COMBINE, 1)                                                             \
    return lane[0];                                                                      \
  }                                                                                      \
  static void name##_row_##S(const void *pi, int64_t n, void *pa) {                      \
    const ACC x = *(const ACC *)pa, y = name##_tree_##S(pi, n);                          \
    *(ACC *)pa = (ACC)COMBINE(S, x, y);                                                  \
  }                                                                                      \
  REDUCE_CLONE_##S static void name##_add_##S(const void *pi, int64_t n, void *pa) {     \
    const fy_t_##S *restrict in = pi;                                                    \
    ACC *restrict acc = pa;                                                              \
    for (int64_t i = 0; i < n; i++) {                                                    \
      const ACC x = acc[i], y = (ACC)FY_LD_##S(in[i]);                                   \
      acc[i] = (ACC)COMBINE(S, x, y);                                                    \
    }                                                                                    \
  }                                                                                      \
  static void name##_finish_##S(const void *pa, void *po, int64_t n, int64_t reduced) {  \
    const ACC *acc = pa;                                                                 \
    fy_t_##S *out = po;                                                                  \
    (void)reduced;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                    \
      const ACC x = acc[i];                                                              \
      out[i] = FY_ST_##S(FINISH(S, x));                                                  \
    }                                                                                    \
  }
#define REDUCE_ENTRY_SIZED(E, S, name, ACC) \
  [E] = {name##_row_##S, name##_add_##S, name##_start_##S, name##_finish_##S, sizeof(ACC), 0},
#define LANES_sum  FY_LANES_SUM
#define LANES_prod FY_LANES_PROD
#define LANES_max  FY_LANES_MAX
#define LANES_min  FY_LANES_MIN
#define REDUCE_ENTRY_ROWS(E, S, name)                           \
  [E] = {name##_row_##S,    name##_add_##S,   name##_start_##S, \
         name##_finish_##S, sizeof(fy_a_##S), (E) == FY_FLOAT ? 1 + LANES_##name : 0},
#define REDUCE_ENTRY(E, S, name) REDUCE_ENTRY_SIZED(E, S, name, fy_a_##S)

#define JUST(S, x)          (x)
#define PLUS(S, x, y)       ((x) + (y))
#define TIMES(S, x, y)      ((x) * (y))
#define PLUS_INT(S, x, y)   ((fy_u_##S)(x) + (fy_u_##S)(y))
#define TIMES_INT(S, x, y)  ((fy_u_##S)(x) * (fy_u_##S)(y))
#define TIMES_CPLX(S, x, y) fy_cmul_##S(x, y)
// An x that is NaN stays.
#define MAX_REAL(S, x, y)  ((((x) < (y)) | ((y) != (y))) ? (y) : (x))
#define MIN_REAL(S, x, y)  ((((y) < (x)) | ((y) != (y))) ? (y) : (x))
#define MAX_INT(S, x, y)   ((x) < (y) ? (y) : (x))
#define MIN_INT(S, x, y)   ((y) < (x) ? (y) : (x))
#define MEAN_REAL(S, x)    ((x) / (fy_a_##S)reduced)
#define PLUS_WIDE(S, x, y) ((uint64_t)(x) + (uint64_t)(y))
#define MEAN_INT(S, x)     ((fy_a_##S)(reduced ? (x) / reduced : 0))
#define MEAN_UINT(S, x)    ((fy_a_##S)(reduced ? (x) / (uint64_t)reduced : 0))

#define LOOPS(E, S, name, COMBINE, IDENTITY, FINISH) \
  REDUCE_LOOPS(E, S, name, fy_a_##S, COMBINE, IDENTITY, FINISH)
// Halves are turned into floats a block at a time and handed to the loops of floats.
#define HALF_LOOPS(name)                                                                \
  static void name##_row_f16(const void *pi, int64_t n, void *pa) {                     \
    float x[BLOCK];                                                                     \
    for (int64_t at = 0; at < n; at += BLOCK) {                                         \
      const int64_t m = n - at < BLOCK ? n - at : BLOCK;                                \
      fy_halves_to_floats((const uint16_t *)pi + at, x, m);                             \
      name##_row_f32(x, m, pa);                                                         \
    }                                                                                   \
  }                                                                                     \
  static void name##_add_f16(const void *pi, int64_t n, void *pa) {                     \
    float x[BLOCK];                                                                     \
    for (int64_t at = 0; at < n; at += BLOCK) {                                         \
      const int64_t m = n - at < BLOCK ? n - at : BLOCK;                                \
      fy_halves_to_floats((const uint16_t *)pi + at, x, m);                             \
      name##_add_f32(x, m, (float *)pa + at);                                           \
    }                                                                                   \
  }                                                                                     \
  static void name##_start_f16(void *pa, int64_t n) {                                   \
    name##_start_f32(pa, n);                                                            \
  }                                                                                     \
  static void name##_finish_f16(const void *pa, void *po, int64_t n, int64_t reduced) { \
    (void)reduced;                                                                      \
    fy_floats_to_halves(pa, po, n);                                                     \
  }
#define WIDE_REALS(X, ...)          \
  X(FY_BFLOAT16, bf16, __VA_ARGS__) \
  FY_FULL_REAL_TYPES(X, __VA_ARGS__)
WIDE_REALS(LOOPS, sum, PLUS, 0, JUST)
HALF_LOOPS(sum)
FY_COMPLEX_TYPES(LOOPS, sum, PLUS, 0, JUST)
// The bits of a sum or product are the same for signed and unsigned numbers.
FY_SIGNED_TYPES(LOOPS, sum, PLUS_INT, 0, JUST)
WIDE_REALS(LOOPS, prod, TIMES, 1, JUST)
HALF_LOOPS(prod)
FY_COMPLEX_TYPES(LOOPS, prod, TIMES_CPLX, 1, JUST)
FY_SIGNED_TYPES(LOOPS, prod, TIMES_INT, 1, JUST)
WIDE_REALS(LOOPS, max, MAX_REAL, -INFINITY, JUST)
WIDE_REALS(LOOPS, min, MIN_REAL, INFINITY, JUST)
HALF_LOOPS(max)
HALF_LOOPS(min)
#define LOOPS_MAX(E, S, name) LOOPS(E, S, name, MAX_INT, FY_MIN_##S, JUST)
#define LOOPS_MIN(E, S, name) LOOPS(E, S, name, MIN_INT, FY_MAX_##S, JUST)
FY_INT_TYPES(LOOPS_MAX, max)
FY_INT_TYPES(LOOPS_MIN, min)
// Bools as bytes of 0 and 1; a row ends with the first that decides.
#define BOOL_LOOPS(name, OP, IDENTITY, DECIDES)                                       \
  static void name##_row_b(const void *in, int64_t n, void *pa) {                     \
    if (memchr(in, DECIDES, (size_t)n)) *(uint8_t *)pa = DECIDES;                     \
  }                                                                                   \
  FY_CLONES static void name##_add_b(const void *pi, int64_t n, void *pa) {           \
    const uint8_t *restrict in = pi;                                                  \
    uint8_t *restrict acc = pa;                                                       \
    for (int64_t i = 0; i < n; i++) acc[i] = acc[i] OP in[i];                         \
  }                                                                                   \
  static void name##_start_b(void *pa, int64_t n) {                                   \
    memset(pa, IDENTITY, (size_t)n);                                                  \
  }                                                                                   \
  static void name##_finish_b(const void *pa, void *po, int64_t n, int64_t reduced) { \
    (void)reduced;                                                                    \
    memcpy(po, pa, (size_t)n);                                                        \
  }
BOOL_LOOPS(all, &, 1, 0)
BOOL_LOOPS(any, |, 0, 1)
// Mean is Sum with another end; that of integers is added up in 64 bits.
#define LOOPS_MEAN(E, S, ACC, FINISH) REDUCE_LOOPS(E, S, mean, ACC, PLUS_WIDE, 0, FINISH)
FY_SIGNED_TYPES(LOOPS_MEAN, int64_t, MEAN_INT)
FY_UNSIGNED_TYPES(LOOPS_MEAN, uint64_t, MEAN_UINT)
#define MEAN_FINISH(E, S, FINISH)                                                     \
  static void mean_finish_##S(const void *pa, void *po, int64_t n, int64_t reduced) { \
    const fy_a_##S *acc = pa;                                                         \
    fy_t_##S *out = po;                                                               \
    for (int64_t i = 0; i < n; i++) {                                                 \
      const fy_a_##S x = acc[i];                                                      \
      out[i] = FY_ST_##S(FINISH(S, x));                                               \
    }                                                                                 \
  }
#define MEAN_CPLX(S, x) (reduced ? (x) / (fy_r_##S)reduced : 0)  // of nothing: 0, as TensorFlow
FY_REAL_TYPES(MEAN_FINISH, MEAN_REAL)
FY_COMPLEX_TYPES(MEAN_FINISH, MEAN_CPLX)
#define MEAN_ENTRY(E, S, name)                             \
  [E] = {sum_row_##S,     sum_add_##S,      sum_start_##S, \
         mean_finish_##S, sizeof(fy_a_##S), (E) == FY_FLOAT ? 1 + FY_LANES_SUM : 0},

#define WRAPPING_ENTRIES(name)              \
  FY_REAL_TYPES(REDUCE_ENTRY_ROWS, name)    \
  FY_SIGNED_TYPES(REDUCE_ENTRY_ROWS, name)  \
  FY_COMPLEX_TYPES(REDUCE_ENTRY_ROWS, name) \
  REDUCE_ENTRY(FY_UINT8, i8, name)          \
  REDUCE_ENTRY(FY_UINT16, i16, name)        \
  REDUCE_ENTRY(FY_UINT32, i32, name)        \
  REDUCE_ENTRY(FY_UINT64, i64, name)

static const reduce_loops sum_table[FY_DTYPE_COUNT] = {WRAPPING_ENTRIES(sum)};
#define MEAN_WIDE_ENTRY(E, S, _) REDUCE_ENTRY_SIZED(E, S, mean, int64_t)
static const reduce_loops mean_table[FY_DTYPE_COUNT] = {
    FY_REAL_TYPES(MEAN_ENTRY, _) FY_COMPLEX_TYPES(MEAN_ENTRY, _) FY_INT_TYPES(MEAN_WIDE_ENTRY, _)};
static const reduce_loops prod_table[FY_DTYPE_COUNT] = {WRAPPING_ENTRIES(prod)};
static const reduce_loops max_table[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(REDUCE_ENTRY_ROWS, max)};
static const reduce_loops min_table[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(REDUCE_ENTRY_ROWS, min)};
static const reduce_loops all_table[FY_DTYPE_COUNT] = {REDUCE_ENTRY(FY_BOOL, b, all)};
static const reduce_loops any_table[FY_DTYPE_COUNT] = {REDUCE_ENTRY(FY_BOOL, b, any)};

// ---------------------------------------------------------------- which dims
typedef struct reduce_plan {
  int32_t out_rank, kept, reduced;  // numbers of merged dims
  bool inner_reduced;               // the last merged dim is a reduced one
  int64_t outputs, per_output;      // element counts
  int64_t inner;                    // size of the last merged dim
  int64_t out_dims[FY_MAX_RANK];
  int64_t kept_dims[FY_MAX_RANK], kept_strides[FY_MAX_RANK];        // without |inner|
  int64_t reduced_dims[FY_MAX_RANK], reduced_strides[FY_MAX_RANK];  // without |inner|
} reduce_plan;

fy_code fy_reduce_axes(const fy_tensor *in, const fy_tensor *axes, bool *reduced, fy_error *err) {
  for (int64_t i = 0; i < axes->count; i++) {
    const int64_t axis = fy_tensor_int(axes, i);
    if (axis < -in->rank || axis >= in->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid reduction dimension (%lld for input with %d dimension(s)",
                     (long long)axis, in->rank);
    }
    const int32_t d = (int32_t)(axis < 0 ? axis + in->rank : axis);
    if (reduced[d]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid reduction arguments: Axes contains duplicate dimension: %d", d);
    }
    reduced[d] = true;
  }
  return FY_OK;
}

static void make_plan(reduce_plan *p, const fy_tensor *in, const bool *reduced, bool keep_dims) {
  p->out_rank = p->kept = p->reduced = 0;
  p->outputs = p->per_output = 1;
  p->inner_reduced = true;
  p->inner = 1;
  for (int32_t d = 0; d < in->rank; d++) {
    if (reduced[d]) {
      p->per_output *= in->dims[d];
      if (keep_dims) p->out_dims[p->out_rank++] = 1;
    } else {
      p->outputs *= in->dims[d];
      p->out_dims[p->out_rank++] = in->dims[d];
    }
  }
  int64_t stride = 1;
  bool first = true, last_reduced = true;
  for (int32_t d = in->rank - 1; d >= 0; d--) {  // from the right; lists are built reversed
    const int64_t size = in->dims[d];
    if (size == 1) continue;
    if (first) {
      p->inner_reduced = last_reduced = reduced[d];
      p->inner = size;
      first = false;
    } else if (reduced[d] == last_reduced) {
      int32_t n = last_reduced ? p->reduced : p->kept;
      int64_t *dims = last_reduced ? p->reduced_dims : p->kept_dims;
      if (n == 0)
        p->inner *= size;  // still the run that holds |inner|
      else
        dims[n - 1] *= size;
    } else {
      last_reduced = reduced[d];
      int32_t *n = last_reduced ? &p->reduced : &p->kept;
      (last_reduced ? p->reduced_dims : p->kept_dims)[*n] = size;
      (last_reduced ? p->reduced_strides : p->kept_strides)[*n] = stride;
      ++*n;
    }
    stride *= size;
  }
}

// ---------------------------------------------------------------- walking
typedef struct reduce_job {
  const reduce_plan *plan;
  const reduce_loops *loops;
  const char *in;
  char *out;
  size_t size;
  int64_t blocks;   // of a single long row
  char *partial;    // [blocks] accumulators
  int64_t columns;  // of an output row that are handled at once
} reduce_job;

static int64_t offset_of(int64_t index, int32_t n, const int64_t *dims, const int64_t *strides) {
  int64_t at = 0;
  for (int32_t d = 0; d < n; d++) {  // reversed lists: the fastest dim first
    at += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return at;
}

// Steps the multi-index of the reduced dims; returns the new offset.
static int64_t step(int64_t *index, int64_t at, const reduce_plan *p) {
  for (int32_t d = 0; d < p->reduced; d++) {
    at += p->reduced_strides[d];
    if (++index[d] < p->reduced_dims[d]) break;
    at -= p->reduced_dims[d] * p->reduced_strides[d];
    index[d] = 0;
  }
  return at;
}

static bool in_lanes(const reduce_loops *loops) {
  return loops->lanes && fy_lanes_best()->rows_f32[0];
}

// What the lanes left in |out|; of floats only a mean ends otherwise than it is.
static void end_floats(const reduce_job *j, void *out, int64_t n) {
  if (j->loops->finish != mean_finish_f32) return;
  const float reduced = (float)j->plan->per_output;
  float *x = out;
  FY_VECTOR for (int64_t i = 0; i < n; i++) x[i] /= reduced;
}

static void reduce_to_elements(void *arg, int64_t begin, int64_t end) {
  const reduce_job *j = arg;
  const reduce_plan *p = j->plan;
  const int64_t rows = p->per_output / p->inner;
  if (rows == 1 && in_lanes(j->loops) && p->inner <= BLOCK) {
    float *out = (float *)(void *)j->out + begin;
    fy_lanes_best()->rows_f32[j->loops->lanes - 1](
        (const float *)(const void *)j->in + begin * p->inner, p->inner, end - begin, out);
    end_floats(j, out, end - begin);
    return;
  }
  _Alignas(16) char acc[64 * 16];
  for (int64_t o = begin; rows == 1 && o < end; o += 64) {  // rows that follow each other
    const int64_t n = end - o < 64 ? end - o : 64;
    j->loops->start(acc, n);
    for (int64_t i = 0; i < n; i++)
      j->loops->row(j->in + (size_t)((o + i) * p->inner) * j->size, p->inner,
                    acc + (size_t)i * j->loops->acc_size);
    j->loops->finish(acc, j->out + (size_t)o * j->size, n, p->per_output);
  }
  for (int64_t o = begin; rows != 1 && o < end; o++) {
    const int64_t base = offset_of(o, p->kept, p->kept_dims, p->kept_strides);
    int64_t index[FY_MAX_RANK], at = 0;
    for (int32_t d = 0; d < p->reduced; d++) index[d] = 0;
    j->loops->start(acc, 1);
    for (int64_t r = 0; r < rows; r++) {
      j->loops->row(j->in + (size_t)(base + at) * j->size, p->inner, acc);
      at = step(index, at, p);
    }
    j->loops->finish(acc, j->out + (size_t)o * j->size, 1, p->per_output);
  }
}

// Short rows that follow each other: the same element of many rows is added at a time.
#define SHORT_ROW FY_REDUCE_SHORT
static void reduce_short(void *arg, int64_t begin, int64_t end) {
  const reduce_job *j = arg;
  const int64_t inner = j->plan->inner;
  _Alignas(64) char acc[COLUMNS * 16];
  _Alignas(64) char column[COLUMNS * 16];
  for (int64_t at = begin; at < end; at += COLUMNS) {
    const int64_t n = end - at < COLUMNS ? end - at : COLUMNS;
    const char *in = j->in + (size_t)(at * inner) * j->size;
    j->loops->start(acc, n);
    for (int64_t k = 0; k < inner; k++) {
      if (j->size == 4) {
        const uint32_t *from = (const uint32_t *)(const void *)in + k;
        for (int64_t i = 0; i < n; i++) ((uint32_t *)(void *)column)[i] = from[i * inner];
      } else {
        const char *from = in + (size_t)k * j->size;
        for (int64_t i = 0; i < n; i++)
          memcpy(column + (size_t)i * j->size, from + (size_t)(i * inner) * j->size, j->size);
      }
      j->loops->add(column, n, acc);
    }
    j->loops->finish(acc, j->out + (size_t)at * j->size, n, inner);
  }
}

// Output rows are cut into pieces of |columns|: as long as the accumulators stay in the cache, but
// one for each thread if there is only one row.
static int64_t columns_of(const fy_kernel_ctx *ctx, const reduce_plan *p, size_t acc_size) {
  const int64_t most = WIDTH / (int64_t)acc_size, rows = p->outputs / p->inner;
  int64_t n = p->inner;
  if (rows < ctx->threads) n = (p->inner + ctx->threads - 1) / ctx->threads;
  n = (n + 63) / 64 * 64;
  return n < most ? n : most;
}

// acc[c] = acc[c] op in[c] op in[step + c] ... of |rows| rows. What the nearest cache does not hold is
// read a few rows at a time.
static void add_rows(const reduce_loops *loops, const char *in, size_t size, int64_t step,
                     int64_t rows, int64_t n, void *acc) {
  if (!in_lanes(loops)) {
    for (int64_t r = 0; r < rows; r++) loops->add(in + (size_t)(r * step) * size, n, acc);
    return;
  }
  const int64_t some = rows * n <= NEAR ? rows : 8;
  for (int64_t r = 0; r < rows; r += some)
    fy_lanes_best()->columns_f32[loops->lanes - 1]((const float *)(const void *)in + r * step, step,
                                                   rows - r < some ? rows - r : some, n, acc);
}

// Items are pieces of output rows.
static void reduce_to_rows(void *arg, int64_t begin, int64_t end) {
  const reduce_job *j = arg;
  const reduce_plan *p = j->plan;
  const int64_t width = j->columns, pieces = (p->inner + width - 1) / width;
  const int64_t run = p->reduced ? p->reduced_dims[0] : 1;  // rows that are equally far apart
  const int64_t next = p->reduced ? p->reduced_strides[0] : 0;
  _Alignas(64) char buffer[WIDTH];
  for (int64_t item = begin; item < end; item++) {
    const int64_t row = item / pieces, from = item % pieces * width;
    const int64_t n = p->inner - from < width ? p->inner - from : width;
    const int64_t base = offset_of(row, p->kept, p->kept_dims, p->kept_strides) + from;
    int64_t index[FY_MAX_RANK], at = 0;
    char *out = j->out + (size_t)(row * p->inner + from) * j->size;
    char *acc = in_lanes(j->loops) ? out : buffer;
    for (int32_t d = 0; d < p->reduced; d++) index[d] = 0;
    j->loops->start(acc, n);
    for (int64_t r = 0; r < p->per_output; r += run) {
      add_rows(j->loops, j->in + (size_t)(base + at) * j->size, j->size, next, run, n, acc);
      if (p->reduced) index[0] = p->reduced_dims[0] - 1, at += (run - 1) * p->reduced_strides[0];
      at = step(index, at, p);
    }
    if (acc == out)
      end_floats(j, out, n);
    else
      j->loops->finish(acc, out, n, p->per_output);
  }
}

// One output row and many input rows: blocks of a fixed number of input rows, which are read as they
// lie in memory, are added up by themselves, and then the sums in order.
#define ROW_BLOCK 256

static void reduce_row_block(void *arg, int64_t begin, int64_t end) {
  const reduce_job *j = arg;
  const int64_t rows = j->plan->per_output, n = j->plan->inner;
  for (int64_t b = begin; b < end; b++) {
    char *acc = j->partial + (size_t)(b * n) * j->size;
    const int64_t last = (b + 1) * ROW_BLOCK < rows ? (b + 1) * ROW_BLOCK : rows;
    j->loops->start(acc, n);
    add_rows(j->loops, j->in + (size_t)(b * ROW_BLOCK * n) * j->size, j->size, n,
             last - b * ROW_BLOCK, n, acc);
  }
}

static fy_code reduce_rows(fy_kernel_ctx *ctx, reduce_job *j, fy_error *err) {
  void *partial;
  const int64_t n = j->plan->inner;
  j->blocks = (j->plan->per_output + ROW_BLOCK - 1) / ROW_BLOCK;
  FY_TRY(fy_scratch(ctx, (size_t)(j->blocks * n) * j->size, &partial, err));
  j->partial = partial;
  fy_parallel(ctx, j->blocks, ROW_BLOCK * 0.1 * (double)n, reduce_row_block, j);
  for (int64_t b = 1; b < j->blocks; b++)
    j->loops->add(j->partial + (size_t)(b * n) * j->size, n, j->partial);
  j->loops->finish(j->partial, j->out, n, j->plan->per_output);
  return FY_OK;
}

#define LONG_ROW FY_REDUCE_LONG  // a full reduction is cut into rows of this length for the threads

static void reduce_block(void *arg, int64_t begin, int64_t end) {
  const reduce_job *j = arg;
  for (int64_t b = begin; b < end; b++) {
    const int64_t from = b * LONG_ROW;
    const int64_t n = j->plan->inner - from < LONG_ROW ? j->plan->inner - from : LONG_ROW;
    char *acc = j->partial + (size_t)b * j->loops->acc_size;
    j->loops->start(acc, 1);
    j->loops->row(j->in + (size_t)from * j->size, n, acc);
  }
}

static fy_code reduce_long_row(fy_kernel_ctx *ctx, reduce_job *j, fy_error *err) {
  void *partial;
  j->blocks = (j->plan->inner + LONG_ROW - 1) / LONG_ROW;
  FY_TRY(fy_scratch(ctx, (size_t)j->blocks * j->loops->acc_size, &partial, err));
  j->partial = partial;
  fy_parallel(ctx, j->blocks, LONG_ROW * 0.3, reduce_block, j);
  // Accumulators of 16-bit floats are floats, those of a mean of integers have 64 bits: they are
  // added with the loop of that type, in order.
  const fy_dtype t = ctx->in[0]->dtype;
  const reduce_loops *table = ctx->site->op->impl->aux, *wide = j->loops;
  if (t == FY_HALF || t == FY_BFLOAT16)
    wide = &table[FY_FLOAT];
  else if (fy_dtype_is_integer(t) && wide->acc_size > j->size)
    wide = &table[t == FY_UINT8 || t == FY_UINT16 || t == FY_UINT32 ? FY_UINT64 : FY_INT64];
  for (int64_t b = 1; b < j->blocks; b++) {
    wide->add(j->partial + (size_t)b * j->loops->acc_size, 1, j->partial);
  }
  j->loops->finish(j->partial, j->out, 1, j->plan->per_output);
  return FY_OK;
}

void fy_reduce_rows(fy_row_reduction kind, fy_dtype dtype, const void *in, int64_t n, int64_t rows,
                    void *out) {
  static const reduce_loops *const tables[FY_ROW_REDUCTIONS] = {sum_table, mean_table, max_table,
                                                                min_table};
  reduce_plan plan;  // it is large, and of rows that follow each other only these are asked for
  plan.inner = plan.per_output = n;
  reduce_job job = {.plan = &plan,
                    .loops = &tables[kind][dtype],
                    .in = in,
                    .out = out,
                    .size = fy_dtype_storage(dtype)};
  reduce_to_elements(&job, 0, rows);
}

static bool in_long_row(const reduce_plan *p) {
  return p->inner_reduced && p->outputs == 1 && p->inner > 2 * LONG_ROW;
}

static bool in_row_blocks(const reduce_plan *p, const reduce_loops *loops, fy_dtype t) {
  const size_t size = fy_dtype_storage(t);
  return !p->inner_reduced && p->outputs == p->inner && p->reduced == 1 && p->kept == 0 &&
         p->per_output >= 2 * ROW_BLOCK && loops->acc_size == size &&
         (size_t)p->inner * size <= WIDTH && t != FY_HALF && t != FY_BFLOAT16;
}

// Where the axes are known: they mostly are a constant.
static void reduce_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *in = ctx->in[0];
  const reduce_loops *loops = (const reduce_loops *)ctx->site->op->impl->aux + in->dtype;
  bool reduced[FY_MAX_RANK] = {false};
  reduce_plan plan;
  if (!loops->row || !in->count || !ctx->in[1]->data ||
      fy_reduce_axes(in, ctx->in[1], reduced, NULL))
    return;
  make_plan(&plan, in, reduced, false);
  if (in_long_row(&plan))
    out->scratch +=
        fy_scratch_line((size_t)((plan.inner + LONG_ROW - 1) / LONG_ROW) * loops->acc_size);
  else if (in_row_blocks(&plan, loops, in->dtype))
    out->scratch +=
        fy_scratch_line((size_t)((plan.per_output + ROW_BLOCK - 1) / ROW_BLOCK * plan.inner) *
                        fy_dtype_storage(in->dtype));
}

// Any state says that the dims stay.
static fy_code reduce_prepare(fy_site *site, fy_error *err) {
  (void)err;
  site->state = fy_site_bool(site, "keep_dims") ? site : NULL;
  return FY_OK;
}

static fy_code reduce(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const reduce_loops *loops = (const reduce_loops *)ctx->site->op->impl->aux + in->dtype;
  if (!loops->row) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  bool reduced[FY_MAX_RANK];
  reduce_plan plan;
  fy_tensor *out;
  for (int32_t d = 0; d < in->rank; d++) reduced[d] = false;
  FY_TRY(fy_reduce_axes(in, ctx->in[1], reduced, err));
  make_plan(&plan, in, reduced, ctx->site->state != NULL);
  FY_TRY(fy_out(ctx, 0, plan.out_rank, plan.out_dims, &out, err));
  if (out->count == 0) return FY_OK;
  reduce_job job = {.plan = &plan,
                    .loops = loops,
                    .in = in->data,
                    .out = out->data,
                    .size = fy_dtype_storage(in->dtype)};
  if (in->count == 0) {  // nothing to add: identities
    _Alignas(16) char acc[16];
    loops->start(acc, 1);
    for (int64_t i = 0; i < out->count; i++) {
      loops->finish(acc, job.out + (size_t)i * job.size, 1, 0);
    }
  } else if (in_long_row(&plan)) {
    return reduce_long_row(ctx, &job, err);
  } else if (plan.inner_reduced && plan.per_output == plan.inner && plan.inner <= SHORT_ROW &&
             plan.outputs >= FY_REDUCE_ROWS) {
    fy_parallel(ctx, plan.outputs, 2 * (double)plan.inner, reduce_short, &job);
  } else if (plan.inner_reduced) {
    fy_parallel(ctx, plan.outputs, 5 + 0.3 * (double)plan.per_output, reduce_to_elements, &job);
  } else if (in_row_blocks(&plan, loops, in->dtype)) {
    return reduce_rows(ctx, &job, err);
  } else {
    job.columns = columns_of(ctx, &plan, loops->acc_size);
    const int64_t pieces = (plan.inner + job.columns - 1) / job.columns;
    const double columns = (double)(plan.inner < job.columns ? plan.inner : job.columns);
    fy_parallel(ctx, plan.outputs / plan.inner * pieces,
                10 + 0.3 * columns * (double)plan.per_output, reduce_to_rows, &job);
  }
  return FY_OK;
}

static void reduce_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out,
                        fy_cost *cost) {
  double n = 1;
  (void)out;
  for (int32_t d = 0; d < in[0].rank; d++) n *= in[0].dims[d] > 0 ? (double)in[0].dims[d] : 1;
  cost->flops = n;
  cost->bytes = n * (double)fy_dtype_storage(site->in_types[0]);
}

static const fy_sample sum_samples[] = {
    {"f32[2,3]=1,2,3,4,5,6; i32[1]=1", NULL, FY_OK, "6,15"},
    {"f32[2,3]=1,2,3,4,5,6; i32[1]=0", NULL, FY_OK, "5,7,9"},
    {"f32[2,3]=1,2,3,4,5,6; i32[2]=0,-1", "keep_dims=true", FY_OK, "21"},
    {"i32[2,2,2]=1,2,3,4,5,6,7,8; i64[2]=0,2", NULL, FY_OK, "14,22"},
    {"i8[2]=127,1; i32[]=0", NULL, FY_OK, "-128"},
    {"f32[0,2]=; i32[1]=0", NULL, FY_OK, "0,0"},
    {"f32[2,3]=ones; i32[1]=5", NULL, FY_INVALID_ARGUMENT,
     "Invalid reduction dimension (5 for input with 2 dimension(s)"},
    {"f32[2,3]=ones; i32[2]=0,-2", NULL, FY_INVALID_ARGUMENT,
     "Invalid reduction arguments: Axes contains duplicate dimension: 0"},
};
static const fy_sample any_reduce_samples[] = {
    {"f32[3,4,5]=normal; i32[2]=0,2", NULL, FY_OK, NULL},
    {"f16[70]=normal; i32[1]=0", NULL, FY_OK, NULL},
    {"i64[3]=-7,-8,2; i32[1]=0", NULL, FY_OK, NULL},
    {"f32[0]=; i32[1]=0", NULL, FY_OK, NULL},
};
static const fy_sample bool_samples[] = {
    {"b[2,2]=true,false,true,true; i32[1]=1", NULL, FY_OK, NULL},
    {"b[0]=; i32[1]=0", NULL, FY_OK, NULL},
};

#define REDUCE_OP(Name, name, array)                                                            \
  FY_OP(Name, .shape = fy_shape_reduction, .prepare = reduce_prepare, .compute = reduce,        \
        .cost = reduce_cost, .aux = name##_table, .needs = reduce_needs, .host_inputs = 1 << 1, \
        FY_SAMPLES(array))
REDUCE_OP(Sum, sum, sum_samples);
REDUCE_OP(Mean, mean, any_reduce_samples);
REDUCE_OP(Prod, prod, any_reduce_samples);
REDUCE_OP(Max, max, any_reduce_samples);
REDUCE_OP(Min, min, any_reduce_samples);
REDUCE_OP(All, all, bool_samples);
REDUCE_OP(Any, any, bool_samples);

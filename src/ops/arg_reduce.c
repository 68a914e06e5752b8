// SPDX-License-Identifier: Apache-2.0
// arg_reduce.c: where elements are: ArgMax, ArgMin, Where.

#include "base/alloc.h"
#include "ops/arg.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- ArgMax, ArgMin
typedef struct arg_job {
  const void *in;
  fy_tensor *out;
  int64_t along, inner;
} arg_job;

// The first of equals wins; a NaN is never better than anything.
#define ARG(E, S, name, BETTER, WORST)                                        \
  static void name##_##S(void *arg, int64_t begin, int64_t end) {             \
    const arg_job *j = arg;                                                   \
    const fy_t_##S *in = j->in;                                               \
    for (int64_t o = begin; o < end; o++) {                                   \
      const int64_t base = o / j->inner * j->along * j->inner + o % j->inner; \
      fy_a_##S best = (fy_a_##S)(WORST);                                      \
      int64_t at = 0;                                                         \
      for (int64_t k = 0; k < j->along; k++) {                                \
        const fy_a_##S x = FY_LD_##S(in[base + k * j->inner]);                \
        if (x BETTER best) {                                                  \
          best = x;                                                           \
          at = k;                                                             \
        }                                                                     \
      }                                                                       \
      fy_arg_put(j->out, o, at);                                              \
    }                                                                         \
  }
#define ARG_MAX_INT(E, S, _) ARG(E, S, arg_max, >, FY_MIN_##S)
#define ARG_MIN_INT(E, S, _) ARG(E, S, arg_min, <, FY_MAX_##S)
FY_REAL_TYPES(ARG, arg_max, >, -INFINITY)
FY_REAL_TYPES(ARG, arg_min, <, INFINITY)
FY_INT_TYPES(ARG_MAX_INT, _)
FY_INT_TYPES(ARG_MIN_INT, _)
ARG(FY_BOOL, b, arg_max, >, 0)
ARG(FY_BOOL, b, arg_min, <, 1)

// Rows of words: their best in strands, which do not wait for each other, then where it is.
typedef int32_t words8 __attribute__((vector_size(32)));
#define STRANDS        32
#define PICK(a, b, OP) ((a)OP(b) ? (a) : (b))
#define ARG_ROWS(T, name, BETTER, WORST)                                                          \
  FY_CLONES static int64_t name##_row(const T *x, int64_t n) {                                    \
    T best[STRANDS];                                                                              \
    int64_t i = 0, at = 0;                                                                        \
    for (int k = 0; k < STRANDS; k++) best[k] = WORST;                                            \
    for (; i + STRANDS <= n; i += STRANDS)                                                        \
      for (int k = 0; k < STRANDS; k++) best[k] = PICK(x[i + k], best[k], BETTER);                \
    for (int k = 0; k < 16; k++) best[k] = PICK(best[k + 16], best[k], BETTER);                   \
    for (int k = 0; k < 8; k++) best[k] = PICK(best[k + 8], best[k], BETTER);                     \
    for (; i + 8 <= n; i += 8)                                                                    \
      for (int k = 0; k < 8; k++) best[k] = PICK(x[i + k], best[k], BETTER);                      \
    for (; i < n; i++) best[0] = PICK(x[i], best[0], BETTER);                                     \
    T top = best[0];                                                                              \
    for (int k = 1; k < 8; k++) top = PICK(best[k], top, BETTER);                                 \
    if (!(top BETTER WORST)) return 0;                                                            \
    for (int found = 0; at + STRANDS <= n; at += STRANDS) {                                       \
      for (int k = 0; k < STRANDS; k++) found |= x[at + k] == top;                                \
      if (found) break;                                                                           \
    }                                                                                             \
    while (x[at] != top) at++;                                                                    \
    return at;                                                                                    \
  }                                                                                               \
  static void name##_rows(void *arg, int64_t begin, int64_t end) {                                \
    const arg_job *j = arg;                                                                       \
    for (int64_t o = begin; o < end; o++)                                                         \
      fy_arg_put(j->out, o, name##_row((const T *)j->in + o * j->along, j->along));               \
  }                                                                                               \
  /* STRANDS columns beside each other. */                                                        \
  typedef T name##_words __attribute__((vector_size(32)));                                        \
  FY_CLONES static void name##_strip(const T *x, int64_t step, int64_t n, int32_t *at) {          \
    for (int c = 0; c < STRANDS; c += 8) {                                                        \
      const T *from = x + c;                                                                      \
      name##_words best = (name##_words){0} + (WORST), y;                                         \
      words8 where = {0};                                                                         \
      for (int32_t i = 0; i < n; i++, from += step) {                                             \
        memcpy(&y, from, sizeof y);                                                               \
        const words8 better = (words8)(y BETTER best);                                            \
        where = (((words8){0} + i) & better) | (where & ~better);                                 \
        best = (name##_words)(((words8)y & better) | ((words8)best & ~better));                   \
      }                                                                                           \
      memcpy(at + c, &where, sizeof where);                                                       \
    }                                                                                             \
  }                                                                                               \
  /* The last ones of a row of columns are found with some before them, once more. */             \
  static void name##_cols(void *arg, int64_t begin, int64_t end) {                                \
    const arg_job *j = arg;                                                                       \
    int32_t at[STRANDS];                                                                          \
    for (int64_t o = begin; o < end;) {                                                           \
      const int64_t row = o / j->inner, c = o % j->inner;                                         \
      const int64_t first = c + STRANDS <= j->inner ? c : j->inner - STRANDS;                     \
      name##_strip((const T *)j->in + row * j->along * j->inner + first, j->inner, j->along, at); \
      for (int64_t k = c - first; k < STRANDS && o < end; k++) fy_arg_put(j->out, o++, at[k]);    \
    }                                                                                             \
  }
ARG_ROWS(float, arg_max_f32, >, (float)-INFINITY)
ARG_ROWS(float, arg_min_f32, <, (float)INFINITY)
ARG_ROWS(int32_t, arg_max_i32, >, INT32_MIN)
ARG_ROWS(int32_t, arg_min_i32, <, INT32_MAX)

typedef void (*arg_fn)(void *arg, int64_t begin, int64_t end);
typedef struct arg_table {
  arg_fn fn[FY_DTYPE_COUNT];
} arg_table;
static const arg_table max_table = {
    {FY_ORDERED_TYPES(FY_LOOP_ENTRY, arg_max)[FY_BOOL] = arg_max_b}};
static const arg_table min_table = {
    {FY_ORDERED_TYPES(FY_LOOP_ENTRY, arg_min)[FY_BOOL] = arg_min_b}};

static fy_code arg_reduce(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *axis_in = ctx->in[1];
  const arg_fn fn = ((const arg_table *)ctx->site->op->impl->aux)->fn[in->dtype];
  char x[128];
  if (axis_in->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "dim must be a scalar, but received tensor of shape: %s",
                   fy_tensor_shape_text(axis_in, x));
  }
  int64_t axis = fy_tensor_int(axis_in, 0);
  if (axis < -in->rank || axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected dimension in the range [%d, %d), but got %lld", -in->rank, in->rank,
                   (long long)axis);
  }
  if (axis < 0) axis += in->rank;
  if (in->dims[axis] == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Reduction axis %lld is empty in shape %s",
                   (long long)axis, fy_tensor_shape_text(in, x));
  }
  if (!fn) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d + 1 < in->rank; d++) dims[d] = in->dims[d < axis ? d : d + 1];
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank - 1, dims, &out, err));
  arg_job job = {in->data, out, in->dims[axis],
                 fy_product(in->dims + axis + 1, in->rank - 1 - (int32_t)axis)};
  static const struct {
    arg_fn fn, rows, cols;
  } words[] = {{arg_max_f32, arg_max_f32_rows, arg_max_f32_cols},
               {arg_min_f32, arg_min_f32_rows, arg_min_f32_cols},
               {arg_max_i32, arg_max_i32_rows, arg_max_i32_cols},
               {arg_min_i32, arg_min_i32_rows, arg_min_i32_cols}};
  arg_fn loop = fn;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (words[i].fn != fn) continue;
    if (job.inner == 1 && job.along >= 2 * STRANDS) loop = words[i].rows;
    if (job.inner >= STRANDS && job.along <= INT32_MAX) loop = words[i].cols;
  }
  fy_parallel(ctx, out->count, (loop == fn ? 1.0 : 0.2) * (double)job.along, loop, &job);
  return FY_OK;
}

static fy_code arg_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t axis, dims[FY_MAX_RANK];
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  if (in.rank < 0) return FY_OK;
  if (in.rank <= 1) return fy_shape_scalar(ctx, err);
  if (!fy_shape_int_value(ctx, 1, &axis)) return fy_shape_set(ctx, 0, in.rank - 1, NULL, err);
  if (axis < -in.rank || axis >= in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension (%lld) must be in the range [%d, %d), where %d is the number of "
                   "dimensions in the input.",
                   (long long)axis, -in.rank, in.rank, in.rank);
  }
  if (axis < 0) axis += in.rank;
  for (int32_t d = 0; d + 1 < in.rank; d++) dims[d] = in.dims[d < axis ? d : d + 1];
  return fy_shape_set(ctx, 0, in.rank - 1, dims, err);
}

// ---------------------------------------------------------------- Where
typedef struct where_loops {
  int64_t (*count)(const void *p, int64_t n);
  // Writes the coordinates of what is set to |to|, which ends at |end|.
  void (*list)(const void *p, const fy_tensor *in, int64_t *to, const int64_t *end);
} where_loops;
#define WHERE(E, S, _)                                                                            \
  static int64_t set_count_##S(const void *p, int64_t n) {                                        \
    const fy_t_##S *x = p;                                                                        \
    int64_t sum = 0;                                                                              \
    for (int64_t i = 0; i < n; i++) sum += FY_LD_##S(x[i]) != 0;                                  \
    return sum;                                                                                   \
  }                                                                                               \
  static void set_list_##S(const void *p, const fy_tensor *in, int64_t *to, const int64_t *end) { \
    const fy_t_##S *x = p;                                                                        \
    const int32_t rank = in->rank, last = rank - 1;                                               \
    const int64_t cols = in->dims[last];                                                          \
    int64_t index[FY_MAX_RANK] = {0};                                                             \
    for (;; x += cols) {                                                                          \
      for (int64_t c = 0; c < cols; c++) {                                                        \
        const bool set = FY_LD_##S(x[c]) != 0;                                                    \
        if (rank <= 2) { /* written always, kept when set: no branch to guess */                  \
          if (to == end) return;                                                                  \
          to[0] = index[0];                                                                       \
          to[last] = c;                                                                           \
          to += set ? rank : 0;                                                                   \
        } else if (set) {                                                                         \
          for (int32_t d = 0; d < last; d++) to[d] = index[d];                                    \
          to[last] = c;                                                                           \
          to += rank;                                                                             \
        }                                                                                         \
      }                                                                                           \
      int32_t d = last - 1;                                                                       \
      for (; d >= 0; d--) {                                                                       \
        if (++index[d] < in->dims[d]) break;                                                      \
        index[d] = 0;                                                                             \
      }                                                                                           \
      if (d < 0 || to == end) return;                                                             \
    }                                                                                             \
  }
FY_NUMERIC_TYPES(WHERE, _)
WHERE(FY_BOOL, b, _)
#define WHERE_ENTRY(E, S, _) [E] = {set_count_##S, set_list_##S},
static const where_loops set_table[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(WHERE_ENTRY, _)
                                                          WHERE_ENTRY(FY_BOOL, b, _)};

static fy_code where(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const where_loops *loops = &set_table[in->dtype];
  if (in->dtype == FY_HALF) {
    return fy_fail(
        err, FY_UNIMPLEMENTED,
        "No WhereOp available for float16/half type on CPU; dying in CPU WhereOp to avoid "
        "silently creating costly copies from device.");
  }
  if (!loops->count) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Where has no loop for %s", fy_dtype_name(in->dtype));
  }
  if (in->rank < 1 || in->rank > 8) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "WhereOp : Unhandled input dimensions: %d", in->rank);
  }
  const int64_t n = loops->count(in->data, in->count);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, in->rank}, &out, err));
  int64_t *to = out->data;
  if (n && in->rank) loops->list(in->data, in, to, to + n * in->rank);
  return FY_OK;
}

static fy_code where_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t dims[] = {-1, ctx->in[0].rank};
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static const fy_sample arg_samples[] = {
    {"f32[2,3]=1,5,2,9,0,9; i32[]=1", NULL, FY_OK, NULL},
    {"i8[3]=-128,-128,-128; i32[]=0", "output_type=int32", FY_OK, "0"},
    {"f32[3]=ones; i32[]=3", NULL, FY_INVALID_ARGUMENT,
     "Expected dimension in the range [-1, 1), but got 3"},
    {"f32[0,3]=; i32[]=0", NULL, FY_INVALID_ARGUMENT, "Reduction axis 0 is empty in shape [0,3]"},
};
static const fy_sample where_samples[] = {
    {"b[2,2]=true,false,false,true", NULL, FY_OK, "0,0,1,1"},
    {"f32[3]=0,1,2", NULL, FY_OK, "1,2"},
};

FY_OP(ArgMax, .shape = arg_shape, .compute = arg_reduce, .aux = &max_table, .host_inputs = 1 << 1,
      FY_SAMPLES(arg_samples));
FY_OP(ArgMin, .shape = arg_shape, .compute = arg_reduce, .aux = &min_table, .host_inputs = 1 << 1,
      FY_SAMPLES(arg_samples));
FY_OP(Where, .shape = where_shape, .compute = where, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(where_samples));

// SPDX-License-Identifier: Apache-2.0
// arg_reduce.c: where elements are: ArgMax, ArgMin, Where.

#include "base/alloc.h"
#include "ops/arg.h"
#include "ops/elementwise.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- ArgMax, ArgMin
typedef struct arg_job {
  const uint32_t *in;  // or other elements
  fy_tensor *out;
  int64_t along, inner;
  bool ints, most;  // of words
} arg_job;

// The first of equals wins; a NaN is never better than anything.
#define ARG(E, S, name, BETTER, WORST)                                        \
  static void name##_##S(void *arg, int64_t begin, int64_t end) {             \
    const arg_job *j = arg;                                                   \
    const fy_t_##S *in = (const void *)j->in;                                 \
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

// Words in rows, or in columns beside each other: the lanes' (lanes_rows.inc), some outputs at a time.
enum { LEAST = 8, SOME = 256 };

static void put_some(fy_tensor *out, int64_t first, const int32_t *at, int64_t n) {
  if (out->dtype == FY_INT64) {
    int64_t *to = (int64_t *)out->data + first;
    for (int64_t i = 0; i < n; i++) to[i] = at[i];
  } else {
    for (int64_t i = 0; i < n; i++) fy_arg_put(out, first + i, at[i]);
  }
}

static void arg_word_rows(void *arg, int64_t begin, int64_t end) {
  const arg_job *j = arg;
  int32_t at[SOME];
  for (int64_t o = begin; o < end; o += SOME) {
    const int64_t n = end - o < SOME ? end - o : SOME;
    fy_lanes_best()->arg_rows[j->ints](j->in + o * j->along, j->along, n, j->most, at);
    put_some(j->out, o, at, n);
  }
}

// The last ones of a row of columns are found with some before them, once more.
static void arg_word_columns(void *arg, int64_t begin, int64_t end) {
  const arg_job *j = arg;
  int32_t at[SOME];
  for (int64_t o = begin, n; o < end; o += n) {
    const int64_t row = o / j->inner, c = o % j->inner;
    const int64_t first = c + LEAST <= j->inner ? c : j->inner - LEAST;
    n = j->inner - c < end - o ? j->inner - c : end - o;
    if (n > SOME - LEAST) n = SOME - LEAST;
    const int64_t columns = c - first + n < LEAST ? LEAST : c - first + n;
    fy_lanes_best()->arg_columns[j->ints](j->in + row * j->along * j->inner + first, j->inner,
                                          j->along, columns, j->most, at);
    put_some(j->out, o, at + (c - first), n);
  }
}

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
  arg_job job = {in->data,
                 out,
                 in->dims[axis],
                 fy_product(in->dims + axis + 1, in->rank - 1 - (int32_t)axis),
                 in->dtype == FY_INT32,
                 ctx->site->op->impl->aux == &max_table};
  arg_fn loop = fn;
  if ((in->dtype == FY_FLOAT || job.ints) && job.along <= INT32_MAX &&
      fy_lanes_best()->arg_rows[0]) {
    if (job.inner == 1 && job.along >= LEAST) loop = arg_word_rows;
    if (job.inner >= LEAST) loop = arg_word_columns;
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
  int64_t (*count)(const void *p, int64_t first, int64_t last);
  // Writes the coordinates of what is set in [first, last) to |to|, which ends at |end|.
  void (*list)(const fy_tensor *in, int64_t first, int64_t last, int64_t *to, const int64_t *end);
} where_loops;
#define WHERE(E, S, _)                                                                    \
  static int64_t set_count_##S(const void *p, int64_t first, int64_t last) {              \
    const fy_t_##S *x = p;                                                                \
    int64_t sum = 0;                                                                      \
    for (int64_t i = first; i < last; i++) sum += FY_LD_##S(x[i]) != 0;                   \
    return sum;                                                                           \
  }                                                                                       \
  static void set_list_##S(const fy_tensor *in, int64_t first, int64_t last, int64_t *to, \
                           const int64_t *end) {                                          \
    const int32_t rank = in->rank;                                                        \
    const int64_t cols = in->dims[rank - 1];                                              \
    int64_t index[FY_MAX_RANK] = {0};                                                     \
    for (int64_t d = rank - 2, row = first / cols; d >= 0; row /= in->dims[d--])          \
      index[d] = row % in->dims[d];                                                       \
    for (int64_t i = first, c = first % cols, n; i < last && to != end; i += n, c = 0) {  \
      const fy_t_##S *x = (const fy_t_##S *)in->data + i - c;                             \
      n = cols - c < last - i ? cols - c : last - i;                                      \
      for (const int64_t stop = c + n; c < stop; c++) {                                   \
        const bool set = FY_LD_##S(x[c]) != 0;                                            \
        if (rank <= 3) { /* written always, kept when set: no branch to guess */          \
          if (to == end) return;                                                          \
          to[0] = index[0];                                                               \
          if (rank == 3) to[1] = index[1];                                                \
          to[rank - 1] = c;                                                               \
          to += set ? rank : 0;                                                           \
        } else if (set) {                                                                 \
          for (int32_t d = 0; d < rank - 1; d++) to[d] = index[d];                        \
          to[rank - 1] = c;                                                               \
          to += rank;                                                                     \
        }                                                                                 \
      }                                                                                   \
      for (int32_t d = rank - 2; d >= 0; d--) {                                           \
        if (++index[d] < in->dims[d]) break;                                              \
        index[d] = 0;                                                                     \
      }                                                                                   \
    }                                                                                     \
  }
FY_NUMERIC_TYPES(WHERE, _)
WHERE(FY_BOOL, b, _)
#define WHERE_ENTRY(E, S, _) [E] = {set_count_##S, set_list_##S},
static const where_loops set_table[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(WHERE_ENTRY, _)
                                                          WHERE_ENTRY(FY_BOOL, b, _)};

// Parts are counted, then each knows where its coordinates begin.
enum { WHERE_PARTS = 64, WHERE_LEAST = 1 << 12 };
typedef struct where_job {
  const where_loops *loops;
  const fy_tensor *in;
  int64_t parts, counts[WHERE_PARTS + 1];
  int64_t *out;
} where_job;
static void count_parts(void *arg, int64_t begin, int64_t end) {
  where_job *j = arg;
  for (int64_t k = begin; k < end; k++)
    j->counts[k + 1] =
        j->loops->count(j->in->data, j->in->count / j->parts * k,
                        k + 1 == j->parts ? j->in->count : j->in->count / j->parts * (k + 1));
}
static void list_parts(void *arg, int64_t begin, int64_t end) {
  const where_job *j = arg;
  const int64_t each = j->in->count / j->parts, rank = j->in->rank;
  for (int64_t k = begin; k < end; k++)
    j->loops->list(j->in, each * k, k + 1 == j->parts ? j->in->count : each * (k + 1),
                   j->out + j->counts[k] * rank, j->out + j->counts[k + 1] * rank);
}

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
  where_job j = {.loops = loops, .in = in, .parts = in->count / WHERE_LEAST};
  j.parts = j.parts < 1 ? 1 : j.parts > WHERE_PARTS ? WHERE_PARTS : j.parts;
  const double each = (double)in->count / (double)j.parts;
  fy_parallel(ctx, j.parts, 0.3 * each, count_parts, &j);
  for (int64_t k = 0; k < j.parts; k++) j.counts[k + 1] += j.counts[k];
  const int64_t n = j.counts[j.parts];
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, in->rank}, &out, err));
  j.out = out->data;
  if (n) fy_parallel(ctx, j.parts, 1.5 * each, list_parts, &j);
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

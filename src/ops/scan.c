// SPDX-License-Identifier: Apache-2.0
// scan.c: Cumsum and Cumprod along an axis: exclusive, reverse, or both.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/turn.h"
#include "ops/values.h"

typedef struct scan_job {
  const void *in;
  void *out;
  int64_t along, inner;  // the input is [outer, along, inner]
  bool exclusive, reverse;
} scan_job;

#define PLUS(S, x, y)       ((x) + (y))
#define TIMES(S, x, y)      ((x) * (y))
#define PLUS_INT(S, x, y)   ((fy_u_##S)(x) + (fy_u_##S)(y))
#define TIMES_INT(S, x, y)  ((fy_u_##S)(x) * (fy_u_##S)(y))
#define TIMES_CPLX(S, x, y) fy_cmul_##S(x, y)

// Items are the (outer, inner) lanes; each is walked with a running value that rounds at every
// step.
#define SCAN(E, S, name, COMBINE, FIRST)                                            \
  static void name##_##S(void *arg, int64_t begin, int64_t end) {                   \
    const scan_job *j = arg;                                                        \
    const fy_t_##S *in = j->in;                                                     \
    fy_t_##S *out = j->out;                                                         \
    for (int64_t lane = begin; lane < end; lane++) {                                \
      const int64_t base = lane / j->inner * j->along * j->inner + lane % j->inner; \
      fy_t_##S sum = FY_ST_##S(FIRST);                                              \
      for (int64_t k = 0; k < j->along; k++) {                                      \
        const int64_t at = base + (j->reverse ? j->along - 1 - k : k) * j->inner;   \
        const fy_a_##S x = FY_LD_##S(sum), y = FY_LD_##S(in[at]);                   \
        const fy_t_##S next = FY_ST_##S(COMBINE(S, x, y));                          \
        out[at] = j->exclusive ? sum : next;                                        \
        sum = next;                                                                 \
      }                                                                             \
    }                                                                               \
  }
FY_REAL_TYPES(SCAN, sum, PLUS, 0)
FY_COMPLEX_TYPES(SCAN, sum, PLUS, 0)
FY_INT_TYPES(SCAN, sum, PLUS_INT, 0)
FY_REAL_TYPES(SCAN, prod, TIMES, 1)
FY_COMPLEX_TYPES(SCAN, prod, TIMES_CPLX, 1)
FY_INT_TYPES(SCAN, prod, TIMES_INT, 1)

// Rows of floats beside each other: a sum waits for the one before it, those of other rows do not. From |in|
// on in the direction of |step|, |n| elements of |ROWS| rows that are |row| apart.
#define SUM_BESIDE(ROWS)                                                                      \
  static void sum_##ROWS(const float *in, float *out, int64_t row, int64_t n, int64_t step,   \
                         bool exclusive, float *sums) {                                       \
    float sum[ROWS], next[ROWS];                                                              \
    memcpy(sum, sums, sizeof sum);                                                            \
    for (int64_t k = 0; k < n; k++, in += step, out += step) {                                \
      FY_UNROLL for (int r = 0; r < (ROWS); r++) next[r] = sum[r] + in[r * row];              \
      FY_UNROLL for (int r = 0; r < (ROWS); r++) out[r * row] = exclusive ? sum[r] : next[r]; \
      FY_UNROLL for (int r = 0; r < (ROWS); r++) sum[r] = next[r];                            \
    }                                                                                         \
  }
SUM_BESIDE(8)
SUM_BESIDE(2)

// Eight columns of eight rows: turned, they are added as vectors. |in| and |out| are the first ones. Two rows more that
// follow (|ten|) come along in between: all of them wait for sums, but not for each other's.
typedef float floats8 __attribute__((vector_size(32)));
static inline __attribute__((always_inline)) void add_squares(const float *in, float *out,
                                                              int64_t row, int64_t squares,
                                                              bool reverse, bool exclusive,
                                                              bool ten, float *sums) {
  const int64_t step = reverse ? -8 : 8;
  floats8 sum, x[8];
  float a = 0, b = 0;
  memcpy(&sum, sums, sizeof sum);
  for (int64_t k = 0; k < squares; k++, in += step, out += step) {
    fy_turn_8(x, 8, in, row);
    if (ten) {
      FY_UNROLL for (int c = 0; c < 8; c++) {
        const int64_t at = 8 * row + (reverse ? 7 - c : c);
        const float next_a = a + in[at], next_b = b + in[at + row];
        out[at] = exclusive ? a : next_a;
        out[at + row] = exclusive ? b : next_b;
        a = next_a, b = next_b;
      }
    }
    FY_UNROLL for (int c = 0; c < 8; c++) {
      const int at = reverse ? 7 - c : c;
      const floats8 next = sum + x[at];
      x[at] = exclusive ? sum : next;
      sum = next;
    }
    fy_turn_8(out, row, x, 8);
  }
  memcpy(sums, &sum, sizeof sum);
  sums[8] = a, sums[9] = b;
}

FY_CLONES static void sum_squares(const float *in, float *out, int64_t row, int64_t squares,
                                  bool reverse, bool exclusive, bool ten, float *sums) {
  if (ten)  // the usual way, and its own code: what is asked within the loop costs as much as it gains
    add_squares(in, out, row, squares, false, false, true, sums);
  else
    add_squares(in, out, row, squares, reverse, exclusive, false, sums);
}

static void sum_rows(void *arg, int64_t begin, int64_t end) {
  const scan_job *j = arg;
  const int64_t n = j->along, squares = n / 8, step = j->reverse ? -1 : 1;
  const int64_t first = j->reverse ? n - 8 : 0, rest = j->reverse ? n % 8 - 1 : squares * 8;
  int64_t row = begin;
  for (bool ten = false; row + 8 <= end; row += ten ? 10 : 8) {
    float sums[10] = {0};
    const float *in = (const float *)j->in + row * n;
    float *out = (float *)j->out + row * n;
    ten = squares && !j->reverse && !j->exclusive && end - row >= 10 && end - row < 16;
    if (squares)
      sum_squares(in + first, out + first, n, squares, j->reverse, j->exclusive, ten, sums);
    sum_8(in + rest, out + rest, n, n % 8, step, j->exclusive, sums);
    if (ten) sum_2(in + rest + 8 * n, out + rest + 8 * n, n, n % 8, step, j->exclusive, sums + 8);
  }
  for (; row + 2 <= end; row += 2) {
    float sums[2] = {0};
    const int64_t at = row * n + (j->reverse ? n - 1 : 0);
    sum_2((const float *)j->in + at, (float *)j->out + at, n, n, step, j->exclusive, sums);
  }
  sum_f32(arg, row, end);
}

typedef void (*scan_fn)(void *arg, int64_t begin, int64_t end);
typedef struct scan_table {
  scan_fn fn[FY_DTYPE_COUNT];
} scan_table;
static const scan_table sums = {{FY_NUMERIC_TYPES(FY_LOOP_ENTRY, sum)}};
static const scan_table prods = {{FY_NUMERIC_TYPES(FY_LOOP_ENTRY, prod)}};

// The state is an address in |ways|, which says what the attributes are.
static const char ways[4];
static fy_code scan_prepare(fy_site *site, fy_error *err) {
  (void)err;
  const int way = fy_site_bool(site, "exclusive") + 2 * fy_site_bool(site, "reverse");
  site->state = (void *)(uintptr_t)&ways[way];
  return FY_OK;
}

static fy_code scan(fy_kernel_ctx *ctx, fy_error *err) {
  const ptrdiff_t way = (const char *)ctx->site->state - ways;
  const fy_tensor *in = ctx->in[0], *axis_in = ctx->in[1];
  const scan_fn fn = ((const scan_table *)ctx->site->op->impl->aux)->fn[in->dtype];
  char x[128];
  if (axis_in->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ScanOp: axis must be a scalar, not %s",
                   fy_tensor_shape_text(axis_in, x));
  }
  int64_t axis = fy_tensor_int(axis_in, 0);
  if (axis < -in->rank || axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "ScanOp: Expected scan axis in the range [%d, %d), but got %lld", -in->rank,
                   in->rank, (long long)(axis < 0 ? axis + in->rank : axis));
  }
  if (!fn) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  if (axis < 0) axis += in->rank;
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (out->count == 0) return FY_OK;
  scan_job job = {in->data,       out->data,
                  in->dims[axis], fy_product(in->dims + axis + 1, in->rank - 1 - (int32_t)axis),
                  way & 1,        way & 2};
  const bool rows = fn == sum_f32 && job.inner == 1;
  fy_parallel(ctx, in->count / job.along, 1.5 * (double)job.along, rows ? sum_rows : fn, &job);
  return FY_OK;
}

static const fy_sample samples[] = {
    {"f32[3]=1,2,3; i32[]=0", NULL, FY_OK, NULL},
    {"f32[2,2]=1,2,3,4; i32[]=0", "exclusive=true; reverse=true", FY_OK, NULL},
    {"i8[2]=127,1; i32[]=-1", NULL, FY_OK, NULL},
    {"f32[2]=1,2; i32[]=1", NULL, FY_INVALID_ARGUMENT,
     "ScanOp: Expected scan axis in the range [-1, 1), but got 1"},
};

FY_OP(Cumsum, .shape = fy_shape_unchanged, .prepare = scan_prepare, .compute = scan, .aux = &sums,
      .host_inputs = 1 << 1, FY_SAMPLES(samples));
FY_OP(Cumprod, .shape = fy_shape_unchanged, .prepare = scan_prepare, .compute = scan, .aux = &prods,
      .host_inputs = 1 << 1, FY_SAMPLES(samples));

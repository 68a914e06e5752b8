// SPDX-License-Identifier: Apache-2.0
// scan.c: Cumsum and Cumprod along an axis: exclusive, reverse, or both.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
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

// Rows of floats eight at a time: a sum waits for the one before it, those of other rows do not.
FY_CLONES static void sum_rows(void *arg, int64_t begin, int64_t end) {
  enum { ROWS = 8 };
  const scan_job *j = arg;
  const int64_t n = j->along, step = j->reverse ? -1 : 1;
  int64_t row = begin;
  for (; row + ROWS <= end; row += ROWS) {
    const int64_t first = row * n + (j->reverse ? n - 1 : 0);
    const float *in = (const float *)j->in + first;
    float *out = (float *)j->out + first, sum[ROWS] = {0}, next[ROWS];
    for (int64_t k = 0; k < n; k++, in += step, out += step) {
      FY_UNROLL for (int r = 0; r < ROWS; r++) next[r] = sum[r] + in[r * n];
      FY_UNROLL for (int r = 0; r < ROWS; r++) out[r * n] = j->exclusive ? sum[r] : next[r];
      FY_UNROLL for (int r = 0; r < ROWS; r++) sum[r] = next[r];
    }
  }
  sum_f32(arg, row, end);
}

typedef void (*scan_fn)(void *arg, int64_t begin, int64_t end);
typedef struct scan_table {
  scan_fn fn[FY_DTYPE_COUNT];
} scan_table;
static const scan_table sums = {{FY_NUMERIC_TYPES(FY_LOOP_ENTRY, sum)}};
static const scan_table prods = {{FY_NUMERIC_TYPES(FY_LOOP_ENTRY, prod)}};

static fy_code scan(fy_kernel_ctx *ctx, fy_error *err) {
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
  scan_job job = {in->data,
                  out->data,
                  in->dims[axis],
                  fy_product(in->dims + axis + 1, in->rank - 1 - (int32_t)axis),
                  fy_site_bool(ctx->site, "exclusive"),
                  fy_site_bool(ctx->site, "reverse")};
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

FY_OP(Cumsum, .shape = fy_shape_unchanged, .compute = scan, .aux = &sums, .host_inputs = 1 << 1,
      FY_SAMPLES(samples));
FY_OP(Cumprod, .shape = fy_shape_unchanged, .compute = scan, .aux = &prods, .host_inputs = 1 << 1,
      FY_SAMPLES(samples));

// SPDX-License-Identifier: Apache-2.0
// linalg_tridiagonal.c: TridiagonalSolve and TridiagonalMatMul. The diagonals are rows of n numbers:
// the last of the upper one and the first of the lower one are not used.

#include "ops/linalg.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define OVER_FEW(S, x, d)          OVER_FEW_(S, x, d)
#define OVER_FEW_(S, x, d)         OVER_FEW_##S(x, d)
#define OVER_FEW_f32(x, d)         ((x) / (d))
#define OVER_FEW_f64(x, d)         ((x) / (d))
#define OVER_FEW_c64(x, d)         fy_cdiv_c64(x, d)
#define OVER_FEW_c128(x, d)        fy_cdiv_c128(x, d)
#define OVER_ONE(S, x, d, out, k)  OVER_ONE_(S, x, d, out, k)
#define OVER_ONE_(S, x, d, out, k) OVER_ONE_##S(x, d, out, k)
#define OVER_ONE_f32(x, d, out, k)                   \
  for (int64_t i = 0; i < k; i++) out[i] = x[i] / d; \
  return true;
#define OVER_ONE_f64 OVER_ONE_f32
#define OVER_ONE_c64(x, d, out, k)                                                              \
  const double br = (double)crealf(d), bi = (double)cimagf(d), scale = 1 / (br * br + bi * bi); \
  const float *from = (const float *)x;                                                         \
  float *to = (float *)out;                                                                     \
  int64_t odd = 0;                                                                              \
  for (int64_t i = 0; i < k; i++) {                                                             \
    const double ar = (double)from[2 * i], ai = (double)from[2 * i + 1];                        \
    const double re = (ar * br + ai * bi) * scale, im = (ai * br - ar * bi) * scale;            \
    odd |= -(int64_t)((re - re != 0) | (im - im != 0));                                         \
    to[2 * i] = (float)re, to[2 * i + 1] = (float)im;                                           \
  }                                                                                             \
  return odd == 0;
#define OVER_ONE_c128(x, d, out, k)                                                          \
  const double br = creal(d), bi = cimag(d);                                                 \
  const bool wide = fabs(br) >= fabs(bi);                                                    \
  const double big = wide ? br : bi, ratio = wide ? bi / br : br / bi;                       \
  const double scale = 1 / (big + (wide ? bi : br) * ratio), one = wide ? 1 : ratio;         \
  const double other = wide ? ratio : 1;                                                     \
  const double *from = (const double *)x;                                                    \
  double *to = (double *)out;                                                                \
  int64_t odd = 0;                                                                           \
  for (int64_t i = 0; i < k; i++) {                                                          \
    const double ar = from[2 * i], ai = from[2 * i + 1];                                     \
    const double re = (ar * one + ai * other) * scale, im = (ai * one - ar * other) * scale; \
    odd |= -(int64_t)((re - re != 0) | (im - im != 0));                                      \
    to[2 * i] = re, to[2 * i + 1] = im;                                                      \
  }                                                                                          \
  return odd == 0;

#define S f32
#include "ops/linalg_tridiagonal.inc"
#undef S
#define S f64
#include "ops/linalg_tridiagonal.inc"
#undef S
#define S c64
#include "ops/linalg_tridiagonal.inc"
#undef S
#define S c128
#include "ops/linalg_tridiagonal.inc"
#undef S

static const fy_la_fn pivoting_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(solve_pivoting);
static const fy_la_fn plain_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(solve_plain);
static const fy_la_fn multiply_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(multiply);

static fy_code solve(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 2, err));
  const int64_t rows = ctx->in[1]->dims[ctx->in[1]->rank - 2];
  if (job.m != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected diagonals to be provided as a matrix with 3 rows, got %lld rows.",
                   (long long)job.m);
  }
  if (job.n != rows) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected the same number of left-hand sides and right-hand sides, got %lld and %lld.",
        (long long)job.n, (long long)rows);
  }
  if (fy_site_bool(ctx->site, "perturb_singular")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "perturb_singular is not supported on CPU");
  }
  job.work = 3 * job.n;
  job.flops = 10 * (double)job.n * (double)(job.k + 1);
  job.fn = (fy_site_bool(ctx->site, "partial_pivoting") ? pivoting_fns : plain_fns)[job.type];
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.k}, err));
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

static fy_code multiply(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"superdiagonal", "main diagonal", "subdiagonal"};
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 4, err));
  const fy_tensor *rhs = ctx->in[3];
  job.n = rhs->dims[rhs->rank - 2];
  job.k = rhs->dims[rhs->rank - 1];
  for (int i = 0; i < 3; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->dims[t->rank - 2] == 1 && t->dims[t->rank - 1] == job.n) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid %s shape.", names[i]);
  }
  job.flops = 6 * (double)job.n * (double)job.k;
  job.fn = multiply_fns[job.type];
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.k}, err));
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

static fy_code solve_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  int64_t n;
  fy_pshape batch;
  FY_TRY(fy_shape_rank_at_least(a, 2, err));
  FY_TRY(fy_shape_rank_at_least(b, 2, err));
  if (a.rank >= 0) FY_TRY(fy_dim_is(a.dims[a.rank - 2], 3, err));
  if (a.rank < 0) return fy_shape_set(ctx, 0, b.rank, b.dims, err);
  if (b.rank < 0) return FY_OK;
  FY_TRY(fy_shape_merge(ctx, (fy_pshape){a.rank - 2, a.dims}, (fy_pshape){b.rank - 2, b.dims},
                        &batch, err));
  FY_TRY(fy_dim_merge(a.dims[a.rank - 1], b.dims[b.rank - 2], &n, err));
  FY_TRY(fy_dim_is(a.dims[a.rank - 2], 3, err));
  int64_t dims[FY_MAX_RANK];
  memcpy(dims, batch.dims, (size_t)batch.rank * sizeof dims[0]);
  dims[batch.rank] = n;
  dims[batch.rank + 1] = b.dims[b.rank - 1];
  return fy_shape_set(ctx, 0, b.rank, dims, err);
}

static fy_code multiply_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s = ctx->in[0];
  for (int i = 0; i < 4; i++) FY_TRY(fy_shape_rank_at_least(ctx->in[i], 2, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_merge(ctx, s, ctx->in[i], &s, err));
  const fy_pshape b = ctx->in[3];
  if (s.rank >= 0) FY_TRY(fy_dim_is(s.dims[s.rank - 2], 1, err));
  if (s.rank >= 0 && b.rank >= 0) {
    fy_pshape batch;
    int64_t n;
    FY_TRY(fy_shape_merge(ctx, (fy_pshape){s.rank - 2, s.dims}, (fy_pshape){b.rank - 2, b.dims},
                          &batch, err));
    FY_TRY(fy_dim_merge(s.dims[s.rank - 1], b.dims[b.rank - 2], &n, err));
  }
  return b.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, b.rank, b.dims, err);
}

static const fy_sample solve_samples[] = {
    {"f32[3,2]=0,0,2,4,0,0; f32[2,1]=2,4", NULL, FY_OK, "1,1"},
    {"f32[3,2]=zeros; f32[2,1]=2,4", NULL, FY_OK, NULL},
};
static const fy_sample multiply_samples[] = {
    {"f32[1,2]=1,0; f32[1,2]=2,4; f32[1,2]=0,3; f32[2,1]=1,1", NULL, FY_OK, "3,7"},
};
FY_OP(TridiagonalSolve, .shape = solve_shape, .compute = solve, FY_SAMPLES(solve_samples));
FY_OP(TridiagonalMatMul, .shape = multiply_shape, .compute = multiply,
      FY_SAMPLES(multiply_samples));

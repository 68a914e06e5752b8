// SPDX-License-Identifier: Apache-2.0
// linalg_svd.c: Qr, Svd and MatrixSolveLs. The algorithms: linalg_svd.inc.

#include "base/alloc.h"
#include "ops/linalg.h"
#include "ops/linalg_ls.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define JACOBI_COLUMNS 16   // from here on by way of two diagonals
#define MOST_SWEEPS    500  // of Jacobi; a few are enough

static int64_t even(int64_t n) {  // where indices behind n numbers are aligned
  return (n + 1) / 2 * 2;
}

#define S f32
#include "ops/linalg_svd.inc"
#undef S
#define S f64
#include "ops/linalg_svd.inc"
#undef S
#define S c64
#include "ops/linalg_svd.inc"
#undef S
#define S c128
#include "ops/linalg_svd.inc"
#undef S

static const fy_la_fn qr_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(qr);
static const fy_la_fn svd_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(singular_values);
static const fy_la_fn least_squares_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(least_squares);

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}
// Elements that decompose() needs, and the singular values before them. |want|: 0 no vectors, 1 as
// many as there are values, 2 all.
static int64_t svd_work(int64_t m, int64_t n, int want) {
  const int64_t side = lesser(m, n), big = m < n ? n : m;
  const int64_t u = want == 0 ? 0 : want == 1 ? side : m, v = want == 0 ? 0 : want == 1 ? side : n;
  const int64_t tall = m < n ? v : u;
  return even(side) + u * m + v * n + side * side + big * side + big * (tall > side ? tall : side) +
         8 * big + (want ? fy_la_turns_work(big) + fy_la_turns_work(side) : 0);
}
// And by_qr().
static int64_t ls_work(int64_t m, int64_t n, int64_t k) {
  const int64_t side = lesser(m, n), big = m < n ? n : m;
  const int64_t direct = 5 * big + big * side + (big > k ? big : k) + big * k,
                other = svd_work(m, n, 1);
  return direct > other ? direct : other;
}
static double cube(int64_t m, int64_t n) {
  return (double)m * (double)n * (double)lesser(m, n);
}

// [n, n] ones on the diagonal, for every matrix of the batch.
static void put_identities(fy_tensor *t, int64_t n) {
  if (t->count == 0) return;
  const size_t size = fy_dtype_storage(t->dtype);
  memset(t->data, 0, fy_tensor_bytes(t));
  for (int64_t at = 0; at < t->count; at += (at + 1) % (n * n) ? n + 1 : 1) {
    char *p = (char *)t->data + (size_t)at * size;
    switch (t->dtype) {
      case FY_HALF: *(uint16_t *)(void *)p = 0x3C00; break;
      case FY_FLOAT:
      case FY_COMPLEX64: *(float *)(void *)p = 1; break;
      default: *(double *)(void *)p = 1; break;
    }
  }
}

static fy_code qr(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 1, err));
  job.full = fy_site_bool(ctx->site, "full_matrices");
  const int64_t m = job.m, n = job.n, wide = job.full ? m : lesser(m, n);
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){m, wide}, err));
  FY_TRY(fy_la_output(ctx, &job, 1, 2, (const int64_t[]){wide, n}, err));
  if (m * n == 0) {
    if (m == wide) put_identities(job.out[0], m);
    return FY_OK;
  }
  job.fn = qr_fns[job.type];
  job.work = m * n + lesser(m, n) + (m > n ? m : n);
  job.flops = 4 * cube(m, n);
  return fy_la_run(ctx, &job, err);
}

static fy_code svd(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 1, err));
  job.full = fy_site_bool(ctx->site, "full_matrices");
  job.vectors = fy_site_bool(ctx->site, "compute_uv");
  const int64_t m = job.m, n = job.n, side = lesser(m, n);
  FY_TRY(fy_la_output(ctx, &job, 0, 1, &side, err));
  if (job.vectors) {
    FY_TRY(fy_la_output(ctx, &job, 1, 2, (const int64_t[]){m, job.full ? m : side}, err));
    FY_TRY(fy_la_output(ctx, &job, 2, 2, (const int64_t[]){n, job.full ? n : side}, err));
  } else {
    FY_TRY(fy_la_no_vectors(ctx, 1, err));
    FY_TRY(fy_la_no_vectors(ctx, 2, err));
  }
  if (m * n == 0) {
    if (job.vectors && job.full) {
      put_identities(job.out[1], m);
      put_identities(job.out[2], n);
    }
    return FY_OK;
  }
  job.fn = svd_fns[job.type];
  job.work = svd_work(m, n, !job.vectors ? 0 : job.full ? 2 : 1);
  job.flops = 40 * cube(m, n);
  return fy_la_run(ctx, &job, err);
}

static fy_code solve_ls(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  char x[128];
  const fy_tensor *l2 = ctx->in[2];
  FY_TRY(fy_la_inputs(ctx, &job, 2, err));
  if (l2->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "l2_regularizer must be scalar, got shape %s",
                   fy_tensor_shape_text(l2, x));
  }
  job.l2 = *(const double *)l2->data;
  if (!(job.l2 >= 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "l2_regularizer must be >= 0.");
  }
  if (ctx->in[1]->dims[ctx->in[1]->rank - 2] != job.m) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input matrix and rhs are incompatible.");
  }
  const int64_t m = job.m, n = job.n, k = job.k, side = lesser(m, n);
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){n, k}, err));
  if (m == 0 || n == 0 || k == 0) {
    if (job.out[0]->count) memset(job.out[0]->data, 0, fy_tensor_bytes(job.out[0]));
    return FY_OK;
  }
  const bool fast = fy_site_bool(ctx->site, "fast");
  job.fn = (fast ? fy_la_least_squares_fast : least_squares_fns)[job.type];
  job.work = fast ? 2 * side * side + m * k : ls_work(m, n, k);
  job.flops = (fast ? 2 : 40) * cube(m, n) + 2 * (double)m * (double)n * (double)k;
  return fy_la_run(ctx, &job, err);
}

// ---------------------------------------------------------------- shapes
static int64_t smaller_dim(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a < 0 || b < 0 ? -1 : lesser(a, b);
}

static fy_code qr_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  if (in.rank < 0) return FY_OK;
  const int64_t m = in.dims[in.rank - 2], n = in.dims[in.rank - 1];
  const int64_t wide = fy_shape_attr_bool(ctx, "full_matrices") ? m : smaller_dim(m, n);
  FY_TRY(fy_la_shape_tail(ctx, 0, in, 2, (const int64_t[]){m, wide}, err));
  return fy_la_shape_tail(ctx, 1, in, 2, (const int64_t[]){wide, n}, err);
}

static fy_code svd_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const bool vectors = fy_shape_attr_bool(ctx, "compute_uv");
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  if (in.rank < 0) return FY_OK;
  const int64_t m = in.dims[in.rank - 2], n = in.dims[in.rank - 1], side = smaller_dim(m, n);
  const bool full = fy_shape_attr_bool(ctx, "full_matrices");
  FY_TRY(fy_la_shape_tail(ctx, 0, in, 1, &side, err));
  if (!vectors) return FY_OK;
  FY_TRY(fy_la_shape_tail(ctx, 1, in, 2, (const int64_t[]){m, full ? m : side}, err));
  return fy_la_shape_tail(ctx, 2, in, 2, (const int64_t[]){n, full ? n : side}, err);
}

static const fy_sample qr_samples[] = {
    {"f32[2,1]=3,4", NULL, FY_OK, "-0.6,-0.8"},
    {"c64[3,2]=normal", "full_matrices=true", FY_OK, NULL},
};
static const fy_sample svd_samples[] = {
    {"f32[2,2]=3,0,0,-4", NULL, FY_OK, "4,3"},
    {"f64[2,3,2]=normal", "full_matrices=true", FY_OK, NULL},
    {"f32[3]=normal", NULL, FY_INVALID_ARGUMENT, "must have rank >= 2, got 1"},
};
static const fy_sample solve_samples[] = {
    {"f32[2,1]=1,1; f32[2,1]=1,3; f64[]=0", NULL, FY_OK, "2"},
    {"f32[1,1]=2; f32[1,1]=4; f64[]=0", "fast=false", FY_OK, "2"},
    {"f32[2,1]=1,1; f32[2,1]=1,3; f64[]=0", "fast=false", FY_OK, NULL},
    {"f64[2,3]=normal; f64[2,2]=normal; f64[]=0", "fast=false", FY_OK, NULL},
};
FY_OP(Qr, .shape = qr_shape, .compute = qr, FY_SAMPLES(qr_samples));
FY_OP(Svd, .shape = svd_shape, .compute = svd, FY_SAMPLES(svd_samples));
FY_OP(BatchSvd, .shape = svd_shape, .compute = svd, FY_SAMPLES(svd_samples));
FY_OP(MatrixSolveLs, .shape = fy_la_solve_shape, .compute = solve_ls, .host_inputs = 4,
      FY_SAMPLES(solve_samples));
FY_OP(BatchMatrixSolveLs, .shape = fy_la_solve_shape, .compute = solve_ls, .host_inputs = 4,
      FY_SAMPLES(solve_samples));

// SPDX-License-Identifier: Apache-2.0
// linalg_eig.c: SelfAdjointEigV2, and SelfAdjointEig with values and vectors in one matrix.

#include "ops/linalg.h"
#include "ops/linalg_eig.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// Elements of working memory.
#define EIG_WORK(n) (2 * (n) * (n) + 8 * (n) + fy_la_turns_work(n))

#define S f32
#include "ops/linalg_eig.inc"
#undef S
#define S f64
#include "ops/linalg_eig.inc"
#undef S
#define S c64
#include "ops/linalg_eig.inc"
#undef S
#define S c128
#include "ops/linalg_eig.inc"
#undef S

static const fy_la_fn self_adjoint_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(self_adjoint);

fy_code fy_la_eig(fy_kernel_ctx *ctx, fy_la_job *job, fy_la_fn fn, int64_t work, fy_error *err) {
  const int64_t n = job->n;
  job->fn = fn;
  job->work = work;
  job->flops = 15 * (double)n * (double)n * (double)n;
  job->vectors = fy_site_bool(ctx->site, "compute_v");
  FY_TRY(fy_la_output(ctx, job, 0, 1, &n, err));
  if (job->vectors) {
    FY_TRY(fy_la_output(ctx, job, 1, 2, (const int64_t[]){n, n}, err));
  } else {
    FY_TRY(fy_la_no_vectors(ctx, 1, err));
  }
  return n ? fy_la_run(ctx, job, err) : FY_OK;
}

static fy_code values_and_vectors(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 1, err));
  FY_TRY(fy_la_square(&job, err));
  return fy_la_eig(ctx, &job, self_adjoint_fns[job.type], EIG_WORK(job.n), err);
}

// One matrix [n + 1, n]: the values are its first row.
static const char *together(const fy_la_job *job, const void *const *in, void *const *out,
                            void *work) {
  void *parts[2] = {out[0], (char *)out[0] + (size_t)job->n * fy_dtype_storage(job->compute)};
  return self_adjoint_fns[job->compute](job, in, parts, work);
}

static fy_code one_matrix(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {.vectors = true, .fn = together};
  FY_TRY(fy_la_inputs(ctx, &job, 1, err));
  FY_TRY(fy_la_square(&job, err));
  job.work = EIG_WORK(job.n);
  job.flops = 15 * (double)job.n * (double)job.n * (double)job.n;
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n + 1, job.n}, err));
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

fy_code fy_la_eig_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_la_shape_square(ctx, ctx->in[0], &s, err));
  const bool vectors = fy_shape_attr_bool(ctx, "compute_v");
  if (s.rank < 0) return FY_OK;
  FY_TRY(fy_la_shape_tail(ctx, 0, s, 1, s.dims + s.rank - 1, err));
  return vectors ? fy_shape_set(ctx, 1, s.rank, s.dims, err) : FY_OK;
}

static fy_code one_matrix_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_la_shape_square(ctx, ctx->in[0], &s, err));
  if (s.rank < 0) return FY_OK;
  const int64_t n = s.dims[s.rank - 1];
  return fy_la_shape_tail(ctx, 0, s, 2, (const int64_t[]){n < 0 ? -1 : n + 1, n}, err);
}

static const fy_sample samples[] = {
    {"f32[2,2]=2,0,0,1", NULL, FY_OK, "1,2"},
    {"c128[2,3,3]=normal", NULL, FY_OK, NULL},
    {"f32[2,3]=normal", NULL, FY_INVALID_ARGUMENT, "Input matrix must be square."},
};
static const fy_sample real_samples[] = {
    {"f32[2,2]=2,0,0,1", NULL, FY_OK, "1,2"},
    {"f32[2,3]=normal", NULL, FY_INVALID_ARGUMENT, "Input matrix must be square."},
};
static const fy_sample one_samples[] = {{"f64[1,1]=3", NULL, FY_OK, "3,1"}};
FY_OP(SelfAdjointEigV2, .shape = fy_la_eig_shape, .compute = values_and_vectors,
      FY_SAMPLES(samples));
FY_OP(BatchSelfAdjointEigV2, .shape = fy_la_eig_shape, .compute = values_and_vectors,
      FY_SAMPLES(real_samples));
FY_OP(SelfAdjointEig, .shape = one_matrix_shape, .compute = one_matrix, FY_SAMPLES(one_samples));
FY_OP(BatchSelfAdjointEig, .shape = one_matrix_shape, .compute = one_matrix,
      FY_SAMPLES(one_samples));

// SPDX-License-Identifier: Apache-2.0
// linalg_schur.c: Eig, MatrixSquareRoot, MatrixLogarithm: what needs the Schur form. Functions of
// real matrices are computed with complex numbers (fy_la_run makes them so on the way in); the
// eigenvalues of a real matrix are not, as their order and the phase of the vectors depend on it.

#include "ops/linalg.h"
#include "ops/linalg_eig.h"
#include "ops/shape_fns.h"

#define csqrt_c64  csqrtf
#define csqrt_c128 csqrt
#define clog_c64   clogf
#define clog_c128  clog
#define S          c64
#include "ops/linalg_schur.inc"
#undef S
#define S c128
#include "ops/linalg_schur.inc"
#undef S

typedef float _Complex la_z_f32;
typedef double _Complex la_z_f64;
#define S f32
#include "ops/linalg_real_eig.inc"
#undef S
#define S f64
#include "ops/linalg_real_eig.inc"
#undef S

static fy_code complex_inputs(fy_kernel_ctx *ctx, fy_la_job *job, fy_error *err) {
  FY_TRY(fy_la_inputs(ctx, job, 1, err));
  FY_TRY(fy_la_square(job, err));
  const bool single = job->type == FY_FLOAT || job->type == FY_COMPLEX64;
  job->compute = single ? FY_COMPLEX64 : FY_COMPLEX128;
  job->work = 5 * job->n * job->n + 4 * job->n;
  job->flops = 100 * (double)job->n * (double)job->n * (double)job->n;
  return FY_OK;
}

static fy_code eig(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(complex_inputs(ctx, &job, err));
  if (ctx->site->out_types[0] != job.compute) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Eig of %s gives %s, not %s", fy_dtype_name(job.type),
                   fy_dtype_name(job.compute), fy_dtype_name(ctx->site->out_types[0]));
  }
  const bool real = job.type == FY_FLOAT || job.type == FY_DOUBLE;
  fy_la_fn fn = job.type == FY_COMPLEX64 ? eigen_c64 : eigen_c128;
  if (real) {
    fn = job.type == FY_FLOAT ? real_eigen_f32 : real_eigen_f64;
    job.compute = job.type;
    job.plain_out[0] = job.plain_out[1] = true;
  }
  return fy_la_eig(ctx, &job, fn, job.work, err);
}

typedef struct functions {
  fy_la_fn single, twice;
} functions;
static const functions roots = {square_root_c64, square_root_c128},
                       logs = {logarithm_c64, logarithm_c128};

static fy_code function(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  const functions *f = ctx->site->op->impl->aux;
  FY_TRY(complex_inputs(ctx, &job, err));
  job.fn = job.compute == FY_COMPLEX64 ? f->single : f->twice;
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.n}, err));
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

static fy_code function_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_la_shape_square(ctx, ctx->in[0], &s, err));
  return s.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, s.rank, s.dims, err);
}

static const fy_sample eig_samples[] = {
    {"f32[2,2]=2,0,0,1", "Tout=complex64", FY_OK, "2,1"},
    {"c128[2,3,3]=normal", "Tout=complex128", FY_OK, NULL},
};
static const fy_sample root_samples[] = {{"f32[2,2]=4,0,0,9", NULL, FY_OK, "2,0,0,3"}};
static const fy_sample log_samples[] = {{"c64[2,2]=1,0,0,1", NULL, FY_OK, "0,0,0,0"}};
FY_OP(Eig, .shape = fy_la_eig_shape, .compute = eig, FY_SAMPLES(eig_samples));
FY_OP(MatrixSquareRoot, .shape = function_shape, .compute = function, .aux = &roots,
      FY_SAMPLES(root_samples));
FY_OP(MatrixLogarithm, .shape = function_shape, .compute = function, .aux = &logs,
      FY_SAMPLES(log_samples));

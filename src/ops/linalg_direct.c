// SPDX-License-Identifier: Apache-2.0
// linalg_direct.c: the ops that need triangular factors only: Cholesky and its gradient,
// MatrixInverse, MatrixExponential, MatrixDeterminant, LogMatrixDeterminant, Lu, MatrixSolve, MatrixTriangularSolve,
// BandedTriangularSolve, and the Batch* names that old graphs use. The algorithms: linalg_direct.inc.

#include "base/alloc.h"
#include "ops/broadcast.h"
#include "ops/linalg.h"
#include "ops/linalg_ls.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define S f32
#include "ops/linalg_direct.inc"
#undef S
#define S f64
#include "ops/linalg_direct.inc"
#undef S
#define S c64
#include "ops/linalg_direct.inc"
#undef S
#define S c128
#include "ops/linalg_direct.inc"
#undef S

static const fy_la_fn cholesky_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(cholesky);
static const fy_la_fn gradient_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(cholesky_gradient);
static const fy_la_fn exponential_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(exponential);
static const fy_la_fn invert_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(invert);
static const fy_la_fn determinant_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(determinant);
static const fy_la_fn log_determinant_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(log_determinant);
static const fy_la_fn lu_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(lu);
static const fy_la_fn solve_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(solve);
static const fy_la_fn triangular_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(triangular);
static const fy_la_fn banded_fns[FY_DTYPE_COUNT] = FY_LA_TABLE(banded);
const fy_la_fn fy_la_least_squares_fast[FY_DTYPE_COUNT] = FY_LA_TABLE(least_squares_fast);

// ---------------------------------------------------------------- one square matrix
// LU, then a permutation; two elements of any type hold an index.
static int64_t lu_work(int64_t n) {
  return n * n + 2 * n + 2;
}

static fy_code square_inputs(fy_kernel_ctx *ctx, fy_la_job *job, fy_error *err) {
  FY_TRY(fy_la_inputs(ctx, job, 1, err));
  FY_TRY(fy_la_square(job, err));
  job->work = lu_work(job->n);
  job->flops = (double)job->n * (double)job->n * (double)job->n;
  job->fn = ((const fy_la_fn *)ctx->site->op->impl->aux)[job->type];
  return FY_OK;
}

// Cholesky, MatrixInverse, MatrixExponential
static fy_code like_input(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(square_inputs(ctx, &job, err));
  if (ctx->site->op->impl->aux == exponential_fns) {
    job.work += 6 * job.n * job.n;
    job.flops *= 20;
  }
  job.adjoint = fy_site_attr(ctx->site, "adjoint") && fy_site_bool(ctx->site, "adjoint");
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.n}, err));
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

static fy_code determinants(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(square_inputs(ctx, &job, err));
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    FY_TRY(fy_la_output(ctx, &job, i, 0, NULL, err));
  }
  return fy_la_run(ctx, &job, err);
}

static fy_code factor(fy_kernel_ctx *ctx, fy_error *err) {  // Lu
  fy_la_job job = {0};
  const fy_tensor *in = ctx->in[0];
  if (in->rank < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor must have rank >= 2, got %d", in->rank);
  }
  FY_TRY(square_inputs(ctx, &job, err));
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.n}, err));
  FY_TRY(fy_la_output(ctx, &job, 1, 1, &job.n, err));
  job.plain_out[1] = true;
  job.index_type = ctx->site->out_types[1];
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 2, err));
  const fy_tensor *grad = ctx->in[1];
  if (!fy_shape_equal(2, grad->dims + grad->rank - 2, 2, (const int64_t[]){job.m, job.n})) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Inputs (L and grad) must have the same shape.");
  }
  if (job.m != job.n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Inputs must be a square matrices.");
  }
  job.work = 2 * job.n * job.n;
  job.flops = 3 * (double)job.n * (double)job.n * (double)job.n;
  job.fn = gradient_fns[job.type];
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.n}, err));
  return job.n ? fy_la_run(ctx, &job, err) : FY_OK;
}

static fy_code solve_square(fy_kernel_ctx *ctx, fy_error *err) {  // MatrixSolve
  fy_la_job job = {0};
  FY_TRY(fy_la_inputs(ctx, &job, 2, err));
  if (job.m != job.n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "First input (lhs) must be a square matrix.");
  }
  if (ctx->in[1]->dims[ctx->in[1]->rank - 2] != job.m) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input matrix and rhs are incompatible.");
  }
  job.adjoint = fy_site_bool(ctx->site, "adjoint");
  job.work = lu_work(job.n);
  job.flops = (double)job.n * (double)job.n * (double)(job.n + job.k);
  job.fn = solve_fns[job.type];
  FY_TRY(fy_la_output(ctx, &job, 0, 2, (const int64_t[]){job.n, job.k}, err));
  return job.n && job.k ? fy_la_run(ctx, &job, err) : FY_OK;
}

// ---------------------------------------------------------------- with batches that broadcast
static void put_indices(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  int64_t *const *index = arg;
  const int64_t *stride = index[2];
  for (int64_t i = 0; i < n; i++) {
    index[0][out_at + i] = at[0] + i * stride[0];
    index[1][out_at + i] = at[1] + i * stride[1];
  }
}

static fy_code solve_broadcast(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const bool banded = ctx->site->op->impl->aux == banded_fns;
  char x[128], y[128];
  fy_la_job job = {.type = a->dtype, .compute = a->dtype, .num_in = 2, .in = {a, b}};
  for (int i = 0; i < 2; i++) {
    if (ctx->in[i]->rank >= 2) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", i, ctx->in[i]->rank);
  }
  fy_bcast bc;
  const int32_t ranks[2] = {a->rank - 2, b->rank - 2};
  const int64_t *const dims[2] = {a->dims, b->dims};
  if (fy_bcast_init_dims(&bc, 2, ranks, dims, NULL)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  job.m = a->dims[a->rank - 2];
  job.n = a->dims[a->rank - 1];
  job.k = b->dims[b->rank - 1];
  job.lower = fy_site_bool(ctx->site, "lower");
  job.adjoint = fy_site_bool(ctx->site, "adjoint");
  if (!banded && job.m != job.n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "In[0] matrices in the last dimensions must be square (%lld =/= %lld)",
                   (long long)job.n, (long long)job.m);
  }
  if (banded && a->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "In[0] must not be an empty tensor: Tensor<type: %s shape: %s values: >",
                   fy_dtype_name(a->dtype), fy_tensor_shape_text(a, x));
  }
  if (b->dims[b->rank - 2] != job.n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d", (long long)job.n,
                   (long long)b->dims[b->rank - 2], fy_tensor_shape_text(a, x),
                   fy_tensor_shape_text(b, y), job.lower, job.adjoint);
  }
  int64_t all[FY_MAX_RANK];
  memcpy(all, bc.out_dims, (size_t)bc.out_rank * sizeof all[0]);
  all[bc.out_rank] = job.n;
  all[bc.out_rank + 1] = job.k;
  FY_TRY(fy_out(ctx, 0, bc.out_rank + 2, all, &job.out[0], err));
  if (job.out[0]->count == 0) return FY_OK;
  job.num_out = 1;
  job.batch = bc.count;
  job.in_count[0] = job.m * job.n;
  job.in_count[1] = job.out_count[0] = job.n * job.k;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)bc.count * 2 * sizeof(int64_t), &memory, err));
  int64_t *index[3] = {memory, (int64_t *)memory + bc.count, bc.inner_stride};
  fy_bcast_rows(&bc, 0, bc.count, put_indices, index);
  job.in_index[0] = index[0];
  job.in_index[1] = index[1];
  job.flops = (double)job.m * (double)job.n * (double)job.k;
  job.fn = ((const fy_la_fn *)ctx->site->op->impl->aux)[job.type];
  return fy_la_run(ctx, &job, err);
}

// ---------------------------------------------------------------- shapes
static fy_code square_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_la_shape_square(ctx, ctx->in[0], &s, err));
  return s.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, s.rank, s.dims, err);
}

static int64_t back(fy_pshape s, int32_t from_end) {
  return s.rank < 0 ? -1 : s.dims[s.rank - from_end];
}

static fy_code determinant_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape s = ctx->in[0];
  int64_t n;
  FY_TRY(fy_shape_rank_at_least(s, 2, err));
  FY_TRY(fy_dim_merge(back(s, 1), back(s, 2), &n, err));
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(fy_la_shape_tail(ctx, i, s, 0, NULL, err));
  return FY_OK;
}

static fy_code lu_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_la_shape_square(ctx, ctx->in[0], &s, err));
  if (s.rank < 0) return FY_OK;
  FY_TRY(fy_shape_set(ctx, 0, s.rank, s.dims, err));
  return fy_la_shape_tail(ctx, 1, s, 1, s.dims + s.rank - 1, err);
}

static fy_pshape batch_of(fy_pshape s) {
  return s.rank < 0 ? s : (fy_pshape){s.rank - 2, s.dims};
}

static fy_code solved_shape(fy_shape_ctx *ctx, fy_pshape batch, int64_t rows, int64_t cols,
                            fy_error *err) {
  if (batch.rank < 0) return FY_OK;
  int64_t dims[FY_MAX_RANK + 2];
  for (int32_t d = 0; d < batch.rank; d++) dims[d] = batch.dims[d];
  dims[batch.rank] = rows;
  dims[batch.rank + 1] = cols;
  return fy_shape_set(ctx, 0, batch.rank + 2, dims, err);
}

fy_code fy_la_solve_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool square = ctx->num_inputs == 2;  // MatrixSolveLs has a third
  fy_pshape a = ctx->in[0], b = ctx->in[1], batch;
  int64_t m, n;
  if (square) FY_TRY(fy_la_shape_square(ctx, a, &a, err));
  FY_TRY(fy_shape_rank_at_least(a, 2, err));
  FY_TRY(fy_shape_rank_at_least(b, 2, err));
  if (!square && ctx->in[2].rank > 0) FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  FY_TRY(fy_shape_merge(ctx, batch_of(a), batch_of(b), &batch, err));
  FY_TRY(fy_dim_merge(back(a, 2), back(b, 2), &m, err));
  n = back(a, 1);
  if (square) FY_TRY(fy_dim_merge(m, n, &n, err));
  return solved_shape(ctx, batch, n, back(b, 1), err);
}

static fy_code triangular_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape a = ctx->in[0], b = ctx->in[1], batch;
  int64_t m;
  FY_TRY(fy_shape_rank_at_least(a, 2, err));
  FY_TRY(fy_shape_rank_at_least(b, 2, err));
  if (a.rank >= 0) FY_TRY(fy_dim_merge(back(a, 2), back(a, 1), &m, err));
  if (a.rank < 0 || b.rank < 0) return FY_OK;
  FY_TRY(fy_shape_broadcast_two(ctx, batch_of(a), batch_of(b), &batch, err));
  FY_TRY(fy_dim_merge(m, back(b, 2), &m, err));
  return solved_shape(ctx, batch, m, back(b, 1), err);
}

static fy_code banded_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape a = ctx->in[0], b = ctx->in[1], batch;
  int64_t m;
  FY_TRY(fy_shape_rank_at_least(a, 2, err));
  FY_TRY(fy_shape_rank_at_least(b, 2, err));
  if (a.rank < 0) return FY_OK;
  FY_TRY(fy_dim_merge(back(a, 1), b.rank < 0 ? -1 : back(b, 2), &m, err));
  const int64_t bands = back(a, 2);
  if (m >= 0 && bands > m) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of bands %lld cannot exceed the size of the matrix %lld",
                   (long long)bands, (long long)m);
  }
  if (b.rank < 0) return FY_OK;
  FY_TRY(fy_shape_broadcast_two(ctx, batch_of(a), batch_of(b), &batch, err));
  return solved_shape(ctx, batch, m, back(b, 1), err);
}

// ---------------------------------------------------------------- ops
static const fy_sample cholesky_samples[] = {
    {"f32[2,2]=4,2,2,5", NULL, FY_OK, "2,0,1,2"},
    {"f64[2,3]=normal", NULL, FY_INVALID_ARGUMENT, "Input matrix must be square."},
};
static const fy_sample inverse_samples[] = {
    {"f32[2,2]=2,0,0,4", NULL, FY_OK, "0.5,0,0,0.25"},
    {"f64[2,2]=1,2,2,4", NULL, FY_INVALID_ARGUMENT, "Input is not invertible."},
};
static const fy_sample exponential_samples[] = {
    {"f64[2,2]=0,0,0,0", NULL, FY_OK, "1,0,0,1"},
    {"c64[2,3]=normal", NULL, FY_INVALID_ARGUMENT, "Input matrix must be square."},
};
static const fy_sample determinant_samples[] = {{"f32[2,2]=2,1,0,4", NULL, FY_OK, "8"},
                                                {"f32[0,0]=", NULL, FY_OK, "1"}};
static const fy_sample log_determinant_samples[] = {{"f32[2,2]=0,1,1,0", NULL, FY_OK, "-1"}};
static const fy_sample lu_samples[] = {{"f32[2,2]=1,2,2,2", NULL, FY_OK, "2,2,0.5,1"}};
static const fy_sample solve_samples[] = {{"f32[2,2]=2,0,0,4; f32[2,1]=2,4", NULL, FY_OK, "1,1"}};
static const fy_sample gradient_samples[] = {
    {"f32[1,1]=2; f32[1,1]=4", NULL, FY_OK, "1"},
};
static const fy_sample banded_samples[] = {
    {"f32[1,2]=2,4; f32[2,1]=2,4", NULL, FY_OK, "1,1"},
};

#define LINALG_OP(Name, shape_, compute_, fns, array) \
  FY_OP(Name, .shape = (shape_), .compute = (compute_), .aux = (fns), FY_SAMPLES(array))
LINALG_OP(Cholesky, square_shape, like_input, cholesky_fns, cholesky_samples);
LINALG_OP(BatchCholesky, square_shape, like_input, cholesky_fns, cholesky_samples);
LINALG_OP(CholeskyGrad, square_shape, gradient, gradient_fns, gradient_samples);
LINALG_OP(BatchCholeskyGrad, square_shape, gradient, gradient_fns, gradient_samples);
LINALG_OP(MatrixInverse, square_shape, like_input, invert_fns, inverse_samples);
LINALG_OP(BatchMatrixInverse, square_shape, like_input, invert_fns, inverse_samples);
LINALG_OP(MatrixExponential, square_shape, like_input, exponential_fns, exponential_samples);
LINALG_OP(MatrixDeterminant, determinant_shape, determinants, determinant_fns, determinant_samples);
LINALG_OP(BatchMatrixDeterminant, determinant_shape, determinants, determinant_fns,
          determinant_samples);
LINALG_OP(LogMatrixDeterminant, determinant_shape, determinants, log_determinant_fns,
          log_determinant_samples);
LINALG_OP(Lu, lu_shape, factor, lu_fns, lu_samples);
LINALG_OP(MatrixSolve, fy_la_solve_shape, solve_square, solve_fns, solve_samples);
LINALG_OP(BatchMatrixSolve, fy_la_solve_shape, solve_square, solve_fns, solve_samples);
LINALG_OP(MatrixTriangularSolve, triangular_shape, solve_broadcast, triangular_fns, solve_samples);
LINALG_OP(BatchMatrixTriangularSolve, triangular_shape, solve_broadcast, triangular_fns,
          solve_samples);
LINALG_OP(BandedTriangularSolve, banded_shape, solve_broadcast, banded_fns, banded_samples);

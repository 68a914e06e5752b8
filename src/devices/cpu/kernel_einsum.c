// SPDX-License-Identifier: Apache-2.0
// kernel_einsum.c: Einsum of floats and doubles whose labels lie at regular steps in memory, which is
// nearly all there are: each product of matrices by the kernel of gemm.h, without a copy of the first
// input or of the result.

#include <math.h>

#include "devices/cpu/gemm.h"
#include "devices/cpu/kernels.h"
#include "ops/einsum.h"

// The distance between neighbours where it is the same for all.
static bool steps(const int64_t *at, int64_t n, int64_t *step) {
  *step = n > 1 ? at[1] - at[0] : 0;
  for (int64_t i = 1; i < n; i++)
    if (at[i] - at[i - 1] != *step) return false;
  return true;
}

typedef struct einsum_run {
  const fy_einsum_job *j;
  fy_gemm_type type;
  size_t size, packed_bytes;
  int64_t row, k_a, k_b, column, ldc;
  fy_kernel_ctx *inner;  // threads inside of a product, or NULL
  fy_slices packs;
} einsum_run;

static void products(void *arg, int64_t begin, int64_t end) {
  einsum_run *r = arg;
  const fy_einsum_job *j = r->j;
  void *packed = fy_slice_take(&r->packs);
  for (int64_t m = begin; m < end; m++) {
    const char *b = (const char *)j->b + (size_t)j->b_batch[m] * r->size;
    if (m == begin || j->b_batch[m] != j->b_batch[m - 1])
      fy_gemm_pack(r->inner, r->type, b, j->inner, j->cols, r->k_b, r->column, NULL, packed);
    const fy_gemm_job g = {.type = r->type,
                           .m = j->rows,
                           .n = j->cols,
                           .depth = j->inner,
                           .taps = 1,
                           .a = (const char *)j->a + (size_t)j->a_batch[m] * r->size,
                           .row_step = r->row,
                           .k_step = r->k_a,
                           .b = packed,
                           .c = (char *)j->out + (size_t)j->o_batch[m] * r->size,
                           .ldc = r->ldc,
                           .lo = -INFINITY,
                           .hi = INFINITY};
    fy_gemm_run(r->inner, &g);
  }
  fy_slice_give(&r->packs, packed);
}

static bool is_product(const fy_kernel_ctx *ctx) {
  return ctx->site->num_inputs == 2 && ctx->in[0]->dtype == ctx->in[1]->dtype;
}

static fy_code einsum(fy_kernel_ctx *ctx, fy_error *err) {
  if (!is_product(ctx)) return ctx->site->op->impl->compute(ctx, err);
  fy_einsum_job j;
  int64_t out_column;
  FY_TRY(fy_einsum_begin(ctx, &j, err));
  if (!j.batch || !j.inner) return FY_OK;
  einsum_run r = {.j = &j, .type = ctx->in[0]->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32};
  r.size = fy_gemm_size(r.type);
  if (!steps(j.a_rows, j.rows, &r.row) || !steps(j.a_inner, j.inner, &r.k_a) ||
      !steps(j.b_inner, j.inner, &r.k_b) || !steps(j.b_cols, j.cols, &r.column) ||
      !steps(j.o_rows, j.rows, &r.ldc) || !steps(j.o_cols, j.cols, &out_column) ||
      (j.cols > 1 && out_column != 1) || j.a_rows[0] || j.a_inner[0] || j.b_inner[0] ||
      j.b_cols[0] || j.o_rows[0] || j.o_cols[0] ||
      !fy_gemm_packed_bytes(r.type, j.inner, j.cols, 1, &r.packed_bytes))
    return fy_einsum_multiply(ctx, &j, err);
  const bool apart = j.batch >= ctx->threads && j.batch > 1;
  FY_TRY(fy_slices_make(ctx, apart ? j.batch : 1, r.packed_bytes, &r.packs, err));
  if (apart) {
    fy_parallel(ctx, j.batch, 0.025 * (double)j.rows * (double)j.cols * (double)j.inner, products,
                &r);
  } else {
    r.inner = ctx;
    products(&r, 0, j.batch);
  }
  return FY_OK;
}

// As einsum() goes about it.
static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  fy_einsum_job j;
  size_t bytes;
  bool regular;
  if (!is_product(ctx)) {
    ctx->site->op->impl->needs(ctx, out);
    return;
  }
  if (!fy_einsum_needs(ctx, &j, &regular, out) || !j.inner) return;
  const fy_gemm_type type = ctx->in[0]->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  if (!regular || !fy_gemm_packed_bytes(type, j.inner, j.cols, 1, &bytes)) {
    fy_einsum_multiply_needs(ctx, &j, out);
    return;
  }
  out->scratch += fy_slices_needs(ctx, j.batch >= ctx->threads ? j.batch : 1, bytes);
}

extern const fy_fast_kernel fy_fast_einsum;
const fy_fast_kernel fy_fast_einsum = {.op = "Einsum",
                                       .name = "gemm",
                                       .dtypes = FY_T(FY_FLOAT) | FY_T(FY_DOUBLE),
                                       .compute = einsum,
                                       .needs = needs};

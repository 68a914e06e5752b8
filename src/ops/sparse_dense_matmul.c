// SPDX-License-Identifier: Apache-2.0
// sparse_dense_matmul.c: SparseTensorDenseMatMul: a sparse matrix, or its adjoint, times a dense one.

#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"
#include "ops/typed.h"

typedef struct product {
  const fy_tensor *indices, *values, *b;
  void *sums;  // [m, n] in the arithmetic type
  int64_t m, k, n;
  bool adjoint_a, adjoint_b;
} product;

#define NO_CONJ(S, x)         (x)
#define CONJ(S, x)            FY_MATH_##S(onj)(x)
#define MADD_REAL(S, s, x, y) ((s) + (x) * (y))
#define MADD_INT(S, s, x, y)  (fy_a_##S)((fy_u_##S)(s) + (fy_u_##S)(x) * (fy_u_##S)(y))
#define MADD_CPLX(S, s, x, y) ((s) + fy_cmul_##S(x, y))
#define SPARSE_MATMUL(E, S, MADD, CJ)                                                         \
  static void sparse_matmul_##S(const product *p, fy_tensor *out) {                           \
    fy_a_##S *sums = p->sums;                                                                 \
    const fy_t_##S *values = p->values->data, *b = p->b->data;                                \
    for (int64_t i = 0; i < p->values->count; i++) {                                          \
      const int64_t r = fy_tensor_int(p->indices, 2 * i + (p->adjoint_a ? 1 : 0));            \
      const int64_t k = fy_tensor_int(p->indices, 2 * i + (p->adjoint_a ? 0 : 1));            \
      fy_a_##S a = FY_LD_##S(values[i]);                                                      \
      if (p->adjoint_a) a = CJ(S, a);                                                         \
      for (int64_t c = 0; c < p->n; c++) {                                                    \
        fy_a_##S y = FY_LD_##S(b[p->adjoint_b ? c * p->k + k : k * p->n + c]);                \
        if (p->adjoint_b) y = CJ(S, y);                                                       \
        const fy_a_##S s = sums[r * p->n + c];                                                \
        sums[r * p->n + c] = MADD(S, s, a, y);                                                \
      }                                                                                       \
    }                                                                                         \
    for (int64_t i = 0; i < out->count; i++) ((fy_t_##S *)out->data)[i] = FY_ST_##S(sums[i]); \
  }
FY_REAL_TYPES(SPARSE_MATMUL, MADD_REAL, NO_CONJ)
FY_COMPLEX_TYPES(SPARSE_MATMUL, MADD_CPLX, CONJ)
SPARSE_MATMUL(FY_INT32, i32, MADD_INT, NO_CONJ)
typedef void (*product_fn)(const product *p, fy_tensor *out);
static const product_fn products[FY_DTYPE_COUNT] = {
    FY_REAL_TYPES(FY_LOOP_ENTRY, sparse_matmul) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, sparse_matmul)
        FY_LOOP_ENTRY(FY_INT32, i32, sparse_matmul)};

static fy_code sparse_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2], *b = ctx->in[3];
  product p = {.indices = indices,
               .values = values,
               .b = b,
               .adjoint_a = fy_site_bool(ctx->site, "adjoint_a"),
               .adjoint_b = fy_site_bool(ctx->site, "adjoint_b")};
  char x[128];
  fy_tensor *out;
  if (b->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'b' is not a matrix");
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_shape' is not a vector");
  }
  if (shape->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_shape' must have 2 elements");
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_values' is not a vector");
  }
  if (indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor 'a_indices' is not a matrix");
  }
  if (indices->dims[0] != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of rows of a_indices does not match number of entries in a_values");
  }
  if (indices->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of columns of a_indices does not match number of entries in a_shape");
  }
  p.m = fy_at64(shape, p.adjoint_a ? 1 : 0);
  p.k = fy_at64(shape, p.adjoint_a ? 0 : 1);
  p.n = b->dims[p.adjoint_b ? 0 : 1];
  const int64_t inner = b->dims[p.adjoint_b ? 1 : 0];
  if (inner != p.k) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Cannot multiply A and B because inner dimension does not match: %lld vs. %lld.  "
        "Did you forget a transpose?  Dimensions of A: [%lld, %lld).  Dimensions of B: "
        "%s",
        (long long)p.k, (long long)inner, (long long)p.m, (long long)p.k,
        fy_tensor_shape_text(b, x));
  }
  if (p.m < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)p.m);
  }
  if (!products[b->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(b->dtype));
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){p.m, p.n}, &out, err));
  for (int64_t i = 0; i < values->count; i++) {
    const int64_t r = fy_tensor_int(indices, 2 * i + (p.adjoint_a ? 1 : 0));
    const int64_t k = fy_tensor_int(indices, 2 * i + (p.adjoint_a ? 0 : 1));
    if ((uint64_t)k >= (uint64_t)p.k) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "k (%lld) from index[%lld,%d] out of bounds (>=%lld)", (long long)k,
                     (long long)i, p.adjoint_a ? 0 : 1, (long long)p.k);
    }
    if ((uint64_t)r >= (uint64_t)p.m) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "m (%lld) from index[%lld,%d] out of bounds (>=%lld)", (long long)r,
                     (long long)i, p.adjoint_a ? 1 : 0, (long long)p.m);
    }
  }
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)out->count * 16, &p.sums, err));
  memset(p.sums, 0, (size_t)out->count * 16);
  products[b->dtype](&p, out);
  return FY_OK;
}

static fy_code sparse_matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool ta = fy_shape_attr_bool(ctx, "adjoint_a"), tb = fy_shape_attr_bool(ctx, "adjoint_b");
  fy_pshape a;
  int64_t inner;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_from_input(ctx, 2, &a, err));
  FY_TRY(fy_shape_rank_is(a, 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 2, err));
  FY_TRY(fy_dim_merge(fy_dim_of(a, ta ? 0 : 1), fy_dim_of(ctx->in[3], tb ? 1 : 0), &inner, err));
  const int64_t dims[2] = {fy_dim_of(a, ta ? 1 : 0), fy_dim_of(ctx->in[3], tb ? 0 : 1)};
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static const fy_sample matmul_samples[] = {
    {"i64[2,2]=0,1,1,0; f32[2]=2,3; i64[2]=2,2; f32[2,1]=5,7", NULL, FY_OK, "14,15"},
    {"i64[1,2]=0,2; f32[1]=2; i64[2]=2,2; f32[2,1]=5,7", NULL, FY_INVALID_ARGUMENT,
     "k (2) from index[0,1] out of bounds (>=2)"},
};
FY_OP(SparseTensorDenseMatMul, .shape = sparse_matmul_shape, .compute = sparse_matmul,
      .host_inputs = 1 << 2, FY_SAMPLES(matmul_samples));

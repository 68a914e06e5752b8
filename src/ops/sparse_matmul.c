// SPDX-License-Identifier: Apache-2.0
// sparse_matmul.c: SparseMatMul: a product of matrices of float or bfloat16, with a float result,
// where zeros of the operand that is said to be sparse are skipped.

#include <string.h>

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

static float at(const fy_tensor *t, int64_t i) {
  return t->dtype == FY_FLOAT ? ((const float *)t->data)[i]
                              : fy_bfloat16_to_float(((const uint16_t *)t->data)[i]);
}

typedef struct rows_job {
  const fy_tensor *a;
  const float *b;  // [k, n]
  int64_t k, n, a_row, a_col;
  bool skip_a, skip_b;
  float *out;
} rows_job;

typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
typedef float in_registers __attribute__((vector_size(32)));
typedef int32_t masks __attribute__((vector_size(32)));
// If |skip|, 0 times what is not finite counts for nothing.
FY_CLONES static void add_row(float x, const float *y, float *out, int64_t n, bool skip) {
  int64_t c = 0;
  for (; c + 8 <= n; c += 8) {
    const lanes v = *(const lanes *)(y + c);
    lanes product = x * v;
    if (skip) product = (lanes)((masks)product & (masks)(v != 0));
    *(lanes *)(out + c) += product;
  }
  for (; c < n; c++) out[c] += skip && y[c] == 0 ? 0 : x * y[c];
}

// |k| numbers of a row times as many rows of WIDE columns, whose sums stay in registers.
enum { VECTORS = 8, WIDE = 8 * VECTORS, PART = 256 };
static inline __attribute__((always_inline)) void add_wide_of(const float *x, int64_t k,
                                                              const float *y, int64_t n, float *out,
                                                              bool skip_x, const bool skip_y) {
  in_registers sum[VECTORS];
  FY_UNROLL for (int v = 0; v < VECTORS; v++) memcpy(&sum[v], out + 8 * v, sizeof sum[v]);
  for (int64_t p = 0; p < k; p++, y += n) {
    if (skip_x && x[p] == 0) continue;
    FY_UNROLL for (int v = 0; v < VECTORS; v++) {
      in_registers b, product;
      memcpy(&b, y + 8 * v, sizeof b);
      product = x[p] * b;
      if (skip_y) product = (in_registers)((masks)product & (masks)(b != 0));
      sum[v] += product;
    }
  }
  FY_UNROLL for (int v = 0; v < VECTORS; v++) memcpy(out + 8 * v, &sum[v], sizeof sum[v]);
}

FY_CLONES static void add_wide(const float *x, int64_t k, const float *y, int64_t n, float *out,
                               bool skip_x, bool skip_y) {
  if (skip_y)
    add_wide_of(x, k, y, n, out, skip_x, true);
  else
    add_wide_of(x, k, y, n, out, skip_x, false);
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const rows_job *j = arg;
  float x[PART];
  for (int64_t r = begin; r < end; r++) {
    float *out = j->out + r * j->n;
    memset(out, 0, (size_t)j->n * sizeof *out);
    for (int64_t from = 0; from < j->k; from += PART) {
      const int64_t k = j->k - from < PART ? j->k - from : PART;
      const float *b = j->b + from * j->n;
      int64_t c = 0;
      for (int64_t p = 0; p < k; p++) x[p] = at(j->a, r * j->a_row + (from + p) * j->a_col);
      for (; c + WIDE <= j->n; c += WIDE)
        add_wide(x, k, b + c, j->n, out + c, j->skip_a, j->skip_b);
      for (int64_t p = 0; p < k && c < j->n; p++)
        if (!j->skip_a || x[p] != 0) add_row(x[p], b + p * j->n + c, out + c, j->n - c, j->skip_b);
    }
  }
}

// |b| as floats, row by row.
static fy_code spread(fy_kernel_ctx *ctx, const fy_tensor *b, bool turned, int64_t k, int64_t n,
                      const float **out, fy_error *err) {
  void *memory;
  *out = b->data;
  if (b->dtype == FY_FLOAT && !turned) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)(k * n) * sizeof(float), &memory, err));
  float *to = memory;
  for (int64_t p = 0; p < k; p++)
    for (int64_t c = 0; c < n; c++) to[p * n + c] = at(b, turned ? c * k + p : p * n + c);
  *out = to;
  return FY_OK;
}

static fy_code sparse_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  fy_tensor *out;
  char x[128], y[128];
  if (a->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "a is not a matrix");
  if (b->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "b is not a matrix");
  const bool ta = fy_site_bool(ctx->site, "transpose_a"),
             tb = fy_site_bool(ctx->site, "transpose_b");
  const int64_t m = a->dims[ta ? 1 : 0], k = a->dims[ta ? 0 : 1], n = b->dims[tb ? 0 : 1];
  if (k != b->dims[tb ? 1 : 0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Matrix size incompatible: a: %s, b: %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){m, n}, &out, err));
  if (out->count == 0) return FY_OK;
  rows_job job = {.a = a,
                  .k = k,
                  .n = n,
                  .a_row = ta ? 1 : k,
                  .a_col = ta ? m : 1,
                  .skip_a = fy_site_bool(ctx->site, "a_is_sparse"),
                  .skip_b = fy_site_bool(ctx->site, "b_is_sparse"),
                  .out = out->data};
  FY_TRY(spread(ctx, b, tb, k, n, &job.b, err));
  fy_parallel(ctx, m, (double)k * (double)n, rows, &job);
  return FY_OK;
}

static fy_code matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  const bool ta = fy_shape_attr_bool(ctx, "transpose_a"),
             tb = fy_shape_attr_bool(ctx, "transpose_b");
  int64_t k;
  FY_TRY(fy_shape_rank_is(a, 2, err));
  FY_TRY(fy_shape_rank_is(b, 2, err));
  FY_TRY(fy_dim_merge(fy_dim_of(a, ta ? 0 : 1), fy_dim_of(b, tb ? 1 : 0), &k, err));
  return fy_shape_set(ctx, 0, 2,
                      (const int64_t[]){fy_dim_of(a, ta ? 1 : 0), fy_dim_of(b, tb ? 0 : 1)}, err);
}

static const fy_sample samples[] = {
    {"f32[1,2]=1,2; f32[2,1]=3,4", NULL, FY_OK, "11"},
    {"bf16[2,1]=1,2; f32[2,1]=3,4", "transpose_a=true; a_is_sparse=true", FY_OK, "11"},
};
FY_OP(SparseMatMul, .shape = matmul_shape, .compute = sparse_matmul, FY_SAMPLES(samples));

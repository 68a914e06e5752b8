// SPDX-License-Identifier: Apache-2.0
// matmul.c: MatMul, BatchMatMul, BatchMatMulV2: the reference product of matrices.
//
// Operands that are transposed are copied into the plain layout first (and 16-bit floats widened to
// float, so that they accumulate in float); then one loop per type does C += A B in blocks that
// stay in the caches, four rows of A at a time, the innermost loop running along rows of B and C.
// Not here: the fast products of devices/cpu.

#include "base/alloc.h"
#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define BLOCK_K 128
#define BLOCK_N 512
#define COLUMNS 256  // for a thread, where there are few rows

// a [m, k], b [k, n], c [m, n], all of the arithmetic type; rows of b and c are |step| apart.
typedef void (*gemm_fn)(const void *a, const void *b, void *c, int64_t m, int64_t k, int64_t n,
                        int64_t step);
typedef void (*pack_fn)(const void *in, void *out, int64_t rows, int64_t cols, bool transpose,
                        bool conjugate);

#define MADD_REAL(S, acc, x, y) ((acc) + (x) * (y))
#define MADD_INT(S, acc, x, y)  ((fy_u_##S)(acc) + (fy_u_##S)(x) * (fy_u_##S)(y))

#define GEMM(E, S, MADD)                                                                          \
  static void gemm_##S(const void *pa, const void *pb, void *pc, int64_t m, int64_t k, int64_t n, \
                       int64_t step) {                                                            \
    const fy_a_##S *a = pa, *b = pb;                                                              \
    fy_a_##S *c = pc;                                                                             \
    for (int64_t i = 0; i < m; i++) memset(c + i * step, 0, (size_t)n * sizeof *c);               \
    for (int64_t k0 = 0; k0 < k; k0 += BLOCK_K) {                                                 \
      const int64_t k1 = k0 + BLOCK_K < k ? k0 + BLOCK_K : k;                                     \
      for (int64_t n0 = 0; n0 < n; n0 += BLOCK_N) {                                               \
        const int64_t w = n - n0 < BLOCK_N ? n - n0 : BLOCK_N;                                    \
        int64_t i = 0;                                                                            \
        for (; i + 4 <= m; i += 4) {                                                              \
          fy_a_##S *restrict c0 = c + i * step + n0, *restrict c1 = c0 + step;                    \
          fy_a_##S *restrict c2 = c1 + step, *restrict c3 = c2 + step;                            \
          for (int64_t p = k0; p < k1; p++) {                                                     \
            const fy_a_##S *restrict row = b + p * step + n0;                                     \
            const fy_a_##S x0 = a[i * k + p], x1 = a[(i + 1) * k + p];                            \
            const fy_a_##S x2 = a[(i + 2) * k + p], x3 = a[(i + 3) * k + p];                      \
            for (int64_t j = 0; j < w; j++) {                                                     \
              const fy_a_##S y = row[j];                                                          \
              c0[j] = (fy_a_##S)MADD(S, c0[j], x0, y);                                            \
              c1[j] = (fy_a_##S)MADD(S, c1[j], x1, y);                                            \
              c2[j] = (fy_a_##S)MADD(S, c2[j], x2, y);                                            \
              c3[j] = (fy_a_##S)MADD(S, c3[j], x3, y);                                            \
            }                                                                                     \
          }                                                                                       \
        }                                                                                         \
        for (; i < m; i++) {                                                                      \
          fy_a_##S *restrict c0 = c + i * step + n0;                                              \
          for (int64_t p = k0; p < k1; p++) {                                                     \
            const fy_a_##S *restrict row = b + p * step + n0;                                     \
            const fy_a_##S x0 = a[i * k + p];                                                     \
            for (int64_t j = 0; j < w; j++) c0[j] = (fy_a_##S)MADD(S, c0[j], x0, row[j]);         \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }
FY_FULL_REAL_TYPES(GEMM, MADD_REAL)
#define SHORT_INTS(X, ...)      \
  X(FY_INT8, i8, __VA_ARGS__)   \
  X(FY_INT16, i16, __VA_ARGS__) \
  X(FY_UINT8, u8, __VA_ARGS__) X(FY_UINT16, u16, __VA_ARGS__) X(FY_UINT32, u32, __VA_ARGS__)
SHORT_INTS(GEMM, MADD_INT)
GEMM(FY_UINT64, u64, MADD_INT)
// Those of the machine's lanes.
#define LANES_GEMM(E, S, _)                                                                    \
  static void gemm_##S(const void *a, const void *b, void *c, int64_t m, int64_t k, int64_t n, \
                       int64_t step) {                                                         \
    fy_lanes_best()->gemm_##S(a, k, b, c, m, k, n, step);                                      \
  }
FY_INDEX_TYPES(LANES_GEMM, _)
FY_COMPLEX_TYPES(LANES_GEMM, _)

// out [rows, cols] in the arithmetic type; in is [cols, rows] when |transpose|.
#define NO_CONJ(S, x) (x)
#define CONJ(S, x)    FY_MATH_##S(onj)(x)
#define PACK(E, S, CONJUGATE)                                                                \
  static void pack_##S(const void *pi, void *po, int64_t rows, int64_t cols, bool transpose, \
                       bool conjugate) {                                                     \
    const fy_t_##S *in = pi;                                                                 \
    fy_a_##S *out = po;                                                                      \
    const int64_t step_r = transpose ? 1 : cols, step_c = transpose ? rows : 1;              \
    for (int64_t r0 = 0; r0 < rows; r0 += 32) {                                              \
      for (int64_t c0 = 0; c0 < cols; c0 += 32) {                                            \
        for (int64_t r = r0; r < rows && r < r0 + 32; r++) {                                 \
          for (int64_t c = c0; c < cols && c < c0 + 32; c++) {                               \
            const fy_a_##S x = FY_LD_##S(in[r * step_r + c * step_c]);                       \
            out[r * cols + c] = conjugate ? CONJUGATE(S, x) : x;                             \
          }                                                                                  \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }
FY_REAL_TYPES(PACK, NO_CONJ)
FY_INT_TYPES(PACK, NO_CONJ)
FY_COMPLEX_TYPES(PACK, CONJ)

static const gemm_fn gemms[FY_DTYPE_COUNT] = {
    FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, gemm) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, gemm)
        FY_INT_TYPES(FY_LOOP_ENTRY, gemm)[FY_HALF] = gemm_f32,
    [FY_BFLOAT16] = gemm_f32};
static const pack_fn packs[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, pack)};

// ---------------------------------------------------------------- one product, or many
typedef struct gemm_job {
  fy_dtype type;
  gemm_fn gemm;
  size_t wide;  // bytes of an element in the arithmetic type
  int64_t m, k, n, rows_per_item, cols_per_item, items_per_row, items_per_matrix;
  const char *a, *b;  // packed or as they came
  char *c;
  const int64_t *a_index, *b_index;  // [batch] which matrix; NULL = the same as the output's
} gemm_job;

static void gemm_items(void *arg, int64_t begin, int64_t end) {
  const gemm_job *j = arg;
  for (int64_t item = begin; item < end; item++) {
    const int64_t batch = item / j->items_per_matrix;
    const int64_t part = item % j->items_per_matrix;
    const int64_t row = part / j->items_per_row * j->rows_per_item;
    const int64_t col = part % j->items_per_row * j->cols_per_item;
    const int64_t rows = j->m - row < j->rows_per_item ? j->m - row : j->rows_per_item;
    const int64_t cols = j->n - col < j->cols_per_item ? j->n - col : j->cols_per_item;
    const int64_t ia = j->a_index ? j->a_index[batch] : batch;
    const int64_t ib = j->b_index ? j->b_index[batch] : batch;
    j->gemm(j->a + (size_t)(ia * j->m * j->k + row * j->k) * j->wide,
            j->b + (size_t)(ib * j->k * j->n + col) * j->wide,
            j->c + (size_t)(batch * j->m * j->n + row * j->n + col) * j->wide, rows, j->k, cols,
            j->n);
  }
}

// |t| holds |count| matrices of [rows, cols] (after transposing) for the loop: itself or a copy.
static fy_code plain_operand(fy_kernel_ctx *ctx, const fy_tensor *t, int64_t count, int64_t rows,
                             int64_t cols, bool transpose, bool conjugate, size_t wide,
                             const char **out, fy_error *err) {
  const size_t narrow = fy_dtype_storage(t->dtype);
  if (!transpose && !conjugate && wide == narrow) {
    *out = t->data;
    return FY_OK;
  }
  void *copy;
  FY_TRY(fy_scratch(ctx, (size_t)t->count * wide, &copy, err));
  for (int64_t i = 0; i < count; i++) {
    packs[t->dtype]((const char *)t->data + (size_t)(i * rows * cols) * narrow,
                    (char *)copy + (size_t)(i * rows * cols) * wide, rows, cols, transpose,
                    conjugate);
  }
  *out = copy;
  return FY_OK;
}

typedef struct product {
  bool transpose_a, transpose_b, conjugate;
  int64_t m, k, n, batch, batch_a, batch_b;
  const int64_t *a_index, *b_index;
} product;

// A matrix that must be transposed times a vector is the vector times the matrix as it lies.
static bool vector_first(int64_t m, int64_t n, bool transpose_a, bool transpose_b, bool conjugate) {
  return !conjugate && ((n == 1 && transpose_a) || (m == 1 && transpose_b));
}

static fy_code multiply(fy_kernel_ctx *ctx, const product *asked, fy_tensor *out, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const fy_dtype t = a->dtype;
  const product turned = {.m = asked->n,
                          .k = asked->k,
                          .n = asked->m,
                          .batch = asked->batch,
                          .batch_a = asked->batch_b,
                          .batch_b = asked->batch_a,
                          .a_index = asked->b_index,
                          .b_index = asked->a_index};
  const product *p = asked;
  if (!gemms[t] || b->dtype != t) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(t));
  }
  if (out->count == 0) return FY_OK;
  if (p->k == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  if (vector_first(p->m, p->n, p->transpose_a, p->transpose_b, p->conjugate)) {
    p = &turned;
    a = ctx->in[1], b = ctx->in[0];
  }
  const bool narrow = t == FY_HALF || t == FY_BFLOAT16;
  gemm_job job = {.type = t,
                  .gemm = gemms[t],
                  .m = p->m,
                  .k = p->k,
                  .n = p->n,
                  .wide = narrow ? sizeof(float) : fy_dtype_storage(t),
                  .a_index = p->a_index,
                  .b_index = p->b_index};
  FY_TRY(plain_operand(ctx, a, p->batch_a, p->m, p->k, p->transpose_a,
                       p->transpose_a && p->conjugate, job.wide, &job.a, err));
  FY_TRY(plain_operand(ctx, b, p->batch_b, p->k, p->n, p->transpose_b,
                       p->transpose_b && p->conjugate, job.wide, &job.b, err));
  job.c = out->data;
  if (narrow) {
    void *sums;
    FY_TRY(fy_scratch(ctx, (size_t)out->count * sizeof(float), &sums, err));
    job.c = sums;
  }
  job.rows_per_item = p->m < 32 ? p->m : 32;
  job.items_per_matrix = (p->m + job.rows_per_item - 1) / job.rows_per_item;
  const bool few = p->batch * job.items_per_matrix < ctx->threads;  // columns are shared out, too
  job.cols_per_item = few && p->n > COLUMNS ? COLUMNS : p->n;
  job.items_per_row = (p->n + job.cols_per_item - 1) / job.cols_per_item;
  job.items_per_matrix *= job.items_per_row;
  fy_parallel(ctx, p->batch * job.items_per_matrix,
              0.25 * (double)job.rows_per_item * (double)p->k * (double)job.cols_per_item,
              gemm_items, &job);
  const float *sums = (const float *)(const void *)job.c;
  uint16_t *to = out->data;
  for (int64_t i = 0; narrow && i < out->count; i++) {
    to[i] = t == FY_HALF ? fy_st_half(sums[i]) : fy_float_cut_to_bfloat16(sums[i]);
  }
  return FY_OK;
}

static fy_code fail_sizes(const fy_tensor *a, const fy_tensor *b, fy_error *err) {
  char x[128], y[128];
  return fy_fail(err, FY_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                 fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
}

static fy_code fail_ndims(const fy_tensor *a, const fy_tensor *b, fy_error *err) {
  char x[128], y[128];
  return fy_fail(err, FY_INVALID_ARGUMENT, "In[0] and In[1] has different ndims: %s vs. %s",
                 fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
}

// What multiply() and its callers take: copies of operands that are not plain, sums of narrow types, and
// for batches that differ the table of who meets whom.
static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const bool batched = strncmp(ctx->site->op->impl->name, "Batch", 5) == 0;
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  if (a->rank < 2 || b->rank < 2 || a->dtype != b->dtype || !a->count || !b->count) return;
  const bool ta = fy_site_bool(ctx->site, batched ? "adj_x" : "transpose_a");
  const bool tb = fy_site_bool(ctx->site, batched ? "adj_y" : "transpose_b");
  const bool narrow = a->dtype == FY_HALF || a->dtype == FY_BFLOAT16;
  const bool turned = vector_first(a->dims[a->rank - 2 + ta], b->dims[b->rank - 1 - tb], ta, tb,
                                   batched && fy_dtype_is_complex(a->dtype));
  const size_t wide = narrow ? sizeof(float) : fy_dtype_storage(a->dtype);
  if ((ta && !turned) || narrow) out->scratch += fy_scratch_line((size_t)a->count * wide);
  if ((tb && !turned) || narrow) out->scratch += fy_scratch_line((size_t)b->count * wide);
  fy_bcast bcast;
  const int32_t ranks[] = {a->rank - 2, b->rank - 2};
  const int64_t *const dims[] = {a->dims, b->dims};
  if (fy_bcast_init_dims(&bcast, 2, ranks, dims, NULL)) return;
  const int64_t rows = a->dims[a->rank - 2 + ta], cols = b->dims[b->rank - 1 - tb];
  if (narrow) out->scratch += fy_scratch_line((size_t)(bcast.count * rows * cols) * sizeof(float));
  if (fy_product(a->dims, ranks[0]) != bcast.count || fy_product(b->dims, ranks[1]) != bcast.count)
    out->scratch += fy_scratch_line((size_t)bcast.count * 2 * sizeof(int64_t));
}

static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  product p = {.transpose_a = fy_site_bool(ctx->site, "transpose_a"),
               .transpose_b = fy_site_bool(ctx->site, "transpose_b"),
               .batch = 1,
               .batch_a = 1,
               .batch_b = 1};
  if (a->rank != b->rank) return fail_ndims(a, b, err);
  if (a->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "In[0] and In[1] ndims must be == 2: %d", a->rank);
  }
  p.m = a->dims[p.transpose_a ? 1 : 0];
  p.k = a->dims[p.transpose_a ? 0 : 1];
  p.n = b->dims[p.transpose_b ? 0 : 1];
  if (p.k != b->dims[p.transpose_b ? 1 : 0]) return fail_sizes(a, b, err);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){p.m, p.n}, &out, err));
  return multiply(ctx, &p, out, err);
}

static fy_code batch_matmul(fy_kernel_ctx *ctx, bool broadcast, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  product p = {.transpose_a = fy_site_bool(ctx->site, "adj_x"),
               .transpose_b = fy_site_bool(ctx->site, "adj_y"),
               .conjugate = true};
  char x[128], y[128];
  if (!broadcast) {
    if (a->rank != b->rank) return fail_ndims(a, b, err);
    if (a->rank < 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "In[0] and In[1] ndims must be >= 2: %d", a->rank);
    }
    for (int32_t d = 0; d < a->rank - 2; d++) {
      if (a->dims[d] == b->dims[d]) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "In[0].dim(%d) and In[1].dim(%d) must be the same: %s vs %s", d, d,
                     fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
    }
  }
  for (int i = 0; i < 2; i++) {
    if (ctx->in[i]->rank >= 2) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", i, ctx->in[i]->rank);
  }
  fy_bcast bcast;
  const int32_t ranks[] = {a->rank - 2, b->rank - 2};
  const int64_t *const dims[] = {a->dims, b->dims};
  if (fy_bcast_init_dims(&bcast, 2, ranks, dims, err)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  const int64_t *da = a->dims + a->rank - 2, *db = b->dims + b->rank - 2;
  p.m = da[p.transpose_a ? 1 : 0];
  p.k = da[p.transpose_a ? 0 : 1];
  p.n = db[p.transpose_b ? 0 : 1];
  if (p.k != db[p.transpose_b ? 1 : 0]) return fail_sizes(a, b, err);
  if (bcast.out_rank + 2 > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  bcast.out_dims[bcast.out_rank] = p.m;
  bcast.out_dims[bcast.out_rank + 1] = p.n;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, bcast.out_rank + 2, bcast.out_dims, &out, err));
  if (out->count == 0) return FY_OK;
  p.batch = bcast.count;
  p.batch_a = fy_product(a->dims, ranks[0]);
  p.batch_b = fy_product(b->dims, ranks[1]);
  if (p.batch_a != p.batch || p.batch_b != p.batch) {  // which matrix meets which
    void *memory;
    FY_TRY(fy_scratch(ctx, (size_t)p.batch * 2 * sizeof(int64_t), &memory, err));
    int64_t *ia = memory, *ib = ia + p.batch;
    for (int64_t i = 0; i < p.batch; i++) {
      int64_t rest = i;
      ia[i] = ib[i] = 0;
      for (int32_t d = bcast.rank - 1; d >= 0; d--) {
        const int64_t at = rest % bcast.dims[d];
        rest /= bcast.dims[d];
        ia[i] += at * bcast.strides[0][d];
        ib[i] += at * bcast.strides[1][d];
      }
    }
    p.a_index = ia;
    p.b_index = ib;
  }
  return multiply(ctx, &p, out, err);
}

static fy_code batch_matmul_v1(fy_kernel_ctx *ctx, fy_error *err) {
  return batch_matmul(ctx, false, err);
}
static fy_code batch_matmul_v2(fy_kernel_ctx *ctx, fy_error *err) {
  return batch_matmul(ctx, true, err);
}
// V3 may mix types: bytes multiply to int32, or by bfloat16 to bfloat16; else all three are one.
static bool is_byte(fy_dtype t) {
  return t == FY_INT8 || t == FY_UINT8;
}
static fy_code widened(fy_tensor *t, fy_dtype to, fy_tensor **out, fy_error *err) {
  if (t->dtype == to) {
    fy_tensor_retain(t);
    *out = t;
    return FY_OK;
  }
  FY_TRY(fy_tensor_new(to, t->rank, t->dims, out, err));
  for (int64_t i = 0; i < t->count; i++) {
    const int64_t v = fy_tensor_int(t, i);
    if (to == FY_INT32) {
      ((int32_t *)(*out)->data)[i] = (int32_t)v;
    } else {
      ((uint16_t *)(*out)->data)[i] = fy_float_to_bfloat16((float)v);
    }
  }
  return FY_OK;
}
static fy_code batch_matmul_v3(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_dtype *in = ctx->site->in_types, out = ctx->site->out_types[0];
  if (in[0] == in[1] && in[0] == out) return batch_matmul(ctx, true, err);
  const bool mixed = (is_byte(in[0]) && in[1] == out) || (is_byte(in[1]) && in[0] == out);
  const bool bytes = is_byte(in[0]) && is_byte(in[1]) && out == FY_INT32;
  if (!bytes && !(mixed && out == FY_BFLOAT16)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "BatchMatMulV3 of %s and %s to %s is not implemented",
                   fy_dtype_name(in[0]), fy_dtype_name(in[1]), fy_dtype_name(out));
  }
  fy_tensor *wide[2] = {NULL, NULL};
  fy_code code = widened(ctx->in[0], out, &wide[0], err);
  if (!code) code = widened(ctx->in[1], out, &wide[1], err);
  if (!code) {
    fy_kernel_ctx inner = *ctx;
    inner.in = wide;
    code = batch_matmul(&inner, true, err);
  }
  fy_tensor_release(wide[0]);
  fy_tensor_release(wide[1]);
  return code;
}

// ---------------------------------------------------------------- shapes and cost
static fy_code matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  FY_TRY(fy_shape_rank_is(a, 2, err));
  FY_TRY(fy_shape_rank_is(b, 2, err));
  const bool ta = fy_shape_attr_bool(ctx, "transpose_a"),
             tb = fy_shape_attr_bool(ctx, "transpose_b");
  int64_t k;
  FY_TRY(fy_dim_merge(fy_dim_of(a, ta ? 0 : 1), fy_dim_of(b, tb ? 1 : 0), &k, err));
  const int64_t dims[] = {fy_dim_of(a, ta ? 1 : 0), fy_dim_of(b, tb ? 0 : 1)};
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static fy_code batch_shape(fy_shape_ctx *ctx, bool broadcast, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  FY_TRY(fy_shape_rank_at_least(a, 2, err));
  FY_TRY(fy_shape_rank_at_least(b, 2, err));
  const bool ta = fy_shape_attr_bool(ctx, "adj_x"), tb = fy_shape_attr_bool(ctx, "adj_y");
  if (!broadcast && (a.rank < 0) != (b.rank < 0)) {  // the same batch on both sides
    const fy_pshape one = a.rank < 0 ? b : a;
    int64_t dims[FY_MAX_RANK];
    for (int32_t i = 0; i < one.rank; i++) dims[i] = i < one.rank - 2 ? one.dims[i] : -1;
    if (a.rank >= 0) dims[one.rank - 2] = a.dims[a.rank - (ta ? 1 : 2)];
    if (b.rank >= 0) dims[one.rank - 1] = b.dims[b.rank - (tb ? 2 : 1)];
    return fy_shape_set(ctx, 0, one.rank, dims, err);
  }
  if (a.rank < 0 || b.rank < 0) return FY_OK;
  const int64_t *da = a.dims + a.rank - 2, *db = b.dims + b.rank - 2;
  const fy_pshape batch_a = {a.rank - 2, a.dims}, batch_b = {b.rank - 2, b.dims};
  fy_pshape batch;
  int64_t k;
  if (broadcast) {
    FY_TRY(fy_dim_merge(da[ta ? 0 : 1], db[tb ? 1 : 0], &k, err));
    FY_TRY(fy_shape_broadcast_two(ctx, batch_a, batch_b, &batch, err));
  } else {
    FY_TRY(fy_shape_merge(ctx, batch_a, batch_b, &batch, err));
    FY_TRY(fy_dim_merge(da[ta ? 0 : 1], db[tb ? 1 : 0], &k, err));
  }
  int64_t dims[FY_MAX_RANK + 2];
  for (int32_t i = 0; i < batch.rank; i++) dims[i] = batch.dims[i];
  dims[batch.rank] = da[ta ? 1 : 0];
  dims[batch.rank + 1] = db[tb ? 0 : 1];
  return fy_shape_set(ctx, 0, batch.rank + 2, dims, err);
}
static fy_code batch_shape_v1(fy_shape_ctx *ctx, fy_error *err) {
  return batch_shape(ctx, false, err);
}
static fy_code batch_shape_v2(fy_shape_ctx *ctx, fy_error *err) {
  return batch_shape(ctx, true, err);
}

static double elements(fy_pshape s) {
  double n = 1;
  for (int32_t i = 0; i < s.rank; i++) n *= s.dims[i] > 0 ? (double)s.dims[i] : 1;
  return n;
}

static void matmul_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out,
                        fy_cost *cost) {
  const bool t = fy_site_bool(site, site->op->impl->aux ? "adj_x" : "transpose_a");
  const fy_pshape a = in[0];
  const int64_t k = a.rank >= 2 ? a.dims[a.rank - (t ? 2 : 1)] : 1;
  cost->flops = 2 * elements(out[0]) * (k > 0 ? (double)k : 1);
  cost->bytes = (elements(in[0]) + elements(in[1]) + elements(out[0])) *
                (double)fy_dtype_storage(site->in_types[0]);
}

static const fy_sample matmul_samples[] = {
    {"f32[2,3]=1,2,3,4,5,6; f32[3,2]=1,2,3,4,5,6", NULL, FY_OK, "22,28,49,64"},
    {"f32[3,2]=1,2,3,4,5,6; f32[3,2]=1,2,3,4,5,6", "transpose_a=true", FY_OK, "35,44,44,56"},
    {"i32[1,2]=2147483647,1; i32[2,1]=2,0", NULL, FY_OK, "-2"},
    {"f16[5,7]=normal; f16[7,3]=normal", NULL, FY_OK, NULL},
    {"f32[2,0]=; f32[0,2]=", NULL, FY_OK, "0,0,0,0"},
    {"f32[2,3]=ones; f32[2,3]=ones", NULL, FY_INVALID_ARGUMENT,
     "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"},
    {"f32[1]=1; f32[1,1]=1", NULL, FY_INVALID_ARGUMENT,
     "In[0] and In[1] has different ndims: [1] vs. [1,1]"},
};
static const fy_sample batch_samples[] = {
    {"f32[2,1,2]=1,2,3,4; f32[2,2,1]=1,1,2,2", NULL, FY_OK, "3,14"},
    {"c64[1,1,2]=1,2; c64[1,1,2]=3,4", "adj_y=true", FY_OK, NULL},
    {"f32[2,3,4]=ones; f32[2,5,5]=ones", NULL, FY_INVALID_ARGUMENT, "Matrix size-incompatible"},
};
static const fy_sample v3_samples[] = {
    {"f32[2,1,2]=1,2,3,4; f32[2,2,1]=1,1,2,2", "Tout=float", FY_OK, "3,14"},
};

FY_OP(MatMul, .shape = matmul_shape, .needs = needs, .compute = matmul, .cost = matmul_cost,
      FY_SAMPLES(matmul_samples));
FY_OP(BatchMatMul, .shape = batch_shape_v1, .needs = needs, .compute = batch_matmul_v1,
      .cost = matmul_cost, .aux = "batch", FY_SAMPLES(batch_samples));
FY_OP(BatchMatMulV2, .shape = batch_shape_v2, .needs = needs, .compute = batch_matmul_v2,
      .cost = matmul_cost, .aux = "batch", FY_SAMPLES(batch_samples));
FY_OP(BatchMatMulV3, .shape = batch_shape_v2, .needs = needs, .compute = batch_matmul_v3,
      .cost = matmul_cost, .aux = "batch", FY_SAMPLES(v3_samples));

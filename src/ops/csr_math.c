// SPDX-License-Identifier: Apache-2.0
// csr_math.c: computing with CSR sparse matrices: SparseMatrixMatMul (with a dense one),
// SparseMatrixSparseMatMul, SparseMatrixTranspose. Transposed operands are transposed first: what
// is left is one loop each.

#include <stdlib.h>

#include "base/alloc.h"
#include "ops/csr.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- loops
#define MADD_REAL(S, s, x, y) ((s) + (x) * (y))
#define MADD_CPLX(S, s, x, y) ((s) + fy_cmul_##S(x, y))
#define SAME(S, x)            (x)
#define CONJ(S, x)            FY_MATH_##S(onj)(x)
typedef struct csr_loops {
  void (*add_product)(void *sum, const void *x, int64_t i, const void *y, int64_t j);
  void (*conj)(void *x, int64_t n);
} csr_loops;
#define LOOPS(E, S, MADD, CJ)                                                                   \
  static void add_product_##S(void *ps, const void *px, int64_t i, const void *py, int64_t j) { \
    fy_t_##S *sum = ps;                                                                         \
    const fy_t_##S x = ((const fy_t_##S *)px)[i], y = ((const fy_t_##S *)py)[j];                \
    *sum = MADD(S, *sum, x, y);                                                                 \
  }                                                                                             \
  static void conj_##S(void *px, int64_t n) {                                                   \
    fy_t_##S *x = px;                                                                           \
    for (int64_t i = 0; i < n; i++) x[i] = CJ(S, x[i]);                                         \
  }
FY_FULL_REAL_TYPES(LOOPS, MADD_REAL, SAME)
FY_COMPLEX_TYPES(LOOPS, MADD_CPLX, CONJ)
#define ENTRY(E, S, _) [E] = {add_product_##S, conj_##S},
static const csr_loops all_loops[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(ENTRY, _)
                                                        FY_COMPLEX_TYPES(ENTRY, _)};

static fy_code find_loops(const fy_kernel_ctx *ctx, fy_dtype t, const csr_loops **out,
                          fy_error *err) {
  *out = &all_loops[t];
  if ((*out)->conj) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

// ---------------------------------------------------------------- transpose
static fy_code transposed(const fy_csr *m, bool conj, fy_csr **out, fy_error *err) {
  int64_t dims[3];
  for (int32_t d = 0; d < m->rank; d++) dims[d] = m->dims[d];
  dims[m->rank - 2] = m->cols;
  dims[m->rank - 1] = m->rows;
  FY_TRY(fy_csr_new(m->dtype, m->rank, dims, m->values->count, out, err));
  fy_csr *t = *out;
  const size_t size = fy_dtype_storage(m->dtype);
  memcpy(t->start, m->start, (size_t)(m->batch + 1) * sizeof *m->start);
  for (int64_t b = 0; b < m->batch; b++) {
    int32_t *to = t->row_ptr + b * (t->rows + 1);
    const int32_t *row = m->row_ptr + b * (m->rows + 1);
    // Count, sum up, place (which moves each row's begin to its end), move back.
    for (int64_t k = m->start[b]; k < m->start[b + 1]; k++) to[m->col[k] + 1]++;
    for (int64_t r = 0; r < t->rows; r++) to[r + 1] += to[r];
    for (int64_t r = 0; r < m->rows; r++) {
      for (int64_t k = m->start[b] + row[r]; k < m->start[b] + row[r + 1]; k++) {
        const int64_t at = m->start[b] + to[m->col[k]]++;
        t->col[at] = (int32_t)r;
        memcpy((char *)t->values->data + (size_t)at * size,
               (const char *)m->values->data + (size_t)k * size, size);
      }
    }
    for (int64_t r = t->rows; r > 0; r--) to[r] = to[r - 1];
    to[0] = 0;
  }
  if (conj && t->values->count) all_loops[m->dtype].conj(t->values->data, t->values->count);
  return FY_OK;
}

static fy_code transpose(fy_kernel_ctx *ctx, fy_error *err) {
  fy_csr *m, *t;
  const csr_loops *loops;
  const fy_dtype want = fy_site_type(ctx->site, "type");
  FY_TRY(fy_csr_in(ctx, 0, &m, err));
  if (m->dtype != want) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dtype of input is not equal to 'type': %s vs. %s",
                   fy_dtype_name(m->dtype), fy_dtype_name(want));
  }
  FY_TRY(find_loops(ctx, m->dtype, &loops, err));
  FY_TRY(transposed(m, fy_site_bool(ctx->site, "conjugate"), &t, err));
  return fy_csr_out(ctx, 0, t, err);
}

// ---------------------------------------------------------------- products
typedef struct flags {
  bool transpose[2], adjoint[2];
} flags;

static fy_code read_flags(const fy_site *site, flags *f, fy_error *err) {
  static const char *const names[2][2] = {{"transpose_a", "adjoint_a"},
                                          {"transpose_b", "adjoint_b"}};
  *f = (flags){0};
  for (int i = 0; i < 2; i++) {
    f->transpose[i] = fy_site_bool(site, names[i][0]);
    f->adjoint[i] = fy_site_bool(site, names[i][1]);
    if (f->transpose[i] && f->adjoint[i]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Only one of %s and %s may be true.", names[i][1],
                     names[i][0]);
    }
  }
  return FY_OK;
}
static fy_code check_flags(fy_site *site, fy_error *err) {
  flags f = {{false, false}, {false, false}};
  return read_flags(site, &f, err);
}

// |m| as the product wants it: itself with one more reference, or transposed.
static fy_code oriented(fy_csr *m, const flags *f, int side, fy_csr **out, fy_error *err) {
  if (f->transpose[side] || f->adjoint[side]) return transposed(m, f->adjoint[side], out, err);
  fy_object_retain(&m->object);
  *out = m;
  return FY_OK;
}

typedef struct dense_b {
  const fy_tensor *t;
  int64_t rows, cols;
  bool flipped, conj;
} dense_b;

static fy_code multiply_dense(fy_kernel_ctx *ctx, const fy_csr *a, const dense_b *b,
                              const csr_loops *loops, fy_error *err) {
  const bool flip = fy_site_bool(ctx->site, "transpose_output");
  const size_t size = fy_dtype_storage(a->dtype);
  int64_t dims[3];
  fy_tensor *out;
  dims[0] = a->batch;
  dims[a->rank - 2] = flip ? b->cols : a->rows;
  dims[a->rank - 1] = flip ? a->rows : b->cols;
  FY_TRY(fy_out(ctx, 0, a->rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  memset(out->data, 0, fy_tensor_bytes(out));
  void *memory;
  FY_TRY(fy_scratch(ctx, 16, &memory, err));
  for (int64_t n = 0; n < a->batch; n++) {
    const int32_t *row = a->row_ptr + n * (a->rows + 1);
    for (int64_t r = 0; r < a->rows; r++) {
      for (int64_t k = a->start[n] + row[r]; k < a->start[n] + row[r + 1]; k++) {
        for (int64_t c = 0; c < b->cols; c++) {
          const int64_t from = b->flipped ? c * b->rows + a->col[k] : a->col[k] * b->cols + c;
          const int64_t to = flip ? c * a->rows + r : r * b->cols + c;
          const char *value =
              (const char *)b->t->data + (size_t)(n * b->rows * b->cols + from) * size;
          memcpy(memory, value, size);
          if (b->conj) loops->conj(memory, 1);
          loops->add_product((char *)out->data + (size_t)(n * a->rows * b->cols + to) * size,
                             a->values->data, k, memory, 0);
        }
      }
    }
  }
  if (fy_site_bool(ctx->site, "conjugate_output")) loops->conj(out->data, out->count);
  return FY_OK;
}

static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *b = ctx->in[1];
  fy_csr *m, *a;
  flags f = {{false, false}, {false, false}};
  const csr_loops *loops;
  char x[128], y[128];
  FY_TRY(read_flags(ctx->site, &f, err));
  FY_TRY(fy_csr_in(ctx, 0, &m, err));
  if (m->dtype != b->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input types don't match.  a.dtype == %s vs. b.dtype == %s",
                   fy_dtype_name(m->dtype), fy_dtype_name(b->dtype));
  }
  if (m->rank != b->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Ranks of a and b must match, saw: %d vs. %d.",
                   m->rank, b->rank);
  }
  if (m->rank == 3 && m->batch != b->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Batch sizes must match, but saw: %lld vs. %lld",
                   (long long)m->batch, (long long)b->dims[0]);
  }
  FY_TRY(find_loops(ctx, m->dtype, &loops, err));
  dense_b d = {.t = b, .flipped = f.transpose[1] || f.adjoint[1], .conj = f.adjoint[1]};
  d.rows = b->dims[b->rank - (d.flipped ? 1 : 2)];
  d.cols = b->dims[b->rank - (d.flipped ? 2 : 1)];
  const bool flip_a = f.transpose[0] || f.adjoint[0];
  if ((flip_a ? m->rows : m->cols) != d.rows) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inner product dimensions of A and B do not agree. Shapes are: %s vs. %s",
                   fy_shape_text(m->rank, m->dims, x), fy_tensor_shape_text(b, y));
  }
  FY_TRY(oriented(m, &f, 0, &a, err));
  fy_code code = multiply_dense(ctx, a, &d, loops, err);
  fy_object_release(&a->object);
  return code;
}

static int by_number(const void *pa, const void *pb) {
  const int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;
  return a < b ? -1 : a > b;
}

// One pass over a x b: counts the values of each row, or (|c| has room) computes them.
static int64_t sparse_pass(const fy_csr *a, const fy_csr *b, const csr_loops *loops, fy_csr *c,
                           bool fill, int64_t *where, int32_t *touched) {
  const size_t size = fy_dtype_storage(a->dtype);
  int64_t total = 0;
  for (int64_t n = 0; n < a->batch; n++) {
    const int32_t *row_a = a->row_ptr + n * (a->rows + 1), *row_b = b->row_ptr + n * (b->rows + 1);
    for (int64_t r = 0; r < a->rows; r++) {
      int64_t count = 0;
      for (int64_t k = a->start[n] + row_a[r]; k < a->start[n] + row_a[r + 1]; k++) {
        const int64_t mid = a->col[k];
        for (int64_t j = b->start[n] + row_b[mid]; j < b->start[n] + row_b[mid + 1]; j++) {
          if (where[b->col[j]] < 0) {
            where[b->col[j]] = 0;
            touched[count++] = b->col[j];
          }
        }
      }
      if (fill) {
        qsort(touched, (size_t)count, sizeof *touched, by_number);
        for (int64_t i = 0; i < count; i++) {
          where[touched[i]] = total + i;
          c->col[total + i] = touched[i];
        }
        for (int64_t k = a->start[n] + row_a[r]; k < a->start[n] + row_a[r + 1]; k++) {
          const int64_t mid = a->col[k];
          for (int64_t j = b->start[n] + row_b[mid]; j < b->start[n] + row_b[mid + 1]; j++) {
            loops->add_product((char *)c->values->data + (size_t)where[b->col[j]] * size,
                               a->values->data, k, b->values->data, j);
          }
        }
        c->row_ptr[n * (c->rows + 1) + r + 1] = (int32_t)(total + count - c->start[n]);
      }
      for (int64_t i = 0; i < count; i++) where[touched[i]] = -1;
      total += count;
    }
    if (fill) c->start[n + 1] = total;
  }
  return total;
}

static fy_code multiply_sparse(fy_kernel_ctx *ctx, const fy_csr *a, const fy_csr *b,
                               const csr_loops *loops, fy_csr **out, fy_error *err) {
  int64_t dims[3];
  void *where, *touched;
  dims[0] = a->batch;
  dims[a->rank - 2] = a->rows;
  dims[a->rank - 1] = b->cols;
  FY_TRY(fy_scratch(ctx, (size_t)(b->cols + 1) * sizeof(int64_t), &where, err));
  FY_TRY(fy_scratch(ctx, (size_t)(b->cols + 1) * sizeof(int32_t), &touched, err));
  for (int64_t i = 0; i < b->cols; i++) ((int64_t *)where)[i] = -1;
  const int64_t nnz = sparse_pass(a, b, loops, NULL, false, where, touched);
  FY_TRY(fy_csr_new(a->dtype, a->rank, dims, nnz, out, err));
  if (nnz) memset((*out)->values->data, 0, fy_tensor_bytes((*out)->values));
  sparse_pass(a, b, loops, *out, true, where, touched);
  return FY_OK;
}

static fy_code sparse_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  fy_csr *in[2], *side[2] = {NULL, NULL}, *out = NULL;
  flags f = {{false, false}, {false, false}};
  const csr_loops *loops;
  char x[128], y[128];
  FY_TRY(read_flags(ctx->site, &f, err));
  const fy_dtype want = fy_site_type(ctx->site, "type");
  for (int i = 0; i < 2; i++) {
    FY_TRY(fy_csr_in(ctx, i, &in[i], err));
    if (in[i]->dtype == want) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%c.dtype does not match the type attribute: %s vs. %s", i ? 'b' : 'a',
                   fy_dtype_name(in[i]->dtype), fy_dtype_name(want));
  }
  if (in[0]->rank != in[1]->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Ranks of a and b must match, saw: %d vs. %d.",
                   in[0]->rank, in[1]->rank);
  }
  if (in[0]->batch != in[1]->batch) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Batch sizes of a and b must match, saw: %lld vs. %lld.",
                   (long long)in[0]->batch, (long long)in[1]->batch);
  }
  FY_TRY(find_loops(ctx, want, &loops, err));
  fy_code code = oriented(in[0], &f, 0, &side[0], err);
  if (!code) code = oriented(in[1], &f, 1, &side[1], err);
  if (!code && side[0]->cols != side[1]->rows) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inner product dimensions of A and B do not agree. Shapes are: %s vs. %s",
                   fy_shape_text(in[0]->rank, in[0]->dims, x),
                   fy_shape_text(in[1]->rank, in[1]->dims, y));
  }
  if (!code) code = multiply_sparse(ctx, side[0], side[1], loops, &out, err);
  for (int i = 0; i < 2; i++) {
    if (side[i]) fy_object_release(&side[i]->object);
  }
  return code ? code : fy_csr_out(ctx, 0, out, err);
}

FY_OP(SparseMatrixTranspose, .shape = fy_shape_scalar, .compute = transpose,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
FY_OP(SparseMatrixMatMul, .shape = fy_shape_none, .prepare = check_flags, .compute = matmul,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
FY_OP(SparseMatrixSparseMatMul, .shape = fy_shape_scalar, .prepare = check_flags,
      .compute = sparse_matmul, .flags = FY_OP_HOST | FY_OP_DYNAMIC);

// SPDX-License-Identifier: Apache-2.0
// csr.c: CSR sparse matrices: making them (SparseTensorToCSRSparseMatrix, DenseToCSRSparseMatrix),
// taking them apart (CSRSparseMatrixToDense, …ToSparseTensor, …Components), SparseMatrixNNZ.
// What computes with them is in csr_math.c.

#include "ops/csr.h"

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

// ---------------------------------------------------------------- the object
static void destroy(fy_object *self) {
  fy_csr *m = (fy_csr *)self;
  fy_tensor_release(m->values);
  fy_free(m->start);
  fy_free(m->row_ptr);
  fy_free(m->col);
  fy_free(m);
}
const fy_object_type fy_csr_type = {"tensorflow::CSRSparseMatrix", destroy};

fy_code fy_csr_new(fy_dtype dtype, int32_t rank, const int64_t *dims, int64_t nnz, fy_csr **out,
                   fy_error *err) {
  *out = NULL;
  const int64_t batch = rank == 3 ? dims[0] : 1, rows = dims[rank - 2], cols = dims[rank - 1];
  size_t pointers;
  if (batch < 0 || rows < 0 || cols < 0 || rows >= INT32_MAX || cols > INT32_MAX ||
      nnz > INT32_MAX || batch >= INT64_MAX / 16 ||
      !fy_mul_size((size_t)batch, (size_t)rows + 1, &pointers)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "a sparse matrix of %lld rows and %lld columns with %lld "
                   "values is too large",
                   (long long)rows, (long long)cols, (long long)nnz);
  }
  fy_csr *m = fy_calloc(1, sizeof *m);
  if (!m) return fy_fail_oom(err, sizeof *m);
  atomic_init(&m->object.refs, 1);
  m->object.type = &fy_csr_type;
  m->dtype = dtype;
  m->rank = rank;
  m->batch = batch;
  m->rows = rows;
  m->cols = cols;
  for (int32_t d = 0; d < rank; d++) m->dims[d] = dims[d];
  m->start = fy_calloc((size_t)batch + 1, sizeof *m->start);
  m->row_ptr = fy_calloc(pointers + 1, sizeof *m->row_ptr);
  m->col = fy_calloc((size_t)nnz + 1, sizeof *m->col);
  fy_code code = m->start && m->row_ptr && m->col ? fy_tensor_new(dtype, 1, &nnz, &m->values, err)
                                                  : fy_fail_oom(err, pointers * sizeof(int32_t));
  if (code) {
    destroy(&m->object);
    return code;
  }
  *out = m;
  return FY_OK;
}

fy_code fy_csr_in(const fy_kernel_ctx *ctx, int i, fy_csr **out, fy_error *err) {
  const fy_tensor *t = ctx->in[i];
  fy_object *o = t->rank == 0 ? *(fy_object *const *)t->data : NULL;
  *out = NULL;
  if (!o || o->type != &fy_csr_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Could not retrieve Variant input %d", i);
  }
  *out = (fy_csr *)o;
  return FY_OK;
}

fy_code fy_csr_out(fy_kernel_ctx *ctx, int i, fy_csr *m, fy_error *err) {
  fy_tensor *out;
  fy_code code = fy_out(ctx, i, 0, NULL, &out, err);
  if (code) {
    fy_object_release(&m->object);
    return code;
  }
  *(fy_object **)out->data = &m->object;
  return FY_OK;
}

// ---------------------------------------------------------------- making
// Sets up rows and columns from sorted, checked indices.
static fy_code from_indices(const fy_tensor *at, fy_dtype dtype, int32_t rank, const int64_t *dims,
                            fy_csr **out, fy_error *err) {
  const int64_t n = at->dims[0];
  FY_TRY(fy_csr_new(dtype, rank, dims, n, out, err));
  fy_csr *m = *out;
  for (int64_t i = 0; i < n; i++) {
    const int64_t *index = (const int64_t *)at->data + i * rank;
    const int64_t b = rank == 3 ? index[0] : 0;
    m->start[b + 1]++;
    m->row_ptr[b * (m->rows + 1) + index[rank - 2] + 1]++;
    m->col[i] = (int32_t)index[rank - 1];
  }
  for (int64_t b = 0; b < m->batch; b++) {
    m->start[b + 1] += m->start[b];
    int32_t *row = m->row_ptr + b * (m->rows + 1);
    for (int64_t r = 0; r < m->rows; r++) row[r + 1] += row[r];
  }
  return FY_OK;
}

static fy_code from_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  fy_csr *m;
  int64_t dims[3];
  FY_TRY(fy_sparse_validate(at, values, shape, true, err));
  if (shape->count != 2 && shape->count != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "SparseTensor must have rank 2 or 3; but indices has rank: %lld",
                   (long long)shape->count);
  }
  for (int64_t d = 0; d < shape->count; d++) dims[d] = fy_tensor_int(shape, d);
  for (int64_t i = 1; i < at->dims[0]; i++) {
    const int64_t *a = (const int64_t *)at->data + (i - 1) * shape->count, *b = a + shape->count;
    int64_t d = 0;
    while (d < shape->count - 1 && a[d] == b[d]) d++;
    if (a[d] > b[d]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "indices[%lld] is out of order. Many sparse ops require sorted indices.",
                     (long long)i);
    }
  }
  FY_TRY(from_indices(at, values->dtype, (int32_t)shape->count, dims, &m, err));
  fy_code code =
      fy_copy_run(values->dtype, m->values->data, 0, values->data, 0, values->count, err);
  if (code) {
    fy_object_release(&m->object);
    return code;
  }
  return fy_csr_out(ctx, 0, m, err);
}

static fy_code from_dense(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *dense = ctx->in[0], *at = ctx->in[1];
  char x[128];
  fy_csr *m;
  if (dense->rank != 2 && dense->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "params must have rank == 2 or 3; but saw shape: %s",
                   fy_tensor_shape_text(dense, x));
  }
  if (at->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be a matrix, but saw shape: %s",
                   fy_tensor_shape_text(at, x));
  }
  if (at->dims[1] != dense->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "indices.shape[1] must be equal to the rank of params, but saw: %lld vs. %d",
                   (long long)at->dims[1], dense->rank);
  }
  const int32_t rank = dense->rank;
  for (int64_t i = at->count - 1; i >= 0; i--) {  // TensorFlow names the last bad one
    const int64_t v = fy_tensor_int(at, i), row = i / rank;
    if ((uint64_t)v < (uint64_t)dense->dims[i % rank]) continue;
    const int64_t *index = (const int64_t *)at->data + row * rank;
    fy_str text;
    fy_str_init(&text);
    for (int32_t d = 0; d < rank; d++) {
      fy_str_printf(&text, "%s%lld", d ? ", " : "", (long long)index[d]);
    }
    fy_fail(err, FY_INVALID_ARGUMENT,
            "indices[%lld] = [%s] does not index into param shape %s, node name: %s",
            (long long)row, fy_str_text(&text), fy_tensor_shape_text(dense, x),
            ctx->site->node_name ? ctx->site->node_name : "");
    fy_str_free(&text);
    return FY_INVALID_ARGUMENT;
  }
  FY_TRY(from_indices(at, dense->dtype, rank, dense->dims, &m, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; i < at->dims[0] && !code; i++) {
    int64_t from = 0;
    for (int32_t d = 0; d < rank; d++) {
      from = from * dense->dims[d] + fy_tensor_int(at, i * rank + d);
    }
    code = fy_copy_run(dense->dtype, m->values->data, i, dense->data, from, 1, err);
  }
  if (code) {
    fy_object_release(&m->object);
    return code;
  }
  return fy_csr_out(ctx, 0, m, err);
}

// ---------------------------------------------------------------- taking apart
static fy_code typed_in(const fy_kernel_ctx *ctx, const char *text, fy_csr **out, fy_error *err) {
  const fy_dtype want = fy_site_type(ctx->site, "type");
  FY_TRY(fy_csr_in(ctx, 0, out, err));
  if ((*out)->dtype == want) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, text, fy_dtype_name(want), fy_dtype_name((*out)->dtype));
}
#define EXPECTED "Expected a CSRSparseMatrix of type %s but saw type: %s"
#define ASKED    "Asked for a CSRSparseMatrix of type %s but saw dtype: %s"

static fy_code to_dense(fy_kernel_ctx *ctx, fy_error *err) {
  fy_csr *m;
  fy_tensor *out;
  FY_TRY(typed_in(ctx, ASKED, &m, err));
  FY_TRY(fy_out(ctx, 0, m->rank, m->dims, &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  for (int64_t b = 0; b < m->batch; b++) {
    const int32_t *row = m->row_ptr + b * (m->rows + 1);
    for (int64_t r = 0; r < m->rows; r++) {
      for (int64_t k = m->start[b] + row[r]; k < m->start[b] + row[r + 1]; k++) {
        FY_TRY(fy_copy_run(m->dtype, out->data, (b * m->rows + r) * m->cols + m->col[k],
                           m->values->data, k, 1, err));
      }
    }
  }
  return FY_OK;
}

static fy_code to_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  fy_csr *m;
  fy_tensor *at, *values, *shape;
  FY_TRY(typed_in(ctx, EXPECTED, &m, err));
  const int64_t n = m->values->count, rank = m->rank;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &at, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  int64_t *index = at->data;
  for (int64_t b = 0; b < m->batch; b++) {
    const int32_t *row = m->row_ptr + b * (m->rows + 1);
    for (int64_t r = 0; r < m->rows; r++) {
      for (int64_t k = m->start[b] + row[r]; k < m->start[b] + row[r + 1]; k++) {
        if (rank == 3) *index++ = b;
        *index++ = r;
        *index++ = m->col[k];
      }
    }
  }
  memcpy(shape->data, m->dims, (size_t)rank * sizeof(int64_t));
  return fy_copy_run(m->dtype, values->data, 0, m->values->data, 0, n, err);
}

static fy_code components(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *which = ctx->in[1];
  fy_csr *m;
  fy_tensor *rows, *cols, *values;
  char x[128];
  FY_TRY(typed_in(ctx, ASKED, &m, err));
  if (which->rank != 0) {
    fy_str text;
    fy_str_init(&text);
    for (int64_t i = 0; i < which->count && i < 3; i++) {
      fy_str_printf(&text, " %lld", (long long)fy_tensor_int(which, i));
    }
    if (which->count > 3) fy_str_add(&text, "...");
    fy_fail(err, FY_INVALID_ARGUMENT,
            "index should be a scalar, but saw: Tensor<type: int32 shape: %s values:%s>",
            fy_tensor_shape_text(which, x), fy_str_text(&text));
    fy_str_free(&text);
    return FY_INVALID_ARGUMENT;
  }
  const int64_t b = fy_tensor_int(which, 0);
  if (b < 0 || b >= m->batch) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "index (%lld) not in [0, %lld)", (long long)b,
                   (long long)m->batch);
  }
  const int64_t pointers = m->rows + 1, n = m->start[b + 1] - m->start[b];
  FY_TRY(fy_out(ctx, 0, 1, &pointers, &rows, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &cols, err));
  FY_TRY(fy_out(ctx, 2, 1, &n, &values, err));
  memcpy(rows->data, m->row_ptr + b * pointers, (size_t)pointers * sizeof(int32_t));
  if (n) memcpy(cols->data, m->col + m->start[b], (size_t)n * sizeof(int32_t));
  return fy_copy_run(m->dtype, values->data, 0, m->values->data, m->start[b], n, err);
}

static fy_code count_values(fy_kernel_ctx *ctx, fy_error *err) {
  fy_csr *m;
  fy_tensor *out;
  FY_TRY(fy_csr_in(ctx, 0, &m, err));
  FY_TRY(fy_out(ctx, 0, m->rank - 2, m->dims, &out, err));
  for (int64_t b = 0; b < m->batch; b++) {
    ((int32_t *)out->data)[b] = (int32_t)(m->start[b + 1] - m->start[b]);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code from_sparse_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_sparse_validate_shapes(ctx, 0, err));
  const int64_t said = ctx->in[0].rank == 2 ? ctx->in[0].dims[1] : -1;
  int64_t rank = ctx->in[2].rank == 1 ? ctx->in[2].dims[0] : -1;
  if (rank < 0) {
    rank = said;
  } else if (rank != said) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank %lld but is rank %lld",
                   (long long)said, (long long)rank);
  }
  if (rank != 2 && rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid rank: %lld.  Expected a known rank of either 2 or 3.", (long long)rank);
  }
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
static fy_code from_dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape dense = ctx->in[0], at = ctx->in[1];
  if (dense.rank != 2 && dense.rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid rank of dense: %d.  Expected a known rank of either 2 or 3.",
                   dense.rank);
  }
  if (at.rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be a matrix; but its rank is not 2: %d",
                   at.rank);
  }
  if (at.rank == 2 && at.dims[1] >= 0 && at.dims[1] != dense.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "indices.shape[1] must match rank of dense; saw: %lld vs. %d",
                   (long long)at.dims[1], dense.rank);
  }
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
static fy_code sparse_tensor_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(fy_shape_set(ctx, 0, 2, NULL, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &unknown, err);
}
static fy_code components_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  for (int i = 0; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 1, &unknown, err));
  return FY_OK;
}

static const fy_sample sparse_samples[] = {
    {"i64[2,2]=0,1,1,0; f32[2]=5,6; i64[2]=2,2", NULL, FY_OK, NULL},
    {"i64[1,2]=0,2; f32[1]=5; i64[2]=2,2", NULL, FY_INVALID_ARGUMENT,
     "Sparse index tuple indices[0, :] = [0, 2] is out of bounds"},
};
static const fy_sample dense_samples[] = {
    {"f32[2,2]=iota; i64[2,2]=0,1,1,0", NULL, FY_OK, NULL},
    {"f32[2]=iota; i64[2,2]=0,1,1,0", NULL, FY_INVALID_ARGUMENT,
     "params must have rank == 2 or 3; but saw shape: [2]"},
};
FY_OP(SparseTensorToCSRSparseMatrix, .shape = from_sparse_shape, .compute = from_sparse,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(sparse_samples));
FY_OP(DenseToCSRSparseMatrix, .shape = from_dense_shape, .compute = from_dense,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(dense_samples));
FY_OP(CSRSparseMatrixToDense, .shape = fy_shape_none, .compute = to_dense,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
FY_OP(CSRSparseMatrixToSparseTensor, .shape = sparse_tensor_shape, .compute = to_sparse,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
FY_OP(CSRSparseMatrixComponents, .shape = components_shape, .compute = components,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
FY_OP(SparseMatrixNNZ, .shape = fy_shape_none, .compute = count_values,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);

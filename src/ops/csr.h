// SPDX-License-Identifier: Apache-2.0
// csr.h: a batch of sparse matrices in compressed rows, the value behind a CSRSparseMatrix variant.

#ifndef FY_OPS_CSR_H
#define FY_OPS_CSR_H

#include "ops/op.h"

typedef struct fy_csr {
  fy_object object;
  fy_dtype dtype;   // float, double, complex64, complex128
  int32_t rank;     // 2, or 3 with a batch dimension
  int64_t dims[3];  // [batch,] rows, columns
  int64_t batch;    // 1 for rank 2
  int64_t rows, cols;
  int64_t *start;     // [batch + 1] where a matrix begins among columns and values
  int32_t *row_ptr;   // [batch, rows + 1] counted from the matrix's own start
  int32_t *col;       // [nnz] ascending in a row
  fy_tensor *values;  // [nnz]
} fy_csr;
extern const fy_object_type fy_csr_type;  // "tensorflow::CSRSparseMatrix"

// A matrix batch with room for |nnz| values; row_ptr and start are zero. One reference.
FY_MUST_CHECK fy_code fy_csr_new(fy_dtype dtype, int32_t rank, const int64_t *dims, int64_t nnz,
                                 fy_csr **out, fy_error *err);
// The matrix in variant input |i| (not retained).
FY_MUST_CHECK fy_code fy_csr_in(const fy_kernel_ctx *ctx, int i, fy_csr **out, fy_error *err);
// Output |i| := |m|, whose reference is taken over in any case.
FY_MUST_CHECK fy_code fy_csr_out(fy_kernel_ctx *ctx, int i, fy_csr *m, fy_error *err);

#endif

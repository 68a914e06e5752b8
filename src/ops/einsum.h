// SPDX-License-Identifier: Apache-2.0
// einsum.h: an Einsum as a batch of products of matrices, for faster kernels.

#ifndef FY_OPS_EINSUM_H
#define FY_OPS_EINSUM_H

#include "ops/op.h"

// Element (batch m, row r, summed k) of the first input is a[a_batch[m] + a_rows[r] + a_inner[k]];
// the same for the second (m, k, column c) and the output (m, r, c). Tables are scratch memory.
typedef struct fy_einsum_job {
  const void *a, *b;  // b NULL: ones
  void *out, *packed, *sums;
  int64_t batch, rows, cols, inner;  // sizes of the groups; batch 0: the output is empty
  const int64_t *a_batch, *a_rows, *a_inner, *b_batch, *b_cols, *b_inner;
  const int64_t *o_batch, *o_rows, *o_cols;
} fy_einsum_job;

// Checks the equation and makes the output, which is zero unless in a device's memory, and the tables.
FY_MUST_CHECK fy_code fy_einsum_begin(fy_kernel_ctx *ctx, fy_einsum_job *job, fy_error *err);

// The product after that, for labels that lie anywhere.
FY_MUST_CHECK fy_code fy_einsum_multiply(fy_kernel_ctx *ctx, fy_einsum_job *job, fy_error *err);

// The sizes of |job|, and the scratch memory that fy_einsum_begin will take added to |out|, from shapes
// alone. False: it will fail, or there is nothing to do. |*regular| (may be NULL): rows, columns and what
// is summed lie at regular steps in both inputs and the output, columns of the output side by side.
bool fy_einsum_needs(fy_kernel_ctx *ctx, fy_einsum_job *job, bool *regular, fy_needs *out);
void fy_einsum_multiply_needs(fy_kernel_ctx *ctx, const fy_einsum_job *job, fy_needs *out);

#endif

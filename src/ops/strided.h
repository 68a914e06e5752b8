// SPDX-License-Identifier: Apache-2.0
// strided.h: the one loop behind Slice, StridedSlice, Transpose, Tile, BroadcastTo, Reverse: a
// dense output, each of whose dims walks the input with a stride of its own (0 repeats, negative
// reverses).

#ifndef FY_OPS_STRIDED_H
#define FY_OPS_STRIDED_H

#include "ops/op.h"

#define FY_STRIDED_RANK (2 * FY_MAX_RANK)

// out (dense, |dims|) = in[offset + sum of index * strides], all in elements of |out|'s type.
// |rank| may exceed the output's own (Tile splits dims). The caller vouches for the bounds.
FY_MUST_CHECK fy_code fy_strided_copy(fy_kernel_ctx *ctx, fy_tensor *out, const fy_tensor *in,
                                      int32_t rank, const int64_t *dims, const int64_t *strides,
                                      int64_t offset, fy_error *err);
// |bytes| from one place to another, by several threads where that pays.
void fy_copy_bytes(fy_kernel_ctx *ctx, void *to, const void *from, size_t bytes);
// fy_copy_run (values.h), over the threads where elements are plain.
FY_MUST_CHECK fy_code fy_copy_elements(fy_kernel_ctx *ctx, fy_dtype type, void *dst, int64_t to,
                                       const void *src, int64_t from, int64_t count, fy_error *err);
// Strides of a dense tensor.
static inline void fy_dense_strides(int32_t rank, const int64_t *dims, int64_t *strides) {
  int64_t step = 1;
  for (int32_t d = rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= dims[d] > 0 ? dims[d] : 1;
  }
}

// Whether the elements taken (|dims| of |whole|'s, step 1 where more than one) follow each other: all
// dims but one are either taken whole (behind it) or are a single element (before it).
static inline bool fy_is_dense_part(int32_t rank, const int64_t *whole, const int64_t *dims) {
  int32_t d = 0;
  while (d < rank && dims[d] == 1) d++;
  for (d++; d < rank; d++)
    if (dims[d] != whole[d]) return false;
  return true;
}

// |rows| runs of |bytes|, each |step| bytes after the one before: short ones without a call for each.
// Memory is not shared, unless a run stays where it is.
void fy_copy_rows(void *to, int64_t to_step, const void *from, int64_t from_step, size_t bytes,
                  int64_t rows);

#endif

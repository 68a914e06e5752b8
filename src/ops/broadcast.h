// SPDX-License-Identifier: Apache-2.0
// broadcast.h: NumPy-style broadcasting of up to three operands, shared by all element-wise ops.
// Dims that need not be told apart are collapsed, so equal shapes become one row of n elements, a
// bias becomes rows, and only what is left walks a multi-index. Any rank up to FY_MAX_RANK.

#ifndef FY_OPS_BROADCAST_H
#define FY_OPS_BROADCAST_H

#include "ops/op.h"

#define FY_BCAST_OPERANDS 3

typedef struct fy_bcast {
  int operands;
  int32_t out_rank;
  int64_t count;                                    // elements of the output
  int32_t rank;                                     // collapsed, at least 1
  int64_t inner;                                    // size of the last collapsed dim
  int64_t inner_stride[FY_BCAST_OPERANDS];          // 0 or 1
  int64_t out_dims[FY_MAX_RANK];                    // [out_rank]
  int64_t dims[FY_MAX_RANK];                        // [rank] collapsed
  int64_t strides[FY_BCAST_OPERANDS][FY_MAX_RANK];  // [rank] in elements, 0 = repeated
} fy_bcast;

// INVALID_ARGUMENT "Incompatible shapes: [2,3] vs. [4]" when the operands do not fit.
FY_MUST_CHECK fy_code fy_bcast_init(fy_bcast *b, int operands, const fy_tensor *const *in,
                                    fy_error *err);
// The same from shapes: |ranks| and |dims| per operand.
FY_MUST_CHECK fy_code fy_bcast_init_dims(fy_bcast *b, int operands, const int32_t *ranks,
                                         const int64_t *const *dims, fy_error *err);
// Calls row(arg, offsets of the operands, offset of the output, n) for pieces of rows that cover
// the output elements [begin, end); all offsets in elements.
void fy_bcast_rows(const fy_bcast *b, int64_t begin, int64_t end,
                   void (*row)(void *arg, const int64_t *at, int64_t out_at, int64_t n), void *arg);

#endif

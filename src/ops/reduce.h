// SPDX-License-Identifier: Apache-2.0
// reduce.h: what reductions outside reduce.c use of it.

#ifndef FY_OPS_REDUCE_H
#define FY_OPS_REDUCE_H

#include "ops/op.h"

// Sets reduced[d] for each dim that |axes| names; the rest is left as it is.
FY_MUST_CHECK fy_code fy_reduce_axes(const fy_tensor *in, const fy_tensor *axes, bool *reduced,
                                     fy_error *err);

// |rows| rows of |n| elements that follow each other, each reduced to one as the op would (its result
// for one row does not depend on the others). For float and double and more than FY_REDUCE_SHORT
// elements.
#define FY_REDUCE_SHORT 16
#define FY_REDUCE_ROWS  8  // so many short rows are added column after column
#define FY_REDUCE_LONG  65536
typedef enum fy_row_reduction {
  FY_ROW_SUM,
  FY_ROW_MEAN,
  FY_ROW_MAX,
  FY_ROW_MIN,
  FY_ROW_REDUCTIONS
} fy_row_reduction;
void fy_reduce_rows(fy_row_reduction kind, fy_dtype dtype, const void *in, int64_t n, int64_t rows,
                    void *out);

#endif

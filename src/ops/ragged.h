// SPDX-License-Identifier: Apache-2.0
// ragged.h: what the ops on ragged and sparse tensors share.

#ifndef FY_OPS_RAGGED_H
#define FY_OPS_RAGGED_H

#include "ops/op.h"
#include "ops/scatter.h"

// A ragged tensor as one value of a variant: |ranks| row splits (int32 or int64) and flat values.
typedef struct fy_ragged {
  fy_object object;
  int ranks;
  fy_tensor **splits;  // [ranks]
  fy_tensor *values;
} fy_ragged;
extern const fy_object_type fy_ragged_type;  // "RaggedTensorVariant"
// Without splits and values, which are the caller's to put.
FY_MUST_CHECK fy_code fy_ragged_new(int ranks, fy_ragged **out, fy_error *err);

// Row splits of |values| rows: a vector from 0 to |values| that never falls.
FY_MUST_CHECK fy_code fy_ragged_check_splits(const fy_tensor *splits, int64_t values,
                                             fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// arg.h: what ArgMax (arg_reduce.c) and TopK (top_k.c) share: indices of any of their types.

#ifndef FY_OPS_ARG_H
#define FY_OPS_ARG_H

#include "ops/op.h"

// Element |i| of an int64, int32, int16 or uint16 tensor := |value|, which wraps.
static inline void fy_arg_put(fy_tensor *t, int64_t i, int64_t value) {
  switch ((int)t->dtype) {
    case FY_INT64: ((int64_t *)t->data)[i] = value; break;
    case FY_INT32: ((int32_t *)t->data)[i] = (int32_t)value; break;
    default: ((uint16_t *)t->data)[i] = (uint16_t)value; break;
  }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// values.c: see values.h.

#include "ops/values.h"

fy_code fy_value_shape(const fy_tensor *t, int32_t *rank, int64_t dims[FY_MAX_RANK],
                       fy_error *err) {
  char text[128];
  if (t->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "shape must be a vector of {int32,int64}, got shape %s",
                   fy_tensor_shape_text(t, text));
  }
  if (t->count > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  *rank = (int32_t)t->count;
  for (int32_t i = 0; i < *rank; i++) {
    dims[i] = fy_tensor_int(t, i);
    if (dims[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)dims[i]);
    }
  }
  int64_t count = 1;
  for (int32_t i = 0; i < *rank; i++) {  // as TensorFlow multiplies: a zero may come too late
    if (!__builtin_mul_overflow(count, dims[i], &count)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape %s would have more than 2**63 - 1 elements",
                   fy_shape_text(*rank, dims, text));
  }
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// values.h: reading small integer inputs (axes, shapes, sizes) in kernels, with TensorFlow's texts.

#ifndef FY_OPS_VALUES_H
#define FY_OPS_VALUES_H

#include "ops/op.h"

// A shape from an int32/int64 vector (or scalar, read as one dim): "Dimension -1 must be >= 0",
// "shape must be a vector of {int32,int64}, got shape [1,1]".
FY_MUST_CHECK fy_code fy_value_shape(const fy_tensor *t, int32_t *rank, int64_t dims[FY_MAX_RANK],
                                     fy_error *err);
// The product of |n| dims; fits whenever the tensor exists.
static inline int64_t fy_product(const int64_t *dims, int32_t n) {
  int64_t p = 1;
  for (int32_t i = 0; i < n; i++) p *= dims[i];
  return p;
}
static inline const char *fy_tensor_shape_text(const fy_tensor *t, char buf[128]) {
  return fy_shape_text(t->rank, t->dims, buf);
}
// Element |i| of an int32 or int64 tensor := |v|, which fits.
static inline void fy_index_put(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32) {
    ((int32_t *)t->data)[i] = (int32_t)v;
  } else {
    ((int64_t *)t->data)[i] = v;
  }
}
// Copies |count| elements of |t|'s type from |src| + from to |dst| + to (offsets in elements).
FY_MUST_CHECK static inline fy_code fy_copy_run(fy_dtype type, void *dst, int64_t to,
                                                const void *src, int64_t from, int64_t count,
                                                fy_error *err) {
  const size_t size = fy_dtype_storage(type);
  char *d = (char *)dst + (size_t)to * size;
  const char *s = (const char *)src + (size_t)from * size;
  if (fy_dtype_is_plain(type)) {
    if (count > 0) memcpy(d, s, (size_t)count * size);
    return FY_OK;
  }
  return fy_elements_copy(type, d, s, count, err);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// tensor_list.h: a list of tensors, as TensorList variants and TensorArray resources hold it.

#ifndef FY_OPS_TENSOR_LIST_H
#define FY_OPS_TENSOR_LIST_H

#include "ops/resource.h"
#include "tensor/tensor.h"

typedef struct fy_tensor_list {
  fy_object object;
  fy_dtype dtype;
  int32_t rank;  // of the elements as declared; -1: unknown
  int64_t *dims;
  int64_t max;        // elements at most; -1: any number
  fy_tensor **items;  // [n] NULL: never set
  int64_t n;
  size_t cap;
} fy_tensor_list;

extern const fy_object_type fy_tensor_list_type;

// A list of |n| unset elements; one reference.
FY_MUST_CHECK fy_code fy_tensor_list_new(fy_dtype dtype, int32_t rank, const int64_t *dims,
                                         int64_t n, fy_tensor_list **out, fy_error *err);
// Drops or adds (unset) elements at the end. Never fails when it shrinks.
FY_MUST_CHECK fy_code fy_tensor_list_resize(fy_tensor_list *l, int64_t n, fy_error *err);

// Lists that are added must be of one type and length.
FY_MUST_CHECK fy_code fy_tensor_list_check_sum(const fy_tensor_list *a, const fy_tensor_list *b,
                                               fy_error *err);

// Two shapes of elements that cannot both be.
FY_MUST_CHECK fy_code fy_list_fail_merge(int32_t rank, const int64_t *dims, int32_t rank_b,
                                         const int64_t *b, fy_error *err);

#endif

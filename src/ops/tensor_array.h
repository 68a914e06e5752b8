// SPDX-License-Identifier: Apache-2.0
// tensor_array.h: what the ops of TensorArrays share: the array itself (tensor_array.c), writing
// (tensor_array_write.c) and reading (tensor_array_read.c).

#ifndef FY_OPS_TENSOR_ARRAY_H
#define FY_OPS_TENSOR_ARRAY_H

#include "base/thread.h"
#include "ops/op.h"
#include "ops/tensor_list.h"

enum { FY_ARRAY_READ = 1, FY_ARRAY_CLEARED = 2 };  // an element that was read is written no more

typedef struct fy_tensor_array {
  fy_object object;
  fy_mutex lock;
  fy_tensor_list *list;  // NULL once closed
  uint8_t *seen;         // [list->n] FY_ARRAY_*
  size_t cap;
  bool dynamic, clear_after_read, identical;
  bool adds;  // of a gradient: several writes are summed
  int64_t num_like;
  fy_tensor **like;  // [num_like] shapes of what was cleared; of a gradient: of its zeros; or NULL
  struct fy_array_gradient {  // by source
    struct fy_array_gradient *next;
    struct fy_tensor_array *array;
    char source[];
  } * gradients;
} fy_tensor_array;

#define FY_ARRAY_FLAGS FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD

// The array of input 0, locked. INVALID_ARGUMENT: it was closed.
FY_MUST_CHECK fy_code fy_array_open(fy_kernel_ctx *ctx, fy_tensor_array **out, fy_error *err);
// Room for |n| elements.
FY_MUST_CHECK fy_code fy_array_resize(fy_tensor_array *a, int64_t n, fy_error *err);
// What all elements are, as a gather says.
FY_MUST_CHECK fy_code fy_array_refine(fy_tensor_array *a, int32_t rank, const int64_t *dims,
                                      fy_error *err);
// Output |i| is the flow.
FY_MUST_CHECK fy_code fy_array_put_flow(fy_kernel_ctx *ctx, int i, fy_error *err);
// Shapes: input 0 is a handle, the last (of version 3) the flow; the rest has the ranks given, -1 for any.
FY_MUST_CHECK fy_code fy_array_check_ranks(fy_shape_ctx *ctx, int32_t one, int32_t two,
                                           fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// sparse_tensor.h: what a triple (indices [n, rank], values [n], shape [rank]) must be before an op
// follows it. TensorFlow checks it in two ways, with different words; ops name the one they use.

#ifndef FY_OPS_SPARSE_TENSOR_H
#define FY_OPS_SPARSE_TENSOR_H

#include "ops/op.h"

#define FY_OUT_OF_ORDER                                                                           \
  "out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create " \
  "a correctly ordered copy.\n\n"

// Indices and shapes are int64.
static inline int64_t fy_at64(const fy_tensor *t, int64_t i) {
  return ((const int64_t *)t->data)[i];
}
static inline int64_t *fy_data64(fy_tensor *t) {
  return t->data;
}

// Ranks and sizes fit ("indices and values rows (indexing dimension) must match. …").
FY_MUST_CHECK fy_code fy_sparse_check(const fy_tensor *indices, const fy_tensor *values,
                                      const fy_tensor *shape, fy_error *err);
// Indices inside the shape and strictly ascending: "indices[2] = [2,2] is out of bounds: …",
// "… is out of order. …", "… is repeated".
FY_MUST_CHECK fy_code fy_sparse_check_order(const fy_tensor *indices, const fy_tensor *shape,
                                            fy_error *err);
// The other way: ranks, sizes, and (|bounds|) indices inside the shape.
FY_MUST_CHECK fy_code fy_sparse_validate(const fy_tensor *indices, const fy_tensor *values,
                                         const fy_tensor *shape, bool bounds, fy_error *err);
// Where the first index outside of the shape is; -1: there is none.
int64_t fy_sparse_outside(const fy_tensor *indices, const fy_tensor *shape);
// "Input indices should be a matrix but received shape [2]" and so on.
FY_MUST_CHECK fy_code fy_sparse_check_ranks(const fy_tensor *indices, const fy_tensor *values,
                                            const fy_tensor *shape, fy_error *err);

// fy_sparse_validate for shape functions, over inputs |first|, |first| + 1, |first| + 2.
FY_MUST_CHECK fy_code fy_sparse_validate_shapes(fy_shape_ctx *ctx, int first, fy_error *err);

// A sparse tensor of its own: indices [n, rank], values [n], shape [rank], each with a reference.
typedef struct fy_sparse {
  fy_tensor *indices, *values, *shape;
} fy_sparse;
void fy_sparse_free(fy_sparse *s);
// Rows [begin, end) of the triple without the first dimension: one element of a batch.
FY_MUST_CHECK fy_code fy_sparse_take(const fy_tensor *indices, const fy_tensor *values,
                                     const fy_tensor *shape, int64_t begin, int64_t end,
                                     fy_sparse *out, fy_error *err);
// Are the parts of element |i| of a batch a sparse tensor of values of |dtype|?
FY_MUST_CHECK fy_code fy_sparse_check_part(const fy_sparse *s, int64_t i, fy_dtype dtype,
                                           fy_error *err);
// Outputs 0, 1, 2 := |n| checked sparse tensors of one rank, stacked under |lead| dimensions.
FY_MUST_CHECK fy_code fy_sparse_stack(fy_kernel_ctx *ctx, const fy_sparse *parts, int64_t n,
                                      int32_t lead_rank, const int64_t *lead, fy_error *err);

#endif

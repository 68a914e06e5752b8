// SPDX-License-Identifier: Apache-2.0
// tensor_list_impl.h: what the tensor_list*.c files share. Private to them.

#ifndef FY_OPS_TENSOR_LIST_IMPL_H
#define FY_OPS_TENSOR_LIST_IMPL_H

#include "ops/shape_fns.h"
#include "ops/tensor_list.h"
#include "ops/values.h"

typedef struct fy_list_eshape {
  int32_t rank;  // -1: unknown
  int64_t dims[FY_MAX_RANK];
} fy_list_eshape;

FY_MUST_CHECK fy_code fy_list_of(const fy_tensor *t, fy_tensor_list **out, fy_error *err);
// Another list of the same elements.
FY_MUST_CHECK fy_code fy_list_copy(const fy_tensor_list *l, fy_tensor_list **out, fy_error *err);
// A copy of input |i|'s list that the caller may change; its elements are shared.
FY_MUST_CHECK fy_code fy_list_take(fy_kernel_ctx *ctx, int i, fy_tensor_list **out, fy_error *err);
FY_MUST_CHECK fy_code fy_list_put(fy_kernel_ctx *ctx, int i, fy_tensor_list *l, fy_error *err);
// A tensor that may be kept: shares |t|'s memory when that outlives the step.
FY_MUST_CHECK fy_code fy_list_keep(const fy_tensor *t, fy_tensor **out, fy_error *err);
// |count| elements of |t| from |from| under a shape of their own.
FY_MUST_CHECK fy_code fy_list_piece(fy_kernel_ctx *ctx, const fy_tensor *t, int64_t from,
                                    int32_t rank, const int64_t *dims, fy_tensor **out,
                                    fy_error *err);
FY_MUST_CHECK fy_code fy_list_read_shape(const fy_tensor *t, fy_list_eshape *out, fy_error *err);
bool fy_list_compatible(int32_t rank, const int64_t *dims, int32_t rank_b, const int64_t *b);
bool fy_list_merge(fy_list_eshape *a, int32_t rank, const int64_t *dims);
bool fy_list_fully_known(const fy_list_eshape *e);
FY_MUST_CHECK fy_code fy_list_check_dtype(fy_kernel_ctx *ctx, const fy_tensor_list *l,
                                          fy_error *err);
FY_MUST_CHECK fy_code fy_list_check_item(const fy_tensor_list *l, const fy_tensor *t,
                                         fy_error *err);
// The shape that elements have: the list's, the op's and what the elements themselves say.
FY_MUST_CHECK fy_code fy_list_element_shape(const fy_tensor_list *l, const fy_tensor *given,
                                            bool from_items, fy_list_eshape *out, fy_error *err);
FY_MUST_CHECK fy_code fy_list_scalar_int(const fy_tensor *t, const char *name, int64_t *out,
                                         fy_error *err);

// tensor_list_shapes.c
fy_code fy_list_shape_new(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_from_tensor(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_scatter(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_split(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_same(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_get(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_pop(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_stack(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_gather(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_resize(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_scatter_existing(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_merged(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_push_batch(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_list_shape_concat(fy_shape_ctx *ctx, fy_error *err);

#define FY_LIST_FLAGS FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_NO_FOLD

#endif

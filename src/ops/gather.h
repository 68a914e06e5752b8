// SPDX-License-Identifier: Apache-2.0
// gather.h: rows of a tensor by index, for those who read them from somewhere else (variables).

#ifndef FY_OPS_GATHER_H
#define FY_OPS_GATHER_H

#include "ops/op.h"

// Output 0 := |params| at |indices| along |axis|, which are |batch_dims| or more and fit the shapes;
// the first |batch_dims| dims are the same in both. An index outside is an error.
FY_MUST_CHECK fy_code fy_gather(fy_kernel_ctx *ctx, const fy_tensor *params,
                                const fy_tensor *indices, int32_t axis, int32_t batch_dims,
                                fy_error *err);

// Of GatherNd: checks the shapes and makes output 0.
FY_MUST_CHECK fy_code fy_gather_nd_output(fy_kernel_ctx *ctx, const fy_tensor *params,
                                          const fy_tensor *indices, fy_tensor **out, fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// reduce.h: what reductions outside reduce.c use of it.

#ifndef FY_OPS_REDUCE_H
#define FY_OPS_REDUCE_H

#include "ops/op.h"

// Sets reduced[d] for each dim that |axes| names; the rest is left as it is.
FY_MUST_CHECK fy_code fy_reduce_axes(const fy_tensor *in, const fy_tensor *axes, bool *reduced,
                                     fy_error *err);

#endif

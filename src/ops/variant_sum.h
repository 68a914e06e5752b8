// SPDX-License-Identifier: Apache-2.0
// variant_sum.h: the parts of ZerosLike and AddN that know variants.

#ifndef FY_OPS_VARIANT_SUM_H
#define FY_OPS_VARIANT_SUM_H

#include "ops/op.h"

FY_MUST_CHECK fy_code fy_variant_zeros_like(fy_kernel_ctx *ctx, fy_error *err);
FY_MUST_CHECK fy_code fy_variant_add_n(fy_kernel_ctx *ctx, fy_error *err);

#endif

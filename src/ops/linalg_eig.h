// SPDX-License-Identifier: Apache-2.0
// linalg_eig.h: what the eigenvalue ops share.

#ifndef FY_OPS_LINALG_EIG_H
#define FY_OPS_LINALG_EIG_H

#include "ops/linalg.h"

// Makes the outputs (values, vectors if attribute compute_v says so) and runs |fn|.
FY_MUST_CHECK fy_code fy_la_eig(fy_kernel_ctx *ctx, fy_la_job *job, fy_la_fn fn, int64_t work,
                                fy_error *err);
fy_code fy_la_eig_shape(fy_shape_ctx *ctx, fy_error *err);

#endif

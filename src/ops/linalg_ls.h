// SPDX-License-Identifier: Apache-2.0
// linalg_ls.h: the two ways of MatrixSolveLs, each beside the factors it uses.

#ifndef FY_OPS_LINALG_LS_H
#define FY_OPS_LINALG_LS_H

#include "ops/linalg.h"

extern const fy_la_fn
    fy_la_least_squares_fast[FY_DTYPE_COUNT];                 // normal equations, linalg_direct.c
fy_code fy_la_solve_shape(fy_shape_ctx *ctx, fy_error *err);  // MatrixSolve, MatrixSolveLs

#endif

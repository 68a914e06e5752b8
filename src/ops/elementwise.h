// SPDX-License-Identifier: Apache-2.0
// elementwise.h: the shared prepare and compute of unary and binary ops. An op gives a table of
// loops (typed.h) as its .aux; everything else (broadcast, outputs, threads) is here once.

#ifndef FY_OPS_ELEMENTWISE_H
#define FY_OPS_ELEMENTWISE_H

#include "ops/op.h"
#include "ops/typed.h"

typedef struct fy_binary_loops {
  fy_binary_loop loop[FY_DTYPE_COUNT];
  const char *bad;  // text of the INVALID_ARGUMENT when a loop sets *bad
  double ns;        // rough cost of an element; 0 = 0.5
} fy_binary_loops;

extern const fy_binary_loops fy_add_loops, fy_sub_loops;  // of AddV2 and Sub

typedef struct fy_unary_loops {
  fy_unary_loop loop[FY_DTYPE_COUNT];
  double ns;
} fy_unary_loops;

fy_code fy_binary_compute(fy_kernel_ctx *ctx, fy_error *err);
// Runs |loop| over in[0] and in[1] broadcast into output 0.
fy_code fy_binary_run(fy_kernel_ctx *ctx, fy_binary_loop loop, double ns, const char *bad_text,
                      fy_error *err);
fy_code fy_unary_compute(fy_kernel_ctx *ctx, fy_error *err);  // the loops' param is site->state

#endif

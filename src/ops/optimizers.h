// SPDX-License-Identifier: Apache-2.0
// optimizers.h: between the formulas of training steps (optimizers.c) and what applies them to
// variables (optimizer_apply.c).

#ifndef FY_OPS_OPTIMIZERS_H
#define FY_OPS_OPTIMIZERS_H

#include "ops/op.h"

#define FY_STEP_VARS   4
#define FY_STEP_INPUTS 12

typedef struct fy_step_job {
  void *var[FY_STEP_VARS];
  const void *grad;
  const void *scalar[FY_STEP_INPUTS];  // in input order, without the gradient
  bool flag;                           // use_nesterov, update_slots or multiply_linear_by_lr
  bool sparse;                         // TensorFlow's formulas of rows round in another order
} fy_step_job;

typedef void (*fy_step_fn)(void *arg, int64_t begin, int64_t end);
typedef struct fy_optimizer {
  int vars, inputs, grad;  // how many variables and inputs; which input is the gradient
  const char *names[FY_STEP_INPUTS];
  const char *flag;
  fy_step_fn step[FY_DTYPE_COUNT];
  double ns;
  bool ftrl, spaced;  // words of its errors: "l1 regularization strength", "lr is not a scalar : "
} fy_optimizer;

// compute and shape of every op whose aux is an fy_optimizer. Ops named Sparse take the rows of their
// variables from one more input, indices, right after the gradient.
fy_code fy_optimizer_apply(fy_kernel_ctx *ctx, fy_error *err);
fy_code fy_optimizer_shape(fy_shape_ctx *ctx, fy_error *err);

#endif

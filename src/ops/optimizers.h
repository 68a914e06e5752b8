// SPDX-License-Identifier: Apache-2.0
// optimizers.h: between the formulas of training steps (optimizer_steps.inc), their ops (optimizers.c) and what applies them to
// variables (optimizer_apply.c).

#ifndef FY_OPS_OPTIMIZERS_H
#define FY_OPS_OPTIMIZERS_H

#include "ops/op.h"

#define FY_STEP_VARS   4
#define FY_STEP_INPUTS 12

typedef struct fy_step_job fy_step_job;
typedef void (*fy_step_fn)(const fy_step_job *j, int64_t begin, int64_t end);
struct fy_step_job {
  void *var[FY_STEP_VARS];
  const void *grad;
  const void *scalar[FY_STEP_INPUTS];  // in input order, without the gradient
  bool flag;                           // use_nesterov, update_slots or multiply_linear_by_lr
  bool sparse;                         // TensorFlow's formulas of rows round in another order
  fy_step_fn step;                     // of whole vectors
  int vars, lanes, bytes;  // the variables; the elements of a vector; bytes of an element
  int64_t count;           // of elements
};

// The formulas (optimizer_steps.inc) that compare, of real numbers only, and those that complex ones have too.
#define FY_ORDERED_STEPS(X) \
  X(amsgrad)                \
  X(adamax)                 \
  X(ftrl) X(ftrl_v2) X(add_sign) X(power_sign) X(proximal) X(proximal_adagrad) X(adagrad_da)
#define FY_ALGEBRAIC_STEPS(X) \
  X(descent)                  \
  X(momentum) X(keras_momentum) X(adam) X(adagrad) X(adagrad_v2) X(rmsprop) X(centered) X(adadelta)
#define FY_STEP_KIND(name) FY_STEP_##name,
typedef enum fy_step {
  FY_ORDERED_STEPS(FY_STEP_KIND) FY_ALGEBRAIC_STEPS(FY_STEP_KIND) FY_STEPS
} fy_step;
// half, bfloat16, float, double, complex64, complex128
#define FY_STEP_TYPES 6
// For vectors of 16, 32 and 64 bytes: [begin, end) is a multiple of what one holds, where a 16-bit float takes
// the room of a float. NULL: there is no such step.
extern const fy_step_fn fy_steps_plain[FY_STEPS][FY_STEP_TYPES];
extern const fy_step_fn fy_steps_avx2[FY_STEPS][FY_STEP_TYPES];
extern const fy_step_fn fy_halves_steps_avx512[FY_STEPS];

typedef struct fy_optimizer {
  int vars, inputs, grad;  // how many variables and inputs; which input is the gradient
  const char *names[FY_STEP_INPUTS];
  const char *flag;
  fy_step step;
  double ns;
  bool ftrl, spaced;  // words of its errors: "l1 regularization strength", "lr is not a scalar : "
} fy_optimizer;

// compute and shape of every op whose aux is an fy_optimizer. Ops named Sparse take the rows of their
// variables from one more input, indices, right after the gradient.
fy_code fy_optimizer_apply(fy_kernel_ctx *ctx, fy_error *err);
fy_code fy_optimizer_shape(fy_shape_ctx *ctx, fy_error *err);

#endif

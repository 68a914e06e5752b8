// SPDX-License-Identifier: Apache-2.0
// contraction.h: a product or convolution together with what is done to each of its results: ops
// _FerryMatMul, _FerryConv2D and _FerryDepthwise, made by optimize/contract.c.
//
// The attribute "epilogue" names the steps, separated by commas. First, at most FY_EPILOGUE_STEPS of
// these, which change each column (channel) by numbers of its own, in any order:
//   bias   + the next arg
//   minus  - the next arg
//   scale  * the next arg
//   norm   (x - mean) * scale / sqrt(variance + epsilon) + offset: scale, offset, mean, variance are
//          the next four args
// then, at most once each:
//   add    + the last arg, of the result's shape
//   relu, relu6, tanh, sigmoid, elu, leaky, swish

#ifndef FY_OPS_CONTRACTION_H
#define FY_OPS_CONTRACTION_H

#include "ops/conv.h"
#include "ops/op.h"

#define FY_EPILOGUE_STEPS 4

typedef enum fy_affine_kind {
  FY_AFFINE_BIAS,
  FY_AFFINE_MINUS,
  FY_AFFINE_SCALE,
  FY_AFFINE_NORM
} fy_affine_kind;
typedef struct fy_affine {
  fy_affine_kind kind;
  int arg;  // index of the (first) input
} fy_affine;

typedef struct fy_epilogue {
  fy_affine affine[FY_EPILOGUE_STEPS];
  int num_affine;
  bool scales;      // some step multiplies
  int num_vectors;  // inputs that the affine steps use: 2, 3 …
  int add;          // index of the input, or -1
  fy_ew act;        // FY_EW_NONE: none
  bool swish;       // x * sigmoid(x)
  float alpha, epsilon;
} fy_epilogue;

typedef struct fy_contraction {  // site->state; the window comes first, where conv.c looks for it
  fy_window_attrs window;
  fy_epilogue epilogue;
} fy_contraction;

// INVALID_ARGUMENT names a step that does not exist or does not fit the number of args.
FY_MUST_CHECK fy_code fy_epilogue_read(const fy_attrs *attrs, fy_epilogue *out, fy_error *err);

#endif

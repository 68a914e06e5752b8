// SPDX-License-Identifier: Apache-2.0
// contraction.h: a product or convolution together with what is done to each of its results: ops
// _FerryMatMul, _FerryConv2D and _FerryDepthwise, made by optimize/contract.c.
//
// The attribute "epilogue" names the steps, in this order, each at most once:
//   bias   + args[0]                        one number per column (channel)
//   norm   (x - mean) * scale / sqrt(variance + epsilon) + offset, of the next four args
//   add    + the last arg, of the result's shape
//   relu, relu6, tanh, sigmoid, elu, leaky, swish
// separated by commas.

#ifndef FY_OPS_CONTRACTION_H
#define FY_OPS_CONTRACTION_H

#include "ops/conv.h"
#include "ops/op.h"

typedef struct fy_epilogue {
  int bias, norm, add;  // index of the (first) input, or -1
  fy_ew act;            // FY_EW_NONE: none
  bool swish;           // x * sigmoid(x)
  float alpha, epsilon;
} fy_epilogue;

typedef struct fy_contraction {  // site->state; the window comes first, where conv.c looks for it
  fy_window_attrs window;
  fy_epilogue epilogue;
} fy_contraction;

// INVALID_ARGUMENT names a step that does not exist or does not fit the number of args.
FY_MUST_CHECK fy_code fy_epilogue_read(const fy_attrs *attrs, fy_epilogue *out, fy_error *err);

#endif

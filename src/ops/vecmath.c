// SPDX-License-Identifier: Apache-2.0
// vecmath.c: see vecmath.h.

#include "ops/vecmath.h"

#include "ops/fused.h"

#define VEC(name, op)                                                                 \
  void fy_vec_##name##_f32(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                      \
    fy_lanes_best()->unary_f32[op](in, out, n);                                       \
  }
VEC(exp, FY_EW_EXP)
VEC(log, FY_EW_LOG)
VEC(log1p, FY_EW_LOG1P)
VEC(expm1, FY_EW_EXPM1)
VEC(tanh, FY_EW_TANH)
VEC(sigmoid, FY_EW_SIGMOID)
VEC(erf, FY_EW_ERF)
VEC(erfc, FY_EW_ERFC)
VEC(elu, FY_EW_ELU)
VEC(selu, FY_EW_SELU)
VEC(softplus, FY_EW_SOFTPLUS)

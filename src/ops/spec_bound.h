// SPDX-License-Identifier: Apache-2.0
// spec_bound.h: attributes whose value is still a placeholder, which only a caller of the function that they
// are in can bind. Neither shape functions nor kernels may see such a value.

#ifndef FY_OPS_SPEC_BOUND_H
#define FY_OPS_SPEC_BOUND_H

#include "ops/spec.h"

// The first such attribute that |spec| declares, or NULL.
const fy_attr_spec *fy_spec_open_attr(const fy_op_spec *spec, const fy_attrs *attrs);
// INVALID_ARGUMENT in TensorFlow's words if there is one.
FY_MUST_CHECK fy_code fy_spec_check_bound(const fy_op_spec *spec, const fy_attrs *attrs,
                                          fy_error *err);

#endif

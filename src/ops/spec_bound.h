// SPDX-License-Identifier: Apache-2.0
// spec_bound.h: values that a node may carry, and that neither shape functions nor kernels may see:
// placeholders, which only a caller of the function that they are in can bind, and shapes that cannot be.

#ifndef FY_OPS_SPEC_BOUND_H
#define FY_OPS_SPEC_BOUND_H

#include "ops/spec.h"

// The first attribute that |spec| declares whose value is a placeholder, or NULL.
const fy_attr_spec *fy_spec_open_attr(const fy_op_spec *spec, const fy_attrs *attrs);
// INVALID_ARGUMENT in TensorFlow's words if there is a placeholder,
FY_MUST_CHECK fy_code fy_spec_check_bound(const fy_op_spec *spec, const fy_attrs *attrs,
                                          fy_error *err);
// or a declared shape with a size below -1 or too many elements to count.
FY_MUST_CHECK fy_code fy_spec_check_shapes(const fy_op_spec *spec, const fy_attrs *attrs,
                                           fy_error *err);
// or a number beyond 32 bits where TensorFlow's kernels have no more.
FY_MUST_CHECK fy_code fy_spec_check_ints(const fy_op_spec *spec, const fy_attrs *attrs,
                                         fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// optional.h: a variant that holds a tuple of tensors, or nothing.

#ifndef FY_OPS_OPTIONAL_H
#define FY_OPS_OPTIONAL_H

#include "ops/op.h"
#include "ops/resource.h"

typedef struct fy_optional {
  fy_object object;
  bool has_value;
  int n;
  fy_tensor *items[];  // [n]
} fy_optional;

extern const fy_object_type fy_optional_type;

// An object as output |i|, a scalar variant; takes over the reference, also on failure.
FY_MUST_CHECK fy_code fy_variant_put(fy_kernel_ctx *ctx, int i, fy_object *o, fy_error *err);

// Takes over a reference of each tensor, also on failure. |items| NULL: nothing inside
// yet, with room for |n|.
FY_MUST_CHECK fy_code fy_optional_new(fy_tensor **items, int n, fy_optional **out, fy_error *err);

#endif

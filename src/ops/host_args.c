// SPDX-License-Identifier: Apache-2.0
#include "ops/host_args.h"

// The argument of the spec that flat input or output |flat| belongs to.
static int arg_of(const fy_op_spec *spec, const fy_attrs *attrs, bool outputs, int flat,
                  int total) {
  const int n = outputs ? spec->num_outputs : spec->num_inputs;
  if (n == total) return flat;  // no lists, or lists of one
  for (int i = 0; i < n; i++) {
    int begin, end;
    if (fy_spec_arg_range(spec, outputs, i, attrs, &begin, &end, NULL) != FY_OK) break;
    if (flat >= begin && flat < end) return i;
  }
  return flat;
}

bool fy_op_arg_on_host(const fy_op_impl *impl, const fy_op_spec *spec, const fy_attrs *attrs,
                       bool outputs, int flat, int total, fy_dtype dtype) {
  if (fy_dtype_is_ref(dtype) || !fy_dtype_is_plain(fy_dtype_base(dtype))) return true;
  if (!impl) return false;
  if (impl->flags & FY_OP_ANY_DEVICE_HOST_DATA) return true;
  const uint64_t mask = outputs ? impl->host_outputs : impl->host_inputs;
  if (!mask) return false;
  const int arg = arg_of(spec, attrs, outputs, flat, total);
  return arg < 64 && (mask >> arg & 1);
}

bool fy_op_needs_no_device(const fy_op *op) {
  const fy_op_impl *impl = op->impl;
  const uint32_t names = FY_OP_SETS_OUTPUT | FY_OP_CHEAP;  // as reading a variable does
  if (!impl) return false;
  if (impl->flags & (FY_OP_ALIAS | FY_OP_ANY_DEVICE_HOST_DATA)) return true;
  if ((impl->flags & names) == names) return true;
  return (impl->flags & FY_OP_CHEAP) && op->spec->num_inputs == 0 && impl->host_outputs;  // handles
}

static bool attr_has_type(const fy_attr *a, fy_dtype dtype) {
  if (a->kind != FY_ATTR_TYPE) return false;
  if (!a->is_list) return fy_dtype_base(a->v.type) == dtype;
  for (uint32_t i = 0; i < a->n; i++)
    if (fy_dtype_base(a->v.types[i]) == dtype) return true;
  return false;
}

bool fy_op_uses_type(const fy_op *op, const fy_attrs *attrs, fy_dtype dtype) {
  for (int outputs = 0; outputs < 2; outputs++) {
    const fy_arg_spec *args = outputs ? op->spec->outputs : op->spec->inputs;
    const uint64_t host = outputs ? op->impl->host_outputs : op->impl->host_inputs;
    const int n = outputs ? op->spec->num_outputs : op->spec->num_inputs;
    for (int i = 0; i < n; i++) {
      if (i < 64 && (host >> i & 1)) continue;
      const char *name = args[i].type_attr ? args[i].type_attr : args[i].type_list_attr;
      const fy_attr *a = name ? fy_attrs_get(attrs, name) : NULL;
      if (a ? attr_has_type(a, dtype) : fy_dtype_base(args[i].type) == dtype) return true;
    }
  }
  const fy_attr *value = fy_attrs_get(attrs, "dtype");
  return value && attr_has_type(value, dtype);
}

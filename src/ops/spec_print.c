// SPDX-License-Identifier: Apache-2.0
// spec_print.c: a signature on one line, exactly as TensorFlow's error messages show it.

#include "ops/spec.h"

// A list-typed argument prints nothing after its colon, as TensorFlow has it.
static void print_args(fy_str *out, const fy_arg_spec *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const fy_arg_spec *a = &args[i];
    fy_str_printf(out, "%s%s:", i ? ", " : "", a->name);
    if (a->is_ref) fy_str_add(out, "Ref(");
    if (a->number_attr) fy_str_printf(out, "%s*", a->number_attr);
    if (a->type != FY_INVALID) {
      fy_str_add(out, fy_dtype_name(a->type));
    } else if (a->type_attr) {
      fy_str_add(out, a->type_attr);
    }
    if (a->is_ref) fy_str_add(out, ")");
  }
}

static void print_allowed(fy_str *out, const fy_attr_spec *a) {
  if (a->allowed_list) {
    fy_str_add(out, ",allowed=[");
    for (const fy_dtype *t = a->allowed_list; *t; t++) {
      fy_str_printf(out, "%s%s", t == a->allowed_list ? "" : ", ", fy_dtype_enum_name(*t));
    }
    fy_str_add(out, "]");
  } else if (a->allowed_strings) {
    fy_str_add(out, ",allowed=[");
    for (const char *const *s = a->allowed_strings; *s; s++) {
      fy_attr value = fy_attr_string(fy_view_of(*s));
      if (s != a->allowed_strings) fy_str_add(out, ", ");
      fy_attr_print(out, &value);
    }
    fy_str_add(out, "]");
  }
}

void fy_spec_print(fy_str *out, const fy_op_spec *spec) {
  static const struct {
    uint16_t flag;
    const char *text;
  } flags[] = {
      {FY_SPEC_COMMUTATIVE, "; is_commutative=true"},
      {FY_SPEC_AGGREGATE, "; is_aggregate=true"},
      {FY_SPEC_STATEFUL, "; is_stateful=true"},
      {FY_SPEC_UNINITIALIZED_OK, "; allows_uninitialized_input=true"},
      {FY_SPEC_DISTRIBUTED, "; is_distributed_communication=true"},
  };
  fy_str_printf(out, "Op<name=%s; signature=", spec->name);
  print_args(out, spec->inputs, spec->num_inputs);
  fy_str_add(out, " -> ");
  print_args(out, spec->outputs, spec->num_outputs);
  for (size_t i = 0; i < spec->num_attrs; i++) {
    const fy_attr_spec *a = &spec->attrs[i];
    fy_str_printf(out, "; attr=%s:%s", a->name, a->type);
    if (a->has_default) {
      fy_str_add(out, ",default=");
      fy_attr_print(out, &a->default_value);
    }
    if (a->has_minimum) fy_str_printf(out, ",min=%lld", (long long)a->minimum);
    print_allowed(out, a);
  }
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    if (spec->flags & flags[i].flag) fy_str_add(out, flags[i].text);
  }
  fy_str_add(out, ">");
}

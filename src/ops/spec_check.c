// SPDX-License-Identifier: Apache-2.0
// spec_check.c: attributes against a signature, and what they say about the arguments.
// The texts are TensorFlow's, down to its "\n\t" before each piece of context.

#include <string.h>

#include "ops/spec_bound.h"

static const char *kind_name(fy_attr_kind kind) {
  static const char *const names[] = {"",     "string", "int",    "float", "bool",
                                      "type", "shape",  "tensor", "func",  "placeholder"};
  return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "";
}

static fy_code fail_open(fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "AttrValue had value with unexpected type 'placeholder'");
}

const fy_attr_spec *fy_spec_open_attr(const fy_op_spec *spec, const fy_attrs *attrs) {
  for (uint32_t i = 0; i < attrs->n; i++) {
    if (attrs->items[i].value.kind != FY_ATTR_PLACEHOLDER) continue;
    const fy_attr_spec *a = fy_spec_attr(spec, attrs->items[i].name);
    if (a) return a;
  }
  return NULL;
}

fy_code fy_spec_check_bound(const fy_op_spec *spec, const fy_attrs *attrs, fy_error *err) {
  return fy_spec_open_attr(spec, attrs) ? fail_open(err) : FY_OK;
}

// TensorFlow's TensorShapeBase::IsValidShape.
static fy_code check_shape(fy_pshape s, fy_error *err) {
  const char *wrong = NULL;
  int64_t count = 1;
  for (int32_t i = 0; i < s.rank && !wrong; i++) {
    if (s.dims[i] < -1) wrong = "has dimensions with values below -1 (where -1 means unknown)";
    if (s.dims[i] >= 0 && count >= 0 && __builtin_mul_overflow(count, s.dims[i], &count))
      wrong = "is too large (more than 2**63 - 1 entries)";
    if (s.dims[i] < 0) count = -1;  // nothing more is multiplied
  }
  if (!wrong) return FY_OK;
  fy_str text;
  fy_str_init(&text);
  fy_shape_print(&text, s.rank, s.dims);
  fy_fail(err, FY_INVALID_ARGUMENT, "Shape %s %s", fy_str_text(&text), wrong);
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

fy_code fy_spec_check_shapes(const fy_op_spec *spec, const fy_attrs *attrs, fy_error *err) {
  for (uint32_t i = 0; i < attrs->n; i++) {
    const fy_attr *a = &attrs->items[i].value;
    if (a->kind != FY_ATTR_SHAPE || !fy_spec_attr(spec, attrs->items[i].name)) continue;
    for (uint32_t k = 0; k < (a->is_list ? a->n : 1); k++)
      FY_TRY(check_shape(a->is_list ? a->v.shapes[k] : a->v.shape, err));
  }
  return FY_OK;
}

// Attributes that TensorFlow's kernels keep in 32 bits, by name: those of one name are alike in all ops.
static const char narrow_ints[] =
    " axis batch_dim batch_dims batch_group_count beam_width begin_mask blank_index block_size "
    "channels"
    " compression concat_dim dct_coefficient_count desired_channels desired_samples dilations"
    " ellipsis_mask end_mask explicit_padding feature_group_count filterbank_channel_count groups"
    " input_quantization_axis k ksize ksizes lhs_dilation lhs_quantization_axis max_attempts"
    " max_outputs maxsplit new_axis_mask ngram_widths num_bits num_sampled num_true"
    " output_quantization_axis output_quantization_max_val output_quantization_min_val output_slot"
    " pad_width precision quantization_axis rates ratio replacement_char rhs_dilation"
    " rhs_quantization_axis rounds seq_dim shrink_axis_mask squeeze_dims stride strides summarize"
    " tensor_debug_mode width window_size window_strides ";

static bool is_narrow(const char *name) {
  const size_t n = strlen(name);
  for (const char *at = narrow_ints; (at = strstr(at, name)); at += n)
    if (at[-1] == ' ' && at[n] == ' ') return true;
  return false;
}

fy_code fy_spec_check_ints(const fy_op_spec *spec, const fy_attrs *attrs, fy_error *err) {
  for (uint32_t i = 0; i < attrs->n; i++) {
    const fy_attr *a = &attrs->items[i].value;
    if (a->kind != FY_ATTR_INT) continue;
    for (uint32_t k = 0; k < (a->is_list ? a->n : 1); k++) {
      const int64_t v = a->is_list ? a->v.ints[k] : a->v.i;
      const char *name = attrs->items[i].name;
      if (FY_LIKELY(v == (int32_t)v) || !fy_spec_attr(spec, name) || !is_narrow(name)) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT, "Attr %s has value %lld out of range for an int32",
                     name, (long long)v);
    }
  }
  return FY_OK;
}

// TensorFlow's AttrValueHasType for anything but the values of types.
static fy_code check_kind(const fy_attr_spec *spec, const fy_attr *value, fy_error *err) {
  if (value->kind == FY_ATTR_PLACEHOLDER) return fail_open(err);
  bool has_value = value->is_list ? value->n > 0 : value->kind != FY_ATTR_NONE;
  if (has_value && (value->kind != spec->kind || value->is_list != spec->is_list)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "AttrValue had value with type '%s%s%s' when '%s' expected",
                   value->is_list ? "list(" : "", kind_name(value->kind), value->is_list ? ")" : "",
                   spec->type);
  }
  if (!has_value && !spec->is_list) {  // an empty list may be written as nothing at all
    return fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue missing value with expected type '%s'",
                   spec->type);
  }
  return FY_OK;
}

static fy_code check_type(fy_dtype type, bool in_list, fy_error *err) {
  if (type == FY_INVALID) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue %s invalid DataType",
                   in_list ? "contains" : "has");
  }
  if (!fy_dtype_valid((int)type)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue has invalid DataType enum: %d", (int)type);
  }
  if (fy_dtype_is_ref(type)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue must not have reference type value of %s",
                   fy_dtype_name(type));
  }
  return FY_OK;
}

static fy_code check_value_kind(const fy_attr_spec *spec, const fy_attr *value, fy_error *err) {
  fy_code code = check_kind(spec, value, err);
  if (!code && spec->kind == FY_ATTR_TYPE) {
    if (!spec->is_list) code = check_type(value->v.type, false, err);
    for (uint32_t i = 0; spec->is_list && i < value->n && !code; i++) {
      code = check_type(value->v.types[i], true, err);
    }
  }
  if (code) fy_error_append(err, "\n\t for attr '%s'", spec->name);
  return code;
}

static fy_code check_minimum(const fy_attr_spec *spec, const fy_attr *value, fy_error *err) {
  int64_t have = spec->is_list ? (int64_t)value->n : value->v.i;
  if (!spec->has_minimum || have >= spec->minimum) return FY_OK;
  if (!spec->is_list && spec->kind != FY_ATTR_INT) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s for attr '%s' of %lld must be at least minimum %lld",
                 spec->is_list ? "Length" : "Value", spec->name, (long long)have,
                 (long long)spec->minimum);
}

static fy_code check_allowed_type(const fy_attr_spec *spec, fy_dtype type, fy_error *err) {
  if ((unsigned)type < 64 && (spec->allowed_types >> type & 1)) return FY_OK;
  fy_fail(err, FY_INVALID_ARGUMENT,
          "Value for attr '%s' of %s is not in the list of allowed values: ", spec->name,
          fy_dtype_name(type));
  const char *comma = "";
  for (const fy_dtype *t = spec->allowed_list; t && *t; t++, comma = ", ") {
    fy_error_append(err, "%s%s", comma, fy_dtype_name(*t));
  }
  return FY_INVALID_ARGUMENT;
}

static fy_code check_allowed_string(const fy_attr_spec *spec, fy_view value, fy_error *err) {
  for (const char *const *s = spec->allowed_strings; *s; s++) {
    if (fy_view_is(value, *s)) return FY_OK;
  }
  fy_fail(err, FY_INVALID_ARGUMENT,
          "Value for attr '%s' of \"%.*s\" is not in the list of allowed values: ", spec->name,
          (int)(value.n < 1000 ? value.n : 1000), value.p ? value.p : "");
  const char *comma = "";
  for (const char *const *s = spec->allowed_strings; *s; s++, comma = ", ") {
    fy_error_append(err, "%s\"%s\"", comma, *s);
  }
  return FY_INVALID_ARGUMENT;
}

fy_code fy_spec_check_attr(const fy_attr_spec *spec, const fy_attr *value, fy_error *err) {
  FY_TRY(check_value_kind(spec, value, err));
  FY_TRY(check_minimum(spec, value, err));
  if (spec->kind == FY_ATTR_TYPE && spec->allowed_types) {
    if (!spec->is_list) return check_allowed_type(spec, value->v.type, err);
    for (uint32_t i = 0; i < value->n; i++) {
      FY_TRY(check_allowed_type(spec, value->v.types[i], err));
    }
  } else if (spec->kind == FY_ATTR_STRING && spec->allowed_strings) {
    if (!spec->is_list) return check_allowed_string(spec, value->v.s, err);
    for (uint32_t i = 0; i < value->n; i++) {
      FY_TRY(check_allowed_string(spec, value->v.strings[i], err));
    }
  }
  return FY_OK;
}

static void append_spec(fy_error *err, const char *format, const fy_op_spec *spec) {
  fy_str text;
  fy_str_init(&text);
  fy_spec_print(&text, spec);
  fy_error_append(err, "%s%s", format, fy_str_text(&text));
  fy_str_free(&text);
}

// TensorFlow walks a hash map here; latest declared first is the order it nearly always shows.
static fy_code fail_missing(const fy_op_spec *spec, const fy_attrs *attrs, size_t missing,
                            const char *node_name, fy_error *err) {
  fy_fail(err, FY_INVALID_ARGUMENT, "NodeDef missing attr%s '", missing == 1 ? "" : "s");
  const char *between = "";
  for (size_t i = spec->num_attrs; i-- > 0;) {
    if (fy_attrs_get(attrs, spec->attrs[i].name)) continue;
    fy_error_append(err, "%s%s", between, spec->attrs[i].name);
    between = "', '";
  }
  append_spec(err, "' from ", spec);
  fy_error_append(err, "; NodeDef: {{node %s}}", node_name);
  return FY_INVALID_ARGUMENT;
}

fy_code fy_spec_check_attrs(const fy_op_spec *spec, const fy_attrs *attrs, const char *node_name,
                            fy_error *err) {
  size_t missing = 0;
  for (size_t i = 0; i < spec->num_attrs; i++) {
    const fy_attr *value = fy_attrs_get(attrs, spec->attrs[i].name);
    if (!value) {
      missing++;
      continue;
    }
    if (value->kind == FY_ATTR_PLACEHOLDER && value->v.s.n) continue;  // known when instantiated
    fy_code code = fy_spec_check_attr(&spec->attrs[i], value, err);
    if (code) {
      fy_error_append(err, "\n\t; NodeDef: {{node %s}}; ", node_name);
      append_spec(err, "", spec);
      return code;
    }
  }
  return missing ? fail_missing(spec, attrs, missing, node_name, err) : FY_OK;
}

static bool owns_memory(const fy_attr *a) {
  if (a->is_list) return a->n > 0;
  switch (a->kind) {
    case FY_ATTR_STRING: return a->v.s.n > 0;
    case FY_ATTR_SHAPE: return a->v.shape.rank > 0;
    case FY_ATTR_TENSOR:
    case FY_ATTR_FUNC: return true;
    default: return false;
  }
}

fy_code fy_spec_add_defaults(const fy_op_spec *spec, fy_attrs *attrs, fy_arena *arena,
                             fy_error *err) {
  for (size_t i = 0; i < spec->num_attrs; i++) {
    const fy_attr_spec *a = &spec->attrs[i];
    if (!a->has_default || fy_attrs_get(attrs, a->name)) continue;
    fy_attr copy = a->default_value;
    if (owns_memory(&copy)) FY_TRY(fy_attr_copy(&copy, &a->default_value, arena, err));
    FY_TRY(fy_attrs_set(attrs, arena, a->name, &copy, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- arguments
enum { MAX_ARGS = 1 << 24 };  // flat; a hostile graph must not make us allocate gigabytes

static fy_code need(const fy_attrs *attrs, const char *name, fy_attr_kind kind, bool is_list,
                    const fy_attr **out, fy_error *err) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  *out = a;
  if (!a) return fy_fail(err, FY_INVALID_ARGUMENT, "No attr named '%s' in NodeDef:", name);
  if (a->kind == FY_ATTR_PLACEHOLDER) return fail_open(err);
  if (a->is_list != is_list || (a->kind != kind && !(is_list && a->n == 0))) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "AttrValue had value with type '%s%s%s' when '%s%s%s' expected\n\t for attr '%s'",
        a->is_list ? "list(" : "", kind_name(a->kind), a->is_list ? ")" : "",
        is_list ? "list(" : "", kind_name(kind), is_list ? ")" : "", name);
  }
  return FY_OK;
}

// How many tensors |arg| stands for, and their types: one for all, or a list (|*types|).
static fy_code read_arg(const fy_arg_spec *arg, const fy_attrs *attrs, int64_t *count,
                        fy_dtype *type, const fy_dtype **types, fy_error *err) {
  const fy_attr *a = NULL;
  *count = 1;
  *type = arg->type;
  *types = NULL;
  if (arg->type_list_attr) {
    FY_TRY(need(attrs, arg->type_list_attr, FY_ATTR_TYPE, true, &a, err));
    *count = a->n;
    *types = a->v.types;
    return FY_OK;
  }
  if (arg->number_attr) {
    FY_TRY(need(attrs, arg->number_attr, FY_ATTR_INT, false, &a, err));
    *count = a->v.i;
    if (*count > INT32_MAX || *count < INT32_MIN) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Number of outputs is too big: %lld",
                     (long long)*count);
    }
    if (*count < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Value for number_attr() %lld < 0",
                     (long long)*count);
    }
  }
  if (arg->type_attr) {
    a = fy_attrs_get(attrs, arg->type_attr);
    *type = FY_INVALID;  // TensorFlow's type of an argument that a caller is to choose
    if (a && a->kind == FY_ATTR_PLACEHOLDER) return FY_OK;
    FY_TRY(need(attrs, arg->type_attr, FY_ATTR_TYPE, false, &a, err));
    *type = a->v.type;
  }
  return FY_OK;
}

static fy_dtype maybe_ref(const fy_arg_spec *arg, fy_dtype type) {
  return arg->is_ref && !fy_dtype_is_ref(type) ? (fy_dtype)((int)type + FY_REF_BIT) : type;
}

fy_code fy_spec_arg_types(const fy_op_spec *spec, bool outputs, const fy_attrs *attrs,
                          fy_arena *arena, fy_dtype **out_types, int *out_count, fy_error *err) {
  const fy_arg_spec *args = outputs ? spec->outputs : spec->inputs;
  size_t num_args = outputs ? spec->num_outputs : spec->num_inputs;
  int64_t total = 0, count;
  fy_dtype type;
  const fy_dtype *types;
  *out_types = NULL;
  *out_count = 0;
  for (size_t i = 0; i < num_args; i++) {
    FY_TRY(read_arg(&args[i], attrs, &count, &type, &types, err));
    total += count;
  }
  if (total > MAX_ARGS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Number of outputs is too big: %lld",
                   (long long)total);
  }
  fy_dtype *flat = fy_arena_array(arena, (size_t)total + 1, sizeof *flat);
  if (!flat) return fy_fail_oom(err, ((size_t)total + 1) * sizeof *flat);
  int n = 0;
  for (size_t i = 0; i < num_args; i++) {
    FY_TRY(read_arg(&args[i], attrs, &count, &type, &types, err));
    for (int64_t k = 0; k < count; k++) flat[n++] = maybe_ref(&args[i], types ? types[k] : type);
  }
  *out_types = flat;
  *out_count = n;
  return FY_OK;
}

fy_code fy_spec_arg_range(const fy_op_spec *spec, bool outputs, int index, const fy_attrs *attrs,
                          int *begin, int *end, fy_error *err) {
  const fy_arg_spec *args = outputs ? spec->outputs : spec->inputs;
  int num_args = outputs ? spec->num_outputs : spec->num_inputs;
  int64_t at = 0, count = 0;
  fy_dtype type;
  const fy_dtype *types;
  *begin = *end = 0;
  if (index < 0 || index >= num_args) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Op %s has no argument %d", spec->name, index);
  }
  for (int i = 0; i <= index; i++) {
    at += count;
    FY_TRY(read_arg(&args[i], attrs, &count, &type, &types, err));
  }
  if (at + count > MAX_ARGS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Number of outputs is too big: %lld",
                   (long long)(at + count));
  }
  *begin = (int)at;
  *end = (int)(at + count);
  return FY_OK;
}

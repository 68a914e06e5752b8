// SPDX-License-Identifier: Apache-2.0
// opdef_proto.c: see opdef_proto.h. protobuf-c wants writable pointers, but only reads ours.

#include "graph/opdef_proto.h"

#include <string.h>

#include "ops/spec_table.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

static char *lend(const char *s) {
  return (char *)(uintptr_t)(s ? s : "");
}

// ---------------------------------------------------------------- spec -> message
static fy_code write_args(const fy_arg_spec *args, size_t n, fy_arena *arena,
                          Tensorflow__OpDef__ArgDef ***out, fy_error *err) {
  Tensorflow__OpDef__ArgDef **list = fy_arena_array(arena, n + 1, sizeof *list);
  if (!list) return fy_fail_oom(err, (n + 1) * sizeof *list);
  for (size_t i = 0; i < n; i++) {
    Tensorflow__OpDef__ArgDef *a = fy_wire_new(&tensorflow__op_def__arg_def__descriptor, arena);
    if (!a) return fy_fail_oom(err, sizeof *a);
    a->name = lend(args[i].name);
    a->type = (Tensorflow__DataType)args[i].type;
    a->type_attr = lend(args[i].type_attr);
    a->number_attr = lend(args[i].number_attr);
    a->type_list_attr = lend(args[i].type_list_attr);
    a->is_ref = args[i].is_ref;
    list[i] = a;
  }
  *out = list;
  return FY_OK;
}

static fy_code write_allowed(const fy_attr_spec *spec, fy_arena *arena, Tensorflow__AttrValue **out,
                             fy_error *err) {
  fy_attr list = {.is_list = true};
  if (spec->allowed_list) {
    list.kind = FY_ATTR_TYPE;
    while (spec->allowed_list[list.n]) list.n++;
    list.v.types = (fy_dtype *)(uintptr_t)spec->allowed_list;
  } else if (spec->allowed_strings) {
    list.kind = FY_ATTR_STRING;
    while (spec->allowed_strings[list.n]) list.n++;
    list.v.strings = fy_arena_array(arena, list.n + 1, sizeof *list.v.strings);
    if (!list.v.strings) return fy_fail_oom(err, list.n * sizeof *list.v.strings);
    for (uint32_t i = 0; i < list.n; i++) list.v.strings[i] = fy_view_of(spec->allowed_strings[i]);
  } else {
    return FY_OK;
  }
  return fy_wire_attr_write(&list, arena, out, err);
}

static fy_code write_attrs(const fy_op_spec *spec, fy_arena *arena,
                           Tensorflow__OpDef__AttrDef ***out, fy_error *err) {
  size_t n = spec->num_attrs;
  Tensorflow__OpDef__AttrDef **list = fy_arena_array(arena, n + 1, sizeof *list);
  if (!list) return fy_fail_oom(err, (n + 1) * sizeof *list);
  for (size_t i = 0; i < n; i++) {
    const fy_attr_spec *from = &spec->attrs[i];
    Tensorflow__OpDef__AttrDef *a = fy_wire_new(&tensorflow__op_def__attr_def__descriptor, arena);
    if (!a) return fy_fail_oom(err, sizeof *a);
    a->name = lend(from->name);
    a->type = lend(from->type);
    a->has_minimum = from->has_minimum;
    a->minimum = from->has_minimum ? from->minimum : 0;
    if (from->has_default) {
      FY_TRY(fy_wire_attr_write(&from->default_value, arena, &a->default_value, err));
    }
    FY_TRY(write_allowed(from, arena, &a->allowed_values, err));
    list[i] = a;
  }
  *out = list;
  return FY_OK;
}

fy_code fy_opdef_write(const fy_op_spec *spec, fy_arena *arena, Tensorflow__OpDef **out,
                       fy_error *err) {
  *out = NULL;
  Tensorflow__OpDef *def = fy_wire_new(&tensorflow__op_def__descriptor, arena);
  if (!def) return fy_fail_oom(err, sizeof *def);
  def->name = lend(spec->name);
  def->n_input_arg = spec->num_inputs;
  def->n_output_arg = spec->num_outputs;
  def->n_attr = spec->num_attrs;
  FY_TRY(write_args(spec->inputs, spec->num_inputs, arena, &def->input_arg, err));
  FY_TRY(write_args(spec->outputs, spec->num_outputs, arena, &def->output_arg, err));
  FY_TRY(write_attrs(spec, arena, &def->attr, err));
  def->is_stateful = !!(spec->flags & FY_SPEC_STATEFUL);
  def->is_commutative = !!(spec->flags & FY_SPEC_COMMUTATIVE);
  def->is_aggregate = !!(spec->flags & FY_SPEC_AGGREGATE);
  def->allows_uninitialized_input = !!(spec->flags & FY_SPEC_UNINITIALIZED_OK);
  def->is_distributed_communication = !!(spec->flags & FY_SPEC_DISTRIBUTED);
  if (spec->deprecated_version) {
    def->deprecation = fy_wire_new(&tensorflow__op_deprecation__descriptor, arena);
    if (!def->deprecation) return fy_fail_oom(err, sizeof *def->deprecation);
    def->deprecation->version = spec->deprecated_version;
    def->deprecation->explanation = lend(spec->deprecated_text);
  }
  *out = def;
  return FY_OK;
}

// ---------------------------------------------------------------- message -> spec
static bool copy_text(fy_arena *arena, const char *s, const char **out) {
  *out = s && *s ? fy_arena_strdup(arena, s) : NULL;
  return *out || !s || !*s;
}

static bool copy_name(fy_arena *arena, const char *s, const char **out) {
  *out = fy_arena_strdup(arena, s ? s : "");
  return *out != NULL;
}

static fy_code read_args(Tensorflow__OpDef__ArgDef *const *from, size_t n, fy_arena *arena,
                         const fy_arg_spec **out, fy_error *err) {
  fy_arg_spec *args = fy_arena_array(arena, n + 1, sizeof *args);
  if (!args) return fy_fail_oom(err, (n + 1) * sizeof *args);
  for (size_t i = 0; i < n; i++) {
    const Tensorflow__OpDef__ArgDef *a = from[i];
    if (a->type != 0 && !fy_dtype_valid((int)a->type)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Argument '%s' has invalid DataType enum: %d",
                     a->name, (int)a->type);
    }
    args[i].type = (fy_dtype)a->type;
    args[i].is_ref = a->is_ref;
    if (!copy_name(arena, a->name, &args[i].name) ||
        !copy_text(arena, a->type_attr, &args[i].type_attr) ||
        !copy_text(arena, a->number_attr, &args[i].number_attr) ||
        !copy_text(arena, a->type_list_attr, &args[i].type_list_attr))
      return fy_fail_oom(err, sizeof *args);
  }
  *out = args;
  return FY_OK;
}

static fy_code read_allowed(const Tensorflow__AttrValue *proto, fy_arena *arena, fy_attr_spec *out,
                            fy_error *err) {
  fy_attr list;
  FY_TRY(fy_wire_attr_read(proto, arena, NULL, &list, err));
  if (!list.is_list || list.n == 0) return FY_OK;
  if (list.kind == FY_ATTR_TYPE && out->kind == FY_ATTR_TYPE) {
    fy_dtype *types = fy_arena_array(arena, (size_t)list.n + 1, sizeof *types);
    if (!types) return fy_fail_oom(err, list.n * sizeof *types);
    for (uint32_t i = 0; i < list.n; i++) {
      types[i] = list.v.types[i];
      if ((int)types[i] <= 0 || (int)types[i] >= FY_DTYPE_COUNT) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "Attr '%s' allows invalid DataType enum: %d",
                       out->name, (int)types[i]);
      }
      out->allowed_types |= 1ull << types[i];
    }
    out->allowed_list = types;
    return FY_OK;
  }
  if (list.kind == FY_ATTR_STRING && out->kind == FY_ATTR_STRING) {
    const char **strings = fy_arena_array(arena, (size_t)list.n + 1, sizeof *strings);
    if (!strings) return fy_fail_oom(err, list.n * sizeof *strings);
    for (uint32_t i = 0; i < list.n; i++) {
      strings[i] = fy_arena_strndup(arena, list.v.strings[i].p, list.v.strings[i].n);
      if (!strings[i]) return fy_fail_oom(err, list.v.strings[i].n);
    }
    out->allowed_strings = strings;
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "Support for allowed_values not implemented for type %s",
                 out->type);
}

static fy_code read_attr(const Tensorflow__OpDef__AttrDef *from, fy_arena *arena, fy_attr_spec *out,
                         fy_error *err) {
  if (!copy_name(arena, from->name, &out->name)) return fy_fail_oom(err, sizeof *out);
  const char *type = from->type ? from->type : "";
  out->type = fy_spec_type_name(type, strlen(type), &out->kind, &out->is_list);
  if (!out->type) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Unrecognized type '%s' in attr '%s'", type,
                   out->name);
  }
  out->has_minimum = from->has_minimum;
  out->minimum = from->minimum;
  if (from->allowed_values) FY_TRY(read_allowed(from->allowed_values, arena, out, err));
  if (!from->default_value) return FY_OK;
  out->has_default = true;
  FY_TRY(fy_wire_attr_read(from->default_value, arena, NULL, &out->default_value, err));
  if (out->is_list && !out->default_value.n) {  // an empty list does not say of what
    out->default_value.is_list = true;
    out->default_value.kind = out->kind;
  }
  return FY_OK;
}

static uint16_t read_flags(const Tensorflow__OpDef *def) {
  return (uint16_t)((def->is_stateful ? FY_SPEC_STATEFUL : 0) |
                    (def->is_commutative ? FY_SPEC_COMMUTATIVE : 0) |
                    (def->is_aggregate ? FY_SPEC_AGGREGATE : 0) |
                    (def->allows_uninitialized_input ? FY_SPEC_UNINITIALIZED_OK : 0) |
                    (def->is_distributed_communication ? FY_SPEC_DISTRIBUTED : 0));
}

fy_code fy_opdef_read(const Tensorflow__OpDef *def, fy_arena *arena, fy_op_spec **out,
                      fy_error *err) {
  *out = NULL;
  if (def->n_input_arg > UINT16_MAX || def->n_output_arg > UINT16_MAX || def->n_attr > UINT16_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Op %s has too many attributes or arguments",
                   def->name ? def->name : "");
  }
  fy_op_spec *spec = fy_arena_zalloc(arena, sizeof *spec);
  fy_attr_spec *attrs = fy_arena_array(arena, def->n_attr + 1, sizeof *attrs);
  if (!spec || !attrs || !copy_name(arena, def->name, &spec->name)) {
    return fy_fail_oom(err, sizeof *spec);
  }
  spec->num_inputs = (uint16_t)def->n_input_arg;
  spec->num_outputs = (uint16_t)def->n_output_arg;
  spec->num_attrs = (uint16_t)def->n_attr;
  spec->attrs = attrs;
  spec->flags = read_flags(def);
  spec->cpu_kernels = spec->kernels = "";
  FY_TRY(read_args(def->input_arg, def->n_input_arg, arena, &spec->inputs, err));
  FY_TRY(read_args(def->output_arg, def->n_output_arg, arena, &spec->outputs, err));
  for (size_t i = 0; i < def->n_attr; i++) {
    fy_code code = read_attr(def->attr[i], arena, &attrs[i], err);
    if (code) {
      if (err) fy_error_append(err, "\n\t in Op '%s'", spec->name);
      return code;
    }
  }
  if (def->deprecation) {
    spec->deprecated_version = def->deprecation->version;
    if (!copy_name(arena, def->deprecation->explanation, &spec->deprecated_text)) {
      return fy_fail_oom(err, sizeof *spec);
    }
  }
  *out = spec;
  return FY_OK;
}

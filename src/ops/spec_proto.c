// SPDX-License-Identifier: Apache-2.0
// spec_proto.c: see spec_proto.h. protobuf-c wants writable pointers, but only reads ours.

#include "ops/spec_proto.h"

#include <string.h>

#include "ops/spec_table.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

static char *borrow(const char *s) {
  return (char *)(uintptr_t)(s ? s : "");
}

// ---------------------------------------------------------------- to OpDef
static fy_code write_args(const fy_arg_spec *args, size_t n, fy_arena *arena, size_t *out_n,
                          Tensorflow__OpDef__ArgDef ***out, fy_error *err) {
  *out = fy_arena_array(arena, n, sizeof **out);
  if (!*out) return fy_fail_oom(err, n * sizeof **out);
  for (size_t i = 0; i < n; i++) {
    Tensorflow__OpDef__ArgDef *a = fy_wire_new(&tensorflow__op_def__arg_def__descriptor, arena);
    if (!a) return fy_fail_oom(err, sizeof *a);
    a->name = borrow(args[i].name);
    a->type = (Tensorflow__DataType)args[i].type;
    a->type_attr = borrow(args[i].type_attr);
    a->number_attr = borrow(args[i].number_attr);
    a->type_list_attr = borrow(args[i].type_list_attr);
    a->is_ref = args[i].is_ref;
    (*out)[i] = a;
  }
  *out_n = n;
  return FY_OK;
}

static fy_code write_allowed(const fy_attr_spec *a, fy_arena *arena, Tensorflow__AttrValue **out,
                             fy_error *err) {
  fy_attr list = {.is_list = true};
  if (a->allowed_list) {
    list.kind = FY_ATTR_TYPE;
    while (a->allowed_list[list.n]) list.n++;
    list.v.types = fy_arena_memdup(arena, a->allowed_list, list.n * sizeof *list.v.types);
    if (!list.v.types) return fy_fail_oom(err, list.n);
  } else if (a->allowed_strings) {
    list.kind = FY_ATTR_STRING;
    while (a->allowed_strings[list.n]) list.n++;
    list.v.strings = fy_arena_array(arena, list.n, sizeof *list.v.strings);
    if (!list.v.strings) return fy_fail_oom(err, list.n);
    for (uint32_t i = 0; i < list.n; i++) list.v.strings[i] = fy_view_of(a->allowed_strings[i]);
  } else {
    return FY_OK;
  }
  return fy_wire_attr_write(&list, arena, out, err);
}

// The full types that first outputs have (the letters a, b … of opdefs.tsv), as FullTypeDefs.
#define VAR(n, name)   "\x08\x01\x1a" n name
#define TENSOR(n, var) "\x12" n "\x08\xe8\x07\x12" var
// FOR_EACH(PRODUCT, TENSOR(VAR), VAR)
#define EACH(n, tensor, m, var) "\x12" n "\x08\x14\x12\x02\x08\x03" tensor "\x12" m var
#define OUTPUT_TYPES \
  EACH("/", TENSOR("\x15", "\x10" VAR("\x0c", "output_types")), "\x10", VAR("\x0c", "output_types"))
#define TOUTPUT_TYPES                                                    \
  EACH("1", TENSOR("\x16", "\x11" VAR("\x0d", "Toutput_types")), "\x11", \
       VAR("\x0d", "Toutput_types"))
static const char *const FULL_TYPES[] = {
    "\x08\xf6N" OUTPUT_TYPES,                                            // DATASET
    "\x08\xf6N\x12\x02\x08\x02",                                         // DATASET(ANY)
    "\x08\xe9\x07" TENSOR("\x16", "\x11" VAR("\x0d", "element_dtype")),  // ARRAY
    "\x08\xf6N" TENSOR("\x08", "\x03\x08\xd6\x01"),                      // DATASET(TENSOR(STRING))
    "\x08\xea\x07" OUTPUT_TYPES,                                         // OPTIONAL
    "\x08\xdaO",                                                         // MUTEX_LOCK
    "\x08\xea\x07" TOUTPUT_TYPES,
    "\x08\xf6N" TOUTPUT_TYPES,
    "\x08\xf7N\x12\x0b" VAR("\x07", "Tvalues"),      // RAGGED
    "\x08\xed\x07\x12\x0c" VAR("\x08", "out_type"),  // SHAPE_TENSOR
    "\x08\xf6N" TENSOR("\x10", "\x0b" VAR("\x07", "Tvalues")),
};

fy_code fy_spec_full_type(const fy_op_spec *spec, fy_arena *arena, Tensorflow__FullTypeDef **out,
                          fy_error *err) {
  size_t which = spec->flags / FY_SPEC_FULL_TYPE;
  ProtobufCMessage *type = NULL;
  *out = NULL;
  if (!which || which > sizeof FULL_TYPES / sizeof *FULL_TYPES) return FY_OK;
  const char *bytes = FULL_TYPES[which - 1];
  FY_TRY(fy_wire_unpack(&tensorflow__full_type_def__descriptor, bytes, strlen(bytes), NULL, arena,
                        &type, err));
  *out = (Tensorflow__FullTypeDef *)type;
  return FY_OK;
}

fy_code fy_spec_to_opdef(const fy_op_spec *spec, fy_arena *arena, Tensorflow__OpDef **out,
                         fy_error *err) {
  Tensorflow__OpDef *def = fy_wire_new(&tensorflow__op_def__descriptor, arena);
  *out = NULL;
  if (!def) return fy_fail_oom(err, sizeof *def);
  def->name = borrow(spec->name);
  FY_TRY(
      write_args(spec->inputs, spec->num_inputs, arena, &def->n_input_arg, &def->input_arg, err));
  FY_TRY(write_args(spec->outputs, spec->num_outputs, arena, &def->n_output_arg, &def->output_arg,
                    err));
  if (def->n_output_arg)
    FY_TRY(fy_spec_full_type(spec, arena, &def->output_arg[0]->experimental_full_type, err));
  def->attr = fy_arena_array(arena, spec->num_attrs, sizeof *def->attr);
  if (!def->attr) return fy_fail_oom(err, spec->num_attrs);
  for (size_t i = 0; i < spec->num_attrs; i++) {
    const fy_attr_spec *from = &spec->attrs[i];
    Tensorflow__OpDef__AttrDef *a = fy_wire_new(&tensorflow__op_def__attr_def__descriptor, arena);
    if (!a) return fy_fail_oom(err, sizeof *a);
    a->name = borrow(from->name);
    a->type = borrow(from->type);
    a->has_minimum = from->has_minimum;
    a->minimum = from->minimum;
    if (from->has_default)
      FY_TRY(fy_wire_attr_write(&from->default_value, arena, &a->default_value, err));
    FY_TRY(write_allowed(from, arena, &a->allowed_values, err));
    def->attr[def->n_attr++] = a;
  }
  if (spec->deprecated_version) {
    def->deprecation = fy_wire_new(&tensorflow__op_deprecation__descriptor, arena);
    if (!def->deprecation) return fy_fail_oom(err, sizeof *def->deprecation);
    def->deprecation->version = spec->deprecated_version;
    def->deprecation->explanation = borrow(spec->deprecated_text);
  }
  def->is_stateful = (spec->flags & FY_SPEC_STATEFUL) != 0;
  def->is_commutative = (spec->flags & FY_SPEC_COMMUTATIVE) != 0;
  def->is_aggregate = (spec->flags & FY_SPEC_AGGREGATE) != 0;
  def->allows_uninitialized_input = (spec->flags & FY_SPEC_UNINITIALIZED_OK) != 0;
  def->is_distributed_communication = (spec->flags & FY_SPEC_DISTRIBUTED) != 0;
  *out = def;
  return FY_OK;
}

// ---------------------------------------------------------------- from OpDef
typedef struct reader {
  const Tensorflow__OpDef *def;
  fy_arena *arena;
  fy_error *err;
} reader;

static fy_code copy_text(reader *r, const char *from, const char **out) {
  *out = fy_arena_strdup(r->arena, from ? from : "");
  return *out ? FY_OK : fy_fail_oom(r->err, 1);
}

static fy_code copy_optional(reader *r, const char *from, const char **out) {
  *out = NULL;
  return from && *from ? copy_text(r, from, out) : FY_OK;
}

static const fy_attr_spec *need_attr(reader *r, const fy_op_spec *spec, const char *name,
                                     const char *type) {
  const fy_attr_spec *a = fy_spec_attr(spec, name);
  if (a && strcmp(a->type, type) == 0) return a;
  fy_fail(r->err, FY_INVALID_ARGUMENT, "Signature of %s has no attr '%s' of type %s", spec->name,
          name, type);
  return NULL;
}

static fy_code read_args(reader *r, const fy_op_spec *spec, Tensorflow__OpDef__ArgDef **from,
                         size_t n, const fy_arg_spec **out, uint16_t *out_n) {
  fy_arg_spec *args = fy_arena_array(r->arena, n, sizeof *args);
  if (!args) return fy_fail_oom(r->err, n * sizeof *args);
  if (n > UINT16_MAX)
    return fy_fail(r->err, FY_INVALID_ARGUMENT, "%s has too many arguments", spec->name);
  for (size_t i = 0; i < n; i++) {
    const Tensorflow__OpDef__ArgDef *a = from[i];
    FY_TRY(copy_text(r, a->name, &args[i].name));
    FY_TRY(copy_optional(r, a->type_attr, &args[i].type_attr));
    FY_TRY(copy_optional(r, a->number_attr, &args[i].number_attr));
    FY_TRY(copy_optional(r, a->type_list_attr, &args[i].type_list_attr));
    if ((args[i].type_attr && !need_attr(r, spec, args[i].type_attr, "type")) ||
        (args[i].number_attr && !need_attr(r, spec, args[i].number_attr, "int")) ||
        (args[i].type_list_attr && !need_attr(r, spec, args[i].type_list_attr, "list(type)")))
      return FY_INVALID_ARGUMENT;
    int type = (int)a->type;
    bool typed = args[i].type_attr || args[i].type_list_attr;
    if (typed ? type != 0 : !fy_dtype_valid(type))
      return fy_fail(r->err, FY_INVALID_ARGUMENT, "Argument '%s' of %s has no sound type",
                     args[i].name, spec->name);
    args[i].type = (fy_dtype)type;
    args[i].is_ref = a->is_ref;
  }
  *out = args;
  *out_n = (uint16_t)n;
  return FY_OK;
}

static fy_code read_allowed(reader *r, const Tensorflow__AttrValue *from, fy_attr_spec *to) {
  fy_attr list;
  if (!from) return FY_OK;
  FY_TRY(fy_wire_attr_read(from, r->arena, NULL, &list, r->err));
  if (!list.is_list) return FY_OK;
  if (list.kind == FY_ATTR_TYPE) {
    fy_dtype *types = fy_arena_array(r->arena, (size_t)list.n + 1, sizeof *types);
    if (!types) return fy_fail_oom(r->err, list.n);
    for (uint32_t i = 0; i < list.n; i++) {
      types[i] = list.v.types[i];
      if ((unsigned)types[i] < 64) to->allowed_types |= 1ull << types[i];
    }
    to->allowed_list = types;
  } else if (list.kind == FY_ATTR_STRING) {
    const char **strings = fy_arena_array(r->arena, (size_t)list.n + 1, sizeof *strings);
    if (!strings) return fy_fail_oom(r->err, list.n);
    for (uint32_t i = 0; i < list.n; i++) strings[i] = list.v.strings[i].p;
    to->allowed_strings = strings;
  }
  return FY_OK;
}

static fy_code read_attrs(reader *r, fy_op_spec *spec) {
  size_t n = r->def->n_attr;
  fy_attr_spec *attrs = fy_arena_array(r->arena, n, sizeof *attrs);
  if (!attrs) return fy_fail_oom(r->err, n * sizeof *attrs);
  if (n > UINT16_MAX)
    return fy_fail(r->err, FY_INVALID_ARGUMENT, "%s has too many attributes", spec->name);
  for (size_t i = 0; i < n; i++) {
    const Tensorflow__OpDef__AttrDef *a = r->def->attr[i];
    FY_TRY(copy_text(r, a->name, &attrs[i].name));
    attrs[i].type = fy_spec_type_name(a->type, strlen(a->type), &attrs[i].kind, &attrs[i].is_list);
    if (!attrs[i].type)
      return fy_fail(r->err, FY_INVALID_ARGUMENT, "Attr '%s' of %s has the unknown type '%s'",
                     a->name, spec->name, a->type);
    attrs[i].has_minimum = a->has_minimum;
    attrs[i].minimum = a->minimum;
    FY_TRY(read_allowed(r, a->allowed_values, &attrs[i]));
    if (!a->default_value) continue;
    attrs[i].has_default = true;
    FY_TRY(fy_wire_attr_read(a->default_value, r->arena, NULL, &attrs[i].default_value, r->err));
    if (attrs[i].is_list && !attrs[i].default_value.n) {  // an empty list does not say of what
      attrs[i].default_value = (fy_attr){.kind = attrs[i].kind, .is_list = true};
    }
    FY_TRY(fy_spec_check_attr(&attrs[i], &attrs[i].default_value, r->err));
  }
  spec->attrs = attrs;
  spec->num_attrs = (uint16_t)n;
  return FY_OK;
}

fy_code fy_spec_from_opdef(const Tensorflow__OpDef *def, fy_arena *arena, fy_op_spec **out,
                           fy_error *err) {
  static const Tensorflow__OpDef empty = TENSORFLOW__OP_DEF__INIT;
  if (!def) def = &empty;
  reader r = {def, arena, err};
  fy_op_spec *spec = fy_arena_zalloc(arena, sizeof *spec);
  *out = NULL;
  if (!spec) return fy_fail_oom(err, sizeof *spec);
  spec->cpu_kernels = spec->kernels = "";
  FY_TRY(copy_text(&r, def->name, &spec->name));
  FY_TRY(read_attrs(&r, spec));
  FY_TRY(read_args(&r, spec, def->input_arg, def->n_input_arg, &spec->inputs, &spec->num_inputs));
  FY_TRY(
      read_args(&r, spec, def->output_arg, def->n_output_arg, &spec->outputs, &spec->num_outputs));
  unsigned flags = 0;
  if (def->is_stateful) flags |= FY_SPEC_STATEFUL;
  if (def->is_commutative) flags |= FY_SPEC_COMMUTATIVE;
  if (def->is_aggregate) flags |= FY_SPEC_AGGREGATE;
  if (def->allows_uninitialized_input) flags |= FY_SPEC_UNINITIALIZED_OK;
  if (def->is_distributed_communication) flags |= FY_SPEC_DISTRIBUTED;
  spec->flags = (uint16_t)flags;
  if (def->deprecation) {
    spec->deprecated_version = def->deprecation->version;
    FY_TRY(copy_text(&r, def->deprecation->explanation, &spec->deprecated_text));
  }
  *out = spec;
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// eager_attrs.c: attributes of a TFE_Op: setters, types, as a whole. Values are copied into the
// op's arena. Where a setter has no status, a failed allocation leaves the attribute unset, and
// TFE_Execute says that it is missing.

#include <string.h>

#include "api/eager.h"
#include "attr_value.pb-c.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

static bool set(TFE_Op *op, const char *name, const fy_attr *value) {
  return fy_eager_op_set_attr(fy_api_op(op), name, value);
}

static fy_arena *arena_of(const TFE_Op *op) {
  return &fy_api_op(op)->arena;
}

static void *copy(const TFE_Op *op, const void *p, size_t bytes) {
  void *to = fy_arena_alloc(arena_of(op), bytes ? bytes : 1);
  if (to && bytes) memcpy(to, p, bytes);
  return to;
}

// ---------------------------------------------------------------- single values
void TFE_OpSetAttrString(TFE_Op *op, const char *attr_name, const void *value, size_t length) {
  char *text = copy(op, value, length);
  if (text) set(op, attr_name, &(fy_attr){.kind = FY_ATTR_STRING, .v.s = {text, length}});
}

void TFE_OpSetAttrInt(TFE_Op *op, const char *attr_name, int64_t value) {
  set(op, attr_name, &(fy_attr){.kind = FY_ATTR_INT, .v.i = value});
}

void TFE_OpSetAttrFloat(TFE_Op *op, const char *attr_name, float value) {
  set(op, attr_name, &(fy_attr){.kind = FY_ATTR_FLOAT, .v.f = value});
}

void TFE_OpSetAttrBool(TFE_Op *op, const char *attr_name, unsigned char value) {
  set(op, attr_name, &(fy_attr){.kind = FY_ATTR_BOOL, .v.b = value != 0});
}

void TFE_OpSetAttrType(TFE_Op *op, const char *attr_name, TF_DataType value) {
  set(op, attr_name, &(fy_attr){.kind = FY_ATTR_TYPE, .v.type = (fy_dtype)value});
}

static fy_code copy_shape(TFE_Op *op, const char *name, const int64_t *dims, int num_dims,
                          fy_pshape *out, fy_error *err) {
  if (num_dims > FY_MAX_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Value specified for `%s` has %d dimensions which is over the limit of %d.",
                   name, num_dims, FY_MAX_RANK);
  *out = (fy_pshape){-1, NULL};
  if (num_dims < 0) return FY_OK;
  out->rank = num_dims;
  out->dims = copy(op, dims, (size_t)num_dims * sizeof *dims);
  return out->dims ? FY_OK : fy_fail_oom(err, sizeof *dims);
}

void TFE_OpSetAttrShape(TFE_Op *op, const char *attr_name, const int64_t *dims, const int num_dims,
                        TF_Status *out_status) {
  fy_error *err = fy_api_begin(out_status);
  fy_attr a = {.kind = FY_ATTR_SHAPE};
  fy_code code = copy_shape(op, attr_name, dims, num_dims, &a.v.shape, err);
  if (!code && !set(op, attr_name, &a)) code = fy_fail_oom(err, sizeof a);
  fy_api_end(out_status, code);
}

void TFE_OpSetAttrTensor(TFE_Op *op, const char *attr_name, TF_Tensor *tensor, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_attr a = {.kind = FY_ATTR_NONE};
  fy_tensor *clone;
  // Later writes to the client's tensor must not change the attribute.
  fy_code code = fy_tensor_clone(fy_api_tensor(tensor), &clone, err);
  if (!code) {
    a = fy_attr_tensor(arena_of(op), clone);
    fy_tensor_release(clone);
    if (a.kind == FY_ATTR_NONE || !set(op, attr_name, &a)) code = fy_fail_oom(err, sizeof a);
  }
  fy_api_end(status, code);
}

static bool function_of(TFE_Op *op, const TFE_Op *value, fy_func_attr *out) {
  const fy_eager_op *f = fy_api_op(value);
  size_t n = strlen(f->name);
  fy_attrs attrs;
  out->name = (fy_view){copy(op, f->name, n), n};
  return out->name.p && fy_eager_op_attrs(f, false, arena_of(op), &attrs, NULL) == FY_OK &&
         fy_attrs_copy(&out->attrs, &attrs, arena_of(op), NULL) == FY_OK;
}

void TFE_OpSetAttrFunction(TFE_Op *op, const char *attr_name, const TFE_Op *value) {
  fy_func_attr *f = fy_arena_zalloc(arena_of(op), sizeof *f);
  if (f && function_of(op, value, f))
    set(op, attr_name, &(fy_attr){.kind = FY_ATTR_FUNC, .v.func = f});
}

void TFE_OpSetAttrFunctionName(TFE_Op *op, const char *attr_name, const char *data, size_t length) {
  fy_func_attr *f = fy_arena_zalloc(arena_of(op), sizeof *f);
  char *name = copy(op, data, length);
  if (!f || !name) return;
  f->name = (fy_view){name, length};
  set(op, attr_name, &(fy_attr){.kind = FY_ATTR_FUNC, .v.func = f});
}

// ---------------------------------------------------------------- lists
static fy_attr list_of(fy_attr_kind kind, int n) {
  return (fy_attr){.kind = kind, .is_list = true, .n = n > 0 ? (uint32_t)n : 0};
}

void TFE_OpSetAttrStringList(TFE_Op *op, const char *attr_name, const void *const *values,
                             const size_t *lengths, int num_values) {
  fy_attr a = list_of(FY_ATTR_STRING, num_values);
  a.v.strings = fy_arena_array(arena_of(op), (size_t)a.n + 1, sizeof *a.v.strings);
  if (!a.v.strings) return;
  for (uint32_t i = 0; i < a.n; i++) {
    a.v.strings[i] = (fy_view){copy(op, values[i], lengths[i]), lengths[i]};
    if (!a.v.strings[i].p) return;
  }
  set(op, attr_name, &a);
}

void TFE_OpSetAttrIntList(TFE_Op *op, const char *attr_name, const int64_t *values,
                          int num_values) {
  fy_attr a = list_of(FY_ATTR_INT, num_values);
  if ((a.v.ints = copy(op, values, a.n * sizeof *values))) set(op, attr_name, &a);
}

void TFE_OpSetAttrFloatList(TFE_Op *op, const char *attr_name, const float *values,
                            int num_values) {
  fy_attr a = list_of(FY_ATTR_FLOAT, num_values);
  if ((a.v.floats = copy(op, values, a.n * sizeof *values))) set(op, attr_name, &a);
}

void TFE_OpSetAttrBoolList(TFE_Op *op, const char *attr_name, const unsigned char *values,
                           int num_values) {
  fy_attr a = list_of(FY_ATTR_BOOL, num_values);
  a.v.bools = fy_arena_array(arena_of(op), (size_t)a.n + 1, sizeof *a.v.bools);
  if (!a.v.bools) return;
  for (uint32_t i = 0; i < a.n; i++) a.v.bools[i] = values[i] != 0;
  set(op, attr_name, &a);
}

void TFE_OpSetAttrTypeList(TFE_Op *op, const char *attr_name, const TF_DataType *values,
                           int num_values) {
  fy_attr a = list_of(FY_ATTR_TYPE, num_values);
  a.v.types = fy_arena_array(arena_of(op), (size_t)a.n + 1, sizeof *a.v.types);
  if (!a.v.types) return;
  for (uint32_t i = 0; i < a.n; i++) a.v.types[i] = (fy_dtype)values[i];
  set(op, attr_name, &a);
}

void TFE_OpSetAttrShapeList(TFE_Op *op, const char *attr_name, const int64_t **dims,
                            const int *num_dims, int num_values, TF_Status *out_status) {
  fy_error *err = fy_api_begin(out_status);
  fy_attr a = list_of(FY_ATTR_SHAPE, num_values);
  a.v.shapes = fy_arena_array(arena_of(op), (size_t)a.n + 1, sizeof *a.v.shapes);
  fy_code code = a.v.shapes ? FY_OK : fy_fail_oom(err, sizeof *a.v.shapes);
  for (uint32_t i = 0; !code && i < a.n; i++)
    code = copy_shape(op, attr_name, dims[i], num_dims[i], &a.v.shapes[i], err);
  if (!code && !set(op, attr_name, &a)) code = fy_fail_oom(err, sizeof a);
  fy_api_end(out_status, code);
}

void TFE_OpSetAttrFunctionList(TFE_Op *op, const char *attr_name, const TFE_Op **value,
                               int num_values) {
  fy_attr a = list_of(FY_ATTR_FUNC, num_values);
  a.v.funcs = fy_arena_array(arena_of(op), (size_t)a.n + 1, sizeof *a.v.funcs);
  if (!a.v.funcs) return;
  for (uint32_t i = 0; i < a.n; i++)
    if (!function_of(op, value[i], &a.v.funcs[i])) return;
  set(op, attr_name, &a);
}

void TFE_OpSetAttrValueProto(const TFE_Op *op, const char *attr_name, const void *proto,
                             size_t proto_len, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TFE_Op *changed = (TFE_Op *)(uintptr_t)op;
  fy_arena tmp;
  ProtobufCMessage *m;
  fy_attr a;
  fy_arena_init(&tmp);
  fy_code code =
      fy_wire_unpack(&tensorflow__attr_value__descriptor, proto, proto_len, NULL, &tmp, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Unparseable AttrValue proto");
  if (!code) code = fy_wire_attr_read((Tensorflow__AttrValue *)m, arena_of(op), NULL, &a, err);
  if (!code && !set(changed, attr_name, &a)) code = fy_fail_oom(err, sizeof a);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- types
static TF_AttrType type_of(const fy_attr_spec *spec) {
  switch (spec->kind) {
    case FY_ATTR_STRING: return TF_ATTR_STRING;
    case FY_ATTR_INT: return TF_ATTR_INT;
    case FY_ATTR_FLOAT: return TF_ATTR_FLOAT;
    case FY_ATTR_BOOL: return TF_ATTR_BOOL;
    case FY_ATTR_SHAPE: return TF_ATTR_SHAPE;
    case FY_ATTR_TENSOR: return TF_ATTR_TENSOR;
    case FY_ATTR_FUNC: return TF_ATTR_FUNC;
    case FY_ATTR_PLACEHOLDER: return TF_ATTR_PLACEHOLDER;
    default: return TF_ATTR_TYPE;
  }
}

static TF_AttrType find_type(const fy_eager_op *op, const char *name, unsigned char *is_list,
                             TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_attr_spec *spec = fy_spec_attr(fy_eager_op_spec(op), name);
  // What every function may be told about how to run it.
  if (!spec && !op->op &&
      (strcmp(name, "executor_type") == 0 || strcmp(name, "config_proto") == 0)) {
    *is_list = 0;
    return TF_ATTR_STRING;
  }
  if (!spec) {
    fy_fail(err, FY_INVALID_ARGUMENT, "Attribute '%s' does not exist for this operation", name);
    return TF_ATTR_INT;
  }
  *is_list = spec->is_list;
  return type_of(spec);
}

TF_AttrType TFE_OpGetAttrType(TFE_Op *op, const char *attr_name, unsigned char *is_list,
                              TF_Status *status) {
  return find_type(fy_api_op(op), attr_name, is_list, status);
}

TF_AttrType TFE_OpNameGetAttrType(TFE_Context *ctx, const char *op_or_function_name,
                                  const char *attr_name, unsigned char *is_list,
                                  TF_Status *status) {
  TFE_Op *op = TFE_NewOp(ctx, op_or_function_name, status);
  if (!op) return TF_ATTR_INT;
  TF_AttrType type = find_type(fy_api_op(op), attr_name, is_list, status);
  TFE_DeleteOp(op);
  return type;
}

// ---------------------------------------------------------------- as a whole
const TFE_OpAttrs *TFE_OpGetAttrs(const TFE_Op *op) {
  return (const TFE_OpAttrs *)op;
}

void TFE_OpAddAttrs(TFE_Op *op, const TFE_OpAttrs *attrs) {
  const fy_eager_op *from = (const fy_eager_op *)(const void *)attrs;
  fy_attrs all, own;
  if (fy_eager_op_attrs(from, false, arena_of(op), &all, NULL) ||
      fy_attrs_copy(&own, &all, arena_of(op), NULL))
    return;
  for (uint32_t i = 0; i < own.n; i++) set(op, own.items[i].name, &own.items[i].value);
}

void TFE_OpAttrsSerialize(const TFE_OpAttrs *attrs, TF_Buffer *buf, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_eager_op *op = (const fy_eager_op *)(const void *)attrs;
  fy_arena arena;
  fy_func_attr all = {.name = fy_view_of(op->name)};
  Tensorflow__NameAttrList *m;
  fy_arena_init(&arena);
  fy_code code = fy_eager_op_attrs(op, true, &arena, &all.attrs, err);
  if (!code) code = fy_wire_func_write(&all, &arena, &m, err);
  if (!code) code = fy_api_message_to_buffer(&m->base, buf, err);
  fy_arena_free(&arena);
  fy_api_end(status, code);
}

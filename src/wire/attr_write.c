// SPDX-License-Identifier: Apache-2.0
// attr_write.c: attributes as messages. Plain lists are borrowed, the rest is built in the arena.

#include <string.h>

#include "wire/attr_proto.h"
#include "wire/proto_util.h"

typedef Tensorflow__AttrValue__ListValue list_value;

static ProtobufCBinaryData bytes_of(fy_view s) {
  return (ProtobufCBinaryData){s.n, (uint8_t *)(uintptr_t)s.p};
}

// protobuf-c wants a C string; a view need not end with NUL.
static fy_code c_string(fy_view s, fy_arena *arena, char **out, fy_error *err) {
  if (s.n && memchr(s.p, 0, s.n)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "a function or attribute name holds a NUL");
  }
  *out = fy_arena_strndup(arena, s.n ? s.p : "", s.n);
  return *out ? FY_OK : fy_fail_oom(err, s.n);
}

static fy_code write_booleans(const fy_attr *a, fy_arena *arena, list_value *list, fy_error *err) {
  list->b = fy_arena_array(arena, a->n, sizeof *list->b);
  if (!list->b) return fy_fail_oom(err, a->n);
  for (uint32_t i = 0; i < a->n; i++) list->b[i] = a->v.bools[i];
  list->n_b = a->n;
  return FY_OK;
}

static fy_code write_strings(const fy_attr *a, fy_arena *arena, list_value *list, fy_error *err) {
  list->s = fy_arena_array(arena, a->n, sizeof *list->s);
  if (!list->s) return fy_fail_oom(err, a->n);
  for (uint32_t i = 0; i < a->n; i++) list->s[i] = bytes_of(a->v.strings[i]);
  list->n_s = a->n;
  return FY_OK;
}

static fy_code write_types(const fy_attr *a, fy_arena *arena, list_value *list, fy_error *err) {
  list->type = fy_arena_array(arena, a->n, sizeof *list->type);
  if (!list->type) return fy_fail_oom(err, a->n);
  for (uint32_t i = 0; i < a->n; i++) list->type[i] = (Tensorflow__DataType)a->v.types[i];
  list->n_type = a->n;
  return FY_OK;
}

// Shapes, tensors and functions: lists of messages.
static fy_code write_messages(const fy_attr *a, fy_arena *arena, list_value *list, fy_error *err) {
  void **items = fy_arena_array(arena, a->n, sizeof *items);
  if (!items) return fy_fail_oom(err, a->n);
  if (a->kind == FY_ATTR_SHAPE) {
    list->shape = (Tensorflow__TensorShapeProto **)items;
    for (uint32_t i = 0; i < a->n; i++) {
      FY_TRY(fy_wire_shape_write(&a->v.shapes[i], arena, &list->shape[i], err));
    }
    list->n_shape = a->n;
  } else if (a->kind == FY_ATTR_TENSOR) {
    list->tensor = (Tensorflow__TensorProto **)items;
    for (uint32_t i = 0; i < a->n; i++) {
      FY_TRY(fy_wire_tensor_write(a->v.tensors[i], arena, &list->tensor[i], err));
    }
    list->n_tensor = a->n;
  } else {
    list->func = (Tensorflow__NameAttrList **)items;
    for (uint32_t i = 0; i < a->n; i++) {
      FY_TRY(fy_wire_func_write(&a->v.funcs[i], arena, &list->func[i], err));
    }
    list->n_func = a->n;
  }
  return FY_OK;
}

static fy_code write_list(const fy_attr *a, fy_arena *arena, Tensorflow__AttrValue *proto,
                          fy_error *err) {
  list_value *list = fy_wire_new(&tensorflow__attr_value__list_value__descriptor, arena);
  if (!list) return fy_fail_oom(err, sizeof *list);
  proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_LIST;
  proto->list = list;
  if (a->n == 0) return FY_OK;
  switch (a->kind) {
    case FY_ATTR_STRING: return write_strings(a, arena, list, err);
    case FY_ATTR_INT:
      list->i = a->v.ints;
      list->n_i = a->n;
      return FY_OK;
    case FY_ATTR_FLOAT:
      list->f = a->v.floats;
      list->n_f = a->n;
      return FY_OK;
    case FY_ATTR_BOOL: return write_booleans(a, arena, list, err);
    case FY_ATTR_TYPE: return write_types(a, arena, list, err);
    case FY_ATTR_SHAPE:
    case FY_ATTR_TENSOR:
    case FY_ATTR_FUNC: return write_messages(a, arena, list, err);
    default: return fy_fail(err, FY_INTERNAL, "a list of attribute kind %d", (int)a->kind);
  }
}

fy_code fy_wire_func_write(const fy_func_attr *func, fy_arena *arena,
                           Tensorflow__NameAttrList **out, fy_error *err) {
  *out = NULL;
  Tensorflow__NameAttrList *proto = fy_wire_new(&tensorflow__name_attr_list__descriptor, arena);
  if (!proto) return fy_fail_oom(err, sizeof *proto);
  FY_TRY(c_string(func->name, arena, &proto->name, err));
  FY_TRY(fy_wire_attrs_write(&func->attrs, &tensorflow__name_attr_list__attr_entry__descriptor,
                             arena, &proto->n_attr, (fy_wire_attr_entry ***)&proto->attr, err));
  *out = proto;
  return FY_OK;
}

static fy_code write_value(const fy_attr *a, fy_arena *arena, Tensorflow__AttrValue *proto,
                           fy_error *err) {
  switch (a->kind) {
    case FY_ATTR_NONE: return FY_OK;
    case FY_ATTR_STRING:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_S;
      proto->s = bytes_of(a->v.s);
      return FY_OK;
    case FY_ATTR_INT:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_I;
      proto->i = a->v.i;
      return FY_OK;
    case FY_ATTR_FLOAT:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_F;
      proto->f = a->v.f;
      return FY_OK;
    case FY_ATTR_BOOL:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_B;
      proto->b = a->v.b;
      return FY_OK;
    case FY_ATTR_TYPE:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TYPE;
      proto->type = (Tensorflow__DataType)a->v.type;
      return FY_OK;
    case FY_ATTR_SHAPE:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_SHAPE;
      return fy_wire_shape_write(&a->v.shape, arena, &proto->shape, err);
    case FY_ATTR_TENSOR:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TENSOR;
      if (a->v.form) {
        return fy_wire_unpack(&tensorflow__tensor_proto__descriptor, a->v.form->p, a->v.form->n,
                              NULL, arena, (ProtobufCMessage **)&proto->tensor, err);
      }
      return fy_wire_tensor_write(a->v.tensor, arena, &proto->tensor, err);
    case FY_ATTR_FUNC:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_FUNC;
      return fy_wire_func_write(a->v.func, arena, &proto->func, err);
    case FY_ATTR_PLACEHOLDER:
      proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_PLACEHOLDER;
      return c_string(a->v.s, arena, &proto->placeholder, err);
  }
  return fy_fail(err, FY_INTERNAL, "attribute kind %d", (int)a->kind);
}

fy_code fy_wire_attr_write(const fy_attr *attr, fy_arena *arena, Tensorflow__AttrValue **out,
                           fy_error *err) {
  *out = NULL;
  Tensorflow__AttrValue *proto = fy_wire_new(&tensorflow__attr_value__descriptor, arena);
  if (!proto) return fy_fail_oom(err, sizeof *proto);
  FY_TRY(attr->is_list ? write_list(attr, arena, proto, err)
                       : write_value(attr, arena, proto, err));
  *out = proto;
  return FY_OK;
}

fy_code fy_wire_attrs_write(const fy_attrs *attrs, const ProtobufCMessageDescriptor *entry,
                            fy_arena *arena, size_t *out_n, fy_wire_attr_entry ***out,
                            fy_error *err) {
  *out_n = 0;
  *out = NULL;
  if (attrs->n == 0) return FY_OK;
  fy_wire_attr_entry **list = fy_arena_array(arena, attrs->n, sizeof *list);
  if (!list) return fy_fail_oom(err, attrs->n * sizeof *list);
  for (uint32_t i = 0; i < attrs->n; i++) {
    list[i] = fy_wire_new(entry, arena);
    if (!list[i]) return fy_fail_oom(err, sizeof **list);
    list[i]->key = (char *)(uintptr_t)attrs->items[i].name;
    FY_TRY(fy_wire_attr_write(&attrs->items[i].value, arena, &list[i]->value, err));
  }
  *out = list;
  *out_n = attrs->n;
  return FY_OK;
}

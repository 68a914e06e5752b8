// SPDX-License-Identifier: Apache-2.0
// attr_proto.c: attributes between messages and fy_attr.

#include "wire/attr_proto.h"

#include <string.h>

#include "wire/proto_util.h"

#define SAME_LAYOUT(type)                                                          \
  _Static_assert(sizeof(type) == sizeof(fy_wire_attr_entry) &&                     \
                     offsetof(type, key) == offsetof(fy_wire_attr_entry, key) &&   \
                     offsetof(type, value) == offsetof(fy_wire_attr_entry, value), \
                 "attr maps share one layout")
SAME_LAYOUT(Tensorflow__NameAttrList__AttrEntry);
SAME_LAYOUT(Tensorflow__FunctionDef__AttrEntry);
SAME_LAYOUT(Tensorflow__FunctionDef__ArgAttrs__AttrEntry);

typedef Tensorflow__AttrValue__ListValue list_value;

static fy_code read_view(const ProtobufCBinaryData *b, fy_arena *arena, fy_view *out,
                         fy_error *err) {
  char *copy = fy_arena_strndup(arena, b->len ? (const char *)b->data : "", b->len);
  if (!copy) return fy_fail_oom(err, b->len);
  *out = (fy_view){copy, b->len};
  return FY_OK;
}

static fy_code read_tensor(const Tensorflow__TensorProto *proto, fy_arena *arena,
                           const fy_wire_tensor_options *options, fy_tensor **out, fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_wire_tensor_read(proto, options, &t, err));
  fy_attr held = fy_attr_tensor(arena, t);
  fy_tensor_release(t);
  if (held.kind != FY_ATTR_TENSOR) return fy_fail_oom(err, sizeof *t);
  *out = t;
  return FY_OK;
}

// --- lists ---

typedef struct kind_count {
  fy_attr_kind kind;
  size_t n;
} kind_count;

// The one kind that the list has values of; NONE if it is empty.
static fy_code list_kind(const list_value *list, kind_count *out, fy_error *err) {
  const kind_count all[] = {
      {FY_ATTR_STRING, list->n_s},      {FY_ATTR_INT, list->n_i},
      {FY_ATTR_FLOAT, list->n_f},       {FY_ATTR_BOOL, list->n_b},
      {FY_ATTR_TYPE, list->n_type},     {FY_ATTR_SHAPE, list->n_shape},
      {FY_ATTR_TENSOR, list->n_tensor}, {FY_ATTR_FUNC, list->n_func},
  };
  *out = (kind_count){FY_ATTR_NONE, 0};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].n == 0) continue;
    if (out->n) return fy_fail(err, FY_INVALID_ARGUMENT, "a list has values of two kinds");
    *out = all[i];
  }
  if (out->n > UINT32_MAX) return fy_fail(err, FY_INVALID_ARGUMENT, "a list is too long");
  return FY_OK;
}

static size_t list_element_size(fy_attr_kind kind) {
  switch (kind) {
    case FY_ATTR_STRING: return sizeof(fy_view);
    case FY_ATTR_INT: return sizeof(int64_t);
    case FY_ATTR_FLOAT: return sizeof(float);
    case FY_ATTR_BOOL: return sizeof(bool);
    case FY_ATTR_TYPE: return sizeof(fy_dtype);
    case FY_ATTR_SHAPE: return sizeof(fy_pshape);
    case FY_ATTR_TENSOR: return sizeof(fy_tensor *);
    case FY_ATTR_FUNC: return sizeof(fy_func_attr);
    default: return 1;
  }
}

static fy_code read_list(const list_value *list, fy_arena *arena,
                         const fy_wire_tensor_options *options, fy_attr *out, fy_error *err) {
  kind_count k;
  FY_TRY(list_kind(list, &k, err));
  *out = (fy_attr){.kind = k.kind, .is_list = true, .n = (uint32_t)k.n};
  if (k.n == 0) return FY_OK;
  void *data = fy_arena_array(arena, k.n, list_element_size(k.kind));
  if (!data) return fy_fail_oom(err, k.n);
  out->v.ints = data;
  for (size_t i = 0; i < k.n; i++) {
    switch (k.kind) {
      case FY_ATTR_STRING: FY_TRY(read_view(&list->s[i], arena, &out->v.strings[i], err)); break;
      case FY_ATTR_INT: out->v.ints[i] = list->i[i]; break;
      case FY_ATTR_FLOAT: out->v.floats[i] = list->f[i]; break;
      case FY_ATTR_BOOL: out->v.bools[i] = list->b[i] != 0; break;
      case FY_ATTR_TYPE: out->v.types[i] = (fy_dtype)list->type[i]; break;
      case FY_ATTR_SHAPE:
        FY_TRY(fy_wire_shape_read_any(list->shape[i], arena, &out->v.shapes[i], err));
        break;
      case FY_ATTR_TENSOR:
        FY_TRY(read_tensor(list->tensor[i], arena, options, &out->v.tensors[i], err));
        break;
      default:
        FY_TRY(fy_wire_func_read(list->func[i], arena, options, &out->v.funcs[i], err));
        break;
    }
  }
  return FY_OK;
}

// --- one value ---

static fy_code read_string(const char *s, fy_arena *arena, fy_view *out, fy_error *err) {
  size_t n = s ? strlen(s) : 0;
  char *copy = fy_arena_strndup(arena, n ? s : "", n);
  if (!copy) return fy_fail_oom(err, n);
  *out = (fy_view){copy, n};
  return FY_OK;
}

fy_code fy_wire_func_read(const Tensorflow__NameAttrList *proto, fy_arena *arena,
                          const fy_wire_tensor_options *options, fy_func_attr *out, fy_error *err) {
  *out = (fy_func_attr){.name = FY_VIEW("")};
  FY_TRY(read_string(proto->name, arena, &out->name, err));
  return fy_wire_attrs_read(proto->n_attr, (fy_wire_attr_entry *const *)proto->attr, arena, options,
                            &out->attrs, err);
}

fy_code fy_wire_attr_read(const Tensorflow__AttrValue *proto, fy_arena *arena,
                          const fy_wire_tensor_options *options, fy_attr *out, fy_error *err) {
  *out = (fy_attr){.kind = FY_ATTR_NONE};
  if (!proto) return FY_OK;
  fy_attr a = {.kind = FY_ATTR_NONE};
  switch (proto->value_case) {
    case TENSORFLOW__ATTR_VALUE__VALUE_S:
      a.kind = FY_ATTR_STRING;
      FY_TRY(read_view(&proto->s, arena, &a.v.s, err));
      break;
    case TENSORFLOW__ATTR_VALUE__VALUE_I: a = fy_attr_int(proto->i); break;
    case TENSORFLOW__ATTR_VALUE__VALUE_F: a = fy_attr_float(proto->f); break;
    case TENSORFLOW__ATTR_VALUE__VALUE_B: a = fy_attr_bool(proto->b != 0); break;
    case TENSORFLOW__ATTR_VALUE__VALUE_TYPE:
      a.kind = FY_ATTR_TYPE;
      // A number that is no type is kept: the check against the signature (ops/spec_check.c) names it.
      a.v.type = (fy_dtype)proto->type;
      break;
    case TENSORFLOW__ATTR_VALUE__VALUE_SHAPE:
      a.kind = FY_ATTR_SHAPE;
      FY_TRY(fy_wire_shape_read_any(proto->shape, arena, &a.v.shape, err));
      break;
    case TENSORFLOW__ATTR_VALUE__VALUE_TENSOR:
      a.kind = FY_ATTR_TENSOR;
      FY_TRY(read_tensor(proto->tensor, arena, options, &a.v.tensor, err));
      break;
    case TENSORFLOW__ATTR_VALUE__VALUE_LIST:
      FY_TRY(read_list(proto->list, arena, options, &a, err));
      break;
    case TENSORFLOW__ATTR_VALUE__VALUE_FUNC:
      a.kind = FY_ATTR_FUNC;
      a.v.func = fy_arena_zalloc(arena, sizeof *a.v.func);
      if (!a.v.func) return fy_fail_oom(err, sizeof *a.v.func);
      FY_TRY(fy_wire_func_read(proto->func, arena, options, a.v.func, err));
      break;
    case TENSORFLOW__ATTR_VALUE__VALUE_PLACEHOLDER:
      a.kind = FY_ATTR_PLACEHOLDER;
      FY_TRY(read_string(proto->placeholder, arena, &a.v.s, err));
      break;
    default: break;
  }
  *out = a;
  return FY_OK;
}

fy_code fy_wire_attrs_read(size_t n, fy_wire_attr_entry *const *entries, fy_arena *arena,
                           const fy_wire_tensor_options *options, fy_attrs *out, fy_error *err) {
  *out = (fy_attrs){0};
  for (size_t i = 0; i < n; i++) {
    const char *name = entries[i]->key ? entries[i]->key : "";
    fy_attr value;
    fy_code code = fy_wire_attr_read(entries[i]->value, arena, options, &value, err);
    if (code != FY_OK) {
      if (err) fy_error_prepend(err, "attr '%.100s': ", name);
      return code;
    }
    FY_TRY(fy_attrs_set(out, arena, name, &value, err));
  }
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// graph_get_attr.c: TF_OperationGetAttr…: attributes of an operation.
// Two families, as in TensorFlow: those that look the attribute up by find() leave an earlier
// failure in the status alone and stop; those that use expect() always set the status.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

// The attribute, or NULL with the status set. NULL, too, if the status had failed before.
static const fy_attr *find(TF_Operation *oper, const char *name, TF_Status *status) {
  const fy_node *node = fy_api_node(oper);
  const fy_attr *a = fy_attrs_get(&node->attrs, name);
  if (!a) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "Operation '%s' has no attr named '%s'.",
            node->name, name);
    return NULL;
  }
  return status->error.code == FY_OK ? a : NULL;
}

static const char *kind_name(fy_attr_kind kind) {
  static const char *const names[] = {"",     "string", "int",    "float", "bool",
                                      "type", "shape",  "tensor", "func",  "placeholder"};
  return names[kind];
}

// The attribute if it is of this kind, else NULL with the status set.
static const fy_attr *expect(TF_Operation *oper, const char *name, fy_attr_kind kind, bool is_list,
                             TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_attr *a = fy_attrs_get(&fy_api_node(oper)->attrs, name);
  if (!a) {
    fy_api_fail_no_attr(name, fy_api_node(oper)->name, err);
    return NULL;
  }
  if (a->kind == FY_ATTR_PLACEHOLDER) {
    fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue had value with unexpected type 'placeholder'");
    return NULL;
  }
  bool empty_list = a->is_list && a->n == 0;
  if (a->is_list == is_list && (a->kind == kind || empty_list)) return a;
  if (empty_list || (!a->is_list && a->kind == FY_ATTR_NONE))
    fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue missing value with expected type '%s%s%s'",
            is_list ? "list(" : "", kind_name(kind), is_list ? ")" : "");
  else
    fy_fail(err, FY_INVALID_ARGUMENT,
            "AttrValue had value with type '%s%s%s' when '%s%s%s' expected",
            a->is_list ? "list(" : "", kind_name(a->kind), a->is_list ? ")" : "",
            is_list ? "list(" : "", kind_name(kind), is_list ? ")" : "");
  return NULL;
}

static uint32_t fewer(uint32_t n, int max) {
  return max < 0 ? 0 : n < (uint32_t)max ? n : (uint32_t)max;
}

// ---------------------------------------------------------------- metadata
static TF_AttrType attr_type(fy_attr_kind kind) {
  switch (kind) {
    case FY_ATTR_STRING: return TF_ATTR_STRING;
    case FY_ATTR_INT: return TF_ATTR_INT;
    case FY_ATTR_FLOAT: return TF_ATTR_FLOAT;
    case FY_ATTR_BOOL: return TF_ATTR_BOOL;
    case FY_ATTR_TYPE: return TF_ATTR_TYPE;
    case FY_ATTR_SHAPE: return TF_ATTR_SHAPE;
    case FY_ATTR_TENSOR: return TF_ATTR_TENSOR;
    case FY_ATTR_FUNC: return TF_ATTR_FUNC;
    default: return TF_ATTR_PLACEHOLDER;
  }
}

static TF_AttrMetadata list_metadata(const fy_node *node, const char *name, const fy_attr *a) {
  TF_AttrMetadata m = {
      .is_list = 1, .list_size = a->n, .type = attr_type(a->kind), .total_size = -1};
  if (a->n == 0) {  // only the signature can tell what it would hold
    const fy_attr_spec *spec = fy_spec_attr(node->spec, name);
    m.type = spec && spec->is_list ? attr_type(spec->kind) : TF_ATTR_PLACEHOLDER;
    return m;
  }
  if (a->kind == FY_ATTR_STRING || a->kind == FY_ATTR_SHAPE) m.total_size = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    if (a->kind == FY_ATTR_STRING) m.total_size += (int64_t)a->v.strings[i].n;
    if (a->kind == FY_ATTR_SHAPE && a->v.shapes[i].rank > 0) m.total_size += a->v.shapes[i].rank;
  }
  return m;
}

TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation *oper, const char *attr_name,
                                            TF_Status *status) {
  TF_AttrMetadata m = {0};
  const fy_attr *a = find(oper, attr_name, status);
  if (!a) return m;
  if (a->is_list) return list_metadata(fy_api_node(oper), attr_name, a);
  m = (TF_AttrMetadata){.list_size = -1, .type = attr_type(a->kind), .total_size = -1};
  if (a->kind == FY_ATTR_STRING) m.total_size = (int64_t)a->v.s.n;
  if (a->kind == FY_ATTR_SHAPE) m.total_size = a->v.shape.rank;
  if (a->kind == FY_ATTR_NONE)
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "Attribute '%s' has no value set",
            attr_name);
  return m;
}

// ---------------------------------------------------------------- strings
void TF_OperationGetAttrString(TF_Operation *oper, const char *attr_name, void *value,
                               size_t max_length, TF_Status *status) {
  const fy_attr *a = find(oper, attr_name, status);
  if (!a) return;
  if (a->is_list || a->kind != FY_ATTR_STRING) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "Attribute '%s' is not a string", attr_name);
    return;
  }
  size_t n = a->v.s.n < max_length ? a->v.s.n : max_length;
  if (n) memcpy(value, a->v.s.p, n);
}

void TF_OperationGetAttrStringList(TF_Operation *oper, const char *attr_name, void **values,
                                   size_t *lengths, int max_values, void *storage,
                                   size_t storage_size, TF_Status *status) {
  const fy_attr *a = find(oper, attr_name, status);
  if (!a) return;
  if (!a->is_list) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "Value for '%s' is not a list", attr_name);
    return;
  }
  char *to = storage;
  uint32_t n = a->kind == FY_ATTR_STRING ? fewer(a->n, max_values) : 0;
  for (uint32_t i = 0; i < n; i++) {
    fy_view s = a->v.strings[i];
    values[i] = to;
    lengths[i] = s.n;
    if (s.n > storage_size - (size_t)(to - (char *)storage)) {
      fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
              "Not enough storage to hold the requested list of strings");
      return;
    }
    if (s.n) memcpy(to, s.p, s.n);
    to += s.n;
  }
}

// ---------------------------------------------------------------- numbers and types
void TF_OperationGetAttrInt(TF_Operation *oper, const char *attr_name, int64_t *value,
                            TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_INT, false, status);
  if (a) *value = a->v.i;
}

void TF_OperationGetAttrFloat(TF_Operation *oper, const char *attr_name, float *value,
                              TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_FLOAT, false, status);
  if (a) *value = a->v.f;
}

void TF_OperationGetAttrBool(TF_Operation *oper, const char *attr_name, unsigned char *value,
                             TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_BOOL, false, status);
  if (a) *value = a->v.b;
}

void TF_OperationGetAttrType(TF_Operation *oper, const char *attr_name, TF_DataType *value,
                             TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_TYPE, false, status);
  if (a) *value = (TF_DataType)a->v.type;
}

// A list; of another kind it counts as empty.
static const fy_attr *find_list(TF_Operation *oper, const char *name, fy_attr_kind kind,
                                uint32_t *n, int max, TF_Status *status) {
  const fy_attr *a = find(oper, name, status);
  *n = 0;
  if (!a) return NULL;
  if (!a->is_list) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "Value for '%s' is not a list.", name);
    return NULL;
  }
  if (a->kind == kind) *n = fewer(a->n, max);
  return a;
}

void TF_OperationGetAttrIntList(TF_Operation *oper, const char *attr_name, int64_t *values,
                                int max_values, TF_Status *status) {
  uint32_t n;
  const fy_attr *a = find_list(oper, attr_name, FY_ATTR_INT, &n, max_values, status);
  for (uint32_t i = 0; i < n; i++) values[i] = a->v.ints[i];
}

void TF_OperationGetAttrFloatList(TF_Operation *oper, const char *attr_name, float *values,
                                  int max_values, TF_Status *status) {
  uint32_t n;
  const fy_attr *a = find_list(oper, attr_name, FY_ATTR_FLOAT, &n, max_values, status);
  for (uint32_t i = 0; i < n; i++) values[i] = a->v.floats[i];
}

void TF_OperationGetAttrBoolList(TF_Operation *oper, const char *attr_name, unsigned char *values,
                                 int max_values, TF_Status *status) {
  uint32_t n;
  const fy_attr *a = find_list(oper, attr_name, FY_ATTR_BOOL, &n, max_values, status);
  for (uint32_t i = 0; i < n; i++) values[i] = a->v.bools[i];
}

void TF_OperationGetAttrTypeList(TF_Operation *oper, const char *attr_name, TF_DataType *values,
                                 int max_values, TF_Status *status) {
  uint32_t n;
  const fy_attr *a = find_list(oper, attr_name, FY_ATTR_TYPE, &n, max_values, status);
  for (uint32_t i = 0; i < n; i++) values[i] = (TF_DataType)a->v.types[i];
}

// ---------------------------------------------------------------- shapes
void TF_OperationGetAttrShape(TF_Operation *oper, const char *attr_name, int64_t *value,
                              int num_dims, TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_SHAPE, false, status);
  if (!a || a->v.shape.rank <= 0) return;
  uint32_t n = fewer((uint32_t)a->v.shape.rank, num_dims);
  if (n) memcpy(value, a->v.shape.dims, n * sizeof *value);
}

void TF_OperationGetAttrShapeList(TF_Operation *oper, const char *attr_name, int64_t **dims,
                                  int *num_dims, int num_shapes, int64_t *storage, int storage_size,
                                  TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_SHAPE, true, status);
  if (!a) return;
  int used = 0;
  uint32_t n = fewer(a->n, num_shapes);
  for (uint32_t i = 0; i < n; i++) {
    const fy_pshape *s = &a->v.shapes[i];
    num_dims[i] = s->rank;
    dims[i] = storage + used;
    if (s->rank <= 0) continue;
    if (s->rank > storage_size - used) {
      fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
              "Not enough storage to hold the requested list of shapes");
      return;
    }
    memcpy(dims[i], s->dims, (size_t)s->rank * sizeof **dims);
    used += s->rank;
  }
}

static fy_code shape_to_buffer(const fy_pshape *shape, TF_Buffer *out, fy_error *err) {
  fy_arena tmp;
  fy_arena_init(&tmp);
  Tensorflow__TensorShapeProto *m;
  fy_code code = fy_wire_shape_write(shape, &tmp, &m, err);
  if (!code) code = fy_api_message_to_buffer(&m->base, out, err);
  fy_arena_free(&tmp);
  return code;
}

void TF_OperationGetAttrTensorShapeProto(TF_Operation *oper, const char *attr_name,
                                         TF_Buffer *value, TF_Status *status) {
  const fy_attr *a = find(oper, attr_name, status);
  if (!a) return;
  fy_error *err = fy_api_begin(status);
  fy_code code;
  if (a->is_list || a->kind != FY_ATTR_SHAPE)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Value for '%s' is not a shape.", attr_name);
  else
    code = shape_to_buffer(&a->v.shape, value, err);
  fy_api_end(status, code);
}

void TF_OperationGetAttrTensorShapeProtoList(TF_Operation *oper, const char *attr_name,
                                             TF_Buffer **values, int max_values,
                                             TF_Status *status) {
  const fy_attr *a = find(oper, attr_name, status);
  if (!a) return;
  fy_error *err = fy_api_begin(status);
  if (!a->is_list) {
    fy_fail(err, FY_INVALID_ARGUMENT, "Value for '%s' is not a list", attr_name);
    return;
  }
  uint32_t n = a->kind == FY_ATTR_SHAPE ? fewer(a->n, max_values) : 0;
  fy_code code = FY_OK;
  for (uint32_t i = 0; i < n && !code; i++) {
    values[i] = TF_NewBuffer();
    code = values[i] ? shape_to_buffer(&a->v.shapes[i], values[i], err)
                     : fy_fail_oom(err, sizeof **values);
    for (uint32_t k = 0; code && k <= i; k++) {
      TF_DeleteBuffer(values[k]);
      values[k] = NULL;
    }
  }
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- tensors, messages, names
void TF_OperationGetAttrTensor(TF_Operation *oper, const char *attr_name, TF_Tensor **value,
                               TF_Status *status) {
  *value = NULL;
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_TENSOR, false, status);
  if (!a) return;
  fy_tensor *copy = NULL;
  fy_code code = fy_tensor_clone(a->v.tensor, &copy, &status->error);
  *value = fy_api_tf_tensor(copy);
  fy_api_end(status, code);
}

void TF_OperationGetAttrTensorList(TF_Operation *oper, const char *attr_name, TF_Tensor **values,
                                   int max_values, TF_Status *status) {
  const fy_attr *a = expect(oper, attr_name, FY_ATTR_TENSOR, true, status);
  if (!a) return;
  uint32_t n = fewer(a->n, max_values);
  fy_code code = FY_OK;
  for (uint32_t i = 0; i < n && !code; i++) {
    fy_tensor *copy = NULL;
    code = fy_tensor_clone(a->v.tensors[i], &copy, &status->error);
    values[i] = fy_api_tf_tensor(copy);
    for (uint32_t k = 0; code && k < i; k++) {
      TF_DeleteTensor(values[k]);
      values[k] = NULL;
    }
  }
  fy_api_end(status, code);
}

void TF_OperationGetAttrValueProto(TF_Operation *oper, const char *attr_name,
                                   TF_Buffer *output_attr_value, TF_Status *status) {
  const fy_attr *a = find(oper, attr_name, status);
  if (!a) return;
  fy_error *err = fy_api_begin(status);
  fy_arena tmp;
  fy_arena_init(&tmp);
  Tensorflow__AttrValue *m;
  fy_code code = fy_wire_attr_write(a, &tmp, &m, err);
  if (!code) code = fy_api_message_to_buffer(&m->base, output_attr_value, err);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

int TF_OperationGetNumAttrs(TF_Operation *oper) {
  return (int)fy_api_node(oper)->attrs.n;
}

int TF_OperationGetAttrNameLength(TF_Operation *oper, int i) {
  const fy_attrs *attrs = &fy_api_node(oper)->attrs;
  return i >= 0 && (uint32_t)i < attrs->n ? (int)strlen(attrs->items[i].name) : -1;
}

void TF_OperationGetAttrName(TF_Operation *oper, int i, char *output, TF_Status *status) {
  const fy_attrs *attrs = &fy_api_node(oper)->attrs;
  fy_error *err = fy_api_begin(status);
  if (i >= 0 && (uint32_t)i < attrs->n)
    memcpy(output, attrs->items[i].name, strlen(attrs->items[i].name));
  else
    fy_fail(err, FY_OUT_OF_RANGE, "Operation only has %u attributes, can't get the %dth", attrs->n,
            i);
}

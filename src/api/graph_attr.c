// SPDX-License-Identifier: Apache-2.0
// graph_attr.c: TF_SetAttr…: attributes of an operation under construction.

#include <string.h>

#include "api/api.h"
#include "attr_value.pb-c.h"
#include "base/alloc.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

// Deep-copies |value| into the graph.
static void set(TF_OperationDescription *d, const char *name, const fy_attr *value) {
  if (!d) return;
  fy_graph *g = d->builder.graph;
  if (!d->locked) fy_lock(&g->lock);
  if (strcmp(name, "_class") == 0 && value->is_list &&
      (value->kind == FY_ATTR_STRING || value->n == 0))
    fy_node_set_colocations(&d->builder, value->v.strings, value->n);
  else
    fy_node_set_attr(&d->builder, name, value);
  if (!d->locked) fy_unlock(&g->lock);
}

static void out_of_memory(TF_OperationDescription *d) {
  if (d) d->builder.short_of_memory = true;
}

static uint32_t length(int n) {
  return n > 0 ? (uint32_t)n : 0;
}

void TF_SetAttrString(TF_OperationDescription *desc, const char *attr_name, const void *value,
                      size_t len) {
  fy_attr a = fy_attr_string((fy_view){value, len});
  set(desc, attr_name, &a);
}

void TF_SetAttrStringList(TF_OperationDescription *desc, const char *attr_name,
                          const void *const *values, const size_t *lengths, int num_values) {
  uint32_t n = length(num_values);
  fy_view *views = fy_malloc(n * sizeof *views);
  if (!views) {
    out_of_memory(desc);
    return;
  }
  for (uint32_t i = 0; i < n; i++) views[i] = (fy_view){values[i], lengths[i]};
  fy_attr a = {.kind = FY_ATTR_STRING, .is_list = true, .n = n, .v.strings = views};
  set(desc, attr_name, &a);
  fy_free(views);
}

void TF_SetAttrInt(TF_OperationDescription *desc, const char *attr_name, int64_t value) {
  fy_attr a = fy_attr_int(value);
  set(desc, attr_name, &a);
}

void TF_SetAttrIntList(TF_OperationDescription *desc, const char *attr_name, const int64_t *values,
                       int num_values) {
  fy_attr a = {.kind = FY_ATTR_INT,
               .is_list = true,
               .n = length(num_values),
               .v.ints = (int64_t *)(uintptr_t)values};
  set(desc, attr_name, &a);
}

void TF_SetAttrFloat(TF_OperationDescription *desc, const char *attr_name, float value) {
  fy_attr a = fy_attr_float(value);
  set(desc, attr_name, &a);
}

void TF_SetAttrFloatList(TF_OperationDescription *desc, const char *attr_name, const float *values,
                         int num_values) {
  fy_attr a = {.kind = FY_ATTR_FLOAT,
               .is_list = true,
               .n = length(num_values),
               .v.floats = (float *)(uintptr_t)values};
  set(desc, attr_name, &a);
}

void TF_SetAttrBool(TF_OperationDescription *desc, const char *attr_name, unsigned char value) {
  fy_attr a = fy_attr_bool(value != 0);
  set(desc, attr_name, &a);
}

void TF_SetAttrBoolList(TF_OperationDescription *desc, const char *attr_name,
                        const unsigned char *values, int num_values) {
  uint32_t n = length(num_values);
  bool *list = fy_malloc(n * sizeof *list);
  if (!list) {
    out_of_memory(desc);
    return;
  }
  for (uint32_t i = 0; i < n; i++) list[i] = values[i] != 0;
  fy_attr a = {.kind = FY_ATTR_BOOL, .is_list = true, .n = n, .v.bools = list};
  set(desc, attr_name, &a);
  fy_free(list);
}

void TF_SetAttrType(TF_OperationDescription *desc, const char *attr_name, TF_DataType value) {
  fy_attr a = fy_attr_type((fy_dtype)value);
  set(desc, attr_name, &a);
}

_Static_assert(sizeof(TF_DataType) == sizeof(fy_dtype), "types are passed as they are");

void TF_SetAttrTypeList(TF_OperationDescription *desc, const char *attr_name,
                        const TF_DataType *values, int num_values) {
  fy_attr a = {.kind = FY_ATTR_TYPE,
               .is_list = true,
               .n = length(num_values),
               .v.types = (fy_dtype *)(uintptr_t)values};
  set(desc, attr_name, &a);
}

void TF_SetAttrPlaceholder(TF_OperationDescription *desc, const char *attr_name,
                           const char *placeholder) {
  fy_attr a = {.kind = FY_ATTR_PLACEHOLDER, .v.s = fy_view_of(placeholder)};
  set(desc, attr_name, &a);
}

void TF_SetAttrFuncName(TF_OperationDescription *desc, const char *attr_name, const char *value,
                        size_t len) {
  fy_func_attr func = {.name = {value, len}};
  fy_attr a = {.kind = FY_ATTR_FUNC, .v.func = &func};
  set(desc, attr_name, &a);
}

// Whatever is below zero means unknown.
static bool copy_dims(int64_t *to, const int64_t *dims, int num_dims) {
  for (int i = 0; i < num_dims; i++) to[i] = dims[i] < 0 ? -1 : dims[i];
  return num_dims <= FY_MAX_RANK;
}

void TF_SetAttrShape(TF_OperationDescription *desc, const char *attr_name, const int64_t *dims,
                     int num_dims) {
  int64_t known[FY_MAX_RANK];
  fy_attr a = {.kind = FY_ATTR_SHAPE, .v.shape = {-1, NULL}};
  if (num_dims >= 0 && num_dims <= FY_MAX_RANK) {
    copy_dims(known, dims, num_dims);
    a.v.shape = (fy_pshape){num_dims, known};
  }
  set(desc, attr_name, &a);
}

void TF_SetAttrShapeList(TF_OperationDescription *desc, const char *attr_name,
                         const int64_t *const *dims, const int *num_dims, int num_shapes) {
  uint32_t n = length(num_shapes);
  fy_arena tmp;
  fy_arena_init(&tmp);
  fy_pshape *shapes = fy_arena_array(&tmp, n, sizeof *shapes);
  for (uint32_t i = 0; shapes && i < n; i++) {
    shapes[i].rank = -1;
    if (num_dims[i] < 0 || num_dims[i] > FY_MAX_RANK) continue;
    int64_t *known = fy_arena_array(&tmp, (size_t)num_dims[i], sizeof *known);
    if (!known) {
      shapes = NULL;
      break;
    }
    copy_dims(known, dims[i], num_dims[i]);
    shapes[i] = (fy_pshape){num_dims[i], known};
  }
  if (shapes) {
    fy_attr a = {.kind = FY_ATTR_SHAPE, .is_list = true, .n = n, .v.shapes = shapes};
    set(desc, attr_name, &a);
  } else {
    out_of_memory(desc);
  }
  fy_arena_free(&tmp);
}

// ---------------------------------------------------------------- messages
// Any negative size is an unknown one here, as in TF_SetAttrShape.
static fy_code read_shape(const void *proto, size_t len, fy_arena *arena, fy_pshape *out,
                          fy_error *err) {
  ProtobufCMessage *m;
  FY_TRY(fy_wire_unpack(&tensorflow__tensor_shape_proto__descriptor, proto, len, NULL, arena, &m,
                        err));
  Tensorflow__TensorShapeProto *shape = (Tensorflow__TensorShapeProto *)m;
  for (size_t i = 0; i < shape->n_dim; i++)
    if (shape->dim[i]->size < -1) shape->dim[i]->size = -1;
  return fy_wire_shape_read(shape, arena, out, err);
}

void TF_SetAttrTensorShapeProto(TF_OperationDescription *desc, const char *attr_name,
                                const void *proto, size_t proto_len, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena tmp;
  fy_arena_init(&tmp);
  fy_attr a = {.kind = FY_ATTR_SHAPE};
  fy_code code = read_shape(proto, proto_len, &tmp, &a.v.shape, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Unparseable TensorShapeProto");
  if (!code) set(desc, attr_name, &a);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

void TF_SetAttrTensorShapeProtoList(TF_OperationDescription *desc, const char *attr_name,
                                    const void *const *protos, const size_t *proto_lens,
                                    int num_shapes, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena tmp;
  fy_arena_init(&tmp);
  uint32_t n = length(num_shapes);
  fy_attr a = {.kind = FY_ATTR_SHAPE, .is_list = true, .n = n};
  a.v.shapes = fy_arena_array(&tmp, n, sizeof *a.v.shapes);
  fy_code code = a.v.shapes ? FY_OK : fy_fail_oom(err, n * sizeof *a.v.shapes);
  for (uint32_t i = 0; !code && i < n; i++) {
    code = read_shape(protos[i], proto_lens[i], &tmp, &a.v.shapes[i], err);
    if (code == FY_INVALID_ARGUMENT)
      fy_fail(err, code, "Unparseable TensorShapeProto at index %u", i);
  }
  if (!code) set(desc, attr_name, &a);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

void TF_SetAttrTensor(TF_OperationDescription *desc, const char *attr_name, TF_Tensor *value,
                      TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_tensor *copy;  // the client may write to its memory later
  fy_code code = fy_tensor_clone(fy_api_tensor(value), &copy, err);
  if (!code) {
    fy_attr a = {.kind = FY_ATTR_TENSOR, .v.tensor = copy};
    set(desc, attr_name, &a);
    fy_tensor_release(copy);
  }
  fy_api_end(status, code);
}

void TF_SetAttrTensorList(TF_OperationDescription *desc, const char *attr_name,
                          TF_Tensor *const *values, int num_values, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  uint32_t n = length(num_values);
  fy_tensor **list = fy_calloc(n, sizeof *list);
  fy_code code = list ? FY_OK : fy_fail_oom(err, n * sizeof *list);
  for (uint32_t i = 0; !code && i < n; i++)
    code = fy_tensor_clone(fy_api_tensor(values[i]), &list[i], err);
  if (!code) {
    fy_attr a = {.kind = FY_ATTR_TENSOR, .is_list = true, .n = n, .v.tensors = list};
    set(desc, attr_name, &a);
  }
  for (uint32_t i = 0; list && i < n; i++) fy_tensor_release(list[i]);
  fy_free(list);
  fy_api_end(status, code);
}

void TF_SetAttrValueProto(TF_OperationDescription *desc, const char *attr_name, const void *proto,
                          size_t proto_len, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena tmp;
  fy_arena_init(&tmp);
  ProtobufCMessage *m;
  fy_attr a;
  fy_code code =
      fy_wire_unpack(&tensorflow__attr_value__descriptor, proto, proto_len, NULL, &tmp, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Unparseable AttrValue proto");
  if (!code) code = fy_wire_attr_read((Tensorflow__AttrValue *)m, &tmp, NULL, &a, err);
  if (!code && strcmp(attr_name, "_class") == 0 && a.kind == FY_ATTR_NONE) a.is_list = true;
  if (!code && strcmp(attr_name, "_class") == 0 && !a.is_list)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Expected \"list\" field for \"_class\" attribute");
  if (!code) set(desc, attr_name, &a);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}

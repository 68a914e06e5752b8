// SPDX-License-Identifier: Apache-2.0
// kernel_construction.c: what a kernel of a third party may ask while it is created: the attributes
// of its node.

#include <string.h>

#include "api/user_kernels.h"
#include "base/alloc.h"
#include "node_def.pb-c.h"
#include "tensorflow/c/kernels_experimental.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction *ctx, TF_Status *status) {
  if (ctx->error.code == FY_OK)
    fy_fail(&ctx->error, status->error.code, "%s", fy_error_text(&status->error));
}

TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction *ctx) {
  return (TF_StringView){ctx->site->node_name, strlen(ctx->site->node_name)};
}

bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction *ctx, const char *attr_name,
                                     TF_Status *status) {
  fy_api_begin(status);
  return fy_attrs_get(ctx->site->attrs, attr_name) != NULL;
}

// ---------------------------------------------------------------- finding
static const char *const kind_names[] = {"none", "string", "int",    "float", "bool",
                                         "type", "shape",  "tensor", "func",  "placeholder"};

static const fy_attr *wrong_kind(const fy_attr *a, fy_attr_kind kind, bool list, fy_error *err) {
  fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue had value with type '%s%s%s' when '%s%s%s' expected",
          a->is_list ? "list(" : "", kind_names[a->kind], a->is_list ? ")" : "",
          list ? "list(" : "", kind_names[kind], list ? ")" : "");
  return NULL;
}

// The scalar attribute |name| of |kind|, or NULL with the reason in |status|.
static const fy_attr *scalar(TF_OpKernelConstruction *ctx, const char *name, fy_attr_kind kind,
                             TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_attr *a = fy_attrs_get(ctx->site->attrs, name);
  if (!a) {
    fy_api_fail_no_attr(name, ctx->site->node_name, err);
    return NULL;
  }
  return a->kind == kind && !a->is_list ? a : wrong_kind(a, kind, false, err);
}

static const fy_attr *find(TF_OpKernelConstruction *ctx, const char *name, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->site->attrs, name);
  if (!a)
    fy_fail(err, FY_INVALID_ARGUMENT, "Operation '%s' has no attr named '%s'.",
            ctx->site->node_name, name);
  return a;
}

// The list attribute |name|; |*n| is how many of its values fit |max|.
static const fy_attr *list(TF_OpKernelConstruction *ctx, const char *name, fy_attr_kind kind,
                           int max, uint32_t *n, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_attr *a = find(ctx, name, err);
  if (!a) return NULL;
  if (!a->is_list) {
    fy_fail(err, FY_INVALID_ARGUMENT, "Attribute '%s' is not a list.", name);
    return NULL;
  }
  if (a->kind != kind && a->n > 0) return wrong_kind(a, kind, true, err);
  *n = max > 0 && (uint32_t)max < a->n ? (uint32_t)max : max > 0 ? a->n : 0;
  return a;
}

void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction *ctx, const char *attr_name,
                                         int32_t *list_size, int32_t *total_size,
                                         TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_attr *a = find(ctx, attr_name, err);
  *list_size = *total_size = -1;
  if (!a) return;
  if (!a->is_list) {
    if (a->kind == FY_ATTR_STRING) *total_size = (int32_t)a->v.s.n;
    if (a->kind == FY_ATTR_SHAPE) *total_size = a->v.shape.rank;
    return;
  }
  *list_size = (int32_t)a->n;
  int32_t total = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    if (a->kind == FY_ATTR_STRING) total += (int32_t)a->v.strings[i].n;
    if (a->kind == FY_ATTR_SHAPE && a->v.shapes[i].rank > 0) total += a->v.shapes[i].rank;
  }
  if (a->kind == FY_ATTR_STRING || a->kind == FY_ATTR_SHAPE) *total_size = total;
}

// ---------------------------------------------------------------- single values
void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction *ctx, const char *attr_name,
                                         TF_DataType *val, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_TYPE, status);
  if (a) *val = (TF_DataType)a->v.type;
}

static bool fits_int32(const char *name, int64_t value, TF_Status *status) {
  if (value == (int32_t)value) return true;
  fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
          "Attr %s has value %lld out of range for an int32", name, (long long)value);
  return false;
}

void TF_OpKernelConstruction_GetAttrInt32(TF_OpKernelConstruction *ctx, const char *attr_name,
                                          int32_t *val, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_INT, status);
  if (a && fits_int32(attr_name, a->v.i, status)) *val = (int32_t)a->v.i;
}

void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction *ctx, const char *attr_name,
                                          int64_t *val, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_INT, status);
  if (a) *val = a->v.i;
}

void TF_OpKernelConstruction_GetAttrFloat(TF_OpKernelConstruction *ctx, const char *attr_name,
                                          float *val, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_FLOAT, status);
  if (a) *val = a->v.f;
}

void TF_OpKernelConstruction_GetAttrBool(TF_OpKernelConstruction *ctx, const char *attr_name,
                                         TF_Bool *val, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_BOOL, status);
  if (a) *val = a->v.b;
}

void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction *ctx, const char *attr_name,
                                           char *val, size_t max_length, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_STRING, status);
  if (!a) return;
  size_t n = a->v.s.n < max_length ? a->v.s.n : max_length;
  if (n) memcpy(val, a->v.s.p, n);
}

static TF_Tensor *tensor_copy(const fy_tensor *t, TF_Status *status) {
  fy_tensor *own = NULL;
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_api_view(t, &own, err));
  return fy_api_tf_tensor(own);
}

void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction *ctx, const char *attr_name,
                                           TF_Tensor **val, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_TENSOR, status);
  *val = a ? tensor_copy(a->v.tensor, status) : NULL;
}

TF_Buffer *TF_OpKernelConstruction_GetAttrFunction(TF_OpKernelConstruction *ctx,
                                                   const char *attr_name, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_FUNC, status);
  if (!a) return NULL;
  fy_error *err = fy_api_begin(status);
  fy_arena arena;
  Tensorflow__NameAttrList *m;
  TF_Buffer *out = NULL;
  fy_arena_init(&arena);
  fy_code code = fy_wire_func_write(a->v.func, &arena, &m, err);
  if (!code && !(out = fy_api_new_message_buffer(&m->base, err))) code = FY_RESOURCE_EXHAUSTED;
  fy_arena_free(&arena);
  fy_api_end(status, code);
  return out;
}

void TF_OpKernelConstruction_GetAttrTensorShape(TF_OpKernelConstruction *ctx, const char *attr_name,
                                                int64_t *dims, size_t num_dims, TF_Status *status) {
  const fy_attr *a = scalar(ctx, attr_name, FY_ATTR_SHAPE, status);
  if (!a) return;
  if (a->v.shape.rank < 0 || (size_t)a->v.shape.rank != num_dims) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "Expected rank is %zu but actual rank is %d",
            num_dims, (int)a->v.shape.rank);
    return;
  }
  if (num_dims) memcpy(dims, a->v.shape.dims, num_dims * sizeof *dims);
}

// ---------------------------------------------------------------- lists
void TF_OpKernelConstruction_GetAttrTypeList(TF_OpKernelConstruction *ctx, const char *attr_name,
                                             TF_DataType *vals, int max_vals, TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_TYPE, max_vals, &n, status);
  for (uint32_t i = 0; a && i < n; i++) vals[i] = (TF_DataType)a->v.types[i];
}

void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction *ctx, const char *attr_name,
                                              int32_t *vals, int max_vals, TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_INT, max_vals, &n, status);
  for (uint32_t i = 0; a && i < a->n; i++) {
    if (!fits_int32(attr_name, a->v.ints[i], status)) return;
    if (i < n) vals[i] = (int32_t)a->v.ints[i];
  }
}

void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction *ctx, const char *attr_name,
                                              int64_t *vals, int max_vals, TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_INT, max_vals, &n, status);
  for (uint32_t i = 0; a && i < n; i++) vals[i] = a->v.ints[i];
}

void TF_OpKernelConstruction_GetAttrFloatList(TF_OpKernelConstruction *ctx, const char *attr_name,
                                              float *vals, int max_vals, TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_FLOAT, max_vals, &n, status);
  for (uint32_t i = 0; a && i < n; i++) vals[i] = a->v.floats[i];
}

void TF_OpKernelConstruction_GetAttrBoolList(TF_OpKernelConstruction *ctx, const char *attr_name,
                                             TF_Bool *vals, int max_vals, TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_BOOL, max_vals, &n, status);
  for (uint32_t i = 0; a && i < n; i++) vals[i] = a->v.bools[i];
}

void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction *ctx, const char *attr_name,
                                               char **values, size_t *lengths, int max_values,
                                               void *storage, size_t storage_size,
                                               TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_STRING, max_values, &n, status);
  char *at = storage;
  for (uint32_t i = 0; a && i < n; i++) {
    fy_view s = a->v.strings[i];
    if (s.n > storage_size) {
      fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
              "Not enough storage to hold the requested list of strings");
      return;
    }
    if (s.n) memcpy(at, s.p, s.n);
    values[i] = at;
    lengths[i] = s.n;
    at += s.n;
    storage_size -= s.n;
  }
}

void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction *ctx, const char *attr_name,
                                               TF_Tensor **vals, int max_values,
                                               TF_Status *status) {
  uint32_t n = 0;
  const fy_attr *a = list(ctx, attr_name, FY_ATTR_TENSOR, max_values, &n, status);
  for (uint32_t i = 0; a && i < n; i++) vals[i] = tensor_copy(a->v.tensors[i], status);
}

// ---------------------------------------------------------------- the node
// Without inputs: a site does not know its producers' names.
TF_Buffer *TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction *ctx, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  Tensorflow__NodeDef node;
  TF_Buffer *out = NULL;
  fy_arena arena;
  fy_arena_init(&arena);
  tensorflow__node_def__init(&node);
  node.name = (char *)(uintptr_t)ctx->site->node_name;
  node.op = (char *)(uintptr_t)ctx->site->op->spec->name;
  fy_code code =
      fy_wire_attrs_write(ctx->site->attrs, &tensorflow__node_def__attr_entry__descriptor, &arena,
                          &node.n_attr, &node.attr, err);
  if (!code && !(out = fy_api_new_message_buffer(&node.base, err))) code = FY_RESOURCE_EXHAUSTED;
  fy_arena_free(&arena);
  fy_api_end(status, code);
  return out;
}

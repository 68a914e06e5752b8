// SPDX-License-Identifier: Apache-2.0
// full_type.c: the full type of a node, as TensorFlow writes it into NodeDefs: the type that the op's
// definition gives its first output, with the node's attributes in the place of variables.
// Only written, never read: Ferry needs no more than the element types.

#include <string.h>

#include "graph/export.h"
#include "ops/spec_proto.h"
#include "wire/proto_util.h"

typedef Tensorflow__FullTypeDef full_type;

static Tensorflow__FullTypeId id_of(fy_dtype type) {
  // By dtype; 0 (TFT_UNSET) where TensorFlow has no name either.
  static const uint16_t ids[] = {
      [FY_FLOAT] = 210, [FY_DOUBLE] = 211, [FY_INT32] = 207,  [FY_UINT8] = 201,
      [FY_INT16] = 206, [FY_INT8] = 205,   [FY_STRING] = 214, [FY_COMPLEX64] = 212,
      [FY_INT64] = 208, [FY_BOOL] = 200,   [FY_UINT16] = 202, [FY_COMPLEX128] = 213,
      [FY_HALF] = 209,  [FY_UINT32] = 203, [FY_UINT64] = 204, [FY_VARIANT] = 10203,
  };
  size_t t = (size_t)type;
  return (Tensorflow__FullTypeId)(t < sizeof ids / sizeof *ids ? ids[t] : 0);
}

// TENSOR(type), or the type alone.
static full_type *make(fy_arena *arena, Tensorflow__FullTypeId id, size_t n) {
  full_type *t = fy_wire_new(&tensorflow__full_type_def__descriptor, arena);
  if (!t) return NULL;
  t->type_id = id;
  t->args = fy_arena_array(arena, n + 1, sizeof *t->args);
  t->n_args = n;
  return t->args ? t : NULL;
}

// FOR_EACH(PRODUCT, TENSOR(VAR), VAR): a TENSOR for each type of the list.
static full_type *each(const fy_attr *types, fy_arena *arena) {
  size_t n = types->is_list ? types->n : 1;
  full_type *t = make(arena, TENSORFLOW__FULL_TYPE_ID__TFT_PRODUCT, n);
  for (size_t i = 0; t && i < n; i++) {
    fy_dtype type = types->is_list ? types->v.types[i] : types->v.type;
    full_type *tensor = make(arena, TENSORFLOW__FULL_TYPE_ID__TFT_TENSOR, 1);
    if (!tensor || !(tensor->args[0] = make(arena, id_of(type), 0))) return NULL;
    t->args[i] = tensor;
  }
  return t;
}

// |*type| without variables: NULL when memory is short. An attribute that is not there stays one.
static void fill_in(full_type **type, const fy_attrs *attrs, fy_arena *arena) {
  full_type *t = *type;
  bool loop = t->type_id == TENSORFLOW__FULL_TYPE_ID__TFT_FOR_EACH;
  const full_type *var = loop ? t->args[t->n_args - 1] : t;
  if (var->type_id == TENSORFLOW__FULL_TYPE_ID__TFT_VAR) {
    const fy_attr *a = fy_attrs_get(attrs, var->s);
    if (!a || a->kind != FY_ATTR_TYPE) return;
    *type = loop ? each(a, arena) : a->is_list ? t : make(arena, id_of(a->v.type), 0);
    return;
  }
  for (size_t i = 0; i < t->n_args && *type; i++) {
    fill_in(&t->args[i], attrs, arena);
    if (!t->args[i]) *type = NULL;
  }
  // A list of variants is a list of anything.
  if (*type && t->type_id == TENSORFLOW__FULL_TYPE_ID__TFT_ARRAY && t->n_args == 1 &&
      t->args[0]->n_args == 1 &&
      t->args[0]->args[0]->type_id == TENSORFLOW__FULL_TYPE_ID__TFT_LEGACY_VARIANT)
    t->n_args = 0;
}

fy_code fy_node_export_type(const fy_node *node, fy_arena *arena, full_type **out, fy_error *err) {
  full_type *first;
  *out = NULL;
  if (!node->op || !node->spec) return FY_OK;
  FY_TRY(fy_spec_full_type(node->spec, arena, &first, err));
  if (!first) return FY_OK;
  fill_in(&first, &node->attrs, arena);
  *out = make(arena, TENSORFLOW__FULL_TYPE_ID__TFT_PRODUCT, 1);
  if (!first || !*out) return fy_fail_oom(err, sizeof **out);
  (*out)->args[0] = first;
  return FY_OK;
}

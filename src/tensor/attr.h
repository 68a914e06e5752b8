// SPDX-License-Identifier: Apache-2.0
// attr.h: attribute values of nodes and functions.
// All memory belongs to the arena they were made in; tensors are retained by it (fy_arena_defer).

#ifndef FY_TENSOR_ATTR_H
#define FY_TENSOR_ATTR_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "tensor/tensor.h"

typedef enum fy_attr_kind {
  FY_ATTR_NONE = 0,  // an AttrValue with no field set
  FY_ATTR_STRING = 1,
  FY_ATTR_INT = 2,
  FY_ATTR_FLOAT = 3,
  FY_ATTR_BOOL = 4,
  FY_ATTR_TYPE = 5,
  FY_ATTR_SHAPE = 6,
  FY_ATTR_TENSOR = 7,
  FY_ATTR_FUNC = 8,
  FY_ATTR_PLACEHOLDER = 9,  // only inside function bodies: the name of the function's own attr
} fy_attr_kind;

typedef struct fy_func_attr fy_func_attr;

typedef struct fy_attr {
  fy_attr_kind kind;
  bool is_list;  // an empty list may have kind NONE: its element kind is unknown
  uint32_t n;    // list length
  union {
    fy_view s;  // string, placeholder
    int64_t i;
    float f;
    bool b;
    fy_dtype type;
    fy_pshape shape;
    struct {
      fy_tensor *tensor;
      const fy_view *form;  // the TensorProto it was read from, to be written again; or NULL
    };
    fy_func_attr *func;
    // lists of n
    fy_view *strings;
    int64_t *ints;
    float *floats;
    bool *bools;
    fy_dtype *types;
    fy_pshape *shapes;
    fy_tensor **tensors;
    fy_func_attr *funcs;
  } v;
} fy_attr;

typedef struct fy_named_attr {
  const char *name;  // NUL-terminated
  fy_attr value;
} fy_named_attr;

// Sorted by name (bytes), names unique.
typedef struct fy_attrs {
  fy_named_attr *items;
  uint32_t n, cap;
} fy_attrs;

struct fy_func_attr {
  fy_view name;
  fy_attrs attrs;
};

const fy_attr *fy_attrs_get(const fy_attrs *attrs, const char *name);  // NULL if absent
// Where |name| is, or where it belongs.
uint32_t fy_attrs_position(const fy_attrs *attrs, const char *name, bool *found);
// Adds or replaces; |value| is taken as is (shallow), the name is copied into |arena|.
FY_MUST_CHECK fy_code fy_attrs_set(fy_attrs *attrs, fy_arena *arena, const char *name,
                                   const fy_attr *value, fy_error *err);
bool fy_attrs_remove(fy_attrs *attrs, const char *name);
// Deep copy into |arena| (tensors are retained, not copied).
FY_MUST_CHECK fy_code fy_attr_copy(fy_attr *to, const fy_attr *from, fy_arena *arena,
                                   fy_error *err);
FY_MUST_CHECK fy_code fy_attrs_copy(fy_attrs *to, const fy_attrs *from, fy_arena *arena,
                                    fy_error *err);
bool fy_attr_equal(const fy_attr *a, const fy_attr *b);
bool fy_attrs_equal(const fy_attrs *a, const fy_attrs *b);
uint64_t fy_attr_hash(const fy_attr *a, uint64_t seed);
uint64_t fy_attrs_hash(const fy_attrs *a, uint64_t seed);
// As TensorFlow summarises: `T=DT_FLOAT`, `shape=[2,?]`, `value=Tensor<type: float shape: [] values: 1>`,
// lists `[1, 2]`, strings quoted, functions `f[a=1]`.
void fy_attr_print(fy_str *out, const fy_attr *a);
void fy_attrs_print(fy_str *out, const fy_attrs *a);  // "T=DT_FLOAT, N=2"

// Short-hands to make values.
static inline fy_attr fy_attr_int(int64_t i) {
  return (fy_attr){.kind = FY_ATTR_INT, .v.i = i};
}
static inline fy_attr fy_attr_float(float f) {
  return (fy_attr){.kind = FY_ATTR_FLOAT, .v.f = f};
}
static inline fy_attr fy_attr_bool(bool b) {
  return (fy_attr){.kind = FY_ATTR_BOOL, .v.b = b};
}
static inline fy_attr fy_attr_type(fy_dtype t) {
  return (fy_attr){.kind = FY_ATTR_TYPE, .v.type = t};
}
static inline fy_attr fy_attr_string(fy_view s) {
  return (fy_attr){.kind = FY_ATTR_STRING, .v.s = s};
}
// The arena retains |t|. On failure kind is NONE.
fy_attr fy_attr_tensor(fy_arena *arena, fy_tensor *t);

#endif

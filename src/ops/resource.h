// SPDX-License-Identifier: Apache-2.0
// resource.h: what outlives a step: named, shared objects such as variables.
// A manager maps (container, name, type) to a refcounted object; a handle tensor holds a reference
// to the object itself, so reading a variable needs no lookup. Thread-safe.
// Not here: what a queue, a table or an iterator does; each of those derives from fy_object too.

#ifndef FY_OPS_RESOURCE_H
#define FY_OPS_RESOURCE_H

#include "base/status.h"
#include "base/str.h"
#include "base/thread.h"
#include "tensor/tensor.h"

#define FY_DEFAULT_CONTAINER "localhost"

typedef struct fy_resources fy_resources;

fy_resources *fy_resources_new(void);  // one reference; NULL when memory is short
void fy_resources_retain(fy_resources *r);
void fy_resources_release(fy_resources *r);  // NULL is fine

// Makes the object on first use: one reference, of the type asked for.
typedef fy_code (*fy_resource_factory)(fy_view container, fy_view name, const void *arg,
                                       fy_object **out, fy_error *err);
// Finds or (|make| not NULL) makes; |*out| gets a reference of its own. NOT_FOUND without |make|:
// "Resource localhost/v/N10tensorflow3VarE does not exist.". An empty container is "localhost".
FY_MUST_CHECK fy_code fy_resources_get(fy_resources *r, const fy_object_type *type,
                                       fy_view container, fy_view name, fy_resource_factory make,
                                       const void *arg, fy_object **out, fy_error *err);
// Drops the manager's reference. False if there was none.
bool fy_resources_remove(fy_resources *r, const fy_object_type *type, fy_view container,
                         fy_view name);
void fy_resources_drop(fy_resources *r, const fy_object *object);  // whatever its name
void fy_resources_clear(fy_resources *r, const char *container);  // NULL: all containers
// A container exists, in TensorFlow's texts, from the first value put into it.
void fy_resources_touch(fy_resources *r, const char *container);
bool fy_resources_touched(fy_resources *r, const char *container);

// A handle is a scalar resource tensor. The object in it, or INVALID_ARGUMENT if the tensor is no
// handle or holds another type (|type| NULL: any), NOT_FOUND if the object was destroyed. Not retained: valid while the tensor is.
FY_MUST_CHECK fy_code fy_resource_object(const fy_tensor *handle, const fy_object_type *type,
                                         fy_object **out, fy_error *err);
// Fills element 0 of a resource tensor; takes over one reference.
void fy_resource_put(fy_tensor *handle, fy_object *object);

// ---------------------------------------------------------------- variables
typedef struct fy_variable {
  fy_object object;
  fy_mutex lock;     // guards |value|; a value itself is never changed while anyone else holds it
  fy_tensor *value;  // NULL: not initialised (or destroyed)
  fy_dtype dtype;
  char *container, *name;
  int32_t rank;  // as declared; -1: anything goes
  int64_t dims[FY_INLINE_RANK];
  fy_tensor *twin;  // |value| is on a device and the host has the same bytes here still; or NULL
  uint64_t used;    // when a kernel last asked for it on a device; guarded by |lock|
  struct fy_variable *next, **at;  // of all variables
} fy_variable;

// Every variable of this process, while the list is held. Whoever holds it may only try the locks of
// variables: kernels take the list while they hold one.
fy_variable *fy_variables_hold(void);
void fy_variables_let_go(void);
// Before |v|, which is locked, is changed in place or given another value.
static inline void fy_variable_forget(fy_variable *v) {
  if (v->twin) fy_tensor_release(v->twin);
  v->twin = NULL;
}
void fy_variable_touch(fy_variable *v);  // it is in use on a device now; |v| is locked

// Whether any variable of this process was given a shape that its declaration does not allow, as
// TensorFlow permits. From then on programs do not count on declared shapes.
extern atomic_bool fy_variable_shapes;
static inline bool fy_variable_shapes_vary(void) {
  return atomic_load_explicit(&fy_variable_shapes, memory_order_relaxed);
}

extern const fy_object_type fy_variable_type;
extern const fy_object_type fy_ref_variable_type;   // of VariableV2: found under another key
extern const fy_object_type fy_temp_variable_type;  // of TemporaryVariable

// A variable without a value, of any shape. One reference.
FY_MUST_CHECK fy_code fy_variable_new(fy_view container, fy_view name, fy_dtype dtype,
                                      fy_variable **out, fy_error *err);
// The value with a reference of the caller's own, or NULL if there is none.
fy_tensor *fy_variable_read(fy_variable *v);
// The variable of a handle, be it a resource or what a reference edge carries; INVALID_ARGUMENT else.
FY_MUST_CHECK fy_code fy_ref_variable(const fy_tensor *handle, fy_variable **out, fy_error *err);
// Takes over one reference to |value|.
void fy_variable_assign(fy_variable *v, fy_tensor *value);

#endif

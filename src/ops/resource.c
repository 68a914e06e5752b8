// SPDX-License-Identifier: Apache-2.0
// resource.c: the resource manager and variables.

#include "ops/resource.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/map.h"

struct fy_resources {
  atomic_int refs;
  fy_mutex lock;
  fy_map objects;     // "container\ntype\nname" -> entry
  fy_map containers;  // names that were touched
};

typedef struct entry {
  fy_object *object;
  size_t len;
  char key[];
} entry;

fy_resources *fy_resources_new(void) {
  fy_resources *r = fy_calloc(1, sizeof *r);
  if (!r) return NULL;
  atomic_init(&r->refs, 1);
  fy_mutex_init(&r->lock);
  fy_map_init(&r->objects);
  fy_map_init(&r->containers);
  return r;
}

void fy_resources_retain(fy_resources *r) {
  atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
}

void fy_resources_release(fy_resources *r) {
  if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
  fy_resources_clear(r, NULL);
  for (uint32_t i = 0; i < r->containers.n; i++) fy_free(r->containers.items[i].value);
  fy_map_free(&r->containers);
  fy_map_free(&r->objects);
  fy_mutex_destroy(&r->lock);
  fy_free(r);
}

static fy_view or_default(fy_view container) {
  return container.n ? container : FY_VIEW(FY_DEFAULT_CONTAINER);
}

static entry *new_entry(const fy_object_type *type, fy_view container, fy_view name) {
  const size_t type_len = strlen(type->name), len = container.n + type_len + name.n + 2;
  entry *e = fy_malloc(sizeof *e + len + 1);
  if (!e) return NULL;
  char *p = e->key;
  memcpy(p, container.p, container.n);
  p += container.n;
  *p++ = '\n';
  memcpy(p, type->name, type_len);
  p += type_len;
  *p++ = '\n';
  if (name.n) memcpy(p, name.p, name.n);
  p[name.n] = 0;
  e->object = NULL;
  e->len = len;
  return e;
}

fy_code fy_resources_get(fy_resources *r, const fy_object_type *type, fy_view container,
                         fy_view name, fy_resource_factory make, const void *arg, fy_object **out,
                         fy_error *err) {
  *out = NULL;
  container = or_default(container);
  entry *e = new_entry(type, container, name);
  if (!e) return fy_fail_oom(err, sizeof *e);
  fy_code code = FY_OK;
  fy_lock(&r->lock);
  entry *found = fy_map_get(&r->objects, e->key, e->len);
  if (!found && make) {
    code = make(container, name, arg, &e->object, err);
    if (!code && !fy_map_put(&r->objects, e->key, e->len, e)) {
      fy_object_release(e->object);
      code = fy_fail_oom(err, sizeof *e);
    } else if (!code) {
      found = e;
      e = NULL;
    }
  }
  if (found) {
    fy_object_retain(found->object);
    *out = found->object;
  } else if (!code) {
    code = fy_fail(err, FY_NOT_FOUND, "Resource %.*s/%.*s/%s does not exist.", (int)container.n,
                   container.p, (int)name.n, name.n ? name.p : "", type->name);
  }
  fy_unlock(&r->lock);
  fy_free(e);
  return code;
}

bool fy_resources_remove(fy_resources *r, const fy_object_type *type, fy_view container,
                         fy_view name) {
  entry *key = new_entry(type, or_default(container), name);
  if (!key) return false;
  fy_lock(&r->lock);
  entry *e = fy_map_remove(&r->objects, key->key, key->len);
  fy_unlock(&r->lock);
  fy_free(key);
  if (!e) return false;
  fy_object_release(e->object);
  fy_free(e);
  return true;
}

void fy_resources_drop(fy_resources *r, const fy_object *object) {
  entry *e = NULL;
  fy_lock(&r->lock);
  for (uint32_t i = 0; i < r->objects.n && !e; i++) {
    entry *x = r->objects.items[i].value;
    if (x && x->object == object) e = fy_map_remove(&r->objects, x->key, x->len);
  }
  fy_unlock(&r->lock);
  if (e) fy_object_release(e->object);
  fy_free(e);
}

void fy_resources_clear(fy_resources *r, const char *container) {
  const size_t n = container ? strlen(container) : 0;
  for (;;) {  // one at a time: destroying an object may come back here
    entry *e = NULL;
    fy_lock(&r->lock);
    for (uint32_t i = 0; i < r->objects.n && !e; i++) {
      entry *x = r->objects.items[i].value;
      if (x && (!container || (x->len > n && !memcmp(x->key, container, n) && x->key[n] == '\n'))) {
        e = fy_map_remove(&r->objects, x->key, x->len);
      }
    }
    fy_unlock(&r->lock);
    if (!e) return;
    fy_object_release(e->object);
    fy_free(e);
  }
}

void fy_resources_touch(fy_resources *r, const char *container) {
  if (!r || !container) return;
  fy_lock(&r->lock);
  if (!fy_map_gets(&r->containers, container)) {
    char *copy = fy_strdup(container);  // short of memory: only a text is less exact
    if (copy && !fy_map_puts(&r->containers, copy, copy)) fy_free(copy);
  }
  fy_unlock(&r->lock);
}

bool fy_resources_touched(fy_resources *r, const char *container) {
  fy_lock(&r->lock);
  const bool touched = fy_map_gets(&r->containers, container) != NULL;
  fy_unlock(&r->lock);
  return touched;
}

// ---------------------------------------------------------------- handles
fy_code fy_resource_object(const fy_tensor *handle, const fy_object_type *type, fy_object **out,
                           fy_error *err) {
  *out = NULL;
  if (handle->dtype != FY_RESOURCE || handle->count < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a resource handle, got a tensor of type %s",
                   fy_dtype_name(handle->dtype));
  }
  fy_object *o = *(fy_object *const *)handle->data;
  if (!o) return fy_fail(err, FY_INVALID_ARGUMENT, "The resource handle is empty");
  if (atomic_load_explicit(&o->destroyed, memory_order_relaxed)) {
    return fy_fail(err, FY_NOT_FOUND,
                   "The handle's resource of type '%s' does not exist: it was "
                   "destroyed.",
                   o->type->name);
  }
  if (type && o->type != type) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Trying to access a handle's resource using the wrong type. The handle points to "
        "a resource of type '%s' but you are trying to access the resource as type '%s'",
        o->type->name, type->name);
  }
  *out = o;
  return FY_OK;
}

void fy_resource_put(fy_tensor *handle, fy_object *object) {
  fy_object **slot = handle->data;
  fy_object *old = *slot;
  *slot = object;
  fy_object_release(old);
}

// ---------------------------------------------------------------- variables
static fy_mutex list_lock = FY_MUTEX_INIT;
static fy_variable *list;

fy_variable *fy_variables_hold(void) {
  fy_lock(&list_lock);
  return list;
}

void fy_variables_let_go(void) {
  fy_unlock(&list_lock);
}

void fy_variable_touch(fy_variable *v) {
  static atomic_uint_least64_t moment;
  v->used = atomic_fetch_add_explicit(&moment, 1, memory_order_relaxed) + 1;
}

static void enlist(fy_variable *v) {
  fy_lock(&list_lock);
  v->next = list;
  v->at = &list;
  if (list) list->at = &v->next;
  list = v;
  fy_unlock(&list_lock);
}

static void delist(fy_variable *v) {
  fy_lock(&list_lock);
  if (v->at) *v->at = v->next;
  if (v->at && v->next) v->next->at = v->at;
  fy_unlock(&list_lock);
}

static void destroy_variable(fy_object *self) {
  fy_variable *v = (fy_variable *)self;
  delist(v);
  fy_variable_forget(v);
  fy_tensor_release(v->value);
  fy_mutex_destroy(&v->lock);
  fy_free(v->container);
  fy_free(v->name);
  fy_free(v);
}

const fy_object_type fy_variable_type = {"N10tensorflow3VarE", destroy_variable};
const fy_object_type fy_ref_variable_type = {"N10tensorflow9LegacyVarE", destroy_variable};
const fy_object_type fy_temp_variable_type = {"N10tensorflow19TemporaryVariableOp6TmpVarE",
                                              destroy_variable};

fy_code fy_ref_variable(const fy_tensor *handle, fy_variable **out, fy_error *err) {
  fy_object *o =
      handle->dtype == FY_RESOURCE && handle->count == 1 ? *(fy_object *const *)handle->data : NULL;
  const bool fits = o && (o->type == &fy_ref_variable_type || o->type == &fy_temp_variable_type ||
                          o->type == &fy_variable_type);
  *out = fits ? (fy_variable *)o : NULL;
  if (fits) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a reference to a variable");
}

fy_code fy_variable_new(fy_view container, fy_view name, fy_dtype dtype, fy_variable **out,
                        fy_error *err) {
  fy_variable *v = fy_calloc(1, sizeof *v);
  *out = NULL;
  if (!v) return fy_fail_oom(err, sizeof *v);
  atomic_init(&v->object.refs, 1);
  v->object.type = &fy_variable_type;
  fy_mutex_init(&v->lock);
  v->dtype = dtype;
  v->rank = -1;
  container = or_default(container);
  v->container = fy_strndup(container.p, container.n);
  v->name = fy_strndup(name.n ? name.p : "", name.n);
  if (!v->container || !v->name) {
    destroy_variable(&v->object);
    return fy_fail_oom(err, container.n + name.n);
  }
  enlist(v);
  *out = v;
  return FY_OK;
}

fy_tensor *fy_variable_read(fy_variable *v) {
  fy_lock(&v->lock);
  fy_tensor *t = v->value;
  if (t) fy_tensor_retain(t);
  fy_unlock(&v->lock);
  return t;
}

atomic_bool fy_variable_shapes;

static bool is_as_declared(const fy_variable *v, const fy_tensor *t) {
  if (v->rank < 0) return true;
  if (v->rank != t->rank) return false;
  for (int32_t i = 0; i < t->rank; i++)
    if (v->dims[i] >= 0 && v->dims[i] != t->dims[i]) return false;
  return true;
}

void fy_variable_assign(fy_variable *v, fy_tensor *value) {
  if (value && FY_UNLIKELY(!is_as_declared(v, value))) atomic_store(&fy_variable_shapes, true);
  fy_lock(&v->lock);
  fy_tensor *old = v->value;
  fy_variable_forget(v);
  v->value = value;
  if (value && value->device) fy_variable_touch(v);
  fy_unlock(&v->lock);
  fy_tensor_release(old);
}

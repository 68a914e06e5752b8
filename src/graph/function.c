// SPDX-License-Identifier: Apache-2.0
// function.c: the library: functions by name, their gradients, their signatures as ops.

#include "graph/function.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/export.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

typedef struct gradient {
  uint64_t serial;
  char name[];  // what the map's value points to
} gradient;

fy_funclib *fy_funclib_new(void) {
  fy_funclib *lib = fy_calloc(1, sizeof *lib);
  if (!lib) return NULL;
  lib->refs = 1;
  fy_mutex_init(&lib->lock);
  fy_arena_init(&lib->arena);
  fy_map_init(&lib->by_name);
  fy_map_init(&lib->gradients);
  return lib;
}

fy_funclib *fy_funclib_ref(fy_funclib *lib) {
  __atomic_add_fetch(&lib->refs, 1, __ATOMIC_RELAXED);
  return lib;
}

void fy_funclib_unref(fy_funclib *lib) {
  if (!lib || __atomic_sub_fetch(&lib->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
  for (uint32_t i = 0; i < lib->by_name.n; i++) {
    fy_function *f = lib->by_name.items[i].value;
    if (f) fy_graph_free(f->body);
  }
  fy_map_free(&lib->by_name);
  fy_map_free(&lib->gradients);
  fy_arena_free(&lib->arena);
  fy_mutex_destroy(&lib->lock);
  fy_free(lib);
}

const fy_function *fy_funclib_find(const fy_funclib *lib, const char *name, size_t len) {
  fy_funclib *l = (fy_funclib *)(uintptr_t)lib;
  fy_lock(&l->lock);
  const fy_function *f = fy_map_get(&l->by_name, name, len);
  fy_unlock(&l->lock);
  return f;
}

size_t fy_funclib_count(fy_funclib *lib) {
  fy_lock(&lib->lock);
  size_t n = lib->by_name.live;
  fy_unlock(&lib->lock);
  return n;
}

// ---------------------------------------------------------------- comparing
static int compare_keys(const void *a, const void *b) {
  const ProtobufCMessage *x = *(ProtobufCMessage *const *)a, *y = *(ProtobufCMessage *const *)b;
  const ProtobufCFieldDescriptor *key = &x->descriptor->fields[0];
  const char *px = (const char *)x + key->offset, *py = (const char *)y + key->offset;
  if (key->type == PROTOBUF_C_TYPE_STRING) {
    const char *sx, *sy;
    memcpy(&sx, px, sizeof sx);
    memcpy(&sy, py, sizeof sy);
    return strcmp(sx ? sx : "", sy ? sy : "");
  }
  uint32_t ux, uy;  // the only other keys of a FunctionDef
  memcpy(&ux, px, sizeof ux);
  memcpy(&uy, py, sizeof uy);
  return (ux > uy) - (ux < uy);
}

void fy_function_sort(ProtobufCMessage *m) {
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
    if (f->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    char *at = (char *)m + f->offset;
    if (f->label != PROTOBUF_C_LABEL_REPEATED) {
      ProtobufCMessage *sub = NULL;
      bool set = true;
      if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t which;
        memcpy(&which, (char *)m + f->quantifier_offset, sizeof which);
        set = which == f->id;
      }
      if (set) memcpy(&sub, at, sizeof sub);
      if (sub) fy_function_sort(sub);
      continue;
    }
    size_t n;
    ProtobufCMessage **list;
    memcpy(&n, (char *)m + f->quantifier_offset, sizeof n);
    memcpy(&list, at, sizeof list);
    if (n > 1 && fy_wire_is_map(f)) qsort(list, n, sizeof *list, compare_keys);
    for (size_t k = 0; k < n; k++) fy_function_sort(list[k]);
  }
}

fy_code fy_function_copy(const Tensorflow__FunctionDef *def, fy_arena *arena,
                         Tensorflow__FunctionDef **out, fy_error *err) {
  uint8_t *bytes;
  size_t n;
  ProtobufCMessage *copy = NULL;
  FY_TRY(fy_wire_pack(&def->base, &bytes, &n, err));
  fy_code code =
      fy_wire_unpack(&tensorflow__function_def__descriptor, bytes, n, NULL, arena, &copy, err);
  fy_free(bytes);
  *out = (Tensorflow__FunctionDef *)copy;
  if (!code) fy_function_sort(copy);
  return code;
}

static fy_code same_function(const Tensorflow__FunctionDef *a, const Tensorflow__FunctionDef *b,
                             bool *out, fy_error *err) {
  uint8_t *x = NULL, *y = NULL;
  size_t nx = 0, ny = 0;
  *out = false;
  fy_code code = fy_wire_pack(&a->base, &x, &nx, err);
  if (!code) code = fy_wire_pack(&b->base, &y, &ny, err);
  if (!code) *out = nx == ny && memcmp(x, y, nx) == 0;
  fy_free(x);
  fy_free(y);
  return code;
}

// ---------------------------------------------------------------- adding
static fy_code add_locked(fy_funclib *lib, const Tensorflow__FunctionDef *def, fy_error *err) {
  const char *name = def->signature && def->signature->name ? def->signature->name : "";
  Tensorflow__FunctionDef *copy;
  FY_TRY(fy_function_copy(def, &lib->arena, &copy, err));
  fy_function *have = fy_map_gets(&lib->by_name, name);
  if (have) {
    bool same;
    FY_TRY(same_function(have->def, copy, &same, err));
    if (same) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot add function '%s' because a different function with the same name "
                   "already exists.",
                   name);
  }
  if (fy_op_find(name, strlen(name)))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot add function '%s' because an op with the same name already exists.",
                   name);
  fy_function *f = fy_arena_zalloc(&lib->arena, sizeof *f);
  if (!f) return fy_fail_oom(err, sizeof *f);
  fy_op_spec *spec;
  FY_TRY(fy_spec_from_opdef(copy->signature, &lib->arena, &spec, err));
  FY_TRY(fy_wire_attrs_read(copy->n_attr, (fy_wire_attr_entry *const *)copy->attr, &lib->arena,
                            NULL, &f->attrs, err));
  f->name = spec->name;
  f->spec = spec;
  f->def = copy;
  f->stateful = (spec->flags & FY_SPEC_STATEFUL) != 0;
  f->serial = ++lib->serial;
  if (!fy_map_puts(&lib->by_name, f->name, f)) return fy_fail_oom(err, sizeof *f);
  return FY_OK;
}

fy_code fy_funclib_add(fy_funclib *lib, const Tensorflow__FunctionDef *def, fy_error *err) {
  fy_lock(&lib->lock);
  fy_code code = add_locked(lib, def, err);
  fy_unlock(&lib->lock);
  return code;
}

static fy_code add_gradient_locked(fy_funclib *lib, const char *function, const char *grad,
                                   fy_error *err) {
  const char *have = fy_map_gets(&lib->gradients, function);
  if (have && strcmp(have, grad) == 0) return FY_OK;
  if (have)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot assign gradient function '%s' to '%s' because it already has gradient "
                   "function '%s'",
                   grad, function, have);
  size_t n = strlen(grad) + 1;
  gradient *g = fy_arena_alloc(&lib->arena, sizeof *g + n);
  char *key = fy_arena_strdup(&lib->arena, function);
  if (!g || !key) return fy_fail_oom(err, n);
  memcpy(g->name, grad, n);
  g->serial = ++lib->serial;
  return fy_map_puts(&lib->gradients, key, g->name) ? FY_OK : fy_fail_oom(err, n);
}

fy_code fy_funclib_add_gradient(fy_funclib *lib, const char *function, const char *grad,
                                fy_error *err) {
  fy_lock(&lib->lock);
  fy_code code = add_gradient_locked(lib, function, grad, err);
  fy_unlock(&lib->lock);
  return code;
}

static fy_code import_locked(fy_funclib *lib, const Tensorflow__FunctionDefLibrary *from,
                             fy_error *err) {
  for (size_t i = 0; i < from->n_function; i++) FY_TRY(add_locked(lib, from->function[i], err));
  for (size_t i = 0; i < from->n_gradient; i++) {
    const Tensorflow__GradientDef *g = from->gradient[i];
    FY_TRY(add_gradient_locked(lib, g->function_name, g->gradient_func, err));
  }
  return FY_OK;
}

fy_code fy_funclib_import(fy_funclib *lib, const Tensorflow__FunctionDefLibrary *from,
                          fy_error *err) {
  if (!from) return FY_OK;
  fy_funclib_mark mark = fy_funclib_begin(lib);
  fy_lock(&lib->lock);
  fy_code code = import_locked(lib, from, err);
  fy_unlock(&lib->lock);
  if (code) fy_funclib_rollback(lib, mark);
  return code;
}

// ---------------------------------------------------------------- removing
fy_code fy_funclib_remove(fy_funclib *lib, const char *name, fy_error *err) {
  fy_lock(&lib->lock);
  fy_function *f = fy_map_remove(&lib->by_name, name, strlen(name));
  if (f) {
    fy_graph_free(f->body);
    f->body = NULL;  // who its gradient is stays known, as in TensorFlow
  }
  fy_unlock(&lib->lock);
  if (f) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Tried to remove non-existent function '%s'.", name);
}

fy_funclib_mark fy_funclib_begin(fy_funclib *lib) {
  fy_lock(&lib->lock);
  fy_funclib_mark mark = {lib->serial};
  fy_unlock(&lib->lock);
  return mark;
}

void fy_funclib_rollback(fy_funclib *lib, fy_funclib_mark mark) {
  fy_lock(&lib->lock);
  for (uint32_t i = 0; i < lib->by_name.n; i++) {
    const fy_map_item item = lib->by_name.items[i];
    if (item.value && ((fy_function *)item.value)->serial > mark.serial)
      fy_map_remove(&lib->by_name, item.key, item.len);
  }
  for (uint32_t i = 0; i < lib->gradients.n; i++) {
    const fy_map_item item = lib->gradients.items[i];
    if (!item.value) continue;
    const gradient *g = (const gradient *)((char *)item.value - offsetof(gradient, name));
    if (g->serial > mark.serial) fy_map_remove(&lib->gradients, item.key, item.len);
  }
  fy_unlock(&lib->lock);
}

// ---------------------------------------------------------------- exporting
static fy_code export_locked(fy_funclib *lib, fy_arena *arena, Tensorflow__FunctionDefLibrary *to,
                             fy_error *err) {
  to->function = fy_arena_array(arena, lib->by_name.live, sizeof *to->function);
  to->gradient = fy_arena_array(arena, lib->gradients.live, sizeof *to->gradient);
  if (!to->function || !to->gradient) return fy_fail_oom(err, lib->by_name.live);
  for (uint32_t i = 0; i < lib->by_name.n; i++) {
    const fy_function *f = lib->by_name.items[i].value;
    if (f) to->function[to->n_function++] = f->def;
  }
  for (uint32_t i = 0; i < lib->gradients.n; i++) {
    const fy_map_item *item = &lib->gradients.items[i];
    if (!item->value) continue;
    Tensorflow__GradientDef *g = fy_wire_new(&tensorflow__gradient_def__descriptor, arena);
    if (!g) return fy_fail_oom(err, sizeof *g);
    g->function_name = (char *)(uintptr_t)item->key;
    g->gradient_func = item->value;
    to->gradient[to->n_gradient++] = g;
  }
  return FY_OK;
}

fy_code fy_funclib_export(fy_funclib *lib, fy_arena *arena, Tensorflow__FunctionDefLibrary **out,
                          fy_error *err) {
  *out = fy_wire_new(&tensorflow__function_def_library__descriptor, arena);
  if (!*out) return fy_fail_oom(err, sizeof **out);
  fy_lock(&lib->lock);
  fy_code code = export_locked(lib, arena, *out, err);
  fy_unlock(&lib->lock);
  return code;
}

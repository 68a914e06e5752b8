// SPDX-License-Identifier: Apache-2.0
// attr.c: finding, copying, comparing and hashing attribute values.
// Every list kind but tensors and functions is an array of plain values; |element_size| lets one
// piece of code copy, and for the flat kinds compare and hash, all of them.

#include "tensor/attr.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

// --- the sorted list of names ---

uint32_t fy_attrs_position(const fy_attrs *attrs, const char *name, bool *found) {
  uint32_t low = 0, high = attrs->n;
  *found = false;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    int order = strcmp(attrs->items[mid].name, name);
    if (order == 0) {
      *found = true;
      return mid;
    }
    if (order < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

const fy_attr *fy_attrs_get(const fy_attrs *attrs, const char *name) {
  bool found;
  uint32_t i = fy_attrs_position(attrs, name, &found);
  return found ? &attrs->items[i].value : NULL;
}

static bool make_room(fy_attrs *attrs, fy_arena *arena) {
  if (attrs->n < attrs->cap) return true;
  uint32_t cap = attrs->cap ? attrs->cap * 2 : 4;
  fy_named_attr *items = fy_arena_array(arena, cap, sizeof *items);
  if (!items) return false;
  if (attrs->n) memcpy(items, attrs->items, attrs->n * sizeof *items);
  attrs->items = items;
  attrs->cap = cap;
  return true;
}

fy_code fy_attrs_set(fy_attrs *attrs, fy_arena *arena, const char *name, const fy_attr *value,
                     fy_error *err) {
  bool found;
  uint32_t i = fy_attrs_position(attrs, name, &found);
  if (found) {
    attrs->items[i].value = *value;
    return FY_OK;
  }
  fy_attr copy = *value;  // |value| may lie in the array that moves below
  char *own_name = fy_arena_strdup(arena, name);
  if (!own_name || !make_room(attrs, arena)) return fy_fail_oom(err, sizeof *attrs->items);
  memmove(&attrs->items[i + 1], &attrs->items[i], (attrs->n - i) * sizeof *attrs->items);
  attrs->items[i] = (fy_named_attr){own_name, copy};
  attrs->n++;
  return FY_OK;
}

bool fy_attrs_remove(fy_attrs *attrs, const char *name) {
  bool found;
  uint32_t i = fy_attrs_position(attrs, name, &found);
  if (!found) return false;
  attrs->n--;
  memmove(&attrs->items[i], &attrs->items[i + 1], (attrs->n - i) * sizeof *attrs->items);
  return true;
}

// --- tensors belong to arenas ---

static void release_tensor(void *t) {
  fy_tensor_release(t);
}

static bool keep_tensor(fy_arena *arena, fy_tensor *t) {
  if (!t) return true;
  if (fy_arena_defer(arena, release_tensor, t) != 0) return false;
  fy_tensor_retain(t);
  return true;
}

fy_attr fy_attr_tensor(fy_arena *arena, fy_tensor *t) {
  if (!keep_tensor(arena, t)) return (fy_attr){.kind = FY_ATTR_NONE};
  return (fy_attr){.kind = FY_ATTR_TENSOR, .v.tensor = t};
}

// --- copying ---

static size_t element_size(fy_attr_kind kind) {
  switch (kind) {
    case FY_ATTR_STRING:
    case FY_ATTR_PLACEHOLDER: return sizeof(fy_view);
    case FY_ATTR_INT: return sizeof(int64_t);
    case FY_ATTR_FLOAT: return sizeof(float);
    case FY_ATTR_BOOL: return sizeof(bool);
    case FY_ATTR_TYPE: return sizeof(fy_dtype);
    case FY_ATTR_SHAPE: return sizeof(fy_pshape);
    case FY_ATTR_TENSOR: return sizeof(fy_tensor *);
    case FY_ATTR_FUNC: return sizeof(fy_func_attr);
    case FY_ATTR_NONE: break;
  }
  return 0;
}

static bool own_view(fy_view *v, fy_arena *arena) {
  char *p = fy_arena_strndup(arena, v->p, v->n);
  v->p = p;
  return p != NULL;
}

static bool own_shape(fy_pshape *s, fy_arena *arena) {
  if (s->rank <= 0) {
    s->dims = NULL;
    return true;
  }
  s->dims = fy_arena_memdup(arena, s->dims, (size_t)s->rank * sizeof *s->dims);
  return s->dims != NULL;
}

static bool own_func(fy_func_attr *f, fy_arena *arena) {
  fy_attrs attrs;
  if (!own_view(&f->name, arena) || fy_attrs_copy(&attrs, &f->attrs, arena, NULL) != FY_OK) {
    return false;
  }
  f->attrs = attrs;
  return true;
}

static bool own_form(const fy_view **form, fy_arena *arena) {
  if (!*form) return true;
  fy_view *copy = fy_arena_memdup(arena, *form, sizeof *copy);
  *form = copy;
  return copy && own_view(copy, arena);
}

// |*a| is a flat copy whose element |i| still points to foreign memory: makes that the arena's.
static bool own_element(fy_attr *a, uint32_t i, fy_arena *arena) {
  switch (a->kind) {
    case FY_ATTR_STRING:
    case FY_ATTR_PLACEHOLDER: return own_view(a->is_list ? &a->v.strings[i] : &a->v.s, arena);
    case FY_ATTR_SHAPE: return own_shape(a->is_list ? &a->v.shapes[i] : &a->v.shape, arena);
    case FY_ATTR_TENSOR:
      return keep_tensor(arena, a->is_list ? a->v.tensors[i] : a->v.tensor) &&
             (a->is_list || own_form(&a->v.form, arena));
    case FY_ATTR_FUNC:
      if (!a->is_list) {
        a->v.func = fy_arena_memdup(arena, a->v.func, sizeof *a->v.func);
        return a->v.func && own_func(a->v.func, arena);
      }
      return own_func(&a->v.funcs[i], arena);
    default: return true;
  }
}

fy_code fy_attr_copy(fy_attr *to, const fy_attr *from, fy_arena *arena, fy_error *err) {
  fy_attr copy = *from;
  uint32_t n = copy.is_list ? copy.n : 1;
  size_t bytes = n * element_size(copy.kind);
  *to = (fy_attr){0};
  if (copy.is_list) {
    copy.v.ints = n ? fy_arena_memdup(arena, from->v.ints, bytes) : NULL;
    if (n && !copy.v.ints) return fy_fail_oom(err, bytes);
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!own_element(&copy, i, arena)) return fy_fail_oom(err, bytes);
  }
  *to = copy;
  return FY_OK;
}

fy_code fy_attrs_copy(fy_attrs *to, const fy_attrs *from, fy_arena *arena, fy_error *err) {
  fy_attrs copy = {0};
  *to = copy;
  if (from->n == 0) return FY_OK;
  copy.items = fy_arena_array(arena, from->n, sizeof *copy.items);
  if (!copy.items) return fy_fail_oom(err, from->n * sizeof *copy.items);
  copy.cap = from->n;
  for (; copy.n < from->n; copy.n++) {
    fy_named_attr *item = &copy.items[copy.n];
    item->name = fy_arena_strdup(arena, from->items[copy.n].name);
    if (!item->name) return fy_fail_oom(err, sizeof *item);
    FY_TRY(fy_attr_copy(&item->value, &from->items[copy.n].value, arena, err));
  }
  *to = copy;
  return FY_OK;
}

// --- comparing and hashing; a single value is looked at as a list of one ---

// First element of |a|: of its list, or the value itself.
static const void *elements(const fy_attr *a) {
  if (a->is_list) return a->v.ints;
  return a->kind == FY_ATTR_FUNC ? (const void *)a->v.func : (const void *)&a->v;
}

static bool same_tensor(const fy_tensor *a, const fy_tensor *b) {
  return a == b || (a && b && fy_tensor_equal(a, b));
}

static bool same_element(fy_attr_kind kind, const void *a, const void *b, uint32_t i) {
  switch (kind) {
    case FY_ATTR_STRING:
    case FY_ATTR_PLACEHOLDER: return fy_view_eq(((const fy_view *)a)[i], ((const fy_view *)b)[i]);
    case FY_ATTR_SHAPE: {
      const fy_pshape *x = (const fy_pshape *)a + i, *y = (const fy_pshape *)b + i;
      return fy_shape_equal(x->rank, x->dims, y->rank, y->dims);
    }
    case FY_ATTR_TENSOR: return same_tensor(((fy_tensor *const *)a)[i], ((fy_tensor *const *)b)[i]);
    case FY_ATTR_FUNC: {
      const fy_func_attr *x = (const fy_func_attr *)a + i, *y = (const fy_func_attr *)b + i;
      return fy_view_eq(x->name, y->name) && fy_attrs_equal(&x->attrs, &y->attrs);
    }
    default: {
      size_t size = element_size(kind);
      return memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0;
    }
  }
}

bool fy_attr_equal(const fy_attr *a, const fy_attr *b) {
  if (a->is_list != b->is_list) return false;
  if (a->is_list && a->n == 0 && b->n == 0) return true;  // the kind of an empty list is unknown
  if (a->kind != b->kind || (a->is_list && a->n != b->n)) return false;
  uint32_t n = a->is_list ? a->n : 1;
  for (uint32_t i = 0; i < n; i++) {
    if (!same_element(a->kind, elements(a), elements(b), i)) return false;
  }
  return true;
}

bool fy_attrs_equal(const fy_attrs *a, const fy_attrs *b) {
  if (a->n != b->n) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    if (strcmp(a->items[i].name, b->items[i].name) != 0) return false;
    if (!fy_attr_equal(&a->items[i].value, &b->items[i].value)) return false;
  }
  return true;
}

static uint64_t hash_shape(int32_t rank, const int64_t *dims, uint64_t seed) {
  size_t bytes = rank > 0 ? (size_t)rank * sizeof *dims : 0;
  return fy_hash64(dims, bytes, fy_hash_mix(seed, (uint64_t)rank));
}

static uint64_t hash_tensor(const fy_tensor *t, uint64_t seed) {
  if (!t) return seed;
  seed = hash_shape(t->rank, t->dims, fy_hash_mix(seed, (uint64_t)t->dtype));
  if (t->device || t->count == 0) return seed;  // equal tensors still hash alike
  if (t->dtype != FY_STRING) return fy_hash64(t->data, fy_tensor_bytes(t), seed);
  for (int64_t i = 0; i < t->count; i++) {
    fy_view s = fy_tensor_string(t, i);
    seed = fy_hash64(s.p, s.n, seed);
  }
  return seed;
}

static uint64_t hash_element(fy_attr_kind kind, const void *a, uint32_t i, uint64_t seed) {
  switch (kind) {
    case FY_ATTR_STRING:
    case FY_ATTR_PLACEHOLDER:
      return fy_hash64(((const fy_view *)a)[i].p, ((const fy_view *)a)[i].n, seed);
    case FY_ATTR_SHAPE:
      return hash_shape(((const fy_pshape *)a)[i].rank, ((const fy_pshape *)a)[i].dims, seed);
    case FY_ATTR_TENSOR: return hash_tensor(((fy_tensor *const *)a)[i], seed);
    case FY_ATTR_FUNC: {
      const fy_func_attr *f = (const fy_func_attr *)a + i;
      return fy_attrs_hash(&f->attrs, fy_hash64(f->name.p, f->name.n, seed));
    }
    default: {
      size_t size = element_size(kind);
      return fy_hash64((const char *)a + i * size, size, seed);
    }
  }
}

uint64_t fy_attr_hash(const fy_attr *a, uint64_t seed) {
  uint32_t n = a->is_list ? a->n : 1;
  seed = fy_hash_mix(seed, ((uint64_t)n << 1) | (a->is_list ? 1 : 0));
  if (n > 0) seed = fy_hash_mix(seed, (uint64_t)a->kind);
  for (uint32_t i = 0; i < n; i++) seed = hash_element(a->kind, elements(a), i, seed);
  return seed;
}

uint64_t fy_attrs_hash(const fy_attrs *a, uint64_t seed) {
  for (uint32_t i = 0; i < a->n; i++) {
    seed = fy_hash64(a->items[i].name, strlen(a->items[i].name), seed);
    seed = fy_attr_hash(&a->items[i].value, seed);
  }
  return fy_hash_mix(seed, a->n);
}

// SPDX-License-Identifier: Apache-2.0
// arg_shapes.c: see arg_shapes.h.

#include "execute/arg_shapes.h"

#include "base/alloc.h"
#include "base/map.h"
#include "ferry/device.h"

int fy_arg_space(const fy_tensor *t) {
  return t->device ? t->device->ordinal + 1 : 0;
}

// What it was declared to be is known before it has a value.
const fy_variable *fy_arg_variable(const fy_tensor *t) {
  fy_object *o = NULL;
  if (t->dtype != FY_RESOURCE || t->rank != 0 || fy_resource_object(t, &fy_variable_type, &o, NULL))
    return NULL;
  return (const fy_variable *)o;
}

// ------------------------------------------------------------------ keys
static bool same_dims(const int64_t **key, int32_t rank, const int64_t *dims) {
  const int64_t *k = *key;
  if (*k++ != rank) return false;
  for (int32_t d = 0; d < rank; d++)
    if (*k++ != dims[d]) return false;
  *key = k;
  return true;
}

bool fy_arg_key_is(const int64_t *k, fy_tensor *const *args, int n) {
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = args[i];
    if (*k++ != fy_arg_space(t) || !same_dims(&k, t->rank, t->dims)) return false;
    if (FY_LIKELY(t->dtype != FY_RESOURCE)) continue;
    const fy_variable *v = fy_arg_variable(t);
    if (*k++ != (v ? (int64_t)v->dtype : FY_INVALID) || (v && !same_dims(&k, v->rank, v->dims)))
      return false;
  }
  return true;
}

static int64_t *put_dims(int64_t *k, int32_t rank, const int64_t *dims) {
  *k++ = rank;
  for (int32_t d = 0; d < rank; d++) *k++ = dims[d];
  return k;
}

int64_t *fy_arg_key(fy_tensor *const *args, int n) {
  size_t len = 1;
  for (int i = 0; i < n; i++)
    len += 2 + (size_t)args[i]->rank + (args[i]->dtype == FY_RESOURCE ? 2 + FY_INLINE_RANK : 0);
  int64_t *key = fy_malloc(len * sizeof *key), *k = key;
  if (!key) return NULL;
  for (int i = 0; i < n; i++) {
    *k++ = fy_arg_space(args[i]);
    k = put_dims(k, args[i]->rank, args[i]->dims);
    if (args[i]->dtype != FY_RESOURCE) continue;
    const fy_variable *v = fy_arg_variable(args[i]);
    *k++ = v ? (int64_t)v->dtype : FY_INVALID;
    if (v) k = put_dims(k, v->rank, v->dims);
  }
  return key;
}

// ------------------------------------------------------------------ what calls share
static fy_pshape keep_shape(int64_t **room, int32_t rank, const int64_t *dims) {
  int64_t *mine = *room;
  for (int32_t d = 0; d < rank; d++) mine[d] = dims[d];
  *room += rank > 0 ? rank : 0;
  return (fy_pshape){rank, mine};
}

fy_common *fy_common_new(fy_tensor *const *args, int n) {
  size_t dims = 0;
  for (int i = 0; i < n; i++) {
    const fy_variable *v = fy_arg_variable(args[i]);
    dims += (size_t)args[i]->rank + (v && v->rank > 0 ? (size_t)v->rank : 0);
  }
  fy_common *c = fy_calloc(
      1, sizeof *c + (size_t)n * (sizeof *c->shapes + sizeof *c->handles) + dims * sizeof(int64_t));
  if (!c) return NULL;
  c->n = n;
  c->shapes = (fy_pshape *)(c + 1);
  c->handles = (fy_handle_shape *)(c->shapes + n);
  int64_t *room = (int64_t *)(c->handles + n);
  for (int i = 0; i < n; i++) {
    const fy_variable *v = fy_arg_variable(args[i]);
    c->shapes[i] = keep_shape(&room, args[i]->rank, args[i]->dims);
    if (v) c->handles[i] = (fy_handle_shape){v->dtype, keep_shape(&room, v->rank, v->dims)};
  }
  return c;
}

static bool meet_shape(fy_pshape *s, int32_t rank, const int64_t *dims) {
  if (s->rank < 0) return false;
  if (s->rank != rank) {
    s->rank = -1;
    return true;
  }
  bool less = false;
  for (int32_t d = 0; d < rank; d++) {
    if (s->dims[d] < 0 || s->dims[d] == dims[d]) continue;
    ((int64_t *)(uintptr_t)s->dims)[d] = -1;
    less = true;
  }
  return less;
}

bool fy_common_meet(fy_common *c, fy_tensor *const *args) {
  bool less = false;
  for (int i = 0; i < c->n; i++) {
    fy_handle_shape *h = &c->handles[i];
    less |= meet_shape(&c->shapes[i], args[i]->rank, args[i]->dims);
    if (h->dtype == FY_INVALID) continue;
    const fy_variable *v = fy_arg_variable(args[i]);
    const bool other = !v || v->dtype != h->dtype;
    if (other) h->dtype = FY_INVALID;
    less |= other || meet_shape(&h->shape, v->rank, v->dims);
  }
  c->losses += less;
  return less;
}

void fy_common_forget(fy_common *c) {
  for (int i = 0; i < c->n; i++) {
    c->shapes[i].rank = -1;
    c->handles[i].dtype = FY_INVALID;
  }
}

// ------------------------------------------------------------------ what calls took
#define TRIALS \
  256  // each in the place that its hash says; a newcomer with the same place begins anew

struct fy_trials {
  struct trial {
    atomic_uint_least64_t hash;
    atomic_int_least64_t spent;
  } items[TRIALS];
};

fy_trials *fy_trials_new(void) {
  return fy_calloc(1, sizeof(fy_trials));
}

static uint64_t hash_dims(uint64_t h, int32_t rank, const int64_t *dims) {
  h = fy_hash_mix(h, (uint64_t)rank);
  for (int32_t d = 0; d < rank; d++) h = fy_hash_mix(h, (uint64_t)dims[d]);
  return h;
}

static uint64_t hash_args(fy_tensor *const *args, int n) {
  uint64_t h = 1;
  for (int i = 0; i < n; i++) {
    h = hash_dims(h, args[i]->rank, args[i]->dims);
    const fy_variable *v = fy_arg_variable(args[i]);
    if (v) h = hash_dims(h + (uint64_t)v->dtype, v->rank, v->dims);
  }
  return h;
}

int64_t fy_trials_spent(const fy_trials *t, fy_tensor *const *args, int n) {
  const uint64_t h = hash_args(args, n);
  const struct trial *at = &t->items[h % TRIALS];
  return atomic_load_explicit(&at->hash, memory_order_relaxed) == h
             ? atomic_load_explicit(&at->spent, memory_order_relaxed)
             : 0;
}

void fy_trials_add(fy_trials *t, fy_tensor *const *args, int n, int64_t ns) {
  const uint64_t h = hash_args(args, n);
  struct trial *at = &t->items[h % TRIALS];
  if (atomic_exchange_explicit(&at->hash, h, memory_order_relaxed) == h)
    atomic_fetch_add_explicit(&at->spent, ns, memory_order_relaxed);
  else
    atomic_store_explicit(&at->spent, ns, memory_order_relaxed);
}

void fy_trials_clear(fy_trials *t, fy_tensor *const *args, int n) {
  const uint64_t h = hash_args(args, n);
  atomic_store_explicit(&t->items[h % TRIALS].hash, 0, memory_order_relaxed);
}

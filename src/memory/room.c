// SPDX-License-Identifier: Apache-2.0
// room.c: when a device is full: what can leave it without anybody noticing.
//
// First the memory that idle runs of programs keep; then variables, the one that was used longest ago
// first. A variable's value may leave while nobody but the variable holds it: a run that read it keeps
// it here until its last reader is done. It comes back when a kernel on the device asks for it
// (ops/variables.c). Plans move variables themselves, ahead of time (execute/spill_move.c); this is
// for what no plan knew: eager calls, sizes that only the run can tell, other sessions' variables.

#include <stdatomic.h>

#include "memory/pool_impl.h"
#include "ops/resource.h"

typedef bool (*idle_fn)(const fy_device *device);
static _Atomic(idle_fn) idle_runs;

void fy_memory_on_full(idle_fn idle) {
  atomic_store_explicit(&idle_runs, idle, memory_order_release);
}

static bool may_leave(const fy_variable *v, const fy_device *d) {
  const fy_tensor *t = v->value;
  return t && t->device == d && t->count > 0 && fy_dtype_is_plain(t->dtype) &&
         fy_tensor_is_exclusive(t);
}

// The list is held, |v| is locked.
static bool leave(fy_variable *v) {
  fy_tensor *old = v->value, *host = v->twin;
  if (!host && fy_memory_copy_tensor(old, NULL, &host, NULL)) return false;
  v->twin = NULL;
  v->value = host;
  fy_tensor_release(old);
  return true;
}

static bool evict_variable(const fy_device *d) {
  bool done = false;
  for (uint64_t from = 0; !done;) {  // those used before would not go
    fy_variable *oldest = NULL;
    uint64_t used = UINT64_MAX;
    for (fy_variable *v = fy_variables_hold(); v; v = v->next) {
      if (!fy_trylock(&v->lock)) continue;
      if (v->used >= from && v->used < used && may_leave(v, d)) {
        used = v->used;
        oldest = v;
      }
      fy_unlock(&v->lock);
    }
    if (oldest && fy_trylock(&oldest->lock)) {
      done = oldest->used == used && may_leave(oldest, d) && leave(oldest);
      fy_unlock(&oldest->lock);
    }
    fy_variables_let_go();
    if (!oldest) break;
    from = used + 1;
  }
  return done;
}

bool fy_memory_unload_variables(const fy_device *d) {
  bool any = false;
  for (fy_variable *v = fy_variables_hold(); v; v = v->next) {
    if (!fy_trylock(&v->lock)) continue;
    any |= may_leave(v, d) && leave(v);
    fy_unlock(&v->lock);
  }
  fy_variables_let_go();
  return any;
}

bool fy_memory_let_go(const fy_device *d) {
  const idle_fn idle = atomic_load_explicit(&idle_runs, memory_order_acquire);
  return idle && idle(d);
}

bool fy_memory_make_room(fy_device *d) {
  if (!d->memory) return false;
  if (fy_memory_let_go(d)) return true;
  return !d->is_host && d->memory->spill && evict_variable(d);
}

fy_code fy_memory_alloc(fy_device *d, size_t bytes, const char *owner, void **out, fy_error *err) {
  fy_code code = fy_mempool_alloc(d->memory, bytes, owner, out, err);
  while (FY_UNLIKELY(code == FY_RESOURCE_EXHAUSTED) && fy_memory_make_room(d)) {
    if (err) fy_error_clear(err);
    code = fy_mempool_alloc(d->memory, bytes, owner, out, err);
  }
  return code;
}

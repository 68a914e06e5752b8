// SPDX-License-Identifier: Apache-2.0
// ready.c: see ready.h. An entry holds its signature busy and its program alive, in its slot and out of it.

#include "execute/ready.h"

#include "base/alloc.h"

#define MAX_MISSES 4  // runs of something else in a row, before it has to go

struct fy_ready {
  fy_signature *signature;
  fy_program *program;
  int changes;  // of the device set when it was made
  bool vary;    // fy_variable_shapes_vary() then
  int misses;
  int64_t used;   // in runs of the session, when it was taken last
  int64_t key[];  // per feed: dtype, rank, dims…
};

static _Atomic(fy_ready *) *slot_of(fy_session *s, const fy_run_args *a) {
  const uintptr_t n = a->num_fetches > 0   ? (uintptr_t)a->fetches[0].node
                      : a->num_targets > 0 ? (uintptr_t)a->targets[0]
                                           : 0;
  return &s->ready[(n >> 6 ^ n >> 9) % FY_READY_SLOTS];
}

static void end(fy_ready *r) {
  fy_program_release(r->program);
  fy_signature_release(r->signature);
  fy_free(r);
}

// Back into its slot, unless another is there by now.
static void put(_Atomic(fy_ready *) *slot, fy_ready *r) {
  fy_ready *none = NULL;
  if (FY_UNLIKELY(!atomic_compare_exchange_strong_explicit(slot, &none, r, memory_order_release,
                                                           memory_order_relaxed)))
    end(r);
}

static bool same_shapes(const fy_ready *r, const fy_run_args *a) {
  const int64_t *k = r->key;
  for (int i = 0; i < a->num_feeds; i++) {
    const fy_tensor *t = a->feed_values[i];
    if (!t || t->device || k[0] != t->dtype || k[1] != t->rank) return false;
    k += 2;
    for (int32_t d = 0; d < t->rank; d++)
      if (*k++ != t->dims[d]) return false;
  }
  return true;
}

fy_ready *fy_ready_take(fy_session *s, const fy_run_args *a) {
  _Atomic(fy_ready *) *slot = slot_of(s, a);
  if (!atomic_load_explicit(slot, memory_order_relaxed)) return NULL;
  fy_ready *r = atomic_exchange_explicit(slot, NULL, memory_order_acquire);
  if (!r) return NULL;
  const bool current = r->changes == __atomic_load_n(&s->devices->changes, __ATOMIC_RELAXED) &&
                       r->vary == fy_variable_shapes_vary();
  if (FY_LIKELY(current && fy_request_is(&r->signature->request, a) && same_shapes(r, a))) {
    r->misses = 0;
    r->used = atomic_load_explicit(&s->steps, memory_order_relaxed);
    // For whoever has to choose which program to forget.
    atomic_store_explicit(&r->program->touched, true, memory_order_relaxed);
    return r;
  }
  if (!current || ++r->misses > MAX_MISSES)
    end(r);
  else
    put(slot, r);
  return NULL;
}

fy_program *fy_ready_program(const fy_ready *r) {
  return r->program;
}

void fy_ready_put(fy_session *s, fy_ready *r) {
  const fy_request *q = &r->signature->request;
  put(slot_of(s, &(fy_run_args){.fetches = q->fetches,
                                .num_fetches = q->num_fetches,
                                .targets = q->targets,
                                .num_targets = q->num_targets}),
      r);
}

void fy_ready_learn(fy_session *s, const fy_run_args *a, fy_signature *sig, fy_program *p) {
  _Atomic(fy_ready *) *slot = slot_of(s, a);
  size_t n = 0;
  if (p->has_devices || atomic_load_explicit(slot, memory_order_relaxed) ||
      !fy_request_is(&sig->request, a))  // nodes of another graph, that go by their names
    return;
  for (int i = 0; i < a->num_feeds; i++) {
    if (a->feed_values[i]->device) return;
    n += 2 + (size_t)a->feed_values[i]->rank;
  }
  fy_ready *r = fy_malloc(sizeof *r + n * sizeof *r->key);
  if (!r) return;
  r->signature = sig;
  r->program = p;
  r->changes = __atomic_load_n(&s->devices->changes, __ATOMIC_RELAXED);
  r->vary = fy_variable_shapes_vary();
  r->misses = 0;
  r->used = atomic_load_explicit(&s->steps, memory_order_relaxed);
  int64_t *k = r->key;
  for (int i = 0; i < a->num_feeds; i++) {
    const fy_tensor *t = a->feed_values[i];
    *k++ = t->dtype;
    *k++ = t->rank;
    for (int32_t d = 0; d < t->rank; d++) *k++ = t->dims[d];
  }
  fy_program_retain(p);
  atomic_fetch_add_explicit(&sig->busy, 1, memory_order_relaxed);
  put(slot, r);
}

void fy_ready_forget(fy_session *s) {
  for (int i = 0; i < FY_READY_SLOTS; i++) {
    fy_ready *r = atomic_exchange_explicit(&s->ready[i], NULL, memory_order_acquire);
    if (!r) continue;
    if (r->signature->used < r->used) r->signature->used = r->used;
    end(r);
  }
}

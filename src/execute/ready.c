// SPDX-License-Identifier: Apache-2.0
// ready.c: see ready.h. An entry holds its signature busy and its program alive. Who has taken its slot has
// it alone, so a run through it needs one atomic exchange and one store.

#include "execute/ready.h"

#include "base/alloc.h"
#include "execute/state.h"

#define PLACES     4                   // of a request: it may run in as many threads this way
#define MAX_MISSES 4                   // runs of something else in a row, before it has to go
#define MAX_BYTES  ((size_t)64 << 10)  // of planned memory that is kept here, out of reach of others

typedef struct fed {
  fy_dtype dtype;
  int32_t rank;
  const int64_t *dims;
} fed;

typedef struct fy_ready {
  fy_signature *signature;
  fy_program *program;
  fy_run_state *state;  // of the run before; NULL: it is with the program
  fy_run run;           // as every run begins, but for its number
  bool light;           // keeps the state
  bool usual;           // |run| will do, for who has no wishes
  bool vary;            // fy_variable_shapes_vary() when it was made
  int changes;          // of the device set then
  int misses;
  int64_t used;  // in runs of the session, when it was taken last
  fed feeds[];   // and their dims
} fy_ready;

enum { EMPTY, FREE, TAKEN };  // a slot

// Where |a| may be: in a slot that its first node chooses, or in one of those after it, when others have that.
static inline unsigned place_of(const fy_run_args *a) {
  const uintptr_t n = a->num_fetches > 0   ? (uintptr_t)a->fetches[0].node
                      : a->num_targets > 0 ? (uintptr_t)a->targets[0]
                                           : 0;
  return (unsigned)(n >> 6 ^ n >> 9);
}

static inline fy_ready_slot *slot_at(fy_session *s, unsigned place) {
  return &s->ready[place % FY_READY_SLOTS];
}

// Whether |slot| was |as| and is the caller's now, who leaves it in one of the other states.
static bool take(fy_ready_slot *slot, int as) {
  return atomic_load_explicit(&slot->state, memory_order_relaxed) == as &&
         atomic_compare_exchange_strong_explicit(&slot->state, &as, TAKEN, memory_order_acquire,
                                                 memory_order_relaxed);
}

static void leave(fy_ready_slot *slot, int as) {
  atomic_store_explicit(&slot->state, as, memory_order_release);
}

static void empty(fy_ready_slot *slot) {
  fy_ready *r = slot->entry;
  slot->entry = NULL;
  leave(slot, EMPTY);
  fy_state_free(r->state);
  fy_program_release(r->program);
  fy_signature_release(r->signature);
  fy_free(r);
}

static inline bool same_shapes(const fed *feeds, const fy_run_args *a) {
  for (int i = 0; i < a->num_feeds; i++) {
    const fy_tensor *t = a->feed_values[i];
    const fed *f = &feeds[i];
    if (!t || t->device || f->dtype != t->dtype || f->rank != t->rank) return false;
    for (int32_t d = 0, rank = t->rank; d < rank; d++)
      if (f->dims[d] != t->dims[d]) return false;
  }
  return true;
}

static inline bool is_current(const fy_session *s, const fy_ready *r) {
  return r->changes == __atomic_load_n(&s->devices->changes, __ATOMIC_RELAXED) &&
         r->vary == fy_variable_shapes_vary();
}

static fy_ready_slot *empty_at(fy_session *s, unsigned place) {
  for (unsigned i = 0; i < PLACES; i++) {
    fy_ready_slot *slot = slot_at(s, place + i);
    if (atomic_load_explicit(&slot->state, memory_order_relaxed) == EMPTY) return slot;
  }
  return NULL;
}

// What belongs to |place| is not there: if there is no room for it either, the others have been of no use.
static void miss(fy_session *s, unsigned place) {
  for (unsigned i = 0; i < PLACES && !empty_at(s, place); i++) {
    fy_ready_slot *slot = slot_at(s, place + i);
    if (!take(slot, FREE)) continue;
    if (++slot->entry->misses > MAX_MISSES)
      empty(slot);
    else
      leave(slot, FREE);
  }
}

// The slot with |a|, taken; or NULL.
static inline fy_ready_slot *find(fy_session *s, const fy_run_args *a) {
  const unsigned place = place_of(a);
  for (unsigned i = 0; i < PLACES; i++) {
    fy_ready_slot *slot = slot_at(s, place + i);
    if (FY_UNLIKELY(!take(slot, FREE))) continue;
    const fy_ready *r = slot->entry;
    if (FY_UNLIKELY(!is_current(s, r))) {
      empty(slot);
      continue;
    }
    if (FY_LIKELY(fy_request_is(&r->signature->request, a) && same_shapes(r->feeds, a)))
      return slot;
    leave(slot, FREE);
  }
  miss(s, place);
  return NULL;
}

bool fy_ready_run(fy_session *s, const fy_run_args *a, fy_tensor **results, fy_code *code,
                  bool *again, fy_error *err) {
  fy_ready_slot *slot = find(s, a);
  if (FY_UNLIKELY(!slot)) return false;
  fy_ready *r = slot->entry;
  fy_program *p = r->program;
  // For whoever has to choose which program to forget.
  atomic_store_explicit(&p->touched, true, memory_order_relaxed);
  r->misses = 0;
  if (FY_LIKELY(r->usual && !a->cancel && !a->timeout_ms && !a->trace)) {
    r->used = atomic_fetch_add_explicit(&s->steps, 1, memory_order_relaxed);
    r->run.step_id = r->used + 1;
    *code = fy_program_run_plain(p, &r->state, &r->run, a->feed_values, results, err);
    if (FY_UNLIKELY(!r->light && r->state)) {
      fy_state_recycle(r->state);
      r->state = NULL;
    }
  } else {
    r->used = atomic_load_explicit(&s->steps, memory_order_relaxed);
    *code = fy_session_run_program(s, p, a, results, err);
  }
  if (FY_UNLIKELY(*code == FY_UNAVAILABLE)) *again = fy_session_repeatable(p);
  leave(slot, FREE);
  return true;
}

void fy_ready_learn(fy_session *s, const fy_run_args *a, fy_signature *sig, fy_program *p) {
  fy_ready_slot *slot = empty_at(s, place_of(a));
  size_t n = 0;
  if (!slot || p->has_devices ||
      !fy_request_is(&sig->request, a))  // nodes of another graph, that go by their names
    return;
  for (int i = 0; i < a->num_feeds; i++) {
    if (a->feed_values[i]->device) return;
    n += sizeof(fed) + (size_t)a->feed_values[i]->rank * sizeof(int64_t);
  }
  fy_ready *r = fy_calloc(1, sizeof *r + n);
  if (!r) return;
  *r = (fy_ready){.signature = sig,
                  .program = p,
                  .run = {.resources = s->resources, .ahead = &s->ahead, .cancel = s->cancel},
                  .light = !p->plan.num_spaces || p->plan.arena_bytes[0] <= MAX_BYTES,
                  .usual = p->plain && s->options.operation_timeout_ms <= 0,
                  .vary = fy_variable_shapes_vary(),
                  .changes = __atomic_load_n(&s->devices->changes, __ATOMIC_RELAXED),
                  .used = atomic_load_explicit(&s->steps, memory_order_relaxed)};
  int64_t *dims = (int64_t *)(r->feeds + a->num_feeds);
  for (int i = 0; i < a->num_feeds; i++) {
    const fy_tensor *t = a->feed_values[i];
    r->feeds[i] = (fed){t->dtype, t->rank, dims};
    for (int32_t d = 0; d < t->rank; d++) *dims++ = t->dims[d];
  }
  if (!take(slot, EMPTY)) {
    fy_free(r);
    return;
  }
  fy_program_retain(p);
  atomic_fetch_add_explicit(&sig->busy, 1, memory_order_relaxed);
  slot->entry = r;
  leave(slot, FREE);
}

void fy_ready_forget(fy_session *s) {
  for (int i = 0; i < FY_READY_SLOTS; i++) {
    fy_ready_slot *slot = &s->ready[i];
    if (!take(slot, FREE)) continue;
    fy_signature *sig = slot->entry->signature;
    if (sig->used < slot->entry->used) sig->used = slot->entry->used;
    empty(slot);
  }
}

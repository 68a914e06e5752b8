// SPDX-License-Identifier: Apache-2.0
// state.c: make, recycle and free what one run owns.

#include "execute/state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "execute/build.h"
#include "execute/callable.h"
#include "execute/needs.h"
#include "memory/pool.h"
#include "memory/registry.h"
#include "memory/spill_file.h"

#define MAX_CONSTANT_SCAN 4096  // values of another program that are looked through
#define MAX_IDLE_STATES   8     // kept per program for concurrent runs

fy_exec *fy_exec_new(fy_run_state *s) {
  const fy_program *p = s->program;
  size_t in = p->max_in + 1, out = p->max_out + 1;
  fy_exec *e = fy_calloc(1, sizeof *e + in * sizeof(fy_tensor *) + out * sizeof(fy_tensor *) +
                                in * sizeof(fy_event) + out * sizeof(bool));
  if (!e) return NULL;
  char *at = (char *)(e + 1);
  e->after = (fy_event *)at;
  at += in * sizeof(fy_event);
  e->in = (fy_tensor **)at;
  at += in * sizeof(fy_tensor *);
  e->out = (fy_tensor **)at;
  at += out * sizeof(fy_tensor *);
  e->out_owned = (bool *)at;
  e->state = s;
  e->ctx = (fy_kernel_ctx){.svc = &fy_program_services,
                           .in = e->in,
                           .out = e->out,
                           .out_owned = e->out_owned,
                           .run = e,
                           .threads = 1};
  return e;
}

static fy_mempool *host_pool(const fy_program *p) {
  return p->devices->client->memory;
}

fy_code fy_exec_extra(fy_exec *e, size_t bytes, void **out, fy_error *err) {
  *out = NULL;
  if (!fy_grow(&e->extra, &e->cap_extra, e->num_extra + 1, sizeof *e->extra))
    return fy_fail_oom(err, bytes);
  fy_code code = fy_memory_alloc(e->state->program->devices->client, bytes, NULL, out, err);
  if (code) {
    fy_error_prepend(err, "OOM when allocating %zu bytes of temporary memory on %s\n", bytes,
                     e->ctx.site->device ? e->ctx.site->device->name : "the host");
    return code;
  }
  e->extra[e->num_extra++] = *out;
  e->extra_bytes += fy_mempool_taken(host_pool(e->state->program), bytes);
  return FY_OK;
}

void fy_exec_end_scratch(fy_exec *e) {
  fy_program *p = e->state->program;
  const fy_instr *ins = e->instr;
  const bool host = ins->device->is_host;
  const size_t over = host ? e->extra_bytes : e->ctx.scratch_asked;
  if (ins->site && ins->site->op->impl) fy_needs_learn(p, ins, e->ctx.scratch_asked);
  size_t old = atomic_load_explicit(&p->unplanned[!host], memory_order_relaxed);
  while (old < over && !atomic_compare_exchange_weak(&p->unplanned[!host], &old, over)) {
  }
  while (e->num_extra) fy_mempool_release(host_pool(p), e->extra[--e->num_extra]);
  e->extra_bytes = 0;
}

void fy_exec_free(fy_exec *e) {
  if (!e) return;
  fy_free(e->extra);
  fy_free(e);
}

// TensorFlow's words, for the largest tensor at the moment when the arena is fullest.
static void name_largest(const fy_program *p, int space, const fy_device *d, fy_error *err) {
  const fy_life *best = NULL;
  const uint32_t step = p->plan.peak_step[space];
  for (size_t i = 0; i < p->num_lives; i++) {
    const fy_life *l = &p->lives[i];
    if (l->space == space && l->first <= step && step <= l->last && l->value != FY_NO_VALUE &&
        (!best || l->bytes > best->bytes))
      best = l;
  }
  char shape[128];
  const fy_value *v = best ? &p->values[best->value] : NULL;
  fy_error_prepend(err, "Planned memory of %zu bytes cannot be had.\n", p->plan.arena_bytes[space]);
  if (v)
    fy_error_prepend(
        err,
        "OOM when allocating tensor with shape%s and type %s on %s by allocator %s\n\t "
        "[[{{node %s}}]]\n",
        fy_shape_text(v->rank, v->dims, shape), fy_dtype_name(v->dtype), d->name,
        fy_mempool_name(d->memory), best->owner);
}

static fy_code make_arenas(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  for (int i = 0; i < p->plan.num_spaces; i++) {
    size_t bytes = p->plan.arena_bytes[i];
    if (!bytes) continue;
    fy_device *d = i ? p->devices->items[i - 1] : p->devices->client;
    if (!i && p->spill.file_bytes) {
      fy_code code = fy_spill_file_map(p->options->spill_dir, bytes, &s->arenas[0], err);
      if (code) name_largest(p, i, d, err);
      if (code) return code;
      continue;
    }
    static const char owner[] = "planned memory of a program";
    fy_code code = fy_memory_alloc(d, bytes, owner, &s->arenas[i], err);
    if (code == FY_RESOURCE_EXHAUSTED) name_largest(p, i, d, err);
    if (code) return code;
    fy_count_held(fy_callables_counters(p->callables), i,
                  (int64_t)fy_mempool_taken(d->memory, bytes));
  }
  return FY_OK;
}

// Of an argument whose memory becomes a result's during the run.
static fy_code make_taken(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  for (uint32_t k = 0; p->any_takes && k < p->num_fresh; k++) {
    if (p->takes[k] < 0) continue;
    const uint32_t v = p->feed_value[p->takes[k]];
    fy_tensor_init(&s->planned[v]);
    FY_TRY(fy_tensor_set_shape(&s->planned[v], p->values[v].dtype, p->values[v].rank,
                               p->values[v].dims, err));
  }
  return FY_OK;
}

static fy_code make_headers(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  FY_TRY(make_taken(s, err));
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->storage == FY_STORE_CONST) s->slots[v] = val->constant;
    // Unfetched members of a fetched group get their address in every run (fill_slots).
    bool lent = val->storage == FY_STORE_FETCH && !val->fetched;
    if (val->storage != FY_STORE_PLANNED && !lent) continue;
    fy_tensor *t = &s->planned[v];
    fy_tensor_init(t);
    FY_TRY(fy_tensor_set_shape(t, val->dtype, val->rank, val->dims, err));
    t->data = s->arenas[val->space] && !lent ? (char *)s->arenas[val->space] + val->offset : NULL;
    t->device = val->space ? p->devices->items[val->space - 1] : NULL;
    s->slots[v] = t;
  }
  return FY_OK;
}

// Of tensors made at run time whose readers are in several tasks nobody knows the last one before: they
// are counted. (The others are in the lists of their last readers.)
static void count_reads(fy_run_state *s) {
  const fy_program *p = s->program;
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = 0; k < p->instrs[i].num_in; k++) s->reads[p->args[p->instrs[i].in + k]]++;
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = 0; k < p->instrs[i].num_free; k++)
      s->reads[p->args[p->instrs[i].free_at + k]] = 0;
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->storage != FY_STORE_DYNAMIC || val->fetched || val->producer == FY_NO_VALUE)
      s->reads[v] = 0;
  }
}

static fy_code make_state(fy_program *p, fy_run_state **out, fy_error *err) {
  size_t n = p->num_values + 1;
  fy_run_state *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  s->program = p;
  s->shard = fy_mempool_shard();
  fy_mutex_init(&s->lock);
  fy_cond_init(&s->done);
  fy_error_init(&s->error);
  s->slots = fy_calloc(n, sizeof *s->slots);
  s->owned = fy_calloc(n, sizeof *s->owned);
  s->planned = fy_calloc(n, sizeof *s->planned);
  s->lent = fy_calloc((size_t)p->num_fresh + 1, sizeof *s->lent);
  s->arenas = fy_calloc((size_t)p->plan.num_spaces + 1, sizeof *s->arenas);
  s->events = p->has_devices ? fy_calloc(n, sizeof *s->events) : NULL;
  if (p->spill.copies) {
    s->computed = fy_calloc((size_t)p->plan.num_spaces + 1, sizeof *s->computed);
    s->left = fy_calloc((size_t)p->plan.num_spaces + 1, sizeof *s->left);
  }
  if (fy_program_in_tasks(p)) {
    s->pending = fy_calloc(p->num_tasks, sizeof *s->pending);
    s->unread = fy_calloc(n, sizeof *s->unread);
    s->reads = fy_calloc(n, sizeof *s->reads);
  }
  s->main = fy_exec_new(s);
  fy_code code = FY_OK;
  if (!s->slots || !s->owned || !s->planned || !s->lent || !s->arenas || !s->main ||
      (p->has_devices && !s->events) || (p->spill.copies && (!s->computed || !s->left)) ||
      (fy_program_in_tasks(p) && (!s->pending || !s->unread || !s->reads)))
    code = fy_fail_oom(err, n * sizeof *s->planned);
  if (!code && p->devices->client->pool)
    s->main->ctx.threads = fy_pool_threads(p->devices->client->pool);
  if (!code && s->reads) count_reads(s);
  if (!code) code = make_arenas(s, err);
  if (!code) code = make_headers(s, err);
  fy_registry_update();
  if (code) {
    fy_state_free(s);
    return code;
  }
  fy_peers_join(p);
  *out = s;
  return FY_OK;
}

fy_code fy_state_acquire(fy_program *p, fy_run_state **out, fy_error *err) {
  if (FY_LIKELY(p->plain &&
                (*out = atomic_exchange_explicit(&p->handy, NULL, memory_order_acquire))))
    return FY_OK;
  fy_lock(&p->states_lock);
  fy_run_state *s = p->states;
  if (s) {
    p->states = s->next;
    p->num_idle--;
  }
  fy_unlock(&p->states_lock);
  if (!s) return make_state(p, out, err);
  *out = s;
  return FY_OK;
}

void fy_state_recycle(fy_run_state *s) {
  fy_program *p = s->program;
  fy_run_state *none = NULL;
  if (FY_LIKELY(p->plain && atomic_compare_exchange_strong_explicit(
                                &p->handy, &none, s, memory_order_release, memory_order_relaxed)))
    return;
  fy_lock(&p->states_lock);
  bool keep = p->num_idle < MAX_IDLE_STATES;
  if (keep) {
    s->next = p->states;
    p->states = s;
    p->num_idle++;
  }
  fy_unlock(&p->states_lock);
  if (!keep) fy_state_free(s);
}

// ---------------------------------------------------------------- peers
static fy_mutex peers_lock = FY_MUTEX_INIT;
static fy_program *peers;

static bool idle_of(const fy_device *d);

void fy_peers_join(fy_program *p) {
  fy_memory_on_full(idle_of);
  fy_lock(&peers_lock);
  if (!p->is_peer) {
    p->is_peer = true;
    p->peer_next = peers;
    p->peer_at = &peers;
    if (peers) peers->peer_at = &p->peer_next;
    peers = p;
  }
  fy_unlock(&peers_lock);
}

void fy_peers_leave(fy_program *p) {
  fy_lock(&peers_lock);
  *p->peer_at = p->peer_next;
  if (p->peer_next) p->peer_next->peer_at = p->peer_at;
  fy_unlock(&peers_lock);
}

// Constants of a program that nobody runs leave the devices; its next run brings them again.
static bool drop_constants(fy_program *q, int active) {
  bool any = false;
  if (atomic_load(&q->active) != active) return false;
  if (!fy_trylock(&q->constants_lock)) return false;
  const bool placed = atomic_exchange(&q->constants_placed, false);  // who comes now waits for us
  const bool idle = atomic_load(&q->active) == active && !q->states;
  for (uint32_t v = 0; idle && v < q->num_values; v++) {
    fy_value *val = &q->values[v];
    if (val->storage != FY_STORE_CONST || !val->space || val->feed < 0 || !val->constant) continue;
    if (fy_tensor_is_exclusive(val->constant)) any = true;  // else another program keeps it
    if (val->counted)
      fy_count_held(
          fy_callables_counters(q->callables), val->space,
          -(int64_t)fy_memory_tensor_taken(q->devices->items[val->space - 1], val->bytes));
    val->counted = false;
    fy_tensor_release(val->constant);
    val->constant = NULL;
  }
  if (!idle && placed) atomic_store(&q->constants_placed, true);
  fy_unlock(&q->constants_lock);
  return any;
}

static bool let_go(fy_program *q) {
  fy_lock(&q->states_lock);
  fy_run_state *idle = q->states;
  q->states = NULL;
  q->num_idle = 0;
  fy_unlock(&q->states_lock);
  fy_run_state *handy = atomic_exchange_explicit(&q->handy, NULL, memory_order_acquire);
  bool any = idle || handy;
  fy_state_free(handy);
  while (idle) {
    fy_run_state *next = idle->next;
    fy_state_free(idle);
    idle = next;
  }
  any |= drop_constants(q, 0);
  return any;
}

static bool uses_memory_of(const fy_program *p, const fy_device *d) {
  return d->ordinal < p->devices->n && p->devices->items[d->ordinal] == d;
}

static bool idle_of(const fy_device *d) {
  bool any = false;
  fy_lock(&peers_lock);
  for (fy_program *q = peers; q; q = q->peer_next) any |= uses_memory_of(q, d) && let_go(q);
  fy_unlock(&peers_lock);
  return any;
}

static bool same_constant(const fy_tensor *a, const fy_tensor *b) {
  return a && b && a->data == b->data && a->buffer && a->buffer == b->buffer &&
         a->dtype == b->dtype && fy_shape_equal(a->rank, a->dims, b->rank, b->dims);
}

// Programs of one graph number their values alike more often than not: the same number is tried first.
static fy_tensor *constant_in(const fy_program *q, const fy_tensor *host, int space,
                              uint32_t hint) {
  const uint32_t most = q->num_values < MAX_CONSTANT_SCAN ? q->num_values : 0;
  for (uint32_t i = 0; i <= most; i++) {
    const uint32_t v = i ? i - 1 : hint;
    if (v >= q->num_values) continue;
    const fy_value *val = &q->values[v];
    if (val->storage == FY_STORE_CONST && val->space == space && val->constant && val->feed >= 0 &&
        same_constant(q->values[val->feed].constant, host))
      return val->constant;
  }
  return NULL;
}

fy_tensor *fy_peers_constant(fy_program *p, const fy_tensor *host, int space, uint32_t hint) {
  fy_tensor *found = NULL;
  fy_lock(&peers_lock);
  for (fy_program *q = peers; q && !found; q = q->peer_next)
    if (q != p && q->devices == p->devices &&
        atomic_load_explicit(&q->constants_placed, memory_order_acquire))
      found = constant_in(q, host, space, hint);
  if (found) fy_tensor_retain(found);
  fy_unlock(&peers_lock);
  return found;
}

void fy_peers_drop_constants(fy_program *p) {
  fy_lock(&peers_lock);
  (void)drop_constants(p, 1);
  fy_unlock(&peers_lock);
}

bool fy_peers_reclaim(fy_program *p) {
  bool any = false;
  fy_lock(&peers_lock);
  for (fy_program *q = peers; q; q = q->peer_next) any |= q->devices == p->devices && let_go(q);
  fy_unlock(&peers_lock);
  return any;
}

void fy_state_free(fy_run_state *s) {
  if (!s) return;
  const fy_program *p = s->program;
  for (uint32_t v = 0; s->planned && v < p->num_values; v++)
    if (atomic_load_explicit(&s->planned[v].refs, memory_order_relaxed))
      fy_tensor_deinit(&s->planned[v]);
  for (int i = 0; s->arenas && i < p->plan.num_spaces; i++) {
    if (!s->arenas[i]) continue;
    if (!i && p->spill.file_bytes) {
      fy_spill_file_unmap(s->arenas[0], p->spill.file_bytes);
      continue;
    }
    fy_mempool *pool = i ? p->devices->items[i - 1]->memory : host_pool(p);
    fy_mempool_release(pool, s->arenas[i]);
    fy_count_held(fy_callables_counters(p->callables), i,
                  -(int64_t)fy_mempool_taken(pool, p->plan.arena_bytes[i]));
  }
  fy_exec_free(s->main);
  fy_free(s->slots);
  fy_free(s->owned);
  fy_free(s->planned);
  fy_free(s->lent);
  fy_free(s->arenas);
  fy_free(s->computed);
  fy_free(s->left);
  fy_free(s->events);
  fy_free(s->pending);
  fy_free(s->unread);
  fy_free(s->reads);
  fy_error_clear(&s->error);
  fy_cond_destroy(&s->done);
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

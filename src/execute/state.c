// SPDX-License-Identifier: Apache-2.0
// state.c: make, recycle and free what one run owns.

#include "execute/state.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/needs.h"
#include "memory/pool.h"

#define MAX_IDLE_STATES 8  // kept per program for concurrent runs

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
  fy_code code = fy_mempool_alloc(host_pool(e->state->program), bytes, NULL, out, err);
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

static fy_code make_arenas(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  for (int i = 0; i < p->plan.num_spaces; i++) {
    size_t bytes = p->plan.arena_bytes[i];
    if (!bytes) continue;
    fy_device *d = i ? p->devices->items[i - 1] : p->devices->client;
    fy_code code =
        fy_mempool_alloc(d->memory, bytes, "planned memory of a program", &s->arenas[i], err);
    if (code == FY_RESOURCE_EXHAUSTED)
      fy_error_prepend(err, "OOM when allocating %zu bytes of planned memory for a program on %s\n",
                       bytes, d->name);
    if (code) return code;
  }
  return FY_OK;
}

static fy_code make_headers(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->storage == FY_STORE_CONST) s->slots[v] = val->constant;
    // Unfetched members of a fetched group get their address in every run (fill_slots).
    bool lent = val->storage == FY_STORE_FETCH && val->root != v && !val->fetched;
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

static fy_code make_state(fy_program *p, fy_run_state **out, fy_error *err) {
  size_t n = p->num_values + 1;
  fy_run_state *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  s->program = p;
  fy_mutex_init(&s->lock);
  fy_cond_init(&s->done);
  fy_error_init(&s->error);
  s->slots = fy_calloc(n, sizeof *s->slots);
  s->owned = fy_calloc(n, sizeof *s->owned);
  s->planned = fy_calloc(n, sizeof *s->planned);
  s->arenas = fy_calloc((size_t)p->plan.num_spaces + 1, sizeof *s->arenas);
  s->events = p->has_devices ? fy_calloc(n, sizeof *s->events) : NULL;
  s->pending = p->num_tasks > 1 ? fy_calloc(p->num_tasks, sizeof *s->pending) : NULL;
  s->main = fy_exec_new(s);
  fy_code code = FY_OK;
  if (!s->slots || !s->owned || !s->planned || !s->arenas || !s->main ||
      (p->has_devices && !s->events) || (p->num_tasks > 1 && !s->pending))
    code = fy_fail_oom(err, n * sizeof *s->planned);
  if (!code) code = make_arenas(s, err);
  if (!code) code = make_headers(s, err);
  if (code) {
    fy_state_free(s);
    return code;
  }
  *out = s;
  return FY_OK;
}

fy_code fy_state_acquire(fy_program *p, fy_run_state **out, fy_error *err) {
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

void fy_state_free(fy_run_state *s) {
  if (!s) return;
  const fy_program *p = s->program;
  for (uint32_t v = 0; s->planned && v < p->num_values; v++)
    if (s->slots && s->slots[v] == &s->planned[v]) fy_tensor_deinit(&s->planned[v]);
  for (int i = 0; s->arenas && i < p->plan.num_spaces; i++) {
    if (!s->arenas[i]) continue;
    fy_mempool_release(i ? p->devices->items[i - 1]->memory : host_pool(p), s->arenas[i]);
  }
  fy_exec_free(s->main);
  fy_free(s->slots);
  fy_free(s->owned);
  fy_free(s->planned);
  fy_free(s->arenas);
  fy_free(s->events);
  fy_free(s->pending);
  fy_error_clear(&s->error);
  fy_cond_destroy(&s->done);
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

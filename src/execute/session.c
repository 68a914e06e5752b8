// SPDX-License-Identifier: Apache-2.0
// session.c: from (feeds, fetches, targets) to the callable that serves them. The usual case is the
// same call again: one compare (ready.c), else one lock. A call seen for the first time is checked (request.c).

#include "execute/session.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/callable.h"
#include "execute/ready.h"
#include "execute/session_impl.h"
#include "execute/trace.h"
#include "memory/pool.h"
#include "memory/registry.h"

fy_code fy_session_new(fy_graph *graph, fy_device_set *devices, const fy_options *options,
                       fy_resources *resources, fy_session **out, fy_error *err) {
  *out = NULL;
  fy_session *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  s->graph = graph;
  s->devices = devices;
  s->options = *options;
  fy_mutex_init(&s->lock);
  fy_ahead_init(&s->ahead);
  atomic_init(&s->auto_extend, true);
  if (resources) fy_resources_retain(resources);
  s->resources = resources ? resources : fy_resources_new();
  s->callables = fy_callables_new(graph->functions, devices, &s->options);
  s->cancel = fy_cancel_new();
  if (!s->resources || !s->callables || !s->cancel) {
    fy_session_free(s);
    return fy_fail_oom(err, sizeof *s);
  }
  *out = s;
  return FY_OK;
}

static void free_signature(fy_signature *sig) {
  fy_callable_free(sig->callable);
  fy_request_free(&sig->request);
  fy_free(sig);
}

void fy_session_free(fy_session *s) {
  if (!s) return;
  fy_ready_forget(s);
  for (size_t i = 0; i < s->n; i++) free_signature(s->items[i]);
  fy_free(s->items);
  fy_callables_free(s->callables);
  fy_resources_release(s->resources);
  fy_cancel_free(s->cancel);
  fy_mutex_destroy(&s->lock);
  fy_ahead_deinit(&s->ahead);
  // What nobody uses any more goes back to the devices.
  for (int i = 0; s->devices && i < s->devices->n; i++)
    fy_mempool_trim(s->devices->items[i]->memory, 0);
  if (s->devices) fy_registry_update();
  fy_free(s);
}

const fy_options *fy_session_options(const fy_session *s) {
  return &s->options;
}

fy_graph *fy_session_graph(const fy_session *s) {
  return s->graph;
}

fy_device_set *fy_session_devices(const fy_session *s) {
  return s->devices;
}

fy_resources *fy_session_resources(fy_session *s) {
  return s->resources;
}

void fy_session_counts(fy_session *s, fy_counts *out) {
  fy_counters *c = fy_callables_counters(s->callables);
  *out = (fy_counts){.runs = atomic_load(&s->steps),
                     .programs = atomic_load(&c->programs),
                     .constants = atomic_load(&c->constants),
                     .constant_bytes = atomic_load(&c->constant_bytes)};
  for (int i = 0; i < FY_COPY_KINDS; i++) {
    out->transfers[i] = atomic_load(&c->transfers[i]);
    out->bytes[i] = atomic_load(&c->bytes[i]);
  }
}

void fy_session_memory(fy_session *s, int space, int64_t *now, int64_t *most) {
  fy_counters *c = fy_callables_counters(s->callables);
  bool known = space >= 0 && space < FY_COUNTED_SPACES;
  *now = known ? atomic_load(&c->held[space]) : 0;
  *most = known ? atomic_load(&c->most_held[space]) : 0;
}

void fy_session_close(fy_session *s) {
  fy_cancel_start(s->cancel);
}

void fy_session_watch(fy_session *s, void (*fn)(const fy_program *program)) {
  s->watch = fn;
}

void fy_session_explain_to(fy_session *s, fy_compiled_fn fn) {
  fy_callables_watch(s->callables, fn);
}

void fy_session_be_strict(fy_session *s) {
  s->strict = true;
}

static size_t graph_size(const fy_graph *g) {
  return __atomic_load_n(&g->num_nodes, __ATOMIC_RELAXED);
}

// The caller holds the graph's lock.
static fy_code take_in(fy_session *s, fy_error *err) {
  size_t known = atomic_load(&s->known), now = s->graph->num_nodes;
  if (known >= now) return FY_OK;
  FY_TRY(fy_request_check_nodes(s->graph, known, now, err));
  atomic_store(&s->known, now);
  return FY_OK;
}

static fy_code take_in_new(fy_session *s, fy_error *err) {
  fy_lock(&s->graph->lock);
  fy_code code = take_in(s, err);
  fy_unlock(&s->graph->lock);
  return code;
}

bool fy_session_is_current(const fy_session *s) {
  return atomic_load(&s->known) >= graph_size(s->graph);
}

fy_code fy_session_extend(fy_session *s, fy_error *err) {
  atomic_store(&s->auto_extend, false);
  return take_in_new(s, err);
}

// Whether the graph has grown and the session takes that in by itself.
static inline bool is_behind(fy_session *s) {
  return atomic_load_explicit(&s->known, memory_order_relaxed) != graph_size(s->graph) &&
         atomic_load_explicit(&s->auto_extend, memory_order_relaxed);
}

fy_code fy_session_ready(fy_session *s, fy_error *err) {
  if (is_behind(s)) FY_TRY(take_in_new(s, err));
  if (FY_UNLIKELY(fy_cancel_requested(s->cancel)))
    return fy_fail(err, FY_CANCELLED, "Session has been closed.");
  return FY_OK;
}

// ------------------------------------------------------------------ signatures
static uint64_t hash_outputs(uint64_t h, const fy_output *o, int n) {
  h = fy_hash_mix(h, (uint64_t)n);
  for (int i = 0; i < n; i++)
    h = fy_hash_mix(h, (uint64_t)(uintptr_t)o[i].node * 31 + (uint64_t)(uint32_t)o[i].index);
  return h;
}

static uint64_t hash_args(const fy_run_args *a) {
  uint64_t h = hash_outputs(1, a->feeds, a->num_feeds);
  h = hash_outputs(h, a->fetches, a->num_fetches);
  h = fy_hash_mix(h, (uint64_t)a->num_targets);
  for (int i = 0; i < a->num_targets; i++) h = fy_hash_mix(h, (uint64_t)(uintptr_t)a->targets[i]);
  return h;
}

static fy_signature *find_signature(fy_session *s, const fy_run_args *a, uint64_t hash) {
  for (size_t i = 0; i < s->n; i++) {
    fy_signature *sig = s->items[i];
    if (sig->hash != hash || !fy_request_is(&sig->request, a)) continue;
    if (i) {  // keep the likeliest in front
      s->items[i] = s->items[0];
      s->items[0] = sig;
    }
    return sig;
  }
  return NULL;
}

static void make_room(fy_session *s) {
  if (s->n < (size_t)(s->options.max_programs > 0 ? s->options.max_programs : 1)) return;
  fy_ready_forget(s);
  size_t old = s->n;
  for (size_t i = 0; i < s->n; i++)
    if (!atomic_load(&s->items[i]->busy) &&
        (old == s->n || s->items[i]->used < s->items[old]->used))
      old = i;
  if (old == s->n) return;  // all are running: go over the limit for now
  free_signature(s->items[old]);
  s->items[old] = s->items[--s->n];
}

// Takes over |r|, also on failure.
static fy_code new_signature(fy_session *s, fy_request *r, uint64_t hash, fy_signature **out,
                             fy_error *err) {
  fy_signature *sig = fy_calloc(1, sizeof *sig);
  if (!sig) {
    fy_request_free(r);
    return fy_fail_oom(err, sizeof *sig);
  }
  sig->hash = hash;
  sig->request = *r;
  fy_code code = FY_OK;
  make_room(s);
  if (!fy_grow(&s->items, &s->cap, s->n + 1, sizeof *s->items))
    code = fy_fail_oom(err, sizeof *sig);
  if (!code)
    code = fy_callable_new(s->graph, r->feeds, r->num_feeds, r->fetches, r->num_fetches, r->targets,
                           r->num_targets, s->devices, NULL, &s->options, s->callables, false,
                           &sig->callable, err);
  if (code) {
    free_signature(sig);
    return code;
  }
  s->items[s->n++] = sig;
  *out = sig;
  return FY_OK;
}

// A request that was not seen in these words: check it, then perhaps find it in ours.
static fy_code learn(fy_session *s, const fy_run_args *a, fy_signature **out, fy_error *err) {
  fy_request r;
  fy_lock(&s->graph->lock);
  fy_code code = fy_request_make(s->graph, atomic_load(&s->known), !s->strict, a, &r, err);
  fy_unlock(&s->graph->lock);
  if (code) return code;
  fy_run_args own = {.feeds = r.feeds,
                     .num_feeds = r.num_feeds,
                     .fetches = r.fetches,
                     .num_fetches = r.num_fetches,
                     .targets = r.targets,
                     .num_targets = r.num_targets};
  uint64_t hash = hash_args(&own);
  *out = find_signature(s, &own, hash);
  if (!*out) return new_signature(s, &r, hash, out, err);
  fy_request_free(&r);
  return FY_OK;
}

// Finds or makes the signature and marks it busy.
static fy_code acquire(fy_session *s, const fy_run_args *a, fy_signature **out, fy_error *err) {
  uint64_t hash = hash_args(a);
  fy_code code = FY_OK;
  fy_lock(&s->lock);
  *out = find_signature(s, a, hash);
  if (!*out) code = learn(s, a, out, err);
  if (!code) {
    (*out)->used = atomic_load_explicit(&s->steps, memory_order_relaxed);
    atomic_fetch_add_explicit(&(*out)->busy, 1, memory_order_relaxed);
  }
  fy_unlock(&s->lock);
  return code;
}

// ------------------------------------------------------------------ runs
void fy_session_run_args(fy_session *s, const fy_run_args *a, fy_run *run) {
  int64_t timeout = a->timeout_ms > 0 ? a->timeout_ms : s->options.operation_timeout_ms;
  *run = (fy_run){.resources = s->resources,
                  .ahead = &s->ahead,
                  .cancel = a->cancel ? a->cancel : s->cancel,
                  .trace = a->trace,
                  .deadline_ns = timeout > 0 ? fy_now_ns() + timeout * 1000000 : 0,
                  .step_id = atomic_fetch_add_explicit(&s->steps, 1, memory_order_relaxed) + 1};
}

// Whoever noticed it and in whatever words: time was up.
static fy_code run_timed(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                         fy_tensor **results, fy_error *err) {
  fy_code code = fy_program_run(p, run, feeds, results, err);
  if (FY_UNLIKELY(code && run->deadline_ns && fy_now_ns() > run->deadline_ns))
    return fy_fail(err, FY_DEADLINE_EXCEEDED, "Timed out waiting for notification");
  return code;
}

fy_code fy_session_run_program(fy_session *s, fy_program *p, const fy_run_args *a,
                               fy_tensor **results, fy_error *err) {
  fy_run run;
  fy_session_run_args(s, a, &run);
  if (FY_UNLIKELY(s->watch && !atomic_exchange(&p->seen, true))) s->watch(p);
  if (FY_LIKELY(!a->trace)) return run_timed(p, &run, a->feed_values, results, err);
  a->trace->start_ns = fy_now_ns();
  fy_program_retain(p);
  fy_program_release(a->trace->program);
  a->trace->program = p;
  fy_code code = run_timed(p, &run, a->feed_values, results, err);
  a->trace->end_ns = fy_now_ns();
  return code;
}

// A status that says UNAVAILABLE and names a device: that one is gone. True: this is news.
static bool note_loss(fy_session *s, const fy_error *err) {
  bool news = false;
  for (int i = 0; err && i < s->devices->n; i++) {
    fy_device *d = s->devices->items[i];
    if (d->is_host || !strstr(fy_error_text(err), d->name)) continue;
    if (__atomic_exchange_n(&d->lost, 1, __ATOMIC_RELAXED)) continue;
    __atomic_fetch_add(&s->devices->changes, 1, __ATOMIC_RELAXED);
    news = true;
  }
  return news;
}

// A run that changes nothing but its results may be done again.
bool fy_session_repeatable(const fy_program *p) {
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_node *n = p->instrs[i].node;
    if (p->instrs[i].kind == FY_INSTR_KERNEL &&
        (n->function || !n->op || !n->op->impl || (n->op->spec->flags & FY_SPEC_STATEFUL)))
      return false;
  }
  return true;
}

// The program for these arguments; both it and the signature are to be released.
static fy_code find_program(fy_session *s, const fy_run_args *a, fy_signature **sig, fy_program **p,
                            fy_error *err) {
  FY_TRY(acquire(s, a, sig, err));
  fy_code code =
      fy_request_check_values((*sig)->request.feed_types, a->feed_values, a->num_feeds, err);
  if (!code) code = fy_callable_program((*sig)->callable, a->feed_values, p, err);
  if (code) fy_signature_release(*sig);
  return code;
}

static fy_code run_once(fy_session *s, const fy_run_args *a, fy_tensor **results, bool *again,
                        fy_error *err) {
  fy_signature *sig;
  fy_program *p;
  for (int i = 0; i < a->num_fetches; i++) results[i] = NULL;
  FY_TRY(fy_session_ready(s, err));
  FY_TRY(find_program(s, a, &sig, &p, err));
  const int64_t start = p->any_shape ? fy_now_ns() : 0;
  fy_code code = fy_session_run_program(s, p, a, results, err);
  *again = code == FY_UNAVAILABLE && fy_session_repeatable(p);
  if (p->any_shape)
    fy_callable_took(sig->callable, a->feed_values, fy_now_ns() - start);
  else if (!code)
    fy_ready_learn(s, a, sig, p);
  fy_program_release(p);
  fy_signature_release(sig);
  return code;
}

// A run ended with |code|: if a device is gone and it may be done |again|, it is, elsewhere.
static fy_code work_around(fy_session *s, const fy_run_args *a, fy_code code, bool again,
                           fy_tensor **results, fy_error *err) {
  if (code != FY_UNAVAILABLE || !note_loss(s, err) || !again) return code;
  fy_error second;
  fy_error_init(&second);
  fy_code elsewhere = run_once(s, a, results, &again, &second);
  // A node that may be nowhere else: the loss is the news, not that no other device will do.
  if (elsewhere != FY_INVALID_ARGUMENT) {
    code = elsewhere;
    fy_error_clear(err);
    fy_error_move(err, &second);
  }
  fy_error_clear(&second);
  return code;
}

static fy_code run_anew(fy_session *s, const fy_run_args *a, fy_tensor **results, fy_error *err) {
  bool again = false;
  fy_error mine;
  fy_error_init(&mine);
  fy_code code = run_once(s, a, results, &again, &mine);
  code = work_around(s, a, code, again, results, &mine);
  if (code && err) {
    fy_error_clear(err);
    fy_error_move(err, &mine);
  }
  fy_error_clear(&mine);
  return code;
}

fy_code fy_session_run(fy_session *s, const fy_run_args *a, fy_tensor **results, fy_error *err) {
  bool again = false;
  fy_code code;
  if (FY_UNLIKELY(is_behind(s) || fy_cancel_requested(s->cancel) ||
                  !fy_ready_run(s, a, results, &code, &again, err)))
    return run_anew(s, a, results, err);
  if (FY_UNLIKELY(code == FY_UNAVAILABLE) && err)
    return work_around(s, a, code, again, results, err);
  if (FY_UNLIKELY(!code && err && err->code)) fy_error_clear(err);  // a kernel thought better of it
  return code;
}

fy_code fy_session_start(fy_session *s, const fy_run_args *a, fy_started **out, fy_error *err) {
  fy_signature *sig;
  fy_program *p;
  fy_run run;
  *out = NULL;
  FY_TRY(fy_session_ready(s, err));
  FY_TRY(find_program(s, a, &sig, &p, err));
  fy_session_run_args(s, a, &run);
  if (FY_UNLIKELY(s->watch && !atomic_exchange(&p->seen, true))) s->watch(p);
  fy_code code = fy_program_start(p, &run, a->feed_values, out, err);
  if (!code) fy_ahead_add(&s->ahead, *out);
  if (code == FY_UNAVAILABLE) (void)note_loss(s, err);
  fy_program_release(p);
  fy_signature_release(sig);
  return code;
}

fy_code fy_session_finish(fy_session *s, fy_started *st, fy_tensor **results, fy_error *err) {
  fy_ahead_remove(&s->ahead, st);
  fy_code code = fy_program_finish(st, results, err);
  if (code == FY_UNAVAILABLE) (void)note_loss(s, err);
  return code;
}

fy_code fy_session_program(fy_session *s, const fy_run_args *a, const fy_pshape *feed_shapes,
                           const char *stop_after, fy_str *log, fy_program **out, fy_error *err) {
  fy_signature *sig;
  *out = NULL;
  FY_TRY(fy_session_ready(s, err));
  FY_TRY(acquire(s, a, &sig, err));
  fy_code code =
      fy_callable_explain(sig->callable, feed_shapes, NULL, NULL, stop_after, log, out, err);
  fy_signature_release(sig);
  return code;
}

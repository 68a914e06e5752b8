// SPDX-License-Identifier: Apache-2.0
// session.c: from (feeds, fetches, targets) to the callable that serves them. The usual case is the
// same call again: one lock, one compare.

#include "execute/session.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/callable.h"
#include "execute/trace.h"

typedef struct signature {
  uint64_t hash;
  fy_output *feeds, *fetches;
  fy_node **targets;
  int num_feeds, num_fetches, num_targets;
  fy_callable *callable;
  uint64_t used;
  int busy;  // runs in progress: not evicted
} signature;

struct fy_session {
  fy_graph *graph;
  fy_device_set *devices;
  fy_options options;
  fy_resources *resources;
  fy_callables *callables;
  fy_mutex lock;
  signature **items;
  size_t n, cap;
  uint64_t clock;
  atomic_int_least64_t steps;
};

fy_code fy_session_new(fy_graph *graph, fy_device_set *devices, const fy_options *options,
                       fy_resources *resources, fy_session **out, fy_error *err) {
  *out = NULL;
  fy_session *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  s->graph = graph;
  s->devices = devices;
  s->options = *options;
  fy_mutex_init(&s->lock);
  if (resources) fy_resources_retain(resources);
  s->resources = resources ? resources : fy_resources_new();
  s->callables = fy_callables_new(graph->functions, devices, &s->options);
  if (!s->resources || !s->callables) {
    fy_session_free(s);
    return fy_fail_oom(err, sizeof *s);
  }
  *out = s;
  return FY_OK;
}

static void free_signature(signature *sig) {
  fy_callable_free(sig->callable);
  fy_free(sig->feeds);
  fy_free(sig->fetches);
  fy_free(sig->targets);
  fy_free(sig);
}

void fy_session_free(fy_session *s) {
  if (!s) return;
  for (size_t i = 0; i < s->n; i++) free_signature(s->items[i]);
  fy_free(s->items);
  fy_callables_free(s->callables);
  fy_resources_release(s->resources);
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

fy_resources *fy_session_resources(fy_session *s) { return s->resources; }

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

static bool same_outputs(const fy_output *a, const fy_output *b, int n) {
  for (int i = 0; i < n; i++)
    if (a[i].node != b[i].node || a[i].index != b[i].index) return false;
  return true;
}

static bool same_args(const signature *s, const fy_run_args *a) {
  if (s->num_feeds != a->num_feeds || s->num_fetches != a->num_fetches ||
      s->num_targets != a->num_targets || !same_outputs(s->feeds, a->feeds, a->num_feeds) ||
      !same_outputs(s->fetches, a->fetches, a->num_fetches))
    return false;
  for (int i = 0; i < a->num_targets; i++)
    if (s->targets[i] != a->targets[i]) return false;
  return true;
}

static void *copy_array(const void *p, int n, size_t elem) {
  void *out = fy_malloc(((size_t)n + 1) * elem);
  if (out && n) memcpy(out, p, (size_t)n * elem);
  return out;
}

static fy_code new_signature(fy_session *s, const fy_run_args *a, uint64_t hash, signature **out,
                             fy_error *err) {
  signature *sig = fy_calloc(1, sizeof *sig);
  if (!sig) return fy_fail_oom(err, sizeof *sig);
  sig->hash = hash;
  sig->num_feeds = a->num_feeds;
  sig->num_fetches = a->num_fetches;
  sig->num_targets = a->num_targets;
  sig->feeds = copy_array(a->feeds, a->num_feeds, sizeof *a->feeds);
  sig->fetches = copy_array(a->fetches, a->num_fetches, sizeof *a->fetches);
  sig->targets = copy_array(a->targets, a->num_targets, sizeof *a->targets);
  fy_code code = FY_OK;
  if (!sig->feeds || !sig->fetches || !sig->targets ||
      !fy_grow(&s->items, &s->cap, s->n + 1, sizeof *s->items))
    code = fy_fail_oom(err, sizeof *sig);
  if (!code)
    code = fy_callable_new(s->graph, a->feeds, a->num_feeds, a->fetches, a->num_fetches, a->targets,
                           a->num_targets, s->devices, NULL, &s->options, s->callables, false,
                           &sig->callable, err);
  if (code) {
    free_signature(sig);
    return code;
  }
  s->items[s->n++] = sig;
  *out = sig;
  return FY_OK;
}

static void make_room(fy_session *s) {
  if (s->n < (size_t)(s->options.max_programs > 0 ? s->options.max_programs : 1)) return;
  size_t old = s->n;
  for (size_t i = 0; i < s->n; i++)
    if (!s->items[i]->busy && (old == s->n || s->items[i]->used < s->items[old]->used)) old = i;
  if (old == s->n) return;  // all are running: go over the limit for now
  free_signature(s->items[old]);
  s->items[old] = s->items[--s->n];
}

// Finds or makes the signature and marks it busy.
static fy_code acquire(fy_session *s, const fy_run_args *a, signature **out, fy_error *err) {
  uint64_t hash = hash_args(a);
  fy_code code = FY_OK;
  *out = NULL;
  fy_lock(&s->lock);
  for (size_t i = 0; i < s->n && !*out; i++)
    if (s->items[i]->hash == hash && same_args(s->items[i], a)) {
      *out = s->items[i];
      if (i) {  // keep the likeliest in front
        s->items[i] = s->items[0];
        s->items[0] = *out;
      }
    }
  if (!*out) {
    make_room(s);
    code = new_signature(s, a, hash, out, err);
  }
  if (!code) {
    (*out)->used = ++s->clock;
    (*out)->busy++;
  }
  fy_unlock(&s->lock);
  return code;
}

static void release(fy_session *s, signature *sig) {
  fy_lock(&s->lock);
  sig->busy--;
  fy_unlock(&s->lock);
}

fy_code fy_session_run(fy_session *s, const fy_run_args *a, fy_tensor **results, fy_error *err) {
  signature *sig;
  fy_program *p;
  for (int i = 0; i < a->num_fetches; i++) results[i] = NULL;
  FY_TRY(acquire(s, a, &sig, err));
  fy_code code = fy_callable_program(sig->callable, a->feed_values, &p, err);
  if (!code) {
    int64_t timeout = a->timeout_ms > 0 ? a->timeout_ms : s->options.operation_timeout_ms;
    fy_run run = {.resources = s->resources, .cancel = a->cancel, .trace = a->trace,
                  .deadline_ns = timeout > 0 ? fy_now_ns() + timeout * 1000000 : 0,
                  .step_id = atomic_fetch_add_explicit(&s->steps, 1, memory_order_relaxed) + 1};
    if (a->trace) {
      a->trace->start_ns = fy_now_ns();
      fy_program_retain(p);
      fy_program_release(a->trace->program);
      a->trace->program = p;
    }
    code = fy_program_run(p, &run, a->feed_values, results, err);
    if (a->trace) a->trace->end_ns = fy_now_ns();
    fy_program_release(p);
  }
  release(s, sig);
  return code;
}

fy_code fy_session_program(fy_session *s, const fy_run_args *a, const fy_pshape *feed_shapes,
                           const char *stop_after, fy_str *log, fy_program **out, fy_error *err) {
  signature *sig;
  *out = NULL;
  FY_TRY(acquire(s, a, &sig, err));
  fy_code code = fy_callable_explain(sig->callable, feed_shapes, stop_after, log, out, err);
  release(s, sig);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
// eager_context.c: contexts: devices, resources per device, functions, per-thread wishes, caches.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "devices/devices.h"
#include "execute/eager_impl.h"

const char *fy_eager_host(void) {
  static _Thread_local char name[256];
  if (!name[0] && (gethostname(name, sizeof name - 1) != 0 || !name[0])) strcpy(name, "localhost");
  return name;
}

// ------------------------------------------------------------------ life
static fy_code open_devices(fy_eager *c, fy_error *err) {
  fy_device_set *set;
  FY_TRY(fy_devices_open(&c->options, &set, err));
  fy_resources **resources = fy_calloc((size_t)set->n, sizeof *resources);
  bool ok = resources != NULL;
  for (int i = 0; ok && i < set->n; i++) ok = (resources[i] = fy_resources_new()) != NULL;
  if (!ok) {
    for (int i = 0; resources && i < set->n; i++) fy_resources_release(resources[i]);
    fy_free(resources);
    fy_devices_unref(set);
    return fy_fail_oom(err, sizeof *resources);
  }
  c->devices = set;
  c->resources = resources;
  return FY_OK;
}

static void drop_resources(fy_eager *c) {
  for (int i = 0; c->resources && i < c->devices->n; i++) fy_resources_release(c->resources[i]);
  fy_free(c->resources);
  c->resources = NULL;
}

fy_code fy_eager_new(const fy_eager_options *options, fy_eager **out, fy_error *err) {
  *out = NULL;
  fy_eager *c = fy_calloc(1, sizeof *c);
  if (!c) return fy_fail_oom(err, sizeof *c);
  atomic_init(&c->refs, 1);
  fy_mutex_init(&c->lock);
  c->options = options->options;
  c->policy = (int)options->policy;
  atomic_init(&c->soft, c->options.soft_placement);
  atomic_init(&c->log, c->options.log_placement);
  atomic_init(&c->step, 0);
  c->mask = 1023;
  c->async = options->async;
  c->say = options->log;
  c->explain = c->options.explain[0] ? options->explain : NULL;
  c->explain_body = c->options.explain[0] ? options->explain_body : NULL;
  c->functions = fy_funclib_new();
  c->executor = fy_executor_new(options->async);
  c->buckets = fy_calloc((size_t)c->mask + 1, sizeof *c->buckets);
  fy_code code = FY_OK;
  if (!c->functions || !c->executor || !c->buckets) code = fy_fail_oom(err, sizeof *c);
  if (!code) code = open_devices(c, err);
  if (code) {
    fy_eager_release(c);
    return code;
  }
  *out = c;
  return FY_OK;
}

void fy_eager_retain(fy_eager *c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static void drop_threads(fy_eager *c) {
  fy_lock(&c->lock);
  fy_eager_thread *t = c->threads;
  c->threads = NULL;
  atomic_store(&c->num_threads, 0);
  fy_unlock(&c->lock);
  while (t) {
    fy_eager_thread *next = t->next;
    if (t->executor) fy_executor_release(t->executor);
    fy_free(t);
    t = next;
  }
}

static void free_op(fy_eager_op *op) {
  if (!op) return;
  fy_eager_drop_recent(op);
  fy_arena_free(&op->arena);
  if (op->inputs != op->inline_inputs) fy_free(op->inputs);
  if (op->attrs != op->inline_attrs) fy_free(op->attrs);
  fy_free(op);
}

void fy_eager_release(fy_eager *c) {
  if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  drop_threads(c);
  if (c->executor) fy_executor_release(c->executor);
  fy_eager_clear_caches(c);
  fy_eager_drop_bodies(c->bodies);
  if (c->devices) drop_resources(c);
  if (c->functions) fy_funclib_unref(c->functions);
  if (c->devices) fy_devices_unref(c->devices);
  for (size_t i = 0; i < c->num_old_sets; i++) fy_devices_unref(c->old_sets[i]);
  fy_free(c->old_sets);
  for (size_t i = 0; i < c->num_requests; i++) fy_free(c->requests[i].text);
  fy_free(c->requests);
  fy_eager_free_customs(c);
  fy_free(c->buckets);
  fy_mutex_destroy(&c->lock);
  fy_free(c);
}

void fy_eager_close(fy_eager *c) {
  drop_threads(c);
  fy_code code = fy_executor_wait(c->executor, NULL);
  (void)code;  // who wanted to know has asked before
  fy_eager_clear_caches(c);
  fy_eager_close_customs(c);
  fy_eager_release(c);
}

fy_device_set *fy_eager_devices(fy_eager *c) {
  return c->devices;
}

fy_funclib *fy_eager_functions(fy_eager *c) {
  return c->functions;
}

fy_code fy_eager_set_cpus(fy_eager *c, int count, fy_error *err) {
  int now = 0;
  for (int i = 0; i < c->devices->n; i++) now += strcmp(c->devices->items[i]->type, "CPU") == 0;
  if (count <= now) return FY_OK;
  if (count > FY_MAX_CPU_DEVICES)
    return fy_fail(err, FY_INVALID_ARGUMENT, "at most %d CPU devices, not %d", FY_MAX_CPU_DEVICES,
                   count);
  fy_device_set *old = c->devices;
  fy_resources **old_resources = c->resources;
  if (!fy_grow(&c->old_sets, &c->cap_old_sets, c->num_old_sets + 1, sizeof *c->old_sets))
    return fy_fail_oom(err, sizeof *c->old_sets);
  fy_eager_functions_changed(c);
  c->options.cpu_devices = count;
  fy_code code = open_devices(c, err);
  if (code) {
    c->devices = old;
    c->resources = old_resources;
    c->options.cpu_devices = now;
    return code;
  }
  for (int i = 0; i < old->n; i++) fy_resources_release(old_resources[i]);
  fy_free(old_resources);
  c->old_sets[c->num_old_sets++] = old;  // handles may still name its devices
  return FY_OK;
}

// ------------------------------------------------------------------ caches
void fy_eager_clear_caches(fy_eager *c) {
  fy_eager_kernel *dead = NULL;
  if (!c->buckets) return;
  fy_spin_lock(&c->spin);
  for (uint32_t i = 0; i <= c->mask; i++) {
    while (c->buckets[i]) {
      fy_eager_kernel *k = c->buckets[i];
      c->buckets[i] = k->next;
      k->next = dead;
      dead = k;
    }
  }
  c->num_kernels = 0;
  atomic_fetch_add(&c->generation, 1);
  fy_spin_unlock(&c->spin);
  for (int i = 0; i < FY_EAGER_SPARES; i++) free_op(atomic_exchange(&c->spares[i], NULL));
  while (dead) {
    fy_eager_kernel *next = dead->next;
    fy_eager_kernel_put(dead);
    dead = next;
  }
}

size_t fy_eager_cached_kernels(fy_eager *c) {
  fy_spin_lock(&c->spin);
  size_t n = c->num_kernels;
  fy_spin_unlock(&c->spin);
  return n;
}

fy_eager_bodies *fy_eager_take_bodies(fy_eager *c) {
  fy_lock(&c->lock);
  if (!c->bodies && (c->bodies = fy_calloc(1, sizeof *c->bodies))) {
    atomic_init(&c->bodies->refs, 1);
    c->bodies->callables = fy_callables_new(c->functions, c->devices, &c->options);
    if (c->bodies->callables) {
      fy_callables_watch(c->bodies->callables, c->explain_body);
    } else {
      fy_free(c->bodies);
      c->bodies = NULL;
    }
  }
  fy_eager_bodies *b = c->bodies;
  if (b) atomic_fetch_add(&b->refs, 1);
  fy_unlock(&c->lock);
  return b;
}

void fy_eager_drop_bodies(fy_eager_bodies *b) {
  if (!b || atomic_fetch_sub(&b->refs, 1) != 1) return;
  fy_callables_free(b->callables);
  fy_free(b);
}

void fy_eager_functions_changed(fy_eager *c) {
  fy_eager_clear_caches(c);
  fy_lock(&c->lock);
  fy_eager_bodies *b = c->bodies;
  c->bodies = NULL;
  fy_unlock(&c->lock);
  fy_eager_drop_bodies(b);
}

// ------------------------------------------------------------------ switches
void fy_eager_set_soft(fy_eager *c, bool soft) {
  atomic_store(&c->soft, soft);
}

void fy_eager_set_as_function(fy_eager *c, bool on) {
  atomic_store(&c->as_function, on);
}

void fy_eager_set_log(fy_eager *c, bool on) {
  atomic_store(&c->log, on);
}

void fy_eager_step(fy_eager *c, bool begin) {
  if (begin) atomic_fetch_add(&c->step, 1);
}

// ------------------------------------------------------------------ per thread
// The calling thread's entry; made if |make|. Holds the lock.
static fy_eager_thread *this_thread(fy_eager *c, bool make) {
  pthread_t self = pthread_self();
  fy_eager_thread *t = c->threads;
  while (t && !pthread_equal(t->thread, self)) t = t->next;
  if (t || !make || !(t = fy_calloc(1, sizeof *t))) return t;
  t->thread = self;
  t->policy = -1;
  t->next = c->threads;
  c->threads = t;
  atomic_fetch_add(&c->num_threads, 1);
  return t;
}

fy_copy_policy fy_eager_policy(fy_eager *c) {
  int policy = c->policy;
  if (atomic_load_explicit(&c->num_threads, memory_order_relaxed) == 0)
    return (fy_copy_policy)policy;
  fy_lock(&c->lock);
  const fy_eager_thread *t = this_thread(c, false);
  if (t && t->policy >= 0) policy = t->policy;
  fy_unlock(&c->lock);
  return (fy_copy_policy)policy;
}

fy_code fy_eager_set_policy(fy_eager *c, fy_copy_policy policy, fy_error *err) {
  fy_lock(&c->lock);
  fy_eager_thread *t = this_thread(c, true);
  if (t) t->policy = (int)policy;
  fy_unlock(&c->lock);
  return t ? FY_OK : fy_fail_oom(err, sizeof *t);
}

fy_code fy_eager_set_executor(fy_eager *c, fy_executor *e, fy_error *err) {
  fy_executor *old = NULL;
  if (e) fy_executor_retain(e);
  fy_lock(&c->lock);
  fy_eager_thread *t = this_thread(c, true);
  if (t) {
    old = t->executor;
    t->executor = e;
  }
  fy_unlock(&c->lock);
  if (!t && e) fy_executor_release(e);
  if (old) fy_executor_release(old);
  return t ? FY_OK : fy_fail_oom(err, sizeof *t);
}

fy_executor *fy_eager_get_executor(fy_eager *c) {
  fy_executor *e = NULL;
  fy_lock(&c->lock);
  const fy_eager_thread *t = this_thread(c, false);
  e = t && t->executor ? t->executor : c->executor;
  fy_executor_retain(e);
  fy_unlock(&c->lock);
  return e;
}

fy_code fy_eager_wait(fy_eager *c, fy_error *err) {
  size_t n = 0, cap = 0;
  fy_executor **list = NULL;
  fy_lock(&c->lock);
  for (const fy_eager_thread *t = c->threads; t; t = t->next) {
    if (!t->executor || !fy_grow(&list, &cap, n + 1, sizeof *list)) continue;
    fy_executor_retain(t->executor);
    list[n++] = t->executor;
  }
  fy_unlock(&c->lock);
  fy_code code = fy_executor_wait(c->executor, err);
  for (size_t i = 0; i < n; i++) {
    fy_code other = fy_executor_wait(list[i], code ? NULL : err);
    if (!code) code = other;
    fy_executor_release(list[i]);
  }
  fy_free(list);
  return code;
}

// ------------------------------------------------------------------ device names
fy_code fy_eager_request_of(fy_eager *c, const char *text, int32_t *out, bool *malformed,
                            fy_error *err) {
  fy_devname name;
  *out = 0;
  *malformed = false;
  if (!text || !*text) return FY_OK;
  if (!fy_devname_parse(text, &name)) {
    *malformed = true;
    return FY_INVALID_ARGUMENT;
  }
  fy_code code = FY_OK;
  fy_str full;
  fy_str_init(&full);
  fy_devname_print(&full, &name);
  fy_lock(&c->lock);
  size_t i = 1;
  while (i < c->num_requests && strcmp(c->requests[i].text, fy_str_text(&full)) != 0) i++;
  if (i >= c->num_requests) {
    size_t need = c->num_requests ? c->num_requests + 1 : 2;  // entry 0 stands for none
    if (full.failed || !fy_grow(&c->requests, &c->cap_requests, need, sizeof *c->requests)) {
      code = fy_fail_oom(err, sizeof *c->requests);
    } else {
      if (!c->num_requests) c->requests[c->num_requests++] = (fy_eager_request){0};
      char *copy = fy_strdup(fy_str_text(&full));
      i = c->num_requests;
      if (copy)
        c->requests[c->num_requests++] = (fy_eager_request){copy, name};
      else
        code = fy_fail_oom(err, full.len);
    }
  }
  fy_unlock(&c->lock);
  fy_str_free(&full);
  if (!code) *out = (int32_t)i;
  return code;
}

fy_device *fy_eager_find_device(fy_eager *c, const char *name) {
  if (!name || !*name) return c->devices->client;
  for (int i = 0; i < c->devices->n; i++) {
    fy_device *d = c->devices->items[i];
    char local[64], lower[96];
    if (strcmp(d->name, name) == 0) return d;
    snprintf(local, sizeof local, "/device:%s:%d", d->type, d->index);
    if (strcmp(local, name) == 0 || strcmp(local + 8, name) == 0) return d;
    int at = snprintf(lower, sizeof lower, FY_HOST_ADDRESS "/");
    for (const char *p = d->type; *p && at < 80; p++)
      lower[at++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
    snprintf(lower + at, sizeof lower - (size_t)at, ":%d", d->index);
    if (strcmp(lower, name) == 0) return d;
  }
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
#include "execute/cancel.h"

#include "base/alloc.h"
#include "base/thread.h"

typedef struct callback {
  struct callback *next;
  int64_t token;
  void (*fn)(void *);
  void *arg;
} callback;

struct fy_cancel {
  atomic_bool requested;  // first: fy_cancel_requested
  atomic_bool running;
  atomic_int_least64_t next_token;
  fy_mutex lock;
  fy_cond idle;
  callback *callbacks;
};

fy_cancel *fy_cancel_new(void) {
  fy_cancel *c = fy_calloc(1, sizeof *c);
  if (!c) return NULL;
  fy_mutex_init(&c->lock);
  fy_cond_init(&c->idle);
  return c;
}

void fy_cancel_free(fy_cancel *c) {
  if (!c) return;
  while (c->callbacks) {
    callback *cb = c->callbacks;
    c->callbacks = cb->next;
    fy_free(cb);
  }
  fy_cond_destroy(&c->idle);
  fy_mutex_destroy(&c->lock);
  fy_free(c);
}

void fy_cancel_start(fy_cancel *c) {
  fy_lock(&c->lock);
  if (atomic_load(&c->requested)) {
    while (atomic_load(&c->running)) fy_cond_wait(&c->idle, &c->lock);
    fy_unlock(&c->lock);
    return;
  }
  atomic_store(&c->requested, true);
  atomic_store(&c->running, true);
  callback *list = c->callbacks;
  c->callbacks = NULL;
  fy_unlock(&c->lock);
  while (list) {
    callback *cb = list;
    list = cb->next;
    cb->fn(cb->arg);
    fy_free(cb);
  }
  fy_lock(&c->lock);
  atomic_store(&c->running, false);
  fy_cond_broadcast(&c->idle);
  fy_unlock(&c->lock);
}

bool fy_cancel_in_progress(const fy_cancel *c) {
  return atomic_load(&((fy_cancel *)(uintptr_t)c)->running);
}

int64_t fy_cancel_token(fy_cancel *c) {
  return atomic_fetch_add(&c->next_token, 1);
}

bool fy_cancel_register(fy_cancel *c, int64_t token, void (*fn)(void *), void *arg) {
  callback *cb = fy_malloc(sizeof *cb);
  if (!cb) return false;
  *cb = (callback){.token = token, .fn = fn, .arg = arg};
  fy_lock(&c->lock);
  bool ok = !atomic_load(&c->requested);
  if (ok) {
    cb->next = c->callbacks;
    c->callbacks = cb;
  }
  fy_unlock(&c->lock);
  if (!ok) fy_free(cb);
  return ok;
}

static bool unlink_callback(fy_cancel *c, int64_t token) {
  for (callback **p = &c->callbacks; *p; p = &(*p)->next) {
    if ((*p)->token != token) continue;
    callback *cb = *p;
    *p = cb->next;
    fy_free(cb);
    return true;
  }
  return false;
}

bool fy_cancel_deregister(fy_cancel *c, int64_t token) {
  fy_lock(&c->lock);
  while (atomic_load(&c->running)) fy_cond_wait(&c->idle, &c->lock);
  bool ok = !atomic_load(&c->requested);
  if (ok) unlink_callback(c, token);
  fy_unlock(&c->lock);
  return ok;
}

bool fy_cancel_try_deregister(fy_cancel *c, int64_t token) {
  fy_lock(&c->lock);
  bool ok = !atomic_load(&c->requested) && unlink_callback(c, token);
  fy_unlock(&c->lock);
  return ok;
}

// SPDX-License-Identifier: Apache-2.0
// eager_executor.c: a queue of calls and, if it is async, one thread that works it off in order.
// The first error stops the executor: what is queued is poisoned with it, and so is everything
// added later, until the error is cleared.

#include "base/alloc.h"
#include "base/thread.h"
#include "execute/eager.h"

static const char explanation[] =
    "\n\tEncountered when executing an operation using EagerExecutor. This error cancels all "
    "future operations and poisons their output tensors.";

struct fy_executor {
  atomic_int refs;
  bool async;
  fy_mutex lock;
  fy_cond work, idle;
  fy_executor_task *first, *last;
  bool running, busy, stop;  // running: the thread was started; busy: it is working
  bool orphan;               // the thread itself drops the last reference: it cleans up
  fy_thread thread;
  fy_error error;  // as the op failed, without the explanation
};

fy_executor *fy_executor_new(bool async) {
  fy_executor *e = fy_calloc(1, sizeof *e);
  if (!e) return NULL;
  atomic_init(&e->refs, 1);
  e->async = async;
  fy_mutex_init(&e->lock);
  fy_cond_init(&e->work);
  fy_cond_init(&e->idle);
  return e;
}

void fy_executor_retain(fy_executor *e) {
  atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

static void destroy(fy_executor *e) {
  fy_error_clear(&e->error);
  fy_cond_destroy(&e->work);
  fy_cond_destroy(&e->idle);
  fy_mutex_destroy(&e->lock);
  fy_free(e);
}

void fy_executor_release(fy_executor *e) {
  if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
  fy_lock(&e->lock);
  bool running = e->running;
  // Inside a task the worker itself may drop the last reference.
  bool here = running && pthread_equal(e->thread, pthread_self());
  e->stop = true;
  e->orphan = here;
  fy_cond_broadcast(&e->work);
  fy_unlock(&e->lock);
  if (here) {
    pthread_detach(pthread_self());
    return;
  }
  if (running) fy_thread_join(e->thread);
  destroy(e);
}

bool fy_executor_is_async(const fy_executor *e) {
  return e->async;
}

static void set_error(fy_executor *e, const fy_error *error) {
  if (e->error.code == FY_OK) fy_fail(&e->error, error->code, "%s", fy_error_text(error));
}

static void *work(void *arg) {
  fy_executor *e = arg;
  fy_error poison;
  fy_lock(&e->lock);
  for (;;) {
    while (!e->first && !e->stop) {
      e->busy = false;
      fy_cond_broadcast(&e->idle);
      fy_cond_wait(&e->work, &e->lock);
    }
    if (!e->first) break;
    fy_executor_task *task = e->first;
    e->first = task->next;
    if (!e->first) e->last = NULL;
    e->busy = true;
    bool poisoned = e->error.code != FY_OK;
    fy_error_init(&poison);
    if (poisoned) fy_fail(&poison, e->error.code, "%s%s", fy_error_text(&e->error), explanation);
    fy_unlock(&e->lock);
    fy_error err;
    fy_error_init(&err);
    fy_code code = task->run(task, poisoned ? &poison : NULL, &err);
    if (code && !poisoned) {
      fy_lock(&e->lock);
      set_error(e, &err);
      fy_unlock(&e->lock);
    }
    task->end(task, code, &err);
    fy_lock(&e->lock);
    fy_error_clear(&err);
    fy_error_clear(&poison);
  }
  e->busy = false;
  fy_cond_broadcast(&e->idle);
  bool orphan = e->orphan;
  fy_unlock(&e->lock);
  if (orphan) destroy(e);
  return NULL;
}

fy_code fy_executor_status(fy_executor *e, fy_error *err) {
  if (!e->async) return FY_OK;
  fy_lock(&e->lock);
  fy_code code = e->error.code;
  if (code) fy_fail(err, code, "%s%s", fy_error_text(&e->error), explanation);
  fy_unlock(&e->lock);
  return code;
}

fy_code fy_executor_add(fy_executor *e, fy_executor_task *task, fy_error *err) {
  task->next = NULL;
  fy_lock(&e->lock);
  if (!e->running && !fy_thread_start(&e->thread, work, e, "ferry-eager")) {
    fy_unlock(&e->lock);
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "cannot start a thread for an eager executor");
  }
  e->running = true;
  if (e->last)
    e->last->next = task;
  else
    e->first = task;
  e->last = task;
  e->busy = true;
  fy_cond_signal(&e->work);
  fy_unlock(&e->lock);
  return FY_OK;
}

fy_code fy_executor_wait(fy_executor *e, fy_error *err) {
  if (!e->async) return FY_OK;
  fy_lock(&e->lock);
  while (e->running && (e->first || e->busy)) fy_cond_wait(&e->idle, &e->lock);
  fy_unlock(&e->lock);
  return fy_executor_status(e, err);
}

void fy_executor_clear_error(fy_executor *e) {
  fy_lock(&e->lock);
  fy_error_clear(&e->error);
  fy_unlock(&e->lock);
}

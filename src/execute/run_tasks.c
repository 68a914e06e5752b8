// SPDX-License-Identifier: Apache-2.0
// run_tasks.c: a program of several tasks, on the pools of its devices. The first error wins.

#include "base/alloc.h"
#include "base/pool.h"
#include "execute/build.h"
#include "execute/state.h"

typedef struct task_job {
  fy_run_state *state;
  uint32_t task;
} task_job;

static void run_task(fy_run_state *s, fy_exec *e, uint32_t task);

// What threads waited for on simulated devices goes with the work they hand on.
static void share_time(fy_run_state *s) {
  if (!s->program->has_devices) return;
  fy_lock(&s->lock);
  s->waited = fy_vtime_later(s->waited, fy_vtime_get());
  fy_vtime_set(s->waited);
  fy_unlock(&s->lock);
}

static void task_done(fy_run_state *s) {
  fy_pool *pool = s->program->devices->client->pool;  // |s| may be somebody else's once finished
  if (atomic_fetch_sub_explicit(&s->tasks_left, 1, memory_order_acq_rel) != 1) return;
  fy_lock(&s->lock);
  s->finished = true;
  fy_cond_broadcast(&s->done);
  fy_unlock(&s->lock);
  if (pool) fy_pool_nudge(pool);
}

static bool is_finished(void *arg) {
  fy_run_state *s = arg;
  fy_lock(&s->lock);
  const bool finished = s->finished;
  fy_unlock(&s->lock);
  return finished;
}

static bool is_of(void *state, void *job) {
  return ((const task_job *)job)->state == state;
}

static void task_entry(void *arg) {
  task_job job = *(task_job *)arg;
  fy_free(arg);
  fy_exec *e = fy_exec_new(job.state);
  if (e) e->run = job.state->run;
  fy_vtime_set((fy_vtime){0});
  share_time(job.state);
  run_task(job.state, e, job.task);
  fy_exec_free(e);  // does not touch the state, which may be somebody else's by now
}

// Gives a ready task to the threads it belongs to; false: the caller must run it.
static bool hand_over(fy_run_state *s, uint32_t task) {
  const fy_program *p = s->program;
  fy_device *d = p->tasks[task].device ? p->tasks[task].device : p->devices->client;
  // A function called from the device's own thread: waiting for a queue behind it could be for ever.
  if (p->tasks[task].device && d->pool == fy_pool_of_this_thread()) return false;
  task_job *job = fy_malloc(sizeof *job);
  if (!job) return false;
  *job = (task_job){s, task};
  if (d->pool && fy_pool_submit(d->pool, task_entry, job)) return true;
  fy_free(job);
  return false;
}

static void fail_run(fy_run_state *s, fy_code code, fy_error *err) {
  fy_lock(&s->lock);
  if (!atomic_load(&s->failed)) {
    s->error.code = code;
    if (err) fy_error_move(&s->error, err);
    atomic_store(&s->failed, true);
  }
  fy_unlock(&s->lock);
  if (err) fy_error_clear(err);
}

// Runs |task| and then, as long as one of the tasks it made ready may run here, that one.
static void run_task(fy_run_state *s, fy_exec *e, uint32_t task) {
  const fy_program *p = s->program;
  for (;;) {
    const fy_task *t = &p->tasks[task];
    if (!e) {
      fail_run(s, FY_RESOURCE_EXHAUSTED, NULL);
    } else if (!atomic_load_explicit(&s->failed, memory_order_relaxed)) {
      fy_error err;
      fy_error_init(&err);
      fy_code code = fy_exec_range(e, t->begin, t->end, &err);
      if (code) fail_run(s, code, &err);
      share_time(s);
    }
    uint32_t keep = FY_NO_VALUE;
    for (uint32_t i = 0; i < t->num_next; i++) {
      uint32_t next = p->task_next[t->next_at + i];
      if (atomic_fetch_sub_explicit(&s->pending[next], 1, memory_order_acq_rel) != 1) continue;
      if (keep == FY_NO_VALUE && p->tasks[next].device == t->device)
        keep = next;
      else if (!hand_over(s, next))
        run_task(s, e, next);
    }
    if (keep == FY_NO_VALUE) break;
    task_done(s);
    task = keep;
  }
  task_done(s);
}

fy_code fy_run_tasks(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  atomic_store(&s->tasks_left, p->num_tasks);
  atomic_store(&s->failed, false);
  s->finished = false;
  s->waited = fy_vtime_get();
  for (uint32_t t = 0; t < p->num_tasks; t++) atomic_store(&s->pending[t], p->tasks[t].num_deps);
  for (uint32_t v = 0; v < p->num_values; v++)
    atomic_store_explicit(&s->unread[v], s->reads[v], memory_order_relaxed);
  uint32_t mine = FY_NO_VALUE;
  for (uint32_t t = 0; t < p->num_tasks; t++) {
    if (p->tasks[t].num_deps) continue;
    if (mine == FY_NO_VALUE && !p->tasks[t].device)
      mine = t;
    else if (!hand_over(s, t))
      run_task(s, s->main, t);
  }
  if (mine != FY_NO_VALUE) run_task(s, s->main, mine);
  if (p->devices->client->pool) fy_pool_help(p->devices->client->pool, is_finished, is_of, s);
  fy_lock(&s->lock);
  while (!s->finished) fy_cond_wait(&s->done, &s->lock);
  fy_unlock(&s->lock);
  share_time(s);
  if (!atomic_load(&s->failed)) return FY_OK;
  fy_code code = s->error.code ? s->error.code : FY_INTERNAL;
  if (err) fy_error_move(err, &s->error);
  fy_error_clear(&s->error);
  return code;
}

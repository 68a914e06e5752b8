// SPDX-License-Identifier: Apache-2.0
// pool.c: one lock, one ring of closures, one list of loops.
//
// A loop lives on its caller's stack. Workers join it under the lock (helpers++) and leave it under
// the lock (helpers--, their last touch); the caller takes it off the list, then waits for helpers
// to reach 0. So nobody can touch a loop whose caller has returned, and a loop allocates nothing.
// Idle workers watch |events| for a while before they sleep, because the next op of a model comes
// soon and a futex wake-up costs more than a small loop (30 to 50 us in a virtual machine). After
// the first microseconds they offer their core to others between looks.

#include "base/pool.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

#define SPIN_NS           20000    // looks without a pause …
#define WORKER_YIELD_NS   200000   // … then a worker yields its core between looks,
#define CALLER_YIELD_NS   2000000  // and so does a caller whose loop is nearly done
#define WAKING_NS         20000    // a loop that takes so long is worth waking a worker
#define MISSED_NS         50000    // shorter ones are if they follow each other this closely
#define MAX_PARTS         32
#define CHUNKS_PER_THREAD 16  // enough to even out uneven pieces and a late start

// A thread takes chunks of its own part first and then of the others'. So it meets the same memory
// again in the next loop over it, and need not fetch it from another core's cache.
typedef struct part {
  _Alignas(64) atomic_llong next;  // chunk to take
  int64_t end;
} part;

typedef struct loop {
  void (*fn)(void *arg, int64_t begin, int64_t end);
  void *arg;
  int64_t chunks, per_chunk, longer;  // |longer| chunks, evenly spread, have one element more
  int num_parts;
  part parts[MAX_PARTS];
  atomic_int helpers;  // written under the lock, read without by the waiting caller
  bool waiting;        // the caller sleeps on |loop_done|
  struct loop *newer, *older;
} loop;

typedef struct task {
  void (*fn)(void *);
  void *arg;
} task;

struct fy_pool {
  int threads;
  int *cpus, num_cpus;
  int64_t spin_ns;
  atomic_bool started;
  atomic_uint events;   // counts everything a spinning worker should look at
  atomic_int watching;  // workers that look for them now: they are at work within a microsecond
  atomic_llong missed;  // when a loop was last too short to wake one up
  fy_mutex mu;          // guards all below
  fy_cond wake, wake_helpers, loop_done;
  int sleepers, sleeping_helpers, num_workers, arrived;
  bool stopping;
  loop *loops;  // newest first: inner loops finish before outer ones
  task *tasks;  // ring of |task_cap|
  size_t task_cap, task_head, task_count;
  fy_thread *workers;
};

static bool has_chunks(const part *p) {
  return atomic_load_explicit(&p->next, memory_order_relaxed) < p->end;
}

static int64_t chunk_start(const loop *l, int64_t i) {
  return i * l->per_chunk + i * l->longer / l->chunks;
}

// |self|: which of the pool's threads this is; the caller is 0.
static void run_chunks(loop *l, int self) {
  for (int n = 0; n < l->num_parts; n++) {
    part *p = &l->parts[(self + n) % l->num_parts];
    while (has_chunks(p)) {
      const int64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
      if (i >= p->end) break;
      l->fn(l->arg, chunk_start(l, i), chunk_start(l, i + 1));
    }
  }
}

static bool is_open(const loop *l) {
  for (int n = 0; n < l->num_parts; n++)
    if (has_chunks(&l->parts[n])) return true;
  return false;
}

static loop *open_loop(fy_pool *pool) {
  for (loop *l = pool->loops; l; l = l->older) {
    if (is_open(l)) return l;
  }
  return NULL;
}

static bool has_new_event(fy_pool *pool, unsigned seen) {
  return atomic_load_explicit(&pool->events, memory_order_acquire) != seen;
}

typedef bool done_fn(fy_pool *pool, loop *l, unsigned seen);

static bool event_came(fy_pool *pool, loop *l, unsigned seen) {
  (void)l;
  return has_new_event(pool, seen);
}

static bool helpers_left(fy_pool *pool, loop *l, unsigned seen) {
  (void)pool, (void)seen;
  return atomic_load_explicit(&l->helpers, memory_order_acquire) == 0;
}

// Looks until |done| or the time is over; true if done.
static inline bool watch(fy_pool *pool, done_fn *done, loop *l, unsigned seen, int64_t yield_ns) {
  const int64_t start = fy_now_ns();
  for (;;) {
    for (int i = 0; i < 16; i++) {
      if (done(pool, l, seen)) return true;
      fy_cpu_relax();
    }
    const int64_t took = fy_now_ns() - start;
    if (took > pool->spin_ns + yield_ns) return false;
    if (took > pool->spin_ns) fy_thread_yield();
  }
}

// With the lock held. One sleeper at a time: whoever wakes up wakes the next while work is left,
// so the caller pays for a single wake-up.
static void announce(fy_pool *pool) {
  atomic_fetch_add_explicit(&pool->events, 1, memory_order_release);
  if (pool->sleepers > 0) fy_cond_signal(&pool->wake);
  if (pool->sleeping_helpers > 0) fy_cond_broadcast(&pool->wake_helpers);
}

static void help_loop(fy_pool *pool, loop *l, int self) {
  atomic_fetch_add_explicit(&l->helpers, 1, memory_order_relaxed);
  if (pool->sleepers > 0 && l->num_parts > 2) fy_cond_signal(&pool->wake);
  fy_unlock(&pool->mu);
  run_chunks(l, self);
  fy_lock(&pool->mu);
  bool waiting = l->waiting;  // before the decrement: after it, |l| may be gone
  if (atomic_fetch_sub_explicit(&l->helpers, 1, memory_order_release) == 1 && waiting) {
    fy_cond_broadcast(&pool->loop_done);
  }
}

static void run_task(fy_pool *pool) {
  task t = pool->tasks[pool->task_head];
  pool->task_head = (pool->task_head + 1) & (pool->task_cap - 1);
  pool->task_count--;
  if (pool->task_count > 0 && pool->sleepers > 0) fy_cond_signal(&pool->wake);
  fy_unlock(&pool->mu);
  t.fn(t.arg);
  fy_lock(&pool->mu);
}

// With the lock held: watches for events a while, then sleeps until there is one.
static void rest(fy_pool *pool, fy_cond *wake, int *sleepers) {
  unsigned seen = atomic_load_explicit(&pool->events, memory_order_relaxed);
  if (pool->spin_ns > 0) {
    atomic_fetch_add_explicit(&pool->watching, 1, memory_order_relaxed);
    fy_unlock(&pool->mu);
    watch(pool, event_came, NULL, seen, WORKER_YIELD_NS);
    atomic_fetch_sub_explicit(&pool->watching, 1, memory_order_relaxed);
    fy_lock(&pool->mu);
    if (has_new_event(pool, seen)) return;
  }
  ++*sleepers;
  fy_cond_wait(wake, &pool->mu);
  --*sleepers;
}

static _Thread_local fy_pool *works_for;

fy_pool *fy_pool_of_this_thread(void) {
  return works_for;
}

static void *work(void *arg) {
  fy_pool *pool = arg;
  works_for = pool;
  fy_lock(&pool->mu);
  const int self = ++pool->arrived;
  for (;;) {
    // Looked up once: a loop's chunks can run out at any moment, lock or not.
    loop *l = open_loop(pool);
    if (l) {
      help_loop(pool, l, self);
    } else if (pool->task_count > 0) {
      run_task(pool);
    } else if (pool->stopping) {
      break;
    } else {
      rest(pool, &pool->wake, &pool->sleepers);
    }
  }
  fy_unlock(&pool->mu);
  return NULL;
}

static void start_workers(fy_pool *pool) {
  fy_lock(&pool->mu);
  if (!atomic_load_explicit(&pool->started, memory_order_relaxed)) {
    for (int i = 0; i < pool->threads - 1; i++) {
      char name[16];
      snprintf(name, sizeof name, "ferry-%d", i % 100000);
      fy_thread *slot = &pool->workers[pool->num_workers];
      if (!fy_thread_start(slot, work, pool, name)) break;  // fewer workers: slower, not wrong
      if (pool->num_cpus > 0) fy_thread_bind(*slot, pool->cpus[i % pool->num_cpus]);
      pool->num_workers++;
    }
    atomic_store_explicit(&pool->started, true, memory_order_release);
  }
  fy_unlock(&pool->mu);
}

static bool has_workers(fy_pool *pool) {
  if (pool->threads < 2) return false;
  if (!atomic_load_explicit(&pool->started, memory_order_acquire)) start_workers(pool);
  return pool->num_workers > 0;  // constant once started
}

fy_pool *fy_pool_new(int threads, const int *cpus, int num_cpus) {
  if (threads < 1) threads = 1;
  if (!cpus || num_cpus < 0) num_cpus = 0;
  size_t worker_bytes = (size_t)threads * sizeof(fy_thread);
  size_t cpu_bytes = (size_t)num_cpus * sizeof(int);
  fy_pool *pool = fy_calloc(1, sizeof *pool + worker_bytes + cpu_bytes);
  if (!pool) return NULL;
  pool->threads = threads;
  pool->workers = (fy_thread *)(pool + 1);
  pool->num_cpus = num_cpus;
  pool->cpus = (int *)((char *)pool->workers + worker_bytes);
  if (num_cpus > 0) memcpy(pool->cpus, cpus, cpu_bytes);
  // On an oversubscribed machine a spinning thread steals the time of the one it waits for.
  pool->spin_ns = fy_cpu_count() >= threads ? SPIN_NS : 0;
  atomic_init(&pool->started, false);
  atomic_init(&pool->events, 0);
  atomic_init(&pool->watching, 0);
  atomic_init(&pool->missed, 0);
  fy_mutex_init_brief(&pool->mu);
  fy_cond_init(&pool->wake);
  fy_cond_init(&pool->wake_helpers);
  fy_cond_init(&pool->loop_done);
  return pool;
}

void fy_pool_free(fy_pool *pool) {
  if (!pool) return;
  fy_lock(&pool->mu);
  pool->stopping = true;
  atomic_fetch_add_explicit(&pool->events, 1, memory_order_release);
  fy_cond_broadcast(&pool->wake);
  fy_unlock(&pool->mu);
  for (int i = 0; i < pool->num_workers; i++) fy_thread_join(pool->workers[i]);
  fy_cond_destroy(&pool->wake);
  fy_cond_destroy(&pool->wake_helpers);
  fy_cond_destroy(&pool->loop_done);
  fy_mutex_destroy(&pool->mu);
  fy_free(pool->tasks);
  fy_free(pool);
}

int fy_pool_threads(const fy_pool *pool) {
  return pool ? pool->threads : 1;
}

static bool grow_tasks(fy_pool *pool) {
  if (pool->task_count < pool->task_cap) return true;
  size_t cap = pool->task_cap ? pool->task_cap * 2 : 16;  // a power of two: the ring masks
  task *bigger = fy_malloc(cap * sizeof *bigger);
  if (!bigger) return false;
  for (size_t i = 0; i < pool->task_count; i++) {
    bigger[i] = pool->tasks[(pool->task_head + i) & (pool->task_cap - 1)];
  }
  fy_free(pool->tasks);
  pool->tasks = bigger;
  pool->task_cap = cap;
  pool->task_head = 0;
  return true;
}

bool fy_pool_submit(fy_pool *pool, void (*fn)(void *), void *arg) {
  if (!pool || !has_workers(pool)) return false;
  fy_lock(&pool->mu);
  bool queued = grow_tasks(pool);
  if (queued) {
    size_t tail = (pool->task_head + pool->task_count) & (pool->task_cap - 1);
    pool->tasks[tail] = (task){fn, arg};
    pool->task_count++;
    announce(pool);
  }
  fy_unlock(&pool->mu);
  return queued;
}

// With the lock held: the oldest queued task that |takes| likes becomes the first in the queue.
static bool bring_forward(fy_pool *pool, bool (*takes)(void *, void *), void *arg) {
  const size_t mask = pool->task_cap - 1;
  for (size_t i = 0; i < pool->task_count; i++) {
    const task found = pool->tasks[(pool->task_head + i) & mask];
    if (!takes(arg, found.arg)) continue;
    for (; i > 0; i--)
      pool->tasks[(pool->task_head + i) & mask] = pool->tasks[(pool->task_head + i - 1) & mask];
    pool->tasks[pool->task_head] = found;
    return true;
  }
  return false;
}

void fy_pool_help(fy_pool *pool, bool (*done)(void *), bool (*takes)(void *, void *), void *arg) {
  fy_lock(&pool->mu);
  while (!done(arg)) {
    loop *l = open_loop(pool);
    if (l)
      help_loop(pool, l, 0);
    else if (bring_forward(pool, takes, arg))
      run_task(pool);
    else
      rest(pool, &pool->wake_helpers, &pool->sleeping_helpers);
  }
  fy_unlock(&pool->mu);
}

void fy_pool_nudge(fy_pool *pool) {
  fy_lock(&pool->mu);
  atomic_fetch_add_explicit(&pool->events, 1, memory_order_release);
  if (pool->sleeping_helpers > 0) fy_cond_broadcast(&pool->wake_helpers);
  fy_unlock(&pool->mu);
}

static void publish(fy_pool *pool, loop *l) {
  fy_lock(&pool->mu);
  l->older = pool->loops;
  if (l->older) l->older->newer = l;
  pool->loops = l;
  announce(pool);
  fy_unlock(&pool->mu);
}

// Takes |l| off the list and returns when no worker can touch it any more.
static void retire(fy_pool *pool, loop *l) {
  fy_lock(&pool->mu);
  *(l->newer ? &l->newer->older : &pool->loops) = l->older;
  if (l->older) l->older->newer = l->newer;
  bool idle = atomic_load_explicit(&l->helpers, memory_order_acquire) == 0;
  fy_unlock(&pool->mu);
  if (idle) return;
  if (pool->spin_ns > 0 && watch(pool, helpers_left, l, 0, CALLER_YIELD_NS)) return;
  fy_lock(&pool->mu);
  l->waiting = true;
  while (atomic_load_explicit(&l->helpers, memory_order_acquire) > 0) {
    fy_cond_wait(&pool->loop_done, &pool->mu);
  }
  fy_unlock(&pool->mu);
}

// Nobody watches and the loop is too short to wake somebody up for. If such loops follow each other
// closely, a worker is called anyway, for those that come next.
static bool better_alone(fy_pool *pool, double ns) {
  if (ns >= WAKING_NS || atomic_load_explicit(&pool->watching, memory_order_relaxed) > 0)
    return false;
  const int64_t now = fy_now_ns();
  const int64_t last = atomic_exchange_explicit(&pool->missed, now, memory_order_relaxed);
  if (pool->spin_ns > 0 && now - last < MISSED_NS) {
    fy_lock(&pool->mu);
    announce(pool);
    fy_unlock(&pool->mu);
  }
  return true;
}

// The most chunks that the loop may be cut into: none is empty or shorter than a piece.
static int64_t most_chunks(const fy_pool *pool, int64_t n, double ns_per_item) {
  const int64_t most = (int64_t)pool->threads * CHUNKS_PER_THREAD;
  double grain = ns_per_item > 0 ? ceil(FY_POOL_PIECE_NS / ns_per_item) : (double)n;
  if (grain < 1) grain = 1;
  const double chunks = floor((double)n / grain);
  if (chunks >= (double)most) return most;
  // As many for each thread.
  return (int64_t)chunks / pool->threads > 0 ? (int64_t)chunks / pool->threads * pool->threads
                                             : (int64_t)chunks;
}

void fy_pool_for(fy_pool *pool, int64_t n, double ns_per_item,
                 void (*fn)(void *arg, int64_t begin, int64_t end), void *arg) {
  if (n <= 0) return;
  const bool little = (double)n * ns_per_item < 2 * FY_POOL_PIECE_NS;  // then it is one chunk
  const int64_t chunks = pool && !little ? most_chunks(pool, n, ns_per_item) : 1;
  if (chunks < 2 || !has_workers(pool) || better_alone(pool, (double)n * ns_per_item)) {
    fn(arg, 0, n);
    return;
  }
  loop l;
  l.fn = fn;
  l.arg = arg;
  l.chunks = chunks;
  l.per_chunk = n / chunks;
  l.longer = n % chunks;
  l.waiting = false;
  l.newer = l.older = NULL;
  l.num_parts = pool->threads < MAX_PARTS ? pool->threads : MAX_PARTS;
  if (l.num_parts > chunks) l.num_parts = (int)chunks;
  for (int i = 0; i < l.num_parts; i++) {
    atomic_init(&l.parts[i].next, chunks * i / l.num_parts);
    l.parts[i].end = chunks * (i + 1) / l.num_parts;
  }
  atomic_init(&l.helpers, 0);
  publish(pool, &l);
  run_chunks(&l, 0);
  retire(pool, &l);
}

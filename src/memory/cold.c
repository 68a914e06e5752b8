// SPDX-License-Identifier: Apache-2.0
// cold.c: one thread that lives as long as there is something to move (cold.h). It begins a moment
// after the last offer, so that the first run is not disturbed and a short process never pays; unless
// much has come together, which would be in memory twice meanwhile.

#include "memory/cold.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/slab.h"
#include "base/thread.h"
#include "wire/mapping.h"

#define MOMENT_NS     ((int64_t)100 * 1000 * 1000)
#define BACKLOG_BYTES ((size_t)256 << 20)  // more than this does not wait for the moment

static fy_mutex mu = FY_MUTEX_INIT;
static fy_cond changed = FY_COND_INIT;
static fy_tensor **queue;
static size_t num_queued, cap_queued, queued_bytes, moved_bytes;
static int64_t last_offer_ns;
static pid_t owner;  // whose thread it is: a fork has none
static fy_thread thread;
static bool running, started, hurry;
static volatile bool stop;

static void *work(void *arg) {
  (void)arg;
  fy_thread_step_back();
  fy_lock(&mu);
  while (!stop && num_queued) {
    const int64_t ready = last_offer_ns + MOMENT_NS;
    if (!hurry && queued_bytes < BACKLOG_BYTES && fy_now_ns() < ready) {
      fy_unlock(&mu);
      fy_sleep_ns(MOMENT_NS / 20);
      fy_lock(&mu);
      continue;
    }
    fy_tensor *t = queue[--num_queued];
    queued_bytes -= fy_tensor_bytes(t);
    fy_unlock(&mu);
    const bool gone = fy_wire_mapping_rest(t) || fy_tensor_to_file(t, &stop);
    const size_t bytes = gone ? fy_tensor_bytes(t) : 0;
    fy_tensor_release(t);
    fy_lock(&mu);
    moved_bytes += bytes;
  }
  running = false;
  fy_cond_broadcast(&changed);
  fy_unlock(&mu);
  return NULL;
}

// With the lock held. A fork finds the queue of its parent, but not the thread.
static void ensure_thread(void) {
  if (running && owner == getpid()) return;
  if (started && owner == getpid()) fy_thread_join(thread);
  owner = getpid();
  running = started = fy_thread_start(&thread, work, NULL, "ferry-cold");
}

void fy_cold_offer(fy_tensor *t) {
  if (fy_tensor_bytes(t) < FY_SLAB_BYTES) return;
  if (!fy_tensor_has_pages(t) && !fy_wire_mapping_has(t)) return;
  fy_lock(&mu);
  const char *wish = started ? NULL : getenv("FERRY_WEIGHTS");
  bool seen = stop || (wish && strstr(wish, "keep"));
  for (size_t i = 0; !seen && i < num_queued; i++) seen = queue[i]->data == t->data;
  if (!seen && fy_grow(&queue, &cap_queued, num_queued + 1, sizeof *queue)) {
    fy_tensor_retain(t);
    queue[num_queued++] = t;
    queued_bytes += fy_tensor_bytes(t);
    last_offer_ns = fy_now_ns();
    ensure_thread();
  }
  fy_unlock(&mu);
}

size_t fy_cold_wait(void) {
  fy_lock(&mu);
  hurry = true;
  while (running && owner == getpid()) fy_cond_wait(&changed, &mu);
  hurry = false;
  const size_t bytes = moved_bytes;
  fy_unlock(&mu);
  return bytes;
}

// The library goes (exit, dlclose): the thread must not outlive its code.
__attribute__((destructor)) static void end(void) {
  fy_lock(&mu);
  stop = true;
  const bool join = started && owner == getpid();
  fy_unlock(&mu);
  if (join) fy_thread_join(thread);
  while (num_queued) fy_tensor_release(queue[--num_queued]);
  fy_free(queue);
  queue = NULL;
}

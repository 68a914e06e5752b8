// SPDX-License-Identifier: Apache-2.0
// cpu_pools.c: threads shared by everybody in the process who asks for the same ones.

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "devices/cpu/cpu.h"

typedef struct shared_pool {
  struct shared_pool *next;
  fy_pool *pool;
  int threads, refs;
  fy_cpu_list *cpus;  // NULL: unbound
} shared_pool;

static fy_mutex lock = FY_MUTEX_INIT;
static shared_pool *pools;  // guarded by |lock|

static bool same_cpus(const fy_cpu_list *a, const fy_cpu_list *b) {
  if (!a || !b) return a == b;
  return a->n == b->n && memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids) == 0;
}

static void destroy(shared_pool *s) {
  if (!s) return;
  if (s->pool) fy_pool_free(s->pool);
  fy_free(s->cpus);
  fy_free(s);
}

static shared_pool *create(int threads, const fy_cpu_list *cpus) {
  shared_pool *s = fy_calloc(1, sizeof *s);
  if (!s) return NULL;
  s->threads = threads;
  if (cpus) {
    s->cpus = fy_malloc(sizeof *s->cpus);
    if (s->cpus) *s->cpus = *cpus;
  }
  if (!cpus || s->cpus) {
    s->pool = fy_pool_new(threads, cpus ? cpus->ids : NULL, cpus ? cpus->n : 0);
  }
  if (s->pool) return s;
  destroy(s);
  return NULL;
}

fy_pool *fy_cpu_pool_acquire(int threads, const fy_cpu_list *cpus) {
  fy_lock(&lock);
  shared_pool *s = pools;
  while (s && (s->threads != threads || !same_cpus(s->cpus, cpus))) s = s->next;
  if (!s) {
    s = create(threads, cpus);
    if (s) s->next = pools, pools = s;
  }
  if (s) s->refs++;
  fy_unlock(&lock);
  return s ? s->pool : NULL;
}

void fy_cpu_pool_release(fy_pool *pool) {
  if (!pool) return;
  shared_pool *last = NULL;
  fy_lock(&lock);
  shared_pool **at = &pools;
  while (*at && (*at)->pool != pool) at = &(*at)->next;
  if (*at && --(*at)->refs == 0) {
    last = *at;
    *at = last->next;
  }
  fy_unlock(&lock);
  destroy(last);  // joins threads: not under the lock
}

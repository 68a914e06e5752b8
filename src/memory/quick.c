// SPDX-License-Identifier: Apache-2.0
// quick.c: chunks that were given back a moment ago, ready for the next request of the same size.
// Each thread has its shard (several may share one), guarded by a flag that nobody waits for: who finds it
// taken goes the long way. Kept chunks count as free in every statistic; whoever needs memory, or looks at
// how it lies, flushes them first.

#include <sched.h>

#include "base/alloc.h"
#include "memory/pool_impl.h"

static fy_quick *shard_of(fy_mempool *pool) {
  static atomic_uint threads;
  static _Thread_local unsigned mine;
  if (!mine) mine = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
  return &pool->quick[mine % FY_QUICK_SHARDS];
}

static bool enter(fy_quick *q) {
  return !atomic_flag_test_and_set_explicit(&q->lock, memory_order_acquire);
}

static void leave(fy_quick *q) {
  atomic_flag_clear_explicit(&q->lock, memory_order_release);
}

fy_chunk *fy_quick_take(fy_mempool *pool, size_t bytes) {
  if (!pool->quick) return NULL;
  fy_quick *q = shard_of(pool);
  fy_chunk *c = NULL;
  if (!enter(q)) return NULL;
  for (int i = q->n; i-- > 0;) {
    if (q->bytes[i] != bytes) continue;
    c = q->chunks[i];
    q->n--;
    q->bytes[i] = q->bytes[q->n];
    q->chunks[i] = q->chunks[q->n];
    break;
  }
  leave(q);
  return c;
}

// When the shard is full, one of the others has to go: sizes that were in fashion before.
fy_chunk *fy_quick_keep(fy_mempool *pool, fy_chunk *c) {
  if (!pool->quick) return c;
  fy_quick *q = shard_of(pool);
  fy_chunk *gone = NULL;
  if (!enter(q)) return c;
  int at = q->n;
  if (FY_LIKELY(at < FY_QUICK_CHUNKS)) {
    q->n++;
  } else {
    at = (int)(q->turn++ % FY_QUICK_CHUNKS);
    gone = q->chunks[at];
  }
  atomic_store_explicit(&c->state, FY_CHUNK_QUICK, memory_order_relaxed);
  q->bytes[at] = c->taken;
  q->chunks[at] = c;
  leave(q);
  return gone;
}

bool fy_quick_flush(fy_mempool *pool) {
  bool any = false;
  for (int i = 0; pool->quick && i < FY_QUICK_SHARDS; i++) {
    fy_quick *q = &pool->quick[i];
    fy_chunk *chunks[FY_QUICK_CHUNKS];
    for (int tries = 0; !enter(q); tries++) tries < 100 ? fy_cpu_relax() : (void)sched_yield();
    const int n = q->n;
    for (int k = 0; k < n; k++) chunks[k] = q->chunks[k];
    q->n = 0;
    leave(q);
    for (int k = 0; k < n; k++) fy_pool_give(pool, chunks[k]);
    any |= n > 0;
  }
  return any;
}

// SPDX-License-Identifier: Apache-2.0
// count.c: how much of a pool is in use: never above its limit, and with the exact peak, though threads that
// take and give small blocks do so at the same time on cache lines of their own.
//
// |committed| is what is in use plus the credit that lies in shards. A block is paid with the credit of a
// shard and gives it back there. Credit is handed out below the ceiling only, which is the highest that the
// sum ever was: whatever is paid with it can raise neither the peak nor the sum above the limit, so nobody
// has to be told. What may be a new peak is counted with the pool's lock, after all credit was gathered, so
// it is what really is in use that is compared with the peak and the limit. While one thread gathers no
// other is given credit (that needs the lock); what is given back meanwhile counts as given back after it.

#include <sched.h>
#include <string.h>

#include "memory/shard.h"

_Thread_local unsigned fy_shard_mine;

unsigned fy_shard_first(void) {
  static atomic_uint threads;
  return atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
}

void fy_shard_wait(fy_shard *s) {
  for (int tries = 0; fy_shard_try(s, FY_SHARD_GATHERED) != FY_SHARD_FREE; tries++)
    tries < 100 ? fy_cpu_relax() : (void)sched_yield();
}

fy_shard *fy_shard_enter_any(fy_mempool *pool, unsigned *mine) {
  for (int tries = 0; tries < FY_SHARDS; tries++, ++*mine) {
    fy_shard *s = &pool->shards[*mine % FY_SHARDS];
    int was = fy_shard_try(s, FY_SHARD_USED);
    for (int waits = 0; was == FY_SHARD_GATHERED && waits < 100; waits++) {
      fy_cpu_relax();
      was = fy_shard_try(s, FY_SHARD_USED);
    }
    if (was != FY_SHARD_FREE) continue;
    if (!s->closed) return s;
    fy_shard_leave(s);
    return NULL;
  }
  return NULL;
}

void fy_shards_hold(fy_mempool *pool) {
  for (int i = 0; i < FY_SHARDS; i++) fy_shard_wait(&pool->shards[i]);
}

void fy_shards_let_go(fy_mempool *pool) {
  for (int i = 0; i < FY_SHARDS; i++) fy_shard_leave(&pool->shards[i]);
}

bool fy_count_drop_last(fy_mempool *pool, size_t n) {
  return atomic_fetch_sub_explicit(&pool->committed, (long long)n, memory_order_acq_rel) ==
         (long long)n;
}

static void gather(fy_mempool *pool) {
  for (int i = 0; i < FY_SHARDS; i++) {
    fy_shard *s = &pool->shards[i];
    if (!atomic_load_explicit(&s->credit, memory_order_relaxed)) continue;
    fy_shard_wait(s);
    fy_count_drop(pool, atomic_load_explicit(&s->credit, memory_order_relaxed));
    atomic_store_explicit(&s->credit, 0, memory_order_relaxed);
    fy_shard_leave(s);
  }
}

// For what this thread will ask for next. Half of what there is at most: with little below the ceiling two
// threads would take it all from each other again and again.
static void give_credit(fy_mempool *pool) {
  const long long ceiling = atomic_load_explicit(&pool->ceiling, memory_order_relaxed);
  long long n = (ceiling - atomic_load_explicit(&pool->committed, memory_order_relaxed)) / 2, now;
  if (n > FY_CREDIT_STEP) n = FY_CREDIT_STEP;
  if (n <= 0 || !fy_count_commit(pool, n, ceiling, &now)) return;
  fy_shard *s = fy_shard_enter(pool);
  if (s) {
    fy_count_given(pool, s, (size_t)n);
    fy_shard_leave(s);
  } else {
    fy_count_drop(pool, n);
  }
}

// ---------------------------------------------------------------- with the lock
static void set_ceiling(fy_mempool *pool) {
  const uint64_t peak = pool->stats.peak_bytes_in_use, limit = pool->stats.limit_bytes;
  atomic_store_explicit(&pool->ceiling, (long long)(peak < limit ? peak : limit) + pool->own,
                        memory_order_relaxed);
}

bool fy_count_reserve(fy_mempool *pool, size_t bytes, long long *out_now) {
  const long long n = (long long)bytes;
  if (fy_count_commit(pool, n, atomic_load_explicit(&pool->ceiling, memory_order_relaxed), out_now))
    return true;
  gather(pool);
  return fy_count_commit(pool, n, (long long)pool->stats.limit_bytes + pool->own, out_now);
}

void fy_count_taken(fy_mempool *pool, size_t n, long long now) {
  fy_mempool_stats *s = &pool->stats;
  if ((uint64_t)(now - pool->own) > s->peak_bytes_in_use) {
    s->peak_bytes_in_use = (uint64_t)(now - pool->own);
    set_ceiling(pool);
  }
  s->num_allocs++;
  if (n > s->largest_alloc_bytes) s->largest_alloc_bytes = n;
  if ((long long)n <= FY_CREDIT_BLOCK) give_credit(pool);
}

uint64_t fy_count_in_use(fy_mempool *pool) {
  gather(pool);
  return (uint64_t)(atomic_load(&pool->committed) - pool->own);
}

void fy_count_stats(fy_mempool *pool, fy_mempool_stats *out) {
  *out = pool->stats;
  out->bytes_in_use = fy_count_in_use(pool);
  // Somebody may have looked at the old ceiling while the peak was reset.
  if (out->bytes_in_use > out->peak_bytes_in_use) out->peak_bytes_in_use = out->bytes_in_use;
  fy_shards_hold(pool);
  for (int i = 0; i < FY_SHARDS; i++) {
    const fy_shard *s = &pool->shards[i];
    out->num_allocs += s->num_allocs;
    if (s->largest_alloc_bytes > out->largest_alloc_bytes)
      out->largest_alloc_bytes = s->largest_alloc_bytes;
  }
  fy_shards_let_go(pool);
}

void fy_count_limit(fy_mempool *pool, uint64_t bytes) {
  atomic_store_explicit(&pool->limit, (long long)bytes, memory_order_relaxed);
  pool->stats.limit_bytes = bytes;
  set_ceiling(pool);
  gather(pool);  // what was handed out under another limit
}

void fy_count_reset(fy_mempool *pool) {
  fy_shards_hold(pool);
  for (int i = 0; i < FY_SHARDS; i++)
    pool->shards[i].num_allocs = pool->shards[i].largest_alloc_bytes = 0;
  fy_shards_let_go(pool);
  pool->stats.num_allocs = pool->stats.largest_alloc_bytes = 0;
  // No credit may be handed out above the new ceiling, so it comes down before the rest is looked at.
  pool->stats.peak_bytes_in_use = 0;
  set_ceiling(pool);
  pool->stats.peak_bytes_in_use = fy_count_in_use(pool);
  set_ceiling(pool);
}

bool fy_count_close(fy_mempool *pool) {
  fy_lock(&pool->lock);
  fy_shards_hold(pool);
  for (int i = 0; i < FY_SHARDS; i++) pool->shards[i].closed = true;
  fy_shards_let_go(pool);
  fy_quick_free_blocks(pool);
  gather(pool);
  fy_unlock(&pool->lock);
  return fy_count_drop_last(pool, (size_t)pool->own);
}

// SPDX-License-Identifier: Apache-2.0
// shard.h: the fast way of a pool, in one piece so that it is compiled into its callers: entering a shard,
// paying with its credit (count.c says why that is exact), and the chunks it keeps (quick.c).

#ifndef FY_MEMORY_SHARD_H
#define FY_MEMORY_SHARD_H

#include "base/alloc.h"
#include "memory/pool_impl.h"

#define FY_CREDIT_STEP  ((long long)256 << 10)  // credit is handed out in such pieces
#define FY_CREDIT_BLOCK ((long long)16 << 10)   // to who takes blocks up to this

extern _Thread_local unsigned fy_shard_mine;  // where this thread looks first; 0: not yet
unsigned fy_shard_first(void);
void fy_shard_wait(fy_shard *s);  // until it is the caller's
fy_shard *fy_shard_enter_any(fy_mempool *pool,
                             unsigned *mine);  // fy_shard_enter_at, when it is taken
// With the lock: all of them, so that nobody takes or gives anything meanwhile.
void fy_shards_hold(fy_mempool *pool);
void fy_shards_let_go(fy_mempool *pool);

// Whose |lock| of a shard is.
enum { FY_SHARD_FREE, FY_SHARD_USED, FY_SHARD_GATHERED };

// What it was: free if it now is the caller's.
static inline int fy_shard_try(fy_shard *s, int by) {
  int was = FY_SHARD_FREE;
  atomic_compare_exchange_strong_explicit(&s->lock, &was, by, memory_order_acquire,
                                          memory_order_relaxed);
  return was;
}

static inline void fy_shard_leave(fy_shard *s) {
  atomic_store_explicit(&s->lock, FY_SHARD_FREE, memory_order_release);
}

// A shard that is now the caller's, who waits for nothing until leaving it; NULL when others have them all
// or the pool is closed. A thread stays with its shard (the one that |*mine| names) until it meets another
// one there; for who gathers it waits a moment, as with the next shard it would be without credit and have
// to gather in its turn.
static inline fy_shard *fy_shard_enter_at(fy_mempool *pool, unsigned *mine) {
  fy_shard *s = &pool->shards[*mine % FY_SHARDS];
  if (FY_UNLIKELY(fy_shard_try(s, FY_SHARD_USED) != FY_SHARD_FREE))
    return fy_shard_enter_any(pool, mine);
  if (FY_LIKELY(!s->closed)) return s;
  fy_shard_leave(s);
  return NULL;
}

// Where the calling thread looks first.
static inline unsigned *fy_shard_own(void) {
  unsigned *mine = &fy_shard_mine;
  if (FY_UNLIKELY(!*mine)) *mine = fy_shard_first();
  return mine;
}

static inline fy_shard *fy_shard_enter(fy_mempool *pool) {
  return fy_shard_enter_at(pool, fy_shard_own());
}

// Adds |n| to what is committed if that stays within |most|.
static inline bool fy_count_commit(fy_mempool *pool, long long n, long long most,
                                   long long *out_now) {
  long long now = atomic_load_explicit(&pool->committed, memory_order_relaxed);
  do {
    if (n > most - now) return false;
  } while (!atomic_compare_exchange_weak_explicit(&pool->committed, &now, now + n,
                                                  memory_order_relaxed, memory_order_relaxed));
  *out_now = now + n;
  return true;
}

// |n| bytes are neither in use nor credit any more. They cannot be a host pool's last: it is open.
static inline void fy_count_drop(fy_mempool *pool, long long n) {
  atomic_fetch_sub_explicit(&pool->committed, n, memory_order_release);
}

// Inside a shard: counts |n| bytes as in use if there is credit for them. Large blocks may
// take what they need, and no more, below the ceiling.
static inline bool fy_count_paid(fy_mempool *pool, fy_shard *s, size_t n) {
  long long rest = atomic_load_explicit(&s->credit, memory_order_relaxed) - (long long)n, now;
  if (FY_UNLIKELY(rest < 0)) {
    if ((long long)n <= FY_CREDIT_BLOCK) return false;
    if (!fy_count_commit(pool, -rest, atomic_load_explicit(&pool->ceiling, memory_order_relaxed),
                         &now))
      return false;
    rest = 0;
  }
  atomic_store_explicit(&s->credit, rest, memory_order_relaxed);
  s->num_allocs++;
  if (n > s->largest_alloc_bytes) s->largest_alloc_bytes = n;
  return true;
}

// Inside a shard: |n| bytes that were in use are credit, of which it keeps little.
static inline void fy_count_given(fy_mempool *pool, fy_shard *s, size_t n) {
  long long credit = atomic_load_explicit(&s->credit, memory_order_relaxed) + (long long)n;
  if (FY_UNLIKELY(credit > 2 * FY_CREDIT_STEP)) {
    fy_count_drop(pool, credit - FY_CREDIT_STEP);
    credit = FY_CREDIT_STEP;
  }
  atomic_store_explicit(&s->credit, credit, memory_order_relaxed);
}

// Inside a shard: the index of a kept chunk of exactly |bytes|, or -1; and taking it out.
static inline int fy_quick_find(const fy_shard *s, size_t bytes) {
  int i = s->n - 1;
  while (i >= 0 && s->bytes[i] != bytes) i--;
  return i;
}

static inline fy_chunk *fy_quick_take(fy_shard *s, int at) {
  fy_chunk *c = s->chunks[at];
  s->n--;
  s->bytes[at] = s->bytes[s->n];
  s->chunks[at] = s->chunks[s->n];
  return c;
}

// Inside a shard: keeps |c|. When it is full, one of the others has to go: sizes that were in fashion
// before. What is returned, if anything, is to be given to fy_pool_give after leaving.
static inline fy_chunk *fy_quick_keep(fy_shard *s, fy_chunk *c) {
  fy_chunk *gone = NULL;
  int at = s->n;
  if (FY_LIKELY(at < FY_QUICK_CHUNKS)) {
    s->n++;
  } else {
    at = (int)(s->turn++ % FY_QUICK_CHUNKS);
    gone = s->chunks[at];
  }
  atomic_store_explicit(&c->state, FY_CHUNK_QUICK, memory_order_relaxed);
  s->bytes[at] = c->taken;
  s->chunks[at] = c;
  return gone;
}

// The same for the malloc'ed blocks of a host pool, up to where they are many.
// Sanitizers see every block themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FY_QUICK_BLOCKS 0
#else
#define FY_QUICK_BLOCKS 8
#endif
#define FY_QUICK_MOST ((size_t)17 << 10)

// NULL: none is kept, or a fault is due in what follows.
static inline void *fy_quick_block(fy_shard *s, size_t total) {
  const int at = fy_quick_find(s, total);
  if (at < 0 || FY_UNLIKELY(__atomic_load_n(&fy_fault_armed, __ATOMIC_RELAXED))) return NULL;
  void *block = s->blocks[at];
  s->n--;
  s->bytes[at] = s->bytes[s->n];
  s->blocks[at] = s->blocks[s->n];
  return block;
}

// What is not kept any more, for the caller to free: |block|, another one, or NULL.
static inline void *fy_quick_keep_block(fy_shard *s, void *block, size_t total) {
  void *gone = NULL;
  int at = s->n;
  if (!FY_QUICK_BLOCKS || total > FY_QUICK_MOST) return block;
  if (FY_LIKELY(at < FY_QUICK_BLOCKS)) {
    s->n++;
  } else {
    at = (int)(s->turn++ % FY_QUICK_CHUNKS) % at;
    gone = s->blocks[at];
  }
  s->bytes[at] = total;
  s->blocks[at] = block;
  return gone;
}

#endif

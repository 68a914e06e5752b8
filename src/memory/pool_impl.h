// SPDX-License-Identifier: Apache-2.0
// pool_impl.h: the inside of a memory pool, shared by pool.c (who takes what; host pools, which only
// count), count.c (how much is in use), quick.c (what was given back a moment ago) and regions.c (the
// best-fit allocator).

#ifndef FY_MEMORY_POOL_IMPL_H
#define FY_MEMORY_POOL_IMPL_H

#include <stdatomic.h>

#include "base/thread.h"
#include "memory/pool.h"

#define FY_POOL_UNIT 256
#define FY_POOL_BINS 128  // four per power of two, from 256 bytes

typedef struct fy_region {
  char *base;
  size_t bytes;
  struct fy_chunk *first;  // at |base|
  struct fy_region *next;
} fy_region;

typedef enum fy_chunk_state { FY_CHUNK_FREE, FY_CHUNK_USED, FY_CHUNK_QUICK } fy_chunk_state;

// A piece of a region: in use, or free and in a bin, or given back and kept ready (quick.c), which counts
// as in use for its neighbours. Neighbours in address order are prev and next; two free chunks are never
// neighbours. The struct itself lives as long as the pool: fy_pool_peek looks at it without a lock.
typedef struct fy_chunk {
  _Atomic(char *) at;
  size_t bytes;
  size_t taken;  // in use: what was asked for, in whole units
  atomic_int state;
  fy_region *region;
  struct fy_chunk *prev, *next;
  struct fy_chunk *smaller, *larger;     // free: neighbours in the bin, sorted by (bytes, at)
  _Atomic(struct fy_chunk *) same_slot;  // in use: next in the hash table by address
  char owner[104];                       // in use: whose, cut if longer
} fy_chunk;

typedef struct fy_address_table {  // of chunks in use; the smaller ones it replaced live on
  struct fy_address_table *older;
  size_t num_slots;
  _Atomic(fy_chunk *) slots[];
} fy_address_table;

// What a thread has at hand, so that threads which take and give small blocks share no cache line: chunks
// (quick.c) and credit (count.c). Guarded by a lock that is held for a few instructions.
#define FY_SHARDS       16
#define FY_QUICK_CHUNKS 16
typedef struct fy_shard {
  _Alignas(64) atomic_int lock;
  bool closed;          // its host pool is: everything is counted at |committed|
  atomic_llong credit;  // bytes of |committed| that are not in use
  uint64_t num_allocs, largest_alloc_bytes;
  int n;
  unsigned turn;
  size_t bytes[FY_QUICK_CHUNKS];
  union {
    fy_chunk *chunks[FY_QUICK_CHUNKS];
    void *blocks[FY_QUICK_CHUNKS];  // of a host pool: malloc'ed
  };
} fy_shard;

struct fy_mempool {
  fy_device *device;
  struct fy_account *account;  // what this process has of the device (registry.h); may be NULL
  int64_t queue_ns;            // how long a request waits for memory that other processes have
  char name[32];
  bool host;
  long long
      own;  // 1 for host pools: they hold themselves, and who brings |committed| to 0 frees them
  atomic_llong limit;
  atomic_llong reserved;  // as in |stats|, for a look without the lock
  atomic_llong ceiling;   // the lesser of peak and limit, plus |own|: see count.c
  _Atomic(fy_address_table *) by_address;
  _Alignas(64) atomic_llong committed;  // what is in use, the shards' credit, and |own|
  // all below but the shards is guarded by |lock|
  _Alignas(64) fy_mutex lock;
  fy_mempool_stats stats;  // bytes_in_use is not kept
  fy_region *regions;
  size_t next_region_bytes;
  bool whole;    // the first region is the whole limit
  bool spill;    // variables may leave for the host when it is full
  bool refused;  // the last request failed because of other processes
  fy_chunk *bins[FY_POOL_BINS];
  uint64_t used_bins[FY_POOL_BINS / 64];
  size_t num_in_use;
  fy_chunk *spare;  // structs to use again, linked by |next|
  fy_shard shards[FY_SHARDS];
};

// regions.c; the lock is held by the caller.
// A chunk of |bytes| (a multiple of the unit), NULL when neither the bins nor the device have one;
// then |why| (may be NULL) holds what the device said, if it was asked.
fy_chunk *fy_pool_take(fy_mempool *pool, size_t bytes, fy_error *why);
void fy_pool_give(fy_mempool *pool, fy_chunk *chunk);
fy_chunk *fy_pool_find(fy_mempool *pool, void *p);  // in use at |p|, NULL if none
void fy_pool_trim_regions(fy_mempool *pool, uint64_t keep_bytes);
void fy_pool_free_regions(fy_mempool *pool);
size_t fy_pool_largest_free(const fy_mempool *pool);
void fy_pool_name(fy_chunk *chunk, const char *owner);

// regions.c; without the lock, by whoever owns what is at |p|. NULL: not found this way.
fy_chunk *fy_pool_peek(fy_mempool *pool, const void *p);

// count.c. With the lock: counts |n| bytes unless the limit would be passed; |*out_now| is what that
// makes. Then fy_count_taken when there was memory for them, or fy_count_drop.
bool fy_count_reserve(fy_mempool *pool, size_t n, long long *out_now);
void fy_count_taken(fy_mempool *pool, size_t n, long long now);
uint64_t fy_count_in_use(fy_mempool *pool);
void fy_count_stats(fy_mempool *pool, fy_mempool_stats *out);  // the first four
void fy_count_limit(fy_mempool *pool, uint64_t bytes);
void fy_count_reset(fy_mempool *pool);
// Without it: a host pool is closed; true: nothing is in use. And |n| bytes are not in use any more; true:
// the pool was closed and these were the last.
FY_MUST_CHECK bool fy_count_close(fy_mempool *pool);
FY_MUST_CHECK bool fy_count_drop_last(fy_mempool *pool, size_t n);

// quick.c, with the lock: all chunks that shards keep become free; false: there were none.
bool fy_quick_flush(fy_mempool *pool);
void fy_quick_free_blocks(fy_mempool *pool);  // those of a host pool; without the lock

#endif

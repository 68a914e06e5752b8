// SPDX-License-Identifier: Apache-2.0
// pool_impl.h: the inside of a memory pool, shared by pool.c (who takes what; host pools, which only
// count), quick.c (what was given back a moment ago) and regions.c (the best-fit allocator).

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
  char owner[40];                        // in use: whose, cut if longer
} fy_chunk;

typedef struct fy_address_table {  // of chunks in use; the smaller ones it replaced live on
  struct fy_address_table *older;
  size_t num_slots;
  _Atomic(fy_chunk *) slots[];
} fy_address_table;

#define FY_QUICK_SHARDS 8
#define FY_QUICK_CHUNKS 16
typedef struct fy_quick {
  _Alignas(64) atomic_flag lock;
  int n;
  unsigned turn;
  size_t bytes[FY_QUICK_CHUNKS];
  fy_chunk *chunks[FY_QUICK_CHUNKS];
} fy_quick;

struct fy_mempool {
  fy_device *device;
  struct fy_account *account;  // what this process has of the device (registry.h); may be NULL
  int64_t queue_ns;            // how long a request waits for memory that other processes have
  char name[32];
  bool host;
  // |in_use| of host pools starts at 1, the pool's own; who brings it to 0 frees the pool.
  atomic_llong in_use, peak, count, largest, limit;
  atomic_llong reserved;  // as in |stats|, for a look without the lock
  // device pools: all below is guarded by |lock|
  fy_mutex lock;
  fy_mempool_stats stats;  // of what was taken from the device
  fy_region *regions;
  size_t next_region_bytes;
  bool whole;    // the first region is the whole limit
  bool spill;    // variables may leave for the host when it is full
  bool refused;  // the last request failed because of other processes
  fy_chunk *bins[FY_POOL_BINS];
  uint64_t used_bins[FY_POOL_BINS / 64];
  _Atomic(fy_address_table *) by_address;
  size_t num_in_use;
  fy_chunk *spare;  // structs to use again, linked by |next|
  fy_quick *quick;  // [FY_QUICK_SHARDS], or NULL when memory was short
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

// quick.c; without the lock. A chunk of exactly |bytes|, or NULL; and keeping one: what it returns, if
// anything, is to be given to fy_pool_give.
fy_chunk *fy_quick_take(fy_mempool *pool, size_t bytes);
fy_chunk *fy_quick_keep(fy_mempool *pool, fy_chunk *chunk);
bool fy_quick_flush(
    fy_mempool *pool);  // with the lock: all of them become free; false: there were none

#endif

// SPDX-License-Identifier: Apache-2.0
// pool_impl.h: the inside of a memory pool, shared by pool.c (who takes what; host pools, which
// only count) and regions.c (the best-fit allocator).

#ifndef FY_MEMORY_POOL_IMPL_H
#define FY_MEMORY_POOL_IMPL_H

#include <stdatomic.h>

#include "base/map.h"
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

typedef struct fy_holder {  // everything one owner holds
  char *name;
  uint64_t bytes, chunks;
} fy_holder;

// A piece of a region: in use, or free and in a bin. Neighbours in address order are prev and next;
// two free chunks are never neighbours.
typedef struct fy_chunk {
  char *at;
  size_t bytes;
  bool in_use;
  fy_region *region;
  fy_holder *holder;  // in use: whose, NULL if not known
  struct fy_chunk *prev, *next;
  struct fy_chunk *smaller, *larger;  // free: neighbours in the bin, sorted by (bytes, at)
  struct fy_chunk *same_slot;         // in use: next in the hash table by address
} fy_chunk;

struct fy_mempool {
  fy_device *device;
  struct fy_account *account;  // what this process has of the device (registry.h); may be NULL
  int64_t queue_ns;            // how long a request waits for memory that other processes have
  char name[32];
  bool host;
  // host pools: |in_use| starts at 1, the pool's own; who brings it to 0 frees the pool.
  atomic_llong in_use, peak, count, largest, limit;
  // device pools: all below is guarded by |lock|
  fy_mutex lock;
  fy_mempool_stats stats;
  fy_region *regions;
  size_t next_region_bytes;
  bool whole;    // the first region is the whole limit
  bool refused;  // the last request failed because of other processes
  fy_chunk *bins[FY_POOL_BINS];
  uint64_t used_bins[FY_POOL_BINS / 64];
  fy_chunk **by_address;  // hash table of chunks in use
  size_t num_slots, num_in_use;
  fy_map holders;  // name -> fy_holder
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

#endif

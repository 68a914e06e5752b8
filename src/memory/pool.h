// SPDX-License-Identifier: Apache-2.0
// pool.h: memory for what only run time can tell (dynamic shapes, eager, variables) on one device:
// best-fit with coalescing over regions from the device, growing on demand, given back by trim.
// Threads: all functions may be called from several threads.

#ifndef FY_MEMORY_POOL_H
#define FY_MEMORY_POOL_H

#include "base/status.h"
#include "ferry/device.h"
#include "tensor/tensor.h"

typedef struct fy_mempool fy_mempool;

typedef struct fy_mempool_stats {  // limit_bytes 0 = none
  uint64_t num_allocs, bytes_in_use, peak_bytes_in_use, largest_alloc_bytes;
  uint64_t reserved_bytes, peak_reserved_bytes, limit_bytes, largest_free_bytes;
} fy_mempool_stats;

// |limit_bytes| 0 = no limit. A host device's pool only counts: memory is the heap's, and tensors
// may outlive the pool. NULL when memory is short. Takes nothing from the device before first use.
fy_mempool *fy_mempool_new(fy_device *device, uint64_t limit_bytes);
void fy_mempool_free(fy_mempool *pool);  // everything goes back to the device; NULL is fine
// RESOURCE_EXHAUSTED with TensorFlow's words and who holds what. |owner| may be NULL.
FY_MUST_CHECK fy_code fy_mempool_alloc(fy_mempool *pool, size_t bytes, const char *owner,
                                       void **out, fy_error *err);
// The same for what stays as long as a model does: on the host in a slab (base/slab.h).
FY_MUST_CHECK fy_code fy_mempool_alloc_weights(fy_mempool *pool, size_t bytes, const char *owner,
                                               void **out, fy_error *err);
void fy_mempool_release(fy_mempool *pool, void *p);  // NULL is fine
// What a request for |bytes| by fy_mempool_alloc adds to bytes_in_use (rounding, the host's header);
// and what a tensor of |bytes| by fy_memory_tensor adds.
size_t fy_mempool_taken(const fy_mempool *pool, size_t bytes);
size_t fy_memory_tensor_taken(const fy_device *device, size_t bytes);
// Gives wholly free regions back to the device until at most |keep_bytes| are reserved.
void fy_mempool_trim(fy_mempool *pool, uint64_t keep_bytes);
// A lower limit trims what is free at once; then new requests fail until enough is released.
void fy_mempool_set_limit(fy_mempool *pool, uint64_t bytes);
// The pool's limit or, without one, what the device has; 0 = not known.
uint64_t fy_memory_limit(const fy_device *d);
// |queue_ms|: how long a request waits while other processes have the memory of a shared device; 0 = it
// fails at once. |whole|: the first use takes all that the limit allows (TensorFlow's way without
// allow_growth). |spill|: variables that nobody uses at the moment may go to the host when it is full.
void fy_mempool_set_habits(fy_mempool *pool, int64_t queue_ms, bool whole, bool spill);
void fy_mempool_busy(fy_mempool *pool, int64_t ns);  // its device worked so long for this process
void fy_mempool_stats_get(fy_mempool *pool, fy_mempool_stats *out);
void fy_mempool_reset_peak(fy_mempool *pool);  // as reset_memory_stats: peak = now, counts = 0
const char *fy_mempool_name(const fy_mempool *pool);  // "cpu", "GPU_0_bfc"
// "  1.50GiB from node\n" for the |top| largest holders, and what remains; for reports.
void fy_mempool_holders(fy_mempool *pool, size_t top, fy_str *out);
// fy_mempool_alloc of |device|. While it is full, idle runs let go of what they keep, then the variable
// that was used longest ago moves to the host (room.c).
FY_MUST_CHECK fy_code fy_memory_alloc(fy_device *device, size_t bytes, const char *owner,
                                      void **out, fy_error *err);
// |idle| makes idle runs of a device's programs let go; true if there were any.
void fy_memory_on_full(bool (*idle)(const fy_device *device));
bool fy_memory_let_go(const fy_device *d);  // of what idle runs keep; false: there was none
// Idle runs, then (on a device) the variable used longest ago. False: there was nothing that could leave.
bool fy_memory_make_room(fy_device *d);
// Every variable that only its own program's runs use leaves |d| for the host, and comes back when a
// kernel asks for it: for memory that is in pieces. False: there was none.
bool fy_memory_unload_variables(const fy_device *d);

// Host pools: counts |bytes| that somebody else allocated. False, with nothing counted, when the
// limit would be passed. Every success is undone by one fy_mempool_uncount, also after
// fy_mempool_free.
bool fy_mempool_count(fy_mempool *pool, size_t bytes);
void fy_mempool_uncount(fy_mempool *pool, size_t bytes);
// Which part of any pool the calling thread meets the fewest others in (shard.h); never 0.
unsigned fy_mempool_shard(void);

// A tensor in |device|'s memory: host heap with accounting for CPU devices, the pool for others.
// RESOURCE_EXHAUSTED: "OOM when allocating tensor with shape[…] and type float on <device> by
// allocator <name>".
FY_MUST_CHECK fy_code fy_memory_tensor(fy_device *device, fy_dtype dtype, int32_t rank,
                                       const int64_t *dims, const char *owner, fy_tensor **out,
                                       fy_error *err);
// The same for a shape that was checked before. |*shard| was fy_mempool_shard() once; it is the caller's
// until the next call, and may change.
typedef struct fy_known_shape {
  fy_dtype dtype;
  int32_t rank;
  const int64_t *dims;
  size_t bytes;
  int64_t count;
} fy_known_shape;
FY_MUST_CHECK fy_code fy_memory_tensor_known(fy_device *device, const fy_known_shape *shape,
                                             unsigned *shard, const char *owner, fy_tensor **out,
                                             fy_error *err);
// Copies |t| (anywhere) into |to|'s memory (NULL or a host device = host). Waits until it is there.
FY_MUST_CHECK fy_code fy_memory_copy_tensor(fy_tensor *t, fy_device *to, fy_tensor **out,
                                            fy_error *err);
// The same; |owner| holds the copy.
FY_MUST_CHECK fy_code fy_memory_copy_tensor_for(fy_tensor *t, fy_device *to, const char *owner,
                                                fy_tensor **out, fy_error *err);

#endif

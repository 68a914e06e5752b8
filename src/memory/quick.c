// SPDX-License-Identifier: Apache-2.0
// quick.c: chunks that were given back a moment ago, ready for the next request of the same size, in the
// shards of count.c. Kept chunks count as free in every statistic; whoever needs memory, or looks at how it
// lies, flushes them first. A host pool, which has no chunks, keeps the blocks of small tensors in the same
// place: the count of a tensor's bytes and its memory then come and go in one step.

#include "base/alloc.h"
#include "memory/shard.h"

bool fy_quick_flush(fy_mempool *pool) {
  bool any = false;
  for (int i = 0; i < FY_SHARDS; i++) {
    fy_shard *s = &pool->shards[i];
    fy_chunk *chunks[FY_QUICK_CHUNKS];
    fy_shard_wait(s);
    const int n = s->n;
    for (int k = 0; k < n; k++) chunks[k] = s->chunks[k];
    s->n = 0;
    fy_shard_leave(s);
    for (int k = 0; k < n; k++) fy_pool_give(pool, chunks[k]);
    any |= n > 0;
  }
  return any;
}

void fy_quick_free_blocks(fy_mempool *pool) {
  for (int i = 0; i < FY_SHARDS; i++) {
    fy_shard *s = &pool->shards[i];
    fy_shard_wait(s);
    while (s->n) fy_free(s->blocks[--s->n]);
    fy_shard_leave(s);
  }
}

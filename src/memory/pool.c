// SPDX-License-Identifier: Apache-2.0
// pool.c: who takes what from a device's memory, and the text when there is no more.
// The allocator itself is regions.c. Owners are names, copied, so that they outlive their graphs.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/slab.h"
#include "memory/registry.h"
#include "memory/shard.h"

#define HOLDERS_SHOWN 5
#define RETRY_NS      ((int64_t)2 * 1000 * 1000)  // between two looks at what others have

fy_mempool *fy_mempool_new(fy_device *device, uint64_t limit_bytes) {
  fy_mempool *pool = fy_aligned_alloc(sizeof *pool);
  if (!pool) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->device = device;
  pool->host = device->is_host;
  pool->own = pool->host;
  if (pool->host)
    snprintf(pool->name, sizeof pool->name, "cpu");
  else
    snprintf(pool->name, sizeof pool->name, "%.15s_%d_bfc", device->type, device->index);
  atomic_init(&pool->committed, pool->own);
  fy_mutex_init(&pool->lock);
  fy_mempool_set_limit(pool, limit_bytes);
  pool->account = fy_account_open(device, pool);
  return pool;
}

static void destroy(fy_mempool *pool) {
  fy_pool_free_regions(pool);
  fy_mutex_destroy(&pool->lock);
  fy_aligned_free(pool);
}

void fy_mempool_free(fy_mempool *pool) {
  if (!pool) return;
  if (!pool->host) fy_pool_free_regions(pool);
  fy_account_close(pool->account, pool);
  pool->account = NULL;
  if (!pool->host || fy_count_close(pool)) destroy(pool);
}

const char *fy_mempool_name(const fy_mempool *pool) {
  return pool->name;
}

// --- host ---

bool fy_mempool_count(fy_mempool *pool, size_t bytes) {
  fy_shard *s = fy_shard_enter(pool);
  if (FY_LIKELY(s)) {
    const bool paid = fy_count_paid(pool, s, bytes);
    fy_shard_leave(s);
    if (FY_LIKELY(paid)) return true;
  }
  long long now;
  fy_lock(&pool->lock);
  const bool ok = fy_count_reserve(pool, bytes, &now);
  if (ok) fy_count_taken(pool, bytes, now);
  fy_unlock(&pool->lock);
  return ok;
}

void fy_mempool_uncount(fy_mempool *pool, size_t bytes) {
  fy_shard *s = fy_shard_enter(pool);
  if (FY_LIKELY(s)) {
    fy_count_given(pool, s, bytes);
    fy_shard_leave(s);
  } else if (fy_count_drop_last(pool, bytes)) {
    destroy(pool);
  }
}

unsigned fy_mempool_shard(void) {
  return *fy_shard_own();
}

// Host blocks remember in front how large they are and the piece of a slab they are, if any.
#define HOST_HEADER 64

static fy_code host_alloc(fy_mempool *pool, size_t bytes, bool weights, void **out, fy_error *err) {
  size_t total;
  if (!fy_add_size(bytes, HOST_HEADER, &total) || total > PTRDIFF_MAX ||
      !fy_mempool_count(pool, total)) {
    char want[32], used[32], limit[32];
    fy_mempool_stats s;
    fy_mempool_stats_get(pool, &s);
    fy_human_bytes((double)bytes, want);
    fy_human_bytes((double)s.bytes_in_use, used);
    fy_human_bytes((double)s.limit_bytes, limit);
    return fy_fail(err, FY_RESOURCE_EXHAUSTED,
                   "Allocator (%s) ran out of memory trying to allocate %s: %s of its limit of %s "
                   "are in use",
                   pool->name, want, used, limit);
  }
  fy_slab_piece *piece = weights && bytes >= FY_SLAB_BYTES ? fy_slab_alloc(total) : NULL;
  char *p = piece ? piece->data : fy_aligned_alloc(total);
  if (!p) {
    fy_mempool_uncount(pool, total);
    return fy_fail_oom(err, bytes);
  }
  memcpy(p, &total, sizeof total);
  memcpy(p + sizeof total, &piece, sizeof piece);
  *out = p + HOST_HEADER;
  return FY_OK;
}

static void host_release(fy_mempool *pool, void *p) {
  char *block = (char *)p - HOST_HEADER;
  size_t total;
  fy_slab_piece *piece;
  memcpy(&total, block, sizeof total);
  memcpy(&piece, block + sizeof total, sizeof piece);
  if (piece)
    fy_slab_free(piece);
  else
    fy_aligned_free(block);
  fy_mempool_uncount(pool, total);
}

size_t fy_mempool_taken(const fy_mempool *pool, size_t bytes) {
  if (pool->host) return bytes + HOST_HEADER;
  return bytes ? (bytes + FY_POOL_UNIT - 1) / FY_POOL_UNIT * FY_POOL_UNIT : FY_POOL_UNIT;
}

// --- holders ---

static int compare_owners(const void *a, const void *b) {
  return strcmp((*(fy_chunk *const *)a)->owner, (*(fy_chunk *const *)b)->owner);
}

typedef struct holder {  // everything one owner holds
  const char *name;
  uint64_t bytes;
} holder;

static int compare_holders(const void *a, const void *b) {
  const holder *x = a, *y = b;
  return x->bytes > y->bytes ? -1 : x->bytes < y->bytes ? 1 : strcmp(x->name, y->name);
}

// The |cap| chunks in use by owner; how many there are.
static size_t holders_of(const fy_mempool *pool, fy_chunk **used, size_t cap, holder *out) {
  size_t n = 0, num = 0;
  for (const fy_region *r = pool->regions; r; r = r->next)
    for (fy_chunk *c = r->first; c; c = c->next)
      if (atomic_load(&c->state) == FY_CHUNK_USED && n < cap) used[n++] = c;
  qsort(used, n, sizeof *used, compare_owners);
  for (size_t i = 0; i < n; i++) {
    if (!num || strcmp(out[num - 1].name, used[i]->owner) != 0)
      out[num++] = (holder){.name = used[i]->owner};
    out[num - 1].bytes += used[i]->taken;
  }
  qsort(out, num, sizeof *out, compare_holders);
  return num;
}

// Without memory for the list there is none: a report is no reason to fail. With the lock.
static void print_holders(fy_mempool *pool, size_t top, fy_str *out) {
  fy_chunk **used = fy_calloc(pool->num_in_use + 1, sizeof *used);
  holder *holders = fy_calloc(pool->num_in_use + 1, sizeof *holders);
  uint64_t rest = 0;
  char size[32];
  fy_shards_hold(pool);  // names are those of the moment
  const size_t num = used && holders ? holders_of(pool, used, pool->num_in_use, holders) : 0;
  for (size_t i = 0; i < num; i++) {
    fy_human_bytes((double)holders[i].bytes, size);
    if (i < top)
      fy_str_printf(out, "  %s from %s\n", size, holders[i].name);
    else
      rest += holders[i].bytes;
  }
  fy_shards_let_go(pool);
  fy_human_bytes((double)rest, size);
  if (num > top) fy_str_printf(out, "  Remaining %zu nodes with %s\n", num - top, size);
  fy_free(used);
  fy_free(holders);
}

void fy_mempool_holders(fy_mempool *pool, size_t top, fy_str *out) {
  fy_lock(&pool->lock);
  print_holders(pool, top, out);
  fy_unlock(&pool->lock);
}

// --- taking and giving ---

// Says which it is: too little memory, memory in pieces, or a device that gave less than it should.
static fy_code fail_full(fy_mempool *pool, size_t bytes, const fy_error *why, fy_error *err) {
  fy_quick_flush(pool);
  pool->stats.bytes_in_use = fy_count_in_use(pool);
  const fy_mempool_stats *s = &pool->stats;
  uint64_t free_bytes = s->reserved_bytes - s->bytes_in_use;
  uint64_t left = s->limit_bytes > s->reserved_bytes ? s->limit_bytes - s->reserved_bytes : 0;
  uint64_t allowed = s->limit_bytes > s->bytes_in_use ? s->limit_bytes - s->bytes_in_use : 0;
  size_t largest = fy_pool_largest_free(pool);
  char want[32], used[32], limit[32], idle[32], piece[32], rest[32];
  fy_human_bytes((double)bytes, want);
  fy_human_bytes((double)s->bytes_in_use, used);
  fy_human_bytes((double)s->limit_bytes, limit);
  fy_human_bytes((double)free_bytes, idle);
  fy_human_bytes((double)largest, piece);
  fy_human_bytes((double)left, rest);
  fy_fail(err, FY_RESOURCE_EXHAUSTED,
          "Allocator (%s) ran out of memory trying to allocate %s. In use %s of the limit of %s; "
          "free inside the pool %s, largest piece %s; not yet taken from the device %s.\n",
          pool->name, want, used, limit, idle, piece, rest);
  if (pool->refused) {
    fy_others others;
    fy_registry_others(pool->device, &others);
    fy_error_append(err, "This is another process's memory: %s%s%s%s.\n", fy_error_text(why),
                    others.who[0] ? " (" : "", others.who, others.who[0] ? ")" : "");
  } else if (why && why->code) {
    fy_error_append(err,
                    "This is somebody else's memory (another process, or another session of this "
                    "one), for the limit allows it. The device refused to give more: %s\n",
                    fy_error_text(why));
  } else if (allowed < bytes) {
    fy_error_append(err, "This is a true shortage: even without gaps there is too little.\n");
  } else {
    fy_error_append(err, "This is fragmentation: enough is free in total, but not in one piece.\n");
  }
  fy_str holders;
  fy_str_init(&holders);
  print_holders(pool, HOLDERS_SHOWN, &holders);
  if (holders.len) fy_error_append(err, "Held by:\n%s", fy_str_text(&holders));
  fy_str_free(&holders);
  return FY_RESOURCE_EXHAUSTED;
}

// The limit may be below what is reserved: it bounds what is in use.
static fy_chunk *take(fy_mempool *pool, size_t rounded, fy_error *why) {
  long long now;
  pool->refused = false;
  if (!fy_count_reserve(pool, rounded, &now)) return NULL;
  fy_chunk *c = fy_pool_take(pool, rounded, why);
  if (c)
    fy_count_taken(pool, rounded, now);
  else
    fy_count_drop(pool, (long long)rounded);
  return c;
}

// With the lock, waiting for other processes if that is wanted.
static fy_code take_slowly(fy_mempool *pool, size_t bytes, size_t rounded, const char *owner,
                           void **out, fy_error *err) {
  fy_error why;
  fy_error_init(&why);
  fy_code code = FY_OK;
  fy_lock(&pool->lock);
  fy_chunk *c = take(pool, rounded, &why);
  for (int64_t until = 0; !c && pool->refused && pool->queue_ns > 0;) {
    const int64_t now = fy_now_ns();
    if (!until) until = now + pool->queue_ns;
    if (now >= until) break;
    fy_unlock(&pool->lock);  // what this process gives back meanwhile helps too
    fy_sleep_ns(RETRY_NS);
    fy_error_clear(&why);
    fy_lock(&pool->lock);
    c = take(pool, rounded, &why);
  }
  if (c) {
    fy_pool_name(c, owner);
    *out = c->at;
  } else if (why.code && why.code != FY_RESOURCE_EXHAUSTED) {
    code = why.code;  // the device is gone, not full
    fy_error_clear(err ? err : &why);
    if (err) fy_error_move(err, &why);
  } else {
    code = fail_full(pool, bytes, &why, err);
  }
  fy_unlock(&pool->lock);
  fy_error_clear(&why);
  return code;
}

static fy_chunk *take_quickly(fy_mempool *pool, size_t rounded, const char *owner) {
  fy_shard *s = fy_shard_enter(pool);
  if (FY_UNLIKELY(!s)) return NULL;
  const int at = fy_quick_find(s, rounded);
  fy_chunk *c = at >= 0 && fy_count_paid(pool, s, rounded) ? fy_quick_take(s, at) : NULL;
  if (FY_LIKELY(c)) {
    fy_pool_name(c, owner);
    atomic_store_explicit(&c->state, FY_CHUNK_USED, memory_order_relaxed);
  }
  fy_shard_leave(s);
  return c;
}

// Gives |c| back as it was taken; what remains to be given to the regions, if anything.
static fy_chunk *give_quickly(fy_mempool *pool, fy_chunk *c) {
  const bool over = atomic_load_explicit(&pool->reserved, memory_order_relaxed) >
                    atomic_load_explicit(&pool->limit, memory_order_relaxed);
  fy_shard *s = fy_shard_enter(pool);
  if (FY_UNLIKELY(!s)) {
    fy_count_drop(pool, (long long)c->taken);
    return c;
  }
  fy_count_given(pool, s, c->taken);
  if (FY_LIKELY(!over)) c = fy_quick_keep(s, c);
  fy_shard_leave(s);
  return c;
}

fy_code fy_mempool_alloc(fy_mempool *pool, size_t bytes, const char *owner, void **out,
                         fy_error *err) {
  *out = NULL;
  if (pool->host) return host_alloc(pool, bytes, false, out, err);
  const size_t rounded = fy_mempool_taken(pool, bytes);
  if (rounded < bytes || rounded > PTRDIFF_MAX) {  // rounding up passed SIZE_MAX
    fy_lock(&pool->lock);
    fy_code code = fail_full(pool, bytes, NULL, err);
    fy_unlock(&pool->lock);
    return code;
  }
  const fy_chunk *c = take_quickly(pool, rounded, owner);
  if (FY_UNLIKELY(!c)) return take_slowly(pool, bytes, rounded, owner, out, err);
  *out = atomic_load_explicit(&c->at, memory_order_relaxed);
  return FY_OK;
}

fy_code fy_mempool_alloc_weights(fy_mempool *pool, size_t bytes, const char *owner, void **out,
                                 fy_error *err) {
  *out = NULL;
  if (pool->host) return host_alloc(pool, bytes, true, out, err);
  return fy_mempool_alloc(pool, bytes, owner, out, err);
}

void fy_mempool_release(fy_mempool *pool, void *p) {
  if (!p) return;
  if (pool->host) {
    host_release(pool, p);
    return;
  }
  fy_chunk *c = fy_pool_peek(pool, p);
  if (FY_LIKELY(c && atomic_load_explicit(&c->state, memory_order_relaxed) == FY_CHUNK_USED)) {
    c = give_quickly(pool, c);
    if (FY_LIKELY(!c)) return;
    fy_lock(&pool->lock);
  } else {
    fy_lock(&pool->lock);
    c = fy_pool_find(pool, p);
    if (c && atomic_load(&c->state) != FY_CHUNK_USED) c = NULL;  // given back twice
    if (c) fy_count_drop(pool, (long long)c->taken);
  }
  if (c) fy_pool_give(pool, c);
  // Over a lowered limit, what becomes free goes back at once.
  if (pool->stats.reserved_bytes > pool->stats.limit_bytes) {
    fy_pool_trim_regions(pool, pool->stats.limit_bytes);
  }
  fy_unlock(&pool->lock);
}

void fy_mempool_trim(fy_mempool *pool, uint64_t keep_bytes) {
  if (pool->host) {
    fy_quick_free_blocks(pool);
    return;
  }
  fy_lock(&pool->lock);
  fy_pool_trim_regions(pool, keep_bytes);
  fy_unlock(&pool->lock);
}

void fy_mempool_set_limit(fy_mempool *pool, uint64_t bytes) {
  if (bytes == 0 || bytes > INT64_MAX / 2) bytes = INT64_MAX / 2;
  fy_lock(&pool->lock);
  fy_count_limit(pool, bytes);
  if (pool->stats.reserved_bytes > bytes) fy_pool_trim_regions(pool, bytes);
  fy_unlock(&pool->lock);
}

uint64_t fy_memory_limit(const fy_device *d) {
  const long long limit =
      d->memory ? atomic_load_explicit(&d->memory->limit, memory_order_relaxed) : INT64_MAX / 2;
  return limit < INT64_MAX / 2 ? (uint64_t)limit
                               : __atomic_load_n(&d->facts.memory_limit, __ATOMIC_RELAXED);
}

void fy_mempool_set_habits(fy_mempool *pool, int64_t queue_ms, bool whole, bool spill) {
  fy_lock(&pool->lock);
  pool->spill = spill;
  pool->queue_ns = queue_ms * 1000000;
  pool->whole = whole;
  fy_unlock(&pool->lock);
}

void fy_mempool_busy(fy_mempool *pool, int64_t ns) {
  fy_account_busy(pool->account, ns);
}

void fy_mempool_stats_get(fy_mempool *pool, fy_mempool_stats *out) {
  fy_lock(&pool->lock);
  if (!pool->host) fy_quick_flush(pool);
  fy_count_stats(pool, out);
  if (pool->host) {
    out->reserved_bytes = out->bytes_in_use;
    out->peak_reserved_bytes = out->peak_bytes_in_use;
  } else {
    out->largest_free_bytes = fy_pool_largest_free(pool);
  }
  fy_unlock(&pool->lock);
  if (out->limit_bytes == INT64_MAX / 2) out->limit_bytes = 0;  // none
}

void fy_mempool_reset_peak(fy_mempool *pool) {
  fy_lock(&pool->lock);
  fy_count_reset(pool);
  pool->stats.peak_reserved_bytes = pool->stats.reserved_bytes;
  fy_unlock(&pool->lock);
}

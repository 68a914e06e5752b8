// SPDX-License-Identifier: Apache-2.0
// pool.c: who takes what from a device's memory, and the text when there is no more.
// The allocator itself is regions.c. Owners are names, copied, so that they outlive their graphs.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/pool_impl.h"
#include "memory/registry.h"

#define HOLDERS_SHOWN 5
#define RETRY_NS      ((int64_t)2 * 1000 * 1000)  // between two looks at what others have

fy_mempool *fy_mempool_new(fy_device *device, uint64_t limit_bytes) {
  fy_mempool *pool = fy_calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->device = device;
  pool->host = device->is_host;
  if (pool->host)
    snprintf(pool->name, sizeof pool->name, "cpu");
  else
    snprintf(pool->name, sizeof pool->name, "%.15s_%d_bfc", device->type, device->index);
  atomic_init(&pool->in_use, 1);
  fy_mutex_init(&pool->lock);
  fy_map_init(&pool->holders);
  fy_mempool_set_limit(pool, limit_bytes);
  pool->account = fy_account_open(device, pool);
  return pool;
}

static void destroy(fy_mempool *pool) {
  fy_pool_free_regions(pool);
  for (uint32_t i = 0; i < pool->holders.n; i++) {
    fy_holder *h = pool->holders.items[i].value;
    if (h) fy_free(h->name);
    fy_free(h);
  }
  fy_map_free(&pool->holders);
  fy_mutex_destroy(&pool->lock);
  fy_free(pool);
}

void fy_mempool_free(fy_mempool *pool) {
  if (!pool) return;
  if (!pool->host) fy_pool_free_regions(pool);
  fy_account_close(pool->account, pool);
  pool->account = NULL;
  if (!pool->host)
    destroy(pool);
  else if (atomic_fetch_sub_explicit(&pool->in_use, 1, memory_order_acq_rel) == 1)
    destroy(pool);
}

const char *fy_mempool_name(const fy_mempool *pool) {
  return pool->name;
}

// --- host: counting ---

bool fy_mempool_count(fy_mempool *pool, size_t bytes) {
  long long n = (long long)bytes;
  long long now = atomic_fetch_add_explicit(&pool->in_use, n, memory_order_relaxed) + n;
  if (FY_UNLIKELY(now - 1 > atomic_load_explicit(&pool->limit, memory_order_relaxed))) {
    atomic_fetch_sub_explicit(&pool->in_use, n, memory_order_relaxed);  // the caller keeps the pool
    return false;
  }
  long long peak = atomic_load_explicit(&pool->peak, memory_order_relaxed);
  while (now - 1 > peak &&
         !atomic_compare_exchange_weak_explicit(&pool->peak, &peak, now - 1, memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
  // Statistics that may lose a race: an exact count is not worth a second locked instruction.
  long long count = atomic_load_explicit(&pool->count, memory_order_relaxed);
  atomic_store_explicit(&pool->count, count + 1, memory_order_relaxed);
  if (n > atomic_load_explicit(&pool->largest, memory_order_relaxed)) {
    atomic_store_explicit(&pool->largest, n, memory_order_relaxed);
  }
  return true;
}

void fy_mempool_uncount(fy_mempool *pool, size_t bytes) {
  long long n = (long long)bytes;
  if (atomic_fetch_sub_explicit(&pool->in_use, n, memory_order_acq_rel) == n) destroy(pool);
}

// Host blocks remember their size in front.
#define HOST_HEADER 64

static fy_code host_alloc(fy_mempool *pool, size_t bytes, void **out, fy_error *err) {
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
  char *p = fy_aligned_alloc(total);
  if (!p) {
    fy_mempool_uncount(pool, total);
    return fy_fail_oom(err, bytes);
  }
  memcpy(p, &total, sizeof total);
  *out = p + HOST_HEADER;
  return FY_OK;
}

static void host_release(fy_mempool *pool, void *p) {
  char *block = (char *)p - HOST_HEADER;
  size_t total;
  memcpy(&total, block, sizeof total);
  fy_aligned_free(block);
  fy_mempool_uncount(pool, total);
}

size_t fy_mempool_taken(const fy_mempool *pool, size_t bytes) {
  if (pool->host) return bytes + HOST_HEADER;
  return bytes ? (bytes + FY_POOL_UNIT - 1) / FY_POOL_UNIT * FY_POOL_UNIT : FY_POOL_UNIT;
}

// --- holders ---

// Without memory for the name the chunk is nobody's: a report is no reason to fail.
static fy_holder *holder_add(fy_mempool *pool, const char *owner, size_t bytes) {
  if (!owner) owner = "(unnamed)";
  fy_holder *h = fy_map_gets(&pool->holders, owner);
  if (!h) {
    h = fy_calloc(1, sizeof *h);
    if (h) h->name = fy_strdup(owner);
    if (!h || !h->name || !fy_map_puts(&pool->holders, h->name, h)) {
      if (h) fy_free(h->name);
      fy_free(h);
      return NULL;
    }
  }
  h->bytes += bytes;
  h->chunks++;
  return h;
}

static void holder_subtract(fy_mempool *pool, fy_holder *h, size_t bytes) {
  if (!h) return;
  h->bytes -= bytes;
  if (--h->chunks) return;
  fy_map_remove(&pool->holders, h->name, strlen(h->name));
  fy_free(h->name);
  fy_free(h);
}

static void print_holders(const fy_mempool *pool, size_t top, fy_str *out) {
  uint64_t shown = 0, named = 0, before = UINT64_MAX;
  const fy_holder *last = NULL;
  size_t count = 0, others = 0;
  for (uint32_t i = 0; i < pool->holders.n; i++) {
    const fy_holder *h = pool->holders.items[i].value;
    if (h) named += h->bytes, others++;
  }
  for (; count < top; count++) {  // few: choosing the next largest each time is simplest
    const fy_holder *next = NULL;
    bool after_last = last == NULL;
    for (uint32_t i = 0; i < pool->holders.n; i++) {
      const fy_holder *h = pool->holders.items[i].value;
      if (!h) continue;
      bool eligible = h->bytes < before || (h->bytes == before && after_last && h != last);
      if (h == last) after_last = true;
      if (eligible && (!next || h->bytes > next->bytes)) next = h;
    }
    if (!next) break;
    char size[32];
    fy_human_bytes((double)next->bytes, size);
    fy_str_printf(out, "  %s from %s\n", size, next->name);
    shown += next->bytes;
    before = next->bytes;
    last = next;
    others--;
  }
  if (others) {
    char size[32];
    fy_human_bytes((double)(named - shown), size);
    fy_str_printf(out, "  Remaining %zu nodes with %s\n", others, size);
  }
}

void fy_mempool_holders(fy_mempool *pool, size_t top, fy_str *out) {
  fy_lock(&pool->lock);
  print_holders(pool, top, out);
  fy_unlock(&pool->lock);
}

// --- taking and giving ---

// Says which it is: too little memory, memory in pieces, or a device that gave less than it should.
static fy_code fail_full(const fy_mempool *pool, size_t bytes, const fy_error *why, fy_error *err) {
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

fy_code fy_mempool_alloc(fy_mempool *pool, size_t bytes, const char *owner, void **out,
                         fy_error *err) {
  *out = NULL;
  if (pool->host) return host_alloc(pool, bytes, out, err);
  size_t rounded = bytes ? (bytes + FY_POOL_UNIT - 1) / FY_POOL_UNIT * FY_POOL_UNIT : FY_POOL_UNIT;
  fy_error why;
  fy_error_init(&why);
  fy_code code = FY_OK;
  fy_lock(&pool->lock);
  // |rounded| is below |bytes| when rounding up passed SIZE_MAX.
  fy_chunk *c = rounded >= bytes ? fy_pool_take(pool, rounded, &why) : NULL;
  for (int64_t until = 0; !c && pool->refused && pool->queue_ns > 0;) {
    const int64_t now = fy_now_ns();
    if (!until) until = now + pool->queue_ns;
    if (now >= until) break;
    fy_unlock(&pool->lock);  // what this process gives back meanwhile helps too
    fy_sleep_ns(RETRY_NS);
    fy_error_clear(&why);
    fy_lock(&pool->lock);
    c = fy_pool_take(pool, rounded, &why);
  }
  if (c) {
    fy_mempool_stats *s = &pool->stats;
    c->holder = holder_add(pool, owner, c->bytes);
    s->num_allocs++;
    s->bytes_in_use += c->bytes;
    if (s->bytes_in_use > s->peak_bytes_in_use) s->peak_bytes_in_use = s->bytes_in_use;
    if (c->bytes > s->largest_alloc_bytes) s->largest_alloc_bytes = c->bytes;
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

void fy_mempool_release(fy_mempool *pool, void *p) {
  if (!p) return;
  if (pool->host) {
    host_release(pool, p);
    return;
  }
  fy_lock(&pool->lock);
  fy_chunk *c = fy_pool_find(pool, p);
  if (c) {
    pool->stats.bytes_in_use -= c->bytes;
    holder_subtract(pool, c->holder, c->bytes);
    fy_pool_give(pool, c);
    // Over a lowered limit, what becomes free goes back at once.
    if (pool->stats.reserved_bytes > pool->stats.limit_bytes) {
      fy_pool_trim_regions(pool, pool->stats.limit_bytes);
    }
  }
  fy_unlock(&pool->lock);
}

void fy_mempool_trim(fy_mempool *pool, uint64_t keep_bytes) {
  if (pool->host) return;
  fy_lock(&pool->lock);
  fy_pool_trim_regions(pool, keep_bytes);
  fy_unlock(&pool->lock);
}

void fy_mempool_set_limit(fy_mempool *pool, uint64_t bytes) {
  if (bytes == 0 || bytes > INT64_MAX / 2) bytes = INT64_MAX / 2;
  atomic_store_explicit(&pool->limit, (long long)bytes, memory_order_relaxed);
  if (pool->host) return;
  fy_lock(&pool->lock);
  pool->stats.limit_bytes = bytes;
  if (pool->stats.reserved_bytes > bytes) fy_pool_trim_regions(pool, bytes);
  fy_unlock(&pool->lock);
}

void fy_mempool_set_habits(fy_mempool *pool, int64_t queue_ms, bool whole) {
  fy_lock(&pool->lock);
  pool->queue_ns = queue_ms * 1000000;
  pool->whole = whole;
  fy_unlock(&pool->lock);
}

void fy_mempool_busy(fy_mempool *pool, int64_t ns) {
  fy_account_busy(pool->account, ns);
}

void fy_mempool_stats_get(fy_mempool *pool, fy_mempool_stats *out) {
  if (pool->host) {
    memset(out, 0, sizeof *out);
    out->bytes_in_use = (uint64_t)(atomic_load(&pool->in_use) - 1);
    out->peak_bytes_in_use = (uint64_t)atomic_load(&pool->peak);
    out->num_allocs = (uint64_t)atomic_load(&pool->count);
    out->largest_alloc_bytes = (uint64_t)atomic_load(&pool->largest);
    out->reserved_bytes = out->bytes_in_use;
    out->peak_reserved_bytes = out->peak_bytes_in_use;
    out->limit_bytes = (uint64_t)atomic_load(&pool->limit);
  } else {
    fy_lock(&pool->lock);
    *out = pool->stats;
    out->largest_free_bytes = fy_pool_largest_free(pool);
    fy_unlock(&pool->lock);
  }
  if (out->limit_bytes == INT64_MAX / 2) out->limit_bytes = 0;  // none
}

void fy_mempool_reset_peak(fy_mempool *pool) {
  if (pool->host) {
    atomic_store(&pool->peak, atomic_load(&pool->in_use) - 1);
    atomic_store(&pool->count, 0);
    atomic_store(&pool->largest, 0);
    return;
  }
  fy_lock(&pool->lock);
  pool->stats.peak_bytes_in_use = pool->stats.bytes_in_use;
  pool->stats.peak_reserved_bytes = pool->stats.reserved_bytes;
  pool->stats.num_allocs = 0;
  pool->stats.largest_alloc_bytes = 0;
  fy_unlock(&pool->lock);
}

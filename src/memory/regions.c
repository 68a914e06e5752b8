// SPDX-License-Identifier: Apache-2.0
// regions.c: best-fit with coalescing over regions taken from the device.
//
// Free chunks hang in bins, four per power of two; inside a bin they are sorted by size, then
// address, so the first that is large enough is the best fit and low addresses fill first. A bitmap
// finds the next bin that is not empty. Regions double from 2 MiB, never beyond the limit; before a
// request fails, wholly free regions go back to the device and a larger one is tried.

#include <string.h>

#include "base/alloc.h"
#include "memory/pool_impl.h"
#include "memory/registry.h"

#define FIRST_REGION_BYTES ((size_t)2 << 20)
#define SMALL_REST_BYTES   ((size_t)256 << 10)  // not worth keeping for later
#define LARGEST_STEP       ((size_t)1 << 40)    // doubling ends here

static size_t bin_of(size_t bytes) {
  size_t units = bytes / FY_POOL_UNIT;
  if (units < 4) return units;  // 1, 2, 3 units
  size_t power = 63 - (size_t)__builtin_clzll(units);
  size_t bin = 4 * (power - 1) + ((units >> (power - 2)) & 3);
  return bin < FY_POOL_BINS ? bin : FY_POOL_BINS - 1;
}

static void bin_add(fy_mempool *pool, fy_chunk *c) {
  size_t bin = bin_of(c->bytes);
  fy_chunk *before = NULL, *after = pool->bins[bin];
  while (after && (after->bytes < c->bytes || (after->bytes == c->bytes && after->at < c->at))) {
    before = after;
    after = after->larger;
  }
  c->smaller = before;
  c->larger = after;
  if (before)
    before->larger = c;
  else
    pool->bins[bin] = c;
  if (after) after->smaller = c;
  pool->used_bins[bin / 64] |= 1ull << (bin % 64);
}

static void bin_remove(fy_mempool *pool, fy_chunk *c) {
  size_t bin = bin_of(c->bytes);
  if (c->larger) c->larger->smaller = c->smaller;
  if (c->smaller)
    c->smaller->larger = c->larger;
  else
    pool->bins[bin] = c->larger;
  if (!pool->bins[bin]) pool->used_bins[bin / 64] &= ~(1ull << (bin % 64));
  c->smaller = c->larger = NULL;
}

static fy_chunk *best_fit(const fy_mempool *pool, size_t bytes) {
  size_t bin = bin_of(bytes);
  for (fy_chunk *c = pool->bins[bin]; c; c = c->larger) {
    if (c->bytes >= bytes) return c;
  }
  for (size_t word = (bin + 1) / 64; word < FY_POOL_BINS / 64; word++) {
    uint64_t bits = pool->used_bins[word];
    if (word == (bin + 1) / 64) bits &= ~0ull << ((bin + 1) % 64);
    if (bits) return pool->bins[word * 64 + (size_t)__builtin_ctzll(bits)];
  }
  return NULL;
}

size_t fy_pool_largest_free(const fy_mempool *pool) {
  for (size_t word = FY_POOL_BINS / 64; word-- > 0;) {
    if (!pool->used_bins[word]) continue;
    size_t bin = word * 64 + 63 - (size_t)__builtin_clzll(pool->used_bins[word]);
    const fy_chunk *c = pool->bins[bin];
    while (c->larger) c = c->larger;
    return c->bytes;
  }
  return 0;
}

// --- chunks ---

static fy_chunk *chunk_new(fy_mempool *pool, char *at, size_t bytes, fy_region *region) {
  fy_chunk *c = pool->spare;
  if (c)
    pool->spare = c->next;
  else if ((c = fy_aligned_alloc(sizeof *c)))  // threads have their own, on lines of their own
    memset(c, 0, sizeof *c);
  else
    return NULL;
  atomic_store_explicit(&c->at, at, memory_order_relaxed);
  atomic_store_explicit(&c->state, FY_CHUNK_FREE, memory_order_relaxed);
  c->bytes = bytes;
  c->region = region;
  c->prev = c->next = c->smaller = c->larger = NULL;
  return c;
}

static void chunk_drop(fy_mempool *pool, fy_chunk *c) {
  atomic_store_explicit(&c->at, NULL, memory_order_relaxed);
  atomic_store_explicit(&c->state, FY_CHUNK_FREE, memory_order_relaxed);
  c->next = pool->spare;
  pool->spare = c;
}

static bool is_free(const fy_chunk *c) {
  return atomic_load_explicit(&c->state, memory_order_relaxed) == FY_CHUNK_FREE;
}

static size_t slot_of(const fy_address_table *t, const void *p) {
  uint64_t h = (uint64_t)(uintptr_t)p / FY_POOL_UNIT * 0x9E3779B97F4A7C15ull;
  return (size_t)(h >> 32) & (t->num_slots - 1);
}

static void address_link(fy_address_table *t, fy_chunk *c) {
  _Atomic(fy_chunk *) *slot = &t->slots[slot_of(t, c->at)];
  atomic_store_explicit(&c->same_slot, atomic_load_explicit(slot, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(slot, c, memory_order_release);
}

static bool address_add(fy_mempool *pool, fy_chunk *c) {
  fy_address_table *t = atomic_load_explicit(&pool->by_address, memory_order_relaxed);
  if (!t || pool->num_in_use == t->num_slots) {
    const size_t n = t ? 2 * t->num_slots : 64;
    fy_address_table *to = fy_calloc(1, sizeof *to + n * sizeof *to->slots);
    if (!to) return false;
    to->older = t;
    to->num_slots = n;
    for (size_t i = 0; t && i < t->num_slots; i++) {
      for (fy_chunk *x = t->slots[i], *next; x; x = next) {
        next = x->same_slot;
        address_link(to, x);
      }
    }
    atomic_store_explicit(&pool->by_address, to, memory_order_release);
    t = to;
  }
  address_link(t, c);
  pool->num_in_use++;
  return true;
}

static void address_remove(fy_mempool *pool, fy_chunk *c) {
  fy_address_table *t = atomic_load_explicit(&pool->by_address, memory_order_relaxed);
  _Atomic(fy_chunk *) *at = &t->slots[slot_of(t, c->at)];
  while (atomic_load_explicit(at, memory_order_relaxed) != c)
    at = &atomic_load_explicit(at, memory_order_relaxed)->same_slot;
  atomic_store_explicit(at, atomic_load_explicit(&c->same_slot, memory_order_relaxed),
                        memory_order_release);
  pool->num_in_use--;
}

// What is in use stays in its list; others may be linked and unlinked meanwhile, which can lead astray but
// not into memory that is gone. Who does not find it asks again with the lock.
fy_chunk *fy_pool_peek(fy_mempool *pool, const void *p) {
  fy_address_table *t = atomic_load_explicit(&pool->by_address, memory_order_acquire);
  fy_chunk *c = t ? atomic_load_explicit(&t->slots[slot_of(t, p)], memory_order_acquire) : NULL;
  for (int steps = 0; c && steps < 32; steps++) {
    if (atomic_load_explicit(&c->at, memory_order_relaxed) == p) return c;
    c = atomic_load_explicit(&c->same_slot, memory_order_acquire);
  }
  return NULL;
}

fy_chunk *fy_pool_find(fy_mempool *pool, void *p) {
  fy_address_table *t = pool->by_address;
  fy_chunk *c = t ? t->slots[slot_of(t, p)] : NULL;
  while (c && c->at != (char *)p) c = c->same_slot;
  return c;
}

void fy_pool_name(fy_chunk *c, const char *owner) {
  if (!owner) owner = "(unnamed)";
  const size_t n = strnlen(owner, sizeof c->owner - 1);
  memcpy(c->owner, owner, n);
  c->owner[n] = 0;
}

// --- regions ---

static bool region_is_free(const fy_region *r) {
  return is_free(r->first) && !r->first->next;
}

static void region_drop(fy_mempool *pool, fy_region **at) {
  fy_region *r = *at;
  *at = r->next;
  for (fy_chunk *c = r->first, *next; c; c = next) {
    next = c->next;
    if (is_free(c)) bin_remove(pool, c);
    chunk_drop(pool, c);
  }
  pool->device->ops->free(pool->device, r->base, r->bytes);
  fy_account_give(pool->account, r->bytes);
  pool->stats.reserved_bytes -= r->bytes;
  atomic_store(&pool->reserved, (long long)pool->stats.reserved_bytes);
  fy_free(r);
}

void fy_pool_trim_regions(fy_mempool *pool, uint64_t keep_bytes) {
  fy_quick_flush(pool);
  for (fy_region **at = &pool->regions; *at && pool->stats.reserved_bytes > keep_bytes;) {
    if (region_is_free(*at))
      region_drop(pool, at);
    else
      at = &(*at)->next;
  }
  // Doubling starts again from what is left: else trimming now and then would make regions ever larger.
  while (pool->next_region_bytes > FIRST_REGION_BYTES &&
         pool->next_region_bytes / 2 > pool->stats.reserved_bytes)
    pool->next_region_bytes /= 2;
}

void fy_pool_free_regions(fy_mempool *pool) {
  for (int i = 0; i < FY_SHARDS; i++) pool->shards[i].n = 0;
  while (pool->regions) region_drop(pool, &pool->regions);
  while (pool->spare) {
    fy_chunk *next = pool->spare->next;
    fy_aligned_free(pool->spare);
    pool->spare = next;
  }
  for (fy_address_table *t = pool->by_address, *older; t; t = older) {
    older = t->older;
    fy_free(t);
  }
  pool->by_address = NULL;
  pool->num_in_use = 0;
}

// Takes a region of |bytes| from the device; it becomes one free chunk.
static fy_chunk *region_take(fy_mempool *pool, size_t bytes, fy_error *why) {
  fy_region *r = fy_calloc(1, sizeof *r);
  fy_chunk *c = chunk_new(pool, NULL, bytes, r);
  void *base = NULL;
  bool ok = r && c;
  if (!ok) fy_fail_oom(why, sizeof *r);
  if (ok && !fy_account_take(pool->account, bytes, why)) {
    pool->refused = true;
    ok = false;
  } else if (ok && pool->device->ops->alloc(pool->device, bytes, &base, why) != FY_OK) {
    fy_account_give(pool->account, bytes);
    ok = false;
  }
  if (!ok) {
    fy_free(r);
    if (c) chunk_drop(pool, c);
    return NULL;
  }
  *r = (fy_region){.base = base, .bytes = bytes, .first = c, .next = pool->regions};
  atomic_store_explicit(&c->at, (char *)base, memory_order_relaxed);
  pool->regions = r;
  pool->stats.reserved_bytes += bytes;
  atomic_store(&pool->reserved, (long long)pool->stats.reserved_bytes);
  if (pool->stats.reserved_bytes > pool->stats.peak_reserved_bytes) {
    pool->stats.peak_reserved_bytes = pool->stats.reserved_bytes;
  }
  bin_add(pool, c);
  return c;
}

static fy_chunk *grow(fy_mempool *pool, size_t bytes, fy_error *why) {
  uint64_t limit = pool->stats.limit_bytes, reserved = pool->stats.reserved_bytes;
  uint64_t left = limit > reserved ? limit - reserved : 0;
  left -= left % FY_POOL_UNIT;
  if (bytes > left) return NULL;
  size_t step = pool->next_region_bytes ? pool->next_region_bytes : FIRST_REGION_BYTES;
  bool doubled = false;
  while (step < bytes && step < LARGEST_STEP) step *= 2, doubled = true;
  // Near the limit take no more than half of what is left, so that the rest can still go to a
  // request that does not fit what a generous region would leave over. What is large for this limit
  // gets a region to measure, and small things a small one: rests would be lost to the large.
  size_t half = (size_t)(left / 2 / FY_POOL_UNIT * FY_POOL_UNIT);
  size_t want = step < half ? step : half;
  const size_t large = (size_t)(limit / 256 / FY_POOL_UNIT * FY_POOL_UNIT);
  if (bytes >= large)
    want = bytes;
  else if (want > large)
    want = large;
  if ((bytes < large && left <= SMALL_REST_BYTES) ||
      (pool->whole && !pool->regions && limit < INT64_MAX / 2))
    want = (size_t)left;
  if (want < bytes) want = bytes;
  fy_chunk *c = region_take(pool, want, why);
  if (!c && want > bytes) {  // the device has less than we thought
    fy_error_clear(why);
    pool->refused = false;
    c = region_take(pool, bytes, why);
  }
  if (c) pool->next_region_bytes = doubled || step >= LARGEST_STEP ? step : 2 * step;
  return c;
}

// Whether giving back what is wholly free would let a region of |bytes| be taken.
static bool trim_would_help(const fy_mempool *pool, size_t bytes) {
  uint64_t free_bytes = 0;
  for (const fy_region *r = pool->regions; r; r = r->next) {
    if (region_is_free(r)) free_bytes += r->bytes;
  }
  uint64_t kept = pool->stats.reserved_bytes - free_bytes;
  return free_bytes && kept <= pool->stats.limit_bytes && bytes <= pool->stats.limit_bytes - kept;
}

// Cuts |c| (not in a bin) to |bytes|. Small rests stay inside: less waste than another chunk is
// worth.
static void split(fy_mempool *pool, fy_chunk *c, size_t bytes) {
  size_t rest = c->bytes - bytes;
  if (rest < FY_POOL_UNIT || rest < bytes / 16) return;
  fy_chunk *tail = chunk_new(pool, c->at + bytes, rest, c->region);
  if (!tail) return;
  tail->prev = c;
  tail->next = c->next;
  if (c->next) c->next->prev = tail;
  c->next = tail;
  c->bytes = bytes;
  bin_add(pool, tail);
}

fy_chunk *fy_pool_take(fy_mempool *pool, size_t bytes, fy_error *why) {
  pool->refused = false;
  fy_chunk *c = best_fit(pool, bytes);
  if (!c && fy_quick_flush(pool)) c = best_fit(pool, bytes);
  if (!c) c = grow(pool, bytes, why);
  if (!c && trim_would_help(pool, bytes)) {
    fy_pool_trim_regions(pool, 0);
    c = grow(pool, bytes, why);
  }
  if (!c) return NULL;
  if (!address_add(pool, c)) return NULL;  // stays free
  bin_remove(pool, c);
  split(pool, c, bytes);
  c->taken = bytes;
  atomic_store_explicit(&c->state, FY_CHUNK_USED, memory_order_relaxed);
  return c;
}

// |gone| is free, not in a bin, and next to |c|, which takes its bytes.
static void absorb_next(fy_mempool *pool, fy_chunk *c) {
  fy_chunk *gone = c->next;
  c->bytes += gone->bytes;
  c->next = gone->next;
  if (c->next) c->next->prev = c;
  chunk_drop(pool, gone);
}

void fy_pool_give(fy_mempool *pool, fy_chunk *c) {
  address_remove(pool, c);
  atomic_store_explicit(&c->state, FY_CHUNK_FREE, memory_order_relaxed);
  if (c->next && is_free(c->next)) {
    bin_remove(pool, c->next);
    absorb_next(pool, c);
  }
  if (c->prev && is_free(c->prev)) {
    c = c->prev;
    bin_remove(pool, c);
    absorb_next(pool, c);
  }
  bin_add(pool, c);
}

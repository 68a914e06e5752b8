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

// --- chunks in use, by address ---

static size_t slot_of(const fy_mempool *pool, const void *p) {
  uint64_t h = (uint64_t)(uintptr_t)p / FY_POOL_UNIT * 0x9E3779B97F4A7C15ull;
  return (size_t)(h >> 32) & (pool->num_slots - 1);
}

static bool address_add(fy_mempool *pool, fy_chunk *c) {
  if (pool->num_in_use == pool->num_slots) {
    size_t slots = pool->num_slots ? 2 * pool->num_slots : 64;
    fy_chunk **to = fy_calloc(slots, sizeof *to), **from = pool->by_address;
    if (!to) return false;
    size_t old = pool->num_slots;
    pool->num_slots = slots;
    pool->by_address = to;
    for (size_t i = 0; i < old; i++) {
      for (fy_chunk *x = from[i], *next; x; x = next) {
        next = x->same_slot;
        size_t slot = slot_of(pool, x->at);
        x->same_slot = to[slot];
        to[slot] = x;
      }
    }
    fy_free(from);
  }
  size_t slot = slot_of(pool, c->at);
  c->same_slot = pool->by_address[slot];
  pool->by_address[slot] = c;
  pool->num_in_use++;
  return true;
}

static void address_remove(fy_mempool *pool, fy_chunk *c) {
  fy_chunk **at = &pool->by_address[slot_of(pool, c->at)];
  while (*at != c) at = &(*at)->same_slot;
  *at = c->same_slot;
  pool->num_in_use--;
}

fy_chunk *fy_pool_find(fy_mempool *pool, void *p) {
  fy_chunk *c = pool->num_slots ? pool->by_address[slot_of(pool, p)] : NULL;
  while (c && c->at != (char *)p) c = c->same_slot;
  return c;
}

// --- regions ---

static bool region_is_free(const fy_region *r) {
  return !r->first->in_use && !r->first->next;
}

static void region_drop(fy_mempool *pool, fy_region **at) {
  fy_region *r = *at;
  *at = r->next;
  for (fy_chunk *c = r->first, *next; c; c = next) {
    next = c->next;
    if (!c->in_use) bin_remove(pool, c);
    fy_free(c);
  }
  pool->device->ops->free(pool->device, r->base, r->bytes);
  fy_account_give(pool->account, r->bytes);
  pool->stats.reserved_bytes -= r->bytes;
  fy_free(r);
}

void fy_pool_trim_regions(fy_mempool *pool, uint64_t keep_bytes) {
  for (fy_region **at = &pool->regions; *at && pool->stats.reserved_bytes > keep_bytes;) {
    if (region_is_free(*at))
      region_drop(pool, at);
    else
      at = &(*at)->next;
  }
  if (!pool->regions) pool->next_region_bytes = FIRST_REGION_BYTES;
}

void fy_pool_free_regions(fy_mempool *pool) {
  while (pool->regions) region_drop(pool, &pool->regions);
  fy_free(pool->by_address);
  pool->by_address = NULL;
  pool->num_slots = 0;
}

// Takes a region of |bytes| from the device; it becomes one free chunk.
static fy_chunk *region_take(fy_mempool *pool, size_t bytes, fy_error *why) {
  fy_region *r = fy_calloc(1, sizeof *r);
  fy_chunk *c = fy_calloc(1, sizeof *c);
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
    fy_free(c);
    return NULL;
  }
  *r = (fy_region){.base = base, .bytes = bytes, .first = c, .next = pool->regions};
  *c = (fy_chunk){.at = base, .bytes = bytes, .region = r};
  pool->regions = r;
  pool->stats.reserved_bytes += bytes;
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
  // request that does not fit what a generous region would leave over.
  size_t half = (size_t)(left / 2 / FY_POOL_UNIT * FY_POOL_UNIT);
  size_t want = step < half ? step : half;
  if (left <= SMALL_REST_BYTES || (pool->whole && !pool->regions && limit < INT64_MAX / 2))
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
  fy_chunk *tail = fy_calloc(1, sizeof *tail);
  if (!tail) return;
  *tail = (fy_chunk){
      .at = c->at + bytes, .bytes = rest, .region = c->region, .prev = c, .next = c->next};
  if (c->next) c->next->prev = tail;
  c->next = tail;
  c->bytes = bytes;
  bin_add(pool, tail);
}

fy_chunk *fy_pool_take(fy_mempool *pool, size_t bytes, fy_error *why) {
  pool->refused = false;
  // The limit may have been lowered below what is reserved: then it bounds what is in use.
  if (pool->stats.bytes_in_use + bytes > pool->stats.limit_bytes) return NULL;
  fy_chunk *c = best_fit(pool, bytes);
  if (!c) c = grow(pool, bytes, why);
  if (!c && trim_would_help(pool, bytes)) {
    fy_pool_trim_regions(pool, 0);
    c = grow(pool, bytes, why);
  }
  if (!c) return NULL;
  if (!address_add(pool, c)) return NULL;  // stays free
  bin_remove(pool, c);
  split(pool, c, bytes);
  c->in_use = true;
  return c;
}

// |gone| is free, not in a bin, and next to |c|, which takes its bytes.
static void absorb_next(fy_chunk *c) {
  fy_chunk *gone = c->next;
  c->bytes += gone->bytes;
  c->next = gone->next;
  if (c->next) c->next->prev = c;
  fy_free(gone);
}

void fy_pool_give(fy_mempool *pool, fy_chunk *c) {
  address_remove(pool, c);
  c->in_use = false;
  c->holder = NULL;
  if (c->next && !c->next->in_use) {
    bin_remove(pool, c->next);
    absorb_next(c);
  }
  if (c->prev && !c->prev->in_use) {
    c = c->prev;
    bin_remove(pool, c);
    absorb_next(c);
  }
  bin_add(pool, c);
}

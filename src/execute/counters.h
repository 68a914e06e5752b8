// SPDX-License-Identifier: Apache-2.0
// counters.h: what a session has moved and compiled so far. Always on: a copy costs two relaxed
// additions, everything else nothing.

#ifndef FY_EXECUTE_COUNTERS_H
#define FY_EXECUTE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#define FY_COPY_KINDS 3  // fy_copy_kind

#define FY_COUNTED_SPACES 32

typedef struct fy_counters {
  atomic_int_least64_t transfers[FY_COPY_KINDS], bytes[FY_COPY_KINDS];
  atomic_int_least64_t constants, constant_bytes;  // copied to a device once, to stay
  atomic_int_least64_t programs;                   // compiled for runs
  // Memory that the session's programs hold, by space: planned memory of runs, constants on devices.
  atomic_int_least64_t held[FY_COUNTED_SPACES], most_held[FY_COUNTED_SPACES];
} fy_counters;

typedef struct fy_counts {  // a snapshot
  int64_t runs, programs, constants, constant_bytes;
  int64_t transfers[FY_COPY_KINDS], bytes[FY_COPY_KINDS];
} fy_counts;

static inline void fy_count(atomic_int_least64_t *counter, int64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static inline void fy_count_held(fy_counters *c, int space, int64_t by) {
  if (!c || space < 0 || space >= FY_COUNTED_SPACES) return;
  int64_t now = atomic_fetch_add_explicit(&c->held[space], by, memory_order_relaxed) + by;
  int_least64_t most = atomic_load_explicit(&c->most_held[space], memory_order_relaxed);
  while (now > most &&
         !atomic_compare_exchange_weak_explicit(&c->most_held[space], &most, now,
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}

#endif

// SPDX-License-Identifier: Apache-2.0
// counters.h: what a session has moved and compiled so far. Always on: a copy costs two relaxed
// additions, everything else nothing.

#ifndef FY_EXECUTE_COUNTERS_H
#define FY_EXECUTE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#define FY_COPY_KINDS 3  // fy_copy_kind

typedef struct fy_counters {
  atomic_int_least64_t transfers[FY_COPY_KINDS], bytes[FY_COPY_KINDS];
  atomic_int_least64_t constants, constant_bytes;  // copied to a device once, to stay
  atomic_int_least64_t programs;                   // compiled for runs
} fy_counters;

typedef struct fy_counts {  // a snapshot
  int64_t runs, programs, constants, constant_bytes;
  int64_t transfers[FY_COPY_KINDS], bytes[FY_COPY_KINDS];
} fy_counts;

static inline void fy_count(atomic_int_least64_t *counter, int64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

#endif

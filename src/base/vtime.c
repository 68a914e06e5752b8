// SPDX-License-Identifier: Apache-2.0
#include "base/vtime.h"

#include <stdatomic.h>

static _Thread_local fy_vtime mine;

fy_vtime fy_vtime_get(void) {
  return mine;
}

void fy_vtime_set(fy_vtime t) {
  mine = t;
}

uint64_t fy_vtime_new_clock(void) {
  static atomic_uint_least64_t last;
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void fy_vtime_wait(uint64_t clock, int64_t ns) {
  mine = fy_vtime_later(mine, (fy_vtime){clock, ns});
}

fy_vtime fy_vtime_later(fy_vtime a, fy_vtime b) {
  if (!b.clock) return a;
  return a.clock == b.clock && a.ns > b.ns ? a : b;
}

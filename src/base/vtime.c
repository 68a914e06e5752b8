// SPDX-License-Identifier: Apache-2.0
#include "base/vtime.h"

#include <stddef.h>

static _Thread_local fy_vtime mine;

fy_vtime fy_vtime_get(void) {
  return mine;
}

void fy_vtime_set(fy_vtime t) {
  mine = t;
}

void fy_vtime_wait(const void *clock, int64_t ns) {
  mine = fy_vtime_later(mine, (fy_vtime){clock, ns});
}

fy_vtime fy_vtime_later(fy_vtime a, fy_vtime b) {
  if (!b.clock) return a;
  return a.clock == b.clock && a.ns > b.ns ? a : b;
}

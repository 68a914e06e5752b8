// SPDX-License-Identifier: Apache-2.0
// ahead.h: the runs of a session that were started and not waited for yet. Each holds memory of devices.
// When there is no room for one more, the oldest are brought to their end: their results wait on the
// host until somebody asks, so starting runs ahead needs no more memory than one run does.
// Threads: any.

#ifndef FY_EXECUTE_AHEAD_H
#define FY_EXECUTE_AHEAD_H

#include "base/thread.h"
#include "execute/program.h"

typedef struct fy_ahead {
  fy_mutex lock;
  fy_started *oldest, *newest;
} fy_ahead;

void fy_ahead_init(fy_ahead *a);
void fy_ahead_deinit(fy_ahead *a);
void fy_ahead_add(fy_ahead *a, fy_started *st);
void fy_ahead_remove(fy_ahead *a, fy_started *st);  // if it is still there
bool fy_ahead_settle(fy_ahead *a);                  // the oldest; false: there is none

#endif

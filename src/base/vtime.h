// SPDX-License-Identifier: Apache-2.0
// vtime.h: what a simulated clock shows to the thread that asks: no earlier than what it waited for.
// Simulated devices compute at once and only say when they would have been done (devices/sim). Whoever
// waits for that has to be later than it: work that a thread hands out starts after what it waited for.

#ifndef FY_BASE_VTIME_H
#define FY_BASE_VTIME_H

#include <stdint.h>

typedef struct fy_vtime {
  uint64_t clock;  // its number; 0: nothing was waited for
  int64_t ns;
} fy_vtime;

fy_vtime fy_vtime_get(void);    // of this thread
void fy_vtime_set(fy_vtime t);  // when a thread takes over another's work
// This thread waited until |ns| of |clock|.
void fy_vtime_wait(uint64_t clock, int64_t ns);
uint64_t fy_vtime_new_clock(void);  // a number that no other clock of this process ever had
// The later of two; of two clocks, the second's.
fy_vtime fy_vtime_later(fy_vtime a, fy_vtime b);

#endif

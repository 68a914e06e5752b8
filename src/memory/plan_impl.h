// SPDX-License-Identifier: Apache-2.0
// plan_impl.h: what the planner's attempts share. plan.c chooses among them and says what each is.

#ifndef FY_MEMORY_PLAN_IMPL_H
#define FY_MEMORY_PLAN_IMPL_H

#include "memory/plan.h"

#define NONE         UINT32_MAX
#define FY_PLAN_BINS 256

typedef struct item {
  size_t bytes, offset;
  uint32_t first, last;  // compressed steps
  uint32_t life;         // position in the caller's array
  uint32_t next;         // by time: in the list of its end step
  uint32_t piece;        // by time: its memory
} item;

// By time: memory is a list of pieces in address order, each one item or free; free ones are in a
// bin by their size too. Two free pieces never touch. Piece 0 and 1 are the walls.
typedef struct piece {
  size_t begin, bytes;
  uint32_t below, above;
  uint32_t free_before, free_after;
  uint32_t until;  // step after which it is free; NONE for walls
  bool is_free;
} piece;

typedef struct skyline skyline;

typedef struct planner {
  item *items;
  uint32_t n, steps, peak;  // peak: the step with the most live bytes
  uint32_t *order;          // [n] by time: sequence of placing, one of:
  uint32_t *orders[2];      // by start; by end, backwards
  bool sorted[2];
  uint32_t *heads;                 // [n] by time: items that end at a step
  uint32_t *peak_order, num_peak;  // [n] the lives at the peak, lowest address first
  piece *pieces;                   // [2n + 3]
  uint32_t num_pieces, spare;      // spare: pieces to reuse, linked by free_after
  uint32_t bins[FY_PLAN_BINS];     // free pieces by size, four bins per power of two
  uint64_t used_bins[FY_PLAN_BINS / 64];
  double *keys;  // [n] skyline: which of the lives that fit goes first
  skyline *sky;
  size_t *best;  // [n] offsets of the best plan so far
  size_t bound, best_bytes;
  uint64_t work;  // pieces and nodes looked at
  bool starved;   // there was no memory
  bool alike;     // by time: gaps are chosen by when their neighbours end, not by size alone
} planner;

// plan_time.c. |order| holds the items by start (larger first within a step); backwards, by end.
// Each returns the bytes needed and sets the items' offsets.
size_t fy_plan_by_time(planner *p, bool backwards);
// Stacks the lives at the peak as |peak_order| says, without a hole, then replays one side of it.
size_t fy_plan_beside_peak(planner *p, bool backwards);

// Replays below |ceiling|, going back where it does not work. SIZE_MAX: not with that much work.
size_t fy_plan_retry(planner *p, size_t ceiling, uint64_t budget);

// plan_skyline.c. SIZE_MAX: no better than |best_bytes|; then it ended before all were placed.
bool fy_plan_skyline_init(planner *p);  // for these items; false: no memory
size_t fy_plan_skyline(planner *p);     // after init, as |keys| says
void fy_plan_skyline_free(planner *p);

#endif

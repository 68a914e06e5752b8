// SPDX-License-Identifier: Apache-2.0
// plan_impl.h: what the planner's attempts share. plan.c chooses among them and says what each is.

#ifndef FY_MEMORY_PLAN_IMPL_H
#define FY_MEMORY_PLAN_IMPL_H

#include "memory/plan.h"

#define NONE UINT32_MAX

typedef struct item {
  size_t bytes, offset;
  uint32_t first, last;  // compressed steps
  uint32_t life;         // position in the caller's array
  uint32_t next;         // by time: in the list of its end step
  uint32_t piece;        // by time: its memory
} item;

typedef struct placed {
  size_t begin, end;
  uint32_t first, last;
} placed;

// By time: memory is a list of pieces in address order, each one item or free; free ones are in a
// list of their own too. Two free pieces never touch. Piece 0 and 1 are the walls.
typedef struct piece {
  size_t begin, bytes;
  uint32_t below, above;
  uint32_t free_before, free_after;
  uint32_t until;  // step after which it is free; NONE for walls
  bool is_free;
} piece;

typedef struct planner {
  item *items;
  uint32_t n, steps, peak;            // peak: the step with the most live bytes
  uint32_t *order;                    // [n] sequence of placing
  uint32_t *heads;                    // [n] by time: items that end at a step
  uint32_t *peak_order, num_peak;     // [n] the lives at the peak, lowest address first
  placed *filed;                      // by order: the lives of each slot of time
  placed *found;                      // [n]
  uint32_t *slot_begin, *slot_count;  // [num_slots + 1]; num_slots <= n
  uint32_t slot_steps, num_slots;
  uint64_t work;                           // entries of lists looked at
  piece *pieces;                           // [2n + 3]
  uint32_t num_pieces, spare, first_free;  // spare: pieces to reuse, linked by free_after
  size_t *best;                            // [n] offsets of the best plan so far
  uint32_t *best_order;
  size_t bound, best_bytes;
} planner;

// plan_time.c. |order| holds the items by start (larger first within a step); backwards, by end.
// Each returns the bytes needed and sets the items' offsets.
size_t fy_plan_by_time(planner *p, bool backwards);
// Stacks the lives at the peak as |peak_order| says, without a hole, then replays one side of it.
size_t fy_plan_beside_peak(planner *p, bool backwards);

// plan_order.c. Places one item after the other, as |order| says, after fy_plan_slots.
bool fy_plan_slots(planner *p);  // false: no memory
size_t fy_plan_by_order(planner *p);

#endif

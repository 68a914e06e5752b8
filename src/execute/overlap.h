// SPDX-License-Identifier: Apache-2.0
// overlap.h: with several tasks two instructions may overlap although one stands before the other: how far
// the life of a value reaches then.

#ifndef FY_EXECUTE_OVERLAP_H
#define FY_EXECUTE_OVERLAP_H

#include "execute/program.h"

// Of each task: the first of all that need not end before it starts, and the last of all that need not wait
// for its end.
typedef struct fy_overlap {
  uint32_t *first, *last;  // [num_tasks]
} fy_overlap;

bool fy_overlap_find(const fy_program *p, fy_overlap *o);  // false: no memory
void fy_overlap_drop(fy_overlap *o);
// A life from instruction |*first| to |*last| lasts while anything runs that is not ordered with it.
void fy_overlap_widen(const fy_program *p, const fy_overlap *o, uint32_t *first, uint32_t *last);

#endif

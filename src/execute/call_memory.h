// SPDX-License-Identifier: Apache-2.0
// call_memory.h: what the functions that a program calls take of each memory, told without running
// anything: their programs are made for the shapes they will be called with, and their instructions gone
// through with tensors that have a size and no data.

#ifndef FY_EXECUTE_CALL_MEMORY_H
#define FY_EXECUTE_CALL_MEMORY_H

#include "execute/program.h"
#include "place/groups.h"

#define FY_CALL_SPACES (FY_PLACE_MAX_DEVICES + 1)

typedef struct fy_call_memory {
  uint64_t kept
      [FY_CALL_SPACES];  // by space: planned memory, constants and packed weights of what is called
  uint64_t peak[FY_CALL_SPACES];  // what is made at run time and the results, at their fullest
  bool exact;                     // no size and no way depends on data
} fy_call_memory;

bool fy_program_has_calls(const fy_program *p);
// False: no memory to find out.
bool fy_program_call_memory(const fy_program *p, fy_call_memory *out);

#endif

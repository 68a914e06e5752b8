// SPDX-License-Identifier: Apache-2.0
// spill.h: when a plan does not fit a device but fits the host: which tensors wait in host memory, and
// when they come back. The schedule is known, so this is decided once, when the program is made.

#ifndef FY_EXECUTE_SPILL_H
#define FY_EXECUTE_SPILL_H

#include "execute/program.h"

// Rewrites the instructions so that what lives in |space| at any time is at most |budget| bytes:
// constants that do not fit all the time are brought by copies before they are needed, tensors whose
// next use is farthest away go to the host and come back. OUT_OF_RANGE, with nothing changed,
// if one instruction alone needs more. Before tasks and layout.
FY_MUST_CHECK fy_code fy_program_spill(fy_program *p, int space, uint64_t budget, fy_error *err);

#endif

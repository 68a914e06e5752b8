// SPDX-License-Identifier: Apache-2.0
// spill_variables.h: variables on a device that is too small for them: which ones stay, which are read
// from the host, and when the others come and go. Decided when the program is made, as in spill.h.

#ifndef FY_EXECUTE_SPILL_VARIABLES_H
#define FY_EXECUTE_SPILL_VARIABLES_H

#include "execute/program.h"

typedef struct fy_variable_needs {
  uint64_t bytes;  // of all variables that kernels of the memory use
  uint64_t taken;  // the same as the device's allocator counts it
  uint64_t least;  // the most that one instruction needs at once, as taken
  bool exact;      // the graph says how large each is
} fy_variable_needs;

// What kernels in |space| use of variables, as the instructions are now.
FY_MUST_CHECK fy_code fy_program_variables(const fy_program *p, int space, fy_variable_needs *out,
                                           fy_error *err);
// Adds to |live| (by instruction) what lives twice in |space|: a variable is changed while what was read
// of it before is still to be used.
FY_MUST_CHECK fy_code fy_program_variable_copies(const fy_program *p, int space, uint64_t *live,
                                                 fy_error *err);
// What was read is not passed on under other names (Identity). |each|: every reader of a variable that
// the program changes reads it itself, where that makes no difference, so that it need not stay from
// the first to the last.
FY_MUST_CHECK fy_code fy_program_read_again(fy_program *p, int space, bool each, fy_error *err);
// Variables that the program only reads are read from the host and brought to |space| by copies, which
// fy_program_spill (to be called next) then places, or takes back where there is room for good.
FY_MUST_CHECK fy_code fy_program_stream_reads(fy_program *p, int space, fy_error *err);
// The others: never more than |room| bytes of them in |space| at once. Those that cannot stay come
// before they are used and go back to the host, which is where they are between two runs.
// OUT_OF_RANGE, with nothing changed, if one instruction alone needs more.
FY_MUST_CHECK fy_code fy_program_move_variables(fy_program *p, int space, uint64_t room,
                                                fy_error *err);

#endif

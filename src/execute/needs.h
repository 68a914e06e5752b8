// SPDX-License-Identifier: Apache-2.0
// needs.h: memory that kernels take besides their outputs: what they declare from shapes
// (fy_needs_fn), else what they were seen to ask for, by any program of this process, when they ran
// with these shapes before.

#ifndef FY_EXECUTE_NEEDS_H
#define FY_EXECUTE_NEEDS_H

#include "execute/program.h"

// Fills scratch_bytes and kept_bytes of every instruction. What is not known stays 0.
FY_MUST_CHECK fy_code fy_program_find_needs(fy_program *p, fy_error *err);
// Whether what |ins| will ask for is known: declared, or seen before.
bool fy_needs_told(const fy_program *p, const fy_instr *ins);
// |asked| bytes of scratch were more than the plan had for |ins|.
void fy_needs_learn(const fy_program *p, const fy_instr *ins, size_t asked);

#endif

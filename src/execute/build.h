// SPDX-License-Identifier: Apache-2.0
// build.h: the last step of compiling: from a placed and partitioned graph to instructions.

#ifndef FY_EXECUTE_BUILD_H
#define FY_EXECUTE_BUILD_H

#include "execute/program.h"

#define FY_MAX_PASSES      32
#define FY_FOLD_MAX_INPUTS 64
#define FY_NO_VALUE        UINT32_MAX

fy_program *fy_program_new(const fy_compile_args *a);  // takes over a->graph when not NULL
FY_MUST_CHECK fy_code fy_program_build(fy_program *p, const fy_compile_args *a, fy_error *err);
// Reference edges become handles and readings; the first step (refs.c).
#define FY_REF_READ "_FerryRefRead"
FY_MUST_CHECK fy_code fy_refs_lower(fy_compile_args *a, fy_error *err);
// Whether fy_exec_check_refs must be asked before |node| runs.
bool fy_refs_checked(const fy_node *node);
FY_MUST_CHECK fy_code fy_exec_check_refs(const fy_node *node, fy_tensor *const *in, fy_error *err);
// Binds every kernel of the instructions, whose sites have stopped moving (bind.c).
FY_MUST_CHECK fy_code fy_program_bind(fy_program *p, fy_error *err);
// Splits the instructions into tasks where a hand-off pays (tasks.c). Fills tasks and instr.task.
FY_MUST_CHECK fy_code fy_program_make_tasks(fy_program *p, fy_error *err);
// Tasks and layout; where a device's memory is too small, with copies that make room (fit.c).
FY_MUST_CHECK fy_code fy_program_fit(fy_program *p, fy_error *err);
// Bytes this process may have of |d| now: the limit of its pool, or what other processes leave.
uint64_t fy_program_may_hold(const fy_device *d);
// By the plan, whatever else is there now.
bool fy_program_fits(const fy_program *p);
// Takes these arrays over in place of its own, which are freed unless they are the same.
void fy_program_replace(fy_program *p, fy_instr *instrs, uint32_t num_instrs, uint32_t *args,
                        uint32_t num_args, fy_value *values, uint32_t num_values);
// For qsort of uint64_t[2], size and number: the largest first, equal ones by number.
int fy_by_size(const void *a, const void *b);
int fy_by_rank(const void *a, const void *b);  // the least first
// Offsets for all PLANNED values (layout.c).
FY_MUST_CHECK fy_code fy_program_layout(fy_program *p, fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// spill_impl.h: what the ways of spilling share: where a program uses which variables.

#ifndef FY_EXECUTE_SPILL_IMPL_H
#define FY_EXECUTE_SPILL_IMPL_H

#include "execute/program.h"
#include "execute/spans.h"
#include "execute/spill_variables.h"

#define NONE UINT32_MAX

typedef struct fy_var_span {  // instructions
  uint32_t first, last;
} fy_var_span;

typedef struct fy_var_use {
  uint32_t value;  // its handle
  uint64_t bytes, taken;
  fy_var_span *uses;  // when it must be in the space, by |first|
  uint32_t num_uses, next;
  bool known;      // its size
  bool only_read;  // by ReadVariableOp, wherever
  bool stays, here, dirty;
} fy_var_use;

typedef struct fy_var_uses {
  const fy_program *p;
  int space;
  fy_var_use *at;
  uint32_t n;
  uint32_t *of;  // [num_values] the variable whose handle, or whose memory, a value is; or NONE
  fy_var_span *uses;  // storage
} fy_var_uses;

// Which variables there are.
FY_MUST_CHECK fy_code fy_var_handles(const fy_program *p, int space, fy_var_uses *s, fy_error *err);
// The same, and when each is needed: at the instructions of the space that have its handle, and as long
// as a value lives that is its memory.
FY_MUST_CHECK fy_code fy_var_uses_find(const fy_program *p, int space, fy_var_uses *s,
                                       fy_error *err);
void fy_var_uses_drop(fy_var_uses *s);  // also after a failure
bool fy_var_uses_there(const fy_var_uses *s, const fy_instr *ins);
bool fy_var_needed(const fy_var_use *v);
// What each instruction needs at once of all that are needed at all. False: memory is short.
bool fy_var_sums(const fy_var_uses *s, fy_spans *out);
// One of them needs |bytes| more, or less.
void fy_var_add_uses(const fy_var_use *v, fy_spans *sums, int64_t bytes);

bool fy_instr_is_variable(const fy_node *n);  // makes a handle
bool fy_instr_is_read(const fy_instr *ins);
bool fy_instr_only_looks(const fy_instr *ins);  // uses a variable without changing it
bool fy_instr_calls(const fy_instr *ins);       // functions, which may do anything to variables
uint32_t fy_instr_flags(const fy_instr *ins);
// Values know their instructions by number.
void fy_program_renumber(fy_program *p);

#endif

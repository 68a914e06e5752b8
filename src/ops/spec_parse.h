// SPDX-License-Identifier: Apache-2.0
// spec_parse.h: signatures from the text forms of TF_OpDefinitionBuilder (REGISTER_OP's):
//   attributes  "T: {float, int32} = DT_FLOAT", "N: int >= 1", "x: list(type) >= 2", "s: {'a','b'}"
//   arguments   "x: N * T", "y: Ref(T)", "z: list_attr"
// Not here: the embedded table's own, more compact grammar (spec_table.c).

#ifndef FY_OPS_SPEC_PARSE_H
#define FY_OPS_SPEC_PARSE_H

#include "ops/spec.h"

typedef struct fy_spec_text {
  const char *name;
  const char *const *attrs;
  const char *const *inputs;
  const char *const *outputs;
  size_t num_attrs, num_inputs, num_outputs;
  uint16_t flags;  // FY_SPEC_*
  int32_t deprecated_version;
  const char *deprecated_text;
} fy_spec_text;

// Parses into |arena|. INVALID_ARGUMENT with TensorFlow's texts, one line per text that is wrong.
// The result is valid (fy_spec_validate).
FY_MUST_CHECK fy_code fy_spec_parse(const fy_spec_text *text, fy_arena *arena, fy_op_spec **out,
                                    fy_error *err);

// Names in CamelCase and unique, attributes that arguments refer to present and of the right type,
// defaults acceptable (TensorFlow's ValidateOpDef). Functions' signatures may have any name.
FY_MUST_CHECK fy_code fy_spec_validate(const fy_op_spec *spec, bool any_name, fy_error *err);

#endif

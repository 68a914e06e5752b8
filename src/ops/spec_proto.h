// SPDX-License-Identifier: Apache-2.0
// spec_proto.h: signatures to and from OpDef: for op lists, functions used as ops, and messages.
// Not here: what a message does not hold of a spec, its kernels; and what a spec does not hold of a
// message: descriptions, control outputs.

#ifndef FY_OPS_SPEC_PROTO_H
#define FY_OPS_SPEC_PROTO_H

#include "op_def.pb-c.h"
#include "ops/spec.h"

// The message lives in |arena| and borrows |spec|'s strings and values.
FY_MUST_CHECK fy_code fy_spec_to_opdef(const fy_op_spec *spec, fy_arena *arena,
                                       Tensorflow__OpDef **out, fy_error *err);
// The full type of the first output, new in |arena|; NULL if the op's definition has none.
FY_MUST_CHECK fy_code fy_spec_full_type(const fy_op_spec *spec, fy_arena *arena,
                                        Tensorflow__FullTypeDef **out, fy_error *err);
// Copies everything into |arena|. INVALID_ARGUMENT if an attribute or argument is not sound.
FY_MUST_CHECK fy_code fy_spec_from_opdef(const Tensorflow__OpDef *def, fy_arena *arena,
                                         fy_op_spec **out, fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// opdef_proto.h: signatures to and from OpDef messages (op lists, functions' signatures).
// Not here: what a message does not hold of a spec, its kernels; and what a spec does not hold of a
// message: descriptions, full types, control outputs.

#ifndef FY_GRAPH_OPDEF_PROTO_H
#define FY_GRAPH_OPDEF_PROTO_H

#include "op_def.pb-c.h"
#include "ops/spec.h"

// The message lives in |arena| and borrows |spec|'s strings and values.
FY_MUST_CHECK fy_code fy_opdef_write(const fy_op_spec *spec, fy_arena *arena,
                                     Tensorflow__OpDef **out, fy_error *err);
// Everything is copied into |arena|: the message may go. INVALID_ARGUMENT: an attribute type, data
// type or value that is none. References between arguments and attributes are not checked here
// (fy_spec_validate).
FY_MUST_CHECK fy_code fy_opdef_read(const Tensorflow__OpDef *def, fy_arena *arena, fy_op_spec **out,
                                    fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// config.h: session options given as ConfigProto bytes or as text (decision 12).

#ifndef FY_WIRE_CONFIG_H
#define FY_WIRE_CONFIG_H

#include "base/arena.h"
#include "base/status.h"
#include "config.pb-c.h"

// Reads |n| bytes that are a serialized ConfigProto or its text form
// (`gpu_options { allow_growth: true } device_count { key: "CPU" value: 2 }`). No bytes = defaults.
// Which form it is, is found out: bytes that make a well-formed message of known fields are binary;
// else what reads like text is text; else binary, where unknown field numbers are ignored as
// TensorFlow does. INVALID_ARGUMENT speaks of the likelier form: line:column or byte offset, and
// the field. |*out| lives in |arena|.
FY_MUST_CHECK fy_code fy_wire_config_parse(const void *bytes, size_t n, fy_arena *arena,
                                           Tensorflow__ConfigProto **out, fy_error *err);

// The same choice for any message (a GraphDef in a .pb or .pbtxt file). |*out_text|, if not NULL,
// says which form it was. Long `bytes` fields may point into |bytes|, which must outlive the message.
FY_MUST_CHECK fy_code fy_wire_parse_either(const ProtobufCMessageDescriptor *desc,
                                           const void *bytes, size_t n, fy_arena *arena,
                                           ProtobufCMessage **out, bool *out_text, fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// text_format.h: protobuf's text format for any message, by reflection over protobuf-c descriptors.
// Reads what Google's printers write and prints what their parsers read.
// Not here: extensions and expanded Any (`[type.googleapis.com/…] {…}`); both are refused.

#ifndef FY_WIRE_TEXT_FORMAT_H
#define FY_WIRE_TEXT_FORMAT_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

// Parses |n| bytes of text into a new message in |arena|. INVALID_ARGUMENT starts with
// "line:column: " (from 1, columns in bytes), names the field, and suggests the nearest valid name.
// Duplicate map keys are kept in order; readers let the last win.
FY_MUST_CHECK fy_code fy_wire_text_parse(const ProtobufCMessageDescriptor *desc, const char *text,
                                         size_t n, fy_arena *arena, ProtobufCMessage **out,
                                         fy_error *err);

// Appends |msg| to |out|: fields by number, map entries by key, two spaces per level, one field per
// line. Unknown fields are left out. Short of memory: |out->failed|.
void fy_wire_text_print(fy_str *out, const ProtobufCMessage *msg);
// The same on one line: `node { name: "a" op: "Const" }`.
void fy_wire_text_print_line(fy_str *out, const ProtobufCMessage *msg);

#endif

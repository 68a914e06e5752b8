// SPDX-License-Identifier: Apache-2.0
// proto_util.h: protobuf messages from bytes that nobody vouches for, and back.
// The idea: fy_wire_check walks the bytes first, guided by the descriptor, so that protobuf-c only
// ever sees input whose lengths, depth and cost are sound. Memory is the caller's arena.
// Invariant: what a parse allocates is bounded by 64 MiB + 40 times the input.
// Not here: text (text_format.h), what the messages mean (tensor_proto.h, attr_proto.h, graph/).

#ifndef FY_WIRE_PROTO_UTIL_H
#define FY_WIRE_PROTO_UTIL_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/status.h"

#define FY_WIRE_MAX_DEPTH 100

typedef struct fy_wire_limits {
  size_t max_bytes;     // of the whole message; protobuf itself stops at 2 GiB - 1
  size_t max_fields;    // occurrences at all depths
  uint32_t max_depth;   // nested messages, at most FY_WIRE_MAX_DEPTH
  uint32_t max_merges;  // repeats of a message field that is not a list (each copies the former)
  bool known_only;      // a field number that the descriptor lacks is an error
} fy_wire_limits;

extern const fy_wire_limits fy_wire_limits_default;

// Checks the wire structure of |bytes| as a message of type |desc|. |limits| NULL = defaults.
// INVALID_ARGUMENT with the byte offset and the path of the field:
// `GraphDef.node[3].attr["value"].tensor: length 4096 at byte 120 runs past the end (512)`.
// A `string` field must be UTF-8 without NUL (protobuf-c could not hold the latter).
FY_MUST_CHECK fy_code fy_wire_check(const void *bytes, size_t n,
                                    const ProtobufCMessageDescriptor *desc,
                                    const fy_wire_limits *limits, fy_error *err);

// Checks, then parses into |arena|; the message lives as long as the arena, never freed alone.
// Unknown fields are kept and written again by fy_wire_pack. A map entry may lack its value:
// a message-valued `value` is then NULL. |*out| is NULL on failure.
FY_MUST_CHECK fy_code fy_wire_unpack(const ProtobufCMessageDescriptor *desc, const void *bytes,
                                     size_t n, const fy_wire_limits *limits, fy_arena *arena,
                                     ProtobufCMessage **out, fy_error *err);

// The same, but long `bytes` fields (the weights of a GraphDef) point into |bytes|, which must outlive
// the message.
FY_MUST_CHECK fy_code fy_wire_unpack_view(const ProtobufCMessageDescriptor *desc, const void *bytes,
                                          size_t n, const fy_wire_limits *limits, fy_arena *arena,
                                          ProtobufCMessage **out, fy_error *err);

// Serializes |msg|. On success the caller owns |*out| (fy_free), never NULL even if |*out_n| is 0.
// INVALID_ARGUMENT above 2 GiB - 1, which no protobuf reader accepts.
FY_MUST_CHECK fy_code fy_wire_pack(const ProtobufCMessage *msg, uint8_t **out, size_t *out_n,
                                   fy_error *err);

// A message of type |desc| in |arena|, all fields at their defaults. NULL when memory is short.
void *fy_wire_new(const ProtobufCMessageDescriptor *desc, fy_arena *arena);

// Whether |n| bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool fy_wire_is_utf8(const void *bytes, size_t n);
// Encodes a code point into at most four bytes; 0 if it is a surrogate or beyond Unicode.
size_t fy_wire_put_utf8(uint32_t code, char *out);
// Bytes that one value of |type| takes in a message or list of protobuf-c.
size_t fy_wire_element_size(ProtobufCType type);
// Whether |field| is a map: its entries are messages of key = 1, value = 2.
bool fy_wire_is_map(const ProtobufCFieldDescriptor *field);
// Reads a varint at |*at| (moved past it). False if it runs past |end| or exceeds ten bytes.
bool fy_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out);

#endif

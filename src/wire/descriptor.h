// SPDX-License-Identifier: Apache-2.0
// descriptor.h: message types that are only known at run time: a serialized FileDescriptorSet becomes
// descriptors of protobuf-c, with which messages can be walked, unpacked, packed and read as text.
// What protobuf-c has no word for is in two fields that it keeps free: see fy_proto_kind and the flags.
// Not here: services, and options other than those that change the bytes of a message.

#ifndef FY_WIRE_DESCRIPTOR_H
#define FY_WIRE_DESCRIPTOR_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

// FieldDescriptorProto.Type
typedef enum fy_proto_type {
  FY_PROTO_DOUBLE = 1,
  FY_PROTO_FLOAT,
  FY_PROTO_INT64,
  FY_PROTO_UINT64,
  FY_PROTO_INT32,
  FY_PROTO_FIXED64,
  FY_PROTO_FIXED32,
  FY_PROTO_BOOL,
  FY_PROTO_STRING,
  FY_PROTO_GROUP,
  FY_PROTO_MESSAGE,
  FY_PROTO_BYTES,
  FY_PROTO_UINT32,
  FY_PROTO_ENUM,
  FY_PROTO_SFIXED32,
  FY_PROTO_SFIXED64,
  FY_PROTO_SINT32,
  FY_PROTO_SINT64,
  FY_PROTO_TYPES
} fy_proto_type;

// Besides ProtobufCFieldFlag. Strings are PROTOBUF_C_TYPE_BYTES, since they may hold a NUL.
#define FY_PROTO_IS_EXTENSION (1u << 16)  // its name is a full one
#define FY_PROTO_IS_UTF8      (1u << 17)
#define FY_PROTO_IS_REQUIRED  (1u << 18)  // then its label is that of an optional one

fy_proto_type fy_proto_type_of(const ProtobufCFieldDescriptor *field);
const char *fy_proto_type_name(fy_proto_type type);  // "sfixed32"
unsigned fy_proto_wire_type(fy_proto_type type);     // of one value (walk.h)

// Finds message type |name| in the FileDescriptorSet |set|. What |*out| points to is in |arena|, and may
// point into |set|. DATA_LOSS: the bytes are no such set. INVALID_ARGUMENT: a file in it is wrong. If there is
// no such type, |*out| is NULL.
FY_MUST_CHECK fy_code fy_proto_find(fy_view set, fy_view name, fy_arena *arena,
                                    const ProtobufCMessageDescriptor **out, fy_error *err);
// The same among the messages that are compiled in. NULL: none.
const ProtobufCMessageDescriptor *fy_proto_find_local(fy_view name);

#endif

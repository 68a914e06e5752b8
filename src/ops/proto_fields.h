// SPDX-License-Identifier: Apache-2.0
// proto_fields.h: which fields of which message DecodeProtoV2 and EncodeProto are about.
// A scalar on its way between a message and a tensor is 64 bits: a number widened as its type says, or
// the bits of a float or double.

#ifndef FY_OPS_PROTO_FIELDS_H
#define FY_OPS_PROTO_FIELDS_H

#include "ops/op.h"
#include "wire/descriptor.h"
#include "wire/walk.h"

typedef struct fy_proto_slot {  // a field that was asked for
  const ProtobufCFieldDescriptor *field;
  fy_proto_type type;
  unsigned wire_type;  // of one value
  int index;           // among the names
} fy_proto_slot;

typedef struct fy_proto_plan {
  fy_arena arena;
  const ProtobufCMessageDescriptor *message;
  fy_proto_slot *slots;  // by field number
  int n;
  bool text, sanitize;
} fy_proto_plan;

// Reads the attributes message_type, descriptor_source and field_names. The caller frees |*out| with
// fy_proto_plan_free, which prepare() may leave to release().
FY_MUST_CHECK fy_code fy_proto_plan_make(const fy_site *site, fy_proto_plan **out, fy_error *err);
void fy_proto_plan_free(void *plan);

bool fy_proto_fits(fy_proto_type type, fy_dtype dtype);
// A value of the wire as 64 bits, and back (a varint's value, or the bits of what is fixed).
uint64_t fy_proto_widen(fy_proto_type type, uint64_t wire);
uint64_t fy_proto_to_wire(fy_proto_type type, uint64_t bits);
// Between those 64 bits and element |i| of a tensor, which is no string.
void fy_proto_store(fy_proto_type type, uint64_t bits, fy_tensor *t, int64_t i);
uint64_t fy_proto_load(fy_proto_type type, const fy_tensor *t, int64_t i);

#endif

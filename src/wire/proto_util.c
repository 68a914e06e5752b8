// SPDX-License-Identifier: Apache-2.0
// proto_util.c: unpack and pack over protobuf-c with arena memory. The walk is in proto_check.c.

#include "wire/proto_util.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"

typedef struct arena_source {
  fy_arena *arena;
  size_t refused_bytes;  // the allocation that failed, 0 = none
} arena_source;

static void *arena_take(void *data, size_t bytes) {
  arena_source *source = data;
  void *p = fy_arena_alloc(source->arena, bytes);
  if (!p) source->refused_bytes = bytes ? bytes : 1;
  return p;
}

static void arena_keep(void *data, void *p) {
  (void)data;
  (void)p;
}

fy_code fy_wire_unpack(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t n,
                       const fy_wire_limits *limits, fy_arena *arena, ProtobufCMessage **out,
                       fy_error *err) {
  *out = NULL;
  FY_TRY(fy_wire_check(bytes, n, desc, limits, err));
  arena_source source = {.arena = arena};
  ProtobufCAllocator allocator = {arena_take, arena_keep, &source};
  static const uint8_t nothing[1];
  *out = protobuf_c_message_unpack(desc, &allocator, n, n ? bytes : nothing);
  if (*out) return FY_OK;
  if (source.refused_bytes) return fy_fail_oom(err, source.refused_bytes);
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s: malformed message", desc->short_name);
}

fy_code fy_wire_pack(const ProtobufCMessage *msg, uint8_t **out, size_t *out_n, fy_error *err) {
  *out = NULL;
  *out_n = 0;
  size_t n = protobuf_c_message_get_packed_size(msg);
  if (n > INT_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s: %zu bytes exceed the 2 GiB that a protobuf message may have",
                   msg->descriptor->short_name, n);
  }
  uint8_t *bytes = fy_malloc(n ? n : 1);
  if (!bytes) return fy_fail_oom(err, n);
  *out_n = protobuf_c_message_pack(msg, bytes);
  *out = bytes;
  return FY_OK;
}

void *fy_wire_new(const ProtobufCMessageDescriptor *desc, fy_arena *arena) {
  ProtobufCMessage *msg = fy_arena_alloc(arena, desc->sizeof_message);
  if (msg && desc->message_init) desc->message_init(msg);
  if (msg && !desc->message_init) {  // made at run time (descriptor.h)
    memset(msg, 0, desc->sizeof_message);
    msg->descriptor = desc;
  }
  return msg;
}

bool fy_wire_is_map(const ProtobufCFieldDescriptor *field) {
  if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label != PROTOBUF_C_LABEL_REPEATED) {
    return false;
  }
  const ProtobufCMessageDescriptor *entry = field->descriptor;
  size_t len = strlen(entry->short_name);
  return entry->n_fields == 2 && len > 5 && strcmp(entry->short_name + len - 5, "Entry") == 0 &&
         entry->fields[0].id == 1 && strcmp(entry->fields[0].name, "key") == 0 &&
         entry->fields[1].id == 2 && strcmp(entry->fields[1].name, "value") == 0;
}

bool fy_wire_is_utf8(const void *bytes, size_t n) {
  const uint8_t *p = bytes, *end = p + n;
  while (p < end) {
    if (*p < 0x80) {
      p++;
      continue;
    }
    int more = *p >= 0xF0 ? 3 : *p >= 0xE0 ? 2 : 1;
    if (*p < 0xC2 || *p > 0xF4 || end - p <= more) return false;
    uint8_t lead = *p, second = p[1];
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return false;
    }
    for (int i = 1; i <= more; i++) {
      if ((p[i] & 0xC0) != 0x80) return false;
    }
    p += more + 1;
  }
  return true;
}

size_t fy_wire_put_utf8(uint32_t code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
  }
  if (code >= 0xD800 && code < 0xE000) return 0;
  if (code < 0x10000) {
    out[0] = (char)(0xE0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3F));
    out[2] = (char)(0x80 | (code & 0x3F));
    return 3;
  }
  if (code > 0x10FFFF) return 0;
  out[0] = (char)(0xF0 | code >> 18);
  out[1] = (char)(0x80 | (code >> 12 & 0x3F));
  out[2] = (char)(0x80 | (code >> 6 & 0x3F));
  out[3] = (char)(0x80 | (code & 0x3F));
  return 4;
}

size_t fy_wire_element_size(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    default: return 4;
  }
}

bool fy_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  const uint8_t *p = *at;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (p == end) return false;
    uint8_t byte = *p++;
    value |= (uint64_t)(byte & 0x7F) << shift;
    if (!(byte & 0x80)) {
      *at = p;
      *out = value;
      return true;
    }
  }
  return false;
}

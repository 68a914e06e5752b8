// SPDX-License-Identifier: Apache-2.0
// proto_view.c: parse into protobuf-c's structures without copying long `bytes` fields, which in a
// GraphDef are the weights: they point into the input.
//
// Two passes per message: the first counts what lists will hold, the second fills them. The bytes were
// checked before (proto_check.c), so lengths and wire types can be trusted. What is rare and has
// subtle rules (a single message field given twice is merged, so is a oneof) is left to protobuf-c.

#include <string.h>

#include "wire/proto_util.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };
enum { SHORT = 256 };  // bytes: up to here a copy is not worth a thought
enum { MAX_FIELDS = 64 };

typedef struct reader {
  fy_arena *arena;
  size_t refused_bytes;  // the allocation that failed
} reader;

// One field as it lies in the bytes.
typedef struct item {
  const ProtobufCFieldDescriptor *field;  // NULL: unknown
  uint32_t number;
  unsigned wire_type;
  const uint8_t *raw;      // behind the tag
  const uint8_t *payload;  // behind the length too
  size_t n;                // bytes of the payload
  uint64_t value;          // of a varint
} item;

typedef enum outcome { DONE, ODD, NO_MEMORY } outcome;

static void *take(reader *r, size_t bytes) {
  void *p = fy_arena_alloc(r->arena, bytes ? bytes : 1);
  if (!p) r->refused_bytes = bytes ? bytes : 1;
  return p;
}

static bool next_item(const ProtobufCMessageDescriptor *desc, const uint8_t **p, const uint8_t *end,
                      item *out) {
  uint64_t tag, n;
  if (!fy_wire_varint(p, end, &tag)) return false;
  out->number = (uint32_t)(tag >> 3);
  out->wire_type = (unsigned)(tag & 7);
  out->raw = out->payload = *p;
  out->field = protobuf_c_message_descriptor_get_field(desc, out->number);
  switch (out->wire_type) {
    case VARINT:
      if (!fy_wire_varint(p, end, &out->value)) return false;
      out->n = (size_t)(*p - out->raw);
      return true;
    case FIXED64: out->n = 8; break;
    case FIXED32: out->n = 4; break;
    case LENGTH:
      if (!fy_wire_varint(p, end, &n)) return false;
      out->payload = *p;
      out->n = (size_t)n;
      break;
    default: return false;
  }
  if (out->n > (size_t)(end - *p)) return false;
  *p += out->n;
  return true;
}

static unsigned wire_type_of(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return FIXED32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return LENGTH;
    default: return VARINT;
  }
}

static bool is_packed(const item *it) {
  return it->wire_type == LENGTH && wire_type_of(it->field->type) != LENGTH;
}

static size_t count_packed(const item *it) {
  const unsigned type = wire_type_of(it->field->type);
  if (type != VARINT) return it->n / (type == FIXED64 ? 8 : 4);
  size_t n = 0;
  for (size_t i = 0; i < it->n; i++) n += !(it->payload[i] & 0x80);  // ends of varints
  return n;
}

// ---------------------------------------------------------------- values
static void put_varint(ProtobufCType type, void *to, uint64_t v) {
  switch (type) {
    case PROTOBUF_C_TYPE_BOOL: *(protobuf_c_boolean *)to = v != 0; break;
    case PROTOBUF_C_TYPE_SINT32: {
      const uint32_t u = (uint32_t)v;
      *(uint32_t *)to = (u >> 1) ^ (0u - (u & 1));
      break;
    }
    case PROTOBUF_C_TYPE_SINT64: *(uint64_t *)to = (v >> 1) ^ (0u - (v & 1)); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64: *(uint64_t *)to = v; break;
    default: *(uint32_t *)to = (uint32_t)v; break;
  }
}

static void put_fixed(void *to, const uint8_t *from, size_t size) {
  uint64_t v = 0;
  for (size_t i = 0; i < size; i++) v |= (uint64_t)from[i] << (8 * i);
  if (size == 8) {
    memcpy(to, &v, 8);
  } else {
    const uint32_t w = (uint32_t)v;
    memcpy(to, &w, 4);
  }
}

static outcome read_message(reader *r, const ProtobufCMessageDescriptor *desc, const uint8_t *p,
                            const uint8_t *end, ProtobufCMessage **out);

static outcome put_value(reader *r, const item *it, void *to) {
  switch (it->field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
      return read_message(r, it->field->descriptor, it->payload, it->payload + it->n, to);
    case PROTOBUF_C_TYPE_STRING: {
      char *text = take(r, it->n + 1);
      if (!text) return NO_MEMORY;
      if (it->n) memcpy(text, it->payload, it->n);
      text[it->n] = 0;
      *(char **)to = text;
      return DONE;
    }
    case PROTOBUF_C_TYPE_BYTES: {
      ProtobufCBinaryData *b = to;
      *b = (ProtobufCBinaryData){it->n, it->n ? (uint8_t *)(uintptr_t)it->payload : NULL};
      if (it->n == 0 || it->n > SHORT) return DONE;
      if (!(b->data = take(r, it->n))) return NO_MEMORY;
      memcpy(b->data, it->payload, it->n);
      return DONE;
    }
    default:
      if (it->wire_type == VARINT)
        put_varint(it->field->type, to, it->value);
      else
        put_fixed(to, it->payload, it->n);
      return DONE;
  }
}

static outcome put_packed(const item *it, char *to) {
  const size_t size = fy_wire_element_size(it->field->type);
  const unsigned type = wire_type_of(it->field->type);
  const uint8_t *p = it->payload, *end = p + it->n;
  if (type != VARINT) {
    const size_t step = type == FIXED64 ? 8 : 4;
    if (it->n % step) return ODD;
    for (; p < end; p += step, to += size) put_fixed(to, p, step);
    return DONE;
  }
  for (; p < end; to += size) {
    uint64_t v;
    if (!fy_wire_varint(&p, end, &v)) return ODD;
    put_varint(it->field->type, to, v);
  }
  return DONE;
}

// ---------------------------------------------------------------- fields
static outcome put_repeated(reader *r, const item *it, ProtobufCMessage *m) {
  size_t *n = (size_t *)((char *)m + it->field->quantifier_offset);
  char *list = *(char **)((char *)m + it->field->offset);
  char *to = list + *n * fy_wire_element_size(it->field->type);
  if (is_packed(it)) {
    *n += count_packed(it);
    return put_packed(it, to);
  }
  ++*n;
  return put_value(r, it, to);
}

static outcome put_single(reader *r, const item *it, ProtobufCMessage *m) {
  const ProtobufCFieldDescriptor *f = it->field;
  char *to = (char *)m + f->offset;
  if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
    uint32_t *which = (uint32_t *)((char *)m + f->quantifier_offset);
    if (*which) return ODD;
    *which = f->id;
  } else if (f->type == PROTOBUF_C_TYPE_MESSAGE && *(ProtobufCMessage **)to) {
    return ODD;
  } else if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->quantifier_offset) {
    *(protobuf_c_boolean *)((char *)m + f->quantifier_offset) = 1;
  }
  return put_value(r, it, to);
}

static outcome put_unknown(reader *r, const item *it, ProtobufCMessage *m) {
  ProtobufCMessageUnknownField *u = &m->unknown_fields[m->n_unknown_fields++];
  u->tag = it->number;
  u->wire_type = (ProtobufCWireType)it->wire_type;
  u->len = (size_t)(it->payload - it->raw) + it->n;
  u->data = take(r, u->len);
  if (!u->data) return NO_MEMORY;
  memcpy(u->data, it->raw, u->len);
  return DONE;
}

static outcome make_lists(reader *r, const ProtobufCMessageDescriptor *desc, const uint8_t *p,
                          const uint8_t *end, ProtobufCMessage *m) {
  size_t counts[MAX_FIELDS] = {0}, unknown = 0;
  item it;
  if (desc->n_fields > MAX_FIELDS) return ODD;
  while (p < end) {
    if (!next_item(desc, &p, end, &it)) return ODD;
    if (!it.field) {
      unknown++;
      continue;
    }
    const bool repeated = it.field->label == PROTOBUF_C_LABEL_REPEATED;
    const bool packed = repeated && is_packed(&it);
    if (it.field->label == PROTOBUF_C_LABEL_REQUIRED ||
        (!packed && it.wire_type != wire_type_of(it.field->type)))
      return ODD;
    if (repeated) counts[it.field - desc->fields] += packed ? count_packed(&it) : 1;
  }
  for (unsigned i = 0; i < desc->n_fields; i++) {
    if (!counts[i]) continue;
    void *list = fy_arena_array(r->arena, counts[i], fy_wire_element_size(desc->fields[i].type));
    if (!list) {
      r->refused_bytes = counts[i];
      return NO_MEMORY;
    }
    *(void **)((char *)m + desc->fields[i].offset) = list;
  }
  if (!unknown) return DONE;
  m->unknown_fields = fy_arena_array(r->arena, unknown, sizeof *m->unknown_fields);
  if (m->unknown_fields) return DONE;
  r->refused_bytes = unknown;
  return NO_MEMORY;
}

static outcome read_message(reader *r, const ProtobufCMessageDescriptor *desc, const uint8_t *p,
                            const uint8_t *end, ProtobufCMessage **out) {
  ProtobufCMessage *m = take(r, desc->sizeof_message);
  item it;
  if (!m) return NO_MEMORY;
  desc->message_init(m);
  outcome o = make_lists(r, desc, p, end, m);
  while (o == DONE && p < end) {
    if (!next_item(desc, &p, end, &it)) return ODD;
    o = !it.field                                      ? put_unknown(r, &it, m)
        : it.field->label == PROTOBUF_C_LABEL_REPEATED ? put_repeated(r, &it, m)
                                                       : put_single(r, &it, m);
  }
  *out = m;
  return o;
}

fy_code fy_wire_unpack_view(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t n,
                            const fy_wire_limits *limits, fy_arena *arena, ProtobufCMessage **out,
                            fy_error *err) {
  static const uint8_t nothing[1];
  const uint8_t *p = n ? bytes : nothing;
  reader r = {.arena = arena};
  *out = NULL;
  FY_TRY(fy_wire_check(bytes, n, desc, limits, err));
  const outcome o = read_message(&r, desc, p, p + n, out);
  if (o == DONE) return FY_OK;
  *out = NULL;
  if (o == NO_MEMORY) return fy_fail_oom(err, r.refused_bytes);
  return fy_wire_unpack(desc, bytes, n, limits, arena, out, err);
}

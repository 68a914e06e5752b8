// SPDX-License-Identifier: Apache-2.0
// proto_check.c: walk serialized bytes under a descriptor; refuse what protobuf-c should not see.
// One pass, no allocation. A frame per nested message lives on the C stack (depth <= 100); the path
// of an error, with list indices and map keys, is found by walking the parents again, so that the
// good case pays nothing for it.

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "wire/proto_util.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };
enum { FIELD_COST = 64, ALLOC_COST = 16 };  // protobuf-c's bookkeeping per field and per allocation

const fy_wire_limits fy_wire_limits_default = {
    .max_bytes = INT_MAX,
    .max_fields = (size_t)1 << 28,
    .max_depth = FY_WIRE_MAX_DEPTH,
    .max_merges = 64,
    .known_only = false,
};

typedef struct frame {
  const struct frame *up;
  const ProtobufCMessageDescriptor *desc;
  const uint8_t *begin;                   // of this message
  const uint8_t *tag;                     // of the field being read
  const ProtobufCFieldDescriptor *field;  // NULL while unknown
  uint32_t depth;
} frame;

typedef struct walk {
  const uint8_t *start;
  const fy_wire_limits *limits;
  size_t fields;
  size_t cost_bytes, max_cost_bytes;  // of what protobuf-c will allocate
  uint32_t merges;
  fy_error *err;
} walk;

// One field as it lies in the bytes.
typedef struct item {
  uint32_t number;
  unsigned wire_type;
  const uint8_t *payload;
  size_t n;  // bytes of the payload (without the length prefix)
} item;

// Reads a field that is known to be well-formed; only the error path uses it.
static const uint8_t *skip_item(const uint8_t *p, const uint8_t *end, item *out) {
  uint64_t tag = 0, value = 0;
  if (!fy_wire_varint(&p, end, &tag)) return NULL;
  out->number = (uint32_t)(tag >> 3);
  out->wire_type = (unsigned)(tag & 7);
  out->payload = p;
  out->n = out->wire_type == FIXED64 ? 8 : 4;
  if (out->wire_type == VARINT) {
    if (!fy_wire_varint(&p, end, &value)) return NULL;
    out->n = (size_t)(p - out->payload);
    return p;
  }
  if (out->wire_type == LENGTH) {
    if (!fy_wire_varint(&p, end, &value)) return NULL;
    out->payload = p;
    out->n = (size_t)value;
  }
  return out->n > (size_t)(end - p) ? NULL : p + out->n;
}

static size_t print_key(char *buf, size_t room, const frame *f) {
  // The map entry starts at the field that |f| is reading; its end is what its length says.
  item entry, key;
  const uint8_t *end = f->tag + 20;  // enough for the tag and the length, which were read before
  const uint8_t *p = f->tag;
  uint64_t value = 0;
  if (!fy_wire_varint(&p, end, &value) || !fy_wire_varint(&p, end, &value)) return 0;
  entry.payload = p;
  entry.n = (size_t)value;
  end = p + entry.n;
  while (p && p < end) {
    p = skip_item(p, end, &key);
    if (!p) return 0;
    if (key.number == 1 && key.wire_type == LENGTH) {
      return (size_t)snprintf(buf, room, "[\"%.*s\"]", key.n > 64 ? 64 : (int)key.n,
                              (const char *)key.payload);
    }
  }
  return 0;
}

static size_t print_path(char *buf, size_t room, const frame *f, bool deepest) {
  if (!f) return 0;
  size_t at = f->up ? print_path(buf, room, f->up, false) : 0;
  if (!f->up) at += (size_t)snprintf(buf, room, "%s", f->desc->short_name);
  if (!f->field || at >= room) return at;
  at += (size_t)snprintf(buf + at, room - at, ".%s", f->field->name);
  if (f->field->label != PROTOBUF_C_LABEL_REPEATED || at >= room) return at;
  if (fy_wire_is_map(f->field) && !deepest) {
    size_t n = print_key(buf + at, room - at, f);
    if (n) return at + n;
  }
  size_t index = 0;
  item seen;
  for (const uint8_t *p = f->begin; p && p < f->tag;) {
    p = skip_item(p, f->tag, &seen);
    if (p && seen.number == f->field->id) index++;
  }
  return at + (size_t)snprintf(buf + at, room - at, "[%zu]", index);
}

FY_PRINTF(3, 4)
static fy_code refuse(walk *w, const frame *f, const char *format, ...) {
  if (!w->err) return FY_INVALID_ARGUMENT;
  char path[400];
  print_path(path, sizeof path, f, true);
  va_list args;
  va_start(args, format);
  fy_failv(w->err, FY_INVALID_ARGUMENT, format, args);
  va_end(args);
  fy_error_prepend(w->err, "%s: ", path);
  return FY_INVALID_ARGUMENT;
}

static size_t offset(const walk *w, const uint8_t *p) {
  return (size_t)(p - w->start);
}

static fy_code charge(walk *w, const frame *f, size_t bytes) {
  w->cost_bytes += bytes;
  if (w->cost_bytes <= w->max_cost_bytes) return FY_OK;
  return refuse(w, f, "at byte %zu the message needs over %zu bytes of memory, too much",
                offset(w, f->tag), w->max_cost_bytes);
}

static unsigned wire_type_of(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return FIXED64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return FIXED32;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return LENGTH;
    default: return VARINT;
  }
}

// Splits off the field at |*at|: bounds and wire type are checked, its meaning not yet.
static fy_code read_item(walk *w, frame *f, const uint8_t **at, const uint8_t *end, item *out) {
  const uint8_t *p = *at;
  uint64_t tag = 0, value = 0;
  f->tag = p;
  f->field = NULL;
  if (!fy_wire_varint(&p, end, &tag)) {
    return refuse(w, f, "the tag at byte %zu is cut off", offset(w, *at));
  }
  if (tag > UINT32_MAX || tag >> 3 == 0) {
    return refuse(w, f, "the tag at byte %zu has no valid field number", offset(w, *at));
  }
  out->number = (uint32_t)(tag >> 3);
  out->wire_type = (unsigned)(tag & 7);
  f->field = protobuf_c_message_descriptor_get_field(f->desc, out->number);
  out->payload = p;
  size_t left = (size_t)(end - p);
  switch (out->wire_type) {
    case VARINT:
      if (!fy_wire_varint(&p, end, &value)) {
        return refuse(w, f, "the number at byte %zu is cut off", offset(w, out->payload));
      }
      out->n = (size_t)(p - out->payload);
      break;
    case FIXED64:
    case FIXED32:
      out->n = out->wire_type == FIXED64 ? 8 : 4;
      if (out->n > left) {
        return refuse(w, f, "the number at byte %zu is cut off", offset(w, out->payload));
      }
      p += out->n;
      break;
    case LENGTH:
      if (!fy_wire_varint(&p, end, &value)) {
        return refuse(w, f, "the length at byte %zu is cut off", offset(w, out->payload));
      }
      if (value > (uint64_t)(end - p)) {
        return refuse(w, f, "length %" PRIu64 " at byte %zu runs past the end (%zu)", value,
                      offset(w, out->payload), offset(w, end));
      }
      out->payload = p;
      out->n = (size_t)value;
      p += out->n;
      break;
    default:
      return refuse(w, f, "wire type %u at byte %zu is not supported", out->wire_type,
                    offset(w, *at));
  }
  *at = p;
  return FY_OK;
}

static fy_code check_packed(walk *w, frame *f, const item *it) {
  unsigned each = wire_type_of(f->field->type);
  if (each != VARINT) {
    size_t size = each == FIXED64 ? 8 : 4;
    if (it->n % size == 0) return charge(w, f, it->n + ALLOC_COST);
    return refuse(w, f, "%zu bytes at byte %zu are no whole number of %zu-byte values", it->n,
                  offset(w, it->payload), size);
  }
  const uint8_t *p = it->payload, *end = p + it->n;
  uint64_t value;
  while (p < end) {
    const uint8_t *number = p;
    if (!fy_wire_varint(&p, end, &value)) {
      return refuse(w, f, "the number at byte %zu is cut off", offset(w, number));
    }
  }
  return charge(w, f, it->n * 8 + ALLOC_COST);
}

static fy_code check_string(walk *w, frame *f, const item *it) {
  const char *nul = it->n ? memchr(it->payload, 0, it->n) : NULL;
  if (nul) {
    return refuse(w, f, "the string holds a NUL at byte %zu", offset(w, (const uint8_t *)nul));
  }
  if (!fy_wire_is_utf8(it->payload, it->n)) {
    return refuse(w, f, "the string at byte %zu is not UTF-8", offset(w, it->payload));
  }
  return charge(w, f, it->n + ALLOC_COST);
}

static fy_code check_message(walk *w, const frame *up, const ProtobufCMessageDescriptor *desc,
                             const uint8_t *p, const uint8_t *end);

static fy_code check_field(walk *w, frame *f, const item *it, uint64_t *seen) {
  const ProtobufCFieldDescriptor *field = f->field;
  if (!field) {
    if (w->limits->known_only) {
      return refuse(w, f, "unknown field number %u at byte %zu", it->number, offset(w, f->tag));
    }
    return charge(w, f, it->n + FIELD_COST + ALLOC_COST);
  }
  FY_TRY(charge(w, f, FIELD_COST));
  unsigned want = wire_type_of(field->type);
  bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
  if (it->wire_type != want) {
    if (repeated && it->wire_type == LENGTH) return check_packed(w, f, it);
    return refuse(w, f, "wire type %u at byte %zu, expected %u", it->wire_type, offset(w, f->tag),
                  want);
  }
  if (field->type == PROTOBUF_C_TYPE_STRING) return check_string(w, f, it);
  if (field->type == PROTOBUF_C_TYPE_BYTES) return charge(w, f, it->n + ALLOC_COST);
  if (field->type != PROTOBUF_C_TYPE_MESSAGE) return FY_OK;
  if (!repeated) {
    size_t index = (size_t)(field - f->desc->fields);
    uint64_t bit = (uint64_t)1 << (index % 64);
    if (index < 256 && (seen[index / 64] & bit) && ++w->merges > w->limits->max_merges) {
      return refuse(w, f, "at byte %zu the field is given again; more than %u such repeats",
                    offset(w, f->tag), w->limits->max_merges);
    }
    if (index < 256) seen[index / 64] |= bit;
  }
  return check_message(w, f, field->descriptor, it->payload, it->payload + it->n);
}

static fy_code check_message(walk *w, const frame *up, const ProtobufCMessageDescriptor *desc,
                             const uint8_t *p, const uint8_t *end) {
  frame f = {.up = up, .desc = desc, .begin = p, .tag = p, .depth = up ? up->depth + 1 : 1};
  uint32_t max_depth =
      w->limits->max_depth < FY_WIRE_MAX_DEPTH ? w->limits->max_depth : FY_WIRE_MAX_DEPTH;
  if (f.depth > max_depth) {
    return refuse(w, up, "messages nested deeper than %u at byte %zu", max_depth, offset(w, p));
  }
  FY_TRY(charge(w, &f, desc->sizeof_message + ALLOC_COST));
  uint64_t seen[4] = {0};  // message fields met, to count merges
  while (p < end) {
    item it = {0};
    FY_TRY(read_item(w, &f, &p, end, &it));
    if (++w->fields > w->limits->max_fields) {
      return refuse(w, &f, "more than %zu fields", w->limits->max_fields);
    }
    FY_TRY(check_field(w, &f, &it, seen));
  }
  return FY_OK;
}

fy_code fy_wire_check(const void *bytes, size_t n, const ProtobufCMessageDescriptor *desc,
                      const fy_wire_limits *limits, fy_error *err) {
  if (!limits) limits = &fy_wire_limits_default;
  if (n > limits->max_bytes || n > INT_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: %zu bytes, more than the %zu allowed",
                   desc->short_name, n, limits->max_bytes);
  }
  static const uint8_t nothing[1];
  walk w = {
      .start = n ? bytes : nothing,
      .limits = limits,
      .max_cost_bytes = ((size_t)64 << 20) + n * 40,
      .err = err,
  };
  return check_message(&w, NULL, desc, w.start, w.start + n);
}

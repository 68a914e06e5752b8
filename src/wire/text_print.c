// SPDX-License-Identifier: Apache-2.0
// text_print.c: messages as protobuf text.
// Order is stable: fields by number (as protobuf-c sorts them), map entries by key.

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

typedef struct printer {
  fy_str *out;
  bool one_line;
  int indent;
} printer;

static void print_message(printer *p, const ProtobufCMessage *msg, bool is_entry);

static void begin_line(printer *p) {
  if (p->one_line) {
    if (p->out->len && p->out->p[p->out->len - 1] != ' ') fy_str_addc(p->out, ' ');
    return;
  }
  for (int i = 0; i < p->indent; i++) fy_str_add(p->out, "  ");
}

static void end_line(printer *p) {
  if (!p->one_line) fy_str_addc(p->out, '\n');
}

static void print_bytes(fy_str *out, const uint8_t *data, size_t n) {
  fy_str_addc(out, '"');
  for (size_t i = 0; i < n; i++) {
    uint8_t c = data[i];
    switch (c) {
      case '\n': fy_str_add(out, "\\n"); break;
      case '\r': fy_str_add(out, "\\r"); break;
      case '\t': fy_str_add(out, "\\t"); break;
      case '"': fy_str_add(out, "\\\""); break;
      case '\'': fy_str_add(out, "\\'"); break;
      case '\\': fy_str_add(out, "\\\\"); break;
      default:
        if (c >= 0x20 && c < 0x7F) {
          fy_str_addc(out, (char)c);
        } else {
          char octal[5] = {'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
                           (char)('0' + (c & 7)), 0};
          fy_str_addn(out, octal, 4);
        }
    }
  }
  fy_str_addc(out, '"');
}

// The fewest digits that read back as the same value, with '.' whatever the locale says.
static void print_real(fy_str *out, double value, bool is_float) {
  if (isnan(value)) {
    fy_str_add(out, "nan");
    return;
  }
  if (isinf(value)) {
    fy_str_add(out, value < 0 ? "-inf" : "inf");
    return;
  }
  char buf[64];
  int last = is_float ? 9 : 17;
  for (int digits = is_float ? 6 : 15; digits <= last; digits++) {
    snprintf(buf, sizeof buf, "%.*g", digits, value);
    double back = strtod(buf, NULL);
    if (is_float ? (float)back == (float)value : back == value) break;
  }
  const char *point = localeconv()->decimal_point;
  char *at = point && strcmp(point, ".") != 0 ? strstr(buf, point) : NULL;
  if (!at) {
    fy_str_add(out, buf);
    return;
  }
  fy_str_addn(out, buf, (size_t)(at - buf));
  fy_str_addc(out, '.');
  fy_str_add(out, at + strlen(point));
}

static void print_scalar(fy_str *out, const ProtobufCFieldDescriptor *field, const void *at) {
  switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32: fy_str_printf(out, "%" PRId32, *(const int32_t *)at); break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: fy_str_printf(out, "%" PRIu32, *(const uint32_t *)at); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: fy_str_printf(out, "%" PRId64, *(const int64_t *)at); break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: fy_str_printf(out, "%" PRIu64, *(const uint64_t *)at); break;
    case PROTOBUF_C_TYPE_FLOAT: print_real(out, (double)*(const float *)at, true); break;
    case PROTOBUF_C_TYPE_DOUBLE: print_real(out, *(const double *)at, false); break;
    case PROTOBUF_C_TYPE_BOOL:
      fy_str_add(out, *(const protobuf_c_boolean *)at ? "true" : "false");
      break;
    case PROTOBUF_C_TYPE_ENUM: {
      int value = *(const int *)at;
      const ProtobufCEnumValue *known =
          protobuf_c_enum_descriptor_get_value(field->descriptor, value);
      if (known) {
        fy_str_add(out, known->name);
      } else {
        fy_str_printf(out, "%d", value);
      }
      break;
    }
    case PROTOBUF_C_TYPE_STRING: {
      const char *s = *(char *const *)at;
      print_bytes(out, (const uint8_t *)s, s ? strlen(s) : 0);
      break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
      const ProtobufCBinaryData *b = at;
      print_bytes(out, b->data, b->len);
      break;
    }
    case PROTOBUF_C_TYPE_MESSAGE: break;
  }
}

static void print_one(printer *p, const ProtobufCFieldDescriptor *field, const void *at,
                      bool is_entry) {
  begin_line(p);
  fy_str_add(p->out, field->name);
  if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
    fy_str_add(p->out, ": ");
    print_scalar(p->out, field, at);
    end_line(p);
    return;
  }
  fy_str_add(p->out, " {");
  end_line(p);
  p->indent++;
  const ProtobufCMessage *msg = *(ProtobufCMessage *const *)at;
  if (msg) print_message(p, msg, is_entry);
  p->indent--;
  begin_line(p);
  fy_str_addc(p->out, '}');
  end_line(p);
}

// Entries are compared by key alone; equal keys keep their order (qsort gets the index as well).
typedef struct entry {
  const ProtobufCMessage *msg;
  size_t index;
} entry;

static int compare_keys(const void *a, const void *b) {
  const entry *x = a, *y = b;
  const ProtobufCFieldDescriptor *key = &x->msg->descriptor->fields[0];
  const void *kx = (const char *)x->msg + key->offset, *ky = (const char *)y->msg + key->offset;
  int order = 0;
  switch (key->type) {
    case PROTOBUF_C_TYPE_STRING: order = strcmp(*(char *const *)kx, *(char *const *)ky); break;
    case PROTOBUF_C_TYPE_INT64: {
      int64_t ix = *(const int64_t *)kx, iy = *(const int64_t *)ky;
      order = (ix > iy) - (ix < iy);
      break;
    }
    case PROTOBUF_C_TYPE_UINT32: {
      uint32_t ix = *(const uint32_t *)kx, iy = *(const uint32_t *)ky;
      order = (ix > iy) - (ix < iy);
      break;
    }
    default: {
      int32_t ix = *(const int32_t *)kx, iy = *(const int32_t *)ky;
      order = (ix > iy) - (ix < iy);
      break;
    }
  }
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void print_map(printer *p, const ProtobufCFieldDescriptor *field,
                      ProtobufCMessage *const *entries, size_t n) {
  entry *sorted = n < SIZE_MAX / sizeof *sorted ? fy_malloc(n * sizeof *sorted) : NULL;
  if (!sorted) {
    p->out->failed = true;
    return;
  }
  for (size_t i = 0; i < n; i++) sorted[i] = (entry){entries[i], i};
  qsort(sorted, n, sizeof *sorted, compare_keys);
  for (size_t i = 0; i < n; i++) print_one(p, field, &sorted[i].msg, true);
  fy_free(sorted);
}

// Whether a field that is not repeated was set (proto3: differs from its default).
static bool is_set(const ProtobufCMessage *msg, const ProtobufCFieldDescriptor *field) {
  const char *base = (const char *)msg, *at = base + field->offset;
  if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
    return *(const uint32_t *)(base + field->quantifier_offset) == field->id;
  }
  if (field->type == PROTOBUF_C_TYPE_MESSAGE) return *(void *const *)at != NULL;
  if (field->type == PROTOBUF_C_TYPE_STRING) {
    const char *s = *(char *const *)at;
    return s && (*s || (field->label == PROTOBUF_C_LABEL_OPTIONAL && s != field->default_value));
  }
  if (field->label == PROTOBUF_C_LABEL_OPTIONAL) {
    return *(const protobuf_c_boolean *)(base + field->quantifier_offset) != 0;
  }
  if (field->type == PROTOBUF_C_TYPE_BYTES) return ((const ProtobufCBinaryData *)at)->len != 0;
  static const char zero[8];
  return memcmp(at, zero, fy_wire_element_size(field->type)) != 0;
}

static void print_message(printer *p, const ProtobufCMessage *msg, bool is_entry) {
  for (unsigned i = 0; i < msg->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &msg->descriptor->fields[i];
    const char *at = (const char *)msg + field->offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
      if (is_entry || is_set(msg, field)) print_one(p, field, at, false);
      continue;
    }
    size_t n = *(const size_t *)((const char *)msg + field->quantifier_offset);
    const char *list = *(char *const *)at;
    if (n && fy_wire_is_map(field)) {
      print_map(p, field, (ProtobufCMessage *const *)(const void *)list, n);
      continue;
    }
    size_t size = fy_wire_element_size(field->type);
    for (size_t k = 0; k < n; k++) print_one(p, field, list + k * size, false);
  }
}

void fy_wire_text_print(fy_str *out, const ProtobufCMessage *msg) {
  printer p = {.out = out};
  print_message(&p, msg, false);
}

void fy_wire_text_print_line(fy_str *out, const ProtobufCMessage *msg) {
  printer p = {.out = out, .one_line = true};
  print_message(&p, msg, false);
}

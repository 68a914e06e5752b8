// SPDX-License-Identifier: Apache-2.0
// text_parse.c: protobuf text into messages, by reflection.
// Lists grow by doubling at powers of two, so no capacity is kept: what doubling leaves behind in
// the arena is at most the size of the list.

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"
#include "wire/text_lex.h"

typedef struct parser {
  fy_wire_lexer lex;
  fy_arena *arena;
  fy_error *err;
  int depth;
} parser;

#define BAD(p, ...) fy_wire_lex_fail(&(p)->lex, (p)->err, __VA_ARGS__)

static bool accept(parser *p, char punct) {
  if (!fy_wire_lex_is(&p->lex, punct)) return false;
  fy_wire_lex_next(&p->lex);
  return true;
}

static int show_n(const parser *p) {
  return p->lex.n > 60 ? 60 : (int)p->lex.n;
}

// "…, found X" for the current token.
static fy_code expected(parser *p, const char *what, const char *field) {
  if (p->lex.kind == FY_WIRE_TOKEN_END) {
    return BAD(p, "%s: expected %s, found the end of the text", field, what);
  }
  if (p->lex.kind == FY_WIRE_TOKEN_BAD && (*p->lex.p == '"' || *p->lex.p == '\'')) {
    return BAD(p, "%s: the string has no closing quote on its line", field);
  }
  return BAD(p, "%s: expected %s, found \"%.*s\"", field, what, show_n(p), p->lex.p);
}

static fy_code unknown_field(parser *p, const ProtobufCMessageDescriptor *desc) {
  char word[128];
  size_t n = p->lex.n < sizeof word ? p->lex.n : sizeof word - 1;
  memcpy(word, p->lex.p, n);
  word[n] = 0;
  const char *names[256];
  size_t count = desc->n_fields < 256 ? desc->n_fields : 256;
  for (size_t i = 0; i < count; i++) names[i] = desc->fields[i].name;
  const char *near = fy_nearest(word, names, count);
  if (near) {
    return BAD(p, "message type \"%s\" has no field named \"%s\"; did you mean \"%s\"?", desc->name,
               word, near);
  }
  return BAD(p, "message type \"%s\" has no field named \"%s\"", desc->name, word);
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *desc,
                                                  const char *name, size_t n) {
  for (unsigned i = 0; i < desc->n_fields; i++) {
    if (strlen(desc->fields[i].name) == n && memcmp(desc->fields[i].name, name, n) == 0) {
      return &desc->fields[i];
    }
  }
  return NULL;
}

// --- values ---

static bool is_unsigned(ProtobufCType t) {
  return t == PROTOBUF_C_TYPE_UINT32 || t == PROTOBUF_C_TYPE_UINT64 ||
         t == PROTOBUF_C_TYPE_FIXED32 || t == PROTOBUF_C_TYPE_FIXED64;
}
static bool is_wide(ProtobufCType t) {
  return t == PROTOBUF_C_TYPE_INT64 || t == PROTOBUF_C_TYPE_SINT64 ||
         t == PROTOBUF_C_TYPE_SFIXED64 || t == PROTOBUF_C_TYPE_UINT64 ||
         t == PROTOBUF_C_TYPE_FIXED64;
}

static fy_code parse_integer(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  bool negative = accept(p, '-');
  uint64_t value;
  if (p->lex.kind != FY_WIRE_TOKEN_NUMBER) return expected(p, "an integer", field->name);
  if (!fy_wire_lex_uint(&p->lex, &value)) {
    return BAD(p, "%s: \"%.*s\" is not a 64-bit integer", field->name, show_n(p), p->lex.p);
  }
  bool wide = is_wide(field->type), natural = is_unsigned(field->type);
  uint64_t most = natural ? (wide ? UINT64_MAX : UINT32_MAX)
                          : (wide ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX) + negative;
  if (value > most || (natural && negative && value)) {
    return BAD(p, "%s: %s%.*s is out of range for %s%d", field->name, negative ? "-" : "",
               show_n(p), p->lex.p, natural ? "uint" : "int", wide ? 64 : 32);
  }
  if (negative) value = 0 - value;
  if (wide) {
    *(uint64_t *)at = value;
  } else {
    *(uint32_t *)at = (uint32_t)value;
  }
  fy_wire_lex_next(&p->lex);
  return FY_OK;
}

static bool word_is(const parser *p, const char *word) {
  return p->lex.kind == FY_WIRE_TOKEN_NAME && p->lex.n == strlen(word) &&
         strncasecmp(p->lex.p, word, p->lex.n) == 0;
}

static fy_code parse_real(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  bool negative = accept(p, '-');
  double value;
  if (word_is(p, "inf") || word_is(p, "infinity") || word_is(p, "inff")) {
    value = (double)INFINITY;
  } else if (word_is(p, "nan") || word_is(p, "nanf")) {
    value = (double)NAN;
  } else if (p->lex.kind != FY_WIRE_TOKEN_NUMBER) {
    return expected(p, "a number", field->name);
  } else if (!fy_wire_lex_real(&p->lex, &value)) {
    return BAD(p, "%s: \"%.*s\" is not a number", field->name, show_n(p), p->lex.p);
  }
  if (negative) value = -value;
  if (field->type == PROTOBUF_C_TYPE_DOUBLE) {
    *(double *)at = value;
  } else {
    bool beyond = isfinite(value) && fabs(value) > (double)FLT_MAX * (1 + 0x1p-25);
    *(float *)at = beyond ? (value < 0 ? -INFINITY : INFINITY) : (float)value;
  }
  fy_wire_lex_next(&p->lex);
  return FY_OK;
}

static fy_code parse_bool(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  uint64_t value = 2;
  if (p->lex.kind == FY_WIRE_TOKEN_NAME && p->lex.n) {
    if (word_is(p, "true") || word_is(p, "t")) value = 1;
    if (word_is(p, "false") || word_is(p, "f")) value = 0;
  } else if (p->lex.kind == FY_WIRE_TOKEN_NUMBER && !fy_wire_lex_uint(&p->lex, &value)) {
    value = 2;
  }
  if (value > 1) return expected(p, "true or false", field->name);
  *(protobuf_c_boolean *)at = (protobuf_c_boolean)value;
  fy_wire_lex_next(&p->lex);
  return FY_OK;
}

static fy_code parse_enum(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  const ProtobufCEnumDescriptor *desc = field->descriptor;
  if (p->lex.kind != FY_WIRE_TOKEN_NAME) {
    ProtobufCFieldDescriptor as_int = *field;
    as_int.type = PROTOBUF_C_TYPE_INT32;
    return parse_integer(p, &as_int, at);
  }
  char word[128];
  size_t n = p->lex.n < sizeof word ? p->lex.n : sizeof word - 1;
  memcpy(word, p->lex.p, n);
  word[n] = 0;
  const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(desc, word);
  if (!value) {
    const char *names[256];
    size_t count = desc->n_value_names < 256 ? desc->n_value_names : 256;
    for (size_t i = 0; i < count; i++) names[i] = desc->values_by_name[i].name;
    const char *near = fy_nearest(word, names, count);
    if (near) {
      return BAD(p, "%s: \"%s\" is no value of %s; did you mean \"%s\"?", field->name, word,
                 desc->name, near);
    }
    return BAD(p, "%s: \"%s\" is no value of %s", field->name, word, desc->name);
  }
  *(int *)at = value->value;
  fy_wire_lex_next(&p->lex);
  return FY_OK;
}

static fy_code parse_text(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  if (p->lex.kind != FY_WIRE_TOKEN_STRING) return expected(p, "a quoted string", field->name);
  fy_wire_lexer place = p->lex;
  char *s;
  size_t n;
  FY_TRY(fy_wire_lex_string(&p->lex, p->arena, &s, &n, p->err));
  if (field->type == PROTOBUF_C_TYPE_BYTES) {
    *(ProtobufCBinaryData *)at = (ProtobufCBinaryData){n, (uint8_t *)s};
    return FY_OK;
  }
  if (memchr(s, 0, n)) {
    return fy_wire_lex_fail(&place, p->err, "%s: the string holds a NUL", field->name);
  }
  if (!fy_wire_is_utf8(s, n)) {
    return fy_wire_lex_fail(&place, p->err, "%s: the string is not UTF-8", field->name);
  }
  *(char **)at = s;
  return FY_OK;
}

static fy_code parse_scalar(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  switch (field->type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE: return parse_real(p, field, at);
    case PROTOBUF_C_TYPE_BOOL: return parse_bool(p, field, at);
    case PROTOBUF_C_TYPE_ENUM: return parse_enum(p, field, at);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES: return parse_text(p, field, at);
    default: return parse_integer(p, field, at);
  }
}

// --- messages ---

static fy_code parse_fields(parser *p, ProtobufCMessage *msg, char close, const char *field_name);

static fy_code parse_block(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  char close = fy_wire_lex_is(&p->lex, '{') ? '}' : '>';
  if (!accept(p, '{') && !accept(p, '<')) return expected(p, "\"{\"", field->name);
  if (p->depth >= FY_WIRE_MAX_DEPTH) {
    return BAD(p, "%s: messages nested deeper than %d", field->name, FY_WIRE_MAX_DEPTH);
  }
  ProtobufCMessage *msg = fy_wire_new(field->descriptor, p->arena);
  if (!msg) {
    const ProtobufCMessageDescriptor *desc = field->descriptor;
    return fy_fail_oom(p->err, desc->sizeof_message);
  }
  p->depth++;
  fy_code code = parse_fields(p, msg, close, field->name);
  p->depth--;
  *(ProtobufCMessage **)at = msg;
  return code;
}

static fy_code parse_value(parser *p, const ProtobufCFieldDescriptor *field, void *at) {
  return field->type == PROTOBUF_C_TYPE_MESSAGE ? parse_block(p, field, at)
                                                : parse_scalar(p, field, at);
}

static fy_code append_value(parser *p, ProtobufCMessage *msg,
                            const ProtobufCFieldDescriptor *field) {
  size_t *count = (size_t *)(void *)((char *)msg + field->quantifier_offset);
  char **list = (char **)(void *)((char *)msg + field->offset);
  size_t size = fy_wire_element_size(field->type), n = *count;
  if ((n & (n - 1)) == 0) {  // full: 0, 1, 2, 4, 8, … elements
    size_t room = n ? n * 2 : 1, bytes;
    if (!fy_mul_size(room, size, &bytes)) return fy_fail_oom(p->err, SIZE_MAX);
    char *grown = fy_arena_alloc(p->arena, bytes);
    if (!grown) return fy_fail_oom(p->err, bytes);
    if (n) memcpy(grown, *list, n * size);
    *list = grown;
  }
  FY_TRY(parse_value(p, field, *list + n * size));
  *count = n + 1;
  return FY_OK;
}

static fy_code parse_repeated(parser *p, ProtobufCMessage *msg,
                              const ProtobufCFieldDescriptor *field) {
  if (!accept(p, '[')) return append_value(p, msg, field);
  if (accept(p, ']')) return FY_OK;
  do {
    FY_TRY(append_value(p, msg, field));
  } while (accept(p, ','));
  return accept(p, ']') ? FY_OK : expected(p, "\",\" or \"]\"", field->name);
}

// |seen| has a bit per field of the message.
static fy_code parse_single(parser *p, ProtobufCMessage *msg, const ProtobufCFieldDescriptor *field,
                            const fy_wire_lexer *place, uint64_t *seen) {
  size_t index = (size_t)(field - msg->descriptor->fields);
  uint64_t bit = (uint64_t)1 << (index % 64);
  if (index < 256 && (seen[index / 64] & bit)) {
    return fy_wire_lex_fail(place, p->err, "%s is given twice, but it is not repeated",
                            field->name);
  }
  if (index < 256) seen[index / 64] |= bit;
  if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
    uint32_t *which = (uint32_t *)(void *)((char *)msg + field->quantifier_offset);
    const ProtobufCFieldDescriptor *other =
        *which ? protobuf_c_message_descriptor_get_field(msg->descriptor, *which) : NULL;
    if (other) {
      return fy_wire_lex_fail(place, p->err, "%s cannot be given together with %s", field->name,
                              other->name);
    }
    *which = field->id;
  } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->type != PROTOBUF_C_TYPE_MESSAGE &&
             field->type != PROTOBUF_C_TYPE_STRING) {
    *(protobuf_c_boolean *)(void *)((char *)msg + field->quantifier_offset) = 1;
  }
  return parse_value(p, field, (char *)msg + field->offset);
}

static fy_code parse_fields(parser *p, ProtobufCMessage *msg, char close, const char *field_name) {
  uint64_t seen[4] = {0};
  for (;;) {
    if (close ? accept(p, close) : p->lex.kind == FY_WIRE_TOKEN_END) return FY_OK;
    if (fy_wire_lex_is(&p->lex, '[')) {
      return BAD(p, "extensions and expanded Any messages are not supported");
    }
    if (p->lex.kind != FY_WIRE_TOKEN_NAME) {
      return expected(p, close ? "a field name or the closing brace" : "a field name", field_name);
    }
    const ProtobufCFieldDescriptor *field = find_field(msg->descriptor, p->lex.p, p->lex.n);
    if (!field) return unknown_field(p, msg->descriptor);
    fy_wire_lexer place = p->lex;
    fy_wire_lex_next(&p->lex);
    if (!accept(p, ':') && field->type != PROTOBUF_C_TYPE_MESSAGE) {
      return expected(p, "\":\"", field->name);
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      FY_TRY(parse_repeated(p, msg, field));
    } else {
      FY_TRY(parse_single(p, msg, field, &place, seen));
    }
    if (!accept(p, ',')) accept(p, ';');
  }
}

fy_code fy_wire_text_parse(const ProtobufCMessageDescriptor *desc, const char *text, size_t n,
                           fy_arena *arena, ProtobufCMessage **out, fy_error *err) {
  *out = NULL;
  parser p = {.arena = arena, .err = err};
  fy_wire_lex_init(&p.lex, text, n);
  ProtobufCMessage *msg = fy_wire_new(desc, arena);
  if (!msg) return fy_fail_oom(err, desc->sizeof_message);
  FY_TRY(parse_fields(&p, msg, 0, desc->short_name));
  *out = msg;
  return FY_OK;
}

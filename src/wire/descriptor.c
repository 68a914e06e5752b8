// SPDX-License-Identifier: Apache-2.0
// descriptor.c: descriptors of protobuf-c from a FileDescriptorSet.
// Three passes: declare every type by its full name, hand extensions to the messages they extend, then
// make the fields, whose types may be declared anywhere before. Descriptor messages are small, so that
// they are read in place (walk.h) by looking for one field number at a time.

#include "wire/descriptor.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "wire/text_lex.h"
#include "wire/walk.h"

enum { FILE_MESSAGES = 4, FILE_ENUMS = 5, FILE_EXTENSIONS = 7 };             // FileDescriptorProto
enum { MSG_FIELDS = 2, MSG_NESTED = 3, MSG_ENUMS = 4, MSG_EXTENSIONS = 6 };  // DescriptorProto
enum {
  EXTENDEE = 2,
  NUMBER = 3,
  LABEL = 4,
  TYPE = 5,
  TYPE_NAME = 6,
  DEFAULT = 7,
  OPTIONS = 8,
  ONEOF = 9,
  PROTO3_OPTIONAL = 17
};  // FieldDescriptorProto
// FeatureSet: what changes the bytes of a message
enum { PRESENCE = 1, LIST_ENCODING = 3, UTF8 = 4, MESSAGE_ENCODING = 5, FEATURES = 6 };
enum { IMPLICIT = 2, REQUIRED = 3, PACKED = 1, VERIFY = 2, DELIMITED = 2 };

typedef struct features {
  uint8_t of[FEATURES];
} features;

typedef struct source {  // a field as it is written
  fy_view body;
  const char *scope;  // where its type's name is looked for first
  features features;
  bool extension;
  struct source *next;
} source;

typedef struct type {
  fy_view body;
  const char *name, *file;
  bool is_enum;
  features features;
  source *fields;
  size_t n;
  ProtobufCMessageDescriptor message;
  ProtobufCEnumDescriptor enumeration;
  struct type *next;
} type;

typedef struct pool {
  fy_arena *arena;
  fy_error *err;
  fy_map types, files;
  type *first, **last;
  source *extensions;
} pool;

// ---------------------------------------------------------------- reading
// Steps to the next field |number|; false at the end.
static bool each(fy_walk *w, uint32_t number) {
  while (fy_walk_next(w))
    if (w->number == number) return true;
  return false;
}
static bool has(fy_view message, uint32_t number, fy_walk *found) {
  fy_walk w = fy_walk_of(message);
  bool any = false;
  while (each(&w, number)) {
    *found = w;
    any = true;
  }
  return any;
}
static fy_view text_of(fy_view message, uint32_t number) {
  fy_walk w;
  return has(message, number, &w) ? w.bytes : (fy_view){NULL, 0};
}
static uint64_t number_of(fy_view message, uint32_t number, uint64_t otherwise) {
  fy_walk w;
  return has(message, number, &w) && w.wire_type == FY_WALK_VARINT ? w.value : otherwise;
}
static bool sound(fy_view message) {
  fy_walk w = fy_walk_of(message);
  while (fy_walk_next(&w)) {
  }
  return w.at == w.end;
}

#define BAD(p, ...) fy_fail((p)->err, FY_INVALID_ARGUMENT, __VA_ARGS__)

static fy_code short_of_memory(pool *p, size_t bytes) {
  return fy_fail_oom(p->err, bytes);
}

static features with(features f, fy_view options, uint32_t number) {
  fy_walk w = fy_walk_of(text_of(options, number));
  while (fy_walk_next(&w))
    if (w.number < FEATURES && w.wire_type == FY_WALK_VARINT && w.value)
      f.of[w.number] = (uint8_t)w.value;
  return f;
}

static features of_file(fy_view file) {
  const fy_view syntax = text_of(file, 12), options = text_of(file, 8);
  features f = {{0, 1, 0, 2, 3, 1}};
  if (fy_view_is(syntax, "proto3")) f = (features){{0, IMPLICIT, 0, PACKED, VERIFY, 1}};
  if (fy_view_is(syntax, "editions")) f = (features){{0, 1, 0, PACKED, VERIFY, 1}};
  return with(f, options, 50);
}

// ---------------------------------------------------------------- declaring
static fy_code add_source(pool *p, source **list, fy_view body, const char *scope, features f,
                          bool extension) {
  source *s = fy_arena_alloc(p->arena, sizeof *s);
  if (!s) return short_of_memory(p, sizeof *s);
  *s = (source){body, scope, with(f, text_of(body, OPTIONS), 21), extension, *list};
  *list = s;
  return FY_OK;
}

static const char *join(pool *p, const char *scope, fy_view name) {
  return fy_arena_printf(p->arena, "%s%s%.*s", scope, *scope ? "." : "", (int)name.n,
                         name.p ? name.p : "");
}

typedef struct place {
  const char *scope, *file;
  features features;
  int depth;
} place;

static fy_code declare_all(pool *p, fy_view in, const uint32_t numbers[3], place at);

static fy_code declare(pool *p, fy_view body, bool is_enum, place at) {
  static const uint32_t inside[3] = {MSG_NESTED, MSG_ENUMS, MSG_EXTENSIONS};
  const fy_view name = text_of(body, 1);
  type *t = fy_arena_zalloc(p->arena, sizeof *t);
  if (!t) return short_of_memory(p, sizeof *t);
  if (!sound(body) || !name.n || memchr(name.p, 0, name.n)) return BAD(p, "a type has no name");
  if (at.depth > 64) return BAD(p, "types nested deeper than 64");
  *t = (type){.body = body, .name = join(p, at.scope, name), .file = at.file, .is_enum = is_enum};
  t->features = with(at.features, text_of(body, is_enum ? 3 : 7), is_enum ? 7 : 12);
  if (!t->name) return short_of_memory(p, name.n);
  if (fy_map_gets(&p->types, t->name)) return BAD(p, "\"%s\" is already defined", t->name);
  if (!fy_map_puts(&p->types, t->name, t)) return short_of_memory(p, sizeof *t);
  *p->last = t;
  p->last = &t->next;
  if (is_enum) return FY_OK;
  fy_walk w = fy_walk_of(body);
  while (each(&w, MSG_FIELDS)) {
    FY_TRY(add_source(p, &t->fields, w.bytes, t->name, t->features, false));
    t->n++;
  }
  return declare_all(p, body, inside, (place){t->name, at.file, t->features, at.depth + 1});
}

// Messages, enums and extensions, which are under these |numbers|.
static fy_code declare_all(pool *p, fy_view in, const uint32_t numbers[3], place at) {
  fy_walk w = fy_walk_of(in);
  while (fy_walk_next(&w)) {
    if (w.number == numbers[0] || w.number == numbers[1])
      FY_TRY(declare(p, w.bytes, w.number == numbers[1], at));
    else if (w.number == numbers[2])
      FY_TRY(add_source(p, &p->extensions, w.bytes, at.scope, at.features, true));
  }
  return FY_OK;
}

static fy_code declare_file(pool *p, fy_view file) {
  static const uint32_t inside[3] = {FILE_MESSAGES, FILE_ENUMS, FILE_EXTENSIONS};
  const fy_view name = text_of(file, 1), package = text_of(file, 2);
  const place at = {fy_arena_strndup(p->arena, package.n ? package.p : "", package.n),
                    fy_arena_strndup(p->arena, name.n ? name.p : "", name.n), of_file(file), 0};
  fy_view *kept = fy_arena_memdup(p->arena, &file, sizeof file);
  if (!at.scope || !at.file || !kept) return short_of_memory(p, name.n);
  const fy_view *before = fy_map_gets(&p->files, at.file);
  if (before && fy_view_eq(*before, file)) return FY_OK;
  fy_code code = before ? BAD(p, "a file of this name is already loaded") : FY_OK;
  fy_walk w = fy_walk_of(file);
  while (!code && each(&w, 3))
    if (!fy_map_get(&p->files, w.bytes.n ? w.bytes.p : "", w.bytes.n))
      code = BAD(p, "Import \"%.*s\" has not been loaded", (int)w.bytes.n, w.bytes.p);
  if (!code && !fy_map_puts(&p->files, at.file, kept)) code = short_of_memory(p, sizeof file);
  if (!code) code = declare_all(p, file, inside, at);
  if (code) fy_error_prepend(p->err, "Failed to load FileDescriptorProto: %s: ", at.file);
  return code;
}

// ".a.B" is a full name; else it is looked for in |scope| and in what is around it.
static type *resolve(pool *p, const char *scope, fy_view name) {
  if (!name.n) return NULL;
  if (*name.p == '.') return fy_map_get(&p->types, name.p + 1, name.n - 1);
  for (size_t n = strlen(scope);;) {
    const char *full =
        fy_arena_printf(p->arena, "%.*s%s%.*s", (int)n, scope, n ? "." : "", (int)name.n, name.p);
    type *t = full ? fy_map_gets(&p->types, full) : NULL;
    if (t || !n) return t;
    do n--;
    while (n && scope[n] != '.');
  }
}

// ---------------------------------------------------------------- making
static fy_code make_enum(pool *p, type *t) {
  ProtobufCEnumDescriptor *e = &t->enumeration;
  fy_walk w = fy_walk_of(t->body);
  unsigned n = 0;
  while (each(&w, 2)) n++;
  ProtobufCEnumValue *values = fy_arena_array(p->arena, n + 1, sizeof *values);
  ProtobufCEnumValueIndex *names = fy_arena_array(p->arena, n + 1, sizeof *names);
  if (!values || !names) return short_of_memory(p, n * sizeof *values);
  w = fy_walk_of(t->body);
  for (unsigned i = 0; each(&w, 2); i++) {
    const fy_view name = text_of(w.bytes, 1);
    values[i].name = fy_arena_strndup(p->arena, name.n ? name.p : "", name.n);
    if (!values[i].name) return short_of_memory(p, name.n);
    values[i].value = (int)number_of(w.bytes, 2, 0);
    unsigned at = i;  // sorted by name
    for (; at && strcmp(names[at - 1].name, values[i].name) > 0; at--) names[at] = names[at - 1];
    names[at] = (ProtobufCEnumValueIndex){values[i].name, i};
  }
  if (!n) return BAD(p, "Enums must contain at least one value: %s", t->name);
  *e = (ProtobufCEnumDescriptor){.magic = PROTOBUF_C__ENUM_DESCRIPTOR_MAGIC,
                                 .name = t->name,
                                 .short_name = t->name,
                                 .n_values = n,
                                 .values = values,
                                 .n_value_names = n,
                                 .values_by_name = names};
  return FY_OK;
}

// The bytes of a default as protobuf-c keeps them; false if |text| is none.
static bool parse_default(pool *p, ProtobufCFieldDescriptor *f, fy_view text) {
  union {
    uint64_t u;
    int64_t i;
    int32_t i32;
    uint32_t u32;
    double d;
    float f;
    ProtobufCBinaryData bytes;
  } v = {0};
  char *copy = fy_arena_strndup(p->arena, text.n ? text.p : "", text.n), *end = copy;
  if (!copy) return false;
  switch (fy_proto_type_of(f)) {
    case FY_PROTO_DOUBLE: v.d = strtod(copy, &end); break;
    case FY_PROTO_FLOAT: v.f = strtof(copy, &end); break;
    case FY_PROTO_BOOL:
      v.u32 = fy_view_is(text, "true");
      end = v.u32 || fy_view_is(text, "false") ? copy + text.n : copy;
      break;
    case FY_PROTO_STRING: v.bytes = (ProtobufCBinaryData){text.n, (uint8_t *)copy}; break;
    case FY_PROTO_BYTES: {  // escaped as in C
      fy_wire_lexer lex;
      const char *quoted = fy_arena_printf(p->arena, "\"%.*s\"", (int)text.n, text.p ? text.p : "");
      char *s;
      if (!quoted) return false;
      fy_wire_lex_init(&lex, quoted, text.n + 2);
      if (fy_wire_lex_string(&lex, p->arena, &s, &v.bytes.len, p->err)) return false;
      v.bytes.data = (uint8_t *)s;
      break;
    }
    case FY_PROTO_ENUM: {
      const ProtobufCEnumValue *value =
          protobuf_c_enum_descriptor_get_value_by_name(f->descriptor, copy);
      if (!value) return false;
      v.i32 = value->value;
      end = copy + text.n;
      break;
    }
    case FY_PROTO_UINT64:
    case FY_PROTO_FIXED64: v.u = strtoull(copy, &end, 10); break;
    case FY_PROTO_UINT32:
    case FY_PROTO_FIXED32: v.u32 = (uint32_t)strtoul(copy, &end, 10); break;
    case FY_PROTO_INT64:
    case FY_PROTO_SINT64:
    case FY_PROTO_SFIXED64: v.i = strtoll(copy, &end, 10); break;
    case FY_PROTO_INT32:
    case FY_PROTO_SINT32:
    case FY_PROTO_SFIXED32: v.i32 = (int32_t)strtol(copy, &end, 10); break;
    default: return false;
  }
  f->default_value = fy_arena_memdup(p->arena, &v, sizeof v);
  const bool is_text = f->type == PROTOBUF_C_TYPE_BYTES;
  return f->default_value && (is_text || (text.n && end == copy + text.n));
}

static const ProtobufCType c_types[FY_PROTO_TYPES] = {
    [FY_PROTO_DOUBLE] = PROTOBUF_C_TYPE_DOUBLE,     [FY_PROTO_FLOAT] = PROTOBUF_C_TYPE_FLOAT,
    [FY_PROTO_INT64] = PROTOBUF_C_TYPE_INT64,       [FY_PROTO_UINT64] = PROTOBUF_C_TYPE_UINT64,
    [FY_PROTO_INT32] = PROTOBUF_C_TYPE_INT32,       [FY_PROTO_FIXED64] = PROTOBUF_C_TYPE_FIXED64,
    [FY_PROTO_FIXED32] = PROTOBUF_C_TYPE_FIXED32,   [FY_PROTO_BOOL] = PROTOBUF_C_TYPE_BOOL,
    [FY_PROTO_STRING] = PROTOBUF_C_TYPE_STRING,     [FY_PROTO_GROUP] = PROTOBUF_C_TYPE_MESSAGE,
    [FY_PROTO_MESSAGE] = PROTOBUF_C_TYPE_MESSAGE,   [FY_PROTO_BYTES] = PROTOBUF_C_TYPE_BYTES,
    [FY_PROTO_UINT32] = PROTOBUF_C_TYPE_UINT32,     [FY_PROTO_ENUM] = PROTOBUF_C_TYPE_ENUM,
    [FY_PROTO_SFIXED32] = PROTOBUF_C_TYPE_SFIXED32, [FY_PROTO_SFIXED64] = PROTOBUF_C_TYPE_SFIXED64,
    [FY_PROTO_SINT32] = PROTOBUF_C_TYPE_SINT32,     [FY_PROTO_SINT64] = PROTOBUF_C_TYPE_SINT64};

fy_proto_type fy_proto_type_of(const ProtobufCFieldDescriptor *field) {
  if (field->reserved_flags) return (fy_proto_type)field->reserved_flags;
  for (int i = FY_PROTO_TYPES; i-- > 1;)  // of one that was compiled in
    if (c_types[i] == field->type) return (fy_proto_type)i;
  return FY_PROTO_BYTES;
}

const char *fy_proto_type_name(fy_proto_type t) {
  static const char names[FY_PROTO_TYPES][9] = {
      "",        "double",   "float",    "int64",  "uint64",  "int32", "fixed64",
      "fixed32", "bool",     "string",   "group",  "message", "bytes", "uint32",
      "enum",    "sfixed32", "sfixed64", "sint32", "sint64"};
  return names[t];
}

unsigned fy_proto_wire_type(fy_proto_type t) {
  switch (t) {
    case FY_PROTO_DOUBLE:
    case FY_PROTO_FIXED64:
    case FY_PROTO_SFIXED64: return FY_WALK_FIXED64;
    case FY_PROTO_FLOAT:
    case FY_PROTO_FIXED32:
    case FY_PROTO_SFIXED32: return FY_WALK_FIXED32;
    case FY_PROTO_STRING:
    case FY_PROTO_BYTES:
    case FY_PROTO_MESSAGE: return FY_WALK_LENGTH;
    case FY_PROTO_GROUP: return FY_WALK_GROUP;
    default: return FY_WALK_VARINT;
  }
}

static fy_code field_type(pool *p, const source *s, ProtobufCFieldDescriptor *f) {
  const fy_view name = text_of(s->body, TYPE_NAME);
  uint64_t kind = number_of(s->body, TYPE, 0);
  const bool names_type =
      !kind || kind == FY_PROTO_MESSAGE || kind == FY_PROTO_GROUP || kind == FY_PROTO_ENUM;
  type *t = names_type ? resolve(p, s->scope, name) : NULL;
  if (names_type && !t)
    return BAD(p, "\"%.*s\" is not defined.", (int)name.n, name.p ? name.p : "");
  if (!kind) kind = t->is_enum ? FY_PROTO_ENUM : FY_PROTO_MESSAGE;
  if (kind == FY_PROTO_MESSAGE && s->features.of[MESSAGE_ENCODING] == DELIMITED)
    kind = FY_PROTO_GROUP;
  if (kind >= FY_PROTO_TYPES) return BAD(p, "field %s has an unknown type", f->name);
  if (t && t->is_enum != (kind == FY_PROTO_ENUM))
    return BAD(p, "\"%s\" is not %s.", t->name, t->is_enum ? "a message type" : "an enum type");
  f->reserved_flags = (unsigned)kind;
  f->type = kind == FY_PROTO_STRING ? PROTOBUF_C_TYPE_BYTES : c_types[kind];
  if (t) f->descriptor = t->is_enum ? (const void *)&t->enumeration : &t->message;
  if (kind == FY_PROTO_STRING && s->features.of[UTF8] == VERIFY) f->flags |= FY_PROTO_IS_UTF8;
  return FY_OK;
}

// Presence, lists, defaults. |offset| is the place of its value in a message of protobuf-c, behind which
// is the place of its quantifier; the members of a oneof, which come in a row or not, share neither,
// since each is unpacked alone: what counts is the last.
static fy_code make_field(pool *p, const source *s, unsigned offset, ProtobufCFieldDescriptor *f) {
  const fy_view name = text_of(s->body, 1), preset = text_of(s->body, DEFAULT);
  const uint64_t label = number_of(s->body, LABEL, 1), number = number_of(s->body, NUMBER, 0);
  fy_walk oneof;
  if (!sound(s->body) || !name.n) return BAD(p, "a field has no name");
  f->name = s->extension ? join(p, s->scope, name) : fy_arena_strndup(p->arena, name.p, name.n);
  if (!f->name) return short_of_memory(p, name.n);
  if (!number || number >= 1u << 29)
    return BAD(p, "field %s: Field numbers must be positive integers.", f->name);
  f->id = (uint32_t)number;
  f->offset = offset;
  f->quantifier_offset = offset + 16;
  if (s->extension) f->flags |= FY_PROTO_IS_EXTENSION;
  FY_TRY(field_type(p, s, f));
  const bool message = f->type == PROTOBUF_C_TYPE_MESSAGE;
  const uint8_t presence = s->features.of[PRESENCE];
  const bool alone = !has(s->body, ONEOF, &oneof) && !number_of(s->body, PROTO3_OPTIONAL, 0);
  const bool implicit = presence == IMPLICIT && alone && !message && !s->extension;
  f->label = label == 3 ? PROTOBUF_C_LABEL_REPEATED
             : implicit ? PROTOBUF_C_LABEL_NONE
                        : PROTOBUF_C_LABEL_OPTIONAL;
  if (label == 2 || presence == REQUIRED) f->flags |= FY_PROTO_IS_REQUIRED;
  const unsigned wire = fy_proto_wire_type(fy_proto_type_of(f));
  const bool packs = s->features.of[LIST_ENCODING] == PACKED;
  if (f->label == PROTOBUF_C_LABEL_REPEATED && wire != FY_WALK_LENGTH && wire != FY_WALK_GROUP &&
      number_of(text_of(s->body, OPTIONS), 2, packs))
    f->flags |= PROTOBUF_C_FIELD_FLAG_PACKED;
  if (has(s->body, DEFAULT, &oneof)) {
    if (!parse_default(p, f, preset))
      return BAD(p, "field %s: \"%.*s\" is no default value", f->name, (int)preset.n, preset.p);
  } else if (f->type == PROTOBUF_C_TYPE_ENUM) {
    f->default_value = &((const ProtobufCEnumDescriptor *)f->descriptor)->values[0].value;
  }
  return FY_OK;
}

static int by_number(const void *a, const void *b) {
  const uint32_t x = ((const ProtobufCFieldDescriptor *)a)->id,
                 y = ((const ProtobufCFieldDescriptor *)b)->id;
  return x < y ? -1 : x > y;
}

static fy_code make_message(pool *p, type *t) {
  ProtobufCFieldDescriptor *fields = fy_arena_array(p->arena, t->n + 1, sizeof *fields);
  ProtobufCIntRange *ranges = fy_arena_array(p->arena, t->n + 1, sizeof *ranges);
  if (!fields || !ranges || t->n > 1 << 20) return short_of_memory(p, t->n * sizeof *fields);
  unsigned n = 0;
  const unsigned head = (sizeof(ProtobufCMessage) + 15) / 16 * 16;
  for (const source *s = t->fields; s; s = s->next, n++)
    FY_TRY(make_field(p, s, head + 32 * n, &fields[n]));
  qsort(fields, n, sizeof *fields, by_number);
  for (unsigned i = 0; i < n; i++) {
    ranges[i] = (ProtobufCIntRange){(int)fields[i].id, i};
    if (i && fields[i].id == fields[i - 1].id)
      return BAD(p, "Field number %u has already been used in \"%s\" by field \"%s\".",
                 fields[i].id, t->name, fields[i - 1].name);
  }
  ranges[n] = (ProtobufCIntRange){0, n};
  const char *dot = strrchr(t->name, '.');
  t->message = (ProtobufCMessageDescriptor){.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
                                            .name = t->name,
                                            .short_name = dot ? dot + 1 : t->name,
                                            .sizeof_message = head + 32 * (size_t)n,
                                            .n_fields = n,
                                            .fields = fields,
                                            .n_field_ranges = n,
                                            .field_ranges = ranges};
  return FY_OK;
}

static fy_code make_all(pool *p) {
  for (source *s = p->extensions, *next; s; s = next) {
    next = s->next;
    const fy_view name = text_of(s->body, EXTENDEE);
    type *t = resolve(p, s->scope, name);
    if (!t || t->is_enum)
      return BAD(p, "Failed to load FileDescriptorProto: \"%.*s\" is not defined.", (int)name.n,
                 name.p ? name.p : "");
    s->next = t->fields;
    t->fields = s;
    t->n++;
  }
  for (int messages = 0; messages < 2; messages++)  // enums first: fields ask for their values
    for (type *t = p->first; t; t = t->next) {
      if (t->is_enum == messages) continue;
      fy_code code = messages ? make_message(p, t) : make_enum(p, t);
      if (code == FY_INVALID_ARGUMENT)
        fy_error_prepend(p->err, "Failed to load FileDescriptorProto: %s: ", t->file);
      if (code) return code;
    }
  return FY_OK;
}

fy_code fy_proto_find(fy_view set, fy_view name, fy_arena *arena,
                      const ProtobufCMessageDescriptor **out, fy_error *err) {
  pool p = {.arena = arena, .err = err};
  p.last = &p.first;
  *out = NULL;
  fy_map_init(&p.types);
  fy_map_init(&p.files);
  fy_code code = FY_OK;
  fy_walk w = fy_walk_of(set);
  while (!code && fy_walk_next(&w))
    if (w.number == 1) {
      code = sound(w.bytes) ? declare_file(&p, w.bytes)
                            : fy_fail(err, FY_DATA_LOSS, "a file of the set is malformed");
    }
  if (!code && w.at != w.end) code = fy_fail(err, FY_DATA_LOSS, "the set is malformed");
  if (!code) code = make_all(&p);
  if (!code) {
    const type *t = name.n ? fy_map_get(&p.types, name.p, name.n) : NULL;
    if (t && !t->is_enum) *out = &t->message;
  }
  fy_map_free(&p.types);
  fy_map_free(&p.files);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
// spec_parse.c: a scanner for the builder's text forms. Where TensorFlow is lenient (spaces, a
// comma before the closing brace) so are we; every complaint is worded as TensorFlow words it.

#include "ops/spec_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attr_value.pb-c.h"
#include "ops/spec_proto.h"
#include "ops/spec_table.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

typedef struct parser {
  const char *p;      // what is left
  const char *orig;   // the whole text, for messages
  const char *where;  // "Attr", "Input", "Output"
  fy_op_spec *spec;
  fy_arena *arena;
  fy_str *errors;  // one line per text that did not parse
  bool short_of_memory;
} parser;

// Records a complaint; always false.
static bool complain(parser *s, const char *format, ...) FY_PRINTF(2, 3);
static bool complain(parser *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (s->errors->len) fy_str_add(s->errors, "\n");
  fy_str_vprintf(s->errors, format, args);
  fy_str_printf(s->errors, " from %s(\"%s\") for Op %s", s->where, s->orig, s->spec->name);
  va_end(args);
  return false;
}

static bool no_memory(parser *s) {
  s->short_of_memory = true;
  return false;
}

static void skip_space(parser *s) {
  while (isspace((unsigned char)*s->p)) s->p++;
}

static bool eat(parser *s, const char *prefix) {
  size_t n = strlen(prefix);
  if (strncmp(s->p, prefix, n) != 0) return false;
  s->p += n;
  return true;
}

// A letter, then letters, digits and underscores.
static fy_view name_at(const char *p, bool lower_only) {
  size_t n = 0;
  if (lower_only ? !islower((unsigned char)*p) : !isalpha((unsigned char)*p))
    return (fy_view){p, 0};
  while (p[n] == '_' || isdigit((unsigned char)p[n]) ||
         (lower_only ? islower((unsigned char)p[n]) : isalpha((unsigned char)p[n])))
    n++;
  return (fy_view){p, n};
}

// "name :" with any spaces; nothing is consumed unless all of it is there.
static bool read_name(parser *s, bool lower_only, const char **out) {
  fy_view name = name_at(s->p, lower_only);
  const char *start = s->p;
  if (!name.n) return false;
  s->p += name.n;
  skip_space(s);
  if (!eat(s, ":")) {
    s->p = start;
    return false;
  }
  skip_space(s);
  *out = fy_arena_strndup(s->arena, name.p, name.n);
  return *out ? true : no_memory(s);
}

// ---------------------------------------------------------------- attributes
static const fy_dtype number_types[] = {
    FY_FLOAT,  FY_DOUBLE,     FY_INT32,  FY_UINT8,  FY_INT16,    FY_INT8,   FY_COMPLEX64,
    FY_INT64,  FY_QINT8,      FY_QUINT8, FY_QINT32, FY_BFLOAT16, FY_QINT16, FY_QUINT16,
    FY_UINT16, FY_COMPLEX128, FY_HALF,   FY_UINT32, FY_UINT64,   FY_INVALID};
static const fy_dtype quantized_types[] = {FY_QINT8,  FY_QUINT8,  FY_QINT32,
                                           FY_QINT16, FY_QUINT16, FY_INVALID};
static const fy_dtype real_types[] = {FY_FLOAT,  FY_DOUBLE, FY_INT32,    FY_UINT8,  FY_INT16,
                                      FY_INT8,   FY_INT64,  FY_BFLOAT16, FY_UINT16, FY_HALF,
                                      FY_UINT32, FY_UINT64, FY_INVALID};

static const fy_dtype *compound_type(fy_view name) {
  if (fy_view_is(name, "numbertype") || fy_view_is(name, "numerictype")) return number_types;
  if (fy_view_is(name, "quantizedtype")) return quantized_types;
  // TensorFlow has this spelling.
  if (fy_view_is(name, "realnumbertype") || fy_view_is(name, "realnumberictype")) return real_types;
  return NULL;
}

typedef struct allowed {
  fy_dtype types[256];
  const char *strings[256];
  size_t num_types, num_strings;
} allowed;

static void allow_all(allowed *a, const fy_dtype *types) {
  for (; *types && a->num_types < 255; types++) a->types[a->num_types++] = *types;
}

// 'text' or "text", escapes untouched; then spaces.
static bool read_quoted(parser *s, fy_view *out) {
  const char *start = s->p;
  char quote = *s->p;
  if (quote != '"' && quote != '\'') return false;
  s->p++;
  while (*s->p && *s->p != quote) s->p += s->p[0] == '\\' && s->p[1] ? 2 : 1;
  if (*s->p != quote) {
    s->p = start;
    return false;
  }
  *out = (fy_view){start + 1, (size_t)(s->p - start - 1)};
  s->p++;
  skip_space(s);
  return true;
}

static bool unescape(parser *s, fy_view text, const char **out) {
  static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
  char *copy = fy_arena_alloc(s->arena, text.n + 1);
  size_t n = 0;
  if (!copy) return no_memory(s);
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c == '\\' && i + 1 < text.n) {
      c = text.p[++i];
      const char *at = strchr(from, c);
      if (at && c) {
        c = to[at - from];
      } else if (c >= '0' && c <= '7') {
        int value = c - '0';
        for (int k = 0; k < 2 && i + 1 < text.n && text.p[i + 1] >= '0' && text.p[i + 1] <= '7';
             k++)
          value = value * 8 + (text.p[++i] - '0');
        c = (char)value;
      } else {
        return complain(s, "Trouble unescaping \"%.*s\", got error: Unknown escape sequence: \\%c",
                        (int)text.n, text.p, c);
      }
    }
    copy[n++] = c;
  }
  copy[n] = 0;
  *out = copy;
  return true;
}

// After "{": { "foo", "bar" }
static bool read_allowed_strings(parser *s, allowed *a, fy_view first) {
  for (fy_view text = first;;) {
    if (a->num_strings == 255) return complain(s, "Too many allowed strings");
    if (!unescape(s, text, &a->strings[a->num_strings])) return false;
    a->num_strings++;
    if (!eat(s, ",")) {
      return eat(s, "}") || complain(s, "Expected , or } after strings in list, not: '%s'", s->p);
    }
    skip_space(s);
    if (eat(s, "}")) return true;
    if (!read_quoted(s, &text)) return complain(s, "Trouble parsing allowed string at '%s'", s->p);
  }
}

// After "{": { int32, numbertype }
static bool read_allowed_types(parser *s, allowed *a) {
  for (;;) {
    fy_view name = {s->p, 0};
    while (islower((unsigned char)name.p[name.n]) || isdigit((unsigned char)name.p[name.n]) ||
           name.p[name.n] == '_')
      name.n++;
    if (!name.n) return complain(s, "Trouble parsing type string at '%s'", s->p);
    s->p += name.n;
    skip_space(s);
    const fy_dtype *compound = compound_type(name);
    fy_dtype type;
    if (compound) {
      allow_all(a, compound);
    } else if (fy_dtype_parse(name.p, name.n, &type) && !fy_dtype_is_ref(type)) {
      if (a->num_types < 255) a->types[a->num_types++] = type;
    } else {
      return complain(s, "Unrecognized type string '%.*s'", (int)name.n, name.p);
    }
    if (!eat(s, ",")) {
      return eat(s, "}") || complain(s, "Expected , or } after types in list, not: '%s'", s->p);
    }
    skip_space(s);
    if (eat(s, "}")) return true;
  }
}

// "int", "numbertype", "{…}": sets |*type| to the plain type's name.
static bool read_attr_type(parser *s, allowed *a, const char **type) {
  static const char *const plain[] = {"string", "int",   "float",  "bool",
                                      "type",   "shape", "tensor", "func"};
  static const char *const compound[] = {"numbertype", "numerictype", "quantizedtype",
                                         "realnumbertype", "realnumberictype"};
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
    if (eat(s, plain[i])) {
      *type = plain[i];
      return true;
    }
  }
  for (size_t i = 0; i < sizeof compound / sizeof compound[0]; i++) {
    if (eat(s, compound[i])) {
      *type = "type";
      allow_all(a, compound_type(fy_view_of(compound[i])));
      return true;
    }
  }
  if (eat(s, "{")) {
    skip_space(s);
    fy_view text;
    if (read_quoted(s, &text)) {
      *type = "string";
      return read_allowed_strings(s, a, text);
    }
    *type = "type";
    return read_allowed_types(s, a);
  }
  eat(s, "any");  // known to TensorFlow, but not for ops
  return complain(s, "Trouble parsing type string at '%s'", s->p);
}

static bool store_allowed(parser *s, const allowed *a, fy_attr_spec *attr) {
  if (a->num_types) {
    fy_dtype *types = fy_arena_array(s->arena, a->num_types + 1, sizeof *types);
    if (!types) return no_memory(s);
    memcpy(types, a->types, a->num_types * sizeof *types);
    for (size_t i = 0; i < a->num_types; i++) attr->allowed_types |= 1ull << a->types[i];
    attr->allowed_list = types;
  }
  if (a->num_strings) {
    const char **strings = fy_arena_array(s->arena, a->num_strings + 1, sizeof *strings);
    if (!strings) return no_memory(s);
    memcpy(strings, a->strings, a->num_strings * sizeof *strings);
    attr->allowed_strings = strings;
  }
  return true;
}

// How much of |text| counts: TensorFlow's reader skips words that name no field of AttrValue, so
// that "1 junk" is 1.
static size_t without_junk(const char *text, size_t n) {
  static const char *const fields[] = {"s",     "i",      "f",    "b",    "type",
                                       "shape", "tensor", "list", "func", "placeholder"};
  for (;;) {
    while (n && isspace((unsigned char)text[n - 1])) n--;
    size_t at = n;
    while (at && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')) at--;
    if (at == n || at == 0 || !isspace((unsigned char)text[at - 1])) return n;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
      if (fy_view_is((fy_view){text + at, n - at}, fields[i])) return n;
    }
    n = at;
  }
}

// A tensor keeps the form it was written in, to be shown again.
static bool keep_form(parser *s, const Tensorflow__AttrValue *value, fy_attr *out) {
  if (value->value_case != TENSORFLOW__ATTR_VALUE__VALUE_TENSOR) return true;
  size_t n = protobuf_c_message_get_packed_size(&value->tensor->base);
  fy_view *form = fy_arena_alloc(s->arena, sizeof *form);
  uint8_t *bytes = fy_arena_alloc(s->arena, n);
  if (!form || !bytes) return no_memory(s);
  *form = (fy_view){(const char *)bytes, protobuf_c_message_pack(&value->tensor->base, bytes)};
  out->v.form = form;
  return true;
}

// A default is protobuf text of AttrValue's field for the type; a list must wear its brackets.
static bool read_default(parser *s, fy_attr_spec *attr) {
  static const char *const fields[] = {"", "s", "i", "f", "b", "type", "shape", "tensor", "func"};
  size_t n = strlen(s->p);
  while (n && isspace((unsigned char)s->p[n - 1])) n--;
  fy_str text;
  fy_str_init(&text);
  bool ok = true;
  if (attr->is_list) {
    size_t inner = n >= 2 ? 1 + strspn(s->p + 1, " \t\n\v\f\r") : 0;
    ok = n >= 2 && s->p[0] == '[' && s->p[n - 1] == ']';
    if (ok && inner == n - 1) {  // "[]", which protobuf text cannot say
      attr->default_value = (fy_attr){.kind = attr->kind, .is_list = true};
      return true;
    }
    fy_str_printf(&text, "list { %s: %s }", fields[attr->kind], s->p);
  } else {
    fy_str_printf(&text, "%s: %.*s", fields[attr->kind], (int)without_junk(s->p, n), s->p);
  }
  ProtobufCMessage *message = NULL;
  const Tensorflow__AttrValue *value;
  fy_error ignored;
  fy_error_init(&ignored);
  ok = ok && !text.failed &&
       !fy_wire_text_parse(&tensorflow__attr_value__descriptor, text.p, text.len, s->arena,
                           &message, &ignored);
  value = (const Tensorflow__AttrValue *)message;
  ok = ok && !fy_wire_attr_read(value, s->arena, NULL, &attr->default_value, &ignored) &&
       keep_form(s, value, &attr->default_value);
  if (text.failed || ignored.code == FY_RESOURCE_EXHAUSTED) s->short_of_memory = true;
  fy_error_clear(&ignored);
  fy_str_free(&text);
  return ok || complain(s, "Could not parse default value '%s'", s->p);
}

static bool read_minimum(parser *s, fy_attr_spec *attr) {
  char *end = NULL;
  const char *start = s->p;
  const char *p = start;
  while (isspace((unsigned char)*p)) p++;
  errno = 0;
  long long value = strtoll(p, &end, 10);
  if (end == p || *p == '+' || errno) {
    return complain(s, "Could not parse integer lower limit after '>=', found '%s' instead", start);
  }
  attr->has_minimum = true;
  attr->minimum = value;
  s->p = end;
  skip_space(s);
  return true;
}

// |word| and an opening bracket.
static bool read_open(parser *s, const char *word) {
  const char *start = s->p;
  if (eat(s, word)) {
    skip_space(s);
    if (eat(s, "(")) {
      skip_space(s);
      return true;
    }
  }
  s->p = start;
  return false;
}

static bool read_attr(parser *s, fy_attr_spec *attr) {
  allowed a;
  a.num_types = a.num_strings = 0;
  const char *type = NULL;
  attr->name = "";
  attr->type = "";
  if (!read_name(s, false, &attr->name)) {
    return s->short_of_memory ? false : complain(s, "Trouble parsing '<name>:'");
  }
  bool is_list = read_open(s, "list");
  if (!read_attr_type(s, &a, &type)) return false;
  skip_space(s);
  if (is_list) {
    if (!eat(s, ")")) return complain(s, "Expected ) to close 'list(', not: '%s'", s->p);
    skip_space(s);
  }
  char full[32];
  snprintf(full, sizeof full, is_list ? "list(%s)" : "%s", type);
  attr->type = fy_spec_type_name(full, strlen(full), &attr->kind, &attr->is_list);
  if (!attr->type) return complain(s, "Trouble parsing type string at '%s'", s->p);
  if (!store_allowed(s, &a, attr)) return false;
  if ((is_list || attr->kind == FY_ATTR_INT) && eat(s, ">=")) {
    if (!read_minimum(s, attr)) return false;
  }
  if (eat(s, "=")) {
    skip_space(s);
    attr->has_default = true;
    return read_default(s, attr);
  }
  return !*s->p || complain(s, "Extra '%s' unparsed at the end", s->p);
}

// ---------------------------------------------------------------- arguments
static fy_attr_spec *find_attr(parser *s, fy_view name) {
  fy_attr_spec *attrs = (fy_attr_spec *)s->spec->attrs;  // ours until the spec is handed out
  for (size_t i = 0; i < s->spec->num_attrs; i++) {
    if (fy_view_is(name, attrs[i].name)) return &attrs[i];
  }
  return NULL;
}

// "<name|type>" or "<name> * <name|type>"
static bool read_arg_type(parser *s, fy_arg_spec *arg) {
  fy_view first = name_at(s->p, false);
  if (!first.n) {
    return complain(s, "Trouble parsing either a type or an attr name at '%s'", s->p);
  }
  s->p += first.n;
  skip_space(s);
  const char *star = s->p;
  if (eat(s, "*")) {
    skip_space(s);
    fy_view second = name_at(s->p, false);
    if (second.n) {
      s->p += second.n;
      skip_space(s);
      arg->number_attr = fy_arena_strndup(s->arena, first.p, first.n);
      if (!arg->number_attr) return no_memory(s);
      first = second;
    } else {
      s->p = star;
    }
  }
  if (fy_dtype_parse(first.p, first.n, &arg->type) && first.p[0] != 'D') return true;
  arg->type = FY_INVALID;
  const fy_attr_spec *attr = find_attr(s, first);
  if (!attr) return complain(s, "Reference to unknown attr '%.*s'", (int)first.n, first.p);
  if (attr->kind != FY_ATTR_TYPE) {
    return complain(s, "Reference to attr '%s' with type %s that isn't type or list(type)",
                    attr->name, attr->type);
  }
  if (attr->is_list) {
    arg->type_list_attr = attr->name;
  } else {
    arg->type_attr = attr->name;
  }
  return true;
}

static bool read_arg(parser *s, fy_arg_spec *arg) {
  arg->name = "";
  if (!read_name(s, true, &arg->name)) {
    return s->short_of_memory ? false : complain(s, "Trouble parsing 'name:'");
  }
  arg->is_ref = read_open(s, "Ref");
  if (!read_arg_type(s, arg)) return false;
  if (arg->is_ref) {
    if (!eat(s, ")")) {
      return complain(s, "Did not find closing ')' for 'Ref(', instead found: '%s'", s->p);
    }
    skip_space(s);
  }
  if (*s->p) return complain(s, "Extra '%s' unparsed at the end", s->p);
  // What counts tensors is at least one, unless said otherwise.
  const char *counter = arg->number_attr ? arg->number_attr : arg->type_list_attr;
  fy_attr_spec *attr = counter ? find_attr(s, fy_view_of(counter)) : NULL;
  if (attr && !attr->has_minimum) {
    attr->has_minimum = true;
    attr->minimum = 1;
  }
  if (arg->type == FY_RESOURCE) s->spec->flags |= FY_SPEC_STATEFUL;
  return true;
}

static const fy_arg_spec *read_args(parser *s, const char *const *texts, size_t n,
                                    uint16_t *out_count) {
  fy_arg_spec *args = fy_arena_array(s->arena, n + 1, sizeof *args);
  if (!args) {
    s->short_of_memory = true;
    return NULL;
  }
  for (size_t i = 0; i < n && !s->short_of_memory; i++) {
    s->p = s->orig = texts[i];
    read_arg(s, &args[i]);
  }
  *out_count = (uint16_t)n;
  return args;
}

fy_code fy_spec_parse(const fy_spec_text *text, fy_arena *arena, fy_op_spec **out, fy_error *err) {
  *out = NULL;
  if (text->num_attrs > 1000 || text->num_inputs > 10000 || text->num_outputs > 10000) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Op %s has too many attributes or arguments",
                   text->name);
  }
  fy_op_spec *spec = fy_arena_zalloc(arena, sizeof *spec);
  fy_attr_spec *attrs = fy_arena_array(arena, text->num_attrs + 1, sizeof *attrs);
  if (!spec || !attrs) return fy_fail_oom(err, sizeof *spec);
  fy_str errors;
  fy_str_init(&errors);
  parser s = {.where = "Attr", .spec = spec, .arena = arena, .errors = &errors};
  spec->name = fy_arena_strdup(arena, text->name);
  spec->flags = text->flags;
  spec->cpu_kernels = spec->kernels = "";
  spec->deprecated_version = text->deprecated_version;
  spec->attrs = attrs;
  if (text->deprecated_text) {
    spec->deprecated_text = fy_arena_strdup(arena, text->deprecated_text);
    if (!spec->deprecated_text) s.short_of_memory = true;
  }
  if (!spec->name) s.short_of_memory = true;
  for (size_t i = 0; i < text->num_attrs && !s.short_of_memory; i++) {
    s.p = s.orig = text->attrs[i];
    read_attr(&s, &attrs[i]);
    spec->num_attrs++;
  }
  s.where = "Input";
  if (!s.short_of_memory) {
    spec->inputs = read_args(&s, text->inputs, text->num_inputs, &spec->num_inputs);
  }
  s.where = "Output";
  if (!s.short_of_memory) {
    spec->outputs = read_args(&s, text->outputs, text->num_outputs, &spec->num_outputs);
  }
  fy_code code = FY_OK;
  if (s.short_of_memory || errors.failed) {
    code = fy_fail_oom(err, sizeof *spec);
  } else if (errors.len) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "%s", errors.p);
  } else {
    code = fy_spec_validate(spec, false, err);
  }
  fy_str_free(&errors);
  if (!code) *out = spec;
  return code;
}

// ---------------------------------------------------------------- validation
static void append_opdef(const fy_op_spec *spec, fy_error *err) {
  fy_arena tmp;
  fy_str text;
  Tensorflow__OpDef *def;
  fy_arena_init(&tmp);
  fy_str_init(&text);
  if (!fy_spec_to_opdef(spec, &tmp, &def, NULL)) fy_wire_text_print_line(&text, &def->base);
  fy_error_append(err, "; in OpDef: goo.gle/debug %s", fy_str_text(&text));
  fy_str_free(&text);
  fy_arena_free(&tmp);
}

static fy_code invalid(const fy_op_spec *spec, fy_error *err, const char *format, ...)
    FY_PRINTF(3, 4);
static fy_code invalid(const fy_op_spec *spec, fy_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fy_failv(err, FY_INVALID_ARGUMENT, format, args);
  va_end(args);
  if (err) append_opdef(spec, err);
  return FY_INVALID_ARGUMENT;
}

static const char *name_of(const fy_op_spec *spec, size_t i) {
  if (i < spec->num_attrs) return spec->attrs[i].name;
  i -= spec->num_attrs;
  return i < spec->num_inputs ? spec->inputs[i].name : spec->outputs[i - spec->num_inputs].name;
}

static fy_code check_unique(const fy_op_spec *spec, fy_error *err) {
  size_t n = (size_t)spec->num_attrs + spec->num_inputs + spec->num_outputs;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) {
      if (strcmp(name_of(spec, i), name_of(spec, k)) != 0) continue;
      return invalid(spec, err, "Duplicate name: %s", name_of(spec, i));
    }
  }
  return FY_OK;
}

static fy_code check_arg(const fy_op_spec *spec, const fy_arg_spec *arg, bool output,
                         fy_error *err) {
  const char *side = output ? "output" : "input";
  const char *const refs[] = {arg->number_attr, arg->type_attr, arg->type_list_attr};
  static const char *const types[] = {"int", "type", "list(type)"};
  if (arg->number_attr && arg->type_list_attr) {
    return invalid(spec, err, "Can't have both number_attr and type_list_attr for %s '%s'", side,
                   arg->name);
  }
  int said = (arg->type != FY_INVALID) + (arg->type_attr != NULL) + (arg->type_list_attr != NULL);
  if (said != 1) {
    return invalid(spec, err, "%s type, type_attr, type_list_attr for %s '%s'",
                   said ? "Exactly one of" : "Missing", side, arg->name);
  }
  for (size_t i = 0; i < 3; i++) {
    if (!refs[i]) continue;
    const fy_attr_spec *attr = fy_spec_attr(spec, refs[i]);
    if (!attr) {
      return invalid(spec, err, "No attr with name '%s' for %s '%s'", refs[i], side, arg->name);
    }
    if (strcmp(attr->type, types[i]) != 0) {
      return invalid(spec, err, "Attr '%s' used as %s for %s '%s' has type %s != %s", attr->name,
                     i == 0   ? "length"
                     : i == 1 ? "type_attr"
                              : "type_list_attr",
                     side, arg->name, attr->type, types[i]);
    }
    if (i != 1 && !attr->has_minimum) {
      return invalid(spec, err, "Attr '%s' used as length for %s '%s' must have minimum",
                     attr->name, side, arg->name);
    }
    if (i != 1 && attr->minimum < 0) {
      return invalid(spec, err, "Attr '%s' used as length for %s '%s' must have minimum >= 0",
                     attr->name, side, arg->name);
    }
  }
  return FY_OK;
}

fy_code fy_spec_validate(const fy_op_spec *spec, bool any_name, fy_error *err) {
  const char *first = spec->name;
  while (*first == '_') first++;
  size_t rest = strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_>");
  if (!any_name && (!isupper((unsigned char)*first) || first[rest])) {
    return invalid(spec, err, "Invalid name: %s (Did you use CamelCase?)", spec->name);
  }
  if (!any_name) FY_TRY(check_unique(spec, err));  // a function's may be namesakes
  for (size_t i = 0; i < spec->num_attrs; i++) {
    const fy_attr_spec *attr = &spec->attrs[i];
    if (attr->has_minimum && !attr->is_list && attr->kind != FY_ATTR_INT) {
      return invalid(spec, err, "Attr '%s' has minimum for unsupported type %s", attr->name,
                     attr->type);
    }
    if (!attr->has_default) continue;
    fy_code code = fy_spec_check_attr(attr, &attr->default_value, err);
    if (code) {
      if (err) fy_error_append(err, "\n\t in Op '%s'", spec->name);
      return code;
    }
  }
  for (size_t i = 0; i < spec->num_inputs; i++) {
    FY_TRY(check_arg(spec, &spec->inputs[i], false, err));
  }
  for (size_t i = 0; i < spec->num_outputs; i++) {
    FY_TRY(check_arg(spec, &spec->outputs[i], true, err));
  }
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// spec_table.c: unpacks a line of the embedded table and cuts it, in place, into a spec.
// The line lives in the spec's arena, so words are pointers into it: one copy, no second pass.
// The text comes from our own build, but every read is checked all the same: a damaged table is an
// INTERNAL error, never a wild pointer.

#include "ops/spec_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Made by tools/embed_opdefs.c, which explains the packing.
extern const uint32_t fy_opdefs_count;
extern const unsigned char fy_opdefs_names[], fy_opdefs_text[];
extern const uint16_t fy_opdefs_pairs[][2];
extern const uint32_t fy_opdefs_name_at[], fy_opdefs_line_at[];

size_t fy_spec_table_count(void) {
  return fy_opdefs_count;
}

const char *fy_spec_table_name(size_t line) {
  return (const char *)fy_opdefs_names + fy_opdefs_name_at[line];
}

size_t fy_spec_table_find(const char *name, size_t len) {
  size_t low = 0, high = fy_opdefs_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    const char *at = fy_spec_table_name(mid);
    size_t at_len = fy_opdefs_name_at[mid + 1] - fy_opdefs_name_at[mid] - 1;
    int order = memcmp(at, name, at_len < len ? at_len : len);
    if (order == 0 && at_len == len) return mid;
    if (order < 0 || (order == 0 && at_len < len)) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return fy_opdefs_count;
}

// Unpacks into |out| (NULL: only counts) and returns the length.
static size_t unpack(const unsigned char *p, const unsigned char *end, char *out) {
  enum { FIRST = 128, LONG = 240 };  // codes of one byte and of two
  uint16_t stack[64];                // the packer nests pairs less deeply than that
  size_t len = 0;
  while (p < end) {
    size_t top = 0;
    unsigned code = *p++;
    if (code >= LONG && p < end) code = code << 8 | *p++;
    for (;;) {
      if (code < FIRST) {
        if (out) out[len] = (char)code;
        len++;
        if (!top) break;
        code = stack[--top];
      } else {
        const uint16_t *pair =
            fy_opdefs_pairs[code < 256 ? code - FIRST : code - (LONG << 8) + LONG - FIRST];
        if (top < sizeof stack / sizeof stack[0]) stack[top++] = pair[1];
        code = pair[0];
      }
    }
  }
  return len;
}

static const struct {
  const char *name;
  fy_attr_kind kind;
} kinds[] = {
    {"list(string)", FY_ATTR_STRING}, {"list(int)", FY_ATTR_INT},
    {"list(float)", FY_ATTR_FLOAT},   {"list(bool)", FY_ATTR_BOOL},
    {"list(type)", FY_ATTR_TYPE},     {"list(shape)", FY_ATTR_SHAPE},
    {"list(tensor)", FY_ATTR_TENSOR}, {"list(func)", FY_ATTR_FUNC},
    {"string", FY_ATTR_STRING},       {"int", FY_ATTR_INT},
    {"float", FY_ATTR_FLOAT},         {"bool", FY_ATTR_BOOL},
    {"type", FY_ATTR_TYPE},           {"shape", FY_ATTR_SHAPE},
    {"tensor", FY_ATTR_TENSOR},       {"func", FY_ATTR_FUNC},
};

const char *fy_spec_type_name(const char *text, size_t n, fy_attr_kind *kind, bool *is_list) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, text, n) == 0) {
      *kind = kinds[i].kind;
      *is_list = i < 8;
      return kinds[i].name;
    }
  }
  return NULL;
}

typedef struct reader {
  char *p;  // rest of the column, NUL-terminated
  fy_arena *arena;
  fy_error *err;
  const char *op;
} reader;

static fy_code bad(reader *r, const char *what) {
  return fy_fail(r->err, FY_INTERNAL, "Op table is damaged: %s of op %s near '%.20s'", what, r->op,
                 r->p);
}

static bool eat(reader *r, char c) {
  if (*r->p != c) return false;
  r->p++;
  return true;
}

// Cuts the word up to one of |stops| (which stays) out of the column without writing to it.
static fy_view word(reader *r, const char *stops) {
  size_t n = strcspn(r->p, stops);
  fy_view v = {r->p, n};
  r->p += n;
  return v;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// 'text' with \' \\ \xHH, unescaped where it stands and NUL-terminated.
static fy_code read_string(reader *r, fy_view *out) {
  if (!eat(r, '\'')) return bad(r, "string");
  char *to = r->p;
  out->p = to;
  while (*r->p && *r->p != '\'') {
    char c = *r->p++;
    if (c == '\\' && *r->p == 'x') {
      int high = hex_digit(r->p[1]);
      int low = high < 0 ? -1 : hex_digit(r->p[2]);
      if (low < 0) return bad(r, "escape");
      c = (char)(high << 4 | low);
      r->p += 3;
    } else if (c == '\\' && *r->p) {
      c = *r->p++;
    }
    *to++ = c;
  }
  out->n = (size_t)(to - out->p);
  if (!eat(r, '\'')) return bad(r, "string");
  *to = 0;  // at the latest the closing quote's place
  return FY_OK;
}

static fy_code read_int(reader *r, int64_t *out) {
  char *end = NULL;
  *out = strtoll(r->p, &end, 10);
  if (end == r->p) return bad(r, "number");
  r->p = end;
  return FY_OK;
}

// Not strtof: the host program's locale must not matter. Exact for what the table holds (at most
// nine digits, exponents within 22), because both factors are exact in double.
static fy_code read_float(reader *r, float *out) {
  bool negative = eat(r, '-');
  if (strncmp(r->p, "inf", 3) == 0 || strncmp(r->p, "nan", 3) == 0) {
    *out = *r->p == 'i' ? INFINITY : NAN;
    if (negative) *out = -*out;
    r->p += 3;
    return FY_OK;
  }
  double mantissa = 0;
  int exponent = 0;
  bool digits = false, after_point = false;
  for (;; r->p++) {
    if (*r->p == '.' && !after_point) {
      after_point = true;
    } else if (*r->p >= '0' && *r->p <= '9') {
      mantissa = mantissa * 10 + (*r->p - '0');
      exponent -= after_point;
      digits = true;
    } else {
      break;
    }
  }
  if (!digits) return bad(r, "float");
  if (eat(r, 'e')) {
    eat(r, '+');
    int64_t e;
    FY_TRY(read_int(r, &e));
    if (e < -400 || e > 400) return bad(r, "float");
    exponent += (int)e;
  }
  double power = 1;
  for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--) power *= 10;
  double value = exponent < 0 ? mantissa / power : mantissa * power;
  *out = (float)(negative ? -value : value);
  return FY_OK;
}

static fy_code read_type(reader *r, fy_dtype *out) {
  fy_view v = word(r, "|}];, =[\t");
  if (!fy_dtype_parse(v.p, v.n, out)) return bad(r, "type");
  return FY_OK;
}

static fy_code read_shape(reader *r, fy_pshape *out) {
  *out = (fy_pshape){-1, NULL};
  if (eat(r, '?')) return FY_OK;
  if (!eat(r, '[')) return bad(r, "shape");
  int64_t dims[8];
  int32_t rank = 0;
  while (*r->p != ']') {
    if (rank == 8) return bad(r, "rank");
    if (eat(r, '?')) {
      dims[rank++] = -1;
    } else {
      FY_TRY(read_int(r, &dims[rank]));
      rank++;
    }
    if (!eat(r, ',') && *r->p != ']') return bad(r, "shape");
  }
  r->p++;
  out->rank = rank;
  out->dims = fy_arena_memdup(r->arena, dims, (size_t)rank * sizeof dims[0]);
  return out->dims ? FY_OK : fy_fail_oom(r->err, sizeof dims);
}

// uint8[4]=255,0,0,255
static fy_code read_tensor(reader *r, fy_tensor **out) {
  fy_dtype dtype;
  fy_pshape shape;
  FY_TRY(read_type(r, &dtype));
  FY_TRY(read_shape(r, &shape));
  if (!eat(r, '=') || (dtype != FY_UINT8 && dtype != FY_INT32)) return bad(r, "tensor");
  fy_tensor *t = NULL;
  FY_TRY(fy_tensor_new(dtype, shape.rank, shape.dims, &t, r->err));
  fy_code code = FY_OK;
  for (int64_t i = 0; i < t->count && !code; i++) {
    int64_t value = 0;
    code = i && !eat(r, ',') ? bad(r, "tensor") : read_int(r, &value);
    if (dtype == FY_UINT8) {
      ((uint8_t *)t->data)[i] = (uint8_t)value;
    } else {
      ((int32_t *)t->data)[i] = (int32_t)value;
    }
  }
  fy_attr held = {0};
  if (!code) held = fy_attr_tensor(r->arena, t);
  fy_tensor_release(t);  // the arena holds its own reference
  if (!code && held.kind == FY_ATTR_NONE) code = fy_fail_oom(r->err, sizeof *t);
  *out = code ? NULL : t;
  return code;
}

static fy_code read_bool(reader *r, bool *out) {
  fy_view v = word(r, "]; \t");
  *out = fy_view_is(v, "true");
  return *out || fy_view_is(v, "false") ? FY_OK : bad(r, "bool");
}

static fy_code read_func(reader *r, fy_func_attr *out) {
  out->name = word(r, "]; \t");
  return FY_OK;
}

static fy_code read_scalar(reader *r, fy_attr_kind kind, fy_attr *out) {
  out->kind = kind;
  switch (kind) {
    case FY_ATTR_STRING: return read_string(r, &out->v.s);
    case FY_ATTR_INT: return read_int(r, &out->v.i);
    case FY_ATTR_FLOAT: return read_float(r, &out->v.f);
    case FY_ATTR_BOOL: return read_bool(r, &out->v.b);
    case FY_ATTR_TYPE: return read_type(r, &out->v.type);
    case FY_ATTR_SHAPE: return read_shape(r, &out->v.shape);
    case FY_ATTR_TENSOR: return read_tensor(r, &out->v.tensor);
    case FY_ATTR_FUNC:
      out->v.func = fy_arena_zalloc(r->arena, sizeof *out->v.func);
      if (!out->v.func) return fy_fail_oom(r->err, sizeof *out->v.func);
      return read_func(r, out->v.func);
    default: return bad(r, "attribute");
  }
}

static fy_code read_item(reader *r, fy_attr *list, uint32_t i) {
  switch (list->kind) {
    case FY_ATTR_STRING: return read_string(r, &list->v.strings[i]);
    case FY_ATTR_INT: return read_int(r, &list->v.ints[i]);
    case FY_ATTR_FLOAT: return read_float(r, &list->v.floats[i]);
    case FY_ATTR_BOOL: return read_bool(r, &list->v.bools[i]);
    case FY_ATTR_TYPE: return read_type(r, &list->v.types[i]);
    case FY_ATTR_SHAPE: return read_shape(r, &list->v.shapes[i]);
    case FY_ATTR_TENSOR: return read_tensor(r, &list->v.tensors[i]);
    case FY_ATTR_FUNC: return read_func(r, &list->v.funcs[i]);
    default: return bad(r, "list");
  }
}

static size_t count_char(const char *s, char c) {
  size_t n = 0;
  for (; *s; s++) n += *s == c;
  return n;
}

static fy_code read_list(reader *r, fy_attr_kind kind, fy_attr *out) {
  out->kind = kind;
  out->is_list = true;
  if (!eat(r, '[')) return bad(r, "list");
  if (eat(r, ']')) return FY_OK;
  size_t room = count_char(r->p, ';') + 1;  // of the whole rest: an upper bound
  out->v.strings = fy_arena_array(r->arena, room, sizeof(fy_func_attr));  // the largest element
  if (!out->v.strings) return fy_fail_oom(r->err, room * sizeof(fy_func_attr));
  for (;;) {
    if (out->n == room) return bad(r, "list");
    FY_TRY(read_item(r, out, out->n));
    out->n++;
    if (eat(r, ']')) return FY_OK;
    if (!eat(r, ';')) return bad(r, "list");
  }
}

// {float|double} or {'a'|'b'}
static fy_code read_allowed(reader *r, fy_attr_spec *attr) {
  size_t room = 2;
  for (const char *p = r->p; *p && *p != '}'; p++) room += *p == '|';
  fy_dtype *types = NULL;
  const char **strings = NULL;
  if (attr->kind == FY_ATTR_TYPE) {
    attr->allowed_list = types = fy_arena_array(r->arena, room, sizeof *types);
  } else {
    strings = fy_arena_array(r->arena, room, sizeof *strings);
    attr->allowed_strings = strings;
  }
  if (!types && !strings) return fy_fail_oom(r->err, room * sizeof *strings);
  for (size_t i = 0; i + 1 < room; i++) {
    if (types) {
      FY_TRY(read_type(r, &types[i]));
      attr->allowed_types |= 1ull << types[i];
    } else {
      fy_view v;
      FY_TRY(read_string(r, &v));
      strings[i] = v.p;
    }
    if (eat(r, '}')) return FY_OK;
    if (!eat(r, '|')) break;
  }
  return bad(r, "allowed values");
}

static fy_code read_attr(reader *r, fy_attr_spec *attr) {
  fy_view name = word(r, ":");
  attr->name = name.p;
  if (!eat(r, ':')) return bad(r, "attribute");
  r->p[-1] = 0;
  fy_view type = word(r, "{>= ");
  attr->type = fy_spec_type_name(type.p, type.n, &attr->kind, &attr->is_list);
  if (!attr->type) return bad(r, "attribute type");
  if (eat(r, '{')) FY_TRY(read_allowed(r, attr));
  if (eat(r, '>')) {
    if (!eat(r, '=')) return bad(r, "minimum");
    attr->has_minimum = true;
    FY_TRY(read_int(r, &attr->minimum));
  }
  if (!eat(r, '=')) return FY_OK;
  attr->has_default = true;
  return attr->is_list ? read_list(r, attr->kind, &attr->default_value)
                       : read_scalar(r, attr->kind, &attr->default_value);
}

static fy_code read_attrs(reader *r, fy_op_spec *out) {
  if (!*r->p) return FY_OK;
  size_t room = count_char(r->p, ' ') + 1;  // spaces inside strings only waste a little
  fy_attr_spec *attrs = fy_arena_array(r->arena, room, sizeof *attrs);
  if (!attrs) return fy_fail_oom(r->err, room * sizeof *attrs);
  out->attrs = attrs;
  for (;;) {
    if (out->num_attrs == room) return bad(r, "attributes");
    FY_TRY(read_attr(r, &attrs[out->num_attrs]));
    out->num_attrs++;
    if (!*r->p) return FY_OK;
    if (!eat(r, ' ')) return bad(r, "attributes");
    r->p[-1] = 0;  // ends a function's or type's name
  }
}

// name:[ref ]TYPE, with TYPE float | T | N*float | N*T | list(Tin)
static fy_code read_arg(reader *r, const fy_op_spec *spec, fy_arg_spec *arg) {
  arg->name = r->p;
  word(r, ":");
  if (!eat(r, ':')) return bad(r, "argument");
  r->p[-1] = 0;
  if (strncmp(r->p, "ref ", 4) == 0) {
    arg->is_ref = true;
    r->p += 4;
  }
  if (strncmp(r->p, "list(", 5) == 0) {
    r->p += 5;
    arg->type_list_attr = r->p;
    word(r, ")");
    if (!eat(r, ')')) return bad(r, "argument");
    r->p[-1] = 0;
    return FY_OK;
  }
  fy_view v = word(r, "*,");
  if (*r->p == '*') {
    *r->p++ = 0;
    arg->number_attr = v.p;
    v = word(r, ",");
  }
  for (size_t i = 0; i < spec->num_attrs; i++) {
    if (fy_view_is(v, spec->attrs[i].name)) {
      arg->type_attr = spec->attrs[i].name;
      return FY_OK;
    }
  }
  return fy_dtype_parse(v.p, v.n, &arg->type) ? FY_OK : bad(r, "argument type");
}

static fy_code read_args(reader *r, const fy_op_spec *spec, const fy_arg_spec **out,
                         uint16_t *out_count) {
  if (!*r->p) return FY_OK;
  size_t room = count_char(r->p, ',') + 1;
  fy_arg_spec *args = fy_arena_array(r->arena, room, sizeof *args);
  if (!args) return fy_fail_oom(r->err, room * sizeof *args);
  *out = args;
  for (;;) {
    if (*out_count == room) return bad(r, "arguments");
    FY_TRY(read_arg(r, spec, &args[*out_count]));
    (*out_count)++;
    if (!*r->p) return FY_OK;
    if (!eat(r, ',') || !eat(r, ' ')) return bad(r, "arguments");
  }
}

static uint16_t read_flags(const char *letters) {
  static const char known[] = "SCAUDGP";
  static const uint16_t bits[] = {
      FY_SPEC_STATEFUL,    FY_SPEC_COMMUTATIVE,  FY_SPEC_AGGREGATE, FY_SPEC_UNINITIALIZED_OK,
      FY_SPEC_DISTRIBUTED, FY_SPEC_HAS_GRADIENT, FY_SPEC_PYTHON};
  unsigned flags = 0;
  for (; *letters; letters++) {
    const char *at = strchr(known, *letters);
    flags |= at ? bits[at - known] : (unsigned)(*letters - 'a' + 1) * FY_SPEC_FULL_TYPE;
  }
  return (uint16_t)flags;
}

fy_code fy_spec_table_parse(size_t line, fy_arena *arena, fy_op_spec *out, fy_error *err) {
  enum { INPUTS, OUTPUTS, ATTRS, FLAGS, CPU_KERNELS, KERNELS, DEPRECATION, COLUMNS };
  memset(out, 0, sizeof *out);
  const unsigned char *packed = fy_opdefs_text + fy_opdefs_line_at[line];
  const unsigned char *end = fy_opdefs_text + fy_opdefs_line_at[line + 1];
  size_t len = unpack(packed, end, NULL);
  char *text = fy_arena_alloc(arena, len + 1);
  if (!text) return fy_fail_oom(err, len + 1);
  unpack(packed, end, text);
  text[len] = 0;

  char *columns[COLUMNS];
  for (int i = 0; i < COLUMNS; i++) {
    columns[i] = text;
    text += strcspn(text, "\t");
    if (*text) *text++ = 0;
  }
  out->name = fy_spec_table_name(line);
  out->flags = read_flags(columns[FLAGS]);
  out->cpu_kernels = columns[CPU_KERNELS];
  out->kernels = columns[KERNELS];
  reader r = {columns[ATTRS], arena, err, out->name};
  FY_TRY(read_attrs(&r, out));
  r.p = columns[INPUTS];
  FY_TRY(read_args(&r, out, &out->inputs, &out->num_inputs));
  r.p = columns[OUTPUTS];
  FY_TRY(read_args(&r, out, &out->outputs, &out->num_outputs));
  if (*columns[DEPRECATION]) {
    r.p = columns[DEPRECATION];
    int64_t version;
    FY_TRY(read_int(&r, &version));
    out->deprecated_version = (int32_t)version;
    eat(&r, ' ');
    out->deprecated_text = r.p;
  }
  return FY_OK;
}

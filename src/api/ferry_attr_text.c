// SPDX-License-Identifier: Apache-2.0
// ferry_attr_text.c: attribute values as people write them, read against what the op's spec wants:
// `float`, `true`, `3`, `0.5`, `SAME` or "SAME", `[2,?]`, `[1,2,3]`, a function's name, and numbers
// in nested brackets where a tensor is wanted.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ferry_api.h"
#include "base/alloc.h"

#define MAX_WORD 64

static fy_code bad(fy_view text, const char *name, const char *want, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "attribute '%s': '%.*s' is not %s", name,
                 (int)(text.n < 200 ? text.n : 200), text.p, want);
}

static bool word(fy_view v, char out[MAX_WORD]) {
  if (v.n == 0 || v.n >= MAX_WORD) return false;
  memcpy(out, v.p, v.n);
  out[v.n] = 0;
  return true;
}

static bool parse_int(fy_view v, int64_t *out) {
  char w[MAX_WORD], *end;
  if (!word(v, w)) return false;
  errno = 0;
  *out = strtoll(w, &end, 10);
  return *end == 0 && errno == 0;
}

static bool parse_double(fy_view v, double *out) {
  char w[MAX_WORD], *end;
  if (!word(v, w)) return false;
  *out = strtod(w, &end);
  return *end == 0;
}

static bool parse_bool(fy_view v, bool *out) {
  *out = fy_view_is(v, "true") || fy_view_is(v, "True") || fy_view_is(v, "1");
  return *out || fy_view_is(v, "false") || fy_view_is(v, "False") || fy_view_is(v, "0");
}

static bool bracketed(fy_view v, fy_view *inside) {
  if (v.n < 2 || v.p[0] != '[' || v.p[v.n - 1] != ']') return false;
  *inside = fy_ferry_trim((fy_view){v.p + 1, v.n - 2});
  return true;
}

static size_t count_items(fy_view v) {
  size_t n = 0;
  while (v.n) fy_ferry_cut(&v, ','), n++;
  return n;
}

fy_code fy_ferry_shape(fy_view text, fy_arena *arena, fy_pshape *out, fy_error *err) {
  fy_view inside;
  *out = (fy_pshape){-1, NULL};
  text = fy_ferry_trim(text);
  if (fy_view_is(text, "?") || fy_view_is(text, "unknown")) return FY_OK;
  if (!bracketed(text, &inside))
    return fy_fail(err, FY_INVALID_ARGUMENT, "'%.*s' is not a shape: write [2,?,3], [] or ?",
                   (int)(text.n < 200 ? text.n : 200), text.p);
  size_t n = count_items(inside);
  int64_t *dims = fy_arena_array(arena, n + 1, sizeof *dims);
  if (!dims) return fy_fail_oom(err, n * sizeof *dims);
  if (n > FY_MAX_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT, "a shape has at most %d dimensions", FY_MAX_RANK);
  for (size_t i = 0; i < n; i++) {
    fy_view d = fy_ferry_cut(&inside, ',');
    if (fy_view_is(d, "?") || fy_view_is(d, "-1") || fy_view_is(d, "None"))
      dims[i] = -1;
    else if (!parse_int(d, &dims[i]) || dims[i] < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT, "'%.*s' is not a dimension: write a number or ?",
                     (int)(d.n < 200 ? d.n : 200), d.p);
  }
  *out = (fy_pshape){(int32_t)n, dims};
  return FY_OK;
}

// Quotes are taken off and the usual escapes undone; a bare word is itself.
static fy_code read_string(fy_view text, fy_arena *arena, fy_view *out, fy_error *err) {
  bool quoted =
      text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0];
  if (quoted) text = (fy_view){text.p + 1, text.n - 2};
  char *to = fy_arena_alloc(arena, text.n + 1);
  if (!to) return fy_fail_oom(err, text.n);
  size_t n = 0;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (quoted && c == '\\' && i + 1 < text.n) {
      c = text.p[++i];
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c == '0' ? '\0' : c;
    }
    to[n++] = c;
  }
  to[n] = 0;
  *out = (fy_view){to, n};
  return FY_OK;
}

// ------------------------------------------------------------------ tensors
static bool set_number(fy_tensor *t, int64_t i, fy_view v) {
  double d;
  int64_t k = 0;
  bool b;
  if (t->dtype == FY_BOOL) {
    if (!parse_bool(v, &b)) return false;
    ((bool *)t->data)[i] = b;
    return true;
  }
  bool whole = parse_int(v, &k);
  if (!whole && !parse_double(v, &d)) return false;
  if (whole) d = (double)k;
  switch ((int)t->dtype) {
    case FY_FLOAT: ((float *)t->data)[i] = (float)d; return true;
    case FY_DOUBLE: ((double *)t->data)[i] = d; return true;
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_float_to_half((float)d); return true;
    case FY_BFLOAT16: ((uint16_t *)t->data)[i] = fy_float_to_bfloat16((float)d); return true;
    default: break;
  }
  if (!whole) return false;
  switch ((int)t->dtype) {
    case FY_INT8:
    case FY_UINT8: ((uint8_t *)t->data)[i] = (uint8_t)k; return true;
    case FY_INT16:
    case FY_UINT16: ((uint16_t *)t->data)[i] = (uint16_t)k; return true;
    case FY_INT32:
    case FY_UINT32: ((uint32_t *)t->data)[i] = (uint32_t)k; return true;
    case FY_INT64:
    case FY_UINT64: ((int64_t *)t->data)[i] = k; return true;
    default: return false;
  }
}

static bool fill(fy_tensor *t, fy_view text, int32_t level, int64_t *at) {
  fy_view inside;
  if (level == t->rank) {
    if (t->dtype == FY_STRING) {
      bool quoted = text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'');
      return fy_tensor_set_string(t, (*at)++, text.p + quoted, text.n - 2u * quoted);
    }
    return set_number(t, (*at)++, text);
  }
  if (!bracketed(text, &inside) || (int64_t)count_items(inside) != t->dims[level]) return false;
  while (inside.n)
    if (!fill(t, fy_ferry_cut(&inside, ','), level + 1, at)) return false;
  return true;
}

static fy_code read_tensor(fy_view text, const char *name, fy_dtype dtype, fy_arena *arena,
                           fy_attr *out, fy_error *err) {
  int64_t dims[FY_MAX_RANK], at = 0;
  int32_t rank = 0;
  fy_view inside = text, first = text;
  while (rank < FY_MAX_RANK && bracketed(first, &inside)) {
    dims[rank++] = (int64_t)count_items(inside);
    first = fy_ferry_cut(&inside, ',');
  }
  if (dtype == FY_INVALID) {
    int64_t k;
    bool b;
    dtype = parse_int(first, &k)                                   ? FY_INT32
            : parse_bool(first, &b)                                ? FY_BOOL
            : first.n && (first.p[0] == '"' || first.p[0] == '\'') ? FY_STRING
                                                                   : FY_FLOAT;
  }
  fy_tensor *t;
  FY_TRY(fy_tensor_new(dtype, rank, dims, &t, err));
  if (!fill(t, text, 0, &at)) {
    fy_tensor_release(t);
    char want[96];
    snprintf(want, sizeof want, "a tensor of %s: write 1, [1,2] or [[1,2],[3,4]]",
             fy_dtype_name(dtype));
    return bad(text, name, want, err);
  }
  *out = fy_attr_tensor(arena, t);
  fy_tensor_release(t);
  return out->kind == FY_ATTR_NONE ? fy_fail_oom(err, sizeof *t) : FY_OK;
}

// ------------------------------------------------------------------ one value
static fy_code read_one(fy_attr_kind kind, fy_view text, const char *name, fy_dtype dtype,
                        fy_arena *arena, fy_attr *out, fy_error *err) {
  double d;
  *out = (fy_attr){.kind = kind};
  switch (kind) {
    case FY_ATTR_INT:
      return parse_int(text, &out->v.i) ? FY_OK : bad(text, name, "a whole number", err);
    case FY_ATTR_FLOAT:
      if (!parse_double(text, &d)) return bad(text, name, "a number", err);
      out->v.f = (float)d;
      return FY_OK;
    case FY_ATTR_BOOL:
      return parse_bool(text, &out->v.b) ? FY_OK : bad(text, name, "true or false", err);
    case FY_ATTR_TYPE:
      return fy_dtype_parse(text.p, text.n, &out->v.type)
                 ? FY_OK
                 : bad(text, name, "a type such as float, int32 or string", err);
    case FY_ATTR_SHAPE: {
      fy_code code = fy_ferry_shape(text, arena, &out->v.shape, err);
      if (code) fy_error_prepend(err, "attribute '%s': ", name);
      return code;
    }
    case FY_ATTR_STRING: return read_string(text, arena, &out->v.s, err);
    case FY_ATTR_FUNC:
      out->v.func = fy_arena_zalloc(arena, sizeof *out->v.func);
      if (!out->v.func) return fy_fail_oom(err, sizeof *out->v.func);
      return read_string(text, arena, &out->v.func->name, err);
    case FY_ATTR_TENSOR: return read_tensor(text, name, dtype, arena, out, err);
    default: return bad(text, name, "a value that can be written as text", err);
  }
}

static size_t element_size(fy_attr_kind kind) {
  switch (kind) {
    case FY_ATTR_STRING: return sizeof(fy_view);
    case FY_ATTR_FLOAT: return sizeof(float);
    case FY_ATTR_BOOL: return sizeof(bool);
    case FY_ATTR_TYPE: return sizeof(fy_dtype);
    case FY_ATTR_SHAPE: return sizeof(fy_pshape);
    case FY_ATTR_TENSOR: return sizeof(fy_tensor *);
    case FY_ATTR_FUNC: return sizeof(fy_func_attr);
    default: return sizeof(int64_t);
  }
}

static void put(fy_attr *list, uint32_t i, const fy_attr *one) {
  switch (list->kind) {
    case FY_ATTR_STRING: list->v.strings[i] = one->v.s; break;
    case FY_ATTR_FLOAT: list->v.floats[i] = one->v.f; break;
    case FY_ATTR_BOOL: list->v.bools[i] = one->v.b; break;
    case FY_ATTR_TYPE: list->v.types[i] = one->v.type; break;
    case FY_ATTR_SHAPE: list->v.shapes[i] = one->v.shape; break;
    case FY_ATTR_TENSOR: list->v.tensors[i] = one->v.tensor; break;
    case FY_ATTR_FUNC: list->v.funcs[i] = *one->v.func; break;
    default: list->v.ints[i] = one->v.i; break;
  }
}

fy_code fy_ferry_attr(const fy_attr_spec *spec, fy_view text, fy_dtype dtype, fy_arena *arena,
                      fy_attr *out, fy_error *err) {
  fy_view inside;
  if (!spec->is_list) return read_one(spec->kind, text, spec->name, dtype, arena, out, err);
  if (!bracketed(text, &inside)) return bad(text, spec->name, "a list: write [1,2]", err);
  size_t n = count_items(inside);
  void *items = fy_arena_array(arena, n + 1, element_size(spec->kind));
  if (!items) return fy_fail_oom(err, n);
  *out = (fy_attr){.kind = spec->kind, .is_list = true, .n = (uint32_t)n};
  out->v.ints = items;  // every list is one pointer
  for (uint32_t i = 0; i < n; i++) {
    fy_attr one;
    fy_view piece = fy_ferry_cut(&inside, ',');
    FY_TRY(read_one(spec->kind, piece, spec->name, dtype, arena, &one, err));
    put(out, i, &one);
  }
  return FY_OK;
}

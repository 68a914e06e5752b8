// SPDX-License-Identifier: Apache-2.0
// sample.c: see sample.h.

#include "ops/sample.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "ops/typed.h"

typedef struct reader {
  const char *start, *at;
} reader;

static fy_code fail_at(const reader *r, const char *what, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "sample: expected %s at \"%.20s\" of \"%.60s\"", what,
                 r->at, r->start);
}
static void skip_space(reader *r) {
  while (*r->at == ' ') r->at++;
}
static bool take(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}
static fy_view word(reader *r) {
  skip_space(r);
  const char *from = r->at;
  while (isalnum((unsigned char)*r->at) || *r->at == '_') r->at++;
  return (fy_view){from, (size_t)(r->at - from)};
}

static bool parse_type(fy_view name, fy_dtype *out) {
  static const struct {
    const char *name;
    fy_dtype type;
  } short_names[] = {
      {"f16", FY_HALF},      {"bf16", FY_BFLOAT16},   {"f32", FY_FLOAT},  {"f64", FY_DOUBLE},
      {"i8", FY_INT8},       {"i16", FY_INT16},       {"i32", FY_INT32},  {"i64", FY_INT64},
      {"u8", FY_UINT8},      {"u16", FY_UINT16},      {"u32", FY_UINT32}, {"u64", FY_UINT64},
      {"c64", FY_COMPLEX64}, {"c128", FY_COMPLEX128}, {"b", FY_BOOL},     {"s", FY_STRING}};
  for (size_t i = 0; i < sizeof short_names / sizeof short_names[0]; i++) {
    if (fy_view_is(name, short_names[i].name)) {
      *out = short_names[i].type;
      return true;
    }
  }
  return fy_dtype_parse(name.p, name.n, out);
}

// ---------------------------------------------------------------- elements
static void put_double(fy_tensor *t, int64_t i, double v) {
  switch ((int)t->dtype) {
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_float_to_half((float)v); break;
    case FY_BFLOAT16: ((uint16_t *)t->data)[i] = fy_float_to_bfloat16((float)v); break;
    case FY_FLOAT: ((float *)t->data)[i] = (float)v; break;
    case FY_DOUBLE: ((double *)t->data)[i] = v; break;
    case FY_COMPLEX64: ((float _Complex *)t->data)[i] = __builtin_complex((float)v, 0.0f); break;
    case FY_COMPLEX128: ((double _Complex *)t->data)[i] = __builtin_complex(v, 0.0); break;
    default: break;
  }
}

static void put_int(fy_tensor *t, int64_t i, uint64_t v) {
  switch (fy_dtype_storage(t->dtype)) {
    case 1: ((uint8_t *)t->data)[i] = (uint8_t)(t->dtype == FY_BOOL ? v != 0 : v); break;
    case 2: ((uint16_t *)t->data)[i] = (uint16_t)v; break;
    case 4: ((uint32_t *)t->data)[i] = (uint32_t)v; break;
    default: ((uint64_t *)t->data)[i] = v; break;
  }
}

static bool is_real_like(fy_dtype t) {
  return fy_dtype_is_floating(t) || fy_dtype_is_complex(t);
}

static void put_number(fy_tensor *t, int64_t i, double v) {
  if (is_real_like(t->dtype))
    put_double(t, i, v);
  else
    put_int(t, i, (uint64_t)(int64_t)v);
}

static double special(fy_dtype t, int64_t i) {
  const bool narrow = t == FY_HALF;
  const bool wide = t == FY_DOUBLE || t == FY_COMPLEX128;
  switch (i % 10) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return -INFINITY;
    case 3: return 0;
    case 4: return -0.0;
    case 5: return narrow ? 0x1p-24 : wide ? 0x1p-1074 : t == FY_BFLOAT16 ? 0x1p-133 : 0x1p-149;
    case 6:
      return narrow ? 65504 : wide ? DBL_MAX : t == FY_BFLOAT16 ? 0x1.fep127 : (double)FLT_MAX;
    case 7: return narrow ? 0x1p-14 : wide ? DBL_MIN : (double)FLT_MIN;
    case 8: return -1.5;
    default: return 1;
  }
}

static uint64_t mix(uint64_t x) {  // splitmix64: the same numbers everywhere
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
static double unit(uint64_t i) {
  return (double)(mix(i) >> 11) * 0x1p-53;
}

static bool generate(fy_view name, fy_tensor *t) {
  const bool normal = fy_view_is(name, "normal"), uniform = fy_view_is(name, "uniform");
  const bool iota = fy_view_is(name, "iota"), ones = fy_view_is(name, "ones");
  const bool odd = fy_view_is(name, "special"), zeros = fy_view_is(name, "zeros");
  if (!(normal || uniform || iota || ones || odd || zeros)) return false;
  for (int64_t i = 0; i < t->count; i++) {
    const uint64_t k = (uint64_t)i * 2;
    double v = iota                            ? (double)i
               : ones                          ? 1
               : odd && is_real_like(t->dtype) ? special(t->dtype, i)
                                               : 0;
    if (normal) v = sqrt(-2 * log(unit(k) + 0x1p-54)) * cos(2 * M_PI * unit(k + 1));
    if (uniform) v = unit(k);
    if ((normal || uniform) && !is_real_like(t->dtype)) v = floor(v * 50);
    put_number(t, i, v);
  }
  return true;
}

static fy_code parse_value(reader *r, fy_tensor *t, int64_t i, fy_error *err) {
  skip_space(r);
  if (t->dtype == FY_STRING) {
    if (!take(r, '\'')) return fail_at(r, "a quoted string", err);
    const char *end = strchr(r->at, '\'');
    if (!end) return fail_at(r, "a closing quote", err);
    if (!fy_tensor_set_string(t, i, r->at, (size_t)(end - r->at))) return fy_fail_oom(err, 1);
    r->at = end + 1;
    return FY_OK;
  }
  const bool yes = !strncmp(r->at, "true", 4);
  if (yes || !strncmp(r->at, "false", 5)) {
    put_number(t, i, yes);
    r->at += yes ? 4 : 5;
    return FY_OK;
  }
  char *end;
  if (is_real_like(t->dtype))
    put_double(t, i, strtod(r->at, &end));
  else if (*r->at == '-')
    put_int(t, i, (uint64_t)strtoll(r->at, &end, 10));
  else
    put_int(t, i, strtoull(r->at, &end, 10));
  if (end == r->at) return fail_at(r, "a number", err);
  r->at = end;
  return FY_OK;
}

static fy_code parse_values(reader *r, fy_tensor *t, fy_error *err) {
  reader look = *r;
  const fy_view name = word(&look);
  if (name.n && isalpha((unsigned char)*name.p) && generate(name, t)) {
    *r = look;
    return FY_OK;
  }
  for (int64_t i = 0; i < t->count; i++) {
    if (i && !take(r, ',')) return fail_at(r, "','", err);
    FY_TRY(parse_value(r, t, i, err));
  }
  return FY_OK;
}

// "[2,?]" -> dims; unknown as -1.
static fy_code parse_dims(reader *r, int32_t *rank, int64_t *dims, fy_error *err) {
  *rank = 0;
  if (!take(r, '[')) return fail_at(r, "'['", err);
  while (!take(r, ']')) {
    if (*rank == FY_MAX_RANK) return fail_at(r, "fewer dims", err);
    if (*rank && !take(r, ',')) return fail_at(r, "','", err);
    skip_space(r);
    char *end = (char *)(uintptr_t)r->at;
    dims[*rank] = *r->at == '?' ? -1 : strtoll(r->at, &end, 10);
    if (*r->at != '?' && end == r->at) return fail_at(r, "a dim", err);
    r->at = *r->at == '?' ? r->at + 1 : end;
    ++*rank;
  }
  return FY_OK;
}

fy_code fy_sample_parse_inputs(const char *text, fy_sample_inputs *out, fy_error *err) {
  reader r = {text, text};
  fy_code code = FY_OK;
  memset(out, 0, sizeof *out);
  skip_space(&r);
  while (*r.at && code == FY_OK) {
    fy_dtype type;
    int64_t dims[FY_MAX_RANK];
    int32_t rank;
    if (out->n == FY_SAMPLE_INPUTS)
      code = fail_at(&r, "fewer inputs", err);
    else if (!parse_type(word(&r), &type))
      code = fail_at(&r, "a type", err);
    if (!code) code = parse_dims(&r, &rank, dims, err);
    if (!code && !take(&r, '=')) code = fail_at(&r, "'='", err);
    if (!code) code = fy_tensor_new(type, rank, dims, &out->in[out->n], err);
    if (!code) code = parse_values(&r, out->in[out->n++], err);
    skip_space(&r);
    if (!code && *r.at && !take(&r, ';')) code = fail_at(&r, "';'", err);
    skip_space(&r);
  }
  if (code) fy_sample_inputs_free(out);
  return code;
}

void fy_sample_inputs_free(fy_sample_inputs *inputs) {
  for (int i = 0; i < inputs->n; i++) fy_tensor_release(inputs->in[i]);
  inputs->n = 0;
}

fy_code fy_sample_parse_expected(const char *values, const fy_tensor *like, fy_tensor **out,
                                 fy_error *err) {
  reader r = {values, values};
  FY_TRY(fy_tensor_new(like->dtype, like->rank, like->dims, out, err));
  fy_code code = parse_values(&r, *out, err);
  if (!code && *r.at) code = fail_at(&r, "the end", err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

// ---------------------------------------------------------------- attributes
static fy_code parse_scalar(reader *r, fy_attr_kind kind, fy_arena *arena, fy_attr *out,
                            fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  char *end;
  out->kind = kind;
  skip_space(r);
  switch ((int)kind) {
    case FY_ATTR_STRING: {
      if (!take(r, '"')) return fail_at(r, "'\"'", err);
      const char *close = strchr(r->at, '"');
      if (!close) return fail_at(r, "a closing quote", err);
      char *copy = fy_arena_strndup(arena, r->at, (size_t)(close - r->at));
      if (!copy) return fy_fail_oom(err, 1);
      out->v.s = (fy_view){copy, (size_t)(close - r->at)};
      r->at = close + 1;
      return FY_OK;
    }
    case FY_ATTR_INT: out->v.i = strtoll(r->at, &end, 10); break;
    case FY_ATTR_FLOAT: out->v.f = strtof(r->at, &end); break;
    case FY_ATTR_BOOL:
      out->v.b = *r->at == 't';
      word(r);
      return FY_OK;
    case FY_ATTR_TYPE:
      if (!parse_type(word(r), &out->v.type)) return fail_at(r, "a type", err);
      return FY_OK;
    case FY_ATTR_SHAPE: {
      FY_TRY(parse_dims(r, &rank, dims, err));
      int64_t *copy = fy_arena_memdup(arena, dims, (size_t)(rank + 1) * sizeof *dims);
      if (!copy) return fy_fail_oom(err, 1);
      out->v.shape = (fy_pshape){rank, copy};
      return FY_OK;
    }
    default: return fail_at(r, "an attribute of a kind that samples can write", err);
  }
  if (end == r->at) return fail_at(r, "a number", err);
  r->at = end;
  return FY_OK;
}

static fy_code parse_list(reader *r, fy_attr_kind kind, fy_arena *arena, fy_attr *out,
                          fy_error *err) {
  fy_attr items[64];
  uint32_t n = 0;
  if (!take(r, '[')) return fail_at(r, "'['", err);
  while (!take(r, ']')) {
    if (n == 64) return fail_at(r, "a shorter list", err);
    if (n && !take(r, ',')) return fail_at(r, "','", err);
    FY_TRY(parse_scalar(r, kind, arena, &items[n++], err));
  }
  *out = (fy_attr){.kind = kind, .is_list = true, .n = n};
#define COPY(member, list)                                             \
  out->v.list = fy_arena_array(arena, n + 1, sizeof *out->v.list);     \
  if (!out->v.list) return fy_fail_oom(err, n);                        \
  for (uint32_t i = 0; i < n; i++) out->v.list[i] = items[i].v.member; \
  return FY_OK
  switch ((int)kind) {
    case FY_ATTR_STRING: COPY(s, strings);
    case FY_ATTR_INT: COPY(i, ints);
    case FY_ATTR_FLOAT: COPY(f, floats);
    case FY_ATTR_BOOL: COPY(b, bools);
    case FY_ATTR_TYPE: COPY(type, types);
    default: COPY(shape, shapes);
  }
#undef COPY
}

fy_code fy_sample_parse_attrs(const char *text, const fy_op_spec *spec, fy_attrs *attrs,
                              fy_arena *arena, fy_error *err) {
  reader r = {text ? text : "", text ? text : ""};
  skip_space(&r);
  while (*r.at) {
    const fy_view name = word(&r);
    char copy[64];
    fy_attr value = {0};
    if (name.n == 0 || name.n >= sizeof copy) return fail_at(&r, "an attribute", err);
    memcpy(copy, name.p, name.n);
    copy[name.n] = 0;
    const fy_attr_spec *a = fy_spec_attr(spec, copy);
    if (!a) return fail_at(&r, "an attribute that the op has", err);
    if (!take(&r, '=')) return fail_at(&r, "'='", err);
    if (a->is_list)
      FY_TRY(parse_list(&r, a->kind, arena, &value, err));
    else
      FY_TRY(parse_scalar(&r, a->kind, arena, &value, err));
    FY_TRY(fy_attrs_set(attrs, arena, copy, &value, err));
    skip_space(&r);
    if (*r.at && !take(&r, ';')) return fail_at(&r, "';'", err);
    skip_space(&r);
  }
  return FY_OK;
}

static fy_code set_if_absent(fy_attrs *attrs, fy_arena *arena, const char *name, fy_attr value,
                             fy_error *err) {
  return fy_attrs_get(attrs, name) ? FY_OK : fy_attrs_set(attrs, arena, name, &value, err);
}

fy_code fy_sample_infer_attrs(const fy_op_spec *spec, fy_tensor *const *in, int num_inputs,
                              fy_attrs *attrs, fy_arena *arena, fy_error *err) {
  int single = 0;  // inputs that are one tensor each; the rest belongs to the (one) list
  for (int a = 0; a < spec->num_inputs; a++) {
    single += !spec->inputs[a].number_attr && !spec->inputs[a].type_list_attr;
  }
  int at = 0;
  for (int a = 0; a < spec->num_inputs && at <= num_inputs; a++) {
    const fy_arg_spec *arg = &spec->inputs[a];
    const bool list = arg->number_attr || arg->type_list_attr;
    const int n = list ? (num_inputs > single ? num_inputs - single : 0) : 1;
    if (at + n > num_inputs) break;
    if (arg->number_attr) {
      FY_TRY(set_if_absent(attrs, arena, arg->number_attr, fy_attr_int(n), err));
    }
    if (arg->type_attr && n > 0) {
      FY_TRY(set_if_absent(attrs, arena, arg->type_attr, fy_attr_type(in[at]->dtype), err));
    }
    if (arg->type_list_attr) {
      fy_attr types = {.kind = FY_ATTR_TYPE, .is_list = true, .n = (uint32_t)n};
      types.v.types = fy_arena_array(arena, (size_t)n + 1, sizeof *types.v.types);
      if (!types.v.types) return fy_fail_oom(err, (size_t)n);
      for (int k = 0; k < n; k++) types.v.types[k] = in[at + k]->dtype;
      FY_TRY(set_if_absent(attrs, arena, arg->type_list_attr, types, err));
    }
    at += n;
  }
  return FY_OK;
}

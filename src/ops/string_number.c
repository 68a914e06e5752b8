// SPDX-License-Identifier: Apache-2.0
// string_number.c: numbers to and from text: StringToNumber, AsString, StringFormat.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/typed.h"
#include "tensor/print.h"

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static fy_view trim(fy_view s) {
  while (s.n && is_space(s.p[0])) s.p++, s.n--;
  while (s.n && is_space(s.p[s.n - 1])) s.n--;
  return s;
}

static bool parse_int(fy_view s, bool *negative, uint64_t *out) {
  *negative = s.n && s.p[0] == '-';
  *out = 0;
  if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s.p++, s.n--;
  if (s.n == 0) return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9') return false;
    if (__builtin_mul_overflow(*out, 10u, out) ||
        __builtin_add_overflow(*out, (uint64_t)(s.p[i] - '0'), out)) {
      return false;
    }
  }
  return true;
}

// |s| as a C string; false if it cannot be a number.
static bool float_text(fy_view s, char buf[512]) {
  if (s.n == 0 || s.n >= 512) return false;
  for (size_t i = 0; i < s.n; i++) {
    const char c = s.p[i];
    if (c == 0 || is_space(c) || c == ',') return false;
  }
  memcpy(buf, s.p, s.n);
  buf[s.n] = 0;
  return true;
}

// Plain decimals whose digits fit 53 bits and whose power of ten is exact: one product or quotient of
// two exact doubles rounds once. False: anything else.
static bool short_decimal(fy_view s, double *out) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *p = s.p, *end = s.p + s.n;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  uint64_t m = 0;
  int digits = 0, power = 0;
  for (; p < end && *p >= '0' && *p <= '9'; p++, digits++) m = m * 10 + (uint64_t)(*p - '0');
  if (p < end && *p == '.') {
    for (p++; p < end && *p >= '0' && *p <= '9'; p++, digits++, power--)
      m = m * 10 + (uint64_t)(*p - '0');
  }
  if (digits == 0 || digits > 19) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    int e = 0, places = 0;
    const bool down = ++p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    for (; p < end && *p >= '0' && *p <= '9' && places < 4; p++, places++) e = e * 10 + (*p - '0');
    if (places == 0) return false;
    power += down ? -e : e;
  }
  if (p != end || m > (uint64_t)1 << 53 || power > 22 || power < -22) return false;
  const double v = power < 0 ? (double)m / tens[-power] : (double)m * tens[power];
  *out = negative ? -v : v;
  return true;
}
// Its float, unless the double stands in the middle of two or beyond the normal ones.
static bool short_float(fy_view s, float *out) {
  double v;
  uint64_t bits;
  if (!short_decimal(s, &v)) return false;
  memcpy(&bits, &v, sizeof bits);
  if (v != 0 && (fabs(v) < 0x1p-125 || fabs(v) > 0x1p126)) return false;
  if ((bits & 0x1FFFFFFF) == 0x10000000) return false;
  *out = (float)v;
  return true;
}

bool fy_text_to_number(fy_view s, fy_dtype type, void *out) {
  bool negative;
  uint64_t u;
  char buf[512], *end;
  s = trim(s);
  switch ((int)type) {
    case FY_INT32:
      if (!parse_int(s, &negative, &u) || u > (uint64_t)INT32_MAX + negative) return false;
      *(int32_t *)out = (int32_t)(negative ? -(int64_t)u : (int64_t)u);
      return true;
    case FY_INT64:
      if (!parse_int(s, &negative, &u) || u > (uint64_t)INT64_MAX + negative) return false;
      *(int64_t *)out = (int64_t)(negative ? 0 - u : u);
      return true;
    case FY_UINT32:
      if (!parse_int(s, &negative, &u) || negative || u > UINT32_MAX) return false;
      *(uint32_t *)out = (uint32_t)u;
      return true;
    case FY_UINT64:
      if (!parse_int(s, &negative, &u) || negative) return false;
      *(uint64_t *)out = u;
      return true;
    case FY_FLOAT:
      if (short_float(s, out)) return true;
      if (!float_text(s, buf)) return false;
      *(float *)out = strtof(buf, &end);
      return *end == 0 && end != buf;
    case FY_DOUBLE:
      if (short_decimal(s, out)) return true;
      if (!float_text(s, buf)) return false;
      *(double *)out = strtod(buf, &end);
      return *end == 0 && end != buf;
    case FY_BOOL:
      *(bool *)out = fy_view_is(s, "true") || fy_view_is(s, "1");
      return *(bool *)out || fy_view_is(s, "false") || fy_view_is(s, "0");
    default: return false;
  }
}

static fy_code to_number(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const size_t size = fy_dtype_storage(out->dtype);
  for (int64_t i = 0; i < in->count; i++) {
    const fy_view s = fy_tensor_string(in, i);
    if (fy_text_to_number(s, out->dtype, (char *)out->data + (size_t)i * size)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "StringToNumberOp could not correctly convert string: %.*s", (int)s.n, s.p);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- AsString
static bool has_fraction(fy_dtype t) {
  return fy_dtype_is_floating(t) || fy_dtype_is_complex(t);
}

static fy_code check_format(fy_site *site, fy_error *err) {
  const fy_dtype t = fy_site_type(site, "T");
  const fy_view fill = fy_site_string(site, "fill");
  const bool scientific = fy_site_bool(site, "scientific"),
             shortest = fy_site_bool(site, "shortest");
  if (!has_fraction(t) && t != FY_STRING) {
    if (scientific || shortest) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "scientific and shortest format not supported for datatype %s",
                     fy_dtype_name(t));
    }
    if (fy_site_int(site, "precision") >= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "precision not supported for datatype %s",
                     fy_dtype_name(t));
    }
  }
  if (scientific && shortest) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot select both scientific and shortest notation");
  }
  if (fill.n > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Fill string must be one or fewer characters");
  }
  if (fill.n && !strchr(" +-0", fill.p[0])) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Fill argument not supported: \"%.*s\"", (int)fill.n,
                   fill.p);
  }
  if (fy_site_int(site, "width") > 4096 || fy_site_int(site, "precision") > 4096) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "width and precision are limited to 4096");
  }
  return FY_OK;
}

typedef struct format {
  char fill;
  int width, precision;
  char letter;  // f e g
} format;

// |f| applied to a number whose digits printf made: the same flags for all types.
static void add_double(fy_str *s, const format *f, double v) {
  char spec[16];
  size_t n = 0;
  spec[n++] = '%';
  if (f->fill) spec[n++] = f->fill;
  if (f->width >= 0) spec[n++] = '*';
  if (f->precision >= 0) spec[n++] = '.', spec[n++] = '*';
  spec[n++] = f->letter;
  spec[n] = 0;
  char text[4096 + 4096 + 400];
  int len;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  if (f->width >= 0 && f->precision >= 0)
    len = snprintf(text, sizeof text, spec, f->width, f->precision, v);
  else if (f->width >= 0)
    len = snprintf(text, sizeof text, spec, f->width, v);
  else if (f->precision >= 0)
    len = snprintf(text, sizeof text, spec, f->precision, v);
  else
    len = snprintf(text, sizeof text, spec, v);
#pragma GCC diagnostic pop
  if (len > 0) fy_str_addn(s, text, (size_t)len);
}

// The digits of |v|, at least |least| of them, before |end|; where they begin.
static char *put_digits(char *end, uint64_t v, int least) {
  for (; v || least > 0; v /= 10, least--) *--end = (char)('0' + v % 10);
  return end;
}

bool fy_text_add_fixed(fy_str *s, int places, double v) {
  static const uint32_t tens[] = {1,      10,      100,      1000,      10000,
                                  100000, 1000000, 10000000, 100000000, 1000000000};
  if (places < 0 || places > 9 || !(fabs(v) < 0x1p52 && fabs(v) * tens[places] < 1e18))
    return false;
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7FF);
  const uint64_t part = bits & (((uint64_t)1 << 52) - 1);
  // The number is a whole one over 2^down, down > 0: its product with 10^places is exact.
  const int down = 1075 - (exponent ? exponent : 1);
  __extension__ typedef unsigned __int128 wide;
  const wide scaled = (wide)(exponent ? part | (uint64_t)1 << 52 : part) * tens[places];
  uint64_t whole = 0;
  if (down < 127) {
    const wide rest = scaled & (((wide)1 << down) - 1), half = (wide)1 << (down - 1);
    whole = (uint64_t)(scaled >> down);
    whole += rest > half || (rest == half && (whole & 1));
  }
  char text[40], *end = text + sizeof text, *p = end;
  if (places) {
    p = put_digits(p, whole % tens[places], places);
    *--p = '.';
  }
  p = put_digits(p, whole / tens[places], 1);
  if (bits >> 63) *--p = '-';
  fy_str_addn(s, p, (size_t)(end - p));
  return true;
}

static bool add_fixed(fy_str *s, const format *f, double v) {
  if (f->letter != 'f' || f->fill || f->width >= 0) return false;
  return fy_text_add_fixed(s, f->precision < 0 ? 6 : f->precision, v);
}

static void add_int(fy_str *s, const format *f, bool is_signed, bool negative, uint64_t magnitude) {
  char text[24], *end = text + sizeof text, *digits = put_digits(end, magnitude, 1);
  const int n = (int)(end - digits);
  const char *sign = negative                      ? "-"
                     : is_signed && f->fill == '+' ? "+"
                     : is_signed && f->fill == ' ' ? " "
                                                   : "";
  const int pad = f->width - n - (int)strlen(sign);
  for (int i = 0; i < pad && f->fill != '0' && f->fill != '-'; i++) fy_str_addc(s, ' ');
  fy_str_add(s, sign);
  for (int i = 0; i < pad && f->fill == '0'; i++) fy_str_addc(s, '0');
  fy_str_addn(s, digits, (size_t)n);
  for (int i = 0; i < pad && f->fill == '-'; i++) fy_str_addc(s, ' ');
}

static void add_text(fy_str *s, const format *f, fy_view v) {
  if (f->width <= 0) {  // TensorFlow's text is not formatted then: whole, whatever the precision
    if (v.n) fy_str_addn(s, v.p, v.n);
    return;
  }
  if (f->precision >= 0 && v.n > (size_t)f->precision) v.n = (size_t)f->precision;  // %.3s
  const int pad = f->width - (int)(v.n > 4096 ? 4096 : v.n);
  for (int i = 0; i < pad && f->fill != '-'; i++) fy_str_addc(s, ' ');
  if (v.n) fy_str_addn(s, v.p, v.n);
  for (int i = 0; i < pad && f->fill == '-'; i++) fy_str_addc(s, ' ');
}

static void add_complex(fy_str *s, const format *f, double re, double im) {
  fy_str_addc(s, '(');
  add_double(s, f, re);
  fy_str_addc(s, ',');
  add_double(s, f, im);
  fy_str_addc(s, ')');
}

static void add_element(fy_str *s, const format *f, const fy_tensor *in, int64_t i) {
  const fy_dtype t = in->dtype;
  if (t == FY_STRING) {
    add_text(s, f, fy_tensor_string(in, i));
  } else if (t == FY_BOOL) {
    fy_str_add(s, ((const bool *)in->data)[i] ? "true" : "false");
  } else if (t == FY_COMPLEX64) {
    const float *c = (const float *)in->data + 2 * i;
    add_complex(s, f, (double)c[0], (double)c[1]);
  } else if (t == FY_COMPLEX128) {
    const double *c = (const double *)in->data + 2 * i;
    add_complex(s, f, c[0], c[1]);
  } else if (fy_dtype_is_floating(t)) {
    const double v = fy_tensor_double(in, i);
    if (!add_fixed(s, f, v)) add_double(s, f, v);
  } else {
    const int64_t v = fy_tensor_int(in, i);
    const bool negative = v < 0 && t != FY_UINT64;
    const bool is_signed = t == FY_INT8 || t == FY_INT16 || t == FY_INT32 || t == FY_INT64;
    add_int(s, f, is_signed, negative, negative ? 0 - (uint64_t)v : (uint64_t)v);
  }
}

static fy_code as_string(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_site *site = ctx->site;
  const fy_view fill = fy_site_string(site, "fill");
  const format f = {.fill = fill.n ? fill.p[0] : 0,
                    .width = (int)fy_site_int(site, "width"),
                    .precision = (int)fy_site_int(site, "precision"),
                    .letter = fy_site_bool(site, "scientific") ? 'e'
                              : fy_site_bool(site, "shortest") ? 'g'
                                                               : 'f'};
  if (in->dtype == FY_VARIANT) {
    return fy_fail(err, FY_UNIMPLEMENTED, "AsString of a variant");
  }
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  fy_str s;
  fy_str_init(&s);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < in->count && !code; i++) {
    add_element(&s, &f, in, i);
    code = fy_text_put_str(out, i, &s, err);
  }
  fy_str_free(&s);
  return code;
}

// ---------------------------------------------------------------- StringFormat
static void print_one(fy_str *s, const fy_tensor *t, int64_t i) {
  if (t->dtype == FY_STRING) {
    const fy_view v = fy_tensor_string(t, i);
    fy_str_addc(s, '"');
    fy_print_escaped(s, v, true);
    fy_str_addc(s, '"');
  } else if (t->dtype == FY_DOUBLE) {
    fy_print_double(s, fy_tensor_double(t, i));
  } else if (fy_dtype_is_floating(t->dtype)) {
    fy_print_float(s, (float)fy_tensor_double(t, i));
  } else if (t->dtype == FY_UINT64) {
    fy_str_printf(s, "%llu", (unsigned long long)fy_tensor_int(t, i));
  } else {
    fy_str_printf(s, "%lld", (long long)fy_tensor_int(t, i));
  }
}

static void spacing(fy_str *s, int32_t dim, int32_t rank) {
  if (dim == rank - 1) {
    fy_str_addc(s, ' ');
    return;
  }
  for (int32_t j = dim; j < rank - 1; j++) fy_str_addc(s, '\n');
  for (int32_t j = 0; j <= dim; j++) fy_str_addc(s, ' ');
}

static void print_dims(fy_str *s, const fy_tensor *t, int32_t dim, int64_t ends, int64_t at) {
  if (dim == t->rank) {
    print_one(s, t, at);
    return;
  }
  const int64_t n = t->dims[dim];
  int64_t each = 1;
  for (int32_t d = dim + 1; d < t->rank; d++) each *= t->dims[d];
  fy_str_addc(s, '[');
  for (int64_t i = 0; i < n; i++) {
    if (i == ends && n > 2 * ends) {
      spacing(s, dim, t->rank);
      fy_str_add(s, "...");
      i = n - ends;
      if (i >= n) break;
    }
    if (i > 0) spacing(s, dim, t->rank);
    print_dims(s, t, dim + 1, ends, at + i * each);
  }
  fy_str_addc(s, ']');
}

// Of complex numbers and 32-bit quantized ones TensorFlow tells how many there are, in one row; of no
// truth values at all, nothing.
static void print_tensor(fy_str *s, const fy_tensor *t, int64_t ends) {
  const int64_t n = ends < 0 || ends > t->count ? t->count : ends;
  if (t->dtype == FY_BOOL && n == 0) return;
  if (t->rank == 0 && ends == 0) {
    fy_str_add(s, "...");
  } else if (fy_dtype_is_complex(t->dtype) || t->dtype == FY_QINT32) {
    if (t->rank) fy_str_addc(s, '[');
    for (int64_t i = 0; i < n; i++) fy_str_add(s, i ? " ?" : "?");
    if (n < t->count) fy_str_add(s, "...");
    if (t->rank) fy_str_addc(s, ']');
  } else {
    print_dims(s, t, 0, n, 0);
  }
}

// Where |what| stands next; nothing stands between all characters. SIZE_MAX: nowhere.
static size_t find_text(fy_view in, fy_view what, size_t from) {
  if (what.n == 0) return from + 1 < in.n ? from + 1 : SIZE_MAX;
  for (size_t i = from; i + what.n <= in.n; i++) {
    if (!memcmp(in.p + i, what.p, what.n)) return i;
  }
  return SIZE_MAX;
}

static fy_code count_marks(fy_view text, fy_view mark, int inputs, fy_error *err) {
  int n = 0;
  for (size_t at = 0; (at = find_text(text, mark, at)) != SIZE_MAX; at += mark.n) n++;
  if (n == inputs) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "num placeholders in template and num inputs must match: %d vs. %d", n, inputs);
}
static fy_code check_template(fy_site *site, fy_error *err) {
  return count_marks(fy_site_string(site, "template"), fy_site_string(site, "placeholder"),
                     site->num_inputs, err);
}
static fy_code format_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *text = fy_attrs_get(ctx->attrs, "template"),
                *mark = fy_attrs_get(ctx->attrs, "placeholder");
  if (text && mark) FY_TRY(count_marks(text->v.s, mark->v.s, ctx->num_inputs, err));
  return fy_shape_scalar(ctx, err);
}

static fy_code format_string(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view text = fy_site_string(site, "template"), mark = fy_site_string(site, "placeholder");
  const int64_t ends = fy_site_int(site, "summarize");
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_str s;
  fy_str_init(&s);
  size_t at = 0;
  for (int i = 0; i < site->num_inputs; i++) {
    const size_t next = find_text(text, mark, at);
    if (next == SIZE_MAX) break;
    fy_str_addn(&s, text.p + at, next - at);
    at = next + mark.n;
    print_tensor(&s, ctx->in[i], ends);
  }
  if (at < text.n) fy_str_addn(&s, text.p + at, text.n - at);
  fy_code code = fy_text_put_str(out, 0, &s, err);
  fy_str_free(&s);
  return code;
}

static const fy_sample number_samples[] = {
    {"s[3]='1.5','-2',' 3 '", NULL, FY_OK, "1.5,-2,3"},
    {"s[]='x1'", "out_type=int32", FY_INVALID_ARGUMENT,
     "StringToNumberOp could not correctly convert string: x1"},
};
static const fy_sample as_string_samples[] = {
    {"f32[2]=1.5,-2", NULL, FY_OK, "'1.500000','-2.000000'"},
    {"i32[2]=7,-42", "width=5; fill=\"0\"", FY_OK, "'00007','-0042'"},
};
static const fy_sample format_samples[] = {
    {"i32[3]=1,2,3; s[]='x'", "template=\"a %s b %s\"", FY_OK, "'a [1 2 3] b \"x\"'"},
};

FY_OP(StringToNumber, .shape = fy_shape_unchanged, .compute = to_number, .flags = FY_OP_HOST,
      FY_SAMPLES(number_samples));
FY_OP(AsString, .shape = fy_shape_unchanged, .prepare = check_format, .compute = as_string,
      .flags = FY_OP_HOST, FY_SAMPLES(as_string_samples));
FY_OP(StringFormat, .shape = format_shape, .prepare = check_template, .compute = format_string,
      .flags = FY_OP_HOST, FY_SAMPLES(format_samples));

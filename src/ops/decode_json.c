// SPDX-License-Identifier: Apache-2.0
// decode_json.c: DecodeJSONExample: tf.Example messages from the JSON form of protocol buffers.
//
// What protobuf's reader forgives is forgiven: names in snake or camel case, without quotes or with
// single ones, a comma before a closing bracket, numbers as strings, one value for a list of one.
// The order of the features is kept. Texts of errors are our own: protobuf's change from call to
// call on purpose.

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "ops/text.h"

typedef struct json {
  const char *at, *end, *start;
  fy_str word;  // the last string or number
  const char *why;
} json;

static bool bad(json *j, const char *why) {
  if (!j->why) j->why = why;
  return false;
}

static void skip_space(json *j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r')) {
    j->at++;
  }
}

static bool take(json *j, char c) {
  skip_space(j);
  if (j->at >= j->end || *j->at != c) return false;
  j->at++;
  return true;
}

static bool take_null(json *j) {
  skip_space(j);
  if (j->end - j->at < 4 || memcmp(j->at, "null", 4)) return false;
  j->at += 4;
  return true;
}

static bool hex4(json *j, uint32_t *out) {
  *out = 0;
  if (j->end - j->at < 4) return bad(j, "a cut \\u escape");
  for (int i = 0; i < 4; i++) {
    const char c = *j->at++;
    const int v = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
    if (v < 0) return bad(j, "a \\u escape without four hexadecimal digits");
    *out = *out * 16 + (uint32_t)v;
  }
  return true;
}

static bool escape(json *j) {
  static const char from[] = "\"\\/bfnrt'", to[] = "\"\\/\b\f\n\r\t'";
  char text[4];
  uint32_t c, low;
  if (j->at >= j->end) return bad(j, "a string that does not end");
  const char letter = *j->at++;
  if (letter != 'u') {
    const char *known = letter ? strchr(from, letter) : NULL;
    if (!known) return bad(j, "an unknown escape");
    fy_str_addc(&j->word, to[known - from]);
    return true;
  }
  if (!hex4(j, &c)) return false;
  if (c >= 0xD800 && c < 0xDC00 && j->end - j->at >= 2 && j->at[0] == '\\' && j->at[1] == 'u') {
    j->at += 2;
    if (!hex4(j, &low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return bad(j, "half a surrogate pair");
    c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  }
  const size_t n = fy_utf8_put(c, text);
  if (n == 0) return bad(j, "half a surrogate pair");
  fy_str_addn(&j->word, text, n);
  return true;
}

// A quoted string into j->word; false without a reason if there is none.
static bool string(json *j) {
  skip_space(j);
  if (j->at >= j->end || (*j->at != '"' && *j->at != '\'')) return false;
  const char quote = *j->at++;
  j->word.len = 0;
  while (j->at < j->end && *j->at != quote) {
    const char c = *j->at++;
    if (c != '\\')
      fy_str_addc(&j->word, c);
    else if (!escape(j))
      return false;
  }
  if (j->at >= j->end) return bad(j, "a string that does not end");
  j->at++;
  fy_str_addc(&j->word, 0);  // for strtod; not part of it
  j->word.len--;
  return true;
}

// A name before a colon, quoted or not.
static bool name(json *j) {
  if (!string(j)) {
    if (j->why) return false;
    j->word.len = 0;
    while (j->at < j->end &&
           (*j->at == '_' || (*j->at >= '0' && *j->at <= '9') || (*j->at >= 'a' && *j->at <= 'z') ||
            (*j->at >= 'A' && *j->at <= 'Z'))) {
      fy_str_addc(&j->word, *j->at++);
    }
    if (j->word.len == 0) return bad(j, "a name was expected");
  }
  return take(j, ':') || bad(j, "':' was expected");
}

static bool is_word(const json *j, const char *a, const char *b) {
  const fy_view w = {j->word.p, j->word.len};
  return fy_view_is(w, a) || fy_view_is(w, b);
}

// A number or a string into j->word.
static bool scalar(json *j) {
  if (string(j)) return true;
  if (j->why) return false;
  j->word.len = 0;
  while (j->at < j->end && ((*j->at >= '0' && *j->at <= '9') || strchr("+-.eE", *j->at))) {
    fy_str_addc(&j->word, *j->at++);
  }
  if (j->word.len == 0) return bad(j, "a value was expected");
  fy_str_addc(&j->word, 0);
  j->word.len--;
  return true;
}

// ---------------------------------------------------------------- values
static bool padded(fy_view w) {
  return w.n == 0 || (unsigned char)w.p[0] <= ' ' || (unsigned char)w.p[w.n - 1] <= ' ';
}

static bool put_int(json *j, fy_str *out) {
  const fy_view w = {j->word.p, j->word.len};
  int64_t v;
  if (padded(w)) return bad(j, "an integer was expected");
  if (!fy_text_to_number(w, FY_INT64, &v)) {
    double d;
    if (!fy_text_to_number(w, FY_DOUBLE, &d) || d != floor(d) || fabs(d) >= 0x1p63) {
      return bad(j, "an integer was expected");
    }
    v = (int64_t)d;
  }
  fy_put_varint(out, 1 << 3);
  fy_put_varint(out, (uint64_t)v);
  return true;
}

static bool put_float(json *j, fy_str *out) {
  const fy_view w = {j->word.p, j->word.len};
  double d;
  if (fy_view_is(w, "NaN")) {
    d = NAN;
  } else if (fy_view_is(w, "Infinity") || fy_view_is(w, "-Infinity")) {
    d = w.p[0] == '-' ? -INFINITY : INFINITY;
  } else if (padded(w) || !fy_text_to_number(w, FY_DOUBLE, &d) ||
             (isfinite(d) && !isfinite((float)d))) {
    return bad(j, "a number was expected");
  }
  fy_put_float(out, 1, (float)d);
  return true;
}

// Base 64 with either alphabet, padded or not.
static bool put_bytes(json *j, fy_str *out) {
  fy_str bytes;
  uint32_t bits = 0;
  int held = 0;
  size_t n = j->word.len;
  bool fine = true;
  fy_str_init(&bytes);
  while (n && j->word.p[n - 1] == '=') n--;
  for (size_t i = 0; i < n && fine; i++) {
    const char c = j->word.p[i];
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+' || c == '-' ? 62
                  : c == '/' || c == '_' ? 63
                                         : -1;
    fine = v >= 0;
    bits = bits << 6 | (uint32_t)(v & 63);
    held += 6;
    if (held >= 8) {
      held -= 8;
      fy_str_addc(&bytes, (char)(bits >> held));
    }
  }
  fine = fine && held < 6 && (n == j->word.len || j->word.len % 4 == 0);
  if (fine) fy_put_str(out, 1, &bytes);
  fy_str_free(&bytes);
  return fine || bad(j, "corrupt base64");
}

typedef bool (*put_fn)(json *j, fy_str *out);

// A null among the values stands for 0 or nothing; lists in lists are one list.
static bool value_list(json *j, put_fn put, fy_str *out) {
  int depth = 1;
  if (take_null(j)) return true;
  if (!take(j, '[')) return scalar(j) && put(j, out);
  while (depth) {
    if (take(j, '[')) {
      depth++;
      continue;
    }
    if (take(j, ']')) {
      depth--;
      if (depth) take(j, ',');
      continue;
    }
    if (take_null(j)) {
      j->word.len = 0;
      if (put != put_bytes) fy_str_addn(&j->word, "0", 2), j->word.len--;
    } else if (!scalar(j)) {
      return false;
    }
    if (!put(j, out)) return false;
    if (!take(j, ',') && !(j->at < j->end && *j->at == ']'))
      return bad(j, "',' or ']' was expected");
  }
  return true;
}

// ---------------------------------------------------------------- messages
// Goes through the fields of an object; |field| gets the name in j->word.
typedef bool (*field_fn)(json *j, void *arg);

static bool object(json *j, field_fn field, void *arg) {
  if (!take(j, '{')) return bad(j, "'{' was expected");
  while (!take(j, '}')) {
    if (!name(j) || !field(j, arg)) return false;
    if (!take(j, ',') && !(j->at < j->end && *j->at == '}'))
      return bad(j, "',' or '}' was expected");
  }
  return true;
}

typedef struct list {
  fy_str *out;
  put_fn put;
} list;

static bool list_field(json *j, void *arg) {
  list *l = arg;
  if (!is_word(j, "value", "value")) return bad(j, "no such field");
  return value_list(j, l->put, l->out);
}

typedef struct feature {
  fy_str *out;
  bool seen;
} feature;

static bool feature_field(json *j, void *arg) {
  feature *f = arg;
  const int kind = is_word(j, "bytesList", "bytes_list")   ? 1
                   : is_word(j, "floatList", "float_list") ? 2
                   : is_word(j, "int64List", "int64_list") ? 3
                                                           : 0;
  static const put_fn puts[] = {NULL, put_bytes, put_float, put_int};
  fy_str body;
  if (!kind) return bad(j, "no such field");
  if (take_null(j)) return true;
  if (f->seen) return bad(j, "a feature has one kind of list");
  f->seen = true;
  fy_str_init(&body);
  list l = {.out = &body, .put = puts[kind]};
  const bool fine = object(j, list_field, &l);
  fy_put_str(f->out, kind, &body);
  fy_str_free(&body);
  return fine;
}

typedef struct map {
  fy_str *out;
  char **keys;  // without duplicates
  size_t *lengths, n, cap, cap2;
} map;

static bool add_key(json *j, map *m) {
  for (size_t i = 0; i < m->n; i++) {
    if (m->lengths[i] == j->word.len && !memcmp(m->keys[i], j->word.p, j->word.len)) {
      return bad(j, "a key was given twice");
    }
  }
  if (!fy_grow(&m->keys, &m->cap, m->n + 1, sizeof *m->keys) ||
      !fy_grow(&m->lengths, &m->cap2, m->n + 1, sizeof *m->lengths)) {
    return bad(j, "no memory");
  }
  m->keys[m->n] = fy_strndup(j->word.p, j->word.len);
  if (!m->keys[m->n]) return bad(j, "no memory");
  m->lengths[m->n++] = j->word.len;
  return true;
}

static bool map_field(json *j, void *arg) {
  map *m = arg;
  fy_str entry, body;
  if (!add_key(j, m)) return false;
  fy_str_init(&entry);
  fy_str_init(&body);
  fy_put_bytes(&entry, 1, m->keys[m->n - 1], m->lengths[m->n - 1]);
  feature f = {.out = &body};
  const bool null = take_null(j), fine = null || object(j, feature_field, &f);
  if (!null) fy_put_str(&entry, 2, &body);
  fy_put_str(m->out, 1, &entry);
  fy_str_free(&entry);
  fy_str_free(&body);
  return fine;
}

static bool features_field(json *j, void *arg) {
  if (!is_word(j, "feature", "feature")) return bad(j, "no such field");
  if (take_null(j)) return true;
  map m = {.out = arg};
  const bool fine = object(j, map_field, &m);
  for (size_t i = 0; i < m.n; i++) fy_free(m.keys[i]);
  fy_free(m.keys);
  fy_free(m.lengths);
  return fine;
}

static bool example_field(json *j, void *arg) {
  fy_str body;
  if (!is_word(j, "features", "features")) return bad(j, "no such field");
  if (take_null(j)) return true;
  fy_str_init(&body);
  const bool fine = object(j, features_field, &body);
  fy_put_str(arg, 1, &body);
  fy_str_free(&body);
  return fine;
}

static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  fy_code code = FY_OK;
  fy_str s;
  json j = {0};
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  fy_str_init(&s);
  fy_str_init(&j.word);
  for (int64_t i = 0; i < in->count && !code; i++) {
    const fy_view v = fy_tensor_string(in, i);
    j.at = j.start = v.p;
    j.end = v.p + v.n;
    j.why = NULL;
    bool fine = object(&j, example_field, &s);
    skip_space(&j);
    if (fine && j.at < j.end) fine = bad(&j, "more after the message");
    if (!fine) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Error while parsing JSON: %s, at offset %zu",
                     v.n ? j.why : "unexpected EOF", (size_t)(j.at - j.start));
    } else {
      s.failed |= j.word.failed;
      code = fy_text_put_str(out, i, &s, err);
    }
  }
  fy_str_free(&s);
  fy_str_free(&j.word);
  return code;
}

static const fy_sample samples[] = {
    {"s[1]='{}'", NULL, FY_OK, "''"},
    {"s[]='{x:1}'", NULL, FY_INVALID_ARGUMENT, "Error while parsing JSON: no such field"},
};

FY_OP(DecodeJSONExample, .shape = fy_shape_unchanged, .compute = decode, .flags = FY_OP_HOST,
      FY_SAMPLES(samples));

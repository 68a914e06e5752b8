// SPDX-License-Identifier: Apache-2.0
// json.c: a recursive-descent reader with a bound on depth.

#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 100 };

typedef struct reader {
  const char *at, *end, *start;
  char *why;
  int depth;
} reader;

static bool fail(reader *r, const char *what) {
  size_t line = 1;
  if (*r->why) return false;
  for (const char *p = r->start; p < r->at && p < r->end; p++) line += *p == '\n';
  snprintf(r->why, 160, "line %zu: %s", line, what);
  return false;
}

static void skip(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
}

static bool take(reader *r, char c) {
  skip(r);
  if (r->at >= r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool take_word(reader *r, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

static void clear(json_value *v) {
  for (size_t i = 0; i < v->n; i++) {
    clear(&v->items[i]);
    if (v->keys) free(v->keys[i]);
  }
  free(v->items);
  free((void *)v->keys);
  free(v->text);
  *v = (json_value){0};
}

void json_free(json_value *v) {
  if (!v) return;
  clear(v);
  free(v);
}

// ------------------------------------------------------------------ strings
static bool read_hex(reader *r, unsigned *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    if (r->at >= r->end) return fail(r, "a \\u is cut off");
    char c = *r->at;
    unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                        : 16;
    if (d == 16) return fail(r, "\\u is followed by four hexadecimal digits");
    *out = *out << 4 | d;
  }
  return true;
}

static size_t put_utf8(unsigned c, char *out) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xc0 | c >> 6);
    out[1] = (char)(0x80 | (c & 63));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 63));
    out[2] = (char)(0x80 | (c & 63));
    return 3;
  }
  out[0] = (char)(0xf0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 63));
  out[2] = (char)(0x80 | (c >> 6 & 63));
  out[3] = (char)(0x80 | (c & 63));
  return 4;
}

static bool read_escape(reader *r, char *to, size_t *n) {
  static const char from[] = "\"\\/bfnrt", become[] = "\"\\/\b\f\n\r\t";
  if (r->at >= r->end) return fail(r, "a string has no end");
  char c = *r->at++;
  if (c == 'u') {
    unsigned code, low;
    if (!read_hex(r, &code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && take_word(r, "\\u")) {
      if (!read_hex(r, &low)) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + ((low - 0xdc00) & 0x3ff);
    }
    *n += put_utf8(code, to + *n);
    return true;
  }
  const char *p = c ? strchr(from, c) : NULL;
  if (!p) return fail(r, "an unknown escape in a string");
  to[(*n)++] = become[p - from];
  return true;
}

static bool read_string(reader *r, char **out, size_t *out_n) {
  size_t room = 0, n = 0;
  for (const char *p = r->at + 1; p < r->end && *p != '"'; p++) {
    room++;
    if (*p == '\\') p++, room++;
  }
  char *to = malloc(room + 4);
  if (!to) return fail(r, "out of memory");
  r->at++;
  while (r->at < r->end && *r->at != '"') {
    if (*r->at != '\\') {
      to[n++] = *r->at++;
      continue;
    }
    r->at++;
    if (!read_escape(r, to, &n)) {
      free(to);
      return false;
    }
  }
  to[n] = 0;
  if (r->at++ >= r->end) {
    free(to);
    return fail(r, "a string has no end");
  }
  *out = to;
  *out_n = n;
  return true;
}

// ------------------------------------------------------------------ values
static bool read_number(reader *r, json_value *v) {
  char text[64], *end;
  size_t n = 0;
  while (r->at + n < r->end && n < sizeof text - 1 && r->at[n] &&
         strchr("+-.0123456789eE", r->at[n]))
    n++;
  memcpy(text, r->at, n);
  text[n] = 0;
  v->kind = JSON_NUMBER;
  v->number = strtod(text, &end);
  if (!n || end != text + n) return fail(r, "expected a value");
  if (!strpbrk(text, ".eE")) {
    errno = 0;
    v->integer = strtoll(text, NULL, 10);
    v->is_integer = errno == 0;
    if (!v->is_integer && text[0] != '-') {
      errno = 0;
      v->integer = (int64_t)strtoull(text, NULL, 10);
      v->is_integer = v->is_unsigned = errno == 0;
    }
  }
  r->at += n;
  return true;
}

static bool read_value(reader *r, json_value *v);

static bool grow(reader *r, json_value *v, bool keys) {
  if (v->n & (v->n - 1)) return true;  // room for every power of two
  size_t cap = v->n ? 2 * v->n : 1;
  json_value *items = realloc(v->items, cap * sizeof *items);
  if (!items) return fail(r, "out of memory");
  v->items = items;
  if (!keys) return true;
  char **more = realloc((void *)v->keys, cap * sizeof *more);
  if (!more) return fail(r, "out of memory");
  v->keys = more;
  return true;
}

static bool read_list(reader *r, json_value *v, char close) {
  bool object = close == '}';
  v->kind = object ? JSON_OBJECT : JSON_ARRAY;
  r->at++;
  if (take(r, close)) return true;
  for (;;) {
    char *key = NULL;
    size_t n;
    if (!grow(r, v, object) || !v->items) return false;
    skip(r);
    if (object) {
      if (r->at >= r->end || *r->at != '"') return fail(r, "expected a name in quotes");
      if (!read_string(r, &key, &n)) return false;
      v->keys[v->n] = key;
    }
    v->items[v->n] = (json_value){0};
    v->n++;
    if (object && !take(r, ':')) return fail(r, "expected ':'");
    if (!read_value(r, &v->items[v->n - 1])) return false;
    if (take(r, close)) return true;
    if (!take(r, ',')) return fail(r, object ? "expected ',' or '}'" : "expected ',' or ']'");
  }
}

static bool read_value(reader *r, json_value *v) {
  skip(r);
  if (r->at >= r->end) return fail(r, "expected a value");
  if (++r->depth > MAX_DEPTH) return fail(r, "nested too deeply");
  bool ok = true;
  if (*r->at == '"') {
    v->kind = JSON_STRING;
    ok = read_string(r, &v->text, &v->length);
  } else if (*r->at == '[') {
    ok = read_list(r, v, ']');
  } else if (*r->at == '{') {
    ok = read_list(r, v, '}');
  } else if (take_word(r, "true")) {
    *v = (json_value){.kind = JSON_BOOL, .is_integer = true, .integer = 1, .number = 1};
  } else if (take_word(r, "false")) {
    *v = (json_value){.kind = JSON_BOOL, .is_integer = true};
  } else if (take_word(r, "null")) {
    v->kind = JSON_NULL;
  } else if (take_word(r, "NaN") || take_word(r, "nan")) {
    *v = (json_value){.kind = JSON_NUMBER, .number = NAN};
  } else if (take_word(r, "Infinity") || take_word(r, "inf")) {
    *v = (json_value){.kind = JSON_NUMBER, .number = INFINITY};
  } else if (take_word(r, "-Infinity") || take_word(r, "-inf")) {
    *v = (json_value){.kind = JSON_NUMBER, .number = -INFINITY};
  } else {
    ok = read_number(r, v);
  }
  r->depth--;
  return ok;
}

json_value *json_parse(const char *text, size_t n, char why[160]) {
  reader r = {.at = text, .end = text + n, .start = text, .why = why};
  json_value *v = calloc(1, sizeof *v);
  why[0] = 0;
  if (!v) return NULL;
  bool ok = read_value(&r, v);
  skip(&r);
  if (ok && r.at < r.end) ok = fail(&r, "something follows the value");
  if (ok) return v;
  json_free(v);
  return NULL;
}

const json_value *json_get(const json_value *v, const char *key) {
  for (size_t i = 0; v && v->kind == JSON_OBJECT && i < v->n; i++)
    if (strcmp(v->keys[i], key) == 0) return &v->items[i];
  return NULL;
}

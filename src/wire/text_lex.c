// SPDX-License-Identifier: Apache-2.0
// text_lex.c: tokens of protobuf text.

#include "wire/text_lex.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/proto_util.h"

static bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static void skip_blank(fy_wire_lexer *lex) {
  while (lex->at < lex->end) {
    char c = *lex->at;
    if (c == '\n') {
      lex->line++;
      lex->line_start = lex->at + 1;
    } else if (c == '#') {
      while (lex->at < lex->end && *lex->at != '\n') lex->at++;
      continue;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
      return;
    }
    lex->at++;
  }
}

static const char *scan_number(const char *p, const char *end) {
  if (*p == '0' && end - p > 1 && (p[1] == 'x' || p[1] == 'X')) {
    p += 2;
    while (p < end && hex_digit(*p) >= 0) p++;
    return p;
  }
  while (p < end && (is_digit(*p) || *p == '.')) p++;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    while (p < end && is_digit(*p)) p++;
  }
  if (p < end && (*p == 'f' || *p == 'F')) p++;
  return p;
}

// Moves past the closing quote, or returns NULL.
static const char *scan_string(const char *p, const char *end) {
  char quote = *p++;
  while (p < end && *p != '\n') {
    if (*p == quote) return p + 1;
    p += *p == '\\' && end - p > 1 && p[1] != '\n' ? 2 : 1;
  }
  return NULL;
}

void fy_wire_lex_next(fy_wire_lexer *lex) {
  skip_blank(lex);
  const char *p = lex->at, *end = lex->end;
  lex->p = p;
  lex->column = (unsigned)(p - lex->line_start) + 1;
  if (p == end) {
    lex->kind = FY_WIRE_TOKEN_END;
    lex->n = 0;
    return;
  }
  if (is_alpha(*p)) {
    lex->kind = FY_WIRE_TOKEN_NAME;
    while (p < end && (is_alpha(*p) || is_digit(*p))) p++;
  } else if (is_digit(*p) || (*p == '.' && end - p > 1 && is_digit(p[1]))) {
    lex->kind = FY_WIRE_TOKEN_NUMBER;
    p = scan_number(p, end);
    if (p < end && (is_alpha(*p) || is_digit(*p))) lex->kind = FY_WIRE_TOKEN_BAD;
  } else if (*p == '"' || *p == '\'') {
    const char *after = scan_string(p, end);
    lex->kind = after ? FY_WIRE_TOKEN_STRING : FY_WIRE_TOKEN_BAD;
    p = after ? after : p + 1;
  } else {
    lex->kind = *p && strchr("{}<>[]:;,-/.", *p) ? FY_WIRE_TOKEN_PUNCT : FY_WIRE_TOKEN_BAD;
    p++;
  }
  lex->n = (size_t)(p - lex->p);
  lex->at = p;
}

void fy_wire_lex_init(fy_wire_lexer *lex, const char *text, size_t n) {
  *lex = (fy_wire_lexer){.at = n ? text : "", .line = 1};
  lex->end = lex->at + n;
  lex->line_start = lex->at;
  fy_wire_lex_next(lex);
}

bool fy_wire_lex_is(const fy_wire_lexer *lex, char punct) {
  return lex->kind == FY_WIRE_TOKEN_PUNCT && *lex->p == punct;
}

fy_code fy_wire_lex_fail(const fy_wire_lexer *lex, fy_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fy_failv(err, FY_INVALID_ARGUMENT, format, args);
  va_end(args);
  if (err) fy_error_prepend(err, "%u:%u: ", lex->line, lex->column);
  return FY_INVALID_ARGUMENT;
}

// Up to |max| hex digits at |*p|; false if there is none, or fewer than |min|.
static bool read_hex(const char **p, const char *end, int min, int max, uint32_t *out) {
  int n = 0;
  *out = 0;
  while (n < max && *p < end && hex_digit(**p) >= 0) {
    *out = *out << 4 | (uint32_t)hex_digit(**p);
    (*p)++;
    n++;
  }
  return n >= min;
}

// \u and \U, joining a pair of surrogates.
static bool read_unicode(const char **p, const char *end, char **out, char kind) {
  uint32_t code, low;
  int digits = kind == 'u' ? 4 : 8;
  if (!read_hex(p, end, digits, digits, &code)) return false;
  if (code >= 0xD800 && code < 0xDC00 && end - *p > 2 && (*p)[0] == '\\' && (*p)[1] == 'u') {
    const char *after = *p + 2;
    if (read_hex(&after, end, 4, 4, &low) && low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      *p = after;
    }
  }
  size_t n = fy_wire_put_utf8(code, *out);
  *out += n;
  return n > 0;
}

// One escape after the backslash. The result is never longer than what was read.
static bool read_escape(const char **p, const char *end, char **out) {
  static const char names[] = "abfnrtv\\?'\"", values[] = "\a\b\f\n\r\t\v\\?'\"";
  char c = *(*p)++;
  const char *simple = c ? strchr(names, c) : NULL;
  uint32_t code = 0;
  if (simple) {
    *(*out)++ = values[simple - names];
    return true;
  }
  if (c >= '0' && c <= '7') {
    code = (uint32_t)(c - '0');
    for (int i = 0; i < 2 && *p < end && **p >= '0' && **p <= '7'; i++) {
      code = code * 8 + (uint32_t)(*(*p)++ - '0');
    }
    if (code > 255) return false;
    *(*out)++ = (char)code;
    return true;
  }
  if (c == 'x' || c == 'X') {
    if (!read_hex(p, end, 1, 2, &code)) return false;
    *(*out)++ = (char)code;
    return true;
  }
  return (c == 'u' || c == 'U') && read_unicode(p, end, out, c);
}

fy_code fy_wire_lex_string(fy_wire_lexer *lex, fy_arena *arena, char **out, size_t *out_n,
                           fy_error *err) {
  // First count what all adjacent tokens could need, then fill.
  size_t room = 1;
  fy_wire_lexer ahead = *lex;
  for (; ahead.kind == FY_WIRE_TOKEN_STRING; fy_wire_lex_next(&ahead)) room += ahead.n - 2;
  char *to = fy_arena_alloc(arena, room);
  if (!to) return fy_fail_oom(err, room);
  *out = to;
  for (; lex->kind == FY_WIRE_TOKEN_STRING; fy_wire_lex_next(lex)) {
    const char *p = lex->p + 1, *end = lex->p + lex->n - 1;
    while (p < end) {
      if (*p != '\\') {
        *to++ = *p++;
        continue;
      }
      const char *escape = p++;
      if (p < end && read_escape(&p, end, &to)) continue;
      fy_wire_lexer place = *lex;
      place.column += (unsigned)(escape - lex->p);
      return fy_wire_lex_fail(&place, err, "bad escape in string");
    }
  }
  *out_n = (size_t)(to - *out);
  *to = 0;
  return FY_OK;
}

bool fy_wire_lex_uint(const fy_wire_lexer *lex, uint64_t *out) {
  const char *p = lex->p, *end = p + lex->n;
  unsigned base = 10;
  if (*p == '0' && lex->n > 1) {
    base = p[1] == 'x' || p[1] == 'X' ? 16 : 8;
    p += base == 16 ? 2 : 1;
    if (p == end) return false;
  }
  uint64_t value = 0;
  for (; p < end; p++) {
    int digit = hex_digit(*p);
    if (digit < 0 || (unsigned)digit >= base) return false;
    if (__builtin_mul_overflow(value, (uint64_t)base, &value)) return false;
    if (__builtin_add_overflow(value, (uint64_t)digit, &value)) return false;
  }
  *out = value;
  return true;
}

bool fy_wire_lex_real(const fy_wire_lexer *lex, double *out) {
  char buf[512];
  size_t n = lex->n;
  if (n >= 2 && (lex->p[1] == 'x' || lex->p[1] == 'X')) return false;
  if (n && (lex->p[n - 1] == 'f' || lex->p[n - 1] == 'F')) n--;
  if (n == 0 || n >= sizeof buf - 8) return false;
  // strtod wants the locale's decimal point.
  const char *point = localeconv()->decimal_point;
  const char *dot = memchr(lex->p, '.', n);
  size_t before = dot ? (size_t)(dot - lex->p) : n;
  memcpy(buf, lex->p, before);
  size_t at = before;
  if (dot) {
    size_t len = strlen(point);
    if (len > 7) return false;
    memcpy(buf + at, point, len);
    at += len;
    memcpy(buf + at, dot + 1, n - before - 1);
    at += n - before - 1;
  }
  buf[at] = 0;
  char *stop;
  *out = strtod(buf, &stop);
  return stop == buf + at;
}

// SPDX-License-Identifier: Apache-2.0
// str.c: the growing string, human sizes, and "did you mean".

#include "base/str.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"

void fy_str_init(fy_str *s) {
  *s = (fy_str){0};
}

void fy_str_free(fy_str *s) {
  fy_free(s->p);
  fy_str_init(s);
}

// Room for |n| more bytes and the NUL.
static bool reserve(fy_str *s, size_t n) {
  size_t need;
  if (!fy_add_size(s->len, n, &need) || !fy_add_size(need, 1, &need) ||
      (need > s->cap && !fy_grow(&s->p, &s->cap, need < 32 ? 32 : need, 1))) {
    s->failed = true;
    return false;
  }
  return true;
}

void fy_str_addn(fy_str *s, const char *text, size_t n) {
  if (!reserve(s, n)) return;
  if (n) memcpy(s->p + s->len, text, n);
  s->len += n;
  s->p[s->len] = '\0';
}

void fy_str_add(fy_str *s, const char *text) {
  fy_str_addn(s, text, strlen(text));
}

void fy_str_addc(fy_str *s, char c) {
  fy_str_addn(s, &c, 1);
}

void fy_str_vprintf(fy_str *s, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  size_t room = s->cap - s->len;  // 0 before the first growth
  int n = vsnprintf(s->p ? s->p + s->len : NULL, room, format, args);
  if (n < 0) {
    s->failed = true;
  } else if ((size_t)n < room) {
    s->len += (size_t)n;
  } else if (reserve(s, (size_t)n)) {
    vsnprintf(s->p + s->len, (size_t)n + 1, format, again);
    s->len += (size_t)n;
  }
  if (s->p) s->p[s->len] = '\0';
  va_end(again);
}

void fy_str_printf(fy_str *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fy_str_vprintf(s, format, args);
  va_end(args);
}

// Length of the UTF-8 sequence at |p|, 0 if it is not well-formed.
static size_t utf8_length(const unsigned char *p, size_t n) {
  if (p[0] < 0x80) return 1;
  size_t len = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
  if (p[0] < 0xC2 || p[0] > 0xF4 || len > n) return 0;
  for (size_t i = 1; i < len; i++) {
    if ((p[i] & 0xC0) != 0x80) return 0;
  }
  bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
  bool surrogate = p[0] == 0xED && p[1] > 0x9F;
  bool too_big = p[0] == 0xF4 && p[1] > 0x8F;
  return overlong || surrogate || too_big ? 0 : len;
}

static void json_byte(fy_str *s, unsigned char c) {
  static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
  const char *at = c ? strchr(plain, c) : NULL;
  if (at) {
    fy_str_addc(s, '\\');
    fy_str_addc(s, letter[at - plain]);
  } else if (c < 0x20) {
    fy_str_printf(s, "\\u%04x", c);
  } else {
    fy_str_addc(s, (char)c);
  }
}

void fy_str_json(fy_str *s, const char *text, size_t n) {
  fy_str_addc(s, '"');
  for (size_t i = 0; i < n;) {
    size_t len = utf8_length((const unsigned char *)text + i, n - i);
    if (len == 1) {
      json_byte(s, (unsigned char)text[i]);
    } else if (len == 0) {  // JSON must be UTF-8: a stray byte becomes the replacement character
      fy_str_add(s, "\\ufffd");
      len = 1;
    } else {
      fy_str_addn(s, text + i, len);
    }
    i += len;
  }
  fy_str_addc(s, '"');
}

const char *fy_str_text(const fy_str *s) {
  return s->p ? s->p : "";
}

char *fy_str_take(fy_str *s) {
  if (!s->failed && !s->p) fy_str_addn(s, "", 0);
  char *p = s->failed ? NULL : s->p;
  if (!p) fy_free(s->p);
  fy_str_init(s);
  return p;
}

// TensorFlow's rule: whole bytes below 1 KiB, one decimal for KiB, two above; each step up divides
// as integers, so 1.999 MiB loses its odd bytes before rounding.
void fy_human_bytes(double bytes, char out[32]) {
  const char *sign = bytes < 0 ? "-" : "";
  double size = bytes < 0 ? -bytes : bytes;
  uint64_t n = size >= 18446744073709551615.0 ? UINT64_MAX : size > 0 ? (uint64_t)size : 0;
  if (n < 1024) {
    snprintf(out, 32, "%s%lluB", sign, (unsigned long long)n);
    return;
  }
  const char *unit = "KMGTPE";
  for (; n >= 1024 * 1024; unit++) n /= 1024;
  snprintf(out, 32, "%s%.*f%ciB", sign, *unit == 'K' ? 1 : 2, (double)n / 1024.0, *unit);
}

// A fraction, so that "1.1k" is 1100 and not a little less; what gets larger than HUGE_NUMBER stays there.
typedef unsigned __int128 big;
#define HUGE_NUMBER ((big)1 << 120)
typedef struct number {
  big top, bottom;
} number;

static void scale(big *x, unsigned by, unsigned plus) {
  *x = *x >= HUGE_NUMBER / by ? HUGE_NUMBER : *x * by + plus;
}

static bool is_digit(const char *p, const char *end) {
  return p < end && *p >= '0' && *p <= '9';
}

// The exponent of "12e3"; leaves "1E" alone, which is exa.
static const char *parse_exponent(const char *p, const char *end, number *out) {
  if (p == end || (*p != 'e' && *p != 'E')) return p;
  const char *e = p + 1;
  bool negative = e < end && *e == '-';
  if (e < end && (*e == '-' || *e == '+')) e++;
  if (!is_digit(e, end)) return p;
  int exponent = 0;
  for (; is_digit(e, end); e++) {
    if (exponent < 1000) exponent = exponent * 10 + (*e - '0');
  }
  while (exponent-- > 0) scale(negative ? &out->bottom : &out->top, 10, 0);
  return e;
}

// Consumes "12.5e3"; NULL if there is no digit.
static const char *parse_number(const char *p, const char *end, number *out) {
  bool digits = false, fraction = false;
  *out = (number){0, 1};
  for (; is_digit(p, end) || (p < end && *p == '.' && !fraction); p++) {
    if (*p == '.') {
      fraction = true;
      continue;
    }
    digits = true;
    scale(&out->top, 10, (unsigned)(*p - '0'));
    if (fraction) scale(&out->bottom, 10, 0);
  }
  return digits ? parse_exponent(p, end, out) : NULL;
}

bool fy_parse_bytes(const char *text, size_t n, uint64_t *out) {
  static const char units[] = "kmgtpe";
  const char *end = text + n;
  number v;
  *out = 0;
  const char *p = parse_number(text, end, &v);
  if (!p) return false;
  while (p < end && *p == ' ') p++;
  const char *unit = p < end ? memchr(units, tolower((unsigned char)*p), 6) : NULL;
  if (unit) {
    p++;
    bool binary = p < end && (*p == 'i' || *p == 'I');
    if (binary) p++;
    for (long step = unit - units; step >= 0; step--) scale(&v.top, binary ? 1024 : 1000, 0);
  }
  if (p < end && (*p == 'b' || *p == 'B')) p++;
  big bytes = v.top / v.bottom;
  if (p != end || v.top == HUGE_NUMBER || bytes > UINT64_MAX) return false;
  *out = (uint64_t)bytes;
  return true;
}

#define MAX_WORD 63

// Levenshtein distance without regard to case.
static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t row[MAX_WORD + 1];
  for (size_t j = 0; j <= nb; j++) row[j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
      size_t best = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[nb];
}

const char *fy_nearest(const char *word, const char *const *names, size_t count) {
  size_t n = strlen(word);
  if (n == 0 || n > MAX_WORD) return NULL;
  const char *best = NULL;
  size_t limit = n < 3 ? 1 : n / 3 + 1;  // exclusive after the first hit, so earlier names win ties
  for (size_t i = 0; i < count; i++) {
    size_t len = strlen(names[i]);
    size_t gap = len > n ? len - n : n - len;
    if (len > MAX_WORD || gap > limit) continue;
    size_t d = distance(word, n, names[i], len);
    if (d > limit || (best && d == limit)) continue;
    best = names[i];
    limit = d;
    if (d == 0) break;
  }
  return best;
}

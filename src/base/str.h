// SPDX-License-Identifier: Apache-2.0
// str.h: string views and a growing string. A failed growth is remembered (|failed|), so that a
// caller may add many pieces and check once at the end.

#ifndef FY_BASE_STR_H
#define FY_BASE_STR_H

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct fy_view {  // bytes somebody else owns; not NUL-terminated in general
  const char *p;
  size_t n;
} fy_view;

#define FY_VIEW(literal) ((fy_view){(literal), sizeof(literal) - 1})
static inline fy_view fy_view_of(const char *s) {
  return (fy_view){s, s ? strlen(s) : 0};
}
static inline bool fy_view_eq(fy_view a, fy_view b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool fy_view_is(fy_view a, const char *s) {
  return fy_view_eq(a, fy_view_of(s));
}

typedef struct fy_str {
  char *p;  // NUL-terminated once anything was added; may be NULL before
  size_t len, cap;
  bool failed;
} fy_str;

void fy_str_init(fy_str *s);
void fy_str_free(fy_str *s);
void fy_str_add(fy_str *s, const char *text);
void fy_str_addn(fy_str *s, const char *text, size_t n);
void fy_str_addc(fy_str *s, char c);
void fy_str_printf(fy_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fy_str_vprintf(fy_str *s, const char *format, va_list args);
void fy_str_json(fy_str *s, const char *text, size_t n);  // quoted and escaped
const char *fy_str_text(const fy_str *s);                 // never NULL
char *fy_str_take(fy_str *s);  // caller frees with fy_free; NULL if any growth failed

// Human sizes: "1.50GiB" as TensorFlow prints them.
void fy_human_bytes(double bytes, char out[32]);
// Parses "2GiB", "512MB", "1e6", "4k" (powers of 1024 with i, of 1000 without). False if malformed.
bool fy_parse_bytes(const char *text, size_t n, uint64_t *out);
// The name in |names| nearest to |word| by edit distance, NULL if none is near: "did you mean".
const char *fy_nearest(const char *word, const char *const *names, size_t count);

#endif

// SPDX-License-Identifier: Apache-2.0
// unicode_data.c: UTF-8 and the Unicode properties that string ops need. The tables are runs of
// code points found by bisection (unicode_data.inc, made by tools/gen_unicode_data.py).

#include "ops/text.h"

typedef struct fy_case_run {  // first, first + step … last map to themselves + delta
  uint32_t first, last, step;
  int32_t delta;
} fy_case_run;
typedef struct fy_case_special {
  uint32_t from, to[3];
} fy_case_special;
typedef struct fy_value_run {  // up to where the next begins
  uint32_t first;
  uint8_t value;
} fy_value_run;

#include "ops/unicode_data.inc"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

uint32_t fy_utf8_next(const char *text, size_t n, size_t *len) {
  const unsigned char *p = (const unsigned char *)text;
  *len = 1;
  if (p[0] < 0x80) return p[0];
  const int want = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
  if (p[0] < 0xC2 || p[0] > 0xF4) return FY_BAD_CHAR;
  uint32_t c = p[0] & (0x7Fu >> want);
  for (int i = 1; i < want; i++) {
    // The second byte also rules out overlong forms, surrogates and what is above U+10FFFF.
    const unsigned char low = i > 1 ? 0x80 : p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = i > 1 ? 0xBF : p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    if ((size_t)i >= n || p[i] < low || p[i] > high) {
      *len = (size_t)i;
      return FY_BAD_CHAR;
    }
    c = c << 6 | (p[i] & 0x3F);
  }
  *len = (size_t)want;
  return c;
}

size_t fy_utf8_put(uint32_t c, char out[4]) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    if (c >= 0xD800 && c <= 0xDFFF) return 0;
    out[0] = (char)(0xE0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  if (c > 0x10FFFF) return 0;
  out[0] = (char)(0xF0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 0x3F));
  out[2] = (char)(0x80 | (c >> 6 & 0x3F));
  out[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

static uint8_t run_value(const fy_value_run *runs, size_t n, uint32_t c) {
  // No branch depends on |c|, so that a processor searches for several at once.
  const fy_value_run *low = runs;  // low->first <= c < low[n].first
  while (n > 1) {
    const size_t half = n / 2;
    low += low[half].first <= c ? half : 0;
    n -= half;
  }
  return low->value;
}

fy_category fy_unicode_category(uint32_t c) {
  return c > 0x10FFFF ? FY_CAT_CN : (fy_category)run_value(category_runs, COUNT(category_runs), c);
}
int32_t fy_unicode_script(uint32_t c) {
  return run_value(script_runs, COUNT(script_runs), c);
}

static int map_case(uint32_t c, const fy_case_run *runs, size_t n, const fy_case_special *special,
                    size_t num_special, uint32_t out[3]) {
  for (size_t i = 0; i < num_special && special[i].from <= c; i++) {
    if (special[i].from != c) continue;
    int k = 0;
    while (k < 3 && special[i].to[k]) {
      out[k] = special[i].to[k];
      k++;
    }
    return k;
  }
  size_t low = 0, high = n;
  while (low < high) {
    const size_t mid = (low + high) / 2;
    if (runs[mid].last < c)
      low = mid + 1;
    else
      high = mid;
  }
  out[0] = c;
  if (low < n && runs[low].first <= c && (c - runs[low].first) % runs[low].step == 0) {
    out[0] = (uint32_t)((int32_t)c + runs[low].delta);
  }
  return 1;
}

int fy_unicode_lower(uint32_t c, uint32_t out[3]) {
  return map_case(c, lower_runs, COUNT(lower_runs), lower_special, COUNT(lower_special), out);
}
int fy_unicode_upper(uint32_t c, uint32_t out[3]) {
  return map_case(c, upper_runs, COUNT(upper_runs), upper_special, COUNT(upper_special), out);
}

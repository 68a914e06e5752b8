// SPDX-License-Identifier: Apache-2.0
// The fast ways of regular expressions and numbers as text against the slow ones, on random input.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/regex.h"
#include "ops/text.h"

static uint64_t seed = 0x9E3779B97F4A7C15u;
static uint32_t draw(uint32_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % n;
}

// ---------------------------------------------------------------- regular expressions
static void add_pattern(fy_str *s, int depth) {
  static const char *const atoms[] = {"a",   "b",  "[ab]",  "[^a]",     ".",
                                      "\\d", "c?", "(?i)a", "\xC3\xB6", "ab*",
                                      "a+?", "^",  "$",     "",         "b{1,2}"};
  const uint32_t kind = depth > 2 ? 0 : draw(6);
  if (kind <= 2) {
    fy_str_add(s, atoms[draw(sizeof atoms / sizeof atoms[0])]);
  } else if (kind == 3) {
    add_pattern(s, depth + 1);
    add_pattern(s, depth + 1);
  } else if (kind == 4) {
    fy_str_add(s, "(");
    add_pattern(s, depth + 1);
    fy_str_add(s, "|");
    add_pattern(s, depth + 1);
    fy_str_add(s, ")");
  } else {
    static const char *const times[] = {"*", "+", "?", "*?", "{2}"};
    fy_str_add(s, "(");
    add_pattern(s, depth + 1);
    fy_str_add(s, ")");
    fy_str_add(s, times[draw(5)]);
  }
}

static void add_random_text(fy_str *s) {
  static const char *const parts[] = {"a", "b", "c", "1", "\n", "\xC3\xB6", "\xFF", "ab", "A"};
  for (uint32_t n = draw(12); n > 0; n--) fy_str_add(s, parts[draw(9)]);
}

static void regex_cache(void **unused) {
  (void)unused;
  fy_error err;
  fy_error_init(&err);
  fy_str pattern, text;
  fy_str_init(&pattern);
  fy_str_init(&text);
  int compared = 0;
  for (int k = 0; k < 3000; k++) {
    pattern.len = 0;
    add_pattern(&pattern, 0);
    fy_regex *re;
    if (fy_regex_new((fy_view){fy_str_text(&pattern), pattern.len}, &re, &err)) {
      fy_error_clear(&err);  // "a**"
      continue;
    }
    for (int full = 0; full < 2; full++) {
      fy_regex_cache *cache = fy_regex_cache_new(re, full);
      assert_non_null(cache);
      for (int i = 0; i < 20; i++) {
        text.len = 0;
        add_random_text(&text);
        const fy_view v = {fy_str_text(&text), text.len};
        const size_t from = full ? 0 : draw((uint32_t)text.len + 1);
        fy_span want = {0, 0}, got = {0, 0};
        bool found, said;
        assert_int_equal(fy_regex_match(re, v, from, full, &want, 1, &found, &err), FY_OK);
        if (!fy_regex_cache_find(cache, v, from, &got, &said)) continue;
        compared++;
        if (said != found || (found && !full && (got.begin != want.begin || got.end != want.end)))
          fail_msg("'%s' in '%s' from %zu%s: %d %zu-%zu, not %d %zu-%zu", fy_str_text(&pattern),
                   fy_str_text(&text), from, full ? " (full)" : "", said, got.begin, got.end, found,
                   want.begin, want.end);
      }
      fy_regex_cache_free(cache);
    }
    fy_regex_free(re);
  }
  assert_true(compared > 20000);
  fy_str_free(&pattern);
  fy_str_free(&text);
}

// ---------------------------------------------------------------- numbers
static void check_number(const char *text) {
  float f = 0, want_f = strtof(text, NULL);
  double d = 0, want_d = strtod(text, NULL);
  const fy_view v = {text, strlen(text)};
  assert_true(fy_text_to_number(v, FY_FLOAT, &f));
  assert_true(fy_text_to_number(v, FY_DOUBLE, &d));
  if (memcmp(&f, &want_f, sizeof f)) fail_msg("%s: %a, not %a", text, (double)f, (double)want_f);
  if (memcmp(&d, &want_d, sizeof d)) fail_msg("%s: %a, not %a", text, d, want_d);
}

static void numbers_from_text(void **unused) {
  (void)unused;
  static const char *const some[] = {"0",
                                     "-0",
                                     "+1",
                                     "1.",
                                     ".5",
                                     "1e5",
                                     "1E-5",
                                     "16777217",
                                     "16777219",
                                     "9007199254740993",
                                     "1.17549435e-38",
                                     "3.4028236e38",
                                     "1e-45",
                                     "0.1",
                                     "1e22",
                                     "1e23",
                                     "33554434.9999999999",
                                     "7.0385309e-26",
                                     "0e99"};
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) check_number(some[i]);
  for (int i = 0; i < 200000; i++) {
    char text[64];
    size_t n = 0;
    if (draw(3) == 0) text[n++] = "-+"[draw(2)];
    for (uint32_t k = draw(9) + 1; k > 0; k--) text[n++] = (char)('0' + draw(10));
    if (draw(2)) text[n++] = '.';
    if (text[n - 1] == '.')
      for (uint32_t k = draw(10); k > 0; k--) text[n++] = (char)('0' + draw(10));
    text[n] = 0;
    if (draw(3) == 0) snprintf(text + n, sizeof text - n, "e%d", (int)draw(60) - 30);
    check_number(text);
    // Half-way between two floats, and a little beside it.
    const uint32_t bits = draw(0x7F000000) | 1;
    float x;
    memcpy(&x, &bits, sizeof x);
    snprintf(text, sizeof text, "%.*g", (int)draw(17) + 1,
             ((double)x + (double)nextafterf(x, 1e38f)) / 2);
    check_number(text);
  }
}

static void numbers_to_text(void **unused) {
  (void)unused;
  fy_str s;
  fy_str_init(&s);
  int simple = 0;
  for (int i = 0; i < 300000; i++) {
    const int places = (int)draw(11);
    double v;
    uint64_t bits = (uint64_t)draw(1u << 31) << 33 ^ (uint64_t)draw(1u << 31) << 11 ^ draw(2048);
    memcpy(&v, &bits, sizeof v);
    if (i % 3 == 0) v = ((double)draw(1u << 31) - 0x1p30) / (double)(1u << draw(31));  // ties
    if (i % 3 == 1) v = (double)((float)draw(100000) / (float)(1 + draw(1000)));
    s.len = 0;
    if (!fy_text_add_fixed(&s, places, v)) continue;
    char want[400];
    snprintf(want, sizeof want, "%.*f", places, v);
    if (strcmp(fy_str_text(&s), want)) fail_msg("%a: %s, not %s", v, fy_str_text(&s), want);
    simple++;
  }
  assert_true(simple > 150000);
  fy_str_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(regex_cache),
                                     cmocka_unit_test(numbers_from_text),
                                     cmocka_unit_test(numbers_to_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// regex_class.c: sets of characters: ranges, named and Unicode classes, escapes, [...].

#include <stdlib.h>

#include "ops/regex_impl.h"

bool fy_re_add_range(parser *ps, charset *s, uint32_t low, uint32_t high) {
  if (s->n > 100000) {
    fy_re_fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return false;
  }
  if (s->n == s->cap) {
    const size_t cap = s->cap ? s->cap * 2 : 4;
    range *more = fy_arena_array(&ps->re->arena, cap, sizeof *more);
    if (!more) {
      fy_re_no_memory(ps);
      return false;
    }
    if (s->n) memcpy(more, s->ranges, s->n * sizeof *more);
    s->ranges = more;
    s->cap = cap;
  }
  s->ranges[s->n++] = (range){low, high};
  return true;
}

static int by_low(const void *a, const void *b) {
  const range *x = a, *y = b;
  return x->low < y->low ? -1 : x->low > y->low;
}

void fy_re_sort_ranges(charset *s) {
  if (s->sorted || s->n == 0) return;
  qsort(s->ranges, s->n, sizeof *s->ranges, by_low);
  size_t n = 1;
  for (size_t i = 1; i < s->n; i++) {
    range *last = &s->ranges[n - 1];
    if (s->ranges[i].low <= last->high + 1) {
      if (s->ranges[i].high > last->high) last->high = s->ranges[i].high;
    } else {
      s->ranges[n++] = s->ranges[i];
    }
  }
  s->n = n;
  s->sorted = true;
}

bool fy_re_in_ranges(const charset *s, uint32_t c) {
  size_t low = 0, high = s->n;
  while (low < high) {
    const size_t mid = (low + high) / 2;
    if (s->ranges[mid].high < c)
      low = mid + 1;
    else
      high = mid;
  }
  return low < s->n && s->ranges[low].low <= c;
}

// Adds the characters that |from| lacks.
static bool add_negated(parser *ps, charset *s, charset *from) {
  uint32_t next = 0;
  for (;;) {  // ranges may overlap: find what covers |next|, else the gap up to the next range
    bool covered = false;
    uint32_t gap = 0x110000;
    for (size_t i = 0; i < from->n; i++) {
      const range r = from->ranges[i];
      if (next >= r.low && next <= r.high) {
        next = r.high + 1;
        covered = true;
        break;
      }
      if (r.low > next && r.low < gap) gap = r.low;
    }
    if (next > 0x10FFFF) return true;
    if (covered) continue;
    if (!fy_re_add_range(ps, s, next, gap - 1)) return false;
    next = gap;
    if (next > 0x10FFFF) return true;
  }
}

bool fy_re_add_folded(parser *ps, charset *s, uint32_t low, uint32_t high) {
  if (!fy_re_add_range(ps, s, low, high)) return false;
  if (!(ps->flags & FOLD)) return true;
  const uint32_t last = high - low > 0x3000 ? low + 0x3000 : high;
  for (uint32_t c = low; c <= last; c++) {
    uint32_t to[3];
    if (fy_unicode_lower(c, to) == 1 && to[0] != c && !fy_re_add_range(ps, s, to[0], to[0]))
      return false;
    if (fy_unicode_upper(c, to) == 1 && to[0] != c && !fy_re_add_range(ps, s, to[0], to[0]))
      return false;
    if ((c == 'k' || c == 'K') && !fy_re_add_range(ps, s, 0x212A, 0x212A)) return false;
    if ((c == 's' || c == 'S') && !fy_re_add_range(ps, s, 0x17F, 0x17F)) return false;
  }
  return true;
}

typedef struct named_class {
  const char *name;
  range ranges[5];
} named_class;
static const named_class posix[] = {{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
                                    {"ascii", {{0, 0x7F}}},
                                    {"blank", {{'\t', '\t'}, {' ', ' '}}},
                                    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
                                    {"digit", {{'0', '9'}}},
                                    {"graph", {{'!', '~'}}},
                                    {"lower", {{'a', 'z'}}},
                                    {"print", {{' ', '~'}}},
                                    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                                    {"space", {{'\t', '\r'}, {' ', ' '}}},
                                    {"upper", {{'A', 'Z'}}},
                                    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
static const named_class perl[] = {{"d", {{'0', '9'}}},
                                   {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
                                   {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}};

static bool add_class(parser *ps, charset *s, const named_class *c, bool negated) {
  charset one = {0};
  for (int i = 0; i < 5 && (c->ranges[i].high || c->ranges[i].low); i++) {
    if (!fy_re_add_folded(ps, &one, c->ranges[i].low, c->ranges[i].high)) return false;
  }
  if (negated) return add_negated(ps, s, &one);
  for (size_t i = 0; i < one.n; i++) {
    if (!fy_re_add_range(ps, s, one.ranges[i].low, one.ranges[i].high)) return false;
  }
  return true;
}

static bool category_matches(fy_view name, uint32_t c) {
  static const char *const names[FY_CAT_COUNT] = {
      "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
      "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs"};
  const char *of = names[fy_unicode_category(c)];
  if (of[0] == 'C' && of[1] == 'n') return false;  // RE2 leaves the unassigned out
  return of[0] == name.p[0] && (name.n == 1 || of[1] == name.p[1]);
}

// ICU's script numbers of the names that are most used.
static const struct {
  const char *name;
  int32_t code;
} scripts[] = {{"Arabic", 2},      {"Armenian", 3},  {"Bengali", 4}, {"Cyrillic", 8},
               {"Devanagari", 10}, {"Georgian", 12}, {"Greek", 14},  {"Gujarati", 15},
               {"Han", 17},        {"Hangul", 18},   {"Hebrew", 19}, {"Hiragana", 20},
               {"Katakana", 22},   {"Khmer", 23},    {"Lao", 24},    {"Latin", 25},
               {"Tamil", 35},      {"Telugu", 36},   {"Thai", 38},   {"Common", 0}};

static bool is_category_name(fy_view n) {
  static const char *const all =
      "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf "
      "Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs ";
  for (const char *p = all; *p;) {
    const char *space = strchr(p, ' ');
    if (fy_view_eq(n, (fy_view){p, (size_t)(space - p)})) return true;
    p = space + 1;
  }
  return false;
}

// \pL, \p{Greek}, \P{^Lu}: the parser is behind the p.
static bool parse_property(parser *ps, charset *s, bool negated, const char *from) {
  fy_view name;
  if (ps->p < ps->end && *ps->p == '{') {
    const char *close = memchr(ps->p, '}', (size_t)(ps->end - ps->p));
    if (!close) {
      fy_re_fail(ps, "invalid character class range", from, ps->end);
      return false;
    }
    name = (fy_view){ps->p + 1, (size_t)(close - ps->p - 1)};
    ps->p = close + 1;
  } else {
    if (ps->p >= ps->end) {
      fy_re_fail(ps, "invalid character class range", from, ps->end);
      return false;
    }
    name = (fy_view){ps->p, 1};
    ps->p++;
  }
  if (name.n && name.p[0] == '^') negated = !negated, name.p++, name.n--;
  int32_t script = -1;
  for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    if (fy_view_is(name, scripts[i].name)) script = scripts[i].code;
  }
  const bool any = fy_view_is(name, "Any");
  if (script < 0 && !any && !is_category_name(name)) {
    fy_re_fail(ps, "invalid character class range", from, ps->p);
    return false;
  }
  if (++ps->properties > 100) {
    fy_re_fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return false;
  }
  uint32_t low = 0;
  bool inside = false;
  for (uint32_t c = 0; c <= 0x110000; c++) {
    const bool in = c <= 0x10FFFF && (any || (script >= 0 ? fy_unicode_script(c) == script
                                                          : category_matches(name, c))) != negated;
    if (in && !inside) low = c;
    if (!in && inside && !fy_re_add_range(ps, s, low, c - 1)) return false;
    inside = in;
  }
  return true;
}

static int hex(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

// One escaped character; the parser is at the backslash.
bool fy_re_parse_escape(parser *ps, uint32_t *out) {
  const char *from = ps->p++;
  if (ps->p >= ps->end) {
    fy_re_fail(ps, "trailing \\", from, from);
    return false;
  }
  const char c = *ps->p++;
  static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  const char *at = strchr(letters, c);
  if (c && at) {
    *out = (uint32_t)values[at - letters];
    return true;
  }
  if (c == 'x') {
    uint32_t v = 0;
    int digits = 0;
    const bool braces = ps->p < ps->end && *ps->p == '{';
    if (braces) ps->p++;
    while (ps->p < ps->end && hex(*ps->p) >= 0 && (braces || digits < 2) && v <= 0x10FFFF) {
      v = v * 16 + (uint32_t)hex(*ps->p++);
      digits++;
    }
    if (digits == 0 || (!braces && digits < 2) || v > 0x10FFFF ||
        (braces && (ps->p >= ps->end || *ps->p++ != '}'))) {
      fy_re_fail(ps, "invalid escape sequence", from, ps->p);
      return false;
    }
    *out = v;
    return true;
  }
  if (c == '0' || (c >= '1' && c <= '7' && ps->p < ps->end && *ps->p >= '0' && *ps->p <= '7')) {
    uint32_t v = (uint32_t)(c - '0');
    for (int i = 0; i < 2 && ps->p < ps->end && *ps->p >= '0' && *ps->p <= '7'; i++) {
      v = v * 8 + (uint32_t)(*ps->p++ - '0');
    }
    *out = v;
    return true;
  }
  const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (word || (unsigned char)c >= 0x80) {
    size_t len = 1;
    if ((unsigned char)c >= 0x80) fy_utf8_next(ps->p - 1, (size_t)(ps->end - ps->p) + 1, &len);
    ps->p += len - 1;
    fy_re_fail(ps, "invalid escape sequence", from, ps->p);
    return false;
  }
  *out = (unsigned char)c;
  return true;
}

// \d \S \pL…: true if a class was there (then added to |s|).
bool fy_re_try_class_escape(parser *ps, charset *s) {
  if (ps->end - ps->p < 2 || *ps->p != '\\') return false;
  const char c = ps->p[1], *from = ps->p;
  for (size_t i = 0; i < 3; i++) {
    const char lower = perl[i].name[0];
    if (c == lower || c == lower - 32) {
      ps->p += 2;
      add_class(ps, s, &perl[i], c != lower);
      return true;
    }
  }
  if (c == 'p' || c == 'P') {
    ps->p += 2;
    parse_property(ps, s, c == 'P', from);
    return true;
  }
  return false;
}

bool fy_re_next_char(parser *ps, uint32_t *out) {
  size_t len;
  *out = fy_utf8_next(ps->p, (size_t)(ps->end - ps->p), &len);
  if (*out == FY_BAD_CHAR) {
    fy_re_fail(ps, "invalid UTF-8", ps->p, ps->p);
    return false;
  }
  ps->p += len;
  return true;
}

node *fy_re_set_node(parser *ps, charset **out) {
  node *n = fy_re_new_node(ps, SET, NULL, NULL);
  if (!n) return NULL;
  n->set = *out = fy_arena_zalloc(&ps->re->arena, sizeof *n->set);
  return n->set ? n : fy_re_no_memory(ps);
}

node *fy_re_parse_set(parser *ps) {
  const char *from = ps->p++;
  charset *s;
  node *n = fy_re_set_node(ps, &s);
  if (!n) return NULL;
  if (ps->p < ps->end && *ps->p == '^') s->negated = true, ps->p++;
  for (bool first = true;; first = false) {
    if (ps->p >= ps->end) return fy_re_fail(ps, "missing ]", from, ps->end);
    if (*ps->p == ']' && !first) break;
    const char *item = ps->p;
    if (*ps->p == '-' && !first && ps->end - ps->p > 1 && ps->p[1] != ']') {
      const char *after = ps->p + 2 <= ps->end ? ps->p + 2 : ps->end;
      return fy_re_fail(ps, "bad character class range", ps->p, after);
    }
    if (ps->end - ps->p > 2 && ps->p[0] == '[' && ps->p[1] == ':') {
      const char *q = ps->p + 2;
      while (q + 1 < ps->end && !(q[0] == ':' && q[1] == ']')) q++;
      if (q + 1 < ps->end) {
        fy_view name = {ps->p + 2, (size_t)(q - ps->p - 2)};
        const bool negated = name.n && name.p[0] == '^';
        if (negated) name.p++, name.n--;
        ps->p = q + 2;
        size_t k = 0;
        while (k < sizeof posix / sizeof posix[0] && !fy_view_is(name, posix[k].name)) k++;
        if (k == sizeof posix / sizeof posix[0]) {
          return fy_re_fail(ps, "invalid character class range", item, ps->p);
        }
        if (!add_class(ps, s, &posix[k], negated)) return NULL;
        continue;
      }
    }
    if (fy_re_try_class_escape(ps, s)) {
      if (ps->code) return NULL;
      continue;
    }
    uint32_t low, high;
    if (*ps->p == '\\' ? !fy_re_parse_escape(ps, &low) : !fy_re_next_char(ps, &low)) return NULL;
    high = low;
    if (ps->end - ps->p > 1 && ps->p[0] == '-' && ps->p[1] != ']') {
      ps->p++;
      if (*ps->p == '\\' ? !fy_re_parse_escape(ps, &high) : !fy_re_next_char(ps, &high))
        return NULL;
      if (high < low) return fy_re_fail(ps, "invalid character class range", item, ps->p);
    }
    if (!fy_re_add_folded(ps, s, low, high)) return NULL;
  }
  ps->p++;
  return n;
}

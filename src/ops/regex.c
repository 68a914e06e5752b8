// SPDX-License-Identifier: Apache-2.0
// regex.c: see regex.h. Parser -> tree -> program -> Pike machine. Characters are code points; a
// byte that is no UTF-8 matches nothing, as in RE2.

#include "ops/regex.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "ops/text.h"

#define MAX_REPEAT 1000
#define MAX_DEPTH  200
#define MAX_GROUPS 64

// ---------------------------------------------------------------- classes
typedef struct range {
  uint32_t low, high;
} range;
typedef struct charset {
  range *ranges;
  size_t n, cap;
  bool negated, sorted;
} charset;

enum { FOLD = 1, DOT_NL = 2, MULTI = 4, UNGREEDY = 8 };

typedef enum node_kind {
  EMPTY,
  SET,
  CAT,
  ALT,
  REPEAT,
  GROUP,
  BEGIN_TEXT,
  END_TEXT,
  BEGIN_LINE,
  END_LINE,
  WORD,
  NOT_WORD
} node_kind;
typedef struct node {
  node_kind kind;
  struct node *a, *b;  // CAT, ALT: both; REPEAT, GROUP: a
  int min, max;        // REPEAT; max -1: no limit. GROUP: min is its number
  bool lazy;
  charset *set;
} node;

// ---------------------------------------------------------------- program
typedef enum opcode { I_SET, I_SPLIT, I_JUMP, I_SAVE, I_ASSERT, I_MATCH } opcode;
typedef struct inst {
  opcode op;
  int x, y;  // SPLIT: first choice, second; JUMP: x; SAVE: slot x; ASSERT: kind x
  const charset *set;
} inst;

struct fy_regex {
  fy_arena arena;
  inst *code;
  size_t n, cap;
  int groups;
};

typedef struct parser {
  fy_regex *re;
  const char *p, *end, *start;
  int flags, depth, steps, properties;
  fy_code code;
  fy_error *err;
} parser;

static node *fail(parser *ps, const char *what, const char *from, const char *to) {
  if (!ps->code) {
    ps->code = fy_fail(ps->err, FY_INVALID_ARGUMENT, "%s%s%.*s", what, to > from ? ": " : "",
                       (int)(to > from ? to - from : 0), from);
  }
  return NULL;
}
static node *no_memory(parser *ps) {
  if (!ps->code) ps->code = fy_fail_oom(ps->err, sizeof(node));
  return NULL;
}
static node *new_node(parser *ps, node_kind kind, node *a, node *b) {
  node *n = fy_arena_zalloc(&ps->re->arena, sizeof *n);
  if (!n) return no_memory(ps);
  n->kind = kind;
  n->a = a;
  n->b = b;
  return n;
}

static bool add_range(parser *ps, charset *s, uint32_t low, uint32_t high) {
  if (s->n > 100000) {
    fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return false;
  }
  if (s->n == s->cap) {
    const size_t cap = s->cap ? s->cap * 2 : 4;
    range *more = fy_arena_array(&ps->re->arena, cap, sizeof *more);
    if (!more) {
      no_memory(ps);
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

static void sort_ranges(charset *s) {
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

static bool in_ranges(const charset *s, uint32_t c) {
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
    if (!add_range(ps, s, next, gap - 1)) return false;
    next = gap;
    if (next > 0x10FFFF) return true;
  }
}

static bool add_folded(parser *ps, charset *s, uint32_t low, uint32_t high) {
  if (!add_range(ps, s, low, high)) return false;
  if (!(ps->flags & FOLD)) return true;
  const uint32_t last = high - low > 0x3000 ? low + 0x3000 : high;
  for (uint32_t c = low; c <= last; c++) {
    uint32_t to[3];
    if (fy_unicode_lower(c, to) == 1 && to[0] != c && !add_range(ps, s, to[0], to[0])) return false;
    if (fy_unicode_upper(c, to) == 1 && to[0] != c && !add_range(ps, s, to[0], to[0])) return false;
    if ((c == 'k' || c == 'K') && !add_range(ps, s, 0x212A, 0x212A)) return false;
    if ((c == 's' || c == 'S') && !add_range(ps, s, 0x17F, 0x17F)) return false;
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
    if (!add_folded(ps, &one, c->ranges[i].low, c->ranges[i].high)) return false;
  }
  if (negated) return add_negated(ps, s, &one);
  for (size_t i = 0; i < one.n; i++) {
    if (!add_range(ps, s, one.ranges[i].low, one.ranges[i].high)) return false;
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
      fail(ps, "invalid character class range", from, ps->end);
      return false;
    }
    name = (fy_view){ps->p + 1, (size_t)(close - ps->p - 1)};
    ps->p = close + 1;
  } else {
    if (ps->p >= ps->end) {
      fail(ps, "invalid character class range", from, ps->end);
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
    fail(ps, "invalid character class range", from, ps->p);
    return false;
  }
  if (++ps->properties > 100) {
    fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return false;
  }
  uint32_t low = 0;
  bool inside = false;
  for (uint32_t c = 0; c <= 0x110000; c++) {
    const bool in = c <= 0x10FFFF && (any || (script >= 0 ? fy_unicode_script(c) == script
                                                          : category_matches(name, c))) != negated;
    if (in && !inside) low = c;
    if (!in && inside && !add_range(ps, s, low, c - 1)) return false;
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
static bool parse_escape(parser *ps, uint32_t *out) {
  const char *from = ps->p++;
  if (ps->p >= ps->end) {
    fail(ps, "trailing \\", from, from);
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
      fail(ps, "invalid escape sequence", from, ps->p);
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
    fail(ps, "invalid escape sequence", from, ps->p);
    return false;
  }
  *out = (unsigned char)c;
  return true;
}

// \d \S \pL…: true if a class was there (then added to |s|).
static bool try_class_escape(parser *ps, charset *s) {
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

static bool next_char(parser *ps, uint32_t *out) {
  size_t len;
  *out = fy_utf8_next(ps->p, (size_t)(ps->end - ps->p), &len);
  if (*out == FY_BAD_CHAR) {
    fail(ps, "invalid UTF-8", ps->p, ps->p);
    return false;
  }
  ps->p += len;
  return true;
}

static node *set_node(parser *ps, charset **out) {
  node *n = new_node(ps, SET, NULL, NULL);
  if (!n) return NULL;
  n->set = *out = fy_arena_zalloc(&ps->re->arena, sizeof *n->set);
  return n->set ? n : no_memory(ps);
}

static node *parse_set(parser *ps) {
  const char *from = ps->p++;
  charset *s;
  node *n = set_node(ps, &s);
  if (!n) return NULL;
  if (ps->p < ps->end && *ps->p == '^') s->negated = true, ps->p++;
  for (bool first = true;; first = false) {
    if (ps->p >= ps->end) return fail(ps, "missing ]", from, ps->end);
    if (*ps->p == ']' && !first) break;
    const char *item = ps->p;
    if (*ps->p == '-' && !first && ps->end - ps->p > 1 && ps->p[1] != ']') {
      const char *after = ps->p + 2 <= ps->end ? ps->p + 2 : ps->end;
      return fail(ps, "bad character class range", ps->p, after);
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
          return fail(ps, "invalid character class range", item, ps->p);
        }
        if (!add_class(ps, s, &posix[k], negated)) return NULL;
        continue;
      }
    }
    if (try_class_escape(ps, s)) {
      if (ps->code) return NULL;
      continue;
    }
    uint32_t low, high;
    if (*ps->p == '\\' ? !parse_escape(ps, &low) : !next_char(ps, &low)) return NULL;
    high = low;
    if (ps->end - ps->p > 1 && ps->p[0] == '-' && ps->p[1] != ']') {
      ps->p++;
      if (*ps->p == '\\' ? !parse_escape(ps, &high) : !next_char(ps, &high)) return NULL;
      if (high < low) return fail(ps, "invalid character class range", item, ps->p);
    }
    if (!add_folded(ps, s, low, high)) return NULL;
  }
  ps->p++;
  return n;
}

// ---------------------------------------------------------------- parser
static node *parse_alt(parser *ps);

static node *one_char(parser *ps, uint32_t c) {
  charset *s;
  node *n = set_node(ps, &s);
  return n && add_folded(ps, s, c, c) ? n : NULL;
}

// "(?P<name>" "(?i:" "(?i)": the parser is behind "(?". NULL without failure: flags only.
static node *parse_group(parser *ps) {
  const char *from = ps->p;
  const int before = ps->flags;
  bool capture = true;
  int number = 0;
  if (++ps->depth > MAX_DEPTH) return fail(ps, "expression nested too deeply", from, from);
  ps->p++;
  if (ps->p < ps->end && *ps->p == '?') {
    ps->p++;
    const bool p_name = ps->end - ps->p > 1 && ps->p[0] == 'P' && ps->p[1] == '<';
    const bool name_only =
        ps->end - ps->p > 1 && ps->p[0] == '<' && ps->p[1] != '=' && ps->p[1] != '!';
    if (p_name || name_only) {
      const char *name = ps->p + (p_name ? 2 : 1);
      const char *close = memchr(name, '>', (size_t)(ps->end - name));
      if (!close) return fail(ps, "invalid named capture group", from, ps->end);
      fy_view v = {name, (size_t)(close - name)};
      bool good = v.n > 0;
      for (size_t i = 0; i < v.n; i++) {
        const char c = v.p[i];
        good = good && (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z'));
      }
      if (!good) return fail(ps, "invalid named capture group", from, close + 1);
      ps->p = close + 1;
    } else {
      capture = false;
      bool negated = false, any = false;
      int flags = ps->flags;
      for (;; ps->p++) {
        if (ps->p >= ps->end) return fail(ps, "invalid perl operator", from, ps->end);
        const char c = *ps->p;
        const int bit = c == 'i'   ? FOLD
                        : c == 's' ? DOT_NL
                        : c == 'm' ? MULTI
                        : c == 'U' ? UNGREEDY
                                   : 0;
        if (bit) {
          flags = negated ? flags & ~bit : flags | bit;
          any = true;
        } else if (c == '-' && !negated) {
          negated = true;
          any = false;
        } else if ((c == ':' || c == ')') && (!negated || any)) {
          break;
        } else {
          return fail(ps, "invalid perl operator", from, ps->p + 1);
        }
      }
      ps->flags = flags;
      if (*ps->p++ == ')') {  // for the rest of the enclosing group
        ps->depth--;
        return new_node(ps, EMPTY, NULL, NULL);
      }
    }
  }
  if (capture) {
    if (ps->re->groups >= MAX_GROUPS - 1) return fail(ps, "too many capturing groups", from, from);
    number = ++ps->re->groups;
  }
  node *inside = parse_alt(ps);
  if (!inside) return NULL;
  if (ps->p >= ps->end) return fail(ps, "missing )", ps->start, ps->end);
  ps->p++;
  ps->flags = before;
  ps->depth--;
  if (!capture) return inside;
  node *n = new_node(ps, GROUP, inside, NULL);
  if (n) n->min = number;
  return n;
}

static node *parse_atom(parser *ps) {
  const char c = *ps->p;
  charset *s;
  node *n;
  switch (c) {
    case '(': return parse_group(ps);
    case '[': return parse_set(ps);
    case '.':
      ps->p++;
      if (!(n = set_node(ps, &s))) return NULL;
      if (ps->flags & DOT_NL) return add_range(ps, s, 0, 0x10FFFF) ? n : NULL;
      return add_range(ps, s, 0, '\n' - 1) && add_range(ps, s, '\n' + 1, 0x10FFFF) ? n : NULL;
    case '^': ps->p++; return new_node(ps, ps->flags & MULTI ? BEGIN_LINE : BEGIN_TEXT, NULL, NULL);
    case '$': ps->p++; return new_node(ps, ps->flags & MULTI ? END_LINE : END_TEXT, NULL, NULL);
    case '\\': break;
    default: {
      uint32_t ch;
      return next_char(ps, &ch) ? one_char(ps, ch) : NULL;
    }
  }
  if (ps->end - ps->p > 1) {
    const char e = ps->p[1];
    const node_kind kind = e == 'A'   ? BEGIN_TEXT
                           : e == 'z' ? END_TEXT
                           : e == 'b' ? WORD
                           : e == 'B' ? NOT_WORD
                                      : EMPTY;
    if (kind != EMPTY) {
      ps->p += 2;
      return new_node(ps, kind, NULL, NULL);
    }
    if (e == 'Q') {
      ps->p += 2;
      node *empty = new_node(ps, EMPTY, NULL, NULL), *all = empty, **last = &all;
      while (empty && ps->p < ps->end) {
        if (ps->end - ps->p > 1 && ps->p[0] == '\\' && ps->p[1] == 'E') {
          ps->p += 2;
          break;
        }
        uint32_t ch;
        node *one = next_char(ps, &ch) ? one_char(ps, ch) : NULL;
        node *cat = one ? new_node(ps, CAT, one, empty) : NULL;
        if (!cat) return NULL;
        *last = cat;
        last = &cat->b;
      }
      return all;
    }
  }
  if (!(n = set_node(ps, &s))) return NULL;
  if (try_class_escape(ps, s)) return ps->code ? NULL : n;
  uint32_t ch;
  return parse_escape(ps, &ch) ? one_char(ps, ch) : NULL;
}

// "{2,3}": true and behind it if it is one; else it is plain text.
static bool parse_counts(parser *ps, int *min, int *max) {
  const char *q = ps->p + 1;
  int v[2] = {-1, -1}, k = 0;
  while (q < ps->end) {
    if (*q >= '0' && *q <= '9') {
      if (v[k] < 0) v[k] = 0;
      if (v[k] < 100000) v[k] = v[k] * 10 + (*q - '0');
    } else if (*q == ',' && k == 0) {
      k = 1;
    } else {
      break;
    }
    q++;
  }
  if (q >= ps->end || *q != '}' || v[0] < 0) return false;
  *min = v[0];
  *max = k == 0 ? v[0] : v[1];
  ps->p = q + 1;
  return true;
}

static node *parse_repeat(parser *ps) {
  node *atom = parse_atom(ps);
  int num_ops = 0;
  const char *last_op = NULL;
  while (atom && ps->p < ps->end) {
    const char c = *ps->p, *op = ps->p;
    int min, max;
    if (c == '*' || c == '+' || c == '?') {
      ps->p++;
      min = c == '+', max = c == '?' ? 1 : -1;
    } else if (c != '{' || !parse_counts(ps, &min, &max)) {
      break;
    }
    if (min > MAX_REPEAT || max > MAX_REPEAT || (max >= 0 && max < min)) {
      return fail(ps, "invalid repetition size", op, ps->p);
    }
    bool lazy = ps->p < ps->end && *ps->p == '?';
    if (lazy) ps->p++;
    if (ps->flags & UNGREEDY) lazy = !lazy;
    if (num_ops++) return fail(ps, "bad repetition operator", last_op, ps->p);
    last_op = op;
    node *n = new_node(ps, REPEAT, atom, NULL);
    if (!n) return NULL;
    n->min = min;
    n->max = max;
    n->lazy = lazy;
    atom = n;
  }
  return atom;
}

static node *parse_cat(parser *ps) {
  node *empty = new_node(ps, EMPTY, NULL, NULL), *all = empty, **last = &all;
  while (empty && ps->p < ps->end && *ps->p != '|' && *ps->p != ')') {
    const char c = *ps->p;
    int min, max;
    const char *op = ps->p;
    if (c == '*' || c == '+' || c == '?' || (c == '{' && parse_counts(ps, &min, &max))) {
      if (c != '{') ps->p++;
      return fail(ps, "no argument for repetition operator", op, ps->p);
    }
    node *one = parse_repeat(ps);
    node *cat = one ? new_node(ps, CAT, one, empty) : NULL;
    if (!cat) return NULL;
    *last = cat;
    last = &cat->b;
  }
  return all;
}

static node *parse_alt(parser *ps) {
  node *all = parse_cat(ps), **last = &all;
  while (all && ps->p < ps->end && *ps->p == '|') {
    ps->p++;
    node *other = parse_cat(ps);
    node *alt = other ? new_node(ps, ALT, *last, other) : NULL;
    if (!alt) return NULL;
    *last = alt;
    last = &alt->b;
  }
  return all;
}

// ---------------------------------------------------------------- compiler
static int emit(parser *ps, inst in) {
  fy_regex *re = ps->re;
  if (re->n >= FY_REGEX_MAX_CODE) {
    fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return 0;
  }
  if (!fy_grow(&re->code, &re->cap, re->n + 1, sizeof *re->code)) {
    no_memory(ps);
    return 0;
  }
  re->code[re->n] = in;
  return (int)re->n++;
}

static void compile(parser *ps, const node *n);

static void compile_split(parser *ps, const node *n, bool loop) {
  fy_regex *re = ps->re;
  const int split = emit(ps, (inst){.op = I_SPLIT});
  const int body = (int)re->n;
  compile(ps, n->a);
  if (loop) emit(ps, (inst){.op = I_JUMP, .x = split});
  if (ps->code) return;
  const int after = (int)re->n;
  re->code[split].x = n->lazy ? after : body;
  re->code[split].y = n->lazy ? body : after;
}

static void compile(parser *ps, const node *n) {
  fy_regex *re = ps->re;
  if (ps->code) return;
  if (++ps->steps > 10 * FY_REGEX_MAX_CODE) {
    fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return;
  }
  switch (n->kind) {
    case EMPTY: return;
    case SET:
      sort_ranges(n->set);
      emit(ps, (inst){.op = I_SET, .set = n->set});
      return;
    case CAT:  // leans to the right, as ALT does: a long one costs no stack
      for (; n->kind == CAT; n = n->b) compile(ps, n->a);
      compile(ps, n);
      return;
    case ALT: {
      int jump = -1;  // the jumps to the end, chained
      for (; n->kind == ALT && !ps->code; n = n->b) {
        const int split = emit(ps, (inst){.op = I_SPLIT});
        const int first = (int)re->n;
        compile(ps, n->a);
        const int last = jump;
        jump = emit(ps, (inst){.op = I_JUMP, .x = last});
        if (ps->code) return;
        re->code[split].x = first;
        re->code[split].y = (int)re->n;
      }
      compile(ps, n);
      for (int before; !ps->code && jump >= 0; jump = before) {
        before = re->code[jump].x;
        re->code[jump].x = (int)re->n;
      }
      return;
    }
    case GROUP:
      emit(ps, (inst){.op = I_SAVE, .x = 2 * n->min});
      compile(ps, n->a);
      emit(ps, (inst){.op = I_SAVE, .x = 2 * n->min + 1});
      return;
    case REPEAT:
      for (int i = 0; i < n->min && !ps->code; i++) compile(ps, n->a);
      if (n->max < 0) {
        compile_split(ps, n, true);
      } else {
        for (int i = n->min; i < n->max && !ps->code; i++) compile_split(ps, n, false);
      }
      return;
    default: emit(ps, (inst){.op = I_ASSERT, .x = (int)n->kind}); return;
  }
}

fy_code fy_regex_new(fy_view pattern, fy_regex **out, fy_error *err) {
  *out = NULL;
  fy_regex *re = fy_calloc(1, sizeof *re);
  if (!re) return fy_fail_oom(err, sizeof *re);
  fy_arena_init(&re->arena);
  parser ps = {
      .re = re, .p = pattern.p, .start = pattern.p, .end = pattern.p + pattern.n, .err = err};
  node *tree = parse_alt(&ps);
  if (tree && ps.p < ps.end) tree = fail(&ps, "unexpected )", ps.start, ps.end);
  if (tree) {
    compile(&ps, tree);
    emit(&ps, (inst){.op = I_MATCH});
  }
  if (ps.code) {
    fy_regex_free(re);
    return ps.code;
  }
  *out = re;
  return FY_OK;
}

void fy_regex_free(fy_regex *re) {
  if (!re) return;
  fy_arena_free(&re->arena);
  fy_free(re->code);
  fy_free(re);
}

int fy_regex_groups(const fy_regex *re) {
  return re->groups;
}

// ---------------------------------------------------------------- machine
typedef struct thread_list {
  int *pc;        // [n] in order of preference
  size_t *slots;  // [n, num_slots]
  int n;
} thread_list;

typedef struct machine {
  const fy_regex *re;
  fy_view text;
  int num_slots;
  uint32_t *mark;  // [code] generation in which the instruction was added
  uint32_t generation;
  int *stack_pc;  // explicit stack of add_thread: an instruction, or a slot to restore
  size_t *stack_old;
  size_t *current;  // [num_slots]
} machine;

static bool is_word(const machine *m, size_t at) {
  if (at >= m->text.n) return false;
  const char c = m->text.p[at];
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool holds(const machine *m, int kind, size_t at) {
  const bool word = (at > 0 && is_word(m, at - 1)) != is_word(m, at);
  switch (kind) {
    case BEGIN_TEXT: return at == 0;
    case END_TEXT: return at == m->text.n;
    case BEGIN_LINE: return at == 0 || m->text.p[at - 1] == '\n';
    case END_LINE: return at == m->text.n || m->text.p[at] == '\n';
    case WORD: return word;
    default: return !word;
  }
}

// Follows everything that takes no character from |pc|. m->current holds the captures.
static void add_thread(machine *m, thread_list *list, int pc, size_t at) {
  int top = 0;
  m->stack_pc[top++] = pc;
  while (top) {
    const int p = m->stack_pc[--top];
    if (p < 0) {  // restore a capture
      m->current[-p - 1] = m->stack_old[top];
      continue;
    }
    if (m->mark[p] == m->generation) continue;
    m->mark[p] = m->generation;
    const inst *in = &m->re->code[p];
    switch (in->op) {
      case I_JUMP: m->stack_pc[top++] = in->x; break;
      case I_SPLIT:
        m->stack_pc[top++] = in->y;
        m->stack_pc[top++] = in->x;
        break;
      case I_SAVE:
        if (in->x < m->num_slots) {
          m->stack_old[top] = m->current[in->x];
          m->stack_pc[top++] = -in->x - 1;
          m->current[in->x] = at;
        }
        m->stack_pc[top++] = p + 1;
        break;
      case I_ASSERT:
        if (holds(m, in->x, at)) m->stack_pc[top++] = p + 1;
        break;
      default:
        list->pc[list->n] = p;
        memcpy(list->slots + (size_t)list->n * (size_t)m->num_slots, m->current,
               (size_t)m->num_slots * sizeof *m->current);
        list->n++;
    }
  }
}

fy_code fy_regex_match(const fy_regex *re, fy_view text, size_t from, bool full, fy_span *spans,
                       int num_spans, bool *found, fy_error *err) {
  const int num_slots = 2 * (num_spans > 0 ? num_spans : 1);
  const size_t n = re->n + 1, slots = (size_t)num_slots;
  *found = false;
  // One block: two lists, marks, the stack.
  const size_t words = 2 * n * slots + slots + 3 * n + 8;
  size_t *memory = fy_calloc(words + (2 * n + n + 3 * n + 16) / 2 + 16, sizeof *memory);
  if (!memory) return fy_fail_oom(err, words * sizeof *memory);
  size_t *at_words = memory;
  thread_list now = {.slots = at_words}, next = {.slots = at_words + n * slots};
  at_words += 2 * n * slots;
  machine m = {.re = re, .text = text, .num_slots = num_slots, .current = at_words};
  at_words += slots;
  m.stack_old = at_words;
  at_words += 3 * n + 8;
  int *at_ints = (int *)at_words;
  now.pc = at_ints;
  next.pc = at_ints + n;
  m.stack_pc = at_ints + 2 * n;
  m.mark = (uint32_t *)(at_ints + 2 * n + 3 * n + 8);
  for (size_t at = from;;) {
    size_t len = 1;
    uint32_t c = 0;
    if (at < text.n) c = fy_utf8_next(text.p + at, text.n - at, &len);
    if (c == FY_BAD_CHAR) len = 1;  // no class has it
    if (at == from) m.generation++;
    if (!*found && (at == from || !full)) {  // a new, least preferred start
      for (size_t i = 0; i < slots; i++) m.current[i] = SIZE_MAX;
      m.current[0] = at;
      add_thread(&m, &now, 0, at);
    }
    m.generation++;
    next.n = 0;
    for (int i = 0; i < now.n; i++) {
      const inst *in = &re->code[now.pc[i]];
      memcpy(m.current, now.slots + (size_t)i * slots, slots * sizeof *m.current);
      if (in->op == I_MATCH) {
        if (full && at != text.n) continue;
        m.current[1] = at;
        *found = true;
        for (int k = 0; k < num_spans; k++) {
          spans[k] = (fy_span){m.current[2 * k], m.current[2 * k + 1]};
        }
        break;  // those after it are less preferred
      }
      if (at >= text.n) continue;
      const bool takes = c != FY_BAD_CHAR && in_ranges(in->set, c) != in->set->negated;
      if (takes) add_thread(&m, &next, now.pc[i] + 1, at + len);
    }
    const thread_list swap = now;
    now = next;
    next = swap;
    if (at >= text.n || (now.n == 0 && (*found || full))) break;
    at += len;
  }
  fy_free(memory);
  return FY_OK;
}

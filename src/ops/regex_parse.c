// SPDX-License-Identifier: Apache-2.0
// regex_parse.c: from a pattern to a tree; errors as RE2 words them.

#include "ops/regex_impl.h"

node *fy_re_fail(parser *ps, const char *what, const char *from, const char *to) {
  if (!ps->code) {
    ps->code = fy_fail(ps->err, FY_INVALID_ARGUMENT, "%s%s%.*s", what, to > from ? ": " : "",
                       (int)(to > from ? to - from : 0), from);
  }
  return NULL;
}
node *fy_re_no_memory(parser *ps) {
  if (!ps->code) ps->code = fy_fail_oom(ps->err, sizeof(node));
  return NULL;
}
node *fy_re_new_node(parser *ps, node_kind kind, node *a, node *b) {
  node *n = fy_arena_zalloc(&ps->re->arena, sizeof *n);
  if (!n) return fy_re_no_memory(ps);
  n->kind = kind;
  n->a = a;
  n->b = b;
  return n;
}

static node *one_char(parser *ps, uint32_t c) {
  charset *s;
  node *n = fy_re_set_node(ps, &s);
  return n && fy_re_add_folded(ps, s, c, c) ? n : NULL;
}

// "(?P<name>" "(?i:" "(?i)": the parser is behind "(?". NULL without failure: flags only.
static node *parse_group(parser *ps) {
  const char *from = ps->p;
  const int before = ps->flags;
  bool capture = true;
  int number = 0;
  if (++ps->depth > MAX_DEPTH) return fy_re_fail(ps, "expression nested too deeply", from, from);
  ps->p++;
  if (ps->p < ps->end && *ps->p == '?') {
    ps->p++;
    if (ps->end - ps->p > 1 && ps->p[0] == 'P' && ps->p[1] == '<') {
      const char *name = ps->p + 2;
      const char *close = memchr(name, '>', (size_t)(ps->end - name));
      if (!close) return fy_re_fail(ps, "invalid named capture group", from, ps->end);
      fy_view v = {name, (size_t)(close - name)};
      bool good = v.n > 0;
      for (size_t i = 0; i < v.n; i++) {
        const char c = v.p[i];
        good = good && (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z'));
      }
      if (!good) return fy_re_fail(ps, "invalid named capture group", from, close + 1);
      ps->p = close + 1;
    } else {
      capture = false;
      bool negated = false, any = false;
      int flags = ps->flags;
      for (;; ps->p++) {
        if (ps->p >= ps->end) return fy_re_fail(ps, "invalid perl operator", from, ps->end);
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
          return fy_re_fail(ps, "invalid perl operator", from, ps->p + 1);
        }
      }
      ps->flags = flags;
      if (*ps->p++ == ')') {  // for the rest of the enclosing group
        ps->depth--;
        return fy_re_new_node(ps, EMPTY, NULL, NULL);
      }
    }
  }
  if (capture) {
    if (ps->re->groups >= MAX_GROUPS - 1)
      return fy_re_fail(ps, "too many capturing groups", from, from);
    number = ++ps->re->groups;
  }
  node *inside = fy_re_parse_alt(ps);
  if (!inside) return NULL;
  if (ps->p >= ps->end) return fy_re_fail(ps, "missing )", ps->start, ps->end);
  ps->p++;
  ps->flags = before;
  ps->depth--;
  if (!capture) return inside;
  node *n = fy_re_new_node(ps, GROUP, inside, NULL);
  if (n) n->min = number;
  return n;
}

static node *parse_atom(parser *ps) {
  const char c = *ps->p;
  charset *s;
  node *n;
  switch (c) {
    case '(': return parse_group(ps);
    case '[': return fy_re_parse_set(ps);
    case '.':
      ps->p++;
      if (!(n = fy_re_set_node(ps, &s))) return NULL;
      if (ps->flags & DOT_NL) return fy_re_add_range(ps, s, 0, 0x10FFFF) ? n : NULL;
      return fy_re_add_range(ps, s, 0, '\n' - 1) && fy_re_add_range(ps, s, '\n' + 1, 0x10FFFF)
                 ? n
                 : NULL;
    case '^':
      ps->p++;
      return fy_re_new_node(ps, ps->flags & MULTI ? BEGIN_LINE : BEGIN_TEXT, NULL, NULL);
    case '$':
      ps->p++;
      return fy_re_new_node(ps, ps->flags & MULTI ? END_LINE : END_TEXT, NULL, NULL);
    case '\\': break;
    default: {
      uint32_t ch;
      return fy_re_next_char(ps, &ch) ? one_char(ps, ch) : NULL;
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
      return fy_re_new_node(ps, kind, NULL, NULL);
    }
    if (e == 'Q') {
      ps->p += 2;
      node *empty = fy_re_new_node(ps, EMPTY, NULL, NULL), *all = empty, **last = &all;
      while (empty && ps->p < ps->end) {
        if (ps->end - ps->p > 1 && ps->p[0] == '\\' && ps->p[1] == 'E') {
          ps->p += 2;
          break;
        }
        uint32_t ch;
        node *one = fy_re_next_char(ps, &ch) ? one_char(ps, ch) : NULL;
        node *cat = one ? fy_re_new_node(ps, CAT, one, empty) : NULL;
        if (!cat) return NULL;
        *last = cat;
        last = &cat->b;
      }
      return all;
    }
  }
  if (!(n = fy_re_set_node(ps, &s))) return NULL;
  if (fy_re_try_class_escape(ps, s)) return ps->code ? NULL : n;
  uint32_t ch;
  return fy_re_parse_escape(ps, &ch) ? one_char(ps, ch) : NULL;
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
      return fy_re_fail(ps, "invalid repetition size", op, ps->p);
    }
    bool lazy = ps->p < ps->end && *ps->p == '?';
    if (lazy) ps->p++;
    if (ps->flags & UNGREEDY) lazy = !lazy;
    if (num_ops++) return fy_re_fail(ps, "bad repetition operator", last_op, ps->p);
    last_op = op;
    node *n = fy_re_new_node(ps, REPEAT, atom, NULL);
    if (!n) return NULL;
    n->min = min;
    n->max = max;
    n->lazy = lazy;
    atom = n;
  }
  return atom;
}

static node *parse_cat(parser *ps) {
  node *empty = fy_re_new_node(ps, EMPTY, NULL, NULL), *all = empty, **last = &all;
  while (empty && ps->p < ps->end && *ps->p != '|' && *ps->p != ')') {
    const char c = *ps->p;
    int min, max;
    const char *op = ps->p;
    if (c == '*' || c == '+' || c == '?' || (c == '{' && parse_counts(ps, &min, &max))) {
      if (c != '{') ps->p++;
      return fy_re_fail(ps, "no argument for repetition operator", op, ps->p);
    }
    node *one = parse_repeat(ps);
    node *cat = one ? fy_re_new_node(ps, CAT, one, empty) : NULL;
    if (!cat) return NULL;
    *last = cat;
    last = &cat->b;
  }
  return all;
}

node *fy_re_parse_alt(parser *ps) {
  node *all = parse_cat(ps), **last = &all;
  while (all && ps->p < ps->end && *ps->p == '|') {
    ps->p++;
    node *other = parse_cat(ps);
    node *alt = other ? fy_re_new_node(ps, ALT, *last, other) : NULL;
    if (!alt) return NULL;
    *last = alt;
    last = &alt->b;
  }
  return all;
}

// SPDX-License-Identifier: Apache-2.0
// regex_impl.h: what the regex*.c files share: the tree, the program, the parser. Private to them.

#ifndef FY_OPS_REGEX_IMPL_H
#define FY_OPS_REGEX_IMPL_H

#include "base/alloc.h"
#include "base/arena.h"
#include "ops/regex.h"
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

node *fy_re_fail(parser *ps, const char *what, const char *from, const char *to);
node *fy_re_new_node(parser *ps, node_kind kind, node *a, node *b);
node *fy_re_no_memory(parser *ps);
bool fy_re_add_folded(parser *ps, charset *s, uint32_t low, uint32_t high);
bool fy_re_add_range(parser *ps, charset *s, uint32_t low, uint32_t high);
bool fy_re_in_ranges(const charset *s, uint32_t c);
bool fy_re_next_char(parser *ps, uint32_t *out);
bool fy_re_parse_escape(parser *ps, uint32_t *out);
node *fy_re_parse_set(parser *ps);
node *fy_re_set_node(parser *ps, charset **out);
void fy_re_sort_ranges(charset *s);
bool fy_re_try_class_escape(parser *ps, charset *s);
node *fy_re_parse_alt(parser *ps);

#endif

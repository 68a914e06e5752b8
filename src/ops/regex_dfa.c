// SPDX-License-Identifier: Apache-2.0
// regex_dfa.c: matches without groups by a deterministic automaton that is made while it runs. A
// state is the Pike machine's list of threads, in order of preference and cut behind a match; one
// step is one look into a table. Where it has no answer (assertions about lines and words, too many
// states, a text that would cost more than a few looks per character) the machine of regex.c is asked.

#include "ops/regex_impl.h"

#define MAX_STATES 512
#define KEYS       129  // ASCII and "no character"; others are stepped without the table
#define BAD_KEY    128
#define UNKNOWN    (-1)
#define DEAD       0
#define NO_ROOM    (-2)

typedef struct state {
  int32_t next[KEYS];  // state, UNKNOWN
  int *pc;             // [n]
  int n;
  bool match;
  int8_t at_end;  // does it match at the end of the text? -1: not known yet
} state;

struct fy_regex_cache {
  const fy_regex *re;
  bool full;
  state *states[MAX_STATES];
  int n;
  int32_t start[2];  // at the beginning of the text, elsewhere
  // For the state that is being made:
  uint32_t *mark;  // [code]
  uint32_t generation;
  int *stack, *pc;
  int num_pc;
  bool cut;
};

fy_regex_cache *fy_regex_cache_new(const fy_regex *re, bool full) {
  for (size_t i = 0; i < re->n; i++) {
    const inst *in = &re->code[i];
    if (in->op == I_ASSERT && in->x != BEGIN_TEXT && in->x != END_TEXT) return NULL;
  }
  fy_regex_cache *c = fy_calloc(1, sizeof *c);
  if (!c) return NULL;
  c->re = re;
  c->full = full;
  c->mark = fy_calloc(re->n + 1, sizeof *c->mark);
  c->stack = fy_calloc(2 * re->n + 4, sizeof *c->stack);
  c->pc = fy_calloc(re->n + 1, sizeof *c->pc);
  c->start[0] = c->start[1] = UNKNOWN;
  c->states[0] = fy_calloc(1, sizeof *c->states[0]);
  c->n = 1;
  if (!c->mark || !c->stack || !c->pc || !c->states[0]) {
    fy_regex_cache_free(c);
    return NULL;
  }
  return c;
}

void fy_regex_cache_free(fy_regex_cache *c) {
  if (!c) return;
  for (int i = 0; i < c->n; i++) {
    if (c->states[i]) fy_free(c->states[i]->pc);
    fy_free(c->states[i]);
  }
  fy_free(c->mark);
  fy_free(c->stack);
  fy_free(c->pc);
  fy_free(c);
}

static void begin_state(fy_regex_cache *c) {
  c->num_pc = 0;
  c->cut = false;
  c->generation++;
}

// Follows what takes no character. What waits for the end of the text stays in the list.
static void follow(fy_regex_cache *c, int from, bool at_begin, bool at_end) {
  int top = 0;
  c->stack[top++] = from;
  while (top && !c->cut) {
    const int p = c->stack[--top];
    if (c->mark[p] == c->generation) continue;
    c->mark[p] = c->generation;
    const inst *in = &c->re->code[p];
    switch (in->op) {
      case I_JUMP: c->stack[top++] = in->x; break;
      case I_SPLIT:
        c->stack[top++] = in->y;
        c->stack[top++] = in->x;
        break;
      case I_SAVE: c->stack[top++] = p + 1; break;
      case I_ASSERT:
        if (in->x == BEGIN_TEXT ? at_begin : at_end)
          c->stack[top++] = p + 1;
        else if (in->x == END_TEXT)
          c->pc[c->num_pc++] = p;
        break;
      case I_MATCH:
        c->pc[c->num_pc++] = p;
        c->cut = !c->full;  // those after it are less preferred
        break;
      default: c->pc[c->num_pc++] = p; break;
    }
  }
}

// The state with the list that was made; NO_ROOM if it cannot be added.
static int32_t end_state(fy_regex_cache *c) {
  const size_t bytes = (size_t)c->num_pc * sizeof *c->pc;
  if (c->num_pc == 0) return DEAD;
  for (int i = 1; i < c->n; i++) {
    const state *s = c->states[i];
    if (s->n == c->num_pc && !memcmp(s->pc, c->pc, bytes)) return i;
  }
  if (c->n == MAX_STATES) return NO_ROOM;
  state *s = fy_calloc(1, sizeof *s);
  if (!s || !(s->pc = fy_calloc((size_t)c->num_pc, sizeof *s->pc))) {
    fy_free(s);
    return NO_ROOM;
  }
  memcpy(s->pc, c->pc, bytes);
  s->n = c->num_pc;
  s->at_end = -1;
  for (int i = 0; i < s->n; i++) s->match |= c->re->code[s->pc[i]].op == I_MATCH;
  for (int k = 0; k < KEYS; k++) s->next[k] = UNKNOWN;
  c->states[c->n] = s;
  return c->n++;
}

static int32_t start_state(fy_regex_cache *c, bool at_begin) {
  int32_t *start = &c->start[!at_begin];
  if (*start != UNKNOWN) return *start;
  begin_state(c);
  follow(c, 0, at_begin, false);
  const int32_t s = end_state(c);
  if (s != NO_ROOM) *start = s;
  return s;
}

static int32_t step(fy_regex_cache *c, int32_t from, uint32_t ch) {
  const state *s = c->states[from];
  begin_state(c);
  for (int i = 0; i < s->n && !c->cut; i++) {
    const inst *in = &c->re->code[s->pc[i]];
    if (in->op != I_SET || ch == FY_BAD_CHAR) continue;
    if (fy_re_in_ranges(in->set, ch) != in->set->negated) follow(c, s->pc[i] + 1, false, false);
  }
  return end_state(c);
}

static bool matches_at_end(fy_regex_cache *c, state *s) {
  if (s->at_end >= 0) return s->at_end;
  bool match = s->match;
  begin_state(c);
  for (int i = 0; i < s->n && !match; i++) {
    const inst *in = &c->re->code[s->pc[i]];
    if (in->op == I_ASSERT) follow(c, s->pc[i], false, true);
  }
  for (int i = 0; i < c->num_pc; i++) match |= c->re->code[c->pc[i]].op == I_MATCH;
  s->at_end = match;
  return match;
}

// The most preferred match that begins at |from|: where it ends, or SIZE_MAX. False: no answer.
static bool run_from(fy_regex_cache *c, fy_view text, size_t from, size_t *steps, size_t *end) {
  int32_t now = start_state(c, from == 0);
  *end = SIZE_MAX;
  for (size_t at = from; now != DEAD; ++*steps) {
    if (now == NO_ROOM) return false;
    state *s = c->states[now];
    if (s->match && !c->full) *end = at;
    if (at == text.n) {
      if (matches_at_end(c, s)) *end = at;
      return true;
    }
    size_t len = 1;
    uint32_t ch = (unsigned char)text.p[at];
    if (ch >= 0x80) {
      ch = fy_utf8_next(text.p + at, text.n - at, &len);
      if (ch == FY_BAD_CHAR) len = 1;
    }
    const uint32_t key = ch < 0x80 ? ch : ch == FY_BAD_CHAR ? BAD_KEY : KEYS;
    int32_t next = key < KEYS ? s->next[key] : UNKNOWN;
    if (next == UNKNOWN) {
      next = step(c, now, ch);
      if (next != NO_ROOM && key < KEYS) s->next[key] = next;
    }
    now = next;
    at += len;
  }
  return true;
}

bool fy_regex_cache_find(fy_regex_cache *c, fy_view text, size_t from, fy_span *span, bool *found) {
  *found = false;
  if (text.n == 0) return false;  // the beginning is the end
  size_t steps = 0, end;
  if (c->full) {
    if (!run_from(c, text, from, &steps, &end)) return false;
    *found = end == text.n;
    return true;
  }
  const size_t most = 16 * (text.n - from) + 1024;
  for (size_t at = from; at <= text.n; at++) {
    // Most characters cannot begin a match.
    const int32_t start = c->start[at != 0];
    if (start > DEAD && at < text.n && !c->states[start]->match) {
      const unsigned char byte = (unsigned char)text.p[at];
      if (byte < 0x80 && c->states[start]->next[byte] == DEAD) continue;
    }
    if (!run_from(c, text, at, &steps, &end) || steps > most) return false;
    if (end == SIZE_MAX) continue;
    *span = (fy_span){at, end};
    *found = true;
    return true;
  }
  return true;
}

// SPDX-License-Identifier: Apache-2.0
// regex.c: see regex.h. Parser (regex_parse.c) -> tree -> program -> Pike machine. Characters are
// code points; a byte that is no UTF-8 matches nothing, as in RE2.

#include "ops/regex_impl.h"

// ---------------------------------------------------------------- compiler
static int emit(parser *ps, inst in) {
  fy_regex *re = ps->re;
  if (re->n >= FY_REGEX_MAX_CODE) {
    fy_re_fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return 0;
  }
  if (!fy_grow(&re->code, &re->cap, re->n + 1, sizeof *re->code)) {
    fy_re_no_memory(ps);
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
    fy_re_fail(ps, "pattern too large - compile failed", ps->start, ps->start);
    return;
  }
  switch (n->kind) {
    case EMPTY: return;
    case SET:
      fy_re_sort_ranges(n->set);
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
  node *tree = fy_re_parse_alt(&ps);
  if (tree && ps.p < ps.end) tree = fy_re_fail(&ps, "unexpected )", ps.start, ps.end);
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
      const bool takes = c != FY_BAD_CHAR && fy_re_in_ranges(in->set, c) != in->set->negated;
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

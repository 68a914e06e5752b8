// SPDX-License-Identifier: Apache-2.0
// lanes_fused.h: the fused kernel's instructions for one element type and one width. Included by
// lanes_all.h once for each, with S (suffix), MAP (over the accumulators), NUM_ACCS and
// NAME(x) set.
//
// Threaded code: every instruction is a function that works on accumulators, which travel in vector
// registers, and ends by calling the next one. Compilers turn that call into a jump, so a chain of
// operations costs a jump each and touches memory only for other operands. Should a compiler not do
// so, the PAUSE instructions bound the depth of the stack.

#define V PASTE(vec_, S)
#define E PASTE(elem_, S)
#define PARAMS const fy_fused_instr *ip, fy_fused_regs *c, MAP(ACC_PARAM, 0)
#define GO(at)                                                                                 \
  ((void (*)(const fy_fused_instr *, fy_fused_regs *, MAP(ACC_TYPE, 0)))c->table[(at)->code])( \
      (at), c, MAP(ACC_NAME, 0))
#define NEXT GO(ip + 1)
#define AT(i) (p + (i) * (int)(LANE_BYTES / sizeof(E)))

#define ACC_PARAM(i, x) V a##i
#define ACC_TYPE(i, x) V
#define ACC_NAME(i, x) a##i

static inline V NAME(get)(const E *p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void NAME(put)(E *p, V v) { memcpy(p, &v, sizeof v); }

#define ACC_LOAD(i, x) (a##i = NAME(get)(AT(i)))
#define ACC_STORE(i, x) NAME(put)(AT(i), a##i)
#define ACC_SPLAT(i, x) (a##i = k)
#define ACC_UNUSED(i, x) (void)a##i
#define ACC_UNARY(i, fn) (a##i = fn(a##i))
#define ACC_BINARY(i, fn) (a##i = fn(a##i, NAME(get)(AT(i))))
#define ACC_CONST(i, fn) (a##i = fn(a##i, k))
#define ACC_REVERSED(i, fn) (a##i = fn(NAME(get)(AT(i)), a##i))
#define ACC_REVERSED_CONST(i, fn) (a##i = fn(k, a##i))
#define ACC_BACK(i, x) (a##i = t[i])
#define FN(fn) PASTE(lane_##fn##_, S)

static void NAME(load)(PARAMS) {
  const E *p = c->slots[ip->arg];
  MAP(ACC_LOAD, 0);
  NEXT;
}
static void NAME(load_const)(PARAMS) {
  const V k = PASTE(splat_, S)(((const E *)c->consts)[ip->arg]);
  MAP(ACC_SPLAT, 0);
  NEXT;
}
static void NAME(store)(PARAMS) {
  E *p = c->slots[ip->arg];
  MAP(ACC_STORE, 0);
  NEXT;
}
static void NAME(pause)(PARAMS) {
  E *p = c->save;
  MAP(ACC_STORE, 0);
  c->resume = ip + 1;
}
static void NAME(end)(PARAMS) {
  (void)ip;
  (void)c;
  MAP(ACC_UNUSED, 0);
}

#define UNARY(op, fn)                \
  static void NAME(u_##fn)(PARAMS) { \
    MAP(ACC_UNARY, FN(fn));          \
    NEXT;                            \
  }
// Functions of several vectors at a time.
#define GROUPED(op, fn)                                                      \
  static void NAME(u_##fn)(PARAMS) {                                         \
    V t[NUM_ACCS] = {MAP(ACC_NAME, 0)};                                      \
    UNROLL for (int g = 0; g < NUM_ACCS; g += GROUP)                         \
        PASTE(group_##fn##_, S)(t + g, NUM_ACCS < GROUP ? NUM_ACCS : GROUP); \
    MAP(ACC_BACK, 0);                                                        \
    NEXT;                                                                    \
  }
#define UNARY_ENTRY(op, fn) [op] = (fy_lanes_fn)NAME(u_##fn),
// |by_const| is the function for a constant operand, where there is a simpler one.
#define BINARY(op, fn, by_const)                                   \
  static void NAME(b_##fn)(PARAMS) {                               \
    const E *p = c->slots[ip->arg];                                \
    MAP(ACC_BINARY, FN(fn));                                       \
    NEXT;                                                          \
  }                                                                \
  static void NAME(k_##fn)(PARAMS) {                               \
    const V k = PASTE(splat_, S)(((const E *)c->consts)[ip->arg]); \
    MAP(ACC_CONST, FN(by_const));                                  \
    NEXT;                                                          \
  }                                                                \
  static void NAME(rb_##fn)(PARAMS) {                              \
    const E *p = c->slots[ip->arg];                                \
    MAP(ACC_REVERSED, FN(fn));                                     \
    NEXT;                                                          \
  }                                                                \
  static void NAME(rk_##fn)(PARAMS) {                              \
    const V k = PASTE(splat_, S)(((const E *)c->consts)[ip->arg]); \
    MAP(ACC_REVERSED_CONST, FN(fn));                               \
    NEXT;                                                          \
  }
#define BINARY_ENTRY(op, fn, by_const)                                                      \
  [op] = (fy_lanes_fn)NAME(b_##fn), [(op) + FY_FUSED_BY_CONST] = (fy_lanes_fn)NAME(k_##fn), \
  [(op) + FY_FUSED_REVERSED] = (fy_lanes_fn)NAME(rb_##fn),                                  \
  [(op) + FY_FUSED_REVERSED + FY_FUSED_BY_CONST] = (fy_lanes_fn)NAME(rk_##fn),

PASTE(UNARY_OPS_, S)(UNARY)
PASTE(GROUPED_OPS_, S)(GROUPED)
PASTE(BINARY_OPS_, S)(BINARY)

static const fy_lanes_fn NAME(table)[FY_FUSED_CODES] = {
    [FY_FUSED_LOAD] = (fy_lanes_fn)NAME(load),
    [FY_FUSED_LOAD_CONST] = (fy_lanes_fn)NAME(load_const),
    [FY_FUSED_STORE] = (fy_lanes_fn)NAME(store),
    [FY_FUSED_PAUSE] = (fy_lanes_fn)NAME(pause),
    [FY_FUSED_END] = (fy_lanes_fn)NAME(end),
    PASTE(UNARY_OPS_, S)(UNARY_ENTRY) PASTE(GROUPED_OPS_, S)(UNARY_ENTRY)
        PASTE(BINARY_OPS_, S)(BINARY_ENTRY)};

#define ACC_ZERO(i, x) a##i = {0}
#define ACC_START(i, x) (a##i = NAME(get)(AT(i)))

// Runs |c->blocks| blocks; slots listed in |c->moving| go on by a block each time.
static void NAME(run)(const fy_fused_instr *code, fy_fused_regs *c) {
  c->table = NAME(table);
  for (;;) {
    V MAP(ACC_ZERO, 0);
    c->resume = NULL;
    GO(code);
    while (c->resume) {
      const fy_fused_instr *at = c->resume;
      const E *p = c->save;
      MAP(ACC_START, 0);
      c->resume = NULL;
      GO(at);
    }
    if (--c->blocks == 0) return;
    for (uint32_t i = 0; i < c->num_moving; i++) {
      void **slot = &c->slots[c->moving[i]];
      *slot = (char *)*slot + NUM_ACCS * LANE_BYTES;
    }
  }
}

#undef V
#undef E
#undef PARAMS
#undef GO
#undef NEXT
#undef AT
#undef ACC_PARAM
#undef ACC_TYPE
#undef ACC_NAME
#undef ACC_LOAD
#undef ACC_STORE
#undef ACC_SPLAT
#undef ACC_UNUSED
#undef ACC_START
#undef ACC_ZERO
#undef GROUPED
#undef ACC_UNARY
#undef ACC_BINARY
#undef ACC_CONST
#undef ACC_REVERSED
#undef ACC_REVERSED_CONST
#undef FN
#undef ACC_BACK
#undef UNARY
#undef UNARY_ENTRY
#undef BINARY
#undef BINARY_ENTRY

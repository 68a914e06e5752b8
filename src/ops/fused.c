// SPDX-License-Identifier: Apache-2.0
// fused.c: _FerryFused: runs a fused program over its inputs block by block (fused.h).
//
// prepare() turns the list of operations into code for one accumulator: a value that the next
// operation reads stays in registers, others are kept in temporaries that are reused as soon as
// their last reader is past (linear scan). Outputs are stored after everything was read, so that an
// output may be the memory of an input.

#include <string.h>

#include "base/alloc.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"

#define WIDE_VECTORS 8
#define PAUSE_EVERY  200
#define STACK_BYTES  12288
#define ALIGNMENT    64

typedef struct fy_fused_code {
  fy_fused_program p;
  const fy_lanes *lanes;
  int type;                          // FY_LANES_*
  size_t elem;                       // bytes of an element
  fy_fused_instr *code, *wide_code;  // the latter with pairs
  void *consts;                      // elements
  uint32_t num_temps;
  uint32_t *moving;  // [num_moving] slots that go on from block to block
  uint32_t num_moving;
  double ns;  // of one element
  int32_t rank;
  const int64_t *dims;
  int64_t count;
  int64_t *no_period;  // [inputs] zeros
  fy_arena arena;      // of everything above
} fused;

// ---------------------------------------------------------------- code
typedef struct coder {
  const fy_fused_program *p;
  uint32_t first;  // value number of the first operation
  uint32_t *uses;  // [operations] readers still to come
  uint32_t *temp;  // [operations] slot, or FY_FUSED_NONE
  uint32_t *free;  // stack of temporaries
  uint32_t num_free, num_temps;
  fy_fused_instr *code;
  uint32_t n;
  int type;  // FY_LANES_*
} coder;

static void emit(coder *c, uint32_t code, uint32_t arg) {
  if (c->n % PAUSE_EVERY == PAUSE_EVERY - 1)
    c->code[c->n++] = (fy_fused_instr){FY_FUSED_PAUSE, 0, 0};
  c->code[c->n++] = (fy_fused_instr){(uint16_t)code, 0, arg};
}

static bool is_const(const coder *c, uint32_t v) {
  return v >= c->p->num_inputs && v < c->first;
}

// Slots: inputs, outputs, temporaries.
static uint32_t slot_of(const coder *c, uint32_t v) {
  if (v < c->p->num_inputs) return v;
  return c->p->num_inputs + c->p->num_outputs + c->temp[v - c->first];
}

static void emit_with(coder *c, uint32_t code, uint32_t v) {
  if (is_const(c, v))
    emit(c, code + FY_FUSED_BY_CONST, v - c->p->num_inputs);
  else
    emit(c, code, slot_of(c, v));
}

static void used(coder *c, uint32_t v) {
  if (v == FY_FUSED_NONE || v < c->first) return;
  uint32_t i = v - c->first;
  if (--c->uses[i] == 0 && c->temp[i] != FY_FUSED_NONE) c->free[c->num_free++] = c->temp[i];
}

static void keep(coder *c, uint32_t i) {
  c->temp[i] = c->num_free ? c->free[--c->num_free] : c->num_temps++;
  emit(c, FY_FUSED_STORE, slot_of(c, c->first + i));
}

static bool is_nan(const coder *c, uint32_t v) {
  if (v == FY_FUSED_NONE || !is_const(c, v)) return false;
  const uint64_t *bits = &c->p->consts[v - c->p->num_inputs];
  float f;
  double d;
  memcpy(&f, bits, sizeof f);
  memcpy(&d, bits, sizeof d);
  return c->type == FY_LANES_F32 ? f != f : c->type == FY_LANES_F64 && d != d;
}

// The larger or smaller of anything and NaN is NaN; the instructions for constants rely on it.
static bool emit_nan(coder *c, const fy_fused_op *op) {
  if (op->op != FY_EW_MAX && op->op != FY_EW_MIN) return false;
  if (!is_nan(c, op->a) && !is_nan(c, op->b)) return false;
  emit_with(c, FY_FUSED_LOAD, is_nan(c, op->a) ? op->a : op->b);
  return true;
}

static void emit_op(coder *c, uint32_t i) {
  const fy_fused_op *op = &c->p->ops[i];
  const uint32_t acc = i ? c->first + i - 1 : FY_FUSED_NONE;  // what the accumulator holds
  if (emit_nan(c, op)) {
    // done
  } else if (op->b == FY_FUSED_NONE) {
    if (op->a != acc) emit_with(c, FY_FUSED_LOAD, op->a);
    emit(c, op->op, 0);
  } else if (op->b == acc && op->a != acc) {
    emit_with(c, op->op + FY_FUSED_REVERSED, op->a);
  } else {
    if (op->a != acc) emit_with(c, FY_FUSED_LOAD, op->a);
    emit_with(c, op->op, op->b);
  }
  used(c, op->a);
  used(c, op->b);
  // The next operation reads one operand from the accumulator; any other reader needs memory.
  uint32_t here = 0, v = c->first + i;
  if (i + 1 < c->p->num_ops)
    here = c->p->ops[i + 1].a == v || c->p->ops[i + 1].b == v;
  else
    here = 1;  // the last value goes to its output
  if (c->uses[i] > here) keep(c, i);
}

static void emit_outputs(coder *c) {
  const uint32_t acc = c->first + c->p->num_ops - 1;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t k = 0; k < c->p->num_outputs; k++) {
      uint32_t v = c->p->outputs[k];
      if ((v == acc) != (pass == 0)) continue;
      if (v != acc) emit(c, FY_FUSED_LOAD, slot_of(c, v));
      emit(c, FY_FUSED_STORE, c->p->num_inputs + k);
    }
  }
  emit(c, FY_FUSED_END, 0);
}

// The short instruction that |code| is, or -1.
static int short_of(uint32_t code) {
  static const uint8_t codes[FY_SHORT_COUNT] = {
      [FY_SHORT_LOAD] = FY_FUSED_LOAD,
      [FY_SHORT_STORE] = FY_FUSED_STORE,
      [FY_SHORT_ADD] = FY_EW_ADD,
      [FY_SHORT_SUB] = FY_EW_SUB,
      [FY_SHORT_MUL] = FY_EW_MUL,
      [FY_SHORT_ADD_CONST] = FY_EW_ADD + FY_FUSED_BY_CONST,
      [FY_SHORT_SUB_CONST] = FY_EW_SUB + FY_FUSED_BY_CONST,
      [FY_SHORT_MUL_CONST] = FY_EW_MUL + FY_FUSED_BY_CONST,
      [FY_SHORT_MAX_CONST] = FY_EW_MAX + FY_FUSED_BY_CONST,
      [FY_SHORT_MIN_CONST] = FY_EW_MIN + FY_FUSED_BY_CONST,
      [FY_SHORT_NEG] = FY_EW_NEG,
      [FY_SHORT_ABS] = FY_EW_ABS,
      [FY_SHORT_SQUARE] = FY_EW_SQUARE,
      [FY_SHORT_RELU] = FY_EW_RELU,
  };
  for (int i = 0; i < FY_SHORT_COUNT; i++)
    if (codes[i] == code) return i;
  return -1;
}

// Joins neighbours of the |n| instructions, from the first on, where the machine's lanes can.
static void make_pairs(const fy_lanes_fn *table, fy_fused_instr *code, uint32_t n) {
  for (uint32_t i = 0; i + 1 < n; i++) {
    const int first = short_of(code[i].code), second = short_of(code[i + 1].code);
    if (first < 0 || second < 0) continue;
    const int pair = FY_FUSED_PAIR + first * FY_SHORT_COUNT + second;
    if (table[pair]) code[i++].code = (uint16_t)pair;
  }
}

static fy_code make_code(fused *f, fy_error *err) {
  const fy_fused_program *p = &f->p;
  coder c = {.p = p, .first = p->num_inputs + p->num_consts, .type = f->type};
  // Per operation at most a load, itself and a store; per output a load and a store; pauses.
  size_t most = (size_t)p->num_ops * 3 + (size_t)p->num_outputs * 2 + 2;
  most += most / (PAUSE_EVERY - 1) + 2;
  f->code = fy_arena_alloc(&f->arena, most * sizeof *f->code);
  uint32_t *work = fy_calloc((size_t)p->num_ops * 3 + 1, sizeof *work);
  if (!f->code || !work) {
    fy_free(work);
    return fy_fail_oom(err, most * sizeof *f->code);
  }
  c.code = f->code;
  c.uses = work;
  c.temp = work + p->num_ops;
  c.free = c.temp + p->num_ops;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    c.temp[i] = FY_FUSED_NONE;
    if (p->ops[i].a >= c.first) c.uses[p->ops[i].a - c.first]++;
    if (p->ops[i].b != FY_FUSED_NONE && p->ops[i].b >= c.first) c.uses[p->ops[i].b - c.first]++;
    f->ns += fy_ew_ns((fy_ew)p->ops[i].op);
  }
  for (uint32_t k = 0; k < p->num_outputs; k++) c.uses[p->outputs[k] - c.first]++;
  for (uint32_t i = 0; i < p->num_ops; i++) emit_op(&c, i);
  emit_outputs(&c);
  f->num_temps = c.num_temps;
  fy_free(work);
  f->wide_code = fy_arena_memdup(&f->arena, f->code, c.n * sizeof *f->code);
  if (!f->wide_code) return fy_fail_oom(err, c.n * sizeof *f->code);
  make_pairs(f->lanes->tables[f->type][0], f->wide_code, c.n);
  return FY_OK;
}

static int lanes_type(fy_dtype t) {
  switch (t) {
    case FY_FLOAT: return FY_LANES_F32;
    case FY_DOUBLE: return FY_LANES_F64;
    case FY_INT32: return FY_LANES_I32;
    case FY_INT64: return FY_LANES_I64;
    default: return -1;
  }
}

static void release(void *state) {
  fused *f = state;
  fy_arena_free(&f->arena);
  fy_free(f);
}

// Everything that follows from the program, the type and the machine.
static fy_code set_up(fused *f, fy_error *err) {
  char *consts = fy_arena_alloc(&f->arena, f->p.num_consts * f->elem + 1);
  if (!consts) return fy_fail_oom(err, f->p.num_consts * f->elem);
  f->moving = fy_arena_alloc(&f->arena, (f->p.num_inputs + f->p.num_outputs) * sizeof *f->moving);
  if (!f->moving) return fy_fail_oom(err, f->p.num_inputs * sizeof *f->moving);
  for (uint32_t i = 0; i < f->p.num_inputs + f->p.num_outputs; i++)
    if (i >= f->p.num_inputs || f->p.kinds[i] != FY_FUSED_SCALAR) f->moving[f->num_moving++] = i;
  f->consts = consts;
  for (uint32_t i = 0; i < f->p.num_consts; i++)
    memcpy(consts + i * f->elem, &f->p.consts[i], f->elem);
  return make_code(f, err);
}

static fy_code read_site(const fy_site *site, fused *f, fy_error *err) {
  const fy_dtype t = fy_site_type(site, "T");
  const fy_attr *shape = fy_site_attr(site, "shape");
  f->type = lanes_type(t);
  const bool known = shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank >= 0 &&
                     fy_shape_count(shape->v.shape.rank, shape->v.shape.dims, &f->count);
  if (f->type < 0 || !known)
    return fy_fail(err, FY_INVALID_ARGUMENT, "_FerryFused needs a type it knows and a full shape");
  f->rank = shape->v.shape.rank;
  f->dims = fy_arena_memdup(&f->arena, shape->v.shape.dims, (size_t)f->rank * sizeof *f->dims);
  f->elem = fy_dtype_storage(t);
  f->lanes = fy_lanes_best();
  FY_TRY(fy_fused_decode(fy_site_string(site, "program"), t, &f->arena, &f->p, err));
  if ((int64_t)f->p.num_inputs != site->num_inputs ||
      (int64_t)f->p.num_outputs != site->num_outputs)
    return fy_fail(err, FY_INVALID_ARGUMENT, "_FerryFused has a program for other inputs");
  return f->dims || !f->rank ? set_up(f, err) : fy_fail_oom(err, sizeof *f->dims);
}
static fy_code prepare(fy_site *site, fy_error *err) {
  fused *f = fy_calloc(1, sizeof *f);
  if (!f) return fy_fail_oom(err, sizeof *f);
  fy_arena_init(&f->arena);
  fy_code code = read_site(site, f, err);
  if (code)
    release(f);
  else
    site->state = f;
  return code;
}

// ---------------------------------------------------------------- running
typedef struct job {
  const fused *f;
  const char **in;        // [inputs] elements; of a row: with its beginning repeated at the end
  const int64_t *period;  // [inputs] of a row: elements; else 0
  char **out;             // [outputs]
  size_t work_bytes;      // what a range needs: slots, temporaries, save area
  int failed;
} job;

static int64_t block_elems(const fused *f, bool narrow) {
  return f->lanes->bytes / (int64_t)f->elem * (narrow ? 1 : WIDE_VECTORS);
}

static size_t align_up(size_t n) {
  return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static void fill(const fused *f, char *to, const char *element, int64_t n) {
  if (f->elem == sizeof(float)) {
    uint32_t bits, *words = (uint32_t *)(void *)to;
    memcpy(&bits, element, sizeof bits);
    for (int64_t i = 0; i < n; i++) words[i] = bits;
    return;
  }
  for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * f->elem, element, f->elem);
}

// Where a range finds everything: laid out once per range in |work|.
static void lay_out(const job *j, char *work, bool narrow, void **slots, fy_fused_regs *regs) {
  const fused *f = j->f;
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  const size_t block = (size_t)block_elems(f, narrow) * f->elem;
  char *at = work + align_up((ni + no + f->num_temps) * sizeof *slots);
  regs->slots = slots;
  regs->consts = f->consts;
  regs->moving = f->moving;
  regs->num_moving = f->num_moving;
  regs->save = at;
  memset(at, 0, WIDE_VECTORS * (size_t)f->lanes->bytes);
  at += WIDE_VECTORS * (size_t)f->lanes->bytes;
  for (uint32_t i = 0; i < ni; i++) {
    if (f->p.kinds[i] != FY_FUSED_SCALAR) continue;
    fill(f, at, j->in[i], block_elems(f, narrow));
    slots[i] = at;
    at += block;
  }
  for (uint32_t t = 0; t < f->num_temps; t++, at += block) slots[ni + no + t] = at;
}

static size_t work_bytes(const fused *f, bool narrow) {
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  uint32_t scalars = 0;
  for (uint32_t i = 0; i < ni; i++) scalars += f->p.kinds[i] == FY_FUSED_SCALAR;
  const size_t vector = (size_t)f->lanes->bytes;
  return align_up((ni + no + f->num_temps) * sizeof(void *)) + WIDE_VECTORS * vector +
         (size_t)(scalars + f->num_temps) * vector * (narrow ? 1 : WIDE_VECTORS) +
         (size_t)(ni + no) * vector + ALIGNMENT;
}

// Points the slots of inputs and outputs to element |pos|.
static void aim(const job *j, void **slots, int64_t pos) {
  const fused *f = j->f;
  for (uint32_t i = 0; i < f->p.num_inputs; i++) {
    if (f->p.kinds[i] == FY_FUSED_SCALAR) continue;
    const int64_t at = j->period[i] ? pos % j->period[i] : pos;
    slots[i] = (void *)(uintptr_t)(j->in[i] + (size_t)at * f->elem);
  }
  for (uint32_t k = 0; k < f->p.num_outputs; k++)
    slots[f->p.num_inputs + k] = j->out[k] + (size_t)pos * f->elem;
}

// How many blocks from |pos| on read every row in one piece, at most |want|.
static int64_t run_length(const job *j, int64_t pos, int64_t block, int64_t want) {
  for (uint32_t i = 0; i < j->f->p.num_inputs; i++) {
    if (!j->period[i]) continue;
    const int64_t fit = (j->period[i] - pos % j->period[i] + block - 1) / block;
    if (fit < want) want = fit;
  }
  return want;
}

// Runs whole blocks of [pos, end); returns where they end.
static int64_t run_whole(const job *j, fy_fused_regs *regs, bool narrow, int64_t pos, int64_t end) {
  const fused *f = j->f;
  const int64_t block = block_elems(f, narrow);
  while (end - pos >= block) {
    const int64_t n = run_length(j, pos, block, (end - pos) / block);
    aim(j, regs->slots, pos);
    regs->blocks = n;
    f->lanes->run[f->type][narrow](narrow ? f->code : f->wide_code, regs);
    pos += n * block;
  }
  return pos;
}

// The last few elements: copied to whole vectors in |pad| and back.
static void run_rest(const job *j, fy_fused_regs *regs, char *pad, int64_t pos, int64_t n) {
  const fused *f = j->f;
  const size_t vector = (size_t)f->lanes->bytes, bytes = (size_t)n * f->elem;
  aim(j, regs->slots, pos);
  memset(pad, 0, (f->p.num_inputs + f->p.num_outputs) * vector);
  for (uint32_t i = 0; i < f->p.num_inputs; i++, pad += vector) {
    if (f->p.kinds[i] == FY_FUSED_SCALAR) continue;
    memcpy(pad, regs->slots[i], bytes);
    regs->slots[i] = pad;
  }
  char *out = pad;
  for (uint32_t k = 0; k < f->p.num_outputs; k++)
    regs->slots[f->p.num_inputs + k] = out + k * vector;
  regs->blocks = 1;
  f->lanes->run[f->type][1](f->code, regs);
  for (uint32_t k = 0; k < f->p.num_outputs; k++)
    memcpy(j->out[k] + (size_t)pos * f->elem, out + k * vector, bytes);
}

static void run_elems(const job *j, char *work, int64_t begin, int64_t end) {
  const fused *f = j->f;
  void **slots = (void **)(void *)work;
  fy_fused_regs regs;
  int64_t pos = begin;
  if (end - pos >= block_elems(f, false)) {
    lay_out(j, work, false, slots, &regs);
    pos = run_whole(j, &regs, false, pos, end);
  }
  if (pos == end) return;
  lay_out(j, work, true, slots, &regs);
  pos = run_whole(j, &regs, true, pos, end);
  char *pad = work + j->work_bytes - ALIGNMENT -
              (f->p.num_inputs + f->p.num_outputs) * (size_t)f->lanes->bytes;
  if (pos < end) run_rest(j, &regs, pad, pos, end - pos);
}

// ---------------------------------------------------------------- as part of another kernel
fy_code fy_fused_compile(const fy_fused_program *p, fy_dtype dtype, fy_fused_code **out,
                         fy_error *err) {
  fused *f = fy_calloc(1, sizeof *f);
  fy_view bytes;
  *out = NULL;
  if (!f) return fy_fail_oom(err, sizeof *f);
  fy_arena_init(&f->arena);
  f->type = lanes_type(dtype);
  f->elem = fy_dtype_storage(dtype);
  f->lanes = fy_lanes_best();
  fy_code code = f->type < 0 ? fy_fail(err, FY_INVALID_ARGUMENT, "no fused code for this type")
                             : fy_fused_encode(p, &f->arena, &bytes, err);
  if (!code) code = fy_fused_decode(bytes, dtype, &f->arena, &f->p, err);
  if (!code && !(f->no_period = fy_arena_array(&f->arena, p->num_inputs + 1u, sizeof(int64_t))))
    code = fy_fail_oom(err, p->num_inputs * sizeof(int64_t));
  if (!code) code = set_up(f, err);
  if (code)
    release(f);
  else
    *out = f;
  return code;
}

void fy_fused_code_free(fy_fused_code *code) {
  if (code) release(code);
}

size_t fy_fused_code_work(const fy_fused_code *code) {
  return align_up(work_bytes(code, false));
}

double fy_fused_code_ns(const fy_fused_code *code) {
  return code->ns;
}

void fy_fused_code_run(const fy_fused_code *code, const void *const *in, void *const *out,
                       int64_t n, void *work) {
  const job j = {.f = code,
                 .in = (const char **)(uintptr_t)in,
                 .period = code->no_period,
                 .out = (char **)(uintptr_t)out,
                 .work_bytes = fy_fused_code_work(code)};
  run_elems(&j, work, 0, n);
}

// |begin| and |end| count wide blocks.
static void run_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const int64_t wide = block_elems(j->f, false);
  _Alignas(ALIGNMENT) char local[STACK_BYTES];
  char *work = j->work_bytes <= sizeof local ? local : fy_aligned_alloc(j->work_bytes);
  if (!work) {
    __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  const int64_t last = end * wide < j->f->count ? end * wide : j->f->count;
  run_elems(j, work, begin * wide, last);
  if (work != local) fy_aligned_free(work);
}

// A row as the kernel reads it: any block starting inside it can be read in one piece.
static fy_code extend_row(fy_kernel_ctx *ctx, const fused *f, const fy_tensor *in, const char **out,
                          fy_error *err) {
  const int64_t n = in->count, block = block_elems(f, false);
  *out = in->data;
  if (n % block == 0) return FY_OK;
  char *to;
  void *memory;
  const size_t total = (size_t)(n + block) * f->elem;
  FY_TRY(fy_scratch(ctx, total, &memory, err));
  to = memory;
  for (size_t at = 0; at < total;) {
    size_t piece = (size_t)n * f->elem;
    if (piece > total - at) piece = total - at;
    memcpy(to + at, in->data, piece);
    at += piece;
  }
  *out = to;
  return FY_OK;
}

static fy_code check_inputs(fy_kernel_ctx *ctx, const fused *f, fy_error *err) {
  for (uint32_t i = 0; i < f->p.num_inputs; i++) {
    const fy_tensor *t = ctx->in[i];
    const bool fits = f->p.kinds[i] == FY_FUSED_FULL     ? t->count == f->count
                      : f->p.kinds[i] == FY_FUSED_SCALAR ? t->count == 1
                                                         : t->count > 0 && f->count % t->count == 0;
    if (!fits)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input %u of a fused operation has %lld elements, which does not fit %lld", i,
                     (long long)t->count, (long long)f->count);
  }
  return FY_OK;
}

#define INLINE_ARGS 16

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fused *f = ctx->site->state;
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  const char *in_small[INLINE_ARGS];
  char *out_small[INLINE_ARGS];
  int64_t period_small[INLINE_ARGS];
  job j = {.f = f, .in = in_small, .out = out_small, .period = period_small};
  int64_t *period = period_small;
  if (ni > INLINE_ARGS || no > INLINE_ARGS) {
    void *memory;
    FY_TRY(fy_scratch(ctx, (size_t)(ni + ni + no) * sizeof(int64_t), &memory, err));
    period = memory;
    j.period = period;
    j.in = (const char **)(void *)(period + ni);
    j.out = (char **)(uintptr_t)(j.in + ni);
  }
  for (uint32_t k = 0; k < no; k++) {
    fy_tensor *out;
    FY_TRY(fy_out(ctx, (int)k, f->rank, f->dims, &out, err));
    j.out[k] = out->data;
  }
  if (f->count == 0) return FY_OK;
  FY_TRY(check_inputs(ctx, f, err));
  for (uint32_t i = 0; i < ni; i++) {
    period[i] = f->p.kinds[i] == FY_FUSED_ROW ? ctx->in[i]->count : 0;
    j.in[i] = ctx->in[i]->data;
    if (period[i]) FY_TRY(extend_row(ctx, f, ctx->in[i], &j.in[i], err));
  }
  const int64_t wide = block_elems(f, false);
  j.work_bytes = align_up(work_bytes(f, f->count < wide));
  fy_parallel(ctx, (f->count + wide - 1) / wide, f->ns * (double)wide, run_blocks, &j);
  if (j.failed) return fy_fail(err, FY_RESOURCE_EXHAUSTED, "OOM in a fused operation");
  return FY_OK;
}

static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fused *f = ctx->site->state;
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  if (ni > INLINE_ARGS || no > INLINE_ARGS)
    out->scratch += fy_scratch_line((size_t)(ni + ni + no) * sizeof(int64_t));
  const int64_t block = block_elems(f, false);
  for (uint32_t i = 0; f->count && i < ni; i++)
    if (f->p.kinds[i] == FY_FUSED_ROW && ctx->in[i]->count % block)
      out->scratch += fy_scratch_line((size_t)(ctx->in[i]->count + block) * f->elem);
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE) return FY_OK;
  for (int i = 0; i < ctx->num_outputs; i++)
    if (a->v.shape.rank >= 0) FY_TRY(fy_shape_set(ctx, i, a->v.shape.rank, a->v.shape.dims, err));
  return FY_OK;
}

// Every operation is a flop per element; every tensor is read or written once.
static void cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *c) {
  const fy_view program = fy_site_string(site, "program");
  uint32_t head[4] = {0};
  int64_t n;
  if (program.n >= sizeof head) memcpy(head, program.p, sizeof head);
  c->flops = c->bytes = 0;
  const double elem = (double)fy_dtype_storage(fy_site_type(site, "T"));
  for (int i = 0; i < site->num_inputs; i++)
    if (in[i].rank >= 0 && fy_shape_count(in[i].rank, in[i].dims, &n)) c->bytes += elem * (double)n;
  for (int i = 0; i < site->num_outputs; i++) {
    if (out[i].rank < 0 || !fy_shape_count(out[i].rank, out[i].dims, &n)) continue;
    c->bytes += elem * (double)n;
    if (i == 0) c->flops = (double)head[2] * (double)n;
  }
}

FY_OP(_FerryFused, .shape = shape, .prepare = prepare, .compute = compute, .release = release,
      .cost = cost, .needs = needs, .flags = FY_OP_INPLACE | FY_OP_NO_FOLD);

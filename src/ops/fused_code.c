// SPDX-License-Identifier: Apache-2.0
// fused_code.c: from a fused program to instructions of the fused kernel (fused.h).
//
// Every value has a slot: inputs their own, results an output's or a temporary that is used again as
// soon as its last reader is past (linear scan); an instruction may write the slot that it reads. An
// output may be the memory of an input, so outputs are written only after the last input was read;
// values that are ready before wait in a temporary. Short operations of which each is the only reader
// of the one before become one instruction, of up to three steps.

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/fused.h"

typedef struct coder {
  const fy_fused_program *p;
  const fy_fused_fn *table;
  int type;            // FY_LANES_*
  uint32_t first;      // value number of the first operation
  uint32_t *uses;      // [operations] readers still to come, an output is one
  uint32_t *slot;      // [operations] where the value is
  uint32_t *output;    // [operations] one output that the value is, or FY_FUSED_NONE
  uint32_t *free;      // stack of temporaries
  uint32_t num_free;   // of them
  uint32_t last_read;  // the last operation that reads an input
  fy_fused_list *list;
} coder;

static bool is_const(const coder *c, uint32_t v) {
  return v >= c->p->num_inputs && v < c->first;
}
static bool is_result(const coder *c, uint32_t v) {
  return v != FY_FUSED_NONE && v >= c->first;
}
// The instruction's word for an operand: a slot, or the number of a constant.
static uint32_t word_of(const coder *c, uint32_t v) {
  if (v < c->p->num_inputs || v == FY_FUSED_NONE) return v;
  return is_const(c, v) ? v - c->p->num_inputs : c->slot[v - c->first];
}

static void emit(coder *c, uint32_t code, uint32_t out, uint32_t a, uint32_t b) {
  c->list->instrs[c->list->count++] =
      (fy_fused_instr){.code = (uint16_t)code, .out = out, .a = a, .b = b};
}

static void used(coder *c, uint32_t v) {
  if (!is_result(c, v)) return;
  const uint32_t i = v - c->first, outputs = c->p->num_inputs + c->p->num_outputs;
  if (--c->uses[i] == 0 && c->slot[i] >= outputs) c->free[c->num_free++] = c->slot[i];
}

// Where operation |i| writes.
static uint32_t place(coder *c, uint32_t i) {
  if (c->output[i] != FY_FUSED_NONE && i >= c->last_read)
    return c->slot[i] = c->p->num_inputs + c->output[i];
  if (c->num_free) return c->slot[i] = c->free[--c->num_free];
  return c->slot[i] = c->p->num_inputs + c->p->num_outputs + c->list->num_temps++;
}

static float const_f32(const coder *c, uint32_t v) {
  float f;
  memcpy(&f, &c->p->consts[v - c->p->num_inputs], sizeof f);
  return f;
}
static bool is_nan(const coder *c, uint32_t v) {
  if (v == FY_FUSED_NONE || !is_const(c, v)) return false;
  double d;
  memcpy(&d, &c->p->consts[v - c->p->num_inputs], sizeof d);
  return c->type == FY_LANES_F32 ? isnan(const_f32(c, v)) : c->type == FY_LANES_F64 && isnan(d);
}
// The larger or smaller of anything and NaN is NaN; the instructions for constants rely on it.
static bool is_nan_op(const coder *c, const fy_fused_op *op) {
  return (op->op == FY_EW_MAX || op->op == FY_EW_MIN) && (is_nan(c, op->a) || is_nan(c, op->b));
}

// ---------------------------------------------------------------- short operations
typedef struct run {  // of operations that will be one instruction
  int count;          // steps
  int kinds[FY_STEPS_MOST];
  fy_fused_step steps[FY_STEPS_MOST];
  uint32_t values[FY_STEPS_MOST];  // a step's second operand, or FY_FUSED_NONE
} run;

static bool add_step(run *r, int kind, uint32_t value, float k) {
  if (r->count == FY_STEPS_MOST || (r->count == 2 && !FY_STEP_IS_MIDDLE(r->kinds[1]))) return false;
  r->kinds[r->count] = kind;
  r->values[r->count] = value;
  r->steps[r->count++] = (fy_fused_step){.k = k};
  return true;
}
static bool add_const(run *r, int kind, float k) {
  return add_step(r, kind, FY_FUSED_NONE, k);
}

static bool add_sign(run *r, int32_t keep, int32_t flip) {
  if (!add_step(r, FY_STEP_SIGN, FY_FUSED_NONE, 0)) return false;
  r->steps[r->count - 1].keep = keep;
  r->steps[r->count - 1].flip = flip;
  return true;
}

// |op|, of which |x| is an operand, as part of the run, if it is short and there is room.
static bool join(const coder *c, run *r, const fy_fused_op *op, uint32_t x) {
  const bool swapped = op->a != x;
  const uint32_t other = swapped ? op->a : op->b;
  const bool by_const = other != FY_FUSED_NONE && is_const(c, other);
  const float k = by_const ? const_f32(c, other) : 0;
  if (is_nan_op(c, op)) return false;
  switch (op->op) {
    case FY_EW_ADD:
      return by_const ? add_const(r, FY_STEP_SHIFT, k) : add_step(r, FY_STEP_ADD, other, 0);
    case FY_EW_SUB:
      if (swapped) return false;
      return by_const ? add_const(r, FY_STEP_SHIFT, -k) : add_step(r, FY_STEP_SUB, other, 0);
    case FY_EW_MUL:
      return by_const ? add_const(r, FY_STEP_SCALE, k) : add_step(r, FY_STEP_MUL, other, 0);
    // Which of two equal zeros they give depends on their order.
    case FY_EW_MAX: return by_const && !swapped && add_const(r, FY_STEP_MAX, k);
    case FY_EW_MIN: return by_const && !swapped && add_const(r, FY_STEP_MIN, k);
    case FY_EW_RELU: return add_const(r, FY_STEP_MAX, 0);
    case FY_EW_NEG: return add_sign(r, -1, INT32_MIN);
    case FY_EW_ABS: return add_sign(r, INT32_MAX, 0);
    case FY_EW_SQUARE: return add_step(r, FY_STEP_SQUARE, FY_FUSED_NONE, 0);
    default: return false;
  }
}

// As many operations from |i| on as can be one instruction; how many, or 0 if fewer than two.
static uint32_t emit_steps(coder *c, uint32_t i) {
  const fy_fused_op *op = &c->p->ops[i];
  const uint32_t x = is_const(c, op->a) ? op->b : op->a;
  run r = {.kinds = {FY_STEP_NONE, FY_STEP_NONE, FY_STEP_NONE}};
  if (!c->table[FY_FUSED_STEPS_OF(FY_STEP_ADD, FY_STEP_NONE, FY_STEP_ADD)]) return 0;
  if (x == FY_FUSED_NONE || is_const(c, x) || !join(c, &r, op, x)) return 0;
  uint32_t n = 1;
  for (; i + n < c->p->num_ops && c->uses[i + n - 1] == 1; n++) {
    const uint32_t v = c->first + i + n - 1;
    if ((op[n].a != v && op[n].b != v) || !join(c, &r, &op[n], v)) break;
  }
  if (n < 2) return 0;
  if (r.count == 2) r.kinds[2] = r.kinds[1], r.kinds[1] = FY_STEP_NONE;
  if (r.count == 2) r.steps[2] = r.steps[1], r.values[2] = r.values[1];
  fy_fused_instr *at = &c->list->instrs[c->list->count++];
  *at = (fy_fused_instr){.code = (uint16_t)FY_FUSED_STEPS_OF(r.kinds[0], r.kinds[1], r.kinds[2]),
                         .a = word_of(c, x)};
  used(c, x);
  for (int k = 0; k < FY_STEPS_MOST; k++) {
    at->steps[k] = r.steps[k];
    if (!FY_STEP_HAS_SLOT(r.kinds[k])) continue;
    at->steps[k].slot = word_of(c, r.values[k]);
    used(c, r.values[k]);
  }
  at->out = place(c, i + n - 1);
  return n;
}

// ---------------------------------------------------------------- single operations
static void emit_one(coder *c, uint32_t i) {
  const fy_fused_op *op = &c->p->ops[i];
  const uint32_t a = word_of(c, op->a), b = word_of(c, op->b);
  const bool const_a = is_const(c, op->a), const_b = op->b != FY_FUSED_NONE && is_const(c, op->b);
  // A function is faster where its numbers stay: it asks only in the end whether they were ordinary.
  const bool apart = op->b == FY_FUSED_NONE;
  uint32_t out = apart ? place(c, i) : 0;
  used(c, op->a);
  used(c, op->b);
  if (!apart) out = place(c, i);
  if (is_nan_op(c, op)) {
    emit(c, FY_FUSED_SET, out, 0, is_nan(c, op->a) ? a : b);
  } else if (const_a && (const_b || op->b == FY_FUSED_NONE)) {
    emit(c, FY_FUSED_SET, out, 0, a);
    emit(c, const_b ? op->op + FY_FUSED_BY_CONST : op->op, out, out, b);
  } else if (const_a) {
    emit(c, op->op + FY_FUSED_OF_CONST, out, b, a);
  } else {
    emit(c, const_b ? op->op + FY_FUSED_BY_CONST : op->op, out, a, b);
  }
}

static void count_uses(coder *c) {
  const fy_fused_program *p = c->p;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const fy_fused_op *op = &p->ops[i];
    c->output[i] = FY_FUSED_NONE;
    if (is_result(c, op->a)) c->uses[op->a - c->first]++;
    if (is_result(c, op->b)) c->uses[op->b - c->first]++;
    if (op->a < p->num_inputs || op->b < p->num_inputs) c->last_read = i;
  }
  for (uint32_t k = 0; k < p->num_outputs; k++) {
    c->uses[p->outputs[k] - c->first]++;
    c->output[p->outputs[k] - c->first] = k;
  }
}

fy_code fy_fused_make_code(const fy_fused_program *p, int type, const fy_fused_fn *table,
                           fy_arena *arena, fy_fused_list *out, fy_error *err) {
  coder c = {
      .p = p, .table = table, .type = type, .first = p->num_inputs + p->num_consts, .list = out};
  // Per operation itself and a constant to be set; per output a copy.
  const size_t most = (size_t)p->num_ops * 2 + p->num_outputs;
  uint32_t *work = fy_calloc((size_t)p->num_ops * 4 + 1, sizeof *work);
  *out = (fy_fused_list){.instrs = fy_arena_alloc(arena, most * sizeof *out->instrs)};
  if (!out->instrs || !work) {
    fy_free(work);
    return fy_fail_oom(err, most * sizeof *out->instrs);
  }
  c.uses = work;
  c.slot = work + p->num_ops;
  c.output = c.slot + p->num_ops;
  c.free = c.output + p->num_ops;
  count_uses(&c);
  for (uint32_t i = 0, n; i < p->num_ops; i += n ? n : 1)
    if (!(n = emit_steps(&c, i))) emit_one(&c, i);
  for (uint32_t k = 0; k < p->num_outputs; k++) {
    const uint32_t at = c.slot[p->outputs[k] - c.first];
    if (at != p->num_inputs + k) emit(&c, FY_FUSED_COPY, p->num_inputs + k, at, 0);
  }
  fy_free(work);
  return FY_OK;
}

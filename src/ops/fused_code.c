// SPDX-License-Identifier: Apache-2.0
// fused_code.c: from a fused program to instructions of the fused kernel (fused.h).
//
// Every value has a slot: inputs their own, results an output's or a temporary that is used again as
// soon as its last reader is past (linear scan); an instruction may write the slot that it reads. An
// output may be the memory of an input, so outputs are written only after the last input was read;
// values that are ready before wait in a temporary. Two short operations of which the second is the
// only reader of the first become one instruction.

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
  c->list->instrs[c->list->count++] = (fy_fused_instr){(uint16_t)code, 0, out, a, b, 0};
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
static bool is_nan_op(const coder *c, const fy_fused_op *op) {
  return (op->op == FY_EW_MAX || op->op == FY_EW_MIN) && (is_nan(c, op->a) || is_nan(c, op->b));
}

static bool commutes(uint32_t op) {
  return op == FY_EW_ADD || op == FY_EW_MUL;
}

// ---------------------------------------------------------------- pairs
// The short operation that |op| is to |x|, one of its operands, or -1; |*other|: its second operand.
static int short_of(const coder *c, const fy_fused_op *op, uint32_t x, uint32_t *other) {
  static const struct {
    uint8_t op, with_slot, with_const;
  } known[] = {
      {FY_EW_ADD, FY_SHORT_ADD, FY_SHORT_ADD_CONST},
      {FY_EW_SUB, FY_SHORT_SUB, FY_SHORT_SUB_CONST},
      {FY_EW_MUL, FY_SHORT_MUL, FY_SHORT_MUL_CONST},
      {FY_EW_MAX, FY_SHORT_COUNT, FY_SHORT_MAX_CONST},
      {FY_EW_MIN, FY_SHORT_COUNT, FY_SHORT_MIN_CONST},
      {FY_EW_NEG, FY_SHORT_NEG, FY_SHORT_NEG},
      {FY_EW_ABS, FY_SHORT_ABS, FY_SHORT_ABS},
      {FY_EW_SQUARE, FY_SHORT_SQUARE, FY_SHORT_SQUARE},
      {FY_EW_RELU, FY_SHORT_RELU, FY_SHORT_RELU},
  };
  const bool swap = op->a != x;
  if (is_nan_op(c, op) || (swap && !commutes(op->op))) return -1;
  *other = swap ? op->a : op->b;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i].op != op->op) continue;
    const int kind = is_const(c, *other) ? known[i].with_const : known[i].with_slot;
    return kind < FY_SHORT_COUNT ? kind : -1;
  }
  return -1;
}

// Operations |i| and |i| + 1 as one instruction, if they can be one.
static bool emit_pair(coder *c, uint32_t i) {
  if (i + 1 >= c->p->num_ops || c->uses[i] != 1) return false;
  const fy_fused_op *one = &c->p->ops[i], *two = one + 1;
  const uint32_t v = c->first + i, x = is_const(c, one->a) ? one->b : one->a;
  uint32_t b, d;
  if ((two->a != v && two->b != v) || x == FY_FUSED_NONE || is_const(c, x)) return false;
  const int first = short_of(c, one, x, &b), second = short_of(c, two, v, &d);
  if (first < 0 || second < 0 || !c->table[FY_FUSED_PAIR_OF(first, second)]) return false;
  fy_fused_instr *at = &c->list->instrs[c->list->count++];
  *at = (fy_fused_instr){.code = (uint16_t)FY_FUSED_PAIR_OF(first, second),
                         .a = word_of(c, x),
                         .b = word_of(c, b),
                         .c = word_of(c, d)};
  used(c, x);
  used(c, b);
  used(c, d);
  at->out = place(c, i + 1);
  return true;
}

// ---------------------------------------------------------------- single operations
static void emit_one(coder *c, uint32_t i) {
  const fy_fused_op *op = &c->p->ops[i];
  const uint32_t a = word_of(c, op->a), b = word_of(c, op->b);
  const bool const_a = is_const(c, op->a), const_b = op->b != FY_FUSED_NONE && is_const(c, op->b);
  used(c, op->a);
  used(c, op->b);
  const uint32_t out = place(c, i);
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
  for (uint32_t i = 0; i < p->num_ops; i++) {
    if (emit_pair(&c, i))
      i++;
    else
      emit_one(&c, i);
  }
  for (uint32_t k = 0; k < p->num_outputs; k++) {
    const uint32_t at = c.slot[p->outputs[k] - c.first];
    if (at != p->num_inputs + k) emit(&c, FY_FUSED_COPY, p->num_inputs + k, at, 0);
  }
  fy_free(work);
  return FY_OK;
}

// SPDX-License-Identifier: Apache-2.0
// fused_program.c: fused programs as values: what the kernel knows, to bytes and back.

#include <string.h>

#include "ops/fused.h"

typedef struct ew_info {
  const char *name;
  bool binary;
  bool ints;  // for int32 and int64 too
  double ns;
} ew_info;

// clang-format off
static const ew_info info[FY_EW_COUNT] = {
    [FY_EW_ADD] = {"Add", true, true, 0.05},      [FY_EW_SUB] = {"Sub", true, true, 0.05},
    [FY_EW_MUL] = {"Mul", true, true, 0.05},      [FY_EW_DIV] = {"Div", true, false, 0.25},
    [FY_EW_MAX] = {"Max", true, true, 0.08},      [FY_EW_MIN] = {"Min", true, true, 0.08},
    [FY_EW_SQDIFF] = {"SquaredDifference", true, true, 0.06},
    [FY_EW_POW] = {"Pow", true, false, 12},       [FY_EW_NEG] = {"Neg", false, true, 0.04},
    [FY_EW_ABS] = {"Abs", false, true, 0.04},     [FY_EW_SQUARE] = {"Square", false, true, 0.04},
    [FY_EW_SQRT] = {"Sqrt", false, false, 0.3},   [FY_EW_RSQRT] = {"Rsqrt", false, false, 0.5},
    [FY_EW_EXP] = {"Exp", false, false, 0.3},     [FY_EW_LOG] = {"Log", false, false, 0.5},
    [FY_EW_LOG1P] = {"Log1p", false, false, 0.8}, [FY_EW_EXPM1] = {"Expm1", false, false, 0.4},
    [FY_EW_TANH] = {"Tanh", false, false, 0.35},  [FY_EW_SIGMOID] = {"Sigmoid", false, false, 0.35},
    [FY_EW_RELU] = {"Relu", false, true, 0.04},   [FY_EW_RELU6] = {"Relu6", false, true, 0.06},
    [FY_EW_ELU] = {"Elu", false, false, 0.5},     [FY_EW_SELU] = {"Selu", false, false, 0.5},
    [FY_EW_SOFTPLUS] = {"Softplus", false, false, 1.2},
    [FY_EW_SOFTSIGN] = {"Softsign", false, false, 0.3},
    [FY_EW_SIN] = {"Sin", false, false, 8},       [FY_EW_COS] = {"Cos", false, false, 8},
    [FY_EW_ERF] = {"Erf", false, false, 0.6},     [FY_EW_FLOOR] = {"Floor", false, false, 0.05},
    [FY_EW_CEIL] = {"Ceil", false, false, 0.05},  [FY_EW_RINT] = {"Rint", false, false, 0.05},
    [FY_EW_RECIPROCAL] = {"Reciprocal", false, false, 0.25},
    [FY_EW_SIGN] = {"Sign", false, true, 0.06},
    [FY_EW_LEAKY_RELU] = {"LeakyRelu", true, false, 0.08},
    [FY_EW_ERFC] = {"Erfc", false, false, 0.7},
};
// clang-format on

bool fy_ew_is_binary(fy_ew op) {
  return info[op].binary;
}
double fy_ew_ns(fy_ew op) {
  return info[op].ns;
}

bool fy_fused_knows(fy_ew op, fy_dtype dtype) {
  if ((int)op <= FY_EW_NONE || op >= FY_EW_COUNT || !info[op].name) return false;
  if (dtype == FY_INT32 || dtype == FY_INT64) return info[op].ints;
  return dtype == FY_FLOAT || dtype == FY_DOUBLE;
}

// ---------------------------------------------------------------- bytes
static size_t encoded_bytes(const fy_fused_program *p) {
  return 4 * sizeof(uint32_t) + p->num_inputs * sizeof *p->kinds +
         p->num_consts * sizeof *p->consts + p->num_ops * sizeof *p->ops +
         p->num_outputs * sizeof *p->outputs;
}

fy_code fy_fused_encode(const fy_fused_program *p, fy_arena *arena, fy_view *out, fy_error *err) {
  const size_t bytes = encoded_bytes(p);
  char *at = fy_arena_alloc(arena, bytes);
  if (!at) return fy_fail_oom(err, bytes);
  const uint32_t head[4] = {p->num_inputs, p->num_consts, p->num_ops, p->num_outputs};
  const struct piece {
    const void *data;
    size_t n;
  } pieces[] = {{head, sizeof head},
                {p->kinds, p->num_inputs * sizeof *p->kinds},
                {p->consts, p->num_consts * sizeof *p->consts},
                {p->ops, p->num_ops * sizeof *p->ops},
                {p->outputs, p->num_outputs * sizeof *p->outputs}};
  *out = (fy_view){at, bytes};
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    if (pieces[i].n) memcpy(at, pieces[i].data, pieces[i].n);
    at += pieces[i].n;
  }
  return FY_OK;
}

// Copies |n| elements out of |*rest|; NULL when it is too short or memory is.
static void *take(fy_view *rest, fy_arena *arena, size_t n, size_t elem) {
  if (n > rest->n / elem) return NULL;
  void *p = fy_arena_alloc(arena, n * elem + 1);
  if (!p) return NULL;
  memcpy(p, rest->p, n * elem);
  rest->p += n * elem;
  rest->n -= n * elem;
  return p;
}

static bool sound(const fy_fused_program *p, fy_dtype dtype) {
  const uint64_t first = (uint64_t)p->num_inputs + p->num_consts;
  for (uint32_t i = 0; i < p->num_inputs; i++)
    if (p->kinds[i] > FY_FUSED_ROW) return false;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const fy_fused_op *op = &p->ops[i];
    if (op->op >= FY_EW_COUNT || !fy_fused_knows((fy_ew)op->op, dtype)) return false;
    if (op->a >= first + i) return false;
    if (fy_ew_is_binary((fy_ew)op->op) ? op->b >= first + i : op->b != FY_FUSED_NONE) return false;
  }
  for (uint32_t i = 0; i < p->num_outputs; i++)
    if (p->outputs[i] < first || p->outputs[i] >= first + p->num_ops) return false;
  return p->num_outputs > 0 && first + p->num_ops < FY_FUSED_NONE / 2;
}

fy_code fy_fused_decode(fy_view bytes, fy_dtype dtype, fy_arena *arena, fy_fused_program *out,
                        fy_error *err) {
  uint32_t head[4];
  memset(out, 0, sizeof *out);
  if (bytes.n >= sizeof head) {
    memcpy(head, bytes.p, sizeof head);
    fy_view rest = {bytes.p + sizeof head, bytes.n - sizeof head};
    fy_fused_program p = {head[0], head[1], head[2], head[3], NULL, NULL, NULL, NULL};
    p.kinds = take(&rest, arena, p.num_inputs, sizeof *p.kinds);
    p.consts = take(&rest, arena, p.num_consts, sizeof *p.consts);
    p.ops = take(&rest, arena, p.num_ops, sizeof *p.ops);
    p.outputs = take(&rest, arena, p.num_outputs, sizeof *p.outputs);
    if (p.kinds && p.consts && p.ops && p.outputs && rest.n == 0 && sound(&p, dtype)) {
      *out = p;
      return FY_OK;
    }
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "_FerryFused has a damaged program");
}

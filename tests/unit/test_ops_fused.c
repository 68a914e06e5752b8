// SPDX-License-Identifier: Apache-2.0
// The fused kernel. Two operations after each other, where short ones are joined
// (ops/lanes_steps.inc), give the same bits as one program after the other, and over tiles the same as
// over pieces of a few elements. Only which of two NaNs survives is up to the compiler, which may swap
// operands. Longer programs: values that several operations read, several outputs, outputs in the
// memory of inputs.

#include "support_graph.h"

#include <math.h>
#include <stdlib.h>

#include "base/thread.h"
#include "ops/fused.h"
#include "sample.h"

enum { COUNT = 512 * 5 + 3, PIECE = 4 };

static uint64_t bits_of(float f) {
  uint64_t u = 0;
  memcpy(&u, &f, sizeof f);
  return u;
}

// Runs |p|, of floats, over |n| elements, |piece| at a time.
static void run(const fy_fused_program *p, const float *const *in, float *const *out, int64_t n,
                int64_t piece) {
  fy_fused_code *code = NULL;
  assert_int_equal(fy_fused_compile(p, FY_FLOAT, &code, NULL), FY_OK);
  void *work = aligned_alloc(64, fy_fused_code_work(code));
  assert_non_null(work);
  for (int64_t at = 0; at < n; at += piece) {
    const void *ins[4];
    void *outs[4];
    for (uint32_t i = 0; i < p->num_inputs; i++)
      ins[i] = in[i] + (p->kinds[i] == FY_FUSED_SCALAR ? 0 : at);
    for (uint32_t k = 0; k < p->num_outputs; k++) outs[k] = out[k] + at;
    fy_fused_code_run(code, ins, outs, n - at < piece ? n - at : piece, work);
  }
  free(work);
  fy_fused_code_free(code);
}

static void odd_numbers(float *a, float *b) {
  const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, -1.5f};
  for (int i = 0; i < COUNT; i++) {
    a[i] = i % 5 ? (float)(i % 201 - 100) * 0.07f : odd[i / 5 % 8];
    b[i] = i % 7 ? (float)(i % 113 - 50) * 0.11f : odd[i / 7 % 8];
  }
}

static void expect_same(const char *what, fy_ew first, fy_ew second, const float *got,
                        const float *want) {
  for (int i = 0; i < COUNT; i++)
    if (memcmp(&got[i], &want[i], sizeof got[i]) && !(isnan(got[i]) && isnan(want[i])))
      fail_msg("ops %d and %d, element %d: %a, %s %a", first, second, i, (double)got[i], what,
               (double)want[i]);
}

// in0 |first| operand, then |second| with operand: values 0 and 1 are inputs, 2 is a constant.
static void compare(fy_ew first, uint32_t first_b, fy_ew second, uint32_t second_b, bool reversed) {
  static float a[COUNT], b[COUNT], between[COUNT], whole[COUNT], pieces[COUNT], alone[COUNT];
  odd_numbers(a, b);
  uint32_t kinds[3] = {FY_FUSED_FULL, FY_FUSED_FULL, FY_FUSED_FULL};
  uint64_t consts[1] = {bits_of(0.75f)};
  const float *in[3] = {a, b, between};
  uint32_t both_out[1] = {4}, one_out[1] = {3}, two_out[1] = {4};
  fy_fused_op both[2] = {{first, 0, first_b}, {second, 3, second_b}};
  if (reversed) both[1] = (fy_fused_op){second, second_b, 3};
  run(&(fy_fused_program){2, 1, 2, 1, kinds, consts, both, both_out}, in, &(float *){whole}, COUNT,
      COUNT);
  run(&(fy_fused_program){2, 1, 2, 1, kinds, consts, both, both_out}, in, &(float *){pieces}, COUNT,
      PIECE);
  expect_same("in pieces", first, second, whole, pieces);

  run(&(fy_fused_program){2, 1, 1, 1, kinds, consts, both, one_out}, in, &(float *){between}, COUNT,
      COUNT);
  // The second alone: its inputs are a, b and what lies between, its constant comes after them.
  const uint32_t other = second_b == 2 ? 3 : second_b;
  fy_fused_op two[1] = {{second, 2, other}};
  if (reversed) two[0] = (fy_fused_op){second, other, 2};
  run(&(fy_fused_program){3, 1, 1, 1, kinds, consts, two, two_out}, in, &(float *){alone}, COUNT,
      COUNT);
  expect_same("one after the other", first, second, whole, alone);
}

static void second_with_every_operand(fy_ew first, uint32_t first_b, fy_ew second) {
  if (!fy_ew_is_binary(second)) {
    compare(first, first_b, second, FY_FUSED_NONE, false);
    return;
  }
  for (uint32_t v = 0; v < 3; v++) {
    compare(first, first_b, second, v, false);
    compare(first, first_b, second, v, true);
  }
}

static void pairs_equal_singles(void **state) {
  (void)state;
  static const fy_ew known[] = {FY_EW_ADD,  FY_EW_SUB,  FY_EW_MUL, FY_EW_MAX,
                                FY_EW_MIN,  FY_EW_NEG,  FY_EW_ABS, FY_EW_SQUARE,
                                FY_EW_RELU, FY_EW_TANH, FY_EW_DIV};
  const size_t n = sizeof known / sizeof known[0];
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) {
      if (!fy_ew_is_binary(known[i])) {
        second_with_every_operand(known[i], FY_FUSED_NONE, known[k]);
        continue;
      }
      for (uint32_t v = 0; v < 3; v++) second_with_every_operand(known[i], v, known[k]);
    }
}

static float chance(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 16777216.0f;
}

// The larger and the smaller number as ops/lanes_math.inc defines them: NaN stays, and of equal ones
// the first is taken.
static float larger(float a, float b) {
  return isnan(b) || b > a ? b : a;
}
static float smaller(float a, float b) {
  return isnan(b) || b < a ? b : a;
}

// A random program of |p->num_ops| operations, by hand: value after value, element by element.
static float value_of(const fy_fused_program *p, const float *const *in, uint32_t v, int64_t i) {
  static float known[64];
  const uint32_t first = p->num_inputs + p->num_consts;
  for (uint32_t k = 0; k < first; k++) {
    if (k < p->num_inputs)
      known[k] = in[k][p->kinds[k] == FY_FUSED_SCALAR ? 0 : i];
    else
      memcpy(&known[k], &p->consts[k - p->num_inputs], sizeof known[k]);
  }
  for (uint32_t k = 0; k < p->num_ops; k++) {
    const fy_fused_op *op = &p->ops[k];
    const float a = known[op->a], b = op->b == FY_FUSED_NONE ? 0 : known[op->b];
    float *r = &known[first + k];
    switch (op->op) {
      case FY_EW_ADD: *r = a + b; break;
      case FY_EW_SUB: *r = a - b; break;
      case FY_EW_MUL: *r = a * b; break;
      case FY_EW_MAX: *r = larger(a, b); break;
      case FY_EW_MIN: *r = smaller(a, b); break;
      case FY_EW_RELU: *r = larger(a, 0.0f); break;
      case FY_EW_NEG: *r = -a; break;
      case FY_EW_SQUARE: *r = a * a; break;
      default: *r = fabsf(a);
    }
  }
  return known[v];
}

// Two outputs lie in the memory of two inputs: nothing may be written before it was read.
static void random_programs(void **state) {
  (void)state;
  static const fy_ew kinds_of_op[] = {FY_EW_ADD,    FY_EW_SUB, FY_EW_MUL, FY_EW_MAX, FY_EW_NEG,
                                      FY_EW_SQUARE, FY_EW_ABS, FY_EW_MIN, FY_EW_RELU};
  const float num_kinds = sizeof kinds_of_op / sizeof kinds_of_op[0];
  static float in[3][COUNT], copy[3][COUNT], out[COUNT];
  uint32_t seed = 7;
  for (int round = 0; round < 600; round++) {
    uint32_t kinds[3] = {FY_FUSED_FULL, FY_FUSED_FULL, FY_FUSED_SCALAR};
    uint64_t consts[2] = {bits_of(0.75f), bits_of(-1.5f)};
    fy_fused_op ops[24];
    const uint32_t n = 1 + (uint32_t)(chance(&seed) * 23.0f);
    for (uint32_t k = 0; k < n; k++) {
      const fy_ew op = kinds_of_op[(int)(chance(&seed) * num_kinds)];
      const uint32_t a = (uint32_t)(chance(&seed) * (float)(5 + k));
      const uint32_t b = (uint32_t)(chance(&seed) * (float)(5 + k));
      ops[k] = (fy_fused_op){op, k && chance(&seed) < 0.5f ? 4 + k : a,
                             fy_ew_is_binary(op) ? b : FY_FUSED_NONE};
    }
    uint32_t outputs[3];
    for (int k = 0; k < 3; k++) outputs[k] = 5 + (uint32_t)(chance(&seed) * (float)n);
    const fy_fused_program p = {3, 2, n, 3, kinds, consts, ops, outputs};
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < COUNT; i++) in[k][i] = chance(&seed) - 0.5f;
    if (round % 2) odd_numbers(in[0], in[1]);
    if (!sample_takes((uint64_t)round)) continue;
    memcpy(copy, in, sizeof in);
    const float *ins[3] = {in[0], in[1], in[2]}, *before[3] = {copy[0], copy[1], copy[2]};
    float *outs[3] = {in[1], out, in[0]};
    run(&p, ins, outs, COUNT, COUNT);
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < COUNT; i++) {
        const float want = value_of(&p, before, outputs[k], i);
        if (memcmp(&outs[k][i], &want, sizeof want) && !(isnan(outs[k][i]) && isnan(want)))
          fail_msg("round %d, output %d, element %d: %a instead of %a", round, k, i,
                   (double)outs[k][i], (double)want);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_equal_singles),
                                     cmocka_unit_test(random_programs)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  (void)fy_flush_denormals();  // as the runs of kernels do; C's own numbers are others then
  const struct CMUnitTest flushed[] = {cmocka_unit_test(pairs_equal_singles)};
  return failed + cmocka_run_group_tests_name("without denormals", flushed, NULL, NULL);
}

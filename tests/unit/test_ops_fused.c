// SPDX-License-Identifier: Apache-2.0
// Two operations after each other give the same bits over many wide blocks, where short ones are
// joined to pairs (ops/lanes_pairs.inc), as over single vectors, where nothing is joined. Only which of
// two NaNs survives is up to the compiler, which may swap operands.

#include "support_graph.h"

#include <math.h>
#include <stdlib.h>

#include "ops/fused.h"

enum { COUNT = 64 * 40 + 3, PIECE = 4 };

static uint64_t bits_of(float f) {
  uint64_t u = 0;
  memcpy(&u, &f, sizeof f);
  return u;
}

static void run(const fy_fused_code *code, const float *a, const float *b, float *out, int64_t n) {
  const void *in[2] = {a, b};
  void *outs[1] = {out};
  void *work = aligned_alloc(64, fy_fused_code_work(code));
  assert_non_null(work);
  fy_fused_code_run(code, in, outs, n, work);
  free(work);
}

// in0 |first| operand, then |second| with operand: values 0 and 1 are inputs, 2 is a constant.
static void compare(fy_ew first, uint32_t first_b, fy_ew second, uint32_t second_b, bool reversed) {
  static float a[COUNT], b[COUNT], whole[COUNT], pieces[COUNT];
  const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, -1.5f};
  for (int i = 0; i < COUNT; i++) {
    a[i] = i % 5 ? (float)(i % 201 - 100) * 0.07f : odd[i / 5 % 8];
    b[i] = i % 7 ? (float)(i % 113 - 50) * 0.11f : odd[i / 7 % 8];
  }
  uint32_t kinds[2] = {FY_FUSED_FULL, FY_FUSED_FULL}, outputs[1] = {4};
  uint64_t consts[1] = {bits_of(0.75f)};
  fy_fused_op ops[2] = {{first, 0, first_b}, {second, 3, second_b}};
  if (reversed) ops[1] = (fy_fused_op){second, second_b, 3};
  const fy_fused_program p = {2, 1, 2, 1, kinds, consts, ops, outputs};
  fy_fused_code *code = NULL;
  assert_int_equal(fy_fused_compile(&p, FY_FLOAT, &code, NULL), FY_OK);
  run(code, a, b, whole, COUNT);
  for (int i = 0; i < COUNT; i += PIECE)
    run(code, a + i, b + i, pieces + i, COUNT - i < PIECE ? COUNT - i : PIECE);
  fy_fused_code_free(code);
  if (memcmp(whole, pieces, sizeof whole) == 0) return;
  for (int i = 0; i < COUNT; i++)
    if (memcmp(&whole[i], &pieces[i], sizeof whole[i]) && !(isnan(whole[i]) && isnan(pieces[i])))
      fail_msg("ops %d and %d, element %d: %a, alone %a", first, second, i, (double)whole[i],
               (double)pieces[i]);
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_equal_singles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

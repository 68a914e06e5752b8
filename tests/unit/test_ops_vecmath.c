// SPDX-License-Identifier: Apache-2.0
// The float functions of the lane kernels against libm in double, over all exponents; the same bits
// wherever an element stands and whether the function runs alone or fused.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>

#include "ops/fused.h"

static double sigmoid(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static double elu(double x) {
  return x < 0 ? expm1(x) : x;
}
static double selu(double x) {
  return x < 0 ? 1.7580993408473768599402175208123 * expm1(x)
               : 1.0507009873554804934193349852946 * x;
}
static double softplus(double x) {
  return x > 30 ? x : log1p(exp(x));
}

// Softplus is TensorFlow's, which gives up the smaller term a little early.
static const struct function {
  const char *name;
  fy_ew op;
  double (*exact)(double);
  double ulp;
} functions[] = {
    {"exp", FY_EW_EXP, exp, 1.2},
    {"log", FY_EW_LOG, log, 1.0},
    {"log1p", FY_EW_LOG1P, log1p, 1.7},
    {"expm1", FY_EW_EXPM1, expm1, 1.8},
    {"tanh", FY_EW_TANH, tanh, 6},
    {"sigmoid", FY_EW_SIGMOID, sigmoid, 4},
    {"erfc", FY_EW_ERFC, erfc, 10},
    {"erf", FY_EW_ERF, erf, 1.3},
    {"elu", FY_EW_ELU, elu, 1.8},
    {"selu", FY_EW_SELU, selu, 2.7},
    {"softplus", FY_EW_SOFTPLUS, softplus, 8.0},
};
enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0], CHUNK = 1021, STEP = 9973 };

static double error_in_ulp(float got, double want) {
  int e;
  frexp(want, &e);
  if (e - 24 < -149 || want == 0) e = -149 + 24;
  return fabs((double)got - want) / ldexp(1, e - 24);
}

static void check_one(const fy_lanes *lanes, const struct function *f, float x, float y) {
  const double want = f->exact((double)x);
  const float rounded = (float)want;
  if (isnan(rounded) || isinf(rounded) || isnan(y) || isinf(y)) {
    if (!(isnan(rounded) && isnan(y)) && rounded != y)
      fail_msg("%s: %s(%a) = %a, not %a", lanes->name, f->name, (double)x, (double)y, want);
    return;
  }
  // A denormal sigmoid may be flushed, as TensorFlow's threads do.
  if (f->op == FY_EW_SIGMOID && want < 0x1p-126 && y == 0) return;
  if (error_in_ulp(y, want) > f->ulp || (x == 0 && signbit(y) != signbit(rounded)))
    fail_msg("%s: %s(%a) = %a, not %a: %.2f ulp", lanes->name, f->name, (double)x, (double)y, want,
             error_in_ulp(y, want));
}

static void check_lanes(const fy_lanes *lanes) {
  static float in[CHUNK], out[CHUNK];
  for (int k = 0; k < NUM_FUNCTIONS; k++) {
    uint64_t bits = 0;
    while (bits <= UINT32_MAX) {
      int n = 0;
      for (; n < CHUNK && bits <= UINT32_MAX; bits += STEP) {
        const uint32_t b = (uint32_t)bits;
        memcpy(&in[n++], &b, sizeof b);
      }
      lanes->unary_f32[functions[k].op](in, out, n);
      for (int i = 0; i < n; i++) check_one(lanes, &functions[k], in[i], out[i]);
    }
    static const float special[] = {0.0f,      -0.0f, 1.0f,   -1.0f,   INFINITY,
                                    -INFINITY, NAN,   1e-45f, -1e-45f, 3.4e38f,
                                    -3.4e38f,  88.7f, -88.7f, -103.9f, -104.1f};
    float y[sizeof special / sizeof special[0]];
    const int n = (int)(sizeof special / sizeof special[0]);
    lanes->unary_f32[functions[k].op](special, y, n);
    for (int i = 0; i < n; i++) check_one(lanes, &functions[k], special[i], y[i]);
  }
}

static void accuracy(void **state) {
  (void)state;
  check_lanes(&fy_lanes_plain);
  if (fy_lanes_best() != &fy_lanes_plain) check_lanes(fy_lanes_best());
}

static void place_does_not_matter(void **state) {
  (void)state;
  const fy_lanes *lanes = fy_lanes_best();
  float in[131], out[131], one;
  for (int i = 0; i < 131; i++) in[i] = (float)(i - 65) * 0.37f;
  for (int k = 0; k < NUM_FUNCTIONS; k++) {
    lanes->unary_f32[functions[k].op](in, out, 131);
    for (int i = 0; i < 131; i++) {
      lanes->unary_f32[functions[k].op](&in[i], &one, 1);
      if (!(isnan(one) && isnan(out[i]))) assert_memory_equal(&one, &out[i], sizeof one);
    }
  }
}

// ------------------------------------------------------------------ the program's bytes
static void programs_are_checked(void **state) {
  (void)state;
  fy_arena arena;
  fy_arena_init(&arena);
  uint32_t kinds[1] = {FY_FUSED_FULL}, outputs[1] = {2};
  uint64_t consts[1] = {0};
  fy_fused_op ops[1] = {{FY_EW_ADD, 0, 1}};
  fy_fused_program p = {1, 1, 1, 1, kinds, consts, ops, outputs}, back;
  fy_view bytes;
  assert_int_equal(fy_fused_encode(&p, &arena, &bytes, NULL), FY_OK);
  assert_int_equal(fy_fused_decode(bytes, FY_FLOAT, &arena, &back, NULL), FY_OK);
  assert_int_equal(back.ops[0].b, 1);
  for (size_t n = 0; n < bytes.n; n++)
    assert_int_equal(fy_fused_decode((fy_view){bytes.p, n}, FY_FLOAT, &arena, &back, NULL),
                     FY_INVALID_ARGUMENT);
  // Any damage is refused or decodes to something sound: never read out of bounds.
  for (size_t n = 0; n < bytes.n; n++) {
    char copy[256];
    memcpy(copy, bytes.p, bytes.n);
    copy[n] = (char)(copy[n] ^ 0x81);
    (void)!fy_fused_decode((fy_view){copy, bytes.n}, FY_FLOAT, &arena, &back, NULL);
  }
  ops[0].op = FY_EW_TANH;
  ops[0].b = FY_FUSED_NONE;
  assert_int_equal(fy_fused_encode(&p, &arena, &bytes, NULL), FY_OK);
  assert_int_equal(fy_fused_decode(bytes, FY_INT32, &arena, &back, NULL), FY_INVALID_ARGUMENT);
  outputs[0] = 0;
  assert_int_equal(fy_fused_encode(&p, &arena, &bytes, NULL), FY_OK);
  assert_int_equal(fy_fused_decode(bytes, FY_FLOAT, &arena, &back, NULL), FY_INVALID_ARGUMENT);
  fy_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accuracy),
      cmocka_unit_test(place_does_not_matter),
      cmocka_unit_test(programs_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

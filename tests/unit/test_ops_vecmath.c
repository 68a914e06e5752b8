// SPDX-License-Identifier: Apache-2.0
// The functions of the lane kernels against libm in more digits, over all exponents, the same bits
// wherever an element stands; 16-bit floats and products of matrices against plain loops.

#include "support_graph.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "ops/fused.h"
#include "ops/reduce.h"
#include "ops/typed.h"
#include "sample.h"

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

static double rsqrt(double x) {
  return 1 / sqrt(x);
}

// Softplus is TensorFlow's, which gives up the smaller term a little early.
static const struct function {
  const char *name;
  int op;
  double (*exact)(double);
  double ulp;
} functions[] = {
    {"exp", FY_EW_EXP, exp, 1.2},
    {"log", FY_EW_LOG, log, 1.1},
    {"log1p", FY_EW_LOG1P, log1p, 1.7},
    {"expm1", FY_EW_EXPM1, expm1, 1.8},
    {"tanh", FY_EW_TANH, tanh, 6},
    {"sigmoid", FY_EW_SIGMOID, sigmoid, 4},
    {"erfc", FY_EW_ERFC, erfc, 10},
    {"erf", FY_EW_ERF, erf, 3.5},  // with vectors of 64 bytes 0.64, of denormals 1.3
    {"elu", FY_EW_ELU, elu, 1.8},
    {"selu", FY_EW_SELU, selu, 2.7},
    {"softplus", FY_EW_SOFTPLUS, softplus, 8.0},
    {"sin", FY_EW_SIN, sin, 1.5},
    {"cos", FY_EW_COS, cos, 1.5},
    {"tan", FY_FN_TAN, tan, 3.1},
    {"asin", FY_FN_ASIN, asin, 2.3},
    {"acos", FY_FN_ACOS, acos, 1.2},
    {"atan", FY_FN_ATAN, atan, 2.8},
    {"sinh", FY_FN_SINH, sinh, 1.6},
    {"cosh", FY_FN_COSH, cosh, 1.5},
    {"asinh", FY_FN_ASINH, asinh, 2.0},
    {"acosh", FY_FN_ACOSH, acosh, 2.5},
    {"atanh", FY_FN_ATANH, atanh, 1.4},
    {"rsqrt", FY_EW_RSQRT, rsqrt, 1.6},
    {"sqrt", FY_EW_SQRT, sqrt, 0.5},
};
enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0], CHUNK = 1021, STEP = 9973 };

static double most_of(const fy_lanes *lanes, const struct function *f) {
  return f->op == FY_EW_ERF && lanes->bytes == 64 ? 1.3 : f->ulp;
}

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
  if (error_in_ulp(y, want) > most_of(lanes, f) || (x == 0 && signbit(y) != signbit(rounded)))
    fail_msg("%s: %s(%a) = %a, not %a: %.2f ulp", lanes->name, f->name, (double)x, (double)y, want,
             error_in_ulp(y, want));
}

static void check_lanes(const fy_lanes *lanes) {
  static float in[CHUNK], out[CHUNK];
  for (int k = 0; k < NUM_FUNCTIONS; k++) {
    uint64_t bits = 0, chunk = 0;
    while (bits <= UINT32_MAX) {
      int n = 0;
      for (; n < CHUNK && bits <= UINT32_MAX; bits += STEP) {
        const uint32_t b = (uint32_t)bits;
        memcpy(&in[n++], &b, sizeof b);
      }
      if (!sample_takes(chunk++)) continue;
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
    for (int n = 1; n <= 131; n++) {
      float here[131];
      memcpy(here, in, sizeof here);
      lanes->unary_f32[functions[k].op](here, here, n);
      for (int i = 0; i < n; i++)
        if (!isnan(out[i])) assert_memory_equal(&here[i], &out[i], sizeof *out);
      assert_memory_equal(&here[n], &in[n], (size_t)(131 - n) * sizeof *in);
    }
  }
}

// Every mantissa with an even and an odd exponent, each in every place of a group of vectors.
static void square_roots(void **state) {
  (void)state;
  const fy_lanes *lanes = fy_lanes_best();
  const int lane = lanes->bytes / (int)sizeof(float);
  float in[8192 + 64], out[8192 + 64];
  for (uint32_t at = 0x3F800000u; at < 0x40800000u; at += 8192) {
    if (!sample_takes(at / 8192)) continue;
    for (uint32_t i = 0; i < 8192; i++) memcpy(&in[i + 64], &(uint32_t){at + i}, sizeof *in);
    for (int shift = 0; shift < 2; shift++) {
      float *x = in + 64 - shift * lane, *y = out + 64 - shift * lane;
      for (int i = 0; i < shift * lane; i++) x[i] = 2.0f;
      lanes->unary_f32[FY_EW_SQRT](x, y, 8192 + shift * lane);
      for (int i = 64; i < 8192 + 64; i++)
        if (out[i] != sqrtf(in[i]))
          fail_msg("%s: sqrt(%a) = %a", lanes->name, (double)in[i], (double)out[i]);
    }
  }
}

// The loop of softmax: the exponentials of Exp and the sum of Sum, whatever the length, and with
// numbers among them whose exponential is denormal or zero.
static void sums_of_exponentials(void **state) {
  (void)state;
  float in[2048], less[2048], want[2048], out[2048], sum;
  for (int which = 0; which < 2; which++) {
    const fy_lanes *lanes = which ? fy_lanes_best() : &fy_lanes_plain;
    for (int n = 17; n <= 2048; n += n < 140 ? 1 : 191) {
      for (int i = 0; i < n; i++) {
        in[i] = 3.0f - (float)(i * 7919 % 1009) * (i % 97 == 5 ? 0.2f : 0.011f);
        if (i % 211 == 20) in[i] = -INFINITY;
        less[i] = in[i] - 3.0f;
      }
      lanes->unary_f32[FY_EW_EXP](less, want, n);
      fy_reduce_rows(FY_ROW_SUM, FY_FLOAT, want, n, 1, &sum);
      float got = lanes->exp_sum_f32(in, 3.0f, out, n, in);
      assert_memory_equal(out, want, (size_t)n * sizeof *out);
      assert_memory_equal(&got, &sum, sizeof sum);
      got = lanes->minus_exp_sum_f32(in, 3.0f, out, n, in);
      assert_memory_equal(out, less, (size_t)n * sizeof *out);
      assert_memory_equal(&got, &sum, sizeof sum);
      in[n / 2] = NAN;
      assert_true(isnan(lanes->exp_sum_f32(in, 3.0f, out, n, in)));
    }
  }
}

// ------------------------------------------------------------------ doubles
static long double sigmoid_l(long double x) {
  return 1 / (1 + expl(-x));
}
static const struct function_64 {
  const char *name;
  int op;
  long double (*exact)(long double);
  double ulp;
} functions_64[] = {
    {"exp", FY_EW_EXP, expl, 1.1},       {"log", FY_EW_LOG, logl, 1.0},
    {"log1p", FY_EW_LOG1P, log1pl, 1.7}, {"expm1", FY_EW_EXPM1, expm1l, 2.2},
    {"tanh", FY_EW_TANH, tanhl, 3.0},    {"sigmoid", FY_EW_SIGMOID, sigmoid_l, 2.5},
    {"erf", FY_EW_ERF, erfl, 1.5},       {"erfc", FY_EW_ERFC, erfcl, 4.5},
    {"sqrt", FY_EW_SQRT, sqrtl, 0.51},
};

static uint64_t random_bits(void) {
  static uint64_t seed = 1;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  const uint64_t high = seed >> 32;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return high << 32 ^ seed >> 32;
}

static void check_double(const fy_lanes *lanes, const struct function_64 *f, double x, double y) {
  const long double want = f->exact((long double)x);
  const double rounded = (double)want;
  if (isnan(rounded) && isnan(y)) return;
  if (isinf(rounded) && rounded == y) return;
  int e;
  frexpl(want, &e);
  if (e - 53 < -1074 || want == 0) e = -1074 + 53;
  const long double error = fabsl((long double)y - want) / ldexpl(1, e - 53);
  // What comes near the end of the range through 1 + exp(-x) is lost.
  if (f->op == FY_EW_SIGMOID && x < -700) return;
  // Valgrind computes long doubles as doubles: then |want| is only as good as a double is.
  volatile long double one = 1;
  const long double doubt = one + LDBL_EPSILON == one ? 1.5L : 0;
  const double most = f->op == FY_EW_ERFC && lanes == &fy_lanes_plain ? 7 : f->ulp;  // no fma
  if (!(error <= (long double)most + doubt) || (x == 0 && signbit(y) != signbit(rounded)))
    fail_msg("%s: %s(%a) = %a, not %a: %.2Lf ulp", lanes->name, f->name, x, y, rounded, error);
}

static void doubles(void **state) {
  (void)state;
  static double in[CHUNK], out[CHUNK];
  static const double special[] = {0.0,    -0.0,   1.0,    -1.0,   INFINITY, -INFINITY, NAN, 5e-324,
                                   1e-310, 709.78, -745.1, -708.5, 1e308,    -1e-20,    22.5};
  for (int which = 0; which < 2; which++) {
    const fy_lanes *lanes = which ? fy_lanes_best() : &fy_lanes_plain;
    for (size_t k = 0; k < sizeof functions_64 / sizeof functions_64[0]; k++) {
      for (int round = 0; round < 200; round++) {
        if (!sample_takes((uint64_t)round)) continue;
        for (int i = 0; i < CHUNK; i++) {
          const uint64_t bits = random_bits();
          memcpy(&in[i], &bits, sizeof bits);
          if (round % 2)
            in[i] = ((double)(bits >> 11) * 0x1p-53 - 0.5) * (round % 4 == 1 ? 4 : 1500);
        }
        memcpy(in, special, sizeof special);
        lanes->unary_f64[functions_64[k].op](in, out, CHUNK);
        for (int i = 0; i < CHUNK; i++) check_double(lanes, &functions_64[k], in[i], out[i]);
      }
    }
  }
}

// ------------------------------------------------------------------ 16-bit floats
static float widen(bool half, uint16_t v) {
  return half ? fy_ld_half(v) : fy_bfloat16_to_float(v);
}
static uint16_t narrow(bool half, float v) {
  return half ? fy_st_half(v) : fy_float_to_bfloat16(v);
}
static float square(float x) {
  return x * x;
}
static bool same_16(bool half, uint16_t a, uint16_t b) {
  return a == b || (isnan(widen(half, a)) && isnan(widen(half, b)));
}

static void floats_16(void **state) {
  (void)state;
  enum { N = 203 };
  uint16_t a[N], b[N], out[N];
  bool flags[N];
  for (int pass = 0; pass < 4; pass++) {
    const fy_lanes *lanes = pass & 1 ? fy_lanes_best() : &fy_lanes_plain;
    const bool half = pass & 2;
    const fy_lanes_16 *t = &lanes->floats_16[half ? FY_LANES_HALF : FY_LANES_BFLOAT16];
    for (int round = 0; round < 300; round++) {
      if (!sample_takes((uint64_t)round)) continue;
      const int64_t sa = round % 3 != 1, sb = round % 3 != 2;
      for (int i = 0; i < N; i++) a[i] = (uint16_t)random_bits(), b[i] = (uint16_t)random_bits();
      if (round % 4 == 0) memcpy(b, a, sizeof b / 2);
      const int64_t n = N - round % 20;
      for (int op = 0; op < FY_16_BINARY; op++) {
        const bool compares = op >= FY_16_EQUAL && op <= FY_16_GREATER_EQUAL;
        t->binary[op](a, sa, b, sb, compares ? (void *)flags : out, n, NULL);
        for (int64_t i = 0; i < n; i++) {
          const float x = widen(half, a[i * sa]), y = widen(half, b[i * sb]);
          const float want = op == FY_16_ADD          ? x + y
                             : op == FY_16_SUB        ? x - y
                             : op == FY_16_MUL        ? x * y
                             : op == FY_16_DIV        ? x / y
                             : op == FY_16_SQDIFF     ? square(widen(half, narrow(half, x - y)))
                             : op == FY_16_FLOOR_DIV  ? floorf(widen(half, narrow(half, x / y)))
                             : op == FY_16_DIV_NO_NAN ? (y == 0 ? 0 : x / y)
                             : op == FY_16_MUL_NO_NAN ? (y == 0 ? 0 : x * y)
                             : op == FY_16_XDIVY      ? (x == 0 ? x : x / y)
                             : isnan(x)               ? x
                             : isnan(y)               ? y
                             : op == FY_16_MAX        ? (x < y ? y : x)
                                                      : (y < x ? y : x);
          const bool flag = op == FY_16_EQUAL        ? x == y
                            : op == FY_16_NOT_EQUAL  ? x != y
                            : op == FY_16_LESS       ? x < y
                            : op == FY_16_LESS_EQUAL ? x <= y
                            : op == FY_16_GREATER    ? x > y
                                                     : x >= y;
          if (compares ? flags[i] != flag : !same_16(half, out[i], narrow(half, want)))
            fail_msg("%s: operation %d of %a and %a", lanes->name, op, (double)x, (double)y);
        }
      }
      for (int op = 0; op < FY_16_UNARY; op++) {
        t->unary[op](a, out, n, NULL);
        for (int64_t i = 0; i < n; i++) {
          const float x = widen(half, a[i]);
          // Reciprocal roots of what does not fill a vector round twice.
          const float root = i < n / 8 * 8 ? sqrtf(x) : widen(half, narrow(half, sqrtf(x)));
          if (op == FY_16_RSQRT && lanes->bytes < 32 && i >= n / 8 * 8) continue;
          const float want = op == FY_16_NEG        ? -x
                             : op == FY_16_SQUARE   ? x * x
                             : op == FY_16_SQRT     ? sqrtf(x)
                             : op == FY_16_RECIP    ? 1 / x
                             : op == FY_16_RELU     ? (x < 0 ? 0 : x)
                             : op == FY_16_SIGN     ? (isnan(x) ? x : (float)((x > 0) - (x < 0)))
                             : op == FY_16_FLOOR    ? floorf(x)
                             : op == FY_16_CEIL     ? ceilf(x)
                             : op == FY_16_RINT     ? rintf(x)
                             : op == FY_16_SOFTSIGN ? x / widen(half, narrow(half, fabsf(x) + 1))
                             : op == FY_16_RELU6    ? (x < 0   ? 0
                                                       : x > 6 ? 6
                                                               : x)
                                                    : 1 / root;
          if (!same_16(half, out[i], narrow(half, want)))
            fail_msg("%s: function %d of %a is %a, not %a", lanes->name, op, (double)x,
                     (double)widen(half, out[i]), (double)want);
        }
      }
    }
  }
}

// Elu and Selu of every 16-bit float: each step rounds, as TensorFlow's do.
static float rounded(bool half, double v) {
  return widen(half, narrow(half, (float)v));
}
static void every_16_bit_elu(void **state) {
  (void)state;
  enum { N = 1 << 16 };
  const int64_t dims[1] = {N};
  for (int pass = 0; pass < 4; pass++) {
    const bool half = pass & 1, scaled = pass & 2;
    const float alpha = scaled ? rounded(half, 1.7580993408473768) : 1;
    const float scale = scaled ? rounded(half, 1.0507009873554805) : 1;
    env e;
    fy_tensor *in, *out;
    env_open(&e, NULL);
    fy_node *x = placeholder(e.g, "x", half ? FY_HALF : FY_BFLOAT16);
    fy_node *y = op1(e.g, scaled ? "Selu" : "Elu", "y", x);
    assert_int_equal(fy_tensor_new(half ? FY_HALF : FY_BFLOAT16, 1, dims, &in, NULL), FY_OK);
    for (int i = 0; i < N; i++) ((uint16_t *)in->data)[i] = (uint16_t)(i * 40503);
    env_session(&e);
    assert_int_equal(run1(&e, x, in, y, &out, NULL), FY_OK);
    for (int i = 0; i < N; i++) {
      const float v = widen(half, ((uint16_t *)in->data)[i]);
      const float less = rounded(half, (double)rounded(half, exp((double)v)) - 1);
      const uint16_t want = narrow(half, v < 0 ? alpha * less : scale * v);
      if (v != 0 && fabsf(v) < FLT_MIN) continue;  // counts as 0 or not
      if (!same_16(half, ((uint16_t *)out->data)[i], want))
        fail_msg("%s of %a is %a", scaled ? "Selu" : "Elu", (double)v,
                 (double)widen(half, ((uint16_t *)out->data)[i]));
    }
    fy_tensor_release(in);
    fy_tensor_release(out);
    env_close(&e);
  }
}

// ------------------------------------------------------------------ products
// Rows and columns alone, too; rows of a are |gap| further apart than they are long, those of b and c.
static void products(void **state) {
  (void)state;
  static const int sizes[][4] = {{1, 1, 1, 0},   {3, 5, 7, 0},   {4, 300, 17, 3}, {9, 33, 40, 1},
                                 {2, 0, 3, 0},   {1, 70, 64, 0}, {1, 9, 150, 4},  {7, 43, 1, 0},
                                 {5, 300, 1, 0}, {6, 8, 1, 2},   {1, 3, 129, 0}};
  for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
    const int m = sizes[z][0], k = sizes[z][1], n = sizes[z][2], gap = sizes[z][3];
    const int lda = k + gap, step = n + gap;
    static int32_t a[4000], b[20000], c[4000];
    static int64_t al[4000], bl[20000], cl[4000];
    static float x[8000], y[40000], out[8000];
    for (int i = 0; i < m * lda; i++) al[i] = a[i] = (int32_t)random_bits();
    for (int i = 0; i < k * step; i++) bl[i] = b[i] = (int32_t)random_bits();
    for (int i = 0; i < 2 * m * lda; i++) x[i] = (float)(int)(random_bits() % 17) - 8;
    for (int i = 0; i < 2 * k * step; i++) y[i] = (float)(int)(random_bits() % 17) - 8;
    for (int which = 0; which < 2; which++) {
      const fy_lanes *lanes = which ? fy_lanes_best() : &fy_lanes_plain;
      for (int i = 0; i < m * step; i++) c[i] = -1;
      lanes->gemm_i32(a, lda, b, c, m, k, n, step);
      lanes->gemm_i64(al, lda, bl, cl, m, k, n, step);
      lanes->gemm_c64(x, lda, y, out, m, k, n, step);
      for (int i = 0; i < m; i++) {
        for (int j = n; j < step; j++) assert_int_equal(c[i * step + j], -1);
        for (int j = 0; j < n; j++) {
          uint64_t sum = 0;
          float re = 0, im = 0;  // whole numbers: exact in any order
          for (int p = 0; p < k; p++) {
            const float *u = &x[2 * (i * lda + p)], *v = &y[2 * (p * step + j)];
            sum += (uint64_t)al[i * lda + p] * (uint64_t)bl[p * step + j];
            re += u[0] * v[0] - u[1] * v[1];
            im += u[0] * v[1] + u[1] * v[0];
          }
          const int at = i * step + j;
          assert_int_equal((uint32_t)c[at], (uint32_t)sum);
          assert_int_equal((uint64_t)cl[at], sum);
          assert_true(out[2 * at] == re && out[2 * at + 1] == im);
        }
      }
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

// ------------------------------------------------------------------ softmax of short rows
static void exact_softmax(const float *in, int64_t n, bool log_of, double *out) {
  double top = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) top = in[i] > top ? in[i] : top;
  for (int64_t i = 0; i < n; i++) sum += exp((double)in[i] - top);
  for (int64_t i = 0; i < n; i++)
    out[i] = log_of ? (double)in[i] - top - log(sum) : exp((double)in[i] - top) / sum;
}

static void softmax(const float *in, float *out, int64_t rows, int64_t n, bool log_of) {
  const fy_lanes *lanes = fy_lanes_best();
  const fy_narrow f = {log_of ? FY_NORM_LOG : FY_NORM_SHARES, n, .past_cache = rows % 2};
  if (n <= lanes->longest_softmax)
    lanes->narrow_f32(&f, in, out, rows);
  else
    lanes->softmax_f32(in, out, rows, n, log_of);
}

typedef enum softmax_data {
  WIDE_NUMBERS,   // down to -100, and infinities and NaNs
  SMALL_NUMBERS,  // at most 4 in size, and NaNs
  LARGE_AT_END,   // and one far above
  SOFTMAX_DATA
} softmax_data;

static void softmax_rows_of(int64_t rows, int64_t n, bool log_of, softmax_data data) {
  enum { GUARD = 16 };
  static float in[66 * FY_SHORT_ROW],
      out[66 * FY_SHORT_ROW + GUARD];  // of some more with less rows
  const int64_t count = rows * n;
  for (int64_t i = 0; i < count; i++) {
    in[i] = (float)(random_bits() % 20001) / 100 - 100;
    if (data != WIDE_NUMBERS) in[i] = (in[i] + 50) / 12.5f;
    if (random_bits() % 200 == 0)
      in[i] = data != WIDE_NUMBERS || random_bits() % 3 == 0 ? NAN
              : random_bits() % 2                            ? INFINITY
                                                             : -INFINITY;
  }
  if (data == LARGE_AT_END) in[count - 1] = random_bits() % 4 ? 1e4f : INFINITY;
  for (int i = 0; i < GUARD; i++) out[count + i] = 42;
  softmax(in, out, rows, n, log_of);
  for (int i = 0; i < GUARD; i++) assert_true(out[count + i] == 42);
  for (int64_t r = 0; r < rows; r++) {
    double want[2048];
    bool lost = false;  // a NaN, or an infinity less an infinity
    const double near = log_of ? 1e-6 : 1e-37, part = data == SMALL_NUMBERS ? 1e-6 : 2e-5;
    exact_softmax(in + r * n, n, log_of, want);
    for (int64_t i = 0; i < n; i++) lost = lost || isnan(want[i]);
    for (int64_t i = 0; i < n; i++) {
      const double got = out[r * n + i];
      if (lost)
        assert_true(isnan(got));
      else
        assert_true(got == want[i] || fabs(got - want[i]) <= part * fabs(want[i]) + near);
    }
  }
  softmax(in, in, rows, n, log_of);
  for (int64_t i = 0; i < count; i++)
    assert_true(isnan(out[i]) ? isnan(in[i]) : memcmp(&in[i], &out[i], sizeof *in) == 0);
}

static void softmax_of_short_rows(void **state) {
  (void)state;
  static const int64_t longer[] = {95, 96, 100, 127, 128, 200, 255, 257, 500, 511, 512};
  static const int64_t longest[] = {513, 1000, 1024, 1365, 2047, 2048};
  static const int64_t rows[] = {1, 2, 7, 8, 9, 16, 31, 32, 33, 40, 41, 64, 66};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    for (int way = 0; way < 2 * SOFTMAX_DATA; way++) {
      const bool log_of = way % 2;
      const softmax_data data = (softmax_data)(way / 2);
      for (int64_t n = 1; n <= 70; n++) softmax_rows_of(rows[k], n, log_of, data);
      for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        softmax_rows_of(rows[k], longer[i], log_of, data);
      for (size_t i = 0; i < sizeof longest / sizeof *longest; i++)
        if (rows[k] <= 16 && longest[i] <= fy_lanes_best()->longest_softmax)
          softmax_rows_of(rows[k], longest[i], log_of, data);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accuracy),
      cmocka_unit_test(place_does_not_matter),
      cmocka_unit_test(square_roots),
      cmocka_unit_test(doubles),
      cmocka_unit_test(floats_16),
      cmocka_unit_test(every_16_bit_elu),
      cmocka_unit_test(products),
      cmocka_unit_test(programs_are_checked),
      cmocka_unit_test(sums_of_exponentials),
      cmocka_unit_test(softmax_of_short_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

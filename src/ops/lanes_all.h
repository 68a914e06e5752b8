// SPDX-License-Identifier: Apache-2.0
// lanes_all.h: makes the table LANES_TABLE from what lanes_math.h and lanes_fused.h give for the
// vectors of the including file. Which operation exists for which type is said here, once.

#include "ops/lanes_math.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#define UNARY_OPS_COMMON(X)                                                                \
  X(FY_EW_NEG, neg) X(FY_EW_ABS, abs) X(FY_EW_SQUARE, square) X(FY_EW_RELU, relu)          \
  X(FY_EW_RELU6, relu6) X(FY_EW_SIGN, sign)
#define UNARY_OPS_REAL(X)                                                                  \
  UNARY_OPS_COMMON(X)                                                                      \
  X(FY_EW_SQRT, sqrt) X(FY_EW_RSQRT, rsqrt) X(FY_EW_SOFTSIGN, softsign) X(FY_EW_SIN, sin)  \
  X(FY_EW_COS, cos) X(FY_EW_FLOOR, floor) X(FY_EW_CEIL, ceil) X(FY_EW_RINT, rint)          \
  X(FY_EW_RECIPROCAL, recip)
#define LONG_OPS(X)                                                                        \
  X(FY_EW_EXP, exp) X(FY_EW_LOG, log) X(FY_EW_LOG1P, log1p) X(FY_EW_EXPM1, expm1)          \
  X(FY_EW_TANH, tanh) X(FY_EW_SIGMOID, sigmoid) X(FY_EW_ELU, elu) X(FY_EW_SELU, selu)      \
  X(FY_EW_SOFTPLUS, softplus) X(FY_EW_ERF, erf)
#define UNARY_OPS_f32(X) UNARY_OPS_REAL(X)
#define UNARY_OPS_f64(X) UNARY_OPS_REAL(X) LONG_OPS(X)
#define UNARY_OPS_i32(X) UNARY_OPS_COMMON(X)
#define UNARY_OPS_i64(X) UNARY_OPS_COMMON(X)
#define GROUPED_OPS_f32(X) LONG_OPS(X)
#define GROUPED_OPS_f64(X)
#define GROUPED_OPS_i32(X)
#define GROUPED_OPS_i64(X)
#define BINARY_OPS_COMMON(X)                                                               \
  X(FY_EW_ADD, add, add) X(FY_EW_SUB, sub, sub) X(FY_EW_MUL, mul, mul)                     \
  X(FY_EW_MAX, max, max_k) X(FY_EW_MIN, min, min_k) X(FY_EW_SQDIFF, sqdiff, sqdiff)
#define BINARY_OPS_f32(X)                                                                  \
  BINARY_OPS_COMMON(X)                                                                     \
  X(FY_EW_DIV, div, div) X(FY_EW_POW, pow, pow) X(FY_EW_LEAKY_RELU, leaky, leaky)
#define BINARY_OPS_f64(X) BINARY_OPS_f32(X)
#define BINARY_OPS_i32(X) BINARY_OPS_COMMON(X)
#define BINARY_OPS_i64(X) BINARY_OPS_COMMON(X)

#define MAP_WIDE(M, x) \
  M(0, x), M(1, x), M(2, x), M(3, x), M(4, x), M(5, x), M(6, x), M(7, x)
#define MAP_NARROW(M, x) M(0, x)

#define MAP MAP_WIDE
#define NUM_ACCS 8
#define NAME(x) PASTE(PASTE(wide_, S), _##x)
#define S f32
#include "ops/lanes_fused.h"
#undef S
#define S f64
#include "ops/lanes_fused.h"
#undef S
#define S i32
#include "ops/lanes_fused.h"
#undef S
#define S i64
#include "ops/lanes_fused.h"
#undef S
#undef MAP
#undef NUM_ACCS
#undef NAME

#define MAP MAP_NARROW
#define NUM_ACCS 1
#define NAME(x) PASTE(PASTE(narrow_, S), _##x)
#define S f32
#include "ops/lanes_fused.h"
#undef S
#define S f64
#include "ops/lanes_fused.h"
#undef S
#define S i32
#include "ops/lanes_fused.h"
#undef S
#define S i64
#include "ops/lanes_fused.h"
#undef S
#undef MAP
#undef NUM_ACCS
#undef NAME

// Whole arrays, for ops that run alone; in place is fine. The last few lanes go through a buffer.
#define ARRAY(op, fn)                                                \
  static void array_##fn(const float *in, float *out, int64_t n) {   \
    const int64_t lanes = LANE_BYTES / (int64_t)sizeof(float);       \
    vec_f32 v[GROUP];                                                \
    int64_t i = 0;                                                   \
    for (; i + GROUP * lanes <= n; i += GROUP * lanes) {             \
      UNROLL for (int k = 0; k < GROUP; k++)                         \
          memcpy(&v[k], in + i + k * lanes, sizeof v[k]);            \
      group_##fn##_f32(v, GROUP);                                    \
      UNROLL for (int k = 0; k < GROUP; k++)                         \
          memcpy(out + i + k * lanes, &v[k], sizeof v[k]);           \
    }                                                                \
    while (i < n) {                                                  \
      const int64_t rest = n - i < lanes ? n - i : lanes;            \
      vec_f32 one = splat_f32(0);                                    \
      memcpy(&one, in + i, (size_t)rest * sizeof(float));            \
      group_##fn##_f32(&one, 1);                                     \
      memcpy(out + i, &one, (size_t)rest * sizeof(float));           \
      i += rest;                                                     \
    }                                                                \
  }
#define ARRAY_ENTRY(op, fn) [op] = array_##fn,
LONG_OPS(ARRAY)

const fy_lanes LANES_TABLE = {
    .name = LANES_NAME,
    .bytes = LANE_BYTES,
    .tables = {{wide_f32_table, narrow_f32_table}, {wide_f64_table, narrow_f64_table},
               {wide_i32_table, narrow_i32_table}, {wide_i64_table, narrow_i64_table}},
    .run = {{wide_f32_run, narrow_f32_run}, {wide_f64_run, narrow_f64_run},
            {wide_i32_run, narrow_i32_run}, {wide_i64_run, narrow_i64_run}},
    .unary_f32 = {LONG_OPS(ARRAY_ENTRY)},
};

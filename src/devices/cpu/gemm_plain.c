// SPDX-License-Identifier: Apache-2.0
// gemm_plain.c: the kernel of gemm.h for any machine, in 16-byte vectors as the compiler sees fit.

#include "devices/cpu/gemm.h"

#define LANE_BYTES 16
#include "ops/lanes_types.inc"
#undef UNROLL

static inline vec_f32 load_f32(const float *p) {
  vec_f32 x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
static inline vec_f64 load_f64(const double *p) {
  vec_f64 x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
// a > b ? a : b and a < b ? a : b, with b where they do not compare.
static inline vec_f32 max_f32(vec_f32 a, vec_f32 b) {
  const vec_i32 m = a > b;
  return (vec_f32)((m & (vec_i32)a) | (~m & (vec_i32)b));
}
static inline vec_f32 min_f32(vec_f32 a, vec_f32 b) {
  const vec_i32 m = a < b;
  return (vec_f32)((m & (vec_i32)a) | (~m & (vec_i32)b));
}
static inline vec_f64 max_f64(vec_f64 a, vec_f64 b) {
  const vec_i64 m = a > b;
  return (vec_f64)((m & (vec_i64)a) | (~m & (vec_i64)b));
}
static inline vec_f64 min_f64(vec_f64 a, vec_f64 b) {
  const vec_i64 m = a < b;
  return (vec_f64)((m & (vec_i64)a) | (~m & (vec_i64)b));
}

#define FMA(a, b, c) ((a) * (b) + (c))
#define AGAIN(p)     (void)0
#define KEEP(x)      (void)0
#define STORE(p, x)                                \
  do {                                             \
    const VEC stored = (x);                        \
    __builtin_memcpy((p), &stored, sizeof stored); \
  } while (0)

#define REAL      float
#define VEC       vec_f32
#define LANES     4
#define LOAD(p)   load_f32(p)
#define SPLAT(x)  ((vec_f32){(x), (x), (x), (x)})
#define MAX(a, b) max_f32(a, b)
#define MIN(a, b) min_f32(a, b)
#define NAME(x)   x##_f32
#define WIDE
#include "devices/cpu/gemm_kernel.inc"
#undef WIDE
#include "devices/cpu/gemm_depthwise.inc"
#include "devices/cpu/gemm_winograd.inc"
#undef REAL
#undef VEC
#undef LANES
#undef LOAD
#undef SPLAT
#undef MAX
#undef MIN
#undef NAME
#undef UNROLL
#undef BLOCK

#define REAL      double
#define VEC       vec_f64
#define LANES     2
#define LOAD(p)   load_f64(p)
#define SPLAT(x)  ((vec_f64){(x), (x)})
#define MAX(a, b) max_f64(a, b)
#define MIN(a, b) min_f64(a, b)
#define NAME(x)   x##_f64
#include "devices/cpu/gemm_kernel.inc"

const fy_gemm_kernels fy_gemm_plain = {
    .name = "plain", .columns = {8, 4}, .lanes = 4, .piece = 256, FY_GEMM_SIX, FY_GEMM_PARTS};

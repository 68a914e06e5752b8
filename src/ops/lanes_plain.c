// SPDX-License-Identifier: Apache-2.0
// lanes_plain.c: the lanes of any machine, in 16-byte vectors as the compiler sees fit.

#include <math.h>
#include <string.h>

#include "ops/fused.h"
#include "ops/trig.h"
#include "ops/turn.h"
#include "ops/typed.h"

#define LANE_BYTES 16
#include "ops/lanes_types.inc"

static inline vec_f32 splat_f32(float x) {
  return (vec_f32){x, x, x, x};
}
static inline vec_f64 splat_f64(double x) {
  return (vec_f64){x, x};
}
static inline vec_i32 splat_i32(int32_t x) {
  return (vec_i32){x, x, x, x};
}
static inline vec_i64 splat_i64(int64_t x) {
  return (vec_i64){x, x};
}

static inline vec_f32 select_f32(vec_i32 m, vec_f32 a, vec_f32 b) {
  return (vec_f32)((m & (vec_i32)a) | (~m & (vec_i32)b));
}
static inline vec_f64 select_f64(vec_i64 m, vec_f64 a, vec_f64 b) {
  return (vec_f64)((m & (vec_i64)a) | (~m & (vec_i64)b));
}
// a where x has its sign bit set, else b.
static inline vec_f32 by_sign_f32(vec_f32 x, vec_f32 a, vec_f32 b) {
  return select_f32((vec_i32)x >> 31, a, b);
}
// Where a product and a sum may round once or twice: here twice.
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c) {
  return a * b + c;
}
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c) {
  return a * b + c;
}
static inline bool any_i32(vec_i32 m) {
  int32_t any = 0;
  for (size_t i = 0; i < sizeof m / sizeof any; i++) any |= m[i];
  return any != 0;
}
static inline vec_i32 more_i32(vec_i32 a, vec_i32 b) {
  return (a & (a > b)) | (b & ~(a > b));
}
// a < b ? a : b and a > b ? a : b, with b where they do not compare.
static inline vec_f32 less_f32(vec_f32 a, vec_f32 b) {
  return select_f32(a < b, a, b);
}
static inline vec_f32 more_f32(vec_f32 a, vec_f32 b) {
  return select_f32(a > b, a, b);
}
static inline vec_f64 less_f64(vec_f64 a, vec_f64 b) {
  return select_f64(a < b, a, b);
}
static inline vec_f64 more_f64(vec_f64 a, vec_f64 b) {
  return select_f64(a > b, a, b);
}

#define EACH_LANE(S, name, fn)                                           \
  static inline vec_##S name(vec_##S x) {                                \
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) x[i] = fn(x[i]); \
    return x;                                                            \
  }
EACH_LANE(f32, sqrt_f32, sqrtf)
EACH_LANE(f32, floor_f32, floorf)
EACH_LANE(f32, ceil_f32, ceilf)
EACH_LANE(f32, rint_f32, rintf)
EACH_LANE(f64, sqrt_f64, sqrt)
EACH_LANE(f64, floor_f64, floor)
EACH_LANE(f64, ceil_f64, ceil)
EACH_LANE(f64, rint_f64, rint)
static inline vec_f32 rsqrt_f32(vec_f32 x) {
  return 1.0f / sqrt_f32(x);
}
static inline vec_f64 rsqrt_f64(vec_f64 x) {
  return 1.0 / sqrt_f64(x);
}
static inline vec_f64 wide_f64(const float *p) {
  return (vec_f64){(double)p[0], (double)p[1]};
}
static __attribute__((noinline)) vec_f32 load_f16(const uint16_t *p) {
  return (vec_f32){fy_ld_half(p[0]), fy_ld_half(p[1]), fy_ld_half(p[2]), fy_ld_half(p[3])};
}
static __attribute__((noinline)) void store_f16(uint16_t *p, vec_f32 v) {
  for (int i = 0; i < 4; i++) p[i] = fy_st_half(v[i]);
}
static inline vec_u32 load_u16(const uint16_t *p) {
  return (vec_u32){p[0], p[1], p[2], p[3]};
}
static inline void store_u16(uint16_t *p, vec_u32 v) {
  for (int i = 0; i < 4; i++) p[i] = (uint16_t)v[i];
}
static inline void store_mask(uint8_t *p, vec_i32 m) {
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)(m[i] & 1);
}

// The first |n| lanes of a vector, and what is in memory of them; the others are 0.
static inline vec_i32 first_lanes(int64_t n) {
  return (vec_i32){n > 0, n > 1, n > 2, n > 3} != 0;
}
static inline vec_f32 load_lanes(const float *p, vec_i32 used) {
  vec_f32 v = {0};
  for (int i = 0; i < 4; i++)
    if (used[i]) v[i] = p[i];
  return v;
}

#define LANES_SMALL
#define LANES_TABLE fy_lanes_plain
#define LANES_NAME  "plain"
#define LANES_MORE
#include "ops/lanes_all.inc"

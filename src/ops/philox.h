// SPDX-License-Identifier: Apache-2.0
// philox.h: Philox 4x32-10, the counter-based generator of TensorFlow's random ops, and the ways it
// turns bits into numbers. Bit for bit the same as TensorFlow for the same key and counter.

#ifndef FY_OPS_PHILOX_H
#define FY_OPS_PHILOX_H

#include <math.h>
#include <stdint.h>

#include "ops/typed.h"

typedef struct fy_philox {
  uint32_t counter[4];
  uint32_t key[2];
} fy_philox;

static inline fy_philox fy_philox_seed(uint64_t low, uint64_t high) {
  return (fy_philox){{0, 0, (uint32_t)high, (uint32_t)(high >> 32)},
                     {(uint32_t)low, (uint32_t)(low >> 32)}};
}

// Skips |count| blocks of four.
static inline void fy_philox_skip(fy_philox *p, uint64_t count) {
  const uint32_t low = (uint32_t)count;
  uint32_t high = (uint32_t)(count >> 32);
  p->counter[0] += low;
  if (p->counter[0] < low) high++;
  p->counter[1] += high;
  if (p->counter[1] < high) {
    if (++p->counter[2] == 0) ++p->counter[3];
  }
}

// The next block of four, and on.
static inline void fy_philox_next(fy_philox *p, uint32_t out[4]) {
  uint32_t c[4] = {p->counter[0], p->counter[1], p->counter[2], p->counter[3]};
  uint32_t k0 = p->key[0], k1 = p->key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    const uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(a >> 32) ^ c[3] ^ k1;
    c[0] = n0;
    c[1] = (uint32_t)b;
    c[2] = n2;
    c[3] = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < 4; i++) out[i] = c[i];
  fy_philox_skip(p, 1);
}

// ---------------------------------------------------------------- [0, 1)
static inline float fy_bits_to_unit_float(uint32_t x) {
  return fy_bits_float(0x3F800000u | (x & 0x7FFFFFu)) - 1.0f;
}
static inline double fy_bits_to_unit_double(uint32_t x0, uint32_t x1) {
  const uint64_t bits = 0x3FF0000000000000ull | (uint64_t)(x0 & 0xFFFFFu) << 32 | x1;
  double d;
  memcpy(&d, &bits, sizeof d);
  return d - 1.0;
}
static inline uint16_t fy_bits_to_unit_half(uint32_t x) {
  return fy_st_half(fy_ld_half((uint16_t)(0x3C00u | (x & 0x3FFu))) - 1.0f);
}
static inline uint16_t fy_bits_to_unit_bfloat16(uint32_t x) {
  return fy_float_to_bfloat16(fy_bfloat16_to_float((uint16_t)(0x3F80u | (x & 0x7Fu))) - 1.0f);
}

// ---------------------------------------------------------------- normal, by Box and Muller
static inline void fy_normal_float(uint32_t x0, uint32_t x1, float *f0, float *f1) {
  const float epsilon = 1.0e-7f;
  float u1 = fy_bits_to_unit_float(x0);
  if (u1 < epsilon) u1 = epsilon;
  const float v1 = (float)(2.0 * M_PI * (double)fy_bits_to_unit_float(x1));
  const float u2 = sqrtf(-2.0f * logf(u1));
  *f0 = sinf(v1) * u2;
  *f1 = cosf(v1) * u2;
}
static inline void fy_normal_double(const uint32_t x[4], double *d0, double *d1) {
  const double epsilon = 1.0e-7;
  double u1 = fy_bits_to_unit_double(x[0], x[1]);
  if (u1 < epsilon) u1 = epsilon;
  const double v1 = 2 * M_PI * fy_bits_to_unit_double(x[2], x[3]);
  const double u2 = sqrt(-2.0 * log(u1));
  *d0 = sin(v1) * u2;
  *d1 = cos(v1) * u2;
}

#endif

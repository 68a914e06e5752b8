// SPDX-License-Identifier: Apache-2.0
// quantized_finish.c: sums of products of bytes to numbers of the output (quantized_fused.c says how).

#include <math.h>

#include "ops/bytes.h"
#include "ops/typed.h"

#define CHUNK 128

FY_CLONES static void scale_sums(const int32_t *restrict sums, const float *restrict scale,
                                 const float *restrict bias, int64_t n, float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = (float)sums[i] * scale[i] + bias[i];
}

// |y| + summand * scale, rounded once. A byte is signed if |flip| is 128.
FY_CLONES static void add_bytes(const uint8_t *restrict s, int32_t flip, double scale, int64_t n,
                                float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] = (float)(y[i] + ((s[i] ^ flip) - flip) * scale);
}
FY_CLONES static void add_floats(const float *restrict s, int64_t n, float *restrict y) {
  for (int64_t i = 0; i < n; i++) y[i] += s[i];
}

FY_CLONES static void round_all(const float *restrict y, float by, float lo, float hi, int64_t n,
                                int32_t *restrict out) {
  for (int64_t i = 0; i < n; i++) {
    float v = y[i] * by;
    v = v > lo ? v : lo;
    v = v < hi ? v : hi;
    out[i] = (int32_t)rintf(v);
  }
}
FY_CLONES static void narrow(const int32_t *restrict v, int64_t n, uint8_t *restrict out) {
  for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)v[i];
}

void fy_q_finish_sums(const void *arg, int64_t row, int64_t column, int64_t n,
                      const int32_t *sums) {
  const fy_q_finish *f = arg;
  float y[CHUNK];
  int32_t whole[CHUNK];
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t count = n - i < CHUNK ? n - i : CHUNK, c = column + i, at = row * f->n + c;
    if (f->type == FY_FLOAT) {
      scale_sums(sums + i, f->scale + c, f->bias + c, count, (float *)f->out + at);
      continue;
    }
    scale_sums(sums + i, f->scale + c, f->bias + c, count, y);
    if (f->add && f->add_type == FY_FLOAT)
      add_floats((const float *)f->add + at, count, y);
    else if (f->add)
      add_bytes((const uint8_t *)f->add + at, f->add_type == FY_QINT8 ? 128 : 0, f->add_scale,
                count, y);
    const bool words = f->type == FY_QINT32;
    round_all(y, f->by, f->lo, f->hi, count, words ? (int32_t *)f->out + at : whole);
    if (!words) narrow(whole, count, (uint8_t *)f->out + at);
  }
}

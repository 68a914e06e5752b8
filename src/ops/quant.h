// SPDX-License-Identifier: Apache-2.0
// quant.h: how the quantized types stand for real numbers: the arithmetic that TensorFlow's quantized
// kernels share, in the same precision step by step, so that results are equal to the last unit.
//
// A tensor of type T with range [min, max] maps the lowest T to (about) min and the highest to max.

#ifndef FY_OPS_QUANT_H
#define FY_OPS_QUANT_H

#include <math.h>

#include "ops/op.h"

// The integers of a quantized type. Unsigned types start at 0.
typedef struct fy_qtype {
  int bits;
  int64_t low, high;
} fy_qtype;
static inline fy_qtype fy_qtype_of(fy_dtype t) {
  switch (t) {
    case FY_QINT8: return (fy_qtype){8, INT8_MIN, INT8_MAX};
    case FY_QUINT8: return (fy_qtype){8, 0, UINT8_MAX};
    case FY_QINT16: return (fy_qtype){16, INT16_MIN, INT16_MAX};
    case FY_QUINT16: return (fy_qtype){16, 0, UINT16_MAX};
    default: return (fy_qtype){32, INT32_MIN, INT32_MAX};
  }
}
static inline int64_t fy_q_get(fy_dtype t, const void *p, int64_t i) {
  switch (t) {
    case FY_QINT8: return ((const int8_t *)p)[i];
    case FY_QUINT8: return ((const uint8_t *)p)[i];
    case FY_QINT16: return ((const int16_t *)p)[i];
    case FY_QUINT16: return ((const uint16_t *)p)[i];
    default: return ((const int32_t *)p)[i];
  }
}
// What the 8 bits |byte| mean in |t|.
static inline int64_t fy_q_of_byte(fy_dtype t, int byte) {
  return t == FY_QINT8 ? (int8_t)(uint8_t)byte : byte;
}
static inline void fy_q_put(fy_dtype t, void *p, int64_t i, int64_t v) {
  switch (fy_qtype_of(t).bits) {
    case 8: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case 16: ((uint16_t *)p)[i] = (uint16_t)v; break;
    default: ((uint32_t *)p)[i] = (uint32_t)v;
  }
}
// A float as x86 converts it: what does not fit is the lowest integer.
static inline int64_t fy_q_int32(float v) {
  return v >= -0x1p31f && v < 0x1p31f ? (int64_t)v : INT32_MIN;
}
static inline int64_t fy_q_int64(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

// --- one value, in double precision ---
static inline int64_t fy_q_from_float_wide(fy_qtype q, float v, float min, float max) {
  if (min == max) return q.low;
  const double steps = (double)((int64_t)1 << q.bits);
  const double range = (double)(max - min) * (steps / (steps - 1.0));
  const double scale = steps / range;
  const int64_t steps_up = fy_q_int64(round((double)v * scale) - round((double)min * scale));
  return steps_up < INT64_MIN - q.low ? INT64_MIN : steps_up + q.low;
}
static inline int64_t fy_q_from_float(fy_qtype q, float v, float min, float max) {
  const int64_t w = fy_q_from_float_wide(q, v, min, max);
  return w < q.low ? q.low : w > q.high ? q.high : w;
}
static inline float fy_q_to_float(fy_qtype q, int64_t v, float min, float max) {
  if (min == max) return min;
  const double steps = (double)((int64_t)1 << q.bits);
  const double range = (double)(max - min) * (steps / (steps - 1.0));
  const double scale = range / steps;
  const double start = round((double)(min / (float)scale)) * (double)(float)scale;
  return (float)(start + ((double)v - (double)q.low) * scale);
}

// --- many values, in single precision ---
typedef struct fy_dequantizer {
  float scale, start;  // value = start + scale * x
} fy_dequantizer;
static inline fy_dequantizer fy_dequantizer_of(fy_qtype q, float min, float max) {
  const double steps = (double)((int64_t)1 << q.bits);
  const float scale = (float)((double)(max - min) / (steps - 1.0));
  const float rounded = max == min ? min : roundf(min / scale) * scale;
  return (fy_dequantizer){scale, rounded - (float)q.low * scale};
}
static inline float fy_dequantize(fy_dequantizer d, int64_t v) {
  return d.start + (float)v * d.scale;
}
typedef struct fy_quantizer {
  float scale, shift, low, high;
} fy_quantizer;
static inline fy_quantizer fy_quantizer_of(fy_qtype q, float min, float max) {
  const double steps = (double)((int64_t)1 << q.bits);
  fy_quantizer z = {.scale = max == min ? 0 : (float)((steps - 1.0) / (double)(max - min))};
  z.shift = roundf(min * z.scale) - (float)q.low;
  z.low = fmaxf((float)q.low, -2.147483648e+09f);
  z.high = fminf((float)q.high, 2.147483520e+09f);
  return z;
}
static inline int64_t fy_quantize(fy_quantizer z, float v) {
  float w = roundf(v * z.scale) - z.shift;
  w = w < z.low ? z.low : w;
  w = w > z.high ? z.high : w;
  return fy_q_int32(w);
}

// The range of a product of two quantized numbers, held in |c|.
static inline void fy_q_product_range(fy_qtype a, fy_qtype b, fy_qtype c, float min_a, float max_a,
                                      float min_b, float max_b, float *min, float *max) {
  const float one_a = (max_a - min_a) / (float)(a.high - a.low);
  const float one_b = (max_b - min_b) / (float)(b.high - b.low);
  const float one = one_a * one_b;
  *min = one * (float)c.low;
  *max = one * (float)c.high;
}

// Sets output |i| to a scalar.
FY_MUST_CHECK static inline fy_code fy_q_out_float(fy_kernel_ctx *ctx, int i, float v,
                                                   fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_out(ctx, i, 0, NULL, &t, err));
  *(float *)t->data = v;
  return FY_OK;
}
static inline float fy_q_scalar(const fy_kernel_ctx *ctx, int i) {
  return *(const float *)ctx->in[i]->data;
}

// Shape: output 0 like input 0, outputs 1 and 2 scalars; inputs |first|… must be scalars.
FY_MUST_CHECK fy_code fy_q_shape_like_first(fy_shape_ctx *ctx, int first, fy_error *err);
// "`name` must be rank 0 but is rank 1" unless input |i| is a scalar.
FY_MUST_CHECK fy_code fy_q_need_scalar(const fy_kernel_ctx *ctx, int i, const char *name,
                                       fy_error *err);

// qint32 to any type in a new range, as Requantize and its relatives do it.
void fy_q_requantize(const int32_t *in, int64_t n, float min_in, float max_in, float min_out,
                     float max_out, fy_dtype to, void *out);

#endif

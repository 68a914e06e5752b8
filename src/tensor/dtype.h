// SPDX-License-Identifier: Apache-2.0
// dtype.h: TensorFlow's element types (same numbers), their sizes and names.

#ifndef FY_TENSOR_DTYPE_H
#define FY_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum fy_dtype {
  FY_INVALID = 0,
  FY_FLOAT = 1,
  FY_DOUBLE = 2,
  FY_INT32 = 3,
  FY_UINT8 = 4,
  FY_INT16 = 5,
  FY_INT8 = 6,
  FY_STRING = 7,
  FY_COMPLEX64 = 8,
  FY_INT64 = 9,
  FY_BOOL = 10,
  FY_QINT8 = 11,
  FY_QUINT8 = 12,
  FY_QINT32 = 13,
  FY_BFLOAT16 = 14,
  FY_QINT16 = 15,
  FY_QUINT16 = 16,
  FY_UINT16 = 17,
  FY_COMPLEX128 = 18,
  FY_HALF = 19,
  FY_RESOURCE = 20,
  FY_VARIANT = 21,
  FY_UINT32 = 22,
  FY_UINT64 = 23,
  FY_FLOAT8_E5M2 = 24,
  FY_FLOAT8_E4M3FN = 25,
  FY_FLOAT8_E4M3FNUZ = 26,
  FY_FLOAT8_E4M3B11FNUZ = 27,
  FY_FLOAT8_E5M2FNUZ = 28,
  FY_INT4 = 29,
  FY_UINT4 = 30,
  FY_INT2 = 31,
  FY_UINT2 = 32,
  FY_DTYPE_COUNT = 33,
  FY_REF_BIT = 100,  // a reference type is its base + 100
} fy_dtype;

static inline bool fy_dtype_is_ref(fy_dtype t) {
  return (int)t > FY_REF_BIT;
}
static inline fy_dtype fy_dtype_base(fy_dtype t) {
  return fy_dtype_is_ref(t) ? (fy_dtype)((int)t - FY_REF_BIT) : t;
}
bool fy_dtype_valid(int value);  // a known type, reference or not
size_t fy_dtype_size(
    fy_dtype t);  // bytes per element; 0 for string, resource, variant as TF_DataTypeSize says
size_t fy_dtype_storage(
    fy_dtype t);                     // bytes one element takes in our buffers (string 24, handle 8)
bool fy_dtype_is_plain(fy_dtype t);  // elements are bytes that memcpy may move
bool fy_dtype_is_floating(fy_dtype t);  // half, bfloat16, float, double (float8 too)
bool fy_dtype_is_integer(fy_dtype t);   // signed or unsigned, not quantized, not bool
bool fy_dtype_is_complex(fy_dtype t);
const char *fy_dtype_name(fy_dtype t);       // "float", "float_ref", "string": as TensorFlow prints
const char *fy_dtype_enum_name(fy_dtype t);  // "DT_FLOAT"
bool fy_dtype_parse(const char *name, size_t n, fy_dtype *out);  // "float", "float32", "DT_FLOAT"

// 16-bit floats, rounding to nearest even exactly as TensorFlow's.
float fy_half_to_float(uint16_t h);
uint16_t fy_float_to_half(float f);
static inline float fy_bfloat16_to_float(uint16_t b) {
  uint32_t u = (uint32_t)b << 16;
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline uint16_t fy_float_to_bfloat16(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x40u);  // quiet the NaN
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
// Cut instead of rounded: TensorFlow's matrix products leave the low half of their sums away.
static inline uint16_t fy_float_cut_to_bfloat16(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return (uint16_t)(u >> 16);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// dtype.c: one list of the element types; every table here is read from it.

#include "tensor/dtype.h"
#include "base/str.h"

enum { FLOATING = 1, INTEGER = 2, COMPLEX = 4, PLAIN = 8 };

// X(enum name, name, size as TF_DataTypeSize, storage size, class)
#define DTYPES(X)                                                     \
  X(FLOAT, "float", 4, 4, FLOATING | PLAIN)                           \
  X(DOUBLE, "double", 8, 8, FLOATING | PLAIN)                         \
  X(INT32, "int32", 4, 4, INTEGER | PLAIN)                            \
  X(UINT8, "uint8", 1, 1, INTEGER | PLAIN)                            \
  X(INT16, "int16", 2, 2, INTEGER | PLAIN)                            \
  X(INT8, "int8", 1, 1, INTEGER | PLAIN)                              \
  X(STRING, "string", 0, 24, 0)                                       \
  X(COMPLEX64, "complex64", 8, 8, COMPLEX | PLAIN)                    \
  X(INT64, "int64", 8, 8, INTEGER | PLAIN)                            \
  X(BOOL, "bool", 1, 1, PLAIN)                                        \
  X(QINT8, "qint8", 1, 1, PLAIN)                                      \
  X(QUINT8, "quint8", 1, 1, PLAIN)                                    \
  X(QINT32, "qint32", 4, 4, PLAIN)                                    \
  X(BFLOAT16, "bfloat16", 2, 2, FLOATING | PLAIN)                     \
  X(QINT16, "qint16", 2, 2, PLAIN)                                    \
  X(QUINT16, "quint16", 2, 2, PLAIN)                                  \
  X(UINT16, "uint16", 2, 2, INTEGER | PLAIN)                          \
  X(COMPLEX128, "complex128", 16, 16, COMPLEX | PLAIN)                \
  X(HALF, "half", 2, 2, FLOATING | PLAIN)                             \
  X(RESOURCE, "resource", 0, 8, 0)                                    \
  X(VARIANT, "variant", 0, 8, 0)                                      \
  X(UINT32, "uint32", 4, 4, INTEGER | PLAIN)                          \
  X(UINT64, "uint64", 8, 8, INTEGER | PLAIN)                          \
  X(FLOAT8_E5M2, "float8_e5m2", 1, 1, FLOATING | PLAIN)               \
  X(FLOAT8_E4M3FN, "float8_e4m3fn", 1, 1, FLOATING | PLAIN)           \
  X(FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", 1, 1, FLOATING | PLAIN)       \
  X(FLOAT8_E4M3B11FNUZ, "float8_e4m3b11fnuz", 1, 1, FLOATING | PLAIN) \
  X(FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", 1, 1, FLOATING | PLAIN)       \
  X(INT4, "int4", 1, 1, INTEGER | PLAIN)                              \
  X(UINT4, "uint4", 1, 1, INTEGER | PLAIN)                            \
  X(INT2, "int2", 1, 1, INTEGER | PLAIN)                              \
  X(UINT2, "uint2", 1, 1, INTEGER | PLAIN)

typedef struct info {
  const char *name, *ref_name, *enum_name, *enum_ref_name;
  uint8_t size, storage, flags;
} info;

static const info infos[FY_DTYPE_COUNT] = {
    [FY_INVALID] = {"INVALID", "INVALID", "DT_INVALID", "DT_INVALID", 0, 0, 0},
#define ROW(id, text, size, storage, flags) \
  [FY_##id] = {text, text "_ref", "DT_" #id, "DT_" #id "_REF", size, storage, flags},
    DTYPES(ROW)
#undef ROW
};

static const info *info_of(fy_dtype t) {
  int base = (int)fy_dtype_base(t);
  return &infos[base > 0 && base < FY_DTYPE_COUNT ? base : 0];
}

bool fy_dtype_valid(int value) {
  int base = value > FY_REF_BIT ? value - FY_REF_BIT : value;
  return base > 0 && base < FY_DTYPE_COUNT;
}

size_t fy_dtype_size(fy_dtype t) {
  return info_of(t)->size;
}
size_t fy_dtype_storage(fy_dtype t) {
  return info_of(t)->storage;
}
bool fy_dtype_is_plain(fy_dtype t) {
  return info_of(t)->flags & PLAIN;
}
bool fy_dtype_is_floating(fy_dtype t) {
  return info_of(t)->flags & FLOATING;
}
bool fy_dtype_is_integer(fy_dtype t) {
  return info_of(t)->flags & INTEGER;
}
bool fy_dtype_is_complex(fy_dtype t) {
  return info_of(t)->flags & COMPLEX;
}

const char *fy_dtype_name(fy_dtype t) {
  return fy_dtype_is_ref(t) ? info_of(t)->ref_name : info_of(t)->name;
}

const char *fy_dtype_enum_name(fy_dtype t) {
  return fy_dtype_is_ref(t) ? info_of(t)->enum_ref_name : info_of(t)->enum_name;
}

bool fy_dtype_parse(const char *name, size_t n, fy_dtype *out) {
  static const struct {
    const char *name;
    fy_dtype type;
  } others[] = {{"float32", FY_FLOAT}, {"float64", FY_DOUBLE}, {"float16", FY_HALF}};
  fy_view v = {name, n};
  *out = FY_INVALID;
  for (int i = 1; i < FY_DTYPE_COUNT; i++) {
    if (fy_view_is(v, infos[i].name) || fy_view_is(v, infos[i].enum_name)) {
      *out = (fy_dtype)i;
    } else if (fy_view_is(v, infos[i].ref_name) || fy_view_is(v, infos[i].enum_ref_name)) {
      *out = (fy_dtype)(i + FY_REF_BIT);
    }
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (fy_view_is(v, others[i].name)) *out = others[i].type;
  }
  return *out != FY_INVALID;
}

// --- half: 1 sign, 5 exponent (bias 15), 10 fraction bits ---

static float from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

float fy_half_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1Fu, fraction = h & 0x3FFu;
  if (exponent == 0x1F) return from_bits(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0) return from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
  float tiny = (float)fraction * 0x1p-24f;  // subnormal: exact in float
  return sign ? -tiny : tiny;
}

uint16_t fy_float_to_half(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  uint16_t sign = (uint16_t)((u >> 16) & 0x8000u);
  u &= 0x7FFFFFFFu;
  if (u > 0x7F800000u) return sign | 0x7E00u;   // NaN
  if (u >= 0x477FF000u) return sign | 0x7C00u;  // 65520 and above round to infinity
  if (u < 0x38800000u) {                        // below 2^-14: subnormal or zero
    // Adding 0.5 lines the fraction up so that the addition itself rounds to nearest even.
    float sum = from_bits(u) + 0.5f;
    uint32_t s;
    memcpy(&s, &sum, sizeof s);
    return (uint16_t)(sign | (s - 0x3F000000u));
  }
  uint32_t rounded = u + 0xFFFu + ((u >> 13) & 1u);
  return (uint16_t)(sign | ((rounded - (112u << 23)) >> 13));
}

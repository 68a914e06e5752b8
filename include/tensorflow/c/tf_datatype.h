// SPDX-License-Identifier: Apache-2.0
// tf_datatype.h: the element types of tensors. The numbers are DataType's in types.proto and are
// written into model files: they never change.

#ifndef TENSORFLOW_C_TF_DATATYPE_H_
#define TENSORFLOW_C_TF_DATATYPE_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TF_DataType {
  TF_FLOAT = 1,
  TF_DOUBLE = 2,
  TF_INT32 = 3,
  TF_UINT8 = 4,
  TF_INT16 = 5,
  TF_INT8 = 6,
  TF_STRING = 7,     // elements are TF_TString, see tf_tstring.h
  TF_COMPLEX64 = 8,  // two floats
  TF_COMPLEX = 8,    // the older name of TF_COMPLEX64
  TF_INT64 = 9,
  TF_BOOL = 10,  // one byte, 0 or 1
  TF_QINT8 = 11,
  TF_QUINT8 = 12,
  TF_QINT32 = 13,
  TF_BFLOAT16 = 14,  // the upper half of a float
  TF_QINT16 = 15,
  TF_QUINT16 = 16,
  TF_UINT16 = 17,
  TF_COMPLEX128 = 18,  // two doubles
  TF_HALF = 19,        // IEEE binary16
  TF_RESOURCE = 20,
  TF_VARIANT = 21,
  TF_UINT32 = 22,
  TF_UINT64 = 23,
  // The 8-bit floats: E exponent bits, M mantissa bits; FN has no infinity, UZ no negative zero.
  TF_FLOAT8_E5M2 = 24,
  TF_FLOAT8_E4M3FN = 25,
  TF_FLOAT8_E4M3FNUZ = 26,
  TF_FLOAT8_E4M3B11FNUZ = 27,  // exponent bias 11
  TF_FLOAT8_E5M2FNUZ = 28,
  // Narrower than a byte in meaning; each element still takes a whole byte in a tensor.
  TF_INT4 = 29,
  TF_UINT4 = 30,
  TF_INT2 = 31,
  TF_UINT2 = 32,
  TF_FLOAT4_E2M1FN = 33,
} TF_DataType;

// Bytes per element; 0 when elements have no fixed size (strings, resources, variants) or when |dt|
// is not a type.
TF_CAPI_EXPORT extern size_t TF_DataTypeSize(TF_DataType dt);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_TF_DATATYPE_H_

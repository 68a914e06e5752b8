// SPDX-License-Identifier: Apache-2.0
// tensor_spec.h: the type and shape that a signature declares for one of its tensors.
// Borrowed from the parameter it describes.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSOR_SPEC_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSOR_SPEC_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_shape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_TensorSpec TF_TensorSpec;

TF_CAPI_EXPORT extern TF_DataType TF_TensorSpecDataType(const TF_TensorSpec *spec);

// Borrowed: do not delete it.
TF_CAPI_EXPORT extern const TF_Shape *TF_TensorSpecShape(const TF_TensorSpec *spec);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_TENSOR_SPEC_H_

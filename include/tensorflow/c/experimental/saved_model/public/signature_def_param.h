// SPDX-License-Identifier: Apache-2.0
// signature_def_param.h: one named input or output of a signature. Borrowed from its list.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/saved_model/public/tensor_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SignatureDefParam TF_SignatureDefParam;

// Borrowed.
TF_CAPI_EXPORT extern const char *TF_SignatureDefParamName(const TF_SignatureDefParam *param);

// Borrowed.
TF_CAPI_EXPORT extern const TF_TensorSpec *TF_SignatureDefParamTensorSpec(
    const TF_SignatureDefParam *param);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_H_

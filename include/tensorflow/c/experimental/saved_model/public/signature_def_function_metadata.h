// SPDX-License-Identifier: Apache-2.0
// signature_def_function_metadata.h: what a signature takes and gives, by name.
// Borrowed from the function.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_FUNCTION_METADATA_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_FUNCTION_METADATA_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_param_list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SignatureDefFunctionMetadata TF_SignatureDefFunctionMetadata;

// Borrowed. The order of the arguments is the order in which a call op wants its inputs.
TF_CAPI_EXPORT extern const TF_SignatureDefParamList *TF_SignatureDefFunctionMetadataArgs(
    const TF_SignatureDefFunctionMetadata *list);
TF_CAPI_EXPORT extern const TF_SignatureDefParamList *TF_SignatureDefFunctionMetadataReturns(
    const TF_SignatureDefFunctionMetadata *list);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_FUNCTION_METADATA_H_

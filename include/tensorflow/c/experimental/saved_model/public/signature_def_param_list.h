// SPDX-License-Identifier: Apache-2.0
// signature_def_param_list.h: the inputs or outputs of a signature. Borrowed from its metadata.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_LIST_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_LIST_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SignatureDefParamList TF_SignatureDefParamList;

TF_CAPI_EXPORT extern size_t TF_SignatureDefParamListSize(const TF_SignatureDefParamList *list);

// Borrowed. |i| must be less than the size.
TF_CAPI_EXPORT extern const TF_SignatureDefParam *TF_SignatureDefParamListGet(
    const TF_SignatureDefParamList *list, int i);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SIGNATURE_DEF_PARAM_LIST_H_

// SPDX-License-Identifier: Apache-2.0
// saved_model_api.h: load a SavedModel and call its functions eagerly.
// The context must outlive the model, and the model everything looked up in it. Looking functions
// up is safe from many threads.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SAVED_MODEL_API_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SAVED_MODEL_API_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function_list.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_function.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_SavedModel TF_SavedModel;

// For a model with a single MetaGraph, as TensorFlow 2 writes them. NULL on failure.
TF_CAPI_EXPORT extern TF_SavedModel *TF_LoadSavedModel(const char *dirname, TFE_Context *ctx,
                                                       TF_Status *status);

// For a model with several: loads the one with exactly these tags. NULL on failure.
TF_CAPI_EXPORT extern TF_SavedModel *TF_LoadSavedModelWithTags(const char *dirname,
                                                               TFE_Context *ctx,
                                                               const char *const *tags,
                                                               int tags_len, TF_Status *status);

// Frees the functions looked up in it as well.
TF_CAPI_EXPORT extern void TF_DeleteSavedModel(TF_SavedModel *model);

// By its path from the saved object, such as "encoder.call". NOT_FOUND if there is none.
TF_CAPI_EXPORT extern TF_ConcreteFunction *TF_GetSavedModelConcreteFunction(
    TF_SavedModel *model, const char *function_path, TF_Status *status);

// By the key of its signature, such as "serving_default". NOT_FOUND if there is none.
TF_CAPI_EXPORT extern TF_SignatureDefFunction *TF_GetSavedModelSignatureDefFunction(
    TF_SavedModel *model, const char *signature_def_key, TF_Status *status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_SAVED_MODEL_API_H_

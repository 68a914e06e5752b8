// SPDX-License-Identifier: Apache-2.0
// concrete_function_list.h: several concrete functions. The caller owns the list, the model
// its functions.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_LIST_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_LIST_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_ConcreteFunctionList TF_ConcreteFunctionList;

TF_CAPI_EXPORT extern size_t TF_ConcreteFunctionListSize(TF_ConcreteFunctionList *list);

// Borrowed from the model. |i| must be less than the size.
TF_CAPI_EXPORT extern TF_ConcreteFunction *TF_ConcreteFunctionListGet(TF_ConcreteFunctionList *list,
                                                                      int i);

TF_CAPI_EXPORT extern void TF_DeleteConcreteFunctionList(TF_ConcreteFunctionList *list);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_LIST_H_

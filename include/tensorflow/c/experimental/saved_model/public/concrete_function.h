// SPDX-License-Identifier: Apache-2.0
// concrete_function.h: one traced tf.function of a SavedModel, ready to be called.
// Borrowed from the TF_SavedModel: gone when the model is deleted.

#ifndef TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_H_
#define TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/experimental/saved_model/public/function_metadata.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_ConcreteFunction TF_ConcreteFunction;

// Borrowed from the function.
TF_CAPI_EXPORT extern TF_FunctionMetadata *TF_ConcreteFunctionGetMetadata(
    TF_ConcreteFunction *func);

// An op with all its inputs set, to pass to TFE_Execute; add no further inputs. The caller deletes
// it. NULL on failure.
TF_CAPI_EXPORT extern TFE_Op *TF_ConcreteFunctionMakeCallOp(TF_ConcreteFunction *func,
                                                            TFE_TensorHandle **inputs,
                                                            int num_inputs, TF_Status *status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EXPERIMENTAL_SAVED_MODEL_PUBLIC_CONCRETE_FUNCTION_H_

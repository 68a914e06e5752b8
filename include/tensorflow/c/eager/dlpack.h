// SPDX-License-Identifier: Apache-2.0
// eager/dlpack.h: share tensors with other frameworks through DLPack, without a copy.
// TensorFlow declares these in C++, inside namespace tensorflow. Here they are C functions, and C++
// finds them under both names. The symbol names therefore differ from TensorFlow's mangled ones.

#ifndef TENSORFLOW_C_EAGER_DLPACK_H_
#define TENSORFLOW_C_EAGER_DLPACK_H_

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// A new DLDevice*. The caller frees it with free(); NULL on failure.
TF_CAPI_EXPORT extern void *TFE_GetDLDevice(TFE_TensorHandle *h, TF_Status *status);

// A DLManagedTensor* that shares the memory of |h| and keeps it alive. The receiver calls its
// deleter, for instance through TFE_CallDLManagedTensorDeleter.
TF_CAPI_EXPORT extern void *TFE_HandleToDLPack(TFE_TensorHandle *h, TF_Status *status);

// Takes |dlm|, a DLManagedTensor*: its deleter runs when the handle's memory is no longer needed.
// On failure |dlm| stays the caller's.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_HandleFromDLPack(void *dlm, TF_Status *status,
                                                             TFE_Context *ctx);

// For the destructor of a capsule that nobody consumed.
TF_CAPI_EXPORT extern void TFE_CallDLManagedTensorDeleter(void *dlm_ptr);

#ifdef __cplusplus
}  // extern "C"
#endif

// The name that a Python capsule around a DLManagedTensor must have.
#ifdef __cplusplus
namespace tensorflow {
inline constexpr const char *kDlTensorCapsuleName = "dltensor";
using ::TFE_CallDLManagedTensorDeleter;
using ::TFE_GetDLDevice;
using ::TFE_HandleFromDLPack;
using ::TFE_HandleToDLPack;
}  // namespace tensorflow
#else
#define kDlTensorCapsuleName "dltensor"
#endif

#endif  // TENSORFLOW_C_EAGER_DLPACK_H_

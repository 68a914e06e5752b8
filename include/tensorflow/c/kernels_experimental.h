// SPDX-License-Identifier: Apache-2.0
// kernels_experimental.h: variables, locks and variants for kernels in plugins (kernels.h).
// The callbacks get new references to the tensors they are passed and must delete them.

#ifndef TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_
#define TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_VariableInputLockHolder TF_VariableInputLockHolder;

// Input |value_index| becomes the value of the variable at |input_index|. With |validate_shape|, an
// initialised variable of another shape is an error.
TF_CAPI_EXPORT extern void TF_AssignVariable(TF_OpKernelContext *ctx, int input_index,
                                             int value_index, bool validate_shape,
                                             void (*copyFunc)(TF_OpKernelContext *ctx,
                                                              TF_Tensor *source, TF_Tensor *dest),
                                             TF_Status *status);

// The same for the reference variables of TensorFlow 1; the reference is passed to the output.
TF_CAPI_EXPORT extern void TF_AssignRefVariable(
    TF_OpKernelContext *ctx, int input_ref_index, int output_ref_index, int value_index,
    bool use_locking, bool validate_shape,
    void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
    TF_Status *status);

// variable = variable |Op| value, where |updateFunc| computes and |Op| is handed through.
TF_CAPI_EXPORT extern void TF_AssignUpdateVariable(
    TF_OpKernelContext *ctx, int input_index, int value_index, int Op, int isVariantType,
    void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
    void (*updateFunc)(TF_OpKernelContext *ctx, TF_Tensor *tensor, TF_Tensor *value, int Op),
    TF_Status *status);

// A variable for part of one step, under a unique |var_name|. Must be destroyed by name.
TF_CAPI_EXPORT extern void TF_TemporaryVariable(
    TF_OpKernelContext *ctx, TF_DataType dtype, const int64_t *dims, int num_dims,
    TF_StringView *var_name,
    void (*plugin_allocator)(TF_OpKernelContext *, TF_Tensor *, TF_DataType, const int64_t *, int,
                             TF_Status *),
    TF_Status *tf_status);
TF_CAPI_EXPORT extern void TF_DestroyTemporaryVariable(TF_OpKernelContext *ctx, const int index,
                                                       TF_StringView *var_name,
                                                       TF_Status *tf_status);

// Locks the variables among |inputs| in one global order, so that two kernels cannot deadlock. The
// caller passes |*lockHolder| to Release when the update is done.
TF_CAPI_EXPORT extern void TF_MaybeLockVariableInputMutexesInOrder(
    TF_OpKernelContext *ctx, bool do_lock, bool sparse, const int *const inputs, size_t len,
    void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
    TF_VariableInputLockHolder **lockHolder, TF_Status *status);
TF_CAPI_EXPORT extern void TF_ReleaseVariableInputLockHolder(
    TF_VariableInputLockHolder *lockHolder);

// The variable's tensor; the caller deletes |*out|.
TF_CAPI_EXPORT extern void TF_GetInputTensorFromVariable(
    TF_OpKernelContext *ctx, int input, bool lock_held, bool isVariantType, bool sparse,
    void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest), TF_Tensor **out,
    TF_Status *status);

TF_CAPI_EXPORT extern void TF_OpKernelContext_ForwardRefInputToRefOutput(TF_OpKernelContext *ctx,
                                                                         int32_t input_index,
                                                                         int32_t output_index);

// The caller deletes |*tensor|.
TF_CAPI_EXPORT extern void TF_GetInputByName(TF_OpKernelContext *ctx, const char *inputName,
                                             TF_Tensor **tensor, TF_Status *status);

// |num_dims| should be the total_size of TF_OpKernelConstruction_GetAttrSize.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrTensorShape(TF_OpKernelConstruction *ctx,
                                                                      const char *attr_name,
                                                                      int64_t *dims,
                                                                      size_t num_dims,
                                                                      TF_Status *status);

TF_CAPI_EXPORT extern bool TF_IsRefInput(TF_OpKernelContext *ctx, int i, TF_Status *status);

// AddN and ZerosLike on variants; the callback works on the tensors inside.
TF_CAPI_EXPORT extern void TF_AddNVariant(TF_OpKernelContext *ctx,
                                          void (*binary_add_func)(TF_OpKernelContext *ctx,
                                                                  TF_Tensor *a, TF_Tensor *b,
                                                                  TF_Tensor *out),
                                          TF_Status *status);
TF_CAPI_EXPORT extern void TF_ZerosLikeVariant(TF_OpKernelContext *ctx,
                                               void (*zeros_like_func)(TF_OpKernelContext *ctx,
                                                                       TF_Tensor *input,
                                                                       TF_Tensor *out),
                                               TF_Status *status);

typedef struct TF_CoordinationServiceAgent TF_CoordinationServiceAgent;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_KERNELS_EXPERIMENTAL_H_

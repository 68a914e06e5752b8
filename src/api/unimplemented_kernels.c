// SPDX-License-Identifier: Apache-2.0
// unimplemented_kernels.c: fall-backs for kernels in plugins.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/kernels_experimental.h"

// Inside macro arguments clang-format reads a pointer as a product.
// clang-format off

// tensorflow/c/kernels.h
// TF_InitKernel is not here: plugins define it, and finding ours instead would hide a mistake.
NOTHING(TF_RunAsyncOpKernelDoneCallback, (TF_AsyncOpKernelDoneCallback *done))
ZERO(TF_KernelBuilder *, TF_NewKernelBuilder,
     (const char *op_name, const char *device_name, void *(*create_func)(TF_OpKernelConstruction *),
      void (*compute_func)(void *, TF_OpKernelContext *), void (*delete_func)(void *)))
ZERO(TF_KernelBuilder *, TF_NewAsyncKernelBuilder,
     (const char *op_name, const char *device_name, void *(*create_func)(TF_OpKernelConstruction *),
      void (*compute_async_func)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *done),
      void (*delete_func)(void *)))
FAIL_VOID(TF_KernelBuilder_TypeConstraint,
          (TF_KernelBuilder *kernel_builder, const char *attr_name, TF_DataType type,
           TF_Status *status))
NOTHING(TF_KernelBuilder_HostMemory, (TF_KernelBuilder *kernel_builder, const char *arg_name))
NOTHING(TF_KernelBuilder_Priority, (TF_KernelBuilder *kernel_builder, int32_t priority_number))
NOTHING(TF_KernelBuilder_Label, (TF_KernelBuilder *kernel_builder, const char *label))
FAIL_VOID(TF_RegisterKernelBuilder,
          (const char *kernel_name, TF_KernelBuilder *builder, TF_Status *status))
FAIL_VOID(TF_RegisterKernelBuilderWithKernelDef,
          (const char *serialized_kernel_def, const char *name, TF_KernelBuilder *builder,
           TF_Status *status))
NOTHING(TF_DeleteKernelBuilder, (TF_KernelBuilder *builder))
FAIL(SP_Stream, TF_GetStream, (TF_OpKernelContext *ctx, TF_Status *status))
ZERO(int, TF_NumInputs, (TF_OpKernelContext *ctx))
ZERO(int, TF_NumOutputs, (TF_OpKernelContext *ctx))
FAIL_VOID(TF_GetInput, (TF_OpKernelContext *ctx, int i, TF_Tensor **tensor, TF_Status *status))
NOTHING(TF_InputRange, (TF_OpKernelContext *ctx, const char *name, TF_InputRange_Args *args))
ZERO(TF_DataType, TF_InputDatatype, (TF_OpKernelContext *ctx, int index))
FAIL_VOID(TF_SetOutput,
          (TF_OpKernelContext *ctx, int i, const TF_Tensor *tensor, TF_Status *status))
FAIL(TF_Tensor *, TF_GetMutableOutput, (TF_OpKernelContext *ctx, int i, TF_Status *status))
FAIL_VOID(TF_GetSerializedFunctionDefLibrary,
          (TF_OpKernelContext *ctx, TF_Buffer *serialized_function_def_library, TF_Status *status))
FAIL_VOID(TF_GetSerializedConfigProto,
          (TF_OpKernelContext *ctx, TF_Buffer *serialized_config_proto, TF_Status *status))
FAIL_VOID(TF_GetSerializedResourceHandleProto,
          (TF_OpKernelContext *ctx, int i, TF_Buffer *serialized_resource_handle_proto,
           TF_Status *status))
NOTHING(TF_OpKernelConstruction_Failure, (TF_OpKernelConstruction *ctx, TF_Status *status))
NOTHING(TF_OpKernelContext_Failure, (TF_OpKernelContext *ctx, TF_Status *status))
ZERO(TF_DataType, TF_ExpectedOutputDataType, (TF_OpKernelContext *ctx, int i))
FAIL(bool, TF_IsHostMemoryInput, (TF_OpKernelContext *ctx, int i, TF_Status *status))
FAIL(bool, TF_IsHostMemoryOutput, (TF_OpKernelContext *ctx, int i, TF_Status *status))
ZERO(int64_t, TF_StepId, (TF_OpKernelContext *ctx))
FAIL(TF_Buffer *, TF_OpKernelConstruction_GetNodeDef,
     (TF_OpKernelConstruction *ctx, TF_Status *status))
ZERO(uint64_t, TF_GetFrameId, (TF_OpKernelContext *ctx))
ZERO(int64_t, TF_GetIterId, (TF_OpKernelContext *ctx))
ZERO(int64_t, TF_GetStepId, (TF_OpKernelContext *ctx))
ZERO(int, TF_GetDeviceId, (TF_OpKernelContext *ctx))
ZERO(TF_StringView, TF_GetDeviceName, (TF_OpKernelContext *ctx))
ZERO(TF_RendezvousThunk, TF_GetRendezvous, (TF_OpKernelContext *ctx))
ZERO(int, TF_GetGraphDefVersion, (TF_OpKernelContext *ctx))
ZERO(TF_StringView, TF_GetOpKernelName, (TF_OpKernelContext *ctx))
ZERO(TF_StringView, TF_GetResourceMgrDefaultContainerName, (TF_OpKernelContext *ctx))
ZERO(TF_StringView, TF_GetOpKernelRequestedInput, (TF_OpKernelContext *ctx, size_t index))
FAIL_VOID(TF_OpKernelConstruction_GetAttrSize,
          (TF_OpKernelConstruction *ctx, const char *attr_name, int32_t *list_size,
           int32_t *total_size, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrType,
          (TF_OpKernelConstruction *ctx, const char *attr_name, TF_DataType *val,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrInt32,
          (TF_OpKernelConstruction *ctx, const char *attr_name, int32_t *val, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrInt64,
          (TF_OpKernelConstruction *ctx, const char *attr_name, int64_t *val, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrFloat,
          (TF_OpKernelConstruction *ctx, const char *attr_name, float *val, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrBool,
          (TF_OpKernelConstruction *ctx, const char *attr_name, TF_Bool *val, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrString,
          (TF_OpKernelConstruction *ctx, const char *attr_name, char *val, size_t max_length,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrTensor,
          (TF_OpKernelConstruction *ctx, const char *attr_name, TF_Tensor **val, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrTypeList,
          (TF_OpKernelConstruction *ctx, const char *attr_name, TF_DataType *vals, int max_vals,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrInt32List,
          (TF_OpKernelConstruction *ctx, const char *attr_name, int32_t *vals, int max_vals,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrInt64List,
          (TF_OpKernelConstruction *ctx, const char *attr_name, int64_t *vals, int max_vals,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrFloatList,
          (TF_OpKernelConstruction *ctx, const char *attr_name, float *vals, int max_vals,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrBoolList,
          (TF_OpKernelConstruction *ctx, const char *attr_name, TF_Bool *vals, int max_vals,
           TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrStringList,
          (TF_OpKernelConstruction *ctx, const char *attr_name, char **values, size_t *lengths,
           int max_values, void *storage, size_t storage_size, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrTensorList,
          (TF_OpKernelConstruction *ctx, const char *attr_name, TF_Tensor **vals, int max_values,
           TF_Status *status))
FAIL(TF_Buffer *, TF_OpKernelConstruction_GetAttrFunction,
     (TF_OpKernelConstruction *ctx, const char *attr_name, TF_Status *status))
FAIL(bool, TF_OpKernelConstruction_HasAttr,
     (TF_OpKernelConstruction *ctx, const char *attr_name, TF_Status *status))
ZERO(TF_StringView, TF_OpKernelConstruction_GetName, (TF_OpKernelConstruction *ctx))
FAIL(TF_Tensor *, TF_AllocateOutput,
     (TF_OpKernelContext *context, int index, TF_DataType dtype, const int64_t *dims, int num_dims,
      size_t len, TF_Status *status))
FAIL(TF_Tensor *, TF_ForwardInputOrAllocateOutput,
     (TF_OpKernelContext *context, const int *candidate_input_indices,
      int num_candidate_input_indices, int output_index, const int64_t *output_dims,
      int output_num_dims, int *forwarded_input, TF_Status *status))
FAIL(TF_Tensor *, TF_AllocateTemp,
     (TF_OpKernelContext *context, TF_DataType dtype, const int64_t *dims, int num_dims,
      TF_AllocatorAttributes *alloc_attrs, TF_Status *status))
NOTHING(TF_IncNumDeferredOps, (TF_OpKernelContext *context))
NOTHING(TF_DecNumDeferredOps, (TF_OpKernelContext *context))

// tensorflow/c/kernels_experimental.h
FAIL_VOID(TF_AssignVariable,
          (TF_OpKernelContext *ctx, int input_index, int value_index, bool validate_shape,
           void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
           TF_Status *status))
FAIL_VOID(TF_AssignRefVariable,
          (TF_OpKernelContext *ctx, int input_ref_index, int output_ref_index, int value_index,
           bool use_locking, bool validate_shape,
           void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
           TF_Status *status))
FAIL_VOID(TF_AssignUpdateVariable,
          (TF_OpKernelContext *ctx, int input_index, int value_index, int Op, int isVariantType,
           void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
           void (*updateFunc)(TF_OpKernelContext *ctx, TF_Tensor *tensor, TF_Tensor *value, int Op),
           TF_Status *status))
FAIL_VOID(TF_TemporaryVariable,
          (TF_OpKernelContext *ctx, TF_DataType dtype, const int64_t *dims, int num_dims,
           TF_StringView *var_name, void (*plugin_allocator)(TF_OpKernelContext *, TF_Tensor *,
           TF_DataType, const int64_t *, int, TF_Status *), TF_Status *status))
FAIL_VOID(TF_DestroyTemporaryVariable,
          (TF_OpKernelContext *ctx, const int index, TF_StringView *var_name, TF_Status *status))
FAIL_VOID(TF_MaybeLockVariableInputMutexesInOrder,
          (TF_OpKernelContext *ctx, bool do_lock, bool sparse, const int *const inputs, size_t len,
           void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
           TF_VariableInputLockHolder **lockHolder, TF_Status *status))
FAIL_VOID(TF_GetInputTensorFromVariable,
          (TF_OpKernelContext *ctx, int input, bool lock_held, bool isVariantType, bool sparse,
           void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
           TF_Tensor **out, TF_Status *status))
NOTHING(TF_OpKernelContext_ForwardRefInputToRefOutput,
        (TF_OpKernelContext *ctx, int32_t input_index, int32_t output_index))
NOTHING(TF_ReleaseVariableInputLockHolder, (TF_VariableInputLockHolder *lockHolder))
FAIL_VOID(TF_GetInputByName,
          (TF_OpKernelContext *ctx, const char *inputName, TF_Tensor **tensor, TF_Status *status))
FAIL_VOID(TF_OpKernelConstruction_GetAttrTensorShape,
          (TF_OpKernelConstruction *ctx, const char *attr_name, int64_t *dims, size_t num_dims,
           TF_Status *status))
FAIL(bool, TF_IsRefInput, (TF_OpKernelContext *ctx, int i, TF_Status *status))
FAIL_VOID(TF_AddNVariant,
          (
    TF_OpKernelContext *ctx,
    void (*binary_add_func)(TF_OpKernelContext *ctx, TF_Tensor *a, TF_Tensor *b, TF_Tensor *out),
    TF_Status *status))
FAIL_VOID(TF_ZerosLikeVariant,
          (TF_OpKernelContext *ctx,
           void (*zeros_like_func)(TF_OpKernelContext *ctx, TF_Tensor *input, TF_Tensor *out),
           TF_Status *status))

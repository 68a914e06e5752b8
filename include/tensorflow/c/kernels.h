// SPDX-License-Identifier: Apache-2.0
// kernels.h: add kernels from outside the library.
// A plugin describes a kernel in a builder and registers it. The library then calls, per node,
// create once, compute for each step and delete at the end; what create returns is passed to the
// others. Compute may run on many threads at once. A context is valid only during the call it is
// passed to (for an async kernel, until its done callback has run).

#ifndef TENSORFLOW_C_KERNELS_H_
#define TENSORFLOW_C_KERNELS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/c/tf_rendezvous_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;

// A stream of a plugin device; all else about it is in the StreamExecutor C API.
typedef struct SP_Stream_st *SP_Stream;

// Ends an async kernel's step. Exactly once; the context is gone afterwards.
TF_CAPI_EXPORT extern void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback *done);

// Written by the plugin, not by the library: called after loading, to register all kernels.
void TF_InitKernel(void);

// ---- Registration ---------------------------------------------------------------------------

// Any of the functions but compute may be NULL. Names are copied. The builder goes to Register, or
// else to Delete.
TF_CAPI_EXPORT extern TF_KernelBuilder *TF_NewKernelBuilder(
    const char *op_name, const char *device_name, void *(*create_func)(TF_OpKernelConstruction *),
    void (*compute_func)(void *, TF_OpKernelContext *), void (*delete_func)(void *));

// Compute may return early and call |done| later, from any thread.
TF_CAPI_EXPORT extern TF_KernelBuilder *TF_NewAsyncKernelBuilder(
    const char *op_name, const char *device_name, void *(*create_func)(TF_OpKernelConstruction *),
    void (*compute_async_func)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *done),
    void (*delete_func)(void *));

// Allows |type| for a type attribute; several calls widen the choice.
TF_CAPI_EXPORT extern void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder *kernel_builder,
                                                           const char *attr_name, TF_DataType type,
                                                           TF_Status *status);

// Keeps the named input or output in host memory.
TF_CAPI_EXPORT extern void TF_KernelBuilder_HostMemory(TF_KernelBuilder *kernel_builder,
                                                       const char *arg_name);

// Among kernels that fit, the highest number wins.
TF_CAPI_EXPORT extern void TF_KernelBuilder_Priority(TF_KernelBuilder *kernel_builder,
                                                     int32_t priority_number);

// Only nodes whose "_kernel" attribute is this label get the kernel.
TF_CAPI_EXPORT extern void TF_KernelBuilder_Label(TF_KernelBuilder *kernel_builder,
                                                  const char *label);

// Takes the builder, also on failure. The second form uses a serialized KernelDef, if not NULL, in
// place of what the builder says.
TF_CAPI_EXPORT extern void TF_RegisterKernelBuilder(const char *kernel_name,
                                                    TF_KernelBuilder *builder, TF_Status *status);
TF_CAPI_EXPORT extern void TF_RegisterKernelBuilderWithKernelDef(const char *serialized_kernel_def,
                                                                 const char *name,
                                                                 TF_KernelBuilder *builder,
                                                                 TF_Status *status);

// Only for builders that were never registered.
TF_CAPI_EXPORT extern void TF_DeleteKernelBuilder(TF_KernelBuilder *builder);

// ---- During compute -------------------------------------------------------------------------

// NULL and an error unless the device came with the StreamExecutor C API.
TF_CAPI_EXPORT extern SP_Stream TF_GetStream(TF_OpKernelContext *ctx, TF_Status *status);

TF_CAPI_EXPORT extern int TF_NumInputs(TF_OpKernelContext *ctx);
TF_CAPI_EXPORT extern int TF_NumOutputs(TF_OpKernelContext *ctx);

// The caller deletes |*tensor|, which is written on success only. OUT_OF_RANGE for a bad |i|.
TF_CAPI_EXPORT extern void TF_GetInput(TF_OpKernelContext *ctx, int i, TF_Tensor **tensor,
                                       TF_Status *status);

typedef struct {
  size_t struct_size;
  void *priv;
  int start;          // set by the call
  int stop;           // set by the call; one past the last
  TF_Status *status;  // the caller's; set by the call
} TF_InputRange_Args;
#define TF_InputRange_Args_STRUCT_SIZE TF_OFFSET_OF_END(TF_InputRange_Args, status)

// The positions of a declared input. Failure is reported in |args->status|.
TF_CAPI_EXPORT extern void TF_InputRange(TF_OpKernelContext *ctx, const char *name,
                                         TF_InputRange_Args *args);

// |index| must be in range.
TF_CAPI_EXPORT extern TF_DataType TF_InputDatatype(TF_OpKernelContext *ctx, int index);

// The context takes its own reference. OUT_OF_RANGE for a bad |i|.
TF_CAPI_EXPORT extern void TF_SetOutput(TF_OpKernelContext *ctx, int i, const TF_Tensor *tensor,
                                        TF_Status *status);

// A new reference to output |i|, which must have been set; the caller deletes it.
TF_CAPI_EXPORT extern TF_Tensor *TF_GetMutableOutput(TF_OpKernelContext *ctx, int i,
                                                     TF_Status *status);

// Serialized protos, into an empty buffer.
TF_CAPI_EXPORT extern void TF_GetSerializedFunctionDefLibrary(
    TF_OpKernelContext *ctx, TF_Buffer *serialized_function_def_library, TF_Status *status);
TF_CAPI_EXPORT extern void TF_GetSerializedConfigProto(TF_OpKernelContext *ctx,
                                                       TF_Buffer *serialized_config_proto,
                                                       TF_Status *status);
TF_CAPI_EXPORT extern void TF_GetSerializedResourceHandleProto(
    TF_OpKernelContext *ctx, int i, TF_Buffer *serialized_resource_handle_proto, TF_Status *status);

// Make the node fail with |status|, which is read, not written.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction *ctx,
                                                           TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelContext_Failure(TF_OpKernelContext *ctx, TF_Status *status);

// |i| must be in range.
TF_CAPI_EXPORT extern TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext *ctx, int i);
TF_CAPI_EXPORT extern bool TF_IsHostMemoryInput(TF_OpKernelContext *ctx, int i, TF_Status *status);
TF_CAPI_EXPORT extern bool TF_IsHostMemoryOutput(TF_OpKernelContext *ctx, int i, TF_Status *status);

// Two names for the number of the running step.
TF_CAPI_EXPORT extern int64_t TF_StepId(TF_OpKernelContext *ctx);
TF_CAPI_EXPORT extern int64_t TF_GetStepId(TF_OpKernelContext *ctx);

// Place within a loop.
TF_CAPI_EXPORT extern uint64_t TF_GetFrameId(TF_OpKernelContext *ctx);
TF_CAPI_EXPORT extern int64_t TF_GetIterId(TF_OpKernelContext *ctx);

TF_CAPI_EXPORT extern int TF_GetDeviceId(TF_OpKernelContext *ctx);

// Borrowed; lives as long as the kernel.
TF_CAPI_EXPORT extern TF_StringView TF_GetDeviceName(TF_OpKernelContext *ctx);

// How this step passes tensors between devices.
TF_CAPI_EXPORT extern TF_RendezvousThunk TF_GetRendezvous(TF_OpKernelContext *ctx);

TF_CAPI_EXPORT extern int TF_GetGraphDefVersion(TF_OpKernelContext *ctx);

// Borrowed; live as long as the kernel.
TF_CAPI_EXPORT extern TF_StringView TF_GetOpKernelName(TF_OpKernelContext *ctx);
TF_CAPI_EXPORT extern TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext *ctx);
TF_CAPI_EXPORT extern TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext *ctx,
                                                                 size_t index);

// ---- During create: the node's attributes ---------------------------------------------------
// Values are copied out. A missing attribute, or one of another kind, is an error in |status|.

// A serialized NodeDef. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction *ctx,
                                                                    TF_Status *status);

// |*list_size| is -1 if the attribute is no list. |*total_size|: bytes of strings, dimensions of
// shapes, -1 for unknown rank; meaningless for other kinds.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction *ctx,
                                                               const char *attr_name,
                                                               int32_t *list_size,
                                                               int32_t *total_size,
                                                               TF_Status *status);

TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction *ctx,
                                                               const char *attr_name,
                                                               TF_DataType *val, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrInt32(TF_OpKernelConstruction *ctx,
                                                                const char *attr_name, int32_t *val,
                                                                TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction *ctx,
                                                                const char *attr_name, int64_t *val,
                                                                TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrFloat(TF_OpKernelConstruction *ctx,
                                                                const char *attr_name, float *val,
                                                                TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrBool(TF_OpKernelConstruction *ctx,
                                                               const char *attr_name, TF_Bool *val,
                                                               TF_Status *status);

// At most |max_length| bytes, no zero byte added.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction *ctx,
                                                                 const char *attr_name, char *val,
                                                                 size_t max_length,
                                                                 TF_Status *status);

// A new tensor, which the caller deletes.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction *ctx,
                                                                 const char *attr_name,
                                                                 TF_Tensor **val,
                                                                 TF_Status *status);

// At most the given number of values.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrTypeList(TF_OpKernelConstruction *ctx,
                                                                   const char *attr_name,
                                                                   TF_DataType *vals, int max_vals,
                                                                   TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction *ctx,
                                                                    const char *attr_name,
                                                                    int32_t *vals, int max_vals,
                                                                    TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction *ctx,
                                                                    const char *attr_name,
                                                                    int64_t *vals, int max_vals,
                                                                    TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrFloatList(TF_OpKernelConstruction *ctx,
                                                                    const char *attr_name,
                                                                    float *vals, int max_vals,
                                                                    TF_Status *status);
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrBoolList(TF_OpKernelConstruction *ctx,
                                                                   const char *attr_name,
                                                                   TF_Bool *vals, int max_vals,
                                                                   TF_Status *status);

// |values| point into |storage|.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrStringList(
    TF_OpKernelConstruction *ctx, const char *attr_name, char **values, size_t *lengths,
    int max_values, void *storage, size_t storage_size, TF_Status *status);

// The caller deletes each tensor.
TF_CAPI_EXPORT extern void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction *ctx,
                                                                     const char *attr_name,
                                                                     TF_Tensor **vals,
                                                                     int max_values,
                                                                     TF_Status *status);

// A serialized NameAttrList. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_OpKernelConstruction_GetAttrFunction(
    TF_OpKernelConstruction *ctx, const char *attr_name, TF_Status *status);

TF_CAPI_EXPORT extern bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction *ctx,
                                                           const char *attr_name,
                                                           TF_Status *status);

// Borrowed; the node's name.
TF_CAPI_EXPORT extern TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction *ctx);

// ---- Memory ---------------------------------------------------------------------------------

// Allocates output |index|. The caller deletes its reference; the context keeps another.
TF_CAPI_EXPORT extern TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *context, int index,
                                                   TF_DataType dtype, const int64_t *dims,
                                                   int num_dims, size_t len, TF_Status *status);

// Reuses the buffer of a candidate input that nobody else needs and that fits, else allocates.
// |*forwarded_input|, if not NULL, is the input reused, or -1. The caller deletes its reference.
TF_CAPI_EXPORT extern TF_Tensor *TF_ForwardInputOrAllocateOutput(
    TF_OpKernelContext *context, const int *candidate_input_indices,
    int num_candidate_input_indices, int output_index, const int64_t *output_dims,
    int output_num_dims, int *forwarded_input, TF_Status *status);

// Scratch memory for this call. The caller deletes the tensor.
TF_CAPI_EXPORT extern TF_Tensor *TF_AllocateTemp(TF_OpKernelContext *context, TF_DataType dtype,
                                                 const int64_t *dims, int num_dims,
                                                 TF_AllocatorAttributes *alloc_attrs,
                                                 TF_Status *status);

// In pairs, around work that outlives compute on a device: the step waits for the count to be zero.
TF_CAPI_EXPORT extern void TF_IncNumDeferredOps(TF_OpKernelContext *context);
TF_CAPI_EXPORT extern void TF_DecNumDeferredOps(TF_OpKernelContext *context);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_KERNELS_H_

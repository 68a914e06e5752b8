// SPDX-License-Identifier: Apache-2.0
// eager/c_api.h: run operations one at a time, without building a graph.
// A context holds devices and functions; a tensor handle is one reference to a value, perhaps still
// being computed; an op is a call being put together. Contexts and handles may be shared by
// threads; an op belongs to one. Everything made from a context must be deleted before it. The
// rules on strings, errors and NULL are those of c_api.h.

#ifndef TENSORFLOW_C_EAGER_C_API_H_
#define TENSORFLOW_C_EAGER_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Contexts -------------------------------------------------------------------------------

typedef struct TFE_ContextOptions TFE_ContextOptions;

TF_CAPI_EXPORT extern TFE_ContextOptions *TFE_NewContextOptions(void);

// A serialized ConfigProto. INVALID_ARGUMENT if it cannot be parsed.
TF_CAPI_EXPORT extern void TFE_ContextOptionsSetConfig(TFE_ContextOptions *options,
                                                       const void *proto, size_t proto_len,
                                                       TF_Status *status);

// What to do with an input that lies on another device than the op.
typedef enum TFE_ContextDevicePlacementPolicy {
  TFE_DEVICE_PLACEMENT_EXPLICIT = 0,          // fail
  TFE_DEVICE_PLACEMENT_WARN = 1,              // copy and log
  TFE_DEVICE_PLACEMENT_SILENT = 2,            // copy
  TFE_DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3,  // copy int32, fail for the rest
} TFE_ContextDevicePlacementPolicy;

// Whether TFE_Execute may return before the op has run.
TF_CAPI_EXPORT extern void TFE_ContextOptionsSetAsync(TFE_ContextOptions *options,
                                                      unsigned char enable);

TF_CAPI_EXPORT extern void TFE_ContextOptionsSetDevicePlacementPolicy(
    TFE_ContextOptions *options, TFE_ContextDevicePlacementPolicy policy);
TF_CAPI_EXPORT extern void TFE_DeleteContextOptions(TFE_ContextOptions *options);

typedef struct TFE_Context TFE_Context;

// |opts| is copied.
TF_CAPI_EXPORT extern TFE_Context *TFE_NewContext(const TFE_ContextOptions *opts,
                                                  TF_Status *status);
TF_CAPI_EXPORT extern void TFE_DeleteContext(TFE_Context *ctx);

// The caller deletes the list.
TF_CAPI_EXPORT extern TF_DeviceList *TFE_ContextListDevices(TFE_Context *ctx, TF_Status *status);

// Forgets prepared kernels; correctness does not depend on it.
TF_CAPI_EXPORT extern void TFE_ContextClearCaches(TFE_Context *ctx);

// For the calling thread only.
TF_CAPI_EXPORT extern void TFE_ContextSetThreadLocalDevicePlacementPolicy(
    TFE_Context *ctx, TFE_ContextDevicePlacementPolicy policy);
TF_CAPI_EXPORT extern TFE_ContextDevicePlacementPolicy TFE_ContextGetDevicePlacementPolicy(
    TFE_Context *ctx);

// Joins a cluster: |proto| is a serialized ServerDef. Handles made before are no longer valid.
TF_CAPI_EXPORT extern void TFE_ContextSetServerDef(TFE_Context *ctx, int keep_alive_secs,
                                                   const void *proto, size_t proto_len,
                                                   TF_Status *status);

// ---- Tensor handles -------------------------------------------------------------------------

typedef struct TFE_TensorHandle TFE_TensorHandle;

// Shares the buffer of |t|: do not write to it afterwards.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewTensorHandle(const TF_Tensor *t, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_DeleteTensorHandle(TFE_TensorHandle *h);

// Known at once, also for a value still being computed.
TF_CAPI_EXPORT extern TF_DataType TFE_TensorHandleDataType(TFE_TensorHandle *h);

// These wait for the value and report why it could not be computed. -1 on failure.
TF_CAPI_EXPORT extern int TFE_TensorHandleNumDims(TFE_TensorHandle *h, TF_Status *status);
TF_CAPI_EXPORT extern int64_t TFE_TensorHandleNumElements(TFE_TensorHandle *h, TF_Status *status);
TF_CAPI_EXPORT extern int64_t TFE_TensorHandleDim(TFE_TensorHandle *h, int dim_index,
                                                  TF_Status *status);

// The device of the op that made the value, and the device whose memory holds it. Borrowed.
TF_CAPI_EXPORT extern const char *TFE_TensorHandleDeviceName(TFE_TensorHandle *h,
                                                             TF_Status *status);
TF_CAPI_EXPORT extern const char *TFE_TensorHandleBackingDeviceName(TFE_TensorHandle *h,
                                                                    TF_Status *status);

// Another reference to the same value.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_TensorHandleCopySharingTensor(TFE_TensorHandle *h,
                                                                          TF_Status *status);

// Waits, and copies to the host if need be. The tensor may share memory with the handle: treat it
// as read-only. The caller deletes it.
TF_CAPI_EXPORT extern TF_Tensor *TFE_TensorHandleResolve(TFE_TensorHandle *h, TF_Status *status);

// A new handle; shares memory when the value is there already.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_TensorHandleCopyToDevice(TFE_TensorHandle *h,
                                                                     TFE_Context *ctx,
                                                                     const char *device_name,
                                                                     TF_Status *status);

// How a device lays the value out, which need not be its logical shape. The caller deletes it.
typedef struct TFE_TensorDebugInfo TFE_TensorDebugInfo;

TF_CAPI_EXPORT extern TFE_TensorDebugInfo *TFE_TensorHandleTensorDebugInfo(TFE_TensorHandle *h,
                                                                           TF_Status *status);
TF_CAPI_EXPORT extern void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo *debug_info);
TF_CAPI_EXPORT extern int TFE_TensorDebugInfoOnDeviceNumDims(TFE_TensorDebugInfo *debug_info);
TF_CAPI_EXPORT extern int64_t TFE_TensorDebugInfoOnDeviceDim(TFE_TensorDebugInfo *debug_info,
                                                             int dim_index);

// ---- Ops ------------------------------------------------------------------------------------

typedef struct TFE_Op TFE_Op;

// Fails if there is neither an op nor a function of that name. An op may be executed repeatedly.
TF_CAPI_EXPORT extern TFE_Op *TFE_NewOp(TFE_Context *ctx, const char *op_or_function_name,
                                        TF_Status *status);
TF_CAPI_EXPORT extern void TFE_DeleteOp(TFE_Op *op);

// Borrowed from the op.
TF_CAPI_EXPORT extern const char *TFE_OpGetName(const TFE_Op *op, TF_Status *status);
TF_CAPI_EXPORT extern TFE_Context *TFE_OpGetContext(const TFE_Op *op, TF_Status *status);

// "" lets the library choose.
TF_CAPI_EXPORT extern void TFE_OpSetDevice(TFE_Op *op, const char *device_name, TF_Status *status);
TF_CAPI_EXPORT extern const char *TFE_OpGetDevice(const TFE_Op *op, TF_Status *status);

// In the declared order. The op takes its own references. Attributes implied by the inputs, such as
// types and list lengths, are filled in; a list must be added with the second form for that.
TF_CAPI_EXPORT extern void TFE_OpAddInput(TFE_Op *op, TFE_TensorHandle *input, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_OpAddInputList(TFE_Op *op, TFE_TensorHandle **inputs, int num_inputs,
                                              TF_Status *status);

// Lists flattened. The handle is borrowed from the op.
TF_CAPI_EXPORT extern int TFE_OpGetFlatInputCount(const TFE_Op *op, TF_Status *status);
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_OpGetFlatInput(const TFE_Op *op, int index,
                                                           TF_Status *status);

// |*is_list| is set to 0 or 1.
TF_CAPI_EXPORT extern TF_AttrType TFE_OpGetAttrType(TFE_Op *op, const char *attr_name,
                                                    unsigned char *is_list, TF_Status *status);
TF_CAPI_EXPORT extern TF_AttrType TFE_OpNameGetAttrType(TFE_Context *ctx,
                                                        const char *op_or_function_name,
                                                        const char *attr_name,
                                                        unsigned char *is_list, TF_Status *status);

// Values are copied. Mistakes in those without a status are reported by TFE_Execute.
TF_CAPI_EXPORT extern void TFE_OpSetAttrString(TFE_Op *op, const char *attr_name, const void *value,
                                               size_t length);
TF_CAPI_EXPORT extern void TFE_OpSetAttrInt(TFE_Op *op, const char *attr_name, int64_t value);
TF_CAPI_EXPORT extern void TFE_OpSetAttrFloat(TFE_Op *op, const char *attr_name, float value);
TF_CAPI_EXPORT extern void TFE_OpSetAttrBool(TFE_Op *op, const char *attr_name,
                                             unsigned char value);
TF_CAPI_EXPORT extern void TFE_OpSetAttrType(TFE_Op *op, const char *attr_name, TF_DataType value);

// |num_dims| -1 means unknown rank, a dimension of -1 unknown size.
TF_CAPI_EXPORT extern void TFE_OpSetAttrShape(TFE_Op *op, const char *attr_name,
                                              const int64_t *dims, const int num_dims,
                                              TF_Status *out_status);

// The function that |value| names, with the attributes set on |value|; its inputs do not matter.
TF_CAPI_EXPORT extern void TFE_OpSetAttrFunction(TFE_Op *op, const char *attr_name,
                                                 const TFE_Op *value);
TF_CAPI_EXPORT extern void TFE_OpSetAttrFunctionName(TFE_Op *op, const char *attr_name,
                                                     const char *data, size_t length);

// The tensor stays the caller's.
TF_CAPI_EXPORT extern void TFE_OpSetAttrTensor(TFE_Op *op, const char *attr_name, TF_Tensor *tensor,
                                               TF_Status *status);

TF_CAPI_EXPORT extern void TFE_OpSetAttrStringList(TFE_Op *op, const char *attr_name,
                                                   const void *const *values, const size_t *lengths,
                                                   int num_values);
TF_CAPI_EXPORT extern void TFE_OpSetAttrIntList(TFE_Op *op, const char *attr_name,
                                                const int64_t *values, int num_values);
TF_CAPI_EXPORT extern void TFE_OpSetAttrFloatList(TFE_Op *op, const char *attr_name,
                                                  const float *values, int num_values);
TF_CAPI_EXPORT extern void TFE_OpSetAttrBoolList(TFE_Op *op, const char *attr_name,
                                                 const unsigned char *values, int num_values);
TF_CAPI_EXPORT extern void TFE_OpSetAttrTypeList(TFE_Op *op, const char *attr_name,
                                                 const TF_DataType *values, int num_values);
TF_CAPI_EXPORT extern void TFE_OpSetAttrShapeList(TFE_Op *op, const char *attr_name,
                                                  const int64_t **dims, const int *num_dims,
                                                  int num_values, TF_Status *out_status);
TF_CAPI_EXPORT extern void TFE_OpSetAttrFunctionList(TFE_Op *op, const char *attr_name,
                                                     const TFE_Op **value, int num_values);

// How many tensors a declared input or output stands for, given what is set so far. -1 on failure.
TF_CAPI_EXPORT extern int TFE_OpGetInputLength(TFE_Op *op, const char *input_name,
                                               TF_Status *status);
TF_CAPI_EXPORT extern int TFE_OpGetOutputLength(TFE_Op *op, const char *output_name,
                                                TF_Status *status);

// Runs |op|. |*num_retvals| is the room in |retvals| and becomes the number of results; too little
// room is an error. The caller deletes the handles. In async mode an error may surface only when a
// handle is used.
TF_CAPI_EXPORT extern void TFE_Execute(TFE_Op *op, TFE_TensorHandle **retvals, int *num_retvals,
                                       TF_Status *status);

// ---- Functions and steps --------------------------------------------------------------------

// Adds a function; an equal one of the same name is accepted, a different one is not.
TF_CAPI_EXPORT extern void TFE_ContextAddFunctionDef(TFE_Context *ctx,
                                                     const char *serialized_function_def,
                                                     size_t size, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextAddFunction(TFE_Context *ctx, TF_Function *function,
                                                  TF_Status *status);

TF_CAPI_EXPORT extern void TFE_ContextRemoveFunction(TFE_Context *ctx, const char *name,
                                                     TF_Status *status);
TF_CAPI_EXPORT extern unsigned char TFE_ContextHasFunction(TFE_Context *ctx, const char *name);

// Between enable and disable, timing is collected; Export waits for running ops, serializes a
// RunMetadata into an empty buffer, and starts afresh.
TF_CAPI_EXPORT extern void TFE_ContextEnableRunMetadata(TFE_Context *ctx);
TF_CAPI_EXPORT extern void TFE_ContextDisableRunMetadata(TFE_Context *ctx);
TF_CAPI_EXPORT extern void TFE_ContextExportRunMetadata(TFE_Context *ctx, TF_Buffer *buf,
                                                        TF_Status *status);

// Inside a step, step-local resources such as tensor arrays stay alive. Steps nest.
TF_CAPI_EXPORT extern void TFE_ContextStartStep(TFE_Context *ctx);
TF_CAPI_EXPORT extern void TFE_ContextEndStep(TFE_Context *ctx);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_H_

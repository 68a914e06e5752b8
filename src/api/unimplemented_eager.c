// SPDX-License-Identifier: Apache-2.0
// unimplemented_eager.c: fall-backs for eager execution.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/eager/dlpack.h"

// Inside macro arguments clang-format reads a pointer as a product.
// clang-format off

// tensorflow/c/eager/c_api.h
ZERO(TFE_ContextOptions *, TFE_NewContextOptions, (void))
FAIL_VOID(TFE_ContextOptionsSetConfig,
          (TFE_ContextOptions *options, const void *proto, size_t proto_len, TF_Status *status))
NOTHING(TFE_ContextOptionsSetAsync, (TFE_ContextOptions *options, unsigned char enable))
NOTHING(TFE_ContextOptionsSetDevicePlacementPolicy,
        (TFE_ContextOptions *options, TFE_ContextDevicePlacementPolicy policy))
NOTHING(TFE_DeleteContextOptions, (TFE_ContextOptions *options))
FAIL(TFE_Context *, TFE_NewContext, (const TFE_ContextOptions *opts, TF_Status *status))
NOTHING(TFE_DeleteContext, (TFE_Context *ctx))
FAIL(TF_DeviceList *, TFE_ContextListDevices, (TFE_Context *ctx, TF_Status *status))
NOTHING(TFE_ContextClearCaches, (TFE_Context *ctx))
NOTHING(TFE_ContextSetThreadLocalDevicePlacementPolicy,
        (TFE_Context *ctx, TFE_ContextDevicePlacementPolicy policy))
ZERO(TFE_ContextDevicePlacementPolicy, TFE_ContextGetDevicePlacementPolicy, (TFE_Context *ctx))
FAIL_VOID(TFE_ContextSetServerDef,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_NewTensorHandle, (const TF_Tensor *t, TF_Status *status))
NOTHING(TFE_DeleteTensorHandle, (TFE_TensorHandle *h))
ZERO(TF_DataType, TFE_TensorHandleDataType, (TFE_TensorHandle *h))
FAIL(int, TFE_TensorHandleNumDims, (TFE_TensorHandle *h, TF_Status *status))
FAIL(int64_t, TFE_TensorHandleNumElements, (TFE_TensorHandle *h, TF_Status *status))
FAIL(int64_t, TFE_TensorHandleDim, (TFE_TensorHandle *h, int dim_index, TF_Status *status))
FAIL(const char *, TFE_TensorHandleDeviceName, (TFE_TensorHandle *h, TF_Status *status))
FAIL(const char *, TFE_TensorHandleBackingDeviceName, (TFE_TensorHandle *h, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_TensorHandleCopySharingTensor,
     (TFE_TensorHandle *h, TF_Status *status))
FAIL(TF_Tensor *, TFE_TensorHandleResolve, (TFE_TensorHandle *h, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_TensorHandleCopyToDevice,
     (TFE_TensorHandle *h, TFE_Context *ctx, const char *device_name, TF_Status *status))
FAIL(TFE_TensorDebugInfo *, TFE_TensorHandleTensorDebugInfo,
     (TFE_TensorHandle *h, TF_Status *status))
NOTHING(TFE_DeleteTensorDebugInfo, (TFE_TensorDebugInfo *debug_info))
ZERO(int, TFE_TensorDebugInfoOnDeviceNumDims, (TFE_TensorDebugInfo *debug_info))
ZERO(int64_t, TFE_TensorDebugInfoOnDeviceDim, (TFE_TensorDebugInfo *debug_info, int dim_index))
FAIL(TFE_Op *, TFE_NewOp, (TFE_Context *ctx, const char *op_or_function_name, TF_Status *status))
NOTHING(TFE_DeleteOp, (TFE_Op *op))
FAIL(const char *, TFE_OpGetName, (const TFE_Op *op, TF_Status *status))
FAIL(TFE_Context *, TFE_OpGetContext, (const TFE_Op *op, TF_Status *status))
FAIL_VOID(TFE_OpSetDevice, (TFE_Op *op, const char *device_name, TF_Status *status))
FAIL(const char *, TFE_OpGetDevice, (const TFE_Op *op, TF_Status *status))
FAIL_VOID(TFE_OpAddInput, (TFE_Op *op, TFE_TensorHandle *input, TF_Status *status))
FAIL_VOID(TFE_OpAddInputList,
          (TFE_Op *op, TFE_TensorHandle **inputs, int num_inputs, TF_Status *status))
FAIL(int, TFE_OpGetFlatInputCount, (const TFE_Op *op, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_OpGetFlatInput, (const TFE_Op *op, int index, TF_Status *status))
FAIL(TF_AttrType, TFE_OpGetAttrType,
     (TFE_Op *op, const char *attr_name, unsigned char *is_list, TF_Status *status))
FAIL(TF_AttrType, TFE_OpNameGetAttrType,
     (TFE_Context *ctx, const char *op_or_function_name, const char *attr_name,
      unsigned char *is_list, TF_Status *status))
NOTHING(TFE_OpSetAttrString, (TFE_Op *op, const char *attr_name, const void *value, size_t length))
NOTHING(TFE_OpSetAttrInt, (TFE_Op *op, const char *attr_name, int64_t value))
NOTHING(TFE_OpSetAttrFloat, (TFE_Op *op, const char *attr_name, float value))
NOTHING(TFE_OpSetAttrBool, (TFE_Op *op, const char *attr_name, unsigned char value))
NOTHING(TFE_OpSetAttrType, (TFE_Op *op, const char *attr_name, TF_DataType value))
FAIL_VOID(TFE_OpSetAttrShape,
          (TFE_Op *op, const char *attr_name, const int64_t *dims, const int num_dims,
           TF_Status *status))
NOTHING(TFE_OpSetAttrFunction, (TFE_Op *op, const char *attr_name, const TFE_Op *value))
NOTHING(TFE_OpSetAttrFunctionName,
        (TFE_Op *op, const char *attr_name, const char *data, size_t length))
FAIL_VOID(TFE_OpSetAttrTensor,
          (TFE_Op *op, const char *attr_name, TF_Tensor *tensor, TF_Status *status))
NOTHING(TFE_OpSetAttrStringList,
        (TFE_Op *op, const char *attr_name, const void *const *values, const size_t *lengths,
         int num_values))
NOTHING(TFE_OpSetAttrIntList,
        (TFE_Op *op, const char *attr_name, const int64_t *values, int num_values))
NOTHING(TFE_OpSetAttrFloatList,
        (TFE_Op *op, const char *attr_name, const float *values, int num_values))
NOTHING(TFE_OpSetAttrBoolList,
        (TFE_Op *op, const char *attr_name, const unsigned char *values, int num_values))
NOTHING(TFE_OpSetAttrTypeList,
        (TFE_Op *op, const char *attr_name, const TF_DataType *values, int num_values))
FAIL_VOID(TFE_OpSetAttrShapeList,
          (TFE_Op *op, const char *attr_name, const int64_t **dims, const int *num_dims,
           int num_values, TF_Status *status))
NOTHING(TFE_OpSetAttrFunctionList,
        (TFE_Op *op, const char *attr_name, const TFE_Op **value, int num_values))
FAIL(int, TFE_OpGetInputLength, (TFE_Op *op, const char *input_name, TF_Status *status))
FAIL(int, TFE_OpGetOutputLength, (TFE_Op *op, const char *output_name, TF_Status *status))
FAIL_VOID(TFE_Execute,
          (TFE_Op *op, TFE_TensorHandle **retvals, int *num_retvals, TF_Status *status))
FAIL_VOID(TFE_ContextAddFunctionDef,
          (TFE_Context *ctx, const char *serialized_function_def, size_t size, TF_Status *status))
FAIL_VOID(TFE_ContextAddFunction, (TFE_Context *ctx, TF_Function *function, TF_Status *status))
FAIL_VOID(TFE_ContextRemoveFunction, (TFE_Context *ctx, const char *name, TF_Status *status))
ZERO(unsigned char, TFE_ContextHasFunction, (TFE_Context *ctx, const char *name))
NOTHING(TFE_ContextEnableRunMetadata, (TFE_Context *ctx))
NOTHING(TFE_ContextDisableRunMetadata, (TFE_Context *ctx))
FAIL_VOID(TFE_ContextExportRunMetadata, (TFE_Context *ctx, TF_Buffer *buf, TF_Status *status))
NOTHING(TFE_ContextStartStep, (TFE_Context *ctx))
NOTHING(TFE_ContextEndStep, (TFE_Context *ctx))

// tensorflow/c/eager/c_api_experimental.h
FAIL_VOID(TFE_OpReset,
          (TFE_Op *op_to_reset, const char *op_or_function_name, const char *raw_device_name,
           TF_Status *status))
NOTHING(TFE_ContextEnableGraphCollection, (TFE_Context *ctx))
NOTHING(TFE_ContextDisableGraphCollection, (TFE_Context *ctx))
NOTHING(TFE_MonitoringCounterCellIncrementBy, (TFE_MonitoringCounterCell *cell, int64_t value))
ZERO(int64_t, TFE_MonitoringCounterCellValue, (TFE_MonitoringCounterCell *cell))
FAIL(TFE_MonitoringCounter0 *, TFE_MonitoringNewCounter0,
     (const char *name, TF_Status *status, const char *description))
NOTHING(TFE_MonitoringDeleteCounter0, (TFE_MonitoringCounter0 *counter))
ZERO(TFE_MonitoringCounterCell *, TFE_MonitoringGetCellCounter0, (TFE_MonitoringCounter0 *counter))
FAIL(TFE_MonitoringCounter1 *, TFE_MonitoringNewCounter1,
     (const char *name, TF_Status *status, const char *description, const char *label1))
NOTHING(TFE_MonitoringDeleteCounter1, (TFE_MonitoringCounter1 *counter))
ZERO(TFE_MonitoringCounterCell *, TFE_MonitoringGetCellCounter1,
     (TFE_MonitoringCounter1 *counter, const char *label1))
FAIL(TFE_MonitoringCounter2 *, TFE_MonitoringNewCounter2,
     (const char *name, TF_Status *status, const char *description, const char *label1,
      const char *label2))
NOTHING(TFE_MonitoringDeleteCounter2, (TFE_MonitoringCounter2 *counter))
ZERO(TFE_MonitoringCounterCell *, TFE_MonitoringGetCellCounter2,
     (TFE_MonitoringCounter2 *counter, const char *label1, const char *label2))
NOTHING(TFE_MonitoringIntGaugeCellSet, (TFE_MonitoringIntGaugeCell *cell, int64_t value))
ZERO(int64_t, TFE_MonitoringIntGaugeCellValue, (TFE_MonitoringIntGaugeCell *cell))
FAIL(TFE_MonitoringIntGauge0 *, TFE_MonitoringNewIntGauge0,
     (const char *name, TF_Status *status, const char *description))
NOTHING(TFE_MonitoringDeleteIntGauge0, (TFE_MonitoringIntGauge0 *gauge))
ZERO(TFE_MonitoringIntGaugeCell *, TFE_MonitoringGetCellIntGauge0, (TFE_MonitoringIntGauge0 *gauge))
FAIL(TFE_MonitoringIntGauge1 *, TFE_MonitoringNewIntGauge1,
     (const char *name, TF_Status *status, const char *description, const char *label1))
NOTHING(TFE_MonitoringDeleteIntGauge1, (TFE_MonitoringIntGauge1 *gauge))
ZERO(TFE_MonitoringIntGaugeCell *, TFE_MonitoringGetCellIntGauge1,
     (TFE_MonitoringIntGauge1 *gauge, const char *label1))
FAIL(TFE_MonitoringIntGauge2 *, TFE_MonitoringNewIntGauge2,
     (const char *name, TF_Status *status, const char *description, const char *label1,
      const char *label2))
NOTHING(TFE_MonitoringDeleteIntGauge2, (TFE_MonitoringIntGauge2 *gauge))
ZERO(TFE_MonitoringIntGaugeCell *, TFE_MonitoringGetCellIntGauge2,
     (TFE_MonitoringIntGauge2 *gauge, const char *label1, const char *label2))
NOTHING(TFE_MonitoringStringGaugeCellSet, (TFE_MonitoringStringGaugeCell *cell, const char *value))
NOTHING(TFE_MonitoringStringGaugeCellValue, (TFE_MonitoringStringGaugeCell *cell, TF_Buffer *buf))
FAIL(TFE_MonitoringStringGauge0 *, TFE_MonitoringNewStringGauge0,
     (const char *name, TF_Status *status, const char *description))
NOTHING(TFE_MonitoringDeleteStringGauge0, (TFE_MonitoringStringGauge0 *gauge))
ZERO(TFE_MonitoringStringGaugeCell *, TFE_MonitoringGetCellStringGauge0,
     (TFE_MonitoringStringGauge0 *gauge))
FAIL(TFE_MonitoringStringGauge1 *, TFE_MonitoringNewStringGauge1,
     (const char *name, TF_Status *status, const char *description, const char *label1))
NOTHING(TFE_MonitoringDeleteStringGauge1, (TFE_MonitoringStringGauge1 *gauge))
ZERO(TFE_MonitoringStringGaugeCell *, TFE_MonitoringGetCellStringGauge1,
     (TFE_MonitoringStringGauge1 *gauge, const char *label1))
FAIL(TFE_MonitoringStringGauge2 *, TFE_MonitoringNewStringGauge2,
     (const char *name, TF_Status *status, const char *description, const char *label1,
      const char *label2))
NOTHING(TFE_MonitoringDeleteStringGauge2, (TFE_MonitoringStringGauge2 *gauge))
ZERO(TFE_MonitoringStringGaugeCell *, TFE_MonitoringGetCellStringGauge2,
     (TFE_MonitoringStringGauge2 *gauge, const char *label1, const char *label2))
FAIL(TFE_MonitoringStringGauge3 *, TFE_MonitoringNewStringGauge3,
     (const char *name, TF_Status *status, const char *description, const char *label1,
      const char *label2, const char *label3))
NOTHING(TFE_MonitoringDeleteStringGauge3, (TFE_MonitoringStringGauge3 *gauge))
ZERO(TFE_MonitoringStringGaugeCell *, TFE_MonitoringGetCellStringGauge3,
     (TFE_MonitoringStringGauge3 *gauge, const char *label1, const char *label2,
      const char *label3))
FAIL(TFE_MonitoringStringGauge4 *, TFE_MonitoringNewStringGauge4,
     (const char *name, TF_Status *status, const char *description, const char *label1,
      const char *label2, const char *label3, const char *label4))
NOTHING(TFE_MonitoringDeleteStringGauge4, (TFE_MonitoringStringGauge4 *gauge))
ZERO(TFE_MonitoringStringGaugeCell *, TFE_MonitoringGetCellStringGauge4,
     (TFE_MonitoringStringGauge4 *gauge, const char *label1, const char *label2, const char *label3,
      const char *label4))
NOTHING(TFE_MonitoringBoolGaugeCellSet, (TFE_MonitoringBoolGaugeCell *cell, bool value))
ZERO(bool, TFE_MonitoringBoolGaugeCellValue, (TFE_MonitoringBoolGaugeCell *cell))
FAIL(TFE_MonitoringBoolGauge0 *, TFE_MonitoringNewBoolGauge0,
     (const char *name, TF_Status *status, const char *description))
NOTHING(TFE_MonitoringDeleteBoolGauge0, (TFE_MonitoringBoolGauge0 *gauge))
ZERO(TFE_MonitoringBoolGaugeCell *, TFE_MonitoringGetCellBoolGauge0,
     (TFE_MonitoringBoolGauge0 *gauge))
FAIL(TFE_MonitoringBoolGauge1 *, TFE_MonitoringNewBoolGauge1,
     (const char *name, TF_Status *status, const char *description, const char *label1))
NOTHING(TFE_MonitoringDeleteBoolGauge1, (TFE_MonitoringBoolGauge1 *gauge))
ZERO(TFE_MonitoringBoolGaugeCell *, TFE_MonitoringGetCellBoolGauge1,
     (TFE_MonitoringBoolGauge1 *gauge, const char *label1))
FAIL(TFE_MonitoringBoolGauge2 *, TFE_MonitoringNewBoolGauge2,
     (const char *name, TF_Status *status, const char *description, const char *label1,
      const char *label2))
NOTHING(TFE_MonitoringDeleteBoolGauge2, (TFE_MonitoringBoolGauge2 *gauge))
ZERO(TFE_MonitoringBoolGaugeCell *, TFE_MonitoringGetCellBoolGauge2,
     (TFE_MonitoringBoolGauge2 *gauge, const char *label1, const char *label2))
NOTHING(TFE_MonitoringSamplerCellAdd, (TFE_MonitoringSamplerCell *cell, double value))
NOTHING(TFE_MonitoringSamplerCellValue, (TFE_MonitoringSamplerCell *cell, TF_Buffer *buf))
ZERO(TFE_MonitoringBuckets *, TFE_MonitoringNewExponentialBuckets,
     (double scale, double growth_factor, int bucket_count))
NOTHING(TFE_MonitoringDeleteBuckets, (TFE_MonitoringBuckets *buckets))
FAIL(TFE_MonitoringSampler0 *, TFE_MonitoringNewSampler0,
     (const char *name, TFE_MonitoringBuckets *buckets, TF_Status *status, const char *description))
NOTHING(TFE_MonitoringDeleteSampler0, (TFE_MonitoringSampler0 *sampler))
ZERO(TFE_MonitoringSamplerCell *, TFE_MonitoringGetCellSampler0, (TFE_MonitoringSampler0 *sampler))
FAIL(TFE_MonitoringSampler1 *, TFE_MonitoringNewSampler1,
     (const char *name, TFE_MonitoringBuckets *buckets, TF_Status *status, const char *description,
      const char *label1))
NOTHING(TFE_MonitoringDeleteSampler1, (TFE_MonitoringSampler1 *sampler))
ZERO(TFE_MonitoringSamplerCell *, TFE_MonitoringGetCellSampler1,
     (TFE_MonitoringSampler1 *sampler, const char *label1))
FAIL(TFE_MonitoringSampler2 *, TFE_MonitoringNewSampler2,
     (const char *name, TFE_MonitoringBuckets *buckets, TF_Status *status, const char *description,
      const char *label1, const char *label2))
NOTHING(TFE_MonitoringDeleteSampler2, (TFE_MonitoringSampler2 *sampler))
ZERO(TFE_MonitoringSamplerCell *, TFE_MonitoringGetCellSampler2,
     (TFE_MonitoringSampler2 *sampler, const char *label1, const char *label2))
NOTHING(TFE_ContextOptionsSetTfrt, (TFE_ContextOptions *options, bool use_tfrt))
ZERO(uint64_t, TFE_GetContextId, (TFE_Context *ctx))
ZERO(TFE_CancellationManager *, TFE_NewCancellationManager, (void))
ZERO(bool, TFE_CancellationManagerIsCancelled, (TFE_CancellationManager *manager))
ZERO(bool, TFE_CancellationManagerIsCancelling, (TFE_CancellationManager *manager))
NOTHING(TFE_CancellationManagerStartCancel, (TFE_CancellationManager *manager))
ZERO(TFE_CancellationToken, TFE_CancellationManagerGetToken, (TFE_CancellationManager *manager))
ZERO(bool, TFE_CancellationManagerRegisterCallback,
     (TFE_CancellationManager *manager, TFE_CancellationToken token,
      const TFE_CancelCallback *c_callback, const char *callback_name))
ZERO(bool, TFE_CancellationManagerDeregisterCallback,
     (TFE_CancellationManager *manager, TFE_CancellationToken token))
ZERO(bool, TFE_CancellationManagerTryDeregisterCallback,
     (TFE_CancellationManager *manager, TFE_CancellationToken token))
NOTHING(TFE_DeleteCancellationManager, (TFE_CancellationManager *manager))
FAIL_VOID(TFE_OpSetCancellationManager,
          (TFE_Op *op, TFE_CancellationManager *cancellation_manager, TF_Status *status))
ZERO(TFE_Executor *, TFE_NewExecutor,
     (bool is_async, bool enable_streaming_enqueue, int in_flight_nodes_limit))
NOTHING(TFE_DeleteExecutor, (TFE_Executor *executor))
ZERO(bool, TFE_ExecutorIsAsync, (TFE_Executor *executor))
FAIL_VOID(TFE_ExecutorWaitForAllPendingNodes, (TFE_Executor *executor, TF_Status *status))
NOTHING(TFE_ExecutorClearError, (TFE_Executor *executor))
NOTHING(TFE_ContextSetExecutorForThread, (TFE_Context *ctx, TFE_Executor *executor))
ZERO(TFE_Executor *, TFE_ContextGetExecutorForThread, (TFE_Context *ctx))
FAIL_VOID(TFE_ContextUpdateServerDef,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           TF_Status *status))
FAIL_VOID(TFE_ContextUpdateServerDefWithTimeout,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           int64_t init_timeout_in_ms, TF_Status *status))
FAIL_VOID(TFE_ContextSetServerDefWithTimeout,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           int64_t init_timeout_in_ms, TF_Status *status, bool clear_existing_contexts))
FAIL_VOID(TFE_ContextSetServerDefWithTimeoutAndRetries,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           int64_t init_timeout_in_ms, int retries, TF_Status *status,
           bool clear_existing_contexts))
FAIL(bool, TFE_ContextCheckAlive, (TFE_Context *ctx, const char *worker_name, TF_Status *status))
FAIL_VOID(TFE_ContextAsyncWait, (TFE_Context *ctx, TF_Status *status))
FAIL(void *, TFE_TensorHandleDevicePointer, (TFE_TensorHandle *h, TF_Status *status))
FAIL(size_t, TFE_TensorHandleDeviceMemorySize, (TFE_TensorHandle *h, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_NewTensorHandleFromDeviceMemory,
     (TFE_Context *ctx, const char *device_name, TF_DataType dtype, const int64_t *dims,
      int num_dims, void *data, size_t len, void (*deallocator)(void *data, size_t len, void *arg),
      void *deallocator_arg, TF_Status *status))
NOTHING(TFE_HostAddressSpace, (TFE_Context *ctx, TF_Buffer *buf))
ZERO(const TFE_OpAttrs *, TFE_OpGetAttrs, (const TFE_Op *op))
NOTHING(TFE_OpAddAttrs, (TFE_Op *op, const TFE_OpAttrs *attrs))
FAIL_VOID(TFE_OpAttrsSerialize, (const TFE_OpAttrs *attrs, TF_Buffer *buf, TF_Status *status))
FAIL_VOID(TFE_OpSetAttrValueProto,
          (const TFE_Op *op, const char *attr_name, const void *proto, size_t proto_len,
           TF_Status *status))
FAIL_VOID(TFE_RegisterCustomDevice,
          (TFE_Context *ctx, TFE_CustomDevice device, const char *device_name, void *device_info,
           TF_Status *status))
ZERO(bool, TFE_IsCustomDevice, (TFE_Context *ctx, const char *device_name))
FAIL(TFE_TensorHandle *, TFE_NewCustomDeviceTensorHandle,
     (TFE_Context *ctx, const char *device_name, TF_DataType dtype, void *data,
      TFE_CustomDeviceTensorHandle methods, TF_Status *status))
FAIL_VOID(TFE_ContextGetFunctionDef,
          (TFE_Context *ctx, const char *function_name, TF_Buffer *buf, TF_Status *status))
FAIL_VOID(TFE_ContextGetGraphDebugInfo,
          (TFE_Context *ctx, const char *function_name, TF_Buffer *buf, TF_Status *status))
FAIL(TF_Function *, TFE_ContextGetFunction, (TFE_Context *ctx, const char *name, TF_Status *status))
FAIL(TF_Tensor *, TFE_AllocateHostTensor,
     (TFE_Context *ctx, TF_DataType dtype, const int64_t *dims, int num_dims, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_NewTensorHandleFromTensor,
     (TFE_Context *ctx, TF_Tensor *t, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_CreatePackedTensorHandle,
     (TFE_Context *ctx, TFE_TensorHandle **handles, int *num_handles, TF_Status *status))
FAIL_VOID(TFE_ContextSetSoftDevicePlacement,
          (TFE_Context *ctx, unsigned char enable, TF_Status *status))
FAIL_VOID(TFE_ContextSetLogDevicePlacement,
          (TFE_Context *ctx, unsigned char enable, TF_Status *status))
FAIL_VOID(TFE_ContextSetRunEagerOpAsFunction,
          (TFE_Context *ctx, unsigned char enable, TF_Status *status))
FAIL_VOID(TFE_ContextSetJitCompileRewrite,
          (TFE_Context *ctx, unsigned char enable, TF_Status *status))
FAIL(const char *, TFE_TensorHandleDeviceType, (TFE_TensorHandle *h, TF_Status *status))
FAIL(int, TFE_TensorHandleDeviceID, (TFE_TensorHandle *h, TF_Status *status))
FAIL_VOID(TFE_TensorHandleGetStatus, (TFE_TensorHandle *h, TF_Status *status))
FAIL_VOID(TFE_GetExecutedOpNames, (TFE_Context *ctx, TF_Buffer *buf, TF_Status *status))
FAIL_VOID(TFE_SetLogicalCpuDevices,
          (TFE_Context *ctx, int num_cpus, const char *prefix, TF_Status *status))
FAIL_VOID(TFE_InsertConfigKeyValue,
          (TFE_Context *ctx, const char *key, const char *value, TF_Status *status))
FAIL_VOID(TFE_GetConfigKeyValue,
          (TFE_Context *ctx, const char *key, int64_t timeout_in_ms, TF_Buffer *value_buf,
           TF_Status *status))
FAIL_VOID(TFE_DeleteConfigKeyValue, (TFE_Context *ctx, const char *key, TF_Status *status))
FAIL_VOID(TFE_ReportErrorToCluster,
          (TFE_Context *ctx, int error_code, const char *error_message, TF_Status *status))
FAIL_VOID(TFE_GetTaskStates,
          (TFE_Context *ctx, const TF_Buffer *tasks, void *states, TF_Status *status))
FAIL_VOID(TFE_WaitAtBarrier,
          (TFE_Context *ctx, const char *barrier_id, int64_t barrier_timeout_in_ms,
           TF_Status *status))
FAIL_VOID(TFE_InitializeLocalOnlyContext,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           TF_Status *status))

// tensorflow/c/eager/dlpack.h
FAIL(void *, TFE_GetDLDevice, (TFE_TensorHandle *h, TF_Status *status))
FAIL(void *, TFE_HandleToDLPack, (TFE_TensorHandle *h, TF_Status *status))
FAIL(TFE_TensorHandle *, TFE_HandleFromDLPack, (void *dlm, TF_Status *status, TFE_Context *ctx))
NOTHING(TFE_CallDLManagedTensorDeleter, (void *dlm_ptr))

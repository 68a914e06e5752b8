// SPDX-License-Identifier: Apache-2.0
// eager/c_api_experimental.h: eager calls that TensorFlow may still change: metrics, cancellation,
// executors, clusters, custom devices and context switches. Rules as in eager/c_api.h.

#ifndef TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_
#define TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes |op_to_reset| as if new, for another op or function: cheaper than delete and new.
TF_CAPI_EXPORT extern void TFE_OpReset(TFE_Op *op_to_reset, const char *op_or_function_name,
                                       const char *raw_device_name, TF_Status *status);

// Whether run metadata also carries the graphs of functions that ran.
TF_CAPI_EXPORT extern void TFE_ContextEnableGraphCollection(TFE_Context *ctx);
TF_CAPI_EXPORT extern void TFE_ContextDisableGraphCollection(TFE_Context *ctx);

// ---- Metrics --------------------------------------------------------------------------------
// A metric has a process-wide unique name and 0 to 4 labels. A cell is the value for one choice of
// labels: borrowed from its metric, safe to use from many threads. New fails with ALREADY_EXISTS if
// the name is taken.

// Counters only grow.
typedef struct TFE_MonitoringCounterCell TFE_MonitoringCounterCell;
TF_CAPI_EXPORT extern void TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringCounterCell *cell,
                                                                int64_t value);
TF_CAPI_EXPORT extern int64_t TFE_MonitoringCounterCellValue(TFE_MonitoringCounterCell *cell);

typedef struct TFE_MonitoringCounter0 TFE_MonitoringCounter0;
TF_CAPI_EXPORT extern TFE_MonitoringCounter0 *TFE_MonitoringNewCounter0(const char *name,
                                                                        TF_Status *status,
                                                                        const char *description);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteCounter0(TFE_MonitoringCounter0 *counter);
TF_CAPI_EXPORT extern TFE_MonitoringCounterCell *TFE_MonitoringGetCellCounter0(
    TFE_MonitoringCounter0 *counter);

typedef struct TFE_MonitoringCounter1 TFE_MonitoringCounter1;
TF_CAPI_EXPORT extern TFE_MonitoringCounter1 *TFE_MonitoringNewCounter1(const char *name,
                                                                        TF_Status *status,
                                                                        const char *description,
                                                                        const char *label1);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteCounter1(TFE_MonitoringCounter1 *counter);
TF_CAPI_EXPORT extern TFE_MonitoringCounterCell *TFE_MonitoringGetCellCounter1(
    TFE_MonitoringCounter1 *counter, const char *label1);

typedef struct TFE_MonitoringCounter2 TFE_MonitoringCounter2;
TF_CAPI_EXPORT extern TFE_MonitoringCounter2 *TFE_MonitoringNewCounter2(const char *name,
                                                                        TF_Status *status,
                                                                        const char *description,
                                                                        const char *label1,
                                                                        const char *label2);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteCounter2(TFE_MonitoringCounter2 *counter);
TF_CAPI_EXPORT extern TFE_MonitoringCounterCell *TFE_MonitoringGetCellCounter2(
    TFE_MonitoringCounter2 *counter, const char *label1, const char *label2);

// Gauges hold the last value set.
typedef struct TFE_MonitoringIntGaugeCell TFE_MonitoringIntGaugeCell;
TF_CAPI_EXPORT extern void TFE_MonitoringIntGaugeCellSet(TFE_MonitoringIntGaugeCell *cell,
                                                         int64_t value);
TF_CAPI_EXPORT extern int64_t TFE_MonitoringIntGaugeCellValue(TFE_MonitoringIntGaugeCell *cell);

typedef struct TFE_MonitoringIntGauge0 TFE_MonitoringIntGauge0;
TF_CAPI_EXPORT extern TFE_MonitoringIntGauge0 *TFE_MonitoringNewIntGauge0(const char *name,
                                                                          TF_Status *out_status,
                                                                          const char *description);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteIntGauge0(TFE_MonitoringIntGauge0 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringIntGaugeCell *TFE_MonitoringGetCellIntGauge0(
    TFE_MonitoringIntGauge0 *gauge);

typedef struct TFE_MonitoringIntGauge1 TFE_MonitoringIntGauge1;
TF_CAPI_EXPORT extern TFE_MonitoringIntGauge1 *TFE_MonitoringNewIntGauge1(const char *name,
                                                                          TF_Status *out_status,
                                                                          const char *description,
                                                                          const char *label1);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteIntGauge1(TFE_MonitoringIntGauge1 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringIntGaugeCell *TFE_MonitoringGetCellIntGauge1(
    TFE_MonitoringIntGauge1 *gauge, const char *label1);

typedef struct TFE_MonitoringIntGauge2 TFE_MonitoringIntGauge2;
TF_CAPI_EXPORT extern TFE_MonitoringIntGauge2 *TFE_MonitoringNewIntGauge2(const char *name,
                                                                          TF_Status *out_status,
                                                                          const char *description,
                                                                          const char *label1,
                                                                          const char *label2);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteIntGauge2(TFE_MonitoringIntGauge2 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringIntGaugeCell *TFE_MonitoringGetCellIntGauge2(
    TFE_MonitoringIntGauge2 *gauge, const char *label1, const char *label2);

// The value is copied in, and out into an empty buffer.
typedef struct TFE_MonitoringStringGaugeCell TFE_MonitoringStringGaugeCell;
TF_CAPI_EXPORT extern void TFE_MonitoringStringGaugeCellSet(TFE_MonitoringStringGaugeCell *cell,
                                                            const char *value);
TF_CAPI_EXPORT extern void TFE_MonitoringStringGaugeCellValue(TFE_MonitoringStringGaugeCell *cell,
                                                              TF_Buffer *buf);

typedef struct TFE_MonitoringStringGauge0 TFE_MonitoringStringGauge0;
TF_CAPI_EXPORT extern TFE_MonitoringStringGauge0 *TFE_MonitoringNewStringGauge0(
    const char *name, TF_Status *out_status, const char *description);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteStringGauge0(TFE_MonitoringStringGauge0 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringStringGaugeCell *TFE_MonitoringGetCellStringGauge0(
    TFE_MonitoringStringGauge0 *gauge);

typedef struct TFE_MonitoringStringGauge1 TFE_MonitoringStringGauge1;
TF_CAPI_EXPORT extern TFE_MonitoringStringGauge1 *TFE_MonitoringNewStringGauge1(
    const char *name, TF_Status *out_status, const char *description, const char *label1);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteStringGauge1(TFE_MonitoringStringGauge1 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringStringGaugeCell *TFE_MonitoringGetCellStringGauge1(
    TFE_MonitoringStringGauge1 *gauge, const char *label1);

typedef struct TFE_MonitoringStringGauge2 TFE_MonitoringStringGauge2;
TF_CAPI_EXPORT extern TFE_MonitoringStringGauge2 *TFE_MonitoringNewStringGauge2(
    const char *name, TF_Status *out_status, const char *description, const char *label1,
    const char *label2);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteStringGauge2(TFE_MonitoringStringGauge2 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringStringGaugeCell *TFE_MonitoringGetCellStringGauge2(
    TFE_MonitoringStringGauge2 *gauge, const char *label1, const char *label2);

typedef struct TFE_MonitoringStringGauge3 TFE_MonitoringStringGauge3;
TF_CAPI_EXPORT extern TFE_MonitoringStringGauge3 *TFE_MonitoringNewStringGauge3(
    const char *name, TF_Status *out_status, const char *description, const char *label1,
    const char *label2, const char *label3);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteStringGauge3(TFE_MonitoringStringGauge3 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringStringGaugeCell *TFE_MonitoringGetCellStringGauge3(
    TFE_MonitoringStringGauge3 *gauge, const char *label1, const char *label2, const char *label3);

typedef struct TFE_MonitoringStringGauge4 TFE_MonitoringStringGauge4;
TF_CAPI_EXPORT extern TFE_MonitoringStringGauge4 *TFE_MonitoringNewStringGauge4(
    const char *name, TF_Status *out_status, const char *description, const char *label1,
    const char *label2, const char *label3, const char *label4);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteStringGauge4(TFE_MonitoringStringGauge4 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringStringGaugeCell *TFE_MonitoringGetCellStringGauge4(
    TFE_MonitoringStringGauge4 *gauge, const char *label1, const char *label2, const char *label3,
    const char *label4);

typedef struct TFE_MonitoringBoolGaugeCell TFE_MonitoringBoolGaugeCell;
TF_CAPI_EXPORT extern void TFE_MonitoringBoolGaugeCellSet(TFE_MonitoringBoolGaugeCell *cell,
                                                          bool value);
TF_CAPI_EXPORT extern bool TFE_MonitoringBoolGaugeCellValue(TFE_MonitoringBoolGaugeCell *cell);

typedef struct TFE_MonitoringBoolGauge0 TFE_MonitoringBoolGauge0;
TF_CAPI_EXPORT extern TFE_MonitoringBoolGauge0 *TFE_MonitoringNewBoolGauge0(
    const char *name, TF_Status *out_status, const char *description);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteBoolGauge0(TFE_MonitoringBoolGauge0 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringBoolGaugeCell *TFE_MonitoringGetCellBoolGauge0(
    TFE_MonitoringBoolGauge0 *gauge);

typedef struct TFE_MonitoringBoolGauge1 TFE_MonitoringBoolGauge1;
TF_CAPI_EXPORT extern TFE_MonitoringBoolGauge1 *TFE_MonitoringNewBoolGauge1(const char *name,
                                                                            TF_Status *out_status,
                                                                            const char *description,
                                                                            const char *label1);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteBoolGauge1(TFE_MonitoringBoolGauge1 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringBoolGaugeCell *TFE_MonitoringGetCellBoolGauge1(
    TFE_MonitoringBoolGauge1 *gauge, const char *label1);

typedef struct TFE_MonitoringBoolGauge2 TFE_MonitoringBoolGauge2;
TF_CAPI_EXPORT extern TFE_MonitoringBoolGauge2 *TFE_MonitoringNewBoolGauge2(const char *name,
                                                                            TF_Status *out_status,
                                                                            const char *description,
                                                                            const char *label1,
                                                                            const char *label2);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteBoolGauge2(TFE_MonitoringBoolGauge2 *gauge);
TF_CAPI_EXPORT extern TFE_MonitoringBoolGaugeCell *TFE_MonitoringGetCellBoolGauge2(
    TFE_MonitoringBoolGauge2 *gauge, const char *label1, const char *label2);

// Samplers are histograms. The value is a serialized HistogramProto, into an empty buffer.
typedef struct TFE_MonitoringSamplerCell TFE_MonitoringSamplerCell;
TF_CAPI_EXPORT extern void TFE_MonitoringSamplerCellAdd(TFE_MonitoringSamplerCell *cell,
                                                        double value);
TF_CAPI_EXPORT extern void TFE_MonitoringSamplerCellValue(TFE_MonitoringSamplerCell *cell,
                                                          TF_Buffer *buf);

// Bounds scale, scale * growth, scale * growth^2 ... A sampler copies what it needs of them.
typedef struct TFE_MonitoringBuckets TFE_MonitoringBuckets;
TF_CAPI_EXPORT extern TFE_MonitoringBuckets *TFE_MonitoringNewExponentialBuckets(
    double scale, double growth_factor, int bucket_count);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteBuckets(TFE_MonitoringBuckets *buckets);

typedef struct TFE_MonitoringSampler0 TFE_MonitoringSampler0;
TF_CAPI_EXPORT extern TFE_MonitoringSampler0 *TFE_MonitoringNewSampler0(
    const char *name, TFE_MonitoringBuckets *buckets, TF_Status *out_status,
    const char *description);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteSampler0(TFE_MonitoringSampler0 *sampler);
TF_CAPI_EXPORT extern TFE_MonitoringSamplerCell *TFE_MonitoringGetCellSampler0(
    TFE_MonitoringSampler0 *sampler);

typedef struct TFE_MonitoringSampler1 TFE_MonitoringSampler1;
TF_CAPI_EXPORT extern TFE_MonitoringSampler1 *TFE_MonitoringNewSampler1(
    const char *name, TFE_MonitoringBuckets *buckets, TF_Status *out_status,
    const char *description, const char *label1);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteSampler1(TFE_MonitoringSampler1 *sampler);
TF_CAPI_EXPORT extern TFE_MonitoringSamplerCell *TFE_MonitoringGetCellSampler1(
    TFE_MonitoringSampler1 *sampler, const char *label1);

typedef struct TFE_MonitoringSampler2 TFE_MonitoringSampler2;
TF_CAPI_EXPORT extern TFE_MonitoringSampler2 *TFE_MonitoringNewSampler2(
    const char *name, TFE_MonitoringBuckets *buckets, TF_Status *out_status,
    const char *description, const char *label1, const char *label2);
TF_CAPI_EXPORT extern void TFE_MonitoringDeleteSampler2(TFE_MonitoringSampler2 *sampler);
TF_CAPI_EXPORT extern TFE_MonitoringSamplerCell *TFE_MonitoringGetCellSampler2(
    TFE_MonitoringSampler2 *sampler, const char *label1, const char *label2);

// ---- Contexts -------------------------------------------------------------------------------

// Accepted, without effect.
TF_CAPI_EXPORT extern void TFE_ContextOptionsSetTfrt(TFE_ContextOptions *options, bool use_tfrt);

// Differs between contexts of a process.
TF_CAPI_EXPORT extern uint64_t TFE_GetContextId(TFE_Context *ctx);

// ---- Cancellation ---------------------------------------------------------------------------
// Safe from many threads. A manager must outlive the ops it was set on.

typedef struct TFE_CancellationManager TFE_CancellationManager;
typedef int64_t TFE_CancellationToken;
typedef struct TFE_CancelCallback {
  void (*callback)(void *context);
  void *context;
} TFE_CancelCallback;

TF_CAPI_EXPORT extern TFE_CancellationManager *TFE_NewCancellationManager(void);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerIsCancelled(TFE_CancellationManager *manager);

// True while callbacks run.
TF_CAPI_EXPORT extern bool TFE_CancellationManagerIsCancelling(TFE_CancellationManager *manager);

// Calls every callback, once, on this thread. Later calls have no effect.
TF_CAPI_EXPORT extern void TFE_CancellationManagerStartCancel(TFE_CancellationManager *manager);

// A new token, to register one callback under.
TF_CAPI_EXPORT extern TFE_CancellationToken TFE_CancellationManagerGetToken(
    TFE_CancellationManager *manager);

// False, and the callback is not called, if cancellation has begun. The struct is copied.
TF_CAPI_EXPORT extern bool TFE_CancellationManagerRegisterCallback(
    TFE_CancellationManager *manager, TFE_CancellationToken token,
    const TFE_CancelCallback *c_callback, const char *callback_name);

// True if the callback will not run any more. The first form waits for one that is running, the
// second returns false instead.
TF_CAPI_EXPORT extern bool TFE_CancellationManagerDeregisterCallback(
    TFE_CancellationManager *manager, TFE_CancellationToken token);
TF_CAPI_EXPORT extern bool TFE_CancellationManagerTryDeregisterCallback(
    TFE_CancellationManager *manager, TFE_CancellationToken token);

TF_CAPI_EXPORT extern void TFE_DeleteCancellationManager(TFE_CancellationManager *manager);

// For the next executions of |op|.
TF_CAPI_EXPORT extern void TFE_OpSetCancellationManager(
    TFE_Op *op, TFE_CancellationManager *cancellation_manager, TF_Status *status);

// ---- Executors ------------------------------------------------------------------------------
// A queue of ops, run in order. An error stops it: later ops fail until the error is cleared.

typedef struct TFE_Executor TFE_Executor;

// |in_flight_nodes_limit| 0 means no limit; the streaming flag matters to remote ops only.
TF_CAPI_EXPORT extern TFE_Executor *TFE_NewExecutor(bool is_async, bool enable_streaming_enqueue,
                                                    int in_flight_nodes_limit);

// Does not wait for ops in the queue.
TF_CAPI_EXPORT extern void TFE_DeleteExecutor(TFE_Executor *executor);

TF_CAPI_EXPORT extern bool TFE_ExecutorIsAsync(TFE_Executor *executor);

// Waits, and reports the first error.
TF_CAPI_EXPORT extern void TFE_ExecutorWaitForAllPendingNodes(TFE_Executor *executor,
                                                              TF_Status *status);

// Handles of ops that were dropped stay unusable.
TF_CAPI_EXPORT extern void TFE_ExecutorClearError(TFE_Executor *executor);

// For the calling thread. Set borrows the executor; the caller of Get deletes its result, which is
// a new reference.
TF_CAPI_EXPORT extern void TFE_ContextSetExecutorForThread(TFE_Context *ctx,
                                                           TFE_Executor *executor);
TF_CAPI_EXPORT extern TFE_Executor *TFE_ContextGetExecutorForThread(TFE_Context *ctx);

// ---- Clusters -------------------------------------------------------------------------------
// |proto| is a serialized ServerDef.

// Changes the set of workers while handles on the others stay valid.
TF_CAPI_EXPORT extern void TFE_ContextUpdateServerDef(TFE_Context *ctx, int keep_alive_secs,
                                                      const void *proto, size_t proto_len,
                                                      TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextUpdateServerDefWithTimeout(
    TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
    int64_t init_timeout_in_ms, TF_Status *status);

TF_CAPI_EXPORT extern void TFE_ContextSetServerDefWithTimeout(TFE_Context *ctx, int keep_alive_secs,
                                                              const void *proto, size_t proto_len,
                                                              int64_t init_timeout_in_ms,
                                                              TF_Status *status,
                                                              bool clear_existing_contexts);
TF_CAPI_EXPORT extern void TFE_ContextSetServerDefWithTimeoutAndRetries(
    TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
    int64_t init_timeout_in_ms, int retries, TF_Status *status, bool clear_existing_contexts);

// Whether the worker answers, with or without a context of ours.
TF_CAPI_EXPORT extern bool TFE_ContextCheckAlive(TFE_Context *ctx, const char *worker_name,
                                                 TF_Status *status);

// Waits for every executor of the context, and reports the first error.
TF_CAPI_EXPORT extern void TFE_ContextAsyncWait(TFE_Context *ctx, TF_Status *status);

// ---- Device memory --------------------------------------------------------------------------

// Wait for the value. The pointer is an address of the device, valid until the handle is deleted.
// Only for types of fixed size.
TF_CAPI_EXPORT extern void *TFE_TensorHandleDevicePointer(TFE_TensorHandle *h, TF_Status *status);
TF_CAPI_EXPORT extern size_t TFE_TensorHandleDeviceMemorySize(TFE_TensorHandle *h,
                                                              TF_Status *status);

// Takes |data|: |deallocator| runs when it is no longer needed, also if the call fails.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewTensorHandleFromDeviceMemory(
    TFE_Context *ctx, const char *device_name, TF_DataType dtype, const int64_t *dims, int num_dims,
    void *data, size_t len, void (*deallocator)(void *data, size_t len, void *arg),
    void *deallocator_arg, TF_Status *status);

// "/job:.../replica:.../task:...", into an empty buffer.
TF_CAPI_EXPORT extern void TFE_HostAddressSpace(TFE_Context *ctx, TF_Buffer *buf);

// ---- Attributes as a whole ------------------------------------------------------------------

typedef struct TFE_OpAttrs TFE_OpAttrs;

// Borrowed from the op.
TF_CAPI_EXPORT extern const TFE_OpAttrs *TFE_OpGetAttrs(const TFE_Op *op);

// Adds what |op| lacks; what it has stays.
TF_CAPI_EXPORT extern void TFE_OpAddAttrs(TFE_Op *op, const TFE_OpAttrs *attrs);

// A serialized NameAttrList, into an empty buffer.
TF_CAPI_EXPORT extern void TFE_OpAttrsSerialize(const TFE_OpAttrs *attrs, TF_Buffer *buf,
                                                TF_Status *status);

// A serialized AttrValue. The op is changed, in spite of the const.
TF_CAPI_EXPORT extern void TFE_OpSetAttrValueProto(const TFE_Op *op, const char *attr_name,
                                                   const void *proto, size_t proto_len,
                                                   TF_Status *status);

// ---- Custom devices -------------------------------------------------------------------------
// A device made of callbacks. In C++ the members marked below start with these values; in C the
// caller sets `version` to TFE_CUSTOM_DEVICE_VERSION and unused members to NULL.

#define TFE_CUSTOM_DEVICE_VERSION 4

#ifdef __cplusplus
#define FY_CXX_DEFAULT(value) = value
#else
#define FY_CXX_DEFAULT(value)
#endif

// Handles returned by a callback go to the library. |device_info| is what was registered.
typedef struct TFE_CustomDevice {
  int version FY_CXX_DEFAULT(TFE_CUSTOM_DEVICE_VERSION);

  TFE_TensorHandle *(*copy_tensor_to_device)(TFE_Context *context, TFE_TensorHandle *tensor,
                                             TF_Status *status, void *device_info);

  TFE_TensorHandle *(*copy_tensor_from_device)(TFE_Context *context, TFE_TensorHandle *tensor,
                                               const char *target_device_name, TF_Status *status,
                                               void *device_info);

  // |*num_outputs| is the room in |outputs| and becomes the number of results.
  void (*execute)(const TFE_Op *op, int *num_outputs, TFE_TensorHandle **outputs, TF_Status *s,
                  void *device_info);

  void (*delete_device)(void *device_info);

  // May be NULL: packing is then UNIMPLEMENTED.
  TFE_TensorHandle *(*pack)(TFE_Context *context, TFE_TensorHandle **handles, int num_handles,
                            TF_Status *s, void *device_info)FY_CXX_DEFAULT(nullptr);

  // May be NULL. Whether an op with inputs here should run here.
  bool (*shall_pin_to_this_device)(const TFE_Op *op, TF_Status *s) FY_CXX_DEFAULT(nullptr);
} TFE_CustomDevice;

// The name must be full and unused. delete_device is called on |device_info| also if this fails.
TF_CAPI_EXPORT extern void TFE_RegisterCustomDevice(TFE_Context *ctx, TFE_CustomDevice device,
                                                    const char *device_name, void *device_info,
                                                    TF_Status *status);

TF_CAPI_EXPORT extern bool TFE_IsCustomDevice(TFE_Context *ctx, const char *device_name);

// A value on a custom device, by callbacks.
typedef struct TFE_CustomDeviceTensorHandleMethods {
  int version FY_CXX_DEFAULT(TFE_CUSTOM_DEVICE_VERSION);

  int (*num_dims)(void *data, TF_Status *status);

  int64_t (*dim)(void *data, int dim_index, TF_Status *status);

  void (*deallocator)(void *data);

  // May be NULL. Text for people; the caller deletes the buffer.
  TF_Buffer *(*summarize)(void *data, TF_Status *status)FY_CXX_DEFAULT(nullptr);
} TFE_CustomDeviceTensorHandle;

#undef FY_CXX_DEFAULT

// Takes |data|: methods.deallocator runs when it is no longer needed, also if the call fails.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewCustomDeviceTensorHandle(
    TFE_Context *ctx, const char *device_name, TF_DataType dtype, void *data,
    TFE_CustomDeviceTensorHandle methods, TF_Status *status);

// ---- Functions of a context -----------------------------------------------------------------

// A serialized FunctionDef or GraphDebugInfo, into an empty buffer.
TF_CAPI_EXPORT extern void TFE_ContextGetFunctionDef(TFE_Context *ctx, const char *function_name,
                                                     TF_Buffer *buf, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextGetGraphDebugInfo(TFE_Context *ctx, const char *function_name,
                                                        TF_Buffer *buf, TF_Status *status);

// The caller deletes it.
TF_CAPI_EXPORT extern TF_Function *TFE_ContextGetFunction(TFE_Context *ctx, const char *name,
                                                          TF_Status *status);

// ---- More tensor handles --------------------------------------------------------------------

// Contents undefined. The caller deletes it.
TF_CAPI_EXPORT extern TF_Tensor *TFE_AllocateHostTensor(TFE_Context *ctx, TF_DataType dtype,
                                                        const int64_t *dims, int num_dims,
                                                        TF_Status *status);

// As TFE_NewTensorHandle, tied to a context.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewTensorHandleFromTensor(TFE_Context *ctx,
                                                                      TF_Tensor *t,
                                                                      TF_Status *status);

// One handle that stands for a value on each of several devices.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_CreatePackedTensorHandle(TFE_Context *ctx,
                                                                     TFE_TensorHandle **handles,
                                                                     int *num_handles,
                                                                     TF_Status *status);

// ---- Switches, for ops executed from now on -------------------------------------------------

TF_CAPI_EXPORT extern void TFE_ContextSetSoftDevicePlacement(TFE_Context *ctx, unsigned char enable,
                                                             TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetLogDevicePlacement(TFE_Context *ctx, unsigned char enable,
                                                            TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetRunEagerOpAsFunction(TFE_Context *ctx,
                                                              unsigned char enable,
                                                              TF_Status *status);
TF_CAPI_EXPORT extern void TFE_ContextSetJitCompileRewrite(TFE_Context *ctx, unsigned char enable,
                                                           TF_Status *status);

// ---- Where a value came from ----------------------------------------------------------------

// Borrowed.
TF_CAPI_EXPORT extern const char *TFE_TensorHandleDeviceType(TFE_TensorHandle *h,
                                                             TF_Status *status);

TF_CAPI_EXPORT extern int TFE_TensorHandleDeviceID(TFE_TensorHandle *h, TF_Status *status);

// The error that the value carries, if any.
TF_CAPI_EXPORT extern void TFE_TensorHandleGetStatus(TFE_TensorHandle *h, TF_Status *status);

// Names with commas between, into an empty buffer.
TF_CAPI_EXPORT extern void TFE_GetExecutedOpNames(TFE_Context *ctx, TF_Buffer *buf,
                                                  TF_Status *status);

// Only before the first op, and only if the options did not already say how many.
TF_CAPI_EXPORT extern void TFE_SetLogicalCpuDevices(TFE_Context *ctx, int num_cpus,
                                                    const char *prefix, TF_Status *status);

// ---- Coordination service -------------------------------------------------------------------

// A small key/value store shared by the cluster. A key is set once; Get waits for it (0: forever);
// Delete also removes everything under "key/".
TF_CAPI_EXPORT extern void TFE_InsertConfigKeyValue(TFE_Context *ctx, const char *key,
                                                    const char *value, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_GetConfigKeyValue(TFE_Context *ctx, const char *key,
                                                 int64_t timeout_in_ms, TF_Buffer *value_buf,
                                                 TF_Status *status);
TF_CAPI_EXPORT extern void TFE_DeleteConfigKeyValue(TFE_Context *ctx, const char *key,
                                                    TF_Status *status);

TF_CAPI_EXPORT extern void TFE_ReportErrorToCluster(TFE_Context *ctx, int error_code,
                                                    const char *error_message, TF_Status *status);

// |tasks| is a serialized list of tasks; |states| receives TensorFlow's internal C++ vector. A
// reference in C++, a pointer in C: the same to the linker.
#ifdef __cplusplus
TF_CAPI_EXPORT extern void TFE_GetTaskStates(TFE_Context *ctx, const TF_Buffer &tasks, void *states,
                                             TF_Status *status);
#else
TF_CAPI_EXPORT extern void TFE_GetTaskStates(TFE_Context *ctx, const TF_Buffer *tasks, void *states,
                                             TF_Status *status);
#endif

// Blocks until every task is here, or time is up.
TF_CAPI_EXPORT extern void TFE_WaitAtBarrier(TFE_Context *ctx, const char *barrier_id,
                                             int64_t barrier_timeout_in_ms, TF_Status *status);

// Sets the context up from a ServerDef without contacting the other tasks.
TF_CAPI_EXPORT extern void TFE_InitializeLocalOnlyContext(TFE_Context *ctx, int keep_alive_secs,
                                                          const void *proto, size_t proto_len,
                                                          TF_Status *status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_EXPERIMENTAL_H_

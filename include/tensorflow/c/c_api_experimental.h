// SPDX-License-Identifier: Apache-2.0
// c_api_experimental.h: calls that TensorFlow may still change: config builders, the checkpoint
// reader, shape inference for eager ops, and switches for XLA (accepted, without effect where there
// is no such compiler). Ownership and error rules are those of c_api.h.

#ifndef TENSORFLOW_C_C_API_EXPERIMENTAL_H_
#define TENSORFLOW_C_C_API_EXPERIMENTAL_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/eager/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- XLA switches. All but the first are process-wide. --------------------------------------

TF_CAPI_EXPORT extern void TF_EnableXLACompilation(TF_SessionOptions *options,
                                                   unsigned char enable);

// Each returns the previous value.
TF_CAPI_EXPORT extern unsigned char TF_SetXlaEnableLazyCompilation(unsigned char enable);
TF_CAPI_EXPORT extern unsigned char TF_SetTfXlaCpuGlobalJit(unsigned char enable);

// |mode| as in the XLA_FLAGS environment variable.
TF_CAPI_EXPORT extern void TF_SetXlaAutoJitMode(const char *mode);
TF_CAPI_EXPORT extern unsigned char TF_GetXlaAutoJitEnabled(void);

TF_CAPI_EXPORT extern void TF_SetXlaMinClusterSize(int size);

// Turns constant folding off, so that tests reach the compiled code.
TF_CAPI_EXPORT extern unsigned char TF_GetXlaConstantFoldingDisabled(void);
TF_CAPI_EXPORT extern void TF_SetXlaConstantFoldingDisabled(unsigned char should_enable);

// ---- Protos for languages without protos ----------------------------------------------------

// A serialized ConfigProto. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_CreateConfig(unsigned char enable_xla_compilation,
                                                 unsigned char gpu_memory_allow_growth,
                                                 unsigned int num_cpu_devices);

// A serialized RunOptions, tracing fully or not at all. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_CreateRunOptions(unsigned char enable_full_trace);

// Text for people, in no fixed format. |*len| is its length; the caller frees it with free().
TF_CAPI_EXPORT extern const char *TF_GraphDebugString(TF_Graph *graph, size_t *len);
TF_CAPI_EXPORT extern char *TF_FunctionDebugString(TF_Function *func, size_t *len);

// Runs "fifo_queue_dequeue_<id>" or "fifo_queue_enqueue_<id>" of the session's graph; the latter
// reads the placeholder "arg_tensor_enqueue_<id>". Both block on an empty or a full queue. A
// dequeued tensor is the caller's, and an enqueued one stays the caller's.
TF_CAPI_EXPORT extern TF_Tensor *TF_DequeueNamedTensor(TF_Session *session, int tensor_id,
                                                       TF_Status *status);
TF_CAPI_EXPORT extern void TF_EnqueueNamedTensor(TF_Session *session, int tensor_id,
                                                 TF_Tensor *tensor, TF_Status *status);

// Serializes a ServerDef given in text format. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TFE_GetServerDef(const char *text_proto, TF_Status *status);

// Sets INTERNAL with this message.
TF_CAPI_EXPORT extern void TF_MakeInternalErrorStatus(TF_Status *status, const char *errMsg);

// ---- Checkpoints ----------------------------------------------------------------------------
// The reader is safe to use from many threads. Names are borrowed from it.

typedef struct TF_CheckpointReader TF_CheckpointReader;

// |filename| is the prefix, without ".index" or ".data-...".
TF_CAPI_EXPORT extern TF_CheckpointReader *TF_NewCheckpointReader(const char *filename,
                                                                  TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeleteCheckpointReader(TF_CheckpointReader *reader);

TF_CAPI_EXPORT extern int TF_CheckpointReaderHasTensor(TF_CheckpointReader *reader,
                                                       const char *name);

// The |index|-th variable, 0 <= index < size.
TF_CAPI_EXPORT extern const char *TF_CheckpointReaderGetVariable(TF_CheckpointReader *reader,
                                                                 int index);
TF_CAPI_EXPORT extern int TF_CheckpointReaderSize(TF_CheckpointReader *reader);

// These two need a name that exists.
TF_CAPI_EXPORT extern TF_DataType TF_CheckpointReaderGetVariableDataType(
    TF_CheckpointReader *reader, const char *name);
TF_CAPI_EXPORT extern int TF_CheckpointReaderGetVariableNumDims(TF_CheckpointReader *reader,
                                                                const char *name);

// |dims| has room for |num_dims| entries; INVALID_ARGUMENT if that is too few.
TF_CAPI_EXPORT extern void TF_CheckpointReaderGetVariableShape(TF_CheckpointReader *reader,
                                                               const char *name, int64_t *dims,
                                                               int num_dims, TF_Status *status);

// Reads the data. The caller deletes the tensor.
TF_CAPI_EXPORT extern TF_Tensor *TF_CheckpointReaderGetTensor(TF_CheckpointReader *reader,
                                                              const char *name, TF_Status *status);

// ---- Questions about an op that need not exist in a graph -----------------------------------

typedef struct TF_AttrBuilder TF_AttrBuilder;

TF_CAPI_EXPORT extern TF_AttrBuilder *TF_NewAttrBuilder(const char *op_name);
TF_CAPI_EXPORT extern void TF_DeleteAttrBuilder(TF_AttrBuilder *builder);
TF_CAPI_EXPORT extern void TF_AttrBuilderSetType(TF_AttrBuilder *builder, const char *attr_name,
                                                 TF_DataType value);
TF_CAPI_EXPORT extern void TF_AttrBuilderSetTypeList(TF_AttrBuilder *builder, const char *attr_name,
                                                     const TF_DataType *values, int num_values);

// OK if a kernel for these attributes exists on that kind of device.
TF_CAPI_EXPORT extern void TF_AttrBuilderCheckCanRunOnDevice(TF_AttrBuilder *builder,
                                                             const char *device_type,
                                                             TF_Status *status);

// The name of the attribute that holds the length of a list input; NULL if it has none. Static.
TF_CAPI_EXPORT extern const char *TF_GetNumberAttrForOpListInput(const char *op_name,
                                                                 int input_index,
                                                                 TF_Status *status);

// 1 or 0; meaningless unless |status| is OK.
TF_CAPI_EXPORT extern int TF_OpIsStateful(const char *op_type, TF_Status *status);

// ---- Platform -------------------------------------------------------------------------------

// Needed on few platforms; may be called on all.
TF_CAPI_EXPORT extern void TF_InitMain(const char *usage, int *argc, char ***argv);

// For tests. Another process may take the port before the caller does.
TF_CAPI_EXPORT extern int TF_PickUnusedPortOrDie(void);

// ---- Eager extras ---------------------------------------------------------------------------

// Copies |len| bytes, which must be one element.
TF_CAPI_EXPORT extern TFE_TensorHandle *TFE_NewTensorHandleFromScalar(TF_DataType data_type,
                                                                      void *data, size_t len,
                                                                      TF_Status *status);

// Collectives: |proto| is a serialized ServerDef. Abort makes running and later collectives fail
// with |status|, an input here. The health check waits at most the given time.
TF_CAPI_EXPORT extern void TFE_EnableCollectiveOps(TFE_Context *ctx, const void *proto,
                                                   size_t proto_len, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_AbortCollectiveOps(TFE_Context *ctx, TF_Status *status);
TF_CAPI_EXPORT extern void TFE_CollectiveOpsCheckPeerHealth(TFE_Context *ctx, const char *task,
                                                            int64_t timeout_in_ms,
                                                            TF_Status *status);

// A shape (rank -1: unknown; dimension -1: unknown) and a type (0: unknown).
struct TF_ShapeAndType {
  int num_dims;
  int64_t *dims;
  TF_DataType dtype;
};
typedef struct TF_ShapeAndType TF_ShapeAndType;

struct TF_ShapeAndTypeList {
  int num_items;
  TF_ShapeAndType *items;
};
typedef struct TF_ShapeAndTypeList TF_ShapeAndTypeList;

// The list owns its items and their dims; setters copy. An array of lists is freed with its lists.
TF_CAPI_EXPORT extern TF_ShapeAndTypeList *TF_NewShapeAndTypeList(int num_shapes);
TF_CAPI_EXPORT extern void TF_ShapeAndTypeListSetShape(TF_ShapeAndTypeList *shape_list, int index,
                                                       const int64_t *dims, int num_dims);
TF_CAPI_EXPORT extern void TF_ShapeAndTypeListSetUnknownShape(TF_ShapeAndTypeList *shape_list,
                                                              int index);
TF_CAPI_EXPORT extern void TF_ShapeAndTypeListSetDtype(TF_ShapeAndTypeList *shape_list, int index,
                                                       TF_DataType dtype);
TF_CAPI_EXPORT extern void TF_DeleteShapeAndTypeList(TF_ShapeAndTypeList *shape_list);
TF_CAPI_EXPORT extern void TF_DeleteShapeAndTypeListArray(TF_ShapeAndTypeList **shape_list_array,
                                                          int num_items);

// The shapes |op| would give. Its own inputs are not looked at: |input_shapes| counts, and
// |input_tensors| (one per shape, entries may be NULL) where a value matters. The caller deletes
// |*output_shapes| and the resource lists.
TF_CAPI_EXPORT extern void TFE_InferShapes(TFE_Op *op, TF_ShapeAndTypeList *input_shapes,
                                           TF_Tensor **input_tensors,
                                           TF_ShapeAndTypeList *input_tensor_as_shapes,
                                           TF_ShapeAndTypeList **input_resource_shapes_and_types,
                                           TF_ShapeAndTypeList **output_shapes,
                                           TF_ShapeAndTypeList ***output_resource_shapes_and_types,
                                           TF_Status *status);

// Off: a "loc:@name" of a node that is missing does not fail the import.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsSetValidateColocationConstraints(
    TF_ImportGraphDefOptions *opts, unsigned char enable);

// Loads a device plugin and its kernels. The code stays loaded after the handle is deleted.
TF_CAPI_EXPORT extern TF_Library *TF_LoadPluggableDeviceLibrary(const char *library_filename,
                                                                TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeletePluggableDeviceLibraryHandle(TF_Library *lib_handle);

// Fails if the graph has no such function.
TF_CAPI_EXPORT extern void TF_GraphRemoveFunction(TF_Graph *g, const char *func_name,
                                                  TF_Status *status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_C_API_EXPERIMENTAL_H_

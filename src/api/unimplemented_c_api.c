// SPDX-License-Identifier: Apache-2.0
// unimplemented_c_api.c: fall-backs for graphs, sessions, checkpoints, SavedModels.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function.h"
#include "tensorflow/c/experimental/saved_model/public/concrete_function_list.h"
#include "tensorflow/c/experimental/saved_model/public/saved_model_api.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_function.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_function_metadata.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_param.h"
#include "tensorflow/c/experimental/saved_model/public/signature_def_param_list.h"
#include "tensorflow/c/experimental/saved_model/public/tensor_spec.h"

// Inside macro arguments clang-format reads a pointer as a product.
// clang-format off

// tensorflow/c/c_api.h
ZERO(const char *, TF_Version, (void))
FAIL_VOID(TF_TensorFromProto, (const TF_Buffer *from, TF_Tensor *to, TF_Status *status))
ZERO(TF_SessionOptions *, TF_NewSessionOptions, (void))
NOTHING(TF_SetTarget, (TF_SessionOptions *options, const char *target))
FAIL_VOID(TF_SetConfig,
          (TF_SessionOptions *options, const void *proto, size_t proto_len, TF_Status *status))
NOTHING(TF_DeleteSessionOptions, (TF_SessionOptions *options))
ZERO(TF_Graph *, TF_NewGraph, (void))
NOTHING(TF_DeleteGraph, (TF_Graph *graph))
FAIL_VOID(TF_GraphSetTensorShape,
          (TF_Graph *graph, TF_Output output, const int64_t *dims, const int num_dims,
           TF_Status *status))
FAIL(int, TF_GraphGetTensorNumDims, (TF_Graph *graph, TF_Output output, TF_Status *status))
FAIL_VOID(TF_GraphGetTensorShape,
          (TF_Graph *graph, TF_Output output, int64_t *dims, int num_dims, TF_Status *status))
ZERO(TF_OperationDescription *, TF_NewOperationLocked,
     (TF_Graph *graph, const char *op_type, const char *oper_name))
ZERO(TF_OperationDescription *, TF_NewOperation,
     (TF_Graph *graph, const char *op_type, const char *oper_name))
NOTHING(TF_SetDevice, (TF_OperationDescription *desc, const char *device))
NOTHING(TF_AddInput, (TF_OperationDescription *desc, TF_Output input))
NOTHING(TF_AddInputList, (TF_OperationDescription *desc, const TF_Output *inputs, int num_inputs))
NOTHING(TF_AddControlInput, (TF_OperationDescription *desc, TF_Operation *input))
NOTHING(TF_ColocateWith, (TF_OperationDescription *desc, TF_Operation *op))
NOTHING(TF_SetAttrString,
        (TF_OperationDescription *desc, const char *attr_name, const void *value, size_t length))
NOTHING(TF_SetAttrStringList,
        (TF_OperationDescription *desc, const char *attr_name, const void *const *values,
         const size_t *lengths, int num_values))
NOTHING(TF_SetAttrInt, (TF_OperationDescription *desc, const char *attr_name, int64_t value))
NOTHING(TF_SetAttrIntList,
        (TF_OperationDescription *desc, const char *attr_name, const int64_t *values,
         int num_values))
NOTHING(TF_SetAttrFloat, (TF_OperationDescription *desc, const char *attr_name, float value))
NOTHING(TF_SetAttrFloatList,
        (TF_OperationDescription *desc, const char *attr_name, const float *values, int num_values))
NOTHING(TF_SetAttrBool, (TF_OperationDescription *desc, const char *attr_name, unsigned char value))
NOTHING(TF_SetAttrBoolList,
        (TF_OperationDescription *desc, const char *attr_name, const unsigned char *values,
         int num_values))
NOTHING(TF_SetAttrType, (TF_OperationDescription *desc, const char *attr_name, TF_DataType value))
NOTHING(TF_SetAttrTypeList,
        (TF_OperationDescription *desc, const char *attr_name, const TF_DataType *values,
         int num_values))
NOTHING(TF_SetAttrPlaceholder,
        (TF_OperationDescription *desc, const char *attr_name, const char *placeholder))
NOTHING(TF_SetAttrFuncName,
        (TF_OperationDescription *desc, const char *attr_name, const char *value, size_t length))
NOTHING(TF_SetAttrShape,
        (TF_OperationDescription *desc, const char *attr_name, const int64_t *dims, int num_dims))
NOTHING(TF_SetAttrShapeList,
        (TF_OperationDescription *desc, const char *attr_name, const int64_t *const *dims,
         const int *num_dims, int num_shapes))
FAIL_VOID(TF_SetAttrTensorShapeProto,
          (TF_OperationDescription *desc, const char *attr_name, const void *proto,
           size_t proto_len, TF_Status *status))
FAIL_VOID(TF_SetAttrTensorShapeProtoList,
          (TF_OperationDescription *desc, const char *attr_name, const void *const *protos,
           const size_t *proto_lens, int num_shapes, TF_Status *status))
FAIL_VOID(TF_SetAttrTensor,
          (TF_OperationDescription *desc, const char *attr_name, TF_Tensor *value,
           TF_Status *status))
FAIL_VOID(TF_SetAttrTensorList,
          (TF_OperationDescription *desc, const char *attr_name, TF_Tensor *const *values,
           int num_values, TF_Status *status))
FAIL_VOID(TF_SetAttrValueProto,
          (TF_OperationDescription *desc, const char *attr_name, const void *proto,
           size_t proto_len, TF_Status *status))
FAIL(TF_Operation *, TF_FinishOperationLocked, (TF_OperationDescription *desc, TF_Status *status))
FAIL(TF_Operation *, TF_FinishOperation, (TF_OperationDescription *desc, TF_Status *status))
ZERO(const char *, TF_OperationName, (TF_Operation *oper))
ZERO(const char *, TF_OperationOpType, (TF_Operation *oper))
ZERO(const char *, TF_OperationDevice, (TF_Operation *oper))
ZERO(int, TF_OperationNumOutputs, (TF_Operation *oper))
ZERO(TF_DataType, TF_OperationOutputType, (TF_Output oper_out))
FAIL(int, TF_OperationOutputListLength,
     (TF_Operation *oper, const char *arg_name, TF_Status *status))
ZERO(int, TF_OperationNumInputs, (TF_Operation *oper))
ZERO(TF_DataType, TF_OperationInputType, (TF_Input oper_in))
FAIL(int, TF_OperationInputListLength,
     (TF_Operation *oper, const char *arg_name, TF_Status *status))
ZERO(TF_Output, TF_OperationInput, (TF_Input oper_in))
NOTHING(TF_OperationAllInputs, (TF_Operation *oper, TF_Output *inputs, int max_inputs))
ZERO(int, TF_OperationOutputNumConsumers, (TF_Output oper_out))
ZERO(int, TF_OperationOutputConsumers, (TF_Output oper_out, TF_Input *consumers, int max_consumers))
ZERO(int, TF_OperationNumControlInputs, (TF_Operation *oper))
ZERO(int, TF_OperationGetControlInputs,
     (TF_Operation *oper, TF_Operation **control_inputs, int max_control_inputs))
ZERO(int, TF_OperationNumControlOutputs, (TF_Operation *oper))
ZERO(int, TF_OperationGetControlOutputs,
     (TF_Operation *oper, TF_Operation **control_outputs, int max_control_outputs))
FAIL(TF_AttrMetadata, TF_OperationGetAttrMetadata,
     (TF_Operation *oper, const char *attr_name, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrString,
          (TF_Operation *oper, const char *attr_name, void *value, size_t max_length,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrStringList,
          (TF_Operation *oper, const char *attr_name, void **values, size_t *lengths,
           int max_values, void *storage, size_t storage_size, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrInt,
          (TF_Operation *oper, const char *attr_name, int64_t *value, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrIntList,
          (TF_Operation *oper, const char *attr_name, int64_t *values, int max_values,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrFloat,
          (TF_Operation *oper, const char *attr_name, float *value, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrFloatList,
          (TF_Operation *oper, const char *attr_name, float *values, int max_values,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrBool,
          (TF_Operation *oper, const char *attr_name, unsigned char *value, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrBoolList,
          (TF_Operation *oper, const char *attr_name, unsigned char *values, int max_values,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrType,
          (TF_Operation *oper, const char *attr_name, TF_DataType *value, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrTypeList,
          (TF_Operation *oper, const char *attr_name, TF_DataType *values, int max_values,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrShape,
          (TF_Operation *oper, const char *attr_name, int64_t *value, int num_dims,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrShapeList,
          (TF_Operation *oper, const char *attr_name, int64_t **dims, int *num_dims, int num_shapes,
           int64_t *storage, int storage_size, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrTensorShapeProto,
          (TF_Operation *oper, const char *attr_name, TF_Buffer *value, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrTensorShapeProtoList,
          (TF_Operation *oper, const char *attr_name, TF_Buffer **values, int max_values,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrTensor,
          (TF_Operation *oper, const char *attr_name, TF_Tensor **value, TF_Status *status))
FAIL_VOID(TF_OperationGetAttrTensorList,
          (TF_Operation *oper, const char *attr_name, TF_Tensor **values, int max_values,
           TF_Status *status))
FAIL_VOID(TF_OperationGetAttrValueProto,
          (TF_Operation *oper, const char *attr_name, TF_Buffer *output_attr_value,
           TF_Status *status))
ZERO(int, TF_OperationGetNumAttrs, (TF_Operation *oper))
ZERO(int, TF_OperationGetAttrNameLength, (TF_Operation *oper, int i))
FAIL_VOID(TF_OperationGetAttrName, (TF_Operation *oper, int i, char *output, TF_Status *status))
ZERO(TF_Operation *, TF_GraphOperationByName, (TF_Graph *graph, const char *oper_name))
ZERO(TF_Operation *, TF_GraphNextOperation, (TF_Graph *graph, size_t *pos))
FAIL_VOID(TF_GraphToGraphDef, (TF_Graph *graph, TF_Buffer *output_graph_def, TF_Status *status))
FAIL_VOID(TF_GraphGetOpDef,
          (TF_Graph *graph, const char *op_name, TF_Buffer *output_op_def, TF_Status *status))
FAIL_VOID(TF_GraphVersions, (TF_Graph *graph, TF_Buffer *output_version_def, TF_Status *status))
ZERO(TF_ImportGraphDefOptions *, TF_NewImportGraphDefOptions, (void))
NOTHING(TF_DeleteImportGraphDefOptions, (TF_ImportGraphDefOptions *opts))
NOTHING(TF_ImportGraphDefOptionsSetPrefix, (TF_ImportGraphDefOptions *opts, const char *prefix))
NOTHING(TF_ImportGraphDefOptionsSetDefaultDevice,
        (TF_ImportGraphDefOptions *opts, const char *device))
NOTHING(TF_ImportGraphDefOptionsSetUniquifyNames,
        (TF_ImportGraphDefOptions *opts, unsigned char uniquify_names))
NOTHING(TF_ImportGraphDefOptionsSetUniquifyPrefix,
        (TF_ImportGraphDefOptions *opts, unsigned char uniquify_prefix))
NOTHING(TF_ImportGraphDefOptionsAddInputMapping,
        (TF_ImportGraphDefOptions *opts, const char *src_name, int src_index, TF_Output dst))
NOTHING(TF_ImportGraphDefOptionsRemapControlDependency,
        (TF_ImportGraphDefOptions *opts, const char *src_name, TF_Operation *dst))
NOTHING(TF_ImportGraphDefOptionsAddControlDependency,
        (TF_ImportGraphDefOptions *opts, TF_Operation *oper))
NOTHING(TF_ImportGraphDefOptionsAddReturnOutput,
        (TF_ImportGraphDefOptions *opts, const char *oper_name, int index))
ZERO(int, TF_ImportGraphDefOptionsNumReturnOutputs, (const TF_ImportGraphDefOptions *opts))
NOTHING(TF_ImportGraphDefOptionsAddReturnOperation,
        (TF_ImportGraphDefOptions *opts, const char *oper_name))
ZERO(int, TF_ImportGraphDefOptionsNumReturnOperations, (const TF_ImportGraphDefOptions *opts))
NOTHING(TF_ImportGraphDefResultsReturnOutputs,
        (TF_ImportGraphDefResults *results, int *num_outputs, TF_Output **outputs))
NOTHING(TF_ImportGraphDefResultsReturnOperations,
        (TF_ImportGraphDefResults *results, int *num_opers, TF_Operation ***opers))
NOTHING(TF_ImportGraphDefResultsMissingUnusedInputMappings,
        (TF_ImportGraphDefResults *results, int *num_missing_unused_input_mappings,
         const char ***src_names, int **src_indexes))
NOTHING(TF_DeleteImportGraphDefResults, (TF_ImportGraphDefResults *results))
FAIL(TF_ImportGraphDefResults *, TF_GraphImportGraphDefWithResults,
     (TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
      TF_Status *status))
FAIL(TF_ImportGraphDefResults *, TF_GraphImportGraphDefWithResultsNoSerialization,
     (TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
      TF_Status *status))
FAIL_VOID(TF_GraphImportGraphDefWithReturnOutputs,
          (TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
           TF_Output *return_outputs, int num_return_outputs, TF_Status *status))
FAIL_VOID(TF_GraphImportGraphDef,
          (TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
           TF_Status *status))
FAIL_VOID(TF_GraphCopyFunction,
          (TF_Graph *g, const TF_Function *func, const TF_Function *grad, TF_Status *status))
ZERO(int, TF_GraphNumFunctions, (TF_Graph *g))
FAIL(int, TF_GraphGetFunctions, (TF_Graph *g, TF_Function **funcs, int max_func, TF_Status *status))
FAIL_VOID(TF_OperationToNodeDef,
          (TF_Operation *oper, TF_Buffer *output_node_def, TF_Status *status))
FAIL(TF_WhileParams, TF_NewWhile, (TF_Graph *g, TF_Output *inputs, int ninputs, TF_Status *status))
FAIL_VOID(TF_FinishWhile, (const TF_WhileParams *params, TF_Status *status, TF_Output *outputs))
NOTHING(TF_AbortWhile, (const TF_WhileParams *params))
FAIL_VOID(TF_AddGradients,
          (TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx, TF_Output *dx,
           TF_Status *status, TF_Output *dy))
FAIL_VOID(TF_AddGradientsWithPrefix,
          (TF_Graph *g, const char *prefix, TF_Output *y, int ny, TF_Output *x, int nx,
           TF_Output *dx, TF_Status *status, TF_Output *dy))
FAIL(TF_Function *, TF_GraphToFunction,
     (const TF_Graph *fn_body, const char *fn_name, unsigned char append_hash_to_fn_name,
      int num_opers, const TF_Operation *const *opers, int ninputs, const TF_Output *inputs,
      int noutputs, const TF_Output *outputs, const char *const *output_names,
      const TF_FunctionOptions *opts, const char *description, TF_Status *status))
FAIL(TF_Function *, TF_GraphToFunctionWithControlOutputs,
     (const TF_Graph *fn_body, const char *fn_name, unsigned char append_hash_to_fn_name,
      int num_opers, const TF_Operation *const *opers, int ninputs, const TF_Output *inputs,
      int noutputs, const TF_Output *outputs, const char *const *output_names, int ncontrol_outputs,
      const TF_Operation *const *control_outputs, const char *const *control_output_names,
      const TF_FunctionOptions *opts, const char *description, TF_Status *status))
ZERO(const char *, TF_FunctionName, (TF_Function *func))
FAIL_VOID(TF_FunctionToFunctionDef,
          (TF_Function *func, TF_Buffer *output_func_def, TF_Status *status))
FAIL(TF_Function *, TF_FunctionImportFunctionDef,
     (const void *proto, size_t proto_len, TF_Status *status))
FAIL_VOID(TF_FunctionSetAttrValueProto,
          (TF_Function *func, const char *attr_name, const void *proto, size_t proto_len,
           TF_Status *status))
FAIL_VOID(TF_FunctionGetAttrValueProto,
          (TF_Function *func, const char *attr_name, TF_Buffer *output_attr_value,
           TF_Status *status))
NOTHING(TF_DeleteFunction, (TF_Function *func))
FAIL(unsigned char, TF_TryEvaluateConstant,
     (TF_Graph *graph, TF_Output output, TF_Tensor **result, TF_Status *status))
FAIL(TF_Session *, TF_NewSession,
     (TF_Graph *graph, const TF_SessionOptions *opts, TF_Status *status))
FAIL(TF_Session *, TF_LoadSessionFromSavedModel,
     (const TF_SessionOptions *session_options, const TF_Buffer *run_options,
      const char *export_dir, const char *const *tags, int tags_len, TF_Graph *graph,
      TF_Buffer *meta_graph_def, TF_Status *status))
FAIL_VOID(TF_CloseSession, (TF_Session *session, TF_Status *status))
FAIL_VOID(TF_DeleteSession, (TF_Session *session, TF_Status *status))
FAIL_VOID(TF_SessionRun,
          (TF_Session *session, const TF_Buffer *run_options, const TF_Output *inputs,
           TF_Tensor *const *input_values, int ninputs, const TF_Output *outputs,
           TF_Tensor **output_values, int noutputs, const TF_Operation *const *target_opers,
           int ntargets, TF_Buffer *run_metadata, TF_Status *status))
FAIL_VOID(TF_SessionPRunSetup,
          (TF_Session *session, const TF_Output *inputs, int ninputs, const TF_Output *outputs,
           int noutputs, const TF_Operation *const *target_opers, int ntargets, const char **handle,
           TF_Status *status))
FAIL_VOID(TF_SessionPRun,
          (TF_Session *session, const char *handle, const TF_Output *inputs,
           TF_Tensor *const *input_values, int ninputs, const TF_Output *outputs,
           TF_Tensor **output_values, int noutputs, const TF_Operation *const *target_opers,
           int ntargets, TF_Status *status))
NOTHING(TF_DeletePRunHandle, (const char *handle))
FAIL(TF_DeprecatedSession *, TF_NewDeprecatedSession,
     (const TF_SessionOptions *options, TF_Status *status))
FAIL_VOID(TF_CloseDeprecatedSession, (TF_DeprecatedSession *session, TF_Status *status))
FAIL_VOID(TF_DeleteDeprecatedSession, (TF_DeprecatedSession *session, TF_Status *status))
FAIL_VOID(TF_Reset,
          (const TF_SessionOptions *opt, const char **containers, int ncontainers,
           TF_Status *status))
FAIL_VOID(TF_ExtendGraph,
          (TF_DeprecatedSession *session, const void *proto, size_t proto_len, TF_Status *status))
FAIL_VOID(TF_Run,
          (
    TF_DeprecatedSession *session, const TF_Buffer *run_options, const char **input_names,
    TF_Tensor **inputs, int ninputs, const char **output_names, TF_Tensor **outputs, int noutputs,
    const char **target_oper_names, int ntargets, TF_Buffer *run_metadata, TF_Status *status))
FAIL_VOID(TF_PRunSetup,
          (TF_DeprecatedSession *session, const char **input_names, int ninputs,
           const char **output_names, int noutputs, const char **target_oper_names, int ntargets,
           const char **handle, TF_Status *status))
FAIL_VOID(TF_PRun,
          (TF_DeprecatedSession *session, const char *handle, const char **input_names,
           TF_Tensor **inputs, int ninputs, const char **output_names, TF_Tensor **outputs,
           int noutputs, const char **target_oper_names, int ntargets, TF_Status *status))
FAIL(TF_DeviceList *, TF_SessionListDevices, (TF_Session *session, TF_Status *status))
FAIL(TF_DeviceList *, TF_DeprecatedSessionListDevices,
     (TF_DeprecatedSession *session, TF_Status *status))
NOTHING(TF_DeleteDeviceList, (TF_DeviceList *list))
ZERO(int, TF_DeviceListCount, (const TF_DeviceList *list))
FAIL(const char *, TF_DeviceListName, (const TF_DeviceList *list, int index, TF_Status *status))
FAIL(const char *, TF_DeviceListType, (const TF_DeviceList *list, int index, TF_Status *status))
FAIL(int64_t, TF_DeviceListMemoryBytes, (const TF_DeviceList *list, int index, TF_Status *status))
FAIL(uint64_t, TF_DeviceListIncarnation, (const TF_DeviceList *list, int index, TF_Status *status))
FAIL(TF_Library *, TF_LoadLibrary, (const char *library_filename, TF_Status *status))
ZERO(TF_Buffer, TF_GetOpList, (TF_Library *lib_handle))
NOTHING(TF_DeleteLibraryHandle, (TF_Library *lib_handle))
ZERO(TF_Buffer *, TF_GetAllOpList, (void))
FAIL(TF_ApiDefMap *, TF_NewApiDefMap, (TF_Buffer *op_list_buffer, TF_Status *status))
NOTHING(TF_DeleteApiDefMap, (TF_ApiDefMap *apimap))
FAIL_VOID(TF_ApiDefMapPut,
          (TF_ApiDefMap *api_def_map, const char *text, size_t text_len, TF_Status *status))
FAIL(TF_Buffer *, TF_ApiDefMapGet,
     (TF_ApiDefMap *api_def_map, const char *name, size_t name_len, TF_Status *status))
FAIL(TF_Buffer *, TF_GetAllRegisteredKernels, (TF_Status *status))
FAIL(TF_Buffer *, TF_GetRegisteredKernelsForOp, (const char *name, TF_Status *status))
FAIL_VOID(TF_UpdateEdge, (TF_Graph *graph, TF_Output new_src, TF_Input dst, TF_Status *status))
FAIL(TF_Server *, TF_NewServer, (const void *proto, size_t proto_len, TF_Status *status))
FAIL_VOID(TF_ServerStart, (TF_Server *server, TF_Status *status))
FAIL_VOID(TF_ServerStop, (TF_Server *server, TF_Status *status))
FAIL_VOID(TF_ServerJoin, (TF_Server *server, TF_Status *status))
ZERO(const char *, TF_ServerTarget, (TF_Server *server))
NOTHING(TF_DeleteServer, (TF_Server *server))
NOTHING(TF_RegisterLogListener, (void (*listener)(const char *)))
FAIL_VOID(TF_RegisterFilesystemPlugin, (const char *plugin_filename, TF_Status *status))
NOTHING(TF_AddOperationControlInput, (TF_Graph *graph, TF_Operation *op, TF_Operation *input))
FAIL_VOID(TF_SetAttr,
          (TF_Graph *graph, TF_Operation *op, const char *attr_name, TF_Buffer *attr_value_proto,
           TF_Status *status))
FAIL_VOID(TF_ClearAttr,
          (TF_Graph *graph, TF_Operation *op, const char *attr_name, TF_Status *status))
NOTHING(TF_SetFullType, (TF_Graph *graph, TF_Operation *op, const TF_Buffer *full_type_proto))
NOTHING(TF_SetRequestedDevice, (TF_Graph *graph, TF_Operation *op, const char *device))
NOTHING(TF_RemoveAllControlInputs, (TF_Graph *graph, TF_Operation *op))
NOTHING(TF_SetRequireShapeInferenceFns, (TF_Graph *graph, bool require))
FAIL_VOID(TF_ExtendSession, (TF_Session *session, TF_Status *status))
ZERO(TF_Buffer *, TF_GetHandleShapeAndType, (TF_Graph *graph, TF_Output output))
FAIL_VOID(TF_SetHandleShapeAndType,
          (TF_Graph *graph, TF_Output output, const void *proto, size_t proto_len,
           TF_Status *status))
FAIL_VOID(TF_AddWhileInputHack,
          (TF_Graph *graph, TF_Output new_src, TF_Operation *dst, TF_Status *status))

// tensorflow/c/c_api_experimental.h
NOTHING(TF_EnableXLACompilation, (TF_SessionOptions *options, unsigned char enable))
ZERO(unsigned char, TF_SetXlaEnableLazyCompilation, (unsigned char enable))
ZERO(unsigned char, TF_SetTfXlaCpuGlobalJit, (unsigned char enable))
NOTHING(TF_SetXlaAutoJitMode, (const char *mode))
ZERO(unsigned char, TF_GetXlaAutoJitEnabled, (void))
NOTHING(TF_SetXlaMinClusterSize, (int size))
ZERO(unsigned char, TF_GetXlaConstantFoldingDisabled, (void))
NOTHING(TF_SetXlaConstantFoldingDisabled, (unsigned char should_enable))
ZERO(TF_Buffer *, TF_CreateConfig,
     (unsigned char enable_xla_compilation, unsigned char gpu_memory_allow_growth,
      unsigned int num_cpu_devices))
ZERO(TF_Buffer *, TF_CreateRunOptions, (unsigned char enable_full_trace))
ZERO(const char *, TF_GraphDebugString, (TF_Graph *graph, size_t *len))
ZERO(char *, TF_FunctionDebugString, (TF_Function *func, size_t *len))
FAIL(TF_Tensor *, TF_DequeueNamedTensor, (TF_Session *session, int tensor_id, TF_Status *status))
FAIL_VOID(TF_EnqueueNamedTensor,
          (TF_Session *session, int tensor_id, TF_Tensor *tensor, TF_Status *status))
FAIL(TF_Buffer *, TFE_GetServerDef, (const char *text_proto, TF_Status *status))
FAIL_VOID(TF_MakeInternalErrorStatus, (TF_Status *status, const char *errMsg))
FAIL(TF_CheckpointReader *, TF_NewCheckpointReader, (const char *filename, TF_Status *status))
NOTHING(TF_DeleteCheckpointReader, (TF_CheckpointReader *reader))
ZERO(int, TF_CheckpointReaderHasTensor, (TF_CheckpointReader *reader, const char *name))
ZERO(const char *, TF_CheckpointReaderGetVariable, (TF_CheckpointReader *reader, int index))
ZERO(int, TF_CheckpointReaderSize, (TF_CheckpointReader *reader))
ZERO(TF_DataType, TF_CheckpointReaderGetVariableDataType,
     (TF_CheckpointReader *reader, const char *name))
FAIL_VOID(TF_CheckpointReaderGetVariableShape,
          (TF_CheckpointReader *reader, const char *name, int64_t *dims, int num_dims,
           TF_Status *status))
ZERO(int, TF_CheckpointReaderGetVariableNumDims, (TF_CheckpointReader *reader, const char *name))
FAIL(TF_Tensor *, TF_CheckpointReaderGetTensor,
     (TF_CheckpointReader *reader, const char *name, TF_Status *status))
ZERO(TF_AttrBuilder *, TF_NewAttrBuilder, (const char *op_name))
NOTHING(TF_DeleteAttrBuilder, (TF_AttrBuilder *builder))
NOTHING(TF_AttrBuilderSetType, (TF_AttrBuilder *builder, const char *attr_name, TF_DataType value))
NOTHING(TF_AttrBuilderSetTypeList,
        (TF_AttrBuilder *builder, const char *attr_name, const TF_DataType *values, int num_values))
FAIL_VOID(TF_AttrBuilderCheckCanRunOnDevice,
          (TF_AttrBuilder *builder, const char *device_type, TF_Status *status))
FAIL(const char *, TF_GetNumberAttrForOpListInput,
     (const char *op_name, int input_index, TF_Status *status))
FAIL(int, TF_OpIsStateful, (const char *op_type, TF_Status *status))
NOTHING(TF_InitMain, (const char *usage, int *argc, char ***argv))
ZERO(int, TF_PickUnusedPortOrDie, (void))
FAIL(TFE_TensorHandle *, TFE_NewTensorHandleFromScalar,
     (TF_DataType data_type, void *data, size_t len, TF_Status *status))
FAIL_VOID(TFE_EnableCollectiveOps,
          (TFE_Context *ctx, const void *proto, size_t proto_len, TF_Status *status))
NOTHING(TFE_AbortCollectiveOps, (TFE_Context *ctx, TF_Status *status))
FAIL_VOID(TFE_CollectiveOpsCheckPeerHealth,
          (TFE_Context *ctx, const char *task, int64_t timeout_in_ms, TF_Status *status))
ZERO(TF_ShapeAndTypeList *, TF_NewShapeAndTypeList, (int num_shapes))
NOTHING(TF_ShapeAndTypeListSetShape,
        (TF_ShapeAndTypeList *shape_list, int index, const int64_t *dims, int num_dims))
NOTHING(TF_ShapeAndTypeListSetUnknownShape, (TF_ShapeAndTypeList *shape_list, int index))
NOTHING(TF_ShapeAndTypeListSetDtype,
        (TF_ShapeAndTypeList *shape_list, int index, TF_DataType dtype))
NOTHING(TF_DeleteShapeAndTypeList, (TF_ShapeAndTypeList *shape_list))
NOTHING(TF_DeleteShapeAndTypeListArray, (TF_ShapeAndTypeList **shape_list_array, int num_items))
FAIL_VOID(TFE_InferShapes,
          (
    TFE_Op *op, TF_ShapeAndTypeList *input_shapes, TF_Tensor **input_tensors,
    TF_ShapeAndTypeList *input_tensor_as_shapes,
    TF_ShapeAndTypeList **input_resource_shapes_and_types, TF_ShapeAndTypeList **output_shapes,
    TF_ShapeAndTypeList ***output_resource_shapes_and_types, TF_Status *status))
NOTHING(TF_ImportGraphDefOptionsSetValidateColocationConstraints,
        (TF_ImportGraphDefOptions *opts, unsigned char enable))
FAIL(TF_Library *, TF_LoadPluggableDeviceLibrary, (const char *library_filename, TF_Status *status))
NOTHING(TF_DeletePluggableDeviceLibraryHandle, (TF_Library *lib_handle))
FAIL_VOID(TF_GraphRemoveFunction, (TF_Graph *g, const char *func_name, TF_Status *status))

// tensorflow/c/experimental/saved_model/public/concrete_function.h
ZERO(TF_FunctionMetadata *, TF_ConcreteFunctionGetMetadata, (TF_ConcreteFunction *func))
FAIL(TFE_Op *, TF_ConcreteFunctionMakeCallOp,
     (TF_ConcreteFunction *func, TFE_TensorHandle **inputs, int num_inputs, TF_Status *status))

// tensorflow/c/experimental/saved_model/public/concrete_function_list.h
ZERO(size_t, TF_ConcreteFunctionListSize, (TF_ConcreteFunctionList *list))
ZERO(TF_ConcreteFunction *, TF_ConcreteFunctionListGet, (TF_ConcreteFunctionList *list, int i))
NOTHING(TF_DeleteConcreteFunctionList, (TF_ConcreteFunctionList *list))

// tensorflow/c/experimental/saved_model/public/saved_model_api.h
FAIL(TF_SavedModel *, TF_LoadSavedModel, (const char *dirname, TFE_Context *ctx, TF_Status *status))
FAIL(TF_SavedModel *, TF_LoadSavedModelWithTags,
     (const char *dirname, TFE_Context *ctx, const char *const *tags, int tags_len,
      TF_Status *status))
NOTHING(TF_DeleteSavedModel, (TF_SavedModel *model))
FAIL(TF_ConcreteFunction *, TF_GetSavedModelConcreteFunction,
     (TF_SavedModel *model, const char *function_path, TF_Status *status))
FAIL(TF_SignatureDefFunction *, TF_GetSavedModelSignatureDefFunction,
     (TF_SavedModel *model, const char *signature_def_key, TF_Status *status))

// tensorflow/c/experimental/saved_model/public/signature_def_function.h
ZERO(TF_SignatureDefFunctionMetadata *, TF_SignatureDefFunctionGetMetadata,
     (TF_SignatureDefFunction *func))
FAIL(TFE_Op *, TF_SignatureDefFunctionMakeCallOp,
     (TF_SignatureDefFunction *func, TFE_TensorHandle **inputs, int num_inputs, TF_Status *status))

// tensorflow/c/experimental/saved_model/public/signature_def_function_metadata.h
ZERO(const TF_SignatureDefParamList *, TF_SignatureDefFunctionMetadataArgs,
     (const TF_SignatureDefFunctionMetadata *list))
ZERO(const TF_SignatureDefParamList *, TF_SignatureDefFunctionMetadataReturns,
     (const TF_SignatureDefFunctionMetadata *list))

// tensorflow/c/experimental/saved_model/public/signature_def_param.h
ZERO(const char *, TF_SignatureDefParamName, (const TF_SignatureDefParam *param))
ZERO(const TF_TensorSpec *, TF_SignatureDefParamTensorSpec, (const TF_SignatureDefParam *param))

// tensorflow/c/experimental/saved_model/public/signature_def_param_list.h
ZERO(size_t, TF_SignatureDefParamListSize, (const TF_SignatureDefParamList *list))
ZERO(const TF_SignatureDefParam *, TF_SignatureDefParamListGet,
     (const TF_SignatureDefParamList *list, int i))

// tensorflow/c/experimental/saved_model/public/tensor_spec.h
ZERO(TF_DataType, TF_TensorSpecDataType, (const TF_TensorSpec *spec))
ZERO(const TF_Shape *, TF_TensorSpecShape, (const TF_TensorSpec *spec))

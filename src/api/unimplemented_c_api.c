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
FAIL_VOID(TF_AddGradients,
          (TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx, TF_Output *dx,
           TF_Status *status, TF_Output *dy))
FAIL_VOID(TF_AddGradientsWithPrefix,
          (TF_Graph *g, const char *prefix, TF_Output *y, int ny, TF_Output *x, int nx,
           TF_Output *dx, TF_Status *status, TF_Output *dy))
FAIL(TF_Server *, TF_NewServer, (const void *proto, size_t proto_len, TF_Status *status))
FAIL_VOID(TF_ServerStart, (TF_Server *server, TF_Status *status))
FAIL_VOID(TF_ServerStop, (TF_Server *server, TF_Status *status))
FAIL_VOID(TF_ServerJoin, (TF_Server *server, TF_Status *status))
ZERO(const char *, TF_ServerTarget, (TF_Server *server))
NOTHING(TF_DeleteServer, (TF_Server *server))
FAIL_VOID(TF_RegisterFilesystemPlugin, (const char *plugin_filename, TF_Status *status))
// tensorflow/c/c_api_experimental.h
FAIL(TF_Tensor *, TF_DequeueNamedTensor, (TF_Session *session, int tensor_id, TF_Status *status))
FAIL_VOID(TF_EnqueueNamedTensor,
          (TF_Session *session, int tensor_id, TF_Tensor *tensor, TF_Status *status))
FAIL(TF_Buffer *, TFE_GetServerDef, (const char *text_proto, TF_Status *status))
FAIL_VOID(TFE_EnableCollectiveOps,
          (TFE_Context *ctx, const void *proto, size_t proto_len, TF_Status *status))
NOTHING(TFE_AbortCollectiveOps, (TFE_Context *ctx, TF_Status *status))
FAIL_VOID(TFE_CollectiveOpsCheckPeerHealth,
          (TFE_Context *ctx, const char *task, int64_t timeout_in_ms, TF_Status *status))

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

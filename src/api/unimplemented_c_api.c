// SPDX-License-Identifier: Apache-2.0
// unimplemented_c_api.c: fall-backs for graphs, sessions, servers.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/experimental/grappler/grappler.h"

// Inside macro arguments clang-format reads a pointer as a product.
// clang-format off

// tensorflow/c/c_api.h
FAIL_VOID(TF_AddGradients,
          (TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx, TF_Output *dx,
           TF_Status *status, TF_Output *dy))
FAIL_VOID(TF_AddGradientsWithPrefix,
          (TF_Graph *g, const char *prefix, TF_Output *y, int ny, TF_Output *x, int nx,
           TF_Output *dx, TF_Status *status, TF_Output *dy))
FAIL_VOID(TF_ServerStart, (TF_Server *server, TF_Status *status))
FAIL_VOID(TF_ServerStop, (TF_Server *server, TF_Status *status))
FAIL_VOID(TF_ServerJoin, (TF_Server *server, TF_Status *status))
ZERO(const char *, TF_ServerTarget, (TF_Server *server))
NOTHING(TF_DeleteServer, (TF_Server *server))
// tensorflow/c/c_api_experimental.h
NOTHING(TFE_AbortCollectiveOps, (TFE_Context *ctx, TF_Status *status))
// tensorflow/c/experimental/grappler/grappler.h
#define LIST(name)                                                                               \
  FAIL_VOID(name##Size, (const TF_GrapplerItem *item, int *num_values, size_t *storage_size,     \
                         TF_Status *status))                                                     \
  FAIL_VOID(name, (const TF_GrapplerItem *item, char **values, size_t *lengths, int num_values,  \
                   void *storage, size_t storage_size, TF_Status *status))
#define PROPERTIES(name)                                                                         \
  FAIL_VOID(name##Size, (TF_GraphProperties *graph_properties, const char *node, int *num_values,\
                         TF_Status *status))                                                     \
  FAIL_VOID(name, (TF_GraphProperties *graph_properties, const char *node,                       \
                   TF_Buffer **properties, int num_values, TF_Status *status))
LIST(TF_GetNodesToPreserveList)
LIST(TF_GetFetchNodesList)
PROPERTIES(TF_GetInputPropertiesList)
PROPERTIES(TF_GetOutputPropertiesList)
ZERO(TF_GraphProperties *, TF_NewGraphProperties, (const TF_GrapplerItem *item))
NOTHING(TF_DeleteGraphProperties, (TF_GraphProperties *graph_properties))
FAIL_VOID(TF_InferStatically,
          (TF_GraphProperties *graph_properties, TF_Bool assume_valid_feeds,
           TF_Bool aggressive_shape_inference, TF_Bool include_input_tensor_values,
           TF_Bool include_output_tensor_values, TF_Status *status))
FAIL(TF_FunctionLibraryDefinition *, TF_NewFunctionLibraryDefinition,
     (const TF_Buffer *graph_buf, TF_Status *status))
NOTHING(TF_DeleteFunctionLibraryDefinition, (TF_FunctionLibraryDefinition *fn_lib))
FAIL_VOID(TF_LookUpOpDef, (TF_FunctionLibraryDefinition *fn_lib, const char *name, TF_Buffer *buf,
                           TF_Status *status))

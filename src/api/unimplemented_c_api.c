// SPDX-License-Identifier: Apache-2.0
// unimplemented_c_api.c: fall-backs for graphs, sessions, servers.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"

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

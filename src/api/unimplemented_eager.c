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
FAIL_VOID(TFE_ContextSetServerDef,
          (TFE_Context *ctx, int keep_alive_secs, const void *proto, size_t proto_len,
           TF_Status *status))

// tensorflow/c/eager/c_api_experimental.h
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

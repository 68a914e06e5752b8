// SPDX-License-Identifier: Apache-2.0
// server.c: what the API has for clusters, in a library that is alone: a ServerDef can be made from
// text and is read before it is refused; services that nobody enabled say so, as TensorFlow's do.

#include <string.h>

#include "api/eager.h"
#include "base/arena.h"
#include "server.pb-c.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

TF_Buffer *TFE_GetServerDef(const char *text_proto, TF_Status *status) {
  fy_arena arena;
  ProtobufCMessage *def;
  TF_Buffer *buffer = NULL;
  fy_error *err = fy_api_begin(status), why;
  fy_error_init(&why);
  fy_arena_init(&arena);
  if (fy_wire_text_parse(&tensorflow__server_def__descriptor, text_proto, strlen(text_proto),
                         &arena, &def, &why) != FY_OK)
    fy_fail(err, FY_INTERNAL, "Invalid text proto for ServerDef: %s", text_proto);
  else
    buffer = fy_api_new_message_buffer(def, err);
  fy_arena_free(&arena);
  fy_error_clear(&why);
  return buffer;
}

// INVALID_ARGUMENT |bad| if the bytes are no ServerDef, else UNIMPLEMENTED.
static void refuse(const char *name, const char *bad, const void *proto, size_t n,
                   TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  if (fy_wire_check(proto, n, &tensorflow__server_def__descriptor, NULL, NULL) != FY_OK)
    fy_fail(err, FY_INVALID_ARGUMENT, "%s", bad);
  else
    fy_fail(err, FY_UNIMPLEMENTED, "%s is not implemented by Ferry: it has no servers", name);
}

#define REFUSE(name)                                                                        \
  do {                                                                                      \
    (void)ctx;                                                                              \
    (void)keep_alive_secs;                                                                  \
    refuse(name, "Invalid tensorflow.ServerDef protocol buffer", proto, proto_len, status); \
  } while (0)

TF_Server *TF_NewServer(const void *proto, size_t proto_len, TF_Status *status) {
  refuse("TF_NewServer", "Could not parse provided bytes into a ServerDef protocol buffer", proto,
         proto_len, status);
  return NULL;
}

void TFE_ContextSetServerDef(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                             size_t proto_len, TF_Status *status) {
  REFUSE("TFE_ContextSetServerDef");
}

void TFE_ContextUpdateServerDef(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                size_t proto_len, TF_Status *status) {
  REFUSE("TFE_ContextUpdateServerDef");
}

void TFE_ContextUpdateServerDefWithTimeout(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                           size_t proto_len, int64_t init_timeout_in_ms,
                                           TF_Status *status) {
  (void)init_timeout_in_ms;
  REFUSE("TFE_ContextUpdateServerDefWithTimeout");
}

void TFE_ContextSetServerDefWithTimeout(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                        size_t proto_len, int64_t init_timeout_in_ms,
                                        TF_Status *status, bool clear_existing_contexts) {
  (void)init_timeout_in_ms;
  (void)clear_existing_contexts;
  REFUSE("TFE_ContextSetServerDefWithTimeout");
}

void TFE_ContextSetServerDefWithTimeoutAndRetries(TFE_Context *ctx, int keep_alive_secs,
                                                  const void *proto, size_t proto_len,
                                                  int64_t init_timeout_in_ms, int retries,
                                                  TF_Status *status, bool clear_existing_contexts) {
  (void)init_timeout_in_ms;
  (void)retries;
  (void)clear_existing_contexts;
  REFUSE("TFE_ContextSetServerDefWithTimeoutAndRetries");
}

void TFE_InitializeLocalOnlyContext(TFE_Context *ctx, int keep_alive_secs, const void *proto,
                                    size_t proto_len, TF_Status *status) {
  REFUSE("TFE_InitializeLocalOnlyContext");
}

void TFE_EnableCollectiveOps(TFE_Context *ctx, const void *proto, size_t proto_len,
                             TF_Status *status) {
  int keep_alive_secs = 0;
  REFUSE("TFE_EnableCollectiveOps");
}

void TFE_CollectiveOpsCheckPeerHealth(TFE_Context *ctx, const char *task, int64_t timeout_in_ms,
                                      TF_Status *status) {
  (void)ctx;
  (void)task;
  (void)timeout_in_ms;
  TF_SetStatus(status, TF_INTERNAL,
               "CheckPeerHealth is not supposed to be called for local collectives");
}

bool TFE_ContextCheckAlive(TFE_Context *ctx, const char *worker_name, TF_Status *status) {
  (void)ctx;
  (void)worker_name;
  TF_SetStatus(status, TF_UNIMPLEMENTED,
               "TFE_ContextCheckAlive is not implemented by Ferry: it has no servers");
  return false;
}

// ---------------------------------------------------------------- coordination
#define DISABLED(name, params, what)                                            \
  void name params {                                                            \
    (void)ctx;                                                                  \
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "Coordination service " what); \
  }
#if defined(__GNUC__)
// The lists below name arguments that nobody reads.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

// clang-format off
DISABLED(TFE_InsertConfigKeyValue,
         (TFE_Context *ctx, const char *key, const char *value, TF_Status *status),
         "agent is not enabled.")
DISABLED(TFE_GetConfigKeyValue,
         (TFE_Context *ctx, const char *key, int64_t timeout_in_ms, TF_Buffer *value_buf,
          TF_Status *status),
         "is not enabled.")
DISABLED(TFE_DeleteConfigKeyValue, (TFE_Context *ctx, const char *key, TF_Status *status),
         "is not enabled.")
DISABLED(TFE_ReportErrorToCluster,
         (TFE_Context *ctx, int error_code, const char *error_message, TF_Status *status),
         "is not enabled.")
DISABLED(TFE_GetTaskStates,
         (TFE_Context *ctx, const TF_Buffer *tasks, void *states, TF_Status *status),
         "is not enabled.")
DISABLED(TFE_WaitAtBarrier,
         (TFE_Context *ctx, const char *barrier_id, int64_t barrier_timeout_in_ms,
          TF_Status *status),
         "is not enabled.")

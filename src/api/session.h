// SPDX-License-Identifier: Apache-2.0
// session.h: what the session half of the C API shares.

#ifndef FY_API_SESSION_H
#define FY_API_SESSION_H

#include "api/api.h"
#include "devices/devices.h"
#include "execute/session.h"

struct fy_trace;

typedef struct fy_api_partial {  // one handle of a partial run
  struct fy_api_partial *next;
  uint64_t number;
  int users;      // calls in progress, under the session's lock
  bool finished;  // the last user frees it
  fy_partial *run;
} fy_api_partial;

struct TF_Session {
  fy_session *session;
  fy_graph *graph;         // one reference
  fy_device_set *devices;  // one reference
  fy_mutex lock;           // guards |partials|
  fy_api_partial *partials;
  int inter_op_pools;  // RunOptions.inter_op_thread_pool is below this
  char *executor;      // one that does not exist, as every run will say; or NULL
  char *metadata;      // under the lock of all sessions: no other open one has the same; or NULL
  struct TF_Session *next, *prev;  // all open sessions, for TF_Reset
};

FY_MUST_CHECK fy_code fy_api_session_new(fy_graph *g, const TF_SessionOptions *o, TF_Session **out,
                                         fy_error *err);
void fy_api_session_free(TF_Session *s);
// Reads and checks what the options' ConfigProto says of this session alone.
FY_MUST_CHECK fy_code fy_api_session_configure(TF_Session *s, const TF_SessionOptions *o,
                                               fy_error *err);
fy_code fy_api_session_no_executor(const TF_Session *s, fy_error *err);
// A run with its options and metadata as the C API takes them; either may be NULL.
FY_MUST_CHECK fy_code fy_api_session_run(TF_Session *s, const TF_Buffer *run_options,
                                         fy_run_args *args, fy_tensor **results,
                                         TF_Buffer *run_metadata, fy_error *err);
// Partial runs; the caller owns |*handle| (fy_free).
FY_MUST_CHECK fy_code fy_api_partial_setup(TF_Session *s, const fy_run_args *args, char **handle,
                                           fy_error *err);
FY_MUST_CHECK fy_code fy_api_partial_run(TF_Session *s, const char *handle, const fy_run_args *args,
                                         fy_tensor **results, fy_error *err);
void fy_api_partials_free(TF_Session *s);

// What |trace| saw as a serialized RunMetadata into |buffer|, which must be empty.
FY_MUST_CHECK fy_code fy_api_run_metadata(const struct fy_trace *trace, bool stats, bool partitions,
                                          TF_Buffer *buffer, fy_error *err);

// What the library has to say, when it was asked to speak: to the listener of
// TF_RegisterLogListener, or to stderr if there is none.
void fy_api_log(const char *text);
void fy_api_log_error(const char *text);  // to stderr in any case
void fy_api_log_eager(bool warning, const char *text);

// Options from a ConfigProto, its bytes or its text; a mistake is named by byte, or by line and column.
FY_MUST_CHECK fy_code fy_api_config(const void *proto, size_t n, fy_arena *arena,
                                    fy_options *options, fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// session.c: TF_Session: make, run, extend, close. The run itself is execute/session.h; a TF_Output
// is an fy_output and a TF_Tensor an fy_tensor, so nothing is converted on the way.

#include "api/session.h"

#include <string.h>

#include "api/eager.h"
#include "api/explain.h"
#include "base/alloc.h"
#include "config.pb-c.h"
#include "execute/trace.h"
#include "observe/oom.h"
#include "wire/proto_util.h"

// ------------------------------------------------------------------ all open sessions
static fy_mutex sessions_lock = FY_MUTEX_INIT;
static TF_Session *sessions;

static fy_code enlist(TF_Session *s, fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&sessions_lock);
  for (const TF_Session *o = s->metadata ? sessions : NULL; o && !code; o = o->next)
    if (o->metadata && strcmp(o->metadata, s->metadata) == 0)
      code = fy_fail(err, FY_INVALID_ARGUMENT,
                     "A session with the same name and version has already been created: "
                     "goo.gle/debugstr \n%s",
                     s->metadata);
  if (!code) {
    s->next = sessions;
    if (sessions) sessions->prev = s;
    sessions = s;
  }
  fy_unlock(&sessions_lock);
  return code;
}

// Its name and version are free again.
static void forget_metadata(TF_Session *s) {
  fy_lock(&sessions_lock);
  fy_free(s->metadata);
  s->metadata = NULL;
  fy_unlock(&sessions_lock);
}

static void delist(TF_Session *s) {
  fy_lock(&sessions_lock);
  if (s->prev)
    s->prev->next = s->next;
  else if (sessions == s)
    sessions = s->next;
  if (s->next) s->next->prev = s->prev;
  s->next = s->prev = NULL;
  fy_unlock(&sessions_lock);
}

// ------------------------------------------------------------------ life
static fy_code check_options(const TF_SessionOptions *o, fy_error *err) {
  if (o->target && *o->target)
    return fy_fail(err, FY_NOT_FOUND,
                   "No session factory registered for the given session options: {target: \"%s\" "
                   "config: } Registered factories are {DIRECT_SESSION}.",
                   o->target);
  fy_options *scratch = fy_malloc(sizeof *scratch);
  if (!scratch) return fy_fail_oom(err, sizeof *scratch);
  fy_options_default(scratch);
  fy_code code = fy_options_environment(scratch, err);
  fy_free(scratch);
  return code;
}

static void free_session(TF_Session *s) {
  fy_api_partials_free(s);
  fy_session_free(s->session);
  if (s->devices) fy_devices_unref(s->devices);
  fy_api_graph_unref(s->graph);
  fy_mutex_destroy(&s->lock);
  fy_free(s->executor);
  fy_free(s->metadata);
  fy_free(s);
}

fy_code fy_api_session_new(fy_graph *g, const TF_SessionOptions *o, TF_Session **out,
                           fy_error *err) {
  FY_TRY(check_options(o, err));
  TF_Session *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  fy_mutex_init(&s->lock);
  s->graph = fy_api_graph_ref(g);
  fy_code code = fy_devices_open(&o->options, &s->devices, err);
  if (!code) code = fy_api_session_configure(s, o, err);
  if (!code) code = fy_session_new(g, s->devices, &o->options, NULL, &s->session, err);
  if (!code) code = fy_api_watch(s->session, err);
  if (!code) code = enlist(s, err);
  if (code) {
    free_session(s);
    return code;
  }
  fy_session_be_strict(s->session);
  s->inter_op_pools = o->options.inter_op_pools > 0 ? o->options.inter_op_pools : 1;
  *out = s;
  return FY_OK;
}

void fy_api_session_free(TF_Session *s) {
  delist(s);
  fy_session_close(s->session);
  free_session(s);
}

TF_Session *TF_NewSession(TF_Graph *graph, const TF_SessionOptions *opts, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_Session *s = NULL;
  fy_api_end(status, fy_api_session_new(fy_api_graph(graph), opts, &s, err));
  return s;
}

void TF_CloseSession(TF_Session *session, TF_Status *status) {
  fy_api_begin(status);
  fy_session_close(session->session);
  forget_metadata(session);
}

void TF_DeleteSession(TF_Session *session, TF_Status *status) {
  fy_api_begin(status);
  if (session) fy_api_session_free(session);
}

void TF_ExtendSession(TF_Session *session, TF_Status *status) {
  // With nothing new TensorFlow leaves the status as it was.
  fy_error unused, *err = &unused;
  bool current = fy_session_is_current(session->session);
  fy_error_init(&unused);
  if (!current) err = fy_api_begin(status);
  fy_code code = fy_session_extend(session->session, err);
  if (!current) fy_api_end(status, code);
  fy_error_clear(&unused);
}

TF_DeviceList *TF_SessionListDevices(TF_Session *session, TF_Status *status) {
  return fy_api_device_list(session->devices, fy_api_begin(status));
}

void TF_Reset(const TF_SessionOptions *opt, const char **containers, int ncontainers,
              TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_code code = check_options(opt, err);
  fy_lock(&sessions_lock);
  for (TF_Session *s = code ? NULL : sessions; s; s = s->next) {
    fy_resources *r = fy_session_resources(s->session);
    if (ncontainers <= 0) fy_resources_clear(r, FY_DEFAULT_CONTAINER);
    for (int i = 0; i < ncontainers; i++) fy_resources_clear(r, containers[i]);
    fy_session_close(s->session);  // as TensorFlow does
  }
  fy_unlock(&sessions_lock);
  fy_api_end(status, code);
}

// ------------------------------------------------------------------ runs
static fy_code parse_run_options(const TF_Buffer *b, fy_arena *arena, Tensorflow__RunOptions **out,
                                 fy_error *err) {
  ProtobufCMessage *m = NULL;
  *out = NULL;
  if (!b) return FY_OK;
  fy_code code = fy_wire_unpack(&tensorflow__run_options__descriptor, b->data, b->length, NULL,
                                arena, &m, err);
  if (code == FY_INVALID_ARGUMENT) return fy_fail(err, code, "Unparseable RunOptions proto");
  *out = (Tensorflow__RunOptions *)m;
  return code;
}

static fy_code run_with_options(TF_Session *s, const TF_Buffer *run_options, fy_run_args *a,
                                fy_tensor **results, TF_Buffer *metadata, fy_error *err) {
  fy_arena arena;
  fy_trace trace;
  Tensorflow__RunOptions *o;
  fy_arena_init(&arena);
  for (int i = 0; i < a->num_fetches; i++) results[i] = NULL;
  fy_code code = parse_run_options(run_options, &arena, &o, err);
  if (!code && metadata && metadata->data)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Passing non-empty run_metadata is invalid.");
  if (!code && o && (o->inter_op_thread_pool < -1 || o->inter_op_thread_pool >= s->inter_op_pools))
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Invalid inter_op_thread_pool: %d",
                   o->inter_op_thread_pool);
  if (code) {
    fy_arena_free(&arena);
    return code;
  }
  bool stats = o && (o->trace_level > TENSORFLOW__RUN_OPTIONS__TRACE_LEVEL__NO_TRACE ||
                     o->report_tensor_allocations_upon_oom);
  bool partitions = o && o->output_partition_graphs;
  if (o) a->timeout_ms = o->timeout_in_ms;
  fy_trace_init(&trace);
  if (metadata && (stats || partitions)) a->trace = &trace;
  code = fy_session_run(s->session, a, results, err);
  if (code == FY_RESOURCE_EXHAUSTED) fy_oom_explain(s->session, a, err);
  if (metadata) {
    // Told also of a run that failed; then its error matters more than one here.
    fy_code told = fy_api_run_metadata(&trace, stats, partitions, metadata, code ? NULL : err);
    for (int i = 0; told && !code && i < a->num_fetches; i++) {
      fy_tensor_release(results[i]);
      results[i] = NULL;
    }
    if (!code) code = told;
  }
  fy_trace_free(&trace);
  fy_arena_free(&arena);
  return code;
}

static inline fy_code run(TF_Session *s, const TF_Buffer *run_options, fy_run_args *args,
                          fy_tensor **results, TF_Buffer *run_metadata, fy_error *err) {
  if (FY_UNLIKELY(s->executor)) return fy_api_session_no_executor(s, err);
  if (FY_UNLIKELY(run_options || run_metadata))
    return run_with_options(s, run_options, args, results, run_metadata, err);
  const fy_code code = fy_session_run(s->session, args, results, err);
  if (FY_UNLIKELY(code == FY_RESOURCE_EXHAUSTED)) fy_oom_explain(s->session, args, err);
  return code;
}

fy_code fy_api_session_run(TF_Session *s, const TF_Buffer *run_options, fy_run_args *args,
                           fy_tensor **results, TF_Buffer *run_metadata, fy_error *err) {
  return run(s, run_options, args, results, run_metadata, err);
}

static inline fy_run_args run_args(const TF_Output *inputs, TF_Tensor *const *input_values,
                                   int ninputs, const TF_Output *outputs, int noutputs,
                                   const TF_Operation *const *targets, int ntargets) {
  return (fy_run_args){.feeds = (const fy_output *)inputs,
                       .feed_values = (fy_tensor *const *)input_values,
                       .num_feeds = ninputs,
                       .fetches = (const fy_output *)outputs,
                       .num_fetches = noutputs,
                       .targets = (fy_node *const *)(uintptr_t)targets,
                       .num_targets = ntargets};
}

void TF_SessionRun(TF_Session *session, const TF_Buffer *run_options, const TF_Output *inputs,
                   TF_Tensor *const *input_values, int ninputs, const TF_Output *outputs,
                   TF_Tensor **output_values, int noutputs, const TF_Operation *const *target_opers,
                   int ntargets, TF_Buffer *run_metadata, TF_Status *status) {
  fy_error *err = fy_api_begin_fast(status);
  fy_run_args a =
      run_args(inputs, input_values, ninputs, outputs, noutputs, target_opers, ntargets);
  const fy_code code =
      run(session, run_options, &a, (fy_tensor **)output_values, run_metadata, err);
  if (FY_UNLIKELY(code)) fy_api_end(status, code);
}

void TF_SessionPRunSetup(TF_Session *session, const TF_Output *inputs, int ninputs,
                         const TF_Output *outputs, int noutputs,
                         const TF_Operation *const *target_opers, int ntargets, const char **handle,
                         TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_run_args a = run_args(inputs, NULL, ninputs, outputs, noutputs, target_opers, ntargets);
  char *name = NULL;
  fy_api_end(status, fy_api_partial_setup(session, &a, &name, err));
  *handle = name;
}

void TF_SessionPRun(TF_Session *session, const char *handle, const TF_Output *inputs,
                    TF_Tensor *const *input_values, int ninputs, const TF_Output *outputs,
                    TF_Tensor **output_values, int noutputs,
                    const TF_Operation *const *target_opers, int ntargets, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_run_args a =
      run_args(inputs, input_values, ninputs, outputs, noutputs, target_opers, ntargets);
  fy_api_end(status, fy_api_partial_run(session, handle, &a, (fy_tensor **)output_values, err));
}

// SPDX-License-Identifier: Apache-2.0
// session_legacy.c: TF_DeprecatedSession: a session with a graph of its own that grows by
// GraphDefs; tensors are named "node:0" or "node". Names are looked up, then everything is as in
// session.c.

#include <string.h>

#include "api/session.h"
#include "base/alloc.h"
#include "graph/import.h"
#include "wire/proto_util.h"

struct TF_DeprecatedSession {
  TF_Session *session;
  fy_graph *graph;
  bool created;  // a graph was given, under its lock
};

TF_DeprecatedSession *TF_NewDeprecatedSession(const TF_SessionOptions *options, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_DeprecatedSession *s = fy_calloc(1, sizeof *s);
  if (!s || !(s->graph = fy_graph_new())) {
    fy_free(s);
    fy_fail_oom(err, sizeof *s);
    return NULL;
  }
  s->session = TF_NewSession((TF_Graph *)s->graph, options, status);
  if (s->session) return s;
  fy_api_graph_unref(s->graph);
  fy_free(s);
  return NULL;
}

void TF_CloseDeprecatedSession(TF_DeprecatedSession *session, TF_Status *status) {
  TF_CloseSession(session->session, status);
}

void TF_DeleteDeprecatedSession(TF_DeprecatedSession *session, TF_Status *status) {
  fy_api_begin(status);
  if (!session) return;
  TF_DeleteSession(session->session, status);
  fy_api_graph_unref(session->graph);
  fy_free(session);
}

TF_DeviceList *TF_DeprecatedSessionListDevices(TF_DeprecatedSession *session, TF_Status *status) {
  return TF_SessionListDevices(session->session, status);
}

static fy_code extend(TF_DeprecatedSession *s, const void *proto, size_t n, fy_arena *arena,
                      fy_error *err) {
  ProtobufCMessage *m;
  fy_code code =
      fy_wire_unpack_view(&tensorflow__graph_def__descriptor, proto, n, NULL, arena, &m, err);
  if (code == FY_INVALID_ARGUMENT) return fy_fail(err, code, "Invalid GraphDef");
  if (code) return code;
  const Tensorflow__GraphDef *def = (const Tensorflow__GraphDef *)m;
  fy_import_options options = {0};
  FY_TRY(fy_session_ready(s->session->session, err));
  fy_lock(&s->graph->lock);
  for (size_t i = 0; i < def->n_node && !code; i++)
    if (fy_graph_find(s->graph, def->node[i]->name))
      code = fy_fail(err, FY_INVALID_ARGUMENT,
                     "GraphDef argument to Extend includes node '%s', which was created by a "
                     "previous call to Create or Extend in this session.",
                     def->node[i]->name);
  if (!code) code = fy_graph_import(s->graph, def, &options, arena, NULL, err);
  if (!code) s->created = true;
  fy_unlock(&s->graph->lock);
  return code;
}

void TF_ExtendGraph(TF_DeprecatedSession *session, const void *proto, size_t proto_len,
                    TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena arena;
  fy_arena_init(&arena);
  fy_api_end(status, extend(session, proto, proto_len, &arena, err));
  fy_arena_free(&arena);
}

// ------------------------------------------------------------------ names
typedef struct names {
  fy_arena arena;
  fy_output *feeds, *fetches;
  fy_node **targets;
} names;

typedef enum wanted { RUN, SETUP_FEED, SETUP_FETCH } wanted;  // partial runs use other words

static fy_code find_output(const fy_graph *g, fy_arena *arena, const char *text, wanted why,
                           fy_output *out, fy_error *err) {
  int32_t index;
  fy_view view = fy_graph_parse_input(text, &index);
  char *name = fy_arena_strndup(arena, view.p, view.n);
  if (!name) return fy_fail_oom(err, view.n);
  out->node = fy_graph_find(g, name);
  out->index = index < 0 ? INT32_MAX : index;  // "^n": an output that no operation has
  if (out->node) return FY_OK;
  if (why == SETUP_FEED)
    return fy_fail(err, FY_NOT_FOUND, "FeedInputs: unable to find feed output %s", text);
  if (why == SETUP_FETCH)
    return fy_fail(err, FY_NOT_FOUND, "FetchOutputs node %s: not found", text);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Tensor %s:%d, specified in either feed_devices or fetch_devices was not found in "
                 "the Graph",
                 name, index);
}

// A target may be named by one of its outputs.
static fy_node *find_target(const fy_graph *g, fy_arena *arena, const char *text) {
  int32_t index;
  fy_view view = fy_graph_parse_input(text, &index);
  char *name = fy_arena_strndup(arena, view.p, view.n);
  return name ? fy_graph_find(g, name) : NULL;
}

static fy_code find_all(const fy_graph *g, bool setup, const char **in, int nin, const char **out,
                        int nout, const char **targets, int ntargets, names *n, fy_error *err) {
  fy_arena *a = &n->arena;
  n->feeds = fy_arena_array(a, (size_t)nin + 1, sizeof *n->feeds);
  n->fetches = fy_arena_array(a, (size_t)nout + 1, sizeof *n->fetches);
  n->targets = fy_arena_array(a, (size_t)ntargets + 1, sizeof *n->targets);
  if (!n->feeds || !n->fetches || !n->targets) return fy_fail_oom(err, sizeof *n->feeds);
  for (int i = 0; i < nin; i++)
    FY_TRY(find_output(g, a, in[i], setup ? SETUP_FEED : RUN, &n->feeds[i], err));
  for (int i = 0; i < nout; i++)
    FY_TRY(find_output(g, a, out[i], setup ? SETUP_FETCH : RUN, &n->fetches[i], err));
  fy_str missing;
  fy_str_init(&missing);
  for (int i = 0; i < ntargets; i++) {
    n->targets[i] = find_target(g, a, targets[i]);
    if (!n->targets[i]) fy_str_printf(&missing, "%s ", targets[i]);
  }
  fy_code code = FY_OK;
  if (missing.len || missing.failed)
    code = fy_fail(err, FY_NOT_FOUND, "PruneForTargets: Some target nodes not found: %s",
                   fy_str_text(&missing));
  fy_str_free(&missing);
  return code;
}

static fy_code look_up(TF_DeprecatedSession *s, const char *what, const char **in, int nin,
                       const char **out, int nout, const char **targets, int ntargets, names *n,
                       fy_run_args *args, fy_error *err) {
  fy_arena_init(&n->arena);
  fy_lock(&s->graph->lock);
  fy_code code = FY_OK;
  if (!s->created)
    code =
        fy_fail(err, FY_INVALID_ARGUMENT, "Session was not created with a graph before %s!", what);
  bool setup = strcmp(what, "PRunSetup()") == 0;
  if (!code) code = find_all(s->graph, setup, in, nin, out, nout, targets, ntargets, n, err);
  fy_unlock(&s->graph->lock);
  *args = (fy_run_args){.feeds = n->feeds,
                        .num_feeds = nin,
                        .fetches = n->fetches,
                        .num_fetches = nout,
                        .targets = n->targets,
                        .num_targets = ntargets};
  return code;
}

static void clear(TF_Tensor **values, int n) {
  for (int i = 0; i < n; i++) values[i] = NULL;
}

void TF_Run(TF_DeprecatedSession *session, const TF_Buffer *run_options, const char **input_names,
            TF_Tensor **inputs, int ninputs, const char **output_names, TF_Tensor **outputs,
            int noutputs, const char **target_oper_names, int ntargets, TF_Buffer *run_metadata,
            TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  names n;
  fy_run_args a;
  clear(outputs, noutputs);
  fy_code code = look_up(session, "Run()", input_names, ninputs, output_names, noutputs,
                         target_oper_names, ntargets, &n, &a, err);
  a.feed_values = (fy_tensor *const *)inputs;
  if (!code)
    code = fy_api_session_run(session->session, run_options, &a, (fy_tensor **)outputs,
                              run_metadata, err);
  fy_arena_free(&n.arena);
  fy_api_end(status, code);
}

void TF_PRunSetup(TF_DeprecatedSession *session, const char **input_names, int ninputs,
                  const char **output_names, int noutputs, const char **target_oper_names,
                  int ntargets, const char **handle, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  names n;
  fy_run_args a;
  char *name = NULL;
  fy_code code = look_up(session, "PRunSetup()", input_names, ninputs, output_names, noutputs,
                         target_oper_names, ntargets, &n, &a, err);
  if (!code) code = fy_api_partial_setup(session->session, &a, &name, err);
  *handle = name;
  fy_arena_free(&n.arena);
  fy_api_end(status, code);
}

void TF_PRun(TF_DeprecatedSession *session, const char *handle, const char **input_names,
             TF_Tensor **inputs, int ninputs, const char **output_names, TF_Tensor **outputs,
             int noutputs, const char **target_oper_names, int ntargets, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  names n;
  fy_run_args a;
  clear(outputs, noutputs);
  fy_code code = look_up(session, "PRun()", input_names, ninputs, output_names, noutputs,
                         target_oper_names, ntargets, &n, &a, err);
  a.feed_values = (fy_tensor *const *)inputs;
  if (!code) code = fy_api_partial_run(session->session, handle, &a, (fy_tensor **)outputs, err);
  fy_arena_free(&n.arena);
  fy_api_end(status, code);
}

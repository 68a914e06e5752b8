// SPDX-License-Identifier: Apache-2.0
// saved_model.c: TF_LoadSessionFromSavedModel.

#include "model/saved_model.h"

#include "api/session.h"
#include "graph/function.h"
#include "graph/import.h"

// Imports, makes the session, restores, initialises. A failure leaves the graph as empty as it was.
static fy_code start(const fy_saved_model *m, fy_graph *g, const TF_SessionOptions *options,
                     const TF_Buffer *run_options, TF_Session **out, fy_error *err) {
  fy_arena arena;
  fy_model_step steps[FY_MODEL_MAX_STEPS];
  int n = 0;
  fy_arena_init(&arena);
  fy_lock(&g->lock);
  fy_funclib_mark mark = fy_funclib_begin(g->functions);
  fy_code code = fy_graph_import(g, m->meta->graph_def, NULL, &arena, NULL, err);
  if (!code) code = fy_saved_model_steps(m, g, &arena, steps, &n, err);
  fy_unlock(&g->lock);
  TF_Session *s = NULL;
  if (!code) code = fy_api_session_new(g, options, &s, err);
  for (int i = 0; !code && i < n; i++) {
    fy_run_args args = {.feeds = steps[i].feeds,
                        .feed_values = steps[i].values,
                        .num_feeds = steps[i].num_feeds,
                        .targets = steps[i].targets,
                        .num_targets = steps[i].num_targets};
    code = fy_api_session_run(s, run_options, &args, NULL, NULL, err);
  }
  fy_arena_free(&arena);
  if (code) {
    if (s) fy_api_session_free(s);
    fy_lock(&g->lock);
    fy_graph_empty(g);
    fy_funclib_rollback(g->functions, mark);
    fy_unlock(&g->lock);
    return code;
  }
  *out = s;
  return FY_OK;
}

static fy_code load(const TF_SessionOptions *options, const TF_Buffer *run_options, const char *dir,
                    const char *const *tags, int num_tags, fy_graph *g, TF_Buffer *meta_graph,
                    TF_Session **out, fy_error *err) {
  fy_saved_model m;
  fy_lock(&g->lock);
  bool empty = g->by_name.live == 0;
  fy_unlock(&g->lock);
  if (!empty) return fy_fail(err, FY_INVALID_ARGUMENT, "Graph is non-empty.");
  fy_code code = fy_saved_model_open(dir, &m, err);
  if (!code) code = fy_saved_model_pick(&m, tags, num_tags, err);
  if (!code) code = start(&m, g, options, run_options, out, err);
  if (!code && meta_graph) code = fy_api_message_to_buffer(&m.meta->base, meta_graph, err);
  if (code && *out) {
    fy_api_session_free(*out);
    *out = NULL;
  }
  fy_saved_model_close(&m);
  return code;
}

TF_Session *TF_LoadSessionFromSavedModel(const TF_SessionOptions *session_options,
                                         const TF_Buffer *run_options, const char *export_dir,
                                         const char *const *tags, int tags_len, TF_Graph *graph,
                                         TF_Buffer *meta_graph_def, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_Session *s = NULL;
  fy_api_end(status, load(session_options, run_options, export_dir, tags, tags_len,
                          fy_api_graph(graph), meta_graph_def, &s, err));
  return s;
}

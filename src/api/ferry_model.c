// SPDX-License-Identifier: Apache-2.0
// ferry_model.c: models with state for ferry.h: SavedModels and TensorFlow 1's checkpoints.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/ferry_api.h"
#include "base/alloc.h"
#include "graph/import.h"
#include "model/saved_model.h"

#define MAX_TAGS 32

struct ferry_model {
  fy_saved_model source;
  fy_arena arena;
  fy_signature *signatures;
  size_t num_signatures;
  fy_asset *assets;
  size_t num_assets;
  ferry_graph *graph;
  ferry_session *session;
};

// ------------------------------------------------------------------ loading
static fy_code open_source(const char *path, fy_saved_model *m, fy_error *err) {
  struct stat st;
  size_t n = strlen(path);
  if (n > 5 && strcmp(path + n - 5, ".meta") == 0) return fy_meta_graph_open(path, m, err);
  fy_code code = fy_saved_model_open(path, m, err);
  if (code != FY_NOT_FOUND || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return code;
  // No SavedModel: perhaps a directory of checkpoints.
  fy_saved_model other;
  fy_error why;
  fy_error_init(&why);
  if (fy_meta_graph_open(path, &other, &why) == FY_OK) {
    fy_saved_model_close(m);
    *m = other;
    fy_error_clear(err);
    code = FY_OK;
  } else {
    fy_saved_model_close(&other);
  }
  fy_error_clear(&why);
  return code;
}

static fy_code pick(fy_saved_model *m, const char *tags, fy_error *err) {
  static const char *const serve[] = {"serve"};
  if (m->meta) return FY_OK;
  if (!tags && m->proto->n_meta_graphs == 1 && m->proto->meta_graphs[0]->graph_def) {
    m->meta = m->proto->meta_graphs[0];
    return FY_OK;
  }
  if (!tags) return fy_saved_model_pick(m, serve, 1, err);
  const char *list[MAX_TAGS];
  char *text = fy_arena_strdup(&m->arena, tags), *save = NULL;
  int n = 0;
  if (!text) return fy_fail_oom(err, strlen(tags));
  for (char *t = strtok_r(text, ", ", &save); t; t = strtok_r(NULL, ", ", &save)) {
    if (n == MAX_TAGS) return fy_fail(err, FY_INVALID_ARGUMENT, "more than %d tags", MAX_TAGS);
    list[n++] = t;
  }
  return fy_saved_model_pick(m, list, n, err);
}

static fy_code start(ferry_model *m, fy_error *err) {
  fy_model_step steps[FY_MODEL_MAX_STEPS];
  int n = 0;
  fy_graph *g = fy_ferry_graph(m->graph);
  fy_lock(&g->lock);
  fy_code code = fy_graph_import(g, m->source.meta->graph_def, NULL, &m->arena, NULL, err);
  if (!code) code = fy_saved_model_steps(&m->source, g, &m->arena, steps, &n, err);
  fy_unlock(&g->lock);
  for (int i = 0; !code && i < n; i++) {
    fy_run_args args = {.feeds = steps[i].feeds,
                        .feed_values = steps[i].values,
                        .num_feeds = steps[i].num_feeds,
                        .targets = steps[i].targets,
                        .num_targets = steps[i].num_targets};
    code = fy_session_run(m->session->session, &args, NULL, err);
  }
  return code;
}

static fy_code load(ferry_runtime *rt, const char *path, const char *tags, ferry_model *m,
                    fy_error *err) {
  ferry_error e = {0};
  FY_TRY(open_source(path, &m->source, err));
  FY_TRY(pick(&m->source, tags, err));
  if (ferry_graph_new(rt, &m->graph, &e) || ferry_session_new(rt, m->graph, &m->session, &e))
    return fy_fail(err, (fy_code)e.code, "%s", e.text);
  FY_TRY(start(m, err));
  FY_TRY(fy_saved_model_assets(&m->source, &m->arena, &m->assets, &m->num_assets, err));
  return fy_saved_model_signatures(m->source.meta, &m->arena, &m->signatures, &m->num_signatures,
                                   err);
}

int ferry_model_load(ferry_runtime *rt, const char *path, const char *tags, ferry_model **out,
                     ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  ferry_model *m = *out = fy_calloc(1, sizeof *m);
  fy_code code = m ? FY_OK : fy_fail_oom(&e, sizeof *m);
  if (!code) {
    fy_arena_init(&m->source.arena);
    fy_arena_init(&m->arena);
    code = load(rt, path, tags, m, &e);
  }
  if (code) {
    ferry_model_free(m);
    *out = NULL;
  }
  return fy_ferry_end(code, &e, err);
}

void ferry_model_free(ferry_model *m) {
  if (!m) return;
  ferry_session_free(m->session);
  if (m->graph) ferry_graph_free(m->graph);
  fy_saved_model_close(&m->source);
  fy_arena_free(&m->arena);
  fy_free(m);
}

ferry_graph *ferry_model_graph(ferry_model *m) {
  return m->graph;
}
ferry_session *ferry_model_session(ferry_model *m) {
  return m->session;
}

// ------------------------------------------------------------------ signatures
static const fy_signature *find_signature(const ferry_model *m, const char *key) {
  for (size_t i = 0; i < m->num_signatures; i++)
    if (strcmp(m->signatures[i].key, key ? key : "serving_default") == 0) return &m->signatures[i];
  return !key && m->num_signatures == 1 ? &m->signatures[0] : NULL;
}

static fy_code need_signature(const ferry_model *m, const char *key, const fy_signature **out,
                              fy_error *err) {
  *out = find_signature(m, key);
  if (*out) return FY_OK;
  fy_str s;
  fy_str_init(&s);
  for (size_t i = 0; i < m->num_signatures; i++)
    fy_str_printf(&s, "%s%s", i ? ", " : "", m->signatures[i].key);
  fy_fail(err, FY_NOT_FOUND, "%s has no signature '%s'; it has: %s", m->source.file,
          key ? key : "serving_default", m->num_signatures ? fy_str_text(&s) : "none");
  fy_str_free(&s);
  return FY_NOT_FOUND;
}

const char *ferry_model_tensor(const ferry_model *m, const char *signature, bool input,
                               const char *key) {
  const fy_signature *s = find_signature(m, signature);
  const fy_signature_value *v = !s ? NULL : input ? s->inputs : s->outputs;
  for (uint32_t i = 0; s && i < (input ? s->num_inputs : s->num_outputs); i++)
    if (strcmp(v[i].key, key) == 0) return v[i].tensor;
  return NULL;
}

int ferry_model_keys(const ferry_model *m, const char *signature, bool inputs, char **out,
                     ferry_error *err) {
  fy_error e;
  const fy_signature *s;
  fy_str text;
  fy_error_init(&e);
  fy_str_init(&text);
  *out = NULL;
  fy_code code = need_signature(m, signature, &s, &e);
  for (uint32_t i = 0; !code && i < (inputs ? s->num_inputs : s->num_outputs); i++)
    fy_str_printf(&text, "%s%s", i ? "," : "", inputs ? s->inputs[i].key : s->outputs[i].key);
  if (code)
    fy_str_free(&text);
  else
    code = fy_ferry_text(&text, out, &e);
  return fy_ferry_end(code, &e, err);
}

static fy_code to_tensors(const ferry_model *m, const fy_signature *s, bool input, int n,
                          const char *const *keys, const char **out, fy_error *err) {
  for (int i = 0; i < n; i++) {
    out[i] = ferry_model_tensor(m, s->key, input, keys[i]);
    if (!out[i])
      return fy_fail(err, FY_INVALID_ARGUMENT, "signature '%s' has no %s '%s'", s->key,
                     input ? "input" : "output", keys[i]);
  }
  return FY_OK;
}

int ferry_model_run(ferry_model *m, const char *signature, int num_inputs,
                    const char *const *input_keys, ferry_tensor *const *inputs, int num_outputs,
                    const char *const *output_keys, ferry_tensor **results, int64_t timeout_ms,
                    ferry_error *err) {
  fy_error e;
  const fy_signature *s;
  fy_error_init(&e);
  for (int i = 0; i < num_outputs; i++) results[i] = NULL;
  if (num_inputs < 0 || num_outputs < 0)
    return fy_ferry_end(fy_fail(&e, FY_INVALID_ARGUMENT, "a negative number of inputs or outputs"),
                        &e, err);
  fy_code code = need_signature(m, signature, &s, &e);
  const char **names = fy_malloc(((size_t)num_inputs + (size_t)num_outputs + 1) * sizeof *names);
  if (!code && !names) code = fy_fail_oom(&e, sizeof *names);
  if (!code) code = to_tensors(m, s, true, num_inputs, input_keys, names, &e);
  if (!code) code = to_tensors(m, s, false, num_outputs, output_keys, names + num_inputs, &e);
  int bad = code ? fy_ferry_end(code, &e, err)
                 : ferry_run(m->session, num_inputs, names, inputs, num_outputs, names + num_inputs,
                             results, timeout_ms, err);
  fy_free((void *)names);
  return bad;
}

// ------------------------------------------------------------------ description
static void print_values(fy_str *s, const char *title, const fy_signature_value *v, uint32_t n) {
  char shape[128];
  for (uint32_t i = 0; i < n; i++)
    fy_str_printf(
        s, "    %-4s %s: %s%s  (%s)\n", i ? "" : title, v[i].key, fy_dtype_name(v[i].dtype),
        v[i].shape.rank < 0 ? "?" : fy_shape_text(v[i].shape.rank, v[i].shape.dims, shape),
        v[i].tensor ? v[i].tensor : "composite");
}

static void describe_text(fy_str *s, const ferry_model *m) {
  const Tensorflow__MetaGraphDef__MetaInfoDef *info = m->source.meta->meta_info_def;
  fy_str_printf(s, "%s\n  tags", m->source.file);
  for (size_t i = 0; info && i < info->n_tags; i++) fy_str_printf(s, " %s", info->tags[i]);
  if (info && info->tensorflow_version && *info->tensorflow_version)
    fy_str_printf(s, "\n  written by TensorFlow %s", info->tensorflow_version);
  fy_str_printf(s, "\n  %zu nodes, %zu functions\n", ferry_graph_size(m->graph),
                (size_t)fy_ferry_graph(m->graph)->functions->by_name.live);
  for (size_t i = 0; i < m->num_signatures; i++) {
    const fy_signature *g = &m->signatures[i];
    fy_str_printf(s, "  signature %s%s%s%s\n", g->key, *g->method ? " (" : "", g->method,
                  *g->method ? ")" : "");
    print_values(s, "in", g->inputs, g->num_inputs);
    print_values(s, "out", g->outputs, g->num_outputs);
  }
  for (size_t i = 0; i < m->num_assets; i++) fy_str_printf(s, "  asset %s\n", m->assets[i].path);
}

static void json_text(fy_str *s, const char *text) {
  fy_str_json(s, text, strlen(text));
}

static void json_values(fy_str *s, const fy_signature_value *v, uint32_t n) {
  fy_str_add(s, "{");
  for (uint32_t i = 0; i < n; i++) {
    fy_str_add(s, i ? ", " : "");
    json_text(s, v[i].key);
    fy_str_printf(s, ": {\"dtype\": \"%s\", \"shape\": ", fy_dtype_name(v[i].dtype));
    if (v[i].shape.rank < 0) {
      fy_str_add(s, "null");
    } else {
      fy_str_add(s, "[");
      for (int32_t d = 0; d < v[i].shape.rank; d++)
        fy_str_printf(s, "%s%lld", d ? ", " : "", (long long)v[i].shape.dims[d]);
      fy_str_add(s, "]");
    }
    fy_str_add(s, ", \"tensor\": ");
    if (v[i].tensor)
      json_text(s, v[i].tensor);
    else
      fy_str_add(s, "null");
    fy_str_add(s, "}");
  }
  fy_str_add(s, "}");
}

static void describe_json(fy_str *s, const ferry_model *m) {
  const Tensorflow__MetaGraphDef__MetaInfoDef *info = m->source.meta->meta_info_def;
  fy_str_add(s, "{\"file\": ");
  json_text(s, m->source.file);
  fy_str_add(s, ", \"tags\": [");
  for (size_t i = 0; info && i < info->n_tags; i++) {
    fy_str_add(s, i ? ", " : "");
    json_text(s, info->tags[i]);
  }
  fy_str_printf(s, "], \"nodes\": %zu, \"signatures\": {", ferry_graph_size(m->graph));
  for (size_t i = 0; i < m->num_signatures; i++) {
    const fy_signature *g = &m->signatures[i];
    fy_str_add(s, i ? ", " : "");
    json_text(s, g->key);
    fy_str_add(s, ": {\"method\": ");
    json_text(s, g->method);
    fy_str_add(s, ", \"inputs\": ");
    json_values(s, g->inputs, g->num_inputs);
    fy_str_add(s, ", \"outputs\": ");
    json_values(s, g->outputs, g->num_outputs);
    fy_str_add(s, "}");
  }
  fy_str_add(s, "}, \"assets\": [");
  for (size_t i = 0; i < m->num_assets; i++) {
    fy_str_add(s, i ? ", " : "");
    json_text(s, m->assets[i].path);
  }
  fy_str_add(s, "]}\n");
}

int ferry_model_describe(const ferry_model *m, ferry_format format, char **out, ferry_error *err) {
  fy_error e;
  fy_str s;
  fy_error_init(&e);
  fy_str_init(&s);
  *out = NULL;
  if (format == FERRY_JSON)
    describe_json(&s, m);
  else
    describe_text(&s, m);
  return fy_ferry_end(fy_ferry_text(&s, out, &e), &e, err);
}

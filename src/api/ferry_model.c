// SPDX-License-Identifier: Apache-2.0
// ferry_model.c: load a model of any format and list what can be called.

#include "api/ferry_model.h"

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "graph/function.h"
#include "graph/import.h"
#include "wire/tensor_proto.h"

// ------------------------------------------------------------------ signatures
static void release(void *tensor) {
  fy_tensor_release(tensor);
}

static fy_code copy_value(fy_arena *a, const fy_signature_value *from, ferry_model_value *to,
                          fy_error *err) {
  to->name = fy_arena_strdup(a, from->key);
  to->tensor = from->tensor ? fy_arena_strdup(a, from->tensor) : NULL;
  to->dtype = (int)from->dtype;
  to->rank = from->shape.rank;
  size_t bytes = from->shape.rank > 0 ? (size_t)from->shape.rank * sizeof(int64_t) : 0;
  to->dims = bytes ? fy_arena_memdup(a, from->shape.dims, bytes) : NULL;
  if (!to->name || (from->tensor && !to->tensor) || (bytes && !to->dims))
    return fy_fail_oom(err, strlen(from->key));
  return FY_OK;
}

static fy_code copy_values(fy_arena *a, const fy_signature_value *from, uint32_t n,
                           const ferry_model_value **out, fy_error *err) {
  ferry_model_value *to = fy_arena_array(a, (size_t)n + 1, sizeof *to);
  if (!to) return fy_fail_oom(err, n * sizeof *to);
  for (uint32_t i = 0; i < n; i++) FY_TRY(copy_value(a, &from[i], &to[i], err));
  *out = to;
  return FY_OK;
}

// SignatureDef.defaults: what an input is if nobody gives it.
static fy_code read_defaults(ferry_model *m, const Tensorflow__MetaGraphDef *meta, int index,
                             fy_error *err) {
  ferry_signature *s = &m->signatures[index];
  m->defaults[index] = fy_arena_array(&m->arena, (size_t)s->num_inputs + 1, sizeof(fy_tensor *));
  if (!m->defaults[index]) return fy_fail_oom(err, sizeof(fy_tensor *));
  for (size_t i = 0; i < meta->n_signature_def; i++) {
    const Tensorflow__SignatureDef *d = meta->signature_def[i]->value;
    if (!d || strcmp(meta->signature_def[i]->key, s->name) != 0) continue;
    for (size_t k = 0; k < d->n_defaults; k++)
      for (int v = 0; v < s->num_inputs; v++) {
        fy_tensor *t;
        if (strcmp(s->inputs[v].name, d->defaults[k]->key) != 0 || !d->defaults[k]->value) continue;
        FY_TRY(fy_wire_tensor_read(d->defaults[k]->value, NULL, &t, err));
        if (fy_arena_defer(&m->arena, release, t)) {
          fy_tensor_release(t);
          return fy_fail_oom(err, sizeof t);
        }
        m->defaults[index][v] = t;
        ((ferry_model_value *)(uintptr_t)s->inputs)[v].optional = true;
      }
  }
  return FY_OK;
}

static fy_code read_signatures(ferry_model *m, const Tensorflow__MetaGraphDef *meta,
                               fy_error *err) {
  fy_arena scratch;
  fy_signature *list;
  size_t n = 0;
  fy_arena_init(&scratch);
  fy_code code = fy_saved_model_signatures(meta, &scratch, &list, &n, err);
  if (!code) {
    m->signatures = fy_arena_array(&m->arena, n + 2, sizeof *m->signatures);
    m->defaults = fy_arena_array(&m->arena, n + 2, sizeof *m->defaults);
    if (!m->signatures || !m->defaults) code = fy_fail_oom(err, n * sizeof *m->signatures);
  }
  for (size_t i = 0; !code && i < n; i++) {
    ferry_signature *s = &m->signatures[i];
    s->name = fy_arena_strdup(&m->arena, list[i].key);
    s->method = fy_arena_strdup(&m->arena, list[i].method);
    s->num_inputs = (int)list[i].num_inputs;
    s->num_outputs = (int)list[i].num_outputs;
    if (!s->name || !s->method) code = fy_fail_oom(err, 64);
    if (!code) code = copy_values(&m->arena, list[i].inputs, list[i].num_inputs, &s->inputs, err);
    if (!code)
      code = copy_values(&m->arena, list[i].outputs, list[i].num_outputs, &s->outputs, err);
    if (!code) code = read_defaults(m, meta, (int)i, err);
    m->num_signatures = (int)i + 1;
  }
  fy_arena_free(&scratch);
  return code;
}

// ------------------------------------------------------------------ a graph without signatures
static bool is_input(const fy_node *n) {
  return strcmp(n->op_name, "Placeholder") == 0 || strcmp(n->op_name, "PlaceholderV2") == 0;
}

static bool is_value(fy_dtype t) {
  t = fy_dtype_base(t);
  return t != FY_RESOURCE && t != FY_VARIANT;
}

// Nobody reads it, and it computes something from what is fed or stored.
static bool is_output(const fy_node *n, const char *saver_scope) {
  if (!n->num_outputs || n->num_control_outs || is_input(n) || !is_value(n->outputs[0].dtype) ||
      strncmp(n->op_name, "Placeholder", 11) == 0 || strcmp(n->op_name, "Const") == 0)
    return false;
  if (saver_scope && strncmp(n->name, saver_scope, strlen(saver_scope)) == 0) return false;
  for (uint32_t i = 0; i < n->num_outputs; i++)
    if (n->outputs[i].num_uses) return false;
  return true;
}

static fy_code add_value(ferry_model *m, const fy_node *n, ferry_model_value *list, int *count,
                         uint32_t index, fy_error *err) {
  const fy_node_out *o = &n->outputs[index];
  fy_signature_value v = {.key = n->name, .dtype = fy_dtype_base(o->dtype), .shape = o->shape};
  if (index) v.key = fy_arena_printf(&m->arena, "%s:%u", n->name, index);
  v.tensor = fy_arena_printf(&m->arena, "%s:%u", n->name, index);
  if (!v.key || !v.tensor) return fy_fail_oom(err, strlen(n->name));
  return copy_value(&m->arena, &v, &list[(*count)++], err);
}

// [id]: computed from something that is fed. Repeats while loops carry it further.
static bool *fed_nodes(const fy_graph *g, fy_arena *a) {
  bool *fed = fy_arena_array(a, g->num_nodes + 1, sizeof *fed);
  for (bool again = fed != NULL; again;) {
    again = false;
    for (size_t i = 0; i < g->num_nodes; i++) {
      const fy_node *n = g->nodes[i];
      if (!n || fed[i]) continue;
      bool now = is_input(n);
      for (uint32_t k = 0; k < n->num_inputs && !now; k++)
        now = n->inputs[k].node && fed[n->inputs[k].node->id];
      fed[i] = now;
      again |= now;
    }
  }
  return fed;
}

// If something depends on what is fed, the rest (counters, checks) is left out.
static bool drop_unfed(const fy_graph *g, const bool *fed, const char *scope) {
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i] && fed[i] && is_output(g->nodes[i], scope)) return true;
  return false;
}

static fy_code make_signature(ferry_model *m, const char *saver_scope, fy_error *err) {
  fy_graph *g = m->graph;
  size_t ins = 0, outs = 0;
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (n && is_input(n)) ins++;
    if (n && is_output(n, saver_scope)) outs += n->num_outputs;
  }
  m->signatures = fy_arena_array(&m->arena, 2, sizeof *m->signatures);
  m->defaults = fy_arena_array(&m->arena, 2, sizeof *m->defaults);
  ferry_model_value *in = fy_arena_array(&m->arena, ins + 1, sizeof *in);
  ferry_model_value *out = fy_arena_array(&m->arena, outs + 1, sizeof *out);
  if (!m->signatures || !m->defaults || !in || !out) return fy_fail_oom(err, (ins + outs) * 64);
  bool *fed = fed_nodes(g, &m->arena);
  if (!fed) return fy_fail_oom(err, g->num_nodes);
  bool only_fed = drop_unfed(g, fed, saver_scope);
  ferry_signature *s = &m->signatures[0];
  *s = (ferry_signature){.name = "default", .method = "", .inputs = in, .outputs = out};
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (n && is_input(n)) FY_TRY(add_value(m, n, in, &s->num_inputs, 0, err));
    if (!n || !is_output(n, saver_scope) || (only_fed && !fed[i])) continue;
    for (uint32_t k = 0; k < n->num_outputs; k++)
      if (is_value(n->outputs[k].dtype)) FY_TRY(add_value(m, n, out, &s->num_outputs, k, err));
  }
  m->num_signatures = 1;
  return FY_OK;
}

// "save/" of "save/Const:0".
static const char *saver_scope(fy_arena *a, const Tensorflow__MetaGraphDef *meta) {
  const char *name = meta && meta->saver_def ? meta->saver_def->filename_tensor_name : NULL;
  const char *slash = name ? strrchr(name, '/') : NULL;
  return slash ? fy_arena_strndup(a, name, (size_t)(slash + 1 - name)) : NULL;
}

// ------------------------------------------------------------------ loading
static fy_code keep_assets(ferry_model *m, const fy_model_file *f, fy_error *err) {
  char *const *init = NULL;
  size_t n;
  if (!f->saved.meta) return FY_OK;
  FY_TRY(fy_saved_model_init_nodes(&f->saved, &init, &n, err));
  m->init_nodes = fy_arena_array(&m->arena, n + 1, sizeof *m->init_nodes);
  if (!m->init_nodes) return fy_fail_oom(err, n * sizeof *m->init_nodes);
  for (size_t i = 0; i < n; i++) {
    if (!init[i] || !*init[i]) continue;
    const char *name = fy_arena_strdup(&m->arena, init[i]);
    if (!name) return fy_fail_oom(err, 64);
    m->init_nodes[m->num_init_nodes++] = name;
  }
  FY_TRY(fy_saved_model_assets(&f->saved, &m->arena, &m->assets, &m->num_assets, err));
  for (size_t i = 0; i < m->num_assets; i++) {
    m->assets[i].tensor = fy_arena_strdup(&m->arena, m->assets[i].tensor);
    if (!m->assets[i].tensor) return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

static fy_code start(ferry_model *m, ferry_runtime *rt, const fy_model_file *f, fy_error *err) {
  fy_arena scratch;
  fy_model_step steps[FY_MODEL_MAX_STEPS];
  ferry_error why;
  int n = 0;
  fy_arena_init(&scratch);
  fy_lock(&m->graph->lock);
  static const fy_import_options options = {.consume = true};  // |f| is closed after this
  fy_code code = fy_graph_import(m->graph, f->graph, &options, &scratch, NULL, err);
  if (!code && f->saved.meta)
    code = fy_saved_model_steps(&f->saved, m->graph, &scratch, steps, &n, err);
  if (!code && f->saved.meta) code = read_signatures(m, f->saved.meta, err);
  if (!code && !m->num_signatures)
    code = make_signature(m, saver_scope(&scratch, f->saved.meta), err);
  fy_unlock(&m->graph->lock);
  if (!code) code = keep_assets(m, f, err);
  if (!code && ferry_session_new(rt, (ferry_graph *)m->graph, &m->session, &why))
    code = fy_fail(err, (fy_code)why.code, "%s", why.text);
  for (int i = 0; !code && i < n; i++) {
    fy_run_args args = {.feeds = steps[i].feeds,
                        .feed_values = steps[i].values,
                        .num_feeds = steps[i].num_feeds,
                        .targets = steps[i].targets,
                        .num_targets = steps[i].num_targets};
    code = fy_session_run(m->session->session, &args, NULL, err);
    if (code) fy_error_prepend(err, "%s: cannot %s: ", f->path, steps[i].what);
  }
  fy_arena_free(&scratch);
  return code;
}

static fy_code load(ferry_runtime *rt, const char *path, const char *tags, ferry_model *m,
                    fy_error *err) {
  fy_model_file f;
  fy_code code = fy_model_file_open(path, tags, &f, err);
  if (!code && !f.graph)
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s is a checkpoint: weights without a graph. Load the SavedModel or the .meta "
                   "file that belongs to it",
                   path);
  if (!code && !(m->graph = fy_graph_new())) code = fy_fail_oom(err, sizeof *m->graph);
  if (!code) code = start(m, rt, &f, err);
  fy_model_file_close(&f);
  return code;
}

int ferry_model_load(ferry_runtime *rt, const char *path, const char *tags, ferry_model **out,
                     ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  ferry_model *m = fy_calloc(1, sizeof *m);
  if (!m) return fy_ferry_end(fy_fail_oom(&e, sizeof *m), &e, err);
  fy_arena_init(&m->arena);
  fy_code code = load(rt, path, tags, m, &e);
  if (code)
    ferry_model_free(m);
  else
    *out = m;
  return fy_ferry_end(code, &e, err);
}

void ferry_model_free(ferry_model *m) {
  if (!m) return;
  ferry_session_free(m->session);
  if (m->graph) fy_api_graph_unref(m->graph);
  fy_arena_free(&m->arena);
  fy_free(m);
}

ferry_graph *ferry_model_graph(ferry_model *m) {
  return (ferry_graph *)m->graph;
}

ferry_session *ferry_model_session(ferry_model *m) {
  return m->session;
}

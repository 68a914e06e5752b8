// SPDX-License-Identifier: Apache-2.0
// ferry_graph.c: graphs for ferry.h: load, save, look at, and find nodes by name.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/ferry_api.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "graph/import.h"
#include "wire/config.h"
#include "wire/mapping.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

#define MAX_GRAPH_BYTES 0x7fffffffull  // protobuf's own limit

int ferry_graph_new(ferry_runtime *rt, ferry_graph **out, ferry_error *err) {
  fy_error e;
  (void)rt;
  fy_error_init(&e);
  *out = (ferry_graph *)fy_graph_new();
  return fy_ferry_end(*out ? FY_OK : fy_fail_oom(&e, sizeof(fy_graph)), &e, err);
}

static fy_code parse(const void *bytes, size_t n, bool consume, fy_graph **out, fy_error *err) {
  fy_arena arena;
  ProtobufCMessage *def;
  fy_arena_init(&arena);
  fy_graph *g = fy_graph_new();
  fy_code code = g ? FY_OK : fy_fail_oom(err, sizeof *g);
  if (!code)
    code =
        fy_wire_parse_either(&tensorflow__graph_def__descriptor, bytes, n, &arena, &def, NULL, err);
  if (!code) {
    const fy_import_options options = {.consume = consume};
    fy_lock(&g->lock);
    code =
        fy_graph_import(g, (const Tensorflow__GraphDef *)(void *)def, &options, &arena, NULL, err);
    fy_unlock(&g->lock);
  }
  fy_arena_free(&arena);
  if (code && g) fy_graph_free(g);
  *out = code ? NULL : g;
  return code;
}

int ferry_graph_parse(ferry_runtime *rt, const void *bytes, size_t n, ferry_graph **out,
                      ferry_error *err) {
  fy_error e;
  fy_graph *g;
  (void)rt;
  fy_error_init(&e);
  fy_code code = parse(bytes, n, false, &g, &e);
  *out = (ferry_graph *)g;
  return fy_ferry_end(code, &e, err);
}

int ferry_graph_load(ferry_runtime *rt, const char *path, ferry_graph **out, ferry_error *err) {
  fy_error e;
  fy_wire_view file;
  fy_graph *g = NULL;
  (void)rt;
  fy_error_init(&e);
  *out = NULL;
  fy_code code = fy_wire_view_open(path, MAX_GRAPH_BYTES, &file, &e);
  if (!code) {
    code = parse(file.bytes, file.n, true, &g, &e);
    if (code) fy_error_prepend(&e, "%s: ", path);
  }
  fy_wire_view_close(&file);
  *out = (ferry_graph *)g;
  return fy_ferry_end(code, &e, err);
}

static fy_code save(fy_graph *g, const char *path, bool text, fy_error *err) {
  fy_arena arena;
  Tensorflow__GraphDef *def;
  uint8_t *bytes = NULL;
  size_t n = 0;
  fy_str s;
  fy_arena_init(&arena);
  fy_str_init(&s);
  fy_lock(&g->lock);
  fy_code code = fy_graph_export(g, &arena, &def, err);
  if (!code && text) {
    fy_wire_text_print(&s, &def->base);
    if (s.failed) code = fy_fail_oom(err, s.len);
  } else if (!code) {
    code = fy_wire_pack_graph(def, &bytes, &n, err);
  }
  fy_unlock(&g->lock);
  if (!code)
    code = text ? fy_ferry_write_file(path, (const uint8_t *)fy_str_text(&s), s.len, err)
                : fy_ferry_write_file(path, bytes, n, err);
  fy_free(bytes);
  fy_str_free(&s);
  fy_arena_free(&arena);
  return code;
}

int ferry_graph_save(const ferry_graph *g, const char *path, bool text, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  return fy_ferry_end(save(fy_ferry_graph(g), path, text, &e), &e, err);
}

void ferry_graph_free(ferry_graph *g) {
  if (g) fy_api_graph_unref(fy_ferry_graph(g));
}

struct TF_Graph *ferry_graph_tf(ferry_graph *g) {
  return (struct TF_Graph *)g;
}

int ferry_graph_dump(const ferry_graph *g, char **out, ferry_error *err) {
  fy_error e;
  fy_str s;
  fy_graph *graph = fy_ferry_graph(g);
  fy_error_init(&e);
  fy_str_init(&s);
  fy_lock(&graph->lock);
  fy_graph_dump(&s, graph);
  fy_unlock(&graph->lock);
  return fy_ferry_end(fy_ferry_text(&s, out, &e), &e, err);
}

size_t ferry_graph_size(const ferry_graph *g) {
  fy_graph *graph = fy_ferry_graph(g);
  size_t n = 0;
  fy_lock(&graph->lock);
  for (size_t i = 0; i < graph->num_nodes; i++) n += graph->nodes[i] != NULL;
  fy_unlock(&graph->lock);
  return n;
}

// ------------------------------------------------------------------ what is fed and fetched
static bool is_source(const fy_node *n) {
  return strncmp(n->op_name, "Placeholder", 11) == 0 || strcmp(n->op_name, "Const") == 0 ||
         strcmp(n->op_name, "_Arg") == 0;
}

static bool must_be_fed(const fy_node *n) {
  return strcmp(n->op_name, "Placeholder") == 0 || strcmp(n->op_name, "PlaceholderV2") == 0;
}

static bool is_read(const fy_node *n) {
  if (n->num_control_outs) return true;
  for (uint32_t i = 0; i < n->num_outputs; i++)
    if (n->outputs[i].num_uses) return true;
  return false;
}

static bool is_output(const fy_node *n) {
  return n->num_outputs > 0 && !is_source(n) && !is_read(n);
}

static int list_names(const ferry_graph *g, bool (*want)(const fy_node *), char **out) {
  fy_graph *graph = fy_ferry_graph(g);
  fy_str s;
  fy_str_init(&s);
  fy_lock(&graph->lock);
  for (size_t i = 0; i < graph->num_nodes; i++) {
    const fy_node *n = graph->nodes[i];
    if (n && want(n)) fy_str_printf(&s, "%s%s", s.len ? ", " : "", n->name);
  }
  fy_unlock(&graph->lock);
  return (int)fy_ferry_text(&s, out, NULL);
}

int ferry_graph_outputs(const ferry_graph *g, char **out) {
  return list_names(g, is_output, out);
}

int ferry_graph_inputs(const ferry_graph *g, char **out) {
  return list_names(g, must_be_fed, out);
}

// ------------------------------------------------------------------ names
static fy_code no_such_node(const fy_graph *g, fy_view name, fy_error *err) {
  char word[256];
  const char **names = fy_malloc((g->num_nodes + 1) * sizeof *names);
  size_t n = 0;
  snprintf(word, sizeof word, "%.*s", (int)(name.n < 255 ? name.n : 255), name.p);
  for (size_t i = 0; names && i < g->num_nodes; i++)
    if (g->nodes[i]) names[n++] = g->nodes[i]->name;
  const char *near = names ? fy_nearest(word, names, n) : NULL;
  fy_free(names);
  return fy_fail(err, FY_NOT_FOUND, "the graph has no node '%s'%s%s%s", word,
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

fy_code fy_ferry_find_node(const fy_graph *g, fy_view name, fy_node **out, fy_error *err) {
  *out = fy_map_get(&g->by_name, name.p, name.n);
  return *out ? FY_OK : no_such_node(g, name, err);
}

fy_code fy_ferry_find(const fy_graph *g, fy_view text, fy_output *out, fy_error *err) {
  fy_view name = text;
  long index = 0;
  const char *colon = memrchr(text.p, ':', text.n);
  if (colon) {
    char digits[16];
    size_t n = text.n - (size_t)(colon + 1 - text.p);
    if (n == 0 || n >= sizeof digits || strspn(colon + 1, "0123456789") < n)
      return fy_fail(err, FY_INVALID_ARGUMENT, "'%.*s' is not a node's name or name:output",
                     (int)text.n, text.p);
    memcpy(digits, colon + 1, n);
    digits[n] = 0;
    index = strtol(digits, NULL, 10);
    name.n = (size_t)(colon - text.p);
  }
  FY_TRY(fy_ferry_find_node(g, name, &out->node, err));
  if (index >= (long)out->node->num_outputs)
    return fy_fail(err, FY_OUT_OF_RANGE, "node '%s' (%s) has %u output%s, so '%.*s' does not exist",
                   out->node->name, out->node->op_name, out->node->num_outputs,
                   out->node->num_outputs == 1 ? "" : "s", (int)text.n, text.p);
  out->index = (int32_t)index;
  return FY_OK;
}

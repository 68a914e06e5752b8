// SPDX-License-Identifier: Apache-2.0
// debug.c: graphs and functions as protobuf text. The client frees the text with free().

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/text_format.h"

static char *take(fy_str *s, size_t *len) {
  if (!s->p && !s->failed) fy_str_add(s, "");
  *len = s->len;
  char *text = fy_str_take(s);
  if (!text) *len = 0;
  return text;
}

const char *TF_GraphDebugString(TF_Graph *graph, size_t *len) {
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  fy_str s;
  Tensorflow__GraphDef *def;
  const char *text = NULL;
  fy_arena_init(&tmp);
  fy_str_init(&s);
  *len = 0;
  fy_lock(&g->lock);
  if (fy_graph_export(g, &tmp, &def, NULL) == FY_OK) {
    fy_wire_text_print(&s, &def->base);
    text = take(&s, len);
  }
  fy_unlock(&g->lock);
  fy_str_free(&s);
  fy_arena_free(&tmp);
  return text;
}

char *TF_FunctionDebugString(TF_Function *func, size_t *len) {
  fy_str s;
  fy_str_init(&s);
  fy_wire_text_print(&s, &func->def->base);
  char *text = take(&s, len);
  fy_str_free(&s);
  return text;
}

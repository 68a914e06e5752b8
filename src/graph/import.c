// SPDX-License-Identifier: Apache-2.0
// import.c: the steps of an import, and what order they make the nodes in.
// The idea: nodes are made in the graph's arena but linked into the graph only after everything was
// checked, so a failure leaves the graph as it was. A node is made when its inputs are; among the
// ready ones the first of the GraphDef goes first, as TensorFlow does, so ids are the same.
// Loops: a Merge that reads a NextIteration waits for one other input only; the rest are back
// edges, filled in at the end.

#include "graph/import.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"
#include "graph/import_internal.h"
#include "graph/node.h"
#include "graph/version.h"

fy_view fy_graph_parse_input(const char *text, int32_t *index) {
  size_t n = strlen(text), at = n;
  while (at > 1 && text[at - 1] >= '0' && text[at - 1] <= '9') at--;
  if (at > 1 && at < n && text[at - 1] == ':') {
    int64_t number = 0;
    for (size_t i = at; i < n; i++) {
      number = number * 10 + (text[i] - '0');
      if (number > INT32_MAX) number = INT32_MAX;
    }
    *index = (int32_t)number;
    return (fy_view){text, at - 1};
  }
  if (n && text[0] == '^') {
    *index = FY_IMPORT_CONTROL;
    return (fy_view){text + 1, n - 1};
  }
  *index = 0;
  return (fy_view){text, n};
}

bool fy_import_is_merge(const char *op) {
  return strcmp(op, "Merge") == 0 || strcmp(op, "RefMerge") == 0 || strcmp(op, "_XlaMerge") == 0;
}

bool fy_import_is_next(const char *op) {
  return strcmp(op, "NextIteration") == 0 || strcmp(op, "RefNextIteration") == 0;
}

// ---------------------------------------------------------------- names
static bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool fy_graph_name_is_valid(const char *s, size_t n) {
  bool first = true;  // of a piece; pieces are separated by '>'
  for (size_t i = 0; i < n; i++) {
    if (first ? !is_letter_or_digit(s[i]) && s[i] != '.'
              : !is_letter_or_digit(s[i]) && !strchr("-./_>", s[i]))
      return false;
    first = s[i] == '>';
  }
  return !first;
}

static bool add_prefixes(fy_map *prefixes, const char *name) {
  for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
    if (!fy_map_put(prefixes, name, (size_t)(slash - name), prefixes)) return false;
  return true;
}

bool fy_import_name_taken(const fy_import *im, const char *name) {
  return fy_map_gets(&im->g->by_name, name) || fy_map_gets(&im->graph_prefixes, name);
}

const char *fy_import_unique(fy_import *im, const char *name) {
  for (unsigned count = 1;; count++) {
    char *fresh = fy_arena_printf(&im->g->arena, "%s_%u", name, count);
    if (!fresh) return NULL;
    if (!fy_import_name_taken(im, fresh) && !fy_map_gets(&im->index, fresh) &&
        !fy_map_gets(&im->def_prefixes, fresh))
      return fresh;
  }
}

static fy_code set_prefix(fy_import *im, fy_error *err) {
  const char *given = im->options->prefix ? im->options->prefix : "";
  size_t n = strlen(given);
  if (n && given[n - 1] == '/') n--;
  char *bare = fy_arena_strndup(&im->tmp, given, n);
  if (!bare) return fy_fail_oom(err, n);
  if (*given == '\0') {
    im->prefix = bare;
    return FY_OK;
  }
  if (!fy_graph_name_is_valid(bare, n))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Imported node name prefix '%s/' would lead to invalid node names", bare);
  const char *use = bare;
  if (im->options->uniquify_prefix && fy_import_name_taken(im, bare))
    use = fy_import_unique(im, bare);
  im->prefix = use ? fy_arena_printf(&im->tmp, "%s/", use) : NULL;
  return im->prefix ? FY_OK : fy_fail_oom(err, n);
}

static fy_code check_names(fy_import *im, fy_error *err) {
  const fy_graph *g = im->g;
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i] && !add_prefixes(&im->graph_prefixes, g->nodes[i]->name))
      return fy_fail_oom(err, sizeof(fy_map_item));
  FY_TRY(set_prefix(im, err));
  if (*im->prefix || im->options->uniquify_names || g->num_nodes == 0) return FY_OK;
  for (size_t i = 0; i < im->def->n_node; i++)
    if (fy_import_name_taken(im, im->def->node[i]->name))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Node name '%s' already exists in the Graph",
                     im->def->node[i]->name);
  return FY_OK;
}

// ---------------------------------------------------------------- what the options name
// The key of a mapping; in |buf| if it fits, else in the temporary arena.
static const char *map_key(fy_import *im, fy_view name, int32_t index, char *buf, size_t cap,
                           size_t *len) {
  *len = 0;
  char *key = name.n + 5 <= cap ? buf : fy_arena_alloc(&im->tmp, name.n + 5);
  if (!key) return NULL;
  memcpy(key, &index, sizeof index);
  if (name.n) memcpy(key + sizeof index, name.p, name.n);
  *len = name.n + sizeof index;
  return key;
}

const fy_import_map *fy_import_find_map(fy_import *im, fy_view name, int32_t index, fy_error *err,
                                        fy_code *code) {
  char buf[256];
  size_t len;
  if (im->options->num_maps == 0) return NULL;
  const char *key = map_key(im, name, index, buf, sizeof buf, &len);
  if (!key) {
    *code = fy_fail_oom(err, name.n);
    return NULL;
  }
  return fy_map_get(&im->maps, key, len);
}

static const char *id_text(char *buf, size_t cap, const char *name, int32_t index) {
  fy_str s;
  fy_str_init(&s);
  if (index == FY_IMPORT_CONTROL)
    fy_str_printf(&s, "^%s", name);
  else
    fy_str_printf(&s, "%s:%d", name, index);
  size_t n = s.len < cap - 1 ? s.len : cap - 1;
  memcpy(buf, fy_str_text(&s), n);
  buf[n] = '\0';
  fy_str_free(&s);
  return buf;
}

static fy_code check_options(fy_import *im, fy_error *err) {
  const fy_import_options *o = im->options;
  for (size_t i = 0; i < o->num_maps; i++) {
    const fy_import_map *m = &o->maps[i];
    char from[512], to[512];
    const char *dst = m->dst.node ? m->dst.node->name : "";
    id_text(from, sizeof from, m->src, m->src_index);
    id_text(to, sizeof to, dst, m->dst.index);
    if (!m->dst.node || m->dst.node->graph != im->g)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "node '%s' in input_map does not exist in graph (input_map entry: %s->%s)",
                     dst, from, to);
    if ((m->src_index == FY_IMPORT_CONTROL) != (m->dst.index == FY_IMPORT_CONTROL))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input_map entry %s->%s between control edge and non-control edge", from, to);
    size_t len;
    const char *key = map_key(im, fy_view_of(m->src), m->src_index, NULL, 0, &len);
    if (!key || !fy_map_put(&im->maps, key, len, (void *)(uintptr_t)m))
      return fy_fail_oom(err, sizeof *m);
  }
  for (size_t i = 0; i < o->num_controls; i++)
    if (!o->controls[i] || o->controls[i]->graph != im->g)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "node '%s' in control_dependencies does not exist in graph",
                     o->controls[i] ? o->controls[i]->name : "");
  return FY_OK;
}

// ---------------------------------------------------------------- the GraphDef's own structure
static fy_code index_nodes(fy_import *im, fy_error *err) {
  for (size_t i = 0; i < im->def->n_node; i++) {
    const Tensorflow__NodeDef *n = im->def->node[i];
    if (!im->options->function_body && !fy_graph_name_is_valid(n->name, strlen(n->name)))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s': Node name contains invalid characters",
                     n->name);
    if (fy_map_gets(&im->index, n->name))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s' is not unique", n->name);
    if (!fy_map_puts(&im->index, n->name, (void *)(uintptr_t)(i + 1)) ||
        !add_prefixes(&im->def_prefixes, n->name))
      return fy_fail_oom(err, sizeof(fy_map_item));
    if (*n->op == '\0')
      return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s' does not specify an operation", n->name);
    bool control = false;
    for (size_t k = 0; k < n->n_input; k++) {
      if (n->input[k][0] == '^') {
        control = true;
      } else if (control) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Node '%s': Control dependencies must come after regular dependencies",
                       n->name);
      }
    }
  }
  return FY_OK;
}

static bool reads_next(const fy_import *im, const Tensorflow__NodeDef *n) {
  for (size_t k = 0; k < n->n_input; k++) {
    int32_t index;
    fy_view name = fy_graph_parse_input(n->input[k], &index);
    uintptr_t at = (uintptr_t)fy_map_get(&im->index, name.p, name.n);
    if (index != FY_IMPORT_CONTROL && at && fy_import_is_next(im->def->node[at - 1]->op))
      return true;
  }
  return false;
}

static uint32_t count_controls(const Tensorflow__NodeDef *n) {
  uint32_t count = 0;
  for (size_t k = 0; k < n->n_input; k++) count += n->input[k][0] == '^';
  return count;
}

// The source of input |k| as number + 1; 0 if it is mapped away.
static fy_code find_source(fy_import *im, const Tensorflow__NodeDef *n, size_t k, uintptr_t *out,
                           fy_error *err) {
  int32_t index;
  fy_code code = FY_OK;
  fy_view name = fy_graph_parse_input(n->input[k], &index);
  *out = 0;
  if (fy_import_find_map(im, name, index, err, &code) || code) return code;
  *out = (uintptr_t)fy_map_get(&im->index, name.p, name.n);
  if (*out) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s': Unknown input node '%s'", n->name,
                 n->input[k]);
}

static void heap_push(fy_import *im, uint32_t v) {
  size_t at = im->heap_n++;
  while (at && im->heap[(at - 1) / 2] > v) {
    im->heap[at] = im->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  im->heap[at] = v;
}

static uint32_t heap_pop(fy_import *im) {
  uint32_t top = im->heap[0], v = im->heap[--im->heap_n];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= im->heap_n) break;
    if (child + 1 < im->heap_n && im->heap[child + 1] < im->heap[child]) child++;
    if (im->heap[child] >= v) break;
    im->heap[at] = im->heap[child];
    at = child;
  }
  im->heap[at] = v;
  return top;
}

static fy_code find_edges(fy_import *im, fy_error *err) {
  const Tensorflow__GraphDef *def = im->def;
  size_t n = def->n_node, edges = 0;
  for (size_t i = 0; i < n; i++) edges += def->node[i]->n_input;
  if (n >= UINT32_MAX - 1 || edges >= UINT32_MAX - 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "GraphDef is too large");
  uint32_t *source = fy_arena_array(&im->tmp, edges + 1, sizeof *source);
  im->pending = fy_arena_array(&im->tmp, n + 1, sizeof *im->pending);
  im->out_at = fy_arena_array(&im->tmp, n + 2, sizeof *im->out_at);
  im->outs = fy_arena_array(&im->tmp, edges + 1, sizeof *im->outs);
  im->heap = fy_arena_array(&im->tmp, n + 1, sizeof *im->heap);
  im->made = fy_arena_array(&im->tmp, n + 1, sizeof *im->made);
  im->order = fy_arena_array(&im->tmp, n + 1, sizeof *im->order);
  if (!source || !im->pending || !im->out_at || !im->outs || !im->heap || !im->made || !im->order)
    return fy_fail_oom(err, (n + edges) * sizeof *source);
  size_t e = 0;
  for (size_t i = 0; i < n; i++) {
    const Tensorflow__NodeDef *node = def->node[i];
    uint32_t pending = (uint32_t)node->n_input;
    if (fy_import_is_merge(node->op) && reads_next(im, node)) pending = count_controls(node) + 1;
    for (size_t k = 0; k < node->n_input; k++, e++) {
      uintptr_t from;
      FY_TRY(find_source(im, node, k, &from, err));
      source[e] = (uint32_t)from;
      if (from) {
        im->out_at[from + 1]++;
      } else if (pending) {
        pending--;
      }
    }
    im->pending[i] = pending;
    if (pending == 0) heap_push(im, (uint32_t)i);
  }
  for (size_t i = 1; i <= n + 1; i++) im->out_at[i] += im->out_at[i - 1];
  e = 0;  // out_at[i + 1] is now where node i's readers start; it moves to their end below
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < def->node[i]->n_input; k++, e++)
      if (source[e]) im->outs[im->out_at[source[e]]++] = (uint32_t)i;
  return FY_OK;
}

static void tell_readers(fy_import *im, size_t number) {
  bool next = fy_import_is_next(im->def->node[number]->op);
  for (uint32_t k = im->out_at[number]; k < im->out_at[number + 1]; k++) {
    uint32_t reader = im->outs[k];
    if (next && fy_import_is_merge(im->def->node[reader]->op)) continue;
    if (im->pending[reader] && --im->pending[reader] == 0 && !im->made[reader])
      heap_push(im, reader);
  }
}

static fy_code make_nodes(fy_import *im, fy_error *err) {
  while (im->heap_n) {
    uint32_t number = heap_pop(im);
    FY_TRY(fy_import_make(im, number, err));
    tell_readers(im, number);
  }
  return im->num_made < im->def->n_node ? fy_import_fail_cycle(im, err) : FY_OK;
}

// ---------------------------------------------------------------- back edges
// A Merge that was made before its NextIteration: its open inputs are named by the GraphDef.
static fy_code close_loop(fy_import *im, size_t number, fy_error *err) {
  const Tensorflow__NodeDef *def = im->def->node[number];
  fy_node *node = im->made[number];
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    if (node->inputs[i].node) continue;
    int32_t index;
    fy_view name = fy_graph_parse_input(def->input[i], &index);
    uintptr_t at = (uintptr_t)fy_map_get(&im->index, name.p, name.n);
    fy_node *from = at ? im->made[at - 1] : NULL;
    if (!from || (uint32_t)index >= from->num_outputs)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Output %d of node %s does not exist. Node only has %u outputs.", index,
                     from ? from->name : "", from ? from->num_outputs : 0u);
    fy_dtype have = from->outputs[index].dtype;
    if (!fy_types_fit(node->input_types[i], have))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %u of node %s was passed %s from %s:%d incompatible with expected %s.",
                     i, node->name, fy_dtype_name(have), from->name, index,
                     fy_dtype_name(node->input_types[i]));
    node->inputs[i] = (fy_output){from, index};
  }
  for (uint32_t i = 0, k = 0; i < node->num_controls; i++) {
    if (node->controls[i]) continue;
    for (; k < def->n_input; k++) {  // the k-th control input that was not made in time
      int32_t index;
      fy_view name = fy_graph_parse_input(def->input[k], &index);
      uintptr_t at = (uintptr_t)fy_map_get(&im->index, name.p, name.n);
      if (index != FY_IMPORT_CONTROL || !at || im->made[at - 1]->mark < node->mark) continue;
      node->controls[i] = im->made[at - 1];
      k++;
      break;
    }
    if (!node->controls[i])
      return fy_fail(err, FY_INTERNAL, "Node '%s' lost a control input", node->name);
  }
  return FY_OK;
}

static fy_code close_loops(fy_import *im, fy_error *err) {
  for (size_t k = 0; k < im->num_made; k++) im->order[k]->mark = (uint32_t)k;
  for (size_t i = 0; i < im->def->n_node; i++)
    if (fy_import_is_merge(im->def->node[i]->op)) FY_TRY(close_loop(im, i, err));
  for (size_t k = 0; k < im->num_made; k++) im->order[k]->mark = 0;
  return FY_OK;
}

// ---------------------------------------------------------------- results
static fy_code return_outputs(fy_import *im, fy_arena *arena, fy_import_results *r, fy_error *err) {
  const fy_import_options *o = im->options;
  r->outputs = fy_arena_array(arena, o->num_return_outputs, sizeof *r->outputs);
  if (!r->outputs) return fy_fail_oom(err, o->num_return_outputs * sizeof *r->outputs);
  for (size_t i = 0; i < o->num_return_outputs; i++) {
    const fy_import_id *id = &o->return_outputs[i];
    fy_code code = FY_OK;
    const fy_import_map *m = fy_import_find_map(im, fy_view_of(id->name), id->index, err, &code);
    if (code) return code;
    if (m) {
      r->outputs[i] = m->dst;
      continue;
    }
    uintptr_t at = (uintptr_t)fy_map_gets(&im->index, id->name);
    if (!at)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Requested return tensor '%s:%d' not found in graph def", id->name, id->index);
    fy_node *node = im->made[at - 1];
    if ((id->index < 0 || (uint32_t)id->index >= node->num_outputs) &&
        id->index != FY_IMPORT_CONTROL)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid return output %d of node '%s', which has %u output(s)", id->index,
                     id->name, node->num_outputs);
    r->outputs[i] = (fy_output){node, id->index};
  }
  return FY_OK;
}

static fy_code return_nodes(fy_import *im, fy_arena *arena, fy_import_results *r, fy_error *err) {
  const fy_import_options *o = im->options;
  r->nodes = fy_arena_array(arena, o->num_return_nodes, sizeof *r->nodes);
  if (!r->nodes) return fy_fail_oom(err, o->num_return_nodes * sizeof *r->nodes);
  for (size_t i = 0; i < o->num_return_nodes; i++) {
    uintptr_t at = (uintptr_t)fy_map_gets(&im->index, o->return_nodes[i]);
    if (!at)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Requested return node '%s' not found in graph def",
                     o->return_nodes[i]);
    r->nodes[i] = im->made[at - 1];
  }
  return FY_OK;
}

static int compare_ids(const void *a, const void *b) {
  const fy_import_id *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static fy_code return_unused(fy_import *im, fy_arena *arena, fy_import_results *r, fy_error *err) {
  const fy_import_options *o = im->options;
  r->unused = fy_arena_array(arena, o->num_maps, sizeof *r->unused);
  if (!r->unused) return fy_fail_oom(err, o->num_maps * sizeof *r->unused);
  for (size_t i = 0; i < o->num_maps; i++) {
    const fy_import_map *m = &o->maps[i];
    size_t len;
    char buf[256];
    const char *key = map_key(im, fy_view_of(m->src), m->src_index, buf, sizeof buf, &len);
    if (!key) return fy_fail_oom(err, len);
    if (im->map_used[i] || fy_map_get(&im->maps, key, len) != m) continue;
    uintptr_t at = (uintptr_t)fy_map_gets(&im->index, m->src);
    if (at && (m->src_index < 0 || (uint32_t)m->src_index < im->made[at - 1]->num_outputs))
      continue;
    char *name = fy_arena_strdup(arena, m->src);
    if (!name) return fy_fail_oom(err, len);
    r->unused[r->num_unused++] = (fy_import_id){name, m->src_index};
  }
  if (r->num_unused) qsort(r->unused, r->num_unused, sizeof *r->unused, compare_ids);
  return FY_OK;
}

// Names that were uniquified after a node had asked to be placed with them.
static fy_code rename_colocations(fy_import *im, fy_error *err) {
  if (im->renamed.live == 0) return FY_OK;
  for (size_t i = 0; i < im->num_made; i++) {
    const fy_attr *found = fy_attrs_get(&im->order[i]->attrs, "_class");
    if (!found || !found->is_list || found->kind != FY_ATTR_STRING) continue;
    for (uint32_t k = 0; k < found->n; k++) {
      fy_view *v = &found->v.strings[k];
      if (v->n < 5 || memcmp(v->p, "loc:@", 5) != 0) continue;
      const char *fresh = fy_map_get(&im->renamed, v->p + 5, v->n - 5);
      if (!fresh) continue;
      char *text = fy_arena_printf(&im->g->arena, "loc:@%s", fresh);
      if (!text) return fy_fail_oom(err, v->n);
      *v = fy_view_of(text);
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- the whole
// Links all or none. |before[i]| is who had the name of order[i].
static fy_code link_all(fy_import *im, fy_error *err) {
  fy_graph *g = im->g;
  fy_node **before = fy_arena_array(&im->tmp, im->num_made, sizeof *before);
  if (!before) return fy_fail_oom(err, im->num_made * sizeof *before);
  for (size_t i = 0; i < im->num_made; i++) {
    before[i] = fy_graph_find(g, im->order[i]->name);
    fy_code code = fy_graph_link(g, im->order[i], err);
    if (code == FY_OK) continue;
    while (i-- > 0) fy_graph_unlink_last(g, before[i]);
    return code;
  }
  return FY_OK;
}

static fy_code run(fy_import *im, fy_arena *arena, fy_import_results *r, fy_error *err) {
  const fy_import_options *o = im->options;
  im->map_used = fy_arena_array(&im->tmp, o->num_maps + 1, 1);
  if (!im->map_used) return fy_fail_oom(err, o->num_maps);
  FY_TRY(check_names(im, err));
  FY_TRY(check_options(im, err));
  FY_TRY(index_nodes(im, err));
  FY_TRY(find_edges(im, err));
  FY_TRY(fy_import_ahead(im, err));
  FY_TRY(make_nodes(im, err));
  FY_TRY(close_loops(im, err));
  if (r) {
    FY_TRY(return_outputs(im, arena, r, err));
    FY_TRY(return_nodes(im, arena, r, err));
    FY_TRY(return_unused(im, arena, r, err));
  }
  FY_TRY(rename_colocations(im, err));
  return link_all(im, err);
}

fy_code fy_graph_import(fy_graph *g, const Tensorflow__GraphDef *def,
                        const fy_import_options *options, fy_arena *arena,
                        fy_import_results *results, fy_error *err) {
  static const fy_import_options none = {0};
  fy_import im = {.g = g,
                  .def = def,
                  .options = options ? options : &none,
                  .splat_budget = FY_WIRE_SPLAT_BYTES};
  if (results) *results = (fy_import_results){0};
  if (!im.options->function_body) FY_TRY(fy_versions_check(def->versions, err));
  fy_arena_init(&im.tmp);
  im.tensor_options = (fy_wire_tensor_options){.max_splat_bytes = FY_WIRE_SPLAT_BYTES,
                                               .splat_budget_bytes = &im.splat_budget,
                                               .ready = &im.ready};
  fy_funclib_mark mark = fy_funclib_begin(g->functions);
  fy_code code = fy_funclib_import(g->functions, def->library, err);
  const int32_t producer_before = g->producer;
  if (!im.options->function_body) {  // shapes are inferred as the older of the two versions did
    int32_t producer = def->versions ? def->versions->producer : 0;
    if (producer < g->producer) g->producer = producer;
  }
  if (!code) code = run(&im, arena, results, err);
  if (code) {
    g->producer = producer_before;
    fy_funclib_rollback(g->functions, mark);
    fy_versions_warn(def->versions, err);
  } else if (!im.options->function_body) {
    code = fy_versions_merge(g, def, err);
  }
  fy_import_ahead_end(&im);
  fy_map_free(&im.index);
  fy_map_free(&im.def_prefixes);
  fy_map_free(&im.graph_prefixes);
  fy_map_free(&im.maps);
  fy_map_free(&im.renamed);
  fy_arena_free(&im.tmp);
  return code;
}

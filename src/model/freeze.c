// SPDX-License-Identifier: Apache-2.0
// freeze.c: what the outputs need, with constants for variables and tables that fill themselves.

#include "model/freeze.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/import.h"
#include "model/freeze_impl.h"
#include "wire/proto_util.h"

static bool is_variable(const char *op) {
  return strcmp(op, "VarHandleOp") == 0 || strcmp(op, "VariableV2") == 0 ||
         strcmp(op, "Variable") == 0;
}

static bool is_table(const char *op) {
  return strcmp(op, "HashTableV2") == 0 || strcmp(op, "HashTable") == 0;
}

typedef struct pruner {
  freezer z;
  fy_map by_name;  // name -> node_def* of the whole graph
  fy_map kept;     // name -> node_def* copies, in the order they were found
  fy_map feeds;    // node name -> itself
  node_list nodes;
} pruner;

// ------------------------------------------------------------------ what is needed
static fy_code copy_node(pruner *p, const node_def *from, node_def **out, fy_error *err) {
  uint8_t *bytes;
  size_t n;
  ProtobufCMessage *copy;
  FY_TRY(fy_wire_pack(&from->base, &bytes, &n, err));
  fy_code code =
      fy_wire_unpack(&tensorflow__node_def__descriptor, bytes, n, NULL, p->z.arena, &copy, err);
  fy_free(bytes);
  *out = (node_def *)copy;
  return code;
}

// An input becomes a placeholder, whatever computed it before.
static fy_code placeholder(pruner *p, const node_def *from, node_def **out, fy_error *err) {
  if (strcmp(from->op, "Placeholder") == 0) return copy_node(p, from, out, err);
  attr_value *type = fy_freeze_find_attr(from, "dtype");
  if (!type) type = fy_freeze_find_attr(from, "T");
  if (!type || type->value_case != TENSORFLOW__ATTR_VALUE__VALUE_TYPE)
    return fy_fail(err, FY_UNIMPLEMENTED, "the input '%s' is computed by %s: cannot be frozen",
                   from->name, from->op);
  *out = fy_freeze_node(&p->z, from->name, "Placeholder");
  return *out && fy_freeze_set_type(&p->z, *out, "dtype", (int)type->type)
             ? FY_OK
             : fy_fail_oom(err, sizeof **out);
}

static fy_code take(pruner *p, const char *text, fy_error *err) {
  int32_t index;
  fy_view name = fy_graph_parse_input(text, &index);
  if (fy_map_get(&p->kept, name.p, name.n)) return FY_OK;
  const node_def *from = fy_map_get(&p->by_name, name.p, name.n);
  node_def *n;
  if (!from) return fy_fail(err, FY_NOT_FOUND, "the graph has no node '%.*s'", (int)name.n, name.p);
  if (fy_map_get(&p->feeds, name.p, name.n))
    FY_TRY(placeholder(p, from, &n, err));
  else
    FY_TRY(copy_node(p, from, &n, err));
  if (!fy_map_puts(&p->kept, n->name, n)) return fy_fail_oom(err, sizeof *n);
  return fy_freeze_add(&p->z, &p->nodes, n, err);
}

// Everything that the nodes from |at| on read.
static fy_code close_over(pruner *p, size_t at, fy_error *err) {
  for (; at < p->nodes.n; at++)
    for (size_t i = 0; i < p->nodes.items[at]->n_input; i++)
      FY_TRY(take(p, p->nodes.items[at]->input[i], err));
  return FY_OK;
}

// ------------------------------------------------------------------ tables
static fy_code add_control(pruner *p, node_def *n, const char *control, fy_error *err) {
  char **inputs = fy_arena_array(p->z.arena, n->n_input + 1, sizeof *inputs);
  char *text = fy_arena_printf(p->z.arena, "^%s", control);
  if (!inputs || !text) return fy_fail_oom(err, 64);
  if (n->n_input) memcpy((void *)inputs, (const void *)n->input, n->n_input * sizeof *inputs);
  inputs[n->n_input++] = text;
  n->input = inputs;
  return FY_OK;
}

static bool can_change(const char *op) {
  return strstr(op, "HashTable") && strncmp(op, "Mutable", 7) == 0;
}

// A kind of operation, and the functions that have been searched for one (name -> node_def*, or |nothing|).
typedef struct search {
  bool (*is)(const char *op);
  fy_map functions;
  int depth;
} search;
static node_def nothing;
enum { MAX_CALLS = 256 };  // of functions in functions

// The node, or one in the functions that it calls: a model that was loaded and saved again makes its
// tables in functions. A function is searched once.
static const node_def *holds(const pruner *p, const node_def *n, search *s) {
  const attr_value *f = fy_freeze_find_attr(n, "f");
  if (s->is(n->op)) return n;
  if (!f || f->value_case != TENSORFLOW__ATTR_VALUE__VALUE_FUNC || !f->func) return NULL;
  const function_def *body = fy_map_gets(&p->z.functions, f->func->name);
  const node_def *found = fy_map_gets(&s->functions, f->func->name);
  if (found || !body || s->depth == MAX_CALLS) return found == &nothing ? NULL : found;
  if (!fy_map_puts(&s->functions, f->func->name, &nothing)) return NULL;
  s->depth++;
  for (size_t i = 0; i < body->n_node_def && !found; i++) found = holds(p, body->node_def[i], s);
  s->depth--;
  if (found && !fy_map_puts(&s->functions, f->func->name, (void *)(uintptr_t)found)) return NULL;
  return found;
}

static bool reads_table(pruner *p, const node_def *n, search *s) {
  for (size_t i = 0; i < n->n_input; i++) {
    int32_t index;
    fy_view name = fy_graph_parse_input(n->input[i], &index);
    const node_def *from = fy_map_get(&p->kept, name.p, name.n);
    if (index >= 0 && from && holds(p, from, s)) return true;
  }
  return false;
}

// Loading ran what fills the tables, so what it assigned to variables is in their values.
static fy_code skip_assignments(pruner *p, size_t from, fy_error *err) {
  for (size_t i = from; i < p->nodes.n; i++) {
    node_def *n = p->nodes.items[i];
    size_t controls = 0;
    if (strcmp(n->op, "AssignVariableOp") != 0 && strcmp(n->op, "Assign") != 0) continue;
    n->op = fy_arena_strdup(p->z.arena, "NoOp");
    if (!n->op) return fy_fail_oom(err, 8);
    for (size_t k = 0; k < n->n_input; k++)
      if (n->input[k][0] == '^') n->input[controls++] = n->input[k];
    n->n_input = controls;
    n->n_attr = 0;
  }
  return FY_OK;
}

// What a table that can change holds came from the checkpoint or from a call, and is in no graph.
static fy_code no_changing_tables(pruner *p, fy_error *err) {
  search s = {.is = can_change};
  const node_def *n = NULL;
  fy_map_init(&s.functions);
  for (size_t i = 0; i < p->nodes.n && !n; i++) n = holds(p, p->nodes.items[i], &s);
  fy_map_free(&s.functions);
  if (!n) return FY_OK;
  return fy_fail(err, FY_FAILED_PRECONDITION,
                 "node '%s' (%s) is a table that can change, and a graph has no place for what it "
                 "holds: this signature cannot be frozen",
                 n->name, n->op);
}

static fy_code wait_for_tables(pruner *p, size_t before, search *s, fy_error *err) {
  const fy_freeze_args *args = p->z.args;
  bool any = false;
  for (size_t i = 0; i < before; i++) any |= holds(p, p->nodes.items[i], s) != NULL;
  if (!any) return FY_OK;
  for (size_t k = 0; k < args->num_init_nodes; k++) FY_TRY(take(p, args->init_nodes[k], err));
  FY_TRY(close_over(p, before, err));
  FY_TRY(skip_assignments(p, before, err));
  for (size_t k = 0; k < args->num_init_nodes; k++) {
    int32_t index;
    fy_view name = fy_graph_parse_input(args->init_nodes[k], &index);
    const char *control = fy_arena_strndup(p->z.arena, name.p, name.n);
    if (!control) return fy_fail_oom(err, name.n);
    for (size_t i = 0; i < before; i++)
      if (reads_table(p, p->nodes.items[i], s))
        FY_TRY(add_control(p, p->nodes.items[i], control, err));
    fy_str_printf(p->z.notes, "tables are filled by '%s', which runs before every lookup\n",
                  control);
  }
  return FY_OK;
}

// Whoever reads a table waits for what fills it; filling it again with the same content is no error.
static fy_code fill_tables(pruner *p, fy_error *err) {
  search s = {.is = is_table};
  fy_map_init(&s.functions);
  fy_code code = wait_for_tables(p, p->nodes.n, &s, err);
  fy_map_free(&s.functions);
  return code;
}

static fy_code set_assets(pruner *p, fy_error *err) {
  for (size_t i = 0; i < p->z.args->num_assets; i++) {
    const fy_asset *a = &p->z.args->assets[i];
    int32_t index;
    fy_view name = fy_graph_parse_input(a->tensor, &index);
    node_def *n = fy_map_get(&p->kept, name.p, name.n), *constant;
    fy_tensor *t;
    bool again = false;
    for (size_t k = i + 1; k < p->z.args->num_assets; k++)  // of equal tensors the last counts
      again |= strcmp(p->z.args->assets[k].tensor, a->tensor) == 0;
    if (!n || again) continue;
    char *real = realpath(a->path, NULL);  // the graph may be run from anywhere
    fy_view path = fy_view_of(real ? fy_arena_strdup(p->z.arena, real) : a->path);
    free(real);
    if (!path.p) return fy_fail_oom(err, 64);
    FY_TRY(fy_tensor_from_strings(0, NULL, &path, &t, err));
    FY_TRY(fy_freeze_keep(&p->z, t, err));
    FY_TRY(fy_freeze_constant(&p->z, n->name, t, &constant, err));
    n->op = constant->op;
    n->attr = constant->attr;
    n->n_attr = constant->n_attr;
    n->n_input = 0;
    fy_str_printf(p->z.notes, "the graph reads the file %s\n", path.p);
  }
  return FY_OK;
}

// ------------------------------------------------------------------ variables
static fy_code set_variables(pruner *p, scope *s, fy_error *err) {
  size_t count = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < p->nodes.n; i++) {
    node_def *n = p->nodes.items[i], *constant;
    fy_tensor *t;
    if (!is_variable(n->op)) continue;
    bool handle = strcmp(n->op, "VarHandleOp") == 0;
    fy_code code = p->z.args->value(p->z.args->arg, n->name, &t, err);
    if (code) {
      fy_error_prepend(err, "variable '%s' has no value to freeze: ", n->name);
      return code;
    }
    FY_TRY(fy_freeze_keep(&p->z, t, err));
    FY_TRY(fy_freeze_constant(&p->z, n->name, t, &constant, err));
    n->op = constant->op;
    n->attr = constant->attr;
    n->n_attr = constant->n_attr;
    n->n_input = 0;
    n->experimental_type = NULL;
    if (handle) FY_TRY(fy_freeze_mark(&p->z, s, n->name, 0, (int)t->dtype, err));
    count++;
    bytes += fy_tensor_bytes(t);
  }
  fy_str_printf(p->z.notes, "%zu variables became constants of %llu bytes\n", count,
                (unsigned long long)bytes);
  return FY_OK;
}

// Ops on references, which constants are not.
static fy_code no_references(pruner *p, fy_error *err) {
  for (size_t i = 0; i < p->nodes.n; i++) {
    node_def *n = p->nodes.items[i];
    static const char *const pairs[][2] = {
        {"RefSwitch", "Switch"},     {"RefEnter", "Enter"}, {"RefExit", "Exit"},
        {"RefIdentity", "Identity"}, {"RefMerge", "Merge"}, {"RefNextIteration", "NextIteration"}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
      if (strcmp(n->op, pairs[k][0]) == 0 && !(n->op = fy_arena_strdup(p->z.arena, pairs[k][1])))
        return fy_fail_oom(err, 16);
    const fy_op *op = fy_op_find(n->op, strlen(n->op));
    for (uint16_t k = 0; op && k < op->spec->num_inputs; k++)
      if (op->spec->inputs[k].is_ref && k < n->n_input)
        return fy_fail(err, FY_FAILED_PRECONDITION,
                       "node '%s' (%s) writes the variable '%s': this signature cannot be frozen",
                       n->name, n->op, n->input[k]);
  }
  return FY_OK;
}

// ------------------------------------------------------------------ what is left
// A group whose head is gone is no group.
static void clean_groups(pruner *p) {
  for (size_t i = 0; i < p->nodes.n; i++) {
    node_def *n = p->nodes.items[i];
    attr_value *v = fy_freeze_find_attr(n, "_class");
    bool gone = false;
    if (!v || v->value_case != TENSORFLOW__ATTR_VALUE__VALUE_LIST) continue;
    for (size_t k = 0; k < v->list->n_s; k++) {
      const ProtobufCBinaryData *s = &v->list->s[k];
      if (s->len > 5 && memcmp(s->data, "loc:@", 5) == 0)
        gone |= !fy_map_get(&p->kept, (const char *)s->data + 5, s->len - 5);
    }
    if (gone) fy_freeze_drop_attr(n, "_class");
  }
}

static fy_code want_function(pruner *p, fy_map *wanted, const char *name, fy_error *err) {
  function_def *f = name ? fy_map_gets(&p->z.functions, name) : NULL;
  if (!f || fy_map_gets(wanted, name)) return FY_OK;
  return fy_map_puts(wanted, f->signature->name, f) ? FY_OK : fy_fail_oom(err, 64);
}

static fy_code want_functions(pruner *p, fy_map *wanted, node_def *const *nodes, size_t n,
                              fy_error *err) {
  for (size_t i = 0; i < n; i++) {
    FY_TRY(want_function(p, wanted, nodes[i]->op, err));
    for (size_t k = 0; k < nodes[i]->n_attr; k++) {
      const attr_value *v = nodes[i]->attr[k]->value;
      if (v && v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_FUNC && v->func)
        FY_TRY(want_function(p, wanted, v->func->name, err));
      if (v && v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST && v->list)
        for (size_t j = 0; j < v->list->n_func; j++)
          FY_TRY(want_function(p, wanted, v->list->func[j]->name, err));
    }
  }
  return FY_OK;
}

static fy_code library(pruner *p, Tensorflow__GraphDef *out, fy_error *err) {
  fy_map wanted;
  fy_map_init(&wanted);
  fy_code code = want_functions(p, &wanted, p->nodes.items, p->nodes.n, err);
  for (uint32_t i = 0; i < wanted.n && !code; i++) {  // grows while it is walked
    const function_def *f = wanted.items[i].value;
    code = want_functions(p, &wanted, f->node_def, f->n_node_def, err);
    for (size_t k = 0; k < f->n_node_def && !code; k++)
      if (is_variable(f->node_def[k]->op))
        code = fy_fail(err, FY_UNIMPLEMENTED, "function '%s' makes the variable '%s' itself",
                       f->signature->name, f->node_def[k]->name);
  }
  if (!code && wanted.n) {
    out->library = fy_wire_new(&tensorflow__function_def_library__descriptor, p->z.arena);
    function_def **list = fy_arena_array(p->z.arena, wanted.n, sizeof *list);
    if (!out->library || !list) {
      code = fy_fail_oom(err, wanted.n * sizeof *list);
    } else {
      for (uint32_t i = 0; i < wanted.n; i++) list[i] = wanted.items[i].value;
      out->library->function = list;
      out->library->n_function = wanted.n;
    }
  }
  fy_map_free(&wanted);
  return code;
}

static fy_code run(pruner *p, Tensorflow__GraphDef **out, fy_error *err) {
  const fy_freeze_args *args = p->z.args;
  const Tensorflow__GraphDef *g = args->graph;
  scope top;
  for (size_t i = 0; i < g->n_node; i++)
    if (!fy_map_puts(&p->by_name, g->node[i]->name, g->node[i])) return fy_fail_oom(err, 64);
  for (size_t i = 0; g->library && i < g->library->n_function; i++)
    if (g->library->function[i]->signature &&
        !fy_map_puts(&p->z.functions, g->library->function[i]->signature->name,
                     g->library->function[i]))
      return fy_fail_oom(err, 64);
  for (int i = 0; i < args->num_inputs; i++) {
    int32_t index;
    fy_view name = fy_graph_parse_input(args->inputs[i], &index);
    if (!fy_map_put(&p->feeds, name.p, name.n, p)) return fy_fail_oom(err, 64);
  }
  for (int i = 0; i < args->num_inputs; i++) FY_TRY(take(p, args->inputs[i], err));
  for (int i = 0; i < args->num_outputs; i++) FY_TRY(take(p, args->outputs[i], err));
  FY_TRY(close_over(p, 0, err));
  FY_TRY(no_changing_tables(p, err));
  FY_TRY(fill_tables(p, err));
  FY_TRY(set_assets(p, err));
  fy_freeze_scope_init(&top, &p->nodes, "");
  fy_code code = set_variables(p, &top, err);
  if (!code) code = fy_freeze_scope(&p->z, &top, err);
  fy_freeze_scope_free(&top);
  FY_TRY(code);
  FY_TRY(no_references(p, err));
  clean_groups(p);
  *out = fy_wire_new(&tensorflow__graph_def__descriptor, p->z.arena);
  if (!*out) return fy_fail_oom(err, sizeof **out);
  (*out)->node = p->nodes.items;
  (*out)->n_node = p->nodes.n;
  (*out)->versions = g->versions;
  return library(p, *out, err);
}

fy_code fy_model_freeze(const fy_freeze_args *args, fy_arena *arena, Tensorflow__GraphDef **out,
                        fy_str *notes, fy_error *err) {
  pruner p = {.z = {.args = args, .arena = arena, .notes = notes}};
  *out = NULL;
  fy_map *maps[] = {&p.by_name, &p.kept, &p.feeds, &p.z.functions, &p.z.made};
  for (size_t i = 0; i < 5; i++) fy_map_init(maps[i]);
  fy_code code = run(&p, out, err);
  for (size_t i = 0; i < 5; i++) fy_map_free(maps[i]);
  return code;
}

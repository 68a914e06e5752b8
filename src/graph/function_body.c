// SPDX-License-Identifier: Apache-2.0
// function_body.c: a FunctionDef as a graph.
// The body's nodes are rewritten as an ordinary GraphDef ("node:out:1" becomes "node:3", attribute
// placeholders become values, arguments and results become _Arg and _Retval nodes) and imported.

#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"

#include "graph/import.h"
#include "graph/node.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

typedef struct source {            // what a name in the body stands for
  const char *node;                // name of a node of the GraphDef
  const Tensorflow__NodeDef *def;  // a body node, or NULL: an argument
  const fy_op_spec *spec;          // of a body node
  uint32_t count;                  // tensors of an argument
} source;

typedef struct body {
  fy_funclib *lib;
  const fy_function *f;
  const Tensorflow__FunctionDef *def;
  const fy_attrs *attrs;
  fy_arena tmp;
  fy_map names;                          // -> source*
  const char *node;                      // the node that is being connected, or NULL while
  const fy_arg_spec *arg;                // this result is
  const Tensorflow__AttrValue *binding;  // the attribute whose placeholders are being replaced
  Tensorflow__GraphDef graph;
  size_t cap_nodes;
} body;

static fy_code add_node(body *b, Tensorflow__NodeDef *node, fy_error *err) {
  Tensorflow__GraphDef *g = &b->graph;
  if (g->n_node == b->cap_nodes) {
    size_t cap = b->cap_nodes ? b->cap_nodes * 2 : 16;
    Tensorflow__NodeDef **grown = fy_arena_alloc(&b->tmp, cap * sizeof *grown);
    if (!grown) return fy_fail_oom(err, cap * sizeof *grown);
    if (g->n_node) memcpy(grown, g->node, g->n_node * sizeof *grown);
    g->node = grown;
    b->cap_nodes = cap;
  }
  g->node[g->n_node++] = node;
  return FY_OK;
}

// ---------------------------------------------------------------- attributes
static const fy_attr *bound(const body *b, const char *name) {
  const fy_attr *v = b->attrs ? fy_attrs_get(b->attrs, name) : NULL;
  if (v) return v;
  const fy_attr_spec *a = fy_spec_attr(b->f->spec, name);
  return a && a->has_default ? &a->default_value : NULL;
}

// Names the whole value of the attribute, as TensorFlow does: the placeholder may be deep inside.
static fy_code fail_unbound(body *b, fy_error *err) {
  fy_attr whole = {0};
  fy_str text;
  FY_TRY(fy_wire_attr_read(b->binding, &b->tmp, NULL, &whole, err));
  fy_str_init(&text);
  fy_attr_print(&text, &whole);
  fy_fail(err, FY_INVALID_ARGUMENT, "Failed to bind all placeholders in %s", fy_str_text(&text));
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

static fy_code bind_value(body *b, const Tensorflow__AttrValue *from, Tensorflow__AttrValue **out,
                          fy_error *err);

static fy_code bind_func(body *b, const Tensorflow__NameAttrList *from,
                         Tensorflow__NameAttrList **out, fy_error *err) {
  Tensorflow__NameAttrList *to = fy_arena_memdup(&b->tmp, from, sizeof *from);
  if (!to) return fy_fail_oom(err, sizeof *to);
  to->attr = fy_arena_array(&b->tmp, from->n_attr, sizeof *to->attr);
  if (!to->attr) return fy_fail_oom(err, from->n_attr);
  for (size_t i = 0; i < from->n_attr; i++) {
    to->attr[i] = fy_arena_memdup(&b->tmp, from->attr[i], sizeof **to->attr);
    if (!to->attr[i]) return fy_fail_oom(err, sizeof **to->attr);
    FY_TRY(bind_value(b, from->attr[i]->value, &to->attr[i]->value, err));
  }
  *out = to;
  return FY_OK;
}

// |*out| is |from| itself where nothing is to be bound.
static fy_code bind_value(body *b, const Tensorflow__AttrValue *from, Tensorflow__AttrValue **out,
                          fy_error *err) {
  *out = (Tensorflow__AttrValue *)(uintptr_t)from;
  if (!from) return FY_OK;
  if (from->value_case == TENSORFLOW__ATTR_VALUE__VALUE_PLACEHOLDER) {
    const fy_attr *v = bound(b, from->placeholder);
    if (!v) return fail_unbound(b, err);
    return fy_wire_attr_write(v, &b->tmp, out, err);
  }
  bool func = from->value_case == TENSORFLOW__ATTR_VALUE__VALUE_FUNC && from->func->n_attr;
  bool list = from->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST && from->list->n_func;
  if (!func && !list) return FY_OK;
  Tensorflow__AttrValue *to = fy_arena_memdup(&b->tmp, from, sizeof *from);
  if (!to) return fy_fail_oom(err, sizeof *to);
  *out = to;
  if (func) return bind_func(b, from->func, &to->func, err);
  to->list = fy_arena_memdup(&b->tmp, from->list, sizeof *from->list);
  if (!to->list) return fy_fail_oom(err, sizeof *to->list);
  to->list->func = fy_arena_array(&b->tmp, from->list->n_func, sizeof *to->list->func);
  if (!to->list->func) return fy_fail_oom(err, from->list->n_func);
  for (size_t i = 0; i < from->list->n_func; i++)
    FY_TRY(bind_func(b, from->list->func[i], &to->list->func[i], err));
  return FY_OK;
}

static fy_code bind_attrs(body *b, Tensorflow__NodeDef *node, fy_error *err) {
  fy_wire_attr_entry **entries = fy_arena_array(&b->tmp, node->n_attr, sizeof *entries);
  if (!entries) return fy_fail_oom(err, node->n_attr * sizeof *entries);
  for (size_t i = 0; i < node->n_attr; i++) {
    Tensorflow__AttrValue *value;
    b->binding = node->attr[i]->value;
    FY_TRY(bind_value(b, node->attr[i]->value, &value, err));
    entries[i] = node->attr[i];
    if (value == node->attr[i]->value) continue;
    entries[i] = fy_arena_memdup(&b->tmp, node->attr[i], sizeof **entries);
    if (!entries[i]) return fy_fail_oom(err, sizeof **entries);
    entries[i]->value = value;
  }
  node->attr = entries;
  return FY_OK;
}

static fy_code add_attr(body *b, Tensorflow__NodeDef *node, const char *name, const fy_attr *value,
                        fy_error *err) {
  fy_wire_attr_entry *e = fy_wire_new(&tensorflow__node_def__attr_entry__descriptor, &b->tmp);
  if (!e) return fy_fail_oom(err, sizeof *e);
  e->key = (char *)(uintptr_t)name;
  FY_TRY(fy_wire_attr_write(value, &b->tmp, &e->value, err));
  node->attr[node->n_attr++] = e;
  return FY_OK;
}

// ---------------------------------------------------------------- names
// How many tensors output argument |arg| of |def| stands for.
static fy_code arg_length(const Tensorflow__NodeDef *def, const fy_op_spec *spec,
                          const fy_arg_spec *arg, uint32_t *out, fy_error *err) {
  const char *name = arg->number_attr ? arg->number_attr : arg->type_list_attr;
  *out = 1;
  if (!name) return FY_OK;
  int64_t n = -1;
  for (size_t i = 0; i < def->n_attr; i++) {
    const Tensorflow__AttrValue *v = def->attr[i]->value;
    if (strcmp(def->attr[i]->key, name) != 0 || !v) continue;
    if (v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_I) n = v->i;
    if (v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST) n = (int64_t)v->list->n_type;
  }
  const fy_attr_spec *a = fy_spec_attr(spec, name);
  if (n < 0 && a && a->has_default) n = a->is_list ? a->default_value.n : a->default_value.v.i;
  if (n < 0 || n > INT32_MAX)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s' has no sound attr '%s'", def->name, name);
  *out = (uint32_t)n;
  return FY_OK;
}

// Splits the last ":digits" off; false if there is none.
static bool split_number(fy_view *text, uint32_t *number) {
  size_t at = text->n;
  uint64_t v = 0, scale = 1;
  while (at && text->p[at - 1] >= '0' && text->p[at - 1] <= '9' && text->n - at < 9) {
    v += (uint64_t)(text->p[--at] - '0') * scale;
    scale *= 10;
  }
  if (at == text->n || at < 2 || text->p[at - 1] != ':') return false;
  text->n = at - 1;
  *number = (uint32_t)v;
  return true;
}

// An argument as TensorFlow prints it: "y:float", "ys:N*T".
static char *arg_text(body *b, const fy_arg_spec *a) {
  const char *type = a->type != FY_INVALID ? fy_dtype_name(a->type) : a->type_attr;
  return fy_arena_printf(&b->tmp, "%s:%s%s%s%s%s", a->name, a->is_ref ? "Ref(" : "",
                         a->number_attr ? a->number_attr : "", a->number_attr ? "*" : "",
                         type ? type : "", a->is_ref ? ")" : "");
}

static fy_code unknown(body *b, const char *text, fy_error *err) {
  if (b->node)
    return fy_fail(err, FY_INVALID_ARGUMENT, "input %s is not found: {{node %s}}\n\tIn {{node %s}}",
                   text, b->node, b->node);
  const char *arg = arg_text(b, b->arg);
  return fy_fail(err, FY_INVALID_ARGUMENT, "Return %s -> %s is not found.\n\tIn function output %s",
                 b->arg->name, text, arg ? arg : b->arg->name);
}

typedef struct range {
  const char *node;
  uint32_t first, count;
} range;

// "node:out" or "node:out:1": which outputs of which node.
static fy_code find_node_output(body *b, const char *text, fy_view name, bool numbered,
                                uint32_t number, range *out, fy_error *err) {
  const char *colon = NULL;
  for (size_t i = name.n; i-- > 0 && !colon;)
    if (name.p[i] == ':') colon = name.p + i;
  if (!colon) return unknown(b, text, err);
  const source *s = fy_map_get(&b->names, name.p, (size_t)(colon - name.p));
  if (!s || !s->def) return unknown(b, text, err);
  fy_view arg = {colon + 1, name.n - (size_t)(colon + 1 - name.p)};
  out->node = s->node;
  out->first = 0;
  for (size_t i = 0; i < s->spec->num_outputs; i++) {
    FY_TRY(arg_length(s->def, s->spec, &s->spec->outputs[i], &out->count, err));
    if (fy_view_is(arg, s->spec->outputs[i].name)) {
      if (!numbered) return FY_OK;
      if (number >= out->count) return unknown(b, text, err);
      out->first += number;
      out->count = 1;
      return FY_OK;
    }
    out->first += out->count;
  }
  return unknown(b, text, err);
}

static fy_code find_input(body *b, const char *text, range *out, fy_error *err) {
  fy_view name = fy_view_of(text);
  uint32_t number = 0;
  const source *s = fy_map_get(&b->names, name.p, name.n);
  if (s && !s->def) {
    *out = (range){s->node, 0, s->count};
    return FY_OK;
  }
  bool numbered = split_number(&name, &number);
  s = fy_map_get(&b->names, name.p, name.n);
  if (s && !s->def && numbered) {  // one of a list of arguments, or of one
    if (number >= s->count) return unknown(b, text, err);
    *out = (range){s->node, number, 1};
    return FY_OK;
  }
  return find_node_output(b, text, name, numbered, number, out, err);
}

// The GraphDef spelling of tensor |i| of |r|; a list of arguments is many nodes "name_0", "name_1".
static char *tensor_name(body *b, const range *r, uint32_t i) {
  const source *s = fy_map_gets(&b->names, r->node);
  uint32_t at = r->first + i;
  if (s && !s->def)
    return s->count == 1 ? fy_arena_strdup(&b->tmp, r->node)
                         : fy_arena_printf(&b->tmp, "%s_%u", r->node, at);
  return at ? fy_arena_printf(&b->tmp, "%s:%u", r->node, at) : fy_arena_strdup(&b->tmp, r->node);
}

static bool add_name(body *b, const char *name, source s) {
  source *own = fy_arena_memdup(&b->tmp, &s, sizeof s);
  return own && fy_map_puts(&b->names, name, own);
}

// ---------------------------------------------------------------- arguments, nodes, results
static const Tensorflow__FunctionDef__ArgAttrs *arg_attrs(const body *b, size_t i) {
  for (size_t k = 0; k < b->def->n_arg_attr; k++)
    if (b->def->arg_attr[k]->key == i) return b->def->arg_attr[k]->value;
  return NULL;
}

static fy_code add_arg(body *b, const char *name, fy_dtype type, uint32_t index,
                       const Tensorflow__FunctionDef__ArgAttrs *extra, fy_error *err) {
  Tensorflow__NodeDef *n = fy_wire_new(&tensorflow__node_def__descriptor, &b->tmp);
  if (!n) return fy_fail_oom(err, sizeof *n);
  size_t more = extra ? extra->n_attr : 0;
  n->name = (char *)(uintptr_t)name;
  n->op = (char *)(uintptr_t) "_Arg";
  n->attr = fy_arena_array(&b->tmp, more + 2, sizeof *n->attr);
  if (!n->attr) return fy_fail_oom(err, more);
  fy_attr t = fy_attr_type(fy_dtype_base(type)), at = fy_attr_int(index);
  FY_TRY(add_attr(b, n, "T", &t, err));
  FY_TRY(add_attr(b, n, "index", &at, err));
  for (size_t i = 0; i < more; i++) n->attr[n->n_attr++] = (fy_wire_attr_entry *)extra->attr[i];
  return add_node(b, n, err);
}

static fy_code add_args(body *b, fy_error *err) {
  const fy_op_spec *spec = b->f->spec;
  fy_dtype *types;
  int total;
  uint32_t index = 0;
  static const fy_attrs none = {0};
  const fy_attrs *attrs = b->attrs ? b->attrs : &none;
  FY_TRY(fy_spec_arg_types(spec, false, attrs, &b->tmp, &types, &total, err));
  for (int i = 0; i < spec->num_inputs; i++) {
    int begin, end;
    FY_TRY(fy_spec_arg_range(spec, false, i, attrs, &begin, &end, err));
    const char *name = spec->inputs[i].name;
    if (!add_name(b, name, (source){.node = name, .count = (uint32_t)(end - begin)}))
      return fy_fail_oom(err, sizeof(source));
    for (int k = begin; k < end; k++) {
      const char *one =
          end - begin == 1 ? name : fy_arena_printf(&b->tmp, "%s_%d", name, k - begin);
      if (!one) return fy_fail_oom(err, 1);
      FY_TRY(add_arg(b, one, types[k], index++, arg_attrs(b, (size_t)i), err));
    }
  }
  return FY_OK;
}

static fy_code name_nodes(body *b, Tensorflow__NodeDef **copies, fy_error *err) {
  for (size_t i = 0; i < b->def->n_node_def; i++) {
    Tensorflow__NodeDef *n = fy_arena_memdup(&b->tmp, b->def->node_def[i], sizeof *n);
    if (!n) return fy_fail_oom(err, sizeof *n);
    FY_TRY(bind_attrs(b, n, err));
    copies[i] = n;
    const fy_op *op = fy_op_find(n->op, strlen(n->op));
    const fy_function *f = op ? NULL : fy_funclib_find(b->lib, n->op, strlen(n->op));
    if (!op && !f) return fy_op_not_registered(n->op, err);
    if (fy_map_gets(&b->names, n->name))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Duplicated arg name '%s' in function '%s'", n->name,
                     b->f->name);
    source s = {.node = n->name, .def = n, .spec = op ? op->spec : f->spec};
    if (!add_name(b, n->name, s)) return fy_fail_oom(err, sizeof s);
  }
  return FY_OK;
}

static fy_code connect(body *b, Tensorflow__NodeDef *n, fy_error *err) {
  size_t total = 0;
  b->node = n->name;
  for (size_t i = 0; i < n->n_input; i++) {
    range r = {NULL, 0, 1};
    if (n->input[i][0] != '^') FY_TRY(find_input(b, n->input[i], &r, err));
    total += r.count;
  }
  char **inputs = fy_arena_array(&b->tmp, total, sizeof *inputs);
  if (!inputs) return fy_fail_oom(err, total * sizeof *inputs);
  size_t at = 0;
  for (size_t i = 0; i < n->n_input; i++) {
    if (n->input[i][0] == '^') {
      const source *s = fy_map_gets(&b->names, n->input[i] + 1);
      if (!s) return unknown(b, n->input[i], err);
      if (!s->def && s->count != 1) continue;  // waiting for a list of arguments means nothing
      inputs[at++] = n->input[i];
      continue;
    }
    range r;
    FY_TRY(find_input(b, n->input[i], &r, err));
    for (uint32_t k = 0; k < r.count; k++) {
      inputs[at] = tensor_name(b, &r, k);
      if (!inputs[at++]) return fy_fail_oom(err, 1);
    }
  }
  n->input = inputs;
  n->n_input = at;
  return add_node(b, n, err);
}

static fy_code add_retval(body *b, const char *name, fy_dtype type, uint32_t index, char *input,
                          fy_error *err) {
  Tensorflow__NodeDef *n = fy_wire_new(&tensorflow__node_def__descriptor, &b->tmp);
  if (!n) return fy_fail_oom(err, sizeof *n);
  n->name = fy_arena_printf(&b->tmp, index && !*name ? "%s_RetVal_%u" : "%s_RetVal", name, index);
  n->op = (char *)(uintptr_t) "_Retval";
  n->input = fy_arena_array(&b->tmp, 1, sizeof *n->input);
  n->attr = fy_arena_array(&b->tmp, 2, sizeof *n->attr);
  if (!n->name || !n->input || !n->attr || !input) return fy_fail_oom(err, sizeof *n);
  n->input[0] = input;
  n->n_input = 1;
  fy_attr t = fy_attr_type(fy_dtype_base(type)), at = fy_attr_int(index);
  FY_TRY(add_attr(b, n, "T", &t, err));
  FY_TRY(add_attr(b, n, "index", &at, err));
  return add_node(b, n, err);
}

static fy_code add_results(body *b, fy_error *err) {
  const fy_op_spec *spec = b->f->spec;
  static const fy_attrs none = {0};
  const fy_attrs *attrs = b->attrs ? b->attrs : &none;
  fy_dtype *types;
  int total;
  uint32_t index = 0;
  FY_TRY(fy_spec_arg_types(spec, true, attrs, &b->tmp, &types, &total, err));
  for (int i = 0; i < spec->num_outputs; i++) {
    const char *name = spec->outputs[i].name, *from = NULL;
    int begin, end;
    FY_TRY(fy_spec_arg_range(spec, true, i, attrs, &begin, &end, err));
    for (size_t k = 0; k < b->def->n_ret; k++)
      if (strcmp(b->def->ret[k]->key, name) == 0) from = b->def->ret[k]->value;
    b->node = NULL;
    b->arg = &spec->outputs[i];
    if (!from) {
      const char *arg = arg_text(b, b->arg);
      return fy_fail(err, FY_INVALID_ARGUMENT, "Return %s missing.\n\tIn function output %s", name,
                     arg ? arg : name);
    }
    range r;
    FY_TRY(find_input(b, from, &r, err));
    if (r.count != (uint32_t)(end - begin))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid ret types %s in function '%s'", name,
                     b->f->name);
    for (uint32_t k = 0; k < r.count; k++) {
      const char *one = r.count == 1 ? name : fy_arena_printf(&b->tmp, "%s_%u", name, k);
      if (!one) return fy_fail_oom(err, 1);
      FY_TRY(add_retval(b, one, types[begin + (int)k], index++, tensor_name(b, &r, k), err));
    }
  }
  return FY_OK;
}

static fy_code check_parameters(const body *b, fy_error *err) {
  const fy_op_spec *spec = b->f->spec;
  for (size_t i = 0; i < spec->num_attrs; i++) {
    if (bound(b, spec->attrs[i].name)) continue;
    fy_str text;
    fy_str_init(&text);
    fy_spec_print(&text, spec);
    fy_fail(err, FY_NOT_FOUND, "Attr %s is not found from %s", spec->attrs[i].name,
            fy_str_text(&text));
    fy_str_free(&text);
    return FY_NOT_FOUND;
  }
  return FY_OK;
}

static fy_code build(body *b, fy_error *err) {
  FY_TRY(check_parameters(b, err));
  Tensorflow__NodeDef **copies = fy_arena_array(&b->tmp, b->def->n_node_def, sizeof *copies);
  if (!copies) return fy_fail_oom(err, b->def->n_node_def);
  FY_TRY(add_args(b, err));
  FY_TRY(name_nodes(b, copies, err));
  for (size_t i = 0; i < b->def->n_node_def; i++) FY_TRY(connect(b, copies[i], err));
  return add_results(b, err);
}

static void mark_must_run(const body *b, fy_graph *g) {
  bool effects = false;
  for (size_t i = 0; i < b->def->n_control_ret; i++) {
    const char *name = b->def->control_ret[i]->value;
    fy_node *n = name ? fy_graph_find(g, name) : NULL;
    if (n) n->user_flags |= FY_NODE_MUST_RUN;
  }
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *n = g->nodes[i];
    bool plain = !strcmp(n->op_name, "_Arg") || !strcmp(n->op_name, "_Retval");
    if (plain || !(n->spec->flags & FY_SPEC_STATEFUL)) continue;
    n->user_flags |= FY_NODE_MUST_RUN;
    effects = true;
  }
  // TensorFlow inlines no body whose effects its control outputs do not name.
  g->flat_errors = !effects || b->def->n_control_ret > 0;
}

fy_code fy_function_instantiate(fy_funclib *lib, const fy_function *f, const fy_attrs *attrs,
                                fy_graph **out, fy_error *err) {
  static const fy_import_options options = {.function_body = true};
  body b = {.lib = lib, .f = f, .def = f->def, .attrs = attrs};
  *out = NULL;
  tensorflow__graph_def__init(&b.graph);
  fy_arena_init(&b.tmp);
  fy_map_init(&b.names);
  fy_graph *g = NULL;
  fy_code code = build(&b, err);
  if (!code) {
    g = fy_graph_new();
    if (!g) code = fy_fail_oom(err, sizeof *g);
  }
  if (!code) {
    fy_funclib_unref(g->functions);
    g->functions = fy_funclib_ref(lib);
    code = fy_graph_import(g, &b.graph, &options, &b.tmp, NULL, err);
  }
  if (!code) {
    mark_must_run(&b, g);
    *out = g;
  } else {
    fy_graph_free(g);
  }
  fy_map_free(&b.names);
  fy_arena_free(&b.tmp);
  return code;
}

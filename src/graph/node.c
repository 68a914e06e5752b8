// SPDX-License-Identifier: Apache-2.0
// node.c: build one node: collect inputs, attributes and constraints, then check and add.
// As in TensorFlow every input is compared with the signature when it comes, so that the errors of
// a wrong call appear in the order of the calls; nothing is reported before the end.
// Everything is made in the graph's arena. A node that is given up stays there unused.

#include "graph/node.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "graph/function.h"

// ---------------------------------------------------------------- errors of the collection
static void add_error(fy_node_builder *b, fy_str *to, const char *format, ...) FY_PRINTF(3, 4);

static void add_error(fy_node_builder *b, fy_str *to, const char *format, ...) {
  va_list args;
  if (to->len) fy_str_addc(to, '\n');
  va_start(args, format);
  fy_str_vprintf(to, format, args);
  va_end(args);
  if (to == &b->errors) b->num_errors++;
  if (to->failed) b->short_of_memory = true;
}

fy_code fy_op_not_registered(const char *op_name, fy_error *err) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fy_fail(err, FY_NOT_FOUND,
                 "Op type not registered '%s' in binary running on %s. Make sure the Op and Kernel "
                 "are registered in the binary running in this process. Note that if you are "
                 "loading a saved graph which used ops from tf.contrib (e.g. "
                 "`tf.contrib.resampler`), accessing should be done before importing the graph, as "
                 "contrib ops are lazily registered when the module is first accessed.",
                 op_name, host);
}

fy_code fy_node_find_op(fy_graph *g, fy_node *node, fy_error *err) {
  size_t len = strlen(node->op_name);
  node->op = fy_op_find(node->op_name, len);
  if (node->op) {
    node->spec = node->op->spec;
    return FY_OK;
  }
  node->function = fy_funclib_find(g->functions, node->op_name, len);
  if (!node->function) return fy_op_not_registered(node->op_name, err);
  node->spec = node->function->spec;
  return FY_OK;
}

// ---------------------------------------------------------------- attributes
static void conflict(fy_node_builder *b, const char *name, const fy_attr *have,
                     const fy_attr *value) {
  fy_str was, now;
  fy_str_init(&was);
  fy_str_init(&now);
  fy_attr_print(&was, have);
  fy_attr_print(&now, value);
  add_error(b, &b->errors, "Inconsistent values for attr '%s' %s vs. %s", name, fy_str_text(&was),
            fy_str_text(&now));
  fy_str_free(&was);
  fy_str_free(&now);
}

// |name| lives as long as the graph (it is a signature's); |value| is taken as it is.
static void put_attr(fy_node_builder *b, const char *name, const fy_attr *value) {
  fy_attrs *attrs = &b->node->attrs;
  bool found;
  uint32_t at = fy_attrs_position(attrs, name, &found);
  if (found) {
    if (!fy_attr_equal(&attrs->items[at].value, value))
      conflict(b, name, &attrs->items[at].value, value);
    return;
  }
  if (attrs->n == attrs->cap) {
    uint32_t cap = attrs->cap ? attrs->cap * 2 : 4;
    fy_named_attr *items = fy_arena_alloc(&b->graph->arena, cap * sizeof *items);
    if (!items) {
      b->short_of_memory = true;
      return;
    }
    if (attrs->n) memcpy(items, attrs->items, attrs->n * sizeof *items);
    attrs->items = items;
    attrs->cap = cap;
  }
  memmove(&attrs->items[at + 1], &attrs->items[at], (attrs->n - at) * sizeof *attrs->items);
  attrs->items[at] = (fy_named_attr){name, *value};
  attrs->n++;
}

static bool is_flat(const fy_attr *a) {
  return !a->is_list && (a->kind == FY_ATTR_INT || a->kind == FY_ATTR_FLOAT ||
                         a->kind == FY_ATTR_BOOL || a->kind == FY_ATTR_TYPE);
}

void fy_node_set_attr(fy_node_builder *b, const char *name, const fy_attr *value) {
  const fy_attr_spec *spec = b->node->spec ? fy_spec_attr(b->node->spec, name) : NULL;
  const char *own = spec ? spec->name : fy_arena_strdup(&b->graph->arena, name);
  fy_attr copy = *value;
  if (!own || (!is_flat(value) && fy_attr_copy(&copy, value, &b->graph->arena, NULL) != FY_OK)) {
    b->short_of_memory = true;
    return;
  }
  put_attr(b, own, &copy);
}

// ---------------------------------------------------------------- collecting
fy_code fy_node_begin(fy_graph *g, const char *op_name, const char *name, fy_node_builder *b,
                      fy_error *err) {
  memset(b, 0, sizeof *b);
  fy_node *n = fy_arena_zalloc(&g->arena, sizeof *n);
  b->graph = g;
  b->node = n;
  if (!n) return fy_fail_oom(err, sizeof *n);
  n->graph = g;
  n->device = "";
  n->name = fy_arena_strdup(&g->arena, name);
  n->op = fy_op_find(op_name, strlen(op_name));
  n->op_name = n->op ? n->op->spec->name : fy_arena_strdup(&g->arena, op_name);
  if (!n->name || !n->op_name) return fy_fail_oom(err, sizeof *n);
  if (n->op) {
    n->spec = n->op->spec;
  } else {
    fy_error why;
    fy_error_init(&why);
    if (fy_node_find_op(g, n, &why) != FY_OK) add_error(b, &b->errors, "%s", fy_error_text(&why));
    fy_error_clear(&why);
  }
  uint32_t attrs = n->spec ? n->spec->num_attrs : 0u;
  if (attrs) {  // most nodes have exactly these
    n->attrs.items = fy_arena_alloc(&g->arena, attrs * sizeof *n->attrs.items);
    if (!n->attrs.items) return fy_fail_oom(err, attrs * sizeof *n->attrs.items);
    n->attrs.cap = attrs;
  }
  return FY_OK;
}

void fy_node_abandon(fy_node_builder *b) {
  fy_str_free(&b->errors);
  fy_str_free(&b->index_errors);
}

void fy_node_set_device(fy_node_builder *b, const char *device) {
  const char *copy = *device ? fy_arena_strdup(&b->graph->arena, device) : "";
  if (copy) {
    b->node->device = copy;
  } else {
    b->short_of_memory = true;
  }
}

static bool room_for_inputs(fy_node_builder *b, size_t more) {
  size_t need = b->num_inputs + more;
  if (need <= b->cap_inputs) return true;
  size_t cap = b->cap_inputs ? 2u * b->cap_inputs : 0u;
  if (cap < need) cap = need;
  if (b->node->spec && cap < b->node->spec->num_inputs) cap = b->node->spec->num_inputs;
  fy_output *inputs =
      cap <= UINT32_MAX / 2 ? fy_arena_alloc(&b->graph->arena, cap * sizeof *inputs) : NULL;
  if (!inputs) {
    b->short_of_memory = true;
    return false;
  }
  if (b->num_inputs) memcpy(inputs, b->inputs, b->num_inputs * sizeof *inputs);
  b->inputs = inputs;
  b->cap_inputs = (uint32_t)cap;
  return true;
}

// True if |input| names an output that exists; otherwise notes the error.
static bool check_output(fy_node_builder *b, fy_output input) {
  if (input.node && input.node->graph == b->graph && input.index >= 0 &&
      (uint32_t)input.index < input.node->num_outputs)
    return true;
  if (input.node && input.node->graph != b->graph) {
    add_error(b, &b->index_errors,
              "Attempt to add output %d of %s, a node of another graph, to node with type %s",
              input.index, input.node->name, b->node->op_name);
  } else if (!input.node) {
    add_error(b, &b->index_errors, "Attempt to add nullptr Node to node with type %s",
              b->node->op_name);
  } else {
    add_error(b, &b->index_errors,
              "Attempt to add output %d of %s not in range [0, %u) to node with type %s. Node: "
              "{{node %s}}",
              input.index, input.node->name, input.node->num_outputs, b->node->op_name,
              input.node->name);
  }
  return false;
}

static fy_dtype type_of(fy_output o) {
  return o.node->outputs[o.index].dtype;
}

static void check_type(fy_node_builder *b, const fy_arg_spec *arg, fy_dtype want, fy_dtype have) {
  if (arg->is_ref && !fy_dtype_is_ref(want)) want = (fy_dtype)((int)want + FY_REF_BIT);
  if (!fy_types_fit(want, have))
    add_error(b, &b->errors, "Input '%s' passed %s expected %s", arg->name, fy_dtype_name(have),
              fy_dtype_name(want));
}

static void check_ref(fy_node_builder *b, const fy_arg_spec *arg, fy_dtype have) {
  if (arg->is_ref && !fy_dtype_is_ref(have))
    add_error(b, &b->errors, "Input '%s' passed %s expected ref type", arg->name,
              fy_dtype_name(have));
}

// The next declared argument, or NULL with an error noted.
static const fy_arg_spec *next_arg(fy_node_builder *b) {
  const fy_op_spec *spec = b->node->spec;
  if (!spec) return NULL;
  if (b->num_args < spec->num_inputs) return &spec->inputs[b->num_args++];
  add_error(b, &b->errors, "More Input() calls than the %u input_args", spec->num_inputs);
  return NULL;
}

void fy_node_add_input(fy_node_builder *b, fy_output input) {
  if (!check_output(b, input) || !room_for_inputs(b, 1)) return;
  b->inputs[b->num_inputs++] = input;
  const fy_arg_spec *arg = next_arg(b);
  if (!arg) return;
  fy_dtype have = type_of(input);
  if (arg->number_attr || arg->type_list_attr) {
    add_error(b, &b->errors, "Single tensor passed to '%s', expected list", arg->name);
  } else if (arg->type != FY_INVALID) {
    check_type(b, arg, arg->type, have);
  } else {
    check_ref(b, arg, have);
    fy_attr t = fy_attr_type(fy_dtype_base(have));
    put_attr(b, arg->type_attr, &t);
  }
}

static void check_number_list(fy_node_builder *b, const fy_arg_spec *arg, const fy_output *list,
                              uint32_t n) {
  fy_attr count = fy_attr_int(n);
  fy_dtype want = arg->type;
  put_attr(b, arg->number_attr, &count);
  if (want == FY_INVALID) {
    if (n == 0) return;
    want = fy_dtype_base(type_of(list[0]));
    fy_attr t = fy_attr_type(want);
    put_attr(b, arg->type_attr, &t);
  }
  for (uint32_t i = 0; i < n; i++) check_type(b, arg, want, type_of(list[i]));
}

static void check_type_list(fy_node_builder *b, const fy_arg_spec *arg, const fy_output *list,
                            uint32_t n) {
  fy_dtype *types = fy_arena_alloc(&b->graph->arena, n * sizeof *types);
  if (!types) {
    b->short_of_memory = true;
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    check_ref(b, arg, type_of(list[i]));
    types[i] = fy_dtype_base(type_of(list[i]));
  }
  fy_attr t = {.kind = FY_ATTR_TYPE, .is_list = true, .n = n, .v.types = types};
  put_attr(b, arg->type_list_attr, &t);
}

void fy_node_add_input_list(fy_node_builder *b, const fy_output *inputs, int count) {
  uint32_t first = b->num_inputs;
  if (count < 0) count = 0;
  if (!room_for_inputs(b, (size_t)count)) return;
  for (int i = 0; i < count; i++)
    if (check_output(b, inputs[i])) b->inputs[b->num_inputs++] = inputs[i];
  const fy_arg_spec *arg = next_arg(b);
  if (!arg) return;
  uint32_t n = b->num_inputs - first;
  if (arg->number_attr) {
    check_number_list(b, arg, b->inputs + first, n);
  } else if (arg->type_list_attr) {
    check_type_list(b, arg, b->inputs + first, n);
  } else {
    add_error(b, &b->errors, "List provided to input '%s' when single Tensor expected", arg->name);
  }
}

void fy_node_add_control(fy_node_builder *b, fy_node *control) {
  fy_node *n = b->node;
  if (n->num_controls == n->cap_controls) {
    uint32_t cap = n->cap_controls ? n->cap_controls * 2 : 2;
    fy_node **grown = fy_arena_alloc(&b->graph->arena, cap * sizeof *grown);
    if (!grown) {
      b->short_of_memory = true;
      return;
    }
    if (n->num_controls) memcpy(grown, n->controls, n->num_controls * sizeof *grown);
    n->controls = grown;
    n->cap_controls = cap;
  }
  n->controls[n->num_controls++] = control;
}

// Keeps the list sorted and free of repetitions, as TensorFlow's set is.
static void add_colocation(fy_node_builder *b, fy_view text) {
  uint32_t at = 0;
  for (; at < b->num_colocations; at++) {
    const fy_view *have = &b->colocations[at];
    size_t shorter = have->n < text.n ? have->n : text.n;
    int order = memcmp(have->p, text.p, shorter);
    if (order == 0 && have->n == text.n) return;
    if (order > 0 || (order == 0 && have->n > text.n)) break;
  }
  if (b->num_colocations == b->cap_colocations) {
    uint32_t cap = b->cap_colocations ? b->cap_colocations * 2 : 2;
    fy_view *grown = fy_arena_alloc(&b->graph->arena, cap * sizeof *grown);
    if (!grown) {
      b->short_of_memory = true;
      return;
    }
    if (b->num_colocations) memcpy(grown, b->colocations, b->num_colocations * sizeof *grown);
    b->colocations = grown;
    b->cap_colocations = cap;
  }
  memmove(&b->colocations[at + 1], &b->colocations[at],
          (b->num_colocations - at) * sizeof *b->colocations);
  b->colocations[at] = text;
  b->num_colocations++;
}

void fy_node_colocate(fy_node_builder *b, const fy_node *with) {
  char *text = fy_arena_printf(&b->graph->arena, "loc:@%s", with->name);
  if (text) {
    add_colocation(b, fy_view_of(text));
  } else {
    b->short_of_memory = true;
  }
}

void fy_node_set_colocations(fy_node_builder *b, const fy_view *values, uint32_t n) {
  b->num_colocations = 0;
  for (uint32_t i = 0; i < n; i++) {
    char *copy = fy_arena_strndup(&b->graph->arena, values[i].p, values[i].n);
    if (!copy) {
      b->short_of_memory = true;
      return;
    }
    add_colocation(b, (fy_view){copy, values[i].n});
  }
}

// ---------------------------------------------------------------- finishing
fy_code fy_node_check_deprecation(const fy_op_spec *spec, int32_t producer, fy_error *err) {
  if (spec->deprecated_version == 0 || producer < spec->deprecated_version) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED,
                 "Op %s is not available in GraphDef version %d. It has been removed in version "
                 "%d. %s.",
                 spec->name, producer, spec->deprecated_version,
                 spec->deprecated_text ? spec->deprecated_text : "");
}

static fy_code wrong_count(const fy_node *node, int want, const fy_dtype *types, uint32_t have,
                           fy_error *err) {
  fy_str s;
  fy_str_init(&s);
  for (int i = 0; i < want; i++) fy_str_printf(&s, "%s%s", i ? ", " : "", fy_dtype_name(types[i]));
  fy_str_printf(&s, "' do not match %u inputs specified; ", have);
  fy_spec_print(&s, node->spec);
  fy_fail(err, FY_INVALID_ARGUMENT, "NodeDef expected inputs '%s; NodeDef: {{node %s}}",
          fy_str_text(&s), node->name);
  fy_str_free(&s);
  return FY_INVALID_ARGUMENT;
}

fy_code fy_node_resolve(fy_graph *g, fy_node *node, uint32_t num_inputs, fy_error *err) {
  FY_TRY(fy_spec_add_defaults(node->spec, &node->attrs, &g->arena, err));
  FY_TRY(fy_spec_check_attrs(node->spec, &node->attrs, node->name, err));
  int want, outputs;
  fy_dtype *out_types;
  FY_TRY(fy_spec_arg_types(node->spec, false, &node->attrs, &g->arena, &node->input_types, &want,
                           err));
  FY_TRY(fy_spec_arg_types(node->spec, true, &node->attrs, &g->arena, &out_types, &outputs, err));
  if ((uint32_t)want != num_inputs)
    return wrong_count(node, want, node->input_types, num_inputs, err);
  node->num_inputs = num_inputs;
  node->outputs = fy_arena_array(&g->arena, (size_t)outputs, sizeof *node->outputs);
  if (!node->outputs) return fy_fail_oom(err, (size_t)outputs * sizeof *node->outputs);
  node->num_outputs = (uint32_t)outputs;
  for (int i = 0; i < outputs; i++) {
    node->outputs[i].dtype = out_types[i];
    node->outputs[i].shape.rank = -1;
    node->outputs[i].handle.shape.rank = -1;
  }
  if (strcmp(node->op_name, "Const") == 0) {
    const fy_attr *value = fy_attrs_get(&node->attrs, "value");
    // A tensor of another type than "dtype" is refused by the kernel, not here.
    if (value && value->kind == FY_ATTR_TENSOR && value->v.tensor &&
        value->v.tensor->dtype == node->outputs[0].dtype)
      node->const_value = value->v.tensor;
  }
  return FY_OK;
}

fy_code fy_node_infer(fy_graph *g, fy_node *node, bool check, fy_error *err) {
  return fy_function_is_call(node) ? fy_function_infer(g, node, check, err)
                                   : fy_graph_infer_node(g, node, err);
}

static fy_code report(fy_node_builder *b, fy_error *err) {
  const fy_node *n = b->node;
  if (b->short_of_memory) return fy_fail_oom(err, sizeof *n);
  if (b->index_errors.len)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s", fy_str_text(&b->index_errors));
  if (n->spec && b->num_args < n->spec->num_inputs)
    add_error(b, &b->errors, "%u inputs specified of %u inputs in Op", b->num_args,
              n->spec->num_inputs);
  if (b->num_errors == 0) return FY_OK;
  const char *text = fy_str_text(&b->errors);
  if (!n->spec)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s while building NodeDef '%s'", text, n->name);
  fy_str spec;
  fy_str_init(&spec);
  fy_spec_print(&spec, n->spec);
  if (b->num_errors == 1)
    fy_fail(err, FY_INVALID_ARGUMENT, "%s while building NodeDef '%s' using %s", text, n->name,
            fy_str_text(&spec));
  else
    fy_fail(err, FY_INVALID_ARGUMENT, "%u errors while building NodeDef '%s' using %s:\n%s",
            b->num_errors, n->name, fy_str_text(&spec), text);
  fy_str_free(&spec);
  return FY_INVALID_ARGUMENT;
}

// Keeps the first of equal controls. Marks make it linear: a group of ten thousand is not rare.
static void unique_controls(fy_node *n) {
  uint32_t kept = 0;
  if (n->num_controls < 2) return;
  for (uint32_t i = 0; i < n->num_controls; i++) n->controls[i]->mark = 0;
  for (uint32_t i = 0; i < n->num_controls; i++) {
    fy_node *c = n->controls[i];
    if (c->mark == 0) n->controls[kept++] = c;
    c->mark = 1;
  }
  n->num_controls = kept;
  for (uint32_t i = 0; i < kept; i++) n->controls[i]->mark = 0;
}

static fy_code finish(fy_node_builder *b, fy_error *err) {
  fy_graph *g = b->graph;
  fy_node *n = b->node;
  if (fy_graph_find(g, n->name))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Duplicate node name in graph: '%s'", n->name);
  if (b->num_colocations) {
    fy_attr list = {.kind = FY_ATTR_STRING,
                    .is_list = true,
                    .n = b->num_colocations,
                    .v.strings = b->colocations};
    put_attr(b, "_class", &list);
  }
  FY_TRY(report(b, err));
  n->inputs = b->inputs;
  unique_controls(n);
  FY_TRY(fy_node_resolve(g, n, b->num_inputs, err));
  FY_TRY(fy_node_check_deprecation(n->spec, g->producer, err));
  FY_TRY(fy_node_infer(g, n, true, err));
  return fy_graph_link(g, n, err);
}

fy_code fy_node_finish(fy_node_builder *b, fy_node **out, fy_error *err) {
  *out = NULL;
  fy_code code = finish(b, err);
  if (!code) *out = b->node;
  fy_node_abandon(b);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
// function_make.c: part of a graph as a FunctionDef (TF_GraphToFunction).
// Names: arguments and results are lower-cased and stripped of odd characters; then every name,
// including those of the body's nodes, is made unique by "_0", "_1", … in the order outputs,
// inputs, nodes, exactly as TensorFlow does.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/export.h"
#include "graph/function.h"
#include "ops/spec_proto.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

typedef struct maker {
  const fy_graph *g;
  const fy_function_source *s;
  fy_arena *arena;
  Tensorflow__FunctionDef *def;
  fy_map used;                // name -> next suffix + 1
  const char **node_name;     // [num_nodes] new name of a body node or an input's node, or NULL
  const char ***tensor_name;  // [num_nodes][num_outputs] name inside the function, or NULL
  const fy_node **nodes;      // the body
  size_t num_nodes;
} maker;

// ---------------------------------------------------------------- names
static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
static bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static char *normalize(fy_arena *arena, const char *name) {
  char *copy = fy_arena_strdup(arena, name);
  if (!copy) return NULL;
  char *first = NULL;
  for (char *p = copy; *p; p++) {
    if (is_upper(*p))
      *p = (char)(*p - 'A' + 'a');
    else if (!is_lower(*p) && !is_digit(*p))
      *p = '_';
    if (!first && is_lower(*p)) first = p;
  }
  return first ? first : fy_arena_strdup(arena, "unknown");
}

static const char *unique(maker *m, const char *name) {
  if (!name) return NULL;
  uintptr_t next = (uintptr_t)fy_map_gets(&m->used, name);
  if (!next) return fy_map_puts(&m->used, name, (void *)1) ? name : NULL;
  for (;; next++) {
    char *fresh = fy_arena_printf(m->arena, "%s_%zu", name, (size_t)(next - 1));
    if (!fresh) return NULL;
    if (fy_map_gets(&m->used, fresh)) continue;
    if (!fy_map_puts(&m->used, name, (void *)(next + 1))) return NULL;
    return fy_map_puts(&m->used, fresh, (void *)1) ? fresh : NULL;
  }
}

static const char **tensor_names(maker *m, const fy_node *node) {
  if (!m->tensor_name[node->id])
    m->tensor_name[node->id] =
        fy_arena_array(m->arena, (size_t)node->num_outputs + 1, sizeof(const char *));
  return m->tensor_name[node->id];
}

// ---------------------------------------------------------------- what was asked for
static bool belongs(const maker *m, const fy_node *node) {
  return node && node->graph == m->g && node->id < m->g->num_nodes && m->g->nodes[node->id] == node;
}

static fy_code check_tensor(const maker *m, fy_output o, const char *kind, int i, fy_error *err) {
  const char *way = *kind == 'i' ? "into" : "from";
  if (!belongs(m, o.node)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Node is null or belongs to another graph\n\tEncountered while processing %s %d "
                   "%s function '%s'",
                   kind, i, way, m->s->name);
  }
  if (o.index < 0 || (uint32_t)o.index >= o.node->num_outputs)
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Node '%s' (type: '%s', num of outputs: %u) does not have output %d\n\t"
                   "Encountered while processing %s %d %s function '%s'",
                   o.node->name, o.node->op_name, o.node->num_outputs, o.index, kind, i, way,
                   m->s->name);
  fy_dtype t = o.node->outputs[o.index].dtype;
  if (!fy_dtype_is_ref(t)) return FY_OK;
  fy_fail(err, FY_INVALID_ARGUMENT, "Output %d of node '%s' has a reference type %s", o.index,
          o.node->name, fy_dtype_name(t));
  if (*kind == 'i')
    fy_error_append(err, "\n\tEncountered while processing input %d into function '%s'", i,
                    m->s->name);
  else
    fy_error_append(err, "\n\tEncountered while creating function '%s'", m->s->name);
  return FY_INVALID_ARGUMENT;
}

static fy_code check_arguments(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  for (int i = 0; i < s->num_inputs; i++) {
    FY_TRY(check_tensor(m, s->inputs[i], "input", i, err));
    const fy_node *node = s->inputs[i].node;
    const char **names = tensor_names(m, node);
    if (!names) return fy_fail_oom(err, node->num_outputs);
    if (names[s->inputs[i].index])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "TF_Output %s:%d appears more than once in the input list", node->name,
                     s->inputs[i].index);
    names[s->inputs[i].index] = "";  // named below
  }
  for (int i = 0; i < s->num_outputs; i++) FY_TRY(check_tensor(m, s->outputs[i], "output", i, err));
  return FY_OK;
}

static fy_code choose_nodes(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  if (s->num_nodes >= 0) {
    m->nodes = fy_arena_memdup(m->arena, s->nodes, (size_t)s->num_nodes * sizeof *m->nodes);
    if (!m->nodes) return fy_fail_oom(err, (size_t)s->num_nodes);
    m->num_nodes = (size_t)s->num_nodes;
    for (size_t i = 0; i < m->num_nodes; i++)
      if (!belongs(m, m->nodes[i]))
        return fy_fail(err, FY_INVALID_ARGUMENT, "Node is null or belongs to another graph");
    return FY_OK;
  }
  m->nodes = fy_arena_array(m->arena, m->g->num_nodes, sizeof *m->nodes);
  if (!m->nodes) return fy_fail_oom(err, m->g->num_nodes);
  for (size_t i = 0; i < m->g->num_nodes; i++) {
    const fy_node *n = m->g->nodes[i];
    if (!n) continue;
    if (!m->tensor_name[i]) {
      m->nodes[m->num_nodes++] = n;
    } else if (n->num_outputs != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "When `num_opers` is set to -1, nodes referenced in `inputs` must have a "
                     "single output. Node %s has %u outputs. Encountered while creating function "
                     "'%s'",
                     n->name, n->num_outputs, s->name);
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- signature
static Tensorflow__OpDef__ArgDef *new_arg(maker *m, const char *name, fy_dtype type) {
  Tensorflow__OpDef__ArgDef *a = fy_wire_new(&tensorflow__op_def__arg_def__descriptor, m->arena);
  if (!a || !name) return NULL;
  a->name = (char *)(uintptr_t)name;
  a->type = (Tensorflow__DataType)type;
  return a;
}

static fy_code name_outputs(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  Tensorflow__OpDef *sig = m->def->signature;
  sig->output_arg = fy_arena_array(m->arena, (size_t)s->num_outputs, sizeof *sig->output_arg);
  if (!sig->output_arg) return fy_fail_oom(err, (size_t)s->num_outputs);
  for (int i = 0; i < s->num_outputs; i++) {
    const char *name;
    if (s->output_names) {
      name = fy_arena_strdup(m->arena, s->output_names[i]);
      if (name && fy_map_gets(&m->used, name))
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Cannot have duplicate output names. Name '%s' appears more than once in "
                       "'output_names' array.",
                       name);
      if (name && !fy_map_puts(&m->used, name, (void *)1)) name = NULL;
    } else {
      name = unique(m, normalize(m->arena, s->outputs[i].node->name));
    }
    Tensorflow__OpDef__ArgDef *a =
        new_arg(m, name, s->outputs[i].node->outputs[s->outputs[i].index].dtype);
    if (!a) return fy_fail_oom(err, sizeof *a);
    sig->output_arg[sig->n_output_arg++] = a;
  }
  return FY_OK;
}

// What the callee should know of an argument: its private attributes and its shape.
static fy_code describe_input(maker *m, uint32_t i, const fy_node *node, fy_dtype type,
                              fy_error *err) {
  fy_attrs attrs = {0};
  for (uint32_t k = 0; k < node->attrs.n; k++) {
    const char *name = node->attrs.items[k].name;
    const fy_attr *value = &node->attrs.items[k].value;
    fy_attr shapes = {.kind = FY_ATTR_SHAPE, .is_list = true, .n = 1};
    fy_pshape *shape = NULL;
    if (name[0] == '_') {
      FY_TRY(fy_attrs_set(&attrs, m->arena, name, value, err));
    } else if (strcmp(name, "shape") == 0 && type != FY_RESOURCE && value->kind == FY_ATTR_SHAPE) {
      shape = fy_arena_memdup(m->arena, &value->v.shape, sizeof *shape);
      if (!shape) return fy_fail_oom(err, sizeof *shape);
    } else if (strcmp(name, "value") == 0 && strcmp(node->op_name, "Const") == 0 &&
               value->kind == FY_ATTR_TENSOR) {
      shape = fy_arena_alloc(m->arena, sizeof *shape);
      if (!shape) return fy_fail_oom(err, sizeof *shape);
      *shape = (fy_pshape){value->v.tensor->rank, value->v.tensor->dims};
    }
    if (!shape || fy_attrs_get(&attrs, "_output_shapes")) continue;
    shapes.v.shapes = shape;
    FY_TRY(fy_attrs_set(&attrs, m->arena, "_output_shapes", &shapes, err));
  }
  const fy_attr *id = fy_attrs_get(&attrs, "_resource_arg_unique_id");
  if (id && id->kind == FY_ATTR_INT && id->v.i >= 0) {
    Tensorflow__FunctionDef__ResourceArgUniqueIdEntry *e =
        fy_wire_new(&tensorflow__function_def__resource_arg_unique_id_entry__descriptor, m->arena);
    if (!e) return fy_fail_oom(err, sizeof *e);
    e->key = i;
    e->value = (uint32_t)id->v.i;
    m->def->resource_arg_unique_id[m->def->n_resource_arg_unique_id++] = e;
  }
  if (attrs.n == 0) return FY_OK;
  Tensorflow__FunctionDef__ArgAttrEntry *e =
      fy_wire_new(&tensorflow__function_def__arg_attr_entry__descriptor, m->arena);
  if (!e) return fy_fail_oom(err, sizeof *e);
  e->key = i;
  e->value = fy_wire_new(&tensorflow__function_def__arg_attrs__descriptor, m->arena);
  if (!e->value) return fy_fail_oom(err, sizeof *e);
  fy_wire_attr_entry **entries;
  FY_TRY(fy_wire_attrs_write(&attrs, &tensorflow__function_def__arg_attrs__attr_entry__descriptor,
                             m->arena, &e->value->n_attr, &entries, err));
  e->value->attr = (Tensorflow__FunctionDef__ArgAttrs__AttrEntry **)entries;
  m->def->arg_attr[m->def->n_arg_attr++] = e;
  return FY_OK;
}

static fy_code name_inputs(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  Tensorflow__OpDef *sig = m->def->signature;
  size_t n = (size_t)s->num_inputs;
  sig->input_arg = fy_arena_array(m->arena, n, sizeof *sig->input_arg);
  m->def->arg_attr = fy_arena_array(m->arena, n, sizeof *m->def->arg_attr);
  m->def->resource_arg_unique_id =
      fy_arena_array(m->arena, n, sizeof *m->def->resource_arg_unique_id);
  if (!sig->input_arg || !m->def->arg_attr || !m->def->resource_arg_unique_id)
    return fy_fail_oom(err, n);
  for (size_t i = 0; i < n; i++) {
    const fy_node *node = s->inputs[i].node;
    fy_dtype type = node->outputs[s->inputs[i].index].dtype;
    const char *name = unique(m, normalize(m->arena, node->name));
    Tensorflow__OpDef__ArgDef *a = new_arg(m, name, type);
    if (!a) return fy_fail_oom(err, sizeof *a);
    sig->input_arg[sig->n_input_arg++] = a;
    FY_TRY(describe_input(m, (uint32_t)i, node, type, err));
    m->node_name[node->id] = name;
    m->tensor_name[node->id][s->inputs[i].index] = name;
  }
  return FY_OK;
}

// ---------------------------------------------------------------- body
static fy_code name_nodes(maker *m, fy_error *err) {
  for (size_t i = 0; i < m->num_nodes; i++) {
    const fy_node *n = m->nodes[i];
    const char *name = unique(m, n->name);
    const char **names = tensor_names(m, n);
    if (!name || !names) return fy_fail_oom(err, sizeof *names);
    m->node_name[n->id] = name;
    for (int k = 0; k < n->spec->num_outputs; k++) {
      int begin, end;
      FY_TRY(fy_spec_arg_range(n->spec, true, k, &n->attrs, &begin, &end, err));
      for (int o = begin; o < end && (uint32_t)o < n->num_outputs; o++) {
        if (names[o]) continue;  // an input of the function
        names[o] = fy_arena_printf(m->arena, "%s:%s:%d", name, n->spec->outputs[k].name, o - begin);
        if (!names[o]) return fy_fail_oom(err, 1);
      }
    }
  }
  return FY_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(fy_node *const *)a)->name, (*(fy_node *const *)b)->name);
}

// TensorFlow numbers edges as they are added, after the one from its source to its sink.
static unsigned edge_id(const fy_graph *g, const fy_node *to, const fy_node *control) {
  unsigned id = 1 + to->num_inputs;
  for (uint32_t i = 0; i < to->id; i++)
    if (g->nodes[i]) id += g->nodes[i]->num_inputs + g->nodes[i]->num_controls;
  for (uint32_t i = 0; i < to->num_controls && to->controls[i] != control; i++) id++;
  return id;
}

static fy_code connect(maker *m, const fy_node *n, Tensorflow__NodeDef *def, fy_error *err) {
  size_t total = (size_t)n->num_inputs + n->num_controls;
  def->input = fy_arena_array(m->arena, total, sizeof *def->input);
  fy_node **controls = fy_arena_memdup(m->arena, n->controls, n->num_controls * sizeof *controls);
  if (!def->input || !controls) return fy_fail_oom(err, total);
  for (uint32_t i = 0; i < n->num_inputs; i++) {
    fy_output in = n->inputs[i];
    const char **names = m->tensor_name[in.node->id];
    if (!names || !names[in.index])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %u, '%s:%d', of node '%s' in function '%s' is not available. You might "
                     "need to include it in inputs or include its source node in the body",
                     i, in.node->name, in.index, n->name, m->s->name);
    def->input[def->n_input++] = (char *)(uintptr_t)names[in.index];
  }
  if (n->num_controls > 1) qsort(controls, n->num_controls, sizeof *controls, by_name);
  for (uint32_t i = 0; i < n->num_controls; i++) {
    const char *name = m->node_name[controls[i]->id];
    if (!name)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The source of control edge [id=%u %s:-1 -> %s:-1] is not in the body. "
                     "Encountered while creating function '%s'",
                     edge_id(m->g, n, controls[i]), controls[i]->name, n->name, m->s->name);
    char *text = fy_arena_printf(m->arena, "^%s", name);
    if (!text) return fy_fail_oom(err, 1);
    def->input[def->n_input++] = text;
  }
  return FY_OK;
}

static fy_code fail_undeclared(maker *m, const fy_node *n, const char *attr, fy_error *err) {
  Tensorflow__OpDef *def;
  fy_str text;
  fy_str_init(&text);
  if (!fy_spec_to_opdef(n->spec, m->arena, &def, NULL)) fy_wire_text_print(&text, &def->base);
  fy_fail(err, FY_UNIMPLEMENTED,
          "Placeholder value is not supported for attributes not in OpDef. Attribute: %s, OpDef: "
          "goo.gle/debugstr \n%s",
          attr, fy_str_text(&text));
  fy_str_free(&text);
  return FY_UNIMPLEMENTED;
}

// An attribute whose value is a placeholder becomes a parameter of the function.
static fy_code add_parameters(maker *m, const fy_node *n, fy_map *seen, fy_error *err) {
  Tensorflow__OpDef *sig = m->def->signature;
  for (uint32_t i = 0; i < n->attrs.n; i++) {
    const fy_attr *v = &n->attrs.items[i].value;
    if (v->is_list || v->kind != FY_ATTR_PLACEHOLDER || v->v.s.n == 0) continue;
    if (fy_map_get(seen, v->v.s.p, v->v.s.n)) continue;
    const fy_attr_spec *a = fy_spec_attr(n->spec, n->attrs.items[i].name);
    if (!a) return fail_undeclared(m, n, n->attrs.items[i].name, err);
    Tensorflow__OpDef__AttrDef *def =
        fy_wire_new(&tensorflow__op_def__attr_def__descriptor, m->arena);
    Tensorflow__OpDef__AttrDef **grown = fy_arena_array(m->arena, sig->n_attr + 1, sizeof *grown);
    if (!def || !grown || !fy_map_put(seen, v->v.s.p, v->v.s.n, def))
      return fy_fail_oom(err, sizeof *def);
    def->name = fy_arena_strndup(m->arena, v->v.s.p, v->v.s.n);
    if (!def->name) return fy_fail_oom(err, v->v.s.n);
    def->type = (char *)(uintptr_t)a->type;
    if (sig->n_attr) memcpy(grown, sig->attr, sig->n_attr * sizeof *grown);
    grown[sig->n_attr++] = def;
    sig->attr = grown;
  }
  return FY_OK;
}

static fy_code fill_body(maker *m, fy_error *err) {
  fy_map seen;
  fy_map_init(&seen);
  fy_code code = FY_OK;
  m->def->node_def = fy_arena_array(m->arena, m->num_nodes, sizeof *m->def->node_def);
  if (!m->def->node_def) code = fy_fail_oom(err, m->num_nodes);
  for (size_t i = 0; !code && i < m->num_nodes; i++) {
    const fy_node *n = m->nodes[i];
    Tensorflow__NodeDef *def;
    code = fy_node_export_bare(n, m->arena, &def, err);
    if (code) break;
    def->name = (char *)(uintptr_t)m->node_name[n->id];
    m->def->node_def[m->def->n_node_def++] = def;
    code = connect(m, n, def, err);
    if (n->spec->flags & FY_SPEC_STATEFUL) m->def->signature->is_stateful = true;
    if (!code) code = add_parameters(m, n, &seen, err);
  }
  fy_map_free(&seen);
  return code;
}

static fy_code fill_results(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  m->def->ret = fy_arena_array(m->arena, (size_t)s->num_outputs, sizeof *m->def->ret);
  if (!m->def->ret) return fy_fail_oom(err, (size_t)s->num_outputs);
  for (int i = 0; i < s->num_outputs; i++) {
    fy_output o = s->outputs[i];
    const char **names = m->tensor_name[o.node->id];
    if (!names || !names[o.index])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "TF_Output %s:%d is neither in the function body nor among function inputs. "
                     "Encountered while creating function '%s'",
                     o.node->name, o.index, s->name);
    Tensorflow__FunctionDef__RetEntry *e =
        fy_wire_new(&tensorflow__function_def__ret_entry__descriptor, m->arena);
    if (!e) return fy_fail_oom(err, sizeof *e);
    e->key = m->def->signature->output_arg[i]->name;
    e->value = (char *)(uintptr_t)names[o.index];
    m->def->ret[m->def->n_ret++] = e;
  }
  return FY_OK;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static fy_code fill_controls(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  Tensorflow__OpDef *sig = m->def->signature;
  size_t n = s->num_controls > 0 ? (size_t)s->num_controls : 0;
  if (n == 0) return FY_OK;
  m->def->control_ret = fy_arena_array(m->arena, n, sizeof *m->def->control_ret);
  sig->control_output = fy_arena_array(m->arena, n, sizeof *sig->control_output);
  if (!m->def->control_ret || !sig->control_output) return fy_fail_oom(err, n);
  for (size_t i = 0; i < n; i++) {
    const char *given = s->control_names ? s->control_names[i] : s->controls[i]->name;
    char *name = fy_arena_strdup(m->arena, given);
    if (!name) return fy_fail_oom(err, 1);
    if (*name == '\0')
      return fy_fail(err, FY_INVALID_ARGUMENT, "Control output name must be not empty");
    for (size_t k = 0; k < i; k++)
      if (strcmp(sig->control_output[k], name) == 0)
        return fy_fail(err, FY_INVALID_ARGUMENT, "Repeated control output name: %s", name);
    const char *node = belongs(m, s->controls[i]) ? m->node_name[s->controls[i]->id] : NULL;
    if (!node || !*node)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Control output node name must be not empty");
    Tensorflow__FunctionDef__ControlRetEntry *e =
        fy_wire_new(&tensorflow__function_def__control_ret_entry__descriptor, m->arena);
    if (!e) return fy_fail_oom(err, sizeof *e);
    e->key = name;
    e->value = (char *)(uintptr_t)node;
    m->def->control_ret[m->def->n_control_ret++] = e;
    sig->control_output[sig->n_control_output++] = name;
  }
  qsort(sig->control_output, n, sizeof *sig->control_output, by_text);
  return FY_OK;
}

// Eleven letters and digits that depend on the whole definition.
static fy_code hash_name(maker *m, fy_error *err) {
  static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  uint8_t *bytes;
  size_t n;
  fy_function_sort(&m->def->base);
  FY_TRY(fy_wire_pack(&m->def->base, &bytes, &n, err));
  uint64_t hash = fy_hash64(bytes, n, 0);
  fy_free(bytes);
  char text[12];
  for (int i = 0; i < 11; i++, hash /= 62) text[i] = digits[hash % 62];
  text[11] = '\0';
  m->def->signature->name = fy_arena_printf(m->arena, "%s_%s", m->s->name, text);
  return m->def->signature->name ? FY_OK : fy_fail_oom(err, sizeof text);
}

static fy_code make(maker *m, fy_error *err) {
  const fy_function_source *s = m->s;
  size_t n = m->g->num_nodes + 1;
  m->node_name = fy_arena_array(m->arena, n, sizeof *m->node_name);
  m->tensor_name = fy_arena_array(m->arena, n, sizeof *m->tensor_name);
  m->def = fy_wire_new(&tensorflow__function_def__descriptor, m->arena);
  if (!m->node_name || !m->tensor_name || !m->def) return fy_fail_oom(err, n);
  Tensorflow__OpDef *sig = fy_wire_new(&tensorflow__op_def__descriptor, m->arena);
  if (!sig) return fy_fail_oom(err, sizeof *sig);
  m->def->signature = sig;
  FY_TRY(check_arguments(m, err));
  FY_TRY(choose_nodes(m, err));
  sig->description = fy_arena_strdup(m->arena, s->description ? s->description : "");
  if (!sig->description) return fy_fail_oom(err, 1);
  FY_TRY(name_outputs(m, err));
  FY_TRY(name_inputs(m, err));
  FY_TRY(name_nodes(m, err));
  FY_TRY(fill_body(m, err));
  FY_TRY(fill_results(m, err));
  if (s->append_hash) {
    FY_TRY(hash_name(m, err));
  } else {
    sig->name = fy_arena_strdup(m->arena, s->name);
    if (!sig->name) return fy_fail_oom(err, 1);
  }
  return fill_controls(m, err);
}

fy_code fy_function_from_graph(const fy_graph *g, const fy_function_source *source, fy_arena *arena,
                               Tensorflow__FunctionDef **out, fy_error *err) {
  maker m = {.g = g, .s = source, .arena = arena};
  fy_map_init(&m.used);
  fy_code code = make(&m, err);
  fy_map_free(&m.used);
  *out = code ? NULL : m.def;
  return code;
}

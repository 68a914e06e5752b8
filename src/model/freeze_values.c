// SPDX-License-Identifier: Apache-2.0
// freeze_values.c: where a handle went, its value goes. Each node that reads one is rewritten once;
// outputs that hand it on are marked, and the walk repeats until nothing changes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"
#include "graph/import.h"
#include "model/freeze_impl.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

typedef struct special {  // a function made for some arguments being values
  const char *name;
  int *outputs;  // [num_outputs] dtype of an output that is a value now, else 0
  int num_outputs;
} special;

// ------------------------------------------------------------------ messages
static char *text(freezer *z, const char *s) {
  return fy_arena_strdup(z->arena, s);
}

node_def *fy_freeze_node(freezer *z, const char *name, const char *op) {
  node_def *n = fy_wire_new(&tensorflow__node_def__descriptor, z->arena);
  if (!n) return NULL;
  n->name = text(z, name);
  n->op = text(z, op);
  return n->name && n->op ? n : NULL;
}

attr_value *fy_freeze_find_attr(const node_def *n, const char *name) {
  for (size_t i = n->n_attr; i-- > 0;)
    if (strcmp(n->attr[i]->key, name) == 0) return n->attr[i]->value;
  return NULL;
}

void fy_freeze_drop_attr(node_def *n, const char *name) {
  size_t kept = 0;
  for (size_t i = 0; i < n->n_attr; i++)
    if (strcmp(n->attr[i]->key, name) != 0) n->attr[kept++] = n->attr[i];
  n->n_attr = kept;
}

attr_value *fy_freeze_attr(freezer *z, node_def *n, const char *name) {
  fy_freeze_drop_attr(n, name);
  Tensorflow__NodeDef__AttrEntry **more = fy_arena_array(z->arena, n->n_attr + 1, sizeof *more);
  Tensorflow__NodeDef__AttrEntry *e =
      fy_wire_new(&tensorflow__node_def__attr_entry__descriptor, z->arena);
  if (!more || !e) return NULL;
  if (n->n_attr) memcpy((void *)more, (const void *)n->attr, n->n_attr * sizeof *more);
  e->key = text(z, name);
  e->value = fy_wire_new(&tensorflow__attr_value__descriptor, z->arena);
  if (!e->key || !e->value) return NULL;
  more[n->n_attr++] = e;
  n->attr = more;
  return e->value;
}

bool fy_freeze_set_type(freezer *z, node_def *n, const char *name, int dtype) {
  attr_value *v = fy_freeze_attr(z, n, name);
  if (!v) return false;
  v->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TYPE;
  v->type = (Tensorflow__DataType)dtype;
  return true;
}

fy_code fy_freeze_add(freezer *z, node_list *l, node_def *n, fy_error *err) {
  if (l->n == l->cap) {
    size_t cap = l->cap ? 2 * l->cap : 64;
    node_def **more = fy_arena_array(z->arena, cap, sizeof *more);
    if (!more) return fy_fail_oom(err, cap * sizeof *more);
    if (l->n) memcpy((void *)more, (const void *)l->items, l->n * sizeof *more);
    l->items = more;
    l->cap = cap;
  }
  l->items[l->n++] = n;
  return FY_OK;
}

static void release(void *tensor) {
  fy_tensor_release(tensor);
}

fy_code fy_freeze_keep(freezer *z, fy_tensor *t, fy_error *err) {
  if (!fy_arena_defer(z->arena, release, t)) return FY_OK;
  fy_tensor_release(t);
  return fy_fail_oom(err, sizeof t);
}

fy_code fy_freeze_constant(freezer *z, const char *name, const fy_tensor *t, node_def **out,
                           fy_error *err) {
  node_def *n = fy_freeze_node(z, name, "Const");
  attr_value *v = n ? fy_freeze_attr(z, n, "value") : NULL;
  if (!v || !fy_freeze_set_type(z, n, "dtype", (int)t->dtype)) return fy_fail_oom(err, sizeof *n);
  v->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TENSOR;
  *out = n;
  return fy_wire_tensor_write(t, z->arena, &v->tensor, err);
}

// ------------------------------------------------------------------ marks
void fy_freeze_scope_init(scope *s, node_list *nodes, const char *where) {
  *s = (scope){.nodes = nodes, .where = where};
  fy_map_init(&s->frozen);
  fy_map_init(&s->renamed);
}

void fy_freeze_scope_free(scope *s) {
  fy_map_free(&s->frozen);
  fy_map_free(&s->renamed);
}

// In a function body "read:value:0" of a ReadVariableOp is "read:output:0" of the Identity it became.
static fy_code rename_input(freezer *z, const scope *s, char **input, fy_error *err) {
  size_t n = strcspn(*input, ":");
  const char *last = strrchr(*input, ':');
  if (!last || (*input)[0] == '^' || last == *input + n || !fy_map_get(&s->renamed, *input, n))
    return FY_OK;
  *input = fy_arena_printf(z->arena, "%.*s:output%s", (int)n, *input, last);
  return *input ? FY_OK : fy_fail_oom(err, n);
}

fy_code fy_freeze_mark(freezer *z, scope *s, const char *name, int index, int dtype,
                       fy_error *err) {
  const char *key = fy_arena_printf(z->arena, "%s:%d", name, index);
  if (!key || !fy_map_puts(&s->frozen, key, (void *)(uintptr_t)dtype))
    return fy_fail_oom(err, strlen(name));
  return FY_OK;
}

// The dtype of the value that |input| ("x", "x:1", in functions "x:output:1") stands for; 0 = none.
static int value_type(const scope *s, const char *input) {
  char key[1100];
  if (!input || input[0] == '^') return 0;
  size_t n = strcspn(input, ":");
  const char *last = strrchr(input, ':');
  long index = last ? strtol(last + 1, NULL, 10) : 0;
  if (n > 1024) return 0;
  snprintf(key, sizeof key, "%.*s:%ld", (int)n, input, index);
  return (int)(uintptr_t)fy_map_gets(&s->frozen, key);
}

// ------------------------------------------------------------------ functions
static fy_code specialise(freezer *z, const char *name, const int *types, int n, special **out,
                          fy_error *err);

// Arguments that were handles say nothing about handles any more.
static void clean_arguments(function_def *f, const int *types, int n) {
  size_t kept = 0;
  for (int i = 0; i < n && i < (int)f->signature->n_input_arg; i++) {
    Tensorflow__OpDef__ArgDef *arg = f->signature->input_arg[i];
    if (!types[i]) continue;
    arg->type = (Tensorflow__DataType)types[i];
    arg->n_handle_data = 0;
    arg->experimental_full_type = NULL;
  }
  for (size_t i = 0; i < f->n_arg_attr; i++) {
    uint32_t k = f->arg_attr[i]->key;
    if (k >= (uint32_t)n || !types[k]) f->arg_attr[kept++] = f->arg_attr[i];
  }
  f->n_arg_attr = kept;
  kept = 0;
  for (size_t i = 0; i < f->n_resource_arg_unique_id; i++) {
    uint32_t k = f->resource_arg_unique_id[i]->key;
    if (k >= (uint32_t)n || !types[k])
      f->resource_arg_unique_id[kept++] = f->resource_arg_unique_id[i];
  }
  f->n_resource_arg_unique_id = kept;
  kept = 0;
  for (size_t i = 0; i < f->n_attr; i++)
    if (strcmp(f->attr[i]->key, "_input_shapes") != 0) f->attr[kept++] = f->attr[i];
  f->n_attr = kept;
}

static fy_code mark_outputs(freezer *z, const scope *s, function_def *f, special *made,
                            fy_error *err) {
  made->num_outputs = (int)f->signature->n_output_arg;
  made->outputs = fy_arena_array(z->arena, (size_t)made->num_outputs + 1, sizeof *made->outputs);
  if (!made->outputs) return fy_fail_oom(err, sizeof *made->outputs);
  for (int i = 0; i < made->num_outputs; i++) {
    Tensorflow__OpDef__ArgDef *arg = f->signature->output_arg[i];
    for (size_t k = 0; k < f->n_ret; k++)
      if (arg->name && strcmp(f->ret[k]->key, arg->name) == 0)
        made->outputs[i] = value_type(s, f->ret[k]->value);
    if (!made->outputs[i]) continue;
    arg->type = (Tensorflow__DataType)made->outputs[i];
    arg->n_handle_data = 0;
    arg->experimental_full_type = NULL;
  }
  return FY_OK;
}

static fy_code make(freezer *z, const function_def *from, const int *types, int n, special *made,
                    fy_error *err) {
  function_def *f;
  FY_TRY(fy_function_copy(from, z->arena, &f, err));
  for (int k = 0;; k++) {
    char *name =
        fy_arena_printf(z->arena, k ? "%s_frozen_%d" : "%s_frozen", from->signature->name, k);
    if (!name) return fy_fail_oom(err, 64);
    if (fy_map_gets(&z->functions, name)) continue;
    f->signature->name = name;
    break;
  }
  made->name = f->signature->name;
  clean_arguments(f, types, n);
  node_list nodes = {f->node_def, f->n_node_def, f->n_node_def};
  scope s;
  fy_freeze_scope_init(&s, &nodes, from->signature->name);
  fy_code code = FY_OK;
  for (int i = 0; i < n && !code; i++)
    if (types[i]) code = fy_freeze_mark(z, &s, f->signature->input_arg[i]->name, 0, types[i], err);
  if (!code) code = fy_freeze_scope(z, &s, err);
  if (!code) code = mark_outputs(z, &s, f, made, err);
  for (size_t i = 0; i < nodes.n && !code; i++)
    for (size_t k = 0; k < nodes.items[i]->n_input && !code; k++)
      code = rename_input(z, &s, &nodes.items[i]->input[k], err);
  for (size_t i = 0; i < f->n_ret && !code; i++) code = rename_input(z, &s, &f->ret[i]->value, err);
  f->node_def = nodes.items;
  f->n_node_def = nodes.n;
  fy_freeze_scope_free(&s);
  if (code) return code;
  if (z->num_added == z->cap_added) {
    size_t cap = z->cap_added ? 2 * z->cap_added : 16;
    function_def **more = fy_arena_array(z->arena, cap, sizeof *more);
    if (!more) return fy_fail_oom(err, cap * sizeof *more);
    if (z->num_added) memcpy((void *)more, (const void *)z->added, z->num_added * sizeof *more);
    z->added = more;
    z->cap_added = cap;
  }
  z->added[z->num_added++] = f;
  return fy_map_puts(&z->functions, f->signature->name, f) ? FY_OK : fy_fail_oom(err, 64);
}

static fy_code specialise(freezer *z, const char *name, const int *types, int n, special **out,
                          fy_error *err) {
  const function_def *from = fy_map_gets(&z->functions, name);
  if (!from || !from->signature || (int)from->signature->n_input_arg < n)
    return fy_fail(err, FY_INVALID_ARGUMENT, "function '%s' is missing or takes other arguments",
                   name);
  fy_str key;
  fy_str_init(&key);
  fy_str_add(&key, name);
  for (int i = 0; i < n; i++)
    if (types[i]) fy_str_printf(&key, "|%d=%d", i, types[i]);
  const char *kept = key.failed ? NULL : fy_arena_strdup(z->arena, fy_str_text(&key));
  fy_str_free(&key);
  if (!kept) return fy_fail_oom(err, 64);
  *out = fy_map_gets(&z->made, kept);
  if (*out && !(*out)->name)
    return fy_fail(err, FY_UNIMPLEMENTED, "function '%s' calls itself with a variable", name);
  if (*out) return FY_OK;
  *out = fy_arena_zalloc(z->arena, sizeof **out);
  if (!*out || !fy_map_puts(&z->made, kept, *out)) return fy_fail_oom(err, sizeof **out);
  special *made = *out, done = {0};
  FY_TRY(make(z, from, types, n, &done, err));
  *made = done;
  return FY_OK;
}

// ------------------------------------------------------------------ calls
// The shape of a handle says nothing about its value's.
static fy_code forget_shape(freezer *z, const node_def *n, int index, fy_error *err) {
  attr_value *v = fy_freeze_find_attr(n, "output_shapes");
  if (!v || v->value_case != TENSORFLOW__ATTR_VALUE__VALUE_LIST ||
      (size_t)index >= v->list->n_shape)
    return FY_OK;
  Tensorflow__TensorShapeProto *shape =
      fy_wire_new(&tensorflow__tensor_shape_proto__descriptor, z->arena);
  if (!shape) return fy_fail_oom(err, sizeof *shape);
  shape->unknown_rank = true;
  v->list->shape[index] = shape;
  return FY_OK;
}

static Tensorflow__AttrValue__ListValue *list_of(const node_def *n, const char *attr) {
  attr_value *v = fy_freeze_find_attr(n, attr);
  return v && v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST ? v->list : NULL;
}

static fy_code set_types(const scope *s, node_def *n, const char *attr, const int *types, int count,
                         fy_error *err) {
  Tensorflow__AttrValue__ListValue *l = list_of(n, attr);
  if (!l || (int)l->n_type < count)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: node '%s' (%s) has no list %s of %d types",
                   s->where, n->name, n->op, attr, count);
  for (int i = 0; i < count; i++)
    if (types[i]) l->type[i] = (Tensorflow__DataType)types[i];
  return FY_OK;
}

static fy_code call_function(freezer *z, const scope *s, Tensorflow__NameAttrList *f,
                             const node_def *n, const int *types, int count, special **made,
                             fy_error *err) {
  if (!f || !f->name)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: node '%s' (%s) names no function", s->where,
                   n->name, n->op);
  FY_TRY(specialise(z, f->name, types, count, made, err));
  f->name = (char *)(uintptr_t)(*made)->name;
  return FY_OK;
}

// Functions that |attr| names (one, or a list), all made for these arguments. Handles that they hand on
// are marked as outputs of the node; all must agree.
static fy_code call_attr(freezer *z, scope *s, node_def *n, const char *attr, const int *types,
                         int count, bool outputs, fy_error *err) {
  attr_value *v = fy_freeze_find_attr(n, attr);
  special *made = NULL;
  if (v && v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_FUNC) {
    FY_TRY(call_function(z, s, v->func, n, types, count, &made, err));
  } else if (v && v->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST) {
    for (size_t i = 0; i < v->list->n_func; i++)
      FY_TRY(call_function(z, s, v->list->func[i], n, types, count, &made, err));
  } else {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: node '%s' (%s) lacks its function %s", s->where,
                   n->name, n->op, attr);
  }
  for (int i = 0; outputs && made && i < made->num_outputs; i++) {
    if (!made->outputs[i]) continue;
    FY_TRY(fy_freeze_mark(z, s, n->name, i, made->outputs[i], err));
    FY_TRY(forget_shape(z, n, i, err));
    Tensorflow__AttrValue__ListValue *l = list_of(n, "Tout");
    if (l && i < (int)l->n_type) l->type[i] = (Tensorflow__DataType)made->outputs[i];
  }
  return FY_OK;
}

static fy_code rewrite_call(freezer *z, scope *s, node_def *n, const int *types, int count,
                            bool *known, fy_error *err) {
  const char *op = n->op;
  *known = true;
  if (strcmp(op, "PartitionedCall") == 0 || strcmp(op, "StatefulPartitionedCall") == 0) {
    FY_TRY(set_types(s, n, "Tin", types, count, err));
    return call_attr(z, s, n, "f", types, count, true, err);
  }
  if (strcmp(op, "While") == 0 || strcmp(op, "StatelessWhile") == 0) {
    FY_TRY(set_types(s, n, "T", types, count, err));
    FY_TRY(call_attr(z, s, n, "cond", types, count, false, err));
    FY_TRY(call_attr(z, s, n, "body", types, count, false, err));
    for (int i = 0; i < count; i++) {
      if (!types[i]) continue;
      FY_TRY(fy_freeze_mark(z, s, n->name, i, types[i], err));
      FY_TRY(forget_shape(z, n, i, err));
    }
    return FY_OK;
  }
  bool is_if = strcmp(op, "If") == 0 || strcmp(op, "StatelessIf") == 0;
  if (is_if || strcmp(op, "Case") == 0 || strcmp(op, "StatelessCase") == 0) {
    FY_TRY(set_types(s, n, "Tin", types + 1, count - 1, err));
    if (!is_if) return call_attr(z, s, n, "branches", types + 1, count - 1, true, err);
    FY_TRY(call_attr(z, s, n, "then_branch", types + 1, count - 1, true, err));
    return call_attr(z, s, n, "else_branch", types + 1, count - 1, true, err);
  }
  if (fy_map_gets(&z->functions, op)) {  // called by its name
    special *made;
    FY_TRY(specialise(z, op, types, count, &made, err));
    n->op = (char *)(uintptr_t)made->name;
    return FY_OK;
  }
  *known = false;
  return FY_OK;
}

// ------------------------------------------------------------------ nodes
static fy_code rename_attr(freezer *z, node_def *n, const char *op, const char *type_attr,
                           int dtype, fy_error *err) {
  fy_freeze_drop_attr(n, "dtype");
  fy_freeze_drop_attr(n, "validate_indices");
  n->op = text(z, op);
  n->experimental_type = NULL;
  return n->op && fy_freeze_set_type(z, n, type_attr, dtype) ? FY_OK : fy_fail_oom(err, 64);
}

// In a loop of TensorFlow 1 a constant must belong to the frame of what reads it: it waits for something
// there. In a function's body there are none.
static fy_code after_input(freezer *z, const scope *s, node_def *constant, const char *input,
                           fy_error *err) {
  bool loops = false;
  for (size_t i = 0; !s->where[0] && !loops && i < s->nodes->n; i++)
    loops = strcmp(s->nodes->items[i]->op, "Enter") == 0;
  if (!loops) return FY_OK;
  int32_t index;
  const fy_view from = fy_graph_parse_input(input, &index);
  constant->input = fy_arena_array(z->arena, 1, sizeof *constant->input);
  char *control = fy_arena_printf(z->arena, "^%.*s", (int)from.n, from.p);
  if (!constant->input || !control) return fy_fail_oom(err, from.n);
  constant->input[0] = control;
  constant->n_input = 1;
  return FY_OK;
}

static fy_code rewrite_gather(freezer *z, scope *s, node_def *n, int dtype, fy_error *err) {
  attr_value *batch = fy_freeze_find_attr(n, "batch_dims");
  int32_t axis = batch ? (int32_t)batch->i : 0;
  node_def *constant;
  fy_tensor *t;
  FY_TRY(fy_tensor_from(FY_INT32, 0, NULL, &axis, &t, err));
  FY_TRY(fy_freeze_keep(z, t, err));
  const char *name = fy_arena_printf(z->arena, "%s/axis_of_frozen", n->name);
  bool body = s->where[0] != 0;
  char *input = name ? fy_arena_printf(z->arena, body ? "%s:output:0" : "%s", name) : NULL;
  char **inputs = fy_arena_array(z->arena, n->n_input + 1, sizeof *inputs);
  if (!input || !inputs || n->n_input < 2) return fy_fail_oom(err, 64);
  FY_TRY(fy_freeze_constant(z, name, t, &constant, err));
  FY_TRY(after_input(z, s, constant, n->input[1], err));
  FY_TRY(fy_freeze_add(z, s->nodes, constant, err));
  inputs[0] = n->input[0];
  inputs[1] = n->input[1];
  inputs[2] = input;
  for (size_t i = 2; i < n->n_input; i++) inputs[i + 1] = n->input[i];
  n->input = inputs;
  n->n_input++;
  FY_TRY(rename_attr(z, n, "GatherV2", "Tparams", dtype, err));
  return fy_freeze_set_type(z, n, "Taxis", FY_INT32) ? FY_OK : fy_fail_oom(err, 64);
}

// Hands the value on: every output is a value too.
static bool passes_on(const char *op) {
  static const char *const ops[] = {"Identity",      "Enter",       "Exit",     "Merge",
                                    "NextIteration", "Switch",      "RefEnter", "RefExit",
                                    "RefIdentity",   "StopGradient"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (strcmp(op, ops[i]) == 0) return true;
  return false;
}

static fy_code always_true(freezer *z, node_def *n, fy_error *err) {
  static const bool yes = true;
  fy_tensor *t;
  node_def *constant;
  FY_TRY(fy_tensor_from(FY_BOOL, 0, NULL, &yes, &t, err));
  FY_TRY(fy_freeze_keep(z, t, err));
  FY_TRY(fy_freeze_constant(z, n->name, t, &constant, err));
  n->op = constant->op;
  n->attr = constant->attr;
  n->n_attr = constant->n_attr;
  n->n_input = 0;
  n->experimental_type = NULL;
  return FY_OK;
}

static fy_code rewrite(freezer *z, scope *s, node_def *n, const int *types, int count,
                       fy_error *err) {
  const char *op = n->op;
  bool known;
  int dtype = types[0];
  bool reads = strcmp(op, "ReadVariableOp") == 0, asks = strcmp(op, "VarIsInitializedOp") == 0;
  if ((reads || asks) && !fy_map_puts(&s->renamed, n->name, n)) return fy_fail_oom(err, 64);
  if (dtype && reads) return rename_attr(z, n, "Identity", "T", dtype, err);
  if (dtype && strcmp(op, "ResourceGather") == 0) return rewrite_gather(z, s, n, dtype, err);
  if (dtype && strcmp(op, "ResourceGatherNd") == 0)
    return rename_attr(z, n, "GatherNd", "Tparams", dtype, err);
  if (dtype && strcmp(op, "VariableShape") == 0) return rename_attr(z, n, "Shape", "T", dtype, err);
  if (asks) return always_true(z, n, err);
  if (dtype && passes_on(op)) {
    if (!fy_freeze_set_type(z, n, "T", dtype)) return fy_fail_oom(err, 64);
    n->experimental_type = NULL;
    FY_TRY(fy_freeze_mark(z, s, n->name, 0, dtype, err));
    return strcmp(op, "Switch") == 0 ? fy_freeze_mark(z, s, n->name, 1, dtype, err) : FY_OK;
  }
  FY_TRY(rewrite_call(z, s, n, types, count, &known, err));
  if (known) {
    n->experimental_type = NULL;
    return FY_OK;
  }
  return fy_fail(err, FY_FAILED_PRECONDITION,
                 "node '%s' (%s)%s%s uses the variable '%s' in a way that a constant cannot serve: "
                 "this signature cannot be frozen",
                 n->name, op, s->where[0] ? " of function " : "", s->where, n->input[0]);
}

fy_code fy_freeze_scope(freezer *z, scope *s, fy_error *err) {
  fy_map seen;
  fy_map_init(&seen);
  fy_code code = FY_OK;
  for (bool again = true; again && !code;) {
    again = false;
    for (size_t i = 0; i < s->nodes->n && !code; i++) {
      node_def *n = s->nodes->items[i];
      int *types = NULL, count = 0;
      if (fy_map_gets(&seen, n->name)) continue;
      for (size_t k = 0; k < n->n_input && n->input[k][0] != '^'; k++) {
        int dtype = value_type(s, n->input[k]);
        count = (int)k + 1;
        if (!dtype) continue;
        if (!types) types = fy_arena_array(z->arena, n->n_input + 1, sizeof *types);
        if (!types) {
          code = fy_fail_oom(err, n->n_input);
          break;
        }
        types[k] = dtype;
      }
      if (!types || code) continue;
      again = true;
      if (!fy_map_puts(&seen, n->name, n)) code = fy_fail_oom(err, 64);
      fy_freeze_drop_attr(n, "_output_shapes");
      if (!code) code = rewrite(z, s, n, types, count, err);
    }
  }
  fy_map_free(&seen);
  return code;
}

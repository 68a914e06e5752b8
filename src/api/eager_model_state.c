// SPDX-License-Identifier: Apache-2.0
// eager_model_state.c: the values that functions of a SavedModel capture, brought to life as Python's
// loader does: constants and assets, then empty variables and tables, then what the checkpoint holds,
// then what initialisers fill in.
//
// The checkpoint has an object graph of its own; objects of both are matched by walking the names of
// their children from the root.

#include <string.h>

#include "api/eager_model.h"
#include "base/alloc.h"
#include "graph/function.h"
#include "wire/bundle.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

// TensorFlow's name for a variable that nobody else can find.
#define ANONYMOUS "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
#define GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

typedef Tensorflow__TrackableObjectGraph__TrackableObject trackable;
typedef Tensorflow__TrackableObjectGraph__TrackableObject__SerializedTensor serialized;

typedef struct restorer {
  TF_SavedModel *model;
  fy_wire_bundle *bundle;
  const Tensorflow__TrackableObjectGraph *graph;
  int32_t *matches;  // [nodes of the model] the node of |graph|, or -1
  fy_arena arena;
} restorer;

// ---------------------------------------------------------------- calls
static fy_code run_op(fy_eager_op *op, fy_handle **results, int *num_results, fy_error *err) {
  fy_code code = fy_eager_execute(op, results, num_results, err);
  fy_eager_op_free(op);
  return code;
}

// Calls |f| and keeps |want| results (NULL: none).
static fy_code call(const fy_model_function *f, fy_handle **inputs, size_t num_inputs,
                    fy_handle **out, size_t want, fy_error *err) {
  fy_eager_op *op;
  FY_TRY(fy_model_call_op(f, inputs, num_inputs, &op, err));
  const Tensorflow__FunctionDef *def = op->function ? op->function->def : NULL;
  const size_t n = def ? def->signature->n_output_arg : 0;
  fy_handle **results = fy_calloc(n + 1, sizeof *results);
  int got = (int)n;
  if (!results || n < want) {
    fy_eager_op_free(op);
    fy_free((void *)results);
    return results ? fy_fail(err, FY_INVALID_ARGUMENT, "function '%s' has %zu results, not %zu",
                             f->about.name, n, want)
                   : fy_fail_oom(err, n * sizeof *results);
  }
  fy_code code = run_op(op, results, &got, err);
  for (size_t i = 0; !code && i < (size_t)got; i++) {
    if (i < want)
      out[i] = results[i];
    else if (results[i])
      fy_handle_release(results[i]);
  }
  fy_free((void *)results);
  return code;
}

// The function that is |node|'s child |name|, or NULL.
static const fy_model_function *method(const TF_SavedModel *model, size_t node, const char *name) {
  const int32_t at = fy_model_child(model->objects->nodes[node], name, strlen(name));
  return at >= 0 && model->functions[at] ? &model->functions[at]->f : NULL;
}

// ---------------------------------------------------------------- values
static fy_code keep(TF_SavedModel *model, size_t node, fy_tensor *t, fy_error *err) {
  model->values[node] = fy_handle_new(t);
  return model->values[node] ? FY_OK : fy_fail_oom(err, sizeof(fy_handle));
}

static fy_code make_constant(TF_SavedModel *model, size_t node, const char *name, fy_error *err) {
  const Tensorflow__GraphDef *g = model->m.meta->graph_def;
  for (size_t i = 0; i < g->n_node; i++) {
    if (strcmp(g->node[i]->name, name) != 0) continue;
    for (size_t k = 0; k < g->node[i]->n_attr; k++) {
      const Tensorflow__NodeDef__AttrEntry *a = g->node[i]->attr[k];
      fy_tensor *t = NULL;
      if (strcmp(a->key, "value") != 0 || !a->value ||
          a->value->value_case != TENSORFLOW__ATTR_VALUE__VALUE_TENSOR)
        continue;
      FY_TRY(fy_wire_tensor_read(a->value->tensor, NULL, &t, err));
      return keep(model, node, t, err);
    }
  }
  return fy_fail(err, FY_FAILED_PRECONDITION,
                 "%s: object_graph_def.nodes[%zu]: the graph has no constant '%s'", model->m.file,
                 node, name);
}

static fy_code make_asset(TF_SavedModel *model, size_t node, int32_t index, const fy_asset *assets,
                          size_t num_assets, fy_error *err) {
  fy_tensor *t = NULL;
  if (index < 0 || (size_t)index >= num_assets)
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "%s: object_graph_def.nodes[%zu].asset: there is no asset_file_def[%d]",
                   model->m.file, node, index);
  const fy_view path = fy_view_of(assets[index].path);
  FY_TRY(fy_tensor_from_strings(0, NULL, &path, &t, err));
  return keep(model, node, t, err);
}

static fy_code variable_op(fy_eager_op *op, const TF_SavedModel *model,
                           const Tensorflow__SavedVariable *v, fy_error *err) {
  const Tensorflow__TensorShapeProto *s = v->shape;
  fy_attr dtype = fy_attr_type((fy_dtype)v->dtype), name = fy_attr_string(FY_VIEW(ANONYMOUS));
  fy_attr shape = {.kind = FY_ATTR_SHAPE, .v.shape = {-1, NULL}};
  if (s && !s->unknown_rank) {
    if (s->n_dim > FY_MAX_RANK)
      return fy_fail(err, FY_INVALID_ARGUMENT, "variable '%s' has %zu dimensions", v->name,
                     s->n_dim);
    int64_t *dims = fy_arena_array(&op->arena, s->n_dim + 1, sizeof *dims);
    if (!dims) return fy_fail_oom(err, s->n_dim * sizeof *dims);
    for (size_t i = 0; i < s->n_dim; i++) dims[i] = s->dim[i]->size < 0 ? -1 : s->dim[i]->size;
    shape.v.shape = (fy_pshape){(int32_t)s->n_dim, dims};
  }
  // A device is kept only when it was asked for at saving; here it may not exist.
  if (v->device && *v->device && fy_eager_find_device(model->context, v->device))
    FY_TRY(fy_eager_op_set_device(op, v->device, err));
  if (!fy_eager_op_set_attr(op, "dtype", &dtype) || !fy_eager_op_set_attr(op, "shape", &shape) ||
      !fy_eager_op_set_attr(op, "shared_name", &name))
    return fy_fail_oom(err, sizeof shape);
  return FY_OK;
}

static fy_code make_variable(TF_SavedModel *model, size_t node, const Tensorflow__SavedVariable *v,
                             fy_error *err) {
  fy_eager_op *op;
  int n = 1;
  FY_TRY(fy_eager_op_new(model->context, "VarHandleOp", &op, err));
  fy_code code = variable_op(op, model, v, err);
  if (!code) return run_op(op, &model->values[node], &n, err);
  fy_eager_op_free(op);
  return code;
}

static fy_code make_values(TF_SavedModel *model, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = model->objects;
  fy_asset *assets;
  size_t num_assets;
  FY_TRY(fy_saved_model_assets(&model->m, &model->m.arena, &assets, &num_assets, err));
  for (size_t i = 0; i < g->n_nodes; i++) {
    const Tensorflow__SavedObject *o = g->nodes[i];
    if (o->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_CONSTANT)
      FY_TRY(make_constant(model, i, o->constant->operation, err));
    else if (o->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_ASSET)
      FY_TRY(make_asset(model, i, o->asset->asset_file_def_index, assets, num_assets, err));
    else if (o->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_VARIABLE)
      FY_TRY(make_variable(model, i, o->variable, err));
  }
  for (size_t i = 0; i < g->n_nodes; i++) {
    const fy_model_function *create = method(model, i, "_create_resource");
    if (create && g->nodes[i]->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_RESOURCE)
      FY_TRY(call(create, NULL, 0, &model->values[i], 1, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- the checkpoint
static fy_code read_graph(restorer *r, fy_error *err) {
  fy_tensor *t = NULL;
  ProtobufCMessage *message;
  FY_TRY(fy_wire_bundle_read(r->bundle, GRAPH_KEY, &t, err));
  fy_code code = FY_OK;
  if (t->dtype != FY_STRING || t->count != 1) {
    code = fy_fail(err, FY_DATA_LOSS, GRAPH_KEY " is not one string");
  } else {
    const fy_view v = fy_tensor_string(t, 0);
    code = fy_wire_unpack(&tensorflow__trackable_object_graph__descriptor, v.p, v.n, NULL,
                          &r->arena, &message, err);
    if (code)
      fy_error_prepend(err, GRAPH_KEY ": ");
    else
      r->graph = (const Tensorflow__TrackableObjectGraph *)message;
  }
  fy_tensor_release(t);
  return code;
}

static int32_t same_child(const restorer *r, int32_t node, const char *name) {
  const trackable *t = r->graph->nodes[node];
  for (size_t i = 0; name && i < t->n_children; i++) {
    const int32_t id = t->children[i]->node_id;
    if (strcmp(t->children[i]->local_name, name) == 0)
      return id >= 0 && (size_t)id < r->graph->n_nodes ? id : -1;
  }
  return -1;
}

static fy_code match_objects(restorer *r, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = r->model->objects;
  int32_t *todo = fy_arena_array(&r->arena, g->n_nodes, sizeof *todo);
  r->matches = fy_arena_array(&r->arena, g->n_nodes, sizeof *r->matches);
  if (!todo || !r->matches) return fy_fail_oom(err, g->n_nodes * sizeof *todo);
  for (size_t i = 0; i < g->n_nodes; i++) r->matches[i] = -1;
  if (!r->graph->n_nodes) return FY_OK;
  size_t n = 0;
  r->matches[0] = 0;
  todo[n++] = 0;
  while (n) {  // a node enters once, when it is matched
    const int32_t at = todo[--n];
    const Tensorflow__SavedObject *o = g->nodes[at];
    for (size_t i = 0; i < o->n_children; i++) {
      const int32_t child = o->children[i]->node_id;
      if (r->matches[child] >= 0) continue;
      r->matches[child] = same_child(r, r->matches[at], o->children[i]->local_name);
      if (r->matches[child] >= 0) todo[n++] = child;
    }
  }
  return FY_OK;
}

static fy_code read_handle(const restorer *r, const char *key, fy_handle **out, fy_error *err) {
  fy_tensor *t = NULL;
  FY_TRY(fy_wire_bundle_read(r->bundle, key, &t, err));
  *out = fy_handle_new(t);
  return *out ? FY_OK : fy_fail_oom(err, sizeof **out);
}

static fy_code restore_variable(const restorer *r, size_t node, fy_error *err) {
  const trackable *t = r->graph->nodes[r->matches[node]];
  for (size_t i = 0; i < t->n_attributes; i++) {
    const serialized *a = t->attributes[i];
    fy_handle *value = NULL;
    fy_eager_op *op = NULL;
    int n = 0;
    if (strcmp(a->name, "VARIABLE_VALUE") != 0) continue;
    fy_code code = read_handle(r, a->checkpoint_key, &value, err);
    if (!code) code = fy_eager_op_new(r->model->context, "AssignVariableOp", &op, err);
    if (!code) code = fy_eager_op_add_input(op, r->model->values[node], err);
    if (!code) code = fy_eager_op_add_input(op, value, err);
    if (!code) code = fy_eager_execute(op, NULL, &n, err);
    if (op) fy_eager_op_free(op);
    if (value) fy_handle_release(value);
    if (code)
      fy_error_prepend(err, "variable '%s': ", r->model->objects->nodes[node]->variable->name);
    return code;
  }
  return FY_OK;
}

// The names of the tensors that |restore| takes, behind the object's key. Newer models say it in the
// function's signature, a dict; older ones have a function to ask, whose results are a name, a slice
// and a value each.
static fy_code dict_names(const restorer *r, const fy_model_function *restore, const char ***out,
                          bool *found, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = r->model->objects;
  const Tensorflow__StructuredValue *v = NULL;
  *found = false;
  for (size_t i = 0; i < g->n_concrete_functions; i++)
    if (strcmp(g->concrete_functions[i]->key, restore->about.name) == 0 &&
        g->concrete_functions[i]->value)
      v = g->concrete_functions[i]->value->canonicalized_input_signature;
  for (int level = 0; level < 2; level++)  // of (arguments, keywords) the first argument
    v = v && v->kind_case == TENSORFLOW__STRUCTURED_VALUE__KIND_TUPLE_VALUE &&
                v->tuple_value->n_values
            ? v->tuple_value->values[0]
            : NULL;
  if (!v || v->kind_case != TENSORFLOW__STRUCTURED_VALUE__KIND_DICT_VALUE ||
      v->dict_value->n_fields != restore->num_args)
    return FY_OK;
  const size_t n = v->dict_value->n_fields;
  const char **names = fy_arena_array(&r->model->m.arena, n + 1, sizeof *names);
  if (!names) return fy_fail_oom(err, n * sizeof *names);
  for (size_t i = 0; i < n; i++) {  // by insertion: a table has two
    size_t at = i;
    for (; at > 0 && strcmp(names[at - 1], v->dict_value->fields[i]->key) > 0; at--)
      names[at] = names[at - 1];
    names[at] = v->dict_value->fields[i]->key;
  }
  *out = names;
  *found = true;
  return FY_OK;
}

static fy_code asked_names(const restorer *r, const fy_model_function *save, size_t n,
                           const char ***out, fy_error *err) {
  const fy_view none = {NULL, 0};
  fy_tensor *t = NULL;
  const char **names = fy_arena_array(&r->model->m.arena, n + 1, sizeof *names);
  fy_handle **results = fy_calloc(3 * n + 1, sizeof *results), *empty = NULL;
  fy_code code = names && results ? FY_OK : fy_fail_oom(err, n * sizeof *names);
  if (!code) code = fy_tensor_from_strings(0, NULL, &none, &t, err);
  if (!code && !(empty = fy_handle_new(t))) code = fy_fail_oom(err, sizeof *empty);
  if (!code) code = call(save, &empty, save->num_args ? 1 : 0, results, 3 * n, err);
  for (size_t i = 0; !code && i < n; i++) {
    code = fy_handle_wait(results[3 * i], err);
    const fy_tensor *name = code ? NULL : results[3 * i]->tensor;
    if (!code && (name->dtype != FY_STRING || name->count != 1))
      code = fy_fail(err, FY_INVALID_ARGUMENT, "function '%s' gives no names", save->about.name);
    if (code) break;
    const fy_view v = fy_tensor_string(name, 0);
    names[i] = fy_arena_strndup(&r->model->m.arena, v.p, v.n);
    if (!names[i]) code = fy_fail_oom(err, v.n);
  }
  for (size_t i = 0; results && i < 3 * n; i++)
    if (results[i]) fy_handle_release(results[i]);
  if (empty) fy_handle_release(empty);
  fy_free((void *)results);
  *out = names;
  return code;
}

static const fy_model_function *function_at(const TF_SavedModel *model, int32_t node) {
  if (node < 0 || (size_t)node >= model->objects->n_nodes || !model->functions[node]) return NULL;
  return &model->functions[node]->f;
}

// What is not a variable (a mutable table) restores itself by a function over tensors.
static fy_code restore_object(restorer *r, const char *key, const Tensorflow__SaveableObject *o,
                              fy_error *err) {
  const fy_model_function *restore = function_at(r->model, o->restore_function);
  const fy_model_function *save = function_at(r->model, o->save_function);
  const char **names = NULL;
  bool found;
  if (!restore || !save) return FY_OK;
  const size_t n = restore->num_args;
  FY_TRY(dict_names(r, restore, &names, &found, err));
  if (!found) FY_TRY(asked_names(r, save, n, &names, err));
  fy_handle **inputs = fy_calloc(n + 1, sizeof *inputs);
  fy_code code = inputs ? FY_OK : fy_fail_oom(err, n * sizeof *inputs);
  for (size_t i = 0; !code && i < n; i++) {
    const char *full = fy_arena_printf(&r->arena, "%s%s", key, names[i]);
    code = full ? read_handle(r, full, &inputs[i], err) : fy_fail_oom(err, strlen(key));
  }
  if (!code) code = call(restore, inputs, n, NULL, 0, err);
  for (size_t i = 0; inputs && i < n; i++)
    if (inputs[i]) fy_handle_release(inputs[i]);
  fy_free((void *)inputs);
  return code;
}

static fy_code restore_node(restorer *r, size_t node, fy_error *err) {
  const Tensorflow__SavedObject *o = r->model->objects->nodes[node];
  if (r->matches[node] < 0) return FY_OK;
  if (o->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_VARIABLE)
    return restore_variable(r, node, err);
  const trackable *t = r->graph->nodes[r->matches[node]];
  for (size_t i = 0; i < o->n_saveable_objects && t->n_attributes; i++) {
    const serialized *a = t->attributes[0];
    for (size_t k = 0; k < t->n_attributes; k++)
      if (strcmp(t->attributes[k]->name, o->saveable_objects[i]->key) == 0) a = t->attributes[k];
    if (o->saveable_objects[i]->value)
      FY_TRY(restore_object(r, a->checkpoint_key, o->saveable_objects[i]->value, err));
  }
  return FY_OK;
}

static bool anything_to_restore(const Tensorflow__SavedObjectGraph *g) {
  for (size_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i]->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_VARIABLE ||
        g->nodes[i]->n_saveable_objects)
      return true;
  return false;
}

static fy_code restore_all(TF_SavedModel *model, fy_error *err) {
  restorer r = {.model = model};
  if (!anything_to_restore(model->objects)) return FY_OK;
  fy_arena_init(&r.arena);
  fy_code code = fy_wire_bundle_open(model->m.checkpoint, &r.bundle, err);
  if (!code) code = read_graph(&r, err);
  if (!code) code = match_objects(&r, err);
  for (size_t i = 0; !code && i < model->objects->n_nodes; i++) code = restore_node(&r, i, err);
  fy_wire_bundle_close(r.bundle);
  fy_arena_free(&r.arena);
  if (code) fy_error_prepend(err, "%s: ", model->m.checkpoint);
  return code;
}

fy_code fy_model_revive(TF_SavedModel *model, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = model->objects;
  model->values = fy_arena_array(&model->m.arena, g->n_nodes, sizeof *model->values);
  if (!model->values) return fy_fail_oom(err, g->n_nodes * sizeof *model->values);
  FY_TRY(make_values(model, err));
  FY_TRY(restore_all(model, err));
  for (size_t i = 0; i < g->n_nodes; i++) {
    const fy_model_function *f = method(model, i, "_initialize");
    if (f && g->nodes[i]->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_RESOURCE)
      FY_TRY(call(f, NULL, 0, NULL, 0, err));
  }
  return FY_OK;
}

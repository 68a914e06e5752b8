// SPDX-License-Identifier: Apache-2.0
// eager_model.c: the experimental SavedModel API: load a model into an eager context, look functions
// up by the path of the saved object or the key of the signature.

#include "api/eager_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"

// ---------------------------------------------------------------- the object graph
int32_t fy_model_child(const Tensorflow__SavedObject *node, const char *name, size_t n) {
  for (size_t i = 0; i < node->n_children; i++) {
    const char *have = node->children[i]->local_name;
    if (have && strlen(have) == n && memcmp(have, name, n) == 0) return node->children[i]->node_id;
  }
  return -1;
}

// Every number that names a node must name one; nothing below looks again.
static fy_code check_objects(const TF_SavedModel *model, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = model->objects;
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t k = 0; k < g->nodes[i]->n_children; k++) {
      const int32_t id = g->nodes[i]->children[k]->node_id;
      if (id < 0 || (size_t)id >= g->n_nodes)
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "%s: object_graph_def.nodes[%zu].children[%zu].node_id %d is not one of the "
                       "%zu nodes",
                       model->m.file, i, k, id, g->n_nodes);
    }
  for (size_t i = 0; i < g->n_concrete_functions; i++) {
    const Tensorflow__SavedConcreteFunction *f = g->concrete_functions[i]->value;
    for (size_t k = 0; f && k < f->n_bound_inputs; k++)
      if (f->bound_inputs[k] < 0 || (size_t)f->bound_inputs[k] >= g->n_nodes)
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "%s: object_graph_def.concrete_functions[\"%s\"].bound_inputs[%zu] %d is "
                       "not one of the %zu nodes",
                       model->m.file, g->concrete_functions[i]->key, k, f->bound_inputs[k],
                       g->n_nodes);
  }
  return FY_OK;
}

static const Tensorflow__SavedConcreteFunction *find_concrete(const TF_SavedModel *model,
                                                              const char *name) {
  const Tensorflow__SavedObjectGraph *g = model->objects;
  for (size_t i = 0; i < g->n_concrete_functions; i++)
    if (strcmp(g->concrete_functions[i]->key, name) == 0) return g->concrete_functions[i]->value;
  return NULL;
}

// The name of the only trace of |node|; NULL if it is no function or has not exactly one.
static const char *trace_of(const Tensorflow__SavedObject *node) {
  if (node->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_BARE_CONCRETE_FUNCTION)
    return node->bare_concrete_function->concrete_function_name;
  if (node->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_FUNCTION &&
      node->function->n_concrete_functions == 1)
    return node->function->concrete_functions[0];
  return NULL;
}

// ---------------------------------------------------------------- functions
static fy_code fill_function(TF_SavedModel *model, const char *name, fy_model_function *out,
                             fy_error *err) {
  const Tensorflow__SavedConcreteFunction *c = find_concrete(model, name);
  const fy_function *f = fy_funclib_find(fy_eager_functions(model->context), name, strlen(name));
  if (!c || !f)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: the function '%s' of the object graph is not %s",
                   model->m.file, name, c ? "in the library" : "in concrete_functions");
  const size_t n = ((const Tensorflow__FunctionDef *)f->def)->signature->n_input_arg;
  if (c->n_bound_inputs > n)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s: the function '%s' captures %zu values but takes %zu arguments",
                   model->m.file, name, c->n_bound_inputs, n);
  *out = (fy_model_function){.model = model,
                             .about.name = name,
                             .num_args = n - c->n_bound_inputs,
                             .captures = c->bound_inputs,
                             .num_captures = c->n_bound_inputs};
  return FY_OK;
}

static fy_code make_functions(TF_SavedModel *model, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = model->objects;
  fy_arena *arena = &model->m.arena;
  model->functions = fy_arena_array(arena, g->n_nodes, sizeof(TF_ConcreteFunction *));
  if (!model->functions) return fy_fail_oom(err, g->n_nodes * sizeof(void *));
  for (size_t i = 0; i < g->n_nodes; i++) {
    const char *name = trace_of(g->nodes[i]);
    if (!name) continue;
    model->functions[i] = fy_arena_zalloc(arena, sizeof(TF_ConcreteFunction));
    if (!model->functions[i]) return fy_fail_oom(err, sizeof(TF_ConcreteFunction));
    FY_TRY(fill_function(model, name, &model->functions[i]->f, err));
  }
  return FY_OK;
}

fy_code fy_model_call_op(const fy_model_function *f, fy_handle **inputs, size_t num_inputs,
                         fy_eager_op **out, fy_error *err) {
  const TF_SavedModel *model = f->model;
  fy_eager_op *op = NULL;
  *out = NULL;
  if (num_inputs != f->num_args)
    return fy_fail(err, FY_INVALID_ARGUMENT, "function '%s' takes %zu inputs, %zu were given",
                   f->about.name, f->num_args, num_inputs);
  fy_code code = fy_eager_op_new(model->context, f->about.name, &op, err);
  for (size_t i = 0; !code && i < num_inputs; i++) code = fy_eager_op_add_input(op, inputs[i], err);
  for (size_t i = 0; !code && i < f->num_captures; i++) {
    fy_handle *h = model->values[f->captures[i]];
    if (h)
      code = fy_eager_op_add_input(op, h, err);
    else
      code = fy_fail(err, FY_UNIMPLEMENTED,
                     "function '%s' captures node %d of the object graph, which is neither a "
                     "variable, a constant, an asset nor a resource",
                     f->about.name, f->captures[i]);
  }
  if (code && op) {
    fy_eager_op_free(op);
    op = NULL;
  }
  *out = op;
  return code;
}

// ---------------------------------------------------------------- signatures
static fy_code read_spec(const char *name, const Tensorflow__StructuredValue *v, fy_arena *arena,
                         TF_SignatureDefParam *out, fy_error *err) {
  const Tensorflow__TensorShapeProto *shape = NULL;
  *out = (TF_SignatureDefParam){.name = name, .spec.shape = {-1, NULL}};
  if (v && v->kind_case == TENSORFLOW__STRUCTURED_VALUE__KIND_TENSOR_SPEC_VALUE) {
    out->spec.dtype = (fy_dtype)v->tensor_spec_value->dtype;
    shape = v->tensor_spec_value->shape;
  } else if (v && v->kind_case == TENSORFLOW__STRUCTURED_VALUE__KIND_BOUNDED_TENSOR_SPEC_VALUE) {
    out->spec.dtype = (fy_dtype)v->bounded_tensor_spec_value->dtype;
    shape = v->bounded_tensor_spec_value->shape;
  } else {
    return fy_fail(err, FY_INVALID_ARGUMENT, "'%s' of a signature is not a tensor", name);
  }
  if (!shape || shape->unknown_rank || shape->n_dim > FY_MAX_RANK) return FY_OK;
  int64_t *dims = fy_arena_array(arena, shape->n_dim + 1, sizeof *dims);
  if (!dims) return fy_fail_oom(err, shape->n_dim * sizeof *dims);
  for (size_t i = 0; i < shape->n_dim; i++)
    dims[i] = shape->dim[i]->size < 0 ? -1 : shape->dim[i]->size;
  out->spec.shape = (TF_Shape){(int)shape->n_dim, dims};
  return FY_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const TF_SignatureDefParam *)a)->name, ((const TF_SignatureDefParam *)b)->name);
}

// TensorFlow flattens a dict in the order of its keys; so is the order of a function's arguments.
static fy_code read_dict(const Tensorflow__StructuredValue *v, fy_arena *arena,
                         TF_SignatureDefParamList *out, fy_error *err) {
  if (!v || v->kind_case != TENSORFLOW__STRUCTURED_VALUE__KIND_DICT_VALUE)
    return fy_fail(err, FY_INVALID_ARGUMENT, "a signature is not a dict of tensors");
  const Tensorflow__DictValue *d = v->dict_value;
  out->items = fy_arena_array(arena, d->n_fields + 1, sizeof *out->items);
  if (!out->items) return fy_fail_oom(err, d->n_fields * sizeof *out->items);
  for (size_t i = 0; i < d->n_fields; i++)
    FY_TRY(read_spec(d->fields[i]->key, d->fields[i]->value, arena, &out->items[out->n++], err));
  qsort(out->items, out->n, sizeof *out->items, by_name);
  return FY_OK;
}

static fy_code fill_signature(TF_SavedModel *model, const char *key, const char *name,
                              TF_SignatureDefFunction *s, fy_error *err) {
  fy_arena *arena = &model->m.arena;
  s->key = key;
  FY_TRY(fill_function(model, name, &s->f, err));
  const Tensorflow__SavedConcreteFunction *c = find_concrete(model, name);
  const Tensorflow__StructuredValue *in = c->canonicalized_input_signature;
  if (!in || in->kind_case != TENSORFLOW__STRUCTURED_VALUE__KIND_TUPLE_VALUE ||
      in->tuple_value->n_values != 2)
    return fy_fail(err, FY_INVALID_ARGUMENT, "its inputs are not a pair of arguments and keywords");
  FY_TRY(read_dict(in->tuple_value->values[1], arena, &s->metadata.args, err));
  FY_TRY(read_dict(c->output_signature, arena, &s->metadata.returns, err));
  if (s->metadata.args.n != s->f.num_args)
    return fy_fail(err, FY_INVALID_ARGUMENT, "it names %zu inputs, its function takes %zu",
                   s->metadata.args.n, s->f.num_args);
  return FY_OK;
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const TF_SignatureDefFunction *)a)->key,
                ((const TF_SignatureDefFunction *)b)->key);
}

static fy_code make_signatures(TF_SavedModel *model, fy_error *err) {
  const Tensorflow__SavedObjectGraph *g = model->objects;
  const int32_t at = fy_model_child(g->nodes[0], "signatures", strlen("signatures"));
  if (at < 0) return FY_OK;
  const Tensorflow__SavedObject *node = g->nodes[at];
  model->signatures =
      fy_arena_array(&model->m.arena, node->n_children + 1, sizeof *model->signatures);
  if (!model->signatures) return fy_fail_oom(err, node->n_children * sizeof *model->signatures);
  for (size_t i = 0; i < node->n_children; i++) {
    const char *key = node->children[i]->local_name;
    const char *name = trace_of(g->nodes[node->children[i]->node_id]);
    if (!name || !key) continue;
    fy_code code =
        fill_signature(model, key, name, &model->signatures[model->num_signatures++], err);
    if (code) {
      fy_error_prepend(err, "%s: signature '%s': ", model->m.file, key);
      return code;
    }
  }
  qsort(model->signatures, model->num_signatures, sizeof *model->signatures, by_key);
  return FY_OK;
}

// ---------------------------------------------------------------- loading
static fy_code pick(fy_saved_model *m, const char *const *tags, int num_tags, fy_error *err) {
  if (tags) return fy_saved_model_pick(m, tags, num_tags, err);
  if (m->proto->n_meta_graphs != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "SavedModelV2 should have exactly one MetaGraphDef but actually contains %zu; "
                   "TF_LoadSavedModelWithTags chooses one",
                   m->proto->n_meta_graphs);
  m->meta = m->proto->meta_graphs[0];
  if (m->meta->graph_def) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s: MetaGraphDef.graph_def is missing", m->file);
}

static fy_code load(TF_SavedModel *model, const char *dir, const char *const *tags, int num_tags,
                    fy_error *err) {
  fy_saved_model *m = &model->m;
  FY_TRY(fy_saved_model_open(dir, m, err));
  FY_TRY(pick(m, tags, num_tags, err));
  model->objects = m->meta->object_graph_def;
  if (!model->objects || !model->objects->n_nodes)
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "%s has no object graph, so it was not written by tf.saved_model.save of "
                   "TensorFlow 2; TF_LoadSessionFromSavedModel loads such models",
                   m->file);
  FY_TRY(check_objects(model, err));
  const Tensorflow__FunctionDefLibrary *lib = m->meta->graph_def->library;
  for (size_t i = 0; lib && i < lib->n_function; i++) {
    const Tensorflow__OpDef *s = lib->function[i]->signature;
    if (s && s->name && *s->name)
      FY_TRY(fy_api_add_function(model->context, lib->function[i], err));
  }
  for (size_t i = 0; lib && i < lib->n_gradient; i++)
    FY_TRY(fy_funclib_add_gradient(fy_eager_functions(model->context),
                                   lib->gradient[i]->function_name, lib->gradient[i]->gradient_func,
                                   err));
  FY_TRY(make_functions(model, err));
  FY_TRY(make_signatures(model, err));
  FY_TRY(fy_model_revive(model, err));
  return fy_eager_wait(model->context, err);
}

TF_SavedModel *TF_LoadSavedModelWithTags(const char *dirname, TFE_Context *ctx,
                                         const char *const *tags, int tags_len, TF_Status *status) {
  static const char *const none[] = {NULL};
  fy_error *err = fy_api_begin(status);
  TF_SavedModel *model = fy_calloc(1, sizeof *model);
  if (!model) {
    fy_api_end(status, fy_fail_oom(err, sizeof *model));
    return NULL;
  }
  model->context = fy_api_eager(ctx);
  fy_eager_retain(model->context);
  fy_code code =
      load(model, dirname, tags || tags_len < 0 ? tags : none, tags_len > 0 ? tags_len : 0, err);
  fy_api_end(status, code);
  if (!code) return model;
  TF_DeleteSavedModel(model);
  return NULL;
}

TF_SavedModel *TF_LoadSavedModel(const char *dirname, TFE_Context *ctx, TF_Status *status) {
  return TF_LoadSavedModelWithTags(dirname, ctx, NULL, -1, status);
}

void TF_DeleteSavedModel(TF_SavedModel *model) {
  if (!model) return;
  for (size_t i = 0; model->values && i < model->objects->n_nodes; i++)
    if (model->values[i]) fy_handle_release(model->values[i]);
  fy_saved_model_close(&model->m);
  fy_eager_release(model->context);
  fy_free(model);
}

// ---------------------------------------------------------------- looking up
#define MAX_TOLD 20

// "there are: 'a', 'b'"
static void tell(fy_str *s, size_t *told, const char *prefix, const char *name) {
  if (*told < MAX_TOLD)
    fy_str_printf(s, "%s'%s%s'", *told ? ", " : "", prefix, name);
  else if (*told == MAX_TOLD)
    fy_str_printf(s, ", …");
  ++*told;
}

// The functions at |node| and one step below it, the ones a caller most likely meant.
static void tell_functions(const TF_SavedModel *model, int32_t node, const char *prefix, int depth,
                           fy_str *s, size_t *told) {
  const Tensorflow__SavedObject *o = model->objects->nodes[node];
  for (size_t i = 0; i < o->n_children && *told <= MAX_TOLD; i++) {
    const int32_t child = o->children[i]->node_id;
    const char *name = o->children[i]->local_name;
    if (!name) continue;
    if (model->functions[child]) {
      tell(s, told, prefix, name);
    } else if (depth > 0) {
      fy_str below;
      fy_str_init(&below);
      fy_str_printf(&below, "%s%s.", prefix, name);
      tell_functions(model, child, fy_str_text(&below), depth - 1, s, told);
      fy_str_free(&below);
    }
  }
}

static void no_function(const TF_SavedModel *model, const char *what, const char *path,
                        fy_error *err) {
  fy_str s;
  size_t told = 0;
  fy_str_init(&s);
  tell_functions(model, 0, "", 1, &s, &told);
  fy_fail(err, FY_NOT_FOUND, "%s %s; there %s %s", what, path, told == 1 ? "is" : "are",
          told ? fy_str_text(&s) : "no functions");
  fy_str_free(&s);
}

static TF_ConcreteFunction *find_function(const TF_SavedModel *model, const char *path,
                                          fy_error *err) {
  int32_t at = 0;
  for (const char *p = path; at >= 0 && *p;) {
    const size_t n = strcspn(p, ".");
    at = fy_model_child(model->objects->nodes[at], p, n);
    p += n + (p[n] == '.');
  }
  if (at < 0) {
    no_function(model, "No saved object found at path", path, err);
    return NULL;
  }
  const Tensorflow__SavedObject *o = model->objects->nodes[at];
  if (model->functions[at]) return model->functions[at];
  if (o->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_FUNCTION)
    fy_fail(err, FY_FAILED_PRECONDITION,
            "the function at path %s was traced for %zu signatures; only one with exactly one can "
            "be called by its path",
            path, o->function->n_concrete_functions);
  else
    no_function(model, "No function found at path", path, err);
  return NULL;
}

TF_ConcreteFunction *TF_GetSavedModelConcreteFunction(TF_SavedModel *model,
                                                      const char *function_path,
                                                      TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_ConcreteFunction *f = find_function(model, function_path, err);
  fy_api_end(status, err->code);
  return f;
}

TF_SignatureDefFunction *TF_GetSavedModelSignatureDefFunction(TF_SavedModel *model,
                                                              const char *signature_def_key,
                                                              TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  for (size_t i = 0; i < model->num_signatures; i++)
    if (strcmp(model->signatures[i].key, signature_def_key) == 0) return &model->signatures[i];
  fy_str s;
  size_t told = 0;
  fy_str_init(&s);
  for (size_t i = 0; i < model->num_signatures; i++) tell(&s, &told, "", model->signatures[i].key);
  fy_api_end(status,
             fy_fail(err, FY_NOT_FOUND, "No signature with key %s; there %s %s", signature_def_key,
                     told == 1 ? "is" : "are", told ? fy_str_text(&s) : "no signatures"));
  fy_str_free(&s);
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
// function.c: TF_Function: a FunctionDef outside of any graph.

#include "graph/function.h"

#include <string.h>

#include "api/api.h"
#include "attr_value.pb-c.h"
#include "base/alloc.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

TF_Function *TF_GraphToFunctionWithControlOutputs(
    const TF_Graph *fn_body, const char *fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation *const *opers, int ninputs, const TF_Output *inputs,
    int noutputs, const TF_Output *outputs, const char *const *output_names, int ncontrol_outputs,
    const TF_Operation *const *control_outputs, const char *const *control_output_names,
    const TF_FunctionOptions *opts, const char *description, TF_Status *status) {
  (void)opts;
  fy_error *err = fy_api_begin(status);
  fy_graph *g = (fy_graph *)(uintptr_t)fn_body;
  fy_function_source source = {.name = fn_name,
                               .append_hash = append_hash_to_fn_name != 0,
                               .num_nodes = num_opers,
                               .nodes = (const fy_node *const *)opers,
                               .num_inputs = ninputs > 0 ? ninputs : 0,
                               .inputs = (const fy_output *)inputs,
                               .num_outputs = noutputs > 0 ? noutputs : 0,
                               .outputs = (const fy_output *)outputs,
                               .output_names = output_names,
                               .num_controls = ncontrol_outputs,
                               .controls = (const fy_node *const *)control_outputs,
                               .control_names = control_output_names,
                               .description = description};
  TF_Function *f = fy_calloc(1, sizeof *f);
  fy_arena tmp;
  fy_arena_init(&tmp);
  Tensorflow__FunctionDef *def;
  fy_code code = f ? FY_OK : fy_fail_oom(err, sizeof *f);
  if (!code) {
    fy_lock(&g->lock);
    code = fy_function_from_graph(g, &source, &tmp, &def, err);
    if (!code) code = fy_function_copy(def, &f->arena, &f->def, err);
    fy_unlock(&g->lock);
  }
  fy_arena_free(&tmp);
  fy_api_end(status, code);
  if (!code) return f;
  TF_DeleteFunction(f);
  return NULL;
}

TF_Function *TF_GraphToFunction(const TF_Graph *fn_body, const char *fn_name,
                                unsigned char append_hash_to_fn_name, int num_opers,
                                const TF_Operation *const *opers, int ninputs,
                                const TF_Output *inputs, int noutputs, const TF_Output *outputs,
                                const char *const *output_names, const TF_FunctionOptions *opts,
                                const char *description, TF_Status *status) {
  return TF_GraphToFunctionWithControlOutputs(
      fn_body, fn_name, append_hash_to_fn_name, num_opers, opers, ninputs, inputs, noutputs,
      outputs, output_names, 0, NULL, NULL, opts, description, status);
}

void TF_DeleteFunction(TF_Function *func) {
  if (!func) return;
  fy_arena_free(&func->arena);
  fy_free(func);
}

const char *TF_FunctionName(TF_Function *func) {
  return func->def->signature ? func->def->signature->name : "";
}

void TF_FunctionToFunctionDef(TF_Function *func, TF_Buffer *output_func_def, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_api_message_to_buffer(&func->def->base, output_func_def, err));
}

TF_Function *TF_FunctionImportFunctionDef(const void *proto, size_t proto_len, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_Function *f = fy_calloc(1, sizeof *f);
  ProtobufCMessage *m = NULL;
  fy_code code = f ? fy_wire_unpack(&tensorflow__function_def__descriptor, proto, proto_len, NULL,
                                    &f->arena, &m, err)
                   : fy_fail_oom(err, sizeof *f);
  if (code == FY_INVALID_ARGUMENT)
    fy_fail(err, code, "Invalid FunctionDef given to TF_FunctionImportFunctionDef");
  fy_api_end(status, code);
  if (code) {
    TF_DeleteFunction(f);
    return NULL;
  }
  f->def = (Tensorflow__FunctionDef *)m;
  fy_function_sort(m);
  return f;
}

// ---------------------------------------------------------------- attributes
static Tensorflow__FunctionDef__AttrEntry *find_attr(const TF_Function *f, const char *name) {
  for (size_t i = 0; i < f->def->n_attr; i++)
    if (strcmp(f->def->attr[i]->key, name) == 0) return f->def->attr[i];
  return NULL;
}

static fy_code set_attr(TF_Function *f, const char *name, const void *proto, size_t len,
                        fy_error *err) {
  ProtobufCMessage *m;
  fy_code code =
      fy_wire_unpack(&tensorflow__attr_value__descriptor, proto, len, NULL, &f->arena, &m, err);
  if (code == FY_INVALID_ARGUMENT)
    return fy_fail(err, code, "Unparseable AttrValue proto passed to TF_FunctionSetAttrValueProto");
  if (code) return code;
  Tensorflow__FunctionDef__AttrEntry *e = find_attr(f, name);
  if (!e) {
    size_t n = f->def->n_attr;
    Tensorflow__FunctionDef__AttrEntry **grown = fy_arena_array(&f->arena, n + 1, sizeof *grown);
    e = fy_wire_new(&tensorflow__function_def__attr_entry__descriptor, &f->arena);
    if (!grown || !e) return fy_fail_oom(err, sizeof *e);
    e->key = fy_arena_strdup(&f->arena, name);
    if (!e->key) return fy_fail_oom(err, strlen(name));
    if (n) memcpy(grown, f->def->attr, n * sizeof *grown);
    grown[n] = e;
    f->def->attr = grown;
    f->def->n_attr = n + 1;
  }
  e->value = (Tensorflow__AttrValue *)m;
  fy_function_sort(&f->def->base);
  return FY_OK;
}

void TF_FunctionSetAttrValueProto(TF_Function *func, const char *attr_name, const void *proto,
                                  size_t proto_len, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, set_attr(func, attr_name, proto, proto_len, err));
}

void TF_FunctionGetAttrValueProto(TF_Function *func, const char *attr_name,
                                  TF_Buffer *output_attr_value, TF_Status *status) {
  Tensorflow__AttrValue unset;
  tensorflow__attr_value__init(&unset);
  fy_error *err = fy_api_begin(status);
  const Tensorflow__FunctionDef__AttrEntry *e = find_attr(func, attr_name);
  fy_code code;
  if (e)
    code =
        fy_api_message_to_buffer(e->value ? &e->value->base : &unset.base, output_attr_value, err);
  else
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Function '%s' has no attr named '%s'.",
                   TF_FunctionName(func), attr_name);
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- in a graph
static fy_code copy_function(fy_graph *g, const TF_Function *func, const TF_Function *grad,
                             fy_error *err) {
  FY_TRY(fy_funclib_add(g->functions, func->def, err));
  if (g->min_consumer < 12) g->min_consumer = 12;  // the first version with functions
  g->version++;
  if (!grad) return FY_OK;
  FY_TRY(fy_funclib_add(g->functions, grad->def, err));
  return fy_funclib_add_gradient(g->functions, TF_FunctionName((TF_Function *)(uintptr_t)func),
                                 TF_FunctionName((TF_Function *)(uintptr_t)grad), err);
}

void TF_GraphCopyFunction(TF_Graph *graph, const TF_Function *func, const TF_Function *grad,
                          TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  if (!func) {
    fy_fail(err, FY_INVALID_ARGUMENT, "'func' argument to TF_GraphCopyFunction cannot be null");
    return;
  }
  fy_lock(&g->lock);
  fy_code code = copy_function(g, func, grad, err);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

int TF_GraphNumFunctions(TF_Graph *g) {
  return (int)fy_funclib_count(fy_api_graph(g)->functions);
}

static TF_Function *copy_out(const fy_function *from, fy_error *err) {
  TF_Function *f = fy_calloc(1, sizeof *f);
  if (!f) {
    fy_fail_oom(err, sizeof *f);
    return NULL;
  }
  if (fy_function_copy(from->def, &f->arena, &f->def, err) == FY_OK) return f;
  TF_DeleteFunction(f);
  return NULL;
}

int TF_GraphGetFunctions(TF_Graph *graph, TF_Function **funcs, int max_func, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_funclib *lib = fy_api_graph(graph)->functions;
  int n = 0;
  fy_code code = FY_OK;
  fy_lock(&lib->lock);
  for (uint32_t i = 0; !code && i < lib->by_name.n && n < max_func; i++) {
    const fy_function *f = lib->by_name.items[i].value;
    if (!f) continue;
    funcs[n] = copy_out(f, err);
    if (funcs[n])
      n++;
    else
      code = FY_RESOURCE_EXHAUSTED;
  }
  fy_unlock(&lib->lock);
  while (code && n > 0) {
    TF_DeleteFunction(funcs[--n]);
    funcs[n] = NULL;
  }
  fy_api_end(status, code);
  return n;
}

void TF_GraphRemoveFunction(TF_Graph *graph, const char *func_name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_lock(&g->lock);
  fy_code code = fy_funclib_remove(g->functions, func_name, err);
  g->version++;
  fy_unlock(&g->lock);
  fy_api_end(status, code);
}

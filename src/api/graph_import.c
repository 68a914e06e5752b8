// SPDX-License-Identifier: Apache-2.0
// graph_import.c: TF_GraphImportGraphDef and its options and results.
// Setters have no status: when one is short of memory, the import says so.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "graph/import.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/proto_util.h"

struct TF_ImportGraphDefOptions {
  fy_import_options o;  // its arrays are those below
  fy_import_map *maps;
  size_t cap_maps;
  fy_node **controls;
  size_t cap_controls;
  fy_import_id *outputs;
  size_t cap_outputs;
  const char **nodes;
  size_t cap_nodes;
  fy_arena arena;  // names
  bool short_of_memory;
};

struct TF_ImportGraphDefResults {
  fy_arena arena;
  fy_import_results r;
  int num_outputs, num_nodes;
  const char **unused_names;
  int *unused_indexes;
};

TF_ImportGraphDefOptions *TF_NewImportGraphDefOptions(void) {
  return fy_calloc(1, sizeof(TF_ImportGraphDefOptions));
}

void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions *opts) {
  if (!opts) return;
  fy_free(opts->maps);
  fy_free(opts->controls);
  fy_free(opts->outputs);
  fy_free(opts->nodes);
  fy_arena_free(&opts->arena);
  fy_free(opts);
}

static const char *keep(TF_ImportGraphDefOptions *opts, const char *text) {
  const char *copy = fy_arena_strdup(&opts->arena, text);
  if (!copy) opts->short_of_memory = true;
  return copy;
}

void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions *opts, const char *prefix) {
  opts->o.prefix = keep(opts, prefix);
}

void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions *opts, const char *device) {
  opts->o.default_device = keep(opts, device);
}

void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions *opts,
                                              unsigned char uniquify_names) {
  opts->o.uniquify_names = uniquify_names != 0;
}

void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions *opts,
                                               unsigned char uniquify_prefix) {
  opts->o.uniquify_prefix = uniquify_prefix != 0;
}

void TF_ImportGraphDefOptionsSetValidateColocationConstraints(TF_ImportGraphDefOptions *opts,
                                                              unsigned char enable) {
  opts->o.skip_colocation_check = enable == 0;
}

static void add_map(TF_ImportGraphDefOptions *opts, const char *src, int index, fy_output dst) {
  const char *name = keep(opts, src);
  if (!fy_grow(&opts->maps, &opts->cap_maps, opts->o.num_maps + 1, sizeof *opts->maps))
    opts->short_of_memory = true;
  if (opts->short_of_memory) return;
  opts->maps[opts->o.num_maps++] = (fy_import_map){name, index, dst};
  opts->o.maps = opts->maps;
}

void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions *opts, const char *src_name,
                                             int src_index, TF_Output dst) {
  add_map(opts, src_name, src_index, fy_api_output(dst));
}

void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions *opts,
                                                    const char *src_name, TF_Operation *dst) {
  add_map(opts, src_name, -1, (fy_output){fy_api_node(dst), -1});
}

void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions *opts,
                                                  TF_Operation *oper) {
  if (!fy_grow(&opts->controls, &opts->cap_controls, opts->o.num_controls + 1,
               sizeof *opts->controls)) {
    opts->short_of_memory = true;
    return;
  }
  opts->controls[opts->o.num_controls++] = fy_api_node(oper);
  opts->o.controls = opts->controls;
}

void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions *opts, const char *oper_name,
                                             int index) {
  const char *name = keep(opts, oper_name);
  if (!fy_grow(&opts->outputs, &opts->cap_outputs, opts->o.num_return_outputs + 1,
               sizeof *opts->outputs))
    opts->short_of_memory = true;
  if (opts->short_of_memory) return;
  opts->outputs[opts->o.num_return_outputs++] = (fy_import_id){name, index};
  opts->o.return_outputs = opts->outputs;
}

int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions *opts) {
  return (int)opts->o.num_return_outputs;
}

void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions *opts,
                                                const char *oper_name) {
  const char *name = keep(opts, oper_name);
  if (!fy_grow(&opts->nodes, &opts->cap_nodes, opts->o.num_return_nodes + 1, sizeof *opts->nodes))
    opts->short_of_memory = true;
  if (opts->short_of_memory) return;
  opts->nodes[opts->o.num_return_nodes++] = name;
  opts->o.return_nodes = opts->nodes;
}

int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions *opts) {
  return (int)opts->o.num_return_nodes;
}

// ---------------------------------------------------------------- results
void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults *results) {
  if (!results) return;
  fy_arena_free(&results->arena);
  fy_free(results);
}

void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults *results, int *num_outputs,
                                           TF_Output **outputs) {
  *num_outputs = results->num_outputs;
  *outputs = (TF_Output *)results->r.outputs;
}

void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults *results, int *num_opers,
                                              TF_Operation ***opers) {
  *num_opers = results->num_nodes;
  *opers = (TF_Operation **)results->r.nodes;
}

void TF_ImportGraphDefResultsMissingUnusedInputMappings(TF_ImportGraphDefResults *results,
                                                        int *num_missing_unused_input_mappings,
                                                        const char ***src_names,
                                                        int **src_indexes) {
  *num_missing_unused_input_mappings = (int)results->r.num_unused;
  *src_names = results->unused_names;
  *src_indexes = results->unused_indexes;
}

static fy_code split_unused(TF_ImportGraphDefResults *res, fy_error *err) {
  size_t n = res->r.num_unused;
  res->unused_names = fy_arena_array(&res->arena, n, sizeof *res->unused_names);
  res->unused_indexes = fy_arena_array(&res->arena, n, sizeof *res->unused_indexes);
  if (!res->unused_names || !res->unused_indexes) return fy_fail_oom(err, n);
  for (size_t i = 0; i < n; i++) {
    res->unused_names[i] = res->r.unused[i].name;
    res->unused_indexes[i] = res->r.unused[i].index;
  }
  return FY_OK;
}

// ---------------------------------------------------------------- importing
static fy_code import(fy_graph *g, const TF_Buffer *graph_def,
                      const TF_ImportGraphDefOptions *options, TF_ImportGraphDefResults *res,
                      fy_error *err) {
  fy_arena tmp;
  ProtobufCMessage *m;
  if (options && options->short_of_memory) return fy_fail_oom(err, sizeof *options);
  fy_arena_init(&tmp);
  fy_code code = fy_wire_unpack_view(&tensorflow__graph_def__descriptor, graph_def->data,
                                     graph_def->length, NULL, &tmp, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Invalid GraphDef");
  if (!code) {
    fy_lock(&g->lock);
    code = fy_graph_import(g, (Tensorflow__GraphDef *)m, options ? &options->o : NULL, &res->arena,
                           &res->r, err);
    fy_unlock(&g->lock);
  }
  fy_arena_free(&tmp);
  if (options) {
    res->num_outputs = (int)options->o.num_return_outputs;
    res->num_nodes = (int)options->o.num_return_nodes;
  }
  return code ? code : split_unused(res, err);
}

TF_ImportGraphDefResults *TF_GraphImportGraphDefWithResults(TF_Graph *graph,
                                                            const TF_Buffer *graph_def,
                                                            const TF_ImportGraphDefOptions *options,
                                                            TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_ImportGraphDefResults *res = fy_calloc(1, sizeof *res);
  fy_code code = res ? import(fy_api_graph(graph), graph_def, options, res, err)
                     : fy_fail_oom(err, sizeof *res);
  fy_api_end(status, code);
  if (!code) return res;
  TF_DeleteImportGraphDefResults(res);
  return NULL;
}

TF_ImportGraphDefResults *TF_GraphImportGraphDefWithResultsNoSerialization(
    TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
    TF_Status *status) {
  (void)graph;
  (void)graph_def;
  (void)options;
  fy_fail(fy_api_begin(status), FY_UNIMPLEMENTED,
          "Ferry has no C++ GraphDef: use TF_GraphImportGraphDefWithResults");
  return NULL;
}

void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph *graph, const TF_Buffer *graph_def,
                                             const TF_ImportGraphDefOptions *options,
                                             TF_Output *return_outputs, int num_return_outputs,
                                             TF_Status *status) {
  size_t asked = options ? options->o.num_return_outputs : 0;
  if (num_return_outputs < 0 || (size_t)num_return_outputs != asked) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
            "Expected 'num_return_outputs' to be %zu, got %d", asked, num_return_outputs);
    return;
  }
  if (num_return_outputs > 0 && !return_outputs) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
            "'return_outputs' must be preallocated to length %d", num_return_outputs);
    return;
  }
  TF_ImportGraphDefResults *res =
      TF_GraphImportGraphDefWithResults(graph, graph_def, options, status);
  if (!res) return;
  for (int i = 0; i < num_return_outputs; i++)
    return_outputs[i] = fy_api_tf_output(res->r.outputs[i]);
  TF_DeleteImportGraphDefResults(res);
}

void TF_GraphImportGraphDef(TF_Graph *graph, const TF_Buffer *graph_def,
                            const TF_ImportGraphDefOptions *options, TF_Status *status) {
  TF_DeleteImportGraphDefResults(
      TF_GraphImportGraphDefWithResults(graph, graph_def, options, status));
}

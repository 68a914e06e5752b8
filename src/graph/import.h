// SPDX-License-Identifier: Apache-2.0
// import.h: a GraphDef into a graph: all of it or, on failure, nothing.
// Not here: reading the message from bytes (wire/proto_util.h).

#ifndef FY_GRAPH_IMPORT_H
#define FY_GRAPH_IMPORT_H

#include "graph.pb-c.h"
#include "graph/graph.h"

typedef struct fy_import_map {  // reads |src|:|src_index| of the GraphDef as |dst|
  const char *src;
  int32_t src_index;  // -1: a control input; dst.index is -1 then
  fy_output dst;      // in the receiving graph
} fy_import_map;

typedef struct fy_import_id {
  const char *name;
  int32_t index;
} fy_import_id;

typedef struct fy_import_options {
  const char *prefix;          // NULL or "" = none; a missing "/" is added
  const char *default_device;  // for nodes that name none; NULL = none
  bool uniquify_names, uniquify_prefix;
  bool skip_colocation_check;
  bool consume;        // nobody reads the constants of the message again: their memory may go
  bool function_body;  // names and _output_shapes are not checked, versions do not matter
  const fy_import_map *maps;
  size_t num_maps;
  fy_node *const *controls;  // every imported node runs after these
  size_t num_controls;
  const fy_import_id *return_outputs;
  size_t num_return_outputs;
  const char *const *return_nodes;
  size_t num_return_nodes;
} fy_import_options;

// Arrays in the caller's arena.
typedef struct fy_import_results {
  fy_output *outputs;    // [num_return_outputs]
  fy_node **nodes;       // [num_return_nodes]
  fy_import_id *unused;  // mappings whose source the GraphDef does not have, sorted
  size_t num_unused;
} fy_import_results;

// |results| may be NULL if nothing is to be returned. The caller holds the graph's lock. Time:
// O(nodes + edges) plus a logarithm for the order. INVALID_ARGUMENT, NOT_FOUND (unknown op),
// UNIMPLEMENTED (deprecated op) with TensorFlow's texts.
FY_MUST_CHECK fy_code fy_graph_import(fy_graph *g, const Tensorflow__GraphDef *def,
                                      const fy_import_options *options, fy_arena *arena,
                                      fy_import_results *results, fy_error *err);

// May a node of a GraphDef have this name? (The C API's builder takes any.)
bool fy_graph_name_is_valid(const char *name, size_t n);

// Splits "name", "name:2" or "^name" (index -1) as TensorFlow does.
fy_view fy_graph_parse_input(const char *text, int32_t *index);

#endif

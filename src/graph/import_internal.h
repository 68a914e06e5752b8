// SPDX-License-Identifier: Apache-2.0
// import_internal.h: the state of an import, shared by import.c (the whole) and import_node.c (one
// node).

#ifndef FY_GRAPH_IMPORT_INTERNAL_H
#define FY_GRAPH_IMPORT_INTERNAL_H

#include "graph/import.h"
#include "wire/tensor_proto.h"

#define FY_IMPORT_CONTROL (-1)

typedef struct fy_import_input {
  fy_view name;    // as written
  int32_t index;   // output number, or FY_IMPORT_CONTROL
  int32_t source;  // number of the node in the GraphDef, or -1: |node| exists already
  fy_node *node;   // NULL while the source is not made: a back edge
  bool explicit_zero;
} fy_import_input;

typedef struct fy_import {
  fy_graph *g;
  const Tensorflow__GraphDef *def;
  const fy_import_options *options;
  fy_arena tmp;
  char *prefix;           // with its "/", or ""
  fy_map index;           // name -> number + 1
  fy_map def_prefixes;    // scopes of the GraphDef's names
  fy_map graph_prefixes;  // scopes of the names that were there
  fy_map maps;            // "index:name" -> fy_import_map*
  uint8_t *map_used;      // [num_maps]
  fy_map renamed;         // name -> new name
  fy_node **made;         // [n_node]
  fy_node **order;        // nodes in the order of making
  size_t num_made;
  uint32_t *pending;        // [n_node] inputs still to come
  uint32_t *out_at, *outs;  // who reads node i: outs[out_at[i] .. out_at[i + 1])
  uint32_t *heap;           // ready nodes, the first of the GraphDef on top
  size_t heap_n;
  fy_import_input *inputs;  // of the node being made
  size_t num_inputs, cap_inputs;
  int64_t splat_budget;
  fy_wire_tensor_options tensor_options;
  fy_imap ready;  // large constants that were read ahead: proto -> tensor (a reference each)
} fy_import;

bool fy_import_is_merge(const char *op);
bool fy_import_is_next(const char *op);
const fy_import_map *fy_import_find_map(fy_import *im, fy_view name, int32_t index, fy_error *err,
                                        fy_code *code);
bool fy_import_name_taken(const fy_import *im, const char *name);
// A name like "name_1" that neither the graph nor the GraphDef has; NULL when short of memory.
const char *fy_import_unique(fy_import *im, const char *name);
// import_ahead.c
FY_MUST_CHECK fy_code fy_import_ahead(fy_import *im, fy_error *err);
void fy_import_ahead_end(fy_import *im);
// import_cycle.c: the error for nodes that wait for one another. Some are left to make.
fy_code fy_import_fail_cycle(const fy_import *im, fy_error *err);
// Makes node |number|: all its inputs but back edges exist. Appends to |order|.
FY_MUST_CHECK fy_code fy_import_make(fy_import *im, size_t number, fy_error *err);

#endif

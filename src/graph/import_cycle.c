// SPDX-License-Identifier: Apache-2.0
// import_cycle.c: which nodes of a GraphDef wait for one another. Every node that could not be made waits for
// another such node, so going from one to its source again and again ends in a cycle.

#include "graph/graph.h"
#include "graph/import_internal.h"

#define MAX_NAMES 8

// The number of a node that |number| waits for.
static size_t source_of(const fy_import *im, size_t number) {
  const Tensorflow__NodeDef *def = im->def->node[number];
  for (size_t k = 0; k < def->n_input; k++) {
    int32_t index;
    const fy_view name = fy_graph_parse_input(def->input[k], &index);
    const uintptr_t at = (uintptr_t)fy_map_get(&im->index, name.p, name.n);
    if (at && !im->made[at - 1]) return at - 1;
  }
  return number;
}

fy_code fy_import_fail_cycle(const fy_import *im, fy_error *err) {
  const size_t n = im->def->n_node;
  size_t at = 0, steps = 0;
  while (at < n && im->made[at]) at++;
  for (; steps < n; steps++) at = source_of(im, at);  // now surely inside
  const size_t first = at;
  fy_fail(err, FY_INVALID_ARGUMENT, "%zu nodes in a cycle\n\t", n - im->num_made);
  for (steps = 0; steps < MAX_NAMES; steps++) {
    fy_error_append(err, "%s -> ", im->def->node[at]->name);
    at = source_of(im, at);
    if (at == first) break;
  }
  fy_error_append(err, "%s (each reads the next)",
                  at == first ? im->def->node[first]->name : "...");
  return FY_INVALID_ARGUMENT;
}

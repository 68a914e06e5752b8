// SPDX-License-Identifier: Apache-2.0
// node.h: what building and importing share about making a node. Private to this folder and api/.

#ifndef FY_GRAPH_NODE_H
#define FY_GRAPH_NODE_H

#include "graph/graph.h"

// Finds the op, or the function, that node->op_name names. NOT_FOUND with TensorFlow's text.
FY_MUST_CHECK fy_code fy_node_find_op(fy_graph *g, fy_node *node, fy_error *err);
// TensorFlow's "Op type not registered 'X' in binary running on HOST. …".
fy_code fy_op_not_registered(const char *op_name, fy_error *err);
// Defaults, attribute checks, then the types of inputs and outputs; allocates outputs and takes a
// Const's value. The node's spec and attrs must be set; |num_inputs| are at hand for it.
FY_MUST_CHECK fy_code fy_node_resolve(fy_graph *g, fy_node *node, uint32_t num_inputs,
                                      fy_error *err);
// UNIMPLEMENTED if a graph of version |producer| may not hold the op any more.
FY_MUST_CHECK fy_code fy_node_check_deprecation(const fy_op_spec *spec, int32_t producer,
                                                fy_error *err);
// Shape inference for a node, through the body when it calls a function by name; |check|: what is
// wrong with that body is an error.
FY_MUST_CHECK fy_code fy_node_infer(fy_graph *g, fy_node *node, bool check, fy_error *err);
// Whether a value of type |have| may be fed where |want| is expected (a reference may be read).
static inline bool fy_types_fit(fy_dtype want, fy_dtype have) {
  return want == have || (!fy_dtype_is_ref(want) && want == fy_dtype_base(have));
}

#endif

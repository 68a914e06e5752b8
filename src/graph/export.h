// SPDX-License-Identifier: Apache-2.0
// export.h: nodes and graphs as messages; signatures: ops/spec_proto.h.
// Messages live in |arena| and borrow strings and tensors: the graph must outlive their use. The
// caller holds the graph's lock.

#ifndef FY_GRAPH_EXPORT_H
#define FY_GRAPH_EXPORT_H

#include "graph.pb-c.h"
#include "graph/graph.h"
#include "ops/spec_proto.h"

FY_MUST_CHECK fy_code fy_graph_export(fy_graph *g, fy_arena *arena, Tensorflow__GraphDef **out,
                                      fy_error *err);
// |sort_controls|: by name, as in a GraphDef; otherwise in the order they were added.
FY_MUST_CHECK fy_code fy_node_export(const fy_node *node, bool sort_controls, fy_arena *arena,
                                     Tensorflow__NodeDef **out, fy_error *err);
// Everything of a NodeDef but its inputs.
FY_MUST_CHECK fy_code fy_node_export_bare(const fy_node *node, fy_arena *arena,
                                          Tensorflow__NodeDef **out, fy_error *err);
// The full type that TensorFlow would write for the node; NULL if its op has none. (full_type.c)
FY_MUST_CHECK fy_code fy_node_export_type(const fy_node *node, fy_arena *arena,
                                          Tensorflow__FullTypeDef **out, fy_error *err);
FY_MUST_CHECK fy_code fy_graph_export_versions(const fy_graph *g, fy_arena *arena,
                                               Tensorflow__VersionDef **out, fy_error *err);

#endif

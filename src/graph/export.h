// SPDX-License-Identifier: Apache-2.0
// export.h: nodes, graphs and signatures as messages.
// Messages live in |arena| and borrow strings and tensors: the graph must outlive their use. The
// caller holds the graph's lock.

#ifndef FY_GRAPH_EXPORT_H
#define FY_GRAPH_EXPORT_H

#include "graph.pb-c.h"
#include "graph/graph.h"
#include "op_def.pb-c.h"

FY_MUST_CHECK fy_code fy_graph_export(fy_graph *g, fy_arena *arena, Tensorflow__GraphDef **out,
                                      fy_error *err);
// |sort_controls|: by name, as in a GraphDef; otherwise in the order they were added.
FY_MUST_CHECK fy_code fy_node_export(const fy_node *node, bool sort_controls, fy_arena *arena,
                                     Tensorflow__NodeDef **out, fy_error *err);
// Everything of a NodeDef but its inputs.
FY_MUST_CHECK fy_code fy_node_export_bare(const fy_node *node, fy_arena *arena,
                                          Tensorflow__NodeDef **out, fy_error *err);
FY_MUST_CHECK fy_code fy_graph_export_versions(const fy_graph *g, fy_arena *arena,
                                               Tensorflow__VersionDef **out, fy_error *err);
FY_MUST_CHECK fy_code fy_spec_to_opdef(const fy_op_spec *spec, fy_arena *arena,
                                       Tensorflow__OpDef **out, fy_error *err);
// Copies everything into |arena|. INVALID_ARGUMENT if an attribute or argument is not sound.
FY_MUST_CHECK fy_code fy_spec_from_opdef(const Tensorflow__OpDef *def, fy_arena *arena,
                                         fy_op_spec **out, fy_error *err);

#endif

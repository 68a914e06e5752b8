// SPDX-License-Identifier: Apache-2.0
// version.h: which TensorFlow we speak: the numbers that GraphDefs carry and errors quote.

#ifndef FY_GRAPH_VERSION_H
#define FY_GRAPH_VERSION_H

#include "graph.pb-c.h"
#include "graph/graph.h"

#define FY_TF_VERSION             "2.21.0"
#define FY_GRAPH_DEF_VERSION      2474
#define FY_GRAPH_DEF_MIN_PRODUCER 0
#define FY_FORWARD_WINDOW         21  // producers up to this much newer are promised to work

// INVALID_ARGUMENT if a GraphDef of these versions (NULL: none are said) cannot be read here.
FY_MUST_CHECK fy_code fy_versions_check(const Tensorflow__VersionDef *v, fy_error *err);
// An error of importing one that is much newer says so.
void fy_versions_warn(const Tensorflow__VersionDef *v, fy_error *err);
// What |def| asks of consumers is asked by |g| from now on.
FY_MUST_CHECK fy_code fy_versions_merge(fy_graph *g, const Tensorflow__GraphDef *def,
                                        fy_error *err);

#endif

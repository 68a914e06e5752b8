// SPDX-License-Identifier: Apache-2.0
// constant.h: run what depends on constants (and known shapes) only: TF_TryEvaluateConstant, and
// the values that shape functions ask for (graph/shape.c, through a hook).
// Not here: folding a graph for good (optimize/fold.c).

#ifndef FY_EXECUTE_CONSTANT_H
#define FY_EXECUTE_CONSTANT_H

#include "graph/graph.h"

// |*out| is a fresh tensor, or NULL when |output| is not constant, too large (10 MiB) or depends on
// more than 4096 nodes. The caller holds the graph's lock.
FY_MUST_CHECK fy_code fy_constant_evaluate(fy_output output, fy_tensor **out, fy_error *err);
// The same for fy_graph_set_evaluator: what cannot be had is just not known.
fy_tensor *fy_constant_for_shapes(fy_output output);

#endif

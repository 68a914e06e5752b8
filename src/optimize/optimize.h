// SPDX-License-Identifier: Apache-2.0
// optimize.h: same meaning, less work. Passes rewrite a private copy of the graph
// (fy_graph_prune_copy) whose shapes were inferred. One pass = one file + one line in passes.inc.
// Each can be switched off by name.
// Invariants: results are bit-equal to those of the graph as given (only the bits of a NaN may
// differ, and the rounding of products: contract.c, loops_hoist.c); fetches and targets are rewritten with what replaces them; stateful nodes and control
// order are kept; a node that replaces others lists them in |origins|; explicit device requests of
// merged nodes agree.

#ifndef FY_OPTIMIZE_OPTIMIZE_H
#define FY_OPTIMIZE_OPTIMIZE_H

#include "graph/graph.h"

typedef struct fy_opt_ctx {
  fy_graph *graph;
  fy_output *fetches;  // [num_fetches] updated in place when an output is replaced
  int num_fetches;
  fy_node **targets;  // [num_targets] must still run; updated in place
  int num_targets;
  // Evaluates |node| on the host with constant inputs; results get one reference each.
  // NULL: no folding.
  fy_code (*evaluate)(void *arg, fy_node *node, fy_tensor **results, fy_error *err);
  void *evaluate_arg;
  // May every device of the session run |node|? Only such nodes are merged into others, because
  // what a device lacks it would not be seen to lack in the merged one. NULL: yes.
  bool (*runs_anywhere)(void *arg, const fy_node *node);
  void *runs_anywhere_arg;
  const char *const *disabled;  // names, NULL-terminated, or NULL
  int64_t fold_limit_bytes;     // larger constants are not made by folding; 0 = 10 MiB
  fy_str *log;                  // one line per rewrite, or NULL
  struct fy_opt_order *order;   // fy_optimize_run's own: the nodes in order, until a pass rewrites
} fy_opt_ctx;

typedef struct fy_pass {
  const char *name;  // "prune", "fold", "cse", …: see passes.inc
  const char *what;  // one line for help
  fy_code (*run)(fy_opt_ctx *ctx, bool *changed, fy_error *err);
  bool once;  // runs once, after the others have settled
} fy_pass;

extern const fy_pass *const fy_passes[];
extern const size_t fy_pass_count;

// Runs the passes in order until nothing changes (bounded). Stops at the first error.
FY_MUST_CHECK fy_code fy_optimize_run(fy_opt_ctx *ctx, fy_error *err);

#endif

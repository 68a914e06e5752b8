// SPDX-License-Identifier: Apache-2.0
// freeze.h: a part of a graph as one GraphDef without state.
// Variables become constants: a handle that nodes and functions passed around becomes the value
// itself, so ReadVariableOp becomes Identity, and a function that took a handle gets a copy of itself
// that takes the value. Nothing is inlined.

#ifndef FY_MODEL_FREEZE_H
#define FY_MODEL_FREEZE_H

#include "graph.pb-c.h"
#include "model/saved_model.h"

typedef struct fy_freeze_args {
  const Tensorflow__GraphDef *graph;
  const char *const *inputs;   // tensor names, e.g. "serving_default_x:0": become placeholders
  const char *const *outputs;  // tensor names
  int num_inputs, num_outputs;
  const char *const *init_nodes;  // that fill tables; kept, and run before lookups, if needed
  size_t num_init_nodes;
  const fy_asset *assets;
  size_t num_assets;
  // The value of a variable by its node's name; one reference.
  fy_code (*value)(void *arg, const char *node, fy_tensor **out, fy_error *err);
  void *arg;
} fy_freeze_args;

// |*out| lives in |arena| and borrows from |args->graph|. |notes| gets lines worth knowing.
// FAILED_PRECONDITION: a variable is written or used in a way that a value cannot serve.
FY_MUST_CHECK fy_code fy_model_freeze(const fy_freeze_args *args, fy_arena *arena,
                                      Tensorflow__GraphDef **out, fy_str *notes, fy_error *err);

#endif

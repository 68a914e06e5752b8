// SPDX-License-Identifier: Apache-2.0
// inspect_impl.h: what inspect.c finds and inspect_print.c prints.

#ifndef FY_MODEL_INSPECT_IMPL_H
#define FY_MODEL_INSPECT_IMPL_H

#include "model/inspect.h"
#include "model/walk.h"

typedef struct op_count {
  const char *name;
  size_t count, needed;  // nodes of this op; those that a signature or loading needs
  bool known, has_kernel;
  uint64_t roots;  // who needs it
} op_count;

typedef struct device_share {
  char name[32];
  size_t nodes;  // that it could run, of |needed_nodes|
  fy_str lacks;  // ops that it cannot run
} device_share;

typedef struct weight {
  const char *name;
  fy_dtype dtype;
  fy_pshape shape;
  uint64_t bytes;
} weight;

typedef struct report {
  const fy_model_file *file;
  fy_arena arena;
  uint64_t file_bytes;
  fy_signature *signatures;
  size_t num_signatures;
  fy_asset *assets;
  size_t num_assets;
  const char *roots[FY_WALK_MAX_ROOTS];  // signature names, then "(loading)"
  int num_roots;
  size_t nodes, functions, function_nodes, needed_nodes;
  op_count *ops;  // most frequent first
  size_t num_ops;
  weight *weights;  // largest first
  size_t num_weights;
  uint64_t weight_bytes, weight_values;
  size_t constants;
  uint64_t constant_bytes;
  device_share devices[16];
  int num_devices;
} report;

void fy_inspect_text(const report *r, fy_str *out);
void fy_inspect_json(const report *r, fy_str *out);

#endif

// SPDX-License-Identifier: Apache-2.0
// ferry_model.h: a loaded model of ferry.h.

#ifndef FY_API_FERRY_MODEL_H
#define FY_API_FERRY_MODEL_H

#include "api/ferry_api.h"
#include "model/model_file.h"

struct ferry_model {
  fy_arena arena;  // signatures, default values, names
  fy_graph *graph;
  ferry_session *session;
  ferry_signature *signatures;
  fy_tensor ***defaults;  // [signature][input] or NULL
  int num_signatures;
  const char **init_nodes;  // that fill tables
  size_t num_init_nodes;
  fy_asset *assets;
  size_t num_assets;
};

#endif

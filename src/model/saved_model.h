// SPDX-License-Identifier: Apache-2.0
// saved_model.h: a SavedModel directory: what it holds, and how its state comes to life.
//
//   fy_saved_model_open   reads saved_model.pb or saved_model.pbtxt
//   fy_saved_model_pick   chooses the graph that has exactly these tags
//   fy_saved_model_steps  the runs that restore variables and initialise tables, for a graph into which
//                         model->meta->graph_def was imported; whoever loads runs them in a session
//
// A TensorFlow 1 training checkpoint (model.ckpt-100.meta with its checkpoint beside) is opened by
// fy_meta_graph_open into the same value; it needs no picking.
// The directory is taken as hostile: sizes are bounded (wire/), names of assets may not leave it.

#ifndef FY_MODEL_SAVED_MODEL_H
#define FY_MODEL_SAVED_MODEL_H

#include "graph/graph.h"
#include "saved_model.pb-c.h"
#include "wire/mapping.h"

typedef struct fy_saved_model {
  fy_arena arena;
  const char *dir, *file;  // file: the one that was read
  const Tensorflow__SavedModel *proto;
  const Tensorflow__MetaGraphDef *meta;  // the one picked, or NULL
  const char *checkpoint;                // prefix of the files that hold the variables
  fy_wire_view view;                     // the file: long constants of |proto| lie in it
} fy_saved_model;

// NOT_FOUND if there is no model; OUT_OF_RANGE or DATA_LOSS if it cannot be read: as TensorFlow, and
// then what is wrong where. fy_saved_model_close is needed in every case.
FY_MUST_CHECK fy_code fy_saved_model_open(const char *dir, fy_saved_model *out, fy_error *err);
void fy_saved_model_close(fy_saved_model *m);
// |path|: a .meta file (binary or text), or a directory whose file "checkpoint" names the latest one.
FY_MUST_CHECK fy_code fy_meta_graph_open(const char *path, fy_saved_model *out, fy_error *err);
FY_MUST_CHECK fy_code fy_saved_model_pick(fy_saved_model *m, const char *const *tags, int num_tags,
                                          fy_error *err);

// ---- what can be called
typedef struct fy_signature_value {
  const char *key;     // "x"
  const char *tensor;  // "serving_default_x:0"; NULL if the file does not say
  fy_dtype dtype;
  fy_pshape shape;
} fy_signature_value;

typedef struct fy_signature {
  const char *key, *method;
  fy_signature_value *inputs, *outputs;  // by key
  uint32_t num_inputs, num_outputs;
} fy_signature;

// Signatures of |meta|, sorted by key, in |arena|; the initialiser's own is left out.
FY_MUST_CHECK fy_code fy_saved_model_signatures(const Tensorflow__MetaGraphDef *meta,
                                                fy_arena *arena, fy_signature **out, size_t *n,
                                                fy_error *err);

// ---- assets and initialisation
typedef struct fy_asset {
  const char *tensor;  // that is fed with the path
  const char *path;    // <dir>/assets/<name>
} fy_asset;
FY_MUST_CHECK fy_code fy_saved_model_assets(const fy_saved_model *m, fy_arena *arena,
                                            fy_asset **out, size_t *n, fy_error *err);

// The names of the nodes that fill tables; none: |*n| is 0.
FY_MUST_CHECK fy_code fy_saved_model_init_nodes(const fy_saved_model *m, char *const **out,
                                                size_t *n, fy_error *err);

typedef struct fy_model_step {  // one run
  fy_output *feeds;
  fy_tensor **values;  // one reference each, held by the arena
  int num_feeds;
  fy_node **targets;
  int num_targets;
  const char *what;  // "restore", "initialise"
} fy_model_step;
#define FY_MODEL_MAX_STEPS 2
// The caller holds the graph's lock.
FY_MUST_CHECK fy_code fy_saved_model_steps(const fy_saved_model *m, const fy_graph *g,
                                           fy_arena *arena, fy_model_step steps[FY_MODEL_MAX_STEPS],
                                           int *n, fy_error *err);

#endif

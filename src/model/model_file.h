// SPDX-License-Identifier: Apache-2.0
// model_file.h: whatever a path names that may be a model or its weights, found out by looking:
//
//   a directory with saved_model.pb(txt), or that file     SavedModel, the graph with the tags
//   NAME.meta, a directory whose file "checkpoint" names it  MetaGraphDef; weights in NAME.index
//   any other file                                         GraphDef, binary or text
//   NAME where NAME.index is, NAME.index, a V1 table file  checkpoint: weights and no graph
//
// Nothing is imported and no variable is read here: what has no kernel can still be looked at.

#ifndef FY_MODEL_MODEL_FILE_H
#define FY_MODEL_MODEL_FILE_H

#include "model/saved_model.h"

typedef enum fy_model_kind {
  FY_MODEL_SAVED_MODEL,
  FY_MODEL_META,
  FY_MODEL_GRAPH,
  FY_MODEL_CHECKPOINT,
} fy_model_kind;

typedef struct fy_model_file {
  fy_model_kind kind;
  bool text;                          // the message was in text format
  fy_saved_model saved;               // arena, dir, file; meta of a SavedModel or .meta
  const char *path;                   // as given
  const char *checkpoint;             // prefix of the weights, or NULL
  const Tensorflow__GraphDef *graph;  // NULL for a checkpoint
  const ProtobufCMessage *message;    // the whole file: SavedModel, MetaGraphDef or GraphDef
} fy_model_file;

// |tags|: "serve,gpu"; NULL = "serve" if the model has it, else its only graph. The texts of a missing
// or damaged SavedModel are TensorFlow's, then ours. fy_model_file_close is needed in every case.
FY_MUST_CHECK fy_code fy_model_file_open(const char *path, const char *tags, fy_model_file *out,
                                         fy_error *err);
void fy_model_file_close(fy_model_file *f);
const char *fy_model_kind_name(fy_model_kind kind);  // "SavedModel", "GraphDef" …

#endif

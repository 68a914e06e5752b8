// SPDX-License-Identifier: Apache-2.0
// walk.h: which nodes of a GraphDef, and of the functions it calls, some tensors need.

#ifndef FY_MODEL_WALK_H
#define FY_MODEL_WALK_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "graph.pb-c.h"

typedef struct fy_walk_node {
  const Tensorflow__NodeDef *def;
  const struct fy_walk_body *body;  // the graph or function it is in
  uint64_t roots;                   // bit i: needed by root i
} fy_walk_node;

typedef struct fy_walk_body {
  const Tensorflow__FunctionDef *function;  // NULL: the graph itself
  fy_map by_name;                           // of its nodes -> fy_walk_node*
  fy_walk_node *nodes;
  size_t n;
  uint64_t roots;
} fy_walk_body;

typedef struct fy_walk {
  fy_arena arena;
  fy_walk_body *bodies;  // the graph, then the functions
  size_t num_bodies;
  fy_map functions;  // name -> fy_walk_body*
} fy_walk;

#define FY_WALK_MAX_ROOTS 64
FY_MUST_CHECK fy_code fy_walk_open(const Tensorflow__GraphDef *graph, fy_walk *out, fy_error *err);
void fy_walk_close(fy_walk *w);
// Marks with bit |root| all that |tensor| ("x", "x:1", "^x") needs. Unknown names are ignored.
FY_MUST_CHECK fy_code fy_walk_from(fy_walk *w, const char *tensor, int root, fy_error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// flow.h: what TensorFlow 1's control flow (Switch, Merge, Enter, Exit, NextIteration) means for a graph:
// in which loop each node is, under which condition it runs at all, and which parts of the graph must
// therefore be run by an interpreter of frames and dead tensors (execute/frames.c) instead of in a
// straight line.
//
// A node is *plain* when it is in no loop and always runs. The condition of any other is a set of
// literals that must all hold: "predicate p took branch k", or "this Merge got something". A Switch adds
// one, a node has the union of its inputs', and a Merge whose inputs exclude each other and leave
// nothing out takes the literal away again: what follows tf.cond is plain.
// A *region* is a set of nodes that is run as one: everything that is not plain and hangs together, and
// the plain nodes that lie between.

#ifndef FY_GRAPH_FLOW_H
#define FY_GRAPH_FLOW_H

#include "graph/graph.h"

typedef enum fy_flow_kind {
  FY_FLOW_NONE = 0,  // an operation like any other
  FY_FLOW_SWITCH,    // Switch, RefSwitch, _SwitchN
  FY_FLOW_MERGE,
  FY_FLOW_ENTER,
  FY_FLOW_EXIT,
  FY_FLOW_NEXT,
  FY_FLOW_LOOP_COND,
  FY_FLOW_TRIGGER,  // runs although its control inputs are dead
} fy_flow_kind;

typedef struct fy_flow_frame {
  const char *name;     // the attribute frame_name; "" = the outermost, number 0
  uint32_t parent;      // number; of frame 0: itself
  uint32_t num_enters;  // Enter nodes that lead into it
  int64_t parallel;     // iterations that may be under way at once
} fy_flow_frame;

typedef struct fy_flow_node {  // by node id
  fy_flow_kind kind;
  uint32_t frame;      // in which the node itself runs (an Enter: outside, an Exit: inside)
  uint32_t out_frame;  // in which its outputs are
  uint32_t cond;       // number of the condition of its running; 0 = always
  uint32_t depth;      // how many control flow nodes lie before it
  uint32_t region;     // number, 0 = none
} fy_flow_node;

typedef struct fy_flow_info {
  fy_arena arena;
  fy_flow_node *nodes;  // [graph->num_nodes]
  fy_flow_frame *frames;
  uint32_t num_frames, num_regions;  // regions are numbered from 1
  fy_node **order;                   // [n] inputs first, back edges aside
  size_t n;
} fy_flow_info;

fy_flow_kind fy_flow_kind_of(const fy_node *node);
bool fy_flow_any(const fy_graph *g);  // is there any control flow node?
// Fills |out|, which fy_flow_info_free frees in every case. INVALID_ARGUMENT, in TensorFlow's words, if
// frames are mixed up.
FY_MUST_CHECK fy_code fy_flow_analyse(const fy_graph *g, fy_flow_info *out, fy_error *err);
void fy_flow_info_free(fy_flow_info *f);

#endif

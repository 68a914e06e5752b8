// SPDX-License-Identifier: Apache-2.0
// frames.h: regions with TensorFlow 1's control flow, run by an interpreter of frames, iterations and
// dead tensors.
//
// A region (graph/flow.h) becomes one node "_FerryFlow" of the program. Inside it, what runs under one
// condition in one frame and lies between the same control flow nodes is one *item*: a callable that is
// compiled, fused and planned like any program. Only Switch, Merge, Enter, Exit and NextIteration are
// interpreted. The rules of readiness and deadness are those of TensorFlow's executor, so every graph
// that it accepts runs here, whether or not it came from tf.cond or tf.while_loop.

#ifndef FY_EXECUTE_FRAMES_H
#define FY_EXECUTE_FRAMES_H

#include "execute/callable.h"
#include "graph/flow.h"

typedef struct fy_frames fy_frames;

// Replaces the regions of a->graph by "_FerryFlow" nodes whose attribute "flow" numbers p->flows.
// Nothing happens to a graph without control flow nodes.
FY_MUST_CHECK fy_code fy_frames_extract(fy_compile_args *a, fy_program *p, fy_error *err);

FY_MUST_CHECK fy_code fy_frames_run(fy_frames *f, const fy_run *run, fy_tensor *const *args,
                                    fy_tensor **results, fy_error *err);
void fy_frames_free(fy_frames *f);
int fy_frames_num_args(const fy_frames *f);
int fy_frames_num_results(const fy_frames *f);

// ---- the plan of a region (frames_build.c makes it, frames.c runs it)
#define FY_ITEM_RESULT UINT32_MAX  // an edge to a result of the region

typedef struct fy_edge {
  uint32_t to;    // item, or FY_ITEM_RESULT
  uint32_t slot;  // its input, or the number of the result
} fy_edge;

typedef struct fy_item {
  fy_flow_kind kind;      // NONE: a callable
  uint32_t frame, local;  // local: its number in the frame
  uint32_t num_in, num_out, num_controls;
  uint32_t in;                             // position of its inputs in the frame's inputs
  uint32_t *edge_at;                       // [num_out + 1] positions in edges, per output
  uint32_t controls_at, num_control_outs;  // in control_edges
  uint32_t out_frame;                      // Enter: the frame it leads to
  bool is_constant;                        // Enter: for all iterations
  fy_callable *call;
  fy_node *node;  // for errors; of a callable: its first
} fy_item;

typedef struct fy_frame_plan {
  uint32_t num_items, num_inputs, num_enters, parent;
  int64_t parallel;
  const char *name;
  uint32_t *items;  // [num_items]
} fy_frame_plan;

struct fy_frames {
  fy_arena arena;
  fy_graph *graph;  // the bodies of the callables, each with argument nodes of its own
  fy_item *items;
  fy_edge *edges;
  uint32_t *control_edges;  // items
  fy_frame_plan *frames;
  uint32_t num_items, num_frames, num_args, num_results, max_io;
  uint32_t *arg_at;     // [num_args + 1] positions in arg_edges
  fy_edge *arg_edges;   // args are values of frame 0
  int32_t *fetch_of;    // [num_results] index of a fetch, or -1
  fy_node **result_of;  // [num_results] who makes it, for errors
};

#endif

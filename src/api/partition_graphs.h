// SPDX-License-Identifier: Apache-2.0
// partition_graphs.h: a program as TensorFlow would show it: one graph per device, joined by _Send
// and _Recv. Ferry itself has no such nodes: CPU devices share memory, and transfers are
// instructions.

#ifndef FY_API_PARTITION_GRAPHS_H
#define FY_API_PARTITION_GRAPHS_H

#include "execute/program.h"
#include "graph.pb-c.h"

typedef struct fy_cut {  // one value (or, index -1, the end of a node) on its way to another device
  const fy_node *node;
  int32_t index;
  const fy_device *from, *to;
  const char *dst;                 // who needed it first
  const char *constant, *arrived;  // control only: what is sent, and what waits for it
  const char *send, *recv, *edge;
} fy_cut;

typedef struct fy_cuts {
  const fy_program *program;
  fy_arena *arena;
  fy_cut *items;
  size_t n, cap;
  fy_imap by_key;  // (node, index, device) -> position + 1
} fy_cuts;

FY_MUST_CHECK fy_code fy_cuts_make(const fy_program *p, fy_arena *arena, fy_cuts *out,
                                   fy_error *err);
void fy_cuts_free(fy_cuts *c);
const fy_device *fy_cuts_device(const fy_cuts *c, const fy_node *node);
// What |value| is called by a node on |device|: "a", "a:1", "a/_3". NULL when memory is short.
const char *fy_cuts_name(const fy_cuts *c, fy_output value, const fy_device *device);
// "_retval_sum_0_0"
const char *fy_cuts_retval(const fy_cuts *c, int fetch);
fy_output fy_cuts_fetch(const fy_cuts *c, int fetch);
FY_MUST_CHECK fy_code fy_cuts_graphs(const fy_cuts *c, size_t *out_n, Tensorflow__GraphDef ***out,
                                     fy_error *err);

#endif

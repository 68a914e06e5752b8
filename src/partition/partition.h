// SPDX-License-Identifier: Apache-2.0
// partition.h: cut a placed graph by memory: which value must be where, and the transfers for it.
// A *space* is a memory (fy_space_of): 0 is the host, k > 0 the own memory of device ordinal k - 1.
// Invariant: a transfer exists only where producer and consumer spaces differ, once per
// (value, destination space); the node that first needed it is its cause.

#ifndef FY_PARTITION_PARTITION_H
#define FY_PARTITION_PARTITION_H

#include "place/place.h"

typedef struct fy_transfer {
  fy_output value;
  int from_space, to_space;
  fy_device *from, *to;  // devices of producer and first consumer
  fy_node *cause;        // first node that needs it there; NULL: a fetch
  int64_t bytes;         // -1 = only run time can tell
  const char *why;       // "input 1 of 'd' (on CPU:0) is in host memory", …
} fy_transfer;

typedef struct fy_parts {
  fy_arena arena;
  fy_transfer *transfers;
  size_t num_transfers, cap_transfers;
  size_t handovers;          // edges between CPU devices: same memory, no copy
  int32_t **input_transfer;  // [node id][input] index of the transfer that serves it, -1 = none
  int32_t *fetch_transfer;   // [num_fetches]
  const fy_graph *graph;
  const fy_placement *placement;
} fy_parts;

// |fetch_spaces|: where each fetch is wanted (NULL: host, -1: wherever it is); |feed_spaces|: where each
// "_Arg" is (NULL: host).
FY_MUST_CHECK fy_code fy_partition_run(const fy_graph *g, const fy_placement *p,
                                       const fy_output *fetches, int num_fetches,
                                       const int *fetch_spaces, const int *feed_spaces,
                                       fy_device *client, fy_parts **out, fy_error *err);
void fy_parts_free(fy_parts *parts);
void fy_parts_dump(fy_str *out, const fy_parts *parts);

#endif

// SPDX-License-Identifier: Apache-2.0
// request.h: what a run asks for, checked once per signature: do the nodes exist for this session,
// are the indices real, is nothing fed twice. Errors in TensorFlow's words.

#ifndef FY_EXECUTE_REQUEST_H
#define FY_EXECUTE_REQUEST_H

#include "execute/session.h"

// A request with every node found in the session's graph. Arrays are fy_malloc'ed.
typedef struct fy_request {
  fy_output *feeds, *fetches;
  fy_node **targets;
  fy_dtype *feed_types;
  int num_feeds, num_fetches, num_targets;
} fy_request;

// |known|: nodes with a smaller id belong to the session. Nodes of another graph are found by
// name. |fetch_fed|: what is fed may be fetched too.
// The caller holds the graph's lock. On failure nothing is owned.
FY_MUST_CHECK fy_code fy_request_make(fy_graph *g, size_t known, bool fetch_fed,
                                      const fy_run_args *args, fy_request *out, fy_error *err);
void fy_request_free(fy_request *r);
// Each feed has a value of the right type.
FY_MUST_CHECK fy_code fy_request_check_values(const fy_dtype *types, fy_tensor *const *values,
                                              int n, fy_error *err);
// Nodes [from, to) can belong to a session.
FY_MUST_CHECK fy_code fy_request_check_nodes(const fy_graph *g, size_t from, size_t to,
                                             fy_error *err);

#endif

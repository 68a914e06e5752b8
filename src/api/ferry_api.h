// SPDX-License-Identifier: Apache-2.0
// ferry_api.h: what ferry.h's opaque types are, and the helpers that the ferry_*.c files share.
//
//   ferry_tensor*  is an fy_tensor*  (one reference, host memory)
//   ferry_graph*   is an fy_graph*   (counted: its owner and the sessions over it)

#ifndef FY_API_FERRY_API_H
#define FY_API_FERRY_API_H

#include "base/options.h"
#include "devices/devices.h"
#include "execute/session.h"
#include "ferry/ferry.h"
#include "graph/graph.h"

struct ferry_runtime {
  fy_options options;
  fy_device_set *devices;
};

struct ferry_session {
  fy_session *session;     // a TF_Session's own, if |is_view|
  fy_graph *graph;         // one reference
  fy_device_set *devices;  // one reference
  fy_options options;
  bool is_view;
};

static inline fy_graph *fy_ferry_graph(const ferry_graph *g) {
  return (fy_graph *)(uintptr_t)g;
}
static inline fy_tensor *fy_ferry_tensor(const ferry_tensor *t) {
  return (fy_tensor *)(uintptr_t)t;
}

// Moves |from| into the caller's |err| (may be NULL), cut if longer; returns the code as an int.
int fy_ferry_end(fy_code code, fy_error *from, ferry_error *err);
// Hands |s| out as text of the caller's; frees it in every case.
fy_code fy_ferry_text(fy_str *s, char **out, fy_error *err);
// Environment, then |config| in whichever form it is.
FY_MUST_CHECK fy_code fy_ferry_options(const char *config, fy_options *out, fy_error *err);

// "name" or "name:1" of |g|; NOT_FOUND suggests the nearest name. The caller holds the graph's
// lock.
FY_MUST_CHECK fy_code fy_ferry_find(const fy_graph *g, fy_view text, fy_output *out, fy_error *err);
FY_MUST_CHECK fy_code fy_ferry_find_node(const fy_graph *g, fy_view name, fy_node **out,
                                         fy_error *err);
FY_MUST_CHECK fy_code fy_ferry_write_file(const char *path, const uint8_t *bytes, size_t n,
                                          fy_error *err);
fy_view fy_ferry_trim(fy_view v);
// Cuts |*rest| at the first |stop| outside brackets and quotes; the piece is trimmed.
fy_view fy_ferry_cut(fy_view *rest, char stop);

// Reads |text| as a value for |spec| (ferry_attr_text.c). |dtype| types a tensor literal.
FY_MUST_CHECK fy_code fy_ferry_attr(const fy_attr_spec *spec, fy_view text, fy_dtype dtype,
                                    fy_arena *arena, fy_attr *out, fy_error *err);
// "[2,?]", "[]", "?" (nothing known).
FY_MUST_CHECK fy_code fy_ferry_shape(fy_view text, fy_arena *arena, fy_pshape *out, fy_error *err);

// A request with its names resolved against the graph; everything lives in |arena|.
typedef struct fy_ferry_query {
  fy_arena arena;
  fy_output *feeds, *fetches;
  fy_node **targets;
  fy_pshape *shapes;  // [num_feeds] what is known
  bool *batched;      // [num_feeds] the graph leaves the leading dimension open
  int num_feeds, num_fetches, num_targets;
} fy_ferry_query;

FY_MUST_CHECK fy_code fy_ferry_query_make(fy_graph *g, const ferry_request *r, fy_ferry_query *out,
                                          fy_error *err);
void fy_ferry_query_free(fy_ferry_query *q);

#endif

// SPDX-License-Identifier: Apache-2.0
// session.h: run graphs. A session compiles (feeds, fetches, targets, feed shapes) once into a program
// and keeps it; running a program costs nanoseconds per node.
// Threads: fy_session_run may be called from many threads at once on one session.

#ifndef FY_EXECUTE_SESSION_H
#define FY_EXECUTE_SESSION_H

#include "base/options.h"
#include "execute/cancel.h"
#include "execute/program.h"
#include "ops/resource.h"
#include "place/place.h"

typedef struct fy_session fy_session;

// |graph| and |devices| are borrowed: they must outlive the session. |resources| may be shared.
FY_MUST_CHECK fy_code fy_session_new(fy_graph *graph, fy_device_set *devices,
                                     const fy_options *options, fy_resources *resources,
                                     fy_session **out, fy_error *err);
void fy_session_free(fy_session *s);
fy_resources *fy_session_resources(fy_session *s);

typedef struct fy_run_args {
  const fy_output *feeds;
  fy_tensor *const *feed_values;
  int num_feeds;
  const fy_output *fetches;
  int num_fetches;
  fy_node *const *targets;
  int num_targets;
  fy_cancel *cancel;       // may be NULL
  int64_t timeout_ms;      // 0 = none
  struct fy_trace *trace;  // may be NULL: per-node times, transfers, memory (execute/trace.h)
} fy_run_args;

// |results[i]| receives one reference each; on failure all are NULL. First error wins; its text ends
// with "\n\t [[{{node n}}]]".
FY_MUST_CHECK fy_code fy_session_run(fy_session *s, const fy_run_args *args, fy_tensor **results,
                                     fy_error *err);
// The program that such a run would use, compiled afresh and not kept; a reference is returned.
// |feed_shapes| gives what is known of the feeds (NULL: nothing). For explain, dump and predict.
// |stop_after| ("optimize", "place", "partition" or NULL) and |log| (rewrites, may be NULL): see compile.c.
FY_MUST_CHECK fy_code fy_session_program(fy_session *s, const fy_run_args *args,
                                         const fy_pshape *feed_shapes, const char *stop_after,
                                         fy_str *log, fy_program **out, fy_error *err);

#endif

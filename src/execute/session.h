// SPDX-License-Identifier: Apache-2.0
// session.h: run graphs. A session compiles (feeds, fetches, targets, feed shapes) once into a
// program and keeps it; running a program costs nanoseconds per node.
// A session sees the nodes its graph had when it was last extended: by every run, until somebody
// calls fy_session_extend; from then on only by those calls, as in TensorFlow.
// Threads: fy_session_run may be called from many threads at once on one session.

#ifndef FY_EXECUTE_SESSION_H
#define FY_EXECUTE_SESSION_H

#include "base/options.h"
#include "execute/callable.h"
#include "execute/cancel.h"
#include "execute/counters.h"
#include "execute/program.h"
#include "ops/resource.h"
#include "place/place.h"

typedef struct fy_session fy_session;

// |graph| and |devices| are borrowed: they must outlive the session. |resources| may be shared.
FY_MUST_CHECK fy_code fy_session_new(fy_graph *graph, fy_device_set *devices,
                                     const fy_options *options, fy_resources *resources,
                                     fy_session **out, fy_error *err);
void fy_session_free(fy_session *s);  // no run may be in progress
fy_resources *fy_session_resources(fy_session *s);
const fy_options *fy_session_options(const fy_session *s);
fy_graph *fy_session_graph(const fy_session *s);
fy_device_set *fy_session_devices(const fy_session *s);
// What the session's programs hold of a memory (0: the host, n: of device n - 1), and held at most.
void fy_session_memory(fy_session *s, int space, int64_t *now, int64_t *most);
void fy_session_counts(fy_session *s, fy_counts *out);  // since the session was made
// Ends the runs in progress (CANCELLED) and refuses later ones. Safe from any thread.
void fy_session_close(fy_session *s);
// Takes in the nodes added to the graph since last time. INVALID_ARGUMENT on a name that no
// GraphDef could hold: then none is taken in.
bool fy_session_is_current(const fy_session *s);  // the graph has nothing new
FY_MUST_CHECK fy_code fy_session_extend(fy_session *s, fy_error *err);
// Takes in new nodes where that is automatic; CANCELLED if the session was closed.
FY_MUST_CHECK fy_code fy_session_ready(fy_session *s, fy_error *err);
// Refuses to fetch what is fed, as TensorFlow does. To be called before the first run.
void fy_session_be_strict(fy_session *s);
// Called once for every program that the session compiles for itself (log_device_placement).
void fy_session_watch(fy_session *s, void (*fn)(const fy_program *program));

// The same for explanations, functions that its programs call included (callable.h).
void fy_session_explain_to(fy_session *s, fy_compiled_fn fn);

typedef struct fy_run_args {
  const fy_output *feeds;
  fy_tensor *const *feed_values;
  int num_feeds;
  const fy_output *fetches;
  int num_fetches;
  fy_node *const *targets;
  int num_targets;
  fy_cancel *cancel;       // instead of the session's own; may be NULL
  int64_t timeout_ms;      // 0 = none
  struct fy_trace *trace;  // may be NULL: per-node times, transfers, memory (execute/trace.h)
} fy_run_args;

// |results[i]| receives one reference each; on failure all are NULL. First error wins; its text
// ends with "\n\t [[{{node n}}]]".
FY_MUST_CHECK fy_code fy_session_run(fy_session *s, const fy_run_args *args, fy_tensor **results,
                                     fy_error *err);
// In two halves (fy_program_start). Several may be under way; finish them in any order, before the
// session goes. No trace; a lost device is reported, not worked around.
FY_MUST_CHECK fy_code fy_session_start(fy_session *s, const fy_run_args *args, fy_started **out,
                                       fy_error *err);
FY_MUST_CHECK fy_code fy_session_finish(fy_session *s, fy_started *st, fy_tensor **results,
                                        fy_error *err);
// The program that such a run would use, compiled afresh and not kept; a reference is returned.
// |feed_shapes| gives what is known of the feeds (NULL: nothing). For explain, dump and predict.
// |stop_after| ("optimize", "place", "partition" or NULL) and |log| (rewrites, may be NULL): see
// compile.c.
FY_MUST_CHECK fy_code fy_session_program(fy_session *s, const fy_run_args *args,
                                         const fy_pshape *feed_shapes, const char *stop_after,
                                         fy_str *log, fy_program **out, fy_error *err);

// A run in pieces (partial.c): values fed once stay, what was computed once is not computed again.
typedef struct fy_partial fy_partial;
// Declares what may be fed and fetched later. Keeps a copy of that part of the graph.
FY_MUST_CHECK fy_code fy_partial_new(fy_session *s, const fy_run_args *args, fy_partial **out,
                                     fy_error *err);
void fy_partial_free(fy_partial *p);
// Feeds more, fetches more. |*done| when everything declared was fed and fetched.
FY_MUST_CHECK fy_code fy_partial_run(fy_partial *p, const fy_run_args *args, fy_tensor **results,
                                     bool *done, fy_error *err);

#endif

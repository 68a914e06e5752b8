// SPDX-License-Identifier: Apache-2.0
// callable.h: something that can be called with tensors: a session's (feeds, fetches, targets) or a
// function's body. It keeps one program per argument signature (dtypes, shapes, spaces) for the first few. When shapes
// keep changing, one program compiled for what they have in common serves the rest, until calls of the same shapes
// have taken as long as it takes to compile one for them.

#ifndef FY_EXECUTE_CALLABLE_H
#define FY_EXECUTE_CALLABLE_H

#include "execute/counters.h"
#include "execute/program.h"

typedef struct fy_callable fy_callable;

// A program was compiled, of what and for which arguments.
typedef struct fy_compiled {
  fy_callable *callable;
  fy_graph *graph;  // body_of: the function's name; NULL: a session's graph
  const fy_output *feeds, *fetches;
  fy_node *const *targets;
  int num_feeds, num_fetches, num_targets;
  fy_tensor *const *args;
} fy_compiled;
typedef void (*fy_compiled_fn)(const fy_options *options, const fy_compiled *compiled);

// Shared by all programs of one session or eager context: instantiated functions by (name, attrs).
typedef struct fy_callables fy_callables;
fy_callables *fy_callables_new(fy_funclib *lib, const fy_device_set *devices,
                               const fy_options *options);
void fy_callables_free(fy_callables *c);
fy_counters *fy_callables_counters(fy_callables *c);  // NULL for NULL
fy_resources *fy_callables_kept(fy_callables *c);  // what nodes keep (fy_site_keep); NULL for NULL
// |fn| is told of every program of a request or a named function, before its first run, without a lock held.
// To be called before the first of them.
void fy_callables_watch(fy_callables *c, fy_compiled_fn fn);

// The instance of function |name| under |attrs| called from |device|. Owned by |c|. Thread-safe.
FY_MUST_CHECK fy_code fy_callables_get(fy_callables *c, fy_view name, const fy_attrs *attrs,
                                       const fy_device *device, fy_callable **out, fy_error *err);

// The same of a function without a name, whose |body| must outlive it. The caller frees it.
FY_MUST_CHECK fy_code fy_callables_adopt(fy_callables *c, fy_graph *body, const fy_device *device,
                                         fy_callable **out, fy_error *err);

// A callable over part of |graph| (borrowed, its lock is taken while compiling).
FY_MUST_CHECK fy_code fy_callable_new(fy_graph *graph, const fy_output *feeds, int num_feeds,
                                      const fy_output *fetches, int num_fetches,
                                      fy_node *const *targets, int num_targets,
                                      const fy_device_set *devices, const fy_device *default_device,
                                      const fy_options *options, fy_callables *callables,
                                      bool results_anywhere, fy_callable **out, fy_error *err);
// Results that are references are handed out as handles, not read (a part of a region, frames.h).
void fy_callable_keep_refs(fy_callable *c);
// Takes over |frames|, also on failure (frames.h).
struct fy_frames;
FY_MUST_CHECK fy_code fy_callable_new_frames(struct fy_frames *frames, fy_callable **out,
                                             fy_error *err);
void fy_callable_free(fy_callable *c);
bool fy_callable_is_region(const fy_callable *c);  // with control flow of TensorFlow 1 (frames.h)
int fy_callable_num_args(const fy_callable *c);
int fy_callable_num_results(const fy_callable *c);
fy_dtype fy_callable_arg_type(const fy_callable *c, int i);
fy_dtype fy_callable_result_type(const fy_callable *c, int i);

// Nodes of |copy| that are tied (_class) to one that only |from| has get that one's device request.
FY_MUST_CHECK fy_code fy_adopt_colocations(const fy_graph *from, fy_graph *copy, bool soft,
                                           fy_error *err);

// Finds or compiles the program for these arguments; one reference is returned.
FY_MUST_CHECK fy_code fy_callable_program(fy_callable *c, fy_tensor *const *args, fy_program **out,
                                          fy_error *err);
// A program with |any_shape| ran that long: to be told by who asked for it and ran it.
void fy_callable_took(fy_callable *c, fy_tensor *const *args, int64_t ns);
// A fresh program for these shapes that is not kept (explain, dump). |stop_after| may cut the road short.
// |spaces| (may be NULL: all on the host) are where the arguments are, |handles| (may be NULL) what the
// variables were declared to be that they are handles of.
FY_MUST_CHECK fy_code fy_callable_explain(fy_callable *c, const fy_pshape *shapes,
                                          const int *spaces, const fy_handle_shape *handles,
                                          const char *stop_after, fy_str *log, fy_program **out,
                                          fy_error *err);
FY_MUST_CHECK fy_code fy_callable_run(fy_callable *c, const fy_run *run, fy_tensor *const *args,
                                      fy_tensor **results, fy_error *err);
// For kernels: as fy_callable_run, checking the counts.
FY_MUST_CHECK fy_code fy_callable_call(void *callable, const fy_run *run, fy_tensor *const *args,
                                       int num_args, fy_tensor **results, int num_results,
                                       fy_error *err);

#endif

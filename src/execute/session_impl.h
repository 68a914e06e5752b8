// SPDX-License-Identifier: Apache-2.0
// session_impl.h: what a session is; for session.c and partial.c.

#ifndef FY_EXECUTE_SESSION_IMPL_H
#define FY_EXECUTE_SESSION_IMPL_H

#include "execute/ahead.h"
#include "execute/callable.h"
#include "execute/request.h"
#include "execute/session.h"

typedef struct fy_signature {
  uint64_t hash;
  fy_request request;
  fy_callable *callable;
  int64_t used;  // after how many runs of the session
  // Runs in progress, and what ready.h keeps: not evicted. Grows under the session's lock, or by who
  // has one of these.
  atomic_int busy;
} fy_signature;

static inline void fy_signature_release(fy_signature *sig) {
  atomic_fetch_sub_explicit(&sig->busy, 1, memory_order_release);
}

// Whether |a| asks for the same, in the same words.
static inline bool fy_request_is(const fy_request *r, const fy_run_args *a) {
  if (r->num_feeds != a->num_feeds || r->num_fetches != a->num_fetches ||
      r->num_targets != a->num_targets)
    return false;
  for (int i = 0; i < a->num_feeds; i++)
    if (r->feeds[i].node != a->feeds[i].node || r->feeds[i].index != a->feeds[i].index)
      return false;
  for (int i = 0; i < a->num_fetches; i++)
    if (r->fetches[i].node != a->fetches[i].node || r->fetches[i].index != a->fetches[i].index)
      return false;
  for (int i = 0; i < a->num_targets; i++)
    if (r->targets[i] != a->targets[i]) return false;
  return true;
}

#define FY_READY_SLOTS 8
typedef struct fy_ready_slot {
  atomic_int state;
  struct fy_ready *entry;  // of who has taken the slot
} fy_ready_slot;

struct fy_session {
  fy_graph *graph;
  fy_device_set *devices;
  fy_options options;
  fy_resources *resources;
  fy_callables *callables;
  fy_cancel *cancel;  // requested: the session is closed
  fy_ahead ahead;
  void (*watch)(const fy_program *program);
  atomic_size_t known;  // nodes of the graph that belong to the session
  atomic_bool auto_extend;
  bool strict;  // what is fed may not be fetched
  atomic_int_least64_t steps;
  fy_ready_slot ready[FY_READY_SLOTS];  // ready.h
  fy_mutex lock;                        // guards what follows
  fy_signature **items;
  size_t n, cap;
};

void fy_session_run_args(fy_session *s, const fy_run_args *args, fy_run *run);
fy_code fy_session_run_program(fy_session *s, fy_program *p, const fy_run_args *args,
                               fy_tensor **results, fy_error *err);
bool fy_session_repeatable(const fy_program *p);  // changes nothing but its results

#endif

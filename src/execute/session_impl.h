// SPDX-License-Identifier: Apache-2.0
// session_impl.h: what a session is; for session.c and partial.c.

#ifndef FY_EXECUTE_SESSION_IMPL_H
#define FY_EXECUTE_SESSION_IMPL_H

#include "execute/ahead.h"
#include "execute/callable.h"
#include "execute/session.h"

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
  fy_mutex lock;  // guards what follows
  struct signature **items;
  size_t n, cap;
  uint64_t clock;
};

void fy_session_run_args(fy_session *s, const fy_run_args *args, fy_run *run);

#endif

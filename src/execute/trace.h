// SPDX-License-Identifier: Apache-2.0
// trace.h: what happened in one run, when somebody asked: nodes, transfers, memory, with times.
// Recording costs two clock reads per instruction; nothing is recorded unless a run carries a trace.

#ifndef FY_EXECUTE_TRACE_H
#define FY_EXECUTE_TRACE_H

#include "base/arena.h"
#include "base/thread.h"
#include "execute/program.h"

typedef struct fy_trace_event {
  const char *node;  // name
  const char *op;    // "MatMul", or "MemcpyHToD"/"MemcpyDToH"/"MemcpyDToD" for transfers
  fy_device *device;
  int64_t start_ns, end_ns;  // host clock
  int64_t device_start_ns,
      device_end_ns;  // the device's clock when it has one (simulator: virtual)
  int64_t bytes;      // transfers: bytes moved
  const char *cause;  // transfers: node that needed it
  const char *why;
  uint32_t thread;
  fy_dtype out_dtype;  // of output 0
  int32_t out_rank;
  const int64_t *out_dims;
  int64_t out_bytes;
} fy_trace_event;

typedef struct fy_trace {
  fy_mutex lock;
  fy_arena arena;
  fy_trace_event *events;
  size_t n, cap;
  int64_t start_ns, end_ns;
  fy_program *program;    // of the outermost run (retained)
  bool partition_graphs;  // caller wants them
} fy_trace;

void fy_trace_init(fy_trace *t);
void fy_trace_free(fy_trace *t);
void fy_trace_add(fy_trace *t, const fy_trace_event *e);  // silently drops when memory is short

#endif

// SPDX-License-Identifier: Apache-2.0
// sim_impl.h: the parts of the simulated GPU.
//   sim.c         what it is: options to devices, facts, which ops it accepts, faults
//   sim_memory.c  memory that the host cannot touch by mistake
//   sim_clock.c   what everything would have cost: queues in virtual time
//   sim_launch.c  kernels: the reference loops, run on the device's memory

#ifndef FY_DEVICES_SIM_SIM_IMPL_H
#define FY_DEVICES_SIM_SIM_IMPL_H

#include <stdatomic.h>

#include "base/options.h"
#include "base/thread.h"
#include "devices/sim/sim.h"
#include "ops/op.h"

#define FY_SIM_LOG 4096

// Time zero and the lock of every queue of the simulated devices of one set.
typedef struct fy_sim_clock {
  fy_mutex lock;
  int refs;         // devices, and open() while it runs; guarded by |lock|
  uint64_t number;  // base/vtime.h
} fy_sim_clock;

typedef struct fy_sim_queue {
  uint64_t seq;  // pieces of work so far
  int64_t free_at_ns;
} fy_sim_queue;

typedef struct fy_sim_range {  // bytes in use, in address order
  size_t begin, end;
  struct fy_sim_range *next;
} fy_sim_range;

typedef struct fy_sim {
  fy_device *device;
  fy_sim_options model;
  int physical;          // which simulated GPU this device is (a share of)
  uint64_t total_bytes;  // what the GPU has
  uint64_t limit_bytes;  // what this device may use
  // memory (sim_memory.c), guarded by |memory_lock|; the bases never change once set
  fy_mutex memory_lock;
  int fd;
  _Atomic(char *) base;  // PROT_NONE: the addresses we hand out. NULL before the first allocation
  char *alias;           // the same bytes, readable: never leaves this folder
  size_t mapped_bytes, used_bytes;
  fy_sim_range *ranges;
  // time (sim_clock.c), guarded by clock->lock
  fy_sim_clock *clock;
  fy_sim_queue queues[FY_QUEUES];
  fy_sim_entry *log;  // ring; NULL until needed or when memory is short
  uint64_t log_total;
  // faults: calls so far
  atomic_llong allocs, launches, copies;
} fy_sim;

static inline fy_sim *fy_sim_of(const fy_device *d) {
  return d->impl;
}

// sim.c: UNAVAILABLE if the device is lost.
FY_MUST_CHECK fy_code fy_sim_alive(fy_sim *s, fy_error *err);

// sim_memory.c
int fy_sim_alloc(fy_device *d, size_t bytes, void **out, fy_error *err);
void fy_sim_free(fy_device *d, void *p, size_t bytes);
void fy_sim_unmap(fy_sim *s);
// The readable alias of [p, p + bytes), NULL if that is not all this device's memory.
void *fy_sim_alias(fy_sim *s, const void *p, size_t bytes);
bool fy_sim_alias_owns(fy_sim *s, const void *alias);  // is it an address made by fy_sim_alias?
int fy_sim_copy(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                fy_device *peer, const fy_event *after, fy_event *done, fy_error *err);

// sim_clock.c
// Checks that |after| are events that exist; |*out_ready_ns| is when the last of them happens.
FY_MUST_CHECK fy_code fy_sim_ready(fy_sim *s, const fy_event *after, int n, int64_t *out_ready_ns,
                                   fy_error *err);
// Adds work of |cost_ns| to a queue (and, for a peer copy, to |other_queue| of |other|, which is
// busy for the same time). |done| may be NULL.
void fy_sim_work(fy_sim *s, fy_queue queue, fy_sim *other, fy_queue other_queue, int64_t ready_ns,
                 double cost_ns, const char *name, uint64_t bytes, fy_event *done);
// The moment when all that is on |queue| so far, and |ready_ns|, is over.
void fy_sim_mark(fy_sim *s, fy_queue queue, int64_t ready_ns, fy_event *done);
int fy_sim_wait(fy_device *d, const fy_event *event, fy_error *err);

// sim_launch.c
int fy_sim_launch(fy_device *d, fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                  fy_event *done, fy_error *err);

#endif

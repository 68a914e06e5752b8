// SPDX-License-Identifier: Apache-2.0
// sim.h: what tests and reports may ask a simulated GPU beyond the device contract.
// The device itself is reached like any other, through ferry/device.h.

#ifndef FY_DEVICES_SIM_SIM_H
#define FY_DEVICES_SIM_SIM_H

#include "ferry/device.h"

// One piece of work on one queue, in virtual time.
typedef struct fy_sim_entry {
  fy_queue queue;
  int64_t start_ns, end_ns;
  uint64_t bytes;  // moved by a copy; read and written by a kernel
  char name[64];   // node, or MemcpyHToD, MemcpyDToH, MemcpyDToD
} fy_sim_entry;

bool fy_sim_is(const fy_device *d);
// The newest entries, at most |max|, oldest of them first; returns how many. 4096 are kept.
size_t fy_sim_log(fy_device *d, fy_sim_entry *out, size_t max);
uint64_t fy_sim_log_total(fy_device *d);  // entries ever made
int64_t fy_sim_now_ns(fy_device *d);      // when its last queue falls idle
// Bytes of real memory behind the device now (what has been touched and not freed).
uint64_t fy_sim_resident_bytes(fy_device *d);

#endif

// SPDX-License-Identifier: Apache-2.0
// registry.h: which Ferry processes of this user are on this machine and what they hold of each device.
// One file in shared memory with a slot per process. A slot whose process is gone (killed or not) is
// free for the next one: nothing has to be cleaned up. FERRY_REGISTRY=off: not seen, FERRY_REGISTRY=
// /path: another file.

#ifndef FY_MEMORY_REGISTRY_H
#define FY_MEMORY_REGISTRY_H

#include "ferry/device.h"

#include <sys/types.h>

#define FY_REGISTRY_SLOTS   64
#define FY_REGISTRY_DEVICES 16

typedef struct fy_registry_device {
  char name[24];  // "GPU:0"
  char backend[16];
  uint64_t in_use, peak, reserved, limit;
} fy_registry_device;

typedef struct fy_registry_process {
  pid_t pid;
  char name[32];  // of the program
  int64_t since_ns;
  double cpu_share;  // of one core, since it started
  int num_devices;
  fy_registry_device devices[FY_REGISTRY_DEVICES];
} fy_registry_process;

// Tells what this process holds of |devices| now. Cheap enough for whenever memory is taken or given
// back, not for every run. Never fails: a registry that cannot be had is not there.
void fy_registry_update(fy_device *const *devices, int n);
// The living processes, this one too if it registered; returns how many, at most |max|.
int fy_registry_list(fy_registry_process *out, int max);

#endif

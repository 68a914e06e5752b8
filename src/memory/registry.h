// SPDX-License-Identifier: Apache-2.0
// registry.h: which Ferry processes of this user are on this machine, what they hold of each device and
// how busy they keep it. One file in shared memory with a slot per process. A slot whose process is gone
// (killed or not) is free for the next one: nothing has to be cleaned up. FERRY_REGISTRY=off: not seen,
// FERRY_REGISTRY=/path: another file.
//
// A device whose facts name what is |shared| is one memory for all processes that name the same: before a
// pool takes memory from such a device it asks here, so that together they never take more than there is.

#ifndef FY_MEMORY_REGISTRY_H
#define FY_MEMORY_REGISTRY_H

#include "base/status.h"
#include "ferry/device.h"

#include <sys/types.h>

#define FY_REGISTRY_SLOTS   64
#define FY_REGISTRY_DEVICES 16

typedef struct fy_registry_device {
  char name[24];  // "GPU:0"; "": none
  char backend[16];
  char shared[40];
  uint64_t in_use, peak, reserved, limit, total;
  double busy;  // share of about the last second, 0..1
} fy_registry_device;

typedef struct fy_registry_process {
  pid_t pid;
  char name[32];     // of the program
  double cpu_share;  // of one core, since it started
  int num_devices;
  fy_registry_device devices[FY_REGISTRY_DEVICES];
} fy_registry_process;

// The living processes, this one too if it registered; returns how many, at most |max|.
int fy_registry_list(fy_registry_process *out, int max);

// What other processes have of the memory and the time of a shared device.
typedef struct fy_others {
  int processes;
  uint64_t bytes;
  double busy;    // 0..0.99
  char who[128];  // "process 1234 (trainer), 512.0MiB, 80 % busy, and 2 more"
} fy_others;
void fy_registry_others(const fy_device *d, fy_others *out);

// --- this process ---

// One device as this process uses it: several pools may belong to one account.
typedef struct fy_account fy_account;
struct fy_mempool;
fy_account *fy_account_open(const fy_device *d, struct fy_mempool *pool);  // NULL: memory is short
void fy_account_close(fy_account *a, struct fy_mempool *pool);
// Before and after the device's memory is taken and given back. False, with a reason: other processes
// have so much of it that |bytes| more do not fit.
bool fy_account_take(fy_account *a, uint64_t bytes, fy_error *why);
void fy_account_give(fy_account *a, uint64_t bytes);
void fy_account_busy(fy_account *a, int64_t ns);  // the device worked so long for this process

// Tells the others what this process holds now. Cheap enough for whenever memory is taken or given back.
// Never fails: a registry that cannot be had is not there.
void fy_registry_update(void);
// The same after a run, if the last time is a while ago. True: somebody was just refused memory of a
// shared device, so what lies idle should be given back.
bool fy_registry_tick(void);

#endif

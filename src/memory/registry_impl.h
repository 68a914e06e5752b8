// SPDX-License-Identifier: Apache-2.0
// registry_impl.h: the shared file, as registry.c (reads it) and account.c (writes this process's part) see
// it. The file is locked (flock) while memory of a shared device is taken: a lock that a killed process
// cannot leave behind.

#ifndef FY_MEMORY_REGISTRY_IMPL_H
#define FY_MEMORY_REGISTRY_IMPL_H

#include <stdatomic.h>

#include "memory/registry.h"

#define FY_REGISTRY_LAYOUT 3

typedef struct fy_registry_entry {  // one device of one process
  atomic_uint version;              // odd while |what| is written
  fy_registry_device what;          // |reserved| and |busy| are below
  atomic_uint_least64_t reserved;
  atomic_uint_least64_t busy_ns;  // since |since_ns[0]| of the first window
  // Two beginnings of windows, the older first: what happened since is what counts.
  atomic_int_least64_t since_ns[2];
  atomic_uint_least64_t since_busy[2];
} fy_registry_entry;

typedef struct fy_registry_slot {
  atomic_int pid;              // 0: free
  atomic_uint_least64_t born;  // when the process started, in the kernel's ticks: pids come again
  char name[32];
  fy_registry_entry devices[FY_REGISTRY_DEVICES];
} fy_registry_slot;

typedef struct fy_registry_table {
  atomic_uint_least64_t magic;
  atomic_int_least64_t refused_ns;  // when somebody was refused memory last, and who
  atomic_int refused_pid;
  fy_registry_slot slots[FY_REGISTRY_SLOTS];
} fy_registry_table;

// All with fy_registry_lock held.
fy_registry_table *fy_registry_open(void);  // NULL: there is none
fy_registry_slot *fy_registry_mine(void);   // this process's, taken at the first call; NULL if none
bool fy_registry_alive(const fy_registry_slot *s, uint64_t *out_ticks);
void fy_registry_read(const fy_registry_entry *e,
                      fy_registry_device *out);  // "" name: nothing there
bool fy_registry_file_lock(void);                // of all processes; false: could not
void fy_registry_file_unlock(void);
void fy_registry_hold(void);  // of this process's threads
void fy_registry_let_go(void);

#endif

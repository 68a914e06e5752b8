// SPDX-License-Identifier: Apache-2.0
// mapping_impl.h: what mapping.c (files, tensors) and mapping_guard.c (leases) share.

#ifndef FY_WIRE_MAPPING_IMPL_H
#define FY_WIRE_MAPPING_IMPL_H

#include <sys/types.h>

#include "base/thread.h"
#include "wire/mapping.h"

#define FY_PAGE ((size_t)4096)

typedef struct fy_wire_range fy_wire_range;
struct fy_wire_range {  // bytes that somebody reads
  fy_wire_mapping *of;
  size_t offset, bytes;
  bool tensor;  // else a view
  fy_wire_range *prev, *next;
};

struct fy_wire_mapping {
  fy_wire_mapping *prev, *next;
  char *base;
  size_t bytes;
  int fd;     // of the open file that has the lease; -1: given up, the memory is our own
  pid_t pid;  // that took it: a fork has the mapping, too, but no thread that looks after it
  bool open;  // its loader has not closed it
  int tries;  // to make the memory our own
  fy_wire_range *ranges;
};

extern fy_mutex fy_mappings_mu;  // guards all that is here
extern fy_wire_mapping *fy_mappings;
extern size_t fy_mappings_moved_files, fy_mappings_moved_bytes;

// Takes a read lease on |fd|, watched by our thread. NULL, or why not. With the lock held.
const char *fy_lease_take(int fd);
void fy_lease_drop(const fy_wire_mapping *m);

#endif

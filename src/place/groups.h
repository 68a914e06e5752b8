// SPDX-License-Identifier: Apache-2.0
// groups.h: nodes that must share a device, as a union-find (SEMANTICS §2.2): what each group was asked
// for, and which devices could run all of its members. Private to place/.

#ifndef FY_PLACE_GROUPS_H
#define FY_PLACE_GROUPS_H

#include "place/device_name.h"
#include "place/place.h"

__extension__ typedef unsigned __int128 fy_devmask;  // bit per device of the set
#define FY_PLACE_MAX_DEVICES 128

typedef struct fy_group {
  uint32_t parent;  // by node id; a root is its own parent
  uint32_t size;
  fy_devname requested;  // merged request of the members
  fy_devname resource;   // requested by a resource's owner: never overridden
  bool has_resource;
  fy_devmask supported;  // devices that have a kernel for every member
  uint32_t by;           // node whose request (or limits) decided, for the reason
  uint32_t bound_by;     // member through which the group came to be (resource edge or _class)
  bool through_resource;
  fy_device *assigned;  // once a member is placed
} fy_group;

typedef struct fy_groups {
  const fy_graph *g;
  const fy_device_set *set;
  fy_group *items;  // by node id
  bool soft;
  fy_imap kernels;  // (op, types) -> index into masks
  fy_devmask *masks;
  size_t num_masks, cap_masks;
  fy_arena arena;
} fy_groups;

FY_MUST_CHECK fy_code fy_groups_build(fy_groups *gr, const fy_graph *g, const fy_device_set *set,
                                      bool soft, fy_error *err);
void fy_groups_free(fy_groups *gr);
uint32_t fy_groups_root(fy_groups *gr, uint32_t id);
// Devices of the set that match a (partial) name.
fy_devmask fy_groups_matching(const fy_groups *gr, const fy_devname *name);
// Candidates of the group of node |id| in the order of preference; |*soft_fallback| tells that the
// request was not honoured. Fails with the texts of SEMANTICS §2.5.
FY_MUST_CHECK fy_code fy_groups_candidates(fy_groups *gr, uint32_t id, fy_devmask *out,
                                           bool *soft_fallback, fy_error *err);
// The first device of |mask|: GPUs before CPUs, then by name.
fy_device *fy_groups_first(const fy_groups *gr, fy_devmask mask);
const char *fy_groups_short_name(const fy_device *d);  // "GPU:0"
void fy_groups_debug(fy_groups *gr, uint32_t id, fy_str *out);

#endif

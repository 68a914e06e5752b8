// SPDX-License-Identifier: Apache-2.0
// device_name.h: TensorFlow's device names: parse, print, compare, merge (SEMANTICS §1).

#ifndef FY_PLACE_DEVICE_NAME_H
#define FY_PLACE_DEVICE_NAME_H

#include "base/status.h"
#include "base/str.h"

typedef struct fy_devname {
  bool has_job, has_replica, has_task, has_type, has_id;
  char job[64], type[32];
  int replica, task, id;
} fy_devname;

bool fy_devname_parse(const char *text, fy_devname *out);  // full names; "" and "/" are all-absent
bool fy_devname_parse_local(const char *text, fy_devname *out);  // "CPU:0", "gpu:1"
void fy_devname_print(fy_str *out, const fy_devname *d);
bool fy_devname_is_specification(const fy_devname *less, const fy_devname *more);
// Merges |other| into |target|; error texts of TensorFlow. |soft|: conflicting type/id are cleared.
FY_MUST_CHECK fy_code fy_devname_merge(fy_devname *target, const fy_devname *other, bool soft,
                                       fy_error *err);
void fy_devname_merge_override(fy_devname *target, const fy_devname *other);
void fy_devname_merge_unset(fy_devname *target, const fy_devname *other);
void fy_devname_ensure(fy_devname *more, const fy_devname *less);
const char *fy_devname_short(const char *full);  // "GPU:0" of "/job:…/device:GPU:0"
// "GPU:1" or any partial name completed from a full |base| name. False if unparsable.
bool fy_devname_canonical(const char *text, const char *base, fy_str *out);

#endif

// SPDX-License-Identifier: Apache-2.0
// devices.h: open the devices that a configuration asks for; say what each backend can do here.

#ifndef FY_DEVICES_DEVICES_H
#define FY_DEVICES_DEVICES_H

#include "base/options.h"
#include "place/place.h"

// Opens CPU devices (always at least CPU:0) and whatever GPUs exist or are simulated, in
// TensorFlow's order. Allocates no device memory. The set has one reference.
FY_MUST_CHECK fy_code fy_devices_open(const fy_options *options, fy_device_set **out,
                                      fy_error *err);
fy_device_set *fy_devices_ref(fy_device_set *set);
void fy_devices_unref(fy_device_set *set);  // the last one closes: memory goes back, threads end
// The set that |d|, which is open, belongs to, with a reference: for memory that may outlive whoever
// opened the device.
fy_device_set *fy_devices_set_of(const fy_device *d);
// By full or local name ("GPU:1") with type and number; NULL if none.
fy_device *fy_devices_find(const fy_device_set *set, const char *name);

// For backends: takes |d|, whose ops, type, is_host, dedicated, pool and impl are set, into |set|:
// gives it its index, name, ordinal, incarnation, facts, and a memory pool of |limit_bytes| (0 = no
// limit). On failure the caller still owns |d|.
FY_MUST_CHECK fy_code fy_devices_add(fy_device_set *set, fy_device *d, uint64_t limit_bytes,
                                     fy_error *err);

typedef struct fy_backend {
  const char *name;  // "cpu", "sim", "opencl", "cuda"
  const char *what;
  // Adds the devices it offers under |options| by fy_devices_add. One that cannot be used adds
  // none. close() of a device frees the fy_device too.
  fy_code (*open)(const fy_options *options, fy_device_set *set, fy_error *err);
  // One sentence: usable (what was found) or exactly why not (library looked for, dlerror, driver
  // code).
  bool (*probe)(const fy_options *options, fy_str *report);
} fy_backend;
extern const fy_backend *const fy_backends[];  // from backends.inc
extern const size_t fy_backend_count;

#endif

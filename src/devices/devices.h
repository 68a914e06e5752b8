// SPDX-License-Identifier: Apache-2.0
// devices.h: open the devices that a configuration asks for; say what each backend can do here.

#ifndef FY_DEVICES_DEVICES_H
#define FY_DEVICES_DEVICES_H

#include "base/options.h"
#include "place/place.h"

// Opens CPU devices (always at least CPU:0) and whatever GPUs exist or are simulated, in TensorFlow's
// order. Allocates no device memory. The set has one reference.
FY_MUST_CHECK fy_code fy_devices_open(const fy_options *options, fy_device_set **out, fy_error *err);
fy_device_set *fy_devices_ref(fy_device_set *set);
void fy_devices_unref(fy_device_set *set);  // the last one closes: memory goes back, threads end
fy_device *fy_devices_find(const fy_device_set *set, const char *name);  // full or local; NULL if none

typedef struct fy_backend {
  const char *name;  // "cpu", "sim", "opencl", "cuda"
  const char *what;
  // Appends the devices it offers under |options|. A backend that cannot be used adds none.
  fy_code (*open)(const fy_options *options, fy_device_set *set, fy_error *err);
  // One sentence: usable (what was found) or exactly why not (library looked for, dlerror, driver code).
  bool (*probe)(const fy_options *options, fy_str *report);
} fy_backend;
extern const fy_backend *const fy_backends[];  // from backends.inc
extern const size_t fy_backend_count;

#endif

// SPDX-License-Identifier: Apache-2.0
// cuda_probe.c: what NVIDIA's libraries offer on this machine, for `ferry doctor`. No devices yet.

#include <dlfcn.h>
#include <stdio.h>

#include "devices/devices.h"

#define DRIVER   "libcuda.so.1"
#define SEARCHED "LD_LIBRARY_PATH, the loader's cache, /lib and /usr/lib"

// Adds "libnvrtc.so.12" of the first name that opens, or that none does. C++ libraries stay mapped:
// they do not unload cleanly.
static void report_library(const char *what, const char *const *names, fy_str *out) {
  for (int i = 0; names[i]; i++) {
    void *lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib) continue;
    dlclose(lib);
    fy_str_printf(out, "; %s found", names[i]);
    return;
  }
  fy_str_printf(out, "; no %s", what);
}

static void report_toolkit(fy_str *out) {
  static const char *const cudart[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                       "libcudart.so", NULL};
  static const char *const nvrtc[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                      "libnvrtc.so", NULL};
  static const char *const cudnn[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", NULL};
  report_library("libcudart", cudart, out);
  report_library("libnvrtc", nvrtc, out);
  report_library("libcudnn", cudnn, out);
}

// Asks an opened driver; it stays open, as its own threads may outlive a dlclose.
static void report_driver(void *lib, fy_str *out) {
  int (*init)(unsigned flags), (*version)(int *out), (*count)(int *out), (*get)(int *out, int i);
  int (*name)(char *out, int size, int device);
  int (*describe)(int code, const char **out);
  *(void **)&init = dlsym(lib, "cuInit");
  *(void **)&version = dlsym(lib, "cuDriverGetVersion");
  *(void **)&count = dlsym(lib, "cuDeviceGetCount");
  *(void **)&get = dlsym(lib, "cuDeviceGet");
  *(void **)&name = dlsym(lib, "cuDeviceGetName");
  *(void **)&describe = dlsym(lib, "cuGetErrorString");
  if (!init || !version || !count || !get || !name) {
    fy_str_add(out, DRIVER " was found but lacks functions of the driver API");
    return;
  }
  int v = 0, n = 0, code = init(0);
  const char *text = NULL;
  if (code) {
    if (describe) describe(code, &text);
    fy_str_printf(out, DRIVER " found, but cuInit fails with code %d (%s)", code,
                  text ? text : "no text");
    return;
  }
  version(&v);
  count(&n);
  fy_str_printf(out, DRIVER " found, driver for CUDA %d.%d, %d device%s", v / 1000, v % 1000 / 10,
                n, n == 1 ? "" : "s");
  for (int i = 0; i < n; i++) {
    char text_name[128] = "?";
    int device;
    if (get(&device, i) == 0) name(text_name, (int)sizeof text_name - 1, device);
    fy_str_printf(out, ", '%s'", text_name);
  }
  if (n > 0) fy_str_add(out, "; kernels for this backend arrive with a later release");
}

static bool cuda_probe(const fy_options *options, fy_str *out) {
  (void)options;
  void *lib = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (lib) {
    report_driver(lib, out);
  } else {
    const char *why = dlerror();
    fy_str_printf(out,
                  DRIVER " not found: %s; no NVIDIA driver on this machine; looked in " SEARCHED,
                  why ? why : "unknown reason");
  }
  report_toolkit(out);
  return false;
}

static fy_code cuda_open(const fy_options *options, fy_device_set *set, fy_error *err) {
  (void)options, (void)set, (void)err;
  return FY_OK;
}

const fy_backend fy_backend_cuda = {"cuda", "NVIDIA GPUs", cuda_open, cuda_probe};

// SPDX-License-Identifier: Apache-2.0
// opencl_probe.c: what OpenCL offers on this machine, for `ferry doctor`. No devices yet.
// The library is opened at run time and four of its functions are asked; their types are written
// out here, so that building needs no OpenCL headers.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "devices/devices.h"

#define LIBRARY            "libOpenCL.so.1"
#define MAX_IDS            16
#define PLATFORM_VERSION   0x0901
#define PLATFORM_NAME      0x0902
#define DEVICE_TYPE        0x1000
#define DEVICE_NAME        0x102B
#define DRIVER_VERSION     0x102D
#define DEVICE_TYPE_ALL    0xFFFFFFFFull
#define TYPE_CPU           2ull
#define TYPE_GPU           4ull
#define PLATFORM_NOT_FOUND (-1001)
#define DEVICE_NOT_FOUND   (-1)

typedef struct opencl {
  int32_t (*platforms)(uint32_t max, void **out, uint32_t *n);
  int32_t (*platform_info)(void *platform, uint32_t what, size_t size, void *out, size_t *used);
  int32_t (*devices)(void *platform, uint64_t type, uint32_t max, void **out, uint32_t *n);
  int32_t (*device_info)(void *device, uint32_t what, size_t size, void *out, size_t *used);
} opencl;

// Never closed again: ICD loaders and their drivers start threads that do not survive dlclose.
static bool load(opencl *cl, fy_str *out) {
  void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    const char *why = dlerror();
    fy_str_printf(out,
                  LIBRARY
                  " not found: %s; no OpenCL loader on this machine (Debian: "
                  "ocl-icd-libopencl1)",
                  why ? why : "unknown reason");
    return false;
  }
  *(void **)&cl->platforms = dlsym(lib, "clGetPlatformIDs");
  *(void **)&cl->platform_info = dlsym(lib, "clGetPlatformInfo");
  *(void **)&cl->devices = dlsym(lib, "clGetDeviceIDs");
  *(void **)&cl->device_info = dlsym(lib, "clGetDeviceInfo");
  if (cl->platforms && cl->platform_info && cl->devices && cl->device_info) return true;
  fy_str_add(out, LIBRARY " was found but lacks the functions of OpenCL 1.0");
  return false;
}

static const char *platform_text(const opencl *cl, void *platform, uint32_t what, char *buf,
                                 size_t size) {
  if (cl->platform_info(platform, what, size - 1, buf, NULL)) snprintf(buf, size, "?");
  buf[size - 1] = 0;
  return buf;
}

static void report_device(const opencl *cl, void *device, fy_str *out) {
  char name[160] = "?", driver[96] = "?";
  uint64_t type = 0;
  if (cl->device_info(device, DEVICE_NAME, sizeof name - 1, name, NULL)) name[0] = '?', name[1] = 0;
  if (cl->device_info(device, DRIVER_VERSION, sizeof driver - 1, driver, NULL)) driver[1] = 0;
  (void)cl->device_info(device, DEVICE_TYPE, sizeof type, &type, NULL);
  const char *kind = type & TYPE_GPU ? "GPU" : type & TYPE_CPU ? "CPU" : "other";
  fy_str_printf(out, ", device '%s' (%s, driver %s)", name, kind, driver);
}

static bool opencl_probe(const fy_options *options, fy_str *out) {
  opencl cl;
  void *platforms[MAX_IDS];
  uint32_t n = 0;
  (void)options;
  if (!load(&cl, out)) return false;
  int32_t code = cl.platforms(MAX_IDS, platforms, &n);
  if (code || n == 0) {
    fy_str_printf(out,
                  LIBRARY
                  " is there, but offers no platform (clGetPlatformIDs: %d%s); "
                  "looked in /etc/OpenCL/vendors",
                  (int)code, code == PLATFORM_NOT_FOUND ? ", no ICD installed" : "");
    return false;
  }
  for (uint32_t i = 0; i < n && i < MAX_IDS; i++) {
    char version[512] = "", name[160] = "";
    void *devices[MAX_IDS];
    uint32_t num = 0;
    platform_text(&cl, platforms[i], PLATFORM_VERSION, version, sizeof version);
    platform_text(&cl, platforms[i], PLATFORM_NAME, name, sizeof name);
    size_t words = strcspn(version, " ");  // "OpenCL 3.0 <vendor's own>"
    words += strcspn(version + words + (version[words] == ' '), " ") + (version[words] == ' ');
    version[words] = 0;
    fy_str_printf(out, "%s%s platform '%s'", i ? "; " : "", version, name);
    code = cl.devices(platforms[i], DEVICE_TYPE_ALL, MAX_IDS, devices, &num);
    if (code || num == 0) {
      fy_str_printf(out, " without devices (clGetDeviceIDs: %d%s)", (int)code,
                    code == DEVICE_NOT_FOUND ? ", none found" : "");
    }
    for (uint32_t k = 0; !code && k < num && k < MAX_IDS; k++) report_device(&cl, devices[k], out);
  }
  fy_str_add(out, ": found; kernels for this backend arrive with a later release");
  return false;
}

static fy_code opencl_open(const fy_options *options, fy_device_set *set, fy_error *err) {
  (void)options, (void)set, (void)err;
  return FY_OK;
}

const fy_backend fy_backend_opencl = {"opencl", "OpenCL devices", opencl_open, opencl_probe};

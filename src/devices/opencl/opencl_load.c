// SPDX-License-Identifier: Apache-2.0
// opencl_load.c: opens the OpenCL loader once and finds its functions.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <dlfcn.h>
#include <stdio.h>

#define LIBRARY "libOpenCL.so.1"

static fy_cl functions;
static bool loaded;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Never closed again: drivers start threads that do not survive dlclose, and libraries keep what they
// compiled for as long as the process lives.
void *fy_ocl_library(const char *name, const char *package, char *out, size_t n) {
  void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const char *why = lib ? NULL : dlerror();
  if (!lib)
    snprintf(out, n, "%s not found: %.120s (Debian: %s)", name, why ? why : "unknown reason",
             package);
  return lib;
}

static void load(void) {
  void *lib = fy_ocl_library(LIBRARY, "ocl-icd-libopencl1", reason, sizeof reason);
  if (!lib) return;
#define X(name)                                                                                \
  if (!(*(void **)&functions.name = dlsym(lib, "cl" #name))) {                                 \
    snprintf(reason, sizeof reason, LIBRARY " was found but lacks cl" #name " of OpenCL 1.2"); \
    return;                                                                                    \
  }
  FY_CL_FUNCTIONS(X)
#undef X
  loaded = true;
}

const fy_cl *fy_cl_load(fy_str *why) {
  pthread_once(&once, load);
  if (!loaded && why) fy_str_add(why, reason);
  return loaded ? &functions : NULL;
}

const char *fy_cl_error_name(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_FOUND: return "no such device";
    case CL_DEVICE_NOT_AVAILABLE: return "the device is not available";
    case CL_COMPILER_NOT_AVAILABLE: return "no compiler";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "the device has no memory for it";
    case CL_OUT_OF_RESOURCES: return "out of resources";
    case CL_OUT_OF_HOST_MEMORY: return "out of host memory";
    case CL_BUILD_PROGRAM_FAILURE: return "the program does not compile";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return "something it waited for failed";
    case CL_INVALID_BUFFER_SIZE: return "invalid buffer size";
    case CL_INVALID_BINARY: return "invalid program binary";
    case CL_INVALID_KERNEL_NAME: return "no such kernel";
    case CL_INVALID_KERNEL_ARGS: return "invalid kernel arguments";
    case CL_INVALID_ARG_SIZE: return "invalid size of a kernel argument";
    case CL_INVALID_WORK_GROUP_SIZE: return "invalid work group size";
    case CL_INVALID_VALUE: return "invalid value";
    case CL_INVALID_COMMAND_QUEUE: return "the queue is invalid: the device is lost";
    case CL_INVALID_CONTEXT: return "the context is invalid: the device is lost";
    case -1001: return "no platform: no ICD is installed";
    default: return "see CL/cl.h";
  }
}

#else
typedef int fy_opencl_load_is_empty;
#endif

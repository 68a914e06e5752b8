// SPDX-License-Identifier: Apache-2.0
// opencl.c: OpenCL devices: which there are, what they are, opening and closing them.
//
// GPUs are devices as they are found. A CPU under OpenCL (PoCL) computes no faster than our own
// kernels and shares our memory, so it is a device only when asked for (FERRY_OPENCL_CPU=1 or the
// option opencl_cpu), for tests; then it is called GPU:n and its description says what it is.
// Opening asks for names and sizes only: context, queues and memory come with the first use.

#include "devices/opencl/opencl_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices/opencl/opencl.h"

#ifdef FY_OPENCL

#include "base/alloc.h"

#define MAX_IDS 16

fy_code fy_ocl_fail(const fy_ocl *o, const char *what, cl_int code, fy_error *err) {
  fy_code as = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
                       code == CL_OUT_OF_RESOURCES
                   ? FY_RESOURCE_EXHAUSTED
               : code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_COMMAND_QUEUE ||
                       code == CL_INVALID_CONTEXT  // what drivers say of a device that is gone
                   ? FY_UNAVAILABLE
                   : FY_INTERNAL;
  return fy_fail(err, as, "%s (%s): %s failed: OpenCL error %d, %s", o->device->name, o->name, what,
                 (int)code, fy_cl_error_name(code));
}

// --- facts ---

static void ask_text(const fy_cl *cl, cl_device_id id, cl_device_info what, char *out, size_t n) {
  out[0] = 0;
  if (cl->GetDeviceInfo(id, what, n - 1, out, NULL)) snprintf(out, n, "?");
  out[n - 1] = 0;
}

static bool ask_facts(fy_ocl *o) {
  const fy_cl *cl = o->cl;
  cl_device_type type = 0;
  cl_bool unified = CL_FALSE, available = CL_TRUE, compiler = CL_TRUE;
  cl_device_fp_config doubles = 0, floats = 0;
  ask_text(cl, o->id, CL_DEVICE_NAME, o->name, sizeof o->name);
  ask_text(cl, o->id, CL_DRIVER_VERSION, o->driver, sizeof o->driver);
  ask_text(cl, o->id, CL_DEVICE_VERSION, o->version, sizeof o->version);
  if (cl->GetPlatformInfo(o->platform, CL_PLATFORM_NAME, sizeof o->platform_name - 1,
                          o->platform_name, NULL))
    snprintf(o->platform_name, sizeof o->platform_name, "?");
#define ASK(what, field) (void)cl->GetDeviceInfo(o->id, what, sizeof(field), &(field), NULL)
  ASK(CL_DEVICE_TYPE, type);
  ASK(CL_DEVICE_HOST_UNIFIED_MEMORY, unified);
  ASK(CL_DEVICE_AVAILABLE, available);
  ASK(CL_DEVICE_COMPILER_AVAILABLE, compiler);
  ASK(CL_DEVICE_DOUBLE_FP_CONFIG, doubles);
  ASK(CL_DEVICE_SINGLE_FP_CONFIG, floats);
  ASK(CL_DEVICE_MAX_COMPUTE_UNITS, o->units);
  ASK(CL_DEVICE_MAX_CLOCK_FREQUENCY, o->clock_mhz);
  ASK(CL_DEVICE_GLOBAL_MEM_SIZE, o->memory_bytes);
  ASK(CL_DEVICE_MAX_MEM_ALLOC_SIZE, o->max_alloc);
  ASK(CL_DEVICE_LOCAL_MEM_SIZE, o->local_bytes);
  ASK(CL_DEVICE_MAX_WORK_GROUP_SIZE, o->max_group);
#undef ASK
  o->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  o->unified = o->is_cpu || unified;
  o->has_double = doubles != 0;
  o->correct_division = (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  return available && compiler && o->memory_bytes > 0 && o->max_group >= 256;
}

static void ocl_info(fy_device *d, fy_device_info *out) {
  const fy_ocl *o = fy_ocl_of(d);
  char memory[32];
  memset(out, 0, sizeof *out);
  fy_human_bytes((double)o->limit_bytes, memory);
  snprintf(out->description, sizeof out->description,
           "OpenCL %s: %.50s, %u units at %u MHz, %s (%.24s)",
           o->is_cpu ? "on the CPU, no GPU" : "GPU", o->name, o->units, o->clock_mhz, memory,
           o->platform_name);
  snprintf(out->physical, sizeof out->physical, "device: 0, name: %.60s, OpenCL driver: %.30s",
           o->name, o->driver);
  out->memory_total = o->memory_bytes;
  out->memory_limit = o->limit_bytes;
  // Modelled: lanes per unit are not told; 8 (a CPU's) or 64 (a GPU's) multiply-adds per cycle.
  out->flops = (double)o->units * o->clock_mhz * 1e6 * (o->is_cpu ? 4 : 128);
  out->memory_bytes_per_s = o->is_cpu ? 8e9 : 200e9;
  out->link_bytes_per_s = o->unified ? 8e9 : 10e9;
  out->link_latency_ns = 20e3;
  out->launch_ns = o->is_cpu ? 30e3 : 8e3;
  // The loader lists a machine's devices in the same order to every process.
  snprintf(out->shared, sizeof out->shared, "opencl:%d:%016llx", o->number,
           (unsigned long long)fy_hash64(o->name, strlen(o->name), 0));
}

// --- opening and closing ---

fy_code fy_ocl_open_context(fy_ocl *o, fy_error *err) {
  cl_int code = CL_SUCCESS;
  fy_code result = FY_OK;
  fy_lock(&o->lock);
  if (!o->context) {
    cl_context_properties with[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)o->platform, 0};
    cl_context context = o->cl->CreateContext(with, 1, &o->id, NULL, NULL, &code);
    if (!context) {
      result = fy_ocl_fail(o, "making a context", code, err);
    } else {
      for (int i = 0; i < FY_QUEUES && !result; i++) {
        o->queues[i].queue = o->cl->CreateCommandQueue(context, o->id, 0, &code);
        if (!o->queues[i].queue) result = fy_ocl_fail(o, "making a queue", code, err);
      }
      for (int i = 0; i < FY_QUEUES && result; i++) {
        if (o->queues[i].queue) o->cl->ReleaseCommandQueue(o->queues[i].queue);
        o->queues[i].queue = NULL;
      }
      if (result)
        o->cl->ReleaseContext(context);
      else
        o->context = context;
    }
  }
  fy_unlock(&o->lock);
  return result;
}

static void ocl_close(fy_device *d) {
  fy_ocl *o = d->impl;
  if (o->context) {
    for (int i = 0; i < FY_QUEUES; i++) {
      fy_ocl_queue *q = &o->queues[i];
      (void)o->cl->Finish(q->queue);
      for (size_t k = 0; k < q->num; k++) o->cl->ReleaseEvent(q->work[q->first + k].event);
      fy_free(q->work);
    }
    fy_ocl_release_programs(o);
    fy_ocl_release_stages(o);
    fy_ocl_release_memory(o);
    for (int i = 0; i < FY_QUEUES; i++) o->cl->ReleaseCommandQueue(o->queues[i].queue);
    o->cl->ReleaseContext(o->context);
  }
  fy_mutex_destroy(&o->lock);
  fy_mutex_destroy(&o->build_lock);
  fy_free(o);
  fy_free(d);
}

static const fy_device_ops ocl_ops = {
    .backend = "opencl",
    .close = ocl_close,
    .info = ocl_info,
    .alloc = fy_ocl_alloc,
    .free = fy_ocl_free,
    .copy = fy_ocl_copy,
    .launch = fy_ocl_launch,
    .wait = fy_ocl_wait,
    .supports = fy_ocl_supports,
};

bool fy_opencl_is(const fy_device *d) {
  return d->ops == &ocl_ops;
}

void fy_opencl_stats_get(const fy_device *d, fy_opencl_stats *out) {
  fy_ocl *o = fy_ocl_of(d);
  *out = (fy_opencl_stats){o->launches,      o->detours,   o->builds,    o->cache_hits,
                           o->library_gemms, o->copies_in, o->copies_out};
}

bool fy_opencl_export(const fy_device *d, const void *p, void **mem, size_t *offset) {
  if (!fy_opencl_is(d)) return false;
  fy_ocl *o = fy_ocl_of(d);
  cl_mem found = NULL;
  fy_lock(&o->lock);
  bool ours = fy_ocl_resolve(o, p, 1, &found, offset);
  fy_unlock(&o->lock);
  *mem = found;
  return ours;
}

bool fy_opencl_import(const fy_device *d, const void *mem, size_t offset, void **p) {
  if (!fy_opencl_is(d)) return false;
  fy_ocl *o = fy_ocl_of(d);
  *p = NULL;
  fy_lock(&o->lock);
  for (size_t i = 0; i < o->num_blocks && !*p; i++)
    if (o->blocks[i].mem == mem && offset < o->blocks[i].bytes) *p = o->blocks[i].begin + offset;
  fy_unlock(&o->lock);
  return *p != NULL;
}

void fy_opencl_set_staging(fy_device *d, fy_opencl_staging how) {
  fy_ocl_of(d)->staging = (int)how;
}

bool fy_opencl_shares_memory(const fy_device *d) {
  return fy_opencl_is(d) && fy_ocl_of(d)->unified;
}

// --- finding ---

typedef struct found {
  cl_platform_id platform;
  cl_device_id id;
} found;

static int find_all(const fy_cl *cl, found *out, int max) {
  cl_platform_id platforms[MAX_IDS];
  cl_uint n = 0;
  int total = 0;
  if (cl->GetPlatformIDs(MAX_IDS, platforms, &n)) return 0;
  for (cl_uint i = 0; i < n && i < MAX_IDS; i++) {
    cl_device_id ids[MAX_IDS];
    cl_uint num = 0;
    if (cl->GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_IDS, ids, &num)) continue;
    for (cl_uint k = 0; k < num && k < MAX_IDS && total < max; k++)
      out[total++] = (found){platforms[i], ids[k]};
  }
  return total;
}

static bool is_wanted(const fy_options *options, const fy_ocl *o, cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return true;
  return options->opencl_cpu && o->is_cpu;
}

static int count_gpus(const fy_device_set *set) {
  int n = 0;
  for (int i = 0; i < set->n; i++) n += strcmp(set->items[i]->type, "GPU") == 0;
  return n;
}

// Leave the host what it needs where memory is shared.
static uint64_t limit_of(const fy_options *options, const fy_ocl *o) {
  uint64_t limit = o->memory_bytes;
  if (o->unified) limit = limit / 4 * 3;
  if (options->memory_fraction > 0)
    limit = (uint64_t)((double)o->memory_bytes * options->memory_fraction);
  if (options->gpu_memory_limit && options->gpu_memory_limit < limit)
    limit = options->gpu_memory_limit;
  return limit;
}

static fy_code add_device(const fy_options *options, const fy_cl *cl, found f, int number,
                          fy_device_set *set, fy_error *err) {
  fy_device *d = fy_calloc(1, sizeof *d);
  fy_ocl *o = fy_calloc(1, sizeof *o);
  cl_device_type type = 0;
  if (!d || !o) {
    fy_free(d);
    fy_free(o);
    return fy_fail_oom(err, sizeof *o);
  }
  o->cl = cl;
  o->device = d;
  o->platform = f.platform;
  o->id = f.id;
  o->number = number;
  bool usable = ask_facts(o);
  (void)cl->GetDeviceInfo(f.id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  if (!usable || !is_wanted(options, o, type)) {
    fy_free(d);
    fy_free(o);
    return FY_OK;
  }
  o->limit_bytes = limit_of(options, o);
  fy_mutex_init(&o->lock);
  fy_mutex_init(&o->build_lock);
  d->ops = &ocl_ops;
  d->impl = o;
  snprintf(d->type, sizeof d->type, "GPU");
  fy_code code = fy_devices_add(set, d, o->limit_bytes, err);
  if (code) ocl_close(d);
  return code;
}

// visible_device_list names GPUs by their number, like the other backends read it.
static bool is_visible(const fy_options *options, int n) {
  const char *p = options->visible_devices;
  if (!*p) return true;
  while (*p) {
    char *end;
    long id = strtol(p, &end, 10);
    if (end == p) return false;
    if (id == n) return true;
    p = *end ? end + 1 : end;
  }
  return false;
}

static fy_code opencl_open(const fy_options *options, fy_device_set *set, fy_error *err) {
  found all[MAX_IDS];
  // A session that simulates its GPUs wants exactly those.
  if (options->sim.devices > 0 || options->gpu_devices == 0) return FY_OK;
  if (!options->opencl_cpu && access("/dev/dri", F_OK) && access("/dev/nvidiactl", F_OK) &&
      access("/dev/kfd", F_OK) && access("/dev/mali0", F_OK) && !getenv("OCL_ICD_VENDORS"))
    return FY_OK;  // no GPU's driver is loaded: do not pay for starting an ICD's
  const fy_cl *cl = fy_cl_load(NULL);
  if (!cl) return FY_OK;
  int n = find_all(cl, all, MAX_IDS);
  for (int i = 0; i < n; i++) {
    if (options->gpu_devices >= 0 && count_gpus(set) >= options->gpu_devices) break;
    if (!is_visible(options, i)) continue;
    FY_TRY(add_device(options, cl, all[i], i, set, err));
  }
  return FY_OK;
}

// --- `ferry doctor` ---

static bool opencl_probe(const fy_options *options, fy_str *out) {
  const fy_cl *cl = fy_cl_load(out);
  found all[MAX_IDS];
  int usable = 0;
  if (!cl) return false;
  int n = find_all(cl, all, MAX_IDS);
  if (n == 0) {
    fy_str_add(out,
               "libOpenCL.so.1 is there, but offers no device; looked in /etc/OpenCL/vendors "
               "(a GPU's driver brings its own; Debian's pocl-opencl-icd is one for the CPU)");
    return false;
  }
  for (int i = 0; i < n; i++) {
    fy_ocl o = {.cl = cl, .platform = all[i].platform, .id = all[i].id};
    cl_device_type type = 0;
    bool good = ask_facts(&o);
    (void)cl->GetDeviceInfo(o.id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    bool wanted = good && is_wanted(options, &o, type);
    usable += wanted;
    size_t words = strcspn(o.version, " ");
    words +=
        strcspn(o.version + words + (o.version[words] == ' '), " ") + (o.version[words] == ' ');
    fy_str_printf(out, "%s%.*s device '%s' (%s, platform '%s', driver %s): ", i ? "; " : "",
                  (int)words, o.version, o.name,
                  type & CL_DEVICE_TYPE_GPU ? "GPU"
                  : o.is_cpu                ? "CPU"
                                            : "other",
                  o.platform_name, o.driver);
    if (wanted)
      fy_str_add(out, "usable");
    else if (!good)
      fy_str_add(out, "not usable: no compiler, or not available");
    else if (o.is_cpu)
      fy_str_add(out, "found, but it is a CPU: used only when asked for (FERRY_OPENCL_CPU=1)");
    else
      fy_str_add(out, "found, but it is no GPU");
  }
  fy_str_add(out, "; CLBlast for large products: ");
  if (fy_ocl_clblast_found(out)) fy_str_add(out, "found");
  return usable > 0;
}

const fy_backend fy_backend_opencl = {"opencl", "OpenCL devices", opencl_open, opencl_probe};

#else

#include "devices/devices.h"

static fy_code opencl_open(const fy_options *options, fy_device_set *set, fy_error *err) {
  (void)options, (void)set, (void)err;
  return FY_OK;
}

static bool opencl_probe(const fy_options *options, fy_str *out) {
  (void)options;
  fy_str_add(out, "this build has no OpenCL: CL/cl.h was missing (Debian: opencl-c-headers)");
  return false;
}

bool fy_opencl_is(const fy_device *d) {
  (void)d;
  return false;
}
void fy_opencl_stats_get(const fy_device *d, fy_opencl_stats *out) {
  (void)d;
  memset(out, 0, sizeof *out);
}
bool fy_opencl_export(const fy_device *d, const void *p, void **mem, size_t *offset) {
  (void)d, (void)p, (void)mem, (void)offset;
  return false;
}
bool fy_opencl_import(const fy_device *d, const void *mem, size_t offset, void **p) {
  (void)d, (void)mem, (void)offset, (void)p;
  return false;
}
void fy_opencl_set_staging(fy_device *d, fy_opencl_staging how) {
  (void)d, (void)how;
}
bool fy_opencl_shares_memory(const fy_device *d) {
  (void)d;
  return false;
}
bool fy_opencl_elementwise_source(const char *op, fy_dtype t, fy_str *out) {
  (void)op, (void)t, (void)out;
  return false;
}
bool fy_opencl_update_source(int i, fy_str *out) {
  (void)i, (void)out;
  return false;
}
bool fy_opencl_fused_source(const struct fy_fused_program *p, fy_dtype t, fy_str *out) {
  (void)p, (void)t, (void)out;
  return false;
}
bool fy_opencl_op(int i, const char **name, const char **type_attr, uint64_t *types) {
  (void)i, (void)name, (void)type_attr, (void)types;
  return false;
}
const char *fy_opencl_source(int i) {
  (void)i;
  return NULL;
}

const fy_backend fy_backend_opencl = {"opencl", "OpenCL devices", opencl_open, opencl_probe};

#endif

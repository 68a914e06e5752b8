// SPDX-License-Identifier: Apache-2.0
// cpu_topology.c: which CPUs this process may use.
// hwloc is opened at run time: four of its functions are enough, so no header is needed to build.

#include <ctype.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "devices/cpu/cpu.h"

#define HWLOC_LIBRARY "libhwloc.so.15"

bool fy_cpu_list_has(const fy_cpu_list *list, int cpu) {
  for (int i = 0; i < list->n; i++) {
    if (list->ids[i] == cpu) return true;
  }
  return false;
}

static void scheduler_allowed(fy_cpu_list *out) {
  cpu_set_t set;
  out->n = 0;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE && out->n < FY_CPU_MAX; i++) {
      if (CPU_ISSET((size_t)i, &set)) out->ids[out->n++] = i;
    }
  }
  if (out->n == 0) out->ids[out->n++] = 0;
}

typedef struct hwloc_functions {
  void *library;
  int (*init)(void **topology);
  int (*load)(void *topology);
  void (*destroy)(void *topology);
  const void *(*allowed)(void *topology);
  int (*is_set)(const void *bitmap, unsigned id);
  unsigned (*version)(void);
} hwloc_functions;

static bool hwloc_open(hwloc_functions *f) {
  memset(f, 0, sizeof *f);
  f->library = dlopen(HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!f->library) return false;
  *(void **)&f->init = dlsym(f->library, "hwloc_topology_init");
  *(void **)&f->load = dlsym(f->library, "hwloc_topology_load");
  *(void **)&f->destroy = dlsym(f->library, "hwloc_topology_destroy");
  *(void **)&f->allowed = dlsym(f->library, "hwloc_topology_get_allowed_cpuset");
  *(void **)&f->is_set = dlsym(f->library, "hwloc_bitmap_isset");
  *(void **)&f->version = dlsym(f->library, "hwloc_get_api_version");
  if (f->init && f->load && f->destroy && f->allowed && f->is_set && f->version) return true;
  dlclose(f->library);
  return false;
}

// Keeps those of |list| that hwloc allows. False if hwloc cannot say.
static bool hwloc_filter(fy_cpu_list *list) {
  hwloc_functions f;
  void *topology;
  if (!hwloc_open(&f)) return false;
  bool ok = false;
  if (f.init(&topology) == 0) {
    const void *set = f.load(topology) == 0 ? f.allowed(topology) : NULL;
    fy_cpu_list kept = {.n = 0};
    for (int i = 0; set && i < list->n; i++) {
      if (f.is_set(set, (unsigned)list->ids[i])) kept.ids[kept.n++] = list->ids[i];
    }
    ok = kept.n > 0;
    if (ok) *list = kept;
    f.destroy(topology);
  }
  dlclose(f.library);
  return ok;
}

void fy_cpu_allowed(fy_cpu_list *out, bool *out_hwloc) {
  scheduler_allowed(out);
  bool used = hwloc_filter(out);
  if (out_hwloc) *out_hwloc = used;
}

void fy_cpu_hwloc_report(fy_str *out) {
  hwloc_functions f;
  if (hwloc_open(&f)) {
    unsigned v = f.version();
    fy_str_printf(out, "hwloc %u.%u", v >> 16, v >> 8 & 255);
    dlclose(f.library);
  } else {
    const char *why = dlerror();
    fy_str_printf(out, "no hwloc (%s); cores are bound by sched_setaffinity",
                  why ? why : HWLOC_LIBRARY " lacks a function");
  }
}

void fy_cpu_list_print(const fy_cpu_list *list, char *buf, size_t size) {
  size_t at = 0;
  buf[0] = 0;
  for (int i = 0; i < list->n && at + 24 < size;) {
    int end = i;
    while (end + 1 < list->n && list->ids[end + 1] == list->ids[end] + 1) end++;
    int w = end > i ? snprintf(buf + at, size - at, "%s%d-%d", i ? "," : "", list->ids[i],
                               list->ids[end])
                    : snprintf(buf + at, size - at, "%s%d", i ? "," : "", list->ids[i]);
    at += (size_t)w;
    i = end + 1;
  }
}

static bool read_number(const char **p, int *out) {
  if (!isdigit((unsigned char)**p)) return false;
  long n = 0;
  while (isdigit((unsigned char)**p) && n < 1000000) n = n * 10 + (*(*p)++ - '0');
  *out = (int)n;
  return true;
}

fy_code fy_cpu_list_parse(const char *text, const fy_cpu_list *allowed, fy_cpu_list *out,
                          fy_error *err) {
  char known[256];
  fy_cpu_list_print(allowed, known, sizeof known);
  out->n = 0;
  for (const char *p = text;;) {
    int first, last;
    bool ok = read_number(&p, &first);
    last = first;
    if (ok && *p == '-') p++, ok = read_number(&p, &last);
    if (!ok || last < first || (*p && *p != ',')) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "'%s' is not a list of cores such as 0,2-3; this process may use cores %s",
                     text, known);
    }
    for (int cpu = first; cpu <= last; cpu++) {
      if (!fy_cpu_list_has(allowed, cpu)) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "core %d of '%s' is not available; this process may use cores %s", cpu, text,
                       known);
      }
      if (!fy_cpu_list_has(out, cpu)) out->ids[out->n++] = cpu;
    }
    if (!*p) break;
    p++;
  }
  for (int i = 1; i < out->n; i++) {  // few: insertion sort
    int x = out->ids[i], j = i;
    for (; j > 0 && out->ids[j - 1] > x; j--) out->ids[j] = out->ids[j - 1];
    out->ids[j] = x;
  }
  return FY_OK;
}

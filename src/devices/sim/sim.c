// SPDX-License-Identifier: Apache-2.0
// sim.c: the simulated GPU, and the template for whoever writes a device.
//
// It behaves like a GPU in every way a program can notice: memory the host cannot touch, a limit, a
// link with latency and bandwidth, queues, ops it lacks, faults. It computes with the reference
// loops, so its results are the definition. It exists only when asked for (FERRY_SIM or the option
// sim).
//
// To write a backend, copy this folder's shape:
//   1. fy_device_ops: close, info, alloc, free, copy, launch, wait, supports (ferry/device.h).
//   2. open(): find the units that the options let you use; fill ops, type, is_host and impl of an
//      fy_device for each and hand it to fy_devices_add(), which names it and gives it a memory
//      pool. Take no device memory yet: listing devices must cost nothing.
//   3. supports(): say no with a reason; placement shows it to the user.
//   4. probe(): one sentence for `ferry doctor`: what was found, or exactly what is missing.
//   5. One line in src/devices/backends.inc.
// Rules: every failure is a status; a failed call leaves the device usable unless it says
// UNAVAILABLE.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vtime.h"
#include "devices/devices.h"
#include "devices/sim/sim_impl.h"
#include "ops/host_args.h"

// --- facts ---

static void sim_info(fy_device *d, fy_device_info *out) {
  const fy_sim *s = fy_sim_of(d);
  char memory[32];
  memset(out, 0, sizeof *out);
  fy_human_bytes((double)s->limit_bytes, memory);
  snprintf(out->description, sizeof out->description,
           "simulated GPU: %s, link %.1f GB/s + %.1f us, %.2f TFLOP/s, %.0f GB/s", memory,
           s->model.link_bytes_per_s / 1e9, s->model.link_latency_ns / 1e3, s->model.flops / 1e12,
           s->model.memory_bytes_per_s / 1e9);
  snprintf(out->physical, sizeof out->physical,
           "device: %d, name: simulated GPU, pci bus id: simulated, compute capability: 0.0",
           s->physical);
  out->memory_total = s->total_bytes;
  out->memory_limit = s->limit_bytes;
  out->flops = s->model.flops;
  out->memory_bytes_per_s = s->model.memory_bytes_per_s;
  out->link_bytes_per_s = s->model.link_bytes_per_s;
  out->link_latency_ns = s->model.link_latency_ns;
  out->launch_ns = s->model.launch_ns;
  out->simulated = true;
  if (s->model.shared)
    snprintf(out->shared, sizeof out->shared, "sim:%d:%llu", s->physical,
             (unsigned long long)s->total_bytes);
}

static double sim_busy(fy_device *d) {
  return fy_sim_of(d)->model.busy;
}

fy_code fy_sim_alive(fy_sim *s, fy_error *err) {
  int64_t after = s->model.lost_after;
  if (after <= 0 || atomic_load(&s->launches) < after) return FY_OK;
  return fy_fail(err, FY_UNAVAILABLE, "device %s is lost (simulated: lost_after=%lld)",
                 s->device->name, (long long)after);
}

// --- which ops ---

typedef struct lack {
  const fy_op *op;         // NULL = every op
  fy_dtype dtype;          // FY_INVALID = every dtype
  const char *dtype_name;  // as it was given, "" = every dtype
} lack;

// "float64", "MatMul" or "MatMul:float64".
static fy_code parse_lack(const char *text, lack *out, fy_error *err) {
  const char *colon = strchr(text, ':');
  const char *dtype = colon ? colon + 1 : text;
  const size_t length = colon ? (size_t)(colon - text) : strlen(text);
  *out = (lack){.dtype_name = dtype};
  const bool is_dtype = fy_dtype_parse(dtype, strlen(dtype), &out->dtype);
  if (!colon && is_dtype) return FY_OK;
  out->op = fy_op_find(text, length);
  if (out->op && (is_dtype || !colon)) {
    if (!colon) out->dtype_name = "";
    return FY_OK;
  }
  char name[sizeof((fy_sim_options *)0)->lacks[0]];
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  const char *near = out->op ? NULL : fy_op_nearest(name);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "option 'lack': '%s' is no %s%s%s%s; give a dtype, an op or op:dtype, and lack= "
                 "again for each",
                 out->op ? dtype : name,
                 out->op ? "dtype"
                 : colon ? "op"
                         : "dtype or op",
                 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static bool sim_supports(fy_device *d, const fy_op *op, const fy_attrs *attrs, fy_error *why) {
  const fy_sim *s = fy_sim_of(d);
  const char *name = op->spec->name;
  if (!op->impl) {
    fy_fail(why, FY_UNIMPLEMENTED, "no kernel for op %s", name);
    return false;
  }
  for (int i = 0; i < s->model.num_lacks; i++) {
    lack l;
    if (parse_lack(s->model.lacks[i], &l, NULL) != FY_OK) continue;  // sim_open() refused it
    if (l.op && strcmp(l.op->spec->name, name) != 0) continue;
    if (l.dtype != FY_INVALID && !fy_op_uses_type(op, attrs, l.dtype)) continue;
    fy_fail(why, FY_UNIMPLEMENTED, "the simulated GPU lacks %s%s%s (lack=%s)", l.op ? name : "",
            l.op && l.dtype_name[0] ? " of " : "", l.dtype_name, s->model.lacks[i]);
    return false;
  }
  if (op->impl->flags & FY_OP_ANY_DEVICE_HOST_DATA) return true;
  if (op->impl->flags & FY_OP_HOST) {
    fy_fail(why, FY_UNIMPLEMENTED, "%s runs on the host only", name);
    return false;
  }
  if (fy_op_uses_type(op, attrs, FY_STRING)) {
    fy_fail(why, FY_UNIMPLEMENTED, "%s handles strings, which live in host memory", name);
    return false;
  }
  return true;
}

// --- opening and closing ---

static void clock_release(fy_sim_clock *clock) {
  fy_lock(&clock->lock);
  int left = --clock->refs;
  fy_unlock(&clock->lock);
  if (left > 0) return;
  fy_mutex_destroy(&clock->lock);
  fy_free(clock);
}

static void sim_close(fy_device *d) {
  fy_sim *s = d->impl;
  fy_sim_unmap(s);
  fy_free(s->log);
  fy_mutex_destroy(&s->memory_lock);
  clock_release(s->clock);
  fy_free(s);
  fy_free(d);
}

static const fy_device_ops sim_ops = {
    .backend = "sim",
    .close = sim_close,
    .info = sim_info,
    .alloc = fy_sim_alloc,
    .free = fy_sim_free,
    .copy = fy_sim_copy,
    .launch = fy_sim_launch,
    .wait = fy_sim_wait,
    .supports = sim_supports,
    .busy = sim_busy,
};

bool fy_sim_is(const fy_device *d) {
  return d->ops == &sim_ops;
}

static fy_code add_device(const fy_options *o, int physical, uint64_t limit, fy_sim_clock *clock,
                          fy_device_set *set, fy_error *err) {
  fy_device *d = fy_calloc(1, sizeof *d);
  fy_sim *s = fy_calloc(1, sizeof *s);
  if (!d || !s) {
    fy_free(d);
    fy_free(s);
    return fy_fail_oom(err, sizeof *s);
  }
  s->device = d;
  s->model = o->sim;
  s->physical = physical;
  s->total_bytes = o->sim.memory_bytes;
  s->limit_bytes = limit;
  s->fd = -1;
  s->clock = clock;
  fy_mutex_init(&s->memory_lock);
  fy_lock(&clock->lock);
  clock->refs++;
  fy_unlock(&clock->lock);
  d->ops = &sim_ops;
  d->impl = s;
  snprintf(d->type, sizeof d->type, "GPU");
  fy_code code = fy_devices_add(set, d, limit, err);
  if (code) sim_close(d);
  return code;
}

// visible_device_list = "1,0": physical numbers in the order in which they become devices.
static fy_code read_visible(const fy_options *o, int *out, int *out_n, fy_error *err) {
  int n = 0, total = o->sim.devices;
  const char *p = o->visible_devices;
  for (; !*p && n < total; n++) out[n] = n;
  while (*p) {
    char *end;
    long id = strtol(p, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    if (end == p || (*end && *end != ',')) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Could not parse entry in 'visible_device_list': '%s'. visible_device_list = %s", p,
          o->visible_devices);
    }
    if (id < 0 || id >= total) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "'visible_device_list' listed an invalid Device id '%ld' but visible device "
                     "count is %d",
                     id, total);
    }
    for (int i = 0; i < n; i++) {
      if (out[i] != id) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "visible_device_list contained a duplicate entry: %s", o->visible_devices);
    }
    out[n++] = (int)id;
    p = *end ? end + 1 : end;
  }
  if (o->gpu_devices >= 0 && n > o->gpu_devices) n = o->gpu_devices;
  *out_n = n;
  return FY_OK;
}

static uint64_t whole_limit(const fy_options *o) {
  uint64_t limit = o->sim.memory_bytes;
  if (o->memory_fraction > 0) limit = (uint64_t)((double)limit * o->memory_fraction);
  if (o->gpu_memory_limit && o->gpu_memory_limit < limit) limit = o->gpu_memory_limit;
  return limit;
}

static fy_code add_all(const fy_options *o, fy_sim_clock *clock, fy_device_set *set,
                       fy_error *err) {
  int visible[FY_MAX_SIM_DEVICES], n = 0;
  uint64_t shared[FY_MAX_SIM_DEVICES] = {0};  // bytes given to virtual devices
  FY_TRY(read_visible(o, visible, &n, err));
  for (int i = 0; !o->num_virtual_gpus && i < n; i++) {
    FY_TRY(add_device(o, visible[i], whole_limit(o), clock, set, err));
  }
  for (int i = 0; n > 0 && i < o->num_virtual_gpus; i++) {
    const fy_virtual_gpu *v = &o->virtual_gpus[i];
    if (v->visible >= n) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "virtual_devices are configured for %d GPUs, but only %d are visible",
                     v->visible + 1, n);
    }
    uint64_t bytes = v->memory_bytes ? v->memory_bytes : whole_limit(o);
    shared[v->visible] += bytes;
    if (bytes > o->sim.memory_bytes || shared[v->visible] > o->sim.memory_bytes) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "virtual_devices of GPU %d ask for more than its %llu bytes of memory",
                     v->visible, (unsigned long long)o->sim.memory_bytes);
    }
    FY_TRY(add_device(o, visible[v->visible], bytes, clock, set, err));
  }
  return FY_OK;
}

static fy_code sim_open(const fy_options *o, fy_device_set *set, fy_error *err) {
  if (o->sim.devices <= 0) return FY_OK;
  for (int i = 0; i < o->sim.num_lacks; i++) {
    lack unused;
    FY_TRY(parse_lack(o->sim.lacks[i], &unused, err));
  }
  fy_sim_clock *clock = fy_calloc(1, sizeof *clock);
  if (!clock) return fy_fail_oom(err, sizeof *clock);
  fy_mutex_init(&clock->lock);
  clock->refs = 1;
  clock->number = fy_vtime_new_clock();
  fy_code code = add_all(o, clock, set, err);
  clock_release(clock);
  return code;
}

static bool sim_probe(const fy_options *o, fy_str *out) {
  if (o->sim.devices <= 0) {
    fy_str_add(out, "off: nothing is simulated unless asked for (FERRY_SIM=gpu:1,memory=2GiB)");
    return false;
  }
  char memory[32];
  fy_human_bytes((double)o->sim.memory_bytes, memory);
  fy_str_printf(out, "usable: %d simulated GPU%s of %s each, as asked for", o->sim.devices,
                o->sim.devices == 1 ? "" : "s", memory);
  return true;
}

const fy_backend fy_backend_sim = {"sim", "simulated GPUs, for tests and what-if questions",
                                   sim_open, sim_probe};

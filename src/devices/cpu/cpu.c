// SPDX-License-Identifier: Apache-2.0
// cpu.c: CPU devices. Their memory is the host's, so copies are memcpy and a launch is a call.
// Devices without cores of their own share one pool of threads; if some devices have dedicated
// cores, the others keep to the rest. A dedicated device's kernels run only on its own pool's
// workers.

#include "devices/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "devices/devices.h"

#define LAUNCH_NS          30
#define MEMORY_BYTES_PER_S 12e9  // one core's share; measured machines differ by less than 3x

typedef struct cpu {
  int cores;
  uint64_t limit_bytes;
  char list[32];  // dedicated cores, "" = none
} cpu;

static void cpu_close(fy_device *d) {
  fy_cpu_pool_release(d->pool);
  fy_free(d->impl);
  fy_free(d);
}

static void cpu_info(fy_device *d, fy_device_info *out) {
  const cpu *c = d->impl;
  fy_cpu_facts f;
  char l3[32];  // no more than 10 are used
  fy_cpu_facts_get(&f);
  fy_human_bytes((double)f.l3_bytes, l3);
  memset(out, 0, sizeof *out);
  snprintf(out->description, sizeof out->description, "%.60s, %d core%s%s%s, %s, L3 %.10s", f.model,
           c->cores, c->cores == 1 ? "" : "s", c->list[0] ? " dedicated: " : "", c->list, f.simd,
           l3);
  out->memory_total = f.memory_bytes;
  out->memory_limit = c->limit_bytes ? c->limit_bytes : f.memory_bytes;
  out->flops = f.ghz * 1e9 * f.flops_per_cycle * c->cores;
  out->memory_bytes_per_s = MEMORY_BYTES_PER_S * c->cores;
  out->launch_ns = LAUNCH_NS;
}

static int cpu_alloc(fy_device *d, size_t bytes, void **out, fy_error *err) {
  (void)d;
  *out = fy_aligned_alloc(bytes);
  return (int)(*out ? FY_OK : fy_fail_oom(err, bytes));
}

static void cpu_free(fy_device *d, void *p, size_t bytes) {
  (void)d, (void)bytes;
  fy_aligned_free(p);
}

static fy_code wait_for(const fy_event *after, int n, fy_error *err) {
  for (int i = 0; i < n; i++) {
    fy_device *d = after[i].device;
    if (d) FY_TRY((fy_code)d->ops->wait(d, &after[i], err));
  }
  return FY_OK;
}

static int cpu_copy(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                    fy_device *peer, const fy_event *after, fy_event *done, fy_error *err) {
  (void)kind;
  if (peer && !peer->is_host) {
    return (int)fy_fail(err, FY_INVALID_ARGUMENT, "%s cannot copy from %s: let that device do it",
                        d->name, peer->name);
  }
  fy_code code = wait_for(after, after ? 1 : 0, err);
  if (!code && bytes) memcpy(dst, src, bytes);
  if (done) *done = (fy_event){0};
  return (int)code;
}

static fy_code run_kernel(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_op *op = ctx->site->op;
  if (op->impl && op->impl->compute) return fy_site_compute(ctx->site)(ctx, err);
  if (op->user_kernels) return fy_user_kernel_compute(ctx, err);
  return fy_fail(err, FY_UNIMPLEMENTED, "operation %s has no kernel in Ferry", op->spec->name);
}

static int cpu_launch(fy_device *d, fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                      fy_event *done, fy_error *err) {
  (void)d;
  if (done) *done = (fy_event){0};
  fy_code code = wait_for(after, num_after, err);
  return (int)(code ? code : run_kernel(ctx, err));
}

static int cpu_wait(fy_device *d, const fy_event *event, fy_error *err) {
  (void)d, (void)event, (void)err;
  return 0;  // launches and copies return when they are done
}

static bool cpu_supports(fy_device *d, const fy_op *op, const fy_attrs *attrs, fy_error *why) {
  (void)d;
  return fy_op_has_kernel(op, attrs, "CPU", why);
}

static const fy_device_ops cpu_ops = {
    .backend = "cpu",
    .close = cpu_close,
    .info = cpu_info,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .launch = cpu_launch,
    .wait = cpu_wait,
    .supports = cpu_supports,
};

// --- opening ---

static fy_code add_device(const fy_options *o, const fy_cpu_list *dedicated,
                          const fy_cpu_list *rest, fy_device_set *set, fy_error *err) {
  fy_device *d = fy_calloc(1, sizeof *d);
  cpu *c = fy_calloc(1, sizeof *c);
  if (!d || !c) {
    fy_free(d);
    fy_free(c);
    return fy_fail_oom(err, sizeof *d);
  }
  snprintf(d->type, sizeof d->type, "CPU");
  d->ops = &cpu_ops;
  d->impl = c;
  d->is_host = true;
  c->limit_bytes = o->cpu_memory_limit;
  if (dedicated) {
    // Loops are started from the workers themselves, so there is one worker per core: the pool's
    // "caller", which it counts as a thread, never takes part.
    d->dedicated = true;
    c->cores = dedicated->n;
    fy_cpu_list_print(dedicated, c->list, sizeof c->list);
    d->pool = fy_cpu_pool_acquire(dedicated->n + 1, dedicated);
  } else {
    c->cores = o->intra_threads > 0 ? o->intra_threads : rest ? rest->n : fy_cpu_count();
    d->pool = fy_cpu_pool_acquire(c->cores, rest);
  }
  fy_code code =
      d->pool ? fy_devices_add(set, d, o->cpu_memory_limit, err) : fy_fail_oom(err, sizeof *d);
  if (code) cpu_close(d);
  return code;
}

// Reads the dedicated cores of every device and what is left of |allowed|.
static fy_code read_cores(const fy_options *o, fy_cpu_list *lists, fy_cpu_list *rest,
                          fy_error *err) {
  fy_cpu_list allowed;
  fy_cpu_allowed(&allowed, NULL);
  *rest = allowed;
  for (int i = 0; i < o->cpu_devices; i++) {
    lists[i].n = 0;
    if (!o->cores[i][0]) continue;
    fy_code code = fy_cpu_list_parse(o->cores[i], &allowed, &lists[i], err);
    if (code) {
      fy_error_prepend(err, "dedicated cores of CPU:%d: ", i);
      return code;
    }
    for (int k = 0; k < lists[i].n; k++) {
      for (int j = 0; j < i; j++) {
        if (!fy_cpu_list_has(&lists[j], lists[i].ids[k])) continue;
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "dedicated cores of CPU:%d: core %d is already dedicated to CPU:%d", i,
                       lists[i].ids[k], j);
      }
    }
    int kept = 0;
    for (int k = 0; k < rest->n; k++) {
      if (!fy_cpu_list_has(&lists[i], rest->ids[k])) rest->ids[kept++] = rest->ids[k];
    }
    rest->n = kept;
  }
  return FY_OK;
}

static fy_code cpu_open(const fy_options *o, fy_device_set *set, fy_error *err) {
  int n = o->cpu_devices;
  if (n < 1) return fy_fail(err, FY_NOT_FOUND, "No CPU devices are available in this process");
  bool dedicated = false;
  FY_TRY(fy_cpu_level_check(err));
  for (int i = 0; i < n; i++) dedicated |= o->cores[i][0] != 0;
  if (!dedicated) {  // the common case asks nobody for a topology
    for (int i = 0; i < n; i++) FY_TRY(add_device(o, NULL, NULL, set, err));
    return FY_OK;
  }
  fy_cpu_list *lists = fy_calloc((size_t)n + 1, sizeof *lists);
  if (!lists) return fy_fail_oom(err, sizeof *lists);
  fy_cpu_list *rest = &lists[n];
  fy_code code = read_cores(o, lists, rest, err);
  for (int i = 0; !code && i < n; i++) {
    code = add_device(o, lists[i].n ? &lists[i] : NULL, rest->n ? rest : NULL, set, err);
  }
  fy_free(lists);
  return code;
}

static bool cpu_probe(const fy_options *o, fy_str *out) {
  fy_cpu_facts f;
  char memory[32], cores[256];
  fy_cpu_list allowed;
  (void)o;
  fy_cpu_facts_get(&f);
  fy_cpu_allowed(&allowed, NULL);
  fy_cpu_list_print(&allowed, cores, sizeof cores);
  fy_human_bytes((double)f.memory_bytes, memory);
  fy_str_printf(out, "usable: %s, cores %s, %.1f GHz, %s memory; ", f.model, cores, f.ghz, memory);
  fy_cpu_level_report(out);
  fy_str_add(out, "; ");
  fy_cpu_hwloc_report(out);
  return true;
}

const fy_backend fy_backend_cpu = {"cpu", "the host's processors", cpu_open, cpu_probe};

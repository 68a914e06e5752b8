// SPDX-License-Identifier: Apache-2.0
// config_options.c: ConfigProto to fy_options, field by field.

#include "wire/config_options.h"

#include <math.h>
#include <string.h>

#define MIB         (1024.0 * 1024.0)
#define MAX_THREADS 4096

static fy_code read_threads(const char *field, int32_t value, int low, int *out, fy_error *err) {
  if (value == 0) return FY_OK;
  if (value > MAX_THREADS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ConfigProto.%s: %d is more than %d", field,
                   (int)value, MAX_THREADS);
  }
  *out = value < low ? low : value;
  return FY_OK;
}

static fy_code read_device_count(const Tensorflow__ConfigProto *c, fy_options *o, fy_error *err) {
  for (size_t i = 0; i < c->n_device_count; i++) {
    const char *type = c->device_count[i]->key;
    int32_t n = c->device_count[i]->value;
    bool cpu = strcmp(type, "CPU") == 0, gpu = strcmp(type, "GPU") == 0;
    if ((n < 0 && !cpu) || (cpu && n > FY_MAX_CPU_DEVICES)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConfigProto.device_count[\"%s\"]: %d is not in 0..%d", type, (int)n,
                     cpu ? FY_MAX_CPU_DEVICES : INT32_MAX);
    }
    // Without a CPU device there is no session, as opening it says. No other types are known here.
    if (cpu) o->cpu_devices = n < 1 ? 0 : n;
    if (gpu) o->gpu_devices = n;
  }
  return FY_OK;
}

static fy_code read_virtual(const Tensorflow__GPUOptions__Experimental *e, fy_options *o,
                            fy_error *err) {
  int n = 0;
  for (size_t gpu = 0; gpu < e->n_virtual_devices; gpu++) {
    const Tensorflow__GPUOptions__Experimental__VirtualDevices *v = e->virtual_devices[gpu];
    // No limits listed: the GPU stays whole, one device with all of its memory.
    size_t shares = v->n_memory_limit_mb ? v->n_memory_limit_mb : 1;
    for (size_t i = 0; i < shares; i++) {
      double mb = v->n_memory_limit_mb ? (double)v->memory_limit_mb[i] : 0;
      if (!isfinite(mb) || mb < 0 || mb > 1e12 || (v->n_memory_limit_mb && mb == 0)) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "ConfigProto.gpu_options.experimental.virtual_devices[%zu]: memory_limit_mb "
                       "%g is not a size above 0",
                       gpu, mb);
      }
      if (n == FY_MAX_VIRTUAL_GPUS) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "ConfigProto asks for more than %d virtual GPUs",
                       FY_MAX_VIRTUAL_GPUS);
      }
      o->virtual_gpus[n++] =
          (fy_virtual_gpu){.visible = (int)gpu, .memory_bytes = (uint64_t)(mb * MIB)};
    }
  }
  if (n) o->num_virtual_gpus = n;
  return FY_OK;
}

fy_code fy_wire_config_check_share(const Tensorflow__ConfigProto *c, fy_error *err) {
  double f = c->gpu_options ? c->gpu_options->per_process_gpu_memory_fraction : 0;
  if (isfinite(f) && f >= 0 && f <= 1) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "ConfigProto.gpu_options.per_process_gpu_memory_fraction: %g %s", f,
                 f > 1 ? "asks for unified memory, which this runtime does not have; use a share "
                         "up to 1"
                       : "is not a share");
}

static fy_code read_gpu(const Tensorflow__GPUOptions *g, fy_options *o, fy_error *err) {
  double f = g->per_process_gpu_memory_fraction;
  // One that is none: fy_wire_config_check_share.
  if (f > 0 && f <= 1) o->memory_fraction = f;
  if (g->allow_growth) o->allow_growth = true;
  const char *visible = g->visible_device_list;
  if (visible && *visible) {
    if (strlen(visible) >= sizeof o->visible_devices) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConfigProto.gpu_options.visible_device_list is longer than %zu characters",
                     sizeof o->visible_devices - 1);
    }
    memcpy(o->visible_devices, visible, strlen(visible) + 1);
  }
  if (g->experimental) FY_TRY(read_virtual(g->experimental, o, err));
  if (f > 0 && o->num_virtual_gpus) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is "
                   "set.");
  }
  return FY_OK;
}

static void read_graph(const Tensorflow__GraphOptions *g, fy_options *o) {
  const Tensorflow__OptimizerOptions *opt = g->optimizer_options;
  if (opt && opt->opt_level == TENSORFLOW__OPTIMIZER_OPTIONS__LEVEL__L0) o->optimize = false;
  if (g->rewrite_options && g->rewrite_options->disable_meta_optimizer) o->optimize = false;
}

fy_code fy_wire_config_options(const Tensorflow__ConfigProto *c, fy_options *options,
                               fy_error *err) {
  fy_options o = *options;
  FY_TRY(read_threads("intra_op_parallelism_threads", c->intra_op_parallelism_threads, 1,
                      &o.intra_threads, err));
  FY_TRY(read_threads("inter_op_parallelism_threads", c->inter_op_parallelism_threads, -1,
                      &o.inter_threads, err));
  FY_TRY(read_device_count(c, &o, err));
  if (c->gpu_options) FY_TRY(read_gpu(c->gpu_options, &o, err));
  if (c->graph_options) read_graph(c->graph_options, &o);
  if (c->allow_soft_placement) o.soft_placement = true;
  if (c->log_device_placement) o.log_placement = true;
  if (c->isolate_session_state) o.isolate_session_state = true;
  if (c->n_session_inter_op_thread_pool)
    o.inter_op_pools =
        c->n_session_inter_op_thread_pool < 256 ? (int)c->n_session_inter_op_thread_pool : 256;
  if (c->operation_timeout_in_ms > 0) o.operation_timeout_ms = c->operation_timeout_in_ms;
  *options = o;
  return FY_OK;
}

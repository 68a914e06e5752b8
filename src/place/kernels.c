// SPDX-License-Identifier: Apache-2.0
// kernels.c: what placement knows of kernels: is there one, which arguments live in host memory, and
// what a call would cost.

#include <string.h>

#include "ops/host_args.h"
#include "place/place.h"

bool fy_place_supported(const fy_node *node, fy_device *device, fy_error *why) {
  // A function call is decided node by node inside; arguments and constants need no kernel.
  if (!node->op || node->const_value || strcmp(node->op_name, "_Arg") == 0) return true;
  if (!fy_op_has_kernel(node->op, &node->attrs, device->type, why)) return false;
  if (__atomic_load_n(&device->lost, __ATOMIC_RELAXED)) {
    if (why) fy_fail(why, FY_UNAVAILABLE, "the device %s is lost", device->name);
    return false;
  }
  if (device->is_host || !device->ops->supports) return true;
  return device->ops->supports(device, (const struct fy_op *)node->op,
                               (const struct fy_attrs *)&node->attrs, (struct fy_error *)why);
}

static bool listed(const fy_attrs *attrs, const char *name, uint32_t index) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  if (!a || !a->is_list || a->kind != FY_ATTR_INT) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (a->v.ints[i] == (int64_t)index) return true;
  return false;
}

static bool on_host(const fy_node *node, const fy_device *device, uint32_t index, bool outputs,
                    fy_dtype dtype) {
  if (!device || device->is_host || fy_dtype_is_ref(dtype) ||
      !fy_dtype_is_plain(fy_dtype_base(dtype)))
    return true;  // also of a function
  const fy_op_impl *impl = node->op ? node->op->impl : NULL;
  if (listed(&node->attrs, outputs ? "_output_hostmem" : "_input_hostmem", index)) return true;
  if (!impl) return node->function && fy_dtype_base(dtype) == FY_INT32;
  return fy_op_arg_on_host(impl, node->spec, &node->attrs, outputs, (int)index,
                           (int)(outputs ? node->num_outputs : node->num_inputs), dtype);
}

bool fy_place_input_on_host(const fy_node *node, const fy_device *device, uint32_t index) {
  return on_host(node, device, index, false, node->input_types[index]);
}

bool fy_place_output_on_host(const fy_node *node, const fy_device *device, uint32_t index) {
  return on_host(node, device, index, true, node->outputs[index].dtype);
}

int fy_space_of(const fy_device *d) {
  return !d || d->is_host ? 0 : d->ordinal + 1;
}

int fy_place_output_space(const fy_node *node, const fy_device *device, uint32_t index) {
  return fy_place_output_on_host(node, device, index) ? 0 : fy_space_of(device);
}

static double elements(fy_pshape s) {
  double n = 1;
  for (int32_t i = 0; i < s.rank; i++) n *= s.dims[i] < 0 ? 1 : (double)s.dims[i];
  return n;
}

// One flop per output element; every byte in and out moves once.
static void default_cost(const fy_node *node, fy_cost *cost) {
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    double n = elements(node->outputs[i].shape);
    cost->flops += n;
    cost->bytes += n * (double)fy_dtype_storage(fy_dtype_base(node->outputs[i].dtype));
  }
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    const fy_node_out *o = &node->inputs[i].node->outputs[node->inputs[i].index];
    cost->bytes += elements(o->shape) * (double)fy_dtype_storage(fy_dtype_base(o->dtype));
  }
}

#define MAX_COST_ARGS 32

void fy_place_work(const fy_node *node, fy_cost *out) {
  const fy_op_impl *impl = node->op ? node->op->impl : NULL;
  *out = (fy_cost){0};
  if (fy_place_body(node)) {
    fy_place_loop_work(node, out);
    return;
  }
  if (node->const_value || strcmp(node->op_name, "_Arg") == 0) return;
  if (impl && fy_op_needs_no_device(node->op)) return;
  if (!impl || !impl->cost || node->num_inputs > MAX_COST_ARGS ||
      node->num_outputs > MAX_COST_ARGS) {
    default_cost(node, out);
    return;
  }
  fy_pshape in[MAX_COST_ARGS], outs[MAX_COST_ARGS];
  fy_site site = {.op = node->op,
                  .attrs = &node->attrs,
                  .node_name = node->name,
                  .num_inputs = (int)node->num_inputs,
                  .num_outputs = (int)node->num_outputs,
                  .in_types = node->input_types};
  for (uint32_t i = 0; i < node->num_inputs; i++)
    in[i] = node->inputs[i].node->outputs[node->inputs[i].index].shape;
  for (uint32_t i = 0; i < node->num_outputs; i++) outs[i] = node->outputs[i].shape;
  impl->cost(&site, in, outs, out);
}

double fy_place_cost_ns(const fy_node *node, const fy_device *device) {
  const fy_op_impl *impl = node->op ? node->op->impl : NULL;
  const fy_device_info *f = &device->facts;
  double launch = f->launch_ns > 0 ? f->launch_ns : 30;
  fy_cost cost;
  if (fy_place_body(node)) return fy_place_loop_ns(node, device);
  if (impl && fy_op_needs_no_device(node->op)) return launch > 100 ? 100 : launch;
  fy_place_work(node, &cost);
  double flops = f->flops > 0 ? f->flops : 20e9;
  double bandwidth = f->memory_bytes_per_s > 0 ? f->memory_bytes_per_s : 10e9;
  double compute = cost.flops / flops * 1e9, move = cost.bytes / bandwidth * 1e9;
  return launch + (compute > move ? compute : move);
}

// SPDX-License-Identifier: Apache-2.0
// eager_packed.c: packed handles among the inputs of a call. An operation sees the parts stacked; a
// function sees the part on the device where the argument is used, else on the device of the call.
// Not here: a function that uses one argument on several devices at once, which is refused.

#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"
#include "graph/function.h"

static void replace(fy_eager_op *op, uint32_t i, fy_handle *with) {
  fy_handle_release(op->inputs[i]);
  op->inputs[i] = with;
}

static fy_code stack(fy_eager_op *op, uint32_t i, fy_error *err) {
  const struct fy_handle_extra *x = op->inputs[i]->extra;
  fy_eager_op *pack;
  fy_handle *out = NULL;
  int n = 1;
  if (op->inputs[i]->dtype == FY_RESOURCE)
    return fy_fail(err, FY_NOT_FOUND,
                   "Unable to find a FunctionLibraryRuntime corresponding to device %s",
                   fy_handle_device_name(op->inputs[i]));
  FY_TRY(fy_eager_op_new(op->context, "Pack", &pack, err));
  fy_code code = fy_eager_op_add_inputs(pack, x->parts, x->num_parts, err);
  if (!code) code = fy_eager_execute(pack, &out, &n, err);
  fy_eager_op_free(pack);
  if (!code) replace(op, i, out);
  return code;
}

// ------------------------------------------------------------------ functions
static const Tensorflow__FunctionDef *callee(const fy_eager_op *op) {
  const fy_function *f = op->function;
  for (uint32_t k = 0; !f && k < op->num_attrs; k++) {
    const fy_attr *a = &op->attrs[k].value;
    if (strcmp(op->attrs[k].name, "f") != 0 || a->kind != FY_ATTR_FUNC || a->is_list) continue;
    f = fy_funclib_find(op->context->functions, a->v.func->name.p, a->v.func->name.n);
  }
  return f ? f->def : NULL;
}

// The device that the nodes reading argument |name| ask for: NULL if none does. False if they differ.
static bool wanted_device(const Tensorflow__FunctionDef *def, const char *name, const char **out) {
  *out = NULL;
  for (size_t n = 0; n < def->n_node_def; n++) {
    const Tensorflow__NodeDef *node = def->node_def[n];
    for (size_t i = 0; i < node->n_input; i++) {
      if (strcmp(node->input[i], name) != 0) continue;
      const char *device = node->device && *node->device ? node->device : NULL;
      if (device && *out && strcmp(device, *out) != 0) return false;
      if (device) *out = device;
    }
  }
  return true;
}

static fy_code choose(fy_eager_op *op, uint32_t i, fy_error *err) {
  fy_handle *h = op->inputs[i];
  const struct fy_handle_extra *x = h->extra;
  const Tensorflow__FunctionDef *def = callee(op);
  const char *device = NULL;
  fy_devname want = {0};
  if (def && i < def->signature->n_input_arg &&
      !wanted_device(def, def->signature->input_arg[i]->name, &device))
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "function '%s' uses the packed argument '%s' on several devices",
                   def->signature->name, def->signature->input_arg[i]->name);
  if (!device || !fy_devname_parse(device, &want)) {
    fy_lock(&op->context->lock);
    if (op->request) want = op->context->requests[op->request].name;
    fy_unlock(&op->context->lock);
  }
  fy_handle *found = x->parts[0];
  for (int k = 0; k < x->num_parts; k++) {
    const fy_handle *part = x->parts[k];
    const fy_device *at = h->dtype == FY_RESOURCE ? part->resource_device : part->device;
    fy_devname name;
    if (!fy_devname_parse(at ? at->name : FY_HOST_NAME, &name)) continue;
    if (!fy_devname_is_specification(&want, &name)) continue;
    found = x->parts[k];
    break;
  }
  fy_handle_retain(found);
  replace(op, i, found);
  return FY_OK;
}

fy_code fy_eager_unpack_inputs(fy_eager_op *op, fy_error *err) {
  bool calls = !op->op || strcmp(op->name, "PartitionedCall") == 0 ||
               strcmp(op->name, "StatefulPartitionedCall") == 0;
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    if (!op->inputs[i]->packed) continue;
    FY_TRY(calls ? choose(op, i, err) : stack(op, i, err));
  }
  op->has_packed = false;
  return FY_OK;
}

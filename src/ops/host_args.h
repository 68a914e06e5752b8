// SPDX-License-Identifier: Apache-2.0
// host_args.h: which arguments of an operation live in host memory wherever it runs, and which types it
// computes with on a device. Placement and all devices ask here.

#ifndef FY_OPS_HOST_ARGS_H
#define FY_OPS_HOST_ARGS_H

#include "ops/op.h"

// Flat input or output |flat| of |total|, of type |dtype|.
bool fy_op_arg_on_host(const fy_op_impl *impl, const fy_op_spec *spec, const fy_attrs *attrs,
                       bool outputs, int flat, int total, fy_dtype dtype);
static inline bool fy_site_output_on_host(const fy_site *site, int i) {
  return fy_op_arg_on_host(site->op->impl, site->op->spec, site->attrs, true, i, site->num_outputs,
                           site->out_types[i]);
}
// Nothing happens on a device: the op renames, steers or publishes memory that is there, or touches the
// host's only. No kernel is launched for it, wherever it "runs".
bool fy_op_needs_no_device(const fy_op *op);
// Does the op compute with |dtype| on a device? Arguments that live on the host do not count, but the
// value of a variable whose handle it has does.
bool fy_op_uses_type(const fy_op *op, const fy_attrs *attrs, fy_dtype dtype);

#endif

// SPDX-License-Identifier: Apache-2.0
// copy_on_read.c: DisableCopyOnRead: lets a variable that was read by value share its memory with readers
// again. Ferry's variables always do (a write to shared memory makes new memory), so nothing changes.

#include "ops/op.h"
#include "ops/shape_fns.h"

static fy_code nothing(fy_kernel_ctx *ctx, fy_error *err) {
  (void)ctx, (void)err;
  return FY_OK;
}

FY_OP(DisableCopyOnRead, .shape = fy_shape_none, .compute = nothing, .host_inputs = 1,
      .flags = FY_OP_CHEAP);

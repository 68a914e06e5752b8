// SPDX-License-Identifier: Apache-2.0
// variable.h: what kernels that change variables share (variables.c).

#ifndef FY_OPS_VARIABLE_H
#define FY_OPS_VARIABLE_H

#include "ops/elementwise.h"
#include "ops/resource.h"

// |v| := input |i|: that tensor itself if it owns its memory, else a copy, over the old value if nobody
// else holds that.
FY_MUST_CHECK fy_code fy_variable_store(fy_kernel_ctx *ctx, fy_variable *v, int i, fy_error *err);
// Moves the value of |v|, which is locked, to the device of the kernel if another run left it
// elsewhere; the former one goes to |*garbage|.
FY_MUST_CHECK fy_code fy_variable_settle(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage,
                                         fy_error *err);
// The value where the kernel can use it, with a reference of the caller's own; NULL if there is none.
FY_MUST_CHECK fy_code fy_variable_get(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **out,
                                      fy_error *err);
// Makes sure that nobody else holds the value of |v|, which is locked and has one. A value that had
// to be replaced goes to |*garbage|, to be released without the lock.
FY_MUST_CHECK fy_code fy_variable_own(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage,
                                      fy_error *err);
// Why |v| has no value: "Resource localhost/v/… does not exist." or its container does not.
void fy_variable_missing(fy_kernel_ctx *ctx, const fy_variable *v, const char *type, char *buf,
                         size_t n);
// out := loop(value, in) element by element, over the threads; the same memory is fine.
void fy_variable_combine(fy_kernel_ctx *ctx, fy_binary_loop loop, const void *value,
                         const fy_tensor *in, void *out);
// |t| as the kernel may address it (fy_services.view).
fy_tensor *fy_variable_view(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage);
// Output 0, if the op has one, refers to the variable of input 0: the ops on references.
FY_MUST_CHECK static inline fy_code fy_out_ref(fy_kernel_ctx *ctx, fy_error *err) {
  return ctx->site->num_outputs == 1 ? fy_out_alias(ctx, 0, 0, 0, NULL, err) : FY_OK;
}

#endif

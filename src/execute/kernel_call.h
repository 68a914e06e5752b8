// SPDX-License-Identifier: Apache-2.0
// kernel_call.h: call one kernel with tensors at hand: constant folding and eager mode.

#ifndef FY_EXECUTE_KERNEL_CALL_H
#define FY_EXECUTE_KERNEL_CALL_H

#include "execute/callable.h"
#include "execute/program.h"

struct fy_handle;  // eager.h

// Runs |site| with |in|; |out[i]| receive one reference each, NULL if the kernel did not set it (TF
// allows that eagerly). Host devices run in place, others through
// the device's launch (inputs must already be in the right space).
// |handles|, or NULL: who holds the inputs; what only this call holds may become an output.
FY_MUST_CHECK fy_code fy_kernel_call(const fy_site *site, const fy_run *run,
                                     struct fy_handle *const *handles, fy_tensor *const *in,
                                     fy_tensor **out, fy_error *err);
// Prepares a throw-away site for |node| on the host and calls it (folding).
FY_MUST_CHECK fy_code fy_kernel_call_node(const fy_node *node, fy_tensor *const *in,
                                          fy_tensor **out, fy_error *err);
// Binds a site: instantiates the functions its attributes name (or |call|, for a node whose op is a
// function), checks the kernel, runs prepare(). What it made is freed by fy_site_deinit.
FY_MUST_CHECK fy_code fy_site_bind(fy_site *site, fy_callables *callables, const char *call,
                                   fy_error *err);
void fy_site_deinit(fy_site *site);

// Services (fy_services) that do not depend on who runs the kernel (services.c).
void fy_service_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                         void (*fn)(void *, int64_t, int64_t), void *arg);
fy_code fy_service_allocate(fy_kernel_ctx *ctx, fy_dtype dtype, int32_t rank, const int64_t *dims,
                            fy_tensor **out, fy_error *err);
fy_code fy_service_bring(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err);
fy_tensor *fy_service_view(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage);
fy_code fy_service_to_host(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err);
fy_code fy_service_keep(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err);

#endif

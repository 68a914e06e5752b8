// SPDX-License-Identifier: Apache-2.0
// epilogue.h: how the fast kernels apply an epilogue (ops/contraction.h): a bias, a normalisation
// folded into weights and bias, an addend and a clamp happen in registers, other activations on a
// block that is still in the cache.

#ifndef FY_DEVICES_CPU_EPILOGUE_H
#define FY_DEVICES_CPU_EPILOGUE_H

#include "devices/cpu/gemm.h"
#include "devices/cpu/kernels.h"
#include "ops/contraction.h"

// The epilogue of a site that has one, else NULL.
const fy_epilogue *fy_epilogue_of(const fy_site *site);
// Do the args have the sizes that a result with |channels| columns and |count| elements needs, and
// is this a case for the fast kernels?
bool fy_epilogue_fits(fy_kernel_ctx *ctx, const fy_epilogue *e, int64_t channels, int64_t count);
// How many inputs, from the weights (input 1) on, the packed form depends on.
int fy_epilogue_weights(const fy_epilogue *e);
// One number per channel: what the weights are multiplied by and the bias, which is zero from n up to
// |padded|. False: there is nothing of that kind.
bool fy_epilogue_fold(fy_kernel_ctx *ctx, const fy_epilogue *e, fy_gemm_type type, int64_t n,
                      int64_t padded, void *scale, void *bias);
// Sets lo, hi and finish.
void fy_epilogue_clamp(const fy_epilogue *e, double *lo, double *hi);
// The activation of a row where it is not a clamp; |arg| is the fy_epilogue. NULL: none.
typedef void (*fy_finish_fn)(const void *arg, float *row, int64_t n);
fy_finish_fn fy_epilogue_finish(const fy_epilogue *e);

#endif

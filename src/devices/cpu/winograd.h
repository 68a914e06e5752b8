// SPDX-License-Identifier: Apache-2.0
// winograd.h: 3 x 3 windows in fewer multiplications.
//
// Four outputs next to each other (2 x 2) see 16 pixels. Sums and differences of these 16, times
// sums and differences of the nine weights, are 16 products instead of 36 (Winograd's F(2x2, 3x3),
// all factors are 1, -1 and 1/2, so that little is lost in rounding: a few times the error of the
// plain sum). Tiles of four outputs are the rows of 16 matrix products with the kernel of gemm.h.
//
// A pixel that is infinite or NaN would spoil outputs that do not see it: such tiles are summed up
// the plain way.

#ifndef FY_DEVICES_CPU_WINOGRAD_H
#define FY_DEVICES_CPU_WINOGRAD_H

#include "devices/cpu/gemm.h"

// Is |c| such a window, and worth it?
bool fy_winograd_fits(const fy_conv *c);
// Scratch memory of a run, for fy_needs.
size_t fy_winograd_needs(const fy_kernel_ctx *ctx, const fy_conv *c);
// |job| as for fy_gemm_run, with packed weights.
FY_MUST_CHECK fy_code fy_winograd_run(fy_kernel_ctx *ctx, const fy_gemm_job *job, fy_error *err);

#endif

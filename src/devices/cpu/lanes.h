// SPDX-License-Identifier: Apache-2.0
// lanes.h: the builds of the lane kernels (ops/fused.h) for more than every machine has. lanes.c
// chooses.

#ifndef FY_DEVICES_CPU_LANES_H
#define FY_DEVICES_CPU_LANES_H

#include "ops/fused.h"

extern const fy_lanes fy_lanes_avx2;
// Replaces those entries of the AVX2 lanes for which there are better ones.
void fy_lanes_avx512(fy_lanes *lanes);
void fy_turn_bytes_avx512(uint8_t *out, int64_t out_step, const uint8_t *in, int64_t in_step,
                          int64_t rows, int64_t cols, const uint8_t *next);

#endif

// SPDX-License-Identifier: Apache-2.0
// optimizer_steps_avx2.c: the training steps of x86 machines with AVX2 and F16C, in 32-byte vectors.

#define LANE_BYTES  32
#define STEPS_TABLE fy_steps_avx2
#include "ops/optimizer_types.inc"

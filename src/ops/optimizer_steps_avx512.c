// SPDX-License-Identifier: Apache-2.0
// optimizer_steps_avx512.c: the training steps of halves of x86 machines with AVX-512, in 64-byte vectors.

#define LANE_BYTES  64
#define STEPS_TABLE fy_halves_steps_avx512
#include "ops/optimizer_types.inc"

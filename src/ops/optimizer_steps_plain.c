// SPDX-License-Identifier: Apache-2.0
// optimizer_steps_plain.c: the training steps of any machine, in 16-byte vectors as the compiler sees fit.

#define LANE_BYTES  16
#define STEPS_TABLE fy_steps_plain
#include "ops/optimizer_types.inc"

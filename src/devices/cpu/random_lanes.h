// SPDX-License-Identifier: Apache-2.0
// random_lanes.h: builds of fy_random_lanes (ops/random.h) for more than every machine has.

#ifndef FY_DEVICES_CPU_RANDOM_LANES_H
#define FY_DEVICES_CPU_RANDOM_LANES_H

#include "ops/random.h"

extern const fy_random_lanes fy_random_lanes_avx2, fy_random_lanes_avx512;
// 1 / c and log c for c in each of 16 parts of an octave, as glibc's logf has them.
extern const double fy_random_logs[16][2];

#endif

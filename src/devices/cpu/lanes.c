// SPDX-License-Identifier: Apache-2.0
// lanes.c: which build of the lane kernels this machine can run.

#include "ops/fused.h"

#if defined(__x86_64__)
extern const fy_lanes fy_lanes_avx2;

// Every machine with AVX2 converts halves (F16C), too.
const fy_lanes *fy_lanes_best(void) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &fy_lanes_avx2;
  return &fy_lanes_plain;
}
#else
const fy_lanes *fy_lanes_best(void) {
  return &fy_lanes_plain;
}
#endif

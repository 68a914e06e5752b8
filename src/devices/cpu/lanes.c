// SPDX-License-Identifier: Apache-2.0
// lanes.c: which build of the lane kernels this machine can run.

#include "devices/cpu/lanes.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "devices/cpu/cpu.h"

#if defined(__x86_64__)
static const fy_lanes *_Atomic best;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void) {
  static fy_lanes mixed;
  const fy_lanes *lanes = &fy_lanes_plain;
  if (fy_cpu_level_get() >= FY_CPU_AVX2) lanes = &fy_lanes_avx2;
  if (fy_cpu_level_get() >= FY_CPU_AVX512) {
    mixed = fy_lanes_avx2;
    fy_lanes_avx512(&mixed);
    lanes = &mixed;
  }
  atomic_store_explicit(&best, lanes, memory_order_release);
}

const fy_lanes *fy_lanes_best(void) {
  const fy_lanes *lanes = atomic_load_explicit(&best, memory_order_acquire);
  if (__builtin_expect(lanes != NULL, 1)) return lanes;
  pthread_once(&once, choose);
  return atomic_load_explicit(&best, memory_order_acquire);
}
#else
const fy_lanes *fy_lanes_best(void) {
  return &fy_lanes_plain;
}
#endif

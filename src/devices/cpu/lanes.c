// SPDX-License-Identifier: Apache-2.0
// lanes.c: which build of the lane kernels this machine can run.

#include "devices/cpu/lanes.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/random_lanes.h"

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
const double fy_random_logs[16][2] = {
    {0x1.661ec79f8f3bep+0, -0x1.57bf7808caadep-2}, {0x1.571ed4aaf883dp+0, -0x1.2bef0a7c06ddbp-2},
    {0x1.49539f0f010bp+0, -0x1.01eae7f513a67p-2},  {0x1.3c995b0b80385p+0, -0x1.b31d8a68224e9p-3},
    {0x1.30d190c8864a5p+0, -0x1.6574f0ac07758p-3}, {0x1.25e227b0b8eap+0, -0x1.1aa2bc79c81p-3},
    {0x1.1bb4a4a1a343fp+0, -0x1.a4e76ce8c0e5ep-4}, {0x1.12358f08ae5bap+0, -0x1.1973c5a611cccp-4},
    {0x1.0953f419900a7p+0, -0x1.252f438e10c1ep-5}, {0x1p+0, 0x0p+0},
    {0x1.e608cfd9a47acp-1, 0x1.aa5aa5df25984p-5},  {0x1.ca4b31f026aap-1, 0x1.c5e53aa362eb4p-4},
    {0x1.b2036576afce6p-1, 0x1.526e57720db08p-3},  {0x1.9c2d163a1aa2dp-1, 0x1.bc2860d22477p-3},
    {0x1.886e6037841edp-1, 0x1.1058bc8a07ee1p-2},  {0x1.767dcf5534862p-1, 0x1.4043057b6ee09p-2}};

const fy_random_lanes *fy_random_lanes_best(void) {
  const fy_cpu_level level = fy_cpu_level_get();
  if (level < FY_CPU_AVX2) return NULL;
  return level < FY_CPU_AVX512 ? &fy_random_lanes_avx2 : &fy_random_lanes_avx512;
}
#else
const fy_lanes *fy_lanes_best(void) {
  return &fy_lanes_plain;
}
const fy_random_lanes *fy_random_lanes_best(void) {
  return NULL;
}
#endif

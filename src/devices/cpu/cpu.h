// SPDX-License-Identifier: Apache-2.0
// cpu.h: the parts of the CPU backend: which CPUs there are, what they can do, who shares threads.

#ifndef FY_DEVICES_CPU_CPU_H
#define FY_DEVICES_CPU_CPU_H

#include "base/pool.h"
#include "base/status.h"
#include "base/str.h"

#define FY_CPU_MAX 1024

typedef struct fy_cpu_list {
  int n;
  int ids[FY_CPU_MAX];  // ascending
} fy_cpu_list;

// cpu_topology.c
// The CPUs this process may use: hwloc's answer (it knows containers) where its library can be
// opened, the scheduler's else. |out_hwloc| (may be NULL) says whether it was hwloc.
void fy_cpu_allowed(fy_cpu_list *out, bool *out_hwloc);
// "0,2-3". INVALID_ARGUMENT names the bad part and the allowed CPUs.
FY_MUST_CHECK fy_code fy_cpu_list_parse(const char *text, const fy_cpu_list *allowed,
                                        fy_cpu_list *out, fy_error *err);
void fy_cpu_list_print(const fy_cpu_list *list, char *buf, size_t size);  // "0-3,6"
bool fy_cpu_list_has(const fy_cpu_list *list, int cpu);
// hwloc's version, or why it cannot be used.
void fy_cpu_hwloc_report(fy_str *out);

// cpu_level.c: the builds of the vector kernels, each for machines that can also run those before it.
typedef enum fy_cpu_level {
  FY_CPU_PLAIN,        // what every x86-64 has; other machines: what the compiler makes of it
  FY_CPU_AVX2,         // and FMA
  FY_CPU_AVX512,       // whose 512-bit products take a cycle each, as two of 256 bits do (Zen 4)
  FY_CPU_AVX512_WIDE,  // the same instructions, two such products in a cycle
  FY_CPU_LEVELS
} fy_cpu_level;
// The best for this CPU, at most what FERRY_CPU (plain, avx2, avx512 or avx512wide) allows: read once.
fy_cpu_level fy_cpu_level_get(void);
FY_MUST_CHECK fy_code fy_cpu_level_check(fy_error *err);  // INVALID_ARGUMENT: FERRY_CPU is no level
void fy_cpu_level_report(fy_str *out);                    // "avx2 kernels (why no better ones)"

// cpu_info.c
typedef struct fy_cpu_facts {
  char model[96];
  char simd[16];  // of the kernels that run
  double ghz;
  int flops_per_cycle;  // float32, per core
  uint64_t l2_bytes, l3_bytes, memory_bytes;
} fy_cpu_facts;
void fy_cpu_facts_get(fy_cpu_facts *out);  // read once per process

// cpu_pools.c: one set of threads per (size, CPUs) in the process, however many sessions there are.
// NULL when memory is short. Threads start at first use and end with the last release.
fy_pool *fy_cpu_pool_acquire(int threads, const fy_cpu_list *cpus);  // |cpus| NULL: unbound
void fy_cpu_pool_release(fy_pool *pool);                             // NULL is fine

#endif

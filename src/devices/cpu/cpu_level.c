// SPDX-License-Identifier: Apache-2.0
// cpu_level.c: which build of the vector kernels runs: the best that this CPU can, at most what
// FERRY_CPU allows. One choice for the process: packed weights and plans depend on it.
//
// Measured (bench/README.md, NOTES.md): avx512 on Zen 4, whose units are 256 bits wide; avx512wide on Zen 5 and
// Granite Rapids. Without AVX-512 they are tested built of AVX2 (cmake/avx512_halves.h) or in an emulator
// (tools/run_avx512.sh).

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "devices/cpu/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define VARIABLE "FERRY_CPU"

static const char *const names[FY_CPU_LEVELS] = {[FY_CPU_PLAIN] = "plain",
                                                 [FY_CPU_AVX2] = "avx2",
                                                 [FY_CPU_AVX512] = "avx512",
                                                 [FY_CPU_AVX512_WIDE] = "avx512wide"};

// The name of the first instruction set that |level| needs and the CPU lacks; NULL: none.
static const char *missing(fy_cpu_level level) {
#if defined(__x86_64__)
#define NEEDS(set) \
  if (!__builtin_cpu_supports(set)) return set
  __builtin_cpu_init();
  if (level >= FY_CPU_AVX2) {  // every such machine converts halves (F16C), too
    NEEDS("avx2");
    NEEDS("fma");
  }
#ifndef FY_AVX512_HALVES
  if (level >= FY_CPU_AVX512) {  // as FERRY_AVX512_OPTIONS says
    NEEDS("avx512f");
    NEEDS("avx512bw");
    NEEDS("avx512vl");
    NEEDS("avx512dq");
  }
#endif
#undef NEEDS
  return NULL;
#else
  return level > FY_CPU_PLAIN ? "x86-64" : NULL;
#endif
}

// AMD's family 19h has 256-bit units: a product of 512 bits takes both.
static bool has_wide_units(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return true;
  const bool amd = b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
  if (!amd || !__get_cpuid(1, &a, &b, &c, &d)) return true;
  const unsigned family = (a >> 8 & 15) + (a >> 20 & 255);
  return family != 0x19;
#else
  return true;
#endif
}

static const char *wish(void) {  // NULL: none
  const char *text = getenv(VARIABLE);
  return text && *text ? text : NULL;
}

// The level that |text| names, or FY_CPU_LEVELS.
static int level_named(const char *text) {
  int i = 0;
  while (i < FY_CPU_LEVELS && strcmp(text, names[i]) != 0) i++;
  return i;
}

static _Atomic int chosen = -1;  // whoever comes first; all would choose the same

fy_cpu_level fy_cpu_level_get(void) {
  int level = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (__builtin_expect(level >= 0, 1)) return (fy_cpu_level)level;
  level = wish() ? level_named(wish()) : FY_CPU_LEVELS;
  if (level == FY_CPU_LEVELS) level = has_wide_units() ? FY_CPU_AVX512_WIDE : FY_CPU_AVX512;
  while (missing((fy_cpu_level)level)) level--;
  int first = -1;
  return (fy_cpu_level)(atomic_compare_exchange_strong(&chosen, &first, level) ? level : first);
}

fy_code fy_cpu_level_check(fy_error *err) {
  if (!wish() || level_named(wish()) < FY_CPU_LEVELS) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "environment variable " VARIABLE
                 ": '%.40s' is none of plain, avx2, avx512, avx512wide",
                 wish());
}

void fy_cpu_level_report(fy_str *out) {
  const fy_cpu_level level = fy_cpu_level_get();
  fy_str_printf(out, "%s kernels (", names[level]);
  if (level < FY_CPU_LEVELS - 1 && missing(level + 1))
    fy_str_printf(out, "%s would need %s, which this CPU lacks)", names[level + 1],
                  missing(level + 1));
  else if (wish() && level < FY_CPU_LEVELS - 1)
    fy_str_printf(out, VARIABLE "=%s allows no more)", names[level]);
  else if (level < FY_CPU_LEVELS - 1)
    fy_str_printf(out, "the best for this CPU, whose units are 256 bits wide)");
  else
    fy_str_add(out, "the best there are)");
}

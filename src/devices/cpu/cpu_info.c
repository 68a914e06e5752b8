// SPDX-License-Identifier: Apache-2.0
// cpu_info.c: what this machine's CPU is, from /proc and /sys. Read once; absent files leave zeros.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "devices/cpu/cpu.h"

#define DEFAULT_GHZ 2.5

// The value of "key : value" in a file of such lines; false if there is none.
static bool read_field(const char *path, const char *key, char *out, size_t size) {
  FILE *f = fopen(path, "re");
  char line[512];
  bool found = false;
  out[0] = 0;
  while (f && !found && fgets(line, sizeof line, f)) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    char *value = strchr(line, ':');
    if (!value) continue;
    value += strspn(value, ": \t");
    value[strcspn(value, "\n")] = 0;
    snprintf(out, size, "%s", value);
    found = true;
  }
  if (f) fclose(f);
  return found;
}

static double read_number(const char *path) {
  char text[64] = "";
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  if (!fgets(text, sizeof text, f)) text[0] = 0;
  fclose(f);
  char *unit;
  double n = strtod(text, &unit);
  return *unit == 'K' ? n * 1024 : *unit == 'M' ? n * 1024 * 1024 : n;
}

static void read_simd(fy_cpu_facts *f) {
  const char *name = "scalar";
  f->flops_per_cycle = 4;
#if defined(__x86_64__)
  static const char *const names[FY_CPU_LEVELS] = {"SSE2", "AVX2", "AVX-512", "AVX-512"};
  name = names[fy_cpu_level_get()];
  static const int flops[FY_CPU_LEVELS] = {16, 32, 32, 64};
  f->flops_per_cycle = flops[fy_cpu_level_get()];
#elif defined(__aarch64__)
  name = "NEON", f->flops_per_cycle = 16;
#endif
  snprintf(f->simd, sizeof f->simd, "%s", name);
}

static fy_cpu_facts facts;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_facts(void) {
  char text[96];
  if (!read_field("/proc/cpuinfo", "model name", facts.model, sizeof facts.model)) {
    snprintf(facts.model, sizeof facts.model, "unknown CPU");
  }
  double khz = read_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (khz > 0)
    facts.ghz = khz / 1e6;
  else if (read_field("/proc/cpuinfo", "cpu MHz", text, sizeof text))
    facts.ghz = strtod(text, NULL) / 1e3;
  if (facts.ghz <= 0) facts.ghz = DEFAULT_GHZ;
  if (read_field("/proc/meminfo", "MemTotal", text, sizeof text)) {
    facts.memory_bytes = (uint64_t)strtoull(text, NULL, 10) * 1024;
  }
  facts.l2_bytes = (uint64_t)read_number("/sys/devices/system/cpu/cpu0/cache/index2/size");
  facts.l3_bytes = (uint64_t)read_number("/sys/devices/system/cpu/cpu0/cache/index3/size");
  read_simd(&facts);
}

void fy_cpu_facts_get(fy_cpu_facts *out) {
  pthread_once(&once, read_facts);
  *out = facts;
}

// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *short_name(const ferry_device *d) {
  const char *p = strstr(d->name, "/device:");
  return p ? p + 8 : d->name;
}

static void print_json(const ferry_runtime *rt) {
  ferry_device d;
  fputs("[", stdout);
  for (int i = 0; i < ferry_device_count(rt); i++) {
    if (ferry_device_get(rt, i, &d)) continue;
    fputs(i ? ",\n  {\"name\": " : "\n  {\"name\": ", stdout);
    cli_json_text(d.name);
    fputs(", \"type\": ", stdout);
    cli_json_text(d.type);
    fputs(", \"backend\": ", stdout);
    cli_json_text(d.backend);
    fputs(", \"description\": ", stdout);
    cli_json_text(d.description);
    printf(
        ", \"simulated\": %s, \"memory_limit\": %llu, \"memory_in_use\": %llu, \"memory_peak\": "
        "%llu, "
        "\"memory_reserved\": %llu, \"largest_free\": %llu, \"flops\": %.17g, "
        "\"memory_bytes_per_s\": %.17g, "
        "\"link_bytes_per_s\": %.17g, \"link_latency_ns\": %.17g, \"launch_ns\": %.17g}",
        d.simulated ? "true" : "false", (unsigned long long)d.memory_limit,
        (unsigned long long)d.memory_in_use, (unsigned long long)d.memory_peak,
        (unsigned long long)d.memory_reserved, (unsigned long long)d.largest_free, d.flops,
        d.memory_bytes_per_s, d.link_bytes_per_s, d.link_latency_ns, d.launch_ns);
  }
  fputs("\n]\n", stdout);
}

static void print_text(const ferry_runtime *rt) {
  ferry_device d;
  char line[512], limit[32];
  snprintf(line, sizeof line, "  %-8s %-8s %11s  %s\n", "DEVICE", "BACKEND", "MEMORY",
           "WHAT IT IS");
  cli_print(line);
  for (int i = 0; i < ferry_device_count(rt); i++) {
    if (ferry_device_get(rt, i, &d)) continue;
    snprintf(line, sizeof line, "  %-8s %-8s %11s  %s\n", short_name(&d), d.backend,
             cli_bytes((double)d.memory_limit, limit), d.description);
    cli_print(line);
  }
}

static int run(int argc, char **argv) {
  bool json;
  if (cli_only_json(&command_devices, argc, argv, &json)) return EXIT_USAGE;
  ferry_runtime *rt;
  if (cli_open(&rt)) return EXIT_FAILED;
  if (json)
    print_json(rt);
  else
    print_text(rt);
  ferry_close(rt);
  return EXIT_OK;
}

const cli_command command_devices = {
    "devices", "the devices that would be used, with their memory",
    "Usage: ferry devices [--json]\n"
    "\n"
    "Lists the devices that the configuration opens. Listing allocates no device memory.\n"
    "\n"
    "Example\n"
    "  ferry devices --sim gpu:2,memory=2GiB\n",
    run};

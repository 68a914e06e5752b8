// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

static int run(int argc, char **argv) {
  bool json;
  if (cli_only_json(&command_transfer, argc, argv, &json)) return EXIT_USAGE;
  ferry_runtime *rt;
  ferry_error err;
  char *text;
  if (cli_open(&rt)) return EXIT_FAILED;
  cli_progress_start("copying");
  int bad = ferry_bench_transfer(rt, json ? FERRY_JSON : FERRY_TEXT, &text, &err);
  cli_progress_stop();
  if (!bad) {
    cli_print(text);
    ferry_free_text(text);
  }
  ferry_close(rt);
  return bad ? cli_fail(NULL, &err) : EXIT_OK;
}

const cli_command command_transfer = {
    "transfer", "measures the links between host and devices, with advice",
    "Usage: ferry bench transfer [--json]\n"
    "\n"
    "Copies to and from every device that has memory of its own: time and bandwidth by size, how "
    "much\n"
    "of two copies happens at once, and from which size on a copy is worth its latency.\n"
    "  --json   for programs; keys are stable\n"
    "\n"
    "Example\n"
    "  ferry bench transfer --sim gpu:1\n",
    run};

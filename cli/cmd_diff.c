// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "cli.h"

enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

static int run(int argc, char **argv) {
  static const cli_option options[] = {
      {"--tolerance", true}, {"--json", false}, {"--quiet", false}};
  cli_args a = {&command_diff, argc, 0, argv};
  const char *value, *paths[2] = {NULL, NULL};
  int n = 0;
  double tolerance = 0;
  bool quiet = false;
  ferry_format format = FERRY_TEXT;
  for (int o; (o = cli_next(&a, options, 3, &value)) != CLI_END;) {
    char *end;
    if (o == CLI_BAD) return EXIT_TROUBLE;
    if (o == CLI_WORD && n == 2) return cli_usage(a.command, "'%s' is one word too many", value);
    if (o == CLI_WORD) paths[n++] = value;
    if (o == 0) {
      tolerance = strtod(value, &end);
      if (end == value || *end || !(tolerance >= 0))
        return cli_usage(a.command, "--tolerance is a number from 0, not '%s'", value);
    }
    if (o == 1) format = FERRY_JSON;
    if (o == 2) quiet = true;
  }
  if (n < 2) return cli_usage(a.command, "two models are compared");
  ferry_error err;
  char *text;
  bool same;
  cli_progress_start("comparing");
  int bad = ferry_diff(paths[0], paths[1], tolerance, format, &same, &text, &err);
  cli_progress_stop();
  if (bad) {
    cli_fail(NULL, &err);
    return EXIT_TROUBLE;
  }
  if (!quiet) cli_print(text);
  ferry_free_text(text);
  return same ? EXIT_SAME : EXIT_DIFFERENT;
}

const cli_command command_diff = {
    "diff", "what differs between two models or checkpoints",
    "Usage: ferry diff A B [--tolerance X] [--json] [--quiet]\n"
    "\n"
    "Compares nodes (operation, inputs, attributes, device), functions, signatures and weights, "
    "each\n"
    "by its name: + is only in B, - only in A, ~ differs. An attribute written with its default\n"
    "value equals one that is left out.\n"
    "  --tolerance X  values nearer than this are equal (0)\n"
    "  --json         for programs\n"
    "  --quiet        only the exit code: 0 the same, 1 different, 2 trouble\n"
    "\n"
    "Example\n"
    "  ferry diff old/ new/ --tolerance 1e-6\n",
    run};

// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

static int run(int argc, char **argv) {
  static const cli_option options[] = {{"--tags", true}, {"--json", false}};
  cli_args a = {&command_inspect, argc, 0, argv};
  const char *value, *path = NULL, *tags = NULL;
  ferry_format format = FERRY_TEXT;
  for (int o; (o = cli_next(&a, options, 2, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD && path) return cli_usage(a.command, "'%s' is one word too many", value);
    if (o == CLI_WORD) path = value;
    if (o == 0) tags = value;
    if (o == 1) format = FERRY_JSON;
  }
  if (!path) return cli_usage(a.command, "which model?");
  ferry_runtime *rt;
  ferry_error err;
  char *text;
  if (cli_open(&rt)) return EXIT_FAILED;
  cli_progress_start("reading");
  int bad = ferry_inspect(rt, path, tags, format, &text, &err);
  cli_progress_stop();
  ferry_close(rt);
  if (bad) return cli_fail(NULL, &err);
  cli_print(text);
  ferry_free_text(text);
  return EXIT_OK;
}

const cli_command command_inspect = {
    "inspect", "what a model is: signatures, operations, weights, what is missing",
    "Usage: ferry inspect MODEL [--tags TAGS] [--json]\n"
    "\n"
    "Looks into a model without loading it: its format and who wrote it, every signature with its\n"
    "inputs and outputs, the operations it uses, those without a kernel here and who needs them,\n"
    "weights, assets, and which devices could run it.\n"
    "MODEL is a SavedModel directory, a GraphDef (binary or text), a .meta file, or a checkpoint\n"
    "(its prefix or .index file), whose tensors are listed.\n"
    "  --tags TAGS  which graph of a SavedModel: serve or serve,gpu (serve, or the only one)\n"
    "  --json       for programs; keys are stable, all lists complete\n"
    "\n"
    "Example\n"
    "  ferry inspect examples/models/half_plus_two\n",
    run};

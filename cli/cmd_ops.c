// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

static int run(int argc, char **argv) {
  static const cli_option options[] = {
      {"--json", false}, {"--missing", false}, {"--markdown", false}};
  cli_args a = {&command_ops, argc, 0, argv};
  const char *value, *op = NULL;
  bool json = false, missing = false, markdown = false;
  for (int o; (o = cli_next(&a, options, 3, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD && op) return cli_usage(a.command, "'%s' is one word too many", value);
    if (o == CLI_WORD) op = value;
    if (o == 0) json = true;
    if (o == 1) missing = true;
    if (o == 2) markdown = true;
  }
  if (missing && (op || json)) return cli_usage(a.command, "--missing stands alone");
  if (markdown && (op || json || missing)) return cli_usage(a.command, "--markdown stands alone");
  ferry_error err;
  char *text;
  if (missing ? ferry_ops_missing(&text, &err)
              : ferry_op_help(op,
                              json       ? FERRY_JSON
                              : markdown ? FERRY_MARKDOWN
                                         : FERRY_TEXT,
                              &text, &err))
    return cli_fail(NULL, &err);
  cli_print(text);
  ferry_free_text(text);
  return EXIT_OK;
}

const cli_command command_ops = {
    "ops", "operations: signature, dtypes, kernels per device",
    "Usage: ferry ops [OP] [--json]\n"
    "       ferry ops --missing\n"
    "       ferry ops --markdown\n"
    "\n"
    "Without OP: every operation that is known, those that run here marked with *.\n"
    "  --missing  only those that are known but have no kernel here, one per line\n"
    "  --markdown docs/ops.md: signature, types, places and notes of all that run here\n"
    "  --json     for programs\n"
    "\n"
    "Example\n"
    "  ferry ops MatMul\n",
    run};

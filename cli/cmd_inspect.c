// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int run(int argc, char **argv) {
  static const cli_option options[] = {{"--json", false}, {"--tags", true}};
  cli_args a = {&command_inspect, argc, 0, argv};
  const char *value, *path = NULL, *tags = NULL;
  bool json = false;
  for (int o; (o = cli_next(&a, options, 2, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == 0) {
      json = true;
    } else if (o == 1) {
      tags = value;
    } else {
      if (path) return cli_usage(a.command, "'%s' is one word too many", value);
      path = value;
    }
  }
  if (!path) return cli_usage(a.command, "which model?");
  cli_model m;
  ferry_error err;
  char *text;
  int code = cli_model_open(path, tags, &m);
  if (code) return code;
  if (!m.model) {
    char *in = NULL, *out = NULL;
    if (ferry_graph_inputs(m.graph, &in) == 0 && ferry_graph_outputs(m.graph, &out) == 0)
      printf("graph of %zu nodes\n  fed    %s\n  gives  %s\n", ferry_graph_size(m.graph), in, out);
    ferry_free_text(in);
    ferry_free_text(out);
  } else if (ferry_model_describe(m.model, json ? FERRY_JSON : FERRY_TEXT, &text, &err)) {
    code = cli_fail(NULL, &err);
  } else {
    cli_print(text);
    ferry_free_text(text);
  }
  cli_model_close(&m);
  return code;
}

const cli_command command_inspect = {
    "inspect", "what a model can be asked: tags, signatures, assets",
    "Usage: ferry inspect MODEL [--tags TAGS] [--json]\n"
    "\n"
    "Loads a SavedModel (its directory), a TensorFlow 1 checkpoint (FILE.meta) or a GraphDef and "
    "says what\nit takes and what it gives.\n"
    "  --tags TAGS  of a SavedModel with several graphs: which one (serve)\n"
    "  --json       for programs\n"
    "\n"
    "Example\n"
    "  ferry inspect exported/\n",
    run};

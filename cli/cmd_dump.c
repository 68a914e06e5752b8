// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "cli.h"

static int run(int argc, char **argv) {
  static const cli_option options[] = {
      {"--after", true}, {"--fetch", true}, {"--feed", true}, {"--shape", true}, {"--batch", true}};
  cli_args a = {&command_dump, argc, 0, argv};
  const char *value, *path = NULL, *stage = "program";
  cli_list fetch = {0}, feed = {0}, shapes = {0};
  int64_t batch = 0;
  int code = EXIT_USAGE;
  for (int o; (o = cli_next(&a, options, 5, &value)) != CLI_END;) {
    if (o == CLI_BAD) goto done;
    if (o == CLI_WORD && path) {
      cli_usage(a.command, "'%s' is one word too many", value);
      goto done;
    }
    if (o == CLI_WORD) path = value;
    if (o == 0) stage = value;
    if (o == 1) cli_list_add(&fetch, ",", value);
    if (o == 2) cli_list_add(&feed, ",", value);
    if (o == 3) cli_list_add(&shapes, ";", value);
    if (o == 4 && (!cli_number(value, &batch) || batch < 1)) {
      cli_usage(a.command, "--batch is a number from 1, not '%s'", value);
      goto done;
    }
  }
  if (!path) {
    cli_usage(a.command, "which graph?");
    goto done;
  }
  cli_model m;
  code = cli_model_open(path, NULL, &m);
  if (code) goto done;
  ferry_error err;
  char *text;
  ferry_request r = {.fetch = fetch.text, .feed = feed.text, .shapes = shapes.text, .batch = batch};
  if (ferry_dump(m.session, &r, stage, &text, &err)) {
    code = cli_fail(NULL, &err);
  } else {
    cli_print(text);
    ferry_free_text(text);
  }
  cli_model_close(&m);
done:
  free(fetch.text);
  free(feed.text);
  free(shapes.text);
  return code;
}

const cli_command command_dump = {
    "dump", "the program after a stage of compiling, as text",
    "Usage: ferry dump GRAPH [--after STAGE] [--fetch NAME] [--feed NAME] [--shape X=[..]] "
    "[--batch N]\n"
    "\n"
    "  --after STAGE     import     the graph as read\n"
    "                    optimize   after the rewrites, which are listed first\n"
    "                    place      every node's device and reason\n"
    "                    partition  the transfers\n"
    "                    memory     when each byte lives, and where\n"
    "                    program    the instructions (the default)\n"
    "  --fetch, --feed, --shape, --batch: as for explain\n"
    "\n"
    "Example\n"
    "  ferry dump examples/models/digits.pb --after optimize --batch 32\n",
    run};

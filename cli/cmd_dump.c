// SPDX-License-Identifier: Apache-2.0
#include "request.h"

static int read_arguments(int argc, char **argv, cli_request *q, const char **path,
                          const char **stage) {
  enum { AFTER = CLI_REQUEST_OPTIONS, NUM_OPTIONS };
  static const cli_option options[NUM_OPTIONS] = {CLI_REQUEST_TABLE, {"--after", true}};
  cli_args a = {&command_dump, argc, 0, argv};
  const char *value;
  int code = EXIT_OK;
  for (int o; !code && (o = cli_next(&a, options, NUM_OPTIONS, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD && *path) return cli_usage(a.command, "'%s' is one word too many", value);
    if (o == CLI_WORD)
      *path = value;
    else if (o == AFTER)
      *stage = value;
    else
      code = cli_request_option(q, a.command, o, value);
  }
  return !code && !*path ? cli_usage(a.command, "which graph?") : code;
}

static int print_dump(const cli_request *q, const char *stage, const cli_model *m) {
  ferry_error err;
  char *text;
  ferry_request r = cli_request_of(q);
  if (ferry_dump(m->session, &r, stage, &text, &err)) return cli_fail(NULL, &err);
  cli_print(text);
  ferry_free_text(text);
  return EXIT_OK;
}

static int run(int argc, char **argv) {
  const char *path = NULL, *stage = "program";
  cli_request q = {0};
  cli_model m;
  int code = read_arguments(argc, argv, &q, &path, &stage);
  if (!code && !(code = cli_model_open(path, q.tags, &m))) {
    code = cli_request_resolve(&q, &m);
    if (!code) code = print_dump(&q, stage, &m);
    cli_model_close(&m);
  }
  cli_request_free(&q);
  return code;
}

const cli_command command_dump = {
    "dump", "the program after a stage of compiling, as text",
    "Usage: ferry dump MODEL [--after STAGE] [--signature NAME] [--tags TAGS] [--fetch NAME]\n"
    "                  [--feed NAME] [--shape X=[..]] [--batch N]\n"
    "\n"
    "  --after STAGE     import     the graph as read\n"
    "                    optimize   after the rewrites, which are listed first\n"
    "                    place      every node's device and reason\n"
    "                    partition  the transfers\n"
    "                    memory     when each byte lives, and where\n"
    "                    program    the instructions (the default)\n"
    "  --signature, --tags, --fetch, --feed, --shape, --batch: as for explain\n"
    "\n"
    "Example\n"
    "  ferry dump examples/models/digits.pb --after optimize --batch 32\n",
    run};

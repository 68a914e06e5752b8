// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <time.h>

#include "cli.h"

static int run(int argc, char **argv) {
  static const cli_option options[] = {{"--once", false}, {"--json", false}};
  cli_args a = {&command_top, argc, 0, argv};
  const char *value;
  bool once = false, json = false;
  for (int o; (o = cli_next(&a, options, 2, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD) return cli_usage(a.command, "'%s' is one word too many", value);
    *(o == 0 ? &once : &json) = true;
  }
  for (;;) {
    ferry_error err;
    char *text;
    if (ferry_top(json ? FERRY_JSON : FERRY_TEXT, &text, &err)) return cli_fail(NULL, &err);
    bool screen = cli_width() > 0 && !once && !json;
    if (screen) fputs("\033[H\033[2J", stdout);
    cli_print(text);
    fflush(stdout);
    ferry_free_text(text);
    if (!screen) return EXIT_OK;  // nobody watches: once is enough
    struct timespec second = {.tv_sec = 1};
    nanosleep(&second, NULL);
  }
}

const cli_command command_top = {"top", "Ferry processes on this machine and the memory they hold",
                                 "Usage: ferry top [--once] [--json]\n"
                                 "\n"
                                 "Lists your processes that run Ferry: what each holds of every "
                                 "device, how busy it kept it\n"
                                 "during about the last second, and its share of a core.\n"
                                 "Processes that were killed disappear by themselves. "
                                 "FERRY_REGISTRY=off in a process's environment\n"
                                 "keeps it out.\n"
                                 "  --once   print once instead of every second\n"
                                 "  --json   for programs; keys are stable\n"
                                 "\n"
                                 "Example\n"
                                 "  ferry top --once\n",
                                 run};

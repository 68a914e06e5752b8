// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli.h"

static void overview(void) {
  cli_print(
      "Usage: ferry COMMAND [ARGUMENTS] [--config TEXT] [--sim TEXT]\n"
      "\n"
      "Runs TensorFlow graphs on the devices of this machine, and says why each thing happens.\n"
      "\n"
      "Commands\n");
  for (size_t i = 0; i < cli_command_count; i++)
    printf("  %-9s %s\n", cli_commands[i]->name, cli_commands[i]->what);
  cli_print(
      "\n"
      "Options of every command\n"
      "  --config TEXT  options as \"key=value; key=value\" or a ConfigProto as text;\n"
      "                 `ferry doctor` lists them with their values\n"
      "  --sim TEXT     simulate GPUs: gpu:1 or gpu:2,memory=2GiB,pcie=12GB/s,lack=float64\n"
      "  --help         help of the command\n"
      "\n"
      "Exit codes: 0 done, 1 the work failed, 2 wrong usage.\n"
      "\n"
      "Example\n"
      "  ferry explain model.pb --batch 32 --sim gpu:1\n");
}

static int run(int argc, char **argv) {
  if (argc < 2) {
    overview();
    return EXIT_OK;
  }
  const cli_command *c = cli_find_command(argv[1]);
  if (!c) return cli_unknown_command(argv[1]);
  cli_print(c->help);
  return EXIT_OK;
}

const cli_command command_help = {"help", "this list, or the help of one command",
                                  "Usage: ferry help [COMMAND]\n"
                                  "\n"
                                  "Example\n"
                                  "  ferry help explain\n",
                                  run};

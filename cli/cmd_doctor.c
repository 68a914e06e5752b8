// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

static int run(int argc, char **argv) {
  bool json;
  if (cli_only_json(&command_doctor, argc, argv, &json)) return EXIT_USAGE;
  ferry_error err;
  char *text;
  if (ferry_doctor(cli_config(), json ? FERRY_JSON : FERRY_TEXT, &text, &err))
    return cli_fail(NULL, &err);
  cli_print(text);
  ferry_free_text(text);
  ferry_runtime *rt;  // a configuration that opens no device is a failure, once it has been shown
  if (ferry_open(cli_config(), &rt, &err)) return cli_fail(NULL, &err);
  ferry_close(rt);
  return EXIT_OK;
}

const cli_command command_doctor = {
    "doctor", "every backend: usable, or exactly why not; the options in force",
    "Usage: ferry doctor [--json]\n"
    "\n"
    "For every backend (cpu, sim, opencl, cuda) says whether it can be used here and, if not, what "
    "was\n"
    "looked for and what the loader or driver answered. Then the devices, the environment and all\n"
    "options with their values. Fails (1) if the configuration opens no device.\n"
    "\n"
    "Example\n"
    "  ferry doctor\n",
    run};

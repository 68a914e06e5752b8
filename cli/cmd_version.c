// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli.h"
#include "tensorflow/c/c_api.h"

static int run(int argc, char **argv) {
  (void)argv;
  if (argc > 1) return cli_usage(&command_version, "it takes no arguments");
  printf("ferry %s (TensorFlow C API %s)\n", ferry_version(), TF_Version());
  return EXIT_OK;
}

const cli_command command_version = {"version",
                                     "Ferry's version and the TensorFlow whose C API it speaks",
                                     "Usage: ferry version\n"
                                     "\n"
                                     "Example\n"
                                     "  ferry version\n",
                                     run};

// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

static int run(int argc, char **argv) {
  cli_args a = {&command_convert, argc, 0, argv};
  const char *value, *paths[2] = {NULL, NULL};
  int n = 0;
  for (int o; (o = cli_next(&a, NULL, 0, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (n == 2) return cli_usage(a.command, "'%s' is one word too many", value);
    paths[n++] = value;
  }
  if (n < 2) return cli_usage(a.command, n ? "convert %s to what?" : "convert what?", paths[0]);
  ferry_error err;
  cli_progress_start("converting");
  int bad = ferry_convert(paths[0], paths[1], &err);
  cli_progress_stop();
  return bad ? cli_fail(NULL, &err) : EXIT_OK;
}

const cli_command command_convert = {
    "convert", "a model or checkpoint in another format",
    "Usage: ferry convert FROM TO\n"
    "\n"
    "The extension of TO says what is written:\n"
    "  .pbtxt      text: of a GraphDef, a SavedModel (its directory or file) or a .meta file\n"
    "  .pb, .meta  binary: of the same\n"
    "  .npz        the tensors of a checkpoint, for NumPy\n"
    "  any other   the prefix of a checkpoint (TensorBundle), from one of version 1 or 2\n"
    "\n"
    "Example\n"
    "  ferry convert examples/models/digits.pb digits.pbtxt\n",
    run};

// SPDX-License-Identifier: Apache-2.0
// request.h: what `explain` and `dump` are asked about: --fetch, --feed, --shape, --batch of one signature.

#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include "cli.h"

typedef struct cli_request {
  cli_list fetch, feed, shapes;
  const char *signature, *tags;
  int64_t batch;
} cli_request;

// First in a command's table of options, so that their places are 0 … CLI_REQUEST_OPTIONS - 1.
#define CLI_REQUEST_TABLE                                                    \
  {"--fetch", true}, {"--feed", true}, {"--shape", true}, {"--batch", true}, \
      {"--signature", true}, {                                               \
    "--tags", true                                                           \
  }
enum { CLI_REQUEST_OPTIONS = 6 };

int cli_request_option(cli_request *q, const cli_command *c, int option, const char *value);
// The names of a signature stand for tensors. A model that has signatures is asked about one, unless
// --fetch names something else.
int cli_request_resolve(cli_request *q, const cli_model *m);
ferry_request cli_request_of(const cli_request *q);
void cli_request_free(cli_request *q);

#endif

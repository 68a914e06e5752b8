// SPDX-License-Identifier: Apache-2.0
// cli.h: what the commands share: reading arguments, errors, tables on a terminal.
// A command is one file with a `const cli_command command_NAME` and one line in commands.inc.
// Exit codes: 0 = done, 1 = the work failed, 2 = wrong usage.

#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/ferry.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct cli_command {
  const char *name;
  const char *what;                   // one line for the list
  const char *help;                   // usage, options, an example
  int (*run)(int argc, char **argv);  // argv[0] is the command's name
} cli_command;

typedef struct cli_option {
  const char *name;  // with its dashes: "--fetch"
  bool takes_value;
} cli_option;

// Walks the arguments of a command. Global options (--config, --sim, --help) were taken out before.
typedef struct cli_args {
  const cli_command *command;
  int argc, at;
  char **argv;
} cli_args;

enum { CLI_END = -1, CLI_WORD = -2, CLI_BAD = -3 };
// The number of the next option in |options|, with its value; CLI_WORD for anything else, which is
// in |*value|; CLI_BAD after saying what is wrong (the command then returns EXIT_USAGE).
int cli_next(cli_args *a, const cli_option *options, size_t n, const char **value);
// The arguments of a command whose only option is --json; EXIT_USAGE after saying what is wrong.
int cli_only_json(const cli_command *c, int argc, char **argv, bool *json);

// "ferry: " and a line on stderr.
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const cli_command *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));               // says it, points to help; EXIT_USAGE
int cli_fail(const char *what, const ferry_error *err);  // says it; EXIT_FAILED
const char *cli_nearest(const char *word, const char *const *names, size_t n);

int cli_open(ferry_runtime **out);  // with the global options; EXIT_OK or says why not
int cli_width(void);                // of the terminal that stdout is; 0 = it is none
bool cli_colors(void);              // stdout is a terminal and nobody said NO_COLOR
void cli_print(const char *text);   // to stdout, with headings and devices coloured on a terminal
bool cli_number(const char *text, int64_t *out);
const char *cli_config(void);  // what --config said, or NULL
bool cli_sim_given(void);      // --sim, and not only the environment, asked to simulate
const char *cli_bytes(double bytes, char out[32]);
void cli_json_text(const char *text);  // quoted and escaped
double cli_now_ms(void);               // of a clock that only goes forward
bool cli_ends_with(const char *text, const char *end);

// Repeated options joined by a separator. The text is the caller's (free).
typedef struct cli_list {
  char *text;
  bool failed;
} cli_list;
void cli_list_add(cli_list *l, const char *separator, const char *item);

// Shows on a terminal that something is still going on if it takes longer than a second.
void cli_progress_start(const char *what);
void cli_progress_stop(void);

// A model of any format, loaded. The graph and session are the model's.
typedef struct cli_model {
  ferry_runtime *rt;
  ferry_model *model;
  ferry_graph *graph;
  ferry_session *session;
} cli_model;
int cli_model_open(const char *path, const char *tags, cli_model *out);  // EXIT_OK or says why not
void cli_model_close(cli_model *m);

#define COMMAND(name) extern const cli_command command_##name;
#include "commands.inc"
#undef COMMAND
extern const cli_command *const cli_commands[];
extern const size_t cli_command_count;
const cli_command *cli_find_command(const char *name);
int cli_unknown_command(const char *name);  // says so, with the nearest one: EXIT_USAGE

#endif

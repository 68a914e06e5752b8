// SPDX-License-Identifier: Apache-2.0
// main.c: finds the command, takes out the global options, and runs it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const cli_command *const cli_commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.inc"
#undef COMMAND
};
const size_t cli_command_count = sizeof cli_commands / sizeof *cli_commands;

static const char *config;
static bool sim_given;

const char *cli_config(void) {
  return config;
}

bool cli_sim_given(void) {
  return sim_given;
}

const cli_command *cli_find_command(const char *name) {
  for (size_t i = 0; i < cli_command_count; i++)
    if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
  return NULL;
}

int cli_unknown_command(const char *name) {
  const char *names[32];
  size_t n = 0;
  for (size_t i = 0; i < cli_command_count && n < 32; i++) names[n++] = cli_commands[i]->name;
  const char *near = cli_nearest(name, names, n);
  cli_error("there is no command '%s'%s%s%s; `ferry help` lists them", name,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
  return EXIT_USAGE;
}

// Takes --config and --sim out of argv wherever they stand; -1 if one lacks its value.
static int take_globals(int argc, char **argv, bool *help) {
  int n = 1;
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i], *value = NULL;
    bool is_config = strncmp(a, "--config", 8) == 0 && (!a[8] || a[8] == '=');
    bool is_sim = strncmp(a, "--sim", 5) == 0 && (!a[5] || a[5] == '=');
    if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
      *help = true;
      continue;
    }
    if (!is_config && !is_sim) {
      argv[n++] = argv[i];
      continue;
    }
    const char *eq = strchr(a, '=');
    value = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
    if (!value) {
      cli_error("%s needs a value, as in --config \"sim=gpu:1\" or --sim gpu:1,memory=2GiB", a);
      return -1;
    }
    sim_given |= is_sim;
    if (is_config)
      config = value;
    else if (setenv("FERRY_SIM", value, 1) != 0)
      return -1;
  }
  argv[n] = NULL;
  return n;
}

int main(int argc, char **argv) {
  bool help = false;
  argc = take_globals(argc, argv, &help);
  if (argc < 0) return EXIT_USAGE;
  const char *name = argc > 1 ? argv[1] : "help";
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
  if (name[0] == '-') {
    cli_error("the command comes first: ferry COMMAND %s …; `ferry help` lists the commands", name);
    return EXIT_USAGE;
  }
  if (strcmp(name, "bench") == 0 && argc > 2 && strcmp(argv[2], "transfer") == 0) {
    name = "transfer";  // `ferry bench MODEL` is about models, this one about links
    argc--;
    argv++;
  }
  const cli_command *c = cli_find_command(name);
  if (!c) return cli_unknown_command(name);
  int code;
  if (help && argc > 1) {
    cli_print(c->help);
    code = EXIT_OK;
  } else {
    code = c->run(argc > 1 ? argc - 1 : 1, argc > 1 ? argv + 1 : argv);
  }
  if (fflush(stdout) != 0 || ferror(stdout)) {
    cli_error("cannot write to standard output");
    return EXIT_FAILED;
  }
  return code;
}

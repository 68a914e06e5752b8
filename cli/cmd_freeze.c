// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli.h"

static bool is_text(const char *path) {
  size_t n = strlen(path);
  return n > 6 && strcmp(path + n - 6, ".pbtxt") == 0;
}

static void print_ends(const char *side, const ferry_model_value *v, int n) {
  for (int i = 0; i < n; i++)
    fprintf(stderr, "ferry: %s %s is %s\n", side, v[i].name, v[i].tensor ? v[i].tensor : "sparse");
}

static int freeze(ferry_model *m, const char *signature, const char *output, bool quiet) {
  ferry_error err;
  ferry_graph *g = NULL;
  const ferry_signature *s;
  char *notes = NULL;
  cli_progress_start("freezing");
  int bad = ferry_model_signature(m, signature, &s, &err);
  if (!bad) bad = ferry_model_freeze(m, signature, &g, &notes, &err);
  if (!bad) bad = ferry_graph_save(g, output, is_text(output), &err);
  cli_progress_stop();
  if (bad) {
    cli_fail(NULL, &err);
  } else if (!quiet) {
    fprintf(stderr, "ferry: %s has %zu nodes\n", output, ferry_graph_size(g));
    print_ends("input", s->inputs, s->num_inputs);
    print_ends("output", s->outputs, s->num_outputs);
    for (const char *p = notes; *p;) {
      size_t n = strcspn(p, "\n");
      fprintf(stderr, "ferry: %.*s\n", (int)n, p);
      p += n + (p[n] == '\n');
    }
  }
  ferry_free_text(notes);
  ferry_graph_free(g);
  return bad ? EXIT_FAILED : EXIT_OK;
}

static int run(int argc, char **argv) {
  static const cli_option options[] = {
      {"--output", true}, {"--signature", true}, {"--tags", true}, {"--quiet", false}};
  cli_args a = {&command_freeze, argc, 0, argv};
  const char *value, *path = NULL, *output = NULL, *signature = NULL, *tags = NULL;
  bool quiet = false;
  for (int o; (o = cli_next(&a, options, 4, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD && path) return cli_usage(a.command, "'%s' is one word too many", value);
    if (o == CLI_WORD) path = value;
    if (o == 0) output = value;
    if (o == 1) signature = value;
    if (o == 2) tags = value;
    if (o == 3) quiet = true;
  }
  if (!path) return cli_usage(a.command, "which model?");
  if (!output) return cli_usage(a.command, "--output GRAPH.pb says where to write");
  cli_model m;
  int code = cli_model_open(path, tags, &m);
  if (code) return code;
  code = freeze(m.model, signature, output, quiet);
  cli_model_close(&m);
  return code;
}

const cli_command command_freeze = {
    "freeze", "a model's signature as one graph with its weights inside",
    "Usage: ferry freeze MODEL --output GRAPH.pb [--signature NAME] [--tags TAGS] [--quiet]\n"
    "\n"
    "Writes what a signature needs as a GraphDef that TensorFlow and Ferry run without anything\n"
    "else: variables become constants, functions are kept, tables are filled before the first\n"
    "lookup. MODEL is a SavedModel or a .meta file with its checkpoint beside it.\n"
    "  --output FILE     where to write: .pb, or .pbtxt as text\n"
    "  --signature NAME  which one (serving_default, or the only one)\n"
    "  --tags TAGS       which graph of a SavedModel (serve, or the only one)\n"
    "  --quiet           do not say which tensors are its inputs and outputs\n"
    "\n"
    "Example\n"
    "  ferry freeze examples/models/half_plus_two --output half_plus_two.pb\n",
    run};

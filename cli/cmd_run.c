// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"

#define MAX_NAMES 256

typedef struct job {
  const char *path, *output, *signature, *tags;
  char *feed_names[MAX_NAMES];
  ferry_tensor *feeds[MAX_NAMES];
  const char *feed_paths[MAX_NAMES];
  char *fetch_names[MAX_NAMES];
  ferry_tensor *results[MAX_NAMES];
  int num_feeds, num_fetches;
  int64_t timeout_ms, repeat, elements;
  bool quiet;
} job;

static char *copy_of(const char *text, size_t n) {
  char *c = malloc(n + 1);
  if (c) {
    memcpy(c, text, n);
    c[n] = 0;
  }
  return c;
}

static int add_feed(job *j, const char *value) {
  const char *eq = strchr(value, '=');
  if (!eq || eq == value || !eq[1])
    return cli_usage(&command_run, "--feed is NAME=FILE.npy, not '%s'", value);
  if (j->num_feeds == MAX_NAMES) return cli_usage(&command_run, "more than %d feeds", MAX_NAMES);
  j->feed_paths[j->num_feeds] = eq + 1;
  j->feed_names[j->num_feeds] = copy_of(value, (size_t)(eq - value));
  if (!j->feed_names[j->num_feeds]) return EXIT_FAILED;
  j->num_feeds++;
  return EXIT_OK;
}

static int add_fetches(job *j, const char *value) {
  while (*value) {
    value += strspn(value, ", ");
    size_t n = strcspn(value, ", ");
    if (!n) break;
    if (j->num_fetches == MAX_NAMES)
      return cli_usage(&command_run, "more than %d fetches", MAX_NAMES);
    if (!(j->fetch_names[j->num_fetches] = copy_of(value, n))) return EXIT_FAILED;
    j->num_fetches++;
    value += n;
  }
  return EXIT_OK;
}

// "1500", "1500ms", "2s".
static bool read_timeout(const char *text, int64_t *out) {
  char *end;
  double n = strtod(text, &end);
  if (end == text || !(n > 0) || n > 1e12) return false;
  if (strcmp(end, "s") == 0)
    n *= 1000;
  else if (*end && strcmp(end, "ms") != 0)
    return false;
  *out = n < 1 ? 1 : (int64_t)n;
  return true;
}

static int read_arguments(int argc, char **argv, job *j) {
  static const cli_option options[] = {
      {"--feed", true},    {"--fetch", true},     {"--output", true},
      {"--timeout", true}, {"--repeat", true},    {"--print", true},
      {"--quiet", false},  {"--signature", true}, {"--tags", true}};
  cli_args a = {&command_run, argc, 0, argv};
  const char *value;
  int code = EXIT_OK;
  j->repeat = 1;
  j->elements = 20;
  for (int o; !code && (o = cli_next(&a, options, 9, &value)) != CLI_END;) {
    switch (o) {
      case CLI_BAD: return EXIT_USAGE;
      case CLI_WORD:
        if (j->path) return cli_usage(a.command, "'%s' is one word too many", value);
        j->path = value;
        break;
      case 0: code = add_feed(j, value); break;
      case 1: code = add_fetches(j, value); break;
      case 2: j->output = value; break;
      case 3:
        if (!read_timeout(value, &j->timeout_ms))
          return cli_usage(a.command, "--timeout is 500ms or 2s, not '%s'", value);
        break;
      case 4:
        if (!cli_number(value, &j->repeat) || j->repeat < 1)
          return cli_usage(a.command, "--repeat is a number from 1, not '%s'", value);
        break;
      case 5:
        if (!cli_number(value, &j->elements) || j->elements < 1)
          return cli_usage(a.command, "--print is a number of elements, not '%s'", value);
        break;
      case 6: j->quiet = true; break;
      case 7: j->signature = value; break;
      default: j->tags = value; break;
    }
  }
  if (!code && !j->path) return cli_usage(a.command, "which graph?");
  return code;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void free_results(job *j) {
  for (int i = 0; i < j->num_fetches; i++) {
    ferry_tensor_free(j->results[i]);
    j->results[i] = NULL;
  }
}

static int run_graph(job *j, ferry_session *s) {
  ferry_error err;
  double *times = malloc((size_t)j->repeat * sizeof *times);
  if (!times) return EXIT_FAILED;
  int bad = 0;
  cli_progress_start("running");
  for (int64_t i = 0; i < j->repeat && !bad; i++) {
    free_results(j);
    double start = now_ms();
    bad = ferry_run(s, j->num_feeds, (const char *const *)j->feed_names, j->feeds, j->num_fetches,
                    (const char *const *)j->fetch_names, j->results, j->timeout_ms, &err);
    times[i] = now_ms() - start;
  }
  cli_progress_stop();
  if (bad) {
    free(times);
    return cli_fail(NULL, &err);
  }
  double first = times[0];
  qsort(times, (size_t)j->repeat, sizeof *times, ascending);
  if (!j->quiet && j->repeat > 1)
    fprintf(stderr, "ferry: first run %.3f ms, then median %.3f ms, best %.3f ms of %lld\n", first,
            times[j->repeat / 2], times[0], (long long)j->repeat);
  free(times);
  return EXIT_OK;
}

// What ran where, in one line, on stderr: standard output stays the result.
static void print_summary(const job *j, ferry_session *s) {
  cli_list fetch = {0}, shapes = {0};
  for (int i = 0; i < j->num_fetches; i++) cli_list_add(&fetch, ",", j->fetch_names[i]);
  for (int i = 0; i < j->num_feeds; i++) {
    char text[512];
    int n = snprintf(text, sizeof text, "%.200s=[", j->feed_names[i]);
    for (int d = 0; d < ferry_tensor_rank(j->feeds[i]) && n < 480; d++)
      n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", d ? "," : "",
                    (long long)ferry_tensor_dim(j->feeds[i], d));
    snprintf(text + n, sizeof text - (size_t)n, "]");
    cli_list_add(&shapes, ";", text);
  }
  cli_list feed = {0};
  for (int i = 0; i < j->num_feeds; i++) cli_list_add(&feed, ",", j->feed_names[i]);
  char *line;
  ferry_request r = {.fetch = fetch.text, .feed = feed.text, .shapes = shapes.text};
  if (ferry_summary(s, &r, &line, NULL) == 0) {
    fprintf(stderr, "ferry: %s\n", line);
    ferry_free_text(line);
  }
  free(fetch.text);
  free(shapes.text);
  free(feed.text);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

// What the user calls results: keys where a signature gives them.
static char *shown_names[MAX_NAMES];
static const char *shown(const job *j, int i) {
  return shown_names[i] ? shown_names[i] : j->fetch_names[i];
}

static int save_results(const job *j) {
  ferry_error err;
  if (ends_with(j->output, ".npy")) {
    if (j->num_fetches != 1)
      return cli_usage(&command_run, "%d fetches need a directory as --output", j->num_fetches);
    return ferry_tensor_save(j->results[0], j->output, &err) ? cli_fail(NULL, &err) : EXIT_OK;
  }
  if (mkdir(j->output, 0777) != 0 && errno != EEXIST) {
    cli_error("cannot make the directory %s: %s", j->output, strerror(errno));
    return EXIT_FAILED;
  }
  for (int i = 0; i < j->num_fetches; i++) {
    char path[4096];
    if (!j->results[i]) continue;
    snprintf(path, sizeof path, "%s/%s.npy", j->output, shown(j, i));
    for (char *p = path + strlen(j->output) + 1; *p; p++)
      if (*p == '/' || *p == ':') *p = '_';
    if (ferry_tensor_save(j->results[i], path, &err)) return cli_fail(NULL, &err);
    if (!j->quiet) printf("%s\n", path);
  }
  return EXIT_OK;
}

static void print_results(const job *j) {
  for (int i = 0; i < j->num_fetches; i++) {
    char *text;
    if (!j->results[i])
      printf("%s ran\n", shown(j, i));
    else if (ferry_tensor_text(j->results[i], j->elements, &text) == 0) {
      printf("%s = %s\n", shown(j, i), text);
      ferry_free_text(text);
    }
  }
}

// Keys of a signature stand for tensors: replaces those of |names| that are keys.
static int resolve_keys(const job *j, const ferry_model *m, bool input, char **names, int n) {
  for (int i = 0; i < n; i++) {
    const char *tensor = ferry_model_tensor(m, j->signature, input, names[i]);
    if (!tensor) continue;  // may be the name of a node
    char *copy = copy_of(tensor, strlen(tensor));
    if (!copy) return EXIT_FAILED;
    free(names[i]);
    names[i] = copy;
  }
  return EXIT_OK;
}

static int use_signature(job *j, const ferry_model *m) {
  ferry_error err;
  int code = EXIT_OK;
  if (!j->num_fetches) {
    char *keys = NULL;
    if (ferry_model_keys(m, j->signature, false, &keys, &err)) return cli_fail(NULL, &err);
    code = add_fetches(j, keys);
    ferry_free_text(keys);
  }
  for (int i = 0; !code && i < j->num_fetches; i++)
    if (!(shown_names[i] = copy_of(j->fetch_names[i], strlen(j->fetch_names[i]))))
      code = EXIT_FAILED;
  if (!code) code = resolve_keys(j, m, true, j->feed_names, j->num_feeds);
  if (!code) code = resolve_keys(j, m, false, j->fetch_names, j->num_fetches);
  return code;
}

static int work(job *j) {
  cli_model m;
  ferry_error err;
  int code = cli_model_open(j->path, j->tags, &m);
  if (code) return code;
  for (int i = 0; i < j->num_feeds && !code; i++)
    if (ferry_tensor_load(j->feed_paths[i], &j->feeds[i], &err)) code = cli_fail(NULL, &err);
  char *outputs = NULL;
  if (!code && m.model) code = use_signature(j, m.model);
  if (!code && !j->num_fetches) {
    if (ferry_graph_outputs(m.graph, &outputs) == 0) code = add_fetches(j, outputs);
    ferry_free_text(outputs);
    if (!code && !j->num_fetches)
      code = cli_usage(&command_run, "the graph has no output: name one with --fetch");
  }
  if (!code) code = run_graph(j, m.session);
  if (!code && !j->quiet) print_summary(j, m.session);
  if (!code) {
    if (j->output)
      code = save_results(j);
    else
      print_results(j);
  }
  free_results(j);
  for (int i = 0; i < j->num_feeds; i++) ferry_tensor_free(j->feeds[i]);
  cli_model_close(&m);
  return code;
}

static int run(int argc, char **argv) {
  static job j;  // large, and there is one per process
  int code = read_arguments(argc, argv, &j);
  if (!code) code = work(&j);
  for (int i = 0; i < j.num_feeds; i++) free(j.feed_names[i]);
  for (int i = 0; i < j.num_fetches; i++) {
    free(j.fetch_names[i]);
    free(shown_names[i]);
  }
  return code;
}

const cli_command command_run = {
    "run", "run a graph or a model on .npy files",
    "Usage: ferry run GRAPH|MODEL --feed NAME=FILE.npy … [--fetch NAME …] [--output DIR|FILE.npy]\n"
    "                 [--timeout TIME] [--repeat N] [--print N] [--quiet]\n"
    "\n"
    "Runs a GraphDef (binary or text), a SavedModel (its directory) or a TensorFlow 1 checkpoint "
    "(FILE.meta).\nOf a model, feeds and fetches are keys of a signature. Results go to standard "
    "output, what ran where to standard "
    "error.\n"
    "  --feed NAME=FILE.npy  value of a placeholder (or of any other output: x:1=…)\n"
    "  --fetch NAME          what to compute: y or y:1, repeated or comma-separated; else every "
    "output\n"
    "  --output PATH         save as PATH if it ends in .npy, else as PATH/NAME.npy\n"
    "  --signature KEY       of a model: which one (serving_default)\n"
    "  --tags TAGS           of a SavedModel with several graphs: which one (serve)\n"
    "  --timeout TIME        give up after 500ms or 2s\n"
    "  --repeat N            run N times and report the time\n"
    "  --print N             print up to N elements of each result (20)\n"
    "  --quiet               only results and errors\n"
    "\n"
    "Example\n"
    "  ferry run examples/models/digits.pb --feed x=examples/models/digits_x.npy --fetch digit\n",
    run};

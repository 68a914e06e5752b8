// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "input.h"
#include "output.h"

#define MAX_NAMES 256

typedef struct job {
  const char *path, *tags, *signature;
  input_set inputs;  // --input, for a signature
  input_options reading;
  output_options writing;
  char *feed_names[MAX_NAMES];
  ferry_tensor *feeds[MAX_NAMES];
  const char *feed_paths[MAX_NAMES];
  char *fetch_names[MAX_NAMES];
  char *shown_names[MAX_NAMES];  // what the user calls a fetch, where a signature names it; or NULL
  ferry_tensor *results[MAX_NAMES];
  int num_feeds, num_fetches;
  int64_t timeout_ms, repeat;
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

enum {
  FEED,
  FETCH,
  OUTPUT,
  TIMEOUT,
  REPEAT,
  PRINT,
  QUIET,
  INPUT,
  SIGNATURE,
  TAGS,
  SCALE,
  RESIZE,
  TOP,
  LABELS,
  NUM_OPTIONS
};
static const cli_option options[NUM_OPTIONS] = {
    [FEED] = {"--feed", true},
    [FETCH] = {"--fetch", true},
    [OUTPUT] = {"--output", true},
    [TIMEOUT] = {"--timeout", true},
    [REPEAT] = {"--repeat", true},
    [PRINT] = {"--print", true},
    [QUIET] = {"--quiet", false},
    [INPUT] = {"--input", true},
    [SIGNATURE] = {"--signature", true},
    [TAGS] = {"--tags", true},
    [SCALE] = {"--scale", true},
    [RESIZE] = {"--resize", false},
    [TOP] = {"--top", true},
    [LABELS] = {"--labels", true},
};

static int add_input(job *j, const char *value) {
  if (j->inputs.num_given == INPUT_MAX)
    return cli_usage(&command_run, "more than %d inputs", INPUT_MAX);
  j->inputs.given[j->inputs.num_given++] = value;
  return EXIT_OK;
}

static int read_option(job *j, int option, const char *value) {
  const cli_command *c = &command_run;
  switch (option) {
    case FEED: return add_feed(j, value);
    case FETCH: return add_fetches(j, value);
    case INPUT: return add_input(j, value);
    case OUTPUT: j->writing.path = value; return EXIT_OK;
    case SIGNATURE: j->signature = value; return EXIT_OK;
    case TAGS: j->tags = value; return EXIT_OK;
    case LABELS: j->writing.labels = value; return EXIT_OK;
    case RESIZE: j->reading.resize = true; return EXIT_OK;
    case SCALE:
      if (input_scale(value, &j->reading)) return EXIT_OK;
      return cli_usage(c, "--scale is 1/255, 0.5, 0..1 or -1..1, not '%s'", value);
    case TIMEOUT:
      if (read_timeout(value, &j->timeout_ms)) return EXIT_OK;
      return cli_usage(c, "--timeout is 500ms or 2s, not '%s'", value);
    case REPEAT:
      if (cli_number(value, &j->repeat) && j->repeat >= 1) return EXIT_OK;
      return cli_usage(c, "--repeat is a number from 1, not '%s'", value);
    case PRINT:
      if (cli_number(value, &j->writing.elements) && j->writing.elements >= 1) return EXIT_OK;
      return cli_usage(c, "--print is a number of elements, not '%s'", value);
    case TOP:
      if (cli_number(value, &j->writing.top) && j->writing.top >= 1) return EXIT_OK;
      return cli_usage(c, "--top is a number from 1, not '%s'", value);
    default: j->quiet = true; return EXIT_OK;
  }
}

static int read_arguments(int argc, char **argv, job *j) {
  cli_args a = {&command_run, argc, 0, argv};
  const char *value;
  int code = EXIT_OK;
  bool more_inputs = false;  // words after --input are more of it: --input x=a.png b.png
  j->repeat = 1;
  j->writing.elements = 20;
  j->reading.scale = 1;
  for (int o; !code && (o = cli_next(&a, options, NUM_OPTIONS, &value)) != CLI_END;) {
    if (o == CLI_BAD) return EXIT_USAGE;
    if (o == CLI_WORD && !j->path)
      j->path = value;
    else if (o == CLI_WORD && more_inputs)
      code = cli_usage(a.command, "'%s': every file has its own --input NAME=FILE", value);
    else if (o == CLI_WORD)
      return cli_usage(a.command, "'%s' is one word too many", value);
    else
      code = read_option(j, o, value);
    more_inputs = o == INPUT;
  }
  if (!code && !j->path) return cli_usage(a.command, "which graph?");
  if (!code && j->num_feeds && j->inputs.num_given)
    return cli_usage(a.command,
                     "--feed names tensors of the graph, --input inputs of a signature: "
                     "use one of them");
  return code;
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

// One run: by tensors of the graph, or by a signature if there is one.
static int run_once(job *j, const cli_model *m, const char *signature, ferry_error *err) {
  if (!signature)
    return ferry_run(m->session, j->num_feeds, (const char *const *)j->feed_names, j->feeds,
                     j->num_fetches, (const char *const *)j->fetch_names, j->results, j->timeout_ms,
                     err);
  return ferry_model_run(m->model, signature, j->inputs.n, j->inputs.names, j->inputs.tensors,
                         j->num_fetches, (const char *const *)j->fetch_names, j->results,
                         j->timeout_ms, err);
}

// What to do about it, where the message itself (TensorFlow's) does not say so.
static int fail(const job *j, const ferry_error *err) {
  cli_fail(NULL, err);
  if (strstr(err->text, "You must feed a value"))
    cli_error("give it with --input NAME=SOURCE%s", j->num_fetches > 1
                                                        ? ", or ask with --fetch only for what "
                                                          "does not need it"
                                                        : "");
  else if (strstr(err->text, "was fed") && j->num_feeds && j->feed_paths[0])
    cli_error("--feed takes arrays as they are; --input converts numbers to the wanted type");
  else if (strstr(err->text, "uninitialized value") || strstr(err->text, "does not exist. "))
    cli_error(
        "the graph has variables but no values for them: run the SavedModel or the .meta "
        "file, which have");
  return EXIT_FAILED;
}

static int run_all(job *j, const cli_model *m, const char *signature) {
  ferry_error err;
  double *times = calloc((size_t)j->repeat, sizeof *times);
  if (!times) return EXIT_FAILED;
  int bad = 0;
  cli_progress_start("running");
  for (int64_t i = 0; i < j->repeat && !bad; i++) {
    free_results(j);
    double start = cli_now_ms();
    bad = run_once(j, m, signature, &err);
    times[i] = cli_now_ms() - start;
  }
  cli_progress_stop();
  if (bad) {
    free(times);
    return fail(j, &err);
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
static void print_summary(ferry_session *s, int num_feeds, const char *const *feeds,
                          ferry_tensor *const *values, int num_fetches,
                          const char *const *fetches) {
  cli_list fetch = {0}, feed = {0}, shapes = {0};
  for (int i = 0; i < num_fetches; i++) cli_list_add(&fetch, ",", fetches[i]);
  for (int i = 0; i < num_feeds; i++) {
    char text[512];
    int n = snprintf(text, sizeof text, "%.200s=[", feeds[i]);
    for (int d = 0; d < ferry_tensor_rank(values[i]) && n < 480; d++)
      n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", d ? "," : "",
                    (long long)ferry_tensor_dim(values[i], d));
    snprintf(text + n, sizeof text - (size_t)n, "]");
    cli_list_add(&shapes, ";", text);
    cli_list_add(&feed, ",", feeds[i]);
  }
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

// What a signature gives, if nobody asked for something else.
static int signature_fetches(job *j, const ferry_signature *s) {
  if (j->num_fetches) return EXIT_OK;
  for (int i = 0; i < s->num_outputs && i < MAX_NAMES; i++) {
    j->fetch_names[i] = copy_of(s->outputs[i].name, strlen(s->outputs[i].name));
    if (!j->fetch_names[i]) return EXIT_FAILED;
    j->num_fetches = i + 1;
  }
  return EXIT_OK;
}

static int default_fetches(job *j, const cli_model *m) {
  char *outputs = NULL;
  int code = EXIT_OK;
  struct stat st;
  bool file = stat(j->path, &st) == 0 && !S_ISDIR(st.st_mode);
  if (!file || cli_ends_with(j->path, ".meta"))  // leaves out what saves and restores
    code = signature_fetches(j, ferry_model_signature_at(m->model, 0));
  if (code || j->num_fetches) return code;
  if (ferry_graph_outputs(m->graph, &outputs) == 0) code = add_fetches(j, outputs);
  ferry_free_text(outputs);
  if (!code && !j->num_fetches)
    return cli_usage(&command_run, "the graph has no output: name one with --fetch");
  return code;
}

static int finish(job *j, const cli_model *m) {
  j->writing.rt = m->rt;
  j->writing.quiet = j->quiet;
  const char *names[MAX_NAMES];
  for (int i = 0; i < j->num_fetches; i++)
    names[i] = j->shown_names[i] ? j->shown_names[i] : j->fetch_names[i];
  return output_results(&j->writing, j->num_fetches, names, j->results);
}

static const char *tensor_of(const ferry_model_value *v, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(v[i].name, name) == 0 && v[i].tensor) return v[i].tensor;
  return name;
}

// Names of a signature stand for tensors among --feed and --fetch too; others are the graph's.
static int resolve_names(job *j, const ferry_signature *s) {
  for (int i = 0; i < j->num_feeds; i++) {
    const char *tensor = tensor_of(s->inputs, s->num_inputs, j->feed_names[i]);
    char *copy = copy_of(tensor, strlen(tensor));
    if (!copy) return EXIT_FAILED;
    free(j->feed_names[i]);
    j->feed_names[i] = copy;
  }
  if (signature_fetches(j, s)) return EXIT_FAILED;
  for (int i = 0; i < j->num_fetches; i++) {
    const char *tensor = tensor_of(s->outputs, s->num_outputs, j->fetch_names[i]);
    char *copy = copy_of(tensor, strlen(tensor));
    if (!copy) return EXIT_FAILED;
    j->shown_names[i] = j->fetch_names[i];
    j->fetch_names[i] = copy;
  }
  return EXIT_OK;
}

// Feeds and fetches by the names of the graph.
static int run_graph(job *j, const cli_model *m) {
  ferry_error err;
  int code = EXIT_OK;
  for (int i = 0; i < j->num_feeds && !code; i++)
    if (!j->feeds[i] && ferry_tensor_load(j->feed_paths[i], &j->feeds[i], &err)) {
      code = cli_fail(NULL, &err);
      cli_error("--feed reads .npy files; --input %s=%s takes values and other files",
                j->feed_names[i], j->feed_paths[i]);
    }
  if (!code) code = default_fetches(j, m);
  if (!code) code = run_all(j, m, NULL);
  if (!code && !j->quiet)
    print_summary(m->session, j->num_feeds, (const char *const *)j->feed_names, j->feeds,
                  j->num_fetches, (const char *const *)j->fetch_names);
  return code ? code : finish(j, m);
}

// Inputs and outputs by the names of a signature.
static int run_signature(job *j, const cli_model *m, const ferry_signature *s) {
  const char *feeds[INPUT_MAX], *fetches[MAX_NAMES];
  int code = EXIT_OK;
  j->reading.rt = m->rt;
  code = input_read(&j->inputs, s, &j->reading);
  if (!code) code = signature_fetches(j, s);
  if (!code && strcmp(s->name, "default") == 0) {  // a plain graph: any node may be fetched
    for (int i = 0; i < j->inputs.n && !code; i++) {
      j->feed_names[i] = copy_of(j->inputs.names[i], strlen(j->inputs.names[i]));
      if (!j->feed_names[i]) return EXIT_FAILED;
      j->feeds[i] = j->inputs.tensors[i];
      j->num_feeds = i + 1;
    }
    j->inputs.n = 0;  // theirs now
    return code ? code : run_graph(j, m);
  }
  if (!code) code = run_all(j, m, s->name);
  for (int i = 0; i < j->inputs.n; i++)
    feeds[i] = tensor_of(s->inputs, s->num_inputs, j->inputs.names[i]);
  for (int i = 0; i < j->num_fetches; i++)
    fetches[i] = tensor_of(s->outputs, s->num_outputs, j->fetch_names[i]);
  if (!code && !j->quiet)
    print_summary(m->session, j->inputs.n, feeds, j->inputs.tensors, j->num_fetches, fetches);
  return code ? code : finish(j, m);
}

static int work(job *j) {
  cli_model m;
  ferry_error err;
  const ferry_signature *s = NULL;
  int code = cli_model_open(j->path, j->tags, &m);
  if (code) return code;
  bool plain = strcmp(ferry_model_signature_at(m.model, 0)->name, "default") == 0;
  bool by_graph = !j->inputs.num_given && (j->num_feeds || j->num_fetches || plain);
  // A graph is fine without; who feeds and fetches tensors need not choose among signatures.
  if (ferry_model_signature(m.model, j->signature, &s, &err) && (j->signature || !by_graph))
    code = cli_fail(NULL, &err);
  if (!code && by_graph && s && !plain) code = resolve_names(j, s);
  if (!code) code = by_graph ? run_graph(j, &m) : run_signature(j, &m, s);
  free_results(j);
  for (int i = 0; i < j->num_feeds; i++) ferry_tensor_free(j->feeds[i]);
  input_free(&j->inputs);
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
    free(j.shown_names[i]);
  }
  return code;
}

const cli_command command_run = {
    "run", "run a model on files or values",
    "Usage: ferry run MODEL [--signature NAME] --input NAME=SOURCE … [--output PATH] [--top N]\n"
    "       ferry run GRAPH --feed NAME=FILE.npy … [--fetch NAME …] [--output PATH]\n"
    "\n"
    "Runs a SavedModel, a .meta file with its checkpoint, or a GraphDef (binary or text). Results "
    "go\n"
    "to standard output, what ran where to standard error.\n"
    "  --signature NAME      what to call (serving_default, or the only one)\n"
    "  --tags TAGS           which graph of a SavedModel (serve, or the only one)\n"
    "  --input NAME=SOURCE   value of an input; several for one NAME are a batch. SOURCE is a "
    "file,\n"
    "                        - (standard input), or a value: 3, '\"text\"', '[[1,2],[3,4]]'. "
    "Files:\n"
    "                        .npy .npz  arrays\n"
    "                        .csv .txt  rows of numbers; for a string input, cells or lines\n"
    "                        .json      nested lists, or as TensorFlow Serving takes them\n"
    "                        .png .jpg  images, as uint8 or as float 0..255\n"
    "  --input FILE          .npz, .json or .csv with a header: values by the names of the inputs\n"
    "  --scale S             of images that become floats: 1/255, 0..1 or -1..1\n"
    "  --resize              images of another size are resized (bilinear)\n"
    "  --feed NAME=FILE.npy  value of a placeholder (or of any other output: x:1=…), or of an "
    "input\n"
    "  --fetch NAME          what to compute: y or y:1, repeated or comma-separated; else every "
    "output\n"
    "  --output PATH         save as PATH if it ends in .npy, .npz or .json, else as "
    "PATH/NAME.npy\n"
    "  --top N               the N largest of each row, with their places\n"
    "  --labels FILE         names for these places, one per line\n"
    "  --timeout TIME        give up after 500ms or 2s\n"
    "  --repeat N            run N times and report the time\n"
    "  --print N             print up to N elements of each result (20)\n"
    "  --quiet               only results and errors\n"
    "\n"
    "Example\n"
    "  ferry run examples/models/half_plus_two --input 'x=[1, 2, 3]'\n"
    "  ferry run mobilenet/ --input keras_tensor=cat.jpg --resize --scale -1..1 --top 5\n"
    "  ferry run examples/models/digits.pb --feed x=examples/models/digits_x.npy --fetch digit\n",
    run};

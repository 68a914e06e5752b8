// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "input.h"

enum { MAX_BATCHES = 16, MAX_OUTPUTS = 256, STRING = 7 };

typedef struct bench_job {
  const char *path, *tags, *signature, *threads;
  input_set inputs;
  input_options reading;
  int64_t batches[MAX_BATCHES];
  int num_batches;
  double seconds;
  bool json;
} bench_job;

typedef struct measured {
  int64_t batch;
  int runs;
  double first_ms, min_ms, median_ms, p90_ms, p99_ms, mean_ms;
  uint64_t planned_peak;
} measured;

// ------------------------------------------------------------------ arguments
static int read_batches(bench_job *j, const char *value) {
  for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',') {
    char *end;
    long n = strtol(p, &end, 10);
    if (end == p || (*end && *end != ',') || n < 1 || j->num_batches == MAX_BATCHES)
      return cli_usage(&command_bench, "--batch is 1 or 1,8,32, not '%s'", value);
    j->batches[j->num_batches++] = n;
  }
  return EXIT_OK;
}

static int read_arguments(int argc, char **argv, bench_job *j) {
  static const cli_option options[] = {
      {"--signature", true}, {"--tags", true},    {"--batch", true},
      {"--seconds", true},   {"--threads", true}, {"--input", true},
      {"--json", false},     {"--scale", true},   {"--resize", false}};
  cli_args a = {&command_bench, argc, 0, argv};
  const char *value;
  char *end;
  int64_t threads;
  j->seconds = 5;
  j->reading.scale = 1;
  for (int o; (o = cli_next(&a, options, 9, &value)) != CLI_END;) {
    switch (o) {
      case CLI_BAD: return EXIT_USAGE;
      case CLI_WORD:
        if (j->path) return cli_usage(a.command, "'%s' is one word too many", value);
        j->path = value;
        break;
      case 0: j->signature = value; break;
      case 1: j->tags = value; break;
      case 2:
        if (read_batches(j, value)) return EXIT_USAGE;
        break;
      case 3:
        j->seconds = strtod(value, &end);
        if (end == value || *end || !(j->seconds > 0) || j->seconds > 3600)
          return cli_usage(a.command, "--seconds is a number up to 3600, not '%s'", value);
        break;
      case 4:
        if (!cli_number(value, &threads) || threads < 1)
          return cli_usage(a.command, "--threads is a number from 1, not '%s'", value);
        j->threads = value;
        break;
      case 5:
        if (j->inputs.num_given == INPUT_MAX) return cli_usage(a.command, "too many inputs");
        j->inputs.given[j->inputs.num_given++] = value;
        break;
      case 6: j->json = true; break;
      case 7:
        if (!input_scale(value, &j->reading))
          return cli_usage(a.command, "--scale is 1/255, 0..1 or -1..1, not '%s'", value);
        break;
      default: j->reading.resize = true; break;
    }
  }
  if (!j->path) return cli_usage(a.command, "which model?");
  if (!j->num_batches) j->batches[j->num_batches++] = 1;
  return EXIT_OK;
}

// ------------------------------------------------------------------ inputs
static uint64_t random_bits(uint64_t *state) {  // the same numbers at every run
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Numbers that no model minds: floats of 0..1, integers of 0 and 1 (they may be indices).
static ferry_tensor *random_input(ferry_runtime *rt, const ferry_model_value *v, int64_t batch) {
  int64_t dims[254];
  ferry_tensor *t = NULL;
  ferry_error err;
  uint64_t state = 88172645463325252ull;
  int rank = v->rank < 0 ? 1 : v->rank;
  bool plain_float = v->dtype == 1 || v->dtype == 2 || v->dtype == 14 || v->dtype == 19;
  for (int i = 0; i < rank && i < 254; i++)
    dims[i] = v->rank < 0 ? batch : v->dims[i] >= 0 ? v->dims[i] : i == 0 ? batch : 1;
  int dtype = plain_float ? 1 : v->dtype;
  int bad = v->dtype == STRING ? ferry_tensor_strings(rank, dims, NULL, &t, &err)
                               : ferry_tensor_new(dtype, rank, dims, NULL, &t, &err);
  for (int64_t i = 0; !bad && i < ferry_tensor_count(t); i++) {
    uint64_t r = random_bits(&state) >> 40;
    if (v->dtype == STRING)
      bad = ferry_tensor_set_string(t, i, "the quick brown fox", 19, &err);
    else if (dtype == 1)
      ((float *)ferry_tensor_data(t))[i] = (float)r / (float)(1 << 24);
    else
      break;  // integers stay zero: an index that always exists
  }
  if (bad) {
    cli_fail(v->name, &err);
    return NULL;
  }
  return input_cast(rt, v->name, t, v);
}

static int fill_inputs(bench_job *j, const ferry_signature *s, int64_t batch, input_set *out) {
  *out = j->inputs;
  out->n = 0;
  if (input_read(out, s, &j->reading)) return EXIT_FAILED;
  for (int i = 0; i < s->num_inputs; i++) {
    bool given = s->inputs[i].optional;
    for (int k = 0; k < out->n; k++) given |= strcmp(out->names[k], s->inputs[i].name) == 0;
    if (given) continue;
    ferry_tensor *t = random_input(j->reading.rt, &s->inputs[i], batch);
    if (!t) return EXIT_FAILED;
    out->names[out->n] = s->inputs[i].name;
    out->tensors[out->n++] = t;
  }
  return EXIT_OK;
}

// ------------------------------------------------------------------ measuring
static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double run_once(const cli_model *m, const ferry_signature *s, const input_set *in,
                       ferry_error *err) {
  ferry_tensor *results[MAX_OUTPUTS];
  double start = cli_now_ms();
  if (ferry_model_run(m->model, s->name, in->n, in->names, in->tensors, s->num_outputs, NULL,
                      results, 0, err))
    return -1;
  double ms = cli_now_ms() - start;
  for (int i = 0; i < s->num_outputs; i++) ferry_tensor_free(results[i]);
  return ms;
}

static void progress(int64_t batch, double done, double all, int runs) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r\033[Kferry: batch %lld: %.1f of %.1f s, %d runs", (long long)batch,
            done / 1e3, all / 1e3, runs);
}

static uint64_t planned_peak(const cli_model *m, const ferry_signature *s, const input_set *in) {
  cli_list feed = {0}, fetch = {0}, shapes = {0};
  ferry_prediction p;
  uint64_t peak = 0;
  for (int i = 0; i < in->n; i++)
    for (int k = 0; k < s->num_inputs; k++) {
      char text[512];
      if (strcmp(in->names[i], s->inputs[k].name) != 0 || !s->inputs[k].tensor) continue;
      int n = snprintf(text, sizeof text, "%.200s=[", s->inputs[k].tensor);
      for (int d = 0; d < ferry_tensor_rank(in->tensors[i]) && n < 480; d++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", d ? "," : "",
                      (long long)ferry_tensor_dim(in->tensors[i], d));
      snprintf(text + n, sizeof text - (size_t)n, "]");
      cli_list_add(&feed, ",", s->inputs[k].tensor);
      cli_list_add(&shapes, ";", text);
    }
  for (int i = 0; i < s->num_outputs; i++)
    if (s->outputs[i].tensor) cli_list_add(&fetch, ",", s->outputs[i].tensor);
  ferry_request r = {.fetch = fetch.text, .feed = feed.text, .shapes = shapes.text};
  if (ferry_predict(m->session, &r, &p, NULL) == 0)
    for (int i = 0; i < p.num_devices; i++) peak += p.devices[i].peak_bytes;
  free(feed.text);
  free(fetch.text);
  free(shapes.text);
  return peak;
}

static int measure(bench_job *j, const cli_model *m, const ferry_signature *s, int64_t batch,
                   measured *out) {
  input_set in;
  ferry_error err;
  size_t cap = 1024, n = 0;
  double *times = malloc(cap * sizeof *times), sum = 0, start, shown = 0;
  int code = fill_inputs(j, s, batch, &in);
  *out = (measured){.batch = batch};
  if (!times) code = EXIT_FAILED;
  if (!code && (out->first_ms = run_once(m, s, &in, &err)) < 0) {
    code = cli_fail(NULL, &err);
    if (!j->inputs.num_given)
      cli_error(
          "its inputs were made up: give values that it can work on with --input NAME=SOURCE");
  }
  // Warm up for a tenth of the time, at least two runs.
  start = cli_now_ms();
  for (int i = 0; !code && (i < 2 || cli_now_ms() - start < j->seconds * 100); i++)
    if (run_once(m, s, &in, &err) < 0) code = cli_fail(NULL, &err);
  start = cli_now_ms();
  while (!code && (n < 3 || cli_now_ms() - start < j->seconds * 1e3)) {
    if (n == cap) {
      double *more = realloc(times, 2 * cap * sizeof *times);
      if (!more) break;
      times = more;
      cap *= 2;
    }
    times[n] = run_once(m, s, &in, &err);
    if (times[n] < 0) {
      code = cli_fail(NULL, &err);
      break;
    }
    sum += times[n++];
    if (cli_now_ms() - shown > 200) {
      shown = cli_now_ms();
      progress(batch, shown - start, j->seconds * 1e3, (int)n);
    }
  }
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
  if (!code) {
    qsort(times, n, sizeof *times, ascending);
    out->runs = (int)n;
    out->min_ms = times[0];
    out->median_ms = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
    out->p90_ms = times[(n - 1) * 90 / 100];
    out->p99_ms = times[(n - 1) * 99 / 100];
    out->mean_ms = sum / (double)n;
    out->planned_peak = planned_peak(m, s, &in);
  }
  input_free(&in);
  free(times);
  return code;
}

// ------------------------------------------------------------------ saying
static uint64_t peak_resident(void) {
  struct rusage u;
  return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

// What the process holds now.
static uint64_t resident(void) {
  char line[128] = "", *end = line;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return 0;
  if (!fgets(line, sizeof line, f)) line[0] = '\0';
  fclose(f);
  strtoull(line, &end, 10);  // all of it, then what is resident
  unsigned long long pages = strtoull(end, NULL, 10);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void print_text(const bench_job *j, const ferry_signature *s, double load_ms,
                       const measured *r) {
  char a[32], b[32], line[256];
  printf("%s, signature %s: loaded in %.1f ms; resident memory %s, at most %s\n", j->path, s->name,
         load_ms, cli_bytes((double)resident(), a), cli_bytes((double)peak_resident(), b));
  snprintf(line, sizeof line, "  %6s %9s %9s %9s %9s %9s %12s %7s %12s\n", "BATCH", "FIRST ms",
           "MIN ms", "MEDIAN", "P90", "P99", "PER SECOND", "RUNS", "PLANNED PEAK");
  cli_print(line);
  for (int i = 0; i < j->num_batches; i++)
    printf("  %6lld %9.3f %9.3f %9.3f %9.3f %9.3f %12.1f %7d %12s\n", (long long)r[i].batch,
           r[i].first_ms, r[i].min_ms, r[i].median_ms, r[i].p90_ms, r[i].p99_ms,
           (double)r[i].batch * 1e3 / r[i].mean_ms, r[i].runs,
           cli_bytes((double)r[i].planned_peak, a));
}

static void print_json(const bench_job *j, const ferry_signature *s, double load_ms,
                       const measured *r) {
  fputs("{\"model\": ", stdout);
  cli_json_text(j->path);
  fputs(", \"signature\": ", stdout);
  cli_json_text(s->name);
  printf(
      ", \"load_ms\": %.6g, \"resident_bytes\": %llu, \"peak_resident_bytes\": %llu, "
      "\"batches\": [",
      load_ms, (unsigned long long)resident(), (unsigned long long)peak_resident());
  for (int i = 0; i < j->num_batches; i++)
    printf(
        "%s\n  {\"batch\": %lld, \"runs\": %d, \"first_ms\": %.6g, \"min_ms\": %.6g, "
        "\"median_ms\": %.6g, \"p90_ms\": %.6g, \"p99_ms\": %.6g, \"mean_ms\": %.6g, "
        "\"per_second\": %.6g, \"planned_peak_bytes\": %llu}",
        i ? "," : "", (long long)r[i].batch, r[i].runs, r[i].first_ms, r[i].min_ms, r[i].median_ms,
        r[i].p90_ms, r[i].p99_ms, r[i].mean_ms, (double)r[i].batch * 1e3 / r[i].mean_ms,
        (unsigned long long)r[i].planned_peak);
  fputs("\n]}\n", stdout);
}

static int work(bench_job *j) {
  cli_model m;
  ferry_error err;
  const ferry_signature *s;
  measured results[MAX_BATCHES];
  double start = cli_now_ms();
  int code = cli_model_open(j->path, j->tags, &m);
  if (code) return code;
  double load_ms = cli_now_ms() - start;
  j->reading.rt = m.rt;
  if (ferry_model_signature(m.model, j->signature, &s, &err)) code = cli_fail(NULL, &err);
  if (!code && s->num_outputs > MAX_OUTPUTS)
    code = cli_usage(&command_bench, "signature %s has more than %d outputs", s->name, MAX_OUTPUTS);
  for (int i = 0; i < j->num_batches && !code; i++)
    code = measure(j, &m, s, j->batches[i], &results[i]);
  if (!code && j->json)
    print_json(j, s, load_ms, results);
  else if (!code)
    print_text(j, s, load_ms, results);
  cli_model_close(&m);
  return code;
}

static int run(int argc, char **argv) {
  static bench_job j;  // large, and there is one per process
  int code = read_arguments(argc, argv, &j);
  if (code) return code;
  if (j.threads && setenv("TF_NUM_INTRAOP_THREADS", j.threads, 1) != 0) return EXIT_FAILED;
  return work(&j);
}

const cli_command command_bench = {
    "bench", "how fast a model runs here: latency, throughput, memory",
    "Usage: ferry bench MODEL [--signature NAME] [--batch 1,8] [--seconds 5] [--threads N]\n"
    "                   [--input NAME=SOURCE …] [--tags TAGS] [--json]\n"
    "\n"
    "Loads a model and calls a signature again and again: the time of loading and of the first "
    "run,\n"
    "then, after a warm-up, the fastest, median, 90th and 99th percentile, and what is done per\n"
    "second; the planned peak of memory and what the process really took.\n"
    "Inputs are random floats of 0..1, zeros for integers and a short text for strings, of the "
    "shape\n"
    "that the signature says (an open first dimension is the batch, other open ones are 1).\n"
    "  --signature NAME     what to call (serving_default, or the only one)\n"
    "  --batch N,N          sizes of the batch, each measured (1)\n"
    "  --seconds S          how long for each (5)\n"
    "  --threads N          of one operation\n"
    "  --input NAME=SOURCE  own values, as for run\n"
    "  --json               for programs; keys are stable\n"
    "\n"
    "Example\n"
    "  ferry bench examples/models/half_plus_two --batch 1,64 --seconds 1\n",
    run};

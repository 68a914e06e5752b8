// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

typedef struct question {
  const char *path, *why;
  cli_request about;
  bool memory, json, sweep, time;
  const char *svg;
} question;

static int read_arguments(int argc, char **argv, question *q) {
  enum { WHY = CLI_REQUEST_OPTIONS, MEMORY, JSON, SWEEP, TIME, SVG, NUM_OPTIONS };
  static const cli_option options[NUM_OPTIONS] = {
      CLI_REQUEST_TABLE,        {"--why", true},        {"--memory", false}, {"--json", false},
      {"--sweep-batch", false}, {"--over-time", false}, {"--svg", true}};
  cli_args a = {&command_explain, argc, 0, argv};
  const char *value;
  int code = EXIT_OK;
  for (int o; !code && (o = cli_next(&a, options, NUM_OPTIONS, &value)) != CLI_END;) {
    switch (o) {
      case CLI_BAD: return EXIT_USAGE;
      case CLI_WORD:
        if (q->path) return cli_usage(a.command, "'%s' is one word too many", value);
        q->path = value;
        break;
      case WHY: q->why = value; break;
      case MEMORY: q->memory = true; break;
      case JSON: q->json = true; break;
      case SWEEP: q->sweep = true; break;
      case TIME: q->time = true; break;
      case SVG: q->svg = value; break;
      default: code = cli_request_option(&q->about, a.command, o, value); break;
    }
  }
  if (code) return code;
  if (!q->path) return cli_usage(a.command, "which graph?");
  q->memory |= q->sweep || q->time;
  if (q->svg && !q->memory) return cli_usage(a.command, "--svg is for --memory");
  if (q->why && q->memory) return cli_usage(a.command, "--why and --memory are two questions");
  return EXIT_OK;
}

static void print_largest(const char *device, int64_t batch, bool spills, bool exact) {
  const char *without = spills ? " (without spilling)" : "";
  if (batch > 0 && !exact)
    printf(
        "\nThe memory of %s runs out first: a batch of %lld should fit, larger ones may not%s.\n",
        device, (long long)batch, without);
  else if (batch > 0)
    printf("\nThe memory of %s runs out first: a batch of %lld still fits, %lld does not%s.\n",
           device, (long long)batch, (long long)batch + 1, without);
  else if (batch == 0)
    printf("\nThe memory of %s runs out first: not even a batch of 1 fits%s.\n", device, without);
  else
    printf("\nThe memory of %s is too small%s.\n", device, without);
}

static void memory_text(const ferry_prediction *p) {
  char a[32], b[32], c[32], d[32], e[32], line[512];
  snprintf(line, sizeof line, "  %-7s %11s %11s %13s %11s %11s %13s  %s\n", "DEVICE", "WEIGHTS",
           "PLANNED", "FEEDS+RESULTS", "PEAK", "LIMIT", "LARGEST BATCH", "FULLEST AT");
  cli_print(line);
  for (int i = 0; i < p->num_devices; i++) {
    const struct ferry_device_prediction *m = &p->devices[i];
    char batch[32] = "-";
    // Variables are weights, too; where they wait elsewhere for a part of the run, less of them is here.
    const uint64_t variables =
        m->variables_bytes < m->other_bytes ? m->variables_bytes : m->other_bytes;
    if (m->largest_batch >= 0) snprintf(batch, sizeof batch, "%lld", (long long)m->largest_batch);
    snprintf(line, sizeof line, "  %-7s %11s %11s %13s %11s %11s %13s  %s\n", m->device,
             cli_bytes((double)(m->weights_bytes + variables), a),
             cli_bytes((double)m->planned_bytes, b),
             cli_bytes((double)(m->other_bytes - variables), c),
             cli_bytes((double)m->peak_bytes, d),
             m->limit_bytes ? cli_bytes((double)m->limit_bytes, e) : "none", batch,
             *m->peak_node ? m->peak_node : "-");
    cli_print(line);
  }
  for (int i = 0; i < p->num_devices; i++)
    if (p->devices[i].packed_bytes)
      printf(
          "  (%s: feeds and results with %s of weights as kernels pack them at their second use)\n",
          p->devices[i].device, cli_bytes((double)p->devices[i].packed_bytes, a));
  for (int i = 0; i < p->num_devices; i++)
    if (!p->devices[i].exact)
      printf("  (%s: an estimate, as some sizes or branches depend on the data)\n",
             p->devices[i].device);
  ferry_mapped mapped;
  if (!ferry_mapped_weights(&mapped, NULL) && mapped.tensors)
    printf("  (%s of the host's weights are %llu tensors that lie in their file, mapped)\n",
           cli_bytes((double)mapped.bytes, a), (unsigned long long)mapped.tensors);
  if (p->spill_copies)
    printf("\nMemory is short: %lld copies of %s per run make room, about %.1f us (spill=auto).\n",
           (long long)p->spill_copies, cli_bytes((double)p->spill_bytes, a), p->spill_ns / 1e3);
  if (p->spill_file_bytes)
    printf(
        "\nHost memory is short too: %s of planned tensors are in a file (spill=auto, "
        "spill_dir).\n",
        cli_bytes((double)p->spill_file_bytes, a));
  if (*p->first_exhausted) {
    for (int i = 0; i < p->num_devices; i++)
      if (strcmp(p->devices[i].device, p->first_exhausted) == 0)
        print_largest(p->first_exhausted, p->devices[i].largest_batch,
                      p->spill_copies || p->spill_file_bytes, p->devices[i].exact);
  } else {
    printf("\nNo memory runs out as the batch grows, or the graph has no batch dimension.\n");
  }
}

static void memory_json(const ferry_prediction *p) {
  ferry_mapped mapped;
  if (ferry_mapped_weights(&mapped, NULL)) mapped.bytes = 0;
  fputs("{\"devices\": [", stdout);
  for (int i = 0; i < p->num_devices; i++) {
    const struct ferry_device_prediction *m = &p->devices[i];
    fputs(i ? ",\n  {\"device\": " : "\n  {\"device\": ", stdout);
    cli_json_text(m->device);
    printf(
        ", \"weights_bytes\": %llu, \"planned_bytes\": %llu, \"other_bytes\": %llu, "
        "\"peak_bytes\": %llu, \"limit_bytes\": %llu, \"variables_bytes\": %llu, "
        "\"packed_bytes\": %llu, \"scratch_bytes\": %llu, \"allocator_bytes\": %llu, "
        "\"exact\": %s, \"largest_batch\": ",
        (unsigned long long)m->weights_bytes, (unsigned long long)m->planned_bytes,
        (unsigned long long)m->other_bytes, (unsigned long long)m->peak_bytes,
        (unsigned long long)m->limit_bytes, (unsigned long long)m->variables_bytes,
        (unsigned long long)m->packed_bytes, (unsigned long long)m->scratch_bytes,
        (unsigned long long)m->allocator_bytes, m->exact ? "true" : "false");
    if (m->largest_batch < 0)
      fputs("null", stdout);
    else
      printf("%lld", (long long)m->largest_batch);
    fputs(", \"peak_node\": ", stdout);
    cli_json_text(m->peak_node);
    putchar('}');
  }
  fputs("\n], \"first_exhausted\": ", stdout);
  if (*p->first_exhausted)
    cli_json_text(p->first_exhausted);
  else
    fputs("null", stdout);
  printf(
      ", \"transfers\": %lld, \"transfer_bytes\": %lld, \"compute_ns\": %.17g, \"transfer_ns\": "
      "%.17g, \"spill_copies\": %lld, \"spill_bytes\": %lld, \"spill_ns\": %.17g, "
      "\"spill_file_bytes\": %llu, \"mapped_bytes\": %llu}\n",
      (long long)p->transfers, (long long)p->transfer_bytes, p->compute_ns, p->transfer_ns,
      (long long)p->spill_copies, (long long)p->spill_bytes, p->spill_ns,
      (unsigned long long)p->spill_file_bytes, (unsigned long long)mapped.bytes);
}

static int answer(const question *q, const cli_model *m) {
  ferry_error err;
  ferry_request r = cli_request_of(&q->about);
  r.width = cli_width();
  ferry_format format = q->json ? FERRY_JSON : FERRY_TEXT;
  if (q->memory && (q->sweep || q->time || q->svg)) {
    char *text;
    cli_progress_start("planning");
    int bad = ferry_memory_chart(m->session, &r, q->sweep ? FERRY_CHART_BATCH : FERRY_CHART_TIME,
                                 q->svg != NULL, &text, &err);
    cli_progress_stop();
    if (bad) return cli_fail(NULL, &err);
    if (q->svg) {
      FILE *f = fopen(q->svg, "w");
      bool written = f && fputs(text, f) >= 0;
      if ((f && fclose(f)) || !written) {
        ferry_free_text(text);
        cli_error("cannot write %s", q->svg);
        return EXIT_FAILED;
      }
    } else {
      cli_print(text);
    }
    ferry_free_text(text);
    if (q->svg) return EXIT_OK;
  }
  if (q->memory) {
    ferry_prediction p;
    cli_progress_start("planning");
    int bad = ferry_predict(m->session, &r, &p, &err);
    cli_progress_stop();
    if (bad) return cli_fail(NULL, &err);
    if (q->json)
      memory_json(&p);
    else
      memory_text(&p);
    return EXIT_OK;
  }
  char *text;
  if (q->why ? ferry_why(m->session, &r, q->why, format, &text, &err)
             : ferry_explain(m->session, &r, format, &text, &err))
    return cli_fail(NULL, &err);
  cli_print(text);
  ferry_free_text(text);
  return EXIT_OK;
}

static int run(int argc, char **argv) {
  question q = {0};
  cli_model m;
  int code = read_arguments(argc, argv, &q);
  if (!code) code = cli_model_open(q.path, q.about.tags, &m);
  if (!code) {
    code = cli_request_resolve(&q.about, &m);
    if (!code) code = answer(&q, &m);
    cli_model_close(&m);
  }
  cli_request_free(&q.about);
  return code;
}

const cli_command command_explain = {
    "explain", "where every node runs and why, transfers, memory; without running",
    "Usage: ferry explain MODEL [--signature NAME] [--tags TAGS] [--fetch NAME] [--feed NAME]\n"
    "                     [--shape X=[32,784]] [--batch N] [--json]\n"
    "                     [--why NODE | --memory [--over-time] [--sweep-batch] [--svg FILE]]\n"
    "\n"
    "Compiles what a run would execute and reports it. MODEL is a GraphDef, binary or text, a\n"
    "SavedModel or a .meta file.\n"
    "  --signature S  of a SavedModel: whose outputs (serving_default, or the only one)\n"
    "  --tags TAGS    which graph of a SavedModel (serve, or the only one)\n"
    "  --fetch NAME   what would be fetched: y or y:1, repeated or comma-separated; else every "
    "output\n"
    "  --feed NAME    what would be fed besides the placeholders that are needed\n"
    "  --shape X=[..] shape of a feed or of a signature's input, ? for what is not known; "
    "repeated\n"
    "                 for several\n"
    "  --batch N      takes the place of unknown leading dimensions\n"
    "  --why NODE     one node's story: its device, the reason, what other devices say, its "
    "transfers\n"
    "                 (of a node inside a function, the end of its name will do: dense/MatMul)\n"
    "  --memory       memory per device, the largest batch that fits, and which memory runs out "
    "first\n"
    "  --over-time    with --memory: a chart over the instructions of one run\n"
    "  --sweep-batch  with --memory: a chart over batch sizes 1, 2, 4 ...\n"
    "  --svg FILE     the chart as a picture\n"
    "  --json         for programs; keys are stable\n"
    "\n"
    "Example\n"
    "  ferry explain examples/models/digits.pb --batch 4096 --sim gpu:1\n"
    "  ferry explain examples/models/digits.pb --batch 4096 --sim gpu:1 --why hidden1\n",
    run};

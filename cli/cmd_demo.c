// SPDX-License-Identifier: Apache-2.0
// cmd_demo.c: Ferry's main job in a second: a small bundled network that reads handwritten digits,
// on the CPU and one simulated GPU. A batch of one stays on the CPU because moving it would cost
// more than it saves; a large batch goes to the GPU. Both decisions are shown with their reasons.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define PIXELS      64
#define LARGE_BATCH 4096
#define SIM         "gpu:1,memory=256MiB"

typedef struct demo {
  char directory[PATH_MAX];
  cli_model model;
  ferry_tensor *x, *y;  // [samples, 64] uint8, [samples] int64
  int64_t samples;
} demo;

// Beside the installed program, in the source tree, or where FERRY_MODELS says.
static bool find_models(char out[PATH_MAX]) {
  char exe[PATH_MAX / 2], path[PATH_MAX];
  const char *said = getenv("FERRY_MODELS");
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[n > 0 ? n : 0] = 0;
  char *slash = strrchr(exe, '/');
  if (slash) *slash = 0;
  static const char *const below[] = {"/../share/ferry/models", "/../../examples/models",
                                      "/../../../examples/models"};
  for (int i = said ? -1 : 0; i < 4; i++) {
    if (i < 0)
      snprintf(out, PATH_MAX, "%s", said);
    else if (i < 3)
      snprintf(out, PATH_MAX, "%s%s", exe, below[i]);
    else
      snprintf(out, PATH_MAX, "examples/models");
    snprintf(path, sizeof path, "%.*s/digits.pb", PATH_MAX - 16, out);
    if (access(path, R_OK) != 0) continue;
    if (realpath(out, path)) snprintf(out, PATH_MAX, "%s", path);
    return true;
  }
  return false;
}

static int open_demo(demo *d) {
  ferry_error err;
  char path[PATH_MAX + 32];
  if (!find_models(d->directory)) {
    cli_error("the bundled model digits.pb was not found; set FERRY_MODELS to its directory");
    return EXIT_FAILED;
  }
  snprintf(path, sizeof path, "%s/digits.pb", d->directory);
  if (cli_model_open(path, NULL, &d->model)) return EXIT_FAILED;
  snprintf(path, sizeof path, "%s/digits_x.npy", d->directory);
  if (ferry_tensor_load(path, &d->x, &err)) return cli_fail(NULL, &err);
  snprintf(path, sizeof path, "%s/digits_y.npy", d->directory);
  if (ferry_tensor_load(path, &d->y, &err)) return cli_fail(NULL, &err);
  d->samples = ferry_tensor_dim(d->x, 0);
  return EXIT_OK;
}

static void close_demo(demo *d) {
  ferry_tensor_free(d->x);
  ferry_tensor_free(d->y);
  cli_model_close(&d->model);
}

static void heading(const char *text) {
  printf(cli_colors() ? "\n\033[1;36m== %s\033[0m\n\n" : "\n== %s\n\n", text);
}

static int explain(const demo *d, int64_t batch) {
  ferry_error err;
  char *text;
  ferry_request r = {.fetch = "digit, probability", .batch = batch, .width = cli_width()};
  if (ferry_explain(d->model.session, &r, FERRY_TEXT, &text, &err)) return cli_fail(NULL, &err);
  cli_print(text);
  ferry_free_text(text);
  return EXIT_OK;
}

static int summary(const demo *d, int64_t batch) {
  ferry_error err;
  char *text;
  ferry_request r = {.fetch = "digit, probability", .batch = batch};
  if (ferry_summary(d->model.session, &r, &text, &err)) return cli_fail(NULL, &err);
  printf("batch of %-5lld %s\n", (long long)batch, text);
  ferry_free_text(text);
  return EXIT_OK;
}

// Runs |count| samples, repeating the bundled ones as often as needed. Results are the caller's.
static int classify(const demo *d, int64_t count, ferry_tensor *results[2]) {
  static const char *const feed[] = {"x"}, *const fetch[] = {"digit", "probability"};
  ferry_error err;
  ferry_tensor *x;
  int64_t dims[2] = {count, PIXELS};
  if (ferry_tensor_new(ferry_tensor_dtype(d->x), 2, dims, NULL, &x, &err))
    return cli_fail(NULL, &err);
  unsigned char *to = ferry_tensor_data(x), *from = ferry_tensor_data(d->x);
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * PIXELS, from + i % d->samples * PIXELS, PIXELS);
  int bad = ferry_run(d->model.session, 1, feed, &x, 2, fetch, results, 0, &err);
  ferry_tensor_free(x);
  return bad ? cli_fail(NULL, &err) : EXIT_OK;
}

static int accuracy(const demo *d) {
  ferry_tensor *r[2];
  if (classify(d, d->samples, r)) return EXIT_FAILED;
  const int64_t *got = ferry_tensor_data(r[0]), *want = ferry_tensor_data(d->y);
  int64_t right = 0;
  for (int64_t i = 0; i < d->samples; i++) right += got[i] == want[i];
  printf("%lld of %lld digits that the network never saw are right (%.1f %%)\n", (long long)right,
         (long long)d->samples, 100.0 * (double)right / (double)d->samples);
  ferry_tensor_free(r[0]);
  ferry_tensor_free(r[1]);
  return right * 10 >= d->samples * 9 ? EXIT_OK : EXIT_FAILED;
}

static int one_digit(const demo *d) {
  static const char shades[] = " .:-=+*#%@";
  ferry_tensor *r[2];
  if (classify(d, 1, r)) return EXIT_FAILED;
  int64_t digit = *(int64_t *)ferry_tensor_data(r[0]);
  const float *p = ferry_tensor_data(r[1]);
  const unsigned char *pixels = ferry_tensor_data(d->x);
  for (int row = 0; row < 8; row++) {
    fputs("    ", stdout);
    for (int col = 0; col < 8; col++) {
      int shade = pixels[row * 8 + col] * 9 / 16;
      putchar(shades[shade]);
      putchar(shades[shade]);
    }
    if (row == 3) printf("    it is a %lld, with probability %.3f", (long long)digit, p[digit]);
    if (row == 4)
      printf("    (the label says %lld)", (long long)*(int64_t *)ferry_tensor_data(d->y));
    putchar('\n');
  }
  ferry_tensor_free(r[0]);
  ferry_tensor_free(r[1]);
  return EXIT_OK;
}

static int large_batch(const demo *d) {
  ferry_tensor *r[2] = {NULL, NULL};
  ferry_stats before, after;
  ferry_session_stats(d->model.session, &before);
  if (classify(d, LARGE_BATCH, r)) return EXIT_FAILED;
  ferry_session_stats(d->model.session, &after);
  ferry_tensor_free(r[0]);
  ferry_tensor_free(r[1]);
  char a[32], b[32], c[32];
  printf(
      "\nCounted while running it: %lld to the device (%s), %lld back (%s); %s of weights stay "
      "there.\n",
      (long long)(after.transfers_to_device - before.transfers_to_device),
      cli_bytes((double)(after.bytes_to_device - before.bytes_to_device), a),
      (long long)(after.transfers_to_host - before.transfers_to_host),
      cli_bytes((double)(after.bytes_to_host - before.bytes_to_host), b),
      cli_bytes((double)(after.constant_bytes - before.constant_bytes), c));
  return EXIT_OK;
}

static int memory(const demo *d) {
  ferry_error err;
  ferry_prediction p;
  ferry_request r = {.fetch = "digit, probability", .batch = LARGE_BATCH};
  if (ferry_predict(d->model.session, &r, &p, &err)) return cli_fail(NULL, &err);
  for (int i = 0; i < p.num_devices; i++) {
    char a[32], b[32], batch[64] = "no batch is too large";
    const struct ferry_device_prediction *m = &p.devices[i];
    if (m->largest_batch >= 0)
      snprintf(batch, sizeof batch, "the largest batch that fits is %lld",
               (long long)m->largest_batch);
    printf("%-6s %s of %s in use at the peak; %s\n", m->device, cli_bytes((double)m->peak_bytes, a),
           cli_bytes((double)m->limit_bytes, b), batch);
  }
  if (*p.first_exhausted) printf("%s runs out first\n", p.first_exhausted);
  return EXIT_OK;
}

static int show(const demo *d) {
  printf(
      "A network that reads 8 x 8 digits (%zu nodes), on this machine's CPU and a simulated GPU.\n",
      ferry_graph_size(d->model.graph));
  heading("One image: is the GPU worth the trip?");
  int code = explain(d, 1);
  if (!code) heading("4096 images at once");
  if (!code) code = explain(d, LARGE_BATCH);
  if (!code) code = large_batch(d);
  if (!code) heading("Where is the border?");
  for (int64_t batch = 1; !code && batch <= LARGE_BATCH; batch *= 8) code = summary(d, batch);
  if (!code) heading("Memory, planned before anything runs");
  if (!code) code = memory(d);
  if (!code) heading("The result");
  if (!code) code = one_digit(d);
  if (!code) putchar('\n');
  if (!code) code = accuracy(d);
  if (!code)
    printf("\nAsk more:  ferry explain %s/digits.pb --batch 4096 --sim " SIM " --why hidden1\n",
           d->directory);
  return code;
}

static int run(int argc, char **argv) {
  (void)argv;
  static demo d;
  if (argc > 1) return cli_usage(&command_demo, "it takes no arguments");
  if (!cli_config() && setenv("FERRY_SIM", SIM, 0) != 0) return EXIT_FAILED;
  int code = open_demo(&d);
  if (!code) code = show(&d);
  close_demo(&d);
  return code;
}

const cli_command command_demo = {
    "demo", "a small network on the CPU and a simulated GPU: where it runs, why, and the result",
    "Usage: ferry demo\n"
    "\n"
    "Runs the bundled network that reads handwritten digits: first one image, then 4096, each with "
    "its\n"
    "placement and the reasons, transfers and memory; then the result. Without --sim or --config "
    "it\n"
    "simulates one GPU.\n"
    "\n"
    "Example\n"
    "  ferry demo\n",
    run};

// SPDX-License-Identifier: Apache-2.0
// fuzz_inputs.c: what people give to `ferry run --input`: .json, .csv, text, .npy, .npz and images. The
// first byte chooses the kind of file, the second what the model wants.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

const char *cli_config(void) {  // main.c's
  return NULL;
}
bool cli_sim_given(void) {
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const ends[] = {"json", "csv", "txt", "npy", "npz", "png", "jpg", "json"};
  static const int types[] = {1, 7, 9, 4, 10, 3, 2, 19};  // float, string, int64, uint8, bool, …
  static const int64_t dims[][4] = {{-1, 3}, {2, 2}, {-1, 4, 4, 3}, {0}};
  static const int ranks[] = {2, 2, 4, 0, 1, -1, 2, 4};
  static ferry_runtime *rt;
  if (n < 2) return 0;
  if (!rt && ferry_open("intra_threads=1", &rt, NULL)) abort();
  char path[64], given[80];
  snprintf(path, sizeof path, "/tmp/ferry_fuzz_inputs_%d.%s", (int)getpid(), ends[data[0] & 7]);
  FILE *f = fopen(path, "wb");
  if (!f) abort();
  fwrite(data + 2, 1, n - 2, f);
  fclose(f);
  const int shape = data[1] >> 3 & 7;
  ferry_model_value values[] = {
      {.name = "x", .dtype = types[data[1] & 7], .rank = ranks[shape], .dims = dims[shape & 3]},
      {.name = "y", .dtype = 1, .rank = -1}};
  const ferry_signature s = {
      .name = "f", .num_inputs = 2, .inputs = values, .num_outputs = 0, .outputs = values};
  input_options o = {.rt = rt, .scale = 1, .resize = data[1] & 64};
  input_set set = {.num_given = 1};
  snprintf(given, sizeof given, data[1] & 128 ? "%s" : "x=%s", path);
  set.given[0] = given;
  (void)input_read(&set, &s, &o);
  input_free(&set);
  unlink(path);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// fuzz_model.c: bytes as saved_model.pb or as a .meta file: read, report, import, restore, freeze. The
// first byte chooses which of the two; what loads is run with nothing fed, which must only give a status.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ferry/ferry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char dir[64], model_path[128], meta_path[128];

static void remove_files(void) {
  unlink(model_path);
  unlink(meta_path);
  rmdir(dir);
}

static ferry_runtime *start(void) {
  static ferry_runtime *rt;
  if (rt) return rt;
  snprintf(dir, sizeof dir, "/tmp/ferry_fuzz_model_XXXXXX");
  if (!mkdtemp(dir) || ferry_open("intra_threads=1", &rt, NULL)) abort();
  snprintf(model_path, sizeof model_path, "%s/saved_model.pb", dir);
  snprintf(meta_path, sizeof meta_path, "%s/a.meta", dir);
  atexit(remove_files);
  return rt;
}

static void use(ferry_model *m) {
  ferry_error err;
  for (int i = 0; i < ferry_model_signature_count(m) && i < 4; i++) {
    const ferry_signature *s = ferry_model_signature_at(m, i);
    ferry_tensor *results[64];
    ferry_graph *g;
    if (ferry_model_freeze(m, s->name, &g, NULL, &err) == 0) ferry_graph_free(g);
    if (s->num_inputs || s->num_outputs > 64) continue;
    if (ferry_model_run(m, s->name, 0, NULL, NULL, s->num_outputs, NULL, results, 500, &err) == 0)
      for (int k = 0; k < s->num_outputs; k++) ferry_tensor_free(results[k]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ferry_runtime *rt = start();
  ferry_error err;
  ferry_model *m;
  char *text;
  if (n < 1) return 0;
  const char *path = data[0] & 1 ? meta_path : model_path;
  FILE *f = fopen(path, "wb");
  if (!f) abort();
  fwrite(data + 1, 1, n - 1, f);
  fclose(f);
  for (int json = 0; json < 2; json++)
    if (ferry_inspect(rt, path, NULL, json ? FERRY_JSON : FERRY_TEXT, &text, &err) == 0)
      ferry_free_text(text);
  if (ferry_model_load(rt, path, NULL, &m, &err) == 0) {
    use(m);
    ferry_model_free(m);
  }
  return 0;
}

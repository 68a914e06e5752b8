// SPDX-License-Identifier: Apache-2.0
// fuzz_saved_model.c: bytes as saved_model.pb: tags, signatures, assets, the import of its first graph and
// the steps that would start it. The first byte chooses: binary, text, or the .meta of a checkpoint.

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "graph/import.h"
#include "model/saved_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use(fy_saved_model *m) {
  fy_arena a;
  fy_error err;
  fy_signature *signatures;
  fy_asset *assets;
  fy_model_step steps[FY_MODEL_MAX_STEPS];
  size_t count;
  int num_steps;
  fy_arena_init(&a);
  fy_error_init(&err);
  fy_graph *g = fy_graph_new();
  fy_code code = fy_saved_model_signatures(m->meta, &a, &signatures, &count, &err);
  if (!code) code = fy_saved_model_assets(m, &a, &assets, &count, &err);
  if (!code && g) code = fy_graph_import(g, m->meta->graph_def, NULL, &a, NULL, &err);
  if (!code && g) code = fy_saved_model_steps(m, g, &a, steps, &num_steps, &err);
  fy_error_clear(&err);
  fy_arena_free(&a);
  fy_graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const names[] = {"saved_model.pb", "saved_model.pbtxt", "model.meta"};
  static char dir[] = "/tmp/ferry_fuzz_model_XXXXXX";
  static bool made;
  if (!n) return 0;
  if (!made && !mkdtemp(dir)) return 0;
  made = true;
  char path[128];
  const unsigned kind = data[0] % 3;
  snprintf(path, sizeof path, "%s/%s", dir, names[kind]);
  FILE *f = fopen(path, "wb");
  if (!f) return 0;
  fwrite(data + 1, 1, n - 1, f);
  fclose(f);
  fy_saved_model m;
  fy_error err;
  fy_error_init(&err);
  fy_code code =
      kind == 2 ? fy_meta_graph_open(path, &m, &err) : fy_saved_model_open(dir, &m, &err);
  if (!code && kind != 2 && m.proto->n_meta_graphs && m.proto->meta_graphs[0]->graph_def)
    m.meta = m.proto->meta_graphs[0];
  if (!code && m.meta) use(&m);
  fy_saved_model_close(&m);
  fy_error_clear(&err);
  unlink(path);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// 11_saved_model: a model that Python saved (tf.saved_model.save), loaded and called by the names of
// its signature; then the same as one frozen graph that needs nothing beside it.
// The model (examples/models/half_plus_two, made by tools/make_half_plus_two.py) is y = x / 2 + 2.

#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

static ferry_error err;

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err.text);
  exit(1);
}

static void print_values(const char *side, const ferry_model_value *v, int n) {
  for (int i = 0; i < n; i++) {
    printf("  %s %s: %s[", side, v[i].name, ferry_dtype_name(v[i].dtype));
    for (int d = 0; d < v[i].rank; d++) printf(v[i].dims[d] < 0 ? "?" : "%d", (int)v[i].dims[d]);
    printf("] (%s)\n", v[i].tensor);
  }
}

static void expect(ferry_tensor *y) {
  const float want[] = {2.5f, 3.0f, 3.5f};
  const float *got = ferry_tensor_data(y);
  for (int i = 0; i < 3; i++) {
    printf(" %g", (double)got[i]);
    if (got[i] != want[i]) exit(1);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "examples/models/half_plus_two";
  const char *in = "x", *out = "y";
  ferry_runtime *rt;
  ferry_model *m;
  ferry_tensor *x, *y;
  check(ferry_open(NULL, &rt, &err));
  check(ferry_model_load(rt, path, NULL, &m, &err));
  for (int i = 0; i < ferry_model_signature_count(m); i++) {
    const ferry_signature *s = ferry_model_signature_at(m, i);
    printf("%s\n", s->name);
    print_values("in ", s->inputs, s->num_inputs);
    print_values("out", s->outputs, s->num_outputs);
  }
  check(ferry_tensor_new(1, 1, (int64_t[]){3}, (float[]){1, 2, 3}, &x, &err));
  check(ferry_model_run(m, NULL, 1, &in, &x, 1, &out, &y, 0, &err));
  printf("y =");
  expect(y);
  ferry_tensor_free(y);

  // A wrong name is told what there is.
  const char *wrong = "z";
  if (ferry_model_run(m, NULL, 1, &wrong, &x, 1, &out, &y, 0, &err) == 0) return 1;
  printf("a mistake: %s\n", err.text);

  ferry_graph *g;
  ferry_session *s;
  const ferry_signature *sig;
  check(ferry_model_signature(m, NULL, &sig, &err));
  check(ferry_model_freeze(m, NULL, &g, NULL, &err));
  check(ferry_session_new(rt, g, &s, &err));
  check(ferry_run(s, 1, &sig->inputs[0].tensor, &x, 1, &sig->outputs[0].tensor, &y, 0, &err));
  printf("frozen into %zu nodes, y =", ferry_graph_size(g));
  expect(y);
  ferry_tensor_free(y);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_tensor_free(x);
  ferry_model_free(m);
  ferry_close(rt);
  return 0;
}

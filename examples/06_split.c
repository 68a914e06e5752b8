// SPDX-License-Identifier: Apache-2.0
// 06_split: "How do I distribute work over the GPU and the CPU?"
// Two towers over one input: a heavy one for the GPU, a light one for a CPU device with a core of
// its own, joined at the end. What asks for nothing is placed by cost.

#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

static ferry_error err;
static ferry_graph *g;

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err.text);
  exit(1);
}

static void add(const char *op, const char *name, const char *in, const char *attrs,
                const char *device) {
  check(ferry_graph_add(g, op, name, in, attrs, device, NULL, &err));
}

static void weights(const char *name, int64_t rows, int64_t cols) {
  ferry_tensor *t;
  check(ferry_tensor_new(1, 2, (int64_t[]){rows, cols}, NULL, &t, &err));
  float *w = ferry_tensor_data(t);
  for (int64_t i = 0; i < rows * cols; i++) w[i] = (float)(i % 7 - 3) / 64;
  check(ferry_graph_add(g, "Const", name, NULL, NULL, NULL, t, &err));
  ferry_tensor_free(t);
}

int main(void) {
  ferry_runtime *rt;
  ferry_session *s;
  // CPU:1 owns core 0; CPU:0 keeps to the others. (On a machine with one core they share it.)
  if (ferry_open("sim=gpu:1,memory=1GiB; cpu_devices=2; cores=CPU:1:0", &rt, &err))
    check(ferry_open("sim=gpu:1,memory=1GiB; cpu_devices=2", &rt, &err));
  check(ferry_graph_new(rt, &g, &err));
  add("Placeholder", "x", NULL, "dtype=float; shape=[?,512]", NULL);
  weights("w1", 512, 1024);
  weights("w2", 1024, 16);
  add("MatMul", "heavy/hidden", "x, w1", NULL, NULL);  // left to the cost model
  add("Relu", "heavy/active", "heavy/hidden", NULL, NULL);
  add("MatMul", "heavy/out", "heavy/active, w2", NULL, NULL);
  add("Const", "axis", NULL, "dtype=int32; value=1", NULL);
  add("Mean", "light/mean", "x, axis", "keep_dims=true", "/device:CPU:1");  // asked for
  add("Tanh", "light/out", "light/mean", NULL, "/device:CPU:1");
  add("AddV2", "y", "heavy/out, light/out", NULL, "/device:CPU:0");
  check(ferry_session_new(rt, g, &s, &err));

  char *text;
  ferry_request r = {.fetch = "y", .batch = 256};
  check(ferry_explain(s, &r, FERRY_TEXT, &text, &err));
  printf("%s\n", text);
  ferry_free_text(text);

  ferry_tensor *x, *y;
  check(ferry_tensor_new(1, 2, (int64_t[]){256, 512}, NULL, &x, &err));
  for (int64_t i = 0; i < ferry_tensor_count(x); i++)
    ((float *)ferry_tensor_data(x))[i] = (float)(i % 5);
  check(ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err));
  if (ferry_tensor_text(y, 4, &text) == 0) printf("y = %s\n", text);
  ferry_free_text(text);
  ferry_tensor_free(x);
  ferry_tensor_free(y);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return 0;
}

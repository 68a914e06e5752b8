// SPDX-License-Identifier: Apache-2.0
// 03_why_moved: "When and why does TensorFlow transfer data between the CPU and the GPU?"
// A transfer happens exactly where a value's memory and its reader's memory differ, once per value
// and destination. Here a mean is asked for on the CPU in the middle of work on the GPU: Ferry
// shows the transfers with bytes, cause and the change that removes each; then the counters of
// real runs agree.

#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

static void check(int code, const ferry_error *err) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err->text);
  exit(1);
}

static ferry_error err;
static ferry_graph *g;

static void add(const char *op, const char *name, const char *in, const char *attrs,
                const char *device) {
  check(ferry_graph_add(g, op, name, in, attrs, device, NULL, &err), &err);
}

int main(void) {
  ferry_runtime *rt;
  ferry_session *s;
  check(ferry_open("sim=gpu:1,memory=1GiB", &rt, &err), &err);
  check(ferry_graph_new(rt, &g, &err), &err);
  add("Placeholder", "x", NULL, "dtype=float; shape=[?,256]", NULL);
  add("MatMul", "square", "x, x", "transpose_b=true", "/device:GPU:0");
  add("Const", "axis", NULL, "dtype=int32; value=0", NULL);
  add("Mean", "mean", "square, axis", NULL, "/device:CPU:0");  // the odd one out
  add("Sub", "centred", "square, mean", NULL, "/device:GPU:0");
  add("Sum", "y", "centred, axis", NULL, "/device:GPU:0");
  check(ferry_session_new(rt, g, &s, &err), &err);

  char *text;
  ferry_request r = {.fetch = "y", .batch = 256};
  check(ferry_explain(s, &r, FERRY_TEXT, &text, &err), &err);
  printf("%s\n", text);
  ferry_free_text(text);
  check(ferry_why(s, &r, "mean", FERRY_TEXT, &text, &err), &err);
  printf("%s\n", text);
  ferry_free_text(text);

  // The counters are always on: three runs, and nothing moved that was not announced.
  ferry_tensor *x, *y;
  ferry_stats n;
  check(ferry_tensor_new(1, 2, (int64_t[]){256, 256}, NULL, &x, &err), &err);
  for (int i = 0; i < 3; i++) {
    check(ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err), &err);
    ferry_tensor_free(y);
  }
  ferry_session_stats(s, &n);
  printf("in %lld runs: %lld transfers to the device (%lld bytes), %lld back (%lld bytes)\n",
         (long long)n.runs, (long long)n.transfers_to_device, (long long)n.bytes_to_device,
         (long long)n.transfers_to_host, (long long)n.bytes_to_host);
  ferry_tensor_free(x);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return 0;
}

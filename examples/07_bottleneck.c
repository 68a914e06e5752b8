// SPDX-License-Identifier: Apache-2.0
// 07_bottleneck: "Is the transfer between CPU and GPU my bottleneck?"
// For growing batches: how long would the run compute, how long would it move data, and what share
// is that? Twice: for a fast link and for a slow one. Then the one-line summary of each.

#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

static ferry_error err;

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err.text);
  exit(1);
}

static void study(const char *config) {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  ferry_tensor *w;
  check(ferry_open(config, &rt, &err));
  check(ferry_graph_new(rt, &g, &err));
  check(ferry_tensor_new(1, 2, (int64_t[]){1024, 1024}, NULL, &w, &err));
  check(ferry_graph_add(g, "Placeholder", "x", NULL, "dtype=float; shape=[?,1024]", NULL, NULL,
                        &err));
  check(ferry_graph_add(g, "Const", "w", NULL, NULL, NULL, w, &err));
  check(ferry_graph_add(g, "MatMul", "h1", "x, w", NULL, "/device:GPU:0", NULL, &err));
  check(ferry_graph_add(g, "MatMul", "h2", "h1, w", NULL, "/device:GPU:0", NULL, &err));
  check(ferry_graph_add(g, "MatMul", "y", "h2, w", NULL, "/device:GPU:0", NULL, &err));
  check(ferry_session_new(rt, g, &s, &err));

  printf("-- %s\n%8s %14s %14s %10s\n", config, "batch", "compute [us]", "moving [us]", "moving");
  for (int64_t batch = 1; batch <= 4096; batch *= 8) {
    ferry_prediction p;
    ferry_request r = {.fetch = "y", .batch = batch};
    check(ferry_predict(s, &r, &p, &err));
    double total = p.compute_ns + p.transfer_ns;
    printf("%8lld %14.1f %14.1f %8.0f %%\n", (long long)batch, p.compute_ns / 1e3,
           p.transfer_ns / 1e3, 100 * p.transfer_ns / total);
  }
  char *line;
  ferry_request r = {.fetch = "y", .batch = 4096};
  check(ferry_summary(s, &r, &line, &err));
  printf("%s\n\n", line);
  ferry_free_text(line);
  ferry_tensor_free(w);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
}

int main(void) {
  study("sim=gpu:1,pcie=24GB/s,latency=5us");
  study("sim=gpu:1,pcie=2GB/s,latency=50us");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// 05_memory: "Which memory does TensorFlow run out of, and how large may my batch be?"
// Ferry plans memory before running, with the planner that the run itself uses: per device the
// weights, the peak and where it is, the largest batch that fits, and whose memory gives out
// first. Then the forecast is put to the test.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"

static ferry_error err;

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err.text);
  exit(1);
}

static int run(ferry_session *s, int64_t batch) {
  ferry_tensor *x, *y = NULL;
  check(ferry_tensor_new(1, 2, (int64_t[]){batch, 1024}, NULL, &x, &err));
  int code = ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err);
  ferry_tensor_free(x);
  ferry_tensor_free(y);
  return code;
}

int main(void) {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  ferry_tensor *w;
  const char *gpu = "/device:GPU:0";
  check(ferry_open("sim=gpu:1,memory=16MiB", &rt, &err));
  check(ferry_graph_new(rt, &g, &err));
  check(ferry_tensor_new(1, 2, (int64_t[]){1024, 1024}, NULL, &w, &err));  // 4 MiB of weights
  check(ferry_graph_add(g, "Placeholder", "x", NULL, "dtype=float; shape=[?,1024]", NULL, NULL,
                        &err));
  check(ferry_graph_add(g, "Const", "w", NULL, NULL, NULL, w, &err));
  check(ferry_graph_add(g, "MatMul", "hidden", "x, w", NULL, gpu, NULL, &err));
  check(ferry_graph_add(g, "Relu", "active", "hidden", NULL, gpu, NULL, &err));
  check(ferry_graph_add(g, "MatMul", "y", "active, w", NULL, gpu, NULL, &err));
  check(ferry_session_new(rt, g, &s, &err));

  ferry_prediction p;
  ferry_request r = {.fetch = "y", .batch = 256};
  check(ferry_predict(s, &r, &p, &err));
  printf("%-7s %12s %12s %12s %12s  %s\n", "device", "weights", "peak", "limit", "max batch",
         "fullest at");
  int64_t largest = 0;
  for (int i = 0; i < p.num_devices; i++) {
    printf("%-7s %12llu %12llu %12llu %12lld  %s\n", p.devices[i].device,
           (unsigned long long)p.devices[i].weights_bytes,
           (unsigned long long)p.devices[i].peak_bytes,
           (unsigned long long)p.devices[i].limit_bytes, (long long)p.devices[i].largest_batch,
           p.devices[i].peak_node);
    if (strcmp(p.devices[i].device, p.first_exhausted) == 0) largest = p.devices[i].largest_batch;
  }
  printf("\n%s runs out first: batch %lld fits, %lld does not\n", p.first_exhausted,
         (long long)largest, (long long)largest + 1);

  // Is it true?
  check(run(s, largest));
  printf("batch %lld: ran\n", (long long)largest);
  if (run(s, largest + 1) == 0) return 1;
  printf("batch %lld: %s: %s\n", (long long)largest + 1, ferry_code_name(err.code), err.text);
  check(run(s, largest));  // a failed run takes nothing with it
  printf("batch %lld: ran again\n", (long long)largest);
  ferry_tensor_free(w);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return 0;
}

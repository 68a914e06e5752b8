// SPDX-License-Identifier: Apache-2.0
// 10_faults: a device that fails is an error, not the end of the program. The simulated GPU fails
// at a chosen launch, copy or allocation; the run reports it, naming the node, and the next run
// works. A device that is lost stays lost, and the same graph still runs in a session without it.

#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

static ferry_error err;

static void check(int code) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err.text);
  exit(1);
}

static ferry_graph *model(ferry_runtime *rt) {
  ferry_graph *g;
  const char *gpu = "/device:GPU:0";
  check(ferry_graph_new(rt, &g, &err));
  check(
      ferry_graph_add(g, "Placeholder", "x", NULL, "dtype=float; shape=[?,64]", NULL, NULL, &err));
  check(ferry_graph_add(g, "MatMul", "square", "x, x", "transpose_b=true", gpu, NULL, &err));
  check(ferry_graph_add(g, "Softmax", "y", "square", NULL, gpu, NULL, &err));
  return g;
}

// Runs |times| times and says what happened each time; returns how many runs succeeded.
static int try_runs(const char *config, int times) {
  ferry_runtime *rt;
  ferry_session *s;
  ferry_tensor *x, *y;
  int good = 0;
  check(ferry_open(config, &rt, &err));
  ferry_graph *g = model(rt);
  check(ferry_session_new(rt, g, &s, &err));
  check(ferry_tensor_new(1, 2, (int64_t[]){8, 64}, NULL, &x, &err));
  printf("-- %s\n", config);
  for (int i = 1; i <= times; i++) {
    int code = ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err);
    if (code)
      printf("   run %d: %s: %s\n", i, ferry_code_name(code), err.text);
    else
      printf("   run %d: ok\n", i);
    good += code == 0;
    ferry_tensor_free(y);
  }
  ferry_tensor_free(x);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return good;
}

int main(void) {
  int good = try_runs("sim=gpu:1,fail_launch=3", 3);  // one run fails, the others do not notice
  good += try_runs("sim=gpu:1,fail_copy=2", 3);
  good += try_runs("sim=gpu:1,lost_after=3", 3);  // lost: every later run says so
  good += try_runs("soft_placement=true", 3);     // no GPU at all: falls back, and it is reported
  return good == 2 + 2 + 1 + 3 ? 0 : 1;
}

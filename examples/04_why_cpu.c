// SPDX-License-Identifier: Apache-2.0
// 04_why_cpu: "Why do some operations run on the CPU although I asked for the GPU?"
// The simulated GPU lacks float64. Asking for it is a contract: without soft placement it is an
// error that names the reason; with soft placement the node falls back, and the report says from
// where and why.

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
  check(ferry_graph_add(g, "Placeholder", "x", NULL, "dtype=float; shape=[512,512]", NULL, NULL,
                        &err));
  check(ferry_graph_add(g, "MatMul", "product", "x, x", NULL, gpu, NULL, &err));
  check(ferry_graph_add(g, "Cast", "precise", "product", "DstT=double", gpu, NULL, &err));
  check(ferry_graph_add(g, "Sqrt", "root", "precise", NULL, gpu, NULL, &err));
  check(ferry_graph_add(g, "Cast", "y", "root", "DstT=float", gpu, NULL, &err));
  return g;
}

// Opens, asks about the placement, and prints the answer or the refusal.
static int ask(const char *config, const char *node) {
  ferry_runtime *rt;
  ferry_session *s;
  char *text = NULL;
  ferry_request r = {.fetch = "y"};
  check(ferry_open(config, &rt, &err));
  ferry_graph *g = model(rt);
  check(ferry_session_new(rt, g, &s, &err));
  int code = node ? ferry_why(s, &r, node, FERRY_TEXT, &text, &err)
                  : ferry_explain(s, &r, FERRY_TEXT, &text, &err);
  printf("-- %s\n%s\n", config, code ? err.text : text);
  ferry_free_text(text);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return code;
}

int main(void) {
  // 1. The request is a contract: it is refused, with the reason, before anything runs.
  if (ask("sim=gpu:1,lack=float64", NULL) == 0) return 1;
  // 2. Soft placement: the request is a preference, every fallback is reported.
  check(ask("sim=gpu:1,lack=float64; soft_placement=true", NULL));
  check(ask("sim=gpu:1,lack=float64; soft_placement=true", "root"));
  // 3. A GPU that has float64: nothing falls back.
  check(ask("sim=gpu:1", "root"));
  return 0;
}

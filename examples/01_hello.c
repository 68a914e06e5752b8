// SPDX-License-Identifier: Apache-2.0
// 01_hello: build a graph from text, run it, read the result. Only include/ferry/ferry.h is needed.
//   cc 01_hello.c -lferry && ./a.out

#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"

// Every call returns 0 or an error code; the error says what was wrong.
static void check(int code, const ferry_error *err) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", ferry_code_name(code), err->text);
  exit(1);
}

int main(void) {
  ferry_error err;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  check(ferry_open(NULL, &rt, &err), &err);
  check(ferry_graph_new(rt, &g, &err), &err);

  // y = x * 2 + 1. Inputs and attributes are text; a misspelt name is answered with the nearest
  // one.
  check(ferry_graph_add(g, "Placeholder", "x", NULL, "dtype=float; shape=[?]", NULL, NULL, &err),
        &err);
  check(ferry_graph_add(g, "Const", "two", NULL, "dtype=float; value=2", NULL, NULL, &err), &err);
  check(ferry_graph_add(g, "Const", "one", NULL, "dtype=float; value=1", NULL, NULL, &err), &err);
  check(ferry_graph_add(g, "Mul", "double", "x, two", NULL, NULL, NULL, &err), &err);
  check(ferry_graph_add(g, "AddV2", "y", "double, one", NULL, NULL, NULL, &err), &err);
  check(ferry_session_new(rt, g, &s, &err), &err);

  const float values[4] = {1, 2, 3, 4};
  ferry_tensor *x, *y;
  check(ferry_tensor_new(1 /* float */, 1, (int64_t[]){4}, values, &x, &err), &err);
  check(ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err), &err);

  char *text;
  if (ferry_tensor_text(y, 10, &text) == 0) printf("y = %s\n", text);
  ferry_free_text(text);

  ferry_tensor_free(x);
  ferry_tensor_free(y);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return 0;
}

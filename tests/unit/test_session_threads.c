// SPDX-License-Identifier: Apache-2.0
// test_session_threads.c: one session used by many threads: runs of several signatures and shapes
// while the graph grows; closing while runs are in progress; partial runs side by side. Meant for
// TSan.

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/thread.h"
#include "tensorflow/c/c_api.h"

enum { THREADS = 4, ROUNDS = 300, NODES = 40 };

static TF_Output add_op(TF_Graph *g, const char *op, const char *name, TF_Output a, TF_Output b,
                        TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  TF_AddInput(d, a);
  if (b.oper) TF_AddInput(d, b);
  TF_Output out = {TF_FinishOperation(d, s), 0};
  assert_int_equal(TF_GetCode(s), TF_OK);
  return out;
}

static TF_Output placeholder(TF_Graph *g, const char *name, TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output out = {TF_FinishOperation(d, s), 0};
  assert_int_equal(TF_GetCode(s), TF_OK);
  return out;
}

static TF_Tensor *floats(int64_t n, float value) {
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, &n, 1, (size_t)n * sizeof value);
  for (int64_t i = 0; i < n; i++) ((float *)TF_TensorData(t))[i] = value;
  return t;
}

static TF_Session *new_session(TF_Graph *g, TF_Status *s) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(g, o, s);
  TF_DeleteSessionOptions(o);
  assert_int_equal(TF_GetCode(s), TF_OK);
  return session;
}

typedef struct shared {
  TF_Graph *graph;
  TF_Session *session;
  TF_Output x, sum, product;
  fy_thread threads[THREADS];
  atomic_int started, failures;
} shared;

static shared sums(TF_Status *s) {
  shared w = {.graph = TF_NewGraph()};
  w.x = placeholder(w.graph, "x", s);
  w.sum = add_op(w.graph, "AddV2", "sum", w.x, w.x, s);
  w.product = add_op(w.graph, "Mul", "product", w.sum, w.x, s);
  w.session = new_session(w.graph, s);
  return w;
}

static void start(shared *w, void *(*work)(void *)) {
  for (int i = 0; i < THREADS; i++) assert_true(fy_thread_start(&w->threads[i], work, w, "run"));
}

static void finish(shared *w, TF_Status *s) {
  for (int i = 0; i < THREADS; i++) fy_thread_join(w->threads[i]);
  assert_int_equal(atomic_load(&w->failures), 0);
  TF_DeleteSession(w->session, s);
  TF_DeleteGraph(w->graph);
  TF_DeleteStatus(s);
}

// x + x and (x + x) * x with shapes that differ between rounds and threads.
static void *run_many(void *arg) {
  shared *w = arg;
  TF_Status *s = TF_NewStatus();
  int me = atomic_fetch_add(&w->started, 1);
  for (int i = 0; i < ROUNDS; i++) {
    int64_t n = 1 + (me + i) % 5;
    TF_Tensor *in = floats(n, (float)i), *out[2] = {NULL, NULL};
    TF_Output fetches[2] = {w->sum, w->product};
    int count = 1 + i % 2;
    TF_SessionRun(w->session, NULL, &w->x, &in, 1, fetches, out, count, NULL, 0, NULL, s);
    bool ok = TF_GetCode(s) == TF_OK && out[0] && TF_Dim(out[0], 0) == n &&
              *(float *)TF_TensorData(out[0]) == (float)(2 * i) &&
              (count == 1 || *(float *)TF_TensorData(out[1]) == (float)(2 * i) * (float)i);
    if (!ok) atomic_fetch_add(&w->failures, 1);
    TF_DeleteTensor(in);
    for (int k = 0; k < count; k++) TF_DeleteTensor(out[k]);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void *grow_graph(void *arg) {
  shared *w = arg;
  TF_Status *s = TF_NewStatus();
  TF_Output none = {NULL, 0}, last = w->sum;
  for (int i = 0; i < NODES; i++) {
    char name[32];
    snprintf(name, sizeof name, "more%d", i);
    last = add_op(w->graph, "Neg", name, last, none, s);
    TF_Tensor *in = floats(1, 1), *out = NULL;
    TF_SessionRun(w->session, NULL, &w->x, &in, 1, &last, &out, 1, NULL, 0, NULL, s);
    if (!out || *(float *)TF_TensorData(out) != (i % 2 ? 2.0f : -2.0f))
      atomic_fetch_add(&w->failures, 1);
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void test_runs(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  shared w = sums(s);
  fy_thread grower;
  start(&w, run_many);
  assert_true(fy_thread_start(&grower, grow_graph, &w, "grow"));
  fy_thread_join(grower);
  finish(&w, s);
}

// ------------------------------------------------------------------ closing
static void add_function(TF_Graph *g, const char *name, bool cond, TF_Status *s) {
  TF_Graph *body = TF_NewGraph();
  TF_Output x = placeholder(body, "x", s), none = {NULL, 0};
  TF_Output y = cond ? add_op(body, "Equal", "y", x, x, s) : add_op(body, "Abs", "y", x, none, s);
  TF_Function *f = TF_GraphToFunction(body, name, 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TF_GraphCopyFunction(g, f, NULL, s);
  TF_DeleteFunction(f);
  TF_DeleteGraph(body);
}

static void *run_endless(void *arg) {
  shared *w = arg;
  TF_Status *s = TF_NewStatus();
  float one = 1;
  TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof one), *out = NULL;
  memcpy(TF_TensorData(in), &one, sizeof one);
  atomic_fetch_add(&w->started, 1);
  TF_SessionRun(w->session, NULL, &w->x, &in, 1, &w->sum, &out, 1, NULL, 0, NULL, s);
  if (TF_GetCode(s) != TF_CANCELLED || out) atomic_fetch_add(&w->failures, 1);
  TF_DeleteTensor(in);
  TF_DeleteStatus(s);
  return NULL;
}

static void test_close(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  shared w = {.graph = TF_NewGraph()};
  add_function(w.graph, "Always", true, s);
  add_function(w.graph, "Same", false, s);
  w.x = placeholder(w.graph, "x", s);
  TF_OperationDescription *d = TF_NewOperation(w.graph, "While", "loop");
  TF_AddInputList(d, &w.x, 1);
  TF_SetAttrFuncName(d, "cond", "Always", 6);
  TF_SetAttrFuncName(d, "body", "Same", 4);
  w.sum = (TF_Output){TF_FinishOperation(d, s), 0};
  assert_int_equal(TF_GetCode(s), TF_OK);
  w.session = new_session(w.graph, s);
  start(&w, run_endless);
  while (atomic_load(&w.started) < THREADS) fy_sleep_ns(1000000);
  fy_sleep_ns(20000000);
  TF_CloseSession(w.session, s);
  finish(&w, s);
}

// ------------------------------------------------------------------ partial runs
static void *run_partial(void *arg) {
  shared *w = arg;
  TF_Status *s = TF_NewStatus();
  for (int i = 0; i < ROUNDS / 10; i++) {
    const char *handle = NULL;
    TF_Output fetches[2] = {w->sum, w->product};
    TF_SessionPRunSetup(w->session, &w->x, 1, fetches, 2, NULL, 0, &handle, s);
    TF_Tensor *in = floats(2, 3), *out[2] = {NULL, NULL};
    TF_SessionPRun(w->session, handle, &w->x, &in, 1, &fetches[0], &out[0], 1, NULL, 0, s);
    bool ok = TF_GetCode(s) == TF_OK;
    TF_SessionPRun(w->session, handle, NULL, NULL, 0, &fetches[1], &out[1], 1, NULL, 0, s);
    ok = ok && TF_GetCode(s) == TF_OK && *(float *)TF_TensorData(out[1]) == 18.0f;
    if (!ok) atomic_fetch_add(&w->failures, 1);
    TF_DeleteTensor(in);
    TF_DeleteTensor(out[0]);
    TF_DeleteTensor(out[1]);
    TF_DeletePRunHandle(handle);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void test_partial(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  shared w = sums(s);
  start(&w, run_partial);
  finish(&w, s);
}

// Weights large enough to be packed on the stage first, then kept, and shared by the programs of
// all batch sizes: each thread has one of its own, two threads have the same.
#define WIDE 256
static void *run_products(void *arg) {
  shared *w = arg;
  TF_Status *s = TF_NewStatus();
  const int64_t rows = 16 + atomic_fetch_add(&w->started, 1) / 2 * 8, dims[] = {rows, WIDE};
  for (int round = 0; round < 4; round++) {
    TF_Tensor *x = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)(rows * WIDE) * 4), *y = NULL;
    for (int64_t i = 0; i < rows * WIDE; i++) ((float *)TF_TensorData(x))[i] = 1;
    TF_SessionRun(w->session, NULL, &w->x, &x, 1, &w->product, &y, 1, NULL, 0, NULL, s);
    if (TF_GetCode(s) != TF_OK) atomic_fetch_add(&w->failures, 1);
    for (int64_t i = 0; y && i < rows * WIDE; i++)
      if (((float *)TF_TensorData(y))[i] != WIDE * 2) atomic_fetch_add(&w->failures, 1);
    TF_DeleteTensor(x);
    TF_DeleteTensor(y);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void test_packs(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  shared w = {.graph = TF_NewGraph()};
  w.x = placeholder(w.graph, "x", s);
  const int64_t dims[] = {WIDE, WIDE};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)WIDE * WIDE * 4);
  for (int i = 0; i < WIDE * WIDE; i++) ((float *)TF_TensorData(t))[i] = 2;
  TF_OperationDescription *d = TF_NewOperation(w.graph, "Const", "w");
  TF_SetAttrTensor(d, "value", t, s);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  const TF_Output weights = {TF_FinishOperation(d, s), 0};
  w.product = add_op(w.graph, "MatMul", "y", w.x, weights, s);
  w.session = new_session(w.graph, s);
  TF_DeleteTensor(t);
  start(&w, run_products);
  finish(&w, s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs),
      cmocka_unit_test(test_close),
      cmocka_unit_test(test_partial),
      cmocka_unit_test(test_packs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

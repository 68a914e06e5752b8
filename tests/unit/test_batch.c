// SPDX-License-Identifier: Apache-2.0
// Batches of concurrent runs: Batch with Unbatch, and BatchFunction. What one run alone sees is in
// tests/data/state_batch.txt. Nothing here depends on who is faster: a batch that waits for long starts
// when it is full.

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { RUNS = 4, LONG_US = 120000000 };

typedef struct fixture {
  TF_Graph *graph;
  TF_Session *session;
  TF_Status *status;
  TF_Output x, y;
} fixture;

static void ok(const TF_Status *s) {
  if (TF_GetCode(s) != TF_OK) fail_msg("%s", TF_Message(s));
}

static TF_Output node(TF_Graph *g, const char *op, const char *name, const TF_Output *in, int n) {
  TF_Status *s = TF_NewStatus();
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  for (int i = 0; i < n; i++) TF_AddInput(d, in[i]);
  if (!strcmp(op, "Placeholder")) TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Operation *o = TF_FinishOperation(d, s);
  ok(s);
  TF_DeleteStatus(s);
  return (TF_Output){o, 0};
}

static void begin(fixture *f) {
  f->status = TF_NewStatus();
  f->graph = TF_NewGraph();
  f->x = node(f->graph, "Placeholder", "x", NULL, 0);
}

static void start(fixture *f) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  f->session = TF_NewSession(f->graph, o, f->status);
  ok(f->status);
  TF_DeleteSessionOptions(o);
}

static void end(fixture *f) {
  TF_DeleteSession(f->session, f->status);
  TF_DeleteGraph(f->graph);
  TF_DeleteStatus(f->status);
}

static void limits(TF_OperationDescription *d, int64_t rows, int64_t micros, int64_t waiting) {
  TF_SetAttrInt(d, "num_batch_threads", 1);
  TF_SetAttrInt(d, "max_batch_size", rows);
  TF_SetAttrInt(d, "batch_timeout_micros", micros);
  TF_SetAttrInt(d, "max_enqueued_batches", waiting);
}

// y = Unbatch(Batch(x) + Batch(x))
static void add_batch(fixture *f, int64_t rows, int64_t micros) {
  TF_OperationDescription *d = TF_NewOperation(f->graph, "Batch", "b");
  TF_AddInputList(d, &f->x, 1);
  limits(d, rows, micros, 10);
  TF_SetAttrInt(d, "grad_timeout_micros", 0);
  TF_Operation *b = TF_FinishOperation(d, f->status);
  ok(f->status);
  const TF_Output twice[2] = {{b, 0}, {b, 0}};
  const TF_Output sum = node(f->graph, "AddV2", "sum", twice, 2);
  d = TF_NewOperation(f->graph, "Unbatch", "y");
  TF_AddInput(d, sum);
  TF_AddInput(d, (TF_Output){b, 1});
  TF_AddInput(d, (TF_Output){b, 2});
  TF_SetAttrInt(d, "timeout_micros", LONG_US);
  f->y = (TF_Output){TF_FinishOperation(d, f->status), 0};
  ok(f->status);
}

// y = as many as there are in the batch, for each element
static void add_function(fixture *f, int64_t rows, int64_t micros, int64_t waiting) {
  TF_Graph *body = TF_NewGraph();
  const TF_Output a = node(body, "Placeholder", "a", NULL, 0),
                  shape = node(body, "Shape", "shape", &a, 1),
                  size = node(body, "Size", "size", &a, 1), both[2] = {shape, size};
  const TF_Output filled = node(body, "Fill", "fill", both, 2);
  TF_Function *fn = TF_GraphToFunction(body, "sizes", 0, -1, NULL, 1, &a, 1, &filled, NULL, NULL,
                                       NULL, f->status);
  ok(f->status);
  TF_GraphCopyFunction(f->graph, fn, NULL, f->status);
  ok(f->status);
  TF_DeleteFunction(fn);
  TF_DeleteGraph(body);
  TF_OperationDescription *d = TF_NewOperation(f->graph, "BatchFunction", "y");
  const TF_DataType type = TF_INT32;
  TF_AddInputList(d, &f->x, 1);
  TF_AddInputList(d, NULL, 0);
  TF_SetAttrFuncName(d, "f", "sizes", 5);
  limits(d, rows, micros, waiting);
  TF_SetAttrTypeList(d, "Tin", &type, 1);
  TF_SetAttrTypeList(d, "Tcaptured", NULL, 0);
  TF_SetAttrTypeList(d, "Tout", &type, 1);
  f->y = (TF_Output){TF_FinishOperation(d, f->status), 0};
  ok(f->status);
}

typedef struct job {
  fixture *f;
  int32_t in;
  int64_t timeout_ms;
  int32_t out;
  int64_t count;
  TF_Code code;
} job;

static void *run(void *arg) {
  job *j = arg;
  const int64_t dims = 1;
  TF_Status *s = TF_NewStatus();
  TF_Tensor *in = TF_AllocateTensor(TF_INT32, &dims, 1, sizeof j->in), *out = NULL;
  memcpy(TF_TensorData(in), &j->in, sizeof j->in);
  char bytes[16] = {0x10};  // RunOptions.timeout_in_ms
  size_t n = 1;
  for (int64_t v = j->timeout_ms; v; v >>= 7) bytes[n++] = (char)((v & 127) | (v > 127 ? 128 : 0));
  TF_Buffer *options = j->timeout_ms ? TF_NewBufferFromString(bytes, n) : NULL;
  TF_SessionRun(j->f->session, options, &j->f->x, &in, 1, &j->f->y, &out, 1, NULL, 0, NULL, s);
  j->code = TF_GetCode(s);
  if (out) {
    j->count = TF_TensorElementCount(out);
    memcpy(&j->out, TF_TensorData(out), sizeof j->out);
    TF_DeleteTensor(out);
  }
  if (options) TF_DeleteBuffer(options);
  TF_DeleteTensor(in);
  TF_DeleteStatus(s);
  return NULL;
}

static void run_all(fixture *f, job jobs[RUNS]) {
  pthread_t threads[RUNS];
  for (int i = 0; i < RUNS; i++) {
    jobs[i] = (job){.f = f, .in = 10 + i};
    assert_int_equal(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
  }
  for (int i = 0; i < RUNS; i++) pthread_join(threads[i], NULL);
}

static void each_run_gets_its_rows(void **state) {
  (void)state;
  fixture f;
  job jobs[RUNS];
  begin(&f);
  add_batch(&f, RUNS, LONG_US);  // starts when all are there
  start(&f);
  for (int again = 0; again < 20; again++) {
    run_all(&f, jobs);
    for (int i = 0; i < RUNS; i++) {
      assert_int_equal(jobs[i].code, TF_OK);
      assert_int_equal(jobs[i].count, 1);
      assert_int_equal(jobs[i].out, 2 * (10 + i));
    }
  }
  end(&f);
}

static void one_call_for_all_runs(void **state) {
  (void)state;
  fixture f;
  job jobs[RUNS];
  begin(&f);
  add_function(&f, RUNS, LONG_US, 10);
  start(&f);
  for (int again = 0; again < 20; again++) {
    run_all(&f, jobs);
    for (int i = 0; i < RUNS; i++) {
      assert_int_equal(jobs[i].code, TF_OK);
      assert_int_equal(jobs[i].out, RUNS);
    }
  }
  end(&f);
}

static void short_waits_are_right_too(void **state) {
  (void)state;
  fixture f;
  job jobs[RUNS];
  begin(&f);
  add_function(&f, 3, 50, 100);  // whoever comes together
  start(&f);
  for (int again = 0; again < 50; again++) {
    run_all(&f, jobs);
    for (int i = 0; i < RUNS; i++) {
      assert_int_equal(jobs[i].code, TF_OK);
      assert_in_range(jobs[i].out, 1, 3);
    }
  }
  end(&f);
}

// A run that gives up leaves a batch that the others can still fill.
static void a_run_that_gives_up(void **state) {
  (void)state;
  fixture f;
  job jobs[RUNS], early;
  begin(&f);
  add_function(&f, RUNS, LONG_US, 10);
  start(&f);
  early = (job){.f = &f, .in = 1, .timeout_ms = 60};
  run(&early);
  assert_int_equal(early.code, TF_DEADLINE_EXCEEDED);
  run_all(&f, jobs);
  for (int i = 0; i < RUNS; i++) {
    assert_int_equal(jobs[i].code, TF_OK);
    assert_int_equal(jobs[i].out, RUNS);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_run_gets_its_rows),
      cmocka_unit_test(one_call_for_all_runs),
      cmocka_unit_test(short_waits_are_right_too),
      cmocka_unit_test(a_run_that_gives_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

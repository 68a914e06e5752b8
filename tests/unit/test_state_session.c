// SPDX-License-Identifier: Apache-2.0
// State that a replay cannot show: a queue that blocks until another run feeds it, a run that is
// stopped while it waits, what was fetched staying as it was, and sessions that share nothing.

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/thread.h"
#include "tensorflow/c/c_api.h"

typedef struct bench {
  TF_Graph *g;
  TF_Session *s;
  TF_Status *st;
} bench;

static void ok(TF_Status *st) {
  if (TF_GetCode(st)) fail_msg("%d %s", TF_GetCode(st), TF_Message(st));
}

static bench begin(void) {
  return (bench){TF_NewGraph(), NULL, TF_NewStatus()};
}

static TF_Session *session(bench *b) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(b->g, o, b->st);
  TF_DeleteSessionOptions(o);
  ok(b->st);
  return s;
}

static void end(bench *b) {
  if (b->s) TF_DeleteSession(b->s, b->st);
  TF_DeleteGraph(b->g);
  TF_DeleteStatus(b->st);
}

static TF_Tensor *scalar(float v) {
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof v);
  memcpy(TF_TensorData(t), &v, sizeof v);
  return t;
}

static TF_Operation *constant(bench *b, const char *name, float v) {
  TF_OperationDescription *d = TF_NewOperation(b->g, "Const", name);
  TF_Tensor *t = scalar(v);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrTensor(d, "value", t, b->st);
  TF_DeleteTensor(t);
  TF_Operation *op = TF_FinishOperation(d, b->st);
  ok(b->st);
  return op;
}

static TF_Operation *op2(bench *b, const char *type, const char *name, TF_Operation *x,
                         TF_Operation *y) {
  TF_OperationDescription *d = TF_NewOperation(b->g, type, name);
  TF_AddInput(d, (TF_Output){x, 0});
  if (y && strcmp(type, "QueueEnqueueV2") == 0)
    TF_AddInputList(d, &(TF_Output){y, 0}, 1);
  else if (y)
    TF_AddInput(d, (TF_Output){y, 0});
  if (strcmp(type, "QueueDequeueV2") == 0)
    TF_SetAttrTypeList(d, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
  TF_Operation *op = TF_FinishOperation(d, b->st);
  ok(b->st);
  return op;
}

static TF_Tensor *fetch(TF_Session *s, TF_Operation *op, TF_Status *st) {
  TF_Tensor *out = NULL;
  TF_SessionRun(s, NULL, NULL, NULL, 0, &(TF_Output){op, 0}, &out, 1, NULL, 0, NULL, st);
  return out;
}

static float value(TF_Session *s, TF_Operation *op, TF_Status *st) {
  TF_Tensor *t = fetch(s, op, st);
  ok(st);
  const float v = *(float *)TF_TensorData(t);
  TF_DeleteTensor(t);
  return v;
}

typedef struct waiter {
  TF_Session *s;
  TF_Operation *op;
  TF_Code code;
  float got;
} waiter;

static void *wait_for(void *arg) {
  waiter *w = arg;
  TF_Status *st = TF_NewStatus();
  TF_Tensor *t = fetch(w->s, w->op, st);
  w->code = TF_GetCode(st);
  if (t) w->got = *(float *)TF_TensorData(t);
  if (t) TF_DeleteTensor(t);
  TF_DeleteStatus(st);
  return NULL;
}

static TF_Operation *new_queue(bench *b) {
  TF_OperationDescription *d = TF_NewOperation(b->g, "FIFOQueueV2", "q");
  TF_SetAttrTypeList(d, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
  TF_Operation *q = TF_FinishOperation(d, b->st);
  ok(b->st);
  return q;
}

static void a_queue_waits_for_another_run(void **state) {
  (void)state;
  bench b = begin();
  TF_Operation *q = new_queue(&b);
  TF_Operation *put = op2(&b, "QueueEnqueueV2", "put", q, constant(&b, "c", 5));
  TF_Operation *get = op2(&b, "QueueDequeueV2", "get", q, NULL);
  b.s = session(&b);
  waiter w = {b.s, get, TF_OK, 0};
  fy_thread t;
  assert_true(fy_thread_start(&t, wait_for, &w, "waiter"));
  const TF_Operation *target = put;
  TF_SessionRun(b.s, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, b.st);
  ok(b.st);
  fy_thread_join(t);
  assert_int_equal(w.code, TF_OK);
  assert_true(w.got == 5);
  end(&b);
}

static void closing_stops_who_waits(void **state) {
  (void)state;
  bench b = begin();
  TF_Operation *get = op2(&b, "QueueDequeueV2", "get", new_queue(&b), NULL);
  b.s = session(&b);
  waiter w = {b.s, get, TF_OK, 0};
  fy_thread t;
  assert_true(fy_thread_start(&t, wait_for, &w, "waiter"));
  const int64_t until = fy_now_ns() + 30000000;  // let it get there
  while (fy_now_ns() < until) continue;
  TF_CloseSession(b.s, b.st);
  fy_thread_join(t);
  assert_int_equal(w.code, TF_CANCELLED);
  end(&b);
}

static void what_was_fetched_stays_and_sessions_share_nothing(void **state) {
  (void)state;
  bench b = begin();
  TF_OperationDescription *d = TF_NewOperation(b.g, "VariableV2", "v");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Operation *v = TF_FinishOperation(d, b.st);
  ok(b.st);
  TF_Operation *one = constant(&b, "one", 1);
  TF_Operation *set = op2(&b, "Assign", "set", v, one);
  TF_Operation *add = op2(&b, "AssignAdd", "add", v, one);
  b.s = session(&b);
  assert_true(value(b.s, set, b.st) == 1);
  TF_Tensor *before = fetch(b.s, v, b.st);
  ok(b.st);
  for (int i = 0; i < 3; i++) assert_true(value(b.s, add, b.st) == (float)(2 + i));
  assert_true(*(float *)TF_TensorData(before) == 1);
  TF_DeleteTensor(before);
  TF_Session *other = session(&b);
  assert_null(fetch(other, v, b.st));
  assert_int_equal(TF_GetCode(b.st), TF_FAILED_PRECONDITION);
  assert_true(value(other, set, b.st) == 1);
  assert_true(value(b.s, v, b.st) == 4);
  TF_DeleteSession(other, b.st);
  end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_queue_waits_for_another_run),
      cmocka_unit_test(closing_stops_who_waits),
      cmocka_unit_test(what_was_fetched_stays_and_sessions_share_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

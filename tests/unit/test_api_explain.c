// SPDX-License-Identifier: Apache-2.0
// Programs written for TensorFlow's C API ask why: a TF_Session as a session of ferry.h, the calls of an
// eager context, and FERRY_EXPLAIN for programs that cannot ask.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ferry/ferry.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"

#define WIDE 512

static void has(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

static TF_Tensor *square(TF_DataType type) {
  const int64_t dims[] = {WIDE, WIDE};
  TF_Tensor *t = TF_AllocateTensor(type, dims, 2, WIDE * WIDE * TF_DataTypeSize(type));
  memset(TF_TensorData(t), 0, TF_TensorByteSize(t));
  return t;
}

// ------------------------------------------------------------------ sessions
// y = x * x
static TF_Output product(TF_Graph *g, TF_Output *x, TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  *x = (TF_Output){TF_FinishOperation(d, s), 0};
  d = TF_NewOperation(g, "MatMul", "y");
  TF_AddInput(d, *x);
  TF_AddInput(d, *x);
  TF_Output y = {TF_FinishOperation(d, s), 0};
  assert_int_equal(TF_GetCode(s), TF_OK);
  return y;
}

static void run_session(TF_Session *session, TF_Output x, TF_Output y, TF_Status *s) {
  TF_Tensor *in = square(TF_FLOAT), *out = NULL;
  TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
}

static TF_Session *open_session(TF_Graph *g, TF_Status *s) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(g, o, s);
  TF_DeleteSessionOptions(o);
  return session;
}

static void close_session(TF_Session *session, TF_Graph *g, TF_Status *s) {
  TF_CloseSession(session, s);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

static void asks_a_session(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  TF_Output x, y = product(g, &x, s);
  TF_Session *session = open_session(g, s);
  run_session(session, x, y, s);
  ferry_session *f;
  ferry_error err;
  assert_int_equal(ferry_session_of(NULL, &f, &err), 3);
  assert_int_equal(ferry_session_of(session, &f, &err), 0);
  const ferry_request r = {.fetch = "y", .shapes = "x=[512,512]"};
  char *text;
  assert_int_equal(ferry_why(f, &r, "y", FERRY_TEXT, &text, &err), 0);
  has(text, "runs on       GPU:0");
  has(text, "because       cheaper");
  ferry_free_text(text);
  ferry_prediction p;
  assert_int_equal(ferry_predict(f, &r, &p, &err), 0);
  assert_int_equal(p.num_devices, 2);
  ferry_stats stats;
  ferry_session_stats(f, &stats);
  assert_int_equal(stats.runs, 1);
  assert_int_equal(stats.transfers_to_device, 1);  // x is read twice and crosses once
  assert_int_equal(stats.bytes_to_device, WIDE * WIDE * 4);
  ferry_session_free(f);
  run_session(session, x, y, s);  // the session is still its owner's
  close_session(session, g, s);
}

// ------------------------------------------------------------------ eager calls
static TFE_Context *open_context(bool soft, TF_Status *s) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  if (soft) {
    const char config[] = "allow_soft_placement: true";
    TFE_ContextOptionsSetConfig(o, config, strlen(config), s);
    assert_int_equal(TF_GetCode(s), TF_OK);
  }
  TFE_Context *c = TFE_NewContext(o, s);
  TFE_DeleteContextOptions(o);
  return c;
}

static void multiply(TFE_Context *c, TF_DataType type, const char *device, TF_Status *s) {
  TF_Tensor *t = square(type);
  TFE_TensorHandle *x = TFE_NewTensorHandle(t, s), *y = NULL;
  int n = 1;
  TFE_Op *op = TFE_NewOp(c, "MatMul", s);
  if (device) TFE_OpSetDevice(op, device, s);
  TFE_OpAddInput(op, x, s);
  TFE_OpAddInput(op, x, s);
  TFE_Execute(op, &y, &n, s);
  if (TF_GetCode(s) != TF_OK) fail_msg("%s", TF_Message(s));
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(x);
  TF_DeleteTensor(t);
}

static void asks_a_context(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(true, s);
  char *text;
  ferry_error err;
  assert_int_equal(ferry_eager_explain(NULL, FERRY_TEXT, &text, &err), 3);
  assert_int_equal(ferry_eager_explain(c, FERRY_TEXT, &text, &err), 0);
  has(text, "Eager calls: 0 kinds");
  ferry_free_text(text);
  multiply(c, TF_FLOAT, NULL, s);
  multiply(c, TF_FLOAT, NULL, s);
  multiply(c, TF_FLOAT, "/device:CPU:0", s);
  multiply(c, TF_DOUBLE, NULL, s);
  multiply(c, TF_DOUBLE, "/device:GPU:0", s);
  multiply(c, TF_FLOAT, "/device:GPU:7", s);
  assert_int_equal(ferry_eager_explain(c, FERRY_TEXT, &text, &err), 0);
  has(text, "Eager calls: 5 kinds");
  has(text, "nothing was requested: a GPU comes before a CPU");
  has(text, "requested by the call's device '/device:CPU:0'");
  has(text, "GPU:0 cannot run it: the simulated GPU lacks float64 (lack=float64)");
  has(text, "'/device:GPU:0' was requested, but GPU:0 cannot run it");
  has(text, "'/device:GPU:7' was requested, but there is no such device");
  has(text, "input 0 of MatMul was copied from CPU:0 to GPU:0: 2 times, 2.0 MiB");
  assert_null(strstr(text, "input 1 of MatMul"));  // the same tensor: it crossed already
  ferry_free_text(text);
  assert_int_equal(ferry_eager_explain(c, FERRY_JSON, &text, &err), 0);
  has(text, "\"eager_op\": \"MatMul\", \"inputs\": \"double, double\", \"device\": \"CPU:0\"");
  has(text,
      "{\"input\": 0, \"from\": \"CPU:0\", \"to\": \"GPU:0\", \"times\": 2, \"bytes\": 2097152}");
  ferry_free_text(text);
  TFE_DeleteContext(c);
  TF_DeleteStatus(s);
}

static void resources_are_followed(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(false, s);
  TFE_TensorHandle *v = NULL;
  int n = 1;
  TFE_Op *op = TFE_NewOp(c, "VarHandleOp", s);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
  TFE_OpSetDevice(op, "/device:GPU:0", s);
  TFE_Execute(op, &v, &n, s);
  TFE_DeleteOp(op);
  float one = 1;
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof one);
  memcpy(TF_TensorData(t), &one, sizeof one);
  TFE_TensorHandle *value = TFE_NewTensorHandle(t, s);
  op = TFE_NewOp(c, "AssignVariableOp", s);
  TFE_OpAddInput(op, v, s);
  TFE_OpAddInput(op, value, s);
  n = 0;
  TFE_Execute(op, NULL, &n, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TFE_DeleteOp(op);
  char *text;
  assert_int_equal(ferry_eager_explain(c, FERRY_TEXT, &text, NULL), 0);
  has(text, "its resource is on GPU:0");
  ferry_free_text(text);
  TFE_DeleteTensorHandle(value);
  TFE_DeleteTensorHandle(v);
  TF_DeleteTensor(t);
  TFE_DeleteContext(c);
  TF_DeleteStatus(s);
}

// ------------------------------------------------------------------ FERRY_EXPLAIN
static char *read_all(const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = calloc(1, 1 << 16);
  assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
  fclose(f);
  return text;
}

// Calls x -> x * x as a function of |c|.
static void call_function(TFE_Context *c, TF_Status *s) {
  TF_Graph *g = TF_NewGraph();
  TF_Output x, y = product(g, &x, s);
  TF_Function *f = TF_GraphToFunction(g, "squared", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  TFE_ContextAddFunction(c, f, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TF_Tensor *t = square(TF_FLOAT);
  TFE_TensorHandle *in = TFE_NewTensorHandle(t, s), *out = NULL;
  TFE_Op *op = TFE_NewOp(c, "squared", s);
  TFE_OpAddInput(op, in, s);
  int n = 1;
  TFE_Execute(op, &out, &n, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(out);
  TFE_DeleteTensorHandle(in);
  TF_DeleteTensor(t);
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);
}

static void tells_without_being_asked(void **state) {
  (void)state;
  char path[] = "/tmp/ferry_explain_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  setenv("FERRY_EXPLAIN", path, 1);
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  TF_Output x, y = product(g, &x, s);
  TF_Session *session = open_session(g, s);
  TFE_Context *c = open_context(false, s);
  unsetenv("FERRY_EXPLAIN");
  run_session(session, x, y, s);
  run_session(session, x, y, s);
  multiply(c, TF_FLOAT, NULL, s);
  multiply(c, TF_FLOAT, NULL, s);
  call_function(c, s);
  char *text = read_all(path);
  has(text, "== The function squared, given float [512,512]");
  has(text, "== A request for y, given float [512,512]");
  has(text, "cheaper: ");
  has(text, "why:    'x' is fed by the client");
  assert_null(strstr(strstr(text, "== A request") + 1, "== A request"));  // once per program
  has(text, "eager MatMul(float, float) runs on GPU:0: nothing was requested");
  has(text, "eager: input 0 of MatMul was copied from CPU:0 to GPU:0: 1 time, 1.0 MiB");
  free(text);
  unlink(path);
  TFE_DeleteContext(c);
  close_session(session, g, s);
}

static void says_where_it_cannot_write(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  setenv("FERRY_EXPLAIN", "/no such directory/report.txt", 1);
  assert_null(open_session(g, s));
  assert_int_equal(TF_GetCode(s), TF_INVALID_ARGUMENT);
  has(TF_Message(s),
      "option 'explain': '/no such directory/report.txt' cannot be written: No such");
  assert_null(open_context(false, s));
  assert_int_equal(TF_GetCode(s), TF_INVALID_ARGUMENT);
  unsetenv("FERRY_EXPLAIN");
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

int main(void) {
  setenv("FERRY_SIM", "gpu:1,lack=float64", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asks_a_session),
      cmocka_unit_test(asks_a_context),
      cmocka_unit_test(resources_are_followed),
      cmocka_unit_test(tells_without_being_asked),
      cmocka_unit_test(says_where_it_cannot_write),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

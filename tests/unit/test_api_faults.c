// SPDX-License-Identifier: Apache-2.0
// test_api_faults.c: the N-th allocation fails, for every N, while a client imports a graph, makes
// and calls functions, runs a loop, and calls operations eagerly (also asynchronously). The N-th
// launch, copy and device allocation fail in an eager context with a simulated GPU. Every call
// reports or succeeds; nothing crashes or leaks (ASan, Valgrind); afterwards everything works.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"

#define POINTS 60000

static bool settled(const TF_Status *s) {
  return TF_GetCode(s) == TF_OK || TF_GetCode(s) == TF_RESOURCE_EXHAUSTED;
}
static bool ok(const TF_Status *s) {
  return TF_GetCode(s) == TF_OK;
}

// Calls |use| with the N-th event of |kind| failing, until none is left; then without a fault.
static void every_point(fy_fault kind, bool lasting, void (*use)(TF_Status *, bool must)) {
  TF_Status *s = TF_NewStatus();
  use(s, true);  // what is set up once per process is set up now
  int64_t n = 1;
  for (; n < POINTS; n++) {
    fy_fault_arm(kind, n, lasting);
    use(s, false);
    int64_t hits = fy_fault_hits(kind);
    fy_fault_disarm(kind);
    if (hits < n) break;
  }
  print_message("%lld points\n", (long long)n - 1);
  assert_true(n > 1 && n < POINTS);
  use(s, true);
  TF_DeleteStatus(s);
}

// ------------------------------------------------------------------ graphs
static TF_Output add_op(TF_Graph *g, const char *op, const char *name, int n, const TF_Output *in,
                        const char *attr, TF_DataType type, TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  for (int i = 0; i < n; i++) TF_AddInput(d, in[i]);
  if (attr) TF_SetAttrType(d, attr, type);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}

static TF_Tensor *number(float v) {
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof v);
  if (t) *(float *)TF_TensorData(t) = v;
  return t;
}

// f(x) = |op|(x, x) with one operation.
static TF_Function *function_of(const char *name, const char *op, TF_Status *s) {
  TF_Graph *g = TF_NewGraph();
  TF_Function *f = NULL;
  if (!g) return NULL;
  TF_Output x = add_op(g, "Placeholder", "x", 0, NULL, "dtype", TF_FLOAT, s);
  TF_Output in[2] = {x, x}, y = {NULL, 0};
  if (x.oper) y = add_op(g, op, "y", 2, in, NULL, 0, s);
  if (y.oper) f = TF_GraphToFunction(g, name, 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  TF_DeleteGraph(g);
  return f;
}

// less(x) = x < 100 as a function.
static TF_Function *less_function(TF_Status *s) {
  TF_Graph *g = TF_NewGraph();
  TF_Function *f = NULL;
  if (!g) return NULL;
  TF_Output x = add_op(g, "Placeholder", "x", 0, NULL, "dtype", TF_FLOAT, s), limit = {NULL, 0};
  TF_Tensor *t = number(100);
  if (x.oper && t) {
    TF_OperationDescription *d = TF_NewOperation(g, "Const", "limit");
    TF_SetAttrTensor(d, "value", t, s);
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    limit.oper = TF_FinishOperation(d, s);
  }
  TF_DeleteTensor(t);
  TF_Output in[2] = {x, limit}, y = {NULL, 0};
  if (limit.oper) y = add_op(g, "Less", "y", 2, in, NULL, 0, s);
  if (y.oper) f = TF_GraphToFunction(g, "less", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  TF_DeleteGraph(g);
  return f;
}

static void run_graph(TF_Graph *g, TF_Output x, TF_Output y, float want, bool must, TF_Status *s) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *session = o ? TF_NewSession(g, o, s) : NULL;
  TF_Tensor *in = number(1), *out = NULL;
  if (session && in) {
    TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
    assert_true(settled(s));
    if (ok(s))
      assert_true(*(float *)TF_TensorData(out) == want);
    else
      assert_null(out);
  }
  assert_true(!must || out);
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  if (session) TF_DeleteSession(session, s);
  if (o) TF_DeleteSessionOptions(o);
}

static void use_functions(TF_Status *s, bool must) {
  TF_Graph *g = TF_NewGraph();
  if (!g) return;
  TF_Function *twice = function_of("twice", "AddV2", s), *less = less_function(s);
  bool sound = twice && less;
  if (sound) {
    TF_GraphCopyFunction(g, twice, NULL, s);
    sound = ok(s);
  }
  if (sound) {
    TF_GraphCopyFunction(g, less, NULL, s);
    sound = ok(s);
  }
  assert_true(settled(s) || !must);
  TF_Output x = {NULL, 0}, call = {NULL, 0}, loop = {NULL, 0};
  if (sound) x = add_op(g, "Placeholder", "x", 0, NULL, "dtype", TF_FLOAT, s);
  if (x.oper) call = add_op(g, "twice", "call", 1, &x, NULL, 0, s);
  if (call.oper) {
    TF_OperationDescription *d = TF_NewOperation(g, "While", "loop");
    static const TF_DataType types[] = {TF_FLOAT};
    TF_AddInputList(d, &call, 1);
    TF_SetAttrTypeList(d, "T", types, 1);
    TF_SetAttrFuncName(d, "cond", "less", 4);
    TF_SetAttrFuncName(d, "body", "twice", 5);
    loop.oper = TF_FinishOperation(d, s);
  }
  assert_true(!must || loop.oper);
  if (loop.oper) run_graph(g, x, loop, 128, must, s);
  if (twice) TF_DeleteFunction(twice);
  if (less) TF_DeleteFunction(less);
  TF_DeleteGraph(g);
}

static TF_Buffer *graph_bytes(void) {
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  TF_Function *twice = function_of("twice", "AddV2", s);
  TF_GraphCopyFunction(g, twice, NULL, s);
  TF_DeleteFunction(twice);
  TF_Output x = add_op(g, "Placeholder", "x", 0, NULL, "dtype", TF_FLOAT, s);
  TF_Output call = add_op(g, "twice", "call", 1, &x, NULL, 0, s);
  add_op(g, "Neg", "y", 1, &call, NULL, 0, s);
  TF_Buffer *def = TF_NewBuffer();
  TF_GraphToGraphDef(g, def, s);
  assert_true(ok(s));
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return def;
}

static TF_Buffer *import_def;

static void use_import(TF_Status *s, bool must) {
  TF_Graph *g = TF_NewGraph();
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  if (g && o) {
    TF_ImportGraphDefOptionsSetPrefix(o, "in");
    TF_ImportGraphDefOptionsAddReturnOutput(o, "y", 0);
    TF_ImportGraphDefResults *r = TF_GraphImportGraphDefWithResults(g, import_def, o, s);
    assert_true(settled(s));
    assert_true(!must || r);
    TF_Operation *x = r ? TF_GraphOperationByName(g, "in/x") : NULL;
    TF_Operation *y = r ? TF_GraphOperationByName(g, "in/y") : NULL;
    if (x && y) run_graph(g, (TF_Output){x, 0}, (TF_Output){y, 0}, -2, must, s);
    if (r) TF_DeleteImportGraphDefResults(r);
    TF_Buffer *back = TF_NewBuffer();
    if (back) {
      TF_GraphToGraphDef(g, back, s);
      assert_true(settled(s));
      TF_DeleteBuffer(back);
    }
  }
  if (o) TF_DeleteImportGraphDefOptions(o);
  if (g) TF_DeleteGraph(g);
}

// ------------------------------------------------------------------ eager
static TFE_TensorHandle *call(TFE_Context *c, const char *name, const char *device,
                              TFE_TensorHandle *a, TFE_TensorHandle *b, TF_Status *s) {
  TFE_TensorHandle *out = NULL;
  TFE_Op *op = a ? TFE_NewOp(c, name, s) : NULL;
  if (!op) return NULL;
  if (device) TFE_OpSetDevice(op, device, s);
  TFE_OpAddInput(op, a, s);
  bool sound = ok(s);
  if (sound && b) {
    TFE_OpAddInput(op, b, s);
    sound = ok(s);
  }
  int n = 1;
  if (sound) TFE_Execute(op, &out, &n, s);
  TFE_DeleteOp(op);
  return ok(s) ? out : NULL;
}

static TFE_Context *context(bool async, const char *sim, TF_Status *s) {
  if (sim) setenv("FERRY_SIM", sim, 1);
  TFE_ContextOptions *o = TFE_NewContextOptions();
  if (sim) unsetenv("FERRY_SIM");
  if (!o) return NULL;
  TFE_ContextOptionsSetAsync(o, async);
  TFE_Context *c = TFE_NewContext(o, s);
  TFE_DeleteContextOptions(o);
  return c;
}

static void use_eager_on(TFE_Context *c, const char *device, float want, bool must, TF_Status *s) {
  TF_Tensor *t = number(3), *r = NULL;
  TFE_TensorHandle *x = t ? TFE_NewTensorHandle(t, s) : NULL;
  TFE_TensorHandle *y = call(c, "AddV2", device, x, x, s);
  TFE_TensorHandle *z = call(c, "Neg", device, y, NULL, s);
  TFE_TensorHandle *w = call(c, "Mul", NULL, z, x, s);
  TF_Function *f = function_of("twice", "AddV2", s);
  TFE_TensorHandle *v = NULL;
  if (f) {
    TFE_ContextAddFunction(c, f, s);
    if (ok(s)) v = call(c, "twice", NULL, w, NULL, s);
    TF_DeleteFunction(f);
  }
  if (v) {
    r = TFE_TensorHandleResolve(v, s);
    if (r) assert_true(*(float *)TF_TensorData(r) == want);
  }
  if (must && !r) fail_msg("%s", TF_Message(s));
  TFE_TensorHandle *all[] = {x, y, z, w, v};
  for (int i = 0; i < 5; i++) TFE_DeleteTensorHandle(all[i]);
  TF_DeleteTensor(t);
  TF_DeleteTensor(r);
}

static void use_eager(TF_Status *s, bool must) {
  TFE_Context *c = context(false, NULL, s);
  assert_true(!must || c);
  if (!c) return;
  use_eager_on(c, NULL, -36, must, s);
  TFE_DeleteContext(c);
}

static void use_async(TF_Status *s, bool must) {
  TFE_Context *c = context(true, NULL, s);
  assert_true(!must || c);
  if (!c) return;
  use_eager_on(c, NULL, -36, must, s);
  TFE_ContextAsyncWait(c, s);
  TFE_DeleteContext(c);
}

static void use_sim(TF_Status *s, bool must) {
  TFE_Context *c = context(false, "gpu:1,memory=64MiB", s);
  assert_true(!must || c);
  if (!c) return;
  use_eager_on(c, "/device:GPU:0", -36, must, s);
  TFE_DeleteContext(c);
}

// ------------------------------------------------------------------ tests
static void test_functions(void **state) {
  (void)state;
  every_point(FY_FAULT_ALLOC, false, use_functions);
}
static void test_import(void **state) {
  (void)state;
  import_def = graph_bytes();
  every_point(FY_FAULT_ALLOC, false, use_import);
  TF_DeleteBuffer(import_def);
}
static void test_eager(void **state) {
  (void)state;
  every_point(FY_FAULT_ALLOC, false, use_eager);
}
static void test_async(void **state) {
  (void)state;
  every_point(FY_FAULT_ALLOC, false, use_async);
}
static void test_sim_host_memory(void **state) {
  (void)state;
  every_point(FY_FAULT_ALLOC, false, use_sim);
}
static void test_sim_memory(void **state) {
  (void)state;
  every_point(FY_FAULT_DEVICE_ALLOC, true, use_sim);
}
static void test_sim_launch(void **state) {
  (void)state;
  every_point(FY_FAULT_LAUNCH, false, use_sim);
}
static void test_sim_copy(void **state) {
  (void)state;
  every_point(FY_FAULT_COPY, false, use_sim);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_functions),       cmocka_unit_test(test_import),
      cmocka_unit_test(test_eager),           cmocka_unit_test(test_async),
      cmocka_unit_test(test_sim_host_memory), cmocka_unit_test(test_sim_memory),
      cmocka_unit_test(test_sim_launch),      cmocka_unit_test(test_sim_copy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

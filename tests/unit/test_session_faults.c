// SPDX-License-Identifier: Apache-2.0
// test_session_faults.c: the session half of the C API when memory is short: the N-th allocation
// fails, for every N. A call then reports RESOURCE_EXHAUSTED or gives its result; nothing crashes
// or leaks.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tensorflow/c/c_api.h"

typedef struct world {
  TF_Graph *graph;
  TF_Buffer *def, *full;  // the graph's bytes; options for a traced run
  TF_Output x, y, z;
  TF_Tensor *one;
} world;

static TF_Output add_op(TF_Graph *g, const char *op, const char *name, TF_Output a, TF_Output b) {
  TF_Status *s = TF_NewStatus();
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  if (a.oper) TF_AddInput(d, a);
  if (b.oper) TF_AddInput(d, b);
  if (!a.oper) TF_SetAttrType(d, "dtype", TF_FLOAT);
  if (strcmp(name, "z") == 0) TF_SetDevice(d, "/device:CPU:1");
  TF_Output out = {TF_FinishOperation(d, s), 0};
  assert_int_equal(TF_GetCode(s), TF_OK);
  TF_DeleteStatus(s);
  return out;
}

static int setup(void **state) {
  static world w;
  TF_Output none = {NULL, 0};
  TF_Status *s = TF_NewStatus();
  w.graph = TF_NewGraph();
  w.x = add_op(w.graph, "Placeholder", "x", none, none);
  w.y = add_op(w.graph, "AddV2", "y", w.x, w.x);
  w.z = add_op(w.graph, "Neg", "z", w.y, none);
  w.def = TF_NewBuffer();
  TF_GraphToGraphDef(w.graph, w.def, s);
  w.full = TF_NewBufferFromString("\x08\x03\x28\x01", 4);  // FULL_TRACE, output_partition_graphs
  w.one = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
  *(float *)TF_TensorData(w.one) = 1;
  TF_DeleteStatus(s);
  *state = &w;
  return 0;
}

static int teardown(void **state) {
  world *w = *state;
  TF_DeleteTensor(w->one);
  TF_DeleteBuffer(w->def);
  TF_DeleteBuffer(w->full);
  TF_DeleteGraph(w->graph);
  return 0;
}

static bool short_or_ok(const TF_Status *s) {
  return TF_GetCode(s) == TF_OK || TF_GetCode(s) == TF_RESOURCE_EXHAUSTED;
}

static void use_session(world *w, TF_Session *session, TF_Status *s) {
  TF_Tensor *out = NULL;
  TF_Buffer *metadata = TF_NewBuffer();
  TF_SessionRun(session, w->full, &w->x, &w->one, 1, &w->z, &out, 1, NULL, 0, metadata, s);
  assert_true(short_or_ok(s));
  if (TF_GetCode(s) == TF_OK)
    assert_true(*(float *)TF_TensorData(out) == -2.0f);
  else
    assert_null(out);
  TF_DeleteTensor(out);
  TF_DeleteBuffer(metadata);

  const char *handle = NULL;
  TF_Output fetches[2] = {w->y, w->z};
  TF_SessionPRunSetup(session, &w->x, 1, fetches, 2, NULL, 0, &handle, s);
  assert_true(short_or_ok(s));
  if (handle) {
    out = NULL;
    TF_SessionPRun(session, handle, &w->x, &w->one, 1, &w->y, &out, 1, NULL, 0, s);
    assert_true(short_or_ok(s));
    TF_DeleteTensor(out);
    out = NULL;
    bool first = TF_GetCode(s) == TF_OK;
    TF_SessionPRun(session, handle, NULL, NULL, 0, &w->z, &out, 1, NULL, 0, s);
    assert_true(!first || short_or_ok(s));
    TF_DeleteTensor(out);
  }
  TF_DeletePRunHandle(handle);
  TF_DeviceList *list = TF_SessionListDevices(session, s);
  TF_DeleteDeviceList(list);
}

static void use_legacy(world *w, const TF_SessionOptions *o, TF_Status *s) {
  TF_DeprecatedSession *session = TF_NewDeprecatedSession(o, s);
  assert_true(short_or_ok(s));
  if (!session) return;
  TF_ExtendGraph(session, w->def->data, w->def->length, s);
  assert_true(short_or_ok(s));
  if (TF_GetCode(s) == TF_OK) {
    const char *in = "x:0", *out = "z:0";
    TF_Tensor *value = NULL;
    TF_Run(session, NULL, &in, &w->one, 1, &out, &value, 1, NULL, 0, NULL, s);
    assert_true(short_or_ok(s));
    TF_DeleteTensor(value);
  }
  TF_DeleteDeprecatedSession(session, s);
}

static void use_all(world *w, TF_Status *s) {
  static const char config[] = "device_count { key: \"CPU\" value: 2 }";
  TF_SessionOptions *o = TF_NewSessionOptions();
  if (!o) return;
  TF_SetTarget(o, "");
  TF_SetStatus(s, TF_OK, "");  // TF_SetConfig only says what went wrong
  TF_SetConfig(o, config, sizeof config - 1, s);
  bool two = TF_GetCode(s) == TF_OK;
  assert_true(short_or_ok(s));
  TF_Session *session = two ? TF_NewSession(w->graph, o, s) : NULL;
  assert_true(short_or_ok(s));
  if (session) {
    use_session(w, session, s);
    TF_DeleteSession(session, s);
  }
  if (two) use_legacy(w, o, s);
  TF_DeleteSessionOptions(o);
}

static void test_every_allocation(void **state) {
  world *w = *state;
  TF_Status *s = TF_NewStatus();
  for (int64_t n = 1;; n++) {
    fy_fault_arm(FY_FAULT_ALLOC, n, false);
    use_all(w, s);
    int64_t hits = fy_fault_hits(FY_FAULT_ALLOC);
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (hits < n) break;
  }
  use_all(w, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_every_allocation, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

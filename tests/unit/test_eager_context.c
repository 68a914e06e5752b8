// SPDX-License-Identifier: Apache-2.0
// What transcripts cannot show of eager mode: bounds of the kernel cache, threads on one context,
// survival when the N-th allocation fails.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "base/thread.h"
#include "tensorflow/c/c_api_experimental.h"

static TFE_Context *open_context(bool async, TF_Status *s) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetAsync(o, async);
  TFE_Context *c = TFE_NewContext(o, s);
  TFE_DeleteContextOptions(o);
  assert_int_equal(TF_GetCode(s), TF_OK);
  return c;
}

static TFE_TensorHandle *scalar(float value, TF_Status *s) {
  return TFE_NewTensorHandleFromScalar(TF_FLOAT, &value, sizeof value, s);
}

static TFE_TensorHandle *run(TFE_Context *c, const char *name, TFE_TensorHandle *a,
                             TFE_TensorHandle *b, TF_Status *s) {
  TFE_TensorHandle *out = NULL;
  int n = 1;
  TFE_Op *op = TFE_NewOp(c, name, s);
  if (!op) return NULL;
  TFE_OpAddInput(op, a, s);
  if (b && TF_GetCode(s) == TF_OK) TFE_OpAddInput(op, b, s);
  if (TF_GetCode(s) == TF_OK) TFE_Execute(op, &out, &n, s);
  TFE_DeleteOp(op);
  return out;
}

static float value_of(TFE_TensorHandle *h, TF_Status *s) {
  TF_Tensor *t = TFE_TensorHandleResolve(h, s);
  float v = t ? *(float *)TF_TensorData(t) : -1;
  if (t) TF_DeleteTensor(t);
  return v;
}

// ------------------------------------------------------------------ versions
static void removed_ops_are_refused(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(false, s);
  TFE_TensorHandle *x = scalar(1, s);
  assert_null(run(c, "BatchMatrixDiag", x, NULL, s));
  assert_int_equal(TF_GetCode(s), TF_UNIMPLEMENTED);
  assert_non_null(strstr(TF_Message(s), "It has been removed in version 14. Use MatrixDiag."));
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(c);
  TF_DeleteStatus(s);
}

// ------------------------------------------------------------------ cache
static void cache_is_bounded(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(false, s);
  TFE_TensorHandle *x = scalar(-1, s);
  size_t most = 0;
  for (int i = 0; i < 6000; i++) {
    TFE_TensorHandle *out;
    int n = 1;
    TFE_Op *op = TFE_NewOp(c, "LeakyRelu", s);
    TFE_OpAddInput(op, x, s);
    TFE_OpSetAttrFloat(op, "alpha", (float)i);
    TFE_Execute(op, &out, &n, s);
    assert_int_equal(TF_GetCode(s), TF_OK);
    assert_true(value_of(out, s) == -(float)i);
    TFE_DeleteTensorHandle(out);
    TFE_DeleteOp(op);
    size_t cached = fy_eager_cached_kernels(fy_api_eager(c));
    if (cached > most) most = cached;
  }
  assert_true(most > 100);
  assert_true(most <= 4096);
  TFE_ContextClearCaches(c);
  assert_int_equal(fy_eager_cached_kernels(fy_api_eager(c)), 0);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(c);
  TF_DeleteStatus(s);
}

static void long_attributes_are_not_cached(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(false, s);
  float values[1000];
  for (int i = 0; i < 1000; i++) values[i] = (float)i;
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, (const int64_t[]){1000}, 1, sizeof values);
  memcpy(TF_TensorData(t), values, sizeof values);
  for (int i = 0; i < 3; i++) {
    TFE_TensorHandle *out;
    int n = 1;
    TFE_Op *op = TFE_NewOp(c, "Const", s);
    TFE_OpSetAttrTensor(op, "value", t, s);
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    ((float *)TF_TensorData(t))[0] = 99;  // after setting: must not be seen
    TFE_Execute(op, &out, &n, s);
    assert_int_equal(TF_GetCode(s), TF_OK);
    assert_true(value_of(out, s) == (i ? 99 : 0));
    TFE_DeleteTensorHandle(out);
    TFE_DeleteOp(op);
  }
  assert_int_equal(fy_eager_cached_kernels(fy_api_eager(c)), 0);
  TF_DeleteTensor(t);
  TFE_DeleteContext(c);
  TF_DeleteStatus(s);
}

static void handles_outlive_their_context(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(true, s);
  TFE_TensorHandle *x = scalar(3, s), *y = run(c, "Square", x, NULL, s);
  TFE_SetLogicalCpuDevices(c, 2, "", s);
  TFE_TensorHandle *z = TFE_TensorHandleCopyToDevice(y, c, "CPU:1", s);
  TFE_DeleteContext(c);
  assert_true(value_of(y, s) == 9);
  assert_true(value_of(z, s) == 9);
  assert_string_equal(TFE_TensorHandleDeviceName(z, s),
                      "/job:localhost/replica:0/task:0/device:CPU:1");
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(z);
  TF_DeleteStatus(s);
}

// ------------------------------------------------------------------ threads
typedef struct worker {
  TFE_Context *context;
  TFE_TensorHandle *x;
  int id;
  int wrong;
} worker;

static void *work(void *arg) {
  worker *w = arg;
  TF_Status *s = TF_NewStatus();
  for (int i = 0; i < 400; i++) {
    TFE_TensorHandle *y = run(w->context, i % 2 ? "AddV2" : "Mul", w->x, w->x, s);
    w->wrong += TF_GetCode(s) != TF_OK || value_of(y, s) != (i % 2 ? 6 : 9);
    if (y) TFE_DeleteTensorHandle(y);
    if (i % 50 == w->id) TFE_ContextClearCaches(w->context);
    if (i == 200)
      TFE_ContextSetThreadLocalDevicePlacementPolicy(w->context, TFE_DEVICE_PLACEMENT_EXPLICIT);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void threads_share(bool async) {
  enum { THREADS = 4 };
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(async, s);
  TFE_TensorHandle *x = scalar(3, s);
  worker workers[THREADS];
  fy_thread threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){c, x, i, 0};
    assert_true(fy_thread_start(&threads[i], work, &workers[i], "eager"));
  }
  for (int i = 0; i < THREADS; i++) {
    fy_thread_join(threads[i]);
    assert_int_equal(workers[i].wrong, 0);
  }
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(c);
  TF_DeleteStatus(s);
}

static void threads_share_a_context(void **state) {
  (void)state;
  threads_share(false);
}

static void threads_share_an_async_context(void **state) {
  (void)state;
  threads_share(true);
}

// ------------------------------------------------------------------ short memory
// A bit of everything; whatever fails must fail by a status and leave nothing behind.
static void scenario(TF_Status *s) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *c = o ? TFE_NewContext(o, s) : NULL;
  TFE_DeleteContextOptions(o);
  if (!c) return;
  TFE_TensorHandle *x = scalar(3, s), *y = NULL, *z = NULL, *list[2];
  if (x) y = run(c, "AddV2", x, x, s);
  TFE_Op *op = y ? TFE_NewOp(c, "Pack", s) : NULL;
  if (op) {
    int n = 1;
    list[0] = x;
    list[1] = y;
    TFE_OpAddInputList(op, list, 2, s);
    TFE_OpSetAttrInt(op, "axis", 0);
    TFE_OpSetDevice(op, "/device:CPU:0", s);
    if (TF_GetCode(s) == TF_OK) TFE_Execute(op, &z, &n, s);
    TFE_DeleteOp(op);
  }
  if (z) {
    TF_Buffer *names = TF_NewBuffer();
    if (names) TFE_HostAddressSpace(c, names);
    TF_DeleteBuffer(names);
    TFE_TensorHandle *copy = TFE_TensorHandleCopyToDevice(z, c, "CPU:0", s);
    TF_Tensor *t = TFE_TensorHandleResolve(z, s);
    if (t) TF_DeleteTensor(t);
    if (copy) TFE_DeleteTensorHandle(copy);
    TFE_DeleteTensorHandle(z);
  }
  if (y) TFE_DeleteTensorHandle(y);
  if (x) TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(c);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  scenario(s);  // what is made once per process
  assert_int_equal(TF_GetCode(s), TF_OK);
  int64_t n = 1;
  for (;; n++) {
    fy_fault_arm(FY_FAULT_ALLOC, n, false);
    scenario(s);
    bool all_seen = fy_fault_hits(FY_FAULT_ALLOC) < n;
    fy_fault_disarm(FY_FAULT_ALLOC);
    TF_SetStatus(s, TF_OK, "");
    if (all_seen) break;
    assert_true(n < 100000);
  }
  assert_true(n > 20);
  scenario(s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TF_DeleteStatus(s);
}

// ------------------------------------------------------------------ custom devices
static int no_dims(void *data, TF_Status *s) {
  (void)data;
  (void)s;
  return 0;
}
static int64_t no_dim(void *data, int i, TF_Status *s) {
  (void)data;
  (void)i;
  (void)s;
  return 0;
}
static void count(void *counter) {
  ++*(int *)counter;
}

// A value may outlive its context: the device is told of the end at once, the value when it goes.
static void test_custom_value_outlives_context(void **state) {
  (void)state;
  static const char name[] = "/job:localhost/replica:0/task:0/device:MINE:0";
  int devices = 0, values = 0;
  TF_Status *s = TF_NewStatus();
  TFE_Context *c = open_context(false, s);
  TFE_CustomDevice device = {.version = TFE_CUSTOM_DEVICE_VERSION, .delete_device = count};
  TFE_RegisterCustomDevice(c, device, name, &devices, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  TFE_CustomDeviceTensorHandle methods = {TFE_CUSTOM_DEVICE_VERSION, no_dims, no_dim, count, NULL};
  TFE_TensorHandle *h = TFE_NewCustomDeviceTensorHandle(c, name, TF_FLOAT, &values, methods, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  assert_int_equal(TFE_TensorHandleDeviceMemorySize(h, s), 0);  // it has no tensor
  assert_int_equal(TF_GetCode(s), TF_UNIMPLEMENTED);
  TFE_DeleteContext(c);
  assert_int_equal(devices, 1);
  assert_string_equal(TFE_TensorHandleDeviceName(h, s), name);
  assert_null(TFE_TensorHandleResolve(h, s));
  assert_int_equal(TF_GetCode(s), TF_FAILED_PRECONDITION);
  assert_int_equal(values, 0);
  TFE_DeleteTensorHandle(h);
  assert_int_equal(values, 1);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_custom_value_outlives_context),
      cmocka_unit_test(removed_ops_are_refused),
      cmocka_unit_test(cache_is_bounded),
      cmocka_unit_test(long_attributes_are_not_cached),
      cmocka_unit_test(handles_outlive_their_context),
      cmocka_unit_test(threads_share_a_context),
      cmocka_unit_test(threads_share_an_async_context),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// test_kernel_variables.c: a third party's kernels assign, update and lock variables, and add lists
// (kernels_experimental.h; TensorFlow's wheel does not export these, so there is no transcript).

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/kernels_experimental.h"
#include "tensorflow/c/ops.h"

static TF_Status *S;
static TFE_Context *C;
static int copies;

static void copy(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest) {
  (void)ctx;
  memcpy(TF_TensorData(dest), TF_TensorData(source), TF_TensorByteSize(source));
  TF_DeleteTensor(source);
  TF_DeleteTensor(dest);
  copies++;
}

static void combine(TF_OpKernelContext *ctx, TF_Tensor *tensor, TF_Tensor *value, int op) {
  (void)ctx;
  float *to = TF_TensorData(tensor);
  const float *by = TF_TensorData(value);
  for (int64_t i = 0; i < TF_TensorElementCount(tensor); i++) to[i] += op == 7 ? by[i] : -by[i];
  TF_DeleteTensor(tensor);
  TF_DeleteTensor(value);
}

static void add(TF_OpKernelContext *ctx, TF_Tensor *a, TF_Tensor *b, TF_Tensor *out) {
  (void)ctx;
  for (int64_t i = 0; i < TF_TensorElementCount(out); i++)
    ((float *)TF_TensorData(out))[i] =
        ((float *)TF_TensorData(a))[i] + ((float *)TF_TensorData(b))[i];
  TF_DeleteTensor(a);
  TF_DeleteTensor(b);
  TF_DeleteTensor(out);
}

static void zero(TF_OpKernelContext *ctx, TF_Tensor *in, TF_Tensor *out) {
  (void)ctx;
  memset(TF_TensorData(out), 0, TF_TensorByteSize(out));
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
}

static void end(TF_OpKernelContext *c, TF_Status *s) {
  if (TF_GetCode(s)) TF_OpKernelContext_Failure(c, s);
  TF_DeleteStatus(s);
}

static void do_assign(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_AssignVariable(c, 0, 1, true, copy, s);
  end(c, s);
}

static void do_update(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_AssignUpdateVariable(c, 0, 1, 7, 0, copy, combine, s);
  end(c, s);
}

// Doubles both variables under their locks; input 0 and 1 may be one variable.
static void do_double(void *k, TF_OpKernelContext *c) {
  (void)k;
  static const int inputs[2] = {0, 1};
  TF_Status *s = TF_NewStatus();
  TF_VariableInputLockHolder *locks = NULL;
  TF_MaybeLockVariableInputMutexesInOrder(c, true, false, inputs, 2, copy, &locks, s);
  for (int i = 0; i < 2 && TF_GetCode(s) == TF_OK; i++) {
    TF_Tensor *t = NULL;
    TF_GetInputTensorFromVariable(c, i, true, false, false, copy, &t, s);
    if (!t) break;
    for (int64_t n = 0; n < TF_TensorElementCount(t); n++) ((float *)TF_TensorData(t))[n] *= 2;
    TF_DeleteTensor(t);
  }
  TF_ReleaseVariableInputLockHolder(locks);
  end(c, s);
}

static void do_add_n(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_AddNVariant(c, add, s);
  end(c, s);
}

static void do_zeros(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_ZerosLikeVariant(c, zero, s);
  end(c, s);
}

static void define(const char *name, const char *in0, const char *in1, const char *out,
                   void (*compute)(void *, TF_OpKernelContext *)) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddInput(b, in0);
  if (in1) TF_OpDefinitionBuilderAddInput(b, in1);
  if (out) TF_OpDefinitionBuilderAddOutput(b, out);
  TF_OpDefinitionBuilderSetIsStateful(b, true);
  TF_RegisterOpDefinition(b, S);
  assert_int_equal(TF_GetCode(S), TF_OK);
  TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", NULL, compute, NULL), S);
  assert_int_equal(TF_GetCode(S), TF_OK);
}

static int open_all(void **state) {
  (void)state;
  S = TF_NewStatus();
  define("TestAssign", "v: resource", "x: float", NULL, do_assign);
  define("TestUpdate", "v: resource", "x: float", NULL, do_update);
  define("TestDouble", "v: resource", "w: resource", NULL, do_double);
  define("TestAddLists", "a: variant", "b: variant", "c: variant", do_add_n);
  define("TestZeroList", "a: variant", NULL, "c: variant", do_zeros);
  TFE_ContextOptions *o = TFE_NewContextOptions();
  C = TFE_NewContext(o, S);
  TFE_DeleteContextOptions(o);
  return C ? 0 : -1;
}

static int close_all(void **state) {
  (void)state;
  TFE_DeleteContext(C);
  TF_DeleteStatus(S);
  return 0;
}

static TFE_TensorHandle *floats(int64_t n, const float *v) {
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, &n, 1, (size_t)n * sizeof *v);
  memcpy(TF_TensorData(t), v, (size_t)n * sizeof *v);
  TFE_TensorHandle *h = TFE_NewTensorHandle(t, S);
  TF_DeleteTensor(t);
  return h;
}

static TFE_TensorHandle *scalar_int(int32_t v) {
  TF_Tensor *t = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof v);
  *(int32_t *)TF_TensorData(t) = v;
  TFE_TensorHandle *h = TFE_NewTensorHandle(t, S);
  TF_DeleteTensor(t);
  return h;
}

// Runs with up to three inputs; NULL if there is no result or it failed.
static TFE_TensorHandle *run(const char *name, TF_DataType type, const char *attr,
                             TFE_TensorHandle *a, TFE_TensorHandle *b, TFE_TensorHandle *c) {
  TFE_Op *op = TFE_NewOp(C, name, S);
  assert_int_equal(TF_GetCode(S), TF_OK);
  TFE_TensorHandle *in[3] = {a, b, c}, *out[1] = {NULL};
  if (attr) TFE_OpSetAttrType(op, attr, type);
  for (int i = 0; i < 3 && in[i]; i++) TFE_OpAddInput(op, in[i], S);
  int n = 1;
  TFE_Execute(op, out, &n, S);
  TFE_DeleteOp(op);
  return TF_GetCode(S) == TF_OK && n ? out[0] : NULL;
}

static TFE_TensorHandle *variable(const char *name) {
  TFE_Op *op = TFE_NewOp(C, "VarHandleOp", S);
  TFE_TensorHandle *out = NULL;
  int n = 1;
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, -1, S);
  TFE_OpSetAttrString(op, "shared_name", name, strlen(name));
  TFE_Execute(op, &out, &n, S);
  TFE_DeleteOp(op);
  assert_int_equal(TF_GetCode(S), TF_OK);
  return out;
}

static void expect(TFE_TensorHandle *h, int64_t n, const float *want) {
  assert_non_null(h);
  TF_Tensor *t = TFE_TensorHandleResolve(h, S);
  assert_non_null(t);
  assert_int_equal(TF_TensorElementCount(t), n);
  for (int64_t i = 0; i < n; i++) assert_true(((float *)TF_TensorData(t))[i] == want[i]);
  TF_DeleteTensor(t);
}

static void test_assign_and_update(void **state) {
  (void)state;
  TFE_TensorHandle *v = variable("a"), *x = floats(2, (float[]){1, 2}),
                   *y = floats(3, (float[]){1, 2, 3});
  run("TestUpdate", 0, NULL, v, x, NULL);
  assert_int_equal(TF_GetCode(S), TF_FAILED_PRECONDITION);  // no value yet
  run("TestAssign", 0, NULL, v, x, NULL);
  assert_int_equal(TF_GetCode(S), TF_OK);
  run("TestAssign", 0, NULL, v, y, NULL);
  assert_int_equal(TF_GetCode(S), TF_INVALID_ARGUMENT);  // another shape
  TFE_TensorHandle *before = run("ReadVariableOp", TF_FLOAT, "dtype", v, NULL, NULL);
  copies = 0;
  run("TestUpdate", 0, NULL, v, x, NULL);
  assert_int_equal(TF_GetCode(S), TF_OK);
  assert_int_equal(copies, 1);  // |before| and |x| still see the old value
  expect(before, 2, (float[]){1, 2});
  expect(x, 2, (float[]){1, 2});
  run("TestUpdate", 0, NULL, v, x, NULL);
  assert_int_equal(copies, 1);  // nobody else holds it
  TFE_TensorHandle *after = run("ReadVariableOp", TF_FLOAT, "dtype", v, NULL, NULL);
  expect(after, 2, (float[]){3, 6});
  run("TestUpdate", 0, NULL, v, y, NULL);
  assert_int_equal(TF_GetCode(S), TF_INVALID_ARGUMENT);
  run("TestUpdate", 0, NULL, x, x, NULL);
  assert_int_equal(TF_GetCode(S), TF_INVALID_ARGUMENT);  // no variable
  TFE_TensorHandle *all[] = {v, x, y, before, after};
  for (int i = 0; i < 5; i++) TFE_DeleteTensorHandle(all[i]);
}

static void test_locks(void **state) {
  (void)state;
  TFE_TensorHandle *v = variable("b"), *w = variable("c"), *x = floats(1, (float[]){1});
  run("TestDouble", 0, NULL, v, w, NULL);
  assert_int_equal(TF_GetCode(S), TF_FAILED_PRECONDITION);
  run("TestAssign", 0, NULL, v, x, NULL);
  run("TestAssign", 0, NULL, w, x, NULL);
  run("TestDouble", 0, NULL, v, w, NULL);
  assert_int_equal(TF_GetCode(S), TF_OK);
  run("TestDouble", 0, NULL, w, v, NULL);
  run("TestDouble", 0, NULL, v, v, NULL);  // one lock, doubled twice
  assert_int_equal(TF_GetCode(S), TF_OK);
  TFE_TensorHandle *rv = run("ReadVariableOp", TF_FLOAT, "dtype", v, NULL, NULL);
  TFE_TensorHandle *rw = run("ReadVariableOp", TF_FLOAT, "dtype", w, NULL, NULL);
  expect(rv, 1, (float[]){16});
  expect(rw, 1, (float[]){4});
  expect(x, 1, (float[]){1});
  TFE_TensorHandle *all[] = {v, w, x, rv, rw};
  for (int i = 0; i < 5; i++) TFE_DeleteTensorHandle(all[i]);
}

static TFE_TensorHandle *list_of_two(float a, float b) {
  TFE_TensorHandle *items = NULL, *rows = NULL;
  float v[2] = {a, b};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, (int64_t[]){2, 1}, 2, sizeof v);
  memcpy(TF_TensorData(t), v, sizeof v);
  rows = TFE_NewTensorHandle(t, S);
  TF_DeleteTensor(t);
  TFE_TensorHandle *shape = scalar_int(-1);
  items = run("TensorListFromTensor", TF_FLOAT, NULL, rows, shape, NULL);
  assert_non_null(items);
  TFE_DeleteTensorHandle(rows);
  TFE_DeleteTensorHandle(shape);
  return items;
}

static void expect_list(TFE_TensorHandle *list, const float *want) {
  TFE_TensorHandle *shape = scalar_int(-1);
  TFE_TensorHandle *t = run("TensorListStack", TF_FLOAT, "element_dtype", list, shape, NULL);
  expect(t, 2, want);
  TFE_DeleteTensorHandle(t);
  TFE_DeleteTensorHandle(shape);
}

static void test_lists(void **state) {
  (void)state;
  TFE_TensorHandle *a = list_of_two(1, 2), *b = list_of_two(10, 20);
  TFE_TensorHandle *sum = run("TestAddLists", 0, NULL, a, b, NULL);
  assert_non_null(sum);
  expect_list(sum, (float[]){11, 22});
  expect_list(a, (float[]){1, 2});
  TFE_TensorHandle *zeros = run("TestZeroList", 0, NULL, sum, NULL, NULL);
  assert_non_null(zeros);
  expect_list(zeros, (float[]){0, 0});
  TFE_TensorHandle *all[] = {a, b, sum, zeros};
  for (int i = 0; i < 4; i++) TFE_DeleteTensorHandle(all[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_assign_and_update),
                                     cmocka_unit_test(test_locks), cmocka_unit_test(test_lists)};
  return cmocka_run_group_tests(tests, open_all, close_all);
}

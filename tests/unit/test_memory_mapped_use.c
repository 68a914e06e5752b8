// SPDX-License-Identifier: Apache-2.0
// test_memory_mapped_use.c: who uses mapped tensors (wire/mapping.h): variables, which get memory of their own
// when they change; clients, who get copies to write; constants of graphs, wherever they lie.

#include "mapped_support.h"

#include "ferry/ferry.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/eager/dlpack.h"

// ---------------------------------------------------------------- sessions
static ferry_error e;
static void fine(int code) {
  if (code) fail_msg("%s", e.text);
}

static ferry_tensor *vector(int64_t n, float x) {
  ferry_tensor *t;
  fine(ferry_tensor_new(FY_FLOAT, 1, &n, NULL, &t, &e));
  for (int64_t i = 0; i < n; i++) ((float *)ferry_tensor_data(t))[i] = x;
  return t;
}

static ferry_tensor *run(ferry_session *s, const char *fetch) {
  ferry_tensor *t = NULL;
  fine(ferry_run(s, 0, NULL, NULL, 1, &fetch, &t, 0, &e));
  return t;
}

// v, restored from x; "add" adds ones; "two" is v + v.
static ferry_session *restored(ferry_runtime *rt, ferry_graph **graph) {
  ferry_graph *g;
  ferry_session *s;
  char attrs[256];
  ferry_tensor *name, *none, *prefix, *ones = vector(N, 1);
  const int64_t one = 1;
  const char *const path = in_dir("x"), *const key = "a", *const empty = "";
  fine(ferry_graph_new(rt, &g, &e));
  fine(ferry_tensor_strings(0, NULL, &path, &prefix, &e));
  fine(ferry_tensor_strings(1, &one, &key, &name, &e));
  fine(ferry_tensor_strings(1, &one, &empty, &none, &e));
  fine(ferry_graph_add(g, "Const", "prefix", "", "", NULL, prefix, &e));
  fine(ferry_graph_add(g, "Const", "name", "", "", NULL, name, &e));
  fine(ferry_graph_add(g, "Const", "none", "", "", NULL, none, &e));
  fine(ferry_graph_add(g, "Const", "ones", "", "", NULL, ones, &e));
  snprintf(attrs, sizeof attrs, "dtype=float; shape=[%d]; shared_name='v'", N);
  fine(ferry_graph_add(g, "VarHandleOp", "v", "", attrs, NULL, NULL, &e));
  fine(
      ferry_graph_add(g, "RestoreV2", "r", "prefix, name, none", "dtypes=[float]", NULL, NULL, &e));
  fine(ferry_graph_add(g, "AssignVariableOp", "init", "v, r", "dtype=float", NULL, NULL, &e));
  fine(ferry_graph_add(g, "ReadVariableOp", "read", "v", "dtype=float", NULL, NULL, &e));
  fine(ferry_graph_add(g, "AddV2", "two", "read, read", "", NULL, NULL, &e));
  fine(ferry_graph_add(g, "AssignAddVariableOp", "add", "v, ones", "dtype=float", NULL, NULL, &e));
  ferry_tensor_free(prefix);
  ferry_tensor_free(name);
  ferry_tensor_free(none);
  ferry_tensor_free(ones);
  fine(ferry_session_new(rt, g, &s, &e));
  assert_null(run(s, "^init"));
  *graph = g;
  return s;
}

static void is_values(ferry_tensor *t, int key, float times, float plus) {
  assert_int_equal(ferry_tensor_count(t), N);
  const float *data = ferry_tensor_data(t);
  for (int64_t i = 0; i < N; i++)
    if (data[i] != value(key, i) * times + plus) fail_msg("element %d", (int)i);
}

static void variables_are_never_written_in_the_file(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g, *h;
  save_as(in_dir("x"), "ea");  // in step, but not at a multiple of 64
  fine(ferry_open("isolate_session_state=true", &rt, &e));
  ferry_session *s = restored(rt, &g), *other = restored(rt, &h);
  const size_t mapped = fy_wire_mapping_count().tensors;
  if (leases) assert_int_equal(mapped, 2);
  ferry_tensor *t = run(s, "read");  // the client's own, aligned, to write
  assert_int_equal((uintptr_t)ferry_tensor_data(t) % 64, 0);
  is_values(t, 1, 1, 0);
  memset(ferry_tensor_data(t), 0, ferry_tensor_bytes(t));
  ferry_tensor_free(t);
  for (int i = 0; i < 2; i++) assert_null(run(s, "^add"));
  if (leases) assert_int_equal(fy_wire_mapping_count().tensors, 1);  // has memory of its own now
  t = run(s, "two");
  is_values(t, 1, 2, 4);
  ferry_tensor_free(t);
  if (leases) let_another(OVERWRITE, in_dir("x" SHARD));
  t = run(other, "two");
  is_values(t, 1, 2, 0);
  ferry_tensor_free(t);
  ferry_session_free(s);
  ferry_session_free(other);
  ferry_graph_free(g);
  ferry_graph_free(h);
  ferry_close(rt);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// What the CPU's allocator saw at most: |mapped| or read, it must be the same.
static uint64_t peak_of_training(bool mapped) {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_device device;
  if (!mapped) setenv("FERRY_WEIGHTS", "read", 1);
  fine(ferry_open("", &rt, &e));
  ferry_session *s = restored(rt, &g);
  for (int i = 0; i < 3; i++) assert_null(run(s, "^add"));
  ferry_tensor *t = run(s, "two");
  is_values(t, 1, 2, 6);
  ferry_tensor_free(t);
  assert_int_equal(ferry_device_get(rt, 0, &device), 0);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  unsetenv("FERRY_WEIGHTS");
  return device.memory_peak;
}

static void allocators_see_no_difference(void **state) {
  (void)state;
  save(in_dir("x"));
  assert_int_equal(peak_of_training(true), peak_of_training(false));
}

static void an_immutable_const_is_mapped(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  char attrs[512];
  save(in_dir("x"));
  fine(ferry_open(NULL, &rt, &e));
  fine(ferry_graph_new(rt, &g, &e));
  snprintf(attrs, sizeof attrs, "dtype=float; shape=[%d]; memory_region_name='%s'", N,
           in_dir("x" SHARD));
  fine(ferry_graph_add(g, "ImmutableConst", "c", "", attrs, NULL, NULL, &e));
  fine(ferry_graph_add(g, "AddV2", "two", "c, c", "", NULL, NULL, &e));
  fine(ferry_session_new(rt, g, &s, &e));
  for (int i = 0; i < 2; i++) {
    ferry_tensor *t = run(s, i ? "two" : "c");
    is_values(t, 1, i ? 2 : 1, 0);
    memset(ferry_tensor_data(t), 0, 4);  // ours
    ferry_tensor_free(t);
  }
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// ---------------------------------------------------------------- eager calls
static TF_Status *status;
static void good(void) {
  if (TF_GetCode(status)) fail_msg("%s", TF_Message(status));
}

static TFE_TensorHandle *call(TFE_Context *c, const char *name, TFE_TensorHandle **in, int n,
                              bool result) {
  TFE_TensorHandle *out = NULL;
  const int64_t dims[] = {N};
  const TF_DataType type = TF_FLOAT;
  int num = result;
  TFE_Op *op = TFE_NewOp(c, name, status);
  good();
  for (int i = 0; i < n; i++) TFE_OpAddInput(op, in[i], status);
  if (strcmp(name, "RestoreV2") == 0)
    TFE_OpSetAttrTypeList(op, "dtypes", &type, 1);
  else
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  if (strcmp(name, "VarHandleOp") == 0) TFE_OpSetAttrShape(op, "shape", dims, 1, status);
  good();
  TFE_Execute(op, &out, &num, status);
  good();
  TFE_DeleteOp(op);
  return out;
}

static TFE_TensorHandle *text_handle(int rank, const char *text) {
  ferry_tensor *t;
  const int64_t one = 1;
  fine(ferry_tensor_strings(rank, &one, &text, &t, &e));
  TFE_TensorHandle *h = TFE_NewTensorHandle((TF_Tensor *)t, status);
  good();
  ferry_tensor_free(t);
  return h;
}

static void own_and_aligned(void *data) {
  assert_int_equal((uintptr_t)data % 64, 0);
  for (int64_t i = 0; i < N; i++)
    if (((float *)data)[i] != value(1, i)) fail_msg("element %d", (int)i);
  ((float *)data)[0] = value(1, 0);  // may be written
}

static void clients_get_memory_of_their_own(void **state) {
  (void)state;
  save_as(in_dir("x"), "ea");
  status = TF_NewStatus();
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(o, status);
  good();
  TFE_TensorHandle *in[] = {text_handle(0, in_dir("x")), text_handle(1, "a"), text_handle(1, "")};
  TFE_TensorHandle *pair[] = {call(c, "VarHandleOp", NULL, 0, true),
                              call(c, "RestoreV2", in, 3, true)};
  if (leases) assert_int_equal(fy_wire_mapping_count().tensors, 1);
  call(c, "AssignVariableOp", pair, 2, false);
  TFE_TensorHandle *read = call(c, "ReadVariableOp", pair, 1, true);
  TF_Tensor *t = TFE_TensorHandleResolve(read, status);
  good();
  own_and_aligned(TF_TensorData(t));
  assert_ptr_equal(TFE_TensorHandleDevicePointer(read, status), TF_TensorData(t));  // made once
  TF_DeleteTensor(t);
  void *pack = TFE_HandleToDLPack(read, status);
  good();
  own_and_aligned(*(void **)pack);
  TFE_CallDLManagedTensorDeleter(pack);
  TF_CheckpointReader *r = TF_NewCheckpointReader(in_dir("x"), status);
  good();
  t = TF_CheckpointReaderGetTensor(r, "a", status);
  good();
  own_and_aligned(TF_TensorData(t));
  TF_DeleteTensor(t);
  TF_DeleteCheckpointReader(r);
  for (int i = 0; i < 3; i++) TFE_DeleteTensorHandle(in[i]);
  TFE_DeleteTensorHandle(pair[0]);
  TFE_DeleteTensorHandle(pair[1]);
  TFE_DeleteTensorHandle(read);
  TFE_DeleteContextOptions(o);
  TFE_DeleteContext(c);
  TF_DeleteStatus(status);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// ---------------------------------------------------------------- graphs
enum { CONSTS = 8 };

// y = c0 + c1 + …; |shift| bytes that mean nothing put the constants out of step.
static void write_graph(ferry_runtime *rt, int shift) {
  ferry_graph *g;
  char inputs[256] = "", name[32];
  fine(ferry_graph_new(rt, &g, &e));
  for (int i = 0; i < CONSTS; i++) {
    snprintf(name, sizeof name, "c%d", i);
    ferry_tensor *t = vector(N, 0);
    for (int64_t k = 0; k < N; k++) ((float *)ferry_tensor_data(t))[k] = value(i, k);
    fine(ferry_graph_add(g, "Const", name, "", "", NULL, t, &e));
    ferry_tensor_free(t);
    snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s%s", i ? ", " : "", name);
  }
  fine(ferry_graph_add(g, "AddN", "y", inputs, "", NULL, NULL, &e));
  fine(ferry_graph_save(g, in_dir("g.pb"), false, &e));
  ferry_graph_free(g);
  if (!shift) return;
  fy_wire_view v;
  assert_ok(fy_wire_view_open(in_dir("g.pb"), INT32_MAX, &v, &err));
  FILE *f = fopen(in_dir("shifted.pb"), "wb");
  fwrite("\x18\x80\x80\x80", 1, (size_t)shift - 1, f);  // version: 0
  fputc(0, f);
  fwrite(v.bytes, 1, v.n, f);
  assert_int_equal(fclose(f), 0);
  fy_wire_view_close(&v);
  assert_int_equal(rename(in_dir("shifted.pb"), in_dir("g.pb")), 0);
}

static void is_sum(ferry_tensor *t) {
  for (int64_t i = 0; i < N; i++) {
    float sum = 0;
    for (int k = 0; k < CONSTS; k++) sum += value(k, i);
    if (((float *)ferry_tensor_data(t))[i] != sum) fail_msg("element %d", (int)i);
  }
}

static void constants_of_a_graph(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  fine(ferry_open("optimize=false", &rt, &e));
  for (int i = 0; i < 2 * NUM_DEEDS; i++) {
    const deed what = (deed)(i % NUM_DEEDS);
    const int shift = i < NUM_DEEDS ? 0 : i % NUM_DEEDS == CUT ? 4 : 3;
    write_graph(rt, shift);
    fine(ferry_graph_load(rt, in_dir("g.pb"), &g, &e));
    const fy_wire_mapped c = fy_wire_mapping_count();
    assert_int_equal(c.tensors, leases && shift % 4 == 0 ? CONSTS : 0);
    assert_int_equal(c.bytes, c.tensors * N * 4);
    fine(ferry_session_new(rt, g, &s, &e));
    ferry_tensor *t = run(s, "y");
    is_sum(t);
    ferry_tensor_free(t);
    let_another(what, in_dir("g.pb"));
    t = run(s, "y");
    is_sum(t);
    ferry_tensor_free(t);
    t = run(s, "c0");  // the client's own
    is_values(t, 0, 1, 0);
    ((float *)ferry_tensor_data(t))[0] = -1;
    ferry_tensor_free(t);
    ferry_session_free(s);
    ferry_graph_free(g);
    assert_int_equal(fy_wire_mapping_count().files, 0);
    unlink(in_dir("g.pb"));
  }
  ferry_close(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(variables_are_never_written_in_the_file, setup, teardown),
      cmocka_unit_test_setup_teardown(allocators_see_no_difference, setup, teardown),
      cmocka_unit_test_setup_teardown(clients_get_memory_of_their_own, setup, teardown),
      cmocka_unit_test_setup_teardown(an_immutable_const_is_mapped, setup, teardown),
      cmocka_unit_test_setup_teardown(constants_of_a_graph, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

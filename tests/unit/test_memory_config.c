// SPDX-License-Identifier: Apache-2.0
// Memory options as TensorFlow means them, through its C API (a serialized ConfigProto) and through ferry.h:
// per_process_gpu_memory_fraction, virtual devices with memory limits, allow_growth; what is changed while
// running; statistics of devices and sessions; looking takes nothing.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ferry/ferry.h"
#include "memory/registry.h"
#include "tensorflow/c/c_api.h"

#define MIB ((uint64_t)1 << 20)

static void ok(TF_Status *s) {
  if (TF_GetCode(s)) fail_msg("%s", TF_Message(s));
}

// What this process has taken of GPU:0, as every other process can see.
static uint64_t reserved(void) {
  static fy_registry_process all[FY_REGISTRY_SLOTS];
  fy_registry_update();
  int n = fy_registry_list(all, FY_REGISTRY_SLOTS);
  uint64_t bytes = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; all[i].pid == getpid() && k < all[i].num_devices; k++)
      if (strcmp(all[i].devices[k].name, "GPU:0") == 0) bytes += all[i].devices[k].reserved;
  return bytes;
}

typedef struct bytes {
  uint8_t at[128];
  size_t n;
} bytes;

static void put(bytes *b, const void *p, size_t n) {
  memcpy(b->at + b->n, p, n);
  b->n += n;
}

static bytes wrap(uint8_t tag, const bytes *inside) {
  bytes b = {{tag, (uint8_t)inside->n}, 2};
  put(&b, inside->at, inside->n);
  return b;
}

// A session on a simulated GPU of 64 MiB. |limits|: memory of the GPUs it has.
static TF_Session *session(TF_Graph *g, const bytes *config, int want, const uint64_t *limits) {
  TF_Status *s = TF_NewStatus();
  TF_SessionOptions *o = TF_NewSessionOptions();
  if (config->n) TF_SetConfig(o, config->at, config->n, s);
  ok(s);
  TF_Session *session = TF_NewSession(g, o, s);
  ok(s);
  TF_DeviceList *list = TF_SessionListDevices(session, s);
  ok(s);
  int gpus = 0;
  for (int i = 0; i < TF_DeviceListCount(list); i++) {
    if (strcmp(TF_DeviceListType(list, i, s), "GPU") != 0) continue;
    assert_true(gpus < want);
    assert_int_equal(TF_DeviceListMemoryBytes(list, i, s), limits[gpus]);
    gpus++;
  }
  assert_int_equal(gpus, want);
  TF_DeleteDeviceList(list);
  TF_DeleteSessionOptions(o);
  TF_DeleteStatus(s);
  assert_int_equal(reserved(), 0);  // opening and listing took nothing
  return session;
}

static TF_Output graph(TF_Graph *g, TF_Output *x) {
  TF_Status *s = TF_NewStatus();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  *x = (TF_Output){TF_FinishOperation(d, s), 0};
  ok(s);
  d = TF_NewOperation(g, "MatMul", "y");
  TF_SetDevice(d, "/device:GPU:0");
  TF_AddInput(d, *x);
  TF_AddInput(d, *x);
  TF_Output y = {TF_FinishOperation(d, s), 0};
  ok(s);
  TF_DeleteStatus(s);
  return y;
}

static TF_Code step(TF_Session *session, TF_Output x, TF_Output y, int64_t side) {
  TF_Status *s = TF_NewStatus();
  int64_t dims[] = {side, side};
  TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)(side * side) * sizeof(float)), *out;
  memset(TF_TensorData(in), 0, TF_TensorByteSize(in));
  TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
  TF_Code code = TF_GetCode(s);
  if (!code) TF_DeleteTensor(out);
  TF_DeleteTensor(in);
  TF_DeleteStatus(s);
  return code;
}

static void close_session(TF_Session *session) {
  TF_Status *s = TF_NewStatus();
  TF_CloseSession(session, s);
  TF_DeleteSession(session, s);
  TF_DeleteStatus(s);
}

static void fraction(void **state) {
  (void)state;
  bytes gpu = {{0x09}, 1};
  const double quarter = 0.25;
  put(&gpu, &quarter, sizeof quarter);
  bytes config = wrap(0x32, &gpu);
  TF_Graph *g = TF_NewGraph();
  TF_Output x, y = graph(g, &x);
  TF_Session *s = session(g, &config, 1, (uint64_t[]){16 * MIB});
  assert_int_equal(step(s, x, y, 512), TF_OK);
  assert_true(reserved() > 0 && reserved() <= 16 * MIB);
  assert_int_equal(step(s, x, y, 2048), TF_RESOURCE_EXHAUSTED);  // three of 16 MiB
  assert_int_equal(step(s, x, y, 512), TF_OK);
  close_session(s);
  assert_int_equal(reserved(), 0);  // closing gave it back
  TF_DeleteGraph(g);
}

static void virtual_devices(void **state) {
  (void)state;
  const float mb[] = {16, 8};
  bytes limits = {{0x0a, sizeof mb}, 2};  // memory_limit_mb, packed
  put(&limits, mb, sizeof mb);
  bytes devices = wrap(0x0a, &limits), experimental = wrap(0x4a, &devices);
  bytes config = wrap(0x32, &experimental);
  TF_Graph *g = TF_NewGraph();
  TF_Output x, y = graph(g, &x);
  TF_Session *s = session(g, &config, 2, (uint64_t[]){16 * MIB, 8 * MIB});
  assert_int_equal(step(s, x, y, 512), TF_OK);
  assert_int_equal(step(s, x, y, 2048), TF_RESOURCE_EXHAUSTED);
  close_session(s);
  TF_DeleteGraph(g);
}

// Without growth the first use takes all; with it (our default) what is needed. The environment decides.
static void growth(void **state) {
  (void)state;
  const bytes none = {{0}, 0};
  for (int whole = 0; whole < 2; whole++) {
    setenv("TF_FORCE_GPU_ALLOW_GROWTH", whole ? "false" : "true", 1);
    TF_Graph *g = TF_NewGraph();
    TF_Output x, y = graph(g, &x);
    TF_Session *s = session(g, &none, 1, (uint64_t[]){64 * MIB});
    assert_int_equal(step(s, x, y, 64), TF_OK);
    if (whole)
      assert_int_equal(reserved(), 64 * MIB);
    else
      assert_true(reserved() <= 4 * MIB);
    close_session(s);
    assert_int_equal(reserved(), 0);
    TF_DeleteGraph(g);
  }
  unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
  ferry_runtime *rt;
  ferry_error err;
  ferry_device d;
  assert_int_equal(ferry_open("allow_growth=false; memory_limit.GPU=8MiB", &rt, &err), 0);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_true(d.memory_limit == 8 * MIB && d.memory_reserved == 0);
  ferry_close(rt);
  assert_int_equal(ferry_open("gpu_options { per_process_gpu_memory_fraction: 0.5 }", &rt, &err),
                   0);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_int_equal(d.memory_limit, 32 * MIB);
  ferry_close(rt);
}

// Limits change between runs: lower ones give back what is free and then refuse, higher ones allow again.
static void changed_while_running(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s, *other;
  ferry_error err;
  ferry_device d;
  assert_int_equal(ferry_open("spill=never", &rt, &err), 0);
  assert_int_equal(ferry_graph_new(rt, &g, &err), 0);
  assert_int_equal(ferry_graph_add(g, "Placeholder", "x", "", "dtype=float", NULL, NULL, &err), 0);
  assert_int_equal(ferry_graph_add(g, "MatMul", "y", "x, x", "", "/device:GPU:0", NULL, &err), 0);
  assert_int_equal(ferry_session_new(rt, g, &s, &err), 0);
  assert_int_equal(ferry_session_new(rt, g, &other, &err), 0);
  ferry_tensor *x, *y = NULL;
  const char *in = "x", *out = "y";
  assert_int_equal(ferry_tensor_new(1, 2, (int64_t[]){512, 512}, NULL, &x, &err), 0);
  for (int i = 0; i < 2; i++) {
    if (ferry_run(s, 1, &in, &x, 1, &out, &y, 0, &err)) fail_msg("%s", err.text);
    ferry_tensor_free(y);
  }
  uint64_t now, peak;
  assert_int_equal(ferry_session_memory(s, "GPU:0", &now, &peak, &err), 0);
  assert_true(now >= 2 * MIB && peak >= now);
  assert_int_equal(ferry_session_memory(other, "GPU:0", &now, &peak, &err), 0);
  assert_int_equal(peak, 0);  // that one has done nothing
  assert_int_equal(ferry_session_memory(s, "CPU:0", &now, &peak, &err), 0);
  assert_int_equal(ferry_session_memory(s, "GPU:7", &now, &peak, &err), 5);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  const uint64_t used = d.memory_in_use;
  assert_true(used > 0 && d.memory_peak >= used && d.memory_reserved >= used);
  assert_true(d.fragmentation >= 0 && d.fragmentation <= 1);
  assert_int_equal(ferry_device_get(rt, 0, &d), 0);  // the CPU has numbers too
  assert_true(d.memory_peak > 0);
  assert_int_equal(ferry_set_memory_limit(rt, "GPU:0", 1 * MIB, &err), 0);
  assert_int_equal(ferry_run(other, 1, &in, &x, 1, &out, &y, 0, &err), 8);
  assert_non_null(strstr(err.text, "of the limit of 1.00MiB"));
  assert_int_equal(ferry_set_memory_limit(rt, "GPU:0", 32 * MIB, &err), 0);
  if (ferry_run(other, 1, &in, &x, 1, &out, &y, 0, &err)) fail_msg("%s", err.text);
  ferry_tensor_free(y);
  ferry_session_free(s);
  ferry_session_free(other);
  assert_int_equal(ferry_trim(rt, "GPU:0", 0, &err), 0);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_int_equal(d.memory_in_use + d.memory_reserved, 0);
  ferry_tensor_free(x);
  ferry_graph_free(g);
  ferry_close(rt);
}

// A session that has run already keeps to a limit that came later: what its idle runs hold goes back,
// and its programs are planned anew: refused with spill=never, with tensors on the host meanwhile else.
static void kept_by_who_ran_before(void **state) {
  (void)state;
  for (int spill = 0; spill < 2; spill++) {
    ferry_runtime *rt;
    ferry_graph *g;
    ferry_session *s;
    ferry_error err;
    ferry_device d;
    ferry_tensor *x, *first = NULL, *y = NULL;
    char name[16], in[32] = "x", both[48];
    assert_int_equal(ferry_open(spill ? "optimize=off" : "spill=never; optimize=off", &rt, &err),
                     0);
    assert_int_equal(ferry_graph_new(rt, &g, &err), 0);
    assert_int_equal(ferry_graph_add(g, "Placeholder", "x", "", "dtype=float", NULL, NULL, &err),
                     0);
    for (int i = 0; i < 16; i++) {  // eight results that wait for their second reader
      snprintf(name, sizeof name, "n%d", i);
      snprintf(both, sizeof both, i < 8 ? "%s" : "%s, n%d", in, 15 - i);
      assert_int_equal(ferry_graph_add(g, i < 8 ? "Softplus" : "Mul", name, both, "",
                                       "/device:GPU:0", NULL, &err),
                       0);
      snprintf(in, sizeof in, "%s", name);
    }
    assert_int_equal(ferry_session_new(rt, g, &s, &err), 0);
    assert_int_equal(ferry_tensor_new(1, 2, (int64_t[]){256, 256}, NULL, &x, &err), 0);
    memset(ferry_tensor_data(x), 0, ferry_tensor_bytes(x));
    const char *feed = "x", *fetch = "n15";
    if (ferry_run(s, 1, &feed, &x, 1, &fetch, &first, 0, &err)) fail_msg("%s", err.text);
    assert_int_equal(ferry_device_get(rt, 1, &d), 0);
    assert_true(d.memory_in_use > 1 * MIB);
    assert_int_equal(ferry_set_memory_limit(rt, "GPU:0", 1 * MIB, &err), 0);
    assert_int_equal(ferry_device_get(rt, 1, &d), 0);
    assert_true(d.memory_in_use <= 1 * MIB && d.memory_reserved <= 1 * MIB);
    const int code = ferry_run(s, 1, &feed, &x, 1, &fetch, &y, 0, &err);
    if (code != (spill ? 0 : 8)) fail_msg("%d: %s", code, err.text);
    if (spill)
      assert_memory_equal(ferry_tensor_data(y), ferry_tensor_data(first), ferry_tensor_bytes(y));
    ferry_tensor_free(y);
    assert_int_equal(ferry_device_get(rt, 1, &d), 0);
    assert_true(d.memory_in_use <= 1 * MIB && d.memory_reserved <= 1 * MIB);
    assert_int_equal(ferry_set_memory_limit(rt, "GPU:0", 0, &err), 0);  // none
    if (ferry_run(s, 1, &feed, &x, 1, &fetch, &y, 0, &err)) fail_msg("%s", err.text);
    assert_int_equal(ferry_trim(rt, "GPU:0", 0, &err), 0);  // an idle session holds nothing then
    assert_int_equal(ferry_device_get(rt, 1, &d), 0);
    assert_int_equal(d.memory_in_use + d.memory_reserved, 0);
    assert_int_equal(ferry_set_memory_limit(rt, "CPU:0", 1 * MIB, &err), 0);
    assert_int_equal(ferry_device_get(rt, 0, &d), 0);
    assert_true(d.memory_in_use <= 1 * MIB);
    ferry_tensor_free(y);
    ferry_tensor_free(first);
    ferry_tensor_free(x);
    ferry_session_free(s);
    ferry_graph_free(g);
    ferry_close(rt);
  }
}

int main(void) {
  char registry[] = "/tmp/ferry_registry_XXXXXX";
  int fd = mkstemp(registry);
  if (fd < 0) return 1;
  close(fd);
  setenv("FERRY_REGISTRY", registry, 1);
  setenv("FERRY_SIM", "gpu:1,memory=64MiB", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fraction), cmocka_unit_test(virtual_devices), cmocka_unit_test(growth),
      cmocka_unit_test(changed_while_running), cmocka_unit_test(kept_by_who_ran_before)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(registry);
  return failed;
}

// SPDX-License-Identifier: Apache-2.0
// test_device_opencl_resident.c: what is on the device stays there: handles of eager mode, DLPack,
// weights, constants. Copies and kernels do not wait for each other.

#include "support_graph.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/eager.h"
#include "base/thread.h"
#include "devices/opencl/opencl.h"
#include "execute/counters.h"
#include "execute/kernel_call.h"
#include "memory/pool.h"
#include "sample.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/dlpack.h"

static fy_device *find_device(fy_device_set *set) {
  for (int i = 0; i < set->n; i++)
    if (fy_opencl_is(set->items[i])) return set->items[i];
  return NULL;
}

static void count(fy_device *d, uint64_t *in, uint64_t *out) {
  fy_opencl_stats s;
  fy_opencl_stats_get(d, &s);
  *in = s.copies_in;
  *out = s.copies_out;
}

// --- eager ---

static TFE_TensorHandle *square(TFE_Context *ctx, TFE_TensorHandle *x, TF_Status *s) {
  TFE_Op *op = TFE_NewOp(ctx, "Square", s);
  TFE_TensorHandle *out = NULL;
  int n = 1;
  TFE_OpSetDevice(op, "GPU:0", s);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  TFE_OpAddInput(op, x, s);
  TFE_Execute(op, &out, &n, s);
  TFE_DeleteOp(op);
  if (TF_GetCode(s)) fail_msg("%s", TF_Message(s));
  return out;
}

static void handles(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  setenv("FERRY_OPENCL_CPU", "1", 1);
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *ctx = TFE_NewContext(o, s);
  TFE_DeleteContextOptions(o);
  if (!ctx) fail_msg("%s", TF_Message(s));
  fy_device *d = find_device(fy_eager_devices(fy_api_eager(ctx)));
  unsetenv("FERRY_OPENCL_CPU");
  if (!d) {
    TFE_DeleteContext(ctx);
    TF_DeleteStatus(s);
    print_message("no OpenCL device on this machine\n");
    skip();
  }
  uint64_t in, out, in2, out2;
  const int64_t dims[] = {4};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 1, 16);
  for (int i = 0; i < 4; i++) ((float *)TF_TensorData(t))[i] = (float)(i + 1);
  TFE_TensorHandle *x = TFE_NewTensorHandle(t, s);
  count(d, &in, &out);
  TFE_TensorHandle *y = square(ctx, x, s), *z = square(ctx, y, s), *w = square(ctx, z, s);
  count(d, &in2, &out2);
  assert_int_equal(in2 - in, 1);  // x, once; y and z stayed
  assert_int_equal(out2, out);
  assert_non_null(strstr(TFE_TensorHandleDeviceName(z, s), "GPU:0"));
  assert_non_null(strstr(TFE_TensorHandleBackingDeviceName(z, s), "GPU:0"));

  // Out to DLPack and back: the same memory, and nothing copied.
  void *dl = TFE_HandleToDLPack(z, s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  int32_t type;
  memcpy(&type, (char *)dl + sizeof(void *), sizeof type);
  assert_int_equal(type, 4);  // kDLOpenCL: the data is a cl_mem
  TFE_TensorHandle *back = TFE_HandleFromDLPack(dl, s, ctx);
  if (TF_GetCode(s)) fail_msg("%s", TF_Message(s));
  count(d, &in, &out);
  assert_true(in == in2 && out == out2);
  TFE_TensorHandle *v = square(ctx, back, s);
  count(d, &in, &out);
  assert_true(in == in2 && out == out2);

  TF_Tensor *result = TFE_TensorHandleResolve(v, s), *same = TFE_TensorHandleResolve(w, s);
  for (int i = 0; i < 4; i++) {
    const float a = (float)(i + 1);
    assert_true(((float *)TF_TensorData(result))[i] == a * a * a * a * a * a * a * a);
    assert_true(((float *)TF_TensorData(same))[i] == a * a * a * a * a * a * a * a);
  }
  count(d, &in2, &out2);
  assert_int_equal(out2 - out, 2);
  TF_DeleteTensor(result);
  TF_DeleteTensor(same);
  TF_DeleteTensor(t);
  TFE_TensorHandle *all[] = {x, y, z, w, v, back};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) TFE_DeleteTensorHandle(all[i]);
  TFE_DeleteContext(ctx);
  TF_DeleteStatus(s);
}

// --- sessions ---

// A constant crosses once, a feed once per run, a result once.
static void weights(void **state) {
  (void)state;
  env e;
  env_open(&e, "opencl_cpu=true; place=tensorflow");
  fy_device *d = find_device(e.devices);
  if (!d) {
    env_close(&e);
    skip();
  }
  float w[64 * 64];
  const int64_t wd[] = {64, 64};
  for (int i = 0; i < 64 * 64; i++) w[i] = (float)(i % 5) - 2;
  fy_node *x = placeholder(e.g, "x", FY_FLOAT), *c = constant(e.g, "w", floats(2, wd, w));
  fy_node *a = op2(e.g, "MatMul", "a", x, c), *b = op2(e.g, "MatMul", "b", a, c);
  fy_node *y = op2(e.g, "Sub", "y", op1(e.g, "Relu", "r", b), x);  // x has two consumers
  env_session(&e);
  fy_error err;
  fy_error_init(&err);
  uint64_t in[4], out[4];
  for (int i = 0; i < 3; i++) {
    fy_tensor *feed = floats(2, wd, w), *result = NULL;
    count(d, &in[i], &out[i]);
    if (run1(&e, x, feed, y, &result, &err)) fail_msg("%s", fy_error_text(&err));
    fy_tensor_release(feed);
    fy_tensor_release(result);
  }
  count(d, &in[3], &out[3]);
  assert_int_equal(in[1] - in[0], 2);  // the constant and the feed
  for (int i = 1; i < 3; i++) {
    assert_int_equal(in[i + 1] - in[i], 1);
    assert_int_equal(out[i + 1] - out[i], 1);
  }
  env_close(&e);
}

// A feed that is on the device already does not cross; nor does a result that is asked for there.
static void resident_feed(const char *config) {
  env e;
  env_open(&e, config);
  fy_device *d = e.devices->items[e.devices->n - 1];
  if (d->is_host) {
    env_close(&e);
    print_message("no OpenCL device on this machine\n");
    return;
  }
  float w[64 * 64];
  const int64_t wd[] = {64, 64};
  for (int i = 0; i < 64 * 64; i++) w[i] = (float)(i % 5) - 2;
  fy_node *x = placeholder(e.g, "x", FY_FLOAT), *z = placeholder(e.g, "z", FY_FLOAT);
  fy_node *y = op_n(e.g, "MatMul", "y", "/device:GPU:0", 2, (fy_node *[]){x, z});
  env_session(&e);
  fy_error err;
  fy_error_init(&err);
  fy_tensor *host = floats(2, wd, w), *there = NULL, *expected = NULL;
  assert_int_equal(fy_memory_copy_tensor(host, d, &there, &err), FY_OK);
  fy_output feeds[2] = {{x, 0}, {z, 0}}, fetch = {y, 0};
  for (int round = 0; round < 8; round++) {  // bit 0: x is there, bit 1: z is, bit 2: again
    fy_tensor *values[2] = {round & 1 ? there : host, round & 2 ? there : host}, *result = NULL;
    fy_run_args args = {
        .feeds = feeds, .feed_values = values, .num_feeds = 2, .fetches = &fetch, .num_fetches = 1};
    fy_counts before, after;
    fy_session_counts(e.s, &before);
    if (fy_session_run(e.s, &args, &result, &err)) fail_msg("%s", fy_error_text(&err));
    fy_session_counts(e.s, &after);
    const int64_t crossed =
        after.transfers[FY_COPY_HOST_TO_DEVICE] - before.transfers[FY_COPY_HOST_TO_DEVICE];
    assert_int_equal(crossed, 2 - (round & 1) - (round >> 1 & 1));
    assert_int_equal(
        after.transfers[FY_COPY_DEVICE_TO_HOST] - before.transfers[FY_COPY_DEVICE_TO_HOST], 1);
    assert_int_equal(after.transfers[FY_COPY_DEVICE_TO_DEVICE], 0);
    assert_null(result->device);
    if (!expected) {
      expected = result;
      continue;
    }
    assert_memory_equal(result->data, expected->data, fy_tensor_bytes(expected));
    fy_tensor_release(result);
  }
  fy_tensor_release(expected);
  fy_tensor_release(there);
  fy_tensor_release(host);
  env_close(&e);
}

static void feeds(void **state) {
  (void)state;
  resident_feed("sim=gpu:1,memory=64MiB");
  resident_feed("opencl_cpu=true");
}

// A function of eager mode: what it is called with and what it returns stay on the device.
static TFE_TensorHandle *call(TFE_Context *ctx, TFE_TensorHandle *x, TF_Status *s) {
  TFE_Op *op = TFE_NewOp(ctx, "twice", s);
  TFE_TensorHandle *out = NULL;
  int n = 1;
  TFE_OpSetDevice(op, "GPU:0", s);
  TFE_OpAddInput(op, x, s);
  TFE_Execute(op, &out, &n, s);
  TFE_DeleteOp(op);
  if (TF_GetCode(s)) fail_msg("%s", TF_Message(s));
  return out;
}

static void define_twice(TFE_Context *ctx, TF_Status *s) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Operation *x = TF_FinishOperation(d, s);
  TF_Output in = {x, 0};
  for (int i = 0; i < 2; i++) {
    d = TF_NewOperation(g, "Square", i ? "b" : "a");
    TF_AddInput(d, in);
    TF_SetDevice(d, "/device:GPU:0");  // so small, it would go to the CPU
    in = (TF_Output){TF_FinishOperation(d, s), 0};
  }
  TF_Output arg = {x, 0};
  TF_Function *f =
      TF_GraphToFunction(g, "twice", 0, -1, NULL, 1, &arg, 1, &in, NULL, NULL, NULL, s);
  if (TF_GetCode(s)) fail_msg("%s", TF_Message(s));
  TFE_ContextAddFunction(ctx, f, s);
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);
}

static void function_call(void **state) {
  (void)state;
  TF_Status *s = TF_NewStatus();
  setenv("FERRY_OPENCL_CPU", "1", 1);
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *ctx = TFE_NewContext(o, s);
  TFE_DeleteContextOptions(o);
  unsetenv("FERRY_OPENCL_CPU");
  if (!ctx) fail_msg("%s", TF_Message(s));
  fy_device *d = find_device(fy_eager_devices(fy_api_eager(ctx)));
  if (!d) {
    TFE_DeleteContext(ctx);
    TF_DeleteStatus(s);
    skip();
  }
  define_twice(ctx, s);
  uint64_t in, out, in2, out2;
  const int64_t dims[] = {3};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 1, 12);
  for (int i = 0; i < 3; i++) ((float *)TF_TensorData(t))[i] = (float)(i + 1);
  TFE_TensorHandle *x = TFE_NewTensorHandle(t, s);
  count(d, &in, &out);
  TFE_TensorHandle *y = call(ctx, x, s);
  count(d, &in2, &out2);
  assert_int_equal(in2 - in, 1);
  assert_int_equal(out2, out);
  TFE_TensorHandle *z = call(ctx, y, s);
  count(d, &in, &out);
  assert_int_equal(in, in2);  // y was there, and z is
  assert_int_equal(out, out2);
  assert_non_null(strstr(TFE_TensorHandleBackingDeviceName(z, s), "GPU:0"));
  TF_Tensor *r = TFE_TensorHandleResolve(z, s);
  assert_true(((float *)TF_TensorData(r))[1] == 65536);
  TF_DeleteTensor(r);
  TF_DeleteTensor(t);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(z);
  TFE_DeleteContext(ctx);
  TF_DeleteStatus(s);
}

// --- overlap ---

// Rows of a product that takes its time; a third of them where everything takes its time.
static int64_t side(int64_t rows) {
  uint64_t part;
  return sample_parts(&part) > 1 ? rows / 3 : rows;
}

// One thread, the next run always started before the last one's result is waited for: the same results
// in any order of waiting, and while a kernel works the host goes on.
static void one_ahead(void **state) {
  (void)state;
  env e;
  env_open(&e, "opencl_cpu=true");
  if (!find_device(e.devices)) {
    env_close(&e);
    skip();
  }
  enum { RUNS = 6 };
  const int64_t n = side(384), dims[] = {n, n};
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *a = op_n(e.g, "MatMul", "a", "/device:GPU:0", 2, (fy_node *[]){x, x});
  fy_node *y = op_n(e.g, "MatMul", "y", "/device:GPU:0", 2, (fy_node *[]){a, x});
  env_session(&e);
  fy_error err;
  fy_error_init(&err);
  fy_tensor *in[RUNS], *want[RUNS], *got = NULL;
  fy_output feed = {x, 0}, fetch = {y, 0};
  fy_run_args args = {.feeds = &feed, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  for (int i = 0; i < RUNS; i++) {
    assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &in[i], NULL), FY_OK);
    for (int64_t k = 0; k < in[i]->count; k++)
      ((float *)in[i]->data)[k] = (float)((k * (i + 3)) % 7) - 3;
    args.feed_values = &in[i];
    if (fy_session_run(e.s, &args, &want[i], &err)) fail_msg("%s", fy_error_text(&err));
  }
  fy_started *t[RUNS];
  int64_t started = 0, waited = 0;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < RUNS; i++) {
      const int64_t begin = fy_now_ns();
      args.feed_values = &in[i];
      if (fy_session_start(e.s, &args, &t[i], &err)) fail_msg("%s", fy_error_text(&err));
      if (round) started += fy_now_ns() - begin;
      if (round && i) continue;  // the second time all are under way at once
      const int64_t middle = fy_now_ns();
      if (fy_session_finish(e.s, t[i], &got, &err)) fail_msg("%s", fy_error_text(&err));
      if (round) waited += fy_now_ns() - middle;
      assert_memory_equal(got->data, want[i]->data, fy_tensor_bytes(got));
      fy_tensor_release(got);
    }
    for (int i = RUNS; round && i-- > 1;) {  // the last one first
      const int64_t begin = fy_now_ns();
      if (fy_session_finish(e.s, t[i], &got, &err)) fail_msg("%s", fy_error_text(&err));
      waited += fy_now_ns() - begin;
      assert_memory_equal(got->data, want[i]->data, fy_tensor_bytes(got));
      fy_tensor_release(got);
    }
  }
  print_message("starting %d runs took %.2f ms, waiting for them %.2f ms\n", RUNS,
                (double)started / 1e6, (double)waited / 1e6);
  for (int i = 0; i < RUNS; i++) {
    fy_tensor_release(in[i]);
    fy_tensor_release(want[i]);
  }
  env_close(&e);
}

typedef struct compute {
  fy_device *d;
  fy_tensor *x;
  fy_code code;
  atomic_bool done;
} compute;

// A product that takes long.
static void *multiply(void *arg) {
  compute *c = arg;
  const fy_op *op = fy_op_find("MatMul", 6);
  fy_dtype types[2] = {FY_FLOAT, FY_FLOAT};
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_attr t = fy_attr_type(FY_FLOAT), no = {.kind = FY_ATTR_BOOL};
  fy_tensor *in[2] = {c->x, c->x}, *out = NULL;
  fy_arena_init(&arena);
  if (fy_attrs_set(&attrs, &arena, "T", &t, NULL) ||
      fy_attrs_set(&attrs, &arena, "transpose_a", &no, NULL) ||
      fy_attrs_set(&attrs, &arena, "transpose_b", &no, NULL))
    return NULL;
  fy_site site = {.op = op,
                  .attrs = &attrs,
                  .node_name = "long",
                  .num_inputs = 2,
                  .num_outputs = 1,
                  .in_types = types,
                  .out_types = types,
                  .device = c->d};
  c->code = fy_kernel_call(&site, NULL, NULL, in, &out, NULL);
  atomic_store(&c->done, true);
  fy_tensor_release(out);
  fy_arena_free(&arena);
  return NULL;
}

static void copies_beside_kernels(void **state) {
  (void)state;
  env e;
  env_open(&e, "opencl_cpu=true");
  fy_device *d = find_device(e.devices);
  if (!d) {
    env_close(&e);
    skip();
  }
  enum { BYTES = 1 << 20 };
  const int64_t n = side(640), dims[] = {n, n};
  compute c = {.d = d};
  fy_tensor *host = NULL;
  void *p;
  unsigned char *a = malloc(BYTES), *b = malloc(BYTES);
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &host, NULL), FY_OK);
  memset(host->data, 0, fy_tensor_bytes(host));
  assert_int_equal(fy_memory_copy_tensor(host, d, &c.x, NULL), FY_OK);
  assert_int_equal(fy_mempool_alloc(d->memory, BYTES, "beside", &p, NULL), FY_OK);
  fy_opencl_stats s, now;
  int finished_first = 0;
  for (int round = 0; round < 3; round++) {  // the first one may compile
    pthread_t thread;
    fy_event in = {0}, out = {0};
    atomic_store(&c.done, false);
    fy_opencl_stats_get(d, &s);
    assert_int_equal(pthread_create(&thread, NULL, multiply, &c), 0);
    do {
      fy_opencl_stats_get(d, &now);
    } while (now.launches == s.launches && !atomic_load(&c.done));
    memset(a, round + 1, BYTES);
    assert_int_equal(d->ops->copy(d, FY_COPY_HOST_TO_DEVICE, p, a, BYTES, NULL, NULL, &in, NULL),
                     FY_OK);
    assert_int_equal(d->ops->copy(d, FY_COPY_DEVICE_TO_HOST, b, p, BYTES, NULL, &in, &out, NULL),
                     FY_OK);
    assert_int_equal(d->ops->wait(d, &out, NULL), FY_OK);
    finished_first += !atomic_load(&c.done);
    assert_memory_equal(a, b, BYTES);
    pthread_join(thread, NULL);
    assert_int_equal(c.code, FY_OK);
  }
  print_message("%d of 3 round trips were over before the kernel beside them\n", finished_first);
  if (strstr(d->facts.description, "on the CPU")) assert_true(finished_first > 0);
  fy_mempool_release(d->memory, p);
  fy_tensor_release(c.x);
  fy_tensor_release(host);
  free(a);
  free(b);
  env_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handles),   cmocka_unit_test(weights),
      cmocka_unit_test(feeds),     cmocka_unit_test(function_call),
      cmocka_unit_test(one_ahead), cmocka_unit_test(copies_beside_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

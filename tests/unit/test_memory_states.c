// SPDX-License-Identifier: Apache-2.0
// Predicted is measured, to the byte, where a graph has state and calls: variables that are read and
// assigned on one or several threads, gradients of convolutions, loops. Who asks for a shape moves no
// element, and a run that fails for lack of host memory leaves none behind.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"

#define FLOAT 1
#define INT32 3
#define GPU   "sim=gpu:1; place=tensorflow; soft_placement=true"

static const char *const devices[] = {"cpu_devices=1", GPU, "sim=gpu:1",
                                      "opencl_cpu=true; place=tensorflow; soft_placement=true"};
#define NUM_DEVICES 4

static void ok(int code, const ferry_error *err) {
  if (code) fail_msg("%d: %s", code, err->text);
}

typedef struct fixture {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
} fixture;

static void open_with(fixture *f, const char *config) {
  ferry_error err;
  ok(ferry_open(config, &f->rt, &err), &err);
  ok(ferry_graph_new(f->rt, &f->g, &err), &err);
  f->s = NULL;
}

static void begin(fixture *f) {
  ferry_error err;
  ok(ferry_session_new(f->rt, f->g, &f->s, &err), &err);
}

static void end(fixture *f) {
  if (f->s) ferry_session_free(f->s);
  ferry_graph_free(f->g);
  ferry_close(f->rt);
}

static void add(fixture *f, const char *op, const char *name, const char *inputs,
                const char *attrs) {
  ferry_error err;
  ok(ferry_graph_add(f->g, op, name, inputs, attrs, NULL, NULL, &err), &err);
}

static ferry_tensor *ramp(int rank, const int64_t *dims) {
  ferry_tensor *t;
  ferry_error err;
  ok(ferry_tensor_new(FLOAT, rank, dims, NULL, &t, &err), &err);
  float *at = ferry_tensor_data(t);
  for (int64_t i = 0; i < ferry_tensor_count(t); i++) at[i] = (float)(i % 13 - 6) / 16;
  return t;
}

static void constant(fixture *f, const char *name, int rank, const int64_t *dims) {
  ferry_error err;
  ferry_tensor *t = ramp(rank, dims);
  ok(ferry_graph_add(f->g, "Const", name, "", "", NULL, t, &err), &err);
  ferry_tensor_free(t);
}

static void numbers(fixture *f, const char *name, int n, const int32_t *values) {
  ferry_error err;
  ferry_tensor *t;
  ok(ferry_tensor_new(INT32, n < 0 ? 0 : 1, (const int64_t[]){n}, values, &t, &err), &err);
  ok(ferry_graph_add(f->g, "Const", name, "", "", NULL, t, &err), &err);
  ferry_tensor_free(t);
}

static int run(fixture *f, const char *feed, ferry_tensor *x, const char *fetch, ferry_error *err) {
  ferry_tensor *y = NULL;
  const int code = ferry_run(f->s, x ? 1 : 0, &feed, &x, 1, &fetch, &y, 0, err);
  if (!code) ferry_tensor_free(y);
  return code;
}

// Runs |fetch| three times with |x| and compares every device's peak with what was predicted.
static void told_is_taken(fixture *f, const char *what, const char *fetch, ferry_tensor *x) {
  ferry_error err;
  ferry_prediction p;
  for (int k = 0; k < ferry_device_count(f->rt); k++) {  // what ran before gives its memory back
    ferry_device d;
    assert_int_equal(ferry_device_get(f->rt, k, &d), 0);
    ok(ferry_trim(f->rt, strstr(d.name, "device:") + 7, 0, &err), &err);
  }
  char shapes[128];
  int at = snprintf(shapes, sizeof shapes, "x=[");
  for (int i = 0; i < ferry_tensor_rank(x); i++)
    at += snprintf(shapes + at, sizeof shapes - (size_t)at, "%s%lld", i ? "," : "",
                   (long long)ferry_tensor_dim(x, i));
  snprintf(shapes + at, sizeof shapes - (size_t)at, "]");
  const ferry_request r = {.fetch = fetch, .feed = "x", .shapes = shapes};
  ok(ferry_predict(f->s, &r, &p, &err), &err);
  for (int k = 0; k < 3; k++) ok(run(f, "x", x, fetch, &err), &err);
  for (int k = 0; k < ferry_device_count(f->rt); k++) {
    ferry_device d;
    assert_int_equal(ferry_device_get(f->rt, k, &d), 0);
    for (int i = 0; i < p.num_devices; i++) {
      if (!strstr(d.name, p.devices[i].device)) continue;
      print_message("%s, %s: predicted %llu, measured %llu\n", what, p.devices[i].device,
                    (unsigned long long)p.devices[i].allocator_bytes,
                    (unsigned long long)d.memory_peak);
      assert_true(p.devices[i].exact);
      assert_int_equal(p.devices[i].allocator_bytes, d.memory_peak);
    }
  }
}

// A step of training: two layers whose weights are read, and updated by what follows from them.
static void training_step(void **state) {
  (void)state;
  for (int c = 0; c < NUM_DEVICES; c++) {
    fixture f;
    ferry_error err;
    open_with(&f, devices[c]);
    add(&f, "Placeholder", "x", "", "dtype=float");
    for (int i = 0; i < 2; i++) {
      char n[5][32];
      static const char *const make[] = {"v%d", "w%d", "init%d", "read%d", "v%d, w%d"};
      for (int k = 0; k < 5; k++) snprintf(n[k], sizeof n[k], make[k], i, i);
      add(&f, "VarHandleOp", n[0], "", "dtype=float; shape=[48,48]");
      constant(&f, n[1], 2, (const int64_t[]){48, 48});
      add(&f, "AssignVariableOp", n[2], n[4], "dtype=float");
      add(&f, "ReadVariableOp", n[3], n[0], "dtype=float");
    }
    add(&f, "NoOp", "init", "^init0, ^init1", "");
    add(&f, "MatMul", "h", "x, read0", "T=float");
    add(&f, "Tanh", "t", "h", "T=float");
    add(&f, "MatMul", "y", "t, read1", "T=float");
    add(&f, "MatMul", "g1", "t, y", "T=float; transpose_a=true");
    add(&f, "MatMul", "b", "y, read1", "T=float; transpose_b=true");
    add(&f, "TanhGrad", "b2", "t, b", "T=float");
    add(&f, "MatMul", "g0", "x, b2", "T=float; transpose_a=true");
    constant(&f, "rate", 0, NULL);
    add(&f, "Mul", "d1", "g1, rate", "T=float");
    add(&f, "Mul", "d0", "g0, rate", "T=float");
    add(&f, "AssignSubVariableOp", "step1", "v1, d1", "dtype=float");
    add(&f, "Sub", "n0", "read0, d0", "T=float");
    add(&f, "AssignVariableOp", "step0", "v0, n0", "dtype=float");
    numbers(&f, "axes", 2, (const int32_t[]){0, 1});
    add(&f, "Sum", "loss", "y, axes, ^step0, ^step1", "T=float");
    begin(&f);
    ok(run(&f, NULL, NULL, "^init", &err), &err);
    ferry_tensor *x = ramp(2, (const int64_t[]){20, 48});
    told_is_taken(&f, "training step", "loss", x);
    ferry_tensor_free(x);
    end(&f);
  }
}

// Transposed convolutions: few and many channels, steps of one and two, floats of both sizes.
static void transposed_convolution(void **state) {
  (void)state;
  for (int c = 0; c < NUM_DEVICES; c++) {
    for (int k = 0; k < 4; k++) {
      const int stride = k & 1 ? 2 : 1, channels = k & 2 ? 3 : 20, side = 9 * stride;
      fixture f;
      char attrs[128];
      open_with(&f, devices[c]);
      add(&f, "Placeholder", "x", "", "dtype=float");
      numbers(&f, "sizes", 4, (const int32_t[]){3, side, side, channels});
      constant(&f, "w", 4, (const int64_t[]){3, 3, channels, 8});
      snprintf(attrs, sizeof attrs, "T=float; strides=[1,%d,%d,1]; padding='SAME'", stride, stride);
      add(&f, "Conv2DBackpropInput", "y", "sizes, w, x", attrs);
      begin(&f);
      ferry_tensor *x = ramp(4, (const int64_t[]){3, 9, 9, 8});
      told_is_taken(&f, "transposed convolution", "y", x);
      ferry_tensor_free(x);
      end(&f);
    }
  }
}

// Labels at regular steps, anywhere, and of one input only.
static void einsums(void **state) {
  (void)state;
  static const char *const equations[] = {"abc,dbc->abd", "abc,dbc->adb", "abc,dbc->da",
                                          "abc,bdc->abd", "abc,dbc->abcd"};
  for (int c = 0; c < NUM_DEVICES; c++) {
    for (size_t k = 0; k <= sizeof equations / sizeof *equations; k++) {
      const bool two = k < sizeof equations / sizeof *equations;
      fixture f;
      char attrs[128];
      open_with(&f, devices[c]);
      add(&f, "Placeholder", "x", "", "dtype=float");
      constant(&f, "w", 3, (const int64_t[]){9, 9, 33});
      snprintf(attrs, sizeof attrs, "T=float; N=%d; equation='%s'", two ? 2 : 1,
               two ? equations[k] : "abc->cb");
      add(&f, "Einsum", "y", two ? "x, w" : "x", attrs);
      begin(&f);
      ferry_tensor *x = ramp(3, (const int64_t[]){7, 9, 33});
      told_is_taken(&f, two ? equations[k] : "abc->cb", "y", x);
      ferry_tensor_free(x);
      end(&f);
    }
  }
}

// A loop of nine steps around a product with a variable.
static const char loop[] =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
    "node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'shape' value { shape { dim { size: 24 } dim { size: 24 } } } } }"
    "node { name: 'n' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
    "'value'"
    "  value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 24 } dim { size: 24 } }"
    "  float_val: 0.0625 } } } }"
    "node { name: 'init' op: 'AssignVariableOp' input: 'v' input: 'n'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    "node { name: 'zero' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key:"
    "  'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }"
    "node { name: 'loop' op: 'While' input: 'zero' input: 'x' input: 'v'"
    "  attr { key: 'T' value { list { type: DT_INT32 type: DT_FLOAT type: DT_RESOURCE } } }"
    "  attr { key: 'cond' value { func { name: 'more' } } }"
    "  attr { key: 'body' value { func { name: 'step' } } }"
    "  attr { key: 'output_shapes' value { list { shape { } shape { unknown_rank: true }"
    "    shape { } } } } }"
    "node { name: 'y' op: 'Relu' input: 'loop:1' attr { key: 'T' value { type: DT_FLOAT } } }"
    "library {"
    " function { signature { name: 'more' input_arg { name: 'i' type: DT_INT32 }"
    "  input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'go' type: DT_BOOL } }"
    "  node_def { name: 'nine' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr {"
    "   key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 9 } } } }"
    "  node_def { name: 'less' op: 'Less' input: 'i' input: 'nine:output:0'"
    "   attr { key: 'T' value { type: DT_INT32 } } }"
    "  ret { key: 'go' value: 'less:z:0' } }"
    " function { signature { name: 'step' is_stateful: true input_arg { name: 'i' type: DT_INT32 }"
    "  input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'i2' type: DT_INT32 } output_arg { name: 'a2' type: DT_FLOAT }"
    "  output_arg { name: 'w2' type: DT_RESOURCE } }"
    "  node_def { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr {"
    "   key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }"
    "  node_def { name: 'next' op: 'AddV2' input: 'i' input: 'one:output:0'"
    "   attr { key: 'T' value { type: DT_INT32 } } }"
    "  node_def { name: 'read' op: 'ReadVariableOp' input: 'w'"
    "   attr { key: 'dtype' value { type: DT_FLOAT } } }"
    "  node_def { name: 'p' op: 'MatMul' input: 'a' input: 'read:value:0'"
    "   attr { key: 'T' value { type: DT_FLOAT } } }"
    "  node_def { name: 't' op: 'Tanh' input: 'p:product:0'"
    "   attr { key: 'T' value { type: DT_FLOAT } } }"
    "  ret { key: 'i2' value: 'next:z:0' } ret { key: 'a2' value: 't:y:0' }"
    "  ret { key: 'w2' value: 'w' } } }";

static void loops(void **state) {
  (void)state;
  for (int c = 0; c < NUM_DEVICES; c++) {
    fixture f = {0};
    ferry_error err;
    ok(ferry_open(devices[c], &f.rt, &err), &err);
    ok(ferry_graph_parse(f.rt, loop, sizeof loop - 1, &f.g, &err), &err);
    begin(&f);
    ok(run(&f, NULL, NULL, "^init", &err), &err);
    ferry_tensor *x = ramp(2, (const int64_t[]){10, 24});
    told_is_taken(&f, "loop", "y", x);
    ferry_tensor_free(x);
    end(&f);
  }
}

// The tensor is as large as the data says; its shape is all that the host wants.
static void shapes_move_nothing(void **state) {
  (void)state;
  fixture f;
  ferry_error err;
  ferry_stats before, after;
  static const char *const fetches[] = {"s", "n", "r", "s2:0", "s2:1"};
  open_with(&f, GPU);
  add(&f, "Placeholder", "x", "", "dtype=float");
  constant(&f, "zero", 1, (const int64_t[]){1});
  add(&f, "Greater", "some", "x, zero", "T=float");
  add(&f, "Where", "at", "some", "T=bool");
  add(&f, "GatherNd", "those", "x, at", "Tparams=float; Tindices=int64");
  add(&f, "Square", "y", "those", "T=float");
  add(&f, "Shape", "s", "y", "T=float");
  add(&f, "Size", "n", "y", "T=float");
  add(&f, "Rank", "r", "y", "T=float");
  add(&f, "ShapeN", "s2", "y, those", "T=float; N=2");
  begin(&f);
  ferry_tensor *x = ramp(1, (const int64_t[]){1300}), *y[5] = {0};
  const char *feed = "x";
  ferry_session_stats(f.s, &before);
  ok(ferry_run(f.s, 1, &feed, &x, 5, fetches, y, 0, &err), &err);
  ferry_session_stats(f.s, &after);
  // 13 values from -6 to 6 over and over, of which the constant is -6: all but one are greater.
  for (int i = 0; i < 5; i++) {
    const int32_t *got = ferry_tensor_data(y[i]);
    assert_int_equal(got[0], i == 2 ? 1 : 1200);
    ferry_tensor_free(y[i]);
  }
  ferry_tensor_free(x);
  assert_int_equal(after.bytes_to_host - before.bytes_to_host, 0);
  end(&f);
}

// What a large batch left behind is for the next one, be it smaller or of another program.
static void host_memory_comes_back(void **state) {
  (void)state;
  fixture f;
  ferry_error err;
  ferry_prediction p;
  open_with(&f, "memory_limit.CPU=1MiB; spill=never");
  add(&f, "Placeholder", "x", "", "dtype=float; shape=[-1,64]");
  constant(&f, "w", 2, (const int64_t[]){64, 64});
  add(&f, "MatMul", "h", "x, w", "T=float");
  numbers(&f, "axes", 1, (const int32_t[]){1});
  add(&f, "Softmax", "soft", "h", "T=float");
  add(&f, "MatMul", "g", "soft, w", "T=float");
  add(&f, "Sum", "y", "g, axes", "T=float");
  begin(&f);
  const ferry_request r = {.fetch = "y", .feed = "x", .batch = 1};
  ok(ferry_predict(f.s, &r, &p, &err), &err);
  const int64_t most = p.devices[0].largest_batch;
  const int64_t batches[] = {most, 2 * most, 1, most, most / 2, most - 1, 2 * most, 3};
  assert_true(most > 100);
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
    ferry_tensor *x = ramp(2, (const int64_t[]){batches[i], 64});
    for (int k = 0; k < 2; k++) {
      const int code = run(&f, "x", x, "y", &err);
      if (batches[i] > most)
        assert_int_equal(code, 8);
      else
        ok(code, &err);
    }
    ferry_tensor_free(x);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_step),
      cmocka_unit_test(transposed_convolution),
      cmocka_unit_test(einsums),
      cmocka_unit_test(loops),
      cmocka_unit_test(shapes_move_nothing),
      cmocka_unit_test(host_memory_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

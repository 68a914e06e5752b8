// SPDX-License-Identifier: Apache-2.0
// What runs before what when a program is many tasks, and where the results of calls lie: graphs that
// real models hold (tools/models/), reduced.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ferry/ferry.h>
#include <stdio.h>
#include <string.h>

static ferry_runtime *rt;
static ferry_graph *g;

static void add(const char *op, const char *name, const char *inputs, const char *attrs,
                const char *device, const ferry_tensor *value) {
  ferry_error err = {0};
  if (ferry_graph_add(g, op, name, inputs, attrs, device, value, &err))
    fail_msg("%s: %s", name, err.text);
}

static void scalar(const char *name, const char *controls, float v) {
  ferry_tensor *t;
  assert_int_equal(ferry_tensor_new(1, 0, NULL, &v, &t, NULL), 0);
  add("Const", name, controls, "dtype=float", NULL, t);
  ferry_tensor_free(t);
}

static void open_with(const char *config) {
  ferry_error err = {0};
  if (ferry_open(config, &rt, &err)) fail_msg("%s", err.text);
  assert_int_equal(ferry_graph_new(rt, &g, &err), 0);
}

static void close_all(ferry_session *s) {
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
}

static ferry_tensor *run(ferry_session *s, int feeds, const char *const *names,
                         ferry_tensor *const *values, const char *fetch) {
  ferry_tensor *out = NULL;
  ferry_error err = {0};
  if (ferry_run(s, feeds, names, values, 1, &fetch, &out, 0, &err)) fail_msg("%s", err.text);
  return out;
}

// The update takes its time; what reads the variable afterwards is tied to it through a constant only
// (tf.train.Optimizer.minimize with a global step makes that).
static void constants_carry_control_edges(void **state) {
  (void)state;
  // A device with cores of its own makes tasks of any program.
  static const char *const configs[] = {"cpu_devices=2; cores=CPU:1:0-1",
                                        "cpu_devices=2; cores=CPU:1:0-1; optimize=off",
                                        "sim=gpu:1; place=tensorflow", "intra_threads=2"};
  const int64_t dims[2] = {192, 192};
  for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
    ferry_session *s;
    ferry_tensor *x;
    ferry_error err = {0};
    open_with(configs[c]);
    add("Placeholder", "x", "", "dtype=float", NULL, NULL);
    add("VarHandleOp", "v", "", "dtype=float; shape=[]; shared_name='v'", NULL, NULL);
    add("VarHandleOp", "step", "", "dtype=float; shape=[]; shared_name='step'", NULL, NULL);
    scalar("zero", "", 0);
    scalar("one", "", 1);
    add("AssignVariableOp", "init_v", "v, zero", "", NULL, NULL);
    add("AssignVariableOp", "init_step", "step, zero", "", NULL, NULL);
    add("NoOp", "init", "^init_v, ^init_step", "", NULL, NULL);
    const char *last = "x", *there = strstr(configs[c], "cores") ? "/device:CPU:1" : NULL;
    char name[3][16] = {"", "", ""};
    for (int i = 0; i < 6; i++) {
      char in[40];
      snprintf(name[i % 3], sizeof name[0], "p%d", i);
      snprintf(in, sizeof in, "%s, x", last);
      add("MatMul", name[i % 3], in, "", there, NULL);
      last = name[i % 3];
    }
    add("MatMul", "other", "x, x", "", NULL, NULL);
    ferry_tensor *axes;
    const int32_t both[2] = {0, 1};
    const int64_t two = 2;
    assert_int_equal(ferry_tensor_new(3, 1, &two, both, &axes, NULL), 0);
    add("Const", "axes", "", "dtype=int32", NULL, axes);
    ferry_tensor_free(axes);
    add("Max", "slow", "p5, axes", "", NULL, NULL);
    add("AssignAddVariableOp", "update", "v, slow", "", NULL, NULL);
    add("NoOp", "updates", "^update", "", NULL, NULL);
    scalar("by", "^updates", 1);
    add("AssignAddVariableOp", "count", "step, by", "", NULL, NULL);
    add("ReadVariableOp", "now", "v, ^count", "dtype=float", NULL, NULL);
    add("Max", "far", "other, axes", "", NULL, NULL);
    add("Mul", "nothing", "far, zero", "", NULL, NULL);
    add("AddV2", "y", "now, nothing", "", NULL, NULL);
    assert_int_equal(ferry_session_new(rt, g, &s, &err), 0);
    const char *init = "^init", *names[] = {"x"};
    ferry_tensor *none;
    assert_int_equal(ferry_run(s, 0, NULL, NULL, 1, &init, &none, 0, &err), 0);
    assert_int_equal(ferry_tensor_new(1, 2, dims, NULL, &x, &err), 0);
    for (int i = 0; i < 192; i++) ((float *)ferry_tensor_data(x))[193 * i] = 1;  // the identity
    for (int i = 1; i <= 20; i++) {
      ferry_tensor *y = run(s, 1, names, &x, "y");
      if (*(float *)ferry_tensor_data(y) != (float)i)
        fail_msg("%s: run %d gave %g", configs[c], i, (double)*(float *)ferry_tensor_data(y));
      ferry_tensor_free(y);
    }
    ferry_tensor_free(x);
    close_all(s);
  }
}

// Every node of the program is the CPU's, but what the region in it hands out was made on the GPU.
static void results_of_a_region_come_home(void **state) {
  (void)state;
  const char *gpu = "/device:GPU:0", *cpu = "/device:CPU:0", *names[] = {"x", "p"};
  const int64_t three = 3;
  ferry_session *s;
  ferry_tensor *in[2];
  ferry_error err = {0};
  open_with("sim=gpu:1,memory=64MiB; soft_placement=true");
  add("Placeholder", "x", "", "dtype=float", cpu, NULL);
  add("Placeholder", "p", "", "dtype=bool", cpu, NULL);
  add("Switch", "s", "x, p", "", gpu, NULL);
  add("Neg", "a", "s:1", "", gpu, NULL);
  add("Square", "b", "s:0", "", gpu, NULL);
  add("Merge", "m", "b, a", "", gpu, NULL);
  add("AddN", "y", "m, m", "", cpu, NULL);
  assert_int_equal(ferry_session_new(rt, g, &s, &err), 0);
  for (int branch = 0; branch < 2; branch++) {
    const float x[3] = {1, -2, 3};
    const bool p = branch;
    assert_int_equal(ferry_tensor_new(1, 1, &three, x, &in[0], NULL), 0);
    assert_int_equal(ferry_tensor_new(10, 0, NULL, &p, &in[1], NULL), 0);
    ferry_tensor *y = run(s, 2, names, in, "y");
    for (int i = 0; i < 3; i++)
      assert_true(((float *)ferry_tensor_data(y))[i] == 2 * (branch ? -x[i] : x[i] * x[i]));
    ferry_tensor_free(y);
    ferry_tensor_free(in[0]);
    ferry_tensor_free(in[1]);
  }
  close_all(s);
}

// A value that a variable and an optional keep while the result that is fetched is written over it.
static void what_is_kept_is_not_written_over(void **state) {
  (void)state;
  static const char *const configs[] = {"", "optimize=off", "intra_threads=2"};
  const int64_t n = 40;
  for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
    ferry_session *s;
    ferry_tensor *x, *out[2];
    ferry_error err = {0};
    open_with(configs[c]);
    add("Placeholder", "x", "", "dtype=float", NULL, NULL);
    add("VarHandleOp", "v", "", "dtype=float; shape=[40]; shared_name='kept'", NULL, NULL);
    scalar("two", "", 2);
    add("Mul", "y", "x, two", "", NULL, NULL);
    add("AssignVariableOp", "store", "v, y", "", NULL, NULL);
    add("OptionalFromValue", "box", "y", "", NULL, NULL);
    add("Tanh", "t", "y, ^store, ^box", "", NULL, NULL);
    add("Mul", "z", "t, two", "", NULL, NULL);
    add("OptionalGetValue", "boxed", "box, ^z", "output_types=[float]; output_shapes=[[40]]", NULL,
        NULL);
    add("ReadVariableOp", "stored", "v, ^z", "dtype=float", NULL, NULL);
    assert_int_equal(ferry_session_new(rt, g, &s, &err), 0);
    assert_int_equal(ferry_tensor_new(1, 1, &n, NULL, &x, &err), 0);
    for (int i = 0; i < n; i++) ((float *)ferry_tensor_data(x))[i] = (float)i;
    for (int k = 0; k < 6; k++) {
      const char *names[] = {"x"}, *fetches[] = {"z", k % 2 ? "boxed" : "stored"};
      if (ferry_run(s, 1, names, &x, 2, fetches, out, 0, &err)) fail_msg("%s", err.text);
      for (int i = 0; i < n; i++)
        assert_true(((float *)ferry_tensor_data(out[1]))[i] == 2 * (float)i);
      ferry_tensor_free(out[0]);
      ferry_tensor_free(out[1]);
    }
    ferry_tensor_free(x);
    close_all(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(constants_carry_control_edges),
                                     cmocka_unit_test(what_is_kept_is_not_written_over),
                                     cmocka_unit_test(results_of_a_region_come_home)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// ferry.h: opening from text, graphs from text, running by name, and errors that help.

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ferry/ferry.h"

static ferry_error err;

static void ok(int code) {
  if (code) fail_msg("%s: %s", ferry_code_name(code), err.text);
}

static void refuses(int code, int want, const char *text) {
  if (code != want || !strstr(err.text, text))
    fail_msg("%s: '%s' has no '%s'", ferry_code_name(code), err.text, text);
}

static void opens_every_form_of_config(void **state) {
  (void)state;
  static const struct {
    const char *config;
    int devices;
  } good[] = {{NULL, 1},
              {"", 1},
              {"sim=gpu:2", 3},
              {" cpu_devices = 2 ; sim = gpu:1,memory=2MiB ", 3},
              {"device_count { key: \"CPU\" value: 2 }", 2},
              {"allow_soft_placement: true", 1},
              {"gpu_options { allow_growth: true } inter_op_parallelism_threads: 2", 1}};
  ferry_runtime *rt;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    ok(ferry_open(good[i].config, &rt, &err));
    assert_int_equal(ferry_device_count(rt), good[i].devices);
    ferry_close(rt);
  }
  refuses(ferry_open("sim=gpu:1,memry=1GiB", &rt, &err), 3, "did you mean 'memory'");
  assert_null(rt);
  refuses(ferry_open("soft_placment=true", &rt, &err), 3, "did you mean 'soft_placement'");
  refuses(ferry_open("gpu_options { alow_growth: true }", &rt, &err), 3, "allow_growth");
  refuses(ferry_open("nonsense", &rt, &err), 3, "nonsense");
  assert_int_equal(ferry_open("nonsense", &rt, NULL), 3);  // |err| may be NULL
}

static void devices_and_limits(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_device d;
  ok(ferry_open("sim=gpu:1,memory=8MiB", &rt, &err));
  assert_int_equal(ferry_device_get(rt, 2, &d), 11);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_true(d.simulated);
  assert_int_equal(d.memory_limit, 8 << 20);
  assert_int_equal(d.memory_reserved, 0);  // listing takes nothing
  ok(ferry_set_memory_limit(rt, "GPU:0", 1 << 20, &err));
  ferry_device_get(rt, 1, &d);
  assert_int_equal(d.memory_limit, 1 << 20);
  ok(ferry_trim(rt, "/device:GPU:0", 0, &err));
  refuses(ferry_trim(rt, "GPU:7", 0, &err), 5, "open are: CPU:0, GPU:0");
  refuses(ferry_set_memory_limit(rt, "GPU:0", 1ull << 40, &err), 3, "only");
  ferry_close(rt);
}

static ferry_runtime *rt;
static ferry_graph *g;

static int add(const char *op, const char *name, const char *in, const char *attrs) {
  return ferry_graph_add(g, op, name, in, attrs, NULL, NULL, &err);
}

static void builds_graphs_from_text(void **state) {
  (void)state;
  ok(ferry_open(NULL, &rt, &err));
  ok(ferry_graph_new(rt, &g, &err));
  ok(add("Placeholder", "x", "", "dtype=float; shape=[2,?]"));
  ok(add("Const", "m", NULL, "dtype=float; value=[[1,2],[3,4.5]]"));
  ok(add("Const", "i", NULL, "value=-3"));
  ok(add("Const", "s", NULL, "value=[\"a, b\", 'c;d']"));
  ok(add("Const", "t", NULL, "dtype=bool; value=true"));
  ok(add("MatMul", "p", "m, m, ^i", "transpose_a=true; T=float"));
  ok(add("Const", "axis", NULL, "dtype=int32; value=0"));
  ok(add("ConcatV2", "c", "[m, p], axis", NULL));
  ok(add("ConcatV2", "c2", "m, p, m, axis", NULL));  // one list: no brackets needed
  ok(add("Split", "parts", "axis, m", "num_split=2"));
  ok(add("AddV2", "both", "parts, parts:1", NULL));
  ok(add("NoOp", "init", "^p, ^c", "_note=\"anything\"; _class=[\"loc:@p\"]"));
  refuses(add("MatMull", "q", "m, m", NULL), 5, "did you mean 'MatMul'");
  refuses(add("MatMul", "q", "m, part", NULL), 5, "did you mean 'parts'");
  refuses(add("MatMul", "q", "m, m", "transpose_aa=true"), 3, "did you mean 'transpose_a'");
  refuses(add("MatMul", "q", "m, m", "transpose_a=maybe"), 3, "true or false");
  refuses(add("MatMul", "q", "m, m", "transpose_a"), 3, "has no value");
  refuses(add("MatMul", "q", "m", NULL), 3, "takes 2 inputs (a, b) but 1 was given");
  refuses(add("MatMul", "q", "m, m, m", NULL), 3, "takes 2 inputs");
  refuses(add("MatMul", "q", "m, parts:2", NULL), 11, "has 2 outputs");
  refuses(add("MatMul", "p", "m, m", NULL), 6, "already has");
  refuses(add("Placeholder", "z", NULL, "dtype=flaot"), 3, "not a type");
  refuses(add("Placeholder", "z", NULL, "dtype=float; shape=[2,x]"), 3, "not a dimension");
  refuses(add("Const", "z", NULL, "dtype=float; value=[[1,2],[3]]"), 3, "a tensor of float");
  refuses(add("Const", "z", NULL, "dtype=int32; value=1.5"), 3, "a tensor of int32");
  char *text;
  assert_int_equal(ferry_graph_inputs(g, &text), 0);
  assert_string_equal(text, "x");
  ferry_free_text(text);
  assert_int_equal(ferry_graph_outputs(g, &text), 0);
  assert_string_equal(text, "c2, both");
  ferry_free_text(text);
  ok(ferry_graph_dump(g, &text, &err));
  assert_non_null(strstr(text, "x = Placeholder[dtype=DT_FLOAT, shape=[2,?]]() : float[2,?]"));
  ferry_free_text(text);
  ferry_graph_free(g);
  ferry_close(rt);
}

static void runs_and_round_trips(void **state) {
  (void)state;
  ferry_session *s;
  ferry_tensor *x, *r[3];
  char path[] = "/tmp/ferry_test_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  ok(ferry_open(NULL, &rt, &err));
  ok(ferry_graph_new(rt, &g, &err));
  ok(add("Placeholder", "x", NULL, "dtype=float; shape=[?]"));
  ok(add("Const", "two", NULL, "dtype=float; value=2"));
  ok(add("Mul", "y", "x, two", NULL));
  ok(add("NoOp", "done", "^y", NULL));
  for (int form = 0; form < 3; form++) {  // as built, through a binary file, through a text file
    if (form) {
      ok(ferry_graph_save(g, path, form == 2, &err));
      ferry_graph_free(g);
      ok(ferry_graph_load(rt, path, &g, &err));
    }
    assert_int_equal(ferry_graph_size(g), 4);
    ok(ferry_session_new(rt, g, &s, &err));
    ok(ferry_tensor_new(1, 1, (int64_t[]){3}, (float[]){1, 2, 3}, &x, &err));
    ok(ferry_run(s, 1, (const char *[]){"x"}, &x, 3, (const char *[]){"y", "x:0", "done"}, r, 0,
                 &err));
    assert_true(((float *)ferry_tensor_data(r[0]))[2] == 6);
    assert_int_equal(ferry_tensor_dim(r[0], 0), 3);
    assert_null(r[2]);
    ferry_tensor_free(r[0]);
    ferry_tensor_free(r[1]);
    refuses(ferry_run(s, 1, (const char *[]){"z"}, &x, 1, (const char *[]){"y"}, r, 0, &err), 5,
            "no node 'z'");
    refuses(ferry_run(s, 0, NULL, NULL, 1, (const char *[]){"y"}, r, 0, &err), 3, "x");
    assert_null(r[0]);
    ferry_tensor_free(x);
    ok(ferry_tensor_new(3, 0, NULL, NULL, &x, &err));
    refuses(ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, r, 0, &err), 3,
            "'x' is float but int32 was fed");
    ferry_tensor_free(x);
    ok(ferry_tensor_new(1, 0, NULL, NULL, &x, &err));
    refuses(ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, r, 0, &err), 3,
            "'x' has shape [?] but [] was fed");
    ferry_tensor_free(x);
    ferry_session_free(s);
  }
  unlink(path);
  ferry_graph_free(g);
  ferry_close(rt);
}

// Ferry's own nodes: TensorFlow 1's control flow becomes one node, a variable's value is read by one.
static void lowers_old_graphs(void **state) {
  (void)state;
#define FLOAT "attr { key: 'T' value { type: DT_FLOAT } }"
#define TYPED(t) \
  "attr { key: 'dtype' value { type: " t " } } attr { key: 'shape' value { shape {} } }"
  static const char graph[] =
      "node { name: 'p' op: 'Placeholder' " TYPED("DT_BOOL") " }\n"
      "node { name: 'x' op: 'Placeholder' " TYPED("DT_FLOAT") " }\n"
      "node { name: 'v' op: 'VariableV2' " TYPED("DT_FLOAT") " }\n"
      "node { name: 'i' op: 'Assign' input: 'v' input: 'x' " FLOAT " }\n"
      "node { name: 'r' op: 'Neg' input: 'v' " FLOAT " }\n"
      "node { name: 's' op: 'Switch' input: 'x' input: 'p' " FLOAT " }\n"
      "node { name: 'n' op: 'Neg' input: 's:1' " FLOAT " }\n"
      "node { name: 'm' op: 'Merge' input: 'n' input: 's' " FLOAT
      "  attr { key: 'N' value { i: 2 } } }\n";
  ferry_session *s;
  char *text;
  ok(ferry_open(NULL, &rt, &err));
  ok(ferry_graph_parse(rt, graph, sizeof graph - 1, &g, &err));
  ok(ferry_session_new(rt, g, &s, &err));
  const ferry_request request = {.fetch = "m,r"};
  ok(ferry_dump(s, &request, "program", &text, &err));
  assert_non_null(strstr(text, "_FerryFlow"));
  assert_non_null(strstr(text, "_FerryRefRead"));
  assert_null(strstr(text, "Switch("));
  ferry_free_text(text);
  ferry_tensor *in[2], *got[2];
  const float seven = 7;
  ok(ferry_tensor_new(1, 0, NULL, &seven, &in[0], &err));
  const char *const names[] = {"x", "p"};
  ok(ferry_run(s, 1, names, in, 1, (const char *[]){"^i"}, got, 0, &err));
  for (int i = 0; i < 2; i++) {
    const bool yes = i;
    ok(ferry_tensor_new(10, 0, NULL, &yes, &in[1], &err));
    ok(ferry_run(s, 2, names, in, 2, (const char *[]){"m", "r"}, got, 0, &err));
    assert_true(*(const float *)ferry_tensor_data(got[0]) == (yes ? -7 : 7));
    assert_true(*(const float *)ferry_tensor_data(got[1]) == -7);
    ferry_tensor_free(in[1]);
    ferry_tensor_free(got[0]);
    ferry_tensor_free(got[1]);
  }
  ferry_tensor_free(in[0]);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
}

static void tensors(void **state) {
  (void)state;
  ferry_tensor *t;
  char *text;
  refuses(ferry_tensor_new(1, 1, (int64_t[]){-2}, NULL, &t, &err), 3, "not the shape");
  refuses(ferry_tensor_new(77, 0, NULL, NULL, &t, &err), 3, "77");
  refuses(ferry_tensor_new(7, 0, NULL, NULL, &t, &err), 3, "ferry_tensor_strings");
  refuses(ferry_tensor_new(1, 300, NULL, NULL, &t, &err), 3, "rank");
  ok(ferry_tensor_strings(1, (int64_t[]){2}, (const char *[]){"one", "two"}, &t, &err));
  assert_int_equal(ferry_tensor_text(t, 5, &text), 0);
  assert_non_null(strstr(text, "two"));
  ferry_free_text(text);
  ferry_tensor_free(t);
  refuses(ferry_tensor_load("/nowhere.npy", &t, &err), 5, "/nowhere.npy");
  ferry_tensor_free(NULL);
}

static int life(void) {
  ferry_runtime *r = NULL;
  ferry_graph *graph = NULL;
  ferry_session *s = NULL;
  ferry_tensor *x = NULL, *y = NULL;
  int code = ferry_open("sim=gpu:1", &r, &err);
  if (!code) code = ferry_graph_new(r, &graph, &err);
  if (!code)
    code = ferry_graph_add(graph, "Placeholder", "x", NULL, "dtype=float", NULL, NULL, &err);
  if (!code) code = ferry_graph_add(graph, "Neg", "y", "x", NULL, "GPU:0", NULL, &err);
  if (!code) code = ferry_session_new(r, graph, &s, &err);
  if (!code) code = ferry_tensor_new(1, 0, NULL, NULL, &x, &err);
  if (!code)
    code = ferry_run(s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err);
  ferry_tensor_free(x);
  ferry_tensor_free(y);
  ferry_session_free(s);
  ferry_graph_free(graph);
  ferry_close(r);
  return code;
}

static void survives_any_failed_allocation(void **state) {
  (void)state;
  ok(life());
  for (int64_t n = 1;; n++) {
    fy_fault_arm(FY_FAULT_ALLOC, n, false);
    int code = life();
    bool over = fy_fault_hits(FY_FAULT_ALLOC) < n;
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (code && code != 8)
      fail_msg("allocation %lld: %s: %s", (long long)n, ferry_code_name(code), err.text);
    if (over) break;
  }
  ok(life());
}

static void helps_with_operations(void **state) {
  (void)state;
  char *text;
  ok(ferry_op_help("MatMul", FERRY_TEXT, &text, &err));
  assert_non_null(strstr(text, "MatMul(a: T, b: T) -> (product: T)"));
  ferry_free_text(text);
  refuses(ferry_op_help("Matmul", FERRY_TEXT, &text, &err), 5, "did you mean 'MatMul'");
  ok(ferry_ops_missing(&text, &err));
  assert_null(strstr(text, "\nMatMul\n"));
  ferry_free_text(text);
  ok(ferry_doctor("sim=gpu:1", FERRY_JSON, &text, &err));
  assert_non_null(strstr(text, "\"backends\""));
  ferry_free_text(text);
}

int main(void) {
  unsetenv("FERRY_SIM");
  unsetenv("FERRY_CONFIG");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_every_form_of_config),
      cmocka_unit_test(devices_and_limits),
      cmocka_unit_test(builds_graphs_from_text),
      cmocka_unit_test(runs_and_round_trips),
      cmocka_unit_test(lowers_old_graphs),
      cmocka_unit_test(tensors),
      cmocka_unit_test(survives_any_failed_allocation),
      cmocka_unit_test(helps_with_operations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

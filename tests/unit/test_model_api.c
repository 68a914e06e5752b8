// SPDX-License-Identifier: Apache-2.0
// ferry_model_*, ferry_inspect, ferry_convert, ferry_diff and ferry_npz_* of ferry.h: answers, errors that
// help, files that lie, and memory that runs out at every point.

#include "support_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ferry/ferry.h"
#include "sample.h"

#define TWO "examples/models/half_plus_two"
#define OLD "tests/data/cli/old.ckpt.meta"

static ferry_error err;
static char dir[64];

static void ok(int code) {
  if (code) fail_msg("%s: %s", ferry_code_name(code), err.text);
}

static const char *file(const char *name) {
  static char path[160];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static ferry_runtime *open_runtime(void) {
  ferry_runtime *rt;
  ok(ferry_open(NULL, &rt, &err));
  return rt;
}

static ferry_tensor *floats(int64_t n, const float *v) {
  ferry_tensor *t;
  ok(ferry_tensor_new(1, 1, &n, v, &t, &err));
  return t;
}

// ------------------------------------------------------------------ calling
static void signatures_and_runs(void **state) {
  (void)state;
  ferry_runtime *rt = open_runtime();
  ferry_model *m;
  const ferry_signature *s;
  ok(ferry_model_load(rt, TWO, "serve", &m, &err));
  assert_int_equal(ferry_model_signature_count(m), 1);
  assert_null(ferry_model_signature_at(m, 1));
  ok(ferry_model_signature(m, NULL, &s, &err));
  assert_string_equal(s->name, "serving_default");
  assert_string_equal(s->method, "tensorflow/serving/predict");
  assert_string_equal(s->inputs[0].tensor, "serving_default_x:0");
  assert_int_equal(s->inputs[0].rank, 1);
  assert_int_equal(s->inputs[0].dims[0], -1);
  ferry_tensor *x = floats(2, (float[]){1, 2}), *y;
  const char *in = "x", *wrong = "xx", *twice[] = {"x", "x"};
  ok(ferry_model_run(m, NULL, 1, &in, &x, 1, NULL, &y, 0, &err));
  assert_true(((float *)ferry_tensor_data(y))[1] == 3.0f);
  ferry_tensor_free(y);
  assert_int_equal(ferry_model_run(m, NULL, 1, &wrong, &x, 1, NULL, &y, 0, &err), 3);
  assert_non_null(strstr(err.text, "did you mean 'x'?"));
  assert_null(y);
  assert_int_equal(
      ferry_model_run(m, NULL, 2, twice, (ferry_tensor *[]){x, x}, 1, NULL, &y, 0, &err), 3);
  assert_non_null(strstr(err.text, "given twice"));
  assert_int_equal(ferry_model_run(m, NULL, 0, NULL, NULL, 1, NULL, &y, 0, &err), 3);
  assert_non_null(strstr(err.text, "needs its input 'x': float[?]"));
  ferry_tensor *two_results[2];
  assert_int_equal(ferry_model_run(m, NULL, 1, &in, &x, 2, NULL, two_results, 0, &err), 3);
  assert_int_equal(ferry_model_run(m, "nope", 1, &in, &x, 1, NULL, &y, 0, &err), 5);
  ferry_tensor *ints;
  ok(ferry_tensor_new(3, 1, (int64_t[]){1}, NULL, &ints, &err));
  assert_int_equal(ferry_model_run(m, NULL, 1, &in, &ints, 1, NULL, &y, 0, &err), 3);
  assert_non_null(strstr(err.text, "takes 'x': float[?], but int32[1] was given"));
  ferry_tensor_free(ints);
  ferry_tensor_free(x);
  ferry_model_free(m);
  assert_int_equal(ferry_model_load(rt, TWO, "serve,gpu", &m, &err), 5);
  assert_int_equal(ferry_model_load(rt, "tests/data/cli/old.ckpt", NULL, &m, &err), 3);
  assert_non_null(strstr(err.text, "weights without a graph"));
  ferry_close(rt);
}

static const char with_default[] =
    "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'train' } graph_def {\n"
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "node { name: 'k' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "node { name: 'y' op: 'Mul' input: 'x' input: 'k' attr { key: 'T' value { type: DT_FLOAT } } "
    "}\n"
    "} signature_def { key: 'scale' value {\n"
    "inputs { key: 'x' value { name: 'x:0' dtype: DT_FLOAT tensor_shape { unknown_rank: true } } "
    "}\n"
    "inputs { key: 'k' value { name: 'k:0' dtype: DT_FLOAT tensor_shape { } } }\n"
    "outputs { key: 'y' value { name: 'y:0' dtype: DT_FLOAT tensor_shape { unknown_rank: true } } "
    "}\n"
    "defaults { key: 'k' value { dtype: DT_FLOAT tensor_shape { } float_val: 10 } } } } }\n";

// An input with a default may be left out; the only graph is taken whatever its tags.
static void default_values(void **state) {
  (void)state;
  ferry_runtime *rt = open_runtime();
  ferry_model *m;
  ferry_tensor *x = floats(1, (float[]){3}), *k, *y;
  const char *names[] = {"x", "k"};
  float two = 2;
  write_file(file("saved_model.pbtxt"), with_default, strlen(with_default));
  ok(ferry_model_load(rt, dir, NULL, &m, &err));
  assert_true(ferry_model_signature_at(m, 0)->inputs[0].optional);
  ok(ferry_model_run(m, NULL, 1, names, &x, 1, NULL, &y, 0, &err));
  assert_true(((float *)ferry_tensor_data(y))[0] == 30);
  ferry_tensor_free(y);
  ok(ferry_tensor_new(1, 0, NULL, &two, &k, &err));
  ok(ferry_model_run(m, "scale", 2, names, (ferry_tensor *[]){x, k}, 1, NULL, &y, 0, &err));
  assert_true(((float *)ferry_tensor_data(y))[0] == 6);
  ferry_tensor_free(y);
  ferry_tensor_free(k);
  ferry_tensor_free(x);
  ferry_model_free(m);
  unlink(file("saved_model.pbtxt"));
  ferry_close(rt);
}

// ------------------------------------------------------------------ files
static void npz_round_trip(void **state) {
  (void)state;
  ferry_tensor *t[2], **back;
  const char *names[] = {"a/b", "words"};
  char **got;
  int n;
  size_t len;
  t[0] = floats(3, (float[]){1, 2, 3});
  ok(ferry_tensor_strings(1, (int64_t[]){2}, (const char *[]){"x", "longer"}, &t[1], &err));
  ok(ferry_npz_save(file("a.npz"), 2, names, t, &err));
  ok(ferry_npz_load(file("a.npz"), &n, &got, &back, &err));
  assert_int_equal(n, 2);
  assert_string_equal(got[0], "a/b");
  assert_memory_equal(ferry_tensor_data(back[0]), ferry_tensor_data(t[0]), 12);
  assert_memory_equal(ferry_tensor_string(back[1], 1, &len), "longer", 6);
  assert_int_equal(len, 6);
  assert_null(ferry_tensor_string(back[1], 2, &len));
  assert_null(ferry_tensor_string(back[0], 0, &len));
  assert_int_equal(ferry_tensor_set_string(back[0], 0, "a", 1, &err), 3);
  ferry_npz_free(n, got, back);
  ferry_tensor_free(t[0]);
  ferry_tensor_free(t[1]);
  unlink(file("a.npz"));
  assert_int_equal(ferry_npz_load(file("a.npz"), &n, &got, &back, &err), 5);
}

// Whatever bit is wrong, wherever the file ends: a status or a model, never a crash.
static void every_bit_may_be_wrong(const char *from, const char *name) {
  ferry_runtime *rt = open_runtime();
  size_t n;
  char *bytes = read_whole(from, &n), *text;
  bool same;
  for (size_t at = 0; at < n; at += 5) {
    ferry_model *m;
    ferry_graph *g;
    bytes[at] ^= (char)(1 << (at % 8));
    write_file(file(name), bytes, n);
    bytes[at] ^= (char)(1 << (at % 8));
    if (ferry_inspect(rt, file(name), NULL, FERRY_JSON, &text, &err) == 0) ferry_free_text(text);
    if (ferry_diff(file(name), from, 0, FERRY_TEXT, &same, &text, &err) == 0) ferry_free_text(text);
    if (ferry_model_load(rt, file(name), NULL, &m, &err)) continue;
    for (int i = 0; i < ferry_model_signature_count(m); i++)
      if (ferry_model_freeze(m, ferry_model_signature_at(m, i)->name, &g, NULL, &err) == 0)
        ferry_graph_free(g);
    ferry_model_free(m);
  }
  for (size_t keep = 0; keep < n; keep += 41) {
    ferry_model *m;
    write_file(file(name), bytes, keep);
    if (ferry_model_load(rt, file(name), NULL, &m, &err) == 0) ferry_model_free(m);
  }
  free(bytes);
  unlink(file(name));
  ferry_close(rt);
}
static void wrong_saved_models(void **state) {
  (void)state;
  every_bit_may_be_wrong(TWO "/saved_model.pb", "saved_model.pb");
}
static void wrong_meta_files(void **state) {
  (void)state;
  every_bit_may_be_wrong(OLD, "a.meta");
}

// ------------------------------------------------------------------ memory runs out
typedef int (*task)(ferry_runtime *rt);

static int load_and_freeze(ferry_runtime *rt) {
  ferry_model *m;
  ferry_graph *g;
  char *notes;
  int code = ferry_model_load(rt, TWO, NULL, &m, &err);
  if (code) return code;
  code = ferry_model_freeze(m, NULL, &g, &notes, &err);
  if (!code) {
    ferry_free_text(notes);
    ferry_graph_free(g);
  }
  ferry_model_free(m);
  return code;
}

static int look(ferry_runtime *rt) {
  char *text;
  int code = ferry_inspect(rt, OLD, NULL, FERRY_TEXT, &text, &err);
  if (!code) ferry_free_text(text);
  return code;
}

static int compare(ferry_runtime *rt) {
  char *text;
  bool same;
  (void)rt;
  int code = ferry_diff(TWO, OLD, 0, FERRY_JSON, &same, &text, &err);
  if (!code) ferry_free_text(text);
  return code;
}

static int convert(ferry_runtime *rt) {
  char path[160];
  (void)rt;
  snprintf(path, sizeof path, "%s", file("w.npz"));
  return ferry_convert("tests/data/cli/v1.ckpt", path, &err);
}

static void memory_runs_out(void **state) {
  (void)state;
  static const task tasks[] = {load_and_freeze, look, compare, convert};
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    ferry_runtime *rt = open_runtime();
    ok(tasks[i](rt));  // what is made once is made
    bool failed = false;
    for (int64_t n = 1;; n = sample_after(n)) {
      fy_fault_arm(FY_FAULT_ALLOC, n, false);
      int code = tasks[i](rt);
      int64_t seen = fy_fault_hits(FY_FAULT_ALLOC);
      fy_fault_disarm(FY_FAULT_ALLOC);
      failed |= code != 0;
      if (seen < n) break;
      assert_true(n < 50000);
    }
    assert_true(failed);
    ok(tasks[i](rt));
    ferry_close(rt);
  }
  unlink(file("w.npz"));
}

static int make_dir(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "/tmp/ferry_model_api_XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}
static int remove_dir(void **state) {
  (void)state;
  return rmdir(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signatures_and_runs), cmocka_unit_test(default_values),
      cmocka_unit_test(npz_round_trip),      cmocka_unit_test(wrong_saved_models),
      cmocka_unit_test(wrong_meta_files),    cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

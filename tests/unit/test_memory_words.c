// SPDX-License-Identifier: Apache-2.0
// test_memory_words.c: what is said when memory runs out helps, whoever asks: why spilling does not help, what
// a file would hold, which constants hold the memory; and long texts keep their end, where the advice is.
// A limit of the host that has no room for packed weights is no reason to fail.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ferry/ferry.h"

typedef struct made {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
} made;

// x [?, 256] times |n| constants [256, 256], named |name|0, |name|1 …, with Tanh between.
static made chain(const char *config, const char *name, int n, char last[256]) {
  made m;
  ferry_error err;
  if (ferry_open(config, &m.rt, &err)) fail_msg("%s", err.text);
  assert_int_equal(ferry_graph_new(m.rt, &m.g, &err), 0);
  if (ferry_graph_add(m.g, "Placeholder", "x", "", "dtype=float; shape=[?,256]", NULL, NULL, &err))
    fail_msg("%s", err.text);
  char in[600], before[256] = "x", node[256];
  for (int i = 0; i < n; i++) {
    ferry_tensor *w;
    assert_int_equal(ferry_tensor_new(1, 2, (int64_t[]){256, 256}, NULL, &w, &err), 0);
    ((float *)ferry_tensor_data(w))[i] = (float)(i + 2);  // no two are the same constant
    snprintf(node, sizeof node, "%s%d", name, i);
    if (ferry_graph_add(m.g, "Const", node, "", "dtype=float", NULL, w, &err))
      fail_msg("%s", err.text);
    ferry_tensor_free(w);
    snprintf(in, sizeof in, "%s, %s", before, node);
    snprintf(before, sizeof before, "%s%d/product", name, i);
    if (ferry_graph_add(m.g, "MatMul", before, in, "T=float", NULL, NULL, &err))
      fail_msg("%s", err.text);
    snprintf(in, sizeof in, "%s", before);
    snprintf(before, sizeof before, "%s%d/tanh", name, i);
    if (ferry_graph_add(m.g, "Tanh", before, in, "T=float", NULL, NULL, &err))
      fail_msg("%s", err.text);
  }
  snprintf(last, 256, "%s", before);
  assert_int_equal(ferry_session_new(m.rt, m.g, &m.s, &err), 0);
  return m;
}

static int run(const made *m, int64_t rows, const char *fetch, ferry_error *err) {
  ferry_tensor *x, *y = NULL;
  assert_int_equal(ferry_tensor_new(1, 2, (int64_t[]){rows, 256}, NULL, &x, err), 0);
  const int code = ferry_run(m->s, 1, (const char *[]){"x"}, &x, 1, &fetch, &y, 0, err);
  ferry_tensor_free(x);
  ferry_tensor_free(y);
  return code;
}

static void undo(made *m) {
  ferry_session_free(m->s);
  ferry_graph_free(m->g);
  ferry_close(m->rt);
}

static void says(const char *text, const char *what) {
  if (!strstr(text, what)) fail_msg("no '%s' in: %s", what, text);
}

static void one_is_too_much(void **state) {
  (void)state;
  char last[256];
  ferry_error err;
  made m = chain("sim=gpu:1,memory=4MiB; place=tensorflow", "w", 4, last);
  assert_int_equal(run(&m, 4096, last, &err), 8);
  says(err.text, "This is a true shortage");
  says(err.text, "Spilling does not help: 'w");
  says(err.text, " at once on GPU:0.");
  assert_int_equal(run(&m, 64, last, &err), 0);  // usable
  undo(&m);
  // Weights alone: no batch helps.
  m = chain("sim=gpu:1,memory=1MiB; place=tensorflow; spill=never", "w", 8, last);
  assert_int_equal(run(&m, 4, last, &err), 8);
  says(err.text,
       "The largest batch that fits is 0.\nWhat does not grow with the batch is too much");
  says(err.text, "With spilling (spill=auto) it fits: ");
  says(err.text, "256.0KiB from w");  // a constant by its name
  says(err.text, "[[{{node w");
  undo(&m);
}

static void files(void **state) {
  (void)state;
  char last[256];
  ferry_error err;
  made m = chain("memory_limit.CPU=6MiB; spill=never", "w", 4, last);
  assert_int_equal(run(&m, 4096, last, &err), 8);
  says(err.text, "With spilling (spill=auto) it fits: ");
  says(err.text, " are in a file.");
  says(err.text, "packed weights ");
  undo(&m);
  m = chain("memory_limit.CPU=6MiB", "w", 4, last);
  ferry_prediction p;
  const ferry_request r = {.fetch = last, .batch = 4096};
  assert_int_equal(ferry_predict(m.s, &r, &p, &err), 0);
  assert_true(p.spill_file_bytes > 0);
  assert_true(p.devices[0].other_bytes < (uint64_t)64 << 20);
  char *text;
  assert_int_equal(ferry_memory_chart(m.s, &r, FERRY_CHART_TIME, false, &text, &err), 0);
  says(text, " in a file\n");
  assert_null(strstr(text, "PiB"));
  ferry_free_text(text);
  undo(&m);
}

// A limit of the host without room for packed weights: they are packed at every call, with the same bits.
static void no_room_to_pack(void **state) {
  (void)state;
  ferry_tensor *y[2][2] = {{NULL}};
  for (int limited = 0; limited < 2; limited++) {
    char last[256];
    ferry_error err;
    made m = chain(limited ? "memory_limit.CPU=1MiB" : NULL, "w", 8, last);
    const char *fetch = last;
    ferry_tensor *x;
    ferry_prediction p;
    ferry_device cpu;
    const ferry_request r = {.fetch = last, .batch = 64};
    assert_int_equal(ferry_tensor_new(1, 2, (int64_t[]){64, 256}, NULL, &x, &err), 0);
    for (int i = 0; i < 64 * 256; i++) ((float *)ferry_tensor_data(x))[i] = (float)(i % 7) / 9;
    for (int i = 0; i < 2; i++)
      if (ferry_run(m.s, 1, (const char *[]){"x"}, &x, 1, &fetch, &y[limited][i], 0, &err))
        fail_msg("%s", err.text);
    assert_int_equal(ferry_predict(m.s, &r, &p, &err), 0);
    assert_int_equal(ferry_device_get(m.rt, 0, &cpu), 0);
    // Both results are there; the prediction is of a run whose result is let go before the next.
    const uint64_t result = ferry_tensor_bytes(y[limited][0]) + 64;
    assert_int_equal(cpu.memory_peak, p.devices[0].allocator_bytes + result);
    assert_int_equal(p.devices[0].packed_bytes > 0, !limited);
    if (limited) assert_true(cpu.memory_peak <= 1 << 20);
    ferry_tensor_free(x);
    undo(&m);
  }
  for (int i = 1; i < 4; i++)
    assert_memory_equal(ferry_tensor_data(y[0][0]), ferry_tensor_data(y[i / 2][i % 2]),
                        ferry_tensor_bytes(y[0][0]));
  for (int i = 0; i < 4; i++) ferry_tensor_free(y[i / 2][i % 2]);
}

// A batch whose sizes overflow is refused, not reported as one that takes nothing.
static void beyond_any_memory(void **state) {
  (void)state;
  char last[256];
  ferry_error err;
  ferry_prediction p;
  made m = chain("sim=gpu:1", "w", 2, last);
  ferry_request r = {.fetch = last, .batch = INT64_MAX};
  assert_int_equal(ferry_predict(m.s, &r, &p, &err), 3);
  says(err.text, "feed 'x' of shape [9223372036854775807,256] is larger than any memory");
  r.batch = (int64_t)1 << 36;  // 64 TiB: an answer
  assert_int_equal(ferry_predict(m.s, &r, &p, &err), 0);
  assert_true(p.devices[p.num_devices - 1].largest_batch > 0);
  undo(&m);
}

static void long_names(void **state) {
  (void)state;
  char name[241], last[256];
  ferry_error err;
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  made m = chain("sim=gpu:1,memory=6MiB; place=tensorflow; spill=never", name, 8, last);
  assert_int_equal(run(&m, 4000, last, &err), 8);
  assert_int_equal(strncmp(err.text, "OOM when allocating tensor with shape[", 38), 0);
  assert_true(strlen(err.text) > sizeof err.text - 16);  // it is cut
  says(err.text, "\n[...]\n");
  says(err.text, "The largest batch that fits is ");
  undo(&m);
}

// Who asks for a device that is lost is told so, every time, not that there is no kernel.
static void lost_but_required(void **state) {
  (void)state;
  for (int soft = 0; soft < 2; soft++) {
    made m;
    ferry_error err;
    const char *fetch = "y";
    ferry_tensor *x, *y = NULL;
    char config[128];
    snprintf(config, sizeof config, "sim=gpu:1,lost_after=3; soft_placement=%s",
             soft ? "true" : "false");
    assert_int_equal(ferry_open(config, &m.rt, &err), 0);
    assert_int_equal(ferry_graph_new(m.rt, &m.g, &err), 0);
    assert_int_equal(
        ferry_graph_add(m.g, "Placeholder", "x", "", "dtype=float; shape=[?]", NULL, NULL, &err),
        0);
    assert_int_equal(ferry_graph_add(m.g, "Tanh", "y", "x", "T=float", "/device:GPU:0", NULL, &err),
                     0);
    assert_int_equal(ferry_session_new(m.rt, m.g, &m.s, &err), 0);
    assert_int_equal(ferry_tensor_new(1, 1, (int64_t[]){8}, NULL, &x, &err), 0);
    for (int i = 0; i < 6; i++) {
      const int code = ferry_run(m.s, 1, (const char *[]){"x"}, &x, 1, &fetch, &y, 0, &err);
      assert_int_equal(code, i < 2 || soft ? 0 : 14);
      if (code) says(err.text, "/device:GPU:0 is lost");
      if (code) says(err.text, "[[{{node y}}]]");
      ferry_tensor_free(y);
      y = NULL;
    }
    ferry_tensor_free(x);
    undo(&m);
  }
}

// A copy that fails names the value that it moves.
static void copies_are_named(void **state) {
  (void)state;
  char last[256];
  ferry_error err;
  made m = chain("sim=gpu:1,fail_copy=3; place=tensorflow", "w", 1, last);
  int failed = 0;
  for (int i = 0; i < 4; i++) {
    if (!run(&m, 4, last, &err)) continue;
    failed++;
    says(err.text, "/device:GPU:0: copy 3 (");
    says(err.text, "[[{{node ");
  }
  assert_int_equal(failed, 1);
  undo(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_is_too_much), cmocka_unit_test(files),
      cmocka_unit_test(no_room_to_pack), cmocka_unit_test(beyond_any_memory),
      cmocka_unit_test(long_names),      cmocka_unit_test(lost_but_required),
      cmocka_unit_test(copies_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

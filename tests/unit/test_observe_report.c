// SPDX-License-Identifier: Apache-2.0
// Reports: every node has a fate and a reason, transfers have advice, predictions come true, and
// the N-th allocation may fail for every N.

#include "support_graph.h"

#include <stdio.h>

#include "base/alloc.h"
#include "ferry/ferry.h"
#include "observe/report.h"
#include "sample.h"

static void ok(int code, const ferry_error *err) {
  if (code) fail_msg("%s: %s", ferry_code_name(code), err->text);
}

typedef struct model {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  ferry_error err;
} model;

static void open_model(model *m, const char *config) {
  *m = (model){0};
  ok(ferry_open(config, &m->rt, &m->err), &m->err);
  ok(ferry_graph_new(m->rt, &m->g, &m->err), &m->err);
}

static void add(model *m, const char *op, const char *name, const char *in, const char *attrs,
                const char *device) {
  ok(ferry_graph_add(m->g, op, name, in, attrs, device, NULL, &m->err), &m->err);
}

static void close_model(model *m) {
  ferry_session_free(m->s);
  ferry_graph_free(m->g);
  ferry_close(m->rt);
}

// A graph in which every fate occurs.
static void build_fates(model *m) {
  add(m, "Placeholder", "x", NULL, "dtype=float; shape=[?,4]", NULL);
  add(m, "Const", "a", NULL, "dtype=float; value=[1,2,3,4]", NULL);
  add(m, "Const", "b", NULL, "dtype=float; value=2", NULL);
  add(m, "Mul", "folded", "a, b", NULL, NULL);
  add(m, "Identity", "bypassed", "x", NULL, NULL);
  add(m, "MatMul", "twin1", "bypassed, x", "transpose_b=true", NULL);
  add(m, "MatMul", "twin2", "x, x", "transpose_b=true", NULL);
  add(m, "AddV2", "sum", "twin1, twin2", NULL, NULL);
  add(m, "Tanh", "tanh", "sum", NULL, NULL);
  add(m, "Softmax", "soft", "x", NULL, NULL);
  add(m, "Mul", "scaled", "soft, folded", NULL, NULL);
  add(m, "Neg", "unused", "x", NULL, NULL);
  ok(ferry_session_new(m->rt, m->g, &m->s, &m->err), &m->err);
}

static bool has_row(const char *text, const char *name, const char *word) {
  size_t n = strlen(name);
  for (const char *p = text; (p = strstr(p, name)) != NULL; p += n) {
    if (p[-1] != ' ' || p[n] != ' ') continue;
    const char *end = strchr(p, '\n'), *hit = strstr(p, word);
    if (hit && hit < end) return true;
  }
  return false;
}

static void every_node_has_a_fate(void **state) {
  (void)state;
  model m;
  char *text;
  open_model(&m, "sim=gpu:1");
  build_fates(&m);
  ferry_request r = {.fetch = "tanh, scaled", .batch = 3};
  ok(ferry_explain(m.s, &r, FERRY_TEXT, &text, &m.err), &m.err);
  const char *const want[][2] = {{"x", "fed by the client"}, {"a", "ahead of time"},
                                 {"folded", "folded:"},      {"bypassed", "bypassed:"},
                                 {"unused", "not needed:"},  {"soft", "CPU:0"},
                                 {"tanh", "CPU:0"}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++)
    if (!has_row(text, want[i][0], want[i][1]))
      fail_msg("%s: no '%s' in\n%s", want[i][0], want[i][1], text);
  assert_true(has_row(text, "twin1", "merged") || has_row(text, "twin2", "merged"));
  ferry_free_text(text);
  // Switched off, nothing disappears.
  close_model(&m);
  open_model(&m, "sim=gpu:1; optimize=off");
  build_fates(&m);
  ok(ferry_explain(m.s, &r, FERRY_JSON, &text, &m.err), &m.err);
  assert_null(strstr(text, "\"fate\": \"folded\""));
  assert_null(strstr(text, "\"fate\": \"merged\""));
  assert_null(strstr(text, "\"fate\": \"removed\""));
  ferry_free_text(text);
  close_model(&m);
}

static void transfers_are_counted_and_advised(void **state) {
  (void)state;
  model m;
  char *text;
  open_model(&m, "sim=gpu:1");
  add(&m, "Placeholder", "x", NULL, "dtype=float; shape=[?,4]", NULL);
  add(&m, "Neg", "on_gpu", "x", NULL, "GPU:0");
  add(&m, "Square", "island", "on_gpu", NULL, "CPU:0");
  add(&m, "Neg", "y", "island", NULL, "GPU:0");
  ok(ferry_session_new(m.rt, m.g, &m.s, &m.err), &m.err);
  ferry_request r = {.fetch = "y", .batch = 8};
  ok(ferry_why(m.s, &r, "island", FERRY_TEXT, &text, &m.err), &m.err);
  assert_non_null(strstr(text, "on_gpu:0 from GPU:0 to CPU:0, 128 B, every run"));
  assert_non_null(strstr(text, "ask for GPU:0 for 'island', which now asks for '/device:CPU:0'"));
  assert_null(strstr(text, "for 'y'"));  // moving the island removes both
  ferry_free_text(text);
  assert_int_equal(ferry_why(m.s, &r, "isle", FERRY_TEXT, &text, &m.err), 5);
  ferry_prediction p;
  ok(ferry_predict(m.s, &r, &p, &m.err), &m.err);
  assert_int_equal(p.transfers, 4);
  assert_int_equal(p.transfer_bytes, 4 * 128);
  ferry_tensor *x, *y;
  ok(ferry_tensor_new(1, 2, (int64_t[]){8, 4}, NULL, &x, &m.err), &m.err);
  for (int i = 0; i < 5; i++) {
    ok(ferry_run(m.s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y:0"}, &y, 0, &m.err),
       &m.err);
    ferry_tensor_free(y);
  }
  ferry_tensor_free(x);
  ferry_stats n;
  ferry_session_stats(m.s, &n);
  assert_int_equal(n.runs, 5);
  assert_int_equal(n.programs_compiled, 1);
  assert_int_equal(n.transfers_to_device + n.transfers_to_host, 5 * p.transfers);
  assert_int_equal(n.bytes_to_device + n.bytes_to_host, 5 * p.transfer_bytes);
  close_model(&m);
}

// The largest batch runs, one more does not: predictor and runner are the same planner.
static void predictions_come_true(void **state) {
  (void)state;
  const char *configs[] = {"sim=gpu:1,memory=2MiB", "sim=gpu:1,memory=2MiB; place=tensorflow",
                           "sim=gpu:1,memory=2MiB; place=tensorflow; optimize=off"};
  for (size_t c = 0; c < 3; c++) {
    model m;
    open_model(&m, configs[c]);
    add(&m, "Placeholder", "x", NULL, "dtype=float; shape=[?,64]", NULL);
    add(&m, "Exp", "e", "x", NULL, "/device:GPU:0");
    add(&m, "AddV2", "y", "e, x", NULL, "/device:GPU:0");
    ok(ferry_session_new(m.rt, m.g, &m.s, &m.err), &m.err);
    ferry_prediction p;
    ok(ferry_predict(m.s, &(ferry_request){.fetch = "y"}, &p, &m.err), &m.err);
    assert_string_equal(p.first_exhausted, "GPU:0");
    int64_t largest = p.devices[1].largest_batch;
    assert_true(largest > 1000 && largest <= 8192);
    for (int64_t more = 0; more < 2; more++) {
      ferry_tensor *x, *y = NULL;
      ok(ferry_tensor_new(1, 2, (int64_t[]){largest + more, 64}, NULL, &x, &m.err), &m.err);
      int code =
          ferry_run(m.s, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &m.err);
      if (!more && code) fail_msg("%s, batch %lld: %s", configs[c], (long long)largest, m.err.text);
      if (more) assert_int_equal(code, 8);
      ferry_tensor_free(x);
      ferry_tensor_free(y);
    }
    close_model(&m);
  }
}

static void lines_are_wrapped_only_when_asked(void **state) {
  (void)state;
  model m;
  char *text;
  open_model(&m, "sim=gpu:1");
  build_fates(&m);
  ok(ferry_explain(m.s, &(ferry_request){.batch = 3, .width = 80}, FERRY_TEXT, &text, &m.err),
     &m.err);
  for (const char *p = text; *p;) {
    size_t n = strcspn(p, "\n");
    if (n > 80 && strncmp(p, "  unknown", 9) != 0) fail_msg("%zu columns: %.*s", n, (int)n, p);
    p += n + (p[n] == '\n');
  }
  ferry_free_text(text);
  close_model(&m);
}

static int ask_everything(model *m, const ferry_request *r, ferry_error *err) {
  char *text = NULL;
  ferry_prediction p;
  int code = ferry_explain(m->s, r, FERRY_TEXT, &text, err);
  ferry_free_text(text);
  if (!code) {
    code = ferry_explain(m->s, r, FERRY_JSON, &text, err);
    ferry_free_text(text);
  }
  if (!code) {
    code = ferry_why(m->s, r, "tanh", FERRY_TEXT, &text, err);
    ferry_free_text(text);
  }
  if (!code) {
    code = ferry_dump(m->s, r, "program", &text, err);
    ferry_free_text(text);
  }
  if (!code)
    code = ferry_predict(m->s, &(ferry_request){.fetch = "tanh", .shapes = "x=[2,4]"}, &p, err);
  return code;
}

static void survives_any_failed_allocation(void **state) {
  (void)state;
  model m;
  ferry_error err;
  open_model(&m, "sim=gpu:1,memory=1MiB");
  build_fates(&m);
  ferry_request r = {.fetch = "tanh, scaled", .batch = 3};
  ok(ask_everything(&m, &r, &err), &err);
  int step = 1;
  for (int64_t n = 1;; n = sample_after(n + step - 1)) {
    fy_fault_arm(FY_FAULT_ALLOC, n, false);
    int code = ask_everything(&m, &r, &err);
    bool over = fy_fault_hits(FY_FAULT_ALLOC) < n;
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (code && code != 8)
      fail_msg("allocation %lld: %s: %s", (long long)n, ferry_code_name(code), err.text);
    if (over) break;
    if (n > 2000) step = 13;  // the search repeats what was tested before
  }
  ok(ask_everything(&m, &r, &err), &err);
  close_model(&m);
}

static void empty_and_odd_requests(void **state) {
  (void)state;
  model m;
  char *text;
  open_model(&m, NULL);
  ok(ferry_session_new(m.rt, m.g, &m.s, &m.err), &m.err);
  assert_int_equal(ferry_explain(m.s, NULL, FERRY_TEXT, &text, &m.err), 3);
  assert_null(text);
  add(&m, "Const", "c", NULL, "value=[1,2]", NULL);
  ok(ferry_explain(m.s, NULL, FERRY_TEXT, &text, &m.err), &m.err);
  assert_non_null(strstr(text, "constant"));
  ferry_free_text(text);
  assert_int_equal(ferry_explain(m.s, &(ferry_request){.fetch = "c:1"}, FERRY_TEXT, &text, &m.err),
                   11);
  assert_int_equal(ferry_explain(m.s, &(ferry_request){.fetch = "c:x"}, FERRY_TEXT, &text, &m.err),
                   3);
  assert_int_equal(ferry_explain(m.s, &(ferry_request){.fetch = " , "}, FERRY_TEXT, &text, &m.err),
                   3);
  assert_int_equal(
      ferry_explain(m.s, &(ferry_request){.shapes = "c=[2]"}, FERRY_TEXT, &text, &m.err), 3);
  assert_int_equal(ferry_dump(m.s, NULL, "everything", &text, &m.err), 3);
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_node_has_a_fate),
      cmocka_unit_test(transfers_are_counted_and_advised),
      cmocka_unit_test(predictions_come_true),
      cmocka_unit_test(lines_are_wrapped_only_when_asked),
      cmocka_unit_test(survives_any_failed_allocation),
      cmocka_unit_test(empty_and_odd_requests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Users who change their minds: limits of any size set while runs are under way, limits below one tensor,
// shapes that grow with every run, trimming at any time, several runs started and waited for in any
// order. Each run is right or says RESOURCE_EXHAUSTED; nothing is kept in the end.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"

#define WIDTH 64

typedef struct model {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
} model;

static void add(model *m, const char *op, const char *name, const char *in, const char *attrs,
                const ferry_tensor *value) {
  ferry_error err;
  const bool there = strcmp(op, "Placeholder") != 0 && strcmp(op, "Const") != 0;
  if (ferry_graph_add(m->g, op, name, in, attrs, there ? "/device:GPU:0" : NULL, value, &err))
    fail_msg("%s: %s", name, err.text);
}

static ferry_tensor *filled(int64_t rows, float with) {
  ferry_tensor *t;
  const int64_t dims[2] = {rows, WIDTH};
  assert_int_equal(ferry_tensor_new(1, 2, dims, NULL, &t, NULL), 0);
  float *f = ferry_tensor_data(t);
  for (int64_t i = 0; i < rows * WIDTH; i++) f[i] = with;
  return t;
}

// y = x W V with W a constant and V a variable of 1/WIDTH each: y is x's mean, so x if it is filled.
static void open_model(model *m, const char *config) {
  ferry_error err;
  ferry_tensor *w = filled(WIDTH, 1.0f / WIDTH), *none = NULL;
  const char *init = "init";
  if (ferry_open(config, &m->rt, &err)) fail_msg("%s", err.text);
  assert_int_equal(ferry_graph_new(m->rt, &m->g, &err), 0);
  add(m, "Placeholder", "x", NULL, "dtype=float; shape=[?,64]", NULL);
  add(m, "Const", "w", NULL, "dtype=float", w);
  add(m, "VarHandleOp", "v", NULL, "dtype=float; shape=[64,64]; shared_name=\"v\"", NULL);
  add(m, "AssignVariableOp", "init", "v, w", "dtype=float", NULL);
  add(m, "ReadVariableOp", "r", "v", "dtype=float", NULL);
  add(m, "MatMul", "a", "x, w", NULL, NULL);
  add(m, "MatMul", "y", "a, r", NULL, NULL);
  ferry_tensor_free(w);
  assert_int_equal(ferry_session_new(m->rt, m->g, &m->s, &err), 0);
  if (ferry_run(m->s, 0, NULL, NULL, 1, &init, &none, 0, &err)) fail_msg("%s", err.text);
}

static void close_model(model *m) {
  ferry_graph_free(m->g);  // the session keeps what it needs
  ferry_session_free(m->s);
  for (int i = 0; i < ferry_device_count(m->rt); i++) {
    ferry_device d;
    assert_int_equal(ferry_device_get(m->rt, i, &d), 0);
    if (strcmp(d.type, "GPU") == 0) assert_int_equal(d.memory_in_use, 0);
  }
  ferry_close(m->rt);
}

static bool right(ferry_tensor *y, float want) {
  const float *f = ferry_tensor_data(y);
  for (int64_t i = 0; i < ferry_tensor_count(y); i++)
    if (!(f[i] > want - 1e-4f && f[i] < want + 1e-4f)) return false;
  return true;
}

static int run(model *m, int64_t rows, float with, ferry_error *err) {
  const char *feed = "x", *fetch = "y";
  ferry_tensor *x = filled(rows, with), *y = NULL;
  int code = ferry_run(m->s, 1, &feed, &x, 1, &fetch, &y, 0, err);
  if (!code && !right(y, with)) code = -1;
  ferry_tensor_free(x);
  ferry_tensor_free(y);
  return code;
}

typedef struct runner {
  model *m;
  atomic_bool stop;
  atomic_int good, refused, wrong;
  char text[2100];
} runner;

static void *keep_running(void *arg) {
  runner *r = arg;
  for (int i = 0; !atomic_load(&r->stop); i++) {
    ferry_error err;
    const int code = run(r->m, 1 + i * 7 % 300, (float)(i % 9) - 4, &err);
    if (code == 0)
      atomic_fetch_add(&r->good, 1);
    else if (code == 8)
      atomic_fetch_add(&r->refused, 1);
    else if (!atomic_fetch_add(&r->wrong, 1))
      snprintf(r->text, sizeof r->text, "%d %s", code, code > 0 ? err.text : "wrong numbers");
  }
  return NULL;
}

static void limits_under_way(void **state) {
  (void)state;
  static const uint64_t limits[] = {1,       255,     256,        4096,      70000,
                                    200000,  1 << 20, UINT64_MAX, 0,         INT64_MAX,
                                    1 << 16, 3000000, 40 << 10,   100 << 10, 33};
  static const char *const configs[] = {"sim=gpu:1,memory=64MiB",
                                        "sim=gpu:1,memory=64MiB; spill=never"};
  for (int c = 0; c < 2; c++) {
    model m;
    runner r[2] = {{.m = &m}, {.m = &m}};
    pthread_t t[2];
    ferry_error err;
    bool too_much = false;
    open_model(&m, configs[c]);
    for (int i = 0; i < 2; i++)
      assert_int_equal(pthread_create(&t[i], NULL, keep_running, &r[i]), 0);
    for (int round = 0; round < 60; round++) {
      const uint64_t limit = limits[round % (int)(sizeof limits / sizeof *limits)];
      const int code = ferry_set_memory_limit(m.rt, "GPU:0", limit, &err);
      too_much |= code != (limit > 64 << 20 ? 3 : 0);  // more than it has is refused
      if (round % 4 == 0) too_much |= ferry_trim(m.rt, "GPU:0", (uint64_t)round * 1000, &err) != 0;
      const int before = atomic_load(&r[0].good) + atomic_load(&r[0].refused);
      for (int spin = 0;
           spin < 2000 && atomic_load(&r[0].good) + atomic_load(&r[0].refused) < before + 2;
           spin++) {
        struct timespec nap = {0, 100000};
        nanosleep(&nap, NULL);
      }
    }
    for (int i = 0; i < 2; i++) {
      atomic_store(&r[i].stop, true);
      pthread_join(t[i], NULL);
      if (atomic_load(&r[i].wrong)) fail_msg("%s: %s", configs[c], r[i].text);
    }
    assert_false(too_much);
    print_message("%s: %d runs right, %d refused\n", configs[c],
                  atomic_load(&r[0].good) + atomic_load(&r[1].good),
                  atomic_load(&r[0].refused) + atomic_load(&r[1].refused));
    assert_true(atomic_load(&r[0].refused) + atomic_load(&r[1].refused) > 0);
    assert_int_equal(ferry_set_memory_limit(m.rt, "GPU:0", 0, &err), 0);  // none
    if (run(&m, 200, 3, &err)) fail_msg("%s", err.text);
    close_model(&m);
  }
}

static void below_one_tensor(void **state) {
  (void)state;
  model m;
  ferry_error err;
  open_model(&m, "sim=gpu:1,memory=64MiB");
  for (uint64_t limit = 1; limit <= 16 << 10; limit *= 7) {
    if (ferry_set_memory_limit(m.rt, "GPU:0", limit, &err)) fail_msg("%s", err.text);
    assert_int_equal(run(&m, 4, 1, &err), 8);
    if (strncmp(err.text, "OOM when allocating tensor with shape[", 38) != 0 ||
        !strstr(err.text,
                " and type float on /job:localhost/replica:0/task:0/device:GPU:0 by "
                "allocator GPU_0_bfc"))
      fail_msg("limit %llu: %s", (unsigned long long)limit, err.text);
  }
  assert_int_equal(ferry_set_memory_limit(m.rt, "GPU:0", 1 << 20, &err), 0);
  if (run(&m, 4, 1, &err)) fail_msg("%s", err.text);
  assert_int_not_equal(ferry_set_memory_limit(m.rt, "GPU:7", 1 << 20, &err), 0);
  assert_int_not_equal(ferry_set_memory_limit(m.rt, NULL, 1 << 20, &err), 0);
  close_model(&m);
  ferry_runtime *rt;
  static const char *const bad[] = {"sim=gpu:1; memory_limit.GPU=-5",
                                    "sim=gpu:1; memory_limit.GPU=x", "sim=gpu:1,memory=-1",
                                    "sim=gpu:1; memory_fraction=-0.5"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!ferry_open(bad[i], &rt, &err)) fail_msg("'%s' was taken", bad[i]);
}

static void shapes_that_grow(void **state) {
  (void)state;
  model m;
  ferry_error err;
  ferry_device d;
  open_model(&m, "sim=gpu:1,memory=64MiB; memory_limit.GPU=2MiB");
  int refused = 0;
  for (int64_t rows = 1; rows < 9000; rows += 1 + rows / 12) {
    const int code = run(&m, rows, (float)(rows % 5), &err);
    if (code && code != 8) fail_msg("%lld rows: %d", (long long)rows, code);
    refused += code == 8;
    assert_int_equal(ferry_device_get(m.rt, ferry_device_count(m.rt) - 1, &d), 0);
    assert_true(d.memory_in_use <= 2 << 20 && d.memory_peak <= 2 << 20 &&
                d.memory_reserved <= 2 << 20);
  }
  assert_true(refused > 0);
  if (run(&m, 5, 1, &err)) fail_msg("%s", err.text);
  close_model(&m);
}

static void tickets_in_any_order(void **state) {
  (void)state;
  model m;
  ferry_error err;
  open_model(&m, "sim=gpu:1,memory=64MiB; memory_limit.GPU=400KiB");
  enum { N = 12 };
  const char *feed = "x", *fetch = "y";
  ferry_ticket *t[N] = {NULL};
  for (int i = 0; i < N; i++) {  // there is not room for all: the oldest is waited for
    ferry_tensor *x = filled(100, (float)i);
    const int code = ferry_run_start(m.s, 1, &feed, &x, 1, &fetch, 0, &t[i], &err);
    ferry_tensor_free(x);  // the ticket keeps it
    if (code) fail_msg("%s", err.text);
  }
  for (int k = 0; k < N; k++) {
    const int i = k * 5 % N;
    ferry_tensor *y = NULL;
    if (ferry_run_wait(t[i], &y, &err)) fail_msg("%s", err.text);
    assert_true(right(y, (float)i));
    ferry_tensor_free(y);
  }
  ferry_tensor *none = NULL, *x = filled(1, 1);
  ferry_ticket *never;
  const char *nobody = "nobody";
  assert_int_equal(ferry_run_wait(NULL, &none, &err), 3);
  assert_int_equal(ferry_run_start(m.s, 1, &nobody, &x, 1, &fetch, 0, &never, &err), 5);
  assert_null(never);
  assert_int_equal(ferry_run_start(m.s, -1, NULL, NULL, 1, &fetch, 0, &never, &err), 3);
  ferry_tensor_free(x);
  if (run(&m, 100, 2, &err)) fail_msg("%s", err.text);
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_under_way),
      cmocka_unit_test(below_one_tensor),
      cmocka_unit_test(shapes_that_grow),
      cmocka_unit_test(tickets_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

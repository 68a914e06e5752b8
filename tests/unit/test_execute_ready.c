// SPDX-License-Identifier: Apache-2.0
// Runs that were made before in the same words take a short way to their program (execute/ready.h): they must
// give the same as the long one, whatever came between.

#include "support_graph.h"

#include "base/thread.h"

enum { FETCHES = 5, SHAPES = 4 };

typedef struct many {
  env e;
  fy_node *x, *y[FETCHES];
} many;

static void open_many(many *m, const char *config) {
  char name[8] = "c0";
  env_open(&m->e, config);
  m->x = placeholder(m->e.g, "x", FY_FLOAT);
  for (int i = 0; i < FETCHES; i++) {
    name[0] = 'c', name[1] = (char)('0' + i);
    fy_node *c = constant(m->e.g, name, floats(0, NULL, (float[]){(float)i}));
    name[0] = 'y';
    m->y[i] = op2(m->e.g, "AddV2", name, m->x, c);
  }
  env_session(&m->e);
}

// Fetches y[i] of |n| numbers; false if it is not what it should be.
static bool run_one(many *m, int i, int64_t n) {
  float v[SHAPES + 1] = {1, 2, 3, 4, 5};
  fy_tensor *in = floats(1, &n, v), *out = NULL;
  bool ok = !run1(&m->e, m->x, in, m->y[i], &out, NULL) && out->count == n;
  for (int64_t k = 0; ok && k < n; k++) ok = ((float *)out->data)[k] == v[k] + (float)i;
  if (out) fy_tensor_release(out);
  fy_tensor_release(in);
  return ok;
}

static int64_t programs(many *m) {
  fy_counts c;
  fy_session_counts(m->e.s, &c);
  return c.programs;
}

static void what_is_used_most_stays(void **state) {
  (void)state;
  many m;
  open_many(&m, "max_programs=2");
  for (int i = 0; i < 20; i++) assert_true(run_one(&m, 0, 3));
  assert_true(run_one(&m, 1, 3));
  for (int i = 0; i < 20; i++) assert_true(run_one(&m, 0, 3));
  assert_int_equal(programs(&m), 2);
  assert_true(run_one(&m, 2, 3));  // in the place of y1, which was used longest ago
  assert_true(run_one(&m, 0, 3));
  assert_int_equal(programs(&m), 3);
  for (int i = 0; i < 20; i++) assert_true(run_one(&m, 0, 3));
  assert_true(run_one(&m, 0, 1));  // shapes are kept alike
  assert_int_equal(programs(&m), 4);
  fy_counts c;
  fy_session_counts(m.e.s, &c);
  assert_int_equal(c.runs, 64);
  env_close(&m.e);
}

// Shapes that keep changing share one program; one that comes again and again gets its own, and no others.
static void shapes_that_change(void **state) {
  (void)state;
  env e;
  env_open(&e, NULL);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *y = op2(e.g, "AddV2", "y", x, op1(e.g, "Neg", "minus", op1(e.g, "Abs", "abs", x)));
  env_session(&e);
  many m = {.e = e};
  float v[4 * 40];
  for (int i = 0; i < 160; i++) v[i] = (float)(i % 7 - 3);
  int64_t before = 0;
  for (int64_t i = 0; i < 400000; i++) {
    // Of rank 2 at first, with rows of another length later, of rank 1 at last.
    const int64_t k = i < 200 ? i % 40 : 20, dims[2] = {k + 1, i < 100 || i >= 200 ? 3 : 4};
    fy_tensor *in = floats(i >= 150 && i < 200 ? 1 : 2, dims, v), *out = NULL;
    assert_int_equal(run1(&m.e, x, in, y, &out, NULL), FY_OK);
    assert_int_equal(out->count, in->count);
    for (int64_t j = 0; j < in->count; j++)
      assert_true(((float *)out->data)[j] == (v[j] < 0 ? 2 * v[j] : 0));
    fy_tensor_release(out);
    fy_tensor_release(in);
    if (i == 199) before = programs(&m);
    // 40 shapes: as many as have their own, and one for all others. A run that the machine holds up counts
    // as one that pays for a program of its own, so that there may be a few more.
    if (i == 99) assert_in_range(programs(&m), 5, 8);
    if (i > 200 && programs(&m) > before) break;
  }
  assert_in_range(before, 5, 12);  // however long it took to compile one
  assert_int_equal(programs(&m), before + 1);
  env_close(&e);
}

typedef struct job {
  many *m;
  int first, bad;
} job;

static void *rotate(void *arg) {
  job *j = arg;
  for (int i = 0; i < 2000; i++) {
    const int at = j->first + (i / (1 + i % 7));
    if (!run_one(j->m, at % FETCHES, 1 + at % SHAPES)) j->bad++;
  }
  return NULL;
}

// More requests and shapes than are kept, by several threads.
static void threads_in_turn(void **state) {
  (void)state;
  many m;
  open_many(&m, "max_programs=2");
  job jobs[4];
  fy_thread t[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job){&m, i, 0};
    assert_true(fy_thread_start(&t[i], rotate, &jobs[i], "rotate"));
  }
  for (int i = 0; i < 4; i++) fy_thread_join(t[i]);
  for (int i = 0; i < 4; i++) assert_int_equal(jobs[i].bad, 0);
  env_close(&m.e);
}

// A result is its caller's: the next run writes elsewhere, and the session may go. Fetched twice, it is one
// tensor with two references.
static void results_are_the_callers(void **state) {
  (void)state;
  many m;
  open_many(&m, NULL);
  fy_tensor *out[3][2], *in = floats(0, NULL, (float[]){1});
  const fy_output feed = {m.x, 0}, fetches[2] = {{m.y[3], 0}, {m.y[3], 0}};
  const fy_run_args a = {
      .feeds = &feed, .feed_values = &in, .num_feeds = 1, .fetches = fetches, .num_fetches = 2};
  for (int i = 0; i < 3; i++) {
    *(float *)in->data = (float)i;
    assert_int_equal(fy_session_run(m.e.s, &a, out[i], NULL), FY_OK);
  }
  fy_session_close(m.e.s);
  fy_tensor *none[2];
  assert_int_equal(fy_session_run(m.e.s, &a, none, NULL), FY_CANCELLED);
  assert_null(none[0]);
  fy_tensor_release(in);
  env_close(&m.e);
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 2; k++) {
      assert_true(*(float *)out[i][k]->data == (float)(i + 3));
      fy_tensor_release(out[i][k]);
    }
  }
}

// What is wrong with the second call is said of it, though the first one is remembered.
static void other_words(void **state) {
  (void)state;
  many m;
  open_many(&m, NULL);
  for (int i = 0; i < 3; i++) assert_true(run_one(&m, 0, 3));
  fy_error err;
  fy_error_init(&err);
  fy_tensor *out, *wrong;
  assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, &(int32_t){1}, &wrong, NULL), FY_OK);
  assert_int_equal(run1(&m.e, m.x, wrong, m.y[0], &out, &err), FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err), "Expects arg[0] to be float but int32 is provided");
  fy_error_clear(&err);
  assert_int_equal(run1(&m.e, m.x, NULL, m.y[0], &out, &err), FY_INVALID_ARGUMENT);
  fy_error_clear(&err);
  fy_tensor_release(wrong);
  assert_true(run_one(&m, 0, 3));
  env_close(&m.e);
}

// A run that fails in its kernel hands out nothing, says why, and leaves the next as it would be.
static void failures_between(void **state) {
  (void)state;
  env e;
  fy_error err;
  env_open(&e, NULL);
  fy_error_init(&err);
  fy_node *x = placeholder(e.g, "x", FY_INT32), *y = placeholder(e.g, "y", FY_INT32);
  fy_node *div = op2(e.g, "FloorDiv", "div", x, y), *more = op2(e.g, "AddV2", "more", div, x);
  env_session(&e);
  const fy_output feeds[2] = {{x, 0}, {y, 0}}, fetches[2] = {{div, 0}, {more, 0}};
  for (int32_t i = 0; i < 40; i++) {
    const int32_t by = i % 4;
    fy_tensor *in[2], *out[2] = {(fy_tensor *)&err, (fy_tensor *)&err};
    assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, &i, &in[0], NULL), FY_OK);
    assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, &by, &in[1], NULL), FY_OK);
    const fy_run_args a = {
        .feeds = feeds, .feed_values = in, .num_feeds = 2, .fetches = fetches, .num_fetches = 2};
    const fy_code code = fy_session_run(e.s, &a, out, &err);
    assert_int_equal(code, by ? FY_OK : FY_INVALID_ARGUMENT);
    assert_int_equal(err.code, code);
    if (by) assert_int_equal(*(int32_t *)out[1]->data, i / by + i);
    for (int k = 0; k < 2; k++) {
      if (!by) assert_null(out[k]);
      fy_tensor_release(out[k]);
      fy_tensor_release(in[k]);
    }
    fy_error_clear(&err);
  }
  env_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures_between),        cmocka_unit_test(what_is_used_most_stays),
      cmocka_unit_test(shapes_that_change),      cmocka_unit_test(threads_in_turn),
      cmocka_unit_test(results_are_the_callers), cmocka_unit_test(other_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

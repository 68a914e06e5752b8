// SPDX-License-Identifier: Apache-2.0
// Norms and softmax of rows as one op (optimize/rows.c, ops/rows_norm.c, ops/lanes_narrow.inc) against the
// graph as written, bit for bit: every form, every count of columns around the vectors, few and many rows,
// numbers that are zeros, infinities and NaN; in place, past the cache, with control inputs, and with a part
// of it fetched.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/fused.h"
#include "ops/reduce.h"
#include "ops/typed.h"
#include "sample.h"

static fy_device_set *devices;
static fy_options options;
static uint32_t seed = 1;

static int open_devices(void **state) {
  fy_error err;
  (void)state;
  fy_error_init(&err);
  fy_options_default(&options);
  return fy_devices_open(&options, &devices, &err) != FY_OK;
}
static int close_devices(void **state) {
  (void)state;
  fy_devices_unref(devices);
  return 0;
}

static uint32_t next(void) {
  return seed = seed * 1664525u + 1013904223u, seed >> 8;
}

// Most rows are ordinary; some are of one number, have zeros of both signs, or what nobody expects.
static void fill_row(float *x, int64_t n, bool odd) {
  static const float rare[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, -200.0f, 3e38f, -0.0f};
  const uint32_t kind = odd ? next() % 8 : 7;
  for (int64_t i = 0; i < n; i++) {
    x[i] = (float)((int32_t)(next() % 2000001u) - 1000000) / 300000.0f;
    if (kind == 0) x[i] = -0.0f;
    if (kind == 1) x[i] = next() % 2 ? 0.0f : -0.0f;
    if (kind == 2) x[i] = 1.5f;
    if (kind < 6 && next() % 6 == 0) x[i] = rare[next() % (sizeof rare / sizeof *rare)];
  }
}

static fy_tensor *rows_of(int64_t rows, int64_t n, bool odd) {
  const int64_t dims[2] = {rows, n};
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &t, NULL), FY_OK);
  for (int64_t r = 0; r < rows; r++) fill_row((float *)t->data + r * n, n, odd);
  return t;
}

// ---------------------------------------------------------------- graphs
typedef struct net {
  fy_graph *g;
  fy_node *feed, *x, *axis, *mean, *y;
  int serial;
} net;

static fy_node *op(net *m, const char *type, fy_node *a, fy_node *b) {
  char name[16];
  snprintf(name, sizeof name, "n%d", m->serial++);
  return b ? op2(m->g, type, name, a, b) : op1(m->g, type, name, a);
}

static fy_node *reduce(net *m, const char *type, fy_node *a) {
  const fy_attr keep = {.kind = FY_ATTR_BOOL, .v.b = true};
  char name[16];
  fy_node_builder b;
  snprintf(name, sizeof name, "n%d", m->serial++);
  assert_int_equal(fy_node_begin(m->g, type, name, &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){a, 0});
  fy_node_add_input(&b, (fy_output){m->axis, 0});
  fy_node_set_attr(&b, "keep_dims", &keep);
  return finish(&b);
}

static fy_node *ints(net *m, const char *name, int rank, int32_t v) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_INT32, rank, (const int64_t[]){1}, &v, &t, NULL), FY_OK);
  return constant(m->g, name, t);
}

enum { AFFINE, NEGATED, SCALED, TIMES, OVER = TIMES + 4, L2 = OVER + 4, SOFTMAX, FORMS };

// |twice|: the rows come from another op, so that they may be overwritten.
static void build(net *m, int form, int64_t n, bool twice) {
  static const float eps = 1e-3f;
  *m = (net){.g = fy_graph_new()};
  m->feed = m->x = placeholder(m->g, "x", FY_FLOAT);
  m->axis = ints(m, "axis", 1, -1);
  if (twice) {
    fy_node_builder b;
    assert_int_equal(fy_node_begin(m->g, "ConcatV2", "twice", &b, NULL), FY_OK);
    const fy_output both[2] = {{m->x, 0}, {m->x, 0}};
    fy_node_add_input_list(&b, both, 2);
    fy_node_add_input(&b, (fy_output){ints(m, "first", 0, 0), 0});
    m->x = finish(&b);
  }
  fy_tensor *g = rows_of(1, n, false), *b = rows_of(1, n, false);
  g->rank = b->rank = 1, g->dims[0] = b->dims[0] = n;
  fy_node *gamma = constant(m->g, "gamma", g), *beta = constant(m->g, "beta", b), *x = m->x;
  fy_node *e = constant(m->g, "eps", floats(0, NULL, &eps)), *less, *r, *y;
  if (form == L2) {
    r = op(m, "Rsqrt", op(m, "Maximum", reduce(m, "Sum", op(m, "Square", x, NULL)), e), NULL);
    m->y = op(m, "Mul", x, r);
    return;
  }
  if (form == SOFTMAX) {
    y = op(m, "Exp", op(m, "Sub", x, reduce(m, "Max", x)), NULL);
    m->y = op(m, "RealDiv", y, reduce(m, "Sum", y));
    return;
  }
  m->mean = reduce(m, "Mean", x);
  const bool over = form >= OVER;
  less = form < SCALED ? NULL : op(m, "Sub", x, m->mean);
  y = less ? op(m, "Square", less, NULL) : op(m, "SquaredDifference", x, m->mean);
  y = op(m, "AddV2", reduce(m, "Mean", y), e);
  r = op(m, over ? "Sqrt" : "Rsqrt", y, NULL);
  if (form <= SCALED) {
    r = op(m, "Mul", r, gamma);
    if (form == AFFINE) beta = op(m, "Sub", beta, op(m, "Mul", m->mean, r));
    if (form == NEGATED) beta = op(m, "AddV2", op(m, "Mul", op(m, "Neg", m->mean, NULL), r), beta);
    m->y = op(m, "AddV2", op(m, "Mul", less ? less : x, r), beta);
    return;
  }
  const int extras = form - (over ? OVER : TIMES);
  y = op(m, over ? "RealDiv" : "Mul", less, r);
  if (extras & 1) y = op(m, "Mul", y, gamma);
  if (extras & 2) y = op(m, "AddV2", y, beta);
  m->y = y;
}

static void run(net *m, bool optimise, fy_tensor *x, const fy_output *fetches, int n,
                fy_tensor **out) {
  fy_session *s;
  fy_error err;
  fy_error_init(&err);
  fy_options o = options;
  o.optimize = optimise;
  const fy_output feed = {m->feed, 0};
  const fy_run_args args = {.feeds = &feed,
                            .feed_values = &x,
                            .num_feeds = 1,
                            .fetches = (fy_output *)(uintptr_t)fetches,
                            .num_fetches = n};
  if (fy_session_new(m->g, devices, &o, NULL, &s, &err) || fy_session_run(s, &args, out, &err))
    fail_msg("%s", fy_error_text(&err));
  fy_session_free(s);
}

static void same(const fy_tensor *a, const fy_tensor *b, int form, int64_t n) {
  assert_int_equal(a->count, b->count);
  const float *x = a->data, *y = b->data;
  for (int64_t i = 0; i < a->count; i++) {
    if (fy_float_bits(x[i]) == fy_float_bits(y[i]) || (x[i] != x[i] && y[i] != y[i])) continue;
    fail_msg("form %d, %lld rows of %lld: number %lld of row %lld is %.9g, not %.9g", form,
             (long long)(a->count / n), (long long)n, (long long)(i % n), (long long)(i / n),
             (double)y[i], (double)x[i]);
  }
}

// How many of the ops are left of |m|.
static size_t instructions(net *m, const fy_tensor *x) {
  fy_session *s;
  fy_program *p = NULL;
  fy_error err;
  fy_error_init(&err);
  const fy_output feed = {m->feed, 0}, fetch = {m->y, 0};
  const fy_pshape shape = {x->rank, x->dims};
  const fy_run_args args = {.feeds = &feed, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  if (fy_session_new(m->g, devices, &options, NULL, &s, &err) ||
      fy_session_program(s, &args, &shape, NULL, NULL, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  const size_t n = p->num_instrs;
  fy_program_release(p);
  fy_session_free(s);
  return n;
}

static void check(int form, int64_t rows, int64_t n, bool odd, bool twice) {
  net m;
  fy_tensor *want, *got, *x = rows_of(rows, n, odd);
  build(&m, form, n, twice);
  const fy_output y = {m.y, 0};
  run(&m, false, x, &y, 1, &want);
  run(&m, true, x, &y, 1, &got);
  same(want, got, form, n);
  const bool narrow = fy_lanes_best()->narrow_f32 && n < FY_NARROW;
  if (n > 1 && (narrow || n >= 64 || (n > FY_REDUCE_SHORT && form != SOFTMAX)))
    assert_int_equal(instructions(&m, x), 1 + twice);
  fy_tensor_release(want), fy_tensor_release(got), fy_tensor_release(x);
  fy_graph_free(m.g);
}

// ---------------------------------------------------------------- tests
static void every_width(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 7, 8, 9, 15, 17, 40, 71, 130};
  enum { COUNTS = sizeof counts / sizeof *counts };
  uint64_t number = 0;
  for (int form = 0; form < FORMS; form++)
    for (int64_t n = 1; n <= 40; n++)
      for (int k = 0; k < COUNTS; k++)
        if (sample_takes(number++)) check(form, counts[k], n, (k + n) % 3 != 0, (k + n) % 2);
}

static void long_rows(void **state) {
  (void)state;
  static const int64_t widths[] = {63, 64, 65, 100, 257, 2500};
  for (int form = 0; form < FORMS; form++)
    for (int k = 0; k < 6; k++)
      for (int64_t rows = 1; rows < 20; rows += 9) check(form, rows, widths[k], k % 2, rows % 2);
}

// So many that the result does not stay in a cache, and an end that is no block.
static void many_rows(void **state) {
  (void)state;
  static const int64_t widths[] = {5, 10, 16, 20, 31, 67, 80};
  if (!sample_takes(0)) return;
  for (int k = 0; k < 7; k++) {
    const int64_t rows = (5 << 20) / widths[k] + 3;
    check(AFFINE, rows, widths[k], false, false);
    check(k % 2 ? L2 : SOFTMAX, rows, widths[k], false, false);
  }
}

// What is fetched of it, and what it waits for, is still there.
static void parts(void **state) {
  (void)state;
  for (int64_t n = 3; n < 40; n += 9) {
    net m;
    fy_tensor *want[2], *got[2], *alone, *x = rows_of(21, n, true);
    build(&m, AFFINE, n, false);
    fy_node *other = op(&m, "Neg", m.x, NULL);
    fy_error err;
    fy_error_init(&err);
    assert_int_equal(fy_graph_add_control(m.g, other, m.y, &err), FY_OK);
    const fy_output fetches[2] = {{m.y, 0}, {m.mean, 0}};
    run(&m, false, x, fetches, 2, want);
    run(&m, true, x, fetches, 2, got);
    same(want[0], got[0], AFFINE, n);
    same(want[1], got[1], AFFINE, 1);
    run(&m, true, x, fetches, 1, &alone);
    same(want[0], alone, AFFINE, n);
    for (int i = 0; i < 2; i++) fy_tensor_release(want[i]), fy_tensor_release(got[i]);
    fy_tensor_release(x), fy_tensor_release(alone);
    fy_graph_free(m.g);
  }
}

// A row's softmax does not depend on the rows around it. Rows of all sizes side by side: each gets the bits it gets alone, wherever it stands.
static void row_is_alone(net *m, fy_output y, const fy_tensor *x, const fy_tensor *all, int64_t r,
                         int64_t n) {
  fy_tensor *row = rows_of(1, n, false), *one;
  memcpy(row->data, (float *)x->data + r * n, (size_t)n * sizeof(float));
  run(m, true, row, &y, 1, &one);
  memcpy(row->data, (float *)all->data + r * n, (size_t)n * sizeof(float));
  same(row, one, FORMS, n);
  fy_tensor_release(row), fy_tensor_release(one);
}
static void rows_are_alone(void **state) {
  static const float sizes[] = {1, 30, 0.25f, 8, 90, 2};
  (void)state;
  for (int k = 0; k < 4 * 46; k++) {
    const bool log_of = k % 2, mixed = k / 2 % 2;
    const int64_t n = k < 160 ? k / 4 + 1 : (k / 2 - 70) * 25;
    net m = {.g = fy_graph_new()};
    fy_tensor *x = rows_of(77, n, !mixed), *all;
    if (mixed)
      for (int64_t i = 0; i < 77 * n; i++) ((float *)x->data)[i] *= sizes[i / n % 6];
    m.feed = placeholder(m.g, "x", FY_FLOAT);
    const fy_output y = {op(&m, log_of ? "LogSoftmax" : "Softmax", m.feed, NULL), 0};
    run(&m, true, x, &y, 1, &all);
    for (int64_t r = 0; r < 77; r += 7) row_is_alone(&m, y, x, all, r, n);
    fy_tensor_release(x), fy_tensor_release(all);
    fy_graph_free(m.g);
  }
}

// The only number of a row, and one that dwarfs the others, is 1 to the last bit, whatever is taken off.
static void one_is_one(void **state) {
  (void)state;
  net m = {.g = fy_graph_new()};
  m.feed = placeholder(m.g, "x", FY_FLOAT);
  const fy_output y = {op(&m, "Softmax", m.feed, NULL), 0};
  for (int64_t n = 1; n <= 130; n += n < 20 ? 1 : 11) {
    fy_tensor *x = rows_of(301, n, false), *got;
    float *in = x->data;
    for (int64_t i = 0; i < 301 * n; i++)
      in[i] =
          i % n == n / 2 ? (float)(i / n) / 9 - 8 : (float)(i / n) / 9 - 8 - 24 - (float)(i % 7);
    run(&m, true, x, &y, 1, &got);
    for (int64_t r = 0; r < 301; r++) assert_true(((float *)got->data)[r * n + n / 2] == 1.0f);
    fy_tensor_release(x), fy_tensor_release(got);
  }
  fy_graph_free(m.g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_width), cmocka_unit_test(long_rows),      cmocka_unit_test(many_rows),
      cmocka_unit_test(parts),       cmocka_unit_test(rows_are_alone), cmocka_unit_test(parts),
      cmocka_unit_test(one_is_one),
  };
  return cmocka_run_group_tests(tests, open_devices, close_devices);
}

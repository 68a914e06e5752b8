// SPDX-License-Identifier: Apache-2.0
// support_graph.h: short-hands for tests that build graphs and run sessions below the C API.

#ifndef TESTS_SUPPORT_GRAPH_H
#define TESTS_SUPPORT_GRAPH_H

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "devices/devices.h"
#include "execute/session.h"
#include "graph/graph.h"

static inline fy_attr attr_shape(fy_arena *a, int rank, const int64_t *dims) {
  fy_attr s = {.kind = FY_ATTR_SHAPE};
  s.v.shape.rank = rank;
  s.v.shape.dims = rank > 0 ? fy_arena_memdup(a, dims, (size_t)rank * sizeof *dims) : NULL;
  return s;
}

static inline fy_node *finish(fy_node_builder *b) {
  fy_error err;
  fy_error_init(&err);
  fy_node *n = NULL;
  fy_code code = fy_node_finish(b, &n, &err);
  if (code) fail_msg("%s: %s", fy_code_name(code), fy_error_text(&err));
  return n;
}

static inline fy_node *op_n(fy_graph *g, const char *op, const char *name, const char *device,
                            int n, fy_node *const *in) {
  fy_node_builder b;
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_node_begin(g, op, name, &b, &err), FY_OK);
  for (int i = 0; i < n; i++) fy_node_add_input(&b, (fy_output){in[i], 0});
  if (device) fy_node_set_device(&b, device);
  return finish(&b);
}

static inline fy_node *op1(fy_graph *g, const char *op, const char *name, fy_node *a) {
  return op_n(g, op, name, NULL, 1, &a);
}

static inline fy_node *op2(fy_graph *g, const char *op, const char *name, fy_node *a, fy_node *b) {
  fy_node *in[2] = {a, b};
  return op_n(g, op, name, NULL, 2, in);
}

static inline fy_node *placeholder(fy_graph *g, const char *name, fy_dtype t) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "Placeholder", name, &b, NULL), FY_OK);
  fy_attr a = fy_attr_type(t);
  fy_node_set_attr(&b, "dtype", &a);
  return finish(&b);
}

static inline fy_tensor *floats(int rank, const int64_t *dims, const float *v) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_FLOAT, rank, dims, v, &t, NULL), FY_OK);
  return t;
}

static inline fy_node *constant(fy_graph *g, const char *name, fy_tensor *t) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "Const", name, &b, NULL), FY_OK);
  fy_attr type = fy_attr_type(t->dtype);
  fy_attr value = fy_attr_tensor(&g->arena, t);
  fy_node_set_attr(&b, "dtype", &type);
  fy_node_set_attr(&b, "value", &value);
  fy_tensor_release(t);
  return finish(&b);
}

// Golden strings carry one "|" behind them.
static inline fy_tensor *plain(fy_tensor *t) {
  for (int64_t i = 0; t->dtype == FY_STRING && i < t->count; i++) {
    fy_view v = fy_tensor_string(t, i);
    assert_true(v.n > 0 && v.p[v.n - 1] == '|');
    char *copy = malloc(v.n);
    memcpy(copy, v.p, v.n - 1);
    assert_true(fy_tensor_set_string(t, i, copy, v.n - 1));
    free(copy);
  }
  return t;
}

// |tolerance| is of floats: relative above 1, absolute below.
static inline void same_tensor(const char *where, const char *name, const fy_tensor *want,
                               const fy_tensor *got, double tolerance) {
  char a[128], b[128];
  if (want->dtype != got->dtype || !fy_shape_equal(want->rank, want->dims, got->rank, got->dims))
    fail_msg("%s %s: %s%s where %s%s was expected", where, name, fy_dtype_name(got->dtype),
             fy_shape_text(got->rank, got->dims, a), fy_dtype_name(want->dtype),
             fy_shape_text(want->rank, want->dims, b));
  for (int64_t i = 0; i < want->count; i++) {
    if (want->dtype == FY_STRING) {
      fy_view v = fy_tensor_string(want, i), w = fy_tensor_string(got, i);
      if (v.n != w.n || memcmp(v.p, w.p, v.n) != 0)
        fail_msg("%s %s[%d]: '%.*s' where '%.*s' was expected", where, name, (int)i, (int)w.n, w.p,
                 (int)v.n, v.p);
    } else if (want->dtype == FY_FLOAT || want->dtype == FY_DOUBLE) {
      double x = fy_tensor_double(want, i), y = fy_tensor_double(got, i);
      if (!(fabs(x - y) <= tolerance * fmax(1, fabs(x))) && !(isnan(x) && isnan(y)))
        fail_msg("%s %s[%d]: %.9g where %.9g was expected", where, name, (int)i, y, x);
    } else if (want->dtype == FY_BOOL ? ((bool *)want->data)[i] != ((bool *)got->data)[i]
                                      : fy_tensor_int(want, i) != fy_tensor_int(got, i)) {
      fail_msg("%s %s[%d]: %lld where %lld was expected", where, name, (int)i,
               (long long)fy_tensor_int(got, i), (long long)fy_tensor_int(want, i));
    }
  }
}

typedef struct env {
  fy_options options;
  fy_device_set *devices;
  fy_graph *g;
  fy_session *s;
} env;

static inline void env_open(env *e, const char *config) {
  fy_error err;
  fy_error_init(&err);
  fy_options_default(&e->options);
  if (config && fy_options_text(&e->options, config, &err)) fail_msg("%s", fy_error_text(&err));
  if (fy_devices_open(&e->options, &e->devices, &err)) fail_msg("%s", fy_error_text(&err));
  e->g = fy_graph_new();
  e->s = NULL;
  assert_non_null(e->g);
}

static inline void env_session(env *e) {
  assert_int_equal(fy_session_new(e->g, e->devices, &e->options, NULL, &e->s, NULL), FY_OK);
}

static inline void env_close(env *e) {
  fy_session_free(e->s);
  fy_graph_free(e->g);
  fy_devices_unref(e->devices);
}

static inline fy_code run1(env *e, fy_node *feed, fy_tensor *value, fy_node *fetch, fy_tensor **out,
                           fy_error *err) {
  fy_output f = {feed, 0}, y = {fetch, 0};
  fy_run_args a = {.feeds = &f,
                   .feed_values = &value,
                   .num_feeds = feed ? 1 : 0,
                   .fetches = &y,
                   .num_fetches = 1};
  return fy_session_run(e->s, &a, out, err);
}

#endif

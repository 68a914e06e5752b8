// SPDX-License-Identifier: Apache-2.0
// test_device_opencl_faults.c: whatever call of the OpenCL library fails, a run says which device it
// was or gets along without it, variables are as they were or as they should be, and the session is
// usable afterwards. A device that is lost is replaced by another.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "devices/opencl/opencl.h"
#include "memory/pool.h"

#define ROWS   6
#define CONFIG "opencl_cpu=true; place=tensorflow"

typedef struct net {
  env e;
  fy_device *device;
  fy_node *x, *y, *var, *init, *add, *read;
} net;

static fy_node *handle(fy_graph *g, const char *name) {
  fy_node_builder b;
  const int64_t dims[] = {4};
  assert_int_equal(fy_node_begin(g, "VarHandleOp", name, &b, NULL), FY_OK);
  fy_attr type = fy_attr_type(FY_FLOAT), shape = attr_shape(&g->arena, 1, dims);
  fy_attr shared = {.kind = FY_ATTR_STRING, .v.s = {name, strlen(name)}};
  fy_node_set_attr(&b, "dtype", &type);
  fy_node_set_attr(&b, "shape", &shape);
  fy_node_set_attr(&b, "shared_name", &shared);
  return finish(&b);
}

static fy_node *on_variable(fy_graph *g, const char *op, const char *name, fy_node *v,
                            fy_node *value) {
  fy_node_builder b;
  fy_attr type = fy_attr_type(FY_FLOAT);
  assert_int_equal(fy_node_begin(g, op, name, &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){v, 0});
  if (value) fy_node_add_input(&b, (fy_output){value, 0});
  fy_node_set_attr(&b, "dtype", &type);
  return finish(&b);
}

// softmax(relu(x w + b)), and a variable that a step adds to.
static bool open_net(net *n, const char *config) {
  env_open(&n->e, config);
  n->device = NULL;
  for (int i = 0; i < n->e.devices->n; i++)
    if (fy_opencl_is(n->e.devices->items[i])) n->device = n->e.devices->items[i];
  if (!n->device) {
    env_close(&n->e);
    return false;
  }
  fy_graph *g = n->e.g;
  float w[20], b[4] = {0.5f, -1, 2, 0}, one[4] = {1, 2, 3, 4};
  for (int i = 0; i < 20; i++) w[i] = (float)(i % 7) * 0.25f - 0.5f;
  const int64_t wd[] = {5, 4}, bd[] = {4};
  n->x = placeholder(g, "x", FY_FLOAT);
  fy_node *product = op2(g, "MatMul", "product", n->x, constant(g, "w", floats(2, wd, w)));
  fy_node *sum = op2(g, "AddV2", "sum", product, constant(g, "b", floats(1, bd, b)));
  n->y = op1(g, "Softmax", "y", op1(g, "Relu", "relu", sum));
  fy_node *step = constant(g, "step", floats(1, bd, one));
  n->var = handle(g, "v");
  n->init = on_variable(g, "AssignVariableOp", "init", n->var, step);
  n->add = on_variable(g, "AssignAddVariableOp", "add", n->var, step);
  n->read = on_variable(g, "ReadVariableOp", "read", n->var, NULL);
  env_session(&n->e);
  return true;
}

static fy_tensor *input(void) {
  float x[ROWS * 5];
  const int64_t dims[] = {ROWS, 5};
  for (int i = 0; i < ROWS * 5; i++) x[i] = (float)(i % 11) * 0.125f - 0.5f;
  return floats(2, dims, x);
}

static fy_code run_y(net *n, fy_tensor **out, fy_error *err) {
  fy_tensor *x = input();
  fy_output feed = {n->x, 0}, fetch = {n->y, 0};
  fy_run_args a = {
      .feeds = &feed, .feed_values = &x, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  *out = NULL;
  fy_code code = fy_session_run(n->e.s, &a, out, err);
  fy_tensor_release(x);
  return code;
}

static fy_code run_target(net *n, fy_node *target, fy_error *err) {
  fy_run_args a = {.targets = &target, .num_targets = 1};
  return fy_session_run(n->e.s, &a, NULL, err);
}

static fy_code read_var(net *n, fy_tensor **out, fy_error *err) {
  fy_output fetch = {n->read, 0};
  fy_run_args a = {.fetches = &fetch, .num_fetches = 1};
  *out = NULL;
  return fy_session_run(n->e.s, &a, out, err);
}

static float expected[ROWS * 4];

static void check_y(const fy_tensor *t, const char *when) {
  assert_non_null(t);
  for (int i = 0; i < ROWS * 4; i++) {
    double got = fy_tensor_double(t, i);
    if (!(fabs(got - (double)expected[i]) < 1e-6))
      fail_msg("%s: element %d is %.9g instead of %.9g", when, i, got, (double)expected[i]);
  }
}

// An error names the device or says what memory it lacked.
static void check_error(fy_code code, const fy_error *err, const char *when) {
  const char *text = fy_error_text(err);
  if (!strstr(text, "GPU:0")) fail_msg("%s: code %d does not say where: %s", when, code, text);
}

#define OPEN(n)                                          \
  static net n;                                          \
  if (!open_net(&n, CONFIG)) {                           \
    print_message("no OpenCL device on this machine\n"); \
    skip();                                              \
  }

static void know_expected(void **state) {
  (void)state;
  OPEN(n)
  fy_error err;
  fy_tensor *y;
  fy_error_init(&err);
  if (run_y(&n, &y, &err)) fail_msg("%s", fy_error_text(&err));
  for (int i = 0; i < ROWS * 4; i++) expected[i] = (float)fy_tensor_double(y, i);
  fy_tensor_release(y);
  fy_opencl_stats s;
  fy_opencl_stats_get(n.device, &s);
  assert_true(s.launches > 0);  // it ran there
  env_close(&n.e);
}

static const int codes[] = {-4, -5, -6, -11, -14, -54};  // memory, resources, build, events, sizes

// The first run of a session: context, queues, memory, programs, copies.
static void first_run(void **state) {
  (void)state;
  int failed = 0, nth = 1;
  for (bool more = true; more; nth++) {
    OPEN(n)
    fy_error err;
    fy_tensor *y;
    char when[64];
    fy_error_init(&err);
    fy_opencl_fail_call(nth, codes[nth % 6], false);
    fy_code code = run_y(&n, &y, &err);
    more = fy_opencl_calls() >= nth;
    fy_opencl_fail_call(0, 0, false);
    snprintf(when, sizeof when, "call %d of a first run", nth);
    if (code)
      check_error(code, &err, when);
    else
      check_y(y, when);
    failed += code != FY_OK;
    fy_tensor_release(y);
    fy_error_clear(&err);
    if (run_y(&n, &y, &err)) fail_msg("%s: not usable afterwards: %s", when, fy_error_text(&err));
    check_y(y, when);
    fy_tensor_release(y);
    env_close(&n.e);
  }
  print_message("%d calls failed one by one, %d runs said so\n", nth - 2, failed);
  assert_true(failed > 10);
}

// Later runs of one session, with everything compiled, and a variable that changes.
static void later_runs(void **state) {
  (void)state;
  OPEN(n)
  fy_error err;
  fy_tensor *y = NULL;
  float held[4] = {1, 2, 3, 4};
  int failed = 0;
  fy_error_init(&err);
  if (run_target(&n, n.init, &err) || run_target(&n, n.add, &err) || run_y(&n, &y, &err))
    fail_msg("%s", fy_error_text(&err));
  fy_tensor_release(y);
  for (int i = 0; i < 4; i++) held[i] *= 2;
  for (int what = 0; what < 3; what++) {  // the network, the step, reading
    for (int nth = 1, more = 1; more; nth++) {
      char when[64];
      snprintf(when, sizeof when, "call %d of run %d", nth, what);
      y = NULL;
      fy_opencl_fail_call(nth, codes[nth % 6], false);
      fy_code code = what == 0   ? run_y(&n, &y, &err)
                     : what == 1 ? run_target(&n, n.add, &err)
                                 : read_var(&n, &y, &err);
      more = fy_opencl_calls() >= nth;
      fy_opencl_fail_call(0, 0, false);
      if (code) check_error(code, &err, when);
      failed += code != FY_OK;
      if (!code && what == 0) check_y(y, when);
      fy_tensor_release(y);
      fy_error_clear(&err);
      // Either the step was made or it was not, for all elements.
      if (read_var(&n, &y, &err)) fail_msg("%s: %s", when, fy_error_text(&err));
      bool stepped = fy_tensor_double(y, 0) > (double)held[0];
      if (!code && what == 1) assert_true(stepped);
      for (int i = 0; i < 4; i++) {
        if (stepped && what == 1) held[i] += (float)(i + 1);
        if (fy_tensor_double(y, i) != (double)held[i])
          fail_msg("%s: the variable has %g instead of %g", when, fy_tensor_double(y, i),
                   (double)held[i]);
      }
      fy_tensor_release(y);
      if (run_y(&n, &y, &err)) fail_msg("%s: not usable: %s", when, fy_error_text(&err));
      check_y(y, when);
      fy_tensor_release(y);
    }
  }
  print_message("%d runs said that a call failed\n", failed);
  assert_true(failed > 5);
  env_close(&n.e);
}

// Our own three kinds, as on the simulator.
static void injected(void **state) {
  (void)state;
  static const fy_fault kinds[] = {FY_FAULT_DEVICE_ALLOC, FY_FAULT_LAUNCH, FY_FAULT_COPY};
  for (size_t k = 0; k < 3; k++) {
    for (int nth = 1, more = 1; more; nth++) {
      OPEN(n)
      fy_error err;
      fy_tensor *y;
      char when[64];
      fy_error_init(&err);
      snprintf(when, sizeof when, "fault %zu, number %d", k, nth);
      fy_fault_arm(kinds[k], nth, true);
      fy_code code = run_y(&n, &y, &err);
      more = fy_fault_hits(kinds[k]) >= nth;
      fy_fault_disarm(kinds[k]);
      if (code)
        check_error(code, &err, when);
      else
        check_y(y, when);
      if (kinds[k] == FY_FAULT_LAUNCH && code && !strstr(fy_error_text(&err), "node"))
        fail_msg("%s: no node named: %s", when, fy_error_text(&err));
      fy_tensor_release(y);
      fy_error_clear(&err);
      if (run_y(&n, &y, &err)) fail_msg("%s: not usable: %s", when, fy_error_text(&err));
      check_y(y, when);
      fy_tensor_release(y);
      env_close(&n.e);
    }
  }
}

// Lost for good at the Nth call: the run is done again elsewhere, as are all later ones.
static void lost(void **state) {
  (void)state;
  for (int nth = 1, more = 1; more; nth += 3) {
    OPEN(n)
    fy_error err;
    fy_tensor *y;
    fy_error_init(&err);
    fy_opencl_fail_call(nth, nth % 2 ? -2 : -36, true);
    fy_code code = run_y(&n, &y, &err);
    more = fy_opencl_calls() >= nth;
    if (code) fail_msg("lost at call %d: %s", nth, fy_error_text(&err));
    check_y(y, "after the loss");
    fy_tensor_release(y);
    if (more) assert_int_equal(__atomic_load_n(&n.device->lost, __ATOMIC_RELAXED), 1);
    if (run_y(&n, &y, &err)) fail_msg("later: %s", fy_error_text(&err));
    check_y(y, "later");
    fy_tensor_release(y);
    fy_opencl_fail_call(0, 0, false);
    env_close(&n.e);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(know_expected), cmocka_unit_test(first_run), cmocka_unit_test(later_runs),
      cmocka_unit_test(injected),      cmocka_unit_test(lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

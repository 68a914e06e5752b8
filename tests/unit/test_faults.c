// SPDX-License-Identifier: Apache-2.0
// Every allocation, launch and copy fails once, at every point: the answer is a status, nothing leaks
// (run under ASan or valgrind), and the session works again afterwards.

#include "support_graph.h"

#include "base/alloc.h"

#define MAX_POINTS 20000

// A graph with constants, a device, a fused chain, a dynamic shape and a variable-free branch.
static void build(env *e, const char *config, fy_node **x, fy_node **y) {
  env_open(e, config);
  *x = placeholder(e->g, "x", FY_FLOAT);
  fy_node *w = constant(e->g, "w", floats(2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4}));
  fy_node *in[2] = {*x, w};
  fy_node *m = op_n(e->g, "MatMul", "m", strstr(config, "sim") ? "/device:GPU:0" : NULL, 2, in);
  fy_node *r = op1(e->g, "Relu", "r", m);
  fy_node *t = op1(e->g, "Tanh", "t", r);
  fy_node *s = op2(e->g, "AddV2", "s", t, r);
  *y = op1(e->g, "Identity", "y", s);
  env_session(e);
}

static void fail_at_every_point(const char *config, fy_fault kind) {
  fy_tensor *v = floats(2, (int64_t[]){2, 2}, (float[]){1, -2, 3, -4});
  env plain;
  fy_node *x, *y;
  build(&plain, config, &x, &y);
  fy_tensor *want = NULL;
  assert_int_equal(run1(&plain, x, v, y, &want, NULL), FY_OK);
  env_close(&plain);
  bool failed_once = false;
  for (int64_t n = 1; n < MAX_POINTS; n++) {
    env e;
    build(&e, config, &x, &y);
    fy_error err;
    fy_error_init(&err);
    fy_tensor *out = NULL;
    // A pool asks its device again for less: only a lasting shortage reaches the run.
    fy_fault_arm(kind, n, kind == FY_FAULT_DEVICE_ALLOC);
    fy_code code = run1(&e, x, v, y, &out, &err);
    int64_t seen = fy_fault_hits(kind);
    fy_fault_disarm(kind);
    if (code) {
      failed_once = true;
      assert_null(out);
      fy_error_clear(&err);
      fy_code again = run1(&e, x, v, y, &out, &err);  // the session is usable
      if (again) fail_msg("after a fault at %lld: %s", (long long)n, fy_error_text(&err));
    }
    assert_true(fy_tensor_equal(out, want));
    fy_tensor_release(out);
    fy_error_clear(&err);
    env_close(&e);
    if (seen < n) break;  // every point was tried
    assert_true(n + 1 < MAX_POINTS);
  }
  assert_true(failed_once);
  fy_tensor_release(want);
  fy_tensor_release(v);
}

static void host_allocations(void **state) {
  (void)state;
  fail_at_every_point("", FY_FAULT_ALLOC);
}
static void host_allocations_with_a_device(void **state) {
  (void)state;
  fail_at_every_point("sim=gpu:1,memory=64MiB", FY_FAULT_ALLOC);
}
static void device_allocations(void **state) {
  (void)state;
  fail_at_every_point("sim=gpu:1,memory=64MiB", FY_FAULT_DEVICE_ALLOC);
}
static void launches(void **state) {
  (void)state;
  fail_at_every_point("sim=gpu:1,memory=64MiB", FY_FAULT_LAUNCH);
}
static void copies(void **state) {
  (void)state;
  fail_at_every_point("sim=gpu:1,memory=64MiB", FY_FAULT_COPY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_allocations), cmocka_unit_test(host_allocations_with_a_device),
      cmocka_unit_test(device_allocations), cmocka_unit_test(launches), cmocka_unit_test(copies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Placement: names, TensorFlow's rules, soft and hard requests, cost, memory, contention; a reason for
// every node.

#include "support_graph.h"

#include "place/device_name.h"

static void names_parse_and_print(void **state) {
  (void)state;
  static const struct {
    const char *in, *out;  // out NULL: does not parse
  } cases[] = {{"", ""},
               {"/", ""},
               {"/job:a/replica:1/task:2/device:GPU:3", "/job:a/replica:1/task:2/device:GPU:3"},
               {"/cpu:0", "/device:CPU:0"},
               {"/GPU:1", "/device:GPU:1"},
               {"/gpu:*", "/device:GPU:*"},
               {"/device:GPU", "/device:GPU:*"},
               {"/device:cpu:0", "/device:cpu:0"},
               {"/device:*", ""},
               {"/job:*/task:1", "/task:1"},
               {"/task:1/job:w/task:2", "/job:w/task:2"},
               {"/job:1a", NULL},
               {"CPU:0", NULL},
               {"/foo:0", NULL},
               {"/job:", NULL},
               {"/device:GPU:x", NULL},
               {"/device:GPU:-1", NULL},
               {"/replica:99999999999", NULL},
               {"//", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fy_devname d;
    bool ok = fy_devname_parse(cases[i].in, &d);
    if (ok != (cases[i].out != NULL)) fail_msg("'%s' parses: %d", cases[i].in, ok);
    if (!ok) continue;
    fy_str s;
    fy_str_init(&s);
    fy_devname_print(&s, &d);
    assert_string_equal(fy_str_text(&s), cases[i].out);
    fy_str_free(&s);
  }
}

static void names_merge(void **state) {
  (void)state;
  fy_devname a, b;
  fy_error err;
  fy_error_init(&err);
  assert_true(fy_devname_parse("/job:w/device:GPU:0", &a) &&
              fy_devname_parse("/task:1/device:GPU:1", &b));
  fy_devname hard = a, soft = a;
  assert_int_equal(fy_devname_merge(&hard, &b, false, &err), FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err),
                      "Cannot merge devices with incompatible ids: '/job:w/task:1/device:GPU:0' "
                      "and '/task:1/device:GPU:1'");
  fy_error_clear(&err);
  assert_int_equal(fy_devname_merge(&soft, &b, true, &err), FY_OK);
  assert_true(soft.has_type && !soft.has_id && soft.task == 1);
  fy_devname_merge_override(&a, &b);
  assert_int_equal(a.id, 1);
  fy_str s;
  fy_str_init(&s);
  assert_true(fy_devname_canonical("gpu:1", "/job:localhost/replica:0/task:0/device:CPU:0", &s));
  assert_string_equal(fy_str_text(&s), "/job:localhost/replica:0/task:0/device:GPU:1");
  fy_str_free(&s);
}

// Compiles up to placement and gives the entry of the named node.
static fy_program *placed(env *e, fy_node *fetch, const fy_pshape *shapes, fy_output *feeds,
                          int n) {
  fy_output y = {fetch, 0};
  fy_run_args a = {.feeds = feeds, .num_feeds = n, .fetches = &y, .num_fetches = 1};
  fy_program *p = NULL;
  fy_error err;
  fy_error_init(&err);
  if (fy_session_program(e->s, &a, shapes, NULL, NULL, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  for (size_t i = 0; i < p->graph->num_nodes; i++)
    if (p->graph->nodes[i]) {
      assert_non_null(p->placement->nodes[i].device);
      assert_non_null(p->placement->nodes[i].text);
      assert_true(strlen(p->placement->nodes[i].text) > 0);
    }
  return p;
}

static const fy_placed *entry(const fy_program *p, const char *name) {
  fy_node *n = fy_graph_find(p->graph, name);
  if (!n) fail_msg("no node '%s' after optimisation", name);
  return &p->placement->nodes[n->id];
}

static bool on(const fy_placed *e, const char *suffix) {
  size_t n = strlen(e->device->name), k = strlen(suffix);
  return n >= k && strcmp(e->device->name + n - k, suffix) == 0;
}

#define NO_PASSES "; optimize=off"

static void tensorflow_mode_prefers_the_gpu(void **state) {
  (void)state;
  env e;
  env_open(&e, "sim=gpu:2; place=tensorflow" NO_PASSES);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *c = constant(e.g, "c", floats(0, NULL, (float[]){2}));
  fy_node *y = op2(e.g, "AddV2", "y", x, c);
  fy_node *s = op1(e.g, "Shape", "s", y);
  env_session(&e);
  fy_output f = {x, 0};
  fy_program *p = placed(&e, s, NULL, &f, 1);
  assert_true(on(entry(p, "y"), "GPU:0"));
  assert_int_equal(entry(p, "y")->why, FY_WHY_PRIORITY);
  assert_true(on(entry(p, "s"), "GPU:0"));
  assert_int_equal(entry(p, "s")->why, FY_WHY_METADATA);
  fy_program_release(p);
  env_close(&e);
}

static void small_work_stays_large_work_moves(void **state) {
  (void)state;
  env e;
  env_open(&e, "sim=gpu:1" NO_PASSES);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *m = op2(e.g, "MatMul", "m", x, x);
  fy_node *m2 = op2(e.g, "MatMul", "m2", m, m);
  env_session(&e);
  fy_output f = {x, 0};
  fy_program *p = placed(&e, m2, &(fy_pshape){2, (int64_t[]){4, 4}}, &f, 1);
  assert_true(on(entry(p, "m"), "CPU:0"));
  assert_int_equal(entry(p, "m")->why, FY_WHY_CHEAPER);
  fy_program_release(p);
  p = placed(&e, m2, &(fy_pshape){2, (int64_t[]){2048, 2048}}, &f, 1);
  assert_true(on(entry(p, "m"), "GPU:0"));
  assert_true(on(entry(p, "m2"), "GPU:0"));
  assert_int_equal(entry(p, "m2")->why, FY_WHY_CHEAPER);
  fy_program_release(p);
  env_close(&e);
}

static void a_busy_device_costs_more(void **state) {
  (void)state;
  env e;
  env_open(&e, "sim=gpu:1,busy=0.99" NO_PASSES);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *m = op2(e.g, "MatMul", "m", x, x);
  env_session(&e);
  fy_output f = {x, 0};
  fy_program *p = placed(&e, m, &(fy_pshape){2, (int64_t[]){256, 256}}, &f, 1);
  assert_true(on(entry(p, "m"), "CPU:0"));
  fy_program_release(p);
  env_close(&e);
}

static void what_does_not_fit_is_moved(void **state) {
  (void)state;
  env e;
  env_open(&e, "sim=gpu:1,memory=24MiB" NO_PASSES);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *m = op2(e.g, "MatMul", "m", x, x);
  env_session(&e);
  fy_output f = {x, 0};
  // 3 matrices of 16 MiB do not fit 24 MiB.
  fy_program *p = placed(&e, m, &(fy_pshape){2, (int64_t[]){2048, 2048}}, &f, 1);
  assert_true(on(entry(p, "m"), "CPU:0"));
  assert_int_equal(entry(p, "m")->why, FY_WHY_MEMORY);
  fy_program_release(p);
  env_close(&e);
}

static void a_missing_dtype_is_named(void **state) {
  (void)state;
  env e;
  env_open(&e, "sim=gpu:1,lack=float64; place=tensorflow" NO_PASSES);
  fy_node *x = placeholder(e.g, "x", FY_DOUBLE);
  fy_node *m = op2(e.g, "MatMul", "m", x, x);
  env_session(&e);
  fy_output f = {x, 0};
  fy_program *p = placed(&e, m, NULL, &f, 1);
  assert_true(on(entry(p, "m"), "CPU:0"));
  assert_int_equal(entry(p, "m")->why, FY_WHY_DEVICE_REFUSES);
  assert_non_null(strstr(entry(p, "m")->text, "float64"));
  fy_program_release(p);
  env_close(&e);
}

static void hard_request_fails_soft_falls_back(void **state) {
  (void)state;
  for (int soft = 0; soft < 2; soft++) {
    env e;
    env_open(&e, soft ? "soft_placement=true" NO_PASSES : &NO_PASSES[2]);
    fy_node *x = placeholder(e.g, "x", FY_FLOAT);
    fy_node *y = op_n(e.g, "Neg", "y", "/device:GPU:0", 1, &x);
    env_session(&e);
    fy_output f = {x, 0}, out = {y, 0};
    fy_run_args a = {.feeds = &f, .num_feeds = 1, .fetches = &out, .num_fetches = 1};
    fy_program *p = NULL;
    fy_error err;
    fy_error_init(&err);
    fy_code code = fy_session_program(e.s, &a, NULL, NULL, NULL, &p, &err);
    if (soft) {
      assert_int_equal(code, FY_OK);
      assert_int_equal(entry(p, "y")->why, FY_WHY_SOFT);
      assert_string_equal(entry(p, "y")->wanted, "/device:GPU:0");
      assert_int_equal(p->placement->num_fallbacks, 1);
      fy_program_release(p);
    } else {
      assert_int_equal(code, FY_INVALID_ARGUMENT);
      assert_non_null(strstr(
          fy_error_text(&err),
          "{{node y}} was explicitly assigned to /device:GPU:0 but available devices are [ "));
    }
    fy_error_clear(&err);
    env_close(&e);
  }
}

// The read is asked to be on CPU:1, its variable is on CPU:0: the variable wins (SEMANTICS §12.4).
static void readers_follow_their_variable(void **state) {
  (void)state;
  env e;
  env_open(&e, "cpu_devices=2" NO_PASSES);
  fy_node_builder b;
  assert_int_equal(fy_node_begin(e.g, "VarHandleOp", "v", &b, NULL), FY_OK);
  fy_attr t = fy_attr_type(FY_FLOAT), s = attr_shape(&e.g->arena, 0, NULL);
  fy_node_set_attr(&b, "dtype", &t);
  fy_node_set_attr(&b, "shape", &s);
  fy_node_set_device(&b, "/device:CPU:0");
  fy_node *v = finish(&b);
  assert_int_equal(fy_node_begin(e.g, "ReadVariableOp", "r", &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){v, 0});
  fy_node_set_attr(&b, "dtype", &t);
  fy_node_set_device(&b, "/device:CPU:1");
  fy_node *r = finish(&b);
  env_session(&e);
  fy_program *p = placed(&e, r, NULL, NULL, 0);
  assert_true(on(entry(p, "r"), "CPU:0"));
  assert_int_equal(entry(p, "r")->why, FY_WHY_RESOURCE);
  fy_program_release(p);
  env_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_parse_and_print),
      cmocka_unit_test(names_merge),
      cmocka_unit_test(tensorflow_mode_prefers_the_gpu),
      cmocka_unit_test(small_work_stays_large_work_moves),
      cmocka_unit_test(a_busy_device_costs_more),
      cmocka_unit_test(what_does_not_fit_is_moved),
      cmocka_unit_test(a_missing_dtype_is_named),
      cmocka_unit_test(hard_request_fails_soft_falls_back),
      cmocka_unit_test(readers_follow_their_variable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

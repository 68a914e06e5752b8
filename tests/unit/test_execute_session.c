// SPDX-License-Identifier: Apache-2.0
// Sessions below the C API: values, shapes that change, reuse of programs, devices, threads.

#include "support_graph.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/pool.h"

static void adds(void **state) {
  (void)state;
  env e;
  env_open(&e, NULL);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *c = constant(e.g, "c", floats(0, NULL, (float[]){2}));
  fy_node *y = op2(e.g, "AddV2", "y", x, c);
  fy_node *z = op2(e.g, "Mul", "z", y, y);
  env_session(&e);
  for (int64_t n = 1; n < 5; n++) {
    float v[5] = {1, 2, 3, 4, 5};
    fy_tensor *in = floats(1, &n, v), *out = NULL;
    fy_error err;
    fy_error_init(&err);
    for (int again = 0; again < 3; again++) {
      fy_code code = run1(&e, x, in, z, &out, &err);
      if (code) fail_msg("%s", fy_error_text(&err));
      assert_int_equal(out->count, n);
      for (int64_t i = 0; i < n; i++)
        assert_true(((float *)out->data)[i] == (v[i] + 2) * (v[i] + 2));
      fy_tensor_release(out);
    }
    fy_tensor_release(in);
  }
  env_close(&e);
}

static void fetches_feeds_and_constants(void **state) {
  (void)state;
  env e;
  env_open(&e, NULL);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *c = constant(e.g, "c", floats(0, NULL, (float[]){2}));
  fy_node *i1 = op1(e.g, "Identity", "i1", x);
  fy_node *n1 = op1(e.g, "Neg", "n1", x);
  fy_node *i2 = op1(e.g, "Identity", "i2", n1);
  env_session(&e);
  fy_tensor *in = floats(0, NULL, (float[]){7}), *out[5] = {0};
  fy_output feeds[1] = {{x, 0}};
  fy_output fetches[5] = {{c, 0}, {i1, 0}, {n1, 0}, {i2, 0}, {n1, 0}};
  fy_run_args a = {
      .feeds = feeds, .feed_values = &in, .num_feeds = 1, .fetches = fetches, .num_fetches = 5};
  fy_error err;
  fy_error_init(&err);
  if (fy_session_run(e.s, &a, out, &err)) fail_msg("%s", fy_error_text(&err));
  const float want[5] = {2, 7, -7, -7, -7};
  for (int i = 0; i < 5; i++) {
    assert_true(*(float *)out[i]->data == want[i]);
    fy_tensor_release(out[i]);
  }
  fy_tensor_release(in);
  env_close(&e);
}

static void errors_name_the_node(void **state) {
  (void)state;
  env e;
  env_open(&e, NULL);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *y = placeholder(e.g, "y", FY_FLOAT);
  fy_node *sum = op2(e.g, "AddV2", "sum", x, y);
  env_session(&e);
  fy_tensor *a = floats(1, (int64_t[]){2}, (float[]){1, 2}),
            *b = floats(1, (int64_t[]){3}, (float[]){1, 2, 3});
  fy_tensor *in[2] = {a, b}, *out = NULL;
  fy_output feeds[2] = {{x, 0}, {y, 0}}, fetch = {sum, 0};
  fy_run_args args = {
      .feeds = feeds, .feed_values = in, .num_feeds = 2, .fetches = &fetch, .num_fetches = 1};
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_session_run(e.s, &args, &out, &err), FY_INVALID_ARGUMENT);
  assert_non_null(strstr(fy_error_text(&err), "sum"));
  assert_non_null(strstr(fy_error_text(&err), "[2] vs. [3]"));
  fy_error_clear(&err);
  in[1] = a;
  assert_int_equal(fy_session_run(e.s, &args, &out, &err), FY_OK);  // usable again
  fy_tensor_release(out);
  fy_tensor_release(a);
  fy_tensor_release(b);
  env_close(&e);
}

// x on the host, matmul chain on the simulated GPU by request, result back.
// A node that hands its input on is left out of a program only if it does nothing else.
static void a_check_is_run(void **state) {
  (void)state;
  for (int constant_input = 0; constant_input < 2; constant_input++) {
    env e;
    env_open(&e, NULL);
    fy_node *x = placeholder(e.g, "x", FY_FLOAT);
    fy_node *from = constant_input
                        ? constant(e.g, "c", floats(1, (int64_t[]){1}, (float[]){INFINITY}))
                        : op1(e.g, "Reciprocal", "inverse", x);
    fy_node_builder b;
    assert_int_equal(fy_node_begin(e.g, "CheckNumericsV2", "check", &b, NULL), FY_OK);
    fy_node_add_input(&b, (fy_output){from, 0});
    fy_attr message = {.kind = FY_ATTR_STRING, .v.s = {"mine", 4}};
    fy_node_set_attr(&b, "message", &message);
    fy_node *y = op2(e.g, "MatMul", "y", x, op1(e.g, "Diag", "d", finish(&b)));
    env_session(&e);
    fy_tensor *in = floats(2, (int64_t[]){1, 1}, (float[]){0}), *out = NULL;
    if (!constant_input) {
      fy_tensor_release(in);
      in = floats(1, (int64_t[]){1}, (float[]){0});
    }
    fy_error err;
    fy_error_init(&err);
    assert_int_equal(run1(&e, x, in, y, &out, &err), FY_INVALID_ARGUMENT);
    assert_non_null(strstr(fy_error_text(&err), "mine : Tensor had +Inf values"));
    fy_error_clear(&err);
    fy_tensor_release(in);
    env_close(&e);
  }
}

static void crosses_to_a_device_once(void **state) {
  (void)state;
  env e;
  env_open(&e, "sim=gpu:1,memory=64MiB; passes=-fuse");
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *a = op_n(e.g, "Neg", "a", "/device:GPU:0", 1, &x);
  fy_node *b = op_n(e.g, "Square", "b", "/device:GPU:0", 1, &x);
  fy_node *in[2] = {a, b};
  fy_node *c = op_n(e.g, "AddV2", "c", "/device:GPU:0", 2, in);
  fy_node *d = op_n(e.g, "Neg", "d", "/device:CPU:0", 1, &c);
  env_session(&e);
  fy_tensor *v = floats(1, (int64_t[]){4}, (float[]){1, 2, 3, 4}), *out;
  fy_error err;
  fy_error_init(&err);
  for (int i = 0; i < 3; i++) {
    if (run1(&e, x, v, d, &out, &err)) fail_msg("%s", fy_error_text(&err));
    for (int k = 0; k < 4; k++)
      assert_true(((float *)out->data)[k] == (float)(k + 1) - (float)((k + 1) * (k + 1)));
    fy_tensor_release(out);
  }
  fy_output f = {x, 0}, y = {d, 0};
  fy_run_args args = {.feeds = &f, .num_feeds = 1, .fetches = &y, .num_fetches = 1};
  fy_program *p;
  if (fy_session_program(e.s, &args, NULL, NULL, NULL, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  assert_int_equal(p->parts->num_transfers,
                   2);  // x goes over once for its two readers; c comes back
  fy_program_release(p);
  fy_tensor_release(v);
  env_close(&e);
}

typedef struct thread_job {
  env *e;
  fy_node *x, *z;
  int bad;
} thread_job;

static void *hammer(void *arg) {
  thread_job *j = arg;
  for (int i = 0; i < 300; i++) {
    int64_t n = 1 + i % 3;
    fy_tensor *in = floats(1, &n, (float[]){1, 2, 3}), *out = NULL;
    if (run1(j->e, j->x, in, j->z, &out, NULL) || out->count != n || *(float *)out->data != 9)
      j->bad++;
    fy_tensor_release(out);
    fy_tensor_release(in);
  }
  return NULL;
}

static void many_threads_on_one_session(void **state) {
  (void)state;
  env e;
  env_open(&e, NULL);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *c = constant(e.g, "c", floats(0, NULL, (float[]){2}));
  fy_node *y = op2(e.g, "AddV2", "y", x, c);
  fy_node *z = op2(e.g, "Mul", "z", y, y);
  env_session(&e);
  thread_job jobs[4];
  fy_thread t[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (thread_job){&e, x, z, 0};
    assert_true(fy_thread_start(&t[i], hammer, &jobs[i], "hammer"));
  }
  for (int i = 0; i < 4; i++) fy_thread_join(t[i]);
  for (int i = 0; i < 4; i++) assert_int_equal(jobs[i].bad, 0);
  env_close(&e);
}

// Two independent branches of many small products, none of which is worth several threads by itself:
// enough work in all to be split into tasks; results must not change.
static void branches_run_in_parallel(void **state) {
  (void)state;
  env e;
  env_open(&e, "intra_threads=2; inter_threads=2");
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *l = x, *r = x;
  char name[16];
  for (int i = 0; i < 48; i++) {
    snprintf(name, sizeof name, "l%d", i);
    l = op2(e.g, "MatMul", name, l, x);
    snprintf(name, sizeof name, "r%d", i);
    r = op2(e.g, "MatMul", name, x, r);
  }
  fy_node *d = op2(e.g, "Sub", "d", l, r);
  env_session(&e);
  int64_t dims[2] = {64, 64};
  fy_tensor *v;
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &v, NULL), FY_OK);
  for (int64_t i = 0; i < v->count; i++) ((float *)v->data)[i] = (float)(i % 5) / 128;
  fy_output f = {x, 0}, y = {d, 0};
  fy_run_args args = {
      .feeds = &f, .feed_values = &v, .num_feeds = 1, .fetches = &y, .num_fetches = 1};
  fy_program *p;
  fy_pshape shape = {2, dims};
  assert_int_equal(fy_session_program(e.s, &args, &shape, NULL, NULL, &p, NULL), FY_OK);
  assert_true(p->num_tasks > 1);
  fy_program_release(p);
  fy_tensor *first = NULL;
  for (int i = 0; i < 4; i++) {
    fy_tensor *out = NULL;
    assert_int_equal(fy_session_run(e.s, &args, &out, NULL), FY_OK);
    if (first) assert_true(fy_tensor_equal(first, out));
    if (first)
      fy_tensor_release(out);
    else
      first = out;
  }
  fy_tensor_release(first);
  fy_tensor_release(v);
  env_close(&e);
}

// A kernel that says which CPU it ran on.
static fy_code which_cpu(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(float *)out->data = (float)sched_getcpu();
  return FY_OK;
}

// The caller stays on CPU 0: what runs on CPU 1 was sent there.
static void stay_on_cpu_0(cpu_set_t *before) {
  cpu_set_t zero;
  assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
  CPU_ZERO(&zero);
  CPU_SET(0, &zero);
  assert_int_equal(sched_setaffinity(0, sizeof zero, &zero), 0);
}

static void dedicated_cores_do_their_devices_work(void **state) {
  (void)state;
  cpu_set_t before;
  if (fy_cpu_count() < 2) skip();
  // One node alone, and one followed by a node of another device.
  for (int alone = 0; alone < 2; alone++) {
    env e;
    env_open(&e, "cpu_devices=2; cores=CPU:1:1; optimize=off");
    stay_on_cpu_0(&before);
    fy_node *x = placeholder(e.g, "x", FY_FLOAT);
    fy_node *here = op_n(e.g, "Neg", "here", "/device:CPU:1", 1, &x);
    fy_op_impl impl = *here->op->impl;
    impl.compute = which_cpu;
    impl.prepare = NULL;
    impl.release = NULL;
    fy_op op = *here->op;
    op.impl = &impl;
    here->op = &op;
    fy_node *y = alone ? here : op_n(e.g, "Square", "y", "/device:CPU:0", 1, &here);
    env_session(&e);
    fy_tensor *v = floats(0, NULL, (float[]){1}), *out = NULL;
    fy_error err;
    fy_error_init(&err);
    for (int i = 0; i < 20; i++) {
      if (run1(&e, x, v, y, &out, &err)) fail_msg("%s", fy_error_text(&err));
      float cpu = *(float *)out->data;
      fy_tensor_release(out);
      assert_int_equal((int)cpu, 1);
    }
    fy_tensor_release(v);
    env_close(&e);
    sched_setaffinity(0, sizeof before, &before);
  }
}

static fy_tensor *int64s(int32_t rank, const int64_t *dims, const int64_t *v) {
  fy_tensor *t = NULL;
  assert_int_equal(fy_tensor_from(FY_INT64, rank, dims, v, &t, NULL), FY_OK);
  return t;
}

// Lets the process have this much more memory and no more; returns what it might have before.
static struct rlimit allow_more(size_t bytes) {
  struct rlimit before, now;
  unsigned long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%lu", &pages), 1);
  fclose(f);
  getrlimit(RLIMIT_AS, &before);
  now = before;
  now.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
  setrlimit(RLIMIT_AS, &now);
  return before;
}

// How much working memory SparseFillEmptyRows needs is said by a value. What cannot be had (8 bytes a row;
// its result of 1 byte can) fails alone: later programs do not plan for it.
static void asking_too_much_is_forgotten(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  skip();  // its address space is full as it is
#endif
  const int64_t sizes[] = {2, 64 << 20, 2};
  for (int i = 0; i < 3; i++) {
    env e;
    env_open(&e, NULL);
    fy_node *shape = placeholder(e.g, "shape", FY_INT64), *in[4];
    in[0] = constant(e.g, "at", int64s(2, (int64_t[]){1, 2}, (int64_t[]){0, 0}));
    in[1] = constant(e.g, "values", floats(1, (int64_t[]){1}, (float[]){7}));
    in[2] = shape;
    in[3] = constant(e.g, "other", floats(0, NULL, (float[]){3}));
    fy_node *y = op_n(e.g, "SparseFillEmptyRows", "y", NULL, 4, in);
    env_session(&e);
    fy_tensor *v = int64s(1, (int64_t[]){2}, (int64_t[]){sizes[i], 1}), *out = NULL;
    fy_error err;
    fy_error_init(&err);
    const struct rlimit before = allow_more(256 << 20);
    const fy_code code = run1(&e, shape, v, y, &out, &err);
    setrlimit(RLIMIT_AS, &before);
    if (i == 1) {
      assert_int_equal(code, FY_RESOURCE_EXHAUSTED);
    } else {
      if (code) fail_msg("%s", fy_error_text(&err));
      assert_int_equal(out->dims[0], 2);
      fy_tensor_release(out);
    }
    fy_error_clear(&err);
    fy_tensor_release(v);
    env_close(&e);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adds),
      cmocka_unit_test(fetches_feeds_and_constants),
      cmocka_unit_test(errors_name_the_node),
      cmocka_unit_test(a_check_is_run),
      cmocka_unit_test(crosses_to_a_device_once),
      cmocka_unit_test(asking_too_much_is_forgotten),
      cmocka_unit_test(many_threads_on_one_session),
      cmocka_unit_test(branches_run_in_parallel),
      cmocka_unit_test(dedicated_cores_do_their_devices_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

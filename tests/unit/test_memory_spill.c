// SPDX-License-Identifier: Apache-2.0
// Programs that need more than a device has: the same results, with exactly the copies that the plan
// announced, and overlap that the simulated clock shows.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "devices/sim/sim.h"
#include "execute/counters.h"
#include "memory/pool.h"
#include "observe/oom.h"
#include "observe/report.h"

#define GPU "/device:GPU:0"

static fy_tensor *noise(int rank, const int64_t *dims, uint32_t seed) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(FY_FLOAT, rank, dims, &t, NULL), FY_OK);
  float *f = t->data;
  for (int64_t i = 0; i < t->count; i++) {
    seed = seed * 1664525u + 1013904223u;
    f[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
  }
  return t;
}

// y = x W0 W1 … Wn-1: |n| constants of |side| x |side|, all on the GPU.
static fy_node *tower(env *e, fy_node *x, int n, int64_t side) {
  fy_node *y = x;
  char name[32];
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "w%d", i);
    fy_node *w = constant(e->g, name, noise(2, (int64_t[]){side, side}, (uint32_t)i + 7));
    snprintf(name, sizeof name, "y%d", i);
    y = op_n(e->g, "MatMul", name, GPU, 2, (fy_node *[]){y, w});
  }
  return y;
}

// Layers whose results are all needed again, in the opposite order: sum of x_i * x_(n-1-i)…
static fy_node *there_and_back(env *e, fy_node *x, int n) {
  fy_node *kept[64], *y = x;
  char name[32];
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "up%d", i);
    kept[i] = y = op_n(e->g, "Softplus", name, GPU, 1, &y);
  }
  for (int i = n; i-- > 0;) {
    snprintf(name, sizeof name, "down%d", i);
    y = op_n(e->g, i % 2 ? "Mul" : "Sub", name, GPU, 2, (fy_node *[]){y, kept[i]});
  }
  return y;
}

typedef fy_node *(*build_fn)(env *e, fy_node *x);
static fy_node *tower8(env *e, fy_node *x) {
  return tower(e, x, 8, 256);  // 2 MiB of weights
}
static fy_node *back16(env *e, fy_node *x) {
  return there_and_back(e, x, 16);
}

typedef struct outcome {
  fy_tensor *y;
  fy_counts counts;
  uint64_t peak;
  int64_t copies, bytes_in, bytes_out;
  fy_code code;
  char text[4096];
} outcome;

static void run_on(build_fn build, const char *config, int runs, outcome *o) {
  env e;
  fy_error err;
  fy_program *p;
  memset(o, 0, sizeof *o);
  fy_error_init(&err);
  env_open(&e, config);
  fy_node *x = placeholder(e.g, "x", FY_FLOAT), *y = build(&e, x);
  env_session(&e);
  fy_tensor *in = noise(2, (int64_t[]){256, 256}, 1);
  fy_output feed = {x, 0}, fetch = {y, 0};
  fy_run_args args = {
      .feeds = &feed, .feed_values = &in, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  fy_pshape shape = {2, in->dims};
  o->code = fy_session_program(e.s, &args, &shape, NULL, NULL, &p, &err);
  if (!o->code) {
    o->copies = p->spill.copies;
    o->bytes_in = p->spill.bytes_in;
    o->bytes_out = p->spill.bytes_out;
    fy_program_release(p);
  }
  for (int i = 0; i < runs && !o->code; i++) {
    fy_tensor_release(o->y);
    o->code = fy_session_run(e.s, &args, &o->y, &err);
  }
  if (o->code) snprintf(o->text, sizeof o->text, "%s", fy_error_text(&err));
  fy_session_counts(e.s, &o->counts);
  fy_mempool_stats s;
  fy_mempool_stats_get(e.devices->items[e.devices->n - 1]->memory, &s);
  o->peak = s.peak_bytes_in_use;
  fy_error_clear(&err);
  fy_tensor_release(in);
  env_close(&e);
}

static void same(build_fn build, const char *roomy, const char *tight, uint64_t limit) {
  outcome a, b;
  run_on(build, roomy, 3, &a);
  run_on(build, tight, 3, &b);
  if (a.code || b.code) fail_msg("%s%s", a.text, b.text);
  assert_int_equal(a.copies, 0);
  assert_true(b.copies > 0);
  assert_true(a.peak > 2 * limit * 9 / 10);
  assert_true(b.peak <= limit);
  assert_int_equal(fy_tensor_bytes(a.y), fy_tensor_bytes(b.y));
  assert_memory_equal(a.y->data, b.y->data, fy_tensor_bytes(a.y));
  // What was announced is what crossed, run for run.
  for (int k = 0; k < 2; k++) {
    int64_t extra = b.counts.bytes[k] - a.counts.bytes[k];
    print_message("%s: announced %lld, measured %lld bytes %s\n", tight,
                  (long long)(3 * (k ? b.bytes_out : b.bytes_in)), (long long)extra,
                  k ? "to the host" : "to the device");
    assert_int_equal(extra, 3 * (k ? b.bytes_out : b.bytes_in));
  }
  fy_tensor_release(a.y);
  fy_tensor_release(b.y);
}

static void weights_are_streamed(void **state) {
  (void)state;
  same(tower8, "sim=gpu:1,memory=64MiB", "sim=gpu:1,memory=1280KiB", 1280 << 10);
}

static void tensors_wait_on_the_host(void **state) {
  (void)state;
  same(back16, "sim=gpu:1,memory=64MiB; optimize=off", "sim=gpu:1,memory=2MiB; optimize=off",
       2 << 20);
}

static void not_when_told(void **state) {
  (void)state;
  outcome o;
  run_on(tower8, "sim=gpu:1,memory=1280KiB; spill=never", 1, &o);
  assert_int_equal(o.code, FY_RESOURCE_EXHAUSTED);
  run_on(tower8, "sim=gpu:1,memory=1MiB; memory_limit.GPU=300KiB", 1,
         &o);  // one product needs three times that
  assert_int_equal(o.code, FY_RESOURCE_EXHAUSTED);
}

// ---------------------------------------------------------------- beyond the host's memory
typedef struct filed {
  fy_tensor *y;
  fy_code code;
  size_t file_bytes;
  uint64_t predicted, measured;
  bool announced;
  char text[1024];
} filed;

static void run_filed(const char *device, const char *config, filed *o) {
  env e;
  fy_error err;
  fy_program *p;
  fy_report r;
  fy_node *kept[16], *y;
  char name[32];
  memset(o, 0, sizeof *o);
  fy_error_init(&err);
  env_open(&e, config);
  fy_node *x = y = placeholder(e.g, "x", FY_FLOAT);
  for (int i = 0; i < 16; i++) {
    snprintf(name, sizeof name, "up%d", i);
    kept[i] = y = op_n(e.g, "Softplus", name, device, 1, &y);
  }
  for (int i = 16; i-- > 0;) {
    snprintf(name, sizeof name, "down%d", i);
    y = op_n(e.g, i % 2 ? "Mul" : "Sub", name, device, 2, (fy_node *[]){y, kept[i]});
  }
  env_session(&e);
  fy_tensor *in = noise(2, (int64_t[]){256, 256}, 1);
  fy_output feed = {x, 0}, fetch = {y, 0};
  fy_run_args args = {
      .feeds = &feed, .feed_values = &in, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  fy_pshape shape = {2, in->dims};
  if (fy_session_program(e.s, &args, &shape, NULL, NULL, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  o->file_bytes = p->spill.file_bytes;
  fy_report_args ask = {.graph = e.g, .program = p, .run = &args, .shapes = &shape};
  assert_int_equal(fy_report_make(&ask, &r, &err), FY_OK);
  fy_str text;
  fy_str_init(&text);
  fy_report_text(&text, &r, 0);
  o->announced = strstr(fy_str_text(&text), " of planned tensors are in a file in ") != NULL;
  fy_str_free(&text);
  o->predicted = r.memory[0].allocator_bytes;
  fy_report_free(&r);
  fy_program_release(p);
  for (int i = 0; i < 3 && !o->code; i++) {
    fy_tensor_release(o->y);
    o->y = NULL;
    o->code = fy_session_run(e.s, &args, &o->y, &err);
  }
  if (o->code) {
    snprintf(o->text, sizeof o->text, "%s", fy_error_text(&err));
    fy_error_clear(&err);
    fy_tensor *small = noise(2, (int64_t[]){2, 256}, 1), *z = NULL;  // the session is usable
    args.feed_values = &small;
    if (fy_session_run(e.s, &args, &z, &err)) fail_msg("%s", fy_error_text(&err));
    fy_tensor_release(z);
    fy_tensor_release(small);
  }
  fy_mempool_stats s;
  fy_mempool_stats_get(e.devices->items[0]->memory, &s);
  o->measured = s.peak_bytes_in_use;
  fy_tensor_release(in);
  env_close(&e);
}

static void a_file_beyond_the_host(void **state) {
  (void)state;
  static const struct {
    const char *device, *roomy, *tight;
  } cases[] = {{NULL, "optimize=off", "memory_limit.CPU=1MiB; optimize=off"},
               {GPU, "sim=gpu:1,memory=64MiB; optimize=off",
                "sim=gpu:1,memory=2MiB; memory_limit.CPU=1MiB; optimize=off"}};
  for (int i = 0; i < 2; i++) {
    filed a, b;
    run_filed(cases[i].device, cases[i].roomy, &a);
    run_filed(cases[i].device, cases[i].tight, &b);
    if (a.code || b.code) fail_msg("%s%s", a.text, b.text);
    assert_false(a.announced);
    assert_int_equal(a.file_bytes, 0);
    assert_true(b.announced && b.file_bytes >= (1 << 20));
    print_message("%s: %zu bytes in a file; host predicted %llu, measured %llu\n", cases[i].tight,
                  b.file_bytes, (unsigned long long)b.predicted, (unsigned long long)b.measured);
    assert_int_equal(b.predicted, b.measured);
    assert_true(b.measured <= 1 << 20);
    assert_memory_equal(a.y->data, b.y->data, fy_tensor_bytes(a.y));
    fy_tensor_release(a.y);
    fy_tensor_release(b.y);
  }
  filed never, nowhere;
  run_filed(NULL, "memory_limit.CPU=1MiB; optimize=off; spill=never", &never);
  assert_int_equal(never.code, FY_RESOURCE_EXHAUSTED);
  assert_int_equal(never.file_bytes, 0);
  run_filed(NULL, "memory_limit.CPU=1MiB; optimize=off; spill_dir=/nonexistent/place", &nowhere);
  assert_int_equal(nowhere.code, FY_RESOURCE_EXHAUSTED);
  print_message("%s\n", nowhere.text);
  assert_non_null(strstr(nowhere.text, "/nonexistent/place"));
  assert_non_null(strstr(nowhere.text, "OOM when allocating tensor with shape[256,256]"));
}

// The report of a run that does not fit, and the session afterwards.
static void says_what_is_missing(void **state) {
  (void)state;
  env e;
  fy_error err;
  fy_tensor *y = NULL;
  fy_error_init(&err);
  env_open(&e, "sim=gpu:1,memory=2MiB; spill=never; optimize=off");
  fy_node *x = placeholder(e.g, "x", FY_FLOAT), *end = there_and_back(&e, x, 16);
  env_session(&e);
  fy_output feed = {x, 0}, fetch = {end, 0};
  fy_tensor *in = noise(2, (int64_t[]){256, 256}, 1), *small = noise(2, (int64_t[]){8, 256}, 1);
  fy_run_args args = {
      .feeds = &feed, .feed_values = &in, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  assert_int_equal(fy_session_run(e.s, &args, &y, &err), FY_RESOURCE_EXHAUSTED);
  fy_oom_explain(e.s, &args, &err);
  const char *text = fy_error_text(&err);
  print_message("%s", text);
  assert_non_null(strstr(text,
                         "OOM when allocating tensor with shape[256,256] and type float on "
                         "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"));
  assert_non_null(strstr(text, "true shortage"));
  assert_non_null(strstr(text, "GPU:0: this run needs"));
  assert_non_null(strstr(text, "float[256,256] from up"));
  assert_non_null(strstr(text, "float[256,256] from x\n"));  // not the name of its stand-in
  assert_non_null(strstr(text, "  and 11 more with 2.75MiB\n"));
  assert_non_null(strstr(text, "With spilling (spill=auto) it fits: "));
  // What it says of the batch is so: that one runs, one more does not.
  const char *at = strstr(text, "largest batch that fits is ");
  assert_non_null(at);
  int64_t batch = strtoll(at + 27, NULL, 10);
  assert_true(batch > 8 && batch < 256);
  fy_error_clear(&err);
  for (int64_t rows = batch; rows <= batch + 1; rows++) {
    fy_tensor *t = noise(2, (int64_t[]){rows, 256}, 1);
    args.feed_values = &t;
    assert_int_equal(fy_session_run(e.s, &args, &y, &err),
                     rows == batch ? FY_OK : FY_RESOURCE_EXHAUSTED);
    fy_tensor_release(y);
    y = NULL;
    fy_tensor_release(t);
  }
  fy_error_clear(&err);
  args.feed_values = &small;
  assert_int_equal(fy_session_run(e.s, &args, &y, &err), FY_OK);
  fy_tensor_release(y);
  fy_tensor_release(in);
  fy_tensor_release(small);
  env_close(&e);
}

// Whichever allocation, copy or launch fails, the run says so and the next one works.
static void fail_everywhere(fy_fault kind, bool sticky) {
  static const char *const configs[] = {"sim=gpu:1,memory=64MiB", "sim=gpu:1,memory=1280KiB"};
  for (size_t c = 0; c < 2; c++) {
    env e;
    fy_error err;
    fy_tensor *y = NULL;
    int failed = 0;
    fy_error_init(&err);
    env_open(&e, configs[c]);
    fy_node *x = placeholder(e.g, "x", FY_FLOAT), *end = tower8(&e, x);
    fy_tensor *in = noise(2, (int64_t[]){256, 256}, 1);
    for (int64_t nth = 1;; nth += 1 + nth / 16) {
      env_session(&e);
      fy_fault_arm(kind, nth, sticky);
      fy_code code = run1(&e, x, in, end, &y, &err);
      bool hit = fy_fault_hits(kind) >= nth;
      fy_fault_disarm(kind);
      if (hit && code) {
        failed++;
        assert_int_equal(code, kind == FY_FAULT_COPY || kind == FY_FAULT_LAUNCH
                                   ? FY_INTERNAL
                                   : FY_RESOURCE_EXHAUSTED);
        assert_null(y);
        fy_error_clear(&err);
        if (run1(&e, x, in, end, &y, &err)) fail_msg("%s", fy_error_text(&err));
      }
      fy_tensor_release(y);
      y = NULL;
      fy_session_free(e.s);
      e.s = NULL;
      for (int i = 0; i < e.devices->n; i++) fy_mempool_trim(e.devices->items[i]->memory, 0);
      if (!hit) break;
    }
    assert_true(failed > 0);
    fy_tensor_release(in);
    env_close(&e);
  }
}

// A device that is lost in the middle of a run.
static void a_lost_device(void **state) {
  (void)state;
  outcome whole, soft, hard;
  run_on(tower8, "sim=gpu:1,memory=64MiB", 2, &whole);
  run_on(tower8, "sim=gpu:1,memory=64MiB,lost_after=11; soft_placement=true", 3, &soft);
  run_on(tower8, "sim=gpu:1,memory=64MiB,lost_after=11", 3, &hard);
  if (whole.code || soft.code) fail_msg("%s%s", whole.text, soft.text);
  const float *a = whole.y->data, *b = soft.y->data;
  for (int64_t i = 0; i < whole.y->count; i++)
    if (!(fabsf(a[i] - b[i]) <= 1e-3f))
      fail_msg("[%d]: %g and %g", (int)i, (double)a[i], (double)b[i]);
  assert_int_equal(hard.code, FY_UNAVAILABLE);
  assert_non_null(strstr(hard.text, "/job:localhost/replica:0/task:0/device:GPU:0 is lost"));
  fy_tensor_release(whole.y);
  fy_tensor_release(soft.y);
}

// The virtual clock: with one thread that always has the next run started, what is fed to a run crosses
// while the run before it computes; kernels follow each other without a gap, and what two kernels read
// crosses once. A thread that waits for each result before it starts the next run gains nothing.
enum { STEPS = 5 };
typedef struct timeline {
  int64_t in_start[STEPS], in_end[STEPS], start[STEPS], end[STEPS], out_end[STEPS];
} timeline;

static void read_timeline(fy_device *d, timeline *t) {
  static fy_sim_entry log[64];
  size_t n = fy_sim_log(d, log, 64);
  int in = 0, kernels = 0, out = 0;
  for (size_t i = 0; i < n; i++) {
    if (log[i].queue == FY_QUEUE_IN) {
      assert_true(in < STEPS);  // once per step although three arguments read it
      t->in_start[in] = log[i].start_ns;
      t->in_end[in++] = log[i].end_ns;
    } else if (log[i].queue == FY_QUEUE_COMPUTE) {
      if (kernels % 2 == 0) t->start[kernels / 2] = log[i].start_ns;
      t->end[kernels++ / 2] = log[i].end_ns;
    } else {
      t->out_end[out++] = log[i].end_ns;
    }
  }
  assert_int_equal(in, STEPS);
  assert_int_equal(kernels, 2 * STEPS);
  assert_int_equal(out, STEPS);
}

static void steps(bool ahead, timeline *t) {
  env e;
  fy_error err;
  fy_tensor *y = NULL;
  fy_started *under_way[2];
  fy_error_init(&err);
  env_open(&e, "sim=gpu:1,memory=64MiB,flops=10GFLOP/s; optimize=off");
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_node *a = op_n(e.g, "MatMul", "a", GPU, 2, (fy_node *[]){x, x});
  fy_node *b = op_n(e.g, "MatMul", "b", GPU, 2, (fy_node *[]){a, x});
  env_session(&e);
  fy_tensor *in = noise(2, (int64_t[]){256, 256}, 1);
  fy_output feed = {x, 0}, fetch = {b, 0};
  fy_run_args args = {
      .feeds = &feed, .feed_values = &in, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  for (int i = 0; i < STEPS + ahead; i++) {
    if (!ahead) {
      if (fy_session_run(e.s, &args, &y, &err)) fail_msg("%s", fy_error_text(&err));
    } else {
      if (i < STEPS && fy_session_start(e.s, &args, &under_way[i % 2], &err))
        fail_msg("%s", fy_error_text(&err));
      if (i && fy_session_finish(e.s, under_way[(i - 1) % 2], &y, &err))
        fail_msg("%s", fy_error_text(&err));
    }
    fy_tensor_release(y);
    y = NULL;
  }
  read_timeline(e.devices->items[1], t);
  fy_tensor_release(in);
  env_close(&e);
}

static void copies_hide_behind_computing(void **state) {
  (void)state;
  timeline one, two;
  steps(false, &one);
  steps(true, &two);
  const int64_t copy = one.in_end[0] - one.in_start[0], work = one.end[0] - one.start[0];
  const int64_t back = one.out_end[0] - one.end[0];
  assert_true(copy > 0 && work > copy + back && back > 0);
  for (int i = 0; i < STEPS; i++) {
    // One at a time: copy, compute, copy back, and again.
    const int64_t from = i * (copy + work + back);
    assert_int_equal(one.in_start[i], from);
    assert_int_equal(one.end[i], from + copy + work);
    assert_int_equal(one.out_end[i], from + copy + work + back);
    // One ahead: the device computes all the time. Of the copies that could hide, all do.
    assert_int_equal(two.start[i], copy + i * work);
    assert_int_equal(two.end[i], copy + (i + 1) * work);
    const int64_t asked = i < 2 ? 0 : two.out_end[i - 2];  // when the thread had the result before
    assert_int_equal(two.in_start[i], i == 1 ? copy : asked);
    assert_int_equal(two.out_end[i], two.end[i] + back);
  }
  print_message(
      "%d runs: %lld ns one at a time, %lld ns one ahead; computing alone takes %lld ns\n", STEPS,
      (long long)one.out_end[STEPS - 1], (long long)two.out_end[STEPS - 1],
      (long long)(STEPS * work));
}

// A tensor under another name is there when the tensor is.
static void names_come_with_their_tensor(void **state) {
  (void)state;
  env e;
  fy_error err;
  fy_tensor *y = NULL;
  fy_sim_entry log[8];
  fy_error_init(&err);
  env_open(&e, "sim=gpu:1,memory=64MiB; optimize=off");
  fy_node *x = placeholder(e.g, "x", FY_FLOAT);
  fy_tensor *shape;
  assert_int_equal(fy_tensor_new(FY_INT32, 1, (int64_t[]){2}, &shape, NULL), FY_OK);
  memcpy(shape->data, (int32_t[]){128, 512}, 8);
  fy_node *to = constant(e.g, "to", shape);
  fy_node *r = op_n(e.g, "Reshape", "r", GPU, 2, (fy_node *[]){x, to});
  fy_node *s = op_n(e.g, "Square", "s", GPU, 1, &r);
  env_session(&e);
  fy_tensor *in = noise(2, (int64_t[]){256, 256}, 1);
  if (run1(&e, x, in, s, &y, &err)) fail_msg("%s", fy_error_text(&err));
  size_t n = fy_sim_log(e.devices->items[1], log, 8);
  assert_int_equal(n, 3);
  assert_int_equal(log[0].queue, FY_QUEUE_IN);
  assert_int_equal(log[1].queue, FY_QUEUE_COMPUTE);
  assert_int_equal(log[1].start_ns, log[0].end_ns);
  assert_int_equal(log[2].start_ns, log[1].end_ns);
  fy_tensor_release(y);
  fy_tensor_release(in);
  env_close(&e);
}

static void everything_may_fail(void **state) {
  (void)state;
  fail_everywhere(FY_FAULT_DEVICE_ALLOC, true);
  fail_everywhere(FY_FAULT_COPY, false);
  fail_everywhere(FY_FAULT_LAUNCH, false);
  fail_everywhere(FY_FAULT_ALLOC, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_are_streamed),
      cmocka_unit_test(tensors_wait_on_the_host),
      cmocka_unit_test(not_when_told),
      cmocka_unit_test(a_file_beyond_the_host),
      cmocka_unit_test(says_what_is_missing),
      cmocka_unit_test(everything_may_fail),
      cmocka_unit_test(a_lost_device),
      cmocka_unit_test(copies_hide_behind_computing),
      cmocka_unit_test(names_come_with_their_tensor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

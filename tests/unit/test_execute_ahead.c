// SPDX-License-Identifier: Apache-2.0
// Runs that are started before earlier ones are waited for: on the simulated clock the link, or the
// device, is never idle; and where memory has room for one run only, they take turns.

#include "support_graph.h"

#include <math.h>
#include <pthread.h>

#include "devices/sim/sim.h"
#include "memory/pool.h"
#include "sample.h"

#define GPU  "/device:GPU:0"
#define SIDE 256

enum { RUNS = 8 };

typedef struct loop {
  env e;
  fy_node *x, *y;
  fy_tensor *in[RUNS];
  float want[RUNS];  // element 0 of each result
} loop;

// y = (x x) x, fed with a multiple of one for each run: the results differ and are known exactly.
static void open_loop(loop *l, const char *config) {
  env_open(&l->e, config);
  l->x = placeholder(l->e.g, "x", FY_FLOAT);
  fy_node *a = op_n(l->e.g, "MatMul", "a", GPU, 2, (fy_node *[]){l->x, l->x});
  l->y = op_n(l->e.g, "MatMul", "y", GPU, 2, (fy_node *[]){a, l->x});
  env_session(&l->e);
  for (int i = 0; i < RUNS; i++) {
    const int64_t dims[] = {SIDE, SIDE};
    assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &l->in[i], NULL), FY_OK);
    for (int64_t k = 0; k < l->in[i]->count; k++) ((float *)l->in[i]->data)[k] = (float)(i + 1);
    l->want[i] = (float)(i + 1) * (float)(i + 1) * (float)(i + 1) * SIDE * SIDE;
  }
}

static void close_loop(loop *l) {
  for (int i = 0; i < RUNS; i++) fy_tensor_release(l->in[i]);
  env_close(&l->e);
}

static fy_started *start(loop *l, int i) {
  const fy_output feed = {l->x, 0}, fetch = {l->y, 0};
  const fy_run_args args = {.feeds = &feed,
                            .feed_values = &l->in[i],
                            .num_feeds = 1,
                            .fetches = &fetch,
                            .num_fetches = 1};
  fy_started *st = NULL;
  fy_error err;
  fy_error_init(&err);
  if (fy_session_start(l->e.s, &args, &st, &err)) fail_msg("run %d: %s", i, fy_error_text(&err));
  return st;
}

static void wait_for(loop *l, int i, fy_started *st) {
  fy_tensor *y = NULL;
  fy_error err;
  fy_error_init(&err);
  if (fy_session_finish(l->e.s, st, &y, &err)) fail_msg("run %d: %s", i, fy_error_text(&err));
  assert_int_equal(y->count, SIDE * SIDE);
  for (int64_t k = 0; k < y->count; k++)
    assert_true(fabsf(((const float *)y->data)[k] - l->want[i]) == 0.0f);
  fy_tensor_release(y);
}

// The starts of what |queue| did, in order.
static int entries(loop *l, fy_queue queue, fy_sim_entry *out) {
  static fy_sim_entry log[256];
  const size_t n = fy_sim_log(l->e.devices->items[1], log, 256);
  int found = 0;
  for (size_t i = 0; i < n; i++)
    if (log[i].queue == queue) out[found++] = log[i];
  return found;
}

static void run_ahead(loop *l, int ahead) {
  fy_started *st[RUNS];
  for (int i = 0; i < RUNS + ahead; i++) {
    if (i < RUNS) st[i] = start(l, i);
    if (i >= ahead) wait_for(l, i - ahead, st[i - ahead]);
  }
}

// Two ahead: whichever of copying in, computing and copying out takes longest has no gap.
static void nothing_is_idle(void **state) {
  (void)state;
  static const struct {
    const char *config;
    fy_queue longest;
    int per_run;
  } cases[] = {{"sim=gpu:1,memory=64MiB,pcie=2GB/s; optimize=off", FY_QUEUE_IN, 1},
               {"sim=gpu:1,memory=64MiB,pcie=12GB/s; optimize=off", FY_QUEUE_IN, 1},
               {"sim=gpu:1,memory=64MiB,flops=100GFLOP/s; optimize=off", FY_QUEUE_COMPUTE, 2}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    loop l;
    fy_sim_entry log[256], in[256];
    open_loop(&l, cases[c].config);
    run_ahead(&l, 2);
    const int n = entries(&l, cases[c].longest, log);
    assert_int_equal(n, RUNS * cases[c].per_run);
    for (int i = 1; i < n; i++)
      if (log[i].start_ns != log[i - 1].end_ns)
        fail_msg("case %zu: idle from %lld to %lld ns", c, (long long)log[i - 1].end_ns,
                 (long long)log[i].start_ns);
    // The first input is all that is not hidden behind computing.
    assert_int_equal(entries(&l, FY_QUEUE_IN, in), RUNS);
    if (cases[c].longest == FY_QUEUE_COMPUTE) assert_int_equal(log[0].start_ns, in[0].end_ns);
    close_loop(&l);
  }
}

// Memory for one run, or for two, of five that are started: the oldest end early, nothing fails.
static void memory_for_few(void **state) {
  (void)state;
  static const char *const configs[] = {"sim=gpu:1,memory=1100KiB; optimize=off",
                                        "sim=gpu:1,memory=1700KiB; optimize=off",
                                        "sim=gpu:1,memory=1700KiB; optimize=off; spill=never"};
  for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
    loop l;
    fy_started *st[RUNS];
    open_loop(&l, configs[c]);
    for (int i = 0; i < RUNS; i++) st[i] = start(&l, i);
    for (int i = 0; i < RUNS; i++) wait_for(&l, (i * 3) % RUNS, st[(i * 3) % RUNS]);
    run_ahead(&l, 2);
    fy_mempool_stats s;
    fy_mempool_stats_get(l.e.devices->items[1]->memory, &s);
    assert_true(s.peak_bytes_in_use <= s.limit_bytes);
    close_loop(&l);
  }
}

// Several threads start and wait at once.
static void *one_of_many(void *arg) {
  loop *l = arg;
  for (int round = 0; round < 20; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    fy_started *a = start(l, round % RUNS), *b = start(l, (round + 1) % RUNS);
    if (round % 2) {
      wait_for(l, round % RUNS, a);
      wait_for(l, (round + 1) % RUNS, b);
    } else {
      wait_for(l, (round + 1) % RUNS, b);
      wait_for(l, round % RUNS, a);
    }
  }
  return NULL;
}

static void threads_at_once(void **state) {
  (void)state;
  loop l;
  pthread_t threads[4];
  open_loop(&l, "sim=gpu:1,memory=64MiB; optimize=off");
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, one_of_many, &l), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  close_loop(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_idle),
                                     cmocka_unit_test(memory_for_few),
                                     cmocka_unit_test(threads_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

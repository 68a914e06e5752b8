// SPDX-License-Identifier: Apache-2.0
// Variables that are more than their device holds: read from the host where they are only read, moved in
// and out where they change; the same results, exactly the bytes that were announced, never more memory
// than the limit.

#include "support_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "devices/sim/sim.h"
#include "execute/counters.h"
#include "memory/pool.h"
#include "observe/oom.h"
#include "observe/report.h"

#define GPU    "/device:GPU:0"
#define LAYERS 8
#define SIM    "sim=gpu:1,memory=64MiB"
#define OCL    "opencl_cpu=true"

static int64_t side = 128;  // a variable is 64 KiB
static int layers = LAYERS;
static bool two;  // every second layer on GPU:1

static const char *place(int layer) {
  return two && layer % 2 ? "/device:GPU:1" : GPU;
}

static fy_tensor *noise(int rank, const int64_t *dims, uint32_t seed) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(FY_FLOAT, rank, dims, &t, NULL), FY_OK);
  float *f = t->data;
  for (int64_t i = 0; i < t->count; i++) {
    seed = seed * 1664525u + 1013904223u;
    f[i] = ((float)(seed >> 8) / (float)(1 << 24) - 0.5f) / 4;
  }
  return t;
}

static fy_node *handle(fy_graph *g, const char *name, int layer) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "VarHandleOp", name, &b, NULL), FY_OK);
  fy_attr type = fy_attr_type(FY_FLOAT), shape = attr_shape(&g->arena, 2, (int64_t[]){side, side});
  fy_attr shared = fy_attr_string(fy_view_of(fy_arena_strdup(&g->arena, name)));
  fy_node_set_attr(&b, "dtype", &type);
  fy_node_set_attr(&b, "shape", &shape);
  fy_node_set_attr(&b, "shared_name", &shared);
  fy_node_set_device(&b, place(layer));
  return finish(&b);
}

static fy_node *with(int layer, fy_graph *g, const char *op, const char *name, int n,
                     fy_node *const *in, const char *attr, fy_node *control) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, op, name, &b, NULL), FY_OK);
  for (int i = 0; i < n; i++) fy_node_add_input(&b, (fy_output){in[i], 0});
  fy_attr type = fy_attr_type(FY_FLOAT), yes = fy_attr_bool(true);
  if (attr && strcmp(attr, "dtype") == 0)
    fy_node_set_attr(&b, attr, &type);
  else if (attr)
    fy_node_set_attr(&b, attr, &yes);
  if (control) fy_node_add_control(&b, control);
  fy_node_set_device(&b, place(layer));
  return finish(&b);
}

typedef struct model {
  fy_node *x, *y;
  fy_node *handles[3 * LAYERS], *inits[3 * LAYERS], *values[3 * LAYERS], *saves[3 * LAYERS];
  int n;
  fy_node *targets[LAYERS];
  int num_targets;
} model;

static fy_node *add_variable(env *e, model *m, const char *name, int layer) {
  char text[32];
  fy_node *h = m->handles[m->n] = handle(e->g, name, layer);
  snprintf(text, sizeof text, "%s_value", name);
  fy_node *v = m->values[m->n] = placeholder(e->g, text, FY_FLOAT);
  snprintf(text, sizeof text, "%s_init", name);
  m->inits[m->n] =
      with(layer, e->g, "AssignVariableOp", text, 2, (fy_node *[]){h, v}, "dtype", NULL);
  snprintf(text, sizeof text, "%s_save", name);
  m->saves[m->n] = with(layer, e->g, "ReadVariableOp", text, 1, &h, "dtype", NULL);
  m->n++;
  return h;
}

// y = x W0 … Wn-1
static void inference(env *e, model *m) {
  char name[32];
  fy_node *y = m->x = placeholder(e->g, "x", FY_FLOAT);
  for (int i = 0; i < layers; i++) {
    snprintf(name, sizeof name, "w%d", i);
    fy_node *h = add_variable(e, m, name, i);
    snprintf(name, sizeof name, "r%d", i);
    fy_node *r = with(i, e->g, "ReadVariableOp", name, 1, &h, "dtype", NULL);
    snprintf(name, sizeof name, "y%d", i);
    y = op_n(e->g, "MatMul", name, place(i), 2, (fy_node *[]){y, r});
  }
  m->y = y;
}

// The same, and a step of momentum for every layer with what would be its gradient. Each weight is
// read once, and used on the way there and on the way back, as gradients do.
static void training(env *e, model *m) {
  char name[32];
  fy_node *reads[LAYERS], *acts[LAYERS + 1], *h[LAYERS], *slot[LAYERS];
  fy_node *rate = constant(e->g, "rate", floats(0, NULL, (float[]){0.01f}));
  acts[0] = m->x = placeholder(e->g, "x", FY_FLOAT);
  for (int i = 0; i < layers; i++) {
    snprintf(name, sizeof name, "w%d", i);
    h[i] = add_variable(e, m, name, i);
    snprintf(name, sizeof name, "m%d", i);
    slot[i] = add_variable(e, m, name, i);
    snprintf(name, sizeof name, "r%d", i);
    reads[i] = with(i, e->g, "ReadVariableOp", name, 1, &h[i], "dtype", NULL);
    snprintf(name, sizeof name, "y%d", i);
    acts[i + 1] = op_n(e->g, "MatMul", name, place(i), 2, (fy_node *[]){acts[i], reads[i]});
  }
  fy_node *grad = acts[layers];
  for (int i = layers; i-- > 0;) {
    snprintf(name, sizeof name, "dw%d", i);
    fy_node *dw =
        with(i, e->g, "MatMul", name, 2, (fy_node *[]){acts[i], grad}, "transpose_a", NULL);
    snprintf(name, sizeof name, "dx%d", i);
    grad = with(i, e->g, "MatMul", name, 2, (fy_node *[]){grad, reads[i]}, "transpose_b", NULL);
    snprintf(name, sizeof name, "step%d", i);
    m->targets[m->num_targets++] = with(i, e->g, "ResourceApplyMomentum", name, 5,
                                        (fy_node *[]){h[i], slot[i], rate, dw, rate}, NULL, grad);
  }
  m->y = acts[layers];
}

typedef struct outcome {
  fy_code code;
  char text[4096];
  fy_tensor *y, *saved[3 * LAYERS];
  int64_t copies, bytes_in, bytes_out, plain[2], crossed[2];
  uint64_t peak, predicted;
  bool exact;
} outcome;

static void forget(outcome *o) {
  fy_tensor_release(o->y);
  for (int i = 0; i < 3 * LAYERS; i++) fy_tensor_release(o->saved[i]);
}

#define RUNS 3
static void run_on(void (*build)(env *, model *), const char *config, outcome *o) {
  env e;
  fy_error err;
  model m = {0};
  fy_program *p;
  memset(o, 0, sizeof *o);
  fy_error_init(&err);
  env_open(&e, config);
  build(&e, &m);
  env_session(&e);
  for (int i = 0; i < m.n && !o->code; i++) {
    fy_tensor *v = noise(2, (int64_t[]){side, side}, (uint32_t)i + 9);
    fy_output feed = {m.values[i], 0};
    fy_run_args a = {.feeds = &feed,
                     .feed_values = &v,
                     .num_feeds = 1,
                     .targets = &m.inits[i],
                     .num_targets = 1};
    o->code = fy_session_run(e.s, &a, NULL, &err);
    fy_tensor_release(v);
  }
  fy_tensor *in = noise(2, (int64_t[]){32, side}, 1);
  fy_output feed = {m.x, 0}, fetch = {m.y, 0};
  fy_run_args args = {.feeds = &feed,
                      .feed_values = &in,
                      .num_feeds = 1,
                      .fetches = &fetch,
                      .num_fetches = 1,
                      .targets = m.targets,
                      .num_targets = m.num_targets};
  fy_pshape shape = {2, in->dims};
  if (!o->code) o->code = fy_session_program(e.s, &args, &shape, NULL, NULL, &p, &err);
  if (!o->code) {
    fy_space_memory mem;
    o->copies = p->spill.copies;
    o->bytes_in = p->spill.bytes_in;
    o->bytes_out = p->spill.bytes_out;
    fy_report_memory(p, e.devices->items[e.devices->n - 1]->ordinal + 1, &mem);
    o->predicted = mem.allocator_bytes;
    o->exact = mem.exact;
    fy_program_release(p);
  }
  fy_mempool *pool = e.devices->items[e.devices->n - 1]->memory;
  fy_counts before, after;
  for (int i = 0; i < RUNS && !o->code; i++) {
    fy_tensor_release(o->y);
    o->y = NULL;
    if (i == 1) {  // the first run finds variables where assigning left them
      fy_session_counts(e.s, &before);
      fy_mempool_reset_peak(pool);
    }
    o->code = fy_session_run(e.s, &args, &o->y, &err);
  }
  fy_session_counts(e.s, &after);
  fy_mempool_stats s;
  fy_mempool_stats_get(pool, &s);
  o->peak = s.peak_bytes_in_use;
  for (int k = 0; k < 2 && !o->code; k++) o->crossed[k] = after.bytes[k] - before.bytes[k];
  if (o->code) {
    fy_oom_explain(e.s, &args, &err);
    snprintf(o->text, sizeof o->text, "%s", fy_error_text(&err));
  }
  for (int i = 0; i < m.n && !o->code; i++) {
    fy_output f = {m.saves[i], 0};
    fy_run_args a = {.fetches = &f, .num_fetches = 1};
    if (fy_session_run(e.s, &a, &o->saved[i], &err)) fail_msg("%s", fy_error_text(&err));
  }
  fy_error_clear(&err);
  fy_tensor_release(in);
  env_close(&e);
}

static void same(const char *what, void (*build)(env *, model *), const char *roomy,
                 const char *tight, uint64_t limit) {
  outcome a, b;
  run_on(build, roomy, &a);
  run_on(build, tight, &b);
  if (a.code || b.code) fail_msg("%s%s", a.text, b.text);
  print_message(
      "%s, %s: %lld copies, announced %lld in, %lld out, crossed %lld, %lld; memory predicted "
      "%llu, "
      "measured %llu of %llu (roomy: %llu, %llu)\n",
      what, tight, (long long)b.copies, (long long)b.bytes_in, (long long)b.bytes_out,
      (long long)(b.crossed[0] - a.crossed[0]) / 2, (long long)(b.crossed[1] - a.crossed[1]) / 2,
      (unsigned long long)b.predicted, (unsigned long long)b.peak, (unsigned long long)limit,
      (unsigned long long)a.predicted, (unsigned long long)a.peak);
  assert_int_equal(a.copies, 0);
  assert_true(b.copies > 0);
  assert_true(a.peak > limit);
  assert_true(b.peak <= limit);
  assert_int_equal(b.crossed[0] - a.crossed[0], (RUNS - 1) * b.bytes_in);
  assert_int_equal(b.crossed[1] - a.crossed[1], (RUNS - 1) * b.bytes_out);
  assert_true(a.exact && b.exact);
  assert_true(a.predicted <= a.peak);  // programs that assigned keep what they planned, idle
  assert_int_equal(b.predicted, b.peak);
  assert_memory_equal(a.y->data, b.y->data, fy_tensor_bytes(a.y));
  for (int i = 0; i < 3 * LAYERS; i++) {
    if (!a.saved[i]) continue;
    assert_memory_equal(a.saved[i]->data, b.saved[i]->data, fy_tensor_bytes(a.saved[i]));
  }
  forget(&a);
  forget(&b);
}

static void only_read(void **state) {
  (void)state;
  same("inference", inference, SIM, SIM "; memory_limit.GPU=200KiB", 200 << 10);
  same("inference", inference, SIM, SIM "; memory_limit.GPU=256KiB", 256 << 10);
  same("inference", inference, SIM, SIM "; memory_limit.GPU=480KiB", 480 << 10);
}

static void changed(void **state) {
  (void)state;
  same("training", training, SIM, SIM "; memory_limit.GPU=400KiB", 400 << 10);
  same("training", training, SIM, SIM "; memory_limit.GPU=600KiB", 600 << 10);
  same("training", training, SIM, SIM "; memory_limit.GPU=1000KiB", 1000 << 10);
}

static void on_opencl(void **state) {
  (void)state;
  env e;
  env_open(&e, OCL);
  const bool none = e.devices->items[e.devices->n - 1]->is_host;
  env_close(&e);
  if (none) {
    print_message("no OpenCL device on this machine\n");
    skip();
  }
  same("inference", inference, OCL, OCL "; memory_limit.GPU=256KiB", 256 << 10);
  same("training", training, OCL, OCL "; memory_limit.GPU=600KiB", 600 << 10);
}

// Everything that can fail does, at every point, while variables come and go on two devices: each
// variable is then as it was before the step or as it is after it, and the next step is right.
static void assign_all(env *e, model *m) {
  fy_error err;
  fy_error_init(&err);
  for (int i = 0; i < m->n; i++) {
    fy_tensor *v = noise(2, (int64_t[]){side, side}, (uint32_t)i + 9);
    fy_output feed = {m->values[i], 0};
    fy_run_args a = {.feeds = &feed,
                     .feed_values = &v,
                     .num_feeds = 1,
                     .targets = &m->inits[i],
                     .num_targets = 1};
    if (fy_session_run(e->s, &a, NULL, &err)) fail_msg("%s", fy_error_text(&err));
    fy_tensor_release(v);
  }
}

static void read_all(env *e, model *m, fy_tensor **out) {
  fy_error err;
  fy_error_init(&err);
  for (int i = 0; i < m->n; i++) {
    fy_output f = {m->saves[i], 0};
    fy_run_args a = {.fetches = &f, .num_fetches = 1};
    if (fy_session_run(e->s, &a, &out[i], &err)) fail_msg("%s", fy_error_text(&err));
  }
}

static fy_code one_step(env *e, model *m, fy_tensor *in, fy_error *err) {
  fy_output feed = {m->x, 0};
  fy_run_args a = {.feeds = &feed,
                   .feed_values = &in,
                   .num_feeds = 1,
                   .targets = m->targets,
                   .num_targets = m->num_targets};
  return fy_session_run(e->s, &a, NULL, err);
}

static void free_all(model *m, fy_tensor **t) {
  for (int i = 0; i < m->n; i++) fy_tensor_release(t[i]);
}

static void fail_everywhere(fy_fault what, const char *config) {
  env e;
  model m = {0};
  fy_tensor *old[3 * LAYERS], *fresh[3 * LAYERS], *now[3 * LAYERS];
  fy_error err;
  fy_error_init(&err);
  env_open(&e, config);
  training(&e, &m);
  env_session(&e);
  fy_tensor *in = noise(2, (int64_t[]){8, side}, 1);
  assign_all(&e, &m);
  read_all(&e, &m, old);
  if (one_step(&e, &m, in, &err)) fail_msg("%s", fy_error_text(&err));
  read_all(&e, &m, fresh);
  int failed = 0;
  for (int nth = 1;; nth += 1 + nth / 40) {
    assign_all(&e, &m);
    fy_fault_arm(what, nth, false);
    const fy_code code = one_step(&e, &m, in, &err);
    const bool hit = fy_fault_hits(what) >= nth;
    fy_fault_disarm(what);
    fy_error_clear(&err);
    failed += code != FY_OK;
    read_all(&e, &m, now);
    for (int i = 0; i < m.n; i++) {
      const size_t bytes = fy_tensor_bytes(now[i]);
      const bool was = memcmp(now[i]->data, old[i]->data, bytes) == 0;
      const bool is = memcmp(now[i]->data, fresh[i]->data, bytes) == 0;
      if (!is && (!was || !code))
        fail_msg("fault %d, call %d: variable %d is neither", what, nth, i);
    }
    free_all(&m, now);
    if (code) {  // the session is usable
      assign_all(&e, &m);
      if (one_step(&e, &m, in, &err)) fail_msg("after call %d: %s", nth, fy_error_text(&err));
      read_all(&e, &m, now);
      for (int i = 0; i < m.n; i++)
        assert_memory_equal(now[i]->data, fresh[i]->data, fy_tensor_bytes(now[i]));
      free_all(&m, now);
    }
    if (!hit) break;
  }
  print_message("fault %d: %d failures\n", (int)what, failed);
  // A single refusal of the device is survived: something leaves, and it is asked again.
  assert_true(failed > 0 || what == FY_FAULT_DEVICE_ALLOC);
  free_all(&m, old);
  free_all(&m, fresh);
  fy_tensor_release(in);
  env_close(&e);
}

static void everything_may_fail(void **state) {
  (void)state;
  static const fy_fault faults[] = {FY_FAULT_DEVICE_ALLOC, FY_FAULT_COPY, FY_FAULT_LAUNCH,
                                    FY_FAULT_ALLOC};
  side = 32;
  layers = 4;
  for (int both = 0; both < 2; both++) {
    two = both;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
      fail_everywhere(faults[i], "sim=gpu:2,memory=64MiB; memory_limit.GPU=34KiB");
  }
  side = 128;
  layers = LAYERS;
  two = false;
}

// The virtual clock: what the copies of a step take is what was announced, and whatever the link leaves
// time for hides behind computing.
typedef struct clocked {
  // ns, except |copies|; |leading| is until the first kernel starts, |waiting| between kernels
  int64_t copies, copying, leading, computing, waiting, whole;
  double announced;
} clocked;

static void clock_step(const char *config, clocked *c) {
  static fy_sim_entry log[4096];
  env e;
  model m = {0};
  fy_error err;
  fy_program *p;
  fy_error_init(&err);
  env_open(&e, config);
  training(&e, &m);
  env_session(&e);
  assign_all(&e, &m);
  fy_tensor *in = noise(2, (int64_t[]){32, side}, 1);
  fy_device *d = e.devices->items[1];
  for (int i = 0; i < 2; i++)
    if (one_step(&e, &m, in, &err)) fail_msg("%s", fy_error_text(&err));
  const uint64_t before = fy_sim_log_total(d);
  const int64_t begin = fy_sim_now_ns(d);
  if (one_step(&e, &m, in, &err)) fail_msg("%s", fy_error_text(&err));
  const size_t n = fy_sim_log(d, log, (size_t)(fy_sim_log_total(d) - before));
  int64_t end = 0;
  *c = (clocked){.whole = fy_sim_now_ns(d) - begin};
  for (size_t i = 0; i < n; i++) {
    const int64_t ns = log[i].end_ns - log[i].start_ns;
    if (log[i].queue != FY_QUEUE_COMPUTE) {
      c->copies++;
      c->copying += ns;
      continue;
    }
    c->computing += ns;
    if (end)
      c->waiting += log[i].start_ns - end;
    else
      c->leading = log[i].start_ns - begin;
    end = log[i].end_ns;
  }
  fy_output feed = {m.x, 0};
  fy_run_args args = {.feeds = &feed,
                      .feed_values = &in,
                      .num_feeds = 1,
                      .targets = m.targets,
                      .num_targets = m.num_targets};
  fy_pshape shape = {2, in->dims};
  if (fy_session_program(e.s, &args, &shape, NULL, NULL, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  c->announced = fy_report_spill_ns(p);
  assert_int_equal(c->copies, p->spill.copies + 1);  // and what is fed
  fy_program_release(p);
  fy_tensor_release(in);
  env_close(&e);
}

static void clock_both(const char *facts, clocked *roomy, clocked *tight) {
  char config[160];
  snprintf(config, sizeof config, "%s,%s", SIM, facts);
  clock_step(config, roomy);
  snprintf(config, sizeof config, "%s,%s; memory_limit.GPU=600KiB", SIM, facts);
  clock_step(config, tight);
  const double extra = (double)(tight->copying - roomy->copying);
  print_message(
      "%s: leading %lld ns (roomy %lld), computing %lld (roomy %lld), waiting %lld, whole %lld; "
      "copies of "
      "room %.0f, announced %.0f\n",
      facts, (long long)tight->leading, (long long)roomy->leading, (long long)tight->computing,
      (long long)roomy->computing, (long long)tight->waiting, (long long)tight->whole, extra,
      tight->announced);
  assert_int_equal(roomy->copies, 1);
  assert_true(tight->copies > 20);
  assert_true(roomy->announced == 0);
  // The clock counts whole nanoseconds.
  assert_true(extra - tight->announced <= (double)tight->copies / 2 &&
              tight->announced - extra <= (double)tight->copies / 2);
}

static void moves_hide_behind_computing(void **state) {
  (void)state;
  clocked roomy, tight;
  clock_both("flops=1GFLOP/s", &roomy, &tight);
  assert_int_equal(roomy.waiting, 0);
  assert_int_equal(tight.waiting, 0);  // kernels follow each other without a gap
  assert_int_equal(tight.whole, tight.leading + tight.computing);
  assert_true(tight.leading <= 3 * tight.copying / tight.copies);  // what the first kernels read
  // A link that is too slow for that: then it is the link that is never idle for long.
  clock_both("flops=1GFLOP/s,pcie=50MB/s", &roomy, &tight);
  assert_true(tight.waiting > 0);
  assert_true(tight.whole < tight.computing + tight.copying * 3 / 4);
}

static void refused_when_told(void **state) {
  (void)state;
  outcome o;
  run_on(inference, "sim=gpu:1,memory=64MiB; memory_limit.GPU=256KiB; spill=never", &o);
  assert_int_equal(o.code, FY_RESOURCE_EXHAUSTED);
  print_message("%s\n", o.text);
  assert_non_null(strstr(o.text, "OOM when allocating tensor with shape[128,128] and type float"));
  forget(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_read),
      cmocka_unit_test(changed),
      cmocka_unit_test(on_opencl),
      cmocka_unit_test(everything_may_fail),
      cmocka_unit_test(moves_hide_behind_computing),
      cmocka_unit_test(refused_when_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// transfer_ahead.c: how much of the copies of runs hides behind computing when one thread always has the
// next run, or the next two, started (fy_session_start), against the most that could: a device copies in,
// computes and copies out at once, so k runs take at least k times the longest of the three and once the
// others. Three things at once are three runs under way: one ahead is enough where computing takes
// longest, two where copying does.

#include "base/alloc.h"
#include "devices/sim/sim.h"
#include "execute/session.h"
#include "graph/graph.h"
#include "memory/pool.h"
#include "observe/transfer_bench.h"

#define RUNS   8
#define ROUNDS 3  // the best of them
#define LAYERS 2

static fy_code add_node(fy_graph *g, const char *op, const char *name, const char *device,
                        fy_node *a, fy_node *b, fy_node **out, fy_error *err) {
  fy_node_builder n;
  fy_attr type = fy_attr_type(FY_FLOAT);
  FY_TRY(fy_node_begin(g, op, name, &n, err));
  if (a) fy_node_add_input(&n, (fy_output){a, 0});
  if (b) fy_node_add_input(&n, (fy_output){b, 0});
  if (!a) fy_node_set_attr(&n, "dtype", &type);
  if (a) fy_node_set_device(&n, device);
  return fy_node_finish(&n, out, err);
}

static fy_code build(fy_graph *g, const fy_device *d, fy_node **x, fy_node **y, fy_error *err) {
  static const char *const names[LAYERS] = {"first", "second"};
  FY_TRY(add_node(g, "Placeholder", "x", NULL, NULL, NULL, x, err));
  *y = *x;
  for (int i = 0; i < LAYERS; i++) FY_TRY(add_node(g, "MatMul", names[i], d->name, *y, *x, y, err));
  return FY_OK;
}

static int64_t now(const fy_device *d) {
  return fy_sim_is(d) ? fy_sim_now_ns((fy_device *)(uintptr_t)d) : fy_now_ns();
}

// With |ahead| runs started beyond the one that is waited for.
static fy_code runs(fy_session *s, const fy_run_args *args, int ahead, fy_error *err) {
  fy_started *under_way[FY_BENCH_AHEAD + 1] = {NULL};
  const int n = ahead + 1;
  fy_code code = FY_OK;
  for (int i = 0; i < RUNS + ahead; i++) {
    fy_tensor *y = NULL;
    if (!ahead && !code) {
      code = fy_session_run(s, args, &y, err);
    } else if (ahead) {
      if (i < RUNS && !code) code = fy_session_start(s, args, &under_way[i % n], err);
      fy_started *oldest = under_way[(i + 1) % n];
      under_way[(i + 1) % n] = NULL;
      const fy_code waited = oldest ? fy_session_finish(s, oldest, &y, code ? NULL : err) : FY_OK;
      if (!code) code = waited;
    }
    fy_tensor_release(y);
  }
  return code;
}

static fy_code measure(const fy_device *d, fy_session *s, const fy_run_args *args,
                       fy_transfer_bench *out, fy_error *err) {
  FY_TRY(runs(s, args, FY_BENCH_AHEAD, err));  // compiles, and takes the memory of all runs
  for (int round = 0; round < ROUNDS; round++) {
    for (int ahead = 0; ahead <= FY_BENCH_AHEAD; ahead++) {
      const int64_t start = now(d);
      FY_TRY(runs(s, args, ahead, err));
      const double ns = (double)(now(d) - start);
      double *best = &out->ahead_ns[ahead];
      if (!round || ns < *best) *best = ns;
    }
  }
  return FY_OK;
}

// What a copy of |bytes| takes, between the sizes that were measured.
static double copy_ns(const fy_transfer_bench *b, const double *ns, size_t bytes) {
  for (int i = 1; i < b->n; i++) {
    if (b->bytes[i] < bytes && i + 1 < b->n) continue;
    const double share =
        ((double)bytes - (double)b->bytes[i - 1]) / ((double)b->bytes[i] - (double)b->bytes[i - 1]);
    return ns[i - 1] + share * (ns[i] - ns[i - 1]);
  }
  return b->n ? ns[0] : 0;
}

fy_code fy_transfer_measure_ahead(const fy_device_set *set, fy_device *d, const fy_options *options,
                                  fy_transfer_bench *out, fy_error *err) {
  fy_node *x, *y;
  fy_session *s = NULL;
  fy_tensor *t = NULL;
  int64_t side = 512;
  const uint64_t limit = fy_memory_limit(d);
  while (side > 16 && limit && (uint64_t)(side * side) * 64 > limit) side /= 2;
  fy_graph *g = fy_graph_new();
  fy_code code = g ? build(g, d, &x, &y, err) : fy_fail_oom(err, sizeof *g);
  if (!code) code = fy_session_new(g, (fy_device_set *)(uintptr_t)set, options, NULL, &s, err);
  if (!code) code = fy_tensor_new(FY_FLOAT, 2, (int64_t[]){side, side}, &t, err);
  for (int64_t i = 0; !code && i < t->count; i++) ((float *)t->data)[i] = (float)(i % 3) - 1;
  if (!code) {
    const fy_output feed = {x, 0}, fetch = {y, 0};
    const fy_run_args args = {
        .feeds = &feed, .feed_values = &t, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
    code = measure(d, s, &args, out, err);
  }
  if (!code) {
    out->ahead_bytes = fy_tensor_bytes(t);
    const double in = copy_ns(out, out->in_ns, out->ahead_bytes);
    const double back = copy_ns(out, out->out_ns, out->ahead_bytes);
    double work = out->ahead_ns[0] / RUNS - in - back;
    if (work < 0) work = 0;
    double longest = work > in ? work : in;
    if (back > longest) longest = back;
    out->least_ns = RUNS * longest + (in + work + back - longest);
    out->ahead_runs = RUNS;
  }
  fy_tensor_release(t);
  fy_session_free(s);
  fy_graph_free(g);
  fy_mempool_trim(d->memory, 0);
  return code;
}

// SPDX-License-Identifier: Apache-2.0
// Bundled models on a simulated GPU that is too small for them: every allocation, copy and launch of a run
// fails once, each time the session is usable afterwards and computes the same; a lost device is named,
// and where a device was only preferred the work is done elsewhere.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ferry/ferry.h"

#define MAX_ENDS 8

typedef struct bundle {
  ferry_runtime *rt;
  ferry_model *m;
  const ferry_signature *sig;
  const char *in_names[MAX_ENDS];
  ferry_tensor *in[MAX_ENDS];
  ferry_tensor *out[MAX_ENDS];
} bundle;

static bool open_bundle(bundle *b, const char *model, const char *config, bool must) {
  ferry_error err;
  memset(b, 0, sizeof *b);
  if (ferry_open(config, &b->rt, &err)) fail_msg("%s", err.text);
  char path[128];
  snprintf(path, sizeof path, "tests/data/zoo/%s", model);
  if (ferry_model_load(b->rt, path, NULL, &b->m, &err) ||
      ferry_model_signature(b->m, NULL, &b->sig, &err)) {
    if (must) fail_msg("%s: %s", model, err.text);
    ferry_model_free(b->m);
    ferry_close(b->rt);
    return false;
  }
  assert_true(b->sig->num_inputs <= MAX_ENDS && b->sig->num_outputs <= MAX_ENDS);
  for (int i = 0; i < b->sig->num_inputs; i++) {
    const ferry_model_value *v = &b->sig->inputs[i];
    int64_t dims[8];
    for (int d = 0; d < v->rank; d++) dims[d] = v->dims[d] < 0 ? 3 : v->dims[d];
    assert_int_equal(ferry_tensor_new(v->dtype, v->rank, dims, NULL, &b->in[i], &err), 0);
    b->in_names[i] = v->name;
    for (int64_t k = 0; k < ferry_tensor_count(b->in[i]); k++) {
      if (v->dtype == 1) ((float *)ferry_tensor_data(b->in[i]))[k] = (float)(k * 37 % 19) / 9 - 1;
      if (v->dtype == 3) ((int32_t *)ferry_tensor_data(b->in[i]))[k] = (int32_t)(k % 3);
      if (v->dtype == 9) ((int64_t *)ferry_tensor_data(b->in[i]))[k] = k % 3;
    }
  }
  return true;
}

static void drop_results(bundle *b) {
  for (int i = 0; i < MAX_ENDS; i++) {
    ferry_tensor_free(b->out[i]);
    b->out[i] = NULL;
  }
}

static void close_bundle(bundle *b) {
  drop_results(b);
  for (int i = 0; i < MAX_ENDS; i++) ferry_tensor_free(b->in[i]);
  ferry_model_free(b->m);
  ferry_close(b->rt);
}

static int run(bundle *b, ferry_error *err) {
  drop_results(b);
  return ferry_model_run(b->m, NULL, b->sig->num_inputs, b->in_names, b->in, b->sig->num_outputs,
                         NULL, b->out, 0, err);
}

static void same_results(const char *model, bundle *a, bundle *b, bool exactly) {
  for (int i = 0; i < a->sig->num_outputs; i++) {
    const size_t n = ferry_tensor_bytes(a->out[i]);
    assert_int_equal(n, ferry_tensor_bytes(b->out[i]));
    const float *x = ferry_tensor_data(a->out[i]), *y = ferry_tensor_data(b->out[i]);
    if (memcmp(x, y, n) == 0) continue;
    if (exactly || ferry_tensor_dtype(a->out[i]) != 1) fail_msg("%s: results differ", model);
    for (size_t k = 0; k < n / sizeof *x; k++)
      if (!(fabsf(x[k] - y[k]) <= 1e-5f * fmaxf(1, fabsf(x[k]))))
        fail_msg("%s: %g and %g", model, (double)x[k], (double)y[k]);
  }
}

// A frozen model: its weights are constants, so that it can be run anywhere and with too little memory.
typedef struct frozen {
  bundle whole;  // on the CPU; has the inputs and, for comparing, the results
  char path[32];
  const char *feeds[MAX_ENDS], *fetches[MAX_ENDS];
  char fetch[1024], feed[1024], shapes[1024];
} frozen;

static void list(char *to, size_t n, bool more, const char *text) {
  const size_t at = strlen(to);
  snprintf(to + at, n - at, "%s%s", more ? ", " : "", text);
}

static void freeze(frozen *f, const char *model) {
  ferry_error err;
  ferry_graph *g;
  memset(f, 0, sizeof *f);
  open_bundle(&f->whole, model, "cpu_devices=1", true);
  if (run(&f->whole, &err)) fail_msg("%s", err.text);
  if (ferry_model_freeze(f->whole.m, NULL, &g, NULL, &err)) fail_msg("%s", err.text);
  snprintf(f->path, sizeof f->path, "/tmp/ferry_frozen_XXXXXX");
  const int fd = mkstemp(f->path);
  assert_true(fd >= 0);
  close(fd);
  if (ferry_graph_save(g, f->path, false, &err)) fail_msg("%s", err.text);
  ferry_graph_free(g);
  const ferry_signature *sig = f->whole.sig;
  for (int i = 0; i < sig->num_outputs; i++)
    list(f->fetch, sizeof f->fetch, i, f->fetches[i] = sig->outputs[i].tensor);
  for (int i = 0; i < sig->num_inputs; i++) {
    char shape[256];
    list(f->feed, sizeof f->feed, i, f->feeds[i] = sig->inputs[i].tensor);
    int n = snprintf(shape, sizeof shape, "%s=[", f->feeds[i]);
    for (int d = 0; d < ferry_tensor_rank(f->whole.in[i]); d++)
      n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", d ? "," : "",
                    (long long)ferry_tensor_dim(f->whole.in[i], d));
    snprintf(shape + n, sizeof shape - (size_t)n, "]; ");
    list(f->shapes, sizeof f->shapes, false, shape);
  }
}

static void thaw(frozen *f) {
  unlink(f->path);
  close_bundle(&f->whole);
}

typedef struct runner {
  const frozen *f;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  bundle b;  // only its results
} runner;

static void start(runner *r, const frozen *f, const char *config) {
  ferry_error err;
  *r = (runner){.f = f, .b = {.sig = f->whole.sig}};
  if (ferry_open(config, &r->rt, &err) || ferry_graph_load(r->rt, f->path, &r->g, &err) ||
      ferry_session_new(r->rt, r->g, &r->s, &err))
    fail_msg("%s", err.text);
}

static void stop(runner *r) {
  drop_results(&r->b);
  ferry_session_free(r->s);
  ferry_graph_free(r->g);
  ferry_close(r->rt);
}

static int step(runner *r, ferry_error *err) {
  drop_results(&r->b);
  const ferry_signature *sig = r->b.sig;
  ferry_tensor *in[MAX_ENDS];
  for (int i = 0; i < sig->num_inputs; i++) in[i] = r->f->whole.in[i];
  return ferry_run(r->s, sig->num_inputs, r->f->feeds, in, sig->num_outputs, r->f->fetches,
                   r->b.out, 0, err);
}

static void predict(runner *r, ferry_prediction *p, uint64_t *gpu_peak) {
  ferry_error err;
  ferry_request q = {.fetch = r->f->fetch, .feed = r->f->feed, .shapes = r->f->shapes};
  if (ferry_predict(r->s, &q, p, &err)) fail_msg("%s", err.text);
  for (int i = 0; i < p->num_devices; i++)
    if (strcmp(p->devices[i].device, "GPU:0") == 0) *gpu_peak = p->devices[i].allocator_bytes;
}

// The least memory, in steps, with which the model still runs; it spills there, predicts what that moves
// and takes, and is right.
static void find_small(const char *model, const frozen *f, char config[160]) {
  uint64_t peak = 0, small = 0;
  ferry_prediction p;
  runner r;
  start(&r, f, "sim=gpu:1,memory=64MiB; place=tensorflow");
  predict(&r, &p, &peak);
  assert_int_equal(p.spill_copies, 0);
  stop(&r);
  for (int part = 2; part < 10; part++) {
    snprintf(config, 160, "sim=gpu:1,memory=64MiB; place=tensorflow; memory_limit.GPU=%llu",
             (unsigned long long)(peak * (uint64_t)part / 10));
    ferry_error err;
    ferry_stats before, after;
    ferry_device d;
    start(&r, f, config);
    predict(&r, &p, &small);
    bool ok = step(&r, &err) == 0 && p.spill_copies > 0;
    if (ok) {
      same_results(model, (bundle *)(uintptr_t)&f->whole, &r.b, false);
      ferry_session_stats(r.s, &before);
      ok = step(&r, &err) == 0;
      ferry_session_stats(r.s, &after);
      const int64_t moved = after.bytes_to_device - before.bytes_to_device + after.bytes_to_host -
                            before.bytes_to_host;
      assert_int_equal(ferry_device_get(r.rt, 1, &d), 0);
      print_message(
          "%s: %llu bytes on %llu: predicted %llu and %lld moved, measured %llu and %lld\n", model,
          (unsigned long long)peak, (unsigned long long)(peak * (uint64_t)part / 10),
          (unsigned long long)small, (long long)(p.spill_bytes + p.transfer_bytes),
          (unsigned long long)d.memory_peak, (long long)moved);
      assert_true(ok);
      assert_int_equal(small, d.memory_peak);
      assert_int_equal(p.spill_bytes + p.transfer_bytes, moved);
    }
    stop(&r);
    if (ok) return;
  }
  snprintf(config, 160, "sim=gpu:1,memory=64MiB; place=tensorflow");
  print_message("%s: one operation alone needs nearly all of its memory, so nothing spills\n",
                model);
}

static void fail_each(const char *model, const frozen *f, const char *config, fy_fault kind) {
  static const char *const names[] = {"memory", "device memory", "launch", "copy"};
  int failures = 0;
  int64_t nth = 1;
  runner r = {0};
  bundle first = {.sig = f->whole.sig};
  for (;; nth++) {
    // Device memory is taken by the first run only: each of those is a new session.
    const bool fresh = !r.rt || kind == FY_FAULT_DEVICE_ALLOC;
    if (fresh && r.rt) stop(&r);
    if (fresh) start(&r, f, config);
    ferry_error err;
    fy_fault_arm(kind, nth, false);
    int code = step(&r, &err);
    const bool hit = fy_fault_hits(kind) >= nth;
    fy_fault_disarm(kind);
    if (code) {
      assert_true(hit);
      failures++;
      assert_int_equal(code, kind == FY_FAULT_DEVICE_ALLOC ? 8 : 13);
      assert_non_null(strstr(err.text, "GPU:0"));
      for (int i = 0; i < MAX_ENDS; i++) assert_null(r.b.out[i]);
      if (step(&r, &err)) fail_msg("%s after %s %d: %s", model, names[kind], (int)nth, err.text);
    }
    same_results(model, (bundle *)(uintptr_t)&f->whole, &r.b, false);
    if (first.out[0]) same_results(model, &first, &r.b, true);
    if (!first.out[0])
      memcpy(first.out, r.b.out, sizeof first.out), memset(r.b.out, 0, sizeof first.out);
    if (!hit) break;
  }
  stop(&r);
  drop_results(&first);
  print_message("%s: each of %d calls for %s failed once, %d runs failed\n", model, (int)nth - 1,
                names[kind], failures);
  if (kind != FY_FAULT_DEVICE_ALLOC) assert_int_equal(failures, nth - 1);
  assert_true(nth > 1);
}

static void every_point(void **state) {
  const char *model = *state;
  char config[160];
  frozen f;
  freeze(&f, model);
  find_small(model, &f, config);
  fail_each(model, &f, config, FY_FAULT_LAUNCH);
  fail_each(model, &f, config, FY_FAULT_COPY);
  fail_each(model, &f, config, FY_FAULT_DEVICE_ALLOC);
  thaw(&f);
}

// The device is lost after each number of launches, in the middle of any of the runs: nobody asked for it,
// so the work is done elsewhere.
static void lost(void **state) {
  const char *model = *state;
  frozen f;
  int runs = 0, later = 0;
  freeze(&f, model);
  for (int after = 1; after < 40; after++) {
    char config[160];
    runner r;
    ferry_error err;
    ferry_stats stats;
    snprintf(config, sizeof config, "sim=gpu:1,memory=64MiB,lost_after=%d; place=tensorflow",
             after);
    start(&r, &f, config);
    for (int i = 0; i < 3; i++, runs++) {
      if (step(&r, &err)) fail_msg("%s, lost after %d launches: %s", model, after, err.text);
      same_results(model, &f.whole, &r.b, false);
    }
    ferry_session_stats(r.s, &stats);
    later += stats.programs_compiled > 1;
    stop(&r);
  }
  thaw(&f);
  print_message("%s: %d runs, the device was lost in %d of 39 sessions\n", model, runs, later);
  assert_true(later > 0);
}

// State that was on the device is gone with it: the status names the device, whatever happens next.
static void lost_state(void **state) {
  const char *model = *state;
  bundle whole, b;
  ferry_error err;
  int named = 0;
  open_bundle(&whole, model, "cpu_devices=1", true);
  if (run(&whole, &err)) fail_msg("%s", err.text);
  for (int after = 1; after < 60; after += 7) {
    char config[160];
    snprintf(config, sizeof config, "sim=gpu:1,memory=64MiB,lost_after=%d; place=tensorflow",
             after);
    if (!open_bundle(&b, model, config, false)) continue;  // lost while its variables were restored
    for (int i = 0; i < 3; i++) {
      if (run(&b, &err)) {
        assert_int_equal(err.code, 14);
        assert_non_null(strstr(err.text, "/device:GPU:0 is lost"));
        named++;
      } else {
        same_results(model, &whole, &b, false);
      }
    }
    close_bundle(&b);
  }
  close_bundle(&whole);
  assert_true(named > 0);
}

#define MODEL(name)                                          \
  {"points_" name, every_point, NULL, NULL, (void *)name},   \
      {"lost_" name, lost, NULL, NULL, (void *)name}, {      \
    "lost_state_" name, lost_state, NULL, NULL, (void *)name \
  }
int main(void) {
  setenv("FERRY_REGISTRY", "off", 1);
  const struct CMUnitTest tests[] = {MODEL("mlp"), MODEL("cnn"), MODEL("transformer"),
                                     MODEL("rnn_unrolled")};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

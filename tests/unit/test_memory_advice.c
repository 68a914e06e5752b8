// SPDX-License-Identifier: Apache-2.0
// What the out-of-memory report and the predictor advise is true: for random graphs and for the models
// of tests/data/zoo, the largest batch they name runs, one more does not, and its error names the same
// number; the session is usable afterwards. With spilling the larger one runs too, with the same result.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"

#define GRAPHS 120

#ifndef FERRY_TEST_DATA
#define FERRY_TEST_DATA "tests/data"
#endif

static uint32_t seed;
static uint32_t dice(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

static ferry_tensor *noise(int rank, const int64_t *dims) {
  ferry_tensor *t;
  assert_int_equal(ferry_tensor_new(1, rank, dims, NULL, &t, NULL), 0);
  float *f = ferry_tensor_data(t);
  for (int64_t i = 0; i < ferry_tensor_count(t); i++) f[i] = (float)dice(2001) / 1000.0f - 1;
  return t;
}

typedef struct made {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  int64_t width;
  char fetch[32], inits[512];
} made;

static void add(made *m, const char *op, const char *name, const char *inputs, const char *attrs,
                const ferry_tensor *value) {
  ferry_error err;
  const bool placed = strcmp(op, "Placeholder") != 0 && strcmp(op, "Const") != 0;
  if (ferry_graph_add(m->g, op, name, inputs, attrs, placed ? "/device:GPU:0" : NULL, value, &err))
    fail_msg("%s: %s", name, err.text);
}

// A chain of layers with weights that are constants or variables, skips and wide results in between.
static void build(made *m, uint32_t from) {
  char name[32], in[96], attrs[128], before[32] = "x";
  seed = from;
  int64_t width = m->width = 8 + dice(40), skip_width = width;
  char skip[32] = "x";
  add(m, "Placeholder", "x", NULL,
      (snprintf(attrs, sizeof attrs, "dtype=float; shape=[?,%lld]", (long long)width), attrs),
      NULL);
  const int layers = 2 + (int)dice(6);
  m->inits[0] = 0;
  for (int i = 0; i < layers; i++) {
    const uint32_t kind = dice(6);
    snprintf(name, sizeof name, "n%d", i);
    if (kind < 3) {
      const int64_t next = 8 + dice(48), dims[2] = {width, next};
      ferry_tensor *w = noise(2, dims);
      snprintf(in, sizeof in, "w%d", i);
      if (kind == 2) {
        char h[32], init[80];
        snprintf(h, sizeof h, "v%d", i);
        snprintf(attrs, sizeof attrs, "dtype=float; shape=[%lld,%lld]; shared_name=\"%s\"",
                 (long long)width, (long long)next, h);
        add(m, "VarHandleOp", h, NULL, attrs, NULL);
        snprintf(name, sizeof name, "c%d", i);
        add(m, "Const", name, NULL, "dtype=float", w);
        snprintf(init, sizeof init, "%s, %s", h, name);
        snprintf(name, sizeof name, "init%d", i);
        add(m, "AssignVariableOp", name, init, "dtype=float", NULL);
        snprintf(m->inits + strlen(m->inits), sizeof m->inits - strlen(m->inits), "%s ", name);
        add(m, "ReadVariableOp", in, h, "dtype=float", NULL);
        snprintf(name, sizeof name, "n%d", i);
      } else {
        add(m, "Const", in, NULL, "dtype=float", w);
      }
      ferry_tensor_free(w);
      char both[160];
      snprintf(both, sizeof both, "%s, %s", before, in);
      add(m, "MatMul", name, both, NULL, NULL);
      width = next;
    } else if (kind == 4 && skip_width == width) {
      snprintf(in, sizeof in, "%s, %s", before, skip);
      add(m, "Mul", name, in, NULL, NULL);
    } else {
      add(m, dice(2) ? "Softplus" : "Tanh", name, before, NULL, NULL);
    }
    snprintf(before, sizeof before, "n%d", i);
    if (dice(3) == 0) {
      snprintf(skip, sizeof skip, "%s", before);
      skip_width = width;
    }
  }
  snprintf(m->fetch, sizeof m->fetch, "%s", before);
}

static int run(made *m, int64_t batch, ferry_tensor **y, ferry_error *err) {
  const int64_t dims[2] = {batch, m->width};
  seed = (uint32_t)batch;
  ferry_tensor *x = noise(2, dims);
  const char *feed = "x", *fetch = m->fetch;
  int code = ferry_run(m->s, 1, &feed, &x, 1, &fetch, y, 0, err);
  ferry_tensor_free(x);
  return code;
}

static bool open_made(made *m, uint32_t from, const char *config) {
  ferry_error err;
  if (ferry_open(config, &m->rt, &err)) fail_msg("%s", err.text);
  assert_int_equal(ferry_graph_new(m->rt, &m->g, &err), 0);
  build(m, from);
  assert_int_equal(ferry_session_new(m->rt, m->g, &m->s, &err), 0);
  char inits[512], *save, *word;
  snprintf(inits, sizeof inits, "%s", m->inits);
  for (word = strtok_r(inits, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    const char *one = word;
    ferry_tensor *none = NULL;
    if (ferry_run(m->s, 0, NULL, NULL, 1, &one, &none, 0, &err))
      return false;  // too small for that
  }
  return true;
}

static void close_made(made *m) {
  ferry_session_free(m->s);
  ferry_graph_free(m->g);
  ferry_close(m->rt);
}

static void random_graphs(void **state) {
  (void)state;
  int checked = 0, spilled = 0;
  for (uint32_t from = 1; from <= GRAPHS; from++) {
    char config[160];
    made m = {0};
    seed = from * 77;
    const unsigned kib = 96 + dice(700);
    snprintf(config, sizeof config, "sim=gpu:1,memory=64MiB; memory_limit.GPU=%uKiB; spill=never",
             kib);
    if (!open_made(&m, from, config)) {
      close_made(&m);
      continue;
    }
    ferry_prediction p;
    ferry_error err;
    ferry_request r = {.fetch = m.fetch};
    if (ferry_predict(m.s, &r, &p, &err)) fail_msg("%s", err.text);
    const int64_t most = p.devices[p.num_devices - 1].largest_batch;
    ferry_tensor *y = NULL, *z = NULL;
    if (most > 0 && run(&m, most, &y, &err))
      fail_msg("graph %u, %s: batch %lld should run: %s", from, config, (long long)most, err.text);
    ferry_tensor_free(y);
    y = NULL;
    const int code = run(&m, most + 1, &y, &err);
    if (code != 8)
      fail_msg("graph %u, %s: batch %lld gives %d", from, config, (long long)most + 1, code);
    char line[64];
    snprintf(line, sizeof line, "The largest batch that fits is %lld.", (long long)most);
    if (!strstr(err.text, line)) fail_msg("graph %u: no '%s' in: %s", from, line, err.text);
    if (strncmp(err.text, "OOM when allocating tensor with shape[", 38) != 0)
      fail_msg("graph %u: %s", from, err.text);
    if (most > 0) {
      if (run(&m, most, &y, &err)) fail_msg("graph %u: not usable: %s", from, err.text);
      ferry_tensor_free(y);
    }
    close_made(&m);
    checked++;
    // With spilling.
    made roomy = {0}, tight = {0};
    snprintf(config, sizeof config, "sim=gpu:1,memory=64MiB; memory_limit.GPU=%uKiB", kib);
    assert_true(open_made(&roomy, from, "sim=gpu:1,memory=64MiB"));
    if (open_made(&tight, from, config)) {
      if (run(&roomy, most + 1, &y, &err)) fail_msg("%s", err.text);
      if (!run(&tight, most + 1, &z, &err)) {
        assert_memory_equal(ferry_tensor_data(y), ferry_tensor_data(z), ferry_tensor_bytes(y));
        spilled++;
      } else {  // one operation alone
        assert_null(strstr(err.text, "With spilling (spill=auto) it fits"));
      }
      ferry_tensor_free(y);
      ferry_tensor_free(z);
    }
    close_made(&roomy);
    close_made(&tight);
  }
  print_message("%d graphs; %d ran one more by spilling\n", checked, spilled);
  assert_true(checked > 40 && spilled > 10);
}

// Signatures of one float input with a free first dimension.
static void bundled_models(void **state) {
  (void)state;
  static const char *const names[] = {"mlp",         "cnn",          "lstm",   "masked",
                                      "transformer", "rnn_unrolled", "text_pb"};
  int checked = 0;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    for (unsigned kib = 300; kib <= 4000; kib *= 3) {
      char path[256], config[160], line[64];
      ferry_runtime *rt;
      ferry_model *m;
      ferry_error err;
      const ferry_signature *sig;
      snprintf(path, sizeof path, FERRY_TEST_DATA "/zoo/%s", names[k]);
      snprintf(config, sizeof config,
               "sim=gpu:1,memory=64MiB; memory_limit.GPU=%uKiB; place=tensorflow; spill=never",
               kib);
      if (ferry_open(config, &rt, &err)) fail_msg("%s", err.text);
      if (ferry_model_load(rt, path, NULL, &m, &err)) {
        assert_int_equal(err.code, 8);  // its variables alone are too much
        ferry_close(rt);
        continue;
      }
      int code = ferry_model_signature(m, NULL, &sig, &err);
      const ferry_model_value *in = !code && sig->num_inputs == 1 ? &sig->inputs[0] : NULL;
      ferry_prediction p;
      bool fits = in && in->dtype == 1 && in->rank > 0 && in->dims[0] < 0;
      for (int d = 1; fits && d < in->rank; d++) fits = in->dims[d] > 0;
      if (fits) {
        ferry_request r = {.fetch = sig->outputs[0].tensor, .feed = in->tensor};
        if (ferry_predict(ferry_model_session(m), &r, &p, &err)) fail_msg("%s: %s", path, err.text);
        const int64_t most = p.devices[p.num_devices - 1].largest_batch;
        fits = most >= 0 && most < 20000 && strcmp(p.first_exhausted, "GPU:0") == 0;
        for (int more = 0; fits && more < 3; more++) {  // the most, one more, the most again
          int64_t dims[8];
          for (int d = 0; d < in->rank; d++) dims[d] = in->dims[d];
          dims[0] = most + (more == 1);
          if (!dims[0]) continue;
          ferry_tensor *x = noise(in->rank, dims), *y = NULL;
          code = ferry_run(ferry_model_session(m), 1, &in->tensor, &x, 1, &sig->outputs[0].tensor,
                           &y, 0, &err);
          ferry_tensor_free(x);
          ferry_tensor_free(y);
          if (code != (more == 1 ? 8 : 0))
            fail_msg("%s, %u KiB, batch %lld: %d %s", names[k], kib, (long long)dims[0], code,
                     code ? err.text : "");
          snprintf(line, sizeof line, "The largest batch that fits is %lld.", (long long)most);
          if (more == 1 && !strstr(err.text, line)) fail_msg("%s: %s", names[k], err.text);
          checked += more == 1;
        }
        if (fits) print_message("%s in %u KiB: batch %lld\n", names[k], kib, (long long)most);
      }
      ferry_model_free(m);
      ferry_close(rt);
    }
  }
  assert_true(checked >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_graphs),
      cmocka_unit_test(bundled_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// TensorFlow 1's control flow: the graphs of tests/data/flow with what the real TensorFlow made of them
// (tools/make_flow_graphs.py), on the CPU and with a simulated GPU, optimised and not.

#include "support_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/import.h"
#include "sample.h"
#include "wire/file.h"
#include "wire/proto_util.h"

#define MAX_ENDS 32

typedef struct run_case {
  fy_output feeds[MAX_ENDS], fetches[MAX_ENDS];
  fy_tensor *values[MAX_ENDS], *want[MAX_ENDS], *got[MAX_ENDS];
  fy_node *targets[MAX_ENDS];
  int num_feeds, num_fetches, num_targets;
  int code;
  char error[1024];
} run_case;

static void load_graph(fy_graph *g, const char *name) {
  char path[256];
  uint8_t *bytes;
  size_t n;
  fy_arena a;
  fy_error err;
  fy_error_init(&err);
  fy_arena_init(&a);
  snprintf(path, sizeof path, "tests/data/flow/%s.pb", name);
  if (fy_wire_file_load(path, 1 << 24, &bytes, &n, &err)) fail_msg("%s", fy_error_text(&err));
  ProtobufCMessage *m;
  if (fy_wire_unpack(&tensorflow__graph_def__descriptor, bytes, n, NULL, &a, &m, &err))
    fail_msg("%s: %s", path, fy_error_text(&err));
  if (fy_graph_import(g, (const Tensorflow__GraphDef *)m, NULL, &a, NULL, &err))
    fail_msg("%s: %s", path, fy_error_text(&err));
  fy_free(bytes);
  fy_arena_free(&a);
}

static fy_output find(fy_graph *g, const char *tensor) {
  int32_t index;
  fy_view v = fy_graph_parse_input(tensor, &index);
  char name[256];
  snprintf(name, sizeof name, "%.*s", (int)v.n, v.p);
  fy_node *n = fy_graph_find(g, name);
  if (!n) fail_msg("no node %s", tensor);
  return (fy_output){n, index};
}

static int hex(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void set_element(fy_tensor *t, int64_t i, const char *text) {
  switch (t->dtype) {
    case FY_FLOAT: ((float *)t->data)[i] = strtof(text, NULL); break;
    case FY_DOUBLE: ((double *)t->data)[i] = strtod(text, NULL); break;
    case FY_INT32: ((int32_t *)t->data)[i] = atoi(text); break;
    case FY_INT64: ((int64_t *)t->data)[i] = atoll(text); break;
    case FY_BOOL: ((bool *)t->data)[i] = text[0] == '1'; break;
    case FY_STRING: {
      char bytes[256];
      size_t n = 0;
      for (; text[0] != '-' && text[2 * n]; n++)
        bytes[n] = (char)(hex(text[2 * n]) * 16 + hex(text[2 * n + 1]));
      assert_true(fy_tensor_set_string(t, i, bytes, n));
      break;
    }
    default: fail_msg("a type that these tests do not know");
  }
}

static fy_tensor *parse_tensor(char *text) {
  char *save, *dtype = strtok_r(text, " ", &save), *shape = strtok_r(NULL, " ", &save);
  int64_t dims[8];
  int32_t rank = 0;
  fy_dtype t;
  if (!dtype) return NULL;
  assert_true(fy_dtype_parse(dtype, strlen(dtype), &t));
  if (shape[0] != '-')
    for (char *p = shape; *p; p += *p == ',') dims[rank++] = strtoll(p, &p, 10);
  fy_tensor *out;
  assert_int_equal(fy_tensor_new(t, rank, dims, &out, NULL), FY_OK);
  for (int64_t i = 0; i < out->count; i++) set_element(out, i, strtok_r(NULL, " ", &save));
  return out;
}

static void run(env *e, run_case *c, const char *where) {
  fy_error err;
  fy_error_init(&err);
  fy_run_args args = {.feeds = c->feeds,
                      .feed_values = c->values,
                      .num_feeds = c->num_feeds,
                      .fetches = c->fetches,
                      .num_fetches = c->num_fetches,
                      .targets = c->targets,
                      .num_targets = c->num_targets};
  for (int again = 0; again < (c->num_fetches && !c->num_targets && c->code ? 2 : 1); again++) {
    fy_code code = fy_session_run(e->s, &args, c->got, &err);
    const char *text = fy_error_text(&err);
    if ((int)code != c->code)
      fail_msg("%s: code %d (%s) where %d was expected", where, (int)code, text, c->code);
    if (code && (strncmp(text, c->error, strlen(c->error)) != 0))
      fail_msg("%s: '%s' where '%s' was expected", where, text, c->error);
    fy_error_clear(&err);
    for (int i = 0; !code && i < c->num_fetches; i++) {
      same_tensor(where, c->fetches[i].node->name, c->want[i], c->got[i], 2e-6);
      fy_tensor_release(c->got[i]);
    }
  }
  for (int i = 0; i < c->num_feeds; i++) fy_tensor_release(c->values[i]);
  for (int i = 0; i < c->num_fetches; i++) fy_tensor_release(c->want[i]);
}

static int play(const char *config) {
  FILE *in = fopen("tests/data/flow/cases.txt", "r");
  if (!in) fail_msg("tests/data/flow/cases.txt is missing");
  char *line = NULL, name[64] = "", where[256];
  size_t cap = 0;
  env e;
  bool open = false;
  run_case c = {0};
  int runs = 0, line_number = 0;
  while (getline(&line, &cap, in) > 0) {
    line_number++;
    line[strcspn(line, "\n")] = 0;
    char *save, *word = strtok_r(line, " ", &save), *arg = strtok_r(NULL, " ", &save);
    if (!word || word[0] == '#') continue;
    if (strcmp(word, "case") == 0) {
      if (open) env_close(&e);
      env_open(&e, config);
      snprintf(name, sizeof name, "%s", arg);
      load_graph(e.g, name);
      env_session(&e);
      open = true;
    } else if (strcmp(word, "run") == 0) {
      c = (run_case){0};
    } else if (strcmp(word, "feed") == 0) {
      c.feeds[c.num_feeds] = find(e.g, arg);
      c.values[c.num_feeds++] = parse_tensor(save);
    } else if (strcmp(word, "fetch") == 0) {
      c.fetches[c.num_fetches] = find(e.g, arg);
      c.want[c.num_fetches++] = parse_tensor(save);
    } else if (strcmp(word, "target") == 0) {
      c.targets[c.num_targets++] = find(e.g, arg).node;
    } else if (strcmp(word, "error") == 0) {
      c.code = atoi(arg);
      snprintf(c.error, sizeof c.error, "%s", save);
    } else if (strcmp(word, "end") == 0) {
      snprintf(where, sizeof where, "%s (line %d, %s)", name, line_number,
               config ? config : "as usual");
      run(&e, &c, where);
      runs++;
    }
  }
  if (open) env_close(&e);
  free(line);
  fclose(in);
  return runs;
}

static void on_cpu(void **state) {
  (void)state;
  assert_true(play(NULL) > 80);
}
static void not_optimised(void **state) {
  (void)state;
  play("optimize=off");
}
static void with_gpu(void **state) {
  (void)state;
  play("sim=gpu:1,memory=64MiB");
}
static void placed_as_tensorflow(void **state) {
  (void)state;
  play("sim=gpu:1,memory=64MiB; place=tensorflow");
}

// A graph with a bit wrong is refused, or runs, or fails; it never crashes or hangs.
static void damaged(void **state) {
  (void)state;
  static const char *const names[] = {"while_nested", "raw_switch", "dead_loops", "while_ta",
                                      "cond_refs"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    char path[256];
    uint8_t *bytes;
    size_t n;
    fy_error err;
    fy_error_init(&err);
    snprintf(path, sizeof path, "tests/data/flow/%s.pb", names[k]);
    assert_int_equal(fy_wire_file_load(path, 1 << 24, &bytes, &n, &err), FY_OK);
    for (size_t at = 0; at < n; at += 11) {
      if (!sample_takes(at)) continue;
      env e;
      fy_arena a;
      ProtobufCMessage *m;
      env_open(&e, NULL);
      fy_arena_init(&a);
      bytes[at] ^= (uint8_t)(1u << (at % 7));
      fy_code code =
          fy_wire_unpack(&tensorflow__graph_def__descriptor, bytes, n, NULL, &a, &m, &err);
      if (!code) code = fy_graph_import(e.g, (const Tensorflow__GraphDef *)m, NULL, &a, NULL, &err);
      bytes[at] ^= (uint8_t)(1u << (at % 7));
      if (!code) env_session(&e);
      for (size_t i = 0; !code && i < e.g->num_nodes; i += 3) {
        fy_node *target = e.g->nodes[i];
        fy_run_args args = {.targets = &target, .num_targets = 1, .timeout_ms = 200};
        (void)!fy_session_run(e.s, &args, NULL, &err);
        fy_error_clear(&err);
      }
      fy_error_clear(&err);
      fy_arena_free(&a);
      env_close(&e);
    }
    fy_free(bytes);
  }
}

// The N-th allocation fails, for every N: the run says so, and the next one works.
static void short_of_memory(void **state) {
  (void)state;
  static const struct {
    const char *graph, *feed, *fetch;
  } runs[] = {{"while_nested", "n", "acc"}, {"dead_loops", NULL, "y"}};
  for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
    for (int64_t nth = 1;; nth = sample_after(nth)) {
      env e;
      fy_error err;
      fy_error_init(&err);
      env_open(&e, "inter_threads=1; intra_threads=1");
      load_graph(e.g, runs[k].graph);
      env_session(&e);
      char number[] = "int32 - 4", yes[] = "bool - 1", one[] = "float - 1";
      fy_output feeds[2] = {find(e.g, runs[k].feed ? runs[k].feed : "p"), {0}};
      fy_tensor *values[2] = {parse_tensor(runs[k].feed ? number : yes), NULL}, *out = NULL;
      if (!runs[k].feed) {
        feeds[1] = find(e.g, "x");
        values[1] = parse_tensor(one);
      }
      fy_output fetch = find(e.g, runs[k].fetch);
      fy_run_args args = {.feeds = feeds,
                          .feed_values = values,
                          .num_feeds = runs[k].feed ? 1 : 2,
                          .fetches = &fetch,
                          .num_fetches = 1};
      fy_fault_arm(FY_FAULT_ALLOC, nth, false);
      fy_code code = fy_session_run(e.s, &args, &out, &err);
      int64_t hits = fy_fault_hits(FY_FAULT_ALLOC);
      fy_fault_disarm(FY_FAULT_ALLOC);
      if (code) {
        assert_int_equal(code, FY_RESOURCE_EXHAUSTED);
        fy_error_clear(&err);
        if (fy_session_run(e.s, &args, &out, &err)) fail_msg("%s", fy_error_text(&err));
      }
      fy_tensor_release(out);
      for (int i = 0; i < args.num_feeds; i++) fy_tensor_release(values[i]);
      env_close(&e);
      if (hits < nth) break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_cpu),   cmocka_unit_test(not_optimised),
      cmocka_unit_test(with_gpu), cmocka_unit_test(placed_as_tensorflow),
      cmocka_unit_test(damaged),  cmocka_unit_test(short_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

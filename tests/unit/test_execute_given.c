// SPDX-License-Identifier: Apache-2.0
// Results that take over the memory of arguments which their caller gives away: loops and calls made at random
// give what the same nodes give one after the other, nothing that others hold is written to, a large loop takes
// no more memory than it must, and what was predicted is what it takes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ferry/ferry.h"
#include "sample.h"

#define FLOAT 1
#define INT32 3

enum { SIDE = 24, MOST_ARGS = 4, MOST_NODES = 8, MOST_VALUES = MOST_ARGS + MOST_NODES };

typedef enum kind { ADD, SUB, MAX, NEG, SIGMOID, MATMUL, CALL, ROLL, BRANCH, KINDS } kind;
typedef enum start { FED, MADE, CONSTANT, VARIABLE, STARTS } start;

// body(args…) -> results…: nodes read what stands before them.
typedef struct form {
  int args, nodes, trips;
  bool told;   // the number of steps is a constant
  bool list;   // every step adds its first argument to a list
  bool frame;  // it is there in the form of TensorFlow 1, too
  start from[MOST_ARGS];
  struct {
    kind kind;
    int a, b;
  } node[MOST_NODES];
  int result[MOST_ARGS];  // value
} form;

static uint32_t seed;

static int below(int n) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (uint32_t)n);
}

static form make(void) {
  form f = {.args = 1 + below(MOST_ARGS), .nodes = 1 + below(MOST_NODES), .trips = 1 + below(6)};
  f.told = below(2);
  f.list = !below(4);
  for (int i = 0; i < f.args; i++) f.from[i] = (start)below(STARTS);
  for (int i = 0; i < f.nodes; i++) {
    f.node[i].kind = (kind)below(KINDS);
    f.node[i].a = below(3) ? f.args + i - 1 : below(f.args + i);
    f.node[i].b = below(f.args + i);
    f.frame |= f.node[i].kind == ROLL;  // has constants, which would have to be told of the frame
  }
  f.frame = !f.frame;
  for (int i = 0; i < f.args; i++)
    f.result[i] = below(4) ? f.args + f.nodes - 1 - below(f.nodes) : below(f.args + f.nodes);
  return f;
}

// ------------------------------------------------------------------ the graph as text
static void node(fy_str *s, bool inside, const char *name, const char *op, const char *inputs,
                 const char *attrs) {
  fy_str_printf(s, "%s { name: '%s' op: '%s' ", inside ? "node_def" : "node", name, op);
  while (*inputs) {
    const char *end = strchr(inputs, ' ');
    const int n = end ? (int)(end - inputs) : (int)strlen(inputs);
    fy_str_printf(s, "input: '%.*s' ", n, inputs);
    inputs += n + (end != NULL);
  }
  fy_str_printf(s, "%s } ", attrs);
}

#define TYPE(key_, t_)  "attr { key: '" key_ "' value { type: " t_ " } } "
#define TYPES(key_, t_) "attr { key: '" key_ "' value { list { " t_ " } } } "
#define FN(key_, name_) "attr { key: '" key_ "' value { func { name: '" name_ "' } } } "
#define ONE             "type: DT_FLOAT "
#define F32             TYPE("T", "DT_FLOAT")

static void integer(fy_str *s, bool inside, const char *name, int v) {
  char attrs[256];
  snprintf(attrs, sizeof attrs,
           TYPE("dtype", "DT_INT32") "attr { key: 'value' value { tensor { dtype: DT_INT32 "
                                     "tensor_shape { } int_val: %d } } }",
           v);
  node(s, inside, name, "Const", "", attrs);
}

// The name of output |i|, called |arg|, of a node in a graph or in a function.
static void output(bool inside, const char *name, const char *arg, int i, char to[64]) {
  if (inside)
    snprintf(to, 64, "%.30s:%.20s:%d", name, arg, i);
  else
    snprintf(to, 64, "%.50s:%d", name, i);
}

// The halves of |a| change places.
static void roll(fy_str *s, bool inside, const char *name, const char *a) {
  char made[80], axis[64], split[80], half[2][64], in[256];
  snprintf(made, sizeof made, "%s_axis", name);
  snprintf(split, sizeof split, "%s_split", name);
  integer(s, inside, made, 0);
  output(inside, made, "output", 0, axis);
  snprintf(in, sizeof in, "%s %s", axis, a);
  node(s, inside, split, "Split", in, F32 "attr { key: 'num_split' value { i: 2 } } ");
  for (int i = 0; i < 2; i++) output(inside, split, "output", i, half[i]);
  snprintf(in, sizeof in, "%s %s %s", half[1], half[0], axis);
  node(s, inside, name, "ConcatV2", in, F32 "attr { key: 'N' value { i: 2 } } ");
}

// The nodes of |f|, named by |prefix|; |value| has the names of the arguments and gets those of the nodes.
static void add_nodes(fy_str *s, const form *f, bool inside, const char *prefix,
                      char value[MOST_VALUES][64]) {
  static const char *const ops[] = {"AddV2", "Sub", "Maximum", "Neg", "Sigmoid", "MatMul"};
  static const char *const outs[] = {"z", "z", "z", "y", "y", "product"};
  for (int i = 0; i < f->nodes; i++) {
    const kind k = f->node[i].kind;
    const char *a = value[f->node[i].a], *b = value[f->node[i].b];
    char name[64], in[256];
    snprintf(name, sizeof name, "%sn%d", prefix, i);
    snprintf(in, sizeof in, k == NEG || k == SIGMOID ? "%s" : "%s %s", a, b);
    if (k <= MATMUL) {
      node(s, inside, name, ops[k], in, F32);
    } else if (k == CALL) {
      node(s, inside, name, "PartitionedCall", in,
           TYPES("Tin", ONE ONE) TYPES("Tout", ONE) FN("f", "called"));
    } else if (k == BRANCH) {  // a matrix that is not empty is true
      snprintf(in, sizeof in, "%s %s %s", value[0], a, b);
      node(s, inside, name, "StatelessIf", in,
           TYPE("Tcond", "DT_FLOAT") TYPES("Tin", ONE ONE) TYPES("Tout", ONE)
               FN("then_branch", "called") FN("else_branch", "called"));
    } else {
      roll(s, inside, name, a);
    }
    output(inside, name, k <= MATMUL ? outs[k] : "output", 0, value[f->args + i]);
  }
}

#define LIST "attr { key: 'element_dtype' value { type: DT_FLOAT } } "

static void push(fy_str *s, const form *f, bool inside, const char *name, const char *list,
                 char value[MOST_VALUES][64], char out[64]) {
  char in[160];
  if (!f->list) return;
  snprintf(in, sizeof in, "%.60s %.60s", list, value[0]);
  node(s, inside, name, "TensorListPushBack", in, LIST);
  output(inside, name, "output_handle", 0, out);
}

static void signature(fy_str *s, const form *f, const char *name, const char *result, int results) {
  fy_str_printf(s, "function { signature { name: '%s' input_arg { name: 'i' type: DT_INT32 } ",
                name);
  fy_str_printf(s, "input_arg { name: 'limit' type: DT_INT32 } ");
  for (int i = 0; i < f->args; i++)
    fy_str_printf(s, "input_arg { name: 'x%d' type: DT_FLOAT } ", i);
  if (f->list) fy_str_printf(s, "input_arg { name: 'list' type: DT_VARIANT } ");
  if (!results) fy_str_printf(s, "output_arg { name: '%s' type: DT_BOOL } ", result);
  for (int i = 0; i < results; i++)
    fy_str_printf(s, "output_arg { name: '%s%d' type: %s } ", result, i,
                  i < 2             ? "DT_INT32"
                  : i - 2 < f->args ? "DT_FLOAT"
                                    : "DT_VARIANT");
  fy_str_printf(s, "} ");
}

// called(a, b) = a * a - b, which no optimiser may take apart; more and step of the loop.
static void add_library(fy_str *s, const form *f) {
  char value[MOST_VALUES][64], list[64] = "list";
  fy_str_printf(s,
                "library { function { signature { name: 'called' input_arg { name: 'a' type: "
                "DT_FLOAT } input_arg { name: 'b' type: DT_FLOAT } output_arg { name: 'r' type: "
                "DT_FLOAT } } attr { key: '_noinline' value { b: true } } ");
  node(s, true, "m", "Mul", "a a", F32);
  node(s, true, "d", "Sub", "m:z:0 b", F32);
  fy_str_printf(s, "ret { key: 'r' value: 'd:z:0' } } ");
  signature(s, f, "more", "go", 0);
  node(s, true, "less", "Less", "i limit", TYPE("T", "DT_INT32"));
  fy_str_printf(s, "ret { key: 'go' value: 'less:z:0' } } ");
  signature(s, f, "step", "r", 2 + f->args + f->list);
  integer(s, true, "one", 1);
  node(s, true, "next", "AddV2", "i one:output:0", TYPE("T", "DT_INT32"));
  for (int i = 0; i < f->args; i++) snprintf(value[i], 64, "x%d", i);
  push(s, f, true, "push", "list", value, list);
  add_nodes(s, f, true, "", value);
  fy_str_printf(s, "ret { key: 'r0' value: 'next:z:0' } ret { key: 'r1' value: 'limit' } ");
  for (int i = 0; i < f->args; i++)
    fy_str_printf(s, "ret { key: 'r%d' value: '%s' } ", i + 2, value[f->result[i]]);
  if (f->list) fy_str_printf(s, "ret { key: 'r%d' value: '%s' } ", f->args + 2, list);
  fy_str_printf(s, "} } ");
}

static void in_frame(fy_str *s, const char *prefix, int i, const char *op, const char *inputs,
                     const char *type, const char *attrs) {
  char name[32], all[512];
  snprintf(name, sizeof name, "%s%d", prefix, i);
  snprintf(all, sizeof all, "attr { key: 'T' value { type: %s } } %s", type, attrs);
  node(s, false, name, op, inputs, all);
}

// The same loop as TensorFlow 1 has it: "exit0", … are what it returns.
static void add_frame(fy_str *s, const form *f, char first[MOST_VALUES][64]) {
#define FRAME "attr { key: 'frame_name' value { s: 'f' } } "
  const int n = f->args + f->list + 1;  // the counter is the last
  char value[MOST_VALUES][64], in[128], list[64];
  for (int i = 0; i < n; i++) {
    const char *type = i < f->args ? "DT_FLOAT" : i == n - 1 ? "DT_INT32" : "DT_VARIANT";
    in_frame(s, "enter", i, "Enter",
             i < f->args  ? first[i]
             : i == n - 1 ? "zero"
                          : "empty",
             type, FRAME);
    snprintf(in, sizeof in, "enter%d round%d", i, i);
    in_frame(s, "merge", i, "Merge", in, type, "attr { key: 'N' value { i: 2 } } ");
    snprintf(in, sizeof in, "merge%d goes", i);
    in_frame(s, "switch", i, "Switch", in, type, "");
    snprintf(in, sizeof in, "switch%d:0", i);
    in_frame(s, "exit", i, "Exit", in, type, "");
    snprintf(value[i], 64, "switch%d:1", i);
  }
  snprintf(list, sizeof list, "switch%d:1", f->args);
  snprintf(in, sizeof in, "switch%d:1 one_", n - 1);
  node(s, false, "one_", "Enter", "one",
       TYPE("T", "DT_INT32") FRAME "attr { key: 'is_constant' value { b: true } } ");
  node(s, false, "limit_", "Enter", "limit",
       TYPE("T", "DT_INT32") FRAME "attr { key: 'is_constant' value { b: true } } ");
  node(s, false, "next_", "AddV2", in, TYPE("T", "DT_INT32"));
  snprintf(in, sizeof in, "merge%d limit_", n - 1);
  node(s, false, "less_", "Less", in, TYPE("T", "DT_INT32"));
  node(s, false, "goes", "LoopCond", "less_", "");
  push(s, f, false, "push_", list, value, list);
  add_nodes(s, f, false, "f_", value);
  for (int i = 0; i < n; i++)
    in_frame(s, "round", i, "NextIteration",
             i < f->args  ? value[f->result[i]]
             : i == n - 1 ? "next_"
                          : list,
             i < f->args  ? "DT_FLOAT"
             : i == n - 1 ? "DT_INT32"
                          : "DT_VARIANT",
             "");
}

// What the loop begins with: |value| gets the names.
static void add_starts(fy_str *s, const form *f, char value[MOST_VALUES][64]) {
  node(s, false, "x", "Placeholder", "", TYPE("dtype", "DT_FLOAT"));
  node(s, false, "made", "Neg", "x", F32);
  node(s, false, "constant", "Const", "",
       TYPE("dtype", "DT_FLOAT") "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape "
                                 "{ dim { size: 24 } dim { size: 24 } } float_val: 0.75 } } }");
  node(s, false, "v", "VarHandleOp", "",
       TYPE("dtype", "DT_FLOAT") "attr { key: 'shape' value { shape { dim { size: 24 } dim { size: "
                                 "24 } } } }");
  node(s, false, "init", "AssignVariableOp", "v constant", TYPE("dtype", "DT_FLOAT"));
  node(s, false, "variable", "ReadVariableOp", "v", TYPE("dtype", "DT_FLOAT"));
  integer(s, false, "zero", 0);
  integer(s, false, "one", 1);
  integer(s, false, "any", -1);
  if (f->told)
    integer(s, false, "limit", f->trips);
  else
    node(s, false, "limit", "Placeholder", "", TYPE("dtype", "DT_INT32"));
  node(s, false, "empty", "EmptyTensorList", "any any",
       LIST "attr { key: 'shape_type' value { type: DT_INT32 } } ");
  static const char *const names[STARTS] = {"x", "made", "constant", "variable"};
  for (int i = 0; i < f->args; i++) snprintf(value[i], 64, "%s", names[f->from[i]]);
}

// "loop:2", … are what the loop returns, and "u0", … what its nodes do one after the other.
static void add_graph(fy_str *s, const form *f) {
  char value[MOST_VALUES][64], next[MOST_ARGS][64], list[64] = "empty", prefix[32], in[512];
  add_starts(s, f, value);
  int at = snprintf(in, sizeof in, "zero limit");
  for (int i = 0; i < f->args; i++)
    at += snprintf(in + at, sizeof in - (size_t)at, " %s", value[i]);
  if (f->list) snprintf(in + at, sizeof in - (size_t)at, " empty");
  fy_str attrs;
  fy_str_init(&attrs);
  fy_str_printf(&attrs, "attr { key: 'T' value { list { type: DT_INT32 type: DT_INT32 ");
  for (int i = 0; i < f->args; i++) fy_str_printf(&attrs, ONE);
  fy_str_printf(&attrs, "%s} } } " FN("cond", "more") FN("body", "step"),
                f->list ? "type: DT_VARIANT " : "");
  node(s, false, "loop", "StatelessWhile", in, fy_str_text(&attrs));
  fy_str_free(&attrs);
  if (f->frame) add_frame(s, f, value);
  for (int t = 0; t < f->trips; t++) {
    char name[64];
    snprintf(prefix, sizeof prefix, "u%d_", t);
    snprintf(name, sizeof name, "u%d_push", t);
    push(s, f, false, name, list, value, list);
    add_nodes(s, f, false, prefix, value);
    for (int i = 0; i < f->args; i++) memcpy(next[i], value[f->result[i]], 64);
    for (int i = 0; i < f->args; i++) memcpy(value[i], next[i], 64);
  }
  for (int i = 0; i < f->args; i++) {
    snprintf(prefix, sizeof prefix, "u%d", i);
    node(s, false, prefix, "Identity", value[i], F32);
  }
  if (f->list) {
    if (f->frame)
      snprintf(in, sizeof in, "exit%d any", f->args);
    else
      snprintf(in, sizeof in, "loop:%d any", f->args + 2);
    node(s, false, "of_loop", "TensorListStack", in, LIST);
    snprintf(in, sizeof in, "%s any", list);
    node(s, false, "of_nodes", "TensorListStack", in, LIST);
  }
  add_library(s, f);
}

// ------------------------------------------------------------------ running it
typedef struct fixture {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
} fixture;

static void ok(int code, const ferry_error *err) {
  if (code) fail_msg("%d: %s", code, err->text);
}

static void open_text(fixture *o, const char *config, const fy_str *text) {
  ferry_error err;
  const char *init = "^init";
  ok(ferry_open(config, &o->rt, &err), &err);
  ok(ferry_graph_parse(o->rt, fy_str_text(text), text->len, &o->g, &err), &err);
  ok(ferry_session_new(o->rt, o->g, &o->s, &err), &err);
  ok(ferry_run(o->s, 0, NULL, NULL, 1, &init, (ferry_tensor *[]){NULL}, 0, &err), &err);
}

static void close_all(fixture *o) {
  ferry_session_free(o->s);
  ferry_graph_free(o->g);
  ferry_close(o->rt);
}

static ferry_tensor *ramp(int64_t side) {
  ferry_tensor *t;
  ferry_error err;
  ok(ferry_tensor_new(FLOAT, 2, (const int64_t[]){side, side}, NULL, &t, &err), &err);
  float *at = ferry_tensor_data(t);
  for (int64_t i = 0; i < ferry_tensor_count(t); i++) at[i] = (float)(i % 13 - 6) / 16;
  return t;
}

// But for the sign of what is not a number.
static bool same(ferry_tensor *a, ferry_tensor *b) {
  const float *x = ferry_tensor_data(a), *y = ferry_tensor_data(b);
  bool equal = ferry_tensor_count(a) == ferry_tensor_count(b);
  for (int64_t i = 0; equal && i < ferry_tensor_count(a); i++)
    equal = memcmp(&x[i], &y[i], sizeof *x) == 0 || (x[i] != x[i] && y[i] != y[i]);
  return equal;
}

// The loop and its nodes, with the variable before and after it; everything is as it was.
static void compare(fixture *o, const form *f, int number) {
  ferry_error err;
  const char *feeds[2] = {"x", "limit"}, *fetches[4 * MOST_ARGS + 4];
  char names[MOST_ARGS][3][16];
  int n = 0;
  for (int i = 0; i < f->args; i++) {
    snprintf(names[i][0], 16, "loop:%d", i + 2);
    snprintf(names[i][1], 16, "u%d", i);
    snprintf(names[i][2], 16, "exit%d", i);
    fetches[n++] = names[i][0];
    fetches[n++] = names[i][1];
    if (f->frame) fetches[n++] = names[i][2];
    if (f->frame) fetches[n++] = names[i][1];
  }
  if (f->list) fetches[n++] = "of_loop";
  if (f->list) fetches[n++] = "of_nodes";
  fetches[n++] = "constant";
  fetches[n++] = "variable";
  ferry_tensor *in[2] = {ramp(SIDE), NULL}, *before = ramp(SIDE), *out[4 * MOST_ARGS + 4] = {0};
  ok(ferry_tensor_new(INT32, 0, NULL, &f->trips, &in[1], &err), &err);
  for (int run = 0; run < 3; run++) {
    ok(ferry_run(o->s, f->told ? 1 : 2, feeds, in, n, fetches, out, 0, &err), &err);
    for (int i = 0; i < n; i += 2)
      if (!same(out[i], out[i + 1]))
        fail_msg("form %d, run %d: %s is not %s", number, run, fetches[i], fetches[i + 1]);
    assert_true(same(in[0], before));
    const float *v = ferry_tensor_data(out[n - 1]);
    for (int i = 0; i < SIDE * SIDE; i++) assert_true(v[i] == 0.75f);
    for (int i = 0; i < n; i++) ferry_tensor_free(out[i]);
  }
  ferry_tensor_free(in[0]);
  ferry_tensor_free(in[1]);
  ferry_tensor_free(before);
}

static void loops_at_random(void **state) {
  (void)state;
  static const char *const configs[] = {"cpu_devices=1", "optimize=off", "intra_threads=2",
                                        "cpu_devices=2; cores=CPU:1:0-1",
                                        "sim=gpu:1; place=tensorflow; soft_placement=true"};
  for (int number = 0; number < 600; number++) {
    if (!sample_takes((uint64_t)number)) continue;
    seed = (uint32_t)number * 2654435761u + 1;
    const form f = make();
    fy_str text;
    fy_str_init(&text);
    add_graph(&text, &f);
    fixture o;
    open_text(&o, configs[number % 5], &text);
    compare(&o, &f, number);
    close_all(&o);
    fy_str_free(&text);
  }
}

// What one fetch of the loop takes of the host is what was told before.
static void told_is_taken(void **state) {
  (void)state;
  int exact = 0;
  for (int number = 0; number < 600; number++) {
    if (!sample_takes((uint64_t)number)) continue;
    seed = (uint32_t)number * 2654435761u + 7;
    form f = make();
    f.told = true;
    fy_str text;
    fy_str_init(&text);
    add_graph(&text, &f);
    fixture o;
    ferry_error err;
    ferry_prediction p;
    ferry_device d;
    open_text(&o, number % 2 ? "cpu_devices=1" : "optimize=off", &text);
    assert_int_equal(ferry_device_get(o.rt, 0, &d), 0);
    ok(ferry_trim(o.rt, "CPU:0", 0, &err), &err);
    ferry_tensor *x = ramp(SIDE), *y;
    const char *feed = "x", *fetch = "loop:2";
    const ferry_request r = {.fetch = fetch, .feed = feed, .shapes = "x=[24,24]"};
    ok(ferry_predict(o.s, &r, &p, &err), &err);
    for (int k = 0; k < 3; k++) {
      ok(ferry_run(o.s, 1, &feed, &x, 1, &fetch, &y, 0, &err), &err);
      ferry_tensor_free(y);
    }
    assert_int_equal(ferry_device_get(o.rt, 0, &d), 0);
    if (p.devices[0].exact) {
      exact++;
      if (p.devices[0].allocator_bytes != d.memory_peak)
        fail_msg("form %d: predicted %llu, measured %llu", number,
                 (unsigned long long)p.devices[0].allocator_bytes,
                 (unsigned long long)d.memory_peak);
    }
    ferry_tensor_free(x);
    close_all(&o);
    fy_str_free(&text);
  }
  print_message("%d predictions were exact\n", exact);
}

// A step writes over what the one before returned: the first, which must not write to what was fed, takes memory,
// no other does.
static void a_step_takes_nothing(void **state) {
  (void)state;
  const form f = {.args = 1,
                  .nodes = 2,
                  .trips = 6,
                  .from = {FED},
                  .node = {{SIGMOID, 0, 0}, {SUB, 1, 0}},
                  .result = {2}};
  fy_str text;
  fy_str_init(&text);
  add_graph(&text, &f);
  fixture o;
  ferry_error err;
  ferry_device d;
  open_text(&o, "cpu_devices=1", &text);
  ferry_tensor *in[2] = {ramp(256), NULL}, *y;
  const char *feeds[2] = {"x", "limit"}, *fetch = "loop:2";
  ok(ferry_tensor_new(INT32, 0, NULL, &f.trips, &in[1], &err), &err);
  ok(ferry_run(o.s, 2, feeds, in, 1, &fetch, &y, 0, &err), &err);
  assert_int_equal(ferry_device_get(o.rt, 0, &d), 0);
  const uint64_t block = 256 * 256 * sizeof(float);
  assert_true(d.memory_peak >= block && d.memory_peak < 2 * block);
  ferry_tensor_free(y);
  ferry_tensor_free(in[0]);
  ferry_tensor_free(in[1]);
  close_all(&o);
  fy_str_free(&text);
}

// Each step adds what stands in the list, then puts itself there; the list is the same for all of them.
static void what_stays_is_not_given(void **state) {
  (void)state;
  const form f = {.args = 1, .list = true};
  fy_str text;
  fy_str_init(&text);
  node(&text, false, "x", "Placeholder", "", TYPE("dtype", "DT_FLOAT"));
  node(&text, false, "init", "NoOp", "", "");
  integer(&text, false, "zero", 0);
  integer(&text, false, "any", -1);
  integer(&text, false, "limit", 5);
  node(&text, false, "pack", "Pack", "x x", F32 "attr { key: 'N' value { i: 2 } } ");
  node(&text, false, "list", "TensorListFromTensor", "pack any",
       LIST "attr { key: 'shape_type' value { type: DT_INT32 } } ");
  node(&text, false, "loop", "StatelessWhile", "zero limit x list",
       TYPES("T", "type: DT_INT32 type: DT_INT32 type: DT_FLOAT type: DT_VARIANT")
           FN("cond", "more") FN("body", "step"));
  fy_str_printf(&text, "library { ");
  signature(&text, &f, "more", "go", 0);
  node(&text, true, "less", "Less", "i limit", TYPE("T", "DT_INT32"));
  fy_str_printf(&text, "ret { key: 'go' value: 'less:z:0' } } ");
  signature(&text, &f, "step", "r", 4);
  integer(&text, true, "one", 1);
  integer(&text, true, "none", 0);
  integer(&text, true, "any", -1);
  node(&text, true, "next", "AddV2", "i one:output:0", TYPE("T", "DT_INT32"));
  node(&text, true, "old", "TensorListGetItem", "list none:output:0 any:output:0", LIST);
  node(&text, true, "sum", "AddV2", "x0 old:item:0", F32);
  node(&text, true, "set", "TensorListSetItem", "list none:output:0 sum:z:0", LIST);
  node(&text, true, "new", "TensorListGetItem", "set:output_handle:0 none:output:0 any:output:0",
       LIST);
  fy_str_printf(&text,
                "ret { key: 'r0' value: 'next:z:0' } ret { key: 'r1' value: 'limit' } ret { "
                "key: 'r2' value: 'new:item:0' } ret { key: 'r3' value: 'list' } } } ");
  fixture o;
  ferry_error err;
  open_text(&o, "cpu_devices=1", &text);
  ferry_tensor *x = ramp(SIDE), *y;
  const char *feed = "x", *fetch = "loop:2";
  for (int k = 0; k < 3; k++) {
    ok(ferry_run(o.s, 1, &feed, &x, 1, &fetch, &y, 0, &err), &err);
    const float *a = ferry_tensor_data(x), *b = ferry_tensor_data(y);
    for (int i = 0; i < SIDE * SIDE; i++) assert_true(b[i] == 6 * a[i]);
    ferry_tensor_free(y);
  }
  ferry_tensor_free(x);
  close_all(&o);
  fy_str_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_at_random),
      cmocka_unit_test(told_is_taken),
      cmocka_unit_test(a_step_takes_nothing),
      cmocka_unit_test(what_stays_is_not_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

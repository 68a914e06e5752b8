// SPDX-License-Identifier: Apache-2.0
// The pass "loops" and its op _FerryLoop: recurrent loops of every form, made at random, give what they give without the pass;
// which of them it takes, and which it must leave alone.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/import.h"
#include "wire/text_format.h"

enum { DEPTH = 3, WIDTH = 4, MOST_STEPS = 6, FETCHES = 4 };

// One loop: h' = tanh(x_t W + h R + b), and what it writes down.
typedef struct form {
  int trips, batch, start;
  int rows;          // of the input: at least as many as steps
  bool limit_given;  // the limit is an argument of the body, else a constant of the condition
  bool step_given;   // so is the step of the counter
  bool bounded;      // the condition has a second half, of the While's own counter
  bool swapped;      // Greater(limit, t) instead of Less(t, limit)
  bool turned;       // W is transposed
  bool variables;    // W and R are variables
  int bias;          // 0 none, 1 after the product, 2 after the sum
  bool twice;        // the input is read for something else, too
  bool versions;     // the list is written twice, and read as it was in between
  bool grows;        // a carried value changes its shape with every step
  bool unknown;      // the limit is fed
  bool random;       // the body has an effect
} form;

static void type(fy_str *s, const char *key, const char *t) {
  fy_str_printf(s, "attr { key: '%s' value { type: %s } } ", key, t);
}

static void node(fy_str *s, const char *kind, const char *name, const char *op, const char *inputs,
                 const char *attrs) {
  fy_str_printf(s, "%s { name: '%s' op: '%s' ", kind, name, op);
  while (*inputs) {
    const char *end = strchr(inputs, ' ');
    const int n = end ? (int)(end - inputs) : (int)strlen(inputs);
    fy_str_printf(s, "input: '%.*s' ", n, inputs);
    inputs += n + (end != NULL);
  }
  fy_str_printf(s, "%s } ", attrs);
}

#define T(t_)   "attr { key: 'T' value { type: " t_ " } } "
#define ELEMENT "attr { key: 'element_dtype' value { type: DT_FLOAT } } "
#define MATMUL  T("DT_FLOAT") "attr { key: 'transpose_a' value { b: false } } "

static void constant_int(fy_str *s, const char *kind, const char *name, int v) {
  char attrs[256];
  snprintf(attrs, sizeof attrs,
           "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
           "dtype: DT_INT32 tensor_shape { } int_val: %d } } }",
           v);
  node(s, kind, name, "Const", "", attrs);
}

static void constant_shape(fy_str *s, const char *kind, const char *name, int a, int b) {
  char attrs[320];
  snprintf(attrs, sizeof attrs,
           "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
           "dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: %d int_val: %d } } }",
           a, b);
  node(s, kind, name, "Const", "", attrs);
}

static void constant_floats(fy_str *s, const char *name, int rank, const int *dims, unsigned seed) {
  int n = 1;
  fy_str_printf(s, "node { name: '%s' op: 'Const' ", name);
  type(s, "dtype", "DT_FLOAT");
  fy_str_add(s, "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { ");
  for (int i = 0; i < rank; i++) {
    fy_str_printf(s, "dim { size: %d } ", dims[i]);
    n *= dims[i];
  }
  fy_str_add(s, "} ");
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    fy_str_printf(s, "float_val: %.6f ", (double)(seed >> 16) / 65536 - 0.5);
  }
  fy_str_add(s, "} } } } ");
}

static const char *const args[] = {"c", "n", "t", "acc", "h", "xs", "w", "r", "b", "one", "more"};
enum { ARGS = sizeof args / sizeof *args };

static const char *type_of(const form *f, int i) {
  if (i == 3 || i == 5) return "DT_VARIANT";
  if ((i == 6 || i == 7) && f->variables) return "DT_RESOURCE";
  return i == 4 || i == 6 || i == 7 || i == 8 || i == 10 ? "DT_FLOAT" : "DT_INT32";
}

static void signature(fy_str *s, const form *f, const char *name, bool body) {
  fy_str_printf(s, "function { signature { name: '%s' ", name);
  for (int i = 0; i < ARGS; i++)
    fy_str_printf(s, "input_arg { name: '%s' type: %s } ", args[i], type_of(f, i));
  for (int i = 0; i < ARGS && body; i++)
    fy_str_printf(s, "output_arg { name: '%s_out' type: %s } ", args[i], type_of(f, i));
  if (!body) fy_str_add(s, "output_arg { name: 'go' type: DT_BOOL } ");
  fy_str_add(s, "} ");
}

static void condition(fy_str *s, const form *f) {
  const char *k = "node_def";
  signature(s, f, "cond", false);
  constant_int(s, k, "limit", f->start + f->trips);
  const char *limit = f->limit_given || f->unknown ? "n" : "limit:output:0";
  char both[64];
  snprintf(both, sizeof both, f->swapped ? "%s t" : "t %s", limit);
  node(s, k, "more_steps", f->swapped ? "Greater" : "Less", both, T("DT_INT32"));
  constant_int(s, k, "most", f->trips);
  node(s, k, "within", "Less", "c most:output:0", T("DT_INT32"));
  node(s, k, "both", "LogicalAnd", "more_steps:z:0 within:z:0", "");
  node(s, k, "answer", "Identity", f->bounded ? "both:z:0" : "more_steps:z:0", T("DT_BOOL"));
  fy_str_add(s, "ret { key: 'go' value: 'answer:output:0' } } ");
}

static void products(fy_str *s, const form *f) {
  const char *k = "node_def";
  if (f->variables) {
    const char *dtype = "attr { key: 'dtype' value { type: DT_FLOAT } }";
    node(s, k, "wr", "ReadVariableOp", "w", dtype);
    node(s, k, "rr", "ReadVariableOp", "r", dtype);
  } else {
    node(s, k, "wr", "Identity", "w", T("DT_FLOAT"));
    node(s, k, "rr", "Identity", "r", T("DT_FLOAT"));
  }
  const char *w = f->variables ? "wr:value:0" : "wr:output:0";
  const char *r = f->variables ? "rr:value:0" : "rr:output:0";
  char in[64], attrs[256];
  snprintf(in, sizeof in, "x:item:0 %s", w);
  snprintf(attrs, sizeof attrs, MATMUL "attr { key: 'transpose_b' value { b: %s } }",
           f->turned ? "true" : "false");
  node(s, k, "xw", "MatMul", in, attrs);
  snprintf(in, sizeof in, "h %s", r);
  node(s, k, "hr", "MatMul", in, MATMUL "attr { key: 'transpose_b' value { b: false } }");
  node(s, k, "xwb", "BiasAdd", "xw:product:0 b", T("DT_FLOAT"));
  node(s, k, "sum", "AddV2",
       f->bias == 1 ? "xwb:output:0 hr:product:0" : "xw:product:0 hr:product:0", T("DT_FLOAT"));
  node(s, k, "sumb", "BiasAdd", "sum:z:0 b", T("DT_FLOAT"));
  node(s, k, "next", "Tanh", f->bias == 2 ? "sumb:output:0" : "sum:z:0", T("DT_FLOAT"));
}

static void body(fy_str *s, const form *f) {
  const char *k = "node_def";
  signature(s, f, "body", true);
  constant_int(s, k, "unit", 1);
  constant_int(s, k, "start", f->start);
  constant_int(s, k, "axis", 0);
  constant_shape(s, k, "xshape", -1, DEPTH);
  // Read at the number of steps done, which a counter that starts elsewhere is not.
  node(s, k, "at", "Sub", "t start:output:0", T("DT_INT32"));
  node(s, k, "x", "TensorListGetItem",
       f->start ? "xs at:z:0 xshape:output:0" : "xs t xshape:output:0", ELEMENT);
  products(s, f);
  node(s, k, "written", "TensorListSetItem", f->start ? "acc at:z:0 next:y:0" : "acc t next:y:0",
       ELEMENT);
  constant_shape(s, k, "hshape", -1, WIDTH);
  node(s, k, "rewritten", "TensorListSetItem", "written:output_handle:0 axis:output:0 h", ELEMENT);
  node(s, k, "between", "TensorListGetItem",
       "written:output_handle:0 axis:output:0 hshape:output:0", ELEMENT);
  node(s, k, "seen", "AddV2", "more between:item:0", T("DT_FLOAT"));
  node(s, k, "cn", "AddV2", "c unit:output:0", T("DT_INT32"));
  node(s, k, "tn", "AddV2", f->step_given ? "t one" : "unit:output:0 t", T("DT_INT32"));
  node(s, k, "longer", "ConcatV2", "more h axis:output:0",
       T("DT_FLOAT") "attr { key: 'N' value { i: 2 } } attr { key: 'Tidx' value { type: DT_INT32 } }");
  node(s, k, "xx", "Sum", "x:item:0 axis:output:0",
       T("DT_FLOAT") "attr { key: 'Tidx' value { type: DT_INT32 } }");
  node(s, k, "axis1", "Sum", "xx:output:0 axis:output:0",
       T("DT_FLOAT") "attr { key: 'Tidx' value { type: DT_INT32 } }");
  node(s, k, "plus", "AddV2", "more axis1:output:0", T("DT_FLOAT"));
  if (f->random)
    node(s, k, "noise", "RandomUniform", "xshape_pos:output:0",
         T("DT_INT32") "attr { key: 'dtype' value { type: DT_FLOAT } }");
  constant_shape(s, k, "xshape_pos", 1, 1);
  const char *more = f->grows      ? "longer:output:0"
                     : f->versions ? "seen:z:0"
                     : f->twice    ? "plus:z:0"
                                   : "more";
  const char *acc = f->versions ? "rewritten:output_handle:0" : "written:output_handle:0";
  const char *rets[ARGS] = {"cn:z:0", "n", "tn:z:0", acc,   "next:y:0", "xs",
                            "w",      "r", "b",      "one", more};
  for (int i = 0; i < ARGS; i++)
    fy_str_printf(s, "ret { key: '%s_out' value: '%s' } ", args[i], rets[i]);
  if (f->random) fy_str_add(s, "control_ret { key: 'noise' value: 'noise' } ");
  fy_str_add(s, "} ");
}

static void weights(fy_str *s, const form *f, const char *name, const int *dims, unsigned seed) {
  char value[32], in[64], attrs[256];
  snprintf(value, sizeof value, f->variables ? "%s_value" : "%s", name);
  constant_floats(s, value, 2, dims, seed);
  if (!f->variables) return;
  snprintf(
      attrs, sizeof attrs,
      "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { "
      "size: %d } dim { size: %d } } } } attr { key: 'shared_name' value { s: '%s' } }",
      dims[0], dims[1], name);
  node(s, "node", name, "VarHandleOp", "", attrs);
  snprintf(in, sizeof in, "%s %s", name, value);
  snprintf(value, sizeof value, "set_%s", name);
  node(s, "node", value, "AssignVariableOp", in, "attr { key: 'dtype' value { type: DT_FLOAT } }");
}

static void outer(fy_str *s, const form *f) {
  const int w[2] = {f->turned ? WIDTH : DEPTH, f->turned ? DEPTH : WIDTH}, r[2] = {WIDTH, WIDTH},
            b[1] = {WIDTH}, h[2] = {f->batch, WIDTH};
  node(s, "node", "x", "Placeholder", "", "attr { key: 'dtype' value { type: DT_FLOAT } }");
  node(s, "node", "fed", "Placeholder", "", "attr { key: 'dtype' value { type: DT_INT32 } }");
  constant_int(s, "node", "c", 0);
  constant_int(s, "node", "limit", f->start + f->trips);
  constant_int(s, "node", "t", f->start);
  constant_int(s, "node", "rows", f->rows);
  constant_int(s, "node", "one", 1);
  constant_shape(s, "node", "xshape", -1, DEPTH);
  constant_shape(s, "node", "hshape", -1, WIDTH);
  weights(s, f, "w", w, 7);
  weights(s, f, "r", r, 8);
  constant_floats(s, "b", 1, b, 9);
  constant_floats(s, "h", 2, h, 10);
  constant_floats(s, "more", 2, h, 11);
  node(s, "node", "xs", "TensorListFromTensor", "x xshape",
       ELEMENT "attr { key: 'shape_type' value { type: DT_INT32 } }");
  node(s, "node", "acc", "TensorListReserve", "hshape rows",
       ELEMENT "attr { key: 'shape_type' value { type: DT_INT32 } }");
  fy_str_printf(s, "node { name: 'loop' op: 'While' ");
  for (int i = 0; i < ARGS; i++)
    fy_str_printf(s, "input: '%s' ", i == 1 ? (f->unknown ? "fed" : "limit") : args[i]);
  fy_str_add(s, "attr { key: 'T' value { list { ");
  for (int i = 0; i < ARGS; i++) fy_str_printf(s, "type: %s ", type_of(f, i));
  fy_str_add(s,
             "} } } attr { key: 'cond' value { func { name: 'cond' } } } "
             "attr { key: 'body' value { func { name: 'body' } } } } ");
  node(s, "node", "stacked", "TensorListStack", "loop:3 hshape",
       ELEMENT "attr { key: 'num_elements' value { i: -1 } }");
  node(s, "node", "last", "Identity", "loop:4", T("DT_FLOAT"));
  node(s, "node", "end", "Identity", "loop:2", T("DT_INT32"));
  node(s, "node", "grown", "Identity", "loop:10", T("DT_FLOAT"));
}

static void import_text(fy_graph *g, const char *text) {
  fy_arena a;
  fy_error err;
  ProtobufCMessage *m;
  fy_import_options o = {0};
  fy_import_results r = {0};
  fy_arena_init(&a);
  fy_error_init(&err);
  if (fy_wire_text_parse(&tensorflow__graph_def__descriptor, text, strlen(text), &a, &m, &err) ||
      fy_graph_import(g, (Tensorflow__GraphDef *)m, &o, &a, &r, &err))
    fail_msg("%s", fy_error_text(&err));
  fy_arena_free(&a);
}

typedef struct loaded {
  env e;
  fy_tensor *in[2];
  fy_output feeds[2], fetches[FETCHES];
  fy_run_args args;
  int64_t dims[3];
} loaded;

static void load(loaded *l, const form *f, const char *config) {
  // A list that nothing was written to has no shape to be stacked with.
  const char *const names[FETCHES] = {f->trips ? "stacked" : "last", "last", "end", "grown"};
  fy_str s;
  fy_error err;
  fy_error_init(&err);
  env_open(&l->e, config);
  fy_str_init(&s);
  outer(&s, f);
  fy_str_add(&s, "library { ");
  condition(&s, f);
  body(&s, f);
  fy_str_add(&s, "} ");
  import_text(l->e.g, fy_str_text(&s));
  fy_str_free(&s);
  env_session(&l->e);
  fy_graph *g = l->e.g;
  if (f->variables) {
    fy_node *set[2] = {fy_graph_find(g, "set_w"), fy_graph_find(g, "set_r")};
    const fy_run_args a = {.targets = set, .num_targets = 2};
    if (fy_session_run(l->e.s, &a, NULL, &err)) fail_msg("%s", fy_error_text(&err));
  }
  float x[(MOST_STEPS + 2) * 4 * DEPTH];
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(i * 37 % 19) / 10 - 0.9f;
  const int64_t dims[3] = {f->rows, f->batch, DEPTH};
  memcpy(l->dims, dims, sizeof dims);
  const int32_t limit = f->start + f->trips;
  l->in[0] = floats(3, dims, x);
  assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, &limit, &l->in[1], NULL), FY_OK);
  l->feeds[0] = (fy_output){fy_graph_find(g, "x"), 0};
  l->feeds[1] = (fy_output){fy_graph_find(g, "fed"), 0};
  for (int i = 0; i < FETCHES; i++) l->fetches[i] = (fy_output){fy_graph_find(g, names[i]), 0};
  l->args = (fy_run_args){.feeds = l->feeds,
                          .feed_values = l->in,
                          .num_feeds = 2,
                          .fetches = l->fetches,
                          .num_fetches = FETCHES};
}

static void unload(loaded *l) {
  fy_tensor_release(l->in[0]);
  fy_tensor_release(l->in[1]);
  env_close(&l->e);
}

// Did the pass take the loop?
static bool is_taken(loaded *l, const form *f) {
  const fy_pshape shapes[2] = {{3, l->dims}, {0, NULL}};
  fy_program *p;
  fy_str log;
  fy_error err;
  fy_error_init(&err);
  fy_str_init(&log);
  if (fy_session_program(l->e.s, &l->args, shapes, NULL, &log, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  const bool taken = strstr(fy_str_text(&log), "loops: loop/steps = loop") != NULL;
  bool runs = false;  // in the program
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_site *site = p->instrs[i].site;
    runs = runs || (site && strcmp(site->op->spec->name, "_FerryLoop") == 0);
  }
  assert_int_equal(runs, taken);
  const bool hoists = taken && f->start == 0 && f->rows <= 2 * f->trips;
  assert_int_equal(strstr(fy_str_text(&log), "loops: xw once for all steps") != NULL, hoists);
  fy_program_release(p);
  fy_str_free(&log);
  return taken;
}

// Runs it twice: a program kept is another thing than one just made. True if the pass took it.
static bool run(const form *f, const char *config, fy_tensor **out) {
  loaded l;
  fy_error err;
  fy_error_init(&err);
  load(&l, f, config);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; again && i < FETCHES; i++) fy_tensor_release(out[i]);
    if (fy_session_run(l.e.s, &l.args, out, &err))
      fail_msg("%s: %s", config ? config : "as usual", fy_error_text(&err));
  }
  const bool taken = is_taken(&l, f);
  unload(&l);
  return taken;
}

static void compare(const fy_tensor *a, const fy_tensor *b, int what, unsigned seed) {
  assert_int_equal(a->dtype, b->dtype);
  assert_true(fy_shape_equal(a->rank, a->dims, b->rank, b->dims));
  for (int64_t i = 0; i < a->count; i++) {
    const double x = fy_tensor_double(a, i), y = fy_tensor_double(b, i);
    if (!(fabs(x - y) <= 1e-5))
      fail_msg("form %u, result %d[%d]: %g, %g", seed, what, (int)i, x, y);
  }
}

// True if the pass took it.
static bool check(const form *f, unsigned seed) {
  static const char *const configs[] = {"passes=-loops", "optimize=off",
                                        "sim=gpu:1,memory=64MiB; place=tensorflow"};
  fy_tensor *with[FETCHES], *without[FETCHES];
  const bool taken = run(f, NULL, with);
  for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
    assert_int_equal(run(f, configs[c], without), c < 2 ? false : taken);
    for (int i = 0; i < FETCHES; i++) {
      compare(with[i], without[i], i, seed);
      fy_tensor_release(without[i]);
    }
  }
  for (int i = 0; i < FETCHES; i++) fy_tensor_release(with[i]);
  return taken;
}

static bool draw(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 30 & 1;
}

static void random_forms(void **state) {
  (void)state;
  for (unsigned i = 0; i < 60; i++) {
    unsigned seed = i * 2654435761u;
    form f = {.trips = 1 + (int)(i % MOST_STEPS), .batch = 1 + (int)(i % 3), .bias = (int)(i % 3)};
    f.rows = f.trips + (draw(&seed) ? 2 : 0);
    f.start = draw(&seed) && draw(&seed) ? (int)(i % 7) - 3 : 0;
    f.limit_given = draw(&seed);
    f.step_given = draw(&seed);
    f.bounded = draw(&seed);
    f.swapped = draw(&seed);
    f.turned = draw(&seed);
    f.variables = draw(&seed);
    f.twice = draw(&seed);
    f.versions = draw(&seed);
    f.grows = draw(&seed) && draw(&seed);
    assert_true(check(&f, i));
  }
}

// No steps, a limit that is only known when it runs, an effect in the body: as they were.
static void left_alone(void **state) {
  (void)state;
  const form base = {.trips = 3, .batch = 2, .rows = 4, .bias = 2};
  form f = base;
  assert_true(check(&f, 100));
  f.trips = 0;
  assert_false(check(&f, 101));
  f = base;
  f.unknown = true;
  assert_false(check(&f, 102));
  f = base;
  f.random = true;
  assert_false(check(&f, 103));
}

// Any allocation of compiling and running may fail; the session is none the worse for it.
static void short_of_memory(void **state) {
  (void)state;
  const form f = {.trips = 3, .batch = 2, .rows = 4, .bias = 2, .variables = true, .bounded = true};
  bool enough = false;
  for (int64_t n = 1; !enough; n += n / 40 + 1) {
    loaded l;
    fy_tensor *out[FETCHES];
    fy_error err;
    fy_error_init(&err);
    load(&l, &f, NULL);
    fy_fault_arm(FY_FAULT_ALLOC, n, false);
    fy_code code = fy_session_run(l.e.s, &l.args, out, &err);
    enough = fy_fault_hits(FY_FAULT_ALLOC) < n;
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (code) {
      assert_int_equal(code, FY_RESOURCE_EXHAUSTED);
      fy_error_clear(&err);
      code = fy_session_run(l.e.s, &l.args, out, &err);
    }
    if (code) fail_msg("after a fault at %d: %s", (int)n, fy_error_text(&err));
    for (int i = 0; i < FETCHES; i++) fy_tensor_release(out[i]);
    unload(&l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_forms), cmocka_unit_test(left_alone),
                                     cmocka_unit_test(short_of_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// What each pass does and does not do, one rewrite at a time; and how long all of them take.

#include "support_graph.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "execute/kernel_call.h"
#include "graph/function.h"
#include "ops/fused.h"
#include "optimize/optimize.h"

enum { MAX_FETCHES = 4 };

// The optimised copy of a graph.
typedef struct result {
  fy_graph *g;
  fy_output fetches[MAX_FETCHES];
  fy_node *targets[1];
  fy_str log;
  int64_t ns;
} result;

static fy_code evaluate(void *arg, fy_node *node, fy_tensor **results, fy_error *err) {
  (void)arg;
  fy_tensor *in[16];
  if (node->num_inputs > 16) return fy_fail(err, FY_UNIMPLEMENTED, "too many");
  for (uint32_t i = 0; i < node->num_inputs; i++)
    in[i] = (fy_tensor *)(uintptr_t)node->inputs[i].node->const_value;
  return fy_kernel_call_node(node, in, results, err);
}

static fy_node *fed(fy_graph *g, const char *name, fy_dtype t, int rank, const int64_t *dims) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "Placeholder", name, &b, NULL), FY_OK);
  fy_attr type = fy_attr_type(t), shape = attr_shape(&g->arena, rank, dims);
  fy_node_set_attr(&b, "dtype", &type);
  fy_node_set_attr(&b, "shape", &shape);
  return finish(&b);
}

// This thread's own time: the machine may be busy with other tests.
static int64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Placeholders become arguments of the same shape, as a session's compiler does it.
static void optimise(fy_graph *g, const fy_output *fetches, int n, fy_node *target,
                     const char *const *off, result *r) {
  fy_output feeds[16];
  fy_node **map;
  fy_error err;
  int num_feeds = 0;
  fy_error_init(&err);
  memset(r, 0, sizeof *r);
  fy_str_init(&r->log);
  for (size_t i = 0; i < g->num_nodes && num_feeds < 16; i++)
    if (strcmp(g->nodes[i]->op_name, "Placeholder") == 0)
      feeds[num_feeds++] = (fy_output){g->nodes[i], 0};
  if (fy_graph_prune_copy(g, feeds, num_feeds, fetches, n, &target, target ? 1 : 0, &r->g, &map,
                          &err))
    fail_msg("%s", fy_error_text(&err));
  for (size_t i = 0; i < r->g->num_nodes; i++) {
    fy_node *node = r->g->nodes[i];
    const fy_attr *index = fy_attrs_get(&node->attrs, "index");
    if (strcmp(node->op_name, "_Arg") == 0)
      node->outputs[0].shape = feeds[index->v.i].node->outputs[0].shape;
  }
  for (int i = 0; i < n; i++)
    r->fetches[i] = (fy_output){map[fetches[i].node->id], fetches[i].index};
  if (target) r->targets[0] = map[target->id];
  if (fy_graph_infer_all(r->g, &err)) fail_msg("%s", fy_error_text(&err));
  fy_opt_ctx ctx = {.graph = r->g,
                    .fetches = r->fetches,
                    .num_fetches = n,
                    .targets = r->targets,
                    .num_targets = target ? 1 : 0,
                    .evaluate = evaluate,
                    .disabled = off,
                    .log = g->num_nodes < 1000 ? &r->log : NULL};
  const int64_t start = cpu_ns();
  if (fy_optimize_run(&ctx, &err)) fail_msg("%s", fy_error_text(&err));
  r->ns = cpu_ns() - start;
}

static void optimise1(fy_graph *g, fy_node *fetch, const char *const *off, result *r) {
  const fy_output f = {fetch, 0};
  optimise(g, &f, 1, NULL, off, r);
}

static void done(result *r) {
  fy_graph_free(r->g);
  fy_str_free(&r->log);
}

static int count(const result *r, const char *op) {
  int n = 0;
  for (size_t i = 0; i < r->g->num_nodes; i++)
    n += r->g->nodes[i] && strcmp(r->g->nodes[i]->op_name, op) == 0;
  return n;
}

static const char *const no_fuse[] = {"fuse", NULL};
static const int64_t six[1] = {6};

static fy_node *scalar_f(fy_graph *g, const char *name, float x) {
  return constant(g, name, floats(0, NULL, &x));
}

static fy_node *ints(fy_graph *g, const char *name, int n, const int32_t *x) {
  const int64_t dims[1] = {n};
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_INT32, n ? 1 : 0, dims, x, &t, NULL), FY_OK);
  return constant(g, name, t);
}

static fy_node *control_op(fy_graph *g, const char *op, const char *name, fy_node *in,
                           fy_node *after) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, op, name, &b, NULL), FY_OK);
  if (in) fy_node_add_input(&b, (fy_output){in, 0});
  fy_node_add_control(&b, after);
  return finish(&b);
}

static void folding(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  fy_node *x = fed(g, "x", FY_FLOAT, 1, six);
  fy_node *sum = op2(g, "AddV2", "sum", scalar_f(g, "two", 2), scalar_f(g, "three", 3));
  fy_node *y = op2(g, "Mul", "y", x, sum);
  optimise1(g, y, no_fuse, &r);
  assert_int_equal(count(&r, "AddV2"), 0);
  const fy_node *five = r.fetches[0].node->inputs[1].node;
  assert_string_equal(five->op_name, "Const");
  assert_string_equal(five->name, "sum");
  assert_true(*(float *)five->const_value->data == 5.0f);
  assert_non_null(strstr(fy_str_text(&r.log), "fold: sum"));
  done(&r);
  // Shape of what is known; the value itself is no longer needed.
  fy_node *shape = op1(g, "Shape", "shape", op1(g, "Exp", "exp", x));
  optimise1(g, shape, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "Const");
  assert_int_equal(fy_tensor_int(r.fetches[0].node->const_value, 0), 6);
  assert_int_equal(count(&r, "Exp"), 0);
  done(&r);
  // An error stays where it is: at run time.
  const int32_t zero = 0, one = 1;
  fy_node *bad = op2(g, "FloorDiv", "bad", ints(g, "one", 0, &one), ints(g, "zero", 0, &zero));
  optimise1(g, bad, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "FloorDiv");
  done(&r);
  // A large value made of little is not stored.
  const int32_t big[2] = {1000, 1000};
  fy_node *fill = op2(g, "Fill", "fill", ints(g, "dims", 2, big), scalar_f(g, "seven", 7));
  optimise1(g, fill, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "Fill");
  done(&r);
  fy_graph_free(g);
}

static void merging(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  fy_node *x = fed(g, "x", FY_FLOAT, 1, six), *y = fed(g, "y", FY_FLOAT, 1, six);
  fy_node *a = op2(g, "AddV2", "a", x, y), *b = op2(g, "AddV2", "b", y, x);
  optimise1(g, op2(g, "Mul", "m", a, b), no_fuse, &r);
  assert_int_equal(count(&r, "AddV2"), 1);
  assert_ptr_equal(r.fetches[0].node->inputs[0].node, r.fetches[0].node->inputs[1].node);
  const fy_node *kept = r.fetches[0].node->inputs[0].node;
  assert_int_equal(kept->num_origins, 2);
  assert_string_equal(kept->origins[0], "a");
  assert_string_equal(kept->origins[1], "b");
  done(&r);
  // Differences are not symmetric, and requests for devices differ.
  fy_node *s = op2(g, "Sub", "s", x, y), *t = op2(g, "Sub", "t", y, x);
  optimise1(g, op2(g, "Mul", "n", s, t), no_fuse, &r);
  assert_int_equal(count(&r, "Sub"), 2);
  done(&r);
  fy_node *in[1] = {x};
  fy_node *c = op_n(g, "Exp", "c", "/device:CPU:0", 1, in), *d = op1(g, "Exp", "d", x);
  optimise1(g, op2(g, "Mul", "o", c, d), no_fuse, &r);
  assert_int_equal(count(&r, "Exp"), 2);
  done(&r);
  fy_graph_free(g);
}

static void identities(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  fy_node *x = fed(g, "x", FY_FLOAT, 1, six);
  fy_node *first = op1(g, "Exp", "first", x);
  fy_node *id = op1(g, "Identity", "id", op1(g, "StopGradient", "stop", first));
  fy_node *waiter = control_op(g, "NoOp", "waiter", NULL, id);
  const fy_output f = {op1(g, "Log", "log", id), 0};
  optimise(g, &f, 1, waiter, no_fuse, &r);
  assert_int_equal(count(&r, "Identity") + count(&r, "StopGradient"), 0);
  assert_string_equal(r.fetches[0].node->inputs[0].node->name, "first");
  assert_string_equal(r.targets[0]->controls[0]->name, "first");
  done(&r);
  // One that waits stays, so that its readers wait.
  fy_node *late = control_op(g, "Identity", "late", x, first);
  optimise1(g, op1(g, "Log", "log2", late), no_fuse, &r);
  assert_int_equal(count(&r, "Identity"), 1);
  assert_int_equal(count(&r, "Exp"), 1);
  done(&r);
  // So does one with a device of its own.
  fy_node *in[1] = {first};
  fy_node *placed = op_n(g, "Identity", "placed", "/device:CPU:0", 1, in);
  optimise1(g, op1(g, "Log", "log3", placed), no_fuse, &r);
  assert_int_equal(count(&r, "Identity"), 1);
  done(&r);
  fy_graph_free(g);
}

// As Keras writes loops: results wait for a NoOp that waits for reads of weights.
static void controls(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  fy_node *w = fed(g, "w", FY_FLOAT, 1, six), *x = fed(g, "x", FY_FLOAT, 1, six);
  fy_node *read = op1(g, "Identity", "read", w);
  fy_node *all = control_op(g, "NoOp", "all", NULL, read);
  fy_node *sum = op2(g, "AddV2", "sum", x, read);
  fy_node *out = control_op(g, "Identity", "out", sum, all);
  const fy_output f = {out, 0};
  optimise(g, &f, 1, read, no_fuse, &r);
  assert_int_equal(count(&r, "Identity") + count(&r, "NoOp"), 0);
  assert_string_equal(r.fetches[0].node->name, "sum");
  assert_int_equal(r.fetches[0].node->num_controls, 0);
  done(&r);
  // What takes its time is still waited for, without the detour.
  fy_node *slow = op1(g, "Exp", "slow", x);
  fy_node *detour = control_op(g, "NoOp", "detour", NULL, slow);
  optimise1(g, control_op(g, "Log", "log", x, detour), no_fuse, &r);
  assert_int_equal(count(&r, "NoOp"), 0);
  assert_int_equal(r.fetches[0].node->num_controls, 1);
  assert_string_equal(r.fetches[0].node->controls[0]->name, "slow");
  done(&r);
  fy_graph_free(g);
}

static void arithmetic(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  fy_node *x = fed(g, "x", FY_FLOAT, 1, six);
  fy_node *base = op1(g, "Exp", "base", x);
  fy_node *y = op2(g, "Mul", "by_one", base, scalar_f(g, "one", 1));
  y = op2(g, "Sub", "minus_zero", y, scalar_f(g, "zero", 0));
  y = op2(g, "RealDiv", "over_one", y, scalar_f(g, "one_too", 1));
  y = op1(g, "Neg", "neg", op1(g, "Neg", "neg_neg", y));
  optimise1(g, y, no_fuse, &r);
  assert_string_equal(r.fetches[0].node->name, "base");
  done(&r);
  // 0 + x turns -0 into 0 for floats: it stays.
  optimise1(g, op2(g, "AddV2", "plus_zero", base, scalar_f(g, "zero2", 0)), no_fuse, &r);
  assert_int_equal(count(&r, "AddV2"), 1);
  done(&r);
  optimise1(g, op2(g, "RealDiv", "half", base, scalar_f(g, "two", 2)), no_fuse, &r);
  assert_string_equal(r.fetches[0].node->op_name, "Mul");
  assert_true(*(float *)r.fetches[0].node->inputs[1].node->const_value->data == 0.5f);
  done(&r);
  optimise1(g, op2(g, "RealDiv", "third", base, scalar_f(g, "three", 3)), no_fuse, &r);
  assert_string_equal(r.fetches[0].node->op_name, "RealDiv");
  done(&r);
  // A square has no sign to drop; that of an integer may be negative.
  fy_node *i = fed(g, "i", FY_INT32, 1, six);
  y = op1(g, "Relu", "relu_square", op1(g, "Abs", "abs_square", op1(g, "Square", "square", x)));
  optimise1(g, y, no_fuse, &r);
  assert_string_equal(r.fetches[0].node->name, "square");
  done(&r);
  optimise1(g, op1(g, "Abs", "abs_whole", op1(g, "Square", "whole", i)), no_fuse, &r);
  assert_int_equal(count(&r, "Abs"), 1);
  done(&r);
  // Relu of -0 is -0, so its sign counts.
  optimise1(g, op1(g, "Abs", "abs_relu", op1(g, "Relu", "relu", x)), no_fuse, &r);
  assert_int_equal(count(&r, "Abs"), 1);
  done(&r);
  // Integers associate.
  const int32_t c4 = 4, c5 = 5;
  fy_node *sum =
      op2(g, "AddV2", "s1", op2(g, "AddV2", "s0", i, ints(g, "c4", 0, &c4)), ints(g, "c5", 0, &c5));
  optimise1(g, sum, no_fuse, &r);
  assert_int_equal(count(&r, "AddV2"), 1);
  assert_int_equal(fy_tensor_int(r.fetches[0].node->inputs[1].node->const_value, 0), 9);
  done(&r);
  const int32_t d1[2] = {2, 3}, d2[2] = {3, 2};
  fy_node *twice = op2(g, "Reshape", "r1", op2(g, "Reshape", "r0", base, ints(g, "d1", 2, d1)),
                       ints(g, "d2", 2, d2));
  optimise1(g, twice, no_fuse, &r);
  assert_int_equal(count(&r, "Reshape"), 1);
  done(&r);
  // A shape that is fed must be checked, whatever inference takes it for.
  const int64_t one = 1, two = 2;
  const int32_t c2 = 2;
  fy_node *v = fed(g, "v", FY_FLOAT, 1, &two), *target = fed(g, "target", FY_INT32, 1, &one);
  optimise1(g, op2(g, "BroadcastTo", "b0", v, target), no_fuse, &r);
  assert_int_equal(count(&r, "BroadcastTo"), 1);
  done(&r);
  optimise1(g, op2(g, "BroadcastTo", "b1", v, ints(g, "c2", 1, &c2)), no_fuse, &r);
  assert_int_equal(count(&r, "BroadcastTo"), 0);
  done(&r);
  fy_graph_free(g);
}

static void transposes(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  const int64_t dims[3] = {2, 3, 4};
  const int32_t p[3] = {1, 2, 0}, back[3] = {2, 0, 1};
  fy_node *x = fed(g, "x", FY_FLOAT, 3, dims);
  fy_node *base = op1(g, "Exp", "base", x);
  fy_node *cp = ints(g, "p", 3, p), *cb = ints(g, "back", 3, back);
  fy_node *t = op2(g, "Transpose", "t", base, cp);
  optimise1(g, op2(g, "Transpose", "u", t, cb), no_fuse, &r);
  assert_string_equal(r.fetches[0].node->name, "base");
  done(&r);
  optimise1(g, op2(g, "Transpose", "v", t, cp), no_fuse, &r);
  assert_int_equal(count(&r, "Transpose"), 1);
  assert_int_equal(fy_tensor_int(r.fetches[0].node->inputs[1].node->const_value, 0), 2);
  done(&r);
  fy_node *f = op1(g, "Tanh", "tanh", op2(g, "Mul", "mul", t, scalar_f(g, "two", 2)));
  optimise1(g, op2(g, "Transpose", "w", f, cb), no_fuse, &r);
  assert_int_equal(count(&r, "Transpose"), 0);
  assert_string_equal(r.fetches[0].node->op_name, "Tanh");
  assert_int_equal(r.fetches[0].node->outputs[0].shape.dims[0], 2);
  done(&r);
  fy_graph_free(g);
}

static void fusing(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  const int64_t square[2] = {6, 6};
  fy_node *x = fed(g, "x", FY_FLOAT, 2, square), *bias = fed(g, "bias", FY_FLOAT, 1, six);
  fy_node *a = op2(g, "AddV2", "a", x, bias);
  fy_node *b = op1(g, "Tanh", "b", a);
  fy_node *c = op2(g, "Mul", "c", b, a);
  optimise1(g, c, NULL, &r);
  const fy_node *fused = r.fetches[0].node;
  assert_string_equal(fused->op_name, "_FerryFused");
  assert_int_equal(fused->num_inputs, 2);
  assert_int_equal(fused->num_origins, 3);
  assert_string_equal(fused->origins[2], "c");
  fy_fused_program p;
  assert_int_equal(
      fy_fused_decode(fy_attrs_get(&fused->attrs, "program")->v.s, FY_FLOAT, &r.g->arena, &p, NULL),
      FY_OK);
  assert_int_equal(p.num_ops, 3);
  assert_int_equal(p.kinds[1], FY_FUSED_ROW);
  done(&r);
  // a → MatMul → d and a → d: fusing a with d would make a circle.
  fy_node *d = op2(g, "Sub", "d", op2(g, "MatMul", "m", a, x), a);
  fy_node *e = op1(g, "Neg", "e", d);
  optimise1(g, e, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "_FerryFused");
  assert_int_equal(r.fetches[0].node->num_origins, 2);
  assert_int_equal(count(&r, "AddV2"), 1);
  done(&r);
  // A control edge between two: not in one loop, and still in order.
  fy_node *f = op1(g, "Exp", "f", x), *f2 = op1(g, "Neg", "f2", f);
  fy_node *h = control_op(g, "Neg", "h", x, f2), *h2 = op1(g, "Abs", "h2", h);
  const fy_output both[2] = {{f2, 0}, {h2, 0}};
  optimise(g, both, 2, NULL, NULL, &r);
  assert_int_equal(count(&r, "_FerryFused"), 2);
  assert_ptr_equal(r.fetches[1].node->controls[0], r.fetches[0].node);
  done(&r);
  // Values that are read inside and outside become outputs.
  const fy_output three[3] = {{a, 0}, {b, 0}, {c, 0}};
  optimise(g, three, 3, NULL, NULL, &r);
  assert_int_equal(count(&r, "_FerryFused"), 1);
  assert_int_equal(r.fetches[0].node->num_outputs, 3);
  done(&r);
  fy_graph_free(g);
}

static fy_node *unary_of(fy_graph *g, const char *op, const char *name, fy_node *from, int index) {
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, op, name, &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){from, index});
  return finish(&b);
}

// The gates of an LSTM in any order become one node; not if somebody reads one of them.
static void cells(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  const int64_t wide[2] = {2, 20}, narrow[2] = {2, 5};
  const int32_t last = -1, order[4] = {2, 0, 3, 1};  // i, f, g, o
  fy_node *z = fed(g, "z", FY_FLOAT, 2, wide), *c = fed(g, "c", FY_FLOAT, 2, narrow);
  fy_node_builder b;
  fy_attr four = fy_attr_int(4);
  assert_int_equal(fy_node_begin(g, "Split", "split", &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){ints(g, "axis", 0, &last), 0});
  fy_node_add_input(&b, (fy_output){z, 0});
  fy_node_set_attr(&b, "num_split", &four);
  fy_node *split = finish(&b);
  fy_node *i = unary_of(g, "Sigmoid", "i", split, order[0]);
  fy_node *f = unary_of(g, "Sigmoid", "f", split, order[1]);
  fy_node *n = unary_of(g, "Tanh", "n", split, order[2]);
  fy_node *o = unary_of(g, "Sigmoid", "o", split, order[3]);
  fy_node *keep = op2(g, "Mul", "keep", c, f), *add = op2(g, "Mul", "add", n, i);
  fy_node *next = op2(g, "AddV2", "next", add, keep), *t = op1(g, "Tanh", "t", next);
  fy_node *h = op2(g, "Mul", "h", o, t);
  const fy_output both[3] = {{h, 0}, {next, 0}, {o, 0}};
  optimise(g, both, 2, NULL, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "_FerryLSTMGates");
  assert_ptr_equal(r.fetches[1].node, r.fetches[0].node);
  assert_int_equal(r.fetches[1].index, 1);
  assert_int_equal(r.fetches[0].node->num_origins, 10);
  const fy_attr *made = fy_attrs_get(&r.fetches[0].node->attrs, "order");
  assert_true(made && fy_view_is(made->v.s, "2031"));
  done(&r);
  optimise(g, both, 3, NULL, NULL, &r);
  assert_int_equal(count(&r, "_FerryLSTMGates"), 0);
  done(&r);
  optimise(g, both, 2, NULL, (const char *const[]){"cells", NULL}, &r);
  assert_int_equal(count(&r, "_FerryLSTMGates"), 0);
  done(&r);
  fy_graph_free(g);
}

static fy_node *mean_after(fy_graph *g, const char *name, fy_node *x, fy_node *axis,
                           fy_node *after) {
  fy_node_builder b;
  const fy_attr keep = {.kind = FY_ATTR_BOOL, .v.b = true};
  assert_int_equal(fy_node_begin(g, "Mean", name, &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){x, 0});
  fy_node_add_input(&b, (fy_output){axis, 0});
  fy_node_set_attr(&b, "keep_dims", &keep);
  if (after) fy_node_add_control(&b, after);
  return finish(&b);
}
static fy_node *mean_of_rows(fy_graph *g, const char *name, fy_node *x, fy_node *axis) {
  return mean_after(g, name, x, axis, NULL);
}

// What a member waits for, the whole region waits for: also if that is another region.
static void rows_in_order(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  const int64_t dims[2] = {3, 80};
  const int32_t last = -1;
  fy_node *x = fed(g, "x", FY_FLOAT, 2, dims), *axis = ints(g, "axis", 0, &last);
  fy_node *a = op2(g, "Sub", "a", x, mean_of_rows(g, "mean_a", x, axis));
  fy_node *b = op2(g, "Sub", "b", x, mean_after(g, "mean_b", x, axis, a));
  fy_node *c = op2(g, "Sub", "c", x, mean_after(g, "mean_c", x, axis, b));
  optimise(g, (const fy_output[]){{c, 0}, {a, 0}}, 2, NULL, NULL, &r);
  assert_int_equal(count(&r, "_FerryRows"), 3);
  assert_int_equal(count(&r, "Mean"), 0);
  const fy_node *third = r.fetches[0].node, *first = r.fetches[1].node;
  assert_int_equal(third->num_controls, 1);
  assert_string_equal(third->controls[0]->op_name, "_FerryRows");
  assert_int_equal(third->controls[0]->num_controls, 1);
  assert_ptr_equal(third->controls[0]->controls[0], first);
  assert_int_equal(first->num_controls, 0);
  done(&r);
  fy_graph_free(g);
}

static void rows(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  result r;
  const int64_t dims[2] = {3, 80}, one[1] = {80};
  const int32_t last = -1;
  fy_node *x = fed(g, "x", FY_FLOAT, 2, dims), *axis = ints(g, "axis", 0, &last);
  fy_node *mean = mean_of_rows(g, "mean", x, axis), *less = op2(g, "Sub", "less", x, mean);
  fy_node *var = mean_of_rows(g, "var", op1(g, "Square", "square", less), axis);
  fy_node *root = op1(g, "Rsqrt", "root", op2(g, "AddV2", "eps", var, scalar_f(g, "e", 0.001f)));
  fy_node *unit = op2(g, "Mul", "unit", less, root);
  fy_node *y = op2(g, "Mul", "y", unit, fed(g, "gamma", FY_FLOAT, 1, one));
  const fy_output both[2] = {{y, 0}, {mean, 0}};
  optimise(g, both, 1, NULL, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "_FerryRows");
  assert_true(r.fetches[0].node->num_origins >= 8);
  assert_int_equal(count(&r, "Mean"), 0);
  done(&r);
  optimise(g, both, 2, NULL, NULL, &r);  // who else wants the mean gets it
  assert_string_equal(r.fetches[1].node->op_name, "Mean");
  done(&r);
  optimise(g, both, 1, NULL, (const char *const[]){"rows", NULL}, &r);
  assert_int_equal(count(&r, "_FerryRows"), 0);
  done(&r);
  fy_graph_free(g);
}

// ------------------------------------------------------------------ functions
static fy_node *arg(fy_graph *g, const char *name) {
  return placeholder(g, name, FY_FLOAT);
}

static void add_function(fy_graph *g, const char *name, fy_graph *body, fy_node *in, fy_node *out) {
  fy_arena arena;
  Tensorflow__FunctionDef *def;
  fy_error err;
  const fy_output i = {in, 0}, o = {out, 0};
  const fy_function_source source = {.name = name,
                                     .num_nodes = -1,
                                     .num_inputs = 1,
                                     .inputs = &i,
                                     .num_outputs = 1,
                                     .outputs = &o};
  fy_arena_init(&arena);
  fy_error_init(&err);
  if (fy_function_from_graph(body, &source, &arena, &def, &err) ||
      fy_funclib_add(g->functions, def, &err))
    fail_msg("%s", fy_error_text(&err));
  fy_arena_free(&arena);
}

static void inlining(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new(), *body = fy_graph_new();
  result r;
  fy_node *x = arg(body, "x");
  add_function(g, "f", body, x, op1(body, "Exp", "exp", op1(body, "Neg", "neg", x)));
  fy_graph_free(body);
  fy_node *y = fed(g, "y", FY_FLOAT, 1, six);
  fy_node *first = op1(g, "Log", "first", y);
  fy_node *call = control_op(g, "f", "call", y, first);
  fy_node *after = control_op(g, "NoOp", "after", NULL, call);
  const fy_output out = {call, 0};
  optimise(g, &out, 1, after, no_fuse, &r);
  assert_int_equal(count(&r, "f"), 0);
  assert_string_equal(r.fetches[0].node->op_name, "Exp");
  assert_int_equal(strncmp(r.fetches[0].node->name, "call/exp", 8), 0);
  assert_null(r.fetches[0].node->origins);  // it stands for itself
  assert_int_equal(r.fetches[0].node->outputs[0].shape.rank, 1);
  assert_int_equal(count(&r, "Log"), 1);  // still runs before the body
  assert_int_equal(r.fetches[0].node->inputs[0].node->num_controls, 1);
  bool waits = false;  // still
  for (uint32_t i = 0; i < r.targets[0]->num_controls; i++)
    waits |= r.targets[0]->controls[i] == r.fetches[0].node;
  assert_true(waits);
  done(&r);
  // What is fused stands for the nodes of the body by the names that they have here.
  optimise(g, &out, 1, NULL, NULL, &r);
  assert_string_equal(r.fetches[0].node->op_name, "_FerryFused");
  assert_int_equal(r.fetches[0].node->num_origins, 2);
  assert_int_equal(strncmp(r.fetches[0].node->origins[0], "call/neg", 8), 0);
  assert_int_equal(strncmp(r.fetches[0].node->origins[1], "call/exp", 8), 0);
  done(&r);
  const char *const off[] = {"inline", NULL};
  optimise1(g, call, off, &r);
  assert_int_equal(count(&r, "f"), 1);
  done(&r);
  fy_graph_free(g);
}

static void unknown_pass(void **state) {
  (void)state;
  const char *const off[] = {"fues", NULL};
  fy_error err;
  fy_error_init(&err);
  fy_graph *g = fy_graph_new();
  fy_opt_ctx ctx = {.graph = g, .disabled = off};
  assert_int_equal(fy_optimize_run(&ctx, &err), FY_INVALID_ARGUMENT);
  assert_non_null(strstr(fy_error_text(&err), "did you mean 'fuse'"));
  fy_error_clear(&err);
  fy_graph_free(g);
}

// ------------------------------------------------------------------ memory
// Every allocation fails once: the passes say so and leave nothing behind.
static void short_of_memory(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new(), *body = fy_graph_new();
  const int64_t dims[2] = {2, 3};
  const int32_t swap[2] = {1, 0};
  fy_node *arg_x = arg(body, "x");
  add_function(g, "f", body, arg_x, op1(body, "Exp", "exp", arg_x));
  fy_graph_free(body);
  fy_node *x = fed(g, "x", FY_FLOAT, 2, dims), *perm = ints(g, "perm", 2, swap);
  fy_node *sum = op2(g, "AddV2", "sum", scalar_f(g, "two", 2), scalar_f(g, "three", 3));
  fy_node *y = op2(g, "RealDiv", "y", op2(g, "Mul", "m", x, sum), scalar_f(g, "four", 4));
  y = op1(g, "Neg", "n", op2(g, "Transpose", "t", op1(g, "Identity", "i", y), perm));
  y = op1(g, "Tanh", "h", op2(g, "Transpose", "u", y, perm));
  y = op2(g, "Sub", "s", op1(g, "f", "call", y), op1(g, "Abs", "a", op1(g, "Abs", "b", y)));
  for (int64_t nth = 1; nth < 2000; nth++) {
    fy_graph *copy;
    fy_node **map;
    fy_error err;
    const fy_output feed = {x, 0}, fetch = {y, 0};
    fy_error_init(&err);
    assert_int_equal(fy_graph_prune_copy(g, &feed, 1, &fetch, 1, NULL, 0, &copy, &map, &err),
                     FY_OK);
    fy_output out = {map[y->id], 0};
    for (size_t i = 0; i < copy->num_nodes; i++)
      if (strcmp(copy->nodes[i]->op_name, "_Arg") == 0)
        copy->nodes[i]->outputs[0].shape = x->outputs[0].shape;
    assert_int_equal(fy_graph_infer_all(copy, &err), FY_OK);
    fy_opt_ctx ctx = {.graph = copy, .fetches = &out, .num_fetches = 1, .evaluate = evaluate};
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    fy_code code = fy_optimize_run(&ctx, &err);
    const bool all = fy_fault_hits(FY_FAULT_ALLOC) < nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (code) assert_int_equal(code, FY_RESOURCE_EXHAUSTED);
    fy_error_clear(&err);
    fy_graph_free(copy);
    if (all) break;
  }
  fy_graph_free(g);
}

// ------------------------------------------------------------------ time
static void long_chain(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  fy_node *x = fed(g, "x", FY_FLOAT, 0, NULL), *one = scalar_f(g, "one", 1.5f), *y = x;
  char name[32];
  for (int i = 0; i < 10000; i++) {
    snprintf(name, sizeof name, "add%d", i);
    y = op2(g, "AddV2", name, y, one);
  }
  int64_t best = INT64_MAX;
  for (int tries = 0; tries < 5; tries++) {
    result r;
    optimise1(g, y, NULL, &r);
    assert_int_equal(count(&r, "_FerryFused"), 1);
    assert_int_equal(r.fetches[0].node->num_origins, 10000);
    if (r.ns < best) best = r.ns;
    done(&r);
  }
  print_message("10,000 nodes: %.2f ms\n", (double)best * 1e-6);
  fy_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folding),
      cmocka_unit_test(merging),
      cmocka_unit_test(identities),
      cmocka_unit_test(controls),
      cmocka_unit_test(arithmetic),
      cmocka_unit_test(transposes),
      cmocka_unit_test(fusing),
      cmocka_unit_test(inlining),
      cmocka_unit_test(unknown_pass),
      cmocka_unit_test(long_chain),
      cmocka_unit_test(short_of_memory),
      cmocka_unit_test(cells),
      cmocka_unit_test(rows),
      cmocka_unit_test(rows_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

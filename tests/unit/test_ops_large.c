// SPDX-License-Identifier: Apache-2.0
// Loops that only large tensors take, against plain loops here: transposing in tiles and past the
// cache, reductions over many rows, runs copied by several threads, rows normalised in one op, Fourier transforms. And
// parts of tensors, which share memory: with whom, and who may write.

#include "support_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static fy_device_set *devices;
static fy_options options;

static int open_devices(void **state) {
  fy_error err;
  (void)state;
  fy_error_init(&err);
  fy_options_default(&options);
  return fy_devices_open(&options, &devices, &err) != FY_OK;
}
static int close_devices(void **state) {
  (void)state;
  fy_devices_unref(devices);
  return 0;
}

static fy_node *int_const(fy_graph *g, const char *name, int n, const int32_t *v) {
  const int64_t dims[1] = {n};
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_INT32, n == 1 && v[0] == 0 ? 0 : 1, dims, v, &t, NULL), FY_OK);
  return constant(g, name, t);
}

static fy_node *with_attr(fy_graph *g, const char *op, const char *name, int n, fy_node *const *in,
                          const char *attr, fy_attr value) {
  fy_node_builder b;
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_node_begin(g, op, name, &b, &err), FY_OK);
  for (int i = 0; i < n; i++) fy_node_add_input(&b, (fy_output){in[i], 0});
  fy_node_set_attr(&b, attr, &value);
  return finish(&b);
}

// Values that a float holds exactly, so that sums in any order are equal.
static fy_tensor *counted(fy_dtype t, int rank, const int64_t *dims) {
  fy_tensor *x;
  assert_int_equal(fy_tensor_new(t, rank, dims, &x, NULL), FY_OK);
  for (int64_t i = 0; i < x->count; i++) {
    const int32_t v = (int32_t)(i * 7919 % 1021) - 500;
    if (t == FY_FLOAT)
      ((float *)x->data)[i] = (float)v;
    else
      ((int32_t *)x->data)[i] = v;
  }
  return x;
}

static void run_one(fy_session *s, fy_node *feed, fy_tensor *x, int n, const fy_output *fetches,
                    fy_tensor **out) {
  fy_error err;
  fy_error_init(&err);
  const fy_output f = {feed, 0};
  const fy_run_args args = {.feeds = &f,
                            .feed_values = &x,
                            .num_feeds = 1,
                            .fetches = (fy_output *)(uintptr_t)fetches,
                            .num_fetches = n};
  if (fy_session_run(s, &args, out, &err)) fail_msg("%s", fy_error_text(&err));
}

static fy_session *session(fy_graph *g) {
  fy_session *s;
  fy_error err;
  fy_error_init(&err);
  if (fy_session_new(g, devices, &options, NULL, &s, &err)) fail_msg("%s", fy_error_text(&err));
  return s;
}

static fy_tensor *apply(fy_graph *g, fy_node *x, fy_node *y, fy_tensor *value) {
  fy_session *s = session(g);
  fy_tensor *out;
  const fy_output f = {y, 0};
  run_one(s, x, value, 1, &f, &out);
  fy_session_free(s);
  return out;
}

// ------------------------------------------------------------------ loops
static void check_transpose(int rank, const int64_t *dims, const int32_t *perm) {
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", FY_FLOAT);
  fy_node *y = op2(g, "Transpose", "y", x, int_const(g, "perm", rank, perm));
  fy_tensor *in = counted(FY_FLOAT, rank, dims), *out = apply(g, x, y, in);
  int64_t strides[4] = {1, 1, 1, 1}, index[4] = {0};
  for (int d = rank - 2; d >= 0; d--) strides[d] = strides[d + 1] * dims[d + 1];
  for (int64_t i = 0; i < out->count; i++) {
    int64_t at = 0;
    for (int d = 0; d < rank; d++) at += index[d] * strides[perm[d]];
    if (((float *)out->data)[i] != ((float *)in->data)[at])
      fail_msg("[%d, %d…]: element %lld is wrong", (int)dims[0], (int)dims[1], (long long)i);
    for (int d = rank - 1; d >= 0; d--) {
      if (++index[d] < dims[perm[d]]) break;
      index[d] = 0;
    }
  }
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_graph_free(g);
}

static void transposes(void **state) {
  (void)state;
  static const int64_t two[][2] = {
      {16, 16},     {15, 40},     {33, 47},    {64, 300},    {300, 129},  {513, 31},   {1024, 64},
      {2100, 1030}, {1030, 2100}, {3000, 721}, {1031, 2100}, {262149, 8}, {8, 262149}, {175003, 12},
      {12, 175003}, {3, 700004},  {700004, 3}, {52500, 40},  {40, 52500}};
  static const int32_t swap[2] = {1, 0}, last[3] = {0, 2, 1}, turn[3] = {2, 0, 1},
                       reverse[3] = {2, 1, 0};
  for (size_t i = 0; i < sizeof two / sizeof *two; i++) check_transpose(2, two[i], swap);
  static const int64_t three[][3] = {{3, 200, 150}, {70, 20, 33}, {5, 640, 800}};
  for (size_t i = 0; i < sizeof three / sizeof *three; i++) {
    check_transpose(3, three[i], last);
    check_transpose(3, three[i], turn);
    check_transpose(3, three[i], reverse);
  }
}

static void check_columns(fy_dtype t, const char *op, int64_t rows, int64_t cols) {
  const int64_t dims[2] = {rows, cols};
  const int32_t zero[2] = {0, 0};
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", t);
  fy_node *y = op2(g, op, "y", x, int_const(g, "axis", 1, zero));
  fy_tensor *in = counted(t, 2, dims), *out = apply(g, x, y, in);
  assert_int_equal(out->count, cols);
  for (int64_t c = 0; c < cols; c++) {
    double want = op[0] == 'M' && op[1] == 'a' ? -1e9 : 0;
    for (int64_t r = 0; r < rows; r++) {
      const double v = fy_tensor_double(in, r * cols + c);
      want = op[0] == 'M' && op[1] == 'a' ? (v > want ? v : want) : want + v;
    }
    if (strcmp(op, "Mean") == 0) want = (double)((float)want / (float)rows);
    if (fy_tensor_double(out, c) != want)
      fail_msg("%s of [%d,%d]: column %d is %g, not %g", op, (int)rows, (int)cols, (int)c,
               fy_tensor_double(out, c), want);
  }
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_graph_free(g);
}

static void columns(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{511, 9},    {512, 9},    {1300, 1}, {1301, 33},
                                      {700, 4096}, {600, 5000}, {5, 20000}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    check_columns(FY_FLOAT, "Sum", shapes[i][0], shapes[i][1]);
    check_columns(FY_FLOAT, "Mean", shapes[i][0], shapes[i][1]);
    check_columns(FY_FLOAT, "Max", shapes[i][0], shapes[i][1]);
    check_columns(FY_INT32, "Sum", shapes[i][0], shapes[i][1]);
  }
}

// The first of the best along |axis|; never a NaN.
static void check_arg(fy_dtype t, const char *op, int axis, int64_t rows, int64_t cols) {
  const int64_t dims[2] = {rows, cols}, n = axis ? cols : rows, outputs = axis ? rows : cols;
  const double sign = strcmp(op, "ArgMax") == 0 ? 1 : -1;
  fy_tensor *which, *in = counted(t, 2, dims);
  const int32_t number = axis;
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", t);
  assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, &number, &which, NULL), FY_OK);
  fy_node *y = op2(g, op, "y", x, constant(g, "axis", which));
  for (int64_t i = 0; t == FY_FLOAT && i < in->count; i += 37) ((float *)in->data)[i] = NAN;
  fy_tensor *out = apply(g, x, y, in);
  assert_int_equal(out->count, outputs);
  for (int64_t o = 0; o < outputs; o++) {
    double best = -INFINITY;
    int64_t at = 0;
    for (int64_t k = 0; k < n; k++) {
      const double v = sign * fy_tensor_double(in, axis ? o * cols + k : k * cols + o);
      if (v > best) best = v, at = k;
    }
    if (fy_tensor_int(out, o) != at)
      fail_msg("%s of [%d,%d] along %d: %d is %d, not %d", op, (int)rows, (int)cols, axis, (int)o,
               (int)fy_tensor_int(out, o), (int)at);
  }
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_graph_free(g);
}

static void places(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{10, 100}, {7, 33}, {3, 1000},  {300, 32}, {50, 65},
                                      {900, 1},  {1, 64}, {64, 1021}, {41, 107}, {2000, 300}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    for (int axis = 0; axis < 2; axis++) {
      check_arg(FY_FLOAT, "ArgMax", axis, shapes[i][0], shapes[i][1]);
      check_arg(FY_FLOAT, "ArgMin", axis, shapes[i][0], shapes[i][1]);
      check_arg(FY_INT32, "ArgMax", axis, shapes[i][0], shapes[i][1]);
      check_arg(FY_INT32, "ArgMin", axis, shapes[i][0], shapes[i][1]);
    }
  }
}

static void long_runs(void **state) {
  (void)state;
  const int64_t dims[2] = {1001, 997};
  const int32_t begin[2] = {3, 0}, size[2] = {990, -1}, zero = 0;
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", FY_FLOAT);
  fy_node *in3[3] = {x, int_const(g, "begin", 2, begin), int_const(g, "size", 2, size)};
  fy_node *part = op_n(g, "Slice", "part", NULL, 3, in3);
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "ConcatV2", "both", &b, NULL), FY_OK);
  const fy_output list[2] = {{part, 0}, {x, 0}};
  fy_node_add_input_list(&b, list, 2);
  fy_node_add_input(&b, (fy_output){int_const(g, "axis", 1, &zero), 0});
  fy_node *both = finish(&b);
  fy_tensor *in = counted(FY_FLOAT, 2, dims), *out = apply(g, x, both, in);
  assert_int_equal(out->dims[0], 990 + 1001);
  const float *o = out->data, *i = in->data;
  assert_memory_equal(o, i + 3 * 997, 990 * 997 * sizeof *o);
  assert_memory_equal(o + 990 * 997, i, 1001 * 997 * sizeof *o);
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_graph_free(g);
}

// ------------------------------------------------------------------ parts
typedef struct parts_graph {
  fy_graph *g;
  fy_node *x, *made, *split, *neg[2], *sum;
} parts_graph;

// x [4, 16 * k]; made = x + 1 (planned memory); two halves of it, each negated, and their sum.
static parts_graph make_parts(void) {
  parts_graph p = {.g = fy_graph_new()};
  const int32_t zero = 0;
  const float one = 1;
  p.x = placeholder(p.g, "x", FY_FLOAT);
  p.made = op2(p.g, "AddV2", "made", p.x, constant(p.g, "one", floats(0, NULL, &one)));
  fy_node *in[2] = {int_const(p.g, "zero", 1, &zero), p.made};
  p.split = with_attr(p.g, "Split", "split", 2, in, "num_split", fy_attr_int(2));
  for (int k = 0; k < 2; k++) {
    fy_node_builder b;
    assert_int_equal(fy_node_begin(p.g, "Exp", k ? "second" : "first", &b, NULL), FY_OK);
    fy_node_add_input(&b, (fy_output){p.split, k});
    p.neg[k] = finish(&b);
  }
  p.sum = op2(p.g, "Sub", "sum", p.neg[0], p.neg[1]);
  return p;
}

static void check_halves(const fy_tensor *x, fy_tensor *const *out) {
  const float *v = x->data, *whole = out[0]->data, *a = out[1]->data, *b = out[2]->data;
  const float *d = out[3]->data;
  const int64_t n = x->count / 2;
  for (int64_t i = 0; i < n; i++) {
    assert_true(whole[i] == v[i] + 1 && whole[n + i] == v[n + i] + 1);
    assert_true(fabsf(a[i] - expf(v[i] + 1)) <= 1e-6f * a[i]);
    assert_true(fabsf(b[i] - expf(v[n + i] + 1)) <= 1e-6f * b[i]);
    assert_true(d[i] == a[i] - b[i]);
  }
}

// Whatever is fetched, nobody overwrites what somebody else still reads; results outlive later runs.
static void parts_stay_whole(void **state) {
  (void)state;
  const int64_t dims[2] = {4, 64};
  fy_tensor *x;
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &x, NULL), FY_OK);
  for (int optimised = 0; optimised < 2; optimised++) {
    options.optimize = optimised;
    parts_graph p = make_parts();
    fy_session *s = session(p.g);
    const fy_output all[4] = {{p.made, 0}, {p.neg[0], 0}, {p.neg[1], 0}, {p.sum, 0}};
    const fy_output last[4] = {{p.sum, 0}, {p.split, 1}, {p.split, 0}, {p.made, 0}};
    fy_tensor *out[4], *kept[4];
    for (int i = 0; i < 256; i++) ((float *)x->data)[i] = (float)(i % 17) * 0.125f - 1;
    run_one(s, p.x, x, 4, all, kept);
    check_halves(x, kept);
    run_one(s, p.x, x, 4, last, out);
    for (int i = 0; i < 128; i++) {
      assert_true(((float *)out[1]->data)[i] == ((float *)x->data)[128 + i] + 1);
      assert_true(((float *)out[2]->data)[i] == ((float *)x->data)[i] + 1);
      ((float *)out[1]->data)[i] = 0;  // the caller may write into what it got
    }
    assert_memory_equal(out[0]->data, kept[3]->data, 128 * sizeof(float));
    for (int i = 0; i < 4; i++) fy_tensor_release(out[i]);
    fy_tensor *const before = x;
    assert_int_equal(fy_tensor_new(FY_FLOAT, 2, dims, &x, NULL), FY_OK);
    for (int i = 0; i < 256; i++) ((float *)x->data)[i] = 3;
    run_one(s, p.x, x, 4, all, out);
    check_halves(x, out);
    check_halves(before, kept);
    for (int i = 0; i < 4; i++) fy_tensor_release(out[i]), fy_tensor_release(kept[i]);
    fy_tensor_release(before);
    fy_session_free(s);
    fy_graph_free(p.g);
  }
  options.optimize = true;
  fy_tensor_release(x);
}

// A part of what is fed is the caller's memory; it stays after the feed and the session are gone.
static void parts_of_feeds(void **state) {
  (void)state;
  const int64_t dims[2] = {8, 32};
  const int32_t begin[2] = {2, 0}, end[2] = {6, 32}, ones[2] = {1, 1};
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", FY_FLOAT);
  fy_node *flat = with_attr(g, "Unpack", "rows", 1, &x, "num", fy_attr_int(8));
  fy_node *in[4] = {x, int_const(g, "begin", 2, begin), int_const(g, "end", 2, end),
                    int_const(g, "ones", 2, ones)};
  fy_node *middle = op_n(g, "StridedSlice", "middle", NULL, 4, in);
  fy_node *again = op1(g, "Relu", "again", middle);
  fy_session *s = session(g);
  fy_tensor *v = counted(FY_FLOAT, 2, dims), *copy = NULL, *out[4];
  assert_int_equal(fy_tensor_clone(v, &copy, NULL), FY_OK);
  const fy_output fetches[4] = {{flat, 3}, {flat, 0}, {middle, 0}, {again, 0}};
  run_one(s, x, v, 4, fetches, out);
  assert_ptr_equal(out[0]->data, (float *)v->data + 3 * 32);
  assert_ptr_equal(out[2]->data, (float *)v->data + 2 * 32);
  assert_int_equal(out[1]->rank, 1);
  assert_false(fy_tensor_is_exclusive(out[1]));
  fy_tensor_release(v);
  fy_session_free(s);
  assert_memory_equal(out[0]->data, (float *)copy->data + 3 * 32, 32 * sizeof(float));
  assert_memory_equal(out[1]->data, copy->data, 32 * sizeof(float));
  assert_memory_equal(out[2]->data, (float *)copy->data + 2 * 32, 4 * 32 * sizeof(float));
  for (int i = 0; i < 4 * 32; i++)
    assert_true(((float *)out[3]->data)[i] == fmaxf(((float *)copy->data)[2 * 32 + i], 0));
  for (int i = 0; i < 4; i++) fy_tensor_release(out[i]);
  fy_tensor_release(copy);
  fy_graph_free(g);
}

// ------------------------------------------------------------------ rows
// All of |y| is one node that knows which ones it stands for.
static void check_one_op(fy_graph *g, fy_node *x, fy_node *y, const fy_tensor *value) {
  fy_session *s = session(g);
  fy_program *p;
  fy_error err;
  fy_error_init(&err);
  const fy_output feed = {x, 0}, fetch = {y, 0};
  const fy_pshape shape = {value->rank, value->dims};
  const fy_run_args args = {.feeds = &feed, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  if (fy_session_program(s, &args, &shape, NULL, NULL, &p, &err))
    fail_msg("%s", fy_error_text(&err));
  int rows = 0;
  for (size_t i = 0; i < p->graph->num_nodes; i++) {
    const fy_node *n = p->graph->nodes[i];
    if (!n || strcmp(n->op_name, "_FerryRows") != 0) continue;
    rows++;
    assert_true(n->num_origins >= 9);
  }
  assert_int_equal(rows, 1);
  assert_int_equal(p->num_instrs, 1);
  fy_program_release(p);
  fy_session_free(s);
}

// Against a layer normalisation in doubles.
static void normalised(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 3, 64}, {2, 5, 100}, {3, 7, 257}, {1, 20, 2500}};
  const fy_attr keep = {.kind = FY_ATTR_BOOL, .v.b = true};
  const int32_t minus = -1;
  const float eps = 1e-3f;
  for (int k = 0; k < 8; k++) {
    const int64_t *dims = shapes[k / 2], n = dims[2];
    fy_graph *g = fy_graph_new();
    fy_node *x = placeholder(g, "x", FY_FLOAT), *axis = int_const(g, "axis", 1, &minus);
    fy_tensor *gv = counted(FY_FLOAT, 1, &dims[2]), *bv = counted(FY_FLOAT, 1, &dims[2]);
    for (int64_t i = 0; i < n; i++) ((float *)gv->data)[i] = 1 + (float)(i % 7) * 0.25f;
    fy_node *e = constant(g, "eps", floats(0, NULL, &eps));
    fy_tensor *g2, *b2;
    assert_int_equal(fy_tensor_clone(gv, &g2, NULL) | fy_tensor_clone(bv, &b2, NULL), FY_OK);
    fy_node *gamma = constant(g, "gamma", g2), *beta = constant(g, "beta", b2);
    fy_node *in[2] = {x, axis};
    fy_node *mean = with_attr(g, "Mean", "mean", 2, in, "keep_dims", keep), *y;
    if (k % 2) {  // as tf.nn.batch_normalization
      in[0] = op2(g, "SquaredDifference", "sd", x, mean);
      fy_node *var = with_attr(g, "Mean", "var", 2, in, "keep_dims", keep);
      fy_node *r = op1(g, "Rsqrt", "r", op2(g, "AddV2", "ve", var, e));
      fy_node *scale = op2(g, "Mul", "scale", r, gamma);
      fy_node *shift = op2(g, "Sub", "shift", beta, op2(g, "Mul", "ms", mean, scale));
      y = op2(g, "AddV2", "y", op2(g, "Mul", "xs", x, scale), shift);
    } else {
      fy_node *less = op2(g, "Sub", "less", x, mean);
      in[0] = op1(g, "Square", "sd", less);
      fy_node *var = with_attr(g, "Mean", "var", 2, in, "keep_dims", keep);
      fy_node *root = op1(g, "Sqrt", "root", op2(g, "AddV2", "ve", var, e));
      y = op2(g, "Mul", "yg", op2(g, "RealDiv", "div", less, root), gamma);
      y = op2(g, "AddV2", "y", y, beta);
    }
    fy_tensor *v = counted(FY_FLOAT, 3, dims), *out = apply(g, x, y, v);
    check_one_op(g, x, y, v);
    for (int64_t r = 0; r < dims[0] * dims[1]; r++) {
      const float *row = (float *)v->data + r * n;
      double m = 0, var = 0;
      for (int64_t i = 0; i < n; i++) m += (double)row[i] / (double)n;
      for (int64_t i = 0; i < n; i++)
        var += ((double)row[i] - m) * ((double)row[i] - m) / (double)n;
      for (int64_t i = 0; i < n; i++) {
        const double unit = ((double)row[i] - m) / sqrt(var + 1e-3);
        const double want = unit * (double)((float *)gv->data)[i] + (double)((float *)bv->data)[i];
        const double got = (double)((float *)out->data)[r * n + i];
        if (fabs(got - want) > 1e-4 * (1 + fabs(want)))
          fail_msg("form %d: row %d, %d: %g, not %g", k, (int)r, (int)i, got, want);
      }
    }
    fy_tensor_release(gv);
    fy_tensor_release(bv);
    fy_tensor_release(v);
    fy_tensor_release(out);
    fy_graph_free(g);
  }
}

// ------------------------------------------------------------------ gradients of convolutions
typedef struct window {
  int64_t n, h, w, ic, kh, kw, oc, stride, dilation;
  bool same;
} window;

static void check_input_gradient(const window *c) {
  const int64_t kh = (c->kh - 1) * c->dilation + 1, kw = (c->kw - 1) * c->dilation + 1;
  const int64_t oh = c->same ? (c->h + c->stride - 1) / c->stride : (c->h - kh) / c->stride + 1;
  const int64_t ow = c->same ? (c->w + c->stride - 1) / c->stride : (c->w - kw) / c->stride + 1;
  int64_t top = (oh - 1) * c->stride + kh - c->h, left = (ow - 1) * c->stride + kw - c->w;
  top = c->same && top > 0 ? top / 2 : 0;
  left = c->same && left > 0 ? left / 2 : 0;
  const int32_t sizes[4] = {(int32_t)c->n, (int32_t)c->h, (int32_t)c->w, (int32_t)c->ic};
  const int64_t filter_dims[4] = {c->kh, c->kw, c->ic, c->oc}, grad_dims[4] = {c->n, oh, ow, c->oc};
  int64_t steps[4] = {1, c->stride, c->stride, 1}, holes[4] = {1, c->dilation, c->dilation, 1};
  fy_graph *g = fy_graph_new();
  fy_tensor *f = counted(FY_FLOAT, 4, filter_dims), *fc, *grad = counted(FY_FLOAT, 4, grad_dims);
  assert_int_equal(fy_tensor_clone(f, &fc, NULL), FY_OK);
  fy_node *x = placeholder(g, "x", FY_FLOAT);
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "Conv2DBackpropInput", "y", &b, NULL), FY_OK);
  fy_node_add_input(&b, (fy_output){int_const(g, "sizes", 4, sizes), 0});
  fy_node_add_input(&b, (fy_output){constant(g, "filter", fc), 0});
  fy_node_add_input(&b, (fy_output){x, 0});
  const fy_attr s = {.kind = FY_ATTR_INT, .is_list = true, .n = 4, .v.ints = steps};
  const fy_attr d = {.kind = FY_ATTR_INT, .is_list = true, .n = 4, .v.ints = holes};
  const fy_attr padding = fy_attr_string(fy_view_of(c->same ? "SAME" : "VALID"));
  fy_node_set_attr(&b, "strides", &s);
  fy_node_set_attr(&b, "dilations", &d);
  fy_node_set_attr(&b, "padding", &padding);
  fy_node *y = finish(&b);
  fy_tensor *out = apply(g, x, y, grad);
  double *want = calloc((size_t)out->count, sizeof *want);
  assert_non_null(want);
  for (int64_t i = 0; i < c->n * oh * ow * c->kh * c->kw; i++) {
    const int64_t q = i % c->kw, p = i / c->kw % c->kh, at = i / (c->kw * c->kh);
    const int64_t ix = at % ow * c->stride - left + q * c->dilation;
    const int64_t iy = at / ow % oh * c->stride - top + p * c->dilation;
    if (ix < 0 || ix >= c->w || iy < 0 || iy >= c->h) continue;
    double *to = want + ((at / (ow * oh) * c->h + iy) * c->w + ix) * c->ic;
    for (int64_t k = 0; k < c->ic; k++)
      for (int64_t o = 0; o < c->oc; o++)
        to[k] += (double)((float *)f->data)[((p * c->kw + q) * c->ic + k) * c->oc + o] *
                 (double)((float *)grad->data)[at * c->oc + o];
  }
  for (int64_t i = 0; i < out->count; i++)
    if (fabs((double)((float *)out->data)[i] - want[i]) > 1e-5 * (1e6 + fabs(want[i])))
      fail_msg("%dx%dx%d window %d stride %d: element %d is %g, not %g", (int)c->h, (int)c->w,
               (int)c->ic, (int)c->kh, (int)c->stride, (int)i, (double)((float *)out->data)[i],
               want[i]);
  free(want);
  fy_tensor_release(f);
  fy_tensor_release(grad);
  fy_tensor_release(out);
  fy_graph_free(g);
}

static void input_gradients(void **state) {
  (void)state;
  static const window cases[] = {
      {3, 9, 11, 1, 5, 5, 32, 1, 1, true},   {1, 14, 13, 24, 3, 3, 40, 2, 1, true},
      {4, 14, 14, 17, 3, 3, 9, 2, 1, false}, {2, 12, 10, 3, 7, 7, 16, 2, 1, true},
      {2, 15, 9, 8, 2, 3, 5, 3, 1, true},    {1, 16, 16, 2, 3, 3, 8, 1, 2, true},
      {2, 16, 15, 6, 3, 2, 8, 2, 2, false},  {5, 7, 7, 33, 1, 3, 20, 2, 1, true},
      {1, 8, 8, 16, 3, 3, 16, 1, 1, true},   {2, 5, 5, 4, 3, 3, 4, 4, 1, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_input_gradient(&cases[i]);
}

// Number k of the transform of a line, the slow way.
static void slow_number(const float *x, int64_t n, int64_t k, double *re, double *im) {
  *re = *im = 0;
  for (int64_t i = 0; i < n; i++) {
    const double a = -2 * M_PI * (double)(i * k % n) / (double)n;
    *re += x[2 * i] * cos(a) - x[2 * i + 1] * sin(a);
    *im += x[2 * i] * sin(a) + x[2 * i + 1] * cos(a);
  }
}

static void check_transform(int64_t lines, int64_t n) {
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", FY_COMPLEX64), *y = op1(g, "FFT", "y", x);
  const int64_t dims[2] = {lines, n}, at[4] = {0, 1 % n, n / 3, n - 1};
  fy_tensor *in, *out, *back;
  assert_int_equal(fy_tensor_new(FY_COMPLEX64, 2, dims, &in, NULL), FY_OK);
  float *v = in->data;
  for (int64_t i = 0; i < 2 * in->count; i++) v[i] = (float)(i * 7919 % 1021) / 512 - 1;
  out = apply(g, x, y, in);
  const double bound = 1e-6 * sqrt((double)n) * (log2((double)n) + 2);
  for (int64_t line = 0; line < lines; line++) {
    for (int i = 0; i < 4; i++) {
      double re, im;
      slow_number(v + 2 * line * n, n, at[i], &re, &im);
      const float *got = (const float *)out->data + 2 * (line * n + at[i]);
      if (!(hypot(got[0] - re, got[1] - im) <= bound))
        fail_msg("%d lines of %d: number %d is wrong", (int)lines, (int)n, (int)at[i]);
    }
  }
  back = apply(g, x, op1(g, "IFFT", "back", x), out);
  for (int64_t i = 0; i < 2 * in->count; i++)
    if (!(fabsf(((float *)back->data)[i] - v[i]) <= 1e-5f)) fail_msg("IFFT of %d", (int)n);
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_tensor_release(back);
  fy_graph_free(g);
}

// A real line and back; its transform's last numbers are checked by that.
static void check_real_transform(int64_t lines, int64_t n) {
  fy_graph *g = fy_graph_new();
  const int32_t length = (int32_t)n;
  fy_node *x = placeholder(g, "x", FY_FLOAT), *size = int_const(g, "size", 1, &length);
  fy_node *y = op2(g, "IRFFT", "z", op2(g, "RFFT", "y", x, size), size);
  const int64_t dims[2] = {lines, n};
  fy_tensor *in = counted(FY_FLOAT, 2, dims), *out = apply(g, x, y, in);
  for (int64_t i = 0; i < in->count; i++)
    if (!(fabsf(((float *)out->data)[i] - ((float *)in->data)[i]) <= 5e-3f))
      fail_msg("%d real lines of %d: number %d", (int)lines, (int)n, (int)i);
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_graph_free(g);
}

// Lines in lanes and lines as matrices; passes of small factors, of odd primes, and convolutions.
static void transforms(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{1, 8},    {1, 60},    {1, 1000},  {3, 1024}, {9, 129},
                                     {17, 64},  {8, 4096},  {3, 4100},  {1, 6000}, {20, 257},
                                     {2, 5003}, {1, 37888}, {1, 65536}, {5, 86},   {8, 1},
                                     {7, 2},    {11, 106},  {1, 394},   {33, 360}, {1, 7}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_transform(sizes[i][0], sizes[i][1]);
    check_real_transform(sizes[i][0], sizes[i][1]);
  }
}

// What fits no byte: the nearest one, but the least of what fits no 32 bits; and zeros over all threads.
static void bytes_and_zeros(void **state) {
  (void)state;
  const int64_t n = 64 * 5001;
  for (int kind = 0; kind < 3; kind++) {
    const fy_dtype to = kind == 0 ? FY_INT8 : FY_UINT8;
    fy_graph *g = fy_graph_new();
    fy_node *x = placeholder(g, "x", FY_FLOAT);
    fy_node *y = kind == 2 ? op1(g, "ZerosLike", "y", x)
                           : with_attr(g, "Cast", "y", 1, &x, "DstT", fy_attr_type(to));
    fy_tensor *in = counted(FY_FLOAT, 1, &n);
    float *v = in->data;
    for (int64_t i = 0; i < n; i += 7)
      v[i] = i % 3 == 0 ? 3e9f : i % 3 == 1 ? NAN : -v[i] * 1000 + 0.75f;
    fy_tensor *out = apply(g, x, y, in);
    for (int64_t i = 0; i < n; i++) {
      const float f = v[i], low = kind ? 0 : -128, high = kind ? 255 : 127;
      const float whole = f > -2147483648.0f && f < 2147483648.0f ? truncf(f) : -2147483648.0f;
      const float want = kind == 2 ? 0 : whole < low ? low : whole > high ? high : whole;
      const float got = kind == 0   ? (float)((int8_t *)out->data)[i]
                        : kind == 1 ? (float)((uint8_t *)out->data)[i]
                                    : ((float *)out->data)[i];
      if (got != want)
        fail_msg("kind %d: %g becomes %g, not %g", kind, (double)f, (double)got, (double)want);
    }
    fy_tensor_release(in);
    fy_tensor_release(out);
    fy_graph_free(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transposes),       cmocka_unit_test(columns),
      cmocka_unit_test(places),           cmocka_unit_test(long_runs),
      cmocka_unit_test(parts_stay_whole), cmocka_unit_test(parts_of_feeds),
      cmocka_unit_test(normalised),       cmocka_unit_test(input_gradients),
      cmocka_unit_test(transforms),       cmocka_unit_test(bytes_and_zeros)};
  return cmocka_run_group_tests(tests, open_devices, close_devices);
}

// SPDX-License-Identifier: Apache-2.0
// Optimised graphs give what the graphs as written give, bit for bit: random graphs of several
// types, shapes, control edges and fetches, with all passes, with each pass alone, and with each
// left out.
// FERRY_TEST_SEED and FERRY_TEST_GRAPHS choose other graphs; a failure prints the seed.

#include "support_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "optimize/optimize.h"
#include "sample.h"

enum { MAX_VALUES = 160, MAX_FEEDS = 4, MAX_FETCHES = 6 };

typedef struct value {
  fy_output out;
  fy_dtype type;
  int rank;
  int64_t dims[4];
} value;

typedef struct maker {
  uint64_t state;
  fy_graph *g;
  value v[MAX_VALUES];
  int n;
  int serial;
  fy_output feeds[MAX_FEEDS];
  fy_tensor *feed_values[MAX_FEEDS];
  int num_feeds;
} maker;

static uint32_t roll(maker *m, uint32_t below) {
  m->state = m->state * 6364136223846793005ull + 1442695040888963407ull;
  uint64_t x = m->state ^ (m->state >> 29);
  x *= 0xBF58476D1CE4E5B9ull;
  return (uint32_t)(x >> 33) % below;
}

static const char *name(maker *m, const char *op) {
  return fy_arena_printf(&m->g->arena, "%s_%d", op, m->serial++);
}

static double number(maker *m) {
  // No denormals: x * 1 makes 0 of them, and is dropped (as in TensorFlow).
  static const double odd[] = {0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, -1e30, 100.0, 0.5};
  if (roll(m, 8) == 0) return odd[roll(m, sizeof odd / sizeof odd[0])];
  return ((double)roll(m, 2000001) - 1000000.0) / 300000.0;
}

static fy_tensor *tensor(maker *m, fy_dtype t, int rank, const int64_t *dims) {
  fy_tensor *out;
  assert_int_equal(fy_tensor_new(t, rank, dims, &out, NULL), FY_OK);
  for (int64_t i = 0; i < out->count; i++) {
    switch (t) {
      case FY_FLOAT: ((float *)out->data)[i] = (float)number(m); break;
      case FY_DOUBLE: ((double *)out->data)[i] = number(m); break;
      case FY_INT32: ((int32_t *)out->data)[i] = (int32_t)roll(m, 2000) - 1000; break;
      default: ((int64_t *)out->data)[i] = (int64_t)roll(m, 2000) - 1000; break;
    }
  }
  return out;
}

static void add_value(maker *m, fy_output out) {
  const fy_node_out *o = &out.node->outputs[out.index];
  value *v = &m->v[m->n];
  if (m->n == MAX_VALUES || o->shape.rank < 0 || o->shape.rank > 4) return;
  v->out = out;
  v->type = o->dtype;
  v->rank = o->shape.rank;
  for (int i = 0; i < v->rank; i++) {
    if (o->shape.dims[i] < 0) return;
    v->dims[i] = o->shape.dims[i];
  }
  m->n++;
}

static fy_output make_const(maker *m, fy_tensor *t) {
  return (fy_output){constant(m->g, name(m, "const"), t), 0};
}

static fy_output ints(maker *m, const int32_t *x, int n) {
  const int64_t dims[1] = {n};
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_INT32, 1, dims, x, &t, NULL), FY_OK);
  return make_const(m, t);
}

static fy_output scalar(maker *m, fy_dtype t, double x) {
  fy_tensor *out;
  assert_int_equal(fy_tensor_new(t, 0, NULL, &out, NULL), FY_OK);
  switch (t) {
    case FY_FLOAT: *(float *)out->data = (float)x; break;
    case FY_DOUBLE: *(double *)out->data = x; break;
    case FY_INT32: *(int32_t *)out->data = (int32_t)x; break;
    default: *(int64_t *)out->data = (int64_t)x; break;
  }
  return make_const(m, out);
}

// An op with these inputs; now and then it waits for an earlier node.
static fy_node *add_op(maker *m, const char *op, const fy_output *in, int n, const char *attr,
                       const fy_attr *attr_value, bool list) {
  fy_node_builder b;
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_node_begin(m->g, op, name(m, op), &b, &err), FY_OK);
  if (list) {
    fy_node_add_input_list(&b, in, n);
  } else {
    for (int i = 0; i < n; i++) fy_node_add_input(&b, in[i]);
  }
  if (attr) fy_node_set_attr(&b, attr, attr_value);
  if (m->n && roll(m, 15) == 0) fy_node_add_control(&b, m->v[roll(m, (uint32_t)m->n)].out.node);
  fy_node *node = NULL;
  fy_code code = fy_node_finish(&b, &node, &err);
  fy_error_clear(&err);
  if (code) return NULL;  // shapes that do not fit: another try
  for (uint32_t i = 0; i < node->num_outputs; i++) add_value(m, (fy_output){node, (int32_t)i});
  return node;
}

static value *pick(maker *m) {
  // Recent values more often: long chains.
  uint32_t back = roll(m, 3) ? roll(m, m->n < 8 ? (uint32_t)m->n : 8u) : roll(m, (uint32_t)m->n);
  return &m->v[m->n - 1 - (int)back];
}

static value *pick_like(maker *m, fy_dtype t) {
  for (int tries = 0; tries < 30; tries++) {
    value *v = pick(m);
    if (v->type == t) return v;
  }
  return NULL;
}

static bool is_real(fy_dtype t) {
  return t == FY_FLOAT || t == FY_DOUBLE;
}
static bool is_int(fy_dtype t) {
  return t == FY_INT32 || t == FY_INT64;
}

static void unary(maker *m) {
  static const char *const reals[] = {
      "Neg",  "Abs",     "Square", "Sqrt",  "Rsqrt", "Exp",        "Log",      "Log1p",    "Expm1",
      "Tanh", "Sigmoid", "Relu",   "Relu6", "Elu",   "Selu",       "Softplus", "Softsign", "Sin",
      "Cos",  "Erf",     "Floor",  "Ceil",  "Rint",  "Reciprocal", "Sign",     "LeakyRelu"};
  static const char *const whole[] = {"Neg", "Abs", "Square", "Sign", "Relu", "Relu6"};
  value *x = pick(m);
  const char *op = is_real(x->type)  ? reals[roll(m, sizeof reals / sizeof reals[0])]
                   : is_int(x->type) ? whole[roll(m, sizeof whole / sizeof whole[0])]
                                     : "Identity";
  fy_output in = x->out;
  if (!add_op(m, op, &in, 1, NULL, NULL, false)) return;
  if (roll(m, 4) == 0) {  // the same again, for CSE; or after itself
    if (roll(m, 2)) in = m->v[m->n - 1].out;
    add_op(m, op, &in, 1, NULL, NULL, false);
  }
}

static void binary(maker *m) {
  static const char *const reals[] = {
      "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "Pow"};
  static const char *const whole[] = {"AddV2",   "Sub",     "Mul",
                                      "Maximum", "Minimum", "SquaredDifference"};
  static const double neutral[] = {0, 1, 2, -0.0, 0.25, 3, -4};
  value *x = pick(m);
  if (!is_real(x->type) && !is_int(x->type)) return;
  value *y = pick_like(m, x->type);
  fy_output in[2] = {x->out, y ? y->out : x->out};
  if (roll(m, 3) == 0) in[1] = scalar(m, x->type, neutral[roll(m, 7)]);
  if (roll(m, 4) == 0) {
    fy_output t = in[0];
    in[0] = in[1];
    in[1] = t;
  }
  const char *op = is_real(x->type) ? reals[roll(m, 8)] : whole[roll(m, 6)];
  add_op(m, op, in, 2, NULL, NULL, false);
  if (roll(m, 6) == 0) add_op(m, op, in, 2, NULL, NULL, false);
}

static void shapes(maker *m) {
  value x = *pick(m);
  fy_output in[2] = {x.out, x.out};
  int32_t perm[4], dims[4];
  int64_t count = 1;
  for (int i = 0; i < x.rank; i++) count *= x.dims[i];
  switch (roll(m, 8)) {
    case 0: add_op(m, roll(m, 2) ? "Identity" : "StopGradient", in, 1, NULL, NULL, false); break;
    case 1:
      dims[0] = (int32_t)count;
      in[1] = ints(m, dims, 1);
      add_op(m, "Reshape", in, 2, NULL, NULL, false);
      break;
    case 2:
      for (int i = 0; i < x.rank; i++) dims[i] = (int32_t)x.dims[i];
      in[1] = ints(m, dims, x.rank);
      add_op(m, "Reshape", in, 2, NULL, NULL, false);
      break;
    case 3:
      for (int i = 0; i < x.rank; i++) perm[i] = x.rank - 1 - i;
      in[1] = ints(m, perm, x.rank);
      if (!add_op(m, "Transpose", in, 2, NULL, NULL, false)) break;
      in[0] = m->v[m->n - 1].out;
      if (roll(m, 2) && is_real(x.type) && add_op(m, "Neg", in, 1, NULL, NULL, false))
        in[0] = m->v[m->n - 1].out;
      if (roll(m, 2)) add_op(m, "Transpose", in, 2, NULL, NULL, false);
      break;
    case 4:
      in[1] = scalar(m, FY_INT32, 0);
      if (!add_op(m, "ExpandDims", in, 2, NULL, NULL, false)) break;
      in[0] = m->v[m->n - 1].out;
      if (roll(m, 2)) add_op(m, "Squeeze", in, 1, NULL, NULL, false);
      break;
    case 5: {
      static const fy_dtype to[] = {FY_FLOAT, FY_DOUBLE, FY_INT32, FY_INT64};
      fy_attr t = fy_attr_type(to[roll(m, 4)]);
      if (!is_real(x.type) && !is_int(x.type)) break;
      if (!add_op(m, "Cast", in, 1, "DstT", &t, false)) break;
      in[0] = m->v[m->n - 1].out;
      t = fy_attr_type(to[roll(m, 4)]);
      if (roll(m, 2)) add_op(m, "Cast", in, 1, "DstT", &t, false);
      break;
    }
    case 6: {
      value *y = pick_like(m, x.type);
      if (y) in[1] = y->out;
      if (!add_op(m, "Pack", in, 2, NULL, NULL, true)) break;
      fy_attr two = fy_attr_int(2);
      in[0] = m->v[m->n - 1].out;
      if (roll(m, 2)) add_op(m, "Unpack", in, 1, "num", &two, false);
      break;
    }
    default:
      if (roll(m, 2)) {
        add_op(m, "Shape", in, 1, NULL, NULL, false);
      } else {
        in[1] = scalar(m, FY_INT32, 0);
        if (x.rank && (is_real(x.type) || is_int(x.type)))
          add_op(m, "Sum", in, 2, NULL, NULL, false);
      }
  }
}

// Parts of a tensor, which share its memory where they may: whoever comes after must not overwrite it.
static void parts(maker *m) {
  const value x = *pick(m);
  fy_output in[4] = {x.out, x.out, x.out, x.out};
  fy_attr two = fy_attr_int(2);
  if (x.rank < 1 || x.dims[0] < 2) return;
  const int32_t from = (int32_t)roll(m, (uint32_t)x.dims[0]);
  int32_t begin[4] = {from, 0, 0, 0}, size[4] = {-1, -1, -1, -1}, ones[4] = {1, 1, 1, 1}, end[4];
  switch (roll(m, 4)) {
    case 0:
      in[0] = scalar(m, FY_INT32, 0);
      if (x.dims[0] % 2 == 0) add_op(m, "Split", in, 2, "num_split", &two, false);
      break;
    case 1: {
      const int32_t sizes[2] = {from, -1};
      in[1] = ints(m, sizes, 2);
      in[2] = scalar(m, FY_INT32, 0);
      add_op(m, "SplitV", in, 3, "num_split", &two, false);
      break;
    }
    case 2:
      in[1] = ints(m, begin, x.rank);
      in[2] = ints(m, size, x.rank);
      add_op(m, "Slice", in, 3, NULL, NULL, false);
      break;
    default: {
      fy_attr shrink = fy_attr_int(1);
      for (int i = 0; i < x.rank; i++) end[i] = (int32_t)x.dims[i];
      if (roll(m, 2)) end[0] = from + 1;
      in[1] = ints(m, begin, x.rank);
      in[2] = ints(m, end, x.rank);
      in[3] = ints(m, ones, x.rank);
      add_op(m, "StridedSlice", in, 4, roll(m, 2) ? "shrink_axis_mask" : NULL, &shrink, false);
    }
  }
}

static fy_output op_2(maker *m, const char *op, fy_output a, fy_output b) {
  const fy_output in[2] = {a, b};
  const fy_node *n = add_op(m, op, in, 2, NULL, NULL, false);
  return n ? m->v[m->n - 1].out : a;
}

// A reduction that keeps its dims, and what models do with it.
static void rows(maker *m) {
  static const char *const reductions[] = {"Mean", "Mean", "Sum", "Max", "Min"};
  const value x = *pick(m);
  const fy_attr keep = {.kind = FY_ATTR_BOOL, .v.b = true};
  if (!is_real(x.type) || x.rank < 1 || m->n > MAX_VALUES - 24) return;
  const int32_t both[2] = {-1, -2};
  fy_output in[2] = {x.out, ints(m, both, x.rank > 1 && roll(m, 3) == 0 ? 2 : 1)};
  if (!add_op(m, reductions[roll(m, 5)], in, 2, "keep_dims", &keep, false)) return;
  fy_output mean = m->v[m->n - 1].out, less, y;
  less = op_2(m, roll(m, 2) ? "SquaredDifference" : "Sub", x.out, mean);
  if (roll(m, 2) && add_op(m, "Square", &less, 1, NULL, NULL, false)) less = m->v[m->n - 1].out;
  in[0] = less;
  if (!add_op(m, reductions[roll(m, 5)], in, 2, "keep_dims", &keep, false)) return;
  y = op_2(m, "AddV2", m->v[m->n - 1].out, scalar(m, x.type, 1e-3));
  if (add_op(m, roll(m, 2) ? "Rsqrt" : "Sqrt", &y, 1, NULL, NULL, false)) y = m->v[m->n - 1].out;
  const fy_output gamma = make_const(m, tensor(m, x.type, 1, &x.dims[x.rank - 1]));
  const fy_output beta = make_const(m, tensor(m, x.type, 1, &x.dims[x.rank - 1]));
  switch (roll(m, 4)) {
    case 0:  // as tf.nn.batch_normalization
      y = op_2(m, "Mul", y, gamma);
      less = op_2(m, "Sub", beta, op_2(m, "Mul", mean, y));
      op_2(m, "AddV2", op_2(m, "Mul", x.out, y), less);
      break;
    case 1:
      y = op_2(m, "Mul", op_2(m, "Sub", x.out, mean), y);
      op_2(m, "AddV2", op_2(m, "Mul", y, gamma), beta);
      break;
    case 2:  // as Keras
      y = op_2(m, "Mul", gamma, y);
      if (add_op(m, "Neg", &mean, 1, NULL, NULL, false)) mean = m->v[m->n - 1].out;
      less = op_2(m, "AddV2", op_2(m, "Mul", mean, y), beta);
      op_2(m, "AddV2", op_2(m, "Mul", x.out, y), less);
      break;
    default: op_2(m, "RealDiv", less, y);
  }
}

static void build(maker *m, uint64_t seed) {
  static const int64_t sizes[][3] = {{0, 0, 0},    {1, 7, 0},   {1, 64, 0},  {2, 3, 5}, {2, 4, 64},
                                     {2, 1, 5},    {1, 5, 0},   {2, 40, 33}, {1, 1, 0}, {2, 6, 100},
                                     {2, 2, 2600}, {2, 70, 20}, {2, 9, 17}};
  static const uint32_t num_sizes = sizeof sizes / sizeof sizes[0];
  static const fy_dtype types[] = {FY_FLOAT, FY_FLOAT, FY_FLOAT, FY_DOUBLE, FY_INT32, FY_INT64};
  m->state = seed * 2654435761u + 12345;
  for (int i = 0; i < MAX_FEEDS; i++) {
    const int64_t *size = sizes[roll(m, num_sizes)];
    fy_dtype t = types[roll(m, 6)];
    fy_node_builder b;
    assert_int_equal(fy_node_begin(m->g, "Placeholder", name(m, "feed"), &b, NULL), FY_OK);
    fy_attr type = fy_attr_type(t), shape = attr_shape(&m->g->arena, (int)size[0], size + 1);
    fy_node_set_attr(&b, "dtype", &type);
    fy_node_set_attr(&b, "shape", &shape);
    fy_node *node = finish(&b);
    m->feeds[i] = (fy_output){node, 0};
    m->feed_values[i] = tensor(m, t, (int)size[0], size + 1);
    m->num_feeds++;
    add_value(m, m->feeds[i]);
  }
  for (int i = 0; i < 3; i++) {
    const int64_t *size = sizes[roll(m, num_sizes)];
    add_value(m, make_const(m, tensor(m, types[roll(m, 6)], (int)size[0], size + 1)));
  }
  int want = 10 + (int)roll(m, 90);
  for (int i = 0; i < want && m->n < MAX_VALUES - 4; i++) {
    switch (roll(m, 7)) {
      case 0: shapes(m); break;
      case 1:
      case 2: unary(m); break;
      case 3: parts(m); break;
      case 4:
        if (roll(m, 3) == 0) rows(m);
        break;
      default: binary(m); break;
    }
  }
}

// ------------------------------------------------------------------ comparing
static bool same_number(const fy_tensor *a, const fy_tensor *b, int64_t i) {
  if (a->dtype == FY_FLOAT) {
    float x = ((float *)a->data)[i], y = ((float *)b->data)[i];
    return (x != x && y != y) || memcmp(&x, &y, sizeof x) == 0;
  }
  if (a->dtype == FY_DOUBLE) {
    double x = ((double *)a->data)[i], y = ((double *)b->data)[i];
    return (x != x && y != y) || memcmp(&x, &y, sizeof x) == 0;
  }
  size_t n = fy_dtype_storage(a->dtype);
  return memcmp((char *)a->data + (size_t)i * n, (char *)b->data + (size_t)i * n, n) == 0;
}

static bool same(const fy_tensor *a, const fy_tensor *b) {
  if (a->dtype != b->dtype || !fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) return false;
  for (int64_t i = 0; i < a->count; i++)
    if (!same_number(a, b, i)) return false;
  return true;
}

static void run(fy_graph *g, fy_device_set *devices, const fy_options *options,
                const fy_run_args *args, fy_tensor **out, const char *what, uint64_t seed) {
  fy_session *s;
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_session_new(g, devices, options, NULL, &s, &err), FY_OK);
  for (int twice = 0; twice < 2; twice++) {
    if (twice)
      for (int i = 0; i < args->num_fetches; i++) fy_tensor_release(out[i]);
    if (fy_session_run(s, args, out, &err))
      fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, fy_error_text(&err));
  }
  fy_session_free(s);
}

static void compare(maker *m, fy_device_set *devices, const fy_options *options,
                    const fy_run_args *args, fy_tensor *const *plain, const char *what,
                    uint64_t seed) {
  fy_tensor *got[MAX_FETCHES] = {0};
  run(m->g, devices, options, args, got, what, seed);
  for (int i = 0; i < args->num_fetches; i++) {
    if (!same(plain[i], got[i])) {
      fy_str a, b;
      fy_str_init(&a);
      fy_str_init(&b);
      fy_tensor_print(&a, plain[i], 64);
      fy_tensor_print(&b, got[i], 64);
      fail_msg("seed %llu, %s: %s differs:\n%s\n%s", (unsigned long long)seed, what,
               args->fetches[i].node->name, fy_str_text(&a), fy_str_text(&b));
    }
    fy_tensor_release(got[i]);
  }
}

static void passes_but(char *out, size_t size, const char *one, bool alone) {
  size_t n = 0;
  out[0] = 0;
  for (size_t i = 0; i < fy_pass_count; i++) {
    bool is = strcmp(fy_passes[i]->name, one) == 0;
    if (is == alone) continue;
    n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "," : "", fy_passes[i]->name);
  }
}

static void check_seed(fy_device_set *devices, const fy_options *base, uint64_t seed) {
  maker *m = calloc(1, sizeof *m);
  fy_output fetches[MAX_FETCHES];
  fy_node *targets[1];
  fy_tensor *plain[MAX_FETCHES] = {0};
  assert_non_null(m);
  m->g = fy_graph_new();
  assert_non_null(m->g);
  build(m, seed);
  int n = 1 + (int)roll(m, MAX_FETCHES);
  // The first values are the feeds, which are not fetched.
  const uint32_t made = (uint32_t)(m->n - m->num_feeds);
  for (int i = 0; i < n; i++)
    fetches[i] = i ? m->v[m->num_feeds + (int)roll(m, made)].out : m->v[m->n - 1].out;
  targets[0] = m->v[m->num_feeds + (int)roll(m, made)].out.node;
  fy_run_args args = {.feeds = m->feeds,
                      .feed_values = m->feed_values,
                      .num_feeds = m->num_feeds,
                      .fetches = fetches,
                      .num_fetches = n,
                      .targets = targets,
                      .num_targets = (int)roll(m, 2)};
  fy_options options = *base;
  options.optimize = false;
  run(m->g, devices, &options, &args, plain, "not optimised", seed);
  options.optimize = true;
  options.passes_off[0] = 0;
  compare(m, devices, &options, &args, plain, "all passes", seed);
  for (size_t i = 0; i < fy_pass_count; i++) {
    char what[64];
    passes_but(options.passes_off, sizeof options.passes_off, fy_passes[i]->name, true);
    snprintf(what, sizeof what, "only %s", fy_passes[i]->name);
    compare(m, devices, &options, &args, plain, what, seed);
    snprintf(options.passes_off, sizeof options.passes_off, "%s", fy_passes[i]->name);
    snprintf(what, sizeof what, "without %s", fy_passes[i]->name);
    compare(m, devices, &options, &args, plain, what, seed);
  }
  for (int i = 0; i < n; i++) fy_tensor_release(plain[i]);
  for (int i = 0; i < m->num_feeds; i++) fy_tensor_release(m->feed_values[i]);
  fy_graph_free(m->g);
  free(m);
}

static void random_graphs(void **state) {
  (void)state;
  const char *seed_text = getenv("FERRY_TEST_SEED"), *count_text = getenv("FERRY_TEST_GRAPHS");
  uint64_t first = seed_text ? strtoull(seed_text, NULL, 10) : 1;
  uint64_t count = count_text ? strtoull(count_text, NULL, 10) : 300;
  fy_options options;
  fy_device_set *devices;
  fy_error err;
  fy_error_init(&err);
  fy_options_default(&options);
  if (fy_devices_open(&options, &devices, &err)) fail_msg("%s", fy_error_text(&err));
  for (uint64_t i = 0; i < count; i++)
    if (sample_takes(first + i)) check_seed(devices, &options, first + i);
  fy_devices_unref(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// The CPU's fast products and convolutions against a plain sum in double precision: random sizes
// (below, at and above every blocking limit), windows, strides, dilations, groups, types, threads,
// and every epilogue; weights fed (packed at each run), constant (packed once) and run twice.
// FERRY_TEST_SEED chooses other cases; a failure prints the case.

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ferry/ferry.h"
#include "sample.h"

static uint64_t state = 20261116;
static ferry_error err;

static int64_t roll(int64_t below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (int64_t)((state >> 33) % (uint64_t)below);
}

static int64_t pick(const int64_t *from, int n) {
  return from[roll(n)];
}

typedef struct array {
  int rank;
  int64_t dims[5], count;
  double *v;  // rounded to float: what both sides see
} array;

static array make(int rank, const int64_t *dims) {
  array a = {.rank = rank, .count = 1};
  for (int i = 0; i < rank; i++) a.count *= a.dims[i] = dims[i];
  a.v = malloc((size_t)(a.count ? a.count : 1) * sizeof *a.v);
  assert_non_null(a.v);
  for (int64_t i = 0; i < a.count; i++) a.v[i] = (double)((float)(roll(2001) - 1000) / 512.0f);
  return a;
}

static ferry_tensor *tensor(const array *a, int dtype) {
  ferry_tensor *t;
  assert_int_equal(ferry_tensor_new(dtype, a->rank, a->dims, NULL, &t, &err), 0);
  for (int64_t i = 0; i < a->count; i++) {
    if (dtype == 1)
      ((float *)ferry_tensor_data(t))[i] = (float)a->v[i];
    else
      ((double *)ferry_tensor_data(t))[i] = a->v[i];
  }
  return t;
}

// ---------------------------------------------------------------- what is expected
typedef struct conv {
  int64_t n, h, w, ic, kh, kw, oc, groups, sh, sw, dh, dw, oh, ow, top, left;
  bool depthwise;
} conv;

static void same_padding(int64_t in, int64_t k, int64_t s, int64_t d, int64_t *out, int64_t *pad) {
  *out = (in + s - 1) / s;
  int64_t total = (*out - 1) * s + (k - 1) * d + 1 - in;
  *pad = total > 0 ? total / 2 : 0;
}

static double conv_at(const conv *c, const array *x, const array *f, int64_t n, int64_t y,
                      int64_t xo, int64_t o) {
  double sum = 0;
  const int64_t per = c->ic / c->groups, g = o / (c->oc / c->groups);
  for (int64_t r = 0; r < c->kh; r++) {
    for (int64_t s = 0; s < c->kw; s++) {
      const int64_t iy = y * c->sh - c->top + r * c->dh, ix = xo * c->sw - c->left + s * c->dw;
      if (iy < 0 || iy >= c->h || ix < 0 || ix >= c->w) continue;
      const double *in = x->v + ((n * c->h + iy) * c->w + ix) * c->ic;
      if (c->depthwise) {
        sum += in[o] * f->v[(r * c->kw + s) * c->ic + o];
        continue;
      }
      for (int64_t i = 0; i < per; i++)
        sum += in[g * per + i] * f->v[((r * c->kw + s) * per + i) * c->oc + o];
    }
  }
  return sum;
}

typedef struct epilogue {
  bool bias, mul, sub, norm, add;
  int act;  // index into acts
} epilogue;
static const char *const acts[] = {NULL,  "Relu",      "Relu6",   "Tanh",
                                   "Elu", "LeakyRelu", "Sigmoid", "swish"};

static double activate(int act, double x) {
  switch (act) {
    case 1: return x < 0 ? 0 : x;
    case 2: return x < 0 ? 0 : x > 6 ? 6 : x;
    case 3: return tanh(x);
    case 4: return x < 0 ? expm1(x) : x;
    case 5: return x > 0 ? x : 0.2 * x;
    case 6: return 1 / (1 + exp(-x));
    case 7: return x / (1 + exp(-x));
    default: return x;
  }
}

// ---------------------------------------------------------------- building and running
typedef struct builder {
  ferry_runtime *rt;
  ferry_graph *g;
  int dtype;
  bool constant;  // weights are constants
  const char *feeds[12];
  ferry_tensor *values[12];
  int num_feeds;
} builder;

static void input(builder *b, const char *name, const array *a, bool weight) {
  ferry_tensor *t = tensor(a, b->dtype);
  char attrs[160];
  if (weight && b->constant) {
    assert_int_equal(ferry_graph_add(b->g, "Const", name, NULL, NULL, NULL, t, &err), 0);
    ferry_tensor_free(t);
    return;
  }
  snprintf(attrs, sizeof attrs, "dtype=%s", b->dtype == 1 ? "float" : "double");
  assert_int_equal(ferry_graph_add(b->g, "Placeholder", name, NULL, attrs, NULL, NULL, &err), 0);
  b->feeds[b->num_feeds] = name;
  b->values[b->num_feeds++] = t;
}

static void input_ints(builder *b, const char *name, int64_t n, const int64_t *v) {
  ferry_tensor *t;
  assert_int_equal(ferry_tensor_new(9, 1, &n, v, &t, &err), 0);
  assert_int_equal(ferry_graph_add(b->g, "Const", name, NULL, NULL, NULL, t, &err), 0);
  ferry_tensor_free(t);
}

static const char *node(builder *b, const char *op, const char *name, const char *inputs,
                        const char *attrs) {
  if (ferry_graph_add(b->g, op, name, inputs, attrs, NULL, NULL, &err))
    fail_msg("%s(%s; %s): %s", op, inputs, attrs ? attrs : "", err.text);
  return name;
}

static const char *add_epilogue(builder *b, const epilogue *e, const array *vec, const array *like,
                                const char *at) {
  static const char *const names[] = {"bias", "scale", "offset", "mean", "variance"};
  static const char *const more[] = {"factor", "less"};
  char in[128];
  for (int i = 0; i < 5; i++)
    if (i == 0 ? e->bias : e->norm) input(b, names[i], &vec[i], true);
  for (int i = 0; i < 2; i++)
    if (i ? e->sub : e->mul) input(b, more[i], &vec[5 + i], true);
  if (e->bias) {
    snprintf(in, sizeof in, "%s, bias", at);
    at = node(b, "BiasAdd", "biased", in, NULL);
  }
  if (e->mul) {
    snprintf(in, sizeof in, "factor, %s", at);
    at = node(b, "Mul", "times", in, NULL);
  }
  if (e->sub) {
    snprintf(in, sizeof in, "%s, less", at);
    at = node(b, "Sub", "minus", in, NULL);
  }
  if (e->norm) {
    snprintf(in, sizeof in, "%s, scale, offset, mean, variance", at);
    at = node(b, "FusedBatchNormV3", "norm", in, "is_training=false; epsilon=0.001; U=float");
  }
  if (e->add) {
    input(b, "other", like, false);
    snprintf(in, sizeof in, "other, %s", at);
    at = node(b, "AddV2", "sum", in, NULL);
  }
  if (e->act == 7) {
    snprintf(in, sizeof in, "%s, gate", at);
    node(b, "Sigmoid", "gate", at, NULL);
    at = node(b, "Mul", "y", in, NULL);
  } else if (e->act) {
    at = node(b, acts[e->act], "y", at, NULL);
  }
  return at;
}

static void compare(builder *b, const char *fetch, const double *want, int64_t count,
                    const double *slack, const char *what) {
  ferry_session *s;
  assert_int_equal(ferry_session_new(b->rt, b->g, &s, &err), 0);
  for (int run = 0; run < 2; run++) {
    ferry_tensor *y = NULL;
    if (ferry_run(s, b->num_feeds, b->feeds, b->values, 1, &fetch, &y, 0, &err))
      fail_msg("%s: %s", what, err.text);
    for (int64_t i = 0; i < count; i++) {
      const double got = b->dtype == 1 ? (double)((float *)ferry_tensor_data(y))[i]
                                       : ((double *)ferry_tensor_data(y))[i];
      if (got == want[i] || (isnan(got) && isnan(want[i]))) continue;
      if (!(fabs(got - want[i]) <= slack[i]))
        fail_msg("%s, run %d: element %lld is %.9g instead of %.9g", what, run, (long long)i, got,
                 want[i]);
    }
    ferry_tensor_free(y);
  }
  ferry_session_free(s);
  for (int i = 0; i < b->num_feeds; i++) ferry_tensor_free(b->values[i]);
}

static void begin(builder *b, ferry_runtime *rt, int dtype, bool constant) {
  *b = (builder){.rt = rt, .dtype = dtype, .constant = constant};
  assert_int_equal(ferry_graph_new(rt, &b->g, &err), 0);
}

// Applies |e| to |sum| in place and says how far a float may be off.
static void expect(const epilogue *e, const array *vec, const array *like, int64_t channels,
                   double terms, bool single, double *sum, double *slack, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t c = i % channels;
    double x = sum[i], by = 1;
    if (e->bias) x += vec[0].v[c];
    if (e->mul) x *= vec[5].v[c];
    if (e->sub) x -= vec[6].v[c];
    if (e->norm) {
      by = vec[1].v[c] / sqrt(vec[4].v[c] + (double)0.001f);
      x = (x - vec[3].v[c]) * by + vec[2].v[c];
    }
    if (e->add) x += like->v[i];
    sum[i] = activate(e->act, x);
    slack[i] = (single ? 1e-6 : 1e-13) * (8 + 2 * sqrt(terms)) * (2 + fabs(by)) * (e->mul ? 12 : 4);
  }
}

static ferry_runtime *runtime(int threads) {
  char config[64];
  ferry_runtime *rt;
  snprintf(config, sizeof config, "intra_threads=%d", threads);
  if (ferry_open(config, &rt, &err)) fail_msg("%s", err.text);
  return rt;
}

static epilogue some_epilogue(bool single, bool norm_allowed) {
  epilogue e = {.bias = roll(2),
                .mul = roll(3) == 0,
                .sub = roll(4) == 0,
                .norm = single && norm_allowed && roll(2),
                .add = roll(3) == 0};
  e.act = (int)roll(single ? 8 : 3);
  return e;
}

static void make_vectors(array *vec, int64_t n) {
  for (int i = 0; i < 7; i++) vec[i] = make(1, &n);
  for (int64_t i = 0; i < n; i++) vec[4].v[i] = fabs(vec[4].v[i]) + 0.25;
}

static void free_arrays(array *a, int n) {
  for (int i = 0; i < n; i++) free(a[i].v);
}

static void products(void **unused) {
  (void)unused;
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 24, 33, 64, 97, 130, 400};
  ferry_runtime *rts[] = {runtime(1), runtime(3), runtime(2)};
  for (int round = 0; round < 120; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    const bool staged = round % 60 == 34;  // piece by piece, on two threads
    const bool wide = round % 10 == 0;     // a transposed left operand that is copied
    const bool far = round % 30 == 7;  // few rows, and a right one that is larger than the caches
    const bool large = round % 40 == 13, shared = large && round > 80;  // by threads
    const bool whole =
        round % 12 == 5;  // panels that are full and packed by the first block that meets them
    int64_t m = far ? 1 + roll(3) : large ? 580 + 290 * shared + roll(9) : pick(sizes, 17);
    int64_t k = far ? 1027 : large ? 386 + roll(9) : round % 20 ? pick(sizes, 17) : 900;
    int64_t n = far ? 1075 + roll(99) : large ? 530 + roll(20) : wide ? 400 : pick(sizes, 17);
    if (whole) {
      m = 40 + roll(100);
      k = 120 + roll(300);
      n = 32 * (7 + roll(6));
    }
    if (staged) {
      m = 361 + roll(9);
      k = 258 + roll(300);
      n = 1030 + roll(40);
    }
    const bool ta = (roll(2) || wide) && !far && !whole, tb = roll(2) && !far && !whole;
    const bool constant = roll(2) && !whole;
    const bool single = staged || (large ? !shared : roll(4) != 0);
    const epilogue e = some_epilogue(single, false);
    array a = make(2, ta ? (int64_t[]){k, m} : (int64_t[]){m, k});
    array b = make(2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n});
    array like = make(2, (int64_t[]){m, n}), vec[7];
    make_vectors(vec, n);
    double *want = malloc((size_t)(m * n) * sizeof *want);
    double *slack = malloc((size_t)(m * n) * sizeof *slack);
    for (int64_t i = 0; i < m; i++) {
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++)
          sum += a.v[ta ? p * m + i : i * k + p] * b.v[tb ? j * k + p : p * n + j];
        want[i * n + j] = sum;
      }
    }
    expect(&e, vec, &like, n, (double)k, single, want, slack, m * n);
    builder g;
    begin(&g, rts[staged ? 2 : large ? shared : whole || roll(2)], single ? 1 : 2, constant);
    input(&g, "a", &a, false);
    input(&g, "b", &b, true);
    char attrs[96], what[160];
    snprintf(attrs, sizeof attrs, "transpose_a=%s; transpose_b=%s", ta ? "true" : "false",
             tb ? "true" : "false");
    snprintf(what, sizeof what, "MatMul %lldx%lldx%lld %s%s act %d%s%s", (long long)m, (long long)k,
             (long long)n, attrs, single ? "" : " double", e.act, e.bias ? " bias" : "",
             e.add ? " add" : "");
    const char *at;
    if (!ta && !tb && m % 2 == 0 && roll(2)) {  // as Keras writes Dense on sequences
      int64_t tall[] = {2, m / 2, k}, flat[] = {m, n};
      input_ints(&g, "tall", 3, tall);
      node(&g, "Reshape", "a3", "a, tall", NULL);
      at = node(&g, "BatchMatMulV2", "product", "a3, b", NULL);
      if (roll(2)) {
        input_ints(&g, "flat", 2, flat);
        at = node(&g, "Reshape", "product2", "product, flat", NULL);
      } else {
        int64_t dims[] = {2, m / 2, n};
        memcpy(like.dims, dims, sizeof dims);
        like.rank = 3;
      }
    } else {
      at = node(&g, "MatMul", "product", "a, b", attrs);
    }
    at = add_epilogue(&g, &e, vec, &like, at);
    compare(&g, at, want, m * n, slack, what);
    ferry_graph_free(g.g);
    free_arrays(vec, 7);
    free(a.v), free(b.v), free(like.v), free(want), free(slack);
  }
  for (int i = 0; i < 3; i++) ferry_close(rts[i]);
}

// Products of bfloat16, which have instructions of their own on some machines; sums are cut, not rounded.
static void short_floats(void **unused) {
  (void)unused;
  static const int64_t sizes[] = {4, 5, 7, 8, 16, 17, 31, 33, 64, 97, 130, 300};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 40; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    const int64_t m = pick(sizes, 12), k = pick(sizes, 12), n = pick(sizes, 12);
    const bool ta = roll(2), tb = roll(2), batch = !ta && m % 2 == 0 && roll(3) == 0;
    array a = make(2, ta ? (int64_t[]){k, m} : (int64_t[]){m, k});
    array b = make(2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n});
    for (int64_t i = 0; i < a.count; i++) a.v[i] = (double)(roll(255) - 127) / 64;
    for (int64_t i = 0; i < b.count; i++) b.v[i] = (double)(roll(255) - 127) / 64;
    if (round % 8 == 3) a.v[roll(a.count)] = (double)INFINITY;
    if (round % 8 == 5) b.v[roll(b.count)] = (double)NAN;
    double *want = malloc((size_t)(m * n) * sizeof *want);
    double *slack = malloc((size_t)(m * n) * sizeof *slack);
    for (int64_t i = 0; i < m * n; i++) {
      want[i] = 0;
      for (int64_t p = 0; p < k; p++)
        want[i] +=
            a.v[ta ? p * m + i / n : i / n * k + p] * b.v[tb ? i % n * k + p : p * n + i % n];
      slack[i] = fabs(want[i]) / 120 + 1e-5 * sqrt((double)k);
    }
    builder g;
    begin(&g, rts[roll(2)], 1, false);
    input(&g, "a", &a, false);
    input(&g, "b", &b, false);
    node(&g, "Cast", "short_a", "a", "DstT=bfloat16");
    node(&g, "Cast", "short_b", "b", "DstT=bfloat16");
    char attrs[96], what[160];
    const char *turns_b = tb ? "true" : "false", *turns_a = ta ? "true" : "false";
    if (batch)
      snprintf(attrs, sizeof attrs, "adj_y=%s", turns_b);
    else
      snprintf(attrs, sizeof attrs, "transpose_a=%s; transpose_b=%s", turns_a, turns_b);
    snprintf(what, sizeof what, "bfloat16 %lldx%lldx%lld %s", (long long)m, (long long)k,
             (long long)n, attrs);
    if (batch) {
      input_ints(&g, "tall", 3, (int64_t[]){2, m / 2, k});
      node(&g, "Reshape", "tall_a", "short_a, tall", NULL);
    }
    node(&g, batch ? "BatchMatMulV2" : "MatMul", "product",
         batch ? "tall_a, short_b" : "short_a, short_b", attrs);
    node(&g, "Cast", "y", "product", "DstT=float");
    compare(&g, "y", want, m * n, slack, what);
    ferry_graph_free(g.g);
    free(a.v), free(b.v), free(want), free(slack);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// |odd| pixels are not finite.
static void convolution(ferry_runtime *rt, conv c, bool single, bool constant, bool valid,
                        int odd) {
  const int64_t eh = (c.kh - 1) * c.dh + 1, ew = (c.kw - 1) * c.dw + 1;
  if (valid && (eh > c.h || ew > c.w)) return;
  same_padding(c.h, c.kh, c.sh, c.dh, &c.oh, &c.top);
  same_padding(c.w, c.kw, c.sw, c.dw, &c.ow, &c.left);
  const bool padded = valid && roll(3) == 0;
  if (valid) {
    c.top = padded ? roll(3) : 0;
    c.left = padded ? roll(2) : 0;
    c.oh = (c.h + (padded ? c.top + 1 : 0) - eh) / c.sh + 1;
    c.ow = (c.w + (padded ? c.left + 2 : 0) - ew) / c.sw + 1;
  }
  const epilogue e = some_epilogue(single, true);
  array x = make(4, (int64_t[]){c.n, c.h, c.w, c.ic});
  for (int i = 0; i < odd; i++) x.v[roll(x.count)] = i % 2 ? (double)NAN : (double)INFINITY;
  array f = make(4, c.depthwise ? (int64_t[]){c.kh, c.kw, c.ic, 1}
                                : (int64_t[]){c.kh, c.kw, c.ic / c.groups, c.oc});
  array like = make(4, (int64_t[]){c.n, c.oh, c.ow, c.oc}), vec[7];
  make_vectors(vec, c.oc);
  double *want = malloc((size_t)like.count * sizeof *want);
  double *slack = malloc((size_t)like.count * sizeof *slack);
  int64_t at_i = 0;
  for (int64_t i = 0; i < c.n; i++)
    for (int64_t y = 0; y < c.oh; y++)
      for (int64_t xo = 0; xo < c.ow; xo++)
        for (int64_t o = 0; o < c.oc; o++) want[at_i++] = conv_at(&c, &x, &f, i, y, xo, o);
  expect(&e, vec, &like, c.oc, (double)(c.kh * c.kw * c.ic), single, want, slack, like.count);
  builder g;
  begin(&g, rt, single ? 1 : 2, constant);
  input(&g, "x", &x, false);
  input(&g, "f", &f, true);
  char attrs[160], what[320];
  snprintf(attrs, sizeof attrs,
           "strides=[1,%lld,%lld,1]; dilations=[1,%lld,%lld,1]; padding=\"%s\"", (long long)c.sh,
           (long long)c.sw, (long long)c.dh, (long long)c.dw, valid ? "VALID" : "SAME");
  snprintf(what, sizeof what,
           "%s [%lld,%lld,%lld,%lld] with [%lld,%lld,%lld] groups %lld %s act %d%s%s%s%s",
           c.depthwise ? "Depthwise" : "Conv2D", (long long)c.n, (long long)c.h, (long long)c.w,
           (long long)c.ic, (long long)c.kh, (long long)c.kw, (long long)c.oc, (long long)c.groups,
           attrs, e.act, e.bias ? " bias" : "", e.norm ? " norm" : "", e.add ? " add" : "",
           single ? "" : " double");
  const char *from = "x, f";
  if (padded) {
    const int64_t dims[] = {4, 2}, pads[] = {0, 0, c.top, 1, c.left, 2, 0, 0};
    ferry_tensor *t;
    assert_int_equal(ferry_tensor_new(9, 2, dims, pads, &t, &err), 0);
    assert_int_equal(ferry_graph_add(g.g, "Const", "pads", NULL, NULL, NULL, t, &err), 0);
    ferry_tensor_free(t);
    node(&g, "Pad", "padded", "x, pads", NULL);
    from = "padded, f";
  }
  const char *at = node(&g, c.depthwise ? "DepthwiseConv2dNative" : "Conv2D", "conv", from, attrs);
  at = add_epilogue(&g, &e, vec, &like, at);
  compare(&g, at, want, like.count, slack, what);
  ferry_graph_free(g.g);
  free_arrays(vec, 7);
  free(x.v), free(f.v), free(like.v), free(want), free(slack);
}

static void convolutions(void **unused) {
  (void)unused;
  static const int64_t depths[] = {1, 2, 3, 4, 8, 12, 15, 16, 17, 20, 24, 33, 40, 48, 64, 100};
  static const int64_t windows[] = {1, 1, 2, 3, 3, 5, 7};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 200; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    conv c = {.n = 1 + roll(3),
              .h = 1 + roll(14),
              .w = 1 + roll(14),
              .ic = pick(depths, 16),
              .kh = pick(windows, 7),
              .kw = pick(windows, 7),
              .oc = pick(depths, 16),
              .groups = 1,
              .sh = 1 + roll(3),
              .dh = 1,
              .dw = 1};
    c.sw = c.sh;
    if (c.sh == 1) c.dh = c.dw = 1 + roll(2);
    c.depthwise = roll(4) == 0;
    if (c.depthwise) c.oc = c.ic;
    const bool single = roll(5) != 0, constant = roll(2), valid = roll(2);
    if (!c.depthwise && c.ic % 2 == 0 && c.oc % 2 == 0 && roll(4) == 0) c.groups = 2;
    convolution(rts[roll(2)], c, single, constant, valid, 0);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// Windows over few channels see runs of lines, of any length, that end inside and outside of the image.
static void few_channels(void **unused) {
  (void)unused;
  static const int64_t windows[] = {2, 3, 3, 5, 5, 7, 9}, steps[] = {1, 1, 2, 3};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 160; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    conv c = {.n = 1 + roll(3),
              .h = 1 + roll(16),
              .w = 1 + roll(roll(2) ? 80 : 20),
              .ic = 1 + roll(5),
              .kh = pick(windows, 7),
              .kw = pick(windows, 7),
              .oc = 1 + roll(80),
              .groups = 1,
              .sh = pick(steps, 4),
              .dh = 1,
              .dw = 1};
    c.sw = c.sh;
    convolution(rts[roll(2)], c, roll(4) > 0, roll(2), roll(2), 0);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// Windows of 3 x 3 in steps of one over enough channels take a shorter way (devices/cpu/winograd.h).
static void squares(void **unused) {
  (void)unused;
  static const int64_t in[] = {16, 24, 32, 40, 64, 136, 264}, out[] = {16, 17, 24, 31, 48, 64, 100};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 60; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    conv c = {.n = 1 + roll(2),
              .h = 7 + roll(17),
              .w = 7 + roll(17),
              .ic = pick(in, 7),
              .kh = 3,
              .kw = 3,
              .oc = pick(out, 7),
              .groups = 1,
              .sh = 1,
              .sw = 1,
              .dh = 1,
              .dw = 1};
    if (round % 15 == 14) {  // few tiles of many channels
      c.h = 5 + roll(4);
      c.w = 5 + roll(4);
      c.ic = 264;
      c.oc = 250 + roll(20);
    }
    convolution(rts[roll(2)], c, true, roll(2), roll(2), round % 4 == 3 ? 1 + (int)roll(3) : 0);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// Windows 3 and 5 wide go by rows: of any width, over channels that fill vectors or do not.
static void depthwise_rows(void **unused) {
  (void)unused;
  static const int64_t depths[] = {8, 16, 20, 24, 33, 64, 72, 100, 129, 150, 260, 300};
  static const int64_t windows[] = {3, 3, 5};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 120; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    const int64_t depth = pick(depths, 12), window = pick(windows, 3);
    conv c = {.n = 1 + (depth < 100 ? roll(2) : 0),
              .h = 1 + roll(12),
              .w = 1 + roll(30),
              .ic = depth,
              .kh = roll(4) ? window : 1 + roll(4),
              .kw = window,
              .oc = depth,
              .groups = 1,
              .sh = 1 + roll(2),
              .dh = 1,
              .dw = 1,
              .depthwise = true};
    c.sw = c.sh;
    convolution(rts[roll(2)], c, true, roll(2), roll(3) == 0, 0);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// Both gradients of a depthwise convolution, |to_filter| or to its input, from their definition.
static void depthwise_gradient(ferry_runtime *rt, conv c, bool to_filter, bool valid) {
  const int64_t eh = (c.kh - 1) * c.dh + 1, ew = (c.kw - 1) * c.dw + 1;
  if (valid && (eh > c.h || ew > c.w)) return;
  same_padding(c.h, c.kh, c.sh, c.dh, &c.oh, &c.top);
  same_padding(c.w, c.kw, c.sw, c.dw, &c.ow, &c.left);
  if (valid) c.top = c.left = 0, c.oh = (c.h - eh) / c.sh + 1, c.ow = (c.w - ew) / c.sw + 1;
  const int64_t in_dims[] = {c.n, c.h, c.w, c.ic}, filter_dims[] = {c.kh, c.kw, c.ic, 1};
  array x = make(4, in_dims), f = make(4, filter_dims);
  array grad = make(4, (int64_t[]){c.n, c.oh, c.ow, c.ic});
  const array *result = to_filter ? &f : &x;
  double *want = calloc((size_t)result->count, sizeof *want);
  double *slack = malloc((size_t)result->count * sizeof *slack);
  for (int64_t i = 0; i < grad.count; i++) {
    const int64_t o = i % c.ic, xo = i / c.ic % c.ow, y = i / c.ic / c.ow % c.oh;
    const int64_t image = i / c.ic / c.ow / c.oh;
    for (int64_t t = 0; t < c.kh * c.kw; t++) {
      const int64_t iy = y * c.sh - c.top + t / c.kw * c.dh;
      const int64_t ix = xo * c.sw - c.left + t % c.kw * c.dw;
      if (iy < 0 || iy >= c.h || ix < 0 || ix >= c.w) continue;
      const int64_t at = ((image * c.h + iy) * c.w + ix) * c.ic + o, tap = t * c.ic + o;
      want[to_filter ? tap : at] += grad.v[i] * (to_filter ? x.v[at] : f.v[tap]);
    }
  }
  for (int64_t i = 0; i < result->count; i++)
    slack[i] = 1e-6 * (double)(to_filter ? c.n * c.oh * c.ow : c.kh * c.kw);
  builder g;
  begin(&g, rt, 1, false);
  if (to_filter) input(&g, "x", &x, false);
  if (!to_filter) input(&g, "f", &f, false);
  input(&g, "grad", &grad, false);
  input_ints(&g, "long_sizes", 4, to_filter ? filter_dims : in_dims);
  node(&g, "Cast", "sizes", "long_sizes", "DstT=int32");
  char attrs[160];
  snprintf(attrs, sizeof attrs,
           "strides=[1,%lld,%lld,1]; dilations=[1,%lld,%lld,1]; padding=\"%s\"", (long long)c.sh,
           (long long)c.sw, (long long)c.dh, (long long)c.dw, valid ? "VALID" : "SAME");
  node(&g, to_filter ? "DepthwiseConv2dNativeBackpropFilter" : "DepthwiseConv2dNativeBackpropInput",
       "y", to_filter ? "x, sizes, grad" : "sizes, f, grad", attrs);
  compare(&g, "y", want, result->count, slack, attrs);
  ferry_graph_free(g.g);
  free(x.v), free(f.v), free(grad.v), free(want), free(slack);
}

static void depthwise_gradients(void **unused) {
  (void)unused;
  static const int64_t depths[] = {1, 3, 7, 8, 12, 32, 33, 72};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 120; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    conv c = {.n = 1 + roll(3),
              .h = 1 + roll(14),
              .w = 1 + roll(14),
              .ic = pick(depths, 8),
              .kh = 1 + roll(5),
              .kw = 1 + roll(5),
              .sh = 1 + roll(2),
              .dh = 1,
              .dw = 1};
    c.sw = c.sh;
    if (c.sh == 1) c.dh = c.dw = 1 + roll(2);
    if (roll(3) == 0) c.kh = c.kw = 3;  // all nine taps at once
    depthwise_gradient(rts[roll(2)], c, roll(2), roll(2));
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// The gradient of a filter of one pixel: a product over all pixels, more of them than one piece of a sum.
static void long_sums(void **unused) {
  (void)unused;
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 6; round++) {
    const int64_t h = 20 + roll(20), w = 20 + roll(20), ic = 1 + roll(40), oc = 1 + roll(40);
    array x = make(4, (int64_t[]){1, h, w, ic}), grad = make(4, (int64_t[]){1, h, w, oc});
    double *want = calloc((size_t)(ic * oc), sizeof *want);
    double *slack = malloc((size_t)(ic * oc) * sizeof *slack);
    for (int64_t p = 0; p < h * w; p++)
      for (int64_t i = 0; i < ic * oc; i++)
        want[i] += x.v[p * ic + i / oc] * grad.v[p * oc + i % oc];
    for (int64_t i = 0; i < ic * oc; i++) slack[i] = 1e-6 * (double)(h * w);
    builder g;
    begin(&g, rts[round % 2], 1, false);
    input(&g, "x", &x, false);
    input(&g, "grad", &grad, false);
    input_ints(&g, "long_sizes", 4, (int64_t[]){1, 1, ic, oc});
    node(&g, "Cast", "sizes", "long_sizes", "DstT=int32");
    node(&g, "Conv2DBackpropFilter", "y", "x, sizes, grad", "strides=[1,1,1,1]; padding=\"VALID\"");
    compare(&g, "y", want, ic * oc, slack, "Conv2DBackpropFilter");
    ferry_graph_free(g.g);
    free(x.v), free(grad.v), free(want), free(slack);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

// A convolution in three dims, or two if |flat|, or one of its gradients, from the definition.
typedef struct volume {
  bool flat, same;
  int64_t n, in[3], k[3], step[3], out[3], before[3], ic, oc;
} volume;
enum { FORWARD, TO_INPUT, TO_FILTER };

static void size_volume(volume *v) {
  for (int d = 0; d < 3; d++) {
    if (v->flat && d == 0) v->in[d] = v->k[d] = v->step[d] = 1;
    same_padding(v->in[d], v->k[d], v->step[d], 1, &v->out[d], &v->before[d]);
    if (v->same) continue;
    if (v->k[d] > v->in[d]) v->in[d] = v->k[d];
    v->out[d] = (v->in[d] - v->k[d]) / v->step[d] + 1;
    v->before[d] = 0;
  }
}

// Adds every product to |want|, which is the array |x|, |f| or |y| would be.
static void sum_volume(const volume *v, int kind, const array *x, const array *f, const array *y,
                       double *want) {
  const int64_t *out = v->out, *in = v->in, *k = v->k;
  const int64_t pixels = v->n * out[0] * out[1] * out[2], taps = k[0] * k[1] * k[2];
  for (int64_t p = 0; p < pixels; p++) {
    const int64_t at[] = {p / out[2] / out[1] % out[0], p / out[2] % out[1], p % out[2]};
    for (int64_t t = 0; t < taps; t++) {
      const int64_t tap[] = {t / k[2] / k[1], t / k[2] % k[1], t % k[2]};
      int64_t seen = p / (out[0] * out[1] * out[2]);
      bool inside = true;
      for (int d = 0; d < 3; d++) {
        const int64_t i = at[d] * v->step[d] - v->before[d] + tap[d];
        inside = inside && i >= 0 && i < in[d];
        seen = seen * in[d] + i;
      }
      for (int64_t i = 0; inside && i < v->ic; i++) {
        for (int64_t o = 0; o < v->oc; o++) {
          const int64_t xi = seen * v->ic + i, fi = (t * v->ic + i) * v->oc + o, yi = p * v->oc + o;
          if (kind == FORWARD) want[yi] += x->v[xi] * f->v[fi];
          if (kind == TO_INPUT) want[xi] += y->v[yi] * f->v[fi];
          if (kind == TO_FILTER) want[fi] += x->v[xi] * y->v[yi];
        }
      }
    }
  }
}

// |odd| numbers of the image or of the gradient of the output are not finite.
static void try_volume(ferry_runtime *rt, volume v, int kind, bool single, int odd) {
  static const char *const ops[][2] = {{"Conv3D", "Conv2D"},
                                       {"Conv3DBackpropInputV2", "Conv2DBackpropInput"},
                                       {"Conv3DBackpropFilterV2", "Conv2DBackpropFilter"}};
  static const char *const inputs[] = {"x, f", "sizes, f, y", "x, sizes, y"};
  size_volume(&v);
  array x = make(5, (int64_t[]){v.n, v.in[0], v.in[1], v.in[2], v.ic});
  array f = make(5, (int64_t[]){v.k[0], v.k[1], v.k[2], v.ic, v.oc});
  array y = make(5, (int64_t[]){v.n, v.out[0], v.out[1], v.out[2], v.oc});
  array *all[] = {&y, &x, &f}, *result = all[kind], *spoilt = kind == TO_INPUT ? &y : &x;
  for (int i = 0; i < odd; i++)
    spoilt->v[roll(spoilt->count)] = i % 2 ? (double)NAN : (double)INFINITY;
  for (int i = 0; v.flat && i < 3; i++) {  // without the depth of 1
    const int first = all[i] == &f ? 0 : 1;
    memmove(all[i]->dims + first, all[i]->dims + first + 1, (size_t)(4 - first) * sizeof(int64_t));
    all[i]->rank = 4;
  }
  double *want = calloc((size_t)result->count, sizeof *want);
  double *slack = malloc((size_t)result->count * sizeof *slack);
  sum_volume(&v, kind, &x, &f, &y, want);
  const double terms =
      (double)(kind == TO_FILTER ? y.count / v.oc
                                 : v.k[0] * v.k[1] * v.k[2] * (kind == FORWARD ? v.ic : v.oc));
  for (int64_t i = 0; i < result->count; i++)
    slack[i] = (single ? 1e-6 : 1e-13) * (30 + 10 * sqrt(terms));
  builder g;
  begin(&g, rt, single ? 1 : 2, roll(2));
  if (kind != TO_INPUT) input(&g, "x", &x, false);
  if (kind != TO_FILTER) input(&g, "f", &f, true);
  if (kind != FORWARD) {
    input(&g, "y", &y, false);
    input_ints(&g, "long_sizes", result->rank, result->dims);
    node(&g, "Cast", "sizes", "long_sizes", "DstT=int32");
  }
  char attrs[128], what[400];
  snprintf(attrs, sizeof attrs, "strides=[1%s,%lld,%lld,1]; padding=\"%s\"",
           v.flat           ? ""
           : v.step[0] == 1 ? ",1"
                            : ",2",
           (long long)v.step[1], (long long)v.step[2], v.same ? "SAME" : "VALID");
  snprintf(what, sizeof what,
           "%s [%lld,%lld,%lld,%lld,%lld] with [%lld,%lld,%lld,%lld] %s odd %d%s",
           ops[kind][v.flat], (long long)v.n, (long long)v.in[0], (long long)v.in[1],
           (long long)v.in[2], (long long)v.ic, (long long)v.k[0], (long long)v.k[1],
           (long long)v.k[2], (long long)v.oc, attrs, odd, single ? "" : " double");
  node(&g, ops[kind][v.flat], "result", inputs[kind], attrs);
  compare(&g, "result", want, result->count, slack, what);
  ferry_graph_free(g.g);
  free(x.v), free(f.v), free(y.v), free(want), free(slack);
}

// Those that are 3 x 3 in steps of one over enough channels (devices/cpu/winograd.h), and others.
static void volumes(void **unused) {
  (void)unused;
  static const int64_t depths[] = {1, 3, 8, 16, 16, 17, 24, 32, 40, 48},
                       windows[] = {1, 2, 3, 5, 7};
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < 180; round++) {
    if (!sample_takes((uint64_t)round)) continue;
    const bool squares = roll(3) > 0;
    volume v = {.flat = roll(2), .same = roll(2), .n = 1 + roll(2)};
    for (int d = 0; d < 3; d++) {
      v.in[d] = (d ? 6 : 1) + roll(d ? v.flat ? 20 : 10 : 4);
      v.k[d] = d == 0 ? 1 + roll(3) : squares ? 3 : pick(windows, 5);
      v.step[d] = d && !squares ? 1 + roll(2) : 1;
    }
    v.step[2] = v.step[1];  // as all ops want it
    if (!squares && !v.flat) v.step[0] = v.step[1];
    v.ic = pick(depths + (squares ? 3 : 0), squares ? 7 : 10);
    v.oc = pick(depths + (squares ? 2 : 0), squares ? 8 : 10);
    const bool single = squares || roll(4) > 0;
    try_volume(rts[roll(2)], v, round % 3, single, squares && roll(4) == 0 ? 1 + (int)roll(3) : 0);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

int main(void) {
  uint64_t part;
  sample_parts(&part);
  state += part;  // each part of a sample has rounds of its own
  if (getenv("FERRY_TEST_SEED")) state = strtoull(getenv("FERRY_TEST_SEED"), NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(products),
                                     cmocka_unit_test(short_floats),
                                     cmocka_unit_test(convolutions),
                                     cmocka_unit_test(few_channels),
                                     cmocka_unit_test(squares),
                                     cmocka_unit_test(depthwise_rows),
                                     cmocka_unit_test(depthwise_gradients),
                                     cmocka_unit_test(long_sums),
                                     cmocka_unit_test(volumes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

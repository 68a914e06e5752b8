// SPDX-License-Identifier: Apache-2.0
// The CPU's products and convolutions of bytes against plain sums: random sizes (below, at and above every blocking
// limit), zero points, signs, transposes, windows, strides, dilations, groups, threads; weights fed and constant.
// FERRY_TEST_SEED chooses other cases.

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

enum { FLOAT = 1, QINT8 = 11, QUINT8 = 12 };

static uint64_t state = 20261118;
static ferry_error err;
static uint64_t parts;  // of which this is one

static int64_t roll(int64_t below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (int64_t)((state >> 33) % (uint64_t)below);
}

typedef struct graph {
  ferry_runtime *rt;
  ferry_graph *g;
  bool constant;
  const char *feeds[8];
  ferry_tensor *values[8];
  int n;
} graph;

static void input(graph *g, const char *name, ferry_tensor *t, bool constant, const char *dtype) {
  char attrs[32];
  if (constant) {
    assert_int_equal(ferry_graph_add(g->g, "Const", name, NULL, NULL, NULL, t, &err), 0);
    ferry_tensor_free(t);
    return;
  }
  snprintf(attrs, sizeof attrs, "dtype=%s", dtype);
  assert_int_equal(ferry_graph_add(g->g, "Placeholder", name, NULL, attrs, NULL, NULL, &err), 0);
  g->feeds[g->n] = name;
  g->values[g->n++] = t;
}

// An input of random bytes; what is in it.
static int *bytes(graph *g, const char *name, bool is_signed, bool constant, int rank,
                  const int64_t *dims) {
  int64_t count = 1;
  ferry_tensor *t;
  for (int i = 0; i < rank; i++) count *= dims[i];
  int *v = malloc((size_t)(count + 1) * sizeof *v);
  assert_int_equal(ferry_tensor_new(is_signed ? QINT8 : QUINT8, rank, dims, NULL, &t, &err), 0);
  for (int64_t i = 0; i < count; i++) {
    v[i] = (int)roll(256) - (is_signed ? 128 : 0);
    ((uint8_t *)ferry_tensor_data(t))[i] = (uint8_t)v[i];
  }
  input(g, name, t, constant, is_signed ? "qint8" : "quint8");
  return v;
}

static void number(graph *g, const char *name, float v) {
  ferry_tensor *t;
  assert_int_equal(ferry_tensor_new(FLOAT, 0, NULL, NULL, &t, &err), 0);
  *(float *)ferry_tensor_data(t) = v;
  input(g, name, t, true, "float");
}

static void expect(graph *g, const char *op, const char *inputs, const char *attrs,
                   const int32_t *want, int64_t count) {
  const char *fetch = "y";
  ferry_session *s;
  if (ferry_graph_add(g->g, op, "y", inputs, attrs, NULL, NULL, &err))
    fail_msg("%s(%s): %s", op, attrs, err.text);
  assert_int_equal(ferry_session_new(g->rt, g->g, &s, &err), 0);
  for (int run = 0; run < 2; run++) {
    ferry_tensor *y = NULL;
    if (ferry_run(s, g->n, g->feeds, g->values, 1, &fetch, &y, 0, &err))
      fail_msg("%s(%s): %s", op, attrs, err.text);
    for (int64_t i = 0; i < count; i++) {
      const int32_t got = ((const int32_t *)ferry_tensor_data(y))[i];
      if (got != want[i])
        fail_msg("%s(%s), run %d: element %lld is %d instead of %d", op, attrs, run, (long long)i,
                 got, want[i]);
    }
    ferry_tensor_free(y);
  }
  ferry_session_free(s);
  for (int i = 0; i < g->n; i++) ferry_tensor_free(g->values[i]);
  ferry_graph_free(g->g);
}

static graph begin(ferry_runtime *rt) {
  graph g = {.rt = rt, .constant = roll(2)};
  assert_int_equal(ferry_graph_new(rt, &g.g, &err), 0);
  return g;
}

static ferry_runtime *runtime(int threads) {
  char config[64];
  ferry_runtime *rt;
  snprintf(config, sizeof config, "intra_threads=%d", threads);
  assert_int_equal(ferry_open(config, &rt, &err), 0);
  return rt;
}

// 255 levels from -zero to 255 - zero: one level is 1.
static void products(void **unused) {
  (void)unused;
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  static const int64_t ms[] = {1, 2, 7, 8, 9, 47, 48, 49, 100},
                       ns[] = {1, 7, 8, 31, 32, 33, 256, 300};
  for (int round = 0; round < (int)(60 / parts) + 1; round++) {
    const int64_t m = ms[roll(9)], n = ns[roll(8)], k = 1 + roll(roll(4) ? 20 : 200);
    const bool ta = roll(2), tb = roll(2);
    const int za = (int)roll(256), zb = (int)roll(256);
    graph g = begin(rts[round % 2]);
    int *a = bytes(&g, "a", false, false, 2, ta ? (int64_t[]){k, m} : (int64_t[]){m, k});
    int *b = bytes(&g, "b", false, g.constant, 2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n});
    int32_t *want = calloc((size_t)(m * n), sizeof *want);
    for (int64_t i = 0; i < m * n; i++)
      for (int64_t l = 0; l < k; l++)
        want[i] += (a[ta ? l * m + i / n : i / n * k + l] - za) *
                   (b[tb ? i % n * k + l : l * n + i % n] - zb);
    number(&g, "a0", (float)-za), number(&g, "a1", (float)(255 - za));
    number(&g, "b0", (float)-zb), number(&g, "b1", (float)(255 - zb));
    char attrs[96];
    snprintf(attrs, sizeof attrs, "Toutput=qint32; transpose_a=%s; transpose_b=%s",
             ta ? "true" : "false", tb ? "true" : "false");
    expect(&g, "QuantizedMatMul", "a, b, a0, a1, b0, b1", attrs, want, m * n);
    free(a), free(b), free(want);
  }
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

typedef struct conv {
  int64_t n, h, w, ic, kh, kw, oc, groups, stride, dh, dw, oh, ow, top, left;
} conv;

// The sum that output element |i| is; outside of the image there is |za|.
static int32_t sum_at(const conv *c, int64_t i, const int *x, const int *f, int za, int zb) {
  const int64_t o = i % c->oc, ox = i / c->oc % c->ow, oy = i / c->oc / c->ow % c->oh;
  const int64_t image = i / c->oc / c->ow / c->oh, depth = c->ic / c->groups;
  const int64_t first = o / (c->oc / c->groups) * depth;
  int32_t sum = 0;
  for (int64_t t = 0; t < c->kh * c->kw; t++) {
    const int64_t y = oy * c->stride - c->top + t / c->kw * c->dh;
    const int64_t xx = ox * c->stride - c->left + t % c->kw * c->dw;
    if (y < 0 || y >= c->h || xx < 0 || xx >= c->w) continue;
    for (int64_t d = 0; d < depth; d++)
      sum += (x[((image * c->h + y) * c->w + xx) * c->ic + first + d] - za) *
             (f[(t * depth + d) * c->oc + o] - zb);
  }
  return sum;
}

static void place(int64_t in, int64_t k, int64_t s, int64_t d, bool same, int64_t *out,
                  int64_t *before) {
  const int64_t size = (k - 1) * d + 1;
  *out = same ? (in + s - 1) / s : (in - size) / s + 1;
  const int64_t pad = (*out - 1) * s + size - in;
  *before = same && pad > 0 ? pad / 2 : 0;
}

static conv some_conv(bool plain, bool same) {
  conv c = {.n = 1 + roll(2),
            .ic = 1 + roll(9),
            .oc = 1 + roll(roll(3) ? 40 : 300),
            .groups = 1,
            .stride = 1 + roll(2),
            .dh = 1,
            .dw = 1,
            .kh = 1 + roll(3),
            .kw = 1 + roll(3)};
  if (!plain && !roll(3)) c.groups = 1 + roll(3), c.ic *= c.groups, c.oc *= c.groups;
  if (!plain && !roll(3)) c.dh = 1 + roll(2), c.dw = 1 + roll(2);
  if (c.groups == 1 && !roll(3)) c.kh = c.kw = c.stride = 1, c.ic = 4 * (1 + roll(9));
  c.h = c.kh * c.dh + roll(9), c.w = c.kw * c.dw + roll(9);
  place(c.h, c.kh, c.stride, c.dh, same, &c.oh, &c.top);
  place(c.w, c.kw, c.stride, c.dw, same, &c.ow, &c.left);
  return c;
}

// Kinds: 0 with zero points, 1 unsigned by signed, 2 both signed.
static void try_convolution(ferry_runtime *rt, int kind, bool same) {
  const conv c = some_conv(kind == 0, same);
  const int za = kind ? 0 : (int)roll(256), zb = kind ? 0 : (int)roll(256);
  const int64_t count = c.n * c.oh * c.ow * c.oc;
  graph g = begin(rt);
  int *x = bytes(&g, "x", kind == 2, false, 4, (int64_t[]){c.n, c.h, c.w, c.ic});
  int *f = bytes(&g, "f", kind > 0, g.constant, 4, (int64_t[]){c.kh, c.kw, c.ic / c.groups, c.oc});
  int32_t *want = malloc((size_t)count * sizeof *want);
  for (int64_t i = 0; i < count; i++) want[i] = sum_at(&c, i, x, f, za, zb);
  number(&g, "x0", kind == 2 ? -127.0f : (float)-za);
  number(&g, "x1", kind == 2 ? 127.0f : (float)(255 - za));
  number(&g, "f0", kind ? -127.0f : (float)-zb);
  number(&g, "f1", kind ? 127.0f : (float)(255 - zb));
  char attrs[160];
  snprintf(attrs, sizeof attrs,
           "out_type=qint32; strides=[1,%d,%d,1]; dilations=[1,%d,%d,1]; padding=\"%s\"",
           (int)c.stride, (int)c.stride, (int)c.dh, (int)c.dw, same ? "SAME" : "VALID");
  if (kind == 2) {
    ferry_tensor *zeros;
    assert_int_equal(ferry_tensor_new(FLOAT, 1, &c.oc, NULL, &zeros, &err), 0);
    memset(ferry_tensor_data(zeros), 0, (size_t)c.oc * sizeof(float));
    input(&g, "bias", zeros, true, "float");
    expect(&g, "QuantizedConv2DWithBias", "x, f, bias, x0, x1, f0, f1", attrs, want, count);
  } else {
    expect(&g, "QuantizedConv2D", "x, f, x0, x1, f0, f1", attrs, want, count);
  }
  free(x), free(f), free(want);
}

static void convolutions(void **unused) {
  (void)unused;
  ferry_runtime *rts[] = {runtime(1), runtime(3)};
  for (int round = 0; round < (int)(180 / parts) + 1; round++)
    try_convolution(rts[round % 2], round % 3, roll(2));
  ferry_close(rts[0]);
  ferry_close(rts[1]);
}

int main(void) {
  uint64_t part;
  parts = sample_parts(&part);
  state += part;
  if (getenv("FERRY_TEST_SEED")) state = strtoull(getenv("FERRY_TEST_SEED"), NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(convolutions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

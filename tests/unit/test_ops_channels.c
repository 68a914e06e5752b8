// SPDX-License-Identifier: Apache-2.0
// Batch normalisation and pooling of images of many shapes, against plain loops in double: channels that
// fill vectors or do not, that come first or last, results that are written past the cache. And bounds
// and rests of many numbers.

#include "support_graph.h"

#include <stdio.h>

#include "ops/typed.h"

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

static double number(const fy_tensor *t, int64_t i) {
  if (t->dtype == FY_DOUBLE) return ((const double *)t->data)[i];
  if (t->dtype == FY_HALF) return (double)fy_ld_half(((const uint16_t *)t->data)[i]);
  if (t->dtype == FY_BFLOAT16) return (double)FY_LD_bf16(((const uint16_t *)t->data)[i]);
  return (double)((const float *)t->data)[i];
}
static void set_number(fy_tensor *t, int64_t i, float v) {
  if (t->dtype == FY_DOUBLE)
    ((double *)t->data)[i] = (double)v;
  else if (t->dtype == FY_HALF)
    ((uint16_t *)t->data)[i] = fy_st_half(v);
  else if (t->dtype == FY_BFLOAT16)
    ((uint16_t *)t->data)[i] = FY_ST_bf16(v);
  else
    ((float *)t->data)[i] = v;
}
// Numbers between -1 and 1 that every type holds, |shift| added.
static fy_tensor *numbers(fy_dtype type, int rank, const int64_t *dims, int64_t seed, float shift) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(type, rank, dims, &t, NULL), FY_OK);
  for (int64_t i = 0; i < t->count; i++)
    set_number(t, i, (float)((i * 7919 + seed * 31) % 127 - 63) / 64 + shift);
  return t;
}

// Feeds |n| tensors, which it releases, to |op| with |attrs|, and fetches |m| outputs.
typedef struct named {
  const char *name;
  fy_attr value;
} named;
static void run(const char *op, int n, fy_tensor **in, int attrs, const named *attr, int m,
                fy_tensor **out) {
  fy_graph *g = fy_graph_new();
  fy_node_builder b;
  fy_error err;
  fy_output feeds[6], fetches[6];
  char name[8];
  fy_error_init(&err);
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "x%d", i);
    feeds[i] = (fy_output){placeholder(g, name, in[i]->dtype), 0};
  }
  assert_int_equal(fy_node_begin(g, op, "y", &b, &err), FY_OK);
  for (int i = 0; i < n; i++) fy_node_add_input(&b, feeds[i]);
  for (int i = 0; i < attrs; i++) fy_node_set_attr(&b, attr[i].name, &attr[i].value);
  fy_node *y = finish(&b);
  for (int i = 0; i < m; i++) fetches[i] = (fy_output){y, i};
  fy_session *s;
  if (fy_session_new(g, devices, &options, NULL, &s, &err)) fail_msg("%s", fy_error_text(&err));
  const fy_run_args args = {
      .feeds = feeds, .feed_values = in, .num_feeds = n, .fetches = fetches, .num_fetches = m};
  if (fy_session_run(s, &args, out, &err)) fail_msg("%s", fy_error_text(&err));
  fy_session_free(s);
  fy_graph_free(g);
}
static void release(int n, fy_tensor **t) {
  for (int i = 0; i < n; i++) fy_tensor_release(t[i]);
}

// ---------------------------------------------------------------- batch normalisation
typedef struct norm_case {
  fy_dtype type;
  bool last;  // channels
  int64_t n, h, w, c;
  float shift;  // of the numbers: a mean far from 0
} norm_case;

// Where number i of channel c is.
static int64_t place(const norm_case *k, int64_t i, int64_t c) {
  const int64_t inner = k->h * k->w;
  return k->last ? i * k->c + c : (i / inner * k->c + c) * inner + i % inner;
}
static void expect(const norm_case *k, const char *what, int64_t c, double got, double want,
                   double scale) {
  const double bound = (k->type == FY_FLOAT ? 1e-5 : k->type == FY_HALF ? 2e-3 : 2e-2) * scale;
  if (!(fabs(got - want) <= bound))
    fail_msg("%s of type %d, [%d, %d, %d] x %d%s: channel %d is %.9g, not %.9g", what, (int)k->type,
             (int)k->n, (int)k->h, (int)k->w, (int)k->c, k->last ? "" : " first", (int)c, got,
             want);
}

static void check_norm(const norm_case *k) {
  const int64_t first[4] = {k->n, k->c, k->h, k->w}, last[4] = {k->n, k->h, k->w, k->c};
  const int64_t none = 0, count = k->n * k->h * k->w;
  fy_tensor *x = numbers(k->type, 4, k->last ? last : first, 1, k->shift);
  fy_tensor *g = numbers(k->type, 4, k->last ? last : first, 5, 0.25f);
  fy_tensor *scale = numbers(FY_FLOAT, 1, &k->c, 2, 2), *offset = numbers(FY_FLOAT, 1, &k->c, 3, 0);
  fy_tensor *empty = numbers(FY_FLOAT, 1, &none, 0, 0), *out[5], *grads[3];
  fy_tensor *in[] = {x, scale, offset, empty, empty};
  const named attrs[] = {{"data_format", fy_attr_string(fy_view_of(k->last ? "NHWC" : "NCHW"))},
                         {"epsilon", {.kind = FY_ATTR_FLOAT, .v.f = 0.001f}},
                         {"is_training", {.kind = FY_ATTR_BOOL, .v.b = true}}};
  run("FusedBatchNormV3", 5, in, 3, attrs, 5, out);
  fy_tensor *back[] = {g, x, scale, out[3], out[4], empty};
  run("FusedBatchNormGradV3", 6, back, 3, attrs, 3, grads);
  for (int64_t c = 0; c < k->c; c++) {
    double mean = 0, squares = 0, sum = 0, products = 0;
    for (int64_t i = 0; i < count; i++) mean += number(x, place(k, i, c)) / (double)count;
    for (int64_t i = 0; i < count; i++) {
      const double d = number(x, place(k, i, c)) - mean, v = number(g, place(k, i, c));
      squares += d * d, sum += v, products += v * d;
    }
    const double variance = squares / (double)count, inverse = 1 / sqrt(variance + 0.001);
    const double n = (double)count;
    expect(k, "mean", c, number(out[1], c), mean, 1 + fabs(mean));
    expect(k, "variance", c, number(out[2], c), squares / (n > 1 ? n - 1 : 1), 0.1 + variance);
    expect(k, "scale's gradient", c, number(grads[1], c), products * inverse, n * (1 + fabs(mean)));
    expect(k, "offset's gradient", c, number(grads[2], c), sum, n);
    for (int64_t i = 0; i < count; i++) {
      const double d = number(x, place(k, i, c)) - mean, v = number(g, place(k, i, c));
      const double f = number(scale, c) * inverse;
      const double slope = products / n * inverse * inverse;
      // A mean that is rounded to a float is off by some 1e-7 of it.
      const double room = 10 + fabs(f) * (1 + fabs(mean));
      expect(k, "result", c, number(out[0], place(k, i, c)), d * f + number(offset, c), room);
      expect(k, "gradient", c, number(grads[0], place(k, i, c)), f * (v - sum / n - d * slope),
             room);
    }
  }
  release(5, out);
  release(3, grads);
  release(5, (fy_tensor *[]){x, g, scale, offset, empty});
}

static void norms(void **state) {
  (void)state;
  static const norm_case cases[] = {{FY_FLOAT, true, 2, 3, 5, 1, 0},
                                    {FY_FLOAT, true, 3, 41, 29, 3, 0},
                                    {FY_FLOAT, true, 3, 41, 29, 7, 1000},
                                    {FY_FLOAT, true, 5, 13, 11, 16, 0},
                                    {FY_FLOAT, true, 4, 33, 17, 64, 3},
                                    {FY_FLOAT, true, 2, 31, 17, 100, 0},
                                    {FY_FLOAT, true, 2, 9, 7, 515, 0},
                                    {FY_FLOAT, true, 1, 3, 2, 2048, 0},
                                    {FY_FLOAT, true, 8, 92, 91, 67, 0},  // past the cache
                                    {FY_FLOAT, false, 3, 41, 29, 3, 1000},
                                    {FY_FLOAT, false, 70, 7, 7, 20, 0},
                                    {FY_FLOAT, false, 2, 1, 3, 5, 0},
                                    {FY_FLOAT, false, 2, 1021, 1033, 2, 0},  // past the cache
                                    {FY_HALF, true, 2, 41, 29, 3, 0},
                                    {FY_HALF, true, 2, 9, 7, 515, 2},
                                    {FY_HALF, false, 2, 41, 29, 5, 0},
                                    {FY_BFLOAT16, true, 2, 21, 29, 40, 0},
                                    {FY_BFLOAT16, true, 2, 9, 7, 1030, 0},
                                    {FY_BFLOAT16, false, 2, 21, 29, 9, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_norm(&cases[i]);
}

// What no number can be made of stays in its channel; a channel of one number has no variance.
static void odd_channels(void **state) {
  (void)state;
  const int64_t dims[4] = {2, 40, 33, 5}, c = 5, none = 0;
  fy_tensor *x = numbers(FY_FLOAT, 4, dims, 1, 0), *ones = numbers(FY_FLOAT, 1, &c, 0, 0);
  fy_tensor *empty = numbers(FY_FLOAT, 1, &none, 0, 0), *out[3];
  float *v = x->data;
  for (int64_t i = 0; i < c; i++) ((float *)ones->data)[i] = 1;
  v[0] = INFINITY;
  v[5 * 100 + 1] = -INFINITY;
  v[5 * 2000 + 2] = NAN;
  for (int64_t i = 0; i < x->count / c; i++) v[5 * i + 3] = 0.1f;
  fy_tensor *in[] = {x, ones, ones, empty, empty};
  run("FusedBatchNormV3", 5, in, 0, NULL, 3, out);
  assert_true(number(out[1], 0) == (double)INFINITY && isnan(number(out[2], 0)));
  assert_true(number(out[1], 1) == -(double)INFINITY && isnan(number(out[2], 1)));
  assert_true(isnan(number(out[1], 2)) && isnan(number(out[2], 2)));
  assert_true(number(out[1], 3) == (double)0.1f && number(out[2], 3) == 0);
  assert_true(isfinite(number(out[1], 4)) && number(out[2], 4) > 0);
  assert_true(number(out[0], 3) == 1);
  release(3, out);
  release(3, (fy_tensor *[]){x, ones, empty});
}

// ---------------------------------------------------------------- pooling
typedef struct pool_case {
  fy_dtype type;
  int64_t in[4];  // depth, height, width, channels; images: 2
  int64_t size[3], stride[3];
  bool same;
} pool_case;

static void check_pool(const pool_case *k, bool max) {
  const bool volume = k->size[0] != 0;  // else pictures
  const int64_t dims[5] = {2, k->in[0], k->in[1], k->in[2], k->in[3]};
  const int64_t flat[4] = {2, k->in[1], k->in[2], k->in[3]};
  int64_t size[5] = {1, k->size[0], k->size[1], k->size[2], 1}, out_n[3], before[3], w[3];
  int64_t stride[5] = {1, k->stride[0], k->stride[1], k->stride[2], 1};
  fy_tensor *x = numbers(k->type, volume ? 5 : 4, volume ? dims : flat, 9, 0.5f), *out;
  for (int64_t i = 7; max && k->type == FY_FLOAT && i < x->count; i += 13)
    ((float *)x->data)[i] = i % 5 ? NAN : -INFINITY;
  const int64_t axes = volume ? 5 : 4, skip = volume ? 0 : 1;
  if (!volume) size[1] = 1, stride[1] = 1;
  const named attrs[] = {
      {"ksize", {.kind = FY_ATTR_INT, .is_list = true, .n = (uint32_t)axes, .v.ints = size + skip}},
      {"strides",
       {.kind = FY_ATTR_INT, .is_list = true, .n = (uint32_t)axes, .v.ints = stride + skip}},
      {"padding", fy_attr_string(fy_view_of(k->same ? "SAME" : "VALID"))}};
  for (int d = 0; d < 3; d++) {
    const int64_t n = d == 0 && !volume ? 1 : k->in[d], s = size[d + 1], t = stride[d + 1];
    out_n[d] = k->same ? (n + t - 1) / t : (n - s) / t + 1;
    const int64_t pad = k->same && (out_n[d] - 1) * t + s > n ? (out_n[d] - 1) * t + s - n : 0;
    before[d] = pad / 2;
    w[d] = n;
  }
  run(max      ? volume ? "MaxPool3D" : "MaxPool"
      : volume ? "AvgPool3D"
               : "AvgPool",
      1, &x, 3, attrs, 1, &out);
  assert_int_equal(out->count, 2 * out_n[0] * out_n[1] * out_n[2] * k->in[3]);
  for (int64_t i = 0; i < out->count; i++) {
    const int64_t c = i % k->in[3], at = i / k->in[3], ox = at % out_n[2], oy = at / out_n[2];
    const int64_t o[3] = {oy / out_n[1] % out_n[0], oy % out_n[1], ox};
    const int64_t image = oy / out_n[1] / out_n[0];
    double sum = 0, top = -(double)FLT_MAX;
    int64_t count = 0;
    for (int64_t tap = 0; tap < size[1] * size[2] * size[3]; tap++) {
      const int64_t z = o[0] * stride[1] - before[0] + tap / (size[2] * size[3]);
      const int64_t y = o[1] * stride[2] - before[1] + tap / size[3] % size[2];
      const int64_t px = o[2] * stride[3] - before[2] + tap % size[3];
      if (z < 0 || z >= w[0] || y < 0 || y >= w[1] || px < 0 || px >= w[2]) continue;
      const double v = number(x, ((((image * w[0] + z) * w[1] + y) * w[2] + px) * k->in[3]) + c);
      if (v > top) top = v;
      sum += v;
      count++;
    }
    const double want = max ? top : sum / (double)count, got = number(out, i);
    const double bound = max ? 0 : k->type == FY_BFLOAT16 ? 0.2 : k->type == FY_HALF ? 0.02 : 1e-5;
    if (!(fabs(got - want) <= bound))
      fail_msg("%s of type %d, [%d, %d, %d] x %d, window %d x %d x %d: number %d is %.9g, not %.9g",
               max ? "maximum" : "average", (int)k->type, (int)k->in[0], (int)k->in[1],
               (int)k->in[2], (int)k->in[3], (int)size[1], (int)size[2], (int)size[3], (int)i, got,
               want);
  }
  fy_tensor_release(x);
  fy_tensor_release(out);
}

static void pools(void **state) {
  (void)state;
  static const pool_case cases[] = {
      {FY_FLOAT, {1, 9, 11, 1}, {0, 2, 2}, {0, 2, 2}, false},
      {FY_FLOAT, {1, 30, 53, 1}, {0, 3, 3}, {0, 1, 1}, true},
      {FY_FLOAT, {1, 30, 53, 3}, {0, 3, 3}, {0, 2, 2}, true},
      {FY_FLOAT, {1, 30, 53, 3}, {0, 5, 2}, {0, 1, 3}, false},
      {FY_FLOAT, {1, 17, 15, 8}, {0, 3, 3}, {0, 2, 2}, true},
      {FY_FLOAT, {1, 17, 15, 27}, {0, 2, 3}, {0, 1, 2}, true},
      {FY_FLOAT, {1, 20, 19, 64}, {0, 3, 3}, {0, 2, 2}, true},
      {FY_FLOAT, {1, 20, 19, 100}, {0, 12, 12}, {0, 1, 1}, true},  // more than 64 taps
      {FY_FLOAT, {1, 7, 7, 1000}, {0, 7, 7}, {0, 1, 1}, false},
      {FY_FLOAT, {1, 3, 200, 5}, {0, 2, 150}, {0, 1, 7}, true},
      {FY_FLOAT, {1, 90, 5, 700}, {0, 80, 2}, {0, 5, 1}, false},
      {FY_FLOAT, {1, 6, 9, 4}, {0, 2, 2}, {0, 3, 3}, false},  // pixels that no window sees
      {FY_FLOAT, {6, 9, 10, 16}, {2, 2, 2}, {2, 2, 2}, false},
      {FY_FLOAT, {5, 9, 10, 3}, {3, 3, 3}, {1, 2, 1}, true},
      {FY_FLOAT, {9, 9, 10, 37}, {5, 5, 5}, {2, 2, 2}, true},
      {FY_DOUBLE, {1, 17, 15, 27}, {0, 3, 3}, {0, 2, 2}, true},
      {FY_HALF, {1, 17, 15, 27}, {0, 3, 3}, {0, 2, 2}, true},
      {FY_HALF, {1, 17, 15, 3}, {0, 2, 2}, {0, 2, 2}, false},
      {FY_BFLOAT16, {1, 17, 15, 70}, {0, 3, 3}, {0, 2, 2}, true},
      {FY_BFLOAT16, {4, 9, 10, 66}, {2, 2, 2}, {2, 1, 2}, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_pool(&cases[i], true);
    check_pool(&cases[i], false);
  }
}

// Where the maxima are: the first of equals, and a NaN that comes first.
static void places(void **state) {
  (void)state;
  static const fy_dtype types[] = {FY_FLOAT, FY_DOUBLE, FY_HALF};
  const int64_t dims[4] = {2, 13, 11, 70}, oh = 7, ow = 6;
  int64_t size[4] = {1, 3, 2, 1}, stride[4] = {1, 2, 2, 1};
  for (int k = 0; k < 6; k++) {
    fy_tensor *x = numbers(types[k / 2], 4, dims, k, 0), *out[2];
    for (int64_t i = 3; types[k / 2] == FY_FLOAT && i < x->count; i += 17)
      ((float *)x->data)[i] = NAN;
    const named attrs[] = {
        {"ksize", {.kind = FY_ATTR_INT, .is_list = true, .n = 4, .v.ints = size}},
        {"strides", {.kind = FY_ATTR_INT, .is_list = true, .n = 4, .v.ints = stride}},
        {"Targmax", fy_attr_type(k % 2 ? FY_INT32 : FY_INT64)},
        {"include_batch_in_index", {.kind = FY_ATTR_BOOL, .v.b = k % 3 == 0}},
        {"padding", fy_attr_string(fy_view_of("SAME"))}};
    run("MaxPoolWithArgmax", 1, &x, 5, attrs, 2, out);
    assert_int_equal(out[0]->count, 2 * oh * ow * dims[3]);
    for (int64_t i = 0; i < out[0]->count; i++) {
      const int64_t c = i % 70, ox = i / 70 % ow, oy = i / 70 / ow % oh, image = i / 70 / ow / oh;
      int64_t best = -1;
      for (int64_t tap = 0; tap < 6; tap++) {
        const int64_t y = oy * 2 - 1 + tap / 2,
                      px = ox * 2 + tap % 2;  // padding: 1 above, 1 behind
        const int64_t at = (y * 11 + px) * 70 + c, all = image * 13 * 11 * 70;
        if (y < 0 || y >= 13 || px >= 11) continue;
        if (best < 0 || number(x, all + at) > number(x, all + best)) best = at;
      }
      const int64_t got = k % 2 ? ((int32_t *)out[1]->data)[i] : ((int64_t *)out[1]->data)[i];
      const int64_t base = image * 13 * 11 * 70;
      const double top = number(x, base + best), value = number(out[0], i);
      if (got != best + (k % 3 == 0 ? base : 0) || !(value == top || (isnan(value) && isnan(top))))
        fail_msg("type %d: the maximum %d is %g at %d, not %g at %d", (int)types[k / 2], (int)i,
                 value, (int)got, top, (int)best);
    }
    release(2, out);
    fy_tensor_release(x);
  }
}

// ---------------------------------------------------------------- bounds
// Numbers, or one, as bounds; of complex numbers each part alone.
static void clips(void **state) {
  (void)state;
  static const fy_dtype types[] = {FY_FLOAT, FY_HALF, FY_COMPLEX64};
  const int64_t n = 1003;
  for (int k = 0; k < 12; k++) {
    const fy_dtype type = types[k / 4];
    const int parts = type == FY_COMPLEX64 ? 2 : 1;
    fy_tensor *in[3], *out;
    for (int i = 0; i < 3; i++) {
      const bool many = i == 0 || (k >> (i - 1) & 1);
      assert_int_equal(fy_tensor_new(type, many, &n, &in[i], NULL), FY_OK);
      fy_tensor as_floats = *in[i];
      if (parts == 2) as_floats.dtype = FY_FLOAT;
      for (int64_t at = 0; at < in[i]->count * parts; at++)
        set_number(&as_floats, at, (float)((at * 37 + i) % 64 - 32) / 16 + (i == 1 ? -1.0f : 0.5f));
    }
    run("ClipByValue", 3, in, 0, NULL, 1, &out);
    fy_tensor of[4] = {*in[0], *in[1], *in[2], *out};
    for (int i = 0; i < 4 && parts == 2; i++) of[i].dtype = FY_FLOAT;
    for (int64_t at = 0; at < n * parts; at++) {
      double v[3];
      for (int i = 0; i < 3; i++) v[i] = number(&of[i], in[i]->rank ? at : at % parts);
      const double capped = v[2] < v[0] ? v[2] : v[0], want = capped < v[1] ? v[1] : capped;
      if (number(&of[3], at) != want)
        fail_msg("case %d: number %d is %g, not %g", k, (int)at, number(&of[3], at), want);
    }
    release(3, in);
    fy_tensor_release(out);
  }
}

// Rests of divisions are libm's, bit for bit: of any bits, and of multiples and their neighbours.
static void rests(void **state) {
  (void)state;
  const int64_t n = 400003;
  uint64_t seed = 1;
  fy_tensor *in[2], *out;
  for (int i = 0; i < 2; i++) assert_int_equal(fy_tensor_new(FY_FLOAT, 1, &n, &in[i], NULL), FY_OK);
  float *x = in[0]->data, *y = in[1]->data;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits[2];
    for (int k = 0; k < 2; k++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      bits[k] = (uint32_t)(seed >> 32);
      if (i % 4 && (bits[k] >> 23 & 0xFF) != 0)  // sizes that are not far apart
        bits[k] = (bits[k] & 0x807FFFFF) | (100 + bits[k] / 512 % 40) << 23;
    }
    memcpy(&x[i], &bits[0], sizeof *x);
    memcpy(&y[i], &bits[1], sizeof *y);
    if (i % 4 == 3) x[i] = y[i] * (float)(bits[0] % 4096 * (bits[0] % 3 ? 1 : 65536));
    if (i % 8 == 7) x[i] = nextafterf(x[i], i % 16 == 7 ? 0 : INFINITY);
  }
  for (int floor = 0; floor < 2; floor++) {
    run(floor ? "FloorMod" : "Mod", 2, in, 0, NULL, 1, &out);
    for (int64_t i = 0; i < n; i++) {
      const float m = fmodf(x[i], y[i]), got = ((float *)out->data)[i];
      const float want = floor && m != 0 && (m < 0) != (y[i] < 0) ? m + y[i] : m;
      // Kernels take denormal numbers for 0.
      if (fpclassify(x[i]) == FP_SUBNORMAL || fpclassify(y[i]) == FP_SUBNORMAL ||
          fpclassify(want) == FP_SUBNORMAL || fpclassify(m) == FP_SUBNORMAL)
        continue;
      if (isnan(want) ? !isnan(got) : memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%a of %a: %a, not %a", (double)x[i], (double)y[i], (double)got, (double)want);
    }
    fy_tensor_release(out);
  }
  release(2, in);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(norms), cmocka_unit_test(odd_channels),
                                     cmocka_unit_test(pools), cmocka_unit_test(places),
                                     cmocka_unit_test(clips), cmocka_unit_test(rests)};
  return cmocka_run_group_tests(tests, open_devices, close_devices);
}

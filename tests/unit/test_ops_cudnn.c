// SPDX-License-Identifier: Apache-2.0
// test_ops_cudnn.c: CudnnRNN beyond its golden cases: dropout and its gradient, and the kernel with fast
// products in a session against the reference, on layers that fill its blocks.

#include "support_graph.h"

#include <math.h>

#include "op_calls.h"

enum { MOST = 16 };

static fy_tensor *numbers(fy_dtype type, int rank, const int64_t *dims, int seed) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(type, rank, dims, &t, NULL), FY_OK);
  for (int64_t i = 0; i < t->count; i++) {
    const double v = (double)((i * 7919 + seed * 104729) % 1999 - 999) / 2500;
    if (type == FY_DOUBLE)
      ((double *)t->data)[i] = v;
    else
      ((float *)t->data)[i] = (float)v;
  }
  return t;
}

// A site of its own: with the same seed, dropout keeps the same numbers in every call.
static void call(const char *name, const char *attr_text, fy_tensor **in, int n, fy_tensor **out) {
  const fy_op *op = fy_op_find(name, strlen(name));
  fy_attrs attrs = {0};
  fy_site site = {0};
  assert_int_equal(fy_sample_parse_attrs(attr_text, op->spec, &attrs, &arena, &err), FY_OK);
  if (local_bind(op, &attrs, in, n, &arena, &site, &err)) fail_msg("%s", fy_error_text(&err));
  if (local_call(&site, &run, in, out, &err)) fail_msg("%s", fy_error_text(&err));
  local_unbind(&site);
}
static void release(fy_tensor **t, int n) {
  for (int i = 0; i < n; i++) fy_tensor_release(t[i]);
}

// ---------------------------------------------------------------- dropout
#define DROPS "dropout=0.4; seed=5; seed2=9; rnn_mode=\"gru\""
static double loss(fy_tensor **in, const fy_tensor *weights) {
  fy_tensor *out[4];
  double sum = 0;
  call("CudnnRNN", DROPS, in, 4, out);
  for (int64_t i = 0; i < weights->count; i++)
    sum += ((double *)out[0]->data)[i] * ((double *)weights->data)[i];
  release(out, 4);
  return sum;
}

static void dropout_and_its_gradient(void **state) {
  (void)state;
  enum { LAYERS = 3, STEPS = 4, BATCH = 2, INPUTS = 3, UNITS = 4, PER = 3 * UNITS };
  const int64_t x[3] = {STEPS, BATCH, INPUTS}, h[3] = {LAYERS, BATCH, UNITS},
                y[3] = {STEPS, BATCH, UNITS};
  const int64_t params = PER * (INPUTS + UNITS) + 2 * PER * (2 * UNITS) + LAYERS * 2 * PER;
  fy_tensor *in[11], *out[4], *grads[4];
  in[0] = numbers(FY_DOUBLE, 3, x, 1);
  in[1] = numbers(FY_DOUBLE, 3, h, 2);
  in[2] = numbers(FY_DOUBLE, 0, NULL, 3);
  in[3] = numbers(FY_DOUBLE, 1, &params, 4);
  call("CudnnRNN", DROPS, in, 4, out);
  const double *flags = out[3]->data;
  int64_t kept = 0;
  assert_int_equal(out[3]->count, (LAYERS - 1) * STEPS * BATCH * UNITS);
  for (int64_t i = 0; i < out[3]->count; i++) {
    assert_true(flags[i] == 0 || flags[i] == 1);
    kept += flags[i] == 1;
  }
  assert_in_range(kept, 24, 52);  // 38 of 64 on the average
  for (int i = 0; i < 3; i++) in[4 + i] = out[i];
  in[7] = numbers(FY_DOUBLE, 3, y, 5);
  in[8] = numbers(FY_DOUBLE, 3, h, 6);
  memset(in[8]->data, 0, (size_t)in[8]->count * sizeof(double));
  in[9] = numbers(FY_DOUBLE, 0, NULL, 7);
  in[10] = out[3];
  call("CudnnRNNBackprop", DROPS, in, 11, grads);
  static const int places[] = {0, 1, 3};
  for (int k = 0; k < 3; k++) {
    double *v = in[places[k]]->data;
    for (int64_t i = 0; i < in[places[k]]->count; i++) {
      const double old = v[i], step = 1e-5;
      v[i] = old + step;
      const double more = loss(in, in[7]);
      v[i] = old - step;
      const double less = loss(in, in[7]);
      v[i] = old;
      const double got = ((double *)grads[places[k]]->data)[i], want = (more - less) / (2 * step);
      if (!(fabs(got - want) <= 1e-8 + 1e-7 * fabs(want)))
        fail_msg("gradient %d of element %d: %.12g, not %.12g", places[k], (int)i, got, want);
    }
  }
  release(grads, 4);
  release(in, 11);
}

// ---------------------------------------------------------------- fast products
static void fast_and_plain(const char *name, const char *attr_text, fy_tensor **in, int n,
                           int num_out, fy_tensor **out) {
  env e;
  fy_node_builder b;
  fy_attrs attrs = {0};
  fy_output feeds[MOST], fetches[5];
  fy_tensor *plain[5];
  char label[8];
  const fy_op *op = fy_op_find(name, strlen(name));
  env_open(&e, NULL);
  for (int i = 0; i < n; i++) {
    snprintf(label, sizeof label, "x%d", i);
    feeds[i] = (fy_output){placeholder(e.g, label, in[i]->dtype), 0};
  }
  assert_int_equal(fy_sample_parse_attrs(attr_text, op->spec, &attrs, &arena, &err), FY_OK);
  assert_int_equal(fy_node_begin(e.g, name, "y", &b, &err), FY_OK);
  for (int i = 0; i < n; i++) fy_node_add_input(&b, feeds[i]);
  for (uint32_t i = 0; i < attrs.n; i++)
    fy_node_set_attr(&b, attrs.items[i].name, &attrs.items[i].value);
  fy_node *y = finish(&b);
  for (int i = 0; i < num_out; i++) fetches[i] = (fy_output){y, i};
  env_session(&e);
  const fy_run_args args = {.feeds = feeds,
                            .feed_values = in,
                            .num_feeds = n,
                            .fetches = fetches,
                            .num_fetches = num_out};
  if (fy_session_run(e.s, &args, out, &err)) fail_msg("%s", fy_error_text(&err));
  call(name, attr_text, in, n, plain);
  for (int i = 0; i < num_out; i++) {
    assert_int_equal(out[i]->count, plain[i]->count);
    if (out[i]->dtype == FY_INT8) continue;
    for (int64_t k = 0; k < out[i]->count; k++) {
      const bool wide = out[i]->dtype == FY_DOUBLE;
      const double got = wide ? ((double *)out[i]->data)[k] : (double)((float *)out[i]->data)[k];
      const double want =
          wide ? ((double *)plain[i]->data)[k] : (double)((float *)plain[i]->data)[k];
      if (!(fabs(got - want) <= (wide ? 1e-10 : 2e-4) * (1 + fabs(want))))
        fail_msg("%s(%s) output %d, element %d: %.9g, not %.9g", name, attr_text, i, (int)k, got,
                 want);
    }
  }
  release(plain, num_out);
  env_close(&e);
}

static void larger_layers(void **state) {
  (void)state;
  enum { STEPS = 7, BATCH = 9, INPUTS = 37, UNITS = 45 };
  static const char *const modes[] = {"lstm", "gru", "rnn_tanh"};
  for (int pass = 0; pass < 6; pass++) {
    const int64_t gates = pass / 2 == 0 ? 4 : pass / 2 == 1 ? 3 : 1;
    const fy_dtype type = pass & 1 ? FY_DOUBLE : FY_FLOAT;
    const int64_t x[3] = {STEPS, BATCH, INPUTS}, h[3] = {4, BATCH, UNITS},
                  y[3] = {STEPS, BATCH, 2 * UNITS}, batch = BATCH;
    const int64_t params = 2 * gates * UNITS * (INPUTS + UNITS) + 2 * gates * UNITS * 3 * UNITS +
                           4 * 2 * gates * UNITS;
    char attrs[80];
    fy_tensor *in[MOST], *out[5], *grads[4];
    snprintf(attrs, sizeof attrs, "rnn_mode=\"%s\"; direction=\"bidirectional\"", modes[pass / 2]);
    in[0] = numbers(type, 3, x, 1);
    in[1] = numbers(type, 3, h, 2);
    in[2] = gates == 4 ? numbers(type, 3, h, 3) : numbers(type, 0, NULL, 3);
    in[3] = numbers(type, 1, &params, 4);
    assert_int_equal(fy_tensor_new(FY_INT32, 1, &batch, &in[4], NULL), FY_OK);
    for (int b = 0; b < BATCH; b++) ((int32_t *)in[4]->data)[b] = b % (STEPS + 1);
    fast_and_plain("CudnnRNNV3", attrs, in, 5, 5, out);
    for (int i = 0; i < 3; i++) in[5 + i] = out[i];
    in[8] = numbers(type, 3, y, 5);
    in[9] = numbers(type, 3, h, 6);
    in[10] = gates == 4 ? numbers(type, 3, h, 7) : numbers(type, 0, NULL, 7);
    in[11] = out[3];
    in[12] = out[4];
    fast_and_plain("CudnnRNNBackpropV3", attrs, in, 13, 4, grads);
    release(grads, 4);
    release(in, 13);
  }
}

// ---------------------------------------------------------------- nothing to do
static void empty_batches(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {
      {0, 3, 2}, {3, 0, 2}, {(int64_t)1 << 50, 0, 2}, {0, 0, 0}, {2, 3, 0}};
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
    const int64_t h[3] = {1, sizes[k][1], 2}, params = 8 * (sizes[k][2] + 2) + 16;
    fy_tensor *in[11], *out[4], *grads[4];
    in[0] = numbers(FY_FLOAT, 3, sizes[k], 1);
    in[1] = numbers(FY_FLOAT, 3, h, 2);
    in[2] = numbers(FY_FLOAT, 3, h, 3);
    in[3] = numbers(FY_FLOAT, 1, &params, 4);
    call("CudnnRNN", "", in, 4, out);
    assert_int_equal(out[0]->dims[0], sizes[k][0]);
    assert_int_equal(out[1]->count, 2 * sizes[k][1]);
    if (!sizes[k][0] && out[1]->count)
      assert_memory_equal(out[1]->data, in[1]->data, (size_t)out[1]->count * sizeof(float));
    for (int i = 0; i < 3; i++) in[4 + i] = in[7 + i] = out[i];  // any numbers will do as gradients
    in[10] = out[3];
    call("CudnnRNNBackprop", "", in, 11, grads);
    assert_int_equal(grads[0]->count, in[0]->count);
    assert_int_equal(grads[1]->count, in[1]->count);
    release(grads, 4);
    release(out, 4);
    release(in, 4);
  }
}

// More numbers between the layers than an int64 can count, of an input that has none.
static void too_many_to_drop(void **state) {
  (void)state;
  const int64_t x[3] = {(int64_t)1 << 60, 2, 0}, h[3] = {3, 2, 2}, params = 6 * 2 + 2 * 6 * 4 + 36;
  const fy_op *op = fy_op_find("CudnnRNN", 8);
  fy_tensor *in[4], *out[4];
  fy_attrs attrs = {0};
  fy_site site = {0};
  in[0] = numbers(FY_FLOAT, 3, x, 1);
  in[1] = in[2] = numbers(FY_FLOAT, 3, h, 2);
  in[3] = numbers(FY_FLOAT, 1, &params, 3);
  assert_int_equal(fy_sample_parse_attrs(DROPS, op->spec, &attrs, &arena, &err), FY_OK);
  assert_int_equal(local_bind(op, &attrs, in, 4, &arena, &site, &err), FY_OK);
  assert_int_equal(local_call(&site, &run, in, out, &err), FY_RESOURCE_EXHAUSTED);
  fy_error_clear(&err);
  local_unbind(&site);
  fy_tensor_release(in[0]);
  release(in + 2, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(dropout_and_its_gradient, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(larger_layers, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(empty_batches, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(too_many_to_drop, calls_setup, calls_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

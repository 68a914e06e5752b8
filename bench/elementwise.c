// elementwise.c: ten element-wise ops in a row, tanh and sigmoid among them, on 1,000,000 floats.
#include "bench.h"

enum { ELEMENTS = 1000000 };

int main(void) {
  TF_Graph *graph = TF_NewGraph();
  TF_Status *status = TF_NewStatus();
  const int64_t dims[1] = {ELEMENTS};
  TF_Output none = {NULL, 0};
  TF_Output x = bench_placeholder(graph, "x", dims, 1);

  TF_Output y = bench_op(graph, "Mul", "mul", x, bench_constant(graph, "half", 0.5f), status);
  y = bench_op(graph, "AddV2", "add", y, bench_constant(graph, "tenth", 0.1f), status);
  y = bench_op(graph, "Tanh", "tanh", y, none, status);
  y = bench_op(graph, "Maximum", "maximum", y, bench_constant(graph, "low", -0.9f), status);
  y = bench_op(graph, "Neg", "neg", y, none, status);
  y = bench_op(graph, "Sigmoid", "sigmoid", y, none, status);
  y = bench_op(graph, "Mul", "gate", y, x, status);
  y = bench_op(graph, "Sub", "sub", y, bench_constant(graph, "shift", 0.25f), status);
  y = bench_op(graph, "Square", "square", y, none, status);
  y = bench_op(graph, "Abs", "abs", y, none, status);

  bench_step step = {.feeds = {x},
                     .values = {bench_tensor(dims, 1)},
                     .feed_count = 1,
                     .fetch = y,
                     .status = status};
  float *input = TF_TensorData(step.values[0]);
  for (int i = 0; i < ELEMENTS; ++i) input[i] = (float)(i % 2001 - 1000) * 0.004f;
  step.session = bench_session(graph);

  TF_Tensor *result = bench_run(&step);
  const float *output = TF_TensorData(result);
  double sum = 0;
  for (int i = 0; i < ELEMENTS; ++i) sum += (double)output[i];
  bench_report("check:elementwise", sum);
  TF_DeleteTensor(result);

  bench_report("elementwise", bench_ns_per_call(bench_run_and_drop, &step) / ELEMENTS);

  TF_DeleteTensor(step.values[0]);
  TF_DeleteSession(step.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

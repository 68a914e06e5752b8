// matmul.c: square matrix products of float32, both operands fed, so that neither can be prepared.
#include "bench.h"

static void matmul(int64_t n) {
  TF_Graph *graph = TF_NewGraph();
  TF_Status *status = TF_NewStatus();
  const int64_t dims[2] = {n, n};
  TF_Output a = bench_placeholder(graph, "a", dims, 2);
  TF_Output b = bench_placeholder(graph, "b", dims, 2);
  bench_step step = {.feeds = {a, b},
                     .values = {bench_tensor(dims, 2), bench_tensor(dims, 2)},
                     .feed_count = 2,
                     .fetch = bench_op(graph, "MatMul", "c", a, b, status),
                     .status = status};
  float *left = TF_TensorData(step.values[0]), *right = TF_TensorData(step.values[1]);
  for (int64_t i = 0; i < n * n; ++i) {
    left[i] = (float)(i % 7) * 0.25f - 0.5f;
    right[i] = (float)(i % 5) * 0.5f - 0.75f;
  }
  step.session = bench_session(graph);

  char name[32];
  TF_Tensor *result = bench_run(&step);
  const float *product = TF_TensorData(result);
  double sum = 0;
  for (int64_t i = 0; i < n * n; ++i) sum += (double)product[i] * (double)(i % 3 + 1);
  snprintf(name, sizeof name, "check:matmul_%d", (int)n);
  bench_report(name, sum);
  TF_DeleteTensor(result);

  snprintf(name, sizeof name, "matmul_%d", (int)n);
  bench_report(name, bench_ns_per_call(bench_run_and_drop, &step));

  TF_DeleteTensor(step.values[0]);
  TF_DeleteTensor(step.values[1]);
  TF_DeleteSession(step.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

int main(void) {
  for (int64_t n = 32; n <= 1024; n *= 2) matmul(n);
  return 0;
}

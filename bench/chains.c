// chains.c: 32 chains of ten 64x64 products beside each other, summed up: more branches than cores,
// each product too short to be split. Shows whether threads get in each other's way: the time of a
// product, and how many cores the whole took (CPU time over time).
#include "bench.h"

enum { CHAINS = 32, LENGTH = 10, N = 64 };

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  TF_Graph *graph = TF_NewGraph();
  TF_Status *status = TF_NewStatus();
  const int64_t dims[2] = {N, N};
  TF_Output x = bench_placeholder(graph, "x", dims, 2), w = bench_placeholder(graph, "w", dims, 2);
  TF_Output ends[CHAINS];
  for (int c = 0; c < CHAINS; ++c) {
    char name[32];
    snprintf(name, sizeof name, "scale%d", c);
    TF_Output y = bench_constant(graph, name, 1.0f + 0.01f * (float)c);
    snprintf(name, sizeof name, "start%d", c);
    y = bench_op(graph, "Mul", name, x, y, status);
    for (int i = 0; i < LENGTH; ++i) {
      snprintf(name, sizeof name, "chain%d_%d", c, i);
      y = bench_op(graph, "MatMul", name, y, w, status);
    }
    ends[c] = y;
  }
  TF_OperationDescription *sum = TF_NewOperation(graph, "AddN", "sum");
  TF_AddInputList(sum, ends, CHAINS);
  TF_Output total = {TF_FinishOperation(sum, status), 0};
  bench_require(status, "sum");
  bench_step step = {.feeds = {x, w},
                     .values = {bench_tensor(dims, 2), bench_tensor(dims, 2)},
                     .feed_count = 2,
                     .fetch = total,
                     .status = status};
  float *left = TF_TensorData(step.values[0]), *right = TF_TensorData(step.values[1]);
  for (int i = 0; i < N * N; ++i) {
    left[i] = (float)(i % 7) * 0.25f - 0.5f;
    right[i] = i / N == i % N ? 1.0f : 0.001f * (float)(i % 5);
  }
  step.session = bench_session(graph);

  TF_Tensor *result = bench_run(&step);
  const float *values = TF_TensorData(result);
  double check = 0;
  for (int i = 0; i < N * N; ++i) check += (double)values[i];
  bench_report("check:chains", check);
  TF_DeleteTensor(result);

  bench_report("chains_product", bench_ns_per_call(bench_run_and_drop, &step) / (CHAINS * LENGTH));
  const double start = bench_now_ns(), cpu = cpu_ns();
  for (int i = 0; i < 100; ++i) bench_run_and_drop(&step);
  bench_report("chains_cores", (cpu_ns() - cpu) / (bench_now_ns() - start));

  TF_DeleteTensor(step.values[0]);
  TF_DeleteTensor(step.values[1]);
  TF_DeleteSession(step.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

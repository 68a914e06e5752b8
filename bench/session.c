// session.c: what a session costs when the arithmetic itself is nothing: a run of one scalar op, and
// a chain of 10,000 of them (per node once warm, and from an empty graph to the first result).
#include "bench.h"

enum { CHAIN_NODES = 10000 };

static void one_op(void) {
  TF_Graph *graph = TF_NewGraph();
  TF_Status *status = TF_NewStatus();
  TF_Output x = bench_placeholder(graph, "x", NULL, 0);
  bench_step step = {.feeds = {x},
                     .values = {bench_scalar(1.5f)},
                     .feed_count = 1,
                     .fetch = bench_op(graph, "AddV2", "y", x, x, status),
                     .status = status};
  step.session = bench_session(graph);
  TF_Tensor *result = bench_run(&step);
  bench_report("check:session_one_op", (double)*(float *)TF_TensorData(result));
  TF_DeleteTensor(result);

  bench_report("session_one_op", bench_ns_per_call(bench_run_and_drop, &step));

  TF_DeleteTensor(step.values[0]);
  TF_DeleteSession(step.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

// x, then alternately + 0.001 and * 0.999, so that neighbours cannot be merged into one constant.
static void chain(void) {
  double start = bench_now_ns();
  TF_Graph *graph = TF_NewGraph();
  TF_Status *status = TF_NewStatus();
  TF_Output x = bench_placeholder(graph, "x", NULL, 0);
  TF_Output shift = bench_constant(graph, "shift", 0.001f);
  TF_Output scale = bench_constant(graph, "scale", 0.999f);
  TF_Output y = x;
  for (int i = 0; i < CHAIN_NODES; ++i) {
    char name[32];
    snprintf(name, sizeof name, "node%d", i);
    y = i % 2 == 0 ? bench_op(graph, "AddV2", name, y, shift, status)
                   : bench_op(graph, "Mul", name, y, scale, status);
  }
  bench_step step = {
      .feeds = {x}, .values = {bench_scalar(1.5f)}, .feed_count = 1, .fetch = y, .status = status};
  step.session = bench_session(graph);
  TF_Tensor *result = bench_run(&step);
  bench_report("chain_first_result", bench_now_ns() - start);
  bench_report("check:chain", (double)*(float *)TF_TensorData(result));
  TF_DeleteTensor(result);

  bench_report("chain_node", bench_ns_per_call(bench_run_and_drop, &step) / CHAIN_NODES);

  TF_DeleteTensor(step.values[0]);
  TF_DeleteSession(step.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

int main(void) {
  one_op();
  chain();
  return 0;
}

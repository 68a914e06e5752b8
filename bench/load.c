// load.c: from the start of a process to its first result, and what it then occupies in memory.
// Run by launch.c, which gives the moment before it forked as the argument.
#include "bench.h"

static double resident_bytes(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  double kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "VmRSS:", 6) == 0) kib = strtod(line + 6, NULL);
  }
  if (file != NULL) fclose(file);
  return kib * 1024;
}

int main(int argc, char **argv) {
  double start = argc > 1 ? strtod(argv[1], NULL) : bench_now_ns();
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
  double took = bench_now_ns() - start;
  bench_report("load_first_result", took);
  bench_report("load_resident_bytes", resident_bytes());
  bench_report("check:load", (double)*(float *)TF_TensorData(result));

  TF_DeleteTensor(result);
  TF_DeleteTensor(step.values[0]);
  TF_DeleteSession(step.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

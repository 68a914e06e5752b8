// norms.c ROWS COLUMNS [TRIES]: what models write with reductions of rows, on one tensor of floats:
// layer normalisation as tf.nn.batch_normalization does it (keras), step by step (plain), a
// l2_normalize and a softmax written out. Prints the least time of a run, and how much of the speed
// of a copy that is: reading and writing the tensor once, by two threads.
#include <math.h>
#include <pthread.h>

#include "bench.h"

typedef struct half {
  char *to;
  const char *from;
  size_t bytes;
} half;

static void *copy_half(void *arg) {
  const half *h = arg;
  memcpy(h->to, h->from, h->bytes);
  return NULL;
}

static double copy_ns(size_t bytes, int tries) {
  char *from = malloc(bytes), *to = malloc(bytes);
  double best = 1e30;
  if (!from || !to) exit(1);
  memset(from, 1, bytes);
  memset(to, 1, bytes);
  for (int i = 0; i < tries; i++) {
    half parts[2] = {{to, from, bytes / 2}, {to + bytes / 2, from + bytes / 2, bytes - bytes / 2}};
    pthread_t helper;
    const double start = bench_now_ns();
    if (pthread_create(&helper, NULL, copy_half, &parts[1])) exit(1);
    copy_half(&parts[0]);
    pthread_join(helper, NULL);
    const double took = bench_now_ns() - start;
    if (took < best) best = took;
  }
  free(from);
  free(to);
  return best;
}

static TF_Graph *graph;
static TF_Status *status;
static TF_Output axis, eps;
static int names;

static TF_Output op(const char *type, TF_Output a, TF_Output b) {
  char name[32];
  snprintf(name, sizeof name, "n%d", names++);
  return bench_op(graph, type, name, a, b, status);
}

static TF_Output one(const char *type, TF_Output a) {
  char name[32];
  snprintf(name, sizeof name, "n%d", names++);
  TF_OperationDescription *d = TF_NewOperation(graph, type, name);
  TF_AddInput(d, a);
  TF_Output out = {TF_FinishOperation(d, status), 0};
  bench_require(status, type);
  return out;
}

static TF_Output reduce(const char *type, TF_Output a) {
  char name[32];
  snprintf(name, sizeof name, "n%d", names++);
  TF_OperationDescription *d = TF_NewOperation(graph, type, name);
  TF_AddInput(d, a);
  TF_AddInput(d, axis);
  TF_SetAttrBool(d, "keep_dims", 1);
  TF_Output out = {TF_FinishOperation(d, status), 0};
  bench_require(status, type);
  return out;
}

static void measure(const char *name, TF_Output y, TF_Output *feeds, TF_Tensor **values,
                    double copied, int tries) {
  bench_step step = {.feed_count = 3, .fetch = y, .status = status};
  for (int i = 0; i < 3; i++) step.feeds[i] = feeds[i], step.values[i] = values[i];
  step.session = bench_session(graph);
  TF_Tensor *result = bench_run(&step);
  const float *v = TF_TensorData(result);
  double sum = 0, best = 1e30;
  for (size_t i = 0; i < TF_TensorByteSize(result) / sizeof *v; i += 7) sum += fabs((double)v[i]);
  TF_DeleteTensor(result);
  for (int i = 0; i < tries; i++) {
    const double start = bench_now_ns();
    bench_run_and_drop(&step);
    const double took = bench_now_ns() - start;
    if (took < best) best = took;
  }
  printf("%-8s %10.1f us  %3.0f %% of a copy  (check %.6g)\n", name, best / 1e3,
         100 * copied / best, sum);
  TF_CloseSession(step.session, status);
  TF_DeleteSession(step.session, status);
}

int main(int argc, char **argv) {
  const int64_t rows = argc > 1 ? atoll(argv[1]) : 16384, cols = argc > 2 ? atoll(argv[2]) : 1024;
  const int tries = argc > 3 ? atoi(argv[3]) : 20;
  const int64_t dims[2] = {rows, cols};
  graph = TF_NewGraph();
  status = TF_NewStatus();
  TF_Output feeds[3] = {bench_placeholder(graph, "x", dims, 2),
                        bench_placeholder(graph, "gamma", &dims[1], 1),
                        bench_placeholder(graph, "beta", &dims[1], 1)};
  TF_Output x = feeds[0], gamma = feeds[1], beta = feeds[2];
  TF_Tensor *values[3] = {bench_tensor(dims, 2), bench_tensor(&dims[1], 1),
                          bench_tensor(&dims[1], 1)};
  for (int k = 0; k < 3; k++) {
    float *v = TF_TensorData(values[k]);
    for (int64_t i = 0; i < (k ? cols : rows * cols); i++)
      v[i] = (float)((i * 7919 + k * 31) % 1000) * 0.002f - (k ? 0.5f : 1.0f);
  }
  const int32_t minus_one = -1;
  const int64_t single = 1;
  TF_Tensor *t = TF_AllocateTensor(TF_INT32, &single, 1, sizeof minus_one);
  memcpy(TF_TensorData(t), &minus_one, sizeof minus_one);
  TF_OperationDescription *d = TF_NewOperation(graph, "Const", "axis");
  TF_SetAttrTensor(d, "value", t, status);
  TF_SetAttrType(d, "dtype", TF_INT32);
  axis = (TF_Output){TF_FinishOperation(d, status), 0};
  bench_require(status, "axis");
  eps = bench_constant(graph, "eps", 1e-3f);
  const double copied = copy_ns((size_t)(rows * cols) * sizeof(float), tries);

  TF_Output mean = reduce("Mean", x);
  TF_Output variance = reduce("Mean", op("SquaredDifference", x, mean));
  TF_Output scale = op("Mul", one("Rsqrt", op("AddV2", variance, eps)), gamma);
  TF_Output shift = op("Sub", beta, op("Mul", mean, scale));
  measure("keras", op("AddV2", op("Mul", x, scale), shift), feeds, values, copied, tries);

  TF_Output less = op("Sub", x, mean);
  TF_Output square = reduce("Mean", one("Square", less));
  TF_Output normal = op("RealDiv", less, one("Sqrt", op("AddV2", square, eps)));
  measure("plain", op("AddV2", op("Mul", normal, gamma), beta), feeds, values, copied, tries);

  TF_Output length = one("Rsqrt", op("Maximum", reduce("Sum", one("Square", x)), eps));
  measure("l2", op("Mul", x, length), feeds, values, copied, tries);

  TF_Output power = one("Exp", op("Sub", x, reduce("Max", x)));
  measure("softmax", op("RealDiv", power, reduce("Sum", power)), feeds, values, copied, tries);
  measure("Softmax", one("Softmax", x), feeds, values, copied, tries);
  measure("Log", one("LogSoftmax", x), feeds, values, copied, tries);
  return 0;
}

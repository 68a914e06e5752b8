// bench.h: what the benchmark programs share: a clock, a median, and short ways to build a graph.
// Only TensorFlow's C API is used, so one compiled program measures Ferry and TensorFlow alike:
// the loader picks the library by LD_LIBRARY_PATH (bench/run.sh).
// A program prints lines "name value" (times in ns unless the name says otherwise) and
// "check:name value" for results that must agree between the two libraries.
#ifndef FERRY_BENCH_BENCH_H_
#define FERRY_BENCH_BENCH_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensorflow/c/c_api.h"

#define BENCH_MAX_BATCHES 31

static inline double bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Time of one call of |fn|: the median over batches of at least 10 ms each (fewer calls when one
// takes longer), 0.4 s in all, after a warm-up as long as one batch.
static inline double bench_ns_per_call(void (*fn)(void *), void *context) {
  long calls = 1;
  double batch_ns;
  for (;;) {
    double start = bench_now_ns();
    for (long i = 0; i < calls; ++i) fn(context);
    batch_ns = bench_now_ns() - start;
    if (batch_ns >= 10e6 || calls >= 1L << 30) break;
    calls = batch_ns < 1e5 ? calls * 16 : (long)((double)calls * 12e6 / batch_ns) + 1;
  }
  double samples[BENCH_MAX_BATCHES];
  int count = 0;
  for (double spent = 0; count < BENCH_MAX_BATCHES && (spent < 400e6 || count < 5); ++count) {
    double start = bench_now_ns();
    for (long i = 0; i < calls; ++i) fn(context);
    double took = bench_now_ns() - start;
    spent += took;
    samples[count] = took / (double)calls;
  }
  qsort(samples, (size_t)count, sizeof *samples, bench_compare);
  return samples[count / 2];
}

static inline void bench_report(const char *name, double value) {
  printf("%s %.9g\n", name, value);
  fflush(stdout);
}

static inline void bench_require(TF_Status *status, const char *what) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}

static inline TF_Tensor *bench_tensor(const int64_t *dims, int rank) {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= dims[i];
  return TF_AllocateTensor(TF_FLOAT, dims, rank, (size_t)count * sizeof(float));
}

static inline TF_Tensor *bench_scalar(float value) {
  TF_Tensor *tensor = bench_tensor(NULL, 0);
  memcpy(TF_TensorData(tensor), &value, sizeof value);
  return tensor;
}

static inline TF_Output bench_placeholder(TF_Graph *graph, const char *name, const int64_t *dims,
                                          int rank) {
  TF_Status *status = TF_NewStatus();
  TF_OperationDescription *op = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(op, "dtype", TF_FLOAT);
  TF_SetAttrShape(op, "shape", dims, rank);
  TF_Output out = {TF_FinishOperation(op, status), 0};
  bench_require(status, name);
  TF_DeleteStatus(status);
  return out;
}

static inline TF_Output bench_constant(TF_Graph *graph, const char *name, float value) {
  TF_Status *status = TF_NewStatus();
  TF_Tensor *tensor = bench_scalar(value);
  TF_OperationDescription *op = TF_NewOperation(graph, "Const", name);
  TF_SetAttrTensor(op, "value", tensor, status);
  bench_require(status, name);
  TF_SetAttrType(op, "dtype", TF_FLOAT);
  TF_Output out = {TF_FinishOperation(op, status), 0};
  bench_require(status, name);
  TF_DeleteTensor(tensor);
  TF_DeleteStatus(status);
  return out;
}

// An op of one input, or of two where |b| has an operation.
static inline TF_Output bench_op(TF_Graph *graph, const char *type, const char *name, TF_Output a,
                                 TF_Output b, TF_Status *status) {
  TF_OperationDescription *op = TF_NewOperation(graph, type, name);
  TF_AddInput(op, a);
  if (b.oper != NULL) TF_AddInput(op, b);
  TF_Output out = {TF_FinishOperation(op, status), 0};
  bench_require(status, name);
  return out;
}

static inline TF_Session *bench_session(TF_Graph *graph) {
  TF_Status *status = TF_NewStatus();
  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(graph, options, status);
  bench_require(status, "TF_NewSession");
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(status);
  return session;
}

// A session, what it is fed (at most four tensors) and the one output it is asked for.
typedef struct bench_step {
  TF_Session *session;
  TF_Output feeds[4];
  TF_Tensor *values[4];
  int feed_count;
  TF_Output fetch;
  TF_Status *status;
} bench_step;

// Runs a step; the caller owns the result.
static inline TF_Tensor *bench_run(bench_step *step) {
  TF_Tensor *result = NULL;
  TF_SessionRun(step->session, NULL, step->feeds, step->values, step->feed_count, &step->fetch,
                &result, 1, NULL, 0, NULL, step->status);
  bench_require(step->status, "TF_SessionRun");
  return result;
}

static inline void bench_run_and_drop(void *step) {
  TF_DeleteTensor(bench_run(step));
}

#endif  // FERRY_BENCH_BENCH_H_

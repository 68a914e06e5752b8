// SPDX-License-Identifier: Apache-2.0
// raw_gemm.c: MatMul through a session against the bare calls of oneDNN (dnnl_sgemm) and OpenBLAS
// (cblas_sgemm) where they are installed, in turn in one process, all on the threads they choose.
// One line per size: GFLOP/s of each (best of many), and ours as a share of the better library.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tensorflow/c/c_api.h"

typedef int (*dnnl_fn)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                       const float *, int64_t, float, float *, int64_t);
typedef void (*blas_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(void *data, size_t n, void *arg) {
  (void)data, (void)n, (void)arg;
}

static TF_Output node(TF_Graph *g, const char *op, const char *name, const TF_Output *in, int n,
                      TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  for (int i = 0; i < n; i++) TF_AddInput(d, in[i]);
  if (n == 0) TF_SetAttrType(d, "dtype", TF_FLOAT);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}

int main(void) {
  void *a_lib = dlopen("libdnnl.so.2", RTLD_NOW), *b_lib = dlopen("libopenblas.so.0", RTLD_NOW);
  union {
    void *p;
    dnnl_fn f;
  } dnnl = {a_lib ? dlsym(a_lib, "dnnl_sgemm") : NULL};
  union {
    void *p;
    blas_fn f;
  } blas = {b_lib ? dlsym(b_lib, "cblas_sgemm") : NULL};
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  TF_Output in[2] = {node(g, "Placeholder", "a", NULL, 0, s),
                     node(g, "Placeholder", "b", NULL, 0, s)};
  const TF_Output out = node(g, "MatMul", "c", in, 2, s);
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(g, o, s);
  if (TF_GetCode(s)) return 1;
  static const int64_t sizes[] = {32, 64, 128, 256, 512, 1024, 2048};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const int64_t n = sizes[i], dims[] = {n, n};
    const size_t bytes = (size_t)(n * n) * sizeof(float);
    float *m[3];
    for (int k = 0; k < 3; k++) {
      m[k] = aligned_alloc(64, bytes);
      if (!m[k]) return 1;
      for (int64_t j = 0; j < n * n; j++) m[k][j] = (float)(j % 17) / 17;
    }
    TF_Tensor *t[2], *y = NULL;
    for (int k = 0; k < 2; k++) t[k] = TF_NewTensor(TF_FLOAT, dims, 2, m[k], bytes, keep, NULL);
    const double flops = 2.0 * (double)n * (double)n * (double)n;
    const int reps = 1 + (int)(2e8 / flops), rounds = 15;
    double best[3] = {1e9, 1e9, 1e9};
    for (int r = 0; r < rounds; r++) {
      double t0 = now();
      for (int k = 0; k < reps; k++) {
        TF_SessionRun(session, NULL, in, t, 2, &out, &y, 1, NULL, 0, NULL, s);
        TF_DeleteTensor(y);
      }
      double took = (now() - t0) / reps;
      if (took < best[0]) best[0] = took;
      t0 = now();
      for (int k = 0; dnnl.p && k < reps; k++)
        dnnl.f('N', 'N', n, n, n, 1, m[0], n, m[1], n, 0, m[2], n);
      took = (now() - t0) / reps;
      if (dnnl.p && took < best[1]) best[1] = took;
      t0 = now();
      for (int k = 0; blas.p && k < reps; k++)
        blas.f(101, 111, 111, (int)n, (int)n, (int)n, 1, m[0], (int)n, m[1], (int)n, 0, m[2],
               (int)n);
      took = (now() - t0) / reps;
      if (blas.p && took < best[2]) best[2] = took;
    }
    const double other = best[1] < best[2] ? best[1] : best[2];
    printf("%5lld  session %6.1f  dnnl_sgemm %6.1f  cblas_sgemm %6.1f GFLOP/s  %3.0f %%\n",
           (long long)n, flops / best[0] * 1e-9, flops / best[1] * 1e-9, flops / best[2] * 1e-9,
           100 * other / best[0]);
    for (int k = 0; k < 2; k++) TF_DeleteTensor(t[k]);
    for (int k = 0; k < 3; k++) free(m[k]);
  }
  TF_CloseSession(session, s);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return 0;
}

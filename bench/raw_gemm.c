// SPDX-License-Identifier: Apache-2.0
// raw_gemm.c: MatMul through a session against the bare calls of oneDNN (dnnl_sgemm) and OpenBLAS
// (cblas_sgemm) where they are installed, all on the threads they choose, taking turns. Each turn is
// a process of its own: the threads of these libraries go on spinning after a call, on the cores
// that the next one needs.
// One line per size: GFLOP/s of each (best of many), and ours as a share of the better library.
// raw_gemm [N [ferry]]: only n = N; with |ferry| nobody else is measured.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensorflow/c/c_api.h"

#define TURNS  3
#define ROUNDS 12

typedef int (*dnnl_fn)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                       const float *, int64_t, float, float *, int64_t);
typedef void (*blas_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);

enum { FERRY, DNNL, BLAS, WHO };

typedef struct product {
  int64_t n;
  float *m[3];
  union {
    void *p;
    dnnl_fn f;
  } dnnl;
  union {
    void *p;
    blas_fn f;
  } blas;
  TF_Session *session;
  TF_Output in[2], out;
  TF_Tensor *t[2];
  TF_Status *s;
} product;

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

static int open_ferry(product *p) {
  const int64_t dims[] = {p->n, p->n};
  p->s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  p->in[0] = node(g, "Placeholder", "a", NULL, 0, p->s);
  p->in[1] = node(g, "Placeholder", "b", NULL, 0, p->s);
  p->out = node(g, "MatMul", "c", p->in, 2, p->s);
  TF_SessionOptions *o = TF_NewSessionOptions();
  p->session = TF_NewSession(g, o, p->s);
  for (int k = 0; k < 2; k++)
    p->t[k] =
        TF_NewTensor(TF_FLOAT, dims, 2, p->m[k], (size_t)(p->n * p->n) * sizeof(float), keep, NULL);
  return TF_GetCode(p->s) == TF_OK;
}

static void call(product *p, int who) {
  const int64_t n = p->n;
  const int i = (int)n;
  if (who == FERRY) {
    TF_Tensor *y = NULL;
    TF_SessionRun(p->session, NULL, p->in, p->t, 2, &p->out, &y, 1, NULL, 0, NULL, p->s);
    TF_DeleteTensor(y);
  } else if (who == DNNL) {
    p->dnnl.f('N', 'N', n, n, n, 1, p->m[0], n, p->m[1], n, 0, p->m[2], n);
  } else {
    p->blas.f(101, 111, 111, i, i, i, 1, p->m[0], i, p->m[1], i, 0, p->m[2], i);
  }
}

// Seconds of a call, the least of many; 0 if |who| is not there.
static double measure(int64_t n, int who) {
  product p = {.n = n};
  void *lib = who == DNNL   ? dlopen("libdnnl.so.2", RTLD_NOW)
              : who == BLAS ? dlopen("libopenblas.so.0", RTLD_NOW)
                            : NULL;
  if (who == DNNL && !(p.dnnl.p = lib ? dlsym(lib, "dnnl_sgemm") : NULL)) return 0;
  if (who == BLAS && !(p.blas.p = lib ? dlsym(lib, "cblas_sgemm") : NULL)) return 0;
  for (int k = 0; k < 3; k++) {
    p.m[k] = aligned_alloc(64, (size_t)(n * n) * sizeof(float));
    if (!p.m[k]) return 0;
    for (int64_t j = 0; j < n * n; j++) p.m[k][j] = (float)(j % 17) / 17;
  }
  if (who == FERRY && !open_ferry(&p)) return 0;
  const double flops = 2.0 * (double)n * (double)n * (double)n;
  const int reps = 1 + (int)(5e8 / flops);
  double best = 1e9;
  for (int r = 0; r < ROUNDS; r++) {
    const double t0 = now();
    for (int k = 0; k < reps; k++) call(&p, who);
    const double took = (now() - t0) / reps;
    if (took < best) best = took;
  }
  return best;
}

static double turn(int64_t n, int who) {
  int ends[2];
  double best = 0;
  if (pipe(ends)) return 0;
  const pid_t child = fork();
  if (child == 0) {
    best = measure(n, who);
    _exit(write(ends[1], &best, sizeof best) != sizeof best);
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &best, sizeof best) != sizeof best) best = 0;
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return best;
}

int main(int argc, char **argv) {
  const long wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
  const int most = argc > 2 && !strcmp(argv[2], "ferry") ? FERRY + 1 : WHO;
  static const int64_t sizes[] = {32, 64, 128, 256, 512, 1024, 2048};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const double flops = 2.0 * (double)sizes[i] * (double)sizes[i] * (double)sizes[i];
    double speed[WHO] = {0};
    if (wanted && wanted != sizes[i]) continue;
    for (int t = 0; t < TURNS; t++) {
      for (int who = 0; who < most; who++) {
        const double took = turn(sizes[i], who);
        if (took > 0 && flops / took * 1e-9 > speed[who]) speed[who] = flops / took * 1e-9;
      }
    }
    const double other = speed[DNNL] > speed[BLAS] ? speed[DNNL] : speed[BLAS];
    printf("%5lld  session %6.1f  dnnl_sgemm %6.1f  cblas_sgemm %6.1f GFLOP/s", (long long)sizes[i],
           speed[FERRY], speed[DNNL], speed[BLAS]);
    if (other > 0)
      printf("  %3.0f %%\n", 100 * speed[FERRY] / other);
    else
      printf("\n");
    fflush(stdout);
  }
  return 0;
}

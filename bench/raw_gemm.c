// SPDX-License-Identifier: Apache-2.0
// raw_gemm.c: MatMul through a session against the bare calls of oneDNN (dnnl_sgemm) and OpenBLAS
// (cblas_sgemm) where they are installed, all on the threads they choose, taking turns (turns.h).
// One line per size: GFLOP/s of each (middle of all turns, and the best), and ours as a share of the library with the better
// middle: the middle of the turns' ratios, and the best turn of ours against the best of theirs.
// raw_gemm [N [ferry]]: only n = N; with |ferry| no other library is measured. With
// FERRY_BENCH_BEFORE=FOLDER the libtensorflow.so.2 there plays as well.

#include <dlfcn.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "turns.h"

#define SECONDS 6  // of a size, about

typedef int (*dnnl_fn)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                       const float *, int64_t, float, float *, int64_t);
typedef void (*blas_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);

enum { FERRY, BEFORE, DNNL, BLAS, WHO };

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

static void call_ferry(void *arg) {
  product *p = arg;
  TF_Tensor *y = NULL;
  TF_SessionRun(p->session, NULL, p->in, p->t, 2, &p->out, &y, 1, NULL, 0, NULL, p->s);
  TF_DeleteTensor(y);
}

static void call_dnnl(void *arg) {
  const product *p = arg;
  const int64_t n = p->n;
  p->dnnl.f('N', 'N', n, n, n, 1, p->m[0], n, p->m[1], n, 0, p->m[2], n);
}

static void call_blas(void *arg) {
  const product *p = arg;
  const int n = (int)p->n;
  p->blas.f(101, 111, 111, n, n, n, 1, p->m[0], n, p->m[1], n, 0, p->m[2], n);
}

static const char *program;

// The same program with another library.
static void begin_before(int64_t n, int to) {
  char size[24], end[24];
  const char *folder = getenv("FERRY_BENCH_BEFORE");
  if (!folder) return;
  snprintf(size, sizeof size, "%lld", (long long)n);
  snprintf(end, sizeof end, "%d", to);
  setenv("LD_LIBRARY_PATH", folder, 1);
  execl(program, program, size, "plays", end, (char *)NULL);
}

static void begin(void *arg, int who, int to) {
  product p = {.n = *(const int64_t *)arg};
  const int64_t n = p.n;
  if (who == BEFORE) begin_before(n, to);
  void *lib = who == DNNL   ? dlopen("libdnnl.so.2", RTLD_NOW)
              : who == BLAS ? dlopen("libopenblas.so.0", RTLD_NOW)
                            : NULL;
  if (who == DNNL && !(p.dnnl.p = lib ? dlsym(lib, "dnnl_sgemm") : NULL)) return;
  if (who == BLAS && !(p.blas.p = lib ? dlsym(lib, "cblas_sgemm") : NULL)) return;
  for (int k = 0; k < 3; k++) {
    p.m[k] = aligned_alloc(64, (size_t)(n * n) * sizeof(float));
    if (!p.m[k]) return;
    for (int64_t j = 0; j < n * n; j++) p.m[k][j] = (float)(j % 17) / 17;
  }
  if (who == BEFORE || (who == FERRY && !open_ferry(&p))) return;
  turns_play(to, who == FERRY ? call_ferry : who == DNNL ? call_dnnl : call_blas, &p);
}

static void measure(int64_t n, int alone) {
  static const char *const names[WHO] = {"session", "before", "dnnl_sgemm", "cblas_sgemm"};
  static turns_player players[WHO];
  const double flops = 2.0 * (double)n * (double)n * (double)n;
  const double turn = 3 * flops / 150e9 + 2 * TURNS_SLOT;  // of one player
  int turns = 3 + 2 * (int)(SECONDS / 6 / turn), better = -1;
  if (turns > TURNS_MOST) turns = TURNS_MOST;
  memset(players, 0, sizeof players);
  for (int who = 0; who < WHO; who++)
    if (who < DNNL || !alone) turns_start(&players[who], begin, &n, who);
  turns_take(players, WHO, turns);
  printf("%5lld ", (long long)n);
  for (int who = 0; who < WHO; who++) {
    const double middle = turns_middle(&players[who], NULL, turns, 0.5);
    if (middle <= 0) continue;
    printf(" %s %.1f (%.1f)", names[who], flops / middle * 1e-9,
           flops / turns_middle(&players[who], NULL, turns, 0) * 1e-9);
    if (who > FERRY && (better < 0 || middle < turns_middle(&players[better], NULL, turns, 0.5) ||
                        better == BEFORE))
      better = who;
  }
  printf(" GFLOP/s");
  for (int who = BEFORE; who < WHO; who++) {
    if (players[who].pid <= 0 || (who != better && who != BEFORE)) continue;
    printf("  %3.0f %% of %s (%.0f to %.0f; best %.0f)",
           100 * turns_middle(&players[FERRY], &players[who], turns, 0.5), names[who],
           100 * turns_middle(&players[FERRY], &players[who], turns, 0.1),
           100 * turns_middle(&players[FERRY], &players[who], turns, 0.9),
           100 * turns_middle(&players[who], NULL, turns, 0) /
               turns_middle(&players[FERRY], NULL, turns, 0));
  }
  printf("\n");
  fflush(stdout);
  for (int who = 0; who < WHO; who++) turns_end(&players[who]);
}

int main(int argc, char **argv) {
  const int64_t wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
  static const int64_t sizes[] = {32, 64, 128, 256, 512, 1024, 2048};
  program = argv[0];
  if (argc > 3 && !strcmp(argv[2], "plays")) {
    begin((void *)(uintptr_t)&wanted, FERRY, (int)strtol(argv[3], NULL, 10));
    return 1;
  }
  const int alone = argc > 2 && !strcmp(argv[2], "ferry");
  if (wanted) measure(wanted, alone);
  for (size_t i = 0; !wanted && i < sizeof sizes / sizeof sizes[0]; i++) measure(sizes[i], alone);
  return 0;
}
